/* lift_solve.c -- solves equations between sizes and attributes for single symbols.

   The first pass looks for solutions that cannot be negative, and among them for unknowns of
   attributes that sizes determine. When it finds no more, a size that something must divide becomes
   a multiple of that. This waits because a remaining equation may say that two of these symbols are
   equal. Solutions that could be negative come last. */
#include "generator/lift_inner.h"
#include "ops/operator/value.h"

Poly lift_fresh(Lift *l, bool attribute) {
    Poly p = poly_named(l->w, arena_format(l->arena, attribute ? "_a%d" : "_s%d", l->nfresh++));
    if (attribute && l->nattribute < LIFT_SYMBOLS)
        l->attribute[l->nattribute++] = poly_is_symbol(l->w, p);
    return p;
}

static bool is_attribute(const Lift *l, Symbol s) {
    for (int k = 0; k < l->nattribute; k++)
        if (l->attribute[k] == s) return true;
    return false;
}

/* Whether s occurs inside a quotient or minimum of p. */
static bool hidden(Lift *l, Poly p, Symbol s) {
    Monomial m;
    for (PolyScan k = poly_scan(l->w, p); poly_next(&k, &m);)
        for (uint32_t j = 0; j < m.degree; j++)
            if (m.symbol[j] != s && poly_mentions(l->w, poly_symbol(l->w, m.symbol[j]), s))
                return true;
    return false;
}

/* If p = slope * s + rest, with slope 1 or -1 and s nowhere else in p, sets *x to the s that makes
   p zero. */
static bool solved_for(Lift *l, Poly p, Symbol s, Poly *x) {
    int64_t slope;
    if (hidden(l, p, s)) return false;
    Poly rest = poly_subst(l->w, p, 1, &s, &(Poly){0}),
         one = poly_subst(l->w, p, 1, &s, &(Poly){poly_int(l->w, 1)});
    if (!poly_constant(l->w, poly_sub(l->w, one, rest), &slope) || (slope != 1 && slope != -1))
        return false;
    if (poly_add(l->w, poly_scale(l->w, poly_symbol(l->w, s), slope), rest) != p) return false;
    *x = poly_scale(l->w, rest, -slope);
    return !poly_mentions(l->w, *x, s);
}

static int symbols_of(Lift *l, Poly p, Symbol out[]) {
    int n = 0;
    Monomial m;
    for (PolyScan s = poly_scan(l->w, p); poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            int j = 0;
            while (j < n && out[j] != m.symbol[k]) j++;
            if (j == n && n < LIFT_SYMBOLS && symbol_def(l->w, m.symbol[k]).kind == SYM_NAMED)
                out[n++] = m.symbol[k];
        }
    return n;
}

static void add_solution(Lift *l, Symbol s, Poly x) {
    for (int k = 0; k < l->nsolved; k++) l->to[k] = poly_subst(l->w, l->to[k], 1, &s, &x);
    l->from[l->nsolved] = s;
    l->to[l->nsolved++] = x;
}

/* Solves p = 0 for one symbol: for the unknown of an attribute if there is exactly one, else
   preferably for a size. With `natural`, only solutions that cannot be negative are accepted. */
static bool eliminate_one(Lift *l, Poly p, bool natural) {
    Symbol s[LIFT_SYMBOLS];
    int n = symbols_of(l, p, s), attributes = 0;
    Poly x;
    for (int k = 0; k < n; k++) attributes += is_attribute(l, s[k]);
    for (int pass = 0; pass < 2; pass++)
        for (int k = n - 1; k >= 0; k--)
            if ((is_attribute(l, s[k]) == (attributes == 1)) != (pass == 1) &&
                solved_for(l, p, s[k], &x) && (!natural || value_natural(l->w, x)))
                return add_solution(l, s[k], x), true;
    return false;
}

/* Solves p = 0 by making a size a multiple of another symbol in p. */
static bool eliminate_multiple(Lift *l, Poly p) {
    Symbol s[LIFT_SYMBOLS];
    int n = symbols_of(l, p, s);
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) {
            if (j == k || is_attribute(l, s[k])) continue;
            Poly x = poly_mul(l->w, poly_symbol(l->w, s[j]), lift_fresh(l, false));
            if (!poly_subst(l->w, p, 1, &s[k], &x)) return add_solution(l, s[k], x), true;
        }
    return false;
}

/* Divides p by symbols that are factors of all its terms, since sizes are not 0 here. */
static Poly without_factors(Lift *l, Poly p) {
    Symbol s[LIFT_SYMBOLS];
    int n = symbols_of(l, p, s);
    for (int k = 0; k < n; k++)
        for (Poly q; poly_divide(l->w, p, poly_symbol(l->w, s[k]), &q) && q;) p = q;
    return p;
}

typedef enum Eliminate {
    ELIMINATE_NATURAL,
    ELIMINATE_MULTIPLE,
    ELIMINATE_ANY,
    ELIMINATES
} Eliminate;

static bool eliminate_unknown(Lift *l, Poly p, Eliminate what) {
    p = without_factors(l, p);
    return what == ELIMINATE_MULTIPLE ? eliminate_multiple(l, p)
                                      : eliminate_one(l, p, what == ELIMINATE_NATURAL);
}

/* Adds one solution and returns true, or returns false if there is none. *consistent becomes false
   if an equation is a number other than 0. */
static bool solve_equations(Lift *l, const Poly eq[], int n, bool *consistent) {
    for (int what = 0; what < ELIMINATES; what++)
        for (int k = 0; k < n; k++) {
            int64_t number;
            Poly p = poly_subst(l->w, eq[k], l->nsolved, l->from, l->to);
            if (poly_constant(l->w, p, &number)) {
                *consistent &= !number;
                continue;
            }
            if (l->nsolved < LIFT_SYMBOLS && eliminate_unknown(l, p, (Eliminate)what)) return true;
        }
    return false;
}

bool lift_solve(Lift *l, int n, const Poly eq[]) {
    bool consistent = true;
    while (consistent && solve_equations(l, eq, n, &consistent)) continue;
    /* every equation must have become 0 */
    for (int k = 0; k < n && consistent; k++)
        consistent = !poly_subst(l->w, eq[k], l->nsolved, l->from, l->to);
    return consistent;
}
