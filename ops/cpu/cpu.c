/* cpu.c -- the CPU as a back end: it opens the device, dispatches steps to the files that make
   their kernels, identifies the machine, and runs kernels with denormals flushed to zero.

   The device's options are words separated by commas: generic (no special instruction sets),
   blas=PATH, blas=none, coretype=NAME (passed on as OPENBLAS_CORETYPE; auto: OpenBLAS decides),
   dnn=none, threads=N, grain=NS (the least part of a step that is given to a thread, in
   nanoseconds; for tests), turns (the parts of a step take turns on one thread; for measuring). The
   environment variable ISOMER_CPU=generic means the same as the option generic.

   The clock runs from the first run after a wait until the next wait. It counts the thread's CPU
   time, or elapsed time if there are several threads, or, with turns, the CPU time less what
   threads would save. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/processor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const Maker *const makers[STEP_KIND_COUNT] = {
    [S_GEMM] = &gemm_maker,    [S_CONV] = &conv_maker,     [S_POOL] = &pool_maker,
    [S_EWISE] = &vector_maker, [S_REDUCE] = &reduce_maker, [S_COPY] = &copy_maker,
    [S_FILL] = &fill_maker,    [S_LOOP] = &loop_maker,     [S_SOFTMAX] = &softmax_maker,
    [S_OP] = &op_maker,        [S_SAMPLE] = &sample_maker, [S_ROWS] = &rows_maker,
};

/* ---- the device */
static const Simd *choose_simd(bool generic) {
    const Simd *table[SIMD_TABLES];
    const int n = processor_loops(table);
    return table[generic ? 0 : n - 1];
}

/* nanoseconds: the default of the option grain */
enum { GRAIN = 10000 };
typedef struct CpuOptions {
    char text[512];
    BlasOptions blas;
    bool generic, no_blas, no_dnn, turns;
    int64_t threads, grain;
} CpuOptions;

/* Reads a number from 1 to `most`. */
static bool read_number(const char *text, int64_t most, int64_t *n) {
    char *end;
    *n = strtoll(text, &end, 10);
    return end != text && !*end && *n >= 1 && *n <= most;
}
static bool read_option(CpuOptions *o, char *word) {
    char *value = strchr(word, '=');
    if (value) *value++ = 0;
    if (!value && strcmp(word, "generic") == 0) o->generic = true;
    else if (!value && strcmp(word, "turns") == 0) o->turns = true;
    else if (value && strcmp(word, "coretype") == 0) o->blas.coretype = value;
    else if (value && strcmp(word, "blas") == 0)
        o->no_blas = strcmp(value, "none") == 0, o->blas.path = o->no_blas ? NULL : value;
    else if (value && strcmp(word, "dnn") == 0 && strcmp(value, "none") == 0) o->no_dnn = true;
    else if (value && strcmp(word, "threads") == 0)
        return read_number(value, TEAM_MOST, &o->threads);
    else if (value && strcmp(word, "grain") == 0) return read_number(value, 1000000000, &o->grain);
    else return false;
    return true;
}
static bool read_options(CpuOptions *o, const char *text, char *why, size_t n) {
    const char *wish = getenv("ISOMER_CPU");
    *o = (CpuOptions){.generic = wish && *wish, .threads = 1, .grain = GRAIN};
    if (o->generic && strcmp(wish, "generic") != 0)
        return snprintf(why, n, "ISOMER_CPU is '%s' in the environment: expected generic", wish),
               false;
    if (snprintf(o->text, sizeof o->text, "%s", text ? text : "") >= (int)sizeof o->text)
        return snprintf(why, n, "the options are too long"), false;
    char *rest = NULL;
    for (char *word = strtok_r(o->text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        const size_t size = strlen(word);
        if (read_option(o, word)) continue;
        if (strlen(word) < size) word[strlen(word)] = '='; /* restores the '=' that was cut out */
        return snprintf(
                   why, n,
                   "unknown option %s; the options are generic, blas=PATH|none, coretype=NAME, "
                   "dnn=none, threads=N (1 to %d), grain=NS, turns",
                   word, TEAM_MOST),
               false;
    }
    return true;
}

static void cpu_close(Device *d) {
    if (!d) return;
    team_free(d->team);
    blas_close(d->blas);
    dnn_close(d->dnn);
    mem_free(d);
}
static Device *cpu_open(const char *text, char *why, size_t n) {
    CpuOptions o;
    if (!read_options(&o, text, why, n)) return NULL;
    if (!dnn_built) o.no_dnn = true;
    Device *d = mem_realloc(NULL, sizeof *d);
    if (!d) return snprintf(why, n, "out of memory"), NULL;
    *d = (Device){.simd = choose_simd(o.generic),
                  .threads = (int)o.threads,
                  .grain = o.grain,
                  .turns = o.turns};
    if (!o.blas.coretype) o.blas.coretype = processor_blas_core(o.generic);
    else if (strcmp(o.blas.coretype, "auto") == 0) o.blas.coretype = NULL;
    d->blas = o.no_blas ? NULL : blas_open(&o.blas, why, n);
    d->dnn = o.no_dnn || (!d->blas && !o.no_blas) ? NULL : dnn_open(d->threads, why, n);
    const bool good = (d->blas || o.no_blas) && (d->dnn || o.no_dnn);
    if (good && d->threads > 1) d->team = team_new(d->threads, d->turns, why, n);
    if (good && (d->threads == 1 || d->team)) return d;
    cpu_close(d);
    return NULL;
}

static int cpu_identity(Device *d, char *text, size_t n) {
    char name[96], blas[256], dnn[64];
    processor_name(name, sizeof name);
    blas_identity(d->blas, blas, sizeof blas);
    dnn_identity(d->dnn, dnn, sizeof dnn);
    return snprintf(text, n, "cpu %s, %s kernels %s, %s, %s, %d thread%s%s", name, d->simd->name,
                    ISOMER_KERNELS, blas, dnn, d->threads, d->threads > 1 ? "s" : "",
                    d->turns ? " in turns" : "") < (int)n
               ? 0
               : -1;
}

/* ---- memory */
static int cpu_copy(Device *d, void *to, const void *from, size_t bytes, CopyDirection direction) {
    (void)d, (void)direction;
    if (bytes) memmove(to, from, bytes);
    return 0;
}

/* ---- kernels */
/* Only loops and operators may have inputs that are left out, which have rank -1. */
static bool view_well_formed(const Step *s, int i) {
    const View *v = &s->view[i];
    if (v->rank < 0 && i > 0) return s->kind == S_LOOP || s->kind == S_OP;
    return v->rank >= 0 && v->rank <= STEP_RANK && v->slot >= 0 && v->format == 0;
}
static bool well_formed(const Step *s) {
    if ((int)s->kind < 0 || s->kind >= STEP_KIND_COUNT || s->nview < 1) return false;
    for (int i = 0; i < s->nview; i++)
        if (!view_well_formed(s, i)) return false;
    static const int least[STEP_KIND_COUNT] = {
        [S_GEMM] = 3, [S_CONV] = 3,    [S_POOL] = 2,  [S_REDUCE] = 2,
        [S_COPY] = 2, [S_SOFTMAX] = 2, [S_SAMPLE] = 2};
    return s->nview >= least[s->kind] && (s->kind != S_FILL || s->ncode > 0);
}
static const Maker *maker_of(const Step *s) {
    return step_has_zero(s) ? &int8_maker : makers[s->kind];
}
static int cpu_choices(Device *d, const Step *s) {
    return well_formed(s) && maker_of(s) ? maker_of(s)->choices(d, s) : 0;
}

static int run_nothing(const Kernel *k, void *const slot[], void *work) {
    return (void)k, (void)slot, (void)work, 0;
}

static bool kernel_build(Build *b, int choice, Kernel *k) {
    const Maker *maker = maker_of(b->step);
    if (b->step->kind == S_OP || view_count(&b->step->view[0]) > 0)
        return maker->rows ? split_rows(b, maker->build, choice, k) : maker->build(b, choice, k);
    k->run = run_nothing;
    return true;
}

static void cpu_forget(Kernel *k) {
    if (!k) return;
    if (k->forget) k->forget(k);
    kernel_drop(k);
    arena_free(k->arena);
}
static int cpu_packed(const Kernel *k, int view) { return view < 64 && k->packed >> view & 1; }

/* Known contents, at addresses that are multiples of their elements' sizes: in a file they may lie
   anywhere. Copies live as long as the arena. */
static const void *const *aligned_weights(Arena *a, const Step *s, const void *const weights[]) {
    if (!weights) return NULL;
    const void **aligned = ARENA_NEW(a, const void *, s->nview);
    for (int j = 0; j < s->nview; j++) {
        const size_t size = (size_t)dtype_size(s->view[j].dtype);
        int64_t low, high;
        aligned[j] = weights[j];
        if (!weights[j] || size < 2 || (uintptr_t)weights[j] % size == 0) continue;
        view_extent(&s->view[j], &low, &high);
        char *copy = arena_alloc_raw(a, (size_t)high * size);
        memcpy(copy + (size_t)low * size, (const char *)weights[j] + (size_t)low * size,
               (size_t)(high - low) * size);
        aligned[j] = copy;
    }
    return aligned;
}
static Kernel *step_compile(Device *d, const Step *s, int choice, const void *const weights[],
                            size_t *workspace, CompileFailure *failure, char *why, size_t n) {
    if (n) why[0] = 0;
    if (choice < 0 || choice >= cpu_choices(d, s))
        return snprintf(why, n, "the CPU back end has no such algorithm for this step"), NULL;
    Escape escape = {.error = {0}};
    Arena *volatile arena = NULL, *volatile scratch = NULL;
    Kernel *volatile unfinished = NULL;
    if (setjmp(escape.here)) {
        if (escape.error.kind == E_MEMORY) *failure = COMPILE_NO_MEMORY;
        snprintf(why, n, "%s", escape.error.reason);
        if (unfinished) cpu_forget(unfinished);
        else arena_free(arena);
        arena_free(scratch);
        escape_free(&escape);
        return NULL;
    }
    arena = arena_new(&escape, 0);
    scratch = arena_new(&escape, 0);
    Kernel *k = ARENA_NEW(arena, Kernel, 1);
    unfinished = k;
    k->device = d, k->arena = arena;
    Build b = {.device = d,
               .arena = arena,
               .scratch = scratch,
               .kernel = k,
               .step = s,
               .weights = aligned_weights(scratch, s, weights),
               .failure = failure,
               .why = why,
               .nwhy = n};
    const bool built = kernel_build(&b, choice, k);
    arena_free(scratch);
    arena_keep(arena);
    if (built) return *workspace = b.workspace, k;
    if (n && !why[0]) snprintf(why, n, "the CPU back end cannot run this step");
    k->forget = NULL;
    cpu_forget(k);
    return NULL;
}
static Kernel *cpu_compile(Device *d, const Step *s, int choice, const void *const weights[],
                           size_t *workspace, CompileFailure *failure, char *why, size_t n) {
    CompileFailure unread;
    if (!failure) failure = &unread;
    *failure = COMPILE_REFUSED;
    return step_compile(d, s, choice, weights, workspace, failure, why, n);
}

static double clock_now(const Device *d) {
    struct timespec t;
    if (!d->team) return thread_nanoseconds();
    if (d->turns) return thread_nanoseconds() - team_saved(d->team);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int cpu_run(Kernel *k, void *const slot[], void *work) {
    Device *d = k->device;
    if (!d->timing) d->timing = true, d->start = clock_now(d);
    const FloatMode before = processor_mode();
    processor_set_mode(processor_flushing(before));
    const int status = k->run(k, slot, work);
    processor_set_mode(before);
    return status;
}
static int cpu_wait(Device *d, double *ns) {
    if (ns) *ns = d->timing ? clock_now(d) - d->start : 0;
    d->timing = false;
    return 0;
}
static int cpu_threads(const Device *d) { return d->threads; }
static int cpu_channels_last(Device *d) { return (void)d, 1; }
extern const Backend cpu_backend;
const Backend cpu_backend = {
    .abi = BACKEND_ABI,
    .size = sizeof(Backend),
    .name = "cpu",
    .channels_last = cpu_channels_last,
    .open = cpu_open,
    .close = cpu_close,
    .identity = cpu_identity,
    .alloc = pages_new,
    .release = pages_drop,
    .copy = cpu_copy,
    .choices = cpu_choices,
    .compile = cpu_compile,
    .run = cpu_run,
    .wait = cpu_wait,
    .forget = cpu_forget,
    .hold = cpu_hold,
    .drop = shared_drop,
    .keeps_view = cpu_packed,
    .threads = cpu_threads,
};
