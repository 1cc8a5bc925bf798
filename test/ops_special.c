/* ops_special.c -- tests steps whose shapes have kernels of their own, in every instruction set
   that the machine has: depthwise and grouped convolutions of plain images, with strides; images
   enlarged by integer factors; pools, with dilations; softmax of columns; reductions of a few
   elements each; resized images with adjacent channels; casts to small integers.

   Random sizes are compared with the reference of steps_reference.h. Three threads give the same
   bytes, nothing is written outside the result, and wrong kernels are noticed. */
#include "ops/core/element.h"
#include "test/shared/sample.h"
#include "test/shared/simd_tables.h"
#include "test/shared/step_cases.h"
#include <stdio.h>

enum { CASES = 240, PAIRS = 4096 };
extern const Backend cpu_backend;
typedef struct Special {
    Case c;
    Step by;             /* what the reference runs: the step, or one with the same meaning */
    View view[2];        /* of `by`, if it is a copy */
    int64_t pair[PAIRS]; /* the parameters of a sample step */
} Special;

static int64_t draw(Special *s, int64_t low, int64_t high) { return case_draw(&s->c, low, high); }
/* Lays out view k densely, sometimes with gaps after the last axis or between elements. */
static void lay(Special *s, int k, DType dtype, int rank, const int64_t dim[]) {
    View *v = &s->c.view[k];
    *v = view_dense(k, (int)dtype, rank, dim);
    const int64_t by = draw(s, 0, 9) ? 1 : 2, room = draw(s, 0, 4) ? 0 : 3;
    for (int a = 0; a < rank; a++) v->stride[a] *= by;
    for (int a = 0; a < rank - 1; a++) v->stride[a] += room * v->stride[a] / (dim[rank - 1] * by);
    s->c.step.nview = k + 1;
    case_buffer(&s->c, k);
}

static void draw_conv(Special *s) {
    static const int64_t strides[] = {1, 2, 2, 3, 4, 5, 8};
    const int64_t group = draw(s, 1, 4), ins = draw(s, 0, 3) ? 1 : 2, outs = draw(s, 0, 3) ? 1 : 2;
    int64_t x[4] = {draw(s, 1, 2), group * ins}, y[4] = {x[0], group * outs},
            w[4] = {group * outs, ins}, *p = s->c.param;
    p[0] = group;
    for (int a = 0; a < 2; a++) {
        const int64_t k = draw(s, 1, 7), stride = strides[draw(s, 0, 6)], d = draw(s, 1, 2),
                      reach = (k - 1) * d + 1, begin = draw(s, 0, reach / 2),
                      end = draw(s, 0, reach / 2);
        x[2 + a] = reach + draw(s, 0, draw(s, 0, 2) ? 50 : 8), w[2 + a] = k;
        y[2 + a] = (x[2 + a] + begin + end - reach) / stride + 1;
        p[1 + a] = stride, p[3 + a] = begin, p[5 + a] = end, p[7 + a] = d;
    }
    s->c.step.nparam = 9;
    lay(s, 0, DT_FLOAT, 4, y), lay(s, 1, DT_FLOAT, 4, x), lay(s, 2, DT_FLOAT, 4, w);
}
/* Draws an image whose rows and columns are repeated, as a sample step or as a copy of a view that
   repeats them. */
static void draw_grown(Special *s) {
    static const DType types[] = {DT_FLOAT, DT_FLOAT, DT_UINT8, DT_FLOAT16, DT_INT64, DT_INT8};
    static const int64_t factors[] = {1, 2, 2, 3, 4, 5, 8};
    const DType dtype = types[draw(s, 0, 5)];
    const int64_t by[] = {1, factors[draw(s, 0, 6)], factors[draw(s, 0, 6)]};
    const int64_t x[] = {draw(s, 1, 4), draw(s, 1, 6), draw(s, 1, draw(s, 0, 1) ? 9 : 70)};
    const int64_t y[] = {x[0], x[1] * by[1], x[2] * by[2]};
    lay(s, 0, dtype, 3, y), lay(s, 1, dtype, 3, x);
    const double one_whole = 1;
    int64_t n = 0;
    for (int a = 0; a < 3; a++) {
        s->pair[n++] = by[a] > 1;
        for (int64_t i = 0; i < y[a] && by[a] > 1; i++, n += 2)
            s->pair[n] = i / by[a], memcpy(&s->pair[n + 1], &one_whole, sizeof one_whole);
    }
    s->c.step.param = s->pair, s->c.step.nparam = (int)n;
    for (int k = 0; k < 2; k++) {
        const View *v = &s->c.view[k];
        s->view[k] = (View){.slot = k, .dtype = v->dtype, .rank = 5, .offset = v->offset};
        for (int a = 0, at = 0; a < 3; a++) {
            s->view[k].dim[at] = x[a], s->view[k].stride[at++] = v->stride[a] * (k ? 1 : by[a]);
            if (a) s->view[k].dim[at] = by[a], s->view[k].stride[at++] = k ? 0 : v->stride[a];
        }
    }
    s->by.kind = S_COPY, s->by.view = s->view, s->by.nview = 2;
    if (draw(s, 0, 1)) s->c.step = s->by;
}
static void draw_pool(Special *s) {
    static const DType types[] = {DT_FLOAT, DT_FLOAT, DT_FLOAT, DT_DOUBLE, DT_UINT8, DT_INT8};
    const int n = (int)draw(s, 1, 3);
    const DType dtype = types[draw(s, 0, 5)];
    int64_t x[5] = {1, draw(s, 1, 3)}, y[5] = {1, x[1]}, *p = s->c.param;
    p[0] = draw(s, 0, 3) ? POOL_MAX : POOL_MEAN;
    const bool pads = draw(s, 0, 1);
    for (int a = 0; a < n; a++) {
        const int64_t k = draw(s, 1, 4), stride = draw(s, 1, 2), d = draw(s, 1, 3),
                      reach = (k - 1) * d + 1, begin = pads ? draw(s, 0, k / 2) : 0,
                      end = pads ? draw(s, 0, k / 2) : 0;
        x[2 + a] = reach + draw(s, 0, n == 3 ? 6 : 40);
        y[2 + a] = (x[2 + a] + begin + end - reach) / stride + 1;
        p[1 + a] = k, p[1 + n + a] = stride, p[1 + 2 * n + a] = begin, p[1 + 3 * n + a] = end;
        p[1 + 4 * n + a] = d;
    }
    p[1 + 5 * n] = 0, s->c.step.nparam = 2 + 5 * n;
    lay(s, 0, dtype, 2 + n, y), lay(s, 1, dtype, 2 + n, x);
}
/* The axis of the softmax is not the one that is contiguous in memory. */
static void draw_softmax(Special *s) {
    static const int order[] = {0, 2, 1};
    const DType dtype = draw(s, 0, 3) ? DT_FLOAT : DT_DOUBLE;
    const int64_t dim[] = {draw(s, 1, 3), draw(s, 1, draw(s, 0, 3) ? 40 : 200), draw(s, 1, 100)};
    for (int k = 0; k < 2; k++) {
        lay(s, k, dtype, 3, dim);
        s->c.view[k] = view_axes(&s->c.view[k], 3, order);
    }
}
/* Draws a reduction over rows, or over the elements of each row. */
static void draw_sum(Special *s) {
    static const DType types[] = {DT_FLOAT, DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_UINT8};
    const DType dtype = types[draw(s, 0, 5)];
    const int64_t dim[] = {draw(s, 1, 3), draw(s, 1, draw(s, 0, 3) ? 90 : 1500), draw(s, 2, 10)},
                  lying[] = {dim[0], dim[2], dim[1]};
    const bool rows = draw(s, 0, 2) == 0;
    s->c.param[0] = draw(s, REDUCE_SUM,
                         dtype == DT_UINT8                         ? REDUCE_MIN
                         : dtype == DT_FLOAT || dtype == DT_DOUBLE ? REDUCE_MAGNITUDES
                                                                   : REDUCE_PROD);
    s->c.step.nparam = 1;
    if (s->c.param[0] == REDUCE_PROD) s->c.tolerance = 1e-4;
    lay(s, 0, dtype, 2, dim), lay(s, 1, dtype, 3, rows ? lying : dim);
    if (rows) s->c.view[1] = view_axes(&s->c.view[1], 3, (const int[]){0, 2, 1});
}

typedef struct Kind {
    StepKind kind;
    void (*draw)(Special *);
} Kind;
static const Kind convs = {S_CONV, draw_conv}, grown = {S_SAMPLE, draw_grown},
                  pools = {S_POOL, draw_pool}, softmaxes = {S_SOFTMAX, draw_softmax},
                  sums = {S_REDUCE, draw_sum};

static void special_start(Special *s, const Kind *kind, uint64_t seed) {
    *s = (Special){.c = {.random = {.seed = seed * 1000003 + kind->kind}, .tolerance = 2e-5}};
    s->c.step = (Step){.kind = kind->kind, .view = s->c.view, .param = s->c.param};
    kind->draw(s);
    if (!s->by.view) s->by = s->c.step;
}
/* Returns whether this case is wrong on one thread or on three; `text` says how. */
static bool special_wrong(const Kind *kind, uint64_t seed, char *text, size_t n) {
    Special *s = test_malloc(sizeof *s);
    char why[200];
    int64_t count;
    special_start(s, kind, seed);
    const int known = (int)draw(s, 0, 1) << 2;
    Num *want = ref_run(&s->by, s->c.slot, &count);
    bool wrong = !case_run(&s->c, &cpu_backend, one, 0, known);
    snprintf(text, n, "it is refused");
    if (!wrong && case_compare(&s->c, want, count, why, sizeof why))
        wrong = true, snprintf(text, n, "%s", why);
    char *bytes = memcpy(test_malloc(s->c.bytes[0] + 1), s->c.slot[0], s->c.bytes[0]);
    if (!wrong && (!case_run(&s->c, &cpu_backend, three, 0, known) ||
                   memcmp(bytes, s->c.slot[0], s->c.bytes[0])))
        wrong = true, snprintf(text, n, "other bytes on three threads");
    test_free(bytes);
    free(want);
    case_end(&s->c);
    test_free(s);
    return wrong;
}
static void agree(void **state) {
    const Kind *kind = *state;
    char text[300];
    for (int i = 0; i < tables; i++)
        for (uint64_t seed = 0; seed < CASES; seed += (uint64_t)sample_step()) {
            one->simd = three->simd = table[i];
            if (special_wrong(kind, seed, text, sizeof text))
                fail_msg("%s, case %d: %s", table[i]->name, (int)seed, text);
        }
    one->simd = three->simd = table[0];
}

/* ---- kernels that leave out the last of something */
static const Kind *noticed;
static bool notices(uint64_t seed) {
    char text[300];
    return special_wrong(noticed, seed, text, sizeof text);
}
static int caught(const Simd *wrong, const Kind *kind) {
    noticed = kind;
    return cases_noticed(wrong, CASES, notices);
}
static void short_unweave(void *y, const void *x, int64_t stride, int64_t n) {
    table[0]->unweave[2][2](y, x, stride, n - 1);
}
static void short_taps(float *y, const float *x, const int64_t offset[], const float w[],
                       int64_t taps, int64_t n) {
    table[0]->taps(y, x, offset, w, taps - (taps > 1), n);
}
static void short_repeat(void *y, int64_t ys, int64_t rows, const void *x, int64_t n) {
    table[0]->repeat[2][2](y, ys, rows - (rows > 1), x, n);
}
static void first_of_both(void *y, const void *a, const void *b, int64_t n) {
    (void)b;
    memcpy(y, a, (size_t)n * sizeof(float));
}
static void short_columns(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows) {
    table[0]->softmax_columns[CLASS_FLOAT](y, ys, x, xs, rows - 1);
}
static void short_merge(void *acc, const void *x, int64_t stride, int64_t n) {
    table[0]->merge[CLASS_FLOAT][REDUCE_SUM](acc, x, stride, n - (stride > 1));
}
static void short_rows(void *acc, const void *x, int64_t xs, int64_t rows, int64_t n) {
    table[0]->merge_rows[CLASS_FLOAT][REDUCE_SUM](acc, x, xs, rows - 1, n);
}
static void wrong_kernels_are_caught(void **state) {
    (void)state;
    Simd wrong = *table[0];
    assert_int_equal(caught(&wrong, &convs) + caught(&wrong, &grown) + caught(&wrong, &pools) +
                         caught(&wrong, &softmaxes) + caught(&wrong, &sums),
                     0);
    wrong.unweave[2][2] = short_unweave;
    assert_true(caught(&wrong, &convs) > 20);
    wrong = *table[0], wrong.taps = short_taps;
    assert_true(caught(&wrong, &convs) > 50);
    wrong = *table[0], wrong.repeat[2][2] = short_repeat;
    assert_true(caught(&wrong, &grown) > 5);
    wrong = *table[0], wrong.op[CLASS_FLOAT][C_MAX] = first_of_both;
    assert_true(caught(&wrong, &pools) > 20);
    wrong = *table[0], wrong.softmax_columns[CLASS_FLOAT] = short_columns;
    assert_true(caught(&wrong, &softmaxes) > 20);
    wrong = *table[0], wrong.merge[CLASS_FLOAT][REDUCE_SUM] = short_merge;
    assert_true(caught(&wrong, &sums) > 2);
    wrong = *table[0];
    for (int k = REDUCE_SUM; k <= REDUCE_MEAN; k++) wrong.merge_rows[CLASS_FLOAT][k] = short_rows;
    assert_true(caught(&wrong, &sums) > 2);
    wrong = *table[0];
    for (int k = REDUCE_SQUARES; k <= REDUCE_MAGNITUDES; k++)
        wrong.merge[CLASS_FLOAT][k] = wrong.merge[CLASS_FLOAT][REDUCE_SUM],
        wrong.merge_rows[CLASS_FLOAT][k] = wrong.merge_rows[CLASS_FLOAT][REDUCE_SUM],
        wrong.total[CLASS_FLOAT][k] = wrong.total[CLASS_FLOAT][REDUCE_SUM];
    assert_true(caught(&wrong, &sums) > 2);
}

#define TEST(kinds) \
    { .name = #kinds, .test_func = agree, .initial_state = (void *)&(kinds) }
/* ---- resized images whose channels are adjacent, sometimes as a part of more channels: each place
   is a weighted sum of some rows and columns */
enum { RESIZED = 80, RESIZE_SIZE = 9, RESIZE_TAPS = 4 };
static void draw_resized(Special *s, uint64_t seed) {
    *s = (Special){.c = {.random = {.seed = seed}}};
    s->c.step = (Step){.kind = S_SAMPLE, .view = s->c.view, .param = s->pair};
    int64_t x[3], y[3], n = 0;
    for (int a = 0; a < 3; a++) x[a] = draw(s, 1, RESIZE_SIZE), y[a] = draw(s, 1, RESIZE_SIZE);
    x[2] = y[2] = draw(s, 1, 70);
    for (int a = 0; a < 2; a++) {
        const int64_t taps = draw(s, 1, RESIZE_TAPS);
        s->pair[n++] = taps;
        for (int64_t i = 0; i < taps * y[a]; i++, n += 2) {
            const double w = draw(s, 0, 3) ? (double)draw(s, -8, 8) / 8 : 0;
            s->pair[n] = draw(s, 0, x[a] - 1), memcpy(&s->pair[n + 1], &w, sizeof w);
        }
    }
    s->pair[n++] = 0;
    s->c.step.nparam = (int)n;
    for (int k = 0; k < 2; k++) {
        View *v = &s->c.view[k];
        *v = view_dense(k, DT_FLOAT, 3, k ? x : y);
        if (draw(s, 0, 2) == 0) v->stride[1] += 3, v->stride[0] = v->dim[1] * v->stride[1];
        s->c.step.nview = k + 1;
        case_buffer(&s->c, k);
    }
}
static double resized(const Special *s, int64_t i, int64_t j, int64_t c) {
    const View *x = &s->c.view[1];
    const float *from = (const float *)s->c.slot[1] + x->offset;
    StepTaps axis[3];
    int moves;
    double sum = 0, down, across;
    assert_true(step_sample(&s->c.step, axis, &moves));
    for (int64_t u = 0; u < axis[0].taps; u++)
        for (int64_t v = 0; v < axis[1].taps; v++) {
            const int64_t *row = axis[0].pair + 2 * (i * axis[0].taps + u),
                          *column = axis[1].pair + 2 * (j * axis[1].taps + v);
            memcpy(&down, row + 1, sizeof down), memcpy(&across, column + 1, sizeof across);
            sum +=
                down * across * (double)from[row[0] * x->stride[0] + column[0] * x->stride[1] + c];
        }
    return sum;
}
/* The number of elements that are wrong on one thread; -1 if three threads give other bytes. */
static int64_t resized_wrongly(uint64_t seed) {
    Special *s = test_malloc(sizeof *s);
    draw_resized(s, seed);
    const View *y = &s->c.view[0];
    int64_t wrong = 0;
    assert_true(case_run(&s->c, &cpu_backend, one, 0, 0));
    const float *got = (const float *)s->c.slot[0] + y->offset;
    for (int64_t i = 0; i < y->dim[0]; i++)
        for (int64_t j = 0; j < y->dim[1]; j++)
            for (int64_t c = 0; c < y->stride[1]; c++) {
                const float *at = got + i * y->stride[0] + j * y->stride[1] + c;
                const bool last = i == y->dim[0] - 1 && j == y->dim[1] - 1;
                if (c < y->dim[2]) wrong += !(fabs((double)*at - resized(s, i, j, c)) <= 1e-4);
                else if (!last) wrong += *(const unsigned char *)at != PATTERN;
            }
    char *bytes = memcpy(test_malloc(s->c.bytes[0] + 1), s->c.slot[0], s->c.bytes[0]);
    assert_true(case_run(&s->c, &cpu_backend, three, 0, 0));
    if (memcmp(bytes, s->c.slot[0], s->c.bytes[0])) wrong = -1;
    test_free(bytes);
    case_end(&s->c);
    test_free(s);
    return wrong;
}
static void short_pixels(float *y, int64_t ys, const float *x, const int64_t offset[],
                         const float w[], int64_t taps, int64_t places, int64_t n) {
    table[0]->blend_pixels(y, ys, x, offset, w, taps, places - 1, n);
}
static void short_blend(void *y, const void *x, const int32_t *place, const void *w, int64_t taps,
                        int64_t n) {
    table[0]->blend[CLASS_FLOAT](y, x, place, w, taps - (taps > 1), n);
}
static bool notices_resized(uint64_t seed) { return resized_wrongly(seed) != 0; }
static void resized_channels_agree(void **state) {
    (void)state;
    for (int i = 0; i < tables; i++)
        for (uint64_t seed = 0; seed < RESIZED; seed++) {
            one->simd = three->simd = table[i];
            if (resized_wrongly(seed)) fail_msg("%s, case %d", table[i]->name, (int)seed);
        }
    Simd wrong = *table[0];
    wrong.blend_pixels = short_pixels;
    assert_true(cases_noticed(&wrong, RESIZED, notices_resized) > 20);
    wrong = *table[0], wrong.blend[CLASS_FLOAT] = short_blend;
    assert_true(cases_noticed(&wrong, RESIZED, notices_resized) > 4);
    one->simd = three->simd = table[0];
}

/* ---- numbers beyond the range of small integers, and NaN */
enum { NUMBERS = 150 };
typedef void Store(void *y, int64_t stride, const void *x, int64_t n);
static double saturated(double x, double low, double high) {
    return isnan(x) ? 0 : x <= low ? low : x >= high ? high : trunc(x);
}
static int wrong_casts(Store *store, bool wide, DType to, double low, double high) {
    static const double edge[] = {NAN,     INFINITY, -INFINITY, 0,       -0.0,   0.75,   -0.75,
                                  126.5,   127.5,    128,       -128,    -128.5, -129,   254.5,
                                  255.5,   256,      32767,     32767.5, 32768,  -32768, -32769,
                                  65535.5, 65536,    3e9,       -3e9,    1e30,   -1e30,  -1};
    enum { EDGES = sizeof edge / sizeof *edge };
    double x[NUMBERS];
    float narrow[NUMBERS];
    char y[6 * NUMBERS];
    int wrong = 0;
    for (int n = 1; n <= NUMBERS; n++)
        for (int64_t stride = 1; stride <= 3; stride += 2) {
            for (int i = 0; i < n; i++) x[i] = edge[(i + n) % EDGES], narrow[i] = (float)x[i];
            store(y, stride, wide ? (void *)x : narrow, n);
            for (int i = 0; i < n; i++)
                wrong += element_real(to, y, i * stride) != saturated(x[i], low, high);
        }
    return wrong;
}
static void least_for_nan(void *y, int64_t stride, const void *x, int64_t n) {
    table[0]->store[CLASS_FLOAT][DT_INT8](y, stride, x, n);
    for (int64_t i = 0; i < n; i++)
        if (isnan(((const float *)x)[i])) ((int8_t *)y)[i * stride] = -128;
}
static void casts_saturate(void **state) {
    static const struct {
        DType to;
        double low, high;
    } type[] = {
        {DT_INT8, -128, 127}, {DT_UINT8, 0, 255}, {DT_INT16, -32768, 32767}, {DT_UINT16, 0, 65535}};
    (void)state;
    for (int i = 0; i < tables; i++)
        for (int k = 0; k < 8; k++) {
            Store *store = table[i]->store[k % 2 ? CLASS_DOUBLE : CLASS_FLOAT][type[k / 2].to];
            assert_int_equal(
                wrong_casts(store, k % 2, type[k / 2].to, type[k / 2].low, type[k / 2].high), 0);
        }
    assert_true(wrong_casts(least_for_nan, false, DT_INT8, -128, 127) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(convs),
        TEST(grown),
        TEST(pools),
        TEST(softmaxes),
        TEST(sums),
        cmocka_unit_test(wrong_kernels_are_caught),
        cmocka_unit_test(resized_channels_agree),
        cmocka_unit_test(casts_saturate),
    };
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
