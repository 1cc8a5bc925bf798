/* plan_int8.c -- computes products of quantized numbers in integers. A convolution or matrix
   product whose operands were both dequantized just before,

     y = sum (x - zero) * scale * (w - zero') * scale'[c]

   with known scales and zero points, where c is the axis of the results' channels, becomes the sum
   of (x - zero) * (w - zero') over the 8-bit integers themselves, which is exact. Its epilogue
   first multiplies by the product of the scales. There may be at most TERMS_MOST terms, so that
   sums fit into 32 bits. The weights minus their zero points must be constants and fit into 8
   signed bits, or be unsigned. Unsigned weights are taken minus 128, and what the product then
   lacks is added by sums of the rows or windows of x.

   Two more patterns are rewritten: the maximum of dequantized numbers becomes the maximum of the
   8-bit integers, dequantized; and bytes that are dequantized, moved and quantized again by the
   same scale and zero point are moved as bytes. For each new product or pool, the back end is asked
   whether it has an algorithm for the step. Steps whose results nothing reads any longer are
   dropped. */
#include "graphs/plan/plan_inner.h"
#include "ops/backend/windows.h"
#include "ops/core/element.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* A term is at most 255 * 128 in absolute value. */
enum { TERMS_MOST = INT32_MAX / (255 * 128) };

typedef struct Extra { /* a step to be inserted before another one */
    int before;
    Step step;
} Extra;
typedef struct Int8 {
    PlanBuild *b;
    SlotUses uses;
    int nextra;
    Extra *extra; /* ascending by `before` */
} Int8;

/* An element-wise step that dequantizes: y = (q - zero) * scale[..]. */
typedef struct Dequantized {
    View y, q, scale, zero; /* zero.slot < 0: none */
    int step;               /* its place in the plan, set by dequantized_from */
} Dequantized;

static const View *view_read(const Step *s, int i) {
    return s->code[i].op == C_VIEW ? &s->view[s->code[i].a] : NULL;
}
/* Whether the step's program is this and nothing else; sets *d. */
static bool match_dequantize(const Step *s, Dequantized *d) {
    if (s->kind != S_EWISE || s->ncode < 3 || s->view[0].dtype != DT_FLOAT) return false;
    const Scalar *last = &s->code[s->ncode - 1];
    const View *scale = last->op == C_MUL ? view_read(s, last->b) : NULL;
    if (!scale || scale->dtype != DT_FLOAT) return false;
    const Scalar *difference = s->code[last->a].op == C_SUB ? &s->code[last->a] : NULL;
    const View *q = view_read(s, difference ? difference->a : last->a),
               *zero = difference ? view_read(s, difference->b) : NULL;
    if (!q || !dtype_is_byte(q->dtype) || (difference && (!zero || zero->dtype != q->dtype)))
        return false;
    *d = (Dequantized){s->view[0], *q, *scale, .zero = {.slot = -1}};
    if (zero) d->zero = *zero;
    return true;
}
/* The only step that writes exactly this part of a slot with several writers; -1 if there is no
   such step, or if others write to it, too. */
static int writer_of_part(const Int8 *f, const View *v) {
    const Plan *p = f->b->plan;
    int writer = -1;
    int64_t low, high, first, last;
    view_extent(v, &low, &high);
    for (int k = 0; k < p->nstep; k++) {
        const Step *s = &p->step[k].step;
        for (int j = 0; j < step_writes(s); j++) {
            const View *y = &s->view[j];
            if (y->slot != v->slot) continue;
            view_extent(y, &first, &last);
            if (view_same(y, v)) {
                if (writer >= 0 || j) return -1;
                writer = k;
            } else if (first < high && low < last) return -1;
        }
    }
    return writer;
}
/* If the elements of v were dequantized, sets *d to the dequantization and *q to v as a view of the
   8-bit integers. */
static bool dequantized_from(const Int8 *f, const View *v, Dequantized *d, View *q) {
    if (v->dtype != DT_FLOAT || !f->uses.writers[v->slot]) return false;
    const bool whole = f->uses.writers[v->slot] == 1;
    const int writer = whole ? f->uses.writer[v->slot] : writer_of_part(f, v);
    if (writer < 0 || !match_dequantize(&f->b->plan->step[writer].step, d)) return false;
    if (!view_gapless(&d->q)) return false;
    *q = d->q, d->step = writer;
    if (view_same(&d->y, v)) return true;
    if (!view_gapless(&d->y)) return false;
    *q = *v;
    q->slot = d->q.slot, q->dtype = d->q.dtype, q->offset = v->offset - d->y.offset + d->q.offset;
    return true;
}

/* ---- numbers that are known */
static const void *known_data(const Int8 *f, const View *v) {
    return v->slot >= 0 ? f->b->plan->slot[v->slot].data : NULL;
}
/* The axis along which a view of numbers varies; -1: it is constant; -2: it varies along several
   axes. */
static int varying_axis(const View *v) {
    int axis = -1;
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1 && v->stride[a]) axis = axis == -1 ? a : -2;
    return axis;
}
static double number_at(const Int8 *f, const View *v, int64_t at) {
    return element_real((DType)v->dtype, known_data(f, v), v->offset + at);
}
/* Whether numbers that vary along axis `at` of the dequantized weights y vary along axis `channel`
   of their view w (at = -1: one number for all). */
static bool axis_fits(const View *w, int channel, const View *y, int at) {
    return at == -1 ||
           (at >= 0 && w->dim[channel] == y->dim[at] && w->stride[channel] == y->stride[at]);
}

/* The zero points of the weights: one for all, or one for each index of an axis. Element i of the
   weights has the number at i / inner % size * stride of the view. */
typedef struct Zeros {
    const View *view; /* NULL: the zero point is 0 */
    int64_t inner, size, stride;
} Zeros;
static bool zeros_of(const Int8 *f, const Dequantized *d, Zeros *z) {
    *z = (Zeros){.inner = 1, .size = 1};
    if (d->zero.slot < 0) return true;
    const int axis = varying_axis(&d->zero);
    if (!known_data(f, &d->zero) || axis == -2) return false;
    z->view = &d->zero;
    if (axis < 0) return true;
    z->size = d->zero.dim[axis], z->stride = d->zero.stride[axis];
    for (int a = axis + 1; a < d->y.rank; a++) z->inner *= d->y.dim[a];
    return true;
}
/* The weights minus their zero points; NULL if they are not known or do not fit into 8 signed
   bits. */
static const int8_t *known_weights(const Int8 *f, const Dequantized *d) {
    const int64_t n = view_count(&d->y);
    const uint8_t *data = known_data(f, &d->q);
    Zeros z;
    if (!data || !zeros_of(f, d, &z)) return NULL;
    data += d->q.offset;
    if (!z.view && d->q.dtype == DT_INT8) return (const int8_t *)data;
    int8_t *bytes = arena_alloc(f->b->arena, (size_t)(n ? n : 1));
    for (int64_t at = 0; at < n; at += z.inner) {
        const int zero = z.view ? (int)number_at(f, z.view, at / z.inner % z.size * z.stride) : 0;
        for (int64_t i = at; i < at + z.inner && i < n; i++) {
            const int k = (d->q.dtype == DT_UINT8 ? data[i] : (int8_t)data[i]) - zero;
            if (k < -128 || k > 127) return NULL;
            bytes[i] = (int8_t)k;
        }
    }
    return bytes;
}

/* The products scale * scale'[c] for n channels; NULL if one is not finite. */
static const float *known_scales(const Int8 *f, double scale, const Dequantized *w, int from,
                                 int64_t n) {
    const int64_t stride = from < 0 ? 0 : w->scale.stride[from];
    float *scales = arena_alloc(f->b->arena, (size_t)n * sizeof *scales);
    for (int64_t c = 0; c < n; c++) {
        scales[c] = (float)(scale * number_at(f, &w->scale, c * stride));
        if (!isfinite(scales[c])) return NULL;
    }
    return scales;
}

/* ---- steps */
/* A program to be put before a step's own; its views are numbered from 0. */
typedef struct Prefix {
    int nview, ncode;
    View view[3];
    Scalar code[8];
} Prefix;
/* Puts the prefix before the step's program, which then reads the result of the prefix in place of
   the accumulator. */
static void compute_first(PlanBuild *b, Step *s, const Prefix *first) {
    View *v = ARENA_NEW(b->arena, View, s->nview + first->nview);
    Scalar *code = ARENA_NEW(b->arena, Scalar, s->ncode + first->ncode);
    int *number = ARENA_NEW(b->arena, int, s->ncode + 1), n = first->ncode;
    memcpy(v, s->view, (size_t)s->nview * sizeof *v);
    memcpy(v + s->nview, first->view, (size_t)first->nview * sizeof *v);
    memcpy(code, first->code, (size_t)first->ncode * sizeof *code);
    for (int k = 0; k < first->ncode; k++)
        if (code[k].op == C_VIEW) code[k].a = (uint8_t)(code[k].a + s->nview);
    for (int k = 0; k < s->ncode; k++) {
        Scalar c = s->code[k];
        number[k] = c.op == C_ACC ? first->ncode - 1 : n;
        if (c.op == C_ACC) continue;
        scalar_renumber(&c, number);
        code[n++] = c;
    }
    s->view = v, s->nview += first->nview, s->code = code, s->ncode = n;
}
/* Makes acc * scale the first thing that the step's program computes. */
static void scale_first(PlanBuild *b, Step *s, const View *scale) {
    const Prefix first = {1, 3, {*scale}, {{.op = C_ACC}, {.op = C_VIEW}, {.op = C_MUL, .b = 1}}};
    compute_first(b, s, &first);
}
/* Whether the weights are the same for all batches of a product. */
static bool constant_matrix(const View *w) {
    for (int a = 0; a < w->rank - 2; a++)
        if (w->dim[a] > 1 && w->stride[a]) return false;
    return true;
}

static bool rounds_first(const Step *s) { return s->ncode > 1 && s->code[1].op == C_ROUND; }

/* A step as it would be in integers. Its views of tensors that are yet to be made name slots of the
   old step. */
typedef struct IntegerStep {
    Dequantized x, w; /* how the two operands were dequantized */
    View scale;
    int from; /* the axis of w's dequantization along which its scale varies; -1: none */
    double x_scale, x_zero; /* the numbers of x */
    Step step;
} IntegerStep;
static bool integer_step_new(const Int8 *f, const Step *s, IntegerStep *c) {
    const View *y = &s->view[0];
    const bool conv = s->kind == S_CONV;
    const int last = y->rank - 1, axis = conv ? 1 : last;
    View *v = arena_copy(f->b->arena, s->view, (size_t)s->nview * sizeof *v);
    int64_t *param = ARENA_NEW(f->b->arena, int64_t, s->nparam + 1);
    *c = (IntegerStep){.step = *s};
    if (y->dtype != DT_FLOAT || y->dim[axis] < 2 || rounds_first(s) ||
        !dequantized_from(f, &s->view[1], &c->x, &v[1]) || known_data(f, &v[1]) ||
        !dequantized_from(f, &s->view[2], &c->w, &v[2]) || (!conv && !constant_matrix(&v[2])))
        return false;
    c->from = varying_axis(&c->w.scale);
    if (!plan_number(f->b->plan, &c->x.scale, &c->x_scale) || !isfinite(c->x_scale) ||
        !known_data(f, &c->w.scale) ||
        (c->x.zero.slot >= 0 && !plan_number(f->b->plan, &c->x.zero, &c->x_zero)) ||
        !axis_fits(&s->view[2], conv ? 0 : last, &c->w.y, c->from))
        return false;
    v[2].dtype = DT_INT8, v[2].offset = s->view[2].offset - c->w.y.offset;
    c->scale = (View){.slot = y->slot, .dtype = DT_FLOAT, .rank = y->rank, .stride = {0}};
    memcpy(c->scale.dim, y->dim, sizeof y->dim);
    c->scale.stride[axis] = 1;
    if (s->nparam) memcpy(param, s->param, (size_t)s->nparam * sizeof *param);
    param[s->nparam] = (int64_t)c->x_zero;
    c->step.view = v, c->step.param = param, c->step.nparam++;
    scale_first(f->b, &c->step, &c->scale);
    return true;
}
static int constant_slot(Int8 *f, int like, const void *data, int64_t bytes) {
    const Value value = f->b->plan->slot[like].value;
    return plan_slot(f->b, (Slot){bytes, value, data, -1, -1, -1});
}
/* Unsigned weights taken minus 128, and what the product then lacks: for each element of the
   result, the factor (128 - zero) times a sum of x minus x's own zero point. */
typedef struct UnsignedWeights {
    const int8_t *weights;
    const float *correction; /* 128 - zero, for each channel or column */
    Step sums;
    double sums_offset; /* to be subtracted from these sums */
} UnsignedWeights;
/* Returns false if the weights are not of this kind, or if floats would round what the product
   lacks. n: channels or columns; terms: the number of terms of a sum. */
static bool unsigned_weights(const Int8 *f, const IntegerStep *c, int64_t n, double terms,
                             UnsignedWeights *out) {
    const double exact = 1 << 24, byte = 255;
    const int64_t count = view_count(&c->w.y);
    const uint8_t *data = known_data(f, &c->w.q);
    Zeros z;
    if (!data || c->w.q.dtype != DT_UINT8 || !zeros_of(f, &c->w, &z) ||
        (z.size > 1 && varying_axis(&c->w.zero) != c->from))
        return false;
    float *correction = arena_alloc(f->b->arena, (size_t)n * sizeof *correction);
    for (int64_t k = 0; k < n; k++) {
        const double zero = z.view ? number_at(f, z.view, z.size > 1 ? k * z.stride : 0) : 0;
        correction[k] = (float)(128 - zero);
        if (fabs(128 - zero) * byte * terms > exact) return false;
    }
    int8_t *bytes = arena_alloc(f->b->arena, (size_t)(count ? count : 1));
    for (int64_t i = 0; i < count; i++) bytes[i] = (int8_t)(data[c->w.q.offset + i] - 128);
    *out = (UnsignedWeights){.weights = bytes, .correction = correction};
    return true;
}
/* Makes the step that computes the sums of rows of x, or the sums of its windows, which are a
   convolution with ones. The convolution has two filters, which are as fast as one. *sums becomes
   the view of the sums that has the sizes of y. */
static bool correction_sums(Int8 *f, const Step *s, UnsignedWeights *out, View *sums) {
    const OpenDevice *device = f->b->device;
    const View *y = &s->view[0], *x = &s->view[1], *w = &s->view[2];
    const bool conv = s->kind == S_CONV;
    const int rank = conv ? y->rank : y->rank - 1;
    View *v = ARENA_NEW(f->b->arena, View, 3);
    *sums = *y;
    v[0] = view_dense(y->slot, DT_INT32, rank, y->dim), v[1] = *x;
    out->sums = (Step){.kind = S_REDUCE, .nview = 2, .view = v, .nparam = 1};
    out->sums.param = arena_copy(f->b->arena, &(int64_t){REDUCE_SUM}, sizeof(int64_t));
    if (conv) {
        int64_t two[STEP_RANK], filters[STEP_RANK];
        memcpy(two, y->dim, sizeof two), memcpy(filters, w->dim, sizeof filters);
        two[1] = filters[0] = 2;
        v[0] = view_dense(y->slot, DT_INT32, rank, two);
        v[2] = view_dense(w->slot, DT_INT8, w->rank, filters);
        out->sums = *s;
        out->sums.view = v, out->sums.nview = 3, out->sums.ncode = 0;
        if (s->param[CONV_GROUP] != 1 || device->backend->choices(device->device, &out->sums) < 1)
            return false;
        int8_t *ones = arena_alloc(f->b->arena, (size_t)view_count(&v[2]));
        memset(ones, 1, (size_t)view_count(&v[2]));
        v[2].slot = constant_slot(f, w->slot, ones, view_count(&v[2]));
    } else out->sums_offset = (double)s->param[s->nparam - 1] * (double)x->dim[x->rank - 1];
    v[0].slot = plan_slot(f->b, (Slot){view_count(&v[0]) * (int64_t)sizeof(int32_t),
                                       f->b->plan->slot[y->slot].value, NULL, -1, -1, -1});
    sums->slot = v[0].slot, sums->dtype = DT_INT32, sums->offset = 0;
    memcpy(sums->stride, v[0].stride, sizeof sums->stride);
    sums->stride[conv ? 1 : y->rank - 1] = 0;
    return true;
}
/* Makes acc + correction * (sums - sums_offset) what the step's program computes first. */
static void add_first(Int8 *f, int k, Step *s, const UnsignedWeights *a, const View *sums,
                      int64_t n) {
    const View *y = &s->view[0];
    View correction = {
        .slot = constant_slot(f, y->slot, a->correction, n * (int64_t)sizeof *a->correction),
        .dtype = DT_FLOAT,
        .rank = y->rank};
    memcpy(correction.dim, y->dim, sizeof correction.dim);
    correction.stride[s->kind == S_CONV ? 1 : y->rank - 1] = 1;
    const Prefix first = {2,
                          7,
                          {*sums, correction},
                          {{.op = C_ACC},
                           {.op = C_VIEW, .a = 0},
                           {.op = C_CONST, .k = a->sums_offset},
                           {.op = C_SUB, .a = 1, .b = 2},
                           {.op = C_VIEW, .a = 1},
                           {.op = C_MUL, .a = 3, .b = 4},
                           {.op = C_ADD, .a = 0, .b = 5}}};
    compute_first(f->b, s, &first);
    f->extra[f->nextra++] = (Extra){k, a->sums};
    f->uses.readers[a->sums.view[1].slot]++;
}
static bool make_int8(Int8 *f, int k) {
    const OpenDevice *device = f->b->device;
    Step *s = &f->b->plan->step[k].step;
    const bool conv = s->kind == S_CONV;
    IntegerStep c;
    UnsignedWeights shifted = {0};
    View sums;
    if (!integer_step_new(f, s, &c) || device->backend->choices(device->device, &c.step) < 1)
        return false;
    const View *w = &c.step.view[2];
    const int64_t n = s->view[0].dim[conv ? 1 : s->view[0].rank - 1];
    const double terms = (double)view_count(&c.w.y) / (double)w->dim[conv ? 0 : w->rank - 1];
    if (terms > TERMS_MOST) return false;
    const int8_t *weights = known_weights(f, &c.w);
    const float *scales = known_scales(f, c.x_scale, &c.w, c.from, n);
    if (!scales) return false;
    if (!weights && (!unsigned_weights(f, &c, n, terms, &shifted) ||
                     !correction_sums(f, &c.step, &shifted, &sums)))
        return false;
    View *v = arena_copy(f->b->arena, c.step.view, (size_t)c.step.nview * sizeof *v);
    v[2].slot =
        constant_slot(f, s->view[2].slot, weights ? weights : shifted.weights, view_count(&c.w.y));
    v[s->nview].slot = constant_slot(f, s->view[0].slot, scales, n * (int64_t)sizeof *scales);
    c.step.view = v;
    if (!weights) add_first(f, k, &c.step, &shifted, &sums, n);
    slot_uses_add(&f->uses, f->b->plan, k, -1);
    *s = c.step;
    slot_uses_add(&f->uses, f->b->plan, k, 1);
    return true;
}

/* ---- the maximum of dequantized numbers */
/* Whether a single step reads the slot, which is not an output. */
static bool read_once(const Int8 *f, int slot) {
    return f->uses.readers[slot] == 1 && f->b->plan->slot[slot].output < 0;
}
/* The view of a single number that repeats it over the sizes of y. */
static View everywhere(const View *number, const View *y) {
    View v = *y;
    v.slot = number->slot, v.dtype = number->dtype, v.offset = number->offset;
    memset(v.stride, 0, sizeof v.stride);
    return v;
}
/* If a maximum pool is the only reader of a dequantized tensor, swaps the two steps: the 8-bit
   integers are pooled, and the result is dequantized. */
static void pool_bytes(Int8 *f, int k) {
    Plan *p = f->b->plan;
    const Step *pool = &p->step[k].step;
    const View *y = &pool->view[0];
    Dequantized d;
    View q;
    double scale, zero;
    if (pool->param[POOL_KIND] != POOL_MAX || pool->ncode || pool->nview != 2 ||
        y->dtype != DT_FLOAT || !dequantized_from(f, &pool->view[1], &d, &q) ||
        !read_once(f, pool->view[1].slot) || !plan_number(p, &d.scale, &scale) || scale <= 0 ||
        !isfinite(scale) || (d.zero.slot >= 0 && !plan_number(p, &d.zero, &zero)) ||
        !windows_read(pool)) /* the maximum of padding alone is not an integer */
        return;
    const int m = d.step;
    const Step *dequantize = &p->step[m].step;
    const Slot like = {view_count(y), p->slot[y->slot].value, NULL, -1, -1, -1};
    View *of_pool = arena_copy(f->b->arena, pool->view, 2 * sizeof *of_pool),
         *of_other = arena_copy(f->b->arena, dequantize->view,
                                (size_t)dequantize->nview * sizeof *of_other);
    of_pool[0] = view_dense(y->slot, q.dtype, y->rank, y->dim), of_pool[1] = q;
    Step bytes = *pool, after = *dequantize;
    bytes.view = of_pool, after.view = of_other;
    if (f->b->device->backend->choices(f->b->device->device, &bytes) < 1) return;
    of_pool[0].slot = plan_slot(f->b, like);
    for (int j = 1; j < after.nview; j++)
        of_other[j] = of_other[j].slot == d.q.slot ? of_pool[0] : everywhere(&of_other[j], y);
    of_other[0] = *y;
    slot_uses_add(&f->uses, p, m, -1), slot_uses_add(&f->uses, p, k, -1);
    p->step[m].step = bytes, p->step[k].step = after;
    slot_uses_add(&f->uses, p, m, 1), slot_uses_add(&f->uses, p, k, 1);
}

/* ---- what is dequantized and quantized again */
/* An element-wise step that quantizes: y = round(x / scale) + zero, saturated. */
typedef struct Quantized {
    View x, scale, zero; /* zero.slot < 0: none */
} Quantized;
/* Whether the step's program is this and nothing else, except that it may choose a value for NaN;
   sets *q. */
static bool match_quantize(const Step *s, Quantized *q) {
    if (s->kind != S_EWISE || s->ncode < 4 || !dtype_is_byte(s->view[0].dtype)) return false;
    const Scalar *at = &s->code[s->ncode - 1];
    if (at->op == C_WHERE) {
        if (s->code[at->a].op != C_ISNAN || s->code[at->a].a != at->c) return false;
        at = &s->code[at->c];
    }
    const View *zero = at->op == C_ADD ? view_read(s, at->b) : NULL;
    if (at->op == C_ADD) at = &s->code[at->a];
    const Scalar *ratio = at->op == C_ROUND ? &s->code[at->a] : NULL;
    if (!ratio || ratio->op != C_DIV) return false;
    const View *x = view_read(s, ratio->a), *scale = view_read(s, ratio->b);
    if (!x || !scale || x->dtype != DT_FLOAT || scale->dtype != DT_FLOAT) return false;
    *q = (Quantized){*x, *scale, {.slot = -1}};
    if (zero) q->zero = *zero;
    return true;
}
static bool same_zero(const Plan *p, const View *a, const View *b) {
    double x = 0, y = 0;
    return (a->slot < 0 || plan_number(p, a, &x)) && (b->slot < 0 || plan_number(p, b, &y)) &&
           x == y;
}
/* Whether dividing by scale a undoes a multiplication by scale b. A difference of bytes times a
   scale, divided by the same scale, is off by at most 256 roundings of it, so it is rounded to the
   difference, provided that nothing overflows or underflows. */
static bool same_scale(const Plan *p, const View *a, const View *b) {
    double x, y;
    return plan_number(p, a, &x) && plan_number(p, b, &y) && x == y && x >= FLT_MIN &&
           x <= FLT_MAX / 512;
}
/* Makes all readers of y's slot read x instead, which has the same layout. */
static void read_instead(Int8 *f, const View *y, const View *x) {
    Plan *p = f->b->plan;
    for (int k = 0; k < p->nstep; k++) {
        Step *s = &p->step[k].step;
        bool reads = false;
        for (int j = step_writes(s); j < s->nview; j++) reads |= s->view[j].slot == y->slot;
        if (!reads) continue;
        slot_uses_add(&f->uses, p, k, -1);
        View *v = arena_copy(f->b->arena, s->view, (size_t)s->nview * sizeof *v);
        for (int j = step_writes(s); j < s->nview; j++)
            if (v[j].slot == y->slot) v[j].slot = x->slot, v[j].offset += x->offset - y->offset;
        s->view = v;
        slot_uses_add(&f->uses, p, k, 1);
    }
}
/* If a step quantizes bytes that were dequantized with the same numbers and perhaps moved, makes it
   a copy of the bytes; if possible, its readers read the original bytes. */
static bool keep_bytes(Int8 *f, int k) {
    Plan *p = f->b->plan;
    Step *s = &p->step[k].step;
    const View y = s->view[0];
    Quantized q;
    Dequantized d;
    View from;
    if (!match_quantize(s, &q) || !dequantized_from(f, &q.x, &d, &from) || from.dtype != y.dtype ||
        f->uses.writers[y.slot] != 1 || !same_scale(p, &q.scale, &d.scale) ||
        !same_zero(p, &q.zero, &d.zero))
        return false;
    slot_uses_add(&f->uses, p, k, -1);
    View *v = ARENA_NEW(f->b->arena, View, 2);
    v[0] = y, v[1] = from;
    *s = (Step){.kind = S_COPY, .nview = 2, .view = v};
    slot_uses_add(&f->uses, p, k, 1);
    if (view_gapless(&y) && view_gapless(&from) && p->slot[y.slot].output < 0)
        read_instead(f, &y, &from);
    return true;
}

/* Drops the steps whose results nothing reads. */
static void drop_unread(PlanBuild *b) {
    Plan *p = b->plan;
    bool *read = ARENA_NEW(b->w->scratch, bool, p->nslot);
    int kept = p->nstep;
    for (int s = 0; s < p->nslot; s++) read[s] = p->slot[s].output >= 0;
    for (int k = p->nstep - 1; k >= 0; k--) {
        const Step *s = &p->step[k].step;
        bool needed = false;
        for (int j = 0; j < step_writes(s); j++)
            needed |= s->view[j].slot >= 0 && read[s->view[j].slot];
        for (int j = step_writes(s); needed && j < s->nview; j++)
            if (s->view[j].slot >= 0) read[s->view[j].slot] = true;
        if (needed) p->step[--kept] = p->step[k];
    }
    memmove(p->step, p->step + kept, (size_t)(p->nstep - kept) * sizeof *p->step);
    p->nstep -= kept;
}

static void insert_extra(PlanBuild *b, const Int8 *f) {
    Plan *p = b->plan;
    const int before = p->nstep;
    if (!f->nextra) return;
    ARENA_GROW(b->arena, p->step, b->room_steps, before + f->nextra);
    p->nstep = before + f->nextra;
    for (int k = before, e = f->nextra, to = p->nstep; k-- > 0;) {
        p->step[--to] = p->step[k];
        while (e && f->extra[e - 1].before == k) {
            p->step[--to] = (PlanStep){.node = p->step[k].node};
            p->step[to].step = f->extra[--e].step;
        }
    }
}

void plan_int8(PlanBuild *b) {
    enum { SLOTS = 6 }; /* at most this many slots are made for one step */
    if (!b->device) return;
    const int steps = b->plan->nstep;
    Int8 f = {b, slot_uses_new(b->plan, b->w->scratch, SLOTS * steps),
              .extra = ARENA_NEW(b->w->scratch, Extra, steps)};
    bool any = false;
    for (int k = 0; k < steps; k++) {
        const Step *s = &b->plan->step[k].step;
        if (s->kind == S_EWISE) any |= keep_bytes(&f, k);
        else if (s->kind == S_CONV || s->kind == S_GEMM) any |= make_int8(&f, k);
        else if (s->kind == S_POOL) pool_bytes(&f, k);
    }
    insert_extra(b, &f);
    if (any) drop_unread(b);
}
