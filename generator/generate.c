/* generate.c -- runs the generator level by level. Workers enumerate the tasks of a level into
   sorted runs. The merged runs extend the classes, terms that are equal become candidates, and the
   candidates that smaller rules do not imply are lifted and printed. */
#include "generator/generate_inner.h"
#include "ops/base/interrupt.h"
#include "ops/base/process.h"
#include "ops/base/random.h"
#include "graphs/world.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_SECONDS = 5 };
typedef struct GenerateWorker {
    Generator *g;
    CrewThread *thread;
    Record *record;
    size_t n, room; /* records that are in no run yet, and the room for them */
    /* Tasks that these records come from; the next task that this worker does. */
    uint64_t *task, next_task;
    size_t ntask, task_room;
    double flushed; /* when records last became a run (process_clock) */
    EnumerateStats stats;
    bool ok;
    Error error;
} GenerateWorker;

/* ---- workers */

/* The next task for a worker of this shard. */
static uint64_t claim(Generator *g) {
    uint64_t task;
    do task = atomic_fetch_add(&g->next, 1);
    while (g->o->nshard > 1 && g->level && task % (uint64_t)g->o->nshard != (uint64_t)g->o->shard);
    return task;
}

/* Makes a run of the worker's records at the end of the level, and before that if they take too
   much memory or a folder is to keep them. Only a run at the end of the level, without a folder,
   stays in memory. */
static bool flush(GenerateWorker *x, bool last) {
    Generator *g = x->g;
    bool full = x->n * sizeof(Record) > g->o->memory / (2 * (size_t)g->o->jobs);
    bool to_disk =
        full || (g->o->folder && (last || process_clock() - x->flushed > (double)FLUSH_SECONDS));
    if (!to_disk && !last) return true;
    if (last && !x->n && !x->ntask) return true;
    bool ok = runs_add(&g->runs, x->record, x->n, x->task, x->ntask, to_disk, &x->error);
    x->record = NULL;
    x->n = x->room = x->ntask = 0;
    x->flushed = process_clock();
    return ok;
}

static bool take_task(void *user, uint64_t task) {
    GenerateWorker *x = user;
    interrupted_raise(x->g->o->cancel, &x->thread->escape);
    if (task != x->next_task || !x->ok) return false;
    atomic_fetch_add(&x->g->finished, 1);
    if (x == x->g->worker) generate_tell(x->g, "terms", atomic_load(&x->g->finished), 0);
    x->ok = flush(x, false);
    x->next_task = claim(x->g);
    if (!x->ok || runs_is_done(&x->g->runs, task)) return false;
    ARENA_GROW(x->thread->w->arena, x->task, x->task_room, x->ntask + 1);
    x->task[x->ntask++] = task;
    return true;
}

static void write_found(void *user, const Record *r) {
    GenerateWorker *x = user;
    interrupted_raise(x->g->o->cancel, &x->thread->escape);
    if (x->n == x->room) {
        const size_t room = x->room ? x->room + x->room / 2 : 4096;
        Record *more = mem_realloc(x->record, room * sizeof *more);
        if (!more) escape_raise(&x->thread->escape, E_MEMORY, "out of memory for terms");
        x->record = more;
        x->room = room;
    }
    x->record[x->n++] = *r;
    atomic_fetch_add(&x->g->terms, 1);
}

static bool is_representative(void *user, const Code *c) {
    const GenerateWorker *x = user;
    interrupted_raise(x->g->o->cancel, &x->thread->escape);
    return classes_is_rep(x->g->classes, c);
}

static void do_task(CrewThread *thread, void *user, uint64_t k) {
    Generator *g = user;
    GenerateWorker *x = &g->worker[k];
    Enumerate e = {.v = thread->first,
                   .size = g->level,
                   .exhaustive = g->o->exhaustive,
                   .is_representative = is_representative,
                   .take_task = take_task,
                   .found = write_found,
                   .user = x};
    x->thread = thread;
    x->ok = true;
    x->flushed = process_clock();
    x->next_task = claim(g);
    enumerate_run(&e);
    x->stats = e.stats;
    x->ok = x->ok && flush(x, true);
}

static bool enumerate_level(Generator *g) {
    atomic_store(&g->next, 0);
    atomic_store(&g->finished, 0);
    int n = g->level ? g->o->jobs : 1;
    for (int k = 0; k < n; k++) g->worker[k].g = g;
    bool ok = crew_run(g->crew, (uint64_t)n, 1, do_task, g, g->error);
    for (int k = 0; k < n; k++) {
        if (!g->worker[k].ok && ok) *g->error = g->worker[k].error;
        ok &= g->worker[k].ok;
        g->report->level[g->level].prefixes += g->worker[k].stats.prefixes;
    }
    g->runs.tasks = g->worker[0].stats.tasks;
    return ok;
}

/* ---- levels */

/* Whether this shard needs the records of the level. Only shard 0 needs the last level, since it
   makes the rules. */
static bool needs_level(const Generator *g, int shard) {
    return shard == 0 || g->level < g->o->size;
}

typedef struct Parcel { /* announces a run; `more` is false after the last run */
    uint64_t n;
    bool more;
} Parcel;

static bool link_lost(Generator *g) {
    return error_set(g->error, E_ENVIRONMENT, "", "another process failed or could not be reached");
}

static bool send_runs(Generator *g, int to) {
    const GenerateLink *l = g->o->link;
    bool ok = true;
    for (int k = 0; k < g->nown_runs && ok; k++) {
        Record *v = NULL;
        Parcel p = {g->runs.run[k].n, true};
        if (!runs_read(&g->runs, k, &v, g->error)) return mem_free(v), false;
        ok = (l->send(l->user, to, &p, sizeof p) && l->send(l->user, to, v, p.n * sizeof *v)) ||
             link_lost(g);
        mem_free(v);
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
        if (!l->receive(l->user, from, v, p.n * sizeof *v)) return mem_free(v), link_lost(g);
        g->received += p.n * sizeof *v;
        if (!runs_add(&g->runs, v, p.n, NULL, 0, g->received > g->o->memory / 2, g->error))
            return false;
    }
}

/* Each shard in turn sends its runs to the shards that need them. A shard that fails first leaves
   the others waiting, so the program that created the link must then end all of them. */
static bool exchange_runs(Generator *g) {
    const GenerateLink *l = g->o->link;
    bool ok = true;
    g->nown_runs = g->runs.n;
    g->received = 0;
    for (int from = 0; from < l->n; from++)
        for (int to = 0; to < l->n && ok; to++) {
            if (from == to || !needs_level(g, to)) continue;
            if (l->rank == from) ok = send_runs(g, to);
            else if (l->rank == to) ok = receive_runs(g, from);
        }
    return ok;
}

/* Waits until the runs of all shards are there. */
static bool gather_shards(Generator *g) {
    if (g->o->nshard <= 1 || !g->level) return true;
    if (g->o->link && !g->o->folder) return exchange_runs(g);
    for (;; usleep(50000)) {
        if (interrupted(g->o->cancel, g->error)) return false;
        if (!runs_begin_level(&g->runs, g->level, g->error)) return false;
        if (g->runs.ndone >= g->runs.tasks) return true;
        generate_tell(g, "waiting for shards", g->runs.ndone, g->runs.tasks);
    }
}

static bool run_level(Generator *g) {
    GenerateLevel *r = &g->report->level[g->level];
    LevelStats stats = {0};
    uint32_t member = g->classes->nmember, symmetry = g->classes->nsymmetry;
    uint64_t raw = g->candidates->raw;
    int kept = g->candidates->n;
    double t = process_clock();
    if (!runs_begin_level(&g->runs, g->level, g->error) || !enumerate_level(g) || !gather_shards(g))
        return false;
    r->enumerate = process_clock() - t;
    if (g->o->link && !needs_level(g, g->o->shard)) return true;
    if (!harvest_classes(g, &stats) || !harvest_equations(g, member, symmetry)) return false;
    r->merge = process_clock() - t - r->enumerate;
    r->terms = stats.terms;
    r->classes = stats.classes;
    r->raw = g->candidates->raw - raw;
    r->kept = (uint64_t)(g->candidates->n - kept);
    g->report->nlevel = g->level + 1;
    return harvest_rules(g, kept);
}

/* A digest of what keys depend on: the set and the random points. */
static uint64_t keys_digest(const Generator *g) {
    enum { SOME = 4 };
    Lanes x[SOME];
    memset(x, 0, sizeof x);
    lanes_draw(x, SOME, random_at(g->o->seed, g->o->exhaustive), g->s->reach);
    return g->s->digest ^ hash_bytes(x, sizeof x);
}

static bool generate_levels(Generator *g, Text *out) {
    for (g->level = 0; g->level <= g->o->size; g->level++)
        if (!run_level(g)) return false;
    if (g->o->link && g->o->shard) return true;
    int before = g->candidates->n;
    g->level = g->o->size;
    if (!harvest_pairs(g)) return false;
    g->report->pairs = (uint64_t)(g->candidates->n - before);
    g->report->raw = g->candidates->raw;
    g->report->reduced = g->candidates->reduced;
    g->report->coincidences = g->classes->coincidences;
    g->report->candidates = (uint64_t)g->candidates->n;
    if (!harvest_rules(g, before)) return false;
    harvest_print(g, out);
    return true;
}

static void release(void *generator) {
    Generator *g = generator;
    runs_close(&g->runs);
    for (int k = 0; g->worker && k < g->o->jobs; k++) mem_free(g->worker[k].record);
    crew_free(g->crew);
    term_classes_free(g->classes);
}

static bool generate_over_space(Generator *g, Text *out) {
    const GenerateOptions *o = g->o;
    space_find_traits(g->s);
    bool ok = runs_open(&g->runs, o->folder, o->cancel, keys_digest(g), g->error);
    cleanup_add(arena_escape(g->arena), &g->cleanup, release, g);
    if (ok) {
        g->classes = term_classes_new(g->s);
        g->candidates = candidates_new(g->arena);
        g->basis = basis_new(g->s, g->arena);
        g->worker = ARENA_NEW(g->arena, GenerateWorker, o->jobs);
        g->crew = crew_new(g->arena, g->s, o->seed, o->jobs, o->cancel, g->error);
    }
    ok = ok && g->crew && generate_levels(g, out);
    cleanup_run(&g->cleanup);
    return ok;
}

bool generate(const GenerateOptions *o, Arena *a, Text *out, GenerateReport *report, Error *e) {
    Generator *g = ARENA_NEW(a, Generator, 1);
    *report = (GenerateReport){0};
    g->o = o;
    g->report = report;
    g->arena = a;
    g->error = e;
    g->start = process_clock();
    g->w = graph_world_new(arena_escape(a), 0);
    g->s = space_read(g->w, o->set, e);
    const bool ok = g->s && generate_over_space(g, out);
    world_free(g->w);
    report->seconds = process_clock() - g->start;
    report->peak = process_peak();
    return ok;
}
