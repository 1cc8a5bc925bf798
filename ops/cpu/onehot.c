/* onehot.c -- onehot (defined in ops/onehot.c). The output is first filled with the "off" value,
   then each index writes the "on" value at its place. Elements are moved as bytes. Both passes are
   distributed over the threads. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <string.h>

enum { Y, INDICES, VALUES };
typedef struct OneHot {
    View y, values;
    int size, parts;
    int64_t depth, stride; /* of the new axis */
    Operand index;         /* int64, dense */
    Nest all, row;         /* all: over y; row: over the indices and y without the new axis */
} OneHot;
typedef struct OneHotRun {
    const OneHot *o;
    char *y;
    const char *values;
    const int64_t *index;
} OneHotRun;

static bool alike(const char *x, int size) {
    for (int k = 1; k < size; k++)
        if (x[k] != x[0]) return false;
    return true;
}
/* Fills the part's range of each row of y. */
static void fill_part(void *job, int k) {
    static const int64_t none = 0;
    const OneHotRun *run = job;
    const OneHot *o = run->o;
    const int last = o->all.rank - 1;
    const int64_t width = o->all.dim[last], stride = o->all.stride[last],
                  from = width * k / o->parts, n = width * (k + 1) / o->parts - from;
    const bool bytes = stride == 1 && alike(run->values, o->size);
    int64_t index[STEP_RANK] = {0}, offset[1] = {from * stride};
    do {
        char *y = run->y + offset[0] * o->size;
        if (bytes) memset(y, run->values[0], (size_t)(n * o->size));
        else move_elements(o->size, y, stride, run->values, 0, &none, 0, n);
    } while (nest_next(&o->all, 1, index, offset));
}
static void put_part(void *job, int k) {
    static const int64_t none = 0;
    const OneHotRun *run = job;
    const OneHot *o = run->o;
    const char *on = run->values + o->values.stride[0] * o->size;
    const int last = o->row.rank - 1;
    const int64_t is = o->row.stride[last], ys = o->row.stride[STEP_RANK + last],
                  end = o->row.count * (k + 1) / o->parts;
    int64_t at = o->row.count * k / o->parts, index[STEP_RANK] = {0}, offset[2], n;
    for (; at < end; at += n) {
        nest_goto(&o->row, 0, at, index, offset);
        n = o->row.dim[last] - index[last];
        if (n > end - at) n = end - at;
        for (int64_t j = 0; j < n; j++) {
            const int64_t i = run->index[offset[0] + j * is], place = i < 0 ? i + o->depth : i;
            if (place < 0 || place >= o->depth) continue;
            char *y = run->y + (offset[1] + j * ys + place * o->stride) * o->size;
            if (o->size == 4) memcpy(y, on, 4);
            else if (o->size == 8) memcpy(y, on, 8);
            else move_elements(o->size, y, 1, on, 0, &none, 0, 1);
        }
    }
}
static int onehot_run(const Kernel *k, void *const slot[], void *work) {
    const OneHot *o = k->self;
    OneHotRun run = {o, view_at(&o->y, slot, work), view_at(&o->values, slot, work),
                     operand_at(&o->index, slot, work)};
    team_run(k->device->team, o->parts, fill_part, &run);
    team_run(k->device->team, o->parts, put_part, &run);
    return 0;
}

bool onehot_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view, *y = &v[Y];
    OneHot *o = ARENA_NEW(b->arena, OneHot, 1);
    const int axis = (int)b->step->param[OP_AXIS];
    *o = (OneHot){.y = *y, .values = v[VALUES], .size = dtype_size(y->dtype)};
    o->depth = y->dim[axis], o->stride = y->stride[axis];
    if (view_count(y) == 0 || y->dtype != v[VALUES].dtype || y->format || v[INDICES].format ||
        v[VALUES].format || !dtype_numeric(v[INDICES].dtype) || !elements_move(y->dtype))
        return false;
    if (v[INDICES].dtype == DT_INT64 && view_is_dense(&v[INDICES]))
        o->index = operand_as_is(b, INDICES);
    else if (!operand_pack(b, INDICES, DT_INT64, &o->index)) return false;
    View index = view_dense(0, DT_INT64, v[INDICES].rank, v[INDICES].dim), row;
    int axes[STEP_RANK], n = 0;
    for (int a = 0; a < y->rank; a++)
        if (a != axis) axes[n++] = a;
    row = view_axes(y, n, axes);
    o->all = nest_new(b->arena, (const View *const[]){y}, 1);
    o->row = nest_new(b->arena, (const View *const[]){&index, &row}, 2);
    nest_with_axis(&o->all);
    nest_with_axis(&o->row);
    o->parts = count_parts(b, o->all.dim[o->all.rank - 1], view_count(y), 0.25);
    k->run = onehot_run, k->self = o;
    return true;
}
