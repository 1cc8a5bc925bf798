/* graphs_check.c -- tests the numerical comparison of graphs, its samples, .npy files and sizes
   from options. Wrong graphs, wrong kernels and damaged files must be noticed. */
#include "graphs/check.h"
#include "graphs/disturb.h"
#include "graphs/npy.h"
#include "graphs/oracle.h"
#include "graphs/sizes.h"
#include "ops/backend/backend.h"
#include "ops/base/file.h"
#include "ops/core/element.h"
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- comparing */

static void differences_are_measured(void **state) {
    (void)state;
    const float a[] = {1, -4, 2, INFINITY, NAN}, same[] = {1, -4, 2, INFINITY, NAN},
                near[] = {1, -4.0004f, 2, INFINITY, NAN}, far[] = {1, -4, 2.5f, -INFINITY, 3};
    Difference d = difference_none();
    tensors_compare((TensorPair){DT_FLOAT, a, same, 5}, (Tolerance){0, 0}, NULL, 0, &d);
    assert_int_equal(d.first, -1);
    assert_int_equal(d.count, 5);
    tensors_compare((TensorPair){DT_FLOAT, a, near, 5}, (Tolerance){1e-3, 0}, NULL, 1, &d);
    assert_int_equal(d.first, -1);
    assert_true(fabs(d.max_abs - 4e-4) < 1e-6 && fabs(d.max_rel - 1e-4) < 1e-6);
    tensors_compare((TensorPair){DT_FLOAT, a, near, 5}, (Tolerance){1e-5, 0}, NULL, 2, &d);
    assert_int_equal(d.first, 1);
    assert_int_equal(d.output, 2);
    assert_true(isinf(d.greatest));
    const float zero[] = {0, -0.0f, 0};
    Difference z = difference_none();
    tensors_compare((TensorPair){DT_FLOAT, zero, zero, 3}, (Tolerance){0, 0}, NULL, 0, &z);
    assert_true(z.count == 3 && z.greatest == 0);
    Difference f = difference_none();
    tensors_compare((TensorPair){DT_FLOAT, a, far, 5}, (Tolerance){1e-3, 0}, NULL, 0, &f);
    assert_int_equal(f.first, 2);
    assert_true(isinf(f.max_abs));
    Difference n = difference_none();
    /* A tolerance of 10 allows 1 against -4. */
    tensors_compare((TensorPair){DT_FLOAT, a, far + 1, 1}, (Tolerance){10, 0}, NULL, 0, &n);
    assert_int_equal(n.first, -1);
    const int64_t big[] = {INT64_MAX}, less[] = {INT64_MAX - 1};
    Difference i = difference_none();
    tensors_compare((TensorPair){DT_INT64, big, less, 1},
                    classes_tolerance(CLASS_DIVIDES, DT_INT64), NULL, 0, &i);
    assert_int_equal(i.first, 0); /* as doubles the two would be equal */
}

/* The table of classes is complete: each class is read back as it is printed, an unknown word is
   refused, and a union of classes has at least the tolerance of each. */
static void numeric_classes_are_one_table(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    static const unsigned all[] = {
        CLASS_EXACT,
#define X(id, word, rtol, off) id,
        NUMERIC_CLASSES(X)
#undef X
    };
    unsigned classes, sum = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        sum |= all[k];
        assert_true(classes_parse(classes_text(a, sum), &classes));
        assert_int_equal(classes, sum);
        assert_true(classes_tolerance(sum, DT_FLOAT).rtol >=
                    classes_tolerance(all[k], DT_FLOAT).rtol);
    }
    for (size_t k = 0; k < 4; k++)
        assert_false(
            classes_parse((const char *const[]){"", "exp", "drop", "rounds+exp"}[k], &classes));
    assert_int_equal(CLASSES_OFF, CLASS_DROPS | CLASS_DEFINES | CLASS_OVERFLOWS | CLASS_JUMPS);
    assert_true(classes_tolerance(CLASS_EXACT, DT_FLOAT).rtol == 1e-5);
    assert_true(classes_tolerance(CLASS_REASSOCIATES, DT_DOUBLE).rtol == 2e-5);
    assert_true(classes_tolerance(CLASS_REASSOCIATES | CLASS_DROPS, DT_FLOAT).rtol == 1e-4);
    assert_true(classes_tolerance(CLASS_EXACT, DT_FLOAT16).rtol == 1e-2);
    assert_true(classes_tolerance(sum, DT_BFLOAT16).rtol == 5e-2);
    assert_true(classes_tolerance(sum, DT_INT8).rtol == 0);
    arena_free(a);
}

static void samples_do_not_depend_on_order(void **state) {
    (void)state;
    float a[64], b[64], c[64];
    tensor_sample(7, 3, 0, DT_FLOAT, 64, a);
    tensor_sample(7, 4, 0, DT_FLOAT, 64, c);
    tensor_sample(7, 3, 0, DT_FLOAT, 64, b);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    for (int k = 0; k < 64; k++) assert_true(a[k] >= 0 && a[k] <= 1);
    /* Two samples of two inputs never have the same data, however many samples there are. */
    for (int sample = 1; sample <= 128; sample++) {
        tensor_sample(7, 3, 0, DT_INT8, 64, a);
        tensor_sample(7, 2, sample, DT_INT8, 64, c);
        assert_memory_not_equal(a, c, 64);
    }
    /* Only the sample of that name is extreme. */
    for (int sample = 0; sample <= 1000; sample++) {
        tensor_sample(7, 3, sample, DT_FLOAT, 64, b);
        for (int k = 0; k < 64; k++) assert_true(fabsf(b[k]) < 10);
    }
    int32_t i[64];
    tensor_sample(7, 3, 1, DT_INT32, 64, i);
    for (int k = 0; k < 64; k++) assert_true(i[k] == 0 || i[k] == 1);
}

static bool agree(const char *left, const char *right, unsigned classes, CheckResult *r) {
    World *w = graph_world_new(NULL, 0);
    char why[200];
    Error e = {0};
    Graph a = graph_of(w, left), b = graph_of(w, right);
    const Backend *cpu = backend_open("cpu", &e);
    CheckOptions o = {
        .backend = cpu, .device = cpu->open("", why, sizeof why), .samples = 3, .classes = classes};
    assert_non_null(o.device);
    bool done = graphs_check(w, &a, &b, (Sizes){0}, &o, r, &e);
    if (!done) print_message("%s: %s\n", e.place, e.reason);
    assert_true(done);
    cpu->close(o.device);
    world_free(w);
    return r->agrees;
}

#define HEAD "graph g %x : F [4, 6] %w : F [6, 3] %v : F [6, 5]\nbody\n"
static void equal_graphs_agree_and_others_do_not(void **state) {
    (void)state;
    CheckResult r;
    static const char two[] = HEAD " %a = matmul %x %w\n %b = matmul %x %v\n out %a %b\n";
    assert_true(agree(two,
                      HEAD " %c = concat %w %v axis=1\n %y = matmul %x %c\n %a %b = split %y "
                           "axis=1 sizes=[3, 5]\n out %a %b\n",
                      CLASS_EXACT, &r));
    assert_true(r.run.count > 0 && r.oracle.count > 0);
    assert_true(r.oracle.max_rel < 1e-12);
    assert_false(agree(two,
                       HEAD " %c = concat %w %v axis=1\n %y = matmul %x %c\n %b %a = split %y "
                            "axis=1 sizes=[5, 3]\n out %a %b\n",
                       CLASS_EXACT, &r));
    assert_int_equal(r.run.output, 0);
    assert_true(r.run.first >= 0 && r.oracle.first >= 0);
    /* The factor is 1e-6 too large: the tolerance of the run lets it pass, the comparison of
       definitions in double does not. */
    assert_false(agree(
        "graph g %x : F [8]\nbody\n %k = constant F [] {1}\n %y = mul %x %k\n out %y\n",
        "graph g %x : F [8]\nbody\n %k = constant F [] {1.000001}\n %y = mul %x %k\n out %y\n",
        CLASS_EXACT, &r));
    assert_int_equal(r.run.first, -1);
    assert_true(r.oracle.first >= 0);
}

/* The kernel of thresholdedrelu gives 0 for NaN, as ONNX Runtime does; its definition gives NaN. */
static void kernels_may_choose_where_definitions_spread_nan(void **state) {
    (void)state;
    CheckResult r;
    static const char nan[] = "graph g %x : F [4]\nbody\n %a = sub %x %x\n %b = log %a\n %c = mul "
                              "%b %a\n %y = thresholdedrelu %c alpha=1/2\n out %y\n";
    assert_true(agree(nan, nan, CLASS_EXACT, &r));
    assert_true(r.kernel.count > 0);
}

/* The result of a subtraction that cancels is as uncertain as its operands: a deviation of that
   size is not a difference, but a larger one is. */
static void results_that_cancel_are_judged_by_their_roundings(void **state) {
    (void)state;
    CheckResult r;
    static const char sums[] =
        "graph g %x : F [64]\nbody\n %k = fill value=4000 shape=[64]\n %a = add %x %k\n"
        " %b = sub %a %k\n out %b\n";
    assert_true(agree(sums, "graph g %x : F [64]\nbody\n out %x\n", CLASS_REASSOCIATES, &r));
    assert_true(r.run.max_rel > 2e-5); /* exceeds the class's tolerance */
    assert_false(agree(sums,
                       "graph g %x : F [64]\nbody\n %k = fill value=1001/1000 shape=[64]\n %y = "
                       "mul %x %k\n out %y\n",
                       CLASS_REASSOCIATES, &r));
    assert_true(r.oracle.first >= 0 && r.oracle.limit < 1e-6);
}

/* A rule's 1/6 is written to the file as the nearest float. */
static void attributes_are_rounded_too(void **state) {
    (void)state;
    CheckResult r;
    static const char exact[] =
        "graph g %x : F [64]\nbody\n %y = hardsigmoid %x alpha=1/6\n out %y\n";
    assert_true(agree(exact,
                      "graph g %x : F [64]\nbody\n %y = hardsigmoid %x alpha=0.16666667\n out %y\n",
                      CLASS_EXACT, &r));
    assert_false(agree(exact,
                       "graph g %x : F [64]\nbody\n %y = hardsigmoid %x alpha=0.16667\n out %y\n",
                       CLASS_EXACT, &r));
}

/* Where a value lies at a step of floor up to rounding, the results on both sides of the step are
   right. */
static void steps_that_roundings_cross_are_no_difference(void **state) {
    (void)state;
    CheckResult r;
    assert_true(agree("graph g %x : F [64]\nbody\n %z = sub %x %x\n %k = fill value=1/10 "
                      "shape=[64]\n %m = fill value=30 shape=[64]\n %p = mul %k %m\n %y = add %p "
                      "%z\n %f = floor %y\n out %f\n",
                      "graph g %x : F [64]\nbody\n %z = sub %x %x\n %m = fill value=3 shape=[64]\n"
                      " %y = add %m %z\n %f = floor %y\n out %f\n",
                      CLASS_ROUNDS, &r));
    assert_false(agree("graph g %x : F [64]\nbody\n %y = floor %x\n out %y\n",
                       "graph g %x : F [64]\nbody\n %y = ceil %x\n out %y\n", CLASS_ROUNDS, &r));
}

/* A result of another type or size is a failed check, not an error that makes the check impossible,
   unless the difference may come from sizes that were only guessed. */
static void results_of_other_types_fail(void **state) {
    (void)state;
    static const struct {
        const char *left, *right;
        ErrorKind kind;
    } cases[] = {
        {"%x : F [8]\nbody\n %y = relu %x\n out %y\n",
         "%x : F [8]\nbody\n %y = cast %x to=F64\n out %y\n", E_CHECK},
        {"%x : F [8]\nbody\n %y = relu %x\n out %y\n",
         "%x : F [8]\nbody\n %y = concat %x %x axis=0\n out %y\n", E_CHECK},
        {"%x : F [n]\nbody\n %y = relu %x\n out %y\n",
         "%x : F [n]\nbody\n %y = concat %x %x axis=0\n out %y\n", E_INVALID},
        /* The data drawn for the left graph would be too short for the right one. */
        {"%x : F [4]\nbody\n %y = reduce_sum %x axes=[0]\n out %y\n",
         "%x : F [4000]\nbody\n %y = reduce_sum %x axes=[0]\n out %y\n", E_INVALID},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        World *w = graph_world_new(NULL, 0);
        char why[200], text[2][200];
        Error e = {0};
        CheckResult r;
        snprintf(text[0], sizeof *text, "graph g %s", cases[k].left);
        snprintf(text[1], sizeof *text, "graph g %s", cases[k].right);
        Graph a = graph_of(w, text[0]), b = graph_of(w, text[1]);
        const Backend *cpu = backend_open("cpu", &e);
        CheckOptions o = {.backend = cpu, .device = cpu->open("", why, sizeof why)};
        uint32_t n = intern_count(w->table[TABLE_SYMBOL]) + 1;
        int64_t *value = ARENA_NEW(w->arena, int64_t, n);
        for (uint32_t s = 0; s < n; s++) value[s] = 6;
        assert_false(graphs_check(w, &a, &b, (Sizes){n, value}, &o, &r, &e));
        assert_int_equal(e.kind, cases[k].kind);
        assert_non_null(strstr(e.reason, "put 0 differs in type or size"));
        cpu->close(o.device);
        world_free(w);
    }
}

static void negative_data_is_sampled_too(void **state) {
    (void)state;
    CheckResult r;
    assert_false(agree("graph g %x : F [8]\nbody\n %y = relu %x\n out %y\n",
                       "graph g %x : F [8]\nbody\n %y = abs %x\n out %y\n", CLASS_EXACT, &r));
}

/* A back end whose kernels add 0.05 to one element of the output. */
static const Backend *honest;
static int lie(Kernel *k, void *const slot[], void *work) {
    int status = honest->run(k, slot, work);
    ((float *)slot[1])[5] += 0.05f; /* slot 1 is the output in a graph of one step */
    return status;
}

static void a_wrong_kernel_is_caught(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Error e = {0};
    char why[200];
    honest = backend_open("cpu", &e);
    Backend liar = *honest;
    liar.run = lie;
    Device *device = honest->open("", why, sizeof why);
    Graph g = graph_of(w, "graph g %x : F [8]\nbody\n %y = relu %x\n out %y\n");
    CheckOptions o = {.backend = &liar, .device = device};
    CheckResult r;
    assert_true(graphs_check(w, &g, &g, (Sizes){0}, &o, &r, &e)); /* both plans are equally wrong */
    assert_false(r.agrees);
    assert_int_equal(r.run.first, -1);
    assert_int_equal(r.kernel.first, 5);
    o.backend = honest;
    assert_true(graphs_check(w, &g, &g, (Sizes){0}, &o, &r, &e));
    assert_true(r.agrees);
    honest->close(device);
    world_free(w);
}

/* ---- files */

static const char path[] = "build/graphs_check.npy";

static void npy_files_come_back(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Error e = {0};
    const double x[] = {1, 2, 3, 4, 5, 6};
    const Npy shapes[] = {{DT_DOUBLE, 2, {2, 3}, x, sizeof x},
                          {DT_DOUBLE, 1, {6}, x, sizeof x},
                          {DT_INT64, 0, {0}, x, 8},
                          {DT_UINT8, 3, {2, 0, 3}, x, 0},
                          {DT_BOOL, 1, {3}, x, 3}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        Npy back;
        assert_true(npy_write(a, path, &shapes[k], &e));
        assert_true(npy_read(a, path, &back, &e));
        assert_int_equal(back.dtype, shapes[k].dtype);
        assert_int_equal(back.rank, shapes[k].rank);
        for (int j = 0; j < back.rank; j++) assert_int_equal(back.dim[j], shapes[k].dim[j]);
        assert_int_equal(back.bytes, shapes[k].bytes);
        assert_memory_equal(back.data, x, back.bytes);
    }
    unlink(path);
    arena_free(a);
}

static void damaged_npy_files_are_refused(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    Error e = {0};
    const float x[] = {1, 2, 3, 4};
    char *data;
    size_t n;
    assert_true(npy_write(a, path, &(Npy){DT_FLOAT, 1, {4}, x, sizeof x}, &e));
    assert_true(file_read(a, path, &data, &n, &e));
    for (size_t cut = 0; cut < n; cut += 7) {
        Error wrong = {0};
        Npy f;
        assert_true(file_write(path, data, cut, &e));
        assert_false(npy_read(a, path, &f, &wrong));
        assert_int_equal(wrong.kind, E_INVALID);
    }
    static const char *const headers[] = {
        "{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (4,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,), }",
        "{'descr': '<f4', 'shape': (4,), }",
        "{'descr': '<q9', 'fortran_order': False, 'shape': (4,), }"};
    for (size_t k = 0; k < sizeof headers / sizeof *headers; k++) {
        Error wrong = {0};
        Npy f;
        memset(data + 10, ' ', 118);
        memcpy(data + 10, headers[k], strlen(headers[k]));
        assert_true(file_write(path, data, n, &e));
        assert_false(npy_read(a, path, &f, &wrong));
        assert_int_equal(wrong.kind, E_INVALID);
    }
    unlink(path);
    arena_free(a);
}

/* ---- sizes */

static bool bind(World *w, const Graph *g, const char *shape, const char *dim, Sizes *out,
                 Error *e) {
    static const char *const names[] = {"x", "a:b"};
    *e = (Error){0};
    const SizeOptions given = {.shapes = {shape != NULL, &shape}, .dims = {dim != NULL, &dim}};
    return sizes_bind(w, w->arena, g, names, &given, out, e);
}

static void sizes_come_from_options(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g =
        graph_of(w, "graph g %x : F [n, 3, h] %\"a:b\" : F [n, h]\nbody\n %y = relu %x\n out %y\n");
    Sizes s;
    Error e;
    int64_t h;
    assert_true(bind(w, &g, "x:2,3,8", NULL, &s, &e));
    assert_true(poly_eval(w, poly_named(w, "h"), s, &h) && h == 8);
    assert_true(bind(w, &g, "a:b:2,7", NULL, &s, &e));
    assert_true(poly_eval(w, poly_named(w, "h"), s, &h) && h == 7);
    assert_true(bind(w, &g, NULL, "h=5", &s, &e)); /* n defaults to 1 */
    assert_true(poly_eval(w, poly_named(w, "n"), s, &h) && h == 1);
    static const struct {
        const char *shape, *dim, *reason;
    } wrong[] = {
        {"x:2,4,8", NULL, "has the size 3"},
        {"x:2,3", NULL, "of the input: 3, not 2"},
        {"y:2,3,8", NULL, "no input"},
        {"x:2,3,8", "h=9", "8 and 9"},
        {"x:2,3,b", NULL, "NAME:N,N"},
        {NULL, NULL, "is not known"},
        {"x:2,3,8", "k=9", "has no size"},
        {"x:2,3,8", "k", "NAME=NUMBER"},
        {"x:2,3,-8", NULL, "negative"},
        {NULL, "h=-8", "negative"},
        {NULL, "h=9000000000000000000", "h=9000000000000000000: a size cannot be greater"},
        {"x:2,3,99999999999999999999", NULL, "a size cannot be greater"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_false(bind(w, &g, wrong[k].shape, wrong[k].dim, &s, &e));
        assert_int_equal(e.kind, E_USAGE);
        if (!strstr(e.reason, wrong[k].reason)) print_message("%zu: %s\n", k, e.reason);
        assert_non_null(strstr(e.reason, wrong[k].reason));
    }
    const char *shapes[] = {"x:2,3,8", "a:b:5,6"}, *dims[] = {"w=4"};
    const SizeOptions o = {.shapes = {2, shapes}, .dims = {1, dims}};
    assert_int_equal(size_given(&o, "x", 2, ""), 8);
    assert_int_equal(size_given(&o, "a:b", 1, ""), 6);
    assert_int_equal(size_given(&o, "y", 1, "w"), 4);
    assert_true(size_given(&o, "y", 0, "") < 0);
    assert_true(size_given(&o, "y", 1, "") < 0);
    world_free(w);
}

/* A size that follows from others must equal the number given for it, in whatever order. */
static void sizes_that_follow_are_compared(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g =
        graph_of(w, "graph g %x : F [n + 1, n] %\"a:b\" : F [2*n]\nbody\n %y = relu %x\n out %y\n");
    Sizes s;
    Error e;
    int64_t n;
    assert_true(bind(w, &g, "x:6,5", "n=5", &s, &e));
    assert_true(poly_eval(w, poly_named(w, "n"), s, &n) && n == 5);
    static const struct {
        const char *shape, *dim, *reason;
    } wrong[] = {
        {"x:7,5", NULL, "x: axis 0 has the size 6 in the model, not 7"},
        {"a:b:11", "n=5", "a:b: axis 0 has the size 10 in the model, not 11"},
        {"a:b:10", NULL, "the size of axis 0 is not known"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_false(bind(w, &g, wrong[k].shape, wrong[k].dim, &s, &e));
        assert_int_equal(e.kind, E_USAGE);
        if (!strstr(e.reason, wrong[k].reason)) print_message("%zu: %s\n", k, e.reason);
        assert_non_null(strstr(e.reason, wrong[k].reason));
    }
    world_free(w);
}

static int64_t guessed(World *w, const char *text, const char *name, bool *fits) {
    Graph g = graph_of(w, text);
    Sizes s = {0};
    int64_t n = -1;
    *fits = sizes_guess(w, w->arena, &g, &s);
    assert_true(poly_eval(w, poly_named(w, name), s, &n));
    return n;
}

static void guessed_sizes_meet_what_the_graph_needs(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t h;
        bool fits;
    } of[] = {
        {"graph g %x : F [n, h]\nbody\n %y = relu %x\n out %y\n", 64, true},
        {"graph g %x : F [h, n]\nbody\n %y = relu %x\n out %y\n", 1, true},
        {"graph g %x : F [n, h] %u : F [999, 3]\nbody\n %y = matmul %x %u\n out %y\n", 999, true},
        {"graph g %x : F [n, h]\nbody\n %y = slice %x starts=[0, 90] sizes=[n, 1]\n out %y\n", 96,
         true},
        {"graph g %x : F [2, h]\nbody\n %y = reshape %x shape=[14]\n out %y\n", 7, true},
        {"graph g %x : F [2, h]\nbody\n %y = reshape %x shape=[15]\n out %y\n", 64, false},
        {"graph g %x : F [h, n]\nbody\n %y = reshape %x shape=[h, 7]\n out %y\n", 1, true},
        {"graph g %x : F [2, h]\nbody\n %y = reshape %x shape=[0, 5]\n out %y\n", 0, true},
    };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        World *w = graph_world_new(NULL, 0);
        bool fits;
        int64_t h = guessed(w, of[k].text, "h", &fits);
        if (h != of[k].h || fits != of[k].fits) print_message("%zu: %d\n", k, (int)h);
        assert_true(fits == of[k].fits && h == of[k].h);
        world_free(w);
    }
}

static void many_sizes_are_guessed(void **state) {
    (void)state;
    enum { N = 1000 };
    World *w = graph_world_new(NULL, 0);
    Text t = text_new(w->arena);
    bool fits;
    text_add(&t, "graph g");
    for (int k = 0; k < N; k++) text_add(&t, " %%x%d : F [2, h%d]", k, k);
    text_add(&t, "\nbody\n");
    for (int k = 0; k < N; k++)
        text_add(&t, " %%y%d = reshape %%x%d shape=[%d]\n", k, k, 2 * k + 4);
    text_add(&t, " out");
    for (int k = 0; k < N; k++) text_add(&t, " %%y%d", k);
    text_add(&t, "\n");
    assert_int_equal(guessed(w, t.data, "h700", &fits), 702);
    assert_true(fits);
    world_free(w);
}

/* ---- disturbing */

/* Every element moves up or down by two roundoffs, each about equally often, and differently for
   each seed. */
static void floats_are_moved_both_ways(void **state) {
    (void)state;
    enum { N = 1000 };
    static const DType types[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16, DT_BFLOAT16};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        const double by = 2 * dtype_roundoff(types[k]);
        double x[N], near[2][N]; /* large enough for elements of any type */
        int up = 0, alike = 0;
        for (int i = 0; i < N; i++) element_set_real(types[k], x, i, 1);
        for (int seed = 0; seed < 2; seed++)
            data_nearby((uint64_t)seed, 3, types[k], N, x, near[seed]);
        for (int i = 0; i < N; i++) {
            const double y = element_real(types[k], near[0], i);
            assert_true(y == 1 + by || y == 1 - by);
            up += y > 1, alike += y == element_real(types[k], near[1], i);
        }
        assert_in_range(up, 400, 600);
        assert_in_range(alike, 400, 600);
    }
}

/* A model has thousands of values, so that a buffer for each would be too much. */
static void disturbing_takes_no_memory_for_each_value(void **state) {
    (void)state;
    enum { N = 1 << 18, NODES = 64 };
    World *w = graph_world_new(NULL, 0);
    Text text = text_new(w->arena);
    text_add(&text, "graph g %%v0 : F [%d]\nbody\n", N);
    for (int k = 0; k < NODES; k++) text_add(&text, " %%v%d = sqrt %%v%d\n", k + 1, k);
    text_add(&text, " out %%v%d\n", NODES);
    const Graph g = graph_of(w, text.data);
    Graph disturbed;
    Error e = {0};
    const size_t before = arena_bytes(w->arena);
    assert_true(graph_disturbed(w, w->arena, &g, (Sizes){0}, 5, &disturbed, &e));
    assert_true(arena_bytes(w->arena) - before < (size_t)NODES * N);
    float *x = ARENA_NEW(w->arena, float, N), *y = ARENA_NEW(w->arena, float, N);
    const void *in[] = {x};
    void *out[] = {y};
    int up = 0;
    for (int i = 0; i < N; i++) x[i] = 1;
    assert_true(oracle_run(w, &disturbed, (Sizes){0}, false, in, out, &e));
    for (int i = 0; i < N; i++) {
        assert_true(fabsf(y[i] - 1) < 1e-5F);
        up += y[i] > 1;
    }
    assert_in_range(up, N / 4, N * 3 / 4);
    world_free(w);
}

/* A transpose needs no operation, but it moves a million numbers, which must be drawn first. */
static void moves_are_work(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    const Graph g = graph_of(w, "graph g %x : F [1000, 1000]\nbody\n %y = transpose %x "
                                "perm=[1, 0]\n out %y\n"),
                h = graph_of(w, "graph h %x : F [1000, 1000]\nbody\n %y = exp %x\n out %y\n"),
                n = graph_of(w, "graph n %x : F [n]\nbody\n %y = exp %x\n out %y\n");
    assert_true(graphs_check_work(w, &g, &g, (Sizes){0}) == 4e6);
    assert_true(graphs_check_work(w, &h, &h, (Sizes){0}) >= 4e6);
    assert_true(graphs_check_work(w, &g, &n, (Sizes){0}) < 0);
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_measured),
        cmocka_unit_test(numeric_classes_are_one_table),
        cmocka_unit_test(samples_do_not_depend_on_order),
        cmocka_unit_test(equal_graphs_agree_and_others_do_not),
        cmocka_unit_test(kernels_may_choose_where_definitions_spread_nan),
        cmocka_unit_test(results_that_cancel_are_judged_by_their_roundings),
        cmocka_unit_test(attributes_are_rounded_too),
        cmocka_unit_test(steps_that_roundings_cross_are_no_difference),
        cmocka_unit_test(results_of_other_types_fail),
        cmocka_unit_test(negative_data_is_sampled_too),
        cmocka_unit_test(a_wrong_kernel_is_caught),
        cmocka_unit_test(floats_are_moved_both_ways),
        cmocka_unit_test(disturbing_takes_no_memory_for_each_value),
        cmocka_unit_test(npy_files_come_back),
        cmocka_unit_test(damaged_npy_files_are_refused),
        cmocka_unit_test(sizes_come_from_options),
        cmocka_unit_test(sizes_that_follow_are_compared),
        cmocka_unit_test(guessed_sizes_meet_what_the_graph_needs),
        cmocka_unit_test(many_sizes_are_guessed),
        cmocka_unit_test(moves_are_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
