/* elements.c -- gatherelements and scatterelements (defined in ops/pick.c and ops/scatter.c).

   A run of up to RUN indices is converted to checked offsets, which stay in the cache; then its
   elements are moved, or combined, together. Scatterelements combines in the order of the index and
   checks all indices before it writes anything. Elements are moved as bytes. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/cpu/cpu.h"
#include <stdatomic.h>

/* indices that are handled together */
enum { RUN = 512 };
typedef struct Elements {
    View y, from, index; /* from: x of gatherelements, the updates of scatterelements */
    Nest nest;           /* over the index: view 0 determines the order; then y, from, index */
    int size, index_size, parts; /* in bytes; parts: how many threads share the work */
    int64_t places, stride;      /* of the indexed axis, in x or (if scattered) in y: its length and
                                    stride */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
    void (*fold)(int64_t *at, const int64_t *from, int64_t places, int64_t stride, int64_t n,
                 bool *bad);
    Copy *copy; /* of scatterelements: copies x to y first */
    Join *join; /* combines an update with an element; NULL: updates replace elements */
} Elements;
typedef struct ElementsRun {
    const Elements *e;
    char *to; /* y */
    const char *from, *index;
    bool check; /* only checks whether all indices are in range */
    atomic_bool bad;
} ElementsRun;

/* Handles n indices along the last axis, beginning at these offsets. False: an index is out of
   range. */
static bool run_indices(const ElementsRun *run, const int64_t offset[4], int64_t n) {
    const Elements *e = run->e;
    const int last = e->nest.rank - 1;
    const int64_t *stride = e->nest.stride + last, ts = stride[STEP_RANK],
                  fs = stride[2 * STEP_RANK], is = stride[3 * STEP_RANK];
    int64_t at[RUN];
    bool bad = false;
    const char *index = run->index + offset[3] * e->index_size;
    const bool as_is = e->index.dtype == DT_INT64 && is == 1;
    if (!as_is) e->load(at, index, is, n);
    e->fold(at, as_is ? (const int64_t *)(const void *)index : at, e->places, e->stride, n, &bad);
    if (bad || run->check) return !bad;
    char *to = run->to + offset[1] * e->size;
    const char *from = run->from + offset[2] * e->size;
    if (!e->copy) move_elements(e->size, to, ts, from, fs, at, 1, n);
    else if (!e->join) put_elements(e->size, to, ts, at, 1, from, fs, n);
    else
        for (int64_t k = 0; k < n; k++)
            e->join(to + (k * ts + at[k]) * e->size, 1, from + k * fs * e->size, 1, 1);
    return true;
}
static void run_part(void *job, int k) {
    ElementsRun *run = job;
    const Nest *nest = &run->e->nest;
    const int64_t end = nest->count * (k + 1) / run->e->parts;
    int64_t index[STEP_RANK] = {0}, offset[4], n;
    for (int64_t at = nest->count * k / run->e->parts; at < end; at += n) {
        nest_goto(nest, 0, at, index, offset);
        n = nest->dim[nest->rank - 1] - index[nest->rank - 1];
        n = n > end - at ? end - at : n;
        n = n > RUN ? RUN : n;
        if (!run_indices(run, offset, n)) {
            atomic_store(&run->bad, true);
            return;
        }
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
/* Completes the kernel. `order` determines the order in which indices are taken. `to` and `from`
   have the sizes of the index; one of them has stride 0 along the indexed axis (see `still`). */
static void finish(Build *b, Elements *e, const View *order, const View *to, const View *from) {
    const Simd *simd = b->device->simd;
    e->size = dtype_size(to->dtype), e->index_size = dtype_size(e->index.dtype);
    e->nest = nest_new(b->arena, (const View *const[]){order, to, from, &e->index}, 4);
    nest_with_axis(&e->nest);
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
    finish(b, e, &e->y, &e->y, &from);
    e->parts = count_parts(b, e->nest.count, e->nest.count, 1);
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
    e->join = how ? scatter_join(v[0].dtype, how) : NULL;
    if (how && !e->join) return false;
    e->places = e->y.dim[axis], e->stride = e->y.stride[axis];
    e->copy = copy_new(b, &v[0], &v[1]);
    k->run = scatter_run, k->self = e;
    if (!view_count(&e->index)) return e->copy != NULL;
    const View to = still(&e->y, &e->index, axis),
               order = view_dense(0, DT_INT64, e->index.rank, e->index.dim);
    finish(b, e, &order, &to, &e->from);
    return e->copy != NULL;
}
