/* ops_cuda.c -- tests the back end for GPUs without a GPU: its plug-in uses the host's memory in
   place of the driver and the host's compiler in place of NVRTC (test/cuda). The text of each
   kernel is what a GPU gets. Random steps must agree with the reference by every algorithm, with
   the threads of a block in both orders. Faults planted in a kernel's text must be noticed, and
   every failure of the driver must be an error with a reason. The tests are skipped where CUDA's
   headers are missing, since the plug-in is not built there. */
#include "ops/backend/view.h"
#include "test/shared/conformance.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

static const Backend *host, *nvrtc, *dnn;
static char options[300];

static void plugin_path(const char *name, char path[], size_t n) {
    const char *build = getenv("BUILD");
    snprintf(path, n, "%s/test/cuda/%s", build ? build : "build", name);
}

static Device *open_host(const char *behaviour, char *why, size_t n) {
    setenv("ISOMER_HOST", behaviour, 1);
    return host->open(options, why, n);
}
static Device *open_good(void) {
    char why[300] = "";
    Device *d = open_host("", why, sizeof why);
    if (!d) fail_msg("%s", why);
    return d;
}

/* The threads of a block take turns, in ascending or descending order. */
static void set_order(int round) { setenv("ISOMER_HOST", round % 2 ? "descending" : "", 1); }

static bool check_many(StepKind kind, int count, Found *found) {
    Device *d = open_good();
    const bool good =
        conformance_run(&(Suite){.backend = host, .device = d, .rounds = 2, .round = set_order},
                        kind, count, NULL, found);
    host->close(d);
    return good;
}
static void steps_agree(void **state) {
    const StepCount *kind = *state;
    const int count = getenv("ISOMER_HEAVY") ? kind->steps : kind->steps / 15;
    Found found = {0};
    if (!check_many(kind->kind, count, &found)) fail_msg("%s", found.text);
    print_message("%s: %d steps, %d runs\n", kind->name, found.steps, found.runs);
    assert_int_equal(found.steps, count);
    assert_true(found.runs >= 2 * count);
}

/* The product of the factors that one thread multiplies is 1e60, which overflows; another thread's
   is 1e-60, and the whole product is 1. */
static void products_of_parts_do_not_overflow(void **state) {
    enum { N = 96, WARP = 32 };
    static const View v[] = {{.slot = 0, .dtype = 1},
                             {.slot = 1, .dtype = 1, .rank = 1, .dim = {N}, .stride = {1}}};
    const int64_t product = REDUCE_PROD;
    const Step s = {.kind = S_REDUCE, .nview = 2, .nparam = 1, .view = v, .param = &product};
    float x[N], y;
    char why[300] = "";
    size_t room;
    (void)state;
    Device *d = open_good();
    for (int i = 0; i < N; i++) x[i] = i % WARP == 0 ? 1e20f : i % WARP == 1 ? 1e-20f : 1;
    for (int algorithm = 0; algorithm < host->choices(d, &s); algorithm++) {
        Kernel *k = host->compile(d, &s, algorithm, NULL, &room, NULL, why, sizeof why);
        void *slot[] = {host->alloc(d, sizeof y), host->alloc(d, sizeof x)};
        if (!k) fail_msg("%s", why);
        host->copy(d, slot[1], x, sizeof x, COPY_TO_DEVICE);
        assert_int_equal(host->run(k, slot, NULL), 0);
        host->copy(d, &y, slot[0], sizeof y, COPY_TO_HOST);
        assert_true(y > 0.999f && y < 1.001f);
        for (int i = 0; i < 2; i++) host->release(d, slot[i]);
        host->forget(k);
    }
    host->close(d);
}

/* ---- planted faults: OLD=>NEW in the kernel's text */
static const struct {
    const char *plant;
    StepKind kind;
} faults[] = {
    {"SYNC();=>;", S_GEMM},              /* a barrier is removed */
    {"(row < =>(row < 1 + ", S_SOFTMAX}, /* a bound */
    {"item < =>item < 1 + ", S_COPY},
    {"(place_t)=>1 + (place_t)", S_POOL}, /* a stride */
    {"(float)=>(float)(i8)", S_EWISE},    /* a type */
    {"SHUFFLE(acc, 16)=>acc", S_REDUCE},  /* half of a warp is left out */
    {"SYNC();=>;", S_ROWS},
    {"(j < =>(j < 1 + ", S_ROWS},
};
static void planted_faults_are_noticed(void **state) {
    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        Found found = {0};
        setenv("ISOMER_PLANT", faults[f].plant, 1);
        const bool noticed = !check_many(faults[f].kind, 60, &found);
        unsetenv("ISOMER_PLANT");
        if (!noticed) fail_msg("nothing notices %s", faults[f].plant);
    }
    print_message("%d planted faults\n", (int)(sizeof faults / sizeof *faults));
}

/* ---- failures */
static void failures_to_open_are_said(void **state) {
    static const char *const behaviour[] = {"no-driver", "no-device", "old-driver"};
    static const char *const reason[] = {"there is no NVIDIA driver",
                                         "no GPU can be used: no CUDA-",
                                         "CUDA 12.4: install driver 580 or later"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        char why[300] = "";
        assert_null(open_host(behaviour[k], why, sizeof why));
        if (!strstr(why, reason[k])) fail_msg("%s: %s", behaviour[k], why);
    }
}
/* Times measured in one arithmetic must not be used for another. */
static void arithmetic_is_a_part_of_the_identity(void **state) {
    static const char *const name[] = {"fp32", "tf32", "fp16"};
    (void)state;
    setenv("ISOMER_HOST", "", 1);
    for (int k = 0; k < 3; k++) {
        char text[512] = "", why[300] = "", words[360];
        snprintf(words, sizeof words, "%s%s%s", options, k ? "," : "", k ? name[k] : "");
        Device *d = host->open(words, why, sizeof why);
        if (!d) fail_msg("%s", why);
        assert_int_equal(host->identity(d, text, sizeof text), 0);
        for (int j = 0; j < 3; j++) {
            char part[20];
            snprintf(part, sizeof part, ", %s,", name[j]);
            assert_int_equal(strstr(text, part) != NULL, j == k);
        }
        host->close(d);
    }
}
static void options_are_checked(void **state) {
    static const char *const bad[] = {"fast",     "tf32=1",       "device=9",
                                      "device=x", "workspace=-1", "cache="};
    (void)state;
    setenv("ISOMER_HOST", "", 1);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char why[300] = "";
        assert_null(host->open(bad[k], why, sizeof why));
        assert_true(*why != 0);
    }
}

static void missing_libraries_are_said(void **state) {
    char why[400] = "";
    (void)state;
    setenv("ISOMER_HOST", "", 1);
    assert_null(nvrtc->open("lib=/nowhere", why, sizeof why));
    assert_non_null(strstr(why, "libnvrtc.so.13 is missing below /nowhere: pip install nvidia-cuda-"
                                "nvrtc, or name its folder with lib=DIR"));
}

static Kernel *compile_sum(Device *d) { /* y = x + x with 4 floats */
    static const View v[] = {{.slot = 0, .dtype = 1, .rank = 1, .dim = {4}, .stride = {1}},
                             {.slot = 1, .dtype = 1, .rank = 1, .dim = {4}, .stride = {1}}};
    static const Scalar code[] = {{.op = C_VIEW, .a = 1}, {.op = C_ADD, .a = 0, .b = 0}};
    const Step s = {.kind = S_EWISE, .nview = 2, .view = v, .code = code, .ncode = 2};
    char why[300] = "";
    size_t room;
    Kernel *k = host->compile(d, &s, 0, NULL, &room, NULL, why, sizeof why);
    if (!k) fail_msg("%s", why);
    return k;
}
static void failures_to_run_are_errors(void **state) {
    (void)state;
    Device *d = open_good();
    float y[4], x[4] = {1, 2, 3, 4};
    Kernel *k = compile_sum(d);
    void *slot[] = {host->alloc(d, sizeof y), host->alloc(d, sizeof x)};
    double ns = -1;
    host->copy(d, slot[1], x, sizeof x, COPY_TO_DEVICE);
    assert_int_equal(host->run(k, slot, NULL), 0);
    assert_int_equal(host->wait(d, &ns), 0);
    assert_true(ns >= 0);
    assert_int_equal(host->copy(d, y, slot[0], sizeof y, COPY_TO_HOST), 0);
    for (int i = 0; i < 4; i++) assert_true(y[i] == 2 * x[i]);
    setenv("ISOMER_HOST", "no-memory", 1);
    assert_null(host->alloc(d, 4));
    assert_null(host->hold(d, x, sizeof x));
    setenv("ISOMER_HOST", "no-launch", 1);
    assert_true(host->run(k, slot, NULL) < 0);
    setenv("ISOMER_HOST", "fault", 1);
    assert_true(host->wait(d, NULL) < 0);
    setenv("ISOMER_HOST", "", 1); /* a device that failed once stays failed */
    assert_true(host->run(k, slot, NULL) < 0);
    assert_true(host->wait(d, NULL) < 0);
    assert_null(host->alloc(d, 4));
    for (int i = 0; i < 2; i++) host->release(d, slot[i]);
    host->forget(k);
    host->close(d);
}
/* The back end has no algorithm for 8-bit integers with a zero point and must not treat such steps
   as if they had none. */
static void zero_points_are_refused(void **state) {
    (void)state;
    Device *d = open_good();
    View v[] = {view_dense(0, DT_INT32, 2, (const int64_t[]){4, 6}),
                view_dense(1, DT_UINT8, 2, (const int64_t[]){4, 8}),
                view_dense(2, DT_INT8, 2, (const int64_t[]){8, 6})};
    const int64_t zero = 3, conv[] = {1, 1, 0, 0, 1, 3};
    const Step product = {.kind = S_GEMM, .nview = 3, .nparam = 1, .view = v, .param = &zero};
    assert_int_equal(host->choices(d, &product), 0);
    v[0] = view_dense(0, DT_INT32, 3, (const int64_t[]){1, 6, 9});
    v[1] = view_dense(1, DT_UINT8, 3, (const int64_t[]){1, 8, 9});
    v[2] = view_dense(2, DT_INT8, 3, (const int64_t[]){6, 8, 1});
    const Step window = {.kind = S_CONV, .nview = 3, .nparam = 6, .view = v, .param = conv};
    assert_int_equal(host->choices(d, &window), 0);
    host->close(d);
}
static void equal_constants_are_held_once(void **state) {
    (void)state;
    Device *d = open_good();
    const char a[] = "weights", b[] = "weights", c[] = "weighty";
    void *one = host->hold(d, a, sizeof a), *two = host->hold(d, b, sizeof b),
         *other = host->hold(d, c, sizeof c);
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, other);
    host->drop(d, one);
    assert_string_equal(two, "weights");
    host->drop(d, two);
    host->drop(d, other);
    host->drop(d, NULL);
    host->close(d);
}
/* The second compilation finds the kernel in its cache: no compiler is on the PATH. */
static void kernels_are_kept(void **state) {
    (void)state;
    const char *const path = getenv("PATH");
    char *kept = strdup(path ? path : "");
    Device *d = open_good();
    host->forget(compile_sum(d));
    setenv("PATH", "/nowhere", 1);
    host->forget(compile_sum(d));
    setenv("PATH", kept, 1);
    free(kept);
    host->close(d);
}

/* ---- NVRTC compiles every kernel without spills, for several GPUs and one that NVRTC does not
   know */
static int compile_all(Case *c, Device *d, char *why, size_t n) {
    const int algorithms = nvrtc->choices(d, &c->step);
    size_t room;
    for (int k = 0; k < algorithms; k++) {
        const void *weights[SLOTS] = {NULL};
        Kernel *kernel = nvrtc->compile(d, &c->step, k, weights, &room, NULL, why, n);
        if (!kernel) return -1;
        nvrtc->forget(kernel);
    }
    return algorithms;
}
static void nvrtc_takes_every_kernel(void **state) {
    static const char *const gpu[] = {"sm_90", "sm_80", "sm_100", "sm_120", "sm_990"};
    const int kinds[] = {S_COPY, S_EWISE, S_REDUCE, S_SOFTMAX, S_POOL,
                         S_GEMM, S_CONV,  S_FILL,   S_ROWS};
    char kernels[300], unspilt[340];
    (void)state;
    int compiled = 0;
    plugin_path("unspilt", kernels, sizeof kernels);
    snprintf(unspilt, sizeof unspilt, "cache=%s,spills=refuse", kernels);
    for (size_t g = 0; g < sizeof gpu / sizeof *gpu; g++) {
        char why[1000] = "";
        setenv("ISOMER_HOST", gpu[g], 1);
        Device *d = nvrtc->open(unspilt, why, sizeof why);
        if (!d) {
            print_message("NVRTC is missing: %s\n", why);
            skip();
        }
        const uint64_t count = getenv("ISOMER_HEAVY") ? 30 : g == 0 ? 2 : 1;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            for (uint64_t seed = 0; seed < count; seed++) {
                Case c;
                case_start(&c, seed, (StepKind)kinds[k]);
                const int n = compile_all(&c, d, why, sizeof why);
                if (n < 0) fail_msg("%s: %s", gpu[g], why);
                compiled += n;
                case_end(&c);
            }
        nvrtc->close(d);
    }
    assert_true(compiled >= (int)(sizeof kinds / sizeof *kinds));
}

static int host_algorithms(const Step *s) {
    Device *d = open_good();
    const int n = host->choices(d, s);
    host->close(d);
    return n;
}
/* ---- cuDNN has exact plans for convolutions of floats, on a GPU known from its description */
static int ways_of(Device *d, const Step *s, char *why, size_t n) {
    const int algorithms = dnn->choices(d, s);
    for (int k = 0; k < algorithms; k++) {
        const void *weights[SLOTS] = {NULL};
        size_t room;
        Kernel *kernel = dnn->compile(d, s, k, weights, &room, NULL, why, n);
        if (!kernel) fail_msg("algorithm %d: %s", k, why);
        assert_true(room <= (size_t)256 << 20);
        dnn->forget(kernel);
    }
    return algorithms;
}
static View image(int slot, int64_t n, int64_t c, int64_t h, int64_t w) {
    return (View){.slot = slot,
                  .dtype = 1,
                  .rank = 4,
                  .dim = {n, c, h, w},
                  .stride = {c * h * w, h * w, w, 1}};
}
static void cudnn_has_exact_plans(void **state) {
    char text[400], why[400] = "";
    (void)state;
    snprintf(text, sizeof text, "describe=test/cuda/h100.json,%s", options);
    setenv("ISOMER_HOST", "sm_90", 1);
    Device *d = dnn->open(text, why, sizeof why);
    if (!d) {
        print_message("cuDNN is not tried: %s\n", why);
        skip();
    }
    View v[] = {image(0, 1, 64, 56, 56), image(1, 1, 64, 56, 56), image(2, 64, 64, 3, 3),
                image(3, 1, 64, 56, 56), image(4, 1, 64, 56, 56)};
    for (int a = 0; a < 4; a++) v[3].stride[a] = a == 1;
    const int64_t param[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const Scalar code[] = {
        {.op = C_ACC},          {.op = C_VIEW, .a = 3},        {.op = C_ADD, .a = 0, .b = 1},
        {.op = C_VIEW, .a = 4}, {.op = C_ADD, .a = 2, .b = 3}, {.op = C_RELU, .a = 4}};
    Step s = {.kind = S_CONV, .nview = 5, .nparam = 9, .view = v, .param = param, .code = code};
    const int generated = host_algorithms(&s);
    setenv("ISOMER_HOST", "sm_90", 1);
    const int plain = ways_of(d, &s, why, sizeof why);
    assert_true(plain > generated);
    static const int length[] = {3, 5, 6}; /* the bias; the sum with another tensor; relu */
    for (int k = 0; k < 3; k++) {
        s.ncode = length[k];
        const int fused = ways_of(d, &s, why, sizeof why);
        if (fused <= plain) fail_msg("no plan has a program of %d steps in it", s.ncode);
    }
    s.ncode = 0;
    snprintf(text, sizeof text, "describe=test/cuda/h100.json,tf32,%s", options);
    Device *faster = dnn->open(text, why, sizeof why);
    assert_non_null(faster);
    assert_true(ways_of(faster, &s, why, sizeof why) >= plain);
    dnn->close(faster);
    v[0].dtype = v[1].dtype = v[2].dtype = 11; /* cuDNN is not used for doubles */
    assert_int_equal(ways_of(d, &s, why, sizeof why), generated);
    dnn->close(d);
}

static const Backend *open_plugin(const char *name) {
    char path[300];
    Error e = {0};
    plugin_path(name, path, sizeof path);
    const Backend *b = backend_open(path, &e);
    if (!b) fprintf(stderr, "%s\n", e.reason);
    return b;
}
static int setup(void **state) {
    char kernels[280];
    (void)state;
    plugin_path("kernels", kernels, sizeof kernels);
    snprintf(options, sizeof options, "cache=%s", kernels);
    host = open_plugin("isomer-host.so");
    nvrtc = open_plugin("isomer-nvrtc.so");
    dnn = open_plugin("isomer-dnn.so");
    return host && nvrtc && dnn ? 0 : -1;
}
static void nothing_to_test(void **state) {
    (void)state;
    print_message("CUDA's headers are missing: the back end for GPUs is not built\n");
    skip();
}

int main(void) {
    enum { OTHERS = 12 };
    struct CMUnitTest tests[OTHERS + CONFORMANCE_KINDS] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(arithmetic_is_a_part_of_the_identity),
        cmocka_unit_test(failures_to_open_are_said),
        cmocka_unit_test(missing_libraries_are_said),
        cmocka_unit_test(failures_to_run_are_errors),
        cmocka_unit_test(zero_points_are_refused),
        cmocka_unit_test(equal_constants_are_held_once),
        cmocka_unit_test(kernels_are_kept),
        cmocka_unit_test(products_of_parts_do_not_overflow),
        cmocka_unit_test(planted_faults_are_noticed),
        cmocka_unit_test(nvrtc_takes_every_kernel),
        cmocka_unit_test(cudnn_has_exact_plans),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(nothing_to_test)};
    char path[300];
    plugin_path("isomer-host.so", path, sizeof path);
    if (access(path, F_OK)) return cmocka_run_group_tests(none, NULL, NULL);
    for (int k = 0; k < CONFORMANCE_KINDS; k++)
        tests[OTHERS + k] = (struct CMUnitTest){.name = conformance_kinds[k].name,
                                                .test_func = steps_agree,
                                                .initial_state = (void *)&conformance_kinds[k]};
    return cmocka_run_group_tests(tests, setup, NULL);
}
