/* shapevalue.c -- elements of integer values, node by node: constants are read, everything else
   asks its operator (sig_value), inputs are unknown. What is kept for a value lies in the World's
   arena and is computed again after a reset, which may have taken it away. */
#include "graphs/shapevalue.h"
#include "graphs/tables.h"
#include "ops/core/element.h"
#include "ops/operator/value.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Floats are followed as far as they hold whole numbers that they hold exactly: constants, and what
   only moves or converts elements (Op.value without a definition). Sizes are taken to be below
   2^24. Between them, fractions of them are: padding by ceil(size / stride) passes through floats.
   A quotient of whole numbers is rounded once, and so is its sum with a whole number; that moves
   none onto or across a whole number while sizes are below 2^22 and divisors at most DIVISOR_MAX.
   Halves, quarters, .. are exact. */
enum { WHOLE_MAX = 1 << 24, DIVISOR_MAX = 1 << 10 };
static bool is_wide_float(DType t) { return dtype_class(t) == 'F' && dtype_bits(t) >= 32; }
static bool followed(DType t) {
    return dtype_class(t) == 'I' || dtype_class(t) == 'U' || dtype_class(t) == 'B' ||
           is_wide_float(t);
}

/* How many elements a value has; -1: not to be followed. */
static int64_t element_count(World *w, Value v) {
    const Type *t = value_type(w, v);
    int64_t n;
    if (!t->known || !followed(t->dtype) || !element_readable(t->dtype)) return -1;
    return poly_constant(w, type_count(w, t), &n) && n >= 0 && n <= ELEMENTS_MAX ? n : -1;
}

static Elements *row(World *w, Value v) { return column_at(w, &graph_tables(w)->elements, v); }
static bool is_done(World *w, Value v) { return row(w, v)->resets == w->resets + 1; }

static Elements constant_elements(World *w, const void *bytes, DType t, int64_t n) {
    enum { PARTS = 64 };
    const bool real = is_wide_float(t);
    int64_t by = 1;
    for (int64_t k = 0; k < n && real; k++) {
        const double x = element_real(t, bytes, k);
        if (!(fabs(x) <= (double)WHOLE_MAX)) return (Elements){0};
        while (x * (double)by != floor(x * (double)by) && by < PARTS) by *= 2;
        if (x * (double)by != floor(x * (double)by)) return (Elements){0};
    }
    Poly *v = ARENA_NEW(w->arena, Poly, n);
    for (int64_t k = 0; k < n; k++)
        v[k] = poly_int(w, real ? (int64_t)(element_real(t, bytes, k) * (double)by)
                                : element_integer(t, bytes, k));
    return (Elements){.list = {(int)n, v}, .by = by};
}

/* ---- arithmetic of floats */

static bool is_power_of_2(int64_t x) { return (x & (x - 1)) == 0; }

typedef struct Fraction {
    Poly p;
    int64_t by; /* what it is divided by */
} Fraction;

/* An element of a op b. */
static bool fraction(World *w, const Op *op, Fraction a, Fraction b, Fraction *y) {
    const bool exact = is_power_of_2(a.by) && is_power_of_2(b.by), minus = op == &op_sub;
    int64_t divisor;
    if (op == &op_div) {
        if (a.by != 1 || b.by != 1 || !poly_constant(w, b.p, &divisor) || divisor < 1) return false;
        return *y = (Fraction){a.p, divisor}, true;
    }
    y->by = a.by * b.by;
    if (op == &op_mul) return y->p = poly_mul(w, a.p, b.p), exact;
    if (op != &op_add && !minus) return false;
    const Poly left = poly_scale(w, a.p, b.by), right = poly_scale(w, b.p, a.by);
    y->p = minus ? poly_sub(w, left, right) : poly_add(w, left, right);
    return exact || a.by == 1 || b.by == 1;
}

/* Quotients that are whole are written so. */
static Elements quotients(World *w, int n, Poly v[], int64_t by) {
    int64_t x;
    bool whole = true;
    for (int k = 0; k < n && whole; k++) whole = poly_constant(w, v[k], &x) && x % by == 0;
    for (int k = 0; k < n && whole && poly_constant(w, v[k], &x); k++) v[k] = poly_int(w, x / by);
    return (Elements){.list = {n, v}, .by = whole ? 1 : by};
}

/* Of floats: the arithmetic that computes sizes, and a quotient that becomes an integer, rounded
   towards 0. */
static Elements arithmetic(World *w, const Node *n, int64_t count) {
    const Op *op = n->op;
    const bool up = op == &op_ceil, down = op == &op_floor || op == &op_cast;
    if ((n->nin != 2 && !up && !down) || !n->in[0] || !n->in[n->nin - 1]) return (Elements){0};
    const Elements *a = row(w, n->in[0]), *b = row(w, n->in[n->nin - 1]);
    if (!a->list.v || !b->list.v || a->list.n != count || b->list.n != count) return (Elements){0};
    Poly *v = ARENA_NEW(w->arena, Poly, count);
    int64_t by = 1;
    for (int64_t k = 0; k < count; k++) {
        const Fraction x = {a->list.v[k], a->by}, z = {b->list.v[k], b->by};
        const Poly more = poly_int(w, up ? x.by - 1 : 0);
        Fraction y = {0, 1};
        if (op == &op_cast && !value_natural(w, x.p)) return (Elements){0};
        if (n->nin == 1) y.p = poly_floor(w, poly_add(w, x.p, more), poly_int(w, x.by));
        else if (!fraction(w, op, x, z, &y)) return (Elements){0};
        if (k && y.by != by) return (Elements){0}; /* divided by different numbers */
        v[k] = y.p, by = y.by;
    }
    return by > DIVISOR_MAX ? (Elements){0} : quotients(w, (int)count, v, by);
}

static PolyList computed_elements(World *w, const Node *n, int64_t count) {
    ArenaMark mark = arena_mark(w->scratch);
    PolyList *in = ARENA_NEW(w->scratch, PolyList, n->nin), out = {0};
    Poly *v = ARENA_NEW(w->scratch, Poly, count);
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && row(w, n->in[k])->by == 1) in[k] = row(w, n->in[k])->list;
    if (sig_value(w, n->sig, in, v))
        out = (PolyList){(int)count, arena_copy(w->arena, v, (size_t)count * sizeof *v)};
    arena_reset(w->scratch, mark);
    return out;
}

/* Whether the operator says the elements of its first result; of floats only where it moves or
   converts them. */
static bool tells(World *w, Value v, const Node *n) {
    if (input_name(w, v) || v != n->out || n->op->flags & OP_RANDOM) return false;
    return !n->op->define || n->op->value || !is_wide_float(value_type(w, v)->dtype);
}

/* Fractions take part, or may come out. */
static bool of_fractions(World *w, Value v, const Node *n) {
    const bool real = is_wide_float(value_type(w, v)->dtype), cast = n->op == &op_cast;
    if (input_name(w, v) || v != n->out || !n->nin || !n->in[0]) return false;
    return cast ? !real && row(w, n->in[0])->by > 1
                : real && n->op->define && (!n->op->value || n->op == &op_div);
}

/* Its inputs are done, as far as they have elements. */
static void compute_value(World *w, Value v) {
    Node n = node_get(w, v);
    Type t;
    const void *bytes;
    int64_t count = element_count(w, v);
    Elements e = {0};
    if (count >= 0 && constant_get(w, v, &t, &bytes))
        e = constant_elements(w, bytes, t.dtype, count);
    else if (count >= 0 && of_fractions(w, v, &n)) e = arithmetic(w, &n, count);
    else if (count >= 0 && tells(w, v, &n))
        e = (Elements){.list = computed_elements(w, &n, count), .by = 1};
    e.resets = w->resets + 1;
    *row(w, v) = e;
}

static int by_id(const void *a, const void *b) {
    Value x = *(const Value *)a, y = *(const Value *)b;
    return (x > y) - (x < y);
}

typedef struct Pending {
    int n, room;
    Value *v;
} Pending;

static void push_pending(World *w, Pending *p, Value v) {
    if (!v || is_done(w, v)) return;
    *row(w, v) = (Elements){.resets = w->resets + 1}; /* met; computed below */
    ARENA_GROW(w->scratch, p->v, p->room, p->n + 1);
    p->v[p->n++] = v;
}

/* Values are computed in the order of their numbers, so that nothing recurses; only what has
   elements to follow is looked below. */
bool value_elements(World *w, Value v, PolyList *out) {
    ArenaMark mark = arena_mark(w->scratch);
    Pending p = {0};
    push_pending(w, &p, v);
    for (int k = 0; k < p.n; k++) {
        Node n = node_get(w, p.v[k]);
        for (int j = 0; element_count(w, p.v[k]) >= 0 && j < n.nin; j++)
            push_pending(w, &p, n.in[j]);
    }
    if (p.n) qsort(p.v, (size_t)p.n, sizeof *p.v, by_id);
    for (int k = 0; k < p.n; k++) compute_value(w, p.v[k]);
    arena_reset(w->scratch, mark);
    *out = row(w, v)->by == 1 ? row(w, v)->list : (PolyList){0};
    return out->v != NULL;
}

Value value_constant(World *w, Value v) {
    PolyList list;
    Type t = *value_type(w, v);
    int64_t x;
    if (!value_elements(w, v, &list)) return 0;
    for (int k = 0; k < list.n; k++)
        if (!poly_constant(w, list.v[k], &x)) return 0;
    void *bytes = arena_alloc(w->arena, element_bytes(t.dtype, list.n));
    for (int k = 0; k < list.n && poly_constant(w, list.v[k], &x); k++)
        element_set_integer(t.dtype, bytes, k, x);
    return constant_make(w, &t, blob_put(w, bytes, element_bytes(t.dtype, list.n)));
}
