/* rounds.c -- implements the protocol of timing. A sample is as many calls as take SAMPLE seconds,
   at least one. A round consists of one warm-up call and up to three samples. Rounds are repeated
   until the minima of the even and of the odd rounds agree (within 1 % after 5 rounds, or 3 % after
   10); there are at most 20, and fewer if a round takes long. Candidates that will not be chosen
   are dropped earlier, which is safe: noise only adds time, and the more rounds there are, the less
   of it remains in the minimum. */
#include "graphs/plan/rounds.h"
#include "ops/base/random.h"
#include <math.h>

#define SAMPLE 100e-6   /* seconds */
#define VISIT 10e-3     /* seconds that the samples of a long call may take in a round */
#define LONG_CALL 20e-3 /* seconds: a longer call is not warmed up */
#define FAR 4.0    /* times `give_up_seconds`: after a call this slow, a second one is not needed */
#define BEHIND 1.1 /* times the fastest: a slower plan will not be chosen */
enum { SOON = 5, ROUNDS = 10, SAMPLES = 3, CALLS_MOST = 100000 };

double clock_now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

clockid_t device_clock(const Backend *b, const Device *d) {
    return b->threads && b->threads(d) == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
}

void pin_thread(clockid_t clock, cpu_set_t *before) {
    cpu_set_t one;
    int cpu = sched_getcpu();
    CPU_ZERO(before);
    if (clock != CLOCK_THREAD_CPUTIME_ID) return;
    if (sched_getaffinity(0, sizeof *before, before) || cpu < 0) return;
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

void unpin_thread(const cpu_set_t *before) {
    if (CPU_COUNT(before)) sched_setaffinity(0, sizeof *before, before);
}

static bool time_calls(Timed *t, int calls, double *seconds) {
    if (!t->run(t->user, calls, seconds)) return false;
    *seconds /= calls;
    return true;
}

/* The number of samples in a round: three, or as many as fit in VISIT, at least one. */
static int samples_of(const Timed *t) {
    double fit = t->calls > 1 ? (double)SAMPLES : VISIT / t->best[0];
    return fit >= (double)SAMPLES ? SAMPLES : fit >= 2 ? (int)fit : 1;
}

static bool warms_up(const Timed *t) { return t->calls > 1 || t->best[0] <= LONG_CALL; }

static bool time_round(Timed *t, int round) {
    double seconds;
    const int samples = samples_of(t);
    if (warms_up(t) && !time_calls(t, 1, &seconds)) return false;
    for (int k = 0; k < samples; k++) {
        if (!time_calls(t, t->calls, &seconds)) return false;
        if (seconds < t->best[round & 1]) t->best[round & 1] = seconds;
    }
    return true;
}

/* After this many rounds, whatever is slower than this multiple of `give_up_seconds` is dropped. */
static double hopeless(int rounds) {
    return !rounds ? 2 : rounds < 3 ? 1.5 : rounds < SOON ? 1.1 : 1;
}

double timed_least(const Timed *t) { return fmin(t->best[0], t->best[1]); }

/* Finds how many calls a sample takes. The first call is cold; there is a second one unless the
   first was both long and far behind. */
static bool settle(Timed *t, double give_up_seconds) {
    double first, second;
    if (!time_calls(t, 1, &first)) return false;
    second = first;
    if ((first < FAR * give_up_seconds || first < VISIT) && !time_calls(t, 1, &second))
        return false;
    if (second < first) first = second;
    t->calls = first >= SAMPLE ? 1 : (int)(SAMPLE / (first > 1e-9 ? first : 1e-9)) + 1;
    if (t->calls > CALLS_MOST) t->calls = CALLS_MOST;
    t->dropped = first > hopeless(0) * give_up_seconds;
    t->best[0] = t->best[1] = first >= SAMPLE || t->dropped ? first : INFINITY;
    return true;
}

/* Whether the minima of the even and the odd rounds agree within this share of the minimum. */
static bool steady(int n, const Timed *t, double part) {
    for (int k = 0; k < n; k++)
        if (!t[k].dropped && fabs(t[k].best[0] - t[k].best[1]) > part * timed_least(&t[k]))
            return false;
    return true;
}

static bool done(int n, const Timed *t, int round, int rounds) {
    return round >= 2 * rounds || (round >= rounds && steady(n, t, 0.03)) ||
           (round >= SOON && steady(n, t, 0.01));
}

/* The number of rounds; fewer than ROUNDS if a round takes long. */
static int rounds_for(int n, const Timed *t, double patience) {
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += (t[k].calls > 1 ? SAMPLE : t[k].best[0]) * (samples_of(&t[k]) + warms_up(&t[k]));
    double fit = patience / sum;
    return fit >= (double)ROUNDS ? ROUNDS : fit > 2 ? (int)fit : 2;
}

/* Drops whatever exceeds its limit by the factor `hopeless`. The limit is `give_up_seconds` or,
   among several, BEHIND times the fastest if that is less. All that remain to be compared have
   taken part in the same number of rounds, since a minimum falls with every round. */
static void leave(int n, Timed *t, int round, double give_up_seconds) {
    for (int k = 0; k < n && n > 1; k++)
        give_up_seconds = fmin(give_up_seconds, BEHIND * timed_least(&t[k]));
    for (int k = n > 1; k < n; k++)
        t[k].dropped |= timed_least(&t[k]) > hopeless(round) * give_up_seconds;
}

static int shuffle(Random *r, int n, const Timed *t, int order[]) {
    int m = 0;
    for (int k = 0; k < n; k++)
        if (!t[k].dropped) order[m++] = k;
    for (int k = m - 1; k > 0; k--) {
        int j = (int)random_below(r, (uint64_t)k + 1), swap = order[k];
        order[k] = order[j];
        order[j] = swap;
    }
    return m;
}

bool time_rounds(int n, Timed *t, double give_up_seconds, double patience, uint64_t seed) {
    Random r = {seed, 0};
    int order[TIMED_MOST];
    for (int k = 0; k < n; k++)
        if (!settle(&t[k], give_up_seconds)) return false;
    const int rounds = rounds_for(n, t, patience);
    for (int round = 0; !done(n, t, round, rounds); round++) {
        const int m = shuffle(&r, n, t, order);
        for (int k = 0; k < m; k++)
            if (!time_round(&t[order[k]], round)) return false;
        if (!m) break;
        leave(n, t, round + 1, give_up_seconds);
    }
    return true;
}
