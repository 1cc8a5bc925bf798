/* argmax.c -- where along an axis the maximum or minimum lies (ops/argmax.c). Up to LANES places of
   the result are found together, so that what is read lies together unless the axis itself is the
   innermost one; then its lines are read one by one. Groups of places go to threads. */
#include "ops/cpu/cpu.h"
#include <string.h>

enum { LANES = 256 };
typedef struct ArgMax {
    View y, x;
    Nest nest;         /* y, x without the axis; along its last axis the places of a group */
    int64_t n, groups; /* groups along the last axis */
    int axis, parts;
    size_t values, best, where, each; /* in the scratch: of part 0, and bytes of a part */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*merge)(void *best, int32_t *where, const void *x, int32_t at, int64_t n, bool last,
                  bool least);
    int32_t (*line)(const void *x, int64_t n, bool last, bool least);
    bool last, least;
} ArgMax;

/* A NaN is never better, and stays where it comes first. */
#define DEFINE_BEST(T)                                                                    \
    static int32_t line_##T(const void *px, int64_t n, bool last, bool least) {           \
        const T *x = px;                                                                  \
        int64_t at = 0;                                                                   \
        for (int64_t j = 1; j < n; j++)                                                   \
            if ((least ? x[j] < x[at] : x[j] > x[at]) || (last && x[j] == x[at])) at = j; \
        return (int32_t)at;                                                               \
    }
DEFINE_BEST(float)
DEFINE_BEST(double)
DEFINE_BEST(int64_t)
DEFINE_BEST(uint64_t)

typedef struct ArgRun {
    const ArgMax *m;
    void *const *slot;
    char *work;
} ArgRun;
/* `count` places from this offset of y and x on, `step` apart in x. */
static void find_group(const ArgMax *m, char *work, const char *x, int64_t step, int64_t count,
                       int32_t *where) {
    const int x_size = dtype_size(m->x.dtype);
    const int64_t along = m->x.stride[m->axis];
    char *values = work + m->values, *best = work + m->best;
    if (along == 1 || count == 1) {
        for (int64_t i = 0; i < count; i++) {
            m->load(values, x + i * step * x_size, along, m->n);
            where[i] = m->line(values, m->n, m->last, m->least);
        }
        return;
    }
    m->load(best, x, step, count);
    memset(where, 0, (size_t)count * sizeof *where);
    for (int64_t j = 1; j < m->n; j++) {
        m->load(values, x + j * along * x_size, step, count);
        m->merge(best, where, values, (int32_t)j, count, m->last, m->least);
    }
}
static void run_argmax_part(void *job, int k) {
    const ArgRun *run = job;
    const ArgMax *m = run->m;
    const Nest *nest = &m->nest;
    char *work = run->work + (size_t)k * m->each;
    int32_t *where = (int32_t *)(void *)(work + m->where);
    const int inner = nest->rank - 1;
    const int64_t size = nest->dim[inner], step = nest->stride[STEP_RANK + inner],
                  y_step = nest->stride[inner], all = nest->count / size * m->groups,
                  end = all * (k + 1) / m->parts;
    int64_t index[STEP_RANK], offset[2];
    for (int64_t at = all * k / m->parts; at < end; at++) {
        const int64_t from = at % m->groups * LANES,
                      count = size - from < LANES ? size - from : LANES;
        nest_goto(nest, 1, at / m->groups, index, offset);
        find_group(m, work,
                   (char *)view_at(&m->x, run->slot, run->work) +
                       (offset[1] + from * step) * dtype_size(m->x.dtype),
                   step, count, where);
        int64_t *y = (int64_t *)view_at(&m->y, run->slot, run->work) + offset[0] + from * y_step;
        for (int64_t i = 0; i < count; i++) y[i * y_step] = where[i];
    }
}
static int argmax_run(const Kernel *k, void *const slot[], void *work) {
    ArgRun run = {k->self, slot, work};
    team_run(k->device->team, run.m->parts, run_argmax_part, &run);
    return 0;
}

/* Step parameters: the axis, 1 for the last of equal places, 1 for the minimum. */
bool argmax_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    static int32_t (*const lines[CLASS_COUNT])(const void *, int64_t, bool, bool) = {
        line_float, line_double, line_int64_t, line_uint64_t};
    const View *v = b->step->view;
    ArgMax *m = ARENA_NEW(b->arena, ArgMax, 1);
    *m = (ArgMax){.y = v[0],
                  .x = v[1],
                  .axis = (int)b->step->param[1],
                  .last = b->step->param[2] != 0,
                  .least = b->step->param[3] != 0};
    m->n = m->x.dim[m->axis];
    if (!dtype_numeric(m->x.dtype) || m->x.format || m->n < 1 || m->n > INT32_MAX ||
        view_count(&m->y) == 0)
        return build_fail(b, "argmax of a type that is not numeric");
    View others = m->x;
    for (int a = m->axis; a < others.rank - 1; a++)
        others.dim[a] = others.dim[a + 1], others.stride[a] = others.stride[a + 1];
    others.rank--;
    m->nest = nest_new(b->arena, (const View *const[]){&m->y, &others}, 2);
    nest_with_axis(&m->nest);
    m->groups = (m->nest.dim[m->nest.rank - 1] + LANES - 1) / LANES;
    const Class class = view_class(&m->x, 1);
    const int size = dtype_size(class_dtype(class));
    m->load = b->device->simd->load[class][m->x.dtype];
    m->merge = b->device->simd->better[class], m->line = lines[class];
    m->values = build_bytes(b, (size_t)((m->n > LANES ? m->n : LANES) * size));
    m->best = build_bytes(b, (size_t)(LANES * size));
    m->where = build_bytes(b, LANES * sizeof(int32_t));
    m->each = b->workspace - m->values;
    const int64_t all = m->nest.count / m->nest.dim[m->nest.rank - 1] * m->groups;
    m->parts = count_parts(b, all, m->n * m->nest.count);
    build_bytes(b, (size_t)(m->parts - 1) * m->each);
    k->run = argmax_run, k->self = m;
    return true;
}
