/* opaque.c -- makes opaque nodes, for ONNX nodes that no table entry fits and for initializers that
   cannot be constants; also translates Constant nodes. An opaque node has the types that the file
   states for its outputs. These are determined once and kept, so that rebuilding it on other inputs
   gives the same node. */
#include "graphs/onnx/import/import.h"
#include <string.h>

static void add_type(World *w, Poly *v, int *n, const Type *t) {
    v[(*n)++] = poly_int(w, t->dtype);
    v[(*n)++] = poly_int(w, t->known ? t->dim.n : -1);
    for (int i = 0; t->known && i < t->dim.n; i++) v[(*n)++] = t->dim.v[i];
}

static Value opaque_make(Model *m, Slice bytes, int nin, const Value in[], int nout,
                         const Type types[]) {
    const Op *op = &op_opaque;
    Attr *attr = ARENA_NEW(m->w->arena, Attr, attrs_count(op->attrs));
    Poly *v = ARENA_NEW(m->w->arena, Poly, nout * (RANK_MAX + 2));
    const char *why;
    int n = 0;
    for (int k = 0; k < nout; k++) add_type(m->w, v, &n, &types[k]);
    attr[attrs_find(op->attrs, "blob")].blob = blob_put(m->w, bytes.at, bytes.n);
    attr[attrs_find(op->attrs, "types")].ints = (PolyList){n, v};
    return node_make(m->w, op, attr, nin, in, nout, &why);
}

Value normalize_source(Model *m, Slice bytes, const Type *type) {
    return opaque_make(m, bytes, 0, NULL, 1, type);
}

static Type stated_type(Model *m, NameId id) {
    Type type = {0};
    if (id && m->name[id].type.at) {
        Error e = {0};
        if (!value_info_type(m, m->name[id].type, m->name[id].text, false, &type, &e))
            type = (Type){0};
    }
    return type;
}

/* Reads the type that a subgraph states for its output k. */
static bool branch_type(Model *m, Slice graph, int k, const char *name, Type *t) {
    Error e = {0};
    GraphIndex g;
    Wire w = model_wire(m, graph, &e);
    return index_graph(m->w->arena, &w, 1, &g) && k < g.output.n &&
           value_info_type(m, g.output.v[k], name, false, t, &e);
}

/* The type on which both branches of an If agree for output k. A size on which they differ depends
   on data. */
static Type if_type(Model *m, const OnnxNode *n, int k) {
    Type t[2] = {{0}};
    int found = 0;
    for (int j = 0; j < n->x.nattr && found < 2; j++)
        if (n->x.attr[j].graph.n == 1 && n->out[k])
            found += branch_type(m, n->x.attr[j].graph.v[0], k, m->name[n->out[k]].text, &t[found]);
    if (found < 2 || !t[0].known || !t[1].known || t[0].dtype != t[1].dtype ||
        t[0].dim.n != t[1].dim.n)
        return (Type){0};
    for (int axis = 0; axis < t[0].dim.n; axis++)
        if (t[0].dim.v[axis] != t[1].dim.v[axis])
            t[0].dim.v[axis] = poly_symbol(m->w, symbol_data(m->w));
    return t[0];
}

static void make_opaque(Model *m, OnnxNode *n, const Type *guess, const Value in[], Value out[]) {
    const char *why;
    if (!n->x.nout) return;
    Value y = n->serial_node ? node_rebuild(m->w, n->serial_node, in, &why) : 0;
    if (!y) {
        Type *types = ARENA_NEW(m->w->arena, Type, n->x.nout);
        for (int k = 0; k < n->x.nout; k++) {
            types[k] = stated_type(m, n->out[k]);
            if (!types[k].known && !n->x.domain.n && !strcmp(n->type, "If"))
                types[k] = if_type(m, n, k);
        }
        if (guess->known && !types[0].known) types[0] = *guess;
        y = opaque_make(m, n->x.whole, node_input_count(n), in, n->x.nout, types);
        n->serial_node = y;
    }
    for (int k = 0; k < n->x.nout; k++) out[k] = y && n->out[k] ? y + (Value)k : 0;
}

static Value list_constant(Model *m, DType dtype, int n, const void *bytes) {
    return constant_copied(m->w, dtype, (Dims){1, {poly_int(m->w, n)}}, bytes);
}

/* Translates a Constant: a tensor, a number or a list of numbers. Strings and sparse tensors are
   opaque. */
static bool make_constant(Import *s, Value out[]) {
    OnnxAttr t;
    FileTensor tensor;
    Error e = {0};
    Model *m = s->m;
    if (s->n->x.nout != 1 || !s->n->out[0]) return import_fail(s, "a Constant without an output");
    if (onnx_attr(s, "value", &t) && t.kind == ONNX_ATTR_TENSOR) {
        Wire w = wire_new(t.tensor, m->x.bytes.at, node_place(m, s->n), &e);
        if (!tensor_read(s->w->arena, w, &tensor) || !tensor_constant(m, &tensor, &out[0], &e))
            return import_fail(s, "%s", e.reason);
    } else if (onnx_attr(s, "value_int", &t) && t.kind == ONNX_ATTR_INT)
        out[0] = constant_integer(m->w, DT_INT64, t.i);
    else if (onnx_attr(s, "value_ints", &t) && t.kind == ONNX_ATTR_INTS)
        out[0] = list_constant(m, DT_INT64, t.n, t.ints);
    else if (onnx_attr(s, "value_float", &t) && t.kind == ONNX_ATTR_FLOAT)
        out[0] = constant_copied(m->w, DT_FLOAT, (Dims){0}, &t.f);
    else if (onnx_attr(s, "value_floats", &t) && t.kind == ONNX_ATTR_FLOATS)
        out[0] = list_constant(m, DT_FLOAT, t.n, t.floats);
    return out[0] || import_fail(s, "a constant that is not a dense numeric tensor");
}

static bool understood(Import *s, Value out[]) {
    const OnnxNode *n = s->n;
    if (n->calls_function) return import_fail(s, "a function defined by the model");
    if (index_has_subgraph(&n->x))
        return control_import(s, out) || import_fail(s, "its subgraphs depend on unknown data");
    if (n->x.nin > INPUTS_MAX || n->x.nout > OUTPUTS_MAX || n->x.nattr > ATTRS_NAMED)
        return import_fail(s, "it has more than %d inputs, %d outputs or %d attributes", INPUTS_MAX,
                           OUTPUTS_MAX, ATTRS_NAMED);
    if (!n->version)
        return import_fail(s, "domain %s is not among the model's operator sets", n->domain);
    return !n->x.domain.n && strcmp(n->type, "Constant") == 0 ? make_constant(s, out)
                                                              : normalize_by_tables(s, out);
}

void normalize_node(Model *m, OnnxNode *n, const Value in[], Value out[], const char **opaque) {
    Import s = {.m = m, .w = m->w, .n = n, .in = in, .nin = n->x.nin};
    memset(out, 0, sizeof *out * (size_t)n->x.nout);
    Overflow overflow = overflow_begin(m->w);
    bool good = understood(&s, out);
    overflow_end(m->w, overflow);
    if (!good) make_opaque(m, n, &s.guess, in, out);
    *opaque = good ? NULL : s.why;
}
