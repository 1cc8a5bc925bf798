/* goals.c -- the values that the search wants: the question's result, and values that give it
   through one or two views; the landmarks; and terms that meet a goal. */
#include "generator/discover/answer_inner.h"
#include <string.h>

enum { GOAL_DEPTH = 2 }; /* most views between a goal and the question's result */

/* ---- goals */

int goal_put(Search *s, Goal g) {
    g.key = value_key(g.type, g.x, g.n);
    for (int k = 0; k < s->goals.n; k++)
        if (s->goals.v[k].key == g.key) return k;
    if (s->goals.n == SEARCH_GOALS) return -1;
    s->goals.v[s->goals.n] = g;
    return s->goals.n++;
}

static bool same_lanes(const Lanes *a, const Lanes *b) { return !memcmp(a->p, b->p, sizeof a->p); }

const Lanes *goal_before(Search *s, const Goal *g, Sig sig) {
    const SigInfo *i = sig_info(s->w, sig);
    const int *source = sig_source(s, sig);
    int n = count_of(s, i->in[0]);
    if (!source || n < 0) return NULL;
    Lanes *x = arena_alloc_raw(s->a, (size_t)n * sizeof *x);
    bool *set = ARENA_NEW(s->a, bool, n);
    for (int k = 0; k < g->n; k++) {
        int at = source[k];
        if (set[at] && !same_lanes(&x[at], &g->x[k])) return NULL;
        set[at] = true;
        x[at] = g->x[k];
    }
    for (int k = 0; k < n; k++)
        if (!set[k]) return NULL;
    return x;
}

static void put_goals_before(Search *s, int at) {
    for (int k = 0; k < s->types.n; k++) {
        const FittingOps *m = fitting_ops(s, 1, &s->types.v[k]);
        for (int j = 0; j < m->n; j++) {
            const SigInfo *i = sig_info(s->w, m->v[j]);
            if (i->out[0] != s->goals.v[at].type) continue;
            const Lanes *x = goal_before(s, &s->goals.v[at], m->v[j]);
            if (x)
                goal_put(s, (Goal){.parent = at,
                                   .sig = m->v[j],
                                   .type = s->types.v[k],
                                   .x = x,
                                   .n = count_of(s, s->types.v[k]),
                                   .axis = s->goals.v[at].axis});
        }
    }
}

/* Makes a goal of the results joined along an axis. */
static void put_joined(Search *s, int axis) {
    Attr attr = {.ints = {1, (Poly[]){poly_int(s->w, axis)}}};
    const char *why;
    Value v = node_make(s->w, &op_concat, &attr, s->g.nout, s->g.out, 1, &why);
    const Lanes *x = v && sig_fits(s, node_get(s->w, v).sig) ? value_at(s, v) : NULL;
    if (x)
        goal_put(s, (Goal){.parent = -1,
                           .type = value_type_id(s->w, v),
                           .x = x,
                           .n = count_of(s, value_type_id(s->w, v)),
                           .axis = axis});
}

/* Marks the results of views of a term as landmarks, and adds their types. */
static void put_views(Search *s, BankTerm t) {
    TypeId type = value_type_id(s->w, t.v);
    const FittingOps *m = fitting_ops(s, 1, &type);
    for (int k = 0; k < m->npreferred; k++) {
        if (!sig_source(s, m->v[k])) continue;
        Value v = sig_node(s, m->v[k], &t.v);
        const Lanes *x = v ? value_at(s, v) : NULL;
        if (!x) continue;
        TypeId y = value_type_id(s->w, v);
        uint64_t key = value_key(y, x, count_of(s, y));
        intern_put(s->bank.marks, &key, sizeof key);
        type_put(s, y);
    }
}

static bool has_views(Search *s) {
    for (int k = 0; k < s->live.n; k++) {
        Node n = node_get(s->w, s->live.v[k]);
        if (n.nin == 1 && !value_is_constant(s, n.out) && sig_source(s, n.sig)) return true;
    }
    return false;
}

/* Whether the question has one operator, on data and constants. Any other operator may answer
   it. */
static bool has_one_operator(Search *s) {
    int n = 0, constants = 0;
    for (int k = 0; k < s->live.n; k++) {
        const bool constant = value_is_constant(s, s->live.v[k]);
        n += !constant && !input_name(s->w, s->live.v[k]);
        constants += constant;
    }
    return n == 1 && constants > 0;
}

static bool bijective(const int *source, int n) {
    for (int k = 0; k < n; k++)
        for (int j = 0; j < k; j++)
            if (source[k] == source[j]) return false;
    return true;
}

static bool same_sizes(Search *s, TypeId a, TypeId b) {
    const Dims x = type_get(s->w, a)->dim, y = type_get(s->w, b)->dim;
    for (int k = 0; k < x.n; k++) {
        bool has = false;
        for (int j = 0; j < y.n; j++) has |= x.v[k] == y.v[j];
        if (!has) return false;
    }
    return x.n == y.n;
}

/* Adds the types that the result's type becomes through views that lose nothing, unless they only
   reorder the axes: a view leads back from them. */
static void put_types_behind(Search *s, TypeId type) {
    const FittingOps *m = fitting_ops(s, 1, &type);
    for (int k = 0; k < m->npreferred; k++) {
        const TypeId y = sig_info(s->w, m->v[k])->out[0];
        const int *source = sig_source(s, m->v[k]);
        if (source && !same_sizes(s, type, y) && count_of(s, y) == count_of(s, type) &&
            bijective(source, count_of(s, y)))
            type_put(s, y);
    }
}

/* Adds the types from which a view like one of the question's would make the result, with other
   sizes on the axes that it leaves alone. */
static void put_types_before(Search *s, TypeId goal) {
    for (int k = 0; k < s->live.n; k++) {
        const Node n = node_get(s->w, s->live.v[k]);
        if (n.nin != 1 || value_is_constant(s, n.out) || !sig_source(s, n.sig)) continue;
        const Dims x = value_type(s->w, n.in[0])->dim, y = value_type(s->w, n.out)->dim;
        Type t = *type_get(s->w, goal);
        bool fits = x.n == y.n && t.dim.n == y.n, other = false;
        for (int d = 0; d < y.n && fits; d++) {
            if (x.v[d] == y.v[d]) continue;
            fits = t.dim.v[d] == y.v[d], other = true;
            t.dim.v[d] = x.v[d];
        }
        if (fits && other) type_put(s, type_intern(s->w, &t));
    }
}

void goals_open(Search *s) {
    const bool one = has_one_operator(s);
    s->moves_data = one || has_views(s);
    if (one && s->g.nout == 1) put_types_behind(s, value_type_id(s->w, s->g.out[0]));
    for (int k = 0; k < s->g.nout; k++) put_types_before(s, value_type_id(s->w, s->g.out[k]));
    for (int k = 0, n = s->bank.nterm; k < n && s->moves_data; k++) put_views(s, s->bank.term[k]);
    if (s->g.nout == 1) {
        TypeId type = value_type_id(s->w, s->g.out[0]);
        goal_put(s, (Goal){.parent = -1,
                           .type = type,
                           .x = value_at(s, s->g.out[0]),
                           .n = count_of(s, type),
                           .axis = -1});
    } else {
        int rank = value_type(s->w, s->g.out[0])->dim.n;
        for (int axis = 0; axis < rank; axis++) put_joined(s, axis);
    }
    for (int depth = 0, from = 0; depth < GOAL_DEPTH && s->moves_data; depth++) {
        int to = s->goals.n;
        for (int k = from; k < to; k++) put_goals_before(s, k);
        from = to;
    }
}

/* ---- meeting */

/* Computes the value that joined with a gives the goal. Returns false if some element is not
   known. */
static bool missing(const Goal *g, const Lanes *a, Joining by, Lanes *y) {
    for (int k = 0; k < g->n; k++)
        for (int l = 0; l < LANES; l++) {
            const uint32_t u = g->x[k].p[l], v = a[k].p[l];
            if (u == RESIDUE_NONE || v == RESIDUE_NONE || (by == JOIN_MUL && !v)) return false;
            y[k].p[l] = residue_missing(u, v, by);
        }
    return true;
}

static Value joined(Search *s, Value a, Value b, Joining by) {
    const Op *op = joining_op(by);
    const Value in[2] = {by == JOIN_SUB ? b : a, by == JOIN_SUB ? a : b};
    const char *why;
    return node_make(s->w, op, NULL, 2, in, 1, &why);
}

/* Looks for a term that joined with t gives the goal. */
static void meet(Search *s, const Goal *g, const BankTerm *t, int depth) {
    Lanes *y = arena_alloc_raw(s->l->arena, (size_t)g->n * sizeof *y);
    const Lanes *x = value_at(s, t->v);
    for (Joining by = 0; by < JOININGS; by++) {
        if (!missing(g, x, by, y)) continue;
        uint64_t key = value_key(g->type, y, g->n);
        for (int constant = 0; constant < 2; constant++) {
            int k = term_find(s, constant, key);
            if (k < 0) continue;
            Value v = joined(s, t->v, constant ? s->bank.constant[k].v : s->bank.term[k].v, by);
            if (v) goal_met(s, g, v, "meet", depth);
        }
    }
}

void goals_look(Search *s, int depth) {
    for (int k = 0; k < s->goals.n; k++) {
        const Goal *g = &s->goals.v[k];
        if (g->between) continue;
        int at = term_find(s, false, g->key), c = term_find(s, true, g->key);
        if (at >= 0) goal_met(s, g, s->bank.term[at].v, "equal", depth);
        if (c >= 0) goal_met(s, g, s->bank.constant[c].v, "constant", depth);
    }
    for (int k = 0; k < s->goals.n; k++)
        for (int j = 0; j < s->bank.nterm && !s->goals.v[k].between; j++) {
            const Goal *g = &s->goals.v[k];
            if (value_type_id(s->w, s->bank.term[j].v) != g->type) continue;
            if (s->bank.term[j].cost > s->best) continue;
            ArenaMark mark = arena_mark(s->l->arena);
            meet(s, g, &s->bank.term[j], depth);
            arena_reset(s->l->arena, mark);
        }
}
