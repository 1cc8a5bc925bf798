/* poly.c -- arithmetic of integer polynomials.

   A polynomial is one record of TABLE_POLY. Each monomial has the words coefficient (not 0), degree
   d, and (d + 1) / 2 words with its symbols as uint32, ascending, padded with 0. Monomials are in
   graded lexicographic order: by falling degree, then by ascending symbols. Multiplication
   preserves this order, so the first monomial is the leading one in divisions, too. The zero
   polynomial is number 0 and has no record. */
#include "ops/core/poly.h"
#include <stdlib.h>
#include <string.h>

/* Larger polynomials count as overflow, so that the sizes of a hostile model cannot fill the
   memory. Honest ones have a few terms. */
enum { HEAD = 2, WORDS_MOST = 1 << 15, TERMS_MOST = 1 << 13, DEGREE_MOST = 256 };
static size_t words(uint32_t degree) { return HEAD + (degree + 1) / 2; }

static Poly overflowed(World *w) {
    overflow_note(w);
    return 0;
}

static Poly poly_intern(World *w, const int64_t *v, size_t n) {
    return n ? intern_put(w->table[TABLE_POLY], v, n * sizeof *v) : 0;
}

PolyScan poly_scan(const World *w, Poly p) {
    size_t bytes = 0;
    if (!p) return (PolyScan){0};
    const int64_t *v = intern_get(w->table[TABLE_POLY], p, &bytes);
    return (PolyScan){v, v + bytes / sizeof *v};
}

bool poly_next(PolyScan *s, Monomial *m) {
    if (s->at == s->end) return false;
    m->coefficient = s->at[0];
    m->degree = (uint32_t)s->at[1];
    m->symbol = (const uint32_t *)(const void *)(s->at + HEAD);
    s->at += words(m->degree);
    return true;
}

static size_t length(PolyScan s) { return (size_t)(s.end - s.at); }

/* < 0: a precedes b. */
static int monomial_order(const Monomial *a, const Monomial *b) {
    if (a->degree != b->degree) return a->degree > b->degree ? -1 : 1;
    for (uint32_t i = 0; i < a->degree; i++)
        if (a->symbol[i] != b->symbol[i]) return a->symbol[i] < b->symbol[i] ? -1 : 1;
    return 0;
}

static int64_t *append_monomial(int64_t *at, const Monomial *m, int64_t coefficient) {
    size_t n = words(m->degree);
    if (m->degree & 1) at[n - 1] = 0;
    at[0] = coefficient;
    at[1] = m->degree;
    if (m->degree) memcpy(at + HEAD, m->symbol, m->degree * sizeof *m->symbol);
    return at + n;
}

Poly poly_int(World *w, int64_t v) { return v ? poly_intern(w, (int64_t[]){v, 0}, HEAD) : 0; }

Poly poly_symbol(World *w, Symbol s) {
    Monomial m = {1, 1, &s};
    int64_t v[HEAD + 1];
    return poly_intern(w, v, (size_t)(append_monomial(v, &m, 1) - v));
}

Poly poly_named(World *w, const char *name) { return poly_symbol(w, symbol_named(w, name)); }

/* a + s*b, by merging both in one pass. */
static Poly add_scaled(World *w, Poly pa, Poly pb, int64_t s) {
    PolyScan a = poly_scan(w, pa), b = poly_scan(w, pb);
    if (length(a) + length(b) > WORDS_MOST) return overflowed(w);
    ArenaMark mark = arena_mark(w->scratch);
    int64_t *v = ARENA_NEW(w->scratch, int64_t, length(a) + length(b)), *at = v;
    Monomial x, y;
    bool more_x = poly_next(&a, &x), more_y = poly_next(&b, &y), failed = false;
    while (more_x || more_y) {
        int c = !more_x ? 1 : !more_y ? -1 : monomial_order(&x, &y);
        int64_t sum = 0;
        if (c >= 0) failed |= __builtin_mul_overflow(y.coefficient, s, &sum);
        if (c <= 0) failed |= __builtin_add_overflow(x.coefficient, sum, &sum);
        if (sum) at = append_monomial(at, c <= 0 ? &x : &y, sum);
        if (c <= 0) more_x = poly_next(&a, &x);
        if (c >= 0) more_y = poly_next(&b, &y);
    }
    Poly r = failed ? overflowed(w) : poly_intern(w, v, (size_t)(at - v));
    arena_reset(w->scratch, mark);
    return r;
}

Poly poly_add(World *w, Poly a, Poly b) { return !a ? b : !b ? a : add_scaled(w, a, b, 1); }
Poly poly_sub(World *w, Poly a, Poly b) { return a == b ? 0 : !b ? a : add_scaled(w, a, b, -1); }
Poly poly_scale(World *w, Poly a, int64_t s) {
    return s == 1 ? a : !s ? 0 : add_scaled(w, 0, a, s);
}

static int by_order(const void *a, const void *b) { return monomial_order(a, b); }

/* Sorts the monomials and adds up equal ones. The symbols of each must be ascending. */
static Poly merge_monomials(World *w, int n, Monomial *m) {
    size_t total = 0;
    for (int i = 0; i < n; i++) total += words(m[i].degree);
    int64_t *v = ARENA_NEW(w->scratch, int64_t, total), *at = v;
    if (n > 1) qsort(m, (size_t)n, sizeof *m, by_order);
    for (int i = 0, j; i < n; i = j) {
        int64_t sum = m[i].coefficient;
        for (j = i + 1; j < n && !monomial_order(&m[i], &m[j]); j++)
            if (__builtin_add_overflow(sum, m[j].coefficient, &sum)) return overflowed(w);
        if (sum) at = append_monomial(at, &m[i], sum);
    }
    return poly_intern(w, v, (size_t)(at - v));
}

static void sort_symbols(uint32_t *s, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = i; j && s[j - 1] > s[j]; j--) {
            uint32_t t = s[j];
            s[j] = s[j - 1];
            s[j - 1] = t;
        }
}

Poly poly_from(World *w, int n, const Monomial *in) {
    ArenaMark mark = arena_mark(w->scratch);
    Monomial *m = ARENA_NEW(w->scratch, Monomial, n);
    for (int i = 0; i < n; i++) {
        uint32_t *s = arena_copy(w->scratch, in[i].symbol, in[i].degree * sizeof *s);
        sort_symbols(s, in[i].degree);
        m[i] = (Monomial){in[i].coefficient, in[i].degree, s};
    }
    Poly r = merge_monomials(w, n, m);
    arena_reset(w->scratch, mark);
    return r;
}

static int scan_terms(PolyScan s) {
    int n = 0;
    for (Monomial m; poly_next(&s, &m);) n++;
    return n;
}
int poly_terms(const World *w, Poly p) { return scan_terms(poly_scan(w, p)); }

static void join_symbols(uint32_t *to, const Monomial *x, const Monomial *y) {
    for (uint32_t i = 0, j = 0; i < x->degree || j < y->degree;) {
        bool take_x = j == y->degree || (i < x->degree && x->symbol[i] <= y->symbol[j]);
        *to++ = take_x ? x->symbol[i++] : y->symbol[j++];
    }
}

static Poly scan_product(World *w, PolyScan a, PolyScan b) {
    int n = 0;
    if ((int64_t)scan_terms(a) * scan_terms(b) > TERMS_MOST) return overflowed(w);
    Monomial *m = ARENA_NEW(w->scratch, Monomial, scan_terms(a) * scan_terms(b));
    for (Monomial x; poly_next(&a, &x);) {
        PolyScan rest = b;
        for (Monomial y; poly_next(&rest, &y); n++) {
            if (x.degree + y.degree > DEGREE_MOST) return overflowed(w);
            uint32_t *s = ARENA_NEW(w->scratch, uint32_t, x.degree + y.degree);
            join_symbols(s, &x, &y);
            m[n] = (Monomial){0, x.degree + y.degree, s};
            if (__builtin_mul_overflow(x.coefficient, y.coefficient, &m[n].coefficient))
                return overflowed(w);
        }
    }
    return merge_monomials(w, n, m);
}

Poly poly_mul(World *w, Poly a, Poly b) {
    int64_t c;
    if (!a || !b) return 0;
    if (poly_constant(w, a, &c)) return poly_scale(w, b, c);
    if (poly_constant(w, b, &c)) return poly_scale(w, a, c);
    ArenaMark mark = arena_mark(w->scratch);
    Poly r = scan_product(w, poly_scan(w, a), poly_scan(w, b));
    arena_reset(w->scratch, mark);
    return r;
}

bool poly_constant(const World *w, Poly p, int64_t *v) {
    PolyScan s = poly_scan(w, p);
    Monomial m = {0};
    if (poly_next(&s, &m) && m.degree) return false;
    *v = m.coefficient;
    return true;
}

bool poly_is(const World *w, Poly p, int64_t n) {
    int64_t v;
    return poly_constant(w, p, &v) && v == n;
}

Symbol poly_is_symbol(const World *w, Poly p) {
    PolyScan s = poly_scan(w, p);
    Monomial m;
    return poly_next(&s, &m) && m.degree == 1 && m.coefficient == 1 && s.at == s.end ? m.symbol[0]
                                                                                     : 0;
}

bool poly_has(const World *w, Poly p, Symbol x) {
    PolyScan s = poly_scan(w, p);
    for (Monomial m; poly_next(&s, &m);)
        for (uint32_t i = 0; i < m.degree; i++)
            if (m.symbol[i] == x) return true;
    return false;
}

int64_t poly_content(const World *w, Poly p) {
    PolyScan s = poly_scan(w, p);
    uint64_t g = 0;
    for (Monomial m; poly_next(&s, &m);)
        for (uint64_t c = m.coefficient < 0 ? 0 - (uint64_t)m.coefficient : (uint64_t)m.coefficient;
             c;) {
            uint64_t r = g % c;
            g = c;
            c = r;
        }
    return g > INT64_MAX ? 1 : (int64_t)g;
}

/* Stores the symbols of x without those of y in to[]. False: y does not divide x. */
static bool take_symbols(uint32_t *to, const Monomial *x, const Monomial *y) {
    uint32_t j = 0, n = 0;
    if (x->degree < y->degree) return false;
    for (uint32_t i = 0; i < x->degree; i++) {
        if (j < y->degree && x->symbol[i] == y->symbol[j]) j++;
        else if (n < x->degree - y->degree) to[n++] = x->symbol[i];
        else return false;
    }
    return true;
}

bool poly_monomial_quotient(World *w, const Monomial *x, const Monomial *y, int64_t coefficient,
                            Poly *quotient) {
    ArenaMark mark = arena_mark(w->scratch);
    uint32_t *s = ARENA_NEW(w->scratch, uint32_t, x->degree + 1);
    bool ok = take_symbols(s, x, y);
    if (ok) *quotient = poly_from(w, 1, &(Monomial){coefficient, x->degree - y->degree, s});
    arena_reset(w->scratch, mark);
    return ok;
}

bool poly_divide(World *w, Poly a, Poly b, Poly *quotient) {
    PolyScan sb = poly_scan(w, b);
    Monomial x, y;
    Poly q = 0, t;
    if (!poly_next(&sb, &y)) return false;
    Overflow overflow = overflow_begin(w);
    while (a && !overflow_noted(w)) {
        PolyScan sa = poly_scan(w, a);
        poly_next(&sa, &x);
        if (y.coefficient == -1 && x.coefficient == INT64_MIN) break;
        if (x.coefficient % y.coefficient ||
            !poly_monomial_quotient(w, &x, &y, x.coefficient / y.coefficient, &t))
            break;
        q = poly_add(w, q, t);
        a = poly_sub(w, a, poly_mul(w, t, b));
    }
    bool ok = !overflow_end(w, overflow) && !a;
    if (ok) *quotient = q;
    return ok;
}

bool poly_solve(World *w, Poly p, Symbol x, Poly *value) {
    int64_t c = 0;
    int seen = 0;
    PolyScan s = poly_scan(w, p);
    for (Monomial m; poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++)
            if (m.symbol[k] == x) {
                seen++;
                c = m.degree == 1 ? m.coefficient : 0;
            }
    if (seen != 1 || (c != 1 && c != -1)) return false;
    const Poly rest = poly_sub(w, p, poly_scale(w, poly_symbol(w, x), c));
    if (poly_mentions(w, rest, x)) return false; /* x also occurs inside a floor or digit */
    *value = poly_scale(w, rest, -c);
    return true;
}

Poly poly_without_shared(World *w, Poly p, bool (*take)(void *user, Symbol), void *user) {
    Monomial m;
    PolyScan scan = poly_scan(w, p);
    if (!poly_next(&scan, &m)) return p;
    for (uint32_t k = 0; k < m.degree; k++) {
        Poly q;
        if (poly_divide(w, p, poly_symbol(w, m.symbol[k]), &q) &&
            (!take || take(user, m.symbol[k])))
            p = q;
    }
    return p;
}

int64_t integer_gcd(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX ? 1 : (int64_t)x;
}
