/* attention: softmax(scale * q k^T + bias) v for every head, as ONNX's operator Attention defines
   it.

   q is [b, h, s, d], k [b, g, t, d] and v [b, g, t, e], where h is a multiple of g. If `heads` (h)
   and `groups` (g) are given, the three may have three axes instead: [b, s, h*d] and so on.

   mask is boolean (true: the query sees the key) or holds numbers that are added to the scores. Its
   last axes are those of the scores; keys beyond its end along t are not seen. past_key and
   past_value precede k and v along t. lengths says how many keys count in each batch. The position
   of query i among the keys is i plus the number of past keys; without a past, but with lengths, it
   is i + lengths[b] - s. `causal` hides the keys after this position; `left` and `right` limit how
   far a query sees to either side (-1: no limit). Scores are capped to cap * tanh(score / cap). A
   query that sees no key gives 0.

   Further results: k and v with the past in front, and the scores at the stage that `shown`
   selects: 0 as computed, 1 capped, 2 with the bias added, 3 after the softmax. */
#include "ops/operator/op.h"
#include <math.h>
enum { HEADS, GROUPS, SCALE, CAP, CAUSAL, LEFT, RIGHT, SHOWN };
enum { Q, K, V, MASK, PAST_KEY, PAST_VALUE, LENGTHS };
_Static_assert(ATTENTION_OUTPUTS + LENGTHS == ATTENTION_LENGTHS,
               "the inputs are views in their order");
static const AttrDef attrs[] = {
    [HEADS] = {"heads", A_INT, "0", .draw = "0"},
    [GROUPS] = {"groups", A_INT, "0", .draw = "0"},
    [SCALE] = {"scale", A_REAL, "0", .draw = "0 1/2"}, /* 0: 1 / sqrt(d) */
    [CAP] = {"cap", A_REAL, "0", .draw = "0 2"},       /* 0: no cap */
    [CAUSAL] = {"causal", A_ENUM, "no", "no yes", .draw = "no yes"},
    [LEFT] = {"left", A_INT, "-1", .draw = "-1"},
    [RIGHT] = {"right", A_INT, "-1", .draw = "-1"},
    [SHOWN] = {"shown", A_INT, "0", .draw = "0"},
    {0},
};

static const Type *given(Call *c, int input) { return input < c->nin ? c->in[input] : NULL; }

/* Stores the sizes [b, h, s, d] of an input. If it has three axes, attribute `heads` says how many
   heads share the last one. Returns false if the heads cannot be told apart. */
static bool split_heads(Call *c, int input, int heads, Dims *out) {
    Dims x = c->in[input]->dim;
    Poly h = intof(c, heads);
    int64_t n;
    if (x.n == 4) return *out = x, true;
    if (x.n != 3 || !is_const(c, h, &n) || n < 1) return false;
    Poly d = quot(c, x.v[2], h);
    need_eq(c, x.v[2], poly(c, "h*d", h, d));
    return *out = (Dims){4, {x.v[0], h, x.v[1], d}}, true;
}

/* Whether the axes of a mask but the last one may be broadcast to those of q, [b, h, s, d]. Sizes
   that are not known are checked where the kernel runs. */
static bool mask_fits(Call *c, Dims mask, const Dims *q) {
    int64_t n, of;
    for (int j = 0; j < mask.n - 1; j++)
        if (is_const(c, mask.v[j], &n) && n != 1 && is_const(c, q->v[j + 4 - mask.n], &of) &&
            n != of)
            return false;
    return true;
}
static const char *shape(Call *c) {
    Dims q, k, v;
    Poly before = 0;
    if (!split_heads(c, Q, HEADS, &q) || !split_heads(c, K, GROUPS, &k) ||
        !split_heads(c, V, GROUPS, &v))
        return "attention needs four axes, or three and the number of heads";
    if (c->in[K]->dim.n != c->in[Q]->dim.n || c->in[V]->dim.n != c->in[Q]->dim.n)
        return "q, k and v have different ranks";
    if (!is_float(c->in[Q]) || c->in[K]->dtype != c->in[Q]->dtype)
        return "not supported for these element types";
    need_eq(c, k.v[0], q.v[0]), need_eq(c, v.v[0], q.v[0]), need_eq(c, v.v[1], k.v[1]);
    need_eq(c, k.v[3], q.v[3]), need_eq(c, v.v[2], k.v[2]);
    need_eq(c, q.v[1], poly(c, "g*r", k.v[1], quot(c, q.v[1], k.v[1])));
    if (!given(c, PAST_KEY) != !given(c, PAST_VALUE))
        return "past key and past value must be given together";
    if (given(c, PAST_KEY)) {
        if (c->in[PAST_KEY]->dim.n != 4 || c->in[PAST_VALUE]->dim.n != 4)
            return "past key and past value need four axes";
        const Dims past_k = c->in[PAST_KEY]->dim, past_v = c->in[PAST_VALUE]->dim;
        if (c->in[PAST_KEY]->dtype != c->in[K]->dtype ||
            c->in[PAST_VALUE]->dtype != c->in[V]->dtype)
            return "past keys or values have another element type than the new ones";
        before = past_k.v[2];
        need_eq(c, past_v.v[2], before);
        for (int j = 0; j < 4; j++) {
            if (j == 2) continue;
            need_eq(c, past_k.v[j], k.v[j]), need_eq(c, past_v.v[j], v.v[j]);
        }
    }
    if (given(c, MASK) && (c->in[MASK]->dim.n < 1 || c->in[MASK]->dim.n > 4))
        return "the mask has the wrong rank";
    if (given(c, MASK) && !mask_fits(c, c->in[MASK]->dim, &q))
        return "the mask does not match batch, heads or queries";
    if (given(c, LENGTHS)) {
        if (c->in[LENGTHS]->dim.n != 1) return "the lengths must be a tensor of one axis";
        need_eq(c, c->in[LENGTHS]->dim.v[0], q.v[0]);
    }
    for (int j = 0; j < c->nout; j++) c->out[j] = *c->in[j == ATTENTION_PRESENT_VALUE ? V : Q];
    Poly all = poly(c, "t + p", k.v[2], before);
    c->out[ATTENTION_Y].dim = c->in[Q]->dim.n == 4
                                  ? dims_with(q, 3, v.v[3])
                                  : (Dims){3, {q.v[0], q.v[2], poly(c, "h*e", q.v[1], v.v[3])}};
    c->out[ATTENTION_PRESENT_KEY].dim = dims_with(k, 2, all);
    c->out[ATTENTION_PRESENT_VALUE].dim = dims_with(v, 2, all);
    c->out[ATTENTION_SCORES].dim = (Dims){4, {q.v[0], q.v[1], q.v[2], all}};
    return NULL;
}

static bool domain(Call *c, int input, Poly *low, Poly *high) {
    Dims k = c->in[K]->dim;
    return input == LENGTHS && up_to(c, k.v[k.n - 2], low, high);
}
static int params(Call *c, int64_t param[]) {
    if (!bits_of(c, SCALE, &param[ATTENTION_SCALE]) || !bits_of(c, CAP, &param[ATTENTION_CAP]))
        return -1;
    if (!is_const(c, intof(c, LEFT), &param[ATTENTION_LEFT]) ||
        !is_const(c, intof(c, RIGHT), &param[ATTENTION_RIGHT]) ||
        !is_const(c, intof(c, SHOWN), &param[ATTENTION_SHOWN]))
        return -1;
    param[ATTENTION_CAUSAL] = enum_value(c, CAUSAL);
    return ATTENTION_PARAMS - 1;
}

typedef struct Row { /* the computation for one query of one head */
    const Step *s;
    void *const *slot;
    int64_t b, h, g, i; /* batch, head, head of k and v, query */
    /* Past keys; position of query 0; keys that count in this batch; all keys. */
    int64_t past, first_position, length, keys;
    double scale, cap;
} Row;

static const View *view(const Row *r, int k) {
    return k < r->s->nview && r->s->view[k].rank >= 0 ? &r->s->view[k] : NULL;
}
static double row_element(const Row *r, const View *v, const int64_t i[]) {
    return kernel_real(v, r->slot, kernel_at(v, i));
}
/* Element n of the vector, of length d, that a head has at a place. */
static double of_head(const Row *r, const View *v, int64_t head, int64_t place, int64_t d,
                      int64_t n) {
    return row_element(r, v,
                       v->rank == 4 ? (int64_t[]){r->b, head, place, n}
                                    : (int64_t[]){r->b, place, head * d + n});
}
static double present(const Row *r, int now, int past, int64_t j, int64_t d, int64_t n) {
    if (j < r->past) return row_element(r, view(r, past), (int64_t[]){r->b, r->g, j, n});
    return of_head(r, view(r, now), r->g, j - r->past, d, n);
}
static double score(const Row *r, int64_t j) {
    int64_t d = r->s->view[ATTENTION_PRESENT_KEY].dim[3];
    double sum = 0;
    for (int64_t n = 0; n < d; n++)
        sum += of_head(r, view(r, ATTENTION_Q), r->h, r->i, d, n) *
               present(r, ATTENTION_K, ATTENTION_PAST_KEY, j, d, n);
    return sum * r->scale;
}
static double capped(const Row *r, double x) { return r->cap != 0 ? r->cap * tanh(x / r->cap) : x; }
/* Returns what is added to the score of key j, or minus infinity if the query does not see that
   key. */
static double bias(const Row *r, int64_t j) {
    const View *m = view(r, ATTENTION_MASK);
    const int64_t *p = r->s->param, place = r->i + r->first_position, at[4] = {r->b, r->h, r->i, j};
    if (j >= r->length || (p[ATTENTION_CAUSAL] && j > place)) return -INFINITY;
    if ((p[ATTENTION_LEFT] >= 0 && place - j > p[ATTENTION_LEFT]) ||
        (p[ATTENTION_RIGHT] >= 0 && j - place > p[ATTENTION_RIGHT]))
        return -INFINITY;
    if (!m) return 0;
    if (j >= m->dim[m->rank - 1]) return -INFINITY;
    const int64_t k = kernel_at_broadcast(m, 4, at);
    if (kernel_is_integer(m)) return kernel_integer(m, r->slot, k) ? 0 : -INFINITY;
    return kernel_real(m, r->slot, k);
}
static void show(const Row *r, int64_t j, double x) {
    const View *v = &r->s->view[ATTENTION_SCORES];
    kernel_set_real(v, r->slot, kernel_at(v, (int64_t[]){r->b, r->h, r->i, j}), x);
}
static double shown(const Row *r, int64_t j) {
    return row_element(r, &r->s->view[ATTENTION_SCORES], (int64_t[]){r->b, r->h, r->i, j});
}

/* Computes the weights of the keys into the result `scores`: the softmax of the scores, or zeros if
   the query sees no key. */
static void weigh(const Row *r) {
    double most = -INFINITY, seen = -INFINITY, sum = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        double b = bias(r, j), x = b == -INFINITY ? b : capped(r, score(r, j)) + b;
        if (b > seen) seen = b;
        if (x > most || isnan(x)) most = x;
        show(r, j, x);
    }
    for (int64_t j = 0; j < r->keys; j++)
        sum += bias(r, j) == -INFINITY ? 0 : exp(shown(r, j) - most);
    for (int64_t j = 0; j < r->keys; j++)
        show(r, j,
             seen == -INFINITY || bias(r, j) == -INFINITY ? 0 : exp(shown(r, j) - most) / sum);
}
static void mix(const Row *r) {
    const View *y = &r->s->view[ATTENTION_Y];
    int64_t e = r->s->view[ATTENTION_PRESENT_VALUE].dim[3];
    for (int64_t n = 0; n < e; n++) {
        double sum = 0;
        for (int64_t j = 0; j < r->keys; j++) {
            double w = shown(r, j);
            if (w != 0) sum += w * present(r, ATTENTION_V, ATTENTION_PAST_VALUE, j, e, n);
        }
        int64_t at = kernel_at(y, y->rank == 4 ? (int64_t[]){r->b, r->h, r->i, n}
                                               : (int64_t[]){r->b, r->i, r->h * e + n});
        kernel_set_real(y, r->slot, at, sum);
    }
}
static void show_scores(const Row *r) {
    const int64_t how = r->s->param[ATTENTION_SHOWN];
    for (int64_t j = 0; j < r->keys && how >= SHOW_SCORES && how < SHOW_WEIGHTS; j++) {
        double x = score(r, j);
        if (how != SHOW_SCORES) x = capped(r, x);
        show(r, j, how == SHOW_BIASED ? x + bias(r, j) : x);
    }
}
static void keep_present(Row *r, int out, int now, int past) {
    const View *v = &r->s->view[out];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i)) {
        r->b = i[0], r->g = i[1];
        kernel_set_real(v, r->slot, kernel_at(v, i), present(r, now, past, i[2], v->dim[3], i[3]));
    }
}

static double real_or(int64_t bits, double otherwise) {
    return param_real(bits) != 0 ? param_real(bits) : otherwise;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *scores = &s->view[ATTENTION_SCORES];
    Row r = {
        .s = s, .slot = slot, .keys = scores->dim[3], .cap = param_real(s->param[ATTENTION_CAP])};
    const View *past = view(&r, ATTENTION_PAST_KEY), *lengths = view(&r, ATTENTION_LENGTHS),
               *mask = view(&r, ATTENTION_MASK);
    if (mask && !attention_mask_fits(mask, scores)) return -1;
    r.scale =
        real_or(s->param[ATTENTION_SCALE], 1 / sqrt((double)s->view[ATTENTION_PRESENT_KEY].dim[3]));
    r.past = past ? past->dim[2] : 0;
    int64_t i[STEP_RANK], groups = s->view[ATTENTION_PRESENT_KEY].dim[1];
    View rows = *scores;
    rows.dim[3] = 1;
    for (bool more = kernel_first(&rows, i); more; more = kernel_next(&rows, i)) {
        r.b = i[0], r.h = i[1], r.i = i[2], r.g = i[1] / (scores->dim[1] / groups);
        r.length = lengths ? kernel_integer(lengths, slot, kernel_at(lengths, i)) : r.keys;
        r.first_position = past ? r.past : lengths ? r.length - scores->dim[2] : 0;
        weigh(&r);
        mix(&r);
        show_scores(&r);
    }
    keep_present(&r, ATTENTION_PRESENT_KEY, ATTENTION_K, ATTENTION_PAST_KEY);
    keep_present(&r, ATTENTION_PRESENT_VALUE, ATTENTION_V, ATTENTION_PAST_VALUE);
    return 0;
}

/* Without a past, present keys and values that nothing reads are left out. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    View view[ATTENTION_VIEWS];
    int64_t param[ATTENTION_PARAMS] = {[OP_OUTPUTS] = ATTENTION_OUTPUTS};
    if (c->nout != ATTENTION_OUTPUTS || params(c, param) < 0) return 0;
    memcpy(view, out, ATTENTION_OUTPUTS * sizeof *view);
    memcpy(view + ATTENTION_Q, in, (size_t)c->nin * sizeof *view);
    for (int j = ATTENTION_PRESENT_KEY; j <= ATTENTION_PRESENT_VALUE; j++) {
        if (!(b->unread >> j & 1) || given(c, PAST_KEY)) continue;
        view[j].slot = view[ATTENTION_Y].slot, view[j].offset = view[ATTENTION_Y].offset;
        view[j].dim[2] = 0;
    }
    if (b->unread >> ATTENTION_SCORES & 1) param[ATTENTION_SHOWN] = SHOW_NOTHING;
    Step *s = step_add(b, S_OP, ATTENTION_OUTPUTS + c->nin, view);
    s->op = c->op->name;
    step_param(b, s, ATTENTION_PARAMS, param);
    return 1;
}

/* There is an entry for each combination of optional attributes, since the exporter leaves out what
   a node need not state: the numbers of heads if there are four axes, and a scale that follows from
   the sizes. */
#define SHARED " cap=softcap causal=is_causal shown=qk_matmul_output_mode softmax_precision:ignore"
#define FOUR_AXES "heads=0! groups=0!"
#define THREE_AXES "heads=q_num_heads groups=kv_num_heads"
#define WINDOW " left=left_window_size right=right_window_size"
#define FLEX " cap=0! causal=no! shown=0! left=-1! right=-1! softmax_precision:ignore import:only"
static const OnnxMap onnx[] = {
    {"", "Attention", 25, 0, FOUR_AXES " scale=0!" SHARED WINDOW},
    {"", "Attention", 25, 0, FOUR_AXES " scale" SHARED WINDOW},
    {"", "Attention", 25, 0, THREE_AXES " scale=0!" SHARED WINDOW},
    {"", "Attention", 25, 0, THREE_AXES " scale" SHARED WINDOW},
    {"", "Attention", 23, 24, FOUR_AXES " scale=0!" SHARED " left=-1! right=-1!"},
    {"", "Attention", 23, 24, FOUR_AXES " scale" SHARED " left=-1! right=-1!"},
    {"", "Attention", 23, 24, THREE_AXES " scale=0!" SHARED " left=-1! right=-1!"},
    {"", "Attention", 23, 24, THREE_AXES " scale" SHARED " left=-1! right=-1!"},
    {"ai.onnx.preview", "FlexAttention", 1, 0, FOUR_AXES " scale" FLEX},
    {0},
};
const Op op_attention = {
    "attention",
    "q k v mask? past_key? past_value? lengths?",
    "y present_key present_value scores",
    attrs,
    shape,
    .domain = domain,
    .steps = write_steps,
    .kernel = kernel,
    .params = params,
    .onnx = onnx,
};
