/* compare.h -- compares tensors numerically. */
#ifndef ISOMER_COMPARE_H
#define ISOMER_COMPARE_H
#include "graphs/numeric_class.h"

typedef struct Difference {  /* of one tensor, or of several taken together */
    double max_abs, max_rel; /* the greatest |a - b|, and its ratio to max|a| */
    int output;              /* the output that `first` belongs to */
    int64_t first;           /* the first element out of tolerance, -1: none */
    double a, b;             /* the two values of that element */
    double limit;            /* the difference that was allowed there */
    int64_t count;           /* elements compared */
    double greatest; /* the greatest |a|, infinite if there is a NaN; 0: comparing says little */
    bool unstable; /* an element was out of tolerance, but by no more than roundings can move it */
} Difference;
typedef struct TensorPair { /* two tensors of n elements of one type */
    DType dtype;
    const void *a, *b;
    int64_t n;
} TensorPair;
/* Compares two tensors and adds the result to *d, so that one Difference can cover several outputs;
   start with difference_none(). Equal infinities agree, and so do two NaNs. moved (may be NULL)
   says for each element how far roundings alone move it (disturb.h); the element may differ by
   NOISE_MARGIN times as much, whatever the tolerance is (scripts/compare_onnx.py has the same
   number). */
#define NOISE_MARGIN 8.0
Difference difference_none(void);
void tensors_compare(TensorPair, Tolerance, const double moved[], int output, Difference *d);
/* Raises moved[i] to the distance between elements i of a and b, where a is a result and b is the
   same result with other roundings. */
void moves_add(TensorPair, double moved[]);
/* Adds the findings of x to d: of each pair of maxima the greater one, and the first place out of
   tolerance that either has, d's if both have one. */
void difference_add(Difference *d, const Difference *x);
#endif
