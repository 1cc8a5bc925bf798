/* scan.c -- cumsum and cumprod (ops/cumsum.c). They run along the axis for several columns (places
   of another axis) side by side; floats are accumulated in doubles. Columns are distributed over
   the threads. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/base/least.h"
#include "ops/cpu/cpu.h"

/* The columns of a block, which one thread computes. Adjacent columns (BESIDE) share cache lines,
   so their blocks are larger than those of columns that lie apart (APART). */
enum { BESIDE = 128, APART = 8 };
typedef struct Cumulated {
    View y, x;
    Nest rest; /* over y and x without the axis */
    int axis, parts, size;
    int64_t columns, blocks; /* columns of a block; blocks of a row of `rest` */
    Cumulation scan;
    CumulationLoop *run;
} Cumulated;
typedef struct ScanRun {
    const Cumulated *s;
    char *y;
    const char *x;
} ScanRun;

static void run_scan_part(void *job, int k) {
    const ScanRun *run = job;
    const Cumulated *s = run->s;
    const Nest *rest = &s->rest;
    const int row = rest->rank - 2; /* the axis of blocks, if one has all columns */
    const int64_t width = rest->dim[rest->rank - 1], all = rest->count / width * s->blocks,
                  end = all * (k + 1) / s->parts;
    for (int64_t at = all * k / s->parts, taken; at < end; at += taken) {
        const int64_t block = at % s->blocks, first = block * s->columns;
        int64_t index[STEP_RANK] = {0}, offset[2];
        Cumulation scan = s->scan;
        taken = int64_least(end - at, s->blocks - block);
        nest_goto(rest, 1, at / s->blocks, index, offset);
        scan.n = int64_least(width - first, taken * s->columns);
        scan.blocks = 1;
        if (s->blocks == 1 && row >= 0)
            taken = scan.blocks = int64_least(end - at, rest->dim[row] - index[row]);
        scan.y = run->y + (offset[0] + first * scan.yn) * s->size;
        scan.x = run->x + (offset[1] + first * scan.xn) * s->size;
        s->run(&scan);
    }
}
static int scan_run(const Kernel *k, void *const slot[], void *work) {
    const Cumulated *s = k->self;
    ScanRun run = {s, view_at(&s->y, slot, work), view_at(&s->x, slot, work)};
    team_run(k->device->team, s->parts, run_scan_part, &run);
    return 0;
}

/* Reverses the axis: the view begins at its end and goes backwards. */
static void turn(View *v, int axis) {
    v->offset += (v->dim[axis] - 1) * v->stride[axis];
    v->stride[axis] = -v->stride[axis];
}
static bool scan_build(Build *b, ReduceKind kind, Kernel *k) {
    const Step *step = b->step;
    Cumulated *s = ARENA_NEW(b->arena, Cumulated, 1);
    s->y = step->view[0], s->x = step->view[1], s->axis = (int)step->param[OP_AXIS];
    if (!dtype_numeric(s->y.dtype) || s->x.dtype != s->y.dtype || s->x.format ||
        view_count(&s->y) == 0)
        return false;
    s->run = b->device->simd->cumulate[kind == REDUCE_PROD][s->y.dtype];
    if (!s->run) return false;
    s->size = dtype_size(s->y.dtype);
    if (step->param[CUM_REVERSE]) turn(&s->y, s->axis), turn(&s->x, s->axis);
    View of_y = s->y, of_x = s->x;
    of_y.dim[s->axis] = of_x.dim[s->axis] = 1;
    s->rest = nest_new(b->arena, (const View *const[]){&of_y, &of_x}, 2);
    nest_with_axis(&s->rest);
    const int last = s->rest.rank - 1;
    s->scan = (Cumulation){.length = s->y.dim[s->axis],
                           .ys = s->y.stride[s->axis],
                           .xs = s->x.stride[s->axis],
                           .yn = s->rest.stride[last],
                           .xn = s->rest.stride[STEP_RANK + last],
                           .yb = last > 0 ? s->rest.stride[last - 1] : 0,
                           .xb = last > 0 ? s->rest.stride[STEP_RANK + last - 1] : 0,
                           .exclusive = step->param[CUM_EXCLUSIVE] != 0};
    s->columns = s->scan.yn == 1 && s->scan.xn == 1 ? BESIDE : APART;
    s->blocks = (s->rest.dim[last] + s->columns - 1) / s->columns;
    s->parts = count_parts(b, s->rest.count / s->rest.dim[last] * s->blocks, view_count(&s->y), 1);
    k->run = scan_run, k->self = s;
    return true;
}
bool cumsum_build(Build *b, int choice, Kernel *k) {
    return (void)choice, scan_build(b, REDUCE_SUM, k);
}
bool cumprod_build(Build *b, int choice, Kernel *k) {
    return (void)choice, scan_build(b, REDUCE_PROD, k);
}
