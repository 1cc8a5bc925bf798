/* facts_prove.c -- proves p >= 0.

   Every bounded symbol is written as its least value plus something >= 0; a polynomial with only
   coefficients >= 0 is then >= 0. A monomial that prevents this is cancelled with a fact f >= 0
   that contains it, or a divisor of it, with the same sign: since p is an integer, p >= 0 follows
   from a*p + (a - 1) - m*f >= 0 for an integer a >= 1 and a monomial m >= 0.

   Every step is an implication, so the procedure is sound; its limits on depth and steps only lose
   proofs. */
#include "ops/core/facts_inner.h"
#include <string.h>

enum { DEPTH = 5, STEPS = 400, ROUNDS = 6 };

static Known *known_find(const Facts *f, Symbol s) {
    for (int i = 0; i < f->nknown; i++)
        if (f->known[i].symbol == s) return &f->known[i];
    return NULL;
}

static bool bounded(const Facts *f, Symbol s) {
    const Known *k = known_find(f, s);
    return k && k->bounded;
}

static Poly shift_poly(Facts *f, Poly p) {
    World *w = f->w;
    PolyScan s = poly_scan(w, p);
    Poly sum = 0;
    for (Monomial m; poly_next(&s, &m);) {
        Poly t = poly_int(w, m.coefficient);
        for (uint32_t i = 0; i < m.degree; i++) {
            const Known *k = known_find(f, m.symbol[i]);
            t = poly_mul(w, t,
                         poly_add(w, poly_symbol(w, m.symbol[i]),
                                  poly_int(w, k && k->bounded ? k->least : 0)));
        }
        sum = poly_add(w, sum, t);
    }
    return sum;
}

/* Whether the monomial cannot be negative. A symbol without a bound is allowed only in an even
   power. */
static bool harmless(const Facts *f, const Monomial *m) {
    if (m->coefficient < 0) return false;
    for (uint32_t i = 0, j; i < m->degree; i = j) {
        for (j = i + 1; j < m->degree && m->symbol[j] == m->symbol[i];) j++;
        if ((j - i) & 1 && !bounded(f, m->symbol[i])) return false;
    }
    return true;
}

static bool find_obstacle(const Facts *f, Poly p, Monomial *bad) {
    PolyScan s = poly_scan(f->w, p);
    while (poly_next(&s, bad))
        if (!harmless(f, bad)) return true;
    return false;
}

static bool find_floor(const Facts *f, Poly p, Monomial *bad) {
    PolyScan s = poly_scan(f->w, p);
    while (poly_next(&s, bad))
        for (uint32_t i = 0; i < bad->degree; i++)
            if (symbol_def(f->w, bad->symbol[i]).kind == SYM_FLOOR) return true;
    return false;
}

/* Computes m / n with coefficient 1. False: n does not divide m, or the quotient may be
   negative. */
static bool cofactor(Facts *f, const Monomial *m, const Monomial *n, Poly *out) {
    if (!poly_monomial_quotient(f->w, m, n, 1, out)) return false;
    PolyScan s = poly_scan(f->w, *out);
    Monomial x;
    poly_next(&s, &x);
    return harmless(f, &x);
}

typedef struct FactSearch {
    Facts *f;
    int steps;
    bool floors; /* cancel floors first, whatever their sign: their definitions replace them by what
                    they round */
} FactSearch;

static bool search_proof(FactSearch *, Poly p, int depth);

/* Cancels the monomial `bad` of p with the monomial n of a fact, and continues the search. */
static bool cancel(FactSearch *s, Poly p, const Monomial *bad, const Monomial *n, Poly fact,
                   int depth) {
    Facts *f = s->f;
    World *w = f->w;
    Poly m;
    if ((bad->coefficient < 0) != (n->coefficient < 0) || bad->coefficient == INT64_MIN ||
        n->coefficient == INT64_MIN)
        return false;
    if (!cofactor(f, bad, n, &m)) return false;
    int64_t c = bad->coefficient < 0 ? -bad->coefficient : bad->coefficient,
            d = n->coefficient < 0 ? -n->coefficient : n->coefficient;
    int64_t g = integer_gcd(c, d), a = d / g;
    Poly scaled = poly_add(w, poly_scale(w, p, a), poly_int(w, a - 1));
    Poly next = poly_sub(w, scaled, poly_scale(w, poly_mul(w, m, fact), c / g));
    return !overflow_noted(w) && search_proof(s, next, depth - 1);
}

static bool search_proof(FactSearch *s, Poly p, int depth) {
    Facts *f = s->f;
    Monomial bad, n, floor;
    if (!find_obstacle(f, p, &bad)) return true;
    if (!depth) return false;
    if (s->floors && find_floor(f, p, &floor)) bad = floor;
    for (int i = f->nfact - 1; i >= 0; i--) {
        Poly fact = f->fact[i].shifted;
        PolyScan scan = poly_scan(f->w, fact);
        while (poly_next(&scan, &n) && n.degree + (bad.degree == 0)) {
            if (--s->steps < 0) return false;
            if (cancel(s, p, &bad, &n, fact, depth)) return true;
            if (overflow_noted(f->w)) return false;
        }
    }
    return false;
}

bool facts_prove(Facts *f, Poly p) {
    bool ok = false;
    if (overflow_noted(f->w)) return false;
    Overflow overflow = overflow_begin(f->w);
    Poly shifted = shift_poly(f, p);
    for (int floors = 0; floors < 2 && !ok && !overflow_noted(f->w); floors++) {
        FactSearch s = {f, STEPS, floors};
        ok = search_proof(&s, shifted, DEPTH);
    }
    return !overflow_end(f->w, overflow) && ok;
}

/* Finds a number *v with p >= *v from the shifted coefficients; if that fails and `try` is set,
   tries to prove p >= 0. */
static bool least_value(Facts *f, Poly p, bool try, int64_t *v) {
    bool ok = true;
    if (overflow_noted(f->w)) return false;
    Overflow overflow = overflow_begin(f->w);
    PolyScan s = poly_scan(f->w, shift_poly(f, p));
    *v = 0;
    for (Monomial m; poly_next(&s, &m);) {
        if (!m.degree) *v = m.coefficient;
        else ok &= harmless(f, &m);
    }
    ok &= !overflow_end(f->w, overflow);
    if (!ok && try && facts_prove(f, p)) {
        *v = 0;
        ok = true;
    }
    return ok;
}

static bool at_least_one(Facts *f, Poly p) {
    return facts_prove(f, poly_sub(f->w, p, poly_int(f->w, 1)));
}

/* The lower bound that the symbol has by its definition, without the facts about it. */
static bool bound_by_kind(Facts *f, const Known *k, int64_t *least) {
    Symbol s = k->symbol;
    SymbolDef d = symbol_def(f->w, s);
    bool try = !k->bounded;
    int64_t a, b;
    *least = 0;
    for (int i = 0; i < f->ngiven; i++)
        if (f->given[i].symbol == s) {
            *least = f->given[i].least;
            return *least != INT64_MIN;
        }
    switch (d.kind) {
    case SYM_NAMED:
    case SYM_INDEX:
    case SYM_BOUND:
    case SYM_READ:
    case SYM_PLACE:
    case SYM_DATA: return true;
    case SYM_FLOOR:
        if (!(k->defined || at_least_one(f, d.arg[1])) || !least_value(f, d.arg[0], try, &a))
            return false;
        *least = poly_constant(f->w, d.arg[1], &b) ? integer_floor_div(a, b) : a < 0 ? a : 0;
        return true;
    case SYM_MIN:
        if (!least_value(f, d.arg[0], try, &a) || !least_value(f, d.arg[1], try, &b)) return false;
        *least = a < b ? a : b;
        return true;
    case SYM_DIGIT: return k->defined || at_least_one(f, d.arg[1 + d.word]);
    }
    return false;
}

/* Derives a bound from a fact of the shifted form c*s - (something >= 0) - k >= 0: s >= ceil(k/c),
   relative to the amount by which s was shifted. */
static bool bound_by_fact(Facts *f, const Known *k, const Fact *fact, int64_t *least) {
    PolyScan scan = poly_scan(f->w, fact->shifted);
    int64_t c = 0, constant = 0;
    for (Monomial m; poly_next(&scan, &m);) {
        if (!m.degree) constant = m.coefficient;
        else if (m.degree == 1 && m.symbol[0] == k->symbol && m.coefficient > 0) c = m.coefficient;
        else if (m.coefficient == INT64_MIN ||
                 !harmless(f, &(Monomial){-m.coefficient, m.degree, m.symbol}))
            return false;
    }
    return c && constant != INT64_MIN &&
           !__builtin_sub_overflow(k->bounded ? k->least : 0, integer_floor_div(constant, c),
                                   least);
}

/* Whether s >= 1 follows from a fact c*M - d >= 0, c, d > 0, where M is a product of symbols >= 0
   that contains s. */
static bool positive_by_fact(Facts *f, Symbol s, Poly fact) {
    PolyScan scan = poly_scan(f->w, fact);
    Monomial m, c;
    bool there = false;
    if (!poly_next(&scan, &m) || !m.degree || m.coefficient <= 0) return false;
    if (!poly_next(&scan, &c) || c.degree || c.coefficient >= 0) return false;
    for (uint32_t i = 0; i < m.degree; i++) {
        const Known *k = known_find(f, m.symbol[i]);
        if (!k || !k->bounded || k->least < 0) return false;
        there |= m.symbol[i] == s;
    }
    return there;
}

static void raise(Known *k, int64_t least) {
    if (k->bounded && k->least >= least) return;
    k->bounded = true;
    k->least = least;
}

static bool improve_bound(Facts *f, int i) {
    Known *k = &f->known[i], old = *k; /* a copy, because the shifted facts are relative to the old
                                          bound */
    int64_t v;
    if (bound_by_kind(f, &old, &v)) raise(k, v);
    for (int j = 0; j < f->nfact; j++) {
        if (bound_by_fact(f, &old, &f->fact[j], &v)) raise(k, v);
        if (positive_by_fact(f, k->symbol, f->fact[j].p)) raise(k, 1);
    }
    return k->bounded != old.bounded || k->least != old.least;
}

/* Let F = floor(a/b). From a fact A >= 0 with a = A + c + b*q, c a number, follows F >= q +
   floor(c/b). For a symbolic b this needs c >= 0, and c/b is rounded to 0. */
static void round_fact(Facts *f, Symbol floor, const SymbolDef *d, Poly fact) {
    World *w = f->w;
    Poly rest = poly_sub(w, d->arg[0], fact), q;
    PolyScan s = poly_scan(w, rest);
    int64_t c = 0, b;
    for (Monomial m; poly_next(&s, &m);)
        if (!m.degree) c = m.coefficient;
    bool number = poly_constant(w, d->arg[1], &b);
    if (overflow_noted(w) || (!number && c < 0) ||
        !poly_divide(w, poly_sub(w, rest, poly_int(w, c)), d->arg[1], &q))
        return;
    facts_add(f, poly_sub(w, poly_sub(w, poly_symbol(w, floor), q),
                          poly_int(w, number ? integer_floor_div(c, b) : 0)));
}

bool facts_round(Facts *f, int known, int fact) {
    int n = f->nfact;
    SymbolDef d = symbol_def(f->w, f->known[known].symbol);
    for (int j = fact; f->known[known].defined && d.kind == SYM_FLOOR && j < n; j++)
        round_fact(f, f->known[known].symbol, &d, f->fact[j].p);
    return f->nfact > n;
}

/* Adds the inequalities of the symbol's definition, as soon as their conditions are known to
   hold. */
static bool define(Facts *f, int i) {
    World *w = f->w;
    Symbol s = f->known[i].symbol;
    SymbolDef d = symbol_def(w, s);
    Poly x = poly_symbol(w, s), one = poly_int(w, 1);
    bool bare = d.kind == SYM_NAMED || d.kind == SYM_INDEX || d.kind == SYM_DATA ||
                d.kind == SYM_READ || d.kind == SYM_PLACE;
    if (f->known[i].defined || bare) return false;
    if (d.kind == SYM_FLOOR && !at_least_one(f, d.arg[1])) return false;
    if (d.kind == SYM_DIGIT && !at_least_one(f, d.arg[1 + d.word])) return false;
    f->known[i].defined = true;
    if (d.kind == SYM_FLOOR) {
        Poly rest = poly_sub(w, d.arg[0], poly_mul(w, d.arg[1], x));
        facts_add(f, rest);
        facts_add(f, poly_sub(w, poly_sub(w, d.arg[1], one), rest));
        facts_round(f, i, 0);
    } else if (d.kind == SYM_MIN) {
        facts_add(f, poly_sub(w, d.arg[0], x));
        facts_add(f, poly_sub(w, d.arg[1], x));
    } else {
        facts_add(f, poly_sub(w, poly_sub(w, d.arg[d.kind == SYM_BOUND ? 0 : 1 + d.word], one), x));
    }
    return true;
}

void facts_learn(Facts *f, Poly p) {
    PolyScan s = poly_scan(f->w, p);
    for (Monomial m; poly_next(&s, &m);)
        for (uint32_t i = 0; i < m.degree; i++) {
            if (known_find(f, m.symbol[i])) continue;
            SymbolDef d = symbol_def(f->w, m.symbol[i]);
            for (uint32_t k = 0; k < d.narg; k++) facts_learn(f, d.arg[k]);
            if (known_find(f, m.symbol[i])) continue;
            ARENA_GROW(f->arena, f->known, f->room_known, f->nknown + 1);
            f->known[f->nknown++] = (Known){.symbol = m.symbol[i]};
        }
}

static void shift_from(Facts *f, int fact) {
    for (int i = fact; i < f->nfact; i++) {
        Overflow overflow = overflow_begin(f->w);
        Poly p = shift_poly(f, f->fact[i].p);
        /* on overflow the fact becomes 0 >= 0, which says nothing */
        f->fact[i].shifted = overflow_end(f->w, overflow) ? 0 : p;
    }
}

void facts_settle(Facts *f, int known, int fact) {
    bool changed = true;
    for (int i = fact; i < f->nfact; i++) facts_learn(f, f->fact[i].p);
    shift_from(f, fact);
    for (int round = 0; changed && round < ROUNDS; round++) {
        changed = false;
        for (int i = known; i < f->nknown; i++) {
            Overflow overflow = overflow_begin(f->w);
            bool better = improve_bound(f, i);
            if (better) shift_from(f, fact);
            bool more = define(f, i);
            if (more) shift_from(f, fact);
            overflow_end(f->w, overflow);
            changed |= better || more;
        }
    }
}
