/* written_out.c -- writes out the question's nodes: a composite as its expansion, any other node as
   the operators that its definition is made of (tabulate.h), and windows over one axis as windows
   over two.

   The results are terms of the bank from the beginning. If the question is this node alone they are
   answers, too, up to a generous limit on the estimated cost, since a target may lack a fast kernel
   for the operator. */
#include "generator/discover/answer_inner.h"
#include "generator/discover/tabulate.h"
#include <string.h>

enum {
    NODES_MOST = 80,
    TERMS_MOST = 16 /* a graph with more nodes may be an answer, but its parts are not terms */
};

static void put_all(Search *s, Value v, const Node *node) {
    bool fresh;
    const Graph g = {0, 1, NULL, &v};
    const NodeList live = graph_live(s->w, s->a, &g);
    for (int k = 0; k < live.n && live.n <= TERMS_MOST; k++) {
        const Node n = node_get(s->w, live.v[k]);
        bool old = input_name(s->w, n.out) || n.out == node->out;
        for (int j = 0; j < node->nin; j++) old |= n.out == node->in[j];
        if (!old) term_put(s, n.out, 0, 1, &fresh);
    }
}

/* Whether the question has one node on data. What replaces one operator need not be found again in
   larger questions. */
static bool has_one_node(Search *s) {
    int n = 0;
    for (int k = 0; k < s->live.n; k++)
        n += !value_is_constant(s, s->live.v[k]) && !input_name(s->w, s->live.v[k]);
    return n == 1;
}

/* Takes note of the question with the node's results computed in another way. */
static void answer_with(Search *s, const Node *node, const Value out[], const char *how) {
    Value from[PROGRAM_INPUTS];
    Graph y;
    ValueMap map;
    Error ignored = {0};
    if (!has_one_node(s)) return;
    for (int j = 0; j < node->nout; j++) {
        if (!out[j] || j == PROGRAM_INPUTS) return;
        from[j] = node->out + (Value)j;
    }
    if (graph_substitute(s->w, s->a, &s->g, &(Substitution){node->nout, from, out}, &y, &map,
                         &ignored))
        question_met(s, y.out, how, 0);
}

static void write_out(Search *s, const Node *n, const Value out[], const char *how) {
    for (int j = 0; j < n->nout; j++)
        if (out[j]) put_all(s, out[j], n);
    answer_with(s, n, out, how);
}

/* ---- one axis more */

/* Inserts the attribute's default into the list for the new axis. Returns false if there is no
   default. */
static bool list_with(Search *s, const AttrDef *def, int rank, int at, PolyList *list) {
    const int spatial = at - 2, n = list->n;
    Attr usual;
    Poly *v = ARENA_NEW(s->a, Poly, 2 * RANK_MAX);
    int m = 0;
    if (!attr_default(s->w, def, rank + 1, &usual) || rank + 1 > RANK_MAX) return false;
    for (int k = 0; k <= n; k++) {
        const bool fresh = k == spatial || (def->fill == PER_SIDE && k == spatial + n / 2);
        if (fresh) v[m++] = usual.ints.v[0];
        if (k < n) v[m++] = list->v[k];
    }
    *list = (PolyList){m, v};
    return m == usual.ints.n;
}

static Value reshaped(Search *s, Value v, Dims dim) {
    Attr attr[ATTRS_MAX] = {0};
    const char *why;
    attr[0].ints = (PolyList){dim.n, arena_copy(s->a, dim.v, (size_t)dim.n * sizeof *dim.v)};
    return node_make(s->w, &op_reshape, attr, 1, &v, 1, &why);
}

static Dims with_one(Search *s, Dims x, int at) {
    Dims y = {x.n + 1, {0}};
    for (int k = 0; k < y.n; k++) y.v[k] = k == at ? poly_int(s->w, 1) : x.v[k < at ? k : k - 1];
    return y;
}

/* Computes the node's outputs by the same operator on inputs with one more axis, of size 1. */
static bool raised(Search *s, const Node *n, int at, Value out[]) {
    const int rank = value_type(s->w, n->in[0])->dim.n;
    Attr attr[ATTRS_MAX];
    const char *why;
    Value *in = ARENA_NEW(s->a, Value, n->nin);
    bool any = false;
    sig_attr(s->w, n->sig, attr);
    for (int k = 0; k < attrs_count(n->op->attrs); k++) {
        const AttrDef *def = &n->op->attrs[k];
        if (def->kind != A_INTS || (def->fill != PER_SPATIAL && def->fill != PER_SIDE)) continue;
        any = true;
        if (!list_with(s, def, rank, at, &attr[k].ints)) return false;
    }
    for (int k = 0; k < n->nin; k++) {
        const Dims dim = n->in[k] ? value_type(s->w, n->in[k])->dim : (Dims){0};
        in[k] = dim.n == rank ? reshaped(s, n->in[k], with_one(s, dim, at)) : n->in[k];
        if (n->in[k] && !in[k]) return false;
    }
    const Value y = any ? node_make(s->w, n->op, attr, n->nin, in, n->nout, &why) : 0;
    for (int j = 0; j < n->nout && y; j++) {
        const Type *t = value_type(s->w, n->out + (Value)j);
        const Dims want = with_one(s, t->dim, at);
        if (!dims_equal(&want, &value_type(s->w, y + (Value)j)->dim)) return false;
        if (!(out[j] = reshaped(s, y + (Value)j, t->dim))) return false;
    }
    return y != 0;
}

/* Writes windows over one axis as windows over two, for which targets have fast kernels. */
static void write_raised(Search *s, const Node *n) {
    enum { RANK = 3 };
    Value *out = ARENA_NEW(s->a, Value, n->nout);
    if (!n->nin || !n->in[0] || value_type(s->w, n->in[0])->dim.n != RANK) return;
    for (int at = 2; at <= RANK; at++)
        if (raised(s, n, at, out)) write_out(s, n, out, "one axis more");
}

void terms_written_out(Search *s) {
    for (int k = 0; k < s->live.n; k++) {
        const Node n = node_get(s->w, s->live.v[k]);
        if (input_name(s->w, n.out) || value_is_constant(s, n.out)) continue;
        Error ignored = {0};
        Value *out = ARENA_NEW(s->a, Value, n.nout);
        write_raised(s, &n);
        if (n.op->expand) {
            if (node_expand(s->w, s->a, n.out, out, &ignored)) write_out(s, &n, out, "written out");
            continue;
        }
        for (int share = SHARE_NOTHING; share <= SHARE_FUNCTIONS; share++)
            if (node_tabulate(s->w, s->a, &s->g, n.out, (TabulateShare)share, NODES_MOST, out))
                write_out(s, &n, out, "written out");
    }
}
