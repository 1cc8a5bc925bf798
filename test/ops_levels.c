/* ops_levels.c -- tests products of few rows by known weights that take few values (levels.c), in
   every instruction set that the machine has. Random bits, blocks, zero points, sizes, layouts and
   epilogues are compared with sums in double precision; three threads give the same bytes. Weights
   near such values stay floats, and wrong inner loops are noticed. */
#include "ops/base/random.h"
#include "test/shared/simd_tables.h"
#include <math.h>
#include <string.h>

enum { CASES = 60, GAP = 9 };
enum { Y, INPUT, WEIGHTS, BIAS, VIEWS };
typedef struct Drawn {
    Random random;
    Step step;
    View view[VIEWS];
    Scalar code[4];
    int64_t rows, terms, columns;
    float *slot[VIEWS];
    double *want; /* for each element, the result and how far it may be off */
} Drawn;

static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static double real(Drawn *t, double low, double high) {
    return low + (high - low) * random_unit(&t->random);
}
static void room(Drawn *t, int k, int64_t n) {
    t->slot[k] = test_malloc(sizeof(float) * (size_t)n);
    for (int64_t i = 0; i < n; i++) t->slot[k][i] = (float)real(t, -1, 1);
}
static float *weight_at(const Drawn *t, int64_t term, int64_t column) {
    const View *w = &t->view[WEIGHTS];
    return t->slot[WEIGHTS] + w->offset + term * w->stride[1] + column * w->stride[2];
}
/* Gives the weights the values that quantization leaves: by blocks along the columns, with no zero
   point, an integer one, or one between levels. Some blocks have a single value. */
static void quantize_weights(Drawn *t) {
    static const int64_t blocks[] = {16, 32, 64, 128, 256, INT64_MAX};
    static const int bits[] = {2, 4, 4, 8};
    const int64_t block = blocks[draw(t, 0, 5)], levels = (int64_t)1 << bits[draw(t, 0, 3)],
                  zeros = draw(t, 0, 2);
    for (int64_t c = 0; c < t->columns; c++) {
        float scale = 0, zero = 0;
        for (int64_t k = 0; k < t->terms; k++) {
            if (k % block == 0) {
                scale = (float)(draw(t, 0, 20) ? real(t, 0.001, 0.1) : 0);
                zero = zeros == 0   ? (float)levels / 2
                       : zeros == 1 ? (float)draw(t, 0, levels - 1)
                                    : (float)((double)draw(t, 0, levels - 1) + real(t, 0.3, 0.7));
            }
            *weight_at(t, k, c) = ((float)draw(t, 0, levels - 1) - zero) * scale;
        }
    }
}
static void draw_case(Drawn *t, uint64_t seed) {
    static const int64_t row_sizes[] = {1, 1, 1, 2, 5, 16}, terms[] = {512, 257, 1000, 96};
    *t = (Drawn){.random = {.seed = seed}};
    t->rows = row_sizes[draw(t, 0, 5)], t->terms = terms[draw(t, 0, 3)];
    const int64_t least = (t->rows == 1 ? 1 << 16 : 1 << 20) / t->terms + 1, m = t->rows,
                  k = t->terms, n = t->columns = least + draw(t, 0, 70), wide = draw(t, 0, 3),
                  batch = m > 1 && m % 2 == 0 ? 2 : 1;
    t->view[Y] = view_dense(Y, DT_FLOAT, 3, (const int64_t[]){batch, m / batch, n});
    t->view[INPUT] = view_dense(INPUT, DT_FLOAT, 3, (const int64_t[]){batch, m / batch, k});
    for (int i = 0; i < 2; i++) t->view[i].stride[1] += wide;
    for (int i = 0; i < 2; i++) t->view[i].stride[0] = m / batch * t->view[i].stride[1];
    t->view[WEIGHTS] = view_dense(WEIGHTS, DT_FLOAT, 3, (const int64_t[]){batch, k, n});
    t->view[WEIGHTS].stride[0] = 0, t->view[WEIGHTS].offset = draw(t, 0, 5);
    if (draw(t, 0, 1)) t->view[WEIGHTS].stride[1] = 1, t->view[WEIGHTS].stride[2] = k;
    t->view[BIAS] = t->view[Y], t->view[BIAS].slot = BIAS;
    t->view[BIAS].stride[0] = t->view[BIAS].stride[1] = 0;
    for (int i = 0; i < 2; i++) room(t, i, m * t->view[i].stride[1] + GAP);
    room(t, WEIGHTS, k * n + GAP), room(t, BIAS, n);
    quantize_weights(t);
    t->code[0] = (Scalar){.op = C_ACC}, t->code[1] = (Scalar){.op = C_VIEW, .a = BIAS};
    t->code[2] = (Scalar){.op = C_ADD, .b = 1}, t->code[3] = (Scalar){.op = C_RELU, .a = 2};
    t->step = (Step){.kind = S_GEMM, .nview = VIEWS, .view = t->view, .code = t->code};
    t->step.ncode = draw(t, 0, 2) ? 4 : 0;
}
/* Computes the results in double precision, and how far a float sum may differ from them. */
static void check_sums(Drawn *t) {
    t->want = test_malloc(sizeof(double) * (size_t)(2 * t->rows * t->columns));
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->columns; c++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < t->terms; k++) {
                const double p = (double)t->slot[INPUT][r * t->view[INPUT].stride[1] + k] *
                                 (double)*weight_at(t, k, c);
                sum += p, size += fabs(p);
            }
            if (t->step.ncode) sum = fmax(sum + (double)t->slot[BIAS][c], 0);
            t->want[2 * (r * t->columns + c)] = sum;
            t->want[2 * (r * t->columns + c) + 1] = 3e-6 * size + 1e-6;
        }
}
static void free_case(Drawn *t) {
    for (int k = 0; k < VIEWS; k++) test_free(t->slot[k]);
    test_free(t->want);
}
static size_t bytes_of_y(const Drawn *t) {
    return sizeof(float) * (size_t)(t->rows * t->view[Y].stride[1] + GAP);
}
static int64_t count_wrong(const Drawn *t) {
    int64_t wrong = 0;
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->columns; c++) {
            const double *want = t->want + 2 * (r * t->columns + c);
            const float got = t->slot[Y][r * t->view[Y].stride[1] + c];
            wrong += !(fabs(want[0] - (double)got) <= want[1]);
        }
    return wrong;
}
static void run(const Drawn *t, Device *d) {
    extern const Backend cpu_backend;
    const void *known[VIEWS] = {NULL, NULL, t->slot[WEIGHTS], NULL};
    size_t size;
    char why[200];
    Kernel *k = cpu_backend.compile(d, &t->step, 0, known, &size, NULL, why, sizeof why);
    assert_non_null(k);
    void *work = cpu_backend.alloc(d, size + 1),
         *slot[VIEWS] = {t->slot[Y], t->slot[INPUT],
                         cpu_backend.keeps_view(k, WEIGHTS) ? NULL : t->slot[WEIGHTS],
                         t->slot[BIAS]};
    memset(t->slot[Y], 0x55, bytes_of_y(t));
    assert_int_equal(cpu_backend.run(k, slot, work), 0);
    cpu_backend.release(d, work);
    cpu_backend.forget(k);
}

static int panels;
static void counting_4(const LevelPanel *p, int64_t rows) {
    panels++;
    table[0]->levels[0](p, rows);
}
static void counting_8(const LevelPanel *p, int64_t rows) {
    panels++;
    table[0]->levels[1](p, rows);
}
static void products_agree_with_sums_in_double(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        Drawn t;
        draw_case(&t, seed);
        check_sums(&t);
        for (int i = 0; i < tables; i++) {
            one->simd = three->simd = table[i];
            run(&t, one);
            if (count_wrong(&t))
                fail_msg("%s, case %d: %d wrong", one->simd->name, (int)seed, (int)count_wrong(&t));
            float *first = memcpy(test_malloc(bytes_of_y(&t)), t.slot[Y], bytes_of_y(&t));
            run(&t, three);
            assert_memory_equal(first, t.slot[Y], bytes_of_y(&t));
            test_free(first);
        }
        free_case(&t);
    }
}
/* All drawn weights are packed as levels; if some weights are changed a little, none are. */
static void only_weights_of_few_values_are_packed(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.levels[0] = counting_4, simd.levels[1] = counting_8;
    one->simd = &simd;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        Drawn t;
        draw_case(&t, seed);
        panels = 0;
        run(&t, one);
        if (panels == 0) fail_msg("case %d: not as levels", (int)seed);
        const int64_t column = draw(&t, 0, t.columns - 1);
        for (int64_t k = 0; k < 16; k++) *weight_at(&t, k, column) += (float)real(&t, 0, 1e-4);
        panels = 0;
        check_sums(&t);
        run(&t, one);
        assert_int_equal(count_wrong(&t), 0);
        if (panels) fail_msg("case %d: some weights are not levels", (int)seed);
        free_case(&t);
    }
    one->simd = table[0];
}

/* Sets row `term` of the weights to w, and x to 1e8 there and to about 1 elsewhere. */
static void one_row_counts(Drawn *t, int64_t term, float w) {
    const int64_t *stride = t->view[INPUT].stride;
    for (int64_t c = 0; c < t->columns; c++) *weight_at(t, term, c) = w;
    for (int64_t r = 0; r < t->rows; r++) t->slot[INPUT][r * stride[1] + term * stride[2]] = 1e8f;
}
/* Where x is great, a weight that is 0, or small beside the others, decides the result. The levels
   of the others are off by rounding: they were computed as q * scale - zero * scale. */
static void small_weights_are_not_lost(void **state) {
    (void)state;
    static const float weights[] = {0, 1e-8f, -1e-5f};
    for (uint64_t seed = 0; seed < 6; seed++) {
        Drawn t;
        draw_case(&t, seed);
        const float scale = (float)real(&t, 0.001, 0.1), zero = 8 * scale;
        for (int64_t c = 0; c < t.columns; c++)
            for (int64_t k = 0; k < t.terms; k++) {
                const float q = (float)draw(&t, 0, 15), product = q * scale;
                *weight_at(&t, k, c) = product - zero;
            }
        one_row_counts(&t, 7, weights[seed % 3]);
        check_sums(&t);
        for (int i = 0; i < tables; i++) {
            one->simd = table[i];
            run(&t, one);
            assert_int_equal(count_wrong(&t), 0);
        }
        one->simd = table[0];
        free_case(&t);
    }
}

static void short_levels(const LevelPanel *p, int64_t rows) {
    LevelPanel less = *p;
    less.words--;
    table[0]->levels[0](&less, rows);
}
static void levels_without_offset(const LevelPanel *p, int64_t rows) {
    LevelPanel bare = *p;
    bare.offset = NULL;
    table[0]->levels[0](&bare, rows);
}
static void terms_as_they_are(float *x, int bits, int64_t n) { (void)x, (void)bits, (void)n; }
static bool notices(uint64_t seed) {
    Drawn t;
    draw_case(&t, seed);
    check_sums(&t);
    run(&t, one);
    const bool wrong = count_wrong(&t) > 0;
    free_case(&t);
    return wrong;
}
static void wrong_loops_are_caught(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.levels[0] = short_levels;
    assert_true(cases_noticed(&simd, 20, notices) > 5);
    simd.levels[0] = levels_without_offset;
    assert_true(cases_noticed(&simd, 20, notices) > 5);
    simd = *table[0], simd.level_terms = terms_as_they_are;
    assert_true(cases_noticed(&simd, 20, notices) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_sums_in_double),
        cmocka_unit_test(only_weights_of_few_values_are_packed),
        cmocka_unit_test(small_weights_are_not_lost),
        cmocka_unit_test(wrong_loops_are_caught),
    };
    return cmocka_run_group_tests_name("ops_levels", tests, open_tables, close_tables);
}
