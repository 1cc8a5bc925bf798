/* ops_col2im.c -- tests col2im on the CPU (ops/cpu/col2im.c): images of one to three axes, with
   random blocks, strides, pads, dilations and gaps, are compared with sums in the order of the
   elements of a block, in every instruction set of the machine and on three threads. Wrong loops
   are noticed. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/base/random.h"
#include "test/shared/simd_tables.h"
#include <stdlib.h>
#include <string.h>

enum { CASES = 300, AXES = 3 };
typedef struct Drawn {
    Random random;
    View view[2];
    float *slot[2];
    int64_t param[COL2IM_AXES + AXES * COL2IM_AXIS_PARAMS], block, places, size[2];
    int axes;
} Drawn;
static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static int64_t *axis_of(Drawn *t, int axis) {
    return t->param + COL2IM_AXES + axis * COL2IM_AXIS_PARAMS;
}
/* Draws an axis; returns the size of the image along it. */
static int64_t draw_axis(Drawn *t, int axis) {
    int64_t *p = axis_of(t, axis);
    const bool last = axis == t->axes - 1;
    p[COL2IM_BLOCK] = draw(t, 1, 4), p[COL2IM_STRIDE] = draw(t, 1, last ? 4 : 3);
    p[COL2IM_DILATION] = draw(t, 1, 2);
    const int64_t reach = (p[COL2IM_BLOCK] - 1) * p[COL2IM_DILATION] + 1;
    const int64_t image = reach + draw(t, 0, last ? 45 : 5), end = draw(t, 0, reach - 1);
    p[COL2IM_PAD] = draw(t, 0, reach - 1);
    p[COL2IM_PLACES] = (image + p[COL2IM_PAD] + end - reach) / p[COL2IM_STRIDE] + 1;
    t->block *= p[COL2IM_BLOCK], t->places *= p[COL2IM_PLACES];
    return image;
}
static Drawn *draw_case(uint64_t seed) {
    Drawn *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->random.seed = seed, t->block = t->places = 1, t->axes = (int)draw(t, 1, AXES);
    t->param[OP_OUTPUTS] = 1;
    int64_t y[2 + AXES] = {draw(t, 1, 2), draw(t, 1, 3)};
    for (int j = 0; j < t->axes; j++) y[2 + j] = draw_axis(t, j);
    const int64_t x[] = {y[0], y[1] * t->block, t->places};
    t->view[0] = view_dense(0, DT_FLOAT, 2 + t->axes, y);
    t->view[1] = view_dense(1, DT_FLOAT, 3, x);
    t->view[1].stride[1] += draw(t, 0, 2), t->view[1].stride[0] = x[1] * t->view[1].stride[1];
    t->size[0] = view_count(&t->view[0]), t->size[1] = x[0] * t->view[1].stride[0];
    for (int k = 0; k < 2; k++) {
        t->slot[k] = malloc((size_t)t->size[k] * sizeof(float)); /* no gap: bounds are checked */
        assert_non_null(t->slot[k]);
        for (int64_t i = 0; i < t->size[k]; i++)
            t->slot[k][i] = (float)random_unit(&t->random) - 0.5f;
    }
    return t;
}
static void drop_case(Drawn *t) { free(t->slot[0]), free(t->slot[1]), free(t); }

/* Adds element k of each block at its place in the image, one element after the other. */
static void add_element(Drawn *t, float *y, int64_t k) {
    const View *image = &t->view[0], *x = &t->view[1];
    for (int64_t n = 0; n < x->dim[0]; n++)
        for (int64_t c = 0; c < image->dim[1]; c++)
            for (int64_t l = 0; l < t->places; l++) {
                int64_t to = n * image->stride[0] + c * image->stride[1], rest = l, element = k;
                bool inside = true;
                for (int j = t->axes - 1; j >= 0; j--) {
                    const int64_t *p = axis_of(t, j);
                    const int64_t i = rest % p[COL2IM_PLACES] * p[COL2IM_STRIDE] +
                                      element % p[COL2IM_BLOCK] * p[COL2IM_DILATION] -
                                      p[COL2IM_PAD];
                    rest /= p[COL2IM_PLACES], element /= p[COL2IM_BLOCK];
                    inside = inside && i >= 0 && i < image->dim[2 + j];
                    to += i * image->stride[2 + j];
                }
                if (inside)
                    y[to] += t->slot[1][n * x->stride[0] + (c * t->block + k) * x->stride[1] + l];
            }
}
static void run_case(Drawn *t, Device *d) {
    const Step s = {.kind = S_OP,
                    .nview = 2,
                    .nparam = COL2IM_AXES + t->axes * COL2IM_AXIS_PARAMS,
                    .view = t->view,
                    .param = t->param,
                    .op = "col2im"};
    run_step(d, &s, (void *[]){t->slot[0], t->slot[1]});
}
static bool right(uint64_t seed, Device *d) {
    Drawn *t = draw_case(seed);
    float *want = calloc((size_t)t->size[0], sizeof *want);
    assert_non_null(want);
    for (int64_t k = 0; k < t->block; k++) add_element(t, want, k);
    run_case(t, d);
    const bool same = memcmp(want, t->slot[0], (size_t)t->size[0] * sizeof *want) == 0;
    free(want);
    drop_case(t);
    return same;
}
static void drawn_images_are_sums(void **state) {
    (void)state;
    cases_agree(CASES, right);
}

/* ---- loops with a fault */
static bool notices(uint64_t seed) { return !right(seed, one); }
static void last_left_out(const ShiftedSum *s) {
    ShiftedSum less = *s;
    less.terms -= less.terms > 0;
    table[0]->sum_shifted(&less);
}
static void last_plane_left_out(const ShiftedSum *s) {
    ShiftedSum less = *s;
    less.planes--;
    table[0]->sum_shifted(&less);
}
static void wrong_loops_are_caught(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.sum_shifted = last_left_out;
    assert_true(cases_noticed(&simd, CASES, notices) > 250);
    simd.sum_shifted = last_plane_left_out;
    assert_true(cases_noticed(&simd, CASES, notices) > 250);
    assert_int_equal(cases_noticed(table[0], CASES, notices), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_images_are_sums),
                                       cmocka_unit_test(wrong_loops_are_caught)};
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
