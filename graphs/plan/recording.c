/* recording.c -- records stretches of steps and starts each as one kernel. A single step is not
   recorded. A recording contains addresses, so slots must stay where they are; their contents may
   change, since inputs are copied into them. */
#include "graphs/plan/recording.h"
#include <stdio.h>

int steps_run(const Running *r, int from, int to, bool marked, double *ns) {
    for (int k = from; k < to; k++) {
        if (r->plan->step[k].once) continue;
        if (marked && r->backend->mark(r->device, k)) return k;
        if (!step_kernel_run(&r->kernel[k], r->slot, r->workspace, ns)) return k;
        /* If step k + 1 runs in this stretch, it marks the end of step k as its own begin. */
        const bool begins = k + 1 < to && !r->plan->step[k + 1].once;
        if (marked && !begins && r->backend->mark(r->device, k + 1)) return k;
    }
    return -1;
}

static bool on_host(const Running *r, int k) {
    return !r->plan->step[k].once && r->kernel[k].host != NULL;
}
/* The end of the stretch that begins at step `from`: after one step on the host, or else before the
   next one on the host. */
static int stretch_end(const Running *r, int from) {
    int to = from + 1;
    while (!on_host(r, from) && to < r->plan->nstep && !on_host(r, to)) to++;
    return to;
}

static bool worth_recording(const Running *r, const Stretch *p) {
    int steps = 0;
    for (int k = p->from; k < p->to; k++) steps += !r->plan->step[k].once;
    return r->backend->record && !on_host(r, p->from) && steps > 1;
}
static Kernel *record_stretch(const Running *r, const Stretch *p, bool marked, char *why,
                              size_t n) {
    double none = 0;
    if (r->backend->record(r->device))
        return snprintf(why, n, "the %s back end does not record", r->backend->name), NULL;
    const int failed = steps_run(r, p->from, p->to, marked, &none);
    Kernel *made = r->backend->recorded(r->device, why, n);
    if (failed < 0 || !made) return made;
    r->backend->forget(made);
    return snprintf(why, n, "step %d cannot be recorded", failed), NULL;
}

bool recording_make(Recording *y, const Running *r, bool marked) {
    char why[sizeof y->why];
    *y = (Recording){.marked = marked};
    y->stretch = mem_realloc(NULL, ((size_t)r->plan->nstep + 1) * sizeof *y->stretch);
    if (!y->stretch) return false;
    for (int from = 0; from < r->plan->nstep; from = y->stretch[y->n++].to) {
        Stretch *p = &y->stretch[y->n];
        *p = (Stretch){from, stretch_end(r, from), NULL};
        if (!worth_recording(r, p)) continue;
        why[0] = 0;
        p->kernel = record_stretch(r, p, marked, why, sizeof why);
        if (!p->kernel && !y->why[0]) snprintf(y->why, sizeof y->why, "%s", why);
    }
    return true;
}

void recording_free(Recording *y, const Backend *b) {
    for (int k = 0; k < y->n; k++)
        if (y->stretch[k].kernel) b->forget(y->stretch[k].kernel);
    mem_free(y->stretch);
    *y = (Recording){0};
}

int recording_run(const Recording *y, const Running *r, double *ns) {
    for (int k = 0; k < y->n; k++) {
        const Stretch *p = &y->stretch[k];
        int failed = -1;
        if (!p->kernel)
            failed = steps_run(r, p->from, p->to, y->marked && !on_host(r, p->from), ns);
        else if (r->backend->run(p->kernel, r->slot, r->workspace)) failed = p->from;
        if (failed >= 0) return failed;
    }
    return -1;
}
