/* symbol.c -- symbols and the operations that create them: floor, min and digits; also substitution
   and evaluation.

   A symbol is one record of TABLE_SYMBOL: kind, word, number of arguments, arguments. An operation
   first simplifies; only what remains becomes a symbol, one for each definition. Every
   simplification is an identity over the integers wherever the left side is defined. */
#include "ops/core/poly.h"
#include <string.h>

enum { HEAD = 3 };

static Symbol symbol_put(World *w, SymbolKind kind, uint32_t word, uint32_t narg, const Poly *arg) {
    ArenaMark mark = arena_mark(w->scratch);
    uint32_t *v = ARENA_NEW(w->scratch, uint32_t, HEAD + narg);
    v[0] = kind;
    v[1] = word;
    v[2] = narg;
    if (narg) memcpy(v + HEAD, arg, narg * sizeof *arg);
    Symbol s = intern_put(w->table[TABLE_SYMBOL], v, (HEAD + narg) * sizeof *v);
    arena_reset(w->scratch, mark);
    return s;
}

Symbol symbol_named(World *w, const char *name) {
    return symbol_put(w, SYM_NAMED, world_word(w, name), 0, NULL);
}
Symbol symbol_index(World *w, uint32_t n) { return symbol_put(w, SYM_INDEX, n, 0, NULL); }
Symbol symbol_bound(World *w, Poly extent) {
    return symbol_put(w, SYM_BOUND, w->fresh++, 1, &extent);
}
Symbol symbol_data(World *w) { return symbol_put(w, SYM_DATA, w->fresh++, 0, NULL); }

SymbolDef symbol_def(const World *w, Symbol s) {
    const uint32_t *v = intern_get(w->table[TABLE_SYMBOL], s, NULL);
    return (SymbolDef){(SymbolKind)v[0], v[1], v[2], v + HEAD};
}

static bool is_computed(SymbolKind k) {
    return k == SYM_FLOOR || k == SYM_MIN || k == SYM_DIGIT || k == SYM_PLACE;
}
static bool has_arguments(SymbolKind k) { return is_computed(k) || k == SYM_READ; }

bool poly_mentions(const World *w, Poly p, Symbol x) {
    PolyScan s = poly_scan(w, p);
    for (Monomial m; poly_next(&s, &m);)
        for (uint32_t i = 0; i < m.degree; i++) {
            if (m.symbol[i] == x) return true;
            SymbolDef d = symbol_def(w, m.symbol[i]);
            for (uint32_t k = 0; has_arguments(d.kind) && k < d.narg; k++)
                if (poly_mentions(w, d.arg[k], x)) return true;
        }
    return false;
}

/* Divides, rounding toward minus infinity. False: division by zero, or overflow. */
static bool floor_int(int64_t a, int64_t b, int64_t *q) {
    if (!b || (b == -1 && a == INT64_MIN)) return false;
    *q = integer_floor_div(a, b);
    return true;
}

/* Whether a precedes b in a monomial order that is preserved by multiplication and does not depend
   on interning: the higher degree first; then, of the symbols with different powers, the first by
   name decides, and its greater power comes first. */
static bool leads(const World *w, const Monomial *a, const Monomial *b) {
    if (a->degree != b->degree) return a->degree > b->degree;
    Symbol best = 0;
    bool in_a = false;
    uint32_t i = 0, j = 0;
    while (i < a->degree || j < b->degree) {
        bool both = i < a->degree && j < b->degree && a->symbol[i] == b->symbol[j];
        bool left = !both && (j == b->degree || (i < a->degree && a->symbol[i] < b->symbol[j]));
        Symbol s = left || both ? a->symbol[i] : b->symbol[j];
        i += left || both;
        j += !left || both;
        if (both || s == best) continue;
        if (!best || symbol_compare(w, s, best) < 0) {
            best = s;
            in_a = left;
        }
    }
    return in_a;
}

static bool leading(const World *w, Poly p, Monomial *lead) {
    PolyScan s = poly_scan(w, p);
    if (!poly_next(&s, lead)) return false;
    for (Monomial m; poly_next(&s, &m);)
        if (leads(w, &m, lead)) *lead = m;
    return true;
}

/* Divides: a = b*q + r. The coefficient of a monomial of r that is a multiple of b's leading
   monomial is reduced modulo b's leading coefficient. b must not be 0. */
static void divide_rest(World *w, Poly a, Poly b, Poly *q, Poly *r) {
    Monomial y, x;
    *q = *r = 0;
    leading(w, b, &y);
    while (leading(w, a, &x) && !overflow_noted(w)) {
        int64_t c;
        Poly t, one = poly_from(w, 1, &x);
        if (!floor_int(x.coefficient, y.coefficient, &c) || !c ||
            !poly_monomial_quotient(w, &x, &y, c, &t)) {
            *r = poly_add(w, *r, one);
            a = poly_sub(w, a, one);
            continue;
        }
        Poly left = poly_sub(w, a, poly_mul(w, t, b)), rest;
        *q = poly_add(w, *q, t);
        int64_t keep = x.coefficient - c * y.coefficient;
        if (keep) { /* the remainder of this monomial goes to r */
            rest = poly_from(w, 1, &(Monomial){keep, x.degree, x.symbol});
            *r = poly_add(w, *r, rest);
            left = poly_sub(w, left, rest);
        }
        a = left;
    }
}

/* Divides both by their common integer content and by the symbols that all their monomials
   share. */
static void cancel_content(World *w, Poly *a, Poly *b) {
    int64_t ca = poly_content(w, *a), cb = poly_content(w, *b);
    while (ca) {
        int64_t t = cb % ca;
        cb = ca;
        ca = t;
    }
    if (cb > 1) {
        poly_divide(w, *a, poly_int(w, cb), a);
        poly_divide(w, *b, poly_int(w, cb), b);
    }
    PolyScan s = poly_scan(w, *b);
    Monomial m;
    if (!poly_next(&s, &m)) return;
    for (uint32_t i = 0; i < m.degree; i++) {
        Poly x = poly_symbol(w, m.symbol[i]), qa, qb;
        if (*a && poly_divide(w, *b, x, &qb) && poly_divide(w, *a, x, &qa)) {
            *a = qa;
            *b = qb;
        }
    }
}

/* For a positive number b = g*B and g > 1: floor((g*A + c) / (g*B)) = floor((A + floor(c/g)) / B).
   True: there is such a g, and *a and *b were replaced. */
static bool cancel_but_constant(World *w, Poly *a, int64_t *b) {
    PolyScan s = poly_scan(w, *a);
    int64_t c = 0, g = *b, low;
    for (Monomial m; poly_next(&s, &m);) {
        if (!m.degree) c = m.coefficient;
        else
            for (int64_t x = m.coefficient; x;) {
                int64_t t = g % x;
                g = x;
                x = t;
            }
    }
    if (g < 0) g = -g;
    if (g <= 1) return false;
    floor_int(c, g, &low);
    Poly rest = poly_sub(w, *a, poly_int(w, c)), q;
    if (!poly_divide(w, rest, poly_int(w, g), &q)) return false;
    *a = poly_add(w, q, poly_int(w, low));
    *b /= g;
    return true;
}

/* For positive numbers b and y: floor((floor(x/y) + m) / b) = floor((x + m*y) / (y*b)). True: *a
   and *b were replaced. */
static bool flatten_floor(World *w, Poly *a, int64_t *b) {
    PolyScan s = poly_scan(w, *a);
    for (Monomial m; poly_next(&s, &m);) {
        if (m.degree != 1 || m.coefficient != 1) continue;
        SymbolDef d = symbol_def(w, m.symbol[0]);
        int64_t y, yb;
        if (d.kind != SYM_FLOOR || !poly_constant(w, d.arg[1], &y) || y <= 0 ||
            __builtin_mul_overflow(y, *b, &yb))
            continue;
        Poly rest = poly_sub(w, *a, poly_symbol(w, m.symbol[0]));
        *a = poly_add(w, d.arg[0], poly_scale(w, rest, y));
        *b = yb;
        return true;
    }
    return false;
}

Poly poly_floor(World *w, Poly a, Poly b) {
    int64_t nb;
    Poly whole = 0, q, r;
    if (!b) {
        overflow_note(w);
        return 0;
    }
    if (poly_divide(w, a, b, &q)) return q;
    cancel_content(w, &a, &b);
    if (poly_constant(w, b, &nb) && nb < 0) {
        a = poly_scale(w, a, -1);
        b = poly_scale(w, b, -1);
    }
    divide_rest(w, a, b, &whole, &r);
    a = r;
    if (poly_constant(w, b, &nb) && !overflow_noted(w)) {
        if (cancel_but_constant(w, &a, &nb) || flatten_floor(w, &a, &nb))
            return poly_add(w, whole, poly_floor(w, a, poly_int(w, nb)));
    } else {
        Poly b_before = b;
        cancel_content(w, &a, &b);
        if (b != b_before && !overflow_noted(w)) return poly_add(w, whole, poly_floor(w, a, b));
    }
    if (overflow_noted(w)) return 0;
    if (!a) return whole;
    return poly_add(w, whole, poly_symbol(w, symbol_put(w, SYM_FLOOR, 0, 2, (Poly[]){a, b})));
}

Poly poly_min(World *w, Poly a, Poly b) {
    int64_t c;
    if (a == b) return a;
    if (poly_constant(w, poly_sub(w, a, b), &c)) return c < 0 ? a : b;
    if (poly_compare(w, a, b) > 0) {
        Poly t = a;
        a = b;
        b = t;
    }
    return poly_symbol(w, symbol_put(w, SYM_MIN, 0, 2, (Poly[]){a, b}));
}

/* Whether r lies in 0..radix-1 by its definition. */
static bool within_radix(const World *w, Poly r, Poly radix) {
    int64_t x, n;
    if (!r) return true;
    if (poly_constant(w, r, &x)) return poly_constant(w, radix, &n) && 0 <= x && x < n;
    Symbol s = poly_is_symbol(w, r);
    if (!s) return false;
    SymbolDef d = symbol_def(w, s);
    return (d.kind == SYM_BOUND && d.arg[0] == radix) ||
           (d.kind == SYM_DIGIT && d.arg[1 + d.word] == radix);
}

/* Computes a digit of a constant e. Only the radices from the digit's own on matter. */
static bool digit_number(const World *w, Poly e, const Poly *radix, int n, int position,
                         int64_t *digit) {
    int64_t x, r, q;
    if (!poly_constant(w, e, &x)) return false;
    for (int i = n - 1; i > position; i--)
        if (!poly_constant(w, radix[i], &r) || r <= 0 || !floor_int(x, r, &x)) return false;
    if (!poly_constant(w, radix[position], &r) || r <= 0 || !floor_int(x, r, &q)) return false;
    *digit = x - q * r;
    return true;
}

static Poly digit_poly(World *w, Poly e, const Poly *radix, int n, int position) {
    int64_t x;
    if (digit_number(w, e, radix, n, position, &x)) return poly_int(w, x);
    Poly high = 0, low = 0, last = radix[n - 1];
    if (last) divide_rest(w, e, last, &high, &low);
    if (last && within_radix(w, low, last)) {
        if (position == n - 1) return low;
        return digit_poly(w, high, radix, n - 1, position);
    }
    ArenaMark mark = arena_mark(w->scratch);
    Poly *arg = ARENA_NEW(w->scratch, Poly, n + 1);
    arg[0] = e;
    memcpy(arg + 1, radix, (size_t)n * sizeof *arg);
    Poly p = poly_symbol(w, symbol_put(w, SYM_DIGIT, (uint32_t)position, (uint32_t)n + 1, arg));
    arena_reset(w->scratch, mark);
    return p;
}

Poly poly_digit(World *w, Poly e, const Poly *radix, int n, int position) {
    int64_t one;
    int m = 0, at = -1;
    ArenaMark mark = arena_mark(w->scratch);
    Poly *r = ARENA_NEW(w->scratch, Poly, n + 1), p = 0;
    for (int i = 0; i < n; i++) { /* radices of 1 have no effect */
        if (poly_constant(w, radix[i], &one) && one == 1) continue;
        if (i == position) at = m;
        r[m++] = radix[i];
    }
    if (at >= 0) p = digit_poly(w, e, r, m, at);
    arena_reset(w->scratch, mark);
    return p;
}

Poly poly_read(World *w, uint32_t input, const Poly *index, int n) {
    return poly_symbol(w, symbol_put(w, SYM_READ, input, (uint32_t)n, index));
}

static int64_t place_of(int64_t index, int64_t n) {
    if (index < 0) index = index < -n ? 0 : index + n;
    return index < n ? index : n - 1;
}

Poly poly_place(World *w, Poly index, Poly n) {
    int64_t i, count;
    if (poly_constant(w, index, &i) && poly_constant(w, n, &count) && count > 0)
        return poly_int(w, place_of(i, count));
    if (index && within_radix(w, index, n)) return index;
    return poly_symbol(w, symbol_put(w, SYM_PLACE, 0, 2, (Poly[]){index, n}));
}

typedef struct Map {
    int n;
    const Symbol *from;
    const Poly *to;
} Map;

static Poly substituted_poly(World *w, Poly p, const Map *m);

static Poly symbol_image(World *w, Symbol s, const Map *m) {
    for (int i = 0; i < m->n; i++)
        if (m->from[i] == s) return m->to[i];
    SymbolDef d = symbol_def(w, s);
    if (!has_arguments(d.kind)) return poly_symbol(w, s);
    ArenaMark mark = arena_mark(w->scratch);
    Poly *arg = ARENA_NEW(w->scratch, Poly, d.narg), p;
    bool same = true;
    for (uint32_t i = 0; i < d.narg; i++) {
        arg[i] = substituted_poly(w, d.arg[i], m);
        same &= arg[i] == d.arg[i];
    }
    if (same) p = poly_symbol(w, s);
    else if (d.kind == SYM_FLOOR) p = poly_floor(w, arg[0], arg[1]);
    else if (d.kind == SYM_MIN) p = poly_min(w, arg[0], arg[1]);
    else if (d.kind == SYM_PLACE) p = poly_place(w, arg[0], arg[1]);
    else if (d.kind == SYM_READ) p = poly_read(w, d.word, arg, (int)d.narg);
    else p = poly_digit(w, arg[0], arg + 1, (int)d.narg - 1, (int)d.word);
    arena_reset(w->scratch, mark);
    return p;
}

static Poly substituted_poly(World *w, Poly p, const Map *map) {
    PolyScan s = poly_scan(w, p);
    Poly sum = 0;
    for (Monomial m; poly_next(&s, &m);) {
        Poly t = poly_int(w, m.coefficient);
        for (uint32_t i = 0; i < m.degree; i++)
            t = poly_mul(w, t, symbol_image(w, m.symbol[i], map));
        sum = poly_add(w, sum, t);
    }
    return sum;
}

static bool affected(const World *w, Poly p, const Map *m) {
    for (int i = 0; i < m->n; i++)
        if (poly_mentions(w, p, m->from[i])) return true;
    return false;
}

Poly poly_subst(World *w, Poly p, int n, const Symbol from[], const Poly to[]) {
    Map m = {n, from, to};
    return affected(w, p, &m) ? substituted_poly(w, p, &m) : p;
}

static bool symbol_value(const World *w, Symbol s, Sizes z, int64_t *v) {
    SymbolDef d = symbol_def(w, s);
    int64_t a, b;
    if (!is_computed(d.kind)) {
        if (s >= z.n || z.value[s] == SIZE_UNKNOWN) return false;
        *v = z.value[s];
        return true;
    }
    if (!poly_eval(w, d.arg[0], z, &a)) return false;
    if (d.kind == SYM_PLACE) return poly_eval(w, d.arg[1], z, &b) && (*v = place_of(a, b), true);
    for (uint32_t i = d.kind == SYM_DIGIT ? d.narg - 1 : 1; i > d.word + (d.kind == SYM_DIGIT);
         i--) {
        if (!poly_eval(w, d.arg[i], z, &b)) return false;
        if (d.kind == SYM_MIN) a = a < b ? a : b;
        else if (!floor_int(a, b, &a)) return false;
    }
    if (d.kind == SYM_DIGIT) {
        int64_t q;
        if (!poly_eval(w, d.arg[1 + d.word], z, &b) || !floor_int(a, b, &q)) return false;
        a -= q * b;
    }
    *v = a;
    return true;
}

bool poly_eval(const World *w, Poly p, Sizes z, int64_t *v) {
    PolyScan s = poly_scan(w, p);
    int64_t sum = 0;
    for (Monomial m; poly_next(&s, &m);) {
        int64_t t = m.coefficient, x;
        for (uint32_t i = 0; i < m.degree; i++)
            if (!symbol_value(w, m.symbol[i], z, &x) || __builtin_mul_overflow(t, x, &t))
                return false;
        if (__builtin_add_overflow(sum, t, &sum)) return false;
    }
    *v = sum;
    return true;
}
