/* check_moves.c -- measures how far roundings move a result: it runs both graphs again, with
   disturbed inputs and constants, by the built-in runtime and by their definitions. */
#include "graphs/check_inner.h"
#include "graphs/plan/execute.h"
#include <math.h>
#include <string.h>

void moves_forget(Sampled *s) {
    for (int k = 0; k < s->a->nout; k++)
        memset(s->moved[k], 0, sizeof **s->moved * (size_t)s->count[k]);
}

/* Adds the differences between a disturbed run, in s->spare, and the undisturbed one. */
static void add_moves(Sampled *s, void *const undisturbed[], bool wide) {
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = wide ? sampled_wide_type(sampled_type(s, k)) : sampled_type(s, k);
        moves_add((TensorPair){t, undisturbed[k], s->spare[k], s->count[k]}, s->moved[k]);
    }
}

/* Lets every element move without limit, because the graph cannot be run with other roundings:
   sizes or an index depend on them. */
static void all_move(Sampled *s) {
    for (int k = 0; k < s->a->nout; k++)
        for (int64_t i = 0; i < s->count[k]; i++) s->moved[k][i] = INFINITY;
}

void moves_by_definitions(Sampled *s, const Graph *g, OracleNoise noise,
                          void *const undisturbed[]) {
    Error ignored = {0};
    for (int k = 0; k < DISTURBANCES && s->by_definitions; k++) {
        noise.seed = random_at(s->o->seed, (uint64_t)k + 1);
        if (oracle_run_disturbed(s->w, g, s->sizes, &noise, s->in, s->spare, &ignored))
            add_moves(s, undisturbed, true);
        else all_move(s);
    }
}

/* The inputs of the sample, with floats moved by two roundoffs. */
static const void **inputs_nearby(Sampled *s, int draw) {
    const void **near = ARENA_NEW(s->arena, const void *, s->a->nin);
    for (int k = 0; k < s->a->nin; k++) {
        const DType t = value_type(s->w, s->a->in[k])->dtype;
        const int64_t n = s->in_count[k];
        near[k] = s->in[k];
        if (dtype_class(t) != 'F') continue;
        void *data = arena_alloc_raw(s->arena, (size_t)n * 8 + 8);
        data_nearby(s->o->seed + (uint64_t)draw, k, t, n, s->in[k], data);
        near[k] = data;
    }
    return near;
}

/* A disturbed graph that cannot be built, planned or compiled shows no moves, so a difference stays
   one. Only data that kernels refuse let every element move. */
static void add_run_move(Sampled *s, const Graph *g, int draw, void *const undisturbed[]) {
    Graph disturbed;
    Error ignored = {0};
    if (!graph_disturbed(s->w, s->arena, g, s->sizes, s->o->seed + (uint64_t)draw, &disturbed,
                         &ignored))
        return;
    const Plan *plan = plan_build(s->w, s->arena, &disturbed, s->sizes, &ignored);
    Runner *runner = plan ? runner_new(plan, s->o->backend, s->o->device, &ignored) : NULL;
    const bool ran = runner && runner_run(runner, inputs_nearby(s, draw), s->spare, &ignored);
    if (ran) add_moves(s, undisturbed, false);
    else if (runner && ignored.kind == E_ENVIRONMENT) all_move(s);
    runner_free(runner);
}

void moves_by_run(Sampled *s, const Graph *g, int draw, void *const undisturbed[]) {
    /* The disturbed graph adds factors and constants to the World. */
    const WorldMark world = world_mark(s->w);
    const ArenaMark mark = arena_mark(s->arena);
    add_run_move(s, g, draw, undisturbed);
    arena_reset(s->arena, mark);
    world_reset(s->w, world);
}
