/* resample: ONNX's Resize in all its generality, without a definition: with scales that make no
   whole sizes, cubic interpolation, antialiasing, crops and aspect ratios. resize.c has the cases
   that have a definition.

   Along an axis with sizes n of x and m of y, place i of y lies at a coordinate c of x, which
   `coordinate` derives from the scale f (given, or m/n). The value there is the mean of x over the
   places j with the weights k((j - c) * min(f, 1)), or k(j - c) without antialias, where k is the
   triangle 1 - |t| (linear) or the cubic kernel of Keys, 1981, with the parameter `a`. Outside x
   its border repeats or, with `exclude`, has no weight. `nearest` takes one element. With the
   coordinate tf_crop_and_resize, a place outside x gets the value `extrapolation`. */
#include "ops/operator/op.h"
#include <math.h>
#include <stdint.h>
#include <string.h>
enum { SIZES, MODE, COORDINATE, ROUNDING, A, EXCLUDE, ANTIALIAS, EXTRAPOLATION, POLICY, AXES };
enum { PAIRS_MOST = 1 << 24 }; /* pairs of a place and its weight in the list of an axis */
enum { X, ROI, SCALES, WANTED };
enum { NEAREST, LINEAR, CUBIC };
enum { HALF, ASYMMETRIC, CORNERS, HALF_PYTORCH, CROP, SYMMETRIC };
enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };
enum { STRETCH, NOT_LARGER, NOT_SMALLER };
static const AttrDef attrs[] = {
    [SIZES] = {.name = "sizes", .kind = A_INTS},
    [MODE] = {"mode", A_ENUM, "nearest", "nearest linear cubic", .draw = "nearest linear cubic"},
    [COORDINATE] = {"coordinate", A_ENUM, "half_pixel",
                    "half_pixel asymmetric align_corners pytorch_half_pixel tf_crop_and_resize "
                    "half_pixel_symmetric",
                    .draw = "half_pixel asymmetric align_corners pytorch_half_pixel"},
    [ROUNDING] = {"rounding", A_ENUM, "round_prefer_floor",
                  "round_prefer_floor round_prefer_ceil floor ceil",
                  .draw = "round_prefer_floor round_prefer_ceil floor ceil"},
    [A] = {"a", A_REAL, "-3/4", .draw = "-3/4 -1/2"},
    [EXCLUDE] = {"exclude", A_ENUM, "no", "no yes", .draw = "no yes"},
    [ANTIALIAS] = {"antialias", A_ENUM, "no", "no yes", .draw = "no yes"},
    [EXTRAPOLATION] = {"extrapolation", A_REAL, "0", .draw = "0"},
    [POLICY] = {"policy", A_ENUM, "stretch", "stretch not_larger not_smaller", .draw = "stretch"},
    [AXES] = {.name = "axes", .kind = A_INTS, .init = "[]"},
    {0},
};

static const char *shape(Call *c) {
    Dims y = ints_dims(c, SIZES);
    int dtype = enum_value(c, MODE) == NEAREST || is_float(c->in[X]);
    if (y.n != c->in[X]->dim.n) return "resample needs a size for every axis";
    for (int k = 0; k < y.n; k++) need_ge(c, y.v[k], 0);
    if (ints(c, AXES).n > y.n) return "resample has more axes than its input";
    for (int k = 0; k < ints(c, AXES).n; k++)
        if (axis_at(c, AXES, k, y.n) < 0) return "resample has no such axis";
    c->out[0] = *c->in[X];
    c->out[0].dim = y;
    return dtype ? NULL : "not supported for this element type";
}

enum {
    P_MODE = 1,
    P_COORDINATE,
    P_ROUNDING,
    P_A,
    P_EXCLUDE,
    P_ANTIALIAS,
    P_EXTRAPOLATION,
    P_POLICY,
    P_NAXES,
    P_AXES
};
static int params(Call *c, int64_t param[]) {
    int n = ints(c, AXES).n;
    if (!bits_of(c, A, &param[P_A]) || !bits_of(c, EXTRAPOLATION, &param[P_EXTRAPOLATION]))
        return -1;
    param[P_MODE] = enum_value(c, MODE);
    param[P_COORDINATE] = enum_value(c, COORDINATE);
    param[P_ROUNDING] = enum_value(c, ROUNDING);
    param[P_EXCLUDE] = enum_value(c, EXCLUDE);
    param[P_ANTIALIAS] = enum_value(c, ANTIALIAS);
    param[P_POLICY] = enum_value(c, POLICY);
    param[P_NAXES] = n;
    for (int k = 0; k < n; k++) param[P_AXES + k] = axis_at(c, AXES, k, c->in[X]->dim.n);
    return P_AXES - 1 + n;
}

typedef struct WeightedLine { /* sampling along one axis, which has n places in x and m in y */
    /* roi: the crop along this axis, from 0 to 1. */
    double scale, roi[2];
    double shrink; /* the factor of the kernel's argument; below 1, the kernel is wider */
    double a;      /* the parameter of the cubic kernel */
    int64_t n, m, mode, coordinate, rounding;
    bool exclude; /* places outside x have no weight */
} WeightedLine;

static double kernel_of(const WeightedLine *l, double t) {
    if (l->mode == CUBIC) return kernel_keys(l->a, t);
    return fabs(t) < 1 ? 1 - fabs(t) : 0;
}
/* Computed in float, as in ONNX Runtime, since `nearest` depends on the rounding where two elements
   are equally near. ONNX does not say what happens where f*n is not an integer. Here it is as in
   ONNX's node tests, except that pytorch_half_pixel asks whether y has one place. */
static double coordinate(const WeightedLine *l, int64_t i) {
    float x = (float)i, n = (float)l->n, f = (float)l->scale, m = f * n, from = (float)l->roi[0],
          to = (float)l->roi[1];
    float middle = (x + 0.5f) / f - 0.5f;
    if (l->coordinate == SYMMETRIC && l->scale == (double)l->m / (double)l->n)
        /* The centred part is all of x. */
        return ((double)i + 0.5) * (double)l->n / (double)l->m - 0.5;
    switch (l->coordinate) {
    case ASYMMETRIC: return (double)(x / f);
    case CORNERS: return m == 1 ? 0 : (double)(x * (n - 1) / (m - 1));
    case HALF_PYTORCH: return l->m == 1 ? 0 : (double)middle;
    case CROP:
        return (double)(from * (n - 1) +
                        (m > 1 ? x * (to - from) * (n - 1) / (m - 1) : (to - from) * (n - 1) / 2));
    case SYMMETRIC: return (double)(n / 2 * (1 - (float)l->m / m) + middle);
    default: return (double)middle;
    }
}
static int64_t nearest(const WeightedLine *l, double c) {
    switch (l->rounding) {
    case FLOOR: return (int64_t)floor(c);
    case CEIL: return (int64_t)ceil(c);
    case PREFER_CEIL: return (int64_t)floor(c + 0.5);
    default: return (int64_t)ceil(c - 0.5);
    }
}
static int64_t clamped(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
/* Returns how many places the kernel at c reaches; *first is the first one. */
static int64_t reach(const WeightedLine *l, double c, int64_t *first) {
    double r = (l->mode == CUBIC ? 2 : 1) / l->shrink;
    *first = (int64_t)ceil(c - r);
    return (int64_t)floor(c + r) - *first + 1;
}
static double weight(const WeightedLine *l, double c, int64_t j) {
    return l->exclude && (j < 0 || j >= l->n) ? 0 : kernel_of(l, ((double)j - c) * l->shrink);
}

static bool same_places(const WeightedLine *l) {
    return l->scale == 1 && l->n == l->m && l->coordinate != CROP;
}

typedef struct Sampler {
    const View *x;
    void *const *slot;
    const WeightedLine *line;
    double at[STEP_RANK];
} Sampler;
/* The weighted mean over the axes from `axis` on; j holds the places on the axes before it. */
static double sample(const Sampler *s, int axis, int64_t j[]) {
    if (axis == s->x->rank) return kernel_real(s->x, s->slot, kernel_at(s->x, j));
    const WeightedLine *l = &s->line[axis];
    double c = s->at[axis], sum = 0, all = 0;
    int64_t first, n = reach(l, c, &first);
    if (same_places(l)) return j[axis] = clamped((int64_t)c, l->n), sample(s, axis + 1, j);
    for (int64_t k = first; k < first + n; k++) {
        double w = weight(l, c, k);
        if (w == 0) continue;
        j[axis] = clamped(k, l->n);
        sum += w * sample(s, axis + 1, j);
        all += w;
    }
    return all != 0 ? sum / all : 0;
}

static double list_at(const Step *s, void *const slot[], int input, int64_t k) {
    const View *v = &s->view[1 + input];
    return kernel_real(v, slot, kernel_at(v, &k));
}
static bool present(const Step *s, int input) {
    return 1 + input < s->nview && s->view[1 + input].rank == 1 && s->view[1 + input].dim[0] > 0;
}
/* Whether a list has n entries, if it is present. */
static bool has_length(const Step *s, int input, int64_t n) {
    return !present(s, input) || s->view[1 + input].dim[0] == n;
}
/* The scale that all resized axes share, because a policy keeps the aspect ratio. */
static double shared_scale(const Step *s, void *const slot[], int64_t n, const int64_t axis[]) {
    double scale = 0;
    for (int64_t k = 0; k < n; k++) {
        double f = list_at(s, slot, WANTED, k) / (double)s->view[1].dim[axis[k]];
        if (!k || (s->param[P_POLICY] == NOT_LARGER ? f < scale : f > scale)) scale = f;
    }
    return scale;
}
static bool set_lines(const Step *s, void *const slot[], WeightedLine line[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t axis[STEP_RANK], n = s->param[P_NAXES] ? s->param[P_NAXES] : x->rank;
    const bool crops = s->param[P_COORDINATE] == CROP;
    if ((crops && !has_length(s, ROI, 2 * n)) || !has_length(s, SCALES, n) ||
        !has_length(s, WANTED, n))
        return false;
    for (int a = 0; a < x->rank; a++) {
        if (x->dim[a] == 0) return false;
        axis[a] = s->param[P_NAXES] ? s->param[P_AXES + (a < n ? a : 0)] : a;
        line[a] = (WeightedLine){.scale = (double)y->dim[a] / (double)x->dim[a],
                                 .roi = {0, 1},
                                 .shrink = 1,
                                 .a = param_real(s->param[P_A]),
                                 .n = x->dim[a],
                                 .m = y->dim[a],
                                 .mode = s->param[P_MODE],
                                 .coordinate = s->param[P_COORDINATE],
                                 .rounding = s->param[P_ROUNDING],
                                 .exclude = s->param[P_EXCLUDE] != 0};
    }
    double shared = s->param[P_POLICY] && present(s, WANTED) ? shared_scale(s, slot, n, axis) : 0;
    for (int64_t k = 0; k < n; k++) {
        WeightedLine *l = &line[axis[k]];
        if (shared > 0) l->scale = shared;
        else if (present(s, SCALES)) l->scale = list_at(s, slot, SCALES, k);
        if (crops && present(s, ROI))
            l->roi[0] = list_at(s, slot, ROI, k), l->roi[1] = list_at(s, slot, ROI, n + k);
        if (s->param[P_ANTIALIAS] && l->scale < 1) l->shrink = l->scale;
        if (!(l->scale > 0)) return false;
    }
    return true;
}

static int kernel(const Step *s, void *const slot[]) {
    const View *y = &s->view[0], *x = &s->view[1];
    WeightedLine line[STEP_RANK];
    Sampler sampler = {.x = x, .slot = slot, .line = line};
    int64_t i[STEP_RANK], j[STEP_RANK];
    if (!kernel_first(y, i)) return 0;
    if (!set_lines(s, slot, line)) return -1;
    for (bool more = kernel_first(y, i); more; more = kernel_next(y, i)) {
        bool outside = false;
        for (int a = 0; a < y->rank; a++) {
            double c = sampler.at[a] = coordinate(&line[a], i[a]);
            outside |= line[a].coordinate == CROP && (c < 0 || c > (double)(x->dim[a] - 1));
            j[a] = clamped(nearest(&line[a], c), x->dim[a]);
        }
        int64_t at = kernel_at(y, i);
        if (outside) kernel_set_real(y, slot, at, param_real(s->param[P_EXTRAPOLATION]));
        else if (s->param[P_MODE] == NEAREST) kernel_move(y, slot, at, x, kernel_at(x, j));
        else kernel_set_real(y, slot, at, sample(&sampler, 0, j));
    }
    return 0;
}

/* ---- Steps, if the lists of scales and sizes are known: an S_SAMPLE step, which lists for each
   place of an axis the places of x that it takes, and their weights. */
static int64_t count_taps(const WeightedLine *l) {
    int64_t most = 1, first;
    if (same_places(l)) return 0;
    for (int64_t i = 0; i < l->m && l->mode != NEAREST; i++) {
        const int64_t n = reach(l, coordinate(l, i), &first);
        most = n > most ? n : most;
    }
    return most;
}
/* Stores `taps` pairs of a place and its weight, which is 0 for pairs that are not needed. Returns
   false if place i takes no element of x. */
static bool take_taps(const WeightedLine *l, int64_t i, int64_t taps, int64_t pair[]) {
    const double c = coordinate(l, i);
    int64_t first = 0, n = 1;
    double all = 0;
    if (l->coordinate == CROP && (c < 0 || c > (double)(l->n - 1))) return false;
    if (l->mode == NEAREST) first = nearest(l, c), all = 1;
    else n = reach(l, c, &first);
    for (int64_t k = 0; k < n && l->mode != NEAREST; k++) all += weight(l, c, first + k);
    for (int64_t k = 0; k < taps; k++) {
        const double w = k >= n ? 0 : l->mode == NEAREST ? 1 : weight(l, c, first + k) / all;
        pair[2 * k] = clamped(first + k, l->n);
        memcpy(&pair[2 * k + 1], &w, sizeof w);
    }
    return all != 0;
}
static bool known_lines(Call *c, const View in[], const View *y, StepBuf *b, WeightedLine line[]) {
    enum { VIEWS = 2 + WANTED };
    int64_t param[OP_PARAMS];
    View v[VIEWS] = {*y};
    void *slot[VIEWS] = {NULL};
    if (params(c, param) < 0) return false;
    for (int k = 0; k < c->nin; k++) {
        v[1 + k] = in[k], v[1 + k].slot = 1 + k;
        if (k == X || in[k].rank < 0) continue;
        const void *data = b->target ? b->target->known(b->target->user, in[k].slot) : NULL;
        if (!data) return false;
        slot[1 + k] = (void *)(uintptr_t)data;
    }
    return set_lines(&(Step){.nview = 1 + c->nin, .view = v, .param = param}, slot, line);
}
static int write_steps(Call *c, const View in[], const View out[], StepBuf *b) {
    const View *y = &out[0];
    const bool moves = enum_value(c, MODE) == NEAREST;
    const int bits = dtype_bits((DType)y->dtype);
    WeightedLine line[STEP_RANK];
    int64_t *list[STEP_RANK], n[STEP_RANK];
    if (y->rank < 1 || bits < (moves ? 8 : 16) || bits > 64 || view_count(y) == 0) return 0;
    if (!known_lines(c, in, y, b, line)) return 0;
    for (int a = 0; a < y->rank; a++) {
        if (!same_places(&line[a]) && y->dim[a] > PAIRS_MOST) return 0;
        const int64_t taps = count_taps(&line[a]), places = taps ? y->dim[a] : 0;
        if (taps && taps > PAIRS_MOST / places) return 0;
        list[a] = ARENA_NEW(b->arena, int64_t, n[a] = 1 + 2 * taps * places);
        list[a][0] = taps;
        for (int64_t i = 0; i < places; i++)
            if (!take_taps(&line[a], i, taps, list[a] + 1 + 2 * taps * i)) return 0;
    }
    Step *s = step_add(
        b, S_SAMPLE, 2, (const View[]) { *y, in[X] });
    for (int a = 0; a < y->rank; a++) step_param(b, s, (int)n[a], list[a]);
    return 1;
}

#define SAMPLING                                                                            \
    "mode coordinate=coordinate_transformation_mode rounding=nearest_mode a=cubic_coeff_a " \
    "exclude=exclude_outside "                                                              \
    "extrapolation=extrapolation_value sizes:resample"
static const OnnxMap onnx[] = {
    {"", "Resize", 18, 0, SAMPLING " antialias policy=keep_aspect_ratio_policy axes"},
    {"", "Resize", 11, 17, SAMPLING " antialias=no! policy=stretch! axes=[]!"},
    {0},
};
const Op op_resample = {"resample",
                        "x roi? scales? wanted?",
                        "y",
                        attrs,
                        shape,
                        .steps = write_steps,
                        .kernel = kernel,
                        .params = params,
                        .onnx = onnx,
                        .flags = OP_WRITES};
