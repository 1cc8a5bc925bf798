/* loop_form.c -- decodes the words of a loop program for given views. Every number that is used as
   an index is checked, so that a damaged program is refused instead of run. */
#include "ops/core/loop_form.h"
#include <math.h>
#include <string.h>

typedef struct Decode {
    Loop *l;
    const int64_t *at, *end;
    int nparam;
    bool bad;
} Decode;

static int64_t take_word(Decode *d) {
    if (d->at < d->end) return *d->at++;
    d->bad = true;
    return 0;
}

/* takes a word with low <= word < high */
static int take_below(Decode *d, int64_t low, int64_t high) {
    int64_t v = take_word(d);
    if (v >= low && v < high) return (int)v;
    d->bad = true;
    return (int)low;
}

static uint64_t uses_of(const Loop *l, int r) {
    return r < LOOP_VARS ? 1ull << r : l->reg[r - LOOP_VARS].uses;
}

static LoopAffine take_affine(Decode *d, int nreg) {
    Loop *l = d->l;
    LoopAffine a = {.c = take_word(d)};
    a.n = take_below(d, 0, LOOP_VARS * 2);
    a.t = ARENA_NEW(l->arena, LoopTerm, a.n);
    for (int j = 0; j < a.n; j++) {
        a.t[j].factor = take_word(d);
        a.t[j].r = take_below(d, 0, LOOP_VARS + nreg);
        if (a.t[j].r < LOOP_VARS && a.t[j].r >= l->nvar) d->bad = true;
        a.uses |= uses_of(l, a.t[j].r);
    }
    return a;
}

static void take_register(Decode *d, int at) {
    Register *r = &d->l->reg[at];
    r->kind = (LoopRegister)take_below(d, 0, LOOP_MUL + 1);
    r->a = take_affine(d, at);
    if (r->kind == LOOP_FLOOR || r->kind == LOOP_MOD) r->m = take_word(d), d->bad |= r->m <= 0;
    else r->b = take_affine(d, at);
    r->uses = r->a.uses | r->b.uses;
}

static LoopForm form_along(const Loop *l, const LoopAffine *a, int lane) {
    LoopForm f = {.c = a->c, .t = ARENA_NEW(l->arena, LoopTerm, a->n)};
    uint64_t bit = lane < 0 ? 0 : 1ull << lane;
    for (int j = 0; j < a->n; j++)
        if (a->t[j].r != lane && !(uses_of(l, a->t[j].r) & bit)) f.t[f.n++] = a->t[j];
    for (int j = 0; j < a->n; j++)
        if (a->t[j].r == lane) f.lane += a->t[j].factor;
        else if (uses_of(l, a->t[j].r) & bit) f.t[f.n + f.nlane++] = a->t[j];
    return f;
}

/* A factor of more than 64 bits belongs to a variable that is always 0: a stride beyond the
   image. */
static int64_t wrapping_product(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
/* Decodes the index of an EX_AT into an offset: the sum of stride times index over the axes of the
   input. */
static void take_offset(Decode *d, DecodedNode *x, int lane) {
    Loop *l = d->l;
    x->word = take_below(d, 0, l->nview - 1);
    const View *v = &l->view[d->bad ? 0 : x->word + 1];
    int rank = take_below(d, 0, STEP_RANK + 1);
    if (d->bad || rank != v->rank) {
        d->bad = true;
        return;
    }
    LoopAffine sum = {.t = ARENA_NEW(l->arena, LoopTerm, LOOP_VARS * 2 * (STEP_RANK + 1))};
    for (int k = 0; k < rank; k++) {
        LoopAffine a = take_affine(d, l->nreg);
        sum.c += v->stride[k] * a.c;
        sum.uses |= a.uses;
        for (int j = 0; j < a.n; j++) {
            int at = 0;
            while (at < sum.n && sum.t[at].r != a.t[j].r) at++;
            sum.n += at == sum.n;
            sum.t[at].r = a.t[j].r;
            sum.t[at].factor += wrapping_product(v->stride[k], a.t[j].factor);
        }
    }
    x->uses = sum.uses;
    x->form = form_along(l, &sum, lane);
}

/* Decodes a condition. lane: that of the nodes that it guards; x->var lists the variables of a sum
   in the order of its loops. */
static void take_cond(Decode *d, DecodedNode *x, int lane) {
    Loop *l = d->l;
    x->nlit = take_below(d, 0, COND_MAX + 1);
    x->lit = ARENA_NEW(l->arena, DecodedLiteral, x->nlit);
    for (int j = 0; j < x->nlit; j++) {
        DecodedLiteral *t = &x->lit[j];
        t->eq = take_below(d, 0, 2);
        LoopAffine a = take_affine(d, l->nreg);
        x->uses |= a.uses;
        t->level = x->nvar - 1;
        while (t->level >= 0 && !(a.uses >> x->var[t->level] & 1)) t->level--;
        int along = lane >= 0 && (a.uses >> lane & 1) ? lane
                    : t->level >= 0                   ? x->var[t->level]
                                                      : -1;
        t->form = form_along(l, &a, along);
        t->use = along >= 0 && along == lane && lane != x->inner ? LIT_LANES : LIT_CHECK;
        if (t->use == LIT_CHECK && t->level >= 0)
            t->use = !t->form.nlane ? LIT_CLIP : along == x->inner ? LIT_LANES : LIT_CHECK;
        if (t->use == LIT_CHECK) t->form = form_along(l, &a, -1);
    }
}

static void take_sum(Decode *d, DecodedNode *x, int at) {
    Loop *l = d->l;
    x->inner = take_below(d, -1, l->nvar);
    x->nvar = take_below(d, 0, RANK_MAX + 1);
    x->var = ARENA_NEW(l->arena, int, x->nvar);
    uint64_t own = 0;
    for (int j = 0; j < x->nvar; j++) own |= 1ull << (x->var[j] = take_below(d, l->rank, l->nvar));
    if (x->inner >= 0 && (!x->nvar || x->var[x->nvar - 1] != x->inner)) d->bad = true;
    x->a = take_below(d, 0, at);
    x->uses = d->bad ? 0 : l->node[x->a].uses;
    take_cond(d, x, x->inner >= 0 ? x->inner : x->lane);
    x->uses &= ~own;
}
/* Lists the variables on which the buffer depends, innermost first, as these change most often. */
static void list_keys(Loop *l, DecodedNode *x) {
    x->key = ARENA_NEW(l->arena, int, l->nvar);
    for (int v = l->nvar - 1; v >= 0; v--)
        if (x->uses >> v & 1 && !(x->kept && v == l->lane)) x->key[x->nkey++] = v;
}

/* ---- blocks that are kept: consecutive rows of the output share values that depend on the lane
   only; these are computed once for all rows */
enum { KEPT_BYTES = 1 << 18 };
/* The axis along which a row differs from the next one; -1: there is only one row. */
static int row_axis(const Loop *l) {
    int axis = l->rank - 1;
    while (axis >= 0 && (axis == l->lane || l->end[axis] == 1)) axis--;
    return axis;
}
/* Whether the node has the output's lane and depends neither on the row axis nor on a variable of a
   sum. */
static bool same_in_rows(const Loop *l, const DecodedNode *x, int row) {
    const uint64_t axes = (UINT64_C(1) << l->rank) - 1;
    return l->lane >= 0 && row >= 0 && x->lane == l->lane && !(x->uses & ~axes) &&
           !(x->uses >> row & 1);
}
/* Keeps the blocks of nodes that are the same in all rows and are read by nodes that are not, as
   far as KEPT_BYTES allow. */
static void keep_blocks(Loop *l) {
    const int row = row_axis(l);
    const size_t blocks = l->lane < 0 ? 0 : ((size_t)l->end[l->lane] + LOOP_LANES - 1) / LOOP_LANES,
                 bytes = l->block->size * LOOP_LANES * blocks;
    bool *read = ARENA_NEW(l->arena, bool, l->nnode);
    size_t left = KEPT_BYTES;
    read[l->root] = true;
    for (int j = l->nnode - 1; j >= 0; j--) {
        DecodedNode *x = &l->node[j];
        const bool same = same_in_rows(l, x, row);
        if (same && read[j] && bytes <= left) {
            left -= bytes;
            x->kept = arena_alloc(l->arena, bytes),
            x->held = ARENA_NEW(l->arena, HeldRange, blocks);
        } else if (!same) {
            read[x->a] = read[x->b] = true;
            if (x->kind == EX_WHERE) read[x->word] = true;
        }
    }
}

/* Translates the numbers of isomer_backend.h to our kinds and functions. */
static const ExKind kind_of[] = {
#define X(name) [LOOP_NODE_##name] = EX_##name,
    LOOP_NODES(X)
#undef X
};
static const Function function_of[] = {
#define X(name) [LOOP_FN_##name] = FN_##name,
    LOOP_FUNCTIONS(X)
#undef X
};

static void take_node(Decode *d, int at) {
    Loop *l = d->l;
    DecodedNode *x = &l->node[at];
    double real;
    int64_t bits, q;
    LoopAffine size;
    x->kind = kind_of[take_below(d, 0, LOOP_NODE_COUNT)];
    x->lane = take_below(d, -1, l->nvar);
    x->inner = -1;
    x->buffer = arena_alloc(l->arena, l->block->size * (x->lane < 0 ? 1 : LOOP_LANES));
    x->held = ARENA_NEW(l->arena, HeldRange, 1);
    switch (x->kind) {
    case EX_NUM:
        bits = take_word(d), q = take_word(d), d->bad |= q <= 0,
        x->number = l->num->ratio(bits, q > 0 ? q : 1);
        return;
    case EX_REAL:
        bits = take_word(d), memcpy(&real, &bits, sizeof real), x->number = l->num->real(real);
        return;
    case EX_PARAM: x->word = take_below(d, 0, d->nparam); return;
    case EX_SIZE:
        size = take_affine(d, l->nreg), x->uses = size.uses,
        x->form = form_along(l, &size, x->lane);
        return;
    case EX_AT: take_offset(d, x, x->lane); return;
    case EX_FN:
        x->word = (int)function_of[take_below(d, 0, LOOP_FN_COUNT)],
        x->a = x->b = take_below(d, 0, at);
        break;
    case EX_SUM:
    case EX_MAXIMUM: take_sum(d, x, at); return;
    default: x->a = take_below(d, 0, at), x->b = take_below(d, 0, at);
    }
    if (x->kind == EX_WHERE) x->word = take_below(d, 0, at);
    if (x->kind == EX_TAKE) x->word = take_below(d, l->rank, l->nvar);
    if (d->bad) return;
    x->uses = l->node[x->a].uses | l->node[x->b].uses;
    if (x->kind == EX_WHERE) x->uses |= l->node[x->word].uses;
    if (x->kind == EX_TAKE)
        x->uses = l->node[x->a].uses | (l->node[x->b].uses & ~(1ull << x->word));
    if (x->kind == EX_IF) take_cond(d, x, x->lane);
}

static bool views_fit(const Loop *l, const View *view, Error *error) {
    if (view[0].rank != l->rank)
        return error_set(error, E_INVALID, "",
                         "a loop program of rank %d cannot write a view of rank %d", l->rank,
                         view[0].rank);
    for (int k = 0; k < l->rank; k++)
        if (view[0].dim[k] != l->end[k])
            return error_set(error, E_INVALID, "",
                             "a loop program and its output differ in axis %d", k);
    for (int k = 0; k < l->nview; k++)
        if (view[k].rank >= 0 && !l->block->can_load(view[k].dtype))
            return error_set(error, E_INVALID, "", "a loop program cannot use type %d",
                             view[k].dtype);
    return true;
}

static bool decode_loop(Loop *l, LoopProgram p, const View view[], Error *error) {
    Decode d = {l, p.words, p.words + p.n, 0, false};
    d.bad = take_word(&d) != LOOP_MAGIC;
    take_below(&d, 0, l->nview); /* inputs */
    d.nparam = take_below(&d, 0, INT32_MAX);
    l->rank = take_below(&d, 0, STEP_RANK + 1);
    l->nvar = take_below(&d, l->rank, LOOP_VARS + 1);
    l->nreg = take_below(&d, 0, p.n);
    l->nnode = take_below(&d, 1, p.n);
    l->root = take_below(&d, 0, l->nnode);
    l->lane = take_below(&d, -1, l->rank ? l->rank : 1);
    if (d.bad) return error_set(error, E_INVALID, "", "the step has no loop program");
    for (int v = 0; v < l->nvar; v++) l->end[v] = take_word(&d);
    if (!views_fit(l, view, error)) return false;
    l->reg = ARENA_NEW(l->arena, Register, l->nreg);
    for (int j = 0; j < l->nreg && !d.bad; j++) take_register(&d, j);
    l->node = ARENA_NEW(l->arena, DecodedNode, l->nnode);
    for (int j = 0; j < l->nnode && !d.bad; j++) take_node(&d, j);
    if (d.bad || d.at != d.end)
        return error_set(error, E_INVALID, "", "the loop program does not match its inputs");
    keep_blocks(l);
    for (int j = 0; j < l->nnode; j++) list_keys(l, &l->node[j]);
    return true;
}

/* Whether a node computes integers from integers. `order`: it may compare them as signed ones. The
   maximum of nothing is -infinity, whose negative a minimum needs: no integer has both. */
static bool node_whole(const DecodedNode *x, bool order) {
    const double number = x->number.real;
    switch (x->kind) {
    case EX_NUM:
    case EX_REAL: return number == floor(number) && fabs(number) <= 0x1p53;
    case EX_FN:
        return x->word == FN_DELTA || (order && (x->word == FN_ABS || x->word == FN_SIGN)) ||
               x->word == FN_FLOOR || x->word == FN_CEIL || x->word == FN_ROUND;
    case EX_MAX2:
    case EX_MIN2: return order;
    case EX_MAXIMUM:
    case EX_POW:
    case EX_PARAM: return false;
    default: return true;
    }
}
/* Whether a program of doubles can be computed by block_whole: it makes integers of integers and
   truth values. */
static bool is_whole(const Loop *l) {
    bool whole = true, order = true;
    for (int k = 0; k < l->nview; k++) {
        if (l->view[k].rank < 0) continue;
        whole &= strchr(k ? "IUB" : "IU", dtype_class((DType)l->view[k].dtype)) != NULL;
        order &= l->view[k].dtype != DT_UINT64;
    }
    for (int j = 0; j < l->nnode && whole; j++) whole = node_whole(&l->node[j], order);
    return whole;
}

/* The modulus of results that are computed in doubles. Integers computed from integers alone wrap,
   as in the SIMD kernels; computed from floats they saturate, as Cast does (0). 64-bit integers are
   not wrapped either, since doubles do not hold them exactly. */
static double wrapping(const View view[], int nview) {
    for (int k = 0; k < nview; k++)
        if (view[k].rank >= 0 && !strchr("IU", dtype_class((DType)view[k].dtype))) return 0;
    const int bits = dtype_bits((DType)view[0].dtype);
    return bits > 32 ? 0 : ldexp(1, bits);
}

Loop *loop_new(LoopProgram p, int nview, const View view[], const Numbers *num, Error *error) {
    Escape escape = {.error = {0}};
    Arena *volatile arena = NULL;
    if (setjmp(escape.here)) {
        error_set(error, E_MEMORY, "", "out of memory for a loop program");
        arena_free(arena);
        return NULL;
    }
    arena = arena_new(&escape, 0);
    Loop *l = ARENA_NEW(arena, Loop, 1);
    l->arena = arena;
    l->num = num;
    l->block = num == &numbers_real ? &block_real : &block_number;
    l->nview = nview;
    l->view = arena_copy(arena, view, (size_t)nview * sizeof *view);
    l->modulus = num == &numbers_real ? wrapping(view, nview) : 0;
    l->data = ARENA_NEW(arena, void *, nview);
    l->row = arena_alloc(arena, l->block->size * LOOP_LANES);
    if (decode_loop(l, p, l->view, error)) {
        if (num == &numbers_real && is_whole(l)) l->block = &block_whole, l->modulus = 0;
        return arena_keep(arena), l;
    }
    arena_free(arena);
    return NULL;
}

void loop_free(Loop *l) {
    if (l) arena_free(l->arena);
}
