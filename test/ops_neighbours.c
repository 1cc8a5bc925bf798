/* ops_neighbours.c -- tests means over windows that the CPU back end computes row by row
   (ops/cpu/neighbours.c), on random shapes: one to three axes, one to nine channels, as planes or
   last, with gaps between rows, with padding that counts or does not, windows larger than the image
   or beyond its padding, strides and dilations; compared with plain loops, in every instruction set
   of the machine and on three threads. Wrong sums are noticed. */
#include "ops/base/random.h"
#include "test/shared/simd_tables.h"
#include <math.h>
#include <stdlib.h>

enum { CASES = 240, AXES = 3, LISTS = 5, KERNEL = 0, STRIDE, BEGIN, END, DILATION };
typedef struct Drawn {
    Random random;
    int axes;
    View view[2]; /* results, images */
    int64_t param[2 + LISTS * AXES], room[2];
    float *slot[2];
} Drawn;
static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static int64_t *param_of(Drawn *t, int list, int axis) {
    return &t->param[1 + list * t->axes + axis];
}
/* Draws the windows along an axis and computes the number of outputs. */
static void draw_axis(Drawn *t, int a) {
    const bool last = a == t->axes - 1, big = draw(t, 0, 4) == 0;
    const int64_t in = last && draw(t, 0, 1) ? draw(t, 90, 150) : draw(t, 1, t->axes > 2 ? 9 : 20);
    int64_t reach, all;
    do {
        const int64_t kernel = draw(t, 1, big && (last || t->axes < 3) ? 40 : 9);
        *param_of(t, KERNEL, a) = kernel;
        *param_of(t, STRIDE, a) = draw(t, 0, 1) ? 1 : draw(t, 1, 5);
        *param_of(t, DILATION, a) = draw(t, 0, 3) ? 1 : draw(t, 1, 3);
        for (int list = BEGIN; list <= END; list++)
            *param_of(t, list, a) = draw(t, 0, 1) ? draw(t, 0, kernel) : 0;
        reach = (kernel - 1) * *param_of(t, DILATION, a) + 1;
        all = in + *param_of(t, BEGIN, a) + *param_of(t, END, a);
    } while (reach > all);
    const int64_t s = *param_of(t, STRIDE, a), up = draw(t, 0, 2) == 0 ? s - 1 : 0;
    t->view[0].dim[2 + a] = (all - reach + up) / s + 1, t->view[1].dim[2 + a] = in;
}
/* Lays a view out as planes, perhaps with gaps between their rows, or with channels last. */
static void lay(Drawn *t, int k) {
    View *v = &t->view[k];
    const bool last = draw(t, 0, 1);
    int64_t stride = last ? v->dim[1] : 1;
    for (int a = v->rank - 1; a >= 2; stride *= v->dim[a--]) {
        v->stride[a] = stride;
        if (a == v->rank - 1 && draw(t, 0, 3) == 0) stride += draw(t, 1, 5);
    }
    v->stride[1] = last ? 1 : stride;
    v->stride[0] = last ? stride : stride * v->dim[1];
    t->room[k] = v->stride[0] * v->dim[0];
    t->slot[k] = malloc((size_t)t->room[k] * sizeof(float));
    assert_non_null(t->slot[k]);
}
static Drawn *draw_case(uint64_t seed) {
    Drawn *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->random.seed = seed;
    t->axes = (int)draw(t, 1, AXES);
    t->param[0] = POOL_MEAN, t->param[1 + LISTS * t->axes] = draw(t, 0, 1);
    const int64_t batch = draw(t, 1, 2), channels = draw(t, 1, draw(t, 0, 5) ? 9 : 20);
    for (int k = 0; k < 2; k++)
        t->view[k] =
            (View){.slot = k, .dtype = DT_FLOAT, .rank = 2 + t->axes, .dim = {batch, channels}};
    for (int a = 0; a < t->axes; a++) draw_axis(t, a);
    for (int k = 0; k < 2; k++) lay(t, k);
    for (int64_t i = 0; i < t->room[0]; i++) t->slot[0][i] = 7.5f;
    for (int64_t i = 0; i < t->room[1]; i++)
        t->slot[1][i] = draw(t, 0, 2999) ? (float)draw(t, -99, 99) : draw(t, 0, 1) ? NAN : INFINITY;
    return t;
}
static void drop_case(Drawn *t) {
    free(t->slot[0]), free(t->slot[1]);
    free(t);
}
static Step step_of(Drawn *t) {
    return (Step){S_POOL, 2, 2 + LISTS * t->axes, 0, t->view, t->param, NULL, NULL};
}

/* Sums up cell k of output o, and of all later axes. *cells: those that are counted. x: NULL in the
   padding. */
static double sum_from(Drawn *t, int a, const int64_t o[], const float *x, int64_t *cells) {
    double sum = 0;
    if (a == t->axes) return (*cells)++, x ? (double)*x : 0;
    for (int64_t k = 0; k < *param_of(t, KERNEL, a); k++) {
        const int64_t begin = *param_of(t, BEGIN, a), in = t->view[1].dim[2 + a],
                      i = o[a] * *param_of(t, STRIDE, a) - begin + k * *param_of(t, DILATION, a);
        const bool inside = i >= 0 && i < in;
        if (!inside && (!t->param[1 + LISTS * t->axes] || i >= in + *param_of(t, END, a))) continue;
        sum += sum_from(t, a + 1, o, inside && x ? x + i * t->view[1].stride[2 + a] : NULL, cells);
    }
    return sum;
}
/* Whether y has the means, whose sums are exact, and nothing else was written. */
static bool is_right(Drawn *t) {
    const View *y = &t->view[0], *x = &t->view[1];
    bool right = true;
    for (int64_t e = 0; e < view_count(y); e++) {
        int64_t at[2 + AXES] = {0}, left = e, to = 0, cells = 0;
        for (int a = y->rank - 1; a >= 0; left /= y->dim[a--])
            at[a] = left % y->dim[a], to += at[a] * y->stride[a];
        const float *from = t->slot[1] + at[0] * x->stride[0] + at[1] * x->stride[1];
        const float sum = (float)sum_from(t, 0, at + 2, from, &cells), want = sum / (float)cells,
                    got = t->slot[0][to];
        right &= want != want ? got != got : got == want;
        t->slot[0][to] = 7.5f;
    }
    for (int64_t i = 0; i < t->room[0]; i++) right &= t->slot[0][i] == 7.5f;
    return right;
}
static bool case_is_right(uint64_t seed, Device *d) {
    Drawn *t = draw_case(seed);
    const Step s = step_of(t);
    run_step(d, &s, (void *[]){t->slot[0], t->slot[1]});
    const bool right = is_right(t);
    drop_case(t);
    return right;
}
static void means_are_those_of_plain_loops(void **state) {
    (void)state;
    cases_agree(CASES, case_is_right);
}
static void most_cases_are_taken_by_rows(void **state) {
    (void)state;
    int taken = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        Drawn *t = draw_case(seed);
        const Step s = step_of(t);
        taken += neighbours_fit(&s);
        drop_case(t);
    }
    assert_true(taken > CASES / 2);
}

static void one_term_less(float *y, const float *x, int64_t apart, int64_t terms, int64_t n,
                          bool more) {
    table[0]->add_neighbours(y, x, apart, terms - (terms > 1), n, more);
}
static void never_more(float *y, const float *x, int64_t apart, int64_t terms, int64_t n,
                       bool more) {
    (void)more;
    table[0]->add_neighbours(y, x, apart, terms, n, false);
}
static bool notices(uint64_t seed) { return !case_is_right(seed, one); }
static void faults_are_noticed(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.add_neighbours = one_term_less;
    assert_true(cases_noticed(&simd, CASES, notices) > CASES / 3);
    simd.add_neighbours = never_more;
    assert_true(cases_noticed(&simd, CASES, notices) > CASES / 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(means_are_those_of_plain_loops),
                                       cmocka_unit_test(most_cases_are_taken_by_rows),
                                       cmocka_unit_test(faults_are_noticed)};
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
