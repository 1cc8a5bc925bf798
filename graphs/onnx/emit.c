/* emit.c -- the importer's tables read backwards: a node of ours becomes the attributes and inputs of one ONNX node. An item that cannot be inverted fails its entry and the next is tried.
   What ONNX broadcasts by itself is not written: `broadcast`, and reshapes that only drop or add leading 1s, are looked through where the sizes of the result stay the same. */
#include "graphs/onnx/export.h"
#include "ops/core/element.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Draft {
    Model *m;
    World *w;
    Node node;
    const Attr *attr;
    const Around *around;
    Emit *e;
    Value slot[EMIT_SLOTS]; /* inputs that come from attributes, by their place in ONNX */
    uint32_t filled;        /* which places these are */
    bool kept;              /* keepdims: the reduced axes are to be kept as 1s */
    bool stretched;         /* the inputs broadcast */
    const char *why;
} Draft;
typedef bool (*Inverse)(Draft *, int attr);

static bool no(Draft *d, const char *why) {
    if (!d->why) d->why = why;
    return false;
}

static const Type *in_type(const Draft *d, int k) { return k < d->node.nin && d->node.in[k] ? value_type(d->w, d->node.in[k]) : NULL; }
static int attr_named(const Draft *d, const char *name) { return d->node.op->attrs ? attrs_find(d->node.op->attrs, name) : -1; }
static PolyList list_named(const Draft *d, const char *name) {
    int k = attr_named(d, name);
    return k < 0 ? (PolyList){0} : d->attr[k].ints;
}

static Theirs *new_attr(Draft *d, const char *name, int kind) {
    Theirs *t = &d->e->attr[d->e->nattr < EMIT_ATTRS - 1 ? d->e->nattr++ : EMIT_ATTRS - 1];
    *t = (Theirs){.name = name, .kind = kind};
    return t;
}

static bool numbers(Draft *d, PolyList list, int64_t **out) {
    *out = ARENA_NEW(d->w->arena, int64_t, list.n);
    for (int k = 0; k < list.n; k++)
        if (!poly_constant(d->w, list.v[k], &(*out)[k])) return no(d, "a number that depends on sizes, where ONNX has an attribute");
    return true;
}

static bool put_ints(Draft *d, const char *name, PolyList list) {
    int64_t *v;
    if (!numbers(d, list, &v)) return false;
    Theirs *t = new_attr(d, name, 7);
    t->n = list.n, t->ints = v;
    return true;
}
static bool put_int(Draft *d, const char *name, int64_t v) { return new_attr(d, name, 2)->i = v, true; }

static Value int_tensor(World *w, int rank, int n, const int64_t *v) {
    Type type = {.dtype = DT_INT64, .known = true, .dim = {.n = rank, .v = {rank ? poly_int(w, n) : 0}}};
    return constant_make(w, &type, blob_put(w, arena_copy(w->arena, v, sizeof *v * (size_t)n), sizeof *v * (size_t)n));
}

Value node_call(World *w, const char *op, int nin, const Value in[], const char *a, PolyList list, const char *b, PolyList list_b) {
    const Op *o = op_find(op);
    Attr attr[16] = {{.word = 0}};
    bool given[16] = {0};
    const char *why, *names[2] = {a, b};
    PolyList lists[2] = {list, list_b};
    for (int k = 0; o && k < 2; k++) {
        int at = names[k] ? attrs_find(o->attrs, names[k]) : -1;
        if (at >= 0) attr[at].ints = lists[k], given[at] = true;
    }
    return o && node_attrs(w, o, nin ? in[0] : 0, given, attr, &why) ? node_make(w, o, attr, nin, in, 1, &why) : 0;
}

static Value axis_size(World *w, Value v, int axis) {
    Poly start = poly_int(w, axis), one = poly_int(w, 1);
    Value shape = node_call(w, "shape", 1, &v, NULL, (PolyList){0}, NULL, (PolyList){0});
    return shape ? node_call(w, "slice", 1, &shape, "starts", (PolyList){1, &start}, "sizes", (PolyList){1, &one}) : 0;
}
static int axis_of_size(World *w, Value v, Poly size) {
    const Type *t = v ? value_type(w, v) : NULL;
    for (int k = 0; t && t->known && k < t->dim.n; k++)
        if (t->dim.v[k] == size) return k;
    return -1;
}

/* A value that has this size along an axis, the size as a list of one number: Shape, then a slice of it. Inputs
   first, then what is written anyway. */
static Value size_near(Draft *d, Poly size) {
    const Graph *g = model_graph(d->m);
    for (int k = 0; k < d->node.nin; k++)
        if (axis_of_size(d->w, d->node.in[k], size) >= 0) return axis_size(d->w, d->node.in[k], axis_of_size(d->w, d->node.in[k], size));
    for (int k = 0; k < g->nin; k++)
        if (axis_of_size(d->w, g->in[k], size) >= 0) return axis_size(d->w, g->in[k], axis_of_size(d->w, g->in[k], size));
    for (Value v = 1; v < d->node.out; v++)
        if (d->around->live(d->around->user, v) && axis_of_size(d->w, v, size) >= 0) return axis_size(d->w, v, axis_of_size(d->w, v, size));
    return 0;
}

/* Likewise of whatever the model made before this node: it may be computed for its size alone, and keep its weights. */
static Value size_far(Draft *d, Poly size) {
    for (Value v = 1; v < d->m->nvalue && v < d->node.out; v++)
        if (d->m->value_name[v] && axis_of_size(d->w, v, size) >= 0) return axis_size(d->w, v, axis_of_size(d->w, v, size));
    return 0;
}

static Value join(World *w, const char *op, Value a, Value b) {
    return a && b ? node_call(w, op, 2, (Value[]){a, b}, NULL, (PolyList){0}, NULL, (PolyList){0}) : 0;
}

static Value poly_value(Draft *d, Poly p, int depth);

/* Of the sizes that it is made of. */
static Value composed_value(Draft *d, Poly p, int depth) {
    World *w = d->w;
    Symbol s = poly_is_symbol(w, p);
    Value sum = 0;
    if (depth > 8) return 0;
    if (s) {
        SymbolDef def = symbol_def(w, s);
        if (def.kind != SYM_FLOOR && def.kind != SYM_MIN) return 0;
        return join(w, def.kind == SYM_FLOOR ? "div" : "min", poly_value(d, def.arg[0], depth + 1), poly_value(d, def.arg[1], depth + 1));
    }
    Monomial m;
    for (PolyScan scan = poly_scan(w, p); poly_next(&scan, &m);) {
        Value term = int_tensor(w, 1, 1, &m.coefficient);
        for (uint32_t k = 0; k < m.degree; k++) {
            Value factor = poly_value(d, poly_symbol(w, m.symbol[k]), depth + 1);
            term = k || m.coefficient != 1 ? join(w, "mul", term, factor) : factor;
        }
        if (!term) return 0;
        sum = sum ? join(w, "add", sum, term) : term;
    }
    return sum;
}

/* A polynomial as a list of one number, computed in the model; 0: a symbol that nothing in the model shows. */
static Value poly_value(Draft *d, Poly p, int depth) {
    int64_t c;
    if (poly_constant(d->w, p, &c)) return int_tensor(d->w, 1, 1, &c);
    Value v = size_near(d, p);
    if (!v) v = composed_value(d, p, depth);
    return v ? v : size_far(d, p);
}

/* A list of sizes as a tensor: a constant, or computed from the sizes of inputs. */
static Value list_value(Draft *d, PolyList list) {
    int64_t *v = ARENA_NEW(d->w->arena, int64_t, list.n), none;
    bool constant = true;
    for (int k = 0; k < list.n; k++) constant &= poly_constant(d->w, list.v[k], constant ? &v[k] : &none);
    if (constant) return int_tensor(d->w, 1, list.n, v);
    Value *part = ARENA_NEW(d->w->arena, Value, list.n);
    for (int k = 0; k < list.n; k++)
        if (!(part[k] = poly_value(d, list.v[k], 0))) return no(d, "a size that nothing in the model shows"), 0;
    Poly zero = poly_int(d->w, 0);
    return list.n == 1 ? part[0] : node_call(d->w, "concat", list.n, part, "axis", (PolyList){1, &zero}, NULL, (PolyList){0});
}

static bool fill_slot(Draft *d, int place, Value v) {
    if (place >= EMIT_SLOTS) return no(d, "too many inputs");
    d->slot[place] = v, d->filled |= 1u << place;
    return true;
}
static bool list_slot(Draft *d, int place, PolyList list) {
    Value v = list_value(d, list);
    return v && fill_slot(d, place, v);
}

static bool real_slot(Draft *d, int place, int attr) {
    double value;
    const Type *x = in_type(d, 0);
    Attr init;
    const AttrDef *def = &d->node.op->attrs[attr];
    if (attr_default(d->w, def, x ? x->dim.n : 0, &init) && init.real == d->attr[attr].real) return fill_slot(d, place, 0);
    if (!x || !ex_number(d->w, d->attr[attr].real, &value)) return no(d, "a number that is a variable");
    char *bytes = arena_alloc(d->w->arena, 16);
    element_set_real(x->dtype, bytes, 0, value);
    Type type = {.dtype = x->dtype, .known = true};
    return fill_slot(d, place, constant_make(d->w, &type, blob_put(d->w, bytes, tensor_size(x->dtype, 1))));
}

/* An attribute of ours as one of theirs. A word that counts from "no" or is a number there is written as its number. */
static bool put_word(Draft *d, const char *name, const AttrDef *def, int word) {
    if (strncmp(def->words, "no ", 3) == 0) return put_int(d, name, word);
    const char *at = def->words;
    for (int k = 0; k < word; k++) at += strcspn(at, " ") + 1;
    new_attr(d, name, 3)->text = arena_string(d->w->arena, at, strcspn(at, " "));
    return true;
}

static bool put_attr(Draft *d, const char *name, int attr) {
    const AttrDef *def = &d->node.op->attrs[attr];
    const Attr *a = &d->attr[attr];
    int64_t i;
    double real;
    if (def->kind == A_INTS) return put_ints(d, name, a->ints);
    if (def->kind == A_INT)
        return poly_constant(d->w, a->ints.v[0], &i) ? put_int(d, name, i)
                                                     : no(d, "a number that depends on sizes, where ONNX has an attribute");
    if (def->kind == A_WORD) return put_word(d, name, def, a->word);
    if (def->kind == A_DTYPE) return put_int(d, name, a->word);
    if (def->kind != A_REAL || !ex_number(d->w, a->real, &real)) return no(d, "a number that is a variable");
    new_attr(d, name, 1)->f = (float)real;
    return true;
}

static bool put_input(Draft *d, int attr, int place, bool list) {
    const Attr *a = &d->attr[attr];
    AttrKind kind = d->node.op->attrs[attr].kind;
    int64_t i;
    if (kind == A_REAL) return real_slot(d, place, attr);
    if (kind == A_INTS) return list_slot(d, place, a->ints);
    if (kind != A_INT) return no(d, "an attribute that is no list");
    if (poly_constant(d->w, a->ints.v[0], &i)) return fill_slot(d, place, int_tensor(d->w, list, 1, &i));
    return no(d, "a number that depends on sizes");
}

/* Special items, inverted. */
static bool plain_pads(Draft *d, int attr) { return put_ints(d, "pads", d->attr[attr].ints); }
static bool nothing(Draft *d, int attr) { return (void)d, (void)attr, true; }
static bool never(Draft *d, int attr) { return (void)attr, no(d, "another spelling says it"); }
static bool stretched(Draft *d, int attr) { return (void)attr, d->stretched = true; }

/* Without any axis it is one of each element. */
static bool some_axes(Draft *d, int attr) {
    if (d->attr[attr].ints.n) return true;
    bool has = model_opset(d->m, (Slice){0}) >= (strcmp(d->e->type, "ReduceSum") ? 18 : 13);
    return has ? put_int(d, "noop_with_empty_axes", 1) : no(d, "a reduction over no axis");
}

static bool spatial(Draft *d, int attr) {
    const Type *x = in_type(d, 0);
    PolyList axes = d->attr[attr].ints;
    int64_t a;
    if (!d->kept || !x || axes.n != x->dim.n - 2) return no(d, "not all spatial axes, or not kept");
    for (int k = 0; k < axes.n; k++)
        if (!poly_constant(d->w, axes.v[k], &a) || a != k + 2) return no(d, "not all spatial axes");
    return true;
}

static bool keepdims(Draft *d, int attr) {
    bool has = strncmp(d->e->type, "Reduce", 6) == 0 || strncmp(d->e->type, "Arg", 3) == 0;
    (void)attr;
    return has ? put_int(d, "keepdims", d->kept) : d->kept || no(d, "it keeps reduced axes");
}

static bool flat(Draft *d, int attr) {
    const Type *x = in_type(d, 0);
    int64_t a;
    if (!x || !poly_constant(d->w, d->attr[attr].ints.v[0], &a) || (a < 0 ? a + x->dim.n : a) != x->dim.n - 1)
        return no(d, "an axis that is not the last");
    return put_int(d, "axis", x->dim.n - 1);
}

static bool slice(Draft *d, int attr) {
    const Type *x = in_type(d, 0);
    PolyList start = list_named(d, "starts"), size = list_named(d, "sizes"), step = list_named(d, "steps");
    Poly *ends = ARENA_NEW(d->w->arena, Poly, start.n), *axes = ARENA_NEW(d->w->arena, Poly, start.n),
         *from = ARENA_NEW(d->w->arena, Poly, start.n), *by = ARENA_NEW(d->w->arena, Poly, start.n);
    bool old = model_opset(d->m, (Slice){0}) < 10, unit = true;
    int n = 0;
    (void)attr;
    for (int k = 0; k < start.n; k++) {
        int64_t st, e;
        if (!poly_constant(d->w, step.v[k], &st)) return no(d, "a step that is no number");
        if (st == 1 && size.v[k] == x->dim.v[k]) continue;
        Poly end = poly_add(d->w, start.v[k], poly_mul(d->w, size.v[k], step.v[k]));
        if (st > 1 && poly_constant(d->w, end, &e)) end = poly_add(d->w, end, poly_int(d->w, 1 - st));
        if (st < 0 && !poly_constant(d->w, end, &e)) return no(d, "a slice backwards to an end that is no number");
        if (st < 0 && e < 0) end = poly_int(d->w, INT32_MIN);
        unit &= st == 1;
        axes[n] = poly_int(d->w, k), by[n] = step.v[k], from[n] = start.v[k], ends[n++] = end;
    }
    if (old && !unit) return no(d, "steps, which Slice has since version 10");
    if (old)
        return put_ints(d, "starts", (PolyList){n, from}) && put_ints(d, "ends", (PolyList){n, ends}) &&
               put_ints(d, "axes", (PolyList){n, axes});
    if (!list_slot(d, 1, (PolyList){n, from}) || !list_slot(d, 2, (PolyList){n, ends}) || !list_slot(d, 3, (PolyList){n, axes}))
        return false;
    return unit || list_slot(d, 4, (PolyList){n, by});
}

static bool pads(Draft *d, int attr) {
    int value = attr_named(d, "value");
    if (model_opset(d->m, (Slice){0}) < 11) return put_ints(d, "pads", d->attr[attr].ints) && (value < 0 || put_attr(d, "value", value));
    return list_slot(d, 1, d->attr[attr].ints) && (value < 0 || real_slot(d, 2, value));
}

/* 0 where the size is that of the same axis of x, -1 for one that is neither a number nor such a one. */
static bool shape_onnx(Draft *d, int attr) {
    const Type *x = in_type(d, 0);
    PolyList list = d->attr[attr].ints;
    Poly *v = ARENA_NEW(d->w->arena, Poly, list.n);
    int holes = 0;
    bool zero = false;
    for (int k = 0; k < list.n; k++) {
        int64_t c;
        v[k] = list.v[k];
        if (poly_constant(d->w, v[k], &c)) {
            zero |= c == 0;
            continue;
        }
        bool same = x && k < x->dim.n && x->dim.v[k] == v[k];
        v[k] = poly_int(d->w, same ? 0 : -1);
        holes += !same;
    }
    bool copied = zero && x && !holes; /* every 0 stands where x has one */
    for (int k = 0; k < list.n; k++)
        if (list.v[k] == 0 && (!copied || k >= x->dim.n || x->dim.v[k] != 0)) copied = false;
    if (zero && !copied) {
        if (model_opset(d->m, (Slice){0}) < 14) return no(d, "a size of 0");
        return put_int(d, "allowzero", 1) && list_slot(d, 1, list);
    }
    PolyList out = {list.n, holes > 1 ? list.v : v};
    return model_opset(d->m, (Slice){0}) < 5 ? put_ints(d, "shape", out) : list_slot(d, 1, out);
}

static bool expand(Draft *d, int attr) { return list_slot(d, 1, d->attr[attr].ints); }
/* Whole factors as scales, all that older versions have. */
static bool scales(Draft *d, PolyList list) {
    const Type *x = in_type(d, 0);
    float *v = ARENA_NEW(d->w->arena, float, list.n);
    if (model_opset(d->m, (Slice){0}) < 9) return no(d, "scales as an attribute");
    for (int k = 0; k < list.n; k++) {
        Poly factor;
        int64_t c;
        if (!poly_divide(d->w, list.v[k], x->dim.v[k], &factor) || !poly_constant(d->w, factor, &c) || c < 1 || c > 1 << 20)
            return no(d, "sizes that are no multiples, which Resize has since version 11");
        v[k] = (float)c;
    }
    Type type = {.dtype = DT_FLOAT, .known = true, .dim = {1, {poly_int(d->w, list.n)}}};
    return fill_slot(d, 1, constant_make(d->w, &type, blob_put(d->w, v, sizeof *v * (size_t)list.n)));
}

static bool resize(Draft *d, int attr) {
    if (model_opset(d->m, (Slice){0}) < 11) return scales(d, d->attr[attr].ints);
    Type none = {.dtype = DT_FLOAT, .known = true, .dim = {1, {0}}};
    Value empty = model_opset(d->m, (Slice){0}) < 13 ? constant_make(d->w, &none, blob_put(d->w, "", 0)) : 0;
    return fill_slot(d, 1, empty) && fill_slot(d, 2, empty) && list_slot(d, 3, d->attr[attr].ints);
}

static bool tensor(Draft *d, int attr) {
    int at = attr_named(d, "dtype");
    double value;
    DType dtype = at < 0 ? DT_FLOAT : (DType)d->attr[at].word;
    if (!ex_number(d->w, d->attr[attr].real, &value) || !element_readable(dtype)) return no(d, "a number that is a variable");
    char *bytes = arena_alloc(d->w->arena, 16);
    int64_t one = 1;
    Type type = {.dtype = dtype, .known = true, .dim = {1, {poly_int(d->w, 1)}}};
    Text t = text_new(d->w->arena);
    element_set_real(dtype, bytes, 0, value);
    tensor_put(&t, NULL, &type, &one, bytes, tensor_size(dtype, 1));
    new_attr(d, "value", 4)->tensor = (Slice){(const unsigned char *)t.data, t.size};
    return true;
}

static Value cast(World *w, Value v, DType dtype) {
    const Op *op = op_find("cast");
    Attr attr = {.word = (int)dtype};
    const char *why;
    return op && v && attrs_count(op->attrs) == 1 ? node_make(w, op, &attr, 1, &v, 1, &why) : 0;
}

static Value scalar(Draft *d, Poly p, DType dtype) {
    int64_t v;
    Type type = {.dtype = dtype, .known = true};
    bool constant = poly_constant(d->w, p, &v);
    Value list = constant ? 0 : poly_value(d, p, 0);
    if (!constant && !list) return no(d, "a size that nothing in the model shows"), 0;
    if (!constant) list = node_call(d->w, "reshape", 1, &list, "shape", (PolyList){0}, NULL, (PolyList){0});
    if (!constant) return dtype == DT_INT64 ? list : cast(d->w, list, dtype);
    char *bytes = arena_alloc(d->w->arena, 16);
    element_set_integer(dtype, bytes, 0, v);
    return constant_make(d->w, &type, blob_put(d->w, bytes, tensor_size(dtype, 1)));
}
static bool range(Draft *d, int attr) {
    PolyList start = list_named(d, "start"), n = list_named(d, "n"), step = list_named(d, "step");
    DType dtype = (DType)d->attr[attr_named(d, "dtype")].word;
    (void)attr;
    Poly limit = poly_add(d->w, start.v[0], poly_mul(d->w, n.v[0], step.v[0]));
    Value a = scalar(d, start.v[0], dtype), b = scalar(d, limit, dtype), c = scalar(d, step.v[0], dtype);
    return a && b && c && fill_slot(d, 0, a) && fill_slot(d, 1, b) && fill_slot(d, 2, c);
}

static bool equation(Draft *d, int attr) {
    const char *text = emit_letters(d->w, d->attr[attr].ints, d->node.nin);
    if (!text) return no(d, "more letters than there are");
    return new_attr(d, "equation", 3)->text = text, true;
}
static bool rotary(Draft *d, int attr) {
    int64_t h;
    Dims x = in_type(d, 0)->dim, cosine = in_type(d, 1)->dim;
    Poly n = cosine.v[cosine.n - 1];
    (void)attr;
    if (x.n == 4 && poly_scale(d->w, n, 2) == x.v[3]) return true;
    return poly_constant(d->w, n, &h) ? put_int(d, "rotary_embedding_dim", 2 * h) : no(d, "a size that is no number");
}
static bool hidden(Draft *d, int attr) { return put_attr(d, "hidden_size", attr); }
/* The type that the node has by itself, or output_dtype. */
static bool output_dtype(Draft *d, int attr, DType itself) {
    if ((DType)d->attr[attr].word == itself) return true;
    return model_opset(d->m, (Slice){0}) >= 21 ? put_int(d, "output_dtype", d->attr[attr].word) : no(d, "another element type");
}
static bool quantized(Draft *d, int attr) { return output_dtype(d, attr, in_type(d, 2) ? in_type(d, 2)->dtype : DT_UINT8); }
static bool to_scale(Draft *d, int attr) { return output_dtype(d, attr, in_type(d, 1)->dtype); }
static bool trains(Draft *d, int attr) { return (void)attr, put_int(d, "training_mode", 1); }
static bool trains_by_input(Draft *d, int attr) {
    Type type = {.dtype = DT_BOOL, .known = true};
    (void)attr;
    return fill_slot(d, 2, constant_make(d->w, &type, blob_put(d->w, "\1", 1)));
}
static bool dtype(Draft *d, int attr) { return put_attr(d, "dtype", attr); }

static const struct {
    const char *ours, *name;
    Inverse fn;
} table[] = {
    {"letters", "equation", equation},  {"hidden", "recurrent", hidden},    {"dim", "rotary", rotary},
    {"to", "quantized", quantized},     {"to", "scale", to_scale},          {"n", "nonzero", nothing},
    {"n", "compress", nothing},         {"kept", "nms", nothing},           {"pads", "auto_pad", plain_pads},
    {"kernel_shape", "check", nothing}, {"perm", "reversed", nothing},      {"axes", "all", some_axes},
    {"axes", "spatial", spatial},       {"keepdims", "reinsert", keepdims}, {"axis", "flatten", flat},
    {"inputs", "fold", stretched},      {"inputs", "stretch", stretched},   {"c", "stretch", stretched},
    {"broadcast", "axis", never},       {"slice", "axes", slice},           {"pads", "axes", pads},
    {"sizes", "equal", nothing},        {"shape", "onnx", shape_onnx},      {"shape", "expand", expand},
    {"value", "tensor", tensor},        {"range", "count", range},          {"sizes", "resize", resize},
    {"axes", "resize", nothing},        {"sizes", "resample", nothing},     {"pads", "transposed", plain_pads},
    {"training", "attribute", trains},  {"training", "off", nothing},       {"training", "input", trains_by_input},
    {"dtype", "like", dtype},
};

static bool special(Draft *d, const char *ours, const char *name) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].name, name) == 0 && strcmp(table[k].ours, ours) == 0) return table[k].fn(d, attr_named(d, ours));
    return no(d, "another spelling says it");
}

static bool fixed(Draft *d, int attr, const char *text) {
    const AttrDef *def = &d->node.op->attrs[attr];
    Attr want;
    Error e = {0};
    Scan scan = scan_new("", text, strlen(text), &e);
    const Type *x = in_type(d, 0);
    bool list = def->kind == A_INTS && *text != '[';
    bool ok = list ? attr_default(d->w, def, x ? x->dim.n : 0, &want) : attr_parse(d->w, &scan, def, &want);
    return (ok && attr_equal(def, &want, &d->attr[attr])) || no(d, "a value that this version of the operator has not");
}

/* The word that was put last. */
static bool in_capitals(Draft *d) {
    Theirs *t = &d->e->attr[d->e->nattr - 1];
    char *text = arena_string(d->w->arena, t->text, strlen(t->text));
    for (char *c = text; *c; c++) *c = (char)toupper((unsigned char)*c);
    t->text = text;
    return true;
}

static bool item_export(Draft *d, char *text) {
    char *same = strstr(text, "=="), *colon = strchr(text, ':'), *equal = strchr(text, '=');
    if (same) {
        *same = 0;
        if (*text != '+') return true;
        bool number = same[2] == '-' || (same[2] >= '0' && same[2] <= '9');
        if (number) return put_int(d, text + 1, atoll(same + 2));
        return new_attr(d, text + 1, 3)->text = same + 2, true;
    }
    if (colon && !equal) {
        *colon = 0;
        return strcmp(colon + 1, "ignore") == 0 || special(d, text, colon + 1);
    }
    if (equal) *equal = 0;
    int attr = attr_named(d, text);
    char *theirs = equal ? equal + 1 : text, *bar = strchr(theirs, '|');
    if (attr < 0) return no(d, "an attribute that the operator has not");
    char *last = &theirs[strlen(theirs) - 1];
    if (*last == '^') return *last = 0, put_attr(d, theirs, attr) && in_capitals(d);
    if (*last == '!') return *last = 0, fixed(d, attr, theirs);
    if (bar) *bar = 0;
    return strncmp(theirs, "input:", 6) == 0 ? put_input(d, attr, atoi(theirs + 6), strchr(theirs, '[') != NULL)
                                             : put_attr(d, theirs, attr);
}

/* ---- inputs */

static void drop_broadcasts(Draft *d, Value in[], const Around *around) {
    Dims y = value_type(d->w, d->node.out)->dim;
    bool matrix = strcmp(d->e->type, "MatMul") == 0, gemm = strcmp(d->e->type, "Gemm") == 0;
    Value *thin = arena_copy(d->w->arena, in, sizeof *in * (size_t)(d->node.nin + 1));
    for (int k = gemm ? 2 : 0; k < d->node.nin; k++) {
        Value before = thin[k];
        if (!before) return;
        thin[k] = emit_thin(d->w, before, y.n, around);
        if (matrix &&
            !dims_equal(
                &(Dims){2,
                        {value_type(d->w, before)->dim.v[value_type(d->w, before)->dim.n - 2],
                         value_type(d->w, before)->dim.v[value_type(d->w, before)->dim.n - 1]}},
                &(Dims){
                    2,
                    {value_type(d->w, thin[k])->dim.n < 2 ? 0 : value_type(d->w, thin[k])->dim.v[value_type(d->w, thin[k])->dim.n - 2],
                     value_type(d->w, thin[k])->dim.n < 2 ? 0 : value_type(d->w, thin[k])->dim.v[value_type(d->w, thin[k])->dim.n - 1]}}))
            thin[k] = before;
    }
    Dims joined;
    bool ok = gemm ? d->node.nin > 2 && emit_joined(d->w, y, value_type(d->w, thin[2])->dim, &joined) && dims_equal(&joined, &y)
                   : emit_same_sizes(d->w, d->node.nin, thin, y, matrix ? 2 : 0);
    if (ok) memcpy(in, thin, sizeof *in * (size_t)d->node.nin);
}

static bool entry_export(Draft *d, const OnnxMap *map, const Around *around) {
    *d->e = (Emit){.type = map->type, .domain = map->domain, .nout = d->node.nout, .out = d->node.out};
    d->filled = 0, d->stretched = (d->node.op->flags & OP_BROADCASTS) != 0;
    for (int pass = 0; pass < 2; pass++)
        for (const char *at = map->attrs; at && *(at += strspn(at, " "));) {
            size_t n = strcspn(at, " ");
            char *item = arena_string(d->w->arena, at, n);
            bool later = strchr(item, ':') && !strchr(item, '=');
            if (later == (pass == 1) && !item_export(d, item)) return false;
            at += n;
        }
    Value *ours = ARENA_NEW(d->w->arena, Value, d->node.nin + 1), *in = ARENA_NEW(d->w->arena, Value, d->node.nin + EMIT_SLOTS);
    if (d->node.nin) memcpy(ours, d->node.in, sizeof *ours * (size_t)d->node.nin);
    if (d->stretched) drop_broadcasts(d, ours, around);
    int n = 0;
    for (int k = 0; k < d->node.nin || d->filled >> n; n++) {
        bool slot = n < EMIT_SLOTS && d->filled >> n & 1;
        in[n] = slot ? d->slot[n] : k < d->node.nin ? ours[k] : 0;
        if (!slot) k++;
    }
    while (n && !in[n - 1]) n--;
    d->e->in = in, d->e->nin = n;
    return true;
}

/* Does reshape y only put 1s where the reduction inside it took axes away? Then they are one node there. */
static bool kept_reduction(World *w, Node y, Node *inner) {
    if (strcmp(y.op->name, "reshape") != 0) return false;
    *inner = node_get(w, value_node(w, y.in[0]));
    int k = inner->op->attrs ? attrs_find(inner->op->attrs, "axes") : -1;
    if (k < 0) k = inner->op->attrs ? attrs_find(inner->op->attrs, "axis") : -1;
    bool keeps = false;
    for (const OnnxMap *e = inner->op->onnx; e && e->type; e++) keeps |= e->attrs && strstr(e->attrs, "keepdims:reinsert");
    if (!keeps || k < 0 || !inner->nin) return false;
    Attr attr[32];
    sig_attr(w, inner->sig, attr);
    Dims want = value_type(w, inner->in[0])->dim, have = value_type(w, y.out)->dim;
    for (int j = 0; j < attr[k].ints.n; j++) {
        int64_t a;
        if (!poly_constant(w, attr[k].ints.v[j], &a) || (a = a < 0 ? a + want.n : a) < 0 || a >= want.n) return false;
        want.v[a] = poly_int(w, 1);
    }
    return dims_equal(&want, &have);
}

static bool valid_at(const OnnxMap *e, int64_t version) { return version && version >= e->since && (!e->until || version <= e->until); }
static int64_t version_of(const Model *m, const OnnxMap *e) {
    return model_opset(m, (Slice){(const unsigned char *)e->domain, strlen(e->domain)});
}

static bool by_table(Model *m, Node node, bool kept, const Around *around, Emit *out, const char **why) {
    Attr attr[32];
    sig_attr(m->w, node.sig, attr);
    for (int pass = kept ? 0 : 1; pass < 2; pass++) /* a global pooling rather than a reduction of all spatial axes */
        for (const OnnxMap *e = node.op->onnx; e && e->type; e++) {
            Draft d = {.m = m, .w = m->w, .node = node, .attr = attr, .around = around, .e = out, .kept = kept};
            if (!valid_at(e, version_of(m, e)) || (pass == 0 && !strstr(e->attrs, "axes:spatial"))) continue;
            if (entry_export(&d, e, around)) return true;
            if (!*why) *why = d.why;
        }
    return false;
}

bool emit_node(Model *m, NodeId id, const Around *around, Emit *out, const char **why) {
    Node node = node_get(m->w, id), inner;
    *why = NULL;
    if (kept_reduction(m->w, node, &inner) && !around->named(around->user, inner.out) && by_table(m, inner, true, around, out, why))
        return out->out = node.out, true;
    *why = NULL;
    if (by_table(m, node, false, around, out, why)) return true;
    if (!*why) *why = "the model's operator set has no such operator";
    return false;
}

bool emit_possible(Model *m, const Op *op) {
    for (const OnnxMap *e = op->onnx; e && e->type; e++)
        if (valid_at(e, version_of(m, e))) return true;
    return false;
}
