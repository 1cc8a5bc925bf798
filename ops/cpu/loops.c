/* loops.c -- steps that other parts of the library interpret: loop programs, and operators with a reference kernel of their own. */
#include "ops/cpu/cpu.h"
#include "ops/op_kernel.h"
#include <string.h>

#pragma weak op_kernel /* a library without operators has none */

static int no_choices(const Device *d, const Step *s) { return (void)d, (void)s, 0; }
static bool no_build(Build *b, int choice, Kernel *k) { return (void)choice, (void)k, build_fail(b, "loop programs are not supported"); }
const Maker loop_maker = {no_choices, no_build};

typedef struct Reference {
    Step step;
    OpKernel kernel;
} Reference;

static int op_choices(const Device *d, const Step *s) {
    (void)d;
    return op_kernel && s->op && op_kernel(s->op) != NULL;
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
