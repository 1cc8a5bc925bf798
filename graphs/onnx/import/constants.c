/* constants.c -- makes constants of inputs of Isomer operators that are attributes in ONNX: numbers
   or texts, single or in lists. One number has no axis, so that it broadcasts; several numbers have
   one. Texts are the rows of a matrix of bytes, padded with zeros to the longest text. The reverse
   is in export/emit_constants.c. */
#include "graphs/onnx/import/import.h"
#include <string.h>

void give_list(Import *s, int k, DType dtype, Dims dim, const void *bytes) {
    if (!s->constant) s->constant = ARENA_NEW(s->w->arena, Value, op_input_count(s->op));
    s->constant[k] = constant_copied(s->w, dtype, dim, bytes);
}
static void give_numbers(Import *s, int k, DType dtype, int n, const void *bytes) {
    give_list(s, k, dtype, (Dims){n != 1, {poly_int(s->w, n)}}, bytes);
}
static bool give_texts(Import *s, int k, const OnnxAttr *t) {
    /* Since all texts are padded, one long text among many would use much memory. */
    enum { BYTES_MAX = 1 << 26 };
    size_t longest = 1;
    for (int j = 0; j < t->n; j++)
        longest = strlen(t->texts[j]) > longest ? strlen(t->texts[j]) : longest;
    if ((size_t)t->n > BYTES_MAX / longest)
        return import_fail(s, "%d texts of up to %zu bytes are too many", t->n, longest);
    char *bytes = arena_alloc(s->w->arena, (size_t)t->n * longest);
    for (int j = 0; j < t->n; j++)
        memcpy(bytes + (size_t)j * longest, t->texts[j], strlen(t->texts[j]));
    const Dims dim = {2, {poly_int(s->w, t->n), poly_int(s->w, (int64_t)longest)}};
    give_list(s, k, DT_UINT8, dim, bytes);
    return true;
}

bool give_constant(Import *s, const char *ours, const char *theirs) {
    OnnxAttr t;
    const int k = op_input_any(s->op, ours);
    if (k < 0)
        return import_fail(s, "bug: the ONNX table of %s names an input %s that it lacks",
                           s->op->name, ours);
    if (!onnx_attr(s, theirs, &t)) return true;
    switch (t.kind) {
    case ONNX_ATTR_INT: give_numbers(s, k, DT_INT64, 1, &t.i); break;
    case ONNX_ATTR_FLOAT: give_numbers(s, k, DT_FLOAT, 1, &t.f); break;
    case ONNX_ATTR_INTS: give_numbers(s, k, DT_INT64, t.n, t.ints); break;
    case ONNX_ATTR_FLOATS: give_numbers(s, k, DT_FLOAT, t.n, t.floats); break;
    case ONNX_ATTR_TEXTS: return give_texts(s, k, &t);
    default: return import_fail(s, "attribute %s is not a list of numbers or texts", theirs);
    }
    return true;
}
