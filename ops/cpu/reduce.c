/* reduce.c -- reductions over the last axes of a view with any strides.

   If the kept axes have smaller strides than the reduced ones, or only a few elements are reduced,
   whole blocks of outputs are accumulated side by side ("across"). Otherwise each output is
   computed by itself ("along"). Sums and products of floats are kept in doubles, so that their
   order hardly matters. */
#include "ops/cpu/cpu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* outputs that are computed together, by reduce_runs and by reduce_across */
enum { COLUMNS = 256, ACROSS = 1024 };
enum { FEW = 8, FEW_BYTES = 16 }; /* so few elements are reduced faster across */

typedef struct Reduce {
    Operand x;
    Tail tail;
    ReduceKind kind;
    ComputeClass wide;
    Nest kept, reduced; /* kept: view 0 is the output, view 1 the input; reduced: the input */
    bool across;
    int64_t count;         /* elements that are reduced to each output */
    int in_size, out_size; /* bytes of an element */
    void (*merge)(void *acc, const void *x, int64_t stride, int64_t n);
    void (*merge_rows)(void *acc, const void *x, int64_t xs, int64_t rows, int64_t n);
    void (*total)(void *acc, const void *x, int64_t n);
    /* NULL: not a sum of floats */
    void (*row_sums)(double *acc, const float *x, int64_t xs, int64_t n, int64_t rows);
    uint8_t flip; /* of sums of bytes: 128 if they are signed */
    bool bytes;   /* a sum of rows of bytes, which are read as they are */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
} Reduce;

typedef union Wide {
    float f;
    double d;
    int64_t i;
    uint64_t u;
} Wide;

/* Sums up n bytes, each after its bits `flip` were flipped. Words of 8 bytes become 4 sums of
   pairs, and up to BLOCK of these words are added before the sums could exceed 16 bits. */
static int64_t sum_bytes(const uint8_t *x, int64_t n, uint8_t flip) {
    enum { WORD = 8, BLOCK = 128 };
    const uint64_t pairs = 0x00ff00ff00ff00ff, fours = 0x0000ffff0000ffff,
                   flips = UINT64_C(0x0101010101010101) * flip;
    int64_t sum = 0, at = 0;
    while (at + WORD <= n) {
        const int64_t left = (n - at) / WORD, words = left < BLOCK ? left : BLOCK;
        uint64_t lanes = 0;
        for (int64_t k = 0; k < words; k++) {
            uint64_t word;
            memcpy(&word, x + at + k * WORD, WORD);
            word ^= flips;
            lanes += (word & pairs) + (word >> 8 & pairs);
        }
        lanes = (lanes & fours) + (lanes >> 16 & fours);
        sum += (int64_t)(lanes & UINT32_MAX) + (int64_t)(lanes >> 32);
        at += words * WORD;
    }
    for (; at < n; at++) sum += x[at] ^ flip;
    return sum;
}
/* acc[j] += the sum of n bytes from x + j * xs on. Signed bytes are summed plus 128. */
static void byte_rows(const Reduce *r, int64_t *acc, const char *x, int64_t xs, int64_t n,
                      int64_t rows) {
    for (int64_t j = 0; j < rows; j++)
        acc[j] += sum_bytes((const uint8_t *)x + j * xs, n, r->flip) - n * r->flip;
}

void reduce_start(void *acc, ComputeClass wide, ReduceKind kind, int64_t n) {
    static const double real[REDUCE_KINDS] = {0, 0, -(double)INFINITY, (double)INFINITY, 1};
    static const int64_t integer[REDUCE_KINDS] = {0, 0, INT64_MIN, INT64_MAX, 1};
    static const uint64_t natural[REDUCE_KINDS] = {0, 0, 0, UINT64_MAX, 1};
    static const int32_t narrow[REDUCE_KINDS] = {0, 0, INT32_MIN, INT32_MAX, 1};
    static const int16_t narrower[REDUCE_KINDS] = {0, 0, INT16_MIN, INT16_MAX, 1};
    static const uint8_t byte[2][REDUCE_KINDS] = {
        {[REDUCE_MAX] = 1 + (uint8_t)INT8_MAX, [REDUCE_MIN] = INT8_MAX},
        {[REDUCE_MIN] = UINT8_MAX}};
    switch (wide) {
    case CLASS_FLOAT:
        for (int64_t j = 0; j < n; j++) ((float *)acc)[j] = (float)real[kind];
        break;
    case CLASS_DOUBLE:
        for (int64_t j = 0; j < n; j++) ((double *)acc)[j] = real[kind];
        break;
    case CLASS_INT:
        for (int64_t j = 0; j < n; j++) ((int64_t *)acc)[j] = integer[kind];
        break;
    case CLASS_INT32:
        for (int64_t j = 0; j < n; j++) ((int32_t *)acc)[j] = narrow[kind];
        break;
    case CLASS_INT16:
        for (int64_t j = 0; j < n; j++) ((int16_t *)acc)[j] = narrower[kind];
        break;
    case CLASS_INT8:
    case CLASS_UINT8: memset(acc, byte[wide == CLASS_UINT8][kind], (size_t)n); break;
    default:
        for (int64_t j = 0; j < n; j++) ((uint64_t *)acc)[j] = natural[kind];
        break;
    }
}

void reduce_divide(void *acc, ComputeClass wide, int64_t count, int64_t n) {
    switch (wide) {
    case CLASS_FLOAT:
        for (int64_t j = 0; j < n; j++) ((float *)acc)[j] /= (float)count;
        break;
    case CLASS_DOUBLE:
        for (int64_t j = 0; j < n; j++) ((double *)acc)[j] /= (double)count;
        break;
    case CLASS_INT:
        for (int64_t j = 0; j < n; j++)
            ((int64_t *)acc)[j] = count ? ((int64_t *)acc)[j] / count : 0;
        break;
    default:
        for (int64_t j = 0; j < n; j++)
            ((uint64_t *)acc)[j] = count ? ((uint64_t *)acc)[j] / (uint64_t)count : 0;
        break;
    }
}

static void finish_reduction(const Reduce *r, void *acc, char *y, int64_t stride, int64_t n) {
    if (r->kind == REDUCE_MEAN) reduce_divide(acc, r->wide, r->count, n);
    r->store(y, stride, acc, n);
}

/* Computes one output. Runs that are not contiguous are gathered first. */
static void reduce_along(const Reduce *r, char *y, const char *x) {
    const Nest *n = &r->reduced;
    const int64_t length = n->dim[n->rank - 1], stride = n->stride[n->rank - 1];
    int64_t index[STEP_RANK] = {0}, offset[1] = {0};
    Wide acc, run[COLUMNS];
    reduce_start(&acc, r->wide, r->kind, 1);
    for (bool more = r->count > 0; more; more = nest_next(n, 1, index, offset)) {
        const char *from = x + offset[0] * r->in_size;
        if (r->bytes) byte_rows(r, &acc.i, from, 0, length, 1);
        else if (stride == 1) r->total(&acc, from, length);
        else
            for (int64_t at = 0; at < length; at += COLUMNS) {
                const int64_t part = length - at < COLUMNS ? length - at : COLUMNS;
                r->load(run, from + at * stride * r->in_size, stride, part);
                r->total(&acc, run, part);
            }
    }
    finish_reduction(r, &acc, y, 1, 1);
}

/* Computes some neighbouring outputs, each from one contiguous run. Steps that are done once per
   output are done for all of them together. */
static void reduce_runs(const Reduce *r, char *y, int64_t y_stride, const char *x, int64_t x_stride,
                        int64_t outputs) {
    Wide acc[COLUMNS];
    const int size = dtype_size(class_dtype(r->wide));
    reduce_start(acc, r->wide, r->kind, outputs);
    if (r->row_sums)
        r->row_sums(&acc[0].d, (const float *)(const void *)x, x_stride, r->count, outputs);
    else if (r->bytes) byte_rows(r, &acc[0].i, x, x_stride, r->count, outputs);
    else
        for (int64_t j = 0; j < outputs; j++)
            r->total((char *)acc + j * size, x + j * x_stride * r->in_size, r->count);
    finish_reduction(r, acc, y, y_stride, outputs);
}

/* Computes `columns` neighbouring outputs. */
static void reduce_across(const Reduce *r, char *y, int64_t y_stride, const char *x,
                          int64_t x_stride, int64_t columns) {
    Wide acc[ACROSS];
    const Nest *n = &r->reduced;
    int64_t index[STEP_RANK] = {0}, offset[1] = {0};
    reduce_start(acc, r->wide, r->kind, columns);
    const int rows = x_stride == 1; /* axes that are merged at once */
    for (bool more = r->count > 0; more; more = nest_next(n, rows, index, offset)) {
        const char *from = x + offset[0] * r->in_size;
        if (rows) r->merge_rows(acc, from, n->stride[n->rank - 1], n->dim[n->rank - 1], columns);
        else r->merge(acc, from, x_stride, columns);
    }
    finish_reduction(r, acc, y, y_stride, columns);
}

static void reduce_row(const Reduce *r, char *y, const char *x) {
    const Nest *n = &r->kept;
    const int64_t columns = n->dim[n->rank - 1], ys = n->stride[n->rank - 1],
                  xs = n->stride[STEP_RANK + n->rank - 1];
    const bool runs = n->dim[n->rank - 1] > 1 && r->reduced.rank == 1 &&
                      r->reduced.stride[0] == 1 && r->count > 0;
    const int64_t step = r->across ? ACROSS : runs ? COLUMNS : 1;
    for (int64_t at = 0; at < columns; at += step) {
        char *to = y + at * ys * r->out_size;
        const char *from = x + at * xs * r->in_size;
        const int64_t part = columns - at < step ? columns - at : step;
        if (r->across) reduce_across(r, to, ys, from, xs, part);
        else if (runs) reduce_runs(r, to, ys, from, xs, part);
        else reduce_along(r, to, from);
    }
}

static int reduce_run(const Kernel *k, void *const slot[], void *work) {
    const Reduce *r = k->self;
    const char *x = operand_at(&r->x, slot, work);
    char *y = view_at(&r->tail.into, slot, work);
    int64_t index[STEP_RANK] = {0}, offset[2] = {0};
    do reduce_row(r, y + offset[0] * r->out_size, x + offset[1] * r->in_size);
    while (nest_next(&r->kept, 1, index, offset));
    tail_run(&r->tail, slot, work);
    return 0;
}

static int reduce_choices(const Device *d, const Step *s) {
    if (s->view[0].rank > s->view[1].rank || s->nparam < 1 || s->param[REDUCE_KIND] < 0 ||
        s->param[REDUCE_KIND] >= REDUCE_KINDS ||
        (s->param[REDUCE_KIND] >= REDUCE_SQUARES &&
         !d->simd->merge[view_class(&s->view[1], 1)][s->param[REDUCE_KIND]]))
        return 0;
    return dtype_numeric(s->view[0].dtype) && dtype_numeric(s->view[1].dtype);
}

/* Splits the input into its kept and its reduced axes. */
static void make_nests(Build *b, Reduce *r) {
    const View *x = &r->x.view;
    View kept = *x, reduced = *x;
    kept.rank = r->tail.into.rank;
    reduced.rank = x->rank - kept.rank;
    for (int a = 0; a < reduced.rank; a++) {
        reduced.dim[a] = x->dim[a + kept.rank];
        reduced.stride[a] = x->stride[a + kept.rank];
    }
    r->kept = nest_new(b->arena, (const View *const[]){&r->tail.into, &kept}, 2);
    r->reduced = nest_new(b->arena, (const View *const[]){&reduced}, 1);
    r->count = r->reduced.count;
    nest_with_axis(&r->kept);
    nest_with_axis(&r->reduced);
}

static bool goes_across(const Reduce *r, const Simd *simd) {
    const int64_t k = r->kept.stride[STEP_RANK + r->kept.rank - 1],
                  j = r->reduced.stride[r->reduced.rank - 1],
                  n = r->reduced.dim[r->reduced.rank - 1],
                  few = r->row_sums && j == 1 ? simd->few_summed : FEW;
    return r->kept.dim[r->kept.rank - 1] > 1 &&
           (n == 1 || llabs(k) < llabs(j) || (n <= few && k == n * j));
}

/* The class in which x is reduced. Maxima and minima have the narrow class of x; sums and products
   of narrow classes are computed in int64. */
static ComputeClass reduced_class(const View *x, ReduceKind kind) {
    const bool extreme = kind == REDUCE_MAX || kind == REDUCE_MIN;
    if (extreme && x->dtype == DT_INT8) return CLASS_INT8;
    if (extreme && x->dtype == DT_UINT8) return CLASS_UINT8;
    switch (x->dtype) {
    case DT_INT32:
    case DT_UINT16: return CLASS_INT32;
    case DT_INT16:
    case DT_INT8:
    case DT_UINT8:
    case DT_BOOL: return CLASS_INT16;
    default: return view_class(x, 1);
    }
}
/* Whether the kept axes of x are in another order in memory than those of y. Then y would be
   written one element per cache line. */
static bool crosses(const View *y, const View *x) {
    int of_x = -1, of_y = -1;
    for (int a = 0; a < y->rank; a++) {
        if (y->dim[a] > 1 && x->stride[a] == 1) of_x = a;
        if (y->dim[a] > 1 && y->stride[a] == 1) of_y = a;
    }
    return of_x >= 0 && of_y >= 0 && of_x != of_y;
}
/* Whether enough bytes are summed that lie side by side. */
static bool sums_bytes(const View *y, const View *x, ReduceKind kind) {
    return kind == REDUCE_SUM && dtype_is_byte(x->dtype) && x->rank == y->rank + 1 &&
           x->stride[y->rank] == 1 && x->dim[y->rank] >= FEW_BYTES && !x->format;
}
static bool reduce_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    Reduce *r = ARENA_NEW(b->arena, Reduce, 1);
    const View *x = &b->step->view[1];
    const Simd *simd = b->device->simd;
    r->kind = (ReduceKind)b->step->param[REDUCE_KIND];
    const ComputeClass class = reduced_class(x, r->kind);
    r->wide = class_wide(class, r->kind);
    const int in = class_dtype(class), out = r->wide == CLASS_DOUBLE ? in : class_dtype(r->wide);
    r->bytes = sums_bytes(&b->step->view[0], x, r->kind);
    r->flip = r->bytes && x->dtype == DT_INT8 ? 128 : 0;
    if (r->bytes || x->dtype == in) r->x = operand_as_is(b, 1);
    else if (!operand_packed(b, 1, x, in, &r->x)) return false;
    View kept = r->x.view;
    kept.rank = b->step->view[0].rank;
    if (!(crosses(&b->step->view[0], &kept) ? tail_like(b, out, &kept, &r->tail)
                                            : tail_new(b, out, TAIL_ANY, &r->tail)))
        return false;
    r->merge = simd->merge[class][r->kind];
    r->merge_rows = simd->merge_rows[class][r->kind];
    r->total = simd->total[class][r->kind];
    if (class == CLASS_FLOAT && (r->kind == REDUCE_SUM || r->kind == REDUCE_MEAN))
        r->row_sums = simd->row_sums;
    r->load = simd->load[class][in];
    r->store = simd->store[r->wide][out];
    r->in_size = r->bytes ? 1 : dtype_size(in), r->out_size = dtype_size(out);
    make_nests(b, r);
    r->across = !r->bytes && goes_across(r, simd);
    k->run = reduce_run;
    k->self = r;
    return true;
}
const Maker reduce_maker = {.choices = reduce_choices, .build = reduce_build, .rows = true};
