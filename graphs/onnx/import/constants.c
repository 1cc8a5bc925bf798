/* constants.c -- inputs of ours that are attributes in ONNX: lists of numbers or texts, which
   become constants. One number has no axis, so that it broadcasts; several have one; texts are rows
   of bytes, which zeros fill to one length. The way back is in export/emit_constants.c. */
#include "graphs/onnx/import/import.h"
#include <string.h>

static Value constant_of(Import *s, DType dtype, int n, const void *bytes, size_t size) {
    Type type = {.dtype = dtype, .known = true, .dim = {.n = n != 1, .v = {poly_int(s->w, n)}}};
    bytes = arena_copy(s->w->arena, bytes, (size_t)n * size);
    return constant_make(s->w, &type, blob_put(s->w, bytes, (size_t)n * size));
}

static Value constant_of_texts(Import *s, const OnnxAttr *t) {
    size_t longest = 1;
    for (int k = 0; k < t->n; k++)
        longest = strlen(t->texts[k]) > longest ? strlen(t->texts[k]) : longest;
    const size_t size = (size_t)t->n * longest;
    char *bytes = arena_alloc(s->w->arena, size);
    for (int k = 0; k < t->n; k++)
        memcpy(bytes + (size_t)k * longest, t->texts[k], strlen(t->texts[k]));
    Type type = {.dtype = DT_UINT8,
                 .known = true,
                 .dim = {2, {poly_int(s->w, t->n), poly_int(s->w, (int64_t)longest)}}};
    return constant_make(s->w, &type, blob_put(s->w, bytes, size));
}

bool give_constant(Import *s, const char *ours, const char *theirs) {
    OnnxAttr t;
    const int k = op_constant_input(s->op, ours);
    if (k < 0)
        return import_fail(s, "bug: the ONNX table of %s names an input %s that it lacks",
                           s->op->name, ours);
    if (!onnx_attr(s, theirs, &t)) return true;
    if (!s->constant) s->constant = ARENA_NEW(s->w->arena, Value, op_input_count(s->op));
    switch (t.kind) {
    case ONNX_ATTR_INT: s->constant[k] = constant_of(s, DT_INT64, 1, &t.i, sizeof t.i); break;
    case ONNX_ATTR_FLOAT: s->constant[k] = constant_of(s, DT_FLOAT, 1, &t.f, sizeof t.f); break;
    case ONNX_ATTR_INTS:
        s->constant[k] = constant_of(s, DT_INT64, t.n, t.ints, sizeof *t.ints);
        break;
    case ONNX_ATTR_FLOATS:
        s->constant[k] = constant_of(s, DT_FLOAT, t.n, t.floats, sizeof *t.floats);
        break;
    case ONNX_ATTR_TEXTS: s->constant[k] = constant_of_texts(s, &t); break;
    default: break;
    }
    return s->constant[k] ||
           import_fail(s, "attribute %s is not a list of numbers or texts", theirs);
}
