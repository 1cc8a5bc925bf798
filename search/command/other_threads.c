/* other_threads.c -- times a result on other threads. A rewriting that saves arithmetic by many
   small steps may divide less well among threads, so a result can be faster on one thread and
   slower on all cores. In that case its places are timed there as they were in the search, and the
   places that lose in the sum of both are left as they were. */
#include "search/command/other_threads.h"
#include "ops/base/process.h"
#include "search/command/combine.h"
#include "search/command/command_limits.h"
#include "search/command/command_target.h"
#include "search/command/confirm.h"
#include "search/command/part_time.h"
#include "search/stop.h"
#include <math.h>

/* Returns all cores of the machine, or 0 if they are few or timing takes too long. */
static int threads_here(const CommandSearch *s) {
    const int cores = process_cores();
    const double seconds = CONFIRM_LEAST * CANDIDATE_CALLS * s->baseline;
    if (cores < 2 || seconds > TIME_OTHER_THREADS * run_command_seconds(s->r->o)) return 0;
    return cores < BACKEND_THREADS ? cores : BACKEND_THREADS;
}

/* *n receives the number of threads that --also-threads asks for; 0: nothing is measured. If bodies
   were optimized, nothing is: the search only knows the model that already has the new bodies. By
   default the number depends on the machine and the time limit, so a frozen run takes that of the
   run that measured. Returns false with the run's error set on failure. */
static bool threads_wanted(const CommandSearch *s, int *n) {
    const int given = s->r->o->also_threads;
    *n = given > 0 ? given : 0;
    if (!s->reads_inputs || s->r->stats.bodies_ratio > 0) return *n = 0, true;
    if (given >= 0 || s->threads > 1) return true;
    return stop_number(s->r, s->device, "other threads", threads_here(s), n);
}

/* If the candidate, whose ratio on the threads of the search is given, seems to lose in the product
   of both ratios, it is timed there once more, in other sessions. The smaller ratio counts. */
static bool doubt_loss(const CommandSearch *s, double ratio, CommandSearch *at) {
    const double first = at->candidate[1].ratio;
    int second = 1;
    if (s->r->o->frozen || first * ratio <= 1 + THREADS_NOISE) return true;
    if (!confirm(at, 0, &second)) return false;
    if (at->candidate[1].ratio > 0 && at->candidate[1].ratio < first) return true;
    at->candidate[1].ratio = first;
    return candidate_store_confirmed(at, 1);
}

/* Times the candidate against the original on other threads, in as few batches as confirming takes.
   `ratio` is its ratio on the threads of the search. *at receives the search there, which must be
   stopped; its candidate 1 has the ratio, <= 0 if it could not be measured. Returns false if the
   run was cancelled. */
static bool time_there(CommandSearch *s, int candidate, double ratio, int threads,
                       CommandSearch **at) {
    Run *r = s->r;
    int second = 1;
    *at = command_search_again(s, &s->candidate[candidate], threads);
    if (command_target(*at) && confirm(*at, 0, &second) && doubt_loss(s, ratio, *at)) return true;
    (*at)->candidate[1].ratio = -1;
    if (!r->error->kind || r->error->kind == E_INTERRUPTED) return false;
    run_say(r, "not timed on %d threads: %s", threads, r->error->reason);
    *r->error = (Error){0};
    return true;
}

/* ---- places that lose there */

/* Times the part of a place on the threads of `there`. *out receives the part, NULL if the place
   has none; its seconds are < 0 if time is over or it does not run. Returns false with the run's
   error set on failure. */
static bool time_part(Pricing *there, int place, PartPrice **out) {
    const int at = there->part_of[place];
    PartPrice *p = *out = at < 0 ? NULL : &there->part[at];
    if (!p || p->settled) return true;
    p->settled = true;
    return part_time_find(there, p) || there->r->o->frozen ||
           run_time_over(there->r, there->parts_end.until) || part_time_batch(there, 1, &at);
}

/* Returns a copy of the search's prices for the target on other threads, in which no time is known
   yet. */
static Pricing pricing_there(const CommandSearch *s, CommandSearch *at) {
    Run *r = s->r;
    Pricing x = s->prices;
    x.device = at->device, x.user = at;
    x.parts_end.until = run_seconds(r) + TIME_OTHER_THREADS * run_command_seconds(r->o);
    x.part = arena_copy(r->arena, x.part, sizeof *x.part * (size_t)x.npart);
    for (int k = 0; k < x.npart; k++) {
        PartPrice *p = &x.part[k];
        p->settled = p->failed = p->expected = false, p->seconds[0] = p->seconds[1] = -1;
    }
    return x;
}

/* Lists in kept[] the *n places that gain in the sum of both, each time being taken as a share of
   the original's. */
static bool keep_places(CommandSearch *s, CommandSearch *at, const ModelCandidate *from, int kept[],
                        int *n) {
    Pricing there = pricing_there(s, at);
    *n = 0;
    for (int k = 0; k < from->nplace; k++) {
        PartPrice *p;
        if (!time_part(&there, from->place[k], &p)) return false;
        const double lost = p && p->seconds[0] > 0 ? p->seconds[1] - p->seconds[0] : 0;
        /* A place that was never timed has a gain < 0, which counts as 0. */
        const double gain = fmax(price_gain(&s->prices, from->place[k]), 0);
        if (gain / s->baseline >= lost / at->baseline) kept[(*n)++] = from->place[k];
    }
    return true;
}

/* *other receives the candidate without the places that lose in sum, and *gain its confirmed gain;
   0: there is none. */
static bool without_losers(CommandSearch *s, CommandSearch *at, int candidate, int *other,
                           SizeGain *gain) {
    ModelCandidate from = s->candidate[candidate];
    *other = 0;
    if (!from.at) from = combine_places(s, s->nranked, s->ranked);
    int *kept = ARENA_NEW(s->r->arena, int, from.nplace), n;
    if (!keep_places(s, at, &from, kept, &n)) return false;
    run_say(s->r, "on %d threads %d of %d places lose more than they gain", at->threads,
            from.nplace - n, from.nplace);
    if (!n || n == from.nplace || !candidate_make(s, combine_places(s, n, kept), other))
        return !s->r->error->kind;
    if (*other <= 0 || *other == candidate) return *other = 0, true;
    return confirm(s, s->confirm_until, other) &&
           (!*other || other_sizes_time(s, &s->candidate[*other], gain));
}

/* ---- the choice */

typedef struct Choice { /* a candidate, and what was measured of it */
    int candidate;
    SizeGain gain;         /* on the threads of the search */
    double there;          /* its time / the original's on the others */
    double baseline_there; /* seconds of the original on the others */
} Choice;

static double product(const Choice *c) { return c->gain.ratio * c->there; }

static Choice choice_of(const CommandSearch *at, int candidate, SizeGain gain) {
    return (Choice){candidate, gain, at->candidate[1].ratio, at->baseline};
}

static bool time_other(CommandSearch *s, int threads, int candidate, SizeGain gain, Choice *c) {
    CommandSearch *at;
    const bool good = time_there(s, candidate, gain.ratio, threads, &at);
    command_target_stop(at);
    if (good && at->candidate[1].ratio > 0) *c = choice_of(at, candidate, gain);
    return good;
}

/* Replaces the choice by the candidate without the losing places, if that one is better. */
static bool improve(CommandSearch *s, CommandSearch *at, Choice *best) {
    Choice c = {0};
    SizeGain gain;
    int other;
    if (!without_losers(s, at, best->candidate, &other, &gain)) return false;
    if (!other || gain.ratio <= 0 || gain.ratio > RUN_GAIN) return true;
    if (!time_other(s, at->threads, other, gain, &c)) return false;
    run_say(s->r, "without them: %.4f, and %.4f on %d threads", gain.ratio, c.there, at->threads);
    if (c.candidate && product(&c) < product(best)) *best = c;
    return true;
}

static void keep_choice(CommandSearch *s, int threads, const Choice *c, int *best, SizeGain *gain) {
    RunStats *x = &s->r->stats;
    *gain = c->gain;
    *best = product(c) > 1 + THREADS_NOISE ? 0 : c->candidate;
    if (*best) {
        x->also_threads = threads;
        x->also_before = c->baseline_there, x->also_after = c->baseline_there * c->there;
    } else
        x->reason = arena_format(s->r->arena,
                                 "the rewritten model would run %.2f times as fast on %d thread%s, "
                                 "but %.2f times on %d; --also-threads 0 ignores the latter",
                                 1 / gain->ratio, s->threads, s->threads == 1 ? "" : "s",
                                 1 / c->there, threads);
}

bool other_threads_choose(CommandSearch *s, int *best, SizeGain *gain) {
    int threads;
    CommandSearch *at;
    if (!threads_wanted(s, &threads)) return false;
    if (!threads || run_signalled(s->r)) return !run_cancelled(s->r);
    bool good = time_there(s, *best, gain->ratio, threads, &at);
    if (good && at->candidate[1].ratio > 0) {
        Choice choice = choice_of(at, *best, *gain);
        if (choice.there > 1 + THREADS_NOISE) good = improve(s, at, &choice);
        if (good) keep_choice(s, threads, &choice, best, gain);
    }
    command_target_stop(at);
    return good;
}
