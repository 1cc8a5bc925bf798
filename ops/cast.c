/* cast: the same numbers in another element type. In shape computations integers keep their value
   if the new type has at least 32 bits.

   cast has a definition where integers or truth values are converted: the number itself, which a
   narrower integer type holds modulo 2^bits (verifier/wrap.c) and a float rounds. It has none where
   floats become integers, nor where some of the integers exceed the range of the float type. */
#include "ops/operator/op.h"
#include <math.h>
enum { TO, SATURATE, ROUND };
enum { UP, DOWN, NEAREST };
static const AttrDef attrs[] = {
    [TO] = {.name = "to", .kind = A_DTYPE},
    [SATURATE] = {"saturate", A_ENUM, "yes", "no yes", .draw = "yes no"},
    [ROUND] = {"round", A_ENUM, "up", "up down nearest", .draw = "up down nearest"},
    {0},
};

static const char *shape(Call *c) {
    c->out[0] = *c->in[0];
    c->out[0].dtype = (DType)enum_value(c, TO);
    return NULL;
}
static bool values_same(Call *c, const Poly x[], Poly *y) {
    int64_t v;
    if (c->out[0].dtype == DT_BOOL && is_const(c, x[0], &v))
        return *y = poly(c, v ? "1" : "0"), true;
    *y = x[0];
    return dtype_bits(c->out[0].dtype) >= 32 && dtype_bits(c->in[0]->dtype) >= 8;
}
static bool value(Call *c, const PolyList in[], Poly *out) {
    return value_each(c, in, out, values_same);
}

static bool is_small(DType t) { return dtype_bits(t) < (dtype_class(t) == 'F' ? 16 : 8); }
/* Whether a type can represent every value of an integer type or of bool (`whole`). */
static bool holds_all(DType to, DType whole) {
    const bool is_signed = dtype_class(whole) == 'I';
    const int bits = dtype_class(whole) == 'B' ? 1 : dtype_bits(whole) - is_signed;
    if (dtype_class(to) == 'F') return dtype_bits(to) >= 16 && bits <= dtype_digits(to);
    if (dtype_class(to) == 'U') return !is_signed && bits <= dtype_bits(to);
    return dtype_class(to) == 'I' && bits <= dtype_bits(to) - 1;
}
/* Whether the range of a float type includes all 64-bit integers. */
static bool is_far(DType t) { return t == DT_FLOAT || t == DT_DOUBLE || t == DT_BFLOAT16; }
static Ex define(Call *c, Dims i) {
    const DType from = c->in[0]->dtype, to = c->out[0].dtype;
    if ((!dtype_is_integer(from) && from != DT_BOOL) || is_small(from) || is_small(to)) return 0;
    const bool narrows =
        dtype_is_integer(from) && dtype_is_integer(to) && dtype_bits(to) <= dtype_bits(from);
    return holds_all(to, from) || narrows || is_far(to) ? at(c, 0, i) : 0;
}

enum { P_SATURATE = 1, P_ROUND };
static int params(Call *c, int64_t param[]) {
    param[P_SATURATE] = enum_value(c, SATURATE);
    param[P_ROUND] = enum_value(c, ROUND);
    return 2;
}
/* Rounds x to a power of two; returns x unchanged if it is not positive and finite. */
static double power_of_two(double x, int64_t round) {
    int e;
    double m = frexp(x, &e); /* x = m * 2^e, m in [1/2, 1) */
    bool down = m == 0.5 || round == DOWN || (round == NEAREST && m < 0.75);
    return isfinite(x) && x > 0 ? ldexp(1, e - down) : x;
}
static double narrowed(double x, DType to, int64_t saturate, int64_t round) {
    double most = kernel_greatest((int32_t)to);
    if (to == DT_FLOAT8E8M0) x = power_of_two(x, round);
    if (to == DT_FLOAT8E8M0 && x < ldexp(1, -127)) return saturate ? ldexp(1, -127) : x;
    return saturate && most > 0 && fabs(x) > most ? copysign(most, x) : x;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    DType to = (DType)y->dtype;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        int64_t from = kernel_at(x, i), at = kernel_at(y, i);
        if (to == DT_BOOL) kernel_set_integer(y, slot, at, kernel_real(x, slot, from) != 0);
        else if (dtype_bits(to) <= 8 && dtype_class(to) == 'F')
            kernel_set_real(
                y, slot, at,
                narrowed(kernel_real(x, slot, from), to, s->param[P_SATURATE], s->param[P_ROUND]));
        /* An integer of fewer than 8 bits takes the last bits. */
        else if (is_small(to)) kernel_set_integer(y, slot, at, kernel_integer(x, slot, from));
        else kernel_move(y, slot, at, x, from);
    }
    return 0;
}

/* A single copy step, which converts the numbers; to a truth value, it asks whether they differ
   from 0. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *steps) {
    char from = dtype_class(c->in[0]->dtype), to = dtype_class(c->out[0].dtype);
    if (to == 'S' || from == 'S' || is_small(c->in[0]->dtype) || is_small(c->out[0].dtype))
        return 0;
    step_copy(steps, &out[0], &in[0]);
    return 1;
}

static const OnnxMap onnx[] = {
    {"", "Cast", 24, 0, "to saturate=yes! round=up! saturate==1 round_mode==up"},
    {"", "Cast", 19, 23, "to saturate=yes! round=up! saturate==1"},
    {"", "Cast", 24, 0, "to saturate round=round_mode"},
    {"", "Cast", 19, 23, "to saturate round=up!"},
    {"", "Cast", 6, 18, "to saturate=yes! round=up!"},
    {"", "CastLike", 24, 0, "to:like saturate round=round_mode"},
    {"", "CastLike", 19, 23, "to:like saturate"},
    {"", "CastLike", 15, 18, "to:like"},
    {0},
};
const Op op_cast = {"cast",
                    "x",
                    "y",
                    attrs,
                    shape,
                    define,
                    .value = value,
                    .steps = write_steps,
                    .kernel = kernel,
                    .params = params,
                    .onnx = onnx,
                    .flags = OP_PASSES};
