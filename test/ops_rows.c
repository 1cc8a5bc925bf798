/* ops_rows.c -- tests steps over rows on the CPU (ops/cpu/rows.c): random steps are compared with
   the reference in every instruction set of the machine, three threads give the same bytes, and
   faulty loops are noticed. NaN, infinities and long rows, which are computed in blocks, are among
   them. */
#include "test/shared/simd_tables.h"
#include "test/shared/step_cases.h"
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

extern const Backend cpu_backend;
enum { CASES = 1000, FIRST = 1000 };

/* Returns 1 if the case is right, -1 if it is wrong (`text` says how), and 0 if this kernel does
   not run such a step. */
static int try_case(uint64_t seed, Device *d, char *text, size_t n, char **bytes, size_t *size) {
    Case c;
    int64_t count;
    int result = 0;
    case_start(&c, seed, S_ROWS);
    if (cpu_backend.choices(d, &c.step) > 0) {
        Num *want = ref_run(&c.step, c.slot, &count);
        assert_true(case_run(&c, &cpu_backend, d, 0, (int)(seed % 3 ? seed & 0xfe : 0)));
        result = case_compare(&c, want, count, text, n) ? -1 : 1;
        free(want);
        *size = c.bytes[0] + 2 * GUARD;
        if (bytes) *bytes = malloc(*size), memcpy(*bytes, c.buffer[0], *size);
    }
    if (result < 0) {
        size_t at = strlen(text);
        case_describe(&c, text + at, n - at);
    }
    case_end(&c);
    return result;
}
static void drawn_rows_agree(void **state) {
    (void)state;
    for (int i = 0; i < tables; i++) {
        int right = 0;
        one->simd = three->simd = table[i];
        for (uint64_t seed = FIRST; seed < FIRST + CASES; seed++) {
            char text[1200] = "", *first = NULL, *second = NULL;
            size_t size;
            const int found = try_case(seed, one, text, sizeof text, &first, &size);
            if (found < 0) fail_msg("%s, seed %d: %s", table[i]->name, (int)seed, text);
            right += found;
            if (!found) continue;
            assert_int_equal(try_case(seed, three, text, sizeof text, &second, &size), 1);
            assert_memory_equal(first, second, size);
            free(first), free(second);
        }
        assert_true(right > CASES / 8);
    }
    one->simd = three->simd = table[0];
}

/* ---- loops with a fault */
static bool notices(uint64_t seed) {
    char text[1200];
    size_t size;
    return try_case(seed, one, text, sizeof text, NULL, &size) < 0;
}
static void short_sums(double *acc, const float *x, int64_t xs, int64_t n, int64_t rows) {
    table[0]->row_sums(acc, x, xs, n, rows);
    acc[rows - 1] -= (double)x[(rows - 1) * xs + n - 1];
}
static void one_peak(float *acc, const float *x, int64_t n, int64_t rows) {
    (void)rows;
    table[0]->row_peaks(acc, x, n, 1);
}
static void short_squares(double *acc, const float *x, const RowNumbers *k, int64_t n,
                          int64_t rows) {
    for (int64_t r = 0; r < rows; r++) table[0]->row_squares(acc + r, x + r * n, k + r, n - 1, 1);
}
static void bare_exps(float *y, double *acc, const float *x, const RowNumbers *k, int64_t n,
                      int64_t rows, bool bounded, int64_t ahead) {
    static const RowNumbers none[64];
    (void)k;
    (void)bounded;
    table[0]->row_exps(y, acc, x, none, n, rows, false, ahead);
    *acc += 1;
}
static void unshifted(float *y, const float *x, const RowNumbers *k, const float *scale,
                      const float *shift, int64_t n, int64_t rows) {
    static float zeros[1 << 14];
    table[0]->row_scaled(y, x, k, scale, shift ? zeros : NULL, n, rows);
}
static void wrong_loops_are_caught(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.row_sums = short_sums;
    assert_true(cases_noticed(&simd, CASES, notices) > 80);
    simd = *table[0], simd.row_peaks = one_peak;
    assert_true(cases_noticed(&simd, CASES, notices) > 30);
    simd = *table[0], simd.row_squares = short_squares;
    assert_true(cases_noticed(&simd, CASES, notices) > 30);
    simd = *table[0], simd.row_exps = bare_exps;
    assert_true(cases_noticed(&simd, CASES, notices) > 80);
    simd = *table[0], simd.row_scaled = unshifted;
    assert_true(cases_noticed(&simd, CASES, notices) > 8);
    assert_int_equal(cases_noticed(table[0], CASES, notices), 0);
}

/* ---- softmax and quotients of numbers that are not finite */
enum { COLUMNS = 40 };
static void run_rows(const Scalar *code, int ncode, float x[COLUMNS], float y[COLUMNS]) {
    View v[2] = {{.dtype = DT_FLOAT, .rank = 1, .dim = {COLUMNS}, .stride = {1}}};
    v[1] = v[0], v[1].slot = 1;
    const Step s = {S_ROWS, 2, 1, ncode, v, (const int64_t[]){1}, code, NULL};
    run_step(one, &s, (void *[]){y, x});
}
static void what_is_not_finite_stays_so(void **state) {
    static const Scalar softmax[] = {{.op = C_VIEW, .a = 1},        {.op = C_ROW_MAX, .a = 0},
                                     {.op = C_SUB, .a = 0, .b = 1}, {.op = C_EXP, .a = 2},
                                     {.op = C_ROW_SUM, .a = 3},     {.op = C_DIV, .a = 3, .b = 4}},
                        quotient[] = {{.op = C_VIEW, .a = 1},
                                      {.op = C_ROW_MAX, .a = 0},
                                      {.op = C_DIV, .a = 0, .b = 1}};
    float x[COLUMNS], y[COLUMNS];
    (void)state;
    for (int i = 0; i < tables; i++) {
        one->simd = table[i];
        for (int k = 0; k < COLUMNS; k++) x[k] = k % 2 ? -INFINITY : 1;
        run_rows(softmax, 6, x, y); /* the infinities are a mask */
        for (int k = 0; k < COLUMNS; k++)
            assert_true(k % 2 ? y[k] == 0 : fabsf(y[k] - 2.0f / (float)COLUMNS) < 1e-7f);
        for (int k = 0; k < COLUMNS; k++) x[k] = -INFINITY;
        run_rows(softmax, 6, x, y);
        for (int k = 0; k < COLUMNS; k++) assert_true(isnan(y[k]));
        x[0] = 1, x[5] = NAN;
        run_rows(softmax, 6, x, y);
        for (int k = 0; k < COLUMNS; k++) assert_true(isnan(y[k]));
        for (int k = 0; k < COLUMNS; k++) x[k] = FLT_MAX; /* its reciprocal is denormal */
        run_rows(quotient, 3, x, y);
        for (int k = 0; k < COLUMNS; k++) assert_true(y[k] == 1);
        for (int k = 0; k < COLUMNS; k++) x[k] = k ? -1 : 0;
        run_rows(quotient, 3, x, y);
        assert_true(isnan(y[0]) && y[1] == -INFINITY);
    }
    one->simd = table[0];
}

/* ---- chains with a quotient */
/* y = (x - a number of the row) / a divisor of the row * a number of the row + a number of the
   column, where the divisors of some rows have no usable reciprocal. */
enum { QUOTIENT_ROWS = 70, QUOTIENT_MOST = 40 };
static void check_quotients(int64_t columns) {
    static const float some[] = {3, 0, 1e-35f, -7, INFINITY, 3e38f, NAN, 0.1f, 11};
    static const Scalar code[] = {{.op = C_VIEW, .a = 1},        {.op = C_VIEW, .a = 2},
                                  {.op = C_SUB, .a = 0, .b = 1}, {.op = C_VIEW, .a = 3},
                                  {.op = C_DIV, .a = 2, .b = 3}, {.op = C_VIEW, .a = 4},
                                  {.op = C_MUL, .a = 4, .b = 5}, {.op = C_VIEW, .a = 5},
                                  {.op = C_ADD, .a = 6, .b = 7}};
    static float x[QUOTIENT_ROWS * QUOTIENT_MOST], y[QUOTIENT_ROWS * QUOTIENT_MOST],
        row[3][QUOTIENT_ROWS], column[QUOTIENT_MOST];
    View v[6];
    for (int k = 0; k < 6; k++)
        v[k] = (View){.slot = k,
                      .dtype = DT_FLOAT,
                      .rank = 2,
                      .dim = {QUOTIENT_ROWS, columns},
                      .stride = {k < 2 ? columns : k < 5, k < 2 || k == 5}};
    for (int64_t i = 0; i < QUOTIENT_ROWS * columns; i++) x[i] = (float)(i * 37 % 101 - 50) * 0.3f;
    for (int r = 0; r < QUOTIENT_ROWS; r++)
        row[0][r] = (float)r * 0.1f, row[1][r] = some[r % 9], row[2][r] = 2 - (float)r;
    for (int64_t c = 0; c < columns; c++) column[c] = (float)c * 0.5f;
    const Step s = {S_ROWS, 6, 1, 9, v, (const int64_t[]){1}, code, NULL};
    run_step(one, &s, (void *[]){y, x, row[0], row[1], row[2], column});
    for (int64_t i = 0; i < QUOTIENT_ROWS * columns; i++) {
        const int64_t r = i / columns;
        const double want = ((double)x[i] - (double)row[0][r]) / (double)row[1][r] *
                                (double)row[2][r] +
                            (double)column[i % columns],
                     got = (double)y[i], size = fabs(want - (double)column[i % columns]) + 25;
        assert_true(isnan(want) || fabs(want) > FLT_MAX ? isnan(got) || fabs(got) > 1e38
                                                        : fabs(got - want) <= 1e-6 * size);
    }
}
static void quotients_by_any_number(void **state) {
    (void)state;
    for (int t = 0; t < tables; t++)
        for (int64_t columns = 10; columns <= QUOTIENT_MOST; columns++)
            one->simd = table[t], check_quotients(columns);
    one->simd = table[0];
}

/* ---- rows that do not lie one after another */
/* y = max(x, mean of the row) - a number of the row, for rows whose elements are `runs` runs of
   `run` elements; rows lie one run apart, runs one run of every row apart. */
static float at_place(const float *x, int64_t rows, int64_t run, int64_t row, int64_t k) {
    return x[(k / run * rows + row) * run + k % run];
}
static void check_runs(int64_t rows, int64_t runs, int64_t run) {
    const int64_t columns = runs * run, all = rows * columns;
    float *x = malloc((size_t)all * sizeof *x), *y = malloc((size_t)all * sizeof *y),
          *z = malloc((size_t)all * sizeof *z), *number = malloc((size_t)rows * sizeof *number);
    View v[3] = {{.dtype = DT_FLOAT, .rank = 3, .dim = {rows, runs, run}}};
    v[0].stride[0] = run, v[0].stride[1] = rows * run, v[0].stride[2] = 1;
    v[1] = v[2] = v[0], v[1].slot = 1, v[2].slot = 2;
    v[2].stride[0] = 1, v[2].stride[1] = v[2].stride[2] = 0;
    const Scalar code[] = {{.op = C_VIEW, .a = 1},
                           {.op = C_ROW_SUM, .a = 0},
                           {.op = C_CONST, .k = (double)columns},
                           {.op = C_DIV, .a = 1, .b = 2},
                           {.op = C_MAX, .a = 0, .b = 3},
                           {.op = C_VIEW, .a = 2},
                           {.op = C_SUB, .a = 4, .b = 5}};
    const Step s = {S_ROWS, 3, 1, 7, v, (const int64_t[]){2}, code, NULL};
    for (int64_t k = 0; k < all; k++) x[k] = (float)(k * 7919 % 1009) / 1009, y[k] = z[k] = NAN;
    for (int64_t r = 0; r < rows; r++) number[r] = (float)r;
    assert_true(cpu_backend.choices(one, &s) > 0);
    run_step(one, &s, (void *[]){y, x, number});
    run_step(three, &s, (void *[]){z, x, number});
    assert_memory_equal(y, z, (size_t)all * sizeof *y);
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0;
        for (int64_t k = 0; k < columns; k++) mean += (double)at_place(x, rows, run, r, k);
        mean /= (double)columns;
        for (int64_t k = 0; k < columns; k++) {
            const double want = fmax((double)at_place(x, rows, run, r, k), mean) - (double)r,
                         have = (double)at_place(y, rows, run, r, k);
            if (!(fabs(want - have) <= 1e-6 * (1 + fabs(want))))
                fail_msg("%d rows of %d runs of %d: row %d, element %d: %g, not %g", (int)rows,
                         (int)runs, (int)run, (int)r, (int)k, have, want);
        }
    }
    free(x), free(y), free(z), free(number);
}
static void rows_of_runs_agree(void **state) {
    /* rows, runs and elements of a run: single elements are rows side by side; longer rows than
       8192 are cut into blocks, which need not end where a row or a run does; the last of
       17 rows is a tile of its own */
    static const int64_t shape[][3] = {{4, 100, 1},    {21, 8192, 1}, {9, 8193, 1}, {40, 9000, 1},
                                       {17, 16384, 1}, {17, 9000, 1}, {6, 300, 3},  {6, 300, 4},
                                       {5, 77, 12},    {8, 900, 12},  {9, 700, 16}, {8, 300, 32},
                                       {8, 300, 33}};
    (void)state;
    for (int i = 0; i < tables; i++) {
        one->simd = three->simd = table[i];
        for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
            check_runs(shape[k][0], shape[k][1], shape[k][2]);
    }
    one->simd = three->simd = table[0];
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_rows_agree), cmocka_unit_test(wrong_loops_are_caught),
        cmocka_unit_test(what_is_not_finite_stays_so), cmocka_unit_test(quotients_by_any_number),
        cmocka_unit_test(rows_of_runs_agree)};
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
