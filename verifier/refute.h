/* refute.h -- searches for a counterexample (sizes, data and an element that differs), and for
   models: sizes labelled by whether the sides agree there. */
#ifndef ISOMER_REFUTE_H
#define ISOMER_REFUTE_H
#include "verifier/sizes.h"

typedef struct RefuteOptions {
    int shapes; /* the number of sets of sizes to try */
    uint64_t seed;
    int64_t elements;  /* the most elements of a tensor; 0 for 4096 */
    bool defined_only; /* elements that only the left side defines do not count */
    bool values_only;  /* outputs whose sizes differ do not count */
    bool quick;        /* tries only data without a zero */
    bool small;        /* draws sizes and attributes from 1, 2 and 3 only */
} RefuteOptions;
typedef struct Refutation {
    int tried; /* sets of sizes that satisfy all conditions and needs */
    bool found;
    int output;           /* the number of the output that differs, from 0 */
    bool exact;           /* computed in rationals, otherwise in doubles with a margin */
    const char *text;     /* describes sizes, data, output, first differing index and both values */
    const int64_t *value; /* of the instance's symbols */
} Refutation;

typedef struct SizeModel { /* sizes at which both sides can be computed */
    const int64_t *value;  /* of the instance's symbols */
    bool same;             /* the sides agree on the data that were tried */
    bool undefined;        /* no data made any element of the left side a number */
} SizeModel;

/* Searches for a counterexample by evaluating the operators' definitions. Both graphs must be free
   of composites. */
Refutation refute_instance(World *, Arena *, const Instance *, const RefuteOptions *);
/* Writes at most o->shapes different models to `out` and returns how many. Values are computed in
   doubles, with a margin. */
int refute_models(World *, Arena *, const Instance *, const RefuteOptions *, SizeModel *out);
#endif
