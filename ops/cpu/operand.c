/* operand.c -- what all kernels share: element types and classes, loop nests over views, operands
   that are read in place or packed, and tails that bring a result into the output's type and
   layout. */
#include "ops/base/intern.h"
#include "ops/cpu/cpu.h"
#include <stdio.h>
#include <string.h>

bool build_fail(Build *b, const char *why) {
    if (b->why && b->nwhy) snprintf(b->why, b->nwhy, "%s", why);
    return false;
}
bool build_no_memory(Build *b) {
    *b->failure = COMPILE_NO_MEMORY;
    return build_fail(b, "out of memory");
}

size_t build_bytes(Build *b, size_t bytes) {
    const size_t at = b->workspace;
    b->workspace = at + ((bytes + 63) & ~(size_t)63);
    return at;
}

View build_scratch(Build *b, int dtype, int rank, const int64_t dim[]) {
    View v = view_dense(SLOT_SCRATCH, dtype, rank, dim);
    const size_t size = (size_t)dtype_size(dtype);
    v.offset = (int64_t)(build_bytes(b, (size_t)view_count(&v) * size) / size);
    return v;
}

/* Lists the axes by stride, greatest first; axes of equal stride keep their order. */
static void axes_by_stride(const View *v, int axis[]) {
    for (int a = 0; a < v->rank; a++) {
        int at = a;
        for (; at > 0 && v->stride[axis[at - 1]] < v->stride[a]; at--) axis[at] = axis[at - 1];
        axis[at] = a;
    }
}
/* The strides of a packed view whose axes are in the order of v's strides. */
static void packed_strides(const View *v, int64_t stride[]) {
    int axis[STEP_RANK];
    int64_t next = 1;
    axes_by_stride(v, axis);
    for (int i = v->rank - 1; i >= 0; i--) stride[axis[i]] = next, next *= v->dim[axis[i]];
}

/* A packed view in the scratch memory, with the sizes of `like` and its axes in the order of its
   strides. */
static View scratch_like(Build *b, int dtype, const View *like) {
    View v = build_scratch(b, dtype, like->rank, like->dim);
    packed_strides(like, v.stride);
    return v;
}

bool dtype_numeric(int dtype) {
    return dtype > 0 && dtype < SIMD_TYPES && simd_base.load[CLASS_FLOAT][dtype] != NULL;
}

int dtype_size(int dtype) { return dtype_bits((DType)dtype) / 8; }

ComputeClass view_class(const View *view, int n) {
    bool has[CLASS_COUNT] = {false};
    for (int i = 0; i < n; i++) {
        const int d = view[i].dtype;
        has[d == DT_DOUBLE                                         ? CLASS_DOUBLE
            : d == DT_FLOAT || d == DT_FLOAT16 || d == DT_BFLOAT16 ? CLASS_FLOAT
            : d == DT_UINT64                                       ? CLASS_UINT
                                                                   : CLASS_INT] = true;
    }
    return has[CLASS_DOUBLE]  ? CLASS_DOUBLE
           : has[CLASS_FLOAT] ? CLASS_FLOAT
           : has[CLASS_UINT]  ? CLASS_UINT
                              : CLASS_INT;
}

int class_dtype(ComputeClass c) {
    static const int dtype[] = {
#define X(id, type, dt) [id] = dt,
        COMPUTE_CLASSES(X)
#undef X
    };
    return dtype[c];
}

bool view_is_packed(const View *v) {
    int64_t stride[STEP_RANK];
    packed_strides(v, stride);
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1 && v->stride[a] != stride[a]) return false;
    return true;
}
bool view_is_channels_last(const View *v) {
    for (int a = 2; a < v->rank; a++)
        if (v->dim[1] > 1 && v->dim[a] > 1) return v->stride[1] == 1 && v->stride[a] > 1;
    return false;
}

static bool joinable(const Nest *s, int outer, int inner) {
    for (int v = 0; v < s->n; v++)
        if (s->stride[v * STEP_RANK + outer] != s->stride[v * STEP_RANK + inner] * s->dim[inner])
            return false;
    return true;
}

static void move_axis(Nest *s, int to, int from) {
    s->dim[to] = s->dim[from];
    for (int v = 0; v < s->n; v++) s->stride[v * STEP_RANK + to] = s->stride[v * STEP_RANK + from];
}

/* Lists the axes of y that are longer than 1 by stride, greatest first; equal strides keep their
   order. */
static int axes_in_order(const View *y, int axis[]) {
    int n = 0;
    for (int a = 0; a < y->rank; a++) {
        if (y->dim[a] == 1) continue;
        int at = n++;
        for (; at > 0 && y->stride[axis[at - 1]] < y->stride[a]; at--) axis[at] = axis[at - 1];
        axis[at] = a;
    }
    return n;
}

Nest nest_new(Arena *arena, const View *const view[], int n) {
    Nest s = {
        .n = n, .count = view_count(view[0]), .stride = ARENA_NEW(arena, int64_t, n * STEP_RANK)};
    int axis[STEP_RANK];
    const int rank = axes_in_order(view[0], axis);
    for (int i = 0; i < rank; i++) {
        s.dim[i] = view[0]->dim[axis[i]];
        for (int v = 0; v < n; v++) s.stride[v * STEP_RANK + i] = view[v]->stride[axis[i]];
    }
    for (int i = 0; i < rank; i++) {
        const int last = s.rank - 1;
        if (s.rank && joinable(&s, last, i)) {
            const int64_t joined = s.dim[last] * s.dim[i];
            move_axis(&s, last, i);
            s.dim[last] = joined;
        } else move_axis(&s, s.rank++, i);
    }
    return s;
}

void nest_with_axis(Nest *n) {
    if (n->rank == 0) n->rank = 1, n->dim[0] = 1;
}

bool nest_is_short_row(const Nest *n, int size) {
    return n->rank == 1 && n->stride[0] == 1 && n->stride[STEP_RANK] == 1 &&
           n->count * size <= SIMD_MOVED;
}

bool nest_next(const Nest *s, int inner, int64_t index[], int64_t offset[]) {
    for (int a = s->rank - inner - 1; a >= 0; a--) {
        const bool more = ++index[a] < s->dim[a];
        const int64_t steps = more ? 1 : 1 - s->dim[a];
        for (int v = 0; v < s->n; v++) offset[v] += steps * s->stride[v * STEP_RANK + a];
        if (more) return true;
        index[a] = 0;
    }
    return false;
}

/* The offsets are sums that are stored once. Clearing them first would become a call of memset,
   whose masked store delays the loads that follow until all earlier stores are in the cache. */
void nest_goto(const Nest *s, int inner, int64_t number, int64_t index[], int64_t offset[]) {
    const int outer = s->rank - inner;
    for (int a = outer - 1; a >= 0; a--) {
        index[a] = number % s->dim[a];
        number /= s->dim[a];
    }
    for (int v = 0; v < s->n; v++) {
        int64_t sum = 0;
        for (int a = 0; a < outer; a++) sum += index[a] * s->stride[v * STEP_RANK + a];
        offset[v] = sum;
    }
}

Operand operand_as_is(Build *b, int index) { return (Operand){.view = b->step->view[index]}; }

static char *aligned_room(Arena *a, size_t bytes) {
    char *room = arena_alloc(a, bytes + 64);
    return room + (64 - (uintptr_t)room % 64) % 64;
}

/* The key under which a packed copy is shared: a digest of the bytes that the view covers, of the
   view itself, and of the type of the copy. */
static void operand_key(const View *from, const View *y, const char *bytes, char key[33]) {
    struct {
        View from;
        int64_t dtype;
        char bytes[33];
    } of;
    int64_t low, high;
    view_extent(from, &low, &high);
    memset(&of, 0, sizeof of);
    const int64_t width = dtype_size(from->dtype);
    of.from = *from, of.from.slot = 0, of.from.offset -= low, of.dtype = y->dtype;
    hash_hex(bytes + low * width, (size_t)((high - low) * width), of.bytes);
    hash_hex(&of, sizeof of, key);
}

/* Packs known contents at compile time. The copy is shared by all kernels that need the same one;
   if it is only passed on to another library, it goes into the arena that is freed after
   building. */
static bool pack_constant(Build *b, int index, const View *from, Operand *o) {
    Build now = {.device = b->device,
                 .arena = b->scratch,
                 .kernel = b->kernel,
                 .step = b->step,
                 .failure = b->failure,
                 .why = b->why,
                 .nwhy = b->nwhy};
    const size_t bytes = (size_t)(view_count(from) * dtype_size(o->view.dtype));
    View source = *from, y = o->view;
    char key[33];
    y.slot = 0, y.offset = 0, source.slot = 1;
    Copy *copy = copy_new(&now, &y, &source);
    if (!copy) return false;
    char *work = aligned_room(b->scratch, now.workspace),
         *room = b->repacked ? aligned_room(b->scratch, bytes) : NULL;
    if (!b->repacked) {
        Share *share = build_share(b);
        operand_key(&source, &y, b->weights[index], key);
        if ((o->constant = share->bytes = shared_find(b->device, key))) return true;
        room = share->bytes = shared_new(b->device, key, bytes);
    }
    if (!room) return build_no_memory(b);
    copy_run(copy, (void *[]){room, (void *)(uintptr_t)b->weights[index]}, work);
    o->constant = room;
    return true;
}

bool operand_pack_as(Build *b, int index, const View *from, int dtype, Operand *o) {
    if (b->weights && b->weights[index]) {
        *o = (Operand){.view = view_dense(SLOT_SCRATCH, dtype, from->rank, from->dim)};
        return pack_constant(b, index, from, o);
    }
    *o = (Operand){.view = build_scratch(b, dtype, from->rank, from->dim)};
    o->copy = copy_new(b, &o->view, from);
    return o->copy != NULL;
}
bool operand_packed(Build *b, int index, const View *from, int dtype, Operand *o) {
    if (from->dtype == dtype && view_is_packed(from)) {
        *o = (Operand){.view = *from};
        return true;
    }
    if (b->weights && b->weights[index]) return operand_pack_as(b, index, from, dtype, o);
    *o = (Operand){.view = scratch_like(b, dtype, from)};
    o->copy = copy_new(b, &o->view, from);
    return o->copy != NULL;
}
bool operand_pack(Build *b, int index, int dtype, Operand *o) {
    return operand_pack_as(b, index, &b->step->view[index], dtype, o);
}

bool operand_typed(Build *b, int index, int dtype, Operand *o) {
    if (b->step->view[index].dtype != dtype) return operand_pack(b, index, dtype, o);
    *o = operand_as_is(b, index);
    return true;
}

/* ---- the batch axes of a product */
static View last_axes(const View *v) {
    View m = {.slot = v->slot, .dtype = v->dtype, .rank = 2, .offset = v->offset};
    for (int i = 0; i < 2; i++)
        m.dim[i] = v->dim[v->rank - 2 + i], m.stride[i] = v->stride[v->rank - 2 + i];
    return m;
}
/* Joins batch axis a of the step to the rows of y and a, if b is the same along it. False: the
   strides do not allow it. */
static bool join_rows(const Step *s, int a, View out[3]) {
    const int64_t n = s->view[0].dim[a], m = out[0].dim[0];
    if (s->view[2].stride[a] != 0) return false;
    for (int i = 0; i < 2 && m > 1; i++)
        if (s->view[i].stride[a] != out[i].stride[0] * m) return false;
    for (int i = 0; i < 2; i++) {
        if (m == 1) out[i].stride[0] = s->view[i].stride[a];
        out[i].dim[0] = m * n;
    }
    return true;
}
/* A batch of n such matrices; stride 0: a batch of size 1, which all share. */
static View add_batch(const View *matrix, int64_t n, int64_t stride) {
    View v = *matrix;
    v.rank = 3;
    for (int i = 2; i > 0; i--) v.dim[i] = v.dim[i - 1], v.stride[i] = v.stride[i - 1];
    v.dim[0] = stride ? n : 1, v.stride[0] = stride;
    return v;
}
View matrix_transposed(const View *v) {
    int order[STEP_RANK];
    for (int k = 0; k < v->rank; k++) order[k] = k;
    order[v->rank - 2] = v->rank - 1, order[v->rank - 1] = v->rank - 2;
    return view_axes(v, v->rank, order);
}
bool gemm_flatten(const Step *s, View out[3]) {
    int64_t batch = 1, stride[3] = {0};
    for (int i = 0; i < 3; i++) out[i] = last_axes(&s->view[i]);
    for (int a = s->view[0].rank - 3; a >= 0; a--) {
        const int64_t n = s->view[0].dim[a];
        if (n == 1 || (batch == 1 && join_rows(s, a, out))) continue;
        for (int i = 0; i < 3; i++) {
            const int64_t here = s->view[i].stride[a];
            if (batch > 1 && here != stride[i] * batch) return false;
            if (batch == 1) stride[i] = here;
        }
        batch *= n;
    }
    if (batch > 1 && out[0].dim[0] == 1) return false;
    for (int i = 0; i < 3 && batch > 1; i++) out[i] = add_batch(&out[i], batch, stride[i]);
    return true;
}

/* ---- tails */
static bool may_overlap(const View *a, const View *b) {
    const int64_t wa = dtype_size(a->dtype), wb = dtype_size(b->dtype);
    int64_t a_low, a_high, b_low, b_high;
    view_extent(a, &a_low, &a_high);
    view_extent(b, &b_low, &b_high);
    return a->slot == b->slot && a_low * wa < b_high * wb && b_low * wb < a_high * wa;
}

bool epilogue_reads_output(const Step *s) {
    for (int i = 0; i < s->ncode; i++)
        if (s->code[i].op == C_VIEW && s->code[i].a < s->nview &&
            may_overlap(&s->view[s->code[i].a], &s->view[0]))
            return true;
    return false;
}

static bool tail_fits(const View *y, int dtype, TailShape shape) {
    if (y->dtype != dtype || (shape == TAIL_DENSE && !view_is_dense(y))) return false;
    return shape != TAIL_PACKED || view_is_packed(y);
}
static View tail_scratch(Build *b, int dtype, TailShape shape) {
    const View *y = &b->step->view[0];
    return shape == TAIL_DENSE ? build_scratch(b, dtype, y->rank, y->dim)
                               : scratch_like(b, dtype, y);
}

bool tail_plain(Build *b, int dtype, TailShape shape, Tail *t) {
    const View *y = &b->step->view[0];
    *t = (Tail){.into = *y};
    if (tail_fits(y, dtype, shape)) return true;
    static const Scalar acc = {.op = C_ACC};
    t->into = tail_scratch(b, dtype, shape);
    t->finish = vector_new(b, y, 1, &t->into, &acc, 1);
    return t->finish != NULL;
}

static bool tail_finish(Build *b, Tail *t) {
    static const Scalar acc = {.op = C_ACC};
    const Step *s = b->step;
    t->finish = vector_new(b, s->view, s->nview, &t->into, s->ncode ? s->code : &acc,
                           s->ncode ? s->ncode : 1);
    return t->finish != NULL;
}
bool tail_new(Build *b, int dtype, TailShape shape, Tail *t) {
    const Step *s = b->step;
    const View *y = &s->view[0];
    const bool direct = tail_fits(y, dtype, shape) && !epilogue_reads_output(s);
    *t = (Tail){.into = direct ? *y : tail_scratch(b, dtype, shape)};
    return (direct && !s->ncode) || tail_finish(b, t);
}
bool tail_like(Build *b, int dtype, const View *like, Tail *t) {
    *t = (Tail){.into = scratch_like(b, dtype, like)};
    return tail_finish(b, t);
}
