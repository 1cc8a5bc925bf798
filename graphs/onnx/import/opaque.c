/* opaque.c -- what is carried through: nodes that no table entry fits, constants that are not
   ours, and the subgraphs of If, Loop and Scan, of which only the outer names are of interest. An
   opaque node has the types that the file states for its outputs; they are made once and kept, so
   that rebuilding it on other inputs is the same node. */
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

/* Output k of a subgraph as it is stated there. */
static bool branch_type(Model *m, Slice graph, int k, const char *name, Type *t) {
    Error e = {0};
    GraphIndex g;
    Wire w = model_wire(m, graph, &e);
    return index_graph(m->w->arena, &w, 1, &g) && k < g.output.n &&
           value_info_type(m, g.output.v[k], name, false, t, &e);
}

/* What both branches of an If state of output k; a size on which they differ depends on data. */
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
    Value y = n->random ? node_rebuild(m->w, n->random, in, &why) : 0;
    if (!y) {
        Type *types = ARENA_NEW(m->w->arena, Type, n->x.nout);
        for (int k = 0; k < n->x.nout; k++) {
            types[k] = stated_type(m, n->out[k]);
            if (!types[k].known && !n->x.domain.n && !strcmp(n->type, "If"))
                types[k] = if_type(m, n, k);
        }
        if (guess->known && !types[0].known) types[0] = *guess;
        y = opaque_make(m, n->x.whole, node_input_count(n), in, n->x.nout, types);
        n->random = y;
    }
    for (int k = 0; k < n->x.nout; k++) out[k] = y && n->out[k] ? y + (Value)k : 0;
}

static Value list_constant(Model *m, DType dtype, int n, const void *bytes) {
    return constant_copied(m->w, dtype, (Dims){1, {poly_int(m->w, n)}}, bytes);
}

/* Constant: tensor, number or list of numbers; strings and sparse tensors are opaque. */
static bool make_constant(Import *s, Value out[]) {
    OnnxAttr t;
    FileTensor tensor;
    Error e = {0};
    Model *m = s->m;
    if (s->n->x.nout != 1 || !s->n->out[0]) return import_fail(s, "a Constant without output");
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
    bool control = false;
    for (int k = 0; k < n->x.nattr; k++) control |= n->x.attr[k].graph.n > 0;
    if (n->call) return import_fail(s, "a function defined by the model");
    if (control)
        return control_import(s, out) || import_fail(s, "its subgraphs depend on unknown data");
    if (n->x.nin > 1024 || n->x.nout > 256 || n->x.nattr > 64)
        return import_fail(s, "it has more than 1024 inputs, 256 outputs or 64 attributes");
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

/* Finds the names that subgraphs of a node use without defining them: they become its captures. The
   names that subgraphs define are reserved (NameInfo.inner). */
typedef struct NameScope {
    Model *m;
    Error *error;
    NameId *defined;
    int ndefined, room;
    OnnxNode *node;
} NameScope;

static void scope_define(NameScope *c, Slice text) {
    NameId id = name_id(c->m, text, c->error);
    ARENA_GROW(c->m->w->arena, c->defined, c->room, c->ndefined + 1);
    c->defined[c->ndefined++] = id;
    if (id && c->m->name[id].source == FROM_NOTHING) c->m->name[id].inner = true;
}

static void scope_use(NameScope *c, Slice text) {
    NameId id = name_id(c->m, text, c->error);
    OnnxNode *n = c->node;
    for (int k = 0; k < c->ndefined; k++)
        if (c->defined[k] == id) return;
    for (int k = 0; k < n->ncapture; k++)
        if (n->capture[k] == id) return;
    if (!id) return;
    ARENA_APPEND(c->m->w->arena, n->capture, n->ncapture, id);
}

/* Defines what the entries of a list are called: the field `name` of each, or of its message in the
   field `inside` (0: of the entry itself). */
static bool scope_defines(NameScope *c, Wire w, const SliceList *list, uint32_t name,
                          uint32_t inside) {
    for (int k = 0; k < list->n; k++) {
        Wire item = wire_inner(&w, list->v[k]);
        for (Field f, g; wire_next(&item, &f);) {
            if (!inside && f.number == name && wire_want(&item, &f, WIRE_BYTES))
                scope_define(c, f.bytes);
            if (!inside || f.number != inside || !wire_want(&item, &f, WIRE_BYTES)) continue;
            for (Wire t = wire_inner(&w, f.bytes); wire_next(&t, &g);)
                if (g.number == name && wire_want(&t, &g, WIRE_BYTES)) scope_define(c, g.bytes);
        }
        if (item.failed) return false;
    }
    return true;
}

static bool scope_graph(NameScope *c, Wire w, int depth) {
    Arena *a = c->m->w->arena;
    GraphIndex g;
    int before = c->ndefined;
    Wire start = w;
    if (!index_graph(a, &w, depth, &g)) return false;
    if (!scope_defines(c, start, &g.input, VALUE_INFO_NAME, 0) ||
        !scope_defines(c, start, &g.initializer, TENSOR_NAME, 0) ||
        !scope_defines(c, start, &g.sparse, TENSOR_NAME, SPARSE_TENSOR_VALUES))
        return false;
    for (int i = 0; i < g.node.n; i++) {
        NodeIndex x;
        Wire node = wire_inner(&start, g.node.v[i]);
        if (!index_node(a, &node, &x)) return false;
        for (int k = 0; k < x.nin; k++) scope_use(c, x.in[k]);
        for (int j = 0; j < x.nattr; j++)
            for (int k = 0; k < x.attr[j].graph.n; k++)
                if (!scope_graph(c, wire_inner(&start, x.attr[j].graph.v[k]), depth + 1))
                    return false;
        for (int k = 0; k < x.nout; k++) scope_define(c, x.out[k]);
    }
    for (int k = 0; k < g.output.n; k++) {
        Wire info = wire_inner(&start, g.output.v[k]);
        for (Field f; wire_next(&info, &f);)
            if (f.number == VALUE_INFO_NAME && wire_want(&info, &f, WIRE_BYTES))
                scope_use(c, f.bytes);
        if (info.failed) return false;
    }
    c->ndefined = before;
    return c->error->kind == E_NONE;
}

bool subgraph_uses(Model *m, OnnxNode *n, Slice graph, Error *e) {
    Error local = {0};
    NameScope scope = {.m = m, .error = &local, .node = n};
    return scope_graph(&scope, model_wire(m, graph, &local), 1) ||
           error_set(e, E_INVALID, local.place, "%s", local.reason);
}

bool subgraph_captures(Model *m, OnnxNode *n, Error *e) {
    Error local = {0};
    NameScope scope = {.m = m, .error = &local, .node = n};
    Wire w = wire_new(n->x.whole, m->x.bytes.at, node_place(m, n), &local);
    for (int j = 0; j < n->x.nattr; j++)
        for (int k = 0; k < n->x.attr[j].graph.n; k++)
            if (!scope_graph(&scope, wire_inner(&w, n->x.attr[j].graph.v[k]), 1))
                return error_set(e, E_INVALID, local.place, "%s", local.reason);
    return true;
}
