/* loop_index.c -- affine forms of indices, their ranges, and the registers for what is not
   affine. */
#include "ops/core/loop_index.h"
#include <string.h>

#define TOO_LARGE "an index exceeds 64 bits"

void index_fail(Indices *ix, const char *why) {
    ix->failed = true;
    error_set(ix->error, E_INVALID, "", "%s", why);
}

void loop_put_word(ProgramWords *s, int64_t v) {
    ARENA_GROW(s->arena, s->v, s->room, s->n + 1);
    s->v[s->n++] = v;
}

static int64_t index_times(Indices *ix, int64_t a, int64_t b) {
    int64_t y;
    if (__builtin_mul_overflow(a, b, &y)) return index_fail(ix, TOO_LARGE), 0;
    return y;
}

static int64_t index_plus(Indices *ix, int64_t a, int64_t b) {
    int64_t y;
    if (__builtin_add_overflow(a, b, &y)) return index_fail(ix, TOO_LARGE), 0;
    return y;
}

static int64_t floor_mod(int64_t a, int64_t m) { return a - integer_floor_div(a, m) * m; }

/* ---- affine forms */

static AffineSum affine_constant(int64_t v) { return (AffineSum){.c = v}; }
static AffineSum affine_variable(int r) { return (AffineSum){.n = 1, .t = {{1, r}}}; }

static void affine_add_term(Indices *ix, AffineSum *a, int64_t k, int r) {
    int j = 0;
    while (j < a->n && a->t[j].r < r) j++;
    if (j < a->n && a->t[j].r == r) {
        if ((a->t[j].factor = index_plus(ix, a->t[j].factor, k))) return;
        memmove(&a->t[j], &a->t[j + 1], (size_t)(--a->n - j) * sizeof a->t[0]);
        return;
    }
    if (!k) return;
    if (a->n == TERMS) {
        index_fail(ix, "an index has too many terms");
        return;
    }
    memmove(&a->t[j + 1], &a->t[j], (size_t)(a->n++ - j) * sizeof a->t[0]);
    a->t[j].factor = k;
    a->t[j].r = r;
}

static AffineSum affine_scaled(Indices *ix, AffineSum a, int64_t k) {
    AffineSum y = affine_constant(index_times(ix, a.c, k));
    for (int j = 0; j < a.n; j++)
        affine_add_term(ix, &y, index_times(ix, a.t[j].factor, k), a.t[j].r);
    return y;
}

static void affine_add(Indices *ix, AffineSum *y, AffineSum a) {
    y->c = index_plus(ix, y->c, a.c);
    for (int j = 0; j < a.n; j++) affine_add_term(ix, y, a.t[j].factor, a.t[j].r);
}

Range index_range(Indices *ix, const AffineSum *a) {
    Range y = {a->c, a->c};
    for (int j = 0; j < a->n; j++) {
        int r = a->t[j].r;
        Range x = r < VARS ? (Range){0, ix->extent[r] > 0 ? ix->extent[r] - 1 : 0}
                           : ix->reg_range[r - VARS];
        int64_t p = index_times(ix, a->t[j].factor, x.low),
                q = index_times(ix, a->t[j].factor, x.high);
        y.low = index_plus(ix, y.low, p < q ? p : q);
        y.high = index_plus(ix, y.high, p < q ? q : p);
    }
    /* Solving a condition negates numbers and adds 1 (loop_run.c). */
    if (y.low == INT64_MIN || y.high == INT64_MAX) index_fail(ix, TOO_LARGE);
    return y;
}

uint64_t index_depends(const Indices *ix, const AffineSum *a) {
    uint64_t y = 0;
    for (int j = 0; j < a->n; j++)
        y |= a->t[j].r < VARS ? 1ull << a->t[j].r : ix->reg_depends[a->t[j].r - VARS];
    return y;
}

void index_put(ProgramWords *s, const AffineSum *a) {
    loop_put_word(s, a->c);
    loop_put_word(s, a->n);
    for (int j = 0; j < a->n; j++) loop_put_word(s, a->t[j].factor), loop_put_word(s, a->t[j].r);
}

/* Finishes the register whose words were just written, after reg_at[nreg]. Returns it or, if there
   is an equal one, that one. */
static AffineSum finish_register(Indices *ix, Range known, uint64_t uses) {
    int from = ix->reg_at[ix->nreg], n = ix->reg.n - from;
    for (int j = 0; j < ix->nreg; j++)
        if (ix->reg_at[j + 1] - ix->reg_at[j] == n &&
            !memcmp(&ix->reg.v[ix->reg_at[j]], &ix->reg.v[from], (size_t)n * 8)) {
            ix->reg.n = from;
            return affine_variable(VARS + j);
        }
    if (ix->nreg == REGISTERS)
        return index_fail(ix, "an index needs too many registers"), affine_constant(0);
    ix->reg_depends[ix->nreg] = uses;
    ix->reg_range[ix->nreg] = known;
    ix->reg_at[++ix->nreg] = ix->reg.n;
    return affine_variable(VARS + ix->nreg - 1);
}

static AffineSum division(Indices *ix, LoopRegister kind, const AffineSum *a, int64_t m,
                          Range known) {
    loop_put_word(&ix->reg, kind);
    index_put(&ix->reg, a);
    loop_put_word(&ix->reg, m);
    return finish_register(ix, known, index_depends(ix, a));
}

static AffineSum pair_register(Indices *ix, LoopRegister kind, const AffineSum *a,
                               const AffineSum *b, Range known) {
    loop_put_word(&ix->reg, kind);
    index_put(&ix->reg, a);
    index_put(&ix->reg, b);
    return finish_register(ix, known, index_depends(ix, a) | index_depends(ix, b));
}

/* Splits a = m * high + low, where low has the terms whose coefficients are not multiples of m. */
static void affine_split(Indices *ix, const AffineSum *a, int64_t m, AffineSum *high,
                         AffineSum *low) {
    *high = affine_constant(integer_floor_div(a->c, m));
    *low = affine_constant(floor_mod(a->c, m));
    for (int j = 0; j < a->n; j++) {
        bool whole = a->t[j].factor % m == 0;
        affine_add_term(ix, whole ? high : low, whole ? a->t[j].factor / m : a->t[j].factor,
                        a->t[j].r);
    }
}

static AffineSum affine_quotient(Indices *ix, AffineSum a, int64_t m) {
    if (m <= 0) return index_fail(ix, "division by a size that is not positive"), a;
    AffineSum high, low;
    affine_split(ix, &a, m, &high, &low);
    Range r = index_range(ix, &low),
          q = {integer_floor_div(r.low, m), integer_floor_div(r.high, m)};
    affine_add(ix, &high,
               q.low == q.high ? affine_constant(q.low) : division(ix, LOOP_FLOOR, &low, m, q));
    return high;
}

static AffineSum affine_remainder(Indices *ix, AffineSum a, int64_t m) {
    if (m <= 0) return index_fail(ix, "remainder by a size that is not positive"), a;
    AffineSum high, low;
    affine_split(ix, &a, m, &high, &low);
    Range r = index_range(ix, &low);
    if (integer_floor_div(r.low, m) != integer_floor_div(r.high, m))
        return division(ix, LOOP_MOD, &low, m, (Range){0, m - 1});
    low.c -= integer_floor_div(r.low, m) * m;
    return low;
}

static AffineSum affine_smaller(Indices *ix, AffineSum a, AffineSum b) {
    Range x = index_range(ix, &a), y = index_range(ix, &b);
    if (x.high <= y.low) return a;
    if (y.high <= x.low) return b;
    return pair_register(ix, LOOP_MIN, &a, &b,
                         (Range){x.low < y.low ? x.low : y.low, x.high < y.high ? x.high : y.high});
}

static AffineSum affine_product(Indices *ix, AffineSum a, AffineSum b) {
    if (!a.n) return affine_scaled(ix, b, a.c);
    if (!b.n) return affine_scaled(ix, a, b.c);
    Range x = index_range(ix, &a), y = index_range(ix, &b), z = {INT64_MAX, INT64_MIN};
    int64_t p[4] = {index_times(ix, x.low, y.low), index_times(ix, x.low, y.high),
                    index_times(ix, x.high, y.low), index_times(ix, x.high, y.high)};
    for (int j = 0; j < 4; j++) {
        if (p[j] < z.low) z.low = p[j];
        if (p[j] > z.high) z.high = p[j];
    }
    return pair_register(ix, LOOP_MUL, &a, &b, z);
}

int64_t index_number(Indices *ix, Poly p) {
    AffineSum a = index_affine(ix, p);
    if (a.n) index_fail(ix, "a divisor or an extent depends on an index");
    return a.n ? 1 : a.c;
}

static AffineSum digit_affine(Indices *ix, const SymbolDef *d) {
    int64_t unit = 1;
    for (uint32_t j = d->word + 2; j < d->narg; j++)
        unit = index_times(ix, unit, index_number(ix, d->arg[j]));
    return affine_remainder(ix, affine_quotient(ix, index_affine(ix, d->arg[0]), unit),
                            index_number(ix, d->arg[d->word + 1]));
}

static AffineSum symbol_affine(Indices *ix, Symbol s) {
    if (s < ix->sizes.n && ix->sizes.value[s] != SIZE_UNKNOWN)
        return affine_constant(ix->sizes.value[s]);
    for (int v = 0; v < ix->nvar; v++)
        if (ix->var[v] == s) return affine_variable(v);
    SymbolDef d = symbol_def(ix->w, s);
    switch (d.kind) {
    case SYM_FLOOR:
        return affine_quotient(ix, index_affine(ix, d.arg[0]), index_number(ix, d.arg[1]));
    case SYM_MIN: return affine_smaller(ix, index_affine(ix, d.arg[0]), index_affine(ix, d.arg[1]));
    case SYM_DIGIT: return digit_affine(ix, &d);
    case SYM_NAMED:
        return error_set(ix->error, E_INVALID, "", "size %s has no value",
                         world_text(ix->w, d.word)),
               index_fail(ix, ""), affine_constant(0);
    default:
        return index_fail(ix,
                          "an index, a bound variable or a size that depends on data has no value"),
               affine_constant(0);
    }
}

AffineSum index_affine(Indices *ix, Poly p) {
    AffineSum sum = affine_constant(0);
    Monomial m;
    for (PolyScan s = poly_scan(ix->w, p); poly_next(&s, &m) && !ix->failed;) {
        AffineSum term = affine_constant(m.coefficient);
        for (uint32_t j = 0; j < m.degree && !ix->failed; j++)
            term = affine_product(ix, term, symbol_affine(ix, m.symbol[j]));
        affine_add(ix, &sum, term);
    }
    return sum;
}

/* ---- bound variables and conditions */

int index_declare(Indices *ix, Symbol s) {
    for (int v = 0; v < ix->nvar; v++)
        if (ix->var[v] == s) return v;
    int64_t extent = index_number(ix, symbol_def(ix->w, s).arg[0]);
    if (ix->nvar == VARS) return index_fail(ix, "too many bound variables"), 0;
    ix->var[ix->nvar] = s;
    ix->extent[ix->nvar] = extent < 0 ? 0 : extent;
    return ix->nvar++;
}

int index_undecided(Indices *ix, const Cond *k, AffineSum out[], bool eq[]) {
    int n = 0;
    for (int j = 0; j < k->n; j++) {
        out[n] = index_affine(ix, k->v[j].p);
        eq[n] = k->v[j].eq;
        Range r = index_range(ix, &out[n]);
        n += r.low < 0 || (eq[n] && r.high > 0);
    }
    return n;
}
