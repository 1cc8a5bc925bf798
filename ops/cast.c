/* cast: the same numbers in another element type. In shape computations whole numbers keep their value where 32 bits hold
   it. */
#include "op.h"
enum { TO };
static const AttrDef attrs[] = {[TO] = {.name = "to", .kind = A_DTYPE}, {0}};

static const char *shape(Call *c) {
    c->out[0] = *c->in[0];
    c->out[0].dtype = (DType)word(c, TO);
    return NULL;
}
static bool same(Call *c, const Poly x[], Poly *y) {
    *y = x[0];
    return dtype_bits(c->out[0].dtype) >= 32 && dtype_bits(c->in[0]->dtype) >= 8;
}
static bool value(Call *c, const PolyList in[], Poly *out) { return value_each(c, in, out, same); }

static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t from = kernel_at(x, i), to = kernel_at(y, i);
        if (y->dtype == DT_BOOL) kernel_set_integer(y, slot, to, kernel_real(x, slot, from) != 0);
        else kernel_move(y, slot, to, x, from);
    }
    return 0;
}

/* A copy converts numbers; truth is not a conversion. */
static int lower(Call *c, const View in[], const View out[], StepBuf *steps) {
    char from = dtype_class(c->in[0]->dtype), to = dtype_class(c->out[0].dtype);
    if (to == 'B' || to == 'S' || from == 'S') return 0;
    step_copy(steps, &out[0], &in[0]);
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "Cast", 19, 0, "to saturate==1"},
    {"", "Cast", 6, 18, "to"},
    {0},
};
const Op op_cast = {"cast", "x", "y", attrs, shape, .value = value, .lower = lower, .kernel = kernel, .onnx = onnx};
