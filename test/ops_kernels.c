/* ops_kernels.c -- operators that have a reference kernel and a faster way: steps of random types,
   sizes, layouts and attributes run by the CPU back end, with and without special instruction sets,
   against the reference kernel; and with three threads, which must give the same bytes. */
#include "ops/backend.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/op_kernel.h"
#include "ops/signature.h"
#include "ops/view.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { VIEWS = 12, ATTRS = 16, CASES = 150, GAP = 64 };
typedef struct Drawn {
    World *w;
    Random random;
    const Op *op;
    Attr attr[ATTRS];
    int nin, nout;
    Type in[VIEWS];
    Sig sig;
    View view[VIEWS]; /* inputs, then outputs: slots of the same numbers */
    char *data[VIEWS];
    size_t bytes[VIEWS];
    double tolerance; /* 0: the same bits */
    uint64_t known;   /* inputs whose contents a kernel is told when it is made, as bits */
} Drawn;
typedef struct Family {
    const char *op;
    void (*draw)(Drawn *);
} Family;

static const Backend *cpu;
static Device *device[4]; /* the machine's best, generic; the same with threads */

static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static double real(Drawn *t, double low, double high) {
    return low + (high - low) * random_unit(&t->random);
}

/* ---- what cases are made of */
static void attribute(Drawn *t, const char *name, const char *value, ...) {
    char text[200];
    va_list list;
    va_start(list, value);
    vsnprintf(text, sizeof text, value, list);
    va_end(list);
    for (int k = 0; k < attrs_count(t->op->attrs); k++) {
        Error e = {0};
        const AttrDef *d = &t->op->attrs[k];
        if (strcmp(d->name, name)) continue;
        Scan s = scan_new("attr", text, strlen(text), &e);
        if (!attr_parse(t->w, &s, d, &t->attr[k])) fail_msg("%s=%s: %s", name, text, e.reason);
        return;
    }
    fail_msg("%s has no attribute %s", t->op->name, name);
}
static void defaults(Drawn *t) {
    for (int k = 0; k < attrs_count(t->op->attrs); k++)
        if (t->op->attrs[k].init) attribute(t, t->op->attrs[k].name, "%s", t->op->attrs[k].init);
}

/* Axes in any order in memory, with gaps; most often dense. */
static void lay_out(Drawn *t, View *v) {
    int axis[STEP_RANK];
    int64_t stride = 1;
    if (draw(t, 0, 2)) return;
    for (int k = 0; k < v->rank; k++) axis[k] = k;
    for (int k = v->rank - 1; k > 0; k--) {
        int j = (int)draw(t, 0, k), keep = axis[k];
        axis[k] = axis[j], axis[j] = keep;
    }
    for (int k = 0; k < v->rank; k++) {
        v->stride[axis[k]] = stride;
        stride = stride * (v->dim[axis[k]] ? v->dim[axis[k]] : 1) + draw(t, 0, 1);
    }
    v->offset = draw(t, 0, 3);
}
static void make_room(Drawn *t, int k) {
    int64_t low, high;
    view_extent(&t->view[k], &low, &high);
    t->bytes[k] = element_bytes((DType)t->view[k].dtype, high) + GAP;
    t->data[k] = test_malloc(t->bytes[k]);
    memset(t->data[k], 0x5a, t->bytes[k]);
}
static int input(Drawn *t, DType dtype, int rank, const int64_t dim[]) {
    const int k = t->nin++;
    t->in[k] = (Type){.dtype = dtype, .known = true, .dim = {.n = rank}};
    for (int a = 0; a < rank; a++) t->in[k].dim.v[a] = poly_int(t->w, dim[a]);
    t->view[k] = view_dense(k, (int32_t)dtype, rank, dim);
    lay_out(t, &t->view[k]);
    make_room(t, k);
    return k;
}
typedef double Element(Drawn *, double low, double high);
static void fill(Drawn *t, int k, Element *value, double low, double high) {
    const View *v = &t->view[k];
    int64_t i[STEP_RANK];
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i))
        element_set_real((DType)v->dtype, t->data[k], kernel_at(v, i), value(t, low, high));
}
static double whole(Drawn *t, double low, double high) {
    return (double)draw(t, (int64_t)low, (int64_t)high);
}
static void reals(Drawn *t, DType dtype, int rank, const int64_t dim[], double low, double high) {
    fill(t, input(t, dtype, rank, dim), real, low, high);
}
static void wholes(Drawn *t, DType dtype, int rank, const int64_t dim[], double low, double high) {
    fill(t, input(t, dtype, rank, dim), whole, low, high);
}
static int sizes(Drawn *t, int least, int most, int64_t dim[]) {
    const int rank = (int)draw(t, least, most);
    for (int a = 0; a < rank; a++)
        dim[a] = draw(t, 0, 30) ? draw(t, 1, a == rank - 1 && !draw(t, 0, 3) ? 70 : 6) : 0;
    return rank;
}

/* ---- running */
static void intern(Drawn *t) {
    TypeId id[VIEWS] = {0};
    for (int k = 0; k < t->nin; k++)
        if (t->view[k].rank >= 0) id[k] = type_intern(t->w, &t->in[k]);
    t->sig = sig_intern(t->w, t->op, t->attr, t->nin, id, t->nout);
    const SigInfo *info = sig_info(t->w, t->sig);
    if (info->why) fail_msg("%s: %s", t->op->name, info->why);
    t->nout = info->nout;
    for (int j = 0; j < t->nout; j++) {
        const Type *y = type_get(t->w, info->out[j]);
        int64_t dim[RANK_MAX];
        for (int a = 0; a < y->dim.n; a++) assert_true(poly_constant(t->w, y->dim.v[a], &dim[a]));
        t->view[t->nin + j] = view_dense(t->nin + j, (int32_t)y->dtype, y->dim.n, dim);
        lay_out(t, &t->view[t->nin + j]);
        make_room(t, t->nin + j);
    }
}
static void reference(Drawn *t, char *const data[]) {
    View view[2 * VIEWS];
    int64_t param[64] = {t->nout};
    const int n = sig_params(t->w, t->sig, param + 1, 63);
    memcpy(view, t->view + t->nin, (size_t)t->nout * sizeof *view);
    memcpy(view + t->nout, t->view, (size_t)t->nin * sizeof *view);
    const Step s = {.kind = S_OP,
                    .nview = t->nin + t->nout,
                    .nparam = 1 + n,
                    .view = view,
                    .param = param,
                    .op = t->op->name};
    assert_true(n >= 0);
    assert_int_equal(op_kernel(t->op->name)(&s, (void *const *)data), 0);
}
typedef struct Made {
    Kernel *kernel;
    char *work;
    size_t bytes;
} Made;
static Made make(Drawn *t, Device *d, const Step *step, char *const data[]) {
    char why[200] = "";
    const void *weights[2 * VIEWS] = {0};
    Made m = {0};
    for (int j = 0; j < step->nview; j++) {
        const int slot = step->view[j].slot;
        if (slot >= 0 && slot < t->nin && t->known >> slot & 1) weights[j] = data[slot];
    }
    m.kernel = cpu->compile(d, step, 0, weights, &m.bytes, why, sizeof why);
    if (!m.kernel) fail_msg("%s: %s", t->op->name, why);
    m.work = cpu->alloc(d, m.bytes + GAP);
    memset(m.work, 0xff, m.bytes);
    memset(m.work + m.bytes, 0x5a, GAP);
    return m;
}
/* Steps are run twice, one after the other, and write nothing behind their scratch. */
static void by_steps(Drawn *t, Device *d, char *const data[]) {
    Made made[VIEWS];
    StepBuf b = stepbuf_new(t->w, (Sizes){0}, t->w->arena);
    if (!sig_lower(&b, t->sig, t->view, t->view + t->nin)) fail_msg("%s: %s", t->op->name, b.why);
    assert_true(b.n <= VIEWS);
    for (int k = 0; k < b.n; k++) made[k] = make(t, d, &b.v[k], data);
    for (int k = 0; k < 2 * b.n; k++)
        assert_int_equal(cpu->run(made[k % b.n].kernel, (void *const *)data, made[k % b.n].work),
                         0);
    for (int k = 0; k < b.n; k++) {
        for (int j = 0; j < GAP; j++)
            assert_int_equal(made[k].work[made[k].bytes + (size_t)j], 0x5a);
        cpu->release(d, made[k].work);
        cpu->forget(made[k].kernel);
    }
}

static void describe(const Drawn *t, const char *what) {
    Text text = text_new(t->w->arena);
    for (int k = 0; k < t->nin; k++)
        if (t->view[k].rank >= 0) type_print(t->w, &t->in[k], &text), text_add(&text, "; ");
    for (int k = 0; k < attrs_count(t->op->attrs); k++) {
        text_add(&text, "%s=", t->op->attrs[k].name);
        attr_print(t->w, &t->op->attrs[k], &t->attr[k], &text);
        text_add(&text, " ");
    }
    fail_msg("%s: %s: %s", t->op->name, what, text.data);
}
/* Elements are near, and bytes between them as they were. */
static void compare(Drawn *t, int k, const char *want, const char *got) {
    char what[200];
    const View *v = &t->view[k];
    int64_t i[STEP_RANK];
    if (t->tolerance == 0) {
        for (size_t j = 0; j < t->bytes[k]; j++)
            if (want[j] != got[j]) {
                const int64_t at = (int64_t)j * 8 / dtype_bits((DType)v->dtype);
                snprintf(what, sizeof what, "element %lld of result %d is %.9g, should be %.9g",
                         (long long)at, k - t->nin, element_real((DType)v->dtype, got, at),
                         element_real((DType)v->dtype, want, at));
                describe(t, what);
            }
        return;
    }
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i)) {
        const double a = element_real((DType)v->dtype, want, kernel_at(v, i)),
                     b = element_real((DType)v->dtype, got, kernel_at(v, i));
        if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= t->tolerance * (1 + fabs(a)))
            continue;
        snprintf(what, sizeof what, "result %d: %.9g, should be %.9g", k - t->nin, b, a);
        describe(t, what);
    }
}

static void copy_outputs(const Drawn *t, char *const from[], char *to[]) {
    for (int k = 0; k < t->nin + t->nout; k++) {
        to[k] = k < t->nin ? t->data[k] : test_malloc(t->bytes[k]);
        if (k >= t->nin) memcpy(to[k], from[k], t->bytes[k]);
    }
}
static void free_outputs(const Drawn *t, char *data[]) {
    for (int k = t->nin; k < t->nin + t->nout; k++) test_free(data[k]);
}
static void check(Drawn *t) {
    char *want[VIEWS], *got[4][VIEWS];
    copy_outputs(t, t->data, want);
    reference(t, want);
    for (int d = 0; d < 4; d++) {
        copy_outputs(t, t->data, got[d]);
        by_steps(t, device[d], got[d]);
        for (int k = t->nin; k < t->nin + t->nout; k++) {
            compare(t, k, want[k], got[d][k]);
            if (d > 1 && memcmp(got[d][k], got[d - 2][k], t->bytes[k]))
                describe(t, "other bytes with threads");
        }
    }
    for (int d = 0; d < 4; d++) free_outputs(t, got[d]);
    free_outputs(t, want);
}
static void check_family(const Family *f) {
    for (int n = 0; n < CASES; n++) {
        Drawn *t = test_calloc(1, sizeof *t);
        t->w = world_new(NULL, 0);
        world_init_ops(t->w);
        t->op = op_find(f->op);
        assert_non_null(t->op);
        t->random.seed = (uint64_t)(n * 7919 + op_index(t->op));
        t->nout = 1;
        t->known = draw(t, 0, 1) ? (uint64_t)draw(t, 0, 255) : 0;
        defaults(t);
        f->draw(t);
        intern(t);
        check(t);
        for (int k = 0; k < t->nin + t->nout; k++) test_free(t->data[k]);
        world_free(t->w);
        test_free(t);
    }
}

/* ---- quantized numbers */
static const DType narrow[] = {DT_UINT8, DT_INT8, DT_UINT16, DT_INT16};
/* Halves of the scale's steps, so that ties are met; far numbers; what is no number. */
static double tie(Drawn *t, double low, double high) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 0, -0.0};
    if (!draw(t, 0, 9)) return odd[draw(t, 0, 6)];
    return draw(t, 0, 1) ? (double)draw(t, -600, 600) / 2 * 0.25 : real(t, low, high);
}
/* One number, one for each place of an axis, or for each block of it. */
static int parameters(Drawn *t, int rank, const int64_t dim[], int64_t size[]) {
    const int how = rank ? (int)draw(t, 0, 2) : 0, axis = how ? (int)draw(t, 0, rank - 1) : 0;
    const int64_t block = draw(t, 1, 7);
    if (how == 0) return size[0] = 1, (int)draw(t, 0, 1); /* The axis may be none of x. */
    attribute(t, "axis", "%d", axis - (draw(t, 0, 1) ? rank : 0));
    if (how == 1) return size[0] = dim[axis], 1;
    attribute(t, "block", "%d", (int)block);
    memcpy(size, dim, (size_t)rank * sizeof *size);
    size[axis] = (dim[axis] + block - 1) / block;
    return rank;
}
static double quarter(Drawn *t, double low, double high) {
    return draw(t, 0, 1) ? 0.25 : real(t, low, high);
}
static void draw_quantize(Drawn *t) {
    int64_t dim[STEP_RANK], size[STEP_RANK];
    const DType to = narrow[draw(t, 0, 3)], from = draw(t, 0, 4) ? DT_FLOAT : DT_INT32;
    const int rank = sizes(t, 0, 4, dim), n = parameters(t, rank, dim, size);
    attribute(t, "to", "%s", dtype_name(to));
    fill(t, input(t, from, rank, dim), from == DT_FLOAT ? tie : whole, -70, 70);
    fill(t, input(t, DT_FLOAT, n, size), quarter, 0.01, 2);
    if (draw(t, 0, 2)) wholes(t, to, n, size, dtype_class(to) == 'U' ? 0 : -100, 100);
}
static void draw_dequantize(Drawn *t) {
    int64_t dim[STEP_RANK], size[STEP_RANK];
    const DType from = draw(t, 0, 4) ? narrow[draw(t, 0, 3)] : DT_INT32;
    const int rank = sizes(t, 0, 4, dim), n = parameters(t, rank, dim, size);
    const double low = dtype_class(from) == 'U' ? 0 : -120;
    wholes(t, from, rank, dim, from == DT_INT32 ? -2e9 : low, from == DT_INT32 ? 2e9 : 120);
    reals(t, DT_FLOAT, n, size, 0.01, 2);
    if (draw(t, 0, 2) && from != DT_INT32) wholes(t, from, n, size, low, 100);
}
static void draw_dynamic(Drawn *t) {
    int64_t dim[STEP_RANK];
    const int rank = sizes(t, 0, 4, dim);
    const double low = draw(t, 0, 1) ? -3 : 0, high = draw(t, 0, 2) ? 5 : 0;
    t->nout = 3;
    reals(t, DT_FLOAT, rank, dim, low, high);
}
static void draw_where(Drawn *t) {
    static const DType types[] = {DT_FLOAT, DT_DOUBLE, DT_INT64, DT_UINT8, DT_FLOAT16, DT_BOOL};
    int64_t dim[STEP_RANK];
    const DType type = types[draw(t, 0, 5)];
    const int rank = sizes(t, 1, 4, dim);
    wholes(t, DT_BOOL, rank, dim, 0, 1);
    for (int k = 0; k < 2; k++) {
        const int drop = (int)draw(t, 0, rank);
        fill(t, input(t, type, rank - drop, dim + drop), dtype_class(type) == 'F' ? tie : whole, 0,
             9);
    }
}

/* ---- recurrent operators: directions, batches, lengths, optional inputs */
static void left_out(Drawn *t) { t->view[t->nin++] = (View){.slot = -1, .rank = -1}; }
static void maybe(Drawn *t, int rank, const int64_t dim[]) {
    if (draw(t, 0, 2)) reals(t, DT_FLOAT, rank, dim, -0.5, 0.5);
    else left_out(t);
}
static void draw_recurrent(Drawn *t, int64_t gates) {
    static const int64_t hiddens[] = {1, 3, 16, 20, 64, 70};
    static const char *const ways[] = {"forward", "reverse", "bidirectional"};
    const int64_t way = draw(t, 0, 2), d = 1 + (way == 2), time = draw(t, 1, 6),
                  batch = draw(t, 0, 1) ? draw(t, 1, 9) : 1, in = draw(t, 1, 40),
                  h = hiddens[draw(t, 0, 5)], first = draw(t, 0, 1);
    const double scale = 1.5 / sqrt((double)(h > in ? h : in));
    t->nout = 2 + (gates == 4);
    t->tolerance = 2e-5;
    attribute(t, "direction", "%s", ways[way]);
    attribute(t, "hidden", "%d", (int)h);
    attribute(t, "batch_first", first ? "yes" : "no");
    if (draw(t, 0, 1))
        attribute(t,
                  gates == 1   ? "activation"
                  : gates == 3 ? "linear_first"
                               : "coupled",
                  "%s", gates == 1 ? "relu" : "yes");
    reals(t, DT_FLOAT, 3, (int64_t[]){first ? batch : time, first ? time : batch, in}, -1, 1);
    reals(t, DT_FLOAT, 3, (int64_t[]){d, gates * h, in}, -scale, scale);
    reals(t, DT_FLOAT, 3, (int64_t[]){d, gates * h, h}, -scale, scale);
    maybe(t, 2, (int64_t[]){d, 2 * gates * h});
    if (draw(t, 0, 1)) wholes(t, DT_INT32, 1, &batch, 0, (double)time);
    else left_out(t);
    for (int k = 0; k < 1 + (gates == 4); k++)
        maybe(t, 3, (int64_t[]){first ? batch : d, first ? d : batch, h});
    if (gates == 4) maybe(t, 2, (int64_t[]){d, 3 * h});
}
static void draw_rnn(Drawn *t) { draw_recurrent(t, 1); }
static void draw_gru(Drawn *t) { draw_recurrent(t, 3); }
static void draw_lstm(Drawn *t) { draw_recurrent(t, 4); }

/* ---- elements chosen by indices */
static const DType moved[] = {DT_FLOAT, DT_INT64, DT_INT32, DT_UINT8, DT_FLOAT16, DT_DOUBLE};
static void indices(Drawn *t, int rank, const int64_t dim[], int64_t n) {
    wholes(t, draw(t, 0, 2) ? DT_INT64 : DT_INT32, rank, dim, (double)-n, (double)(n - 1));
}
static int some_sizes(Drawn *t, int least, int most, int64_t dim[]) {
    const int rank = sizes(t, least, most, dim);
    for (int a = 0; a < rank; a++) dim[a] += dim[a] == 0;
    return rank;
}
static void draw_gather(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), axis = (int)draw(t, 0, rank - 1),
              n = sizes(t, 0, 3, i);
    attribute(t, "axis", "%d", axis);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    indices(t, n, i, x[axis]);
}
/* An index of x's rank: no longer than x but on one axis. */
static int index_of(Drawn *t, int rank, const int64_t x[], int64_t i[]) {
    const int axis = (int)draw(t, 0, rank - 1);
    for (int a = 0; a < rank; a++) i[a] = draw(t, 0, a == axis ? 9 : x[a]);
    attribute(t, "axis", "%d", axis);
    return axis;
}
static void draw_elements(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), axis = index_of(t, rank, x, i);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    indices(t, rank, i, x[axis]);
}
static int64_t least_of(const int64_t dim[], int n) {
    int64_t least = n ? INT64_MAX : 1;
    for (int k = 0; k < n; k++) least = dim[k] < least ? dim[k] : least;
    return least;
}
static void draw_nd(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), batch = (int)draw(t, 0, rank - 1) / 2,
              q = (int)draw(t, 0, rank - batch), places = batch + (int)draw(t, 0, 2);
    for (int a = 0; a < places; a++) i[a] = a < batch ? x[a] : draw(t, 1, 5);
    i[places] = q;
    attribute(t, "batch", "%d", batch);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    indices(t, places + 1, i, least_of(x + batch, q));
}
static void draw_reverse(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 2, 4, x), batch = (int)draw(t, 0, 1);
    attribute(t, "batch", "%d", batch);
    attribute(t, "time", "%d", !batch);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
    wholes(t, DT_INT64, 1, &x[batch], 0, (double)x[!batch]);
}
static void draw_reduction(Drawn *t) {
    static const char *const how[] = {"none", "add", "mul", "max", "min"};
    attribute(t, "reduction", "%s", how[draw(t, 0, 4)]);
}
/* Small whole numbers, so that no sum is rounded. */
static void draw_scatter_nd(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK], u[2 * STEP_RANK];
    const DType type = moved[draw(t, 0, 5)];
    const int rank = some_sizes(t, 1, 4, x), q = (int)draw(t, 0, rank), places = (int)draw(t, 0, 2);
    for (int a = 0; a < places; a++) i[a] = u[a] = draw(t, 0, 6);
    for (int a = q; a < rank; a++) u[places + a - q] = x[a];
    i[places] = q;
    draw_reduction(t);
    wholes(t, type, rank, x, 0, 3);
    indices(t, places + 1, i, least_of(x, q));
    wholes(t, type, places + rank - q, u, 0, 3);
}
static void draw_scatter_elements(Drawn *t) {
    int64_t x[STEP_RANK], i[STEP_RANK];
    const DType type = moved[draw(t, 0, 5)];
    const int rank = some_sizes(t, 1, 4, x), axis = index_of(t, rank, x, i);
    draw_reduction(t);
    wholes(t, type, rank, x, 0, 3);
    indices(t, rank, i, x[axis]);
    wholes(t, type, rank, i, 0, 3);
}

/* ---- lines */
static void draw_topk(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), axis = (int)draw(t, 0, rank - 1);
    t->nout = 2;
    attribute(t, "k", "%d", (int)draw(t, 0, x[axis]));
    attribute(t, "axis", "%d", axis);
    attribute(t, "largest", draw(t, 0, 1) ? "yes" : "no");
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, draw(t, 0, 1) ? 9 : 200);
}
static void draw_cumulated(Drawn *t) {
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x);
    const DType type = moved[draw(t, 0, 5)];
    attribute(t, "axis", "%d", (int)draw(t, 0, rank - 1));
    attribute(t, "exclusive", draw(t, 0, 1) ? "yes" : "no");
    attribute(t, "reverse", draw(t, 0, 1) ? "yes" : "no");
    fill(t, input(t, type, rank, x), dtype_class(type) == 'F' ? real : whole, 0, 2);
}

/* ---- samples */
static void draw_resize(Drawn *t) {
    static const char *const coordinates[] = {"half_pixel", "asymmetric", "align_corners",
                                              "pytorch_half_pixel"},
                             *const roundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                                   "floor", "ceil"};
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x), linear = (int)draw(t, 0, 1);
    char list[100] = "[";
    for (int a = 0; a < rank; a++)
        snprintf(list + strlen(list), sizeof list - strlen(list), a ? ", %d" : "%d",
                 (int)(draw(t, 0, 2) ? draw(t, 1, 12) : x[a]));
    attribute(t, "sizes", "%s]", list);
    attribute(t, "mode", linear ? "linear" : "nearest");
    attribute(t, "coordinate", "%s", coordinates[draw(t, 0, 3)]);
    attribute(t, "rounding", "%s", roundings[draw(t, 0, 3)]);
    static const DType floats[] = {DT_FLOAT, DT_DOUBLE, DT_FLOAT16};
    const DType type = linear ? floats[draw(t, 0, 2)] : moved[draw(t, 0, 5)];
    t->tolerance = !linear ? 0 : type == DT_FLOAT16 ? 1e-3 : 1e-6;
    fill(t, input(t, type, rank, x), linear ? real : whole, 0, 9);
}
static void draw_mirror(Drawn *t) {
    static const char *const modes[] = {"edge", "reflect", "wrap"};
    int64_t x[STEP_RANK];
    const int rank = some_sizes(t, 1, 4, x);
    char list[200] = "[";
    for (int a = 0; a < 2 * rank; a++)
        snprintf(list + strlen(list), sizeof list - strlen(list), a ? ", %d" : "%d",
                 x[a % rank] > 3 ? (int)draw(t, -1, 3) : (int)draw(t, 0, 3));
    attribute(t, "pads", "%s]", list);
    attribute(t, "mode", "%s", modes[draw(t, 0, 2)]);
    wholes(t, moved[draw(t, 0, 5)], rank, x, 0, 99);
}

static const Family families[] = {
    {"resize", draw_resize},
    {"padmirror", draw_mirror},
    {"topk", draw_topk},
    {"cumsum", draw_cumulated},
    {"cumprod", draw_cumulated},
    {"gather", draw_gather},
    {"gatherelements", draw_elements},
    {"gathernd", draw_nd},
    {"reversesequence", draw_reverse},
    {"scatternd", draw_scatter_nd},
    {"scatterelements", draw_scatter_elements},
    {"rnn", draw_rnn},
    {"gru", draw_gru},
    {"lstm", draw_lstm},
    {"quantize", draw_quantize},
    {"dequantize", draw_dequantize},
    {"dynamicquantize", draw_dynamic},
    {"where", draw_where},
};
static void steps_equal_reference_kernels(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) check_family(&families[k]);
}

static int open_devices(void **state) {
    (void)state;
    static const char *const options[] = {"", "generic", "threads=3,grain=1",
                                          "generic,threads=3,grain=1"};
    cpu = backend_open("cpu", NULL);
    for (int d = 0; d < 4; d++) device[d] = cpu->open(options[d], NULL, 0);
    return !device[0] || !device[1] || !device[2] || !device[3];
}
static int close_devices(void **state) {
    (void)state;
    for (int d = 0; d < 4; d++) cpu->close(device[d]);
    return 0;
}
int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_equal_reference_kernels)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
