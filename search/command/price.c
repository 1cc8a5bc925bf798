/* price.c -- decides which parts are timed, and in which order. A sample of each kind is timed
   first; among parts, those that may gain most for the time that timing them takes come first. The
   search ends if what was timed promises too little. */
#include "search/command/price.h"
#include "search/command/command_limits.h"
#include "search/command/part.h"
#include "search/command/part_time.h"
#include "search/rank.h"
#include <math.h>
#include <string.h>

/* ---- samples */

static bool is_known(const PartPrice *p) { return p->seconds[0] > 0; }

/* Returns the seconds that a part gains, at most what its nodes take in the whole model. A part by
   itself may behave unlike the whole: with its sizes fixed, the target fuses more. */
static double part_gain(const PartPrice *p) {
    return fmin(p->seconds[0] - p->seconds[1], p->gain_most);
}

static double weight(const PartPrice *p) { return p->estimate * p->count; }

static bool worth_timing(const Pricing *x, const PartPrice *p) {
    return weight(p) >= x->estimate_least && p->gain_most * p->count >= x->gain_least;
}

/* Lists the parts of one kind in a set, heaviest first. */
static int prices_of(const Pricing *x, int set, const char *kind, int *list) {
    int n = 0;
    for (int k = 0; k < x->places->n; k++) {
        const int price = x->part_of[k];
        bool known =
            price < 0 || x->places->place[k].set != set || strcmp(x->part[price].kind, kind) != 0;
        for (int j = 0; j < n && !known; j++) known = list[j] == price;
        if (known) continue;
        n = rank_insert(n, x->places->n, list, x->sort_key, price, weight(&x->part[price]));
    }
    return n;
}

/* Returns the index of the k-th of a sample of m parts, which includes the first and the last of
   them. */
static int sample_at(int m, int k) {
    return m <= SAMPLE_SIZE ? k : k * (m - 1) / (SAMPLE_SIZE - 1);
}

static int sample_size(int m) { return m < SAMPLE_SIZE ? m : SAMPLE_SIZE; }

/* Called if all parts of a sample gain: the parts that were not timed are expected to gain by the
   worst of the sample's ratios, and their time is estimated by the sample's times. The times of
   whole models decide in the end. */
static void expect_untimed(Pricing *x, int m, const int list[]) {
    double time = 0, estimates = 0, ratio = 0;
    for (int k = 0; k < m; k++) {
        const PartPrice *p = &x->part[list[k]];
        if (!is_known(p) || p->expected) continue;
        time += p->seconds[0], estimates += p->estimate;
        ratio = fmax(ratio, p->seconds[1] / p->seconds[0]);
    }
    for (int k = 0; k < m && estimates > 0; k++) {
        PartPrice *p = &x->part[list[k]];
        if (is_known(p) || p->failed) continue;
        p->expected = true;
        p->seconds[0] = p->estimate * time / estimates;
        p->seconds[1] = p->seconds[0] * ratio;
    }
}

typedef enum SampleVerdict { NONE_GAINS, SOME_GAIN, ALL_GAIN } SampleVerdict;

/* Judges a sample that was timed. A gain below a hundredth of its time is not pursued. */
static SampleVerdict judge_sample(const Pricing *x, int m, const int list[]) {
    double time = 0, gain = 0;
    int known = 0, sure = 0;
    for (int k = 0; k < sample_size(m); k++) {
        const PartPrice *p = &x->part[list[sample_at(m, k)]];
        if (!is_known(p)) continue;
        known++, time += p->seconds[0] * p->count;
        if (!price_sure(p)) continue;
        sure++, gain += part_gain(p) * p->count;
    }
    return gain < SAMPLE_GAIN_LEAST * time || !sure ? NONE_GAINS
           : sure == known && sure > 1              ? ALL_GAIN
                                                    : SOME_GAIN;
}

/* Lists one part of each kind in a set. */
static int kinds_of(const Pricing *x, int set, int *list) {
    int n = 0;
    for (int k = 0; k < x->places->n; k++) {
        bool known = x->part_of[k] < 0 || x->places->place[k].set != set;
        for (int j = 0; j < n && !known; j++)
            known = !strcmp(x->part[list[j]].kind, x->part[x->part_of[k]].kind);
        if (!known) list[n++] = x->part_of[k];
    }
    return n;
}

/* ---- what is timed, in which order */

/* Sets, for the places of one kind in one set, the seconds that each gains. For parts that were not
   timed, they are in proportion to those of the same kind that were. */
static void expected_gains(const Pricing *x, int set, const char *kind, double *gain) {
    double known = 0, gained = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < x->nplace; k++) {
            const PartPrice *p = price_at(x, k);
            if (!p || x->places->place[k].set != set || strcmp(p->kind, kind)) continue;
            const double own = price_sure(p) ? part_gain(p) : 0;
            if (!pass && is_known(p)) known += p->estimate, gained += own;
            if (pass) gain[k] = is_known(p) ? own : known > 0 ? p->estimate * gained / known : 0;
        }
}

/* Returns, by place, the seconds that it is expected to gain. */
static double *expected_by_place(const Pricing *x, Arena *a) {
    double *gain = ARENA_NEW(a, double, x->places->n);
    int *kind = ARENA_NEW(a, int, x->places->n);
    for (int set = 0; set < x->nset; set++) {
        const int n = kinds_of(x, set, kind);
        for (int k = 0; k < n; k++) expected_gains(x, set, x->part[kind[k]].kind, gain);
    }
    return gain;
}

/* Returns the seconds that all places gain together, where each node of the file counts once. */
static double all_promise(const Pricing *x, Arena *a, const double gain[]) {
    const Place *place = x->places->place;
    const int nnode = model_stats(x->r->source.model).nodes;
    double *share = ARENA_NEW(a, double, nnode), sum = 0;
    for (int k = 0; k < x->nplace; k++)
        for (int j = 0; j < place[k].n; j++) {
            double *at = &share[place[k].node[j]];
            *at = fmax(*at, gain[k] / place[k].n);
        }
    for (int k = 0; k < nnode; k++) sum += share[k];
    return sum;
}

/* Times the whole model once, to see whether it keeps what its places promise. A frozen run assumes
   that it does, unless the run that measured ended there. */
static bool time_whole(Pricing *x, const double gain[]) {
    x->whole_timed = true;
    if (!x->whole(x->user, gain, &x->whole_gains)) return false;
    if (x->r->o->frozen) x->whole_gains = x->whole_stop.at < x->giving_up.at;
    else x->whole_stop.at = x->nrequested;
    x->ended = !x->whole_gains;
    return true;
}

/* Decides whether the search goes on, and sets x->ended if not: the places must promise enough, and
   the whole model must keep it. */
static bool judge_promise(Pricing *x, Arena *a) {
    const double *gain = expected_by_place(x, a), sum = all_promise(x, a, gain),
                 now = run_seconds(x->r);
    run_say(x->r, "%.1f s: what was timed promises %.3f ms", now, sum * 1e3);
    x->ended = sum < x->promise_least;
    x->giving_up.until = 2 * now, x->promise_least = x->promise_least_later;
    if (!x->ended && !x->whole_timed && !time_whole(x, gain)) return false;
    if (x->ended) x->giving_up.at = x->nrequested;
    return true;
}

/* Times the whole model and ends where the run that measured did; for a frozen run. */
static bool judge_as_kept(Pricing *x, Arena *a) {
    if (!x->whole_timed && x->nrequested >= x->whole_stop.at &&
        !time_whole(x, expected_by_place(x, a)))
        return false;
    x->ended |= x->nrequested >= x->giving_up.at;
    return true;
}

/* Whether patience is over. After that it is over again after twice the time, when more must be
   promised, since parts that are not timed yet are expected to gain like those timed first. */
static bool patience_over(const Pricing *x) {
    const double until = x->giving_up.until;
    if (run_seconds(x->r) < (x->sampled ? until : 2 * until)) return false;
    return x->sampled || x->batches >= PATIENCE_BATCHES; /* few fit on a busy machine */
}

/* Decides, when patience is over, whether the search goes on. Returns false with the run's error
   set on failure. */
static bool judge_patience(Pricing *x) {
    const bool frozen = x->r->o->frozen;
    if (x->ended || (!frozen && !patience_over(x))) return true;
    Arena *own = arena_new(x->r->escape, 0);
    const bool good = frozen ? judge_as_kept(x, own) : judge_promise(x, own);
    arena_free(own);
    return good;
}

bool price_end(const Pricing *x) {
    return stop_keep(&x->parts_end) && stop_keep(&x->whole_stop) && stop_keep(&x->giving_up);
}

/* Whether the rewriting only adds light operators, and a few such parts of its set were timed and
   gain nothing together. Because of noise, some of them always seem to gain. */
static bool adds_in_vain(const Pricing *x, const PartPrice *p) {
    double before = 0, after = 0;
    int known = 0;
    for (int k = 0; k < x->nplace && p->adds; k++) {
        const PartPrice *of = price_at(x, k);
        if (!of || !of->adds || x->places->place[k].set != x->places->place[p->place].set) continue;
        if (!is_known(of)) continue;
        known++, before += of->seconds[0], after += of->seconds[1];
    }
    return known >= ADDING_PARTS && after > ADDING_GAINS * before;
}

/* For a frozen run, whether the time of the part asked for last, which the cost file lacks, should
   be there: the run that measured did not end before it. */
static bool is_missing(const Pricing *x) {
    return x->nrequested <= x->parts_end.at && x->nrequested <= x->giving_up.at;
}

/* Times one batch: list[k], unless it was asked for or is not worth timing, and the other parts of
   the list that rewrite the same part. */
static bool time_batch(Pricing *x, int n, const int list[], int k) {
    int batch[PART_BATCH], m = 0;
    const PartPrice *first = &x->part[list[k]];
    for (int j = k; j < n && m < PART_BATCH; j++) {
        PartPrice *p = &x->part[list[j]];
        if (p->settled || strcmp(p->file, first->file) || !worth_timing(x, p)) continue;
        if (adds_in_vain(x, p)) continue;
        p->settled = true, x->nrequested++;
        if (part_time_find(x, p)) continue;
        if (x->r->o->frozen) x->r->stats.frozen_missing += is_missing(x);
        else if (!stop_here(&x->parts_end, x->nrequested - 1)) batch[m++] = list[j];
    }
    if (!m) return !x->r->o->frozen || judge_patience(x);
    return !run_cancelled(x->r) && part_time_batch(x, m, batch) && judge_patience(x);
}

static bool time_listed(Pricing *x, int n, const int list[]) {
    for (int k = 0; k < n && !x->ended; k++)
        if (!time_batch(x, n, list, k)) return false;
    return true;
}

/* Sets hot[] by part: whether it belongs to a set grown from a rule by which some place gains
   clearly. */
static void find_hot(const Pricing *x, bool hot[], bool rule[]) {
    const Places *p = x->places;
    memset(hot, 0, sizeof *hot * (size_t)x->npart);
    memset(rule, 0, sizeof *rule * (size_t)x->r->library.n);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < x->nplace; k++) {
            const int seed = p->set[p->place[k].set].seed, at = x->part_of[k];
            if (seed < 0 || at < 0) continue;
            if (pass) hot[at] |= rule[seed];
            else if (is_known(&x->part[at]) &&
                     x->part[at].seconds[1] < PROMISING_RULE * x->part[at].seconds[0])
                rule[seed] = true;
        }
}

/* Returns the seconds that the places of a part may gain by the profile, for each second that
   timing it takes. */
static double urgency(const Pricing *x, const PartPrice *p) {
    return (x->profile->known ? p->gain_most * p->count : 1) /
           (PART_LOAD_SECONDS + PART_CALLS * p->estimate);
}

/* Times the parts of a list: first those that are hot (find_hot), then the most urgent ones. */
static bool time_urgent_first(Pricing *x, int n, int list[]) {
    bool *hot = ARENA_NEW(x->r->arena, bool, x->npart),
         *rule = ARENA_NEW(x->r->arena, bool, x->r->library.n);
    for (int done = 0; done < n && !x->ended; done++) {
        int next = done;
        find_hot(x, hot, rule);
        for (int k = done + 1; k < n; k++) {
            const int i = list[k], j = list[next];
            if (hot[i] != hot[j] ? hot[i] : urgency(x, &x->part[i]) > urgency(x, &x->part[j]))
                next = k;
        }
        const int first = list[next];
        list[next] = list[done], list[done] = first;
        if (!time_batch(x, n, list, done)) return false;
    }
    return true;
}

/* Returns the part of a sample of m that is timed in this round: first the heaviest, then the
   lightest, then those between. */
static int sample_order(int m, int round) {
    return round == 0 ? 0 : round == 1 ? sample_size(m) - 1 : round - 1;
}

/* Whether all parts of a sample that were timed before this round lose clearly. */
static bool hopeless_kind(const Pricing *x, int m, const int list[], int round) {
    int known = 0;
    for (int k = 0; k < round && k < sample_size(m); k++) {
        const PartPrice *p = &x->part[list[sample_at(m, sample_order(m, k))]];
        if (!is_known(p)) continue;
        if (p->seconds[1] < PART_LOSES * p->seconds[0]) return false;
        known++;
    }
    return known >= LOSSES_ENOUGH;
}

/* Whether many parts of a set, with the heaviest of each kind among them, were timed and none
   gains. */
static bool futile_set(const Pricing *x, int set, int nkind, const int kind[], int *list) {
    int known = 0;
    for (int i = 0; i < nkind; i++) {
        const int m = prices_of(x, set, x->part[kind[i]].kind, list);
        for (int k = 0; k < m; k++) {
            if (price_sure(&x->part[list[k]])) return false;
            known += is_known(&x->part[list[k]]);
        }
    }
    return known >= FUTILE_PARTS;
}

/* Times the next part of the sample of each kind in each set. */
static bool time_samples(Pricing *x, int from, int round, int *kind, int *list) {
    int *some = NULL, n = 0, room = 0;
    for (int set = from; set < x->nset; set++) {
        const int nkind = kinds_of(x, set, kind);
        if (round && futile_set(x, set, nkind, kind, list)) continue;
        for (int i = 0; i < nkind; i++) {
            const int m = prices_of(x, set, x->part[kind[i]].kind, list);
            if (round >= sample_size(m) || hopeless_kind(x, m, list, round)) continue;
            ARENA_GROW(x->r->arena, some, room, n + 1);
            some[n++] = list[sample_at(m, sample_order(m, round))];
        }
    }
    return time_urgent_first(x, n, some);
}

/* Decides on the rest of each kind in a set, after a few parts, large and small, were timed. If
   none of them gains, the rest is skipped; if all do, the rest is expected to gain; otherwise it is
   timed, too. */
static bool time_rest(Pricing *x, int set, int *kind, int *list) {
    const int nkind = kinds_of(x, set, kind);
    for (int i = 0; i < nkind; i++) {
        const int m = prices_of(x, set, x->part[kind[i]].kind, list);
        const SampleVerdict v = judge_sample(x, m, list);
        if (v == ALL_GAIN) expect_untimed(x, m, list);
        if (v == SOME_GAIN && !time_listed(x, m, list)) return false;
    }
    return true;
}

static bool time_sets(Pricing *x) {
    const int from = x->nset;
    int *kind = ARENA_NEW(x->r->arena, int, x->places->n),
        *list = ARENA_NEW(x->r->arena, int, x->places->n);
    x->nset = x->places->nset;
    for (int round = 0; round < SAMPLE_SIZE && !x->ended; round++) {
        if (!time_samples(x, from, round, kind, list)) return false;
        x->sampled = true;
    }
    for (int s = from; s < x->nset && !x->ended; s++)
        if (!time_rest(x, s, kind, list)) return false;
    return true;
}

PartPrice *price_at(const Pricing *x, int place) {
    return x->part_of[place] < 0 ? NULL : &x->part[x->part_of[place]];
}

void price_bound(PartPrice *p) {
    if (p->settled || p->after_least <= 0 || p->after_least < PART_TIE * p->gain_most) return;
    p->seconds[0] = p->gain_most, p->seconds[1] = p->after_least;
    p->expected = p->settled = true;
}

bool price_sure(const PartPrice *p) {
    return is_known(p) && p->seconds[1] < PART_TIE * p->seconds[0];
}

double price_gain(const Pricing *x, int place) {
    const PartPrice *p = price_at(x, place);
    return !p || p->seconds[0] < 0 ? -1 : part_gain(p);
}

bool price_places(Pricing *x) {
    Arena *a = x->r->arena;
    ARENA_GROW(a, x->part_of, x->part_of_room, x->places->n);
    ARENA_GROW(a, x->why, x->why_room, x->places->n);
    ARENA_GROW(a, x->sort_key, x->sort_key_room, x->places->n);
    for (; x->nplace < x->places->n; x->nplace++) {
        if (!part_describe(x, x->nplace)) return false;
        PartPrice *p = price_at(x, x->nplace);
        if (p) price_bound(p);
    }
    return time_sets(x);
}
