/* solver_terms.c -- translates polynomials and literals into terms of Z3, in both modes. The
   definitions of symbols (floor, min, digits, places) are asserted once, when a polynomial first
   mentions them. */
#include "verifier/solver_inner.h"
#include <stdio.h>
#include <string.h>

Z3_solver solver_z3(Solver *s, int mode) {
    if (!s->s[mode]) {
        s->s[mode] = Z3_mk_simple_solver(s->z);
        Z3_solver_inc_ref(s->z, s->s[mode]);
    }
    return s->s[mode];
}

/* ---- polynomials as terms of Z3 */

Z3_ast solver_integer(Solver *s, int64_t v) { return Z3_mk_int64(s->z, v, s->integer); }
void *solver_grown(Solver *s, void *v, uint32_t *room, uint32_t need, size_t size) {
    if (need < *room) return v;
    uint32_t to = 2 * need + 256;
    void *more = arena_alloc(s->arena, size * to);
    if (*room) memcpy(more, v, size * *room);
    *room = to;
    return more;
}
static Z3_ast integer_variable(Solver *s, Symbol x) {
    return Z3_mk_const(s->z, Z3_mk_int_symbol(s->z, (int)x), s->integer);
}
Poly solver_monic(World *w, const Monomial *m) {
    return poly_from(w, 1, &(Monomial){1, m->degree, m->symbol});
}
static Z3_ast opaque_monomial(Solver *s, const Monomial *m) {
    char name[16];
    snprintf(name, sizeof name, "*%u", solver_monic(s->w, m));
    return Z3_mk_const(s->z, Z3_mk_string_symbol(s->z, name), s->integer);
}
static Z3_ast monomial(Solver *s, const Monomial *m, int mode) {
    if (!m->degree) return solver_integer(s, m->coefficient);
    Z3_ast f[FACTORS_MAX], x;
    if (m->degree > FACTORS_MAX) return opaque_monomial(s, m);
    if (m->degree > 1 && mode == LINEAR) x = opaque_monomial(s, m);
    else {
        for (uint32_t k = 0; k < m->degree; k++) f[k] = integer_variable(s, m->symbol[k]);
        x = m->degree == 1 ? f[0] : Z3_mk_mul(s->z, m->degree, f);
    }
    if (m->coefficient == 1) return x;
    f[0] = solver_integer(s, m->coefficient);
    f[1] = x;
    return Z3_mk_mul(s->z, 2, f);
}
static Z3_ast translate_poly(Solver *s, Poly p, int mode) {
    s->ast[mode] = solver_grown(s, s->ast[mode], &s->roomast[mode], p, sizeof(Z3_ast));
    if (s->ast[mode][p]) return s->ast[mode][p];
    Z3_ast sum[SUMMANDS_MAX];
    unsigned n = 0;
    PolyScan scan = poly_scan(s->w, p);
    for (Monomial m; poly_next(&scan, &m);) {
        if (n == SUMMANDS_MAX) {
            sum[0] = Z3_mk_add(s->z, n, sum);
            n = 1;
        }
        sum[n++] = monomial(s, &m, mode);
    }
    Z3_ast r = !n ? solver_integer(s, 0) : n == 1 ? sum[0] : Z3_mk_add(s->z, n, sum);
    return s->ast[mode][p] = r;
}
Z3_ast solver_literal(Solver *s, Lit l, int mode) {
    Z3_ast p = translate_poly(s, l.p, mode), zero = solver_integer(s, 0);
    return l.eq ? Z3_mk_eq(s->z, p, zero) : Z3_mk_ge(s->z, p, zero);
}
Z3_ast solver_conjunction(Solver *s, Lits l, int mode) {
    Z3_ast v[LITS_MAX];
    unsigned n = 0;
    for (int k = 0; k < l.n && n < LITS_MAX; k++) v[n++] = solver_literal(s, l.v[k], mode);
    return n == 1 ? v[0] : n ? Z3_mk_and(s->z, n, v) : Z3_mk_true(s->z);
}
void solver_assert(Solver *s, int mode, Z3_ast x) {
    Z3_solver_assert(s->z, solver_z3(s, mode), x);
    if (!trace_collects(s->trace)) return;
    ARENA_GROW(s->arena, s->said[mode], s->roomsaid[mode], s->nsaid[mode] + 1);
    s->said[mode][s->nsaid[mode]++] = x;
}
void solver_assert_both(Solver *s, const Lits *when, Lit l) {
    for (int mode = 0; mode < MODES; mode++) {
        Z3_ast x = solver_literal(s, l, mode);
        solver_assert(s, mode,
                      when && when->n ? Z3_mk_implies(s->z, solver_conjunction(s, *when, mode), x)
                                      : x);
    }
}

/* ---- definitions of symbols */

static void define_floor(Solver *s, Poly f, const SymbolDef *d) {
    World *w = s->w;
    Poly one = poly_int(w, 1), rest = poly_sub(w, d->arg[0], poly_mul(w, f, d->arg[1]));
    Lit positive = lit_at_least(s, d->arg[1], one);
    solver_assert_both(s, &(Lits){1, &positive}, lit_at_least(s, rest, 0));
    solver_assert_both(s, &(Lits){1, &positive},
                       lit_at_least(s, d->arg[1], poly_add(w, rest, one)));
}
static void define_min(Solver *s, Poly m, const SymbolDef *d) {
    Lit below = lit_at_least(s, d->arg[0], poly_add(s->w, d->arg[1], poly_int(s->w, 1)));
    solver_assert_both(s, NULL, lit_at_least(s, d->arg[0], m));
    solver_assert_both(s, NULL, lit_at_least(s, d->arg[1], m));
    solver_assert_both(s, &(Lits){1, &below}, lit_at_least(s, m, d->arg[1]));
    Lit above = lit_at_least(s, d->arg[1], d->arg[0]);
    solver_assert_both(s, &(Lits){1, &above}, lit_at_least(s, m, d->arg[0]));
}
/* Where all radices are positive, each digit of e lies below its radix. Where e also lies below
   their product, it is the number that the digits write. */
static void define_digit(Solver *s, const SymbolDef *d) {
    World *w = s->w;
    Lit when[2 * RANK_MAX + 4];
    int n = (int)d->narg - 1, k = 0;
    if (n > RANK_MAX) return;
    Poly one = poly_int(w, 1), place = one, value = 0;
    for (int j = 0; j < n; j++) when[k++] = lit_at_least(s, d->arg[1 + j], one);
    for (int j = n - 1; j >= 0; j--) {
        Poly digit = poly_digit(w, d->arg[0], d->arg + 1, n, j);
        solver_assert_both(s, &(Lits){k, when}, lit_at_least(s, digit, 0));
        solver_assert_both(s, &(Lits){k, when},
                           lit_at_least(s, d->arg[1 + j], poly_add(w, digit, one)));
        value = poly_add(w, value, poly_mul(w, digit, place));
        place = poly_mul(w, place, d->arg[1 + j]);
    }
    when[k++] = lit_at_least(s, d->arg[0], 0);
    when[k++] = lit_at_least(s, place, poly_add(w, d->arg[0], one));
    solver_assert_both(s, &(Lits){k, when}, (Lit){poly_sub(w, value, d->arg[0]), true});
}
static void define_place(Solver *s, Poly x, const SymbolDef *d) {
    World *w = s->w;
    Poly i = d->arg[0], n = d->arg[1], one = poly_int(w, 1), last = poly_sub(w, n, one),
         past = poly_add(w, i, n);
    Lit some = lit_at_least(s, n, one), from[2] = {lit_at_least(s, i, 0), lit_at_least(s, last, i)};
    Lit back[2] = {lit_at_least(s, 0, poly_add(w, i, one)), lit_at_least(s, past, 0)};
    solver_assert_both(s, &(Lits){1, &some}, lit_at_least(s, x, 0));
    solver_assert_both(s, &(Lits){1, &some}, lit_at_least(s, last, x));
    solver_assert_both(s, &(Lits){2, from}, (Lit){poly_sub(w, x, i), true});
    solver_assert_both(s, &(Lits){2, back}, (Lit){poly_sub(w, x, past), true});
}
static void define_symbol(Solver *s, Symbol x) {
    s->defined = solver_grown(s, s->defined, &s->roomdefined, x, 1);
    if (s->defined[x]) return;
    s->defined[x] = 1;
    SymbolDef d = symbol_def(s->w, x);
    if (d.kind != SYM_FLOOR && d.kind != SYM_MIN && d.kind != SYM_DIGIT && d.kind != SYM_PLACE)
        return;
    for (uint32_t k = 0; k < d.narg; k++) solver_define(s, d.arg[k]);
    s->nonlinear_facts = true;
    if (d.kind == SYM_FLOOR) define_floor(s, poly_symbol(s->w, x), &d);
    if (d.kind == SYM_MIN) define_min(s, poly_symbol(s->w, x), &d);
    if (d.kind == SYM_DIGIT) define_digit(s, &d);
    if (d.kind == SYM_PLACE) define_place(s, poly_symbol(s->w, x), &d);
}
void solver_define(Solver *s, Poly p) {
    PolyScan scan = poly_scan(s->w, p);
    for (Monomial m; poly_next(&scan, &m);)
        for (uint32_t k = 0; k < m.degree; k++) define_symbol(s, m.symbol[k]);
}
