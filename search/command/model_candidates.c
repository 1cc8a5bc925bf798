/* model_candidates.c -- makes and times candidates: files of whole models. They are timed in
   batches together with the original, and a candidate's time is kept as its ratio to the original's
   in the same batch, so that changes in the machine's speed do not matter. */
#include "search/command/model_candidates.h"
#include "ops/base/file.h"
#include "ops/base/process.h"
#include "search/command/command_limits.h"
#include "search/cost_model.h"
#include "search/finish.h"
#include "search/helper.h"
#include "search/input_data.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_TIMEOUT 900.0 /* seconds */
/* MEMORY_SHARE: the share of the free memory that a batch may take. MEMORY_OF_FILE: how many times
   its size a file takes there. A session of ONNX Runtime takes 1.05 times a file of weights, and
   the session that is being loaded takes more. */
#define MEMORY_SHARE 0.5
#define MEMORY_OF_FILE 1.5

/* ---- candidates */

static ModelCandidate *candidate_add(CommandSearch *s, ModelCandidate c) {
    ARENA_GROW(s->r->arena, s->candidate, s->candidate_room, s->ncandidate + 1);
    s->candidate[s->ncandidate] = c;
    return &s->candidate[s->ncandidate++];
}

static int find_digest(const CommandSearch *s, const char *digest) {
    for (int k = 0; k < s->ncandidate; k++)
        if (!strcmp(s->candidate[k].digest, digest)) return k;
    return -1;
}

bool candidate_apply(CommandSearch *s, const ModelCandidate *c, Arena *a, Derivation *d) {
    Run *r = s->r;
    bool *on = ARENA_NEW(a, bool, r->library.n);
    RuleScope scope = {.everywhere = c->everywhere};
    roles_mark(&r->library, c->everywhere, on);
    const int nodes = c->at ? model_stats(r->source.model).nodes : 0;
    for (int k = 0; k < nodes; k++) roles_mark(&r->library, c->at[k], on);
    if (c->at) scope = origins_scope(&s->origins, a, c->at);
    *d = run_derivation(&r->source, &r->library, r->w, a);
    const bool good =
        derive_fixpoint(d, on, &scope, places_limits(r), r->error) && !run_cancelled(r);
    places_say_limited(r, d);
    return good;
}

/* Derives a candidate and finishes it. *usable receives whether it differs from the model and could
   be finished. */
static bool derive_candidate(CommandSearch *s, const ModelCandidate *c, Arena *a, Derivation *d,
                             bool *usable) {
    Run *r = s->r;
    Error why = {0};
    if (!candidate_apply(s, c, a, d)) return false;
    *usable = d->applied && run_finish(r, d, &why);
    if (d->applied && why.kind) run_say(r, "a candidate is dropped: %s: %s", why.place, why.reason);
    return true;
}

/* Builds a candidate and writes its file. The file and what is kept of the candidate live as long
   as the run; all else is in the arena. */
static bool build_candidate(CommandSearch *s, ModelCandidate *c, Arena *a, bool *usable) {
    Run *r = s->r;
    Derivation d;
    Error why = {0};
    Pieces file;
    if (!derive_candidate(s, c, a, &d, usable)) return false;
    bool *fired = ARENA_NEW(r->arena, bool, r->library.n);
    for (int k = 0; k < r->library.n; k++) fired[k] = d.fired[k] > 0;
    c->applied = d.applied, c->fired = fired;
    if (!*usable) return true;
    const ModelWrite x = run_model_write(r, &d);
    *usable = run_pieces(r, &d, a, &file, &why);
    s->growth_share = (double)r->stats.growth / fmax((double)r->growth_limit, 1);
    if (!*usable) {
        run_say(r, "a candidate is dropped: %s: %s", why.place, why.reason);
        return true;
    }
    hash_pieces(&file, c->digest);
    c->path = arena_format(r->arena, "%s/%s.onnx", s->folder->path, c->digest);
    *usable = access(c->path, F_OK) == 0 || model_write(r->source.model, &x, c->path, &why);
    if (!*usable) run_say(r, "a candidate is dropped: %s: %s", why.place, why.reason);
    return true;
}

/* Calls build_candidate with an arena that is freed at once. */
static bool build_alone(CommandSearch *s, ModelCandidate *c, bool *usable) {
    WorldMark mark = world_mark(s->r->w);
    Arena *own = arena_new(s->r->escape, 0);
    const bool good = build_candidate(s, c, own, usable);
    arena_free(own);
    world_reset(s->r->w, mark);
    return good;
}

bool candidate_make(CommandSearch *s, ModelCandidate c, int *index) {
    Run *r = s->r;
    bool usable;
    c.ratio = -1;
    *index = -1;
    s->growth_share = 0;
    if (run_cancelled(r)) return false;
    const bool good = build_alone(s, &c, &usable);
    r->stats.candidates++;
    if (!good || !usable) return good;
    *index = find_digest(s, c.digest);
    if (*index < 0) *index = (int)(candidate_add(s, c) - s->candidate);
    return true;
}

/* Removes the files of candidates that are not rivals of the fastest one. Each file is a copy of
   the whole model, and only rivals are timed again. */
static void remove_slow(const CommandSearch *s) {
    double best = 1;
    for (int k = 1; k < s->ncandidate; k++)
        if (s->candidate[k].ratio > 0) best = fmin(best, s->candidate[k].ratio);
    for (int k = 1; k < s->ncandidate; k++) {
        const ModelCandidate *c = &s->candidate[k];
        if ((c->everywhere || c->at) && c->ratio > CANDIDATE_RIVAL * best) unlink(c->path);
    }
}

/* Writes a candidate's file again if it was removed. If that fails, the target reports the missing
   file. */
static bool restore_file(CommandSearch *s, int candidate) {
    ModelCandidate again = s->candidate[candidate];
    bool usable;
    return access(again.path, F_OK) == 0 || build_alone(s, &again, &usable);
}

/* ---- times */

/* Returns the key of a candidate's time in the cost file. A confirmed time is stored in addition to
   the first one, since --frozen needs both to make the same choices. */
static const char *time_key(CommandSearch *s, const ModelCandidate *c, bool confirmed) {
    return arena_format(s->r->arena, "%s %s%s", s->r->source.digest, c->digest,
                        confirmed ? " again" : "");
}

/* Sets the baseline to the original's time in the cost file, if it has one. */
static bool baseline_look_up(CommandSearch *s) {
    return costdb_get(s->r->db, "target", s->device, time_key(s, s->candidate, false),
                      &s->baseline);
}

static bool candidate_look_up(CommandSearch *s, ModelCandidate *c, bool confirmed) {
    double seconds;
    if (!costdb_get(s->r->db, "target", s->device, time_key(s, c, confirmed), &seconds))
        return false;
    c->ratio = s->baseline > 0 ? seconds / s->baseline : -1;
    return c->ratio > 0;
}

static bool store_time(CommandSearch *s, const ModelCandidate *c, bool confirmed) {
    return costdb_put(s->r->db, "target", s->device, time_key(s, c, confirmed),
                      c->ratio * s->baseline, s->r->error);
}

bool candidate_store_confirmed(CommandSearch *s, int candidate) {
    const ModelCandidate *c = &s->candidate[candidate];
    if (!costdb_forget(s->r->db, "target", s->device, time_key(s, c, true), s->r->error))
        return false;
    return c->ratio <= 0 || store_time(s, c, true);
}

void candidate_look_up_confirmed(CommandSearch *s, int candidate) {
    ModelCandidate *c = &s->candidate[candidate];
    if (s->baseline <= 0) baseline_look_up(s);
    if (s->baseline > 0 && !candidate_look_up(s, c, true)) c->ratio = -1;
}

/* For frozen runs, in which nothing may be timed: sets the ratio to that of the estimated costs. */
static bool estimate_ratio(CommandSearch *s, ModelCandidate *c) {
    Derivation d;
    bool usable;
    WorldMark mark = world_mark(s->r->w);
    if (!derive_candidate(s, c, s->r->arena, &d, &usable)) return false;
    double before = cost_model(s->r->w, &s->r->source.original, s->r->source.sizes, NULL),
           after = cost_model(s->r->w, &d.graph, s->r->source.sizes, NULL);
    world_reset(s->r->w, mark);
    c->ratio = before > 0 ? after / before : 1;
    s->r->stats.frozen_missing++;
    return true;
}

static void stop_process(void *process) {
    TargetProcess *p = process;
    target_stop(p->target);
    p->target = NULL;
}

/* With --keep-best, a measurement in progress is ended only by the second signal (run_ends). */
static bool start_process(CommandSearch *s, TargetProcess *p) {
    if (p->target) return true;
    const double memory = (double)process_memory_left();
    p->target =
        target_start(p->command, memory > 0 ? MEMORY_SHARE * memory : INFINITY, s->r->error);
    if (p->target) target_cancel(p->target, run_must_end, s->r);
    if (p->target) cleanup_add(s->r->escape, &p->cleanup, stop_process, p);
    return p->target != NULL;
}

/* Estimates how much memory each file takes while it is timed. Beside each file lie `external`
   bytes of weights. */
static void count_memory(int n, Timing t[], size_t external) {
    for (int k = 0; k < n; k++) {
        struct stat file;
        const double bytes = stat(t[k].path, &file) ? 0 : (double)file.st_size;
        t[k].memory = MEMORY_OF_FILE * (bytes + (double)external);
    }
}

/* Times files of whole models. If the original does not run on the integers drawn for its inputs,
   it is tried with others, provided that the target reads our data. */
static bool time_models(CommandSearch *s, TargetProcess *p, int n, Timing t[]) {
    if (!start_process(s, p)) return false;
    count_memory(n, t, model_stats(s->r->source.model).external);
    for (;;) {
        Error why = {0};
        CommandLine others = {.arena = s->r->arena};
        if (!target_measure(p->target, n, t, BATCH_TIMEOUT, s->r->error)) return false;
        if (t[0].seconds > 0) return true;
        error_set(&why, E_ENVIRONMENT, "--measure-with", "the original model does not run: %s",
                  t[0].reason);
        if (!s->reads_inputs || !run_other_inputs(s->r, &why)) return *s->r->error = why, false;
        if (!words_add_inputs(&others, &s->r->inputs, s->folder->path, 1, s->r->error))
            return false;
    }
}

bool candidates_time_part(void *search, int n, const char *const path[], double seconds[]) {
    CommandSearch *s = search;
    Timing *t = ARENA_NEW(s->r->arena, Timing, n);
    TargetProcess *p = s->part.command ? &s->part : &s->whole;
    for (int k = 0; k < n; k++) t[k].path = path[k];
    count_memory(n, t, 0);
    if (!start_process(s, p) || !target_measure(p->target, n, t, BATCH_TIMEOUT, s->r->error))
        return false;
    for (int k = 0; k < n; k++) {
        seconds[k] = t[k].seconds;
        if (t[k].seconds <= 0) run_say(s->r, "a part does not run by itself: %s", t[k].reason);
    }
    return true;
}

/* Lists in which[1..] the candidates that have to be timed now; *m is the length with which[0].
   Returns false with the run's error set on failure. */
static bool choose_unknown(CommandSearch *s, int n, const int list[], int which[], int *m) {
    for (int k = 0; k < n; k++) {
        ModelCandidate *c = &s->candidate[list[k]];
        if (candidate_look_up(s, c, false) || c->ratio >= 0) continue;
        if (!s->r->o->frozen) which[(*m)++] = list[k];
        /* If the original was timed but the candidate was not, the candidate is dropped. */
        else if (s->baseline <= 0 && !estimate_ratio(s, c)) return false;
    }
    return true;
}

bool candidates_time(CommandSearch *s, int n, const int list[]) {
    Timing *t = ARENA_NEW(s->r->arena, Timing, n + 1);
    int *which = ARENA_NEW(s->r->arena, int, n + 1), m = 1;
    baseline_look_up(s);
    if (!choose_unknown(s, n, list, which, &m)) return false;
    if (m == 1) return true;
    for (int k = 0; k < m; k++) t[k].path = s->candidate[which[k]].path;
    run_say(s->r, "measuring %d models", m);
    const double start = run_seconds(s->r);
    if (!time_models(s, &s->whole, m, t)) return false;
    s->file_seconds = (run_seconds(s->r) - start) / m;
    if (s->baseline <= 0) s->baseline = t[0].seconds;
    s->candidate[0].ratio = 1;
    if (!store_time(s, &s->candidate[0], false)) return false;
    for (int k = 1; k < m; k++) {
        ModelCandidate *c = &s->candidate[which[k]];
        if (t[k].seconds > 0) c->ratio = t[k].seconds / t[0].seconds;
        else run_say(s->r, "a candidate failed: %s", t[k].reason);
        run_say(s->r, "candidate of %d applications%s: %.4f", c->applied,
                c->everywhere ? ", wherever rules match" : "", c->ratio);
        if (c->ratio > 0 && !store_time(s, c, false)) return false;
    }
    remove_slow(s);
    return true;
}

/* Returns the path of another file with the bytes of the original; NULL: the file system has no
   links. */
static const char *control_path(CommandSearch *s) {
    const char *of = s->candidate[0].path, *name = path_name(of),
               *path = arena_format(s->r->arena, "%s/copy-%s", s->folder->path, name);
    if (!access(path, F_OK) || !link(of, path) || !symlink(name, path)) return path;
    return NULL;
}

static double ratio_of(const CommandSearch *s, const Timing *t, const Timing *original) {
    if (t->seconds > 0) return t->seconds / original->seconds;
    run_say(s->r, "a candidate failed: %s", t->reason);
    return -1;
}

bool candidates_time_anew(CommandSearch *s, int n, const int list[], double ratio[],
                          double *control) {
    Timing *t = ARENA_NEW(s->r->arena, Timing, n + 2);
    TargetProcess *p = s->confirming.command ? &s->confirming : &s->whole;
    const char *copy = control_path(s);
    t[0].path = s->candidate[0].path;
    for (int k = 0; k < n; k++) {
        if (!restore_file(s, list[k])) return false;
        t[1 + k].path = s->candidate[list[k]].path;
    }
    t[1 + n].path = copy;
    if (!time_models(s, p, n + (copy ? 2 : 1), t)) return false;
    /* All processes share one time of the original, since ratios are stored as multiples of it. */
    if (s->baseline <= 0 && !baseline_look_up(s)) {
        s->baseline = t[0].seconds;
        if (!store_time(s, s->candidate, false)) return false;
    }
    for (int k = 0; k < n; k++) ratio[k] = ratio_of(s, &t[1 + k], t);
    *control = copy ? ratio_of(s, &t[1 + n], t) : -1;
    return true;
}

bool candidate_original(CommandSearch *s) {
    Run *r = s->r;
    Pieces file;
    ModelWrite same = {.graph = &r->source.original, .map = &(ValueMap){0}};
    ModelCandidate c = {.ratio = 1};
    if (!model_pieces(r->source.model, &same, r->arena, &file, r->error)) return false;
    hash_pieces(&file, c.digest);
    c.path = arena_format(r->arena, "%s/%s.onnx", s->folder->path, c.digest);
    if (!model_write(r->source.model, &same, c.path, r->error)) return false;
    candidate_add(s, c);
    return true;
}

bool candidate_file(CommandSearch *s, const Pieces *file) {
    Run *r = s->r;
    ModelCandidate c = {.ratio = 1};
    hash_pieces(file, c.digest);
    c.path = arena_format(r->arena, "%s/%s.onnx", s->folder->path, c.digest);
    if (!file_write_pieces(c.path, file->n, file->v, r->error)) return false;
    candidate_add(s, c);
    return true;
}

bool candidate_input(CommandSearch *s) {
    ModelCandidate c = {.ratio = 1, .digest = "as it was given"};
    c.path = arena_string(s->r->arena, s->r->in, strlen(s->r->in));
    candidate_add(s, c);
    return true;
}

bool candidates_start(CommandSearch *s) {
    Timing t = {.path = s->candidate[0].path};
    if (baseline_look_up(s) || s->r->o->frozen) return true;
    if (!time_models(s, &s->whole, 1, &t)) return false;
    s->baseline = t.seconds;
    return store_time(s, &s->candidate[0], false);
}
