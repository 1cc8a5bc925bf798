/* softmax.c -- softmax along the last axis in float or double: a row at a time, or short rows side
   by side. Rows that are not consecutive in memory are packed first and unpacked after. */
#include "ops/cpu/cpu.h"

typedef struct Softmax {
    Operand x;
    Tail tail;
    int64_t rows, columns;
    int size;
    void (*row)(void *y, const void *x, int64_t n);
    void (*short_rows)(void *y, const void *x, int64_t columns, int64_t rows); /* NULL: long */
} Softmax;

static int softmax_choices(const Device *d, const Step *s) {
    (void)d;
    const Class c = view_class(s->view, 2);
    return dtype_numeric(s->view[0].dtype) && dtype_numeric(s->view[1].dtype) &&
           (c == CLASS_FLOAT || c == CLASS_DOUBLE) && s->view[0].rank > 0;
}
static int softmax_run(const Kernel *k, void *const slot[], void *work) {
    const Softmax *s = k->self;
    const char *x = operand_at(&s->x, slot, work);
    char *y = view_at(&s->tail.into, slot, work);
    if (s->short_rows) s->short_rows(y, x, s->columns, s->rows);
    for (int64_t r = 0; r < s->rows && !s->short_rows; r++)
        s->row(y + r * s->columns * s->size, x + r * s->columns * s->size, s->columns);
    tail_run(&s->tail, slot, work);
    return 0;
}
static bool softmax_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    Softmax *s = ARENA_NEW(b->arena, Softmax, 1);
    const View *x = &b->step->view[1];
    const Class class = view_class(b->step->view, 2);
    s->row = b->device->simd->softmax[class];
    s->size = dtype_size(class_dtype(class));
    s->columns = x->dim[x->rank - 1];
    if (s->columns <= SIMD_SHORT) s->short_rows = b->device->simd->softmax_short[class];
    s->rows = s->columns ? view_count(x) / s->columns : 0;
    k->run = softmax_run;
    k->self = s;
    if (x->dtype == class_dtype(class) && view_is_dense(x)) s->x = operand_as_is(b, 1);
    else if (!operand_pack(b, 1, class_dtype(class), &s->x)) return false;
    return tail_new(b, class_dtype(class), TAIL_DENSE, &s->tail);
}
const Maker softmax_maker = {.choices = softmax_choices, .build = softmax_build, .rows = true};
