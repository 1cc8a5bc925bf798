/* isomer.h -- libisomer.so: finds a faster ONNX model that computes the same.

     IsomerOptions options;
     IsomerResult result;
     isomer_options(&options);
     if (isomer_optimize("in.onnx", "out.onnx", &options, &result)) puts(result.message);
     else puts(result.table);
     isomer_result_free(&result);

   The library never exits, prints or touches signal handlers. Several threads may optimize at once,
   each with options and a result of its own. While the first call loads OpenBLAS, it sets
   OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS in the environment and then restores them; no other
   thread should read or change the environment meanwhile.

   Options that do not go together are refused. So are two options that name the same file if either
   file would be lost; only `in` and `out` may be the same.

   The functions return the exit status of the programs: 0 done, 1 a check failed, 2 wrong options,
   3 invalid input, 4 a limit was reached (memory included), 5 a failure of the environment (files,
   back ends, measuring commands), 130 cancelled. */
#ifndef ISOMER_H
#define ISOMER_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ISOMER_API __attribute__((visibility("default")))

typedef struct IsomerTexts {
    int n;
    const char *const *v;
} IsomerTexts;
/* Call isomer_options first, then change what you need. The library does not copy or free the
   texts; they must live until the call returns. */
typedef struct IsomerOptions {
    size_t size; /* sizeof(IsomerOptions), set by isomer_options, without which calls fail */

    /* Sizes that the model leaves open. They are used for timing and checking; the result keeps
       them open unless fix_dims is set. Those that are not given are 1 on a first axis, 64 on
       others (16 where data decides the size), or what the model requires. */
    /* The sizes of an input: "x:1,3,224,224"; "x:" may be left out if there is one input. */
    IsomerTexts input_shape;
    /* The value of every size of this name: "batch=8". With "seq=32,128" the result is checked at
       both values, and with measure_with "onnxruntime" it is timed at both. */
    IsomerTexts dim;
    int fix_dims; /* not 0: the result has these numbers in place of the open sizes */

    /* Which rules are used. */
    const char *rules;           /* a file of proved rules; "none"; NULL: the library of rules */
    IsomerTexts enable, disable; /* names or identifiers of rules; enable: only these are used */
    /* Classes of rules that are used in addition: "drops", "defines", "overflows" and "jumps",
       joined by + or commas. They may make NaN and infinity vanish or appear, or change a rounding
       into a whole step. */
    const char *allow;

    /* What is minimized. */
    const char *cost;    /* "measured" (time), "flops" (estimated time) or "nodes" (their number) */
    const char *cost_db; /* the file of measured times; NULL: one in the user's cache folder */
    /* The target: "onnxruntime", or a command that times ONNX files (search/README.md); NULL: the
       built-in runtime. */
    const char *measure_with;
    /* Domains whose operators the result may use: "com.microsoft" for those of ONNX Runtime, after
       which the result runs only there; "none"; empty: com.microsoft if measure_with is
       "onnxruntime", else none. */
    IsomerTexts domain;
    const char *backend; /* of the built-in runtime: "cpu", "cuda" or the path of a plug-in */
    const char *backend_options; /* options of the back end, as text; NULL: none */
    int frozen; /* not 0: nothing is timed; times that cost_db lacks are estimated */
    /* 1 to 64: threads of the target, which is the built-in runtime or "onnxruntime". */
    int threads;
    /* The result is also timed on this many threads of "onnxruntime", and places that lose there
       more than they gain are left as they were. 0: it is not; < 0: on all cores of the machine, if
       `threads` is 1 and that takes little time. */
    int also_threads;

    /* The search and its limits. */
    /* How to search with the costs of the built-in runtime: "backtrack", "egraph" or "both". With
       measure_with only "backtrack" is allowed, and has no effect. */
    const char *search;
    int64_t steps;     /* the search ends after this many graphs were expanded */
    double time_limit; /* of the search, in seconds; 0: none, or the limit that effort sets */
    /* "quick", "default" or "thorough": the search with a measuring command takes at most 30, 120
       or 600 seconds, unless time_limit is set. */
    const char *effort;
    int64_t fold_limit; /* constants of more bytes are not computed in advance; < 0: no limit */
    int64_t max_growth; /* bytes by which the file may grow; < 0: 1 MiB plus a tenth of the file */

    /* The check of what is to be written. */
    int check;    /* the number of sets of inputs on which the models are compared; 0: none */
    int64_t seed; /* of random inputs; < 0: 0, or the seed of the log to replay */
    /* Allowed differences, relative to an output's largest magnitude and absolute: one that is
       within either is allowed. < 0: determined by the classes of the rules used. */
    double rtol, atol;
    const char *input; /* a .npz file with the first set of inputs; NULL: none */
    /* Inputs: "ids=0..99", "n=3", "x=FILE.npy" or "FILE.npz". They are also used by "onnxruntime"
       as target or second opinion. Other inputs are random; integers are drawn from the range that
       the graph allows. */
    IsomerTexts inputs;
    /* Another runtime that compares both models: "onnxruntime" (the Python package); NULL: none. */
    const char *check_with;

    /* Other files that are written, and texts of the result; NULL or 0: not made. */
    const char *report; /* a report as JSON (search/REPORT.md) */
    /* An HTML page: pictures of what changed (needs Graphviz's dot), costs, rules. */
    const char *html;
    const char *dot; /* both graphs in Graphviz's language */
    int diff;        /* result.changes lists every node removed, added or changed */
    /* result.changes says which rules made these nodes, and from which others. */
    IsomerTexts explain;
    /* Every step from the original to the result, for `replay`. With measure_with, the bodies of
       If, Loop and Scan then stay as they are. */
    const char *proof_log;
    /* A proof log to follow instead of searching. allow, domain, fold_limit, max_growth and the
       sizes to fix are taken from it. */
    const char *replay;

    /* Not 0: weights are written to one file next to the result, whose name is that of the result
       with .data after it, or .data1, .. if another file has that name; the model names it. */
    int external;
    /* Only weights of at least this many bytes, and no lists of up to 64 integers. */
    int64_t external_threshold;
    int dry_run; /* not 0: the model is not written, but the files named above are */
    /* Not 0: nothing is searched or written. Instead, result.table says how far the model is from
       what the machine can do on the target, which must be "onnxruntime". */
    int headroom;

    const volatile int *cancel; /* the run stops once *cancel is not 0; may be NULL */
    /* Not 0: a *cancel of 1 only ends the search; the result is the best found so far. With 2 the
       run stops all the same. */
    int keep_best;
    /* Seconds spent before the search on new rules: rules for the model's most expensive parts are
       looked for, proved, used in this run and added to rules_out; 0: none are. */
    double discover;
    /* The file of the user's own rules, which are used like the library's unless `rules` is set. It
       need not exist if discover is set. NULL: a file in the user's data folder. */
    const char *rules_out;
    /* Receives lines that report progress; may be NULL. */
    void (*progress)(void *user, const char *line);
    void *user;
} IsomerOptions;
typedef struct IsomerResult {
    int code;
    char message[1024]; /* where and why it failed; else "" */
    char *table;        /* a table to print that says what was done; NULL on failure */
    char *report;       /* what was done, as JSON (search/REPORT.md); NULL on failure */
    char *changes;      /* the texts of `diff` and `explain`; NULL if not asked for */
    int changed;        /* 1: the output differs from the input */
    /* What the user should know although nothing failed; several warnings are separated by
       semicolons; else "". */
    char warning[300];
} IsomerResult;

ISOMER_API const char *isomer_version(void); /* "1.2.3": static, never freed */
/* Writes the version to `text`, then a line for each linked library, truncated to n bytes including
   the terminating 0; on failure, the reason. */
ISOMER_API void isomer_versions(char *text, size_t n);
/* Sets every option to its default. Nothing in the options needs to be freed. */
ISOMER_API void isomer_options(IsomerOptions *);
/* Reads the model `in` and writes `out`, either completely or not at all. Both may be the same
   path. `out` is ignored in a dry run and with `headroom`, and may be NULL there only. If no result
   gains 3 %, `out` is a copy of `in`. *result is overwritten, not read. Returns result->code; on
   failure result->message says where and why. Free the result with isomer_result_free, even after a
   failure. */
ISOMER_API int isomer_optimize(const char *in, const char *out, const IsomerOptions *,
                               IsomerResult *);
/* Reads no model: result->table lists every rule with its name, identifier and class, and whether
   these options choose it. Otherwise like isomer_optimize. */
ISOMER_API int isomer_list_rules(const IsomerOptions *, IsomerResult *);
/* Frees the result's texts. A result may be freed more than once. */
ISOMER_API void isomer_result_free(IsomerResult *);
#ifdef __cplusplus
}
#endif
#endif
