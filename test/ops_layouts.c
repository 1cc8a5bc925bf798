/* ops_layouts.c -- compares copies and element-wise programs between layouts with plain loops, bit
   by bit, at random sizes and orders of axes, in every instruction set that the machine has. Three
   threads give the same bytes, nothing is written outside the result, and wrong kernels are
   noticed. */
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "test/shared/sample.h"
#include "test/shared/simd_tables.h"
#include <stdio.h>
#include <string.h>

enum { CASES = 600, GAP = 5 };
enum { Y, A, B, VIEWS };
typedef struct Drawn {
    Random random;
    Step step;
    View view[VIEWS];
    Scalar code[3];
    char *slot[VIEWS];
    size_t bytes[VIEWS];
} Drawn;

static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}

/* Lays out view k with the axes in the given order in memory, the fastest first, or in a random
   order, then sometimes with gaps between rows or with repeated axes; fills it with random data. */
static void lay(Drawn *t, int k, int rank, const int64_t dim[], const int given[], DType dtype) {
    int order[STEP_RANK];
    int64_t step = 1, low, high;
    View *v = &t->view[k];
    *v = (View){.slot = k, .dtype = (int)dtype, .rank = rank};
    for (int a = 0; a < rank; a++) {
        const int at = (int)draw(t, 0, a);
        order[a] = order[at], order[at] = a;
        v->dim[a] = dim[a];
    }
    if (given) memcpy(order, given, (size_t)rank * sizeof *order);
    for (int i = 0; i < rank; i++) {
        const bool repeated = k != Y && !given && !draw(t, 0, 11);
        v->stride[order[i]] = repeated ? 0 : step;
        if (!repeated) step *= dim[order[i]] + (given || draw(t, 0, 9) ? 0 : 3);
    }
    view_extent(v, &low, &high);
    t->bytes[k] = (size_t)((high + GAP) * dtype_size((int)dtype));
    t->slot[k] = test_malloc(t->bytes[k]);
    for (size_t i = 0; i < t->bytes[k]; i++) t->slot[k][i] = (char)random_below(&t->random, 256);
    for (size_t i = 0; i < t->bytes[k] / sizeof(float) && dtype == DT_FLOAT; i++)
        ((float *)(void *)t->slot[k])[i] = (float)(random_unit(&t->random) * 2 - 1);
}
/* Draws a copy that interleaves a few runs or separates them. */
static void draw_shuffle(Drawn *t) {
    static const int64_t runs[] = {2, 3, 4, 8, 5};
    static const int order[2][3] = {{0, 1, 2}, {1, 0, 2}};
    static const DType types[] = {DT_FLOAT, DT_FLOAT, DT_UINT8, DT_FLOAT16};
    const int64_t dim[] = {draw(t, 1, 80), runs[draw(t, 0, 4)], draw(t, 1, 5)};
    const int from = (int)draw(t, 0, 1);
    const DType dtype = types[draw(t, 0, 3)];
    for (int k = 0; k < VIEWS; k++) lay(t, k, 3, dim, order[k == Y ? 1 - from : from], dtype);
    t->step = (Step){.kind = S_COPY, .nview = 2, .view = t->view};
}
/* Draws a copy of any type, y = a * b in floats, or bytes or integers converted to floats. */
static void draw_case(Drawn *t, uint64_t seed) {
    static const DType types[] = {DT_FLOAT, DT_FLOAT, DT_INT32, DT_UINT8, DT_FLOAT16, DT_INT64};
    static const int64_t few[] = {1, 2, 3, 4, 8, 5, 16}, many[] = {7, 12, 28, 31, 32, 64, 100};
    *t = (Drawn){.random = {.seed = seed}};
    if (!draw(t, 0, 4)) {
        draw_shuffle(t);
        return;
    }
    const int rank = (int)draw(t, 1, 4);
    const bool copy = draw(t, 0, 1), converts = !copy && !draw(t, 0, 2);
    const DType dtype = copy ? types[draw(t, 0, 5)] : DT_FLOAT;
    int64_t dim[STEP_RANK];
    for (int a = 0; a < rank; a++) dim[a] = draw(t, 0, 1) ? few[draw(t, 0, 6)] : 0;
    for (int a = 0, large = 0; a < rank; a++)
        if (!dim[a]) dim[a] = large++ < 2 ? many[draw(t, 0, 6)] : 2;
    const DType from = converts ? draw(t, 0, 1) ? DT_UINT8 : DT_INT32 : dtype;
    for (int k = 0; k < VIEWS; k++) lay(t, k, rank, dim, NULL, k == A ? from : dtype);
    t->code[0] = (Scalar){.op = C_VIEW, .a = A};
    t->code[1] = (Scalar){.op = C_VIEW, .a = B};
    t->code[2] = (Scalar){.op = C_MUL, .a = 0, .b = 1};
    t->step = (Step){.kind = copy ? S_COPY : S_EWISE, .nview = copy ? 2 : VIEWS, .view = t->view};
    if (!copy) t->step.ncode = converts ? 1 : 3, t->step.code = t->code;
    if (converts) t->step.nview = 2;
}
static void free_case(Drawn *t) {
    for (int k = 0; k < VIEWS; k++) test_free(t->slot[k]);
}

static void run(const Drawn *t, Device *d) {
    void *slot[VIEWS];
    for (int i = 0; i < VIEWS; i++) slot[i] = t->slot[i];
    memset(t->slot[Y], 0x55, t->bytes[Y]);
    run_step(d, &t->step, slot);
}

/* The bytes that slot Y should have, computed by loops over the indices. */
static char *wanted(const Drawn *t) {
    char *want = memset(test_malloc(t->bytes[Y]), 0x55, t->bytes[Y]);
    int64_t index[STEP_RANK] = {0};
    for (int64_t n = view_count(&t->view[Y]); n > 0; n--) {
        char *at[VIEWS];
        for (int k = 0; k < VIEWS; k++) {
            int64_t place = t->view[k].offset;
            for (int a = 0; a < t->view[k].rank; a++) place += index[a] * t->view[k].stride[a];
            at[k] = (k == Y ? want : t->slot[k]) + place * dtype_size(t->view[k].dtype);
        }
        if (t->step.kind == S_COPY) memcpy(at[Y], at[A], (size_t)dtype_size(t->view[Y].dtype));
        else if (t->step.ncode == 1)
            *(float *)(void *)at[Y] = (float)element_real((DType)t->view[A].dtype, at[A], 0);
        else
            *(float *)(void *)at[Y] =
                *(const float *)(const void *)at[A] * *(const float *)(const void *)at[B];
        for (int a = t->view[Y].rank - 1; a >= 0 && ++index[a] == t->view[Y].dim[a]; a--)
            index[a] = 0;
    }
    return want;
}
static bool right(const Drawn *t) {
    char *want = wanted(t);
    const bool same = !memcmp(want, t->slot[Y], t->bytes[Y]);
    test_free(want);
    return same;
}

static void steps_agree_with_plain_loops(void **state) {
    (void)state;
    for (int i = 0; i < tables; i++)
        for (uint64_t seed = 0; seed < CASES; seed += (uint64_t)sample_step()) {
            Drawn t;
            draw_case(&t, seed);
            one->simd = three->simd = table[i];
            run(&t, one);
            if (!right(&t)) fail_msg("%s, case %d", table[i]->name, (int)seed);
            run(&t, three);
            if (!right(&t)) fail_msg("%s, case %d, three threads", table[i]->name, (int)seed);
            free_case(&t);
        }
}

static void short_weave(void *y, const void *x, int64_t stride, int64_t n) {
    table[0]->weave[2][4](y, x, stride, n - 1);
}
static void short_unweave(void *y, const void *x, int64_t stride, int64_t n) {
    table[0]->unweave[2][4](y, x, stride, n - 1);
}
static void short_transpose(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs, int64_t rows,
                            int64_t columns) {
    table[0]->transpose(y, ys, x, xs, rows - 1, columns);
}
static void short_transpose_small(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows,
                                  int64_t columns) {
    table[0]->transpose_small[0](y, ys, x, xs, rows - (rows > 8), columns);
}
static void short_rows(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows,
                       int64_t bytes) {
    table[0]->move_rows(y, ys, x, xs, rows - 1, bytes);
}
static void shifted_load(void *y, const void *x, int64_t stride, int64_t n) {
    table[0]->load[CLASS_FLOAT][DT_FLOAT](y, (const float *)x + (n > 1), stride, n);
}
static bool notices(uint64_t seed) {
    Drawn t;
    draw_case(&t, seed);
    run(&t, one);
    const bool wrong = !right(&t);
    free_case(&t);
    return wrong;
}
static int caught(const Simd *wrong) { return cases_noticed(wrong, CASES, notices); }
static void wrong_kernels_are_caught(void **state) {
    (void)state;
    Simd wrong = *table[0];
    assert_int_equal(caught(&wrong), 0);
    wrong.weave[2][4] = short_weave;
    assert_true(caught(&wrong) > 2);
    wrong = *table[0], wrong.unweave[2][4] = short_unweave;
    assert_true(caught(&wrong) > 2);
    wrong = *table[0], wrong.transpose = short_transpose;
    assert_true(caught(&wrong) > 20);
    wrong = *table[0], wrong.transpose_small[0] = short_transpose_small;
    assert_true(caught(&wrong) > 5);
    wrong = *table[0], wrong.move_rows = short_rows;
    assert_true(caught(&wrong) > 20);
    wrong = *table[0], wrong.load[CLASS_FLOAT][DT_FLOAT] = shifted_load;
    assert_true(caught(&wrong) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_agree_with_plain_loops),
        cmocka_unit_test(wrong_kernels_are_caught),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
