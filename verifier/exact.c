/* exact.c -- recognizes operations on floats that no float type rounds: sums of small integers, and
   saturation to an integer type of 8 bits. Every float type with a definition here represents all
   integers up to 256; bfloat16 is the coarsest. */
#include "verifier/exact.h"
#include "ops/core/element.h"
#include "verifier/bounds.h"
#include <math.h>

/* Integers of magnitude up to HELD_MOST are represented by floats of at least HELD_DIGITS
   digits. */
enum { HELD_DIGITS = 8, HELD_MOST = 1 << HELD_DIGITS, SATURATED_BITS = 8 };

typedef struct HeldInteger { /* an integer value from low to high */
    int64_t low, high;
    bool minus_zero;         /* computed in floats, it may be -0 */
    bool operand_minus_zero; /* an element that it is computed from may be -0 */
} HeldInteger;
static bool is_within(HeldInteger h) { return h.low >= -HELD_MOST && h.high <= HELD_MOST; }
/* y, computed from a and b */
static HeldInteger computed(HeldInteger a, HeldInteger b, HeldInteger y) {
    y.operand_minus_zero = a.operand_minus_zero || b.operand_minus_zero;
    return y;
}
static HeldInteger sum_of(HeldInteger a, HeldInteger b) {
    return computed(a, b,
                    (HeldInteger){.low = a.low + b.low,
                                  .high = a.high + b.high,
                                  .minus_zero = a.minus_zero && b.minus_zero});
}
static bool may_be_zero(HeldInteger h) { return h.low <= 0 && h.high >= 0; }
/* A product is -0 only where one factor is 0 and the other one is negative or -0. */
static bool product_minus_zero(HeldInteger a, HeldInteger b) {
    return a.minus_zero || b.minus_zero || (may_be_zero(a) && b.low < 0) ||
           (may_be_zero(b) && a.low < 0);
}
/* Both are within HELD_MOST, so nothing overflows. */
static HeldInteger product_of(HeldInteger a, HeldInteger b) {
    const int64_t corner[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    HeldInteger y = {.low = corner[0], .high = corner[0], .minus_zero = product_minus_zero(a, b)};
    for (int k = 1; k < 4; k++) {
        if (corner[k] < y.low) y.low = corner[k];
        if (corner[k] > y.high) y.high = corner[k];
    }
    return computed(a, b, y);
}
/* Returns whether the constant is a single float that is an integer within HELD_MOST. */
static bool held_constant(World *w, const Type *t, const void *bytes, HeldInteger *out) {
    if (t->dtype != DT_FLOAT || type_count(w, t) != poly_int(w, 1)) return false;
    const double v = element_real(t->dtype, bytes, 0);
    if (!(fabs(v) <= (double)HELD_MOST) || v != floor(v)) return false;
    *out = (HeldInteger){.low = (int64_t)v, .high = (int64_t)v, .minus_zero = v == 0 && signbit(v)};
    return true;
}
static bool held_tree(NfImport *, const Node *, Ex, HeldInteger *);
/* Returns whether the value is an integer with known bounds, or a float that is computed from such
   integers. */
static bool held_value(NfImport *m, Value v, HeldInteger *out) {
    World *w = m->p->w;
    const DType t = value_type(w, v)->dtype;
    Type type;
    const void *bytes;
    int64_t limit[2];
    *out = (HeldInteger){0};
    if (dtype_class(t) != 'F') {
        if (!bounds_of_value(m, v, limit)) return false;
        out->low = limit[0], out->high = limit[1];
        return true;
    }
    if (dtype_digits(t) < HELD_DIGITS || scope_is_input(m, v)) return false;
    if (constant_get(w, v, &type, &bytes)) return held_constant(w, &type, bytes, out);
    const Node node = node_get(w, value_node(w, v));
    const Ex e = sig_define(w, node.sig, value_port(w, v));
    return e && held_tree(m, &node, e, out);
}
static HeldInteger either(HeldInteger a, HeldInteger b) {
    return computed(a, b,
                    (HeldInteger){.low = a.low < b.low ? a.low : b.low,
                                  .high = a.high > b.high ? a.high : b.high,
                                  .minus_zero = a.minus_zero || b.minus_zero});
}
static bool held_element(NfImport *m, const Node *node, const ExNode *x, HeldInteger *out) {
    const bool held = held_value(m, node->in[x->word], out) && is_within(*out);
    out->operand_minus_zero = out->minus_zero;
    return held;
}
/* Returns whether the expression consists of sums, products, choices, elements and numbers, all of
   which are integers within HELD_MOST. */
static bool held_tree(NfImport *m, const Node *node, Ex e, HeldInteger *out) {
    ExNode x;
    HeldInteger a, b;
    *out = (HeldInteger){0};
    if (!e) return true;
    ex_get(m->p->w, e, &x);
    if (x.kind == EX_NUM) {
        *out = (HeldInteger){.low = x.p, .high = x.p};
        return x.q == 1 && is_within(*out);
    }
    if (x.kind == EX_AT) return held_element(m, node, &x, out);
    if (x.kind == EX_TAKE) return held_tree(m, node, x.b, out);
    if (x.kind != EX_ADD && x.kind != EX_MUL && x.kind != EX_IF && x.kind != EX_WHERE) return false;
    if (!held_tree(m, node, x.a, &a) || !held_tree(m, node, x.b, &b)) return false;
    *out = x.kind == EX_ADD ? sum_of(a, b) : x.kind == EX_MUL ? product_of(a, b) : either(a, b);
    return is_within(*out);
}
static bool is_held(Scope *s, Ex e) {
    HeldInteger h;
    return held_tree(s->m, s->node, e, &h);
}
/* An element that may be -0 has a form of its own. In real numbers the form of this element + 0 is
   the same, so the sum, which is 0 there, must not be computed in real numbers. */
bool exact_is_integer(Scope *s, Ex e) {
    ExNode x;
    HeldInteger h;
    if (!e || s->whole) return false;
    ex_get(s->m->p->w, e, &x);
    if (dtype_class(s->dtype) == 'F' && dtype_digits(s->dtype) < HELD_DIGITS) return false;
    return x.kind == EX_ADD && held_tree(s->m, s->node, e, &h) && !h.minus_zero &&
           !h.operand_minus_zero;
}

/* ---- saturation */

/* If one operand of the node is the number v, sets *other to the other one. */
static bool other_than(World *w, const ExNode *x, int64_t v, Ex *other) {
    const bool first = ex_is(w, x->a, v);
    *other = first ? x->b : x->a;
    return first || ex_is(w, x->b, v);
}
static bool is_rounded(World *w, Ex e) {
    ExNode x;
    if (!e) return false;
    ex_get(w, e, &x);
    return x.kind == EX_FN && (x.word == FN_ROUND || x.word == FN_FLOOR || x.word == FN_CEIL);
}
static bool is_saturated_sum(Scope *s, Ex e, Saturation *out) {
    ExNode x;
    ex_get(s->m->p->w, e, &x);
    if (x.kind != EX_ADD) return false;
    const bool first = is_rounded(s->m->p->w, x.a);
    out->rounded = first ? x.a : x.b;
    out->zero = first ? x.b : x.a;
    return is_rounded(s->m->p->w, out->rounded) && is_held(s, out->zero);
}
bool exact_is_saturated(Scope *s, const ExNode *x, Saturation *out) {
    World *w = s->m->p->w;
    const IntegerRange all = dtype_range(s->dtype);
    ExNode inner;
    Ex e, sum;
    if (s->whole || (x->kind != EX_MAX2 && x->kind != EX_MIN2)) return false;
    if (!dtype_is_integer(s->dtype) || dtype_bits(s->dtype) > SATURATED_BITS) return false;
    *out = (Saturation){.limit = {all.low, all.high}};
    if (!other_than(w, x, out->limit[x->kind == EX_MIN2], &e) || !e) return false;
    ex_get(w, e, &inner);
    return inner.kind == (x->kind == EX_MAX2 ? EX_MIN2 : EX_MAX2) &&
           other_than(w, &inner, out->limit[inner.kind == EX_MIN2], &sum) && sum &&
           is_saturated_sum(s, sum, out);
}
