/* compare.h -- tensors compared numerically. */
#ifndef ISOMER_COMPARE_H
#define ISOMER_COMPARE_H
#include "graphs/numeric_class.h"

typedef struct Difference {  /* of one tensor or, taken together, of several */
    double max_abs, max_rel; /* the greatest |a - b|, and that relative to max|a| */
    int output;              /* where `first` is */
    int64_t first;           /* the first element out of tolerance, -1: none */
    double a, b;             /* its values */
    double limit;            /* the difference that was allowed there */
    int64_t count;           /* elements compared */
    double greatest;         /* the greatest |a|, of NaN infinity; 0: comparing says little */
    bool unstable;           /* one was out of tolerance, but no farther than roundings move it */
} Difference;
typedef struct TensorPair { /* n elements of one type each */
    DType dtype;
    const void *a, *b;
    int64_t n;
} TensorPair;
/* Equal infinities and two NaNs agree. moved (may be NULL): for each element, how far roundings
   alone move it (disturb.h); it may differ by NOISE_MARGIN times that, whatever the tolerance is. d
   is added to, so that it can be used for several outputs: start with difference_none(). */
#define NOISE_MARGIN 8.0
Difference difference_none(void);
void tensors_compare(TensorPair, Tolerance, const double moved[], int output, Difference *d);
/* moved[i] grows to how far b is from a there: a is a result, b what it is with other roundings. */
void moves_add(TensorPair, double moved[]);
/* Adds what x found: the greater differences of both, and of the first places the earlier. */
void difference_add(Difference *d, const Difference *x);
#endif
