/* ops_rotate.c -- tests the step "rotate" on the CPU (ops/cpu/rotate.c): random sizes and layouts,
   with the two numbers of a pair in rows of their own, side by side or anywhere, give the same
   bytes as separate products and sums, in every instruction set of the machine and on three
   threads. Wrong loops are noticed. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/base/random.h"
#include "test/shared/simd_tables.h"
#include <stdlib.h>
#include <string.h>

enum { CASES = 300, ROOM = 20000, SLOTS = 3 };
typedef struct Drawn {
    Random random;
    View view[ROTATE_VIEWS];
    float *slot[SLOTS]; /* results, pairs, angles */
} Drawn;
static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
/* Lays two views of `dim` into a slot: in the halves of a row, side by side, or one behind the
   other with gaps between the elements. What is read second may be the same for all rows. */
static void lay_pair(Drawn *t, int first, int slot, const int64_t dim[3], int kind) {
    const int64_t n = dim[2],
                  by = kind == 0   ? 1
                       : kind == 1 ? 2
                                   : 3,
                  row = (kind == 1 ? 2 : 2 * by) * n + draw(t, 0, 2);
    View *v = &t->view[first];
    v[0] = view_dense(slot, DT_FLOAT, 3, dim);
    v[0].stride[2] = by, v[0].stride[1] = row, v[0].stride[0] = row * dim[1];
    v[1] = v[0];
    v[1].offset = kind == 1 ? 1 : by * n;
    if (first == ROTATE_P && draw(t, 0, 3) == 0) v[1].stride[draw(t, 0, 1)] = 0;
}
static Drawn *draw_case(uint64_t seed) {
    Drawn *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->random.seed = seed;
    const int64_t dim[3] = {draw(t, 1, 4), draw(t, 1, 9), draw(t, 1, draw(t, 0, 1) ? 8 : 70)};
    const int kind = (int)draw(t, 0, 2);
    lay_pair(t, ROTATE_F, 0, dim, kind), lay_pair(t, ROTATE_P, 1, dim, draw(t, 0, 5) ? kind : 2);
    for (int k = ROTATE_C; k <= ROTATE_D; k++) {
        View *v = &t->view[k];
        *v = view_dense(2, DT_FLOAT, 3, dim);
        v->offset = k == ROTATE_C ? 0 : ROOM / 2;
        v->stride[0] = draw(t, 0, 1) ? 0 : v->stride[0];
        v->stride[1] = draw(t, 0, 3) ? v->stride[1] : 0;
        v->stride[2] = draw(t, 0, 9) ? 1 : 0;
    }
    for (int k = 0; k < SLOTS; k++) {
        t->slot[k] = malloc(ROOM * sizeof(float));
        assert_non_null(t->slot[k]);
        for (int i = 0; i < ROOM; i++) t->slot[k][i] = (float)random_unit(&t->random) - 0.5f;
    }
    return t;
}
static void drop_case(Drawn *t) {
    for (int k = 0; k < SLOTS; k++) free(t->slot[k]);
    free(t);
}
static float *at(const Drawn *t, int k, int64_t i, int64_t j, int64_t l) {
    const View *v = &t->view[k];
    return t->slot[v->slot] + v->offset + i * v->stride[0] + j * v->stride[1] + l * v->stride[2];
}
static void run_case(Drawn *t, Device *d) {
    const int64_t param[] = {[OP_OUTPUTS] = ROTATE_P};
    const Step s = {.kind = S_OP,
                    .nview = ROTATE_VIEWS,
                    .nparam = 1,
                    .view = t->view,
                    .param = param,
                    .op = ROTATE_STEP};
    run_step(d, &s, (void *[]){t->slot[0], t->slot[1], t->slot[2]});
}
/* Computes the results as separate steps would, and leaves everything else as it is. */
static void rotate_by_definition(const Drawn *t, float *y) {
    const int64_t *dim = t->view[0].dim;
    memcpy(y, t->slot[0], ROOM * sizeof *y);
    for (int64_t i = 0; i < dim[0]; i++)
        for (int64_t j = 0; j < dim[1]; j++)
            for (int64_t l = 0; l < dim[2]; l++) {
                const float p = *at(t, ROTATE_P, i, j, l), q = *at(t, ROTATE_Q, i, j, l),
                            c = *at(t, ROTATE_C, i, j, l), d = *at(t, ROTATE_D, i, j, l);
                const volatile float pc = p * c, qd = q * d, qc = q * c, pd = p * d;
                y[at(t, ROTATE_F, i, j, l) - t->slot[0]] = pc - qd;
                y[at(t, ROTATE_S, i, j, l) - t->slot[0]] = qc + pd;
            }
}
static bool right(uint64_t seed, Device *d) {
    static float want[ROOM];
    Drawn *t = draw_case(seed);
    rotate_by_definition(t, want);
    run_case(t, d);
    const bool same = memcmp(want, t->slot[0], sizeof want) == 0;
    drop_case(t);
    return same;
}
static void drawn_pairs_are_rotated_as_separate_steps_do(void **state) {
    (void)state;
    cases_agree(CASES, right);
}

/* ---- loops with a fault */
static bool notices(uint64_t seed) { return !right(seed, one); }
static void last_left_out(float *const v[6], const int64_t step[6], int64_t n, int64_t rows) {
    table[0]->rotate(v, step, n - 1, rows);
}
static void angles_swapped(float *const v[6], const int64_t step[6], int64_t n, int64_t rows) {
    float *const of[] = {v[0], v[1], v[2], v[3], v[5], v[4]};
    const int64_t steps[] = {step[0], step[1], step[2], step[3], step[5], step[4]};
    table[0]->rotate_pairs(of, steps, n, rows);
}
static void wrong_loops_are_caught(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.rotate = last_left_out;
    assert_true(cases_noticed(&simd, CASES, notices) > 50);
    simd = *table[0], simd.rotate_pairs = angles_swapped;
    assert_true(cases_noticed(&simd, CASES, notices) > 50);
    assert_int_equal(cases_noticed(table[0], CASES, notices), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_pairs_are_rotated_as_separate_steps_do),
        cmocka_unit_test(wrong_loops_are_caught)};
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
