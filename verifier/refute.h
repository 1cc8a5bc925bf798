/* refute.h -- a concrete counterexample: sizes, data, and an element that differs; sizes labelled
   by whether the sides agree. */
#ifndef ISOMER_REFUTE_H
#define ISOMER_REFUTE_H
#include "verifier/sizes.h"

typedef struct RefuteOptions {
    int shapes; /* how many sets of sizes are tried */
    uint64_t seed;
    int64_t elements;  /* the most of a tensor; 0: 4096 */
    bool defined_only; /* elements that only one side defines do not count */
    bool values_only;  /* outputs of other sizes do not count */
    bool quick;        /* only data without a zero */
    bool small;        /* sizes and attributes of 1, 2 and 3 */
} RefuteOptions;
typedef struct Refutation {
    int tried; /* sets of sizes that satisfy the left side's conditions */
    bool found;
    int output;           /* number of the output that differs, from 0 */
    bool exact;           /* computed in rationals; else in doubles, with a margin */
    const char *text;     /* sizes, data, output, first differing index and the two values */
    const int64_t *value; /* of the instance's symbols */
} Refutation;

typedef struct SizeModel { /* sizes at which both sides can be computed */
    const int64_t *value;  /* of the instance's symbols */
    bool same;             /* the sides agree on the data tried */
    bool undefined;        /* no data gave the left side an element that is a number */
} SizeModel;

/* Both graphs must be free of composites. Evaluates the operators' own definitions by walking their
   trees. */
Refutation refute_instance(World *, Arena *, const Instance *, const RefuteOptions *);
/* Up to o->shapes different models; their number. Computed in doubles, with a margin. */
int refute_models(World *, Arena *, const Instance *, const RefuteOptions *, SizeModel *out);
#endif
