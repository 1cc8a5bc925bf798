/* costdb.h -- measured times in a SQLite file: steps, whole plans and targets' whole models, each
   keyed by text. Several processes may share a file; an entry once written is replaced only by a
   better measurement (a smaller minimum), or forgotten where it was found to be wrong. */
#ifndef ISOMER_COSTDB_H
#define ISOMER_COSTDB_H
#include "ops/base/arena.h"

typedef struct CostDb CostDb;
/* Creates the file if it is missing, but no folder. E_INVALID: not a cost file, or of another
   version; E_ENVIRONMENT: it cannot be opened or written. path NULL: in memory only. */
CostDb *costdb_open(Escape *, const char *path, Error *); /* the Escape closes it too */
void costdb_close(CostDb *);
/* kind: "step", "plan", "machine", "target", "doubt" (search/cost.c) or "stop" (search/stop.h: an
   amount of work in place of seconds); device: identity of the back end or of the measuring
   command; key: what was measured, of any length (its hash is stored). */
/* false: not there. */
bool costdb_get(CostDb *, const char *kind, const char *device, const char *key, double *seconds);
bool costdb_put(CostDb *, const char *kind, const char *device, const char *key, double seconds,
                Error *);
bool costdb_forget(CostDb *, const char *kind, const char *device, const char *key, Error *);
const char *costdb_version(void); /* SQLite's */
/* Under $XDG_CACHE_HOME or ~/.cache, whose missing folders are made; E_ENVIRONMENT when neither is
   known or a folder cannot be made. */
bool costdb_default_path(Arena *, char **path, Error *);
#endif
