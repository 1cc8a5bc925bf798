/* profile.c -- the protocol of timing. A sample is as many calls as fill SAMPLE seconds, at least
   one. Rounds of one warm-up and up to three samples are repeated until the minima of the even and
   of the odd ones agree: within 1 % after 5 rounds, within 3 % after 10, at most 20. What will not
   be taken is left earlier: noise only adds, and the more rounds the less of it. A step is
   timed by its device's clock; the CPU's is the calling thread's, so that being preempted does not
   count. */
#include "graphs/plan/profile.h"
#include "graphs/plan/step_kernel.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/backend/view.h"
#include <math.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define SAMPLE 100e-6
#define VISIT 10e-3
#define LONG_CALL 20e-3
#define STEP_PATIENCE 0.5 /* seconds for the rounds of one step */
#define PATIENCE 4.0      /* for those of whole plans together */
#define FAR 4.0           /* times what is to be beaten: one call says enough */
#define BEHIND 1.1        /* a plan so far behind the fastest will not be taken */
enum {
    SOON = 5,
    ROUNDS = 10,
    SAMPLES = 3,
    CALLS_MOST = 100000,
    STEP_VIEWS = 64,
    TIMED = 64,
    PAGE = 4096,
    OUTPUTS = 8,
    RECORDED = 256,   /* calls, at most */
    SPREAD = 8 << 20, /* bytes of them together: more than the caches of a core hold */
    COPIES = 64       /* of a step and its weights */
};

static double clock_now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of a run that begins and ends on this machine. */
static clockid_t clock_of(const Backend *b, const Device *d) {
    return b->threads && b->threads(d) == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
}

/* Keeps the thread on the core it is on, if it is timed alone; undone by unpin. */
static void pin(clockid_t clock, cpu_set_t *before) {
    cpu_set_t one;
    int cpu = sched_getcpu();
    CPU_ZERO(before);
    if (clock != CLOCK_THREAD_CPUTIME_ID) return;
    if (sched_getaffinity(0, sizeof *before, before) || cpu < 0) return;
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void unpin(const cpu_set_t *before) {
    if (CPU_COUNT(before)) sched_setaffinity(0, sizeof *before, before);
}

typedef struct Timed {
    bool (*run)(void *, int calls, double *seconds); /* seconds: of all of them */
    void *what;
    int calls;
    bool left;      /* it takes no part in further rounds */
    double best[2]; /* of the even and of the odd rounds */
} Timed;

static bool time_calls(Timed *t, int calls, double *seconds) {
    if (!t->run(t->what, calls, seconds)) return false;
    *seconds /= calls;
    return true;
}

/* Samples of a round: three, or what fits into VISIT, at least one. */
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

/* Times what is to be beaten: slower than this after so many rounds is left. */
static double hopeless(int rounds) {
    return !rounds ? 2 : rounds < 3 ? 1.5 : rounds < SOON ? 1.1 : 1;
}

static double least(const Timed *t) { return fmin(t->best[0], t->best[1]); }

/* A first look: how many calls a sample takes. The first call is cold, and no second one is made
   only where that is long and far behind. */
static bool settle(Timed *t, double beat) {
    double first, second;
    if (!time_calls(t, 1, &first)) return false;
    second = first;
    if ((first < FAR * beat || first < VISIT) && !time_calls(t, 1, &second)) return false;
    if (second < first) first = second;
    t->calls = first >= SAMPLE ? 1 : (int)(SAMPLE / (first > 1e-9 ? first : 1e-9)) + 1;
    if (t->calls > CALLS_MOST) t->calls = CALLS_MOST;
    t->left = first > hopeless(0) * beat;
    t->best[0] = t->best[1] = first >= SAMPLE || t->left ? first : INFINITY;
    return true;
}

/* The minima of both halves agree within this part of them. */
static bool steady(int n, const Timed *t, double part) {
    for (int k = 0; k < n; k++)
        if (!t[k].left && fabs(t[k].best[0] - t[k].best[1]) > part * least(&t[k])) return false;
    return true;
}

static bool done(int n, const Timed *t, int round, int rounds) {
    return round >= 2 * rounds || (round >= rounds && steady(n, t, 0.03)) ||
           (round >= SOON && steady(n, t, 0.01));
}

/* Fewer where a round takes long. */
static int rounds_for(int n, const Timed *t, double patience) {
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += (t[k].calls > 1 ? SAMPLE : t[k].best[0]) * (samples_of(&t[k]) + warms_up(&t[k]));
    double fit = patience / sum;
    return fit >= (double)ROUNDS ? ROUNDS : fit > 2 ? (int)fit : 2;
}

/* What is to be beaten: `beat`, or among several what is BEHIND the fastest: of those that are
   compared all take part in as many rounds, since a minimum falls with every round. */
static void leave(int n, Timed *t, int round, double beat) {
    for (int k = 0; k < n && n > 1; k++) beat = fmin(beat, BEHIND * least(&t[k]));
    for (int k = n > 1; k < n; k++) t[k].left |= least(&t[k]) > hopeless(round) * beat;
}

static int shuffle(Random *r, int n, const Timed *t, int order[]) {
    int m = 0;
    for (int k = 0; k < n; k++)
        if (!t[k].left) order[m++] = k;
    for (int k = m - 1; k > 0; k--) {
        int j = (int)random_below(r, (uint64_t)k + 1), swap = order[k];
        order[k] = order[j];
        order[j] = swap;
    }
    return m;
}

/* The first of several is never left: it is what the others are compared with. */
static bool time_all(int n, Timed *t, double beat, double patience, uint64_t seed) {
    Random r = {seed, 0};
    int order[TIMED];
    for (int k = 0; k < n; k++)
        if (!settle(&t[k], beat)) return false;
    const int rounds = rounds_for(n, t, patience);
    for (int round = 0; !done(n, t, round, rounds); round++) {
        const int m = shuffle(&r, n, t, order);
        for (int k = 0; k < m; k++)
            if (!time_round(&t[order[k]], round)) return false;
        if (!m) break;
        leave(n, t, round + 1, beat);
    }
    return true;
}

/* ---- a step alone */

typedef struct StepRun {
    const Backend *backend;
    Device *device;
    StepKernel kernel[COPIES];                               /* which take turns */
    int copies;                                              /* that were made */
    void *copy[STEP_VIEWS][COPIES];                          /* of weights; [j][0] is slot j */
    OpenDevice cpu;                                          /* where the step runs there */
    void *memory[STEP_VIEWS], *slot[STEP_VIEWS], *workspace; /* slots lie within memory */
    void *more[OUTPUTS], *output[OUTPUTS]; /* slot 0 lies elsewhere at each call */
    int outputs, turn;
    Kernel *recorded; /* so many calls as one */
    int calls, asked;
    View view[STEP_VIEWS];
    cpu_set_t before; /* where the thread may run: empty until it is pinned */
} StepRun;

static bool start_calls(StepRun *s, int calls, double *host) {
    for (int k = 0; k < calls; k++, s->turn++) {
        const int at = s->turn % s->copies;
        for (int j = 0; j < STEP_VIEWS && s->copies > 1; j++)
            if (s->copy[j][at]) s->slot[j] = s->copy[j][at];
        s->slot[0] = s->output[s->turn % s->outputs];
        if (!step_kernel_run(&s->kernel[at], s->slot, s->workspace, host)) return false;
    }
    return true;
}
static void forget_calls(StepRun *s) {
    if (s->recorded) s->backend->forget(s->recorded);
    s->recorded = NULL, s->calls = s->asked = 0;
}
/* So many calls as one kernel, so that the host's part of starting them is not timed. False: they
   are started one by one. */
static bool record_calls(StepRun *s, int calls) {
    char why[256];
    double host = 0;
    if (calls == s->asked) return s->calls == calls;
    forget_calls(s);
    s->asked = calls;
    if (calls < 2 || calls > RECORDED || !s->backend->record || s->kernel[0].host) return false;
    if (s->turn < s->copies &&
        (!start_calls(s, s->copies - s->turn, &host) || s->backend->wait(s->device, NULL)))
        return false; /* only what has run before may be recorded */
    if (s->backend->record(s->device)) return false;
    const bool noted = start_calls(s, calls, &host);
    s->recorded = s->backend->recorded(s->device, why, sizeof why);
    if (!noted) forget_calls(s), s->asked = calls;
    s->calls = s->recorded ? calls : 0;
    return s->recorded != NULL;
}
/* By the device's own clock: the calls are started one after another. */
static bool run_kernel(void *what, int calls, double *seconds) {
    StepRun *s = what;
    double ns = 0, host = 0;
    if (calls > 1 && record_calls(s, calls)) {
        if (s->backend->run(s->recorded, s->slot, s->workspace)) return false;
    } else if (!start_calls(s, calls, &host)) return false;
    if (s->backend->wait(s->device, &ns)) return false;
    *seconds = 1e-9 * (ns + host);
    return true;
}

static int64_t view_end(const View *v) {
    int64_t low, high = 0;
    if (v->rank >= 0) view_extent(v, &low, &high);
    return high;
}

/* Bytes that the views of slot j reach: parts of one result share a slot and lie at offsets in
   it. */
static size_t slot_bytes(const StepRun *s, int nview, int j) {
    size_t most = 1;
    for (int k = 0; k < nview; k++) {
        const View *v = &s->view[k];
        size_t bytes = v->slot == j ? element_bytes((DType)v->dtype, view_end(v)) : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Slots of a plan lie anywhere; memory that is taken by itself starts at the same place of a page
   each time, and a store then delays every load of the same place of another page: a depthwise
   convolution took twice its time. The place of slot j in its page: far from those before it. */
static size_t place_in_page(int j) {
    size_t place = 0;
    for (int bit = 0; bit < 6; bit++) place |= (size_t)(j >> bit & 1) << (11 - bit);
    return place; /* 0, 2048, 1024, 3072, 512, ..: multiples of 64 */
}

static bool take_slot(StepRun *s, int nview, int j, uint64_t seed, Arena *a, bool known,
                      const void **weight) {
    View *v = &s->view[j];
    int64_t n = view_end(v);
    size_t bytes = slot_bytes(s, nview, j), own = element_bytes((DType)v->dtype, n);
    void *host = arena_alloc(a, bytes > own ? bytes : own);
    element_fill((DType)v->dtype, host, n, seed + (uint64_t)j);
    s->memory[j] = s->backend->alloc(s->device, bytes + PAGE);
    s->slot[j] = (char *)s->memory[j] + place_in_page(j);
    if (known) *weight = host;
    return s->memory[j] && !s->backend->copy(s->device, s->slot[j], host, bytes, COPY_TO_DEVICE);
}

/* In a plan what a step writes was last touched long before: it comes from a farther cache than
   what it reads, which the step before it wrote. So there are several outputs, taken in turn. */
static bool take_outputs(StepRun *s, int nview) {
    const size_t bytes = slot_bytes(s, nview, 0);
    s->output[0] = s->slot[0];
    s->outputs = 1;
    for (int k = 1; k < OUTPUTS && (size_t)k * bytes < SPREAD; k++) {
        s->more[k] = s->backend->alloc(s->device, bytes + PAGE);
        if (!s->more[k]) return false;
        s->output[k] = (char *)s->more[k] + place_in_page(0);
        if (s->backend->copy(s->device, s->output[k], s->slot[0], bytes, COPY_ON_DEVICE))
            return false;
        s->outputs = k + 1;
    }
    return true;
}

/* Every view gets a slot of its own; one that shared a slot with the output (in place) keeps
   sharing it. */
static Step own_slots(const Step *step, StepRun *s) {
    Step own = *step;
    memcpy(s->view, step->view, sizeof *s->view * (size_t)step->nview);
    for (int j = 0; j < step->nview; j++) {
        s->view[j].slot = j;
        for (int k = 0; k < j; k++)
            if (step->view[k].slot == step->view[j].slot) {
                s->view[j].slot = s->view[k].slot;
                break;
            }
    }
    own.view = s->view;
    return own;
}

/* Other weights, since a back end keeps equal ones only once. */
static void other_weights(const StepRun *s, int nview, const void *weight[], uint64_t seed,
                          Arena *a) {
    for (int j = 0; j < nview; j++) {
        const View *v = &s->view[j];
        const int64_t n = view_end(v);
        if (!weight[j]) continue;
        void *other = arena_alloc(a, element_bytes((DType)v->dtype, n));
        element_fill((DType)v->dtype, other, n, seed + (uint64_t)j);
        weight[j] = other;
    }
}

/* The same data at other places. */
static bool copy_weights(StepRun *s, int nview, const void *const weight[], int at) {
    for (int j = 0; j < nview && at; j++) {
        if (!weight[j]) continue;
        const size_t bytes = slot_bytes(s, nview, j);
        s->copy[j][0] = s->slot[j];
        s->copy[j][at] = s->backend->alloc(s->device, bytes + PAGE);
        if (!s->copy[j][at] ||
            s->backend->copy(s->device, s->copy[j][at], s->slot[j], bytes, COPY_ON_DEVICE))
            return false;
    }
    return true;
}

static bool prepare(StepRun *s, const Step *own, const StepTiming *x, Arena *a, Error *e) {
    const int copies = x->copies < 1 ? 1 : x->copies < COPIES ? x->copies : (int)COPIES;
    const void *weights[STEP_VIEWS] = {NULL};
    char why[256] = "";
    size_t workspace = 0;
    for (int j = 0; j < own->nview; j++)
        if (!take_slot(s, own->nview, j, x->seed, a, x->known && x->known[j], &weights[j]))
            return error_set(e, E_LIMIT, "timing", "out of device memory");
    if (!take_outputs(s, own->nview))
        return error_set(e, E_LIMIT, "timing", "out of device memory");
    for (; s->copies < copies; s->copies++) {
        if (!copy_weights(s, own->nview, weights, s->copies))
            return error_set(e, E_LIMIT, "timing", "out of device memory");
        if (s->copies)
            other_weights(s, own->nview, weights, x->seed + STEP_VIEWS * (uint64_t)s->copies, a);
        if (!step_kernel_make(&s->kernel[s->copies], s->backend, s->device, &s->cpu, own, x->choice,
                              weights, &workspace, why, sizeof why))
            return error_set(e, E_ENVIRONMENT, "timing", "%s", why);
    }
    s->workspace = s->backend->alloc(s->device, workspace ? workspace : 1);
    return s->workspace || error_set(e, E_LIMIT, "timing", "out of device memory");
}

static double time_step(StepRun *s, const StepTiming *x, Arena *a, Error *e) {
    Step own = own_slots(x->step, s);
    const clockid_t clock = clock_of(s->backend, s->device);
    Timed t = {run_kernel, s, 1, false, {INFINITY, INFINITY}};
    pin(clock, &s->before);
    bool good = prepare(s, &own, x, a, e) && time_all(1, &t, x->beat, STEP_PATIENCE, x->seed);
    return good ? least(&t) : -1;
}

static void step_free(StepRun *s) {
    if (!s) return;
    unpin(&s->before);
    forget_calls(s);
    for (int k = 0; k < s->copies; k++) step_kernel_free(&s->kernel[k]);
    for (int j = 0; j < STEP_VIEWS; j++)
        for (int k = 1; k < COPIES; k++)
            if (s->copy[j][k]) s->backend->release(s->device, s->copy[j][k]);
    device_close(&s->cpu);
    for (int j = 0; j < STEP_VIEWS; j++)
        if (s->memory[j]) s->backend->release(s->device, s->memory[j]);
    for (int k = 0; k < OUTPUTS; k++)
        if (s->more[k]) s->backend->release(s->device, s->more[k]);
    if (s->workspace) s->backend->release(s->device, s->workspace);
}

/* Running out of memory is an error like any other: kernel and device memory are freed. */
double profile_step(const StepTiming *x, Error *e) {
    Escape escape = {.error = {.kind = E_NONE}};
    StepRun *volatile s = NULL;
    Arena *volatile a = NULL;
    if (x->step->nview > STEP_VIEWS) return -1;
    if (setjmp(escape.here)) {
        error_set(e, E_MEMORY, "timing", "%s", escape.error.reason);
        step_free(s);
        arena_free(a);
        return -1;
    }
    a = arena_new(&escape, 0);
    s = ARENA_NEW(a, StepRun, 1);
    *s = (StepRun){.backend = x->backend, .device = x->device};
    double seconds = time_step(s, x, a, e);
    step_free(s);
    arena_free(a);
    return seconds;
}

double profile_fastest(const StepTiming *x, Error *e) {
    StepTiming y = *x;
    y.beat = INFINITY;
    for (y.choice = 0; y.choice < x->backend->choices(x->device, x->step); y.choice++) {
        const double seconds = profile_step(&y, e);
        if (seconds > 0) y.beat = fmin(y.beat, seconds);
    }
    return isinf(y.beat) ? -1 : y.beat;
}

/* ---- whole plans */

typedef struct RunnerRun {
    Runner *runner;
    clockid_t clock;
    const void *const *in;
    void *const *out;
    Error *error;
} RunnerRun;

/* With the copies to the device and back. */
static bool run_runner(void *what, int calls, double *seconds) {
    RunnerRun *r = what;
    double start = clock_now(r->clock);
    for (int k = 0; k < calls; k++)
        if (!runner_run(r->runner, r->in, r->out, r->error)) return false;
    *seconds = clock_now(r->clock) - start;
    return true;
}

bool profile_runners(int n, Runner *const runner[], const void *const *const in[],
                     void *const *const out[], double seconds[], Error *e) {
    Timed t[TIMED];
    RunnerRun r[TIMED];
    cpu_set_t before;
    const clockid_t clock =
        n ? clock_of(runner_backend(runner[0]), runner_device(runner[0])) : CLOCK_THREAD_CPUTIME_ID;
    if (n > TIMED)
        return error_set(e, E_LIMIT, "timing", "%d plans cannot be timed together, at most %d", n,
                         (int)TIMED);
    for (int k = 0; k < n; k++) {
        r[k] = (RunnerRun){runner[k], clock, in[k], out[k], e};
        t[k] = (Timed){run_runner, &r[k], 1, false, {INFINITY, INFINITY}};
    }
    pin(clock, &before);
    bool good = time_all(n, t, INFINITY, PATIENCE, 1);
    unpin(&before);
    for (int k = 0; k < n; k++) seconds[k] = good ? least(&t[k]) : -1;
    return good;
}
