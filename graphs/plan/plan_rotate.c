/* plan_rotate.c -- joins two element-wise steps that rotate the same pairs of numbers, p*c - q*d
   and q*c + p*d, into one step that reads the operands once. This is how rotary position embeddings
   and products of complex numbers are spelled.

   All operands are float32. The new step is S_OP "rotate" (isomer_op_steps.h); it gives the same
   results. What matches is joined only if the target has an algorithm for it. */
#include "graphs/plan/plan_inner.h"
#include "ops/backend/isomer_op_steps.h"
#include "ops/base/arena.h"

typedef struct PairProduct { /* of two views of a step */
    const View *a, *b;
} PairProduct;
typedef struct Half { /* the step first - second, or first + second */
    const View *y;
    PairProduct first, second;
    int op;
} Half;

static bool product_of(const Step *s, int i, PairProduct *out) {
    const Scalar *c = &s->code[i];
    if (c->op != C_MUL || s->code[c->a].op != C_VIEW || s->code[c->b].op != C_VIEW) return false;
    *out = (PairProduct){&s->view[s->code[c->a].a], &s->view[s->code[c->b].a]};
    return true;
}
static bool half_of(const Step *s, Half *out) {
    if (s->kind != S_EWISE || s->ncode < 5 || view_count(&s->view[0]) == 0) return false;
    const Scalar *last = &s->code[s->ncode - 1];
    for (int j = 0; j < s->nview; j++)
        if (s->view[j].dtype != DT_FLOAT || s->view[j].format || s->view[j].rank < 1) return false;
    *out = (Half){.y = &s->view[0], .op = last->op};
    return (last->op == C_SUB || last->op == C_ADD) && product_of(s, last->a, &out->first) &&
           product_of(s, last->b, &out->second);
}
static bool is_product(const PairProduct *p, const View *a, const View *b) {
    return (view_same(p->a, a) && view_same(p->b, b)) || (view_same(p->a, b) && view_same(p->b, a));
}
/* Whether `sum` is q*c + p*d, where `less` is p*c - q*d. The views of the new step are stored in
   the order of ROTATE_F. */
static bool match_rotate(const Half *less, const Half *sum, View view[ROTATE_VIEWS]) {
    for (int k = 0; k < 4; k++) {
        const View *p = k & 1 ? less->first.b : less->first.a,
                   *c = k & 1 ? less->first.a : less->first.b,
                   *q = k & 2 ? less->second.b : less->second.a,
                   *d = k & 2 ? less->second.a : less->second.b;
        if (!(is_product(&sum->first, q, c) && is_product(&sum->second, p, d)) &&
            !(is_product(&sum->first, p, d) && is_product(&sum->second, q, c)))
            continue;
        const View *of[ROTATE_VIEWS] = {less->y, sum->y, p, q, c, d};
        for (int j = 0; j < ROTATE_VIEWS; j++) view[j] = *of[j];
        return true;
    }
    return false;
}
static bool reads_slot(const View view[ROTATE_VIEWS], int slot) {
    for (int j = ROTATE_P; j < ROTATE_VIEWS; j++)
        if (view[j].slot == slot) return true;
    return false;
}
/* Whether a step between `from` and `to` writes what the rotation reads. */
static bool changed_between(const Plan *p, int from, int to, const View view[ROTATE_VIEWS]) {
    for (int k = from; k < to; k++) {
        const Step *s = &p->step[k].step;
        for (int j = 0; s->nview && j < step_writes(s); j++)
            if (reads_slot(view, s->view[j].slot)) return true;
    }
    return false;
}
/* Joins the steps k < with, if they match. */
static bool join_rotate(PlanBuild *b, int k, int with, const Half *one, const Half *two) {
    const Half *less = one->op == C_SUB ? one : two, *sum = one->op == C_SUB ? two : one;
    View view[ROTATE_VIEWS];
    const int64_t param[] = {[OP_OUTPUTS] = ROTATE_P};
    if (one->op == two->op || !match_rotate(less, sum, view) ||
        changed_between(b->plan, k, with + 1, view))
        return false;
    Step s = {.kind = S_OP, .nview = ROTATE_VIEWS, .nparam = 1, .op = ROTATE_STEP};
    s.view = view, s.param = param;
    if (b->device->backend->choices(b->device->device, &s) < 1) return false;
    s.view = arena_copy(b->arena, view, sizeof view);
    s.param = arena_copy(b->arena, param, sizeof param);
    b->plan->step[k].step = s;
    b->plan->step[with].step.nview = 0; /* gone */
    return true;
}
void plan_rotate(PlanBuild *b) {
    const Plan *p = b->plan;
    Half one, two;
    if (!b->device) return;
    for (int k = 0; k < p->nstep; k++) {
        if (p->step[k].step.nview == 0 || !half_of(&p->step[k].step, &one)) continue;
        for (int j = k + 1; j < p->nstep; j++)
            if (p->step[j].step.nview && half_of(&p->step[j].step, &two) &&
                join_rotate(b, k, j, &one, &two))
                break;
    }
    plan_drop_gone(b->plan);
}
