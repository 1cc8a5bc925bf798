/* ops_activations.c -- tests the passes of the CPU back end that stand for several instructions of
   a program (joined.c, requantize.c, quantize.c), in every instruction set that the machine has.
   They are compared with the formula in double precision, for ordinary, very large and infinite
   numbers and NaN. An element must give the same bits wherever it lies in a run, so that a step cut
   into parts gives the bytes of the whole.

   Softmax of short and long rows is tested in the same way, sums of rows and of their squares, rows
   that are moved and scaled by their own numbers, the greatest and least
   elements of runs (NaN if the run has a NaN) and of places of an image, and powers where the
   tables of the C library change over. */
#include "ops/cpu/processor.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { N = 4001, SPECIAL = 14, MOST = 67 }; /* MOST: the longest part of a run that is compared */
static const float special[SPECIAL] = {0.0f,  -0.0f,  1e-30f, -1e-30f, 20.0f,    -20.0f,    88.5f,
                                       90.0f, -90.0f, 3e38f,  -3e38f,  INFINITY, -INFINITY, NAN};
static const Simd *table[SIMD_TABLES];
static int tables;

typedef double Formula(double x, const float k[6]);
static double by_sigmoid(double x, const float k[6]) {
    const double a = (double)k[1], b = (double)k[2], u = b != 0 ? (b * x * x + a) * x : a * x;
    return (double)k[0] * x / (1 + exp(-u));
}
static double by_erf(double x, const float k[6]) {
    return (double)k[0] * x * (1 + erf((double)k[1] * x));
}
static double quantized(double x, const float k[6]) {
    return rint((double)((float)x / k[0])) + (double)k[1];
}
static double on_a_line(double x, const float k[6]) {
    return (x - (double)k[0]) * (double)k[1] * (double)k[2] + (double)k[3];
}
static double on_a_limited_line(double x, const float k[6]) {
    const double y = on_a_line(x, k), high = y > (double)k[5] ? (double)k[5] : y;
    return high < (double)k[4] ? (double)k[4] : high;
}
static double dequantized(double x, const float k[6]) { return (x - (double)k[0]) * (double)k[1]; }

/* Within 6 units in the last place, or within the rounding error that an argument near 1 leaves
   where the gate is nearly shut. Results below the least normal number may be 0. */
static bool near(double want, float got, double x) {
    if (want != want || got != got) return want != want && got != got;
    if (want == (double)got) return true;
    if (fabs(want) > 3.402823466e38) return isinf(got) && (got > 0) == (want > 0);
    return fabs(want - (double)got) <=
           6 * ldexp(fabs(want), -24) + 4e-7 * fabs(x) * (fabs(x) < 1e9) + 3e-38;
}
static void check(const Simd *s, Pass *pass, Formula *formula, const float k[6], const char *what) {
    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = i < SPECIAL ? special[i] : (float)(i - N / 2) * 0.0061f;
    pass(y, x, k, N);
    for (int i = 0; i < N; i++)
        if (!near(formula((double)x[i], k), y[i], (double)x[i]))
            fail_msg("%s, %s of %.9g: %.9g instead of %.9g", s->name, what, (double)x[i],
                     (double)y[i], formula((double)x[i], k));
    for (int n = 1; n <= MOST; n++) {
        float part[MOST];
        pass(part, x + N - MOST, k, n);
        assert_memory_equal(part, y + N - MOST, (size_t)n * sizeof *part);
    }
}
static void activations_are_what_they_stand_for(void **state) {
    (void)state;
    static const float silu[6] = {1, 1}, quick[6] = {1, 1.702f},
                       tanh_gelu[6] = {1, 1.5957691f, 0.0713548f}, negative[6] = {-2, 0.5f, -0.01f},
                       gelu[6] = {0.5f, 0.70710678f};
    for (int t = 0; t < tables; t++) {
        const Simd *s = table[t];
        check(s, s->gate_sigmoid, by_sigmoid, silu, "silu");
        check(s, s->gate_sigmoid, by_sigmoid, quick, "quick gelu");
        check(s, s->gate_sigmoid, by_sigmoid, tanh_gelu, "gelu by tanh");
        check(s, s->gate_sigmoid, by_sigmoid, negative, "a gate that falls");
        check(s, s->gate_erf, by_erf, gelu, "gelu");
    }
}
static void quantizing_rounds_as_it_is_written(void **state) {
    (void)state;
    static const float k[6] = {0.0372f, 12}, back[6] = {12, 0.0372f}, plain[6] = {0, 1, 1, -0.0f},
                       sloped[6] = {-0.75f, 0.31f, -0.5f, 0.125f, -0.5f, 0.25f};
    for (int t = 0; t < tables; t++) {
        check(table[t], table[t]->quantize, quantized, k, "quantize");
        check(table[t], table[t]->dequantize, dequantized, back, "dequantize");
        check(table[t], table[t]->line, on_a_line, plain, "a line that changes nothing");
        check(table[t], table[t]->line, on_a_line, sloped, "a line");
        check(table[t], table[t]->limited, on_a_limited_line, sloped, "a limited line");
    }
}

/* ---- bytes */
enum { BYTES = 4 * N };
typedef void ToBytes(uint8_t *y, const float *x, const ByteRows *);
/* The number of elements that differ from the formula or from the same element computed alone. */
static int wrong_bytes(ToBytes *pass, float zero, float low, float high) {
    static float x[BYTES];
    static uint8_t y[BYTES];
    const float k[6] = {0.0372f, zero};
    int wrong = 0;
    for (int i = 0; i < BYTES; i++)
        x[i] = i < SPECIAL ? special[i] : (float)(i - BYTES / 2) * 0.00186f; /* with ties */
    ByteRows b = {.n = BYTES, .rows = 1, .scale = k, .zero = k + 1, .low = low, .high = high};
    pass(y, x, &b);
    b.n = 1;
    for (int i = 0; i < BYTES; i++) {
        const double want = fmin(fmax(quantized((double)x[i], k), (double)low), (double)high);
        uint8_t alone;
        pass(&alone, x + i, &b);
        wrong += y[i] != (uint8_t)(int)want || y[i] != alone;
    }
    return wrong;
}
/* The number of runs of 1 to 3 * MOST elements, each with another scale in a second row, that
   differ from the single elements, or after which something is written. */
static int wrong_runs(ToBytes *pass) {
    enum { LONGEST = 3 * MOST, ROW = LONGEST + 3 };
    const float scale[] = {0.0372f, 0.0911f}, zero[] = {12, 101};
    float x[LONGEST];
    uint8_t each[2][LONGEST], y[2 * ROW];
    ByteRows b = {.n = 1, .rows = 1, .high = 255};
    int wrong = 0;
    for (int i = 0; i < LONGEST; i++) {
        x[i] = i < SPECIAL ? special[i] : (float)(i * 37 % LONGEST - LONGEST / 2) * 0.0293f;
        for (int r = 0; r < 2; r++)
            b.scale = scale + r, b.zero = zero + r, pass(&each[r][i], x + i, &b);
    }
    b.rows = 2, b.ys = ROW, b.xs = 0, b.scale = scale, b.zero = zero;
    for (int n = 1; n <= LONGEST; n++) {
        memset(y, 0x55, sizeof y);
        b.n = n;
        pass(y, x + LONGEST - n, &b);
        for (int r = 0; r < 2; r++)
            wrong +=
                memcmp(y + r * ROW, &each[r][LONGEST - n], (size_t)n) || y[r * ROW + n] != 0x55;
    }
    return wrong;
}
static void rounds_down(uint8_t *y, const float *x, const ByteRows *b) {
    for (int64_t i = 0; i < b->n; i++)
        y[i] = (uint8_t)(int)fminf(fmaxf(floorf(x[i] / b->scale[0]) + b->zero[0], b->low), b->high);
}
static void leaves_the_last_out(uint8_t *y, const float *x, const ByteRows *b) {
    ByteRows less = *b;
    less.n -= less.n > 70;
    table[0]->to_bytes(y, x, &less);
}
static void bytes_are_rounded_and_limited(void **state) {
    (void)state;
    for (int t = 0; t < tables; t++)
        if (wrong_bytes(table[t]->to_bytes, 12, 0, 255) ||
            wrong_bytes(table[t]->to_bytes, -3, -128, 127) || wrong_runs(table[t]->to_bytes))
            fail_msg("%s: bytes", table[t]->name);
    assert_true(wrong_bytes(rounds_down, 12, 0, 255) > 0);
    assert_true(wrong_runs(leaves_the_last_out) > 0);
}

/* The number of runs of 1 to 256 bytes, each in two rows, that differ from the formula in floats,
   or after which something is written. */
typedef void FromBytes(float *y, const void *x, const ByteRows *);
static int wrong_floats(FromBytes *pass, bool natural) {
    enum { ALL = 256 };
    uint8_t x[ALL];
    float y[2 * ALL + 2];
    const float zero[] = {37, 5}, scale[] = {0.0372f, 0.91f};
    int wrong = 0;
    for (int i = 0; i < ALL; i++) x[i] = (uint8_t)(i * 91 + 5);
    for (int n = 1; n <= ALL; n++) {
        bool same = true;
        y[n] = y[2 * n + 1] = 5;
        pass(y, x + ALL - n,
             &(ByteRows){.n = n, .rows = 2, .ys = n + 1, .scale = scale, .zero = zero});
        for (int i = 0; i < 2 * n; i++) {
            const uint8_t from = x[ALL - n + i % n];
            const int r = i / n;
            same &= y[r * (n + 1) + i % n] ==
                    ((natural ? (float)from : (float)(int8_t)from) - zero[r]) * scale[r];
        }
        wrong += !same || y[n] != 5 || y[2 * n + 1] != 5;
    }
    return wrong;
}
static void leaves_the_first_out(float *y, const void *x, const ByteRows *b) {
    const int first = b->n > 70;
    ByteRows less = *b;
    less.n -= first;
    table[0]->from_bytes[0](y + first, (const char *)x + first, &less);
}
static void bytes_become_floats(void **state) {
    (void)state;
    for (int t = 0; t < tables; t++)
        if (wrong_floats(table[t]->from_bytes[0], true) ||
            wrong_floats(table[t]->from_bytes[1], false))
            fail_msg("%s: floats", table[t]->name);
    assert_true(wrong_floats(table[0]->from_bytes[1], true) > 0);
    assert_true(wrong_floats(leaves_the_first_out, true) > 0);
}

/* ---- softmax */
enum { ROWS = 2 * SIMD_SHORT_ROWS + 3, LONGEST_ROW = 200 };
typedef void Rows(void *y, const void *x, int64_t columns, int64_t rows);
static Rows *rows_under_test;
static void one_by_one(void *y, const void *x, int64_t columns, int64_t rows) {
    for (int64_t r = 0; r < rows; r++)
        table[0]->softmax[CLASS_FLOAT]((float *)y + r * columns, (const float *)x + r * columns,
                                       columns, 1);
}
/* Draws ordinary rows, a few of them with one of the special numbers. */
static void draw_rows(float *x, int64_t columns) {
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < columns; c++)
            x[r * columns + c] = (float)((r * 37 + c * 101) % 211 - 100) * 0.07f;
    for (int i = 0; i < SPECIAL; i++)
        x[(3 * i % ROWS) * columns + i % columns] =
            fabsf(special[i]) > 100 || special[i] != special[i] ? special[i] : -special[i];
    for (int64_t c = 0; c < columns; c++) x[columns * (ROWS - 2) + c] = -INFINITY;
}
static int wrong_rows(const float *x, const float *y, int64_t columns) {
    int wrong = 0;
    for (int64_t r = 0; r < ROWS; r++, x += columns, y += columns) {
        double peak = -INFINITY, sum = 0;
        bool none = false, bad = false;
        for (int64_t c = 0; c < columns; c++) {
            peak = fmax(peak, (double)x[c]);
            none |= x[c] != x[c];
        }
        none |= isinf(peak);
        for (int64_t c = 0; c < columns; c++) sum += exp((double)x[c] - peak);
        for (int64_t c = 0; c < columns; c++) {
            const double below = peak - (double)x[c], want = none ? NAN : exp(-below) / sum,
                         room = want * (1e-6 + 1.2e-7 * fmin(below, 200)) + 3e-38;
            bad |= none ? y[c] == y[c] : !(fabs(want - (double)y[c]) <= room);
        }
        wrong += bad;
    }
    return wrong;
}
/* The number of rows that are wrong or differ from the same row computed alone; -1 if something is
   written beyond the result. */
static int check_rows(int64_t columns) {
    static float x[ROWS * LONGEST_ROW], y[ROWS * LONGEST_ROW + 1], alone[LONGEST_ROW];
    draw_rows(x, columns);
    y[ROWS * columns] = 5;
    rows_under_test(y, x, columns, ROWS);
    if (y[ROWS * columns] != 5) return -1;
    int wrong = wrong_rows(x, y, columns);
    for (int64_t r = 0; r < ROWS; r++) {
        rows_under_test(alone, x + r * columns, columns, 1);
        wrong += memcmp(alone, y + r * columns, (size_t)columns * sizeof *y) != 0;
    }
    return wrong;
}
static void leaves_a_row_out(void *y, const void *x, int64_t columns, int64_t rows) {
    memset((float *)y + (rows - 1) * columns, 0, (size_t)columns * sizeof(float));
    table[0]->softmax_short[CLASS_FLOAT](y, x, columns, rows - 1);
}
static void softmax_of_rows(void **state) {
    (void)state;
    for (int t = tables - 1; t >= 0; t--) {
        const Simd *first = table[0];
        rows_under_test = table[t]->softmax_short[CLASS_FLOAT];
        for (int64_t columns = 1; columns <= SIMD_SHORT; columns++)
            if (check_rows(columns)) fail_msg("%s: short rows of %d", table[t]->name, (int)columns);
        table[0] = table[t], rows_under_test = one_by_one;
        for (int64_t columns = 1; columns <= LONGEST_ROW; columns++)
            if (check_rows(columns)) fail_msg("%s: rows of %d", table[t]->name, (int)columns);
        table[0] = first;
        rows_under_test = table[t]->softmax[CLASS_FLOAT];
        for (int64_t columns = 1; columns <= LONGEST_ROW; columns++)
            if (check_rows(columns))
                fail_msg("%s: rows of %d together", table[t]->name, (int)columns);
    }
    rows_under_test = leaves_a_row_out;
    assert_true(check_rows(7) > 0);
}

/* Powers 2^e to the power of k/256: there the logarithm is a multiple of log 2 / 256, where the
   tables of pow change over. */
static void powers_of_powers_of_2_are_accurate(void **state) {
    (void)state;
    enum { E = 5, K = 600, ALL = 2 * K + 1 };
    static float a[ALL], b[ALL], y[ALL];
    static double wide_a[ALL], wide_b[ALL], wide_y[ALL];
    for (int t = 0; t < tables; t++)
        for (int e = -E; e <= E; e++) {
            for (int k = 0; k < ALL; k++) {
                wide_a[k] = ldexp(1, e), wide_b[k] = (k - K) / 256.0;
                a[k] = (float)wide_a[k], b[k] = (float)wide_b[k];
            }
            table[t]->op[CLASS_FLOAT][C_POW](y, a, b, ALL);
            table[t]->op[CLASS_DOUBLE][C_POW](wide_y, wide_a, wide_b, ALL);
            for (int k = 0; k < ALL; k++) {
                const double want = pow(wide_a[k], wide_b[k]);
                if (!near(want, y[k], 0) || fabs(wide_y[k] / want - 1) > 1e-15)
                    fail_msg("%s, %g^%g: %.9g and %.17g instead of %.17g", table[t]->name,
                             wide_a[k], wide_b[k], (double)y[k], wide_y[k], want);
            }
        }
}

/* Tests runs of all lengths up to several vectors, some with infinities and half of them with a
   NaN. */
static void extremes_of_runs(void **state) {
    (void)state;
    enum { LONGEST = 200 };
    float x[LONGEST];
    for (int t = 0; t < tables; t++)
        for (int n = 1; n <= LONGEST; n++)
            for (int least = 0; least < 2; least++)
                for (int odd = -1; odd < n; odd += n / 7 + 1) {
                    float want = least ? INFINITY : -INFINITY, got = want;
                    for (int i = 0; i < n; i++) {
                        x[i] = sinf((float)(37 * i + n)) * (i % 19 == 5 ? INFINITY : 1);
                        if (i % 19 == 5 && n % 3) x[i] = 0.25f;
                        want = least ? fminf(want, x[i]) : fmaxf(want, x[i]);
                    }
                    if (odd >= 0) x[odd] = want = NAN;
                    table[t]->total[CLASS_FLOAT][least ? REDUCE_MIN : REDUCE_MAX](&got, x, n);
                    assert_true(want == got || (want != want && got != got));
                    table[t]->total[CLASS_FLOAT][least ? REDUCE_MIN : REDUCE_MAX](&got, x, n / 2);
                    assert_true(odd < 0 || got != got); /* a NaN stays a NaN */
                }
}

/* ---- sums of rows. A row's sum must not depend on the rows beside it. */
enum { SUMS_ROWS = 11, SUMS_LONGEST = 150 };
typedef void RowSums(double *acc, const float *x, int64_t xs, int64_t n, int64_t rows);
static int wrong_sums(RowSums *sums, int64_t n) {
    static float x[SUMS_ROWS * (SUMS_LONGEST + 3)];
    const int64_t xs = n + n % 4;
    double got[SUMS_ROWS], alone[SUMS_ROWS];
    int wrong = 0;
    for (int64_t i = 0; i < SUMS_ROWS * xs; i++)
        x[i] = i % xs < n ? (float)(i * 37 % 101 - 50) * (i % 3 ? 0.01f : 1e4f) : NAN;
    x[5 * xs] = INFINITY;
    for (int r = 0; r < SUMS_ROWS; r++) got[r] = alone[r] = r;
    sums(got, x, xs, n, SUMS_ROWS);
    for (int r = 0; r < SUMS_ROWS; r++) {
        double want = r, size = 1;
        for (int64_t i = 0; i < n; i++)
            want += (double)x[r * xs + i], size += fabs((double)x[r * xs + i]);
        sums(alone + r, x + r * xs, xs, n, 1);
        wrong += !(fabs(got[r] - want) <= 1e-15 * size || got[r] == want) || alone[r] != got[r];
    }
    return wrong;
}
static void leaves_an_element_out(double *acc, const float *x, int64_t xs, int64_t n,
                                  int64_t rows) {
    table[0]->row_sums(acc, x, xs, n - 1, rows);
}
static void sums_of_rows(void **state) {
    (void)state;
    for (int t = 0; t < tables; t++)
        for (int64_t n = 1; n <= SUMS_LONGEST; n++)
            if (wrong_sums(table[t]->row_sums, n))
                fail_msg("%s: sums of rows of %d", table[t]->name, (int)n);
    assert_true(wrong_sums(leaves_an_element_out, 8) > 0);
}

/* ---- sums of squares, and rows with numbers of their own */
enum { NUMBERED = 600 };
static float numbered[SUMS_ROWS * NUMBERED];
static RowNumbers number[SUMS_ROWS];
static void draw_numbered(int64_t n) {
    for (int64_t i = 0; i < SUMS_ROWS * n; i++)
        numbered[i] = (float)(i * 37 % 101 - 50) * (i % 3 ? 0.01f : 3);
    for (int r = 0; r < SUMS_ROWS; r++)
        number[r] =
            (RowNumbers){{(float)r * 0.7f - 3, (float)r - 1, 1.3f / (float)(r + 1), (float)-r}};
    numbered[5 * n] = INFINITY, numbered[7 * n] = NAN;
}
typedef void RowSquares(double *acc, const float *x, const RowNumbers *k, int64_t n, int64_t rows);
static int wrong_squares(RowSquares *squares, int64_t n) {
    double got[SUMS_ROWS], alone[SUMS_ROWS];
    int wrong = 0;
    draw_numbered(n);
    for (int r = 0; r < SUMS_ROWS; r++) got[r] = alone[r] = r;
    squares(got, numbered, number, n, SUMS_ROWS);
    for (int r = 0; r < SUMS_ROWS; r++) {
        double want = r;
        for (int64_t i = 0; i < n; i++) {
            const double d = (double)(numbered[r * n + i] - number[r].k[0]);
            want += d * d;
        }
        squares(alone + r, numbered + r * n, number + r, n, 1);
        const bool same = memcmp(&got[r], &alone[r], sizeof *got) == 0;
        wrong += !same || !(fabs(got[r] - want) <= 1e-6 * want || got[r] == want ||
                            (isnan(want) && isnan(got[r])));
    }
    return wrong;
}
static void squares_without_the_last(double *acc, const float *x, const RowNumbers *k, int64_t n,
                                     int64_t rows) {
    for (int64_t r = 0; r < rows; r++) table[0]->row_squares(acc + r, x + r * n, k + r, n - 1, 1);
}
static void squares_of_rows(void **state) {
    (void)state;
    for (int t = 0; t < tables; t++)
        for (int64_t n = 1; n <= NUMBERED; n += n < 150 ? 1 : 47)
            if (wrong_squares(table[t]->row_squares, n))
                fail_msg("%s: squares of rows of %d", table[t]->name, (int)n);
    assert_true(wrong_squares(squares_without_the_last, 9) > 0);
}
typedef void RowScaled(float *y, const float *x, const RowNumbers *k, const float *scale,
                       const float *shift, int64_t n, int64_t rows);
/* The elements that differ from the operations one by one, and those written beyond the rows. */
static int wrong_scaled(RowScaled *scaled, int64_t n, bool scales, bool shifts) {
    static float y[SUMS_ROWS * NUMBERED + 1];
    float scale[NUMBERED], shift[NUMBERED];
    draw_numbered(n);
    for (int64_t i = 0; i < n; i++) scale[i] = 0.1f * (float)i - 1, shift[i] = 2 - 0.3f * (float)i;
    y[SUMS_ROWS * n] = 7.5f;
    scaled(y, numbered, number, scales ? scale : NULL, shifts ? shift : NULL, n, SUMS_ROWS);
    int wrong = y[SUMS_ROWS * n] != 7.5f;
    for (int64_t i = 0; i < SUMS_ROWS * n; i++) {
        const float *k = number[i / n].k;
        volatile float want = numbered[i] - k[0];
        want = want * k[1], want = want * k[2];
        if (scales) want = want * scale[i % n];
        if (shifts) want = want + shift[i % n];
        else if (!scales) want = want + k[3];
        wrong += want != want ? y[i] == y[i] : y[i] != want;
    }
    return wrong;
}
static void scales_without_the_last(float *y, const float *x, const RowNumbers *k,
                                    const float *scale, const float *shift, int64_t n,
                                    int64_t rows) {
    table[0]->row_scaled(y, x, k, scale, shift, n, rows - 1);
}
static void rows_are_scaled(void **state) {
    (void)state;
    for (int t = 0; t < tables; t++)
        for (int64_t n = 1; n <= NUMBERED; n += n < 70 ? 1 : 47)
            for (int how = 0; how < 4; how++)
                if (wrong_scaled(table[t]->row_scaled, n, how & 1, how & 2))
                    fail_msg("%s: scaled rows of %d, %d", table[t]->name, (int)n, how);
    assert_true(wrong_scaled(scales_without_the_last, 9, true, true) > 0);
}

/* ---- maxima over places of an image */
enum { PEAKS_WIDE = 70, PEAKS_ROWS = 3, PLACES = 5 };
typedef void PeakRows(float *y, int64_t ys, const float *x, int64_t xs, const int64_t offset[],
                      int64_t cells, int64_t rows, int64_t n);
static int wrong_peaks(PeakRows *peaks, int64_t n, int64_t cells) {
    enum { YS = PEAKS_WIDE + 1, XS = 2 * PEAKS_WIDE, ALL = (PEAKS_ROWS + PLACES) * XS };
    static float x[ALL], y[PEAKS_ROWS * YS];
    static const int64_t offset[PLACES] = {3, 0, 2 * XS + 1, XS + 5, 4 * XS};
    int wrong = 0;
    for (int i = 0; i < ALL; i++) x[i] = i % 23 == 5 ? NAN : (float)(i * 37 % 101 - 50);
    for (int i = 0; i < PEAKS_ROWS * YS; i++) y[i] = 7.5f;
    peaks(y, YS, x, XS, offset, cells, PEAKS_ROWS, n);
    for (int r = 0; r < PEAKS_ROWS; r++)
        for (int64_t c = 0; c < YS; c++) {
            float want = c < n ? x[offset[0] + r * XS + c] : 7.5f;
            for (int64_t t = 1; t < cells && c < n; t++) {
                const float here = x[offset[t] + r * XS + c];
                want = here > want || here != here ? here : want;
            }
            const float got = y[r * YS + c];
            wrong += want != want ? got == got : got != want;
        }
    return wrong;
}
static void one_place_less(float *y, int64_t ys, const float *x, int64_t xs, const int64_t offset[],
                           int64_t cells, int64_t rows, int64_t n) {
    table[0]->peak_rows(y, ys, x, xs, offset, cells - 1, rows, n);
}
static void peaks_of_places(void **state) {
    (void)state;
    for (int t = 0; t < tables; t++)
        for (int64_t n = 1; n <= PEAKS_WIDE; n++)
            for (int64_t cells = 1; cells <= PLACES; cells++)
                if (wrong_peaks(table[t]->peak_rows, n, cells))
                    fail_msg("%s: %d places of %d", table[t]->name, (int)cells, (int)n);
    assert_true(wrong_peaks(one_place_less, 20, 4) > 0);
}

/* The comparison itself is tested: an error of one part in ten thousand is noticed. */
static void gate_off(float *y, const float *x, const float k[6], int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)by_sigmoid((double)x[i], k) * 1.0001f;
}
static void a_planted_error_is_seen(void **state) {
    (void)state;
    const float k[6] = {1, 1};
    int seen = 0;
    float y;
    for (int i = 0; i < N; i++) {
        const float x = (float)(i - N / 2) * 0.0061f;
        gate_off(&y, &x, k, 1);
        seen += !near(by_sigmoid((double)x, k), y, (double)x);
    }
    assert_true(seen > N / 3);
}

int main(void) {
    tables = processor_loops(table);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_are_what_they_stand_for),
        cmocka_unit_test(quantizing_rounds_as_it_is_written),
        cmocka_unit_test(bytes_are_rounded_and_limited),
        cmocka_unit_test(bytes_become_floats),
        cmocka_unit_test(softmax_of_rows),
        cmocka_unit_test(extremes_of_runs),
        cmocka_unit_test(sums_of_rows),
        cmocka_unit_test(squares_of_rows),
        cmocka_unit_test(rows_are_scaled),
        cmocka_unit_test(peaks_of_places),
        cmocka_unit_test(powers_of_powers_of_2_are_accurate),
        cmocka_unit_test(a_planted_error_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
