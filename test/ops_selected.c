/* ops_selected.c -- operators whose results are chosen elements or their places: steps of random
   types, sizes and layouts run by the CPU back end, with and without special instruction sets and
   with three threads, against the reference kernels. */
#include "test/shared/kernel_check.h"

static const DType types[] = {DT_FLOAT,   DT_INT64,  DT_INT32,  DT_UINT8,
                              DT_FLOAT16, DT_DOUBLE, DT_UINT64, DT_INT8};
static DType some_type(Drawn *t) { return types[draw(t, 0, 7)]; }
static DType some_float(Drawn *t) {
    static const DType floats[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16, DT_BFLOAT16};
    return floats[draw(t, 0, 3)];
}
static int some_sizes(Drawn *t, int least, int most, int64_t dim[]) {
    const int rank = sizes(t, least, most, dim);
    for (int a = 0; a < rank; a++) dim[a] += dim[a] == 0;
    return rank;
}
/* Few numbers, so that many are equal, both zeros and NaN among those of floats. */
static double few(Drawn *t, double low, double high) {
    static const double odd[] = {NAN, -0.0, 0, INFINITY, -INFINITY};
    return draw(t, 0, 3) ? whole(t, low, high) : odd[draw(t, 0, 4)];
}
static void fill_few(Drawn *t, DType type, int rank, const int64_t dim[]) {
    const char class = dtype_class(type);
    fill(t, input(t, type, rank, dim), class == 'F' ? few : whole, class == 'U' ? 0 : -3, 3);
}
static int64_t count_set(const Drawn *t, int k) {
    const View *v = &t->view[k];
    int64_t i[STEP_RANK], n = 0;
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i))
        n += element_real((DType)v->dtype, t->data[k], kernel_at(v, i)) != 0;
    return n;
}

static void draw_compress(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), axis = (int)draw(t, 0, rank - 1);
    attribute(t, "axis", "%d", axis);
    wholes(t, some_type(t), rank, x, 0, 99);
    wholes(t, DT_BOOL, 1, (int64_t[]){draw(t, 1, x[axis])}, 0, 1);
    attribute(t, "n", "%d", (int)count_set(t, 1));
}
/* Room for more than there are. */
static void draw_nonzero(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = sizes(t, 1, 4, x);
    fill_few(t, draw(t, 0, 3) ? some_type(t) : DT_BOOL, rank, x);
    attribute(t, "n", "%d", (int)(count_set(t, 0) + draw(t, 0, 3)));
}
static void draw_hardmax(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), axis = (int)draw(t, 0, rank - 1);
    if (draw(t, 0, 4) == 0 && rank == 2) x[1 - axis] = 600; /* more than a group */
    attribute(t, "axis", "%d", axis);
    fill_few(t, some_float(t), rank, x);
}
/* Windows that begin and end in the padding, but never lie in it alone. */
static void draw_maxplace(Drawn *t) {
    const int ns = (int)draw(t, 1, 3);
    int64_t x[5] = {draw(t, 1, 2), draw(t, 1, 3)}, list[4][6];
    for (int a = 0; a < ns; a++) {
        const int64_t kernel = draw(t, 1, 3), dilation = draw(t, 1, 3),
                      most = (kernel - 1) * dilation / 2;
        x[2 + a] = (kernel - 1) * dilation + draw(t, 1, a == ns - 1 ? 40 : 4);
        list[0][a] = kernel, list[1][a] = draw(t, 1, 3), list[3][a] = dilation;
        list[2][a] = draw(t, 0, most), list[2][ns + a] = draw(t, 0, most);
    }
    t->nout = 2;
    numbers(t, "kernel", ns, list[0]);
    numbers(t, "strides", ns, list[1]);
    numbers(t, "pads", 2 * ns, list[2]);
    numbers(t, "dilations", ns, list[3]);
    attribute(t, "columns", draw(t, 0, 1) ? "yes" : "no");
    fill_few(t, some_type(t), 2 + ns, x);
}
/* Several elements at one place: the last one stays. */
static void draw_unpool(Drawn *t) {
    int64_t x[STEP_RANK], y[STEP_RANK], n = 1;
    const int rank = sizes(t, 3, 4, x);
    for (int a = 0; a < rank; a++) y[a] = x[a] + draw(t, 0, 2), n *= y[a];
    numbers(t, "shape", rank, y);
    reals(t, some_float(t), rank, x, -1, 1);
    wholes(t, DT_INT64, rank, x, 0, n ? (double)(n - 1) : 0);
}
static void draw_unique(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 3, x), axis = (int)draw(t, 0, rank - 1);
    if (draw(t, 0, 1))
        for (int a = 0; a < rank; a++) x[a] = a == axis ? draw(t, 0, 300) : draw(t, 1, 2);
    t->nout = 4;
    attribute(t, "axis", "%d", axis);
    attribute(t, "sorted", draw(t, 0, 1) ? "yes" : "no");
    attribute(t, "n", "%d", (int)x[axis]);
    fill_few(t, draw(t, 0, 5) ? some_type(t) : DT_BOOL, rank, x);
}

static const Family families[] = {
    {"compress", draw_compress, false},
    {"nonzero", draw_nonzero, false},
    {"hardmax", draw_hardmax, false},
    {"maxplace", draw_maxplace, false},
    {"unpool", draw_unpool, false},
    {"unique", draw_unique, false},
    {0},
};
int main(void) {
    const struct CMUnitTest tests[] = {FAMILIES_TEST(families)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
