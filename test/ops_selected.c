/* ops_selected.c -- tests operators that select elements or give their places: steps of random
   types, sizes and layouts run on the CPU back end, with and without special instruction sets and
   with three threads, and are compared with the reference kernels; faulty loops are noticed. */
#include "ops/operator/op_kernel.h"
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
/* Draws from few numbers, so that many are equal; for floats, both zeros, NaN and infinities
   occur. */
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
/* The result has room for more places than there are. */
static void draw_nonzero(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = sizes(t, 1, 4, x);
    fill_few(t, draw(t, 0, 3) ? some_type(t) : DT_BOOL, rank, x);
    attribute(t, "n", "%d", (int)(count_set(t, 0) + draw(t, 0, 3)));
}
/* Draws the sizes of many lines along axis 1, of which some or all lie side by side. */
static int many_lines(Drawn *t, int64_t x[]) {
    const bool apart = draw(t, 0, 3) > 0;
    x[0] = draw(t, 1, apart ? 150 : 3), x[1] = draw(t, 1, apart ? 90 : 20);
    x[2] = !apart ? draw(t, 16, 300) : draw(t, 0, 3) ? draw(t, 2, 17) : 1;
    return 3;
}
/* Draws the rank, the sizes and the axis. */
static int draw_lines(Drawn *t, int64_t x[]) {
    const bool many = draw(t, 0, 1);
    const int rank = many ? many_lines(t, x) : some_sizes(t, 1, 4, x),
              axis = many ? 1 : (int)draw(t, 0, rank - 1);
    if (draw(t, 0, 4) == 0 && rank == 2) x[1 - axis] = 600; /* more results than a group */
    if (draw(t, 0, 2) == 0 && rank <= 2) x[axis] = draw(t, 16, 200);
    attribute(t, "axis", "%d", axis);
    return rank;
}
static void draw_topk(Drawn *t) {
    int64_t x[STEP_RANK];
    const bool many = draw(t, 0, 1);
    const int rank = many ? many_lines(t, x) : some_sizes(t, 1, 4, x),
              axis = many ? 1 : (int)draw(t, 0, rank - 1);
    t->nout = 2;
    attribute(t, "k", "%d", (int)draw(t, 0, x[axis] > 9 ? 9 : x[axis]));
    attribute(t, "axis", "%d", axis);
    attribute(t, "largest", draw(t, 0, 1) ? "yes" : "no");
    wholes(t, some_type(t), rank, x, 0, draw(t, 0, 1) ? 9 : 100);
}
static void draw_best(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = draw_lines(t, x);
    attribute(t, "last", draw(t, 0, 1) ? "yes" : "no");
    if (draw(t, 0, 1)) fill_few(t, some_type(t), rank, x);
    else wholes(t, some_type(t), rank, x, 0, draw(t, 0, 1) ? 3 : 100);
}
static void draw_hardmax(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = draw_lines(t, x);
    fill_few(t, some_float(t), rank, x);
}
/* Draws windows that may begin or end in the padding, but never lie in it completely. */
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
/* Several elements may go to one place: the last one stays. */
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

/* Draws trees as ops/trees.c stores them; growth ends when the room is full. */
enum { ROOM = 120 };
typedef struct Wood {
    int64_t node[ROOM][TREE_FIELDS], roots, nodes, weights;
} Wood;
static Wood grown(Drawn *t, int64_t features) {
    Wood w = {.roots = draw(t, 1, 4)};
    w.nodes = w.roots;
    for (int64_t k = 0; k < w.nodes; k++) {
        int64_t *const x = w.node[k], more = draw(t, 0, 2);
        if (w.nodes + 2 <= ROOM && (k == 0 || more)) {
            x[TREE_FEATURE] = draw(t, 0, features - 1);
            x[TREE_MODE] = draw(t, TREE_LEQ, TREE_NEQ), x[TREE_MISSING] = draw(t, 0, 1);
            x[TREE_YES] = w.nodes++, x[TREE_NO] = w.nodes++;
        } else x[TREE_YES] = w.weights, x[TREE_NO] = w.weights += more;
    }
    return w;
}
/* Adds an input of integers, usually without gaps. */
static int integers(Drawn *t, int rank, const int64_t dim[], const int64_t *x) {
    const int k = input(t, DT_INT64, rank, dim);
    int64_t i[STEP_RANK];
    if (draw(t, 0, 9)) t->view[k] = view_dense(k, DT_INT64, rank, dim);
    const View *v = &t->view[k];
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i), x++)
        element_set_real(DT_INT64, t->data[k], kernel_at(v, i), (double)*x);
    return k;
}
static void floats(Drawn *t, int64_t n, Element *value) {
    const int k = input(t, DT_FLOAT, 1, &n);
    if (draw(t, 0, 9)) t->view[k] = view_dense(k, DT_FLOAT, 1, &n);
    fill(t, k, value, -3, 3);
}
static void draw_trees(Drawn *t) {
    const int64_t features = draw(t, 1, 5), rows = draw(t, 0, 3) ? draw(t, 1, 5) : draw(t, 60, 150),
                  outputs = draw(t, 1, 3);
    int64_t root[ROOM], output[ROOM];
    const Wood w = grown(t, features);
    for (int64_t k = 0; k < w.roots; k++) root[k] = k;
    for (int64_t k = 0; k < w.weights; k++) output[k] = draw(t, 0, outputs - 1);
    attribute(t, "outputs", "%d", (int)outputs);
    attribute(t, "average", draw(t, 0, 1) ? "sum" : "average");
    fill_few(t, draw(t, 0, 3) ? DT_FLOAT : some_type(t), 2, (int64_t[]){rows, features});
    integers(t, 1, &w.roots, root);
    integers(t, 2, (int64_t[]){w.nodes, TREE_FIELDS}, w.node[0]);
    floats(t, w.nodes, whole);
    integers(t, 1, &w.weights, output);
    floats(t, w.weights, real);
    if (draw(t, 0, 1)) floats(t, outputs, real);
    if (draw(t, 0, 2)) t->known = 0xff;
}

static const Family families[] = {
    {"compress", draw_compress, false},
    {"nonzero", draw_nonzero, false},
    {"hardmax", draw_hardmax, false},
    {"maxplace", draw_maxplace, false},
    {"unpool", draw_unpool, false},
    {"unique", draw_unique, false},
    {"trees", draw_trees, false},
    {"topk", draw_topk, false},
    {"argmax", draw_best, false},
    {"argmin", draw_best, false},
    {0},
};

/* ---- loops with a fault */
static void one_row_less(const FirstRows *f) {
    FirstRows less = *f;
    less.rows -= f->rows > f->k;
    table[0]->first_of_rows[0](&less);
}
static void never_last(const BetterRows *b) {
    BetterRows other = *b;
    other.last = false;
    table[0]->better[CLASS_FLOAT](&other);
}
static void wrong_loops_are_caught(void **state) {
    static const Family first = {"topk", draw_topk, false}, best = {"argmax", draw_best, false};
    (void)state;
    Simd wrong = *table[0];
    assert_int_equal(differences(&first, &wrong) + differences(&best, &wrong), 0);
    wrong.first_of_rows[0] = one_row_less;
    assert_true(differences(&first, &wrong) > 3);
    wrong = *table[0], wrong.better[CLASS_FLOAT] = never_last;
    assert_true(differences(&best, &wrong) > 3);
}

/* A tree of three nodes has one wrong field: a run fails and reads nothing outside the tree. */
static double positive(Drawn *t, double low, double high) { return real(t, 0, high - low); }
static void trees_that_are_none_are_refused(void **state) {
    (void)state;
    static const struct {
        int node, field;
        int64_t value;
    } faults[] = {{0, 0, 1 << 30}, {0, 2, 0}, {0, 2, 3}, {0, 2, -1}, {1, 3, 1 << 20}, {1, 2, -5}};
    for (size_t n = 0; n < sizeof faults / sizeof *faults; n++) {
        Drawn *t = test_calloc(1, sizeof *t);
        int64_t node[3][TREE_FIELDS] = {{0, TREE_LEQ, 1, 2, 0}, {0, 0, 0, 1, 0}, {0, 0, 1, 2, 0}};
        static const int64_t two = 2, three = 3, one = 1, zeros[2] = {0};
        t->w = world_new(NULL, 0);
        world_init_ops(t->w);
        t->op = op_find("trees");
        t->nout = 1, t->known = 0xff;
        defaults(t);
        node[faults[n].node][faults[n].field] = faults[n].value;
        wholes(t, DT_FLOAT, 2, (int64_t[]){2, 1}, -3, -1);
        integers(t, 1, &one, zeros);
        integers(t, 2, (int64_t[]){3, TREE_FIELDS}, node[0]);
        floats(t, three, positive);
        integers(t, 1, &two, zeros);
        floats(t, two, positive);
        intern(t);
        StepBuf b = stepbuf_new(t->w, (Sizes){0}, t->w->arena);
        assert_true(sig_lower(&b, t->sig, t->view, t->view + t->nin));
        const Made made = make(t, device[0], b.v, t->data);
        assert_int_equal(cpu->run(made.kernel, (void *const *)t->data, made.work), -1);
        cpu->release(device[0], made.work);
        cpu->forget(made.kernel);
        for (int k = 0; k < t->nin + t->nout; k++) test_free(t->data[k]);
        world_free(t->w);
        test_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {FAMILIES_TEST(families),
                                       cmocka_unit_test(wrong_loops_are_caught),
                                       cmocka_unit_test(trees_that_are_none_are_refused)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
