/* planes.c -- pooling plane by plane, one axis after the other: the maximum or sum over a window is
   taken first down its columns, then across them.

   Some rows at a time are copied together with their padding, which does not change any result, or
   read in place. Each row of the window, and then each column, is one long vector operation over
   all of them. This also computes results for the columns between two rows, which are not used. For
   maxima of floats whose windows do not move by one row and have no padding along the last two
   axes, all rows of the window are one operation, which reads them in place. */
#include "ops/cpu/cpu.h"
#include <string.h>

/* ROOM: elements of a copy, at most, unless a single row has more. LONG_ROW: rows of so many
   elements are handled one by one if windows are parts of them. NEAR: the greatest stride along a
   row for which sums at all of its places are faster. D, H, W: the spatial axes. */
enum { ROOM = 4096, LONG_ROW = 256, NEAR = 4, D = 0, H = 1, W = 2 };
/* For Simd.peak_rows. PEAK_CELLS: rows of a window, at most. PEAK_COLUMNS: columns that windows
   reach, at least; for fewer it is slow. */
enum { PEAK_CELLS = 64, PEAK_COLUMNS = 16 };
/* The divisors of a row of outputs whose windows have `cells` cells along the other two axes. */
typedef struct Divisor {
    int64_t cells;
    float *row;
} Divisor;
typedef struct Planes {
    Operand x;
    Tail tail;
    ComputeClass class, wide;
    ReduceKind kind;
    int size, wide_size,
        byte_start;        /* byte_start: the least 8-bit integer + 1, as a byte; 0: another type */
    Window g;              /* the windows along three axes */
    int64_t pitch, height; /* pitch: elements of a row of the copy, a multiple of the stride;
                              height: output rows that are computed together */
    int64_t rows;          /* rows of the copy */
    bool flat, pads;       /* flat: each window is a part of one row; pads: windows reach
                              beyond the row */
    bool in_place;         /* the rows need no copy */
    int64_t peaks;         /* columns that windows reach, if Simd.peak_rows runs down them; or 0 */
    bool direct;           /* rows of results follow each other in the output, too */
    int64_t *cells[STEP_SPATIAL]; /* for means: by how many cells each output of an axis is
                                     divided */
    int ndivisor;                 /* for means in floats: the divisors of rows of outputs */
    Divisor *divisor;
    float *divisors; /* those of a whole plane, for images: rows as in `sum`; or NULL */
    size_t copy, line, sum, each; /* offsets into the scratch memory; each: sums at every place of a
                                     row, of which those that are not outputs are left out */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*combine)(void *y, const void *a, const void *b, int64_t n); /* NULL: sums are wider than
                                                                       the elements */
    void (*divide)(void *y, const void *a, const void *b, int64_t n);
    void (*down)(void *acc, const void *x, int64_t stride, int64_t n);
    void (*across)(void *acc, const void *x, int64_t stride, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
    const Simd *simd;
} Planes;

static void start(const Planes *p, void *to, ComputeClass class, int64_t n) {
    if (p->byte_start) memset(to, p->byte_start - 1, (size_t)n);
    else if (p->kind == REDUCE_MEAN) memset(to, 0, (size_t)(n * dtype_size(class_dtype(class))));
    else reduce_start(to, class, p->kind, n);
}
/* Copies rows of plane x from `first` on, some of which may lie in the padding. What follows a row
   in the copy is left undefined unless windows reach beyond the row, because only unused outputs
   read it. */
static void copy_rows(const Planes *p, const char *x, int64_t first, int64_t rows, char *copy) {
    if (p->pads || first < 0 || first + rows > p->g.in[H])
        start(p, copy, p->class, rows * p->pitch);
    const int64_t from = first < 0 ? -first : 0,
                  end = first + rows > p->g.in[H] ? p->g.in[H] - first : rows;
    copy += (from * p->pitch + p->g.begin[W]) * p->size;
    x += (first + from) * p->g.xs[H] * p->size;
    if (p->g.xs[W] == 1 && from < end)
        p->simd->move_rows(copy, p->pitch * p->size, x, p->g.xs[H] * p->size, end - from,
                           p->g.in[W] * p->size);
    else
        for (int64_t r = from; r < end; r++, copy += p->pitch * p->size, x += p->g.xs[H] * p->size)
            p->load(copy, x, p->g.xs[W], p->g.in[W]);
}
/* `cells` runs of n elements, `apart` bytes from one to the next. */
typedef struct Cells {
    const char *x;
    int64_t apart, stride, n, cells;
} Cells;
/* Merges the runs into y. fresh: y has no contents yet. Then accumulators that are not wider than
   the elements begin with the first runs and need no initial value. */
static void merge_cells(const Planes *p, char *y, const Cells *c, bool fresh,
                        void (*merge)(void *, const void *, int64_t, int64_t)) {
    int64_t k = 0;
    if (fresh && p->combine && c->stride == 1 && c->cells > 1)
        p->combine(y, c->x + c->apart, c->x, c->n), k = 2;
    else if (fresh && p->combine) p->load(y, c->x, c->stride, c->n), k = 1;
    else if (fresh) start(p, y, p->wide, c->n);
    for (; k < c->cells; k++) merge(y, c->x + k * c->apart, c->stride, c->n);
}
/* Adds the rows of the windows of `height` rows of outputs. */
static void add_rows(const Planes *p, float *line, const float *x, int64_t height) {
    ShiftedSum sum; /* most of it stays unused, and clearing it would take longer than the sums */
    sum.y = line, sum.x = x, sum.ys = sum.n = p->pitch, sum.xs = p->g.stride[H] * p->pitch;
    sum.planes = height, sum.terms = p->g.kernel[H];
    for (int64_t k = 0; k < sum.terms; k++)
        sum.offset[k] = k * p->g.dilation[H] * p->pitch, sum.low[k] = 0, sum.high[k] = p->pitch;
    p->simd->sum_shifted(&sum);
}
/* Merges the contribution of plane x to `height` output rows from row `oh` on. */
static void merge_rows(const Planes *p, const char *x, int64_t oh, int64_t height, char *copy,
                       char *line, bool fresh) {
    const int64_t s = p->g.stride[H], reach = (p->g.kernel[H] - 1) * p->g.dilation[H],
                  row = p->pitch * p->size;
    Cells c = {.x = x + oh * s * row,
               .apart = p->g.dilation[H] * row,
               .stride = 1,
               .n = s == 1 ? height * p->pitch : p->pitch,
               .cells = p->g.kernel[H]};
    if (!p->in_place) {
        copy_rows(p, x, oh * s - p->g.begin[H], (height - 1) * s + reach + 1, copy);
        c.x = copy;
    }
    if (fresh && s > 1 && p->ndivisor) {
        add_rows(p, (float *)(void *)line, (const float *)(const void *)c.x, height);
        return;
    }
    for (int64_t r = 0; r < (s == 1 ? 1 : height); r++, c.x += s * row)
        merge_cells(p, line + r * p->pitch * p->wide_size, &c, fresh, p->down);
}
/* Divides a row of sums by the number of their cells: `cells` times the cells along the row. */
static void divide_row(const Planes *p, char *sum, int64_t cells) {
    const Divisor *d = p->divisor;
    if (p->kind != REDUCE_MEAN) return;
    while (d < p->divisor + p->ndivisor && d->cells != cells) d++;
    if (d < p->divisor + p->ndivisor) {
        p->divide(sum, sum, d->row, p->g.out[W]);
        return;
    }
    for (int64_t ow = 0; ow < p->g.out[W]; ow++)
        reduce_divide(sum + ow * p->wide_size, p->wide, cells * p->cells[W][ow], 1);
}
static void write_rows(const Planes *p, char *y, int64_t od, int64_t oh, int64_t height,
                       char *sum) {
    const int64_t row = p->pitch / p->g.stride[W];
    if (p->divisors) p->divide(sum, sum, p->divisors + oh * row, height * row);
    if ((p->kind == REDUCE_MAX || p->divisors) && p->g.ys[W] == 1) {
        p->simd->move_rows(y + (od * p->g.ys[D] + oh * p->g.ys[H]) * p->size, p->g.ys[H] * p->size,
                           sum, row * p->size, height, p->g.out[W] * p->size);
        return;
    }
    for (int64_t r = 0; r < height; r++) {
        char *from = sum + r * row * p->wide_size;
        if (!p->divisors) divide_row(p, from, p->cells[D][od] * p->cells[H][oh + r]);
        p->store(y + (od * p->g.ys[D] + (oh + r) * p->g.ys[H]) * p->size, p->g.ys[W], from,
                 p->g.out[W]);
    }
}
/* Computes a row of outputs whose windows are parts of a row of plane x. It needs a copy only if
   there is padding. */
static void merge_row(const Planes *p, const char *x, int64_t oh, char *copy, char *sum) {
    const char *from = x + (oh * p->g.stride[H] - p->g.begin[H]) * p->g.xs[H] * p->size;
    int64_t step = p->g.xs[W];
    if (p->pads)
        copy_rows(p, x, oh * p->g.stride[H] - p->g.begin[H], 1, copy), from = copy, step = 1;
    for (int64_t k = 0; k < p->g.kernel[W]; k++)
        p->down(sum, from + k * p->g.dilation[W] * step * p->size, p->g.stride[W] * step,
                p->g.out[W]);
}
/* Takes the maxima down the columns of the windows of `height` output rows. Returns whether there
   are any: not if all planes of the windows lie in the padding. */
static bool peaks_down(const Planes *p, const char *x, int64_t od, int64_t oh, int64_t height,
                       float *line) {
    int64_t offset[PEAK_CELLS], cells = 0;
    for (int64_t k = 0; k < p->g.kernel[D]; k++) {
        const int64_t d = od * p->g.stride[D] - p->g.begin[D] + k * p->g.dilation[D];
        if (d < 0 || d >= p->g.in[D]) continue;
        for (int64_t h = 0; h < p->g.kernel[H]; h++)
            offset[cells++] =
                d * p->g.xs[D] + (oh * p->g.stride[H] + h * p->g.dilation[H]) * p->g.xs[H];
    }
    if (cells)
        p->simd->peak_rows(line, p->pitch, (const float *)(const void *)x,
                           p->g.stride[H] * p->g.xs[H], offset, cells, height, p->peaks);
    return cells > 0;
}
/* Computes output rows from `oh` on of output plane `od`. x, y: the volumes of one channel. */
static void run_rows(const Planes *p, const char *x, char *y, char *work, int64_t od, int64_t oh) {
    const int64_t left = p->g.out[H] - oh, height = left < p->height ? left : p->height,
                  n = height * p->pitch, slack = (p->g.kernel[W] - 1) * p->g.dilation[W];
    char *line = work + p->line, *sum = work + p->sum;
    if (p->flat) {
        start(p, sum, p->wide, p->g.out[W]);
        merge_row(p, x + (od * p->g.stride[D] - p->g.begin[D]) * p->g.xs[D] * p->size, oh,
                  work + p->copy, sum);
        write_rows(p, y, od, oh, 1, sum);
        return;
    }
    bool fresh = !p->peaks || !peaks_down(p, x, od, oh, height, (float *)(void *)line);
    for (int64_t k = 0; k < p->g.kernel[D] && !p->peaks; k++) {
        const int64_t d = od * p->g.stride[D] - p->g.begin[D] + k * p->g.dilation[D];
        if (d < 0 || d >= p->g.in[D]) continue;
        merge_rows(p, x + d * p->g.xs[D] * p->size, oh, height, work + p->copy, line, fresh);
        fresh = false;
    }
    if (fresh) start(p, line, p->wide, n);
    start(p, line + n * p->wide_size, p->wide, slack);
    Cells c = {.x = line,
               .apart = p->g.dilation[W] * p->wide_size,
               .stride = p->each ? 1 : p->g.stride[W],
               .n = p->each ? n : n / p->g.stride[W],
               .cells = p->g.kernel[W]};
    if (p->direct) sum = y + (od * p->g.ys[D] + oh * p->g.ys[H]) * p->size;
    merge_cells(p, p->each ? work + p->each : sum, &c, true, p->across);
    if (p->each) p->load(sum, work + p->each, p->g.stride[W], n / p->g.stride[W]);
    if (!p->direct) write_rows(p, y, od, oh, height, sum);
}
static int planes_run(const Kernel *k, void *const slot[], void *work) {
    const Planes *p = k->self;
    const View *yv = &p->tail.into, *xv = &p->x.view;
    const char *x = operand_at(&p->x, slot, work);
    char *y = view_at(yv, slot, work);
    for (int64_t n = 0; n < yv->dim[0]; n++)
        for (int64_t c = 0; c < yv->dim[1]; c++)
            for (int64_t od = 0; od < p->g.out[D]; od++)
                for (int64_t oh = 0; oh < p->g.out[H]; oh += p->height)
                    run_rows(p, x + (n * xv->stride[0] + c * xv->stride[1]) * p->size,
                             y + (n * yv->stride[0] + c * yv->stride[1]) * p->size, work, od, oh);
    tail_run(&p->tail, slot, work);
    return 0;
}

/* ---- making */
/* Makes a divisor for each number of cells that occurs. */
static void make_divisors(Build *b, Planes *p) {
    p->divisor = ARENA_NEW(b->arena, Divisor, p->g.out[D] * p->g.out[H]);
    for (int64_t k = 0; k < p->g.out[D] * p->g.out[H]; k++) {
        const int64_t cells = p->cells[D][k / p->g.out[H]] * p->cells[H][k % p->g.out[H]];
        int j = 0;
        while (j < p->ndivisor && p->divisor[j].cells != cells) j++;
        if (j < p->ndivisor) continue;
        float *row = ARENA_NEW(b->arena, float, p->g.out[W]);
        for (int64_t ow = 0; ow < p->g.out[W]; ow++) row[ow] = (float)(cells * p->cells[W][ow]);
        p->divisor[p->ndivisor++] = (Divisor){cells, row};
    }
    if (p->g.out[D] > 1 || p->flat) return;
    const int64_t row = p->pitch / p->g.stride[W];
    p->divisors = ARENA_NEW(b->arena, float, p->g.out[H] * row);
    for (int64_t k = 0; k < p->g.out[H] * row; k++)
        p->divisors[k] = k % row < p->g.out[W]
                             ? (float)(p->cells[D][0] * p->cells[H][k / row] * p->cells[W][k % row])
                             : 1;
}
/* Whether sums are so short that floats can be added as floats. */
static bool adds_floats(const Step *s, const Planes *p) {
    const StepWindow w = step_window(s);
    int64_t cells = 1;
    for (int a = 0; a < w.n; a++) cells *= w.kernel[a];
    return p->kind == REDUCE_MEAN && p->class == CLASS_FLOAT && cells <= PLANES_FEW;
}
/* Whether the windows are a single place along the axis, and none of them lies in the padding. */
static bool places_alone(const Window *g, int axis) {
    return g->kernel[axis] == 1 && !g->begin[axis] &&
           (g->out[axis] - 1) * g->stride[axis] < g->in[axis];
}
bool planes_peaks(const Step *s) {
    const StepWindow w = step_window(s);
    const View *y = &s->view[0], *x = &s->view[1];
    int64_t cells = 1, reached = 0;
    if (s->param[POOL_KIND] != POOL_MAX || y->dtype != DT_FLOAT || x->dtype != DT_FLOAT ||
        x->stride[x->rank - 1] != 1 || w.n < 2 || w.stride[w.n - 2] == 1)
        return false;
    for (int i = 0; i < w.n; i++) {
        reached = (y->dim[2 + i] - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
        if (i >= w.n - 2 && (w.begin[i] || reached > x->dim[2 + i])) return false;
        if (i < w.n - 1) cells *= w.kernel[i];
    }
    return cells <= PEAK_CELLS && reached >= PEAK_COLUMNS;
}
/* Allocates room for rows with everything that their windows reach, and chooses how many rows are
   taken together, so that vector operations are long. */
static void take_room(Build *b, Planes *p) {
    const int64_t s = p->g.stride[W], slack = (p->g.kernel[W] - 1) * p->g.dilation[W],
                  reached = (p->g.out[W] - 1) * s + slack + 1, own = p->g.begin[W] + p->g.in[W],
                  row = own > reached ? own : reached;
    p->pitch = (row + s - 1) / s * s;
    p->flat = places_alone(&p->g, D) && places_alone(&p->g, H) &&
              (p->g.out[D] * p->g.out[H] == 1 || p->g.in[W] >= LONG_ROW);
    p->pads = p->g.begin[W] > 0 || reached > p->g.in[W];
    const int64_t down =
        (p->g.out[H] - 1) * p->g.stride[H] + (p->g.kernel[H] - 1) * p->g.dilation[H] + 1;
    p->in_place = !p->pads && !p->g.begin[H] && down <= p->g.in[H] && p->g.in[W] % s == 0 &&
                  p->g.xs[W] == 1 && p->g.xs[H] == p->g.in[W];
    if (planes_peaks(b->step)) p->peaks = reached, p->pitch = (reached + s - 1) / s * s;
    p->direct = p->kind == REDUCE_MAX && p->g.ys[W] == 1 && p->g.ys[H] == p->g.out[W] &&
                p->pitch / s == p->g.out[W];
    p->height = ROOM / p->pitch < 1 || p->flat ? 1 : ROOM / p->pitch;
    if (p->height > p->g.out[H]) p->height = p->g.out[H];
    p->rows = (p->height - 1) * p->g.stride[H] + (p->g.kernel[H] - 1) * p->g.dilation[H] + 1;
    p->copy = build_bytes(b, (size_t)(p->rows * p->pitch * p->size));
    p->line = build_bytes(b, (size_t)((p->height * p->pitch + slack) * p->wide_size));
    p->sum = build_bytes(b, (size_t)(p->height * p->pitch / s * p->wide_size));
    if (s > 1 && s <= NEAR && p->g.kernel[W] > 1 && adds_floats(b->step, p))
        p->each = build_bytes(b, (size_t)(p->height * p->pitch * p->size));
}
bool planes_build(Build *b, Kernel *k) {
    const Step *s = b->step;
    const Simd *simd = b->device->simd;
    const int type = s->view[1].dtype;
    Planes *p = ARENA_NEW(b->arena, Planes, 1);
    if (view_count(&s->view[0]) == 0) return build_fail(b, "pool: the output has no elements");
    p->class = view_class(s->view, 2);
    p->kind = s->param[POOL_KIND] == POOL_MAX ? REDUCE_MAX : REDUCE_MEAN;
    const bool floats = adds_floats(s, p);
    p->wide = floats ? CLASS_FLOAT : class_wide(p->class, p->kind);
    if (p->kind == REDUCE_MAX && s->view[0].dtype == type && s->ncode == 0)
        p->byte_start = type == DT_UINT8 ? 1 : type == DT_INT8 ? 1 + (uint8_t)INT8_MIN : 0;
    const int dtype = p->byte_start ? type : class_dtype(p->class);
    p->size = dtype_size(dtype),
    p->wide_size = p->byte_start ? 1 : dtype_size(class_dtype(p->wide));
    if (!operand_typed(b, 1, dtype, &p->x) || !tail_new(b, dtype, TAIL_ANY, &p->tail)) return false;
    p->g = window_new(s, &p->tail.into, &p->x.view);
    for (int a = 0; a < STEP_SPATIAL; a++) p->cells[a] = window_cells(b, &p->g, a);
    take_room(b, p);
    if (floats) make_divisors(b, p);
    p->load = p->byte_start ? load_bytes : simd->load[p->class][dtype];
    const ComputeClass both = p->byte_start ? type == DT_INT8 ? CLASS_INT8 : CLASS_UINT8 : p->class;
    if (p->kind == REDUCE_MAX || floats) p->combine = simd->op[both][floats ? C_ADD : C_MAX];
    p->divide = simd->op[CLASS_FLOAT][C_DIV];
    p->down = floats ? simd->add_floats : simd->merge[both][p->kind];
    p->across = p->byte_start || floats ? p->down : simd->merge[p->wide][p->kind];
    p->store = p->byte_start ? store_bytes : simd->store[p->wide][dtype];
    p->simd = simd;
    k->run = planes_run, k->self = p;
    return true;
}
