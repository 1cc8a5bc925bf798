/* isomer.h -- libisomer.so: finds a faster ONNX model that computes the same. The library never exits, prints or touches signal handlers. Calls share nothing: several threads may optimize at once,
   each with options and result of its own. Functions return an exit code of the programs: 0 done, 1 a check failed, 2 wrong options, 3 invalid input, 4 a limit was reached, 5 the environment
   (files, back ends, measuring commands), 130 cancelled. */
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
    size_t size;                 /* sizeof(IsomerOptions), set by isomer_options */
    IsomerTexts input_shape;     /* "x:1,3,224,224": sizes for costing and checking; they never change the model */
    IsomerTexts dim;             /* "batch=8": likewise, by the name of a size */
    const char *rules;           /* a file of proved rules; "none"; NULL: the library */
    IsomerTexts enable, disable; /* rules by name or identifier; enable: these only */
    const char *allow;           /* classes of rules beyond the default: "drops" */
    const char *cost;            /* "measured", "flops" or "nodes" */
    const char *cost_db;         /* file of measured costs; NULL: in the user's cache folder */
    const char *measure_with;    /* a command that times ONNX files is the target; NULL: our own executor is */
    const char *backend;         /* of our own executor: "cpu" or a plug-in */
    int frozen;                  /* nothing is timed */
    int64_t steps;               /* budget of the search in steps */
    double time_limit;           /* seconds, 0: none */
    uint64_t seed;               /* of the inputs on which results are checked */
    int64_t fold_limit;          /* constants of more bytes are not computed beforehand but at each run; < 0: no limit of its own */
    int64_t max_growth;          /* bytes by which the file may grow; < 0: 1 MiB and a tenth of the file */
    int check;                   /* how many random inputs the results are compared on, 0: none */
    double rtol, atol;           /* relative to the largest magnitude of an output, and absolute; < 0: by the classes of the rules used */
    const char *input;           /* a .npz file: the check's first sample, and the sizes of these inputs; NULL: all is drawn */
    const char *check_with;      /* a second opinion on what is to be written: "onnxruntime", where that Python package is; NULL: none */
    const char *report;          /* JSON file to write; see search/REPORT.md */
    const char *html;            /* a page to write: what changed as pictures (by Graphviz's dot), costs, rules, check */
    const char *dot;             /* the two graphs in Graphviz's language */
    int diff;                    /* the result's `changes` has every node that was removed, added or changed */
    IsomerTexts explain;         /* and for these nodes, which rules made them, from what */
    const char *proof_log;       /* file to write the derivation to */
    const char *replay;          /* a derivation to follow instead of searching */
    int external;                /* weights go into one file beside the result, OUT.data */
    int64_t external_threshold;  /* those of so many bytes */
    int dry_run;                 /* nothing is written but report and proof log */
    const volatile int *cancel;  /* may be NULL; becomes nonzero: stop */
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
ISOMER_API void isomer_versions(char *text, size_t n); /* the same, and a line for each library that is linked, cut at n bytes */
ISOMER_API void isomer_options(IsomerOptions *);       /* defaults */
/* Reads `in`, writes `out` (may be the same path; ignored in a dry run): all of it or nothing. The result's texts are freed by isomer_result_free. */
ISOMER_API int isomer_optimize(const char *in, const char *out, const IsomerOptions *, IsomerResult *);
/* The rules that these options choose, as the result's table: name, identifier, class, whether it is on. */
ISOMER_API int isomer_list_rules(const IsomerOptions *, IsomerResult *);
ISOMER_API void isomer_result_free(IsomerResult *);
#ifdef __cplusplus
}
#endif
#endif
