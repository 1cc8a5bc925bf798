/* open.c -- opens what a run needs before it searches: the model (as it was read, then with
   functions inlined and bodies of control flow optimized), the rules, the cost file, the inputs. */
#include "search/open.h"
#include "graphs/fold.h"
#include "graphs/needs.h"
#include "graphs/sizes.h"
#include "graphs/world.h"
#include "ops/base/file.h"
#include "search/bodies.h"
#include "search/byte_products.h"
#include "search/discover.h"
#include "search/input_data.h"
#include "search/invariants.h"
#include "search/option_table.h"
#include "search/check/second_opinion.h"
#include "search/show/show.h"
#include "search/stop.h"
#include <stdio.h>
#include <string.h>

static bool is_a_domain(const char *domain) {
    for (int k = 0; k < op_count(); k++)
        for (const OnnxMap *e = op_at(k)->onnx; e && e->type; e++)
            if (*domain && !strcmp(e->domain, domain)) return true;
    return false;
}

/* Chooses the domains whose operators may be written: those of --domain, by default those of the
   target's own operators. */
static bool choose_domains(Run *r) {
    static const char *const onnxruntime[] = {"com.microsoft"};
    const IsomerTexts said = r->o->domain;
    const bool none = said.n && !strcmp(said.v[said.n - 1], "none");
    for (int k = 0; k < said.n; k++)
        if (strcmp(said.v[k], "none") && !is_a_domain(said.v[k]))
            return error_set(r->error, E_USAGE, "--domain", "no operator of the domain %s is known",
                             said.v[k]);
    r->domain = none ? (IsomerTexts){0} : said;
    if (!said.n && run_targets_onnxruntime(r->o)) r->domain = (IsomerTexts){1, onnxruntime};
    return true;
}

/* Returns which element types of floats other than float32 the graph's tensors have, as bits. Only
   types are considered for which ONNX has, at every operator set, what it has for float32; many
   operators got bfloat16 late. */
static unsigned floats_of(const Run *r) {
    const unsigned wanted = 1u << DT_FLOAT16 | 1u << DT_DOUBLE;
    unsigned floats = 0;
    const NodeList live = graph_live(r->w, r->arena, &r->source.original);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(r->w, live.v[k]);
        for (int port = 0; port < n.nout; port++)
            floats |= 1u << value_type(r->w, n.out + (Value)port)->dtype;
    }
    return floats & wanted;
}

bool run_open_library(Run *r) {
    unsigned allow = 0;
    if (r->o->allow && !classes_option("--allow", r->o->allow, CLASSES_OFF, &allow, r->error))
        return false;
    char *own = NULL;
    Error ignored = {0}; /* without a data folder, a user has no rules of their own */
    if (r->o->discover > 0 || !r->o->rules) own_rules_file(r, &own, &ignored);
    LibraryOptions l = {.rules = r->o->rules,
                        .target = r->o->measure_with ? r->o->measure_with : "isomer",
                        .own = own,
                        .allow = allow,
                        .floats = floats_of(r),
                        .nenable = r->o->enable.n,
                        .enable = r->o->enable.v,
                        .ndisable = r->o->disable.n,
                        .disable = r->o->disable.v};
    if (!library_open(r->w, r->arena, &l, &r->library, r->error)) return false;
    if (r->library.nstale)
        run_say(r, "rules of %s whose proofs do not hold for this version are not used: %d", own,
                r->library.nstale);
    return true;
}

/* Whether the nodes of the rule's right side can be written in the model's operator set. Nodes
   without inputs become constants. */
static bool instance_exportable(Model *m, World *w, Arena *a, const Instance *i) {
    NodeList live = graph_live(w, a, &i->to);
    const char *why;
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(w, live.v[k]);
        if (node.nin && !(node.op->flags & OP_ON_CONSTANTS) && !model_exportable(m, node.op, &why))
            return false;
    }
    return true;
}

/* Whether the graph combines updates of rows by ScatterND. */
static bool combines_rows(World *w, Arena *a, const Graph *g) {
    const NodeList live = graph_live(w, a, g);
    for (int k = 0; k < live.n; k++) {
        const Op *op = node_get(w, live.v[k]).op;
        if (op == &op_scatterndadd || op == &op_scatterndmax || op == &op_scatterndmin) return true;
    }
    return false;
}

/* Whether the rule makes a ScatterND with a reduction. ONNX Runtime 1.31.1 divides the updates
   among its threads, and these combine them with the same element at the same time, so that some
   are lost. On one thread the result is right. */
static bool races(const Run *r, const Instance *i) {
    return combines_rows(r->w, r->arena, &i->to) && !combines_rows(r->w, r->arena, &i->from);
}

/* Switches off the rules that this run cannot use. For the others, library.written prevents
   applications that make what the model cannot hold where sizes are open.

   If the target is another runtime, rules are left out whose results it may compute wrongly: those
   that turn signed bytes into unsigned ones, or the reverse, if the processor's sums of products of
   one signed and one unsigned byte saturate (a frozen run asks about the processor of the run that
   measured), and those that lose updates in ONNX Runtime, which any command may run. The built-in
   runtime does neither. Returns false with the run's error set on failure. */
static bool drop_unusable(Run *r) {
    const bool other = r->o->measure_with != NULL;
    int saturate = 0;
    if (other &&
        !stop_number(r, r->o->measure_with, "byte products", byte_products_saturate(), &saturate))
        return false;
    r->library.written = r->source.model;
    for (int k = 0; k < r->library.n; k++) {
        LibraryRule *rule = &r->library.rule[k];
        const Instance *first = rule->count ? &r->library.instance[rule->first] : NULL;
        if (!rule->on || !first) continue;
        const bool written = instance_exportable(r->source.model, r->w, r->arena, first),
                   races_there = written && other && races(r, first);
        const char *why = NULL;
        rule->saturates = written && saturate && rule->changes_bytes;
        if (!written) why = "the model's operator set has no such operator";
        else if (rule->saturates)
            why = "sums of products of its bytes may saturate on this processor";
        else if (races_there) why = "ONNX Runtime loses updates on several threads";
        rule->on = !why;
        /* The reason of the last ones concerns no model in particular. */
        if (why && (!races_there || r->o->enable.n))
            run_say(r, "rule %s is left out: %s", rule->rule->name, why);
    }
    return true;
}

static IsomerTexts texts_joined(Arena *a, IsomerTexts first, StringList more) {
    StringList all = {0, ARENA_NEW(a, const char *, first.n + more.n)};
    for (int k = 0; k < first.n; k++) all.v[all.n++] = first.v[k];
    for (int k = 0; k < more.n; k++) all.v[all.n++] = more.v[k];
    return (IsomerTexts){all.n, all.v};
}

/* Takes from the log the options that decide how it numbers values and which rules it may use, and
   refuses those of them that are given as well. Sizes that were fixed are added to those given. */
static bool take_options(Run *r) {
    static const char *const none[] = {"none"};
    IsomerOptions *o = &r->inputs.options;
    const ProofLog *l = &r->log;
    const char *given = o->allow             ? "--allow"
                        : o->domain.n        ? "--domain"
                        : o->fold_limit >= 0 ? "--fold-limit"
                                             : NULL;
    if (given)
        return error_set(r->error, E_USAGE, given,
                         "a replay takes it from the proof log: leave it out");
    o->allow = l->allow, o->fold_limit = l->fold_limit;
    o->domain = l->domain.n ? (IsomerTexts){l->domain.n, l->domain.v} : (IsomerTexts){1, none};
    o->fix_dims |= l->dim.n > 0 || l->input_shape.n > 0;
    o->dim = texts_joined(r->arena, o->dim, l->dim);
    o->input_shape = texts_joined(r->arena, o->input_shape, l->input_shape);
    return true;
}

/* Opens the log to follow, and sets the seed. A result is checked again on the data of the run that
   made it, unless --seed says otherwise. */
static bool open_log(Run *r) {
    char *text;
    size_t n;
    if (r->o->replay &&
        (!file_read(r->arena, r->o->replay, &text, &n, r->error) ||
         !prooflog_parse(r->arena, r->o->replay, text, n, &r->log, r->error) || !take_options(r)))
        return false;
    r->seed = (uint64_t)(r->o->seed >= 0 ? r->o->seed : r->log.seed);
    return true;
}

static bool open_costs(Run *r) {
    char *path = NULL;
    bool needed = r->o->measure_with || run_measures(r->o);
    if (!needed || r->o->replay) return true;
    if (!r->o->cost_db && !costdb_default_path(r->arena, &path, r->error)) return false;
    r->db = costdb_open(r->escape, r->o->cost_db ? r->o->cost_db : path, r->error);
    return r->db != NULL;
}

/* Sets the digest and the size of the original, and from these the limit on its growth. */
static bool measure_original(Run *r) {
    Pieces file;
    ModelWrite same = {.graph = &r->source.original, .map = &(ValueMap){0}};
    if (!model_pieces(r->source.model, &same, r->arena, &file, r->error)) return false;
    hash_pieces(&file, r->source.digest);
    r->stats.bytes_before = (int64_t)file.size;
    r->growth_limit =
        r->o->max_growth >= 0 ? r->o->max_growth : (1 << 20) + (int64_t)file.size / 10;
    return true;
}

static bool read_model(Run *r) {
    r->source.model = model_open_with(
        r->w, r->source.path,
        &(OpenOptions){.base_path = r->in, .ndomain = r->domain.n, .domain = r->domain.v},
        r->error);
    if (!r->source.model) return false;
    r->source.original = *model_graph(r->source.model);
    int64_t limit = r->o->fold_limit >= 0 && r->o->fold_limit < PREFOLD_BYTES ? r->o->fold_limit
                                                                              : PREFOLD_BYTES;
    return graph_fold(r->w, r->arena, &r->source.original, limit, NULL, &r->source.start,
                      &r->source.prefold, r->error);
}

/* Makes this file in memory the source, which is then to be read into a new World. */
static bool switch_to_memory(Run *r, const Pieces *file) {
    char path[64];
    int fd = file_in_memory(file->n, file->v);
    if (fd < 0)
        return error_set(r->error, E_ENVIRONMENT, r->in, "not enough memory to hold the model");
    if (r->source.memory_fd) cleanup_run(&r->source.cleanup);
    file_cleanup(r->arena, &r->source.cleanup, r->source.memory_fd = fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    r->source.path = arena_string(r->arena, path, strlen(path));
    model_close(r->source.model);
    world_free(r->w);
    r->source.model = NULL, r->w = NULL;
    r->profile = NULL; /* its nodes are those of the old file */
    r->w = graph_world_new(r->escape, 0);
    return true;
}

/* Replaces calls of functions, and Ifs whose branch is known, by the nodes in them. *changed
   receives whether there were any, so that the model has to be read again. */
static bool inline_bodies(Run *r, bool *changed) {
    Pieces file;
    *changed = (!r->o->rules || strcmp(r->o->rules, "none")) &&
               model_inline(r->source.model, &r->source.prefold, r->arena, &file);
    r->inlined |= *changed;
    return !*changed || switch_to_memory(r, &file);
}

/* For --fix-dims: writes the sizes that options give into the file. *changed receives whether the
   file left any of them open, so that the model has to be read again. */
static bool fix_sizes(Run *r, bool *changed) {
    const SizeOptions given = {.shapes = string_list(r->o->input_shape),
                               .dims = string_list(r->o->dim)};
    Pieces file;
    if (run_size_set_count(r) > 1)
        return error_set(r->error, E_USAGE, "--fix-dims",
                         "give one value for each size, not a list");
    if (!given.shapes.n && !given.dims.n)
        return error_set(r->error, E_USAGE, "--fix-dims",
                         "no size is given: name those to fix by --dim or --input-shape");
    if (!run_bind_sizes(r, 0)) return false;
    r->sizes_fixed = true;
    *changed = model_fix_sizes(r->source.model, size_given, &given, r->arena, &file);
    if (*changed) r->fixed_bytes = (int64_t)file.size;
    else run_say(r, "--fix-dims: the model leaves none of these sizes open");
    return !*changed || switch_to_memory(r, &file);
}

/* Checks that the run does not write over its inputs. Of the model's weights the user's file knows
   them all. */
static bool inputs_spared(Run *r) {
    return source_preprocessed(&r->source) ||
           optimize_files_spared(r->arena, r->in, r->out, r->o,
                                 model_external_files(r->source.model, r->arena), &r->inputs.given,
                                 r->error);
}

/* Reads the model at source.path, and reads it again after each change of the file: once its sizes
   are fixed, more Ifs can be inlined. */
static bool open_source(Run *r) {
    for (bool changed = true; changed;) {
        changed = false;
        if (!read_model(r) || !inputs_spared(r)) return false;
        if (!opset_known(r->source.model)) break;
        if (r->o->fix_dims && !r->sizes_fixed && !fix_sizes(r, &changed)) return false;
        if (!changed && !inline_bodies(r, &changed)) return false;
    }
    r->source.facts = graph_facts(r->w, r->arena, &r->source.original);
    if (!run_size_sets_valid(r) || !run_bind_sizes(r, 0)) return false;
    r->source.model_nodes = value_last(r->w);
    model_release_pages(r->source.model);
    return true;
}

/* With --save-as-external-data, which files are copied is known only when the result is. */
static bool can_copy_external(const Run *r) {
    return !r->out || r->o->dry_run || r->o->external ||
           model_can_copy_external(r->source.model, r->out, r->arena, r->error);
}

static bool open_model(Run *r) {
    r->source.path = r->in;
    if (!open_source(r)) return false;
    if (r->stats.nguessed)
        run_say(r, "sizes used where none are given: %s", run_guessed_text(&r->stats, r->arena));
    return can_copy_external(r) && measure_original(r);
}

static bool open_inputs(Run *r) {
    r->inputs.w = r->w, r->inputs.arena = r->arena, r->inputs.source = &r->source;
    return inputs_feed(&r->inputs, r->seed, r->error);
}

/* Replaces the current model by this file, unless it is empty. bytes_before and the limit on growth
   remain those of the user's file. */
static bool open_again(Run *r, const Pieces *file) {
    if (!file->n) return true;
    const int64_t bytes = r->stats.bytes_before, growth = r->growth_limit;
    r->library = (Library){0};
    if (!switch_to_memory(r, file) || !open_source(r) || !measure_original(r)) return false;
    r->stats.bodies_bytes = r->stats.bytes_before;
    r->stats.bytes_before = bytes, r->growth_limit = growth;
    return open_inputs(r) && run_open_library(r);
}

/* Moves loop-invariant nodes out of loops, then optimizes the bodies of control flow. */
static bool open_bodies(Run *r) {
    Pieces file;
    if (!opset_known(r->source.model)) return true;
    return run_move_invariants(r, &file) && open_again(r, &file) && run_optimize_bodies(r, &file) &&
           open_again(r, &file);
}

bool run_open(Run *r) {
    const bool opened = optimize_options_valid(r->arena, r->o, r->error) &&
                        optimize_options_agree(r->arena, r->in, r->out, r->o, r->error) &&
                        run_read_inputs(r) && open_log(r) && choose_domains(r) && open_model(r) &&
                        open_inputs(r) && run_can_show(r->o, r->arena, r->error) &&
                        run_can_check_with(r) && run_discover(r) && run_open_library(r) &&
                        open_costs(r) && open_bodies(r);
    return opened && drop_unusable(r);
}
