/* class_check.h -- checks by machine arithmetic, without the prover, whether a rule keeps what its
   class promises. Both sides are computed from the operators' definitions on ordinary and special
   values, and each operation is rounded to the element type before the next one. */
#ifndef ISOMER_TEST_CLASS_CHECK_H
#define ISOMER_TEST_CLASS_CHECK_H
#include "test/shared/rule_trial.h"

enum { CLASS_CHECK_WHY = 400 };
typedef struct ClassCheck {
    long draws, elements;      /* what was compared so far: sets of data, and elements */
    char why[CLASS_CHECK_WHY]; /* the first promise that is broken; "": none */
} ClassCheck;
/* Checks a rule against the class in its verdict, at its shortest block lengths and at n sets of
   sizes, each with every kind of data in float16, bfloat16, float32 and float64 (in the types that
   can hold the rule's literals exactly). Returns false if a promise is broken. */
bool class_check(const Rule *, int n, uint64_t seed, ClassCheck *);
#endif
