/* scatter.c -- scatternd (defined in ops/scatter.c): x is copied to y, then rows of updates are
   written or combined at the offsets that the indices give, in the order of the index. All indices
   are checked before anything is written. Also cachewrite: x is copied to y, then updates are
   written along an axis, beginning at the start of each batch. */
#include "ops/core/element.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <string.h>

enum { UPDATES, Y, OFFSETS };
typedef struct Scatter {
    View y, updates;
    Copy *copy;
    int size;
    int64_t how;
    Join *join;
    Chosen chosen;     /* offsets into y */
    Nest row, inner;   /* row: over offsets and updates; inner: the axes of a row, over updates and
                          y */
    const Simd *moves; /* writes all rows along the last axis of `row`; NULL: another form */
} Scatter;

#define DEFINE_JOIN(name, T, value)                                                            \
    static void name(char *py, int64_t ys, const char *pu, int64_t us, int64_t n) {            \
        T *y = (T *)(void *)py;                                                                \
        const T *u = (const T *)(const void *)pu;                                              \
        if (ys == 1 && us == 1) {                                                              \
            _Pragma("omp simd") for (int64_t k = 0; k < n; k++) {                              \
                const T a = y[k], b = u[k];                                                    \
                (void)a;                                                                       \
                y[k] = (T)(value);                                                             \
            }                                                                                  \
            return;                                                                            \
        }                                                                                      \
        for (int64_t k = 0; k < n; k++) {                                                      \
            const T a = y[k * ys], b = u[k * us];                                              \
            (void)a;                                                                           \
            y[k * ys] = (T)(value);                                                            \
        }                                                                                      \
    }                                                                                          \
    static void name##_at(char *py, int64_t ys, const int64_t *at, const char *pu, int64_t us, \
                          int64_t n) {                                                         \
        T *y = (T *)(void *)py;                                                                \
        const T *u = (const T *)(const void *)pu;                                              \
        for (int64_t k = 0; k < n; k++) {                                                      \
            T *to = &y[k * ys + at[k]];                                                        \
            const T a = *to, b = u[k * us];                                                    \
            (void)a;                                                                           \
            *to = (T)(value);                                                                  \
        }                                                                                      \
    }
#define DEFINE_JOINS(T, U)                 \
    DEFINE_JOIN(T##_add, T, (U)a + (U)b)   \
    DEFINE_JOIN(T##_mul, T, (U)a *(U)b)    \
    DEFINE_JOIN(T##_max, T, a > b ? a : b) \
    DEFINE_JOIN(T##_min, T, a < b ? a : b)
DEFINE_JOIN(copy_1, uint8_t, b)
DEFINE_JOIN(copy_2, uint16_t, b)
DEFINE_JOIN(copy_4, uint32_t, b)
DEFINE_JOIN(copy_8, uint64_t, b)
DEFINE_JOINS(float, float)
DEFINE_JOINS(double, double)
DEFINE_JOINS(int32_t, uint32_t)
DEFINE_JOINS(int64_t, uint64_t)
#define JOINS(T)                                                                    \
    {                                                                               \
        {0}, {T##_add, T##_add_at}, {T##_mul, T##_mul_at}, {T##_max, T##_max_at}, { \
            T##_min, T##_min_at                                                     \
        }                                                                           \
    }
Joins scatter_joins(int dtype, int64_t how) {
    static const Joins joins[][SCATTER_MIN + 1] = {JOINS(float), JOINS(double), JOINS(int32_t),
                                                   JOINS(int64_t)},
                                             copies[] = {[1] = {copy_1, copy_1_at},
                                                         [2] = {copy_2, copy_2_at},
                                                         [4] = {copy_4, copy_4_at},
                                                         [8] = {copy_8, copy_8_at}};
    const size_t size = (size_t)dtype_size(dtype);
    const int row = dtype == DT_FLOAT    ? 0
                    : dtype == DT_DOUBLE ? 1
                    : dtype == DT_INT32  ? 2
                    : dtype == DT_INT64  ? 3
                                         : -1;
    if (how != SCATTER_NONE) return row < 0 ? (Joins){0} : joins[row][how];
    return size < sizeof copies / sizeof *copies ? copies[size] : (Joins){0};
}

static void join_inner(const Scatter *s, char *y, const char *u) {
    const Nest *n = &s->inner;
    const int last = n->rank - 1;
    int64_t index[STEP_RANK] = {0}, offset[2] = {0};
    do
        s->join(y + offset[Y] * s->size, n->stride[STEP_RANK * Y + last],
                u + offset[UPDATES] * s->size, n->stride[STEP_RANK * UPDATES + last], n->dim[last]);
    while (nest_next(n, 1, index, offset));
}
/* Writes each row of updates at its offset in y. Rows of a single element and short rows are
   written by one call. */
static void scatter_rows(const Scatter *s, char *y, const char *u, const int64_t *at) {
    const Nest *n = &s->row;
    const int last = n->rank - 1;
    const int64_t os = n->stride[last], us = n->stride[STEP_RANK + last];
    const bool single = s->inner.count == 1 && s->how == SCATTER_NONE;
    int64_t index[STEP_RANK] = {0}, offset[3] = {0};
    if (single) do
            put_elements(s->size, y, 0, at + offset[0], os, u + offset[1] * s->size, us,
                         n->dim[last]);
        while (nest_next(n, 1, index, offset));
    else if (s->moves) do
            s->moves->move_chosen(&(ChosenRows){.y = y,
                                                .x = u + offset[1] * s->size,
                                                .xs = us * s->size,
                                                .yo = at + offset[0],
                                                .os = os,
                                                .size = s->size,
                                                .rows = n->dim[last],
                                                .bytes = s->inner.count * s->size});
        while (nest_next(n, 1, index, offset));
    else do
            join_inner(s, y + at[offset[0]] * s->size, u + offset[1] * s->size);
        while (nest_next(n, 0, index, offset));
}
static int scatter_run(const Kernel *k, void *const slot[], void *work) {
    const Scatter *s = k->self;
    const int64_t *at = chosen_offsets(&s->chosen, slot, work);
    if (!at) return -1;
    copy_run(s->copy, slot, work);
    char *y = view_at(&s->y, slot, work);
    const char *u = view_at(&s->updates, slot, work);
    if (s->row.count > 0 && s->inner.count > 0) scatter_rows(s, y, u, at);
    return 0;
}

/* ---- making */
/* Completes the kernel. rows: the offsets, which determine the order, and the updates. */
static bool finish_scatter(Build *b, Scatter *s, int64_t how, const View rows[2],
                           const View inner[2], Kernel *k) {
    const View *y = &b->step->view[0], *x = &b->step->view[1], *u = &b->step->view[3];
    s->y = *y, s->updates = *u, s->size = dtype_size(y->dtype);
    s->how = how, s->join = scatter_joins(y->dtype, how).side_by_side;
    if (!s->join || y->dtype != x->dtype || y->dtype != u->dtype || y->format || u->format)
        return false;
    s->row = nest_new(b->arena, (const View *const[]){&rows[0], &rows[1]}, 2);
    s->inner = nest_new(b->arena, (const View *const[]){&inner[UPDATES], &inner[Y]}, 2);
    nest_with_axis(&s->row);
    nest_with_axis(&s->inner);
    if (how == SCATTER_NONE && nest_is_short_row(&s->inner, s->size)) s->moves = b->device->simd;
    s->copy = copy_new(b, y, x);
    k->run = scatter_run, k->self = s;
    return s->copy != NULL;
}
bool scatternd_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    static const int axis[STEP_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    const View *y = &b->step->view[0], *index = &b->step->view[2], *u = &b->step->view[3];
    Scatter *s = ARENA_NEW(b->arena, Scatter, 1);
    const int places = index->rank - 1, q = (int)index->dim[places], n = y->rank - q;
    const View of_updates = view_axes(u, places, axis),
               of_offsets = view_dense(0, DT_INT64, places, index->dim);
    return chosen_new(b, y, 0, q, 2, view_count(&of_offsets), &s->chosen) &&
           finish_scatter(
               b, s, b->step->param[SCATTERND_HOW], (const View[]){of_offsets, of_updates},
               (const View[]){view_axes(u, n, axis + places), view_axes(y, n, axis + q)}, k);
}
/* ---- cachewrite: `inner` is over the elements of one place of one batch */
typedef struct CacheWrite {
    Scatter s;
    View start; /* rank -1: all batches start at 0 */
    int axis;
    bool circular;
} CacheWrite;

/* The place of y to which place p of a batch goes; -1: there is none. */
static int64_t cache_place(const CacheWrite *c, void *const slot[], int64_t batch, int64_t p) {
    const View *v = &c->start;
    const int64_t n = c->s.y.dim[c->axis];
    if (v->rank >= 0)
        p += element_integer((DType)v->dtype, slot[v->slot], v->offset + batch * v->stride[0]);
    if (c->circular) p %= n;
    return p >= 0 && p < n ? p : -1;
}
static int cache_run(const Kernel *k, void *const slot[], void *work) {
    const CacheWrite *c = k->self;
    const Scatter *s = &c->s;
    const View *u = &s->updates;
    const int64_t batches = u->dim[0], places = u->dim[c->axis];
    for (int64_t b = 0; b < batches; b++)
        for (int64_t p = 0; p < places; p++)
            if (cache_place(c, slot, b, p) < 0) return -1;
    copy_run(s->copy, slot, work);
    char *y = view_at(&s->y, slot, work);
    const char *from = view_at(u, slot, work);
    for (int64_t b = 0; b < batches && s->inner.count > 0; b++)
        for (int64_t p = 0; p < places; p++) {
            const int64_t to = b * s->y.stride[0] +
                               cache_place(c, slot, b, p) * s->y.stride[c->axis],
                          at = b * u->stride[0] + p * u->stride[c->axis];
            join_inner(s, y + to * s->size, from + at * s->size);
        }
    return 0;
}
bool cachewrite_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *y = &b->step->view[0], *x = &b->step->view[1], *u = &b->step->view[2];
    CacheWrite *c = ARENA_NEW(b->arena, CacheWrite, 1);
    View inner[2] = {*u, *y};
    c->axis = (int)b->step->param[OP_AXIS], c->circular = b->step->param[CACHE_CIRCULAR] != 0;
    c->start = b->step->nview > 3 ? b->step->view[3] : (View){.rank = -1};
    c->s = (Scatter){.y = *y, .updates = *u, .size = dtype_size(y->dtype)};
    c->s.join = scatter_joins(y->dtype, SCATTER_NONE).side_by_side;
    if (!c->s.join || y->dtype != x->dtype || y->dtype != u->dtype || y->format || u->format ||
        c->start.format)
        return false;
    for (int v = 0; v < 2; v++) inner[v].dim[0] = inner[v].dim[c->axis] = 1;
    memcpy(inner[1].dim, inner[0].dim, sizeof inner[0].dim);
    c->s.inner = nest_new(b->arena, (const View *const[]){&inner[UPDATES], &inner[Y]}, 2);
    nest_with_axis(&c->s.inner);
    c->s.copy = copy_new(b, y, x);
    k->run = cache_run, k->self = c;
    return c->s.copy != NULL;
}
