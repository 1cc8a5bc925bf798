/* execute.c -- runs a plan on a device. Kernels are compiled once, constants are copied to the
   device, and one buffer holds everything between. Inputs and outputs have memory of their own, so
   that a run is: copy in, all kernels in order, copy out. A constant whose contents occur twice is
   copied once, and not at all if the kernels have packed what they read of it.

   Steps that read constants only run here, in order, in between the compilation of the steps. What
   they make is known when its users are compiled, and can be packed like a constant. Afterwards
   these steps, and the constants that only they read, are freed. The first run goes step by step,
   which loads what the device loads lazily and names a step that fails; later runs start what was
   recorded (recording.h). */
#include "graphs/plan/execute.h"
#include "graphs/plan/plan_inner.h"
#include "graphs/plan/recording.h"
#include "ops/backend/view.h"
#include "ops/core/element.h"
#include "ops/operator/op_kernel.h"
#include <stdio.h>

struct Runner {
    Cleanup cleanup;
    const Plan *plan;
    const Relief *relief; /* set while the runner is made; NULL: none */
    /* Bytes of constants that kernels have read since the last call of relief. */
    int64_t bytes_read;
    const Backend *backend;
    Device *device;
    Arena *arena, *made; /* made: results of steps that run once, until everything is compiled */
    StepKernel *kernel;
    OpenDevice cpu;     /* runs the steps that the back end cannot run */
    void **slot;        /* by slot: its memory on the device */
    const void **known; /* by slot: its contents if they never change; NULL: not known (yet) */
    bool *allocated, *shared; /* allocated: the memory of slot k was allocated for it; shared: it is
                         shared by all who hold such contents */
    int *writer;              /* by slot: the last step that writes it */
    char *work;
    void *workspace;
    bool ready;          /* inputs are set, and all steps have run once */
    bool refused;        /* a kernel refused its data */
    Recording recording; /* used from the second run on */
    Recording marked;    /* likewise, with the times of each step marked */
};

static bool no_memory(Error *e, const char *what, double bytes) {
    return error_set(e, E_LIMIT, "", "out of device memory for %s: %.0f bytes", what, bytes);
}

static const char *device_says(const Runner *r) {
    return r->backend->failure ? r->backend->failure(r->device) : "";
}
/* Sets an error, with what the device says about it. */
static bool device_failed(const Runner *r, const char *what, const char *place, Error *e) {
    const char *more = device_says(r);
    return error_set(e, E_ENVIRONMENT, place, "%s%s%s", what, *more ? ": " : "", more);
}

static bool alloc_slot(Runner *r, int k, Error *e) {
    size_t bytes = (size_t)r->plan->slot[k].bytes;
    r->slot[k] = r->backend->alloc(r->device, bytes ? bytes : 1);
    r->allocated[k] = r->slot[k] != NULL;
    return r->allocated[k] || no_memory(e, "a tensor", (double)bytes);
}

/* Another slot with the same contents that has memory of its own; -1 if there is none. */
static int same_constant(const Runner *r, int k) {
    const Plan *p = r->plan;
    for (int j = 0; j < p->nslot; j++)
        if (r->allocated[j] && p->slot[j].data == p->slot[k].data &&
            p->slot[j].bytes == p->slot[k].bytes)
            return j;
    return -1;
}

static bool hold_constant(Runner *r, int k, Error *e) {
    const Slot *s = &r->plan->slot[k];
    r->slot[k] = r->backend->hold(r->device, s->data, (size_t)s->bytes);
    r->allocated[k] = r->shared[k] = r->slot[k] != NULL;
    return r->allocated[k] || no_memory(e, "a constant", (double)s->bytes);
}

static void slot_release(Runner *r, int k) {
    if (r->shared[k]) r->backend->drop(r->device, r->slot[k]);
    else if (r->allocated[k]) r->backend->release(r->device, r->slot[k]);
    r->allocated[k] = r->shared[k] = false;
}

static bool take_constant(Runner *r, int k, Error *e) {
    const Slot *s = &r->plan->slot[k];
    if (r->backend->hold) return hold_constant(r, k, e);
    int j = same_constant(r, k);
    if (j >= 0) {
        r->slot[k] = r->slot[j];
        return true;
    }
    if (!alloc_slot(r, k, e)) return false;
    return !r->backend->copy(r->device, r->slot[k], s->data, (size_t)s->bytes, COPY_TO_DEVICE) ||
           device_failed(r, "a copy to the device failed", "", e);
}

static bool take_slots(Runner *r, Error *e) {
    const Plan *p = r->plan;
    r->work = r->backend->alloc(r->device, (size_t)p->work_bytes + 1);
    if (!r->work) return no_memory(e, "the work memory", (double)p->work_bytes);
    for (int k = 0; k < p->nslot; k++) {
        const Slot *s = &p->slot[k];
        if (!s->data && (s->input >= 0 || s->output >= 0) && !alloc_slot(r, k, e)) return false;
        if (!s->data && !r->slot[k])
            r->slot[k] = s->arena_offset >= 0 ? r->work + s->arena_offset : r->work;
    }
    return true;
}

static bool reads(const Runner *r, int k, int view) {
    if (r->plan->step[k].step.view[view].rank < 0) return false;
    return !step_kernel_packed(&r->kernel[k], view);
}

/* Copies to the device the constants that the kernel of step k reads when it runs. */
static bool take_read(Runner *r, int k, Error *e) {
    const Step *s = &r->plan->step[k].step;
    for (int j = 0; j < s->nview; j++) {
        int slot = s->view[j].slot;
        if (reads(r, k, j) && r->plan->slot[slot].data && !r->slot[slot] &&
            !take_constant(r, slot, e))
            return false;
    }
    return true;
}

/* Frees the kernels of steps that run once, and the constants that only these steps read. */
static void drop_passed(Runner *r) {
    const Plan *p = r->plan;
    bool *read = ARENA_NEW(r->arena, bool, p->nslot);
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < p->step[k].step.nview; j++)
            if (!p->step[k].once && reads(r, k, j)) read[p->step[k].step.view[j].slot] = true;
    for (int k = 0; k < p->nslot; k++) /* in the memory of another slot */
        if (read[k] && p->slot[k].data && !r->allocated[k]) read[same_constant(r, k)] = true;
    for (int k = 0; k < p->nslot; k++) {
        if (p->slot[k].data && !read[k]) slot_release(r, k), r->slot[k] = NULL;
        if (p->slot[k].data && !r->slot[k]) r->slot[k] = r->work; /* not read */
    }
    for (int k = 0; k < p->nstep; k++)
        if (p->step[k].once) step_kernel_free(&r->kernel[k]);
    arena_free(r->made);
    r->made = NULL;
}

/* Names a step as in "step 3, gather (value 7)", with the number that --dump plan gives it. */
enum { STEP_PLACE = 100 };
static const char *step_place(const Runner *r, int k, char place[STEP_PLACE]) {
    const PlanStep *s = &r->plan->step[k];
    snprintf(place, STEP_PLACE, "step %d, %s (value %u)", k,
             s->step.op ? s->step.op : step_kind_name(s->step.kind), s->node);
    return place;
}

static bool compile_step(Runner *r, int k, size_t *workspace, Error *e) {
    const PlanStep *s = &r->plan->step[k];
    const void **weights = ARENA_NEW(r->arena, const void *, s->step.nview);
    Error why = {0};
    for (int j = 0; j < s->step.nview; j++)
        weights[j] = s->step.view[j].slot < 0 ? NULL : r->known[s->step.view[j].slot];
    size_t wants = 0;
    const bool made =
        step_kernel_make(&r->kernel[k], &(OpenDevice){.backend = r->backend, .device = r->device},
                         &r->cpu, &(KernelRequest){&s->step, s->choice, weights}, &wants, &why);
    if (wants > *workspace) *workspace = wants;
    if (made) return true;
    char place[STEP_PLACE];
    return error_set(e, E_ENVIRONMENT, step_place(r, k, place), "the %s back end: %s",
                     r->backend->name, why.reason);
}

/* Calls relief if enough constants were read; called after step k has been compiled. */
static void relieve(Runner *r, int k) {
    const Step *s = &r->plan->step[k].step;
    for (int j = 0; j < s->nview && r->relief; j++) {
        const Slot *slot = s->view[j].slot < 0 ? NULL : &r->plan->slot[s->view[j].slot];
        if (slot && slot->data) r->bytes_read += slot->bytes;
    }
    if (r->bytes_read < RELIEF_BYTES) return;
    r->relief->give(r->relief->user);
    r->bytes_read = 0;
}

/* Sets the error of a step that failed. If the step is an operator's kernel (op_kernel.h) and the
   device reports nothing, its data is at fault. */
static bool step_failed(Runner *r, int k, Error *e) {
    char place[STEP_PLACE];
    const bool by_data = r->plan->step[k].step.kind == S_OP;
    const char *what =
        by_data ? "the kernel failed; an input may hold a value that the operator does not allow, "
                  "such as an index that is out of range"
                : "the kernel failed";
    r->refused = by_data && !*device_says(r);
    return device_failed(r, what, step_place(r, k, place), e);
}

/* Runs a step that reads constants only. Its results are known afterwards, if all steps that write
   them have run: a step runs once only if all others that write its slots do (plan_once), so the
   last writer is the last one to run. */
static bool run_once(Runner *r, int k, size_t workspace, Error *e) {
    const Step *s = &r->plan->step[k].step;
    void *scratch = r->backend->alloc(r->device, workspace + 1);
    if (!scratch) return no_memory(e, "the kernels' scratch", (double)workspace);
    double ns = 0;
    bool done =
        step_kernel_run(&r->kernel[k], r->slot, scratch, &ns) && !r->backend->wait(r->device, NULL);
    r->backend->release(r->device, scratch);
    if (!done) return step_failed(r, k, e);
    for (int j = 0; j < step_writes(s); j++) {
        int slot = s->view[j].slot;
        if (r->writer[slot] != k || r->plan->slot[slot].output >= 0) continue;
        void *bytes = arena_alloc_raw(r->made, (size_t)r->plan->slot[slot].bytes);
        if (r->backend->copy(r->device, bytes, r->slot[slot], (size_t)r->plan->slot[slot].bytes,
                             COPY_TO_HOST))
            return step_failed(r, k, e);
        r->known[slot] = bytes;
    }
    return true;
}

static bool prepare(Runner *r, Error *e) {
    size_t workspace = 0;
    const Plan *p = r->plan;
    r->kernel = ARENA_NEW(r->arena, StepKernel, p->nstep);
    r->slot = ARENA_NEW(r->arena, void *, p->nslot);
    r->allocated = ARENA_NEW(r->arena, bool, p->nslot);
    r->shared = ARENA_NEW(r->arena, bool, p->nslot);
    r->known = ARENA_NEW(r->arena, const void *, p->nslot);
    r->writer = ARENA_NEW(r->arena, int, p->nslot);
    for (int k = 0; k < p->nslot; k++) r->known[k] = p->slot[k].data;
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < step_writes(&p->step[k].step); j++)
            r->writer[p->step[k].step.view[j].slot] = k;
    if (!take_slots(r, e)) return false;
    r->made = arena_new(arena_escape(r->arena), 0);
    if (r->relief) r->relief->give(r->relief->user);
    for (int k = 0; k < p->nstep; k++) {
        if (!compile_step(r, k, &workspace, e) || !take_read(r, k, e) ||
            (p->step[k].once && !run_once(r, k, workspace, e)))
            return false;
        relieve(r, k);
    }
    drop_passed(r);
    r->workspace = r->backend->alloc(r->device, workspace + 1);
    return r->workspace || no_memory(e, "the kernels' scratch", (double)workspace);
}

static void free_runner(void *runner) { runner_free(runner); }

/* Running out of memory is an error like any other: kernels and device memory are freed. */
Runner *runner_new(const Plan *p, const Backend *backend, Device *device, Error *e) {
    return runner_new_relieved(p, backend, device, NULL, e);
}
Runner *runner_new_relieved(const Plan *p, const Backend *backend, Device *device,
                            const Relief *relief, Error *e) {
    Escape escape = {.error = {.kind = E_NONE}};
    Runner *volatile r = NULL;
    Arena *volatile a = NULL;
    if (setjmp(escape.here)) {
        if (r) runner_free(r);
        else arena_free(a);
        error_set(e, E_MEMORY, "", "out of memory for the kernels of a plan");
        return NULL;
    }
    a = arena_new(&escape, 0);
    r = ARENA_NEW(a, Runner, 1);
    *r = (Runner){.plan = p, .relief = relief, .backend = backend, .device = device, .arena = a};
    if (!prepare(r, e)) return runner_free(r), NULL;
    r->relief = NULL;
    if (relief) relief->give(relief->user);
    arena_keep(a);
    cleanup_add(p->arena ? arena_escape(p->arena) : NULL, &r->cleanup, free_runner, r);
    return r;
}

bool runner_refused(const Runner *r) { return r->refused; }
const Backend *runner_backend(const Runner *r) { return r->backend; }
const Device *runner_device(const Runner *r) { return r->device; }

void runner_free(Runner *r) {
    if (!r) return;
    cleanup_cancel(&r->cleanup);
    recording_free(&r->recording, r->backend);
    recording_free(&r->marked, r->backend);
    for (int k = 0; r->kernel && k < r->plan->nstep; k++) step_kernel_free(&r->kernel[k]);
    device_close(&r->cpu);
    for (int k = 0; r->shared && k < r->plan->nslot; k++) slot_release(r, k);
    if (r->work) r->backend->release(r->device, r->work);
    if (r->workspace) r->backend->release(r->device, r->workspace);
    arena_free(r->made);
    arena_free(r->arena);
}

static Running running(const Runner *r) {
    return (Running){r->plan, r->backend, r->device, r->kernel, r->slot, r->workspace};
}
/* Starts all steps. *ns: the nanoseconds of the steps on the host and of what they waited for. */
static bool run_steps(Runner *r, double *ns, Error *e) {
    const Running all = running(r);
    *ns = 0;
    if (r->ready && !r->recording.stretch && !recording_make(&r->recording, &all, false))
        return error_set(e, E_MEMORY, "", "out of memory for a recording");
    const int failed = r->ready ? recording_run(&r->recording, &all, ns)
                                : steps_run(&all, 0, r->plan->nstep, false, ns);
    return failed < 0 || step_failed(r, failed, e);
}

/* Clears the bits after the last element of a tensor whose elements have less than 8 bits. */
static void clear_padding(const View *v, void *bytes) {
    int64_t bits = view_count(v) * dtype_bits((DType)v->dtype), whole = bits / 8;
    if (bits % 8)
        ((uint8_t *)bytes)[whole] = (uint8_t)(((uint8_t *)bytes)[whole] & ((1u << bits % 8) - 1));
}

static bool set_inputs(Runner *r, const void *const in[], Error *e) {
    const Plan *p = r->plan;
    for (int k = 0; k < p->nin; k++) {
        const Slot *s = &p->slot[p->in[k].slot];
        if (r->backend->copy(r->device, r->slot[p->in[k].slot], in[k], (size_t)s->bytes,
                             COPY_TO_DEVICE))
            return device_failed(r, "a copy to the device failed", "", e);
    }
    return true;
}

bool runner_advance(Runner *r, const void *const in[], int from, int to, Error *e) {
    const Running all = running(r);
    double ns = 0;
    if (!from && !set_inputs(r, in, e)) return false;
    const int failed = steps_run(&all, from, to, false, &ns);
    if (failed >= 0) return step_failed(r, failed, e);
    return !r->backend->wait(r->device, NULL) || device_failed(r, "the device failed", "", e);
}

void *runner_read(const Runner *r, const View *v, Arena *a) {
    const size_t whole = (size_t)r->plan->slot[v->slot].bytes;
    const View to = view_dense(1, v->dtype, v->rank, v->dim);
    View from = *v;
    void *slot[] = {arena_alloc(a, whole ? whole : 1),
                    arena_alloc(a, element_bytes((DType)v->dtype, view_count(v)))};
    int64_t i[STEP_RANK];
    if (r->backend->copy(r->device, slot[0], r->slot[v->slot], whole, COPY_TO_HOST)) return NULL;
    from.slot = 0;
    for (bool more = kernel_first(&to, i); more; more = kernel_next(&to, i))
        kernel_move(&to, slot, kernel_at(&to, i), &from, kernel_at(&from, i));
    return slot[1];
}

bool runner_run(Runner *r, const void *const in[], void *const out[], Error *e) {
    const Plan *p = r->plan;
    double ns;
    if (!set_inputs(r, in, e) || !run_steps(r, &ns, e)) return false;
    if (r->backend->wait(r->device, NULL)) return device_failed(r, "the device failed", "", e);
    r->ready = true;
    for (int k = 0; k < p->nout; k++) {
        const Slot *s = &p->slot[p->out[k].slot];
        if (r->backend->copy(r->device, out[k], r->slot[p->out[k].slot], (size_t)s->bytes,
                             COPY_TO_HOST))
            return device_failed(r, "a copy from the device failed", "", e);
        clear_padding(&p->out[k], out[k]);
    }
    return true;
}

bool runner_time(Runner *r, double *seconds, Error *e) {
    double ns, host;
    if (!r->ready) return error_set(e, E_INVALID, "", "set the inputs before timing a run");
    r->backend->wait(r->device, NULL);
    if (!run_steps(r, &host, e)) return false;
    if (r->backend->wait(r->device, &ns)) return device_failed(r, "the device failed", "", e);
    *seconds = (ns + host) * 1e-9;
    return true;
}

/* Measures the steps by waiting for each. */
static bool profile_apart(Runner *r, double *seconds, Error *e) {
    double ns;
    for (int k = 0; k < r->plan->nstep; k++) {
        double host = 0;
        if (r->plan->step[k].once) continue;
        if (!step_kernel_run(&r->kernel[k], r->slot, r->workspace, &host) ||
            r->backend->wait(r->device, &ns))
            return step_failed(r, k, e);
        seconds[k] = (ns + host) * 1e-9;
    }
    return true;
}
/* Measures the steps by times that are marked in a recording, in which the device does not wait for
   the host. */
static bool profile_marked(Runner *r, double *seconds, Error *e) {
    const Running all = running(r);
    for (int k = 0; k < r->marked.n; k++) {
        Recording one = {.n = 1, .marked = true, .stretch = &r->marked.stretch[k]};
        double host = 0, ns;
        const int failed = recording_run(&one, &all, &host), from = one.stretch->from;
        if (failed >= 0 || r->backend->wait(r->device, NULL)) return step_failed(r, from, e);
        if (r->kernel[from].host) seconds[from] = host * 1e-9;
        for (int j = from; j < one.stretch->to; j++) {
            if (r->plan->step[j].once || r->kernel[j].host) continue;
            if (r->backend->elapsed(r->device, j, j + 1, &ns)) return step_failed(r, j, e);
            seconds[j] = ns * 1e-9;
        }
    }
    return true;
}
bool runner_profile(Runner *r, double *seconds, Error *e) {
    const Running all = running(r);
    if (!r->ready) return error_set(e, E_INVALID, "", "set the inputs before profiling");
    r->backend->wait(r->device, NULL);
    for (int k = 0; k < r->plan->nstep; k++) seconds[k] = 0;
    if (!r->backend->mark) return profile_apart(r, seconds, e);
    if (!r->marked.stretch && !recording_make(&r->marked, &all, true))
        return error_set(e, E_MEMORY, "", "out of memory for a recording");
    return profile_marked(r, seconds, e);
}

int runner_recorded(const Runner *r, int *pieces, const char **why) {
    int steps = 0;
    *pieces = 0, *why = r->recording.why;
    for (int k = 0; k < r->recording.n; k++) {
        const Stretch *p = &r->recording.stretch[k];
        *pieces += p->kernel != NULL;
        for (int j = p->from; p->kernel && j < p->to; j++) steps += !r->plan->step[j].once;
    }
    return steps;
}
