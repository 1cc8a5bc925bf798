/* scope.c -- an operator's definition at the element that is looked at: expresses its symbols for
   indices, sizes and bound variables in those of the proof. */
#include "verifier/scope.h"

/* A reduction is written out over at most so many values. */
enum { UNROLL_MOST = 16 };

bool scope_is_input(const NfImport *m, Value v) {
    for (int k = 0; k < m->ninput; k++)
        if (m->input[k] == v) return true;
    return false;
}
Dims scope_sizes(NfImport *m, Value v) {
    Dims d = value_type(m->p->w, v)->dim;
    for (int k = 0; k < d.n; k++)
        d.v[k] = m->nsolved ? poly_subst(m->p->w, d.v[k], m->nsolved, m->from, m->to) : d.v[k];
    return d;
}

void scope_bind(Scope *s, Symbol from, Poly to) {
    for (int k = 0; k < s->n; k++)
        if (s->from[k] == from) { /* the same tree was imported before */
            s->to[k] = to;
            return;
        }
    int room = s->room;
    ARENA_GROW(s->m->p->arena, s->from, room, s->n + 1);
    ARENA_GROW(s->m->p->arena, s->to, s->room, s->n + 1);
    s->from[s->n] = from;
    s->to[s->n++] = to;
}
/* Returns whether neither the result nor any input of the node is a float. */
static bool is_whole(World *w, const Node *node, DType result) {
    bool whole = dtype_class(result) != 'F';
    for (int k = 0; k < node->nin; k++)
        whole &= !node->in[k] || dtype_class(value_type(w, node->in[k])->dtype) != 'F';
    return whole;
}
Scope scope_new(NfImport *m, const Node *node, Value v) {
    DType t = value_type(m->p->w, v)->dtype;
    const bool whole = is_whole(m->p->w, node, t);
    Scope s = {.m = m,
               .node = node,
               .dtype = t,
               .whole = whole,
               .may_stop_nan = !whole && (node->op->flags & (OP_SELECTS | OP_DECIDES)) != 0};
    World *w = m->p->w;
    Dims d = scope_sizes(m, v);
    for (int k = 0; k < m->nsolved; k++) scope_bind(&s, m->from[k], m->to[k]);
    for (int k = 0; k < d.n; k++)
        scope_bind(&s, symbol_index(w, (uint32_t)k),
                   poly_is(m->p->w, d.v[k], 1) ? 0 : poly_symbol(w, m->index[k]));
    return s;
}
Poly scope_poly(Scope *s, Poly x) {
    Poly r = poly_subst(s->m->p->w, x, s->n, s->from, s->to);
    if (overflow_noted(s->m->p->w)) prover_fail(s->m->p, "a size exceeds 64 bits");
    return r;
}
Dom scope_condition(Scope *s, const Cond *c) {
    Lit l[COND_MAX];
    for (int k = 0; k < c->n; k++) l[k] = (Lit){scope_poly(s, c->v[k].p), c->v[k].eq};
    return dom_make(s->m->p, c->n, l);
}
Poly scope_count(Scope *s, Symbol bound) {
    return scope_poly(s, symbol_def(s->m->p->w, bound).arg[0]);
}
Dom scope_variable(Scope *s, Symbol old, Symbol *var) {
    Prover *p = s->m->p;
    Poly n = scope_count(s, old), v;
    *var = variable_new(p);
    v = poly_symbol(p->w, *var);
    scope_bind(s, old, v);
    return dom_make(p, 2, (Lit[]){{v, false}, lit_ge(p, n, poly_add(p->w, v, poly_int(p->w, 1)))});
}
Dom scope_range(Scope *s, const ExNode *x, Symbol *var) {
    Prover *p = s->m->p;
    Dom d = DOM_TRUE;
    for (int k = 0; k < x->n; k++)
        d = dom_and(p, d, scope_variable(s, poly_is_symbol(p->w, x->dims[k]), &var[k]));
    return dom_and(p, d, scope_condition(s, &x->cond));
}
int dom_complement(Prover *p, Dom d, Dom out[2 * COND_MAX]) {
    Lits l = dom_lits(p, d);
    int n = 0;
    Dom before = DOM_TRUE;
    for (int k = 0; k < l.n; k++) {
        Lit no[2];
        for (int j = lit_negate(p, l.v[k], no); j--;) out[n++] = dom_with(p, before, no[j]);
        before = dom_with(p, before, l.v[k]);
    }
    return n;
}

Map scope_index(Scope *s, const ExNode *x, Poly to[RANK_MAX]) {
    for (int k = 0; k < x->n; k++) to[k] = scope_poly(s, x->dims[k]);
    return (Map){x->n, s->m->index, to};
}
const int *scope_few_values(Scope *s, const ExNode *x) {
    Prover *p = s->m->p;
    int *count = ARENA_NEW(p->arena, int, x->n + 1);
    for (int k = 0, product = 1; k < x->n; k++) {
        int64_t n;
        const Symbol variable = poly_is_symbol(p->w, x->dims[k]);
        if (!poly_constant(p->w, scope_count(s, variable), &n) || n < 1 ||
            n > UNROLL_MOST / product)
            continue;
        product *= count[k] = (int)n;
        p->unrollable = true;
    }
    return count;
}
