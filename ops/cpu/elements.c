/* elements.c -- gatherelements and scatterelements (defined in ops/pick.c and ops/scatter.c).

   A run of up to RUN indices is converted to checked offsets, which stay in the cache; then its
   elements are moved, or combined, together. Scatterelements combines in the order of the index and
   checks all indices before it writes anything. Elements are moved as bytes.

   The index is often a column that was broadcast along rows. Along axes that its view repeats, an
   index then moves or combines a block at once; if it was stored with the repetitions, a run of
   equal indices does so. The order in which an element gets its updates stays the same: those of a
   block go to different elements. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <stdatomic.h>
#include <string.h>

/* RUN: indices that are handled together. BLOCK: so many elements with one index are a block.
   SHORT: rows of fewer indices are handled together. */
enum { RUN = 512, BLOCK = 4, SHORT = 16 };
typedef struct Elements {
    View y, from, index; /* from: x of gatherelements, the updates of scatterelements */
    Nest nest;           /* over the index: view 0 determines the order; then y, from, index */
    bool short_rows;     /* the last axis is short, and the indices of its rows lie side by side */
    Nest block;          /* over y and from: the axes that the index repeats; count 1: none */
    const Simd *moves;   /* moves all blocks of a run; NULL: another form */
    int size, index_size, parts; /* in bytes; parts: how many threads share the work */
    int64_t places, stride;      /* of the indexed axis, in x or (if scattered) in y: its length and
                                    stride */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*fold)(int64_t *at, const int64_t *from, int64_t places, int64_t stride, int64_t n,
                 bool *bad);
    Copy *copy; /* of scatterelements: copies x to y first */
    Joins join; /* combine updates with elements; NULL: updates replace elements */
} Elements;
typedef struct ElementsRun {
    const Elements *e;
    char *to; /* y */
    const char *from, *index;
    bool check; /* only checks whether all indices are in range */
    atomic_bool bad;
} ElementsRun;

/* Moves or combines n elements that have the same offset, one after the other if they meet. */
static void run_equal(const Elements *e, char *to, int64_t ts, const char *from, int64_t fs,
                      int64_t at, int64_t n) {
    if (!e->copy) from += at * e->size;
    else to += at * e->size;
    if (e->join.side_by_side) e->join.side_by_side(to, ts, from, fs, n);
    else if (ts == 1 && fs == 1) memcpy(to, from, (size_t)(n * e->size));
    else move_elements(e->size, to, ts, from, fs, &(int64_t){0}, 0, n);
}
/* Moves or combines n blocks with the offsets at[]. */
static void run_blocks(const Elements *e, char *to, int64_t ts, const char *from, int64_t fs,
                       const int64_t *at, int64_t n) {
    const Nest *b = &e->block;
    const int last = b->rank - 1;
    if (e->moves) {
        e->moves->move_chosen(&(ChosenRows){.y = to,
                                            .x = from,
                                            .ys = ts * e->size,
                                            .xs = fs * e->size,
                                            .yo = e->copy ? at : NULL,
                                            .xo = e->copy ? NULL : at,
                                            .os = 1,
                                            .size = e->size,
                                            .rows = n,
                                            .bytes = b->count * e->size});
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t index[STEP_RANK] = {0}, offset[2] = {0};
        do
            run_equal(e, to + (k * ts + offset[0]) * e->size, b->stride[last],
                      from + (k * fs + offset[1]) * e->size, b->stride[STEP_RANK + last], at[k],
                      b->dim[last]);
        while (nest_next(b, 1, index, offset));
    }
}
/* Whether n neighbouring indices have the same bytes. */
static bool all_equal(const char *index, int size, int64_t n) {
    return !memcmp(index, index + size, (size_t)size) &&
           !memcmp(index, index + size, (size_t)((n - 1) * size));
}
/* Moves or combines n elements with the offsets at[]. */
static void run_each(const Elements *e, char *to, int64_t ts, const char *from, int64_t fs,
                     const int64_t *at, int64_t n) {
    if (e->block.count != 1) run_blocks(e, to, ts, from, fs, at, n);
    else if (!e->copy) move_elements(e->size, to, ts, from, fs, at, 1, n);
    else if (!e->join.at) put_elements(e->size, to, ts, at, 1, from, fs, n);
    else e->join.at(to, ts, at, from, fs, n);
}
/* Handles n indices along the last axis in each of some rows, beginning at these offsets. The
   indices of several rows lie side by side. False: an index is out of range. */
static bool run_indices(const ElementsRun *run, const int64_t offset[4], int64_t n, int64_t rows) {
    const Elements *e = run->e;
    const int last = e->nest.rank - 1;
    const int64_t *stride = e->nest.stride + last, ts = stride[STEP_RANK],
                  fs = stride[2 * STEP_RANK], is = stride[3 * STEP_RANK];
    int64_t at[RUN];
    bool bad = false;
    const char *index = run->index + offset[3] * e->index_size;
    const bool equal = is == 1 && n >= BLOCK && rows == 1 && e->block.count == 1 &&
                       all_equal(index, e->index_size, n),
               as_is = e->index.dtype == DT_INT64 && is == 1;
    const int64_t different = equal ? 1 : n * rows;
    if (!as_is) e->load(at, index, is, different);
    e->fold(at, as_is ? (const int64_t *)(const void *)index : at, e->places, e->stride, different,
            &bad);
    if (bad || run->check) return !bad;
    char *to = run->to + offset[1] * e->size;
    const char *from = run->from + offset[2] * e->size;
    if (equal) run_equal(e, to, ts, from, fs, at[0], n);
    else
        for (int64_t r = 0; r < rows; r++)
            run_each(e, to + (r ? r * stride[STEP_RANK - 1] : 0) * e->size, ts,
                     from + (r ? r * stride[2 * STEP_RANK - 1] : 0) * e->size, fs, at + r * n, n);
    return true;
}
/* Advances by n places along the last axis, and at its end to the next row. */
static void advance(const Nest *nest, int64_t n, int64_t index[], int64_t offset[]) {
    const int last = nest->rank - 1;
    index[last] += n;
    const bool ended = index[last] == nest->dim[last];
    for (int v = 0; v < nest->n; v++)
        offset[v] += (ended ? n - nest->dim[last] : n) * nest->stride[v * STEP_RANK + last];
    if (!ended) return;
    index[last] = 0;
    nest_next(nest, 1, index, offset);
}
/* How many rows of n indices, of which `left` remain, are handled together. */
static int64_t rows_together(const Elements *e, const int64_t index[], int64_t n, int64_t left) {
    const int outer = e->nest.rank - 2;
    if (!e->short_rows || n != e->nest.dim[outer + 1]) return 1;
    int64_t rows = e->nest.dim[outer] - index[outer];
    rows = rows > left / n ? left / n : rows;
    return rows > RUN / n ? RUN / n : rows;
}
/* Advances by rows along the axis before the last one. */
static void advance_rows(const Nest *nest, int64_t rows, int64_t index[], int64_t offset[]) {
    const int outer = nest->rank - 2;
    if (rows == 0) return;
    index[outer] += rows;
    for (int v = 0; v < nest->n; v++) offset[v] += rows * nest->stride[v * STEP_RANK + outer];
}
static void run_part(void *job, int k) {
    ElementsRun *run = job;
    const Elements *e = run->e;
    const Nest *nest = &e->nest;
    const int last = nest->rank - 1;
    const int64_t first = nest->count * k / e->parts, end = nest->count * (k + 1) / e->parts;
    int64_t index[STEP_RANK] = {0}, offset[4], n, rows;
    nest_goto(nest, 0, first, index, offset);
    for (int64_t at = first; at < end; at += n * rows) {
        n = nest->dim[last] - index[last];
        n = n > end - at ? end - at : n;
        n = n > RUN ? RUN : n;
        rows = rows_together(e, index, n, end - at);
        if (!run_indices(run, offset, n, rows)) {
            atomic_store(&run->bad, true);
            return;
        }
        advance_rows(nest, rows - 1, index, offset);
        advance(nest, n, index, offset);
    }
}
static ElementsRun run_of(const Elements *e, void *const slot[], void *work, bool check) {
    return (ElementsRun){e,
                         view_at(&e->y, slot, work),
                         view_at(&e->from, slot, work),
                         view_at(&e->index, slot, work),
                         check,
                         false};
}
static int gather_run(const Kernel *k, void *const slot[], void *work) {
    const Elements *e = k->self;
    ElementsRun run = run_of(e, slot, work, false);
    team_run(k->device->team, e->parts, run_part, &run);
    return atomic_load(&run.bad) ? -1 : 0;
}
static int scatter_run(const Kernel *k, void *const slot[], void *work) {
    const Elements *e = k->self;
    if (!view_count(&e->index)) return copy_run(e->copy, slot, work), 0;
    ElementsRun run = run_of(e, slot, work, true);
    run_part(&run, 0);
    if (atomic_load(&run.bad)) return -1;
    copy_run(e->copy, slot, work);
    run.check = false;
    run_part(&run, 0);
    return 0;
}

/* ---- making */
static bool possible(const View *y, const View *x, const View *index) {
    return y->dtype == x->dtype && !y->format && !x->format && !index->format &&
           dtype_numeric(index->dtype) && elements_move(y->dtype);
}
/* Splits the axes of four views, of which view 3 is the index: axes that the index repeats, except
   the indexed one, remain in block[] alone, unless the blocks are too small and no rows. */
static void split_blocks(View each[4], View block[2], int axis) {
    const View *index = &each[3];
    const int last = index->rank - 1;
    bool repeated[STEP_RANK] = {false};
    int64_t count = 1;
    for (int a = 0; a <= last; a++) {
        repeated[a] = a != axis && index->stride[a] == 0;
        if (repeated[a]) count *= index->dim[a];
    }
    const bool rows = last >= 0 && repeated[last] && index->dim[last] > 1,
               pays = count >= BLOCK || rows;
    block[0] = each[1], block[1] = each[2];
    for (int a = 0; a < index->rank; a++)
        if (!pays || !repeated[a]) block[0].dim[a] = block[1].dim[a] = 1;
        else
            for (int v = 0; v < 4; v++) each[v].dim[a] = 1;
}
/* Completes the kernel. `order` determines the order in which indices are taken. `to` and `from`
   have the sizes of the index; one of them has stride 0 along the indexed axis (see `still`). */
static void finish(Build *b, Elements *e, const View *order, const View *to, const View *from,
                   int axis) {
    const Simd *simd = b->device->simd;
    View each[4] = {*order, *to, *from, e->index}, block[2];
    split_blocks(each, block, axis);
    e->size = dtype_size(to->dtype), e->index_size = dtype_size(e->index.dtype);
    e->nest = nest_new(b->arena, (const View *const[]){&each[0], &each[1], &each[2], &each[3]}, 4);
    e->block = nest_new(b->arena, (const View *const[]){&block[0], &block[1]}, 2);
    nest_with_axis(&e->nest);
    nest_with_axis(&e->block);
    if (e->block.count > 1 && !e->join.at && nest_is_short_row(&e->block, e->size)) e->moves = simd;
    const int outer = e->nest.rank - 2;
    const int64_t *of_index = e->nest.stride + 3 * STEP_RANK;
    e->short_rows = outer >= 0 && e->nest.dim[outer + 1] < SHORT && of_index[outer + 1] == 1 &&
                    of_index[outer] == e->nest.dim[outer + 1];
    e->load = simd->load[CLASS_INT][e->index.dtype], e->fold = simd->fold;
}
/* v with the sizes of the index and stride 0 along the axis, along which the index moves. */
static View still(const View *v, const View *index, int axis) {
    View s = *v;
    for (int a = 0; a < s.rank; a++) s.dim[a] = index->dim[a];
    s.stride[axis] = 0;
    return s;
}
bool gatherelements_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    const int axis = (int)b->step->param[OP_AXIS];
    Elements *e = ARENA_NEW(b->arena, Elements, 1);
    if (!possible(&v[0], &v[1], &v[2]) || !view_count(&v[2])) return false;
    *e = (Elements){.y = v[0], .from = v[1], .index = v[2]};
    e->places = e->from.dim[axis], e->stride = e->from.stride[axis];
    const View from = still(&e->from, &e->index, axis);
    finish(b, e, &e->y, &e->y, &from, axis);
    e->parts = count_parts(b, e->nest.count, e->nest.count * e->block.count, 1);
    k->run = gather_run, k->self = e;
    return true;
}
bool scatterelements_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    const View *v = b->step->view;
    const int axis = (int)b->step->param[OP_AXIS];
    const int64_t how = b->step->param[SCATTER_HOW];
    Elements *e = ARENA_NEW(b->arena, Elements, 1);
    if (!possible(&v[0], &v[3], &v[2]) || v[0].dtype != v[1].dtype || v[1].format) return false;
    *e = (Elements){.y = v[0], .from = v[3], .index = v[2], .parts = 1};
    if (how != SCATTER_NONE) e->join = scatter_joins(v[0].dtype, how);
    if (how != SCATTER_NONE && !e->join.at) return false;
    e->places = e->y.dim[axis], e->stride = e->y.stride[axis];
    e->copy = copy_new(b, &v[0], &v[1]);
    k->run = scatter_run, k->self = e;
    if (!view_count(&e->index)) return e->copy != NULL;
    const View to = still(&e->y, &e->index, axis),
               order = view_dense(0, DT_INT64, e->index.rank, e->index.dim);
    finish(b, e, &order, &to, &e->from, axis);
    return e->copy != NULL;
}
