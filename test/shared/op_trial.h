/* op_trial.h -- draws random trials of operators that have a definition: attributes (from the
   operator's own table), types, data and sizes (including 0 and 1). Half of the time sizes are
   symbols that get a value only for the run. */
#ifndef ISOMER_TEST_OP_TRIAL_H
#define ISOMER_TEST_OP_TRIAL_H
#include "ops/base/random.h"
#include "ops/core/eval.h"
#include "ops/operator/op.h"
#include "ops/operator/signature.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { INPUTS = 6, OUTPUTS = 3, SYMBOLS = 256, ELEMENTS = 1 << 13, WANTED = 40, TRIES = 60000 };
typedef struct Trial {
    World *w;
    Random random;
    const Op *op;
    Attr attr[ATTRS_MAX];
    /* gpu_cases and gpu_loops: numbers of trials on a GPU (ops_lower.c). */
    int nin, nout, port, gpu_cases[2], gpu_loops;
    Type in[INPUTS];
    Sig sig;
    int64_t size[SYMBOLS]; /* by symbol */
    Tensor data[INPUTS], want;
    Number number[INPUTS][ELEMENTS], wanted[ELEMENTS], got[ELEMENTS];
    /* The inputs and results as floats, for back ends. */
    _Alignas(64) float flat[INPUTS][ELEMENTS], out[OUTPUTS][ELEMENTS];
} Trial;
static Trial *trial_new(void) {
    Trial *t = aligned_alloc(_Alignof(Trial), sizeof *t);
    assert_non_null(t);
    return memset(t, 0, sizeof *t);
}
static int64_t draw(Trial *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}

/* Returns a size as a number, or as a symbol that has this value. */
static Poly size_as(Trial *t, int64_t v, bool symbolic, int k, int axis) {
    char name[16];
    if (!symbolic) return poly_int(t->w, v);
    snprintf(name, sizeof name, "n%d_%d", k, axis);
    Symbol s = symbol_named(t->w, name);
    t->size[s] = v;
    return poly_symbol(t->w, s);
}

/* ---- attributes: each entry of a list is drawn from the values of the attribute's table; without
   such values it is a small number */
static void entry(Trial *t, const AttrDef *d, Text *out) {
    const char *at = d->draw;
    if (!at) {
        text_add(out, d->kind == A_REAL ? "1/2" : "%d", (int)draw(t, 0, 4));
        return;
    }
    int words = 1;
    for (const char *s = at; *s; s++) words += *s == ' ';
    for (int64_t k = draw(t, 0, words - 1); k > 0; k--) at = strchr(at, ' ') + 1;
    text_add(out, "%.*s", (int)strcspn(at, " "), at);
}

static int entries(Trial *t, const AttrDef *d) {
    int rank = t->in[0].dim.n;
    if (d->fill == PER_SPATIAL) return rank - 2;
    if (d->fill == PER_SIDE) return 2 * (rank - 2);
    if (d->fill == PER_AXIS) return rank;
    if (d->axes) return (int)draw(t, 0, 2);
    if (strstr(t->op->name, "pool")) return rank - 2;
    return !strcmp(t->op->name, "pad")     ? 2 * rank
           : !strcmp(t->op->name, "split") ? t->nout
           : draw(t, 0, 2)                 ? rank
                                           : (int)draw(t, 0, 4);
}

static bool draw_attr(Trial *t, const AttrDef *d, Attr *a) {
    Text text = text_new(t->w->arena);
    Error e = {0};
    if (d->kind == A_DTYPE) text_add(&text, "F");
    else if (d->kind != A_INTS) entry(t, d, &text);
    else {
        text_add(&text, "[");
        for (int n = entries(t, d), k = 0; k < n; k++)
            text_add(&text, k ? ", " : ""), entry(t, d, &text);
        text_add(&text, "]");
    }
    Scan s = scan_new("attr", text.data, text.size, &e);
    return attr_parse(t->w, &s, d, a);
}

/* ---- sizes: the later inputs get sizes of the first one, or some of its axes, or new ones; the
   signature then decides whether they are valid */
static void draw_inputs(Trial *t) {
    bool variadic, symbolic = draw(t, 0, 1);
    int least = op_arity(t->op, &variadic), most = op_input_count(t->op), rank = (int)draw(t, 1, 4);
    t->nin = variadic ? (int)draw(t, 1, 4) : draw(t, 0, 1) ? most : least;
    for (int k = 0; k < t->nin; k++) {
        Type *x = &t->in[k];
        *x = (Type){.dtype = DT_FLOAT, .known = true, .dim = {.n = rank}};
        for (int a = 0; a < rank; a++)
            x->dim.v[a] = size_as(t, draw(t, 0, 12) ? draw(t, 1, a ? 6 : 3) : 0, symbolic, k, a);
        int how = k ? (int)draw(t, 0, 5) : 5;
        if (how == 0) x->dim = t->in[0].dim;
        if (how == 1) x->dim = dims_tail(t->in[0].dim, (int)draw(t, 0, rank));
        if (how == 2 && rank > 1) x->dim = (Dims){1, {t->in[0].dim.v[1]}};
        if (how == 3) x->dim.v[draw(t, 0, rank - 1)] = t->in[0].dim.v[draw(t, 0, rank - 1)];
        if (how == 4)
            x->dim = dims_with(t->in[0].dim, (int)draw(t, 0, rank - 1),
                               size_as(t, draw(t, 0, 4), symbolic, k, 7));
    }
}

/* Sometimes gives an input another type: truth values first, whole numbers second, or all bytes.
   Some operators accept this, others refuse. */
static void draw_types(Trial *t) {
    int64_t kind = draw(t, 0, 9);
    for (int k = 0; k < t->nin && kind == 7; k++) t->in[k].dtype = DT_INT8;
    if (kind == 8) t->in[0].dtype = DT_BOOL;
    if (kind == 9 && t->nin > 1) t->in[1].dtype = DT_INT64;
}

/* Sets sizes that are valid for `rotary`, since chance would hardly meet any. */
static void fit_rotary(Trial *t) {
    Type *x = &t->in[0], *angle = &t->in[1];
    x->dim = (Dims){4,
                    {size_as(t, 2, false, 0, 0), size_as(t, 2, false, 0, 1),
                     size_as(t, draw(t, 1, 3), false, 0, 2)}};
    x->dim.v[3] = size_as(t, draw(t, 4, 7), false, 0, 3);
    angle->dim = (Dims){3, {x->dim.v[0], x->dim.v[2], size_as(t, draw(t, 1, 2), false, 1, 2)}};
    t->in[2] = *angle;
}

/* Makes the kernel's sizes the strides, so that windows do not overlap: only then does a transposed
   convolution have a definition. */
static void fit_convtranspose(Trial *t) {
    enum { GROUP, STRIDES, PADS, DILATIONS, EXTRA };
    const int ns = t->in[0].dim.n - 2;
    Poly *number = ARENA_NEW(t->w->arena, Poly, 6 * RANK_MAX);
    for (int k = 0; k < 6 * RANK_MAX; k++) number[k] = poly_int(t->w, k < 3 * RANK_MAX ? 0 : 1);
    if (ns < 1 || t->nin < 2 || t->in[1].dim.n != ns + 2) return;
    t->in[1].dim.v[0] = t->in[0].dim.v[1];
    if (t->nin > 2) t->in[2].dim = (Dims){1, {t->in[1].dim.v[1]}};
    t->attr[GROUP].ints = (PolyList){1, number + 3 * RANK_MAX};
    t->attr[STRIDES].ints =
        (PolyList){ns, arena_copy(t->w->arena, t->in[1].dim.v + 2, (size_t)ns * sizeof *number)};
    t->attr[PADS].ints = (PolyList){2 * ns, number};
    t->attr[DILATIONS].ints = (PolyList){ns, number + 3 * RANK_MAX};
    t->attr[EXTRA].ints = (PolyList){ns, number};
}

/* Draws an image and blocks such that the number of blocks is the size of x that the operator
   requires. */
static void fit_col2im(Trial *t) {
    enum { IMAGE, STRIDES = 2, PADS, DILATIONS, AXES = 2 };
    Poly *number = ARENA_NEW(t->w->arena, Poly, 3 * AXES), *x = t->in[0].dim.v;
    int64_t places = 1, elements = 1;
    for (int k = 0; k < AXES; k++) {
        int64_t block = draw(t, 1, 3), image = block + draw(t, 0, 3), stride = draw(t, 1, 2);
        number[k] = poly_int(t->w, image);
        number[AXES + k] = poly_int(t->w, block);
        number[2 * AXES + k] = poly_int(t->w, stride);
        places *= (image - block) / stride + 1;
        elements *= block;
    }
    for (int k = IMAGE; k <= STRIDES; k++) t->attr[k].ints = (PolyList){AXES, number + AXES * k};
    t->attr[PADS].ints = t->attr[DILATIONS].ints = (PolyList){0};
    x[1] = poly_int(t->w, elements * draw(t, 1, 3)), x[2] = poly_int(t->w, places);
    t->in[0].dim.n = 3;
}

/* Sets the inputs of an optimizer for one tensor: the rate, the number of steps, the tensor, its
   gradient, and the states that are kept. */
static void fit_optimizer(Trial *t, int kinds) {
    t->nin = 2 + kinds;
    t->nout = (int)draw(t, 1, kinds - 1);
    t->in[0].dtype = DT_FLOAT;
    for (int k = 2; k < t->nin; k++) t->in[k] = t->in[0];
    t->in[0] = t->in[1] = (Type){.dtype = DT_FLOAT, .known = true};
    t->in[1].dtype = DT_INT64;
}

static bool value_of(Trial *t, Poly p, int64_t *v) {
    return poly_eval(t->w, p, (Sizes){SYMBOLS, t->size}, v);
}

static bool sized(Trial *t, const Type *type, Tensor *out) {
    int64_t n = 1;
    out->rank = type->dim.n;
    for (int a = 0; a < out->rank; a++) {
        if (!value_of(t, type->dim.v[a], &out->dim[a]) || out->dim[a] < 0 || out->dim[a] > 200)
            return false;
        n *= out->dim[a];
    }
    return n <= ELEMENTS;
}

static int64_t least_size(const Tensor *x) {
    int64_t n = x->rank ? x->dim[0] : 1;
    for (int a = 1; a < x->rank; a++) n = x->dim[a] < n ? x->dim[a] : n;
    return n;
}

static bool draw_trial(Trial *t) {
    TypeId id[INPUTS];
    Tensor y;
    for (int k = 0; k < SYMBOLS; k++) t->size[k] = SIZE_UNKNOWN;
    t->nout = (int)draw(t, 1, OUTPUTS);
    draw_inputs(t);
    draw_types(t);
    if (!strcmp(t->op->name, "momentum") || !strcmp(t->op->name, "adagrad")) fit_optimizer(t, 3);
    if (!strcmp(t->op->name, "adam")) fit_optimizer(t, 4);
    if (!strcmp(t->op->name, "rotary")) fit_rotary(t);
    for (int k = 0; k < attrs_count(t->op->attrs); k++)
        if (!draw_attr(t, &t->op->attrs[k], &t->attr[k])) return false;
    if (!strcmp(t->op->name, "convtranspose") && draw(t, 0, 1)) fit_convtranspose(t);
    if (!strcmp(t->op->name, "col2im") && draw(t, 0, 1)) fit_col2im(t);
    for (int k = 0; k < t->nin; k++) id[k] = type_intern(t->w, &t->in[k]);
    t->sig = sig_intern(t->w, t->op, t->attr, t->nin, id, t->nout);
    const SigInfo *info = sig_info(t->w, t->sig);
    if (info->why || info->nout > OUTPUTS) return false;
    for (int k = 0; k < info->nneed; k++) {
        int64_t v;
        if (!value_of(t, info->need[k].p, &v) || (info->need[k].eq ? v != 0 : v < 0)) return false;
    }
    for (int j = 0; j < info->nout; j++)
        if (!sized(t, type_get(t->w, info->out[j]), &y)) return false;
    t->nout = info->nout;
    for (int k = 0; k < t->nin; k++)
        if (!sized(t, &t->in[k], &t->data[k])) return false;
    return t->nin < 2 || t->in[1].dtype == DT_FLOAT || least_size(&t->data[0]) > 0;
}

static void draw_data(Trial *t) {
    for (int k = 0; k < t->nin; k++) {
        t->data[k].v = t->number[k];
        for (int64_t j = 0; j < tensor_count(&t->data[k]); j++) {
            double v = (double)draw(t, 1, 200) / 64 *
                       (strcmp(t->op->name, "log") && strcmp(t->op->name, "sqrt") &&
                                strcmp(t->op->name, "pow") && strcmp(t->op->name, "batchnorm") &&
                                draw(t, 0, 1)
                            ? -1
                            : 1);
            if (t->in[k].dtype == DT_BOOL) v = v > 0;
            /* Indices that are valid on every axis. */
            if (t->in[k].dtype == DT_INT8 || t->in[k].dtype == DT_INT64)
                v = (double)draw(t, -least_size(&t->data[0]), least_size(&t->data[0]) - 1);
            t->flat[k][j] = (float)v;
            t->number[k][j].real = v;
        }
    }
}
#endif
