/* isomer.h -- libisomer.so: finds a faster ONNX model that computes the same.

   The library never exits, prints or touches signal handlers. Calls share nothing: several threads
   may optimize at once, each with options and result of its own. Functions return an exit code of
   the programs: 0 done, 1 a check failed, 2 wrong options, 3 invalid input, 4 a limit was reached,
   5 the environment (files, back ends, measuring commands), 130 cancelled. */
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
typedef struct IsomerOptions {
    size_t size; /* sizeof(IsomerOptions), set by isomer_options */

    /* The model. Sizes given here are for costing and checking; they never change it. */
    IsomerTexts input_shape; /* "x:1,3,224,224" */
    IsomerTexts dim;         /* "batch=8": by the name of a size */

    /* The rules. */
    const char *rules;           /* a file of proved rules; "none"; NULL: the library */
    IsomerTexts enable, disable; /* by name or identifier; enable: these only */
    const char *allow;           /* classes beyond the default: "drops" */

    /* What a graph costs. */
    const char *cost;         /* "measured", "flops" or "nodes" */
    const char *cost_db;      /* file of measured costs; NULL: in the user's cache folder */
    const char *measure_with; /* "onnxruntime", or a command that times ONNX files; NULL: our own
                                 executor */
    const char *backend;      /* of our own executor: "cpu" or a plug-in */
    int frozen;               /* nothing is timed */

    /* The search and its limits. */
    int64_t steps;      /* budget in steps */
    double time_limit;  /* seconds, 0: none */
    int64_t fold_limit; /* larger constants (bytes) stay computed at each run; < 0: our default */
    int64_t max_growth; /* bytes by which the file may grow; < 0: 1 MiB and a tenth of it */

    /* The check of what is to be written. */
    int check;              /* how many inputs the results are compared on, 0: none */
    uint64_t seed;          /* of the inputs that are drawn */
    double rtol, atol;      /* relative to an output's largest magnitude, and absolute; < 0: by the
                               classes of the rules used */
    const char *input;      /* a .npz file: the first sample, and sizes; NULL: all is drawn */
    const char *check_with; /* a second opinion: "onnxruntime" (the Python package); NULL: none */

    /* What is written beside the model; NULL or 0: not. */
    const char *report;    /* JSON; search/REPORT.md */
    const char *html;      /* a page: what changed as pictures (by Graphviz's dot), costs, rules */
    const char *dot;       /* both graphs in Graphviz's language */
    int diff;              /* the result's `changes` has every node removed, added or changed */
    IsomerTexts explain;   /* and for these nodes, which rules made them, from what */
    const char *proof_log; /* the derivation */
    const char *replay;    /* a derivation to follow instead of searching */

    int external;               /* weights go into one file beside the result, OUT.data */
    int64_t external_threshold; /* those of so many bytes */
    int dry_run;                /* nothing is written but report and proof log */

    const volatile int *cancel;                     /* may be NULL; becomes nonzero: stop */
    void (*progress)(void *user, const char *line); /* may be NULL */
    void *user;
} IsomerOptions;
typedef struct IsomerResult {
    int code;
    char message[700]; /* place and reason of a failure */
    char *table;       /* what was done, for people; NULL on failure */
    char *report;      /* the same as JSON */
    char *changes;     /* node by node, where asked for */
    int changed;       /* the output differs from the input */
    char warning[300]; /* what the user should know although all went well; "" */
} IsomerResult;

ISOMER_API const char *isomer_version(void);
/* The same, and a line for each library that is linked, cut at n bytes. */
ISOMER_API void isomer_versions(char *text, size_t n);
ISOMER_API void isomer_options(IsomerOptions *); /* defaults */
/* Reads `in`, writes `out` (may be the same path; ignored in a dry run): all of it or nothing. The
   result's texts are freed by isomer_result_free. */
ISOMER_API int isomer_optimize(const char *in, const char *out, const IsomerOptions *,
                               IsomerResult *);
/* The rules that these options choose, as the result's table: name, identifier, class, whether it
   is on. */
ISOMER_API int isomer_list_rules(const IsomerOptions *, IsomerResult *);
ISOMER_API void isomer_result_free(IsomerResult *);
#ifdef __cplusplus
}
#endif
#endif
