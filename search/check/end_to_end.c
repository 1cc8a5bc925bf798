/* end_to_end.c -- runs both files from beginning to end. They are read with known inputs, planned
   and run, so conditions, numbers of iterations and data-dependent sizes are numbers. They are the
   same on both sides as long as the models agree; if the models do not, the outputs show it. The
   condition of an If is run even where constants or sizes decide it: such an If was replaced by the
   branch that the reader of the file expects. All memory is freed, even if memory runs out in
   between. */
#include "search/check/end_to_end.h"
#include "graphs/oracle.h"
#include "graphs/plan/stage.h"
#include "ops/core/element.h"
#include "graphs/world.h"

typedef struct Half {
    const EndToEndOptions *o;
    int sample;
    int disturbed; /* if > 0, roundings are disturbed, differently for each number */
    World *w;
    Model *model;
    Runner *runner;
    void **out;
} Half;

static const void *drawn_input(void *user, int index, const char *name, const Type *t,
                               const void *default_bytes) {
    Half *h = user;
    const CheckOptions *c = &h->o->check;
    int64_t dim[RANK_MAX], n;
    (void)default_bytes; /* check_input takes the default into account */
    if (!element_readable(t->dtype) || !oracle_dims(h->w, t, (Sizes){0}, dim, &n)) return NULL;
    void *data = arena_alloc(h->w->arena, element_bytes(t->dtype, n));
    check_input(c, name, t->dtype, index, h->sample, n, data);
    if (h->disturbed) data_nearby(c->seed + (uint64_t)h->disturbed, index, t->dtype, n, data, data);
    return data;
}

/* Returns false with the error set if the input cannot be made. */
static bool make_input(Half *h, int k, const void **data, Error *e) {
    const char *name = model_input_name(h->model, k);
    *data = drawn_input(h, k, name, value_type(h->w, model_graph(h->model)->in[k]), NULL);
    return *data || error_set(e, E_LIMIT, name, "no data can be made for this input");
}

static bool make_output(Half *h, int k, Error *e) {
    const Type *t = value_type(h->w, model_graph(h->model)->out[k]);
    int64_t dim[RANK_MAX], n;
    if (!element_readable(t->dtype) || !oracle_dims(h->w, t, (Sizes){0}, dim, &n))
        return error_set(e, E_LIMIT, model_output_name(h->model, k),
                         "the type or size of this output is not known");
    h->out[k] = arena_alloc(h->w->arena, element_bytes(t->dtype, n));
    return true;
}

static bool run_half(Half *h, const char *path, Error *e) {
    const CheckOptions *c = &h->o->check;
    const OpenOptions open = {.size = h->o->size,
                              .size_user = h->o->size_user,
                              .value = stage_value,
                              .value_user = stage_new(h->w, c->backend, c->device, drawn_input, h),
                              .runs_conditions = true,
                              .base_path = h->o->base_path};
    h->model = model_open_with(h->w, path, &open, e);
    if (!h->model) return false;
    const Graph *g = model_graph(h->model);
    const void **in = ARENA_NEW(h->w->arena, const void *, g->nin);
    h->out = ARENA_NEW(h->w->arena, void *, g->nout);
    for (int k = 0; k < g->nin; k++)
        if (!make_input(h, k, &in[k], e)) return false;
    for (int k = 0; k < g->nout; k++)
        if (!make_output(h, k, e)) return false;
    Graph disturbed = *g;
    if (h->disturbed && !graph_disturbed(h->w, h->w->arena, g, (Sizes){0},
                                         c->seed + (uint64_t)h->disturbed, &disturbed, e))
        return false;
    Plan *plan = plan_build(h->w, h->w->arena, &disturbed, (Sizes){0}, e);
    h->runner = plan ? runner_new(plan, c->backend, c->device, e) : NULL;
    return h->runner && runner_run(h->runner, in, h->out, e);
}

/* Sets *t and *n to the type and the number of elements of output k. Returns false if the two files
   do not give it the same type. */
static bool same_output(const Half *a, const Half *b, int k, const Type **t, int64_t *n) {
    const Type *u = value_type(b->w, model_graph(b->model)->out[k]);
    int64_t dim[RANK_MAX], other;
    *t = value_type(a->w, model_graph(a->model)->out[k]);
    return (*t)->dtype == u->dtype && oracle_dims(a->w, *t, (Sizes){0}, dim, n) &&
           oracle_dims(b->w, u, (Sizes){0}, dim, &other) && *n == other;
}

/* Returns false with E_CHECK if an output does not have the same type and size in both files. */
static bool outputs_match(const Half h[2], Error *e) {
    const Type *t;
    int64_t n;
    if (model_graph(h[0].model)->nout != model_graph(h[1].model)->nout)
        return error_set(e, E_CHECK, h[0].o->path[0], "the result has another number of outputs");
    for (int k = 0; k < model_graph(h[0].model)->nout; k++)
        if (!same_output(&h[0], &h[1], k, &t, &n))
            return error_set(e, E_CHECK, model_output_name(h[0].model, k),
                             "run from beginning to end, the result has another type or size than "
                             "the original");
    return true;
}

/* Compares the outputs, which have the same types and sizes in both. `moved` (may be NULL) holds,
   by output, how far rounding errors move each element. */
static void compare_outputs(const Half h[2], double *const moved[], Difference *d) {
    const Type *t;
    int64_t n;
    *d = difference_none();
    for (int k = 0; k < model_graph(h[0].model)->nout; k++)
        if (same_output(&h[0], &h[1], k, &t, &n))
            tensors_compare((TensorPair){t->dtype, h[0].out[k], h[1].out[k], n},
                            classes_tolerance(h[0].o->check.classes, t->dtype),
                            moved ? moved[k] : NULL, k, d);
}

static void close_half(Half *h) {
    runner_free(h->runner);
    model_close(h->model);
    world_free(h->w);
}

/* Adds, for each element, how far it differs from the original's run. Returns false if an output is
   missing or has another size. */
static bool add_differences(const Half *original, const Half *x, double *const moved[]) {
    const Type *t;
    int64_t n;
    for (int k = 0; k < model_graph(original->model)->nout; k++) {
        if (!same_output(original, x, k, &t, &n)) return false;
        moves_add((TensorPair){t->dtype, original->out[k], x->out[k], n}, moved[k]);
    }
    return true;
}

/* Runs the original again with disturbed roundings and adds how far its outputs move. Returns false
   if it then takes another branch or an output has another size, since this data decides
   nothing. */
static bool add_moves(const Half *original, int disturbance, double *const moved[]) {
    Half x = {.o = original->o, .sample = original->sample, .disturbed = disturbance};
    Error ignored = {0};
    x.w = graph_world_new(arena_escape(original->w->arena), 0);
    const bool good = run_half(&x, x.o->path[0], &ignored) && add_differences(original, &x, moved);
    close_half(&x);
    return good;
}

static bool judge_by_moves(const Half h[2], Difference *d) {
    Arena *a = h[0].w->arena;
    const int nout = model_graph(h[0].model)->nout;
    double **moved = ARENA_NEW(a, double *, nout);
    const Type *t;
    int64_t n;
    for (int k = 0; k < nout; k++)
        moved[k] = ARENA_NEW(a, double, same_output(&h[0], &h[0], k, &t, &n) ? n : 0);
    /* Where two elements tie, a rounding decides between them like the toss of a coin, so a
       difference that is still unexplained is given more disturbed runs. */
    for (int k = 1; k <= 8 * DISTURBANCES; k++) {
        if (!add_moves(&h[0], k, moved)) return false;
        if (k % DISTURBANCES) continue;
        compare_outputs(h, moved, d);
        if (d->first < 0) break;
    }
    return true;
}

static EndToEnd run_both(Escape *escape, Half h[2], Difference *d, Error *e) {
    Difference found;
    for (int k = 0; k < 2; k++) {
        h[k].w = graph_world_new(escape, 0);
        if (!run_half(&h[k], h[k].o->path[k], e))
            return e->kind == E_MEMORY || e->kind == E_INTERRUPTED ? END_TO_END_UNDECIDED
                   : k                                             ? END_TO_END_RESULT_FAILS
                                                                   : END_TO_END_ORIGINAL_FAILS;
    }
    if (!outputs_match(h, e)) return END_TO_END_DIFFERENT;
    compare_outputs(h, NULL, &found);
    if (found.first >= 0 && !judge_by_moves(h, &found)) {
        error_set(e, E_LIMIT, h[0].o->path[0], "roundings decide which of its nodes run");
        return END_TO_END_UNDECIDED;
    }
    difference_add(d, &found);
    return END_TO_END_COMPARED;
}

static EndToEnd one_sample(const EndToEndOptions *o, int sample, Difference *d, Error *e) {
    Escape escape = {.error = {.kind = E_NONE}};
    volatile EndToEnd verdict = END_TO_END_UNDECIDED;
    Half *h = mem_realloc(NULL, 2 * sizeof *h);
    if (!h) return error_set(e, E_MEMORY, o->path[0], "out of memory"), END_TO_END_UNDECIDED;
    for (int k = 0; k < 2; k++) h[k] = (Half){.o = o, .sample = sample};
    if (!setjmp(escape.here)) verdict = run_both(&escape, h, d, e);
    else *e = escape.error;
    escape_free(&escape);
    mem_free(h);
    return verdict;
}

EndToEnd end_to_end_compare(const EndToEndOptions *o, Difference *d, Error *e) {
    const int samples = o->check.samples ? o->check.samples : 2;
    EndToEnd verdict = END_TO_END_COMPARED;
    *d = difference_none();
    for (int k = 0; k < samples && verdict == END_TO_END_COMPARED; k++)
        verdict = one_sample(o, k, d, e);
    return verdict;
}
