/* shard.h -- the records of a level as sorted runs, in memory or on disk, and their merge. A run
   says which tasks it covers, so that a run that was killed, or shards that share a folder, put a
   level together from what is there; the merged order does not depend on who made which run. */
#ifndef ISOMER_SHARD_H
#define ISOMER_SHARD_H
#include "generator/enumerate.h"
#include <pthread.h>
#include <stdio.h>

typedef struct SortedRun {
    Record *v; /* sorted; NULL: on disk */
    size_t n;
    const char *path;
    FILE *file; /* its name is gone; NULL: it is opened by name */
    long at;    /* where its records start */
} SortedRun;
typedef struct Runs {
    pthread_mutex_t lock;
    Arena *arena;
    const char *folder; /* NULL: memory alone */
    bool temporary;     /* a folder of our own, made when memory was short */
    uint64_t digest;    /* of what the records depend on: set, seed */
    int level, n, room;
    SortedRun *run;
    uint64_t ndone, done_room;
    bool *done;     /* tasks covered by runs found on disk */
    uint64_t tasks; /* of the level, once one worker has counted them */
    uint64_t covered;
} Runs;

/* Makes the folder. */
bool runs_open(Runs *, Arena *, const char *folder, uint64_t digest, Error *);
/* Finds the runs of this level on disk. */
bool runs_begin_level(Runs *, int level, Error *);
bool runs_is_done(const Runs *, uint64_t task);
/* Sorts and takes over the records, which may be moved: in memory (mem_realloc'd array), or written
   out if to_disk. */
bool runs_add(Runs *, Record *, size_t n, const uint64_t *task, size_t ntask, bool to_disk,
              Error *);
/* All runs of the level, merged: groups of equal keys. The callback's array is valid during the
   call. */
bool runs_merge(Runs *, void (*group)(void *user, const Record *, size_t n), void *user, Error *);
/* The records of run k, mem_realloc'd. */
bool runs_read(const Runs *, int k, Record **, Error *);
void runs_close(Runs *); /* removes a temporary folder */
#endif
