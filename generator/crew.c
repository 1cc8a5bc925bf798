/* crew.c -- threads that share the numbered parts of a task. A thread takes the next parts from a
   common counter whenever it has finished some. Each thread has its own World, and keeps its
   results in an arena of its own until crew_rest. */
#include "generator/crew.h"
#include "ops/base/interrupt.h"
#include "ops/base/random.h"
#include "graphs/world.h"
#include <string.h>

static bool thread_open(CrewThread *x, const Space *like, uint64_t seed, Error *e) {
    if (setjmp(x->escape.here)) return *e = x->escape.error, false;
    x->w = graph_world_new(&x->escape, 0);
    x->s = space_parse(x->w, like->path, like->text, like->text_size, e);
    if (!x->s) return false;
    x->s->exponents = like->exponents;
    x->s->reach = like->reach;
    x->first = values_new(x->s, 0, seed);
    x->second = values_new(x->s, 1, random_at(seed, 2));
    x->lift = lift_new(&x->escape, x->s, random_at(seed, 3));
    x->batch = arena_new(&x->escape, 0);
    return true;
}

Crew *crew_new(Arena *a, const Space *like, uint64_t seed, int n, const volatile int *cancel,
               Error *e) {
    Crew *c = ARENA_NEW(a, Crew, 1);
    c->cancel = cancel;
    c->thread = ARENA_NEW(a, CrewThread, n);
    for (c->n = 0; c->n < n; c->n++) {
        c->thread[c->n].crew = c;
        if (thread_open(&c->thread[c->n], like, seed, e)) continue;
        c->n++;
        crew_free(c);
        return NULL;
    }
    return c;
}

void crew_free(Crew *c) {
    for (int k = 0; c && k < c->n; k++) escape_free(&c->thread[k].escape);
}

static void *thread_work(void *user) {
    CrewThread *x = user;
    Crew *c = x->crew;
    x->ok = false;
    x->escape.error = (Error){0};
    if (setjmp(x->escape.here)) return NULL;
    for (;;) {
        uint64_t from = __atomic_fetch_add(&c->next, c->grain, __ATOMIC_RELAXED);
        if (from >= c->parts) break;
        for (uint64_t k = from; k < from + c->grain && k < c->parts; k++) {
            interrupted_raise(c->cancel, &x->escape);
            c->work(x, c->user, k);
        }
    }
    x->ok = true;
    return NULL;
}

bool crew_run(Crew *c, uint64_t n, uint64_t grain, CrewWork work, void *user, Error *e) {
    int started = 1;
    bool ok = true;
    c->work = work;
    c->user = user;
    c->parts = n;
    c->grain = grain;
    c->next = 0;
    for (; started < c->n && (uint64_t)started * grain < n; started++)
        if (pthread_create(&c->thread[started].id, NULL, thread_work, &c->thread[started])) break;
    thread_work(&c->thread[0]);
    for (int k = 1; k < started; k++) pthread_join(c->thread[k].id, NULL);
    for (int k = 0; k < started; k++) {
        if (!c->thread[k].ok && ok) *e = c->thread[k].escape.error;
        ok &= c->thread[k].ok;
    }
    return ok;
}

void crew_rest(Crew *c) {
    for (int k = 0; k < c->n; k++) arena_reset(c->thread[k].batch, (ArenaMark){0});
}
