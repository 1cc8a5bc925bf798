/* class_check.c -- checks the promises of classes with its own evaluator of definitions, which has
   two modes.

   In steps, every sum, product and function is rounded to the element type. A sum within one
   operator is computed exactly (in 113 bits) and rounded once, since its order is not promised.
   Maximum and minimum are those of IEEE 754-2019, where 0 is greater than -0. The wide mode
   computes in long double and rounds nothing but literals, since a model holds these as floats.

   An element is defined if nothing on the way to it is infinite or NaN, or underflows to 0. The
   promises, by class:

   - exact: in steps, on all data, both sides have the same bits (NaN equals NaN).
   - all classes: wide, on ordinary data, where the left side is defined, the right side is
     finite and equal to it, up to the rounding of literals if the class allows that.
   - without defines and drops: where the left side is undefined, or reads a NaN, the right side
     is undefined, too.
   - without spreads: where the left side is defined although some data is NaN, so is the right
     side.
   - without overflows: on data up to 200, in float32, where the left side is defined, the right
     side is finite.

   Data with NaN is not compared if some sum has no element, since such a sum reads nothing. Nothing
   is compared if an index lies outside its axis, on which runtimes fail as a whole (what checks
   indices on either side is proved: index_checks.c). */
#include "test/shared/class_check.h"
#include "graphs/rewrite.h"
#include "ops/core/element.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 3000, INPUTS = 32, OUTPUTS = 16 };
typedef long double Wide;
typedef enum Data { DATA_ORDINARY, DATA_INTEGERS, DATA_NAN, DATA_SPECIAL, DATA_LARGE, DATAS } Data;
typedef struct Array {
    int rank;
    int64_t dim[RANK_MAX], n;
    Wide *v;
    bool *beyond; /* by element: something on the way to it left the range of the type */
} Array;
typedef struct Machine {
    World *w;
    Arena *arena;
    DType type; /* the type to which floats are rounded, unless `wide` */
    bool wide;
    Array *value; /* by Value */
    int64_t *at;  /* by Symbol: the values of indices and bound variables */
    uint32_t nat;
    const Node *node;
    bool whole;         /* neither the result nor any input of the node is a float */
    Wide most;          /* the greatest magnitude so far */
    bool beyond;        /* something on the way to the current element left the range of the type */
    bool failed, empty; /* empty: some sum had no element */
    bool outside;       /* some index lay outside its axis */
} Machine;

/* ---- one element */

static Wide rounded(Machine *m, Wide x) {
    if (fabsl(x) > m->most) m->most = fabsl(x);
    m->beyond |= !isfinite(x);
    if (m->whole) return x + 0; /* integers have no -0 */
    if (m->wide) return x;
    Wide y = (Wide)element_nearest(m->type, (double)x);
    m->beyond |= !isfinite(y) || (x != 0 && y == 0);
    return y;
}
static Wide maximum(Wide a, Wide b) {
    if (isnan(a) || isnan(b)) return NAN;
    return a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
static int64_t integer(Machine *m, Poly p) {
    int64_t v = 0;
    if (!poly_eval(m->w, p, (Sizes){m->nat, m->at}, &v)) m->failed = true;
    return v;
}
static bool holds(Machine *m, const Cond *c) {
    for (int k = 0; k < c->n; k++) {
        int64_t v = integer(m, c->v[k].p);
        if (c->v[k].eq ? v != 0 : v < 0) return false;
    }
    return true;
}
static Wide function(Function f, Wide x) {
    switch (f) {
    case FN_RECIP: return 1 / x;
    case FN_EXP: return expl(x);
    case FN_LOG: return logl(x);
    case FN_SQRT: return sqrtl(x);
    case FN_ERF: return erfl(x);
    case FN_TANH: return tanhl(x);
    case FN_SIGMOID: return 1 / (1 + expl(-x));
    case FN_ABS: return fabsl(x);
    case FN_DELTA: return isnan(x) ? x : x == 0;
    case FN_FLOOR: return floorl(x);
    case FN_CEIL: return ceill(x);
    case FN_ROUND: return rintl(x);
    case FN_SIGN: return x > 0 ? 1 : x < 0 ? -1 : x;
    case FN_SIN: return sinl(x);
    case FN_COS: return cosl(x);
    default: return NAN;
    }
}
static Wide element(Machine *m, Ex e);
static Wide read(Machine *m, const ExNode *x) {
    const Array *t = &m->value[m->node->in[x->word]];
    int64_t at = 0;
    for (int k = 0; k < t->rank; k++) {
        int64_t i = integer(m, x->dims[k]);
        if (i < 0 || i >= t->dim[k]) return m->failed = true, 0;
        at = at * t->dim[k] + i;
    }
    m->beyond |= t->beyond[at];
    return t->v[at];
}
#if LDBL_MANT_DIG >= 113
typedef long double Quad;
#else
typedef __float128 Quad;
#endif
typedef struct Total {
    Quad sum;
    Wide most;
    long n;
} Total;
static void over(Machine *m, const ExNode *x, int k, Total *t) {
    if (k == x->n) {
        if (!holds(m, &x->cond)) return;
        Wide v = element(m, x->a);
        t->n++;
        if (x->kind == EX_SUM) t->sum += (Quad)v;
        else t->most = maximum(t->most, v);
        return;
    }
    Symbol s = poly_is_symbol(m->w, x->dims[k]);
    int64_t n = integer(m, symbol_def(m->w, s).arg[0]), before = m->at[s];
    for (m->at[s] = 0; m->at[s] < n; m->at[s]++) over(m, x, k + 1, t);
    m->at[s] = before;
}
static Wide total(Machine *m, const ExNode *x) {
    Total t = {0, -INFINITY, 0};
    over(m, x, 0, &t);
    m->empty |= t.n == 0;
    return x->kind == EX_SUM ? rounded(m, (Wide)t.sum) : t.most;
}
static Wide taken(Machine *m, const ExNode *x) {
    Symbol s = poly_is_symbol(m->w, x->dims[0]);
    int64_t n = integer(m, symbol_def(m->w, s).arg[0]), before = m->at[s];
    int64_t place = ex_place((double)element(m, x->a), n);
    if (place < 0) return m->outside = true, NAN;
    m->at[s] = place;
    Wide v = element(m, x->b);
    m->at[s] = before;
    return v;
}
static Wide element(Machine *m, Ex e) {
    ExNode x, r;
    ex_get(m->w, e, &x);
    switch (x.kind) {
    case EX_NUM: return rounded(m, (Wide)x.p / (Wide)x.q);
    case EX_REAL: return rounded(m, x.real);
    case EX_PARAM: return m->failed = true, 0;
    case EX_SIZE: return rounded(m, (Wide)integer(m, x.size));
    case EX_AT: return read(m, &x);
    case EX_ADD: return rounded(m, element(m, x.a) + element(m, x.b));
    case EX_MUL: /* a division is written as a * (1/b) */
        ex_get(m->w, x.b, &r);
        if (r.kind == EX_FN && r.word == FN_RECIP)
            return rounded(m, element(m, x.a) / element(m, r.a));
        return rounded(m, element(m, x.a) * element(m, x.b));
    case EX_MAX2: return maximum(element(m, x.a), element(m, x.b));
    case EX_MIN2: return -maximum(-element(m, x.a), -element(m, x.b));
    case EX_POW: return rounded(m, powl(element(m, x.a), element(m, x.b)));
    case EX_FN: return rounded(m, function((Function)x.word, element(m, x.a)));
    case EX_IF: return element(m, holds(m, &x.cond) ? x.a : x.b);
    case EX_WHERE: {
        Wide c = element(m, x.c);
        return isnan(c) ? c : element(m, c != 0 ? x.a : x.b);
    }
    case EX_SUM:
    case EX_MAXIMUM: return total(m, &x);
    case EX_TAKE: return taken(m, &x);
    }
    return NAN;
}

/* ---- one side */

static bool shaped(Machine *m, Value v, Array *a) {
    const Type *t = value_type(m->w, v);
    *a = (Array){.rank = t->dim.n, .n = 1};
    for (int k = 0; k < a->rank; k++) {
        if (!poly_constant(m->w, t->dim.v[k], &a->dim[k]) || a->dim[k] < 0) return false;
        a->n *= a->dim[k];
    }
    if (a->n > ELEMENTS) return false;
    a->v = ARENA_NEW(m->arena, Wide, a->n + 1);
    a->beyond = ARENA_NEW(m->arena, bool, a->n + 1);
    return true;
}
static bool constant(Machine *m, Value v, const void *bytes) {
    Array *a = &m->value[v];
    DType t = value_type(m->w, v)->dtype;
    if (!element_readable(t) || !shaped(m, v, a)) return false;
    for (int64_t k = 0; k < a->n; k++) a->v[k] = (Wide)element_real(t, bytes, k);
    return true;
}
static bool is_whole(World *w, const Node *n, Value result) {
    bool whole = dtype_class(value_type(w, result)->dtype) != 'F';
    for (int k = 0; k < n->nin; k++)
        whole &= !n->in[k] || dtype_class(value_type(w, n->in[k])->dtype) != 'F';
    return whole;
}
/* Converts a computed element to the type of its tensor. A float is rounded even if it was only
   read, since the operator may be a cast from integers. Integers have no -0, and a maximum or
   minimum of them that is NaN, as in a saturating cast, becomes the least integer. */
static Wide stored(Machine *m, DType t, Ex e, Wide v) {
    ExNode x;
    if (dtype_class(t) == 'F') return rounded(m, v);
    ex_get(m->w, e, &x);
    if (!isnan(v) || (x.kind != EX_MAX2 && x.kind != EX_MIN2)) return v + 0;
    return dtype_class(t) == 'I' ? -ldexpl(1, dtype_bits(t) - 1) : dtype_class(t) == 'U' ? 0 : v;
}
static bool run_node(Machine *m, NodeId id) {
    Node n = node_get(m->w, id);
    const void *bytes;
    m->node = &n;
    if (input_name(m->w, n.out)) return true;
    if (constant_get(m->w, n.out, NULL, &bytes)) return constant(m, n.out, bytes);
    for (int j = 0; j < n.nout; j++) {
        Value v = n.out + (Value)j;
        Array *a = &m->value[v];
        Ex e = sig_define(m->w, n.sig, j);
        m->whole = is_whole(m->w, &n, v);
        if (!e || !shaped(m, v, a)) return false;
        for (int64_t k = 0; k < a->n && !m->failed; k++) {
            int64_t rest = k;
            for (int d = a->rank; d--; rest /= a->dim[d])
                m->at[symbol_index(m->w, (uint32_t)d)] = rest % a->dim[d];
            m->beyond = false;
            a->v[k] = stored(m, value_type(m->w, v)->dtype, e, element(m, e));
            a->beyond[k] = m->beyond || !isfinite(a->v[k]);
        }
    }
    return !m->failed;
}
static bool run(Machine *m, const Graph *g) {
    NodeList live = graph_live(m->w, m->arena, g);
    for (int k = 0; k < live.n; k++)
        if (!run_node(m, live.v[k])) return false;
    return true;
}

/* ---- data */

static Wide special(Random *r, DType t) {
    const Wide one = 1, least = t == DT_FLOAT16  ? 0x1p-24L
                                : t == DT_DOUBLE ? 0x1p-1074L
                                                 : 0x1p-133L;
    const Wide greatest = t == DT_FLOAT16    ? 65504
                          : t == DT_BFLOAT16 ? 0x1.fep127L
                          : t == DT_FLOAT    ? 0x1.fffffep127L
                                             : 0x1.fffffffffffffp1023L;
    const Wide values[] = {0,         -0.0L,    1,         -1,  least,   -least,  greatest,
                           -greatest, INFINITY, -INFINITY, NAN, one / 3, 3,       5,
                           257,       0.1L,     2049,      -7,  1e4L,    0x1p-12L};
    return values[random_below(r, sizeof values / sizeof *values)];
}
static Wide datum(Random *r, Data data, DType t) {
    Wide x = (Wide)random_unit(r) * 4 - 2;
    switch (data) {
    case DATA_INTEGERS: return (Wide)random_below(r, 5) - 2;
    case DATA_NAN: return random_below(r, 6) == 0 ? NAN : x;
    case DATA_SPECIAL: return random_below(r, 3) ? special(r, t) : x;
    case DATA_LARGE: return x * 100;
    default: return x;
    }
}
/* Integers are mostly indices or truth values, so 0 or 1 is drawn; for half of the seeds (`all`),
   bytes are drawn from all their values. */
static Wide whole_datum(Random *r, DType t, bool all) {
    const char class = dtype_class(t);
    if (!all || dtype_bits(t) != 8 || (class != 'I' && class != 'U'))
        return (Wide)random_below(r, 2);
    const int64_t least = class == 'I' ? -128 : 0;
    return (Wide)(least + (random_below(r, 4) ? (int64_t)random_below(r, 256)
                                              : (int64_t)random_below(r, 2) * 255));
}
static bool fill(Machine *m, const Graph *g, Data data, uint64_t seed) {
    Random r = {seed, 0};
    const bool all = seed / 100 % 4 < 2;
    for (int k = 0; k < g->nin; k++) {
        Array *a = &m->value[g->in[k]];
        DType t = value_type(m->w, g->in[k])->dtype;
        if (!shaped(m, g->in[k], a)) return false;
        m->whole = dtype_class(t) != 'F';
        for (int64_t j = 0; j < a->n; j++)
            a->v[j] = m->whole ? whole_datum(&r, t, all) : datum(&r, data, m->type);
        const bool wide = m->wide;
        m->wide = false;
        for (int64_t j = 0; j < a->n; j++) {
            a->v[j] = rounded(m, a->v[j]);
            a->beyond[j] = !isfinite(a->v[j]);
        }
        m->wide = wide;
    }
    m->most = 0;
    return true;
}

/* ---- comparing */

static const char *const data_names[DATAS] = {"ordinary data", "small integers", "data with NaN",
                                              "special values", "data up to 200"};
typedef struct Sides {
    Graph from, to;
    unsigned classes;
    Data data;
    DType type;
} Sides;
static bool same_bits(Wide a, Wide b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}
/* An element, and whether it is defined: nothing on the way to it was infinite or NaN, or
   underflowed to 0. (What is divided by 0 is not defined, even if 1/(1/0) is a number.) */
typedef struct Point {
    Wide v;
    bool defined;
} Point;
static const char *promise(const Sides *s, bool wide, Wide most, Point a, Point b) {
    const bool vanish = s->classes & (CLASS_DROPS | CLASS_DEFINES);
    if (!wide && !s->classes) return same_bits(a.v, b.v) ? NULL : "other bits";
    if (s->data == DATA_SPECIAL || (!a.defined && !b.defined)) return NULL;
    const bool spreads = (s->classes & CLASS_SPREADS) && a.defined;
    if (s->data == DATA_NAN)
        return vanish || spreads || a.defined == b.defined ? NULL : "NaN came or went";
    if (!a.defined) return vanish || !wide ? NULL : "a number where none was";
    if (s->data == DATA_LARGE) {
        bool matters = !wide && s->type == DT_FLOAT && !(s->classes & CLASS_OVERFLOWS);
        return matters && !isfinite(b.v) ? "overflow" : NULL;
    }
    const bool overflows = s->classes & CLASS_OVERFLOWS;
    if (!isfinite(b.v) && !overflows && (wide || s->type == DT_FLOAT || s->type == DT_DOUBLE))
        return "no number where one was";
    if (!wide) return NULL;
    if (s->classes & CLASS_JUMPS) return NULL;
    Wide limit = s->classes & CLASS_ROUNDS ? 1e-2L : 1e-11L;
    return fabsl(a.v - b.v) <= limit * (1 + most) || most > 1e9L ? NULL : "another number";
}
static bool compare(const Sides *s, const Machine *m, ClassCheck *c, const char *name) {
    for (int k = 0; k < s->from.nout; k++) {
        const Array *a = &m->value[s->from.out[k]], *b = &m->value[s->to.out[k]];
        if (a->n != b->n) continue; /* sizes are checked by other tests */
        for (int64_t j = 0; j < a->n; j++, c->elements++) {
            const char *broken = promise(s, m->wide, m->most, (Point){a->v[j], !a->beyond[j]},
                                         (Point){b->v[j], !b->beyond[j]});
            if (!broken) continue;
            snprintf(c->why, sizeof c->why,
                     "%s: %s: %s, %s%s: output %d, element %ld: %.21Lg became %.21Lg", name, broken,
                     data_names[s->data], dtype_name(s->type), m->wide ? ", wide" : "", k, (long)j,
                     a->v[j], b->v[j]);
            return false;
        }
    }
    c->draws++;
    return true;
}

/* ---- one rule */

/* Whether every number of the rule's sides can be represented in the type. */
static bool literals_fit(World *w, Arena *a, const Graph *g, DType t) {
    NodeList live = graph_live(w, a, g);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(w, live.v[k]);
        Attr attr[ATTRS_MAX];
        double x;
        sig_attr(w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++) {
            if (n.op->attrs[j].kind != A_REAL || !attr[j].real || !ex_number(w, attr[j].real, &x))
                continue;
            if (element_nearest(t, x) != x) return false;
        }
    }
    return true;
}
static DType own_type(World *w, const Instance *i) {
    for (int k = 0; k < i->from.nout; k++)
        if (dtype_class(value_type(w, i->from.out[k])->dtype) == 'F')
            return value_type(w, i->from.out[k])->dtype;
    return DT_FLOAT;
}
static bool at_sizes(Trial *t, Sides *s, DType own, uint64_t seed, ClassCheck *c) {
    static const DType types[] = {DT_FLOAT16, DT_BFLOAT16, DT_FLOAT, DT_DOUBLE};
    World *w = t->w;
    Graph from, to;
    Error e = {0};
    if (!trial_graph(t, &t->instance.from, &from) || !trial_graph(t, &t->instance.to, &to))
        return true;
    bool kept = graph_expand(w, t->arena, &from, &s->from, NULL, &e) &&
                graph_expand(w, t->arena, &to, &s->to, NULL, &e);
    for (int k = 0; k < 4 && kept; k++) {
        s->type = types[k];
        if (types[k] != own && !(literals_fit(w, t->arena, &t->instance.from, types[k]) &&
                                 literals_fit(w, t->arena, &t->instance.to, types[k])))
            continue;
        for (int d = 0; d < 2 * DATAS && c->why[0] == 0; d++) {
            Machine m = {.w = w, .arena = t->arena, .type = types[k], .wide = d % 2};
            if (m.wide && (types[k] != own || d / 2 >= DATA_NAN)) continue;
            s->data = (Data)(d / 2);
            uint32_t nodes = value_last(w) + 1;
            m.value = ARENA_NEW(t->arena, Array, nodes);
            /* Twice, since definitions make new symbols in the first pass. */
            for (int pass = 0; pass < 2; pass++) {
                m.nat = intern_count(w->table[TABLE_SYMBOL]) + 1000;
                m.at = ARENA_NEW(t->arena, int64_t, m.nat);
                m.failed = m.outside = false;
                if (!fill(&m, &s->from, s->data, seed + (uint64_t)d)) return true;
                if (!run(&m, &s->from) || !run(&m, &s->to)) break;
            }
            if (m.outside || (m.empty && s->data == DATA_NAN)) continue;
            if (!m.failed && !compare(s, &m, c, t->rule->name)) return false;
        }
    }
    return true;
}
bool class_check(const Rule *rule, int n, uint64_t seed, ClassCheck *c) {
    int length[RULE_BLOCKS];
    Trial t;
    bool kept = true;
    rule_lengths_first(rule, length);
    if (!trial_open(&t, rule, length, TRIAL_BOTH, seed)) return trial_close(&t), true;
    DType own = own_type(t.w, &t.instance);
    Sides s = {.classes = rule->classes};
    for (int k = 0; k < n && kept; k++) {
        if (!trial_draw(&t, k % 2 ? 0 : 1)) break;
        ArenaMark mark = arena_mark(t.arena);
        WorldMark world = world_mark(t.w);
        kept = at_sizes(&t, &s, own, seed + (uint64_t)(100 * k), c);
        world_reset(t.w, world);
        arena_reset(t.arena, mark);
    }
    trial_close(&t);
    return kept;
}
