/* ops_activations.c -- the passes that stand for several instructions of a program (joined.c,
   requantize.c), in every instruction set that the machine has: against the formula in double, on
   ordinary numbers and on those far out, infinite or none; and each element alike wherever it lies
   in a run, so that parts of a step give the bytes of the whole. */
#include "ops/cpu/processor.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { N = 4001, SPECIAL = 14, MOST = 67 };
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
static double dequantized(double x, const float k[6]) { return (x - (double)k[0]) * (double)k[1]; }

/* Within 6 units in the last place, or within what roundings near 1 leave where the gate is nearly
   shut; less than the least normal number is 0. */
static bool near(double want, float got, double x) {
    if (want != want || got != got) return want != want && got != got;
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
    static const float k[6] = {0.0372f, 12}, back[6] = {12, 0.0372f};
    for (int t = 0; t < tables; t++) {
        check(table[t], table[t]->quantize, quantized, k, "quantize");
        check(table[t], table[t]->dequantize, dequantized, back, "dequantize");
    }
}

/* The comparison itself: one part in ten thousand is seen. */
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
        cmocka_unit_test(a_planted_error_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
