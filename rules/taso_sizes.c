/* taso_sizes.c -- the sizes in one of TASO's rules: unknown sizes, equalities between them, and
   their solutions. */
#include "rules/taso_text_inner.h"

bool taso_refuse(TasoWriter *x, const char *why) {
    if (!x->why) x->why = why;
    return false;
}

Poly solution_apply(TasoWriter *x, const Solution *s, Poly p) {
    for (Poly before = ~p; before != p;) {
        before = p;
        p = poly_subst(x->w, p, s->n, s->from, s->to);
    }
    return p;
}

static Poly size_symbol(TasoWriter *x, const char *name, Symbol *list, int *n) {
    Poly p = poly_named(x->w, name);
    Symbol s = poly_is_symbol(x->w, p);
    bool there = false;
    for (int k = 0; k < *n; k++) there |= list[k] == s;
    if (!there && *n < SOLVED) list[(*n)++] = s;
    return solution_apply(x, &x->sizes, p);
}

Poly taso_unknown(TasoWriter *x, const char *stem, int number) {
    const char *name = arena_format(x->arena, "%s%d%s", stem, number, x->side ? "r" : "");
    return x->side ? size_symbol(x, name, x->helper, &x->nhelper)
                   : size_symbol(x, name, x->auxiliary, &x->naux);
}

bool taso_among(Symbol s, int n, const Symbol *list) {
    for (int k = 0; k < n; k++)
        if (list[k] == s) return true;
    return false;
}

void taso_demand(TasoWriter *x, Poly a, Poly b, bool only_text) {
    Poly p = solution_apply(x, &x->sizes, poly_sub(x->w, a, b));
    if (!p) return;
    if (x->neq == EQUALITIES) taso_refuse(x, "too many conditions");
    else {
        x->only_text[x->neq] = only_text;
        x->eq[x->neq++] = p;
    }
}

static bool positive_sum(TasoWriter *x, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(x->w, p); poly_next(&s, &m);)
        if (m.coefficient < 0) return false;
    return true;
}

/* Solves p == 0 for a symbol that is a term of it by itself. Sizes of inputs are replaced only by
   sums of products, so that a type can be written and matched. Symbols that are not sizes of inputs
   may be replaced by anything, and are preferred. */
bool taso_solve(TasoWriter *x, Poly p, Solution *out) {
    Symbol best = 0;
    Poly value = 0;
    Monomial m;
    bool best_free = false;
    for (PolyScan s = poly_scan(x->w, p); poly_next(&s, &m);) {
        if (m.degree != 1 || (m.coefficient != 1 && m.coefficient != -1) ||
            symbol_def(x->w, m.symbol[0]).kind != SYM_NAMED)
            continue;
        Poly alone = poly_scale(x->w, poly_symbol(x->w, m.symbol[0]), m.coefficient);
        Poly rest = poly_scale(x->w, poly_sub(x->w, alone, p), m.coefficient);
        bool is_free = taso_among(m.symbol[0], x->naux, x->auxiliary) ||
                       taso_among(m.symbol[0], x->nhelper, x->helper);
        if (!is_free && !positive_sum(x, rest)) continue;
        if (poly_mentions(x->w, rest, m.symbol[0]) || (best_free && !is_free)) continue;
        best = m.symbol[0];
        value = rest;
        best_free = is_free;
    }
    if (!best || out->n == SOLVED) return false;
    for (int k = 0; k < out->n; k++) out->to[k] = poly_subst(x->w, out->to[k], 1, &best, &value);
    out->from[out->n] = best;
    out->to[out->n++] = value;
    return true;
}

/* TASO's sizes are positive, so a factor that all terms have in common is divided out. That it is
   not 0 becomes a condition of the rule. */
Poly taso_divided(TasoWriter *x, Poly p) {
    Monomial first, m;
    PolyScan s = poly_scan(x->w, p);
    if (!poly_next(&s, &first)) return p;
    for (uint32_t k = 0; k < first.degree; k++) {
        bool common = symbol_def(x->w, first.symbol[k]).kind == SYM_NAMED;
        for (s = poly_scan(x->w, p); common && poly_next(&s, &m);)
            common = taso_among(first.symbol[k], (int)m.degree, m.symbol);
        Poly quotient;
        if (!common || !poly_divide(x->w, p, poly_symbol(x->w, first.symbol[k]), &quotient))
            continue;
        if (!taso_among(first.symbol[k], x->npositive, x->positive) && x->npositive < SOLVED)
            x->positive[x->npositive++] = first.symbol[k];
        return taso_divided(x, quotient);
    }
    return p;
}
