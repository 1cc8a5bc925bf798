/* match_apply.c -- builds the right side of a rule at a match: its nodes over the graph's values,
   with the bound sizes in their attributes.

   What the proof assumed must hold here. The facts about the model's sizes must entail every
   condition and every need of the left side (what shape() requires of sizes), as stated over the
   rule's symbols. The graph's own nodes may need less, since a shape function may be more lenient
   where a size is a number (a size of 1 is broadcast, a negative step is allowed). Every need of
   the new nodes, and the equality of the results' types, must be entailed as well; otherwise
   nothing is replaced. */
#include "rules/match_apply.h"
#include <string.h>

typedef struct RuleUse { /* a right side under construction */
    World *w;
    Arena *arena;
    Facts *facts;
    const Match *match;
    Error *error;
    Value least, *to; /* to[v - least]: the graph's value for value v of the right side */
} RuleUse;

static bool match_refused(RuleUse *a, const char *what, const char *detail) {
    return error_set(a->error, E_CHECK, a->match->instance->rule->name, "%s %s", what, detail);
}

static Poly poly_at(const RuleUse *a, Poly p) {
    const Instance *i = a->match->instance;
    return poly_subst(a->w, p, i->nsymbol, i->symbol, a->match->symbol);
}

/* Replaces real variables. Where the result is a number, it is computed in double precision. */
static Ex real_at(const RuleUse *a, Ex x) {
    const Instance *i = a->match->instance;
    ExNode n;
    if (!x) return x;
    ex_get(a->w, x, &n);
    if (n.kind == EX_PARAM) {
        for (int k = 0; k < i->nreal; k++)
            if (!strcmp(i->real[k], world_text(a->w, n.word))) return a->match->real[k];
        return x;
    }
    if (n.kind == EX_SIZE) {
        n.size = poly_at(a, n.size);
        return ex_make(a->w, &n);
    }
    if (n.kind == EX_NUM || n.kind == EX_REAL) return x;
    for (int k = 0; k < ex_children(n.kind); k++) n.child[k] = real_at(a, n.child[k]);
    double p, q;
    if ((n.kind == EX_ADD || n.kind == EX_MUL) && ex_number(a->w, n.a, &p) &&
        ex_number(a->w, n.b, &q))
        return ex_real(a->w, n.kind == EX_ADD ? p + q : p * q);
    if (n.kind == EX_FN && n.word == FN_RECIP && ex_number(a->w, n.a, &p))
        return ex_real(a->w, 1 / p);
    return ex_make(a->w, &n);
}

static void attrs_at(const RuleUse *a, const Node *node, Attr *attr) {
    sig_attr(a->w, node->sig, attr);
    for (int k = 0; k < attrs_count(node->op->attrs); k++) {
        attr[k].real = real_at(a, attr[k].real);
        Poly *v = ARENA_NEW(a->arena, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++) v[j] = poly_at(a, attr[k].ints.v[j]);
        attr[k].ints.v = v;
    }
}

static bool entailed(RuleUse *a, Lit lit, const char *what) {
    if (facts_entail(a->facts, lit)) return true;
    Text t = text_new(a->arena);
    lit_print(a->w, lit, &t);
    return match_refused(a, what, t.data);
}

/* Whether literals over the rule's symbols are entailed for what the symbols are bound to. */
static bool all_entailed(RuleUse *a, int n, const Lit *lit, const char *what) {
    for (int k = 0; k < n; k++)
        if (!entailed(a, (Lit){poly_at(a, lit[k].p), lit[k].eq}, what)) return false;
    return true;
}

/* Makes one node of the right side, over the values made for its inputs. */
static bool make_node(RuleUse *a, NodeId id) {
    Node node = node_get(a->w, id);
    if (input_name(a->w, node.out)) return true;
    Attr attr[ATTRS_MAX];
    Value *in = ARENA_NEW(a->arena, Value, node.nin);
    const char *why = "";
    attrs_at(a, &node, attr);
    for (int k = 0; k < node.nin; k++) in[k] = node.in[k] ? a->to[node.in[k] - a->least] : 0;
    Value y = node_make(a->w, node.op, attr, node.nin, in, node.nout, &why);
    if (!y) return match_refused(a, node.op->name, why);
    const int lost = attrs_lost(a->w, node.op->attrs, attr, value_type(a->w, y)->dtype);
    if (lost >= 0)
        return match_refused(a, node.op->attrs[lost].name, "is lost in the type that holds it");
    const SigInfo *s = sig_info(a->w, node_get(a->w, value_node(a->w, y)).sig);
    for (int k = 0; k < s->nneed; k++)
        if (!entailed(a, s->need[k], "not known to hold here:")) return false;
    for (int k = 0; k < node.nout; k++) a->to[node.out - a->least + (Value)k] = y + (Value)k;
    return true;
}

static bool type_entailed(RuleUse *a, Value old, Value new) {
    const Type *s = value_type(a->w, old), *t = value_type(a->w, new);
    if (s->dtype != t->dtype || s->dim.n != t->dim.n)
        return match_refused(a, "the result has a different", "type");
    for (int k = 0; k < s->dim.n; k++)
        if (s->dim.v[k] != t->dim.v[k] &&
            !entailed(a, (Lit){poly_sub(a->w, s->dim.v[k], t->dim.v[k]), true},
                      "result sizes differ:"))
            return false;
    return true;
}

/* Extends the range from a->least to *end (exclusive) to include n values from v on. */
static void widen_range(RuleUse *a, Value *end, Value v, Value n) {
    if (v < a->least) a->least = v;
    if (v + n > *end) *end = v + n;
}

static bool conditions_hold(RuleUse *a) {
    const Instance *i = a->match->instance;
    return all_entailed(a, i->nneed_from, i->need_from,
                        "an assumption of the proof is not known to hold here:") &&
           all_entailed(a, i->nwhere, i->where, "a condition is not known to hold here:");
}

bool match_holds(World *w, Arena *arena, Facts *facts, const Match *match) {
    Error why = {0};
    RuleUse a = {w, arena, facts, match, &why, UINT32_MAX, NULL};
    Overflow overflow = overflow_begin(w);
    bool hold = conditions_hold(&a);
    return !overflow_end(w, overflow) && hold;
}

static bool make_right_side(RuleUse *a, Value to[]) {
    World *w = a->w;
    const Match *match = a->match;
    const Instance *i = match->instance;
    Value end = 0;
    NodeList live = graph_live(w, a->arena, &i->to);
    if (!conditions_hold(a)) return false;
    for (int k = 0; k < i->ninput; k++) widen_range(a, &end, i->input[k], 1);
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(w, live.v[k]);
        widen_range(a, &end, node.out, (Value)node.nout);
    }
    a->to = ARENA_NEW(a->arena, Value, end > a->least ? end - a->least : 0);
    for (int k = 0; k < i->ninput; k++) a->to[i->input[k] - a->least] = match->input[k];
    for (int k = 0; k < live.n; k++)
        if (!make_node(a, live.v[k])) return false;
    for (int k = 0; k < i->to.nout; k++) {
        to[k] = a->to[i->to.out[k] - a->least];
        if (!type_entailed(a, match->root[k], to[k])) return false;
    }
    return true;
}

/* A size that exceeds 64 bits becomes 0, which could satisfy a condition, so nothing is applied
   after an overflow. */
bool match_apply(World *w, Arena *arena, Facts *facts, const Match *match, Value to[], Error *e) {
    RuleUse a = {w, arena, facts, match, e, UINT32_MAX, NULL};
    Overflow overflow = overflow_begin(w);
    bool made = make_right_side(&a, to);
    if (overflow_end(w, overflow) && made)
        made = match_refused(&a, "a size or an attribute", "exceeds 64 bits here");
    return made;
}
