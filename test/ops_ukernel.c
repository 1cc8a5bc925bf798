/* ops_ukernel.c -- tests products by oneDNN's micro-kernel (dnn_ukernel.c), where the program is
   built with it. Random sizes with tails on every axis, batches, layouts, known and unknown factors
   and epilogues are compared with sums in double precision; three threads give the same bytes. It
   also tests which products the micro-kernel is used for. */
#include "ops/base/random.h"
#include "ops/cpu/cpu.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

extern const Backend cpu_backend;
enum { CASES = 300, GAP = 5 };
enum { Y, X, W, BIAS, VIEWS };
typedef enum Epilogue {
    NONE,
    BIASED,
    BIASED_RELU,
    CLIP,
    BIASED_TANH,
    TIMES_BIAS,
    EPILOGUES
} Epilogue;
typedef struct Drawn {
    Random random;
    Step step;
    View view[VIEWS];
    Scalar code[8];
    float *slot[VIEWS];
    size_t bytes; /* of slot Y */
    Epilogue epilogue;
    bool known;
} Drawn;
static Device *one, *three;

static int open_devices(void **state) {
    (void)state;
    one = cpu_backend.open("", NULL, 0);
    three = cpu_backend.open("threads=3,grain=1", NULL, 0);
    return !one || !three;
}
static int close_devices(void **state) {
    (void)state;
    cpu_backend.close(one), cpu_backend.close(three);
    return 0;
}

/* ---- drawing */
static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static int64_t pick(Drawn *t, int n, const int64_t of[]) { return of[draw(t, 0, n - 1)]; }

/* Lays out matrices whose lines (rows or, if `across`, columns) may have gaps between them,
   sometimes as large as a page of memory. */
static void place(Drawn *t, int k, const int64_t dim[3], bool across) {
    const int line = across ? 2 : 1, along = 3 - line;
    const int64_t gap = draw(t, 0, 1)                       ? 0
                        : draw(t, 0, 4) || dim[along] > 300 ? draw(t, 1, 9)
                                                            : 1024;
    View *v = &t->view[k];
    *v = view_dense(k, DT_FLOAT, 3, dim);
    v->stride[along] = 1, v->stride[line] = dim[along] + gap;
    v->stride[0] = dim[line] * v->stride[line];
    v->offset = draw(t, 0, GAP);
}
static void fill(Drawn *t, int k) {
    int64_t low, high;
    view_extent(&t->view[k], &low, &high);
    t->slot[k] = test_malloc(sizeof(float) * (size_t)(high + GAP));
    for (int64_t i = 0; i < high + GAP; i++)
        t->slot[k][i] = (float)(random_unit(&t->random) * 2 - 1);
    if (k == Y) t->bytes = sizeof(float) * (size_t)(high + GAP);
}
static int add_code(Drawn *t, int op, int a, int b, double k) {
    t->code[t->step.ncode] = (Scalar){.op = (uint8_t)op, .a = (uint8_t)a, .b = (uint8_t)b, .k = k};
    return t->step.ncode++;
}
static void add_epilogue(Drawn *t) {
    const Epilogue e = t->epilogue;
    if (e == NONE) return;
    int x = add_code(t, C_ACC, 0, 0, 0);
    if (e == CLIP)
        x = add_code(t, C_MAX, x, add_code(t, C_CONST, 0, 0, -0.5), 0),
        x = add_code(t, C_MIN, x, add_code(t, C_CONST, 0, 0, 1.5), 0);
    else x = add_code(t, e == TIMES_BIAS ? C_MUL : C_ADD, x, add_code(t, C_VIEW, BIAS, 0, 0), 0);
    if (e == BIASED_RELU || e == BIASED_TANH)
        add_code(t, e == BIASED_TANH ? C_TANH : C_RELU, x, 0, 0);
}
static double apply(Epilogue e, double x, double bias) {
    switch (e) {
    case BIASED: return x + bias;
    case BIASED_RELU: return fmax(x + bias, 0);
    case CLIP: return fmin(fmax(x, -0.5), 1.5);
    case BIASED_TANH: return tanh(x + bias);
    case TIMES_BIAS: return x * bias;
    default: return x;
    }
}
static void draw_case(Drawn *t, uint64_t seed) {
    const int64_t rows[] = {8, 9, 31, 64, 65, 150}, columns[] = {16, 17, 63, 64, 65, 130, 200},
                  terms[] = {16, 17, 63, 300}, many[] = {2049, 4100, 4112, 6200};
    *t = (Drawn){.random = {.seed = seed}};
    const bool deep = draw(t, 0, 9) == 0, shared = draw(t, 0, 2) == 0;
    const int64_t b = deep ? 1 : draw(t, 1, 3), m = pick(t, deep ? 3 : 6, rows),
                  n = pick(t, deep ? 5 : 7, columns), k = pick(t, 4, deep ? many : terms);
    place(t, Y, (int64_t[]){b, m, n}, false);
    place(t, X, (int64_t[]){b, m, k}, false);
    place(t, W, (int64_t[]){b, k, n}, draw(t, 0, 1));
    if (shared) t->view[W].stride[0] = 0;
    t->view[BIAS] = view_dense(BIAS, DT_FLOAT, 3, t->view[Y].dim);
    t->view[BIAS].stride[0] = t->view[BIAS].stride[1] = 0;
    for (int i = 0; i < VIEWS; i++) fill(t, i);
    t->known = draw(t, 0, 1), t->epilogue = (Epilogue)draw(t, 0, EPILOGUES - 1);
    t->step = (Step){.kind = S_GEMM, .nview = VIEWS, .view = t->view, .code = t->code};
    add_epilogue(t);
}
static void free_case(Drawn *t) {
    for (int k = 0; k < VIEWS; k++) test_free(t->slot[k]);
}

/* ---- checking */
static double at(const Drawn *t, int k, int64_t a, int64_t b, int64_t c) {
    const View *v = &t->view[k];
    return (double)t->slot[k][v->offset + a * v->stride[0] + b * v->stride[1] + c * v->stride[2]];
}
static double want(const Drawn *t, int64_t a, int64_t b, int64_t c) {
    double sum = 0;
    for (int64_t i = 0; i < t->view[X].dim[2]; i++) sum += at(t, X, a, b, i) * at(t, W, a, i, c);
    return apply(t->epilogue, sum, at(t, BIAS, a, b, c));
}
/* The number of wrong elements plus the number of bytes written outside them. */
static int count_wrong(const Drawn *t) {
    const View *y = &t->view[Y];
    char *seen = test_calloc(t->bytes, 1);
    int wrong = 0;
    for (int64_t a = 0; a < y->dim[0]; a++)
        for (int64_t b = 0; b < y->dim[1]; b++)
            for (int64_t c = 0; c < y->dim[2]; c++) {
                const double real = want(t, a, b, c);
                wrong += !(fabs(real - at(t, Y, a, b, c)) <= 1e-4 * (1 + fabs(real)));
                memset(seen + 4 * (y->offset + a * y->stride[0] + b * y->stride[1] + c), 1, 4);
            }
    for (size_t i = 0; i < t->bytes; i++) wrong += !seen[i] && ((char *)t->slot[Y])[i] != 0x55;
    test_free(seen);
    return wrong;
}
/* Compiles the micro-kernel, which is the last choice. */
static Kernel *make(const Drawn *t, Device *d, size_t *room) {
    const void *known[VIEWS] = {NULL, NULL, t->known ? t->slot[W] : NULL, NULL};
    const int choice = cpu_backend.choices(d, &t->step) - 1;
    char why[200];
    Kernel *k = cpu_backend.compile(d, &t->step, choice, known, room, NULL, why, sizeof why);
    assert_non_null(k);
    assert_int_equal(cpu_backend.keeps_view(k, W), t->known);
    return k;
}
/* Runs the step; packed weights are not passed again. */
static void run(const Drawn *t, Device *d) {
    size_t room;
    Kernel *k = make(t, d, &room);
    void *slot[] =
    { t->slot[Y],
      t->slot[X],
      t->known ? NULL : t->slot[W],
      t->slot[BIAS] },
         *work = cpu_backend.alloc(d, room + 1);
    memset(t->slot[Y], 0x55, t->bytes);
    assert_int_equal(cpu_backend.run(k, slot, work), 0);
    cpu_backend.release(d, work);
    cpu_backend.forget(k);
}

static Drawn smallest(void) {
    Drawn t = {.step = {.kind = S_GEMM, .nview = 3}};
    t.view[Y] = view_dense(Y, DT_FLOAT, 2, (int64_t[]){8, 16});
    t.view[X] = view_dense(X, DT_FLOAT, 2, (int64_t[]){8, 16});
    t.view[W] = view_dense(W, DT_FLOAT, 2, (int64_t[]){16, 16});
    return t;
}
static bool asked(Drawn *t, const Device *d) {
    t->step.view = t->view;
    return dnn_ukernel_possible(d, &t->step);
}
static bool is_built(void) {
    Drawn t = smallest();
    return asked(&t, one);
}

static void products_agree_with_sums_in_double(void **state) {
    (void)state;
    if (!is_built()) skip();
    for (uint64_t seed = 0; seed < CASES; seed++) {
        Drawn t;
        draw_case(&t, seed);
        assert_true(dnn_ukernel_possible(one, &t.step));
        run(&t, one);
        if (count_wrong(&t)) fail_msg("case %d: %d wrong", (int)seed, count_wrong(&t));
        float *first = memcpy(test_malloc(t.bytes), t.slot[Y], t.bytes);
        run(&t, three);
        assert_memory_equal(first, t.slot[Y], t.bytes);
        test_free(first);
        free_case(&t);
    }
}
/* Other weights of the same sizes are packed separately, while the first panels still exist. */
static void other_weights_are_packed_anew(void **state) {
    (void)state;
    if (!is_built()) skip();
    Drawn t;
    draw_case(&t, 0);
    t.known = true;
    size_t room;
    Kernel *before = make(&t, one, &room);
    t.slot[W][t.view[W].offset + 1] += 3;
    run(&t, one);
    assert_int_equal(count_wrong(&t), 0);
    cpu_backend.forget(before);
    free_case(&t);
}
/* Not used: few rows, columns or terms, other types, a factor that is contiguous in neither
   direction, a device without oneDNN. */
static void others_are_not_asked(void **state) {
    (void)state;
    if (!is_built()) skip();
    Device *without = cpu_backend.open("dnn=none", NULL, 0);
    assert_non_null(without);
    Drawn t = smallest();
    assert_false(asked(&t, without));
    cpu_backend.close(without);
    t.view[Y].dim[0] = t.view[X].dim[0] = 7;
    assert_false(asked(&t, one));
    t = smallest(), t.view[Y].dim[1] = t.view[W].dim[1] = 15;
    assert_false(asked(&t, one));
    t = smallest(), t.view[X].dim[1] = t.view[W].dim[0] = 15;
    assert_false(asked(&t, one));
    t = smallest(), t.view[W].dtype = DT_FLOAT16;
    assert_false(asked(&t, one));
    t = smallest(), t.view[W].stride[0] = 32, t.view[W].stride[1] = 2;
    assert_false(asked(&t, one));
    t = smallest(), t.view[W].stride[0] = 1, t.view[W].stride[1] = 16;
    assert_true(asked(&t, one));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_sums_in_double),
        cmocka_unit_test(other_weights_are_packed_anew),
        cmocka_unit_test(others_are_not_asked),
    };
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
