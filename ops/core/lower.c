/* lower.c -- from a definition with bound sizes to steps.

   An element of an input at index polynomials becomes a view when its offset is a sum of multiples
   of the output's indices. Digits of one number are first joined where the strides allow it (a
   reshape of dense data is one digit, which is the number itself) and then resolved by ranges.
   Element-wise trees become programs, with at most one plain sum or maximum as the element that a
   reduction computes; all the rest is a loop program. */
#include "ops/core/lower.h"
#include "ops/core/loop.h"
#include "ops/core/number.h"
#include <string.h>

/* ---- collecting steps */

StepBuf stepbuf_new(World *w, Sizes sizes, Arena *arena) {
    return (StepBuf){.w = w, .sizes = sizes, .arena = arena};
}

Step *step_add(StepBuf *b, StepKind kind, int nview, const View view[]) {
    ARENA_GROW(b->arena, b->v, b->room, b->n + 1);
    Step *s = &b->v[b->n++];
    *s = (Step){.kind = kind,
                .nview = nview,
                .view = arena_copy(b->arena, view, (size_t)nview * sizeof *view)};
    return s;
}

void step_param(StepBuf *b, Step *s, int n, const int64_t param[]) {
    int64_t *all = ARENA_NEW(b->arena, int64_t, s->nparam + n);
    if (s->nparam) memcpy(all, s->param, (size_t)s->nparam * sizeof *all);
    if (n) memcpy(all + s->nparam, param, (size_t)n * sizeof *all);
    s->param = all;
    s->nparam += n;
}

void step_sizes(StepBuf *b, Step *s, int n, const Poly p[]) {
    for (int k = 0; k < n; k++) step_param(b, s, 1, &(int64_t){step_size(b, p[k])});
}

void step_code(StepBuf *b, Step *s, int n, const Scalar code[]) {
    s->code = arena_copy(b->arena, code, (size_t)n * sizeof *code);
    s->ncode = n;
}

int64_t step_size(StepBuf *b, Poly p) {
    int64_t v = 0;
    if (!poly_eval(b->w, p, b->sizes, &v)) b->why = "a size has no value";
    return v;
}

void step_copy(StepBuf *b, const View *y, const View *x) {
    step_add(b, S_COPY, 2, (const View[]){*y, *x});
}

void step_fill(StepBuf *b, const View *y, double k) {
    step_code(b, step_add(b, S_FILL, 1, y), 1, &(Scalar){.op = C_CONST, .k = k});
}

/* ---- offsets */

enum { AXES = 2 * RANK_MAX, DIGITS = 16 };
typedef struct Line {
    int64_t c, k[AXES];
} Line; /* c + sum of k * index */
typedef struct Digit {
    Poly of;
    int64_t behind, radix, k;
} Digit;               /* k * (floor(of / behind) mod radix); radix 0: no remainder is taken */
typedef struct Space { /* the indices: those of the output, then bound variables */
    World *w;
    Sizes sizes;
    int n;
    Symbol axis[AXES];
    int64_t extent[AXES];
} Space;
typedef struct Offset {
    Line line;
    int n;
    Digit digit[DIGITS];
} Offset;

static bool size_of(const Space *s, Poly p, int64_t *v) { return poly_eval(s->w, p, s->sizes, v); }

static bool take_digit(const Space *s, const SymbolDef *d, int64_t k, Offset *o) {
    Digit g = {d->arg[0], 1, 0, k};
    if (d->kind == SYM_FLOOR && !size_of(s, d->arg[1], &g.behind)) return false;
    if (d->kind == SYM_DIGIT) {
        if (!size_of(s, d->arg[d->word + 1], &g.radix)) return false;
        for (uint32_t j = d->word + 2; j < d->narg; j++) {
            int64_t r;
            if (!size_of(s, d->arg[j], &r) || __builtin_mul_overflow(g.behind, r, &g.behind))
                return false;
        }
        if (g.radix == 1) return true; /* it is 0 */
    }
    if (g.behind <= 0 || g.radix < 0 || (d->kind == SYM_DIGIT && !g.radix) || o->n == DIGITS)
        return false;
    o->digit[o->n++] = g;
    return true;
}

static bool take_monomial(const Space *s, const Monomial *m, int64_t k, Offset *o) {
    int axis = -1;
    SymbolDef other = {0};
    bool found = false;
    if (__builtin_mul_overflow(k, m->coefficient, &k)) return false;
    for (uint32_t j = 0; j < m->degree; j++) {
        Symbol y = m->symbol[j];
        int64_t v;
        int a = 0;
        while (a < s->n && s->axis[a] != y) a++;
        if (a == s->n && size_of(s, poly_symbol(s->w, y), &v)) {
            if (__builtin_mul_overflow(k, v, &k)) return false;
            continue;
        }
        if (found) return false; /* a product of indices */
        found = true;
        if (a < s->n) axis = a;
        else other = symbol_def(s->w, y);
    }
    if (!found) return o->line.c += k, true;
    if (axis >= 0) return o->line.k[axis] += k, true;
    return (other.kind == SYM_FLOOR || other.kind == SYM_DIGIT) && take_digit(s, &other, k, o);
}

static bool take_poly(const Space *s, Poly p, int64_t k, Offset *o) {
    Monomial m;
    for (PolyScan scan = poly_scan(s->w, p); poly_next(&scan, &m);)
        if (!take_monomial(s, &m, k, o)) return false;
    return true;
}

/* Two digits of one number, one right before the other, that count on: high * radix + low is one
   digit. */
static bool join(Offset *o) {
    for (int a = 0; a < o->n; a++)
        for (int b = 0; b < o->n; b++) {
            Digit *high = &o->digit[a], *low = &o->digit[b];
            if (a == b || !low->radix || high->of != low->of ||
                high->behind != low->behind * low->radix || high->k != low->k * low->radix)
                continue;
            low->radix *= high->radix;
            *high = o->digit[--o->n];
            return true;
        }
    return false;
}

/* The line is m * high + low, where low / m is z everywhere. */
static bool split(const Space *s, const Line *l, int64_t m, Line *high, Line *low, int64_t *z) {
    int64_t least = 0, most = 0;
    *high = *low = (Line){0};
    low->c = least = most = l->c;
    for (int a = 0; a < s->n; a++) {
        if (s->extent[a] <= 1) continue;
        if (l->k[a] % m == 0) {
            high->k[a] = l->k[a] / m;
            continue;
        }
        low->k[a] = l->k[a];
        *(l->k[a] < 0 ? &least : &most) += l->k[a] * (s->extent[a] - 1);
    }
    *z = least / m - (least % m < 0);
    return *z == most / m - (most % m < 0);
}

static bool line_of(const Space *, Offset *);

static bool resolve(const Space *s, const Digit *d, Line *out) {
    Offset of = {0};
    Line high, low;
    int64_t z;
    if (!take_poly(s, d->of, 1, &of) || !line_of(s, &of) ||
        !split(s, &of.line, d->behind, &high, &low, &z))
        return false;
    high.c += z;
    *out = high;
    if (!d->radix) return true;
    if (!split(s, &high, d->radix, &(Line){0}, out, &z)) return false;
    out->c -= z * d->radix;
    return true;
}

static bool line_of(const Space *s, Offset *o) {
    while (join(o)) {}
    for (int j = 0; j < o->n; j++) {
        Line l;
        if (!resolve(s, &o->digit[j], &l)) return false;
        o->line.c += o->digit[j].k * l.c;
        for (int a = 0; a < s->n; a++) o->line.k[a] += o->digit[j].k * l.k[a];
    }
    o->n = 0;
    return true;
}

static Space space_of(World *w, Sizes sizes, const View *like) {
    Space s = {.w = w, .sizes = sizes, .n = like->rank};
    for (int a = 0; a < s.n; a++) {
        s.axis[a] = symbol_index(w, (uint32_t)a);
        s.extent[a] = like->dim[a];
    }
    return s;
}

/* The element read, as a view of all axes of the space. */
static bool view_of(const Space *s, const ExNode *at, const View *x, View *out) {
    Offset o = {0};
    if (x->rank != at->n || s->n > STEP_RANK || x->format) return false;
    for (int k = 0; k < at->n; k++)
        if (!take_poly(s, at->dims[k], x->stride[k], &o)) return false;
    if (!line_of(s, &o)) return false;
    *out = (View){.slot = x->slot, .dtype = x->dtype, .rank = s->n, .offset = x->offset + o.line.c};
    for (int a = 0; a < s->n; a++) {
        out->dim[a] = s->extent[a];
        out->stride[a] = s->extent[a] == 1 ? 0 : o.line.k[a];
    }
    return true;
}

bool lower_view(World *w, Ex e, Sizes sizes, const View in[], const View *like, View *out) {
    ExNode x;
    ex_get(w, e, &x);
    Space s = space_of(w, sizes, like);
    return x.kind == EX_AT && view_of(&s, &x, &in[x.word], out) && out->dtype == like->dtype;
}

/* ---- element-wise programs */

enum { CODE = 250, VIEWS = 32 };
typedef struct Program {
    StepBuf *b;
    Space space;
    const View *in;
    int ncode, nview;
    Scalar code[CODE];
    Ex from[CODE];    /* what each instruction computes; 0: nothing by itself */
    View view[VIEWS]; /* view[0]: the output */
    Ex reduced;       /* the sum or maximum that is C_ACC; 0: none */
    ReduceKind kind;
} Program;

/* The instruction that computes it; -1: no element-wise program can. */
static int emit(Program *, Ex);

static int instruct(Program *p, Ex e, ScalarOp op, int a, int b, double k) {
    if (a < 0 || b < 0 || p->ncode == CODE) return -1;
    p->from[p->ncode] = e;
    p->code[p->ncode] = (Scalar){.op = (uint8_t)op, .a = (uint8_t)a, .b = (uint8_t)b, .k = k};
    return p->ncode++;
}

static int number(Program *p, Ex e, double k) { return instruct(p, e, C_CONST, 0, 0, k); }

static int read_view(Program *p, Ex e, const ExNode *x) {
    View v;
    if (!view_of(&p->space, x, &p->in[x->word], &v)) return -1;
    if (p->nview == VIEWS) return -1;
    p->view[p->nview] = v;
    return instruct(p, e, C_VIEW, p->nview++, 0, 0);
}

static bool is_number(Program *p, Ex e, double k) {
    double v;
    return ex_number(p->b->w, e, &v) && v == k;
}

/* x when e is -1 * x, else 0. */
static Ex negated(Program *p, Ex e) {
    ExNode x;
    ex_get(p->b->w, e, &x);
    return x.kind != EX_MUL ? 0 : is_number(p, x.a, -1) ? x.b : is_number(p, x.b, -1) ? x.a : 0;
}
/* x when e is 1/x, else 0. */
static Ex inverted(Program *p, Ex e) {
    ExNode x;
    ex_get(p->b->w, e, &x);
    return x.kind == EX_FN && x.word == FN_RECIP ? x.a : 0;
}

static int pair(Program *p, Ex e, ScalarOp op, Ex a, Ex b) {
    int x = emit(p, a), y = x < 0 ? -1 : emit(p, b);
    return instruct(p, e, op, x, y, 0);
}

static int emit_add(Program *p, Ex e, const ExNode *x) {
    Ex minus_b = negated(p, x->b), minus_a = negated(p, x->a);
    if (minus_b) return pair(p, e, C_SUB, x->a, minus_b);
    return minus_a ? pair(p, e, C_SUB, x->b, minus_a) : pair(p, e, C_ADD, x->a, x->b);
}

static int emit_mul(Program *p, Ex e, const ExNode *x) {
    Ex minus = negated(p, e), over = inverted(p, x->b), under = inverted(p, x->a);
    if (minus) return instruct(p, e, C_NEG, emit(p, minus), 0, 0);
    if (over) return pair(p, e, C_DIV, x->a, over);
    return under ? pair(p, e, C_DIV, x->b, under) : pair(p, e, C_MUL, x->a, x->b);
}

static int emit_max(Program *p, Ex e, const ExNode *x) {
    if (is_number(p, x->b, 0)) return instruct(p, e, C_RELU, emit(p, x->a), 0, 0);
    return pair(p, e, C_MAX, x->a, x->b);
}

static int emit_function(Program *p, Ex e, const ExNode *x) {
    static const uint8_t op[FN_COUNT] = {
        [FN_RECIP] = C_RECIP, [FN_EXP] = C_EXP,     [FN_LOG] = C_LOG,         [FN_SQRT] = C_SQRT,
        [FN_ERF] = C_ERF,     [FN_TANH] = C_TANH,   [FN_SIGMOID] = C_SIGMOID, [FN_ABS] = C_ABS,
        [FN_DELTA] = C_EQ,    [FN_FLOOR] = C_FLOOR, [FN_CEIL] = C_CEIL,       [FN_ROUND] = C_ROUND,
        [FN_SIGN] = C_SIGN,   [FN_SIN] = C_SIN,     [FN_COS] = C_COS};
    int a = emit(p, x->a);
    return instruct(p, e, (ScalarOp)op[x->word], a, x->word == FN_DELTA ? number(p, 0, 0) : 0, 0);
}

static int emit_where(Program *p, Ex e, const ExNode *x) {
    int c = emit(p, x->c), a = c < 0 ? -1 : emit(p, x->a), b = a < 0 ? -1 : emit(p, x->b);
    int y = instruct(p, e, C_WHERE, c, a < b ? a : b, 0);
    if (y >= 0) p->code[y].b = (uint8_t)a, p->code[y].c = (uint8_t)b;
    return y;
}

static int emit_new(Program *p, Ex e) {
    ExNode x;
    int64_t n;
    ex_get(p->b->w, e, &x);
    switch (x.kind) {
    case EX_NUM: return number(p, e, (double)x.p / (double)x.q);
    case EX_REAL: return number(p, e, x.real);
    case EX_SIZE: return size_of(&p->space, x.size, &n) ? number(p, e, (double)n) : -1;
    case EX_AT: return read_view(p, e, &x);
    case EX_ADD: return emit_add(p, e, &x);
    case EX_MUL: return emit_mul(p, e, &x);
    case EX_MAX2: return emit_max(p, e, &x);
    case EX_MIN2: return pair(p, e, C_MIN, x.a, x.b);
    case EX_POW: return pair(p, e, C_POW, x.a, x.b);
    case EX_FN: return emit_function(p, e, &x);
    case EX_WHERE: return emit_where(p, e, &x);
    default: return -1;
    }
}

static int emit(Program *p, Ex e) {
    for (int j = 0; j < p->ncode; j++)
        if (p->from[j] == e) return j;
    return emit_new(p, e);
}

/* The only sum or maximum in the tree; false: there are several. */
static bool find_reduced(Program *p, Ex e) {
    ExNode x;
    ex_get(p->b->w, e, &x);
    switch (x.kind) {
    case EX_SUM:
    case EX_MOST:
        if (p->reduced && p->reduced != e) return false;
        p->reduced = e;
        p->kind = x.kind == EX_SUM ? REDUCE_SUM : REDUCE_MAX;
        return true;
    case EX_IF:
    case EX_TAKE: return false;
    default: break;
    }
    for (int k = 0; k < ex_children(x.kind); k++)
        if (!find_reduced(p, x.child[k])) return false;
    return true;
}

/* The input of the reduction as view[1]: the output's axes, then the bound variables. */
static bool reduction_view(Program *p) {
    ExNode x, body;
    Space s = p->space;
    ex_get(p->b->w, p->reduced, &x);
    ex_get(p->b->w, x.a, &body);
    if (x.cond.n || body.kind != EX_AT || s.n + x.n > STEP_RANK) return false;
    for (int k = 0; k < x.n; k++, s.n++) {
        s.axis[s.n] = poly_is_symbol(s.w, x.dims[k]);
        if (!size_of(&s, symbol_def(s.w, s.axis[s.n]).arg[0], &s.extent[s.n])) return false;
    }
    p->nview = 2;
    instruct(p, p->reduced, C_ACC, 0, 0, 0);
    return view_of(&s, &body, &p->in[body.word], &p->view[1]);
}

static bool lower_program(StepBuf *b, Ex e, const View in[], const View *out) {
    Program p = {
        .b = b, .space = space_of(b->w, b->sizes, out), .in = in, .nview = 1, .view = {*out}};
    if (!find_reduced(&p, e) || (p.reduced && !reduction_view(&p))) return false;
    int last = emit(&p, e);
    if (last < 0 || last != p.ncode - 1) return false;
    if (p.ncode == 1 && p.code[0].op == C_CONST) return step_fill(b, out, p.code[0].k), true;
    Step *s = step_add(b, p.reduced ? S_REDUCE : S_EWISE, p.nview, p.view);
    if (p.reduced) step_param(b, s, 1, &(int64_t){p.kind});
    if (p.reduced != e) step_code(b, s, p.ncode, p.code);
    return true;
}

/* ---- loop programs */

static bool lower_loop(StepBuf *b, Ex e, int nin, const View in[], const View *out) {
    LoopProgram p;
    Error error = {0};
    View *view = ARENA_NEW(b->arena, View, nin + 1);
    int *place = ARENA_NEW(b->arena, int, nin), n = 0;
    view[0] = *out;
    for (int k = 0; k < nin; k++) {
        place[k] = -1;
        if (in[k].rank < 0 || !ex_reads(b->w, e, k)) continue;
        place[k] = n;
        view[++n] = in[k];
    }
    if (!loop_compile_some(b->w, e, b->sizes, out->rank, out->dim, place, b->arena, &p, &error)) {
        b->why = arena_string(b->arena, error.reason, strlen(error.reason));
        return false;
    }
    step_param(b, step_add(b, S_LOOP, n + 1, view), p.n, p.words);
    return true;
}

bool lower_step(StepBuf *b, Ex e, int nin, const View in[], const View *out) {
    View x;
    if (lower_view(b->w, e, b->sizes, in, out, &x)) return step_copy(b, out, &x), true;
    return lower_program(b, e, in, out) || lower_loop(b, e, nin, in, out);
}
