/* simplify.c -- simplifies one term at a time. Equations in its domain are solved for its
   variables; a variable with one possible value is replaced by it; a sum over a variable that
   occurs in no atom becomes a factor, the number of the variable's values; two variables that occur
   only as a*B + b become one; and digits of variables become variables. Every step is a change of
   variables that is one to one on the term's domain. */
#include "verifier/digits.h"
#include "verifier/explain.h"
#include "verifier/identities.h"
#include "verifier/ranges.h"
#include <string.h>

/* Limits that make simplifying end. STEPS_MAX: steps that simplify one term. DEPTH_MAX: sums,
   maxima and atoms in each other; it keeps the stack small. */
enum { STEPS_MAX = 200, DEPTH_MAX = 90 };

typedef struct Terms { /* a growing list */
    int n, room;
    NfTerm *v;
} Terms;

static void push_term(Prover *p, Terms *s, NfTerm t) {
    ARENA_GROW(p->arena, s->v, s->room, s->n + 1);
    s->v[s->n++] = t;
}
/* ---- equations */

/* How unlike an index a solution is: the number of its products with a negative coefficient. */
static int negative_products(Prover *p, Poly value) {
    int bad = 0;
    PolyScan s = poly_scan(p->w, value);
    for (Monomial m; poly_next(&s, &m);) bad += m.degree > 1 && m.coefficient < 0;
    return bad;
}
/* Uses the equation l of the term's domain: splits it into two equations, or solves it for a
   variable, which is eliminated. */
static bool solve_one(Prover *p, Dom ctx, NfTerm *t, Lit l) {
    Poly part[2], value, best_value = 0;
    Symbol best = 0;
    if (!lit_mentions(p, l, t->nvar, t->var)) return false;
    Dom rest = dom_without(p, t->dom, l);
    int n = equation_parts(p, dom_and(p, ctx, rest), l.p, part);
    if (n) {
        for (int k = 0; k < n; k++) rest = dom_with(p, rest, (Lit){part[k], true});
        t->dom = rest;
        explain_equation(p, l.p, n, part);
        return true;
    }
    for (int k = 0; k < t->nvar; k++)
        if (poly_solve(p->w, l.p, t->var[k], &value) &&
            (!best || negative_products(p, value) < negative_products(p, best_value))) {
            best = t->var[k];
            best_value = value;
        }
    if (!best) return false;
    t->dom = rest;
    explain_value(p, "an equation gives", best, best_value, DOM_TRUE);
    term_eliminate(p, t, best, best_value);
    return true;
}
static bool solve_equations(Prover *p, Dom ctx, NfTerm *t) {
    Lits l = dom_lits(p, t->dom);
    for (int k = 0; k < l.n; k++)
        if (l.v[k].eq && solve_one(p, ctx, t, l.v[k])) return true;
    return false;
}
/* If the domain says x <= b and b <= x, sets *value to b. */
static bool pinned(Prover *p, Dom d, Symbol x, Poly *value) {
    Lits l = dom_lits(p, d);
    Poly low, high;
    for (int k = 0; k < l.n; k++)
        for (int j = 0; bound_of(p, l.v[k], x, &low) == 1 && j < l.n; j++)
            if (bound_of(p, l.v[j], x, &high) == -1 && low == high) {
                *value = low;
                return true;
            }
    return false;
}
static bool drop_pinned(Prover *p, NfTerm *t) {
    Poly value;
    for (int k = 0; k < t->nvar; k++)
        if (pinned(p, t->dom, t->var[k], &value)) {
            explain_value(p, "one value is left", t->var[k], value, DOM_TRUE);
            term_eliminate(p, t, t->var[k], value);
            return true;
        }
    return false;
}

/* ---- counting and fusing */

/* If the literals of d that mention x are one lower and one upper bound, sets these and *rest, the
   other literals. */
static bool range_of(Prover *p, Dom d, Symbol x, Poly *low, Poly *high, Dom *rest) {
    Lits l = dom_lits(p, d);
    int nlow = 0, nhigh = 0;
    *rest = d;
    for (int k = 0; k < l.n; k++) {
        if (!lit_mentions(p, l.v[k], 1, &x)) continue;
        Poly b;
        int side = bound_of(p, l.v[k], x, &b);
        if (!side) return false;
        *(side > 0 ? low : high) = b;
        nlow += side > 0;
        nhigh += side < 0;
        *rest = dom_without(p, *rest, l.v[k]);
    }
    return nlow == 1 && nhigh == 1;
}
static void simplify_term(Prover *, Dom ctx, NfTerm, Terms *out);

/* Replaces the sum over a variable that no atom mentions by the number of its values, and
   simplifies the resulting terms. False if there is no such variable. */
static bool count_unused(Prover *p, Dom ctx, NfTerm t, Terms *out) {
    const Symbol *v;
    for (int k = 0; k < t.nvar; k++) {
        Symbol x = t.var[k];
        Poly low, high;
        Dom rest;
        if (term_mentions_any(p, t, 1, &x) || !range_of(p, t.dom, x, &low, &high, &rest)) continue;
        Poly n = poly_add(p->w, poly_sub(p->w, high, low), poly_int(p->w, 1));
        if (poly_variables(p, n, &v) ||
            !prover_entails(p, dom_and(p, ctx, rest), dom_make(p, 1, &(Lit){n, false})))
            continue;
        t.dom = rest;
        term_drop(p, &t, x);
        explain_count(p, x, n);
        Nf count = nf_polynomial(p, n);
        int terms = nf_size(p, count);
        for (int j = 0; j < terms; j++)
            simplify_term(p, ctx, term_times(p, t, nf_term(p, count, j)), out);
        return true;
    }
    return false;
}
/* Replaces a and b, which run over 0..na-1 and 0..nb-1 and occur only as a*nb + b, by one variable
   over 0..na*nb-1. It must be shown that na >= 0: two negative counts mean empty ranges, but have a
   positive product. */
static bool fuse_pair(Prover *p, Dom ctx, NfTerm *t, Symbol a, Symbol b) {
    Poly na, nb;
    Lit la[2], lb[2];
    if (!range_from_zero(p, t->dom, a, &na, la) || !range_from_zero(p, t->dom, b, &nb, lb))
        return false;
    Symbol k = variable_new(p);
    Poly value = poly_sub(p->w, poly_symbol(p->w, k), poly_mul(p->w, poly_symbol(p->w, a), nb));
    NfTerm r = *t;
    for (int j = 0; j < 2; j++) r.dom = dom_without(p, dom_without(p, r.dom, la[j]), lb[j]);
    r = term_subst(p, r, (Map){1, &b, &value});
    if (term_mentions_any(p, r, 1, &a) || dom_mentions(p, r.dom, a) ||
        !term_mentions_any(p, r, 1, &k) || !never_negative(p, ctx, na))
        return false;
    explain_value(p, "two become one", b, value, DOM_TRUE);
    term_drop(p, &r, a);
    term_drop(p, &r, b);
    term_add(p, &r, k);
    r.dom = dom_with(p, dom_with(p, r.dom, at_least_zero(p, k)),
                     less_than(p, k, poly_mul(p->w, na, nb)));
    *t = r;
    return true;
}
static bool fuse(Prover *p, Dom ctx, NfTerm *t) {
    for (int a = 0; a < t->nvar; a++)
        for (int b = 0; b < t->nvar; b++)
            if (a != b && fuse_pair(p, ctx, t, t->var[a], t->var[b])) return true;
    return false;
}

/* ---- atoms inside */

static Nf simplify_atom(Prover *p, Dom ctx, Factor f);

static Nf rebuilt_parts(Prover *p, Dom ctx, const AtomInfo *a) {
    Part *v = ARENA_NEW(p->arena, Part, a->npart + 1);
    int n = 0;
    for (int k = 0; k < a->npart; k++) {
        Part x = part_simplify(p, ctx, part_open(p, &a->part[k]));
        if (!dom_false(p, x.dom) && !(x.dom && prover_empty(p, ctx, x.dom))) v[n++] = x;
    }
    if (a->kind == AT_MAX) return apply_max(p, ctx, n, v);
    return n ? apply_sum(p, ctx, v[0]) : 0;
}
static Nf simplify_atom(Prover *p, Dom ctx, Factor f) {
    const AtomInfo *a = atom_info(p, f.atom);
    Nf r = 0;
    if (a->kind == AT_FN) r = apply_function(p, ctx, (Function)a->word, simplify(p, ctx, a->a));
    else if (a->kind == AT_BASE) return apply_power(p, ctx, simplify(p, ctx, a->a), f.power);
    else if (a->kind == AT_PAIR)
        r = apply_pair(p, ctx, a->word, simplify(p, ctx, a->a), simplify(p, ctx, a->b));
    else if (a->kind == AT_VALUE) r = nf_polynomial(p, a->index[0]);
    else if (a->kind == AT_MAX || a->kind == AT_SUM) r = rebuilt_parts(p, ctx, a);
    else r = nf_atom(p, f.atom);
    return r == nf_atom(p, f.atom)
               ? nf_of(p, term_factor(p, (NfTerm){.c = ratio(1, 1)}, f.atom, f.power))
               : apply_power(p, ctx, r, f.power);
}
static bool has_nested(Prover *p, const NfTerm *t) {
    for (int k = 0; k < t->nfactor; k++) {
        AtomKind kind = atom_info(p, t->factor[k].atom)->kind;
        if (kind != AT_INPUT && kind != AT_PARAM && kind != AT_SIZE && kind != AT_REAL) return true;
    }
    return false;
}
/* Cancels powers of a size n with opposite signs where n >= 1 is known. */
static void cancel_sizes(Prover *p, Dom ctx, NfTerm *t) {
    for (int k = 0; k + 1 < t->nfactor; k++) {
        Factor f = t->factor[k], g = t->factor[k + 1];
        const AtomInfo *a = atom_info(p, f.atom);
        if (f.atom != g.atom || a->kind != AT_SIZE || (f.power.p < 0) == (g.power.p < 0)) continue;
        Lit l = {poly_sub(p->w, poly_symbol(p->w, a->word), poly_int(p->w, 1)), false};
        if (!prover_entails(p, dom_and(p, ctx, t->dom), dom_make(p, 1, &l))) continue;
        Factor *v = ARENA_NEW(p->arena, Factor, t->nfactor);
        int n = 0;
        for (int j = 0; j < t->nfactor; j++)
            if (j != k && j != k + 1) v[n++] = t->factor[j];
        t->factor = v;
        t->nfactor = n;
        Ratio sum = ratio_plus(p, f.power, g.power);
        if (sum.p) *t = term_factor(p, *t, f.atom, sum);
        k = -1;
    }
}
static void simplify_all(Prover *p, Dom ctx, Nf nf, Terms *out) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) simplify_term(p, ctx, nf_term(p, nf, k), out);
}
/* Simplifies the atoms of a term whose variables are simplified, and appends what it becomes. */
static void emit_term(Prover *p, Dom ctx, NfTerm t, Terms *out) {
    Nf reduced;
    if (t.dom && prover_empty(p, ctx, t.dom)) return;
    cancel_sizes(p, ctx, &t);
    if (!has_nested(p, &t)) {
        push_term(p, out, t);
        return;
    }
    Dom here = dom_and(p, ctx, t.dom);
    NfTerm bare = t;
    bare.nfactor = 0;
    Nf product = nf_number(p, ratio(1, 1));
    p->depth++;
    for (int k = 0; k < t.nfactor; k++)
        product = nf_mul(p, product, simplify_atom(p, here, t.factor[k]));
    p->depth--;
    int n = nf_size(p, product);
    for (int k = 0; k < n; k++) {
        NfTerm x = nf_term(p, product, k), y = term_times(p, bare, x);
        cancel_sizes(p, ctx, &y);
        if (dom_false(p, y.dom) || (x.dom && prover_empty(p, ctx, y.dom))) continue;
        if (reduce_term(p, ctx, &y, &reduced)) simplify_all(p, ctx, reduced, out);
        else if (!x.nvar && !x.dom) push_term(p, out, y);
        else simplify_term(p, ctx, y, out);
    }
}
static void simplify_term(Prover *p, Dom ctx, NfTerm t, Terms *out) {
    if (p->depth > DEPTH_MAX) prover_fail(p, "nested too deeply");
    for (int step = 0; step < STEPS_MAX; step++) {
        if (!t.c.p || dom_false(p, t.dom)) return;
        if (t.nvar && (solve_equations(p, ctx, &t) || drop_pinned(p, &t))) continue;
        if (digits_resolve(p, ctx, &t)) continue;
        if (t.nvar && count_unused(p, ctx, t, out)) return;
        if (t.nvar > 1 && fuse(p, ctx, &t)) continue;
        p->depth++;
        emit_term(p, ctx, t, out);
        p->depth--;
        return;
    }
    prover_fail(p, "simplification does not terminate");
}

/* ---- forms */

static void drop_entailed(Prover *p, Dom ctx, NfTerm *t) {
    Lits l = dom_lits(p, t->dom);
    for (int k = 0; k < l.n; k++)
        if (!lit_mentions(p, l.v[k], t->nvar, t->var) &&
            prover_entails(p, ctx, dom_make(p, 1, &l.v[k])))
            t->dom = dom_without(p, t->dom, l.v[k]);
}
Nf simplify(Prover *p, Dom ctx, Nf nf) {
    Terms out = {0};
    int n = nf_size(p, nf);
    p->depth++;
    for (int k = 0; k < n; k++) simplify_term(p, ctx, nf_term_at(p, nf, k), &out);
    for (int k = 0; k < out.n; k++) drop_entailed(p, ctx, &out.v[k]);
    p->depth--;
    return nf_from(p, out.n, out.v);
}

/* ---- parts of maxima and sums */

static bool part_step(Prover *p, Dom ctx, NfTerm *t) {
    return solve_equations(p, ctx, t) || drop_pinned(p, t) || digits_resolve(p, ctx, t);
}

/* Treats the part as a term with one atom that holds its form. */
Part part_simplify(Prover *p, Dom ctx, Part x) {
    NfTerm t = {ratio(1, 1), x.dom, x.nvar, 0, x.var, NULL};
    if (x.nf) t = term_factor(p, t, atom_holding(p, x.nf), ratio(1, 1));
    for (int step = 0; step < STEPS_MAX && !dom_false(p, t.dom) && part_step(p, ctx, &t); step++)
        continue;
    drop_entailed(p, ctx, &t);
    Nf inner = t.nfactor ? atom_info(p, t.factor[0].atom)->a : 0;
    return (Part){t.nvar, t.var, t.dom,
                  dom_false(p, t.dom) ? 0 : simplify(p, dom_and(p, ctx, t.dom), inner)};
}
