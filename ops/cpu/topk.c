/* topk.c -- the k first elements of each line in the order of topk (ops/topk.c): a heap of the k
   best so far, the last of them on top, so that most elements cost one comparison; then the heap is
   sorted. Lines go to threads. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <string.h>

typedef struct TopK {
    View x, y, where;
    Nest line; /* y, where, x without the axis */
    int axis, size, parts;
    Class class;
    int64_t n, k;
    size_t values, heap, each; /* in the scratch: of part 0, and bytes of a part */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
    void (*sort)(const void *x, int64_t n, int64_t k, int64_t *heap, bool largest);
    bool largest;
} TopK;

/* heap: places in x, none of them before those below it. */
#define DEFINE_SORT(T)                                                                            \
    static inline bool before_##T(const T *x, int64_t a, int64_t b, bool largest) {               \
        return x[a] == x[b] ? a < b : (x[a] > x[b]) == largest;                                   \
    }                                                                                             \
    static void sink_##T(const T *x, int64_t *heap, int64_t n, int64_t at, bool largest) {        \
        const int64_t own = heap[at];                                                             \
        for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {                         \
            child += child + 1 < n && before_##T(x, heap[child], heap[child + 1], largest);       \
            if (!before_##T(x, own, heap[child], largest)) break;                                 \
            heap[at] = heap[child], at = child;                                                   \
        }                                                                                         \
        heap[at] = own;                                                                           \
    }                                                                                             \
    static void sort_##T(const void *values, int64_t n, int64_t k, int64_t *heap, bool largest) { \
        const T *x = values;                                                                      \
        for (int64_t j = 0; j < k; j++) heap[j] = j;                                              \
        for (int64_t j = k / 2 - 1; j >= 0; j--) sink_##T(x, heap, k, j, largest);                \
        for (int64_t j = k; j < n; j++)                                                           \
            if (largest ? x[j] > x[heap[0]] : x[j] < x[heap[0]])                                  \
                heap[0] = j, sink_##T(x, heap, k, 0, largest);                                    \
        for (int64_t j = k - 1; j > 0; j--) {                                                     \
            const int64_t last = heap[0];                                                         \
            heap[0] = heap[j], heap[j] = last;                                                    \
            sink_##T(x, heap, j, 0, largest);                                                     \
        }                                                                                         \
    }
DEFINE_SORT(float)
DEFINE_SORT(double)
DEFINE_SORT(int64_t)
DEFINE_SORT(uint64_t)

typedef struct TopRun {
    const TopK *t;
    void *const *slot;
    char *work;
} TopRun;
static void run_line(const TopRun *run, char *work, const int64_t offset[3]) {
    const TopK *t = run->t;
    char *values = work + t->values;
    int64_t *heap = (int64_t *)(void *)(work + t->heap);
    const int x_size = dtype_size(t->x.dtype), y_size = dtype_size(t->y.dtype);
    const char *x = view_at(&t->x, run->slot, run->work);
    char *y = (char *)view_at(&t->y, run->slot, run->work) + offset[0] * y_size;
    int64_t *where = (int64_t *)view_at(&t->where, run->slot, run->work) + offset[1];
    t->load(values, x + offset[2] * x_size, t->x.stride[t->axis], t->n);
    t->sort(values, t->n, t->k, heap, t->largest);
    for (int64_t j = 0; j < t->k; j++) {
        t->store(y + j * t->y.stride[t->axis] * y_size, 1, values + heap[j] * t->size, 1);
        where[j * t->where.stride[t->axis]] = heap[j];
    }
}
static void run_topk_part(void *job, int k) {
    const TopRun *run = job;
    const TopK *t = run->t;
    const int64_t end = t->line.count * (k + 1) / t->parts;
    int64_t index[STEP_RANK], offset[3];
    for (int64_t at = t->line.count * k / t->parts; at < end; at++) {
        nest_goto(&t->line, 0, at, index, offset);
        run_line(run, run->work + (size_t)k * t->each, offset);
    }
}
static int topk_run(const Kernel *k, void *const slot[], void *work) {
    TopRun run = {k->self, slot, work};
    team_run(k->device->team, run.t->parts, run_topk_part, &run);
    return 0;
}

bool topk_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    static void (*const sorts[CLASS_COUNT])(const void *, int64_t, int64_t, int64_t *, bool) = {
        sort_float, sort_double, sort_int64_t, sort_uint64_t};
    const View *v = b->step->view;
    TopK *t = ARENA_NEW(b->arena, TopK, 1);
    *t = (TopK){.y = v[0],
                .where = v[1],
                .x = v[2],
                .axis = (int)b->step->param[OP_AXIS],
                .largest = b->step->param[TOPK_LARGEST] != 0};
    if (!dtype_numeric(t->x.dtype) || t->x.format || view_count(&t->y) == 0)
        return build_fail(b, "topk: the type is not numeric");
    View line[] = {t->y, t->where, t->x};
    t->n = t->x.dim[t->axis], t->k = t->y.dim[t->axis];
    for (int j = 0; j < 3; j++) line[j].dim[t->axis] = 1;
    t->line = nest_new(b->arena, (const View *const[]){&line[0], &line[1], &line[2]}, 3);
    t->class = view_class(&t->x, 1);
    t->size = dtype_size(class_dtype(t->class));
    t->load = b->device->simd->load[t->class][t->x.dtype];
    t->store = b->device->simd->store[t->class][t->y.dtype];
    t->sort = sorts[t->class];
    t->values = build_bytes(b, (size_t)(t->n * t->size));
    t->heap = build_bytes(b, (size_t)t->k * sizeof(int64_t));
    t->each = b->workspace - t->values;
    t->parts = count_parts(b, t->line.count, 2 * t->n * t->line.count);
    build_bytes(b, (size_t)(t->parts - 1) * t->each);
    k->run = topk_run, k->self = t;
    return true;
}
