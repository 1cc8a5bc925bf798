/* ops_lines.c -- tests that chains of sums, products and limits, which the CPU back end runs as one
   pass (ops/cpu/line.c), give the same bytes as their instructions one by one: with constants and
   with numbers that differ from row to row, in rows of many lengths, for NaN and infinities, in
   every instruction set of the machine, and on three threads. */
#include "test/shared/simd_tables.h"
#include <math.h>
#include <stdlib.h>

enum { ROWS = 5, LONGEST = 9001, VIEWS = 4 };
typedef struct Program {
    const char *what;
    Scalar code[12];
    int ncode;
} Program;
/* View 0 is the result, view 1 has a number for each element, views 2 and 3 one for each row. */
static const Program programs[] = {
    {"a row's number is added",
     {{.op = C_VIEW, .a = 1}, {.op = C_VIEW, .a = 2}, {.op = C_ADD, .a = 0, .b = 1}},
     3},
    {"a row's number is the first factor",
     {{.op = C_VIEW, .a = 2}, {.op = C_VIEW, .a = 1}, {.op = C_MUL, .a = 0, .b = 1}},
     3},
    {"x less one number times another, limited",
     {{.op = C_VIEW, .a = 1},
      {.op = C_VIEW, .a = 2},
      {.op = C_SUB, .a = 0, .b = 1},
      {.op = C_VIEW, .a = 3},
      {.op = C_MUL, .a = 2, .b = 3},
      {.op = C_CONST, .k = -0.25},
      {.op = C_MAX, .a = 4, .b = 5},
      {.op = C_CONST, .k = 0.5},
      {.op = C_MIN, .a = 6, .b = 7}},
     9},
    {"a line of constants between 0 and 1, the minimum first",
     {{.op = C_VIEW, .a = 1},
      {.op = C_CONST, .k = 0.2},
      {.op = C_MUL, .a = 0, .b = 1},
      {.op = C_CONST, .k = 0.5},
      {.op = C_ADD, .a = 2, .b = 3},
      {.op = C_CONST, .k = 1},
      {.op = C_MIN, .a = 5, .b = 4},
      {.op = C_CONST, .k = 0},
      {.op = C_MAX, .a = 7, .b = 6}},
     9},
    {"a maximum above the minimum",
     {{.op = C_VIEW, .a = 1},
      {.op = C_CONST, .k = -0.5},
      {.op = C_MIN, .a = 0, .b = 1},
      {.op = C_CONST, .k = 0.5},
      {.op = C_MAX, .a = 2, .b = 3}},
     5},
    {"a value that two instructions read",
     {{.op = C_VIEW, .a = 1},
      {.op = C_VIEW, .a = 2},
      {.op = C_MUL, .a = 0, .b = 1},
      {.op = C_ADD, .a = 2, .b = 1},
      {.op = C_CONST, .k = 0.5},
      {.op = C_MIN, .a = 3, .b = 4},
      {.op = C_SUB, .a = 5, .b = 2}},
     7},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* The program's result for an element, one instruction after the other. */
static float result(const Program *p, const float of[VIEWS]) {
    float v[12] = {0};
    for (int i = 0; i < p->ncode; i++) {
        const Scalar *c = &p->code[i];
        const float x = v[c->a], z = v[c->b];
        v[i] = c->op == C_VIEW    ? of[c->a]
               : c->op == C_CONST ? (float)c->k
               : c->op == C_ADD   ? x + z
               : c->op == C_SUB   ? x - z
               : c->op == C_MUL   ? x * z
               : c->op == C_MAX   ? (x > z || x != x ? x : z)
                                  : (x < z || x != x ? x : z);
    }
    return v[p->ncode - 1];
}
static float x[ROWS * LONGEST], row[2][ROWS], y[ROWS * LONGEST + 1], again[ROWS * LONGEST + 1];
static void draw(int64_t columns) {
    for (int64_t i = 0; i < ROWS * columns; i++) x[i] = (float)(i * 37 % 1009 - 500) * 0.0037f;
    x[columns / 2] = NAN, x[columns] = INFINITY, x[2 * columns - 1] = -INFINITY;
    for (int r = 0; r < ROWS; r++) row[0][r] = (float)(r - 2) * 0.31f, row[1][r] = 1.7f - (float)r;
}
static void run(Device *d, const Program *p, int64_t columns, float *to) {
    View v[VIEWS];
    for (int k = 0; k < VIEWS; k++)
        v[k] = (View){.slot = k,
                      .dtype = DT_FLOAT,
                      .rank = 2,
                      .dim = {ROWS, columns},
                      .stride = {k < 2 ? columns : 1, k < 2}};
    const Step s = {S_EWISE, VIEWS, 0, p->ncode, v, NULL, p->code, NULL};
    to[ROWS * columns] = 7;
    run_step(d, &s, (void *[]){to, x, row[0], row[1]});
    assert_true(to[ROWS * columns] == 7);
}
/* The number of elements that differ from the instructions run one by one. */
static int wrong_elements(const Program *p, int64_t columns) {
    int wrong = 0;
    for (int64_t i = 0; i < ROWS * columns; i++) {
        const int64_t r = i / columns;
        const float want = result(p, (const float[]){0, x[i], row[0][r], row[1][r]});
        wrong += want != want ? y[i] == y[i] : want != y[i];
    }
    return wrong;
}
static void chains_are_their_instructions(void **state) {
    static const int64_t lengths[] = {1,   2,   7,   8,   9,   15,  16,  17,  31,   60,
                                      100, 200, 256, 257, 300, 511, 512, 513, 4096, LONGEST};
    (void)state;
    for (int t = 0; t < tables; t++)
        for (int k = 0; k < (int)(sizeof lengths / sizeof *lengths); k++)
            for (int j = 0; j < PROGRAMS; j++) {
                const int64_t columns = lengths[k];
                one->simd = three->simd = table[t];
                draw(columns);
                run(one, &programs[j], columns, y);
                if (wrong_elements(&programs[j], columns))
                    fail_msg("%s, %s, %d columns", table[t]->name, programs[j].what, (int)columns);
                run(three, &programs[j], columns, again);
                assert_memory_equal(y, again, (size_t)(ROWS * columns) * sizeof *y);
            }
    one->simd = three->simd = table[0];
}

/* A pass that forgets a limit is noticed, so limits are taken into passes. */
static void without_limits(float *to, const float *from, const float k[6], int64_t n) {
    table[0]->line(to, from, k, n);
}
static void adds_too_much(float *to, const float *from, const float k[6], int64_t n) {
    table[0]->line(to, from, k, n);
    to[n - 1] += 1;
}
static void forgets_a_row(float *to, const float *from, const RowNumbers *k, const float *scale,
                          const float *shift, int64_t n, int64_t rows) {
    table[0]->row_scaled(to, from, k, scale, shift, n, rows - 1);
}
static bool notices(const Program *p, int64_t columns) {
    draw(columns);
    run(one, p, columns, y);
    return wrong_elements(p, columns) > 0;
}
static bool notices_long_rows(uint64_t seed) { return notices(&programs[seed], 600); }
static bool notices_short_rows(uint64_t seed) { return notices(&programs[seed], 100); }
static bool notices_shortest_rows(uint64_t seed) { return notices(&programs[seed], 8); }
static void faulty_passes_are_noticed(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.limited = without_limits, simd.line = adds_too_much, simd.row_scaled = forgets_a_row;
    assert_int_equal(cases_noticed(&simd, 4, notices_long_rows), 4);
    assert_int_equal(cases_noticed(table[0], 4, notices_long_rows), 0);
    assert_int_equal(cases_noticed(&simd, 3, notices_short_rows), 3);
    assert_int_equal(cases_noticed(table[0], 3, notices_short_rows), 0);
    assert_int_equal(cases_noticed(&simd, 3, notices_shortest_rows), 3);
    assert_int_equal(cases_noticed(table[0], 3, notices_shortest_rows), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_are_their_instructions),
                                       cmocka_unit_test(faulty_passes_are_noticed)};
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
