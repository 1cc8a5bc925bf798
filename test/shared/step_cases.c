/* step_cases.c -- draws, runs and compares steps. The functions named NAME_case each draw the
   views, parameters and program of one kind of step; view 0 is the output. */
#include "test/shared/step_cases.h"
#include "graphs/plan/plan.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { END = 64 }; /* bytes after the scratch memory, in which nothing may be written */

int64_t case_draw(Case *c, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&c->random, (uint64_t)(high - low + 1));
}
static int64_t draw(Case *c, int64_t low, int64_t high) { return case_draw(c, low, high); }
static bool chance(Case *c, int percent) { return draw(c, 0, 99) < percent; }

/* ---- drawing views and contents */
static void draw_layout(Case *c, View *v, bool broadcast) {
    int axis[STEP_RANK];
    int64_t stride = chance(c, 70) ? 1 : draw(c, 1, 3);
    for (int i = 0; i < v->rank; i++) axis[i] = v->rank - 1 - i;
    if (chance(c, 40))
        for (int i = v->rank - 1; i > 0; i--) {
            const int j = (int)draw(c, 0, i), t = axis[i];
            axis[i] = axis[j], axis[j] = t;
        }
    for (int i = 0; i < v->rank; i++) {
        v->stride[axis[i]] = stride;
        stride *= (v->dim[axis[i]] ? v->dim[axis[i]] : 1) + (chance(c, 20) ? draw(c, 1, 3) : 0);
        if (broadcast && chance(c, 25)) v->stride[axis[i]] = 0;
    }
    v->offset = chance(c, 50) ? 0 : draw(c, 1, 9);
}

static void store(void *p, int64_t at, int dtype, double d) {
    switch (dtype) {
    case DT_FLOAT: ((float *)p)[at] = (float)d; break;
    case DT_DOUBLE: ((double *)p)[at] = d; break;
    case DT_FLOAT16: ((uint16_t *)p)[at] = ref_to_half(d, 5); break;
    case DT_BFLOAT16: ((uint16_t *)p)[at] = ref_to_half(d, 8); break;
    case DT_BOOL: ((uint8_t *)p)[at] = d > 0; break;
    case DT_INT8:
    case DT_UINT8: ((uint8_t *)p)[at] = (uint8_t)(int)d; break;
    case DT_INT16:
    case DT_UINT16: ((uint16_t *)p)[at] = (uint16_t)(int)d; break;
    case DT_INT32:
    case DT_UINT32: ((uint32_t *)p)[at] = (uint32_t)(int)d; break;
    default: ((int64_t *)p)[at] = (int64_t)d; break;
    }
}

static size_t view_reach(const View *v) {
    int64_t last = v->offset;
    for (int a = 0; a < v->rank; a++) last += (v->dim[a] > 0 ? v->dim[a] - 1 : 0) * v->stride[a];
    return (size_t)((last + 1) * (dtype_bits((DType)v->dtype) / 8));
}
void case_buffer(Case *c, int i) {
    const View *v = &c->view[i];
    const size_t size = (size_t)dtype_bits((DType)v->dtype) / 8;
    c->bytes[i] = view_reach(v);
    c->buffer[i] = test_malloc(c->bytes[i] + 2 * GUARD);
    memset(c->buffer[i], PATTERN, c->bytes[i] + 2 * GUARD);
    c->slot[i] = c->buffer[i] + GUARD;
    if (i == 0) return;
    const bool real = dtype_class((DType)v->dtype) == 'F';
    for (size_t at = 0; at < c->bytes[i] / size; at++)
        store(c->slot[i], (int64_t)at, v->dtype,
              real ? 2 * random_normal(&c->random)
                   : (double)draw(c, dtype_class((DType)v->dtype) == 'U' ? 0 : -9, 9));
}

/* Adds a view with this type and these sizes, in a slot of its own and with a layout of its own. */
static void add_view(Case *c, int dtype, int rank, const int64_t dim[], bool broadcast) {
    const int i = c->step.nview++;
    View *v = &c->view[i];
    *v = (View){.slot = i, .dtype = dtype, .rank = rank};
    memcpy(v->dim, dim, sizeof *dim * (size_t)rank);
    draw_layout(c, v, broadcast && i > 0);
}
static void add_code(Case *c, int op, int a, int b, double k) {
    c->code[c->step.ncode++] = (Scalar){(uint8_t)op, (uint8_t)a, (uint8_t)b, (uint8_t)(a / 2), k};
}

/* ---- comparing */
static double dtype_error(int dtype) {
    return dtype == DT_FLOAT16 ? 0x1p-10 : dtype == DT_BFLOAT16 ? 0x1p-7 : 0;
}
static bool close_enough(const Case *c, Num want, Num got, double scale) {
    if (dtype_class((DType)c->view[0].dtype) != 'F') {
        const bool rounding = ref_step_class(&c->step) == 'F'; /* may round either way */
        const bool odd = c->step.kind == S_EWISE && want.d == 0;
        return want.i == got.i || (rounding && !odd && fabs(want.d - got.d) <= 1);
    }
    if (want.d != want.d || got.d != got.d) return want.d != want.d && got.d != got.d;
    if (want.d == got.d) return true;
    const double allowed = c->tolerance + dtype_error(c->view[0].dtype);
    return fabs(want.d - got.d) <= allowed * fmax(scale, fabs(want.d));
}

int case_compare(const Case *c, const Num *want, int64_t count, char *text, size_t n) {
    const View *y = &c->view[0];
    const size_t size = (size_t)dtype_bits((DType)y->dtype) / 8;
    double scale = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(want[i].d)) scale = fmax(scale, fabs(want[i].d));
    if (c->step.kind == S_EWISE || c->step.kind == S_COPY) scale = 0.05;
    if (c->step.kind == S_ROWS && scale < 0.5) scale = 0.5; /* x minus its mean is noise near 0 */
    char *owned = test_calloc(c->bytes[0] / size + 1, 1);
    int64_t index[STEP_RANK] = {0}, at = 0;
    int bad = 0;
    if (count > 0) do {
            const Num got = ref_load(y, c->slot, index);
            int64_t place = y->offset;
            for (int a = 0; a < y->rank; a++) place += index[a] * y->stride[a];
            owned[place] = 1;
            if (!close_enough(c, want[at], got, scale) && !bad++)
                snprintf(text, n, "element %lld: %.9g (%lld) instead of %.9g (%lld)", (long long)at,
                         got.d, (long long)got.i, want[at].d, (long long)want[at].i);
            at++;
        } while (ref_next(y, 0, y->rank, index));
    for (size_t i = 0; i < c->bytes[0] + 2 * GUARD; i++) {
        const bool inside = i >= GUARD && i < GUARD + c->bytes[0] && owned[(i - GUARD) / size];
        if (!inside && (uint8_t)c->buffer[0][i] != PATTERN && !bad++)
            snprintf(text, n, "byte %lld outside the output was written", (long long)i - GUARD);
    }
    test_free(owned);
    return bad;
}

void case_describe(const Case *c, char *text, size_t n) {
    int at = snprintf(text, n, "%s", step_kind_name((StepKind)c->step.kind));
    for (int i = 0; i < c->step.nview; i++) {
        at += snprintf(text + at, n - (size_t)at, " %s[", dtype_name((DType)c->view[i].dtype));
        for (int a = 0; a < c->view[i].rank; a++)
            at += snprintf(text + at, n - (size_t)at, "%lld:%lld ", (long long)c->view[i].dim[a],
                           (long long)c->view[i].stride[a]);
        at += snprintf(text + at, n - (size_t)at, "]");
    }
    at += snprintf(text + at, n - (size_t)at, " (");
    for (int i = 0; i < c->step.nparam; i++)
        at += snprintf(text + at, n - (size_t)at, "%lld ", (long long)c->param[i]);
    at += snprintf(text + at, n - (size_t)at, ")");
    for (int i = 0; i < c->step.ncode; i++)
        at += snprintf(text + at, n - (size_t)at, " op%d %d %d %d;", c->code[i].op, c->code[i].a,
                       c->code[i].b, c->code[i].c);
}

/* ---- running */
/* Copies all views to the device, with their guards, so that writes beside the output are seen. */
static void take_slots(Case *c, const Backend *b, Device *d, char *memory[], void *slot[]) {
    for (int i = 0; i < c->step.nview; i++) {
        memory[i] = b->alloc(d, c->bytes[i] + 2 * GUARD);
        assert_non_null(memory[i]);
        slot[i] = memory[i] + GUARD;
        assert_int_equal(
            b->copy(d, memory[i], c->buffer[i], c->bytes[i] + 2 * GUARD, COPY_TO_DEVICE), 0);
    }
}
static void run_twice(Case *c, const Backend *b, Device *d, Kernel *k, size_t room) {
    char *memory[SLOTS], end[END], pattern[END], *work = b->alloc(d, room + END);
    void *slot[SLOTS];
    assert_non_null(work);
    memset(pattern, PATTERN, END);
    memset(c->buffer[0], PATTERN, c->bytes[0] + 2 * GUARD);
    take_slots(c, b, d, memory, slot);
    assert_int_equal(b->copy(d, work + room, pattern, END, COPY_TO_DEVICE), 0);
    for (int twice = 0; twice < 2; twice++)
        if (b->run(k, slot, work) || b->wait(d, NULL))
            fail_msg("it failed: %s", b->failure ? b->failure(d) : "");
    assert_int_equal(b->copy(d, end, work + room, END, COPY_TO_HOST), 0);
    assert_memory_equal(end, pattern, END);
    assert_int_equal(b->copy(d, c->buffer[0], memory[0], c->bytes[0] + 2 * GUARD, COPY_TO_HOST), 0);
    for (int i = 0; i < c->step.nview; i++) b->release(d, memory[i]);
    b->release(d, work);
}
bool case_run(Case *c, const Backend *b, Device *d, int choice, int known) {
    const void *weights[SLOTS] = {NULL};
    char why[256] = "";
    size_t room = 0;
    for (int i = 1; i < c->step.nview; i++)
        if (known >> i & 1) weights[i] = c->slot[i];
    Kernel *k = b->compile(d, &c->step, choice, weights, &room, NULL, why, sizeof why);
    if (!k) return false;
    run_twice(c, b, d, k, room);
    b->forget(k);
    return true;
}

/* ---- cases */
static const int all_types[] = {DT_FLOAT, DT_FLOAT,   DT_FLOAT,    DT_DOUBLE, DT_INT64,
                                DT_INT32, DT_FLOAT16, DT_BFLOAT16, DT_BOOL,   DT_UINT8,
                                DT_INT8,  DT_UINT16,  DT_INT16,    DT_UINT32, DT_UINT64};
enum { TYPES = sizeof all_types / sizeof *all_types };
static int draw_type(Case *c) { return all_types[draw(c, 0, TYPES - 1)]; }
static int draw_real(Case *c) {
    return all_types[chance(c, 70) ? 0 : chance(c, 50) ? 3 : draw(c, 6, 7)];
}
static int short_float(Case *c) { return all_types[chance(c, 70) ? 0 : draw(c, 6, 7)]; }
static int64_t draw_size(Case *c) {
    static const int64_t often[] = {0, 1, 1, 2, 3, 7, 16, 31};
    return chance(c, 6) ? draw(c, 32, 300) : often[chance(c, 10) ? 0 : draw(c, 1, 7)];
}
static int draw_dims(Case *c, int64_t dim[]) {
    const int rank = (int)draw(c, 0, 5);
    int64_t n = 1;
    for (int a = 0; a < rank; a++) {
        dim[a] = draw_size(c);
        if (n * dim[a] > 6000) dim[a] = 2;
        n *= dim[a];
    }
    return rank;
}
static bool is_real(int dtype) { return dtype_class((DType)dtype) == 'F'; }

/* Adds a QuantizeLinear and a DequantizeLinear of value x, sometimes with another reader of a value
   between them. The scale is a power of two, so that quotients are exact. */
static void draw_requantized(Case *c, int x) {
    static const int types[] = {DT_UINT8, DT_INT8, DT_UINT16, DT_INT16};
    const int type = types[draw(c, 0, 3)], bits = dtype_bits((DType)type);
    const bool natural = dtype_class((DType)type) == 'U';
    const double zero = chance(c, 50) ? 0 : (double)draw(c, natural ? 0 : -5, 5);
    const int scale = c->step.ncode;
    add_code(c, C_CONST, 0, 0, bits == 8 ? 0x1p-6 : 0x1p-14), add_code(c, C_DIV, x, scale, 0);
    add_code(c, C_ROUND, scale + 1, 0, 0), add_code(c, C_CONST, 0, 0, zero);
    int q = scale + 2;
    if (zero != 0 || chance(c, 50)) add_code(c, C_ADD, q, scale + 3, 0), q = scale + 4;
    if (!natural || chance(c, 20)) {
        const int w = c->step.ncode;
        add_code(c, C_ISNAN, q, 0, 0), add_code(c, C_CONST, 0, 0, -ldexp(1, bits - 1));
        add_code(c, C_WHERE, w, w + 1, 0), c->code[w + 2].c = (uint8_t)q, q = w + 2;
    }
    add_code(c, C_AS, q, type, 0);
    const int t = c->step.ncode - 1;
    add_code(c, C_SUB, t, scale + 3, 0);
    add_code(c, C_CONST, 0, 0, 0.25), add_code(c, C_MUL, t + 1, t + 2, 0);
    if (chance(c, 40)) add_code(c, C_ADD, t + 3, (int)draw(c, scale, t), 0);
}

/* Adds x times a gate of x, as models write silu and both kinds of gelu: factors in some order, x
   read again or not, sometimes with another reader of an intermediate value. */
static void draw_activation(Case *c, int x, int again) {
    const int gate = (int)draw(c, 0, 2), from = c->step.ncode;
    const double a = chance(c, 50) ? 1 : 0.79788456;
    int u = from + 1;
    add_code(c, C_CONST, 0, 0, gate == 2 && chance(c, 50) ? sqrt(2) : a);
    if (gate == 2 && c->code[from].k > 1) add_code(c, C_DIV, x, from, 0);
    else add_code(c, C_MUL, from, x, 0);
    if (gate < 2 && chance(c, 50)) { /* a * x + b * x^3 */
        add_code(c, C_CONST, 0, 0, 3), add_code(c, C_POW, again, u + 1, 0);
        add_code(c, C_CONST, 0, 0, 0.044715), add_code(c, C_MUL, u + 2, u + 3, 0);
        add_code(c, C_ADD, u + 4, u, 0), u += 5;
    }
    add_code(c, gate == 0 ? C_SIGMOID : gate == 1 ? C_TANH : C_ERF, u, 0, 0);
    int y = u + 1;
    if (gate) {
        add_code(c, C_CONST, 0, 0, chance(c, 90) ? 1 : 0.5);
        add_code(c, C_ADD, y, y + 1, 0), y += 2;
    }
    const bool first = chance(c, 50);
    add_code(c, C_CONST, 0, 0, 0.5), add_code(c, C_MUL, first ? y : again, y + 1, 0);
    add_code(c, C_MUL, first ? x : y, y + 2, 0);
    if (chance(c, 30)) add_code(c, C_SUB, y + 3, (int)draw(c, from, y), 0);
}

static void ewise_case(Case *c) {
    static const int both[] = {C_ADD,  C_SUB, C_MUL,   C_MIN,   C_MAX,   C_EQ,  C_LT,
                               C_LE,   C_AND, C_OR,    C_XOR,   C_NEG,   C_ABS, C_RELU,
                               C_SIGN, C_NOT, C_ISNAN, C_ISINF, C_FLOOR, C_CEIL};
    static const int real[] = {C_EXP, C_SIGMOID, C_TANH, C_ERF, C_SIN, C_COS, C_ROUND};
    int64_t dim[STEP_RANK];
    const int rank = draw_dims(c, dim), views = (int)draw(c, 1, 4),
              type = chance(c, 25) ? DT_FLOAT : draw_type(c);
    add_view(c, type, rank, dim, false);
    for (int i = 0; i < views; i++)
        add_view(c,
                 is_real(type)   ? (chance(c, 70) ? type : draw_type(c))
                 : chance(c, 80) ? type
                                 : DT_BOOL,
                 rank, dim, true);
    for (int i = 1; i <= views; i++) add_code(c, C_VIEW, i, 0, 0);
    add_code(c, C_CONST, 0, 0, (double)draw(c, -3, 3));
    for (int i = 0, n = (int)draw(c, 0, 7); i < n; i++) {
        const int op = is_real(type) && chance(c, 35) ? real[draw(c, 0, 6)]
                       : is_real(type)                ? both[draw(c, 0, 19)]
                       : chance(c, 15)                ? (chance(c, 50) ? C_DIV : C_MOD)
                                                      : both[draw(c, 0, 19)];
        /* Floor, comparisons etc. would turn a rounding error of computed floats into a whole
           step. */
        const bool steps =
            is_real(type) && (op == C_FLOOR || op == C_CEIL || op == C_ROUND || op == C_SIGN ||
                              op == C_EQ || op == C_LT || op == C_LE);
        const int top = steps ? views - 1 : c->step.ncode - 1;
        add_code(c, op, (int)draw(c, 0, top), (int)draw(c, 0, top), 0);
        Scalar *last = &c->code[c->step.ncode - 1];
        if (chance(c, 15)) last->op = C_WHERE;
        else if (chance(c, 20)) { /* the same holds for conversions to integers */
            const int to = draw_type(c);
            if (!is_real(type) && (is_real(to) || (to == DT_UINT64) != (type == DT_UINT64)))
                continue;
            if (is_real(type) && !is_real(to)) last->a = (uint8_t)draw(c, 0, views - 1);
            last->op = C_AS, last->b = (uint8_t)to;
        }
    }
    if (type == DT_FLOAT && chance(c, 50)) draw_requantized(c, (int)draw(c, 0, views - 1));
    if (is_real(type) && chance(c, 30)) {
        const int x = (int)draw(c, 0, views - 1), again = c->step.ncode;
        add_code(c, C_VIEW, x + 1, 0, 0);
        draw_activation(c, x, chance(c, 50) ? again : x);
    }
    if (!is_real(type) || chance(c, 95)) return;
    c->step.ncode = 1;
}

/* Adds an epilogue in one of the usual forms; a bias varies along `axis`. */
static void draw_epilogue(Case *c, int axis) {
    const View y = c->view[0];
    if (!is_real(c->view[1].dtype) || chance(c, 35)) return;
    if (chance(c, 15)) c->view[0].dtype = draw_type(c);
    add_code(c, C_ACC, 0, 0, 0);
    if (chance(c, 60)) {
        add_view(c, chance(c, 90) ? DT_FLOAT : y.dtype, y.rank, y.dim, false);
        View *bias = &c->view[c->step.nview - 1];
        for (int a = 0; a < y.rank; a++) bias->stride[a] = a == axis;
        add_code(c, C_VIEW, c->step.nview - 1, 0, 0);
        add_code(c, C_ADD, 0, 1, 0);
    }
    const int x = c->step.ncode - 1, form = (int)draw(c, 0, 6);
    if (form == 0) add_code(c, C_RELU, x, 0, 0);
    if (form == 1) add_code(c, C_SIGMOID, x, 0, 0), add_code(c, C_MUL, x, x + 1, 0);
    if (form == 2)
        add_code(c, C_CONST, 0, 0, 0), add_code(c, C_MAX, x, x + 1, 0),
            add_code(c, C_CONST, 0, 0, 6), add_code(c, C_MIN, x + 2, x + 3, 0);
    if (form == 3) add_code(c, C_TANH, x, 0, 0);
    if (form == 4) {
        add_view(c, y.dtype, y.rank, y.dim, true);
        add_code(c, C_VIEW, c->step.nview - 1, 0, 0);
        add_code(c, C_ADD, x, x + 1, 0);
        add_code(c, C_RELU, x + 2, 0, 0);
    }
}

/* Adds x * min(relu(x + 3), 6) / 6 * k + 1/2, with the numbers as constants or, some, as views. */
static void draw_hardswish(Case *c) {
    const View y = c->view[0];
    const bool views = chance(c, 50);
    const int first = c->step.nview;
    for (int i = 0; i < 3 && views; i++) {
        add_view(c, DT_FLOAT, y.rank, y.dim, false);
        for (int a = 0; a < y.rank; a++) c->view[first + i].stride[a] = 0;
    }
    add_code(c, C_ACC, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        if (views && i < 2) add_code(c, C_VIEW, first + i, 0, 0);
        else add_code(c, C_CONST, 0, 0, i ? 6 : 3);
    add_code(c, C_ADD, 0, 1, 0), add_code(c, C_RELU, 4, 0, 0);
    if (chance(c, 50)) add_code(c, C_MIN, 5, 3, 0);
    else add_code(c, C_MIN, 3, 5, 0);
    add_code(c, C_MUL, chance(c, 50) ? 0 : 6, chance(c, 50) ? 6 : 0, 0),
        add_code(c, C_DIV, 7, 3, 0);
    if (views) add_code(c, C_VIEW, first + 2, 0, 0);
    else add_code(c, C_CONST, 0, 0, 1.5);
    add_code(c, C_MUL, 9, 8, 0), add_code(c, C_CONST, 0, 0, 0.5), add_code(c, C_ADD, 10, 11, 0);
}

/* Adds a normalization of channels: (acc - mean) * (scale / sqrt(variance + eps)) + shift,
   sometimes followed by a residual sum and an activation. */
static void draw_normalization(Case *c) {
    const View y = c->view[0];
    const int first = c->step.nview;
    for (int i = 0; i < 4; i++) {
        add_view(c, DT_FLOAT, y.rank, y.dim, false);
        for (int a = 0; a < y.rank; a++) c->view[first + i].stride[a] = a == 1;
    }
    add_code(c, C_ACC, 0, 0, 0), add_code(c, C_VIEW, first, 0, 0), add_code(c, C_SUB, 0, 1, 0);
    add_code(c, C_VIEW, first + 1, 0, 0), add_code(c, C_ABS, 3, 0, 0),
        add_code(c, C_VIEW, first + 1, 0, 0), add_code(c, C_MUL, 5, 5, 0);
    add_code(c, C_CONST, 0, 0, 0.5), add_code(c, C_ADD, 6, 7, 0), add_code(c, C_SQRT, 8, 0, 0),
        add_code(c, C_VIEW, first + 2, 0, 0);
    add_code(c, C_DIV, 10, 9, 0), add_code(c, C_MUL, 2, 11, 0),
        add_code(c, C_VIEW, first + 3, 0, 0), add_code(c, C_ADD, 12, 13, 0);
    int last = 14;
    if (chance(c, 40)) {
        add_view(c, y.dtype, y.rank, y.dim, true);
        add_code(c, C_VIEW, c->step.nview - 1, 0, 0), add_code(c, C_ADD, 15, last, 0);
        last = 16;
    }
    const int form = (int)draw(c, 0, 3);
    if (form == 0) add_code(c, C_RELU, last, 0, 0);
    if (form == 1) add_code(c, C_SIGMOID, last, 0, 0), add_code(c, C_MUL, last, last + 1, 0);
    /* Uses the accumulator twice. */
    if (form == 2) add_code(c, C_MUL, last, last, 0), add_code(c, C_SUB, last + 1, 2, 0);
}

/* Lays an image out with its channels innermost, sometimes as some channels of a wider image. */
static void draw_channels_last(Case *c, int i) {
    View *v = &c->view[i];
    int64_t stride = v->dim[1] + (chance(c, 30) ? draw(c, 1, 5) : 0);
    if (v->dim[1] < 1 || !chance(c, 50)) return;
    v->stride[1] = 1;
    for (int a = v->rank - 1; a >= 2; a--)
        v->stride[a] = stride, stride *= v->dim[a] > 0 ? v->dim[a] : 1;
    v->stride[0] = stride;
}

static int draw_core_type(Case *c) { return chance(c, 65) ? DT_FLOAT : draw_type(c); }

static void gemm_case(Case *c) {
    int64_t y[STEP_RANK], a[STEP_RANK], b[STEP_RANK];
    const int batch = (int)draw(c, 0, 2), rank = batch + 2, type = draw_core_type(c);
    const int64_t m = draw_size(c), n = draw_size(c), k = draw_size(c);
    for (int i = 0; i < batch; i++) y[i] = a[i] = b[i] = draw(c, chance(c, 5) ? 0 : 1, 3);
    y[batch] = a[batch] = m, y[batch + 1] = b[batch + 1] = n, a[batch + 1] = b[batch] = k;
    add_view(c, type, rank, y, false);
    add_view(c, type, rank, a, false);
    add_view(c, type, rank, b, false);
    if (chance(c, 40))
        for (int i = 0; i < batch; i++) c->view[chance(c, 80) ? 2 : 1].stride[i] = 0;
    if (chance(c, 5)) c->view[1].stride[batch + 1] = 0;
    if (chance(c, 5)) c->view[2].stride[batch] = 0;
    draw_epilogue(c, rank - 1);
}

/* Draws the kernel, and the strides, pads and dilations at param[at..]; computes the output's
   sizes, `out`. Returns the number of parameters. */
static int draw_window(Case *c, int at, int n, const int64_t in[], int64_t kernel[], int64_t out[],
                       bool pool) {
    for (int i = 0; i < n; i++) {
        const int64_t s = draw(c, 1, chance(c, 50) ? 1 : 3), d = draw(c, 1, chance(c, 75) ? 1 : 2);
        kernel[i] = draw(c, 1, 4);
        const int64_t reach = (kernel[i] - 1) * d + 1;
        int64_t begin = draw(c, 0, pool ? kernel[i] - 1 : 2),
                end = draw(c, 0, pool ? kernel[i] - 1 : 2);
        if (in[i] + begin + end < reach) kernel[i] = 1;
        const int64_t room = in[i] + begin + end - ((kernel[i] - 1) * d + 1);
        out[i] = room < 0 ? 0 : room / s + 1;
        /* As with ceil_mode. */
        if (pool && room >= 0 && room % s && chance(c, 30) && out[i] * s - begin < in[i]) out[i]++;
        c->param[at + i] = s, c->param[at + n + i] = begin, c->param[at + 2 * n + i] = end,
                      c->param[at + 3 * n + i] = d;
    }
    return 4 * n;
}

static void conv_case(Case *c) {
    const int n = (int)draw(c, 1, chance(c, 80) ? 2 : 3), type = draw_core_type(c);
    const int64_t group = chance(c, 60) ? 1 : draw(c, 1, 4), in = draw(c, 1, 5),
                  outs = group * draw(c, 1, chance(c, 30) ? 18 : 4);
    int64_t x[STEP_RANK] = {draw(c, 1, 2), in * group}, w[STEP_RANK] = {outs, in},
            y[STEP_RANK] = {x[0], outs};
    if (chance(c, 3)) x[0] = y[0] = 0;
    for (int i = 0; i < n; i++) x[2 + i] = draw(c, 1, n == 3 ? 6 : chance(c, 7) ? 40 : 13);
    c->param[0] = group;
    c->step.nparam = 1 + draw_window(c, 1, n, x + 2, w + 2, y + 2, false);
    if (n == 2 && group == 1 && chance(c, 25)) { /* for Winograd: differences of large sums */
        for (int i = 0; i < 2; i++)
            w[2 + i] = 3, y[2 + i] = x[2 + i], c->param[1 + i] = c->param[7 + i] = 1,
                  c->param[3 + i] = c->param[5 + i] = 1;
        w[1] = x[1] = 16, w[0] = y[1] = 32, c->tolerance = 5e-5;
    }
    add_view(c, type, 2 + n, y, false);
    add_view(c, type, 2 + n, x, false);
    add_view(c, type, 2 + n, w, false);
    draw_channels_last(c, 0), draw_channels_last(c, 1);
    if (is_real(type) && chance(c, 40)) draw_normalization(c);
    else if (is_real(type) && chance(c, 30)) draw_hardswish(c);
    else draw_epilogue(c, 1);
}

static void pool_case(Case *c) {
    const int n = (int)draw(c, 1, chance(c, 80) ? 2 : 3), type = draw_core_type(c);
    int64_t x[STEP_RANK] = {draw(c, 0, 2), draw(c, 1, 20)}, y[STEP_RANK] = {x[0], x[1]};
    for (int i = 0; i < n; i++) x[2 + i] = draw(c, 1, n == 3 ? 6 : 14);
    c->param[0] = type == DT_BOOL ? POOL_MAX : draw(c, 0, 1);
    c->step.nparam = 2 + n + draw_window(c, 1 + n, n, x + 2, c->param + 1, y + 2, true);
    c->param[1 + 5 * n] = draw(c, 0, 1);
    add_view(c, type, 2 + n, y, false);
    add_view(c, type, 2 + n, x, false);
    draw_channels_last(c, 0), draw_channels_last(c, 1);
    draw_epilogue(c, 1);
}

static void reduce_case(Case *c) {
    int64_t dim[STEP_RANK];
    const int rank = draw_dims(c, dim), kept = (int)draw(c, 0, rank),
              type = chance(c, 50) ? DT_FLOAT : draw_type(c);
    c->param[0] = draw(c, 0, is_real(type) ? REDUCE_MAGNITUDES : REDUCE_PROD);
    c->step.nparam = 1;
    bool empty = false;
    for (int a = kept; a < rank; a++) empty = empty || dim[a] == 0;
    /* Integer types have no infinity, from which a maximum or minimum of nothing could start. */
    if (empty && c->param[0] > 1 && c->param[0] < 4 && !is_real(type)) c->param[0] = 0;
    if (type == DT_BOOL) c->param[0] = 2;
    add_view(c, type, kept, dim, false);
    add_view(c, type, rank, dim, true);
    draw_epilogue(c, kept - 1);
    if (c->param[0] == REDUCE_PROD) c->tolerance = 1e-4;
}

static void copy_case(Case *c) {
    int64_t dim[STEP_RANK];
    const int rank = draw_dims(c, dim), type = draw_type(c);
    add_view(c, type, rank, dim, false);
    add_view(c, chance(c, 50) ? type : draw_type(c), rank, dim, true);
    c->tolerance = 0;
}

static void fill_case(Case *c) {
    int64_t dim[STEP_RANK];
    const int rank = draw_dims(c, dim);
    add_view(c, draw_type(c), rank, dim, false);
    add_code(c, C_CONST, 0, 0, (double)draw(c, 0, 100));
}

static void softmax_case(Case *c) {
    int64_t dim[STEP_RANK];
    int rank = draw_dims(c, dim);
    const int type = draw_real(c);
    if (rank == 0) dim[rank++] = 5;
    add_view(c, type, rank, dim, false);
    add_view(c, type, rank, dim, true);
}

/* Adds an operand of a row program, perhaps constant along some axes, as a scale or mask is. */
static int row_operand(Case *c, int rank, const int64_t dim[]) {
    add_view(c, short_float(c), rank, dim, true);
    const int at = c->step.nview - 1;
    for (int a = 0; a < rank && chance(c, 50); a++)
        if (chance(c, 60)) c->view[at].stride[a] = 0;
    add_code(c, C_VIEW, at, 0, 0);
    return c->step.ncode - 1;
}
static int row_unary(Case *c, int op, int a) { return add_code(c, op, a, 0, 0), c->step.ncode - 1; }
static int row_binary(Case *c, int op, int a, int b) {
    return add_code(c, op, a, b, 0), c->step.ncode - 1;
}
static int row_number(Case *c, double k) {
    return add_code(c, C_CONST, 0, 0, k), c->step.ncode - 1;
}
/* Computes (x - mean) / sqrt(mean of squares + 1/8), sometimes without subtracting the mean. */
static int row_norm(Case *c, int x, double n) {
    if (chance(c, 70)) {
        const int sum = row_unary(c, C_ROW_SUM, x), count = row_number(c, n);
        x = row_binary(c, C_SUB, x, row_binary(c, C_DIV, sum, count));
    }
    const int sum = row_unary(c, C_ROW_SUM, row_binary(c, C_MUL, x, x));
    const int mean = row_binary(c, C_DIV, sum, row_number(c, n));
    const int root = row_unary(c, C_SQRT, row_binary(c, C_ADD, mean, row_number(c, 0.125)));
    return row_binary(c, C_MUL, x, row_unary(c, C_RECIP, root));
}
/* Computes exp(x - max) / sum, or its logarithm. */
static int row_softmax(Case *c, int x) {
    const int low = row_binary(c, C_SUB, x, row_unary(c, C_ROW_MAX, x));
    const int e = row_unary(c, C_EXP, low), sum = row_unary(c, C_ROW_SUM, e);
    if (chance(c, 70)) return row_binary(c, C_DIV, e, sum);
    return row_binary(c, C_SUB, low, row_unary(c, C_LOG, sum));
}
static void rows_case(Case *c) {
    int64_t dim[STEP_RANK];
    int rank = draw_dims(c, dim);
    if (rank == 0) dim[rank++] = 5;
    if (rank == 1 && chance(c, 30)) dim[0] = draw(c, 200, 5000); /* too long for registers */
    if (chance(c, 40)) {                                         /* sizes as in models */
        rank = (int)draw(c, 1, 3);
        for (int a = 0; a < rank; a++) dim[a] = draw(c, 1, a < rank - 1 ? 20 : 130);
    } else if (chance(c, 3)) rank = 2, dim[0] = draw(c, 8, 9), dim[1] = draw(c, 8190, 9000);
    c->param[0] = draw(c, 1, rank > 2 ? 2 : rank);
    c->step.nparam = 1;
    double n = 1;
    for (int a = rank - (int)c->param[0]; a < rank; a++) n *= (double)dim[a];
    add_view(c, short_float(c), rank, dim, false);
    add_view(c, short_float(c), rank, dim, true); /* constant rows would give noise */
    add_code(c, C_VIEW, 1, 0, 0);
    int x = 0;
    if (chance(c, 40)) x = row_binary(c, C_ADD, x, row_operand(c, rank, dim));
    if (chance(c, 30)) x = row_binary(c, C_MUL, x, row_number(c, 0.125));
    x = chance(c, 50) ? row_norm(c, x, n) : row_softmax(c, x);
    if (chance(c, 30)) x = row_binary(c, C_MUL, x, row_operand(c, rank, dim));
    if (chance(c, 30)) x = row_binary(c, C_ADD, x, row_operand(c, rank, dim));
    if (chance(c, 20)) row_unary(c, C_RELU, x);
    c->tolerance = 1e-4;
}

/* ---- starting and ending a case */
static void (*const drawn[STEP_KIND_COUNT])(Case *) = {
    [S_GEMM] = gemm_case,   [S_CONV] = conv_case,       [S_POOL] = pool_case,
    [S_EWISE] = ewise_case, [S_REDUCE] = reduce_case,   [S_COPY] = copy_case,
    [S_FILL] = fill_case,   [S_SOFTMAX] = softmax_case, [S_ROWS] = rows_case,
};
void case_start(Case *c, uint64_t seed, StepKind kind) {
    memset(c, 0, sizeof *c);
    c->random.seed = seed * 1000003 + (uint64_t)kind;
    c->step = (Step){.kind = kind, .view = c->view, .param = c->param, .code = c->code};
    c->tolerance = kind == S_GEMM ? 5e-5 : 2e-5; /* sums of large terms may cancel */
    drawn[kind](c);
    for (int i = 0; i < c->step.nview; i++) case_buffer(c, i);
}
void case_end(Case *c) {
    for (int i = 0; i < c->step.nview; i++) test_free(c->buffer[i]);
}
