/* run.h -- one run of optimize-model: what its parts share. optimize.c calls the parts, each of
   which has a header of its own. */
#ifndef ISOMER_RUN_H
#define ISOMER_RUN_H
#include "graphs/check.h"
#include "graphs/feed.h"
#include "graphs/onnx/onnx.h"
#include "rules/prooflog.h"
#include "search/cost.h"
#include "search/derive.h"
#include "search/isomer.h"
#include "search/library.h"

/* The original is kept where the result takes more than this share of its time: less than 3 % is no
   gain. */
#define RUN_GAIN 0.97
/* Values of at most this many bytes that depend only on constants are computed before the search,
   so that rules can see them. */
enum { PREFOLD_BYTES = 64 };

/* Equal places that were rewritten alike, with the times of one of them by itself on the target. */
typedef struct PlaceGain {
    const char *node, *rules; /* the first node of the first place; names of rules */
    int nposition;
    const int *position; /* in the file: all nodes of the first place */
    int count;
    double before, after; /* seconds of one */
    bool expected;        /* not timed, but expected from others with the same rules */
} PlaceGain;
double place_total(const PlaceGain *); /* seconds that all of them gain */
/* For one operator: in the original, in the result. Views and composites are counted as they were
   imported. */
typedef struct OpCost {
    const char *name;
    int nodes[2];
    double flops[2];
} OpCost;
/* For one kind of step of the plans; seconds < 0: there is none, or it is not known. */
typedef struct KindCost {
    int steps[2];
    double seconds[2];
} KindCost;
/* What --discover found. */
typedef struct RunDiscovered {
    int questions, asked, answered;
    int candidates, proved;
    int fresh;        /* of the proved ones: the file did not hold them */
    double seconds;   /* 0: nothing was asked */
    const char *path; /* the file */
    const char *note; /* what went wrong; NULL: nothing */
} RunDiscovered;
/* A body of control flow that gained as a model of its own, or whose states are known: its name,
   the table and the report. */
typedef struct RunBody {
    const char *name, *table, *report;
} RunBody;
/* The results of a run, for the table, the report and the page. */
typedef struct RunStats {
    int steps, regions, regions_unique; /* on the built-in runtime: graphs expanded; regions */
    int candidates;     /* graphs, sets of rules or whole models whose cost was determined */
    int frozen_missing; /* times that a frozen run estimated, as the cost file lacks them */
    /* Seconds; < 0: not known. From the costs of steps; of whole models, on the target. */
    double predicted_before, predicted_after;
    double measured_before, measured_after;
    int also_threads; /* the whole models on as many threads of the target; 0: not measured */
    double also_before, also_after;
    /* What was wrong in the cost file and was measured again; NULL: nothing. */
    const char *cost_fault;
    double start; /* process_clock() when the run began */
    double flops_before, flops_after;
    int64_t bytes_before, bytes_after; /* of the files */
    int64_t growth;                    /* bytes by which the result's file is larger */
    int nplace;
    const PlaceGain *place; /* rewritten; the largest gain first */
    int ngain;
    const PlaceGain *gain; /* all that gain by themselves, also where they overlap */
    const char *reason;    /* why nothing gains; NULL: it is not known */
    /* Of several sets of sizes the one with the least gain, "seq=128"; NULL: there is one. */
    const char *sizes;
    /* Lines on how far the original is from the machine's roofline; NULL: not known. */
    const char *headroom;
    bool checked;
    const double (*output)[2]; /* by output of the model: the greatest difference, and relative to
                                  its greatest element; < 0: not compared */
    double check_absolute, check_relative; /* the greatest, over all outputs */
    bool check_unstable;                   /* Difference.unstable */
    bool check_zero;                       /* the original's outputs were 0 */
    const char *opinion;                   /* what --check-with says; NULL: it was not asked */
    const char *check_note;                /* why the whole model was not compared; "" */
    RunDiscovered discovered;
    int nmoved, nbody;
    MovedNodes *moved; /* out of bodies of loops */
    RunBody *body;
    /* Seconds with what was moved and with these bodies / the original's; 0: neither is used. */
    double bodies_ratio;
    double bodies_before; /* the original's seconds, measured against the model with them */
    int64_t bodies_bytes; /* of the file with them */
    /* Why they are not used; NULL: they are, or there are none. */
    const char *moved_note, *bodies_note;
    int noperator; /* this and what follows: run_operators (show/report.h) */
    OpCost *operators;
    KindCost kinds[STEP_KIND_COUNT];
} RunStats;
/* A model that rules are applied to: the whole model of the run, or a part of it (part.c). */
typedef struct RunSource {
    /* What is read: the user's file or, if it was preprocessed (functions and Ifs inlined, sizes
       fixed, bodies of control flow optimized), a file in memory. */
    const char *path;
    int memory_fd;   /* the descriptor of the file in memory; 0: there is none */
    Cleanup cleanup; /* closes it */
    char digest[33]; /* of the bytes of the file as it would be written unchanged */

    Model *model;
    Graph original, start; /* as imported; with small constants computed, as rules see it */
    ValueMap prefold;      /* from original to start */
    NodeId model_nodes;    /* nodes up to this one were made before any rule was applied */
    Facts *facts;
    Sizes sizes; /* of every named size the number that an option gives, or a guess: for pricing and
                    checking only */
} RunSource;
static inline bool source_preprocessed(const RunSource *s) { return s->memory_fd != 0; }
/* The inputs of a source, and what they hold, whoever runs the model (input_data.h). */
typedef struct RunInputs {
    World *w;
    Arena *arena;
    const RunSource *source;
    FeedOptions given; /* --input */
    Feed feed;
    const char *refused;   /* why the model did not run on what was drawn, if feed.attempt */
    IsomerOptions options; /* the run's, and as input shapes the sizes of what is given */
} RunInputs;
typedef struct Run {
    /* What it is told and what it works with. */
    const IsomerOptions *o;
    const char *in, *out;
    IsomerTexts domain; /* whose operators may be written */
    Escape *escape;
    World *w;
    Arena *arena;
    Error *error;

    /* What is opened before the search and stays. */
    RunSource source;
    bool sizes_fixed;     /* those of --dim and --input-shape are in the file (--fix-dims) */
    bool inlined;         /* calls of functions, or Ifs, were replaced by the nodes in them */
    bool input_returned;  /* neither that nor a rule gains: the result is the user's file */
    int64_t growth_limit; /* bytes by which the file may grow */
    Library library;
    CostDb *db;
    ProofLog log;  /* of --replay; otherwise empty */
    uint64_t seed; /* of random data: that of --seed, or of the log */
    RunInputs inputs;
    const char *helper;  /* of --check-with: the program that runs both models */
    const char *profile; /* what profile-onnxruntime printed; NULL: it was not asked */

    RunStats stats;
} Run;

/* The result is made of another file than the user's, even if no rule was applied. */
static inline bool run_new_source(const Run *r) {
    return source_preprocessed(&r->source) && !r->input_returned;
}

/* Seconds since the run began. */
double run_seconds(const Run *);
bool run_signalled(const Run *); /* the caller set *options.cancel */
/* `limit` run_seconds have passed, which a frozen run never asks (stop.h), or the caller
   signalled. */
bool run_time_over(const Run *, double limit);
/* The seconds that --time-limit or --effort give a search on a measuring command. */
double run_command_seconds(const IsomerOptions *);
/* The caller signalled, and without keep_best: the run's error is set, and the run ends. */
bool run_cancelled(Run *);
void run_say(const Run *, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* progress */
/* A copy on the heap for IsomerResult, freed by isomer_result_free. Raises E_MEMORY. */
char *run_copy_text(Escape *, const Text *);
/* Whether costs are times, not counts. */
bool run_measures(const IsomerOptions *);
/* For prices of the built-in runtime, as the options of the run say; also for a report. */
CostOptions run_cost_options(const Run *);
/* Whether --measure-with names ONNX Runtime: the only target that gives a profile. */
bool run_targets_onnxruntime(const IsomerOptions *);
/* Whether bodies of control flow are rewritten: only for a target that times files, and not where a
   log of rules has to describe all that is done. */
bool run_bodies_wanted(const Run *);
/* Sets source.sizes from --input-shape and --dim, with the numbers of this set where --dim gives
   lists; other sizes are guessed. False: the run's error is set. run_select_sizes (input_data.h)
   draws inputs of these sizes, too. */
bool run_bind_sizes(Run *, int size_set);
int run_size_set_count(const Run *); /* the length of the longest list that --dim gives; or 1 */
/* The numbers by which a set differs from others: "seq=128", or "". In the run's arena. */
const char *run_size_set_name(const Run *, int size_set);
StringList string_list(IsomerTexts); /* the same texts, not copied */
/* A derivation in which no rule was applied yet: at the source's start graph, mapped from the
   original's values. */
Derivation run_derivation(const RunSource *, const Library *, World *, Arena *);
/* Resets the derivation, its times and its growth to the original's: nothing gains, or the result
   must not be written. */
void run_keep_original(Run *, Derivation *);
/* How to write a derivation (model_write); it refers to the derivation, which must not move. */
ModelWrite run_model_write(const Run *, const Derivation *);
/* Whether a finished derivation can be written; false: check_note says why the original is kept. */
bool run_writable(Run *, const Derivation *);
#endif
