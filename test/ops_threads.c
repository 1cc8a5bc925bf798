/* ops_threads.c -- tests that steps cut for several threads give the bytes of one thread, again and
   again. ThreadSanitizer observes here how the threads share parts. test/ops_cpu.c compares every
   kind of step at random sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ops/backend/backend.h"
#include "ops/core/element.h"
#include "ops/core/loop.h"
#include "ops/core/type.h"
#include "ops/backend/view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Backend *cpu;
static Device *one;

/* known: by view, its constant contents or NULL; known may be NULL if no view has any. */
static void run_known(Device *d, const Step *step, const void *const known[], void *const slot[]) {
    size_t bytes;
    char why[200];
    Kernel *kernel = cpu->compile(d, step, 0, known, &bytes, NULL, why, sizeof why);
    void *scratch = kernel ? cpu->alloc(d, bytes + 1) : NULL;
    if (!scratch || cpu->run(kernel, slot, scratch)) fail_msg("%s", why);
    cpu->release(d, scratch);
    cpu->forget(kernel);
}

static void run_step(Device *d, const Step *step, void *const slot[]) {
    run_known(d, step, NULL, slot);
}

static View matrix(int slot, int64_t rows, int64_t columns) {
    return view_dense(slot, DT_FLOAT, 2, (const int64_t[]){rows, columns});
}

/* A program of functions of the C library, over rows that fill no tile, and a product: any number
   of threads gives the same bytes, again and again. */
static void any_number_of_threads_gives_the_same_bytes(void **state) {
    (void)state;
    enum { ROWS = 37, N = 211, K = 129 };
    float *x = test_malloc(sizeof *x * ROWS * N), *y[2], *a = test_malloc(sizeof *a * ROWS * K);
    for (int i = 0; i < ROWS * N; i++) x[i] = sinf((float)i) + 1.5f;
    for (int i = 0; i < ROWS * K; i++) a[i] = cosf((float)i);
    float *w = test_malloc(sizeof *w * K * N);
    for (int i = 0; i < K * N; i++) w[i] = sinf(0.7f * (float)i);
    for (int k = 0; k < 2; k++) y[k] = test_malloc(sizeof *x * ROWS * N);
    const View in[] = {matrix(0, ROWS, N), matrix(1, ROWS, N)},
               product[] = {matrix(0, ROWS, N), matrix(1, ROWS, K), matrix(2, K, N)};
    const Scalar code[] = {{.op = C_VIEW, .a = 1},
                           {.op = C_ERF, .a = 0},
                           {.op = C_LOG, .a = 0},
                           {.op = C_ADD, .a = 1, .b = 2},
                           {.op = C_SIN, .a = 3}};
    const Step steps[] = {{.kind = S_EWISE, .nview = 2, .view = in, .code = code, .ncode = 5},
                          {.kind = S_GEMM, .nview = 3, .view = product}};
    for (int threads = 2; threads < 7; threads++) {
        char text[64];
        snprintf(text, sizeof text, "grain=1,threads=%d%s", threads, threads == 6 ? ",turns" : "");
        Device *many = cpu->open(text, NULL, 0);
        assert_non_null(many);
        assert_int_equal(cpu->threads(many), threads);
        for (int k = 0; k < 2; k++)
            for (int again = 0; again < 20; again++) {
                run_step(one, &steps[k], (void *const[]){y[0], k ? a : x, w});
                run_step(many, &steps[k], (void *const[]){y[1], k ? a : x, w});
                assert_memory_equal(y[0], y[1], sizeof *x * ROWS * N);
            }
        cpu->close(many);
    }
    test_free(x), test_free(a), test_free(w), test_free(y[0]), test_free(y[1]);
}

/* Checks batches of products, in which b may lie transposed, or be known and the same for all
   batches: y has the bytes of one thread. */
static void products(int dtype, int64_t batch, int64_t m, int64_t k, int64_t n, bool transposed,
                     bool same) {
    View v[] = {view_dense(0, dtype, 3, (const int64_t[]){batch, m, n}),
                view_dense(1, dtype, 3, (const int64_t[]){batch, m, k}),
                view_dense(2, dtype, 3, (const int64_t[]){batch, k, n})};
    if (transposed) v[2].stride[1] = 1, v[2].stride[2] = k;
    if (same) v[2].stride[0] = 0;
    const Step s = {.kind = S_GEMM, .nview = 3, .view = v};
    const size_t bytes = (size_t)(batch * m * n) * 8;
    void *a = test_malloc((size_t)(batch * m * k) * 8),
         *b = test_malloc((size_t)(batch * k * n) * 8),
         *y[2] = {test_calloc(1, bytes), test_calloc(1, bytes)};
    element_fill((DType)dtype, a, batch * m * k, 1),
        element_fill((DType)dtype, b, batch * k * n, 2);
    const void *const known[] = {NULL, NULL, same ? b : NULL};
    run_known(one, &s, known, (void *const[]){y[0], a, b});
    for (int threads = 1; threads <= 3; threads++) {
        char text[64];
        snprintf(text, sizeof text, "grain=1,threads=%d", threads);
        Device *many = cpu->open(text, NULL, 0);
        assert_non_null(many);
        memset(y[1], 7, bytes);
        run_known(many, &s, known, (void *const[]){y[1], a, b});
        assert_memory_equal(y[0], y[1], bytes / 8 * (dtype == DT_FLOAT ? 4 : 8));
        cpu->close(many);
    }
    test_free(a), test_free(b), test_free(y[0]), test_free(y[1]);
}
/* Two batch axes that cannot be joined in memory, as with the heads of windows, while the added
   tensor repeats along one of them: the result is that of plain loops, with the bytes of one
   thread. */
static void batches_that_cannot_be_joined_are_cut(void **state) {
    (void)state;
    enum { W = 6, H = 3, M = 17, K = 8, ALL = W * H * M };
    const int64_t line = 3 * H * K, square[] = {W, H, M, M}, sides[] = {W, H, M, K};
    View v[] = {view_dense(0, DT_FLOAT, 4, square), view_dense(1, DT_FLOAT, 4, sides),
                view_dense(1, DT_FLOAT, 4, sides), view_dense(2, DT_FLOAT, 4, square)};
    for (int i = 1; i < 3; i++) /* queries and keys lie side by side, as one product writes them */
        v[i].offset = (i - 1) * H * K, v[i].stride[0] = M * line, v[i].stride[1] = K,
        v[i].stride[2] = line;
    v[2].dim[2] = K, v[2].dim[3] = M, v[2].stride[2] = 1, v[2].stride[3] = line;
    v[3].stride[0] = 0;
    const Scalar code[] = {{.op = C_ACC}, {.op = C_VIEW, .a = 3}, {.op = C_ADD, .a = 0, .b = 1}};
    const Step s = {.kind = S_GEMM, .nview = 4, .view = v, .code = code, .ncode = 3};
    float *x = test_malloc(sizeof *x * W * M * (size_t)line), *y[2], add[H * M * M];
    element_fill(DT_FLOAT, x, W * M * line, 1), element_fill(DT_FLOAT, add, H * M * M, 2);
    for (int k = 0; k < 2; k++) y[k] = test_calloc(ALL * M, sizeof(float));
    run_step(one, &s, (void *const[]){y[0], x, add});
    for (int64_t at = 0; at < ALL * M; at++) {
        const int64_t j = at % M, i = at / M % M, h = at / (M * M) % H, w = at / (M * M * H);
        double sum = (double)add[(h * M + i) * M + j];
        for (int64_t k = 0; k < K; k++)
            sum += (double)x[(w * M + i) * line + h * K + k] *
                   (double)x[(w * M + j) * line + (H + h) * K + k];
        assert_true(fabs(sum - (double)y[0][at]) < 1e-4);
    }
    for (int threads = 2; threads < 5; threads++) {
        char text[64];
        snprintf(text, sizeof text, "grain=1,threads=%d", threads);
        Device *many = cpu->open(text, NULL, 0);
        assert_non_null(many);
        memset(y[1], 7, sizeof(float) * ALL * M);
        run_step(many, &s, (void *const[]){y[1], x, add});
        assert_memory_equal(y[0], y[1], sizeof(float) * ALL * M);
        cpu->close(many);
    }
    test_free(x), test_free(y[0]), test_free(y[1]);
}

/* Rows from the last to the first: elements of a view may lie before its offset. */
static void a_view_may_run_backwards(void **state) {
    (void)state;
    enum { M = 64, K = 4096, N = 65 };
    View v[] = {matrix(0, M, N), matrix(1, M, K), matrix(2, K, N)};
    v[1].offset = (M - 1) * K, v[1].stride[0] = -K;
    const Step s = {.kind = S_GEMM, .nview = 3, .view = v};
    float *a = test_malloc(sizeof *a * M * K), *b = test_malloc(sizeof *b * K * N);
    float *y[2] = {test_malloc(sizeof *a * M * N), test_malloc(sizeof *a * M * N)};
    element_fill(DT_FLOAT, a, M * K, 1), element_fill(DT_FLOAT, b, K * N, 2);
    Device *two = cpu->open("grain=1,threads=2", NULL, 0);
    assert_non_null(two);
    run_step(one, &s, (void *const[]){y[0], a, b});
    run_step(two, &s, (void *const[]){y[1], a, b});
    assert_memory_equal(y[0], y[1], sizeof *a * M * N);
    cpu->close(two);
    test_free(a), test_free(b), test_free(y[0]), test_free(y[1]);
}
static void products_are_cut(void **state) {
    (void)state;
    static const int type[] = {DT_FLOAT, DT_DOUBLE, DT_INT64};
    for (int t = 0; t < 3; t++)
        for (int transposed = 0; transposed < 2; transposed++) {
            products(type[t], 7, 33, 31, 65, transposed, false);
            products(type[t], 3, 5, 64, 130, transposed, true);
            products(type[t], 1, 16, 300, 768, transposed, true);
            products(type[t], 1, 47, 20, 150, transposed, false);
            products(type[t], 12, 1, 20, 150, transposed, false);
        }
}

/* Computes y = f(x) for n elements from `first` on. */
static void apply(Device *d, int op, int dtype, int64_t first, int64_t n, void *y, void *x) {
    View v[] = {view_dense(0, dtype, 1, &n), view_dense(1, dtype, 1, &n)};
    v[0].offset = v[1].offset = first;
    const Scalar code[] = {{.op = C_VIEW, .a = 1}, {.op = (uint8_t)op, .a = 0, .b = 0}};
    const Step s = {.kind = S_EWISE, .nview = 2, .view = v, .code = code, .ncode = 2};
    run_step(d, &s, (void *const[]){y, x});
}
/* The value of a function does not depend on where its operand lies in a run of elements, so that a
   run may be cut anywhere. */
static void functions_do_not_depend_on_places(void **state) {
    (void)state;
    enum { N = 70 };
    static const int op[] = {C_POW, C_EXP, C_LOG, C_SIGMOID, C_TANH, C_ERF, C_SIN, C_COS};
    float x[N], y[N], part[N];
    double dx[N], dy[N], dpart[N];
    for (int i = 0; i < N; i++) dx[i] = x[i] = 0.3f + 0.037f * (float)i;
    for (int generic = 0; generic < 2; generic++) {
        Device *d = cpu->open(generic ? "generic" : "", NULL, 0);
        assert_non_null(d);
        for (size_t k = 0; k < sizeof op / sizeof *op; k++) {
            apply(d, op[k], DT_FLOAT, 0, N, y, x), apply(d, op[k], DT_DOUBLE, 0, N, dy, dx);
            for (int64_t first = 0; first < N; first += 3)
                for (int64_t n = 1; first + n <= N; n += 5) {
                    apply(d, op[k], DT_FLOAT, first, n, part, x);
                    apply(d, op[k], DT_DOUBLE, first, n, dpart, dx);
                    assert_memory_equal(y + first, part + first, (size_t)n * sizeof *y);
                    assert_memory_equal(dy + first, dpart + first, (size_t)n * sizeof *dy);
                }
        }
        cpu->close(d);
    }
}

/* Rows of a loop program are cut along the rows or, if there is one row, along the lanes. */
static void loop_programs_are_cut(void **state) {
    (void)state;
    enum { N = 500 };
    float x[N], y[N] = {0};
    for (int i = 0; i < N; i++) x[i] = (float)i;
    /* y[i] = x[i] + x[N-1-i] */
    static const int64_t words[] = {LOOP_MAGIC, 1, 0,     1, 1,  0, 3,      2, 0,     N,
                                    EX_AT,      0, 0,     1, 0,  1, 1,      0, EX_AT, 0,
                                    0,          1, N - 1, 1, -1, 0, EX_ADD, 0, 0,     1};
    const View v[] = {view_dense(0, DT_FLOAT, 1, (const int64_t[]){N}),
                      view_dense(1, DT_FLOAT, 1, (const int64_t[]){N})};
    const Step s = {.kind = S_LOOP,
                    .nview = 2,
                    .view = v,
                    .param = words,
                    .nparam = sizeof words / sizeof *words};
    Device *three = cpu->open("threads=3,grain=1", NULL, 0);
    assert_non_null(three);
    run_step(three, &s, (void *const[]){y, x});
    for (int i = 0; i < N; i++) assert_float_equal(y[i], N - 1, 0);
    cpu->close(three);
}

/* ---- layers of models are cut: two threads would need less time, measured as the option turns
   does */
typedef struct Layer {
    const char *name;
    StepKind kind;
    View view[3];
    int64_t param[9];
    int nparam;
    bool known; /* view 2 is known */
} Layer;
static View image(int slot, int64_t channels, int64_t size) {
    View v = view_dense(slot, DT_FLOAT, 4, (const int64_t[]){1, channels, size, size});
    v.stride[1] = 1, v.stride[2] = size * channels, v.stride[3] = channels;
    return v;
}
static View weights(int64_t outputs, int64_t inputs, int64_t size) {
    return view_dense(2, DT_FLOAT, 4, (const int64_t[]){outputs, inputs, size, size});
}
static View heads(int slot, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    return (View){.slot = slot,
                  .dtype = DT_FLOAT,
                  .rank = 4,
                  .dim = {32, 3, rows, columns},
                  .stride = {49 * 96, 32, row, column}};
}
static double nanoseconds_of(Device *d, const Layer *l, void *const slot[]) {
    const Step s = {
        .kind = l->kind, .nview = 3, .view = l->view, .param = l->param, .nparam = l->nparam};
    const void *const known[] = {NULL, NULL, l->known ? slot[2] : NULL};
    size_t bytes;
    double least = 1e18, ns;
    Kernel *kernel = cpu->compile(d, &s, 0, known, &bytes, NULL, NULL, 0);
    assert_non_null(kernel);
    void *scratch = cpu->alloc(d, bytes + 1);
    for (int again = 0; again < 40; again++) {
        assert_int_equal(cpu->run(kernel, slot, scratch), 0);
        cpu->wait(d, &ns);
        least = ns < least ? ns : least;
    }
    cpu->release(d, scratch), cpu->forget(kernel);
    return least;
}
static void layers_are_cut(void **state) {
    (void)state;
    static const int64_t square[] = {32, 3, 49, 49};
    const Layer layers[] = {
        {"heads of windows",
         S_GEMM,
         {view_dense(0, DT_FLOAT, 4, square), heads(1, 49, 32, 96, 1), heads(2, 32, 49, 1, 96)},
         {0},
         0,
         false},
        {"one row by a matrix",
         S_GEMM,
         {matrix(0, 1, 1000), matrix(1, 1, 1024), matrix(2, 1024, 1000)},
         {0},
         0,
         true},
        {"columns of a product with few rows",
         S_GEMM,
         {matrix(0, 32, 1024), matrix(1, 32, 1024), matrix(2, 1024, 1024)},
         {0},
         0,
         true},
        {"convolution 3x3",
         S_CONV,
         {image(0, 256, 14), image(1, 256, 14), weights(256, 256, 3)},
         {1, 1, 1, 1, 1, 1, 1, 1, 1},
         9,
         true},
        {"depthwise convolution",
         S_CONV,
         {image(0, 8, 112), image(1, 8, 112), weights(8, 1, 3)},
         {8, 1, 1, 1, 1, 1, 1, 1, 1},
         9,
         true},
    };
    enum { MOST = 1024 * 1024 }; /* elements of a view */
    const size_t bytes = sizeof(float) * MOST;
    void *slot[] = {test_calloc(1, bytes), test_malloc(bytes), test_malloc(bytes)};
    element_fill(DT_FLOAT, slot[1], MOST, 1);
    element_fill(DT_FLOAT, slot[2], MOST, 2);
    Device *two = cpu->open("threads=2,turns", NULL, 0);
    assert_non_null(two);
    for (size_t k = 0; k < sizeof layers / sizeof *layers; k++) {
        double whole = 1e18, cut = 1e18; /* the machine may be busy, so it is measured repeatedly */
        for (int again = 0; again < 20 && cut > 0.8 * whole; again++) {
            whole = fmin(whole, nanoseconds_of(one, &layers[k], slot));
            cut = fmin(cut, nanoseconds_of(two, &layers[k], slot));
        }
        if (cut > 0.8 * whole) fail_msg("%s: %.0f ns, in parts %.0f", layers[k].name, whole, cut);
    }
    cpu->close(two);
    for (int i = 0; i < 3; i++) test_free(slot[i]);
}

static int setup(void **state) {
    (void)state;
    cpu = backend_open("cpu", NULL);
    one = cpu->open("", NULL, 0);
    return one ? 0 : -1;
}
static int teardown(void **state) {
    (void)state;
    cpu->close(one);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(a_view_may_run_backwards),
        cmocka_unit_test(batches_that_cannot_be_joined_are_cut),
        cmocka_unit_test(layers_are_cut),
        cmocka_unit_test(products_are_cut),
        cmocka_unit_test(functions_do_not_depend_on_places),
        cmocka_unit_test(loop_programs_are_cut),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
