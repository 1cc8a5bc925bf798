/* maxplace.c -- maxplace (defined in ops/pool.c): the maximum of each window, and its place.

   A row of outputs is computed at a time. For each tap of the window, one vector comparison keeps
   the greater number and the number of its tap; taps are converted to places of x at the end. Rows
   are distributed over the threads. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <string.h>

enum { Y, WHERE, X };
typedef struct MaxPlace {
    View view[3];
    int ns, parts; /* ns: the number of spatial axes */
    int64_t kernel[STEP_SPATIAL], stride[STEP_SPATIAL], pad[STEP_SPATIAL], dilation[STEP_SPATIAL];
    int64_t taps, plane, step[STEP_SPATIAL]; /* plane: the elements of a plane of x; step: by how
                                                much a place grows along each axis */
    int64_t *tap;                            /* [taps, ns]: the indices of each tap */
    int64_t *reach;                          /* for each tap: how much further in x it lies than the
                                                first one */
    int64_t rows;
    int64_t size;                     /* bytes of a number of the class */
    size_t values, best, which, each; /* scratch memory: offsets for part 0, bytes of a part */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
    void (*better)(const BetterRows *);
} MaxPlace;
typedef struct PlaceRun {
    const MaxPlace *m;
    const char *x;
    char *y, *work;
    int64_t *where;
} PlaceRun;

/* Finds the outputs low..high-1 along the last axis for which the tap lies in x. */
static void tap_range(const MaxPlace *m, int64_t tap, int64_t *low, int64_t *high) {
    const int a = m->ns - 1;
    const int64_t s = m->stride[a], at = m->dilation[a] * m->tap[tap * m->ns + a] - m->pad[a],
                  n = m->view[X].dim[2 + a], out = m->view[Y].dim[2 + a];
    *low = at < 0 ? (-at + s - 1) / s : 0;
    *high = n > at ? (n - at + s - 1) / s : 0;
    if (*high > out) *high = out;
}
/* Finds the offset of the tap's row in its plane of x. False: it lies outside. */
static bool tap_row(const MaxPlace *m, int64_t tap, const int64_t i[], int64_t *at) {
    *at = 0;
    for (int a = 0; a < m->ns - 1; a++) {
        const int64_t p =
            m->stride[a] * i[a] + m->dilation[a] * m->tap[tap * m->ns + a] - m->pad[a];
        if (p < 0 || p >= m->view[X].dim[2 + a]) return false;
        *at += p * m->view[X].stride[2 + a];
    }
    return true;
}
/* Gives outputs that no earlier tap has reached the value of this tap. */
static void take_first(const MaxPlace *m, const char *values, char *best, int32_t *which, int32_t t,
                       int64_t n) {
    for (int64_t o = 0; o < n; o++)
        if (which[o] < 0) {
            memcpy(best + o * m->size, values + o * m->size, (size_t)m->size);
            which[o] = t;
        }
}
/* Finds the maximum of each window of a row in plane x, and its tap. If the first value is NaN, it
   stays. */
static void find_row(const MaxPlace *m, const char *x, const int64_t i[], char *values, char *best,
                     int32_t *which) {
    const int a = m->ns - 1;
    const int64_t step = m->view[X].stride[2 + a], n = m->view[Y].dim[2 + a];
    bool reached = false; /* every output has been reached by a tap */
    memset(best, 0, (size_t)(n * m->size));
    memset(which, 0xff, (size_t)n * sizeof *which);
    for (int64_t t = 0; t < m->taps; t++) {
        int64_t low, high, row;
        tap_range(m, t, &low, &high);
        if (low >= high || !tap_row(m, t, i, &row)) continue;
        row += (m->stride[a] * low + m->dilation[a] * m->tap[t * m->ns + a] - m->pad[a]) * step;
        m->load(values, x + row * dtype_size(m->view[X].dtype), m->stride[a] * step, high - low);
        m->better(&(BetterRows){.best = best + low * m->size,
                                .where = which + low,
                                .x = values,
                                .rows = 1,
                                .n = high - low,
                                .at = (int32_t)t});
        if (!reached)
            take_first(m, values, best + low * m->size, which + low, (int32_t)t, high - low);
        reached = reached || (low == 0 && high == n);
    }
}
/* Converts taps to places for the row with indices i, whose plane begins at place `from`. */
static void write_places(const MaxPlace *m, const int64_t i[], int64_t from, const int32_t *which,
                         int64_t *to) {
    const int a = m->ns - 1;
    const int64_t n = m->view[Y].dim[2 + a], ys = m->view[WHERE].stride[2 + a];
    for (int j = 0; j < m->ns; j++)
        from += (m->stride[j] * (j == a ? 0 : i[j]) - m->pad[j]) * m->step[j];
    for (int64_t o = 0; o < n; o++)
        to[o * ys] = from + o * m->stride[a] * m->step[a] + m->reach[which[o]];
}
/* Computes row number `row` of all rows, in row-major order. */
static void run_row(const PlaceRun *run, char *work, int64_t row) {
    const MaxPlace *m = run->m;
    const View *y = &m->view[Y], *where = &m->view[WHERE], *x = &m->view[X];
    char *best = work + m->best;
    int32_t *which = (int32_t *)(void *)(work + m->which);
    int64_t i[STEP_RANK] = {0}, y_at = 0, where_at = 0;
    for (int a = y->rank - 2; a >= 0; a--) {
        i[a] = row % y->dim[a], row /= y->dim[a];
        y_at += i[a] * y->stride[a], where_at += i[a] * where->stride[a];
    }
    const int64_t plane = i[0] * x->stride[0] + i[1] * x->stride[1];
    find_row(m, run->x + plane * dtype_size(x->dtype), i + 2, work + m->values, best, which);
    m->store(run->y + y_at * dtype_size(y->dtype), y->stride[y->rank - 1], best,
             y->dim[y->rank - 1]);
    write_places(m, i + 2, (i[0] * x->dim[1] + i[1]) * m->plane, which, run->where + where_at);
}
static void run_place_part(void *job, int k) {
    const PlaceRun *run = job;
    const MaxPlace *m = run->m;
    const int64_t end = m->rows * (k + 1) / m->parts;
    for (int64_t row = m->rows * k / m->parts; row < end; row++)
        run_row(run, run->work + (size_t)k * m->each, row);
}
static int maxplace_run(const Kernel *k, void *const slot[], void *work) {
    const MaxPlace *m = k->self;
    PlaceRun run = {
        m,
        view_at(&m->view[X], slot, work),
        view_at(&m->view[Y], slot, work),
        work,
        view_at(&m->view[WHERE], slot, work)
    };
    team_run(k->device->team, m->parts, run_place_part, &run);
    return 0;
}

/* ---- making */
/* Whether each window along an axis has a tap that lies in x. */
static bool windows_meet(const MaxPlace *m, int a) {
    for (int64_t o = 0; o < m->view[Y].dim[2 + a]; o++) {
        bool met = false;
        for (int64_t t = 0; t < m->kernel[a] && !met; t++) {
            const int64_t p = m->stride[a] * o + m->dilation[a] * t - m->pad[a];
            met = p >= 0 && p < m->view[X].dim[2 + a];
        }
        if (!met) return false;
    }
    return true;
}
static void read_lists(Build *b, MaxPlace *m) {
    const int ns = m->ns;
    const StepWindow w = maxplace_window(b->step);
    const bool columns = maxplace_columns(b->step) != 0;
    m->taps = m->plane = 1;
    for (int a = 0; a < ns; a++) {
        m->kernel[a] = w.kernel[a], m->stride[a] = w.stride[a];
        m->pad[a] = w.begin[a], m->dilation[a] = w.dilation[a];
        m->taps *= m->kernel[a];
    }
    for (int k = 0; k < ns; k++) {
        const int a = columns ? k : ns - 1 - k;
        m->step[a] = m->plane, m->plane *= m->view[X].dim[2 + a];
    }
    m->tap = ARENA_NEW(b->arena, int64_t, m->taps * ns);
    m->reach = ARENA_NEW(b->arena, int64_t, m->taps);
    for (int64_t t = 0; t < m->taps; t++)
        for (int64_t a = ns - 1, rest = t; a >= 0; rest /= m->kernel[a--]) {
            m->tap[t * ns + a] = rest % m->kernel[a];
            m->reach[t] += m->tap[t * ns + a] * m->dilation[a] * m->step[a];
        }
}
bool maxplace_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    MaxPlace *m = ARENA_NEW(b->arena, MaxPlace, 1);
    const int ns = m->ns = v[X].rank - 2;
    memcpy(m->view, v, sizeof m->view);
    if (ns < 1 || ns > STEP_SPATIAL || !dtype_numeric(v[X].dtype) || v[X].dtype != v[Y].dtype ||
        v[X].format || v[Y].format || v[WHERE].format || v[WHERE].dtype != DT_INT64 ||
        view_count(&v[Y]) == 0)
        return false;
    read_lists(b, m);
    for (int a = 0; a < ns; a++)
        if (!windows_meet(m, a)) return false;
    const ComputeClass class = view_class(&v[X], 1);
    const int64_t row = v[Y].dim[ns + 1];
    m->size = dtype_size(class_dtype(class)), m->rows = view_count(&v[Y]) / row;
    m->load = b->device->simd->load[class][v[X].dtype];
    m->store = b->device->simd->store[class][v[Y].dtype];
    m->better = b->device->simd->better[class];
    m->values = build_bytes(b, (size_t)(row * m->size));
    m->best = build_bytes(b, (size_t)(row * m->size));
    m->which = build_bytes(b, (size_t)row * sizeof(int32_t));
    m->each = b->workspace - m->values;
    m->parts = count_parts(b, m->rows, view_count(&v[Y]) * m->taps, 1);
    build_bytes(b, (size_t)(m->parts - 1) * m->each);
    k->run = maxplace_run, k->self = m;
    return true;
}
