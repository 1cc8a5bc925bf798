/* fused.c -- matches the epilogues that a library can compute itself: a bias along one axis, then
   an activation, then a line alpha*x + beta, each of them optional. The numbers may be constants of
   the program or views of one element whose contents are known. */
#include "ops/cpu/cpu.h"
#include <math.h>

static bool bias_like(const View *v, const View *y, int axis) {
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i] > 1 && v->stride[i] != (i == axis)) return false;
    return v->dtype == DT_FLOAT && y->dim[axis] > 0 && (y->dim[axis] == 1 || v->stride[axis] == 1);
}
/* Whether value i is the accumulator, or the accumulator plus a bias along the axis. */
static bool is_linear(const Step *s, int i, int axis, Fused *f) {
    const Scalar *c = &s->code[i];
    if (c->op == C_ACC) return true;
    if (c->op != C_ADD) return false;
    const int view = s->code[c->a].op == C_ACC ? c->b : s->code[c->b].op == C_ACC ? c->a : -1;
    if (view < 0 || s->code[view].op != C_VIEW ||
        !bias_like(&s->view[s->code[view].a], &s->view[0], axis))
        return false;
    f->bias = s->code[view].a;
    return true;
}
/* Whether value i is a single number known at compile time. */
static bool number_of(const Build *b, const Step *s, int i, double *k) {
    const Scalar *c = &s->code[i];
    *k = c->k;
    if (c->op != C_VIEW) return c->op == C_CONST;
    const View *v = &s->view[c->a];
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1 && v->stride[a] != 0) return false;
    if (v->dtype != DT_FLOAT || !b->weights || !b->weights[c->a]) return false;
    *k = (double)((const float *)b->weights[c->a])[v->offset];
    return true;
}
/* Whether value i is `op` of some value *x and a number k, in either order if op is commutative. */
static bool is_with(const Build *b, const Step *s, int i, int op, double *k, int *x) {
    const Scalar *c = &s->code[i];
    if (c->op != op) return false;
    const bool second = number_of(b, s, c->b, k);
    *x = second ? c->a : c->b;
    return second || (op != C_SUB && op != C_DIV && number_of(b, s, c->a, k));
}
/* Whether value i is the minimum or maximum (op) of some value *x and a bound. A relu is the
   maximum with 0. */
static bool is_bound(const Build *b, const Step *s, int i, int op, double *bound, int *x) {
    const Scalar *c = &s->code[i];
    if (op != C_MAX || c->op != C_RELU) return is_with(b, s, i, op, bound, x);
    *bound = 0, *x = c->a;
    return true;
}
/* Whether value i is value *x limited by two bounds, applied in either order. */
static bool is_between(const Build *b, const Step *s, int i, int *x, double *low, double *high) {
    int in;
    return ((is_bound(b, s, i, C_MIN, high, &in) && is_bound(b, s, in, C_MAX, low, x)) ||
            (is_bound(b, s, i, C_MAX, low, &in) && is_bound(b, s, in, C_MIN, high, x))) &&
           *low <= *high;
}
static bool is_clip(const Build *b, const Step *s, int i, int *x, Act *act) {
    double low, high;
    if (!is_between(b, s, i, x, &low, &high)) return false;
    *act = (Act){ACT_CLIP, (float)low, (float)high};
    return true;
}
static bool is_swish(const Step *s, int i, int *x, Act *act) {
    const Scalar *c = &s->code[i];
    if (c->op != C_MUL) return false;
    const int sigmoid = s->code[c->b].op == C_SIGMOID ? c->b : c->a,
              other = sigmoid == c->b ? c->a : c->b;
    if (s->code[sigmoid].op != C_SIGMOID || s->code[sigmoid].a != other) return false;
    *x = other;
    *act = (Act){ACT_SWISH, 1, 0};
    return true;
}
/* Peels sums and products with numbers off value i, so that i = scale * (returned value) + shift.
   It stops at value `stop` at the latest. */
static int peel_line(const Build *b, const Step *s, int i, int stop, double *scale, double *shift) {
    double k;
    *scale = 1, *shift = 0;
    for (int in;; i = in) {
        if (i == stop) return i;
        if (is_with(b, s, i, C_ADD, &k, &in)) *shift += *scale * k;
        else if (is_with(b, s, i, C_SUB, &k, &in)) *shift -= *scale * k;
        else if (is_with(b, s, i, C_MUL, &k, &in)) *scale *= k;
        else if (is_with(b, s, i, C_DIV, &k, &in) && k != 0) *scale /= k;
        else return i;
    }
}
static bool near(double a, double b) { return fabs(a - b) <= 1e-6 * b; }
/* Whether value `gate` is *times * clip(x / 6 + 1 / 2, 0, 1). */
static bool is_gate(const Build *b, const Step *s, int gate, int x, double *times) {
    double low, scale, shift;
    int in;
    return is_between(b, s, gate, &in, &low, times) && low == 0 && *times > 0 &&
           peel_line(b, s, in, x, &scale, &shift) == x && near(6 * scale, *times) &&
           near(2 * shift, *times);
}
static bool is_hardswish(const Build *b, const Step *s, int i, int *x, double *times) {
    const Scalar *c = &s->code[i];
    if (c->op != C_MUL) return false;
    const bool first = is_gate(b, s, c->a, c->b, times);
    if (!first && !is_gate(b, s, c->b, c->a, times)) return false;
    *x = first ? c->b : c->a;
    return true;
}
bool fused_activation(const Build *b, const Step *s, int i, int *x, Fused *f) {
    static const struct {
        int op;
        ActKind act;
    } simple[] = {{C_RELU, ACT_RELU}, {C_SIGMOID, ACT_SIGMOID}, {C_TANH, ACT_TANH}};
    double scale, shift, times = 1;
    const int in = peel_line(b, s, i, -1, &scale, &shift);
    f->nact = is_clip(b, s, in, x, &f->act[0]);
    for (size_t k = 0; k < sizeof simple / sizeof *simple; k++)
        if (!f->nact && s->code[in].op == simple[k].op)
            f->act[0] = (Act){simple[k].act, 0, 0}, f->nact = 1, *x = s->code[in].a;
    if (!f->nact && is_hardswish(b, s, in, x, &times))
        f->act[0] = (Act){ACT_HARDSWISH, 1.0f / 6, 0.5f}, f->nact = 1;
    if (!f->nact) f->nact = is_swish(s, in, x, &f->act[0]);
    if (f->nact && (scale * times != 1 || shift != 0))
        f->act[f->nact++] = (Act){ACT_LINE, (float)(scale * times), (float)shift};
    return f->nact > 0;
}
Fused fused_match(const Build *b, const Step *s, int axis) {
    Fused f = {.whole = s->ncode == 0};
    if (f.whole || epilogue_reads_output(s)) return f;
    int x = s->ncode - 1;
    if (!fused_activation(b, s, s->ncode - 1, &x, &f)) x = s->ncode - 1;
    f.whole = is_linear(s, x, axis, &f);
    return f;
}
