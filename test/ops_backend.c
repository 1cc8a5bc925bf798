/* ops_backend.c -- tests what every back end promises apart from ordinary results: options, memory,
   the floating-point mode, special values of element-wise programs and conversions, and running in
   place. */
#include "ops/backend/backend.h"
#include "ops/base/arena.h"
#include "ops/core/loop.h"
#include "ops/backend/view.h"
#include "ops/cpu/processor.h"
#include "test/shared/steps_reference.h"
#include <fenv.h>
#include <float.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <cmocka.h>

enum { MANY = 40 };
static const Backend *cpu;
static Device *devices[2]; /* the machine's best instruction sets; generic code */

/* ---- the device */
static void options_are_checked(void **state) {
    (void)state;
    char text[300];
    static const char *const bad[] = {"fast",      "blas=/no/such/library.so",
                                      "coretype",  "generic,speed=2",
                                      "threads=0", "threads=65",
                                      "threads=x", "grain=0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text[0] = 0;
        assert_null(cpu->open(bad[i], text, sizeof text));
        assert_true(text[0] != 0);
    }
    setenv("ISOMER_CPU", "generic", 1);
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    Device *d = cpu->open("coretype=Haswell", text, sizeof text);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "Nehalem");
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("ISOMER_CPU");
    assert_non_null(d);
    char threads[1000];
    memset(threads, '1', sizeof threads - 1), threads[sizeof threads - 1] = 0;
    setenv("OPENBLAS_NUM_THREADS", threads, 1);
    cpu->close(cpu->open("", NULL, 0));
    assert_string_equal(getenv("OPENBLAS_NUM_THREADS"), threads);
    unsetenv("OPENBLAS_NUM_THREADS");
    assert_int_equal(cpu->identity(d, text, sizeof text), 0);
    const char *build = strstr(text, "generic kernels ");
    assert_non_null(build);
    assert_int_equal(strspn(build + strlen("generic kernels "), "0123456789abcdef"), 12);
    assert_non_null(strstr(text, "OpenBLAS"));
    assert_non_null(strstr(text, "oneDNN"));
    assert_int_equal(cpu->identity(d, text, 5), -1);
    cpu->close(d);
}
static void memory_is_aligned(void **state) {
    (void)state;
    for (size_t n = 0; n < 300; n += 7) {
        char *p = cpu->alloc(devices[0], n);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, n);
        cpu->release(devices[0], p);
    }
    cpu->release(devices[0], NULL);
    assert_null(cpu->alloc(devices[0], SIZE_MAX));
}
static void equal_contents_are_held_once(void **state) {
    (void)state;
    char text[2][1000];
    memset(text, 7, sizeof text);
    char *a = cpu->hold(devices[0], text[0], sizeof *text),
         *b = cpu->hold(devices[0], text[1], sizeof *text);
    text[1][999] = 8;
    char *c = cpu->hold(devices[0], text[1], sizeof *text), *none = cpu->hold(devices[0], NULL, 0);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal((uintptr_t)a % 64 + (uintptr_t)c % 64 + (uintptr_t)none % 64, 0);
    cpu->drop(devices[0], a);
    memset(text[0], 9, sizeof *text);
    assert_int_equal(b[999], 7);
    assert_int_equal(c[999], 8);
    cpu->drop(devices[0], b);
    cpu->drop(devices[0], c);
    cpu->drop(devices[0], none);
    cpu->drop(devices[0], NULL);
}
/* Known weights are packed once for all kernels with the same weights; these kernels no longer read
   the weights. Kernels with other weights have packed weights of their own. */
static void known_weights_are_packed_once(void **state) {
    (void)state;
    enum { N = 64 };
    static float w[2][N * N], x[N], y[3][N];
    const int64_t dim[3][2] = {{1, N}, {1, N}, {N, N}};
    View v[3];
    size_t room, most = 0;
    char why[100];
    Kernel *k[3];
    for (int i = 0; i < 3; i++) v[i] = view_dense(i, DT_FLOAT, 2, dim[i]);
    for (int i = 0; i < N; i++) x[i] = (float)(i % 5);
    for (int i = 0; i < N * N; i++) w[0][i] = (float)(i % 7), w[1][i] = -w[0][i];
    for (int i = 0; i < 3; i++) {
        const void *weights[] = {NULL, NULL, w[i / 2]};
        k[i] = cpu->compile(devices[0], &(Step){.kind = S_GEMM, .nview = 3, .view = v}, 0, weights,
                            &room, NULL, why, sizeof why);
        assert_non_null(k[i]);
        assert_false(cpu->keeps_view(k[i], 1));
        if (room > most) most = room;
    }
    void *scratch = cpu->alloc(devices[0], most + 1);
    for (int i = 0; i < 3; i++) {
        const int packed = cpu->keeps_view(k[i], 2);
        assert_int_equal(cpu->run(k[i], (void *[]){y[i], x, packed ? NULL : w[i / 2]}, scratch), 0);
        if (i == 0) cpu->forget(k[i]);
    }
    for (int j = 0; j < N; j++) {
        float want = 0;
        for (int i = 0; i < N; i++) want += x[i] * w[0][i * N + j];
        assert_true(y[0][j] == want && y[1][j] == want && y[2][j] == -want);
    }
    for (int i = 1; i < 3; i++) cpu->forget(k[i]);
    cpu->release(devices[0], scratch);
}

/* ---- element-wise programs on chosen values */
static void run_step(Device *d, const Step *s, void *const slot[]) {
    size_t room = 0;
    char why[200] = "";
    Kernel *k = cpu->compile(d, s, 0, NULL, &room, NULL, why, sizeof why);
    if (!k) fail_msg("%s", why);
    void *work = cpu->alloc(d, room);
    assert_int_equal(cpu->run(k, slot, work), 0);
    double ns = -1;
    assert_int_equal(cpu->wait(d, &ns), 0);
    assert_true(ns >= 0);
    cpu->forget(k);
    cpu->release(d, work);
}
static View line(int slot, int dtype, int64_t n) {
    return (View){.slot = slot, .dtype = dtype, .rank = 1, .dim = {n}, .stride = {1}};
}

/* Runs y = op(a, b), where a and b have one type and y has the type `to` (DT_BOOL for
   comparisons). */
static void apply(Device *d, int op, int dtype, int to, void *y, void *a, void *b, int64_t n) {
    const View v[] = {line(0, to, n), line(1, dtype, n), line(2, dtype, n)};
    const Scalar code[] = {
        {.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = (uint8_t)op, .a = 0, .b = 1}};
    const Step s = {.kind = S_EWISE, .nview = 3, .view = v, .code = code, .ncode = 3};
    run_step(d, &s, (void *const[]){y, a, b});
}

static const float odd[] = {0.0f,  -0.0f,  1.0f,     -1.0f,     0.5f,    1.5f,     2.5f,
                            -2.5f, NAN,    INFINITY, -INFINITY, 3.4e38f, -3.4e38f, 1e-37f,
                            88.0f, -87.0f, 100.0f,   -110.0f,   1e-3f,   1e-8f,    0.625f,
                            12.0f, -9.0f,  0.3f,     7.0f,      -0.2f};
enum { ODD = sizeof odd / sizeof *odd };

/* Within some units in the last place, or both NaN. Numbers below the least normal one may be
   flushed to zero. */
static bool near_float(double want, float got, double ulp) {
    if (want != want || got != got) return want != want && got != got;
    if (fabs(want) < FLT_MIN * 2) return fabs((double)got) <= FLT_MIN * 2;
    if (fabs(want) > FLT_MAX) return isinf(got) && (got > 0) == (want > 0);
    return want == (double)got || fabs(want - (double)got) <= ulp * ldexp(1, ilogb(want) - 23);
}

static void operations_on_special_floats(void **state) {
    (void)state;
    float a[ODD * ODD], b[ODD * ODD], y[ODD * ODD];
    for (int i = 0; i < ODD * ODD; i++) a[i] = odd[i / ODD], b[i] = odd[i % ODD];
    for (int d = 0; d < 2; d++)
        for (int op = C_ADD; op < C_WHERE; op++) {
            if (op == C_MOD) continue; /* of floats it is x - floor(x/z) z, which rounds */
            apply(devices[d], op, DT_FLOAT, DT_FLOAT, y, a, b, ODD * ODD);
            const double ulp = op == C_POW || op >= C_EXP ? 4 : 1;
            for (int i = 0; i < ODD * ODD; i++) {
                const double want = ref_real(op, (double)a[i], (double)b[i]);
                if (!near_float(want, y[i], ulp))
                    fail_msg("op %d of %g, %g: %.9g instead of %.9g (device %d)", op, (double)a[i],
                             (double)b[i], (double)y[i], want, d);
            }
        }
}

/* The exponents 2 and 3 as constants of a program become products; other exponents do not. */
static void constant_powers_are_products(void **state) {
    (void)state;
    static const double exponents[] = {2, 3, 4, 0.5};
    float y[ODD], a[ODD];
    for (int d = 0; d < 2; d++)
        for (int e = 0; e < 4; e++) {
            const Scalar code[] = {{.op = C_VIEW, .a = 1},
                                   {.op = C_CONST, .k = exponents[e]},
                                   {.op = C_POW, .a = 0, .b = 1}};
            const View v[] = {line(0, DT_FLOAT, ODD), line(1, DT_FLOAT, ODD)};
            const Step s = {.kind = S_EWISE, .nview = 2, .view = v, .code = code, .ncode = 3};
            memcpy(a, odd, sizeof a);
            run_step(devices[d], &s, (void *const[]){y, a});
            for (int i = 0; i < ODD; i++) {
                const double want = pow((double)odd[i], exponents[e]);
                if (!near_float(want, y[i], 4))
                    fail_msg("%g^%g: %.9g (device %d)", (double)odd[i], exponents[e], (double)y[i],
                             d);
            }
        }
}

static void elementary_functions_are_accurate(void **state) {
    (void)state;
    static const int ops[] = {C_EXP, C_SIGMOID, C_TANH, C_ERF, C_LOG};
    enum { N = 20001 };
    float *a = test_malloc(sizeof *a * N), *y = test_malloc(sizeof *y * N);
    for (int i = 0; i < N; i++) a[i] = (float)(i - N / 2) * 0.0017f;
    for (int d = 0; d < 2; d++)
        for (int o = 0; o < 5; o++) {
            apply(devices[d], ops[o], DT_FLOAT, DT_FLOAT, y, a, a, N);
            for (int i = 0; i < N; i++)
                if (!near_float(ref_real(ops[o], (double)a[i], 0), y[i], 4))
                    fail_msg("op %d of %.9g: %.9g (device %d)", ops[o], (double)a[i], (double)y[i],
                             d);
        }
    test_free(a), test_free(y);
}

static void integers_are_exact(void **state) {
    (void)state;
    static const int64_t some[] = {0,
                                   1,
                                   -1,
                                   2,
                                   -2,
                                   3,
                                   7,
                                   -7,
                                   63,
                                   64,
                                   INT64_MAX,
                                   INT64_MIN,
                                   INT64_MAX - 1,
                                   1000003,
                                   -1000003,
                                   INT64_C(1) << 53};
    enum { N = sizeof some / sizeof *some };
    static const int ops[] = {C_ADD, C_SUB,  C_MUL,  C_DIV, C_MOD,  C_MIN, C_MAX,
                              C_EQ,  C_LT,   C_LE,   C_AND, C_OR,   C_XOR, C_NEG,
                              C_ABS, C_RELU, C_SIGN, C_NOT, C_FLOOR};
    int64_t a[N * N], b[N * N], y[N * N];
    for (int i = 0; i < N * N; i++) a[i] = some[i / N], b[i] = some[i % N];
    for (int d = 0; d < 2; d++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
            for (int natural = 0; natural < 2; natural++) {
                apply(devices[d], ops[o], natural ? DT_UINT64 : DT_INT64,
                      natural ? DT_UINT64 : DT_INT64, y, a, b, N * N);
                for (int i = 0; i < N * N; i++)
                    assert_int_equal(y[i], ref_integer(ops[o], a[i], b[i], natural));
            }
    int32_t base[] = {2, -3, 0, 5, -1, 1, 2, -1}, power[] = {10, 3, 0, 1, 7, -4, -1, -3},
            want[] = {1024, -27, 1, 5, -1, 1, 0, -1}, got[8];
    apply(devices[0], C_POW, DT_INT32, DT_INT32, got, base, power, 8);
    assert_memory_equal(got, want, sizeof want);
}

static void comparisons_give_booleans(void **state) {
    (void)state;
    float a[] = {0.25f, 0.75f, NAN, 1.0f}, b[] = {0.75f, 0.25f, 1.0f, 1.0f};
    uint8_t y[4];
    static const uint8_t less[] = {1, 0, 0, 0}, equal[] = {0, 0, 0, 1};
    apply(devices[0], C_LT, DT_FLOAT, DT_BOOL, y, a, b, 4);
    assert_memory_equal(y, less, 4);
    apply(devices[0], C_EQ, DT_FLOAT, DT_BOOL, y, a, b, 4);
    assert_memory_equal(y, equal, 4);
}

/* ---- conversions between all pairs of types, at the limits of both */
static const int types[] = {DT_FLOAT,  DT_DOUBLE, DT_FLOAT16, DT_BFLOAT16, DT_BOOL,
                            DT_INT8,   DT_UINT8,  DT_INT16,   DT_UINT16,   DT_INT32,
                            DT_UINT32, DT_INT64,  DT_UINT64};
enum { TYPES = sizeof types / sizeof *types };

static int64_t fill_edges(int dtype, void *p) {
    static const double real[] = {
        0,    -0.0,  1,        -1,        0.5,   1.5,   -1.5,         2.9,    126.9,  127.5,
        128,  255.5, 256,      -129,      65504, 65519, 65520,        70000,  1e10,   -1e10,
        3e38, NAN,   INFINITY, -INFINITY, 6e-8,  3e-8,  2147483648.0, 9.3e18, 1.9e19, 0.1};
    static const int64_t integer[] = {
        0,         1,         -1,       127,   128,   -128,      -129,      255,
        256,       32767,     -32768,   65535, 65536, INT32_MAX, INT32_MIN, UINT32_MAX,
        INT64_MAX, INT64_MIN, 16777217, 2049,  65519, 65520,     257};
    const bool is_real = dtype_class((DType)dtype) == 'F';
    const int n = is_real ? (int)(sizeof real / sizeof *real)
                          : (int)(sizeof integer / sizeof *integer),
              size = dtype_bits((DType)dtype) / 8;
    for (int i = 0; i < n; i++) switch (dtype) {
        case DT_FLOAT: ((float *)p)[i] = (float)real[i]; break;
        case DT_DOUBLE: ((double *)p)[i] = real[i]; break;
        case DT_FLOAT16: ((uint16_t *)p)[i] = ref_to_half(real[i], 5); break;
        case DT_BFLOAT16: ((uint16_t *)p)[i] = ref_to_half(real[i], 8); break;
        case DT_BOOL: ((uint8_t *)p)[i] = (uint8_t)(i % 2); break;
        default: memcpy((char *)p + i * size, &integer[i], (size_t)size); break;
        }
    return n;
}

static void conversions_are_casts(void **state) {
    (void)state;
    double x[MANY], y[MANY];
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < TYPES; i++)
            for (int j = 0; j < TYPES; j++) {
                const int64_t n = fill_edges(types[i], x);
                const View v[] = {line(0, types[j], n), line(1, types[i], n)};
                const Step s = {.kind = S_COPY, .nview = 2, .view = v};
                void *const slot[] = {y, x};
                run_step(devices[d], &s, slot);
                int64_t count;
                Num *want = ref_run(&s, slot, &count);
                for (int64_t k = 0; k < n; k++) {
                    const Num got = ref_load(&v[0], slot, &k), from = ref_load(&v[1], slot, &k);
                    const bool same =
                        dtype_class((DType)types[j]) == 'F'
                            ? got.d == want[k].d || (got.d != got.d && want[k].d != want[k].d)
                            : got.i == want[k].i;
                    if (!same)
                        fail_msg("%s to %s: %.9g gives %.9g (%lld) instead of %.9g (%lld)",
                                 dtype_name((DType)types[i]), dtype_name((DType)types[j]), from.d,
                                 got.d, (long long)got.i, want[k].d, (long long)want[k].i);
                }
                free(want);
            }
}

/* ---- running */
static void the_mode_is_restored_and_denormals_flushed(void **state) {
    (void)state;
    float a[] = {1e-30f, 1e-40f, 1.0f}, b[] = {1e-10f, 1e10f, 1e-39f}, y[3];
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    const FloatMode rounds_up = processor_mode();
    for (int flush = 0; flush < 2; flush++) {
        const FloatMode mode = flush ? processor_flushing(rounds_up) : rounds_up;
        processor_set_mode(mode);
        apply(devices[0], C_MUL, DT_FLOAT, DT_FLOAT, y, a, b, 3);
        feclearexcept(FE_ALL_EXCEPT);
        assert_true(processor_mode() == mode);
        assert_int_equal(fegetround(), FE_UPWARD);
    }
    processor_set_mode(rounds_up);
    fesetround(FE_TONEAREST);
    for (int i = 0; i < 3 && processor_flushes; i++) assert_true(y[i] == 0);
}

static void a_step_may_run_in_place(void **state) {
    (void)state;
    enum { N = 3000 };
    for (int d = 0; d < 2; d++) {
        float *x = test_malloc(sizeof *x * N);
        for (int i = 0; i < N; i++) x[i] = (float)i;
        View v[] = {line(0, DT_FLOAT, N), line(0, DT_FLOAT, N)};
        const Scalar code[] = {{.op = C_VIEW, .a = 1},
                               {.op = C_CONST, .k = 0.5},
                               {.op = C_MUL, .a = 0, .b = 1},
                               {.op = C_ADD, .a = 2, .b = 0}};
        const Step s = {.kind = S_EWISE, .nview = 2, .view = v, .code = code, .ncode = 4};
        run_step(devices[d], &s, (void *const[]){x});
        for (int i = 0; i < N; i++) assert_true(x[i] == (float)i * 1.5f);
        test_free(x);
    }
}

/* y is also the residual that the epilogue adds: each element must be read before it is overwritten
   by the product. */
static void an_epilogue_may_read_the_output_buffer(void **state) {
    (void)state;
    float y[] = {100, 200, 300, 400}, a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1};
    const int64_t two[] = {2, 2};
    View v[4];
    for (int i = 0; i < 4; i++)
        v[i] = (View){
            .slot = i % 3, .dtype = DT_FLOAT, .rank = 2, .dim = {two[0], two[1]}, .stride = {2, 1}};
    const Scalar code[] = {{.op = C_ACC}, {.op = C_VIEW, .a = 3}, {.op = C_ADD, .a = 0, .b = 1}};
    const Step s = {.kind = S_GEMM, .nview = 4, .view = v, .code = code, .ncode = 3};
    run_step(devices[0], &s, (void *const[]){y, a, b});
    static const float want[] = {101, 202, 303, 404};
    assert_memory_equal(y, want, sizeof want);
}

/* y[i] = x[i] + x[2 - i] as a loop program written by hand (core/loop.h). */
static void loop_programs_run(void **state) {
    (void)state;
    enum { N = 3 };
    float x[N] = {1, 10, 100}, y[N] = {0};
    static const int64_t words[] = {LOOP_MAGIC, 1, 0, 1, 1,  0, 3,      2, 0,     N,
                                    EX_AT,      0, 0, 1, 0,  1, 1,      0, EX_AT, 0,
                                    0,          1, 2, 1, -1, 0, EX_ADD, 0, 0,     1};
    const View v[] = {line(0, DT_FLOAT, N), line(1, DT_FLOAT, N), {.rank = -1}};
    Step s = {.kind = S_LOOP,
              .nview = 2,
              .view = v,
              .param = words,
              .nparam = sizeof words / sizeof *words};
    static const float want[N] = {101, 20, 101};
    run_step(devices[0], &s, (void *const[]){y, x});
    assert_memory_equal(y, want, sizeof want);
    s.nview = 3;
    assert_int_equal(cpu->choices(devices[0], &s), 1);
    s.nview = 1;
    size_t room;
    char why[200] = "";
    assert_null(cpu->compile(devices[0], &s, 0, NULL, &room, NULL, why, sizeof why));
    assert_true(why[0] != 0);
}

static void operators_without_definition_run(void **state) {
    (void)state;
    float x[] = {10, 11, 12, 13}, y[3];
    int64_t index[] = {2, -1, 0}, param[] = {1, 0};
    const View v[] = {line(0, DT_FLOAT, 3), line(1, DT_FLOAT, 4), line(2, DT_INT64, 3)};
    Step s = {.kind = S_OP, .nview = 3, .view = v, .param = param, .nparam = 2, .op = "gather"};
    run_step(devices[0], &s, (void *const[]){y, x, index});
    static const float want[] = {12, 13, 10};
    assert_memory_equal(y, want, sizeof want);
    size_t room;
    char why[200];
    Kernel *k = cpu->compile(devices[0], &s, 0, NULL, &room, NULL, why, sizeof why);
    param[1] = 7; /* the kernel has its own copy of the step */
    index[0] = 4;
    void *work = cpu->alloc(devices[0], room + 1);
    assert_true(cpu->run(k, (void *const[]){y, x, index}, work) < 0);
    cpu->release(devices[0], work);
    cpu->forget(k);
    s.op = "no such operator";
    assert_int_equal(cpu->choices(devices[0], &s), 0);
}

/* A NaN anywhere in a row or a column gives NaN as its maximum and its minimum. */
static void nan_passes_through_reductions(void **state) {
    (void)state;
    enum { N = 70 };
    float x[N * N], y[N];
    for (int at = 0; at < N; at++)
        for (int64_t kind = REDUCE_MAX; kind <= REDUCE_MIN; kind++)
            for (int across = 0; across < 2; across++) {
                for (int i = 0; i < N * N; i++) x[i] = (float)(i % 13);
                x[across ? at * N + 3 : 3 * N + at] = NAN; /* part of result 3 */
                const View v[] = {line(0, DT_FLOAT, N),
                                  {.slot = 1,
                                   .dtype = DT_FLOAT,
                                   .rank = 2,
                                   .dim = {N, N},
                                   .stride = {across ? 1 : N, across ? N : 1}}};
                const Step s = {
                    .kind = S_REDUCE, .nview = 2, .view = v, .param = &kind, .nparam = 1};
                run_step(devices[at % 2], &s, (void *const[]){y, x});
                for (int i = 0; i < N; i++) assert_int_equal(y[i] != y[i], i == 3);
            }
}

/* Each allocation of compiling and of opening fails once: the caller gets a sentence instead of a
   kernel or a device, and nothing leaks (the sanitizers check this). */
static void allocations_may_fail(void **state) {
    (void)state;
    const int64_t param[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, x[] = {1, 3, 6, 6}, y[] = {1, 5, 6, 6},
                  w[] = {5, 3, 3, 3};
    const View v[] = {view_dense(0, DT_FLOAT16, 4, y), view_dense(1, DT_FLOAT, 4, x),
                      view_dense(2, DT_FLOAT16, 4, w)};
    const Scalar relu[] = {{.op = C_ACC}, {.op = C_RELU, .a = 0}};
    const Step s = {.kind = S_CONV,
                    .nview = 3,
                    .view = v,
                    .param = param,
                    .nparam = 9,
                    .code = relu,
                    .ncode = 2};
    uint16_t weight[135] = {0};
    const void *const known[] = {NULL, NULL, weight};
    int failed = 0;
    for (int choice = 0; choice < cpu->choices(devices[0], &s); choice++)
        for (int64_t n = 1; n < 200; n++) {
            char why[200] = "";
            size_t room;
            mem_fail_at(n);
            Kernel *k = cpu->compile(devices[0], &s, choice, known, &room, NULL, why, sizeof why);
            mem_fail_at(0);
            cpu->forget(k);
            if (k) break;
            assert_true(why[0] != 0);
            failed++;
        }
    assert_true(failed > 0);
    for (int64_t n = 1, opened = 0; !opened; n++) {
        char why[300] = "";
        mem_fail_at(n);
        Device *d = cpu->open("", why, sizeof why);
        mem_fail_at(0);
        opened = d != NULL;
        assert_true(opened || why[0]);
        assert_true(n < 100);
        cpu->close(d);
    }
}

/* Computes the same product again and again on a device of its own. Returns how many results were
   different, as a pointer. An emulator computes fewer, so that the test takes half a minute. */
static void *multiply_often(void *size) {
    const int64_t n = *(int64_t *)size, dim[] = {n, n};
    char why[300];
    Device *d = cpu->open("dnn=none", why, sizeof why);
    View v[3];
    float *slot[3], *first = calloc((size_t)(n * n), sizeof *first);
    size_t room, wrong = 0;
    for (int i = 0; i < 3; i++) {
        v[i] = view_dense(i, DT_FLOAT, 2, dim);
        slot[i] = cpu->alloc(d, sizeof **slot * (size_t)(n * n));
        for (int64_t j = 0; j < n * n; j++) slot[i][j] = (float)(j % 7);
    }
    const Step s = {.kind = S_GEMM, .nview = 3, .view = v};
    Kernel *k = cpu->compile(d, &s, 0, NULL, &room, NULL, why, sizeof why);
    void *work = cpu->alloc(d, room);
    const time_t start = time(NULL);
    for (int run = 0; run < 2500 && (run < 10 || time(NULL) < start + 30); run++) {
        wrong += cpu->run(k, (void *const *)slot, work) != 0;
        if (run == 0) memcpy(first, slot[0], sizeof **slot * (size_t)(n * n));
        wrong += memcmp(first, slot[0], sizeof **slot * (size_t)(n * n)) != 0;
    }
    for (int i = 0; i < 3; i++) cpu->release(d, slot[i]);
    cpu->release(d, work);
    cpu->forget(k);
    cpu->close(d);
    free(first);
    return (void *)wrong;
}
static void threads_do_not_disturb_each_other(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    int64_t size[THREADS];
    for (int i = 0; i < THREADS; i++) {
        size[i] = 200 + 8 * i;
        assert_int_equal(pthread_create(&thread[i], NULL, multiply_often, &size[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}

static void long_sums_are_accurate(void **state) {
    (void)state;
    enum { N = 3000001 };
    float *x = test_malloc(sizeof *x * N), y = 0;
    for (int i = 0; i < N; i++) x[i] = 0.1f;
    const View v[] = {{.dtype = DT_FLOAT}, line(1, DT_FLOAT, N)};
    const int64_t sum = REDUCE_SUM;
    const Step s = {.kind = S_REDUCE, .nview = 2, .view = v, .param = &sum, .nparam = 1};
    run_step(devices[1], &s, (void *const[]){&y, x});
    assert_true(fabs((double)y / ((double)0.1f * (double)N) - 1) < 1e-7);
    test_free(x);
}

static int setup(void **state) {
    (void)state;
    char why[300];
    cpu = backend_open("cpu", NULL);
    devices[0] = cpu->open("", why, sizeof why);
    devices[1] = cpu->open("generic", why, sizeof why);
    return devices[0] && devices[1] ? 0 : -1;
}
static int teardown(void **state) {
    (void)state;
    cpu->close(devices[0]), cpu->close(devices[1]);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(memory_is_aligned),
        cmocka_unit_test(equal_contents_are_held_once),
        cmocka_unit_test(known_weights_are_packed_once),
        cmocka_unit_test(operations_on_special_floats),
        cmocka_unit_test(constant_powers_are_products),
        cmocka_unit_test(elementary_functions_are_accurate),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(comparisons_give_booleans),
        cmocka_unit_test(conversions_are_casts),
        cmocka_unit_test(the_mode_is_restored_and_denormals_flushed),
        cmocka_unit_test(a_step_may_run_in_place),
        cmocka_unit_test(an_epilogue_may_read_the_output_buffer),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(loop_programs_run),
        cmocka_unit_test(allocations_may_fail),
        cmocka_unit_test(operators_without_definition_run),
        cmocka_unit_test(nan_passes_through_reductions),
        cmocka_unit_test(long_sums_are_accurate),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
