/* run.h -- one run of optimize-model: what its parts share. The parts are called in this order by
   optimize.c: open, search (one of three), finish, check, write, report. */
#ifndef ISOMER_RUN_H
#define ISOMER_RUN_H
#include "graphs/check.h"
#include "graphs/feed.h"
#include "graphs/onnx/onnx.h"
#include "graphs/plan/plan.h"
#include "graphs/plan/costdb.h"
#include "search/derive.h"
#include "search/isomer.h"
#include "search/library.h"

typedef struct RunStats {
    int steps, regions, regions_unique, candidates, frozen_missing;
    double own_before, own_after; /* predicted by the cost of steps, seconds; < 0: not known */
    const char
        *cost_fault; /* what was wrong with the cost file, and measured again; NULL: nothing */
    double measured_before, measured_after; /* whole models, on the target; < 0: not measured */
    double flops_before, flops_after, start;
    int64_t bytes_before, bytes_after, growth;
    bool checked;
    const double (*output)[2]; /* by output of the model: the greatest difference, and relative to
                                  its greatest element; < 0: not compared */
    double check_absolute, check_relative; /* the greatest, over all outputs */
    const char *second;                    /* what --check-with says; NULL: it was not asked */
    const char *check_note;                /* why the whole model was not compared; "" */
} RunStats;
/* Of one operator: in the original, in the result; views and composites as they were imported. */
typedef struct OpCost {
    const char *name;
    int nodes[2];
    double flops[2];
} OpCost;
/* Of one kind of step of the plans; seconds < 0: there is none, or not known. */
typedef struct KindCost {
    int steps[2];
    double seconds[2];
} KindCost;
typedef struct Run {
    const IsomerOptions *o;
    Escape *escape;
    World *w;
    Arena *arena;
    Error *error;
    const char *in, *out;
    const char *from; /* what is read: `in`, or a file in memory without the Ifs that are decided */
    int memory;       /* that file; 0: none */
    Held held;        /* the same */
    Model *model;
    Graph original, start; /* as imported; with small constants computed, as rules see it */
    NodeId known;          /* the last node made before any rule was applied */
    ValueMap prefold;      /* from original to start */
    Facts *facts;
    Sizes sizes; /* every named size that an option gives, or a guess: for costing only */
    Library library;
    CostDb *db;
    char digest[33]; /* of the file's bytes */
    int64_t growth;  /* bytes that the file may grow by */
    RunStats stats;
    int noperator; /* run_operators */
    OpCost *operators;
    KindCost kinds[STEP_KIND_COUNT];
    struct Changes *changes; /* where they are shown (show.c) */
    struct Pictures *pictures;
    char *helper;        /* of --check-with */
    FeedOptions given;   /* --input */
    Feed feed;           /* what inputs hold, whoever runs the model */
    const char *refused; /* why the model did not run on what was drawn, if feed.attempt */
    IsomerOptions with;  /* the options and, as input shapes, the sizes of what is given */
} Run;

/* Sets the error. */
bool run_cancelled(Run *);
void run_say(Run *, const char *format, ...) __attribute__((format(printf, 2, 3))); /* progress */
/* Since it began. */
double run_seconds(const Run *);
Derivation run_derivation(Run *); /* at the start graph, with the map from the original's values */
/* The graph as it is written: what rules left to be computed from constants is computed, what was
   computed only to be seen by rules is as in the file again. */
bool run_finish(Run *, Derivation *, Error *);
/* What is to be written. E_LIMIT: it is more than --max-growth allows; stats.growth is by how much
   it grew. */
bool run_pieces(Run *, const Derivation *, Arena *, Pieces *, Error *);
bool run_fits(Run *, const Derivation *, Error *); /* run_pieces without them */
int64_t run_constant_bytes(Run *, const Graph *);
/* A finished derivation; false: the check_note says why the original stands. */
bool run_writable(Run *, const Derivation *);
typedef struct RunFolder { /* folder.c: under $TMPDIR; held_free removes it and its files */
    Held held;
    Run *r;
    char *path;
} RunFolder;
RunFolder *run_folder(Run *); /* NULL: the error is set */
/* From --input-shape and --dim; the rest is guessed. */
bool run_sizes(Run *);
bool run_ruleset(Run *, Derivation *); /* search_command.c: search by whole models on the target */
bool run_own(Run *, Derivation *);     /* search_runtime.c: search by the costs of our own plans */
/* check_steps.c, of a finished derivation; E_CHECK: what rules made, or a constant that was
   computed, is not what it was made of. What is too large to be computed by definitions passes. */
bool run_check_rules(Run *, const Derivation *, const char *class);
bool run_check_constants(Run *, const Derivation *);
/* reproduce.c: OUT.disagreement, what shows that original and result differ (search/REPORT.md); the
   run's error says where it is. */
void run_reproduce(Run *, const Derivation *, const char *class);
/* second_opinion.c: --check-with: the runtime to ask is installed; called before the search. */
bool run_can_ask(Run *);
/* And agrees that the result computes the same; E_CHECK: it does not. */
bool run_second(Run *, const Derivation *);
bool run_given(Run *); /* input_data.c: reads --input, before the model is read */
bool run_feed(Run *);  /* what inputs hold; false: --input does not fit the model */
/* CheckGiven: what the feed says of an input of the model. */
bool run_given_data(const void *run, const char *input, int sample, DType, int64_t n, void *out);
/* The model did not run: its inputs hold other integers from now on. False: all were tried, it is
   as before, and *why says so. */
bool run_other_inputs(Run *, Error *why);
void run_warn_inputs(const Run *, char *text, size_t n); /* if they do; a text stands */
/* Costs are times, not counts. */
bool run_measures(const Run *);
/* show.c: what is only made where an option asks for it: --diff, --explain, --dot, --html. Ready
   before the search, drawn before anything is written. */
bool run_can_show(Run *);
bool run_draw(Run *, const Derivation *, IsomerResult *);
bool run_show(Run *, bool changed);
bool run_list_rules(Run *, IsomerResult *);
/* Counts and costs by operator, and all arithmetic: before the reports. */
void run_operators(Run *, const Graph *result);
void run_table(Run *, const Derivation *, bool changed, Text *);
void run_versions(Run *, Text *); /* as --version prints them, without the program's name */
const char *report_version(void); /* cJSON's */
void run_report(Run *, const Derivation *, bool changed, Text *);
/* A copy for the caller of the library, freed by isomer_result_free. */
char *run_text(const Run *, const Text *);
#endif
