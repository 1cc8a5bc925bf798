/* price.c -- parts are cut out, rewritten, compared as texts over placeholders, and timed: a sample
   of each kind first, those first that may gain most for the time that this takes. */
#include "search/price.h"
#include "graphs/constants.h"
#include "graphs/fold.h"
#include "graphs/graph_text.h"
#include "graphs/needs.h"
#include "search/cost.h"
#include "search/finish.h"
#include "search/rank.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIE 0.98    /* a part that gains less gains nothing */
#define LITTLE 0.01 /* of the time of a sample: a smaller gain is not pursued */
#define BORDER 4    /* times a place's own time: a neighbour that takes more is left out */
#define NEAR 20e-6  /* seconds that a neighbour may take whatever the place takes */
#define CALL 2e-6   /* seconds that starting a node takes, whatever it computes */
#define LOSES 1.05  /* in a sample, clearly */
#define HOT 0.9     /* a rule by which a place gains this much may gain more with others */
#define START 0.1   /* seconds: loading the files of a batch .. */
#define CALLS 40    /* .. and how often each part is then called, about */
#define MARGIN 0.93 /* a smaller gain is timed twice: the best of many noisy times deceives */
enum { VISIBLE = 64, BATCH = 8, SAMPLE = 5, CLEAR = 2, JUDGED = 8 };

/* A place as a model of its own, and its rewriting, in the World of the run. */
typedef struct CutPart {
    RunSource source;
    World *w;
    Arena *arena;
    Error error;
    WorldMark mark;
    Pieces file;
    Derivation d;
} CutPart;

/* ---- cutting */

/* The part around the nodes `core` of the whole. */
static bool read_part(CutPart *p, const Run *whole, const bool core[], PartBorder border,
                      int *nnode, int **node, const char **why) {
    RunSource *s = &p->source;
    s->sizes = whole->source.sizes;
    *nnode = model_part(whole->source.model, p->arena, s->sizes, core, border, &p->file, node, why);
    if (!*nnode) return false;
    const OpenValues open = {.bytes = pieces_join(&p->file, p->arena),
                             .nbytes = p->file.size,
                             .base_path = whole->in,
                             .ndomain = whole->domain.n,
                             .domain = whole->domain.v};
    s->model = model_open_values(p->w, "part", &open, &p->error);
    if (!s->model) return *why = arena_format(p->arena, "%s", p->error.reason), false;
    s->original = *model_graph(s->model);
    if (!graph_fold(p->w, p->arena, &s->original, VISIBLE, &s->start, &s->prefold, &p->error))
        return *why = "its constants cannot be computed", false;
    s->model_nodes = node_count(p->w);
    s->facts = graph_facts(p->w, p->arena, &s->original);
    return true;
}

static bool rewrite_part(CutPart *p, const Library *l, int nnode, const int node[],
                         const bool core[], const UseSet *set) {
    const uint8_t **at = ARENA_NEW(p->arena, const uint8_t *, nnode);
    bool *on = ARENA_NEW(p->arena, bool, l->n);
    for (int k = 0; k < nnode; k++)
        if (core[node[k]]) at[k] = set->use;
    uses_add(l, set->use, on);
    const Origins o = origins_find(&p->source, p->w, p->arena);
    const Choice choice = origins_choice(&o, p->arena, at);
    p->d = run_derivation(&p->source, l, p->w, p->arena);
    return derive_fixpoint(&p->d, on, &choice, APPLICATIONS, &p->error);
}

static PartBorder border_of(const Pricing *x, const Place *at) {
    double own = 0;
    for (int k = 0; k < at->n && x->profile->known; k++) own += x->profile->seconds[at->node[k]];
    return (PartBorder){x->profile->known ? x->profile->seconds : NULL, fmax(NEAR, BORDER * own)};
}

/* False: *why, in the arena of the part. close_part in any case. */
static bool open_part(CutPart *p, const Pricing *x, int place, const char **why) {
    const Run *whole = x->r;
    const Place *at = &x->places->place[place];
    int nnode, *node;
    *p = (CutPart){.w = whole->w, .mark = world_mark(whole->w)};
    p->arena = arena_new(whole->escape, 0);
    bool *core = ARENA_NEW(p->arena, bool, model_stats(whole->source.model).nodes);
    for (int k = 0; k < at->n; k++) core[at->node[k]] = true;
    *why = NULL;
    if (!read_part(p, whole, core, border_of(x, at), &nnode, &node, why)) return false;
    return rewrite_part(p, &whole->library, nnode, node, core, &x->places->set[at->set]) ||
           (*why = p->error.reason, false);
}

static void close_part(CutPart *p) {
    model_close(p->source.model);
    arena_free(p->arena);
    world_reset(p->w, p->mark);
}

/* ---- what is alike */

/* Inputs, and constants whose values do not matter, are replaced by numbered inputs, the same in
   both graphs. */
static void print_alike(CutPart *p, const Graph *g, ValueMap *map, int *serial, Text *t) {
    World *w = p->w;
    Error ignored = {0};
    NodeList live = graph_live(w, p->arena, g), rest = {0, ARENA_NEW(p->arena, NodeId, live.n)};
    Value *out = ARENA_NEW(p->arena, Value, g->nout);
    for (int k = 0; k < live.n; k++) {
        const NodeId v = live.v[k];
        const bool constant = constant_get(w, v, NULL, NULL) && !constant_plain(w, v);
        if (v < map->n && map->to[v]) continue;
        if (input_name(w, v) || constant)
            map->to[v] =
                graph_input(w, arena_format(p->arena, "%c%d", constant ? 'k' : 'r', ++*serial),
                            value_type(w, v));
        else rest.v[rest.n++] = v;
    }
    if (!nodes_substitute(w, p->arena, rest, map, &ignored)) text_add(t, "%s", ignored.reason);
    for (int k = 0; k < g->nout; k++) out[k] = map_value(map, g->out[k]);
    graph_print(w, "part", &(Graph){0, g->nout, NULL, out}, t);
}

typedef struct Spelling {
    int n;
    const char **type; /* of each node of the file */
} Spelling;

static Spelling spelling_of(const CutPart *p) {
    const NodeList live = graph_live(p->w, p->arena, &p->source.original);
    Spelling s = {0, ARENA_NEW(p->arena, const char *, live.n)};
    for (int k = 0, last = -1; k < live.n; k++) {
        const int at = model_node_index(p->source.model, live.v[k]);
        model_node_name(p->source.model, live.v[k], &s.type[s.n]);
        s.n += at != last && s.type[s.n];
        last = at;
    }
    return s;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void digest_kind(CutPart *p, Spelling s, char out[33]) {
    Text t = text_new(p->arena);
    qsort(s.type, (size_t)s.n, sizeof *s.type, by_text);
    for (int k = 0; k < s.n; k++)
        if (!k || strcmp(s.type[k], s.type[k - 1])) text_add(&t, "%s ", s.type[k]);
    hash_hex(t.data ? t.data : "", t.size, out);
}

/* The spelling in the file counts, too: it affects what a runtime does with it. */
static void digest_part(CutPart *p, PartPrice *out) {
    Arena *a = p->arena;
    Text before = text_new(a), after = text_new(a);
    ValueMap map = value_map_new(p->w, a);
    int serial = 0;
    const Spelling s = spelling_of(p);
    for (int k = 0; k < s.n; k++) text_add(&before, "%s ", s.type[k]);
    digest_kind(p, s, out->kind);
    print_alike(p, &p->source.start, &map, &serial, &before);
    print_alike(p, &p->d.graph, &map, &serial, &after);
    hash_hex(before.data, before.size, out->before);
    hash_hex(after.data, after.size, out->after);
}

static double estimate_part(CutPart *p) {
    return cost_model(p->w, &p->source.start, p->source.sizes, NULL) +
           CALL * model_stats(p->source.model).nodes;
}

static int add_price(Pricing *x, const PartPrice *price) {
    for (int k = 0; k < x->n; k++)
        if (!strcmp(x->v[k].before, price->before) && !strcmp(x->v[k].after, price->after)) {
            /* Two sets that do the same at one place count it once. */
            const Places *p = x->places;
            x->v[k].count += p->place[x->v[k].place].set == p->place[price->place].set;
            return k;
        }
    ARENA_GROW(x->r->arena, x->v, x->room, x->n + 1);
    x->v[x->n] = *price;
    return x->n++;
}

/* Without a profile nothing is known, and any place may gain all. */
static double most_gained(const Pricing *x, int place) {
    const Place *at = &x->places->place[place];
    return x->profile->known ? profile_nodes(x->profile, at->n, at->node) : HUGE_VAL;
}

static bool compare_part(Pricing *x, int place) {
    CutPart p;
    const char *why;
    PartPrice price = {.place = place, .count = 1, .seconds = {-1, -1}};
    x->of[place] = -1;
    if (run_cancelled(x->r)) return false;
    const bool good = open_part(&p, x, place, &why);
    if (good && p.d.applied) {
        digest_part(&p, &price);
        hash_pieces(&p.file, price.file);
        price.estimate = estimate_part(&p);
        price.most = most_gained(x, place);
        x->of[place] = add_price(x, &price);
    }
    if (!good) x->why[place] = arena_format(x->r->arena, "%s", why ? why : "it cannot be read");
    close_part(&p);
    return true;
}

/* ---- times */

static const char *price_key(const Pricing *x, const PartPrice *p, const char *what) {
    return arena_format(x->r->arena, "part %s %s %s", p->before, p->after, what);
}

static const char *const times[] = {"before", "after"};

/* A failure is tried again, unless the run is frozen. */
static bool find_price(const Pricing *x, PartPrice *p) {
    double any;
    p->failed = x->r->o->frozen &&
                costdb_get(x->r->db, "target", x->device, price_key(x, p, "fails"), &any);
    for (int k = 0; k < 2 && !p->failed; k++)
        if (!costdb_get(x->r->db, "target", x->device, price_key(x, p, times[k]), &p->seconds[k]))
            return p->seconds[0] = p->seconds[1] = -1, false;
    p->expected = false;
    return true;
}

static bool store_price(const Pricing *x, const PartPrice *p) {
    CostDb *db = x->r->db;
    if (p->failed)
        return costdb_put(db, "target", x->device, price_key(x, p, "fails"), 1, x->r->error);
    for (int k = 0; k < 2; k++)
        if (!costdb_put(db, "target", x->device, price_key(x, p, times[k]), p->seconds[k],
                        x->r->error))
            return false;
    return true;
}

/* Writes the part as it was, unless path[0] is set, and rewritten; path[1] NULL: that cannot be
   written. */
static bool write_part(Pricing *x, const PartPrice *price, const char *path[2]) {
    CutPart p;
    Error *e = x->r->error;
    const FinishLimits limits = run_limits(x->r);
    const char *why;
    bool good = open_part(&p, x, price->place, &why);
    const char *name = arena_format(x->r->arena, "%s/part-%d", x->folder, ++x->nfile),
               *before = arena_format(x->r->arena, "%s-before.onnx", name);
    path[1] = NULL;
    if (good && !path[0]) {
        path[0] = before;
        if (!file_write_pieces(before, p.file.n, p.file.v, e)) return close_part(&p), false;
    }
    if (good && derivation_finish(&p.d, &p.source, &limits, &p.error)) {
        const ModelWrite w = {
            .graph = &p.d.graph, .map = &p.d.map, .tag = derivation_tag, .user = &p.d};
        const char *after = arena_format(x->r->arena, "%s.onnx", name);
        if (model_writable(p.source.model, &w, &why)) {
            path[1] = after;
            if (!model_write(p.source.model, &w, after, e)) return close_part(&p), false;
        }
    }
    close_part(&p);
    return true;
}

/* As the target says; a small gain is timed again, and the smaller of both counts. */
static bool time_files(Pricing *x, int n, const char *const path[], double seconds[]) {
    const char *some[BATCH + 1] = {path[0]};
    double again[BATCH + 1];
    int which[BATCH + 1], m = 1;
    if (!x->timer(x->user, n, path, seconds)) return false;
    for (int k = 1; k < n && seconds[0] > 0; k++)
        if (seconds[k] > MARGIN * seconds[0] && seconds[k] < TIE * seconds[0])
            which[m] = k, some[m++] = path[k];
    if (m == 1) return true;
    if (!x->timer(x->user, m, some, again)) return false;
    for (int k = 1; k < m && again[0] > 0; k++)
        seconds[which[k]] = fmax(seconds[which[k]], seconds[0] * again[k] / again[0]);
    return true;
}

static const char *set_name(const Pricing *x, const PartPrice *p) {
    const int seed = x->places->set[x->places->place[p->place].set].seed;
    return seed < 0 ? "all rules" : x->r->library.rule[seed].rule->name;
}

static bool keep_times(Pricing *x, PartPrice *p, double before, double after) {
    p->expected = false;
    p->failed = before <= 0 || after <= 0;
    if (p->failed) return store_price(x, p);
    p->seconds[0] = before, p->seconds[1] = after;
    run_say(x->r, "%.1f s: a part of %d places: %.4f -> %.4f ms, %s", run_seconds(x->r), p->count,
            before * 1e3, after * 1e3, set_name(x, p));
    return store_price(x, p);
}

/* Up to BATCH rewritings of one part, in one batch with it. */
static bool time_parts(Pricing *x, int n, const int list[]) {
    const char *path[BATCH + 1] = {NULL}, *pair[2] = {NULL};
    int which[BATCH], m = 0;
    double seconds[BATCH + 1];
    for (int k = 0; k < n; k++) {
        if (!write_part(x, &x->v[list[k]], pair)) return false;
        path[0] = pair[0];
        if (pair[1]) which[m++] = list[k], path[m] = pair[1];
    }
    bool good = !m || time_files(x, m + 1, path, seconds);
    x->batches += m > 0;
    for (int k = 0; k <= m; k++)
        if (path[k]) unlink(path[k]);
    for (int k = 0; k < m && good; k++)
        good = keep_times(x, &x->v[which[k]], seconds[0], seconds[1 + k]);
    return good;
}

static bool is_known(const PartPrice *p) { return p->seconds[0] > 0; }

/* A part by itself may be what the whole is not: with its sizes fixed the target fuses more. What
   it gains there beyond what its nodes take in the whole is not gained. */
static double part_gain(const PartPrice *p) { return fmin(p->seconds[0] - p->seconds[1], p->most); }

static double weight(const PartPrice *p) { return p->estimate * p->count; }

static bool worth_timing(const Pricing *x, const PartPrice *p) {
    return weight(p) >= x->least && p->most * p->count >= x->least_most;
}

/* The prices of one kind in a set, heaviest first. */
static int prices_of(const Pricing *x, int set, const char *kind, int *list) {
    int n = 0;
    for (int k = 0; k < x->places->n; k++) {
        const int price = x->of[k];
        bool known =
            price < 0 || x->places->place[k].set != set || strcmp(x->v[price].kind, kind) != 0;
        for (int j = 0; j < n && !known; j++) known = list[j] == price;
        if (known) continue;
        n = rank_insert(n, x->places->n, list, x->key, price, weight(&x->v[price]));
    }
    return n;
}

/* The index of the k-th of a sample of m, which has the first and the last of them. */
static int sample_at(int m, int k) { return m <= SAMPLE ? k : k * (m - 1) / (SAMPLE - 1); }

static int sample_size(int m) { return m < SAMPLE ? m : SAMPLE; }

/* All of a sample gain: what was not timed is expected to gain by the worst of their ratios, its
   time being its estimate scaled as theirs. Timing the whole model decides in the end. */
static void expect_rest(Pricing *x, int m, const int list[]) {
    double time = 0, estimates = 0, ratio = 0;
    for (int k = 0; k < m; k++) {
        const PartPrice *p = &x->v[list[k]];
        if (!is_known(p) || p->expected) continue;
        time += p->seconds[0], estimates += p->estimate;
        ratio = fmax(ratio, p->seconds[1] / p->seconds[0]);
    }
    for (int k = 0; k < m && estimates > 0; k++) {
        PartPrice *p = &x->v[list[k]];
        if (is_known(p) || p->failed) continue;
        p->expected = true;
        p->seconds[0] = p->estimate * time / estimates;
        p->seconds[1] = p->seconds[0] * ratio;
    }
}

typedef enum SampleVerdict { NONE_GAINS, SOME_GAIN, ALL_GAIN } SampleVerdict;

/* Of a sample that was timed. A gain below a hundredth of its time is not pursued. */
static SampleVerdict judge_sample(const Pricing *x, int m, const int list[]) {
    double time = 0, gain = 0;
    int known = 0, sure = 0;
    for (int k = 0; k < sample_size(m); k++) {
        const PartPrice *p = &x->v[list[sample_at(m, k)]];
        if (!is_known(p)) continue;
        known++, time += p->seconds[0] * p->count;
        if (!price_sure(p)) continue;
        sure++, gain += part_gain(p) * p->count;
    }
    return gain < LITTLE * time || !sure ? NONE_GAINS
           : sure == known && sure > 1   ? ALL_GAIN
                                         : SOME_GAIN;
}

/* The kinds of parts in a set, each by one of them. */
static int kinds_of(const Pricing *x, int set, int *list) {
    int n = 0;
    for (int k = 0; k < x->places->n; k++) {
        bool known = x->of[k] < 0 || x->places->place[k].set != set;
        for (int j = 0; j < n && !known; j++)
            known = !strcmp(x->v[list[j]].kind, x->v[x->of[k]].kind);
        if (!known) list[n++] = x->of[k];
    }
    return n;
}

/* ---- what is timed, in which order */

/* By place of one kind in one set: the seconds that it gains; where it was not timed, in
   proportion to those of its kind that were. */
static void expect(const Pricing *x, int set, const char *kind, double *gain) {
    double known = 0, gained = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < x->nplace; k++) {
            const PartPrice *p = x->of[k] < 0 ? NULL : &x->v[x->of[k]];
            if (!p || x->places->place[k].set != set || strcmp(p->kind, kind)) continue;
            const double own = price_sure(p) ? part_gain(p) : 0;
            if (!pass && is_known(p)) known += p->estimate, gained += own;
            if (pass) gain[k] = is_known(p) ? own : known > 0 ? p->estimate * gained / known : 0;
        }
}

/* Seconds that all places gain, each node of the file counted once. */
static double all_promise(const Pricing *x) {
    Arena *a = arena_new(x->r->escape, 0);
    const Places *p = x->places;
    const int nnode = model_stats(x->r->source.model).nodes;
    double *share = ARENA_NEW(a, double, nnode), *gain = ARENA_NEW(a, double, p->n), sum = 0;
    int *kind = ARENA_NEW(a, int, p->n);
    for (int set = 0; set < x->nset; set++) {
        const int n = kinds_of(x, set, kind);
        for (int k = 0; k < n; k++) expect(x, set, x->v[kind[k]].kind, gain);
    }
    for (int k = 0; k < x->nplace; k++)
        for (int j = 0; j < p->place[k].n; j++) {
            double *at = &share[p->place[k].node[j]];
            *at = fmax(*at, gain[k] / p->place[k].n);
        }
    for (int k = 0; k < nnode; k++) sum += share[k];
    arena_free(a);
    return sum;
}

static const char *end_key(const Pricing *x) {
    return arena_format(x->r->arena, "%s gave up", x->r->source.digest);
}

/* Whether the run that filled the cost file ended its search here: then nothing is missing in
   it. */
static bool gave_up_once(const Pricing *x) {
    double seconds;
    return costdb_get(x->r->db, "target", x->device, end_key(x), &seconds);
}

/* Decides when patience is over whether the search goes on: then again after twice the time, when
   more must be promised, since what is not timed yet is expected to gain like what was timed first.
   False: the run's error is set. */
static bool judge_patience(Pricing *x) {
    const double now = run_seconds(x->r);
    if (x->ended || x->patience <= 0 || x->r->o->frozen) return true;
    if (now < (x->sampled ? x->patience : 2 * x->patience)) return true;
    if (!x->sampled && x->batches < JUDGED) return true; /* on a busy machine */
    const double sum = all_promise(x);
    run_say(x->r, "%.1f s: what was timed promises %.3f ms", now, sum * 1e3);
    x->ended = sum < x->hopeful;
    x->patience = 2 * now, x->hopeful = x->hopeful_later;
    return !x->ended || costdb_put(x->r->db, "target", x->device, end_key(x), now, x->r->error);
}

/* One batch: list[k], unless it was timed or is not worth it, and the others of the list that
   rewrite the same part. */
static bool time_one(Pricing *x, int n, const int list[], int k) {
    int batch[BATCH], m = 0;
    const PartPrice *first = &x->v[list[k]];
    for (int j = k; j < n && m < BATCH; j++) {
        PartPrice *p = &x->v[list[j]];
        if (p->asked || strcmp(p->file, first->file) || !worth_timing(x, p)) continue;
        p->asked = true;
        if (find_price(x, p)) continue;
        if (x->r->o->frozen) x->r->stats.frozen_missing += !gave_up_once(x);
        else if (!run_time_over(x->r, x->until)) batch[m++] = list[j];
    }
    return !m || (!run_cancelled(x->r) && time_parts(x, m, batch) && judge_patience(x));
}

static bool time_listed(Pricing *x, int n, const int list[]) {
    for (int k = 0; k < n && !x->ended; k++)
        if (!time_one(x, n, list, k)) return false;
    return true;
}

/* By price: it belongs to a set grown from a rule by which some place gains clearly. */
static void find_hot(const Pricing *x, bool hot[], bool rule[]) {
    const Places *p = x->places;
    memset(hot, 0, sizeof *hot * (size_t)x->n);
    memset(rule, 0, sizeof *rule * (size_t)x->r->library.n);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < x->nplace; k++) {
            const int seed = p->set[p->place[k].set].seed, at = x->of[k];
            if (seed < 0 || at < 0) continue;
            if (pass) hot[at] |= rule[seed];
            else if (is_known(&x->v[at]) && x->v[at].seconds[1] < HOT * x->v[at].seconds[0])
                rule[seed] = true;
        }
}

/* What the places of a part may gain by the profile, for each second that timing it takes. */
static double urgency(const Pricing *x, const PartPrice *p) {
    return (x->profile->known ? p->most * p->count : 1) / (START + CALLS * p->estimate);
}

/* Sets grown from a gain first; otherwise the most urgent part. */
static bool time_urgent_first(Pricing *x, int n, int list[]) {
    bool *hot = ARENA_NEW(x->r->arena, bool, x->n),
         *rule = ARENA_NEW(x->r->arena, bool, x->r->library.n);
    for (int done = 0; done < n && !x->ended; done++) {
        int next = done;
        find_hot(x, hot, rule);
        for (int k = done + 1; k < n; k++) {
            const int i = list[k], j = list[next];
            if (hot[i] != hot[j] ? hot[i] : urgency(x, &x->v[i]) > urgency(x, &x->v[j])) next = k;
        }
        const int first = list[next];
        list[next] = list[done], list[done] = first;
        if (!time_one(x, n, list, done)) return false;
    }
    return true;
}

/* The order in which a sample of m is timed: the heaviest, the lightest, those between. */
static int sample_order(int m, int round) {
    return round == 0 ? 0 : round == 1 ? sample_size(m) - 1 : round - 1;
}

/* The first ones of a sample all lose clearly. */
static bool hopeless_kind(const Pricing *x, int m, const int list[], int round) {
    int known = 0;
    for (int k = 0; k < round && k < sample_size(m); k++) {
        const PartPrice *p = &x->v[list[sample_at(m, sample_order(m, k))]];
        if (!is_known(p)) continue;
        if (p->seconds[1] < LOSES * p->seconds[0]) return false;
        known++;
    }
    return known >= CLEAR;
}

/* The next part of the sample of each kind in each set. */
static bool time_samples(Pricing *x, int from, int round, int *kind, int *list) {
    int *some = NULL, n = 0, room = 0;
    for (int set = from; set < x->nset; set++) {
        const int nkind = kinds_of(x, set, kind);
        for (int i = 0; i < nkind; i++) {
            const int m = prices_of(x, set, x->v[kind[i]].kind, list);
            if (round >= sample_size(m) || hopeless_kind(x, m, list, round)) continue;
            ARENA_GROW(x->r->arena, some, room, n + 1);
            some[n++] = list[sample_at(m, sample_order(m, round))];
        }
    }
    return time_urgent_first(x, n, some);
}

/* Of each kind in a set a few were timed, large and small. If none of them gains, the rest is
   skipped; if all do, it is expected to; otherwise it is timed too. */
static bool time_rest(Pricing *x, int set, int *kind, int *list) {
    const int nkind = kinds_of(x, set, kind);
    for (int i = 0; i < nkind; i++) {
        const int m = prices_of(x, set, x->v[kind[i]].kind, list);
        const SampleVerdict v = judge_sample(x, m, list);
        if (v == ALL_GAIN) expect_rest(x, m, list);
        if (v == SOME_GAIN && !time_listed(x, m, list)) return false;
    }
    return true;
}

static bool time_sets(Pricing *x) {
    const int from = x->nset;
    int *kind = ARENA_NEW(x->r->arena, int, x->places->n),
        *list = ARENA_NEW(x->r->arena, int, x->places->n);
    x->nset = x->places->nset;
    for (int round = 0; round < SAMPLE && !x->ended; round++) {
        if (!time_samples(x, from, round, kind, list)) return false;
        x->sampled = true;
    }
    for (int s = from; s < x->nset && !x->ended; s++)
        if (!time_rest(x, s, kind, list)) return false;
    return true;
}

bool price_sure(const PartPrice *p) { return is_known(p) && p->seconds[1] < TIE * p->seconds[0]; }

double price_gain(const Pricing *x, int place) {
    const PartPrice *p = x->of[place] < 0 ? NULL : &x->v[x->of[place]];
    return !p || p->seconds[0] < 0 ? -1 : part_gain(p);
}

bool price_places(Pricing *x) {
    Arena *a = x->r->arena;
    ARENA_GROW(a, x->of, x->of_room, x->places->n);
    ARENA_GROW(a, x->why, x->why_room, x->places->n);
    ARENA_GROW(a, x->key, x->key_room, x->places->n);
    for (; x->nplace < x->places->n; x->nplace++)
        if (!compare_part(x, x->nplace)) return false;
    return time_sets(x);
}
