/* linearattention: attention without softmax: a state [b, g, dk, dv] is carried along time. At each
   step of q [b, t, h*dk], k [b, t, g*dk] and v [b, t, g*dv], the state decays by the factor
   exp(decay) (update rules `gated` and `gated_delta`), v becomes beta * (v - state^T k) (update
   rules `delta` and `gated_delta`), k v^T is added to the state, and y = scale * state^T q. h is a
   multiple of g: heads of q that share a head of k and v read the same state. The last state is a
   further result.

   causalconv: a convolution of each channel of x [b, c, l] with a kernel of its own, w [c, 1, k],
   that sees only the current and earlier places. Before x stand the places of `before`, or zeros;
   the last k - 1 places are a further result. */
#include "ops/operator/op.h"
#include <math.h>
enum { KV_HEADS, Q_HEADS, SCALE, RULE };
enum { PLAIN, GATED, DELTA, GATED_DELTA };
enum { Q, K, V, PAST, DECAY, BETA, INPUTS };
enum { WIDEST = 1024 };
static const AttrDef attrs[] = {
    [KV_HEADS] = {.name = "kv_heads", .kind = A_INT, .draw = "1 2"},
    [Q_HEADS] = {.name = "q_heads", .kind = A_INT, .draw = "2 4"},
    [SCALE] = {"scale", A_REAL, "0", .draw = "0 1/2"}, /* 0: 1 / sqrt(dk) */
    [RULE] = {"rule", A_ENUM, "gated_delta", "linear gated delta gated_delta",
              .draw = "linear gated delta gated_delta"},
    {0},
};

static const char *shape(Call *c) {
    int64_t h, g, rule = enum_value(c, RULE);
    for (int k = Q; k <= V; k++)
        if (c->in[k]->dim.n != 3) return "q, k and v must have three axes";
    if (!is_const(c, intof(c, KV_HEADS), &g) || !is_const(c, intof(c, Q_HEADS), &h) || g < 1 ||
        h % g)
        return "the numbers of heads do not match the sizes";
    if (!c->in[DECAY] != (rule == PLAIN || rule == DELTA))
        return "the decay is missing, or given although the update rule does not use it";
    if (!c->in[BETA] != (rule == PLAIN || rule == GATED))
        return "beta is missing, or given although the update rule does not use it";
    Dims q = c->in[Q]->dim, k = c->in[K]->dim, v = c->in[V]->dim;
    Poly dk = quot(c, q.v[2], intof(c, Q_HEADS)), dv = quot(c, v.v[2], intof(c, KV_HEADS));
    int64_t wide;
    if (!is_const(c, dk, &wide) || wide > WIDEST) return "the head size is above 1024 or not known";
    need_eq(c, k.v[2], poly(c, "g*d", intof(c, KV_HEADS), dk));
    need_eq(c, k.v[0], q.v[0]), need_eq(c, v.v[0], q.v[0]), need_eq(c, k.v[1], q.v[1]),
        need_eq(c, v.v[1], q.v[1]);
    c->out[0] = c->out[1] = *c->in[Q];
    c->out[0].dim.v[2] = poly(c, "h*d", intof(c, Q_HEADS), dv);
    if (c->in[PAST]) c->out[1].dtype = c->in[PAST]->dtype;
    c->out[1].dim = (Dims){4, {q.v[0], intof(c, KV_HEADS), dk, dv}};
    if (c->in[PAST] && c->in[PAST]->dim.n != 4) return "the state must have four axes";
    for (int j = 0; c->in[PAST] && j < 4; j++)
        need_eq(c, c->in[PAST]->dim.v[j], c->out[1].dim.v[j]);
    for (int j = DECAY; j <= BETA; j++)
        if (c->in[j]) {
            const Dims x = c->in[j]->dim;
            if (x.n != 3) return "decay and beta must have three axes";
            need_eq(c, x.v[0], q.v[0]), need_eq(c, x.v[1], q.v[1]);
            int64_t n;
            if (!is_const(c, x.v[2], &n) || (n != g && n != (j == DECAY ? g * wide : 1)))
                return "decay and beta do not match the heads";
        }
    return is_float(c->in[Q]) ? NULL : "not supported for this element type";
}
enum { P_KV_HEADS = 1, P_Q_HEADS, P_SCALE, P_RULE };
static int params(Call *c, int64_t param[]) {
    bool ok = is_const(c, intof(c, KV_HEADS), &param[P_KV_HEADS]) &&
              is_const(c, intof(c, Q_HEADS), &param[P_Q_HEADS]) &&
              bits_of(c, SCALE, &param[P_SCALE]);
    param[P_RULE] = enum_value(c, RULE);
    return ok ? 4 : -1;
}

/* The view of an optional input; NULL if it is left out. */
static const View *given(const Step *s, int input) {
    return 2 + input < s->nview && s->view[2 + input].rank >= 0 ? &s->view[2 + input] : NULL;
}

typedef struct Head { /* the computation of one column of the state of one head */
    const Step *s;
    void *const *slot;
    int64_t b, g, m;      /* indices of the batch, the head of k and v, the column */
    int64_t dk, heads;    /* rows of the state; number of heads of k and v */
    double state[WIDEST]; /* the column before the next time step */
} Head;
static double read_at(const Head *h, int input, int64_t t, int64_t place) {
    const View *v = &h->s->view[2 + input];
    return kernel_real(v, h->slot, kernel_at(v, (int64_t[]){h->b, t, v->dim[2] == 1 ? 0 : place}));
}
static void decay(Head *h, int64_t t) {
    const int64_t each = h->s->view[2 + DECAY].dim[2] / h->heads;
    for (int64_t d = 0; d < h->dk; d++)
        h->state[d] *= exp(read_at(h, DECAY, t, each > 1 ? h->g * h->dk + d : h->g));
}
static void write_step(Head *h, int64_t t, int64_t dv, int64_t rule) {
    double v = read_at(h, V, t, h->g * dv + h->m), seen = 0;
    if (rule == GATED || rule == GATED_DELTA) decay(h, t);
    for (int64_t d = 0; d < h->dk && rule >= DELTA; d++)
        seen += h->state[d] * read_at(h, K, t, h->g * h->dk + d);
    if (rule >= DELTA) v = read_at(h, BETA, t, h->g) * (v - seen);
    for (int64_t d = 0; d < h->dk; d++) h->state[d] += read_at(h, K, t, h->g * h->dk + d) * v;
}
static void column(Head *h, double scale, int64_t group) {
    const View *y = &h->s->view[0], *last = &h->s->view[1], *past = given(h->s, PAST);
    const int64_t dv = last->dim[3];
    for (int64_t d = 0; d < h->dk; d++)
        h->state[d] =
            past ? kernel_real(past, h->slot, kernel_at(past, (int64_t[]){h->b, h->g, d, h->m}))
                 : 0;
    for (int64_t t = 0; t < y->dim[1]; t++) {
        write_step(h, t, dv, h->s->param[P_RULE]);
        for (int64_t r = h->g * group; r < (h->g + 1) * group; r++) {
            double sum = 0;
            for (int64_t d = 0; d < h->dk; d++)
                sum += h->state[d] * read_at(h, Q, t, r * h->dk + d);
            kernel_set_real(y, h->slot, kernel_at(y, (int64_t[]){h->b, t, r * dv + h->m}),
                            scale * sum);
        }
    }
    for (int64_t d = 0; d < h->dk; d++)
        kernel_set_real(last, h->slot, kernel_at(last, (int64_t[]){h->b, h->g, d, h->m}),
                        h->state[d]);
}
static int kernel(const Step *s, void *const slot[]) {
    const View *last = &s->view[1];
    Head h = {.s = s, .slot = slot, .dk = last->dim[2], .heads = s->param[P_KV_HEADS]};
    double scale = param_real(s->param[P_SCALE]);
    if (scale == 0) scale = 1 / sqrt((double)h.dk);
    for (h.b = 0; h.b < last->dim[0]; h.b++)
        for (h.g = 0; h.g < h.heads; h.g++)
            for (h.m = 0; h.m < last->dim[3]; h.m++)
                column(&h, scale, s->param[P_Q_HEADS] / s->param[P_KV_HEADS]);
    return 0;
}
static const OnnxMap onnx[] = {
    {"", "LinearAttention", 27, 0,
     "kv_heads=kv_num_heads q_heads=q_num_heads scale rule=update_rule chunk_size:ignore"},
    {0},
};
const Op op_linearattention = {
    "linearattention", "q k v past? decay? beta?", "y state",   attrs, shape,
    .kernel = kernel,  .params = params,           .onnx = onnx};

enum { ACTIVATION };
enum { X, W, BIAS, BEFORE };
static const AttrDef causal_attrs[] = {
    [ACTIVATION] = {"activation", A_ENUM, "none", "none silu swish", .draw = "none silu"}, {0}};
static const char *shape_causal(Call *c) {
    Dims x = c->in[X]->dim, w = c->in[W]->dim;
    if (x.n != 3 || w.n != 3 || (c->in[BEFORE] && c->in[BEFORE]->dim.n != 3) ||
        (c->in[BIAS] && c->in[BIAS]->dim.n != 1))
        return "causalconv needs x [b, c, l] and w [c, 1, k]";
    need_eq(c, w.v[0], x.v[1]), need_eq(c, w.v[1], poly(c, "1")), need_ge(c, w.v[2], poly(c, "1"));
    const char *why = same_type(c, "F");
    c->out[1] = c->out[0];
    c->out[1].dim.v[2] = poly(c, "k - 1", w.v[2]);
    if (c->in[BIAS]) need_eq(c, c->in[BIAS]->dim.v[0], x.v[1]);
    for (int k = 0; c->in[BEFORE] && k < 3; k++)
        need_eq(c, c->in[BEFORE]->dim.v[k], c->out[1].dim.v[k]);
    return why;
}
enum { P_ACTIVATION = 1 };
static int params_causal(Call *c, int64_t param[]) {
    param[P_ACTIVATION] = enum_value(c, ACTIVATION);
    return 1;
}
/* Place t of `before` (or zeros) followed by x. */
static double joined(const Step *s, void *const slot[], int64_t b, int64_t c, int64_t t) {
    const View *x = &s->view[2 + X], *before = given(s, BEFORE);
    int64_t some = s->view[1].dim[2];
    if (t < some)
        return before ? kernel_real(before, slot, kernel_at(before, (int64_t[]){b, c, t})) : 0;
    return kernel_real(x, slot, kernel_at(x, (int64_t[]){b, c, t - some}));
}
static int kernel_causal(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *last = &s->view[1], *w = &s->view[2 + W], *bias = given(s, BIAS);
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        double sum = bias ? kernel_real(bias, slot, kernel_at(bias, &i[1])) : 0;
        for (int64_t k = 0; k < w->dim[2]; k++)
            sum += joined(s, slot, i[0], i[1], i[2] + k) *
                   kernel_real(w, slot, kernel_at(w, (int64_t[]){i[1], 0, k}));
        kernel_set_real(y, slot, kernel_at(y, i),
                        s->param[P_ACTIVATION] ? sum / (1 + exp(-sum)) : sum);
    }
    for (bool more = kernel_first(last, i); more; more = kernel_next(last, i))
        kernel_set_real(last, slot, kernel_at(last, i),
                        joined(s, slot, i[0], i[1], y->dim[2] + i[2]));
    return 0;
}
static const OnnxMap onnx_causal[] = {{"", "CausalConvWithState", 27, 0, "activation"}, {0}};
const Op op_causalconv = {"causalconv",
                          "x w bias? before?",
                          "y after",
                          causal_attrs,
                          shape_causal,
                          .kernel = kernel_causal,
                          .params = params_causal,
                          .onnx = onnx_causal};
