/* wrong_backend.c -- a plug-in that runs every step by the plain reference, with one fault: a
   convolution whose first weight is above 100, as after scaling, gives results that are 1 % too
   large. Tests use it to see whether the fault is noticed. */
#include "test/shared/steps_reference.h"
#include <stdio.h>

struct Device {
    int opened;
};
struct Kernel {
    Step step;
    View view[16];
    int64_t param[64];
    Scalar code[256];
};

/* steps_reference.h needs these two functions of the library, which a plug-in cannot see. */
#define BITS(id, onnx, name, bits, class) [onnx] = bits,
#define CLASS(id, onnx, name, bits, class) [onnx] = class,
int dtype_bits(DType t) {
    static const int bits[] = {DTYPES(BITS)};
    return bits[t];
}
char dtype_class(DType t) {
    static const char classes[] = {DTYPES(CLASS)};
    return classes[t];
}

static Device *wrong_open(const char *options, char *why, size_t n) {
    return (void)options, (void)why, (void)n, calloc(1, sizeof(Device));
}
static void wrong_close(Device *d) { free(d); }
static int wrong_identity(Device *d, char *text, size_t n) {
    return (void)d, snprintf(text, n, "wrong") < (int)n ? 0 : -1;
}
static void *wrong_alloc(Device *d, size_t bytes) {
    return (void)d, aligned_alloc(64, (bytes + 64) / 64 * 64);
}
static void wrong_release(Device *d, void *p) { (void)d, free(p); }
static int wrong_copy(Device *d, void *to, const void *from, size_t bytes,
                      CopyDirection direction) {
    (void)d, (void)direction;
    return memmove(to, from, bytes), 0;
}
static int wrong_choices(Device *d, const Step *s) {
    return (void)d, s->kind != S_LOOP && s->kind != S_OP;
}

static Kernel *refused(CompileFailure *to, CompileFailure kind, const char *reason, char *why,
                       size_t n) {
    if (to) *to = kind;
    return snprintf(why, n, "%s", reason), NULL;
}
static Kernel *wrong_compile(Device *d, const Step *s, int choice, const void *const weights[],
                             size_t *workspace, CompileFailure *failure, char *why, size_t n) {
    (void)choice, (void)weights;
    *workspace = 0;
    if (!wrong_choices(d, s) || s->nview > 16 || s->nparam > 64 || s->ncode > 256)
        return refused(failure, COMPILE_REFUSED, "not this step", why, n);
    Kernel *k = calloc(1, sizeof *k);
    if (!k) return refused(failure, COMPILE_NO_MEMORY, "out of memory", why, n);
    k->step = *s;
    memcpy(k->view, s->view, sizeof *s->view * (size_t)s->nview);
    if (s->nparam) memcpy(k->param, s->param, sizeof *s->param * (size_t)s->nparam);
    if (s->ncode) memcpy(k->code, s->code, sizeof *s->code * (size_t)s->ncode);
    k->step.view = k->view;
    k->step.param = k->param;
    k->step.code = k->code;
    return k;
}

static int wrong_run(Kernel *k, void *const slot[], void *workspace) {
    const View *y = &k->step.view[0];
    int64_t count, index[STEP_RANK] = {0}, at = 0;
    Num *out = ref_run(&k->step, slot, &count);
    bool wrong = k->step.kind == S_CONV &&
                 ((const float *)slot[k->step.view[2].slot])[k->step.view[2].offset] > 100;
    (void)workspace;
    if (count > 0 && y->dtype == DT_FLOAT) do {
            int64_t place = y->offset;
            for (int a = 0; a < y->rank; a++) place += index[a] * y->stride[a];
            ((float *)slot[y->slot])[place] = (float)(out[at++].d * (wrong ? 1.01 : 1));
        } while (ref_next(y, 0, y->rank, index));
    free(out);
    return y->dtype == DT_FLOAT ? 0 : -1;
}
static int wrong_wait(Device *d, double *ns) {
    (void)d;
    if (ns) *ns = 0;
    return 0;
}
static void wrong_forget(Kernel *k) { free(k); }

static const Backend backend = {.abi = BACKEND_ABI,
                                .size = sizeof(Backend),
                                .name = "wrong",
                                .open = wrong_open,
                                .close = wrong_close,
                                .identity = wrong_identity,
                                .alloc = wrong_alloc,
                                .release = wrong_release,
                                .copy = wrong_copy,
                                .choices = wrong_choices,
                                .compile = wrong_compile,
                                .run = wrong_run,
                                .wait = wrong_wait,
                                .forget = wrong_forget};
__attribute__((visibility("default"))) const Backend *isomer_backend(uint32_t abi) {
    return abi == BACKEND_ABI ? &backend : NULL;
}
