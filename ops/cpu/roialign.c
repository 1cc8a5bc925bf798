/* roialign.c -- roialign (defined in ops/roialign.c).

   For each box and each of its bins, the rows and columns of the image that its samples read are
   listed with their weights, once for all channels. Since the samples form a grid, their mean is a
   weighted sum of rows, then of columns. For maxima, elements are multiplied by weights; among all
   samples that read an element, only the least and the greatest weight can give the maximum.

   If there are many channels, and enough boxes for a transposition of the images to pay, all
   channels of a bin are computed together. Boxes are distributed over the threads. */
#include "ops/core/element.h"
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"
#include <math.h>
#include <string.h>

enum { Y, X, ROI, BATCH };
/* Images are transposed only if they have at most so many elements for each element of the
   result. */
enum { TURNED = 4 };
typedef struct Reads { /* what the bins read along an axis; the entries of bin i begin at
                          first[i] */
    int64_t *first, *place;
    double *weight, *least; /* weight: the sum over the samples, or the greatest one */
    float *single;          /* the weight as a float */
    bool *outside;          /* some sample of the bin lies outside the image */
    int64_t low, high;      /* of all places that are read */
} Reads;
typedef struct RoiAlign {
    View y, x, roi, batch;
    Operand from;
    ComputeClass class;
    const Simd *simd;
    bool greatest;
    bool across; /* all channels of a bin are computed together; `from` is [n, h, w, c] */
    RoiBoxes boxes;
    int parts, size;
    /* offsets into the scratch memory: for each axis the lists of Reads, then buffers */
    size_t first[2], place[2], weight[2], least[2], single[2], outside[2], dense, row, result;
    size_t offset, greater, lesser; /* of the elements of a bin: their offsets and their two
                                       weights */
    size_t each;
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
} RoiAlign;
typedef struct RoiRun {
    const RoiAlign *r;
    void *const *slot;
    char *y, *work;
    const char *x;
} RoiRun;

/* ---- what a box reads */
static int64_t image_size(const RoiAlign *r, int axis) { return r->x.dim[axis + 2 - r->across]; }
static RoiSpan span_of(const RoiAlign *r, void *const slot[], int64_t box, int axis) {
    const View *roi = &r->roi;
    double ends[2];
    for (int k = 0; k < 2; k++)
        ends[k] =
            element_real((DType)roi->dtype, slot[roi->slot],
                         roi->offset + box * roi->stride[0] + (2 * k + 1 - axis) * roi->stride[1]);
    return roi_span(&r->boxes, ends, r->y.dim[2 + axis], image_size(r, axis));
}
/* Lists the places that bin i reads. dense: for each place its weight and the least one, which is
   negative where nothing is read. */
static void list_bin(const RoiAlign *r, const RoiSpan *s, int64_t i, double (*dense)[2],
                     Reads *to) {
    int64_t low = s->size, high = -1, n = to->first[i];
    to->outside[i] = false;
    for (int64_t k = 0; k < s->samples; k++) {
        int64_t at[2];
        double weight[2];
        if (!roi_beside(s, i, k, at, weight)) to->outside[i] = true;
        else
            for (int j = 0; j < 2; j++) {
                double *d = dense[at[j]], w = weight[j];
                low = at[j] < low ? at[j] : low, high = at[j] > high ? at[j] : high;
                if (d[1] < 0) d[0] = d[1] = w;
                else {
                    d[0] = !r->greatest ? d[0] + w : w > d[0] ? w : d[0];
                    d[1] = w < d[1] ? w : d[1];
                }
            }
    }
    for (int64_t p = low; p <= high; p++) {
        double *d = dense[p];
        if (r->greatest ? d[1] >= 0 : d[0] > 0) {
            const double w = r->greatest ? d[0] : d[0] / (double)s->samples;
            to->place[n] = p, to->weight[n] = w, to->least[n] = d[1], to->single[n++] = (float)w;
            to->low = p < to->low ? p : to->low, to->high = p > to->high ? p : to->high;
        }
        d[0] = d[1] = -1;
    }
    to->first[i + 1] = n;
}
static void list_reads(const RoiAlign *r, void *const slot[], int64_t box, int axis, char *work,
                       Reads *to) {
    const RoiSpan s = span_of(r, slot, box, axis);
    double(*dense)[2] = (double(*)[2])(void *)(work + r->dense);
    *to = (Reads){.first = (int64_t *)(void *)(work + r->first[axis]),
                  .place = (int64_t *)(void *)(work + r->place[axis]),
                  .weight = (double *)(void *)(work + r->weight[axis]),
                  .least = (double *)(void *)(work + r->least[axis]),
                  .single = (float *)(void *)(work + r->single[axis]),
                  .outside = (bool *)(work + r->outside[axis]),
                  .low = s.size,
                  .high = -1};
    to->first[0] = 0;
    for (int64_t p = 0; p < s.size; p++) dense[p][0] = dense[p][1] = -1;
    for (int64_t i = 0; i < r->y.dim[2 + axis]; i++) list_bin(r, &s, i, dense, to);
}

/* ---- a row of bins of one channel, from a dense image */
#define DEFINE_BINS(T)                                                                  \
    static void columns_##T(const Reads *c, int64_t n, const void *px, void *py) {      \
        const T *x = px;                                                                \
        T *y = py;                                                                      \
        for (int64_t j = 0; j < n; j++) {                                               \
            double sum = 0;                                                             \
            for (int64_t k = c->first[j]; k < c->first[j + 1]; k++)                     \
                sum += c->weight[k] * (double)x[c->place[k] - c->low];                  \
            y[j] = (T)sum;                                                              \
        }                                                                               \
    }                                                                                   \
    static void greatest_##T(const Reads *rows, const Reads *c, int64_t i, int64_t n,   \
                             int64_t stride, const void *px, void *py) {                \
        const T *x = px;                                                                \
        T *y = py;                                                                      \
        for (int64_t j = 0; j < n; j++) {                                               \
            const bool empty =                                                          \
                rows->first[i] == rows->first[i + 1] || c->first[j] == c->first[j + 1]; \
            double best = empty || rows->outside[i] || c->outside[j] ? 0 : -INFINITY;   \
            for (int64_t u = rows->first[i]; u < rows->first[i + 1]; u++)               \
                for (int64_t k = c->first[j]; k < c->first[j + 1]; k++) {               \
                    const double e = (double)x[rows->place[u] * stride + c->place[k]],  \
                                 a = rows->weight[u] * c->weight[k] * e,                \
                                 b = rows->least[u] * c->least[k] * e;                  \
                    best = a > best ? a : best, best = b > best ? b : best;             \
                }                                                                       \
            y[j] = (T)best;                                                             \
        }                                                                               \
    }
DEFINE_BINS(float)
DEFINE_BINS(double)

/* Adds up the weighted rows of bin i over the columns that are read. */
static void add_rows(const RoiAlign *r, const Reads *rows, const Reads *c, int64_t i, const char *x,
                     char *row) {
    const int64_t stride = r->x.dim[3], n = c->high - c->low + 1, first = rows->first[i],
                  taps = rows->first[i + 1] - first;
    x += c->low * r->size;
    if (r->class == CLASS_FLOAT) { /* run_part has turned places into offsets */
        r->simd->taps((float *)(void *)row, (const float *)(const void *)x, rows->place + first,
                      rows->single + first, taps, n);
        return;
    }
    memset(row, 0, (size_t)(n * r->size));
    for (int64_t k = first; k < first + taps; k++)
        r->simd->scale_add[r->class](row, x + rows->place[k] * stride * r->size, 1,
                                     &rows->weight[k], n);
}
static void run_channel(const RoiAlign *r, const Reads *rows, const Reads *c, const char *x,
                        char *y, char *work) {
    const bool single = r->class == CLASS_FLOAT;
    const int64_t n = r->y.dim[3], stride = r->x.dim[3];
    for (int64_t i = 0; i < r->y.dim[2]; i++) {
        char *result = work + r->result;
        if (r->greatest)
            (single ? greatest_float : greatest_double)(rows, c, i, n, stride, x, result);
        else if (c->high < 0 || rows->first[i] == rows->first[i + 1])
            memset(result, 0, (size_t)(n * r->size));
        else {
            add_rows(r, rows, c, i, x, work + r->row);
            (single ? columns_float : columns_double)(c, n, work + r->row, result);
        }
        r->store(y + i * r->y.stride[2] * dtype_size(r->y.dtype), r->y.stride[3], result, n);
    }
}
/* ---- all channels of a bin */
/* Lists the elements that bin (i, j) reads and their weights; returns how many there are. */
static int64_t list_elements(const RoiAlign *r, const Reads *rows, const Reads *columns, int64_t i,
                             int64_t j, char *work) {
    int64_t *offset = (int64_t *)(void *)(work + r->offset), n = 0;
    float *greater = (float *)(void *)(work + r->greater),
          *lesser = (float *)(void *)(work + r->lesser);
    const int64_t channels = r->y.dim[1], width = r->x.dim[2];
    for (int64_t u = rows->first[i]; u < rows->first[i + 1]; u++)
        for (int64_t k = columns->first[j]; k < columns->first[j + 1]; k++, n++) {
            offset[n] = (rows->place[u] * width + columns->place[k]) * channels;
            greater[n] = (float)(rows->weight[u] * columns->weight[k]);
            lesser[n] = (float)(rows->least[u] * columns->least[k]);
        }
    return n;
}
static void run_across(const RoiAlign *r, const Reads *rows, const Reads *columns, const float *x,
                       float *y, char *work) {
    const int64_t channels = r->y.dim[1], across = r->y.dim[3], bins = r->y.dim[2] * across;
    const int64_t *offset = (const int64_t *)(void *)(work + r->offset);
    const float *greater = (const float *)(void *)(work + r->greater),
                *lesser = (const float *)(void *)(work + r->lesser);
    float *result = (float *)(void *)(work + r->result);
    for (int64_t bin = 0; bin < bins; bin++) {
        const int64_t i = bin / across, j = bin % across,
                      n = list_elements(r, rows, columns, i, j, work);
        const bool outside = n == 0 || rows->outside[i] || columns->outside[j];
        float *to = result + bin * channels;
        if (r->greatest)
            r->simd->tap_peaks(to, x, offset, greater, lesser, n, outside ? 0 : -INFINITY,
                               channels);
        else r->simd->taps(to, x, offset, greater, n, channels);
    }
    r->simd->transpose((uint32_t *)(void *)y, r->y.stride[1],
                       (const uint32_t *)(const void *)result, channels, bins, channels);
}
static int64_t image_of(const RoiAlign *r, void *const slot[], int64_t box) {
    const View *v = &r->batch;
    return element_integer((DType)v->dtype, slot[v->slot], v->offset + box * v->stride[0]);
}
static void run_part(void *job, int k) {
    const RoiRun *run = job;
    const RoiAlign *r = run->r;
    const int64_t boxes = r->y.dim[0], end = boxes * (k + 1) / r->parts,
                  image = r->x.dim[2] * r->x.dim[3];
    const int y_size = dtype_size(r->y.dtype);
    char *work = run->work + (size_t)k * r->each;
    for (int64_t box = boxes * k / r->parts; box < end; box++) {
        Reads rows, columns;
        list_reads(r, run->slot, box, 0, work, &rows);
        list_reads(r, run->slot, box, 1, work, &columns);
        if (r->across) {
            run_across(r, &rows, &columns,
                       (const float *)(const void *)run->x +
                           image_of(r, run->slot, box) * r->x.stride[0],
                       (float *)(void *)run->y + box * r->y.stride[0], work);
            continue;
        }
        const int64_t nrows = rows.first[r->y.dim[2]];
        if (r->class == CLASS_FLOAT && !r->greatest)
            for (int64_t j = 0; j < nrows; j++) rows.place[j] *= r->x.dim[3];
        const int64_t from = image_of(r, run->slot, box) * r->x.dim[1];
        for (int64_t c = 0; c < r->y.dim[1]; c++)
            run_channel(r, &rows, &columns, run->x + (from + c) * image * r->size,
                        run->y + (box * r->y.stride[0] + c * r->y.stride[1]) * y_size, work);
    }
}
static int roialign_run(const Kernel *k, void *const slot[], void *work) {
    const RoiAlign *r = k->self;
    for (int64_t box = 0; box < r->y.dim[0]; box++) {
        const int64_t image = image_of(r, slot, box);
        if (image < 0 || image >= r->x.dim[0]) return -1;
    }
    RoiRun run = {r, slot, view_at(&r->y, slot, work), work, operand_at(&r->from, slot, work)};
    team_run(k->device->team, r->parts, run_part, &run);
    return 0;
}

/* ---- making */
static void make_room(Build *b, RoiAlign *r) {
    const size_t at = b->workspace;
    int64_t longest = 1;
    for (int a = 0; a < 2; a++) {
        const size_t bins = (size_t)r->y.dim[2 + a], size = (size_t)image_size(r, a),
                     most = bins * size;
        r->first[a] = build_bytes(b, (bins + 1) * sizeof(int64_t));
        r->place[a] = build_bytes(b, most * sizeof(int64_t));
        r->weight[a] = build_bytes(b, most * sizeof(double));
        r->least[a] = build_bytes(b, most * sizeof(double));
        r->single[a] = build_bytes(b, most * sizeof(float));
        r->outside[a] = build_bytes(b, bins * sizeof(bool));
        longest = (int64_t)size > longest ? (int64_t)size : longest;
    }
    r->dense = build_bytes(b, (size_t)longest * sizeof(double[2]));
    if (r->across) {
        const size_t all = (size_t)(image_size(r, 0) * image_size(r, 1));
        r->offset = build_bytes(b, all * sizeof(int64_t));
        r->greater = build_bytes(b, all * sizeof(float));
        r->lesser = build_bytes(b, all * sizeof(float));
        r->result = build_bytes(b, (size_t)(view_count(&r->y) / r->y.dim[0]) * sizeof(float));
    } else {
        r->row = build_bytes(b, (size_t)(r->x.dim[3] * r->size));
        r->result = build_bytes(b, (size_t)(r->y.dim[3] * r->size));
    }
    r->each = b->workspace - at;
    build_bytes(b, (size_t)(r->parts - 1) * r->each);
}
/* Whether all channels of a bin are computed together, with adjacent channels. */
static bool is_across(const Build *b, const RoiAlign *r) {
    const View *y = &b->step->view[Y], *x = &b->step->view[X];
    return r->class == CLASS_FLOAT && y->dtype == DT_FLOAT && y->stride[3] == 1 &&
           y->stride[2] == y->dim[3] && y->dim[1] >= b->device->simd->width &&
           view_count(x) <= TURNED * view_count(y);
}
static bool take_image(Build *b, RoiAlign *r) {
    static const int last[] = {0, 2, 3, 1};
    const View *x = &b->step->view[X];
    const int dtype = class_dtype(r->class);
    const View v = r->across ? view_axes(x, 4, last) : *x;
    r->from = operand_as_is(b, X);
    r->from.view = v;
    return (x->dtype == dtype && view_is_dense(&v)) || operand_pack_as(b, X, &v, dtype, &r->from);
}
bool roialign_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *step = b->step;
    const View *v = step->view;
    RoiAlign *r = ARENA_NEW(b->arena, RoiAlign, 1);
    for (int j = 0; j < 4; j++)
        if (v[j].format || (j < BATCH && !dtype_numeric(v[j].dtype))) return false;
    r->class = view_class(&v[X], 1);
    if (view_count(&v[Y]) == 0 || r->class > CLASS_DOUBLE) return false;
    r->across = is_across(b, r);
    if (!take_image(b, r)) return false;
    r->y = v[Y], r->x = r->from.view, r->roi = v[ROI], r->batch = v[BATCH];
    r->simd = b->device->simd, r->size = dtype_size(r->from.view.dtype);
    r->store = r->simd->store[r->class][r->y.dtype];
    r->boxes = roi_boxes(step->param), r->greatest = step->param[ROI_MODE] != 0;
    r->parts = count_parts(b, r->y.dim[0], view_count(&r->y), r->across ? 2 : 8);
    make_room(b, r);
    k->run = roialign_run, k->self = r;
    return true;
}
