/* onerow.c -- multiplies single rows by matrices that are not known, or that differ from row to
   row. Such a product takes as long as reading the matrix, so the matrix is read in place, along
   its rows or its columns. */
#include "ops/cpu/cpu.h"

enum { Y, A, B, VIEWS };
enum { LEAST = 192 }; /* contiguous elements of the matrix; with fewer, OpenBLAS is as fast */
typedef struct OneRow {
    Tail tail;
    View view[VIEWS];
    Nest outer;                     /* the axes before the last two */
    int64_t columns, terms, stride; /* between rows or columns of the matrix */
    RowByMatrix *product;
} OneRow;

static int onerow_run(const Kernel *k, void *const slot[], void *work) {
    const OneRow *o = k->self;
    int64_t index[STEP_RANK] = {0}, offset[VIEWS] = {0};
    float *first[VIEWS];
    for (int i = 0; i < VIEWS; i++) first[i] = view_at(&o->view[i], slot, work);
    do
        o->product(first[Y] + offset[Y], first[A] + offset[A], first[B] + offset[B], o->stride,
                   o->terms, o->columns);
    while (nest_next(&o->outer, 0, index, offset));
    tail_run(&o->tail, slot, work);
    return 0;
}

/* ---- making */
/* Whether the matrix is read along its rows; otherwise along its columns. */
static bool reads_rows(const View *b) { return b->stride[b->rank - 1] == 1; }
bool onerow_possible(const Step *s) {
    const View *y = &s->view[0], *a = &s->view[1], *b = &s->view[2];
    const int column = y->rank - 1, row = column - 1;
    for (int i = 0; i < VIEWS; i++)
        if (s->view[i].dtype != DT_FLOAT || view_count(&s->view[i]) == 0) return false;
    for (int i = 0; i < row; i++)
        if (b->dim[i] > 1 && b->stride[i] == 0) return false; /* such rows belong to one product */
    return y->dim[row] == 1 && y->stride[column] == 1 && a->stride[column] == 1 &&
           (reads_rows(b) ? y->dim[column] >= LEAST
                          : b->stride[row] == 1 && a->dim[column] >= LEAST);
}
bool onerow_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    const Simd *simd = b->device->simd;
    const int column = v[0].rank - 1;
    OneRow *o = ARENA_NEW(b->arena, OneRow, 1);
    View outer[VIEWS];
    const View *of[VIEWS];
    if (!onerow_possible(b->step)) return build_fail(b, "other rows or columns");
    if (!tail_new(b, DT_FLOAT, TAIL_PACKED, &o->tail)) return false;
    o->columns = v[0].dim[column], o->terms = v[1].dim[column];
    o->view[Y] = o->tail.into, o->view[A] = v[1], o->view[B] = v[2];
    if (o->view[Y].stride[column] != 1) return build_fail(b, "columns that lie apart");
    o->product = reads_rows(&v[2]) ? simd->row_by_rows : simd->row_by_columns;
    o->stride = v[2].stride[reads_rows(&v[2]) ? column - 1 : column];
    for (int i = 0; i < VIEWS; i++) outer[i] = o->view[i], outer[i].rank -= 2, of[i] = &outer[i];
    o->outer = nest_new(b->arena, of, VIEWS);
    k->self = o, k->run = onerow_run;
    return true;
}
