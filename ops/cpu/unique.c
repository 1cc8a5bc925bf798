/* unique.c -- unique (defined in ops/unique.c). The elements of each slice are converted to
   unsigned numbers in the same order, and the slices are sorted by them, the last element first
   (radix.c). The sort is stable: the first of equal slices is the one that comes first. */
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"
#include <string.h>

enum { Y, FIRST, WHICH, COUNT, X, VIEWS_OF_UNIQUE, SLICE_MOST = 64 };
typedef struct Unique {
    View view[VIEWS_OF_UNIQUE];
    int axis;
    bool sorted, reals;
    int64_t n, width;                                /* the number of slices, and the elements of
                                                        each */
    size_t keys, order, spare, first, count, number; /* offsets into the scratch memory */
} Unique;
typedef struct UniqueRun {
    const Unique *u;
    uint64_t *keys; /* [width, n] */
    int64_t *order, *spare, *first, *count, *number;
} UniqueRun;

/* NaN is greater than all numbers, and both zeros are the same. */
static uint64_t key_of_real(double x) {
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;
    if (x != x) return UINT64_MAX;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}
static uint64_t key_of_integer(const View *x, int64_t value) {
    return x->dtype == DT_UINT64 ? (uint64_t)value : (uint64_t)value ^ (uint64_t)1 << 63;
}
static void make_keys(const UniqueRun *run, void *const slot[]) {
    const Unique *u = run->u;
    const View *x = &u->view[X];
    const View slice = view_part(x, u->axis, 0, 1);
    int64_t i[STEP_RANK], *at = run->spare;
    uint64_t *key = run->keys;
    for (bool more = kernel_first(&slice, i); more; more = kernel_next(&slice, i), key += u->n) {
        at[0] = kernel_at(&slice, i);
        const int64_t step = x->stride[u->axis];
        for (int64_t k = 0; k < u->n; k++)
            key[k] = u->reals ? key_of_real(kernel_real(x, slot, at[0] + k * step))
                              : key_of_integer(x, kernel_integer(x, slot, at[0] + k * step));
    }
}
static void sort_slices(UniqueRun *run) {
    const Unique *u = run->u;
    for (int64_t k = 0; k < u->n; k++) run->order[k] = k;
    for (int64_t j = u->width - 1; j >= 0; j--)
        radix_sort(run->keys + j * u->n, u->n, &run->order, &run->spare);
}
static bool slices_equal(const UniqueRun *run, int64_t a, int64_t b) {
    for (int64_t j = 0; j < run->u->width; j++)
        if (run->keys[j * run->u->n + a] != run->keys[j * run->u->n + b]) return false;
    return true;
}
/* Numbers the distinct slices in ascending order: number[k] is that of slice k; first and count are
   by number. Returns how many there are. */
static int64_t number_slices(const UniqueRun *run) {
    int64_t found = 0;
    for (int64_t k = 0; k < run->u->n; k++) {
        const int64_t at = run->order[k];
        if (!k || !slices_equal(run, run->order[k - 1], at))
            run->first[found] = at, run->count[found++] = 0;
        run->count[found - 1]++;
        run->number[at] = found - 1;
    }
    return found;
}
/* Renumbers them in the order in which they first appear. order: the new numbers. */
static void renumber(const UniqueRun *run) {
    int64_t next = 0;
    for (int64_t k = 0; k < run->u->n; k++)
        if (run->first[run->number[k]] == k) run->order[run->number[k]] = next++;
    for (int64_t j = 0; j < next; j++) run->spare[run->order[j]] = run->count[j];
    memcpy(run->count, run->spare, (size_t)next * sizeof *run->count);
    for (int64_t j = 0; j < next; j++) run->spare[run->order[j]] = run->first[j];
    memcpy(run->first, run->spare, (size_t)next * sizeof *run->first);
    for (int64_t k = 0; k < run->u->n; k++) run->number[k] = run->order[run->number[k]];
}
static void put_integers(const View *y, void *const slot[], void *work, const int64_t *x,
                         int64_t n) {
    int64_t *to = view_at(y, slot, work);
    for (int64_t k = 0; k < y->dim[0]; k++) to[k * y->stride[0]] = k < n ? x[k] : 0;
}
/* Writes the distinct slices; the rest of y repeats slice 0. */
static void put_slices(const UniqueRun *run, void *const slot[], void *work, int64_t found) {
    static const int64_t none = 0;
    const Unique *u = run->u;
    const View *y = &u->view[Y], *x = &u->view[X];
    const int size = dtype_size(y->dtype);
    const int64_t room = y->dim[u->axis], ys = y->stride[u->axis], xs = x->stride[u->axis];
    const View slice = view_part(x, u->axis, 0, 1);
    char *to = (char *)view_at(y, slot, work) - y->offset * size;
    const char *from = (char *)view_at(x, slot, work) - x->offset * size;
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(&slice, i); more; more = kernel_next(&slice, i)) {
        char *line = to + kernel_at(y, i) * size;
        const char *source = from + kernel_at(x, i) * size;
        for (int64_t k = 0; k < found; k++) run->spare[k] = run->first[k] * xs;
        move_elements(size, line, ys, source, 0, run->spare, 1, found);
        move_elements(size, line + found * ys * size, ys, source, 0, &none, 0, room - found);
    }
}
static int unique_run(const Kernel *k, void *const slot[], void *work) {
    const Unique *u = k->self;
    char *at = work;
    UniqueRun run = {.u = u,
                     .keys = (uint64_t *)(void *)(at + u->keys),
                     .order = (int64_t *)(void *)(at + u->order),
                     .spare = (int64_t *)(void *)(at + u->spare),
                     .first = (int64_t *)(void *)(at + u->first),
                     .count = (int64_t *)(void *)(at + u->count),
                     .number = (int64_t *)(void *)(at + u->number)};
    make_keys(&run, slot);
    sort_slices(&run);
    const int64_t found = number_slices(&run);
    if (found > u->view[Y].dim[u->axis]) return -1;
    if (!u->sorted) renumber(&run);
    put_integers(&u->view[FIRST], slot, work, run.first, found);
    put_integers(&u->view[COUNT], slot, work, run.count, found);
    put_integers(&u->view[WHICH], slot, work, run.number, u->n);
    put_slices(&run, slot, work, found);
    return 0;
}

bool unique_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view, *x = &v[X];
    Unique *u = ARENA_NEW(b->arena, Unique, 1);
    *u = (Unique){.axis = (int)b->step->param[OP_AXIS],
                  .sorted = b->step->param[UNIQUE_SORTED] != 0,
                  .reals = !kernel_is_integer(x)};
    memcpy(u->view, v, sizeof u->view);
    u->n = x->dim[u->axis], u->width = u->n ? view_count(x) / u->n : 0;
    for (int j = 0; j < VIEWS_OF_UNIQUE; j++)
        if (v[j].rank < 0 || v[j].format) return false;
    if (u->width < 1 || u->width > SLICE_MOST || v[Y].dtype != x->dtype ||
        !elements_move(x->dtype) || u->n > INT32_MAX)
        return false;
    const size_t row = (size_t)u->n * sizeof(int64_t);
    u->keys = build_bytes(b, row * (size_t)u->width);
    u->order = build_bytes(b, row), u->spare = build_bytes(b, row);
    u->first = build_bytes(b, row), u->count = build_bytes(b, row);
    u->number = build_bytes(b, row);
    k->run = unique_run, k->self = u;
    return true;
}
