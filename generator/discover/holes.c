/* holes.c -- answers with unknown constants: goal = f(a, ?), perhaps + f(b, ?), perhaps + ?, for an
   f that is linear in the unknown. This file finds which f fit and which types the unknowns have.
   linear.c solves for the unknowns, and each solution must be a term over the question's
   constants. */
#include "generator/discover/linear.h"

/* Limits. What exceeds them is not tried, so an answer may be missed. */
enum {
    LAYERS = 64,                /* layers for one term and goal */
    HOLE_RANK = 5,              /* most axes of an unknown */
    PAIRS = 12,                 /* pairs of terms for one goal */
    SPREADS = 2 * RANK_MAX + 2, /* most results of spreads_of */
    UNKNOWN_SYMBOLS =
        10000 /* symbols of unknowns are numbered from here, apart from those of the question */
};
typedef struct Layer { /* an operator on a term, whose other inputs are unknown constants */
    Sig sig;
    int data;      /* which input the term is */
    TypeId spread; /* the unknown has this type and is broadcast to the type of the input; 0: it is
                      not broadcast */
} Layer;
typedef struct Layers {
    int n;
    Layer v[LAYERS];
} Layers;
typedef struct Spread { /* a constant that is added to a value */
    TypeId type, to;    /* to: the type that it is broadcast to; 0: it is not broadcast */
} Spread;

/* ---- layers: the types of unknowns */

/* What is looked for: an operator that makes the type `goal` of the type `a`, and of an unknown
   with `rank` axes as its input `at`. */
typedef struct Fit {
    Search *s;
    Layers *out;
    TypeId a, goal;
    int at, rank;
} Fit;

static TypeId unknown_type(Search *s, DType dtype, int rank, Poly dim[]) {
    Type t = {.dtype = dtype, .known = true, .dim = {.n = rank}};
    for (int k = 0; k < rank; k++) t.dim.v[k] = dim[k];
    return type_intern(s->w, &t);
}

static bool mentions_any(const Search *s, Poly p, int n, const Poly symbol[]) {
    bool any = false;
    for (int k = 0; k < n; k++) any |= poly_mentions(s->w, p, poly_is_symbol(s->w, symbol[k]));
    return any;
}

/* Determines the sizes dim[] of an unknown, which are the symbols u[] at first, from the operator's
   needs and the goal's type. Returns a bit for each size that stays open, or -1 if the operator
   cannot give the goal. */
static int solve_dims(Fit *f, const SigInfo *i, int rank, const Poly u[], Poly dim[]) {
    Search *s = f->s;
    Poly eq[LIFT_EQUATIONS];
    const Type *y = type_get(s->w, i->out[0]), *goal = type_get(s->w, f->goal);
    int n = 0, open = 0;
    if (y->dim.n != goal->dim.n || y->dtype != goal->dtype) return -1;
    for (int k = 0; k < i->nneed && n < LIFT_EQUATIONS / 2; k++)
        if (i->need[k].eq) eq[n++] = i->need[k].p;
    for (int d = 0; d < y->dim.n; d++) eq[n++] = poly_sub(s->w, y->dim.v[d], goal->dim.v[d]);
    /* Only the equations about the unknown's sizes are solved. */
    int about_u = 0;
    for (int k = 0; k < n; k++)
        if (mentions_any(s, eq[k], rank, u)) eq[about_u++] = eq[k];
    lift_solve(s->l, about_u, eq);
    for (int j = 0; j < rank; j++) {
        dim[j] = poly_subst(s->w, u[j], s->l->nsolved, s->l->from, s->l->to);
        if (mentions_any(s, dim[j], rank, u)) open |= 1 << j;
    }
    return open;
}

static bool put_signature(Fit *f, const Op *op, const Attr attr[], int data, int nin,
                          const TypeId in[], TypeId spread) {
    Search *s = f->s;
    Sig sig = sig_intern(s->w, op, attr, nin, in, 1);
    if (!sig_fits(s, sig) || sig_info(s->w, sig)->out[0] != f->goal) return false;
    for (int k = 0; k < nin; k++)
        if (!in[k] || count_of(s, in[k]) < 0) return false;
    if (!sig_linear(s, sig, LINEAR_BUT + data)) return false;
    for (int k = 0; k < f->out->n; k++) {
        const Layer *y = &f->out->v[k];
        if (y->sig == sig && y->data == data && y->spread == spread) return true;
    }
    if (f->out->n < LAYERS) f->out->v[f->out->n++] = (Layer){sig, data, spread};
    return true;
}

/* Adds a layer with the unknown of this type. Also adds it with the unknown broadcast along all
   axes but the first, and with a further unknown of one axis if the operator takes a third
   input. */
static void put_layer(Fit *f, const SigInfo *i, TypeId hole) {
    Search *s = f->s;
    Attr attr[ATTRS_MAX];
    TypeId in[3];
    const int data = 1 - f->at;
    attrs_get(s->w, i->op->attrs, i->attrs, attr);
    in[f->at] = hole;
    in[data] = f->a;
    const Type *t = type_get(s->w, hole), *goal = type_get(s->w, f->goal);
    bool wide = i->op->flags & OP_BROADCASTS && t->dim.n > s->rank;
    if (!wide && !put_signature(f, i->op, attr, data, 2, in, 0)) return;
    if (i->op->flags & OP_BROADCASTS && t->dim.n >= 2) {
        Type channel = *t;
        for (int d = 1; d < t->dim.n; d++) channel.dim.v[d] = poly_int(s->w, 1);
        put_signature(f, i->op, attr, data, 2, in, type_intern(s->w, &channel));
    }
    if (op_input_count(i->op) != 3) return;
    for (int d = 0; d < goal->dim.n; d++) {
        in[2] = unknown_type(s, goal->dtype, 1, (Poly[]){goal->dim.v[d]});
        put_signature(f, i->op, attr, data, 3, in, 0);
    }
}

/* Adds the question's nodes with three or more inputs, with a value of this type in place of each
   of them. */
static void put_own(Fit *f) {
    Search *s = f->s;
    Attr attr[ATTRS_MAX];
    TypeId in[PROGRAM_INPUTS];
    for (int k = 0; k < s->live.n; k++) {
        Node n = node_get(s->w, s->live.v[k]);
        if (n.nin < 3 || n.nin > HOLES || n.nout != 1 || !n.op->define) continue;
        sig_attr(s->w, n.sig, attr);
        for (int j = 0; j < n.nin; j++) {
            for (int i = 0; i < n.nin; i++) in[i] = n.in[i] ? value_type_id(s->w, n.in[i]) : 0;
            in[j] = f->a;
            put_signature(f, n.op, attr, j, n.nin, in, 0);
        }
    }
}

/* Tries for each open size 1 and the sizes of the question's constants on that axis. Where blocks
   are tried, a window may also be longer, by up to one position less than a block has. */
static void put_open(Fit *f, const SigInfo *i, int rank, Poly dim[], int open) {
    Search *s = f->s;
    DType dtype = type_get(s->w, f->goal)->dtype;
    int j = 0;
    while (j < rank && !(open >> j & 1)) j++;
    if (j == rank) {
        put_layer(f, i, unknown_type(s, dtype, rank, dim));
        return;
    }
    dim[j] = poly_int(s->w, 1);
    put_open(f, i, rank, dim, open & ~(1 << j));
    for (int k = 0; k < s->g.nin; k++) {
        const Type *t = value_type(s->w, s->g.in[k]);
        if (!value_is_constant(s, s->g.in[k]) || t->dim.n != rank || poly_is(s->w, t->dim.v[j], 1))
            continue;
        for (int more = 0; more < SEARCH_BLOCK_MOST; more++) { /* a window that moves in a block */
            if (more && !has_blocks(s, more + 1)) continue;
            dim[j] = poly_add(s->w, t->dim.v[j], poly_int(s->w, more));
            put_open(f, i, rank, dim, open & ~(1 << j));
        }
    }
}

static void fit_signature(void *user, Sig sig) {
    Fit *f = user;
    Search *s = f->s;
    const SigInfo *i = sig_info(s->w, sig);
    const Type *hole = type_get(s->w, i->in[f->at]);
    Poly dim[RANK_MAX];
    s->l->nsolved = s->l->nattribute = 0;
    for (int k = 0; k < hole->dim.n; k++)
        s->l->attribute[s->l->nattribute++] = poly_is_symbol(s->w, hole->dim.v[k]);
    int open = solve_dims(f, i, hole->dim.n, hole->dim.v, dim);
    if (open >= 0) put_open(f, i, hole->dim.n, dim, open);
}

static bool may_be_layer(const Search *s, const Op *op) {
    bool variadic, many;
    int least = op_arity(op, &variadic), outputs = op_output_count(op, &many);
    if (!op_is_near(s, op)) return false;
    return op->define && !(op->flags & (OP_RANDOM | OP_NO_COST | OP_ANY_TYPE)) && !variadic &&
           least == 2 && outputs == 1 && !many;
}

static const Layers *layers_of(Search *s, TypeId a, TypeId goal) {
    Layers *out = ARENA_NEW(s->a, Layers, 1);
    DType dtype = type_get(s->w, goal)->dtype;
    for (int k = 0; k < op_count(); k++) {
        if (!may_be_layer(s, op_at(k))) continue;
        for (int at = 1; at >= 0; at--)
            for (int rank = 0; rank <= HOLE_RANK; rank++) {
                Poly u[HOLE_RANK];
                s->l->nfresh = UNKNOWN_SYMBOLS;
                for (int d = 0; d < rank; d++) u[d] = lift_fresh(s->l, true);
                Fit f = {s, out, a, goal, at, rank};
                TypeId in[2];
                in[at] = unknown_type(s, dtype, rank, u);
                in[1 - at] = a;
                each_signature(s, op_at(k), 2, in, fit_signature, &f);
            }
    }
    Fit own = {s, out, a, goal, 0, 0};
    put_own(&own);
    return out;
}

/* ---- sums of layers */

static Value hole_input(Search *s, Sum *x, TypeId type) {
    Value v = graph_input(s->w, arena_format(s->a, "k?%d", x->nhole), type_get(s->w, type));
    return x->hole[x->nhole++] = v;
}

static Value spread_to(Search *s, Value v, TypeId to) {
    const char *why;
    const Type *t = type_get(s->w, to);
    Attr attr = {.ints = {t->dim.n, t->dim.v}};
    return node_make(s->w, &op_broadcast, &attr, 1, &v, 1, &why);
}

static Value add_layer(Search *s, Sum *x, const Layer *y, Value a) {
    const SigInfo *i = sig_info(s->w, y->sig);
    Value in[PROGRAM_INPUTS] = {0};
    if (x->nhole + i->nin > HOLES) return 0;
    for (int k = 0; k < i->nin; k++) {
        in[k] = k == y->data ? a : hole_input(s, x, y->spread ? y->spread : i->in[k]);
        if (k != y->data && y->spread) in[k] = spread_to(s, in[k], i->in[k]);
        if (!in[k]) return 0;
    }
    if (!sig_linear(s, y->sig, y->data)) x->shifted = true;
    x->leaf[x->nleaf++] = a;
    return sig_node(s, y->sig, in);
}

/* Constants that may be added to a value of this type: tensors of its last axes, and of one
   axis. */
static int spreads_of(Search *s, TypeId type, Spread out[]) {
    const Type *t = type_get(s->w, type);
    int n = 0;
    for (int from = t->dim.n; from >= 0; from--) {
        Type y = {.dtype = t->dtype, .known = true, .dim = {.n = t->dim.n - from}};
        for (int k = from; k < t->dim.n; k++) y.dim.v[k - from] = t->dim.v[k];
        TypeId whole = type_intern(s->w, &y);
        if (y.dim.n > 1) {
            for (int k = 1; k < y.dim.n; k++) y.dim.v[k] = poly_int(s->w, 1);
            out[n++] = (Spread){type_intern(s->w, &y), whole};
        }
        if (y.dim.n <= s->rank) out[n++] = (Spread){whole, 0};
    }
    return n;
}

static bool add_spread(Search *s, Sum *x, const Spread *b) {
    const char *why;
    if (x->nhole == HOLES) return false;
    Value hole = hole_input(s, x, b->type);
    if (b->to) hole = spread_to(s, hole, b->to);
    x->v = hole ? node_make(s->w, &op_add, NULL, 2, (Value[]){x->v, hole}, 1, &why) : 0;
    return x->v != 0;
}

/* ---- solving and explaining */

/* The sum with its unknowns replaced by terms over constants. Returns 0 if one of them is no such
   term. */
static Value explained(Search *s, const Sum *x, const uint32_t *solution, const int first[]) {
    Value known[HOLES];
    for (int k = 0; k < x->nhole; k++) {
        int n = first[k + 1] - first[k];
        Lanes *c = arena_alloc(s->a, (size_t)n * sizeof *c);
        for (int e = 0; e < n; e++)
            for (int l = 0; l < LANES; l++) c[e].p[l] = solution[first[k] + e];
        known[k] = constant_explain(s, value_type_id(s->w, x->hole[k]), c);
        if (!known[k]) return 0;
    }
    Graph g = {s->g.nin, 1, s->g.in, &x->v}, y;
    Error ignored = {0};
    return graph_substitute(s->w, s->a, &g, &(Substitution){x->nhole, x->hole, known}, &y, NULL,
                            &ignored)
               ? y.out[0]
               : 0;
}

/* Whether the sum costs too much; constants cost nothing. */
static bool too_expensive(Search *s, const Sum *x) { return graph_cost(s, 1, &x->v) >= s->best; }

static bool try_sum(Search *s, const Sum *x, const Goal *g, int depth) {
    if (too_expensive(s, x) || s->evaluations_left <= 0) return false;
    Arena *a = arena_new(arena_escape(s->a), 0);
    int first[HOLES + 1];
    const uint32_t *solution = sum_solve(s, a, x, g, first);
    Value v = solution ? explained(s, x, solution, first) : 0;
    arena_free(a);
    if (v) goal_met(s, g, v, "hole", depth);
    return solution != NULL;
}

/* Whether adding a constant cannot help, since both the sum and the goal are 0 if the data is 0. */
static bool has_no_shift(Search *s, const Sum *x) {
    if (!s->proportional || x->shifted) return false;
    for (int k = 0; k < x->nleaf; k++)
        if (!input_name(s->w, value_node(s->w, x->leaf[k]))) return false;
    return true;
}

/* Tries the sum alone, then with each constant that may be added. */
static bool try_with_constants(Search *s, const Sum *x, const Goal *g, int depth) {
    Spread b[SPREADS];
    if (too_expensive(s, x)) return false;
    if (try_sum(s, x, g, depth)) return true;
    if (has_no_shift(s, x)) return false;
    int n = spreads_of(s, g->type, b);
    for (int k = 0; k < n; k++) {
        Sum y = *x;
        if (add_spread(s, &y, &b[k]) && try_sum(s, &y, g, depth)) return true;
    }
    return false;
}

static void try_terms(Search *s, const Goal *g, const Layers *layers, const BankTerm *t,
                      int depth) {
    for (int k = 0; k < layers->n; k++) {
        Sum x = {0};
        x.v = add_layer(s, &x, &layers->v[k], t->v);
        /* an operator with two unknowns adds one of them itself */
        if (x.v && x.nhole > 1) try_sum(s, &x, g, depth);
        else if (x.v) try_with_constants(s, &x, g, depth);
    }
}

static void try_pair(Search *s, const Goal *g, const Layers *p, const Layers *q, const BankTerm *a,
                     const BankTerm *b, int depth) {
    const char *why;
    for (int k = 0; k < p->n; k++)
        for (int j = 0; j < q->n; j++) {
            const Op *op = sig_info(s->w, p->v[k].sig)->op;
            if (op != sig_info(s->w, q->v[j].sig)->op || p->v[k].data != q->v[j].data) continue;
            Sum x = {0};
            Value u = add_layer(s, &x, &p->v[k], a->v), v = add_layer(s, &x, &q->v[j], b->v);
            if (!u || !v) continue;
            x.v = node_make(s->w, &op_add, NULL, 2, (Value[]){u, v}, 1, &why);
            if (x.v) try_with_constants(s, &x, g, depth);
        }
}

typedef struct LayerCache {
    Intern *keys;
    int n, room;
    const Layers **v;
} LayerCache;
static const Layers *cached_layers(Search *s, LayerCache *c, TypeId a, TypeId goal) {
    TypeId key[2] = {a, goal};
    uint32_t old = intern_count(c->keys), id = intern_put(c->keys, key, sizeof key);
    ARENA_GROW(s->a, c->v, c->room, (int)id);
    if (id > old) c->v[id - 1] = layers_of(s, a, goal);
    return c->v[id - 1];
}

void holes_look(Search *s, int depth) {
    LayerCache c = {.keys = intern_new(s->a)};
    for (int k = 0; k < s->goals.n && s->bank.nconstant; k++) {
        int pairs = 0;
        for (int j = 0; j < s->bank.nterm && s->evaluations_left > 0 && !s->goals.v[k].between;
             j++) {
            const Goal *g = &s->goals.v[k];
            BankTerm t = s->bank.term[j];
            if (j < s->nterms_tried_with_holes || t.cost >= s->best) continue;
            const Layers *p = cached_layers(s, &c, value_type_id(s->w, t.v), g->type);
            try_terms(s, g, p, &t, depth);
            for (int i = 0; i < j && pairs < PAIRS && p->n && s->evaluations_left > 0; i++) {
                BankTerm u = s->bank.term[i];
                if (u.depth || t.depth || u.cost >= s->best) continue;
                const Layers *q = cached_layers(s, &c, value_type_id(s->w, u.v), g->type);
                if (q->n) pairs++, try_pair(s, g, p, q, &t, &u, depth);
            }
        }
    }
    s->nterms_tried_with_holes = s->bank.nterm;
    intern_free(c.keys);
}
