/* kernel_check.h -- draws random steps of operators, runs them on four CPU devices, with the
   instruction sets of the machine in turn, and compares the results with the reference kernel or
   the definition. Tests include it and list families of operators. */
#ifndef ISOMER_KERNEL_CHECK_H
#define ISOMER_KERNEL_CHECK_H
#include "ops/backend/backend.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/core/loop.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/processor.h"
#include "ops/operator/op_kernel.h"
#include "ops/operator/signature.h"
#include "ops/backend/view.h"
#include "test/shared/sample.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { VIEWS = 12, ATTRS = 16, CASES = 150, GAP = 64, SLOTS = VIEWS + STEP_BUFFERS, STEPS = 128 };
typedef struct Drawn {
    World *w;
    Random random;
    const Op *op;
    Attr attr[ATTRS];
    int nin, nout;
    Type in[VIEWS];
    Sig sig;
    View view[VIEWS]; /* inputs, then outputs; view k is in slot k */
    char *data[VIEWS];
    size_t bytes[VIEWS];
    double tolerance; /* 0: results must have the same bits */
    int algorithm;    /* the choice of each step, modulo the number of its choices */
    uint64_t known;   /* a bit for each input whose contents are known when a kernel is compiled */
    bool targeted;    /* the steps are made for the device and for the known contents */
} Drawn;
typedef struct Family {
    const char *op;
    void (*draw)(Drawn *);
    bool by_definition;
} Family;

static const Backend *cpu;
static Device *device[4]; /* a table of the machine, generic code; the same with threads */
static const Simd *table[SIMD_TABLES];
static int tables;

static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static double real(Drawn *t, double low, double high) {
    return low + (high - low) * random_unit(&t->random);
}

/* ---- making cases */
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
        if (t->op->attrs[k].init && t->op->attrs[k].kind != A_INTS)
            attribute(t, t->op->attrs[k].name, "%s", t->op->attrs[k].init);
}

/* Most often leaves the layout dense; otherwise draws an order of the axes in memory, with gaps. */
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
static inline void left_out(Drawn *t) { t->view[t->nin++] = (View){.slot = -1, .rank = -1}; }
/* Sets an attribute to a list. */
static inline void numbers(Drawn *t, const char *name, int n, const int64_t v[]) {
    char list[200] = "[";
    for (int a = 0; a < n; a++)
        snprintf(list + strlen(list), sizeof list - strlen(list), a ? ", %d" : "%d", (int)v[a]);
    attribute(t, name, "%s]", list);
}
static void reals(Drawn *t, DType dtype, int rank, const int64_t dim[], double low, double high) {
    fill(t, input(t, dtype, rank, dim), real, low, high);
}
static inline void wholes(Drawn *t, DType dtype, int rank, const int64_t dim[], double low,
                          double high) {
    fill(t, input(t, dtype, rank, dim), whole, low, high);
}
static inline int sizes(Drawn *t, int least, int most, int64_t dim[]) {
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
    int64_t param[OP_PARAMS];
    const int n = sig_params(t->w, t->sig, param);
    memcpy(view, t->view + t->nin, (size_t)t->nout * sizeof *view);
    memcpy(view + t->nout, t->view, (size_t)t->nin * sizeof *view);
    const Step s = {.kind = S_OP,
                    .nview = t->nin + t->nout,
                    .nparam = n,
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
    const int algorithms = cpu->choices(d, step),
              algorithm = algorithms > 0 ? t->algorithm % algorithms : 0;
    m.kernel = cpu->compile(d, step, algorithm, weights, &m.bytes, NULL, why, sizeof why);
    if (!m.kernel) m.kernel = cpu->compile(d, step, 0, weights, &m.bytes, NULL, why, sizeof why);
    if (!m.kernel) fail_msg("%s: %s", t->op->name, why);
    m.work = cpu->alloc(d, m.bytes + GAP);
    memset(m.work, 0xff, m.bytes);
    memset(m.work + m.bytes, 0x5a, GAP);
    return m;
}
static void by_definition(Drawn *t, char *const data[]) {
    Error e = {0};
    LoopProgram p;
    View view[VIEWS] = {t->view[t->nin]};
    memcpy(view + 1, t->view, (size_t)t->nin * sizeof *view);
    if (!loop_compile(&(LoopSource){.w = t->w,
                                    .define = sig_define(t->w, t->sig, 0),
                                    .rank = view[0].rank,
                                    .dim = view[0].dim},
                      t->w->arena, &p, &e))
        fail_msg("%s: %s", t->op->name, e.reason);
    Loop *loop = loop_new(p, 1 + t->nin, view, &numbers_real, &e);
    if (!loop) fail_msg("%s: %s", t->op->name, e.reason);
    loop_run(loop, (void *const *)data, NULL);
    loop_free(loop);
}
typedef struct Target {
    const Drawn *drawn;
    Device *device;
    char **data;
} Target;
static bool target_runs(void *user, const Step *s) {
    return cpu->choices(((const Target *)user)->device, s) > 0;
}
static const void *target_known(void *user, int slot) {
    const Target *t = user;
    return slot >= 0 && slot < t->drawn->nin && t->drawn->known >> slot & 1 ? t->data[slot] : NULL;
}
/* Runs the steps twice in sequence, and checks that they do not write beyond their scratch
   memory. */
static void by_steps(Drawn *t, Device *d, char *data[]) {
    Made made[STEPS];
    StepBuf b = stepbuf_new(t->w, (Sizes){0}, t->w->arena);
    b.first_buffer = t->nin + t->nout;
    Target for_device = {t, d, data};
    const StepTarget target = {target_runs, target_known, &for_device};
    if (t->targeted) b.target = &target;
    if (!sig_lower(&b, t->sig, t->view, t->view + t->nin))
        fail_msg("%s: %s", t->op->name, b.failure);
    assert_true(b.n <= STEPS);
    for (int k = 0; k < b.nbuffers; k++)
        data[b.first_buffer + k] = arena_alloc(
            t->w->arena, element_bytes((DType)b.buffers[k].dtype, view_count(&b.buffers[k])) + GAP);
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

/* Whether differences are only counted and do not fail the test: used with inner loops that have a
   fault. */
static bool noticing;
static int noticed;
static void describe(const Drawn *t, const char *what) {
    noticed++;
    if (noticing) return;
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
/* Compares elements within the tolerance or, if it is 0, all bytes of the output, including those
   between elements. */
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
                return;
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
        return;
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
static void check(Drawn *t, bool definition) {
    char *want[SLOTS], *got[4][SLOTS];
    copy_outputs(t, t->data, want);
    (definition ? by_definition : reference)(t, want);
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
/* Checks a family, with each table of the machine in turn or only with this one. */
static void check_with(const Family *f, const Simd *only) {
    for (int n = 0; n < CASES; n += sample_step()) {
        Drawn *t = test_calloc(1, sizeof *t);
        t->w = world_new(NULL, 0);
        world_init_ops(t->w);
        t->op = op_find(f->op);
        device[0]->simd = device[2]->simd =
            only ? only : table[tables > 1 ? 1 + n / sample_step() % (tables - 1) : 0];
        assert_non_null(t->op);
        t->random.seed = (uint64_t)(n * 7919 + op_index(t->op));
        t->nout = 1;
        t->known = draw(t, 0, 1) ? (uint64_t)draw(t, 0, 255) : 0;
        t->algorithm = (int)draw(t, 0, 5);
        defaults(t);
        f->draw(t);
        intern(t);
        check(t, f->by_definition);
        for (int k = 0; k < t->nin + t->nout; k++) test_free(t->data[k]);
        world_free(t->w);
        test_free(t);
    }
}

static void check_family(const Family *f) { check_with(f, NULL); }
/* Counts the results that differ if a table with a fault is used. */
static inline int differences(const Family *f, const Simd *wrong) {
    noticing = true, noticed = 0;
    check_with(f, wrong);
    return noticing = false, noticed;
}

/* ---- the fixture */
static int open_devices(void **state) {
    (void)state;
    static const char *const options[] = {"", "generic", "threads=3,grain=1",
                                          "generic,threads=3,grain=1"};
    cpu = backend_open("cpu", NULL);
    tables = processor_loops(table);
    for (int d = 0; d < 4; d++) device[d] = cpu->open(options[d], NULL, 0);
    return !device[0] || !device[1] || !device[2] || !device[3];
}
static int close_devices(void **state) {
    (void)state;
    for (int d = 0; d < 4; d++) cpu->close(device[d]);
    return 0;
}

/* ---- the test of a list of families, which ends with {0} */
static void drawn_steps_agree(void **state) {
    for (const Family *f = *state; f->op; f++) check_family(f);
}
#define FAMILIES_TEST(list) cmocka_unit_test_prestate(drawn_steps_agree, (void *)(uintptr_t)(list))
#endif
