/* argmax.c -- finds the place of the maximum or minimum along an axis (ops/argmax.c), and hardmax,
   which has a 1 at that place and zeros elsewhere (ops/softmax.c).

   Up to LANES results are computed together, so that contiguous elements are read; short lines are
   transposed for it (lanes.c). Long lines along the innermost axis are handled one by one: first
   their best element is found, then its place. Groups of results are distributed over the
   threads. */
#include "ops/base/least.h"
#include "ops/core/element.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <string.h>

enum { LANES = 256, SHORT = 80 }; /* results of a group; elements of lines that are transposed */
typedef struct ArgMax {
    View y, x;
    Nest nest;         /* over y and x without the axis; the results of a group follow each other
                          along its last axis */
    int64_t n, groups; /* n: the length of the axis */
    int axis, parts;
    int64_t most; /* lines of a group along that axis */
    Lanes lanes;
    const Simd *simd;
    size_t values, tile, best, where, each; /* scratch memory: offsets for part 0; the bytes of a
                                               part */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*better)(const BetterRows *);
    int32_t (*line)(const void *x, int64_t n, bool last, bool least);
    void (*total)(void *best, const void *x, int64_t n);
    int64_t (*place)(const void *x, const void *value, int64_t n, bool last);
    int size;   /* bytes of an element of the class that compares */
    bool as_is; /* x has the type of this class, so that lines need no conversion */
    bool last, least;
    _Alignas(double) char one[8]; /* of hardmax: the element 1; y then has the axis, too */
    int one_size;                 /* bytes of `one`; 0: not hardmax */
} ArgMax;

/* Finds the place in a line element by element. A NaN never compares as better, and the first
   element stays the best if it is NaN. */
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

/* Finds the place of the best element of a line. Short lines, and lines in which the best element
   is not found because it is NaN, are searched element by element. */
static int32_t find_in_line(const ArgMax *m, const void *x) {
    enum { FEW = 16 };
    _Alignas(double) char best[8];
    if (m->n < FEW) return m->line(x, m->n, m->last, m->least);
    memcpy(best, x, (size_t)m->size);
    m->total(best, x, m->n);
    const int64_t at = m->place(x, best, m->n, m->last);
    return at < 0 ? m->line(x, m->n, m->last, m->least) : (int32_t)at;
}

typedef struct ArgRun {
    const ArgMax *m;
    void *const *slot;
    char *work;
} ArgRun;
/* Finds the results of `count` lines that begin at x and are `step` elements apart. */
static void find_group(const ArgMax *m, char *work, const char *x, int64_t step, int64_t count,
                       int32_t *where) {
    const int x_size = dtype_size(m->x.dtype);
    const int64_t along = m->x.stride[m->axis];
    char *values = work + m->values, *best = work + m->best;
    if (along == 1 || count == 1) {
        for (int64_t i = 0; i < count; i++) {
            const char *line = x + i * step * x_size;
            if (!m->as_is || along != 1) m->load(values, line, along, m->n), line = values;
            where[i] = find_in_line(m, line);
        }
        return;
    }
    m->load(best, x, step, count);
    memset(where, 0, (size_t)count * sizeof *where);
    const bool as_is = m->as_is && step == 1;
    BetterRows b = {.best = best,
                    .where = where,
                    .x = as_is ? x + along * x_size : values,
                    .xs = along,
                    .rows = as_is ? m->n - 1 : 1,
                    .n = count,
                    .at = 1,
                    .last = m->last,
                    .least = m->least};
    if (as_is) m->better(&b);
    else
        for (; b.at < m->n; b.at++) {
            m->load(values, x + b.at * along * x_size, step, count);
            m->better(&b);
        }
}
/* The same for the `inner` lines that begin at each of these places, by transposed tiles. The
   results of successive `inner` lines are LANES_TURNED_MOST places apart. */
static void find_turned(const ArgMax *m, char *work, const char *x, int64_t step, int64_t count,
                        int32_t *where) {
    const int64_t inner = m->lanes.inner, row = LANES_TURNED_MOST * m->size;
    const int x_size = dtype_size(m->x.dtype);
    char *values = work + m->values, *tile = work + m->tile, *best = work + m->best;
    for (int64_t j = 0; j < m->n; j += m->lanes.rows) {
        const int64_t rows = m->n - j < m->lanes.rows ? m->n - j : m->lanes.rows,
                      columns = rows * inner, first = j == 0;
        const char *from = x + j * inner * x_size;
        for (int64_t r = 0; r < count && !m->as_is; r++)
            m->load(values + r * columns * m->size, from + r * step * x_size, 1, columns);
        lanes_turn(m->simd, m->size, tile, m->as_is ? from : values, m->as_is ? step : columns,
                   count, columns);
        if (first) {
            memcpy(best, tile, (size_t)(inner * row));
            memset(where, 0, (size_t)(inner * LANES_TURNED_MOST) * sizeof *where);
        }
        for (int64_t i = 0; i < inner; i++)
            m->better(&(BetterRows){.best = best + i * row,
                                    .where = where + i * LANES_TURNED_MOST,
                                    .x = tile + (i + first * inner) * row,
                                    .xs = inner * LANES_TURNED_MOST,
                                    .rows = rows - first,
                                    .n = count,
                                    .at = (int32_t)(j + first),
                                    .last = m->last,
                                    .least = m->least});
    }
}
/* Clears `count` lines of y, `step` elements apart, each with the `inner` lines beside it. */
static void clear_group(const ArgMax *m, char *y, int64_t step, int64_t count) {
    static const int64_t none = 0;
    static const char zero[8] = {0};
    const int64_t along = m->y.stride[m->axis], inner = m->lanes.inner, beside = m->lanes.step[0],
                  size = m->one_size;
    if (step == 1 && along != 1 && inner == 1)
        for (int64_t j = 0; j < m->n; j++) memset(y + j * along * size, 0, (size_t)(count * size));
    else if (along == inner && (inner == 1 || beside == 1) && step == m->n * inner)
        memset(y, 0, (size_t)(count * m->n * inner * size));
    else
        for (int64_t i = 0; i < count; i++, y += step * size)
            if (along == inner && (inner == 1 || beside == 1))
                memset(y, 0, (size_t)(m->n * inner * size));
            else
                for (int64_t k = 0; k < inner; k++)
                    move_elements((int)size, y + k * beside * size, along, zero, 0, &none, 0, m->n);
}
/* Writes the results of lines of y that are `step` elements apart: their places, or, in lines that
   have been cleared, a 1. */
static void put_group(const ArgMax *m, char *y, int64_t step, int64_t count, const int32_t *where) {
    const int64_t along = m->y.stride[m->axis];
    const int size = m->one_size;
    if (size == 4)
        for (int64_t i = 0; i < count; i++)
            memcpy(y + (i * step + where[i] * along) * 4, m->one, 4);
    else if (size)
        for (int64_t i = 0; i < count; i++)
            memcpy(y + (i * step + where[i] * along) * size, m->one, (size_t)size);
    else
        for (int64_t i = 0; i < count; i++) ((int64_t *)(void *)y)[i * step] = where[i];
}
static void run_argmax_part(void *job, int k) {
    const ArgRun *run = job;
    const ArgMax *m = run->m;
    const Nest *nest = &m->nest;
    char *work = run->work + (size_t)k * m->each;
    int32_t *where = (int32_t *)(void *)(work + m->where);
    const int last = nest->rank - 1, y_size = m->one_size ? m->one_size : (int)sizeof(int64_t);
    const int64_t size = nest->dim[last], step = nest->stride[STEP_RANK + last],
                  y_step = nest->stride[last], end = m->groups * (k + 1) / m->parts,
                  blocks = (size + m->most - 1) / m->most;
    int64_t index[STEP_RANK], offset[2];
    for (int64_t at = m->groups * k / m->parts; at < end; at++) {
        const int64_t from = at % blocks * m->most, count = int64_least(size - from, m->most);
        nest_goto(nest, 1, at / blocks, index, offset);
        const char *x = (char *)view_at(&m->x, run->slot, run->work) +
                        (offset[1] + from * step) * dtype_size(m->x.dtype);
        char *y =
            (char *)view_at(&m->y, run->slot, run->work) + (offset[0] + from * y_step) * y_size;
        (m->lanes.kind == LANES_TURNED ? find_turned : find_group)(m, work, x, step, count, where);
        if (m->one_size) clear_group(m, y, y_step, count);
        for (int64_t i = 0; i < m->lanes.inner; i++)
            put_group(m, y + i * m->lanes.step[0] * y_size, y_step, count,
                      where + i * LANES_TURNED_MOST);
    }
}
static int argmax_run(const Kernel *k, void *const slot[], void *work) {
    ArgRun run = {k->self, slot, work};
    team_run(k->device->team, run.m->parts, run_argmax_part, &run);
    return 0;
}

static View without_axis(View v, int axis) {
    for (int a = axis; a < v.rank - 1; a++) v.dim[a] = v.dim[a + 1], v.stride[a] = v.stride[a + 1];
    v.rank--;
    return v;
}
/* Builds the kernel. y: m->y without the axis. */
static bool best_build(Build *b, ArgMax *m, const View *y, Kernel *k) {
    static int32_t (*const searches[CLASS_COUNT])(const void *, int64_t, bool, bool) = {
        line_float, line_double, line_int64_t, line_uint64_t};
    m->n = m->x.dim[m->axis];
    if (!dtype_numeric(m->x.dtype) || m->x.format || m->n < 1 || m->n > INT32_MAX ||
        view_count(&m->y) == 0)
        return false;
    const View others = without_axis(m->x, m->axis);
    m->nest = nest_new(b->arena, (const View *const[]){y, &others}, 2);
    nest_with_axis(&m->nest);
    if (m->x.stride[m->axis] == 1 && m->n > SHORT) m->lanes.inner = 1;
    else m->lanes = lanes_of(&m->nest, 1, m->n, m->x.stride[m->axis]);
    const bool turned = m->lanes.kind == LANES_TURNED;
    m->most = turned ? LANES_TURNED_MOST : LANES;
    const int64_t width = m->nest.dim[m->nest.rank - 1],
                  lines = turned ? LANES_TURNED_MOST * m->lanes.inner : LANES,
                  tile = turned ? lines * m->lanes.rows : 0;
    m->groups = m->nest.count / (width * m->lanes.inner) * ((width + m->most - 1) / m->most);
    const ComputeClass class = view_class(&m->x, 1);
    const int size = dtype_size(class_dtype(class));
    m->simd = b->device->simd;
    m->load = b->device->simd->load[class][m->x.dtype];
    m->better = b->device->simd->better[class], m->line = searches[class];
    m->total = b->device->simd->total[class][m->least ? REDUCE_MIN : REDUCE_MAX];
    m->place = b->device->simd->place[class];
    m->size = size, m->as_is = class_dtype(class) == m->x.dtype;
    m->values = build_bytes(b, (size_t)((turned ? tile : m->n > LANES ? m->n : LANES) * size));
    m->tile = build_bytes(b, (size_t)(tile * size));
    m->best = build_bytes(b, (size_t)(lines * size));
    m->where = build_bytes(b, (size_t)lines * sizeof(int32_t));
    m->each = b->workspace - m->values;
    m->parts = count_parts(b, m->groups, m->n * m->nest.count, 1);
    build_bytes(b, (size_t)(m->parts - 1) * m->each);
    k->run = argmax_run, k->self = m;
    return true;
}

bool argmax_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Step *s = b->step;
    ArgMax *m = ARENA_NEW(b->arena, ArgMax, 1);
    *m = (ArgMax){.y = s->view[0],
                  .x = s->view[1],
                  .axis = (int)s->param[OP_AXIS],
                  .last = s->param[ARGMAX_LAST] != 0,
                  .least = s->param[ARGMAX_MINIMUM] != 0};
    return best_build(b, m, &m->y, k);
}
bool hardmax_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *y = &b->step->view[0];
    ArgMax *m = ARENA_NEW(b->arena, ArgMax, 1);
    *m = (ArgMax){.y = *y, .x = b->step->view[1], .axis = (int)b->step->param[OP_AXIS]};
    if (!elements_move(y->dtype) || y->format) return false;
    m->one_size = dtype_size(y->dtype);
    element_set_real((DType)y->dtype, m->one, 0, 1);
    const View lines = without_axis(*y, m->axis);
    return best_build(b, m, &lines, k);
}
