/* loop_block.c -- operations on blocks of values. Those on doubles are plain loops, which the
   compiler vectorizes; other number systems are called element by element. */
#include "ops/core/loop_block.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

/* ---- loads and stores of doubles, with loops of their own for the common types */

static bool real_dtype(int dtype) { return element_readable((DType)dtype); }

/* Weights are read in place from a mapped file, where they may not be aligned. */
typedef float FloatAnywhere __attribute__((aligned(1), may_alias));
typedef double DoubleAnywhere __attribute__((aligned(1), may_alias));

static void real_load(int dtype, const void *data, int64_t at, int64_t stride, void *out, int n) {
    double *y = out;
    const FloatAnywhere *f = data;
    const DoubleAnywhere *d = data;
    if (dtype == DT_FLOAT && stride == 1)
        for (int j = 0; j < n; j++) y[j] = (double)f[at + j];
    else if (dtype == DT_FLOAT)
        for (int j = 0; j < n; j++) y[j] = (double)f[at + j * stride];
    else if (dtype == DT_DOUBLE)
        for (int j = 0; j < n; j++) y[j] = d[at + j * stride];
    else
        for (int j = 0; j < n; j++) y[j] = element_real((DType)dtype, data, at + j * stride);
}

static void real_load_at(int dtype, const void *data, const int64_t *offset, void *out, int n) {
    double *y = out;
    if (dtype == DT_FLOAT)
        for (int j = 0; j < n; j++) y[j] = (double)((const FloatAnywhere *)data)[offset[j]];
    else
        for (int j = 0; j < n; j++) y[j] = element_real((DType)dtype, data, offset[j]);
}

static void real_store(int dtype, void *data, int64_t at, int64_t stride, const void *in, int n) {
    const double *x = in;
    if (dtype == DT_FLOAT)
        for (int j = 0; j < n; j++) ((float *)data)[at + j * stride] = (float)x[j];
    else if (dtype == DT_DOUBLE)
        for (int j = 0; j < n; j++) ((DoubleAnywhere *)data)[at + j * stride] = x[j];
    else
        for (int j = 0; j < n; j++) element_set_real((DType)dtype, data, at + j * stride, x[j]);
}

/* ---- arithmetic of doubles */

static void real_set(const Numbers *num, void *y, Number v) { (void)num, *(double *)y = v.real; }

static void real_integers(const Numbers *num, const int64_t *x, void *y, int n) {
    (void)num;
    for (int j = 0; j < n; j++) ((double *)y)[j] = (double)x[j];
}

static void real_copy(void *out, BlockOperand a, int n) {
    double *y = out;
    const double *x = a.v;
    if (a.step) memmove(y, x, (size_t)n * sizeof *y);
    else
        for (int j = 0; j < n; j++) y[j] = *x;
}

static void real_call(const Numbers *num, Function f, void *out, BlockOperand a, int n) {
    (void)num;
    double (*const real)(double) = function_facts(f)->real;
    double *y = out;
    const double *x = a.v;
    if (f == FN_RECIP)
        for (int j = 0; j < n; j++) y[j] = 1 / x[j * a.step];
    else
        for (int j = 0; j < n; j++) y[j] = real(x[j * a.step]);
}

static inline double most(double a, double b) { return a >= b || isnan(a) ? a : b; }
static inline double least(double a, double b) { return a <= b || isnan(a) ? a : b; }

#define EACH(expression)                                           \
    if (p.step && q.step)                                          \
        for (int j = 0; j < n; j++) y[j] = expression(a[j], b[j]); \
    else if (p.step)                                               \
        for (int j = 0; j < n; j++) y[j] = expression(a[j], b0);   \
    else if (q.step)                                               \
        for (int j = 0; j < n; j++) y[j] = expression(a0, b[j]);   \
    else                                                           \
        for (int j = 0; j < n; j++) y[j] = expression(a0, b0);     \
    return;
#define PLUS(s, t) ((s) + (t))
#define TIMES(s, t) ((s) * (t))

static void real_binary(const Numbers *num, ExKind kind, void *out, BlockOperand p, BlockOperand q,
                        int n) {
    (void)num;
    double *y = out;
    const double *a = p.v, *b = q.v, a0 = *a, b0 = *b;
    switch (kind) {
    case EX_ADD: EACH(PLUS)
    case EX_MUL: EACH(TIMES)
    case EX_MAX2: EACH(most)
    case EX_MIN2: EACH(least)
    default: EACH(pow)
    }
}

static double real_approx(const Numbers *num, const void *y) {
    return (void)num, *(const double *)y;
}

static void real_fold(const Numbers *num, ExKind kind, void *out, BlockOperand a, int n) {
    (void)num;
    const double *x = a.v;
    double *y = out, part[4] = {*y, 0, 0, 0};
    if (kind == EX_MAX2) {
        for (int j = 0; j < n; j++) *y = most(*y, x[j * a.step]);
        return;
    }
    int j = 0;
    for (; j + 4 <= n; j += 4)
        for (int k = 0; k < 4; k++) part[k] += x[(j + k) * a.step];
    for (; j < n; j++) part[0] += x[j * a.step];
    *y = (part[0] + part[1]) + (part[2] + part[3]);
}

const BlockOps block_real = {sizeof(double), real_dtype,  real_set,      real_load,
                             real_load_at,   real_store,  real_integers, real_copy,
                             real_call,      real_binary, real_approx,   real_fold};

/* ---- any number system */

static bool number_dtype(int dtype) { return (void)dtype, true; }
static void number_set(const Numbers *num, void *y, Number v) { (void)num, *(Number *)y = v; }

static void number_load(int dtype, const void *data, int64_t at, int64_t stride, void *y, int n) {
    (void)dtype;
    for (int j = 0; j < n; j++) ((Number *)y)[j] = ((const Number *)data)[at + j * stride];
}

static void number_load_at(int dtype, const void *data, const int64_t *offset, void *y, int n) {
    (void)dtype;
    for (int j = 0; j < n; j++) ((Number *)y)[j] = ((const Number *)data)[offset[j]];
}

static void number_store(int dtype, void *data, int64_t at, int64_t stride, const void *x, int n) {
    (void)dtype;
    for (int j = 0; j < n; j++) ((Number *)data)[at + j * stride] = ((const Number *)x)[j];
}

static void number_integers(const Numbers *num, const int64_t *x, void *y, int n) {
    for (int j = 0; j < n; j++) ((Number *)y)[j] = num->ratio(x[j], 1);
}

static void number_copy(void *y, BlockOperand a, int n) {
    if (a.step) memmove(y, a.v, (size_t)n * sizeof(Number));
    else
        for (int j = 0; j < n; j++) ((Number *)y)[j] = *(const Number *)a.v;
}

static void number_call(const Numbers *num, Function f, void *y, BlockOperand a, int n) {
    for (int j = 0; j < n; j++) ((Number *)y)[j] = num->call(f, ((const Number *)a.v)[j * a.step]);
}

static void number_binary(const Numbers *num, ExKind kind, void *y, BlockOperand p, BlockOperand q,
                          int n) {
    Number (*const f)(Number, Number) = kind == EX_ADD    ? num->add
                                        : kind == EX_MUL  ? num->mul
                                        : kind == EX_MAX2 ? num->most
                                        : kind == EX_MIN2 ? num->least
                                                          : num->power;
    for (int j = 0; j < n; j++)
        ((Number *)y)[j] = f(((const Number *)p.v)[j * p.step], ((const Number *)q.v)[j * q.step]);
}

static double number_approx(const Numbers *num, const void *y) {
    return num->approx(*(const Number *)y);
}

static void number_fold(const Numbers *num, ExKind kind, void *out, BlockOperand a, int n) {
    Number *y = out;
    for (int j = 0; j < n; j++)
        *y = (kind == EX_ADD ? num->add : num->most)(*y, ((const Number *)a.v)[j * a.step]);
}

const BlockOps block_number = {sizeof(Number), number_dtype,  number_set,      number_load,
                               number_load_at, number_store,  number_integers, number_copy,
                               number_call,    number_binary, number_approx,   number_fold};
