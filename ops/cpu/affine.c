/* affine.c -- splits off the part of an epilogue that has the form scale[c] * acc + shift[c] with
   known numbers: biases and batch normalizations. A kernel then scales its weights and starts its
   sums from the shifts instead.

   Each value of the program is computed for every channel as a pair (scale, shift). The scale is 0
   if the value does not depend on the accumulator; a value without this form has the form OTHER.
   The cut is made at the last affine value through which alone the rest of the program reads the
   accumulator: this value becomes the accumulator of the remaining program. */
#include "ops/core/element.h"
#include "ops/cpu/cpu.h"
#include <math.h>
#include <string.h>

/* VECTOR: a known number for each channel */
typedef enum Form { OTHER, VECTOR, AFFINE } Form;
typedef struct Analysis {
    const Step *step;
    int64_t channels;
    Form form[AFFINE_CODE];
    double *scale[AFFINE_CODE], *shift[AFFINE_CODE];
} Analysis;

/* Returns the contents of a view that is known and holds one number for each channel, or one for
   all; *stride: between channels, in elements. NULL: it is not such a view. */
static const void *known_vector(const Build *b, const View *v, int view, int axis,
                                int64_t *stride) {
    for (int i = 0; i < v->rank; i++)
        if (i != axis && v->dim[i] > 1 && v->stride[i] != 0) return NULL;
    const bool simple = v->dtype == DT_FLOAT || v->dtype == DT_INT32;
    if (!simple || !b->weights || !b->weights[view]) return NULL;
    *stride = v->dim[axis] > 1 ? v->stride[axis] : 0;
    return b->weights[view];
}

static Form form_of_source(Analysis *n, const Build *b, int i, int axis) {
    const Scalar *c = &n->step->code[i];
    int64_t stride = 0;
    const View *v = c->op == C_VIEW ? &n->step->view[c->a] : NULL;
    const void *known = v ? known_vector(b, v, c->a, axis, &stride) : NULL;
    if (c->op == C_VIEW && !known) return OTHER;
    for (int64_t k = 0; k < n->channels; k++) {
        n->scale[i][k] = c->op == C_ACC;
        n->shift[i][k] = known ? element_real((DType)v->dtype, known, v->offset + k * stride)
                         : c->op == C_CONST ? c->k
                                            : 0;
    }
    return c->op == C_ACC ? AFFINE : VECTOR;
}

static bool combine(int op, double as, double at, double bs, double bt, double *s, double *t) {
    switch (op) {
    case C_ADD: *s = as + bs, *t = at + bt; return true;
    case C_SUB: *s = as - bs, *t = at - bt; return true;
    case C_NEG: *s = -as, *t = -at; return true;
    case C_MUL: *s = as * bt + bs * at, *t = at * bt; return true;
    case C_DIV: *s = as / bt, *t = at / bt; return true;
    case C_SQRT: *s = 0, *t = sqrt(at); return true;
    case C_RECIP: *s = 0, *t = 1 / at; return true;
    default: return false;
    }
}
/* Computes the pairs of a result. A product is affine if one factor is a vector; a quotient if the
   divisor is one. The arguments of functions must be vectors. */
static Form form_of_result(Analysis *n, int i) {
    const Scalar *c = &n->step->code[i];
    const bool two = scalar_values(c->op) > 1;
    if (c->op == C_WHERE) return OTHER;
    const Form a = n->form[c->a], b = two ? n->form[c->b] : VECTOR;
    if (a == OTHER || b == OTHER) return OTHER;
    if ((c->op == C_MUL && a == AFFINE && b == AFFINE) || (c->op == C_DIV && b == AFFINE))
        return OTHER;
    if ((c->op == C_SQRT || c->op == C_RECIP) && a == AFFINE) return OTHER;
    const int other = two ? c->b : c->a;
    for (int64_t k = 0; k < n->channels; k++) {
        double *s = &n->scale[i][k], *t = &n->shift[i][k];
        if (!combine(c->op, n->scale[c->a][k], n->shift[c->a][k], n->scale[other][k],
                     n->shift[other][k], s, t))
            return OTHER;
        if (!isfinite((float)*s) || !isfinite((float)*t)) return OTHER;
    }
    return a == AFFINE || b == AFFINE ? AFFINE : VECTOR;
}

/* Copies the program that remains when value `cut` is its accumulator. False: the rest reads the
   original accumulator as well. */
static bool copy_rest(const Step *s, int cut, Scalar out[], int *n) {
    bool needed[AFFINE_CODE] = {false};
    int number[AFFINE_CODE];
    needed[s->ncode - 1] = true;
    for (int i = s->ncode - 1; i >= 0; i--) {
        if (!needed[i] || i == cut || s->code[i].op <= C_CONST) continue;
        const int values = scalar_values(s->code[i].op);
        needed[s->code[i].a] = true;
        if (values > 1) needed[s->code[i].b] = true;
        if (values > 2) needed[s->code[i].c] = true;
    }
    *n = 0;
    for (int i = 0; i < s->ncode; i++) {
        Scalar c = s->code[i];
        if (!needed[i]) continue;
        if (i != cut && c.op == C_ACC) return false;
        if (i == cut) c = (Scalar){.op = C_ACC};
        else scalar_renumber(&c, number);
        number[i] = *n;
        out[(*n)++] = c;
    }
    return true;
}

static void affine_cut(Build *b, const Analysis *n, int cut, AffinePart *out) {
    float *scale = ARENA_NEW(b->arena, float, n->channels),
          *shift = ARENA_NEW(b->arena, float, n->channels);
    bool scales = false;
    for (int64_t k = 0; k < n->channels; k++) {
        scale[k] = (float)n->scale[cut][k], shift[k] = (float)n->shift[cut][k];
        scales |= scale[k] != 1;
    }
    out->scale = scales ? scale : NULL;
    out->shift = shift;
}

bool affine_split(Build *b, int axis, AffinePart *out) {
    const Step *s = b->step;
    Analysis n = {.step = s, .channels = s->view[0].dim[axis]};
    if (s->ncode < 2 || s->ncode > AFFINE_CODE || n.channels < 1) return false;
    double *room = ARENA_NEW(b->scratch, double, 2 * n.channels * s->ncode);
    int cut = -1;
    for (int i = 0; i < s->ncode; i++) {
        n.scale[i] = room + 2 * i * n.channels, n.shift[i] = n.scale[i] + n.channels;
        n.form[i] =
            s->code[i].op <= C_CONST ? form_of_source(&n, b, i, axis) : form_of_result(&n, i);
    }
    for (int i = s->ncode - 1; i > 0 && cut < 0; i--)
        if (n.form[i] == AFFINE && s->code[i].op != C_ACC &&
            copy_rest(s, i, out->code, &out->ncode))
            cut = i;
    if (cut >= 0) affine_cut(b, &n, cut, out);
    return cut >= 0;
}
