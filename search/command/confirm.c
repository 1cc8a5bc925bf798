/* confirm.c -- times the fastest candidates anew. The least of several noisy times is too
   optimistic, and a target's sessions of one file differ from each other by more than its calls
   within one session. So the fastest candidates and the original are loaded and timed anew several
   times, and each batch gives one ratio for each candidate. The logarithms of the ratios are taken
   as draws from a normal distribution whose spread is known only roughly beforehand (a scaled
   inverse chi-squared prior: Gelman et al., Bayesian Data Analysis, 2013, section 3.3). So few
   batches are enough where the ratio is far from RUN_GAIN.

   A target may also time the first or last file of a batch differently, because the machine speeds
   up or slows down under load. Each batch therefore begins with the original and ends with a copy
   of it, the control. Candidates are compared with the mean of the two, and the amount by which the
   two differ beyond noise counts against the candidates, or against the original if it would
   replace the candidate. */
#include "search/command/confirm.h"
#include "search/command/command_limits.h"
#include "search/stop.h"
#include <math.h>

#define PRIOR 0.012    /* prior: standard deviation of the logarithm of a batch's ratio */
#define PRIOR_WEIGHT 3 /* the prior counts as much as this many batches */
#define SURE 2.2       /* standard errors: about 97 % on each side, after some batches */
/* A ratio whose logarithm is known to within this, and that is not clearly on one side of RUN_GAIN,
   is at the border. */
#define BORDER 0.01
/* If the logarithms of two ratios differ by less than this, the candidate with fewer applications
   wins. */
#define TIE 0.003
enum { RIVALS_MOST = 4, BATCHES = 16 }; /* rivals; batches */

typedef struct Rival {
    int candidate;       /* index of the candidate */
    int nbatch;          /* batches timed so far; 0: none yet, or it failed */
    bool retired;        /* it is no longer timed */
    double sum, squares; /* of the logarithms of its ratios */
} Rival;

typedef struct Rivals {
    int nrival;
    Rival rival[RIVALS_MOST];
    Rival control; /* the copy of the original, compared with the original */
} Rivals;

static void add_batch(Rival *x, double log_ratio) {
    x->nbatch++, x->sum += log_ratio, x->squares += log_ratio * log_ratio;
}

static double mean(const Rival *x) { return x->sum / x->nbatch; }

/* Returns the standard error of the mean. */
static double error_of(const Rival *x) {
    const double around = fmax(x->squares - x->sum * mean(x), 0);
    return sqrt((around + PRIOR_WEIGHT * PRIOR * PRIOR) / (PRIOR_WEIGHT + x->nbatch - 1) /
                x->nbatch);
}

/* Returns by how much the logarithm of the time of the faster of original and control lies below
   the mean of both, as far as this is beyond noise. */
static double order_effect(const Rivals *r) {
    const Rival *c = &r->control;
    return c->nbatch ? fmax(0, fabs(mean(c)) - SURE * error_of(c)) / 2 : 0;
}

/* Returns the logarithm of a rival's ratio as the cautious estimate of the gain: its ratio to the
   faster of original and control or, if the original would replace it, to the slower one. */
static double log_ratio(const CommandSearch *s, const Rivals *r, int k) {
    const double by = order_effect(r);
    return mean(&r->rival[k]) + (s->original_replaces ? -by : by);
}

/* Returns the logarithm of the ratio from which on the gain is enough. */
static double border(const CommandSearch *s) {
    return s->original_replaces ? -log(RUN_GAIN) : log(RUN_GAIN);
}

static Rivals rivals_of(const CommandSearch *s, int best) {
    Rivals r = {.nrival = 1, .rival = {{.candidate = best}}};
    for (int k = 1; k < s->ncandidate && r.nrival < RIVALS_MOST; k++)
        if (k != best && s->candidate[k].ratio > 0 &&
            s->candidate[k].ratio < CANDIDATE_RIVAL * s->candidate[best].ratio)
            r.rival[r.nrival++].candidate = k;
    return r;
}

static bool in_race(const Rival *x) { return x->nbatch && !x->retired; }

static int fastest(const CommandSearch *s, const Rivals *r) {
    int best = -1;
    for (int k = 0; k < r->nrival; k++) {
        if (!in_race(&r->rival[k])) continue;
        const double by = best < 0 ? 0 : mean(&r->rival[k]) - mean(&r->rival[best]);
        const int more = best < 0 ? 0
                                  : s->candidate[r->rival[k].candidate].applied -
                                        s->candidate[r->rival[best].candidate].applied;
        if (best < 0 || by < (more < 0 ? TIE : more > 0 ? -TIE : 0)) best = k;
    }
    return best;
}

/* Times one batch with all rivals that may still be the fastest. A rival that fails leaves the
   race. */
static bool time_batch(CommandSearch *s, Rivals *r) {
    int list[RIVALS_MOST], which[RIVALS_MOST], n = 0;
    double ratio[RIVALS_MOST], control;
    const int best = fastest(s, r);
    for (int k = 0; k < r->nrival; k++) {
        const Rival *x = &r->rival[k];
        const bool behind =
            best >= 0 && x->nbatch && mean(x) - mean(&r->rival[best]) > SURE * (error_of(x) + TIE);
        if (!behind && (in_race(x) || best < 0)) which[n] = k, list[n++] = x->candidate;
    }
    if (!candidates_time_anew(s, n, list, ratio, &control)) return false;
    if (control > 0) add_batch(&r->control, log(control));
    for (int k = 0; k < n; k++) {
        Rival *x = &r->rival[which[k]];
        if (ratio[k] > 0) add_batch(x, log(ratio[k]) - (control > 0 ? log(control) / 2 : 0));
        else x->nbatch = 0;
    }
    return true;
}

/* Whether the candidate seemed to gain too little when it was first timed, as one of many, and does
   again. */
static bool misses_twice(const CommandSearch *s, const Rivals *r, int k) {
    return s->candidate[r->rival[k].candidate].ratio > RUN_GAIN && log_ratio(s, r, k) > border(s);
}

/* Returns whether it is clear that the fastest rival gains enough (RUN_GAIN), or that it does not;
   or whether its ratio is known so well that either answer is right within noise, and further
   batches would not settle it. */
static bool is_clear(const CommandSearch *s, const Rivals *r) {
    const int best = fastest(s, r);
    if (best < 0) return true;
    /* A rival that fell behind early, and is ahead again, has too few batches. */
    if (r->rival[best].nbatch < CONFIRM_LEAST) return false;
    if (misses_twice(s, r, best)) return true;
    const double error = SURE * error_of(&r->rival[best]);
    return error < BORDER || fabs(log_ratio(s, r, best) - border(s)) > error;
}

/* Keeps the faster half of the rivals in the race, or only one: the others are so close to them
   that telling them apart is not worth more batches. */
static void leave_slower(Rivals *r, bool all_but_one) {
    int n = 0;
    for (int k = 0; k < r->nrival; k++) n += in_race(&r->rival[k]);
    for (int most = all_but_one ? 1 : (n + 1) / 2; n > most; n--) {
        Rival *slowest = NULL;
        for (int k = 0; k < r->nrival; k++) {
            Rival *x = &r->rival[k];
            if (in_race(x) && (!slowest || mean(x) > mean(slowest))) slowest = x;
        }
        slowest->retired = true;
    }
}

/* Times batches until the fastest rival is clear, and stores the confirmed ratios. Once there is no
   time for another batch, the least number of batches is still completed, with the fastest rival
   alone. */
static bool time_rivals(CommandSearch *s, double until, Rivals *r) {
    double took = 0; /* seconds that the last batch took */
    for (int k = 0; k < BATCHES; k++) {
        const double start = run_seconds(s->r);
        const bool over = run_time_over(s->r, until - took);
        if (k >= CONFIRM_LEAST && (is_clear(s, r) || over)) break;
        if (!k && over) r->nrival = 1;
        if (over || k % CONFIRM_LEAST == 0) leave_slower(r, over);
        if (!time_batch(s, r)) return false;
        took = run_seconds(s->r) - start;
        if (fastest(s, r) < 0) break;
    }
    for (int k = 0; k < r->nrival; k++) {
        const Rival *x = &r->rival[k];
        s->candidate[x->candidate].ratio = in_race(x) ? exp(log_ratio(s, r, k)) : -1;
        if (!candidate_store_confirmed(s, x->candidate)) return false;
    }
    return true;
}

/* For a frozen run: sets the rivals' ratios to those in the cost file. */
static void look_up_rivals(CommandSearch *s, Rivals *r) {
    for (int k = 0; k < r->nrival; k++) {
        Rival *x = &r->rival[k];
        candidate_look_up_confirmed(s, x->candidate);
        if (s->candidate[x->candidate].ratio > 0)
            x->nbatch = 1, x->sum = log(s->candidate[x->candidate].ratio);
    }
}

bool confirm(CommandSearch *s, double until, int *best) {
    Rivals r = rivals_of(s, *best);
    if (s->r->o->frozen) look_up_rivals(s, &r);
    else if (!time_rivals(s, until, &r)) return false;
    for (int k = 0; k < r.nrival; k++) s->candidate[r.rival[k].candidate].confirmed = true;
    const int at = fastest(s, &r);
    *best = at < 0 ? 0 : r.rival[at].candidate;
    if (at >= 0 && !s->r->o->frozen)
        run_say(s->r,
                "%.1f s: the fastest of %d once more, in %d batches: %.4f, give or take %.4f; a "
                "copy of the original: %.4f",
                run_seconds(s->r), r.nrival, r.rival[at].nbatch, exp(log_ratio(s, &r, at)),
                SURE * error_of(&r.rival[at]), r.control.nbatch ? exp(mean(&r.control)) : 1);
    return true;
}

/* Returns the fastest of the candidates that were, or were not, confirmed; 0: there is none. */
static int fastest_candidate(const CommandSearch *s, bool confirmed) {
    int best = 0;
    for (int k = 1; k < s->ncandidate; k++) {
        const ModelCandidate *c = &s->candidate[k];
        if (c->confirmed == confirmed && c->ratio > 0 &&
            (!best || c->ratio < s->candidate[best].ratio))
            best = k;
    }
    return best;
}

bool confirm_best(CommandSearch *s, double until, int *best) {
    Stop stop = stop_open(s->r, s->device, "confirming", until);
    bool good = confirm(s, until, best);
    for (int round = 1; good && !stop_here(&stop, round); round++) {
        const int next = fastest_candidate(s, false);
        const double least =
            *best ? fmin(CONFIRM_AGAIN * s->candidate[*best].ratio, RUN_GAIN) : RUN_GAIN;
        if (!next || s->candidate[next].ratio > least) break;
        *best = next;
        good = confirm(s, until, best);
        *best = fastest_candidate(s, true);
    }
    return good && stop_keep(&stop);
}
