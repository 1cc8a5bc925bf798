/* host_driver.c -- implements the driver's functions on the host's memory, for the plug-in of a
   test. Everything is done at once when it is asked for.

   $ISOMER_HOST says how the driver behaves. "descending" runs the threads of a block in descending
   order. "no-driver", "no-device", "old-driver", "no-memory", "no-launch", "fault", "no-capture",
   "capture-breaks" and "no-graph" make it fail in that way; "loses" makes a graph miss the last
   thing that was recorded. "sm_80" and the like set the compute capability. "zeros" fills new
   memory with zeros, for runs whose images are not executed, so that steps on the host get indices
   within bounds.

   The functions refuse what a driver refuses: calls of a thread that has no context, launches
   beyond the limits of a GPU, times of events that were not recorded, and everything after a fault
   until the context is gone. While the stream is captured, launches, events and calls of
   host_work.h are recorded; anything else that works on memory breaks the capture, and so does a
   kernel that has not run before, since a driver may load it only then. An image with code of
   another machine is accepted, but not executed. */
#include "ops/cuda/driver.h"
#include "test/cuda/host_work.h"
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int Launch(unsigned grid, unsigned block, void **args, int descending);

static bool behaves(const char *word) {
    const char *all = getenv("ISOMER_HOST");
    return all && strstr(all, word);
}

static CUresult host_init(unsigned flags) {
    return (void)flags, behaves("no-device") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
static CUresult host_version(int *v) {
    return *v = behaves("old-driver") ? 12040 : 13000, CUDA_SUCCESS;
}
static CUresult host_count(int *n) { return *n = 1, CUDA_SUCCESS; }
static CUresult host_get(CUdevice *d, int k) { return *d = k, CUDA_SUCCESS; }
static CUresult host_name(char *name, int n, CUdevice d) {
    return (void)d, snprintf(name, (size_t)n, "the host"), CUDA_SUCCESS;
}
static CUresult host_attribute(int *v, CUdevice_attribute a, CUdevice d) {
    const char *all = getenv("ISOMER_HOST"), *sm = all ? strstr(all, "sm_") : NULL;
    const int capability = sm ? atoi(sm + 3) : 90;
    (void)d;
    *v = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? capability / 10
         : a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability % 10
                                                             : 1;
    return CUDA_SUCCESS;
}
/* ---- The context. Each thread has its own current context. */
static int retained;
static bool faulty; /* from a fault until nobody retains the context */
static _Thread_local CUcontext current;

static CUresult host_retain(CUcontext *c, CUdevice d) {
    return (void)d, retained++, *c = (CUcontext)(uintptr_t)1, CUDA_SUCCESS;
}
static CUresult host_release_context(CUdevice d) {
    if (--retained == 0) faulty = false;
    return (void)d, CUDA_SUCCESS;
}
static CUresult host_current(CUcontext c) { return current = c, CUDA_SUCCESS; }
/* The error that every call of this thread returns instead of acting; 0: none. */
static CUresult refusal(void) {
    return !retained || !current ? CUDA_ERROR_INVALID_CONTEXT
           : faulty              ? CUDA_ERROR_ILLEGAL_ADDRESS
                                 : CUDA_SUCCESS;
}
int host_context(void) { return refusal() == CUDA_SUCCESS; }
static CUresult fault(void) { return faulty = true, CUDA_ERROR_ILLEGAL_ADDRESS; }

/* ---- Capture: a list of what is to be done. */
typedef struct Work {
    struct Work *next;
    HostWork *does;
    char data[] __attribute__((aligned(16)));
} Work;
typedef struct Graph {
    Work *first, **end;
    int users;
} Graph;
static Graph *captured; /* the graph that is being captured, or NULL */
static bool broken;

static int breaks(void) { /* marks the capture as broken, if there is one */
    broken |= captured != NULL;
    return captured != NULL;
}
static void graph_drop(Graph *g) {
    if (--g->users) return;
    for (Work *next; g->first; g->first = next) next = g->first->next, free(g->first);
    free(g);
}
int host_work(HostWork *does, void *data, size_t n) {
    if (refusal()) return -1;
    if (!captured) return does(data);
    Work *w = malloc(sizeof *w + n);
    if (!w) return -1;
    *w = (Work){NULL, does};
    memcpy(w->data, data, n);
    *captured->end = w, captured->end = &w->next;
    return 0;
}
static CUresult host_begin_capture(CUstream s, CUstreamCaptureMode mode) {
    (void)s, (void)mode;
    if (refusal()) return refusal();
    if (behaves("no-capture")) return CUDA_ERROR_NOT_SUPPORTED;
    if (breaks()) return CUDA_ERROR_ILLEGAL_STATE;
    captured = malloc(sizeof *captured);
    if (!captured) return CUDA_ERROR_OUT_OF_MEMORY;
    *captured = (Graph){.end = &captured->first, .users = 1};
    broken = behaves("capture-breaks");
    return CUDA_SUCCESS;
}
static CUresult host_end_capture(CUstream s, CUgraph *out) {
    Graph *g = captured;
    (void)s;
    captured = NULL, *out = NULL;
    if (!g) return CUDA_ERROR_ILLEGAL_STATE;
    if (broken) return graph_drop(g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return *out = (CUgraph)g, CUDA_SUCCESS;
}
static CUresult host_instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
    Graph *g = (Graph *)graph;
    (void)flags;
    if (behaves("no-graph")) return CUDA_ERROR_OUT_OF_MEMORY;
    for (Work **w = &g->first; behaves("loses") && *w; w = &(*w)->next)
        if (!(*w)->next) {
            free(*w), *w = NULL;
            break;
        }
    return g->users++, *out = (CUgraphExec)g, CUDA_SUCCESS;
}
static CUresult host_launch_graph(CUgraphExec graph, CUstream s) {
    (void)s;
    if (refusal() || breaks()) return CUDA_ERROR_INVALID_CONTEXT;
    if (behaves("no-launch")) return CUDA_ERROR_LAUNCH_FAILED;
    for (Work *w = ((Graph *)graph)->first; w; w = w->next)
        if (w->does(w->data)) return CUDA_ERROR_LAUNCH_FAILED;
    return CUDA_SUCCESS;
}
static CUresult host_end_graph(CUgraph g) { return graph_drop((Graph *)g), CUDA_SUCCESS; }
static CUresult host_end_exec(CUgraphExec g) { return graph_drop((Graph *)g), CUDA_SUCCESS; }

/* Memory comes from the host's allocator, so AddressSanitizer notices if it is freed twice or
   never. */
static CUresult host_alloc(CUdeviceptr *p, size_t n) {
    if (refusal()) return refusal();
    void *memory = breaks() || behaves("no-memory") || n > (size_t)1 << 40
                       ? NULL
                       : aligned_alloc(256, (n + 255) / 256 * 256);
    *p = (CUdeviceptr)(uintptr_t)memory;
    if (memory) memset(memory, behaves("zeros") ? 0 : 0xEE, n);
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
static CUresult host_free(CUdeviceptr p) {
    const CUresult r = breaks() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : refusal();
    return free((void *)(uintptr_t)p), r; /* freed even if refused, or the test would leak it */
}
/* The error of a copy on the stream; 0: none. */
static CUresult copy_refusal(void) {
    return breaks() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : refusal();
}
static CUresult host_to_device(CUdeviceptr to, const void *from, size_t n, CUstream s) {
    const CUresult r = copy_refusal();
    if (!r) memcpy((void *)(uintptr_t)to, from, n);
    return (void)s, r;
}
static CUresult host_to_host(void *to, CUdeviceptr from, size_t n, CUstream s) {
    const CUresult r = copy_refusal();
    if (!r) memcpy(to, (void *)(uintptr_t)from, n);
    return (void)s, r;
}
static CUresult host_on_device(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
    const CUresult r = copy_refusal();
    if (!r) memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
    return (void)s, r;
}

static CUresult host_stream(CUstream *s, unsigned flags) {
    return (void)flags, *s = (CUstream)(uintptr_t)1, CUDA_SUCCESS;
}
static CUresult host_end_stream(CUstream s) { return (void)s, CUDA_SUCCESS; }
static CUresult host_synchronize(CUstream s) {
    (void)s;
    if (breaks()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return behaves("fault") ? fault() : refusal();
}
static CUresult host_event(CUevent *e, unsigned flags) {
    (void)flags;
    const double never = NAN;
    if (refusal()) return refusal();
    *e = malloc(sizeof never);
    if (!*e) return CUDA_ERROR_OUT_OF_MEMORY;
    return memcpy(*e, &never, sizeof never), CUDA_SUCCESS;
}
static CUresult host_end_event(CUevent e) { return free(e), CUDA_SUCCESS; }
static int note_time(void *data) {
    CUevent e;
    struct timespec t;
    memcpy(&e, data, sizeof e);
    clock_gettime(CLOCK_MONOTONIC, &t);
    const double ms = 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
    return memcpy(e, &ms, sizeof ms), 0;
}
static CUresult host_record(CUevent e, CUstream s) {
    (void)s;
    /* such an event would not become part of the graph */
    if (breaks()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (refusal()) return refusal();
    return note_time(&e), CUDA_SUCCESS;
}
static CUresult host_record_with(CUevent e, CUstream s, unsigned flags) {
    (void)s;
    if (captured && flags != CU_EVENT_RECORD_EXTERNAL) return host_record(e, s);
    if (!captured && flags == CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_ILLEGAL_STATE;
    return host_work(note_time, &e, sizeof e) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
static CUresult host_elapsed(float *ms, CUevent from, CUevent to) {
    double a, b;
    memcpy(&a, from, sizeof a), memcpy(&b, to, sizeof b);
    if (refusal()) return refusal();
    if (isnan(a) || isnan(b)) return CUDA_ERROR_INVALID_HANDLE;
    return *ms = (float)(b - a), CUDA_SUCCESS;
}

/* ---- Modules. Images are shared objects, or code for GPUs. */
typedef struct Module {
    void *library; /* NULL: the code is for another machine */
    bool ran;
} Module;
typedef struct Elf { /* the fields of an ELF header that give the machine and the size */
    uint16_t machine, size, count;
    uint64_t sections;
} Elf;
static Elf read_elf(const char *image) {
    Elf e;
    memcpy(&e.machine, image + 0x12, sizeof e.machine);
    memcpy(&e.sections, image + 0x28, sizeof e.sections);
    memcpy(&e.size, image + 0x3a, sizeof e.size);
    memcpy(&e.count, image + 0x3c, sizeof e.count);
    return e;
}
/* Loads the image from a file with a name of its own, since the loader takes two files of the same
   name for the same library. */
static void *open_image(const char *image, size_t bytes) {
    char path[] = "/tmp/isomer-kernel-XXXXXX";
    const int fd = mkstemp(path);
    const bool good = fd >= 0 && write(fd, image, bytes) == (ssize_t)bytes;
    if (fd >= 0) close(fd);
    void *library = good ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (fd >= 0) unlink(path);
    return library;
}
static CUresult host_load(CUmodule *out, const void *image) {
    enum { X86_64 = 62 };
    const Elf e = read_elf(image);
    if (refusal() || breaks()) return CUDA_ERROR_INVALID_CONTEXT;
    Module *m = calloc(1, sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    m->library =
        e.machine == X86_64 ? open_image(image, e.sections + (size_t)e.size * e.count) : NULL;
    if (e.machine == X86_64 && !m->library) return free(m), CUDA_ERROR_INVALID_IMAGE;
    *out = (CUmodule)m;
    return CUDA_SUCCESS;
}
static CUresult host_unload(CUmodule module) {
    Module *m = (Module *)module;
    if (m->library) dlclose(m->library);
    return free(m), CUDA_SUCCESS;
}
static CUresult host_function(CUfunction *f, CUmodule module, const char *name) {
    Module *m = (Module *)module;
    *f = (CUfunction)m;
    return strcmp(name, "k") ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
/* Whether a launch is possible on all GPUs from sm_75 on, with kernels bounded to 256 threads. */
static bool within_limits(const unsigned grid[3], const unsigned block[3], unsigned shared) {
    enum { BOUND = 256, SHARED = 48 << 10, ACROSS = 65535, WHOLE = 0x7fffffff };
    for (int a = 0; a < 3; a++)
        if (!grid[a] || !block[a] || grid[a] > (a ? (unsigned)ACROSS : (unsigned)WHOLE))
            return false;
    return (unsigned long)block[0] * block[1] * block[2] <= BOUND && shared <= SHARED;
}
typedef struct Launched { /* a launch; all arguments are pointers */
    const Module *module;
    unsigned grid, block;
    int args;
    void *arg[70];
} Launched;
static int run_launched(void *data) {
    Launched *l = data;
    Launch *launch = NULL;
    void *at[sizeof l->arg / sizeof *l->arg];
    for (int k = 0; k < l->args; k++) at[k] = &l->arg[k];
    *(void **)&launch = dlsym(l->module->library, "host_launch");
    return launch(l->grid, l->block, at, behaves("descending"));
}
static CUresult host_launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned shared, CUstream s,
                                   void **args, void **more) {
    Module *const module = (Module *)f;
    Launched l = {.module = module, .grid = gx, .block = bx};
    (void)s, (void)more;
    if (refusal()) return refusal();
    if (!within_limits((const unsigned[]){gx, gy, gz}, (const unsigned[]){bx, by, bz}, shared))
        return CUDA_ERROR_INVALID_VALUE;
    if (behaves("no-launch") || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared)
        return CUDA_ERROR_LAUNCH_FAILED;
    if (!module->ran && breaks()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    module->ran = true;
    if (!l.module->library) return CUDA_SUCCESS;
    l.args = *(const int *)dlsym(l.module->library, "host_count");
    for (int k = 0; k < l.args; k++) memcpy(&l.arg[k], args[k], sizeof l.arg[k]);
    return host_work(run_launched, &l, sizeof l) ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_SUCCESS;
}
static CUresult host_error(CUresult r, const char **text) {
    *text = r == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "failed on the host";
    return CUDA_SUCCESS;
}

bool driver_open(Driver *d, char *why, size_t n) {
    if (behaves("no-driver")) return snprintf(why, n, "there is no NVIDIA driver here"), false;
    *d = (Driver){.cuInit_ = host_init,
                  .cuDriverGetVersion_ = host_version,
                  .cuDeviceGetCount_ = host_count,
                  .cuDeviceGet_ = host_get,
                  .cuDeviceGetName_ = host_name,
                  .cuDeviceGetAttribute_ = host_attribute,
                  .cuDevicePrimaryCtxRetain_ = host_retain,
                  .cuDevicePrimaryCtxRelease_ = host_release_context,
                  .cuCtxSetCurrent_ = host_current,
                  .cuMemAlloc_ = host_alloc,
                  .cuMemFree_ = host_free,
                  .cuMemcpyHtoDAsync_ = host_to_device,
                  .cuMemcpyDtoHAsync_ = host_to_host,
                  .cuMemcpyDtoDAsync_ = host_on_device,
                  .cuStreamCreate_ = host_stream,
                  .cuStreamDestroy_ = host_end_stream,
                  .cuStreamSynchronize_ = host_synchronize,
                  .cuEventCreate_ = host_event,
                  .cuEventDestroy_ = host_end_event,
                  .cuEventRecord_ = host_record,
                  .cuEventElapsedTime_ = host_elapsed,
                  .cuModuleLoadData_ = host_load,
                  .cuModuleUnload_ = host_unload,
                  .cuModuleGetFunction_ = host_function,
                  .cuLaunchKernel_ = host_launch_kernel,
                  .cuStreamBeginCapture_ = host_begin_capture,
                  .cuStreamEndCapture_ = host_end_capture,
                  .cuEventRecordWithFlags_ = host_record_with,
                  .cuGraphInstantiate_ = host_instantiate,
                  .cuGraphLaunch_ = host_launch_graph,
                  .cuGraphDestroy_ = host_end_graph,
                  .cuGraphExecDestroy_ = host_end_exec,
                  .cuGetErrorString_ = host_error};
    return true;
}
