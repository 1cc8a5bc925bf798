/* optimize.c -- a run from file to file. The function optimize_run, at the end, lists the stages in
   order:

   Open what the options name (open.c). Search, in one of three ways: by the costs of the built-in
   runtime's plans (search_runtime.c), by files that a target times (search_command.c), or by
   following a proof log (derive_replay.c). Finish: compute what depends on constants alone
   (finish.c). If no rule gained but functions or Ifs were inlined, decide whether the inlined file
   gains (judge_inlining). Check what rules made before any rounding (check_rules.c), the computed
   constants (check_steps.c) and the bytes to be written (trial.c), and ask another runtime
   (second_opinion.c). Write and report (show/). */
#include "search/optimize.h"
#include "graphs/world.h"
#include "ops/base/file.h"
#include "search/check/check_steps.h"
#include "search/finish.h"
#include "search/open.h"
#include "search/input_data.h"
#include "search/option_table.h"
#include "search/check/reproduce.h"
#include "search/command/search_command.h"
#include "search/runtime/search_runtime.h"
#include "search/check/second_opinion.h"
#include "search/show/report.h"
#include "search/show/show.h"
#include "search/check/trial.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- search */

static bool follow_log(Run *r, Derivation *d) {
    char rules[33];
    if (strcmp(r->log.model, r->source.digest))
        return error_set(
            r->error, E_CHECK, r->o->replay,
            "the proof log belongs to another model%s: give the file from which it was made",
            r->sizes_fixed ? ", or other sizes were fixed in it" : "");
    if (!prooflog_rules(r->arena, &r->log, &r->library.set, rules, r->error)) return false;
    if (strcmp(rules, r->log.rules))
        return error_set(
            r->error, E_CHECK, r->o->replay,
            "the proof log was made with other rules or verdicts: optimize the original "
            "again to make a new one");
    r->growth_limit = r->log.growth;
    return derive_replay(d, &r->log, r->error);
}

static bool search(Run *r, Derivation *d) {
    if (r->o->replay) return follow_log(r, d);
    if (r->library.n == 0) return true;
    return r->o->measure_with ? search_command(r, d) : search_runtime(r, d);
}

/* Decides what is returned if no rule gained but functions or Ifs were inlined. If times are
   measured, the inlined file is returned only if it gains on a target that times files; otherwise
   the user's file is, since the built-in runtime plans the same steps for both. A replay does what
   the log says. */
static bool judge_inlining(Run *r, Derivation *d) {
    bool gains = false;
    if (r->o->replay && r->log.input_returned && !d->applied) {
        run_keep_original(r, d);
        return r->input_returned = true;
    }
    if (!r->inlined || derivation_changes(d) || r->stats.bodies_ratio > 0) return true;
    if (r->o->replay) return true;
    if (!r->o->measure_with && !run_measures(r->o)) return true;
    if (r->o->measure_with && !search_command_inlining(r, &gains)) return false;
    r->input_returned = !gains;
    return true;
}

/* ---- write */

static bool write_log(Run *r, Derivation *d) {
    if (!r->o->proof_log) return true;
    Text t = text_new(r->arena);
    ProofLog *l = &d->log;
    memcpy(l->model, r->source.digest, sizeof l->model);
    l->growth = r->growth_limit, l->seed = (int64_t)r->seed;
    l->fold_limit = r->o->fold_limit, l->allow = r->o->allow;
    l->domain = string_list(r->domain);
    if (r->sizes_fixed)
        l->dim = string_list(r->o->dim), l->input_shape = string_list(r->o->input_shape);
    l->input_returned = r->input_returned;
    if (!prooflog_rules(r->arena, l, &r->library.set, l->rules, r->error)) return false;
    prooflog_print(l, &t);
    return file_write(r->o->proof_log, t.data, t.size, r->error);
}

static bool write_file(Run *r, Model *m, ModelWrite x) {
    x.external = r->o->external, x.external_threshold = r->o->external_threshold;
    return model_write(m, &x, r->out, r->error);
}

/* Writes this file as it is, with the external data of the user's file. */
static bool write_copy(Run *r, const char *path) {
    World *w = graph_world_new(r->escape, 0);
    Model *m = model_open_with(w, path, &(OpenOptions){.base_path = r->in}, r->error);
    const bool good =
        m && write_file(r, m, (ModelWrite){.graph = model_graph(m), .map = &(ValueMap){0}});
    model_close(m);
    world_free(w);
    return good;
}

/* Writes the user's file with the sizes that options give in place of the open ones. */
static bool write_fixed(Run *r) {
    const SizeOptions given = {.shapes = string_list(r->o->input_shape),
                               .dims = string_list(r->o->dim)};
    World *w = graph_world_new(r->escape, 0);
    Model *m = model_open(w, r->in, r->error);
    Cleanup *cleanup = ARENA_NEW(r->arena, Cleanup, 1);
    Pieces file;
    int fd = -1;
    if (m && model_fix_sizes(m, size_given, &given, w->arena, &file))
        fd = file_in_memory(file.n, file.v);
    if (m && fd < 0)
        error_set(r->error, E_ENVIRONMENT, r->out, "not enough memory to hold the model");
    if (fd >= 0) file_cleanup(r->arena, cleanup, fd);
    model_close(m);
    world_free(w);
    if (fd < 0) return false;
    const bool good = write_copy(r, arena_format(r->arena, "/proc/self/fd/%d", fd));
    cleanup_run(cleanup);
    return good;
}

/* Writes the user's file, as it was before functions and Ifs were inlined. */
static bool write_input(Run *r) { return r->fixed_bytes ? write_fixed(r) : write_copy(r, r->in); }

static bool write_model(Run *r, Derivation *d, bool changed) {
    ModelWrite x = run_model_write(r, d);
    if (r->o->dry_run) return true;
    if (r->input_returned) return write_input(r);
    if (!changed) x.graph = &r->source.original, x.known_sizes = false;
    return write_file(r, r->source.model, x);
}

/* Adds to a disagreement at which of several sets of sizes it was found. */
static void name_sizes(Run *r) {
    const char *sizes = run_size_set_name(r, r->size_set);
    const size_t n = strlen(r->error->reason);
    if (*sizes && r->error->kind == E_CHECK)
        snprintf(r->error->reason + n, sizeof r->error->reason - n, "; at %s", sizes);
}

/* Compares original and result at the sizes in use: the graphs in double, then the files. */
static TrialResult check_here(Run *r, const Derivation *d) {
    Trial *t = run_check_rules(r, d) ? trial_open(r, d) : NULL;
    const TrialResult verdict = t ? trial_check(t) : TRIAL_FAILED;
    trial_close(t);
    if (verdict == TRIAL_FAILED) name_sizes(r);
    return verdict;
}

/* Compares original and result at each set of sizes; the result must be confirmed at all of them.
   Where it is not, the others are still compared, since a disagreement says more. The first set
   comes last, so that it is in use afterwards. */
static TrialResult check_sizes(Run *r, const Derivation *d) {
    TrialResult verdict = TRIAL_AGREES;
    const char *unconfirmed = "";
    const int n = run_size_set_count(r);
    for (int size_set = n - 1; size_set >= 0; size_set--) {
        if (n > 1 && !run_select_sizes(r, size_set)) return TRIAL_FAILED;
        const TrialResult here = check_here(r, d);
        if (here == TRIAL_FAILED) return TRIAL_FAILED;
        if (here == TRIAL_IMPOSSIBLE) verdict = here, unconfirmed = r->stats.check_note;
    }
    if (verdict == TRIAL_IMPOSSIBLE) {
        r->stats.checked = false;
        r->stats.check_note = unconfirmed;
    }
    return verdict;
}

/* Keeps the user's file although a result gains, for the reason that check_note says. What
   was compared is forgotten, since it was the result. */
static void keep_unconfirmed(Run *r, Derivation *d) {
    RunStats *s = &r->stats;
    run_keep_original(r, d);
    s->unconfirmed = true;
    s->output = NULL;
    s->check_absolute = s->check_relative = 0;
    s->check_unstable = s->check_zero = false;
    s->applications = s->applications_compared = s->constants = s->constants_compared = 0;
    r->input_returned = true;
    if (s->nmoved && !s->moved_note) s->moved_note = "the original is kept";
    if (s->nbody && !s->bodies_note) s->bodies_note = "the original is kept";
}

static bool check_result(Run *r, Derivation *d) {
    if (!run_writable(r, d)) {
        keep_unconfirmed(r, d);
        return true;
    }
    if (r->o->check <= 0) {
        r->stats.check_note = "not compared (--check=0)";
        return true;
    }
    TrialResult verdict = TRIAL_FAILED;
    r->stats.constants = d->nfolded;
    if (derivation_check_constants(d, r->seed, &r->stats.constants_compared, r->error))
        verdict = check_sizes(r, d);
    if (verdict == TRIAL_IMPOSSIBLE) keep_unconfirmed(r, d);
    if (verdict == TRIAL_FAILED && r->error->kind == E_CHECK && r->disagreement_beside &&
        !r->o->dry_run)
        run_reproduce(r, d);
    return verdict != TRIAL_FAILED;
}

static bool finish_result(Run *r, Derivation *d) {
    r->stats.growth = 0;
    if (!derivation_changes(d)) return true;
    return run_finish(r, d, r->error) && (!run_writable(r, d) || run_fits(r, d, r->error));
}

/* Makes stats.bytes_before, and the growth, those of the user's file, which differs from the model
   that was searched if calls or Ifs were replaced; sets stats.bytes_after, which run_fits did only
   if rules changed the model. */
static void count_bytes(Run *r, bool changed) {
    RunStats *s = &r->stats;
    struct stat file;
    const int64_t searched = s->bytes_before;
    if (!stat(r->in, &file) && S_ISREG(file.st_mode)) s->bytes_before = (int64_t)file.st_size;
    if (changed) s->growth += searched - s->bytes_before;
    else if (r->input_returned) s->bytes_after = r->fixed_bytes ? r->fixed_bytes : s->bytes_before;
    else s->bytes_after = s->bodies_bytes ? s->bodies_bytes : searched;
    if (!changed) s->growth = s->bytes_after - s->bytes_before;
}

static int64_t file_bytes(const char *path) {
    struct stat file;
    return stat(path, &file) ? 0 : (int64_t)file.st_size;
}

/* Returns the size of the file that was written, with the files of weights that it refers to. */
static int64_t written_bytes(Run *r) {
    World *w = graph_world_new(r->escape, 0);
    Error ignored = {0};
    Model *m = model_open(w, r->out, &ignored);
    const int64_t external = m ? (int64_t)model_stats(m).external : 0;
    if (m) model_close(m);
    world_free(w);
    return file_bytes(r->out) + external;
}

/* With external weights the size of the result is known only once it is written. Both sizes then
   include the files of weights. */
static void count_external(Run *r) {
    RunStats *s = &r->stats;
    if (!r->o->external || r->o->dry_run) return;
    s->bytes_before += (int64_t)model_stats(r->source.model).external;
    s->bytes_after = written_bytes(r);
    s->growth = s->bytes_after - s->bytes_before;
}

/* Adds the gain of new bodies to the measured times, since the search compared its results with the
   model that already had them. */
static void add_gain_of_bodies(Run *r) {
    RunStats *s = &r->stats;
    if (s->bodies_ratio <= 0) return;
    const double after = s->measured_before > 0 ? s->measured_after / s->measured_before : 1;
    s->measured_before = s->bodies_before;
    s->measured_after = s->bodies_before * (r->input_returned ? 1 : s->bodies_ratio * after);
}

static void describe_result(Run *r, Derivation *d, IsomerResult *out) {
    bool changed = derivation_changes(d);
    add_gain_of_bodies(r);
    Text table = text_new(r->arena), json = text_new(r->arena);
    count_external(r);
    run_operators(r, changed ? &d->graph : &r->source.original);
    run_table(r, d, changed, &table);
    run_report(r, d, changed, &json);
    out->table = run_copy_text(r->escape, &table);
    out->report = run_copy_text(r->escape, &json);
    out->changed = changed || run_changes_file(r);
}

/* Describes the result and writes all files but the model. */
static bool write_others(Run *r, Derivation *d, const Views *views, IsomerResult *out) {
    describe_result(r, d, out);
    if (!write_log(r, d) || !run_write_views(r, views, derivation_changes(d))) return false;
    return !r->o->report || file_write(r->o->report, out->report, strlen(out->report), r->error);
}

/* Adds to an error that the result is there nevertheless. */
static bool name_written(Run *r) {
    Error *e = r->error;
    const size_t n = strlen(e->reason);
    if (!r->o->dry_run)
        snprintf(e->reason + n, sizeof e->reason - n, "; %s was written before that", r->out);
    return false;
}

/* Writes the model last, so that a failure leaves the old file as it is. Only with external
   weights, whose size is not known before, the model is written first. */
static bool write_result(Run *r, Derivation *d, const Views *views, IsomerResult *out) {
    const bool changed = derivation_changes(d);
    if (!r->o->external) return write_others(r, d, views, out) && write_model(r, d, changed);
    return write_model(r, d, changed) && (write_others(r, d, views, out) || name_written(r));
}

static void warn_unknown_opset(const Run *r, IsomerResult *out) {
    if (opset_known(r->source.model)) return;
    snprintf(out->warning, sizeof out->warning,
             "%s: operator set %lld is not among %d to %d: the file is copied as it is", r->in,
             (long long)model_version(r->source.model), OPSET_OLDEST, OPSET_NEWEST);
}

/* Warns if the result is at least 5 % slower than the original on several threads; times vary more
   there than on one. */
static void warn_threads(const Run *r, char *text, size_t n) {
    const RunStats *s = &r->stats;
    if (!s->also_threads || s->also_after < 1.05 * s->also_before) return;
    run_warn(text, n,
             "%s: on %d threads the result takes %.2f times as long as the original: give "
             "--threads %d if the model will run on so many",
             r->in, s->also_threads, s->also_after / s->also_before, s->also_threads);
}

static bool show_headroom(Run *r, IsomerResult *out) {
    const char *text;
    if (!search_headroom(r, &text)) return false;
    Text t = text_new(r->arena);
    text_add(&t, "%s", text);
    run_table_guessed(&r->stats, &t);
    out->table = run_copy_text(r->escape, &t);
    return true;
}

/* Searches, finishes the result and checks it. */
static bool find_result(Run *r, Derivation *d) {
    *d = run_derivation(&r->source, &r->library, r->w, r->arena);
    if (opset_known(r->source.model) && !search(r, d)) return false;
    /* Set here, since run_keep_original makes a new derivation: with --fix-dims the file is to be
       written even if no rule is applied. */
    d->file_changed = r->sizes_fixed;
    if (!finish_result(r, d) || !judge_inlining(r, d)) return false;
    /* A file that was changed before the search is checked even if no rule was applied. */
    const bool new_file = derivation_changes(d) || run_new_source(r);
    return !new_file || check_result(r, d);
}

/* Switches off the rules that are why a result is not confirmed. Returns whether any was on. */
static bool leave_out(Run *r) {
    Text all = text_new(r->arena);
    bool any = false;
    if (r->left_out) text_add(&all, "%s", r->left_out);
    for (int k = 0; k < r->differing.n; k++) {
        const char *name = r->differing.v[k];
        LibraryRule *rule = &r->library.rule[library_find(&r->library, name)];
        if (!rule->on) continue;
        run_say(r, "rule %s is left out: it overflows or hides an overflow; searching again", name);
        text_add(&all, "%s%s", all.size ? ", " : "", name);
        rule->on = false, any = true;
    }
    if (any) r->left_out = all.data;
    return any;
}

/* Finds a result. As long as single rules are why it is not confirmed, finds another one without
   them, so that they do not cost what the others gain. */
static bool find_confirmed(Run *r, Derivation *d) {
    for (;;) {
        const RunStats stats = r->stats;
        const bool returned = r->input_returned;
        r->differing = (StringList){0};
        if (!find_result(r, d)) return false;
        if (!r->stats.unconfirmed || r->o->replay || run_signalled(r) || !leave_out(r)) return true;
        r->stats = stats;
        r->stats.before = run_seconds_whole(r) - stats.discovered.seconds;
        r->input_returned = returned;
    }
}

bool optimize_run(Run *r, IsomerResult *out) {
    if (!run_open(r)) return false;
    if (r->o->headroom) return show_headroom(r, out);
    Derivation d;
    warn_unknown_opset(r, out);
    if (!find_confirmed(r, &d) || !run_check_with(r, &d)) return false;
    if (r->stats.size_conflict)
        run_warn(out->warning, sizeof out->warning, "%s", r->stats.size_conflict);
    warn_threads(r, out->warning, sizeof out->warning);
    run_warn_inputs(r, out->warning, sizeof out->warning);
    count_bytes(r, derivation_changes(&d));
    Views views;
    return !run_cancelled(r) && run_make_views(r, &d, out, &views) &&
           write_result(r, &d, &views, out);
}

bool optimize_list_rules(Run *r, IsomerResult *out) {
    if (!optimize_options_valid(r->arena, r->o, r->error) || !run_open_library(r)) return false;
    run_list_rules(&r->library, r->arena, out);
    return true;
}
