/* cuda.c -- the back end: makes kernels from steps and starts them on the device's one stream. A
   step is run by an algorithm of a library or by a generated kernel. If the algorithm does not
   include the step's program, a generated kernel follows that runs the program in place. */
#include "ops/cuda/attention_parts.h"
#include "ops/cuda/cache.h"
#include "ops/cuda/device.h"
#include "ops/cuda/generate.h"
#include "ops/cuda/algorithms.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Code { /* a generated kernel, loaded on the device */
    CUmodule module;
    CUfunction function;
    unsigned grid, block; /* grid 0: there is nothing to do */
    int args;
    int view[VIEWS_MOST + 2]; /* the view that each argument points to; -1: the table */
} Code;
struct Kernel {
    Device *device;
    Library *library; /* NULL: there is only a generated kernel */
    Algorithm *algorithm;
    Code code;
    CUgraphExec recorded;          /* of other kernels; then nothing else is used */
    Kernel *part[ATTENTION_PARTS]; /* attention as several kernels; else NULL */
    size_t scores;                 /* bytes of the workspace, from its start, for the scores */
    void *table;
    int nview;
    int32_t slot[VIEWS_MOST];
    int64_t offset[VIEWS_MOST]; /* of each view, in bytes */
};

/* ---- Generated kernels. */
static bool no_memory(Device *d, char *why, size_t n) {
    return d->no_memory = true, snprintf(why, n, "out of memory for a kernel"), false;
}
static bool get_source(Device *d, const Step *s, int variant, KernelSource *source, char *why,
                       size_t n) {
    const bool done = source_write(s, variant, source, why, n);
    return d->no_memory |= source->failed, done;
}
static bool get_image(Device *d, const char *text, int args, Image *image, char *why, size_t n) {
    if (d->cached && cache_get(d->cache, text, image)) return true;
    if (!compiler_run(d->compiler, text, args, image, why, n))
        return d->no_memory |= image->no_memory, false;
    if (d->options.refuse_spills && image->spilled)
        return snprintf(why, n, "the kernel spills %ld bytes of registers", image->spilled), false;
    if (d->cached) cache_put(d->cache, text, image);
    return true;
}
static bool load_image(Device *d, const Image *image, Code *c, char *why, size_t n) {
    const Driver *f = &d->driver;
    CUresult r = f->cuModuleLoadData_(&c->module, image->bytes);
    if (r) return c->module = NULL, device_failed(d, "loading a kernel", r, why, n);
    r = f->cuModuleGetFunction_(&c->function, c->module, "k");
    return !r || device_failed(d, "a kernel's function", r, why, n);
}
/* The cache is keyed by the text, so the text begins with everything else that determines the
   image. */
static bool text_image(Device *d, const KernelSource *s, int args, Image *image, char *why,
                       size_t n) {
    static const char form[] = "/* %s */\n%s%s";
    const char *identity = compiler_identity(d->compiler);
    const size_t room = strlen(identity) + strlen(source_prelude) + s->size + sizeof form;
    char *text = malloc(room);
    if (!text) return no_memory(d, why, n);
    snprintf(text, room, form, identity, source_prelude, s->text);
    const bool done = get_image(d, text, args, image, why, n);
    free(text);
    return done;
}
static bool load_text(Device *d, const KernelSource *s, Code *c, char *why, size_t n) {
    Image image = {0};
    const bool done = text_image(d, s, c->args, &image, why, n) && load_image(d, &image, c, why, n);
    free(image.bytes);
    return done;
}
/* Compiles every kernel that is generated for the step, whether or not it is chosen. */
static bool make_images(Device *d, const Step *s, char *why, size_t n) {
    bool done = true;
    for (int k = 0; k < source_variants(s) && done; k++) {
        KernelSource source;
        Image image = {0};
        if (!get_source(d, s, k, &source, why, n)) return false;
        done = !source.grid || text_image(d, &source, s->nview + source.table, &image, why, n);
        free(image.bytes);
        free(source.text);
    }
    return done;
}
static bool make_code(Device *d, const Step *s, int algorithm, Code *c, bool *table, char *why,
                      size_t n) {
    KernelSource source;
    if (!get_source(d, s, algorithm, &source, why, n)) return false;
    c->grid = source.grid, c->block = source.block;
    c->args = s->nview + source.table;
    *table = source.table;
    const bool done = !c->grid || load_text(d, &source, c, why, n);
    free(source.text);
    return done;
}
static int run_code(const Kernel *k, void *const view[]) {
    const Code *c = &k->code;
    void *arg[VIEWS_MOST + 2];
    if (!c->grid) return 0;
    for (int j = 0; j < c->args; j++)
        arg[j] = (void *)(uintptr_t)(c->view[j] < 0 ? &k->table : &view[c->view[j]]);
    return device_done(k->device, "cuLaunchKernel",
                       k->device->driver.cuLaunchKernel_(c->function, c->grid, 1, 1, c->block, 1, 1,
                                                         0, k->device->stream, arg, NULL));
}

/* ---- Attention in parts. Choice k runs both products by their algorithm k, or by their last one
   if they have fewer. */
static int cuda_choices(Device *, const Step *);
static void cuda_forget(Kernel *);
static Kernel *compile_step(Device *, const Step *, int choice, size_t *workspace, char *why,
                            size_t n);
static int least(int a, int b) { return a < b ? a : b; }
/* The number of choices; 0 if the step is no such attention, or its scores take more memory than a
   library's algorithm may. */
static int part_choices(Device *d, const Step *s) {
    enum { MOST = 4 };
    AttentionParts p;
    int n = 0;
    if (!attention_parts(s, &p) || p.scores > d->options.workspace) return 0;
    for (int j = 0; j < ATTENTION_PARTS; j++) {
        const int choices = cuda_choices(d, &p.step[j]);
        if (!choices) return 0;
        if (p.step[j].kind == S_GEMM && choices > n) n = choices;
    }
    return least(n, MOST);
}
static bool make_parts(Kernel *k, const Step *s, int choice, size_t *workspace, char *why,
                       size_t n) {
    AttentionParts p;
    size_t most = 0;
    if (!attention_parts(s, &p)) return snprintf(why, n, "there is no such choice"), false;
    for (int j = 0; j < ATTENTION_PARTS; j++) {
        const Step *part = &p.step[j];
        const int last = cuda_choices(k->device, part) - 1;
        size_t more = 0;
        k->part[j] = compile_step(k->device, part, part->kind == S_GEMM ? least(choice, last) : 0,
                                  &more, why, n);
        if (!k->part[j]) return false;
        if (more > most) most = more;
    }
    k->scores = p.scores;
    *workspace = p.scores + most;
    return true;
}

/* ---- Kernels of steps. */
static int cuda_choices(Device *d, const Step *s) {
    int n = source_variants(s), algorithms[LIBRARIES];
    if (!n || d->lost || !device_enter(d)) return 0;
    memo_algorithms(d, s, algorithms);
    for (int k = 0; k < LIBRARIES; k++) n += algorithms[k];
    return n + part_choices(d, s);
}

/* Makes a kernel for the step's program alone, which reads the computed elements from the
   output. */
static bool make_rest(Kernel *k, const Step *s, char *why, size_t n) {
    Step rest = *s;
    View view[VIEWS_MOST + 1];
    Scalar code[UINT8_MAX + 1];
    bool table;
    if (s->nview >= VIEWS_MOST || s->ncode > UINT8_MAX)
        return snprintf(why, n, "the program is too long"), false;
    memcpy(view, s->view, sizeof *view * (size_t)s->nview);
    memcpy(code, s->code, sizeof *code * (size_t)s->ncode);
    view[s->nview] = view[0];
    view[1].rank = view[2].rank = -1;
    for (int i = 0; i < s->ncode; i++)
        if (code[i].op == C_ACC) code[i].op = C_VIEW, code[i].a = (uint8_t)s->nview;
    rest.kind = S_EWISE, rest.view = view, rest.code = code, rest.nview = s->nview + 1;
    rest.nparam = 0;
    if (!make_code(k->device, &rest, 0, &k->code, &table, why, n)) return false;
    for (int j = 0; j < s->nview; j++) k->code.view[j] = j;
    k->code.view[s->nview] = 0;
    return true;
}
static bool make_generated(Kernel *k, const Step *s, int algorithm, char *why, size_t n) {
    const size_t bytes = sizeof *s->param * (size_t)s->nparam;
    bool table = false;
    if (!make_code(k->device, s, algorithm, &k->code, &table, why, n)) return false;
    for (int j = 0; j < s->nview; j++) k->code.view[j] = j;
    k->code.view[s->nview] = -1;
    if (!table) return true;
    k->table = memory_hold(k->device, s->param, bytes);
    return k->table || (snprintf(why, n, "no memory on the device for a table"), false);
}
/* Whether no two elements of a view are adjacent, a case that cuDNN does not support. */
static bool lies_apart(const View *v) {
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1 && v->stride[a] == 1) return false;
    return true;
}
static void forget_parts(Kernel *k) {
    for (int j = 0; j < ATTENTION_PARTS; j++) cuda_forget(k->part[j]), k->part[j] = NULL;
}
/* Compiles the kernels of all choices, including those of an attention in parts. */
static bool make_all(Kernel *k, const Step *s, size_t *workspace, char *why, size_t n) {
    if (!make_images(k->device, s, why, n)) return false;
    if (!part_choices(k->device, s)) return true;
    const bool made = make_parts(k, s, 0, workspace, why, n);
    forget_parts(k);
    return *workspace = 0, made;
}
static bool make_kernel(Kernel *k, const Step *s, int choice, size_t *workspace, char *why,
                        size_t n) {
    Device *d = k->device;
    int algorithms[LIBRARIES];
    if (d->options.compile_all_choices && !make_all(k, s, workspace, why, n)) return false;
    memo_algorithms(d, s, algorithms);
    for (int j = 0; j < LIBRARIES; j++) {
        if (choice >= algorithms[j]) {
            choice -= algorithms[j];
            continue;
        }
        bool rest = false;
        k->library = d->library[j];
        k->algorithm = k->library->make(k->library, s, choice, &rest, workspace, why, n);
        return k->algorithm && (!rest || make_rest(k, s, why, n));
    }
    if (d->options.require_cudnn && s->kind == S_CONV && s->view[0].dtype == F32 &&
        !algorithms[1] && !lies_apart(&s->view[0]))
        return snprintf(why, n, "cuDNN has no exact plan for a convolution"), false;
    const int generated = source_variants(s);
    if (choice >= generated) return make_parts(k, s, choice - generated, workspace, why, n);
    return make_generated(k, s, choice, why, n);
}

static void cuda_forget(Kernel *k) {
    if (!k) return;
    Device *d = k->device;
    device_enter(d);
    forget_parts(k);
    if (k->algorithm) k->library->forget(k->algorithm);
    if (k->table) memory_drop(d, k->table);
    if (k->recorded) record_forget(d, k->recorded);
    if (k->code.module) {
        d->driver.cuStreamSynchronize_(d->stream);
        d->driver.cuModuleUnload_(k->code.module);
    }
    free(k);
}
static Kernel *compile_step(Device *d, const Step *s, int choice, size_t *workspace, char *why,
                            size_t n) {
    *workspace = 0;
    if (s->nview > VIEWS_MOST) return snprintf(why, n, "a step of more than 64 views"), NULL;
    if (d->lost || !device_enter(d)) return snprintf(why, n, "%s", d->failure), NULL;
    Kernel *k = calloc(1, sizeof *k);
    if (!k) return no_memory(d, why, n), NULL;
    k->device = d, k->nview = s->nview;
    for (int j = 0; j < s->nview; j++) {
        const View *v = &s->view[j];
        k->slot[j] = v->rank < 0 ? -1 : v->slot;
        k->offset[j] = v->rank < 0 ? 0 : v->offset * source_element_bytes(v->dtype);
    }
    if (make_kernel(k, s, choice, workspace, why, n)) return k;
    return cuda_forget(k), NULL;
}
static Kernel *cuda_compile(Device *d, const Step *s, int choice, const void *const weights[],
                            size_t *workspace, CompileFailure *failure, char *why, size_t n) {
    (void)weights;
    d->no_memory = false;
    Kernel *k = compile_step(d, s, choice, workspace, why, n);
    if (failure) *failure = d->no_memory ? COMPILE_NO_MEMORY : COMPILE_REFUSED;
    return k;
}

static int start_kernel(const Kernel *k, void *const slot[], void *workspace);
static int start_parts(const Kernel *k, void *const view[], void *workspace) {
    void *slot[VIEWS_MOST + 1];
    memcpy(slot, view, sizeof *view * (size_t)k->nview);
    slot[k->nview] = workspace;
    for (int j = 0; j < ATTENTION_PARTS; j++)
        if (start_kernel(k->part[j], slot, (char *)workspace + k->scores)) return -1;
    return 0;
}
static int start_kernel(const Kernel *k, void *const slot[], void *workspace) {
    void *view[VIEWS_MOST];
    for (int j = 0; j < k->nview; j++)
        view[j] = k->slot[j] < 0 ? NULL : (char *)slot[k->slot[j]] + k->offset[j];
    if (k->part[0]) return start_parts(k, view, workspace);
    if (k->algorithm && k->library->run(k->algorithm, view, workspace)) return -1;
    return run_code(k, view);
}
static int cuda_run(Kernel *k, void *const slot[], void *workspace) {
    Device *d = k->device;
    if (d->lost || !device_enter(d)) return -1;
    if (!d->recording && !d->started &&
        device_done(d, "cuEventRecord", d->driver.cuEventRecord_(d->start, d->stream)))
        return -1;
    d->started |= !d->recording;
    return k->recorded ? record_run(d, k->recorded) : start_kernel(k, slot, workspace);
}

/* A failed kernel is noticed here; after a failure, the context cannot be used any more. */
static int cuda_wait(Device *d, double *ns) {
    const Driver *f = &d->driver;
    float ms = 0;
    if (ns) *ns = 0;
    if (d->lost || d->recording || !device_enter(d)) return -1;
    CUresult r = d->started ? f->cuEventRecord_(d->end, d->stream) : CUDA_SUCCESS;
    if (!r) r = f->cuStreamSynchronize_(d->stream);
    if (!r && d->started && ns) r = f->cuEventElapsedTime_(&ms, d->start, d->end);
    if (ns) *ns = 1e6 * (double)ms;
    d->started = false;
    d->lost = r != CUDA_SUCCESS;
    return device_done(d, "a kernel", r);
}

static Kernel *cuda_recorded(Device *d, char *why, size_t n) {
    Kernel *k = calloc(1, sizeof *k);
    CUgraphExec made = record_end(d, why, n);
    if (!k || !made) {
        if (made) record_forget(d, made), snprintf(why, n, "out of memory for a recording");
        return free(k), NULL;
    }
    k->device = d, k->recorded = made;
    return k;
}

static int cuda_identity(Device *d, char *text, size_t n) { return device_identity(d, text, n); }
static const char *cuda_failure(const Device *d) { return d->failure; }

static const Backend backend = {.abi = BACKEND_ABI,
                                .size = sizeof(Backend),
                                .name = "cuda",
                                .open = device_begin,
                                .close = device_shut,
                                .identity = cuda_identity,
                                .alloc = memory_take,
                                .release = memory_give,
                                .copy = memory_copy,
                                .choices = cuda_choices,
                                .compile = cuda_compile,
                                .run = cuda_run,
                                .wait = cuda_wait,
                                .forget = cuda_forget,
                                .hold = memory_hold,
                                .drop = memory_drop,
                                .record = record_begin,
                                .recorded = cuda_recorded,
                                .mark = record_mark,
                                .elapsed = record_between,
                                .failure = cuda_failure};
const Backend *isomer_backend(uint32_t abi) { return abi == BACKEND_ABI ? &backend : NULL; }
