/* tabulate_sum.c -- sums and maxima in definitions written as graphs. Over small ranges they are
   written term by term, and padding takes the place of what a condition on an index leaves out;
   over whole axes they are reductions. */
#include "generator/discover/tabulate_inner.h"
#include <string.h>

static const Grid none;
typedef struct Guard { /* a condition 0 <= place < size on the index at which an input is read */
    Poly place, size;
    int axis;               /* the axis of the space that `place` depends on */
    int64_t step;           /* place = step * index + rest */
    Poly rest, front, back; /* front, back: the padding that replaces the condition */
} Guard;
typedef struct Sum {
    Tabulation *x;
    const IndexSpace *s;
    Ex body;
    const Op *join, *reduce;
    int nwindow, nlong, nguard, terms;
    /* Variables with small ranges, and those over whole axes. */
    Symbol window[RANK_MAX], whole[RANK_MAX];
    int64_t extent[RANK_MAX]; /* lengths of the small ranges */
    Guard guard[RANK_MAX];
    Reads *reads;
} Sum;

/* ---- the ranges */

static void split_ranges(Sum *u, const ExNode *n) {
    u->terms = 1;
    for (int k = 0; k < n->n; k++) {
        const Symbol index = poly_is_symbol(u->x->w, n->dims[k]);
        int64_t extent;
        const bool small = poly_constant(u->x->w, symbol_def(u->x->w, index).arg[0], &extent) &&
                           extent > 0 && u->terms * extent <= TABLE_TERMS;
        if (!small) {
            u->whole[u->nlong++] = index;
            continue;
        }
        u->terms *= (int)extent;
        u->extent[u->nwindow] = extent;
        u->window[u->nwindow++] = index;
    }
}

/* Sets the values of the window variables for term k. */
static void values_of(const Sum *u, int k, Poly to[]) {
    for (int j = u->nwindow - 1; j >= 0; j--) {
        to[j] = poly_int(u->x->w, k % u->extent[j]);
        k /= (int)u->extent[j];
    }
}

/* The polynomial at the values of the window variables that make it least (end = 0) or greatest
   (end = 1). */
static bool extreme(const Sum *u, Poly p, int end, Poly *out) {
    World *w = u->x->w;
    for (int k = 0; k < u->nwindow; k++) {
        const Poly nought = 0, one = poly_int(w, 1);
        int64_t c;
        const Poly at_0 = poly_subst(w, p, 1, &u->window[k], &nought),
                   step = poly_sub(w, poly_subst(w, p, 1, &u->window[k], &one), at_0);
        if (!poly_constant(w, step, &c)) return false;
        const bool last = (c > 0) == (end == 1);
        p = last ? poly_add(w, at_0, poly_scale(w, step, u->extent[k] - 1)) : at_0;
    }
    *out = p;
    return true;
}

/* ---- guards */

/* The polynomial, or 0 if it cannot be positive. */
static Poly not_negative(Tabulation *x, Poly p) {
    int64_t v;
    if (poly_constant(x->w, p, &v)) return v > 0 ? p : 0;
    return facts_entail(x->facts, (Lit){poly_scale(x->w, p, -1), false}) ? 0 : p;
}

static bool open_guard(Sum *u, Guard *g) {
    Tabulation *x = u->x;
    World *w = x->w;
    Poly least, greatest;
    if (!table_affine(x, u->s, g->place, &g->axis, &g->step, &g->rest) || g->axis < 0 ||
        !extreme(u, g->rest, 0, &least) || !extreme(u, g->rest, 1, &greatest))
        return false;
    const Poly last = poly_scale(w, poly_sub(w, u->s->size[g->axis], poly_int(w, 1)), g->step);
    g->front = not_negative(x, poly_scale(w, least, -1));
    g->back = not_negative(
        x, poly_sub(w, poly_add(w, poly_add(w, last, greatest), poly_int(w, 1)), g->size));
    return true;
}

/* Whether the condition says that some element lies within its input. It then becomes a guard. */
static bool guard_of(Sum *u, Lit lit) {
    World *w = u->x->w;
    for (int k = 0; k < u->reads->n && !lit.eq; k++) {
        const ExNode *r = &u->reads->v[k];
        const Dims dim = value_type(w, u->x->node.in[r->word])->dim;
        for (int d = 0; d < r->n; d++) {
            const Poly last = poly_sub(w, dim.v[d], poly_int(w, 1));
            if (lit.p != r->dims[d] && lit.p != poly_sub(w, last, r->dims[d])) continue;
            for (int j = 0; j < u->nguard; j++)
                if (u->guard[j].place == r->dims[d]) return true;
            if (u->nguard == RANK_MAX) return false;
            u->guard[u->nguard] = (Guard){.place = r->dims[d], .size = dim.v[d]};
            return open_guard(u, &u->guard[u->nguard++]);
        }
    }
    return false;
}

static bool open_guards(Sum *u, const Cond *cond) {
    for (int k = 0; k < cond->n; k++)
        if (!facts_entail(u->x->facts, cond->v[k]) && !guard_of(u, cond->v[k])) return false;
    return true;
}

/* ---- what is summed is one table, read at several offsets */

/* The expression with the index at each guard replaced by a symbol of its own. Returns 0 if that is
   not possible. */
static Ex renamed(Sum *u, Ex e, const Symbol name[]) {
    World *w = u->x->w;
    ExNode n;
    ex_get(w, e, &n);
    for (int k = 0; k < ex_children(n.kind); k++)
        if (!(n.child[k] = renamed(u, n.child[k], name))) return 0;
    for (int d = 0; d < n.n && n.kind == EX_AT; d++)
        for (int g = 0; g < u->nguard; g++) {
            if (!poly_mentions(w, n.dims[d], u->s->index[u->guard[g].axis])) continue;
            if (n.dims[d] != u->guard[g].place) return 0;
            n.dims[d] = poly_symbol(w, name[g]);
            break;
        }
    if (n.kind == EX_SUM || n.kind == EX_MAXIMUM || n.kind == EX_IF || n.kind == EX_SIZE) return 0;
    return ex_make(w, &n);
}

static bool reads_window(Sum *u, Ex e) {
    Reads *r = ARENA_NEW(u->x->a, Reads, 1);
    table_reads(u->x, e, r);
    for (int k = 0; k < r->n; k++)
        for (int d = 0; d < r->v[k].n; d++)
            for (int j = 0; j < u->nwindow; j++)
                if (poly_mentions(u->x->w, r->v[k].dims[d], u->window[j])) return true;
    return !r->all;
}

/* Term k along the axis of the guard, as a slice of the padded table. Axes of earlier guards have
   the sizes of the sum already. */
static Value part(const Sum *u, Grid t, const Guard *g, int k) {
    World *w = u->x->w;
    const Dims dim = value_type(w, t.v)->dim;
    Poly start[TABLE_AXES] = {0}, step[TABLE_AXES], to[RANK_MAX], size[TABLE_AXES];
    const int at = table_place(t.axes, g->axis);
    for (int d = 0; d < dim.n; d++) {
        step[d] = poly_int(w, d == at ? g->step : 1);
        size[d] = d == at ? u->s->size[g->axis] : dim.v[d];
    }
    values_of(u, k, to);
    start[at] = poly_add(w, poly_subst(w, g->rest, u->nwindow, u->window, to), g->front);
    return table_slice(u->x, t.v, start, size, step);
}

/* The window variables that a guard's index depends on, as bits. */
static unsigned windows_of(const Sum *u, const Guard *g) {
    unsigned set = 0;
    for (int k = 0; k < u->nwindow; k++)
        set |= (unsigned)poly_mentions(u->x->w, g->rest, u->window[k]) << k;
    return set;
}

/* Joins all terms that differ only in this guard's window variables. */
static Grid joined_along(const Sum *u, Grid t, const Guard *g) {
    const unsigned own = windows_of(u, g);
    Grid y = none;
    for (int k = 0; k < u->terms; k++) {
        Poly to[RANK_MAX];
        bool other = false;
        values_of(u, k, to);
        for (int j = 0; j < u->nwindow; j++) other |= !(own >> j & 1) && to[j];
        if (other) continue;
        const Grid term = {part(u, t, g, k), t.axes};
        y = y.v ? table_join(u->x, u->s, u->join, y, term) : term;
        if (!y.v) return none;
    }
    return y;
}

/* Writes the sum as one padded table that is sliced and added along one axis after the other. This
   requires that each guard has an axis and window variables of its own. */
static Grid of_one_table(Sum *u) {
    World *w = u->x->w;
    Symbol name[RANK_MAX];
    IndexSpace all = *u->s;
    Poly front[TABLE_AXES] = {0}, back[TABLE_AXES] = {0};
    int n = 0;
    for (int g = 0; g < u->nguard; g++) {
        name[g] = symbol_bound(w, u->guard[g].size);
        all.index[u->guard[g].axis] = name[g];
        all.size[u->guard[g].axis] = u->guard[g].size;
        for (int j = 0; j < g; j++)
            if (u->guard[j].axis == u->guard[g].axis) return none;
    }
    unsigned used = 0;
    for (int g = 0; g < u->nguard; g++) {
        if (used & windows_of(u, &u->guard[g])) return none;
        used |= windows_of(u, &u->guard[g]);
    }
    if (used != (1u << u->nwindow) - 1) return none;
    const Ex body = renamed(u, u->body, name);
    if (!body || reads_window(u, body)) return none;
    const Grid t = table_total(u->x, &all, u->nlong, u->whole, body, u->reduce);
    if (!t.v) return none;
    for (int axis = 0; axis < all.n; axis++)
        for (int g = 0; g < u->nguard && t.axes >> axis & 1; g++) {
            if (u->guard[g].axis != axis) continue;
            front[table_place(t.axes, axis)] = u->guard[g].front;
            back[table_place(t.axes, axis)] = u->guard[g].back;
            n++;
        }
    if (n != u->nguard) return none;
    Grid y = {table_pad(u->x, t.v, front, back), t.axes};
    for (int g = 0; g < u->nguard && y.v; g++) y = joined_along(u, y, &u->guard[g]);
    return y;
}

/* ---- term by term */

/* Whether the expression is 0 where this input is 0. */
static bool vanishes(Tabulation *x, Ex e, uint32_t input) {
    ExNode n;
    ex_get(x->w, e, &n);
    switch (n.kind) {
    case EX_AT: return n.word == input;
    case EX_MUL: return vanishes(x, n.a, input) || vanishes(x, n.b, input);
    case EX_ADD: return vanishes(x, n.a, input) && vanishes(x, n.b, input);
    case EX_FN: return (n.word == FN_ABS || n.word == FN_SQRT) && vanishes(x, n.a, input);
    default: return false;
    }
}

/* Pads the inputs that the guards belong to. Returns false unless each such input is read at one
   index only, and makes the body 0 where it is 0. */
static bool pad_inputs(Sum *u, Padding padding[]) {
    for (int g = 0; g < u->nguard; g++) {
        bool any = false;
        for (int k = 0; k < u->reads->n; k++) {
            const ExNode *r = &u->reads->v[k];
            for (int d = 0; d < r->n; d++) {
                if (r->dims[d] != u->guard[g].place) continue;
                if (!vanishes(u->x, u->body, r->word)) return false;
                padding[r->word].is = any = true;
                padding[r->word].front[d] = u->guard[g].front;
                padding[r->word].back[d] = u->guard[g].back;
            }
        }
        if (!any) return false;
    }
    for (int k = 0; k < u->reads->n; k++) /* a padded input must be read at one index only */
        for (int j = 0; j < k; j++) {
            const ExNode *a = &u->reads->v[k], *b = &u->reads->v[j];
            if (a->word == b->word && padding[a->word].is &&
                memcmp(a->dims, b->dims, (size_t)a->n * sizeof *a->dims) != 0)
                return false;
        }
    return true;
}

static Grid of_terms(Sum *u) {
    Tabulation *x = u->x;
    Padding *padding = ARENA_NEW(x->a, Padding, x->node.nin), *before = x->padding;
    if (!pad_inputs(u, padding)) return none;
    for (int k = 0; k < x->node.nin; k++)
        if (before[k].is) return none; /* a padded sum within a padded sum */
    x->padding = padding;
    Grid y = none;
    for (int k = 0; k < u->terms; k++) {
        Poly to[RANK_MAX];
        values_of(u, k, to);
        const Ex body =
            u->nwindow ? ex_subst(x->w, u->body, u->nwindow, u->window, to, NULL, 0) : u->body;
        const Grid term = table_total(x, u->s, u->nlong, u->whole, body, u->reduce);
        y = k ? table_join(x, u->s, u->join, y, term) : term;
        if (!y.v) break;
    }
    x->padding = before;
    return y;
}

Grid table_sum(Tabulation *x, const IndexSpace *s, const ExNode *n) {
    const bool maximum = n->kind == EX_MAXIMUM;
    ExNode body;
    Sum u = {.x = x,
             .s = s,
             .body = n->a,
             .join = maximum ? &op_max : &op_add,
             .reduce = maximum ? &op_reduce_max : &op_reduce_sum};
    u.reads = ARENA_NEW(x->a, Reads, 1);
    table_reads(x, n->a, u.reads);
    split_ranges(&u, n);
    if (!u.reads->all || !open_guards(&u, &n->cond)) return none;
    ex_get(x->w, n->a, &body);
    if (body.kind == EX_NUM && !u.nlong && !u.nguard && !maximum)
        return table_number(x, ex_rational(x->w, body.p * u.terms, body.q));
    if (u.nguard && maximum) return none; /* no number could be the padding of a maximum */
    const Grid y = u.nguard ? of_one_table(&u) : none;
    return y.v ? y : of_terms(&u);
}

/* The mean of a sum over whole axes that is divided by their size. */
Grid table_mean(Tabulation *x, const IndexSpace *s, const ExNode *n) {
    ExNode sum, by, size;
    ex_get(x->w, n->a, &sum);
    ex_get(x->w, n->b, &by);
    if (sum.kind != EX_SUM || sum.cond.n || by.kind != EX_FN || by.word != FN_RECIP) return none;
    ex_get(x->w, by.a, &size);
    if (size.kind != EX_SIZE) return none;
    Poly all = poly_int(x->w, 1);
    Symbol index[RANK_MAX];
    for (int k = 0; k < sum.n; k++) {
        index[k] = poly_is_symbol(x->w, sum.dims[k]);
        all = poly_mul(x->w, all, symbol_def(x->w, index[k]).arg[0]);
    }
    int64_t number;
    if (all != size.size || poly_constant(x->w, all, &number)) return none;
    return table_total(x, s, sum.n, index, sum.a, &op_reduce_mean);
}
