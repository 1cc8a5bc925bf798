/* resize: x sampled at other sizes. Along an axis with sizes n of x and m of y, place i of y lies
   at the coordinate c = (i + 1/2)*n/m - 1/2 (half_pixel), i*n/m (asymmetric) or i*(n - 1)/(m - 1)
   (align_corners) of x. `nearest` takes the element there. `linear` interpolates along each axis
   between the places floor(c) and floor(c) + 1, `cubic` among the four around c, with the kernel of
   Keys, 1981, and its parameter `a`. Places beyond the axis stand for its ends.

   Nearest, enlarged by whole factors, is a view; other ways to take the nearest element have no
   definition. */
#include "ops/operator/op.h"
#include <string.h>
enum { SIZES, MODE, COORDINATE, ROUNDING, A };
enum { NEAREST, LINEAR, CUBIC };
enum { HALF, ASYMMETRIC, CORNERS, HALF_PYTORCH };
enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
/* AXES_MOST: axes along which a definition interpolates. TAPS_MOST: places of an axis that it
   reads. PAIRS_MOST: pairs of a place and its weight in the list of an axis. */
enum { AXES_MOST = 3, TAPS_MOST = 4 };
enum { PAIRS_MOST = 1 << 24 };
static const AttrDef attrs[] = {
    [SIZES] = {.name = "sizes", .kind = A_INTS},
    [MODE] = {"mode", A_ENUM, "nearest", "nearest linear cubic", .draw = "nearest linear cubic"},
    [COORDINATE] = {"coordinate", A_ENUM, "half_pixel",
                    "half_pixel asymmetric align_corners pytorch_half_pixel",
                    .draw = "half_pixel asymmetric align_corners pytorch_half_pixel"},
    [ROUNDING] = {"rounding", A_ENUM, "round_prefer_floor",
                  "round_prefer_floor round_prefer_ceil floor ceil",
                  .draw = "round_prefer_floor round_prefer_ceil floor ceil"},
    [A] = {"a", A_REAL, "-3/4", .draw = "-3/4 -1/2"},
    {0},
};

static const char *shape(Call *c) {
    Dims y = ints_dims(c, SIZES);
    const char *why = same_type(c, "FIU");
    if (ints(c, SIZES).n != c->in[0]->dim.n) return "resize needs a size for every axis";
    if (enum_value(c, MODE) == CUBIC && !is_float(c->in[0]))
        return "cubic interpolation is of floats";
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    for (int k = 0; k < y.n && enum_value(c, MODE) != NEAREST; k++)
        if (y.v[k] != c->in[0]->dim.v[k]) need_ge(c, c->in[0]->dim.v[k], poly(c, "1"));
    c->out[0].dim = y;
    return why;
}

/* Whether place i takes element floor(i/f) along an axis that grows by a whole factor f. */
static bool takes_floors(Call *c) {
    if (enum_value(c, MODE) != NEAREST) return false;
    if (enum_value(c, COORDINATE) == ASYMMETRIC) return enum_value(c, ROUNDING) == FLOOR;
    return enum_value(c, COORDINATE) == HALF && enum_value(c, ROUNDING) == PREFER_FLOOR;
}
static Ex nearest(Call *c, Dims i) {
    Dims x = c->in[0]->dim;
    if (!takes_floors(c)) return 0;
    for (int k = 0; k < i.n; k++) {
        Poly factor;
        if (c->out[0].dim.v[k] == x.v[k]) continue;
        if (!poly_divide(c->w, c->out[0].dim.v[k], x.v[k], &factor)) return 0;
        i.v[k] = digits(c, i.v[k], (Dims){2, {x.v[k], factor}}).v[0];
    }
    return at(c, 0, i);
}

/* Stores the coordinate of place i of m, on an axis of n places, as the fraction *a / *b, with *b
   >= 1. */
static void fraction(Call *c, Poly i, Poly n, Poly m, Poly *a, Poly *b) {
    const Poly none = poly(c, "0");
    switch (enum_value(c, COORDINATE)) {
    case ASYMMETRIC: *a = poly(c, "i*n", i, n), *b = m; return;
    case CORNERS: /* max(m - 1, 1) */
        *a = poly(c, "i*(n - 1)", i, n);
        *b = poly(c, "1 - k", least(c, poly(c, "2 - m", m), none));
        return;
    default: *a = poly(c, "(2*i + 1)*n - m", i, n, m), *b = poly(c, "2*m", m);
    }
}
/* k limited to 0..n - 1. */
static Poly limited(Call *c, Poly k, Poly n) {
    const Poly low = least(c, k, poly(c, "n - 1", n));
    return poly(c, "l - m", low, least(c, low, poly(c, "0")));
}
/* Keys' kernel at the distance t, 0 <= t <= 1, and at the distance 1 + t (keys_far). */
static Ex keys_near(Call *c, Ex t) {
    const Ex a = real(c, A),
             by = sub(c, mul(c, add(c, a, num(c, 2, 1)), t), add(c, a, num(c, 3, 1)));
    return add(c, mul(c, by, mul(c, t, t)), num(c, 1, 1));
}
static Ex keys_far(Call *c, Ex t) {
    const Ex by = add(c, mul(c, sub(c, t, num(c, 2, 1)), t), num(c, 1, 1));
    return mul(c, mul(c, real(c, A), t), by);
}
/* Stores the weights of the places around a coordinate that lies `part` of the way from the place
   before it to the next one: of these two places or, if cubic, of four, one more on each side.
   Returns how many. */
static int weights(Call *c, Ex part, Ex weight[TAPS_MOST]) {
    const Ex rest = sub(c, num(c, 1, 1), part);
    if (enum_value(c, MODE) == LINEAR) return weight[0] = rest, weight[1] = part, 2;
    weight[0] = keys_far(c, part), weight[1] = keys_near(c, part);
    weight[2] = keys_near(c, rest), weight[3] = keys_far(c, rest);
    return 4;
}
/* Interpolates along the axes from a on; for the axes before, i holds places of x. */
static Ex interpolate(Call *c, Dims i, int a) {
    const Dims x = c->in[0]->dim, y = c->out[0].dim;
    Poly from, by;
    Ex weight[TAPS_MOST], sum = 0;
    while (a < i.n && x.v[a] == y.v[a]) a++;
    if (a == i.n) return at(c, 0, i);
    fraction(c, i.v[a], x.v[a], y.v[a], &from, &by);
    const Poly low = quot(c, from, by);
    const Ex part = sub(c, divide(c, size(c, from), size(c, by)), size(c, low));
    const int taps = weights(c, part, weight);
    for (int k = 0; k < taps; k++) {
        const Poly place = poly_add(c->w, low, poly_int(c->w, k - (taps > 2)));
        const Ex value = interpolate(c, dims_with(i, a, limited(c, place, x.v[a])), a + 1),
                 one = mul(c, weight[k], value);
        sum = k ? add(c, sum, one) : one;
    }
    if (enum_value(c, COORDINATE) != HALF_PYTORCH) return sum;
    return when(c, when_eq(c, y.v[a], poly(c, "1")),
                interpolate(c, dims_with(i, a, poly(c, "0")), a + 1), sum);
}
static Ex interpolated(Call *c, Dims i) {
    const Poly none = poly(c, "0");
    int resized = 0;
    for (int a = 0; a < i.n; a++) {
        if (c->out[0].dim.v[a] == none) return num(c, 0, 1); /* there is no element */
        resized += c->in[0]->dim.v[a] != c->out[0].dim.v[a];
    }
    return resized > AXES_MOST - (enum_value(c, MODE) == CUBIC) ? 0 : interpolate(c, i, 0);
}
static Ex define(Call *c, Dims i) {
    return enum_value(c, MODE) == NEAREST ? nearest(c, i)
           : is_float(c->in[0])           ? interpolated(c, i)
                                          : 0;
}

enum { P_MODE = 1, P_COORDINATE, P_ROUNDING, P_A };
static int params(Call *c, int64_t param[]) {
    if (!bits_of(c, A, &param[P_A])) return -1;
    param[P_MODE] = enum_value(c, MODE);
    param[P_COORDINATE] = enum_value(c, COORDINATE);
    param[P_ROUNDING] = enum_value(c, ROUNDING);
    return P_A;
}

static double coordinate(int64_t kind, int64_t i, int64_t n, int64_t m) {
    double x = (double)i, from = (double)n, to = (double)m;
    switch (kind) {
    case ASYMMETRIC: return x * from / to;
    case CORNERS: return m == 1 ? 0 : x * (from - 1) / (to - 1);
    case HALF_PYTORCH: return m == 1 ? 0 : (x + 0.5) * from / to - 0.5;
    default: return (x + 0.5) * from / to - 0.5;
    }
}
static int64_t whole(double x) { /* floor */
    int64_t t = (int64_t)x;
    return t - ((double)t > x);
}
static int64_t rounded(int64_t how, double x) {
    switch (how) {
    case FLOOR: return whole(x);
    case CEIL: return -whole(-x);
    case PREFER_CEIL: return whole(x + 0.5);
    default: return -whole(0.5 - x);
    }
}
static int64_t clamped(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

/* If every place i takes element floor(i/f), f whole: one copy step. Each axis that grows becomes
   two axes, and x is repeated along the second one. */
static int steps_factors(Call *c, const View in[], const View out[], StepBuf *b) {
    View y = out[0], x = in[0];
    Poly factor;
    if (!takes_floors(c)) return 0;
    y.rank = x.rank = 0;
    for (int k = 0; k < out[0].rank; k++) {
        const int64_t n = in[0].dim[k], f = n ? out[0].dim[k] / n : 1;
        const int parts = f > 1 ? 2 : 1;
        if (out[0].dim[k] != n &&
            !poly_divide(c->w, c->out[0].dim.v[k], c->in[0]->dim.v[k], &factor))
            return 0;
        if (f < 1 || n * f != out[0].dim[k] || y.rank + parts + out[0].rank - k - 1 > STEP_RANK)
            return 0;
        y.dim[y.rank] = x.dim[y.rank] = n;
        y.stride[y.rank] = f * out[0].stride[k], x.stride[y.rank] = in[0].stride[k];
        if (parts > 1)
            y.dim[y.rank + 1] = x.dim[y.rank + 1] = f, y.stride[y.rank + 1] = out[0].stride[k],
                           x.stride[y.rank + 1] = 0;
        y.rank = x.rank = y.rank + parts;
    }
    step_copy(b, &y, &x);
    return 1;
}

/* The same as weights(), in numbers. */
static int weights_of(int64_t mode, double a, double part, double weight[TAPS_MOST]) {
    if (mode == LINEAR) return weight[0] = 1 - part, weight[1] = part, 2;
    for (int k = 0; k < 4; k++) weight[k] = kernel_keys(a, k - 1 - part);
    return 4;
}
static int taps_of(int64_t mode) { return mode == NEAREST ? 1 : mode == LINEAR ? 2 : 4; }

/* Stores the places of x, on an axis of n places, that place i of m takes, each with its weight. */
static void take_taps(Call *c, double a, int64_t i, int64_t n, int64_t m, int64_t pair[]) {
    const double at = coordinate(enum_value(c, COORDINATE), i, n, m);
    const int64_t low = whole(at);
    const int mode = enum_value(c, MODE), taps = taps_of(mode);
    double weight[TAPS_MOST] = {1};
    if (mode != NEAREST) weights_of(mode, a, at - (double)low, weight);
    for (int k = 0; k < taps; k++) {
        pair[2 * k] = clamped(
            mode == NEAREST ? rounded(enum_value(c, ROUNDING), at) : low + k - (taps > 2), n);
        memcpy(&pair[2 * k + 1], &weight[k], sizeof *weight);
    }
}
/* A copy if there are only whole factors, else an S_SAMPLE step with such a list for each axis.
   Interpolated numbers must be floats, or integers if the target runs that. */
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const View *y = &out[0], *x = &in[0];
    const int taps = taps_of(enum_value(c, MODE)), bits = dtype_bits(c->in[0]->dtype);
    int64_t a_bits;
    if (steps_factors(c, in, out, b)) return 1;
    if (y->rank < 1 || bits < 8 || (taps > 1 && is_float(c->in[0]) && bits < 16)) return 0;
    if (taps > 1 && !is_float(c->in[0]) && !b->target) return 0;
    if (!bits_of(c, A, &a_bits)) return 0;
    for (int a = 0; a < y->rank; a++)
        if (x->dim[a] == 0 || (y->dim[a] != x->dim[a] && y->dim[a] > PAIRS_MOST / taps)) return 0;
    Step *s = step_add(b, S_SAMPLE, 2, (const View[]){*y, *x});
    for (int a = 0; a < y->rank; a++) {
        const int64_t m = x->dim[a] == y->dim[a] ? 0 : y->dim[a];
        int64_t *pair = ARENA_NEW(b->arena, int64_t, 1 + 2 * taps * m);
        pair[0] = x->dim[a] == y->dim[a] ? 0 : taps;
        for (int64_t i = 0; i < m; i++)
            take_taps(c, param_real(a_bits), i, x->dim[a], m, pair + 1 + 2 * taps * i);
        step_param(b, s, (int)(1 + 2 * taps * m), pair);
    }
    if (taps == 1 || is_float(c->in[0]) || b->target->runs(b->target->user, s)) return 1;
    b->n--; /* the target does not interpolate integers */
    return 0;
}

/* The interpolation at the coordinates at[axis..]; j[0..axis-1] are places of x. */
static double sample(const Step *s, void *const slot[], const double at[], int axis, int64_t j[]) {
    const View *x = &s->view[1];
    if (axis == x->rank) return kernel_real(x, slot, kernel_at(x, j));
    const int64_t low = whole(at[axis]);
    double weight[TAPS_MOST], value = 0;
    const int taps =
        weights_of(s->param[P_MODE], param_real(s->param[P_A]), at[axis] - (double)low, weight);
    for (int k = 0; k < taps; k++) {
        if (weight[k] == 0) continue;
        j[axis] = clamped(low + k - (taps > 2), x->dim[axis]);
        value += weight[k] * sample(s, slot, at, axis + 1, j);
    }
    return value;
}
static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t i[STEP_RANK], j[STEP_RANK];
    double at[STEP_RANK];
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        for (int a = 0; a < y->rank; a++) {
            if (x->dim[a] == 0) return -1;
            at[a] = y->dim[a] == x->dim[a]
                        ? (double)i[a]
                        : coordinate(s->param[P_COORDINATE], i[a], x->dim[a], y->dim[a]);
            j[a] = clamped(rounded(s->param[P_ROUNDING], at[a]), x->dim[a]);
        }
        if (s->param[P_MODE] == NEAREST) kernel_move(y, slot, kernel_at(y, i), x, kernel_at(x, j));
        else kernel_set_real(y, slot, kernel_at(y, i), sample(s, slot, at, 0, j));
    }
    return 0;
}

/* Linear interpolation does not depend on how the nearest element is chosen. ONNX's default mode is
   `nearest`, so the entries for it come first. */
#define SAMPLING \
    "coordinate=coordinate_transformation_mode extrapolation_value:ignore sizes:resize "
#define ANY_EDGE "cubic_coeff_a:ignore exclude_outside:ignore "
#define NEAREST_ONE SAMPLING ANY_EDGE "+mode==nearest mode=nearest! rounding=nearest_mode "
#define LINEAR_ONE SAMPLING ANY_EDGE "+mode==linear mode=linear! nearest_mode:ignore "
#define CUBIC_ONE \
    SAMPLING "a=cubic_coeff_a exclude_outside==0 +mode==cubic mode=cubic! nearest_mode:ignore "
#define SINCE_18 "antialias==0 keep_aspect_ratio_policy==stretch axes:resize"
static const OnnxMap onnx[] = {
    {"", "Resize", 18, 0, NEAREST_ONE SINCE_18},
    {"", "Resize", 18, 0, LINEAR_ONE SINCE_18},
    {"", "Resize", 18, 0, CUBIC_ONE SINCE_18},
    {"", "Resize", 11, 17, NEAREST_ONE},
    {"", "Resize", 11, 17, LINEAR_ONE},
    {"", "Resize", 11, 17, CUBIC_ONE},
    {"", "Resize", 10, 10, "mode coordinate=asymmetric! rounding=floor! sizes:resize"},
    {"", "Upsample", 7, 9, "mode coordinate=asymmetric! rounding=floor! sizes:resize"},
    {0},
};
const Op op_resize = {"resize",
                      "x",
                      "y",
                      attrs,
                      shape,
                      define,
                      .steps = write_steps,
                      .kernel = kernel,
                      .params = params,
                      .onnx = onnx};
