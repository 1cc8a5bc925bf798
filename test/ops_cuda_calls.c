/* ops_cuda_calls.c -- tests how the back end for GPUs calls the driver and cuBLASLt, without a GPU:
   stand-ins refuse what the real functions refuse (test/cuda/host_driver.c, host_cublaslt.c).
   Products by cuBLASLt must agree with the reference and use exact algorithms only. Calls must come
   at the right time, from threads that have the context, and with aligned memory. The tests are
   skipped where CUDA's headers are missing. */
#include "graphs/plan/profile.h"
#include "ops/backend/view.h"
#include "test/shared/step_cases.h"
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

static const Backend *host, *lt;
static char options[320], lt_path[300];

static void plugin_path(const char *name, char path[], size_t n) {
    const char *build = getenv("BUILD");
    snprintf(path, n, "%s/test/cuda/%s", build ? build : "build", name);
}
static Device *open_as(const Backend *b, const char *behaviour, const char *words) {
    char why[300] = "", all[400];
    setenv("ISOMER_HOST", behaviour, 1);
    snprintf(all, sizeof all, "%s%s%s", options, *words ? "," : "", words);
    Device *d = b->open(all, why, sizeof why);
    if (!d) fail_msg("%s", why);
    return d;
}

/* ---- cuBLASLt */
static Step product_step(View v[], int m, int n, int k) {
    v[0] = view_dense(0, DT_FLOAT, 2, (const int64_t[]){m, n});
    v[1] = view_dense(1, DT_FLOAT, 2, (const int64_t[]){m, k});
    v[2] = view_dense(2, DT_FLOAT, 2, (const int64_t[]){k, n});
    return (Step){.kind = S_GEMM, .nview = 3, .view = v};
}
/* The number of a product's algorithms that come from cuBLASLt. */
static int library_products(const char *behaviour, const char *words) {
    View v[3];
    const Step s = product_step(v, 6, 8, 5);
    Device *d = open_as(lt, behaviour, words);
    const int n = lt->choices(d, &s);
    v[0].dtype = v[1].dtype = v[2].dtype = DT_DOUBLE; /* doubles have generated kernels only */
    const int generated = lt->choices(d, &s);
    lt->close(d);
    return n - generated;
}
static void only_exact_products_are_taken(void **state) {
    (void)state;
    assert_int_equal(library_products("", ""), 1);
    assert_int_equal(library_products("mask-ignored", ""), 1);
    assert_int_equal(library_products("mask-unknown", ""), 1);
    assert_int_equal(library_products("silent", ""), 1);
    assert_int_equal(library_products("silent,mask-unknown", ""), 0);
    assert_int_equal(library_products("", "tf32"), 2);
    assert_int_equal(library_products("", "workspace=0"), 0);
}
static void check_product(Case *c, Device *d, int algorithm) {
    int64_t count;
    char text[200] = "", what[1500];
    Num *want = ref_run(&c->step, c->slot, &count);
    if (!case_run(c, lt, d, algorithm, 0)) snprintf(text, sizeof text, "it is refused");
    else case_compare(c, want, count, text, sizeof text);
    case_describe(c, what, sizeof what);
    if (*text) fail_msg("algorithm %d: %s: %s", algorithm, text, what);
    free(want);
}
/* Compares random products of floats; other types have no algorithm from the library. Each epilogue
   must occur. */
static void products_agree(void **state) {
    (void)state;
    Device *d = open_as(lt, "", "");
    void *plugin = dlopen(lt_path, RTLD_NOW | RTLD_NOLOAD);
    const int *products = plugin ? dlsym(plugin, "host_products") : NULL;
    const uint64_t count = getenv("ISOMER_HEAVY") ? 2000 : 400;
    assert_non_null(products);
    for (uint64_t seed = 0; seed < count; seed++) {
        Case c;
        case_start(&c, seed, S_GEMM);
        if (c.view[0].dtype == DT_FLOAT && lt->choices(d, &c.step) > 0) check_product(&c, d, 0);
        case_end(&c);
    }
    static const int epilogue[] = {1, 2, 4, 6}; /* none, relu, a bias, both */
    for (int k = 0; k < 4; k++)
        if (!products[epilogue[k]]) fail_msg("no product had epilogue %d", epilogue[k]);
    lt->close(d);
    dlclose(plugin);
}
/* Computes y = relu(a b + bias) by algorithm 0, with a bias that begins at this element of its
   slot, and returns the last element. */
static float run_biased(Device *d, int64_t offset) {
    enum { M = 4, N = 8, K = 4, ROOM = 64 };
    View v[4];
    Step s = product_step(v, M, N, K);
    v[3] = view_dense(3, DT_FLOAT, 2, (const int64_t[]){M, N});
    v[3].stride[0] = 0, v[3].offset = offset;
    const Scalar code[] = {{.op = C_ACC},
                           {.op = C_VIEW, .a = 3},
                           {.op = C_ADD, .a = 0, .b = 1},
                           {.op = C_RELU, .a = 2}};
    s.nview = 4, s.code = code, s.ncode = 4;
    float one[ROOM], y[M * N];
    void *slot[4];
    char why[300] = "";
    size_t room;
    for (int k = 0; k < ROOM; k++) one[k] = 1;
    for (int k = 0; k < 4; k++) {
        slot[k] = lt->alloc(d, sizeof one);
        assert_int_equal(lt->copy(d, slot[k], one, sizeof one, COPY_TO_DEVICE), 0);
    }
    Kernel *k = lt->compile(d, &s, 0, NULL, &room, NULL, why, sizeof why);
    if (!k) fail_msg("%s", why);
    void *work = lt->alloc(d, room + 1);
    if (lt->run(k, slot, work)) fail_msg("%s", lt->failure(d));
    assert_int_equal(lt->copy(d, y, slot[0], sizeof y, COPY_TO_HOST), 0);
    lt->forget(k);
    lt->release(d, work);
    for (int j = 0; j < 4; j++) lt->release(d, slot[j]);
    return y[M * N - 1];
}
static void a_bias_lies_anywhere(void **state) {
    static const int64_t offset[] = {0, 4, 1, 3};
    (void)state;
    for (int k = 0; k < 4; k++) {
        Device *d = open_as(lt, "", "");
        assert_true(run_biased(d, offset[k]) == 5);
        lt->close(d);
        d = open_as(lt, "sm_75", "");
        assert_true(run_biased(d, offset[k]) == 5);
        lt->close(d);
    }
}
static void a_library_that_does_not_start_says_why(void **state) {
    char why[300] = "";
    (void)state;
    setenv("ISOMER_HOST", "no-lt", 1);
    assert_null(lt->open(options, why, sizeof why));
    assert_string_equal(why, "cuBLASLt does not start on this GPU: not initialized");
}

/* ---- the driver */
typedef struct Sum {
    Device *device;
    Kernel *kernel;
    void *slot[2];
} Sum;
static void sum_start(Sum *s, Device *d) { /* y = x + x with 4 floats */
    static const View v[] = {{.slot = 0, .dtype = 1, .rank = 1, .dim = {4}, .stride = {1}},
                             {.slot = 1, .dtype = 1, .rank = 1, .dim = {4}, .stride = {1}}};
    static const Scalar code[] = {{.op = C_VIEW, .a = 1}, {.op = C_ADD, .a = 0, .b = 0}};
    static const float x[4] = {1, 2, 3, 4};
    const Step step = {.kind = S_EWISE, .nview = 2, .view = v, .code = code, .ncode = 2};
    char why[300] = "";
    size_t room;
    *s = (Sum){.device = d,
               .kernel = host->compile(d, &step, 0, NULL, &room, NULL, why, sizeof why)};
    if (!s->kernel) fail_msg("%s", why);
    for (int k = 0; k < 2; k++) s->slot[k] = host->alloc(d, 64);
    assert_int_equal(host->copy(d, s->slot[1], x, sizeof x, COPY_TO_DEVICE), 0);
}
static void sum_end(Sum *s) {
    for (int k = 0; k < 2; k++) host->release(s->device, s->slot[k]);
    host->forget(s->kernel);
}
static bool sum_right(const Sum *s) {
    float y[4] = {0};
    return !host->copy(s->device, y, s->slot[0], sizeof y, COPY_TO_HOST) && y[3] == 8;
}

static void *use_elsewhere(void *device) { /* in a thread that has no context of its own */
    Device *d = device;
    View v[3];
    const Step s = product_step(v, 2, 2, 2);
    char why[300] = "";
    size_t room;
    float one[4] = {1, 1, 1, 1}, y[4] = {0};
    Kernel *k = lt->compile(d, &s, 0, NULL, &room, NULL, why, sizeof why); /* by cuBLASLt */
    void *slot[3], *work = lt->alloc(d, 1024);
    for (int j = 0; j < 3; j++) {
        slot[j] = lt->alloc(d, 64);
        lt->copy(d, slot[j], one, sizeof one, COPY_TO_DEVICE);
    }
    const bool done = k && !lt->run(k, slot, work) && !lt->wait(d, NULL) &&
                      !lt->copy(d, y, slot[0], sizeof y, COPY_TO_HOST) && y[3] == 2;
    if (k) lt->forget(k);
    for (int j = 0; j < 3; j++) lt->release(d, slot[j]);
    lt->release(d, work);
    return done ? device : NULL;
}
static void another_thread_may_use_a_device(void **state) {
    (void)state;
    Device *d = open_as(lt, "", "");
    for (int k = 0; k < 2; k++) { /* the second time, the number of algorithms is already known */
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, use_elsewhere, d), 0);
        pthread_join(thread, &result);
        assert_ptr_equal(result, d);
    }
    lt->close(d);
}

static void kernels_run_before_they_are_recorded(void **state) {
    (void)state;
    for (int before = 0; before < 2; before++) {
        Device *d = open_as(host, "", "");
        Sum s;
        char why[300] = "";
        sum_start(&s, d);
        if (before) assert_int_equal(host->run(s.kernel, s.slot, NULL), 0);
        assert_int_equal(host->record(d), 0);
        const int ran = host->run(s.kernel, s.slot, NULL);
        Kernel *all = host->recorded(d, why, sizeof why);
        assert_int_equal(ran == 0 && all, before);
        if (all) assert_int_equal(host->run(all, s.slot, NULL), 0), host->forget(all);
        else assert_int_equal(host->run(s.kernel, s.slot, NULL), 0); /* no harm is done */
        assert_true(sum_right(&s));
        sum_end(&s);
        host->close(d);
    }
}
static int recordings;
static Kernel *count_recorded(Device *d, char *why, size_t n) {
    Kernel *k = host->recorded(d, why, n);
    recordings += k != NULL;
    return k;
}
/* Timing records several copies of a step with different weights; each copy must have run
   before. */
static void profiles_record_what_has_run(void **state) {
    (void)state;
    Backend counting = *host;
    counting.recorded = count_recorded;
    Device *d = open_as(host, "", "");
    const View v[] = {view_dense(0, DT_FLOAT, 1, (const int64_t[]){4}),
                      view_dense(1, DT_FLOAT, 1, (const int64_t[]){4})};
    const Scalar code[] = {{.op = C_VIEW, .a = 1}, {.op = C_ADD, .a = 0, .b = 0}};
    const Step s = {.kind = S_EWISE, .nview = 2, .view = v, .code = code, .ncode = 2};
    const bool known[2] = {false, true};
    Error e = {0};
    recordings = 0;
    assert_true(profile_step(&(StepTiming){.backend = &counting,
                                           .device = d,
                                           .step = &s,
                                           .known = known,
                                           .copies = 8,
                                           .seed = 1,
                                           .give_up_seconds = 1e9},
                             &e) > 0);
    assert_true(recordings > 0);
    host->close(d);
}
static void memory_is_not_taken_in_a_recording(void **state) {
    (void)state;
    Device *d = open_as(host, "", "");
    Sum s;
    char why[300] = "";
    sum_start(&s, d);
    assert_int_equal(host->run(s.kernel, s.slot, NULL), 0);
    assert_int_equal(host->record(d), 0);
    assert_null(host->alloc(d, 64));
    assert_null(host->recorded(d, why, sizeof why));
    assert_true(*why != 0);
    sum_end(&s);
    host->close(d);
}
/* A vector access at an unaligned place fails the launch, as it would end the context on a GPU. */
static void misaligned_vectors_are_noticed(void **state) {
    (void)state;
    setenv("ISOMER_PLANT", "(v1 + =>(v1 + 1 + ", 1);
    Device *d = open_as(host, "", "");
    Sum s;
    sum_start(&s, d);
    assert_true(host->run(s.kernel, s.slot, NULL) < 0);
    assert_non_null(strstr(host->failure(d), "cuLaunchKernel: "));
    sum_end(&s);
    host->close(d);
    unsetenv("ISOMER_PLANT");
}
static void times_that_were_not_taken_are_errors(void **state) {
    double ns;
    (void)state;
    Device *d = open_as(host, "", "");
    assert_int_equal(host->mark(d, 0), 0);
    assert_int_equal(host->wait(d, NULL), 0);
    assert_int_equal(host->elapsed(d, 0, 0, &ns), 0);
    assert_int_equal(host->elapsed(d, 0, 1, &ns), -1);
    assert_non_null(strstr(host->failure(d), "cuEventElapsedTime: "));
    host->close(d);
}
/* After a fault, everything fails until all devices of the process are closed; the first reason is
   kept. */
static void a_fault_ends_what_shares_the_context(void **state) {
    (void)state;
    Device *d = open_as(host, "", ""), *other = open_as(host, "", "");
    Sum s;
    sum_start(&s, d);
    setenv("ISOMER_HOST", "fault", 1);
    assert_true(host->copy(d, s.slot[0], s.slot[1], 16, COPY_ON_DEVICE) < 0);
    setenv("ISOMER_HOST", "", 1);
    assert_true(host->run(s.kernel, s.slot, NULL) < 0);
    assert_int_equal(host->choices(d, &(Step){.kind = S_OP}), 0);
    assert_string_equal(host->failure(d), "a kernel or a copy: failed on the host");
    assert_null(host->alloc(other, 64));
    assert_string_equal(host->failure(other), "cuMemAlloc: failed on the host");
    sum_end(&s);
    host->close(d);
    host->close(other);
    d = open_as(host, "", "");
    sum_start(&s, d);
    assert_int_equal(host->run(s.kernel, s.slot, NULL), 0);
    assert_true(sum_right(&s));
    sum_end(&s);
    host->close(d);
}

/* The kernel needs memory on the device for its table. */
static void a_lack_of_memory_is_told(void **state) {
    static const View v[] = {{.slot = 0, .dtype = 1, .rank = 1, .dim = {2}, .stride = {1}},
                             {.slot = 1, .dtype = 1, .rank = 1, .dim = {4}, .stride = {1}}};
    static const double one = 1;
    int64_t word[] = {1, 3, 0, 1, 0}; /* y[0] = x[3], y[1] = x[1] */
    (void)state;
    memcpy(&word[2], &one, sizeof one), memcpy(&word[4], &one, sizeof one);
    Step s = {.kind = S_SAMPLE, .nview = 2, .view = v, .param = word, .nparam = 5};
    for (int lacks = 0; lacks < 2; lacks++) {
        CompileFailure failure = lacks ? COMPILE_REFUSED : COMPILE_NO_MEMORY;
        char why[300] = "";
        size_t room;
        Device *d = open_as(host, "", "");
        setenv("ISOMER_HOST", lacks ? "no-memory" : "", 1);
        s.kind = lacks ? S_SAMPLE : STEP_KIND_COUNT;
        assert_null(host->compile(d, &s, 0, NULL, &room, &failure, why, sizeof why));
        assert_int_equal(failure, lacks ? COMPILE_NO_MEMORY : COMPILE_REFUSED);
        host->close(d);
    }
    setenv("ISOMER_HOST", "", 1);
}

static int setup(void **state) {
    Error e = {0};
    char path[300];
    (void)state;
    plugin_path("kernels", path, sizeof path);
    snprintf(options, sizeof options, "cache=%s", path);
    plugin_path("isomer-host.so", path, sizeof path);
    host = backend_open(path, &e);
    plugin_path("isomer-lt.so", lt_path, sizeof lt_path);
    lt = backend_open(lt_path, &e);
    if (*e.reason) fprintf(stderr, "%s\n", e.reason);
    return host && lt ? 0 : -1;
}
static void nothing_to_test(void **state) {
    (void)state;
    print_message("CUDA's headers are missing: the back end for GPUs is not built\n");
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_exact_products_are_taken),
        cmocka_unit_test(products_agree),
        cmocka_unit_test(a_bias_lies_anywhere),
        cmocka_unit_test(a_library_that_does_not_start_says_why),
        cmocka_unit_test(another_thread_may_use_a_device),
        cmocka_unit_test(kernels_run_before_they_are_recorded),
        cmocka_unit_test(profiles_record_what_has_run),
        cmocka_unit_test(memory_is_not_taken_in_a_recording),
        cmocka_unit_test(misaligned_vectors_are_noticed),
        cmocka_unit_test(times_that_were_not_taken_are_errors),
        cmocka_unit_test(a_fault_ends_what_shares_the_context),
        cmocka_unit_test(a_lack_of_memory_is_told),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(nothing_to_test)};
    char path[300];
    plugin_path("isomer-host.so", path, sizeof path);
    if (access(path, F_OK)) return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, setup, NULL);
}
