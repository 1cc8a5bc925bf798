/* draw: operators that draw random numbers. dropout in training: y = x / (1 - ratio) where a drawn
   mask is true, else 0. uniform, normal: tensors of drawn numbers. bernoulli: 1 with probability x,
   else 0.

   ONNX prescribes no generator. These use the Mersenne Twister (M. Matsumoto, T. Nishimura, 1998)
   with numbers of 53 bits, seeded as its authors say, since ONNX's node tests of dropout expect
   that. A missing seed counts as 0, so that a model always gives the same results. */
#include "ops/operator/op.h"
#include <math.h>

enum { WORDS = 624, AHEAD = 397 };
typedef struct Twister {
    uint32_t word[WORDS];
    int at;
} Twister;

static void twister_start(Twister *t, uint32_t seed) {
    t->word[0] = seed;
    for (uint32_t k = 1; k < WORDS; k++)
        t->word[k] = 1812433253u * (t->word[k - 1] ^ t->word[k - 1] >> 30) + k;
    t->at = WORDS;
}
static void twist(Twister *t) {
    for (int k = 0; k < WORDS; k++) {
        uint32_t y = (t->word[k] & 0x80000000u) | (t->word[(k + 1) % WORDS] & 0x7fffffffu);
        t->word[k] = t->word[(k + AHEAD) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    t->at = 0;
}
static uint32_t twister_next(Twister *t) {
    if (t->at == WORDS) twist(t);
    uint32_t y = t->word[t->at++];
    y ^= y >> 11, y ^= y << 7 & 0x9d2c5680u, y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}
/* The next number, at least 0 and below 1. */
static double twister_real(Twister *t) {
    uint32_t high = twister_next(t) >> 5, low = twister_next(t) >> 6;
    return ((double)high * 67108864 + (double)low) / 9007199254740992;
}
/* Seeds the generator with the low 32 bits of a number; NaN and numbers beyond int64 count as 0. */
static void start_from(Twister *t, double seed) {
    twister_start(t, (uint32_t)(int64_t)(isfinite(seed) && fabs(seed) < 9e18 ? seed : 0));
}

enum { RATIO, SEED };
static const AttrDef dropout_attrs[] = {[RATIO] = {"ratio", A_REAL, "1/2", .draw = "0 1/2 3/4"},
                                        [SEED] = {"seed", A_INT, "0", .draw = "0 1 7"},
                                        {0}};
static const char *shape_dropout(Call *c) {
    const char *why = same_type(c, "F");
    c->out[1] = c->out[0];
    c->out[1].dtype = DT_BOOL;
    return why;
}
enum { P_RATIO = 1, P_SEED };
static int params_dropout(Call *c, int64_t param[]) {
    return !bits_of(c, RATIO, &param[P_RATIO]) || !is_const(c, intof(c, SEED), &param[P_SEED]) ? -1
                                                                                               : 2;
}
static int kernel_dropout(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *mask = &s->view[1], *x = &s->view[2];
    const double ratio = param_real(s->param[P_RATIO]);
    int64_t i[STEP_RANK];
    Twister t;
    twister_start(&t, (uint32_t)s->param[P_SEED]);
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        bool keep = ratio <= 0 || twister_real(&t) >= ratio;
        kernel_set_real(y, slot, kernel_at(y, i),
                        keep ? kernel_real(x, slot, kernel_at(x, i)) / (1 - ratio) : 0);
        kernel_set_integer(mask, slot, kernel_at(mask, i), keep);
    }
    return 0;
}
static const OnnxMap onnx_dropout[] = {{"", "Dropout", 12, 0, "ratio=input:1 seed training:input"},
                                       {0}};
const Op op_dropout = {
    "dropout",
    "x",
    "y mask",
    dropout_attrs,
    shape_dropout,
    .kernel = kernel_dropout,
    .params = params_dropout,
    .onnx = onnx_dropout,
    .flags = OP_RANDOM,
};

/* uniform: between low and high; normal: with the given mean and standard deviation (scale). */
enum { FIRST, SECOND, DRAW_SEED, SHAPE, DTYPE };
#define DRAW_ATTRS                                               \
    [DRAW_SEED] = {.name = "seed", .kind = A_REAL, .init = "0"}, \
    [SHAPE] = {.name = "shape", .kind = A_INTS},                 \
    [DTYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"}, { \
        0                                                        \
    }
static const AttrDef uniform_attrs[] = {[FIRST] = {.name = "low", .kind = A_REAL, .init = "0"},
                                        [SECOND] = {.name = "high", .kind = A_REAL, .init = "1"},
                                        DRAW_ATTRS};
static const AttrDef normal_attrs[] = {[FIRST] = {.name = "mean", .kind = A_REAL, .init = "0"},
                                       [SECOND] = {.name = "scale", .kind = A_REAL, .init = "1"},
                                       DRAW_ATTRS};

static const char *shape_drawn(Call *c) {
    Dims y = ints_dims(c, SHAPE);
    if (ints(c, SHAPE).n > RANK_MAX) return RANK_TOO_HIGH;
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    c->out[0] = (Type){.dtype = (DType)enum_value(c, DTYPE), .dim = y};
    return is_float(&c->out[0]) ? NULL : "not supported for this element type";
}
enum { P_FIRST = 1, P_SECOND, P_DRAW_SEED };
static int params_drawn(Call *c, int64_t param[]) {
    return !bits_of(c, FIRST, &param[P_FIRST]) || !bits_of(c, SECOND, &param[P_SECOND]) ||
                   !bits_of(c, DRAW_SEED, &param[P_DRAW_SEED])
               ? -1
               : 3;
}
/* A normally distributed number from two uniform ones (G. E. P. Box, M. E. Muller, 1958). */
static double bell(Twister *t) {
    double radius = sqrt(-2 * log(1 - twister_real(t)));
    return radius * cos(6.283185307179586 * twister_real(t));
}
static int fill_drawn(const Step *s, void *const slot[], bool normal) {
    const View *y = &s->view[0];
    const double a = param_real(s->param[P_FIRST]), b = param_real(s->param[P_SECOND]);
    int64_t i[STEP_RANK];
    Twister t;
    start_from(&t, param_real(s->param[P_DRAW_SEED]));
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i))
        kernel_set_real(y, slot, kernel_at(y, i),
                        normal ? a + b * bell(&t) : a + (b - a) * twister_real(&t));
    return 0;
}
static int kernel_uniform(const Step *s, void *const slot[]) { return fill_drawn(s, slot, false); }
static int kernel_normal(const Step *s, void *const slot[]) { return fill_drawn(s, slot, true); }

static const OnnxMap onnx_uniform[] = {
    {"", "RandomUniform", 1, 0, "low high seed shape dtype"},
    {"", "RandomUniformLike", 1, 0, "low high seed shape:like dtype:like"},
    {0},
};
static const OnnxMap onnx_normal[] = {
    {"", "RandomNormal", 1, 0, "mean scale seed shape dtype"},
    {"", "RandomNormalLike", 1, 0, "mean scale seed shape:like dtype:like"},
    {0},
};
const Op op_uniform = {
    "uniform",
    "",
    "y",
    uniform_attrs,
    shape_drawn,
    .kernel = kernel_uniform,
    .params = params_drawn,
    .onnx = onnx_uniform,
    .flags = OP_RANDOM,
};
const Op op_normal = {
    "normal",
    "",
    "y",
    normal_attrs,
    shape_drawn,
    .kernel = kernel_normal,
    .params = params_drawn,
    .onnx = onnx_normal,
    .flags = OP_RANDOM,
};

enum { COIN_SEED, COIN_TYPE };
static const AttrDef bernoulli_attrs[] = {
    [COIN_SEED] = {.name = "seed", .kind = A_REAL, .init = "0"},
    [COIN_TYPE] = {.name = "dtype", .kind = A_DTYPE, .init = "F"},
    {0}};
static const char *shape_bernoulli(Call *c) {
    const char *why = same_type(c, "F");
    c->out[0].dtype = (DType)enum_value(c, COIN_TYPE);
    return why;
}
enum { P_COIN_SEED = 1 };
static int params_bernoulli(Call *c, int64_t param[]) {
    return !bits_of(c, COIN_SEED, &param[P_COIN_SEED]) ? -1 : 1;
}
static int kernel_bernoulli(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK];
    Twister t;
    start_from(&t, param_real(s->param[P_COIN_SEED]));
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        bool one = twister_real(&t) < kernel_real(x, slot, kernel_at(x, i));
        if (kernel_is_integer(y)) kernel_set_integer(y, slot, kernel_at(y, i), one);
        else kernel_set_real(y, slot, kernel_at(y, i), one);
    }
    return 0;
}
static const OnnxMap onnx_bernoulli[] = {{"", "Bernoulli", 15, 0, "seed dtype:like"}, {0}};
const Op op_bernoulli = {
    "bernoulli",
    "x",
    "y",
    bernoulli_attrs,
    shape_bernoulli,
    .kernel = kernel_bernoulli,
    .params = params_bernoulli,
    .onnx = onnx_bernoulli,
    .flags = OP_RANDOM,
};
