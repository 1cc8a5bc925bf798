/* generate.h -- the whole generator: levels of terms, classes, candidates, rules as text. The text
   depends on set, size and seed alone, whatever the number of workers, shards or interruptions. */
#ifndef ISOMER_GENERATE_H
#define ISOMER_GENERATE_H
#include "ops/base/text.h"
#include <stdint.h>

enum { GENERATE_LEVELS = 6 };
typedef struct GenerateProgress {
    const char *stage;
    int level;
    uint64_t done, total; /* total 0: not known */
    uint64_t terms, classes;
    double seconds;
} GenerateProgress;
/* Processes that do a level together and send each other what they found. Each call waits for the
   other side; false: it failed. */
typedef struct GenerateLink {
    int rank, n;
    bool (*send)(void *user, int to, const void *bytes, size_t n);
    bool (*receive)(void *user, int from, void *bytes, size_t n);
    void *user;
} GenerateLink;
typedef struct GenerateOptions {
    const char *set;
    int size, jobs, shard, nshard; /* shards share the folder */
    uint64_t seed;
    size_t memory; /* bytes of records held; more is written to disk */
    /* Runs are kept there and found again; NULL: none. */
    const char *folder;
    bool exhaustive, all; /* all: rules that others give are printed too */
    void (*progress)(void *user, const GenerateProgress *); /* NULL: none */
    /* Of the shards, which then need no folder; shard 0 has the rules, the others none. NULL:
       none. */
    const GenerateLink *link;
    void *user;
} GenerateOptions;
typedef struct GenerateLevel {
    uint64_t terms, prefixes, classes, raw, kept;
    double enumerate, merge;
} GenerateLevel;
typedef struct GenerateReport {
    GenerateLevel level[GENERATE_LEVELS];
    int nlevel;
    uint64_t raw, reduced, coincidences, candidates, pairs, derived, rules, untrue, untried,
        doubles, mode[5];
    double seconds, lift;
    size_t peak; /* bytes */
} GenerateReport;
/* Appends the rules to *out. */
bool generate(const GenerateOptions *, Arena *, Text *out, GenerateReport *, Error *);
/* The program generate-rules; under a link, one of its processes. The exit status. */
int generate_program(int argc, char **argv, const GenerateLink *);
#endif
