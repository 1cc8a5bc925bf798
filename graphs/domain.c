/* domain.c -- finds the domains of inputs in two walks over the definitions of the live nodes. The
   forward walk computes which numbers each value may hold if inputs hold what is usually drawn. The
   backward walk, from what is indexed to the inputs, computes which numbers each value must hold.

   If a sum or product of two values that both depend on inputs is bounded, each of the two gets a
   share of the bound, such that any two numbers in the shares are valid together. */
#include "graphs/domain.h"
#include "graphs/oracle.h"
#include "graphs/rewrite.h"
#include "ops/core/element.h"
#include <math.h>

#define WIDEST 0x1p24         /* a wider domain of integers counts as unbounded */
enum { LOOKED_AT = 1 << 20 }; /* the range of a constant is computed up to this many elements */

typedef struct Range {
    double low, high;
    bool open; /* it depends on an input, which may be drawn from another domain */
} Range;
typedef struct DomainWalk {
    World *w;
    Sizes sizes;
    Range *range;     /* by value: the range that it has */
    Domain *required; /* by value: the domain that it must lie in */
    bool *input;      /* by value: it is an input of the graph, whatever else computes it */
    Node node;        /* the node whose definition is being walked */
    const Type *out;  /* the type of the result being walked */
} DomainWalk;

Domain domain_any(void) { return (Domain){-INFINITY, INFINITY}; }

static bool is_any(Domain d) { return isinf(d.low) && isinf(d.high); }
static Range range_fixed(double low, double high) { return (Range){low, high, false}; }
static Range range_unknown(bool open) { return (Range){-INFINITY, INFINITY, open}; }
static bool is_finite(Range r) { return isfinite(r.low) && isfinite(r.high); }

/* The intersection of two domains; a if they are disjoint. */
static Domain meet(Domain a, Domain b) {
    const Domain both = {fmax(a.low, b.low), fmin(a.high, b.high)};
    return both.low <= both.high ? both : a;
}

/* ---- arithmetic of ranges */

static double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

static Range range_sum(Range a, Range b) {
    return (Range){a.low + b.low, a.high + b.high, a.open || b.open};
}

static Range range_product(Range a, Range b) {
    const double x[4] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                         times(a.high, b.high)};
    return (Range){fmin(fmin(x[0], x[1]), fmin(x[2], x[3])),
                   fmax(fmax(x[0], x[1]), fmax(x[2], x[3])), a.open || b.open};
}

static Range range_join(Range a, Range b) {
    return (Range){fmin(a.low, b.low), fmax(a.high, b.high), a.open || b.open};
}

/* ---- sizes and indices */

static double size_of(const DomainWalk *walk, Poly p) {
    int64_t n;
    return poly_eval(walk->w, p, walk->sizes, &n) ? (double)n : INFINITY;
}

static Range symbol_range(const DomainWalk *walk, Symbol s) {
    const SymbolDef d = symbol_def(walk->w, s);
    if (d.kind == SYM_INDEX && (int)d.word < walk->out->dim.n)
        return range_fixed(0, size_of(walk, walk->out->dim.v[d.word]) - 1);
    if (d.kind == SYM_BOUND) return range_fixed(0, size_of(walk, d.arg[0]) - 1);
    if (d.kind == SYM_DIGIT) return range_fixed(0, size_of(walk, d.arg[1 + d.word]) - 1);
    const double n = size_of(walk, poly_symbol(walk->w, s));
    return isinf(n) ? range_unknown(false) : range_fixed(n, n);
}

static Range poly_range(const DomainWalk *walk, Poly p) {
    Range all = range_fixed(0, 0);
    Monomial m;
    for (PolyScan s = poly_scan(walk->w, p); poly_next(&s, &m);) {
        Range one = range_fixed((double)m.coefficient, (double)m.coefficient);
        for (uint32_t j = 0; j < m.degree; j++)
            one = range_product(one, symbol_range(walk, m.symbol[j]));
        all = range_sum(all, one);
    }
    return all;
}

/* The greatest number of terms of a sum. */
static double term_count(const DomainWalk *walk, const ExNode *x) {
    double n = 1;
    for (int j = 0; j < x->n; j++) n = times(n, poly_range(walk, x->dims[j]).high + 1);
    return n;
}

/* ---- forward */

static Range function_range(Function f, Range a) {
    switch (f) {
    case FN_FLOOR:
    case FN_CEIL:
    case FN_ROUND: return (Range){floor(a.low), ceil(a.high), a.open};
    case FN_ABS:
        return (Range){a.low <= 0 && a.high >= 0 ? 0 : fmin(fabs(a.low), fabs(a.high)),
                       fmax(fabs(a.low), fabs(a.high)), a.open};
    case FN_RECIP:
        if (a.low <= 0 && a.high >= 0) return range_unknown(a.open);
        return (Range){1 / a.high, 1 / a.low, a.open};
    case FN_DELTA:
    case FN_SIGMOID: return (Range){0, 1, a.open};
    case FN_SIGN:
    case FN_SIN:
    case FN_COS:
    case FN_ERF:
    case FN_TANH: return (Range){-1, 1, a.open};
    default: return range_unknown(a.open);
    }
}

static Range ex_range(const DomainWalk *walk, Ex e) {
    ExNode x;
    Range a, b;
    ex_get(walk->w, e, &x);
    switch (x.kind) {
    case EX_NUM: return range_fixed((double)x.p / (double)x.q, (double)x.p / (double)x.q);
    case EX_REAL: return range_fixed(x.real, x.real);
    case EX_SIZE: return poly_range(walk, x.size);
    case EX_AT: return walk->range[walk->node.in[x.word]];
    case EX_ADD: return range_sum(ex_range(walk, x.a), ex_range(walk, x.b));
    case EX_MUL: return range_product(ex_range(walk, x.a), ex_range(walk, x.b));
    case EX_MAX2:
        a = ex_range(walk, x.a), b = ex_range(walk, x.b);
        return (Range){fmax(a.low, b.low), fmax(a.high, b.high), a.open || b.open};
    case EX_MIN2:
        a = ex_range(walk, x.a), b = ex_range(walk, x.b);
        return (Range){fmin(a.low, b.low), fmin(a.high, b.high), a.open || b.open};
    case EX_FN: return function_range((Function)x.word, ex_range(walk, x.a));
    case EX_IF:
    case EX_WHERE: return range_join(ex_range(walk, x.a), ex_range(walk, x.b));
    case EX_SUM:
        a = ex_range(walk, x.a);
        return range_product(range_join(range_fixed(0, 0), a),
                             range_fixed(1, term_count(walk, &x)));
    case EX_MAXIMUM: return ex_range(walk, x.a);
    case EX_TAKE: return ex_range(walk, x.b);
    case EX_POW:
        a = ex_range(walk, x.a), b = ex_range(walk, x.b);
        return range_unknown(a.open || b.open);
    case EX_PARAM: break;
    }
    return range_unknown(false);
}

static Range constant_range(DType t, const void *bytes, int64_t n) {
    Range r = {INFINITY, -INFINITY, false};
    for (int64_t i = 0; i < n; i++) {
        const double x = element_real(t, bytes, i);
        r.low = fmin(r.low, x), r.high = fmax(r.high, x);
    }
    return r.low <= r.high ? r : range_unknown(false);
}

static Range usual(DType t) {
    const bool real = dtype_class(t) == 'F';
    if (real) return (Range){-1, 1, true};
    return (Range){0, t == DT_UINT8 ? 255 : 1, t != DT_BOOL};
}

static bool any_open(const DomainWalk *walk) {
    for (int j = 0; j < walk->node.nin; j++)
        if (walk->node.in[j] && walk->range[walk->node.in[j]].open) return true;
    return false;
}

static Range value_range(DomainWalk *walk, Value v) {
    Type t;
    const void *bytes;
    int64_t dim[RANK_MAX], n;
    if (constant_get(walk->w, v, &t, &bytes))
        return element_readable(t.dtype) && oracle_dims(walk->w, &t, walk->sizes, dim, &n) &&
                       n <= LOOKED_AT
                   ? constant_range(t.dtype, bytes, n)
                   : range_unknown(false);
    walk->out = value_type(walk->w, v);
    if (walk->input[v]) return usual(walk->out->dtype);
    const Ex define = sig_define_numbers(walk->w, walk->node.sig, value_port(walk->w, v));
    if (define) return ex_range(walk, define);
    if (walk->node.op->flags & OP_PASSES && v == walk->node.out)
        return walk->range[walk->node.in[0]];
    return walk->out->dtype == DT_BOOL ? range_fixed(0, 1) : range_unknown(any_open(walk));
}

/* ---- backward */

static void require_domain(DomainWalk *, Ex, Domain);

/* The domain of a such that a + b is in d for every b in its range, which cannot be changed. */
static Domain domain_less(Domain d, Range b) {
    const Domain a = {d.low - b.low, d.high - b.high};
    if (!is_finite(b)) return d;
    return a.low <= a.high ? a : domain_any();
}

/* The share of a in the domain d of a + b: what d leaves beyond both ranges is divided equally. */
static Domain domain_half(Domain d, Range a, Range b) {
    if (!is_finite(a) || !is_finite(b)) return (Domain){d.low / 2, d.high / 2};
    const Domain part = {a.low + (d.low - a.low - b.low) / 2,
                         a.high + (d.high - a.high - b.high) / 2};
    return part.low <= part.high ? part : (Domain){d.low / 2, d.high / 2};
}

static void require_sum(DomainWalk *walk, const ExNode *x, Domain d) {
    const Range a = ex_range(walk, x->a), b = ex_range(walk, x->b);
    const bool both = a.open && b.open;
    require_domain(walk, x->a,
                   both     ? domain_half(d, a, b)
                   : a.open ? domain_less(d, b)
                            : domain_any());
    require_domain(walk, x->b,
                   both     ? domain_half(d, b, a)
                   : b.open ? domain_less(d, a)
                            : domain_any());
}

/* The domain of a such that a * b is in d for every b in its range, which cannot be changed. */
static Domain domain_over(Domain d, Range b) {
    if (b.low < 0 && b.high <= 0) {
        const Domain a = domain_over((Domain){-d.high, -d.low}, range_fixed(-b.high, -b.low));
        return a;
    }
    if (!is_finite(b) || b.high == 0) return domain_any();
    if (b.low < 0) {
        const double most = fmin(-d.low, d.high) / fmax(-b.low, b.high);
        return most >= 0 ? (Domain){-most, most} : domain_any();
    }
    if (d.low > 0 && b.low == 0) return domain_any();
    const Domain a = {d.low / (d.low > 0 ? b.low : b.high), d.high / (d.high > 0 ? b.high : b.low)};
    return a.low <= a.high ? a : domain_any();
}

/* The shares of a and b in the domain d of a * b: numbers between the roots of its bounds or, where
   there is no whole number, all of d for a and 1 for b. Below 0, b has the sign. */
static void divide_product(Domain d, Domain *a, Domain *b) {
    const bool below = d.high < 0;
    if (below) d = (Domain){-d.high, -d.low};
    *a = *b = (Domain){sqrt(fmax(d.low, 0)), sqrt(fmax(d.high, 0))};
    if (ceil(a->low) > floor(a->high)) *a = d, *b = (Domain){1, 1};
    if (below) *b = (Domain){-b->high, -b->low};
}

static void require_product(DomainWalk *walk, const ExNode *x, Domain d) {
    const Range a = ex_range(walk, x->a), b = ex_range(walk, x->b), all = range_product(a, b);
    const bool both = a.open && b.open;
    if (both && !is_any(d)) {
        const bool fits = all.low >= d.low && all.high <= d.high;
        Domain share[2] = {{a.low, a.high}, {b.low, b.high}};
        if (!fits) divide_product(d, &share[0], &share[1]);
        require_domain(walk, x->a, share[0]);
        require_domain(walk, x->b, share[1]);
        return;
    }
    require_domain(walk, x->a, a.open ? domain_over(d, b) : domain_any());
    require_domain(walk, x->b, b.open ? domain_over(d, a) : domain_any());
}

/* The maximum of a and b must lie in d. If one operand always is at least d.low, the other needs no
   lower bound. */
static void require_most(DomainWalk *walk, const ExNode *x, Domain d) {
    const Range a = ex_range(walk, x->a), b = ex_range(walk, x->b);
    require_domain(walk, x->a, (Domain){!b.open && b.low >= d.low ? -INFINITY : d.low, d.high});
    require_domain(walk, x->b, (Domain){!a.open && a.low >= d.low ? -INFINITY : d.low, d.high});
}

static void require_least(DomainWalk *walk, const ExNode *x, Domain d) {
    const Range a = ex_range(walk, x->a), b = ex_range(walk, x->b);
    require_domain(walk, x->a, (Domain){d.low, !b.open && b.high <= d.high ? INFINITY : d.high});
    require_domain(walk, x->b, (Domain){d.low, !a.open && a.high <= d.high ? INFINITY : d.high});
}

static Domain argument_of(Function f, Domain d) {
    if (f == FN_FLOOR || f == FN_CEIL || f == FN_ROUND) return d;
    if (f == FN_ABS && d.high >= 0) return (Domain){d.low > 0 ? d.low : -d.high, d.high};
    return domain_any();
}

static void require_take(DomainWalk *walk, const ExNode *x, Domain d) {
    const double last = poly_range(walk, x->dims[0]).high;
    require_domain(walk, x->a, last >= 0 ? (Domain){0, last} : domain_any());
    require_domain(walk, x->b, d);
}

/* The elements that e describes must lie in d. */
static void require_domain(DomainWalk *walk, Ex e, Domain d) {
    ExNode x;
    ex_get(walk->w, e, &x);
    switch (x.kind) {
    case EX_AT:
        walk->required[walk->node.in[x.word]] = meet(walk->required[walk->node.in[x.word]], d);
        return;
    case EX_ADD: require_sum(walk, &x, d); return;
    case EX_MUL: require_product(walk, &x, d); return;
    case EX_MAX2: require_most(walk, &x, d); return;
    case EX_MIN2: require_least(walk, &x, d); return;
    case EX_FN: require_domain(walk, x.a, argument_of((Function)x.word, d)); return;
    case EX_SUM:
        require_domain(walk, x.a, domain_over(d, range_fixed(1, term_count(walk, &x))));
        return;
    case EX_TAKE: require_take(walk, &x, d); return;
    case EX_MAXIMUM: require_domain(walk, x.a, d); return;
    case EX_WHERE:
    case EX_IF:
        if (x.kind == EX_WHERE) require_domain(walk, x.c, domain_any());
        require_domain(walk, x.a, d);
        require_domain(walk, x.b, d);
        return;
    case EX_POW:
        require_domain(walk, x.a, domain_any());
        require_domain(walk, x.b, domain_any());
        return;
    case EX_NUM:
    case EX_REAL:
    case EX_PARAM:
    case EX_SIZE: return;
    }
}

/* Requires what the operator itself demands of its inputs, and what the domains of its results
   demand. */
static void require_node(DomainWalk *walk) {
    Poly low, high;
    int64_t from, to;
    for (int j = 0; j < walk->node.nin; j++) {
        if (!walk->node.in[j] || !sig_domain(walk->w, walk->node.sig, j, &low, &high)) continue;
        if (!poly_eval(walk->w, low, walk->sizes, &from) ||
            !poly_eval(walk->w, high, walk->sizes, &to))
            continue;
        Domain *need = &walk->required[walk->node.in[j]];
        *need = meet(*need, (Domain){(double)from, (double)to});
    }
    for (int port = 0; port < walk->node.nout; port++) {
        const Value v = walk->node.out + (Value)port;
        const Ex define = sig_define_numbers(walk->w, walk->node.sig, port);
        walk->out = value_type(walk->w, v);
        if (define) require_domain(walk, define, walk->required[v]);
    }
    if (walk->node.op->flags & OP_PASSES)
        walk->required[walk->node.in[0]] =
            meet(walk->required[walk->node.in[0]], walk->required[walk->node.out]);
}

/* ---- the graph */

static void walk_both(DomainWalk *walk, NodeList live) {
    for (int j = 0; j < live.n; j++) {
        walk->node = node_get(walk->w, live.v[j]);
        for (int port = 0; port < walk->node.nout; port++) {
            const Value v = walk->node.out + (Value)port;
            walk->range[v] = value_range(walk, v);
            walk->required[v] = domain_any();
        }
    }
    for (int j = live.n; j-- > 0;) {
        walk->node = node_get(walk->w, live.v[j]);
        if (walk->node.nin && !walk->input[live.v[j]]) require_node(walk);
    }
}

Domain *graph_domains(World *w, Arena *arena, const Graph *given, Sizes sizes) {
    Domain *out = ARENA_NEW(arena, Domain, given->nin);
    Graph g;
    Error ignored = {0};
    Arena *a = arena_new(arena_escape(arena), 0);
    for (int k = 0; k < given->nin; k++) out[k] = domain_any();
    if (graph_expand(w, a, given, &g, NULL, &ignored)) {
        const NodeList live = graph_live(w, a, &g);
        const uint32_t n = value_last(w) + 1;
        DomainWalk walk = {.w = w,
                           .sizes = sizes,
                           .range = ARENA_NEW(a, Range, n),
                           .required = ARENA_NEW(a, Domain, n),
                           .input = ARENA_NEW(a, bool, n)};
        for (int j = 0; j < g.nin; j++)
            walk.required[g.in[j]] = domain_any(), walk.input[g.in[j]] = true,
            walk.range[g.in[j]] = usual(value_type(w, g.in[j])->dtype);
        walk_both(&walk, live);
        for (int j = 0; j < g.nin; j++) out[j] = walk.required[g.in[j]];
    }
    arena_free(a);
    return out;
}

/* ---- drawing */

bool domain_drawn(Domain d, DType t, Domain *drawn) {
    const bool bounded = isfinite(d.low) && isfinite(d.high);
    if (dtype_class(t) == 'F') return *drawn = d, bounded;
    const Range all = usual(t);
    /* Adding 0.0 turns -0 into 0. */
    *drawn = (Domain){ceil(d.low - 1e-9) + 0.0, floor(d.high + 1e-9) + 0.0};
    if (bounded && drawn->high - drawn->low <= WIDEST && drawn->low <= drawn->high) return true;
    if (drawn->low > all.low) drawn->high = drawn->low + 1;
    else if (drawn->high < all.high) drawn->low = drawn->high - 1;
    else *drawn = (Domain){all.low, all.high};
    return true;
}

void domain_fill(Domain d, Random r, DType t, int64_t n, void *out) {
    const bool real = dtype_class(t) == 'F';
    const uint64_t places = real ? 1 : (uint64_t)(d.high - d.low) + 1;
    const bool one = d.low == d.high; /* the one number may be infinite */
    for (int64_t i = 0; i < n; i++)
        if (real)
            element_set_real(t, out, i, one ? d.low : d.low + (d.high - d.low) * random_unit(&r));
        else element_set_integer(t, out, i, (int64_t)d.low + (int64_t)random_below(&r, places));
}
