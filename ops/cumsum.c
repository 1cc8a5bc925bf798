/* cumsum, cumprod: at each place the sum or product of the elements along an axis up to this place,
   from the end with `reverse`, without the place itself with `exclusive`. */
#include "ops/operator/op.h"
enum { AXIS, EXCLUSIVE, REVERSE };
static const AttrDef attrs[] = {
    [AXIS] = {.name = "axis", .kind = A_INT, .axes = true, .draw = "0 1 -1"},
    [EXCLUSIVE] = {"exclusive", A_ENUM, "no", "no yes", .draw = "no yes"},
    [REVERSE] = {"reverse", A_ENUM, "no", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) {
    return axis(c, AXIS, c->in[0]->dim.n) < 0 ? "axis out of range" : same_type(c, "FIU");
}

static Ex define(Call *c, Dims i) {
    int a = axis(c, AXIS, i.n);
    Dims k = bound(c, (Dims){1, {c->in[0]->dim.v[a]}});
    Poly late = enum_value(c, REVERSE) ? k.v[0] : i.v[a],
         early = enum_value(c, REVERSE) ? i.v[a] : k.v[0];
    Cond counted =
        when_ge(c, late, poly(c, "e + x", early, poly_int(c->w, enum_value(c, EXCLUSIVE))));
    return sum(c, k, counted, at(c, 0, dims_with(i, a, k.v[0])));
}

static int params(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n),
    param[CUM_EXCLUSIVE] = enum_value(c, EXCLUSIVE), param[CUM_REVERSE] = enum_value(c, REVERSE);
    return 3;
}
static int accumulate(const Step *s, void *const slot[], bool product) {
    const View *y = &s->view[0], *x = &s->view[1];
    const int a = (int)s->param[OP_AXIS];
    const bool exclusive = s->param[CUM_EXCLUSIVE], reverse = s->param[CUM_REVERSE],
               whole = kernel_is_integer(x);
    View lines = *y;
    int64_t i[STEP_RANK];
    lines.dim[a] = y->dim[a] > 0;
    for (bool more = kernel_first(&lines, i); more; more = kernel_next(&lines, i)) {
        double real = product;
        uint64_t number = product;
        for (int64_t k = 0; k < y->dim[a]; k++) {
            i[a] = reverse ? y->dim[a] - 1 - k : k;
            int64_t to = kernel_at(y, i), from = kernel_at(x, i);
            uint64_t n = whole ? (uint64_t)kernel_integer(x, slot, from) : 0,
                     next = product ? number * n : number + n;
            double r = whole ? 0 : kernel_real(x, slot, from),
                   next_real = product ? real * r : real + r;
            if (whole) kernel_set_integer(y, slot, to, (int64_t)(exclusive ? number : next));
            else kernel_set_real(y, slot, to, exclusive ? real : next_real);
            number = next, real = next_real;
        }
        i[a] = 0;
    }
    return 0;
}
static int kernel_sum(const Step *s, void *const slot[]) { return accumulate(s, slot, false); }
static int kernel_product(const Step *s, void *const slot[]) { return accumulate(s, slot, true); }

static const OnnxMap onnx[] = {{"", "CumSum", 11, 0, "axis=input:1 exclusive reverse"}, {0}};
const Op op_cumsum = {"cumsum",
                      "x",
                      "y",
                      attrs,
                      shape,
                      define,
                      .kernel = kernel_sum,
                      .params = params,
                      .onnx = onnx,
                      .flags = OP_BY_DATA};
static const OnnxMap onnx_product[] = {{"", "CumProd", 26, 0, "axis=input:1 exclusive reverse"},
                                       {0}};
const Op op_cumprod = {
    "cumprod",           "x", "y", attrs, shape, .kernel = kernel_product, .params = params,
    .onnx = onnx_product};
