/* search_command.c -- the search with a measuring command, in four stages: find where rules apply
   (places.h), what each place gains (price.h), which places are rewritten together (combine.h), and
   which of the fastest candidates really is the fastest (confirm.h). */
#include "search/command/search_command.h"
#include "search/command/combine.h"
#include "search/command/command_limits.h"
#include "search/command/command_report.h"
#include "search/command/command_target.h"
#include "search/command/confirm.h"
#include "search/cost_model.h"
#include "search/finish.h"
#include "search/input_data.h"
#include "search/command/other_sizes.h"
#include "search/command/other_threads.h"
#include "search/rank.h"
#include <math.h>
#include <string.h>

/* ---- prices */

/* Returns the seconds that the priced places of a set promise together. */
static double set_promise(CommandSearch *s, int set) {
    double sum = 0;
    for (int k = 0; k < s->places.n; k++)
        if (s->places.place[k].set == set && price_at(&s->prices, k) &&
            price_sure(price_at(&s->prices, k)))
            sum += price_gain(&s->prices, k);
    return sum;
}

/* Adds the set extended by everything that it enables. */
static bool extend_by_all(CommandSearch *s, int set, int *at) {
    const RoleSet all = set_with_followers(&s->r->library, s->r->arena, &s->places.set[set], -1);
    return places_add(s->r, &s->origins, s->r->arena, &s->places, &all, at);
}

/* Adds the set extended by all rules that it enables, and the set extended by each of FOLLOWERS of
   these rules alone: those that could rewrite most of the arithmetic. Where all are applied, the
   first one that matches may leave nothing to the others. */
static bool extend_each(CommandSearch *s, int set) {
    Run *r = s->r;
    int at, n = 0, follower[FOLLOWERS];
    double key[FOLLOWERS];
    if (!extend_by_all(s, set, &at)) return false;
    const double *flops = places_enabled(r, r->arena, &s->places, &s->places.set[set]);
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

/* Returns the set in from..to-1 that promises most; -1: none promises anything. */
static int most_promising(CommandSearch *s, int from, int to) {
    int best = -1;
    double most = 0;
    for (int k = from; k < to; k++) {
        const double sum = set_promise(s, k);
        if (s->places.set[k].seed >= 0 && sum > most) best = k, most = sum;
    }
    return best;
}

/* Returns what the priced parts of a set lose together, as a share of their time; negative: they
   gain. */
static double set_loss(const CommandSearch *s, int set) {
    double before = 0, after = 0;
    for (int k = 0; k < s->places.n; k++) {
        const PartPrice *p = price_at(&s->prices, k);
        if (s->places.place[k].set != set || !p || p->seconds[0] <= 0) continue;
        before += p->seconds[0], after += p->seconds[1];
    }
    return before > 0 ? after / before - 1 : 0;
}

/* Adds two sets: all rules except those that lose by themselves; and those that gain by themselves,
   with the rules that they enable. */
static bool add_sets_by_gain(CommandSearch *s) {
    Run *r = s->r;
    const int nset = s->places.nset;
    uint8_t *not_losing = arena_copy(r->arena, s->places.all, (size_t)r->library.n),
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

/* Adds each rule extended by everything that it enables, until TIME_EXTENDING of the time is
   spent. */
static bool extend_seeds(CommandSearch *s) {
    Stop stop = stop_open(s->r, s->device, "sets extended",
                          run_seconds(s->r) + TIME_EXTENDING * s->search_until);
    int at;
    for (int k = 0, n = s->places.nset; k < n && !stop_here(&stop, k); k++)
        if (s->places.set[k].seed >= 0 && !extend_by_all(s, k, &at)) return false;
    return stop_keep(&stop);
}

/* Whether all nodes that rules rewrite take too little time together for a gain. */
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

static Pricing pricing_new(CommandSearch *s) {
    Run *r = s->r;
    const double now = run_seconds(r), left = s->search_until - now,
                 whole = cost_model(r->w, &r->source.original, r->source.sizes, NULL);
    const double patience =
        fmax(TIME_PATIENCE * s->search_until, now + TIME_PATIENCE / 2 * s->search_until);
    return (Pricing){.r = r,
                     .places = &s->places,
                     .profile = &s->profile,
                     .folder = s->folder->path,
                     .device = s->device,
                     .timer = candidates_time_part,
                     .whole = combine_time_promised,
                     .user = s,
                     .parts_end = stop_open(r, s->device, "parts", now + TIME_PARTS * left),
                     .whole_stop = stop_open(r, s->device, "whole asked", patience),
                     .giving_up = stop_open(r, s->device, "gave up", patience),
                     .estimate_least = GAIN_SHARE_LEAST * whole,
                     .gain_least = GAIN_SHARE_LEAST * s->profile.total,
                     .promise_least = PROMISE_HOPELESS * s->baseline,
                     .promise_least_later = PROMISE_HOPELESS_LATER * s->baseline};
}

/* Prices the sets of single rules, alone and extended; then, a few times, extensions of the best
   new set. */
static bool price_sets(CommandSearch *s) {
    Run *r = s->r;
    const int seeds = s->places.nset;
    Stop stop = stop_open(r, s->device, "generations", s->search_until);
    s->prices = pricing_new(s);
    if (!extend_seeds(s)) return false;
    s->prices.ended = little_rewritable(s);
    if (!price_places(&s->prices)) return false;
    for (int from = 0, to = seeds, round = 0;
         from < to && round < GENERATIONS && !s->prices.ended && !stop_here(&stop, round);
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
    return stop_keep(&stop) && price_end(&s->prices) && places_keep(&s->places);
}

/* ---- the winner */

/* Whether confirming a candidate with this ratio may still show a sufficient gain: the ratio does,
   or it misses RUN_GAIN by no more than noise and the places promise enough. */
static bool may_count(const CommandSearch *s, double ratio) {
    const bool promised = s->promised >= (1 - RUN_GAIN) * s->baseline;
    return ratio <= RUN_GAIN + (promised ? CONFIRM_NOISE : 0);
}

static bool gains_what_counts(const SizeGain *x) { return x->ratio > 0 && x->ratio <= RUN_GAIN; }

/* Confirms the winner if it may count. If it does count, the derivation becomes that of the
   winner. */
static bool confirm_winner(CommandSearch *s, int best, Derivation *d) {
    Run *r = s->r;
    if (best && !may_count(s, s->candidate[best].ratio)) best = 0;
    if (best && !confirm_best(s, s->confirm_until, &best)) return false;
    SizeGain gain = first_sizes_gain(s, &s->candidate[0]);
    if (best && !other_sizes_time(s, &s->candidate[best], &gain)) return false;
    command_keep_reason(s);
    if (best && gains_what_counts(&gain) && !other_threads_choose(s, &best, &gain)) return false;
    r->stats.sizes = gain.sizes;
    r->stats.measured_before = r->stats.measured_after = gain.baseline;
    r->stats.ngain = command_gains(s, s->nranked, s->ranked, &r->stats.gain);
    if (!best || !gains_what_counts(&gain)) return true;
    r->stats.measured_after = gain.baseline * gain.ratio;
    r->stats.nplace =
        command_gains(s, s->candidate[best].nplace, s->candidate[best].place, &r->stats.place);
    return candidate_apply(s, &s->candidate[best], r->arena, d);
}

/* Asks the target for its profile, and sets stats.headroom to what it shows of the original. */
static bool read_profile(CommandSearch *s) {
    Run *r = s->r;
    if (!profile_target(r, s->candidate[0].path, s->folder->path, s->device, &s->profile))
        return false;
    if (!s->profile.known) return true;
    Text t = text_new(r->arena);
    profile_headroom(r, &s->profile, &s->places, &t);
    r->stats.headroom = t.data;
    profile_fit(&s->profile, s->baseline);
    return true;
}

/* Does the whole search: places, their prices, combinations, the winner. */
static bool search_places(CommandSearch *s, Derivation *d) {
    Run *r = s->r;
    int best = 0;
    s->origins = origins_find(&r->source, r->w, r->arena);
    s->search_until = s->confirm_until = run_command_seconds(r->o);
    if (!places_find(r, &s->origins, r->arena, s->device, &s->places)) return false;
    if (!candidate_original(s) || (s->places.n && !candidates_start(s)) || !read_profile(s))
        return false;
    if (!s->places.n) return command_keep_reason(s), places_keep(&s->places);
    s->search_until -=
        fmin(CONFIRM_BATCHES * CANDIDATE_CALLS * s->baseline, TIME_CONFIRMING * s->search_until);
    return price_sets(s) && combine(s, &best) && confirm_winner(s, best, d);
}

bool search_command(Run *r, Derivation *d) {
    CommandSearch *s = command_search_start(r);
    const bool good = s->folder && command_target(s) && search_places(s, d);
    command_search_end(s);
    return good;
}

/* Times another file (NULL: the user's), as candidate 1, against the original. */
static bool confirm_file(CommandSearch *s, const Pieces *file) {
    int other = 1;
    s->search_until = s->confirm_until = run_command_seconds(s->r->o);
    return s->folder && command_target(s) && candidate_original(s) &&
           (file ? candidate_file(s, file) : candidate_input(s)) &&
           confirm(s, s->confirm_until, &other);
}

/* Does the same at all sets of sizes. *gain receives the least gain of the file over the original
   or, if `file` is NULL, of the original over the user's file. */
static bool compare_file(Run *r, const Pieces *file, SizeGain *gain) {
    CommandSearch *s = command_search_start(r);
    s->original_replaces = !file;
    *gain = (SizeGain){0};
    const bool good = confirm_file(s, file) && other_sizes_time(s, &s->candidate[1], gain);
    command_search_end(s);
    return good;
}

bool search_command_inlining(Run *r, bool *gains) {
    SizeGain gain;
    if (!compare_file(r, NULL, &gain)) return false;
    *gains = gains_what_counts(&gain);
    if (!*gains) return true;
    r->stats.sizes = gain.sizes;
    r->stats.measured_before = gain.baseline, r->stats.measured_after = gain.baseline * gain.ratio;
    return true;
}

bool search_command_keep(Run *r, Pieces *file, const char **note) {
    RunStats *s = &r->stats;
    SizeGain gain;
    if (!compare_file(r, file, &gain)) return false;
    if (gains_what_counts(&gain)) {
        if (s->bodies_ratio <= 0) s->bodies_before = gain.baseline, s->bodies_ratio = 1;
        s->bodies_ratio *= gain.ratio, s->sizes = gain.sizes;
        return true;
    }
    *note = arena_format(
        r->arena, "in the whole model, on the data of this run, %s",
        gain.ratio > 0 ? arena_format(r->arena, "the gain is %.1f %%", (1 / gain.ratio - 1) * 100)
                       : "they fail");
    return *file = (Pieces){0}, true;
}

bool search_headroom(Run *r, const char **text) {
    if (!run_targets_onnxruntime(r->o))
        return error_set(r->error, E_USAGE, "--headroom",
                         "only onnxruntime says where it spends its time: give --measure-with "
                         "onnxruntime");
    CommandSearch *s = command_search_start(r);
    bool good = s->folder && command_target(s);
    if (good) s->origins = origins_find(&r->source, r->w, r->arena);
    good = good && places_find(r, &s->origins, r->arena, s->device, &s->places) &&
           candidate_original(s) && read_profile(s);
    command_search_end(s);
    if (good && !s->profile.known)
        return error_set(r->error, E_ENVIRONMENT, "--headroom",
                         "onnxruntime gave no profile of %s: it does not run there, or the Python "
                         "packages onnx and onnxruntime are missing",
                         r->in);
    *text = r->stats.headroom;
    return good;
}
