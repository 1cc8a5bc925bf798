/* taso_write.c -- turns a rule's instance into one of TASO's rules, and that into bytes. Where TASO
   wants a number and the rule leaves it open, one is chosen: strides of 1, windows of 3, the same
   padding everywhere. The caller checks whether what TASO reads back is still the rule
   (export_taso.c). */
#include "graphs/onnx/file/wire.h"
#include "rules/taso_write.h"
#include <string.h>

enum { IMAGE = 4, MATRICES = 6, OPEN_WINDOW = 3 };
typedef struct Maker {
    World *w;
    Arena *arena;
    const Instance *i;
    TasoRule *rule;
    TasoTensor *at; /* for each value */
    int side, pad;
    const char *why;
} Maker;

static bool taso_refuse(Maker *m, const char *why) {
    m->why = why;
    return false;
}

/* ---- attributes as TASO's numbers */

static const Attr *attr_of(const Node *n, const Attr attr[], const char *name) {
    int k = attrs_find(n->op->attrs, name);
    return k < 0 ? NULL : &attr[k];
}

/* Entry k of a list, or `open` if it is not a small number. */
static int list_entry(const Maker *m, const Attr *a, int k, int open) {
    int64_t v;
    bool small = a && k < a->ints.n && poly_constant(m->w, a->ints.v[k], &v) && v >= 0 && v < 1000;
    return small ? (int)v : open;
}

static Dims dims(const Maker *m, Value v) { return value_type(m->w, v)->dim; }

static int size_number(const Maker *m, Poly p) {
    int64_t v;
    return poly_constant(m->w, p, &v) && v >= 0 && v < 1000 ? (int)v : TASO_NONE;
}

static void set_windows(Maker *m, TasoOp *op, const Attr *strides, int h, int w) {
    op->parameter[TASO_PM_KERNEL_H] = h;
    op->parameter[TASO_PM_KERNEL_W] = w;
    op->parameter[TASO_PM_STRIDE_H] = list_entry(m, strides, 0, 1);
    op->parameter[TASO_PM_STRIDE_W] = list_entry(m, strides, 1, 1);
    op->parameter[TASO_PM_PAD] = m->pad;
    op->parameter[TASO_PM_ACTI] = 0;
}

static void set_permutation(Maker *m, TasoOp *op, const Attr *perm, int rank) {
    int code = 0;
    for (int k = 0; k < rank; k++) code = code * rank + list_entry(m, perm, k, 0);
    op->parameter[TASO_PM_PERM] = code;
    op->parameter[TASO_PM_OUTSHUFFLE] = 1;
    op->parameter[TASO_PM_NUMDIM] = rank;
}

/* ---- operators */

static bool put_plain(Maker *m, const Node *n, TasoOp *op) {
    const int kind = taso_plain_kind(n->op);
    if (kind == TASO_NONE) return false;
    op->kind = kind;
    if (op->kind == TASO_EW_MUL && !dims(m, n->in[1]).n && dims(m, n->in[0]).n) op->kind = TASO_MUL;
    else if (n->nin == 2 && dims(m, n->in[0]).n != dims(m, n->in[1]).n)
        taso_refuse(m, "operands of different rank");
    if (op->kind == TASO_MATMUL) {
        op->parameter[TASO_PM_ACTI] = 0;
        if (dims(m, n->in[0]).n != 2) taso_refuse(m, "matrix products of rank above 2");
    }
    return true;
}

static void put_joined(Maker *m, const Node *n, const Attr attr[], TasoOp *op) {
    bool split = n->op == &op_split;
    op->kind = split ? TASO_SPLIT : TASO_CONCAT;
    op->parameter[split ? TASO_PM_NUM_OUTPUTS : TASO_PM_NUM_INPUTS] = split ? n->nout : n->nin;
    op->parameter[TASO_PM_AXIS] = list_entry(m, attr_of(n, attr, "axis"), 0, TASO_NONE);
    if (!split) op->parameter[TASO_PM_NUMDIM] = dims(m, n->in[0]).n;
    if (split && n->nout != 2) taso_refuse(m, "a split into a number of pieces other than two");
}

static void windowed(Maker *m, const Node *n, const Attr attr[], TasoOp *op) {
    const Attr *strides = attr_of(n, attr, "strides"), *kernel = attr_of(n, attr, "kernel");
    bool conv = n->op == &op_conv;
    if (dims(m, n->in[0]).n != IMAGE) taso_refuse(m, "images whose rank is not 4");
    else if (conv && op->nin != 2) taso_refuse(m, "a convolution with a bias");
    else if (conv)
        set_windows(m, op, strides, size_number(m, dims(m, n->in[1]).v[2]),
                    size_number(m, dims(m, n->in[1]).v[3]));
    else
        set_windows(m, op, strides, list_entry(m, kernel, 0, OPEN_WINDOW),
                    list_entry(m, kernel, 1, OPEN_WINDOW));
}

static void kernel_of(Maker *m, const Node *n, const Attr attr[], TasoOp *op) {
    const Attr *kernel = attr_of(n, attr, "kernel");
    if (!kernel) return;
    op->parameter[TASO_PM_KERNEL_H] = list_entry(m, kernel, 0, OPEN_WINDOW);
    op->parameter[TASO_PM_KERNEL_W] = list_entry(m, kernel, 1, OPEN_WINDOW);
}

static bool put_operator(Maker *m, const Node *n, TasoOp *op) {
    static const struct {
        const Op *op;
        TasoKind kind;
        void (*set)(Maker *, const Node *, const Attr[], TasoOp *);
    } table[] = {{&op_conv, TASO_CONV2D, windowed},
                 {&op_maxpool, TASO_POOL2D_MAX, windowed},
                 {&op_averagepool, TASO_POOL2D_AVG, windowed},
                 {&op_concat, TASO_CONCAT, put_joined},
                 {&op_split, TASO_SPLIT, put_joined},
                 {&op_enlarge, TASO_ENLARGE, kernel_of},
                 {&op_band, TASO_CONSTANT_IMM, kernel_of},
                 {&op_identitykernel, TASO_CONSTANT_ICONV, kernel_of},
                 {&op_averagekernel, TASO_CONSTANT_POOL, kernel_of}};
    Attr attr[ATTRS_MAX];
    sig_attr(m->w, n->sig, attr);
    if (put_plain(m, n, op)) return !m->why;
    if (n->op == &op_transpose) {
        op->kind = TASO_TRANSPOSE;
        set_permutation(m, op, attr_of(n, attr, "perm"), dims(m, n->in[0]).n);
        return true;
    }
    size_t k = 0, count = sizeof table / sizeof *table;
    while (k < count && table[k].op != n->op) k++;
    if (k == count)
        return taso_refuse(m, arena_format(m->arena, "%s has no counterpart in TASO", n->op->name));
    op->kind = (int)table[k].kind;
    table[k].set(m, n, attr, op);
    return !m->why;
}

static bool make_op(Maker *m, NodeId id) {
    TasoSide *s = &m->rule->side[m->side];
    Node n = node_get(m->w, id);
    if (input_name(m->w, n.out)) return true;
    if (s->n == TASO_NODES || n.nin > TASO_INPUTS) return taso_refuse(m, "too large");
    TasoOp *op = &s->op[s->n];
    *op = (TasoOp){.nin = n.nin};
    while (op->nin && !n.in[op->nin - 1]) op->nin--;
    for (int k = 0; k < TASO_PARAMETER_COUNT; k++) op->parameter[k] = TASO_NONE;
    for (int k = 0; k < op->nin; k++) {
        if (!n.in[k]) return taso_refuse(m, "an input that is left out");
        op->in[k] = m->at[n.in[k]];
    }
    if (!put_operator(m, &n, op)) return false;
    for (int k = 0; k < n.nout; k++) m->at[n.out + (Value)k] = (TasoTensor){s->n, k};
    s->n++;
    return true;
}

/* ---- the rule */

/* Numbers the inputs. Where nothing else fixes a rank, TASO takes variables up to -6 as
   matrices. */
static bool name_inputs(Maker *m) {
    int matrix = 1, image = MATRICES + 1;
    for (int k = 0; k < m->i->ninput; k++) {
        const Type *t = value_type(m->w, m->i->input[k]);
        int number = t->dim.n == 2 && matrix <= MATRICES ? matrix++ : image++;
        if (t->dtype != DT_FLOAT) return taso_refuse(m, "elements that are not floats");
        if (number >= TASO_VARIABLES) return taso_refuse(m, "too large");
        m->at[m->i->input[k]] = (TasoTensor){-number, 0};
    }
    return true;
}

static bool make_side(Maker *m, int side, const Graph *g) {
    NodeList live = graph_live(m->w, m->arena, g);
    m->side = side;
    for (int k = 0; k < live.n; k++)
        if (!make_op(m, live.v[k])) return false;
    for (int k = 0; k < g->nout; k++) {
        m->rule->out[k][side] = m->at[g->out[k]];
        if (m->at[g->out[k]].op < 0) return taso_refuse(m, "a result that is an input");
    }
    return true;
}

bool taso_make(World *w, Arena *a, const Instance *i, bool same, TasoRule *out, const char **why) {
    Maker m = {.w = w, .arena = a, .i = i, .rule = out, .pad = same ? 0 : 1};
    m.at = ARENA_NEW(a, TasoTensor, value_last(w) + 1);
    memset(out, 0, sizeof *out);
    out->nout = i->from.nout;
    bool good = out->nout <= TASO_OUTPUTS || taso_refuse(&m, "too large");
    good = good && name_inputs(&m) && make_side(&m, 0, &i->from) && make_side(&m, 1, &i->to);
    *why = m.why;
    return good;
}

/* ---- bytes */

static void put_number(Text *t, uint32_t number, int v) {
    wire_put_int(t, number, (uint64_t)(int64_t)v);
}

static void put_message(Text *t, uint32_t number, const Text *inner) {
    wire_put_bytes(t, number, inner->data ? inner->data : "", inner->size);
}

static void put_op(Text *t, uint32_t number, const TasoOp *op) {
    Text own = text_new(t->arena);
    put_number(&own, 1, op->kind);
    for (int k = 0; k < op->nin; k++) {
        Text in = text_new(t->arena);
        put_number(&in, 1, op->in[k].op);
        put_number(&in, 2, op->in[k].port);
        put_message(&own, 2, &in);
    }
    for (int k = 0; k < TASO_PARAMETER_COUNT; k++) {
        Text p = text_new(t->arena);
        if (op->parameter[k] == TASO_NONE) continue;
        put_number(&p, 1, k);
        put_number(&p, 2, op->parameter[k]);
        put_message(&own, 3, &p);
    }
    put_message(t, number, &own);
}

void taso_put(Text *t, const TasoRule *rule) {
    Text own = text_new(t->arena);
    for (uint32_t s = 0; s < 2; s++)
        for (int k = 0; k < rule->side[s].n; k++) put_op(&own, s + 1, &rule->side[s].op[k]);
    for (int k = 0; k < rule->nout; k++) {
        Text out = text_new(t->arena);
        put_number(&out, 1, rule->out[k][0].op);
        put_number(&out, 2, rule->out[k][1].op);
        put_number(&out, 3, rule->out[k][0].port);
        put_number(&out, 4, rule->out[k][1].port);
        put_message(&own, 3, &out);
    }
    put_message(t, 1, &own);
}
