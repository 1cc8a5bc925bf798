/* dnn.c -- convolutions of float32 by cuDNN's graph API.

   Unless the options ask for TF32 or 16-bit floats, only engines are used that declare themselves
   exact: no tensor cores (which would mean TF32 for float32), no narrower inputs or sums, the same
   bytes every time. A program of the form `[+ z] + bias [relu]` becomes a part of the graph if an
   engine accepts that. The same convolution without it, followed by the program as a generated
   kernel, counts as further algorithms. */
#include "ops/cuda/dnn.h"
#include "ops/cuda/library.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOUND = 64 }; /* engines that are tried, at most */
static const char *const name[] = {
#define X(f) #f,
    DNN_FUNCTIONS(X)
#undef X
};

/* ---- engines */
/* Whether an engine with this numerical note may be used. `whole`: the program rounds sums of
   integers, which must therefore be exact. */
static bool allowed(cudnnBackendNumericalNote_t note, Arithmetic arithmetic, bool whole) {
    switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return arithmetic != ARITHMETIC_FP32;
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: return arithmetic == ARITHMETIC_FP16;
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC: return false;
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return !whole;
    default: return true;
    }
}
/* Whether an engine declares that it changes float32 no more than the options allow. */
static bool keeps_arithmetic(const Dnn *l, bool whole, Desc config) {
    /* A newer library may have more kinds of notes. */
    enum { NOTES = 4 * CUDNN_NUMERICAL_NOTE_TYPE_COUNT };
    cudnnBackendNumericalNote_t note[NOTES];
    int64_t n = 0, one = 0;
    Desc engine = NULL;
    if (l->cudnnBackendCreateDescriptor_(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine)) return false;
    bool exact = !l->cudnnBackendGetAttribute_(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &one, &engine) &&
                 !l->cudnnBackendGetAttribute_(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                               CUDNN_TYPE_NUMERICAL_NOTE, NOTES, &n, note) &&
                 n <= NOTES;
    for (int64_t k = 0; exact && k < n; k++)
        exact = allowed(note[k], l->device->options.arithmetic, whole);
    l->cudnnBackendDestroyDescriptor_(engine);
    return exact;
}
/* Adds a plan for this engine to the algorithm if its workspace is small enough. */
static void take_plan(Algorithm *w, Desc config) {
    Dnn *l = w->dnn;
    Desc p = NULL;
    int64_t one;
    if (w->nplan == ALGORITHMS || !keeps_arithmetic(l, w->whole, config) ||
        l->cudnnBackendCreateDescriptor_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &p))
        return;
    bool good = dnn_set_desc(w, p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &config);
    good = good &&
           (l->handle
                ? dnn_set(w, p, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &l->handle)
                : dnn_set_desc(w, p, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, &l->described));
    int64_t *room = &w->workspace[w->nplan];
    good = dnn_finalized(w, p, good) &&
           !l->cudnnBackendGetAttribute_(p, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                         CUDNN_TYPE_INT64, 1, &one, room) &&
           *room <= (int64_t)l->device->options.workspace;
    if (good) w->plan[w->nplan++] = p;
    else l->cudnnBackendDestroyDescriptor_(p);
}
static void take_plans(Algorithm *w, Desc graph, cudnnBackendHeurMode_t mode) {
    Dnn *l = w->dnn;
    Desc config[FOUND] = {NULL}, h = dnn_keep(w, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t n = 0;
    int made = 0;
    bool good = dnn_set_desc(w, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, &graph) &&
                dnn_set(w, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (l->described)
        good = good && dnn_set_desc(w, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, &l->described);
    if (!dnn_finalized(w, h, good)) return;
    while (made < FOUND &&
           !l->cudnnBackendCreateDescriptor_(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[made]))
        made++;
    l->cudnnBackendGetAttribute_(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                 made, &n, config);
    for (int k = 0; k < made; k++) {
        if (k < n) take_plan(w, config[k]);
        l->cudnnBackendDestroyDescriptor_(config[k]);
    }
}

/* ---- steps */
static bool positive(const View *v) { /* cuDNN requires that no axis repeats or runs backwards */
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] < 1 || (v->dim[a] > 1 && v->stride[a] < 1)) return false;
    return v->dtype == FLOAT;
}
static bool conv_fits(const Step *s) {
    if (s->kind != S_CONV || s->view[0].rank < 3 || s->view[0].rank > AXES) return false;
    return positive(&s->view[0]) && positive(&s->view[1]) && positive(&s->view[2]);
}
static bool is_bias(const View *v) {
    for (int a = 0; a < v->rank; a++)
        if (v->dim[a] > 1 && v->stride[a] != (a == 1)) return false;
    return v->dtype == FLOAT;
}
/* Recognizes a program that adds one bias and at most one other tensor and may end with relu. */
static bool epilogue_of(const Step *s, Epilogue *e) {
    const Scalar *c = s->code;
    int at = 1;
    *e = (Epilogue){-1, -1, false};
    if (!s->ncode || c[0].op != C_ACC) return false;
    for (; at + 1 < s->ncode && c[at].op == C_VIEW && c[at + 1].op == C_ADD; at += 2) {
        const View *v = &s->view[c[at].a];
        if (c[at + 1].a + c[at + 1].b != 2 * at - 1) return false;
        if (is_bias(v) && e->bias < 0) e->bias = c[at].a;
        else if (positive(v) && e->z < 0) e->z = c[at].a;
        else return false;
    }
    e->relu = at < s->ncode && c[at].op == C_RELU && c[at].a == at - 1;
    return at + e->relu == s->ncode && e->bias >= 0;
}
static void dnn_forget(Algorithm *w) {
    if (w->pack) w->dnn->cudnnBackendDestroyDescriptor_(w->pack);
    for (int k = 0; k < w->nplan; k++) w->dnn->cudnnBackendDestroyDescriptor_(w->plan[k]);
    for (int k = w->nkept - 1; k >= 0; k--) w->dnn->cudnnBackendDestroyDescriptor_(w->kept[k]);
    free(w);
}
/* Finds all exact plans for the step, with its program (`fused`) or without it. */
static Algorithm *find_plans(Dnn *l, const Step *s, bool fused) {
    Epilogue e = {-1, -1, false};
    if (!conv_fits(s) || (fused && !epilogue_of(s, &e))) return NULL;
    Algorithm *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->dnn = l, w->epilogue = e;
    w->whole = s->ncode > 1 && s->code[1].op == C_ROUND;
    Desc graph = dnn_graph(w, s);
    if (graph) take_plans(w, graph, CUDNN_HEUR_MODE_A);
    if (graph && w->nplan == 0) take_plans(w, graph, CUDNN_HEUR_MODE_FALLBACK);
    return w->nplan ? w : (dnn_forget(w), NULL);
}
static int count_algorithms(Dnn *l, const Step *s, bool fused) {
    Algorithm *w = find_plans(l, s, fused);
    const int n = w ? w->nplan : 0;
    if (w) dnn_forget(w);
    return n;
}

/* ---- The library. Algorithms that include the program come first. */
static int dnn_algorithms(Library *base, const Step *s) {
    Dnn *l = (Dnn *)base;
    if (!conv_fits(s)) return 0;
    return count_algorithms(l, s, true) + count_algorithms(l, s, false);
}
static Algorithm *dnn_make(Library *base, const Step *s, int algorithm, bool *rest,
                           size_t *workspace, char *why, size_t n) {
    Dnn *l = (Dnn *)base;
    Algorithm *w = find_plans(l, s, true);
    *rest = false;
    if (!w || algorithm >= w->nplan) {
        algorithm -= w ? w->nplan : 0;
        if (w) dnn_forget(w);
        w = find_plans(l, s, false);
        *rest = s->ncode > 0;
    }
    if (!w || algorithm >= w->nplan) {
        if (w) dnn_forget(w);
        return snprintf(why, n, "cuDNN has no such algorithm"), NULL;
    }
    w->algorithm = algorithm;
    *workspace = (size_t)w->workspace[algorithm];
    return w;
}

/* Describes the memory of a run to cuDNN, unless it is the same as in the last run. */
static bool pack_memory(Algorithm *w, void *const view[], void *workspace) {
    Dnn *l = w->dnn;
    const Epilogue *e = &w->epilogue;
    void *at[INNER_ID + 1] = {view[1], view[2], view[0]};
    int64_t id[INNER_ID + 1] = {X_ID, W_ID, Y_ID};
    int n = 3;
    if (e->bias >= 0) id[n] = BIAS_ID, at[n++] = view[e->bias];
    if (e->z >= 0) id[n] = Z_ID, at[n++] = view[e->z];
    at[n] = workspace;
    if (w->pack && !memcmp(at, w->memory, sizeof at)) return true;
    if (w->pack) l->cudnnBackendDestroyDescriptor_(w->pack);
    w->pack = NULL;
    memcpy(w->memory, at, sizeof at);
    Desc p = NULL;
    if (l->cudnnBackendCreateDescriptor_(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &p)) return false;
    w->pack = p;
    return dnn_finalized(
               w, p,
               dnn_set(w, p, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, id) &&
                   dnn_set(w, p, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n,
                           at) &&
                   dnn_set(w, p, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                           &workspace)) != NULL;
}
static int dnn_run(Algorithm *w, void *const view[], void *workspace) {
    Dnn *l = w->dnn;
    Device *d = l->device;
    cudnnStatus_t r = CUDNN_STATUS_BAD_PARAM;
    if (!l->handle) return 0; /* the GPU is only described, so nothing runs */
    if (pack_memory(w, view, workspace))
        r = l->cudnnBackendExecute_(l->handle, w->plan[w->algorithm], w->pack);
    if (!r) return 0;
    snprintf(d->failure, sizeof d->failure, "cudnnBackendExecute: %s", l->cudnnGetErrorString_(r));
    return -1;
}
static void dnn_close(Library *base) {
    Dnn *l = (Dnn *)base;
    if (l->described) l->cudnnBackendDestroyDescriptor_(l->described);
    if (l->handle) l->cudnnDestroy_(l->handle);
    free(l);
}

/* Reads the description of a GPU that need not exist from a file in cuDNN's format
   (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). */
static bool describe(Dnn *l, const char *path, char *why, size_t n) {
    char text[4096];
    FILE *f = fopen(path, "r");
    const size_t size = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    const bool good =
        size &&
        !l->cudnnBackendCreateDescriptor_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &l->described) &&
        !l->cudnnBackendSetAttribute_(l->described, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                      CUDNN_TYPE_CHAR, (int64_t)size, text) &&
        !l->cudnnBackendFinalize_(l->described);
    return good || (snprintf(why, n, "cuDNN refuses the description of a GPU, %s", path), false);
}
static bool start(Dnn *l, char *why, size_t n) {
    if (*l->device->options.describe) return describe(l, l->device->options.describe, why, n);
    cudnnStatus_t r = l->cudnnCreate_(&l->handle);
    if (r) l->handle = NULL;
    else r = l->cudnnSetStream_(l->handle, l->device->stream);
    if (!r) return true;
    return snprintf(why, n, "cuDNN does not start on this GPU: %s", l->cudnnGetErrorString_(r)),
           false;
}
bool dnn_open(Device *d, Library **out, char *why, size_t n) {
    static const char file[] = "libcudnn.so.9";
    void *library = library_open(d->options.lib, file, "nvidia-cudnn-cu13", why, n);
    Dnn *l = library ? calloc(1, sizeof *l) : NULL;
    if (!l) return false;
#define X(f) (void **)&l->f##_,
    void **const function[] = { DNN_FUNCTIONS(X) };
#undef X
    if (!library_functions(library, file, sizeof name / sizeof *name, name, function, why, n))
        return free(l), false;
    l->device = d;
    l->base = (Library){l->identity, dnn_algorithms, dnn_make, dnn_run, dnn_forget, dnn_close};
    *out = &l->base;
    snprintf(l->identity, sizeof l->identity, ", cuDNN %zu", l->cudnnGetVersion_());
    return start(l, why, n);
}
