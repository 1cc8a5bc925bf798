/* ops_topk.c -- tests topk on the CPU (ops/cpu/topk.c): random lines, short and long, with few and
   many different numbers, also the ends of 64 bits, are compared with a sort by comparisons in
   every instruction set of the machine. Three threads give the same bytes, faulty loops are
   noticed, and NaN and both zeros occur. */
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "test/shared/simd_tables.h"
#include "test/shared/sample.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const Backend cpu_backend;
enum { CASES = 400, LINE_MOST = 3000, GAP = 64 };
typedef struct Drawn {
    Random random;
    View view[3]; /* the results, their places, the input */
    char *x, *y;
    int64_t *where;
    int axis;
    int64_t n, k, lines; /* n elements of each line, of which k are results */
    bool largest;
} Drawn;
static int64_t draw(Drawn *t, int64_t low, int64_t high) {
    return low + (int64_t)random_below(&t->random, (uint64_t)(high - low + 1));
}
static size_t bytes_of(const View *v, int64_t count) {
    return element_bytes((DType)v->dtype, count) + GAP;
}

/* Draws few different numbers, many, or ascending ones. With ascending ones, all later elements
   exceed any bound that the beginning of a line gives. */
static void draw_numbers(Drawn *t) {
    static const int64_t far[] = {1, 9, 100, 1000000};
    const int64_t most = far[draw(t, 0, 3)], ascending = draw(t, 0, 4) == 0;
    const DType type = (DType)t->view[2].dtype;
    for (int64_t j = 0; j < t->lines * t->n; j++) {
        const double low = dtype_class(type) == 'U' ? 0 : (double)-most;
        double value = ascending ? (double)j : (double)draw(t, (int64_t)low, most);
        if (dtype_class(type) == 'F') value /= 64;
        if (dtype_bits(type) == 8) value = fmod(value, 120);
        element_set_real(type, t->x, j, value);
    }
}
/* Puts the greatest and the least number of a 64-bit integer type into each line. */
static void put_extremes(Drawn *t) {
    const bool negative = t->view[2].dtype == DT_INT64;
    uint64_t *x = (uint64_t *)(void *)t->x;
    for (int64_t line = 0; line < t->lines && t->n > 1; line++) {
        const int64_t first = draw(t, 0, t->n - 1), last = (first + draw(t, 1, t->n - 1)) % t->n,
                      *stride = t->view[2].stride, from = line * stride[1 - t->axis];
        x[from + first * stride[t->axis]] = negative ? (uint64_t)INT64_MAX : UINT64_MAX;
        x[from + last * stride[t->axis]] = negative ? (uint64_t)INT64_MIN : 0;
    }
}
static Drawn *draw_case(uint64_t seed) {
    static const DType types[] = {DT_FLOAT,  DT_FLOAT, DT_FLOAT,  DT_FLOAT16, DT_BFLOAT16,
                                  DT_DOUBLE, DT_INT64, DT_UINT64, DT_INT32,   DT_UINT8};
    static const int64_t sizes[] = {4, 40, 300, LINE_MOST};
    Drawn *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->random.seed = seed;
    const DType type = types[draw(t, 0, 9)];
    t->n = draw(t, 1, sizes[draw(t, 0, 3)]);
    t->lines = draw(t, 1, t->n > 300 ? 3 : draw(t, 0, 1) ? 20 : 200);
    t->k = draw(t, 0, 2) ? draw(t, 1, t->n < 12 ? t->n : 12) : draw(t, 1, t->n);
    t->axis = (int)draw(t, 0, 1), t->largest = draw(t, 0, 1);
    int64_t dim[2] = {t->axis ? t->lines : t->n, t->axis ? t->n : t->lines};
    t->view[2] = view_dense(2, (int32_t)type, 2, dim);
    dim[t->axis] = t->k;
    t->view[0] = view_dense(0, (int32_t)type, 2, dim);
    t->view[1] = view_dense(1, DT_INT64, 2, dim);
    t->x = malloc(bytes_of(&t->view[2], t->lines * t->n));
    t->y = malloc(bytes_of(&t->view[0], t->lines * t->k));
    t->where = malloc((size_t)(t->lines * t->k) * sizeof *t->where + GAP);
    assert_true(t->x && t->y && t->where);
    draw_numbers(t);
    if ((type == DT_INT64 || type == DT_UINT64) && draw(t, 0, 1)) put_extremes(t);
    return t;
}
static void drop_case(Drawn *t) { free(t->x), free(t->y), free(t->where), free(t); }

/* What a kernel finds in its working memory: bytes that it must not use before it sets them. */
static int unset = 0xff;

static void run_case(Drawn *t, Device *d) {
    const int64_t param[] = {2, t->axis, t->largest};
    const Step s = {
        .kind = S_OP, .nview = 3, .nparam = 3, .view = t->view, .param = param, .op = "topk"};
    char why[200];
    size_t room = 0;
    Kernel *k =
        cpu_backend.compile(d, &s, 0, (const void *[3]){NULL}, &room, NULL, why, sizeof why);
    void *slot[] = {t->y, t->where, t->x};
    assert_non_null(k);
    char *work = cpu_backend.alloc(d, room + GAP);
    memset(work, unset, room), memset(work + room, 0x5a, GAP);
    memset(t->y, 0x5a, bytes_of(&t->view[0], t->lines * t->k));
    memset(t->where, 0x5a, (size_t)(t->lines * t->k) * sizeof *t->where + GAP);
    assert_int_equal(cpu_backend.run(k, slot, work), 0);
    for (int j = 0; j < GAP; j++) assert_int_equal(work[room + (size_t)j], 0x5a);
    cpu_backend.release(d, work);
    cpu_backend.forget(k);
}

/* ---- a sort by comparisons: which places of a line come first */
static int64_t place(const View *v, const Drawn *t, int64_t line, int64_t along) {
    return line * v->stride[1 - t->axis] + along * v->stride[t->axis];
}
/* A NaN comes after all numbers. */
static bool precedes(const Drawn *t, double a, double b) {
    return isnan(a) ? false : isnan(b) ? true : t->largest ? a > b : a < b;
}
static bool line_right(const Drawn *t, int64_t line) {
    const DType type = (DType)t->view[2].dtype;
    int64_t *order = malloc((size_t)t->n * sizeof *order);
    double *x = malloc((size_t)t->n * sizeof *x);
    bool right = true;
    for (int64_t j = 0; j < t->n; j++)
        x[j] = element_real(type, t->x, place(&t->view[2], t, line, j));
    for (int64_t j = 0; j < t->n; j++) { /* insertion sort that keeps the first k */
        int64_t at = j < t->k ? j : t->k;
        for (; at > 0 && precedes(t, x[j], x[order[at - 1]]); at--)
            if (at < t->k) order[at] = order[at - 1];
        if (at < t->k) order[at] = j;
    }
    for (int64_t j = 0; j < t->k && right; j++) {
        const int64_t to = place(&t->view[0], t, line, j),
                      from = place(&t->view[2], t, line, order[j]);
        const size_t size = element_bytes(type, 1);
        right = t->where[to] == order[j] &&
                !memcmp(t->y + (size_t)to * size, t->x + (size_t)from * size, size);
    }
    free(order), free(x);
    return right;
}
static bool right(const Drawn *t) {
    const char *end = t->y + bytes_of(&t->view[0], t->lines * t->k) - GAP;
    for (int64_t line = 0; line < t->lines; line++)
        if (!line_right(t, line)) return false;
    for (int j = 0; j < GAP; j++)
        if (end[j] != 0x5a) return false;
    return true;
}

static void drawn_lines_agree(void **state) {
    (void)state;
    for (int i = 0; i < tables; i++) {
        one->simd = three->simd = table[i];
        for (uint64_t seed = 0; seed < CASES; seed += (uint64_t)sample_step()) {
            Drawn *t = draw_case(seed);
            run_case(t, one);
            if (!right(t))
                fail_msg("%s, seed %d: %s of %d, the first %d along axis %d", table[i]->name,
                         (int)seed, dtype_name((DType)t->view[2].dtype), (int)t->n, (int)t->k,
                         t->axis);
            run_case(t, three);
            assert_true(right(t));
            drop_case(t);
        }
    }
    one->simd = three->simd = table[0];
}

/* ---- loops with a fault */
static bool notices(uint64_t seed) {
    Drawn *t = draw_case(seed);
    run_case(t, one);
    const bool noticed = !right(t);
    drop_case(t);
    return noticed;
}
static void unturned(void *key, const void *x, bool largest, int64_t n) {
    (void)largest;
    table[0]->order[CLASS_FLOAT](key, x, true, n);
}
static int64_t from_any(int32_t *at, const void *key, int64_t least, int64_t n) {
    (void)least;
    return table[0]->places_from[0](at, key, INT32_MIN, n);
}
static int64_t one_more(const void *key, int64_t least, int64_t n) {
    return table[0]->count_from[0](key, least, n) + 1;
}
static void first_first(int32_t *rank, const void *key, int64_t n) {
    (void)key;
    for (int64_t j = 0; j < n; j++) rank[j] = (int32_t)j;
}
static void without_last(const FirstRows *f) {
    FirstRows less = *f;
    less.rows -= f->rows > f->k;
    table[0]->first_of_rows[0](&less);
}
static int64_t last_place(const void *x, const void *value, int64_t n, bool last) {
    return table[0]->place[CLASS_INT32](x, value, n, !last);
}
static void wrong_loops_are_caught(void **state) {
    (void)state;
    Simd simd = *table[0];
    simd.order[CLASS_FLOAT] = unturned;
    assert_true(cases_noticed(&simd, CASES, notices) > 60);
    simd = *table[0], simd.rank[0] = first_first;
    assert_true(cases_noticed(&simd, CASES, notices) > 40);
    simd = *table[0], simd.first_of_rows[0] = without_last;
    assert_true(cases_noticed(&simd, CASES, notices) > 10);
    simd = *table[0], simd.place[CLASS_INT32] = last_place;
    assert_true(cases_noticed(&simd, CASES, notices) > 3);
    /* This one lists fewer than k places, so places that were not set are read: of element 0, not
       of one outside the tensor. */
    simd = *table[0], simd.count_from[0] = one_more, unset = 0;
    assert_true(cases_noticed(&simd, CASES, notices) > 10);
    unset = 0xff;
    simd = *table[0], simd.places_from[0] = from_any; /* slower, but right */
    assert_int_equal(cases_noticed(&simd, CASES, notices), 0);
    assert_int_equal(cases_noticed(table[0], CASES, notices), 0);
}

/* ---- NaN comes last, in the order of the input, and both zeros are equal */
static void odd_numbers(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        Drawn *t = draw_case(seed);
        const DType type = (DType)t->view[2].dtype;
        const double odd[] = {NAN, -NAN, INFINITY, -INFINITY, 0, -0.0};
        if (dtype_class(type) == 'F')
            for (int64_t j = 0; j < t->n * t->lines; j++)
                if (draw(t, 0, 1)) element_set_real(type, t->x, j, odd[draw(t, 0, 5)]);
        for (int i = 0; i < tables; i++) {
            one->simd = table[i];
            run_case(t, one);
            assert_true(right(t));
        }
        drop_case(t);
    }
    one->simd = table[0];
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_lines_agree),
                                       cmocka_unit_test(wrong_loops_are_caught),
                                       cmocka_unit_test(odd_numbers)};
    return cmocka_run_group_tests(tests, open_tables, close_tables);
}
