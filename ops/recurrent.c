/* recurrent: rnn, gru and lstm as ONNX defines them. Inputs: x [t, b, i]; weights w [d, g*h, i] and
   r [d, g*h, h]; bias [d, 2*g*h], first that of w, then that of r; the length of each sequence;
   initial states [d, b, h]; peepholes [d, 3*h]. g is the number of gates, d the number of
   directions: 1 (forward or backward) or 2 (both). Results: y [t, d, b, h] and the final states.
   With `batch_first`, x is [b, t, i], states are [b, d, h] and y is [b, t, d, h].

   gru and lstm have the activations tanh and sigmoid, rnn has tanh or relu; no others are
   supported. After the end of a sequence y is 0 and the states no longer change. */
#include "ops/operator/op.h"
#include <math.h>
#include <stdlib.h>
/* VARIANT is the attribute that differs between the operators. */
enum { DIRECTION, HIDDEN, BATCH_FIRST, VARIANT };
#define SHARED_ATTRS                                                                \
    [DIRECTION] = {"direction", A_ENUM, "forward", "forward reverse bidirectional", \
                   .draw = "forward reverse bidirectional"},                        \
    [HIDDEN] = {.name = "hidden", .kind = A_INT},                                   \
    [BATCH_FIRST] = {"batch_first", A_ENUM, "no", "no yes", .draw = "no yes"}
static const AttrDef rnn_attrs[] = {
    SHARED_ATTRS, [VARIANT] = {"activation", A_ENUM, "tanh", "tanh relu", .draw = "tanh"}, {0}};
static const AttrDef gru_attrs[] = {
    SHARED_ATTRS, [VARIANT] = {"linear_first", A_ENUM, "no", "no yes", .draw = "no yes"}, {0}};
static const AttrDef lstm_attrs[] = {
    SHARED_ATTRS, [VARIANT] = {"coupled", A_ENUM, "no", "no yes", .draw = "no"}, {0}};
enum { X, W, R, BIAS, LENGTHS, H0, C0, PEEPHOLES };
enum { RNN = 1, GRU = 3, LSTM = 4 }; /* by the number of gates */

/* Requires that an optional input has these sizes; returns false if its rank differs. */
static bool fits(Call *c, int input, Dims want) {
    if (!has(c, input)) return true;
    Dims have = c->in[input]->dim;
    for (int k = 0; k < have.n && have.n == want.n; k++) need_eq(c, have.v[k], want.v[k]);
    return have.n == want.n;
}
static const char *shape_of(Call *c, int gates) {
    Dims x = c->in[X]->dim, w = c->in[W]->dim, r = c->in[R]->dim;
    Poly d = poly(c, enum_value(c, DIRECTION) == RECURRENT_BOTH ? "2" : "1"), h = intof(c, HIDDEN),
         gh = poly_scale(c->w, h, gates);
    if (x.n != 3 || w.n != 3 || r.n != 3) return "x, w and r must have three axes";
    bool first = enum_value(c, BATCH_FIRST);
    Poly time = x.v[first], batch = x.v[!first];
    need_eq(c, w.v[0], d), need_eq(c, w.v[1], gh), need_eq(c, w.v[2], x.v[2]);
    need_eq(c, r.v[0], d), need_eq(c, r.v[1], gh), need_eq(c, r.v[2], h);
    Dims states = first ? (Dims){3, {batch, d, h}} : (Dims){3, {d, batch, h}};
    if (!fits(c, BIAS, (Dims){2, {d, poly_scale(c->w, gh, 2)}}) ||
        !fits(c, LENGTHS, (Dims){1, {batch}}) || !fits(c, H0, states) || !fits(c, C0, states) ||
        !fits(c, PEEPHOLES, (Dims){2, {d, poly_scale(c->w, h, 3)}}))
        return "bias, lengths, states or peepholes have the wrong number of axes";
    for (int j = 0; j < c->nout; j++) c->out[j] = *c->in[X];
    c->out[0].dim = first ? (Dims){4, {batch, time, d, h}} : (Dims){4, {time, d, batch, h}};
    for (int j = 1; j < c->nout; j++) c->out[j].dim = states;
    return is_float(c->in[X]) ? NULL : "not supported for this element type";
}
/* In each step the input and the state are multiplied by all weights of their direction. */
static Poly work_of(Call *c, int gates) {
    Dims x = c->in[X]->dim, y = c->out[0].dim;
    const Poly terms = poly(c, "2*i + 2*h", x.v[2], intof(c, HIDDEN));
    return poly_scale(c->w, poly(c, "n*t", product(c, y, 0, y.n), terms), gates);
}
static Poly work_rnn(Call *c) { return work_of(c, RNN); }
static Poly work_gru(Call *c) { return work_of(c, GRU); }
static Poly work_lstm(Call *c) { return work_of(c, LSTM); }
static const char *shape_rnn(Call *c) { return shape_of(c, RNN); }
static const char *shape_gru(Call *c) { return shape_of(c, GRU); }
static const char *shape_lstm(Call *c) { return shape_of(c, LSTM); }
static bool domain(Call *c, int input, Poly *low, Poly *high) {
    return input == LENGTHS && up_to(c, c->in[X]->dim.v[enum_value(c, BATCH_FIRST)], low, high);
}
static int params(Call *c, int64_t param[]) {
    param[RECURRENT_DIRECTION] = enum_value(c, DIRECTION);
    param[RECURRENT_BATCH_FIRST] = enum_value(c, BATCH_FIRST);
    param[RECURRENT_OPTION] = enum_value(c, VARIANT);
    return 3;
}

/* Whether this is a single time step in one direction from given states. Only this case has a
   definition, so rules can state only this case. */
static bool is_cell(Call *c) {
    Dims x = c->in[X]->dim;
    int64_t times;
    if (enum_value(c, DIRECTION) == RECURRENT_BOTH || enum_value(c, VARIANT) || c->nin <= C0 ||
        !c->in[H0] || !c->in[C0])
        return false;
    if (c->in[LENGTHS] || has(c, PEEPHOLES)) return false;
    return is_const(c, x.v[enum_value(c, BATCH_FIRST)], &times) && times == 1;
}
/* The index of element k of batch b in a state, or in x, which then has one time step. */
static Dims place(Call *c, Poly b, Poly k) {
    Poly zero = poly(c, "0");
    return enum_value(c, BATCH_FIRST) ? (Dims){3, {b, zero, k}} : (Dims){3, {zero, b, k}};
}
/* The sum to which gate g applies its activation, for element k of batch b. */
static Ex gate(Call *c, int g, Poly b, Poly k) {
    static const char *const rows[] = {"0*h + k", "h + k", "2*h + k", "3*h + k"};
    Poly h = intof(c, HIDDEN), zero = poly(c, "0"), row = poly(c, rows[g], h, k);
    Dims j = bound(c, dims_tail(c->in[X]->dim, 1)), l = bound(c, (Dims){1, {h}});
    Ex from_input =
        sum(c, j, (Cond){0},
            mul(c, at(c, X, place(c, b, j.v[0])), at(c, W, (Dims){3, {zero, row, j.v[0]}})));
    Ex from_state =
        sum(c, l, (Cond){0},
            mul(c, at(c, H0, place(c, b, l.v[0])), at(c, R, (Dims){3, {zero, row, l.v[0]}})));
    Ex y = add(c, from_input, from_state);
    if (!c->in[BIAS]) return y;
    y = add(c, y, at(c, BIAS, (Dims){2, {zero, row}}));
    return add(c, y, at(c, BIAS, (Dims){2, {zero, poly(c, "4*h + r", h, row)}}));
}
static Ex define_lstm(Call *c, Dims i) {
    enum { IN, OUT, KEEP, CELL };
    if (!is_cell(c)) return 0;
    Poly b = i.v[enum_value(c, BATCH_FIRST) ? 0 : i.n - 2], k = i.v[i.n - 1];
    Ex kept = mul(c, fn(c, FN_SIGMOID, gate(c, KEEP, b, k)), at(c, C0, place(c, b, k)));
    Ex next = add(
        c, kept, mul(c, fn(c, FN_SIGMOID, gate(c, IN, b, k)), fn(c, FN_TANH, gate(c, CELL, b, k))));
    return c->port == 2 ? next
                        : mul(c, fn(c, FN_SIGMOID, gate(c, OUT, b, k)), fn(c, FN_TANH, next));
}

typedef struct Cell { /* the state of a kernel call */
    const Step *s;
    void *const *slot;
    int nout, gates;
    int64_t hidden, d, b, t; /* the current direction, batch and time step */
} Cell;
static const View *input(const Cell *c, int k) {
    int view = c->nout + k;
    return view < c->s->nview && c->s->view[view].rank >= 0 ? &c->s->view[view] : NULL;
}
static double cell_element(const Cell *c, const View *v, const int64_t i[]) {
    return kernel_real(v, c->slot, kernel_at(v, i));
}
static bool batch_first(const Cell *c) { return c->s->param[RECURRENT_BATCH_FIRST] != 0; }
/* The offset of element k of a state, given or returned. */
static int64_t state_at(const Cell *c, const View *v, int64_t k) {
    return kernel_at(v, batch_first(c) ? (int64_t[]){c->b, c->d, k} : (int64_t[]){c->d, c->b, k});
}
static double state(const Cell *c, int j, int64_t k) {
    return kernel_real(&c->s->view[j], c->slot, state_at(c, &c->s->view[j], k));
}
static void set_state(const Cell *c, int j, int64_t k, double x) {
    kernel_set_real(&c->s->view[j], c->slot, state_at(c, &c->s->view[j], k), x);
}

static double from_x(const Cell *c, int gate, int64_t k) {
    const View *x = input(c, X), *w = input(c, W), *bias = input(c, BIAS);
    int64_t row = gate * c->hidden + k;
    KernelRow now = kernel_row(
        x, c->slot, batch_first(c) ? (int64_t[]){c->b, c->t, 0} : (int64_t[]){c->t, c->b, 0});
    return (bias ? cell_element(c, bias, (int64_t[]){c->d, row}) : 0) +
           kernel_dot(now, kernel_row(w, c->slot, (int64_t[]){c->d, row, 0}), x->dim[2]);
}
/* The contribution of the state h to a gate. */
static double from_h(const Cell *c, int gate, int64_t k, const double h[]) {
    const View *r = input(c, R), *bias = input(c, BIAS);
    int64_t row = gate * c->hidden + k;
    return (bias ? cell_element(c, bias, (int64_t[]){c->d, c->gates * c->hidden + row}) : 0) +
           kernel_dot((KernelRow){DT_DOUBLE, h, 0, 1},
                      kernel_row(r, c->slot, (int64_t[]){c->d, row, 0}), c->hidden);
}
static double peephole(const Cell *c, int which, int64_t k, double x) {
    const View *p = input(c, PEEPHOLES);
    return p ? x * cell_element(c, p, (int64_t[]){c->d, which * c->hidden + k}) : 0;
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Rows with one number for each hidden unit. */
typedef struct States {
    double *h, *next, *gate;
} States;
static void step_rnn(const Cell *c, States *s) {
    for (int64_t k = 0; k < c->hidden; k++) {
        double z = from_x(c, 0, k) + from_h(c, 0, k, s->h);
        s->next[k] = c->s->param[RECURRENT_OPTION] ? (z > 0 ? z : 0) : tanh(z);
    }
}
/* The gates are in ONNX's order: update, reset, hidden. */
static void step_gru(const Cell *c, States *s) {
    for (int64_t k = 0; k < c->hidden; k++) {
        double reset = sigmoid(from_x(c, 1, k) + from_h(c, 1, k, s->h));
        s->gate[k] = c->s->param[RECURRENT_OPTION] ? reset : reset * s->h[k];
    }
    for (int64_t k = 0; k < c->hidden; k++) {
        double update = sigmoid(from_x(c, 0, k) + from_h(c, 0, k, s->h));
        double inner = c->s->param[RECURRENT_OPTION] ? s->gate[k] * from_h(c, 2, k, s->h)
                                                     : from_h(c, 2, k, s->gate);
        s->next[k] = (1 - update) * tanh(from_x(c, 2, k) + inner) + update * s->h[k];
    }
}
/* The gates are in ONNX's order: input, output, forget, cell. The cell is state 2. */
static void step_lstm(const Cell *c, States *s) {
    for (int64_t k = 0; k < c->hidden; k++) {
        double cell = state(c, 2, k);
        double in = sigmoid(from_x(c, 0, k) + from_h(c, 0, k, s->h) + peephole(c, 0, k, cell));
        double keep =
            c->s->param[RECURRENT_OPTION]
                ? 1 - in
                : sigmoid(from_x(c, 2, k) + from_h(c, 2, k, s->h) + peephole(c, 2, k, cell));
        double next = keep * cell + in * tanh(from_x(c, 3, k) + from_h(c, 3, k, s->h));
        double out = sigmoid(from_x(c, 1, k) + from_h(c, 1, k, s->h) + peephole(c, 1, k, next));
        set_state(c, 2, k, next);
        s->next[k] = out * tanh(next);
    }
}

static void put_y(const Cell *c, int64_t k, double x) {
    const View *y = &c->s->view[0];
    kernel_set_real(y, c->slot,
                    kernel_at(y, batch_first(c) ? (int64_t[]){c->b, c->t, c->d, k}
                                                : (int64_t[]){c->t, c->d, c->b, k}),
                    x);
}
static void run_sequence(Cell *c, States *s, void (*step)(const Cell *, States *), bool backwards,
                         int64_t length, int64_t times) {
    for (int j = 1; j < c->nout; j++) {
        const View *first = input(c, j == 1 ? H0 : C0);
        for (int64_t k = 0; k < c->hidden; k++)
            set_state(c, j, k, first ? kernel_real(first, c->slot, state_at(c, first, k)) : 0);
    }
    for (int64_t k = 0; k < c->hidden; k++) s->h[k] = state(c, 1, k);
    for (int64_t n = 0; n < times; n++) {
        c->t = n >= length ? n : backwards ? length - 1 - n : n;
        if (n < length) step(c, s);
        for (int64_t k = 0; k < c->hidden; k++) {
            if (n < length) s->h[k] = s->next[k];
            put_y(c, k, n < length ? s->h[k] : 0);
        }
    }
    for (int64_t k = 0; k < c->hidden; k++) set_state(c, 1, k, s->h[k]);
}
static int run_cells(const Step *s, void *const slot[], int gates,
                     void (*step)(const Cell *, States *)) {
    enum { SMALL = 4096 }; /* hidden units; a longer state takes memory from the heap */
    Cell c = {.s = s, .slot = slot, .nout = (int)s->param[OP_OUTPUTS], .gates = gates};
    const View *x = input(&c, X), *lengths = input(&c, LENGTHS), *r = input(&c, R);
    const int64_t times = x->dim[batch_first(&c)], batches = x->dim[!batch_first(&c)];
    const size_t n = (size_t)r->dim[2];
    double small[3 * SMALL], *room = n > SMALL ? malloc(3 * n * sizeof *room) : small;
    States states = {room, room + n, room + 2 * n};
    int status = room ? 0 : -1;
    c.hidden = r->dim[2];
    for (c.d = 0; c.d < r->dim[0] && !status; c.d++)
        for (c.b = 0; c.b < batches && !status; c.b++) {
            const int64_t length =
                lengths ? kernel_integer(lengths, slot, kernel_at(lengths, &c.b)) : times;
            if (length < 0 || length > times) status = -1;
            else
                run_sequence(&c, &states, step,
                             s->param[RECURRENT_DIRECTION] == RECURRENT_REVERSE || c.d == 1, length,
                             times);
        }
    if (room != small) free(room);
    return status;
}
static int kernel_rnn(const Step *s, void *const slot[]) {
    return run_cells(s, slot, RNN, step_rnn);
}
static int kernel_gru(const Step *s, void *const slot[]) {
    return run_cells(s, slot, GRU, step_gru);
}
static int kernel_lstm(const Step *s, void *const slot[]) {
    return run_cells(s, slot, LSTM, step_lstm);
}

#define FORM "rank:3 direction hidden:recurrent "
#define OLD "batch_first=no! " /* opsets without the attribute layout */
#define NEW "batch_first=layout "
#define RNN_FORM "activation:recurrent"
#define GRU_FORM "linear_first=linear_before_reset activations:gru"
#define LSTM_FORM "coupled=input_forget activations:lstm"
static const OnnxMap onnx_rnn[] = {
    {"", "RNN", 14, 0, FORM NEW RNN_FORM}, {"", "RNN", 7, 13, FORM OLD RNN_FORM}, {0}};
static const OnnxMap onnx_gru[] = {
    {"", "GRU", 14, 0, FORM NEW GRU_FORM}, {"", "GRU", 7, 13, FORM OLD GRU_FORM}, {0}};
static const OnnxMap onnx_lstm[] = {
    {"", "LSTM", 14, 0, FORM NEW LSTM_FORM}, {"", "LSTM", 7, 13, FORM OLD LSTM_FORM}, {0}};
const Op op_rnn = {"rnn",
                   "x w r bias? lengths? h0?",
                   "y h",
                   rnn_attrs,
                   shape_rnn,
                   .domain = domain,
                   .kernel = kernel_rnn,
                   .params = params,
                   .work = work_rnn,
                   .onnx = onnx_rnn};
const Op op_gru = {"gru",
                   "x w r bias? lengths? h0?",
                   "y h",
                   gru_attrs,
                   shape_gru,
                   .domain = domain,
                   .kernel = kernel_gru,
                   .params = params,
                   .work = work_gru,
                   .onnx = onnx_gru};
const Op op_lstm = {"lstm",
                    "x w r bias? lengths? h0? c0? peepholes?",
                    "y h c",
                    lstm_attrs,
                    shape_lstm,
                    define_lstm,
                    .domain = domain,
                    .kernel = kernel_lstm,
                    .params = params,
                    .work = work_lstm,
                    .onnx = onnx_lstm,
                    .flags = OP_BY_DATA};
