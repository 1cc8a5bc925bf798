/* loop_compile.c -- from an expression and sizes to a loop program (loop.h).

   Every index polynomial becomes an affine form over loop variables. Quotients, remainders and
   minima disappear where ranges decide them, and are registers elsewhere; equal registers are one.
   A subtree that does not depend on the lane is compiled for one value, so that it is computed once
   for all lanes, and its sums choose lanes of their own.
 */
#include "ops/core/loop.h"
#include <math.h>
#include <string.h>

enum { VARS = LOOP_VARS, TERMS = 24, REGISTERS = 256 };
typedef struct AffineSum {
    int64_t c;
    int n;
    struct {
        int64_t k;
        int r;
    } t[TERMS]; /* ascending r, no zero k */
} AffineSum;
typedef struct ProgramWords {
    Arena *arena;
    int64_t *v;
    int n, room;
} ProgramWords;
typedef struct Range {
    int64_t low, high;
} Range;

typedef struct Memo { /* (expression, lane + 1, what) -> a number */
    uint32_t key, tag;
    uint64_t value;
} Memo;
enum { TAG_DEPENDS = 1 << 16 };

typedef struct Compile {
    World *w;
    Sizes sizes;
    Arena *arena;
    int rank, nvar, nreg, nnode, nparam, nin;
    const int *input;
    const uint32_t *param;
    Symbol var[VARS];
    int64_t extent[VARS];
    ProgramWords reg, node;
    int reg_at[REGISTERS + 1];
    uint64_t reg_depends[REGISTERS]; /* by number - VARS: variables as bits */
    Range reg_range[REGISTERS];
    Memo *memo;
    int nmemo, memo_room;
    Error *error;
    bool failed;
} Compile;

static void compile_fail(Compile *c, const char *why) {
    c->failed = true;
    error_set(c->error, E_INVALID, "", "%s", why);
}

/* Our kinds and functions by the numbers of isomer_backend.h. */
static const uint8_t node_number[] = {
#define X(name) [EX_##name] = LOOP_NODE_##name,
    LOOP_NODES(X)
#undef X
};
static const uint8_t function_number[] = {
#define X(name) [FN_##name] = LOOP_FN_##name,
    LOOP_FUNCTIONS(X)
#undef X
};
_Static_assert((int)FN_COUNT == (int)LOOP_FN_COUNT, "a function that loop programs do not support");

static void put_word(ProgramWords *s, int64_t v) {
    ARENA_GROW(s->arena, s->v, s->room, s->n + 1);
    s->v[s->n++] = v;
}

static int64_t times(Compile *c, int64_t a, int64_t b) {
    int64_t y;
    if (__builtin_mul_overflow(a, b, &y)) return compile_fail(c, "an index exceeds 64 bits"), 0;
    return y;
}

static int64_t plus(Compile *c, int64_t a, int64_t b) {
    int64_t y;
    if (__builtin_add_overflow(a, b, &y)) return compile_fail(c, "an index exceeds 64 bits"), 0;
    return y;
}

static int64_t floor_div(int64_t a, int64_t m) { return a / m - (a % m < 0); }
static int64_t floor_mod(int64_t a, int64_t m) { return a - floor_div(a, m) * m; }

/* ---- affine forms */

static AffineSum affine_constant(int64_t v) { return (AffineSum){.c = v}; }
static AffineSum affine_variable(int r) { return (AffineSum){.n = 1, .t = {{1, r}}}; }

static void add_term(Compile *c, AffineSum *a, int64_t k, int r) {
    int j = 0;
    while (j < a->n && a->t[j].r < r) j++;
    if (j < a->n && a->t[j].r == r) {
        if ((a->t[j].k = plus(c, a->t[j].k, k))) return;
        memmove(&a->t[j], &a->t[j + 1], (size_t)(--a->n - j) * sizeof a->t[0]);
        return;
    }
    if (!k) return;
    if (a->n == TERMS) {
        compile_fail(c, "an index has too many terms");
        return;
    }
    memmove(&a->t[j + 1], &a->t[j], (size_t)(a->n++ - j) * sizeof a->t[0]);
    a->t[j].k = k;
    a->t[j].r = r;
}

static AffineSum affine_scaled(Compile *c, AffineSum a, int64_t k) {
    AffineSum y = affine_constant(times(c, a.c, k));
    for (int j = 0; j < a.n; j++) add_term(c, &y, times(c, a.t[j].k, k), a.t[j].r);
    return y;
}

static void add_to(Compile *c, AffineSum *y, AffineSum a) {
    y->c = plus(c, y->c, a.c);
    for (int j = 0; j < a.n; j++) add_term(c, y, a.t[j].k, a.t[j].r);
}

static Range range(Compile *c, const AffineSum *a) {
    Range y = {a->c, a->c};
    for (int j = 0; j < a->n; j++) {
        int r = a->t[j].r;
        Range x =
            r < VARS ? (Range){0, c->extent[r] > 0 ? c->extent[r] - 1 : 0} : c->reg_range[r - VARS];
        int64_t p = times(c, a->t[j].k, x.low), q = times(c, a->t[j].k, x.high);
        y.low = plus(c, y.low, p < q ? p : q);
        y.high = plus(c, y.high, p < q ? q : p);
    }
    return y;
}

static uint64_t affine_depends(const Compile *c, const AffineSum *a) {
    uint64_t y = 0;
    for (int j = 0; j < a->n; j++)
        y |= a->t[j].r < VARS ? 1ull << a->t[j].r : c->reg_depends[a->t[j].r - VARS];
    return y;
}

static void put_affine(ProgramWords *s, const AffineSum *a) {
    put_word(s, a->c);
    put_word(s, a->n);
    for (int j = 0; j < a->n; j++) put_word(s, a->t[j].k), put_word(s, a->t[j].r);
}

/* The register just written after reg_at[nreg], or the older one that is equal. */
static AffineSum finish_register(Compile *c, Range known, uint64_t uses) {
    int from = c->reg_at[c->nreg], n = c->reg.n - from;
    for (int j = 0; j < c->nreg; j++)
        if (c->reg_at[j + 1] - c->reg_at[j] == n &&
            !memcmp(&c->reg.v[c->reg_at[j]], &c->reg.v[from], (size_t)n * 8)) {
            c->reg.n = from;
            return affine_variable(VARS + j);
        }
    if (c->nreg == REGISTERS)
        return compile_fail(c, "an index needs too many registers"), affine_constant(0);
    c->reg_depends[c->nreg] = uses;
    c->reg_range[c->nreg] = known;
    c->reg_at[++c->nreg] = c->reg.n;
    return affine_variable(VARS + c->nreg - 1);
}

static AffineSum division(Compile *c, LoopRegister kind, const AffineSum *a, int64_t m,
                          Range known) {
    put_word(&c->reg, kind);
    put_affine(&c->reg, a);
    put_word(&c->reg, m);
    return finish_register(c, known, affine_depends(c, a));
}

static AffineSum pair_register(Compile *c, LoopRegister kind, const AffineSum *a,
                               const AffineSum *b, Range known) {
    put_word(&c->reg, kind);
    put_affine(&c->reg, a);
    put_affine(&c->reg, b);
    return finish_register(c, known, affine_depends(c, a) | affine_depends(c, b));
}

/* a = m * high + low, where low has what is not a multiple of m. */
static void affine_split(Compile *c, const AffineSum *a, int64_t m, AffineSum *high,
                         AffineSum *low) {
    *high = affine_constant(floor_div(a->c, m));
    *low = affine_constant(floor_mod(a->c, m));
    for (int j = 0; j < a->n; j++) {
        bool whole = a->t[j].k % m == 0;
        add_term(c, whole ? high : low, whole ? a->t[j].k / m : a->t[j].k, a->t[j].r);
    }
}

static AffineSum affine_quotient(Compile *c, AffineSum a, int64_t m) {
    if (m <= 0) return compile_fail(c, "division by a size that is not positive"), a;
    AffineSum high, low;
    affine_split(c, &a, m, &high, &low);
    Range r = range(c, &low), q = {floor_div(r.low, m), floor_div(r.high, m)};
    add_to(c, &high,
           q.low == q.high ? affine_constant(q.low) : division(c, LOOP_FLOOR, &low, m, q));
    return high;
}

static AffineSum remainder_of(Compile *c, AffineSum a, int64_t m) {
    if (m <= 0) return compile_fail(c, "remainder by a size that is not positive"), a;
    AffineSum high, low;
    affine_split(c, &a, m, &high, &low);
    Range r = range(c, &low);
    if (floor_div(r.low, m) != floor_div(r.high, m))
        return division(c, LOOP_MOD, &low, m, (Range){0, m - 1});
    low.c -= floor_div(r.low, m) * m;
    return low;
}

static AffineSum smaller(Compile *c, AffineSum a, AffineSum b) {
    Range x = range(c, &a), y = range(c, &b);
    if (x.high <= y.low) return a;
    if (y.high <= x.low) return b;
    return pair_register(c, LOOP_MIN, &a, &b,
                         (Range){x.low < y.low ? x.low : y.low, x.high < y.high ? x.high : y.high});
}

static AffineSum multiplied(Compile *c, AffineSum a, AffineSum b) {
    if (!a.n) return affine_scaled(c, b, a.c);
    if (!b.n) return affine_scaled(c, a, b.c);
    Range x = range(c, &a), y = range(c, &b), z = {INT64_MAX, INT64_MIN};
    int64_t p[4] = {times(c, x.low, y.low), times(c, x.low, y.high), times(c, x.high, y.low),
                    times(c, x.high, y.high)};
    for (int j = 0; j < 4; j++) {
        if (p[j] < z.low) z.low = p[j];
        if (p[j] > z.high) z.high = p[j];
    }
    return pair_register(c, LOOP_MUL, &a, &b, z);
}

static AffineSum affine(Compile *, Poly);

static int64_t poly_number(Compile *c, Poly p) {
    AffineSum a = affine(c, p);
    if (a.n) compile_fail(c, "a divisor or an extent depends on an index");
    return a.n ? 1 : a.c;
}

static AffineSum digit_affine(Compile *c, const SymbolDef *d) {
    int64_t unit = 1;
    for (uint32_t j = d->word + 2; j < d->narg; j++)
        unit = times(c, unit, poly_number(c, d->arg[j]));
    return remainder_of(c, affine_quotient(c, affine(c, d->arg[0]), unit),
                        poly_number(c, d->arg[d->word + 1]));
}

static AffineSum symbol_affine(Compile *c, Symbol s) {
    if (s < c->sizes.n && c->sizes.value[s] != SIZE_UNKNOWN)
        return affine_constant(c->sizes.value[s]);
    for (int v = 0; v < c->nvar; v++)
        if (c->var[v] == s) return affine_variable(v);
    SymbolDef d = symbol_def(c->w, s);
    switch (d.kind) {
    case SYM_FLOOR: return affine_quotient(c, affine(c, d.arg[0]), poly_number(c, d.arg[1]));
    case SYM_MIN: return smaller(c, affine(c, d.arg[0]), affine(c, d.arg[1]));
    case SYM_DIGIT: return digit_affine(c, &d);
    case SYM_NAMED:
        return error_set(c->error, E_INVALID, "", "size %s has no value", world_text(c->w, d.word)),
               compile_fail(c, ""), affine_constant(0);
    default:
        return compile_fail(
                   c, "an index, a bound variable or a size that depends on data has no value"),
               affine_constant(0);
    }
}

static AffineSum affine(Compile *c, Poly p) {
    AffineSum sum = affine_constant(0);
    Monomial m;
    for (PolyScan s = poly_scan(c->w, p); poly_next(&s, &m) && !c->failed;) {
        AffineSum term = affine_constant(m.coefficient);
        for (uint32_t j = 0; j < m.degree && !c->failed; j++)
            term = multiplied(c, term, symbol_affine(c, m.symbol[j]));
        add_to(c, &sum, term);
    }
    return sum;
}

/* ---- what is remembered of an expression */

static Memo *memo_find(Compile *c, uint32_t key, uint32_t tag) {
    uint32_t mask = (uint32_t)c->memo_room - 1, at = (key * 2654435761u ^ tag * 40503u) & mask;
    while (c->memo[at].key && (c->memo[at].key != key || c->memo[at].tag != tag))
        at = (at + 1) & mask;
    return &c->memo[at];
}

static void memo_put(Compile *c, uint32_t key, uint32_t tag, uint64_t value) {
    if (2 * c->nmemo >= c->memo_room) {
        Memo *old = c->memo;
        int n = c->memo_room;
        c->memo = ARENA_NEW(c->arena, Memo, c->memo_room *= 2);
        for (int j = 0; j < n; j++)
            if (old[j].key) *memo_find(c, old[j].key, old[j].tag) = old[j];
    }
    c->nmemo++;
    *memo_find(c, key, tag) = (Memo){key, tag, value};
}

static int declare(Compile *c, Symbol s) {
    for (int v = 0; v < c->nvar; v++)
        if (c->var[v] == s) return v;
    int64_t extent = poly_number(c, symbol_def(c->w, s).arg[0]);
    if (c->nvar == VARS) return compile_fail(c, "too many bound variables"), 0;
    c->var[c->nvar] = s;
    c->extent[c->nvar] = extent < 0 ? 0 : extent;
    return c->nvar++;
}

static bool empty_sum(Compile *c, const ExNode *x, int var[]) {
    bool empty = false;
    for (int j = 0; j < x->n; j++) {
        var[j] = declare(c, poly_is_symbol(c->w, x->dims[j]));
        empty |= !c->extent[var[j]];
    }
    return empty;
}

/* The literals whose truth does not follow from the ranges of the variables; returns how many. */
static int undecided(Compile *c, const Cond *k, AffineSum out[], bool eq[]) {
    int n = 0;
    for (int j = 0; j < k->n; j++) {
        out[n] = affine(c, k->v[j].p);
        eq[n] = k->v[j].eq;
        Range r = range(c, &out[n]);
        n += r.low < 0 || (eq[n] && r.high > 0);
    }
    return n;
}

static uint64_t cond_depends(Compile *c, const Cond *k) {
    AffineSum a[COND_MAX];
    bool eq[COND_MAX];
    uint64_t y = 0;
    for (int j = undecided(c, k, a, eq) - 1; j >= 0; j--) y |= affine_depends(c, &a[j]);
    return y;
}

static uint64_t depends_of(Compile *c, Ex e);

static uint64_t depends_new(Compile *c, const ExNode *x) {
    uint64_t y = 0;
    int var[RANK_MAX];
    AffineSum a;
    switch (x->kind) {
    case EX_SIZE: return a = affine(c, x->size), affine_depends(c, &a);
    case EX_AT:
        for (int j = 0; j < x->n; j++) a = affine(c, x->dims[j]), y |= affine_depends(c, &a);
        return y;
    case EX_SUM:
    case EX_MAXIMUM:
        if (empty_sum(c, x, var)) return 0;
        y = depends_of(c, x->a) | cond_depends(c, &x->cond);
        for (int j = 0; j < x->n; j++) y &= ~(1ull << var[j]);
        return y;
    case EX_TAKE:
        var[0] = declare(c, poly_is_symbol(c->w, x->dims[0]));
        y = c->extent[var[0]] ? depends_of(c, x->b) & ~(1ull << var[0]) : 0;
        return y | depends_of(c, x->a);
    default: break;
    }
    y = x->kind == EX_IF ? cond_depends(c, &x->cond) : 0;
    for (int j = 0; j < ex_children(x->kind); j++) y |= depends_of(c, x->child[j]);
    return y;
}

static uint64_t depends_of(Compile *c, Ex e) {
    Memo *known = memo_find(c, e, TAG_DEPENDS);
    if (known->key || c->failed) return known->value;
    ExNode x;
    ex_get(c->w, e, &x);
    uint64_t y = depends_new(c, &x);
    memo_put(c, e, TAG_DEPENDS, y);
    return y;
}

/* ---- nodes */

static int64_t node(Compile *, Ex, int lane);

static void put_node(Compile *, ProgramWords *, const ExNode *, int lane);

static void put_poly(Compile *c, ProgramWords *s, Poly p) {
    AffineSum a = affine(c, p);
    put_affine(s, &a);
}

static void put_cond(Compile *c, ProgramWords *s, const Cond *k) {
    AffineSum a[COND_MAX];
    bool eq[COND_MAX];
    int n = undecided(c, k, a, eq);
    put_word(s, n);
    for (int j = 0; j < n; j++) put_word(s, eq[j]), put_affine(s, &a[j]);
}

static int64_t parameter(Compile *c, uint32_t word) {
    for (int j = 0; j < c->nparam; j++)
        if (c->param[j] == word) return j;
    return compile_fail(c, "a parameter has no value"), 0;
}

/* The variable along which a sum of its own lanes runs: the last one, which is mostly contiguous,
   if it is long enough, else the longest. */
static int inner_position(const Compile *c, int n, const int var[]) {
    int best = n - 1;
    for (int j = 0; j < n && c->extent[var[n - 1]] < 16; j++)
        if (c->extent[var[j]] > c->extent[var[best]]) best = j;
    return best;
}

static void put_sum(Compile *c, ProgramWords *s, const ExNode *x, int lane) {
    int var[RANK_MAX], inner = -1;
    if (empty_sum(c, x, var)) {
        s->n -= 2; /* the node becomes a number */
        put_node(c, s,
                 &(ExNode){.kind = x->kind == EX_SUM ? EX_NUM : EX_REAL, .q = 1, .real = -INFINITY},
                 -1);
        return;
    }
    if (lane < 0 && x->n) {
        int at = inner_position(c, x->n, var);
        inner = var[at];
        memmove(&var[at], &var[at + 1], (size_t)(x->n - 1 - at) * sizeof var[0]);
        var[x->n - 1] = inner;
    }
    int64_t body = node(c, x->a, lane < 0 ? inner : lane);
    put_word(s, inner);
    put_word(s, x->n);
    for (int j = 0; j < x->n; j++) put_word(s, var[j]);
    put_word(s, body);
    put_cond(c, s, &x->cond);
}

/* The body has the lane of this node, whose variable is not its own: each lane has its place. */
static void put_take(Compile *c, ProgramWords *s, const ExNode *x, int lane) {
    int var = declare(c, poly_is_symbol(c->w, x->dims[0]));
    int64_t index = node(c, x->a, lane), body = c->extent[var] ? node(c, x->b, lane) : index;
    put_word(s, index), put_word(s, body), put_word(s, var);
}

static void put_node(Compile *c, ProgramWords *s, const ExNode *x, int lane) {
    int64_t bits, a, b, d;
    put_word(s, node_number[x->kind]);
    put_word(s, lane);
    switch (x->kind) {
    case EX_NUM: put_word(s, x->p), put_word(s, x->q); return;
    case EX_REAL: memcpy(&bits, &x->real, sizeof bits), put_word(s, bits); return;
    case EX_PARAM: put_word(s, parameter(c, x->word)); return;
    case EX_SIZE: put_poly(c, s, x->size); return;
    case EX_AT:
        a = c->input ? c->input[x->word] : (int64_t)x->word;
        if (c->nin <= a) c->nin = (int)a + 1;
        put_word(s, a), put_word(s, x->n);
        for (int j = 0; j < x->n; j++) put_poly(c, s, x->dims[j]);
        return;
    case EX_FN:
        a = node(c, x->a, lane), put_word(s, function_number[x->word]), put_word(s, a);
        return;
    case EX_ADD:
    case EX_MUL:
    case EX_MAX2:
    case EX_MIN2:
    case EX_POW:
        a = node(c, x->a, lane), b = node(c, x->b, lane), put_word(s, a), put_word(s, b);
        return;
    case EX_IF:
        a = node(c, x->a, lane), b = node(c, x->b, lane), put_word(s, a), put_word(s, b),
        put_cond(c, s, &x->cond);
        return;
    case EX_WHERE:
        a = node(c, x->a, lane), b = node(c, x->b, lane), d = node(c, x->c, lane), put_word(s, a),
        put_word(s, b), put_word(s, d);
        return;
    case EX_TAKE: put_take(c, s, x, lane); return;
    case EX_SUM:
    case EX_MAXIMUM: put_sum(c, s, x, lane); return;
    }
    compile_fail(c, "an output has no definition");
}

static int64_t node(Compile *c, Ex e, int lane) {
    if (lane >= 0 && !(depends_of(c, e) >> lane & 1)) lane = -1;
    Memo *known = memo_find(c, e, (uint32_t)(lane + 1));
    if (known->key) return (int64_t)known->value;
    if (c->failed) return 0;
    ExNode x;
    ProgramWords own = {.arena = c->arena};
    ex_get(c->w, e, &x);
    put_node(c, &own, &x, lane);
    for (int j = 0; j < own.n; j++) put_word(&c->node, own.v[j]);
    memo_put(c, e, (uint32_t)(lane + 1), (uint64_t)c->nnode);
    return c->nnode++;
}

/* The output's lane: its last axis if that is long, else its longest, unless a sum is longer than
   all of them. */
static int output_lane(const Compile *c, int rank) {
    int best = rank - 1;
    if (rank && c->extent[rank - 1] >= 16) return best;
    for (int j = 0; j < rank; j++)
        if (c->extent[j] > c->extent[best]) best = j;
    for (int v = rank; v < c->nvar && best >= 0 && c->extent[best] < 16; v++)
        if (c->extent[v] > c->extent[best]) best = -1;
    return best;
}

/* ---- the program */

static LoopProgram assemble_program(Compile *c, int64_t root, int lane) {
    ProgramWords to = {.arena = c->arena};
    const int64_t head[LOOP_HEAD] = {LOOP_MAGIC, c->nin,   c->nparam, c->rank, c->nvar,
                                     c->nreg,    c->nnode, root,      lane};
    for (int j = 0; j < LOOP_HEAD; j++) put_word(&to, head[j]);
    for (int v = 0; v < c->nvar; v++) put_word(&to, c->extent[v]);
    for (int j = 0; j < c->reg.n; j++) put_word(&to, c->reg.v[j]);
    for (int j = 0; j < c->node.n; j++) put_word(&to, c->node.v[j]);
    return (LoopProgram){to.n, to.v};
}

static bool compile(World *w, Ex e, Sizes sizes, int rank, const int64_t dim[], const int input[],
                    int nparam, const uint32_t param[], Arena *arena, LoopProgram *out,
                    Error *error) {
    Error mine = {0};
    Compile *c = ARENA_NEW(arena, Compile, 1);
    *c = (Compile){.w = w,
                   .sizes = sizes,
                   .arena = arena,
                   .rank = rank,
                   .input = input,
                   .nparam = nparam,
                   .param = param,
                   .error = error ? error : &mine};
    c->reg.arena = c->node.arena = arena;
    c->memo = ARENA_NEW(arena, Memo, c->memo_room = 64);
    bool empty = false;
    for (int k = 0; k < rank; k++) {
        c->var[c->nvar] = symbol_index(w, (uint32_t)k);
        c->extent[c->nvar++] = dim[k];
        empty |= dim[k] <= 0;
    }
    if (empty || !e)
        e = e ? ex_rational(w, 0, 1) : 0; /* nothing will be computed: any program will do */
    if (!e) compile_fail(c, "an output has no definition");
    else depends_of(c, e); /* declares every variable */
    int lane = c->failed ? -1 : output_lane(c, rank);
    int64_t root = c->failed ? 0 : node(c, e, lane);
    if (c->failed) return false;
    *out = assemble_program(c, root, lane);
    return true;
}

bool loop_compile(World *w, Ex e, Sizes sizes, int rank, const int64_t dim[], int nparam,
                  const uint32_t param[], Arena *arena, LoopProgram *out, Error *error) {
    return compile(w, e, sizes, rank, dim, NULL, nparam, param, arena, out, error);
}

bool loop_compile_some(World *w, Ex e, Sizes sizes, int rank, const int64_t dim[],
                       const int input[], Arena *arena, LoopProgram *out, Error *error) {
    return compile(w, e, sizes, rank, dim, input, 0, NULL, arena, out, error);
}
