/* transpose: axis k of y is axis perm[k] of x. */
#include "ops/operator/op.h"
enum { PERM };
static const AttrDef attrs[] = {[PERM] = {.name = "perm", .kind = A_INTS}, {0}};

static const char *shape(Call *c) {
    Dims x = c->in[0]->dim;
    bool seen[RANK_MAX] = {false};
    if (ints(c, PERM).n != x.n) return "transpose needs one entry of perm for each axis";
    c->out[0] = *c->in[0];
    for (int k = 0; k < x.n; k++) {
        int a = axis_at(c, PERM, k, x.n);
        if (a < 0 || seen[a]) return "perm is not a permutation of the axes";
        seen[a] = true;
        c->out[0].dim.v[k] = x.v[a];
    }
    return NULL;
}

static Ex define(Call *c, Dims i) {
    Dims x = i;
    for (int k = 0; k < i.n; k++) x.v[axis_at(c, PERM, k, i.n)] = i.v[k];
    return at(c, 0, x);
}

static const OnnxMap onnx[] = {{"", "Transpose", 1, 0, "perm perm:reversed"}, {0}};
const Op op_transpose = {"transpose", "x", "y", attrs, shape, define, .onnx = onnx};
