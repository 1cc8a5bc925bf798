/* versions.h -- the version of this program and of every library it runs with. */
#ifndef ISOMER_VERSIONS_H
#define ISOMER_VERSIONS_H
#include "search/run.h"

/* As --version prints them, without the program's name. */
void run_versions(Run *, Text *);
#endif
