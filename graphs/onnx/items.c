/* items.c -- finds and runs a special item X:SPECIAL: first among the operator's own items
   (Op.items), then in items.def. An operator's own item does not see Import and Draft but a small
   interface of callbacks (OnnxRead, OnnxWrite), which this file implements. */
#include "graphs/onnx/items.h"
#include <string.h>

static const struct {
    const char *ours, *name;
    bool (*import)(Import *, int attr);
    bool (*export)(Draft *, int attr);
} table[] = {
#define ITEM(ours, special, import, export) {ours, special, import, export},
#include "graphs/onnx/items.def"
#undef ITEM
};

static const OnnxItem *own_item(const Op *op, const char *ours, const char *name) {
    for (const OnnxItem *i = op->items; i && i->ours; i++)
        if (!strcmp(i->name, name) && !strcmp(i->ours, ours)) return i;
    return NULL;
}

static int shared_item(const char *ours, const char *name) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!strcmp(table[k].name, name) && !strcmp(table[k].ours, ours)) return (int)k;
    return -1;
}

bool item_known(const Op *op, const char *ours, const char *name) {
    return own_item(op, ours, name) || shared_item(ours, name) >= 0;
}

/* ---- the callbacks for an operator's own items */

typedef struct Reading {
    OnnxRead r;
    Import *s;
} Reading;
static Import *import_of(OnnxRead *r) { return ((Reading *)(void *)r)->s; }
static bool read_list(OnnxRead *r, const char *name, int input, PolyList *out) {
    return list_from(import_of(r), name, input, out);
}
static int64_t read_int(OnnxRead *r, const char *name, int64_t otherwise) {
    return onnx_attr_int(import_of(r), name, otherwise);
}
static const char *read_text(OnnxRead *r, const char *name, const char *otherwise) {
    return onnx_attr_text(import_of(r), name, otherwise);
}
static bool read_reals(OnnxRead *r, const char *name, int n, const int attr[]) {
    Import *s = import_of(r);
    OnnxAttr t;
    if (!onnx_attr(s, name, &t) || t.kind != ONNX_ATTR_FLOATS || t.n != n)
        return import_fail(s, "attribute %s is not a list of %d numbers", name, n);
    for (int k = 0; k < n; k++)
        if (!give_attr(s, attr[k], &(OnnxAttr){.kind = ONNX_ATTR_FLOAT, .f = t.floats[k]}))
            return false;
    return true;
}
static bool read_given(OnnxRead *r, int attr, PolyList *out) {
    Import *s = import_of(r);
    *out = s->attr[attr].ints;
    return s->given[attr];
}
static void read_give(OnnxRead *r, int attr, int n, const Poly *v) {
    give_ints(import_of(r), attr, n, v);
}
static bool read_refuse(OnnxRead *r, const char *why) {
    return import_fail(import_of(r), "%s", why);
}

static bool own_import(Import *s, const OnnxItem *item, int attr) {
    Reading reading = {{.list = read_list,
                        .integer = read_int,
                        .text = read_text,
                        .reals = read_reals,
                        .given = read_given,
                        .give = read_give,
                        .refuse = read_refuse},
                       s};
    const Type **in = ARENA_NEW(s->w->arena, const Type *, s->nin + 1);
    for (int k = 0; k < s->nin; k++) {
        in[k] = s->in[k] ? value_type(s->w, s->in[k]) : NULL;
        if (in[k] && !in[k]->known) return import_type(s, s->in[k]) != NULL;
    }
    Call c = {.w = s->w, .op = s->op, .in = in, .nin = s->nin};
    return item->read(&c, &reading.r, attr);
}

bool item_import(Import *s, const char *ours, const char *name) {
    const OnnxItem *own = own_item(s->op, ours, name);
    int shared = own ? -1 : shared_item(ours, name), attr = op_attr_index(s->op, ours);
    if (!own && shared < 0)
        return import_fail(s, "bug: the ONNX table of %s has an unknown item %s:%s", s->op->name,
                           ours, name);
    bool ok = own ? own_import(s, own, attr) : table[shared].import(s, attr);
    return ok && overflow_noted(s->w) ? import_fail(s, "sizes beyond 64 bits") : ok;
}

typedef struct Writing {
    OnnxWrite w;
    Draft *d;
} Writing;
static Draft *draft_of(OnnxWrite *w) { return ((Writing *)(void *)w)->d; }
static bool write_int(OnnxWrite *w, const char *name, int64_t v) {
    return draft_int(draft_of(w), name, v);
}
static bool write_text(OnnxWrite *w, const char *name, const char *text) {
    return draft_new(draft_of(w), name, ONNX_ATTR_TEXT)->text = text, true;
}
static bool write_list(OnnxWrite *w, const char *name, PolyList list) {
    return draft_ints(draft_of(w), name, list);
}
static bool write_reals(OnnxWrite *w, const char *name, int n, const int attr[]) {
    Draft *d = draft_of(w);
    float *v = ARENA_NEW(d->w->arena, float, n);
    for (int k = 0; k < n; k++) {
        double real;
        if (!ex_number(d->w, d->attr[attr[k]].real, &real))
            return draft_fail(d, "a number that is a symbolic variable");
        v[k] = (float)real;
    }
    OnnxAttr *t = draft_new(d, name, ONNX_ATTR_FLOATS);
    return t->n = n, t->floats = v, true;
}
static bool write_list_input(OnnxWrite *w, int place, PolyList list) {
    return draft_list_slot(draft_of(w), place, list);
}
static bool write_refuse(OnnxWrite *w, const char *why) { return draft_fail(draft_of(w), why); }

static bool own_export(Draft *d, const OnnxItem *item, int attr) {
    Writing writing = {
        {write_int, write_text, write_list, write_reals, write_list_input, write_refuse}, d};
    Call c = sig_call(d->w, d->node.sig, NULL);
    return item->write(&c, &writing.w, attr);
}

bool item_export(Draft *d, const char *ours, const char *name) {
    const OnnxItem *own = own_item(d->node.op, ours, name);
    int shared = own ? -1 : shared_item(ours, name), attr = draft_attr(d, ours);
    if (own) return own_export(d, own, attr);
    return shared < 0 ? draft_fail(d, "an unknown item") : table[shared].export(d, attr);
}
