/* wrap.c -- checks that normal forms are right for integers of n bits, which are numbers modulo
   2^n.

   A normal form computes over all integers. As long as only sums and products are taken, this is
   right, since equal polynomials are equal modulo 2^n. An operation that looks at the number itself
   (a maximum, a function, the condition of a choice, a conversion to another element type) must not
   get an integer that may have left its type. Its argument has to be an element of an input, a
   choice among such elements, or a value with bounds within the type (bounds.h). Within the
   definition of one operator, integers are taken to be those of mathematics. */
#include "verifier/wrap.h"
#include "verifier/bounds.h"
#include "verifier/scope.h"
#include "ops/core/element.h"

enum {
    /* Computed signed indices of at least so many bits are assumed not to overflow. */
    INDEX_BITS = 32
};
typedef struct WrapWalk {
    NfImport *m;
    const Node *node;
    DType type; /* element type of the node's result */
} WrapWalk;

static DType type_of(const WrapWalk *k, uint32_t input) {
    return value_type(k->m->p->w, k->node->in[input])->dtype;
}
/* If the expression is -max(-e), the minimum of e over variables, sets *of to e. */
static bool is_minimum(World *w, Ex e, Ex *of) {
    ExNode x;
    Ex most;
    if (!ex_negation(w, e, &most)) return false;
    ex_get(w, most, &x);
    return x.kind == EX_MAXIMUM && ex_negation(w, x.a, of);
}
static bool stays_in_type(NfImport *, Value);

/* Returns whether the expression's value is always one of the elements and numbers in it, all of
   which stay in the result's type. */
static bool tree_stays(const WrapWalk *k, Ex e) {
    World *w = k->m->p->w;
    ExNode x;
    Ex of;
    if (!e) return true;
    ex_get(w, e, &x);
    switch (x.kind) {
    case EX_NUM: return x.q == 1 && element_holds(k->type, x.p);
    case EX_AT: return type_of(k, x.word) == k->type && stays_in_type(k->m, k->node->in[x.word]);
    case EX_MAX2:
    case EX_MIN2:
    case EX_IF:
    case EX_WHERE: return tree_stays(k, x.a) && tree_stays(k, x.b);
    case EX_TAKE: return tree_stays(k, x.b);
    case EX_MAXIMUM: return tree_stays(k, x.a);
    default: return is_minimum(w, e, &of) && tree_stays(k, of);
    }
}
/* Returns whether v is a constant. *good is false for a single uint64 of 2^63 or more, which is
   negative as an int64 here. */
static bool constant_stays(World *w, Value v, bool *good) {
    Type t;
    const void *bytes;
    if (!constant_get(w, v, &t, &bytes)) return false;
    *good = t.dtype != DT_UINT64 || type_count(w, &t) != poly_int(w, 1) ||
            element_integer(t.dtype, bytes, 0) >= 0;
    return true;
}
/* Returns whether the value never leaves its element type; true if it is not an integer. */
static bool stays_in_type(NfImport *m, Value v) {
    enum { YES = 1, NO };
    World *w = m->p->w;
    DType type = value_type(w, v)->dtype;
    bool good = true;
    if (!dtype_is_integer(type)) return true;
    if (m->stays_in_type[v]) return m->stays_in_type[v] == YES;
    if (scope_is_input(m, v)) return true;
    if (!constant_stays(w, v, &good)) {
        Node node = node_get(w, value_node(w, v));
        Ex e = sig_define(w, node.sig, value_port(w, v));
        good = e && (tree_stays(&(WrapWalk){m, &node, type}, e) || bounds_in_type(m, v));
    }
    m->stays_in_type[v] = good ? YES : NO;
    return good;
}

static const char *risk(const WrapWalk *, Ex, bool ring);

/* Returns whether elements that are equal modulo 2^bits of their type are also equal modulo 2^bits
   of the result's type, because that has no more bits. */
static bool is_congruent(const WrapWalk *k, uint32_t input) {
    const DType from = type_of(k, input);
    return from == k->type || (dtype_is_integer(from) && dtype_is_integer(k->type) &&
                               dtype_bits(from) >= dtype_bits(k->type));
}
static const char *element_risk(const WrapWalk *k, uint32_t input, bool ring) {
    if ((ring && is_congruent(k, input)) || stays_in_type(k->m, k->node->in[input])) return NULL;
    return "integers may overflow their type before they are compared or converted";
}
static const char *index_risk(const WrapWalk *k, Ex index) {
    ExNode x;
    ex_get(k->m->p->w, index, &x);
    if (x.kind == EX_AT && dtype_class(type_of(k, x.word)) == 'I' &&
        dtype_bits(type_of(k, x.word)) >= INDEX_BITS)
        return NULL;
    return risk(k, index, false);
}
static bool whole_valued(Function f) {
    return f == FN_ABS || f == FN_DELTA || f == FN_FLOOR || f == FN_CEIL || f == FN_ROUND ||
           f == FN_SIGN;
}
static const char fraction[] = "a number is not an integer or truth value of its type";
/* Returns whether the expression is a number that the result's type cannot represent. */
static bool foreign(const WrapWalk *k, Ex e) {
    ExNode x;
    if (!e || dtype_class(k->type) == 'F') return false;
    ex_get(k->m->p->w, e, &x);
    return x.kind == EX_REAL || x.kind == EX_PARAM ||
           (x.kind == EX_NUM &&
            (x.q != 1 || (dtype_is_integer(k->type) && !element_holds(k->type, x.p))));
}
/* Returns what is wrong, or NULL. `ring`: on the way to the result, only sums and products in the
   result's type are applied to the expression. */
static const char *risk(const WrapWalk *k, Ex e, bool ring) {
    bool exact = ring && dtype_class(k->type) != 'F';
    ExNode x;
    const char *why = NULL;
    if (!e) return NULL;
    ex_get(k->m->p->w, e, &x);
    switch (x.kind) {
    case EX_NUM: return exact && x.q != 1 ? fraction : NULL;
    case EX_REAL:
    case EX_PARAM: return exact ? fraction : NULL;
    case EX_SIZE: return ring && dtype_class(k->type) == 'B' ? fraction : NULL;
    case EX_AT: return element_risk(k, x.word, ring);
    case EX_TAKE: why = index_risk(k, x.a); return why ? why : risk(k, x.b, ring);
    case EX_WHERE: why = risk(k, x.c, false); break;
    case EX_POW:
        if (exact) return fraction;
        ring = false;
        break;
    case EX_FN:
        if (exact && !whole_valued((Function)x.word)) return fraction;
        return risk(k, x.a, false);
    case EX_MAXIMUM: return risk(k, x.a, false);
    case EX_SUM: return risk(k, x.a, ring);
    case EX_MAX2:
    case EX_MIN2:
        if (foreign(k, x.a) || foreign(k, x.b)) return fraction;
        ring = false;
        break;
    case EX_ADD:
    case EX_MUL:
    case EX_IF: break;
    }
    if (!why) why = risk(k, x.a, ring);
    return why ? why : risk(k, x.b, ring);
}
const char *integers_at_risk(NfImport *m, Value v, const Node *node, Ex definition) {
    WrapWalk k = {m, node, value_type(m->p->w, v)->dtype};
    ExNode x;
    bool any = dtype_class(k.type) != 'F';
    ex_get(m->p->w, definition, &x);
    if (x.kind == EX_NUM && dtype_class(k.type) == 'B' && (x.p < 0 || x.p > 1)) return fraction;
    for (int j = 0; j < node->nin; j++)
        any |= node->in[j] && dtype_is_integer(value_type(m->p->w, node->in[j])->dtype);
    return any ? risk(&k, definition, true) : NULL;
}
