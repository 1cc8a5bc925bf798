/* fitting_ops.c -- finds which operators of the table accept arguments of given types, and with
   which attributes.

   Tried are the attributes of the question's nodes of the same operator, and combinations of
   defaults, axes, permutations, the sizes of types that occur, and differences of sizes. shape()
   decides which of them make sense. Whether an operator is a view, and where it is linear, is found
   by evaluating its definition. */
#include "generator/discover/answer_inner.h"
#include "generator/values.h"
#include "ops/base/random.h"
#include <string.h>

/* Trying this many signatures counts as one evaluation. */
enum { TYPED_STEP = 16 };
enum {
    CHOICES = 96, /* values of one attribute */
    TUPLES = 400, /* combinations of values, for one operator on given types */
    PERMUTED = 4, /* greatest rank for which all permutations are tried */
    WORDS = 4,    /* how many values of an attribute that is a word are tried */
    FEW = 4       /* greatest number of nodes of a question that any operator may answer */
};
typedef struct Choices {
    int n;
    Attr v[CHOICES];
} Choices;
typedef struct Tuples { /* the signatures of one operator on arguments of given types */
    Search *s;
    const Op *op;
    int nin, tried;
    const TypeId *in;
    Choices *of;
    SigFound *found;
    void *user;
} Tuples;

static void choose_word(Choices *c, int word) {
    if (c->n < CHOICES) c->v[c->n++] = (Attr){.enum_value = word};
}
static void choose_list(Choices *c, int n, const Poly *v) {
    if (c->n < CHOICES) c->v[c->n++] = (Attr){.ints = {n, v}};
}

static const Poly *numbers(Search *s, int n, const int v[]) {
    Poly *p = ARENA_NEW(s->w->scratch, Poly, n);
    for (int k = 0; k < n; k++) p[k] = poly_int(s->w, v[k]);
    return p;
}

bool has_blocks(const Search *s, int size) {
    return size == 2 || (size > 2 && s->blocks >> size & 1);
}
static void choose_blocks(Search *s, Choices *c) {
    for (int k = 2; k <= SEARCH_BLOCK_MOST; k++)
        if (has_blocks(s, k)) choose_list(c, 1, numbers(s, 1, &k));
}

static void choose_axes(Search *s, Choices *c, bool list, int rank) {
    for (int k = 0; k < rank; k++) choose_list(c, 1, numbers(s, 1, &k));
    for (int k = 0; k + 1 < rank && list; k++) choose_list(c, 2, numbers(s, 2, (int[]){k, k + 1}));
}

static void choose_permutations(Search *s, Choices *c, int rank, int n, int p[]) {
    if (n == rank) {
        choose_list(c, rank, numbers(s, rank, p));
        return;
    }
    for (int k = 0; k < rank; k++) {
        bool used = false;
        for (int j = 0; j < n; j++) used |= p[j] == k;
        p[n] = k;
        if (!used) choose_permutations(s, c, rank, n + 1, p);
    }
}

/* Tries the sizes of each type that occurs (choose_sizes), and the difference between x and a type
   that differs from it on one axis only (choose_offsets). */
static void choose_sizes(Search *s, Choices *c) {
    for (int k = 0; k < s->types.n; k++) {
        const Type *t = type_get(s->w, s->types.v[k]);
        choose_list(c, t->dim.n, t->dim.v);
    }
}
static void choose_offsets(Search *s, Choices *c, const Type *x) {
    for (int k = 0; k < s->types.n; k++) {
        const Type *t = type_get(s->w, s->types.v[k]);
        int axis = -1, differ = 0;
        for (int d = 0; d < x->dim.n && t->dim.n == x->dim.n; d++)
            if (t->dim.v[d] != x->dim.v[d]) axis = d, differ++;
        if (differ != 1) continue;
        Poly *v = ARENA_NEW(s->w->scratch, Poly, x->dim.n);
        v[axis] = poly_sub(s->w, x->dim.v[axis], t->dim.v[axis]);
        choose_list(c, x->dim.n, v);
    }
}

static void choose(Search *s, const AttrDef *def, const Type *x, Choices *c) {
    Attr init;
    int rank = x->dim.n, p[RANK_MAX];
    bool usual = attr_default(s->w, def, rank, &init);
    if (usual && c->n < CHOICES) c->v[c->n++] = init;
    switch (def->kind) {
    case A_INT:
    case A_INTS:
        if (def->axes) choose_axes(s, c, def->kind == A_INTS, rank);
        else if (def->kind == A_INT && !usual) choose_blocks(s, c);
        else if (def->kind == A_INTS && !usual) {
            if (rank <= PERMUTED) choose_permutations(s, c, rank, 0, p);
            choose_sizes(s, c);
        } else if (def->kind == A_INTS && def->fill == PER_AXIS) choose_offsets(s, c, x);
        break;
    case A_ENUM:
        for (int k = 0; k < WORDS && !usual; k++) choose_word(c, k);
        break;
    case A_DTYPE:
        if (!usual) choose_word(c, (int)x->dtype);
        break;
    default: break;
    }
}

static bool holds_at(Search *s, Lit need, Sizes sizes) { return lit_at(s->w, need, sizes) == 1; }

bool sig_fits(Search *s, Sig sig) {
    const SigInfo *i = sig_info(s->w, sig);
    if (i->why) return false;
    for (int k = 0; k < i->nneed; k++) /* evaluating is cheaper than proving */
        if (!holds_at(s, i->need[k], s->small) || !holds_at(s, i->need[k], s->real)) return false;
    for (int k = 0; k < i->nneed; k++)
        if (!facts_entail(s->facts, i->need[k])) return false;
    return true;
}

static void try_tuple(Tuples *t, const Attr attr[]) {
    Search *s = t->s;
    t->tried++;
    if (s->stats->typed++ % TYPED_STEP == 0) s->evaluations_left--;
    Sig sig = sig_intern(s->w, t->op, attr, t->nin, t->in, 1);
    if (!sig_info(s->w, sig)->why) t->found(t->user, sig);
}

/* The list with each number multiplied by a size of a block, or by 1. The digits of `code` in base
   nfactor select the factors. */
static PolyList in_blocks(Search *s, PolyList old, int nfactor, const int factor[], int code) {
    Poly *v = ARENA_NEW(s->w->scratch, Poly, old.n);
    for (int j = 0; j < old.n; j++, code /= nfactor)
        v[j] = poly_scale(s->w, old.v[j], factor[code % nfactor]);
    return (PolyList){old.n, v};
}
/* Tries the attributes with some numbers of one list multiplied by sizes of blocks, where the
   list's default is 1 (strides, dilations). */
static void try_blocks(Tuples *t, const Attr attr[]) {
    Attr other[ATTRS_MAX];
    int factor[SEARCH_BLOCK_MOST + 1] = {1}, nfactor = 1;
    for (int k = 2; k <= SEARCH_BLOCK_MOST; k++)
        if (has_blocks(t->s, k)) factor[nfactor++] = k;
    for (int k = 0; k < attrs_count(t->op->attrs); k++) {
        const AttrDef *def = &t->op->attrs[k];
        int codes = 1;
        if (def->kind != A_INTS || !def->init || strcmp(def->init, "1")) continue;
        memcpy(other, attr, sizeof other);
        for (int j = 0; j < attr[k].ints.n; j++) codes *= nfactor;
        while (--codes > 0) {
            other[k].ints = in_blocks(t->s, attr[k].ints, nfactor, factor, codes);
            try_tuple(t, other);
        }
    }
}

/* Tries the attributes with other sizes where the operator is told the sizes of its result. */
static void try_sizes(Tuples *t, const Attr attr[]) {
    Search *s = t->s;
    Attr other[ATTRS_MAX];
    for (int k = 0; k < attrs_count(t->op->attrs); k++) {
        const AttrDef *def = &t->op->attrs[k];
        if (def->kind != A_INTS || def->init || def->axes || t->nin != 1) continue;
        memcpy(other, attr, sizeof other);
        for (int j = 0; j < s->types.n; j++) {
            const Type *y = type_get(s->w, s->types.v[j]);
            other[k].ints = (PolyList){y->dim.n, y->dim.v};
            if (y->dim.n == attr[k].ints.n) try_tuple(t, other);
        }
    }
}

static void combine(Tuples *t, Attr attr[], int k) {
    if (t->tried >= TUPLES) return;
    if (k == attrs_count(t->op->attrs)) {
        try_tuple(t, attr);
        return;
    }
    for (int j = 0; j < t->of[k].n; j++) {
        attr[k] = t->of[k].v[j];
        combine(t, attr, k + 1);
    }
}

void each_signature(Search *s, const Op *op, int nin, const TypeId in[], SigFound *found,
                    void *user) {
    ArenaMark mark = arena_mark(s->w->scratch);
    Tuples t = {.s = s, .op = op, .nin = nin, .in = in, .found = found, .user = user};
    Attr attr[ATTRS_MAX] = {0};
    for (int k = 0; k < s->live.n; k++) {
        Node n = node_get(s->w, s->live.v[k]);
        if (n.op != op) continue;
        sig_attr(s->w, n.sig, attr);
        try_tuple(&t, attr);
        try_blocks(&t, attr);
        try_sizes(&t, attr);
    }
    t.of = ARENA_NEW(s->w->scratch, Choices, attrs_count(op->attrs));
    for (int k = 0; k < attrs_count(op->attrs); k++)
        choose(s, &op->attrs[k], type_get(s->w, in[0]), &t.of[k]);
    memset(attr, 0, sizeof attr);
    combine(&t, attr, 0);
    arena_reset(s->w->scratch, mark);
}

/* ---- facts by evaluation */

static const Lanes *drawn_at(Search *s, TypeId type, uint64_t seed) {
    int n = count_of(s, type);
    if (n < 0) return NULL;
    Lanes *x = arena_alloc_raw(s->l->arena, (size_t)n * sizeof *x);
    lanes_draw(x, n, random_at(seed, type), LANES_REACH);
    return x;
}

static const Lanes *run_sig(Search *s, Sig sig, const Lanes *const in[]) {
    const SigInfo *i = sig_info(s->w, sig);
    const Lanes *all[PROGRAM_INPUTS] = {0};
    int n = count_of(s, i->out[0]);
    Program *p = n < 0 ? NULL : program_of_sig(s, sig, 0);
    if (!p) return NULL;
    memcpy(all, in, (size_t)i->nin * sizeof *in);
    Lanes *x = arena_alloc_raw(s->l->arena, (size_t)n * sizeof *x),
          *temp = arena_alloc_raw(s->l->arena, (size_t)p->ntemp * sizeof *x);
    s->values.run.run(p, all, temp, x);
    return x;
}

/* The input element that each output element equals; NULL if some output element equals none.
   Random data make coincidences unlikely. */
static const int *find_source(Search *s, Sig sig) {
    const SigInfo *i = sig_info(s->w, sig);
    const Lanes *x = drawn_at(s, i->in[0], 3), *y = x ? run_sig(s, sig, &x) : NULL;
    if (!y) return NULL;
    int n = count_of(s, i->in[0]), m = count_of(s, i->out[0]);
    int *source = ARENA_NEW(s->a, int, m);
    for (int k = 0; k < m; k++) {
        int j = 0;
        while (j < n && memcmp(x[j].p, y[k].p, sizeof x[j].p) != 0) j++;
        if (j == n) return NULL;
        source[k] = j;
    }
    return source;
}

/* r x + z for each element. */
static const Lanes *mixed(Search *s, const Lanes *x, const Lanes *z, int n, uint32_t r) {
    Lanes *y = arena_alloc_raw(s->l->arena, (size_t)n * sizeof *y);
    for (int k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) {
            y[k].p[l] = (uint32_t)(((uint64_t)x[k].p[l] * r + z[k].p[l]) % RESIDUE_P);
            y[k].q[l] = (uint32_t)(((uint64_t)x[k].q[l] * r + z[k].q[l]) % RESIDUE_Q);
            y[k].order[l] = x[k].order[l] * (double)r + z[k].order[l];
        }
    return y;
}

static bool varies(int input, int which) {
    return which < LINEAR_ALL ? input == which : which - LINEAR_BUT != input;
}

/* Tests f(r x + z) = r f(x) + f(z) for the inputs that vary. */
static bool is_linear(Search *s, Sig sig, int which) {
    enum { R = 3 };
    const SigInfo *i = sig_info(s->w, sig);
    const Lanes *x[PROGRAM_INPUTS] = {0}, *z[PROGRAM_INPUTS] = {0}, *m[PROGRAM_INPUTS] = {0};
    for (int k = 0; k < i->nin; k++) {
        if (!i->in[k]) continue;
        int n = count_of(s, i->in[k]);
        x[k] = drawn_at(s, i->in[k], 5 + (uint64_t)k);
        z[k] = varies(k, which) ? drawn_at(s, i->in[k], 20 + (uint64_t)k) : x[k];
        if (!x[k] || !z[k]) return false;
        m[k] = x[k] == z[k] ? x[k] : mixed(s, x[k], z[k], n, R);
    }
    const Lanes *fx = run_sig(s, sig, x), *fz = run_sig(s, sig, z), *fm = run_sig(s, sig, m);
    if (!fx || !fz || !fm) return false;
    int n = count_of(s, i->out[0]);
    const Lanes *want = mixed(s, fx, fz, n, R);
    int known = 0;
    for (int k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) {
            if (fx[k].p[l] == RESIDUE_NONE || fz[k].p[l] == RESIDUE_NONE) continue;
            if (want[k].p[l] != fm[k].p[l]) return false;
            known++;
        }
    return known > 0;
}

/* Whether an expression consists of elements of inputs only, chosen by conditions on sizes and
   indices. */
static bool selects(Search *s, Ex e) {
    ExNode x;
    ex_get(s->w, e, &x);
    return x.kind == EX_AT || (x.kind == EX_IF && selects(s, x.a) && selects(s, x.b));
}

const int *sig_source(Search *s, Sig sig) {
    ARENA_GROW(s->a, s->fitting.sig, s->fitting.sig_room, sig + 1);
    const SigInfo *i = sig_info(s->w, sig);
    if (!s->fitting.sig[sig].looked) {
        Ex define = i->nin == 1 && i->op->define ? sig_define(s->w, sig, 0) : 0;
        s->fitting.sig[sig].looked = true;
        ArenaMark mark = arena_mark(s->l->arena);
        s->fitting.sig[sig].source = define && selects(s, define) ? find_source(s, sig) : NULL;
        arena_reset(s->l->arena, mark);
    }
    return s->fitting.sig[sig].source;
}

bool sig_linear(Search *s, Sig sig, int which) {
    ARENA_GROW(s->a, s->fitting.sig, s->fitting.sig_room, sig + 1);
    const SigInfo *i = sig_info(s->w, sig);
    signed char *known = &s->fitting.sig[sig].linear[which];
    if (!*known) {
        int input = which > LINEAR_ALL ? which - LINEAR_BUT : which;
        bool may =
            i->op->define && i->nin <= PROGRAM_INPUTS && (which == LINEAR_ALL || input < i->nin);
        ArenaMark mark = arena_mark(s->l->arena);
        *known = may && is_linear(s, sig, which) ? 1 : -1;
        arena_reset(s->l->arena, mark);
    }
    return *known > 0;
}

/* ---- all operators */

typedef struct Collect {
    Search *s;
    FittingOps *m;
    int room;
} Collect;
/* Whether a value of the question has this element type. Nothing leads back from another type. */
static bool has_dtype(const Search *s, DType t) {
    for (int k = 0; k < s->live.n; k++) {
        const Node n = node_get(s->w, s->live.v[k]);
        for (int port = 0; port < n.nout; port++)
            if (value_type(s->w, n.out + (Value)port)->dtype == t) return true;
    }
    return false;
}
static void collect_fitting(void *user, Sig sig) {
    Collect *c = user;
    const SigInfo *i = sig_info(c->s->w, sig);
    if (!has_dtype(c->s, type_get(c->s->w, i->out[0])->dtype) || !sig_fits(c->s, sig)) return;
    for (int k = 0; k < c->m->n; k++)
        if (c->m->v[k] == sig) return;
    ARENA_GROW(c->s->a, c->m->v, c->room, c->m->n + 1);
    c->m->v[c->m->n++] = sig;
}

bool op_in_question(const Search *s, const Op *op) {
    for (int k = 0; k < s->live.n; k++)
        if (node_get(s->w, s->live.v[k]).op == op) return true;
    return false;
}

bool op_is_near(const Search *s, const Op *op) {
    return op_in_question(s, op) || op->flags & OP_BROADCASTS || s->live.n <= FEW;
}

/* Whether the operator may occur in an answer with this many inputs. */
static bool may_answer(const Search *s, const Op *op, int nin, bool far) {
    bool variadic, many;
    int least = op_arity(op, &variadic), outputs = op_output_count(op, &many);
    if (!op_algebraic(op) || op->flags & (OP_RANDOM | OP_NO_COST | OP_ANY_TYPE)) return false;
    if (nin > 1 && !variadic && !far && !op_is_near(s, op)) return false;
    return outputs == 1 && !many && (variadic ? nin == 2 : least == nin);
}

/* Puts operators of the question and views first, since they are tried before the others. */
static void order_fitting(Search *s, FittingOps *m) {
    Sig *v = ARENA_NEW(s->a, Sig, m->n);
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < m->n; k++) {
            const SigInfo *i = sig_info(s->w, m->v[k]);
            bool first = op_in_question(s, i->op) || (i->nin == 1 && sig_source(s, m->v[k]));
            if (first == (pass == 0)) v[n++] = m->v[k];
        }
        if (!pass) m->npreferred = n;
    }
    m->v = v;
}

static const FittingOps *fitting_ops_among(Search *s, int nin, const TypeId in[], bool far) {
    TypeId key[PROGRAM_INPUTS + 1] = {far};
    memcpy(key + 1, in, (size_t)nin * sizeof *in);
    uint32_t old = intern_count(s->fitting.keys),
             id = intern_put(s->fitting.keys, key, (size_t)(nin + 1) * sizeof *key);
    ARENA_GROW(s->a, s->fitting.v, s->fitting.room, (int)id);
    if (id <= old) return &s->fitting.v[id - 1];
    FittingOps m = {0};
    Collect c = {s, &m, 0};
    for (int k = 0; k < op_count(); k++)
        if (may_answer(s, op_at(k), nin, far))
            each_signature(s, op_at(k), nin, in, collect_fitting, &c);
    order_fitting(s, &m);
    s->fitting.v[id - 1] = m;
    return &s->fitting.v[id - 1];
}

const FittingOps *fitting_ops(Search *s, int nin, const TypeId in[]) {
    return fitting_ops_among(s, nin, in, false);
}

const FittingOps *fitting_ops_of_all(Search *s, int nin, const TypeId in[]) {
    return fitting_ops_among(s, nin, in, true);
}
