/* match_bindings.c -- binds the variables of a rule. Integer attributes and sizes give equations
   between a polynomial of the pattern and one of the graph. A single symbol is bound at once; other
   equations are kept until all but one of their symbols are bound. All bindings are on a trail,
   from which backtracking removes them. */
#include "rules/match_inner.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

static int symbol_at(const MatchState *s, Symbol symbol) {
    for (int k = 0; k < s->i->nsymbol; k++)
        if (s->i->symbol[k] == symbol) return k;
    return -1;
}

static bool sizes_same(const MatchState *s, Poly a, Poly b) {
    return a == b || facts_reduce(s->m->facts, a) == facts_reduce(s->m->facts, b);
}

static bool bind_symbol(MatchState *s, int k, Poly p) {
    if (s->is_bound[k]) return sizes_same(s, s->symbol[k], p);
    s->symbol[k] = p;
    s->is_bound[k] = true;
    s->trail[s->ntrail++] = k;
    return true;
}

bool match_equate(MatchState *s, Poly pattern, Poly value) {
    int64_t c;
    Symbol symbol = poly_is_symbol(s->m->w, pattern);
    int k = symbol ? symbol_at(s, symbol) : -1;
    if (k >= 0) return bind_symbol(s, k, value);
    if (poly_constant(s->m->w, pattern, &c)) return sizes_same(s, pattern, value);
    ARENA_GROW(s->arena, s->equation, s->equation_room, s->nequation + 1);
    s->equation[s->nequation++] = (SizeEquation){pattern, value, false};
    return true;
}

/* Whether a number of the graph matches one of the rule: it is equal, or the nearest float to the
   rule's (a float read from a file is represented by its shortest decimal). -0 matches the rule's 0
   as if it were rounded: x - 0 is x for every x, but x - (-0) is not -0 for x = -0. An integer
   matches only itself. */
static bool same_number(MatchState *s, double rule, double graph, DType held) {
    if (rule == graph) {
        s->rounds += !signbit(rule) != !signbit(graph);
        return true;
    }
    if (dtype_class(held) != 'F' || element_nearest(held, rule) != element_nearest(held, graph))
        return false;
    s->rounds++;
    return true;
}

bool match_bind_real(MatchState *s, Ex pattern, Ex value, DType held) {
    ExNode n;
    double a, b;
    bool number = ex_number(s->m->w, value, &b);
    if (ex_number(s->m->w, pattern, &a)) return number && same_number(s, a, b, held);
    ex_get(s->m->w, pattern, &n);
    if (n.kind != EX_PARAM) return false;
    for (int k = 0; k < s->i->nreal; k++) {
        if (strcmp(s->i->real[k], world_text(s->m->w, n.word))) continue;
        if (s->real[k]) return s->real[k] == value;
        s->real[k] = value;
        s->trail[s->ntrail++] = ~k;
        return true;
    }
    return false;
}

/* ---- equations that were kept */

static Poly substituted(const MatchState *s, Poly p) {
    int n = 0;
    for (int k = 0; k < s->i->nsymbol; k++) {
        if (!s->is_bound[k]) continue;
        s->from[n] = s->i->symbol[k];
        s->to[n++] = s->symbol[k];
    }
    return poly_subst(s->m->w, p, n, s->from, s->to);
}

static bool mentions_unbound(const MatchState *s, Poly p) {
    for (int k = 0; k < s->i->nsymbol; k++)
        if (!s->is_bound[k] && poly_mentions(s->m->w, p, s->i->symbol[k])) return true;
    return false;
}

/* Solves p = value for the one unbound symbol x in p, if p = a*x + b is linear in it and a divides
   value - b. Returns 1 if x was bound, 0 if nothing can be said yet, -1 if it is impossible. */
static int solve_linear(MatchState *s, Poly p, Poly value) {
    World *w = s->m->w;
    int x = -1;
    for (int k = 0; k < s->i->nsymbol; k++) {
        if (s->is_bound[k] || !poly_mentions(w, p, s->i->symbol[k])) continue;
        if (x >= 0) return 0;
        x = k;
    }
    Symbol symbol = s->i->symbol[x];
    Poly zero = 0, one = poly_int(w, 1), two = poly_int(w, 2);
    Poly b = poly_subst(w, p, 1, &symbol, &zero),
         a = poly_sub(w, poly_subst(w, p, 1, &symbol, &one), b), q;
    if (poly_sub(w, poly_subst(w, p, 1, &symbol, &two), b) != poly_scale(w, a, 2) || !a) return 0;
    if (poly_mentions(w, poly_sub(w, p, poly_mul(w, a, poly_symbol(w, symbol))), symbol)) return 0;
    if (!poly_divide(w, poly_sub(w, value, b), a, &q)) return -1;
    return bind_symbol(s, x, q) ? 1 : -1;
}

static bool solve_all(MatchState *s) {
    for (int k = 0; k < s->nequation; k++) s->equation[k].solved = false;
    for (bool again = true; again;) {
        again = false;
        for (int k = 0; k < s->nequation; k++) {
            SizeEquation *x = &s->equation[k];
            if (x->solved) continue;
            Poly p = substituted(s, x->pattern);
            int solved = mentions_unbound(s, p)       ? solve_linear(s, p, x->value)
                         : sizes_same(s, p, x->value) ? 1
                                                      : -1;
            if (solved < 0) return false;
            again |= x->solved = solved > 0;
        }
    }
    for (int k = 0; k < s->nequation; k++)
        if (!s->equation[k].solved) return false;
    for (int k = 0; k < s->i->nsymbol; k++)
        if (!s->is_bound[k]) return false;
    for (int k = 0; k < s->i->nreal; k++)
        if (!s->real[k]) return false;
    return true;
}

/* A polynomial whose coefficients exceed 64 bits becomes 0, so nothing matches after an
   overflow. */
bool match_solve(MatchState *s) {
    Overflow overflow = overflow_begin(s->m->w);
    bool solved = solve_all(s);
    return !overflow_end(s->m->w, overflow) && solved;
}
