/* ops_int8.c -- compares convolutions and products of 8-bit integers with plain sums: with zero
   points, padding, groups, extreme values (for which adding pairs in 16 bits would saturate), and
   with epilogues that oneDNN computes completely, partly or not at all. On a processor without such
   instructions there is no algorithm and nothing to compare. */
#include "ops/backend/backend.h"
#include "ops/backend/view.h"
#include "ops/base/random.h"
#include "ops/core/type.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1 << 15, VIEWS = 8, ROUNDS = 60 };
typedef enum Ending { SUMS, SCALED, ACTIVATED, QUANTIZED, RESIDUAL, ENDINGS } Ending;

typedef struct Work {
    Step step;
    View view[VIEWS];
    int64_t param[20];
    Scalar code[24];
    int32_t sum[ROOM]; /* what the accumulator should hold */
    union {
        uint8_t bytes[4 * ROOM];
        float floats[ROOM];
        int32_t integers[ROOM];
    } data[VIEWS];
} Work;

static int64_t pick(Random *r, int64_t low, int64_t high) {
    return low + (int64_t)random_below(r, (uint32_t)(high - low + 1));
}
static int byte_at(const Work *w, int view, int64_t at) {
    return w->view[view].dtype == DT_UINT8 ? w->data[view].bytes[at]
                                           : (int8_t)w->data[view].bytes[at];
}

/* ---- steps and their sums */
static void fill_bytes(Work *w, int view, Random *r, bool extreme) {
    for (int64_t i = 0; i < view_count(&w->view[view]); i++) {
        const int any = (int)random_below(r, 256);
        w->data[view].bytes[i] = (uint8_t)(!extreme                          ? any
                                           : w->view[view].dtype == DT_UINT8 ? 255
                                           : i % 2                           ? 127
                                                                             : 128);
    }
}
static void make_conv(Work *w, Random *r) {
    const int n = (int)pick(r, 1, 3);
    const int64_t group = pick(r, 0, 3) ? 1 : pick(r, 2, 8), ins = pick(r, 1, 12),
                  outs = pick(r, 1, 12) * group;
    int64_t x[5] = {pick(r, 1, 2), ins * group}, k[5] = {outs, ins}, y[5] = {x[0], outs};
    w->step = (Step){.kind = S_CONV, .nview = 3, .nparam = 2 + 4 * n};
    w->param[0] = group, w->param[1 + 4 * n] = pick(r, 0, 1) ? pick(r, 1, 120) : 0;
    for (int i = 0; i < n; i++) {
        int64_t *p = w->param + 1 + i;
        p[0] = pick(r, 1, 2), p[n] = pick(r, 0, 1), p[2 * n] = pick(r, 0, 1),
        p[3 * n] = pick(r, 1, 2);
        k[2 + i] = pick(r, 1, 3);
        const int64_t reach = (k[2 + i] - 1) * p[3 * n] + 1;
        x[2 + i] = pick(r, reach, reach + 4);
        y[2 + i] = (x[2 + i] + p[n] + p[2 * n] - reach) / p[0] + 1;
    }
    w->view[0] = view_dense(0, DT_FLOAT, 2 + n, y);
    w->view[1] = view_dense(1, pick(r, 0, 2) ? DT_UINT8 : DT_INT8, 2 + n, x);
    w->view[2] = view_dense(2, DT_INT8, 2 + n, k);
}
static void next_index(const View *v, int64_t i[]) {
    for (int a = v->rank - 1; a >= 0 && ++i[a] == v->dim[a]; a--) i[a] = 0;
}
static int64_t dense_at(const View *v, const int64_t i[]) {
    int64_t at = 0;
    for (int a = 0; a < v->rank; a++) at = at * v->dim[a] + i[a];
    return at;
}
static void sum_conv(Work *w) {
    const View *y = &w->view[0], *x = &w->view[1], *k = &w->view[2];
    const int n = x->rank - 2;
    const int64_t outs = k->dim[0] / w->param[0], *p = w->param + 1;
    int64_t i[5] = {0};
    for (int64_t at = 0; at < view_count(y); at++, next_index(y, i)) {
        View one = *k;
        int64_t tap[5] = {0}, sum = 0;
        one.dim[0] = 1;
        for (int64_t t = 0; t < view_count(&one); t++, next_index(&one, tap)) {
            int64_t from[5] = {i[0], i[1] / outs * k->dim[1] + tap[1]}, here[5];
            bool inside = true;
            memcpy(here, tap, sizeof here);
            here[0] = i[1];
            for (int a = 0; a < n; a++) {
                from[2 + a] = i[2 + a] * p[a] - p[n + a] + tap[2 + a] * p[3 * n + a];
                inside &= from[2 + a] >= 0 && from[2 + a] < x->dim[2 + a];
            }
            if (inside)
                sum += (byte_at(w, 1, dense_at(x, from)) - w->param[1 + 4 * n]) *
                       byte_at(w, 2, dense_at(k, here));
        }
        w->sum[at] = (int32_t)sum;
    }
}
static void make_gemm(Work *w, Random *r) {
    const int rank = (int)pick(r, 2, 3);
    const int64_t b = pick(r, 1, 3), m = pick(r, 1, 40), n = pick(r, 1, 70),
                  k = pick(r, 1, pick(r, 0, 1) ? 70 : 700); /* more than a tile of AMX */
    const int64_t y[] = {b, m, n}, x[] = {b, m, k}, f[] = {b, k, n};
    w->step = (Step){.kind = S_GEMM, .nview = 3, .nparam = 1};
    w->param[0] = pick(r, 0, 1) ? pick(r, 1, 120) : 0;
    w->view[0] = view_dense(0, DT_FLOAT, rank, y + 3 - rank);
    w->view[1] = view_dense(1, pick(r, 0, 2) ? DT_UINT8 : DT_INT8, rank, x + 3 - rank);
    w->view[2] = view_dense(2, DT_INT8, rank, f + 3 - rank);
    if (rank == 3) w->view[2].stride[0] = 0;
}
static void sum_gemm(Work *w) {
    const View *y = &w->view[0];
    const int64_t n = y->dim[y->rank - 1], k = w->view[1].dim[y->rank - 1];
    for (int64_t at = 0; at < view_count(y); at++) {
        int64_t sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += (byte_at(w, 1, at / n * k + j) - w->param[0]) * byte_at(w, 2, j * n + at % n);
        w->sum[at] = (int32_t)sum;
    }
}

/* ---- epilogues: relu(sum * view 3 + view 4), optionally with view 5 added before relu, then
   quantized. Some channels have the scale 0, so that view 4 cannot be folded into a bias of the
   sum. The scale and the zero point of the result are views 6 and 7 or constants of the program. */
static const float SCALE = 0.037f, ZERO = 7;
static uint8_t add_code(Work *w, Scalar c) {
    w->code[w->step.ncode] = c;
    return (uint8_t)w->step.ncode++;
}
static uint8_t add_number(Work *w, int view, int dtype, float k, bool by_view) {
    if (!by_view) return add_code(w, (Scalar){.op = C_CONST, .k = (double)k});
    w->view[view] = w->view[0], w->view[view].slot = view, w->view[view].dtype = dtype;
    for (int a = 0; a < w->view[0].rank; a++) w->view[view].stride[a] = 0;
    if (dtype == DT_FLOAT) w->data[view].floats[0] = k;
    else w->data[view].bytes[0] = (uint8_t)k;
    w->step.nview = view + 1;
    return add_code(w, (Scalar){.op = C_VIEW, .a = (uint8_t)view});
}
static void make_ending(Work *w, Ending ending, int axis, bool by_view) {
    w->step.view = w->view, w->step.param = w->param, w->step.code = w->code, w->step.ncode = 0;
    if (ending == SUMS) {
        w->view[0].dtype = DT_INT32;
        return;
    }
    for (int i = 3; i < 6; i++) {
        w->view[i] = w->view[0], w->view[i].slot = i, w->view[i].dtype = DT_FLOAT;
        for (int a = 0; a < w->view[0].rank && i < 5; a++) w->view[i].stride[a] = a == axis;
        for (int64_t j = 0; j < ROOM; j++)
            w->data[i].floats[j] =
                i == 3 ? 0.001f * (float)((j + 1) % 5) : 0.1f * (float)(j % 7 - 3);
    }
    w->step.nview = ending == RESIDUAL ? 6 : 5;
    add_code(w, (Scalar){.op = C_ACC});
    add_code(w, (Scalar){.op = C_VIEW, .a = 3});
    add_code(w, (Scalar){.op = C_MUL, .a = 0, .b = 1});
    add_code(w, (Scalar){.op = C_VIEW, .a = 4});
    add_code(w, (Scalar){.op = C_ADD, .a = 2, .b = 3});
    if (ending == RESIDUAL) {
        add_code(w, (Scalar){.op = C_VIEW, .a = 5});
        add_code(w, (Scalar){.op = C_ADD, .a = 4, .b = 5});
    }
    uint8_t last = (uint8_t)(w->step.ncode - 1);
    if (ending >= ACTIVATED)
        add_code(w, (Scalar){.op = ending == ACTIVATED ? C_SIGMOID : C_RELU, .a = last}), last++;
    if (ending < QUANTIZED) return;
    w->view[0].dtype = DT_UINT8;
    const uint8_t scale = add_number(w, 6, DT_FLOAT, SCALE, by_view),
                  ratio = add_code(w, (Scalar){.op = C_DIV, .a = last, .b = scale}),
                  whole = add_code(w, (Scalar){.op = C_ROUND, .a = ratio}),
                  zero = add_number(w, 7, DT_UINT8, ZERO, by_view);
    add_code(w, (Scalar){.op = C_ADD, .a = whole, .b = zero});
}
static double expected(const Work *w, Ending ending, int axis, int64_t at) {
    int64_t inner = 1;
    for (int a = axis + 1; a < w->view[0].rank; a++) inner *= w->view[0].dim[a];
    const int64_t c = at / inner % w->view[0].dim[axis];
    if (ending == SUMS) return w->sum[at];
    double y = w->sum[at] * (double)w->data[3].floats[c] + (double)w->data[4].floats[c];
    if (ending == RESIDUAL) y += (double)w->data[5].floats[at];
    if (ending == ACTIVATED) y = 1 / (1 + exp(-y));
    if (ending >= QUANTIZED) {
        y = rint(fmax(y, 0) / (double)SCALE) + (double)ZERO;
        y = y > 255 ? 255 : y;
    }
    return y;
}

/* ---- comparing */
static int differences(const Work *w, Ending ending, int axis) {
    int wrong = 0;
    for (int64_t at = 0; at < view_count(&w->view[0]); at++) {
        const double
            want = expected(w, ending, axis, at),
            got = ending == SUMS        ? w->data[0].integers[at]
                  : ending >= QUANTIZED ? w->data[0].bytes[at]
                                        : (double)w->data[0].floats[at],
            /* A tie may be rounded either way, since the scales are multiplied in another order. */
            allowed = ending == SUMS        ? 0
                      : ending >= QUANTIZED ? 1
                                            : 1e-5 * (1 + fabs(want));
        wrong += !(fabs(want - got) <= allowed);
    }
    return wrong;
}
/* Runs the step by choice 0. Returns false if it has no algorithm. *room is the number of bytes of
   work memory. */
static bool run_work(Work *w, const char *options, bool known, size_t *room) {
    const Backend *cpu = backend_open("cpu", NULL);
    char why[300] = "";
    Device *d = cpu->open(options, why, sizeof why);
    assert_non_null(d);
    const bool possible = cpu->choices(d, &w->step) > 0;
    const void *weights[VIEWS] = {NULL};
    void *slot[VIEWS];
    for (int i = 0; i < VIEWS; i++) slot[i] = w->data[i].bytes;
    for (int i = 2; i < VIEWS && known; i++)
        if (i != 5) weights[i] = w->data[i].bytes;
    if (possible) {
        Kernel *k = cpu->compile(d, &w->step, 0, weights, room, NULL, why, sizeof why);
        if (!k) fail_msg("%s", why);
        void *work = cpu->alloc(d, *room);
        memset(work, 0xaa, *room);
        memset(w->data[0].bytes, 77, sizeof w->data[0]);
        assert_int_equal(cpu->run(k, slot, work), 0);
        cpu->release(d, work);
        cpu->forget(k);
    }
    cpu->close(d);
    return possible;
}
typedef void MakeWork(Work *, Random *);
static void make_small(MakeWork *make, Work *w, Random *r) {
    do make(w, r);
    while (view_count(&w->view[0]) > ROOM || view_count(&w->view[1]) > ROOM ||
           view_count(&w->view[2]) > 4 * ROOM);
}
static void check_rounds(MakeWork *make, void (*sum)(Work *), uint64_t seed) {
    Work *w = calloc(1, sizeof *w);
    Random r = {seed, 0};
    size_t room;
    int ran = 0;
    assert_non_null(w);
    for (int round = 0; round < ROUNDS; round++) {
        make_small(make, w, &r);
        fill_bytes(w, 1, &r, round % 8 == 7), fill_bytes(w, 2, &r, round % 8 == 7);
        sum(w);
        const int axis = w->step.kind == S_CONV ? 1 : w->view[0].rank - 1;
        const Ending ending = (Ending)(round % ENDINGS);
        make_ending(w, ending, axis, round % 4 >= 2);
        if (!run_work(w, round % 3 ? "" : "threads=2,grain=1", round % 2, &room)) continue;
        ran++;
        const int wrong = differences(w, ending, axis);
        if (wrong) fail_msg("round %d, ending %d: %d elements differ", round, ending, wrong);
        w->sum[0] += 1000000; /* a wrong sum must be noticed */
        assert_true(ending >= ACTIVATED || differences(w, ending, axis) > 0);
    }
    free(w);
    print_message("%d of %d steps have an algorithm\n", ran, ROUNDS);
    if (!ran) skip();
}

static void convolutions(void **state) { (void)state, check_rounds(make_conv, sum_conv, 5); }
static void products(void **state) { (void)state, check_rounds(make_gemm, sum_gemm, 6); }

/* Constants may be known views, as in QLinearConv, or constants of the program: oneDNN quantizes
   the result in both cases, and nothing wider than the result is stored. */
static void quantized_by_views(void **state) {
    (void)state;
    Work *w = calloc(1, sizeof *w);
    Random r = {7, 0};
    int ran = 0;
    assert_non_null(w);
    for (int round = 0; round < ROUNDS / 2; round++) {
        size_t room[2] = {0};
        make_small(round % 2 ? make_conv : make_gemm, w, &r);
        fill_bytes(w, 1, &r, false), fill_bytes(w, 2, &r, false);
        for (int by_view = 0; by_view < 2; by_view++) {
            make_ending(w, QUANTIZED, round % 2 ? 1 : w->view[0].rank - 1, by_view);
            ran += run_work(w, "", true, &room[by_view]);
        }
        assert_int_equal(room[0], room[1]);
    }
    free(w);
    if (!ran) skip();
}

/* Without oneDNN there is no algorithm, so that the planner leaves such products in floats. */
static void refused_without_onednn(void **state) {
    (void)state;
    Work *w = calloc(1, sizeof *w);
    Random r = {1, 0};
    assert_non_null(w);
    make_gemm(w, &r);
    make_ending(w, SUMS, 1, false);
    size_t room;
    assert_false(run_work(w, "dnn=none", true, &room));
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(products),
        cmocka_unit_test(quantized_by_views),
        cmocka_unit_test(refused_without_onednn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
