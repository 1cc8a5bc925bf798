/* search_command.c -- search on a target that times whole models. A candidate is a set of rules:
   they are applied in library order wherever they match, without costs, and the model so made is
   written to a temporary folder. First each rule alone, all rules, and all that merge nothing; then
   hill climbing from the best: rules whose absence does not hurt leave, absent ones that help
   enter. Every batch holds the original, and a time is kept as its ratio to the original's in the
   same batch, so that a machine of changing speed does not decide. */
#include "search/cost.h"
#include "search/search_command.h"
#include "search/input_data.h"
#include "search/folder.h"
#include "search/finish.h"
#include "search/helper.h"
#include "search/target.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIE 0.97       /* a gain below 3 % is none */
#define HURTS 1.005    /* leaving a rule out costs less than this: it leaves */
#define PATIENCE 900.0 /* seconds for a batch */
enum { ROUNDS = 4, APPLICATIONS = 20000 };

typedef struct Candidate {
    bool *on; /* by rule of the library */
    int nrule, applied;
    char digest[33];
    char *path;   /* of the file; NULL: not kept */
    double ratio; /* to the original; < 0: not known, or failed */
} Candidate;

typedef struct RuleSearch {
    Run *r;
    Target *target;               /* NULL: not started */
    Cleanup cleanup;              /* its process */
    const char *command, *device; /* of the target; its name in the cost file */
    bool reads_inputs;            /* it is told files of them, in the folder */
    RunFolder *folder;
    int n, room;
    Candidate *v; /* v[0] is the original */
    bool *fires;  /* by rule */
    double base;  /* seconds of the original, as first measured */
} RuleSearch;

/* ---- candidates */

static Candidate *add(RuleSearch *s, Candidate c) {
    ARENA_GROW(s->r->arena, s->v, s->room, s->n + 1);
    s->v[s->n] = c;
    return &s->v[s->n++];
}

static int find_digest(const RuleSearch *s, const char *digest) {
    for (int k = 0; k < s->n; k++)
        if (!strcmp(s->v[k].digest, digest)) return k;
    return -1;
}

/* The rules of `on` applied to the model; *applied 0: they change nothing, or the result may not be
   used (grows too much, cannot be written). */
static bool derive(RuleSearch *s, const bool on[], Derivation *d, bool *usable) {
    Run *r = s->r;
    Error why = {0};
    *d = run_derivation(r);
    if (!derive_fixpoint(d, on, APPLICATIONS, r->error)) return false;
    *usable = d->applied && run_finish(r, d, &why);
    if (d->applied && why.kind) run_say(r, "a candidate is dropped: %s: %s", why.place, why.reason);
    return true;
}

static int count_rules(const Run *r, const bool on[]) {
    int n = 0;
    for (int k = 0; k < r->library.n; k++) n += on[k];
    return n;
}

static bool build(RuleSearch *s, Candidate *c, bool *usable, Arena *kept) {
    Run *r = s->r;
    Derivation d;
    Error why = {0};
    Pieces file;
    if (!derive(s, c->on, &d, usable)) return false;
    c->applied = d.applied;
    for (int k = 0; k < r->library.n; k++) s->fires[k] |= d.fired[k] > 0;
    if (!*usable) return true;
    ModelWrite x = {.graph = &d.graph, .map = &d.map, .tag = derivation_tag, .user = &d};
    *usable = run_pieces(r, &d, r->arena, &file, &why);
    if (!*usable) {
        run_say(r, "a candidate is dropped: %s: %s", why.place, why.reason);
        return true;
    }
    hash_pieces(&file, c->digest);
    c->path = arena_format(kept, "%s/%s.onnx", s->folder->path, c->digest);
    return access(c->path, F_OK) == 0 || model_write(r->model, &x, c->path, r->error);
}

/* Makes the candidate of a rule set and writes its file; everything made on the way is freed.
 *index: where it is, an earlier one with the same bytes, -1: not usable. */
static bool make(RuleSearch *s, const bool on[], int *index) {
    Run *r = s->r;
    Arena *kept = r->arena;
    bool *rules = arena_copy(kept, on, sizeof *on * (size_t)r->library.n), usable;
    Candidate c = {.on = rules, .nrule = count_rules(r, rules), .ratio = -1};
    *index = -1;
    if (run_cancelled(r)) return false;
    WorldMark mark = world_mark(r->w);
    r->arena = arena_new(r->escape, 0);
    bool good = build(s, &c, &usable, kept);
    arena_free(r->arena);
    r->arena = kept;
    world_reset(r->w, mark);
    r->stats.candidates++;
    if (!good || !usable) return good;
    *index = find_digest(s, c.digest);
    if (*index < 0) *index = (int)(add(s, c) - s->v);
    return true;
}

/* ---- times */

static const char *time_key(RuleSearch *s, const Candidate *c) {
    return arena_format(s->r->arena, "%s %s", s->r->digest, c->digest);
}

static bool look_up(RuleSearch *s, Candidate *c) {
    double seconds;
    if (!costdb_get(s->r->db, "target", s->device, time_key(s, c), &seconds)) return false;
    if (c == s->v) s->base = seconds;
    c->ratio = s->base > 0 ? seconds / s->base : -1;
    return c->ratio > 0;
}

static bool remember(RuleSearch *s, const Candidate *c) {
    return costdb_put(s->r->db, "target", s->device, time_key(s, c), c->ratio * s->base,
                      s->r->error);
}

/* Nothing may be timed: the model's estimate of how the costs are to each other. */
static bool estimate(RuleSearch *s, Candidate *c) {
    Derivation d;
    bool usable;
    WorldMark mark = world_mark(s->r->w);
    if (!derive(s, c->on, &d, &usable)) return false;
    double before = cost_model(s->r->w, &s->r->original, s->r->sizes, NULL),
           after = cost_model(s->r->w, &d.graph, s->r->sizes, NULL);
    world_reset(s->r->w, mark);
    c->ratio = before > 0 ? after / before : 1;
    s->r->stats.frozen_missing++;
    return true;
}

static void stop_target(void *search) {
    RuleSearch *s = search;
    target_stop(s->target);
    s->target = NULL;
}

static bool start_target(RuleSearch *s) {
    if (s->target) return true;
    s->target = target_start(s->command, s->r->error);
    if (s->target) cleanup_add(s->r->escape, &s->cleanup, stop_target, s);
    return s->target != NULL;
}

/* One that does not run on what was drawn may run on other integers, if the target reads ours. */
static bool time_batch(RuleSearch *s, int n, Timing t[]) {
    for (;;) {
        Error why = {0};
        Words again = {.arena = s->r->arena};
        if (!target_measure(s->target, n, t, PATIENCE, s->r->error)) return false;
        if (t[0].seconds > 0) return true;
        error_set(&why, E_ENVIRONMENT, "--measure-with", "the original model does not run: %s",
                  t[0].reason);
        if (!s->reads_inputs || !run_other_inputs(s->r, &why)) return *s->r->error = why, false;
        if (!words_add_inputs(&again, s->r, s->folder->path, 1)) return false;
    }
}

/* Times candidates `list` beside the original; again: also those whose time is known. */
static bool measure(RuleSearch *s, int n, const int list[], bool again) {
    Timing *t = ARENA_NEW(s->r->arena, Timing, n + 1);
    int *which = ARENA_NEW(s->r->arena, int, n + 1), m = 1;
    t[0].path = s->v[0].path;
    look_up(s, &s->v[0]);
    for (int k = 0; k < n; k++) {
        Candidate *c = &s->v[list[k]];
        bool known = list[k] == 0 || look_up(s, c) || (c->ratio >= 0 && !again);
        if (known && !(again && list[k] && !s->r->o->frozen)) continue;
        if (s->r->o->frozen) {
            if (!estimate(s, c)) return false;
            continue;
        }
        which[m] = list[k];
        t[m++].path = c->path;
    }
    if (m == 1) return true;
    run_say(s->r, "measuring %d models", m);
    if (!start_target(s) || !time_batch(s, m, t)) return false;
    if (s->base <= 0) s->base = t[0].seconds;
    s->v[0].ratio = 1;
    if (!remember(s, &s->v[0])) return false;
    for (int k = 1; k < m; k++) {
        Candidate *c = &s->v[which[k]];
        if (t[k].seconds > 0) c->ratio = t[k].seconds / t[0].seconds;
        else run_say(s->r, "a candidate failed: %s", t[k].reason);
        if (c->ratio > 0 && !remember(s, c)) return false;
    }
    return true;
}

/* ---- the climb */

/* The fastest; within a percent the one of fewer rules. */
static int best_of(const RuleSearch *s) {
    int best = 0;
    for (int k = 1; k < s->n; k++) {
        double a = s->v[k].ratio, b = s->v[best].ratio;
        if (a > 0 && (a < 0.99 * b || (a < 1.01 * b && s->v[k].nrule < s->v[best].nrule && best)))
            best = k;
    }
    return best;
}

static bool listed(int n, const int list[], int x) {
    for (int k = 0; k < n; k++)
        if (list[k] == x) return true;
    return false;
}

static bool make_and_measure(RuleSearch *s, int n, bool *const sets[], int index[]) {
    int *list = ARENA_NEW(s->r->arena, int, n), m = 0;
    for (int k = 0; k < n; k++) {
        if (!make(s, sets[k], &index[k])) return false;
        if (index[k] > 0 && !listed(m, list, index[k])) list[m++] = index[k];
    }
    return measure(s, m, list, false);
}

static bool *set_copy(RuleSearch *s, const bool on[]) {
    return arena_copy(s->r->arena, on, sizeof *on * (size_t)s->r->library.n);
}

static bool first_batch(RuleSearch *s) {
    const Library *l = &s->r->library;
    int n = 0;
    bool **sets = ARENA_NEW(s->r->arena, bool *, l->n + 2),
         *none = ARENA_NEW(s->r->arena, bool, l->n);
    bool *all = set_copy(s, none), *plain = set_copy(s, none);
    for (int k = 0; k < l->n; k++) {
        all[k] = l->rule[k].on;
        plain[k] = all[k] && l->instance[l->rule[k].first].from.nout == 1;
    }
    sets[n++] = all;
    sets[n++] = plain;
    for (int k = 0; k < l->n; k++) {
        if (!all[k]) continue;
        sets[n] = set_copy(s, none);
        sets[n++][k] = true;
    }
    return make_and_measure(s, n, sets, ARENA_NEW(s->r->arena, int, n));
}

/* Drops at once every rule whose absence does not hurt, if that holds together. */
static bool drop_idle(RuleSearch *s, int *best, int n, const int rule[], const int index[]) {
    bool *fewer = set_copy(s, s->v[*best].on);
    int dropped = 0, at;
    for (int k = 0; k < n; k++) {
        double ratio = index[k] >= 0 ? s->v[index[k]].ratio : -1;
        if (!fewer[rule[k]] || ratio < 0 || ratio > HURTS * s->v[*best].ratio) continue;
        fewer[rule[k]] = false;
        dropped++;
    }
    if (!dropped) return true;
    if (!make(s, fewer, &at)) return false;
    if (at <= 0 || at == *best || s->v[at].nrule >= s->v[*best].nrule) return true;
    if (!measure(s, 2, (int[]){at, *best}, true)) return false;
    if (s->v[at].ratio > 0 && s->v[at].ratio <= HURTS * s->v[*best].ratio) *best = at;
    return true;
}

static bool climb_once(RuleSearch *s, int *best, bool *moved) {
    const Library *l = &s->r->library;
    bool **sets = ARENA_NEW(s->r->arena, bool *, l->n);
    int *rule = ARENA_NEW(s->r->arena, int, l->n), *index = ARENA_NEW(s->r->arena, int, l->n),
        n = 0, from = *best;
    for (int k = 0; k < l->n; k++) {
        if (!s->fires[k] || !l->rule[k].on) continue;
        sets[n] = set_copy(s, s->v[*best].on);
        sets[n][k] = !sets[n][k];
        rule[n++] = k;
    }
    if (!make_and_measure(s, n, sets, index)) return false;
    for (int k = 0; k < n; k++)
        if (index[k] >= 0 && s->v[index[k]].ratio > 0 &&
            s->v[index[k]].ratio < TIE * s->v[*best].ratio)
            *best = index[k];
    if (*best == from && !drop_idle(s, best, n, rule, index)) return false;
    *moved = *best != from;
    return true;
}

static bool out_of_time(const RuleSearch *s) {
    return s->r->o->time_limit > 0 && run_seconds(s->r) > s->r->o->time_limit;
}

static bool climb(RuleSearch *s, int *best) {
    bool moved = true;
    if (!first_batch(s)) return false;
    *best = best_of(s);
    for (int round = 0; round < ROUNDS && moved && *best && !out_of_time(s); round++)
        if (!climb_once(s, best, &moved)) return false;
    return true;
}

/* "onnxruntime" is our own helper at the sizes of this run; anything else is a command. */
static bool name_target(RuleSearch *s) {
    Run *r = s->r;
    s->command = s->device = r->o->measure_with;
    const int threads = r->o->threads;
    if (strcmp(s->command, "onnxruntime")) {
        if (threads > 1) s->device = arena_format(r->arena, "%s, %d threads", s->command, threads);
        return true;
    }
    char *helper = helper_find(r->arena, "measure-onnxruntime");
    if (!helper)
        return error_set(r->error, E_ENVIRONMENT, "--measure-with",
                         "the helper measure-onnxruntime is not beside this program");
    Words w = {.arena = r->arena};
    words_add(&w, s->device);
    words_add_shapes(&w, r);
    if (threads > 1) words_add(&w, arena_format(r->arena, "--threads=%d", threads));
    s->device = arena_format(r->arena, "%s%s", words_command(&w), inputs_digest(r));
    w.v[0] = helper;
    words_add(&w, "--statistic=ratio");
    if (!words_add_inputs(&w, r, s->folder->path, 1)) return false;
    s->command = words_command(&w);
    return s->reads_inputs = true;
}

static bool start(RuleSearch *s) {
    Run *r = s->r;
    Pieces file;
    ModelWrite same = {.graph = &r->original, .map = &(ValueMap){0}};
    s->fires = ARENA_NEW(r->arena, bool, r->library.n);
    Candidate c = {.on = ARENA_NEW(r->arena, bool, r->library.n), .ratio = 1};
    if (!model_pieces(r->model, &same, r->arena, &file, r->error)) return false;
    hash_pieces(&file, c.digest);
    c.path = arena_format(r->arena, "%s/%s.onnx", s->folder->path, c.digest);
    if (!model_write(r->model, &same, c.path, r->error)) return false;
    add(s, c);
    return true;
}

static bool choose(RuleSearch *s, Derivation *d) {
    Run *r = s->r;
    int best = 0;
    if (!climb(s, &best)) return false;
    if (best && !measure(s, 1, &best, true)) return false;
    r->stats.measured_before = s->base;
    r->stats.measured_after = s->base;
    if (!best || s->v[best].ratio > TIE) return true;
    r->stats.measured_after = s->base * s->v[best].ratio;
    *d = run_derivation(r);
    return derive_fixpoint(d, s->v[best].on, APPLICATIONS, r->error);
}

bool search_command(Run *r, Derivation *d) {
    RuleSearch *s = ARENA_NEW(r->arena, RuleSearch, 1);
    s->r = r;
    s->folder = run_folder(r);
    bool good = s->folder && name_target(s) && start(s) && choose(s, d);
    if (s->target) cleanup_run(&s->cleanup);
    if (s->folder) cleanup_run(&s->folder->cleanup);
    return good;
}
