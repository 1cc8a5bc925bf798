/* values.c -- evaluates the term in hand instruction by instruction and computes its key, the least
   hash over namings.

   The value of an inner instruction is kept in a small table, keyed by the naming of the variables
   below it. A push of the instruction invalidates its table by a new stamp. */
#include "generator/values.h"
#include "ops/base/random.h"
#include <string.h>

enum { MEMO = 1 << 12 };

/* ---- random tensors */

/* How a variable is drawn at the eight points: with both signs at two; with one sign or both, at
   random, at three (where all elements have one sign, functions of the sign are not told apart);
   `reach` times as large at one; as small multiples of 1/2, among them 0, at two, where a division
   by zero has no value and a logarithm may be 0. */
typedef enum Draw { DRAW_ANY, DRAW_NEGATIVE, DRAW_POSITIVE, DRAW_LARGE, DRAW_HALVES } Draw;
static Draw draw_at(uint64_t seed, int lane) {
    if (lane < 2) return DRAW_ANY;
    if (lane >= LANES - 2) return DRAW_HALVES;
    if (lane == LANES - 3) return DRAW_LARGE;
    int r = (int)(random_at(seed, (uint64_t)lane) >> 40) & 3;
    return r == 1 ? DRAW_NEGATIVE : r == 2 ? DRAW_POSITIVE : DRAW_ANY;
}

enum { BITS = 27, HIGHEST = 1 << (BITS + 1) }; /* multiples of 2^-BITS, below 2 */
static int64_t drawn(uint64_t r, Draw how, int reach) {
    int64_t v = (int64_t)(r >> 20 & (2 * HIGHEST - 1)) - HIGHEST;
    if (how == DRAW_HALVES) return ((int64_t)(r >> 33) % 11 - 5) * (1 << (BITS - 1));
    if ((how == DRAW_NEGATIVE && v > 0) || (how == DRAW_POSITIVE && v < 0)) v = -v;
    if (!v) v = 1;
    return how == DRAW_LARGE ? reach * v : v;
}

static uint32_t residue_of(int64_t v, int64_t modulus, uint32_t unit) {
    return (uint32_t)((uint64_t)((v % modulus + modulus) % modulus) * unit % (uint64_t)modulus);
}
static void draw_lanes(Lanes *x, int n, uint64_t seed, bool halves, int reach) {
    Residue unit = numbers_residue.ratio(1, 1 << BITS).residue;
    for (int l = 0; l < LANES; l++) {
        Draw how = halves ? DRAW_HALVES : draw_at(seed, l);
        for (int k = 0; k < n; k++) {
            int64_t v = drawn(random_at(seed, (uint64_t)(1 + k) * LANES + (uint64_t)l), how, reach);
            x[k].p[l] = residue_of(v, RESIDUE_P, unit.p);
            x[k].q[l] = residue_of(v, RESIDUE_Q, unit.q);
            x[k].order[l] = (double)v / (1 << BITS);
        }
    }
}

void lanes_draw(Lanes *x, int n, uint64_t seed, int reach) { draw_lanes(x, n, seed, false, reach); }

enum { WHOLE_SMALL = 300 }; /* bound of integers with more than 8 bits */
static int64_t drawn_whole(uint64_t r, DType t) {
    const bool is_signed = dtype_class(t) == 'I';
    if (t == DT_BOOL) return (int64_t)(r >> 33 & 1);
    const int64_t most =
        dtype_bits(t) >= 16 ? WHOLE_SMALL : (int64_t)1 << (dtype_bits(t) - is_signed);
    const int64_t low = is_signed ? -most : 0;
    return low + (int64_t)((r >> 33) % (uint64_t)(most - low));
}

void lanes_draw_type(Lanes *x, int n, uint64_t seed, DType t, bool halves, int reach) {
    if (t != DT_BOOL && !dtype_is_integer(t)) {
        draw_lanes(x, n, seed, halves, reach);
        return;
    }
    for (int k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) {
            const uint64_t at = (uint64_t)(1 + k) * LANES + (uint64_t)l;
            const Residue y = numbers_residue.ratio(drawn_whole(random_at(seed, at), t), 1).residue;
            x[k].p[l] = y.p, x[k].q[l] = y.q, x[k].order[l] = y.order;
        }
}

static const uint32_t *coefficients(Arena *a) {
    uint64_t *c = arena_alloc_raw(a, ELEMENTS_MAX * LANES * sizeof *c);
    for (uint64_t k = 0; k < ELEMENTS_MAX * LANES; k++)
        c[k] = random_at(0x150e3, k) | 0x0000000100000001ull;
    return (const uint32_t *)c;
}

Values *values_new(Space *s, int stage, uint64_t seed) {
    Values *v = ARENA_NEW(s->arena, Values, 1);
    v->s = s;
    v->stage = stage;
    v->seed = seed;
    v->run = program_runner(s->exponents);
    v->coefficient = coefficients(s->arena);
    v->root = arena_alloc_raw(s->arena, ELEMENTS_MAX * sizeof *v->root);
    for (int k = 0; k < s->nkind; k++)
        for (int j = 0; j < POOL; j++) {
            int n = space_shape(s, s->kind[k].shape)->count[stage];
            v->pool[k][j] = arena_alloc_raw(s->arena, (size_t)n * sizeof(Lanes));
            lanes_draw(v->pool[k][j], n,
                       random_at(seed, (uint64_t)(stage * SPACE_KINDS + k) * POOL + (uint64_t)j),
                       s->reach);
        }
    for (int i = 0; i < TERM_OPS; i++) {
        InstructionValues *c = &v->instruction[i];
        c->arena = arena_new(arena_escape(s->arena), 0);
        for (int p = 0; p < TERM_PORTS; p++) c->memo[p] = ARENA_NEW(s->arena, Memo, MEMO);
        c->empty = arena_mark(c->arena);
    }
    return v;
}

void values_free(Values *v) {
    if (!v) return;
    for (int i = 0; i < TERM_OPS; i++) arena_free(v->instruction[i].arena);
}

/* ---- the term in hand */

bool values_push(Values *v, int i) {
    Term *t = &v->t;
    if (i < 0) {
        for (int k = 0; k < t->nvar; k++) v->shape[k] = v->s->kind[t->kind[k]].shape;
        return true;
    }
    InstructionValues *c = &v->instruction[i];
    ShapeId arg[TERM_ARGS] = {0};
    c->vars = 0;
    c->stamp++;
    arena_reset(c->arena, c->empty);
    for (int k = 0; k < v->s->form[t->in[i].op].narg; k++) {
        Ref r = t->in[i].arg[k];
        arg[k] = v->shape[r];
        c->vars |= ref_is_out(r) ? v->instruction[ref_instr(r)].vars : 1u << r;
    }
    c->typing = space_type(v->s, t->in[i].op, arg);
    if (!c->typing) return false;
    for (int p = 0; p < c->typing->nout; p++) v->shape[ref_out(i, p)] = c->typing->out[p];
    return true;
}

bool values_load(Values *v, const Term *t) {
    v->t = *t;
    for (int i = -1; i < t->n; i++)
        if (!values_push(v, i)) return false;
    return true;
}

static Program *program_of(Values *v, Typing *t, int port) {
    Program **p = &t->program[v->stage][port];
    if (*p) return *p;
    ArenaMark mark = arena_mark(v->s->w->scratch);
    *p = program_new(v->s->w, v->s->arena, t->sig, port, space_sizes(v->s, v->stage));
    arena_reset(v->s->w->scratch, mark);
    return *p;
}

static uint64_t memo_key(const Values *v, unsigned vars) {
    uint64_t key = 1;
    for (int k = 0; k < v->t.nvar; k++)
        if (vars >> k & 1) key = key << 3 | v->name.of[k];
    return key;
}

static Memo *memo_slot(const InstructionValues *c, int port, uint64_t key) {
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 52);
    for (int tries = 0; tries < 64; tries++, at = (at + 1) & (MEMO - 1)) {
        Memo *m = &c->memo[port][at];
        if (m->stamp != c->stamp || m->key == key) return m;
    }
    return &c->memo[port][at];
}

static const Lanes *value_of(Values *, Ref);

static bool compute_value(Values *v, Ref r, Lanes *out) {
    const Instr *in = &v->t.in[ref_instr(r)];
    Program *p = program_of(v, v->instruction[ref_instr(r)].typing, ref_port(r));
    const Lanes *arg[PROGRAM_INPUTS] = {0};
    if (!p) return false;
    for (int k = 0; k < v->s->form[in->op].narg; k++)
        if (!(arg[k] = value_of(v, in->arg[k]))) return false;
    if (p->ntemp >= v->temp_room) {
        v->temp_room = 2 * p->ntemp + 64;
        v->temp = arena_alloc_raw(v->s->arena, (size_t)v->temp_room * sizeof *v->temp);
    }
    v->run.run(p, arg, v->temp, out);
    return true;
}

/* The value of r under the current naming; NULL if it is not known. */
static const Lanes *value_of(Values *v, Ref r) {
    if (!ref_is_out(r)) return v->pool[v->t.kind[r]][v->name.of[r]];
    InstructionValues *c = &v->instruction[ref_instr(r)];
    uint64_t key = memo_key(v, c->vars);
    Memo *m = memo_slot(c, ref_port(r), key);
    if (m->stamp == c->stamp && m->key == key) return m->value;
    Lanes *y = arena_alloc_raw(c->arena,
                               (size_t)space_shape(v->s, v->shape[r])->count[v->stage] * sizeof *y);
    *m = (Memo){key, c->stamp, compute_value(v, r, y) ? y : NULL};
    return m->value;
}

/* If a term with few known points had a key, all terms that are undefined almost everywhere would
   seem equal. */
bool lanes_known(const Lanes *x, int n) {
    int known = 0;
    for (int k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) known += x[k].p[l] != RESIDUE_NONE;
    return 8 * known >= n * LANES;
}

static uint64_t mix(uint64_t x) { return random_at(x, 0x9d); }

bool values_hash(Values *v, Ref root, const Naming *name, uint64_t *out) {
    const ShapeInfo *shape = space_shape(v->s, v->shape[root]);
    const Lanes *y = v->root;
    uint64_t h = shape->hash, lane[LANES] __attribute__((aligned(64)));
    v->name = *name;
    if (!ref_is_out(root)) y = value_of(v, root);
    else if (!compute_value(v, root, v->root)) return false;
    if (v->s->exponents && !lanes_known(y, shape->count[v->stage])) return false;
    v->run.hash(y, shape->count[v->stage], v->coefficient, lane);
    for (int l = 0; l < LANES; l++)
        h = mix(h ^ (lane[l] + (uint64_t)l * UINT64_C(0x9e3779b97f4a7c15)));
    *out = h & ~1ull;
    return true;
}

/* ---- keys */

void values_plain_naming(const Values *v, Naming *name) {
    uint8_t next[SPACE_KINDS] = {0};
    memset(name, 0, sizeof *name);
    for (int k = 0; k < v->t.nvar; k++) name->of[k] = next[v->t.kind[k]]++;
}

typedef struct KeySearch {
    Values *v;
    Ref root;
    Key *key;
    int n, order[TERM_VARS], many[SPACE_KINDS];
    unsigned used[SPACE_KINDS];
    bool any, known;
    Naming name;
} KeySearch;

static void consider(KeySearch *k) {
    uint64_t h;
    if (!values_hash(k->v, k->root, &k->name, &h)) {
        k->known = false;
        return;
    }
    Key *y = k->key;
    if (!k->any || h < y->hash) {
        y->hash = h;
        y->n = 0;
        k->any = true;
    } else if (h > y->hash) return;
    if (y->n < NAMINGS_MAX) y->name[y->n++] = k->name;
}

static void each_naming(KeySearch *k, int at) {
    if (!k->known) return;
    if (at == k->n) {
        consider(k);
        return;
    }
    int var = k->order[at], kind = k->v->t.kind[var];
    for (uint8_t j = 0; j < k->many[kind]; j++) {
        if (k->used[kind] >> j & 1) continue;
        k->used[kind] |= 1u << j;
        k->name.of[var] = j;
        each_naming(k, at + 1);
        k->used[kind] &= ~(1u << j);
    }
}

/* Whether the value of the root changes when the variable gets another tensor. */
static bool depends_on(Values *v, Ref root, Naming name, int var, uint64_t plain) {
    uint64_t h;
    name.of[var] = POOL - 1;
    return !values_hash(v, root, &name, &h) || h != plain;
}

bool values_key(Values *v, Ref root, Key *key) {
    KeySearch k = {.v = v, .root = root, .key = key, .known = true};
    unsigned vars = ref_is_out(root) ? v->instruction[ref_instr(root)].vars : 1u << root;
    Naming plain;
    uint64_t h;
    values_plain_naming(v, &plain);
    if (!values_hash(v, root, &plain, &h)) return false;
    memset(k.name.of, POOL - 1, sizeof k.name.of);
    for (int j = 0; j < v->t.nvar; j++) {
        if (!(vars >> j & 1) || !depends_on(v, root, plain, j, h)) continue;
        k.order[k.n++] = j;
        if (++k.many[v->t.kind[j]] == POOL) return false;
    }
    each_naming(&k, 0);
    if (k.known && key->n > 1) key->hash++;
    return k.known;
}
