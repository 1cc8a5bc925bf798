/* refute.h -- a concrete counterexample: sizes, data, and an element that differs. */
#ifndef ISOMER_REFUTE_H
#define ISOMER_REFUTE_H
#include "verifier/sizes.h"

typedef struct RefuteOptions {
    int shapes; /* how many sets of sizes are tried */
    uint64_t seed;
    bool defined_only; /* elements that only one side defines do not count */
} RefuteOptions;
typedef struct Refutation {
    int tried; /* sets of sizes that satisfy the left side's conditions */
    bool found;
    int output;       /* number of the output that differs, from 0 */
    bool exact;       /* computed in rationals; else in doubles, with a margin */
    const char *text; /* sizes, data, output, first differing index and the two values */
} Refutation;

/* Both graphs must be free of composites. Evaluates the operators' own definitions by walking their trees. */
Refutation refute_instance(World *, Arena *, const Instance *, const RefuteOptions *);
#endif
