/* bitcast: interprets the bits of each element as another element type of the same width. */
#include "ops/operator/op.h"
#include <string.h>

enum { TO };
static const AttrDef attrs[] = {[TO] = {.name = "to", .kind = A_DTYPE, .draw = "I32"}, {0}};
static const char *shape(Call *c) {
    int bits = dtype_bits(c->in[0]->dtype);
    c->out[0] = *c->in[0];
    c->out[0].dtype = (DType)enum_value(c, TO);
    return bits >= 8 && bits == dtype_bits(c->out[0].dtype) ? NULL
                                                            : "the element types differ in width";
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    const size_t width = (size_t)dtype_bits((DType)y->dtype) / 8;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        memcpy((char *)slot[y->slot] + (size_t)kernel_at(y, i) * width,
               (const char *)slot[x->slot] + (size_t)kernel_at(x, i) * width, width);
    return 0;
}
static const OnnxMap onnx[] = {{"", "BitCast", 26, 0, "to"}, {0}};
const Op op_bitcast = {"bitcast", "x", "y", attrs, shape, .kernel = kernel, .onnx = onnx};
