/* quantize.c -- runs the element-wise programs of QuantizeLinear to 8 bits (see requantize.c for
   their form) in one loop from floats to bytes, and those of DequantizeLinear from 8 bits in one
   loop from bytes to floats. The scale and the zero point must be the same along whole rows: they
   are per tensor, per axis other than the last, or per block of rows. */
#include "ops/base/least.h"
#include "ops/cpu/cpu.h"
#include <string.h>

/* LEAST: elements of a row, at least; PIECE: elements of a piece of a row, at most; ROWS: rows that
   are computed by one call, at most */
enum { LEAST = 16, PIECE = 8192, ROWS = 64 };
enum { Y, X, SCALE, ZERO, VIEWS };

typedef struct Quantize {
    View view[VIEWS];
    float scale, zero, low, high; /* scale, zero: their values if they are known; zero is 0 if
                                     absent */
    bool scaled, shifted;         /* the scale, the zero point are read from their views */
    Nest nest;                    /* over all four views */
    int64_t columns, pieces;      /* elements and pieces of a row */
    int parts;
    void (*to)(uint8_t *y, const float *x, const ByteRows *);
    void (*from)(float *y, const void *x, const ByteRows *); /* NULL: quantizes */
} Quantize;
typedef struct Job {
    const Quantize *q;
    void *const *slot;
    void *work;
} Job;

static float zero_at(const Quantize *q, const char *at) {
    return q->view[ZERO].dtype == DT_INT8 ? *(const int8_t *)at : *(const uint8_t *)at;
}
/* Runs n elements, from the given one on, of each of some rows along the last axis but one. */
static void run_rows(const Quantize *q, char *const base[], const int64_t offset[], int64_t first,
                     int64_t n, int64_t rows) {
    const int64_t *stride = q->nest.stride + (q->nest.rank > 1 ? q->nest.rank - 2 : 0);
    const int64_t by = stride[SCALE * STEP_RANK], zero_by = stride[ZERO * STEP_RANK];
    float scale[ROWS], zero[ROWS];
    int64_t at[VIEWS];
    memcpy(at, offset, sizeof at);
    at[Y] += first, at[X] += first;
    ByteRows b = {
        .n = n,
        .ys = stride[Y * STEP_RANK],
        .xs = stride[X * STEP_RANK],
        .scale = scale,
        .zero = zero,
        .low = q->low,
        .high = q->high
    };
    for (; rows > 0; rows -= b.rows) {
        b.rows = int64_least(rows, ROWS);
        for (int64_t r = 0; r < b.rows; r++) {
            scale[r] = q->scaled ? ((const float *)base[SCALE])[at[SCALE] + r * by] : q->scale;
            zero[r] = q->shifted ? zero_at(q, base[ZERO] + at[ZERO] + r * zero_by) : q->zero;
        }
        if (q->from) q->from((float *)base[Y] + at[Y], base[X] + at[X], &b);
        else q->to((uint8_t *)base[Y] + at[Y], (const float *)base[X] + at[X], &b);
        for (int v = 0; v < VIEWS; v++) at[v] += b.rows * stride[v * STEP_RANK];
    }
}
static void run_part(void *job, int k) {
    const Job *j = job;
    const Quantize *q = j->q;
    const int axis = q->nest.rank - 2;
    const int64_t all = q->nest.count / q->columns * q->pieces, end = all * (k + 1) / q->parts;
    char *base[VIEWS] = {0};
    for (int v = 0; v < VIEWS; v++)
        if (v <= X || (v == SCALE ? q->scaled : q->shifted))
            base[v] = view_at(&q->view[v], j->slot, j->work);
    for (int64_t at = all * k / q->parts, rows; at < end; at += rows) {
        const int64_t first = at % q->pieces * PIECE, left = q->columns - first;
        int64_t index[STEP_RANK] = {0}, offset[VIEWS] = {0};
        nest_goto(&q->nest, 1, at / q->pieces, index, offset);
        rows = q->pieces == 1 && axis >= 0 ? q->nest.dim[axis] - index[axis] : 1;
        if (rows > end - at) rows = end - at;
        run_rows(q, base, offset, first, left < PIECE ? left : PIECE, rows);
    }
}
static int quantize_run(const Kernel *k, void *const slot[], void *work) {
    const Quantize *q = k->self;
    Job job = {q, slot, work};
    if (q->parts > 1) team_run(k->device->team, q->parts, run_part, &job);
    else if (q->nest.count) run_part(&job, 0);
    return 0;
}

/* Reads a parameter: a constant of the program, or a view. *of_view says which. */
static bool parameter(const Step *s, const Scalar *c, float *number, bool *of_view, View *view) {
    *number = (float)c->k;
    *of_view = c->op == C_VIEW;
    if (*of_view) *view = s->view[c->a];
    return c->op == C_VIEW || c->op == C_CONST;
}
/* Finds the views and constants of the program. False: it has another form. */
static bool quantize_find(const Step *s, const Scalar code[], int ncode, Quantize *q) {
    int i = ncode - 1;
    if (code[i].op == C_WHERE) { /* NaN becomes the least integer */
        const Scalar *w = &code[i];
        if (code[w->a].op != C_ISNAN || code[w->a].a != w->c || code[w->b].op != C_CONST ||
            (float)code[w->b].k != q->low)
            return false;
        i = w->c;
    } else if (q->low < 0) return false;
    if (code[i].op == C_ADD) {
        if (!parameter(s, &code[code[i].b], &q->zero, &q->shifted, &q->view[ZERO])) return false;
        i = code[i].a;
    }
    if (code[i].op != C_ROUND || code[code[i].a].op != C_DIV) return false;
    const Scalar *ratio = &code[code[i].a], *x = &code[ratio->a];
    if (x->op != C_VIEW) return false;
    q->view[X] = s->view[x->a];
    return parameter(s, &code[ratio->b], &q->scale, &q->scaled, &q->view[SCALE]);
}
static bool dequantize_find(const Step *s, const Scalar code[], int ncode, Quantize *q) {
    const Scalar *product = &code[ncode - 1];
    if (product->op != C_MUL) return false;
    const Scalar *x = &code[product->a];
    if (x->op == C_SUB) {
        if (!parameter(s, &code[x->b], &q->zero, &q->shifted, &q->view[ZERO])) return false;
        x = &code[x->a];
    }
    if (x->op != C_VIEW) return false;
    q->view[X] = s->view[x->a];
    return parameter(s, &code[product->b], &q->scale, &q->scaled, &q->view[SCALE]);
}
static bool types_fit(const Quantize *q) {
    const int x = q->view[X].dtype;
    return (q->from ? dtype_is_byte(x) : x == DT_FLOAT) &&
           (!q->scaled || q->view[SCALE].dtype == DT_FLOAT) &&
           (!q->shifted || dtype_is_byte(q->view[ZERO].dtype));
}
static bool make_nest(Build *b, Quantize *q) {
    const View none = {.rank = q->view[Y].rank};
    const View *views[VIEWS] = {
        &q->view[Y],
        &q->view[X],
        q->scaled ? &q->view[SCALE] : &none,
        q->shifted ? &q->view[ZERO] : &none
    };
    q->nest = nest_new(b->arena, views, VIEWS);
    nest_with_axis(&q->nest);
    const int last = q->nest.rank - 1;
    q->columns = q->nest.dim[last];
    q->pieces = (q->columns + PIECE - 1) / PIECE;
    for (int v = 0; v < VIEWS; v++)
        if (q->nest.stride[v * STEP_RANK + last] != (v <= X)) return false;
    return q->columns >= LEAST;
}

bool quantize_build(Build *b, const Scalar code[], int ncode, int parts, Kernel *k) {
    const Step *s = b->step;
    const Simd *simd = b->device->simd;
    const int to = s->view[0].dtype;
    if (to != DT_FLOAT && to != DT_UINT8 && to != DT_INT8) return false;
    Quantize *q = ARENA_NEW(b->arena, Quantize, 1);
    *q = (Quantize){.low = to == DT_UINT8 ? 0 : -128,
                    .high = to == DT_UINT8 ? 255 : 127,
                    .view = {s->view[0]},
                    .to = simd->to_bytes};
    if (!(to == DT_FLOAT ? dequantize_find : quantize_find)(s, code, ncode, q)) return false;
    if (to == DT_FLOAT) q->from = simd->from_bytes[q->view[X].dtype == DT_INT8];
    if (!types_fit(q) || !make_nest(b, q)) return false;
    const int64_t all = q->nest.count / q->columns * q->pieces;
    q->parts = parts < all ? parts : (int)(all > 0 ? all : 1);
    k->run = quantize_run;
    k->self = q;
    return true;
}
