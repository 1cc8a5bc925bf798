/* shapevalue.c -- computes the elements of integer values node by node. Constants are read, inputs
   are unknown, and for every other node its operator is asked (sig_value). If floats take part, or
   the operator cannot tell, the node is run by the oracle, provided that all its inputs are known
   numbers. What is kept for a value lies in the World's arena; after a reset, which may have freed
   it, it is computed again.

   Numbers are computed without a limit, whereas the elements of a type wrap: a value is known only
   if its type holds its elements (`held`). What a definition computes in between may exceed the
   type, as sums and products that wrap give the same result in the end. */
#include "graphs/shapevalue.h"
#include "graphs/oracle.h"
#include "graphs/tables.h"
#include "ops/core/element.h"
#include "ops/operator/value.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Floats are followed while they hold whole numbers exactly: in constants, and in results of nodes
   that only move or convert elements (those with Op.value but no definition). Sizes are assumed to
   be below 2^24.

   Fractions of whole numbers are followed, too, because padding by ceil(size / stride) passes
   through floats. A quotient of whole numbers is rounded once, and so is its sum with a whole
   number. While sizes are below 2^22 and divisors at most DIVISOR_MAX, this rounding moves no
   fraction onto or across a whole number. Halves, quarters and so on are exact. */
enum { WHOLE_MAX = 1 << 24, DIVISOR_MAX = 1 << 10 };
static bool is_wide_float(DType t) { return dtype_class(t) == 'F' && dtype_bits(t) >= 32; }
static bool followed(DType t) { return dtype_is_integer(t) || t == DT_BOOL || is_wide_float(t); }

/* The number of elements of a value; -1 if they are not followed. */
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
    return (Elements){.list = {(int)n, v}, .divisor = by};
}

/* Whether the type holds these elements. Polynomials over sizes count as held if their coefficients
   are and, for an unsigned type, they cannot be negative: sizes are assumed to be small enough. */
static bool held(World *w, DType t, Elements e) {
    const int64_t most = WHOLE_MAX * e.divisor;
    Monomial m;
    for (int k = 0; k < e.list.n; k++) {
        if (dtype_class(t) == 'U' && !value_natural(w, e.list.v[k])) return false;
        for (PolyScan s = poly_scan(w, e.list.v[k]); poly_next(&s, &m);)
            if (is_wide_float(t) ? llabs(m.coefficient) > most : !element_holds(t, m.coefficient))
                return false;
    }
    return true;
}

/* ---- numbers */

/* The number of roundings in a definition when numbers are computed by it. MANY stands for more
   than the single rounding at the end, which every runtime does alike, and for a function that no
   runtime rounds exactly. */
enum { MANY = 2 };
static int roundings(World *w, Ex e) {
    ExNode x;
    double by;
    int n = 0;
    ex_get(w, e, &x);
    const bool whole = x.kind == EX_FN && (x.word == FN_FLOOR || x.word == FN_CEIL ||
                                           x.word == FN_ROUND || x.word == FN_SIGN);
    for (int k = 0; k < ex_children(x.kind); k++) n += roundings(w, x.child[k]);
    switch (x.kind) {
    case EX_NUM: return x.q == 1 ? 0 : MANY;
    case EX_AT:
    case EX_SIZE:
    case EX_MAX2:
    case EX_MIN2:
    case EX_IF:
    case EX_WHERE:
    case EX_MAXIMUM:
    case EX_TAKE: return n;
    case EX_ADD: return n + 1;
    case EX_MUL: return n + !(ex_number(w, x.a, &by) && fabs(by) == 1);
    case EX_FN:
        return whole                ? n * MANY
               : x.word == FN_ABS   ? n
               : x.word == FN_SQRT  ? n + 1
               : x.word == FN_RECIP ? n + 1
                                    : MANY;
    default: return MANY;
    }
}
/* Whether e is a quotient, which definitions write as a * (1 / b). In double, this product is so
   near to the quotient that both are rounded to the same float of 32 bits. */
static bool is_quotient(World *w, Ex e, DType t) {
    ExNode x, y;
    ex_get(w, e, &x);
    if (x.kind != EX_MUL || dtype_bits(t) > 32) return false;
    ex_get(w, x.b, &y);
    return y.kind == EX_FN && y.word == FN_RECIP && !roundings(w, x.a) && !roundings(w, y.a);
}

/* The elements of a list as numbers of type t, in the arena; NULL if some are not numbers, or
   exceed `most` in magnitude (0: no limit). */
static const void *list_numbers(World *w, Arena *a, PolyList list, DType t, int64_t most) {
    int64_t x;
    for (int k = 0; k < list.n; k++)
        if (!poly_constant(w, list.v[k], &x) || (most && llabs(x) > most)) return NULL;
    void *made = arena_alloc(a, element_bytes(t, list.n));
    for (int k = 0; k < list.n && poly_constant(w, list.v[k], &x); k++)
        element_set_integer(t, made, k, x);
    return made;
}

/* The elements of a value as numbers; NULL if they are not all known numbers. */
static const void *known_numbers(World *w, Value v) {
    const Elements *e = row(w, v);
    const DType t = value_type(w, v)->dtype;
    const void *bytes;
    Type type;
    if (element_count(w, v) < 0) return NULL;
    if (constant_get(w, v, &type, &bytes)) return bytes;
    if (e->numbers || !e->list.v || e->divisor != 1) return e->numbers;
    return list_numbers(w, w->scratch, e->list, t, is_wide_float(t) ? WHOLE_MAX : 0);
}

static bool within(DType t, const void *x, int64_t count, double low, double high) {
    for (int64_t k = 0; k < count; k++)
        if (!(element_real(t, x, k) >= low && element_real(t, x, k) <= high)) return false;
    return true;
}

static const double most = (double)WHOLE_MAX;

/* Whether every runtime converts the elements of a node's input to the same numbers. A float may
   become an integer only if that has 32 bits or more and the number is at most WHOLE_MAX. An
   integer may become a float only if a double holds it, from which it is rounded. */
static bool converts_exactly(World *w, const Node *n, const void *x) {
    const DType to = value_type(w, n->out)->dtype, from = value_type(w, n->in[0])->dtype;
    const int64_t count = element_count(w, n->in[0]);
    double ignored;
    if (is_wide_float(from) && !is_wide_float(to) && to != DT_BOOL)
        return dtype_bits(to) >= 32 &&
               within(from, x, count, dtype_class(to) == 'U' ? 0 : -most, most);
    for (int64_t k = 0; k < count; k++)
        if (!element_exact(from, x, k, &ignored)) return false;
    return true;
}

/* Whether every runtime computes the same numbers for a node: it moves, converts, compares, rounds
   to whole numbers, or rounds once. Integers may only be moved and chosen, and only if doubles hold
   them. bytes[k]: contents of input k; `real`: floats take part. */
static bool computes_exactly(World *w, const Node *n, const void *const bytes[], bool real) {
    const DType to = value_type(w, n->out)->dtype;
    if (real && n->op == &op_cast) return converts_exactly(w, n, bytes[0]);
    if (real && n->op->flags & OP_DECIDES) return true;
    const Ex e = sig_define_numbers(w, n->sig, 0);
    for (int k = 0; !real && k < n->nin; k++)
        if (n->in[k] && !within(value_type(w, n->in[k])->dtype, bytes[k],
                                element_count(w, n->in[k]), -most, most))
            return false;
    return e && (roundings(w, e) < (real ? MANY : 1) || (real && is_quotient(w, e, to)));
}

static bool has_floats(World *w, const Node *n) {
    bool real = is_wide_float(value_type(w, n->out)->dtype);
    for (int k = 0; k < n->nin; k++)
        real |= n->in[k] && is_wide_float(value_type(w, n->in[k])->dtype);
    return real;
}

/* Runs a node with one result whose inputs are all known numbers. */
static Elements numbers(World *w, const Node *n, int64_t count) {
    ArenaMark mark = arena_mark(w->scratch);
    const DType t = value_type(w, n->out)->dtype;
    const size_t size = element_bytes(t, count);
    const void **bytes = ARENA_NEW(w->scratch, const void *, n->nin);
    const void **given = ARENA_NEW(w->scratch, const void *, n->nin);
    Value *in = ARENA_NEW(w->scratch, Value, n->nin);
    Graph g = {0, 1, in, &n->out};
    bool good = n->nin > 0 && n->in[0] && n->nout == 1 && !(n->op->flags & OP_RANDOM);
    for (int k = 0; good && k < n->nin; k++) {
        if (!n->in[k]) continue;
        good = (given[g.nin] = bytes[k] = known_numbers(w, n->in[k])) != NULL;
        in[g.nin++] = n->in[k];
    }
    void *made = NULL;
    Error ignored = {0};
    good = good && computes_exactly(w, n, bytes, has_floats(w, n));
    if (good) made = arena_alloc(w->arena, size ? size : 1);
    good = good && oracle_run(w, &g, (Sizes){0}, false, given, &made, &ignored);
    arena_reset(w->scratch, mark);
    if (!good) return (Elements){0};
    Elements e = constant_elements(w, made, t, count);
    return e.numbers = made, e;
}

/* ---- arithmetic of floats */

static bool is_power_of_2(int64_t x) { return (x & (x - 1)) == 0; }

typedef struct Fraction {
    Poly p;
    int64_t divisor; /* the divisor */
} Fraction;

/* Computes an element of a op b; returns false if it cannot be expressed exactly enough. */
static bool fraction(World *w, const Op *op, Fraction a, Fraction b, Fraction *y) {
    const bool exact = is_power_of_2(a.divisor) && is_power_of_2(b.divisor), minus = op == &op_sub;
    int64_t divisor;
    if (op == &op_div) {
        if (a.divisor != 1 || b.divisor != 1 || !poly_constant(w, b.p, &divisor) || divisor < 1)
            return false;
        return *y = (Fraction){a.p, divisor}, true;
    }
    y->divisor = a.divisor * b.divisor;
    if (op == &op_mul) return y->p = poly_mul(w, a.p, b.p), exact;
    if (op != &op_add && !minus) return false;
    const Poly left = poly_scale(w, a.p, b.divisor), right = poly_scale(w, b.p, a.divisor);
    y->p = minus ? poly_sub(w, left, right) : poly_add(w, left, right);
    return exact || a.divisor == 1 || b.divisor == 1;
}

/* Divides by `by` if all quotients are whole numbers; else keeps the divisor. */
static Elements quotients(World *w, int n, Poly v[], int64_t by) {
    int64_t x;
    bool whole = true;
    for (int k = 0; k < n && whole; k++) whole = poly_constant(w, v[k], &x) && x % by == 0;
    for (int k = 0; k < n && whole && poly_constant(w, v[k], &x); k++) v[k] = poly_int(w, x / by);
    return (Elements){.list = {n, v}, .divisor = whole ? 1 : by};
}

/* The elements of a node of the arithmetic that computes sizes in floats: + - * /, floor, ceil, and
   a cast of a quotient to an integer, which rounds towards 0. */
static Elements arithmetic(World *w, const Node *n, int64_t count) {
    const Op *op = n->op;
    const bool up = op == &op_ceil, down = op == &op_floor || op == &op_cast;
    if ((n->nin != 2 && !up && !down) || !n->in[0] || !n->in[n->nin - 1]) return (Elements){0};
    const Elements *a = row(w, n->in[0]), *b = row(w, n->in[n->nin - 1]);
    if (!a->list.v || !b->list.v || a->list.n != count || b->list.n != count) return (Elements){0};
    Poly *v = ARENA_NEW(w->arena, Poly, count);
    int64_t by = 1;
    for (int64_t k = 0; k < count; k++) {
        const Fraction x = {a->list.v[k], a->divisor}, z = {b->list.v[k], b->divisor};
        const Poly more = poly_int(w, up ? x.divisor - 1 : 0);
        Fraction y = {0, 1};
        if (op == &op_cast && !value_natural(w, x.p)) return (Elements){0};
        if (n->nin == 1) y.p = poly_floor(w, poly_add(w, x.p, more), poly_int(w, x.divisor));
        else if (!fraction(w, op, x, z, &y)) return (Elements){0};
        if (k && y.divisor != by) return (Elements){0}; /* the elements have different divisors */
        v[k] = y.p, by = y.divisor;
    }
    return by > DIVISOR_MAX ? (Elements){0} : quotients(w, (int)count, v, by);
}

static PolyList computed_elements(World *w, const Node *n, int64_t count) {
    ArenaMark mark = arena_mark(w->scratch);
    PolyList *in = ARENA_NEW(w->scratch, PolyList, n->nin), out = {0};
    Poly *v = ARENA_NEW(w->scratch, Poly, count);
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && row(w, n->in[k])->divisor == 1) in[k] = row(w, n->in[k])->list;
    if (sig_value(w, n->sig, in, v))
        out = (PolyList){(int)count, arena_copy(w->arena, v, (size_t)count * sizeof *v)};
    arena_reset(w->scratch, mark);
    return out;
}

/* Whether the operator tells the elements of its first result. For floats, it does so only if it
   moves or converts them. */
static bool tells(World *w, Value v, const Node *n) {
    if (input_name(w, v) || v != n->out || n->op->flags & OP_RANDOM) return false;
    return !n->op->define || n->op->value || !is_wide_float(value_type(w, v)->dtype);
}

/* Whether fractions take part in a node, or may be its results. */
static bool of_fractions(World *w, Value v, const Node *n) {
    const bool real = is_wide_float(value_type(w, v)->dtype), cast = n->op == &op_cast;
    if (input_name(w, v) || v != n->out || !n->nin || !n->in[0]) return false;
    return cast ? !real && row(w, n->in[0])->divisor > 1
                : real && n->op->define && (!n->op->value || n->op == &op_div);
}

/* Computes the elements of v; those of its inputs have been computed. */
static Elements elements_of(World *w, Value v, int64_t count) {
    const Node n = node_get(w, v);
    Type t;
    const void *bytes;
    if (constant_get(w, v, &t, &bytes)) return constant_elements(w, bytes, t.dtype, count);
    const bool runs = v == n.out && !input_name(w, v), real = runs && has_floats(w, &n);
    Elements e = real ? numbers(w, &n, count) : (Elements){0};
    if (e.numbers) return e;
    if (of_fractions(w, v, &n)) return arithmetic(w, &n, count);
    if (tells(w, v, &n)) e = (Elements){.list = computed_elements(w, &n, count), .divisor = 1};
    return e.list.v || real || !runs ? e : numbers(w, &n, count);
}
static void compute_value(World *w, Value v) {
    const int64_t count = element_count(w, v);
    Elements e = count < 0 ? (Elements){0} : elements_of(w, v, count);
    if (!held(w, value_type(w, v)->dtype, e)) e = (Elements){.numbers = e.numbers};
    e.resets = w->resets + 1;
    *row(w, v) = e;
}

typedef struct Pending {
    int n, room;
    Value *v;
} Pending;

static void push_pending(World *w, Pending *p, Value v) {
    if (!v || is_done(w, v)) return;
    *row(w, v) = (Elements){.resets = w->resets + 1}; /* met; computed by compute_value */
    ARENA_GROW(w->scratch, p->v, p->room, p->n + 1);
    p->v[p->n++] = v;
}

/* Values are computed in the order of their numbers, so that nothing recurses. The walk to inputs
   does not go beyond values that are not followed. */
bool value_elements(World *w, Value v, PolyList *out) {
    ArenaMark mark = arena_mark(w->scratch);
    Pending p = {0};
    push_pending(w, &p, v);
    for (int k = 0; k < p.n; k++) {
        Node n = node_get(w, p.v[k]);
        for (int j = 0; element_count(w, p.v[k]) >= 0 && j < n.nin; j++)
            push_pending(w, &p, n.in[j]);
    }
    ids_sort(p.n, p.v);
    for (int k = 0; k < p.n; k++) compute_value(w, p.v[k]);
    arena_reset(w->scratch, mark);
    *out = row(w, v)->divisor == 1 ? row(w, v)->list : (PolyList){0};
    return out->v != NULL;
}

Value value_constant(World *w, Value v) {
    PolyList list;
    const Type t = *value_type(w, v);
    const bool known = value_elements(w, v, &list);
    const void *made = row(w, v)->numbers;
    if (!made && known) made = list_numbers(w, w->arena, list, t.dtype, 0);
    if (!made) return 0;
    return constant_make(w, &t, blob_put(w, made, element_bytes(t.dtype, element_count(w, v))));
}
