/* topk: the k greatest (or least) elements along an axis, in order, and their indices. Equal
   elements keep their order. */
#include "ops/operator/op.h"
enum { K, AXIS, LARGEST };
static const AttrDef attrs[] = {
    [K] = {.name = "k", .kind = A_INT, .draw = "1 2"},
    [AXIS] = {"axis", A_INT, "-1", .axes = true, .draw = "0 1 -1"},
    [LARGEST] = {"largest", A_ENUM, "yes", "no yes", .draw = "no yes"},
    {0},
};

static const char *shape(Call *c) {
    int a = axis(c, AXIS, c->in[0]->dim.n);
    const char *why = same_type(c, "FIU");
    if (a < 0) return "axis out of range";
    need_ge(c, intof(c, K), 0);
    need_ge(c, c->in[0]->dim.v[a], intof(c, K));
    c->out[0].dim.v[a] = intof(c, K);
    c->out[1] = c->out[0];
    c->out[1].dtype = DT_INT64;
    return why;
}
static int params(Call *c, int64_t param[]) {
    param[OP_AXIS] = axis(c, AXIS, c->in[0]->dim.n);
    param[TOPK_LARGEST] = enum_value(c, LARGEST);
    return 2;
}

/* 1 if element a comes before b, -1 if it comes after, 0 if they are equal. */
static int order(const View *x, void *const slot[], int64_t a, int64_t b, int64_t largest) {
    int less;
    if (kernel_is_integer(x)) {
        int64_t p = kernel_integer(x, slot, a), q = kernel_integer(x, slot, b);
        less = x->dtype == DT_UINT64 ? ((uint64_t)p > (uint64_t)q) - ((uint64_t)p < (uint64_t)q)
                                     : (p > q) - (p < q);
    } else {
        double p = kernel_real(x, slot, a), q = kernel_real(x, slot, b);
        less = (p > q) - (p < q);
    }
    return largest ? less : -less;
}
/* The place along the axis of the element that follows place `last` in the order (-1: of the first
   element); -1 if there is none. `line` is the offset of the first element of the line. */
static int64_t next(const View *x, void *const slot[], int a, int64_t line, int64_t last,
                    int64_t largest) {
    int64_t best = -1;
    for (int64_t k = 0; k < x->dim[a]; k++) {
        int64_t at = line + k * x->stride[a];
        if (last >= 0) {
            int order_to_last = order(x, slot, line + last * x->stride[a], at, largest);
            if (order_to_last < 0 || (order_to_last == 0 && k <= last)) continue;
        }
        if (best < 0 || order(x, slot, at, line + best * x->stride[a], largest) > 0) best = k;
    }
    return best;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *where = &s->view[1], *x = &s->view[2];
    int a = (int)s->param[OP_AXIS];
    View lines = *y;
    int64_t i[STEP_RANK];
    lines.dim[a] = y->dim[a] > 0;
    for (bool more = kernel_first(&lines, i); more; more = kernel_next(&lines, i)) {
        int64_t line = kernel_at(x, i), last = -1;
        for (i[a] = 0; i[a] < y->dim[a]; i[a]++) {
            last = next(x, slot, a, line, last, s->param[TOPK_LARGEST]);
            if (last < 0) return -1;
            kernel_move(y, slot, kernel_at(y, i), x, line + last * x->stride[a]);
            kernel_set_integer(where, slot, kernel_at(where, i), last);
        }
        i[a] = 0;
    }
    return 0;
}

static const OnnxMap onnx[] = {
    {"", "TopK", 11, 0, "k=input:1[] axis largest sorted:ignore"},
    {"", "TopK", 10, 10, "k=input:1[] axis largest=yes!"},
    {"", "TopK", 1, 9, "k axis largest=yes!"},
    {0},
};
const Op op_topk = {
    "topk",           "x",          "y where",         attrs, shape, .kernel = kernel,
    .params = params, .onnx = onnx, .flags = OP_PASSES};
