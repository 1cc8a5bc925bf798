/* element_type.c -- makes an instance whose floats have another element type.

   What a rule says of F, it says of real numbers: the proof reads definitions, and these do not
   depend on the width of a float. Here this is checked for each node rather than assumed; a rule
   for which it does not hold has no such instance. Rules that mix element types of floats, or make
   floats of integers, have none either, since the integers that a float can hold depend on its
   width. */
#include "graphs/resize.h"
#include "graphs/rewrite.h"
#include "ops/core/element.h"
#include "rules/rule.h"
#include <string.h>

typedef struct Retyping {
    World *w;
    Arena *arena;
    DType to;
    Error *error;
} Retyping;

static bool is_float(const World *w, Value v) {
    return v && dtype_class(value_type(w, v)->dtype) == 'F';
}

static bool is_integer(const World *w, Value v) {
    return v && dtype_is_integer(value_type(w, v)->dtype);
}

/* Whether the expression uses elements of integer inputs as numbers, not only as indices. */
static bool counts_integers(const World *w, const Node *n, Ex e) {
    ExNode x;
    if (!e) return false;
    ex_get(w, e, &x);
    if (x.kind == EX_AT) return is_integer(w, n->in[x.word]);
    bool any = false;
    for (int k = x.kind == EX_TAKE; k < ex_children(x.kind) && !any; k++)
        any = counts_integers(w, n, x.child[k]);
    return any;
}

/* Fails for a node with floats of two types, or one that makes floats of integers. */
static bool floats_alone(const Retyping *x, const Node *n) {
    bool numbers = false, integers = false;
    for (int k = 0; k < n->nin + n->nout; k++) {
        const Value v = k < n->nin ? n->in[k] : n->out + (Value)(k - n->nin);
        if (is_float(x->w, v) && value_type(x->w, v)->dtype != DT_FLOAT)
            return error_set(x->error, E_INVALID, n->op->name, "has floats of two types");
        integers |= k < n->nin && is_integer(x->w, v);
    }
    for (int port = 0; port < n->nout && integers; port++) {
        const Ex e = sig_define(x->w, n->sig, port);
        numbers |= is_float(x->w, n->out + (Value)port) && (!e || counts_integers(x->w, n, e));
    }
    return !numbers || error_set(x->error, E_INVALID, n->op->name, "makes floats of integers");
}

/* Whether two expressions are equal except for the names of bound variables. */
static bool same_expression(const Retyping *x, Ex a, Ex b) {
    if (a == b || !a || !b) return a == b;
    const ArenaMark mark = arena_mark(x->w->scratch);
    Text s = text_new(x->w->scratch), t = text_new(x->w->scratch);
    ex_print(x->w, a, &s), ex_print(x->w, b, &t);
    const bool same = s.size == t.size && !memcmp(s.data, t.data, s.size);
    arena_reset(x->w->scratch, mark);
    return same;
}

/* Whether both nodes have the same definitions and needs. */
static bool defined_alike(const Retyping *x, const Node *a, const Node *b) {
    const SigInfo *s = sig_info(x->w, a->sig), *t = sig_info(x->w, b->sig);
    bool same = s->nneed == t->nneed && a->nout == b->nout;
    for (int k = 0; k < s->nneed && same; k++)
        same = s->need[k].p == t->need[k].p && s->need[k].eq == t->need[k].eq;
    for (int port = 0; port < a->nout && same; port++)
        same = same_expression(x, sig_define(x->w, a->sig, port), sig_define(x->w, b->sig, port));
    return same || error_set(x->error, E_INVALID, a->op->name, "means something else for %s",
                             dtype_name(x->to));
}

/* Makes the graph for the other type. Fails unless every node has the same meaning as before. */
static bool retype_side(const Retyping *x, const Graph *g, Graph *out) {
    World *w = x->w;
    NodePairs pairs;
    Graph expanded, expected, found;
    if (!graph_retype(w, x->arena, g, DT_FLOAT, x->to, out, NULL, x->error) ||
        !graph_expand(w, x->arena, g, &expanded, NULL, x->error) ||
        !graph_retype(w, x->arena, &expanded, DT_FLOAT, x->to, &expected, &pairs, x->error) ||
        !graph_expand(w, x->arena, out, &found, NULL, x->error))
        return false;
    for (int k = 0; k < found.nout; k++)
        if (found.out[k] != expected.out[k])
            return error_set(x->error, E_INVALID, "expansion", "differs for %s", dtype_name(x->to));
    for (int k = 0; k < pairs.live.n; k++) {
        const Node a = node_get(w, pairs.live.v[k]), b = node_get(w, pairs.made[k]);
        if (!floats_alone(x, &a) || (!input_name(w, a.out) && !defined_alike(x, &a, &b)))
            return false;
    }
    return true;
}

/* Fails if the other type makes 0 or infinity of a number of the rule that is an element. */
static bool keeps_numbers(const Retyping *x, const Graph *g) {
    const NodeList live = graph_live(x->w, x->arena, g);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(x->w, live.v[k]);
        Attr attr[ATTRS_MAX];
        sig_attr(x->w, n.sig, attr);
        if (is_float(x->w, n.out) && attrs_lost(x->w, n.op->attrs, attr, x->to) >= 0)
            return error_set(x->error, E_INVALID, n.op->name, "has a number that is lost in %s",
                             dtype_name(x->to));
    }
    return true;
}

/* Whether the other type rounds a number that is an element differently than F does: one that fills
   a tensor, or bounds or surrounds its elements. */
static bool rounds_numbers(const Retyping *x, const Graph *g) {
    const NodeList live = graph_live(x->w, x->arena, g);
    bool rounds = false;
    for (int k = 0; k < live.n && !rounds; k++) {
        const Node n = node_get(x->w, live.v[k]);
        Attr attr[ATTRS_MAX];
        double number;
        sig_attr(x->w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++)
            rounds |= (n.op->attrs[j].element || !n.nin) && n.op->attrs[j].kind == A_REAL &&
                      is_float(x->w, n.out) && ex_number(x->w, attr[j].real, &number) &&
                      element_nearest(x->to, number) != element_nearest(DT_FLOAT, number);
    }
    return rounds;
}

/* Whether a node of the graph has this variable as an attribute that is not an element, but a
   float32. */
static bool has_attribute(const Retyping *x, const Graph *g, Ex variable) {
    const NodeList live = graph_live(x->w, x->arena, g);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(x->w, live.v[k]);
        Attr attr[ATTRS_MAX];
        sig_attr(x->w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++)
            if (!n.op->attrs[j].element && n.nin && attr[j].real == variable) return true;
    }
    return false;
}
/* Whether the right side rounds a variable to the float32 of an attribute that the left side reads
   from elements of a wider type. */
static bool rounds_variables(const Retyping *x, const Instance *i) {
    const NodeList live = graph_live(x->w, x->arena, &i->to);
    for (int k = 0; k < live.n && x->to == DT_DOUBLE; k++) {
        const Node n = node_get(x->w, live.v[k]);
        Attr attr[ATTRS_MAX];
        ExNode e;
        sig_attr(x->w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++) {
            const AttrDef *def = &n.op->attrs[j];
            if (def->kind != A_REAL || def->element || !n.nin || !attr[j].real) continue;
            ex_get(x->w, attr[j].real, &e);
            if (e.kind == EX_PARAM && !has_attribute(x, &i->from, attr[j].real)) return true;
        }
    }
    return false;
}

bool rule_instance_retyped(World *w, Arena *a, const Instance *i, DType to, Instance *out,
                           Error *e) {
    const Retyping x = {w, a, to, e};
    *out = *i;
    if (!retype_side(&x, &i->from, &out->from) || !retype_side(&x, &i->to, &out->to) ||
        !keeps_numbers(&x, &i->from) || !keeps_numbers(&x, &i->to))
        return false;
    out->from_stated = out->from_whole = out->from, out->to_stated = out->to_whole = out->to;
    out->input = out->from.in;
    out->floats = to;
    if (rounds_numbers(&x, &i->from) || rounds_numbers(&x, &i->to) || rounds_variables(&x, i))
        out->classes |= CLASS_ROUNDS;
    return true;
}
