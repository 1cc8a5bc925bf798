/* conditions.c -- conditions on indices and sizes: literals (p = 0 or p >= 0) in lowest terms, and
   interned sets of them. */
#include "verifier/conditions.h"
#include "verifier/tables.h"
#include <string.h>

/* ---- literals */

/* Returns the gcd of all coefficients except the constant term, which it writes to *c. */
static int64_t split_content(const World *w, Poly x, int64_t *c) {
    int64_t g = 0;
    PolyScan s = poly_scan(w, x);
    *c = 0;
    for (Monomial m; poly_next(&s, &m);)
        if (m.degree) g = integer_gcd(g, m.coefficient);
        else *c = m.coefficient;
    return g;
}
int lit_truth(Prover *p, Lit *l) {
    int64_t c, g = split_content(p->w, l->p, &c);
    if (!g) return l->eq ? c == 0 : c >= 0;
    if (l->eq && c % g) return 0;
    if (g > 1) {
        Poly q = 0;
        poly_divide(p->w, poly_sub(p->w, l->p, poly_int(p->w, c)), poly_int(p->w, g), &q);
        l->p = poly_add(p->w, q, poly_int(p->w, integer_floor_div(c, g)));
    }
    if (l->eq) {
        Monomial m;
        PolyScan s = poly_scan(p->w, l->p);
        if (poly_next(&s, &m) && m.coefficient < 0) l->p = poly_scale(p->w, l->p, -1);
    }
    return -1;
}
Lit lit_ge(Prover *p, Poly a, Poly b) { return (Lit){poly_sub(p->w, a, b), false}; }
Lit lit_eq(Prover *p, Poly a, Poly b) { return (Lit){poly_sub(p->w, a, b), true}; }
int lit_negate(Prover *p, Lit l, Lit out[2]) {
    Poly one = poly_int(p->w, 1), minus = poly_sub(p->w, poly_scale(p->w, l.p, -1), one);
    out[0] = (Lit){minus, false};
    if (!l.eq) return 1;
    out[1] = (Lit){poly_sub(p->w, l.p, one), false};
    return 2;
}
bool lit_mentions(Prover *p, Lit l, int n, const Symbol *v) {
    return poly_mentions_any(p, l.p, n, v);
}

/* ---- sets of literals */

static uint32_t pack(Lit l) { return l.p << 1 | l.eq; }
static Lit unpack(uint32_t x) { return (Lit){x >> 1, x & 1}; }

/* Inserts the literal into the sorted list v, unless it is there already or always true. Returns
   false if the literal is always false. */
static bool insert_literal(Prover *p, uint32_t *v, int *n, Lit l) {
    int truth = lit_truth(p, &l);
    if (truth >= 0) return truth;
    uint32_t x = pack(l);
    int k = *n;
    for (int j = 0; j < *n; j++)
        if (v[j] == x) return true;
    while (k && v[k - 1] > x) {
        v[k] = v[k - 1];
        k--;
    }
    v[k] = x;
    ++*n;
    return true;
}
static Dom dom_intern(Prover *p, int n, const uint32_t *v) {
    if (!n) return DOM_TRUE;
    Dom d = intern_put(p->tables->dom, v, sizeof *v * (size_t)n);
    if (slot_get(&p->tables->doms, d)) return d;
    Lits *lits = ARENA_NEW(p->arena, Lits, 1);
    Lit *list = ARENA_NEW(p->arena, Lit, n);
    for (int k = 0; k < n; k++) list[k] = unpack(v[k]);
    *lits = (Lits){n, list};
    slot_set(p, &p->tables->doms, d, lits);
    return d;
}
static Dom dom_false_set(Prover *p) {
    return dom_intern(p, 1, (uint32_t[]){pack((Lit){poly_int(p->w, -1), false})});
}

Lits dom_lits(Prover *p, Dom d) { return d ? *(Lits *)slot_get(&p->tables->doms, d) : (Lits){0}; }
Dom dom_make(Prover *p, int n, const Lit *l) {
    if (!n) return DOM_TRUE;
    prover_spend(p, n);
    uint32_t *v = arena_alloc_raw(p->arena, sizeof *v * (size_t)n);
    int count = 0;
    for (int k = 0; k < n; k++)
        if (!insert_literal(p, v, &count, l[k])) return dom_false_set(p);
    return dom_intern(p, count, v);
}
Dom dom_and(Prover *p, Dom a, Dom b) {
    if (!a || a == b) return b;
    if (!b) return a;
    Lits x = dom_lits(p, a), y = dom_lits(p, b);
    Lit *both = ARENA_NEW(p->arena, Lit, x.n + y.n);
    memcpy(both, x.v, sizeof *both * (size_t)x.n);
    memcpy(both + x.n, y.v, sizeof *both * (size_t)y.n);
    return dom_make(p, x.n + y.n, both);
}
Dom dom_with(Prover *p, Dom d, Lit l) { return dom_and(p, d, dom_make(p, 1, &l)); }
Dom dom_without(Prover *p, Dom d, Lit l) {
    Lits x = dom_lits(p, d);
    Lit *rest = ARENA_NEW(p->arena, Lit, x.n);
    int n = 0;
    for (int k = 0; k < x.n; k++)
        if (pack(x.v[k]) != pack(l)) rest[n++] = x.v[k];
    return dom_make(p, n, rest);
}
bool dom_false(Prover *p, Dom d) { return d && d == dom_false_set(p); }
bool dom_has(Prover *p, Dom d, Lit l) {
    Lits x = dom_lits(p, d);
    for (int k = 0; k < x.n; k++)
        if (pack(x.v[k]) == pack(l)) return true;
    return false;
}
Dom dom_subst(Prover *p, Dom d, Map m) {
    Lits x = dom_lits(p, d);
    bool any = false;
    for (int k = 0; k < x.n && !any; k++) any = lit_mentions(p, x.v[k], m.n, m.from);
    if (!any) return d;
    Lit *v = ARENA_NEW(p->arena, Lit, x.n);
    for (int k = 0; k < x.n; k++) v[k] = (Lit){prover_subst(p, x.v[k].p, m), x.v[k].eq};
    return dom_make(p, x.n, v);
}
bool dom_mentions(Prover *p, Dom d, Symbol s) {
    Lits x = dom_lits(p, d);
    for (int k = 0; k < x.n; k++)
        if (lit_mentions(p, x.v[k], 1, &s)) return true;
    return false;
}
void dom_print(Prover *p, Dom d, Text *t) {
    if (d) lits_print(p->w, dom_lits(p, d), t);
}
