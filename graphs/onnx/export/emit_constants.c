/* emit_constants.c -- writes constant inputs of Isomer operators that are attributes in ONNX (the
   reverse of import/constants.c). */
#include "graphs/onnx/export/emit_draft.h"
#include <string.h>

static bool export_texts(Draft *d, const char *name, int n, int64_t longest, const char *bytes) {
    const char **texts = ARENA_NEW(d->w->arena, const char *, n);
    for (int k = 0; k < n; k++)
        texts[k] = arena_string(d->w->arena, bytes + k * longest,
                                strnlen(bytes + k * longest, (size_t)longest));
    OnnxAttr *t = draft_new(d, name, ONNX_ATTR_TEXTS);
    return t->n = n, t->texts = texts, true;
}

bool draft_constant(Draft *d, const char *ours, const char *theirs, bool list) {
    const int k = op_input_any(d->node.op, ours);
    const Value v = k >= 0 && k < d->node.nin ? d->node.in[k] : 0;
    Type type;
    const void *bytes;
    int64_t n = 1, longest = 0;
    if (!v) return true;
    if (k >= DRAFT_CONSTANTS) return draft_fail(d, "an attribute that is an input too far back");
    if (!constant_get(d->w, v, &type, &bytes) || type.dim.n > 2)
        return draft_fail(d, "an attribute that is computed from data");
    if (type.dim.n > 0 && !poly_constant(d->w, type.dim.v[0], &n)) return false;
    d->constants |= UINT64_C(1) << k;
    if (type.dim.n == 2)
        return poly_constant(d->w, type.dim.v[1], &longest) &&
               export_texts(d, theirs, (int)n, longest, bytes);
    const bool whole = type.dtype == DT_INT64;
    if ((!whole && type.dtype != DT_FLOAT) || (!list && n != 1))
        return draft_fail(d, "an attribute of another type than float32 or int64");
    OnnxAttr *t = draft_new(d, theirs,
                            list ? (whole ? ONNX_ATTR_INTS : ONNX_ATTR_FLOATS)
                                 : (whole ? ONNX_ATTR_INT : ONNX_ATTR_FLOAT));
    t->n = (int)n;
    if (whole) t->ints = bytes;
    else t->floats = bytes;
    if (!list && whole) t->i = t->ints[0];
    if (!list && !whole) t->f = t->floats[0];
    return true;
}
