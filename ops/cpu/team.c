/* team.c -- a team of threads that share the parts of a kernel.

   The caller takes parts, too: the work gets done even if no other thread is scheduled, and the
   caller waits only for parts that others have taken. A ticket holds the number of the job and how
   many of its parts are not taken yet. The thread that decrements it by compare-and-swap owns that
   part of that job; the job's data stay valid until all its parts are done. A waiting thread spins
   for some microseconds, since the next step usually follows soon, and then sleeps.

   If the parts take turns, the team has no threads: the caller runs all parts and calculates how
   much time that many threads would have saved. This measurement is not disturbed by other work on
   the machine. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/processor.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

/* PARTS: the bits of a ticket that count parts; LOOKS: iterations of a spinning wait */
enum { PARTS = 0xFFFF, LOOKS = 5000 };
struct Team {
    int nthread; /* in addition to the caller */
    pthread_t thread[TEAM_MOST];
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint_least64_t ticket; /* the job's number times 65536, plus the number of its parts that
                                     are not taken */
    atomic_int left, sleepers;    /* left: parts not done; sleepers: threads that sleep or are about
                                     to */
    atomic_bool ends, waits;      /* waits: the caller sleeps until `left` is 0 */
    TeamPart *part;               /* of the current job; read only by threads that have taken one of
                                     its parts */
    void *user;
    int turns;    /* if the parts take turns: the number of threads that are simulated; else 0 */
    double saved; /* nanoseconds that these threads would have saved so far */
};

static bool any(Team *t) { return atomic_load(&t->ticket) & PARTS; }

static void wake_all(Team *t, pthread_cond_t *who) {
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(who);
    pthread_mutex_unlock(&t->lock);
}

static bool take_part(Team *t) {
    uint_least64_t now = atomic_load(&t->ticket);
    do
        if (!(now & PARTS)) return false;
    while (!atomic_compare_exchange_weak(&t->ticket, &now, now - 1));
    t->part(t->user, (int)(now & PARTS) - 1);
    if (atomic_fetch_sub(&t->left, 1) == 1 && atomic_load(&t->waits)) wake_all(t, &t->done);
    return true;
}

static void sleep_until_any(Team *t) {
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleepers, 1);
    while (!any(t) && !atomic_load(&t->ends)) pthread_cond_wait(&t->wake, &t->lock);
    atomic_fetch_sub(&t->sleepers, 1);
    pthread_mutex_unlock(&t->lock);
}

static void *member(void *team) {
    Team *t = team;
    processor_set_mode(processor_flushing(processor_mode()));
    while (!atomic_load(&t->ends)) {
        for (int look = 0; look < LOOKS && !any(t); look++) processor_pause();
        if (!take_part(t)) sleep_until_any(t);
    }
    return NULL;
}

static void sleep_until_done(Team *t) {
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->waits, true);
    while (atomic_load(&t->left)) pthread_cond_wait(&t->done, &t->lock);
    atomic_store(&t->waits, false);
    pthread_mutex_unlock(&t->lock);
}

double thread_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
/* Runs all parts, and assigns each to the simulated thread that would be free first. */
static void take_turns(Team *t, int n, TeamPart *part, void *user) {
    double busy[TEAM_MOST] = {0}, longest = 0;
    const double start = thread_nanoseconds();
    double before = start;
    for (int k = 0; k < n; k++) {
        int first = 0;
        for (int j = 1; j < t->turns; j++)
            if (busy[j] < busy[first]) first = j;
        part(user, k);
        const double now = thread_nanoseconds();
        busy[first] += now - before;
        if (busy[first] > longest) longest = busy[first];
        before = now;
    }
    t->saved += before - start - longest;
}
double team_saved(const Team *t) { return t->saved; }

void team_run(Team *t, int n, TeamPart *part, void *user) {
    if (n == 1) {
        part(user, 0);
        return;
    }
    if (t->turns) {
        take_turns(t, n, part, user);
        return;
    }
    const uint_least64_t job = (atomic_load(&t->ticket) >> 16) + 1;
    t->part = part;
    t->user = user;
    atomic_store(&t->left, n);
    atomic_store(&t->ticket, job << 16 | (uint_least64_t)n);
    if (atomic_load(&t->sleepers)) wake_all(t, &t->wake);
    while (take_part(t)) {}
    for (int look = 0; look < LOOKS && atomic_load(&t->left); look++) processor_pause();
    if (atomic_load(&t->left)) sleep_until_done(t);
}

/* The new threads block all signals, so that the caller receives them. */
Team *team_new(int threads, bool turns, char *why, size_t n) {
    Team *t = mem_realloc(NULL, sizeof *t);
    sigset_t all, before;
    if (!t) return snprintf(why, n, "out of memory"), NULL;
    *t = (Team){.lock = PTHREAD_MUTEX_INITIALIZER,
                .wake = PTHREAD_COND_INITIALIZER,
                .done = PTHREAD_COND_INITIALIZER};
    if (turns) return t->turns = threads, t;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (t->nthread < threads - 1 && !pthread_create(&t->thread[t->nthread], NULL, member, t))
        t->nthread++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (t->nthread == threads - 1) return t;
    snprintf(why, n, "only %d threads could be started", t->nthread + 1);
    team_free(t);
    return NULL;
}

void team_free(Team *t) {
    if (!t) return;
    atomic_store(&t->ends, true);
    wake_all(t, &t->wake);
    for (int k = 0; k < t->nthread; k++) pthread_join(t->thread[k], NULL);
    pthread_cond_destroy(&t->wake);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}
