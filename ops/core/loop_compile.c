/* loop_compile.c -- compiles an expression with known sizes into a loop program (loop.h).

   A node's lane is the variable, an index of the output or of a sum, along which a block of its
   values is computed at once (loop_run.c). A subtree that does not depend on the lane is compiled
   for a single value, so that it is computed once for the whole block; its sums choose lanes of
   their own. */
#include "ops/core/loop_index.h"
#include <math.h>
#include <string.h>

typedef struct CompileMemo { /* an entry for expression `key`; tag: TAG_DEPENDS, value: the
                         variables it depends on; or tag: lane + 1, value: its node for this lane */
    uint32_t key, tag;
    uint64_t value;
} CompileMemo;
enum { TAG_DEPENDS = 1 << 16 };

typedef struct Compile {
    const LoopSource *source;
    Indices index;
    int nnode, nin;
    ProgramWords node;
    CompileMemo *memo;
    int nmemo, memo_room;
} Compile;

/* Translates our kinds and functions to the numbers of isomer_backend.h. */
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

/* ---- the memo */

static CompileMemo *memo_find(Compile *c, uint32_t key, uint32_t tag) {
    uint32_t mask = (uint32_t)c->memo_room - 1, at = (key * 2654435761u ^ tag * 40503u) & mask;
    while (c->memo[at].key && (c->memo[at].key != key || c->memo[at].tag != tag))
        at = (at + 1) & mask;
    return &c->memo[at];
}

static void memo_put(Compile *c, uint32_t key, uint32_t tag, uint64_t value) {
    if (2 * c->nmemo >= c->memo_room) {
        CompileMemo *old = c->memo;
        int n = c->memo_room;
        c->memo = ARENA_NEW(c->index.arena, CompileMemo, c->memo_room *= 2);
        for (int j = 0; j < n; j++)
            if (old[j].key) *memo_find(c, old[j].key, old[j].tag) = old[j];
    }
    c->nmemo++;
    *memo_find(c, key, tag) = (CompileMemo){key, tag, value};
}

static bool empty_sum(Compile *c, const ExNode *x, int var[]) {
    bool empty = false;
    for (int j = 0; j < x->n; j++) {
        var[j] = index_declare(&c->index, poly_is_symbol(c->index.w, x->dims[j]));
        empty |= !c->index.extent[var[j]];
    }
    return empty;
}

static uint64_t cond_depends(Compile *c, const Cond *k) {
    AffineSum a[COND_MAX];
    bool eq[COND_MAX];
    uint64_t y = 0;
    for (int j = index_undecided(&c->index, k, a, eq) - 1; j >= 0; j--)
        y |= index_depends(&c->index, &a[j]);
    return y;
}

static uint64_t depends_of(Compile *c, Ex e);

static uint64_t depends_new(Compile *c, const ExNode *x) {
    uint64_t y = 0;
    int var[RANK_MAX];
    AffineSum a;
    switch (x->kind) {
    case EX_SIZE: return a = index_affine(&c->index, x->size), index_depends(&c->index, &a);
    case EX_AT:
        for (int j = 0; j < x->n; j++)
            a = index_affine(&c->index, x->dims[j]), y |= index_depends(&c->index, &a);
        return y;
    case EX_SUM:
    case EX_MAXIMUM:
        if (empty_sum(c, x, var)) return 0;
        y = depends_of(c, x->a) | cond_depends(c, &x->cond);
        for (int j = 0; j < x->n; j++) y &= ~(1ull << var[j]);
        return y;
    case EX_TAKE:
        var[0] = index_declare(&c->index, poly_is_symbol(c->index.w, x->dims[0]));
        y = c->index.extent[var[0]] ? depends_of(c, x->b) & ~(1ull << var[0]) : 0;
        return y | depends_of(c, x->a);
    default: break;
    }
    y = x->kind == EX_IF ? cond_depends(c, &x->cond) : 0;
    for (int j = 0; j < ex_children(x->kind); j++) y |= depends_of(c, x->child[j]);
    return y;
}

static uint64_t depends_of(Compile *c, Ex e) {
    CompileMemo *known = memo_find(c, e, TAG_DEPENDS);
    if (known->key || c->index.failed) return known->value;
    ExNode x;
    ex_get(c->index.w, e, &x);
    uint64_t y = depends_new(c, &x);
    memo_put(c, e, TAG_DEPENDS, y);
    return y;
}

/* ---- nodes */

static int64_t compile_node(Compile *, Ex, int lane);

static void put_node(Compile *, ProgramWords *, const ExNode *, int lane);

static void put_poly(Compile *c, ProgramWords *s, Poly p) {
    AffineSum a = index_affine(&c->index, p);
    index_put(s, &a);
}

static void put_cond(Compile *c, ProgramWords *s, const Cond *k) {
    AffineSum a[COND_MAX];
    bool eq[COND_MAX];
    int n = index_undecided(&c->index, k, a, eq);
    loop_put_word(s, n);
    for (int j = 0; j < n; j++) loop_put_word(s, eq[j]), index_put(s, &a[j]);
}

static int64_t parameter(Compile *c, uint32_t word) {
    for (int j = 0; j < c->source->nparam; j++)
        if (c->source->param[j] == word) return j;
    return index_fail(&c->index, "a parameter has no value"), 0;
}

/* The position of the variable along which a sum with a lane of its own runs: the last variable,
   which is usually contiguous, if it is long enough, else the longest. */
static int inner_position(const Compile *c, int n, const int var[]) {
    int best = n - 1;
    for (int j = 0; j < n && c->index.extent[var[n - 1]] < 16; j++)
        if (c->index.extent[var[j]] > c->index.extent[var[best]]) best = j;
    return best;
}

static void put_sum(Compile *c, ProgramWords *s, const ExNode *x, int lane) {
    int var[RANK_MAX], inner = -1;
    if (empty_sum(c, x, var)) {
        s->n -= 2; /* removes kind and lane: the node becomes a number */
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
    int64_t body = compile_node(c, x->a, lane < 0 ? inner : lane);
    loop_put_word(s, inner);
    loop_put_word(s, x->n);
    for (int j = 0; j < x->n; j++) loop_put_word(s, var[j]);
    loop_put_word(s, body);
    put_cond(c, s, &x->cond);
}

/* The body has the lane of this node; the variable is not a lane, as each lane has its own
   place. */
static void put_take(Compile *c, ProgramWords *s, const ExNode *x, int lane) {
    int var = index_declare(&c->index, poly_is_symbol(c->index.w, x->dims[0]));
    int64_t index = compile_node(c, x->a, lane),
            body = c->index.extent[var] ? compile_node(c, x->b, lane) : index;
    loop_put_word(s, index), loop_put_word(s, body), loop_put_word(s, var);
}

static void put_node(Compile *c, ProgramWords *s, const ExNode *x, int lane) {
    int64_t bits, a, b, d;
    loop_put_word(s, node_number[x->kind]);
    loop_put_word(s, lane);
    switch (x->kind) {
    case EX_NUM: loop_put_word(s, x->p), loop_put_word(s, x->q); return;
    case EX_REAL: memcpy(&bits, &x->real, sizeof bits), loop_put_word(s, bits); return;
    case EX_PARAM: loop_put_word(s, parameter(c, x->word)); return;
    case EX_SIZE: put_poly(c, s, x->size); return;
    case EX_AT:
        a = c->source->input ? c->source->input[x->word] : (int64_t)x->word;
        if (c->nin <= a) c->nin = (int)a + 1;
        loop_put_word(s, a), loop_put_word(s, x->n);
        for (int j = 0; j < x->n; j++) put_poly(c, s, x->dims[j]);
        return;
    case EX_FN:
        a = compile_node(c, x->a, lane), loop_put_word(s, function_number[x->word]),
        loop_put_word(s, a);
        return;
    case EX_ADD:
    case EX_MUL:
    case EX_MAX2:
    case EX_MIN2:
    case EX_POW:
        a = compile_node(c, x->a, lane), b = compile_node(c, x->b, lane), loop_put_word(s, a),
        loop_put_word(s, b);
        return;
    case EX_IF:
        a = compile_node(c, x->a, lane), b = compile_node(c, x->b, lane), loop_put_word(s, a),
        loop_put_word(s, b), put_cond(c, s, &x->cond);
        return;
    case EX_WHERE:
        a = compile_node(c, x->a, lane), b = compile_node(c, x->b, lane),
        d = compile_node(c, x->c, lane), loop_put_word(s, a), loop_put_word(s, b),
        loop_put_word(s, d);
        return;
    case EX_TAKE: put_take(c, s, x, lane); return;
    case EX_SUM:
    case EX_MAXIMUM: put_sum(c, s, x, lane); return;
    }
    index_fail(&c->index, "an output has no definition");
}

static int64_t compile_node(Compile *c, Ex e, int lane) {
    if (lane >= 0 && !(depends_of(c, e) >> lane & 1)) lane = -1;
    CompileMemo *known = memo_find(c, e, (uint32_t)(lane + 1));
    if (known->key) return (int64_t)known->value;
    if (c->index.failed) return 0;
    ExNode x;
    ProgramWords own = {.arena = c->index.arena};
    ex_get(c->index.w, e, &x);
    put_node(c, &own, &x, lane);
    for (int j = 0; j < own.n; j++) loop_put_word(&c->node, own.v[j]);
    memo_put(c, e, (uint32_t)(lane + 1), (uint64_t)c->nnode);
    return c->nnode++;
}

/* Chooses the output's lane: its last axis if that is long, else its longest one; none (-1) if all
   axes are short and a sum is longer. */
static int output_lane(const Compile *c, int rank) {
    int best = rank - 1;
    if (rank && c->index.extent[rank - 1] >= 16) return best;
    for (int j = 0; j < rank; j++)
        if (c->index.extent[j] > c->index.extent[best]) best = j;
    for (int v = rank; v < c->index.nvar && best >= 0 && c->index.extent[best] < 16; v++)
        if (c->index.extent[v] > c->index.extent[best]) best = -1;
    return best;
}

/* ---- the program */

/* Declares the output's indices, which are the first variables. True: the output has no
   elements. */
static bool declare_output(Compile *c) {
    Indices *x = &c->index;
    bool empty = false;
    for (int k = 0; k < c->source->rank; k++) {
        x->var[x->nvar] = symbol_index(x->w, (uint32_t)k);
        x->extent[x->nvar++] = c->source->dim[k];
        empty |= c->source->dim[k] <= 0;
    }
    return empty;
}

static LoopProgram assemble_program(Compile *c, int64_t root, int lane) {
    ProgramWords to = {.arena = c->index.arena};
    const int64_t head[LOOP_HEAD] = {[LOOP_HEAD_MAGIC] = LOOP_MAGIC,
                                     [LOOP_HEAD_INPUTS] = c->nin,
                                     [LOOP_HEAD_PARAMS] = c->source->nparam,
                                     [LOOP_HEAD_RANK] = c->source->rank,
                                     [LOOP_HEAD_VARS] = c->index.nvar,
                                     [LOOP_HEAD_REGISTERS] = c->index.nreg,
                                     [LOOP_HEAD_NODES] = c->nnode,
                                     [LOOP_HEAD_ROOT] = root,
                                     [LOOP_HEAD_LANE] = lane};
    for (int j = 0; j < LOOP_HEAD; j++) loop_put_word(&to, head[j]);
    for (int v = 0; v < c->index.nvar; v++) loop_put_word(&to, c->index.extent[v]);
    for (int j = 0; j < c->index.reg.n; j++) loop_put_word(&to, c->index.reg.v[j]);
    for (int j = 0; j < c->node.n; j++) loop_put_word(&to, c->node.v[j]);
    return (LoopProgram){to.n, to.v};
}

bool loop_compile(const LoopSource *x, Arena *arena, LoopProgram *out, Error *error) {
    Error mine = {0};
    Compile *c = ARENA_NEW(arena, Compile, 1);
    *c = (Compile){
        .source = x,
        .index = {.w = x->w, .sizes = x->sizes, .arena = arena, .error = error ? error : &mine}};
    c->index.reg.arena = c->node.arena = arena;
    c->memo = ARENA_NEW(arena, CompileMemo, c->memo_room = 64);
    const bool empty = declare_output(c);
    /* Nothing is computed for an empty output, so any program will do. */
    const Ex e = empty && x->define ? ex_rational(x->w, 0, 1) : x->define;
    if (!e) index_fail(&c->index, "an output has no definition");
    else depends_of(c, e); /* also declares every variable */
    const int lane = c->index.failed ? -1 : output_lane(c, x->rank);
    const int64_t root = c->index.failed ? 0 : compile_node(c, e, lane);
    if (c->index.failed) return false;
    *out = assemble_program(c, root, lane);
    return true;
}
