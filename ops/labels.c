/* labels: operators of ai.onnx.ml on labels and categories, whose lists are constants. Labels are
   numbers here; a node that names them by strings is refused. */
#include "ops/operator/op.h"
#include <math.h>

/* labelmap: for each element of x the value that belongs to it as a key, or `otherwise` if it is no
   key. The keys are distinct and in ascending order; NaN counts as equal to itself and comes
   last. */
enum { X, KEYS, VALUES, OTHERWISE };
static const char *map_shape(Call *c) {
    if (c->in[X]->dtype != c->in[KEYS]->dtype) return "keys of another type than x";
    if (c->in[VALUES]->dtype != c->in[OTHERWISE]->dtype) return "values of two types";
    if (rank_of(c, KEYS) != 1 || rank_of(c, VALUES) != 1 || rank_of(c, OTHERWISE))
        return "keys and values are lists";
    need_eq(c, c->in[KEYS]->dim.v[0], c->in[VALUES]->dim.v[0]);
    c->out[0] = (Type) { .dtype = c->in[VALUES]->dtype, .dim = c->in[X]->dim };
    return NULL;
}
/* Less than 0, 0 or greater than 0, as element `at` of x is less than, equal to or greater than a
   key. */
static int beside_key(const Step *s, void *const slot[], int64_t at, int64_t key) {
    const View *x = &s->view[1 + X], *keys = &s->view[1 + KEYS];
    const int64_t place = kernel_at(keys, &key);
    if (kernel_is_integer(x)) {
        const int64_t a = kernel_integer(x, slot, at), b = kernel_integer(keys, slot, place);
        return (a > b) - (a < b);
    }
    const double a = kernel_real(x, slot, at), b = kernel_real(keys, slot, place);
    return isnan(a) || isnan(b) ? !!isnan(a) - !!isnan(b) : (a > b) - (a < b);
}
static int map_kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1 + X], *values = &s->view[1 + VALUES];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        const int64_t at = kernel_at(x, i), n = s->view[1 + KEYS].dim[0];
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (beside_key(s, slot, at, middle) > 0) low = middle + 1;
            else high = middle;
        }
        const bool found = low < n && beside_key(s, slot, at, low) == 0;
        const View *from = found ? values : &s->view[1 + OTHERWISE];
        kernel_move(y, slot, kernel_at(y, i), from, kernel_at(from, &low));
    }
    return 0;
}
static const OnnxMap onnx_map[] = {{"ai.onnx.ml", "LabelEncoder", 2, 0, "labels:sorted"}, {0}};
const Op op_labelmap = {"labelmap",         "x keys values otherwise", "y",
                        .shape = map_shape, .kernel = map_kernel,      .onnx = onnx_map};

/* categories: adds a last axis with one place per category: 1 for the category that equals the
   element, 0 elsewhere. An element that equals none gives zeros, even if the model asks for an
   error then. */
static const char *categories_shape(Call *c) {
    Dims x = c->in[0]->dim;
    if (x.n < 1 || x.n > 3) return "x needs one to three axes";
    if (!is_float(c->in[0]) && !is_integer(c->in[0])) return "not supported for this element type";
    if (rank_of(c, 1) != 1 || c->in[1]->dtype != DT_INT64)
        return "only categories that are a list of integers are supported";
    x.v[x.n++] = c->in[1]->dim.v[0];
    c->out[0] = (Type){.dtype = DT_FLOAT, .dim = x};
    return NULL;
}
static const char expand_categories[] =
    "%i = cast %x to=I64\n"
    "[x:1] %r = reshape %i shape=[x.0, 1]\n"
    "[x:2] %r = reshape %i shape=[x.0, x.1, 1]\n"
    "[x:3] %r = reshape %i shape=[x.0, x.1, x.2, 1]\n"
    "[x:1] %b = broadcast %r shape=[x.0, categories.0]\n"
    "[x:2] %b = broadcast %r shape=[x.0, x.1, categories.0]\n"
    "[x:3] %b = broadcast %r shape=[x.0, x.1, x.2, categories.0]\n"
    "%e = equal %b %categories\n"
    "%y = cast %e to=F\n"
    "out %y\n";
static const OnnxMap onnx_categories[] = {
    {"ai.onnx.ml", "OneHotEncoder", 1, 0, "categories=list:cats_int64s zeros:ignore"}, {0}};
const Op op_categories = {"categories",
                          "x categories",
                          "y",
                          .shape = categories_shape,
                          .expand = expand_categories,
                          .onnx = onnx_categories};

/* zipmap: in ONNX, a sequence of maps from labels to the numbers of each row of x. Only tensors
   have a type here, so the result is the matrix x itself, with a column for each label. The
   operator has neither a definition nor an expansion, so that no rule replaces it by x. */
static const char *zip_shape(Call *c) {
    if (!is_float(c->in[0])) return "not supported for this element type";
    if (c->in[0]->dim.n != 2) return "only rows of a matrix are supported";
    need_eq(c, c->in[0]->dim.v[1], rank_of(c, 1) ? c->in[1]->dim.v[0] : poly(c, "1"));
    c->out[0] = *c->in[0];
    return NULL;
}
static int zip_kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, i));
    return 0;
}
static const OnnxMap onnx_zip[] = {
    {"ai.onnx.ml", "ZipMap", 1, 0, "labels=list:classlabels_int64s"},
    {"ai.onnx.ml", "ZipMap", 1, 0, "labels=list:classlabels_strings"},
    {0}};
const Op op_zipmap = {"zipmap",           "x labels",           "y",
                      .shape = zip_shape, .kernel = zip_kernel, .onnx = onnx_zip};
