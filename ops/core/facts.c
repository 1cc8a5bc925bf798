/* facts.c -- keeps what is assumed about sizes, and answers questions with facts_prove.c.

   An equation in which a symbol stands alone with coefficient 1 or -1 is solved for it, and the
   symbol is replaced everywhere. Other equations and all inequalities are kept in the form p >= 0.

   Invariant: neither a fact nor the value of a solved symbol mentions a solved symbol, and every
   fact follows from the assumptions (dropping facts is sound). What a question adds for its own
   symbols is removed afterwards, from the World as well. */
#include "ops/core/facts_inner.h"
#include <string.h>

enum { REDUCE_ROUNDS = 8, SPLITS = 3 };

Facts *facts_new(World *w, Arena *arena) {
    Facts *f = ARENA_NEW(arena, Facts, 1);
    f->w = w;
    f->arena = arena;
    return f;
}

static Poly reduce(Facts *f, Poly p) {
    for (int i = 0; i < REDUCE_ROUNDS; i++) {
        Poly q = poly_subst(f->w, p, f->nsolved, f->from, f->to);
        if (q == p) break;
        p = q;
    }
    return p;
}

Poly facts_reduce(Facts *f, Poly p) {
    Overflow overflow = overflow_begin(f->w);
    Poly q = reduce(f, p);
    return overflow_end(f->w, overflow) ? p : q;
}

/* Strengthens p = g*h + c >= 0 to h + floor(c/g) >= 0, which is equivalent for integers. */
static Poly tighten(World *w, Poly p) {
    PolyScan s = poly_scan(w, p);
    int64_t c = 0;
    Poly h;
    for (Monomial m; poly_next(&s, &m);)
        if (!m.degree) c = m.coefficient;
    Poly rest = poly_sub(w, p, poly_int(w, c));
    int64_t g = poly_content(w, rest);
    if (g <= 1 || !poly_divide(w, rest, poly_int(w, g), &h)) return p;
    return poly_add(w, h, poly_int(w, integer_floor_div(c, g)));
}

void facts_add(Facts *f, Poly p) {
    int64_t c;
    if (!overflow_noted(f->w)) p = tighten(f->w, p);
    if (overflow_noted(f->w) || poly_constant(f->w, p, &c)) return;
    for (int i = 0; i < f->nfact; i++)
        if (f->fact[i].p == p) return;
    ARENA_GROW(f->arena, f->fact, f->room_fact, f->nfact + 1);
    f->fact[f->nfact++] = (Fact){p, 0};
    facts_learn(f, p);
}

static const Known *known_symbol(const Facts *f, Symbol s) {
    for (int i = 0; i < f->nknown; i++)
        if (f->known[i].symbol == s) return &f->known[i];
    return NULL;
}

/* Which symbols an equation is preferably solved for (the highest first): names, then data, then
   computed symbols, then indices. */
static int rank(const World *w, Symbol s) {
    static const int ranks[] = {
        [SYM_NAMED] = 5, [SYM_DATA] = 4,  [SYM_READ] = 4,  [SYM_PLACE] = 3, [SYM_FLOOR] = 3,
        [SYM_MIN] = 3,   [SYM_DIGIT] = 3, [SYM_INDEX] = 2, [SYM_BOUND] = 1};
    return ranks[symbol_def(w, s).kind];
}

static bool preferred(const World *w, Symbol s, Symbol to) {
    int a = rank(w, s), b = to ? rank(w, to) : 0;
    return a != b ? a > b : symbol_compare(w, s, to) > 0;
}

/* Solves p == 0 as *s == *value. */
static bool solve_equation(Facts *f, Poly p, Symbol *s, Poly *value) {
    World *w = f->w;
    PolyScan scan = poly_scan(w, p);
    *s = 0;
    for (Monomial m; poly_next(&scan, &m);) {
        if (m.degree != 1 || (m.coefficient != 1 && m.coefficient != -1)) continue;
        Poly rest = poly_sub(w, p, poly_scale(w, poly_symbol(w, m.symbol[0]), m.coefficient));
        if (poly_mentions(w, rest, m.symbol[0]) || !preferred(w, m.symbol[0], *s)) continue;
        *s = m.symbol[0];
        *value = poly_scale(w, rest, -m.coefficient);
    }
    return *s != 0;
}

/* Handles s - b*floor(s/b) == 0, which says that b divides s: a new symbol q replaces the quotient,
   and the equation becomes s - b*q == 0. */
static bool name_quotient(Facts *f, Poly p, Poly *renamed) {
    World *w = f->w;
    PolyScan scan = poly_scan(w, p);
    for (Monomial m; poly_next(&scan, &m);)
        for (uint32_t i = 0; i < m.degree; i++) {
            SymbolDef d = symbol_def(w, m.symbol[i]);
            Symbol s = d.kind == SYM_FLOOR ? poly_is_symbol(w, d.arg[0]) : 0, solved;
            if (!s || !poly_has(w, p, s) || poly_mentions(w, d.arg[1], s)) continue;
            Symbol q = symbol_data(w);
            Poly to = poly_symbol(w, q), value;
            *renamed = poly_subst(w, p, 1, &m.symbol[i], &to);
            if (!solve_equation(f, *renamed, &solved, &value) || solved != s || overflow_noted(w))
                continue;
            const Known *k = known_symbol(f, m.symbol[i]);
            facts_at_least(f, q, k && k->bounded ? k->least : INT64_MIN);
            return true;
        }
    return false;
}

/* Records s == value. False: the value of another solved symbol would overflow, and nothing was
   changed. */
static bool enter_solved(Facts *f, Symbol s, Poly value) {
    World *w = f->w;
    Symbol *from = ARENA_NEW(f->arena, Symbol, f->nsolved + 1);
    Poly *to = ARENA_NEW(f->arena, Poly, f->nsolved + 1);
    for (int i = 0; i < f->nsolved; i++) {
        from[i] = f->from[i];
        to[i] = poly_subst(w, f->to[i], 1, &s, &value);
    }
    if (overflow_noted(w)) return false;
    from[f->nsolved] = s;
    to[f->nsolved] = value;
    f->from = from;
    f->to = to;
    f->nsolved++;
    return true;
}

/* Replaces s by value everywhere. Facts whose coefficients would overflow are dropped. */
static void replace_symbol(Facts *f, Symbol s, Poly value) {
    World *w = f->w;
    const Known *k = known_symbol(f, s);
    bool bounded = k && k->bounded;
    int64_t least = bounded ? k->least : 0;
    if (!enter_solved(f, s, value)) return;
    Fact *old = f->fact;
    int n = f->nfact;
    f->fact = NULL;
    f->nfact = f->room_fact = 0;
    for (int i = 0; i < n; i++) {
        Overflow overflow = overflow_begin(w);
        facts_add(f, reduce(f, old[i].p));
        overflow_end(w, overflow);
    }
    Overflow overflow = overflow_begin(w);
    if (bounded) facts_add(f, poly_sub(w, value, poly_int(w, least)));
    overflow_end(w, overflow);
}

/* Divides the equation p == 0 by its content and by symbols known to be at least 1. */
static Poly cancel_positive(Facts *f, Poly p) {
    World *w = f->w;
    int64_t g = poly_content(w, p);
    if (g > 1) poly_divide(w, p, poly_int(w, g), &p);
    for (int i = 0; i < f->nknown; i++)
        while (p && f->known[i].bounded && f->known[i].least >= 1 &&
               poly_has(w, p, f->known[i].symbol) &&
               poly_divide(w, p, poly_symbol(w, f->known[i].symbol), &p)) {}
    return p;
}

static bool use_equation(Facts *f, Poly p) {
    Symbol s;
    Poly value, renamed;
    int64_t c;
    p = cancel_positive(f, reduce(f, p));
    if (overflow_noted(f->w) || poly_constant(f->w, p, &c)) return true;
    facts_learn(f, p);
    facts_settle(f, 0, 0);
    if (!solve_equation(f, p, &s, &value)) {
        if (!name_quotient(f, p, &renamed)) return false;
        p = renamed;
        facts_learn(f, p);
        facts_settle(f, 0, 0);
        solve_equation(f, p, &s, &value);
    }
    if (!overflow_noted(f->w)) replace_symbol(f, s, value);
    return true;
}

/* Tries to solve the open equations, repeatedly, as solving one may make another solvable. */
static void use_open(Facts *f) {
    for (int i = 0; i < f->nunsolved; i++) {
        Overflow overflow = overflow_begin(f->w);
        bool used = use_equation(f, f->unsolved[i]);
        overflow_end(f->w, overflow);
        if (!used) continue;
        f->unsolved[i] = f->unsolved[--f->nunsolved];
        i = -1;
    }
}

static void settle_all(Facts *f) {
    facts_settle(f, 0, 0);
    if (!f->nunsolved) return;
    use_open(f);
    for (int i = 0; i < f->nunsolved; i++) {
        Overflow overflow = overflow_begin(f->w);
        Poly q = cancel_positive(f, reduce(f, f->unsolved[i]));
        facts_add(f, q);
        facts_add(f, poly_scale(f->w, q, -1));
        overflow_end(f->w, overflow);
    }
    facts_settle(f, 0, 0);
}

void facts_assume(Facts *f, Lit l) {
    World *w = f->w;
    bool more = false;
    int first = l.eq ? 0 : f->nfact;
    int64_t c;
    Overflow overflow = overflow_begin(w);
    Poly p = reduce(f, l.p);
    if (!overflow_noted(w) && !poly_constant(w, p, &c)) {
        if (l.eq) {
            ARENA_GROW(f->arena, f->unsolved, f->room_unsolved, f->nunsolved + 1);
            f->unsolved[f->nunsolved++] = p;
        } else {
            facts_add(f, p);
        }
        settle_all(f);
        for (int i = 0; i < f->nknown; i++) more |= facts_round(f, i, first);
        if (more) facts_settle(f, 0, 0);
    }
    overflow_end(w, overflow);
}

static void give_bound(Facts *f, Symbol s, int64_t least) {
    for (int i = 0; i < f->ngiven; i++)
        if (f->given[i].symbol == s) {
            if (f->given[i].least < least) f->given[i].least = least;
            return;
        }
    ARENA_GROW(f->arena, f->given, f->room_given, f->ngiven + 1);
    f->given[f->ngiven++] = (Given){s, least};
    for (int i = 0; known_symbol(f, s) && i < f->nknown; i++) f->known[i].bounded = false;
}

void facts_at_least(Facts *f, Symbol s, int64_t least) {
    for (int i = 0; i < f->nsolved; i++)
        if (f->from[i] == s) {
            if (least != INT64_MIN)
                facts_assume(
                    f, (Lit){poly_sub(f->w, poly_symbol(f->w, s), poly_int(f->w, least)), false});
            return;
        }
    Overflow overflow = overflow_begin(f->w);
    give_bound(f, s, least);
    facts_settle(f, 0, 0);
    overflow_end(f->w, overflow);
}

/* ---- questions */

static bool prove(Facts *f, Poly p, int splits);

static bool prove_case(Facts *f, Poly p, Symbol m, Poly is, Poly other, int splits) {
    World *w = f->w;
    Poly x = poly_symbol(w, m), goal = poly_subst(w, p, 1, &m, &is);
    int nknown = f->nknown, nfact = f->nfact;
    facts_add(f, poly_sub(w, other, is));
    facts_add(f, poly_sub(w, x, is));
    facts_learn(f, goal);
    bool ok = !overflow_noted(w);
    facts_settle(f, nknown, nfact);
    ok = ok && prove(f, goal, splits - 1);
    f->nknown = nknown;
    f->nfact = nfact;
    return ok;
}

/* Proves p >= 0 directly, or separately for both cases of a min in it. */
static bool prove(Facts *f, Poly p, int splits) {
    if (facts_prove(f, p)) return true;
    PolyScan s = poly_scan(f->w, p);
    for (Monomial m; splits && poly_next(&s, &m);)
        for (uint32_t i = 0; i < m.degree; i++) {
            SymbolDef d = symbol_def(f->w, m.symbol[i]);
            if (d.kind != SYM_MIN) continue;
            return prove_case(f, p, m.symbol[i], d.arg[0], d.arg[1], splits) &&
                   prove_case(f, p, m.symbol[i], d.arg[1], d.arg[0], splits);
        }
    return false;
}

/* Whether sign*p >= 0 can be shown. Everything learned for the question is forgotten afterwards. */
static bool ask_sign(Facts *f, Poly p, int sign) {
    World *w = f->w;
    Facts saved = *f;
    ArenaMark mine = arena_mark(f->arena);
    WorldMark mark = world_mark(w);
    Overflow overflow = overflow_begin(w);
    p = reduce(f, poly_scale(w, p, sign));
    bool ok = !overflow_noted(w);
    if (ok) {
        facts_learn(f, p);
        facts_settle(f, saved.nknown, saved.nfact);
        ok = prove(f, p, SPLITS);
    }
    *f = saved;
    ok &= !overflow_end(w, overflow);
    world_reset(w, mark);
    if (f->arena != w->arena) arena_reset(f->arena, mine);
    return ok;
}

bool facts_entail(Facts *f, Lit l) {
    return ask_sign(f, l.p, 1) && (!l.eq || ask_sign(f, l.p, -1));
}
