/* lemmas.c -- the lemmas of the linear abstraction: what is asserted about nonlinear monomials,
   each of which is an integer of its own there. A literal times a size gives another literal. A
   product of sizes is at least 0, and it is at least each of its parts whose cofactor is at least
   1. */
#include "verifier/solver_inner.h"
#include <string.h>

typedef struct Lemmas {
    Solver *s;
    int nmono, nasserted, nlit, count; /* `count` is the number of lemmas asserted so far */
    Poly mono[MONOMIALS_MAX];          /* the nonlinear monomials that occur, with coefficient 1 */
    const Lit *lit[LITS_MAX]; /* the first `nasserted` of them hold, the others may or may not */
} Lemmas;

static bool in_play(const Lemmas *l, Poly m) {
    for (int k = 0; k < l->nmono; k++)
        if (l->mono[k] == m) return true;
    return false;
}
static void track_monomial(Lemmas *l, Poly m) {
    if (l->nmono < MONOMIALS_MAX && !in_play(l, m)) l->mono[l->nmono++] = m;
}
static void add_lits(Lemmas *l, Lits lits) {
    for (int k = 0; k < lits.n && l->nlit < LITS_MAX; k++) {
        l->lit[l->nlit++] = &lits.v[k];
        PolyScan s = poly_scan(l->s->w, lits.v[k].p);
        for (Monomial m; poly_next(&s, &m);)
            if (m.degree > 1) track_monomial(l, solver_monic(l->s->w, &m));
    }
}
/* Returns whether a lemma on this product is useful: its monomials are small, and a nonlinear one
   among them occurs in the question. */
static bool useful(const Lemmas *l, Poly product) {
    World *w = l->s->w;
    bool any = false;
    PolyScan s = poly_scan(w, product);
    for (Monomial m; poly_next(&s, &m);) {
        if (m.degree > 3) return false;
        if (m.degree > 1 && !any) any = in_play(l, solver_monic(w, &m));
    }
    return any;
}
/* Asserts what follows for product = lit->p * size, where size >= 0. A literal that may not hold
   becomes a condition; the negation of an inequality, -p - 1 >= 0, then gives a product, too. */
static void assert_product(Lemmas *l, const Lit *lit, Poly product, Poly size, bool holds) {
    Solver *s = l->s;
    Z3_ast q = solver_literal(s, (Lit){product, lit->eq}, LINEAR), p;
    if (!holds && lit->eq) q = Z3_mk_implies(s->z, solver_literal(s, *lit, LINEAR), q);
    if (!holds && !lit->eq) {
        p = solver_literal(s, *lit, LINEAR);
        Poly other = poly_scale(s->w, poly_add(s->w, product, size), -1); /* (-p - 1) * size */
        q = Z3_mk_ite(s->z, p, q, solver_literal(s, (Lit){other, false}, LINEAR));
    }
    solver_assert(s, LINEAR, q);
    l->count++;
}
/* Asserts the useful products of literals and sizes. Monomials of degree 2 in these are added to
   `fresh`. */
static void multiply_round(Lemmas *l, uint8_t done[LITS_MAX][SIZES_MAX], Lemmas *fresh) {
    Solver *s = l->s;
    for (int k = 0; k < l->nlit; k++) {
        if (poly_terms(s->w, l->lit[k]->p) > 8) continue;
        for (int b = 0; b < s->nsize && l->count < LEMMAS_MAX; b++) {
            Poly size = poly_symbol(s->w, s->size[b]), product = poly_mul(s->w, l->lit[k]->p, size);
            if (done[k][b] || !useful(l, product)) continue;
            done[k][b] = 1;
            assert_product(l, l->lit[k], product, size, k < l->nasserted);
            PolyScan scan = poly_scan(s->w, product);
            for (Monomial m; poly_next(&scan, &m);)
                if (m.degree == 2) track_monomial(fresh, solver_monic(s->w, &m));
        }
    }
}
/* The position of x among the solver's sizes; -1 if it is none. */
static int size_number(const Solver *s, Symbol x) {
    for (int k = 0; k < s->nsize; k++)
        if (s->size[k] == x) return k;
    return -1;
}
bool lit_is_bound(const World *w, Lit l, Symbol *x, int64_t *low) {
    Monomial m;
    PolyScan s = poly_scan(w, l.p);
    if (l.eq || !poly_next(&s, &m) || m.degree != 1 || m.coefficient != 1) return false;
    *x = m.symbol[0];
    *low = 0;
    if (!poly_next(&s, &m)) return true;
    *low = -m.coefficient;
    return !m.degree && !poly_next(&s, &m);
}
/* The greatest lower bound on x that the facts and `holds` state; -1 if they state none that is at
   least 0. */
static int64_t least_value(const Solver *s, Lits holds, Symbol x) {
    int k = size_number(s, x);
    int64_t best = k >= 0 ? s->low[k] : -1, low;
    Symbol y;
    for (k = 0; k < holds.n; k++)
        if (lit_is_bound(s->w, holds.v[k], &y, &low) && y == x && low > best) best = low;
    return best;
}
/* Asserts that a product of sizes is at least 0 and, where one of its factors is at least 1, at
   least the product of the others. */
static void assert_monomial(Solver *s, Lits holds, Poly mono) {
    Monomial m;
    PolyScan scan = poly_scan(s->w, mono);
    poly_next(&scan, &m);
    for (uint32_t k = 0; k < m.degree; k++)
        if (least_value(s, holds, m.symbol[k]) < 0) return;
    solver_assert(s, LINEAR, solver_literal(s, (Lit){mono, false}, LINEAR));
    for (uint32_t k = 0; k < m.degree; k++) {
        Poly rest = 0, x = poly_symbol(s->w, m.symbol[k]);
        poly_divide(s->w, mono, x, &rest);
        Z3_ast more = solver_literal(s, lit_at_least(s, mono, rest), LINEAR);
        Lit positive = lit_at_least(s, x, poly_int(s->w, 1));
        if (least_value(s, holds, m.symbol[k]) < 1) {
            Z3_ast none = solver_literal(s, (Lit){mono, true}, LINEAR);
            more = Z3_mk_ite(s->z, solver_literal(s, positive, LINEAR), more, none);
        }
        solver_assert(s, LINEAR, more);
    }
}
bool solver_lemmas(Solver *s, Lits holds, Lits maybe) {
    if (!s->lemmas) s->lemmas = ARENA_NEW(s->arena, Lemmas, 2);
    if (!s->multiplied) s->multiplied = arena_alloc(s->arena, LITS_MAX * SIZES_MAX);
    Lemmas *l = s->lemmas, *fresh = l + 1;
    uint8_t(*done)[SIZES_MAX] = memset(s->multiplied, 0, LITS_MAX * SIZES_MAX);
    memset(l, 0, 2 * sizeof *l);
    l->s = fresh->s = s;
    add_lits(l, holds);
    add_lits(l, (Lits){s->nfact, s->fact});
    l->nasserted = l->nlit;
    add_lits(l, maybe);
    if (!l->nmono) return s->nonlinear_facts;
    multiply_round(l, done, fresh);
    if (l->count < LEMMAS_FEW && fresh->nmono) {
        for (int k = 0; k < fresh->nmono; k++) track_monomial(l, fresh->mono[k]);
        multiply_round(l, done, fresh);
    }
    for (int k = 0; k < l->nmono; k++) assert_monomial(s, holds, l->mono[k]);
    for (int k = 0; k < fresh->nmono; k++)
        if (!in_play(l, fresh->mono[k])) assert_monomial(s, holds, fresh->mono[k]);
    return true;
}
