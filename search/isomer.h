/* isomer.h -- libisomer.so: finds a faster ONNX model that computes the same.

     IsomerOptions options;
     IsomerResult result;
     isomer_options(&options);
     if (isomer_optimize("in.onnx", "out.onnx", &options, &result)) puts(result.message);
     else puts(result.table);
     isomer_result_free(&result);

   The library never exits, prints or touches signal handlers. Several threads may optimize at once,
   each with options and a result of its own. While the first call loads OpenBLAS it sets
   OPENBLAS_CORETYPE and OPENBLAS_NUM_THREADS in the environment and then restores them; no other
   thread should read or change the environment meanwhile.

   Options that do not go together are refused, and so are two that name one file of which either
   would be lost (only `in` and `out` may be the same).

   Functions return what the programs exit with: 0 done, 1 a check failed, 2 wrong options, 3
   invalid input, 4 a limit was reached, 5 the environment (files, back ends, measuring commands),
   130 cancelled. */
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
/* Set by isomer_options; then change what you need. Texts stay the caller's. */
typedef struct IsomerOptions {
    size_t size; /* sizeof(IsomerOptions), set by isomer_options */

    /* Sizes that the model leaves open, for timing and checking; the result keeps them open unless
       fix_dims is set. */
    IsomerTexts input_shape; /* "x:1,3,224,224": of an input */
    IsomerTexts dim;         /* "batch=8": of every size of this name; "seq=32,128": the result is
                                checked at both, and with measure_with "onnxruntime" timed at
                                both */
    int fix_dims;            /* not 0: the result has these numbers for them instead */

    /* The rules. */
    const char *rules;           /* a file of proved rules; "none"; NULL: the library of rules */
    IsomerTexts enable, disable; /* names or identifiers of rules; enable: only these */
    const char *allow; /* "drops", "defines", "overflows", "jumps" joined by +: also rules that may
                          make NaN and infinity vanish or appear, or change a rounding into a whole
                          step */

    /* What is minimized. */
    const char *cost;         /* "measured" time, "flops" (estimated time) or "nodes" */
    const char *cost_db;      /* file of measured times; NULL: one in the user's cache folder */
    const char *measure_with; /* the target: "onnxruntime", or a command that times ONNX files
                                 (search/README.md); NULL: the built-in runtime */
    IsomerTexts domain;  /* "com.microsoft": operators of ONNX Runtime's own may be used, so that
                            the result runs there only; "none"; empty: com.microsoft if
                            measure_with is "onnxruntime", else none */
    const char *backend; /* of the built-in runtime: "cpu", "cuda" or the path of a plug-in */
    const char *backend_options; /* text that the back end understands; NULL: none */
    int frozen;                  /* not 0: nothing is timed; times not in cost_db are estimated */
    int threads;      /* of the target, 1 to 64: the built-in runtime's or "onnxruntime"'s */
    int also_threads; /* the result is timed on as many threads of "onnxruntime", too, and what
                         loses there in sum stays as it was; 0: not; < 0: on the machine's cores,
                         if threads is 1 and that takes little time */

    /* The search and its limits. */
    const char *search; /* on the costs of the built-in runtime: "backtrack", "egraph" or "both";
                           with measure_with only "backtrack", which then has no effect */
    int64_t steps;      /* at most this many graphs are expanded */
    double time_limit;  /* seconds; 0: none, or what effort says */
    const char *effort; /* "quick", "default" or "thorough": with a measuring command 30, 120 or 600
                           seconds, unless time_limit is set */
    int64_t fold_limit; /* constants of more bytes are not computed in advance; < 0: no limit */
    int64_t max_growth; /* bytes by which the file may grow; < 0: 1 MiB plus a tenth of the file */

    /* The check of what is to be written. */
    int check;              /* on how many sets of inputs the models are compared; 0: none */
    int64_t seed;           /* of random inputs; < 0: 0, or that of the log to replay */
    double rtol, atol;      /* allowed difference: relative to an output's largest magnitude, and
                               absolute; < 0: by the classes of the rules used */
    const char *input;      /* a .npz file with the first set of inputs; NULL: none */
    IsomerTexts inputs;     /* "ids=0..99", "n=3", "x=FILE.npy" or "FILE.npz": inputs, also for
                               "onnxruntime" as target and second opinion; other inputs are random,
                               integers within the range that the graph allows */
    const char *check_with; /* a second opinion: "onnxruntime" (the Python package); NULL: none */

    /* Other files that are written, and texts of the result; NULL or 0: not made. */
    const char *report;    /* JSON; search/REPORT.md */
    const char *html;      /* a page: what changed as pictures (by Graphviz's dot), costs, rules */
    const char *dot;       /* both graphs in Graphviz's language */
    int diff;              /* result.changes lists every node removed, added or changed */
    IsomerTexts explain;   /* result.changes says which rules made these nodes, and from what */
    const char *proof_log; /* every step from the original to the result, for `replay` */
    const char *replay;    /* a proof log to follow instead of searching */

    int external;               /* weights go into one file next to the result, OUT.data */
    int64_t external_threshold; /* only weights of at least this many bytes */
    int dry_run;                /* the model is not written; the files named above are */
    int headroom; /* not 0: nothing is searched or written; result.table says how far the model is
                     from what the machine can do on the target, which must be "onnxruntime" */

    const volatile int *cancel; /* the run stops once *cancel is nonzero; may be NULL */
    int keep_best; /* not 0: then only the search ends, and its best so far is the result */
    /* For so many seconds before the search, new rules for the model's most expensive parts are
       looked for, proved, and added to rules_out; 0: none are. */
    double discover;
    /* The user's own rules, which are used like the library's unless `rules` is set: a file, which
       need not exist if discover is set; NULL: one in the user's data folder. */
    const char *rules_out;
    /* Receives lines that report progress; may be NULL. */
    void (*progress)(void *user, const char *line);
    void *user;
} IsomerOptions;
typedef struct IsomerResult {
    int code;
    char message[700]; /* where and why it failed; else "" */
    char *table;       /* what was done, as a table to print; NULL on failure */
    char *report;      /* what was done, as JSON (search/REPORT.md); NULL on failure */
    char *changes;     /* for `diff` and `explain`, else NULL */
    int changed;       /* 1: the output differs from the input */
    char warning[300]; /* what the user should know although nothing failed; else "" */
} IsomerResult;

ISOMER_API const char *isomer_version(void); /* "1.2.3": static, never freed */
/* The version, then a line for each linked library, truncated to n bytes including the 0; on
   failure, the reason. */
ISOMER_API void isomer_versions(char *text, size_t n);
/* Sets every option to its default; nothing in it needs to be freed. */
ISOMER_API void isomer_options(IsomerOptions *);
/* Reads the model `in` and writes `out`, completely or not at all; both may be the same path, and
   `out` is ignored in a dry run. If no result gains 3 %, `out` is a copy of `in`. *result is
   overwritten, not read. Returns result->code; on failure result->message says where and why. Free
   the result with isomer_result_free, also after a failure. */
ISOMER_API int isomer_optimize(const char *in, const char *out, const IsomerOptions *,
                               IsomerResult *);
/* No model is read: result->table lists every rule with its name, identifier and class, and whether
   these options choose it. Returns and frees as isomer_optimize. */
ISOMER_API int isomer_list_rules(const IsomerOptions *, IsomerResult *);
/* Frees its texts; a result may be freed more than once. */
ISOMER_API void isomer_result_free(IsomerResult *);
#ifdef __cplusplus
}
#endif
#endif
