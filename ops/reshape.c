/* reshape: the same elements in the same order, with other sizes.

   Axes of size 1 do not matter. The other axes of x and y are cut into the shortest groups of equal
   product. Within a group, the index into x consists of the digits of the number that the index
   into y makes. Where one axis corresponds to one axis, its index is unchanged; joining axes of x
   needs digits, splitting an axis does not. */
#include "ops/operator/op.h"
enum { SHAPE };
static const AttrDef attrs[] = {[SHAPE] = {.name = "shape", .kind = A_INTS}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim, y = ints_dims(c, SHAPE);
    if (ints(c, SHAPE).n > RANK_MAX) return RANK_TOO_HIGH;
    need_eq(c, product(c, x, 0, x.n), product(c, y, 0, y.n));
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    c->out[0] = *c->in[0];
    c->out[0].dim = y;
    return NULL;
}

static bool is_one(Call *c, Poly p) {
    int64_t value;
    return is_const(c, p, &value) && value == 1;
}
/* Moves *j and *k to the end of the group that starts at x[*j] and y[*k], or to the end of all axes
   if no products agree. */
static void group_end(Call *c, Dims x, Dims y, int *j, int *k) {
    for (int a = *j; a < x.n; a++)
        for (int b = *k; b < y.n; b++)
            if (product(c, x, *j, a + 1) == product(c, y, *k, b + 1)) {
                *j = a + 1;
                *k = b + 1;
                return;
            }
    *j = x.n;
    *k = y.n;
}

static Ex define(Call *c, Dims i) {
    Dims x = {0}, y = {0}, at_y = {0}, index = c->in[0]->dim;
    int place[RANK_MAX];
    for (int a = 0; a < index.n; a++) {
        if (!is_one(c, index.v[a])) {
            place[x.n] = a;
            x.v[x.n++] = index.v[a];
        }
        index.v[a] = 0;
    }
    for (int a = 0; a < i.n; a++)
        if (!is_one(c, c->out[0].dim.v[a])) {
            y.v[y.n++] = c->out[0].dim.v[a];
            at_y.v[at_y.n++] = i.v[a];
        }
    for (int j = 0, k = 0; j < x.n;) {
        int from = j, at_k = k;
        group_end(c, x, y, &j, &k);
        Poly e = 0;
        for (int b = at_k; b < k; b++) e = poly(c, "e*n + i", e, y.v[b], at_y.v[b]);
        Dims radix = {.n = j - from};
        for (int a = from; a < j; a++) radix.v[a - from] = x.v[a];
        Dims d = digits(c, e, radix);
        for (int a = from; a < j; a++) index.v[place[a]] = d.v[a - from];
    }
    return at(c, 0, index);
}

static const OnnxMap onnx[] = {
    {"", "Reshape", 5, 0, "shape:onnx"},
    {"", "Reshape", 1, 4, "shape:onnx consumed_inputs:ignore"},
    {"", "Squeeze", 1, 0, "shape:squeeze"},
    {"", "Unsqueeze", 1, 0, "shape:unsqueeze"},
    {"", "Flatten", 1, 0, "shape:flatten"},
    {"", "Transpose", 1, 0, "shape:moved_ones"},
    {"", "Reshape", 5, 0, "shape:computed"},
    {"", "Identity", 1, 0, "shape:same"},
    {"", "Dropout", 12, 0, "shape:same seed:ignore"},
    {"", "Dropout", 7, 11, "shape:same ratio:ignore"},
    {"", "Dropout", 1, 6, "shape:same ratio:ignore is_test==1 consumed_inputs:ignore"},
    {0},
};
const Op op_reshape = {"reshape", "x", "y", attrs, shape, define, .onnx = onnx};
