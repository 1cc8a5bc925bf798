/* plan.c -- turns a graph into a plan: lowering makes steps over slots, passes over the steps
   follow, and finally each slot gets its place in memory. plan_all lists the passes; plan_inner.h
   says what each does. */
#include "graphs/plan/plan_inner.h"

/* Sets the operations and bytes of each step. Where its kind and sizes do not tell the operations,
   its operator does. */
static void charge(PlanBuild *b) {
    for (int k = 0; k < b->plan->nstep; k++) {
        PlanStep *s = &b->plan->step[k];
        s->flops = step_flops(&s->step);
        s->bytes = step_bytes(&s->step);
        if (s->flops < 0) s->flops = sig_work(b->w, node_get(b->w, s->node).sig, b->sizes);
        if (s->flops < 0) s->flops = 0;
    }
}

static bool plan_all(PlanBuild *b, const Graph *g) {
    if (!plan_lower(b, g)) return false;
    plan_int8(b);
    plan_collapse(b);
    plan_fuse(b);
    plan_rows(b);
    plan_attention(b);
    plan_rotate(b);
    plan_norms(b);
    plan_once(b);
    plan_split_constants(b);
    charge(b);
    plan_place(b);
    return true;
}

/* Makes a plan. Returns 0, or the node that cannot be planned. */
static NodeId plan_new(const OpenDevice *device, World *w, Arena *a, const Graph *g, Sizes sizes,
                       Plan **plan, Error *e) {
    PlanBuild b = {w, a, sizes, e, .plan = ARENA_NEW(a, Plan, 1), .device = device};
    ArenaMark mark = arena_mark(w->scratch);
    bool done = plan_all(&b, g);
    arena_reset(w->scratch, mark);
    *plan = done ? b.plan : NULL;
    return done ? 0 : b.at;
}

NodeId plan_obstacle(World *w, Arena *a, const Graph *g, Sizes sizes, Error *e) {
    Plan *plan;
    return plan_new(NULL, w, a, g, sizes, &plan, e);
}

Plan *plan_build(World *w, Arena *a, const Graph *g, Sizes sizes, Error *e) {
    Plan *plan;
    plan_new(NULL, w, a, g, sizes, &plan, e);
    return plan;
}

Plan *plan_build_for(const OpenDevice *device, World *w, Arena *a, const Graph *g, Sizes sizes,
                     const bool loose[], Error *e) {
    Plan *plan;
    plan_new(device, w, a, g, sizes, &plan, e);
    if (plan && device_channels_last(device)) plan_channels_last(device, w, plan, loose);
    return plan;
}
