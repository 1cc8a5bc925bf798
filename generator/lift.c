/* lift.c -- lifts a candidate: builds both sides as graphs over fresh sizes, solves their needs,
   and tries the result in one form after the other. */
#include "generator/lift_inner.h"
#include "graphs/needs.h"
#include "graphs/resize.h"
#include "graphs/world.h"
#include <string.h>

static void programs_open(Lift *l) {
    l->programs = arena_new(arena_escape(l->w->arena), 0);
    l->seen = intern_new(l->programs);
    l->program = NULL;
    l->program_room = 0;
}
static void programs_close(Lift *l) {
    intern_free(l->seen);
    arena_free(l->programs);
}

Lift *lift_new(Escape *escape, const Space *like, uint64_t seed) {
    World *w = graph_world_new(escape, 0);
    Lift *l = ARENA_NEW(w->arena, Lift, 1);
    Error e = {0};
    l->w = w;
    l->seed = seed;
    l->s = space_parse(w, like->path, like->text, like->text_size, &e);
    if (!l->s) escape_raise(escape, E_INVALID, "%s", e.reason);
    l->arena = arena_new(escape, 0);
    programs_open(l);
    l->run = program_runner(true);
    l->reach = like->reach;
    l->mark = world_mark(w);
    return l;
}
Lift *lift_over(World *w, uint64_t seed) {
    Lift *l = ARENA_NEW(w->arena, Lift, 1);
    l->w = w;
    l->seed = l->draw = seed;
    l->arena = arena_new(arena_escape(w->arena), 0);
    programs_open(l);
    l->run = program_runner(true);
    l->reach = LANES_REACH;
    l->mode = LIFT_NUMBERS;
    return l;
}
void lift_free(Lift *l) {
    if (!l) return;
    World *w = l->s ? l->w : NULL;
    programs_close(l);
    arena_free(l->arena);
    world_free(w);
}

/* ---- fresh sizes */

static Poly fresh_dim(Lift *l, Poly uniform) {
    Poly p = lift_fresh(l, false);
    if (l->ndim == LIFT_SYMBOLS) return p;
    l->set_dim[l->ndim] = uniform;
    return l->fresh_dim[l->ndim++] = p;
}

/* A size of an input that equals the choice in the set file. Each value of l->tie picks another one
   in turn. Returns 0 if there is none. */
static Poly tied(const Lift *l, Poly choice) {
    Poly found[LIFT_SYMBOLS];
    int n = 0;
    for (int k = 0; k < l->ndim; k++)
        if (l->set_dim[k] == choice) found[n++] = l->fresh_dim[k];
    return n ? found[l->tie % n] : 0;
}

static Value lift_input(Lift *l, const Candidate *c, int v) {
    Type t = *type_get(l->w, space_shape(l->s, l->s->kind[c->kind[v]].shape)->type);
    int64_t n;
    for (int d = 0; d < t.dim.n && l->mode != LIFT_UNIFORM; d++)
        if (l->mode < LIFT_SIZES || !poly_constant(l->w, t.dim.v[d], &n))
            t.dim.v[d] = fresh_dim(l, t.dim.v[d]);
    return graph_input(l->w, arena_format(l->arena, "x%d", v + 1), &t);
}

/* The symbols of a list that may be any. Lists that are equal in the set file share their symbols
   if they have the same name there. */
static const Poly *free_list(Lift *l, const char *name, const PolyList *value) {
    for (int k = 0; k < l->nfree_list; k++)
        if (l->free_list[k].n == value->n && !strcmp(l->free_list[k].base, name) &&
            !memcmp(l->free_list[k].value, value->v, (size_t)value->n * sizeof(Poly)))
            return l->free_list[k].v;
    if (l->nfree_list == LIFT_FREE_LISTS) return value->v;
    FreeAttrList *y = &l->free_list[l->nfree_list++];
    int same = 0;
    for (int k = 0; k + 1 < l->nfree_list; k++) same += !strcmp(l->free_list[k].base, name);
    *y = (FreeAttrList){same ? arena_format(l->arena, "%s%d", name, same + 1) : name, name,
                        value->n, value->v, NULL};
    Poly *v = ARENA_NEW(l->arena, Poly, value->n);
    for (int k = 0; k < value->n; k++) v[k] = lift_fresh(l, true);
    return y->v = v;
}

/* Sets the attributes of one instruction: unknowns and sizes in them become symbols of this
   instruction alone. */
static void lift_attrs(Lift *l, const Variant *v, Attr attr[]) {
    Symbol from[SPACE_SIZES + SPACE_FREE];
    Poly to[SPACE_SIZES + SPACE_FREE];
    int n = 0;
    int64_t number;
    memcpy(attr, v->general, sizeof v->general);
    for (int k = 0; k < l->s->nsize; k++) {
        bool used = false;
        for (int j = 0; j < attrs_count(v->op->attrs); j++)
            for (int i = 0; i < v->general[j].ints.n; i++)
                used |= poly_mentions(l->w, v->general[j].ints.v[i], l->s->size[k]);
        if (!used || l->mode == LIFT_UNIFORM) continue;
        from[n] = l->s->size[k];
        to[n++] = lift_fresh(l, true);
    }
    for (int k = 0; k < v->nfree; k++) {
        bool fixed =
            v->chosen[k] && (l->mode == LIFT_UNIFORM ||
                             (l->mode >= LIFT_SIZES && poly_constant(l->w, v->choice[k], &number)));
        Poly tie = l->mode == LIFT_TIED && v->chosen[k] ? tied(l, v->choice[k]) : 0;
        from[n] = v->free[k];
        to[n++] = fixed ? v->choice[k] : tie ? tie : lift_fresh(l, true);
    }
    for (int k = 0; k < attrs_count(v->op->attrs); k++) {
        PolyList *list = &attr[k].ints;
        if (l->mode == LIFT_LISTS && v->whole[k]) {
            list->v = free_list(l, v->whole[k], &v->attr[k].ints);
            continue;
        }
        Poly *p = ARENA_NEW(l->arena, Poly, list->n);
        for (int j = 0; j < list->n; j++) p[j] = poly_subst(l->w, list->v[j], n, from, to);
        list->v = p;
    }
}

/* ---- graphs */

static Value lift_node(Lift *l, const Instr *in, const Value value[]) {
    const Variant *v = &l->s->op[in->op];
    const OpForm *f = &l->s->form[in->op];
    Attr attr[ATTRS_MAX];
    Value arg[TERM_ARGS] = {0};
    const char *why;
    lift_attrs(l, v, attr);
    for (int k = 0; k < f->narg; k++) arg[k] = value[in->arg[k]];
    int rank = f->narg ? value_type(l->w, arg[0])->dim.n : 0;
    for (int k = 0; k < attrs_count(v->op->attrs); k++)
        if (!v->given[k]) attr_default(l->w, &v->op->attrs[k], rank, &attr[k]);
    return node_make(l->w, v->op, attr, f->narg, arg, f->nout, &why);
}

/* Builds one side and sets its outputs. Returns false if it does not type-check. */
static bool lift_side(Lift *l, const Side *s, const Value in[], Value out[]) {
    Value value[REF_OUT + 4 * TERM_OPS] = {0};
    memcpy(value, in, TERM_VARS * sizeof *in);
    for (int i = 0; i < s->b.n; i++) {
        Value y = lift_node(l, &s->b.in[i], value);
        if (!y) return false;
        for (int p = 0; p < l->s->form[s->b.in[i].op].nout; p++)
            value[ref_out(i, p)] = y + (Value)p;
    }
    for (int k = 0; k < s->nout; k++) out[k] = value[s->out[k]];
    return true;
}

static bool lift_graph(Lift *l, const Candidate *c, Graph *g) {
    Value *in = ARENA_NEW(l->arena, Value, TERM_VARS),
          *out = ARENA_NEW(l->arena, Value, 2 * TERM_PORTS);
    for (int v = 0; v < c->nvar; v++) in[v] = lift_input(l, c, v);
    if (!lift_side(l, &c->from, in, out) || !lift_side(l, &c->to, in, out + c->from.nout))
        return false;
    *g = (Graph){c->nvar, c->from.nout + c->to.nout, in, out};
    return true;
}

/* ---- solving and trying */

static bool solve_graph(Lift *l, const Graph *g) {
    LitList needs = graph_needs(l->w, l->arena, g);
    Poly eq[LIFT_EQUATIONS];
    int n = 0;
    for (int k = 0; k < needs.n && n < LIFT_EQUATIONS; k++)
        if (needs.v[k].eq) eq[n++] = needs.v[k].p;
    for (int k = 0; k < g->nout / 2; k++) {
        const Type *a = value_type(l->w, g->out[k]), *b = value_type(l->w, g->out[k + g->nout / 2]);
        if (a->dim.n != b->dim.n || a->dtype != b->dtype) return false;
        for (int d = 0; d < a->dim.n && n < LIFT_EQUATIONS; d++)
            eq[n++] = poly_sub(l->w, a->dim.v[d], b->dim.v[d]);
    }
    return lift_solve(l, n, eq);
}

static bool lift_at(Lift *l, const Candidate *c, Graph *g) {
    Graph uniform;
    Error e = {0};
    l->nfresh = l->nattribute = l->nsolved = l->nfree_list = l->ndim = 0;
    if (!lift_graph(l, c, &uniform) || !solve_graph(l, &uniform)) return false;
    if (!graph_resize(l->w, l->arena, &uniform, (NewSizes){l->nsolved, l->from, l->to}, g, &e))
        return false;
    for (int k = 0; k < l->nfree_list; k++) {
        Poly *v = ARENA_NEW(l->arena, Poly, l->free_list[k].n);
        for (int j = 0; j < l->free_list[k].n; j++)
            v[j] = poly_subst(l->w, l->free_list[k].v[j], l->nsolved, l->from, l->to);
        l->free_list[k].v = v;
    }
    return !overflow_noted(l->w);
}

/* Whether all free lists are still free: a list is not if solving fixed one of its entries. */
static bool lists_are_free(const Lift *l) {
    for (int k = 0; k < l->nfree_list; k++)
        for (int j = 0; j < l->free_list[k].n; j++)
            if (!poly_is_symbol(l->w, l->free_list[k].v[j])) return false;
    return true;
}

static bool has_unknowns(const Lift *l, const Candidate *c) {
    const Side *side[] = {&c->from, &c->to};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < side[k]->b.n; i++) {
            const Variant *v = &l->s->op[side[k]->b.in[i].op];
            for (int j = 0; j < v->nfree; j++)
                if (v->chosen[j]) return true;
        }
    return false;
}

static LiftResult lift_once(Lift *l, const Candidate *c, unsigned *ranks, Text *out) {
    Graph g;
    ArenaMark mark = arena_mark(l->arena);
    Overflow overflow = overflow_begin(l->w);
    l->npositive = 0;
    bool typed =
        lift_at(l, c, &g) && (l->mode > LIFT_LISTS || (l->nfree_list && lists_are_free(l)));
    LiftResult r = typed ? lift_try(l, &g, SAMPLES) : LIFT_FALSE;
    if (r == LIFT_TRUE) {
        *ranks = l->mode <= LIFT_NUMBERS && !l->npositive ? lift_print_blocks(l, &g, out) : 0;
        if (!*ranks) lift_print(l, &g, out);
    }
    overflow_end(l->w, overflow);
    world_reset(l->w, l->mark);
    arena_reset(l->arena, mark);
    return r;
}

unsigned lift_ranks(Lift *l, const Candidate *c) {
    Graph g;
    ArenaMark mark = arena_mark(l->arena);
    unsigned ranks = 0;
    Overflow overflow = overflow_begin(l->w);
    for (int m = 0; m <= LIFT_NUMBERS; m++) {
        l->mode = (LiftMode)m;
        if (lift_at(l, c, &g)) ranks |= lift_fits_blocks(l, &g);
        world_reset(l->w, l->mark);
    }
    overflow_end(l->w, overflow);
    arena_reset(l->arena, mark);
    return ranks;
}

LiftResult lift_rule(Lift *l, const Candidate *c, LiftMode *mode, unsigned *ranks, Text *out) {
    enum { TIES = 4, PROGRAMS_MAX = 12 << 20 };
    if (arena_bytes(l->programs) > PROGRAMS_MAX) programs_close(l), programs_open(l);
    LiftResult y = LIFT_FALSE;
    l->draw = l->seed ^ hash_bytes(c->from.b.in, sizeof c->from.b.in) ^
              3 * hash_bytes(c->to.b.in, sizeof c->to.b.in);
    for (int m = 0; m < LIFT_MODES; m++) {
        if (m == LIFT_TIED && !has_unknowns(l, c)) continue;
        l->mode = *mode = (LiftMode)m;
        for (l->tie = 0; l->tie < (m == LIFT_TIED ? TIES : 1); l->tie++) {
            LiftResult r = lift_once(l, c, ranks, out);
            if (r == LIFT_TRUE) return r;
            if (r == LIFT_UNTRIED) y = r;
        }
    }
    return y;
}
