/* loop_whole.c -- operations of loop programs on integers of 64 bits, which wrap. A program that
   only adds, multiplies, moves, chooses and compares integers is computed by these: doubles would
   round numbers beyond 2^53. It has no EX_MAXIMUM, since that of nothing is -infinity. A narrower
   type takes the last bits of a result, which are right because sums and products are right modulo
   2^64. */
#include "ops/core/loop_block.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

static bool whole_dtype(int dtype) { return element_readable((DType)dtype); }

/* An element that is not there, NaN, is 0. */
static void whole_set(const Numbers *num, void *y, Number v) {
    (void)num;
    const double x = v.real;
    *(int64_t *)y = isnan(x) ? 0 : x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}

/* Weights are read in place from a mapped file, where they may not be aligned. The common types
   have loops of their own. */
typedef int64_t LongAnywhere __attribute__((aligned(1), may_alias));
typedef int32_t IntAnywhere __attribute__((aligned(1), may_alias));

static void whole_load(int dtype, const void *data, int64_t at, int64_t stride, void *out, int n) {
    int64_t *y = out;
    const LongAnywhere *l = data;
    const IntAnywhere *i = data;
    if (dtype == DT_INT64)
        for (int j = 0; j < n; j++) y[j] = l[at + j * stride];
    else if (dtype == DT_INT32)
        for (int j = 0; j < n; j++) y[j] = i[at + j * stride];
    else
        for (int j = 0; j < n; j++) y[j] = element_integer((DType)dtype, data, at + j * stride);
}

static void whole_load_at(int dtype, const void *data, const int64_t *offset, void *out, int n) {
    int64_t *y = out;
    for (int j = 0; j < n; j++) y[j] = element_integer((DType)dtype, data, offset[j]);
}

static void whole_store(int dtype, void *data, int64_t at, int64_t stride, const void *in, int n) {
    const int64_t *x = in;
    if (dtype == DT_INT64)
        for (int j = 0; j < n; j++) ((LongAnywhere *)data)[at + j * stride] = x[j];
    else if (dtype == DT_INT32)
        for (int j = 0; j < n; j++) ((IntAnywhere *)data)[at + j * stride] = (int32_t)x[j];
    else
        for (int j = 0; j < n; j++) element_set_integer((DType)dtype, data, at + j * stride, x[j]);
}

static void whole_integers(const Numbers *num, const int64_t *x, void *y, int n) {
    (void)num;
    memcpy(y, x, (size_t)n * sizeof *x);
}

static void whole_copy(void *out, BlockOperand a, int n) {
    int64_t *y = out;
    const int64_t *x = a.v;
    if (a.step) memmove(y, x, (size_t)n * sizeof *y);
    else
        for (int j = 0; j < n; j++) y[j] = *x;
}

static int64_t sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t product(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t most(int64_t a, int64_t b) { return a >= b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a <= b ? a : b; }
static int64_t magnitude(int64_t a) { return a < 0 ? product(a, -1) : a; }

static void whole_call(const Numbers *num, Function f, void *out, BlockOperand a, int n) {
    (void)num;
    int64_t *y = out;
    const int64_t *x = a.v;
    for (int j = 0; j < n; j++) {
        const int64_t v = x[j * a.step];
        y[j] = f == FN_ABS     ? magnitude(v)
               : f == FN_SIGN  ? (v > 0) - (v < 0)
               : f == FN_DELTA ? v == 0
                               : v;
    }
}

#define EACH(f)                                                             \
    if (p.step && q.step)                                                   \
        for (int j = 0; j < n; j++) y[j] = f(a[j], b[j]);                   \
    else                                                                    \
        for (int j = 0; j < n; j++) y[j] = f(a[j * p.step], b[j * q.step]); \
    return;

static void whole_binary(const Numbers *num, ExKind kind, void *out, BlockOperand p, BlockOperand q,
                         int n) {
    (void)num;
    int64_t *y = out;
    const int64_t *a = p.v, *b = q.v;
    switch (kind) {
    case EX_ADD: EACH(sum)
    case EX_MUL: EACH(product)
    case EX_MAX2: EACH(most)
    default: EACH(least)
    }
}

static double whole_approx(const Numbers *num, const void *y) {
    return (void)num, (double)*(const int64_t *)y;
}

static void whole_fold(const Numbers *num, ExKind kind, void *out, BlockOperand a, int n) {
    (void)num, (void)kind; /* EX_ADD */
    int64_t *y = out;
    const int64_t *x = a.v;
    int64_t all = *y;
    for (int j = 0; j < n; j++) all = sum(all, x[j * a.step]);
    *y = all;
}

const BlockOps block_whole = {sizeof(int64_t), whole_dtype,  whole_set,      whole_load,
                              whole_load_at,   whole_store,  whole_integers, whole_copy,
                              whole_call,      whole_binary, whole_approx,   whole_fold};
