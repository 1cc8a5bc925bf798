/* combine.c -- chooses which places to rewrite together. Given which sets are on, the places that
   gain are taken from these sets best first, each unless a better one has one of its nodes. Which
   sets are on is decided by timing whole models: all sets together, each of the strongest alone,
   then by hill climbing. */
#include "search/command/combine.h"
#include "search/command/command_limits.h"
#include "search/rank.h"
#include <math.h>
#include <string.h>

static int file_nodes(const CommandSearch *s) { return model_stats(s->r->source.model).nodes; }

/* ---- choosing places */

/* Returns the seconds that a place gains, 0 if within noise. Each further rule reduces them, so
   that among rewritings that noise cannot tell apart the simplest is preferred. */
static double worth(const CommandSearch *s, int place) {
    const Pricing *x = &s->prices;
    const PartPrice *p = price_at(x, place);
    if (!p || !price_sure(p)) return 0;
    return p->seconds[0] * (1 - RULE_COSTS * (s->places.place[place].nrule - 1)) - p->seconds[1];
}

/* Returns, by place, the seconds that it gained when it was timed. */
static double *timed_gains(const CommandSearch *s) {
    double *gain = ARENA_NEW(s->r->arena, double, s->places.n);
    for (int k = 0; k < s->places.n; k++) gain[k] = price_gain(&s->prices, k);
    return gain;
}

/* Returns, by place, the value by which places are ranked. */
static double *timed_worths(const CommandSearch *s) {
    double *value = ARENA_NEW(s->r->arena, double, s->places.n);
    for (int k = 0; k < s->places.n; k++) value[k] = worth(s, k);
    return value;
}

/* Ranks the places with a value above 0, best first. gain[] holds the seconds that each
   promises. */
static void rank_places(CommandSearch *s, const double value[], const double gain[]) {
    const int n = s->places.n;
    double *key = ARENA_NEW(s->r->arena, double, n);
    s->ranked = ARENA_NEW(s->r->arena, int, n);
    s->nranked = 0;
    s->gain = gain;
    for (int k = 0; k < n; k++)
        if (value[k] > 0) s->nranked = rank_insert(s->nranked, n, s->ranked, key, k, value[k]);
}

static ModelCandidate of_places(CommandSearch *s, int n, const int list[], const bool on[],
                                double *sum) {
    const uint8_t **at = ARENA_NEW(s->r->arena, const uint8_t *, file_nodes(s));
    ModelCandidate c = {.at = at};
    c.nset = s->places.nset;
    c.sets = arena_copy(s->r->arena, on, sizeof *on * (size_t)c.nset);
    c.place = ARENA_NEW(s->r->arena, int, n);
    *sum = 0;
    for (int k = 0; k < n; k++) {
        const Place *p = &s->places.place[list[k]];
        bool apart = on[p->set];
        for (int j = 0; j < p->n; j++) apart &= !at[p->node[j]];
        if (!apart) continue;
        for (int j = 0; j < p->n; j++) at[p->node[j]] = s->places.set[p->set].role;
        c.place[c.nplace++] = list[k];
        *sum += s->gain[list[k]];
    }
    return c;
}

/* Returns the candidate of the ranked places of the sets that are on. *sum receives the seconds
   that its places promise together. */
static ModelCandidate candidate_of_sets(CommandSearch *s, const bool on[], double *sum) {
    return of_places(s, s->nranked, s->ranked, on, sum);
}

ModelCandidate combine_places(CommandSearch *s, int n, const int place[]) {
    bool *on = ARENA_NEW(s->r->arena, bool, s->places.nset);
    double sum;
    for (int k = 0; k < n; k++) on[s->places.place[place[k]].set] = true;
    return of_places(s, n, place, on, &sum);
}

/* Lists the sets whose places promise most when each set is used alone. */
static int strongest_sets(CommandSearch *s, int list[SETS_ALONE]) {
    double value[SETS_ALONE], sum;
    int n = 0;
    for (int k = 0; k < s->places.nset; k++) {
        /* To free each candidate, which is as large as the model. */
        const ArenaMark mark = arena_mark(s->r->arena);
        bool *on = ARENA_NEW(s->r->arena, bool, s->places.nset);
        on[k] = true;
        candidate_of_sets(s, on, &sum);
        arena_reset(s->r->arena, mark);
        if (sum > 0) n = rank_insert(n, SETS_ALONE, list, value, k, sum);
    }
    return n;
}

/* ---- the choice */

/* Sets *most to the number of whole models that can be timed in one batch in the time left, or that
   were timed in the run that measured if this one is frozen. `round` is that of climbing, 0 before
   it. Returns false with the run's error set on failure. */
static bool affordable(CommandSearch *s, int round, int *most) {
    Stop stop =
        stop_open(s->r, s->device, arena_format(s->r->arena, "models %d", round), s->search_until);
    const double left = s->search_until - run_seconds(s->r),
                 each =
                     fmax(CANDIDATE_CALLS * s->baseline + CANDIDATE_LOAD_SECONDS, s->file_seconds);
    if (!stop_here(&stop, 0) && !s->r->o->frozen && left < each * (double)CANDIDATE_BATCH)
        stop.at = (int)(left / each);
    *most = stop.at < CANDIDATE_BATCH ? stop.at : CANDIDATE_BATCH;
    return stop_keep(&stop);
}

/* Returns the fastest candidate; of equally fast ones, the one with the fewest applications. */
static int best_of(const CommandSearch *s) {
    int best = 0;
    for (int k = 1; k < s->ncandidate; k++) {
        const ModelCandidate *c = &s->candidate[k], *b = &s->candidate[best];
        const bool simpler = best && c->applied < b->applied;
        if (c->ratio > 0 && c->ratio < (simpler ? AS_FAST : FASTER) * b->ratio) best = k;
    }
    return best;
}

/* Makes a candidate. While its file would grow too much, it is made again without the places that
   gain least. */
static bool make_fitting(CommandSearch *s, ModelCandidate c, int *index) {
    for (int left = FITTING; candidate_make(s, c, index); left--) {
        const int n = (int)fmin(c.nplace / s->growth_share, c.nplace - 1);
        if (*index >= 0 || s->growth_share <= 1 || n < 1 || !left) return true;
        c = combine_places(s, n, c.place);
    }
    return false;
}

static bool is_listed(int n, const int list[], int candidate) {
    for (int k = 0; k < n; k++)
        if (list[k] == candidate) return true;
    return false;
}

/* Makes a candidate and appends it to the list, unless it is listed already or is the original.
   Sets *usable, unless NULL, to whether it can be written and its file is not too large. */
static bool make_listed(CommandSearch *s, ModelCandidate c, int list[], int *n, bool *usable) {
    if (!make_fitting(s, c, &list[*n])) return false;
    if (usable) *usable = list[*n] >= 0;
    *n += list[*n] > 0 && !is_listed(*n, list, list[*n]);
    return true;
}

/* Whether the priced places of a set lose so much together that using the set at all its places
   cannot gain. */
static bool loses_everywhere(const CommandSearch *s, int set) {
    double lost = 0;
    for (int k = 0; k < s->places.n; k++) {
        const PartPrice *p = price_at(&s->prices, k);
        if (s->places.place[k].set == set && p && p->seconds[0] > 0)
            lost += p->seconds[1] - p->seconds[0];
    }
    return lost > SET_LOSES * s->baseline;
}

/* Adds candidates in which one set is used wherever it matches: the sets to be tried as a whole
   (unless only little is promised, `slight`), and the sets with places that could not be priced. */
static bool add_everywhere(CommandSearch *s, bool slight, int list[], int *n) {
    bool *open = ARENA_NEW(s->r->arena, bool, s->places.nset);
    for (int k = 0; k < s->places.n; k++) {
        const PartPrice *p = price_at(&s->prices, k);
        if (p ? p->failed : s->prices.why[k] != NULL) open[s->places.place[k].set] = true;
    }
    for (int k = 0, m = 0; k < s->places.nset && m < SETS_EVERYWHERE; k++) {
        if (!open[k] && (slight || !s->places.set[k].whole || loses_everywhere(s, k))) continue;
        m += !s->places.set[k].whole;
        const ModelCandidate c = {.everywhere = s->places.set[k].role};
        if (!make_listed(s, c, list, n, NULL)) return false;
    }
    return true;
}

/* Whether the model has inputs with open sizes. In the parts all sizes are numbers, so the target
   may fuse nodes there that it does not fuse in the model. */
static bool has_open_sizes(const CommandSearch *s) {
    const Graph *g = &s->r->source.original;
    int64_t number;
    for (int k = 0; k < g->nin; k++) {
        const Type *t = value_type(s->r->w, g->in[k]);
        for (int j = 0; j < t->dim.n; j++)
            if (!poly_constant(s->r->w, t->dim.v[j], &number)) return true;
    }
    return false;
}

/* Adds a candidate in which the rules that shorten moves are used wherever they match. */
static bool add_shorter_moves(CommandSearch *s, int list[], int *n) {
    const Library *l = &s->r->library;
    uint8_t *role = ARENA_NEW(s->r->arena, uint8_t, l->n);
    for (int k = 0; k < l->n; k++)
        if (l->rule[k].on && l->rule[k].shortens_moves) role[k] = ROLE_SEED;
    return make_listed(s, (ModelCandidate){.everywhere = role}, list, n, NULL);
}

/* Returns how many candidates are timed where little is promised: more for a fast model. */
static int few_candidates(const CommandSearch *s) {
    const int n = (int)(SLIGHT_SECONDS / (CANDIDATE_CALLS * s->baseline + CANDIDATE_LOAD_SECONDS));
    return n > SLIGHT_CANDIDATES ? n : SLIGHT_CANDIDATES;
}

/* Adds the strongest sets, each alone, until the list has `most` candidates. A set that cannot be
   used alone is removed from all[]. */
static bool add_alone(CommandSearch *s, int nset, const int set[], int most, bool all[], int list[],
                      int *n) {
    double sum;
    for (int k = 0; k < nset && *n < most; k++) {
        bool *one = ARENA_NEW(s->r->arena, bool, s->places.nset), usable;
        one[set[k]] = true;
        if (!make_listed(s, candidate_of_sets(s, one, &sum), list, n, &usable)) return false;
        all[set[k]] = usable;
    }
    return true;
}

/* Adds the candidate with all sets of all[]; if it cannot be used, the one with the strongest sets
   among them. */
static bool add_together(CommandSearch *s, int nset, const int set[], bool all[], int list[],
                         int *n) {
    double sum;
    bool usable, *strong = ARENA_NEW(s->r->arena, bool, s->places.nset);
    if (!nset) return true;
    if (!make_listed(s, candidate_of_sets(s, all, &sum), list, n, &usable)) return false;
    for (int k = 0; k < nset; k++) strong[set[k]] = all[set[k]];
    return usable || make_listed(s, candidate_of_sets(s, strong, &sum), list, n, NULL);
}

static bool *all_sets(const CommandSearch *s) {
    bool *all = ARENA_NEW(s->r->arena, bool, s->places.nset);
    for (int k = 0; k < s->places.nset; k++) all[k] = true;
    return all;
}

/* Times the first batch: all sets together, each of the strongest alone, and rules wherever they
   match. */
static bool first_batch(CommandSearch *s, int nset, const int set[]) {
    int *list = ARENA_NEW(s->r->arena, int, nset + s->places.nset + 3), n = 0;
    bool *all = all_sets(s);
    candidate_of_sets(s, all, &s->promised);
    run_say(s->r, "%d places gain, %.3f of %.3f ms together", s->nranked, s->promised * 1e3,
            s->baseline * 1e3);
    const bool hopeless = s->prices.ended || s->promised < PROMISE_HOPELESS * s->baseline,
               slight = s->promised < PROMISE_SLIGHT * s->baseline;
    int most;
    if (!affordable(s, 0, &most)) return false;
    if (slight && few_candidates(s) < most) most = few_candidates(s);
    if (!hopeless && !add_alone(s, nset, set, most, all, list, &n)) return false;
    if (!hopeless && !add_together(s, nset, set, all, list, &n)) return false;
    if (!add_everywhere(s, slight, list, &n)) return false;
    if (hopeless && has_open_sizes(s) && !add_shorter_moves(s, list, &n)) return false;
    return !n || candidates_time(s, n, list);
}

/* Sets *out to candidate `best` with the k-th set switched: added if absent, removed if present.
   Returns false if there is no k-th set. */
static bool toggled_set(CommandSearch *s, int best, int nset, const int set[], int k,
                        ModelCandidate *out) {
    double sum;
    if (k >= nset) return false;
    bool *on = ARENA_NEW(s->r->arena, bool, s->places.nset);
    memcpy(on, s->candidate[best].sets, sizeof *on * (size_t)s->candidate[best].nset);
    on[set[k]] = !on[set[k]];
    *out = candidate_of_sets(s, on, &sum);
    return true;
}

/* Sets *out to candidate `best`, whose rules are used everywhere, without the k-th of the rules
   that it applied. Returns false if there is none. */
static bool without_rule(CommandSearch *s, int best, int k, ModelCandidate *out) {
    const int n = s->r->library.n;
    uint8_t *role =
        arena_copy(s->r->arena, s->candidate[best].everywhere, sizeof *role * (size_t)n);
    for (int r = 0; r < n; r++) {
        if (!s->candidate[best].fired[r] || k--) continue;
        role[r] = ROLE_NONE;
        *out = (ModelCandidate){.everywhere = role};
        return true;
    }
    return false;
}

/* Does one round of hill climbing. A neighbour with fewer applications is accepted if it is as
   fast, one with more only if it is faster. */
static bool climb(CommandSearch *s, int round, int nset, const int set[], int *best) {
    const int from = *best;
    int list[CANDIDATE_BATCH + 1], n = 0, most;
    if (!affordable(s, round, &most)) return false;
    for (int k = 0; n < most; k++) {
        ModelCandidate c;
        if (s->candidate[from].sets ? !toggled_set(s, from, nset, set, k, &c)
                                    : !without_rule(s, from, k, &c))
            break;
        if (!make_listed(s, c, list, &n, NULL)) return false;
    }
    if (n && !candidates_time(s, n, list)) return false;
    for (int k = 0; k < n; k++) {
        const ModelCandidate *c = &s->candidate[list[k]], *b = &s->candidate[*best];
        const double limit = c->applied < s->candidate[from].applied ? AS_FAST : FASTER;
        if (c->ratio > 0 && c->ratio < (*best == from ? limit : 1) * b->ratio) *best = list[k];
    }
    return true;
}

bool combine(CommandSearch *s, int *best) {
    int set[SETS_ALONE], n;
    rank_places(s, timed_worths(s), timed_gains(s));
    n = strongest_sets(s, set);
    if (!first_batch(s, n, set)) return false;
    *best = best_of(s);
    for (int round = 1, from = 0;
         round <= CLIMB_ROUNDS && *best != from && s->candidate[*best].ratio <= CLIMB_FROM;
         round++) {
        from = *best;
        if (!climb(s, round, n, set, best)) return false;
    }
    return true;
}

/* Whether a candidate of this ratio speaks for going on with the search. One that failed (-1) says
   nothing about the others, so the search goes on. */
static bool may_gain(double ratio) { return ratio <= CLIMB_FROM; }

/* Times candidates anew before the search ends for lack of a gain, since the target's sessions of
   one file differ and ending because of noise would lose a gain: the fastest candidate and all that
   may gain. If the copy of the original differs from the original beyond noise, nothing is known,
   and the search goes on. */
static bool time_promised_anew(CommandSearch *s, int n, const int list[], bool *gains) {
    int again[PROMISED_ALONE + 2], m = 0;
    double ratio[PROMISED_ALONE + 2], control, best = INFINITY;
    if (s->r->o->frozen) return true;
    for (int k = 0; k < n; k++) best = fmin(best, s->candidate[list[k]].ratio);
    for (int k = 0; k < n; k++)
        if (s->candidate[list[k]].ratio <= fmax(best, PROMISED_AGAIN)) again[m++] = list[k];
    if (!candidates_time_anew(s, m, again, ratio, &control)) return false;
    if (control > 0) *gains |= fabs(log(control)) > PROMISED_NOISE;
    for (int k = 0; k < m; k++) {
        /* Compare with the mean of original and copy. */
        if (control > 0) ratio[k] /= sqrt(control);
        run_say(s->r, "once more: %.4f", ratio[k]);
        *gains |= may_gain(ratio[k]);
    }
    return true;
}

bool combine_time_promised(void *search, const double gain[], bool *gains) {
    CommandSearch *s = search;
    int set[SETS_ALONE], list[PROMISED_ALONE + 2], n = 0, nset;
    rank_places(s, gain, gain);
    nset = strongest_sets(s, set);
    bool *all = all_sets(s);
    if (!add_alone(s, nset, set, PROMISED_ALONE, all, list, &n) ||
        !add_together(s, nset, set, all, list, &n) || (n && !candidates_time(s, n, list)))
        return false;
    *gains = !n;
    for (int k = 0; k < n; k++) *gains |= may_gain(s->candidate[list[k]].ratio);
    return *gains || time_promised_anew(s, n, list, gains);
}
