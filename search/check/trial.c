/* trial.c -- the last check before writing. The bytes to be written are read back and compared with
   the original numerically, which tests rules, kernels and the writer together. If the whole model
   runs at the given sizes, it is compared as a whole. Otherwise both models are cut at the nodes
   that do not run, which keep their names: their results become random data, the same on both
   sides, and their inputs must agree. */
#include "graphs/check.h"
#include "ops/base/file.h"
#include "search/input_data.h"
#include "search/finish.h"
#include "graphs/oracle.h"
#include "graphs/sizes.h"
#include "ops/backend/backend.h"
#include "ops/core/element.h"
#include "search/run.h"
#include "search/check/trial.h"
#include "search/check/check_steps.h"
#include "search/check/cut.h"
#include "search/check/end_to_end.h"
#include "graphs/world.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CUTS = 2000 }; /* attempts to cut out a node that does not run */

struct Trial {
    Run *r;
    const Derivation *d; /* which made the result */
    World *w;
    Arena *arena;
    Sizes sizes;
    bool fits;       /* the original allows these sizes */
    Side sized;      /* the original at the sizes that options give */
    Cut both;        /* the original and the result, at `sizes` */
    int result_fd;   /* descriptor of the result's file in memory; 0: there is none */
    Cleanup cleanup; /* closes result_fd */
    OpenDevice open;
    CheckOptions options;
    const char *note; /* what was compared if it was not simply the whole model, or "" */
};

/* ---- reading both */

static bool open_side(Trial *t, Side *s, const char *path, InputSize size, const void *user) {
    const OpenOptions open = {.size = size, .size_user = user, .base_path = t->r->in};
    s->model = model_open_with(t->w, path, &open, t->r->error);
    if (!s->model) return false;
    s->graph = *model_graph(s->model);
    model_release_pages(s->model);
    return true;
}

/* Implements InputSize for both sides: the size that was given or guessed, wherever the file leaves
   it open. */
static int64_t size_here(const void *user, const char *input, int axis, const char *param) {
    const Trial *t = user;
    const Graph *g = &t->sized.graph;
    int64_t dim[RANK_MAX], n;
    (void)param;
    for (int k = 0; k < g->nin; k++) {
        const Type *type = value_type(t->w, g->in[k]);
        if (!strcmp(model_input_name(t->sized.model, k), input) && axis < type->dim.n &&
            oracle_dims(t->w, type, t->sizes, dim, &n))
            return dim[axis];
    }
    return -1;
}

/* Opens the original with a number for each size of its inputs, given by options or guessed, since
   more can be understood than with open sizes. */
static bool open_original(Trial *t) {
    const SizeOptions given = run_given_sizes(t->r);
    if (!open_side(t, &t->sized, t->r->source.path, size_given, &given)) return false;
    t->fits = sizes_guess(t->w, t->arena, &t->sized.graph, &t->sizes);
    return open_side(t, &t->both.side[0], t->r->source.path, size_here, t);
}

/* Opens the result from its bytes, as a file in memory. */
static bool open_result(Trial *t, const Derivation *d) {
    Run *r = t->r;
    Arena *a = arena_new(r->escape, 0);
    char path[64];
    Pieces file;
    bool good = run_pieces(r, d, a, &file, r->error);
    int fd = good ? file_in_memory(file.n, file.v) : -1;
    arena_free(a);
    if (!good) return false;
    if (fd < 0)
        return error_set(r->error, E_ENVIRONMENT, r->out ? r->out : r->in,
                         "not enough memory to hold the result while it is checked");
    file_cleanup(r->arena, &t->cleanup, t->result_fd = fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open_side(t, &t->both.side[1], path, size_here, t);
}

/* ---- comparing */

/* Makes room for the difference of each compared output. */
static void keep_differences(Trial *t) {
    t->options.each = ARENA_NEW(t->arena, Difference, t->both.ncompared);
    for (int k = 0; k < t->both.ncompared; k++) t->options.each[k] = difference_none();
}

/* Returns the node that prevents a side from being run, with the reason in *e; 0: both can be
   run. */
static NodeId find_obstacle(const Trial *t, const Graph g[2], int *side, Error *e) {
    for (*side = 0; *side < 2; ++*side) {
        const NodeId at = plan_obstacle(t->w, t->arena, &g[*side], t->sizes, e);
        if (at) return at;
    }
    return 0;
}

/* Compares what remains of both sides. A node that does not run is cut out of both, and what
   remains then is compared. Returns false either with *why set, if a numerical comparison is not
   possible, or with the run's error set. */
static bool compare_sides(Trial *t, CheckResult *result, const char **why) {
    if (!t->fits)
        return *why = "no sizes were found that the model allows; --input-shape gives them", false;
    if (!cut_opaque(&t->both, why)) return false;
    for (int cuts = 0; cuts < CUTS; cuts++) {
        Graph g[2];
        ValueMap map[2];
        Error local = {0};
        int side;
        if (!cut_remaining(&t->both, 0, &g[0], &map[0], t->r->error) ||
            !cut_remaining(&t->both, 1, &g[1], &map[1], t->r->error))
            return false;
        if (!cut_prune(&t->both, g))
            return *why = "the element type or rank of an output cannot be compared", false;
        keep_differences(t);
        const NodeId at = find_obstacle(t, g, &side, &local);
        if (!at && graphs_check(t->w, &g[0], &g[1], t->sizes, &t->options, result, &local)) {
            if (t->both.side[0].ncut && t->both.ncompared)
                t->note = "without the nodes that the built-in runtime cannot run";
            return true;
        }
        if (at && cut_obstacle(&t->both, side, at, &map[side])) continue;
        if (!at && local.kind == E_ENVIRONMENT &&
            (cut_counted(&t->both) || run_other_inputs(t->r, &local)))
            continue;
        if (local.kind == E_MEMORY || local.kind == E_INTERRUPTED || local.kind == E_CHECK)
            return *t->r->error = local, false;
        return *why = arena_format(t->arena, "%s: %s", local.place, local.reason), false;
    }
    return *why = "too many of its nodes cannot be run by the built-in runtime", false;
}

/* ---- from beginning to end */

/* Returns the place of an output of the model among the compared values; -1: it is not there. */
static int compared_index(const Trial *t, int output) {
    for (int k = 0; k < t->both.ncompared; k++)
        if (t->both.output[k] == output) return k;
    return -1;
}

static void add_note(Trial *t, const char *text) {
    t->note = arena_format(t->r->arena, "%s%s%s", t->note, *t->note ? "; " : "", text);
}

/* Notes that the user's file itself was not compared, only what it was turned into before the
   search. */
static void note_replacement(Trial *t, bool runs, const Error *e) {
    if (source_preprocessed(&t->r->source))
        add_note(t, arena_format(t->r->arena,
                                 "the replacement of functions, Ifs, bodies or sizes was not "
                                 "compared, because %s: %s: %s",
                                 runs ? "the run from beginning to end decides nothing"
                                      : "the original file does not run as a whole",
                                 e->place, e->reason));
}

/* If nodes had to be cut, or the source was preprocessed, runs the original file itself alongside
   the result on random data, and adds the difference to *result. Returns false either with *why
   set, if the original runs but the result does not, or with the run's error set, to E_CHECK if an
   output has another type or size. */
static bool compare_files(Trial *t, CheckResult *result, const char **why) {
    Difference d;
    Error e = {0};
    char path[64];
    bool cut = t->both.side[0].ncut > 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", t->result_fd);
    if (!cut && !source_preprocessed(&t->r->source)) return true;
    const EndToEndOptions o = {.path = {t->r->in, path},
                               .base_path = t->r->in,
                               .size = size_here,
                               .size_user = t,
                               .check = t->options};
    const EndToEnd verdict = end_to_end_compare(&o, &d, &e);
    if (verdict == END_TO_END_RESULT_FAILS)
        return *why =
                   arena_format(t->arena, "the result does not run from beginning to end: %s: %s",
                                e.place, e.reason),
               false;
    if (verdict == END_TO_END_DIFFERENT || e.kind == E_INTERRUPTED) return *t->r->error = e, false;
    if (verdict != END_TO_END_COMPARED)
        return note_replacement(t, verdict == END_TO_END_UNDECIDED, &e), true;
    if (cut) t->note = "the whole model, with the branches and loops that the data selects";
    d.output = compared_index(t, d.output);
    difference_add(&result->run, &d);
    if (d.first >= 0) result->agrees = false;
    return true;
}

/* ---- verdict */

static void keep_outputs(Trial *t) {
    Run *r = t->r;
    const double(*before)[2] = r->stats.output;
    double(*output)[2] = arena_alloc(r->arena, sizeof *output * (size_t)r->source.original.nout);
    for (int k = 0; k < r->source.original.nout; k++)
        for (int j = 0; j < 2; j++) output[k][j] = before ? before[k][j] : -1;
    for (int k = 0; k < t->both.ncompared; k++) {
        if (t->both.output[k] >= r->source.original.nout) continue;
        double *most = output[t->both.output[k]];
        most[0] = fmax(most[0], t->options.each[k].max_abs);
        most[1] = fmax(most[1], t->options.each[k].max_rel);
    }
    r->stats.output = (const double(*)[2])output;
}

static const char *compared_name(const Trial *t, const Difference *x) {
    const int output = x->output >= 0 ? t->both.output[x->output] : -1;
    return output >= 0 && output < t->r->source.original.nout
               ? model_output_name(t->r->source.model, output)
               : "a value inside";
}

/* Judges a difference by the tolerance that options give. */
static bool verdict_given(Trial *t, const Difference *x) {
    const double rtol = fmax(t->r->o->rtol, 0), atol = fmax(t->r->o->atol, 0);
    return x->max_rel <= rtol || x->max_abs <= atol ||
           error_set(t->r->error, E_CHECK, compared_name(t, x),
                     "the result differs from the original by up to %.3g, which is %.3g of the "
                     "largest element: beyond both --atol %g and --rtol %g",
                     x->max_abs, x->max_rel, atol, rtol);
}

/* Returns true if there is no difference beyond the tolerance; otherwise sets an error that names
   the first one, with `digits` significant digits, enough to tell the two values apart. */
static bool differs_at(Trial *t, const Difference *x, const char *what, int digits) {
    return x->first < 0 ||
           error_set(t->r->error, E_CHECK, compared_name(t, x),
                     "%s: element %" PRId64
                     " is %.*g, but was %.*g: the difference is %.3g, at most %.3g is allowed",
                     what, x->first, digits, x->b, digits, x->a, fabs(x->b - x->a), x->limit);
}

/* Adds the note of this set of sizes to those of the others, unless it was made already. */
static void keep_note(const Trial *t) {
    const char **note = &t->r->stats.check_note;
    if (!**note) *note = t->note;
    else if (!strstr(*note, t->note)) *note = arena_format(t->r->arena, "%s; %s", *note, t->note);
}

/* Notes that nothing was compared, and why. */
static void note_empty(Trial *t) {
    const char *sizes = run_size_set_name(t->r, t->r->size_set);
    add_note(t, arena_format(t->r->arena, "nothing was compared%s%s, because %s",
                             *sizes ? " at " : "", sizes,
                             t->both.ncompared ? "all outputs are empty"
                                               : "no output is computed by nodes that the "
                                                 "built-in runtime can run"));
}

static bool trial_verdict(Trial *t, const CheckResult *result) {
    Run *r = t->r;
    const bool zero = result->run.count > 0 && result->run.greatest == 0;
    if (!result->run.count) note_empty(t);
    keep_note(t);
    if (!result->run.count) return true;
    r->stats.check_zero = zero && (!r->stats.checked || r->stats.check_zero);
    r->stats.checked = true;
    r->stats.check_absolute = fmax(r->stats.check_absolute, result->run.max_abs);
    r->stats.check_relative = fmax(r->stats.check_relative, result->run.max_rel);
    r->stats.check_unstable |= result->run.unstable;
    keep_outputs(t);
    if (r->o->rtol >= 0 || r->o->atol >= 0) return verdict_given(t, &result->run);
    return differs_at(t, &result->run, "the result differs from the original", 9) &&
           differs_at(t, &result->oracle,
                      "the result differs from the original, both by definitions in double", 17) &&
           differs_at(t, &result->kernel,
                      "the built-in runtime differs from the definitions in double", 9);
}

static bool open_device(Trial *t) {
    if (!device_open(&t->open, t->r->escape, t->r->o->backend, t->r->o->backend_options,
                     t->r->error))
        return false;
    t->options.backend = t->open.backend;
    t->options.device = t->open.device;
    return true;
}

Trial *trial_open(Run *r, const Derivation *d) {
    Trial *t = ARENA_NEW(r->arena, Trial, 1);
    *t = (Trial){.r = r, .d = d, .w = graph_world_new(r->escape, 0), .note = ""};
    t->arena = t->w->arena;
    t->both.w = t->w, t->both.arena = t->arena;
    t->options = (CheckOptions){.samples = r->o->check,
                                .extreme = true,
                                .seed = r->seed,
                                .classes = d->classes,
                                .given = inputs_data,
                                .given_user = &r->inputs};
    if (open_original(t) && open_result(t, d)) {
        sizes_guess(t->w, t->arena, &t->both.side[0].graph, &t->sizes);
        return t;
    }
    trial_close(t);
    return NULL;
}

void trial_close(Trial *t) {
    if (!t) return;
    if (t->result_fd) cleanup_run(&t->cleanup);
    device_close(&t->open);
    model_close(t->sized.model);
    model_close(t->both.side[0].model);
    model_close(t->both.side[1].model);
    world_free(t->w);
}

bool trial_runs(Trial *t) {
    Error ignored = {0};
    return !plan_obstacle(t->w, t->arena, &t->both.side[0].graph, t->sizes, &ignored) &&
           !plan_obstacle(t->w, t->arena, &t->both.side[1].graph, t->sizes, &ignored);
}

/* Returns the data on which a side is timed: the first sample of the feed. NULL: not all of it can
   be made, so it is random. */
static const void *const *timed_inputs(Trial *t, const Side *s) {
    const Graph *g = &s->graph;
    const void **in = ARENA_NEW(t->arena, const void *, g->nin);
    for (int k = 0; k < g->nin; k++) {
        const Type *type = value_type(t->w, g->in[k]);
        int64_t dim[RANK_MAX], n;
        if (!element_readable(type->dtype) || !oracle_dims(t->w, type, t->sizes, dim, &n))
            return NULL;
        void *data = arena_alloc(t->arena, element_bytes(type->dtype, n));
        check_input(&t->options, model_input_name(s->model, k), type->dtype, k, 0, n, data);
        in[k] = data;
    }
    return in;
}

static WholeGraph timed(Trial *t, int side) {
    return (WholeGraph){t->w, t->sizes, &t->both.side[side].graph,
                        timed_inputs(t, &t->both.side[side])};
}

/* If a kernel refuses the integers drawn for the inputs, tries others. */
bool trial_time(int n, Trial *const t[], Cost *cost, double seconds[], double predicted[],
                Error *e) {
    WholeGraph *graphs = ARENA_NEW(t[0]->arena, WholeGraph, n + 1);
    Error why;
    do {
        why = (Error){0};
        graphs[0] = timed(t[0], 0);
        for (int k = 0; k < n; k++) graphs[1 + k] = timed(t[k], 1);
        if (cost_whole(cost, n + 1, graphs, seconds, predicted, &why)) return true;
    } while (cost_refused(cost) && run_other_inputs(t[0]->r, &why));
    return *e = why, false;
}

/* Returns NULL, or why the result must not replace the original although both agree on ordinary
   data: the result overflows on larger data, or hides that the original does. This shows where one
   of them is not finite, or in values computed from such a value. */
static const char *extreme_differs(Trial *t, const CheckResult *result) {
    const bool drops = (t->options.classes & CLASSES_OFF) != 0;
    const Difference *x = result->range.first >= 0 && !drops ? &result->range : &result->extreme;
    if (x->first < 0) return NULL;
    const StringList rules =
        derivation_differing(t->d, t->r->arena, t->r->source.sizes, &t->options);
    Text names = text_new(t->arena);
    for (int k = 0; k < rules.n; k++)
        text_add(&names, "%s%s",
                 k ? ", " : "; rules that differ on such data, for --disable: ", rules.v[k]);
    t->r->differing = rules;
    return arena_format(t->arena,
                        "on data from -1e4 to 1e4 element %" PRId64 " of %s is %.9g but was %.9g%s",
                        x->first, compared_name(t, x), x->b, x->a, rules.n ? names.data : "");
}

TrialResult trial_check(Trial *t) {
    CheckResult result;
    const char *why = NULL;
    if (!open_device(t)) return TRIAL_FAILED;
    if (compare_sides(t, &result, &why) && compare_files(t, &result, &why)) {
        if (!trial_verdict(t, &result)) return TRIAL_FAILED;
        why = extreme_differs(t, &result);
        if (!why) return TRIAL_AGREES;
        t->r->stats.checked = false;
    }
    if (!why) return TRIAL_FAILED;
    const char *sizes = run_size_set_name(t->r, t->r->size_set);
    t->r->stats.check_note = arena_format(
        t->r->arena, "the original is kept, because the result could not be confirmed%s%s: %s",
        *sizes ? " at " : "", sizes, why);
    return TRIAL_IMPOSSIBLE;
}
