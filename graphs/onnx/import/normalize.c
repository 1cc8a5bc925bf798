/* normalize.c -- translates one ONNX node into Isomer nodes by the tables that operators carry
   (OnnxMap; the items are described in ops/operator/operator.h and in items.def). The entries are
   tried in order, and an entry fails as soon as one of its items does. A node that no entry fits
   becomes opaque: its bytes are copied, it has the types that the file states, and the reason is
   kept.

   Invariant: the result depends on nothing but the node, its input values and the model. So a node
   can be normalized again on other inputs to see whether it may still stand in the file. */
#include "graphs/onnx/import/import.h"
#include "graphs/onnx/item_text.h"
#include "onnx.pb-c.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool give_fixed(Import *s, int attr, const char *text) {
    Error e = {0};
    Scan scan = scan_new("", text, strlen(text), &e);
    const AttrDef *def = &s->op->attrs[attr];
    /* A list that is given as a single number has this number everywhere, which the default does
       already. */
    const bool filled = def->kind == A_INTS && *text != '[';
    if (!filled) s->given[attr] = attr_parse(s->w, &scan, def, &s->attr[attr]);
    return (filled ? def->init && strcmp(def->init, text) == 0 : s->given[attr]) ||
           import_fail(s, "bug: the ONNX table of %s has an invalid value", s->op->name);
}

static bool must_equal(Import *s, const char *name, const char *value) {
    OnnxAttr t;
    if (!onnx_attr(s, name, &t)) return true;
    bool same = t.kind == ONNX_ATTR_INT ? t.i == atoll(value)
                : t.kind == ONNX_ATTR_FLOAT
                    ? t.f == strtof(value, NULL)
                    : t.kind == ONNX_ATTR_TEXT && strcmp(t.text, value) == 0;
    return same || import_fail(s, "attribute %s is not %s", name, value);
}

static bool import_item(Import *s, const ItemText *item) {
    OnnxAttr t;
    if (item->kind == ITEM_EQUALS) return must_equal(s, item->theirs, item->value);
    if (item->kind == ITEM_IGNORED) return onnx_attr(s, item->theirs, &t), true;
    if (item->kind == ITEM_SPECIAL) return item_import(s, item->ours, item->value);
    if (item->kind == ITEM_CONSTANT) return give_constant(s, item->ours, item->theirs);
    const int attr = op_attr_index(s->op, item->ours);
    if (attr < 0)
        return import_fail(
            s, "bug: the ONNX table of %s names an attribute %s that the operator lacks",
            s->op->name, item->ours);
    if (item->kind == ITEM_FIXED) return give_fixed(s, attr, item->value);
    if (item->kind == ITEM_ATTR && onnx_attr(s, item->theirs, &t)) return give_attr(s, attr, &t);
    if (item->input >= 0) return give_input(s, attr, item->input);
    default_as_float(s, attr);
    return true;
}

static bool items_import(Import *s, const char *items) {
    ItemText item;
    for (int pass = 0; pass < 2; pass++)
        for (const char *at = items; item_next(s->w->arena, &at, &item);)
            if ((item.kind == ITEM_SPECIAL) == (pass == 1) && (!import_item(s, &item) || s->why))
                return false;
    for (int k = 0; k < s->n->x.nattr && k < ATTRS_NAMED; k++)
        if (!(s->known_attrs >> k & 1))
            return import_fail(s, "attribute %s is not supported",
                               slice_text(s->w->arena, s->n->x.attr[k].name));
    return true;
}

static bool is_shape(const Type *t, PolyList shape) {
    if (!t->known || t->dim.n != shape.n) return false;
    for (int k = 0; k < shape.n; k++)
        if (t->dim.v[k] != shape.v[k]) return false;
    return true;
}

/* Fails with the reason why the operator does not take these inputs, and their types. */
static void refuse_types(Import *s, const char *why, int n, const Value in[]) {
    Text types = text_new(s->w->arena);
    for (int k = 0; k < n; k++) {
        text_add(&types, "%s", k ? ", " : " (inputs ");
        if (in[k]) type_print(s->w, value_type(s->w, in[k]), &types);
        else text_add(&types, "none");
    }
    import_fail(s, "%s%s%s", why, n ? types.data : "", n ? ")" : "");
}

static Value make_nodes(Import *s, int n, const Value in[], int nout) {
    const char *why = NULL;
    Attr attr[ATTRS_MAX];
    bool given[ATTRS_MAX];
    memcpy(attr, s->attr, sizeof attr), memcpy(given, s->given, sizeof given);
    if (!node_attrs(s->w, s->op, n ? in[0] : 0, given, attr, &why))
        return import_fail(s, "no attribute %s", why), 0;
    int shape = n == 1 && (s->op == &op_reshape || s->op == &op_broadcast)
                    ? op_attr_index(s->op, "shape")
                    : -1;
    if (shape >= 0 && is_shape(value_type(s->w, in[0]), attr[shape].ints)) return in[0];
    bool again = s->op->flags & OP_RANDOM && s->n->serial_node;
    Value v = again ? node_rebuild(s->w, s->n->serial_node, in, &why)
                    : node_make(s->w, s->op, attr, n, in, nout, &why);
    if (s->op->flags & OP_RANDOM) s->n->serial_node = v;
    if (overflow_noted(s->w)) return import_fail(s, "sizes beyond 64 bits"), 0;
    if (!v) refuse_types(s, why, n, in);
    return v;
}

/* ---- what ONNX does within a node and we do by further nodes */
static Value make_fold(Import *s, int n, Value in[]) {
    Value y = n ? in[0] : 0;
    for (int k = 1; k < n && y; k++) {
        Value pair[2] = {y, in[k]};
        y = stretch_all(s, 2, pair, 0) ? make_nodes(s, 2, pair, 1) : 0;
    }
    return y;
}

static Value make_pair(Import *s, int n, Value in[], int second) {
    Value pair[2] = {in[0], in[second]};
    if (!stretch_all(s, 2, pair, 0)) return 0;
    in[0] = pair[0], in[second] = pair[1];
    return make_nodes(s, n, in, 1);
}

static Value make_matmul(Import *s, int n, Value in[], int second) {
    Dims a = value_type(s->w, in[0])->dim, b = value_type(s->w, in[second])->dim;
    Value factor[2] = {in[0], in[second]};
    Poly one = poly_int(s->w, 1);
    if (a.n < 1 || b.n < 1) return import_fail(s, "a scalar in a matrix product"), 0;
    if (a.n == 1) factor[0] = reshape_to(s, factor[0], (Dims){2, {one, a.v[0]}});
    if (b.n == 1) factor[1] = reshape_to(s, factor[1], (Dims){2, {b.v[0], one}});
    if (!factor[0] || !factor[1] || !stretch_all(s, 2, factor, 2)) return 0;
    in[0] = factor[0], in[second] = factor[1];
    Value y = make_nodes(s, n, in, 1);
    if (!y || (a.n > 1 && b.n > 1)) return y;
    Dims d = value_type(s->w, y)->dim;
    if (b.n == 1) d.n--;
    if (a.n == 1) {
        if (b.n > 1) d.v[d.n - 2] = d.v[d.n - 1];
        d.n--;
    }
    return reshape_to(s, y, d);
}

/* Inputs without an axis that is stretched stay as they are, so that their sizes need not be known
   to be equal to those of x. */
static bool stretch_others(Import *s, int n, Value in[]) {
    for (int k = 1; k < n; k++) {
        if (!in[0] || !in[k]) continue;
        const Dims x = value_type(s->w, in[0])->dim, d = value_type(s->w, in[k])->dim;
        bool stretched = false;
        for (int j = 1; j <= d.n && j <= x.n; j++)
            stretched |= poly_is(s->w, d.v[d.n - j], 1) && !poly_is(s->w, x.v[x.n - j], 1);
        if (stretched && !stretch_to(s, &in[k], x)) return false;
    }
    return true;
}

static Value make_gemm(Import *s, int n, Value in[]) {
    if (n < 3 || !in[2]) return make_nodes(s, n < 2 ? n : 2, in, 1);
    Value y = make_nodes(s, 2, in, 1);
    if (!y || !stretch_to(s, &in[2], value_type(s->w, y)->dim)) return 0;
    return make_nodes(s, 3, in, 1);
}

/* Applies the node to x as a matrix whose columns are the axes from flatten_at on. */
static Value make_flat(Import *s, Value x) {
    const Dims d = value_type(s->w, x)->dim;
    const bool last = s->flatten_at == d.n - 1 || s->flatten_at == -1;
    const int axis = op_attr_index(s->op, "axis");
    const Poly where = poly_int(s->w, last ? d.n - 1 : 1);
    Dims matrix;
    if (axis < 0)
        return import_fail(s, "bug: the ONNX table of %s flattens, but it has no axis",
                           s->op->name),
               0;
    if (!import_matrix(s, &d, s->flatten_at, &matrix)) return 0;
    if (!last) x = reshape_to(s, x, matrix);
    give_ints(s, axis, 1, &where);
    Value y = x ? make_nodes(s, 1, &x, 1) : 0;
    return y ? reshape_to(s, y, d) : 0;
}

/* Puts the reduced axes back with size 1. They are in the attribute `axes` or, if the operator
   lacks it, `axis`. */
static Value make_kept(Import *s, int n, const Value in[]) {
    Value y = make_nodes(s, n, in, 1);
    int list = op_attr_index(s->op, "axes"), one = op_attr_index(s->op, "axis");
    if (!y || (list < 0 && one < 0)) return y;
    Dims d = value_type(s->w, in[0])->dim;
    Attr attr[ATTRS_MAX];
    sig_attr(s->w, node_get(s->w, value_node(s->w, y)).sig, attr);
    PolyList axes = attr[list >= 0 ? list : one].ints;
    for (int k = 0; k < axes.n; k++) {
        int axis;
        if (!import_axis_of(s, axes, k, d.n, &axis)) return 0;
        d.v[axis] = poly_int(s->w, 1);
    }
    return reshape_to(s, y, d);
}

/* Makes a product described by letters in one of the forms of letters.c if possible, else as it
   is. */
static Value make_ordered(Import *s, int n, Value in[]) {
    const int letters = op_attr_index(s->op, "letters");
    Value y = letters < 0 ? 0 : product_ordered(s, s->attr[letters].ints, n, in);
    return y || s->why ? y : make_nodes(s, n, in, 1);
}

/* A part alone is the result. */
static Value make_written(Import *s, const Value in[]) {
    Value part[3];
    const int n = written_parts(s, in, part);
    return n > 1 ? make_nodes(s, n, part, 1) : n ? part[0] : 0;
}

static Value build_entry(Import *s, int n, Value in[], int nout) {
    for (int k = 0; k < n; k++)
        if (in[k] && !(s->op->flags & OP_ANY_TYPE) && !import_type(s, in[k])) return 0;
    if (s->fold) return make_fold(s, n, in);
    if (s->written) return make_written(s, in);
    const int second = s->stretch || s->stretch_pair ? op_input_named(s->op, "b") : -1;
    if (second > 0 && second < n && in[0] && in[second])
        return s->stretch ? make_matmul(s, n, in, second) : make_pair(s, n, in, second);
    if (s->stretch_c) return make_gemm(s, n, in);
    if (s->stretch_others && !stretch_others(s, n, in)) return 0;
    if (s->ordered && n > 1) return make_ordered(s, n, in);
    if (s->flatten && n == 1) return make_flat(s, in[0]);
    if (s->keepdims) return make_kept(s, n, in);
    if ((s->op->flags & OP_BROADCASTS) && !stretch_all(s, n, in, 0)) return 0;
    return make_nodes(s, n, in, nout);
}

static bool used(const Import *s, int output) {
    return s->n->out[output] && s->m->name[s->n->out[output]].used;
}

static bool entry_import(Import *s, const char *items, Value out[]) {
    if (!items_import(s, items)) return false;
    int n = 0, arity = op_input_count(s->op), nout = s->n->x.nout;
    Value *in = ARENA_NEW(s->w->arena, Value, s->nin + arity + 1);
    bool variadic;
    op_arity(s->op, &variadic);
    for (int k = 0; k < s->nin; k++)
        if (k >= INPUTS_TAKEN || !(s->consumed_inputs >> k & 1)) in[n++] = s->in[k];
    for (int k = 0; k < arity && s->constant; k++)
        if (s->constant[k] && k >= n) in[k] = s->constant[k], n = k + 1;
    while (n && !in[n - 1]) n--;
    if (n > arity && !variadic && !s->fold) return import_fail(s, "more inputs than expected");
    bool many = strstr(s->op->out, "..") != NULL;
    if (s->is_identity) {
        for (int k = 1; k < nout; k++)
            if (used(s, k)) return import_fail(s, "output %d is not supported", k);
        return out[0] = s->in[0], true;
    }
    Value y = build_entry(s, n, in, nout);
    if (!y) return false;
    Node made = node_get(s->w, value_node(s->w, y));
    int have = made.op == s->op && y == made.out && (many || made.nout > 1) ? made.nout : 1;
    for (int k = 0; k < nout; k++) {
        bool there = k < have;
        if (!there && used(s, k)) return import_fail(s, "output %d is not supported", k);
        out[k] = there && s->n->out[k] ? y + (Value)k : 0;
    }
    return true;
}

static bool entry_fits(const OnnxMap *e, const OnnxNode *n) {
    return strcmp(e->type, n->type) == 0 &&
           strcmp(e->domain, n->x.domain.n ? n->domain : "") == 0 && n->version >= e->since &&
           (!e->until || n->version <= e->until);
}

bool normalize_by_tables(Import *s, Value out[]) {
    const char *why = NULL;
    Import fresh = *s;
    for (int k = 0; k < op_count(); k++)
        for (const OnnxMap *e = op_at(k)->onnx; e && e->type; e++) {
            if (!entry_fits(e, s->n)) continue;
            *s = fresh, s->op = op_at(k);
            Overflow overflow = overflow_begin(s->w);
            bool fits = entry_import(s, e->attrs, out);
            overflow_end(s->w, overflow);
            if (fits) return true;
            if (!why) why = s->why, fresh.guess = s->guess;
        }
    s->why =
        why ? why
            : arena_format(s->w->arena, "operator %s%s%s, version %d, is not known", s->n->domain,
                           s->n->domain[0] ? "." : "", s->n->type, (int)s->n->version);
    return false;
}
