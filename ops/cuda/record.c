/* record.c -- records kernels as CUDA graphs, and measures times. What is started while the stream
   is captured becomes one graph, which is then launched as a whole. Times are events in the stream
   or in the graph. */
#include "ops/cuda/device.h"
#include <stdio.h>
#include <stdlib.h>

int record_begin(Device *d) {
    if (d->lost || d->recording || !device_enter(d)) return -1;
    const CUresult r =
        d->driver.cuStreamBeginCapture_(d->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    d->recording = !r;
    return device_done(d, "cuStreamBeginCapture", r);
}

CUgraphExec record_end(Device *d, char *why, size_t n) {
    const Driver *f = &d->driver;
    CUgraph graph = NULL;
    CUgraphExec made = NULL;
    if (!d->recording) return snprintf(why, n, "nothing is being recorded"), NULL;
    d->recording = false;
    CUresult r = f->cuCtxSetCurrent_(d->context);
    if (!r) r = f->cuStreamEndCapture_(d->stream, &graph);
    if (r || !graph) return device_failed(d, "recording", r, why, n), NULL;
    r = f->cuGraphInstantiate_(&made, graph, 0);
    f->cuGraphDestroy_(graph);
    if (r) return device_failed(d, "a graph of what was recorded", r, why, n), NULL;
    return made;
}

int record_run(Device *d, CUgraphExec recorded) {
    if (d->recording) return -1;
    return device_done(d, "cuGraphLaunch", d->driver.cuGraphLaunch_(recorded, d->stream));
}
/* Waits first, since the graph may still be running. */
void record_forget(Device *d, CUgraphExec recorded) {
    device_enter(d);
    d->driver.cuStreamSynchronize_(d->stream);
    d->driver.cuGraphExecDestroy_(recorded);
}

static bool take_marks(Device *d, int k) {
    if (k < d->marks) return true;
    const int room = 2 * k + 64;
    CUevent *more = realloc(d->mark, sizeof *more * (size_t)room);
    if (!more) return false;
    d->mark = more;
    while (d->marks < room && !d->driver.cuEventCreate_(&d->mark[d->marks], CU_EVENT_DEFAULT))
        d->marks++;
    return k < d->marks;
}
int record_mark(Device *d, int k) {
    if (d->lost || k < 0 || !device_enter(d) || !take_marks(d, k)) return -1;
    const unsigned how = d->recording ? CU_EVENT_RECORD_EXTERNAL : CU_EVENT_RECORD_DEFAULT;
    return device_done(d, "cuEventRecordWithFlags",
                       d->driver.cuEventRecordWithFlags_(d->mark[k], d->stream, how));
}
int record_between(Device *d, int from, int to, double *ns) {
    float ms = 0;
    if (d->lost || d->recording || from < 0 || to < 0 || from >= d->marks || to >= d->marks ||
        !device_enter(d) ||
        device_done(d, "cuEventElapsedTime",
                    d->driver.cuEventElapsedTime_(&ms, d->mark[from], d->mark[to])))
        return -1;
    return *ns = 1e6 * (double)ms, 0;
}
void record_close(Device *d) {
    while (d->marks) d->driver.cuEventDestroy_(d->mark[--d->marks]);
    free(d->mark);
}
