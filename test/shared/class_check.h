/* class_check.h -- what a rule's class promises, checked by machine arithmetic and without the
   prover: both sides are computed from the operators' definitions, each operation rounded to the
   element type before the next, on ordinary and special values. */
#ifndef ISOMER_TEST_CLASS_CHECK_H
#define ISOMER_TEST_CLASS_CHECK_H
#include "test/shared/rule_trial.h"

enum { CLASS_CHECK_WHY = 400 };
typedef struct ClassCheck {
    long draws, elements;      /* compared so far */
    char why[CLASS_CHECK_WHY]; /* the first promise that is not kept */
} ClassCheck;
/* The rule with its verdict's class at its shortest lengths, at n sets of sizes, each with every
   kind of data in float16, bfloat16, float32 and float64 (those that hold its literals). False: a
   promise is not kept. */
bool class_check(const Rule *, int n, uint64_t seed, ClassCheck *);
#endif
