/* compare.c -- compares tensors numerically, with a tolerance relative to the largest element. */
#include "graphs/compare.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

void difference_add(Difference *d, const Difference *x) {
    d->max_abs = fmax(d->max_abs, x->max_abs);
    d->max_rel = fmax(d->max_rel, x->max_rel);
    d->count += x->count;
    d->greatest = fmax(d->greatest, x->greatest);
    d->unstable |= x->unstable;
    if (d->first >= 0 || x->first < 0) return;
    d->output = x->output;
    d->first = x->first;
    d->a = x->a;
    d->b = x->b;
    d->limit = x->limit;
}

Difference difference_none(void) { return (Difference){.first = -1, .output = -1}; }

/* The greatest finite |a|; 0 if there is none. */
static double tensor_scale(DType t, const void *a, int64_t n) {
    double scale = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = fabs(element_real(t, a, i));
        if (isfinite(x) && x > scale) scale = x;
    }
    return scale;
}

void moves_add(TensorPair p, double moved[]) {
    for (int64_t i = 0; i < p.n; i++) {
        const double x = element_real(p.dtype, p.a, i), y = element_real(p.dtype, p.b, i),
                     by = fabs(x - y);
        const bool same = x == y || (isnan(x) && isnan(y));
        if (!same) moved[i] = fmax(moved[i], isnan(by) ? INFINITY : by);
    }
}

void tensors_compare(TensorPair p, Tolerance tolerance, const double moved[], int output,
                     Difference *d) {
    const DType t = p.dtype;
    double scale = tensor_scale(t, p.a, p.n), base = tolerance.atol + tolerance.rtol * scale;
    bool whole = dtype_class(t) != 'F';
    for (int64_t i = 0; i < p.n; i++) {
        double x = element_real(t, p.a, i), y = element_real(t, p.b, i), by = fabs(x - y);
        bool same = whole ? element_integer(t, p.a, i) == element_integer(t, p.b, i)
                          : x == y || (isnan(x) && isnan(y));
        if (!(fabs(x) <= d->greatest)) d->greatest = isnan(x) ? INFINITY : fabs(x);
        if (same) continue;
        if (isnan(by)) by = INFINITY;
        if (whole && by < 1) by = 1; /* different integers that convert to the same double */
        d->max_abs = fmax(d->max_abs, by);
        d->max_rel = fmax(d->max_rel, scale > 0 ? by / scale : INFINITY);
        const double limit = moved ? fmax(base, NOISE_MARGIN * moved[i]) : base;
        d->unstable |= by > base && by <= limit;
        if (d->first >= 0 || by <= limit) continue;
        d->output = output;
        d->first = i;
        d->a = x;
        d->b = y;
        d->limit = limit;
    }
    d->count += p.n;
}
