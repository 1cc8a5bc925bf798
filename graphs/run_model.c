/* run_model.c -- the program run-model: opens an ONNX file, plans it, runs it on given or random
   inputs, prints digests of the outputs or writes them, and tells what each step costs. */
#include "graphs/plan/choose.h"
#include "graphs/plan/execute.h"
#include "graphs/plan/losses.h"
#include "graphs/plan/machine.h"
#include "graphs/feed.h"
#include "graphs/graph_text.h"
#include "graphs/npz.h"
#include "graphs/onnx/onnx.h"
#include "graphs/oracle.h"
#include "graphs/sizes.h"
#include "graphs/plan/stage.h"
#include "ops/backend/backend.h"
#include "ops/backend/view.h"
#include "ops/base/main.h"
#include "ops/core/element.h"
#include "graphs/world.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct RunOptions {
    bool version, profile, machine;
    int64_t repeat, seed, threads;
    const char *output_dir, *backend, *backend_options, *dump, *cost_db, *help;
    StringList input, shape, dim, files;
} RunOptions;

typedef struct ModelRun {
    RunOptions o;
    World *w;
    Arena *arena;
    Model *model;
    const Graph *graph;
    Sizes sizes;
    FeedOptions given;
    Feed *feed;                /* NULL: not asked for yet */
    const OpenValues *opening; /* how the model is being read */
    bool staged;               /* the graph depends on what the feed gave */
    const Backend *backend;
    Device *device;
    OpenDevice open;
    CostDb *costs;
    Chooser *chooser;
    Plan *plan;
    Runner *runner;
    const void **in;
    void **out;
    Error *error;
} ModelRun;

static const ProgramText program = {
    .name = "run-model",
    .usage = "run-model MODEL.onnx [options]",
    .summary = "Runs an ONNX model on random or given inputs and prints a digest of each output.",
    .more = "If a node cannot be run, the program names it with the reason and exits with status "
            "3.\n\nA model at given sizes, with the time and arithmetic of each step:\n  run-model "
            "model.onnx --input-shape x:1,3,224,224 --profile\nInputs from files, outputs to "
            "files:\n  run-model model.onnx --input x=image.npy --output-dir results",
};

enum { OPTIONS_MAX = 32 };
static void option_table(RunOptions *o, OptionDef table[OPTIONS_MAX]) {
    const OptionDef all[] = {
        {.name = "input",
         .kind = OPT_LIST,
         .into = &o->input,
         .value = "NAME=WHAT|FILE.npz",
         .help = feed_help},
        {.name = "input-shape",
         .kind = OPT_LIST,
         .into = &o->shape,
         .value = "NAME:1,3,..",
         .help = "Sizes of an input. Default: 1 for a first axis that the model leaves open; other "
                 "open sizes must be given."},
        {.name = "dim",
         .kind = OPT_LIST,
         .into = &o->dim,
         .value = "NAME=N",
         .help = "The value of a symbolic size that the model names."},
        {.name = "seed",
         .kind = OPT_INT,
         .into = &o->seed,
         .value = "N",
         .help = "Seed of random inputs. Default: 0."},
        {.name = "output-dir",
         .kind = OPT_TEXT,
         .into = &o->output_dir,
         .value = "DIR",
         .help = "Writes each output to DIR/NAME.npy."},
        {.name = "repeat",
         .kind = OPT_INT,
         .into = &o->repeat,
         .default_value = 1,
         .value = "N",
         .help = "Runs the model N times and prints the minimum and the median time; on a device "
                 "that records, by replay, which must give the bytes of single steps.",
         .least = 1,
         .most = 1e6},
        {.name = "profile",
         .kind = OPT_FLAG,
         .into = &o->profile,
         .help = "Prints the time, operations and bytes of each step and its percentage of the "
                 "machine's roofline; then the operators, those that lose most time first."},
        {.name = "machine",
         .kind = OPT_FLAG,
         .into = &o->machine,
         .help = "Prints the machine's peak rates: arithmetic, and the bandwidth of each level of "
                 "its memory. They are measured once and kept in the cost file. Needs no model."},
        {.name = "backend",
         .kind = OPT_TEXT,
         .into = &o->backend,
         .default_text = "cpu",
         .value = "NAME",
         .help = "The back end: cpu (the default), cuda (an NVIDIA GPU) or the path of a plug-in."},
        {.name = "threads",
         .kind = OPT_INT,
         .into = &o->threads,
         .default_value = 1,
         .value = "N",
         .help = "Runs on N threads, 1 (the default) to 64. The outputs do not depend on N.",
         .least = 1,
         .most = 64},
        {.name = "backend-options",
         .kind = OPT_TEXT,
         .into = &o->backend_options,
         .default_text = "",
         .value = "TEXT",
         .help = "Options of the back end: see ops/cpu/README.md and ops/cuda/README.md."},
        {.name = "cost-db",
         .kind = OPT_TEXT,
         .into = &o->cost_db,
         .value = "FILE",
         .help = "Runs each step by the algorithm that is fastest according to FILE, a cost file "
                 "of optimize-model; times that FILE lacks are measured and stored there. Default: "
                 "the back end's first algorithm."},
        {.name = "dump",
         .letter = 'd',
         .kind = OPT_WORD,
         .into = &o->dump,
         .value = "graph|dot|plan",
         .help = "Prints the graph (as text or for Graphviz) or its plan instead of running it."},
        OPTION_VERSION(&o->version),
        OPTION_HELP(&o->help),
        {0},
    };
    _Static_assert(sizeof all <= OPTIONS_MAX * sizeof *all,
                   "the tables of the callers are too small");
    memcpy(table, all, sizeof all);
}

/* ---- inputs */

static bool tensor_size(ModelRun *r, Value v, const char *name, int64_t dim[], int64_t *n) {
    const Type *t = value_type(r->w, v);
    if (!oracle_dims(r->w, t, r->sizes, dim, n))
        return error_set(
            r->error, E_INVALID, name,
            "its size is not known or too large; give sizes with --input-shape or --dim");
    return element_readable(t->dtype) ||
           error_set(r->error, E_INVALID, name, "elements of type %s are not supported",
                     dtype_name(t->dtype));
}

static Feed *feed_of(ModelRun *r, World *w, const Model *m, Sizes sizes) {
    const Graph *g = model_graph(m);
    FeedInput *input = ARENA_NEW(r->arena, FeedInput, g->nin);
    const Domain *domain = graph_domains(w, r->arena, g, sizes);
    int64_t dim[RANK_MAX], n;
    for (int k = 0; k < g->nin; k++) {
        const Type *t = value_type(w, g->in[k]);
        const bool known =
            oracle_dims(w, t, sizes, dim, &n) && model_input_default(m, k, t->dtype, n) != NULL;
        const char *name = arena_format(r->arena, "%s", model_input_name(m, k));
        input[k] = (FeedInput){name, t->dtype, domain[k], known, NULL};
    }
    r->feed = ARENA_NEW(r->arena, Feed, 1);
    return feed_new(&r->given, g->nin, input, (uint64_t)r->o.seed, r->feed, r->error) ? r->feed
                                                                                      : NULL;
}

/* While the model is read, the ranges that its graph allows come from a second copy, read without
   values. */
static Feed *early_feed(ModelRun *r, const OpenValues *open) {
    const OpenValues plain = {
        .size = open->size, .size_user = open->size_user, .first_is_one = open->first_is_one};
    World *w = graph_world_new(arena_escape(r->arena), 0);
    Model *m = model_open_values(w, r->o.files.v[0], &plain, r->error);
    Feed *f = m ? feed_of(r, w, m, (Sizes){0}) : NULL;
    model_close(m);
    world_free(w);
    return f;
}

static void *input_new(ModelRun *r, int k, DType t, int64_t n, const void *usual) {
    void *data = arena_alloc(r->arena, element_bytes(t, n));
    return feed_data(r->feed, k, 0, usual, n, data, r->error) ? data : NULL;
}

static bool fill_inputs(ModelRun *r) {
    r->in = ARENA_NEW(r->arena, const void *, r->graph->nin);
    for (int k = 0; k < r->graph->nin; k++) {
        const char *name = model_input_name(r->model, k);
        int64_t dim[RANK_MAX], n;
        if (!tensor_size(r, r->graph->in[k], name, dim, &n)) return false;
        const DType t = value_type(r->w, r->graph->in[k])->dtype;
        r->in[k] = input_new(r, k, t, n, model_input_default(r->model, k, t, n));
        if (!r->in[k]) return false;
    }
    return true;
}

/* What sizes depend on, while the model is read: the same numbers as later. */
static const void *stage_input(void *user, int k, const char *name, const Type *t,
                               const void *usual) {
    ModelRun *r = user;
    int64_t dim[RANK_MAX], n;
    Error before = *r->error;
    (void)name;
    r->staged = true;
    if (!r->feed) early_feed(r, r->opening);
    bool sized = r->feed && element_readable(t->dtype) && oracle_dims(r->w, t, (Sizes){0}, dim, &n);
    const void *data = sized ? input_new(r, k, t->dtype, n, usual) : NULL;
    *r->error = before;
    return data;
}

/* ---- running */

static bool report_obstacle(ModelRun *r, NodeId at) {
    const char *type = NULL, *name = at ? model_node_name(r->model, at, &type) : NULL,
               *why = at ? model_opaque_reason(r->model, at) : NULL;
    Error planned = *r->error;
    *r->error = (Error){.kind = E_NONE};
    if (!name && !type)
        return error_set(r->error, planned.kind, planned.place, "cannot be run: %s",
                         planned.reason);
    char place[150];
    snprintf(place, sizeof place, "%s (%s)", name && *name ? name : "an unnamed node",
             type ? type : node_get(r->w, at).op->name);
    return error_set(r->error, planned.kind, place, "cannot be run: %s",
                     why ? why : planned.reason);
}

static bool known_dims(ModelRun *r) {
    for (int k = 0; k < r->o.dim.n; k++) {
        const char *option = r->o.dim.v[k], *name = dim_option_name(r->arena, option, r->error);
        if (!name) return false;

        if (!model_size_name(r->model, name))
            return error_set(r->error, E_USAGE, "--dim", "%s: the model has no size with this name",
                             option);
    }
    return true;
}

/* The model is read with the sizes it will have, so that what depends on them is understood. */
static bool open_model(ModelRun *r) {
    if (!feed_options(r->arena, r->o.input, &r->given, r->error)) return false;
    r->o.shape = feed_shapes(r->arena, &r->given, r->o.shape);
    const SizeOptions given = {r->o.shape, r->o.dim};
    const OpenValues open = {.size = size_given,
                             .size_user = &given,
                             .first_is_one = true,
                             .value = stage_value,
                             .value_user = stage_new(r->w, r->backend, r->device, stage_input, r)};
    r->opening = &open;
    r->model = model_open_values(r->w, r->o.files.v[0], &open, r->error);
    r->opening = NULL;
    if (!r->model) return false;
    r->graph = model_graph(r->model);
    const char **name = ARENA_NEW(r->arena, const char *, r->graph->nin);
    for (int k = 0; k < r->graph->nin; k++) name[k] = model_input_name(r->model, k);
    return known_dims(r) &&
           sizes_bind(r->w, r->arena, r->graph, name, r->o.shape, (StringList){0, NULL}, &r->sizes,
                      NULL, r->error) &&
           (r->feed || feed_of(r, r->w, r->model, r->sizes));
}

static bool open_backend(ModelRun *r) {
    const char *options = backend_options(r->arena, r->o.threads, r->o.backend_options);
    if (!device_open(&r->open, arena_escape(r->arena), r->o.backend, options, r->error))
        return false;
    r->backend = r->open.backend;
    r->device = r->open.device;
    return true;
}

static bool choose_kernels(ModelRun *r) {
    const ChooseOptions o = {.measured = true};
    if (!r->o.cost_db) return true;
    r->costs = costdb_open(arena_escape(r->arena), r->o.cost_db, r->error);
    r->chooser =
        r->costs ? chooser_new(r->arena, r->costs, r->backend, r->device, &o, r->error) : NULL;
    if (r->chooser) choose_plan(r->chooser, r->w->scratch, r->plan);
    return r->chooser != NULL;
}

static bool make_plan(ModelRun *r) {
    r->plan = plan_build_for(&r->open, r->w, r->arena, r->graph, r->sizes, NULL, r->error);
    if (!r->plan) {
        *r->error = (Error){.kind = E_NONE};
        return report_obstacle(r, plan_obstacle(r->w, r->arena, r->graph, r->sizes, r->error));
    }
    return choose_kernels(r);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where a kernel does not take what was drawn, other integers may be what it takes. */
static bool run_once(ModelRun *r) {
    if (runner_run(r->runner, r->in, r->out, r->error)) return true;
    const Error first = *r->error;
    while (first.kind == E_ENVIRONMENT && !r->staged && feed_next(r->feed)) {
        *r->error = (Error){0};
        if (!fill_inputs(r) || !runner_run(r->runner, r->in, r->out, r->error)) continue;
        fprintf(stderr, "run-model: %s: %s; it ran with %s\n", first.place, first.reason,
                feed_print(r->arena, r->feed));
        return true;
    }
    *r->error = first;
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

/* Contents for a run whose results are not looked at: zeros, which every index may be. */
static const void **blank_inputs(ModelRun *r) {
    const void **in = ARENA_NEW(r->arena, const void *, r->graph->nin);
    for (int k = 0; k < r->graph->nin; k++) {
        const View *v = &r->plan->in[k];
        in[k] = arena_alloc(r->arena, element_bytes((DType)v->dtype, view_count(v)));
    }
    return in;
}
/* What is replayed gives the bytes of the first run, which went step by step; before the replay the
   memory holds what came of other inputs. */
static bool check_replay(ModelRun *r) {
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
                             "a replay gives other bytes than the steps one by one");
    }
    return true;
}

static bool run_all(ModelRun *r) {
    double *seconds = ARENA_NEW(r->arena, double, r->o.repeat);
    r->out = ARENA_NEW(r->arena, void *, r->graph->nout);
    for (int k = 0; k < r->graph->nout; k++) {
        int64_t dim[RANK_MAX], n;
        if (!tensor_size(r, r->graph->out[k], model_output_name(r->model, k), dim, &n))
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
        if (!check_replay(r)) return false;
    }
    if (r->o.repeat > 1)
        printf("time: least %.3f ms, median %.3f ms of %" PRId64 " runs\n", 1e3 * seconds[0],
               1e3 * seconds[r->o.repeat / 2], r->o.repeat);
    return true;
}

/* ---- results */

static void print_output(ModelRun *r, int k, const int64_t dim[], int64_t n) {
    const Type *t = value_type(r->w, r->graph->out[k]);
    char hash[33];
    double least = INFINITY, most = -INFINITY, sum = 0;
    hash_hex(r->out[k], element_bytes(t->dtype, n), hash);
    for (int64_t i = 0; i < n; i++) {
        double x = element_real(t->dtype, r->out[k], i);
        least = fmin(least, x);
        most = fmax(most, x);
        sum += x;
    }
    printf("%s: %s [", model_output_name(r->model, k), dtype_name(t->dtype));
    for (int axis = 0; axis < t->dim.n; axis++) printf(axis ? ", %" PRId64 : "%" PRId64, dim[axis]);
    printf("] %s", hash);
    if (n) printf(" min %.6g max %.6g mean %.6g", least, most, sum / (double)n);
    printf("\n");
}

static bool write_output(ModelRun *r, int k, const int64_t dim[], int64_t n) {
    const Type *t = value_type(r->w, r->graph->out[k]);
    char *name = arena_format(r->arena, "%s", model_output_name(r->model, k));
    Npy f = {.dtype = t->dtype,
             .rank = t->dim.n,
             .data = r->out[k],
             .bytes = element_bytes(t->dtype, n)};
    memcpy(f.dim, dim, sizeof f.dim);
    for (char *p = name; *p; p++)
        if (*p == '/' || *p == ':') *p = '_';
    return npy_write(r->arena, arena_format(r->arena, "%s/%s.npy", r->o.output_dir, name), &f,
                     r->error);
}

static bool show_outputs(ModelRun *r) {
    if (r->o.output_dir && !folder_make(r->o.output_dir, r->error)) return false;
    for (int k = 0; k < r->graph->nout; k++) {
        int64_t dim[RANK_MAX] = {0}, n;
        if (!tensor_size(r, r->graph->out[k], model_output_name(r->model, k), dim, &n))
            return false;
        print_output(r, k, dim, n);
        if (r->o.output_dir && !write_output(r, k, dim, n)) return false;
    }
    return true;
}

/* ---- what it costs */

/* The file named, or else the usual one; where there is none, nothing is kept. */
static bool find_machine(ModelRun *r, Machine *m) {
    char *path = NULL;
    Error none = {.kind = E_NONE};
    if (!r->costs && (r->o.cost_db || costdb_default_path(r->arena, &path, &none)))
        r->costs = costdb_open(arena_escape(r->arena), r->o.cost_db ? r->o.cost_db : path,
                               r->o.cost_db ? r->error : &none);
    return (r->costs || !r->o.cost_db) &&
           machine_find(r->backend, r->device, r->costs, m, r->error);
}

/* The least of a few rounds for every step. */
static bool profile(ModelRun *r) {
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

static bool show_machine(ModelRun *r) {
    Machine m;
    Text t = text_new(r->arena);
    if (!open_backend(r) || !find_machine(r, &m)) return false;
    machine_print(&m, &t);
    fputs(t.data, stdout);
    return true;
}

static bool dump(ModelRun *r) {
    Text t = text_new(r->arena);
    if (!strcmp(r->o.dump, "graph")) graph_print(r->w, "model", r->graph, &t);
    else if (!strcmp(r->o.dump, "dot")) graph_dot(r->w, "model", r->graph, &t);
    else if (!make_plan(r)) return false;
    else plan_print(r->w, r->plan, &t);
    fputs(t.data, stdout);
    return true;
}

static bool run_model(ModelRun *r) {
    if (r->o.machine) return show_machine(r);
    if (!open_backend(r) || !open_model(r)) return false;
    if (r->o.dump) return dump(r);
    if (!fill_inputs(r) || !make_plan(r)) return false;
    r->runner = runner_new(r->plan, r->backend, r->device, r->error);
    if (!r->runner || !run_all(r) || !show_outputs(r)) return false;
    return !r->o.profile || profile(r);
}

static bool parse_options(ModelRun *r, int argc, char *argv[]) {
    OptionDef table[OPTIONS_MAX];
    option_table(&r->o, table);
    if (!options_parse(r->arena, table, argc, argv, &r->o.files, r->error)) return false;
    if (r->o.machine && r->o.files.n)
        return error_set(r->error, E_USAGE, "--machine", "takes no model: leave out %s",
                         r->o.files.v[0]);
    return r->o.help || r->o.version || r->o.machine || r->o.files.n == 1 ||
           error_set(r->error, E_USAGE, "", "expected one model; usage: %s", program.usage);
}

/* --help and --version. */
static bool document(ModelRun *r) {
    OptionDef table[OPTIONS_MAX];
    RunOptions unused;
    Text t = text_new(r->arena);
    option_table(&unused, table);
    if (r->o.help && !options_document(&t, &program, table, r->o.help, r->error)) return false;
    if (!r->o.help) {
        options_version(&t, program.name);
        text_add(&t, "  SQLite %s\n  libzip %s\n", costdb_version(), npz_version());
        onnx_versions(&t);
        backend_version(r->o.backend, &t);
    }
    fputs(t.data, stdout);
    return true;
}

static void program_act(void *user, Arena *a, int argc, char **argv) {
    ModelRun *r = user;
    r->arena = a;
    if (!parse_options(r, argc, argv)) return;
    r->w = graph_world_new(arena_escape(a), 0);
    r->o.help || r->o.version ? document(r) : run_model(r);
}

int main(int argc, char **argv) {
    Error error = {.kind = E_NONE};
    ModelRun r = {.error = &error};
    return program_main(&program, argc, argv, program_act, &r, &error);
}
