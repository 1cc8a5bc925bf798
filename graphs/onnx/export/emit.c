/* emit.c -- uses the tables of the importer in reverse: one Isomer node becomes the attributes and
   inputs of one ONNX node. If an item cannot be inverted, its entry fails and the next entry is
   tried. Broadcasts that ONNX performs by itself are not written: `broadcast`, and reshapes that
   only drop or add leading axes of size 1, are skipped where the sizes of the result stay the
   same. */
#include "graphs/onnx/export/emit_draft.h"
#include "graphs/onnx/item_text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool export_fixed(Draft *d, int attr, const char *text) {
    const AttrDef *def = &d->node.op->attrs[attr];
    Attr want;
    Error e = {0};
    Scan scan = scan_new("", text, strlen(text), &e);
    const Type *x = draft_type(d, 0);
    bool list = def->kind == A_INTS && *text != '[';
    bool ok = list ? attr_default(d->w, def, x ? x->dim.n : 0, &want)
                   : attr_parse(d->w, &scan, def, &want);
    return (ok && attr_equal(def, &want, &d->attr[attr])) ||
           draft_fail(d, "an attribute value that this version of the operator does not have");
}

/* Writes the enum attribute that was added last in capitals. */
static bool in_capitals(Draft *d) {
    OnnxAttr *t = &d->e->attr[d->e->nattr - 1];
    char *text = arena_string(d->w->arena, t->text, strlen(t->text));
    for (char *c = text; *c; c++) *c = (char)toupper((unsigned char)*c);
    t->text = text;
    return true;
}

static bool export_equals(Draft *d, const ItemText *item) {
    const char *value = item->value;
    if (!item->written) return true;
    if (*value == '-' || (*value >= '0' && *value <= '9'))
        return draft_int(d, item->theirs, atoll(value));
    return draft_new(d, item->theirs, ONNX_ATTR_TEXT)->text = value, true;
}

static bool export_item(Draft *d, const ItemText *item) {
    if (item->kind == ITEM_EQUALS) return export_equals(d, item);
    if (item->kind == ITEM_IGNORED) return true;
    if (item->kind == ITEM_SPECIAL) return item_export(d, item->ours, item->value);
    if (item->kind == ITEM_CONSTANT) return draft_constant(d, item->ours, item->theirs, item->list);
    const int attr = draft_attr(d, item->ours);
    if (attr < 0) return draft_fail(d, "an attribute that the operator does not have");
    if (item->kind == ITEM_FIXED) return export_fixed(d, attr, item->value);
    if (item->kind == ITEM_INPUT) return draft_input(d, attr, item->input, item->list);
    return draft_put(d, item->theirs, attr) && (!item->capitals || in_capitals(d));
}

/* Exports the items in the same two passes as the import: first the ordinary items, then the
   special ones. */
static bool items_export(Draft *d, const char *items) {
    ItemText item;
    for (int pass = 0; pass < 2; pass++)
        for (const char *at = items; item_next(d->w->arena, &at, &item);)
            if ((item.kind == ITEM_SPECIAL) == (pass == 1) && !export_item(d, &item)) return false;
    return true;
}

/* ---- inputs */

/* Whether the last two axes of two values have the same sizes. */
static bool same_matrices(World *w, Value a, Value b) {
    const Dims x = value_type(w, a)->dim, y = value_type(w, b)->dim;
    return x.n >= 2 && y.n >= 2 && x.v[x.n - 1] == y.v[y.n - 1] && x.v[x.n - 2] == y.v[y.n - 2];
}

/* Replaces the inputs of an operator that broadcasts in ONNX by what they were before being
   broadcast, but only if ONNX then gives the result the same sizes. */
static void drop_broadcasts(Draft *d, Value in[], const EmitContext *context) {
    Dims y = value_type(d->w, d->node.out)->dim;
    const bool batch = d->broadcasts == BROADCASTS_BATCH, only_c = d->broadcasts == BROADCASTS_C;
    Value *thin = arena_copy(d->w->arena, in, sizeof *in * (size_t)(d->node.nin + 1));
    for (int k = only_c ? 2 : 0; k < d->node.nin; k++) {
        Value before = thin[k];
        if (!before) return;
        thin[k] = emit_thin(d->w, before, y.n, context);
        if (batch && !same_matrices(d->w, before, thin[k])) thin[k] = before;
    }
    Dims joined;
    bool ok = only_c ? d->node.nin > 2 &&
                           emit_joined(d->w, y, value_type(d->w, thin[2])->dim, &joined) &&
                           dims_equal(&joined, &y)
                     : emit_same_sizes(d->w, d->node.nin, thin, y, batch ? 2 : 0);
    if (ok) memcpy(in, thin, sizeof *in * (size_t)d->node.nin);
}

/* The same for the first input and b alone; between these are other inputs (scales). */
static void drop_pair_broadcasts(Draft *d, Value in[], const EmitContext *context) {
    const Dims y = value_type(d->w, d->node.out)->dim;
    const int b = op_input_named(d->node.op, "b");
    if (b <= 0 || b >= d->node.nin || !in[0] || !in[b]) return;
    const Value thin[] = {emit_thin(d->w, in[0], y.n, context),
                          emit_thin(d->w, in[b], y.n, context)};
    if (emit_same_sizes(d->w, 2, thin, y, 0)) in[0] = thin[0], in[b] = thin[1];
}

/* Expresses the node by one entry of the table. */
static bool entry_export(Draft *d, const OnnxMap *map, const EmitContext *context) {
    *d->e = (OnnxNodeDraft){
        .type = map->type, .domain = map->domain, .nout = d->node.nout, .out = d->node.out};
    d->filled = 0, d->constants = 0;
    d->broadcasts = d->node.op->flags & OP_BROADCASTS ? BROADCASTS_ALL : BROADCASTS_NONE;
    if (!items_export(d, map->attrs)) return false;
    Value *ours = ARENA_NEW(d->w->arena, Value, d->node.nin + 1),
          *in = ARENA_NEW(d->w->arena, Value, d->node.nin + EMIT_SLOTS);
    if (d->node.nin) memcpy(ours, d->node.in, sizeof *ours * (size_t)d->node.nin);
    if (d->broadcasts == BROADCASTS_PAIR) drop_pair_broadcasts(d, ours, context);
    else if (d->broadcasts) drop_broadcasts(d, ours, context);
    int n = 0, nours = 0;
    for (int k = 0; k < d->node.nin; k++)
        if (k >= DRAFT_CONSTANTS || !(d->constants >> k & 1)) ours[nours++] = ours[k];
    for (int k = 0; k < nours || (n < EMIT_SLOTS && d->filled >> n); n++) {
        bool slot = n < EMIT_SLOTS && d->filled >> n & 1;
        in[n] = slot ? d->slot[n] : k < nours ? ours[k] : 0;
        if (!slot) k++;
    }
    while (n && !in[n - 1]) n--;
    d->e->in = in, d->e->nin = n;
    return true;
}

/* Whether reshape y only inserts 1s where the reduction that it reads removed axes. Both together
   are then one ONNX node, which keeps the reduced axes. */
static bool kept_reduction(World *w, Node y, Node *inner) {
    if (y.op != &op_reshape) return false;
    *inner = node_get(w, value_node(w, y.in[0]));
    int k = inner->op->attrs ? attrs_find(inner->op->attrs, "axes") : -1;
    if (k < 0) k = inner->op->attrs ? attrs_find(inner->op->attrs, "axis") : -1;
    bool keeps = false;
    for (const OnnxMap *e = inner->op->onnx; e && e->type; e++)
        keeps |= items_have_special(w->arena, e->attrs, "keepdims", NULL);
    if (!keeps || k < 0 || !inner->nin) return false;
    Attr attr[ATTRS_MAX];
    sig_attr(w, inner->sig, attr);
    Dims want = value_type(w, inner->in[0])->dim, have = value_type(w, y.out)->dim;
    for (int j = 0; j < attr[k].ints.n; j++) {
        int64_t a;
        if (!poly_constant(w, attr[k].ints.v[j], &a) || (a = a < 0 ? a + want.n : a) < 0 ||
            a >= want.n)
            return false;
        want.v[a] = poly_int(w, 1);
    }
    return dims_equal(&want, &have);
}

static bool valid_at(const OnnxMap *e, int64_t version) {
    return version && version >= e->since && (!e->until || version <= e->until);
}
static int64_t version_of(const Model *m, const OnnxMap *e) {
    int64_t version = model_opset(m, slice_of(e->domain));
    return version || !model_allows(m, e->domain) ? version : 1;
}

/* Tries the entries of the operator's table in order. kept: the node is a reduction that keeps its
   axes; a global pooling is then tried before a reduction over all spatial axes. */
static bool by_table(Model *m, Node node, bool kept, const EmitContext *context, OnnxNodeDraft *out,
                     const char **why) {
    Attr attr[ATTRS_MAX];
    sig_attr(m->w, node.sig, attr);
    for (int pass = kept ? 0 : 1; pass < 2; pass++)
        for (const OnnxMap *e = node.op->onnx; e && e->type; e++) {
            Draft d = {.m = m,
                       .w = m->w,
                       .node = node,
                       .attr = attr,
                       .context = context,
                       .e = out,
                       .kept = kept};
            const bool spatial = items_have_special(m->w->arena, e->attrs, "axes", "spatial");
            if (!valid_at(e, version_of(m, e)) || (pass == 0 && !spatial)) continue;
            if (entry_export(&d, e, context)) return true;
            if (!*why) *why = d.why;
        }
    return false;
}

bool emit_node(Model *m, NodeId id, const EmitContext *context, OnnxNodeDraft *out,
               const char **why) {
    Node node = node_get(m->w, id), inner;
    *why = NULL;
    if (kept_reduction(m->w, node, &inner) && !context->named(context->user, inner.out) &&
        by_table(m, inner, true, context, out, why))
        return out->out = node.out, true;
    *why = NULL;
    if (by_table(m, node, false, context, out, why)) return true;
    if (!*why) *why = "the model's operator set has no such operator";
    return false;
}

bool emit_possible(Model *m, const Op *op) {
    for (const OnnxMap *e = op->onnx; e && e->type; e++)
        if (valid_at(e, version_of(m, e)) &&
            !items_have_special(m->w->arena, e->attrs, "import", "only"))
            return true;
    return false;
}
