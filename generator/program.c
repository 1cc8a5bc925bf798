/* program.c -- unrolls a definition into a Program by walking its expression with every index bound
   to a number.

   Equal steps are made once: the words of each step are hash-consed. Nested sums are flattened, and
   constants are folded in the number system of residues itself. */
#include "generator/program.h"
#include "ops/base/intern.h"
#include <math.h>
#include <string.h>

enum { OPERANDS = 4096 };
typedef struct Unroll {
    World *w;
    Arena *arena;
    Sizes sizes;    /* of the names, and of indices and bound variables while they are bound */
    int64_t *value; /* the array of `sizes`, writable */
    int64_t in_dim[PROGRAM_INPUTS][RANK_MAX];
    int in_rank[PROGRAM_INPUTS], nin;
    Intern *seen; /* a step without its destination, as a number; dst[number] is its destination */
    uint32_t *dst;
    int dst_room;
    uint32_t *word;
    int nword, word_room, ntemp, nconst, const_room;
    Number *constant;
    bool failed, calls;
} Unroll;
/* The operands of a step under construction; those of a sum are pairs of factors. */
typedef struct Operands {
    int n;
    uint32_t v[OPERANDS];
} Operands;

static uint32_t operand_of(Unroll *, Ex);

static uint32_t give_up(Unroll *u) {
    u->failed = true;
    return 0;
}

static bool same_number(Number a, Number b) {
    return a.residue.p == b.residue.p && a.residue.q == b.residue.q &&
           !memcmp(&a.residue.order, &b.residue.order, sizeof(double));
}

static uint32_t constant_operand(Unroll *u, Number x) {
    for (int k = 0; k < u->nconst; k++)
        if (same_number(u->constant[k], x)) return (uint32_t)BANK_CONST << BANK_SHIFT | (uint32_t)k;
    ARENA_GROW(u->arena, u->constant, u->const_room, u->nconst + 1);
    u->constant[u->nconst] = x;
    return (uint32_t)BANK_CONST << BANK_SHIFT | (uint32_t)u->nconst++;
}

static bool is_constant(const Unroll *u, uint32_t operand, Number *x) {
    if (operand >> BANK_SHIFT != BANK_CONST) return false;
    *x = u->constant[operand & ((1u << BANK_SHIFT) - 1)];
    return true;
}

static uint32_t put_step(Unroll *u, ProgramStep kind, uint32_t extra, const Operands *o) {
    uint32_t key[OPERANDS + 2] = {(uint32_t)kind, extra};
    memcpy(key + 2, o->v, (size_t)o->n * sizeof *key);
    uint32_t old = intern_count(u->seen),
             id = intern_put(u->seen, key, ((size_t)o->n + 2) * sizeof *key);
    ARENA_GROW(u->arena, u->dst, u->dst_room, (int)id + 1);
    if (id <= old) return u->dst[id];
    if (u->nword + o->n + 4 > PROGRAM_WORDS) return give_up(u);
    ARENA_GROW(u->arena, u->word, u->word_room, u->nword + o->n + 4);
    u->dst[id] = (uint32_t)BANK_TEMP << BANK_SHIFT | (uint32_t)u->ntemp++;
    uint32_t head[] = {(uint32_t)kind | extra << 8, (uint32_t)o->n, u->dst[id]};
    memcpy(u->word + u->nword, head, sizeof head);
    memcpy(u->word + u->nword + 3, o->v, (size_t)o->n * sizeof *o->v);
    u->nword += o->n + 3;
    return u->dst[id];
}

static bool number_of(Unroll *u, Poly p, int64_t *v) {
    return poly_eval(u->w, p, u->sizes, v) || (give_up(u), false);
}

static bool condition_holds(Unroll *u, const Cond *c) {
    int64_t v;
    for (int k = 0; k < c->n; k++)
        if (!number_of(u, c->v[k].p, &v) || (c->v[k].eq ? v != 0 : v < 0)) return false;
    return true;
}

static uint32_t element_operand(Unroll *u, const ExNode *x) {
    int64_t at = 0, i;
    int k = (int)x->word;
    if (k >= u->nin || x->n != u->in_rank[k]) return give_up(u);
    for (int d = 0; d < x->n; d++) {
        if (!number_of(u, x->dims[d], &i) || i < 0 || i >= u->in_dim[k][d]) return give_up(u);
        at = at * u->in_dim[k][d] + i;
    }
    return (uint32_t)k << BANK_SHIFT | (uint32_t)at;
}

/* first_values and next_values step the bound variables through all their values. first_values sets
   them to 0 and returns false if some extent is 0. */
static bool first_values(Unroll *u, const ExNode *x, Symbol var[], int64_t extent[]) {
    for (int k = 0; k < x->n; k++) {
        var[k] = poly_is_symbol(u->w, x->dims[k]);
        if (!number_of(u, symbol_def(u->w, var[k]).arg[0], &extent[k]) || extent[k] <= 0)
            return false;
        u->value[var[k]] = 0;
    }
    return true;
}
static bool next_values(Unroll *u, int n, const Symbol var[], const int64_t extent[]) {
    for (int k = n - 1; k >= 0; k--) {
        if (++u->value[var[k]] < extent[k]) return true;
        u->value[var[k]] = 0;
    }
    return false;
}

/* Adds one operand; the unrolling fails if there is no room. */
static void push_operand(Unroll *u, Operands *o, uint32_t a) {
    if (o->n == OPERANDS) u->failed = true;
    else o->v[o->n++] = a;
}

static void collect_product(Unroll *u, Operands *o, uint32_t a, uint32_t b) {
    Number x, y;
    bool ca = is_constant(u, a, &x), cb = is_constant(u, b, &y);
    if ((ca && !x.residue.p && x.residue.order == 0) ||
        (cb && !y.residue.p && y.residue.order == 0))
        return;
    if (ca && cb) {
        a = constant_operand(u, numbers_residue.mul(x, y));
        b = constant_operand(u, numbers_residue.ratio(1, 1));
    }
    push_operand(u, o, a);
    push_operand(u, o, b);
}

/* Collects the addends of a sum as pairs of factors. */
static void collect_sum(Unroll *u, Ex e, Operands *o) {
    ExNode x;
    Symbol var[RANK_MAX];
    int64_t extent[RANK_MAX];
    if (u->failed) return;
    ex_get(u->w, e, &x);
    switch (x.kind) {
    case EX_ADD: collect_sum(u, x.a, o), collect_sum(u, x.b, o); return;
    case EX_IF: collect_sum(u, condition_holds(u, &x.cond) ? x.a : x.b, o); return;
    case EX_MUL: {
        uint32_t a = operand_of(u, x.a);
        collect_product(u, o, a, operand_of(u, x.b));
        return;
    }
    case EX_SUM:
        for (bool more = first_values(u, &x, var, extent); more && !u->failed;
             more = next_values(u, x.n, var, extent))
            if (condition_holds(u, &x.cond)) collect_sum(u, x.a, o);
        return;
    default:
        collect_product(u, o, operand_of(u, e), constant_operand(u, numbers_residue.ratio(1, 1)));
    }
}

/* Makes the step of a sum. Constant addends become one. If every pair has a factor 1, the step is a
   plain sum, or no step at all if only one operand is left. */
static uint32_t finish_sum(Unroll *u, const Operands *pairs) {
    uint32_t one = constant_operand(u, numbers_residue.ratio(1, 1));
    Number sum = numbers_residue.ratio(0, 1), x;
    Operands plain = {0}, dot = {0};
    bool all_ones = true, any = false;
    for (int k = 0; k < pairs->n; k += 2) {
        uint32_t a = pairs->v[k], b = pairs->v[k + 1];
        if (is_constant(u, a, &x) && b == one) {
            sum = numbers_residue.add(sum, x);
            any = true;
            continue;
        }
        all_ones &= b == one || a == one;
        push_operand(u, &plain, a == one ? b : a);
        push_operand(u, &dot, a);
        push_operand(u, &dot, b);
    }
    if (!plain.n) return constant_operand(u, sum);
    if (any) {
        push_operand(u, &plain, constant_operand(u, sum));
        push_operand(u, &dot, constant_operand(u, sum));
        push_operand(u, &dot, one);
    }
    if (all_ones && plain.n == 1) return plain.v[0];
    return all_ones ? put_step(u, PROGRAM_SUM, 0, &plain) : put_step(u, PROGRAM_DOT, 0, &dot);
}

static uint32_t sum_of(Unroll *u, Ex e) {
    Operands *pairs = arena_alloc_raw(u->w->scratch, sizeof *pairs);
    pairs->n = 0;
    collect_sum(u, e, pairs);
    return u->failed ? 0 : finish_sum(u, pairs);
}

static void collect_most(Unroll *u, const ExNode *x, Operands *o) {
    Symbol var[RANK_MAX];
    int64_t extent[RANK_MAX];
    for (bool more = first_values(u, x, var, extent); more && !u->failed;
         more = next_values(u, x->n, var, extent))
        if (condition_holds(u, &x->cond)) push_operand(u, o, operand_of(u, x->a));
}

static uint32_t extreme_operand(Unroll *u, ProgramStep kind, const Operands *o) {
    Number x, y;
    if (!o->n) return give_up(u); /* the maximum of an empty set has no residue */
    if (o->n == 1) return o->v[0];
    if (o->n == 2 && is_constant(u, o->v[0], &x) && is_constant(u, o->v[1], &y))
        return constant_operand(u, kind == PROGRAM_MOST ? numbers_residue.most(x, y)
                                                        : numbers_residue.least(x, y));
    return put_step(u, kind, 0, o);
}

static uint32_t call_operand(Unroll *u, const ExNode *x) {
    Number y;
    Operands o = {.n = 1, .v = {operand_of(u, x->a)}};
    if (is_constant(u, o.v[0], &y))
        return constant_operand(u, numbers_residue.call((Function)x->word, y));
    u->calls = true;
    return put_step(u, PROGRAM_CALL, x->word, &o);
}

static uint32_t binary_operand(Unroll *u, ProgramStep kind, const ExNode *x) {
    Operands o = {.n = 2, .v = {operand_of(u, x->a), operand_of(u, x->b)}};
    if (kind != PROGRAM_POWER) return extreme_operand(u, kind, &o);
    u->calls = true;
    return put_step(u, kind, 0, &o);
}

/* Where the condition is a constant, only the chosen branch is unrolled; otherwise both branches
   and a step that chooses by the data. */
static uint32_t choice_operand(Unroll *u, const ExNode *x) {
    const uint32_t c = operand_of(u, x->c);
    Number known;
    if (u->failed) return 0;
    if (is_constant(u, c, &known)) return operand_of(u, known.residue.p ? x->a : x->b);
    const uint32_t a = operand_of(u, x->a), b = operand_of(u, x->b);
    if (a == b) return a;
    u->calls = true;
    return put_step(u, PROGRAM_WHERE, 0, &(Operands){.n = 3, .v = {c, a, b}});
}

static uint32_t parameter(Unroll *u, uint32_t word) {
    const char *name = world_text(u->w, word);
    int64_t v = (int64_t)(hash_bytes(name, strlen(name)) % 1021) + 2;
    return constant_operand(u, numbers_residue.ratio(v, 256));
}

static uint32_t operand_of(Unroll *u, Ex e) {
    ExNode x;
    int64_t n;
    if (u->failed) return 0;
    ex_get(u->w, e, &x);
    switch (x.kind) {
    case EX_NUM: return constant_operand(u, numbers_residue.ratio(x.p, x.q));
    case EX_REAL: return constant_operand(u, numbers_residue.real(x.real));
    case EX_PARAM: return parameter(u, x.word);
    case EX_SIZE:
        return number_of(u, x.size, &n) ? constant_operand(u, numbers_residue.ratio(n, 1)) : 0;
    case EX_AT: return element_operand(u, &x);
    case EX_IF: return operand_of(u, condition_holds(u, &x.cond) ? x.a : x.b);
    case EX_ADD:
    case EX_MUL:
    case EX_SUM: return sum_of(u, e);
    case EX_MAX2: return binary_operand(u, PROGRAM_MOST, &x);
    case EX_MIN2: return binary_operand(u, PROGRAM_LEAST, &x);
    case EX_POW: return binary_operand(u, PROGRAM_POWER, &x);
    case EX_FN: return call_operand(u, &x);
    case EX_WHERE: return choice_operand(u, &x);
    case EX_TAKE: return give_up(u); /* the data decide which element is read */
    case EX_MAXIMUM: {
        Operands *o = arena_alloc_raw(u->w->scratch, sizeof *o);
        o->n = 0;
        collect_most(u, &x, o);
        return u->failed ? 0 : extreme_operand(u, PROGRAM_MOST, o);
    }
    }
    return give_up(u);
}

/* ---- the program */

static bool bind_inputs(Unroll *u, const SigInfo *i) {
    u->nin = i->nin;
    if (i->nin > PROGRAM_INPUTS) return false;
    for (int k = 0; k < i->nin; k++) {
        u->in_rank[k] = -1;
        if (!i->in[k]) continue;
        const Type *t = type_get(u->w, i->in[k]);
        u->in_rank[k] = t->dim.n;
        for (int d = 0; d < t->dim.n; d++)
            if (!number_of(u, t->dim.v[d], &u->in_dim[k][d])) return false;
    }
    return true;
}

/* A step whose result is used only as one output element writes to that element directly. All other
   output elements are copied. */
static void direct_outputs(Unroll *u, int n, const uint32_t out[]) {
    int *uses = ARENA_NEW(u->w->scratch, int, u->ntemp + 1),
        *to = ARENA_NEW(u->w->scratch, int, u->ntemp + 1);
    uint32_t mask = (1u << BANK_SHIFT) - 1;
    for (int k = 0; k < u->nword; k += 3 + (int)u->word[k + 1])
        for (uint32_t j = 0; j < u->word[k + 1]; j++)
            if (u->word[k + 3 + (int)j] >> BANK_SHIFT == BANK_TEMP)
                uses[u->word[k + 3 + (int)j] & mask]++;
    for (int j = 0; j < n; j++)
        if (out[j] >> BANK_SHIFT == BANK_TEMP) uses[out[j] & mask]++, to[out[j] & mask] = j + 1;
    for (int k = 0; k < u->nword; k += 3 + (int)u->word[k + 1]) {
        uint32_t t = u->word[k + 2] & mask;
        if (uses[t] == 1 && to[t])
            u->word[k + 2] = (uint32_t)BANK_OUT << BANK_SHIFT | (uint32_t)(to[t] - 1);
    }
    for (int j = 0; j < n; j++) {
        bool direct = out[j] >> BANK_SHIFT == BANK_TEMP && uses[out[j] & mask] == 1;
        if (direct) continue;
        ARENA_GROW(u->arena, u->word, u->word_room, u->nword + 4);
        uint32_t copy[] = {PROGRAM_COPY, 1, (uint32_t)BANK_OUT << BANK_SHIFT | (uint32_t)j, out[j]};
        memcpy(u->word + u->nword, copy, sizeof copy);
        u->nword += 4;
    }
}

static bool unroll_elements(Unroll *u, Ex define, const Type *t, uint32_t **out, int *n) {
    int64_t dim[RANK_MAX], count = 1;
    Symbol index[RANK_MAX];
    for (int k = 0; k < t->dim.n; k++) {
        if (!number_of(u, t->dim.v[k], &dim[k]) || dim[k] < 0) return false;
        count *= dim[k];
        index[k] = symbol_index(u->w, (uint32_t)k);
        if (count > 1 << 16 || index[k] >= u->sizes.n) return false;
        u->value[index[k]] = 0;
    }
    *n = (int)count;
    if (!count) return true;
    *out = ARENA_NEW(u->w->scratch, uint32_t, count);
    for (int j = 0; j < *n && !u->failed; j++, next_values(u, t->dim.n, index, dim)) {
        (*out)[j] = operand_of(u, define);
        Number x;
        if (is_constant(u, (*out)[j], &x) && !numbers_residue.known(x)) u->failed = true;
    }
    return !u->failed;
}

static Lanes lanes_number(Number x) {
    Lanes y;
    for (int l = 0; l < LANES; l++) {
        y.p[l] = x.residue.p;
        y.q[l] = x.residue.q;
        y.order[l] = x.residue.order;
    }
    return y;
}

static Program *make_program(const Unroll *u, Arena *arena, int n) {
    Program *p = ARENA_NEW(arena, Program, 1);
    Lanes *c = ARENA_NEW(arena, Lanes, u->nconst);
    for (int k = 0; k < u->nconst; k++) c[k] = lanes_number(u->constant[k]);
    const uint32_t *words = arena_copy(arena, u->word, (size_t)u->nword * sizeof *words);
    *p = (Program){u->nword, u->ntemp, n, words, c, u->calls};
    return p;
}

Program *program_new(World *w, Arena *arena, Sig sig, int port, Sizes given) {
    const SigInfo *i = sig_info(w, sig);
    Ex define = i->why ? 0 : sig_define(w, sig, port);
    if (!define) return NULL;
    symbol_index(w, RANK_MAX - 1);
    ArenaMark mark = arena_mark(w->scratch);
    uint32_t n = intern_count(w->table[TABLE_SYMBOL]) + 1, *out = NULL;
    int count = 0;
    Unroll u = {.w = w, .arena = w->scratch, .value = arena_alloc(w->scratch, n * sizeof(int64_t))};
    for (uint32_t k = 0; k < n; k++) u.value[k] = k < given.n ? given.value[k] : SIZE_UNKNOWN;
    u.sizes = (Sizes){n, u.value};
    u.seen = intern_new(w->scratch);
    bool made =
        bind_inputs(&u, i) && unroll_elements(&u, define, type_get(w, i->out[port]), &out, &count);
    if (made) direct_outputs(&u, count, out);
    Program *p = made ? make_program(&u, arena, count) : NULL;
    intern_free(u.seen);
    arena_reset(w->scratch, mark);
    return p;
}
