/* harvest.c -- makes rules from the merged runs of a level: classes, then candidates, then those
   candidates lifted that others do not imply.

   The crew works in batches. Within a batch, each part is judged by what was known before the
   batch; afterwards one thread takes the findings over in order. A verdict that these findings
   could have changed is made again. The result is therefore the same as if one thread had done
   everything in order. */
#include "generator/generate_inner.h"
#include "ops/base/process.h"
#include <stdlib.h>
#include <string.h>

enum {
    DERIVE_TERMS = 64,
    BATCH_RECORDS = 1 << 14,
    BATCH_PARTS = 1 << 13,
    BATCH_LIFTS = 128,
    GRAIN = 16
};

/* ---- classes */

typedef struct Batch {
    Cleanup cleanup; /* frees the lists */
    Generator *g;
    LevelStats *stats;
    size_t n, room, ngroup, group_room;
    Record *record;
    Judgement *judgement;
    size_t *group; /* index of each group's first record */
} Batch;

static size_t group_size(const Batch *b, uint64_t k) {
    return (k + 1 < b->ngroup ? b->group[k + 1] : b->n) - b->group[k];
}

static void judge_group(CrewThread *x, void *user, uint64_t k) {
    Batch *b = user;
    TermClasses view = term_classes_view(b->g->classes, x->s, x->first, x->second);
    term_classes_judge(&view, b->record + b->group[k], group_size(b, k), x->batch,
                       b->judgement + b->group[k]);
}

static bool judge_batch(Batch *b) {
    Generator *g = b->g;
    const bool ok = crew_run(g->crew, b->ngroup, GRAIN, judge_group, b, g->error);
    for (size_t k = 0; k < b->ngroup && ok; k++)
        classes_add_group(g->classes, b->record + b->group[k], group_size(b, k),
                          b->judgement + b->group[k], g->level == g->o->size, b->stats);
    crew_rest(g->crew);
    b->n = b->ngroup = 0;
    generate_tell(g, "classes", b->stats->terms, 0);
    return ok;
}

static void *grown_array(Generator *g, void *v, size_t room, size_t size) {
    v = mem_realloc(v, room * size);
    if (!v) escape_raise(arena_escape(g->arena), E_MEMORY, "out of memory for a batch of terms");
    return v;
}

static bool add_group(void *user, const Record *r, size_t n) {
    Batch *b = user;
    while (b->n + n > b->room || b->ngroup == b->group_room) {
        b->room = 2 * b->room + n + BATCH_RECORDS;
        b->group_room = 2 * b->group_room + BATCH_RECORDS;
        b->record = grown_array(b->g, b->record, b->room, sizeof *b->record);
        b->judgement = grown_array(b->g, b->judgement, b->room, sizeof *b->judgement);
        b->group = grown_array(b->g, b->group, b->group_room, sizeof *b->group);
    }
    memcpy(b->record + b->n, r, n * sizeof *r);
    b->group[b->ngroup++] = b->n;
    b->n += n;
    return b->n < BATCH_RECORDS || judge_batch(b);
}

static void batch_free(void *batch) {
    Batch *b = batch;
    mem_free(b->record);
    mem_free(b->judgement);
    mem_free(b->group);
}

bool harvest_classes(Generator *g, LevelStats *stats) {
    Batch *b = ARENA_NEW(g->arena, Batch, 1);
    b->g = g;
    b->stats = stats;
    cleanup_add(arena_escape(g->arena), &b->cleanup, batch_free, b);
    const bool ok = runs_merge(&g->runs, add_group, b, g->error) && judge_batch(b);
    cleanup_run(&b->cleanup);
    return ok;
}

/* ---- candidates */

typedef enum HarvestSource { OF_MEMBERS, OF_SYMMETRIES, OF_PAIRS } HarvestSource;
typedef struct CandidateSearch {
    Generator *g;
    HarvestSource source;
    uint32_t first;
    Finding *finding;
} CandidateSearch;

static void judge_entry(CrewThread *x, void *user, uint64_t k) {
    CandidateSearch *s = user;
    TermClasses view = term_classes_view(s->g->classes, x->s, x->first, x->second);
    uint32_t entry = s->first + (uint32_t)k;
    if (s->source == OF_MEMBERS) candidates_of_member(&view, entry, x->batch, &s->finding[k]);
    else if (s->source == OF_SYMMETRIES)
        candidates_of_symmetry(&view, entry, x->batch, &s->finding[k]);
    else candidates_of_pairs(&view, entry, s->g->o->size, x->batch, &s->finding[k]);
}

/* Finds the candidates of the entries from `first` up to but not including `end`. */
static bool candidates_find(Generator *g, HarvestSource source, uint32_t first, uint32_t end) {
    if (!g->finding) g->finding = ARENA_NEW(g->arena, Finding, BATCH_PARTS);
    CandidateSearch s = {g, source, first, g->finding};
    bool ok = true;
    for (uint32_t n; ok && s.first < end; s.first += n) {
        n = end - s.first < BATCH_PARTS ? end - s.first : BATCH_PARTS;
        memset(s.finding, 0, n * sizeof *s.finding);
        ok = crew_run(g->crew, n, GRAIN, judge_entry, &s, g->error);
        for (uint32_t k = 0; ok && k < n; k++) candidates_take(g->candidates, &s.finding[k]);
        crew_rest(g->crew);
        generate_tell(g, "candidates", s.first - first + n, end - first);
    }
    return ok;
}

bool harvest_equations(Generator *g, uint32_t member, uint32_t symmetry) {
    return candidates_find(g, OF_MEMBERS, member, g->classes->nmember) &&
           candidates_find(g, OF_SYMMETRIES, symmetry, g->classes->nsymmetry);
}
bool harvest_pairs(Generator *g) { return candidates_find(g, OF_PAIRS, 0, g->classes->nrep); }

/* ---- rules */

static int candidate_size(const Candidate *c) {
    return c->from.b.n > c->to.b.n ? c->from.b.n : c->to.b.n;
}

/* Sorts small candidates first, and among these the ones with more variables, so that a general
   candidate comes before its instances. */
static int candidate_compare(const void *a, const void *b) {
    const Candidate *const x = *(const Candidate *const *)a, *const y =
                                                                 *(const Candidate *const *)b;
    int p = candidate_size(x), q = candidate_size(y), r = x->from.b.n + x->to.b.n,
        s = y->from.b.n + y->to.b.n;
    if (p != q) return p - q;
    if (x->nvar != y->nvar) return y->nvar - x->nvar;
    if (r != s) return r - s;
    return memcmp(x, y, sizeof *x);
}

static bool derived(const Basis *b, Space *s, const Candidate *c, unsigned ranks,
                    BasisTrace *trace) {
    const int most = candidate_size(c) < TERM_OPS ? candidate_size(c) + 1 : TERM_OPS;
    const BasisSearch search = {DERIVE_TERMS, most, ranks};
    for (int k = 0; k < c->from.nout; k++) {
        Term x, y;
        if (!candidate_terms(s, c, k, &x, &y)) return false;
        if (basis_derive(b, s, &x, &y, search, trace) < 0 &&
            basis_derive(b, s, &y, &x, search, trace) < 0)
            return false;
    }
    return true;
}

/* Lets the candidate imply others. This must hold for all positive sizes that typing allows: other
   conditions do not compose, whereas "no size is 0" is the same condition for all rules. */
static void use_candidate(Generator *g, Basis *b, const Candidate *c, unsigned ranks) {
    for (int k = 0; k < c->from.nout; k++) {
        Term x, y;
        if (candidate_terms(g->s, c, k, &x, &y)) basis_add(b, &x, &y, ranks);
    }
}

static void keep_rule(Generator *g, const char *text, int size) {
    ARENA_GROW(g->arena, g->body, g->body_room, g->nbody + 1);
    g->body[g->nbody++] = (Body){text, size};
}

/* The verdict on a candidate, by the rules known before its batch or, if made again, by all rules
   so far. */
typedef struct Attempt {
    const Candidate *c;
    bool derived, lifted;
    unsigned ranks;
    LiftResult result;
    LiftMode mode;
    const char *text;
    BasisTrace trace;
} Attempt;
typedef struct Lifting {
    Generator *g;
    Attempt v[BATCH_LIFTS];
} Lifting;

static void lift(CrewThread *x, Attempt *a) {
    Text t = text_new(x->batch);
    if (a->lifted) return;
    a->result = lift_rule(x->lift, a->c, &a->mode, &a->ranks, &t);
    a->text = t.data;
    a->lifted = true;
}

/* The axis blocks that the candidate may have, but the rules that imply it lack. */
static unsigned ranks_missing(const Basis *b, CrewThread *x, Attempt *a) {
    unsigned missing = 0, may = lift_ranks(x->lift, a->c);
    for (unsigned one = RANKS_ALL; one <= RANKS_FRONT; one *= 2)
        if (may & one && !derived(b, x->s, a->c, one, &a->trace)) missing |= one;
    return missing;
}

/* Judges one candidate. One that other rules imply is still lifted if it may have axis blocks that
   they lack: with them it says more. */
static void attempt_pair(CrewThread *x, void *user, uint64_t k) {
    Lifting *l = user;
    Attempt *a = &l->v[k];
    const Basis *b = l->g->basis;
    a->trace = (BasisTrace){.arena = x->batch};
    a->derived = !l->g->o->all && derived(b, x->s, a->c, 0, &a->trace);
    unsigned missing = a->derived ? ranks_missing(b, x, a) : 0;
    if (a->derived && !missing) return;
    lift(x, a);
    a->derived = a->derived && !(a->result == LIFT_TRUE && a->ranks & missing);
}

static void conclude(Generator *g, const Attempt *a) {
    if (a->derived) {
        g->report->derived++;
        return;
    }
    g->report->untrue += a->result == LIFT_FALSE;
    g->report->untried += a->result == LIFT_UNTRIED;
    if (a->result != LIFT_TRUE || a->mode > LIFT_NUMBERS)
        term_classes_conditional(g->classes, a->c->type, a->c->source, g->level == g->o->size);
    if (a->result != LIFT_TRUE) return;
    if (a->mode <= LIFT_NUMBERS) use_candidate(g, g->basis, a->c, a->ranks);
    g->report->mode[a->mode]++;
    keep_rule(g, arena_string(g->arena, a->text, strlen(a->text)), a->c->from.b.n + a->c->to.b.n);
}

typedef struct Again {
    Lifting *l;
    uint64_t k;
} Again;
static void attempt_one(CrewThread *x, void *user, uint64_t part) {
    Again *a = user;
    attempt_pair(x, a->l, a->k + part);
}
/* Judges candidate k again, by all rules so far. */
static bool attempt_again(Lifting *l, uint64_t k) {
    return crew_run(l->g->crew, 1, 1, attempt_one, &(Again){l, k}, l->g->error);
}

static bool lift_batch(Lifting *l, const Candidate **c, uint64_t n) {
    Generator *g = l->g;
    uint32_t known = basis_count(g->basis);
    for (uint64_t k = 0; k < n; k++) l->v[k] = (Attempt){.c = c[k]};
    if (!crew_run(g->crew, n, 1, attempt_pair, l, g->error)) return false;
    for (uint64_t k = 0; k < n; k++) {
        if (basis_touched(g->basis, known, &l->v[k].trace) && !attempt_again(l, k)) return false;
        conclude(g, &l->v[k]);
    }
    crew_rest(g->crew);
    return true;
}

/* Lifts the candidates from `first` on that those before them do not imply. A rule that is true
   only under conditions neither implies others nor makes its term superfluous, so that term is
   extended, too. */
bool harvest_rules(Generator *g, int first) {
    Candidates *c = g->candidates;
    int n = c->n - first, many;
    bool ok = true;
    double start = process_clock();
    const Candidate **order = ARENA_NEW(g->arena, const Candidate *, n);
    Lifting *l = ARENA_NEW(g->arena, Lifting, 1);
    l->g = g;
    for (int k = 0; k < n; k++) order[k] = &c->v[first + k];
    qsort(order, (size_t)n, sizeof *order, candidate_compare);
    for (int k = 0; ok && k < n; k += many) {
        many = n - k < BATCH_LIFTS ? n - k : BATCH_LIFTS;
        generate_tell(g, "rules", (uint64_t)k, (uint64_t)n);
        ok = lift_batch(l, order + k, (uint64_t)many);
    }
    g->report->lift += process_clock() - start;
    return ok;
}

/* ---- text */

static int body_compare(const void *a, const void *b) {
    const Body *x = a, *y = b;
    if (x->size != y->size) return x->size - y->size;
    return strcmp(x->text, y->text);
}

void harvest_print(Generator *g, Text *out) {
    Body *body = g->body;
    int n = g->nbody;
    if (n) qsort(body, (size_t)n, sizeof *body, body_compare);
    for (int k = 0; k < n; k++) {
        if (k && !strcmp(body[k].text, body[k - 1].text)) {
            g->report->equal_texts++;
            continue;
        }
        text_add(out, "%srule %s-%d-%llu\n%s", g->report->rules ? "\n" : "", g->s->name, g->o->size,
                 (unsigned long long)g->report->rules + 1, body[k].text);
        g->report->rules++;
    }
}
