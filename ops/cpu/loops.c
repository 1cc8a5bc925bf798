/* loops.c -- steps that other parts of the library run: loop programs, which core/loop.h
   interprets, and operators, which have reference kernels. For some operators this back end has
   faster kernels. */
#include "ops/backend/isomer_op_steps.h"
#include "ops/core/loop.h"
#include "ops/cpu/cpu.h"
#include "ops/operator/signature.h"
#include <string.h>

/* ---- loop programs (core/loop.h), computed in doubles */
static int loop_choices(const Device *d, const Step *s) {
    (void)d;
    for (int i = 0; i < s->nview; i++)
        if (s->view[i].rank >= 0 && !dtype_numeric(s->view[i].dtype)) return 0;
    return step_has_loop(s);
}
typedef struct Loops { /* one loop for each part of the output */
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
/* Builds a loop program, cut into parts along the longest axis of the output. */
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
    if (e.kind == E_MEMORY) *b->failure = COMPILE_NO_MEMORY;
    return build_fail(b, e.reason);
}
const Maker loop_maker = {.choices = loop_choices, .build = loop_build};

/* ---- operators: reference kernels, and faster ones */
typedef struct Reference {
    Step step;
    OpKernel kernel;
} Reference;

static int op_choices(const Device *d, const Step *s) {
    return s->op && (op_kernel(s->op) != NULL || rotate_possible(s) || col2im_possible(d, s));
}
static int op_run(const Kernel *k, void *const slot[], void *work) {
    (void)work;
    const Reference *r = k->self;
    return r->kernel(&r->step, slot);
}
/* Kernels that replace the reference kernel for the steps that they accept. */
static const struct {
    const Op *op;
    Make *make;
} own_kernels[] = {
    {&op_rnn, recurrent_build},
    {&op_gru, recurrent_build},
    {&op_lstm, recurrent_build},
    {&op_attention, attention_build},
    {&op_gather, gather_build},
    {&op_gathernd, gathernd_build},
    {&op_gatherelements, gatherelements_build},
    {&op_reversesequence, reverse_build},
    {&op_scatternd, scatternd_build},
    {&op_scatterelements, scatterelements_build},
    {&op_scatterndadd, scatternd_build},
    {&op_scatterndmax, scatternd_build},
    {&op_scatterndmin, scatternd_build},
    {&op_scatteradd, scatterelements_build},
    {&op_scattermax, scatterelements_build},
    {&op_scattermin, scatterelements_build},
    {&op_cachewrite, cachewrite_build},
    {&op_topk, topk_build},
    {&op_argmax, argmax_build},
    {&op_argmin, argmax_build},
    {&op_cumsum, cumsum_build},
    {&op_cumprod, cumprod_build},
    {&op_det, det_build},
    {&op_gridsample, gridsample_build},
    {&op_dft, fft_build},
    {&op_stft, stft_build},
    {&op_roialign, roialign_build},
    {&op_onehot, onehot_build},
    {&op_nms, nms_build},
    {&op_compress, compress_build},
    {&op_nonzero, nonzero_build},
    {&op_hardmax, hardmax_build},
    {&op_maxplace, maxplace_build},
    {&op_unpool, unpool_build},
    {&op_unique, unique_build},
    {&op_trees, trees_build},
    {&op_asin, pointwise_build},
    {&op_acos, pointwise_build},
    {&op_atan, pointwise_build},
    {&op_sinh, pointwise_build},
    {&op_cosh, pointwise_build},
    {&op_asinh, pointwise_build},
    {&op_acosh, pointwise_build},
    {&op_atanh, pointwise_build},
    {&op_div, pointwise_build},
    {&op_mod, pointwise_build},
    {&op_pow, pointwise_build},
    {&op_bitshift, pointwise_build},
    {&op_bitwise_not, pointwise_build},
    {&op_bitwise_and, pointwise_build},
    {&op_bitwise_or, pointwise_build},
    {&op_bitwise_xor, pointwise_build},
    {&op_thresholdedrelu, pointwise_build},
    {&op_shrink, pointwise_build},
};
static Make *own_kernel(const Op *op) {
    for (size_t j = 0; j < sizeof own_kernels / sizeof *own_kernels; j++)
        if (own_kernels[j].op == op) return own_kernels[j].make;
    return NULL;
}
/* Builds an operator's kernel. A reference kernel gets a copy of the step and everything that it
   points to, because the kernel outlives the step. */
static bool op_build(Build *b, int choice, Kernel *k) {
    if (step_is_rotate(b->step)) return rotate_build(b, choice, k);
    if (step_is_col2im(b->step)) return col2im_build(b, choice, k);
    Make *own = own_kernel(op_find(b->step->op));
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
