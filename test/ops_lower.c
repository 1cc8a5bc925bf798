/* ops_lower.c -- tests every operator of ops.def that has a definition. Its attributes are drawn
   from its own table and its sizes at random, 0 and 1 among them; half of the time the sizes are
   symbolic and known only for the run. The loop program must equal the tree walk, and the view or
   steps to which the signature is lowered must equal both on the CPU back end. Some cases also run
   on the back end for GPUs with the host in place of a GPU (test/cuda), where that is built. */
#include "graphs/plan/step_kernel.h"
#include "ops/backend/backend.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/core/eval.h"
#include "ops/core/loop.h"
#include "ops/operator/op.h"
#include "ops/operator/signature.h"
#include "ops/backend/view.h"
#include "test/shared/op_trial.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct Tally {
    int loops, views, buffers, kinds[STEP_KIND_COUNT]; /* loops: trials that were compared */
} Tally;

static void compare(Trial *t, const char *what, double tolerance) {
    for (int64_t j = 0; j < tensor_count(&t->want); j++) {
        double a = t->wanted[j].real, b = t->got[j].real;
        if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * (1 + fabs(a))) continue;
        Text text = text_new(t->w->arena);
        for (int k = 0; k < t->nin; k++) type_print(t->w, &t->in[k], &text), text_add(&text, "; ");
        for (int k = 0; k < attrs_count(t->op->attrs); k++) {
            text_add(&text, "%s=", t->op->attrs[k].name);
            attr_print(t->w, &t->op->attrs[k], &t->attr[k], &text);
            text_add(&text, " ");
        }
        fail_msg("%s by %s: element %d is %.9g, should be %.9g: %s", t->op->name, what, (int)j, b,
                 a, text.data);
    }
}

/* Runs the same program as a kernel for GPUs and compares, for a few cases only (see open_gpu). */
static void loop_on_gpu(Trial *t, const OpenDevice *gpu, LoopProgram p, const View view[],
                        void *const slot[]) {
    const int cases = getenv("ISOMER_HEAVY") ? 8 : 2;
    const Step s = {
        .kind = S_LOOP, .nview = 1 + t->nin, .view = view, .nparam = p.n, .param = p.words};
    char why[400] = "";
    size_t room = 0;
    if (!gpu->device || t->gpu_loops++ >= cases) return;
    Kernel *k = gpu->backend->compile(gpu->device, &s, 0, NULL, &room, NULL, why, sizeof why);
    if (!k) fail_msg("%s: %s", t->op->name, why);
    memset(t->out[0], 0xee, sizeof t->out[0]);
    assert_int_equal(gpu->backend->run(k, slot, NULL), 0);
    gpu->backend->forget(k);
    for (int64_t j = 0; j < tensor_count(&t->want); j++) t->got[j].real = (double)t->out[0][j];
    compare(t, "its loop program for GPUs", 1e-6);
}

static void loop_equals_walk(Trial *t, const OpenDevice *gpu, int port) {
    Error e = {0};
    LoopProgram p;
    View view[1 + INPUTS] = {view_dense(0, DT_FLOAT, t->want.rank, t->want.dim)};
    void *slot[1 + INPUTS] = {t->out[0]};
    for (int k = 0; k < t->nin; k++)
        view[k + 1] = view_dense(k + 1, DT_FLOAT, t->data[k].rank, t->data[k].dim),
                 slot[k + 1] = t->flat[k];
    if (!loop_compile(&(LoopSource){.w = t->w,
                                    .define = sig_define(t->w, t->sig, port),
                                    .sizes = (Sizes){SYMBOLS, t->size},
                                    .rank = t->want.rank,
                                    .dim = t->want.dim},
                      t->w->arena, &p, &e))
        fail_msg("%s: %s", t->op->name, e.reason);
    Loop *loop = loop_new(p, 1 + t->nin, view, &numbers_real, &e);
    if (!loop) fail_msg("%s: %s", t->op->name, e.reason);
    loop_run(loop, slot, NULL);
    loop_free(loop);
    for (int64_t j = 0; j < tensor_count(&t->want); j++) t->got[j].real = (double)t->out[0][j];
    compare(t, "its loop program", 1e-6);
    if (tensor_count(&t->want)) loop_on_gpu(t, gpu, p, view, slot);
}

static void run_steps(Trial *t, Device *d, const Backend *backend, const StepBuf *b,
                      void *const slot[], Tally *tally) {
    OpenDevice host = {0};
    for (int s = 0; s < b->n; s++) {
        Error why = {0};
        size_t bytes = 0;
        double ns = 0;
        const void *weights[2 * INPUTS + OUTPUTS] = {0};
        StepKernel k;
        tally->kinds[b->v[s].kind]++;
        assert_true(b->v[s].nview <= 2 * INPUTS + OUTPUTS);
        if (!step_kernel_make(&k, &(OpenDevice){.backend = backend, .device = d}, &host,
                              &(KernelRequest){&b->v[s], 0, weights}, &bytes, &why))
            fail_msg("%s: step %d: %s", t->op->name, s, why.reason);
        void *work = backend->alloc(d, bytes ? bytes : 64);
        if (!step_kernel_run(&k, slot, work, &ns)) fail_msg("%s: step %d fails", t->op->name, s);
        backend->release(d, work);
        step_kernel_free(&k);
    }
    backend->wait(d, NULL);
    device_close(&host);
}

/* Runs the steps of all outputs; where outputs are views, a step copies their elements. */
static void lower_all(Trial *t, Device *d, const Backend *cpu, Tally *tally) {
    View in[INPUTS], out[OUTPUTS];
    void *slot[INPUTS + OUTPUTS + STEP_BUFFERS];
    StepBuf b = stepbuf_new(t->w, (Sizes){SYMBOLS, t->size}, t->w->arena);
    b.first_buffer = INPUTS + OUTPUTS;
    for (int k = 0; k < t->nin; k++)
        in[k] = view_dense(k, DT_FLOAT, t->data[k].rank, t->data[k].dim), slot[k] = t->flat[k];
    for (int j = 0; j < t->nout; j++) {
        Tensor y;
        assert_true(sized(t, type_get(t->w, sig_info(t->w, t->sig)->out[j]), &y));
        out[j] = view_dense(INPUTS + j, DT_FLOAT, y.rank, y.dim), slot[INPUTS + j] = t->out[j];
    }
    View seen;
    bool views = true;
    for (int j = 0; j < t->nout; j++)
        views = views && sig_lower_view(t->w, t->sig, j, b.sizes, in, &out[j], &seen);
    if (views) {
        tally->views++;
        for (int j = 0; j < t->nout; j++) {
            assert_true(sig_lower_view(t->w, t->sig, j, b.sizes, in, &out[j], &seen));
            step_copy(&b, &out[j], &seen);
        }
    } else if (!sig_lower(&b, t->sig, in, out)) fail_msg("%s: %s", t->op->name, b.failure);
    memset(t->out, 0xee, sizeof t->out);
    for (int k = 0; k < b.nbuffers; k++)
        slot[b.first_buffer + k] = arena_alloc(
            t->w->arena, element_bytes((DType)b.buffers[k].dtype, view_count(&b.buffers[k])) + 1);
    tally->buffers += b.nbuffers;
    run_steps(t, d, cpu, &b, slot, tally);
}

/* Opens the back end for GPUs on the host's memory and compiler. Only a few cases use it, since
   each kernel is compiled. gpu->backend stays NULL where the back end is not built. */
static void open_gpu(OpenDevice *gpu) {
    char path[300], options[320];
    const char *build = getenv("BUILD");
    Error e = {0};
    if (!build) build = "build";
    snprintf(path, sizeof path, "%s/test/cuda/isomer-host.so", build);
    snprintf(options, sizeof options, "cache=%s/test/cuda/kernels", build);
    if (!access(path, F_OK) && !device_open(gpu, NULL, path, options, &e)) fail_msg("%s", e.reason);
}
/* rare: the operator has a loop program or samples. There are few of these, so they are counted
   separately. */
static void check_gpu(Trial *t, const OpenDevice *gpu, bool rare) {
    const int cases = getenv("ISOMER_HEAVY") ? 8 : 1 + rare;
    Tally tally = {0};
    if (!gpu->device || t->gpu_cases[rare]++ >= cases) return;
    for (int k = 0; k < 2; k++) {
        setenv("ISOMER_HOST", k ? "descending" : "", 1);
        lower_all(t, gpu->device, gpu->backend, &tally);
        for (int64_t j = 0; j < tensor_count(&t->want); j++)
            t->got[j].real = (double)t->out[t->port][j];
        compare(t, "the kernels for GPUs", 2e-5);
    }
}

static void check(Trial *t, const OpenDevice *gpu, Device *d, const Backend *cpu, Tally *tally) {
    Eval eval = {
        .w = t->w, .num = &numbers_real, .sizes = {SYMBOLS, t->size}, .nin = t->nin, .in = t->data};
    for (int port = 0; port < t->nout; port++) {
        Error e = {0};
        assert_true(sized(t, type_get(t->w, sig_info(t->w, t->sig)->out[port]), &t->want));
        t->want.v = t->wanted;
        if (!eval_tensor(&eval, sig_define(t->w, t->sig, port), &t->want, &e))
            fail_msg("%s: %s", t->op->name, e.reason);
        loop_equals_walk(t, gpu, port);
        const int before = tally->kinds[S_LOOP] + tally->kinds[S_SAMPLE];
        lower_all(t, d, cpu, tally);
        for (int64_t j = 0; j < tensor_count(&t->want); j++)
            t->got[j].real = (double)t->out[port][j];
        compare(t, "its steps", 2e-5);
        t->port = port;
        const bool rare = tally->kinds[S_LOOP] + tally->kinds[S_SAMPLE] > before;
        if (tensor_count(&t->want)) check_gpu(t, gpu, rare);
    }
    tally->loops++;
}

static void every_operator_by_every_way(void **state) {
    (void)state;
    Error e = {0};
    char why[200];
    const Backend *cpu = backend_open("cpu", &e);
    Device *d = cpu->open("", why, sizeof why);
    assert_non_null(d);
    OpenDevice gpu = {0};
    open_gpu(&gpu);
    Trial *t = trial_new();
    Tally all = {0};
    for (int k = 0; k < op_count(); k++) {
        const Op *op = op_at(k);
        Tally tally = {0};
        if (!op->define || op->flags & (OP_ANY_TYPE | OP_DECIDES) || op_input_count(op) > INPUTS)
            continue;
        t->random = (Random){.seed = (uint64_t)k};
        memset(t->gpu_cases, 0, sizeof t->gpu_cases);
        t->gpu_loops = 0;
        for (int tries = 0; tries < TRIES && tally.loops < WANTED; tries++) {
            if (tries % 500 == 0 || tally.loops) {
                if (t->w) world_free(t->w);
                t->w = world_new(NULL, 0);
                world_init_ops(t->w);
            }
            t->op = op;
            if (!draw_trial(t) || !sig_define(t->w, t->sig, 0)) continue;
            draw_data(t);
            check(t, &gpu, d, cpu, &tally);
        }
        if (tally.loops < WANTED) print_message("%s: only %d cases\n", op->name, tally.loops);
        assert_true(tally.loops >= WANTED / 4);
        all.views += tally.views, all.buffers += tally.buffers;
        assert_true(op != op_find("groupnorm") || tally.kinds[S_LOOP] <= tally.loops / 8);
        for (int j = 0; j < STEP_KIND_COUNT; j++) all.kinds[j] += tally.kinds[j];
    }
    assert_true(all.views > 0 && all.buffers > 0);
    for (StepKind j = 0; j < STEP_KIND_COUNT; j++)
        assert_true(j == S_OP || j == S_ROWS || all.kinds[j] > 0);
    world_free(t->w);
    free(t);
    device_close(&gpu);
    cpu->close(d);
}

/* ---- operators without a definition, or whose kernel says more than their definition: their steps
   are compared with their reference kernel */

/* Rounds the data to integers, so that elements are often equal. */
static void round_data(Trial *t) {
    for (int k = 0; k < t->nin; k++)
        for (int64_t j = 0; j < tensor_count(&t->data[k]); j++)
            t->flat[k][j] = floorf(t->flat[k][j]);
}

/* Reads the only output, of floats or truth values, as numbers. */
static void read_output(Trial *t, int dtype, Number *to) {
    const uint8_t *truth = (const uint8_t *)t->out[0];
    for (int64_t j = 0; j < tensor_count(&t->want); j++)
        to[j].real = dtype == DT_BOOL ? (double)truth[j] : (double)t->out[0][j];
}

static void steps_against_kernel(Trial *t, const OpenDevice *gpu, Device *d, const Backend *cpu,
                                 Tally *tally) {
    const SigInfo *info = sig_info(t->w, t->sig);
    const int dtype = (int)type_get(t->w, info->out[0])->dtype;
    View view[1 + INPUTS];
    void *slot[1 + INPUTS] = {t->out[0]};
    int64_t param[OP_PARAMS];
    StepBuf b = stepbuf_new(t->w, (Sizes){SYMBOLS, t->size}, t->w->arena);
    const int count = op_input_count(t->op);
    /* The drawn data are floats, so that truth values cannot be moved. */
    if (t->nin && dtype != DT_FLOAT && (int)type_get(t->w, info->in[0])->dtype == dtype) return;
    assert_true(sized(t, type_get(t->w, info->out[0]), &t->want));
    view[0] = view_dense(0, dtype, t->want.rank, t->want.dim);
    for (int k = 0; k < count; k++) {
        view[1 + k] = k < t->nin ? view_dense(1 + k, DT_FLOAT, t->data[k].rank, t->data[k].dim)
                                 : (View){.slot = -1, .rank = -1};
        slot[1 + k] = t->flat[k];
    }
    const int n = sig_params(t->w, t->sig, param);
    if (n < 0) return;
    const Step reference = {.kind = S_OP,
                            .nview = 1 + count,
                            .nparam = n,
                            .view = view,
                            .param = param,
                            .op = t->op->name};
    if (t->op->kernel(&reference, slot)) return; /* negative pads leave nothing to mirror */
    read_output(t, dtype, t->wanted);
    if (!sig_lower(&b, t->sig, view + 1, view)) fail_msg("%s: %s", t->op->name, b.failure);
    if (b.n && b.v[0].kind == S_OP) return;
    memset(t->out, 0xee, sizeof t->out);
    run_steps(t, d, cpu, &b, slot, tally);
    read_output(t, dtype, t->got);
    compare(t, "its steps", 2e-5);
    if (gpu->device && tally->loops < 8) {
        memset(t->out, 0xee, sizeof t->out);
        run_steps(t, gpu->device, gpu->backend, &b, slot, tally);
        read_output(t, dtype, t->got);
        compare(t, "its steps on GPUs", 2e-5);
    }
    tally->loops++;
}

static void steps_do_what_the_kernel_does(void **state) {
    (void)state;
    Error e = {0};
    char why[200];
    const Backend *cpu = backend_open("cpu", &e);
    Device *d = cpu->open("", why, sizeof why);
    OpenDevice gpu = {0};
    open_gpu(&gpu);
    Trial *t = trial_new();
    int operators = 0;
    for (int k = 0; k < op_count(); k++) {
        const Op *op = op_at(k);
        bool variadic;
        Tally tally = {0};
        if ((op->define && !(op->flags & OP_DECIDES) && op != op_find("convtranspose")) ||
            !op->steps || !op->kernel || op_output_count(op, &variadic) != 1)
            continue;
        t->random = (Random){.seed = (uint64_t)k};
        for (int tries = 0; tries < TRIES && tally.loops < 4 * WANTED; tries++) {
            if (tries % 500 == 0) {
                if (t->w) world_free(t->w);
                t->w = world_new(NULL, 0);
                world_init_ops(t->w);
            }
            t->op = op;
            if (!draw_trial(t)) continue;
            draw_data(t);
            if (type_get(t->w, sig_info(t->w, t->sig)->out[0])->dtype == DT_BOOL) round_data(t);
            steps_against_kernel(t, &gpu, d, cpu, &tally);
        }
        operators += tally.loops > 0;
        if (op == op_find("convtranspose") || op == op_find("equal") ||
            op == op_find("greaterequal"))
            assert_true(tally.loops >= 4 * WANTED);
    }
    assert_true(operators >= 6);
    world_free(t->w);
    free(t);
    device_close(&gpu);
    cpu->close(d);
}

/* ---- definitions of no operator: which kind of step they become, or a view (STEP_KIND_COUNT), and
   that its result is right */

typedef struct Own {
    Trial *t;
    Call call;
    Device *device;
    const Backend *cpu;
    Dims i;
} Own;

static void becomes(Own *o, Ex e, int rank, const int64_t *dim, StepKind kind) {
    Trial *t = o->t;
    Tally tally = {0};
    Error error = {0};
    Eval eval = {.w = t->w, .num = &numbers_real, .nin = t->nin, .in = t->data};
    StepBuf b = stepbuf_new(t->w, (Sizes){0}, t->w->arena);
    View in[INPUTS], out = view_dense(INPUTS, DT_FLOAT, rank, dim), seen;
    void *slot[INPUTS + 1];
    t->want = (Tensor){.rank = rank, .v = t->wanted};
    memcpy(t->want.dim, dim, (size_t)rank * sizeof *dim);
    for (int k = 0; k < t->nin; k++)
        in[k] = view_dense(k, DT_FLOAT, t->data[k].rank, t->data[k].dim), slot[k] = t->flat[k];
    slot[INPUTS] = t->out[0];
    if (!eval_tensor(&eval, e, &t->want, &error)) fail_msg("%s", error.reason);
    bool view = lower_view(t->w, e, b.sizes, in, &out, &seen);
    assert_int_equal(view, kind == STEP_KIND_COUNT);
    assert_true(lower_step(&b, e, t->nin, in, &out));
    assert_int_equal(b.n, 1);
    assert_int_equal(b.v[0].kind, view ? S_COPY : kind);
    run_steps(t, o->device, o->cpu, &b, slot, &tally);
    for (int64_t j = 0; j < tensor_count(&t->want); j++) t->got[j].real = (double)t->out[0][j];
    compare(t, "what it becomes", 2e-5);
}

static Poly number(Own *o, int64_t v) { return poly_int(o->t->w, v); }

static void structures_become_the_steps_they_are(void **state) {
    (void)state;
    Error e = {0};
    char why[200];
    static const Op none = {"definition", "x y", "y", .flags = 0};
    Trial *t = trial_new();
    Own o = {.t = t, .cpu = backend_open("cpu", &e)};
    o.device = o.cpu->open("", why, sizeof why);
    t->w = world_new(NULL, 0), t->op = &none, t->nin = 2, o.call = (Call){.w = t->w};
    Call *c = &o.call;
    for (int a = 0; a < 3; a++) o.i.v[o.i.n++] = poly_symbol(t->w, symbol_index(t->w, (uint32_t)a));
    for (int k = 0; k < 2; k++) {
        t->data[k] = (Tensor){.rank = 2, .dim = {6, 4}};
        t->in[k] = (Type){DT_FLOAT, true, {2, {number(&o, 6), number(&o, 4)}}};
    }
    draw_data(t);
    Dims ij = {2, {o.i.v[0], o.i.v[1]}}, k = bound(c, (Dims){1, {number(&o, 4)}}),
         ik = dims_with(ij, 1, k.v[0]), shape = t->in[0].dim;
    Poly flat = poly(c, "i*k + j", ij.v[0], number(&o, 4), ij.v[1]);
    Ex x = at(c, 0, ij), y = at(c, 1, ij), row = sum(c, k, (Cond){0}, at(c, 0, ik)),
       top = maximum(c, k, (Cond){0}, at(c, 0, ik));
    const int64_t whole[] = {6, 4}, half[] = {3, 4}, flatter[] = {2, 3, 4}, six[] = {6};

    becomes(&o, add(c, mul(c, num(c, -1, 1), x), y), 2, whole, S_EWISE);
    becomes(&o,
            sub(c, max2(c, x, num(c, 0, 1)),
                divide(c, min2(c, y, x), add(c, mul(c, x, x), num(c, 1, 2)))),
            2, whole, S_EWISE);
    becomes(&o, add(c, fn(c, FN_DELTA, sub(c, x, x)), fn(c, FN_EXP, mul(c, num(c, -1, 1), y))), 2,
            whole, S_EWISE);
    becomes(&o, num(c, 7, 4), 2, whole, S_FILL);
    becomes(&o, size(c, ij.v[1]), 2, whole, S_LOOP);
    becomes(&o, when(c, when_ge(c, ij.v[0], ij.v[1]), x, y), 2, whole, S_LOOP);

    becomes(&o, at(c, 0, digits(c, poly(c, "f + 8", flat), shape)), 2, half, STEP_KIND_COUNT);
    /* The digits wrap around. */
    becomes(&o, at(c, 0, digits(c, poly(c, "f + 32", flat), shape)), 2, half, STEP_KIND_COUNT);
    becomes(&o, at(c, 0, dims_with(ij, 0, poly(c, "r - i", number(&o, 5), ij.v[0]))), 2, whole,
            STEP_KIND_COUNT);
    becomes(&o,
            at(c, 0,
               digits(c,
                      poly(c, "l*i + k*j + e", number(&o, 12), o.i.v[0], number(&o, 4), o.i.v[1],
                           o.i.v[2]),
                      shape)),
            3, flatter, STEP_KIND_COUNT);
    becomes(&o,
            at(c, 0,
               (Dims){2,
                      {quot(c, poly(c, "t*i + n", number(&o, 2), o.i.v[0], number(&o, 5)),
                            number(&o, 2)),
                       number(&o, 1)}}),
            1, (const int64_t[]){4}, STEP_KIND_COUNT);
    Poly skewed = poly(c, "3*i + j", ij.v[0], ij.v[1]);
    becomes(&o, at(c, 0, digits(c, skewed, shape)), 2, whole, STEP_KIND_COUNT);
    /* The digits carry. */
    becomes(&o, at(c, 0, dims_with(digits(c, skewed, shape), 1, number(&o, 1))), 2, whole, S_LOOP);

    Dims round = digits(c, ij.v[0], (Dims){2, {number(&o, 3), number(&o, 4)}});
    Ex turn = at(c, 0, dims_with(round, 0, number(&o, 1)));
    for (int64_t n = 8; n <= 10; n += 2) becomes(&o, turn, 1, &n, n == 8 ? S_COPY : S_LOOP);
    becomes(&o, row, 1, six, S_REDUCE);
    becomes(&o, top, 1, six, S_REDUCE);
    becomes(&o,
            add(c, at(c, 1, (Dims){2, {ij.v[0], number(&o, 3)}}),
                divide(c, mul(c, row, row), num(c, 4, 1))),
            1, six, S_REDUCE);
    becomes(&o, add(c, row, top), 1, six, S_LOOP);
    becomes(&o, sum(c, k, when_ge(c, k.v[0], ij.v[0]), at(c, 0, ik)), 1, six, S_LOOP);
    world_free(t->w);
    free(t);
    o.cpu->close(o.device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operator_by_every_way),
                                       cmocka_unit_test(steps_do_what_the_kernel_does),
                                       cmocka_unit_test(structures_become_the_steps_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
