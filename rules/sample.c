/* sample.c -- draws numbers for all symbols; an equality that does not hold is repaired by changing
   one of its symbols. Once all conditions hold, match_apply builds both sides, and checks the
   conditions and types again. */
#include "rules/sample.h"
#include "rules/match_apply.h"
#include "ops/base/random.h"
#include <string.h>

enum {
    DRAWS = 2000,
    ROUNDS = 4,
    GREATEST = 24,
    REALS = 29 /* real variables with values of their own */
};
typedef struct Draw {
    World *w;
    Arena *arena;
    const Instance *i;
    Random random;
    int nlit, nwish;
    Lit *lit;  /* the conditions */
    Lit *wish; /* further wishes: no value is empty */
    uint32_t n;
    int64_t *value; /* for each symbol */
} Draw;

static bool value_at(const Draw *d, Poly p, int64_t *out) {
    return poly_eval(d->w, p, (Sizes){d->n, d->value}, out);
}

static bool condition_holds(const Draw *d, Lit lit) {
    return lit_at(d->w, lit, (Sizes){d->n, d->value}) == 1;
}

static void add_condition(Draw *d, Poly p, bool eq) { d->lit[d->nlit++] = (Lit){p, eq}; }

static void collect_needs(Draw *d) {
    const Instance *i = d->i;
    int room = i->nneed_from + i->nneed_to + i->nwhere + (i->ninput + i->from.nout) * RANK_MAX;
    d->lit = ARENA_NEW(d->arena, Lit, room);
    for (int k = 0; k < i->nneed_from; k++) d->lit[d->nlit++] = i->need_from[k];
    for (int k = 0; k < i->nneed_to; k++) d->lit[d->nlit++] = i->need_to[k];
    for (int k = 0; k < i->nwhere; k++) d->lit[d->nlit++] = i->where[k];
    for (int k = 0; k < i->ninput; k++) {
        Dims dim = value_type(d->w, i->input[k])->dim;
        for (int a = 0; a < dim.n; a++) add_condition(d, dim.v[a], false);
    }
    for (int k = 0; k < i->from.nout; k++) {
        Dims x = value_type(d->w, i->from.out[k])->dim, y = value_type(d->w, i->to.out[k])->dim;
        for (int a = 0; a < x.n; a++) add_condition(d, poly_sub(d->w, x.v[a], y.v[a]), true);
    }
}

static void wish(Draw *d, const Graph *g) {
    NodeList live = graph_live(d->w, d->arena, g);
    int room = d->nwish;
    for (int k = 0; k < live.n; k++) room += node_get(d->w, live.v[k]).nout * RANK_MAX;
    Lit *more = ARENA_NEW(d->arena, Lit, room);
    if (d->nwish) memcpy(more, d->wish, sizeof *more * (size_t)d->nwish);
    d->wish = more;
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(d->w, live.v[k]);
        for (int j = 0; j < n.nout; j++) {
            Dims dim = value_type(d->w, n.out + (Value)j)->dim;
            for (int a = 0; a < dim.n; a++)
                more[d->nwish++] = (Lit){poly_sub(d->w, dim.v[a], poly_int(d->w, 1)), false};
        }
    }
}

/* Tries to make p == 0 by changing s, in which p must be linear. */
static bool solve_for(Draw *d, Poly p, Symbol s, int64_t least) {
    int64_t old = d->value[s], one, two, zero;
    d->value[s] = 1;
    bool good = value_at(d, p, &one);
    d->value[s] = 2;
    good = good && value_at(d, p, &two) && two != one && (2 * one - two) % (two - one) == 0;
    d->value[s] = good ? -(2 * one - two) / (two - one) : old;
    if (good && d->value[s] >= least && d->value[s] <= GREATEST && value_at(d, p, &zero) && !zero)
        return true;
    d->value[s] = old;
    return false;
}

static void repair_condition(Draw *d, Lit lit, int64_t least) {
    int n = d->i->nsymbol, first = (int)random_below(&d->random, (uint64_t)n);
    for (int k = 0; k < n; k++) {
        int s = (first + k) % n;
        if (poly_mentions(d->w, lit.p, d->i->symbol[s]) &&
            solve_for(d, lit.p, d->i->symbol[s], d->i->is_size[s] ? least : 0))
            return;
    }
}

/* Draws sizes from `least` on and small other integers (strides, pads, axes). Returns whether all
   conditions hold. */
static bool draw_symbols(Draw *d, int64_t least, bool wishes) {
    const Instance *i = d->i;
    for (int k = 0; k < i->nsymbol; k++)
        d->value[i->symbol[k]] = i->is_size[k] ? least + (int64_t)random_below(&d->random, 6)
                                               : (int64_t)random_below(&d->random, 3);
    for (int round = 0; round < ROUNDS && i->nsymbol; round++)
        for (int k = 0; k < d->nlit; k++)
            if (d->lit[k].eq && !condition_holds(d, d->lit[k]))
                repair_condition(d, d->lit[k], least);
    for (int k = 0; k < d->nlit; k++)
        if (!condition_holds(d, d->lit[k])) return false;
    for (int k = 0; k < d->nwish && wishes; k++)
        if (!condition_holds(d, d->wish[k])) return false;
    return true;
}

/* ---- both sides at these numbers */

static Dims dims_at(const Draw *d, Dims dim) {
    for (int k = 0; k < dim.n; k++) {
        int64_t n = 0;
        value_at(d, dim.v[k], &n);
        dim.v[k] = poly_int(d->w, n);
    }
    return dim;
}

static Value placeholder(const Draw *d, const char *name, Value like) {
    Type t = *value_type(d->w, like);
    t.dim = dims_at(d, t.dim);
    return graph_input(d->w, name, &t);
}

static bool build_sample(const Draw *d, RuleSample *out, Error *e) {
    const Instance *i = d->i;
    Instance mirror = *i;
    mirror.to = i->from;
    Value *in = ARENA_NEW(d->arena, Value, i->ninput),
          *root = ARENA_NEW(d->arena, Value, i->from.nout),
          *left = ARENA_NEW(d->arena, Value, i->from.nout),
          *right = ARENA_NEW(d->arena, Value, i->to.nout);
    Poly *symbol = ARENA_NEW(d->arena, Poly, i->nsymbol);
    Ex *real = ARENA_NEW(d->arena, Ex, i->nreal);
    for (int k = 0; k < i->ninput; k++)
        in[k] = placeholder(d, input_name(d->w, i->input[k]), i->input[k]);
    for (int k = 0; k < i->from.nout; k++)
        root[k] = placeholder(d, arena_format(d->arena, "result %d", k), i->from.out[k]);
    for (int k = 0; k < i->nsymbol; k++) symbol[k] = poly_int(d->w, d->value[i->symbol[k]]);
    for (int k = 0; k < i->nreal; k++) real[k] = ex_rational(d->w, 1, 2 << (k < REALS ? k : REALS));
    Facts *facts = facts_new(d->w, d->arena);
    Match m = {.instance = i, .input = in, .root = root, .symbol = symbol, .real = real};
    if (!match_apply(d->w, d->arena, facts, &m, right, e)) return false;
    m.instance = &mirror;
    if (!match_apply(d->w, d->arena, facts, &m, left, e)) return false;
    out->from = (Graph){i->ninput, i->from.nout, in, left};
    out->to = (Graph){i->ninput, i->to.nout, in, right};
    return true;
}

bool sample_make(World *w, Arena *a, const Instance *i, RuleSample *out, Error *e) {
    Draw d = {.w = w, .arena = a, .i = i, .random = {1, 0}, .n = 1};
    for (int k = 0; k < i->nsymbol; k++) d.n = i->symbol[k] >= d.n ? i->symbol[k] + 1 : d.n;
    d.value = ARENA_NEW(a, int64_t, d.n);
    for (uint32_t k = 0; k < d.n; k++) d.value[k] = SIZE_UNKNOWN;
    collect_needs(&d);
    wish(&d, &i->from);
    wish(&d, &i->to);
    bool found = false;
    for (int64_t least = 2; least >= 0 && !found; least--)
        for (int k = 0; k < DRAWS && !found; k++) found = draw_symbols(&d, least, least > 0);
    if (!found)
        return error_set(e, E_CHECK, i->rule->name, "no sizes were found that satisfy the rule");
    int64_t *value = ARENA_NEW(a, int64_t, i->nsymbol);
    for (int k = 0; k < i->nsymbol; k++) value[k] = d.value[i->symbol[k]];
    out->value = value;
    return build_sample(&d, out, e);
}
