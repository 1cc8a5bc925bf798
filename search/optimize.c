/* optimize.c -- a run from file to file: open, search, finish, check, write, report. The search is
   one of three: by the costs of the built-in runtime's plans, by whole models timed on a target, or
   by following a proof log. */
#include "search/optimize.h"
#include "graphs/fold.h"
#include "graphs/needs.h"
#include "graphs/sizes.h"
#include "graphs/world.h"
#include "search/check_steps.h"
#include "search/discover.h"
#include "search/finish.h"
#include "search/input_data.h"
#include "search/option_table.h"
#include "search/reproduce.h"
#include "search/search_command.h"
#include "search/search_runtime.h"
#include "search/second_opinion.h"
#include "search/show/report.h"
#include "search/show/show.h"
#include "search/trial.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Values of at most this many bytes that depend only on constants are computed before the search,
   so that rules can see them. */
enum { PREFOLD_BYTES = 64 };

/* ---- open */

static bool is_a_domain(const char *domain) {
    for (int k = 0; k < op_count(); k++)
        for (const OnnxMap *e = op_number(k)->onnx; e && e->type; e++)
            if (*domain && !strcmp(e->domain, domain)) return true;
    return false;
}

/* What --domain says; without it, what the target has. */
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

static bool open_library(Run *r) {
    unsigned allow = 0;
    if (r->o->allow && !classes_option("--allow", r->o->allow, &allow, r->error)) return false;
    char *own = NULL;
    Error none = {0}; /* a user without a folder has no rules */
    if (r->o->discover > 0 || !r->o->rules) own_rules_file(r, &own, &none);
    LibraryOptions l = {.rules = r->o->rules,
                        .target = r->o->measure_with ? r->o->measure_with : "isomer",
                        .own = own,
                        .allow = allow,
                        .nenable = r->o->enable.n,
                        .enable = r->o->enable.v,
                        .ndisable = r->o->disable.n,
                        .disable = r->o->disable.v};
    if (!library_open(r->w, r->arena, &l, &r->library, r->error)) return false;
    if (r->library.nstale)
        run_say(r, "%d rules of %s are not used: their proofs do not hold for this version",
                r->library.nstale, own);
    return true;
}

/* Whether the nodes of the right side can be written in the model's operator set. Nodes without
   inputs become constants. */
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

/* Rules whose right side cannot be written in the model's operator set are switched off. */
static void drop_unwritable(Run *r) {
    for (int k = 0; k < r->library.n; k++) {
        LibraryRule *rule = &r->library.rule[k];
        const Instance *first = &r->library.instance[rule->first];
        if (!rule->on || !rule->count ||
            instance_exportable(r->source.model, r->w, r->arena, first))
            continue;
        rule->on = false;
        run_say(r, "rule %s is left out: the model's operator set has no such operator",
                rule->rule->name);
    }
}

/* The log to follow, and the seed: a result is checked again on the data of the run that made it,
   unless --seed says otherwise. */
static bool open_log(Run *r) {
    char *text;
    size_t n;
    if (r->o->replay && (!file_read(r->arena, r->o->replay, &text, &n, r->error) ||
                         !prooflog_parse(r->arena, r->o->replay, text, n, &r->log, r->error)))
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

/* Digest, size and allowed growth of the file. */
static bool measure_original(Run *r) {
    Pieces file;
    ModelWrite same = {.graph = &r->source.original, .map = &(ValueMap){0}};
    if (!model_pieces(r->source.model, &same, r->arena, &file, r->error)) return false;
    hash_pieces(&file, r->source.digest);
    r->stats.bytes_before = (int64_t)file.size;
    r->growth = r->o->max_growth >= 0 ? r->o->max_growth : (1 << 20) + (int64_t)file.size / 10;
    return true;
}

static bool read_model(Run *r) {
    r->source.model = model_open_values(
        r->w, r->source.path,
        &(OpenValues){.base_path = r->in, .ndomain = r->domain.n, .domain = r->domain.v}, r->error);
    if (!r->source.model) return false;
    r->source.original = *model_graph(r->source.model);
    int64_t limit = r->o->fold_limit >= 0 && r->o->fold_limit < PREFOLD_BYTES ? r->o->fold_limit
                                                                              : PREFOLD_BYTES;
    return graph_fold(r->w, r->arena, &r->source.original, limit, &r->source.start,
                      &r->source.prefold, r->error);
}

/* The file is read from memory from now on, into a new World. */
static bool read_from_memory(Run *r, const Pieces *file) {
    char path[64];
    int fd = file_in_memory(file->n, file->v);
    if (fd < 0)
        return error_set(r->error, E_ENVIRONMENT, r->in, "not enough memory to hold the model");
    if (r->source.memory) cleanup_run(&r->source.cleanup);
    file_cleanup(r->arena, &r->source.cleanup, r->source.memory = fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    r->source.path = arena_string(r->arena, path, strlen(path));
    model_close(r->source.model);
    world_free(r->w);
    r->source.model = NULL, r->w = NULL;
    r->w = graph_world_new(r->escape, 0);
    return true;
}

/* Calls of functions, and Ifs whose branch is known, are replaced by the nodes in them. */
static bool inline_bodies(Run *r, bool *again) {
    Pieces file;
    *again = (!r->o->rules || strcmp(r->o->rules, "none")) &&
             model_inline(r->source.model, &r->source.prefold, r->arena, &file);
    r->inlined |= *again;
    return !*again || read_from_memory(r, &file);
}

/* Sizes that are given get their numbers in the file. */
static bool fix_sizes(Run *r, bool *again) {
    const SizeOptions given = {run_list(r->o->input_shape), run_list(r->o->dim)};
    Pieces file;
    if (run_size_sets(r) > 1)
        return error_set(r->error, E_USAGE, "--fix-dims",
                         "give one value for each size, not a list");
    if (!given.shapes.n && !given.dims.n)
        return error_set(r->error, E_USAGE, "--fix-dims",
                         "no size is given: name those to fix by --dim or --input-shape");
    if (!run_sizes(r, 0)) return false;
    r->sizes_fixed = true;
    *again = model_fix_sizes(r->source.model, size_given, &given, r->arena, &file);
    if (!*again) run_say(r, "--fix-dims: the model leaves none of these sizes open");
    return !*again || read_from_memory(r, &file);
}

/* The versions of ONNX's operator set that are understood. Operators of older ones broadcast by
   different rules, and the meaning of later ones is not known: such a model is copied. */
enum { OPSET_OLDEST = 7, OPSET_NEWEST = 28 };
static bool known_version(const Model *m) {
    int64_t version = model_version(m);
    return !version || (version >= OPSET_OLDEST && version <= OPSET_NEWEST);
}

static bool open_model(Run *r) {
    bool again = true;
    for (r->source.path = r->in; again;) {
        if (!read_model(r)) return false;
        if (!known_version(r->source.model)) break;
        const bool fix = r->o->fix_dims && !r->sizes_fixed;
        if (fix ? !fix_sizes(r, &again) : !inline_bodies(r, &again)) return false;
        again |= fix;
    }
    r->source.facts = graph_facts(r->w, r->arena, &r->source.original);
    if (!measure_original(r) || !run_sizes(r, 0)) return false;
    r->source.model_nodes = node_count(r->w);
    model_release_pages(r->source.model);
    return true;
}

/* ---- search */

static bool follow_log(Run *r, Derivation *d) {
    char rules[33];
    if (strcmp(r->log.model, r->source.digest))
        return error_set(r->error, E_CHECK, r->o->replay, "the proof log belongs to another model");
    if (!prooflog_rules(r->arena, &r->log, &r->library.set, rules, r->error)) return false;
    if (strcmp(rules, r->log.rules))
        return error_set(r->error, E_CHECK, r->o->replay,
                         "the proof log was made with other rules or verdicts");
    r->growth = r->log.growth;
    return derive_replay(d, &r->log, r->error);
}

static bool search_rules(Run *r, Derivation *d) {
    if (r->o->replay) return follow_log(r, d);
    if (r->library.n == 0) return true;
    return r->o->measure_with ? search_command(r, d) : search_runtime(r, d);
}

/* ---- write */

static bool write_log(Run *r, Derivation *d) {
    if (!r->o->proof_log) return true;
    Text t = text_new(r->arena);
    memcpy(d->log.model, r->source.digest, sizeof d->log.model);
    d->log.growth = r->growth, d->log.seed = (int64_t)r->seed;
    if (!prooflog_rules(r->arena, &d->log, &r->library.set, d->log.rules, r->error)) return false;
    prooflog_print(&d->log, &t);
    return file_write(r->o->proof_log, t.data, t.size, r->error);
}

static bool write_model(Run *r, Derivation *d, bool changed) {
    ModelWrite x = run_file(r, d);
    if (!changed) x.graph = &r->source.original, x.known_sizes = false;
    x.external = r->o->external, x.external_threshold = r->o->external_threshold;
    return r->o->dry_run || model_write(r->source.model, &x, r->out, r->error);
}

/* A result that cannot be checked numerically is not written: the original is kept. */
static void keep_original(Run *r, Derivation *d) {
    run_keep_original(r, d);
    r->stats.growth = 0;
}

/* At each set of sizes; at the end the first is used again, unless the check failed. */
static TrialResult check_sizes(Run *r, Derivation *d) {
    TrialResult verdict = TRIAL_FAILED;
    const int n = run_size_sets(r);
    for (int set = n - 1; set >= 0; set--) {
        if (n > 1 && !run_use_sizes(r, set)) return TRIAL_FAILED;
        Trial *t = trial_open(r, d);
        verdict = t ? trial_check(t) : TRIAL_FAILED;
        trial_close(t);
        if (verdict == TRIAL_FAILED) break;
    }
    return verdict;
}

static bool check_result(Run *r, Derivation *d) {
    if (!run_writable(r, d)) {
        keep_original(r, d);
        return true;
    }
    if (r->o->check <= 0) {
        r->stats.check_note = "not compared (--check=0)";
        return true;
    }
    TrialResult verdict = TRIAL_FAILED;
    int large;
    if (derivation_check_constants(d, r->seed, &large, r->error) && run_check_rules(r, d))
        verdict = check_sizes(r, d);
    if (large)
        run_say(r,
                "computed constants of more than %d elements (%d) are checked by running the "
                "model alone",
                CHECKED_ELEMENTS, large);
    if (verdict == TRIAL_IMPOSSIBLE) keep_original(r, d);
    if (verdict == TRIAL_FAILED && r->error->kind == E_CHECK && r->out && !r->o->dry_run)
        run_reproduce(r, d);
    return verdict != TRIAL_FAILED;
}

static bool finish_result(Run *r, Derivation *d) {
    r->stats.growth = 0;
    if (!derivation_changes(d)) return true;
    return run_finish(r, d, r->error) && (!run_writable(r, d) || run_fits(r, d, r->error));
}

/* Bytes of the file that is, or would be, written; with external weights they are known only once
   it is written. */
static void measure_files(Run *r, bool changed) {
    struct stat file;
    if (!changed || r->o->dry_run) r->stats.bytes_after = r->stats.bytes_before;
    if (r->o->external && !r->o->dry_run && !stat(r->out, &file))
        r->stats.bytes_after = (int64_t)file.st_size;
}

static void describe_result(Run *r, Derivation *d, IsomerResult *out) {
    bool changed = derivation_changes(d);
    Text table = text_new(r->arena), json = text_new(r->arena);
    measure_files(r, changed);
    run_operators(r, changed ? &d->graph : &r->source.original);
    run_table(r, d, changed, &table);
    run_report(r, d, changed, &json);
    out->table = run_text(r->escape, &table);
    out->report = run_text(r->escape, &json);
    out->changed = changed;
}

/* The texts about the model are made before it is written, so that running out of memory leaves the
   old file as it is. */
static bool write_result(Run *r, Derivation *d, const Views *views, IsomerResult *out) {
    bool changed = derivation_changes(d);
    if (!r->o->external) describe_result(r, d, out);
    if (!write_model(r, d, changed)) return false;
    if (r->o->external) describe_result(r, d, out);
    if (!write_log(r, d) || !run_write_views(r, views, changed)) return false;
    return !r->o->report || file_write(r->o->report, out->report, strlen(out->report), r->error);
}

static bool warn_unknown_opset(const Run *r, IsomerResult *out) {
    if (known_version(r->source.model)) return false;
    snprintf(out->warning, sizeof out->warning,
             "%s: operator set %lld is not among %d to %d: the file is copied as it is", r->in,
             (long long)model_version(r->source.model), OPSET_OLDEST, OPSET_NEWEST);
    return true;
}

static bool open_inputs(Run *r) {
    r->inputs.w = r->w, r->inputs.arena = r->arena, r->inputs.source = &r->source;
    return inputs_feed(&r->inputs, r->seed, r->error);
}

static bool outputs_writable(const Run *r) {
    const IsomerOptions *o = r->o;
    const char *const path[] = {o->dry_run ? NULL : r->out, o->report, o->html, o->dot,
                                o->proof_log};
    for (size_t k = 0; k < sizeof path / sizeof *path; k++)
        if (path[k] && !file_writable(path[k], r->error)) return false;
    return true;
}

/* What can fail because of the options or the environment alone fails here, before the search. */
static bool open_run(Run *r) {
    return optimize_options_valid(r->arena, r->o, r->error) && run_can_discover(r) &&
           outputs_writable(r) && run_read_inputs(r) && choose_domains(r) && open_model(r) &&
           open_log(r) && open_inputs(r) && run_can_show(r->o, r->arena, r->error) &&
           run_can_check_with(r) && run_discover(r) && open_library(r) && open_costs(r);
}

static bool show_headroom(Run *r, IsomerResult *out) {
    const char *text;
    if (!search_headroom(r, &text)) return false;
    Text t = text_new(r->arena);
    text_add(&t, "%s", text);
    out->table = run_text(r->escape, &t);
    return true;
}

bool optimize_run(Run *r, IsomerResult *out) {
    if (!open_run(r)) return false;
    drop_unwritable(r);
    if (r->o->headroom) return show_headroom(r, out);
    Derivation d = run_derivation(&r->source, &r->library, r->w, r->arena);
    if (!warn_unknown_opset(r, out) && !search_rules(r, &d)) return false;
    d.simplified = r->sizes_fixed;
    if (!finish_result(r, &d)) return false;
    /* Where the file was changed before the search (r->source.memory), it is checked even if no
       rule was applied. */
    const bool new_file = derivation_changes(&d) || r->source.memory;
    if ((new_file && !check_result(r, &d)) || !run_check_with(r, &d)) return false;
    run_warn_inputs(r, out->warning, sizeof out->warning);
    Views views;
    return !run_cancelled(r) && run_make_views(r, &d, out, &views) &&
           write_result(r, &d, &views, out);
}

bool optimize_list_rules(Run *r, IsomerResult *out) {
    if (!optimize_options_valid(r->arena, r->o, r->error) || !open_library(r)) return false;
    run_list_rules(&r->library, r->arena, out);
    return true;
}
