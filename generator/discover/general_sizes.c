/* general_sizes.c -- the sizes of a part that is built over placeholders: new symbols with their
   values at the place, and what solving the needs says about them. What it says must be true at the
   place. */
#include "generator/discover/general_inner.h"
#include "graphs/needs.h"
#include "graphs/resize.h"

bool general_real(const General *g, Poly p, int64_t *v) { return poly_eval(g->w, p, g->real, v); }

Poly general_fresh(General *g, int64_t value, bool attribute) {
    if (g->nsymbol == SYMBOLS) return 0;
    Poly p = lift_fresh(g->l, attribute);
    g->symbol[g->nsymbol] = poly_is_symbol(g->w, p);
    g->value[g->nsymbol++] = value;
    return p;
}

/* ---- what the solution says */

Sizes general_values(General *g) {
    uint32_t n = intern_count(g->w->table[TABLE_SYMBOL]) + 1;
    int64_t *v = ARENA_NEW(g->a, int64_t, n);
    for (uint32_t k = 0; k < n; k++) v[k] = SIZE_UNKNOWN;
    for (int k = 0; k < g->nsymbol; k++) v[g->symbol[k]] = g->value[k];
    return (Sizes){n, v};
}

bool general_solved(General *g) {
    for (int k = 0; k < g->l->nsolved; k++) {
        Sizes s = general_values(g);
        Monomial m;
        Symbol unknown = 0;
        int64_t x, at_one;
        for (PolyScan scan = poly_scan(g->w, g->l->to[k]); poly_next(&scan, &m);)
            for (uint32_t j = 0; j < m.degree; j++)
                if (s.value[m.symbol[j]] == SIZE_UNKNOWN &&
                    symbol_def(g->w, m.symbol[j]).kind == SYM_NAMED)
                    unknown = m.symbol[j];
        if (!unknown) continue;
        int64_t *v = (int64_t *)(uintptr_t)s.value;
        v[unknown] = 1;
        if (!poly_eval(g->w, poly_symbol(g->w, g->l->from[k]), s, &x) ||
            !poly_eval(g->w, g->l->to[k], s, &at_one) || at_one <= 0 || x % at_one ||
            g->nsymbol == SYMBOLS)
            return false;
        g->symbol[g->nsymbol] = unknown;
        g->value[g->nsymbol++] = x / at_one;
    }
    return true;
}

bool general_holds(General *g, const Graph *y) {
    Sizes s = general_values(g);
    LitList needs = graph_needs(g->w, g->a, y);
    int64_t v, old;
    if (!lits_hold(g->w, needs.n, needs.v, s)) return false;
    for (int k = 0; k < y->nin; k++) {
        const Type *t = value_type(g->w, y->in[k]), *was = value_type(g->w, g->old[k]);
        for (int d = 0; d < t->dim.n; d++)
            if (!poly_eval(g->w, t->dim.v[d], s, &v) || !general_real(g, was->dim.v[d], &old) ||
                v != old)
                return false;
    }
    return true;
}

/* Finds a size of the data that the given size of the result equals but for *rest, which does not
   contain it. Returns 0 if there is none. */
static Symbol grows_with(General *g, const Graph *y, Poly size, Poly *rest) {
    for (int k = 0; k < y->nin; k++) {
        const Type *t = value_type(g->w, y->in[k]);
        for (int d = 0; d < t->dim.n && *input_name(g->w, y->in[k]) == 'x'; d++) {
            const Symbol s = poly_is_symbol(g->w, t->dim.v[d]);
            if (!s) continue;
            *rest = poly_sub(g->w, size, t->dim.v[d]);
            if (!poly_mentions(g->w, *rest, s)) return s;
        }
    }
    return 0;
}

bool general_multiple(General *g, Graph *y) {
    const Type *t = value_type(g->w, y->out[0]);
    Symbol from[RANK_MAX];
    Poly to[RANK_MAX], rest;
    int n = 0;
    Error ignored = {0};
    bool constant = false;
    for (int k = 0; k < y->nin; k++) constant |= *input_name(g->w, y->in[k]) == 'k';
    if (g->p->n != 1 || y->nout != 1 || t->dim.n < 3 || !constant) return false;
    for (int d = 2; d < t->dim.n; d++) {
        int64_t v;
        if (!poly_eval(g->w, t->dim.v[d], general_values(g), &v) || v < 2 || v % g->multiple)
            continue;
        if (!(from[n] = grows_with(g, y, t->dim.v[d], &rest))) continue;
        const Poly part = general_fresh(g, v / g->multiple, false);
        if (!part) return false;
        to[n++] = poly_sub(g->w, poly_scale(g->w, part, g->multiple), rest);
    }
    const Graph old = *y;
    return n && graph_resize(g->w, g->a, &old, (NewSizes){n, from, to}, y, &ignored);
}
