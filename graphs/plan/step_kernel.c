/* step_kernel.c -- makes and runs the kernels of steps. A step on the host has a buffer for each
   slot that it names, as long as its views reach. What is known when the step is made is copied
   into the buffer once. Outputs are copied in before the run, too, because a view may not cover its
   whole slot. */
#include "graphs/plan/step_kernel.h"
#include "graphs/plan/plan_inner.h"
#include "ops/backend/view.h"
#include "ops/base/arena.h"
#include "ops/core/element.h"
#include "ops/base/process.h"
#include <stdio.h>
#include <string.h>

typedef struct HostSlot {
    int32_t slot;        /* the slot on the device */
    size_t from, to;     /* the range of bytes that its views cover */
    void *memory;        /* the buffer, which starts with byte 0 of the slot */
    bool known, written; /* its contents never change; the step writes to it */
} HostSlot;
struct HostStep {
    const Backend *cpu;
    Device *device;
    Kernel *kernel;
    void *workspace, **slot;
    View *view; /* the step's views, with slots numbered as in `at` */
    int nview, nslot;
    HostSlot *at; /* the slots on the host */
};

static void host_free(HostStep *h) {
    if (h->kernel) h->cpu->forget(h->kernel);
    if (h->workspace) h->cpu->release(h->device, h->workspace);
    for (int k = 0; h->at && k < h->nslot; k++)
        if (h->at[k].memory) h->cpu->release(h->device, h->at[k].memory);
    mem_free(h->at);
    mem_free(h->slot);
    mem_free(h->view);
    mem_free(h);
}

static HostStep *host_new(int nview) {
    const size_t n = (size_t)nview + 1;
    HostStep *h = mem_realloc(NULL, sizeof *h);
    if (!h) return NULL;
    *h = (HostStep){.nview = nview};
    h->at = mem_realloc(NULL, n * sizeof *h->at);
    h->slot = mem_realloc(NULL, n * sizeof *h->slot);
    h->view = mem_realloc(NULL, n * sizeof *h->view);
    if (h->at && h->slot && h->view) return h;
    return host_free(h), NULL;
}

/* Gives a view the host's slot that stands for the device's slot in which it lies. */
static void number_slot(HostStep *h, View *v, bool written) {
    int64_t low, high;
    int k = 0;
    if (v->rank < 0) return;
    while (k < h->nslot && h->at[k].slot != v->slot) k++;
    if (k == h->nslot) h->at[h->nslot++] = (HostSlot){.slot = v->slot, .from = SIZE_MAX};
    HostSlot *s = &h->at[k];
    view_extent(v, &low, &high);
    v->slot = k;
    if (low == high) return; /* no elements */
    const size_t to = element_bytes((DType)v->dtype, high),
                 from = (size_t)(low * dtype_bits((DType)v->dtype) / 8);
    if (to > s->to) s->to = to;
    if (from < s->from) s->from = from;
    s->written |= written;
}

static bool take_buffers(HostStep *h, const Step *s, const void *const weights[]) {
    memcpy(h->view, s->view, (size_t)s->nview * sizeof *s->view);
    for (int j = 0; j < s->nview; j++) number_slot(h, &h->view[j], j < step_writes(s));
    for (int k = 0; k < h->nslot; k++) {
        h->at[k].memory = h->slot[k] = h->cpu->alloc(h->device, h->at[k].to + 1);
        if (!h->slot[k]) return false;
    }
    for (int j = 0; j < s->nview; j++) {
        if (h->view[j].rank < 0 || !weights || !weights[j]) continue;
        HostSlot *known = &h->at[h->view[j].slot];
        memcpy(known->memory, weights[j], known->to);
        known->known = true;
    }
    return true;
}

static bool no_memory(Error *e) { return error_set(e, E_MEMORY, "", "out of memory on the host"); }

static Kernel *compile(const OpenDevice *on, const Step *s, int choice, const void *const weights[],
                       size_t *workspace, Error *e) {
    char why[256] = "";
    CompileFailure failure = COMPILE_REFUSED;
    Kernel *k =
        on->backend->compile(on->device, s, choice, weights, workspace, &failure, why, sizeof why);
    if (!k) error_set(e, failure == COMPILE_NO_MEMORY ? E_MEMORY : E_ENVIRONMENT, "", "%s", why);
    return k;
}

static bool host_make(HostStep *h, OpenDevice *cpu, const KernelRequest *what, Error *e) {
    Error refused = {0};
    size_t room = 0;
    if (!cpu->device && !device_open(cpu, NULL, "cpu", "", &refused))
        return error_set(e, refused.kind, "", "the CPU's back end: %s", refused.reason);
    h->cpu = cpu->backend, h->device = cpu->device;
    if (!take_buffers(h, what->step, what->weights)) return no_memory(e);
    Step own = *what->step;
    own.view = h->view;
    h->kernel = compile(cpu, &own, 0, what->weights, &room, e);
    if (!h->kernel) return false;
    h->workspace = h->cpu->alloc(h->device, room + 1);
    return h->workspace || no_memory(e);
}

bool step_kernel_make(StepKernel *k, const OpenDevice *on, OpenDevice *cpu,
                      const KernelRequest *what, size_t *workspace, Error *e) {
    const Backend *b = on->backend;
    *k = (StepKernel){.backend = b, .device = on->device};
    if (b == backend_open("cpu", NULL) || b->choices(on->device, what->step) > 0) {
        k->kernel = compile(on, what->step, what->choice, what->weights, workspace, e);
        return k->kernel != NULL;
    }
    *workspace = 0;
    k->host = host_new(what->step->nview);
    if (!k->host) return no_memory(e);
    if (host_make(k->host, cpu, what, e)) return true;
    return step_kernel_free(k), false;
}

void step_kernel_free(StepKernel *k) {
    if (k->kernel) k->backend->forget(k->kernel);
    if (k->host) host_free(k->host);
    *k = (StepKernel){0};
}

/* Copies slots between device and host: before the run, all that are not known; after it (`back`),
   all that the step writes. */
static bool copy_slots(const StepKernel *k, void *const slot[], bool back) {
    for (int j = 0; j < k->host->nslot; j++) {
        const HostSlot *s = &k->host->at[j];
        if (s->to <= s->from || s->known || (back && !s->written)) continue;
        char *far = (char *)slot[s->slot] + s->from, *near = (char *)s->memory + s->from;
        if (k->backend->copy(k->device, back ? far : near, back ? near : far, s->to - s->from,
                             back ? COPY_TO_DEVICE : COPY_TO_HOST))
            return false;
    }
    return true;
}

static bool host_run(const StepKernel *k, void *const slot[], double *ns) {
    const HostStep *h = k->host;
    double waited = 0;
    if (k->backend->wait(k->device, &waited)) return false;
    const double start = process_clock();
    if (!copy_slots(k, slot, false) || h->cpu->run(h->kernel, h->slot, h->workspace) ||
        h->cpu->wait(h->device, NULL) || !copy_slots(k, slot, true))
        return false;
    *ns += waited + 1e9 * (process_clock() - start);
    return true;
}
bool step_kernel_run(const StepKernel *k, void *const slot[], void *workspace, double *ns) {
    return k->host ? host_run(k, slot, ns) : !k->backend->run(k->kernel, slot, workspace);
}

bool step_kernel_packed(const StepKernel *k, int view) {
    if (!k->host) return k->backend->keeps_view && k->backend->keeps_view(k->kernel, view);
    const View *v = &k->host->view[view];
    return v->rank >= 0 && k->host->at[v->slot].known;
}
