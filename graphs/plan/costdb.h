/* costdb.h -- stores measured times in a SQLite file: those of steps, of whole plans and of whole
   models on a target, each keyed by text. Several processes may share a file. An entry is replaced
   only by a better measurement (a smaller minimum), or deleted if it was found to be wrong. */
#ifndef ISOMER_COSTDB_H
#define ISOMER_COSTDB_H
#include "ops/base/arena.h"

typedef struct CostDb CostDb;
/* Opens a cost file, and creates it (but no folder) if it is missing; path NULL: a database in
   memory. Returns NULL with E_INVALID if the file is not a cost file or has another version, and
   with E_ENVIRONMENT if it cannot be opened or written. */
CostDb *costdb_open(Escape *, const char *path, Error *); /* the Escape closes it too */
void costdb_close(CostDb *);
/* An entry is identified by three texts. kind: "step", "plan", "machine", "target", "doubt"
   (search/cost.c) or "stop" (search/stop.h). device: the identity of the back end or of the
   measuring command. key: what was measured, of any length (its hash is stored).

   Most entries are seconds. Those of "stop" are amounts of work, and "target" also has, from
   search/command/, the digest of a target's identity (command_target.c), rates of a profile
   (target_profile.c) and marks, whose value is 1 (part_time.c). As costdb_put keeps the smaller
   number, an entry that is not a time must be forgotten before another number is stored. */
/* Returns false if there is no such entry. */
bool costdb_get(CostDb *, const char *kind, const char *device, const char *key, double *seconds);
/* Stores a time unless the entry has a smaller one. */
bool costdb_put(CostDb *, const char *kind, const char *device, const char *key, double seconds,
                Error *);
bool costdb_forget(CostDb *, const char *kind, const char *device, const char *key, Error *);
const char *costdb_version(void); /* the version of SQLite */
/* The usual path of the cost file, under $XDG_CACHE_HOME or ~/.cache; makes missing folders.
   Returns false with E_ENVIRONMENT if neither is known or a folder cannot be made. */
bool costdb_default_path(Arena *, char **path, Error *);
#endif
