/* nonzero.c -- nonzero (defined in ops/nonzero.c). The places of the elements of a row that are not
   0 are collected without a branch and then written together with the indices of the row. */
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"

typedef struct NonZero {
    View y, x;
    size_t places; /* an offset into the scratch memory: an int64 for each place of a row */
    int64_t (*collect)(int64_t *to, const char *x, int64_t stride, int64_t n);
} NonZero;

/* `bits`: the bits that distinguish a number from 0 (not the sign of a float). */
#define DEFINE_COLLECT(name, T, bits)                                                          \
    static int64_t name(int64_t *to, const char *px, int64_t stride, int64_t n) {              \
        const T *x = (const T *)(const void *)px;                                              \
        int64_t found = 0;                                                                     \
        for (int64_t k = 0; k < n; k++) to[found] = k, found += (x[k * stride] & (bits)) != 0; \
        return found;                                                                          \
    }
DEFINE_COLLECT(collect_1, uint8_t, UINT8_MAX)
DEFINE_COLLECT(collect_2, uint16_t, UINT16_MAX)
DEFINE_COLLECT(collect_4, uint32_t, UINT32_MAX)
DEFINE_COLLECT(collect_8, uint64_t, UINT64_MAX)
DEFINE_COLLECT(collect_half, uint16_t, UINT16_MAX >> 1)
DEFINE_COLLECT(collect_float, uint32_t, UINT32_MAX >> 1)
DEFINE_COLLECT(collect_double, uint64_t, UINT64_MAX >> 1)

static int nonzero_run(const Kernel *k, void *const slot[], void *work) {
    const NonZero *z = k->self;
    const View *x = &z->x, *y = &z->y;
    const int last = x->rank - 1, size = dtype_size(x->dtype);
    const char *from = view_at(x, slot, work);
    int64_t *to = view_at(y, slot, work), *places = (int64_t *)(void *)((char *)work + z->places),
            n = 0, i[STEP_RANK];
    View rows = *x;
    rows.rank = last, rows.offset = 0;
    for (bool more = view_count(x) > 0 && kernel_first(&rows, i); more;
         more = kernel_next(&rows, i)) {
        const int64_t found =
            z->collect(places, from + kernel_at(&rows, i) * size, x->stride[last], x->dim[last]);
        if (found > y->dim[1] - n) return -1;
        for (int a = 0; a < last; a++)
            for (int64_t j = 0; j < found; j++)
                to[a * y->stride[0] + (n + j) * y->stride[1]] = i[a];
        for (int64_t j = 0; j < found; j++)
            to[last * y->stride[0] + (n + j) * y->stride[1]] = places[j];
        n += found;
    }
    for (int a = 0; a <= last; a++)
        for (int64_t j = n; j < y->dim[1]; j++) to[a * y->stride[0] + j * y->stride[1]] = -1;
    return 0;
}

bool nonzero_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *y = &b->step->view[0], *x = &b->step->view[1];
    NonZero *z = ARENA_NEW(b->arena, NonZero, 1);
    const int size = dtype_size(x->dtype);
    *z = (NonZero){.y = *y, .x = *x};
    z->collect = x->dtype == DT_DOUBLE                               ? collect_double
                 : x->dtype == DT_FLOAT                              ? collect_float
                 : x->dtype == DT_FLOAT16 || x->dtype == DT_BFLOAT16 ? collect_half
                 : size == 1                                         ? collect_1
                 : size == 2                                         ? collect_2
                 : size == 4                                         ? collect_4
                                                                     : collect_8;
    if (!dtype_numeric(x->dtype) || x->format || y->format || x->rank < 1 || y->dtype != DT_INT64)
        return false;
    z->places = build_bytes(b, ((size_t)x->dim[x->rank - 1] + 1) * sizeof(int64_t));
    k->run = nonzero_run, k->self = z;
    return true;
}
