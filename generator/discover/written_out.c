/* written_out.c -- the question's nodes written out: a composite as its expansion, and an operator
   that works element by element as the operators that its definition is made of. They are terms of
   the bank from the beginning, since a target may lack a fast kernel for the operator. */
#include "generator/discover/answer_inner.h"
#include <string.h>

typedef struct Writing {
    Search *s;
    Node node;
    const Type *out;
    int left; /* nodes that may still be made */
} Writing;

static Value made(Writing *x, const char *name, int n, const Value in[]) {
    const Op *op = op_find(name);
    const char *why;
    for (int k = 0; k < n; k++)
        if (!in[k]) return 0;
    return op && x->left-- > 0 ? node_make(x->s->w, op, NULL, n, in, 1, &why) : 0;
}

/* A number of the type of the result. */
static Value number(Writing *x, Ex e) {
    const AttrDef *defs = op_fill.attrs;
    Attr attr[ATTRS_MAX] = {0};
    const char *why;
    attr[attrs_find(defs, "value")].real = e;
    attr[attrs_find(defs, "dtype")].word = (int)x->out->dtype;
    return node_make(x->s->w, &op_fill, attr, 0, NULL, 1, &why);
}

/* Input k at the result's own place, or at that of its last axes. */
static Value element(Writing *x, const ExNode *e) {
    World *w = x->s->w;
    const int first = x->out->dim.n - e->n;
    if ((int)e->word >= x->node.nin || first < 0) return 0;
    const Value v = x->node.in[e->word];
    const Type *t = value_type(w, v);
    if (t->dtype != x->out->dtype || t->dim.n != e->n) return 0;
    for (int d = 0; d < e->n; d++)
        if (e->dims[d] != poly_symbol(w, symbol_index(w, (uint32_t)(first + d))) ||
            t->dim.v[d] != x->out->dim.v[first + d])
            return 0;
    return v;
}

static Value written_out(Writing *x, Ex e) {
    static const char *const functions[] = {
#define X(id, text) text,
        FUNCTIONS(X)
#undef X
    };
    ExNode n;
    ex_get(x->s->w, e, &n);
    if (x->left <= 0) return 0;
    if (n.kind == EX_NUM || n.kind == EX_REAL) return number(x, e);
    if (n.kind == EX_AT) return element(x, &n);
    const char *name = n.kind == EX_ADD    ? "add"
                       : n.kind == EX_MUL  ? "mul"
                       : n.kind == EX_MAX2 ? "max"
                       : n.kind == EX_MIN2 ? "min"
                       : n.kind == EX_POW  ? "pow"
                       : n.kind == EX_FN   ? functions[n.word]
                                           : NULL;
    if (!name) return 0;
    Value in[EX_CHILDREN] = {0};
    const int count = ex_children(n.kind);
    for (int k = 0; k < count; k++) in[k] = written_out(x, n.child[k]);
    return made(x, strcmp(name, "recip") != 0 ? name : "reciprocal", count, in);
}

static void put_all(Search *s, Value v, const Node *node) {
    bool fresh;
    const Graph g = {0, 1, NULL, &v};
    const NodeList live = graph_live(s->w, s->a, &g);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(s->w, live.v[k]);
        bool old = input_name(s->w, n.out) || n.out == node->out;
        for (int j = 0; j < node->nin; j++) old |= n.out == node->in[j];
        if (!old) term_put(s, n.out, 0, 1, &fresh);
    }
}

void terms_written_out(Search *s) {
    enum { MOST = 24 };
    for (int k = 0; k < s->live.n; k++) {
        const Node n = node_get(s->w, s->live.v[k]);
        if (input_name(s->w, n.out) || value_is_constant(s, n.out)) continue;
        Writing x = {s, n, value_type(s->w, n.out), MOST};
        Error ignored = {0};
        if (n.op->expand) {
            Value *out = ARENA_NEW(s->a, Value, n.nout);
            if (!node_expand(s->w, s->a, n.out, out, &ignored)) continue;
            for (int j = 0; j < n.nout; j++)
                if (out[j]) put_all(s, out[j], &n);
        } else if (n.op->define && n.nout == 1 && dtype_class(x.out->dtype) == 'F') {
            const Ex define = sig_define(s->w, n.sig, 0);
            const Value v = define ? written_out(&x, define) : 0;
            if (v && value_type_id(s->w, v) == value_type_id(s->w, n.out)) put_all(s, v, &n);
        }
    }
}
