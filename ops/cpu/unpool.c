/* unpool.c -- unpool (defined in ops/unpool.c). After all places have been checked, y is cleared,
   and then the elements are written to their places in row-major order. Elements are moved as
   bytes. */
#include "ops/cpu/cpu.h"
#include <string.h>

typedef struct Unpool {
    View y, x, places;
    int size;
    int64_t count; /* elements of y */
    Nest nest;     /* view 0 determines the order, that of a dense tensor; then x and places */
} Unpool;

#define DEFINE_PUT(T)                                                                        \
    static void put_##T(char *py, const char *px, int64_t xs, const int64_t *at, int64_t as, \
                        int64_t n) {                                                         \
        T *y = (T *)(void *)py;                                                              \
        const T *x = (const T *)(const void *)px;                                            \
        for (int64_t k = 0; k < n; k++) y[at[k * as]] = x[k * xs];                           \
    }
DEFINE_PUT(uint8_t)
DEFINE_PUT(uint16_t)
DEFINE_PUT(uint32_t)
DEFINE_PUT(uint64_t)
static void put(int size, char *y, const char *x, int64_t xs, const int64_t *at, int64_t as,
                int64_t n) {
    switch (size) {
    case 1: put_uint8_t(y, x, xs, at, as, n); break;
    case 2: put_uint16_t(y, x, xs, at, as, n); break;
    case 4: put_uint32_t(y, x, xs, at, as, n); break;
    default: put_uint64_t(y, x, xs, at, as, n);
    }
}
static bool all_exist(const int64_t *at, int64_t stride, int64_t n, int64_t count) {
    uint64_t beyond = 0;
    for (int64_t k = 0; k < n; k++) beyond |= (uint64_t)at[k * stride] >= (uint64_t)count;
    return !beyond;
}
static int unpool_run(const Kernel *k, void *const slot[], void *work) {
    const Unpool *u = k->self;
    const Nest *nest = &u->nest;
    const int last = nest->rank - 1;
    const int64_t xs = nest->stride[STEP_RANK + last], as = nest->stride[2 * STEP_RANK + last],
                  n = nest->dim[last];
    char *y = view_at(&u->y, slot, work);
    const char *x = view_at(&u->x, slot, work);
    const int64_t *at = view_at(&u->places, slot, work);
    int64_t index[STEP_RANK] = {0}, offset[3] = {0};
    if (nest->count > 0) do
            if (!all_exist(at + offset[2], as, n, u->count)) return -1;
        while (nest_next(nest, 1, index, offset));
    memset(y, 0, (size_t)(u->count * u->size));
    memset(index, 0, sizeof index);
    memset(offset, 0, sizeof offset);
    if (nest->count > 0) do
            put(u->size, y, x + offset[1] * u->size, xs, at + offset[2], as, n);
        while (nest_next(nest, 1, index, offset));
    return 0;
}

bool unpool_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *y = &b->step->view[0], *x = &b->step->view[1], *places = &b->step->view[2];
    Unpool *u = ARENA_NEW(b->arena, Unpool, 1);
    *u = (Unpool){
        .y = *y, .x = *x, .places = *places, .size = dtype_size(y->dtype), .count = view_count(y)};
    if (!view_is_dense(y) || y->dtype != x->dtype || x->format || places->format ||
        places->dtype != DT_INT64 || !elements_move(y->dtype))
        return false;
    const View order = view_dense(0, y->dtype, x->rank, x->dim);
    u->nest = nest_new(b->arena, (const View *const[]){&order, x, places}, 3);
    nest_with_axis(&u->nest);
    k->run = unpool_run, k->self = u;
    return true;
}
