/* shapevalue.c -- elements of integer values, node by node: constants are read, everything else
   asks its operator (sig_value), inputs are unknown. What is kept for a value lies in the World's
   arena and is computed anew after a reset, which may have taken it away. */
#include "graphs/shapevalue.h"
#include "graphs/tables.h"
#include "ops/core/element.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Floats are followed as far as they hold whole numbers that they hold exactly: constants, and what
   only moves or converts elements (Op.value without a definition). Sizes are taken to be below
   2^24. */
enum { WHOLE_MAX = 1 << 24 };
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

static PolyList constant_elements(World *w, const void *bytes, DType t, int64_t n) {
    for (int64_t k = 0; k < n && is_wide_float(t); k++) {
        double x = element_real(t, bytes, k);
        if (!(fabs(x) <= (double)WHOLE_MAX) || x != floor(x)) return (PolyList){0};
    }
    Poly *v = ARENA_NEW(w->arena, Poly, n);
    for (int64_t k = 0; k < n; k++)
        v[k] = poly_int(w, is_wide_float(t) ? (int64_t)element_real(t, bytes, k)
                                            : element_integer(t, bytes, k));
    return (PolyList){(int)n, v};
}

static PolyList computed_elements(World *w, const Node *n, int64_t count) {
    ArenaMark mark = arena_mark(w->scratch);
    PolyList *in = ARENA_NEW(w->scratch, PolyList, n->nin), out = {0};
    Poly *v = ARENA_NEW(w->scratch, Poly, count);
    for (int k = 0; k < n->nin; k++)
        if (n->in[k]) in[k] = row(w, n->in[k])->list;
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

/* Its inputs are done, as far as they have elements. */
static void compute_value(World *w, Value v) {
    Node n = node_get(w, v);
    Type t;
    const void *bytes;
    int64_t count = element_count(w, v);
    PolyList list = {0};
    if (count >= 0 && constant_get(w, v, &t, &bytes))
        list = constant_elements(w, bytes, t.dtype, count);
    else if (count >= 0 && tells(w, v, &n)) list = computed_elements(w, &n, count);
    *row(w, v) = (Elements){list, w->resets + 1};
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
    *row(w, v) = (Elements){{0}, w->resets + 1}; /* met; computed below */
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
    *out = row(w, v)->list;
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
