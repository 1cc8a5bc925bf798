/* concat: the inputs one after another along an axis; each starts at the sum of the sizes of those
   before it. */
#include "ops/operator/op.h"
enum { AXIS };
static const AttrDef attrs[] = {
    [AXIS] = {.name = "axis", .kind = A_INT, .axes = true, .draw = "0 1 -1"}, {0}};

static const char *shape(Call *c) {
    int a = axis(c, AXIS, c->in[0]->dim.n);
    if (a < 0) return "axis out of range";
    c->out[0] = *c->in[0];
    for (int j = 1; j < c->nin; j++) {
        Dims x = c->in[j]->dim;
        if (x.n != c->in[0]->dim.n) return "concat needs inputs of equal rank";
        if (c->in[j]->dtype != c->in[0]->dtype) return "the inputs have different element types";
        for (int k = 0; k < x.n; k++)
            if (k != a) need_eq(c, x.v[k], c->in[0]->dim.v[k]);
        c->out[0].dim.v[a] = poly(c, "n + m", c->out[0].dim.v[a], x.v[a]);
    }
    return NULL;
}

static Ex define(Call *c, Dims i) {
    int a = axis(c, AXIS, i.n);
    Poly end = c->out[0].dim.v[a];
    Ex y = 0;
    for (int j = c->nin - 1; j >= 0; j--) {
        Poly start = poly(c, "e - n", end, c->in[j]->dim.v[a]);
        Ex piece = at(c, j, dims_with(i, a, poly(c, "i - s", i.v[a], start)));
        y = y ? when(c, when_ge(c, end, poly(c, "i + 1", i.v[a])), piece, y) : piece;
        end = start;
    }
    return y;
}

/* Copies each input into its part of y. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    int a = axis(c, AXIS, out[0].rank);
    int64_t start = 0;
    for (int j = 0; j < c->nin; start += in[j++].dim[a]) {
        View part = view_part(&out[0], a, start, in[j].dim[a]);
        step_copy(b, &part, &in[j]);
    }
    return 1;
}

static const OnnxMap onnx[] = {{"", "Concat", 4, 0, "axis"},
                               {"", "Concat", 1, 3, "axis"},
                               {"", "Concat", 1, 3, "axis=1!"},
                               {"", "ScatterND", 16, 0, "axis:written +reduction==none"},
                               {"", "ScatterND", 11, 15, "axis:written"},
                               {0}};
const Op op_concat = {"concat",    "xs..", "y", attrs, shape, define, .steps = write_steps,
                      .onnx = onnx};
