/* generate_inner.h -- what the files of the generator share: the state of a run. */
#ifndef ISOMER_GENERATE_INNER_H
#define ISOMER_GENERATE_INNER_H
#include "generator/basis.h"
#include "generator/crew.h"
#include "generator/generate.h"
#include "generator/shard.h"
#include <stdatomic.h>

typedef struct Body { /* the text of a rule without its name */
    const char *text;
    int size; /* operators on both sides */
} Body;
typedef struct Generator {
    Cleanup cleanup; /* frees what is not in an arena, and removes runs that are not kept */
    const GenerateOptions *o;
    GenerateReport *report;
    Arena *arena;
    Error *error;
    World *w;
    Space *s;
    TermClasses *classes;
    Runs runs;
    int level, nown_runs; /* nown_runs: number of runs of this level that this process made */
    size_t received;      /* bytes of this level's runs that other processes sent */
    atomic_ullong next, finished; /* the next task of the level; how many are done */
    atomic_ullong terms;          /* found at all levels */
    double start;                 /* when the run started (process_clock) */
    Crew *crew;
    struct GenerateWorker *worker; /* one for each thread */
    Candidates *candidates;
    Finding *finding; /* those of a batch */
    Basis *basis;     /* the rules so far, which may imply others */
    int nbody, body_room;
    Body *body; /* the rules to write */
} Generator;

/* Reports the progress to the caller of generate(). */
void generate_tell(Generator *, const char *stage, uint64_t done, uint64_t total);
/* The following functions use the whole crew and give the same result for any number of threads.
   They return false with the reason in *g->error. */
/* Enters the merged runs of the level into the classes. */
bool harvest_classes(Generator *, LevelStats *);
/* Makes candidates of the members and symmetries from these entries on. */
bool harvest_equations(Generator *, uint32_t member, uint32_t symmetry);
/* Makes the candidates with two results. */
bool harvest_pairs(Generator *);
/* Makes rules of the candidates from `first` on. */
bool harvest_rules(Generator *, int first);
/* Prints the rules, sorted by size and text. */
void harvest_print(Generator *, Text *);
#endif
