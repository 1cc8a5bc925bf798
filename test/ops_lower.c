/* ops_lower.c -- every operator of ops.def that has a definition, at attributes drawn from its own
   table and random sizes, 0 and 1 among them, half of the time symbolic and bound only for the run:
   the loop program equals the tree walk, and what the signature is lowered to, view or steps,
   equals both when the CPU back end runs it. */
#include "ops/backend/backend.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/core/eval.h"
#include "ops/core/loop.h"
#include "ops/operator/op.h"
#include "ops/operator/signature.h"
#include "ops/backend/view.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { INPUTS = 6, OUTPUTS = 3, SYMBOLS = 256, ELEMENTS = 1 << 13, WANTED = 40, TRIES = 60000 };
typedef struct Trial {
    World *w;
    Random random;
    const Op *op;
    Attr attr[ATTRS_MAX];
    int nin, nout;
    Type in[INPUTS];
    bool given[INPUTS];
    Sig sig;
    int64_t size[SYMBOLS];
    Tensor data[INPUTS], want;
    Number number[INPUTS][ELEMENTS], wanted[ELEMENTS], got[ELEMENTS];
    float flat[INPUTS][ELEMENTS], out[OUTPUTS][ELEMENTS];
} Trial;
typedef struct Tally {
    int loops, views, rooms, kinds[STEP_KIND_COUNT];
} Tally;

static int64_t draw(Trial *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}

/* A size as a number, or as a symbol that has this value. */
static Poly size_as(Trial *t, int64_t v, bool symbolic, int k, int axis) {
    char name[16];
    if (!symbolic) return poly_int(t->w, v);
    snprintf(name, sizeof name, "n%d_%d", k, axis);
    Symbol s = symbol_named(t->w, name);
    t->size[s] = v;
    return poly_symbol(t->w, s);
}

/* ---- attributes: a drawn value for each entry of a list; lists without drawn values are small
   numbers */
static void entry(Trial *t, const AttrDef *d, Text *out) {
    const char *at = d->draw;
    if (!at) {
        text_add(out, d->kind == A_REAL ? "1/2" : "%d", (int)draw(t, 0, 4));
        return;
    }
    int words = 1;
    for (const char *s = at; *s; s++) words += *s == ' ';
    for (int64_t k = draw(t, 0, words - 1); k > 0; k--) at = strchr(at, ' ') + 1;
    text_add(out, "%.*s", (int)strcspn(at, " "), at);
}

static int entries(Trial *t, const AttrDef *d) {
    int rank = t->in[0].dim.n;
    if (d->fill == PER_SPATIAL) return rank - 2;
    if (d->fill == PER_SIDE) return 2 * (rank - 2);
    if (d->fill == PER_AXIS) return rank;
    if (d->axes) return (int)draw(t, 0, 2);
    if (strstr(t->op->name, "pool")) return rank - 2;
    return !strcmp(t->op->name, "pad")     ? 2 * rank
           : !strcmp(t->op->name, "split") ? t->nout
           : draw(t, 0, 2)                 ? rank
                                           : (int)draw(t, 0, 4);
}

static bool draw_attr(Trial *t, const AttrDef *d, Attr *a) {
    Text text = text_new(t->w->arena);
    Error e = {0};
    if (d->kind == A_DTYPE) text_add(&text, "F");
    else if (d->kind != A_INTS) entry(t, d, &text);
    else {
        text_add(&text, "[");
        for (int n = entries(t, d), k = 0; k < n; k++)
            text_add(&text, k ? ", " : ""), entry(t, d, &text);
        text_add(&text, "]");
    }
    Scan s = scan_new("attr", text.data, text.size, &e);
    return attr_parse(t->w, &s, d, a);
}

/* ---- sizes: of the first input, or one axis or some of them, or new ones; then the signature
   decides */
static void draw_inputs(Trial *t) {
    bool variadic, symbolic = draw(t, 0, 1);
    int least = op_arity(t->op, &variadic), most = op_input_count(t->op), rank = (int)draw(t, 1, 4);
    t->nin = variadic ? (int)draw(t, 1, 4) : draw(t, 0, 1) ? most : least;
    for (int k = 0; k < t->nin; k++) {
        Type *x = &t->in[k];
        *x = (Type){.dtype = DT_FLOAT, .known = true, .dim = {.n = rank}};
        for (int a = 0; a < rank; a++)
            x->dim.v[a] = size_as(t, draw(t, 0, 12) ? draw(t, 1, a ? 6 : 3) : 0, symbolic, k, a);
        int how = k ? (int)draw(t, 0, 5) : 5;
        if (how == 0) x->dim = t->in[0].dim;
        if (how == 1) x->dim = dims_tail(t->in[0].dim, (int)draw(t, 0, rank));
        if (how == 2 && rank > 1) x->dim = (Dims){1, {t->in[0].dim.v[1]}};
        if (how == 3) x->dim.v[draw(t, 0, rank - 1)] = t->in[0].dim.v[draw(t, 0, rank - 1)];
        if (how == 4)
            x->dim = dims_with(t->in[0].dim, (int)draw(t, 0, rank - 1),
                               size_as(t, draw(t, 0, 4), symbolic, k, 7));
    }
}

/* Truth values first, whole numbers second, or bytes: some operators take them, others refuse. */
static void draw_types(Trial *t) {
    int64_t kind = draw(t, 0, 9);
    for (int k = 0; k < t->nin && kind == 7; k++) t->in[k].dtype = DT_INT8;
    if (kind == 8) t->in[0].dtype = DT_BOOL;
    if (kind == 9 && t->nin > 1) t->in[1].dtype = DT_INT64;
}

/* Sizes that chance alone does not meet. */
static void fit_rotary(Trial *t) {
    Type *x = &t->in[0], *angle = &t->in[1];
    x->dim = (Dims){4,
                    {size_as(t, 2, false, 0, 0), size_as(t, 2, false, 0, 1),
                     size_as(t, draw(t, 1, 3), false, 0, 2)}};
    x->dim.v[3] = size_as(t, draw(t, 4, 7), false, 0, 3);
    angle->dim = (Dims){3, {x->dim.v[0], x->dim.v[2], size_as(t, draw(t, 1, 2), false, 1, 2)}};
    t->in[2] = *angle;
}

/* Kernels side by side, which is where a transposed convolution has a definition: strides are the
   kernel's sizes. */
static void fit_convtranspose(Trial *t) {
    enum { GROUP, STRIDES, PADS, DILATIONS, EXTRA };
    const int ns = t->in[0].dim.n - 2;
    Poly *number = ARENA_NEW(t->w->arena, Poly, 6 * RANK_MAX);
    for (int k = 0; k < 6 * RANK_MAX; k++) number[k] = poly_int(t->w, k < 3 * RANK_MAX ? 0 : 1);
    if (ns < 1 || t->nin < 2 || t->in[1].dim.n != ns + 2) return;
    t->in[1].dim.v[0] = t->in[0].dim.v[1];
    if (t->nin > 2) t->in[2].dim = (Dims){1, {t->in[1].dim.v[1]}};
    t->attr[GROUP].ints = (PolyList){1, number + 3 * RANK_MAX};
    t->attr[STRIDES].ints =
        (PolyList){ns, arena_copy(t->w->arena, t->in[1].dim.v + 2, (size_t)ns * sizeof *number)};
    t->attr[PADS].ints = (PolyList){2 * ns, number};
    t->attr[DILATIONS].ints = (PolyList){ns, number + 3 * RANK_MAX};
    t->attr[EXTRA].ints = (PolyList){ns, number};
}

/* Blocks that lie in a picture as often as x says. */
static void fit_col2im(Trial *t) {
    enum { IMAGE, STRIDES = 2, PADS, DILATIONS, AXES = 2 };
    Poly *number = ARENA_NEW(t->w->arena, Poly, 3 * AXES), *x = t->in[0].dim.v;
    int64_t places = 1, elements = 1;
    for (int k = 0; k < AXES; k++) {
        int64_t block = draw(t, 1, 3), image = block + draw(t, 0, 3), stride = draw(t, 1, 2);
        number[k] = poly_int(t->w, image);
        number[AXES + k] = poly_int(t->w, block);
        number[2 * AXES + k] = poly_int(t->w, stride);
        places *= (image - block) / stride + 1;
        elements *= block;
    }
    for (int k = IMAGE; k <= STRIDES; k++) t->attr[k].ints = (PolyList){AXES, number + AXES * k};
    t->attr[PADS].ints = t->attr[DILATIONS].ints = (PolyList){0};
    x[1] = poly_int(t->w, elements * draw(t, 1, 3)), x[2] = poly_int(t->w, places);
    t->in[0].dim.n = 3;
}

/* One tensor, its gradient and what is kept of each: the rate and the number of steps first. */
static void fit_optimizer(Trial *t, int kinds) {
    t->nin = 2 + kinds;
    t->nout = (int)draw(t, 1, kinds - 1);
    t->in[0].dtype = DT_FLOAT;
    for (int k = 2; k < t->nin; k++) t->in[k] = t->in[0];
    t->in[0] = t->in[1] = (Type){.dtype = DT_FLOAT, .known = true};
    t->in[1].dtype = DT_INT64;
}

static bool value_of(Trial *t, Poly p, int64_t *v) {
    return poly_eval(t->w, p, (Sizes){SYMBOLS, t->size}, v);
}

static bool sized(Trial *t, const Type *type, Tensor *out) {
    int64_t n = 1;
    out->rank = type->dim.n;
    for (int a = 0; a < out->rank; a++) {
        if (!value_of(t, type->dim.v[a], &out->dim[a]) || out->dim[a] < 0 || out->dim[a] > 200)
            return false;
        n *= out->dim[a];
    }
    return n <= ELEMENTS;
}

static int64_t least_size(const Tensor *x) {
    int64_t n = x->rank ? x->dim[0] : 1;
    for (int a = 1; a < x->rank; a++) n = x->dim[a] < n ? x->dim[a] : n;
    return n;
}

static bool draw_trial(Trial *t) {
    TypeId id[INPUTS];
    Tensor y;
    for (int k = 0; k < SYMBOLS; k++) t->size[k] = SIZE_UNKNOWN;
    t->nout = (int)draw(t, 1, OUTPUTS);
    draw_inputs(t);
    draw_types(t);
    if (!strcmp(t->op->name, "momentum") || !strcmp(t->op->name, "adagrad")) fit_optimizer(t, 3);
    if (!strcmp(t->op->name, "adam")) fit_optimizer(t, 4);
    if (!strcmp(t->op->name, "rotary")) fit_rotary(t);
    for (int k = 0; k < attrs_count(t->op->attrs); k++)
        if (!draw_attr(t, &t->op->attrs[k], &t->attr[k])) return false;
    if (!strcmp(t->op->name, "convtranspose") && draw(t, 0, 1)) fit_convtranspose(t);
    if (!strcmp(t->op->name, "col2im") && draw(t, 0, 1)) fit_col2im(t);
    for (int k = 0; k < t->nin; k++) id[k] = type_intern(t->w, &t->in[k]);
    t->sig = sig_intern(t->w, t->op, t->attr, t->nin, id, t->nout);
    const SigInfo *info = sig_info(t->w, t->sig);
    if (info->why || info->nout > OUTPUTS) return false;
    for (int k = 0; k < info->nneed; k++) {
        int64_t v;
        if (!value_of(t, info->need[k].p, &v) || (info->need[k].eq ? v != 0 : v < 0)) return false;
    }
    for (int j = 0; j < info->nout; j++)
        if (!sized(t, type_get(t->w, info->out[j]), &y)) return false;
    t->nout = info->nout;
    for (int k = 0; k < t->nin; k++)
        if (!sized(t, &t->in[k], &t->data[k])) return false;
    return t->nin < 2 || t->in[1].dtype == DT_FLOAT || least_size(&t->data[0]) > 0;
}

static void draw_data(Trial *t) {
    for (int k = 0; k < t->nin; k++) {
        t->data[k].v = t->number[k];
        for (int64_t j = 0; j < tensor_count(&t->data[k]); j++) {
            double v = (double)draw(t, 1, 200) / 64 *
                       (strcmp(t->op->name, "log") && strcmp(t->op->name, "sqrt") &&
                                strcmp(t->op->name, "pow") && strcmp(t->op->name, "batchnorm") &&
                                draw(t, 0, 1)
                            ? -1
                            : 1);
            if (t->in[k].dtype == DT_BOOL) v = v > 0;
            if (t->in[k].dtype == DT_INT8 || t->in[k].dtype == DT_INT64) /* Places on any axis. */
                v = (double)draw(t, -least_size(&t->data[0]), least_size(&t->data[0]) - 1);
            t->flat[k][j] = (float)v;
            t->number[k][j].real = v;
        }
    }
}

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

static void loop_equals_walk(Trial *t, int port) {
    Error e = {0};
    LoopProgram p;
    View view[1 + INPUTS] = {view_dense(0, DT_FLOAT, t->want.rank, t->want.dim)};
    void *slot[1 + INPUTS] = {t->out[0]};
    for (int k = 0; k < t->nin; k++)
        view[k + 1] = view_dense(k + 1, DT_FLOAT, t->data[k].rank, t->data[k].dim),
                 slot[k + 1] = t->flat[k];
    if (!loop_compile(t->w, sig_define(t->w, t->sig, port), (Sizes){SYMBOLS, t->size}, t->want.rank,
                      t->want.dim, 0, NULL, t->w->arena, &p, &e))
        fail_msg("%s: %s", t->op->name, e.reason);
    Loop *loop = loop_new(p, 1 + t->nin, view, &numbers_real, &e);
    if (!loop) fail_msg("%s: %s", t->op->name, e.reason);
    loop_run(loop, slot, NULL);
    loop_free(loop);
    for (int64_t j = 0; j < tensor_count(&t->want); j++) t->got[j].real = (double)t->out[0][j];
    compare(t, "its loop program", 1e-6);
}

static void run_steps(Trial *t, Device *d, const Backend *cpu, const StepBuf *b, void *const slot[],
                      Tally *tally) {
    for (int s = 0; s < b->n; s++) {
        char why[200] = "";
        size_t bytes = 0;
        const void *weights[2 * INPUTS + OUTPUTS] = {0};
        tally->kinds[b->v[s].kind]++;
        assert_true(b->v[s].nview <= 2 * INPUTS + OUTPUTS);
        Kernel *k = cpu->compile(d, &b->v[s], 0, weights, &bytes, why, sizeof why);
        if (!k) fail_msg("%s: step %d: %s", t->op->name, s, why);
        void *work = cpu->alloc(d, bytes ? bytes : 64);
        assert_int_equal(cpu->run(k, slot, work), 0);
        cpu->release(d, work);
        cpu->forget(k);
    }
    cpu->wait(d, NULL);
}

/* All outputs; the elements of a view are copied out of it by a step of its own. */
static void lower_all(Trial *t, Device *d, const Backend *cpu, Tally *tally) {
    View in[INPUTS], out[OUTPUTS];
    void *slot[INPUTS + OUTPUTS + STEP_ROOMS];
    StepBuf b = stepbuf_new(t->w, (Sizes){SYMBOLS, t->size}, t->w->arena);
    b.first_room = INPUTS + OUTPUTS;
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
    } else if (!sig_lower(&b, t->sig, in, out)) fail_msg("%s: %s", t->op->name, b.why);
    memset(t->out, 0xee, sizeof t->out);
    for (int k = 0; k < b.nrooms; k++)
        slot[b.first_room + k] = arena_alloc(
            t->w->arena, element_bytes((DType)b.rooms[k].dtype, view_count(&b.rooms[k])) + 1);
    tally->rooms += b.nrooms;
    run_steps(t, d, cpu, &b, slot, tally);
}

static void check(Trial *t, Device *d, const Backend *cpu, Tally *tally) {
    Eval eval = {
        .w = t->w, .num = &numbers_real, .sizes = {SYMBOLS, t->size}, .nin = t->nin, .in = t->data};
    for (int port = 0; port < t->nout; port++) {
        Error e = {0};
        assert_true(sized(t, type_get(t->w, sig_info(t->w, t->sig)->out[port]), &t->want));
        t->want.v = t->wanted;
        if (!eval_tensor(&eval, sig_define(t->w, t->sig, port), &t->want, &e))
            fail_msg("%s: %s", t->op->name, e.reason);
        loop_equals_walk(t, port);
        lower_all(t, d, cpu, tally);
        for (int64_t j = 0; j < tensor_count(&t->want); j++)
            t->got[j].real = (double)t->out[port][j];
        compare(t, "its steps", 2e-5);
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
    Trial *t = test_calloc(1, sizeof *t);
    Tally all = {0};
    for (int k = 0; k < op_count(); k++) {
        const Op *op = op_number(k);
        Tally tally = {0};
        if (!op->define || op->flags & OP_ANY_TYPE || op_input_count(op) > INPUTS) continue;
        t->random = (Random){.seed = (uint64_t)k};
        for (int tries = 0; tries < TRIES && tally.loops < WANTED; tries++) {
            if (tries % 500 == 0 || tally.loops) {
                if (t->w) world_free(t->w);
                t->w = world_new(NULL, 0);
                world_init_ops(t->w);
            }
            t->op = op;
            if (!draw_trial(t) || !sig_define(t->w, t->sig, 0)) continue;
            draw_data(t);
            check(t, d, cpu, &tally);
        }
        if (tally.loops < WANTED) print_message("%s: only %d cases\n", op->name, tally.loops);
        assert_true(tally.loops >= WANTED / 4);
        all.views += tally.views, all.rooms += tally.rooms;
        assert_true(op != op_find("groupnorm") || tally.kinds[S_LOOP] <= tally.loops / 8);
        for (int j = 0; j < STEP_KIND_COUNT; j++) all.kinds[j] += tally.kinds[j];
    }
    assert_true(all.views > 0 && all.rooms > 0);
    for (StepKind j = 0; j < STEP_KIND_COUNT; j++) assert_true(j == S_OP || all.kinds[j] > 0);
    world_free(t->w);
    test_free(t);
    cpu->close(d);
}

/* ---- operators without a definition: their steps against their reference kernel */

/* Whole numbers, which are often equal. */
static void round_data(Trial *t) {
    for (int k = 0; k < t->nin; k++)
        for (int64_t j = 0; j < tensor_count(&t->data[k]); j++)
            t->flat[k][j] = floorf(t->flat[k][j]);
}

/* The one output, of floats or truth values, as numbers. */
static void read_output(Trial *t, int dtype, Number *to) {
    const uint8_t *truth = (const uint8_t *)t->out[0];
    for (int64_t j = 0; j < tensor_count(&t->want); j++)
        to[j].real = dtype == DT_BOOL ? (double)truth[j] : (double)t->out[0][j];
}

static void steps_against_kernel(Trial *t, Device *d, const Backend *cpu, Tally *tally) {
    const SigInfo *info = sig_info(t->w, t->sig);
    const int dtype = (int)type_get(t->w, info->out[0])->dtype;
    View view[1 + INPUTS];
    void *slot[1 + INPUTS] = {t->out[0]};
    int64_t param[64] = {1};
    StepBuf b = stepbuf_new(t->w, (Sizes){SYMBOLS, t->size}, t->w->arena);
    const int count = op_input_count(t->op);
    assert_true(sized(t, type_get(t->w, info->out[0]), &t->want));
    view[0] = view_dense(0, dtype, t->want.rank, t->want.dim);
    for (int k = 0; k < count; k++) {
        view[1 + k] = k < t->nin ? view_dense(1 + k, DT_FLOAT, t->data[k].rank, t->data[k].dim)
                                 : (View){.slot = -1, .rank = -1};
        slot[1 + k] = t->flat[k];
    }
    const int n = sig_params(t->w, t->sig, param + 1, 63);
    if (n < 0) return;
    const Step reference = {.kind = S_OP,
                            .nview = 1 + count,
                            .nparam = 1 + n,
                            .view = view,
                            .param = param,
                            .op = t->op->name};
    if (t->op->kernel(&reference, slot)) return; /* negative pads that leave nothing to mirror */
    read_output(t, dtype, t->wanted);
    if (!sig_lower(&b, t->sig, view + 1, view)) fail_msg("%s: %s", t->op->name, b.why);
    if (b.n && b.v[0].kind == S_OP) return;
    memset(t->out, 0xee, sizeof t->out);
    run_steps(t, d, cpu, &b, slot, tally);
    read_output(t, dtype, t->got);
    compare(t, "its steps", 2e-5);
    tally->loops++;
}

static void steps_do_what_the_kernel_does(void **state) {
    (void)state;
    Error e = {0};
    char why[200];
    const Backend *cpu = backend_open("cpu", &e);
    Device *d = cpu->open("", why, sizeof why);
    Trial *t = test_calloc(1, sizeof *t);
    int operators = 0;
    for (int k = 0; k < op_count(); k++) {
        const Op *op = op_number(k);
        bool variadic;
        Tally tally = {0};
        if ((op->define && op != op_find("convtranspose")) || !op->lower || !op->kernel ||
            op_output_count(op, &variadic) != 1)
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
            steps_against_kernel(t, d, cpu, &tally);
        }
        operators += tally.loops > 0;
        if (op == op_find("convtranspose") || op == op_find("equal") ||
            op == op_find("greaterequal"))
            assert_true(tally.loops >= 4 * WANTED);
    }
    assert_true(operators >= 6);
    world_free(t->w);
    test_free(t);
    cpu->close(d);
}

/* ---- definitions of no operator: what kind of step, or view (STEP_KIND_COUNT), they become, and
   that it is right */

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
    Trial *t = test_calloc(1, sizeof *t);
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
    /* Digits go round. */
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
    test_free(t);
    o.cpu->close(o.device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_operator_by_every_way),
                                       cmocka_unit_test(steps_do_what_the_kernel_does),
                                       cmocka_unit_test(structures_become_the_steps_they_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
