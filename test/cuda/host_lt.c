/* host_lt.c -- takes the place of cuBLASLt in the plug-in of a test: a library with one algorithm
   for products of float32, in plain loops, which does not include the step's program. It lets tests
   try choices, scratch memory, and a program that follows a library's algorithm. */
#include "ops/cuda/algorithms.h"
#include "test/cuda/host_work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = 1, SCRATCH = 64 };
struct Algorithm {
    View y, a, b;
};

static int host_algorithms(Library *l, const Step *s) {
    (void)l;
    return s->kind == S_GEMM && s->view[0].dtype == FLOAT && s->view[1].dtype == FLOAT &&
           s->view[2].dtype == FLOAT;
}
static Algorithm *host_make(Library *l, const Step *s, int algorithm, bool *rest, size_t *workspace,
                            char *why, size_t n) {
    Algorithm *w = algorithm == 0 && host_algorithms(l, s) ? malloc(sizeof *w) : NULL;
    if (!w) return snprintf(why, n, "the host's library has no such algorithm"), NULL;
    *w = (Algorithm){s->view[0], s->view[1], s->view[2]};
    *rest = s->ncode > 0, *workspace = SCRATCH;
    return w;
}

static float sum(const Algorithm *w, const float *a, const float *b, const int64_t index[]) {
    const int r = w->y.rank;
    int64_t from = 0, by = 0;
    float acc = 0;
    for (int k = 0; k < r - 2; k++)
        from += index[k] * w->a.stride[k], by += index[k] * w->b.stride[k];
    from += index[r - 2] * w->a.stride[r - 2], by += index[r - 1] * w->b.stride[r - 1];
    for (int64_t k = 0; k < w->a.dim[r - 1]; k++)
        acc += a[from + k * w->a.stride[r - 1]] * b[by + k * w->b.stride[r - 2]];
    return acc;
}
typedef struct Running {
    Algorithm *algorithm;
    void *view[3], *workspace;
} Running;
static int multiply(void *data) {
    const Running *r = data;
    const Algorithm *w = r->algorithm;
    void *const *view = r->view;
    const View *y = &w->y;
    int64_t index[STEP_RANK] = {0};
    memset(r->workspace, 1, SCRATCH);
    for (int a = 0; a < y->rank; a++)
        if (y->dim[a] == 0) return 0;
    for (int a = 0; a >= 0;) {
        int64_t at = 0;
        for (int k = 0; k < y->rank; k++) at += index[k] * y->stride[k];
        ((float *)view[0])[at] = sum(w, view[1], view[2], index);
        for (a = y->rank - 1; a >= 0 && ++index[a] == y->dim[a]; a--) index[a] = 0;
    }
    return 0;
}
static int host_run(Algorithm *w, void *const view[], void *workspace) {
    Running r = {w, {view[0], view[1], view[2]}, workspace};
    return host_work(multiply, &r, sizeof r);
}
static void host_forget(Algorithm *w) { free(w); }
static void host_close(Library *l) { free(l); }

bool lt_open(Device *d, Library **out, char *why, size_t n) {
    (void)d;
    *out = malloc(sizeof **out);
    if (!*out) return snprintf(why, n, "out of memory"), false;
    **out = (Library){
        ", the host's products", host_algorithms, host_make, host_run, host_forget, host_close};
    return true;
}
