/* sizes.c -- solves the equations between sizes. Repeatedly, an equation is divided by factors
   known to be positive and solved for a symbol with coefficient 1 or -1. A quotient floor(a/b) in
   an equation becomes a symbol of its own, so that o = g*floor(o/g) is solved as o := g*q; its
   definition becomes facts. What cannot be solved stays a fact. */
#include "verifier/sizes.h"
#include <stdio.h>
#include <string.h>

enum { SOLVED_MAX = 200, ROUNDS_MAX = 200 };

static Poly solved_poly(const SizeFacts *s, Poly p) {
    return s->nsolved ? poly_subst(s->w, p, s->nsolved, s->from, s->to) : p;
}
Lit lit_solved(const SizeFacts *s, Lit l) { return (Lit){solved_poly(s, l.p), l.eq}; }
Lit lit_restated(const SizeFacts *s, Lit l) {
    for (int k = s->nquotient - 1; k >= 0; k--)
        l.p = poly_subst(s->w, l.p, 1, &s->quotient[k], &s->meaning[k]);
    return l;
}

static void add_fact(SizeFacts *s, Lit l) {
    for (int k = 0; k < s->nfact; k++)
        if (s->fact[k].p == l.p && s->fact[k].eq == l.eq) return;
    ARENA_GROW(s->arena, s->fact, s->room, s->nfact + 1);
    s->fact[s->nfact++] = l;
}
static void substitute_symbol(SizeFacts *s, Symbol x, Poly value) {
    for (int k = 0; k < s->nsolved; k++) s->to[k] = poly_subst(s->w, s->to[k], 1, &x, &value);
    s->from[s->nsolved] = x;
    s->to[s->nsolved++] = value;
    for (int k = 0; k < s->nfact; k++) s->fact[k].p = poly_subst(s->w, s->fact[k].p, 1, &x, &value);
}

/* ---- what is positive */

/* The greatest known lower bound of x; INT64_MIN if there is none. */
static int64_t lower(const SizeFacts *s, Symbol x) {
    int64_t best = INT64_MIN;
    for (int k = 0; k < s->nfact; k++) {
        Poly rest = poly_sub(s->w, s->fact[k].p, poly_symbol(s->w, x));
        int64_t c;
        if (!s->fact[k].eq && poly_constant(s->w, rest, &c) && -c > best) best = -c;
    }
    return best;
}
static bool positive_constant(const SizeFacts *s, Poly b) {
    int64_t c;
    Symbol x = poly_is_symbol(s->w, b);
    return poly_constant(s->w, b, &c) ? c >= 1 : x && lower(s, x) >= 1;
}
static bool is_positive(void *facts, Symbol x) { return lower(facts, x) >= 1; }
static Poly without_positive_factors(SizeFacts *s, Poly e) {
    return poly_without_shared(s->w, e, is_positive, s);
}

/* ---- solving */

/* Solves e for one of its named symbols and substitutes it: the one whose value has the fewest
   negative coefficients, and among these the last. */
static bool solve_named(SizeFacts *s, Poly e) {
    Symbol best = 0;
    Poly best_value = 0;
    int best_bad = 0;
    PolyScan scan = poly_scan(s->w, e);
    for (Monomial m; poly_next(&scan, &m);) {
        Poly value;
        if (m.degree != 1 || symbol_def(s->w, m.symbol[0]).kind != SYM_NAMED ||
            !poly_solve(s->w, e, m.symbol[0], &value))
            continue;
        int bad = 0;
        PolyScan v = poly_scan(s->w, value);
        for (Monomial n; poly_next(&v, &n);) bad += n.coefficient < 0;
        if (best && (bad > best_bad || (bad == best_bad && m.symbol[0] < best))) continue;
        best = m.symbol[0];
        best_value = value;
        best_bad = bad;
    }
    if (best) substitute_symbol(s, best, best_value);
    return best != 0;
}
/* Gives a quotient in e a name of its own; its definition becomes facts. */
static bool name_quotient(SizeFacts *s, Poly e, int round) {
    World *w = s->w;
    PolyScan scan = poly_scan(w, e);
    for (Monomial m; poly_next(&scan, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolDef d = symbol_def(w, m.symbol[k]);
            if (d.kind != SYM_FLOOR || !positive_constant(s, d.arg[1])) continue;
            char name[40];
            snprintf(name, sizeof name, "quotient#%d", round);
            Poly q = poly_named(w, name), rest = poly_sub(w, d.arg[0], poly_mul(w, q, d.arg[1]));
            Symbol numerator = poly_is_symbol(w, d.arg[0]);
            add_fact(s, (Lit){rest, false});
            add_fact(s, (Lit){poly_sub(w, poly_sub(w, d.arg[1], poly_int(w, 1)), rest), false});
            if (numerator && lower(s, numerator) >= 0) add_fact(s, (Lit){q, false});
            s->quotient[s->nquotient] = poly_is_symbol(w, q);
            s->meaning[s->nquotient++] = poly_symbol(w, m.symbol[k]);
            substitute_symbol(s, m.symbol[k], q);
            return true;
        }
    return false;
}
static bool solve_step(SizeFacts *s, int round) {
    for (int k = 0; k < s->nfact; k++) {
        if (!s->fact[k].eq || !s->fact[k].p) continue;
        Poly e = s->fact[k].p = without_positive_factors(s, s->fact[k].p);
        if (solve_named(s, e) || name_quotient(s, e, round)) return true;
    }
    return false;
}

/* ---- all of it */

/* Lists the symbols with a known lower bound that is not negative. */
static void note_sizes(SizeFacts *s) {
    s->size = ARENA_NEW(s->arena, Symbol, s->nfact);
    s->low = ARENA_NEW(s->arena, int64_t, s->nfact);
    for (int k = 0; k < s->nfact; k++) {
        PolyScan scan = poly_scan(s->w, s->fact[k].p);
        Monomial m;
        if (s->fact[k].eq || !poly_next(&scan, &m) || m.degree != 1 || m.coefficient != 1) continue;
        int64_t low = lower(s, m.symbol[0]);
        if (low < 0 || among(m.symbol[0], s->nsize, s->size)) continue;
        s->size[s->nsize] = m.symbol[0];
        s->low[s->nsize++] = low;
    }
}
/* Adds facts: if a product of sizes that are at least 1 and one other symbol is not negative, then
   that symbol is not negative. */
static void derive_signs(SizeFacts *s) {
    int n = s->nfact;
    for (int k = 0; k < n; k++) {
        PolyScan scan = poly_scan(s->w, s->fact[k].p);
        Monomial m, none;
        if (s->fact[k].eq || !poly_next(&scan, &m) || poly_next(&scan, &none) || m.degree < 2 ||
            m.coefficient < 1)
            continue;
        Symbol other = 0;
        int others = 0;
        for (uint32_t j = 0; j < m.degree; j++)
            if (lower(s, m.symbol[j]) < 1) {
                other = m.symbol[j];
                others++;
            }
        if (others == 1) add_fact(s, (Lit){poly_symbol(s->w, other), false});
    }
}
/* Substitutes the solved symbols. Returns false if the literal is always false. */
static bool simplify_literal(SizeFacts *s, Lit *l) {
    int64_t c;
    l->p = solved_poly(s, l->p);
    return !poly_constant(s->w, l->p, &c) || (l->eq ? c == 0 : c >= 0);
}
bool size_facts(World *w, Arena *arena, const Instance *i, SizeFacts *s) {
    *s = (SizeFacts){.w = w, .arena = arena};
    s->from = ARENA_NEW(arena, Symbol, SOLVED_MAX);
    s->to = ARENA_NEW(arena, Poly, SOLVED_MAX);
    s->quotient = ARENA_NEW(arena, Symbol, SOLVED_MAX);
    s->meaning = ARENA_NEW(arena, Poly, SOLVED_MAX);
    for (int k = 0; k < i->nsymbol; k++)
        if (i->is_size[k]) add_fact(s, (Lit){poly_symbol(w, i->symbol[k]), false});
    for (int k = 0; k < i->nwhere; k++) add_fact(s, i->where[k]);
    for (int k = 0; k < i->nneed_from; k++) add_fact(s, i->need_from[k]);
    for (int round = 0; round < ROUNDS_MAX && s->nsolved < SOLVED_MAX - 1 && solve_step(s, round);
         round++)
        continue;
    derive_signs(s);
    note_sizes(s);
    int n = 0;
    for (int k = 0; k < s->nfact; k++) {
        int64_t c;
        if (!simplify_literal(s, &s->fact[k])) return false;
        if (!poly_constant(w, s->fact[k].p, &c)) s->fact[n++] = s->fact[k];
    }
    s->nfact = n;
    return !overflow_noted(w);
}
