/* ops_elements.c -- gatherelements and scatterelements whose index repeats, as exporters of graph
   networks write it: a column that is broadcast along rows, as a view or stored. Compares all bytes
   of the results, so that updates must be added in the order of the index. Other indices are
   compared in ops_kernels.c. */
#include "test/shared/kernel_check.h"

static const DType some_type[] = {DT_FLOAT, DT_INT64, DT_INT32, DT_UINT8, DT_FLOAT16, DT_DOUBLE};

/* Makes the index, input k, the same along some axes, seldom along `axis`: its view repeats it, or
   its contents do. */
static void repeat(Drawn *t, int k, int axis) {
    View *v = &t->view[k], once;
    const uint64_t repeated = random_below(&t->random, 16);
    int64_t i[STEP_RANK];
    once = *v;
    for (int a = 0; a < v->rank; a++)
        if ((a != axis || !draw(t, 0, 9)) && repeated >> (v->rank - 1 - a) & 1) once.stride[a] = 0;
    if (draw(t, 0, 1)) {
        *v = once;
        return;
    }
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i))
        kernel_move(v, (void *const *)t->data, kernel_at(v, i), &once, kernel_at(&once, i));
}
/* Draws x and an index that is as large as x or smaller, except along one axis. Now and then rows
   are longer than the run of indices that is handled together. */
static void draw_indexed(Drawn *t, int64_t size[]) {
    int64_t x[STEP_RANK];
    const int rank = (int)draw(t, 1, 4), axis = (int)draw(t, 0, rank - 1);
    for (int a = 0; a < rank; a++) {
        x[a] = draw(t, 1, a == rank - 1 ? 40 : 6);
        if (rank == 2 && a != axis && draw(t, 0, 3) == 0) x[a] = draw(t, 400, 1100);
        size[a] = draw(t, 0, 3) ? x[a] : draw(t, 0, x[a]);
        if (a == axis) size[a] = draw(t, 0, 12);
    }
    attribute(t, "axis", "%d", axis);
    fill(t, input(t, some_type[draw(t, 0, 5)], rank, x), whole, 0, 9);
    const double places = (double)x[axis];
    wholes(t, draw(t, 0, 2) ? DT_INT64 : DT_INT32, rank, size, -places, places - 1);
    repeat(t, 1, axis);
}
static void draw_gathered(Drawn *t) {
    int64_t size[STEP_RANK];
    draw_indexed(t, size);
}
/* Draws updates whose sums depend on the order of the additions. */
static void draw_scattered(Drawn *t) {
    int64_t size[STEP_RANK];
    draw_indexed(t, size);
    const DType type = t->in[0].dtype;
    if (dtype_class(type) == 'F') reals(t, type, t->view[0].rank, size, 0, 9);
    else wholes(t, type, t->view[0].rank, size, 0, 9);
}
static void draw_combined(Drawn *t) {
    attribute(t, "reduction", draw(t, 0, 1) ? "none" : "mul");
    draw_scattered(t);
}

static const Family families[] = {
    {"gatherelements", draw_gathered, false},
    {"scatterelements", draw_combined, false},
    {"scatteradd", draw_scattered, false},
    {"scattermax", draw_scattered, false},
    {0},
};

/* ---- loops with a fault */
static void short_rows(const ChosenRows *r) {
    ChosenRows other = *r;
    other.rows -= other.rows > 0;
    table[0]->move_chosen(&other);
}
/* The test must notice blocks that are not moved. */
static void faults_are_noticed(void **state) {
    (void)state;
    Simd wrong = *table[0];
    wrong.move_chosen = short_rows;
    assert_true(differences(&families[0], &wrong) > 0);
    assert_true(differences(&families[1], &wrong) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {FAMILIES_TEST(families),
                                       cmocka_unit_test(faults_are_noticed)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
