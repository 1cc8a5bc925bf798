/* definition_case.h -- for ops_core_eval.c: evaluates a definition at known sizes on random data in
   three ways, by walking its tree, by its loop program, and by the loop program in parts, and
   compares the results with want[], which a test fills by plain loops. */
#ifndef ISOMER_DEFINITION_CASE_H
#define ISOMER_DEFINITION_CASE_H
#include "ops/operator/op.h"
#include "ops/core/eval.h"
#include "ops/core/loop.h"
#include "ops/base/random.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { INPUTS = 3, ELEMENTS = 1 << 14, ROUNDS = 20 };

typedef struct Case { /* one definition at known sizes, with data */
    World *w;
    Call call;
    Random random;
    Tensor in[INPUTS], out;
    /* The inputs, the expected result, and the computed result. */
    Number data[INPUTS][ELEMENTS], want[ELEMENTS], got[ELEMENTS];
    int64_t size[64];   /* by symbol: its value */
    const Numbers *num; /* the number system: doubles, rationals or residues */
    Ex e;
} Case;

static Case *case_new(uint64_t seed, const Numbers *num) {
    Case *c = test_calloc(1, sizeof *c);
    c->w = world_new(NULL, 0);
    c->call.w = c->w;
    c->random.seed = seed;
    c->num = num;
    for (int k = 0; k < INPUTS; k++) c->in[k].rank = -1;
    for (int k = 0; k < 64; k++) c->size[k] = SIZE_UNKNOWN;
    return c;
}

static void case_free(Case *c) {
    world_free(c->w);
    test_free(c);
}

static int64_t draw(Case *c, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&c->random, (uint64_t)(high - low + 1));
}

/* Makes a size with this name and value. */
static Poly named(Case *c, const char *name, int64_t value) {
    Symbol s = symbol_named(c->w, name);
    assert_true(s < 64);
    c->size[s] = value;
    return poly_symbol(c->w, s);
}

static Tensor tensor(Number *v, int rank, const int64_t *dim) {
    Tensor t = {.rank = rank, .v = v};
    for (int k = 0; k < rank; k++) t.dim[k] = dim[k];
    assert_true(tensor_count(&t) <= ELEMENTS);
    return t;
}

/* A rank and a list of sizes, as two arguments. */
#define DIMS(...) \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]) { __VA_ARGS__ }

static void input(Case *c, int k, int rank, const int64_t *dim) {
    c->in[k] = tensor(c->data[k], rank, dim);
    for (int64_t j = 0; j < tensor_count(&c->in[k]); j++)
        c->data[k][j] = c->num->ratio(draw(c, -40, 40), 1 << draw(c, 0, 3));
}

static void output(Case *c, int rank, const int64_t *dim) { c->out = tensor(c->want, rank, dim); }

static void same(const Case *c, const Number *got) {
    int64_t n = tensor_count(&c->out);
    for (int64_t j = 0; j < n; j++) {
        double a = c->num->approx(c->want[j]), b = c->num->approx(got[j]);
        if (c->num == &numbers_real ? a == b || fabs(a - b) <= 1e-12 * (1 + fabs(a))
                                    : c->num->equal(c->want[j], got[j]))
            continue;
        fail_msg("element %d: %.17g, should be %.17g", (int)j, b, a);
    }
}

static bool program_of(Case *c, Ex e, int rank, const int64_t dim[], LoopProgram *out, Error *why) {
    const LoopSource source = {c->w, e, {64, c->size}, rank, dim, NULL, 0, NULL};
    return loop_compile(&source, c->w->arena, out, why);
}

/* Runs the program in parts along the longest axis of the output, each part by a loop of its
   own. */
static void run_in_parts(const Case *c, LoopProgram p, const View view[], void *const slot[]) {
    enum { PARTS = 3 };
    int axis = 0;
    for (int a = 1; a < c->out.rank; a++)
        if (c->out.dim[a] > c->out.dim[axis]) axis = a;
    const int64_t size = c->out.dim[axis];
    for (int k = 0; k < PARTS; k++) {
        Error error = {0};
        Loop *loop = loop_new(p, 1 + INPUTS, view, c->num, &error);
        if (!loop) fail_msg("%s", error.reason);
        loop_limit(loop, axis, size * k / PARTS, size * (k + 1) / PARTS);
        loop_run(loop, slot, NULL);
        loop_free(loop);
    }
}

/* Checks that all evaluations agree with want[], which plain loops have filled. */
static void both_agree(Case *c) {
    Error error = {0};
    Sizes sizes = {64, c->size};
    Eval eval = {.w = c->w, .num = c->num, .sizes = sizes, .nin = INPUTS, .in = c->in};
    Tensor got = c->out;
    got.v = c->got;
    assert_false(overflow_noted(c->w));
    memset(c->got, 0xee, sizeof c->got);
    if (!eval_tensor(&eval, c->e, &got, &error)) fail_msg("%s", error.reason);
    same(c, c->got);

    LoopProgram p;
    if (!program_of(c, c->e, c->out.rank, c->out.dim, &p, &error)) fail_msg("%s", error.reason);
    View view[1 + INPUTS] = {
        view_dense(0, c->num == &numbers_real ? DT_DOUBLE : 0, c->out.rank, c->out.dim)};
    for (int k = 0; k < INPUTS; k++) {
        view[k + 1] = view_dense(k + 1, c->num == &numbers_real ? DT_DOUBLE : 0,
                                 c->in[k].rank < 0 ? 0 : c->in[k].rank, c->in[k].dim);
        if (c->in[k].rank < 0) view[k + 1].rank = -1;
    }
    Loop *loop = loop_new(p, 1 + INPUTS, view, c->num, &error);
    if (!loop) fail_msg("%s", error.reason);
    memset(c->got, 0xee, sizeof c->got);
    if (c->num != &numbers_real)
        loop_run(loop, (void *const[]){c->got, c->data[0], c->data[1], c->data[2]}, NULL);
    else {
        double *flat[1 + INPUTS];
        for (int k = 0; k <= INPUTS; k++) {
            flat[k] = test_calloc(ELEMENTS, sizeof(double));
            for (int64_t j = 0; k && c->in[k - 1].rank >= 0 && j < tensor_count(&c->in[k - 1]); j++)
                flat[k][j] = c->data[k - 1][j].real;
        }
        loop_run(loop, (void *const *)flat, NULL);
        for (int64_t j = 0; j < tensor_count(&c->out); j++) c->got[j].real = flat[0][j];
        same(c, c->got);
        memset(flat[0], 0xee, ELEMENTS * sizeof(double));
        if (c->out.rank) run_in_parts(c, p, view, (void *const *)flat);
        else loop_run(loop, (void *const *)flat, NULL);
        for (int64_t j = 0; j < tensor_count(&c->out); j++) c->got[j].real = flat[0][j];
        for (int k = 0; k <= INPUTS; k++) test_free(flat[k]);
    }
    same(c, c->got);
    loop_free(loop);
}

static Dims dims(int n, const Poly *v) {
    Dims d = {.n = n};
    for (int k = 0; k < n; k++) d.v[k] = v[k];
    return d;
}
/* A Dims of these sizes. */
#define D(...) \
    dims((int)(sizeof((Poly[]){__VA_ARGS__}) / sizeof(Poly)), (const Poly[]){__VA_ARGS__})

static Dims index_of(Case *c, int rank) {
    Dims i = {.n = rank};
    for (int k = 0; k < rank; k++) i.v[k] = poly_symbol(c->w, symbol_index(c->w, (uint32_t)k));
    return i;
}

static Number plus(const Case *c, Number a, Number b) { return c->num->add(a, b); }
static Number times(const Case *c, Number a, Number b) { return c->num->mul(a, b); }
static int64_t floor_div(int64_t a, int64_t m) { return (a - ((a % m) + m) % m) / m; }
static Number integer(const Case *c, int64_t v) { return c->num->ratio(v, 1); }
#endif
