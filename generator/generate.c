/* generate.c -- runs the levels: workers enumerate tasks of a level into sorted runs; the merged runs grow the classes;
   what is equal becomes candidates, those that smaller rules do not give are lifted and printed. */
#include "generator/basis.h"
#include "generator/generate.h"
#include "generator/lift.h"
#include "generator/shard.h"
#include "ops/base/random.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_SECONDS = 5, DERIVE_TERMS = 64 };
typedef struct Generator Generator;
typedef struct Body { /* a rule without its name */
    const char *text;
    int size; /* operators on both sides */
} Body;
typedef struct Worker {
    Generator *g;
    Escape escape;
    World *w;
    Values *v;
    Record *record;
    size_t n, room;
    uint64_t *task, mine; /* tasks in the records; the next one this worker does */
    size_t ntask, task_room;
    double flushed;
    EnumerateStats stats;
    pthread_t thread;
    bool ok;
    Error error;
} Worker;
struct Generator {
    const GenerateOptions *o;
    GenerateReport *report;
    Arena *arena;
    Error *error;
    World *w;
    Space *s;
    Classes *classes;
    Runs runs;
    int level, mine; /* mine: runs of the level that are not from other processes */
    size_t received;
    atomic_ullong next, terms, finished;
    double start;
    Worker *worker;
    Candidates *candidates;
    Basis *basis;
    Lift *lift;
    int nbody, body_room;
    Body *body;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tell(Generator *g, const char *stage, uint64_t done, uint64_t total) {
    GenerateProgress p = {stage, g->level, done, total, atomic_load(&g->terms), g->classes->nrep, now() - g->start};
    if (g->o->progress) g->o->progress(g->o->user, &p);
}

/* ---- workers */

static uint64_t claim(Generator *g) {
    uint64_t task;
    do task = atomic_fetch_add(&g->next, 1);
    while (g->o->nshard > 1 && g->level && task % (uint64_t)g->o->nshard != (uint64_t)g->o->shard);
    return task;
}

static bool flush(Worker *x, bool last) {
    Generator *g = x->g;
    bool full = x->n * sizeof(Record) > g->o->memory / (2 * (size_t)g->o->jobs);
    bool to_disk = full || (g->o->folder && (last || now() - x->flushed > FLUSH_SECONDS));
    if (!to_disk && !last) return true;
    if (last && !x->n && !x->ntask) return true;
    bool ok = runs_add(&g->runs, x->record, x->n, x->task, x->ntask, to_disk, &x->error);
    x->record = NULL;
    x->n = x->room = x->ntask = 0;
    x->flushed = now();
    return ok;
}

static bool take_task(void *user, uint64_t task) {
    Worker *x = user;
    if (task != x->mine || !x->ok) return false;
    atomic_fetch_add(&x->g->finished, 1);
    if (x == x->g->worker) tell(x->g, "terms", atomic_load(&x->g->finished), 0);
    x->ok = flush(x, false);
    x->mine = claim(x->g);
    if (!x->ok || runs_is_done(&x->g->runs, task)) return false;
    if (x->ntask == x->task_room) {
        uint64_t *more = ARENA_NEW(x->w->arena, uint64_t, x->task_room = 2 * x->task_room + 256);
        if (x->ntask) memcpy(more, x->task, x->ntask * sizeof *more);
        x->task = more;
    }
    x->task[x->ntask++] = task;
    return true;
}

static void found(void *user, const Record *r) {
    Worker *x = user;
    if (x->n == x->room) {
        Record *more = mem_realloc(x->record, (x->room = x->room ? x->room + x->room / 2 : 4096) * sizeof *more);
        if (!more) escape_raise(&x->escape, E_MEMORY, "out of memory for terms");
        x->record = more;
    }
    x->record[x->n++] = *r;
    atomic_fetch_add(&x->g->terms, 1);
}

static bool is_representative(void *user, const Code *c) { return classes_is_rep(((Worker *)user)->g->classes, c); }

static void *work(void *user) {
    Worker *x = user;
    Generator *g = x->g;
    Enumerate e = {.v = x->v,
                   .size = g->level,
                   .exhaustive = g->o->exhaustive,
                   .is_representative = is_representative,
                   .take_task = take_task,
                   .found = found,
                   .user = x};
    x->ok = true;
    if (setjmp(x->escape.here)) {
        x->error = x->escape.error;
        x->ok = false;
        return NULL;
    }
    x->flushed = now();
    x->mine = claim(g);
    enumerate_run(&e);
    x->stats = e.stats;
    x->ok = x->ok && flush(x, true);
    return NULL;
}

static bool workers_open(Generator *g) {
    g->worker = ARENA_NEW(g->arena, Worker, g->o->jobs);
    for (int k = 0; k < g->o->jobs; k++) {
        Worker *x = &g->worker[k];
        x->g = g;
        if (setjmp(x->escape.here)) return *g->error = x->escape.error, false;
        x->w = graph_world_new(&x->escape, 0);
        Space *s = space_parse(x->w, g->s->path, g->s->text, g->s->text_size, g->error);
        if (!s) return false;
        s->exponents = g->s->exponents;
        x->v = values_new(s, 0, g->o->seed);
    }
    return true;
}

static bool enumerate_level(Generator *g) {
    atomic_store(&g->next, 0);
    atomic_store(&g->finished, 0);
    int n = g->level ? g->o->jobs : 1, started = 1;
    bool ok = true;
    for (; started < n; started++)
        if (pthread_create(&g->worker[started].thread, NULL, work, &g->worker[started])) break;
    work(&g->worker[0]);
    for (int k = 1; k < started; k++) pthread_join(g->worker[k].thread, NULL);
    for (int k = 0; k < started; k++) {
        if (!g->worker[k].ok && ok) *g->error = g->worker[k].error;
        ok &= g->worker[k].ok;
        g->report->level[g->level].prefixes += g->worker[k].stats.prefixes;
    }
    g->runs.tasks = g->worker[0].stats.tasks;
    return ok;
}

/* ---- rules */

static int body_compare(const void *a, const void *b) {
    const Body *x = a, *y = b;
    if (x->size != y->size) return x->size - y->size;
    return strcmp(x->text, y->text);
}

static void print_rules(Generator *g, Body *body, int n, Text *out) {
    if (n) qsort(body, (size_t)n, sizeof *body, body_compare);
    for (int k = 0; k < n; k++) {
        if (k && !strcmp(body[k].text, body[k - 1].text)) {
            g->report->doubles++;
            continue;
        }
        text_add(out, "%srule %s-%d-%llu\n%s", g->report->rules ? "\n" : "", g->s->name, g->o->size,
                 (unsigned long long)g->report->rules + 1, body[k].text);
        g->report->rules++;
    }
}

static int candidate_size(const Candidate *c) { return c->from.b.n > c->to.b.n ? c->from.b.n : c->to.b.n; }

/* Small ones first, of them those with more variables: what is general comes before its instances. */
static int candidate_compare(const void *a, const void *b) {
    const Candidate *const x = *(const Candidate *const *)a, *const y = *(const Candidate *const *)b;
    int p = candidate_size(x), q = candidate_size(y), r = x->from.b.n + x->to.b.n, s = y->from.b.n + y->to.b.n;
    if (p != q) return p - q;
    if (x->nvar != y->nvar) return y->nvar - x->nvar;
    if (r != s) return r - s;
    return memcmp(x, y, sizeof *x);
}

static bool derived(Generator *g, Basis *b, const Candidate *c) {
    int most = candidate_size(c) < TERM_OPS ? candidate_size(c) + 1 : TERM_OPS;
    for (int k = 0; k < c->from.nout; k++) {
        Term x, y;
        if (!candidate_terms(g->s, c, k, &x, &y)) return false;
        if (basis_derive(b, &x, &y, DERIVE_TERMS, most) < 0 && basis_derive(b, &y, &x, DERIVE_TERMS, most) < 0) return false;
    }
    return true;
}

/* Only what holds for all positive sizes that type gives others: conditions do not compose, but that no size is 0 is one
   condition for all. */
static void use(Generator *g, Basis *b, const Candidate *c) {
    for (int k = 0; k < c->from.nout; k++) {
        Term x, y;
        if (candidate_terms(g->s, c, k, &x, &y)) basis_add(b, &x, &y);
    }
}

static void keep(Generator *g, const char *text, int size) {
    if (g->nbody == g->body_room) {
        Body *more = ARENA_NEW(g->arena, Body, g->body_room = 2 * g->body_room + 256);
        if (g->nbody) memcpy(more, g->body, (size_t)g->nbody * sizeof *more);
        g->body = more;
    }
    g->body[g->nbody++] = (Body){text, size};
}

/* Candidates from `first` on that those before them do not give are lifted. What is true only under conditions neither
   gives other rules nor makes its term needless: that is extended, too. */
static void lift_from(Generator *g, int first) {
    Candidates *c = g->candidates;
    int n = c->n - first;
    double start = now();
    const Candidate **order = ARENA_NEW(g->arena, const Candidate *, n);
    for (int k = 0; k < n; k++) order[k] = &c->v[first + k];
    qsort(order, (size_t)n, sizeof *order, candidate_compare);
    for (int k = 0; k < n; k++) {
        LiftMode mode;
        if (k % 64 == 0) tell(g, "rules", (uint64_t)k, (uint64_t)n);
        if (!g->o->all && derived(g, g->basis, order[k])) {
            g->report->derived++;
            continue;
        }
        Text t = text_new(g->arena);
        LiftResult r = lift_rule(g->lift, order[k], &mode, &t);
        g->report->untrue += r == LIFT_FALSE;
        g->report->untried += r == LIFT_UNTRIED;
        if (r != LIFT_TRUE || mode > LIFT_NUMBERS)
            classes_conditional(g->classes, order[k]->type, order[k]->source, g->level == g->o->size);
        if (r != LIFT_TRUE) continue;
        if (mode <= LIFT_NUMBERS) use(g, g->basis, order[k]);
        g->report->mode[mode]++;
        keep(g, t.data, order[k]->from.b.n + order[k]->to.b.n);
    }
    g->report->lift += now() - start;
}

/* ---- levels */

typedef struct Merge {
    Generator *g;
    LevelStats stats;
} Merge;
static void group(void *user, const Record *r, size_t n) {
    Merge *m = user;
    classes_add_group(m->g->classes, r, n, m->g->level == m->g->o->size, &m->stats);
    if (m->stats.terms % 4096 < n) tell(m->g, "classes", m->stats.terms, 0);
}

/* What shard 0 alone needs: the last level. */
static bool needs_level(const Generator *g, int shard) { return shard == 0 || g->level < g->o->size; }

typedef struct Parcel { /* what a run is announced by; the last one has more = false */
    uint64_t n;
    bool more;
} Parcel;

static bool link_lost(Generator *g) { return error_set(g->error, E_ENVIRONMENT, "", "another process failed, or could not be reached"); }

static bool send_runs(Generator *g, int to) {
    const GenerateLink *l = g->o->link;
    bool ok = true;
    for (int k = 0; k < g->mine && ok; k++) {
        Record *v = NULL;
        Parcel p = {g->runs.run[k].n, true};
        if (!runs_read(&g->runs, k, &v, g->error)) return mem_realloc(v, 0), false;
        ok = (l->send(l->user, to, &p, sizeof p) && l->send(l->user, to, v, p.n * sizeof *v)) || link_lost(g);
        mem_realloc(v, 0);
    }
    return ok && (l->send(l->user, to, &(Parcel){0, false}, sizeof(Parcel)) || link_lost(g));
}

static bool receive_runs(Generator *g, int from) {
    const GenerateLink *l = g->o->link;
    Parcel p;
    for (;;) {
        if (!l->receive(l->user, from, &p, sizeof p)) return link_lost(g);
        if (!p.more) return true;
        Record *v = mem_realloc(NULL, (p.n + 1) * sizeof *v);
        if (!v) return error_set(g->error, E_MEMORY, "", "out of memory for terms");
        if (!l->receive(l->user, from, v, p.n * sizeof *v)) return mem_realloc(v, 0), link_lost(g);
        g->received += p.n * sizeof *v;
        if (!runs_add(&g->runs, v, p.n, NULL, 0, g->received > g->o->memory / 2, g->error)) return false;
    }
}

/* One shard after the other sends its runs to those that need them. Who fails before leaves the others waiting: the program
   that made the link must end them all. */
static bool exchange(Generator *g) {
    const GenerateLink *l = g->o->link;
    bool ok = true;
    g->mine = g->runs.n;
    g->received = 0;
    for (int from = 0; from < l->n; from++)
        for (int to = 0; to < l->n && ok; to++) {
            if (from == to || !needs_level(g, to)) continue;
            if (l->rank == from) ok = send_runs(g, to);
            else if (l->rank == to) ok = receive_runs(g, from);
        }
    return ok;
}

/* Shards see each other's runs; each waits until all tasks are there. */
static bool gather(Generator *g) {
    if (g->o->nshard <= 1 || !g->level) return true;
    if (g->o->link && !g->o->folder) return exchange(g);
    for (;; usleep(50000)) {
        if (!runs_begin_level(&g->runs, g->level, g->error)) return false;
        if (g->runs.ndone >= g->runs.tasks) return true;
        tell(g, "waiting for shards", g->runs.ndone, g->runs.tasks);
    }
}

static bool run_level(Generator *g) {
    GenerateLevel *r = &g->report->level[g->level];
    Merge m = {.g = g};
    uint32_t member = g->classes->nmember, symmetry = g->classes->nsymmetry;
    uint64_t raw = g->candidates->raw;
    int kept = g->candidates->n;
    double t = now();
    if (!runs_begin_level(&g->runs, g->level, g->error) || !enumerate_level(g) || !gather(g)) return false;
    r->enumerate = now() - t;
    if (g->o->link && !needs_level(g, g->o->shard)) return true;
    if (!runs_merge(&g->runs, group, &m, g->error)) return false;
    candidates_add_level(g->candidates, g->classes, member, symmetry, g->level);
    r->merge = now() - t - r->enumerate;
    r->terms = m.stats.terms;
    r->classes = m.stats.classes;
    r->raw = g->candidates->raw - raw;
    r->kept = (uint64_t)(g->candidates->n - kept);
    g->report->nlevel = g->level + 1;
    lift_from(g, kept);
    return true;
}

/* What keys depend on: the set, the points. */
static uint64_t keys_digest(const Generator *g) {
    enum { SOME = 4 };
    Lanes x[SOME];
    memset(x, 0, sizeof x);
    lanes_draw(x, SOME, random_at(g->o->seed, g->o->exhaustive));
    return g->s->digest ^ hash_bytes(x, sizeof x);
}

static bool run(Generator *g, Text *out) {
    for (g->level = 0; g->level <= g->o->size; g->level++)
        if (!run_level(g)) return false;
    if (g->o->link && g->o->shard) return true;
    int before = g->candidates->n;
    g->level = g->o->size;
    candidates_add_pairs(g->candidates, g->classes, g->o->size);
    g->report->pairs = (uint64_t)(g->candidates->n - before);
    g->report->raw = g->candidates->raw;
    g->report->reduced = g->candidates->reduced;
    g->report->coincidences = g->classes->coincidences;
    g->report->candidates = (uint64_t)g->candidates->n;
    lift_from(g, before);
    print_rules(g, g->body, g->nbody, out);
    return true;
}

bool generate(const GenerateOptions *o, Arena *a, Text *out, GenerateReport *report, Error *e) {
    Generator *g = ARENA_NEW(a, Generator, 1);
    struct rusage usage;
    *report = (GenerateReport){0};
    g->o = o;
    g->report = report;
    g->arena = a;
    g->error = e;
    g->start = now();
    g->w = graph_world_new(arena_escape(a), 0);
    g->s = space_read(g->w, o->set, e);
    bool ok = g->s != NULL;
    if (ok) {
        g->s->exponents = space_has_functions(g->s);
        g->classes = classes_new(g->s, o->seed);
        g->candidates = candidates_new(a);
        g->basis = basis_new(g->s, a);
        g->lift = lift_new(arena_escape(a), g->s, random_at(o->seed, 3));
        ok = workers_open(g) && runs_open(&g->runs, a, o->folder, keys_digest(g), e);
    }
    ok = ok && run(g, out);
    if (g->classes) runs_close(&g->runs);
    for (int k = 0; g->worker && k < o->jobs; k++) {
        values_free(g->worker[k].v);
        if (g->worker[k].w) world_free(g->worker[k].w);
    }
    lift_free(g->lift);
    classes_free(g->classes);
    world_free(g->w);
    report->seconds = now() - g->start;
    if (!getrusage(RUSAGE_SELF, &usage)) report->peak = (size_t)usage.ru_maxrss * 1024;
    return ok;
}
