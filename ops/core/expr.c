/* expr.c -- makes scalar expressions as records of TABLE_EX: a fixed head, then the indices or
   bound variables, then the literals of the condition.

   A simplification is made only if it holds for every real input and reads the same elements:
   numbers are folded, x + 0 and x * 1 become x, constant literals are decided. x * 0 is kept,
   because it reads x. */
#include "ops/core/expr_inner.h"
#include <math.h>
#include <string.h>

const ExRecord *ex_record(const World *w, Ex e) { return intern_get(w->table[TABLE_EX], e, NULL); }

static bool binds(ExKind k) { return k == EX_SUM || k == EX_MAXIMUM || k == EX_TAKE; }
static bool takes_dims(ExKind k) { return k == EX_AT || binds(k); }
static bool takes_cond(ExKind k) { return k == EX_IF || k == EX_SUM || k == EX_MAXIMUM; }
static bool takes_word(ExKind k) { return k == EX_PARAM || k == EX_AT || k == EX_FN; }

int ex_children(ExKind k) {
    switch (k) {
    case EX_NUM:
    case EX_REAL:
    case EX_PARAM:
    case EX_SIZE:
    case EX_AT: return 0;
    case EX_FN:
    case EX_SUM:
    case EX_MAXIMUM: return 1;
    case EX_ADD:
    case EX_MUL:
    case EX_MAX2:
    case EX_MIN2:
    case EX_POW:
    case EX_IF:
    case EX_TAKE: return 2;
    case EX_WHERE: return 3;
    }
    return 0;
}

/* Interns the node without simplifying it. */
static Ex expr_intern(World *w, const ExNode *x) {
    struct {
        ExRecord head;
        uint32_t tail[RANK_MAX + 2 * COND_MAX];
    } r;
    memset(&r, 0, sizeof r);
    ExKind k = x->kind;
    r.head.kind = (uint8_t)k;
    if (takes_word(k)) r.head.word = x->word;
    if (k == EX_SIZE) r.head.size = x->size;
    if (k == EX_NUM) r.head.p = x->p, r.head.q = x->q;
    if (k == EX_REAL) memcpy(&r.head.p, &x->real, sizeof r.head.p);
    if (takes_dims(k)) r.head.n = (uint8_t)x->n;
    if (takes_cond(k)) r.head.literals = (uint8_t)x->cond.n;
    r.head.binds = binds(k);
    if (k == EX_AT) r.head.reads = 1u << (x->word < 31 ? x->word : 31);
    for (int i = 0; i < ex_children(k); i++) {
        const ExRecord *c = ex_record(w, r.head.child[i] = x->child[i]);
        r.head.binds |= c->binds;
        r.head.reads |= c->reads;
    }
    uint32_t *at = r.tail;
    for (int i = 0; i < r.head.n; i++) *at++ = x->dims[i];
    for (int i = 0; i < r.head.literals; i++) {
        *at++ = x->cond.v[i].p;
        *at++ = x->cond.v[i].eq;
    }
    return intern_put(w->table[TABLE_EX], &r, sizeof r.head + (size_t)(at - r.tail) * sizeof *at);
}

void ex_get(const World *w, Ex e, ExNode *out) {
    const ExRecord *r = ex_record(w, e);
    memset(out, 0, sizeof *out);
    out->kind = (ExKind)r->kind;
    out->word = r->word;
    memcpy(out->child, r->child, sizeof out->child);
    out->size = r->size;
    if (out->kind == EX_NUM) out->p = r->p, out->q = r->q;
    if (out->kind == EX_REAL) memcpy(&out->real, &r->p, sizeof out->real);
    out->n = r->n;
    out->cond.n = r->literals;
    const uint32_t *at = (const uint32_t *)(const void *)(r + 1);
    for (int i = 0; i < r->n; i++) out->dims[i] = *at++;
    for (int i = 0; i < r->literals; i++, at += 2) out->cond.v[i] = (Lit){at[0], at[1] != 0};
}

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

/* Makes p/q in lowest terms with q > 0. False: it does not fit in 64 bits, or q = 0. */
static bool lowest(int64_t p, int64_t q, ExNode *x) {
    uint64_t a = magnitude(p), b = magnitude(q), g = a, h = b;
    if (!q) return false;
    while (h) {
        uint64_t t = g % h;
        g = h;
        h = t;
    }
    a /= g;
    b /= g;
    if (a > INT64_MAX || b > INT64_MAX) return false;
    *x = (ExNode){
        .kind = EX_NUM, .p = (p < 0) != (q < 0) ? -(int64_t)a : (int64_t)a, .q = (int64_t)b};
    return true;
}

Ex ex_rational(World *w, int64_t p, int64_t q) {
    ExNode x;
    if (!lowest(p, q, &x)) {
        overflow_note(w);
        x = (ExNode){.kind = EX_NUM, .p = 0, .q = 1};
    }
    return expr_intern(w, &x);
}

/* A dyadic number p / 2^k with |p| < 2^53 and k <= 20 is kept exactly; with finer ones arithmetic
   would soon overflow 64 bits. -0 is not made rational, because 1/-0 differs from 1/0. */
Ex ex_real(World *w, double v) {
    enum { BITS = 20 };
    double scaled = ldexp(v, BITS);
    if (v == 0 && signbit(v)) return expr_intern(w, &(ExNode){.kind = EX_REAL, .real = v});
    if (scaled == trunc(scaled) && fabs(scaled) < 0x1p53)
        return ex_rational(w, (int64_t)scaled, (int64_t)1 << BITS);
    if (fabs(v) < 0x1p53 && v == trunc(v)) return ex_rational(w, (int64_t)v, 1);
    if (isnan(v)) v = NAN;
    return expr_intern(w, &(ExNode){.kind = EX_REAL, .real = v});
}

Ex ex_param(World *w, const char *name) {
    return expr_intern(w, &(ExNode){.kind = EX_PARAM, .word = world_word(w, name)});
}

static bool is_num(const World *w, Ex e, ExNode *x) {
    const ExRecord *r = ex_record(w, e);
    *x = (ExNode){.kind = (ExKind)r->kind, .p = r->p, .q = r->q};
    return r->kind == EX_NUM;
}

static bool is_value(const World *w, Ex e, int64_t p) {
    ExNode x;
    return is_num(w, e, &x) && x.p == p && x.q == 1;
}

static bool node_less(const ExNode *x, const ExNode *y) {
    return (__int128)x->p * y->q < (__int128)y->p * x->q;
}

/* Computes x op y for two rationals; false: the result does not fit in 64 bits. */
static bool fold_pair(ExKind k, const ExNode *x, const ExNode *y, ExNode *r) {
    int64_t p, q, s;
    if (k == EX_MAX2 || k == EX_MIN2) {
        *r = node_less(x, y) == (k == EX_MAX2) ? *y : *x;
        return true;
    }
    if (k == EX_POW || __builtin_mul_overflow(x->q, y->q, &q)) return false;
    if (k == EX_MUL) return !__builtin_mul_overflow(x->p, y->p, &p) && lowest(p, q, r);
    return !__builtin_mul_overflow(x->p, y->q, &p) && !__builtin_mul_overflow(y->p, x->q, &s) &&
           !__builtin_add_overflow(p, s, &p) && lowest(p, q, r);
}

static bool fold_function(Function f, const ExNode *x, ExNode *r) {
    switch (f) {
    case FN_RECIP: return x->p && lowest(x->q, x->p, r);
    case FN_ABS: return lowest((int64_t)(x->p < 0 ? -x->p : x->p), x->q, r);
    case FN_DELTA: return lowest(x->p == 0, 1, r);
    case FN_SIGN: return lowest((x->p > 0) - (x->p < 0), 1, r);
    case FN_FLOOR: return lowest(integer_floor_div(x->p, x->q), 1, r);
    case FN_CEIL: return lowest(-integer_floor_div(-x->p, x->q), 1, r);
    default: return false;
    }
}

int lit_at(const World *w, Lit l, Sizes sizes) {
    int64_t v;
    if (!poly_eval(w, l.p, sizes, &v)) return -1;
    return l.eq ? v == 0 : v >= 0;
}
bool lits_hold(const World *w, int n, const Lit v[], Sizes sizes) {
    bool hold = true;
    for (int k = 0; hold && k < n; k++) hold = lit_at(w, v[k], sizes) == 1;
    return hold;
}

/* Drops repeated literals and constant ones that hold. False: a constant one does not hold. */
static bool tidy(const World *w, Cond *c) {
    int n = 0;
    for (int i = 0; i < c->n; i++) {
        int64_t v;
        bool drop = false;
        if (poly_constant(w, c->v[i].p, &v)) {
            if (c->v[i].eq ? v != 0 : v < 0) return false;
            drop = true;
        }
        for (int j = 0; j < n; j++) drop |= c->v[j].p == c->v[i].p && c->v[j].eq == c->v[i].eq;
        if (!drop) c->v[n++] = c->v[i];
    }
    c->n = n;
    return true;
}

static Ex make_pair(World *w, const ExNode *x) {
    ExNode a, b, r;
    if (x->kind == EX_ADD && is_value(w, x->a, 0)) return x->b;
    if (x->kind == EX_ADD && is_value(w, x->b, 0)) return x->a;
    if (x->kind == EX_MUL && is_value(w, x->a, 1)) return x->b;
    if ((x->kind == EX_MUL || x->kind == EX_POW) && is_value(w, x->b, 1)) return x->a;
    if ((x->kind == EX_MAX2 || x->kind == EX_MIN2) && x->a == x->b) return x->a;
    if (is_num(w, x->a, &a) && is_num(w, x->b, &b) && fold_pair(x->kind, &a, &b, &r))
        return expr_intern(w, &r);
    return expr_intern(w, x);
}

/* A choice with a constant condition, or between equal values, is replaced by its result. */
static Ex make_choice(World *w, const ExNode *x) {
    ExNode c;
    if (is_num(w, x->c, &c)) return c.p ? x->a : x->b;
    return x->a == x->b ? x->a : expr_intern(w, x);
}

int64_t ex_place(double index, int64_t n) {
    if (index < 0) index += (double)n;
    return index >= 0 && index < (double)n ? (int64_t)index : -1;
}

static Ex make_guarded(World *w, const ExNode *x) {
    ExNode y = *x;
    bool possible = tidy(w, &y.cond), sure = possible && !y.cond.n;
    if (x->kind == EX_IF) {
        if (!possible) return x->b;
        return sure || x->a == x->b ? x->a : expr_intern(w, &y);
    }
    if (!possible) return x->kind == EX_SUM ? ex_rational(w, 0, 1) : ex_real(w, -INFINITY);
    return sure && !x->n ? x->a : expr_intern(w, &y);
}

Ex ex_make(World *w, const ExNode *x) {
    ExNode a, r;
    int64_t v;
    switch (x->kind) {
    case EX_NUM: return ex_rational(w, x->p, x->q);
    case EX_REAL: return ex_real(w, x->real);
    case EX_SIZE: return poly_constant(w, x->size, &v) ? ex_rational(w, v, 1) : expr_intern(w, x);
    case EX_FN:
        return is_num(w, x->a, &a) && fold_function((Function)x->word, &a, &r) ? expr_intern(w, &r)
                                                                               : expr_intern(w, x);
    case EX_IF:
    case EX_SUM:
    case EX_MAXIMUM: return make_guarded(w, x);
    case EX_WHERE: return make_choice(w, x);
    case EX_PARAM:
    case EX_TAKE:
    case EX_AT: return expr_intern(w, x);
    case EX_ADD:
    case EX_MUL:
    case EX_MAX2:
    case EX_MIN2:
    case EX_POW: return make_pair(w, x);
    }
    return 0;
}

bool ex_number(const World *w, Ex e, double *v) {
    ExNode x;
    ex_get(w, e, &x);
    if (x.kind == EX_NUM) *v = (double)x.p / (double)x.q;
    if (x.kind == EX_REAL) *v = x.real;
    return x.kind == EX_NUM || x.kind == EX_REAL;
}

bool ex_is(const World *w, Ex e, int64_t v) {
    ExNode x;
    if (!e) return !v;
    ex_get(w, e, &x);
    return x.kind == EX_NUM && x.q == 1 && x.p == v;
}

bool ex_negation(const World *w, Ex e, Ex *of) {
    ExNode x;
    ex_get(w, e, &x);
    if (x.kind != EX_MUL) return false;
    const bool first = ex_is(w, x.a, -1);
    *of = first ? x.b : x.a;
    return first || ex_is(w, x.b, -1);
}
