/* run_model.c -- is the program run-model. It opens an ONNX file, plans it, runs it on given or
   random inputs, prints digests of the outputs or writes the outputs to files, and reports what
   each step costs. */
#include "graphs/run_model.h"
#include "graphs/graph_text.h"
#include "graphs/npz.h"
#include "graphs/plan/stage.h"
#include "graphs/sizes.h"
#include "graphs/world.h"
#include "ops/base/main.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const ProgramText program = {
    .name = "run-model",
    .usage = "run-model MODEL.onnx [options]",
    .summary = "Runs an ONNX model on random or given inputs and prints a digest of each output.",
    .more = "If a node cannot be run, the program names it with the reason and exits with status "
            "3.\n\nA model at given sizes, with the time and arithmetic of each step:\n  run-model "
            "model.onnx --input-shape x:1,3,224,224 --profile\nInputs from files, outputs to "
            "files:\n  run-model model.onnx --input x=image.npy --output-dir results",
};

static const OptionDef option_table[] = {
    {.name = "input",
     .kind = OPT_LIST,
     .at = offsetof(RunOptions, input),
     .value = "NAME=WHAT|FILE.npz",
     .help = feed_help},
    {.name = "input-shape",
     .kind = OPT_LIST,
     .at = offsetof(RunOptions, shape),
     .value = "NAME:1,3,..",
     .help = "Sizes of an input. Default: 1 for a first axis that the model leaves open; other "
             "open sizes must be given. NAME: may be left out if there is one input. May be "
             "repeated."},
    {.name = "dim",
     .kind = OPT_LIST,
     .at = offsetof(RunOptions, dim),
     .value = "NAME=N",
     .help = "The value of a size that the model names. May be repeated."},
    {.name = "seed",
     .kind = OPT_INT,
     .at = offsetof(RunOptions, seed),
     .value = "N",
     .help = "Seed of random inputs. Default: 0."},
    {.name = "output-dir",
     .kind = OPT_TEXT,
     .at = offsetof(RunOptions, output_dir),
     .value = "DIR",
     .help = "Writes each output to DIR/NAME.npy."},
    {.name = "repeat",
     .kind = OPT_INT,
     .at = offsetof(RunOptions, repeat),
     .default_value = 1,
     .value = "N",
     .help = "Runs the model N times and prints the minimum and the median time. If the "
             "device can record a run, the later runs are recorded ones, whose results must be the "
             "same bytes.",
     .least = 1,
     .most = 1e6},
    {.name = "profile",
     .kind = OPT_FLAG,
     .at = offsetof(RunOptions, profile),
     .help = "Prints the time, operations and bytes of each step and its percentage of the "
             "machine's roofline; then the operators, those that lose most time first."},
    {.name = "machine",
     .kind = OPT_FLAG,
     .at = offsetof(RunOptions, machine),
     .help = "Prints the machine's peak rates: arithmetic, and the bandwidth of each level of "
             "its memory. They are measured once and kept in the cost file. Needs no model."},
    {.name = "backend",
     .kind = OPT_TEXT,
     .at = offsetof(RunOptions, backend),
     .default_text = "cpu",
     .value = "NAME",
     .help = "The back end: cpu (the default), cuda (an NVIDIA GPU) or the path of a plug-in."},
    {.name = "threads",
     .kind = OPT_INT,
     .at = offsetof(RunOptions, threads),
     .default_value = 1,
     .value = "N",
     .help = "Runs on N threads, 1 (the default) to 64. The outputs do not depend on N.",
     .least = 1,
     .most = BACKEND_THREADS},
    {.name = "backend-options",
     .kind = OPT_TEXT,
     .at = offsetof(RunOptions, backend_options),
     .default_text = "",
     .value = "TEXT",
     .help = "Options of the back end, with commas between them; cuda: tf32 or fp16 (else "
             "float32 is exact), device=N, lib=DIR. All: ops/cpu/README.md, "
             "ops/cuda/README.md."},
    {.name = "cost-db",
     .kind = OPT_TEXT,
     .at = offsetof(RunOptions, cost_db),
     .value = "FILE",
     .help = "Runs each step by the algorithm that is fastest according to FILE, a cost file "
             "of optimize-model; times that FILE lacks are measured and stored there. Default: "
             "the back end's first algorithm."},
    {.name = "dump",
     .letter = 'd',
     .kind = OPT_WORD,
     .at = offsetof(RunOptions, dump),
     .value = "graph|dot|plan",
     .help = "Prints the graph (as text or for Graphviz) or its plan instead of running it."},
    OPTION_VERSION(offsetof(RunOptions, version)),
    OPTION_HELP(offsetof(RunOptions, help)),
    {0},
};

/* ---- opening */

static bool report_obstacle(ModelRun *r, NodeId at) {
    const char *type = NULL, *name = at ? model_node_name(r->model, at, &type) : NULL,
               *why = at ? model_import_reason(r->model, at) : NULL;
    Error planned = *r->error;
    *r->error = (Error){.kind = E_NONE};
    const char *value = at ? model_value_name(r->model, at) : NULL;
    if (!name && !type && value && why)
        return error_set(r->error, planned.kind, value, "cannot be run: %s", why);
    if (!name && !type)
        return error_set(r->error, planned.kind, planned.place, "cannot be run: %s",
                         planned.reason);
    const Node n = node_get(r->w, at);
    for (int port = 0; port < n.nout && !(name && *name); port++)
        name = model_value_name(r->model, n.out + (Value)port);
    char place[150];
    snprintf(place, sizeof place, "%s (%s)", name && *name ? name : "an unnamed node",
             type ? type : n.op->name);
    return error_set(r->error, planned.kind, place, "cannot be run: %s",
                     why ? why : planned.reason);
}

static bool known_dims(ModelRun *r) {
    for (int k = 0; k < r->o.dim.n; k++) {
        const char *option = r->o.dim.v[k], *name = dim_option_name(r->arena, option, r->error);
        if (!name) return false;
        if (!model_size_name(r->model, name))
            return size_unknown(option, model_size_names(r->model, r->arena), r->error);
    }
    return true;
}

/* The sizes that options give. The error is set if two of them contradict each other. */
typedef struct GivenSizes {
    SizeOptions all;
    Error *error;
} GivenSizes;

static void compare_size(const GivenSizes *g, const char *option, SizeOptions one,
                         const char *input, int axis, const char *param) {
    const int64_t size = size_given(&g->all, input, axis, param),
                  other = size_given(&one, input, axis, param);
    if (other < 0 || other == size || g->error->kind) return;
    error_set(g->error, E_USAGE, option,
              "%s: axis %d of %s would have to be both %" PRId64 " and %" PRId64,
              one.dims.n ? one.dims.v[0] : one.shapes.v[0], axis, input, other, size);
}

/* Implements InputSize, like size_given. */
static int64_t size_agreed(const void *user, const char *input, int axis, const char *param) {
    const GivenSizes *g = user;
    const StringList *dims = &g->all.dims, *shapes = &g->all.shapes;
    for (int k = 0; k < dims->n; k++)
        compare_size(g, "--dim", (SizeOptions){.dims = {1, &dims->v[k]}}, input, axis, param);
    for (int k = 0; k < shapes->n; k++)
        compare_size(g, k < g->all.nfile ? "--input" : "--input-shape",
                     (SizeOptions){.shapes = {1, &shapes->v[k]}}, input, axis, param);
    return size_given(&g->all, input, axis, param);
}

/* Reads the model with the sizes that it will have, so that what depends on them is understood. */
bool run_open(ModelRun *r) {
    if (!feed_options(r->arena, r->o.input, &r->given, r->error)) return false;
    r->given.seed = (uint64_t)r->o.seed;
    const int nshape = r->o.shape.n;
    r->o.shape = feed_shapes(r->arena, &r->given, r->o.shape);
    Error unequal = {0};
    const GivenSizes given = {
        {.shapes = r->o.shape, .dims = r->o.dim, .nfile = r->o.shape.n - nshape}, &unequal};
    if (!size_options_valid(r->arena, &given.all, r->error)) return false;
    r->stage = stage_new(r->w, r->backend, r->device, run_stage_input, r);
    for (int k = 0; k < r->nfound; k++) stage_keep(r->stage, r->found[k].value, r->found[k].bytes);
    const OpenOptions open = {.size = size_agreed,
                              .size_user = &given,
                              .first_is_one = true,
                              .value = stage_value,
                              .value_user = r->stage};
    r->opening = &open;
    r->model = model_open_with(r->w, r->o.files.v[0], &open, r->error);
    r->opening = NULL;
    if (unequal.kind) return *r->error = unequal, false;
    if (!r->model) return false;
    r->graph = model_graph(r->model);
    const char **name = ARENA_NEW(r->arena, const char *, r->graph->nin);
    for (int k = 0; k < r->graph->nin; k++) name[k] = model_input_name(r->model, k);
    return known_dims(r) && feed_fits(&r->given, r->w, r->graph, name, r->error) &&
           sizes_bind(r->w, r->arena, r->graph, name,
                      &(SizeOptions){.shapes = r->o.shape, .nfile = given.all.nfile}, &r->sizes,
                      r->error) &&
           run_feed(r);
}

static bool open_backend(ModelRun *r) {
    const char *options = backend_options(r->arena, r->o.threads, r->o.backend_options);
    if (!backend_threads_agree(r->o.threads, r->o.backend_options, r->error)) return false;
    if (!device_open(&r->open, arena_escape(r->arena), r->o.backend, options, r->error))
        return false;
    r->backend = r->open.backend;
    r->device = r->open.device;
    return true;
}

static bool choose_kernels(ModelRun *r) {
    const ChooseOptions o = {.measured = true};
    if (!r->o.cost_db) return true;
    if (!r->costs) r->costs = costdb_open(arena_escape(r->arena), r->o.cost_db, r->error);
    if (r->costs && !r->chooser)
        r->chooser = chooser_new(r->arena, r->costs, r->backend, r->device, &o, r->error);
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

static bool dump(ModelRun *r) {
    Text t = text_new(r->arena);
    if (!strcmp(r->o.dump, "graph")) graph_print(r->w, "model", r->graph, &t);
    else if (!strcmp(r->o.dump, "dot")) graph_dot(r->w, "model", r->graph, &t);
    else if (!make_plan(r)) return false;
    else plan_print(r->w, r->plan, &t);
    fputs(t.data, stdout);
    return true;
}

static void give_pages(const void *model) { model_release_pages(model); }

static bool make_runner(ModelRun *r) {
    const Relief relief = {give_pages, r->model};
    runner_free(r->runner);
    r->runner = NULL;
    if (!run_fill_inputs(r) || !make_plan(r)) return false;
    r->runner = runner_new_relieved(r->plan, r->backend, r->device, &relief, r->error);
    return r->runner != NULL;
}
/* Makes runners until the sizes that depend on data no longer change. If such sizes depend on each
   other, each round settles at least one more of them. */
static bool settle(ModelRun *r) {
    enum { ROUNDS = 8 };
    bool changed = true;
    for (int k = 0; k < ROUNDS && changed; k++)
        if (!make_runner(r) || !run_recount(r, &changed)) return false;
    return !changed || make_runner(r);
}

static bool run_model(ModelRun *r) {
    if (!open_backend(r)) return false;
    if (r->o.machine) return run_machine(r);
    if (!run_open(r)) return false;
    if (r->o.dump) return dump(r);
    if (!run_outputs_apart(r) || !settle(r) || !run_repeat(r) || !run_outputs(r)) return false;
    return !r->o.profile || run_profile(r);
}

static bool parse_options(ModelRun *r, int argc, char *argv[]) {
    if (!options_parse(r->arena, option_table, &r->o, argc, argv, &r->o.files, r->error))
        return false;
    if (r->o.machine && r->o.files.n)
        return error_set(r->error, E_USAGE, "--machine", "takes no model: leave out %s",
                         r->o.files.v[0]);
    return r->o.help || r->o.version || r->o.machine || r->o.files.n == 1 ||
           error_set(r->error, E_USAGE, "", "expected one model; usage: %s", program.usage);
}

/* Prints the text of --help or --version. */
static bool print_document(ModelRun *r) {
    Text t = text_new(r->arena);
    if (r->o.help && !options_document(&t, &program, option_table, r->o.help, r->error))
        return false;
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
    r->o.help || r->o.version ? print_document(r) : run_model(r);
}

int main(int argc, char **argv) {
    Error error = {.kind = E_NONE};
    ModelRun r = {.error = &error};
    return program_main(&program, argc, argv, program_act, &r, &error);
}
