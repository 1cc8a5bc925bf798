/* softmax.c -- softmax along the last axis, in float or double.

   Contiguous rows are computed one after the other, or several short ones together. If another axis
   has stride 1, columns along that axis are computed SIMD_BESIDE at a time, the last few of them in
   a copy of full width. Otherwise rows that are not contiguous are packed before and unpacked
   afterwards. */
#include "ops/cpu/cpu.h"
#include <string.h>

typedef struct Softmax {
    Operand x;
    Tail tail;
    int64_t rows, columns;
    void (*run)(void *y, const void *x, int64_t columns, int64_t rows);
} Softmax;

static int softmax_choices(const Device *d, const Step *s) {
    (void)d;
    const ComputeClass c = view_class(s->view, 2);
    return dtype_numeric(s->view[0].dtype) && dtype_numeric(s->view[1].dtype) &&
           (c == CLASS_FLOAT || c == CLASS_DOUBLE) && s->view[0].rank > 0;
}
static int softmax_run(const Kernel *k, void *const slot[], void *work) {
    const Softmax *s = k->self;
    const char *x = operand_at(&s->x, slot, work);
    char *y = view_at(&s->tail.into, slot, work);
    s->run(y, x, s->columns, s->rows);
    tail_run(&s->tail, slot, work);
    return 0;
}

/* ---- columns */
typedef struct Columns {
    View y, x;
    int64_t rows, ys, xs; /* the elements of a column and their strides */
    int size;
    Nest outer;  /* over all axes except that of the rows */
    int inner;   /* 1 if the columns are the last axis of `outer`, 0 if there is one at a time */
    size_t room; /* an offset into the scratch memory: SIMD_BESIDE columns */
    void (*beside)(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows);
} Columns;
/* Computes n columns, fewer than SIMD_BESIDE. */
static void few_columns(const Columns *s, char *y, const char *x, int64_t n, char *room) {
    const int64_t full = SIMD_BESIDE * s->size;
    const size_t part = (size_t)(n * s->size);
    for (int64_t r = 0; r < s->rows; r++) {
        memset(room + r * full, 0, (size_t)full);
        memcpy(room + r * full, x + r * s->xs * s->size, part);
    }
    s->beside(room, SIMD_BESIDE, room, SIMD_BESIDE, s->rows);
    for (int64_t r = 0; r < s->rows; r++) memcpy(y + r * s->ys * s->size, room + r * full, part);
}
static int columns_run(const Kernel *k, void *const slot[], void *work) {
    const Columns *s = k->self;
    char *y = view_at(&s->y, slot, work);
    const char *x = view_at(&s->x, slot, work);
    const int64_t columns = s->inner ? s->outer.dim[s->outer.rank - 1] : 1,
                  whole = columns - columns % SIMD_BESIDE;
    int64_t index[STEP_RANK] = {0}, offset[2] = {0};
    do {
        char *to = y + offset[0] * s->size;
        const char *from = x + offset[1] * s->size;
        for (int64_t c = 0; c < whole; c += SIMD_BESIDE)
            s->beside(to + c * s->size, s->ys, from + c * s->size, s->xs, s->rows);
        if (whole < columns)
            few_columns(s, to + whole * s->size, from + whole * s->size, columns - whole,
                        (char *)work + s->room);
    } while (nest_next(&s->outer, s->inner, index, offset));
    return 0;
}
/* Builds the kernel for columns. False: the columns do not lie side by side in both views, or are
   too few for it to be faster. Their number is that from one row to the next in memory, so the
   answer is the same for each part of the columns, and so is the result, on any number of
   threads. */
static bool columns_build(Build *b, ComputeClass class, Kernel *k) {
    const View *y = &b->step->view[0], *x = &b->step->view[1];
    const int last = x->rank - 1, type = class_dtype(class);
    bool beside = false;
    Columns *s = ARENA_NEW(b->arena, Columns, 1);
    for (int a = 0; a < last; a++) beside |= x->stride[a] == 1 && y->stride[a] == 1;
    if (y->dtype != type || x->dtype != type || b->step->ncode || x->dim[last] < 2 || !beside ||
        x->stride[last] < SIMD_BESIDE / 2)
        return false;
    s->y = *y, s->x = *x, s->rows = x->dim[last], s->size = dtype_size(type);
    s->ys = y->stride[last], s->xs = x->stride[last];
    View to = *y, from = *x;
    to.rank = from.rank = last;
    s->outer = nest_new(b->arena, (const View *const[]){&to, &from}, 2);
    const int axis = s->outer.rank - 1;
    if (s->outer.count == 0) return false;
    s->inner = axis >= 0 && s->outer.stride[axis] == 1 && s->outer.stride[STEP_RANK + axis] == 1;
    s->beside = b->device->simd->softmax_columns[class];
    s->room = build_bytes(b, (size_t)(s->rows * SIMD_BESIDE * s->size));
    k->run = columns_run, k->self = s;
    return true;
}
static bool softmax_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    Softmax *s = ARENA_NEW(b->arena, Softmax, 1);
    const View *x = &b->step->view[1];
    const ComputeClass class = view_class(b->step->view, 2);
    if (columns_build(b, class, k)) return true;
    s->columns = x->dim[x->rank - 1];
    s->run = s->columns <= (class == CLASS_FLOAT ? SIMD_SHORT_FLOATS : SIMD_SHORT)
                 ? b->device->simd->softmax_short[class]
                 : b->device->simd->softmax[class];
    s->rows = s->columns ? view_count(x) / s->columns : 0;
    k->run = softmax_run;
    k->self = s;
    if (x->dtype == class_dtype(class) && view_is_dense(x)) s->x = operand_as_is(b, 1);
    else if (!operand_pack(b, 1, class_dtype(class), &s->x)) return false;
    return tail_new(b, class_dtype(class), TAIL_DENSE, &s->tail);
}
const Maker softmax_maker = {.choices = softmax_choices, .build = softmax_build, .rows = true};
