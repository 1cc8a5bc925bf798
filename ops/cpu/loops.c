/* loops.c -- steps that are run by other parts of the library: loop programs, which are interpreted
   (core/loop.h), and operators by their reference kernels, unless a kernel here is faster. */
#include "ops/core/loop.h"
#include "ops/cpu/cpu.h"
#include "ops/operator/op_kernel.h"
#include <string.h>

/* ---- loop programs (core/loop.h), computed in doubles */
static int loop_choices(const Device *d, const Step *s) {
    (void)d;
    for (int i = 0; i < s->nview; i++)
        if (s->view[i].rank >= 0 && !dtype_numeric(s->view[i].dtype)) return 0;
    /* No parameters: a step has no values for them. */
    return s->nparam > LOOP_HEAD && s->param[0] == LOOP_MAGIC && s->param[2] == 0;
}
typedef struct Loops { /* one for each part of the output */
    int n;
    Loop *loop[TEAM_MOST];
} Loops;
typedef struct Job {
    const Loops *loops;
    void *const *slot;
} Job;
static void run_loop_part(void *job, int k) {
    const Job *j = job;
    loop_run(j->loops->loop[k], j->slot, NULL);
}
static int loop_step_run(const Kernel *k, void *const slot[], void *work) {
    (void)work;
    const Loops *l = k->self;
    Job j = {l, slot};
    team_run(k->device->team, l->n, run_loop_part, &j);
    return 0;
}
static void loop_forget(Kernel *k) {
    Loops *l = k->self;
    for (int i = 0; i < l->n; i++) loop_free(l->loop[i]);
}
/* Cut along the longest axis of the output. */
static bool loop_build(Build *b, int choice, Kernel *k) {
    if (ranges_build(b, choice, k)) return true;
    Error e = {0};
    const Step *s = b->step;
    const View *y = &s->view[0];
    Loops *l = ARENA_NEW(b->arena, Loops, 1);
    int axis = 0, parts = split_parts(b);
    for (int a = 1; a < y->rank; a++)
        if (y->dim[a] > y->dim[axis]) axis = a;
    const int64_t size = y->rank ? y->dim[axis] : 1;
    if (size < parts) parts = (int)size;
    k->self = l, k->run = loop_step_run, k->forget = loop_forget;
    for (; l->n < parts; l->n++) {
        Loop *one = l->loop[l->n] =
            loop_new((LoopProgram){s->nparam, s->param}, s->nview, s->view, &numbers_real, &e);
        if (!one) break;
        if (parts > 1) loop_limit(one, axis, size * l->n / parts, size * (l->n + 1) / parts);
    }
    if (l->n == parts) return true;
    loop_forget(k);
    k->forget = NULL;
    return build_fail(b, e.reason);
}
const Maker loop_maker = {.choices = loop_choices, .build = loop_build};

/* ---- operators: reference kernels, and what is faster */
typedef struct Reference {
    Step step;
    OpKernel kernel;
} Reference;

static int op_choices(const Device *d, const Step *s) {
    (void)d;
    return s->op && op_kernel(s->op) != NULL;
}
static int op_run(const Kernel *k, void *const slot[], void *work) {
    (void)work;
    const Reference *r = k->self;
    return r->kernel(&r->step, slot);
}
/* What is faster than the reference kernel, for the steps it takes. */
static const struct {
    const char *op;
    Make *make;
} own_kernels[] = {
    {"rnn", recurrent_build},
    {"gru", recurrent_build},
    {"lstm", recurrent_build},
    {"attention", attention_build},
    {"gather", gather_build},
    {"gathernd", gathernd_build},
    {"gatherelements", gatherelements_build},
    {"reversesequence", reverse_build},
    {"scatternd", scatternd_build},
    {"scatterelements", scatterelements_build},
    {"scatterndadd", scatternd_build},
    {"scatteradd", scatterelements_build},
    {"cachewrite", cachewrite_build},
    {"topk", topk_build},
    {"argmax", argmax_build},
    {"argmin", argmax_build},
    {"cumsum", cumsum_build},
    {"cumprod", cumprod_build},
    {"gridsample", gridsample_build},
    {"dft", fft_build},
    {"stft", stft_build},
    {"roialign", roialign_build},
    {"onehot", onehot_build},
    {"nms", nms_build},
    {"compress", compress_build},
    {"nonzero", nonzero_build},
    {"hardmax", hardmax_build},
    {"maxplace", maxplace_build},
    {"unpool", unpool_build},
    {"unique", unique_build},
    {"trees", trees_build},
    {"asin", pointwise_build},
    {"acos", pointwise_build},
    {"atan", pointwise_build},
    {"sinh", pointwise_build},
    {"asinh", pointwise_build},
    {"acosh", pointwise_build},
    {"atanh", pointwise_build},
    {"div", pointwise_build},
    {"mod", pointwise_build},
    {"pow", pointwise_build},
    {"bitshift", pointwise_build},
    {"bitwise_not", pointwise_build},
    {"bitwise_and", pointwise_build},
    {"bitwise_or", pointwise_build},
    {"bitwise_xor", pointwise_build},
    {"thresholdedrelu", pointwise_build},
    {"shrink", pointwise_build},
};
static Make *own_kernel(const char *op) {
    for (size_t j = 0; j < sizeof own_kernels / sizeof *own_kernels; j++)
        if (strcmp(own_kernels[j].op, op) == 0) return own_kernels[j].make;
    return NULL;
}
/* The kernel outlives the step: a copy of all it points at. */
static bool op_build(Build *b, int choice, Kernel *k) {
    Make *own = own_kernel(b->step->op);
    const size_t before = b->workspace;
    if (own && own(b, choice, k)) return true;
    b->workspace = before;
    kernel_drop(k);
    Reference *r = ARENA_NEW(b->arena, Reference, 1);
    const Step *s = b->step;
    r->step = *s;
    r->step.view = arena_copy(b->arena, s->view, sizeof *s->view * (size_t)s->nview);
    r->step.param = arena_copy(b->arena, s->param, sizeof *s->param * (size_t)s->nparam);
    r->step.code = arena_copy(b->arena, s->code, sizeof *s->code * (size_t)s->ncode);
    r->step.op = arena_string(b->arena, s->op, strlen(s->op));
    r->kernel = op_kernel(s->op);
    k->run = op_run;
    k->self = r;
    return true;
}
const Maker op_maker = {.choices = op_choices, .build = op_build};
