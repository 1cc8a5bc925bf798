/* steps_reference.h -- computes steps as plainly as possible, for tests only: loops over indices,
   in double (integers in int64), one element at a time. A result is a list of numbers in the order
   of the indices of view[0]. */
#ifndef ISOMER_TEST_STEPS_REFERENCE_H
#define ISOMER_TEST_STEPS_REFERENCE_H
#include "ops/core/type.h"
#include "ops/backend/isomer_backend.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number in both forms: `d` is valid for floats, `i` for integers (for uint64, its bits). */
typedef struct Num {
    double d;
    int64_t i;
} Num;

/* The value of a 16-bit float with this many exponent bits: 5 for float16, 8 for bfloat16. */
static double ref_half(uint16_t h, int exponent_bits) {
    const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int e = (h >> mantissa_bits) & ((1 << exponent_bits) - 1),
              m = h & ((1 << mantissa_bits) - 1);
    const double sign = h & 0x8000 ? -1 : 1;
    if (e == (1 << exponent_bits) - 1) return m ? (double)NAN : sign * (double)INFINITY;
    return sign *
           (e ? ldexp(1 + ldexp(m, -mantissa_bits), e - bias) : ldexp(m, 1 - bias - mantissa_bits));
}
/* The nearest 16-bit float, found by binary search; ties go to the even bit pattern. */
static uint16_t ref_to_half(double d, int exponent_bits) {
    const uint16_t inf = (uint16_t)(((1 << exponent_bits) - 1) << (15 - exponent_bits)),
                   sign = signbit(d) ? 0x8000 : 0;
    const double a = fabs(d);
    if (d != d) return (uint16_t)(inf | 1 << (14 - exponent_bits));
    uint16_t low = 0, high = inf;
    while (high - low > 1) {
        const uint16_t mid = (uint16_t)((low + high) / 2);
        if (ref_half(mid, exponent_bits) <= a) low = mid;
        else high = mid;
    }
    const double below = ref_half(low, exponent_bits),
                 top = ref_half((uint16_t)(inf - 1), exponent_bits);
    const double above = high == inf ? 2 * top - ref_half((uint16_t)(inf - 2), exponent_bits)
                                     : ref_half(high, exponent_bits);
    /* Beyond the greatest finite number, rounds as if one more number followed it. */
    const bool up = a - below > above - a || (a - below == above - a && (low & 1));
    return (uint16_t)(sign | (up ? high : low));
}

static Num ref_load(const View *v, void *const slot[], const int64_t index[]) {
    int64_t at = v->offset;
    for (int a = 0; a < v->rank; a++) at += index[a] * v->stride[a];
    const void *p = slot[v->slot];
    Num r = {0, 0};
    switch (v->dtype) {
    case DT_FLOAT: r.d = (double)((const float *)p)[at]; break;
    case DT_DOUBLE: r.d = ((const double *)p)[at]; break;
    case DT_FLOAT16: r.d = ref_half(((const uint16_t *)p)[at], 5); break;
    case DT_BFLOAT16: r.d = ref_half(((const uint16_t *)p)[at], 8); break;
    case DT_BOOL: r.i = ((const uint8_t *)p)[at] != 0; break;
    case DT_INT8: r.i = ((const int8_t *)p)[at]; break;
    case DT_UINT8: r.i = ((const uint8_t *)p)[at]; break;
    case DT_INT16: r.i = ((const int16_t *)p)[at]; break;
    case DT_UINT16: r.i = ((const uint16_t *)p)[at]; break;
    case DT_INT32: r.i = ((const int32_t *)p)[at]; break;
    case DT_UINT32: r.i = ((const uint32_t *)p)[at]; break;
    default: r.i = ((const int64_t *)p)[at]; break;
    }
    if (v->dtype == DT_UINT64) r.d = (double)(uint64_t)r.i;
    else if (dtype_class((DType)v->dtype) != 'F') r.d = (double)r.i;
    return r;
}

static int64_t ref_clamp(double d, double low, double high) {
    if (d != d) return 0;
    if (d <= low) return low <= -0x1p63 ? INT64_MIN : (int64_t)low;
    if (d >= high)
        return high >= 0x1p64 ? (int64_t)UINT64_MAX : high >= 0x1p63 ? INT64_MAX : (int64_t)high;
    return d >= 0x1p63 ? (int64_t)(uint64_t)d : (int64_t)d;
}
/* What a number reads back as after it was stored as an element of this type. real: the number is
   in x.d, else in x.i. */
static Num ref_round(Num x, int dtype, bool real) {
    const int bits = dtype_bits((DType)dtype);
    Num r = x;
    const bool natural = dtype_class((DType)dtype) == 'U';
    if (dtype_class((DType)dtype) == 'F') {
        if (!real) r.d = x.d;
        if (dtype == DT_FLOAT) r.d = (double)(float)r.d;
        if (dtype == DT_FLOAT16) r.d = ref_half(ref_to_half((double)(float)r.d, 5), 5);
        if (dtype == DT_BFLOAT16) r.d = ref_half(ref_to_half((double)(float)r.d, 8), 8);
        return r;
    }
    if (dtype == DT_BOOL) r.i = real ? x.d != 0 : x.i != 0;
    else if (real)
        r.i = natural ? ref_clamp(x.d, 0, ldexp(1, bits) - (bits < 53))
                      : ref_clamp(x.d, -ldexp(1, bits - 1), ldexp(1, bits - 1) - (bits < 53));
    else if (bits < 64) {
        const uint64_t low = (uint64_t)x.i & ((UINT64_C(1) << bits) - 1);
        r.i =
            !natural && (low >> (bits - 1)) ? (int64_t)(low - (UINT64_C(1) << bits)) : (int64_t)low;
    }
    r.d = dtype == DT_UINT64 ? (double)(uint64_t)r.i : (double)r.i;
    return r;
}

/* The class of arithmetic for these views: 'F' real if any view is a float, else 'U' uint64 if any
   view is uint64, else 'I' int64. */
static char ref_class(const View *const view[], int n) {
    char c = 'I';
    for (int i = 0; i < n; i++) {
        if (dtype_class((DType)view[i]->dtype) == 'F') return 'F';
        if (view[i]->dtype == DT_UINT64) c = 'U';
    }
    return c;
}

static double ref_real(int op, double a, double b) {
    switch (op) {
    case C_ADD: return a + b;
    case C_SUB: return a - b;
    case C_MUL: return a * b;
    case C_DIV: return a / b;
    case C_MIN: return a != a || b != b ? (double)NAN : a < b ? a : b;
    case C_MAX: return a != a || b != b ? (double)NAN : a > b ? a : b;
    case C_POW: return pow(a, b);
    case C_MOD: return a - floor(a / b) * b;
    case C_EQ: return a == b;
    case C_LT: return a < b;
    case C_LE: return a <= b;
    case C_AND: return a != 0 && b != 0;
    case C_OR: return a != 0 || b != 0;
    case C_XOR: return (a != 0) != (b != 0);
    case C_NEG: return -a;
    case C_ABS: return fabs(a);
    case C_EXP: return exp(a);
    case C_LOG: return log(a);
    case C_SQRT: return sqrt(a);
    case C_RECIP: return 1 / a;
    case C_RELU: return a < 0 ? 0 : a;
    case C_SIGMOID: return 1 / (1 + exp(-a));
    case C_TANH: return tanh(a);
    case C_ERF: return erf(a);
    case C_SIN: return sin(a);
    case C_COS: return cos(a);
    case C_FLOOR: return floor(a);
    case C_CEIL: return ceil(a);
    case C_ROUND: return rint(a);
    case C_SIGN: return a > 0 ? 1 : a < 0 ? -1 : a;
    case C_NOT: return a == 0;
    case C_ISNAN: return a != a;
    default: return isinf(a) != 0;
    }
}

static int64_t ref_integer(int op, int64_t a, int64_t b, bool natural) {
    const uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    const __int128 x = natural ? (__int128)ua : (__int128)a,
                   z = natural ? (__int128)ub : (__int128)b;
    switch (op) {
    case C_ADD: return (int64_t)(ua + ub);
    case C_SUB: return (int64_t)(ua - ub);
    case C_MUL: return (int64_t)(ua * ub);
    case C_DIV: return z == 0 ? 0 : (int64_t)(uint64_t)(x / z);
    case C_MOD: return z == 0 ? 0 : (int64_t)(uint64_t)(((x % z) + z) % z);
    case C_MIN: return x < z ? a : b;
    case C_MAX: return x > z ? a : b;
    case C_EQ: return x == z;
    case C_LT: return x < z;
    case C_LE: return x <= z;
    case C_AND: return a != 0 && b != 0;
    case C_OR: return a != 0 || b != 0;
    case C_XOR: return (a != 0) != (b != 0);
    case C_NEG: return (int64_t)(0 - ua);
    case C_ABS: return x < 0 ? (int64_t)(0 - ua) : a;
    case C_RELU: return x < 0 ? 0 : a;
    case C_SIGN: return (x > 0) - (x < 0);
    case C_NOT: return a == 0;
    case C_ISNAN:
    case C_ISINF: return 0;
    default: return a; /* floor, ceil, round */
    }
}

/* The value of an element-wise program at this index; `acc` is the value of C_ACC. */
static Num ref_program(const Step *s, void *const slot[], const int64_t index[], Num acc,
                       char class) {
    Num value[256];
    for (int i = 0; i < s->ncode; i++) {
        const Scalar *c = &s->code[i];
        if (c->op == C_ACC) value[i] = acc;
        else if (c->op == C_VIEW) value[i] = ref_load(&s->view[c->a], slot, index);
        else if (c->op == C_CONST) value[i] = (Num){c->k, (int64_t)c->k};
        else if (c->op == C_WHERE) {
            const bool first = class == 'F' ? value[c->a].d != 0 : value[c->a].i != 0;
            value[i] = value[first ? c->b : c->c];
        } else if (c->op == C_AS) value[i] = ref_round(value[c->a], c->b, class == 'F');
        else if (class == 'F') value[i] = (Num){ref_real(c->op, value[c->a].d, value[c->b].d), 0};
        else value[i].i = ref_integer(c->op, value[c->a].i, value[c->b].i, class == 'U');
    }
    return value[s->ncode - 1];
}

/* Moves to the next index over the axes from..to-1. Returns false after the last one. */
static bool ref_next(const View *y, int from, int to, int64_t index[]) {
    for (int a = to - 1; a >= from; a--) {
        if (++index[a] < y->dim[a]) return true;
        index[a] = 0;
    }
    return false;
}
static int64_t ref_count(const View *v, int from, int to) {
    int64_t n = 1;
    for (int a = from; a < to; a++) n *= v->dim[a];
    return n;
}
static Num ref_multiply_add(Num acc, Num a, Num b) {
    return (Num){acc.d + a.d * b.d, (int64_t)((uint64_t)acc.i + (uint64_t)a.i * (uint64_t)b.i)};
}

static Num ref_gemm(const Step *s, void *const slot[], const int64_t index[]) {
    const int r = s->view[0].rank;
    int64_t a[STEP_RANK], b[STEP_RANK];
    Num acc = {0, 0};
    memcpy(a, index, sizeof a), memcpy(b, index, sizeof b);
    for (int64_t k = 0; k < s->view[1].dim[r - 1]; k++) {
        a[r - 1] = b[r - 2] = k;
        acc = ref_multiply_add(acc, ref_load(&s->view[1], slot, a), ref_load(&s->view[2], slot, b));
    }
    return acc;
}

static Num ref_conv(const Step *s, void *const slot[], const int64_t index[]) {
    const View *x = &s->view[1], *w = &s->view[2];
    const int n = x->rank - 2;
    const int64_t *p = s->param + 1, group = s->param[0];
    int64_t k[STEP_RANK] = {0}, i[STEP_RANK] = {0};
    Num acc = {0, 0};
    k[0] = index[1], i[0] = index[0];
    if (ref_count(w, 1, w->rank) > 0) do {
            bool inside = true;
            i[1] = index[1] / (s->view[0].dim[1] / group) * w->dim[1] + k[1];
            for (int a = 0; a < n; a++) {
                i[2 + a] = index[2 + a] * p[a] - p[n + a] + k[2 + a] * p[3 * n + a];
                inside = inside && i[2 + a] >= 0 && i[2 + a] < x->dim[2 + a];
            }
            if (inside) acc = ref_multiply_add(acc, ref_load(x, slot, i), ref_load(w, slot, k));
        } while (ref_next(w, 1, w->rank, k));
    return acc;
}

static Num ref_pool(const Step *s, void *const slot[], const int64_t index[]) {
    const View *x = &s->view[1];
    const int n = x->rank - 2;
    const int64_t *kernel = s->param + 1, *p = kernel + n;
    View window = {.rank = n};
    int64_t k[STEP_RANK] = {0}, i[STEP_RANK], counted = 0;
    memcpy(window.dim, kernel, sizeof *kernel * (size_t)n);
    Num best = {-(double)INFINITY, INT64_MIN}, sum = {0, 0};
    memcpy(i, index, sizeof i);
    do {
        bool inside = true, padded = true;
        for (int a = 0; a < n; a++) {
            i[2 + a] = index[2 + a] * p[a] - p[n + a] + k[a] * p[3 * n + a];
            inside = inside && i[2 + a] >= 0 && i[2 + a] < x->dim[2 + a];
            padded = padded && i[2 + a] < x->dim[2 + a] + p[2 * n + a];
        }
        counted += inside || (padded && s->param[1 + 5 * n]);
        if (!inside) continue;
        const Num v = ref_load(x, slot, i);
        best = (Num){v.d > best.d || v.d != v.d ? v.d : best.d, v.i > best.i ? v.i : best.i};
        sum = (Num){sum.d + v.d, sum.i + v.i};
    } while (ref_next(&window, 0, n, k));
    if (s->param[0] == POOL_MAX) return best;
    return (Num){sum.d / (double)counted, counted ? sum.i / counted : 0};
}

static Num ref_reduce(const Step *s, void *const slot[], const int64_t index[]) {
    const View *x = &s->view[1];
    const int from = s->view[0].rank;
    int64_t i[STEP_RANK] = {0};
    memcpy(i, index, sizeof *i * (size_t)from);
    const ReduceKind kind = (ReduceKind)s->param[0];
    const bool natural = x->dtype == DT_UINT64;
    const int64_t count = ref_count(x, from, x->rank);
    Num acc = {0, 0};
    if (kind == REDUCE_MAX) acc = (Num){-(double)INFINITY, natural ? 0 : INT64_MIN};
    if (kind == REDUCE_MIN) acc = (Num){(double)INFINITY, natural ? -1 : INT64_MAX};
    if (kind == REDUCE_PROD) acc = (Num){1, 1};
    if (count > 0) do {
            Num v = ref_load(x, slot, i);
            if (kind == REDUCE_SQUARES) v.d *= v.d;
            if (kind == REDUCE_MAGNITUDES) v.d = fabs(v.d);
            const int op = kind == REDUCE_MAX    ? C_MAX
                           : kind == REDUCE_MIN  ? C_MIN
                           : kind == REDUCE_PROD ? C_MUL
                                                 : C_ADD;
            acc = (Num){ref_real(op, acc.d, v.d), ref_integer(op, acc.i, v.i, natural)};
        } while (ref_next(x, from, x->rank, i));
    if (kind != REDUCE_MEAN) return acc;
    return (Num){acc.d / (double)count, count == 0 ? 0
                                        : natural  ? (int64_t)((uint64_t)acc.i / (uint64_t)count)
                                                   : acc.i / count};
}

static Num ref_softmax(const Step *s, void *const slot[], const int64_t index[]) {
    const View *x = &s->view[1];
    const int a = x->rank - 1;
    int64_t i[STEP_RANK];
    double top = -(double)INFINITY, sum = 0;
    memcpy(i, index, sizeof i);
    for (i[a] = 0; i[a] < x->dim[a]; i[a]++) top = ref_real(C_MAX, top, ref_load(x, slot, i).d);
    for (i[a] = 0; i[a] < x->dim[a]; i[a]++) sum += exp(ref_load(x, slot, i).d - top);
    return (Num){exp(ref_load(x, slot, index).d - top) / sum, 0};
}

static Num ref_element(const Step *s, void *const slot[], const int64_t index[]) {
    switch (s->kind) {
    case S_GEMM: return ref_gemm(s, slot, index);
    case S_CONV: return ref_conv(s, slot, index);
    case S_POOL: return ref_pool(s, slot, index);
    case S_REDUCE: return ref_reduce(s, slot, index);
    case S_SOFTMAX: return ref_softmax(s, slot, index);
    case S_COPY: return ref_load(&s->view[1], slot, index);
    case S_FILL: return (Num){s->code[0].k, (int64_t)s->code[0].k};
    default: return (Num){0, 0};
    }
}

/* The class in which a step computes: that of its output, its input, the operands of a product or
   convolution, and the views that its program reads. */
static char ref_step_class(const Step *s) {
    const View *used[300];
    int n = 0;
    const bool operands = s->kind == S_GEMM || s->kind == S_CONV;
    used[n++] = &s->view[0];
    if (s->kind != S_EWISE && s->nview > 1) used[n++] = &s->view[1];
    if (operands) used[n++] = &s->view[2];
    for (int i = 0; i < s->ncode; i++)
        if (s->code[i].op == C_VIEW) used[n++] = &s->view[s->code[i].a];
    return ref_class(used, n);
}

/* Runs a row program on the row that contains the element at this index. The result, which the
   caller frees, has value i of element j of the row at [i * length + j]. */
static double *ref_row(const Step *s, void *const slot[], const int64_t index[]) {
    const View *y = &s->view[0];
    const int from = y->rank - (int)s->param[0];
    const int64_t n = ref_count(y, from, y->rank);
    double *value = malloc(sizeof *value * (size_t)(n * s->ncode + 1));
    for (int i = 0; i < s->ncode; i++) {
        const Scalar *c = &s->code[i];
        const double *a = value + c->a * n, *b = value + c->b * n, *d = value + c->c * n;
        double *to = value + i * n, acc = c->op == C_ROW_SUM ? 0 : -(double)INFINITY;
        int64_t at[STEP_RANK] = {0}, j = 0;
        memcpy(at, index, sizeof *at * (size_t)from);
        do {
            if (c->op == C_VIEW) to[j] = ref_load(&s->view[c->a], slot, at).d;
            else if (c->op == C_CONST) to[j] = c->k;
            else if (c->op == C_WHERE) to[j] = a[j] != 0 ? b[j] : d[j];
            else if (c->op == C_ROW_SUM) acc += a[j];
            else if (c->op == C_ROW_MAX) acc = ref_real(C_MAX, acc, a[j]);
            else to[j] = ref_real(c->op, a[j], scalar_values(c->op) > 1 ? b[j] : 0);
            j++;
        } while (ref_next(y, from, y->rank, at));
        for (j = 0; j < n && (c->op == C_ROW_SUM || c->op == C_ROW_MAX); j++) to[j] = acc;
    }
    return value;
}
static void ref_rows(const Step *s, void *const slot[], Num out[]) {
    const View *y = &s->view[0];
    const int from = y->rank - (int)s->param[0];
    const int64_t n = ref_count(y, from, y->rank);
    int64_t index[STEP_RANK] = {0};
    do {
        double *value = ref_row(s, slot, index);
        for (int64_t j = 0; j < n; j++)
            *out++ = ref_round((Num){value[(s->ncode - 1) * n + j], 0}, y->dtype, true);
        free(value);
    } while (ref_next(y, 0, from, index));
}

/* Computes all elements of view[0], in order; the caller frees them. */
static __attribute__((unused)) Num *ref_run(const Step *s, void *const slot[], int64_t *count) {
    const View *y = &s->view[0];
    const char class = ref_step_class(s);
    *count = ref_count(y, 0, y->rank);
    Num *out = malloc(sizeof *out * (size_t)(*count + 1));
    int64_t index[STEP_RANK] = {0}, at = 0;
    if (*count > 0 && s->kind == S_ROWS) return ref_rows(s, slot, out), out;
    if (*count > 0) do {
            Num v = ref_element(s, slot, index);
            if (s->ncode && s->kind != S_FILL) v = ref_program(s, slot, index, v, class);
            out[at++] = ref_round(v, y->dtype, class == 'F');
        } while (ref_next(y, 0, y->rank, index));
    return out;
}
#endif
