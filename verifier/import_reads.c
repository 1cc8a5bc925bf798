/* import_reads.c -- lists which elements of inputs a value's definition reads, and what its partial
   functions want of their arguments. Like the forms of import.c, the lists are computed once for
   each value, over canonical names of its indices. */
#include "verifier/defined.h"
#include "verifier/exact.h"
#include "verifier/float_signs.h"
#include "verifier/signs.h"
#include "verifier/simplify.h"
#include <string.h>

/* The most parts in a list. */
enum { READS_MAX = 2000 };
typedef struct Reach { /* the bound variables and the condition under which something is read */
    int n;
    const Symbol *var;
    Dom dom;
} Reach;

static void add_part(Prover *p, Parts *s, Part x) {
    if (dom_false(p, x.dom)) return;
    if (s->n == READS_MAX) s->too_many = true;
    if (s->too_many) return;
    ARENA_GROW(p->arena, s->v, s->room, s->n + 1);
    s->v[s->n++] = x;
}
/* The part, opened, with its indices substituted by m, under the additional variables and condition
   of r. */
static Part part_under(Prover *p, const Part *x, Map m, Reach r) {
    Part y = part_open(p, x);
    Symbol *v = ARENA_NEW(p->arena, Symbol, y.nvar + r.n + 1);
    if (y.nvar) memcpy(v, y.var, sizeof *v * (size_t)y.nvar);
    if (r.n) memcpy(v + y.nvar, r.var, sizeof *v * (size_t)r.n);
    return (Part){y.nvar + r.n, v, dom_and(p, dom_subst(p, y.dom, m), r.dom), nf_subst(p, y.nf, m)};
}
static Reach reach_where(Prover *p, Reach r, Dom d) {
    return (Reach){r.n, r.var, dom_and(p, r.dom, d)};
}
static void read_tree(Scope *s, Ex e, Reach r, Parts *out);
static bool is_product(World *w, Ex e) {
    ExNode x;
    ex_get(w, e, &x);
    return x.kind == EX_MUL;
}
/* Lists what the body of a sum or maximum reads: where its condition holds or, for READS_PADDED,
   wherever the factors of a product have elements. */
static void read_summand(Scope *s, const ExNode *x, Reach r, Parts *out) {
    Prover *p = s->m->p;
    const bool padding = x->kind == EX_SUM && x->cond.n && is_product(p->w, x->a);
    const bool outer = s->padded;
    s->m->any_padding |= padding;
    s->padded |= padding && s->m->reads_asked == READS_PADDED;
    if (!s->padded) r = reach_where(p, r, scope_condition(s, &x->cond));
    read_tree(s, x->a, r, out);
    s->padded = outer;
}
/* The condition that the element at these indices exists. */
static Dom element_exists(Scope *s, const ExNode *x, const Poly to[]) {
    Prover *p = s->m->p;
    const Dims size = scope_sizes(s->m, s->node->in[x->word]);
    Lit l[2 * RANK_MAX];
    for (int k = 0; k < x->n; k++) {
        l[2 * k] = (Lit){to[k], false};
        l[2 * k + 1] = lit_ge(p, size.v[k], poly_add(p->w, to[k], poly_int(p->w, 1)));
    }
    return dom_make(p, 2 * x->n, l);
}
/* Lists what a sum or maximum reads, over its variables from number k on. Those with a count are
   written out, as they are where the sum itself is imported. */
static void read_over(Scope *s, const ExNode *x, const int *count, int k, Reach r, Parts *out) {
    Prover *p = s->m->p;
    if (k == x->n) {
        read_summand(s, x, r, out);
        return;
    }
    Symbol old = poly_is_symbol(p->w, x->dims[k]);
    for (int value = 0; value < count[k]; value++) {
        scope_bind(s, old, poly_int(p->w, value));
        read_over(s, x, count, k + 1, r, out);
    }
    if (count[k]) return;
    Symbol *more = ARENA_NEW(p->arena, Symbol, r.n + 1);
    if (r.n) memcpy(more, r.var, sizeof *more * (size_t)r.n);
    const Dom d = dom_and(p, r.dom, scope_variable(s, old, &more[r.n]));
    read_over(s, x, count, k + 1, (Reach){r.n + 1, more, d}, out);
}
/* Lists what a partial function of the argument a wants of its rounding. A root is undefined only
   where a is negative. */
static void want_rounding(Scope *s, const ExNode *x, Reach r, Dom known, Nf a, Parts *out) {
    Prover *p = s->m->p;
    Nf found[WANTS_MAX];
    ExNode exponent = {.kind = EX_NUM, .p = 1, .q = 2};
    if (x->kind == EX_FN && x->word == FN_EXP) return;
    if (x->kind == EX_POW) ex_get(p->w, x->b, &exponent);
    if (exponent.kind == EX_NUM && exponent.q == 1 && exponent.p >= 0) return;
    const bool root =
        x->kind == EX_POW ? exponent.kind == EX_NUM && exponent.p > 0 : x->word == FN_SQRT;
    const unsigned signs = float_signs(s, x->a);
    const bool cancels = signs & FLOAT_SUBTRACTS || !nf_nonnegative(p, a);
    const bool sign = cancels && (root ? may_turn_negative(signs) : may_vanish(signs));
    const int n = wants_of_rounding(p, dom_and(p, s->range, known), sign,
                                    !root && signs & FLOAT_SIGMOID, a, found);
    for (int j = 0; j < n; j++) add_part(p, out, (Part){r.n, r.var, known, found[j]});
}
/* Lists what a partial function wants of its arguments. */
static void want_args(Scope *s, const ExNode *x, Reach r, Parts *out) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Dom inside = dom_and(p, s->range, r.dom);
    Nf of[2] = {import_tree(s, inside, x->a), 0}, found[WANTS_MAX];
    if (x->kind == EX_POW) of[1] = import_tree(s, inside, x->b);
    int m = cells_make(p, inside, 2, of, 0, NULL, cell);
    for (int k = 0; k < m; k++) {
        Dom here = dom_and(p, r.dom, cell[k].known), ctx = dom_and(p, s->range, here);
        Nf a = cell_restrict(p, of[0], cell[k].known), b = cell_restrict(p, of[1], cell[k].known);
        int count = x->kind == EX_POW ? wants_of_power(p, ctx, a, b, found)
                                      : wants_of_function(p, ctx, (Function)x->word, a, found);
        for (int j = 0; j < count; j++) add_part(p, out, (Part){r.n, r.var, here, found[j]});
        want_rounding(s, x, r, here, a, out);
    }
}
/* Returns whether the operation may make a NaN of numbers, including infinities. */
static bool computes(const Scope *s, const ExNode *x) {
    return !s->whole && (x->kind == EX_ADD || x->kind == EX_MUL || x->kind == EX_POW ||
                         x->kind == EX_SUM || x->kind == EX_FN);
}
/* Lists the result of an operation. In an exact prover its form says which operation was done on
   what. */
static void add_computed(Scope *s, Ex e, Reach r, Parts *out) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Ratio c;
    const Dom inside = dom_and(p, s->range, r.dom);
    const Nf result = import_tree(s, inside, e);
    const int n = cells_make(p, inside, 1, &result, 0, NULL, cell);
    for (int k = 0; k < n; k++) {
        const Nf here = cell_restrict(p, result, cell[k].known);
        if (!nf_constant(p, here, &c))
            add_part(p, out, (Part){r.n, r.var, dom_and(p, r.dom, cell[k].known), here});
    }
}
/* Lists that a maximum wants its range to have a point, unless that is shown here. */
static void want_point(Scope *s, const ExNode *x, Reach r, Parts *out) {
    Prover *p = s->m->p;
    Part part = {x->n, NULL, DOM_TRUE, 0};
    Symbol *var = ARENA_NEW(p->arena, Symbol, x->n + 1);
    part.dom = scope_range(s, x, var);
    part.var = var;
    Dom some = part.dom;
    bool plain = true;
    for (int k = 0; k < x->n && plain; k++) plain = project(p, &some, var[k], 0, NULL);
    if (plain && prover_entails(p, dom_and(p, s->range, r.dom), some)) return;
    const Nf range = nf_atom(p, atom_parts(p, AT_MAX, 1, &part));
    add_part(p, out,
             (Part){r.n, r.var, r.dom, nf_atom(p, atom_nested(p, AT_PAIR, WANT_POINT, range, 0))});
}
/* Lists what a choice by data reads. The side that is not chosen is not read. The condition is not
   a number that could get lost, so only its index checks and wants count. */
static void read_choice(Scope *s, const ExNode *x, Reach r, Parts *out) {
    Prover *p = s->m->p;
    Parts condition = {0};
    ChoiceSide side[SIDES_MAX];
    for (int k = import_sides(s, r.dom, x, side); k--;)
        read_tree(s, side[k].yes ? x->a : x->b, reach_where(p, r, side[k].known), out);
    read_tree(s, x->c, r, &condition);
    out->too_many |= condition.too_many;
    for (int k = 0; k < condition.n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, condition.v[k].nf, 0, &c)->term;
        const AtomInfo *a = t->nfactor ? atom_info(p, t->factor[0].atom) : NULL;
        if (s->wants || (a && a->kind == AT_PAIR && a->word == WANT_PLACE))
            add_part(p, out, condition.v[k]);
    }
}
/* Returns whether `place` is shown to be an index on an axis of this size wherever d holds. */
static bool is_place(Prover *p, Dom d, Poly place, Poly size) {
    const Poly end = poly_add(p->w, place, poly_int(p->w, 1));
    const Lit l[] = {lit_ge(p, place, poly_int(p->w, 0)), lit_ge(p, size, end)};
    return prover_entails(p, d, dom_make(p, 2, l));
}
/* Lists what is read at the place that an index means, which is the index itself if that is shown,
   and a check of the index if it may lie outside its axis. Among wants, checks are listed apart. */
static void read_taken(Scope *s, const ExNode *x, Reach r, Parts *out) {
    Prover *p = s->m->p;
    Cell cell[CELLS_MAX];
    Nf index = import_tree(s, r.dom, x->a);
    read_tree(s, x->a, r, out);
    int m = cells_make(p, r.dom, 1, &index, 0, NULL, cell);
    const Symbol axis = poly_is_symbol(p->w, x->dims[0]);
    Poly size = scope_count(s, axis);
    for (int k = 0; k < m; k++) {
        Poly e = import_place(s, x, index, &cell[k]);
        const Reach here = reach_where(p, r, cell[k].known);
        const bool shown = is_place(p, dom_and(p, s->range, here.dom), e, size);
        if (shown) scope_bind(s, axis, e);
        if (s->wants == s->checks && !shown) {
            Nf check = nf_atom(p, atom_nested(p, AT_PAIR, WANT_PLACE, nf_polynomial(p, e),
                                              nf_polynomial(p, size)));
            add_part(p, out, (Part){r.n, r.var, here.dom, check});
        }
        read_tree(s, x->b, here, out);
    }
}
/* Lists what an element of one of the node's inputs reads or wants. */
static void read_element(Scope *s, const ExNode *x, Reach r, Parts *out) {
    Prover *p = s->m->p;
    Poly to[RANK_MAX];
    const Value v = s->node->in[x->word];
    if (s->checks) return;
    s->m->any_stopping |= s->may_stop_nan && !s->wants;
    if (s->may_stop_nan && !s->wants && s->m->reads_asked == READS_PASSING) return;
    const Parts *inner = s->wants ? import_wants(s->m, v) : import_reads(s->m, v);
    const Map m = scope_index(s, x, to);
    if (s->padded) r = reach_where(p, r, element_exists(s, x, to));
    out->too_many |= inner->too_many;
    for (int k = 0; k < inner->n; k++) add_part(p, out, part_under(p, &inner->v[k], m, r));
}
static void read_stopped(Scope *s, bool stops, Ex e, Reach r, Parts *out) {
    const bool outer = s->may_stop_nan;
    s->may_stop_nan |= stops;
    read_tree(s, e, r, out);
    s->may_stop_nan = outer;
}
/* Lists what a power reads. x^0 and 1^x are 1 even if x is NaN, so the base passes a NaN only if
   the exponent is a constant other than 0, and the exponent only if the base is a constant other
   than 1. */
static void read_power(Scope *s, const ExNode *x, Reach r, Parts *out) {
    Prover *p = s->m->p;
    const Dom inside = dom_and(p, s->range, r.dom);
    Ratio c;
    const bool base_passes = nf_constant(p, import_tree(s, inside, x->b), &c) && c.p;
    const bool power_passes = nf_constant(p, import_tree(s, inside, x->a), &c) && !ratio_is(c, 1);
    read_stopped(s, !base_passes, x->a, r, out);
    read_stopped(s, !power_passes, x->b, r, out);
}
static void read_integers(Scope *s, Ex e, Reach r, Parts *out) {
    const bool outer = s->whole;
    s->whole = true;
    read_tree(s, e, r, out);
    s->whole = outer;
}
/* Lists the results of operations that are exact: integers make no NaN, nor does saturation, except
   in the number that is rounded. Returns false if the expression is neither. */
static bool read_exact(Scope *s, Ex e, const ExNode *x, Reach r, Parts *out) {
    Saturation saturation;
    if (exact_is_integer(s, e)) {
        read_integers(s, e, r, out);
        return true;
    }
    if (!exact_is_saturated(s, x, &saturation)) return false;
    read_tree(s, saturation.rounded, r, out);
    read_integers(s, saturation.zero, r, out);
    return true;
}
static void read_tree(Scope *s, Ex e, Reach r, Parts *out) {
    Prover *p = s->m->p;
    const bool computed = !s->wants && s->m->reads_asked == READS_COMPUTED;
    const int before = out->n;
    ExNode x;
    if (!e) return;
    ex_get(p->w, e, &x);
    if (computed && read_exact(s, e, &x, r, out)) return;
    if (computed && computes(s, &x)) add_computed(s, e, r, out);
    if (s->wants && !s->checks && p->exact && x.kind == EX_MAXIMUM) want_point(s, &x, r, out);
    if (x.kind == EX_AT) {
        read_element(s, &x, r, out);
    } else if (x.kind == EX_POW && !s->wants) {
        read_power(s, &x, r, out);
    } else if (x.kind == EX_FN && x.word == FN_DELTA) {
        read_stopped(s, true, x.a, r, out);
    } else if (x.kind == EX_SUM || x.kind == EX_MAXIMUM) {
        const int *none = ARENA_NEW(p->arena, int, x.n + 1);
        read_over(s, &x, p->unroll ? scope_few_values(s, &x) : none, 0, r, out);
    } else if (x.kind == EX_WHERE) {
        read_choice(s, &x, r, out);
    } else if (x.kind == EX_TAKE) {
        read_taken(s, &x, r, out);
    } else if (x.kind == EX_IF) {
        Dom yes = scope_condition(s, &x.cond), no[2 * COND_MAX];
        read_tree(s, x.a, reach_where(p, r, yes), out);
        for (int k = dom_complement(p, yes, no); k--;)
            read_tree(s, x.b, reach_where(p, r, no[k]), out);
    } else {
        for (int k = 0; k < ex_children(x.kind); k++) read_tree(s, x.child[k], r, out);
        if (s->wants && !s->checks && wants_something(&x)) want_args(s, &x, r, out);
    }
    if (s->wants && !s->checks && hides_infinity(&x)) wants_hide(p, out, before);
}

/* Simplifies the parts and keeps one of equal ones. */
static void tidy(Prover *p, Dom ctx, Parts *s) {
    Parts out = {.too_many = s->too_many};
    for (int k = 0; k < s->n; k++) {
        Part x = part_simplify(p, ctx, s->v[k]);
        int j = 0;
        if (x.dom && prover_empty(p, ctx, x.dom)) continue;
        x = atom_info(p, atom_parts(p, AT_MAX, 1, &x))->part[0]; /* now with canonical names */
        while (j < out.n && !part_equal(&out.v[j], &x)) j++;
        if (j == out.n) add_part(p, &out, x);
    }
    *s = out;
}
static void look_at(NfImport *m, Value v, bool wants, bool checks, Parts *out) {
    Node node = node_get(m->p->w, value_node(m->p->w, v));
    Scope scope = scope_new(m, &node, v);
    scope.wants = wants, scope.checks = checks, scope.range = import_range(m, v);
    read_tree(&scope, import_definition(m, v, &node), (Reach){0, NULL, DOM_TRUE}, out);
    tidy(m->p, import_range(m, v), out);
}
static bool is_constant(const NfImport *m, Value v) {
    return constant_get(m->p->w, v, NULL, &(const void *){NULL});
}
static const Parts no_parts = {0};
const Parts *import_reads(NfImport *m, Value v) {
    Nf form;
    if (!v || v >= m->room) return &no_parts;
    Parts *s = &m->reads[v];
    if (s->done) return s;
    const bool is_input = import_is_input(m, v, &form);
    if (is_input && m->reads_asked != READS_COMPUTED) add_part(m->p, s, (Part){.nf = form});
    else if (!is_input && !is_constant(m, v)) look_at(m, v, false, false, s);
    s->done = true;
    return s;
}
const Parts *import_wants(NfImport *m, Value v) {
    Nf form;
    if (!v || v >= m->room || import_is_input(m, v, &form) || is_constant(m, v)) return &no_parts;
    Parts *s = &m->wants[v];
    if (!s->done) look_at(m, v, true, false, s), s->done = true;
    return s;
}
Parts import_checks(NfImport *m, Value v) {
    Parts s = {0};
    look_at(m, v, true, true, &s);
    return s;
}
Parts reads_subst(Prover *p, Dom ctx, const Parts *s, Map m) {
    Parts out = {.too_many = s->too_many};
    const Reach everywhere = {0, NULL, DOM_TRUE};
    for (int k = 0; k < s->n; k++) add_part(p, &out, part_under(p, &s->v[k], m, everywhere));
    tidy(p, ctx, &out);
    return out;
}
