/* ops_cuda_attention.c -- tests attention as one kernel of the back end for GPUs, without a GPU:
   the text that a GPU gets is compiled for the host (test/cuda) and compared with the operator's
   reference kernel. Sizes, layouts, masks, lengths, pasts and attributes are random; every
   algorithm runs, with the threads of a block in both orders. Faults planted in the text must be
   noticed, and NVRTC must compile it without spills for four kinds of GPU. The tests are skipped
   where CUDA's headers are missing.

   If $ISOMER_GPU names a back end (with its options in $OPTIONS), that one runs the comparisons
   instead. */
#include "graphs/plan/plan_inner.h"
#include "ops/backend/backend.h"
#include "ops/backend/view.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/operator/op_kernel.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct Drawn {
    Random random;
    Step step;
    View view[ATTENTION_VIEWS];
    int64_t param[SDPA_PARAMS];
    char *data[ATTENTION_VIEWS], *want[ATTENTION_OUTPUTS];
    void *slot[ATTENTION_VIEWS]; /* of the run of the reference kernel */
    size_t bytes[ATTENTION_VIEWS];
} Drawn;
static const Backend *host, *nvrtc;
static char options[330];

static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}

/* ---- cases */
/* Adds view k with random data: dense, or with its second and last but one axes exchanged in
   memory. */
static void add(Drawn *t, int k, DType type, int rank, const int64_t dim[]) {
    View v = view_dense(k, (int32_t)type, rank, dim);
    if (rank == 4 && draw(t, 0, 2) == 0) v.stride[1] = dim[3], v.stride[2] = dim[1] * dim[3];
    t->view[k] = v;
    t->bytes[k] = (size_t)(view_count(&v) * dtype_bits(type) / 8);
    t->data[k] = malloc(t->bytes[k] + 1);
    element_fill(type, t->data[k], view_count(&v), (uint64_t)draw(t, 0, 1 << 20));
}
static void add_heads(Drawn *t, int k, bool beside, int64_t b, int64_t h, int64_t s, int64_t n) {
    if (beside) add(t, k, DT_FLOAT, 3, (const int64_t[]){b, s, h * n});
    else add(t, k, DT_FLOAT, 4, (const int64_t[]){b, h, s, n});
}
static void add_mask(Drawn *t, const int64_t size[4]) {
    const int rank = (int)draw(t, 1, 4);
    int64_t dim[4];
    for (int k = 0; k < rank; k++) {
        dim[k] = size[4 - rank + k];
        if (k < rank - 1 && draw(t, 0, 2) == 0) dim[k] = 1;
    }
    if (draw(t, 0, 3) == 0 && dim[rank - 1] > 1) dim[rank - 1]--;
    const bool seen = draw(t, 0, 1);
    add(t, ATTENTION_MASK, seen ? DT_BOOL : DT_FLOAT, rank, dim);
    for (size_t k = 0; seen && k < t->bytes[ATTENTION_MASK]; k++)
        t->data[ATTENTION_MASK][k] = draw(t, 0, 2) > 0;
}
static void draw_attributes(Drawn *t) {
    t->param[OP_OUTPUTS] = ATTENTION_OUTPUTS;
    t->param[ATTENTION_SCALE] = param_of_real(draw(t, 0, 1) ? 0 : 1.0 / 3);
    t->param[ATTENTION_CAP] = param_of_real(draw(t, 0, 2) ? 0 : 2);
    t->param[ATTENTION_CAUSAL] = draw(t, 0, 1);
    t->param[ATTENTION_LEFT] = draw(t, 0, 2) ? -1 : draw(t, 0, 40);
    t->param[ATTENTION_RIGHT] = draw(t, 0, 2) ? -1 : draw(t, 0, 40);
    t->param[ATTENTION_SHOWN] = draw(t, 0, 3);
}
static void draw_inputs(Drawn *t, int64_t b, int64_t g, int64_t h, int64_t s, int64_t n) {
    const int64_t d = draw(t, 1, 40), e = draw(t, 0, 5) ? draw(t, 1, 40) : 200,
                  before = draw(t, 0, 2) ? 0 : draw(t, 1, 70), all = n + before;
    const bool beside = draw(t, 0, 1);
    for (int k = 0; k < ATTENTION_VIEWS; k++) t->view[k] = (View){.slot = -1, .rank = -1};
    add_heads(t, ATTENTION_Y, beside, b, h, s, e);
    add(t, ATTENTION_PRESENT_KEY, DT_FLOAT, 4, (const int64_t[]){b, g, all, d});
    add(t, ATTENTION_PRESENT_VALUE, DT_FLOAT, 4, (const int64_t[]){b, g, all, e});
    add(t, ATTENTION_SCORES, DT_FLOAT, 4, (const int64_t[]){b, h, s, all});
    add_heads(t, ATTENTION_Q, beside, b, h, s, d);
    add_heads(t, ATTENTION_K, beside, b, g, n, d);
    add_heads(t, ATTENTION_V, beside, b, g, n, e);
    if (draw(t, 0, 1)) add_mask(t, (const int64_t[]){b, h, s, all});
    if (before) {
        add(t, ATTENTION_PAST_KEY, DT_FLOAT, 4, (const int64_t[]){b, g, before, d});
        add(t, ATTENTION_PAST_VALUE, DT_FLOAT, 4, (const int64_t[]){b, g, before, e});
    } else if (draw(t, 0, 2) == 0) {
        add(t, ATTENTION_LENGTHS, DT_INT64, 1, &b);
        for (int64_t k = 0; k < b; k++)
            memcpy(t->data[ATTENTION_LENGTHS] + 8 * k, (const int64_t[]){draw(t, 0, n)}, 8);
    }
}
/* Runs the operator's reference kernel on the first nview views; t->want has its results. */
static void run_operator(Drawn *t, int nview) {
    t->step = (Step){.kind = S_OP,
                     .nview = nview,
                     .nparam = ATTENTION_PARAMS,
                     .view = t->view,
                     .param = t->param,
                     .op = "attention"};
    for (int k = 0; k < ATTENTION_VIEWS; k++) t->slot[k] = t->data[k];
    for (int k = 0; k < ATTENTION_OUTPUTS; k++)
        t->slot[k] = t->want[k] = calloc(1, t->bytes[k] + 1);
    op_kernel("attention")(&t->step, t->slot);
}
static void drawn_start(Drawn *t, uint64_t seed) {
    *t = (Drawn){.random = {seed, 0}};
    const int64_t b = draw(t, 1, 2), g = draw(t, 1, 2), h = g * draw(t, 1, 3),
                  s = draw(t, 0, 3) ? draw(t, 1, 20) : 90, n = draw(t, 0, 3) ? draw(t, 1, 70) : 150;
    draw_attributes(t);
    draw_inputs(t, b, g, h, s, n);
    run_operator(t, ATTENTION_VIEWS);
}
/* Draws a step of two products with a softmax between them, as the planner makes it. Where each
   query sees a key, its result is that of the operator. */
static void products_start(Drawn *t, uint64_t seed) {
    *t = (Drawn){.random = {seed, 0}};
    const int64_t b = draw(t, 1, 2), h = draw(t, 1, 3), d = draw(t, 1, 40), e = draw(t, 1, 40),
                  q = draw(t, 0, 3) ? draw(t, 1, 20) : 90, n = draw(t, 0, 3) ? draw(t, 2, 70) : 150;
    const int64_t size[ATTENTION_VIEWS][4] = {{b, h, q, e}, {b, h, n, d}, {b, h, n, e},
                                              {b, h, q, n}, {b, h, q, d}, {b, h, n, d},
                                              {b, h, n, e}, {b, h, q, n}};
    for (int k = 0; k < ATTENTION_VIEWS; k++) t->view[k] = (View){.slot = -1, .rank = -1};
    for (int k = 0; k < (draw(t, 0, 1) ? ATTENTION_PAST_KEY : ATTENTION_MASK); k++)
        add(t, k, DT_FLOAT, 4, size[k]);
    t->param[OP_OUTPUTS] = ATTENTION_OUTPUTS,
    t->param[ATTENTION_LEFT] = t->param[ATTENTION_RIGHT] = -1;
    t->param[ATTENTION_SCALE] = param_of_real(draw(t, 0, 1) ? 1 : 1.0 / 3);
    run_operator(t, t->data[ATTENTION_MASK] ? ATTENTION_PAST_KEY : ATTENTION_MASK);
    t->step.op = SDPA, t->step.nparam = SDPA_PARAMS;
    t->param[SDPA_UNSEEN] = draw(t, 1, 2);
    for (int k = ATTENTION_PRESENT_KEY; k < ATTENTION_OUTPUTS; k++) {
        memset(t->view[k].dim, 0, sizeof t->view[k].dim);
        t->bytes[k] = 0;
    }
}
static void drawn_end(Drawn *t) {
    for (int k = 0; k < ATTENTION_VIEWS; k++) free(t->data[k]);
    for (int k = 0; k < ATTENTION_OUTPUTS; k++) free(t->want[k]);
}

/* ---- comparison */
static bool near(float want, float got) {
    if (isnan(want) || isinf(want)) return isnan(want) ? isnan(got) : want == got;
    return fabsf(got - want) <= 2e-5f * fmaxf(1, fabsf(want));
}
/* The name of a result that is wrong; NULL if all are right. */
static const char *wrong_result(Drawn *t, Device *d, void *const slot[]) {
    static const char *const name[ATTENTION_OUTPUTS] = {"y", "present key", "present value",
                                                        "scores"};
    const char *wrong = NULL;
    for (int k = 0; k < ATTENTION_OUTPUTS && !wrong; k++) {
        float *got = malloc(t->bytes[k] + 1);
        const float *want = (const float *)(const void *)t->want[k];
        if (host->copy(d, got, slot[k], t->bytes[k], COPY_TO_HOST)) wrong = "a copy";
        for (size_t i = 0; i < t->bytes[k] / sizeof *got && !wrong; i++)
            if (!near(want[i], got[i])) wrong = name[k];
        free(got);
    }
    return wrong;
}
static const char *run_algorithm(Drawn *t, Device *d, int algorithm) {
    char why[300];
    size_t room;
    void *slot[ATTENTION_VIEWS] = {NULL};
    const char *wrong = "it is refused";
    Kernel *k = host->compile(d, &t->step, algorithm, NULL, &room, NULL, why, sizeof why);
    for (int j = 0; j < ATTENTION_VIEWS; j++) {
        if (t->view[j].rank < 0) continue;
        slot[j] = host->alloc(d, t->bytes[j] + 1);
        host->copy(d, slot[j], t->data[j], t->bytes[j], COPY_TO_DEVICE);
    }
    void *workspace = k && room ? host->alloc(d, room) : NULL;
    if (k) wrong = host->run(k, slot, workspace) || host->wait(d, NULL) ? "it fails" : NULL;
    if (!wrong) wrong = wrong_result(t, d, slot);
    for (int j = 0; j < ATTENTION_VIEWS; j++) host->release(d, slot[j]);
    if (k) host->forget(k);
    host->release(d, workspace);
    return wrong;
}
static Device *open_host(void) {
    char why[300] = "";
    setenv("ISOMER_HOST", "", 1);
    Device *d = host->open(options, why, sizeof why);
    if (!d) fail_msg("%s", why);
    return d;
}
typedef void Start(Drawn *, uint64_t seed);
/* The first thing that is wrong with case `seed`, or NULL; *algorithms is the number of
   algorithms. */
static const char *check_by(Start *start, Device *d, uint64_t seed, int *algorithms) {
    Drawn t;
    const char *wrong = NULL;
    start(&t, seed);
    *algorithms = host->choices(d, &t.step);
    for (int k = 0; k < 2 * *algorithms && !wrong; k++) {
        setenv("ISOMER_HOST", k % 2 ? "descending" : "", 1);
        wrong = run_algorithm(&t, d, k / 2);
    }
    drawn_end(&t);
    return wrong;
}
static const char *check(Device *d, uint64_t seed, int *algorithms) {
    return check_by(drawn_start, d, seed, algorithms);
}
/* The step runs as one kernel, and as two products with a softmax between them. */
static void products_agree(void **state) {
    const uint64_t count = getenv("ISOMER_HEAVY") ? 100 : 8;
    int most = 0;
    (void)state;
    Device *d = open_host();
    for (uint64_t seed = 0; seed < count; seed++) {
        int algorithms;
        const char *wrong = check_by(products_start, d, seed, &algorithms);
        if (wrong) fail_msg("case %d: %s", (int)seed, wrong);
        assert_true(algorithms >= 2);
        if (algorithms > most) most = algorithms;
    }
    assert_true(most > 3);
    host->close(d);
}
static void arithmetic_is_that_of_the_parts(void **state) {
    Drawn t;
    (void)state;
    products_start(&t, 1);
    const int64_t *q = t.view[ATTENTION_Q].dim, *v = t.view[ATTENTION_V].dim;
    const double scores = (double)(q[0] * q[1] * q[2] * v[2]),
                 want = scores * (double)(2 * q[3] + 5 + 2 * v[3]);
    assert_true(fabs(step_flops(&t.step) - want) < 1e-6 * want);
    drawn_end(&t);
}
/* If the scores need more memory than a step may use, only the single kernel is possible. */
static void scores_that_do_not_fit_are_not_stored(void **state) {
    char words[360], why[300];
    Drawn t;
    (void)state;
    setenv("ISOMER_HOST", "", 1);
    snprintf(words, sizeof words, "workspace=0,%s", options);
    Device *d = open_host(), *small = host->open(words, why, sizeof why);
    if (!small) fail_msg("%s", why);
    products_start(&t, 0);
    assert_true(host->choices(small, &t.step) >= 1);
    assert_true(host->choices(small, &t.step) < host->choices(d, &t.step));
    drawn_end(&t);
    host->close(small);
    host->close(d);
}
static void attention_agrees(void **state) {
    const uint64_t count = getenv("ISOMER_HEAVY") ? 300 : 25;
    int two = 0;
    (void)state;
    Device *d = open_host();
    for (uint64_t seed = 0; seed < count; seed++) {
        int algorithms;
        const char *wrong = check(d, seed, &algorithms);
        if (wrong) fail_msg("case %d: %s", (int)seed, wrong);
        assert_true(algorithms >= 1);
        two += algorithms > 1;
    }
    assert_true(two > 0);
    host->close(d);
}
static void planted_faults_are_noticed(void **state) {
    static const char *const faults[] = {
        "SYNC();=>;",                                           /* a barrier is removed */
        "* less + sum=>+ sum",                                  /* the sum so far is not rescaled */
        "acc[u][w] *= less=>;",                                 /* the values are not rescaled */
        "j > here=>j > here + 1",                               /* the limit of what a query sees */
        "max_f(top[u], most)=>most",                            /* the greatest score so far */
        "SHUFFLE(most, 8)=>most",                               /* half of the keys of a block */
        "const place_t of = h / =>const place_t of = 0 * h / ", /* keys shared by several heads */
        ", b = (place_t)(q / =>, b = (place_t)(0 * q / ",
    };
    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        bool noticed = false;
        setenv("ISOMER_PLANT", faults[f], 1);
        Device *d = open_host();
        for (uint64_t seed = 0; seed < 40 && !noticed; seed++) {
            int algorithms;
            noticed = check(d, seed, &algorithms) != NULL;
        }
        host->close(d);
        unsetenv("ISOMER_PLANT");
        if (!noticed) fail_msg("nothing notices %s", faults[f]);
    }
    print_message("%d planted faults\n", (int)(sizeof faults / sizeof *faults));
}
/* Steps that the kernel does not compute are refused. */
static void others_are_refused(void **state) {
    Drawn t;
    (void)state;
    Device *d = open_host();
    drawn_start(&t, 0);
    t.step.op = "gather";
    assert_int_equal(host->choices(d, &t.step), 0);
    t.step.op = "attention";
    t.view[ATTENTION_Q].dtype = DT_DOUBLE;
    assert_int_equal(host->choices(d, &t.step), 0);
    t.view[ATTENTION_Q].dtype = DT_FLOAT;
    t.view[ATTENTION_PRESENT_VALUE].dim[3] = 257;
    assert_int_equal(host->choices(d, &t.step), 0);
    drawn_end(&t);
    host->close(d);
}
/* The kernel compiles without spills, even with the largest size of values that it supports. */
static void nvrtc_takes_it_without_spills(void **state) {
    static const char *const gpu[] = {"sm_90", "sm_80", "sm_100", "sm_120"};
    char words[400], why[1000] = "";
    (void)state;
    snprintf(words, sizeof words, "%s,spills=refuse", options);
    for (size_t k = 0; k < sizeof gpu / sizeof *gpu; k++) {
        setenv("ISOMER_HOST", gpu[k], 1);
        Device *d = nvrtc->open(words, why, sizeof why);
        if (!d) {
            print_message("NVRTC is missing: %s\n", why);
            skip();
        }
        const uint64_t count = k == 0 || getenv("ISOMER_HEAVY") ? 12 : 2;
        for (uint64_t seed = 0; seed < count; seed++) {
            Drawn t;
            size_t room;
            drawn_start(&t, seed);
            if (seed % 2) t.view[ATTENTION_PRESENT_VALUE].dim[3] = 256; /* compiled, but not run */
            const int n = nvrtc->choices(d, &t.step);
            assert_true(n > 0);
            for (int j = 0; j < n; j++) {
                Kernel *kernel = nvrtc->compile(d, &t.step, j, NULL, &room, NULL, why, sizeof why);
                if (!kernel) fail_msg("%s, case %d, algorithm %d: %s", gpu[k], (int)seed, j, why);
                nvrtc->forget(kernel);
            }
            drawn_end(&t);
        }
        nvrtc->close(d);
    }
}

static const Backend *open_plugin(const char *name, char path[], size_t n) {
    const char *build = getenv("BUILD");
    Error e = {0};
    snprintf(path, n, "%s/test/cuda/%s", build ? build : "build", name);
    return access(path, F_OK) || !strstr(name, ".so") ? NULL : backend_open(path, &e);
}
static void nothing_to_test(void **state) {
    (void)state;
    print_message("CUDA's headers are missing: the back end for GPUs is not built\n");
    skip();
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_agrees),
        cmocka_unit_test(products_agree),
        cmocka_unit_test(arithmetic_is_that_of_the_parts),
        cmocka_unit_test(scores_that_do_not_fit_are_not_stored),
        cmocka_unit_test(planted_faults_are_noticed),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(nvrtc_takes_it_without_spills),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(nothing_to_test)};
    const struct CMUnitTest device[] = {cmocka_unit_test(attention_agrees),
                                        cmocka_unit_test(products_agree)};
    const char *gpu = getenv("ISOMER_GPU");
    char path[300];
    if (gpu && *gpu) { /* a back end runs the tests in place of the host */
        Error e = {0};
        snprintf(options, sizeof options, "%s", getenv("OPTIONS") ? getenv("OPTIONS") : "");
        host = backend_open(gpu, &e);
        if (!host) return fprintf(stderr, "%s\n", e.reason), 5;
        return cmocka_run_group_tests(device, NULL, NULL);
    }
    nvrtc = open_plugin("isomer-nvrtc.so", path, sizeof path);
    host = open_plugin("isomer-host.so", path, sizeof path);
    if (!host || !nvrtc) return cmocka_run_group_tests(none, NULL, NULL);
    open_plugin("kernels", path, sizeof path);
    snprintf(options, sizeof options, "cache=%s", path);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
