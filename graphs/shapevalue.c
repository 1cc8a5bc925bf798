/* shapevalue.c -- the operators say how their elements follow from those of their inputs (sig_value); here this is done once for each value and kept in a column. Inputs first, by an
   own stack: chains may be long. What cannot be computed is kept too, as a list of -1 elements. */
#include "graphs/shapevalue.h"
#include "ops/core/element.h"
#include "graphs/tables.h"

static const PolyList unknown = {-1, NULL};

static const PolyList **slot(World *w, Value v) { return column_at(w, &graph_tables(w)->elements, v); }

static bool countable(World *w, Value v, int64_t *n) {
    const Type *t = value_type(w, v);
    char class = dtype_class(t->dtype);
    bool integer = class == 'I' || class == 'U' || class == 'B';
    return integer && t->known && element_readable(t->dtype) && poly_constant(w, type_count(w, t), n) && *n >= 0 && *n <= ELEMENTS_MAX;
}

static const PolyList *list_of(World *w, int64_t n, const Poly *v) {
    PolyList *list = ARENA_NEW(w->arena, PolyList, 1);
    *list = (PolyList){(int)n, v};
    return list;
}

static const PolyList *compute(World *w, Value v) {
    int64_t n;
    Type type;
    const void *bytes;
    if (!countable(w, v, &n)) return &unknown;
    Poly *out = ARENA_NEW(w->arena, Poly, n);
    if (constant_get(w, v, &type, &bytes)) {
        for (int64_t i = 0; i < n; i++) out[i] = poly_int(w, element_integer(type.dtype, bytes, i));
        return list_of(w, n, out);
    }
    Node node = node_get(w, value_node(w, v));
    PolyList *in = ARENA_NEW(w->arena, PolyList, node.nin);
    for (int k = 0; k < node.nin; k++)
        if (node.in[k] && (*slot(w, node.in[k]))->n >= 0) in[k] = **slot(w, node.in[k]);
    if (value_port(w, v) || !sig_value(w, node.sig, in, out)) return &unknown;
    return list_of(w, n, out);
}

/* An input that has no list yet and may matter; 0: none. */
static Value waiting(World *w, Value v) {
    int64_t n;
    if (!countable(w, v, &n)) return 0;
    Node node = node_get(w, value_node(w, v));
    for (int k = 0; k < node.nin; k++) {
        if (!node.in[k] || *slot(w, node.in[k])) continue;
        if (countable(w, node.in[k], &n)) return node.in[k];
        *slot(w, node.in[k]) = &unknown;
    }
    return 0;
}

bool value_elements(World *w, Value v, PolyList *out) {
    Text stack = text_new(w->arena);
    text_bytes(&stack, (const char *)&v, sizeof v);
    for (Value at, input; stack.size;) {
        __builtin_memcpy(&at, stack.data + stack.size - sizeof at, sizeof at);
        if (!*slot(w, at) && (input = waiting(w, at))) {
            text_bytes(&stack, (const char *)&input, sizeof input);
            continue;
        }
        if (!*slot(w, at)) {
            const PolyList *list = compute(w, at);
            *slot(w, at) = list;
        }
        stack.size -= sizeof at;
    }
    *out = **slot(w, v);
    return out->n >= 0;
}
