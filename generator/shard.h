/* shard.h -- the records of a level as sorted runs, in memory or on disk, and their merge.

   A run names the tasks that it covers. A run of the program that was killed, or shards that share
   a folder, can therefore put a level together from the runs that are there. The merged order does
   not depend on which process made which run. */
#ifndef ISOMER_SHARD_H
#define ISOMER_SHARD_H
#include "generator/enumerate.h"
#include "ops/base/folder.h"
#include <pthread.h>
#include <stdio.h>

typedef struct SortedRun {
    Record *v; /* the sorted records; NULL: they are on disk */
    size_t n;
    char *path; /* of the file; NULL if there is none */
    FILE *file; /* open, but without a name any more; NULL: opened by its path */
    long at;    /* offset of the records in the file */
} SortedRun;
typedef struct Runs { /* lists come from mem_realloc, since workers add runs */
    pthread_mutex_t lock;
    const char *folder;         /* where runs are kept; NULL: nowhere */
    RunFolder own;              /* for runs that are not kept but do not fit in memory */
    const volatile int *cancel; /* see GenerateOptions */
    uint64_t digest;            /* of what the records depend on: set and seed */
    int level, n, room, named;  /* named: how many runs of the level were given a path */
    SortedRun *run;
    uint64_t ndone, done_room; /* ndone: number of tasks covered by runs on disk */
    bool *done;                /* which tasks are covered by runs on disk */
    uint64_t tasks;            /* tasks of the level; known once a worker has counted them */
    /* The merge in progress: a cursor for each run, as a heap; the class being put together. */
    int ncursor;
    struct Cursor *cursor, **heap;
    Record *group;
    size_t group_room;
} Runs;

/* Prepares for runs in the folder, which is created if missing. runs_close must be called even on
   failure. */
bool runs_open(Runs *, const char *folder, const volatile int *cancel, uint64_t digest, Error *);
/* Starts a level and finds its runs on disk. */
bool runs_begin_level(Runs *, int level, Error *);
/* Whether a run on disk covers the task. */
bool runs_is_done(const Runs *, uint64_t task);
/* Sorts the records and takes them over as a run that covers these tasks, in memory or, with
   to_disk, in a file. `v` must come from mem_realloc and belongs to the runs afterwards, even on
   failure. */
bool runs_add(Runs *, Record *, size_t n, const uint64_t *task, size_t ntask, bool to_disk,
              Error *);
/* Merges all runs of the level and calls back with each group of records that have the same key.
   The array is valid only during the call, which may raise an error in an Escape, or set it and
   return false. */
typedef bool (*TakeGroup)(void *user, const Record *, size_t n);
bool runs_merge(Runs *, TakeGroup, void *user, Error *);
/* Copies the records of run k into a new array from mem_realloc. */
bool runs_read(const Runs *, int k, Record **, Error *);
void runs_close(Runs *); /* removes runs that are not kept in a folder */
#endif
