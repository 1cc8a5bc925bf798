/* exchanged.c -- the question's operators in another order, as first terms of the bank.

   An operator is applied to the input of an element-wise operator in place of its result; with two
   inputs of one type exchanged; and, if a view follows, to views of its inputs. In this way
   operators with more inputs than growing tries (a choice, a quantization with its scale and zero
   point) move through views and out of operators that join several values. Whether such a term is
   useful is decided by its values. */
#include "generator/discover/answer_inner.h"
#include <string.h>

enum { INPUTS = PROGRAM_INPUTS, CHOSEN = 4 /* most inputs that are chosen one by one */ };

static bool is_data(Search *s, const Node *n) {
    return !input_name(s->w, n->out) && !value_is_constant(s, n->out) && n->nout == 1 &&
           n->nin <= INPUTS;
}
static bool same_dims(Search *s, Value a, Value b) {
    const Dims x = value_type(s->w, a)->dim, y = value_type(s->w, b)->dim;
    return dims_equal(&x, &y);
}

static void put(Search *s, const Op *op, const Attr attr[], int nin, const Value in[]) {
    const char *why;
    bool fresh;
    const Value v = node_make(s->w, op, attr, nin, in, 1, &why);
    for (int k = 0; k < s->g.nout; k++)
        if (s->g.out[k] == v) return; /* the result itself is not a term */
    if (v && sig_fits(s, node_get(s->w, value_node(s->w, v)).sig)) term_put(s, v, 0, 0, &fresh);
}

/* ---- inputs in another order, and what they are made of */

/* The value from which v is computed element by element with constants (x for not(x) or for a
   dequantized x), or the input of a view. Returns 0 if there is none. */
static Value made_of(Search *s, Value v) {
    const Node n = node_get(s->w, value_node(s->w, v));
    if (!is_data(s, &n) || !n.nin || !n.in[0]) return 0;
    for (int k = 1; k < n.nin; k++)
        if (n.in[k] && !value_is_constant(s, n.in[k])) return 0;
    return n.in[0];
}

static void put_swapped(Search *s, const Node *n, const Attr attr[], const Value in[]) {
    Value other[INPUTS];
    put(s, n->op, attr, n->nin, in);
    for (int k = 0; k < n->nin; k++)
        for (int j = k + 1; j < n->nin; j++) {
            if (!in[k] || !in[j] || value_type_id(s->w, in[k]) != value_type_id(s->w, in[j]))
                continue;
            memcpy(other, in, sizeof other);
            other[k] = in[j], other[j] = in[k];
            put(s, n->op, attr, n->nin, other);
        }
}

static void put_before(Search *s, const Node *n) {
    Attr attr[ATTRS_MAX];
    sig_attr(s->w, n->sig, attr);
    if (n->nin > CHOSEN) return;
    for (unsigned set = 0; set < 1u << n->nin && s->evaluations_left > 0; set++) {
        Value in[INPUTS] = {0};
        bool good = true;
        for (int k = 0; k < n->nin && good; k++) {
            in[k] = n->in[k] && set >> k & 1 ? made_of(s, n->in[k]) : n->in[k];
            good = in[k] || !n->in[k];
            good = good && (n->in[k] || !(set >> k & 1));
        }
        if (good) put_swapped(s, n, attr, in);
    }
}

/* ---- the last operator of all inputs, applied once to the result */

/* Whether two nodes have the same operator and attributes, and the same inputs but the first. */
static bool does_the_same(Search *s, const Node *a, const Node *b) {
    Attr x[ATTRS_MAX], y[ATTRS_MAX];
    bool same = a->op == b->op && a->nin == b->nin;
    for (int k = 1; k < a->nin && same; k++) same = a->in[k] == b->in[k];
    if (!same) return false;
    sig_attr(s->w, a->sig, x);
    sig_attr(s->w, b->sig, y);
    for (int k = 0; k < attrs_count(a->op->attrs) && same; k++)
        same = attr_equal(&a->op->attrs[k], &x[k], &y[k]);
    return same;
}

/* If the same operator makes all inputs of the node, applies the node to the inputs of that
   operator, and the operator to the result. */
static void put_joined(Search *s, const Node *n) {
    Attr attr[ATTRS_MAX], own[ATTRS_MAX];
    Value in[INPUTS] = {0}, outer[INPUTS] = {0};
    Node first = {0};
    const char *why;
    for (int k = 0; k < n->nin; k++) {
        const Node maker = n->in[k] ? node_get(s->w, value_node(s->w, n->in[k])) : (Node){0};
        if (!maker.op || !is_data(s, &maker) || !maker.nin || !maker.in[0]) return;
        if (!k) first = maker;
        else if (!does_the_same(s, &first, &maker)) return;
        in[k] = maker.in[0];
    }
    if (n->nin < 2) return;
    sig_attr(s->w, n->sig, own);
    sig_attr(s->w, first.sig, attr);
    memcpy(outer, first.in, (size_t)first.nin * sizeof *outer);
    outer[0] = node_make(s->w, n->op, own, n->nin, in, 1, &why);
    if (outer[0]) put(s, first.op, attr, first.nin, outer);
}

/* ---- views moved to the front */

/* Applies the node to views of its inputs that have the sizes of its result; others stay, for
   instance a scale. */
static bool put_viewed(Search *s, const Node *n, const Node *view, const Attr attr[]) {
    Attr own[ATTRS_MAX];
    Value in[INPUTS] = {0};
    const char *why;
    bool any = false;
    sig_attr(s->w, view->sig, own);
    for (int k = 0; k < n->nin; k++) {
        in[k] = n->in[k];
        if (!in[k] || !same_dims(s, in[k], n->out)) continue;
        if (!(in[k] = node_make(s->w, view->op, own, 1, &in[k], 1, &why))) return false;
        any = true;
    }
    if (any) put(s, n->op, attr, n->nin, in);
    return any;
}

/* Applies the node after the view, also along each other axis if it works along one. */
static void put_behind(Search *s, const Node *n, const Node *view) {
    Attr attr[ATTRS_MAX], other[ATTRS_MAX];
    sig_attr(s->w, n->sig, attr);
    if (!put_viewed(s, n, view, attr)) return;
    for (int k = 0; k < attrs_count(n->op->attrs); k++) {
        if (n->op->attrs[k].kind != A_INT || !n->op->attrs[k].axes) continue;
        memcpy(other, attr, sizeof other);
        for (int axis = 0; axis < value_type(s->w, view->out)->dim.n; axis++) {
            other[k].ints =
                (PolyList){1, arena_copy(s->a, (Poly[]){poly_int(s->w, axis)}, sizeof(Poly))};
            put_viewed(s, n, view, other);
        }
    }
}

void terms_exchanged(Search *s) {
    for (int k = 0; k < s->live.n; k++) {
        const Node n = node_get(s->w, s->live.v[k]);
        if (!is_data(s, &n)) continue;
        put_before(s, &n);
        put_joined(s, &n);
        for (int j = 0; j < s->live.n; j++) {
            const Node view = node_get(s->w, s->live.v[j]);
            if (is_data(s, &view) && view.nin == 1 && view.in[0] == n.out &&
                sig_source(s, view.sig))
                put_behind(s, &n, &view);
        }
    }
}
