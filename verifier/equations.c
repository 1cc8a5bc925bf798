/* equations.c -- reads equations and bounds of integer variables off polynomials: for which
   variable an equation can be solved, which bound a literal gives, which values that leaves. */
#include "verifier/simplify.h"

enum { CANDIDATES_MAX = 40, BOUNDS_MAX = 64 };

int bound_of(Prover *p, Lit l, Symbol x, Poly *bound) {
    Poly value;
    if (l.eq || !poly_solve(p->w, l.p, x, &value)) return 0;
    PolyScan s = poly_scan(p->w, l.p);
    *bound = value;
    for (Monomial m; poly_next(&s, &m);)
        if (m.degree == 1 && m.symbol[0] == x) return m.coefficient > 0 ? 1 : -1;
    return 0;
}

static bool is_size(Prover *p, Symbol s) { return among(s, p->nsize, p->size); }

/* Writes the products B that may divide a part of e (equation_parts): products of sizes in one of
   its monomials, with or without the monomial's coefficient. Returns how many. */
static int candidates(Prover *p, Poly e, Poly *out) {
    int n = 0;
    PolyScan s = poly_scan(p->w, e);
    for (Monomial m; poly_next(&s, &m);) {
        Symbol size[6];
        uint32_t k = 0;
        for (uint32_t j = 0; j < m.degree && k < 6; j++)
            if (is_size(p, m.symbol[j])) size[k++] = m.symbol[j];
        if (!m.degree) continue;
        int64_t c = m.coefficient < 0 ? -m.coefficient : m.coefficient;
        for (uint32_t set = 0; set < 1u << k; set++)
            for (int with = 0; with < 2; with++) {
                Symbol part[6];
                uint32_t d = 0;
                for (uint32_t j = 0; j < k; j++)
                    if (set >> j & 1) part[d++] = size[j];
                if ((!d && !with) || (with && c == 1)) continue;
                Poly b = poly_from(p->w, 1, &(Monomial){with ? c : 1, d, part});
                bool old = false;
                for (int j = 0; j < n; j++) old |= out[j] == b;
                if (!old && n < CANDIDATES_MAX) out[n++] = b;
            }
    }
    return n;
}
static uint32_t degree(Prover *p, Poly x) {
    Monomial m = {0};
    PolyScan s = poly_scan(p->w, x);
    poly_next(&s, &m);
    return m.degree;
}
/* Splits e into b*q and the rest r, monomial by monomial. */
static void split(Prover *p, Poly e, Poly b, Poly *q, Poly *r) {
    PolyScan s = poly_scan(p->w, e);
    *q = *r = 0;
    for (Monomial m; poly_next(&s, &m);) {
        Poly one = poly_from(p->w, 1, &m), x;
        if (poly_divide(p->w, one, b, &x)) *q = poly_add(p->w, *q, x);
        else *r = poly_add(p->w, *r, one);
    }
}
/* |r| < b */
static Dom below(Prover *p, Poly r, Poly b) {
    Poly one = poly_int(p->w, 1);
    return dom_make(
        p, 2, (Lit[]){lit_ge(p, poly_sub(p->w, b, one), r), lit_ge(p, poly_add(p->w, b, r), one)});
}
int equation_parts(Prover *p, Dom ctx, Poly e, Poly out[2]) {
    Poly b[CANDIDATES_MAX];
    const Symbol *v;
    int n = candidates(p, e, b);
    for (uint32_t d = 7; d-- > 0;)
        for (int k = 0; k < n; k++) {
            Poly q, r;
            if (degree(p, b[k]) != d) continue;
            split(p, e, b[k], &q, &r);
            if (!q || q == e || (r && !poly_variables(p, q, &v)) ||
                !prover_entails(p, ctx, below(p, r, b[k])))
                continue;
            out[0] = q;
            out[1] = r;
            return r ? 2 : 1;
        }
    return 0;
}

/* Whether the value of an input's element decides whether the literal holds. */
static bool depends_on_data(Prover *p, Poly e) {
    PolyScan s = poly_scan(p->w, e);
    for (Monomial m; poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            const SymbolDef d = symbol_def(p->w, m.symbol[k]);
            if (d.kind == SYM_READ) return true;
            for (uint32_t j = 0; j < d.narg; j++)
                if (depends_on_data(p, d.arg[j])) return true;
        }
    return false;
}

/* The domain of x is inhabited where every lower bound is at most every upper one. A sum or maximum
   that is assumed to have an element may still have none that the data choose. */
bool project(Prover *p, Dom *dom, Symbol x, int nkeep, const Symbol *keep) {
    Lits l = dom_lits(p, *dom);
    Poly low[BOUNDS_MAX], high[BOUNDS_MAX], b;
    int nlow = 0, nhigh = 0;
    Dom rest = *dom;
    for (int k = 0; k < l.n; k++) {
        if (!lit_mentions(p, l.v[k], 1, &x)) continue;
        rest = dom_without(p, rest, l.v[k]);
        int side = bound_of(p, l.v[k], x, &b);
        if (!side && p->lenient && !depends_on_data(p, l.v[k].p)) continue;
        if (!side || nlow == BOUNDS_MAX || nhigh == BOUNDS_MAX) return false;
        if (side > 0) low[nlow++] = b;
        else high[nhigh++] = b;
    }
    if (p->check.nonempty)
        for (int k = 0; k < nlow; k++)
            for (int j = 0; j < nhigh; j++) {
                Lit both = lit_ge(p, high[j], low[k]);
                if (!p->lenient || lit_mentions(p, both, nkeep, keep))
                    rest = dom_with(p, rest, both);
            }
    *dom = rest;
    return true;
}
