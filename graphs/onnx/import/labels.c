/* labels.c -- converts the keys and values of ai.onnx.ml's LabelEncoder to constants in ascending
   order of the keys; the operator `labelmap` (ops/labels.c) searches in this order. */
#include "graphs/onnx/import/import.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Pair {
    int64_t whole; /* the key, if keys are integers */
    double real;   /* the key, if keys are floats */
    int place;     /* in the lists of the file; of equal keys the first one counts */
} Pair;

static int by_key(const void *a, const void *b) {
    const Pair *x = a, *y = b;
    if (x->whole != y->whole) return x->whole < y->whole ? -1 : 1;
    if (isnan(x->real) != isnan(y->real)) return isnan(x->real) ? 1 : -1;
    if (x->real < y->real || x->real > y->real) return x->real < y->real ? -1 : 1;
    return x->place - y->place;
}
static bool same_key(const Pair *a, const Pair *b) {
    return a->whole == b->whole && (a->real == b->real || (isnan(a->real) && isnan(b->real)));
}
/* Whether a key can match: before version 4, NaN equals nothing. */
static bool known(const Import *s, const Pair *p) { return s->n->version >= 4 || !isnan(p->real); }
/* Reads the attribute NAME_int64s or NAME_floats. */
static bool read_numbers(Import *s, const char *name, OnnxAttr *out) {
    const char *whole = arena_format(s->w->arena, "%s_int64s", name),
               *real = arena_format(s->w->arena, "%s_floats", name);
    if (onnx_attr(s, whole, out) && out->kind == ONNX_ATTR_INTS && out->n > 0) return true;
    if (onnx_attr(s, real, out) && out->kind == ONNX_ATTR_FLOATS && out->n > 0) return true;
    return import_fail(s, "%s: only lists of int64 or float32 are supported", name);
}
static void give_pairs(Import *s, int input, const OnnxAttr *list, const Pair *pair, int n) {
    const bool whole = list->kind == ONNX_ATTR_INTS;
    const size_t size = whole ? sizeof *list->ints : sizeof *list->floats;
    char *bytes = arena_alloc(s->w->arena, (size_t)n * size);
    for (int k = 0; k < n; k++)
        memcpy(bytes + (size_t)k * size,
               whole ? (const void *)&list->ints[pair[k].place] : &list->floats[pair[k].place],
               size);
    give_list(s, input, whole ? DT_INT64 : DT_FLOAT, (Dims){1, {poly_int(s->w, n)}}, bytes);
}
/* Sets the value for keys that are not found: what the file says, else ONNX's default, -1 or -0. */
static void give_otherwise(Import *s, int input, bool whole) {
    OnnxAttr t;
    const bool given = onnx_attr(s, whole ? "default_int64" : "default_float", &t);
    const int64_t i = given && t.kind == ONNX_ATTR_INT ? t.i : -1;
    const float f = given && t.kind == ONNX_ATTR_FLOAT ? t.f : -0.0f;
    give_list(s, input, whole ? DT_INT64 : DT_FLOAT, (Dims){0}, whole ? (const void *)&i : &f);
}
bool import_labels(Import *s, int attr) {
    enum { KEYS = 1, VALUES, OTHERWISE };
    OnnxAttr keys, values, unused;
    (void)attr;
    if (!read_numbers(s, "keys", &keys) || !read_numbers(s, "values", &values)) return false;
    if (keys.n != values.n) return import_fail(s, "keys and values have different lengths");
    onnx_attr(s, "default_int64", &unused), onnx_attr(s, "default_float", &unused);
    onnx_attr(s, "default_string", &unused);
    Pair *pair = ARENA_NEW(s->w->arena, Pair, keys.n);
    int n = 0;
    for (int k = 0; k < keys.n; k++)
        pair[k] = keys.kind == ONNX_ATTR_INTS ? (Pair){keys.ints[k], 0, k}
                                              : (Pair){0, (double)keys.floats[k], k};
    qsort(pair, (size_t)keys.n, sizeof *pair, by_key);
    for (int k = 0; k < keys.n; k++)
        if (known(s, &pair[k]) && (!n || !same_key(&pair[k], &pair[n - 1]))) pair[n++] = pair[k];
    give_pairs(s, KEYS, &keys, pair, n);
    give_pairs(s, VALUES, &values, pair, n);
    give_otherwise(s, OTHERWISE, values.kind == ONNX_ATTR_INTS);
    return true;
}
