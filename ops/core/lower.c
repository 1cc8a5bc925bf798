/* lower.c -- lowers a definition with known sizes to steps.

   Reading an input at index polynomials becomes a view (lower_space.h), and an element-wise tree
   becomes a program. If the tree contains one plain sum or maximum, of elements of an input, the
   program becomes the epilogue of a reduction.

   If it contains several, each is first computed into a buffer; the terms get a buffer, too, unless
   they are elements of an input. Axes are split where that turns elements into views. A subtree
   that no program can compute but that is constant along most axes is computed by a loop program
   into a table, which the program reads. If all this fails, the whole definition becomes a loop
   program. */
#include "ops/core/loop.h"
#include "ops/core/lower_space.h"
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

bool step_buffer(StepBuf *b, int32_t dtype, int rank, const int64_t dim[], View *out) {
    if (!b->first_buffer || b->nbuffers == STEP_BUFFERS) return false;
    b->buffers[b->nbuffers] = *out = view_dense(b->first_buffer + b->nbuffers, dtype, rank, dim);
    b->nbuffers++;
    return true;
}

int64_t step_size(StepBuf *b, Poly p) {
    int64_t v = 0;
    if (!poly_eval(b->w, p, b->sizes, &v)) b->failure = "a size has no value";
    return v;
}

void step_copy(StepBuf *b, const View *y, const View *x) {
    step_add(b, S_COPY, 2, (const View[]){*y, *x});
}

void step_fill(StepBuf *b, const View *y, double k) {
    step_code(b, step_add(b, S_FILL, 1, y), 1, &(Scalar){.op = C_CONST, .k = k});
}

bool lower_view(World *w, Ex e, Sizes sizes, const View in[], const View *like, View *out) {
    ExNode x;
    ex_get(w, e, &x);
    LowerSpace s = space_new(w, sizes, like);
    return x.kind == EX_AT && space_view(&s, &x, &in[x.word], out) && out->dtype == like->dtype;
}

/* ---- element-wise programs */

enum { VIEWS = 32 };
/* Which additional steps may be used: none; reductions into buffers; tables as well. */
typedef enum Aid { ALONE, BUFFERS, TABLES, AIDS } Aid;
typedef struct Buffers { /* the sums and maxima that have buffers, as views over the axes of the
                            output */
    const LowerSpace *space;
    bool tables;
    int n;
    Ex of[STEP_BUFFERS];
    View view[STEP_BUFFERS];
} Buffers;
typedef struct LoweredProgram {
    StepBuf *b;
    LowerSpace space;
    int nin;
    const View *in;
    int ncode, nview;
    Scalar code[STEP_CODE];
    Ex from[STEP_CODE]; /* the expression that each instruction computes; 0: none */
    View view[VIEWS];   /* view[0] is the output */
    Ex reduced;         /* the sum or maximum that C_ACC stands for; 0: none */
    ReduceKind kind;
    Buffers *buffers; /* the buffers of sums and maxima; NULL: they must not be used */
} LoweredProgram;

/* Returns the number of the instruction that computes an expression; -1: no element-wise program
   can compute it. */
static int emit_expr(LoweredProgram *, Ex);

static int instruct(LoweredProgram *p, Ex e, ScalarOp op, int a, int b, double k) {
    if (a < 0 || b < 0 || p->ncode == STEP_CODE) return -1;
    p->from[p->ncode] = e;
    p->code[p->ncode] = (Scalar){.op = (uint8_t)op, .a = (uint8_t)a, .b = (uint8_t)b, .k = k};
    return p->ncode++;
}

static int instruct_number(LoweredProgram *p, Ex e, double k) {
    return instruct(p, e, C_CONST, 0, 0, k);
}

static int read_view(LoweredProgram *p, Ex e, const ExNode *x) {
    View v;
    if (!space_view(&p->space, x, &p->in[x->word], &v)) return -1;
    if (p->nview == VIEWS) return -1;
    p->view[p->nview] = v;
    return instruct(p, e, C_VIEW, p->nview++, 0, 0);
}

static bool is_number(LoweredProgram *p, Ex e, double k) {
    double v;
    return ex_number(p->b->w, e, &v) && v == k;
}

/* Returns x if e is -1 * x, else 0. */
static Ex negated_factor(LoweredProgram *p, Ex e) {
    ExNode x;
    ex_get(p->b->w, e, &x);
    return x.kind != EX_MUL ? 0 : is_number(p, x.a, -1) ? x.b : is_number(p, x.b, -1) ? x.a : 0;
}
/* Returns x if e is 1/x, else 0. */
static Ex inverted(LoweredProgram *p, Ex e) {
    ExNode x;
    ex_get(p->b->w, e, &x);
    return x.kind == EX_FN && x.word == FN_RECIP ? x.a : 0;
}

static int instruct_pair(LoweredProgram *p, Ex e, ScalarOp op, Ex a, Ex b) {
    int x = emit_expr(p, a), y = x < 0 ? -1 : emit_expr(p, b);
    return instruct(p, e, op, x, y, 0);
}

static int emit_add(LoweredProgram *p, Ex e, const ExNode *x) {
    Ex minus_b = negated_factor(p, x->b), minus_a = negated_factor(p, x->a);
    if (minus_b) return instruct_pair(p, e, C_SUB, x->a, minus_b);
    return minus_a ? instruct_pair(p, e, C_SUB, x->b, minus_a)
                   : instruct_pair(p, e, C_ADD, x->a, x->b);
}

static int emit_mul(LoweredProgram *p, Ex e, const ExNode *x) {
    Ex minus = negated_factor(p, e), over = inverted(p, x->b), under = inverted(p, x->a);
    if (minus) return instruct(p, e, C_NEG, emit_expr(p, minus), 0, 0);
    if (over) return instruct_pair(p, e, C_DIV, x->a, over);
    return under ? instruct_pair(p, e, C_DIV, x->b, under) : instruct_pair(p, e, C_MUL, x->a, x->b);
}

static int emit_max(LoweredProgram *p, Ex e, const ExNode *x) {
    if (is_number(p, x->b, 0)) return instruct(p, e, C_RELU, emit_expr(p, x->a), 0, 0);
    return instruct_pair(p, e, C_MAX, x->a, x->b);
}

static int emit_function(LoweredProgram *p, Ex e, const ExNode *x) {
    static const uint8_t op[FN_COUNT] = {
        [FN_RECIP] = C_RECIP, [FN_EXP] = C_EXP,     [FN_LOG] = C_LOG,         [FN_SQRT] = C_SQRT,
        [FN_ERF] = C_ERF,     [FN_TANH] = C_TANH,   [FN_SIGMOID] = C_SIGMOID, [FN_ABS] = C_ABS,
        [FN_DELTA] = C_EQ,    [FN_FLOOR] = C_FLOOR, [FN_CEIL] = C_CEIL,       [FN_ROUND] = C_ROUND,
        [FN_SIGN] = C_SIGN,   [FN_SIN] = C_SIN,     [FN_COS] = C_COS};
    int a = emit_expr(p, x->a);
    return instruct(p, e, (ScalarOp)op[x->word], a,
                    x->word == FN_DELTA ? instruct_number(p, 0, 0) : 0, 0);
}

static int emit_where(LoweredProgram *p, Ex e, const ExNode *x) {
    int c = emit_expr(p, x->c), a = c < 0 ? -1 : emit_expr(p, x->a),
        b = a < 0 ? -1 : emit_expr(p, x->b);
    int y = instruct(p, e, C_WHERE, c, a < b ? a : b, 0);
    if (y >= 0) p->code[y].b = (uint8_t)a, p->code[y].c = (uint8_t)b;
    return y;
}

static int emit_buffer(LoweredProgram *, Ex, const ExNode *);
static int emit_table(LoweredProgram *, Ex);

static int emit_new(LoweredProgram *p, Ex e) {
    ExNode x;
    int64_t n;
    ex_get(p->b->w, e, &x);
    switch (x.kind) {
    case EX_NUM: return instruct_number(p, e, (double)x.p / (double)x.q);
    case EX_REAL: return instruct_number(p, e, x.real);
    case EX_SIZE:
        return space_size(&p->space, x.size, &n) ? instruct_number(p, e, (double)n)
                                                 : emit_table(p, e);
    case EX_AT: n = read_view(p, e, &x); return n < 0 ? emit_table(p, e) : (int)n;
    case EX_ADD: return emit_add(p, e, &x);
    case EX_MUL: return emit_mul(p, e, &x);
    case EX_MAX2: return emit_max(p, e, &x);
    case EX_MIN2: return instruct_pair(p, e, C_MIN, x.a, x.b);
    case EX_POW: return instruct_pair(p, e, C_POW, x.a, x.b);
    case EX_FN: return emit_function(p, e, &x);
    case EX_WHERE: return emit_where(p, e, &x);
    case EX_SUM:
    case EX_MAXIMUM: return p->buffers ? emit_buffer(p, e, &x) : -1;
    default: return emit_table(p, e);
    }
}

static int emit_expr(LoweredProgram *p, Ex e) {
    for (int j = 0; j < p->ncode; j++)
        if (p->from[j] == e) return j;
    return emit_new(p, e);
}

/* Finds the only sum or maximum of the tree, if any. False: there are several, or the tree has an
   EX_IF or EX_TAKE. */
static bool find_reduced(LoweredProgram *p, Ex e) {
    ExNode x;
    ex_get(p->b->w, e, &x);
    switch (x.kind) {
    case EX_SUM:
    case EX_MAXIMUM:
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

/* Makes view[1] the input of the reduction: the output's axes, then the bound variables. */
static bool reduction_view(LoweredProgram *p) {
    ExNode x, body;
    LowerSpace s = p->space;
    ex_get(p->b->w, p->reduced, &x);
    ex_get(p->b->w, x.a, &body);
    if (x.cond.n || body.kind != EX_AT) return false;
    if (!space_bind_all(&s, &x)) return false;
    p->nview = 2;
    instruct(p, p->reduced, C_ACC, 0, 0, 0);
    return space_view(&s, &body, &p->in[body.word], &p->view[1]);
}

static bool lower_program(StepBuf *b, Ex e, const LowerSpace *space, int nin, const View in[],
                          const View *out, Aid aid) {
    Buffers all = {.space = space, .tables = aid == TABLES};
    LoweredProgram p = {.b = b, .space = *space, .nin = nin, .in = in, .nview = 1, .view = {*out}};
    if (aid != ALONE) p.buffers = &all;
    else if (!find_reduced(&p, e) || (p.reduced && !reduction_view(&p))) return false;
    int last = emit_expr(&p, e);
    if (last < 0 || last != p.ncode - 1) return false;
    if (p.ncode == 1 && p.code[0].op == C_CONST) return step_fill(b, out, p.code[0].k), true;
    Step *s = step_add(b, p.reduced ? S_REDUCE : S_EWISE, p.nview, p.view);
    if (p.reduced) step_param(b, s, 1, &(int64_t){p.kind});
    if (p.reduced != e) step_code(b, s, p.ncode, p.code);
    return true;
}

/* ---- sums and maxima in buffers */

/* Lists the axes of the output along which the terms differ, then those of the bound variables. */
static int term_axes(const LoweredProgram *terms, int n, int axis[]) {
    int count = 0;
    for (int a = 0; a < terms->space.n; a++) {
        bool kept = a >= n;
        for (int k = 1; k < terms->nview; k++) kept = kept || terms->view[k].stride[a];
        if (kept) axis[count++] = a;
    }
    return count;
}
/* Makes the terms one view over these axes: that of an input, or a buffer and a step that fills
   it. */
static bool place_terms(LoweredProgram *terms, int32_t dtype, int n, const int axis[], View *x) {
    int64_t dim[STEP_RANK];
    for (int k = 1; k < terms->nview; k++) terms->view[k] = view_axes(&terms->view[k], n, axis);
    for (int k = 0; k < n; k++) dim[k] = terms->space.extent[axis[k]];
    if (terms->ncode == 1 && terms->code[0].op == C_VIEW)
        return *x = terms->view[1], dtype_class((DType)x->dtype) == 'F';
    if (!step_buffer(terms->b, dtype, n, dim, x)) return false;
    terms->view[0] = *x;
    step_code(terms->b, step_add(terms->b, S_EWISE, terms->nview, terms->view), terms->ncode,
              terms->code);
    return true;
}
/* 16-bit floats are summed in float32. */
static int32_t buffer_type(const LoweredProgram *p) {
    const int32_t dtype = p->view[0].dtype;
    return dtype == DT_FLOAT16 || dtype == DT_BFLOAT16 ? DT_FLOAT : dtype;
}
/* Adds steps that compute a sum or maximum for all places of the space; *seen views the results
   over the axes of the space. */
static bool fill_buffer(LoweredProgram *p, const LowerSpace *space, const ExNode *x, View *seen) {
    const int32_t dtype = buffer_type(p);
    LoweredProgram terms = {
        .b = p->b, .space = *space, .nin = p->nin, .in = p->in, .nview = 1, .buffers = p->buffers};
    int axis[STEP_RANK], last;
    View from, buffer;
    if (!space_bind_all(&terms.space, x)) return false;
    terms.view[0].dtype = dtype;
    if ((last = emit_expr(&terms, x->a)) < 0 || last != terms.ncode - 1) return false;
    const int count = term_axes(&terms, space->n, axis), kept = count - (terms.space.n - space->n);
    if (!place_terms(&terms, dtype, count, axis, &from) ||
        !step_buffer(p->b, dtype, kept, from.dim, &buffer))
        return false;
    step_param(p->b, step_add(p->b, S_REDUCE, 2, (const View[]){buffer, from}), 1,
               &(int64_t){x->kind == EX_SUM ? REDUCE_SUM : REDUCE_MAX});
    *seen = (View){.slot = buffer.slot, .dtype = dtype, .rank = space->n};
    for (int k = 0; k < kept; k++) seen->stride[axis[k]] = buffer.stride[k];
    return true;
}
/* Finds or fills a buffer for e: one that covers all places of the output, if possible, so that it
   is computed once and can be shared. */
static bool find_buffer(LoweredProgram *p, Ex e, const ExNode *x, View *seen) {
    Buffers *r = p->buffers;
    const int steps = p->b->n, buffers = p->b->nbuffers, n = r->n;
    const char *const why = p->b->failure;
    for (int k = 0; k < r->n; k++)
        if (r->of[k] == e) return *seen = r->view[k], true;
    if (fill_buffer(p, r->space, x, seen)) {
        if (r->n == STEP_BUFFERS) return false;
        r->of[r->n] = e;
        r->view[r->n++] = *seen;
        return true;
    }
    p->b->n = steps, p->b->nbuffers = buffers, p->b->failure = why, r->n = n;
    return fill_buffer(p, &p->space, x, seen);
}
/* Emits a read of a buffer. *seen has its strides along the axes of the space. */
static int read_buffer(LoweredProgram *p, Ex e, View *seen) {
    seen->rank = p->space.n;
    for (int a = 0; a < p->space.n; a++) {
        seen->dim[a] = p->space.extent[a];
        if (seen->dim[a] == 1) seen->stride[a] = 0;
    }
    p->view[p->nview] = *seen;
    return instruct(p, e, C_VIEW, p->nview++, 0, 0);
}
static int emit_buffer(LoweredProgram *p, Ex e, const ExNode *x) {
    const int32_t dtype = buffer_type(p);
    View seen;
    if (x->cond.n || (dtype != DT_FLOAT && dtype != DT_DOUBLE) || !find_buffer(p, e, x, &seen) ||
        p->nview == VIEWS)
        return -1;
    return read_buffer(p, e, &seen);
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
    if (!loop_compile(&(LoopSource){.w = b->w,
                                    .define = e,
                                    .sizes = b->sizes,
                                    .rank = out->rank,
                                    .dim = out->dim,
                                    .input = place},
                      b->arena, &p, &error)) {
        b->failure = arena_string(b->arena, error.reason, strlen(error.reason));
        return false;
    }
    step_param(b, step_add(b, S_LOOP, n + 1, view), p.n, p.words);
    return true;
}

/* ---- tables: a subtree that no program can compute, such as an index as a number, but that
   differs along few axes is computed by a loop program for these axes only, and read as a table */
enum { TABLE_SAVES = 8 };
/* Whether no axis was split: each has one symbol of its own. */
static bool space_whole(const LowerSpace *s) {
    for (int k = 0; k < s->nindex; k++)
        if (s->index[k].axis != k || s->index[k].factor != 1) return false;
    return s->nindex == s->n;
}
/* Finds the axes along which *e differs, and rewrites *e to be over them alone. If e contains sums,
   substitution gives them new variables, so e counts as different along every axis. */
static int table_axes(const LoweredProgram *p, Ex *e, int axis[]) {
    World *w = p->b->w;
    Symbol from[SPACE_AXES] = {0};
    Poly to[SPACE_AXES] = {0};
    int n = 0;
    for (int a = 0; a < p->space.n; a++) {
        const Poly first = poly_int(w, 0);
        from[a] = p->space.index[a].symbol, to[a] = first;
        if (p->space.extent[a] == 1 || ex_subst(w, *e, 1, &from[a], &first, NULL, 0) == *e)
            continue;
        to[a] = poly_symbol(w, symbol_index(w, (uint32_t)n));
        axis[n++] = a;
    }
    *e = ex_subst(w, *e, p->space.n, from, to, NULL, 0);
    return n;
}
static int emit_table(LoweredProgram *p, Ex e) {
    const int32_t dtype = buffer_type(p);
    const LowerSpace *s = &p->space;
    int64_t dim[STEP_RANK], count = 1, all = 1;
    int axis[STEP_RANK];
    Ex own = e;
    View table;
    if (!p->buffers || !p->buffers->tables || !space_whole(s) || p->nview == VIEWS ||
        (dtype != DT_FLOAT && dtype != DT_DOUBLE))
        return -1;
    const int n = table_axes(p, &own, axis);
    for (int a = 0; a < s->n; a++) all *= s->extent[a];
    for (int k = 0; k < n; k++) count *= dim[k] = s->extent[axis[k]];
    if (count > all / TABLE_SAVES || !step_buffer(p->b, dtype, n, dim, &table) ||
        !lower_loop(p->b, own, p->nin, p->in, &table))
        return -1;
    View seen = {.slot = table.slot, .dtype = dtype};
    for (int k = 0; k < n; k++) seen.stride[axis[k]] = table.stride[k];
    return read_buffer(p, e, &seen);
}

/* Lowers an element at quotients and remainders of indices, or a program that reads such elements,
   after splitting axes. */
static bool lower_apart(StepBuf *b, Ex e, const LowerSpace *space, int nin, const View in[],
                        const View *out, Aid aid) {
    LowerSpace apart = *space;
    View y = *out, seen;
    ExNode x;
    ex_get(b->w, e, &x);
    if (!space_split(&apart, e, &y)) return false;
    if (x.kind != EX_AT) return lower_program(b, e, &apart, nin, in, &y, aid);
    return space_view(&apart, &x, &in[x.word], &seen) && (step_copy(b, &y, &seen), true);
}
bool lower_step(StepBuf *b, Ex e, int nin, const View in[], const View *out) {
    View x;
    const int steps = b->n, buffers = b->nbuffers;
    const char *const why = b->failure;
    if (lower_view(b->w, e, b->sizes, in, out, &x)) return step_copy(b, out, &x), true;
    const LowerSpace space = space_new(b->w, b->sizes, out);
    for (Aid aid = ALONE; aid < AIDS && out->rank + 1 <= STEP_RANK; aid++) {
        if (lower_program(b, e, &space, nin, in, out, aid) ||
            lower_apart(b, e, &space, nin, in, out, aid))
            return true;
        b->n = steps, b->nbuffers = buffers, b->failure = why;
    }
    return lower_loop(b, e, nin, in, out);
}
