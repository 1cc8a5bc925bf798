/* split.c -- cuts a step into parts, one for each thread of the device.

   Each part is a step over a range of one output axis, compiled like any other step, with scratch
   memory of its own. Reductions are never cut, so that each element is computed as in the whole
   step, and the result has the same bytes for any number of threads. oneDNN may choose different
   algorithms for a part and for the whole; there both are compiled and run on random numbers, and
   the parts are used only if they give the same bytes. Otherwise the next axis is tried. A
   convolution or pool that is cut along a spatial axis reads the rows that its windows reach; their
   padding becomes the padding of the part. */
#include "ops/core/element.h"
#include "ops/cpu/cpu.h"
#include <stdatomic.h>
#include <string.h>

typedef struct Split {
    int n;               /* parts */
    Kernel *part, whole; /* whole: compared with the parts, and run if they differ */
    size_t *work;        /* for each part, the offset of its scratch memory */
    size_t whole_work;   /* bytes of scratch memory of the whole */
} Split;
typedef struct Job {
    const Split *split;
    void *const *slot;
    char *work;
    atomic_int status;
} Job;

static void run_cut_part(void *job, int k) {
    Job *j = job;
    const Kernel *p = &j->split->part[k];
    if (p->run(p, j->slot, j->work + j->split->work[k])) atomic_store(&j->status, -1);
}
static int split_run(const Kernel *k, void *const slot[], void *work) {
    const Split *s = k->self;
    Job j = {.split = s, .slot = slot, .work = work};
    team_run(k->device->team, s->n, run_cut_part, &j);
    return atomic_load(&j.status);
}
static int whole_run(const Kernel *k, void *const slot[], void *work) {
    const Split *s = k->self;
    return s->whole.run(&s->whole, slot, work);
}
static void forget_parts(Split *s) {
    for (int i = 0; i < s->n; i++) kernel_forget(&s->part[i]);
    s->n = 0;
}
static void split_forget(Kernel *k) {
    Split *s = k->self;
    forget_parts(s);
    kernel_forget(&s->whole);
}

/* ---- how many parts */
/* Elements of memory that a view covers. An axis of stride 0 is counted once because its elements
   are read again. */
static int64_t elements_of(const View *v) {
    int64_t n = v->rank < 0 ? 0 : 1;
    for (int a = 0; a < v->rank; a++)
        if (v->stride[a]) n *= v->dim[a];
    return n;
}
/* Estimated time of sums of products. With one input channel, or with few, they run at a fraction
   of the usual speed. */
static int64_t nanoseconds_of_sums(int64_t sums, int64_t terms, int64_t inputs) {
    return sums * terms / (inputs == 1 ? 20 : inputs < 8 ? 30 : 50);
}
static int64_t nanoseconds_of_code(const Step *s) {
    int64_t each = 2 * s->nview + s->ncode;
    for (int i = 0; i < s->ncode; i++) each += op_is_function(s->code[i].op) ? 8 : 0;
    return view_count(&s->view[0]) * each / 40;
}
/* Estimates how many nanoseconds the step takes on one thread: the greater of the times for
   computing and for reading. */
static int64_t nanoseconds(const Step *s) {
    enum { BYTES = 40 }; /* read per nanosecond */
    const View *v = s->view;
    const int64_t y = view_count(v), x = s->nview > 1 && v[1].rank >= 0 ? view_count(&v[1]) : 0;
    int64_t ns, read = 0;
    for (int i = 0; i < s->nview; i++) read += elements_of(&v[i]) * dtype_size(v[i].dtype);
    switch (s->kind) {
    case S_GEMM: ns = nanoseconds_of_sums(y, v[1].dim[v[1].rank - 1], INT64_MAX); break;
    case S_CONV: ns = nanoseconds_of_sums(y, conv_terms(s), v[2].dim[1]); break;
    case S_POOL: ns = y > x ? y : x; break;
    case S_LOOP: ns = 10 * (y + x); break;
    case S_SOFTMAX: ns = y / 2; break;
    case S_EWISE: ns = nanoseconds_of_code(s); break;
    default: ns = (y > x ? y : x) / 4;
    }
    return ns > read / BYTES ? ns : read / BYTES;
}
int count_parts(const Build *b, int64_t most, int64_t count, double each) {
    const Device *d = b->device;
    int64_t parts = d->team ? (int64_t)((double)count * each) / d->grain : 1;
    if (parts > d->threads) parts = d->threads;
    if (parts > most) parts = most;
    return parts < 1 ? 1 : (int)parts;
}
int split_parts(const Build *b) { return count_parts(b, INT64_MAX, nanoseconds(b->step), 1); }

/* Where part k of n begins along an axis of this size. */
static int64_t begin(int64_t size, int64_t unit, int n, int k) {
    return k == n ? size : size / unit * k / n * unit;
}
static int64_t largest(int64_t size, int64_t unit, int n) {
    int64_t most = 0;
    for (int k = 0; k < n; k++) {
        const int64_t part = begin(size, unit, n, k + 1) - begin(size, unit, n, k);
        if (part > most) most = part;
    }
    return most;
}

/* Returns the first cut whose speed-up (the axis divided by its largest part) is above 1.1 and at
   most 10 % below that of any later cut. *n is the number of its parts. NULL: no cut helps. */
static const Cut *best_cut(const View *y, const Cut cut[], int ncut, int *n) {
    const Cut *best = NULL;
    double gain = 1.1;
    int parts = 1;
    for (int i = 0; i < ncut; i++) {
        const int64_t size = y->dim[cut[i].axis], units = size / cut[i].unit;
        const int m = units < *n ? (int)units : *n;
        if (m < 2) continue;
        const double here = (double)size / (double)largest(size, cut[i].unit, m);
        if (here > 1.1 * gain || (!best && here > gain)) best = &cut[i], gain = here, parts = m;
    }
    *n = parts;
    return best;
}

/* ---- parts of views and parameters */
/* Reduces x to the range along a spatial axis that the windows of outputs first..first+size-1
   reach, and sets the pads of this part in `param`, a copy of the step's parameters. False: these
   windows reach only padding. */
static bool cut_window(const Step *s, View *x, int64_t *param, int axis, int64_t first,
                       int64_t size) {
    const int i = axis - 2;
    const StepWindow w = step_window(s);
    const int64_t stride = w.stride[i], in = x->dim[axis], low = first * stride - w.begin[i],
                  high = low + (size - 1) * stride + (w.kernel[i] - 1) * w.dilation[i] + 1,
                  from = low > 0 ? low : 0, to = high < in ? high : in;
    if (from >= to) return false;
    *x = view_part(x, axis, from, to - from);
    param[window_param(s, WINDOW_BEGINS, i)] = from - low;
    if (to < in) param[window_param(s, WINDOW_ENDS, i)] = 0;
    return true;
}

static bool cut_conv(const Step *s, View *v, int64_t *param, int axis, int64_t first,
                     int64_t size) {
    const int64_t group = s->param[CONV_GROUP], outs = s->view[0].dim[1] / group,
                  ins = s->view[2].dim[1];
    if (axis == 0) v[1] = view_part(&v[1], 0, first, size);
    if (axis >= 2) return cut_window(s, &v[1], param, axis, first, size);
    if (axis != 1) return true;
    v[2] = view_part(&v[2], 0, first, size);
    if (group == 1) return true;
    v[1] = view_part(&v[1], 1, first / outs * ins, size / outs * ins);
    param[CONV_GROUP] = size / outs;
    return true;
}

/* Cuts the inputs whose axes differ from the output's. */
static bool cut_inputs(const Step *s, View *v, int64_t *param, int axis, int64_t first,
                       int64_t size) {
    const int last = s->view[0].rank - 1;
    switch (s->kind) {
    case S_GEMM:
        if (axis != last) v[1] = view_part(&v[1], axis, first, size);
        if (axis != last - 1) v[2] = view_part(&v[2], axis, first, size);
        return true;
    case S_CONV: return cut_conv(s, v, param, axis, first, size);
    case S_POOL:
        if (axis >= 2) return cut_window(s, &v[1], param, axis, first, size);
        v[1] = view_part(&v[1], axis, first, size);
        return true;
    default: v[1] = view_part(&v[1], axis, first, size); return true;
    }
}

static bool part_of(Arena *a, const Step *s, int axis, int64_t first, int64_t size, Step *out) {
    const int own = s->kind == S_GEMM || s->kind == S_CONV ? 3 : 2;
    View *v = arena_copy(a, s->view, sizeof *v * (size_t)s->nview);
    int64_t *param = ARENA_NEW(a, int64_t, s->nparam + 1);
    if (s->nparam) memcpy(param, s->param, sizeof *param * (size_t)s->nparam);
    v[0] = view_part(&v[0], axis, first, size);
    for (int i = own; i < s->nview; i++)
        if (v[i].rank == s->view[0].rank) v[i] = view_part(&v[i], axis, first, size);
    *out = *s;
    out->view = v;
    out->param = param;
    return cut_inputs(s, v, param, axis, first, size);
}

/* ---- making */
static bool make_parts(Build *b, Make *make, int choice, const Cut *cut, Split *s, int n) {
    const Step *whole = b->step;
    const int64_t size = whole->view[0].dim[cut->axis];
    for (int i = 0; i < n; i++) {
        const int64_t first = begin(size, cut->unit, n, i);
        Kernel *part = &s->part[i];
        Step step;
        *part = (Kernel){.device = b->device, .arena = b->arena};
        s->n = i + 1;
        Build own = *b;
        own.kernel = part, own.step = &step, own.workspace = 0, own.part = i;
        if (!part_of(b->scratch, whole, cut->axis, first, begin(size, cut->unit, n, i + 1) - first,
                     &step) ||
            !make(&own, choice, part))
            return false;
        s->work[i] = build_bytes(b, own.workspace);
    }
    return true;
}

/* ---- comparing parts with the whole: of floats only, because other types hide the last bits */
enum { ROUNDS = 4, ROUNDS_MOST = 100, ENOUGH = 1 << 16 };
typedef struct Memory { /* memory for all slots of the step except those with known contents */
    int n;
    void **slot;
    size_t *bytes; /* 0: known contents, or an unused slot */
} Memory;

static int64_t view_elements(const View *v) {
    int64_t low, high;
    view_extent(v, &low, &high);
    return high;
}
static Memory memory_new(const Build *b) {
    const Step *s = b->step;
    Memory m = {0};
    for (int i = 0; i < s->nview; i++)
        if (s->view[i].slot >= m.n) m.n = s->view[i].slot + 1;
    m.slot = ARENA_NEW(b->scratch, void *, m.n);
    m.bytes = ARENA_NEW(b->scratch, size_t, m.n);
    for (int i = 0; i < s->nview; i++) {
        const int slot = s->view[i].slot;
        const size_t bytes = (size_t)(view_elements(&s->view[i]) * dtype_size(s->view[i].dtype));
        if (b->weights && b->weights[i]) m.slot[slot] = (void *)(uintptr_t)b->weights[i];
        else if (bytes > m.bytes[slot]) m.bytes[slot] = bytes;
    }
    for (int k = 0; k < m.n; k++)
        if (m.bytes[k]) m.slot[k] = arena_alloc(b->scratch, m.bytes[k]);
    return m;
}
/* Fills memory with random numbers: in round 0 around 1, later of both signs and, for the input, of
   several magnitudes, so that not all results saturate in an activation. only: the one slot to
   fill, or -1 for all. */
static void memory_fill(const Memory *m, const Step *s, int round, int only) {
    for (int i = s->nview - 1; i >= 0; i--) {
        const View *v = &s->view[i];
        if (only >= 0 && v->slot != only) continue;
        const int64_t n = m->bytes[v->slot] ? view_elements(v) : 0;
        const uint64_t seed = (uint64_t)(round * s->nview + v->slot);
        float *x = m->slot[v->slot];
        element_fill((DType)v->dtype, x, n, seed);
        const float scale = i == 1 ? 1.0f / (float)(1 << 4 * (round % 3)) : 1;
        for (int64_t k = 0; k < n && round && v->dtype == DT_FLOAT; k++) x[k] = (x[k] - 1) * scale;
    }
}

/* Whether the whole and its parts write the same bytes for random inputs. Small outputs are
   compared in more rounds. */
static bool same_bytes(const Build *b, const Kernel *whole, size_t whole_work, const Kernel *parts,
                       size_t parts_work) {
    const int y = b->step->view[0].slot;
    const Memory m = memory_new(b);
    char *work = arena_alloc(b->scratch, (whole_work > parts_work ? whole_work : parts_work) + 64);
    char *before = arena_alloc(b->scratch, m.bytes[y]);
    const int64_t n = view_count(&b->step->view[0]);
    bool same = true;
    work += (64 - (uintptr_t)work % 64) % 64;
    for (int round = 0; same && (round < ROUNDS || (round * n < ENOUGH && round < ROUNDS_MOST));
         round++) {
        memory_fill(&m, b->step, round, -1);
        same = !whole->run(whole, m.slot, work);
        memcpy(before, m.slot[y], m.bytes[y]);
        memory_fill(&m, b->step, round, y); /* restores y; nothing else was written */
        same = same && !parts->run(parts, m.slot, work) && !memcmp(before, m.slot[y], m.bytes[y]);
    }
    return same;
}

/* Compiles the whole step, with which parts are compared, and which runs if none are used. */
static bool make_whole(Build *b, Make *make, int choice, Split *s) {
    Build own = *b;
    own.kernel = &s->whole;
    s->whole.device = b->device, s->whole.arena = b->arena;
    const bool made = make(&own, choice, &s->whole);
    s->whole_work = own.workspace;
    return made;
}
/* Compiles the parts along a cut. False: they cannot be made, or differ from the whole. */
static bool take_cut(Build *b, Make *make, int choice, const Cut *along, int n, Kernel *k) {
    Split *s = k->self;
    const size_t before = b->workspace;
    if (make_parts(b, make, choice, along, s, n) &&
        (!along->compare || same_bytes(b, &s->whole, s->whole_work, k, b->workspace)))
        return true;
    forget_parts(s);
    b->workspace = before;
    return false;
}
static Split *split_new(Build *b, Kernel *k) {
    Split *s = ARENA_NEW(b->arena, Split, 1);
    s->part = ARENA_NEW(b->arena, Kernel, b->device->threads);
    s->work = ARENA_NEW(b->arena, size_t, b->device->threads);
    k->self = s, k->run = split_run, k->forget = split_forget;
    return s;
}
static void run_whole(Build *b, Kernel *k) {
    const Split *s = k->self;
    k->run = whole_run, k->packed = s->whole.packed;
    b->workspace = s->whole_work;
}
static void run_parts(Kernel *k) {
    Split *s = k->self;
    kernel_forget(&s->whole);
    k->packed = UINT64_MAX;
    for (int i = 0; i < s->n; i++) k->packed &= s->part[i].packed;
}

bool split_build(Build *b, Make *make, int choice, const Cut cut[], int ncut, Kernel *k) {
    Cut left[STEP_RANK];
    Split *s = NULL;
    int nleft = 0;
    for (int i = 0; i < ncut; i++)
        if (!cut[i].compare || b->step->view[0].dtype == DT_FLOAT) left[nleft++] = cut[i];
    while (nleft > 0) {
        int n = split_parts(b);
        const Cut *along = n > 1 ? best_cut(&b->step->view[0], left, nleft, &n) : NULL;
        if (!along) break;
        if (!s) s = split_new(b, k);
        if (along->compare && !s->whole.run && !make_whole(b, make, choice, s))
            return split_forget(k), k->forget = NULL, false;
        if (take_cut(b, make, choice, along, n, k)) return run_parts(k), true;
        const int tried = (int)(along - left);
        for (int i = tried + 1; i < nleft; i++) left[i - 1] = left[i];
        nleft--;
    }
    if (s && s->whole.run) return run_whole(b, k), true;
    k->forget = NULL;
    return make(b, choice, k);
}

/* Cuts a step whose output axes are also axes of its inputs. Axes with large strides are tried
   first. */
bool split_rows(Build *b, Make *make, int choice, Kernel *k) {
    const View *y = &b->step->view[0];
    const int softmax = b->step->kind == S_SOFTMAX;
    Cut cut[STEP_RANK];
    int n = 0;
    for (int a = 0; a < y->rank - softmax; a++) {
        int at = n++;
        for (; at > 0 && y->stride[cut[at - 1].axis] < y->stride[a]; at--) cut[at] = cut[at - 1];
        cut[at] = (Cut){.axis = a, .unit = b->step->kind == S_REDUCE ? 2 : 1};
    }
    return split_build(b, make, choice, cut, n, k);
}
