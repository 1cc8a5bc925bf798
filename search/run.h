/* run.h -- the state that the parts of a run of optimize-model share. optimize.c calls the parts,
   each of which has a header of its own. */
#ifndef ISOMER_RUN_H
#define ISOMER_RUN_H
#include "graphs/check.h"
#include "graphs/feed.h"
#include "graphs/onnx/onnx.h"
#include "graphs/sizes.h"
#include "rules/prooflog.h"
#include "search/cost.h"
#include "search/derive.h"
#include "search/isomer.h"
#include "search/library.h"

/* A result must take at most this share of the original's time: less than 3 % is not a gain, and
   the original is kept. */
#define RUN_GAIN 0.97
/* Values that depend only on constants and have at most this many bytes are computed before the
   search, so that rules can see them. */
enum { PREFOLD_BYTES = 64 };

/* Equal places that were rewritten alike, with the times of one of them, timed on the target as a
   model of its own. */
typedef struct PlaceGain {
    const char *node, *rules; /* name of the first node of the first place; names of the rules */
    int nposition;
    const int *position;  /* all nodes of the first place, as positions in the file */
    int count;            /* how many places there are */
    double before, after; /* seconds of one place; < 0: not known, only its kind was timed */
    bool expected;        /* not timed, but derived from places with the same rules */
} PlaceGain;
double place_total(const PlaceGain *); /* seconds that all these places gain together */
/* The use of one operator in the original [0] and in the result [1]. Views and composites are
   counted as they were imported. */
typedef struct OpCost {
    const char *name;
    int nodes[2];
    double flops[2];
} OpCost;
/* The steps of one kind in the plans of the original [0] and of the result [1]; seconds < 0: there
   are none, or their time is not known. */
typedef struct KindCost {
    int steps[2];
    double seconds[2];
} KindCost;
/* What --discover found. */
typedef struct RunDiscovered {
    int questions, asked, answered; /* about the model: in all; asked; answered */
    int candidates, proved;         /* rules that answer them; proved ones */
    int fresh;                      /* proved ones that the file did not have yet */
    double seconds;                 /* 0: nothing was asked */
    const char *path;               /* the file of the user's own rules */
    const char *note;               /* what went wrong; NULL: nothing */
} RunDiscovered;
/* A body of control flow that gained as a model of its own, or whose states turned out to be
   constants: its name, and the table and report of its run. */
typedef struct RunBody {
    const char *name, *table, *report;
} RunBody;
/* A size of an input that no option gives: its name in the file, and the number that was taken. */
typedef struct GuessedSize {
    const char *name;
    int64_t value;
} GuessedSize;
/* The results of a run, for the table, the report and the page. */
typedef struct RunStats {
    /* For the built-in runtime: graphs expanded; regions; different regions. */
    int steps, regions, regions_unique;
    int candidates;     /* graphs, sets of rules or whole models whose cost was determined */
    int frozen_missing; /* times that a frozen run estimated because the cost file lacks them */
    /* Seconds of the whole model, < 0 if not known: predicted from the prices of its steps, and
       measured on the target. */
    double predicted_before, predicted_after;
    double measured_before, measured_after;
    /* The whole models were also timed on this many threads; 0: they were not. */
    int also_threads;
    double also_before, also_after;
    /* What was wrong in the cost file and was measured again; NULL: nothing. */
    const char *cost_fault;
    /* Which option gives sizes that the model does not allow, and what it requires; NULL: none. */
    const char *size_conflict;
    double start;  /* process_clock() when the run began */
    double before; /* seconds of searches that are repeated without some rules */
    double flops_before, flops_after;
    int64_t bytes_before, bytes_after; /* sizes of the files; before: during the search that of the
                                          model that is searched, in reports that of the user's */
    int64_t growth;                    /* bytes by which the result's file is larger */
    int nplace;
    const PlaceGain *place; /* the places that were rewritten, the largest gain first */
    int ngain;
    const PlaceGain *gain; /* all places that gain by themselves, even if they overlap */
    const char *reason;    /* why nothing gains; NULL: no reason is known */
    int nguessed;
    const GuessedSize *guessed; /* at the size set in use */
    /* The set of sizes with the least gain, "seq=128", if there are several; NULL: there is one. */
    const char *sizes;
    /* Lines that say how far the original is from the machine's roofline; NULL: not known. */
    const char *headroom;
    bool checked;     /* the result was compared numerically */
    bool unconfirmed; /* rules gain, but the original is kept for the reason in check_note */
    /* Applications of rules: in all, and those whose values were compared by their definitions in
       double, each by itself or as a part of the whole graphs (check_steps.h). */
    int applications, applications_compared;
    int constants, constants_compared; /* computed constants: in all, and those so compared */
    /* By output of the model: the greatest absolute difference of all size sets, and the same
       relative to the output's largest magnitude; < 0: not compared. NULL: there is none yet. */
    const double (*output)[2];
    double check_absolute, check_relative; /* the greatest of all outputs and size sets */
    bool check_unstable;                   /* Difference.unstable, in any size set */
    bool check_zero;                       /* all outputs of the original were 0 at all of them */
    const char *opinion; /* what the runtime of --check-with says; NULL: it was not asked */
    /* What was compared if it was not simply the whole model, or why nothing was; else "". */
    const char *check_note;
    RunDiscovered discovered;
    int nmoved, nbody;
    MovedNodes *moved; /* nodes that were moved out of the bodies of loops */
    RunBody *body;
    /* The time of the model with the moved nodes and new bodies / the original's; 0: neither is
       used. */
    double bodies_ratio;
    double bodies_before; /* seconds of the original in that comparison */
    int64_t bodies_bytes; /* size of the file with the moved nodes and new bodies */
    /* Why the moved nodes, or the new bodies, are not used; NULL: they are used, or there are
       none. */
    const char *moved_note, *bodies_note;
    int noperator; /* set by run_operators (show/report.h), like the fields below */
    OpCost *operators;
    KindCost kinds[STEP_KIND_COUNT];
} RunStats;
/* A model to which rules are applied: the whole model of the run, or a part of it (part.c). */
typedef struct RunSource {
    /* The file that is read: the user's file or, if it was preprocessed (functions and Ifs inlined,
       sizes fixed, bodies of control flow optimized), a file in memory. */
    const char *path;
    int memory_fd;   /* descriptor of the file in memory; 0: there is none */
    Cleanup cleanup; /* closes memory_fd */
    char digest[33]; /* digest of the bytes that an unchanged model would be written as */

    Model *model;
    Graph original, start; /* as imported; as rules see it, with small constants computed */
    ValueMap prefold;      /* from the values of `original` to those of `start` */
    NodeId model_nodes;    /* nodes up to this one existed before any rule was applied */
    Facts *facts;
    /* The number of every named size, given by an option or guessed. It is used for pricing and
       checking only. */
    Sizes sizes;
} RunSource;
static inline bool source_preprocessed(const RunSource *s) { return s->memory_fd != 0; }
/* The inputs of a source and their contents, which are the same whichever runtime runs the model
   (input_data.h). */
typedef struct RunInputs {
    World *w;
    Arena *arena;
    const RunSource *source;
    FeedOptions given; /* what --input gives */
    Feed feed;
    const char *refused;   /* why the model did not run on the first data drawn, if feed.attempt */
    IsomerOptions options; /* the run's options, with the sizes of given inputs as input shapes */
    int nfile;             /* the first nfile of these input shapes are those of files */
} RunInputs;
typedef struct Run {
    /* What the run is told and what it works with. */
    const IsomerOptions *o;
    const char *in, *out;
    /* A disagreement is written to the folder with this path and .disagreement behind it; NULL:
       nowhere. */
    const char *disagreement_beside;
    IsomerTexts domain; /* the domains whose operators the result may use */
    Escape *escape;
    World *w;
    Arena *arena;
    Error *error;

    /* What is opened before the search and then stays the same. */
    RunSource source;
    bool sizes_fixed;    /* --fix-dims: the sizes given by options are in the file */
    bool inlined;        /* calls of functions, or Ifs, were replaced by their nodes */
    int64_t fixed_bytes; /* size of the user's file with these sizes; 0: none of them was open */
    /* The names of the rules that are why the result at hand is not confirmed: on data far larger
       and smaller than usual, what they make differs from what they replace. */
    StringList differing;
    /* Names, with commas between them, of the rules that were so before; the search was repeated
       without them. NULL: there are none. */
    const char *left_out;
    /* Nothing gains or is confirmed: the result is the user's file, with the sizes that --fix-dims
       fixed. */
    bool input_returned;
    int64_t growth_limit; /* bytes by which the file may grow */
    Library library;
    CostDb *db;
    int size_set;  /* the size set in use (run_bind_sizes) */
    ProofLog log;  /* the log of --replay; otherwise empty */
    uint64_t seed; /* seed of random data: given by --seed or the log */
    RunInputs inputs;
    const char *helper;  /* the program that runs both models for --check-with */
    const char *profile; /* what profile-onnxruntime printed of `source`; NULL: nothing */
    /* Part of the target's name in the cost file: a digest of what its helper measures with, such
       as the version of a library and the processor, or "". NULL: the helper was not asked yet. */
    const char *target_identity;

    RunStats stats;
} Run;

/* Returns whether the result is made from another file than the user's, even if no rule was
   applied. */
static inline bool run_new_source(const Run *r) {
    return source_preprocessed(&r->source) && !r->input_returned;
}
/* Returns whether the file that is written differs from the user's, even if no rule was applied. */
static inline bool run_changes_file(const Run *r) {
    return run_new_source(r) || (r->input_returned && r->fixed_bytes);
}

/* The versions of ONNX's operator set that Isomer understands. Operators of older versions
   broadcast by other rules, and the meaning of later ones is not known, so models of other versions
   are copied unchanged. */
enum { OPSET_OLDEST = 7, OPSET_NEWEST = 28 };
/* Returns whether the model's version is one of these, or it imports no ONNX operators. */
bool opset_known(const Model *);
/* Returns the seconds since the run began, without those of --discover and of searches that are
   repeated, which limits do not include; run_seconds_whole: with them. */
double run_seconds(const Run *);
double run_seconds_whole(const Run *);
bool run_signalled(const Run *); /* whether the caller set *options.cancel */
/* Returns whether run_seconds has reached `limit` or the caller signalled. In a frozen run only a
   signal counts (stop.h). */
bool run_time_over(const Run *, double limit);
/* Returns the seconds that --time-limit or --effort gives a search with a measuring command. */
double run_command_seconds(const IsomerOptions *);
/* Returns whether the caller signalled without keep_best, or twice: *options.cancel is 2. */
bool run_ends(const Run *);
bool run_must_end(void *run); /* the same, for those who call back with a pointer */
/* Returns the same. If it is so, the run's error is set, and the run must end. */
bool run_cancelled(Run *);
void run_say(const Run *, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* reports progress */
/* Adds a warning to a text of n bytes, behind those that it has; what does not fit is cut off. */
void run_warn(char *text, size_t n, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Returns a copy on the heap for IsomerResult, which isomer_result_free frees. Raises E_MEMORY. */
char *run_copy_text(Escape *, const Text *);
/* Returns whether costs are measured times (--cost measured), not estimates or counts. */
bool run_measures(const IsomerOptions *);
/* Returns the options for prices of the built-in runtime, as the run's options require. */
CostOptions run_cost_options(const Run *);
/* Returns whether --measure-with names ONNX Runtime, the only target that provides a profile. */
bool run_targets_onnxruntime(const IsomerOptions *);
/* Returns whether bodies of control flow are rewritten: only with a measuring command, and not if a
   proof log has to describe everything that is done. */
bool run_bodies_wanted(const Run *);
/* Sets source.sizes from --input-shape and --dim, using the numbers of this size set where --dim
   gives lists; other sizes are guessed, which stats.guessed lists. run_select_sizes (input_data.h)
   also draws inputs of these sizes. Returns false with the run's error set on failure. */
bool run_bind_sizes(Run *, int size_set);
/* Whether each set of sizes suits the model: as run_bind_sizes, but nothing is guessed, and the set
   in use does not change. */
bool run_size_sets_valid(Run *);
int run_size_set_count(const Run *); /* the length of the longest list in --dim, at least 1 */
/* Returns --input-shape and --dim, with the number of the size set in use in place of each list. In
   the run's arena. */
SizeOptions run_given_sizes(const Run *);
/* Returns the numbers by which a size set differs from others: "seq=128", or "". In the run's
   arena. */
const char *run_size_set_name(const Run *, int size_set);
/* Returns the guessed sizes as "n=1, h=64"; "" if there are none. In the arena. */
const char *run_guessed_text(const RunStats *, Arena *);
StringList string_list(IsomerTexts); /* the same texts, not copied */
/* Returns a derivation to which no rule was applied yet: its graph is the source's start graph, and
   its map leads from the original's values. */
Derivation run_derivation(const RunSource *, const Library *, World *, Arena *);
/* Resets the derivation, its times and its growth to those of the original, because nothing gains
   or the result must not be written. */
void run_keep_original(Run *, Derivation *);
/* Returns how to write a derivation with model_write. It refers to the derivation, which must not
   move. */
ModelWrite run_model_write(const Run *, const Derivation *);
/* Returns whether a finished derivation can be written; if not, check_note says why the original is
   kept. */
bool run_writable(Run *, const Derivation *);
#endif
