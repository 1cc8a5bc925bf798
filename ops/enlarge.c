/* enlarge: puts the kernel w [o, c, ..] of a convolution into the middle of a larger kernel, with
   zeros around it. If the difference of a size is odd, the extra row is at the end. ONNX has no
   such operator; it is exported as a constant. */
#include "ops/operator/op.h"
enum { KERNEL };
static const AttrDef attrs[] = {[KERNEL] = {.name = "kernel", .kind = A_INTS, .draw = "3 4 5"},
                                {0}};

static const char *shape(Call *c) {
    Dims w = c->in[0]->dim;
    PolyList k = ints(c, KERNEL);
    const char *why = same_type(c, "FIU");
    if (w.n < 3 || k.n != w.n - 2)
        return "enlarge needs a kernel [o, c, ..] and a size for each spatial axis";
    for (int j = 0; j < k.n; j++) {
        need_ge(c, k.v[j], w.v[j + 2]);
        c->out[0].dim.v[j + 2] = k.v[j];
    }
    return why;
}
static Ex define(Call *c, Dims i) {
    Dims w = c->in[0]->dim;
    PolyList k = ints(c, KERNEL);
    for (int j = 0; j < k.n; j++) {
        Poly before = quot(c, poly(c, "k - w", k.v[j], w.v[j + 2]), poly(c, "2"));
        i.v[j + 2] = poly(c, "i - b", i.v[j + 2], before);
    }
    return when(c, inside(c, i, w, 2), at(c, 0, i), num(c, 0, 1));
}

const Op op_enlarge = {"enlarge", "w", "y", attrs, shape, .define = define};
