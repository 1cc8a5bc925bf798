/* onerow.c -- multiplies single rows by matrices that are not known, or that differ from row to
   row. Such a product takes as long as reading the matrix, so the matrix is read in place, along
   its rows or its columns. A matrix times a single column is the column, as a row, times the
   transposed matrix. */
#include "ops/cpu/cpu.h"

enum { Y, A, B, VIEWS };
/* Contiguous elements of the matrix: with fewer, OpenBLAS is as fast. DOTTED: along its columns. */
enum { LEAST = 192, LEAST_DOTTED = 32 };
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
static bool is_column(const View *y) { return y->dim[y->rank - 1] == 1; }
/* The views of the product of rows. */
static void as_rows(const Step *s, View v[VIEWS]) {
    const bool column = is_column(&s->view[0]);
    v[Y] = column ? matrix_transposed(&s->view[0]) : s->view[0];
    v[A] = column ? matrix_transposed(&s->view[2]) : s->view[1];
    v[B] = column ? matrix_transposed(&s->view[1]) : s->view[2];
}
/* Whether the matrix is read along its columns; otherwise along its rows. */
static bool reads_columns(const View *b) { return b->stride[b->rank - 2] == 1; }
/* Whether the step is such a product. The answer is the same for each part of it, and so is the
   result, on any number of threads. */
static bool has_form(const Step *s, View v[VIEWS]) {
    for (int i = 0; i < VIEWS; i++)
        if (s->view[i].dtype != DT_FLOAT || view_count(&s->view[i]) == 0) return false;
    as_rows(s, v);
    const View *b = &v[B];
    const int column = b->rank - 1, row = column - 1;
    for (int i = 0; i < row; i++)
        if (b->dim[i] > 1 && b->stride[i] == 0) return false; /* such rows belong to one product */
    return v[Y].dim[row] == 1 && v[Y].stride[column] == 1 && v[A].stride[column] == 1 &&
           (reads_columns(b) || b->stride[column] == 1);
}
bool onerow_possible(const Step *s) {
    View v[VIEWS];
    if (!has_form(s, v)) return false;
    const int column = v[Y].rank - 1;
    return reads_columns(&v[B]) ? v[A].dim[column] >= LEAST_DOTTED : v[Y].dim[column] >= LEAST;
}
bool onerow_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const Simd *simd = b->device->simd;
    OneRow *o = ARENA_NEW(b->arena, OneRow, 1);
    View v[VIEWS], outer[VIEWS];
    const View *of[VIEWS];
    if (!has_form(b->step, v)) return build_fail(b, "other rows or columns");
    if (!tail_new(b, DT_FLOAT, TAIL_PACKED, &o->tail)) return false;
    const int column = v[Y].rank - 1;
    o->columns = v[Y].dim[column], o->terms = v[A].dim[column];
    o->view[Y] = is_column(&b->step->view[0]) ? matrix_transposed(&o->tail.into) : o->tail.into;
    o->view[A] = v[A], o->view[B] = v[B];
    if (o->view[Y].stride[column] != 1) return build_fail(b, "columns that lie apart");
    o->product = reads_columns(&v[B]) ? simd->row_by_columns : simd->row_by_rows;
    o->stride = v[B].stride[reads_columns(&v[B]) ? column : column - 1];
    for (int i = 0; i < VIEWS; i++) outer[i] = o->view[i], outer[i].rank -= 2, of[i] = &outer[i];
    o->outer = nest_new(b->arena, of, VIEWS);
    k->self = o, k->run = onerow_run;
    return true;
}
