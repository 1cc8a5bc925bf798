/* generate.h -- the whole generator: levels of terms, classes, candidates, and rules as text. The
   text depends only on the set, size, seed and the flags, not on the number of workers or shards,
   nor on interruptions. */
#ifndef ISOMER_GENERATE_H
#define ISOMER_GENERATE_H
#include "ops/base/text.h"
#include <stdint.h>

enum { GENERATE_LEVELS = 6 };
typedef struct GenerateProgress {
    const char *stage;
    int level;
    uint64_t done, total; /* total is 0 if it is not known */
    uint64_t terms, classes;
    double seconds;
} GenerateProgress;
/* A connection between processes that share the work of each level and send each other what they
   found. Each call waits for the other process, and returns false on failure. */
typedef struct GenerateLink {
    int rank, n;
    bool (*send)(void *user, int to, const void *bytes, size_t n);
    bool (*receive)(void *user, int from, void *bytes, size_t n);
    void *user;
} GenerateLink;
typedef struct GenerateOptions {
    const char *set;
    int size, jobs, shard, nshard; /* size: operators of the largest terms */
    uint64_t seed;
    size_t memory; /* limit on the bytes of records in memory; more records go to disk */
    /* Where runs are kept, and found again by a repeated run; NULL: nowhere. */
    const char *folder;
    bool exhaustive, all; /* all: also prints rules that others imply */
    /* The run ends with E_INTERRUPTED once this is not 0 (ops/base/interrupt.h); may be NULL. */
    const volatile int *cancel;
    /* Called with the progress; may be NULL. */
    void (*progress)(void *user, const GenerateProgress *);
    /* Connects the shards, which then need no folder. Only shard 0 gets the rules. NULL: none. */
    const GenerateLink *link;
    void *user;
} GenerateOptions;
/* Numbers of one level. raw: equations found; kept: candidates made of them. */
typedef struct GenerateLevel {
    uint64_t terms, prefixes, classes, raw, kept;
    double enumerate, merge; /* seconds */
} GenerateLevel;
/* Numbers of a run. raw: equations; reduced: those that follow from smaller rules; coincidences:
   terms that only the second stage told apart; pairs: candidates with two results; derived:
   candidates that other rules imply; untrue, untried: candidates that are false at random sizes, or
   fit no sizes; equal_texts: rules whose text another rule has; mode: rules by LiftMode. */
typedef struct GenerateReport {
    GenerateLevel level[GENERATE_LEVELS];
    int nlevel;
    uint64_t raw, reduced, coincidences, candidates, pairs, derived, rules, untrue, untried,
        equal_texts, mode[5];
    double seconds, lift; /* seconds in total, and for lifting */
    size_t peak;          /* bytes of memory at the peak */
} GenerateReport;
/* Runs the generator and appends the rules to *out. Returns false with the reason in the Error.
   Whether it fails or memory runs out (the arena's Escape), runs that are not kept in the folder
   are removed. */
bool generate(const GenerateOptions *, Arena *, Text *out, GenerateReport *, Error *);
/* Runs the program generate-rules or, with a link, one process of it. Returns the exit status. */
int generate_program(int argc, char **argv, const GenerateLink *);
#endif
