/* scan.c -- cumsum and cumprod (ops/cumsum.c): along the axis, for some columns of another axis
   side by side, sums of floats in doubles; of columns that lie side by side a row is added and
   written in one loop, as many of them as the sums' place takes, since short pieces of rows are
   read far more slowly than whole rows. Sums of int64 along runs of memory are added one after the
   other. Columns go to threads. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/base/least.h"
#include "ops/cpu/cpu.h"

/* Columns that lie apart may share places of a cache; those that lie side by side are given to
   threads by COLUMNS and added by WIDE. */
enum { COLUMNS = 128, WIDE = 1024, APART = 8 };
typedef struct Cumulated {
    View y, x;
    Nest rest; /* y and x without the axis */
    int axis, parts, size;
    bool exclusive, reverse, runs; /* runs: int64, along memory */
    ReduceKind kind;
    Class wide;
    int64_t columns, blocks, together; /* columns of a block, blocks of a row of the rest, blocks
                                          that are added at once */
    Operand from;
    void (*merge)(void *acc, const void *x, int64_t stride, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
    void (*cumulate)(float *y, double *acc, const float *x, int64_t n); /* NULL: not so */
} Cumulated;
typedef struct ScanRun {
    const Cumulated *s;
    char *y;
    const char *x;
} ScanRun;

static void run_columns(const ScanRun *run, const int64_t offset[2], int64_t n) {
    const Cumulated *s = run->s;
    const int last = s->rest.rank - 1, y_size = dtype_size(s->y.dtype);
    const int64_t ys = s->rest.stride[last], xs = s->rest.stride[STEP_RANK + last],
                  length = s->y.dim[s->axis];
    double acc[WIDE]; /* or any other class */
    reduce_start(acc, s->wide, s->kind, n);
    for (int64_t j = 0; j < length; j++) {
        const int64_t at = s->reverse ? length - 1 - j : j;
        char *y = run->y + (offset[0] + at * s->y.stride[s->axis]) * y_size;
        const char *x = run->x + (offset[1] + at * s->x.stride[s->axis]) * s->size;
        if (s->cumulate) {
            s->cumulate((float *)(void *)y, acc, (const float *)(const void *)x, n);
            continue;
        }
        if (s->exclusive) s->store(y, ys, acc, n);
        s->merge(acc, x, xs, n);
        if (!s->exclusive) s->store(y, ys, acc, n);
    }
}
static void run_along(const ScanRun *run, const int64_t offset[2]) {
    const Cumulated *s = run->s;
    const int64_t n = s->y.dim[s->axis];
    uint64_t *y = (uint64_t *)(void *)run->y + offset[0], acc = 0;
    const uint64_t *x = (const uint64_t *)(const void *)run->x + offset[1];
    if (s->reverse)
        for (int64_t j = n - 1; j >= 0; j--) y[j] = acc += x[j];
    else
        for (int64_t j = 0; j < n; j++) y[j] = acc += x[j];
}
static void run_scan_part(void *job, int k) {
    const ScanRun *run = job;
    const Nest *rest = &run->s->rest;
    const int64_t width = rest->dim[rest->rank - 1],
                  all = width ? rest->count / width * run->s->blocks : 0,
                  end = all * (k + 1) / run->s->parts;
    for (int64_t at = all * k / run->s->parts, taken; at < end; at += taken) {
        const int64_t block = at % run->s->blocks, first = block * run->s->columns;
        int64_t index[STEP_RANK], offset[2];
        taken = int64_least(run->s->together, int64_least(end - at, run->s->blocks - block));
        nest_goto(rest, 1, at / run->s->blocks, index, offset);
        for (int v = 0; v < 2; v++)
            offset[v] += first * rest->stride[v * STEP_RANK + rest->rank - 1];
        if (run->s->runs) run_along(run, offset);
        else run_columns(run, offset, int64_least(width - first, taken * run->s->columns));
    }
}
static int scan_run(const Kernel *k, void *const slot[], void *work) {
    const Cumulated *s = k->self;
    ScanRun run = {s, view_at(&s->y, slot, work), operand_at(&s->from, slot, work)};
    team_run(k->device->team, s->parts, run_scan_part, &run);
    return 0;
}

static bool scan_build(Build *b, ReduceKind kind, Kernel *k) {
    const Step *step = b->step;
    const View *y = &step->view[0], *x = &step->view[1];
    Cumulated *s = ARENA_NEW(b->arena, Cumulated, 1);
    if (!dtype_numeric(y->dtype) || x->dtype != y->dtype || x->format || view_count(y) == 0)
        return false;
    const Class class = view_class(x, 1);
    if (!operand_typed(b, 1, class_dtype(class), &s->from)) return false;
    s->y = *y, s->x = s->from.view, s->axis = (int)step->param[OP_AXIS];
    s->exclusive = step->param[CUM_EXCLUSIVE] != 0, s->reverse = step->param[CUM_REVERSE] != 0;
    s->kind = kind, s->wide = class_wide(class, kind), s->size = dtype_size(s->x.dtype);
    s->merge = b->device->simd->merge[class][kind];
    s->store = b->device->simd->store[s->wide][y->dtype];
    View of_y = s->y, of_x = s->x;
    of_y.dim[s->axis] = of_x.dim[s->axis] = 1;
    s->rest = nest_new(b->arena, (const View *const[]){&of_y, &of_x}, 2);
    nest_with_axis(&s->rest);
    const int last = s->rest.rank - 1;
    const int64_t across = s->rest.stride[STEP_RANK + last];
    s->runs = kind == REDUCE_SUM && !s->exclusive && dtype_size(y->dtype) == 8 &&
              (class == CLASS_INT || class == CLASS_UINT) && y->stride[s->axis] == 1 &&
              s->x.stride[s->axis] == 1;
    if (kind == REDUCE_SUM && !s->exclusive && y->dtype == DT_FLOAT && across == 1 &&
        s->rest.stride[last] == 1)
        s->cumulate = b->device->simd->cumulate;
    s->columns = s->runs ? 1 : across == 1 ? COLUMNS : APART;
    s->together = across == 1 && s->rest.stride[last] == 1 && !s->runs ? WIDE / COLUMNS : 1;
    s->blocks = (s->rest.dim[last] + s->columns - 1) / s->columns;
    s->parts = count_parts(b, s->rest.count / s->rest.dim[last] * s->blocks, view_count(y));
    k->run = scan_run, k->self = s;
    return true;
}
bool cumsum_build(Build *b, int choice, Kernel *k) {
    return (void)choice, scan_build(b, REDUCE_SUM, k);
}
bool cumprod_build(Build *b, int choice, Kernel *k) {
    return (void)choice, scan_build(b, REDUCE_PROD, k);
}
