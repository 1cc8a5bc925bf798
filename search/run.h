/* run.h -- one run of optimize-model: what its parts share. The parts are called in this order by optimize.c: open, search (one of three), finish, check, write, report. */
#ifndef ISOMER_RUN_H
#define ISOMER_RUN_H
#include "graphs/onnx/onnx.h"
#include "graphs/plan.h"
#include "graphs/costdb.h"
#include "search/derive.h"
#include "search/isomer.h"
#include "search/library.h"

typedef struct RunStats {
    int steps, regions, regions_unique, candidates, frozen_missing;
    double own_before, own_after;           /* predicted by the cost of steps, seconds; < 0: not known */
    double measured_before, measured_after; /* whole models, on the target; < 0: not measured */
    double flops_before, flops_after, start;
    int64_t bytes_before, bytes_after, growth;
    bool checked;
    double check_absolute, check_relative; /* the greatest, over all outputs */
    const char *check_note;                /* why the whole model was not compared; "" */
} RunStats;
typedef struct Run {
    const IsomerOptions *o;
    Escape *escape;
    World *w;
    Arena *arena;
    Error *error;
    const char *in, *out;
    Model *model;
    Graph original, start; /* as imported; with small constants computed, as rules see it */
    NodeId known;          /* the last node made before any rule was applied */
    ValueMap prefold;      /* from original to start */
    Facts *facts;
    Sizes sizes; /* every named size that an option gives, or a guess: for costing only */
    bool bound;  /* no guess was needed */
    Library library;
    CostDb *db;
    char digest[33]; /* of the file's bytes */
    int64_t growth;  /* bytes that constants may grow by */
    RunStats stats;
} Run;

bool run_cancelled(Run *);                                                          /* sets the error */
void run_say(Run *, const char *format, ...) __attribute__((format(printf, 2, 3))); /* progress */
double run_seconds(const Run *);                                                    /* since it began */
Derivation run_derivation(Run *); /* at the start graph, with the map from the original's values */
/* The graph as it is written: what rules left to be computed from constants is computed, what was computed only to be seen by rules is as in the file again. */
bool run_finish(Run *, Derivation *, int64_t *growth, Error *);
bool run_writable(Run *, const Derivation *); /* a finished derivation; false: the check_note says why the original stands */
bool run_sizes(Run *);                        /* from --input-shape and --dim; the rest is guessed */
bool run_ruleset(Run *, Derivation *);        /* ruleset.c: search by whole models on the target */
bool run_own(Run *, Derivation *);            /* own.c: search by the costs of our own plans */
void run_table(Run *, const Derivation *, bool changed, Text *);
void run_report(Run *, const Derivation *, bool changed, Text *);
#endif
