/* versions.h -- the version of this program and of every library it runs with. */
#ifndef ISOMER_VERSIONS_H
#define ISOMER_VERSIONS_H
#include "search/run.h"

/* As --version prints them, without the program's name; backend: with those of the back end. */
void versions_print(const IsomerOptions *, bool backend, Text *);
#endif
