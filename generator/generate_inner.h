/* generate_inner.h -- a run of the generator: what its files share. */
#ifndef ISOMER_GENERATE_INNER_H
#define ISOMER_GENERATE_INNER_H
#include "generator/basis.h"
#include "generator/crew.h"
#include "generator/generate.h"
#include "generator/shard.h"
#include <stdatomic.h>

typedef struct Body { /* a rule without its name */
    const char *text;
    int size; /* operators on both sides */
} Body;
typedef struct Generator {
    const GenerateOptions *o;
    GenerateReport *report;
    Arena *arena;
    Error *error;
    World *w;
    Space *s;
    TermClasses *classes;
    Runs runs;
    int level, mine;              /* mine: runs of the level that are not from other processes */
    size_t received;              /* bytes of runs of the level that are from others */
    atomic_ullong next, finished; /* of the level: the next task to be taken; how many are done */
    atomic_ullong terms;          /* of all levels */
    double start;                 /* process_clock */
    Crew *crew;
    struct GenerateWorker *worker; /* by thread of the crew */
    Candidates *candidates;
    Basis *basis; /* the rules so far, from which others may follow */
    int nbody, body_room;
    Body *body; /* the rules to be written */
} Generator;

void generate_tell(Generator *, const char *stage, uint64_t done, uint64_t total);
/* All of these are the work of the whole crew, and give the same whatever its number. false:
 *g->error says why. */
/* The merged runs of the level. */
bool harvest_classes(Generator *, LevelStats *);
/* Candidates from these entries on. */
bool harvest_equations(Generator *, uint32_t member, uint32_t symmetry);
/* Candidates with two results. */
bool harvest_pairs(Generator *);
/* Candidates from this one on become rules. */
bool harvest_rules(Generator *, int first);
void harvest_print(Generator *, Text *);
#endif
