/* ops_pools.c -- tests maxima and means over windows that the CPU back end computes plane by plane
   (ops/cpu/planes.c), maxima also from rows in place, or means for several planes at once
   (ops/cpu/means.c): compared with plain loops, with strides and dilations, with padding and
   without, with NaN, with gaps between the rows of the output, with planes that are computed in
   several parts, in every instruction set of the machine, and on three threads, which must give the
   same bytes. */
#include "test/shared/simd_tables.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 3, CHANNELS = 21, MOST = CHANNELS * 9 * 20 * 50 };
typedef struct Pool { /* along depth, height and width */
    int64_t in[N], kernel[N], stride[N], begin[N], dilation[N];
    int64_t gap; /* elements between two rows of the output */
    int64_t end[N];
} Pool;
static const Pool pools[] = {
    {{4, 8, 29}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}, 0, {0}},
    {{5, 9, 33}, {3, 3, 3}, {2, 2, 2}, {1, 0, 0}, {1, 1, 1}, 0, {0}},
    {{1, 20, 40}, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, {1, 2, 2}, 0, {0}},
    {{1, 20, 41}, {1, 3, 2}, {1, 3, 1}, {0, 0, 0}, {1, 1, 1}, 3, {0}},
    {{2, 7, 16}, {1, 2, 16}, {1, 2, 1}, {0, 0, 0}, {2, 1, 1}, 0, {0}},
    {{3, 9, 50}, {2, 3, 3}, {1, 2, 3}, {1, 0, 0}, {2, 1, 2}, 1, {0}},
    {{9, 10, 17}, {2, 8, 2}, {4, 2, 2}, {0, 0, 0}, {1, 1, 1}, 0, {0}},
    {{4, 8, 15}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}, 0, {0}},
    {{4, 8, 29}, {2, 2, 3}, {2, 2, 2}, {0, 1, 1}, {1, 1, 1}, 0, {0}},
    {{1, 90, 90}, {1, 3, 5}, {1, 3, 3}, {0, 1, 2}, {1, 1, 1}, 0, {0}},
    {{1, 90, 91}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 2, 2}, 2, {0}},
    {{1, 80, 92}, {1, 3, 3}, {1, 1, 2}, {0, 1, 1}, {1, 1, 1}, 0, {0}},
    {{1, 20, 300}, {1, 1, 3}, {1, 1, 1}, {0, 0, 1}, {1, 1, 1}, 0, {0}},
    {{1, 20, 40}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 0, {0}},
    {{2, 9, 50}, {2, 2, 3}, {1, 2, 5}, {1, 1, 1}, {1, 1, 1}, 0, {0}},
    {{1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 0, {0, 1, 1}},
    {{1, 7, 7}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, 0, {0, 1, 1}},
    {{1, 9, 10}, {1, 4, 3}, {1, 1, 2}, {0, 3, 2}, {1, 2, 3}, 0, {0, 2, 4}},
    {{1, 13, 14}, {1, 5, 3}, {1, 3, 2}, {0, 2, 0}, {1, 1, 2}, 0, {0, 2, 1}},
    {{1, 40, 50}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, 0, {0, 1, 0}},
    {{1, 3, 700}, {1, 2, 3}, {1, 1, 3}, {0, 1, 1}, {1, 1, 1}, 0, {0, 1, 1}},
    {{1, 1, 90}, {1, 1, 5}, {1, 1, 2}, {0, 0, 2}, {1, 1, 1}, 0, {0, 0, 2}},
    {{1, 4, 4}, {1, 1, 1}, {1, 7, 7}, {0, 0, 0}, {1, 1, 1}, 0, {0, 4, 4}},
};
enum { POOLS = sizeof pools / sizeof *pools };
static float x[MOST], y[MOST], again[MOST];

static int64_t outputs(const Pool *p, int a) {
    const int64_t all = p->begin[a] + p->in[a] + p->end[a];
    return (all - (p->kernel[a] - 1) * p->dilation[a] - 1) / p->stride[a] + 1;
}
static void draw(void) {
    for (int i = 0; i < MOST; i++) x[i] = i % 97 == 5 ? NAN : (float)(i * 37 % 1009 - 500);
}
/* The maximum or the mean of a window; the sums are exact. Padding does not count. */
static float result_of(const Pool *p, PoolKind kind, const float *from, const int64_t out[N]) {
    float best = -INFINITY, sum = 0, cells = 0;
    int64_t k[N];
    for (k[0] = 0; k[0] < p->kernel[0]; k[0]++)
        for (k[1] = 0; k[1] < p->kernel[1]; k[1]++)
            for (k[2] = 0; k[2] < p->kernel[2]; k[2]++) {
                int64_t at = 0;
                bool inside = true;
                for (int a = 0; a < N; a++) {
                    const int64_t i = out[a] * p->stride[a] - p->begin[a] + k[a] * p->dilation[a];
                    inside = inside && i >= 0 && i < p->in[a];
                    at = at * p->in[a] + i;
                }
                if (inside && (from[at] > best || from[at] != from[at])) best = from[at];
                if (inside) sum += from[at], cells++;
                if (best != best) return best;
            }
    return kind == POOL_MAX ? best : sum / cells;
}
/* The number of results that differ from those of plain loops, and of elements between the rows
   that were written. */
static int wrong_results(const Pool *p, PoolKind kind, const float *result) {
    const int64_t row = outputs(p, 2) + p->gap, size = p->in[0] * p->in[1] * p->in[2];
    int wrong = 0;
    for (int64_t c = 0; c < CHANNELS; c++)
        for (int64_t d = 0; d < outputs(p, 0); d++)
            for (int64_t h = 0; h < outputs(p, 1); h++, result += row)
                for (int64_t w = 0; w < row; w++) {
                    const bool there = w < outputs(p, 2);
                    const float want =
                        there ? result_of(p, kind, x + c * size, (const int64_t[N]){d, h, w})
                              : 7.5f;
                    wrong += want != want ? result[w] == result[w] : result[w] != want;
                }
    return wrong;
}
static void run(Device *d, const Pool *p, PoolKind kind, float *to) {
    View v[2] = {{.slot = 0, .dtype = DT_FLOAT, .rank = 2 + N, .dim = {1, CHANNELS}},
                 {.slot = 1, .dtype = DT_FLOAT, .rank = 2 + N, .dim = {1, CHANNELS}}};
    int64_t param[2 + 5 * N] = {kind};
    for (int a = 0; a < N; a++) {
        v[0].dim[2 + a] = outputs(p, a), v[1].dim[2 + a] = p->in[a];
        const int64_t of[] = {p->kernel[a], p->stride[a], p->begin[a], p->end[a], p->dilation[a]};
        for (int k = 0; k < 5; k++) param[1 + k * N + a] = of[k];
    }
    for (int k = 0; k < 2; k++) {
        int64_t stride = 1;
        for (int a = 1 + N; a >= 0; a--) {
            v[k].stride[a] = stride;
            stride *= v[k].dim[a];
            if (k == 0 && a == 1 + N) stride += p->gap;
        }
    }
    const Step s = {S_POOL, 2, 2 + 5 * N, 0, v, param, NULL, NULL};
    for (int i = 0; i < MOST; i++) to[i] = 7.5f;
    run_step(d, &s, (void *[]){to, x});
    assert_true(to[v[0].dim[1] * v[0].stride[1]] == 7.5f);
}
static void results_are_those_of_plain_loops(void **state) {
    (void)state;
    draw();
    for (int t = 0; t < tables; t++)
        for (int j = 0; j < 2 * POOLS; j++) {
            const Pool *p = &pools[j / 2];
            const PoolKind kind = j % 2 ? POOL_MEAN : POOL_MAX;
            one->simd = three->simd = table[t];
            run(one, p, kind, y);
            if (wrong_results(p, kind, y)) fail_msg("%s, pool %d", table[t]->name, j);
            run(three, p, kind, again);
            assert_memory_equal(y, again, sizeof y);
        }
    one->simd = three->simd = table[0];
}

/* The first seven pools are taken in place: they notice a fault there. */
static void one_row_less(float *to, int64_t ys, const float *from, int64_t xs,
                         const int64_t offset[], int64_t cells, int64_t rows, int64_t n) {
    table[0]->peak_rows(to, ys, from, xs, offset, cells - 1, rows, n);
}
static bool notices(uint64_t seed) {
    run(one, &pools[seed], POOL_MAX, y);
    return wrong_results(&pools[seed], POOL_MAX, y) > 0;
}
/* Rows that are not adjacent are added together, one term too few. */
static void one_term_less(const ShiftedSum *s) {
    ShiftedSum less = *s;
    less.terms--;
    table[0]->sum_shifted(&less);
}
/* The sums of several planes have one term too few. */
static void one_lane_term_less(float *to, const float *from, int64_t step, int64_t apart,
                               int64_t terms, const float *divisor, int64_t n) {
    table[0]->lane_means(to, from, step, apart, terms - (terms > 1), divisor, n);
}
static bool mean_notices(uint64_t seed) {
    run(one, &pools[seed], POOL_MEAN, y);
    return wrong_results(&pools[seed], POOL_MEAN, y) > 0;
}
static void faults_are_noticed(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.peak_rows = one_row_less;
    assert_int_equal(cases_noticed(&simd, 7, notices), 7);
    assert_int_equal(cases_noticed(table[0], POOLS, notices), 0);
    simd = *table[0], simd.sum_shifted = one_term_less;
    assert_true(cases_noticed(&simd, POOLS, mean_notices) > 7);
    assert_int_equal(cases_noticed(table[0], POOLS, mean_notices), 0);
    simd = *table[0], simd.lane_means = one_lane_term_less;
    assert_true(cases_noticed(&simd, POOLS, mean_notices) > 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_those_of_plain_loops),
                                       cmocka_unit_test(faults_are_noticed)};
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
