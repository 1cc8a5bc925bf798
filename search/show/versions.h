/* versions.h -- the version of this program and of the libraries that it runs with. */
#ifndef ISOMER_VERSIONS_H
#define ISOMER_VERSIONS_H
#include "search/run.h"

/* Prints the versions as --version does, without the program's name. `backend`: with those of the
   back end's libraries. */
void versions_print(const IsomerOptions *, bool backend, Text *);
#endif
