/* rule_trial.c -- tries rules with numbers. To find sizes, it draws values for all symbols, then
   repairs equations that do not hold by solving each for one symbol, until all conditions hold or
   the attempts are used up. */
#include "test/shared/rule_trial.h"
#include "ops/core/element.h"
#include "graphs/world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LARGE = 12, INPUTS = 32, OUTPUTS = 16, GREATEST = 40, ELEMENTS = 20000 };

static bool give_up(Trial *t, const char *reason) {
    snprintf(t->why, sizeof t->why, "%s: %.250s", t->rule->name, reason);
    return false;
}

/* ---- the conditions that values must satisfy */

static void add_lit(Trial *t, Lit *list, Poly p, bool eq) { list[t->nlit++] = (Lit){p, eq}; }

static void collect(Trial *t, TrialNeeds needs) {
    const Instance *i = &t->instance;
    int room = i->nneed_from + i->nneed_to + i->nwhere + (i->ninput + i->from.nout) * RANK_MAX;
    Lit *list = ARENA_NEW(t->arena, Lit, room);
    for (int k = 0; k < i->ninput; k++)
        for (int d = 0; d < value_type(t->w, i->input[k])->dim.n; d++)
            add_lit(t, list, value_type(t->w, i->input[k])->dim.v[d], false);
    for (int k = 0; k < i->nneed_from; k++) list[t->nlit++] = i->need_from[k];
    for (int k = 0; k < i->nwhere; k++) list[t->nlit++] = i->where[k];
    for (int k = 0; k < i->nneed_to && needs != TRIAL_LEFT; k++) list[t->nlit++] = i->need_to[k];
    for (int k = 0; k < i->from.nout && needs == TRIAL_BOTH; k++) {
        const Type *a = value_type(t->w, i->from.out[k]), *b = value_type(t->w, i->to.out[k]);
        for (int d = 0; d < a->dim.n; d++)
            if (a->dim.v[d] != b->dim.v[d])
                add_lit(t, list, poly_sub(t->w, a->dim.v[d], b->dim.v[d]), true);
    }
    t->lit = list;
}

bool trial_open(Trial *t, const Rule *rule, const int length[], TrialNeeds needs, uint64_t seed) {
    *t = (Trial){.w = graph_world_new(NULL, 0),
                 .arena = arena_new(NULL, 0),
                 .random = {seed, 0},
                 .rule = rule};
    Error e = {0};
    if (!rule_instance(t->w, t->arena, rule, length, &t->instance, &e)) return give_up(t, e.reason);
    if (t->instance.nsymbol > TRIAL_SYMBOLS || t->instance.ninput > INPUTS ||
        t->instance.from.nout > OUTPUTS)
        return give_up(t, "too large");
    collect(t, needs);
    return true;
}

void trial_close(Trial *t) {
    arena_free(t->arena);
    world_free(t->w);
}

/* ---- drawing */

typedef struct Values {
    uint32_t n;
    int64_t *by_symbol;
} Values;

static Values values(Trial *t) {
    const Instance *i = &t->instance;
    /* The symbols are in ascending order. */
    uint32_t n = i->nsymbol ? i->symbol[i->nsymbol - 1] + 1 : 1;
    Values v = {n, ARENA_NEW(t->arena, int64_t, n)};
    for (uint32_t k = 0; k < n; k++) v.by_symbol[k] = SIZE_UNKNOWN;
    for (int k = 0; k < i->nsymbol; k++) v.by_symbol[i->symbol[k]] = t->value[k];
    return v;
}

static bool evaluated(Trial *t, Values v, Poly p, int64_t *out) {
    return poly_eval(t->w, p, (Sizes){v.n, v.by_symbol}, out);
}

static bool holds(Trial *t, Values v) {
    for (int k = 0; k < t->nlit; k++) {
        int64_t n;
        if (!evaluated(t, v, t->lit[k].p, &n) || (t->lit[k].eq ? n != 0 : n < 0)) return false;
    }
    return true;
}

/* Finds the value of symbol s for which p is 0, all other values unchanged, if p is linear in s
   there. */
static bool solve(Trial *t, Values v, Poly p, Symbol s, int64_t *x) {
    int64_t old = v.by_symbol[s], at0, at1, check = 1;
    v.by_symbol[s] = 1;
    bool ok = evaluated(t, v, p, &at1);
    v.by_symbol[s] = 2;
    ok = ok && evaluated(t, v, p, &at0);
    int64_t slope = ok ? at0 - at1 : 0, base = ok ? at1 - slope : 0;
    if (slope && base % slope == 0) {
        *x = -base / slope;
        v.by_symbol[s] = *x;
        ok = evaluated(t, v, p, &check) && check == 0;
    } else ok = false;
    v.by_symbol[s] = old;
    return ok;
}

static void repair(Trial *t, Values v, const Lit *lit, int64_t least) {
    int n = t->instance.nsymbol, first = n ? (int)random_below(&t->random, (uint64_t)n) : 0;
    int64_t now, x;
    if (!lit->eq || (evaluated(t, v, lit->p, &now) && now == 0)) return;
    for (int k = 0; k < n; k++) {
        Symbol s = t->instance.symbol[(first + k) % n];
        if (!poly_mentions(t->w, lit->p, s) || !solve(t, v, lit->p, s, &x)) continue;
        if (x > GREATEST || x < (t->instance.is_size[(first + k) % n] ? least : -GREATEST))
            continue;
        v.by_symbol[s] = x;
        return;
    }
}

/* Draws a small number; 1 is the most frequent. Symbols that are not sizes get even smaller
   numbers. */
static int64_t draw(Trial *t, bool is_size, int64_t least) {
    uint64_t kind = random_below(&t->random, 6);
    if (least > 1) return (is_size ? least : 0) + (int64_t)random_below(&t->random, 4);
    if (kind < 2) return 1;
    if (kind == 2 && least == 0) return 0;
    if (!is_size) return (int64_t)random_below(&t->random, 3) + (kind == 3 && least ? 1 : 0);
    return 1 + (int64_t)random_below(&t->random, kind == 5 ? 6 : 4);
}

bool trial_draw(Trial *t, int64_t least) {
    const Instance *i = &t->instance;
    ArenaMark mark = arena_mark(t->arena);
    bool found = false;
    for (int tries = 0; tries < TRIAL_TRIES && !found; tries++) {
        for (int k = 0; k < i->nsymbol; k++) t->value[k] = draw(t, i->is_size[k], least);
        Values v = values(t);
        for (int round = 0; round < 4 && !(found = holds(t, v)); round++)
            for (int k = 0; k < t->nlit; k++) repair(t, v, &t->lit[k], least);
        for (int k = 0; k < i->nsymbol; k++) t->value[k] = v.by_symbol[i->symbol[k]];
        arena_reset(t->arena, mark);
    }
    return found || give_up(t, "no sizes satisfy what it needs");
}

/* ---- one side at these sizes, as a graph of its own */

typedef struct Copy {
    Trial *t;
    Value *to;
} Copy;

static Poly sized(Trial *t, Poly p) {
    Poly to[TRIAL_SYMBOLS];
    for (int k = 0; k < t->instance.nsymbol; k++) to[k] = poly_int(t->w, t->value[k]);
    return poly_subst(t->w, p, t->instance.nsymbol, t->instance.symbol, to);
}

/* Real numbers become the nearest float, since models hold floats; but one that is an element of
   doubles or integers (`as_is`) stays what it is. */
static Ex sized_real(Trial *t, Ex x, bool as_is) {
    ExNode n;
    double v;
    if (!x) return x;
    if (ex_number(t->w, x, &v)) return ex_real(t->w, as_is ? v : (double)(float)v);
    ex_get(t->w, x, &n);
    for (int k = 0; n.kind == EX_PARAM && k < t->instance.nreal; k++)
        if (!strcmp(t->instance.real[k], world_text(t->w, n.word)))
            return ex_rational(t->w, 1, 2 << k);
    return x;
}

static Value copy_input(Trial *t, Value v) {
    Type type = *value_type(t->w, v);
    for (int k = 0; k < type.dim.n; k++) type.dim.v[k] = sized(t, type.dim.v[k]);
    return graph_input(t->w, arena_format(t->arena, "in-%s", input_name(t->w, v)), &type);
}

static bool copy_node(Copy *c, NodeId id) {
    Trial *t = c->t;
    Node node = node_get(t->w, id);
    Attr attr[ATTRS_MAX];
    Value *in = ARENA_NEW(t->arena, Value, node.nin);
    const char *why = "";
    if (input_name(t->w, node.out)) return (c->to[id] = copy_input(t, node.out)) != 0;
    for (int k = 0; k < node.nin; k++) in[k] = node.in[k] ? c->to[node.in[k]] : 0;
    sig_attr(t->w, node.sig, attr);
    const DType type = value_type(t->w, node.out)->dtype;
    const bool wide = type == DT_DOUBLE || dtype_class(type) != 'F';
    for (int k = 0; k < attrs_count(node.op->attrs); k++) {
        Poly *list = ARENA_NEW(t->arena, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++) list[j] = sized(t, attr[k].ints.v[j]);
        attr[k].ints.v = list;
        attr[k].real = sized_real(t, attr[k].real, wide && node.op->attrs[k].element);
    }
    Value y = node_make(t->w, node.op, attr, node.nin, in, node.nout, &why);
    for (int k = 0; k < node.nout; k++) c->to[node.out + (Value)k] = y ? y + (Value)k : 0;
    return y || give_up(t, arena_format(t->arena, "%s: %s", node.op->name, why));
}

bool trial_graph(Trial *t, const Graph *side, Graph *out) {
    NodeList live = graph_live(t->w, t->arena, side);
    Value past = 1, *in = ARENA_NEW(t->arena, Value, side->nin),
          *outs = ARENA_NEW(t->arena, Value, side->nout);
    for (int k = 0; k < side->nin; k++) past = side->in[k] >= past ? side->in[k] + 1 : past;
    for (int k = 0; k < live.n; k++) {
        Value end = live.v[k] + (Value)node_get(t->w, live.v[k]).nout;
        past = end > past ? end : past;
    }
    Copy c = {t, ARENA_NEW(t->arena, Value, past)};
    for (int k = 0; k < live.n; k++)
        if (!copy_node(&c, live.v[k])) return false;
    for (int k = 0; k < side->nin; k++)
        in[k] = c.to[side->in[k]] ? c.to[side->in[k]] : copy_input(t, side->in[k]);
    for (int k = 0; k < side->nout; k++) outs[k] = c.to[side->out[k]];
    *out = (Graph){side->nin, side->nout, in, outs};
    return true;
}

/* ---- computing and comparing */

static int64_t elements(Trial *t, Value v) {
    int64_t n = -1;
    return poly_constant(t->w, type_count(t->w, value_type(t->w, v)), &n) ? n : -1;
}

static bool computed(Trial *t, const Graph *g, void **in, double **out) {
    Error e = {0};
    for (int k = 0; k < g->nout; k++) {
        int64_t n = elements(t, g->out[k]);
        if (n < 0 || n > ELEMENTS) return give_up(t, "too many elements");
        out[k] = ARENA_NEW(t->arena, double, n + 1);
    }
    return oracle_run(t->w, g, (Sizes){0, NULL}, true, (const void *const *)in, (void *const *)out,
                      &e) ||
           give_up(t, e.reason);
}

static void *held_as(Trial *t, DType type, const float *real, int64_t n) {
    void *out = arena_alloc(t->arena, element_bytes(type, n + 1));
    for (int64_t k = 0; k < n; k++) element_set_real(type, out, k, (double)real[k]);
    return out;
}

/* Draws the contents of an input. Reals are from 0.1 to 1.1, and every fourth is negative, unless
   the name of the input says that it is a variance. */
static void *data(Trial *t, Value v) {
    const char *name = input_name(t->w, v);
    bool large = t->large && random_below(&t->random, 3) == 0,
         positive = !strcmp(name, "in-v") || !strcmp(name, "in-var");
    DType type = value_type(t->w, v)->dtype;
    int64_t n = elements(t, v);
    float *real = ARENA_NEW(t->arena, float, n + 1);
    bool *truth = ARENA_NEW(t->arena, bool, n + 1);
    int64_t *whole = ARENA_NEW(t->arena, int64_t, n + 1);
    for (int64_t j = 0; j < n; j++) {
        real[j] = (float)((0.1 + random_unit(&t->random)) *
                          (positive || random_below(&t->random, 4) ? 1 : -1));
        if (t->zeros && random_below(&t->random, 4) == 0) real[j] = 0;
        truth[j] = real[j] > 0.6F;
        if (large) real[j] *= (float)LARGE;
        whole[j] = (int64_t)random_below(&t->random, 2);
    }
    if (type == DT_FLOAT16 || type == DT_DOUBLE) return held_as(t, type, real, n);
    return type == DT_BOOL ? (void *)truth : type == DT_INT64 ? (void *)whole : (void *)real;
}

static bool close_to(double a, double b) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * (1 + fabs(a));
}

static bool same_sizes(Trial *t, Value a, Value b) {
    const Type *x = value_type(t->w, a), *y = value_type(t->w, b);
    return x->dtype == y->dtype && dims_equal(&x->dim, &y->dim);
}

/* Whether no input or output is empty. */
static bool inhabited(Trial *t, const Graph *g) {
    bool all = true;
    for (int k = 0; k < g->nin; k++) all &= elements(t, g->in[k]) > 0;
    for (int k = 0; k < g->nout; k++) all &= elements(t, g->out[k]) > 0;
    return all;
}

/* Whether an input has bytes and another one indices. Indices may lie beyond an axis; the oracle
   then gives NaN for an element, which says that the element is not defined, but bytes cannot
   express that. */
static bool takes_bytes(const Trial *t, const Graph *g) {
    bool indices = false, bytes = false;
    for (int k = 0; k < g->nin; k++) {
        const DType type = value_type(t->w, g->in[k])->dtype;
        indices |= type == DT_INT64, bytes |= type == DT_INT8 || type == DT_UINT8;
    }
    return indices && bytes;
}

TrialResult trial_compare(Trial *t, const Graph *a, const Graph *b) {
    void *in[INPUTS];
    double *x[OUTPUTS], *y[OUTPUTS];
    for (int k = 0; k < a->nin; k++) in[k] = data(t, a->in[k]);
    for (int k = 0; k < a->nout; k++)
        if (!same_sizes(t, a->out[k], b->out[k])) {
            t->sizes_differ = true;
            give_up(t, arena_format(t->arena, "output %d has other sizes", k));
            return TRIAL_DIFFERENT;
        }
    if (!computed(t, a, in, x) || !computed(t, b, in, y)) return TRIAL_ERROR;
    for (int k = 0; k < a->nout; k++) t->elements += elements(t, a->out[k]);
    for (int k = 0; k < a->nin; k++)
        if (elements(t, a->in[k]) > 0) t->inputs_nonempty |= (uint64_t)1 << k;
    for (int k = 0; k < t->instance.nsymbol && inhabited(t, a); k++)
        if (!t->instance.is_size[k] || t->value[k] > 1) t->symbols_above_one |= (uint64_t)1 << k;
    for (int k = 0; k < a->nout; k++)
        for (int64_t j = 0; j < elements(t, a->out[k]); j++)
            if (!close_to(x[k][j], y[k][j]) && !(isnan(x[k][j]) && takes_bytes(t, a))) {
                give_up(t, arena_format(t->arena, "output %d element %ld: %.17g became %.17g", k,
                                        (long)j, x[k][j], y[k][j]));
                return TRIAL_DIFFERENT;
            }
    return TRIAL_SAME;
}

TrialResult trial_rule(Trial *t, int n, int *done) {
    TrialResult result = TRIAL_ERROR;
    *done = 0;
    bool wide = true;
    for (int k = 0; k < n && result != TRIAL_DIFFERENT; k++) {
        Graph a, b;
        bool drawn = wide && k % 4 == 3 && trial_draw(t, 2);
        wide &= drawn || k % 4 != 3;
        if (!drawn && !trial_draw(t, k % 2) && !trial_draw(t, 1 - k % 2)) break;
        ArenaMark mark = arena_mark(t->arena);
        WorldMark world = world_mark(t->w);
        TrialResult one =
            trial_graph(t, &t->instance.from, &a) && trial_graph(t, &t->instance.to, &b)
                ? trial_compare(t, &a, &b)
                : TRIAL_ERROR;
        if (one != TRIAL_ERROR) {
            result = one;
            ++*done;
        }
        world_reset(t->w, world);
        arena_reset(t->arena, mark);
    }
    return result;
}
