/* generate.h -- the whole generator: levels of terms, classes, candidates, rules as text. The text depends on set, size
   and seed alone, whatever the number of workers, shards or interruptions. */
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
typedef struct GenerateOptions {
    const char *set;
    int size, jobs, shard, nshard; /* shards share the folder */
    uint64_t seed;
    size_t memory;                                          /* bytes of records held; more is written to disk */
    const char *folder;                                     /* runs are kept there and found again; NULL: none */
    bool exhaustive, all;                                   /* all: rules that others give are printed too */
    void (*progress)(void *user, const GenerateProgress *); /* NULL: none */
    void (*barrier)(void *user);                            /* NULL: shards wait for each other's files */
    void *user;
} GenerateOptions;
typedef struct GenerateLevel {
    uint64_t terms, prefixes, classes, raw, kept;
    double enumerate, merge;
} GenerateLevel;
typedef struct GenerateReport {
    GenerateLevel level[GENERATE_LEVELS];
    int nlevel;
    uint64_t raw, reduced, coincidences, candidates, pairs, derived, rules, untrue, untried, doubles, mode[5];
    double seconds, lift;
    size_t peak; /* bytes */
} GenerateReport;
/* Appends the rules to *out. */
bool generate(const GenerateOptions *, Arena *, Text *out, GenerateReport *, Error *);
#endif
