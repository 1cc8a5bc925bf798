/* loop_block.c -- blocks of values. The doubles are plain loops that the compiler makes vectors of; any other number system is called element by element. */
#include "ops/core/loop_block.h"
#include <math.h>
#include <string.h>

/* ---- 16-bit floats */

static double half_value(uint16_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h >> 15 ? -v : v;
}

static uint16_t half_bits(double v) { /* to nearest, ties to even; overflow to infinity */
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    int e;
    v = fabs(v);
    if (isnan(v)) return (uint16_t)(sign | 0x7e00);
    if (v >= 65520) return (uint16_t)(sign | 0x7c00);
    frexp(v, &e);
    if (e < -13) return (uint16_t)(sign | (uint16_t)rint(ldexp(v, 24)));
    return (uint16_t)(sign + ((unsigned)(e + 13) << 10) + (unsigned)rint(ldexp(v, 11 - e)));
}

static double bfloat_value(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static uint16_t bfloat_bits(double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (isnan(v)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- loads and stores of doubles. X(dtype, C type, to double, from double) */

#define WIDEN(x) ((double)(x))
#define TRUTH(x) ((uint8_t)((x) != 0))
#define ELEMENTS(X)                                                                                                                        \
    X(DT_FLOAT, float, WIDEN, (float)) X(DT_DOUBLE, double, WIDEN, ) X(DT_FLOAT16, uint16_t, half_value, half_bits)                        \
    X(DT_BFLOAT16, uint16_t, bfloat_value, bfloat_bits) X(DT_INT64, int64_t, WIDEN, to_int64) X(DT_INT32, int32_t, WIDEN, (int32_t)to_int64)       \
    X(DT_INT16, int16_t, WIDEN, (int16_t)to_int64) X(DT_INT8, int8_t, WIDEN, (int8_t)to_int64) X(DT_UINT64, uint64_t, WIDEN, to_uint64)    \
    X(DT_UINT32, uint32_t, WIDEN, (uint32_t)to_int64) X(DT_UINT16, uint16_t, WIDEN, (uint16_t)to_int64)                                    \
    X(DT_UINT8, uint8_t, WIDEN, (uint8_t)to_int64) X(DT_BOOL, uint8_t, WIDEN, TRUTH)

static int64_t to_int64(double x) { /* towards zero, saturated */
    return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : isnan(x) ? 0 : INT64_MIN;
}
static uint64_t to_uint64(double x) { return x >= 0x1p64 ? UINT64_MAX : x >= 0 ? (uint64_t)x : (uint64_t)to_int64(x); }

static size_t real_element(int dtype) { return (size_t)dtype_bits((DType)dtype) / 8; }

static bool real_dtype(int dtype) {
    switch (dtype) {
#define X(id, type, to, from) case id:
        ELEMENTS(X)
#undef X
        return true;
    default: return false;
    }
}

static void real_load(int dtype, const void *data, int64_t stride, void *out, int n) {
    double *y = out;
    switch (dtype) {
#define X(id, type, to, from)                                                                                                              \
    case id:                                                                                                                               \
        if (stride == 1)                                                                                                                   \
            for (int j = 0; j < n; j++) y[j] = to(((const type *)data)[j]);                                                                \
        else                                                                                                                               \
            for (int j = 0; j < n; j++) y[j] = to(((const type *)data)[j * stride]);                                                       \
        return;
        ELEMENTS(X)
#undef X
    default: return;
    }
}

static void real_load_at(int dtype, const void *data, const int64_t *offset, void *out, int n) {
    double *y = out;
    switch (dtype) {
#define X(id, type, to, from)                                                                                                              \
    case id:                                                                                                                               \
        for (int j = 0; j < n; j++) y[j] = to(((const type *)data)[offset[j]]);                                                            \
        return;
        ELEMENTS(X)
#undef X
    default: return;
    }
}

static void real_store(int dtype, void *data, int64_t stride, const void *in, int n) {
    const double *x = in;
    switch (dtype) {
#define X(id, type, to, from)                                                                                                              \
    case id:                                                                                                                               \
        for (int j = 0; j < n; j++) ((type *)data)[j * stride] = from(x[j]);                                                               \
        return;
        ELEMENTS(X)
#undef X
    default: return;
    }
}

/* ---- arithmetic of doubles */

static void real_set(const Numbers *num, void *y, Number v) { (void)num, *(double *)y = v.real; }

static void real_integers(const Numbers *num, const int64_t *x, void *y, int n) {
    (void)num;
    for (int j = 0; j < n; j++) ((double *)y)[j] = (double)x[j];
}

static void real_copy(void *out, Operand1 a, int n) {
    double *y = out;
    const double *x = a.v;
    if (a.step) memmove(y, x, (size_t)n * sizeof *y);
    else
        for (int j = 0; j < n; j++) y[j] = *x;
}

static void real_call(const Numbers *num, Function f, void *out, Operand1 a, int n) {
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

#define EACH(expression)                                                                                                                   \
    if (p.step && q.step)                                                                                                                  \
        for (int j = 0; j < n; j++) y[j] = expression(a[j], b[j]);                                                                         \
    else if (p.step)                                                                                                                       \
        for (int j = 0; j < n; j++) y[j] = expression(a[j], b0);                                                                           \
    else if (q.step)                                                                                                                       \
        for (int j = 0; j < n; j++) y[j] = expression(a0, b[j]);                                                                           \
    else                                                                                                                                   \
        for (int j = 0; j < n; j++) y[j] = expression(a0, b0);                                                                             \
    return;
#define PLUS(s, t) ((s) + (t))
#define TIMES(s, t) ((s) * (t))

static void real_binary(const Numbers *num, ExKind kind, void *out, Operand1 p, Operand1 q, int n) {
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

static void real_fold(const Numbers *num, ExKind kind, void *out, Operand1 a, int n) {
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

const BlockOps block_real = {sizeof(double),  real_dtype, real_element, real_set,    real_load, real_load_at,
                             real_store,      real_integers, real_copy, real_call, real_binary, real_fold};

/* ---- any number system */

static bool number_dtype(int dtype) { return (void)dtype, true; }
static size_t number_element(int dtype) { return (void)dtype, sizeof(Number); }
static void number_set(const Numbers *num, void *y, Number v) { (void)num, *(Number *)y = v; }

static void number_load(int dtype, const void *data, int64_t stride, void *y, int n) {
    (void)dtype;
    for (int j = 0; j < n; j++) ((Number *)y)[j] = ((const Number *)data)[j * stride];
}

static void number_load_at(int dtype, const void *data, const int64_t *offset, void *y, int n) {
    (void)dtype;
    for (int j = 0; j < n; j++) ((Number *)y)[j] = ((const Number *)data)[offset[j]];
}

static void number_store(int dtype, void *data, int64_t stride, const void *x, int n) {
    (void)dtype;
    for (int j = 0; j < n; j++) ((Number *)data)[j * stride] = ((const Number *)x)[j];
}

static void number_integers(const Numbers *num, const int64_t *x, void *y, int n) {
    for (int j = 0; j < n; j++) ((Number *)y)[j] = num->ratio(x[j], 1);
}

static void number_copy(void *y, Operand1 a, int n) {
    if (a.step) memmove(y, a.v, (size_t)n * sizeof(Number));
    else
        for (int j = 0; j < n; j++) ((Number *)y)[j] = *(const Number *)a.v;
}

static void number_call(const Numbers *num, Function f, void *y, Operand1 a, int n) {
    for (int j = 0; j < n; j++) ((Number *)y)[j] = num->call(f, ((const Number *)a.v)[j * a.step]);
}

static void number_binary(const Numbers *num, ExKind kind, void *y, Operand1 p, Operand1 q, int n) {
    Number (*const f)(Number, Number) = kind == EX_ADD    ? num->add
                                        : kind == EX_MUL  ? num->mul
                                        : kind == EX_MAX2 ? num->most
                                        : kind == EX_MIN2 ? num->least
                                                          : num->power;
    for (int j = 0; j < n; j++) ((Number *)y)[j] = f(((const Number *)p.v)[j * p.step], ((const Number *)q.v)[j * q.step]);
}

static void number_fold(const Numbers *num, ExKind kind, void *out, Operand1 a, int n) {
    Number *y = out;
    for (int j = 0; j < n; j++) *y = (kind == EX_ADD ? num->add : num->most)(*y, ((const Number *)a.v)[j * a.step]);
}

const BlockOps block_number = {sizeof(Number), number_dtype,    number_element, number_set,  number_load,   number_load_at,
                               number_store,   number_integers, number_copy,    number_call, number_binary, number_fold};
