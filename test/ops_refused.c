/* ops_refused.c -- tests steps that the CPU back end must refuse, so that no kernel reads or writes
   outside its views. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ops/backend/backend.h"
#include "ops/core/type.h"
#include "ops/backend/view.h"
#include "ops/base/arena.h"

static const Backend *cpu;
static Device *device;

/* One size of one view of a product or a convolution is increased by one, so that sizes no longer
   match. */
static void sizes_that_do_not_fit_are_no_choice(void **state) {
    (void)state;
    static const int64_t param[] = {1, 1, 1, 0, 0, 0, 0, 1, 1};
    View gemm[] = {view_dense(0, DT_FLOAT, 3, (const int64_t[]){2, 3, 4}),
                   view_dense(1, DT_FLOAT, 3, (const int64_t[]){2, 3, 5}),
                   view_dense(2, DT_FLOAT, 3, (const int64_t[]){2, 5, 4})},
         conv[] = {view_dense(0, DT_FLOAT, 4, (const int64_t[]){2, 3, 4, 4}),
                   view_dense(1, DT_FLOAT, 4, (const int64_t[]){2, 5, 4, 4}),
                   view_dense(2, DT_FLOAT, 4, (const int64_t[]){3, 5, 1, 1})};
    const Step steps[] = {{.kind = S_GEMM, .nview = 3, .view = gemm},
                          {.kind = S_CONV, .nview = 3, .view = conv, .param = param, .nparam = 9}};
    for (int k = 0; k < 2; k++) {
        View *v = k ? conv : gemm;
        assert_true(cpu->choices(device, &steps[k]) > 0);
        for (int i = 0; i < 3; i++) {
            for (int a = 0; a < (k ? 2 : 3); a++) {
                v[i].dim[a]++;
                assert_int_equal(cpu->choices(device, &steps[k]), 0);
                v[i].dim[a]--;
            }
            v[i].rank--;
            assert_int_equal(cpu->choices(device, &steps[k]), 0);
            v[i].rank++;
        }
    }
}

static void nonsense_is_no_choice(void **state) {
    (void)state;
    View v[2] = {{.dtype = DT_FLOAT, .rank = 1, .dim = {3}, .stride = {1}},
                 {.slot = 1, .dtype = DT_FLOAT, .rank = 1, .dim = {3}, .stride = {1}}};
    Step s = {.kind = STEP_KIND_COUNT, .nview = 2, .view = v};
    size_t room;
    char why[100];
    assert_int_equal(cpu->choices(device, &s), 0);
    assert_null(cpu->compile(device, &s, 0, NULL, &room, NULL, why, sizeof why));
    assert_true(why[0] != 0);
    s.kind = S_COPY;
    assert_int_equal(cpu->choices(device, &s), 1);
    assert_null(cpu->compile(device, &s, 1, NULL, &room, NULL, why, sizeof why));
    v[1].format = 1;
    assert_int_equal(cpu->choices(device, &s), 0);
    v[1].format = 0, v[1].dtype = DT_STRING;
    assert_int_equal(cpu->choices(device, &s), 0);
    const Scalar code[] = {{.op = C_VIEW, .a = 7}, {.op = C_NEG, .a = 1}};
    s.kind = S_EWISE, s.code = code, s.ncode = 1, v[1].dtype = DT_FLOAT;
    assert_null(cpu->compile(device, &s, 0, NULL, &room, NULL, why, sizeof why));
    s.code = code + 1;
    assert_null(cpu->compile(device, &s, 0, NULL, &room, NULL, why, sizeof why));
}

/* Every allocation of a compilation fails once, for each algorithm: the failure is known to be a
   lack of memory, not a refusal of the step for good. */
static void a_lack_of_memory_is_told(void **state) {
    (void)state;
    enum { N = 64 };
    static float weights[N * N], kernel[N * N * 9];
    static const int64_t window[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const View gemm[] = {view_dense(0, DT_FLOAT, 2, (const int64_t[]){40, N}),
                         view_dense(1, DT_FLOAT, 2, (const int64_t[]){40, N}),
                         view_dense(2, DT_FLOAT, 2, (const int64_t[]){N, N})},
               conv[] = {view_dense(0, DT_FLOAT, 4, (const int64_t[]){1, N, 12, 12}),
                         view_dense(1, DT_FLOAT, 4, (const int64_t[]){1, N, 12, 12}),
                         view_dense(2, DT_FLOAT, 4, (const int64_t[]){N, N, 3, 3})};
    const Step steps[] = {{.kind = S_GEMM, .nview = 3, .view = gemm},
                          {.kind = S_CONV, .nview = 3, .view = conv, .param = window, .nparam = 9}};
    int refused = 0;
    for (int i = 0; i < N * N; i++) weights[i] = (float)(i * 7919 % 1009) / 1009;
    for (int i = 0; i < N * N * 9; i++) kernel[i] = (float)(i * 7919 % 1009) / 1009;
    for (int k = 0; k < 2; k++)
        for (int choice = 0; choice < cpu->choices(device, &steps[k]); choice++) {
            Kernel *made = NULL;
            for (int64_t n = 1; !made && n < 200; n++) {
                const void *const known[] = {NULL, NULL, k ? kernel : weights};
                CompileFailure failure = COMPILE_REFUSED;
                size_t room;
                char why[100];
                mem_fail_at(n);
                made = cpu->compile(device, &steps[k], choice, known, &room, &failure, why,
                                    sizeof why);
                mem_fail_at(0);
                if (made) cpu->forget(made);
                else if (failure != COMPILE_NO_MEMORY)
                    fail_msg("step %d, algorithm %d, allocation %d: %s", k, choice, (int)n, why);
                refused += !made;
            }
            assert_non_null(made);
        }
    assert_true(refused > 10);
}

static int setup(void **state) {
    (void)state;
    cpu = backend_open("cpu", NULL);
    device = cpu->open("", NULL, 0);
    return device ? 0 : -1;
}
static int teardown(void **state) {
    (void)state;
    cpu->close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_do_not_fit_are_no_choice),
        cmocka_unit_test(nonsense_is_no_choice),
        cmocka_unit_test(a_lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
