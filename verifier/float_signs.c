/* float_signs.c -- follows the signs of expressions through the definitions of operators, in the
   order in which they are computed. Normal forms do not have this order: (x - z)^2 and x^2 - 2xz +
   z^2 are one form, but only the second may come out negative.

   A sum has the sign of the real number if all its terms do and none of them has another sign than
   the others, or if it is the sum of two numbers that were not rounded. */
#include "verifier/float_signs.h"
#include "verifier/signs.h"
#include <string.h>

enum { SIGNS = FLOAT_NEGATIVE | FLOAT_ZERO | FLOAT_POSITIVE };
enum { UNROUNDED = FLOAT_SIGN_KEPT | FLOAT_EXACT };

bool may_turn_negative(unsigned x) { return (x & FLOAT_NEGATIVE) && !(x & FLOAT_SIGN_KEPT); }
bool may_vanish(unsigned x) {
    return (x & (FLOAT_NEGATIVE | FLOAT_ZERO)) && !(x & FLOAT_SIGN_KEPT);
}
/* A single possible sign is that of the real number. */
static unsigned settled(unsigned x) {
    const unsigned signs = x & SIGNS;
    return (signs & (signs - 1)) == 0 ? x | FLOAT_SIGN_KEPT : x;
}
static unsigned number_sign(double v) {
    const unsigned negative = FLOAT_NEGATIVE | FLOAT_SUBTRACTS;
    return (v < 0 ? negative : v > 0 ? FLOAT_POSITIVE : FLOAT_ZERO) | UNROUNDED;
}
static unsigned negated(unsigned x) {
    const unsigned kept = x & ~(unsigned)(FLOAT_NEGATIVE | FLOAT_POSITIVE);
    return kept | FLOAT_SUBTRACTS | (x & FLOAT_NEGATIVE ? FLOAT_POSITIVE : 0) |
           (x & FLOAT_POSITIVE ? FLOAT_NEGATIVE : 0);
}
static unsigned sum_signs(unsigned a, unsigned b) {
    const unsigned either = a | b;
    const bool opposite = (either & FLOAT_NEGATIVE) && (either & FLOAT_POSITIVE);
    unsigned y = either & (FLOAT_NEGATIVE | FLOAT_POSITIVE | FLOAT_SUBTRACTS);
    if (opposite || (a & b & FLOAT_ZERO)) y |= FLOAT_ZERO;
    if ((!opposite && (a & b & FLOAT_SIGN_KEPT)) || (a & b & FLOAT_EXACT)) y |= FLOAT_SIGN_KEPT;
    return settled(y);
}
static unsigned product_signs(unsigned a, unsigned b) {
    unsigned y = (a | b) & (FLOAT_ZERO | FLOAT_SIGMOID | FLOAT_SUBTRACTS);
    if (((a & b) & FLOAT_NEGATIVE) || ((a & b) & FLOAT_POSITIVE)) y |= FLOAT_POSITIVE;
    if ((a & FLOAT_NEGATIVE && b & FLOAT_POSITIVE) || (a & FLOAT_POSITIVE && b & FLOAT_NEGATIVE))
        y |= FLOAT_NEGATIVE;
    return settled(y | (a & b & FLOAT_SIGN_KEPT));
}
/* The square of x, or another even power. */
static unsigned even_power(unsigned x) {
    const unsigned positive = x & (FLOAT_NEGATIVE | FLOAT_POSITIVE) ? FLOAT_POSITIVE : 0;
    return settled(positive | (x & ~(unsigned)(FLOAT_NEGATIVE | FLOAT_EXACT)));
}
static unsigned greater_signs(unsigned a, unsigned b) {
    unsigned y =
        ((a | b) & (FLOAT_POSITIVE | FLOAT_SUBTRACTS)) | (a & b & (FLOAT_NEGATIVE | UNROUNDED));
    if ((a & FLOAT_ZERO && b & (FLOAT_ZERO | FLOAT_NEGATIVE)) ||
        (b & FLOAT_ZERO && a & FLOAT_NEGATIVE))
        y |= FLOAT_ZERO;
    if (!(a & (FLOAT_NEGATIVE | FLOAT_ZERO)) || !(b & (FLOAT_NEGATIVE | FLOAT_ZERO)))
        y &= ~(unsigned)FLOAT_ZERO;
    return settled(y);
}
/* One of two numbers. */
static unsigned either_signs(unsigned a, unsigned b) {
    return ((a | b) & (SIGNS | FLOAT_SIGMOID | FLOAT_SUBTRACTS)) | (a & b & UNROUNDED);
}
static unsigned function_signs(Function f, unsigned x) {
    const unsigned same = x & (SIGNS | FLOAT_SIGN_KEPT | FLOAT_SUBTRACTS);
    switch (f) {
    case FN_EXP: return FLOAT_POSITIVE | FLOAT_SIGN_KEPT;
    case FN_SIGMOID: return FLOAT_POSITIVE | FLOAT_SIGN_KEPT | FLOAT_SIGMOID;
    case FN_RECIP:
    case FN_TANH:
    case FN_ERF:
    case FN_SIGN: return same;
    case FN_SQRT: return settled((same & ~(unsigned)FLOAT_NEGATIVE) | (x & FLOAT_SIGMOID));
    case FN_DELTA: return FLOAT_ZERO | FLOAT_POSITIVE | (x & UNROUNDED);
    case FN_FLOOR:
    case FN_CEIL:
    case FN_ROUND: return FLOAT_ZERO | same | (x & FLOAT_EXACT);
    default: return SIGNS | FLOAT_SUBTRACTS | (x & FLOAT_EXACT ? FLOAT_SIGN_KEPT : 0);
    }
}
static unsigned power_signs(World *w, Ex exponent, unsigned x) {
    ExNode e;
    ex_get(w, exponent, &e);
    if (e.kind != EX_NUM) return SIGNS | FLOAT_SUBTRACTS | (x & FLOAT_SIGN_KEPT);
    if (e.q != 1) return settled((x & ~(unsigned)(FLOAT_NEGATIVE | FLOAT_EXACT)) | FLOAT_POSITIVE);
    return e.p % 2 == 0 ? even_power(x) : x & ~(unsigned)FLOAT_EXACT;
}
static unsigned value_signs(NfImport *m, Value v) {
    World *w = m->p->w;
    const char class = dtype_class(value_type(w, v)->dtype);
    if (class != 'F') return (class == 'I' ? SIGNS : FLOAT_ZERO | FLOAT_POSITIVE) | UNROUNDED;
    if (scope_is_input(m, v)) return SIGNS | UNROUNDED;
    if (constant_get(w, v, NULL, &(const void *){NULL})) return SIGNS | UNROUNDED | FLOAT_SUBTRACTS;
    if (!m->float_signs[v]) {
        const Node node = node_get(w, value_node(w, v));
        Scope inner = scope_new(m, &node, v);
        m->float_signs[v] = (uint8_t)float_signs(&inner, import_definition(m, v, &node));
    }
    return m->float_signs[v];
}
static unsigned size_signs(Scope *s, Poly size) {
    const Nf form = nf_polynomial(s->m->p, scope_poly(s, size));
    return (nf_nonnegative(s->m->p, form) ? FLOAT_ZERO | FLOAT_POSITIVE : SIGNS) | UNROUNDED;
}
/* Returns whether a and b are the same expression, or the same element of a tensor that two inputs
   of the node have in common, as in mul %d %d. */
static bool same_number(const Scope *s, Ex a, Ex b) {
    ExNode x, y;
    if (a == b || !a || !b) return a == b;
    ex_get(s->m->p->w, a, &x), ex_get(s->m->p->w, b, &y);
    return x.kind == EX_AT && y.kind == EX_AT && s->node->in[x.word] == s->node->in[y.word] &&
           x.n == y.n && !memcmp(x.dims, y.dims, sizeof *x.dims * (size_t)x.n);
}
unsigned float_signs(Scope *s, Ex e) {
    World *w = s->m->p->w;
    ExNode x;
    Ex inner;
    double number;
    unsigned of[EX_CHILDREN] = {0};
    if (!e || ex_number(w, e, &number)) return number_sign(e ? number : 0);
    ex_get(w, e, &x);
    if (x.kind == EX_AT) return value_signs(s->m, s->node->in[x.word]);
    if (x.kind == EX_SIZE) return size_signs(s, x.size);
    if (x.kind == EX_TAKE) return float_signs(s, x.b);
    for (int k = 0; k < ex_children(x.kind); k++) of[k] = float_signs(s, x.child[k]);
    switch (x.kind) {
    case EX_ADD: return sum_signs(of[0], of[1]);
    case EX_MUL:
        if (same_number(s, x.a, x.b)) return even_power(of[0]);
        if (ex_negation(w, e, &inner)) return negated(of[inner == x.b]);
        return product_signs(of[0], of[1]);
    case EX_MAX2:
        if ((ex_negation(w, x.a, &inner) && inner == x.b) ||
            (ex_negation(w, x.b, &inner) && inner == x.a))
            return even_power(of[0]); /* max(x, -x) */
        return greater_signs(of[0], of[1]);
    case EX_MIN2: return negated(greater_signs(negated(of[0]), negated(of[1])));
    case EX_POW: return power_signs(w, x.b, of[0]);
    case EX_FN: return function_signs((Function)x.word, of[0]);
    case EX_IF:
    case EX_WHERE: return either_signs(of[0], of[1]);
    case EX_SUM: { /* of any number of terms */
        const unsigned y = sum_signs(of[0], of[0] & ~(unsigned)FLOAT_EXACT);
        return settled(y | FLOAT_ZERO);
    }
    case EX_MAXIMUM: return of[0] & ~(unsigned)FLOAT_SIGMOID;
    default:
        return FLOAT_POSITIVE | UNROUNDED; /* a real variable of the rule, such as an epsilon */
    }
}
