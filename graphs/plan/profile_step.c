/* profile_step.c -- times a step alone, on random inputs, by its device's clock. The outputs and,
   if asked, the weights have several places that take turns, since in a plan they were last touched
   long before. */
#include "graphs/plan/profile.h"
#include "graphs/plan/rounds.h"
#include "graphs/plan/step_kernel.h"
#include "ops/backend/view.h"
#include "ops/core/element.h"
#include <math.h>
#include <string.h>

#define PATIENCE 0.5 /* seconds for the rounds of one step */
enum {
    STEP_VIEWS = 64,
    PAGE = 4096,
    OUTPUTS = 8,
    RECORDED = 256,   /* at most this many calls are recorded */
    SPREAD = 8 << 20, /* bytes of all outputs together: more than the caches of a core hold */
    COPIES = 64       /* copies of a step and its weights */
};

typedef struct StepRun {
    const Backend *backend;
    Device *device;
    StepKernel kernel[COPIES];      /* the copies of the step, which take turns */
    int copies;                     /* number of kernels made */
    void *copy[STEP_VIEWS][COPIES]; /* copies of the weights in view j; [j][0] is slot j */
    OpenDevice cpu;                 /* used if the step runs on the CPU instead of its device */
    void *memory[STEP_VIEWS], *slot[STEP_VIEWS], *workspace; /* slot[j] lies within memory[j] */
    void *more[OUTPUTS], *output[OUTPUTS]; /* slot 0 is another output at each call */
    int outputs, turn;                     /* number of outputs; number of calls so far */
    Kernel *recorded;                      /* `calls` calls as one kernel */
    /* Number of calls recorded; number of calls for which a recording was last tried. */
    int calls, asked;
    View view[STEP_VIEWS]; /* the views of the step, with slots of their own */
    cpu_set_t before;      /* the cores on which the thread may run; empty until it is pinned */
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
/* Records the calls as one kernel, so that the host's share of starting them is not timed. Returns
   false if they must be started one by one. */
static bool record_calls(StepRun *s, int calls) {
    char why[256];
    double host = 0;
    if (calls == s->asked) return s->calls == calls;
    forget_calls(s);
    s->asked = calls;
    if (calls < 2 || calls > RECORDED || !s->backend->record || s->kernel[0].host) return false;
    if (s->turn < s->copies &&
        (!start_calls(s, s->copies - s->turn, &host) || s->backend->wait(s->device, NULL)))
        return false; /* only kernels that have run before may be recorded */
    if (s->backend->record(s->device)) return false;
    const bool noted = start_calls(s, calls, &host);
    s->recorded = s->backend->recorded(s->device, why, sizeof why);
    if (!noted) forget_calls(s), s->asked = calls;
    s->calls = s->recorded ? calls : 0;
    return s->recorded != NULL;
}
/* Starts the calls one after another and measures them by the device's own clock. */
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

/* The bytes that the views of slot j reach; parts of one result share a slot and lie at offsets in
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

/* The offset of slot j in its page, far from those of the slots before. The slots of a plan lie
   anywhere, but separate allocations start at the same offset in a page each time, and a store then
   delays every load from the same offset in another page: a depthwise convolution took twice its
   time. */
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

/* Allocates several outputs, to be used in turn. In a plan, the memory that a step writes was last
   touched long before, so it is in a farther cache than what the step reads, which the step before
   it wrote. */
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

/* Gives every view a slot of its own; views that shared a slot, such as an input and the output of
   a step in place, keep sharing one. */
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

/* Makes other weights, since a back end stores equal ones only once. */
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

/* Copies the data of the weights for copy number `at` of the step. */
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
    const OpenDevice on = {.backend = s->backend, .device = s->device};
    const KernelRequest what = {own, x->choice, weights};
    Error why = {0};
    size_t workspace = 0, wants;
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
        if (!step_kernel_make(&s->kernel[s->copies], &on, &s->cpu, &what, &wants, &why))
            return error_set(e, why.kind, "timing", "%s", why.reason);
        if (wants > workspace) workspace = wants;
    }
    s->workspace = s->backend->alloc(s->device, workspace ? workspace : 1);
    return s->workspace || error_set(e, E_LIMIT, "timing", "out of device memory");
}

static double time_step(StepRun *s, const StepTiming *x, Arena *a, Error *e) {
    Step own = own_slots(x->step, s);
    const clockid_t clock = device_clock(s->backend, s->device);
    Timed t = {run_kernel, s, 1, false, {INFINITY, INFINITY}};
    pin_thread(clock, &s->before);
    if (!prepare(s, &own, x, a, e)) return -1;
    if (time_rounds(1, &t, x->give_up_seconds, PATIENCE, x->seed)) return timed_least(&t);
    error_set(e, E_ENVIRONMENT, "timing", "the kernel failed");
    return -1;
}

static void step_free(StepRun *s) {
    if (!s) return;
    unpin_thread(&s->before);
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
    if (x->step->nview > STEP_VIEWS) {
        error_set(e, E_LIMIT, "timing", "a step with %d views cannot be timed, at most %d",
                  x->step->nview, (int)STEP_VIEWS);
        return -1;
    }
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
    y.give_up_seconds = INFINITY;
    for (y.choice = 0; y.choice < x->backend->choices(x->device, x->step); y.choice++) {
        const double seconds = profile_step(&y, e);
        if (seconds > 0) y.give_up_seconds = fmin(y.give_up_seconds, seconds);
    }
    return isinf(y.give_up_seconds) ? -1 : y.give_up_seconds;
}
