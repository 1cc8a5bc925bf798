/* kernels.c -- times the CPU back end's kernels on layers of real models. For each choice of
   algorithm it prints the microseconds (the minimum over rounds) and the rate: GFLOP/s, or GB/s for
   steps whose time is limited by memory.

   Usage: build/test/bench/kernels [FILTER] [OPTIONS OF THE BACK END]
   Build: make build/test/bench/kernels */
#include "ops/backend/backend.h"
#include "ops/core/type.h"
#include "ops/backend/view.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Bench {
    Step step;
    View view[6];
    int64_t param[16];
    Scalar code[16];
    double flops, bytes;
    bool known; /* view 2 is a constant weight */
} Bench;
/* An operator code for ewise() that is neither a StepKind nor a ScalarOp. */
enum { GELU = (int)STEP_KIND_COUNT + (int)SCALAR_OP_COUNT };
static const Backend *cpu;
static Device *device;

static double time_kernel(Kernel *k, void *const slot[], void *work) {
    double best = 1e30, ns;
    int repeat = 1;
    for (int round = 0; round < 12; round++) {
        cpu->run(k, slot, work);
        cpu->wait(device, NULL);
        for (int i = 0; i < repeat; i++) cpu->run(k, slot, work);
        cpu->wait(device, &ns);
        if (ns / repeat < best) best = ns / repeat;
        if (ns < 2e5 && repeat < 100000) repeat = (int)(repeat * 3e5 / (ns + 1)) + 1;
    }
    return best * 1e-3;
}

static void report(const char *name, const Bench *b, const char *filter) {
    if (filter && !strstr(name, filter)) return;
    void *slot[6];
    const void *weights[6] = {NULL};
    for (int i = 0; i < b->step.nview; i++) {
        const View *v = &b->step.view[i];
        int64_t last = 0;
        for (int a = 0; a < v->rank; a++) last += (v->dim[a] - 1) * v->stride[a];
        slot[i] = cpu->alloc(device, (size_t)(last + 1) * 8);
        for (int64_t j = 0; j <= last && v->dtype == DT_FLOAT; j++)
            ((float *)slot[i])[j] = (float)((j * 7919) % 1000) / 500 - 1;
    }
    if (b->known) weights[2] = slot[2];
    for (int choice = 0, n = cpu->choices(device, &b->step); choice < n; choice++) {
        char why[200];
        size_t room = 0;
        Kernel *k = cpu->compile(device, &b->step, choice, weights, &room, NULL, why, sizeof why);
        if (!k) continue;
        void *work = cpu->alloc(device, room);
        const double us = time_kernel(k, slot, work);
        if (b->flops > 0)
            printf("%-34s %d %10.1f us %8.1f GFLOP/s\n", name, choice, us, b->flops / us * 1e-3);
        else printf("%-34s %d %10.1f us %8.1f GB/s\n", name, choice, us, b->bytes / us * 1e-3);
        fflush(stdout);
        cpu->forget(k);
        cpu->release(device, work);
    }
    for (int i = 0; i < b->step.nview; i++) cpu->release(device, slot[i]);
}

static View dense(int slot, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t all[] = {a, b, c, d};
    int n = 4;
    while (n > 1 && all[n - 1] == 0) n--;
    return view_dense(slot, DT_FLOAT, n, all);
}
static void start(Bench *b, StepKind kind, int nview) {
    b->step.kind = kind, b->step.nview = nview;
    b->step.view = b->view, b->step.param = b->param, b->step.code = b->code;
}
static void code(Bench *b, int op, int x, int y, double k) {
    b->code[b->step.ncode++] =
        (Scalar){.op = (uint8_t)op, .a = (uint8_t)x, .b = (uint8_t)y, .k = k};
}

static void set_conv(Bench *b, int64_t c, int64_t size, int64_t o, int64_t k, int64_t s,
                     int64_t g) {
    const int64_t pad = k / 2, out = (size + 2 * pad - k) / s + 1,
                  param[] = {g, s, s, pad, pad, pad, pad, 1, 1};
    start(b, S_CONV, 3);
    b->view[0] = dense(0, 1, o, out, out), b->view[1] = dense(1, 1, c, size, size),
    b->view[2] = dense(2, o, c / g, k, k);
    memcpy(b->param, param, sizeof param);
    b->step.nparam = 9;
    b->flops = 2.0 * (double)(o * out * out * (c / g) * k * k);
}
static void conv(const char *filter, const char *name, int64_t c, int64_t size, int64_t o,
                 int64_t k, int64_t s, int64_t g, bool fused) {
    Bench b = {.known = true};
    set_conv(&b, c, size, o, k, s, g);
    if (fused) {
        b.step.nview = 4;
        b.view[3] = b.view[0], b.view[3].slot = 3;
        for (int a = 0; a < 4; a++) b.view[3].stride[a] = a == 1;
        code(&b, C_ACC, 0, 0, 0), code(&b, C_VIEW, 3, 0, 0), code(&b, C_ADD, 0, 1, 0),
            code(&b, C_RELU, 2, 0, 0);
    }
    report(name, &b, filter);
}
/* A 3x3 convolution whose input and output images lie channels last. */
static void conv_last(const char *filter, const char *name, int64_t c, int64_t size, int64_t o) {
    Bench b = {.known = true};
    static const int order[] = {0, 3, 1, 2};
    set_conv(&b, c, size, o, 3, 1, 1);
    const View y = dense(0, 1, size, size, o), x = dense(1, 1, size, size, c);
    b.view[0] = view_axes(&y, 4, order), b.view[1] = view_axes(&x, 4, order);
    report(name, &b, filter);
}
static void set_gemm(Bench *b, int64_t batch, int64_t m, int64_t n, int64_t k) {
    start(b, S_GEMM, 3);
    b->view[0] = dense(0, batch, m, n, 0), b->view[1] = dense(1, batch, m, k, 0),
    b->view[2] = dense(2, batch, k, n, 0);
    b->flops = 2.0 * (double)(batch * m * n * k);
}
static void gemm(const char *filter, const char *name, int64_t batch, int64_t m, int64_t n,
                 int64_t k, bool known) {
    Bench b = {.known = known};
    set_gemm(&b, batch, m, n, k);
    if (known) b.view[2].stride[0] = 0;
    report(name, &b, filter);
}
/* A matrix product with an epilogue: a bias along the columns, then relu. */
static void gemm_fused(const char *filter, const char *name, int64_t m, int64_t n, int64_t k) {
    Bench b = {.known = true};
    set_gemm(&b, 1, m, n, k);
    b.step.nview = 4;
    b.view[3] = b.view[0], b.view[3].slot = 3, b.view[3].stride[1] = 0;
    code(&b, C_ACC, 0, 0, 0), code(&b, C_VIEW, 3, 0, 0), code(&b, C_ADD, 0, 1, 0),
        code(&b, C_RELU, 2, 0, 0);
    report(name, &b, filter);
}
/* A matrix product whose second factor lies transposed. */
static void gemm_across(const char *filter, const char *name, int64_t batch, int64_t m, int64_t n,
                        int64_t k) {
    Bench b = {.known = false};
    set_gemm(&b, batch, m, n, k);
    b.view[2].stride[1] = 1, b.view[2].stride[2] = k;
    report(name, &b, filter);
}
/* Turns a step into its 8-bit form without zero points, whose results are integer sums. */
static void bytes_of(Bench *b) {
    b->view[0].dtype = DT_INT32, b->view[1].dtype = DT_UINT8, b->view[2].dtype = DT_INT8;
    b->param[b->step.nparam++] = 0;
}
static void conv_bytes(const char *filter, const char *name, int64_t c, int64_t size, int64_t o,
                       int64_t k, int64_t g) {
    Bench b = {.known = true};
    set_conv(&b, c, size, o, k, 1, g);
    bytes_of(&b);
    report(name, &b, filter);
}
static void gemm_bytes(const char *filter, const char *name, int64_t m, int64_t n, int64_t k) {
    Bench b = {.known = true};
    set_gemm(&b, 1, m, n, k);
    bytes_of(&b);
    report(name, &b, filter);
}
static void ewise(const char *filter, const char *name, int64_t rows, int64_t columns, int views,
                  int op) {
    Bench b = {.bytes = 4.0 * (double)(rows * columns) * (1 + views)};
    start(&b, S_EWISE, 1 + views);
    for (int i = 0; i <= views; i++) b.view[i] = dense(i, rows, columns, 0, 0);
    if (op == GELU) {
        code(&b, C_VIEW, 1, 0, 0), code(&b, C_CONST, 0, 0, 0.70710678118654752),
            code(&b, C_MUL, 0, 1, 0), code(&b, C_ERF, 2, 0, 0);
        code(&b, C_CONST, 0, 0, 1), code(&b, C_ADD, 3, 4, 0), code(&b, C_MUL, 0, 5, 0),
            code(&b, C_CONST, 0, 0, 0.5), code(&b, C_MUL, 6, 7, 0);
    } else {
        code(&b, C_VIEW, 1, 0, 0);
        if (views > 1) code(&b, C_VIEW, 2, 0, 0);
        code(&b, op, 0, views - 1, 0);
    }
    report(name, &b, filter);
}
/* x[1, c, n, n] + bias[c], then relu */
static void channels(const char *filter, const char *name, int64_t c, int64_t n) {
    Bench b = {.bytes = 8.0 * (double)(c * n * n)};
    start(&b, S_EWISE, 3);
    for (int i = 0; i < 3; i++) b.view[i] = dense(i, 1, c, n, n);
    for (int a = 0; a < 4; a++) b.view[2].stride[a] = a == 1;
    code(&b, C_VIEW, 1, 0, 0), code(&b, C_VIEW, 2, 0, 0), code(&b, C_ADD, 0, 1, 0),
        code(&b, C_RELU, 2, 0, 0);
    report(name, &b, filter);
}
/* a + the transpose of b */
static void add_transposed(const char *filter, const char *name, int64_t rows, int64_t columns) {
    Bench b = {.bytes = 12.0 * (double)(rows * columns)};
    start(&b, S_EWISE, 3);
    for (int i = 0; i < 3; i++) b.view[i] = dense(i, rows, columns, 0, 0);
    b.view[2].stride[0] = 1, b.view[2].stride[1] = rows;
    code(&b, C_VIEW, 1, 0, 0), code(&b, C_VIEW, 2, 0, 0), code(&b, C_ADD, 0, 1, 0);
    report(name, &b, filter);
}
static void unary_kind(const char *filter, const char *name, StepKind kind, View y, View x,
                       int64_t param) {
    Bench b = {.bytes = 4.0 * (double)(view_count(&x) + view_count(&y))};
    start(&b, kind, 2);
    b.view[0] = y, b.view[1] = x, b.param[0] = param, b.step.nparam = 1;
    report(name, &b, filter);
}
static void pool(const char *filter, const char *name, int64_t c, int64_t size, int64_t k,
                 int64_t s, int64_t pad, PoolKind kind) {
    Bench b = {.known = false};
    const int64_t out = (size + 2 * pad - k) / s + 1,
                  param[] = {kind, k, k, s, s, pad, pad, pad, pad, 1, 1, 0};
    start(&b, S_POOL, 2);
    b.view[0] = dense(0, 1, c, out, out), b.view[1] = dense(1, 1, c, size, size);
    memcpy(b.param, param, sizeof param);
    b.step.nparam = 12, b.bytes = 4.0 * (double)(view_count(&b.view[0]) + view_count(&b.view[1]));
    report(name, &b, filter);
}

int main(int argc, char **argv) {
    const char *f = argc > 1 && argv[1][0] ? argv[1] : NULL;
    char text[600];
    Error e = {0};
    cpu = backend_open("cpu", &e);
    device = cpu ? cpu->open(argc > 2 ? argv[2] : "", text, sizeof text) : NULL;
    if (!device || cpu->identity(device, text, sizeof text))
        return fprintf(stderr, "%s\n", text), 5;
    printf("%s\n", text);
    conv(f, "conv 7x7s2 3-64@224", 3, 224, 64, 7, 2, 1, false);
    conv(f, "conv 1x1 64-256@56", 64, 56, 256, 1, 1, 1, false);
    conv(f, "conv 3x3 64@56", 64, 56, 64, 3, 1, 1, false);
    conv(f, "conv 3x3 64@56 bias relu", 64, 56, 64, 3, 1, 1, true);
    conv(f, "conv 3x3 128@28", 128, 28, 128, 3, 1, 1, false);
    conv(f, "conv 3x3 256@14", 256, 14, 256, 3, 1, 1, false);
    conv(f, "conv 3x3 512@7", 512, 7, 512, 3, 1, 1, false);
    conv_last(f, "conv 3x3 64@224 last", 64, 224, 64);
    conv_last(f, "conv 3x3 64@56 last", 64, 56, 64);
    conv_last(f, "conv 3x3 128@28 last", 128, 28, 128);
    conv_last(f, "conv 3x3 512@28 last", 512, 28, 512);
    conv_last(f, "conv 3x3 256@14 last", 256, 14, 256);
    conv_last(f, "conv 3x3 512@7 last", 512, 7, 512);
    conv(f, "conv 3x3 g32 128@56", 128, 56, 128, 3, 1, 32, false);
    conv(f, "conv depthwise 3x3 128@56", 128, 56, 128, 3, 1, 128, false);
    conv(f, "conv depthwise 5x5s2 128@56", 128, 56, 128, 5, 2, 128, false);
    conv_bytes(f, "conv u8 1x1 64-256@56", 64, 56, 256, 1, 1);
    conv_bytes(f, "conv u8 3x3 128@28", 128, 28, 128, 3, 1);
    conv_bytes(f, "conv u8 depthwise 3x3 128@56", 128, 56, 128, 3, 128);
    gemm(f, "gemm 512^3", 1, 512, 512, 512, false);
    gemm(f, "gemm 1x4096x1024 weight", 1, 1, 1024, 4096, true);
    gemm(f, "gemm 49x512x4608 weight", 1, 49, 512, 4608, true);
    gemm(f, "gemm 128x768x768 weight", 1, 128, 768, 768, true);
    gemm(f, "gemm 128x3072x768 weight", 1, 128, 3072, 768, true);
    gemm(f, "gemm 12 x 128x128x64", 12, 128, 128, 64, false);
    gemm(f, "gemm 8x512x512 weight", 1, 8, 512, 512, true);
    gemm(f, "gemm 16x1000x1280 weight", 1, 16, 1000, 1280, true);
    gemm(f, "gemm 33x333x333 weight", 1, 33, 333, 333, true);
    gemm(f, "gemm 49x72x24 weight", 1, 49, 72, 24, true);
    gemm(f, "gemm 3136x64x64 weight", 1, 3136, 64, 64, true);
    gemm(f, "gemm 128x768x3072 weight", 1, 128, 768, 3072, true);
    gemm_fused(f, "gemm 128x768x768 weight bias relu", 128, 768, 768);
    gemm_fused(f, "gemm 196x384x384 weight bias relu", 196, 384, 384);
    gemm(f, "gemm 12 x 128x64x128", 12, 128, 64, 128, false);
    gemm(f, "gemm 32 x 16x16x16", 32, 16, 16, 16, false);
    gemm_across(f, "gemm 12 x 128x128x64 transposed", 12, 128, 128, 64);
    gemm_across(f, "gemm 6 x 197x197x64 transposed", 6, 197, 197, 64);
    gemm_bytes(f, "gemm u8 128x768x768 weight", 128, 768, 768);
    gemm_bytes(f, "gemm u8 49x512x4608 weight", 49, 512, 4608);
    ewise(f, "relu 3136x256", 3136, 256, 1, C_RELU);
    ewise(f, "add 3136x256", 3136, 256, 2, C_ADD);
    ewise(f, "exp 3136x256", 3136, 256, 1, C_EXP);
    ewise(f, "tanh 3136x256", 3136, 256, 1, C_TANH);
    ewise(f, "sigmoid 3136x256", 3136, 256, 1, C_SIGMOID);
    ewise(f, "log 3136x256", 3136, 256, 1, C_LOG);
    ewise(f, "gelu 3136x256", 3136, 256, 1, GELU);
    add_transposed(f, "add transposed 3136x256", 3136, 256);
    channels(f, "bias relu 256@56", 256, 56);
    channels(f, "bias relu 2048@7", 2048, 7);
    channels(f, "bias relu 2048@3", 2048, 3);
    unary_kind(f, "softmax 1536x128", S_SOFTMAX, dense(0, 1536, 128, 0, 0),
               dense(1, 1536, 128, 0, 0), 0);
    unary_kind(f, "sum 3136x256 along", S_REDUCE, dense(0, 3136, 0, 0, 0),
               dense(1, 3136, 256, 0, 0), REDUCE_SUM);
    unary_kind(f, "max 3136x256 along", S_REDUCE, dense(0, 3136, 0, 0, 0),
               dense(1, 3136, 256, 0, 0), REDUCE_MAX);
    unary_kind(f, "mean 2048@7", S_REDUCE, dense(0, 2048, 0, 0, 0), dense(1, 2048, 49, 0, 0),
               REDUCE_MEAN);
    View across = dense(1, 256, 3136, 0, 0);
    across.stride[0] = 1, across.stride[1] = 256;
    unary_kind(f, "sum 3136x256 across", S_REDUCE, dense(0, 256, 0, 0, 0), across, REDUCE_SUM);
    unary_kind(f, "copy 3136x256", S_COPY, dense(0, 3136, 256, 0, 0), dense(1, 3136, 256, 0, 0), 0);
    across = dense(1, 3136, 256, 0, 0);
    across.stride[0] = 1, across.stride[1] = 3136;
    unary_kind(f, "transpose 3136x256", S_COPY, dense(0, 3136, 256, 0, 0), across, 0);
    pool(f, "max pool 3x3s2 64@112", 64, 112, 3, 2, 1, POOL_MAX);
    pool(f, "max pool 3x3s1 480@14", 480, 14, 3, 1, 1, POOL_MAX);
    pool(f, "mean pool 7x7 512@7", 512, 7, 7, 1, 0, POOL_MEAN);
    cpu->close(device);
    return 0;
}
