/* emit_draft.c -- adds attributes and inputs to an ONNX node that is being written. A list of sizes
   is a constant if possible; otherwise it is computed in the model from the sizes of values that
   exist there, by Shape and a slice of its result. */
#include "graphs/onnx/export/emit_draft.h"
#include "ops/operator/value.h"
#include <string.h>

bool draft_fail(Draft *d, const char *why) {
    if (!d->why) d->why = why;
    return false;
}

const Type *draft_type(const Draft *d, int k) {
    return k < d->node.nin && d->node.in[k] ? value_type(d->w, d->node.in[k]) : NULL;
}
int draft_attr(const Draft *d, const char *name) {
    return d->node.op->attrs ? attrs_find(d->node.op->attrs, name) : -1;
}
PolyList draft_list(const Draft *d, const char *name) {
    int k = draft_attr(d, name);
    return k < 0 ? (PolyList){0} : d->attr[k].ints;
}

OnnxAttr *draft_new(Draft *d, const char *name, OnnxAttrKind kind) {
    ARENA_APPEND(d->w->arena, d->e->attr, d->e->nattr, ((OnnxAttr){.name = name, .kind = kind}));
    return &d->e->attr[d->e->nattr - 1];
}

static bool constant_numbers(Draft *d, PolyList list, int64_t **out) {
    *out = ARENA_NEW(d->w->arena, int64_t, list.n);
    for (int k = 0; k < list.n; k++)
        if (!poly_constant(d->w, list.v[k], &(*out)[k]))
            return draft_fail(
                d, "a number that depends on sizes where ONNX needs a constant attribute");
    return true;
}

bool draft_ints(Draft *d, const char *name, PolyList list) {
    int64_t *v;
    if (!constant_numbers(d, list, &v)) return false;
    OnnxAttr *t = draft_new(d, name, ONNX_ATTR_INTS);
    t->n = list.n, t->ints = v;
    return true;
}
bool draft_int(Draft *d, const char *name, int64_t v) {
    return draft_new(d, name, ONNX_ATTR_INT)->i = v, true;
}

static Value int_list(World *w, int n, const int64_t *v) {
    return constant_copied(w, DT_INT64, (Dims){1, {poly_int(w, n)}}, v);
}

/* Returns the size of an axis of a value as a list of one number: Shape, then a slice of it. */
static Value axis_size(World *w, Value v, int axis) {
    Poly start = poly_int(w, axis), one = poly_int(w, 1);
    Value shape = node_call(w, &op_shape, 1, &v, NULL);
    const NamedList part[] = {{"starts", {1, &start}}, {"sizes", {1, &one}}, {0}};
    return shape ? node_call(w, &op_slice, 1, &shape, part) : 0;
}
/* The same for the axis that has this size; 0 if there is none. */
static Value size_of_value(World *w, Value v, Poly size) {
    const Type *t = v ? value_type(w, v) : NULL;
    for (int k = 0; t && t->known && k < t->dim.n; k++)
        if (t->dim.v[k] == size) return axis_size(w, v, k);
    return 0;
}

/* Looks for a value that has this size among the inputs of the node, then among those of the graph,
   then among the values that are written anyway. */
static Value size_near(Draft *d, Poly size) {
    const Graph *g = model_graph(d->m);
    Value found = 0;
    for (int k = 0; k < d->node.nin && !found; k++)
        found = size_of_value(d->w, d->node.in[k], size);
    for (int k = 0; k < g->nin && !found; k++) found = size_of_value(d->w, g->in[k], size);
    for (Value v = 1; v < d->node.out && !found; v++)
        if (d->context->live(d->context->user, v)) found = size_of_value(d->w, v, size);
    return found;
}

/* Looks for a value that has this size among all earlier values of the model. Such a value may then
   be computed for its size alone, and keep its weights in the file. */
static Value size_far(Draft *d, Poly size) {
    Value found = 0;
    for (Value v = 1; v < d->m->nvalue && v < d->node.out && !found; v++)
        if (d->m->value_name[v]) found = size_of_value(d->w, v, size);
    return found;
}

static Value binary_node(World *w, const Op *op, Value a, Value b) {
    return a && b ? node_call(w, op, 2, (Value[]){a, b}, NULL) : 0;
}

static Value size_value(Draft *d, Poly p, int depth);

/* Computes a size from the sizes it is composed of. */
static Value composed_value(Draft *d, Poly p, int depth) {
    enum { DEPTH_MAX = 8 };
    World *w = d->w;
    Symbol s = poly_is_symbol(w, p);
    Value sum = 0;
    if (depth > DEPTH_MAX) return 0;
    if (s) {
        SymbolDef def = symbol_def(w, s);
        if (def.kind != SYM_FLOOR && def.kind != SYM_MIN) return 0;
        Value x = size_value(d, def.arg[0], depth + 1);
        const Value by = size_value(d, def.arg[1], depth + 1);
        if (def.kind == SYM_MIN) return binary_node(w, &op_min, x, by);
        /* ONNX's Div rounds towards 0, but not what is divisible. */
        if (x && by && !value_natural_by_cases(w, def.arg[0]))
            x = binary_node(w, &op_sub, x, binary_node(w, &op_mod, x, by));
        return binary_node(w, &op_div, x, by);
    }
    Monomial m;
    for (PolyScan scan = poly_scan(w, p); poly_next(&scan, &m);) {
        Value term = int_list(w, 1, &m.coefficient);
        for (uint32_t k = 0; k < m.degree; k++) {
            Value factor = size_value(d, poly_symbol(w, m.symbol[k]), depth + 1);
            term = k || m.coefficient != 1 ? binary_node(w, &op_mul, term, factor) : factor;
        }
        if (!term) return 0;
        sum = sum ? binary_node(w, &op_add, sum, term) : term;
    }
    return sum;
}

/* Returns a polynomial as a list of one number that is computed in the model; 0 if it contains a
   symbol that no value in the model has as a size. */
static Value size_value(Draft *d, Poly p, int depth) {
    int64_t c;
    if (poly_constant(d->w, p, &c)) return int_list(d->w, 1, &c);
    Value v = size_near(d, p);
    if (!v) v = composed_value(d, p, depth);
    return v ? v : size_far(d, p);
}

Value draft_size(Draft *d, Poly p) { return size_value(d, p, 0); }

/* Returns a list of sizes as a tensor: a constant, or computed from the sizes of other values. */
static Value list_value(Draft *d, PolyList list) {
    int64_t *v = ARENA_NEW(d->w->arena, int64_t, list.n), none;
    bool constant = true;
    for (int k = 0; k < list.n; k++)
        constant &= poly_constant(d->w, list.v[k], constant ? &v[k] : &none);
    if (constant) return int_list(d->w, list.n, v);
    Value *part = ARENA_NEW(d->w->arena, Value, list.n);
    for (int k = 0; k < list.n; k++)
        if (!(part[k] = size_value(d, list.v[k], 0)))
            return draft_fail(d, "a size that no value in the model has"), 0;
    Poly zero = poly_int(d->w, 0);
    return list.n == 1 ? part[0]
                       : node_call(d->w, &op_concat, list.n, part,
                                   (NamedList[]){{"axis", {1, &zero}}, {0}});
}

bool draft_slot(Draft *d, int place, Value v) {
    if (place >= EMIT_SLOTS) return draft_fail(d, "too many inputs");
    d->slot[place] = v, d->filled |= 1u << place;
    return true;
}
bool draft_list_slot(Draft *d, int place, PolyList list) {
    Value v = list_value(d, list);
    return v && draft_slot(d, place, v);
}

bool draft_real_slot(Draft *d, int place, int attr) {
    double value;
    const Type *x = draft_type(d, 0);
    Attr init;
    const AttrDef *def = &d->node.op->attrs[attr];
    if (attr_default(d->w, def, x ? x->dim.n : 0, &init) && init.real == d->attr[attr].real)
        return draft_slot(d, place, 0);
    if (!x || !ex_number(d->w, d->attr[attr].real, &value))
        return draft_fail(d, "a number that is a symbolic variable");
    return draft_slot(d, place, constant_real(d->w, x->dtype, value));
}

/* Writes an enum attribute: as a number if its first word is "no", since it is a number in ONNX
   then, else as a text. */
static bool put_word(Draft *d, const char *name, const AttrDef *def, int word) {
    if (strncmp(def->words, "no ", 3) == 0) return draft_int(d, name, word);
    const char *at = def->words;
    for (int k = 0; k < word; k++) at += strcspn(at, " ") + 1;
    draft_new(d, name, ONNX_ATTR_TEXT)->text = arena_string(d->w->arena, at, strcspn(at, " "));
    return true;
}

/* Does not write an empty list if the list is empty by default. */
bool draft_put(Draft *d, const char *name, int attr) {
    const AttrDef *def = &d->node.op->attrs[attr];
    const Attr *a = &d->attr[attr];
    int64_t i;
    double real;
    bool stated = a->ints.n || !def->init || strcmp(def->init, "[]") != 0;
    if (def->kind == A_INTS) return !stated || draft_ints(d, name, a->ints);
    if (def->kind == A_INT)
        return poly_constant(d->w, a->ints.v[0], &i)
                   ? draft_int(d, name, i)
                   : draft_fail(
                         d, "a number that depends on sizes where ONNX needs a constant attribute");
    if (def->kind == A_ENUM) return put_word(d, name, def, a->enum_value);
    if (def->kind == A_DTYPE) return draft_int(d, name, a->enum_value);
    if (def->kind != A_REAL || !ex_number(d->w, a->real, &real))
        return draft_fail(d, "a number that is a symbolic variable");
    draft_new(d, name, ONNX_ATTR_FLOAT)->f = (float)real;
    return true;
}

bool draft_input(Draft *d, int attr, int place, bool list) {
    const Attr *a = &d->attr[attr];
    AttrKind kind = d->node.op->attrs[attr].kind;
    int64_t i;
    if (kind == A_REAL) return draft_real_slot(d, place, attr);
    if (kind == A_INTS) return draft_list_slot(d, place, a->ints);
    if (kind != A_INT) return draft_fail(d, "an attribute that is not a list of integers");
    if (poly_constant(d->w, a->ints.v[0], &i))
        return draft_slot(d, place,
                          list ? int_list(d->w, 1, &i) : constant_integer(d->w, DT_INT64, i));
    return draft_fail(d, "a number that depends on sizes");
}
