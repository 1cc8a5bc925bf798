/* bounds.c -- computes bounds of integer values from the operators' definitions, to see whether
   they can overflow their element type.

   An element of an input lies in its type's range; sums and products are bounded by those of the
   bounds; a maximum lies where one of its arguments does; a sum over n values is at most n times as
   great as its greatest term. Bounds are numbers or, after a sum over a symbolic size, polynomials
   in sizes; polynomial bounds always have 0 between them. So a sum of k products of two bytes stays
   in 32 bits if 255*255*k does, and this condition on k becomes a condition of the rule. */
#include "verifier/bounds.h"
#include "verifier/scope.h"
#include "ops/base/least.h"
#include "ops/core/element.h"

enum {
    BITS_MAX = 32,  /* bits; wider integers have no bounds here */
    SMALL = 1 << 30 /* the product of two numbers up to this fits into 64 bits */
};
/* The node whose definition is being walked through. */
typedef struct BoundsWalk {
    NfImport *m;
    const Node *node;
} BoundsWalk;

static const Bounds unknown = {.known = false};

static World *world_of(const BoundsWalk *k) { return k->m->p->w; }
static Bounds bounds(Poly low, Poly high) {
    return (Bounds){.known = true, .low = low, .high = high};
}
static Bounds between(World *w, int64_t low, int64_t high) {
    return bounds(poly_int(w, low), poly_int(w, high));
}
/* If both bounds are numbers, writes them to v. */
static bool numbers(World *w, Bounds x, int64_t v[2]) {
    return poly_constant(w, x.low, &v[0]) && poly_constant(w, x.high, &v[1]);
}
static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }
/* The bounds extended to include 0, as bounds that are polynomials always do. */
static Bounds with_zero(World *w, Bounds x) {
    int64_t v[2];
    return x.known && numbers(w, x, v) ? between(w, int64_least(v[0], 0), greatest(v[1], 0)) : x;
}
/* Bounds of a value that lies within x or within y. */
static Bounds either(World *w, Bounds x, Bounds y) {
    int64_t u[2], v[2];
    if (!x.known || !y.known) return unknown;
    if (x.low == y.low && x.high == y.high) return x;
    if (!numbers(w, x, u) || !numbers(w, y, v)) return unknown;
    return between(w, int64_least(u[0], v[0]), greatest(u[1], v[1]));
}
static Bounds sum_of(World *w, Bounds x, Bounds y) {
    int64_t u[2], v[2];
    if (!x.known || !y.known) return unknown;
    if (!numbers(w, x, u) || !numbers(w, y, v)) x = with_zero(w, x), y = with_zero(w, y);
    return bounds(poly_add(w, x.low, y.low), poly_add(w, x.high, y.high));
}
static bool is_small(const int64_t v[2]) { return v[0] >= -SMALL && v[1] <= SMALL; }
/* For polynomial bounds it uses that |x| <= high - low if 0 lies between the two. */
static Bounds product_of(World *w, Bounds x, Bounds y) {
    int64_t u[2], v[2];
    if (!x.known || !y.known) return unknown;
    if (numbers(w, x, u) && numbers(w, y, v) && is_small(u) && is_small(v)) {
        const int64_t a = u[0] * v[0], b = u[0] * v[1], c = u[1] * v[0], d = u[1] * v[1];
        return between(w, int64_least(int64_least(a, b), int64_least(c, d)),
                       greatest(greatest(a, b), greatest(c, d)));
    }
    x = with_zero(w, x), y = with_zero(w, y);
    const Poly most = poly_mul(w, poly_sub(w, x.high, x.low), poly_sub(w, y.high, y.low));
    return bounds(poly_scale(w, most, -1), most);
}
/* Returns whether n depends on sizes only and is shown not to be negative. */
static bool is_count(const BoundsWalk *k, Poly n) {
    World *w = world_of(k);
    Prover *p = k->m->p;
    Monomial m;
    for (PolyScan s = poly_scan(w, n); poly_next(&s, &m);)
        for (uint32_t j = 0; j < m.degree; j++)
            if (symbol_def(w, m.symbol[j]).kind != SYM_NAMED) return false;
    const Lit l = {poly_subst(w, n, k->m->nsolved, k->m->from, k->m->to), false};
    const Dom d = dom_make(p, 1, &l);
    return !d || prover_entails(p, DOM_TRUE, d);
}
static Bounds of_value(NfImport *, Value);
static Bounds of_tree(const BoundsWalk *, Ex);

static Bounds of_sum(const BoundsWalk *k, const ExNode *x) {
    World *w = world_of(k);
    Bounds y = with_zero(w, of_tree(k, x->a));
    for (int j = 0; j < x->n && y.known; j++) {
        const Poly n = symbol_def(w, poly_is_symbol(w, x->dims[j])).arg[0];
        y.known = is_count(k, n);
        y.low = poly_mul(w, y.low, n);
        y.high = poly_mul(w, y.high, n);
    }
    return y;
}
static bool is_whole_number(World *w, Ex e, int64_t *v) {
    ExNode x;
    if (!e) return *v = 0, true;
    ex_get(w, e, &x);
    *v = x.p;
    return x.kind == EX_NUM && x.q == 1;
}
/* Returns whether the node is max(min(e, high), low) or min(max(e, low), high) for two numbers. Its
   value then lies between these two, whatever e is. */
static bool is_limited(World *w, const ExNode *x, Bounds *y) {
    const ExKind inner = x->kind == EX_MAX2 ? EX_MIN2 : EX_MAX2;
    int64_t u, v;
    for (int swapped = 0; swapped < 2; swapped++) {
        ExNode part;
        const Ex in = swapped ? x->b : x->a;
        if (!in || !is_whole_number(w, swapped ? x->a : x->b, &u)) continue;
        ex_get(w, in, &part);
        if (part.kind != inner) continue;
        if (!is_whole_number(w, part.a, &v) && !is_whole_number(w, part.b, &v)) continue;
        return *y = between(w, int64_least(u, v), greatest(u, v)), true;
    }
    return false;
}
static Bounds of_tree(const BoundsWalk *k, Ex e) {
    World *w = world_of(k);
    ExNode x;
    Bounds y;
    if (!e) return between(w, 0, 0);
    ex_get(w, e, &x);
    switch (x.kind) {
    case EX_NUM: return x.q == 1 ? between(w, x.p, x.p) : unknown;
    case EX_AT: return of_value(k->m, k->node->in[x.word]);
    case EX_ADD: return sum_of(w, of_tree(k, x.a), of_tree(k, x.b));
    case EX_MUL: return product_of(w, of_tree(k, x.a), of_tree(k, x.b));
    case EX_MAX2:
    case EX_MIN2:
        if (is_limited(w, &x, &y)) return y;
        return either(w, of_tree(k, x.a), of_tree(k, x.b));
    case EX_IF:
    case EX_WHERE: return either(w, of_tree(k, x.a), of_tree(k, x.b));
    case EX_TAKE: return of_tree(k, x.b);
    case EX_MAXIMUM: return of_tree(k, x.a);
    case EX_SUM: return of_sum(k, &x);
    default: return unknown;
    }
}
static Bounds of_type(World *w, DType t) {
    const IntegerRange all = dtype_range(t);
    return dtype_bits(t) > BITS_MAX ? unknown : between(w, all.low, all.high);
}
static Bounds of_constant(World *w, const Type *t, const void *bytes) {
    Bounds y = of_type(w, t->dtype);
    if (!y.known || type_count(w, t) != poly_int(w, 1)) return y;
    const int64_t v = element_integer(t->dtype, bytes, 0);
    return between(w, v, v);
}
static Bounds of_value(NfImport *m, Value v) {
    World *w = m->p->w;
    Type t;
    const void *bytes;
    if (!dtype_is_integer(value_type(w, v)->dtype)) return unknown;
    if (m->bounds[v].computed) return m->bounds[v];
    Bounds y = of_type(w, value_type(w, v)->dtype);
    if (constant_get(w, v, &t, &bytes)) y = of_constant(w, &t, bytes);
    else if (!scope_is_input(m, v)) {
        const Node node = node_get(w, value_node(w, v));
        const Ex e = sig_define(w, node.sig, value_port(w, v));
        y = e ? of_tree(&(BoundsWalk){m, &node}, e) : unknown;
    }
    y.computed = true;
    return m->bounds[v] = y;
}

/* ---- in a type */

/* Writes c - a*p >= 0 as floor(c/a) - p >= 0. */
static Poly tightened(World *w, Poly p) {
    Monomial m;
    int64_t c = 0;
    Poly rest, divided;
    for (PolyScan s = poly_scan(w, p); poly_next(&s, &m);)
        if (!m.degree) c = m.coefficient;
    rest = poly_sub(w, p, poly_int(w, c));
    const int64_t a = poly_content(w, rest);
    if (a < 2 || c < 0 || !poly_divide(w, rest, poly_int(w, a), &divided)) return p;
    return poly_add(w, divided, poly_int(w, c / a));
}
/* Returns whether p >= 0 is shown. If not, and if sizes could make it true, p >= 0 is added to
   m->lack: it may become a condition of the rule. */
static bool follows(NfImport *m, Poly p) {
    World *w = m->p->w;
    const Lit l = {tightened(w, p), false},
              solved = {poly_subst(w, l.p, m->nsolved, m->from, m->to), false};
    int64_t c;
    if (poly_constant(w, solved.p, &c)) return c >= 0;
    const Dom d = dom_make(m->p, 1, &solved);
    if (!d || prover_entails(m->p, DOM_TRUE, d)) return true;
    for (int k = 0; k < m->nlack; k++)
        if (m->lack[k].p == l.p) return false;
    if (m->nlack < LACKS_MAX) m->lack[m->nlack++] = l;
    return false;
}
bool bounds_in_type(NfImport *m, Value v) {
    World *w = m->p->w;
    const Bounds x = of_value(m, v), t = of_type(w, value_type(w, v)->dtype);
    if (!x.known || !t.known) return false;
    const bool above = follows(m, poly_sub(w, x.low, t.low)),
               below = follows(m, poly_sub(w, t.high, x.high));
    return above && below;
}
bool bounds_of_value(NfImport *m, Value v, int64_t limit[2]) {
    const Bounds x = of_value(m, v);
    return x.known && numbers(m->p->w, x, limit);
}
