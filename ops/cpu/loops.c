/* loops.c -- steps that other parts of the library interpret: loop programs, and operators with a
   reference kernel of their own. */
#include "ops/core/loop.h"
#include "ops/cpu/cpu.h"
#include "ops/op_kernel.h"
#include <string.h>

/* ---- loop programs (core/loop.h), computed in doubles */
static int loop_choices(const Device *d, const Step *s) {
    (void)d;
    for (int i = 0; i < s->nview; i++)
        if (s->view[i].rank >= 0 && !dtype_numeric(s->view[i].dtype)) return 0;
    /* No parameters: a step has no values for them. */
    return s->nparam > LOOP_HEAD && s->param[0] == LOOP_MAGIC && s->param[2] == 0;
}
static int loop_step_run(const Kernel *k, void *const slot[], void *work) {
    (void)work;
    loop_run(k->self, slot, NULL);
    return 0;
}
static void loop_forget(Kernel *k) { loop_free(k->self); }
static bool loop_build(Build *b, int choice, Kernel *k) {
    (void)choice;
    Error e = {0};
    const Step *s = b->step;
    k->run = loop_step_run;
    k->self = loop_new((LoopProgram){s->nparam, s->param}, s->nview, s->view, &numbers_real, &e);
    if (!k->self) return build_fail(b, e.reason);
    k->forget = loop_forget;
    return true;
}
const Maker loop_maker = {loop_choices, loop_build};

/* ---- operators without a definition */
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
/* The kernel outlives the step: a copy of all it points at. */
static bool op_build(Build *b, int choice, Kernel *k) {
    (void)choice;
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
const Maker op_maker = {op_choices, op_build};
