/* search_command.c -- search on a target that times files: where rules apply (places.h), what each
   place gains (price.h), which are rewritten together (combine.h), which of the fastest really
   is (confirm.h). */
#include "search/search_command.h"
#include "ops/base/process.h"
#include "search/combine.h"
#include "search/command_limits.h"
#include "search/command_report.h"
#include "search/confirm.h"
#include "search/cost_model.h"
#include "search/finish.h"
#include "search/helper.h"
#include "search/input_data.h"
#include "search/rank.h"
#include <math.h>
#include <string.h>

/* ---- prices */

/* What the priced places of a set promise together, in seconds. */
static double set_promise(CommandSearch *s, int set) {
    double sum = 0;
    for (int k = 0; k < s->places.n; k++)
        if (s->places.place[k].set == set && price_at(&s->prices, k) &&
            price_sure(price_at(&s->prices, k)))
            sum += price_gain(&s->prices, k);
    return sum;
}

/* Adds the set together with everything that it enables. */
static bool extend_by_all(CommandSearch *s, int set, int *at) {
    const RoleSet all = set_with_followers(&s->r->library, s->r->arena, &s->places.set[set], -1);
    return places_add(s->r, &s->origins, s->r->arena, &s->places, &all, at);
}

/* Adds the set with all that it enables, and the set with each of FOLLOWERS rules that it enables
   directly: those that could rewrite most of the arithmetic. Where all are applied, the first that
   matches may leave nothing to the others. */
static bool extend_each(CommandSearch *s, int set) {
    Run *r = s->r;
    int at, n = 0, follower[FOLLOWERS];
    double key[FOLLOWERS];
    if (!extend_by_all(s, set, &at)) return false;
    const double *flops = places_enabled(r, r->arena, &s->places.set[set]);
    if (!flops) return false;
    for (int k = 0; k < r->library.n; k++)
        if (flops[k] >= 0) n = rank_insert(n, FOLLOWERS, follower, key, k, flops[k]);
    for (int k = 0; k < n; k++) {
        const RoleSet one =
            set_with_followers(&r->library, r->arena, &s->places.set[set], follower[k]);
        if (!places_add(r, &s->origins, r->arena, &s->places, &one, &at)) return false;
    }
    return true;
}

/* The set in from..to-1 that promises most; -1: none promises anything. */
static int most_promising(CommandSearch *s, int from, int to) {
    int best = -1;
    double most = 0;
    for (int k = from; k < to; k++) {
        const double sum = set_promise(s, k);
        if (s->places.set[k].seed >= 0 && sum > most) best = k, most = sum;
    }
    return best;
}

/* What the priced parts of a set lose together, as a share of their time; negative: they gain. */
static double set_loss(const CommandSearch *s, int set) {
    double before = 0, after = 0;
    for (int k = 0; k < s->places.n; k++) {
        const PartPrice *p = price_at(&s->prices, k);
        if (s->places.place[k].set != set || !p || p->seconds[0] <= 0) continue;
        before += p->seconds[0], after += p->seconds[1];
    }
    return before > 0 ? after / before - 1 : 0;
}

/* Adds two sets: all rules except those that lose by themselves; and those that gain by
   themselves, with what they enable. */
static bool add_sets_by_gain(CommandSearch *s) {
    Run *r = s->r;
    const int nset = s->places.nset;
    uint8_t *not_losing = arena_copy(r->arena, s->places.set[0].role, (size_t)r->library.n),
            *gaining = ARENA_NEW(r->arena, uint8_t, r->library.n);
    for (int k = 0; k < nset; k++) {
        const int rule = s->places.set[k].seed;
        if (rule < 0) continue;
        const double lost = set_loss(s, k);
        if (lost > RULE_LOSES) not_losing[rule] = ROLE_NONE;
        if (lost < -RULE_LOSES) gaining[rule] = ROLE_SEED;
    }
    for (int k = 0; k < r->library.n; k++)
        if (not_losing[k] && !gaining[k]) gaining[k] = ROLE_FOLLOWER;
    for (int k = 0; k < 2; k++) {
        int at;
        const RoleSet set = {.role = k ? gaining : not_losing, .seed = -1, .whole = true};
        if (!places_add(r, &s->origins, r->arena, &s->places, &set, &at)) return false;
        if (at >= 0) s->places.set[at].whole = true;
    }
    return true;
}

/* Adds each rule with everything that it enables, until TIME_EXTENDING of the time is spent. */
static bool extend_seeds(CommandSearch *s) {
    const double until = run_seconds(s->r) + TIME_EXTENDING * s->search_until;
    int at;
    for (int k = 0, n = s->places.nset; k < n && !run_time_over(s->r, until); k++)
        if (s->places.set[k].seed >= 0 && !extend_by_all(s, k, &at)) return false;
    return true;
}

/* Whether all nodes that rules rewrite together take too little for a gain. */
static bool little_rewritable(CommandSearch *s) {
    const Profile *p = &s->profile;
    double sum = p->other;
    if (!p->known) return false;
    bool *seen = ARENA_NEW(s->r->arena, bool, p->n);
    for (int k = 0; k < s->places.n; k++)
        for (int j = 0; j < s->places.place[k].n; j++) {
            const int node = s->places.place[k].node[j];
            if (!seen[node]) sum += p->seconds[node];
            seen[node] = true;
        }
    run_say(s->r, "%.1f s: rules apply to nodes that take %.3f of %.3f ms", run_seconds(s->r),
            sum * 1e3, p->total * 1e3);
    return sum < PROMISE_HOPELESS * p->total;
}

/* Prices rules alone and with what they enable; then, a few times, the best new set with what
   it enables. */
static bool price_sets(CommandSearch *s) {
    Run *r = s->r;
    const int seeds = s->places.nset;
    const double whole = cost_model(r->w, &r->source.original, r->source.sizes, NULL);
    s->prices = (Pricing){.r = r,
                          .places = &s->places,
                          .profile = &s->profile,
                          .folder = s->folder->path,
                          .device = s->device,
                          .timer = candidates_time_part,
                          .user = s,
                          .until = run_seconds(r) + TIME_PARTS * (s->search_until - run_seconds(r)),
                          .estimate_least = GAIN_SHARE_LEAST * whole,
                          .gain_least = GAIN_SHARE_LEAST * s->profile.total,
                          .patience = fmax(TIME_PATIENCE * s->search_until,
                                           run_seconds(r) + TIME_PATIENCE / 2 * s->search_until),
                          .hopeful = PROMISE_HOPELESS * s->baseline,
                          .hopeful_later = PROMISE_HOPELESS_LATER * s->baseline};
    if (!extend_seeds(s)) return false;
    s->prices.ended = little_rewritable(s);
    if (!price_places(&s->prices)) return false;
    for (int from = 0, to = seeds, round = 0;
         from < to && round < GENERATIONS && !s->prices.ended && !run_time_over(r, s->search_until);
         from = to, to = s->places.nset, round++) {
        if (!round && !add_sets_by_gain(s)) return false;
        for (int k = from; k < to && !round; k++)
            if (s->places.set[k].seed >= 0 && !extend_each(s, k)) return false;
        const int best = round ? most_promising(s, from, to) : -1;
        if (best >= 0 && !extend_each(s, best)) return false;
        if (!price_places(&s->prices)) return false;
    }
    run_say(r, "%d places of %d sets of rules, %d of them different, %.1f s", s->places.n,
            s->places.nset, s->prices.npart, run_seconds(r));
    return true;
}

/* The commands that time files, and the target's name in the cost file. A single word NAME for
   which there is a helper measure-NAME (helper.h) is that helper at the sizes of this run; anything
   else is a command. */
static bool set_commands(CommandSearch *s) {
    Run *r = s->r;
    s->whole.command = s->device = r->o->measure_with;
    const int threads = s->threads;
    char *helper = helper_find(r->arena, arena_format(r->arena, "measure-%s", s->device));
    if (!helper && run_targets_onnxruntime(r->o))
        return error_set(r->error, E_ENVIRONMENT, "--measure-with",
                         "its helper measure-onnxruntime is not installed next to this program");
    if (!helper) {
        if (threads > 1) s->device = arena_format(r->arena, "%s, %d threads", s->device, threads);
        return true;
    }
    CommandLine w = {.arena = r->arena};
    words_add(&w, s->device);
    words_add_shapes(&w, &r->inputs);
    if (threads > 1) words_add(&w, arena_format(r->arena, "--threads=%d", threads));
    s->device =
        arena_format(r->arena, "%s%s", words_command(&w), inputs_digest(&r->inputs, r->error));
    w.v[0] = helper;
    words_add(&w, "--statistic=ratio");
    if (!words_add_inputs(&w, &r->inputs, s->folder->path, 1, r->error)) return false;
    s->whole.command =
        arena_format(r->arena, "%s --rounds=11 --few=5 --budget=4", words_command(&w));
    s->confirming.command =
        arena_format(r->arena, "%s --rounds=9 --few=9 --budget=4", words_command(&w));
    s->part.command =
        arena_format(r->arena, "%s --rounds=11 --few=3 --visit=5 --budget=0.6", words_command(&w));
    return s->reads_inputs = true;
}

static void stop_processes(CommandSearch *s) {
    TargetProcess *all[] = {&s->whole, &s->part, &s->confirming};
    for (int k = 0; k < 3; k++)
        if (all[k]->target) cleanup_run(&all[k]->cleanup);
}

/* ---- the winner */

/* Times the winner against the original at another set of sizes; the worse ratio counts. */
static bool measure_at(CommandSearch *s, ModelCandidate *best, int size_set) {
    ModelCandidate both[] = {s->v[0], *best};
    /* Not on the stack, as an Escape must find its processes to stop them. */
    CommandSearch *at = ARENA_NEW(s->r->arena, CommandSearch, 1);
    *at = (CommandSearch){.r = s->r, .threads = s->threads, .folder = s->folder, .n = 2, .v = both};
    int second = 1;
    const bool good = run_select_sizes(s->r, size_set) && set_commands(at) &&
                      confirm(at, s->confirm_until, &second);
    stop_processes(at);
    if (!good) return false;
    const char *named = run_size_set_name(s->r, size_set);
    run_say(s->r, "at %s: %.4f", named, both[1].ratio);
    if (both[1].ratio > 0 && both[1].ratio <= best->ratio) return true;
    best->ratio = both[1].ratio;
    s->baseline = at->baseline;
    s->r->stats.sizes = named;
    return true;
}

/* At all sets of sizes but the first, where it was confirmed already. */
static bool measure_other_sizes(CommandSearch *s, ModelCandidate *best) {
    const int n = run_size_set_count(s->r);
    for (int size_set = 1; size_set < n && best->ratio > 0; size_set++)
        if (!measure_at(s, best, size_set)) return false;
    return n == 1 || run_select_sizes(s->r, 0);
}

/* Whether confirming may still show a gain that counts: by the ratio, or within noise of it where
   the places promise such a gain. */
static bool may_count(const CommandSearch *s, double ratio) {
    const bool promised = s->promised >= (1 - RUN_GAIN) * s->baseline;
    return ratio <= RUN_GAIN + (promised ? CONFIRM_NOISE : 0);
}

/* Confirms the winner if it may count. If it does, it becomes the derivation. */
static bool confirm_winner(CommandSearch *s, int best, Derivation *d) {
    Run *r = s->r;
    if (run_size_set_count(r) > 1) r->stats.sizes = run_size_set_name(r, 0);
    if (best && !may_count(s, s->v[best].ratio)) best = 0;
    if (best && !confirm(s, s->confirm_until, &best)) return false;
    if (best && !measure_other_sizes(s, &s->v[best])) return false;
    r->stats.measured_before = s->baseline;
    r->stats.measured_after = s->baseline;
    r->stats.ngain = command_gains(s, s->nranked, s->ranked, &r->stats.gain);
    command_keep_reason(s);
    if (!best || s->v[best].ratio > RUN_GAIN || s->v[best].ratio < 0) return true;
    r->stats.measured_after = s->baseline * s->v[best].ratio;
    r->stats.nplace = command_gains(s, s->v[best].nplace, s->v[best].place, &r->stats.place);
    return candidate_apply(s, &s->v[best], r->arena, d);
}

/* Asks the target for its profile; stats.headroom says what that shows of the original. */
static bool read_profile(CommandSearch *s) {
    Run *r = s->r;
    if (!profile_target(r, s->v[0].path, s->folder->path, s->device, &s->profile)) return false;
    if (!s->profile.known) return true;
    Text t = text_new(r->arena);
    profile_headroom(r, &s->profile, &s->places, &t);
    r->stats.headroom = t.data;
    profile_fit(&s->profile, s->baseline);
    return true;
}

/* The whole search: places, their prices, combinations, the winner. */
static bool search_places(CommandSearch *s, Derivation *d) {
    Run *r = s->r;
    int best = 0;
    s->origins = origins_find(&r->source, r->w, r->arena);
    s->search_until = s->confirm_until = run_command_seconds(r->o);
    if (!places_find(r, &s->origins, r->arena, TIME_FINDING * s->search_until, &s->places))
        return false;
    if (!candidate_original(s) || (s->places.n && !candidates_start(s)) || !read_profile(s))
        return false;
    if (!s->places.n) return command_keep_reason(s), true;
    s->search_until -=
        fmin(CONFIRM_BATCHES * CANDIDATE_CALLS * s->baseline, TIME_CONFIRMING * s->search_until);
    return price_sets(s) && combine(s, &best) && confirm_winner(s, best, d);
}

static CommandSearch *start_search(Run *r) {
    CommandSearch *s = ARENA_NEW(r->arena, CommandSearch, 1);
    s->r = r, s->threads = r->o->threads;
    s->folder = run_folder(r->source.model, r->arena, r->error);
    return s;
}

static void end_search(CommandSearch *s) {
    stop_processes(s);
    if (s->folder) cleanup_run(&s->folder->cleanup);
}

bool search_command(Run *r, Derivation *d) {
    CommandSearch *s = start_search(r);
    const bool good = s->folder && set_commands(s) && search_places(s, d);
    end_search(s);
    return good;
}

bool search_command_compare(Run *r, const Pieces *file, double *before, double *ratio) {
    CommandSearch *s = start_search(r);
    int other = 1;
    s->search_until = s->confirm_until = run_command_seconds(r->o);
    const bool good = s->folder && set_commands(s) && candidate_original(s) &&
                      candidate_file(s, file) && confirm(s, s->confirm_until, &other) &&
                      measure_other_sizes(s, &s->v[1]);
    if (good) *before = s->baseline, *ratio = s->v[1].ratio;
    end_search(s);
    return good;
}

bool search_command_keep(Run *r, Pieces *file, const char **note) {
    RunStats *s = &r->stats;
    double before, ratio;
    if (!search_command_compare(r, file, &before, &ratio)) return false;
    if (ratio > 0 && ratio <= RUN_GAIN) {
        if (s->bodies_ratio <= 0) s->bodies_before = before, s->bodies_ratio = 1;
        s->bodies_ratio *= ratio;
        return true;
    }
    *note = arena_format(r->arena, "in the whole model, on the data of this run, %s",
                         ratio > 0
                             ? arena_format(r->arena, "the gain is %.1f %%", (1 / ratio - 1) * 100)
                             : "they fail");
    return *file = (Pieces){0}, true;
}

/* The threads of --also-threads; 0: not to be measured. With new bodies the search knows only the
   model that has them already. */
static int other_threads(const Run *r) {
    const int given = r->o->also_threads, cores = process_cores();
    const double seconds = CONFIRM_LEAST * CANDIDATE_CALLS * r->stats.measured_before;
    if (!r->o->measure_with || r->stats.bodies_ratio > 0) return 0;
    if (given >= 0) return given;
    if (r->o->threads > 1 || cores < 2 || seconds > TIME_OTHER_THREADS * run_command_seconds(r->o))
        return 0;
    return cores < BACKEND_THREADS ? cores : BACKEND_THREADS;
}

/* Times the result against the original in as few batches as confirming takes. */
static bool time_on_threads(CommandSearch *s, const Derivation *d, int *result) {
    Run *r = s->r;
    Pieces file;
    return s->folder && set_commands(s) && s->reads_inputs && candidate_original(s) &&
           run_pieces(r, d, r->arena, &file, r->error) && candidate_file(s, &file) &&
           confirm(s, 0, result);
}

bool search_command_threads(Run *r, const Derivation *d) {
    const int threads = other_threads(r);
    int result = 1;
    if (!threads || run_signalled(r)) return !run_cancelled(r);
    CommandSearch *s = start_search(r);
    s->threads = threads;
    if (time_on_threads(s, d, &result) && result && s->v[1].ratio > 0) {
        r->stats.also_threads = threads;
        r->stats.also_before = s->baseline, r->stats.also_after = s->baseline * s->v[1].ratio;
    } else if (r->error->kind && r->error->kind != E_INTERRUPTED) {
        run_say(r, "not timed on %d threads: %s", threads, r->error->reason);
        *r->error = (Error){0};
    }
    end_search(s);
    return !r->error->kind;
}

bool search_headroom(Run *r, const char **text) {
    if (!run_targets_onnxruntime(r->o))
        return error_set(r->error, E_USAGE, "--headroom",
                         "only onnxruntime says where it spends its time: give --measure-with "
                         "onnxruntime");
    CommandSearch *s = start_search(r);
    bool good = s->folder && set_commands(s);
    if (good) s->origins = origins_find(&r->source, r->w, r->arena);
    good = good && places_find(r, &s->origins, r->arena, HUGE_VAL, &s->places) &&
           candidate_original(s) && read_profile(s);
    end_search(s);
    if (good && !s->profile.known)
        return error_set(r->error, E_ENVIRONMENT, "--headroom",
                         "onnxruntime gave no profile of %s: it does not run there, or the Python "
                         "packages onnx and onnxruntime are missing",
                         r->in);
    *text = r->stats.headroom;
    return good;
}
