/* run_model_time.c -- runs the plan of run-model and times it: whole runs, runs of what a device
   recorded, and single steps. */
#include "graphs/run_model.h"
#include "graphs/plan/losses.h"
#include "graphs/plan/machine.h"
#include "ops/backend/view.h"
#include "ops/core/element.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs the plan once. If a kernel does not accept the integers that were drawn, tries others. */
static bool run_once(ModelRun *r) {
    if (runner_run(r->runner, r->in, r->out, r->error)) return true;
    const Error first = *r->error;
    while (first.kind == E_ENVIRONMENT && !r->staged && feed_next(r->feed)) {
        *r->error = (Error){0};
        if (!run_fill_inputs(r) || !runner_run(r->runner, r->in, r->out, r->error)) continue;
        fprintf(stderr, "run-model: %s: %s; it ran with %s\n", first.place, first.reason,
                feed_print(r->arena, r->feed));
        return true;
    }
    *r->error = first;
    if (runner_refused(r->runner)) r->error->kind = E_INVALID;
    feed_explain(r->arena, r->feed, r->error);
    return false;
}

static void print_recorded(const ModelRun *r) {
    const char *why;
    int pieces, all = 0;
    const int steps = runner_recorded(r->runner, &pieces, &why);
    for (int k = 0; k < r->plan->nstep; k++) all += !r->plan->step[k].once;
    printf("recorded: %d of %d steps, in parts: %d%s%s\n", steps, all, pieces, *why ? "; " : "",
           why);
}

/* Inputs for a run whose results are ignored: zeros, which are valid for every index. */
static const void **blank_inputs(ModelRun *r) {
    const void **in = ARENA_NEW(r->arena, const void *, r->graph->nin);
    for (int k = 0; k < r->graph->nin; k++) {
        const View *v = &r->plan->in[k];
        in[k] = arena_alloc(r->arena, element_bytes((DType)v->dtype, view_count(v)));
    }
    return in;
}
/* Checks that a recorded run gives the same bytes as the first run, which went step by step. The
   run before the recorded one has other inputs, so that memory does not hold the right results
   already. */
static bool check_recording(ModelRun *r) {
    void **again = ARENA_NEW(r->arena, void *, r->graph->nout);
    for (int k = 0; k < r->graph->nout; k++) {
        const View *v = &r->plan->out[k];
        again[k] = arena_alloc(r->arena, element_bytes((DType)v->dtype, view_count(v)));
    }
    Runner *other = runner_new(r->plan, r->backend, r->device, r->error);
    if (!other || !runner_run(other, blank_inputs(r), again, r->error) ||
        !runner_run(other, r->in, again, r->error))
        return false;
    runner_free(other);
    for (int k = 0; k < r->graph->nout; k++) {
        const View *v = &r->plan->out[k];
        if (memcmp(again[k], r->out[k], element_bytes((DType)v->dtype, view_count(v))) != 0)
            return error_set(r->error, E_CHECK, model_output_name(r->model, k),
                             "the recorded run gives other bytes than running it step by step: "
                             "a bug of the back end; please report it");
    }
    return true;
}

bool run_repeat(ModelRun *r) {
    double *seconds = ARENA_NEW(r->arena, double, r->o.repeat);
    r->out = ARENA_NEW(r->arena, void *, r->graph->nout);
    for (int k = 0; k < r->graph->nout; k++) {
        int64_t dim[RANK_MAX], n;
        if (!run_tensor_size(r, r->graph->out[k], model_output_name(r->model, k), dim, &n))
            return false;
        r->out[k] =
            arena_alloc(r->arena, element_bytes(value_type(r->w, r->graph->out[k])->dtype, n));
    }
    if (!run_once(r)) return false;
    for (int64_t k = 0; k < r->o.repeat && r->o.repeat > 1; k++)
        if (!runner_time(r->runner, &seconds[k], r->error)) return false;
    qsort(seconds, (size_t)r->o.repeat, sizeof *seconds, by_value);
    if (r->o.repeat > 1 && r->backend->record) {
        print_recorded(r);
        if (!check_recording(r)) return false;
    }
    if (r->o.repeat > 1)
        printf("time: least %.4f ms, median %.4f ms of %" PRId64 " runs\n", 1e3 * seconds[0],
               1e3 * seconds[r->o.repeat / 2], r->o.repeat);
    return true;
}

/* ---- what it costs */

/* Finds the machine's rates in the named cost file or else in the usual one; without a file,
   nothing is kept. */
static bool find_machine(ModelRun *r, Machine *m) {
    char *path = NULL;
    Error none = {.kind = E_NONE};
    if (!r->costs && (r->o.cost_db || costdb_default_path(r->arena, &path, &none)))
        r->costs = costdb_open(arena_escape(r->arena), r->o.cost_db ? r->o.cost_db : path,
                               r->o.cost_db ? r->error : &none);
    return (r->costs || !r->o.cost_db) &&
           machine_find(r->backend, r->device, r->costs, m, r->error);
}

/* Prints the least time of each step over a few rounds. */
bool run_profile(ModelRun *r) {
    enum { ROUNDS = 5 };
    int n = r->plan->nstep;
    double *least = ARENA_NEW(r->arena, double, n), *seconds = ARENA_NEW(r->arena, double, n);
    Machine m;
    Text t = text_new(r->arena);
    if (!find_machine(r, &m)) return false;
    for (int round = 0; round < ROUNDS; round++) {
        if (!runner_profile(r->runner, seconds, r->error)) return false;
        for (int k = 0; k < n; k++) least[k] = round ? fmin(least[k], seconds[k]) : seconds[k];
    }
    losses_print(r->w, r->model, r->plan, least, &m, &t);
    fputs(t.data, stdout);
    return true;
}

bool run_machine(ModelRun *r) {
    Machine m;
    Text t = text_new(r->arena);
    if (!find_machine(r, &m)) return false;
    machine_print(&m, &t);
    fputs(t.data, stdout);
    return true;
}
