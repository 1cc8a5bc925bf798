/* ops_pointwise.c -- compares element-wise operators that the CPU back end runs as programs with
   additional instructions (ops/cpu/pointwise.c) with their reference kernels. All types occur, also
   the narrow classes, whose values wrap, and inputs with missing axes or axes of one place.
   Reductions of the narrow classes and of many columns are tested, too. */
#include "test/shared/kernel_check.h"

static const DType whole_types[] = {DT_INT8,  DT_UINT8,  DT_INT16, DT_UINT16,
                                    DT_INT32, DT_UINT32, DT_INT64, DT_UINT64};
static DType whole_type(Drawn *t) { return whole_types[draw(t, 0, 7)]; }
/* Draws small numbers, the limits of the type and, for wide types, numbers beyond 2^53. */
static double any_whole(Drawn *t, double low, double high) {
    const int64_t how = draw(t, 0, 9);
    if (how == 0) return low;
    if (how == 1) return high;
    if (how == 2) return ldexp((double)draw(t, -3, 3), (int)draw(t, 0, 62));
    return (double)draw(t, -9, 9);
}
static void ends_of(DType type, double *low, double *high) {
    const int bits = dtype_bits(type);
    const bool sign = dtype_class(type) == 'I';
    *low = sign ? -ldexp(1, bits - 1) : 0;
    /* The reference kernel divides 64-bit numbers as if they were signed. */
    *high = ldexp(1, sign || bits == 64 ? bits - 1 : bits) - (bits < 60 ? 1 : 1024);
}
static void fill_wholes(Drawn *t, int k) {
    const View *v = &t->view[k];
    int64_t i[STEP_RANK];
    double low, high;
    ends_of((DType)v->dtype, &low, &high);
    for (bool more = kernel_first(v, i); more; more = kernel_next(v, i)) {
        double x = any_whole(t, low, high);
        while (x < low || x > high) x = any_whole(t, low, high);
        element_set_real((DType)v->dtype, t->data[k], kernel_at(v, i), x);
    }
}
/* Draws the sizes of two inputs: the second one has the axes of the first or only its last axes,
   some with a single place. */
static int pair_sizes(Drawn *t, int64_t a[], int64_t b[], int *nb) {
    const int n = sizes(t, 0, 4, a), missing = draw(t, 0, 2) ? 0 : (int)draw(t, 0, n);
    *nb = n - missing;
    for (int k = 0; k < *nb; k++) b[k] = a[missing + k];
    return n;
}
static void draw_wholes(Drawn *t, int inputs) {
    int64_t a[STEP_RANK], b[STEP_RANK];
    int nb;
    const int n = pair_sizes(t, a, b, &nb);
    const DType type = whole_type(t);
    fill_wholes(t, input(t, type, n, a));
    if (inputs > 1) fill_wholes(t, input(t, type, nb, b));
}
static void draw_one(Drawn *t) { draw_wholes(t, 1); }
static void draw_two(Drawn *t) { draw_wholes(t, 2); }
static void draw_mod(Drawn *t) {
    const bool rest = draw(t, 0, 1), floats = rest && draw(t, 0, 1);
    int64_t a[STEP_RANK], b[STEP_RANK];
    int nb;
    attribute(t, "truncated", rest ? "yes" : "no");
    if (!floats) {
        draw_wholes(t, 2);
        return;
    }
    const int n = pair_sizes(t, a, b, &nb);
    const DType type = draw(t, 0, 2) ? DT_FLOAT : DT_DOUBLE;
    const double far = draw(t, 0, 3) ? 30 : 1e12; /* quotients may exceed 2^28 */
    reals(t, type, n, a, -far, far);
    reals(t, type, nb, b, -9, 9);
}
static void draw_shift(Drawn *t) {
    static const DType unsigned_types[] = {DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64};
    int64_t a[STEP_RANK], b[STEP_RANK];
    int nb;
    const int n = pair_sizes(t, a, b, &nb);
    const DType type = unsigned_types[draw(t, 0, 3)];
    attribute(t, "direction", draw(t, 0, 1) ? "left" : "right");
    fill_wholes(t, input(t, type, n, a));
    wholes(t, type, nb, b, 0, 70);
}
static DType real_type(Drawn *t) {
    static const DType types[] = {DT_FLOAT, DT_FLOAT, DT_DOUBLE, DT_FLOAT16, DT_BFLOAT16};
    return types[draw(t, 0, 4)];
}
/* Draws real numbers of a random type. The tolerance is about the distance of neighbours in that
   type. */
static void draw_reals(Drawn *t, double low, double high) {
    int64_t a[STEP_RANK];
    const DType type = real_type(t);
    const int n = sizes(t, 0, 4, a);
    t->tolerance = type == DT_FLOAT16 ? 1e-3 : type == DT_BFLOAT16 ? 1e-2 : 1e-6;
    reals(t, type, n, a, low, high);
}
static void draw_unit(Drawn *t) { draw_reals(t, -1, 1); }
static void draw_wide(Drawn *t) { draw_reals(t, -8, 8); }
/* Up to where the hyperbolic functions overflow, which is beyond where e^x does. */
static void draw_high(Drawn *t) {
    if (draw(t, 0, 1)) draw_reals(t, 88, 89.4);
    else draw_wide(t);
}
static void draw_above(Drawn *t) { draw_reals(t, 1, 50); }
static void draw_inside(Drawn *t) { draw_reals(t, -0.999, 0.999); }
static void draw_threshold(Drawn *t) {
    attribute(t, "alpha", draw(t, 0, 1) ? "1" : "-1/2");
    draw_reals(t, -2, 2);
}
static void draw_shrink(Drawn *t) {
    attribute(t, "bias", draw(t, 0, 1) ? "1/4" : "0");
    attribute(t, "lambda", draw(t, 0, 2) ? "1/2" : "-1/2");
    draw_reals(t, -2, 2);
}

static const Family families[] = {
    {"bitwise_not", draw_one, false},
    {"bitwise_and", draw_two, false},
    {"bitwise_or", draw_two, false},
    {"bitwise_xor", draw_two, false},
    {"bitshift", draw_shift, false},
    {"div", draw_two, false},
    {"pow", draw_two, false},
    {"mod", draw_mod, false},
    {"asin", draw_unit, false},
    {"acos", draw_unit, false},
    {"atan", draw_wide, false},
    {"sinh", draw_high, false},
    {"cosh", draw_high, false},
    {"asinh", draw_wide, false},
    {"acosh", draw_above, false},
    {"atanh", draw_inside, false},
    {"thresholdedrelu", draw_threshold, false},
    {"shrink", draw_shrink, false},
    {0},
};

/* ---- programs of integers whose intermediate values exceed the narrow types, against plain
   int64 */
enum { INPUTS = 3, ELEMENTS = 70, LENGTH = 12 };
static int64_t wrapped(DType type, int64_t x) {
    int64_t room = 0;
    if (type == DT_BOOL) return x != 0;
    element_set_integer(type, &room, 0, x);
    return element_integer(type, &room, 0);
}
static int64_t computed(const Scalar *c, const int64_t v[]) {
    const int64_t a = v[c->a], b = c->op == C_AS ? 0 : v[c->b];
    switch (c->op) {
    case C_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case C_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case C_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case C_NEG: return (int64_t)(0 - (uint64_t)a);
    case C_ABS: return a < 0 ? -a : a;
    case C_MIN: return a < b ? a : b;
    case C_MAX: return a > b ? a : b;
    case C_LT: return a < b;
    case C_DIV: return b == 0 ? 0 : a / b;
    case C_MOD: return b == 0 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;
    case C_NOT: return a == 0;
    case C_WHERE: return a ? b : v[c->c];
    default: return wrapped((DType)c->b, a);
    }
}
static int64_t drawn_number(Random *r) {
    return (int64_t)(random_unit(r) * ldexp(1, 33)) - (1LL << 32);
}
static Scalar drawn_instruction(Random *r, int n) {
    static const uint8_t ops[] = {C_ADD, C_SUB, C_MUL, C_MUL, C_NEG, C_ABS,   C_MIN,
                                  C_MAX, C_LT,  C_DIV, C_MOD, C_NOT, C_WHERE, C_AS};
    static const uint8_t types[] = {DT_BOOL, DT_INT8, DT_UINT8, DT_INT16, DT_INT32};
    Scalar c = {.op = ops[random_below(r, sizeof ops)]};
    c.a = (uint8_t)random_below(r, (uint64_t)n);
    if (scalar_values(c.op) > 1) c.b = (uint8_t)random_below(r, (uint64_t)n);
    if (scalar_values(c.op) > 2) c.c = (uint8_t)random_below(r, (uint64_t)n);
    if (c.op == C_AS) c.b = types[random_below(r, sizeof types)];
    return c;
}
static void narrow_programs_equal_wide_ones(void **state) {
    (void)state;
    static const DType types[] = {DT_BOOL, DT_INT8, DT_UINT8, DT_INT16, DT_UINT16, DT_INT32};
    for (uint64_t seed = 0; seed < 3000; seed++) {
        Random r = {.seed = seed};
        const int64_t dim[] = {ELEMENTS};
        int64_t data[INPUTS + 1][ELEMENTS] = {{0}}, narrow[ELEMENTS], v[LENGTH];
        Scalar code[LENGTH] = {{.op = C_CONST, .k = (double)random_below(&r, 300)}};
        View view[INPUTS + 1];
        const int length = 6 + (int)random_below(&r, LENGTH - 5), limit = (int)random_below(&r, 5);
        for (int k = 0; k <= INPUTS; k++) {
            view[k] = view_dense(k, (int32_t)types[random_below(&r, limit ? 6 : 4)], 1, dim);
            for (int i = 0; i < ELEMENTS && k; i++)
                element_set_integer((DType)view[k].dtype, data[k], i,
                                    wrapped((DType)view[k].dtype, drawn_number(&r)));
            if (k) code[k] = (Scalar){.op = C_VIEW, .a = (uint8_t)k};
        }
        for (int i = INPUTS + 1; i < length; i++) code[i] = drawn_instruction(&r, i);
        const Step step = {
            .kind = S_EWISE, .nview = INPUTS + 1, .ncode = length, .view = view, .code = code};
        void *const slot[] = {data[0], data[1], data[2], data[3]};
        for (int d = 0; d < 2; d++) {
            size_t bytes;
            Kernel *k = cpu->compile(device[d], &step, 0, NULL, &bytes, NULL, NULL, 0);
            assert_non_null(k);
            char *work = cpu->alloc(device[d], bytes);
            assert_int_equal(cpu->run(k, slot, work), 0);
            memcpy(narrow, data[0], sizeof narrow);
            for (int i = 0; i < ELEMENTS; i++) {
                v[0] = (int64_t)code[0].k;
                for (int j = 1; j < length; j++)
                    v[j] = j <= INPUTS ? element_integer((DType)view[j].dtype, data[j], i)
                                       : computed(&code[j], v);
                const int64_t want = wrapped((DType)view[0].dtype, v[length - 1]),
                              got = element_integer((DType)view[0].dtype, narrow, i);
                if (want != got)
                    fail_msg("program %d, device %d, element %d: %lld, should be %lld", (int)seed,
                             d, i, (long long)got, (long long)want);
            }
            cpu->release(device[d], work);
            cpu->forget(k);
        }
    }
}

/* 255 * (2^32 + 1) * 257 * 65537 = 2^64 - 1: both ends of the range of the products wrap, to 0 and
   -1, which fit 16 bits, but products in between do not. */
static void products_that_wrap_are_not_narrow(void **state) {
    (void)state;
    static const Scalar code[] = {
        {.op = C_VIEW, .a = 1},        {.op = C_CONST, .k = 4294967297.0},
        {.op = C_MUL, .a = 0, .b = 1}, {.op = C_CONST, .k = 257.0 * 65537.0},
        {.op = C_MUL, .a = 2, .b = 3}, {.op = C_CONST, .k = 300},
        {.op = C_LT, .a = 4, .b = 5}};
    const int64_t dim[] = {2};
    const View view[] = {view_dense(0, DT_BOOL, 1, dim), view_dense(1, DT_UINT8, 1, dim)};
    const Step step = {.kind = S_EWISE, .nview = 2, .ncode = 7, .view = view, .code = code};
    for (int d = 0; d < 2; d++) {
        uint8_t x[2] = {1, 0}, y[2] = {9, 9};
        size_t bytes;
        Kernel *k = cpu->compile(device[d], &step, 0, NULL, &bytes, NULL, NULL, 0);
        assert_non_null(k);
        char *work = cpu->alloc(device[d], bytes);
        assert_int_equal(cpu->run(k, (void *[]){y, x}, work), 0);
        assert_int_equal(y[0], 0);
        assert_int_equal(y[1], 1);
        cpu->release(device[d], work);
        cpu->forget(k);
    }
}

/* ---- reductions of more columns than are computed side by side, of integers, so that sums are
   exact. The result has the order of the input in memory or the other one. */
static double reduced_plainly(const Step *s, const char *x, int64_t i, int64_t j) {
    const View *v = &s->view[1];
    const bool greatest = s->param[0] == REDUCE_MAX;
    double y = greatest ? -(double)INFINITY : 0;
    for (int64_t k = 0; k < v->dim[2]; k++) {
        const double at = element_real((DType)v->dtype, x,
                                       i * v->stride[0] + j * v->stride[1] + k * v->stride[2]);
        y = !greatest ? y + at : at > y ? at : y;
    }
    return y;
}
static void check_reduction(uint64_t seed) {
    static const DType types[] = {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT16, DT_UINT8, DT_INT64};
    Random r = {.seed = seed};
    const int64_t few = 2 + (int64_t)random_below(&r, 3),
                  many = 1000 + (int64_t)random_below(&r, 200),
                  terms = 1 + (int64_t)random_below(&r, 4);
    const DType type = types[random_below(&r, 6)];
    const bool turned = random_below(&r, 2);
    const int64_t param[] = {random_below(&r, 2) ? REDUCE_MAX : REDUCE_SUM};
    View view[2] = {view_dense(0, (int32_t)type, 2, (int64_t[]){few, many}),
                    view_dense(1, (int32_t)type, 3, (int64_t[]){few, many, terms})};
    view[1].stride[0] = terms * many, view[1].stride[1] = 1, view[1].stride[2] = many;
    if (turned) view[0].stride[0] = 1, view[0].stride[1] = few;
    const Step step = {.kind = S_REDUCE, .nview = 2, .nparam = 1, .view = view, .param = param};
    const size_t bytes = (size_t)(few * many * 8);
    char *x = test_malloc(bytes * (size_t)terms), *y = test_malloc(bytes);
    for (int64_t i = 0; i < few * many * terms; i++)
        element_set_real(type, x, i, (double)random_below(&r, 50));
    for (int d = 0; d < 4; d++) {
        size_t room;
        Kernel *k = cpu->compile(device[d], &step, 0, NULL, &room, NULL, NULL, 0);
        assert_non_null(k);
        char *work = cpu->alloc(device[d], room);
        assert_int_equal(cpu->run(k, (void *[]){y, x}, work), 0);
        for (int64_t i = 0; i < few; i++)
            for (int64_t j = 0; j < many; j++)
                assert_float_equal(
                    element_real(type, y, i * view[0].stride[0] + j * view[0].stride[1]),
                    reduced_plainly(&step, x, i, j), 0);
        cpu->release(device[d], work);
        cpu->forget(k);
    }
    test_free(x);
    test_free(y);
}
/* Sums of rows of bytes, which may have gaps, are exact for the greatest and least bytes, too. */
static void rows_of_bytes_are_summed(void **state) {
    (void)state;
    enum { ROWS = 3, MOST = 3000, BYTE = 256 };
    static uint8_t x[ROWS * (MOST + 5)];
    const int64_t lengths[] = {1, 7, 15, 16, 17, 64, 1023, 1024, 1032, MOST};
    Random r = {.seed = 1};
    for (int n = 0; n < 4 * (int)(sizeof lengths / sizeof *lengths); n++) {
        const int64_t length = lengths[n / 4], dim[] = {ROWS, length},
                      gap = (int64_t)random_below(&r, 5);
        const DType type = n % 2 ? DT_INT8 : DT_UINT8;
        View view[2] = {view_dense(0, DT_INT32, 1, dim), view_dense(1, (int32_t)type, 2, dim)};
        view[1].stride[0] += gap;
        for (size_t i = 0; i < sizeof x; i++)
            x[i] = (uint8_t)(n % 4 < 2 ? random_below(&r, BYTE) : n % 2 ? BYTE / 2 : BYTE - 1);
        const Step step = {.kind = S_REDUCE,
                           .nview = 2,
                           .nparam = 1,
                           .view = view,
                           .param = &(int64_t){REDUCE_SUM}};
        for (int d = 0; d < 4; d++) {
            int32_t y[ROWS];
            size_t room;
            Kernel *k = cpu->compile(device[d], &step, 0, NULL, &room, NULL, NULL, 0);
            assert_non_null(k);
            char *work = cpu->alloc(device[d], room);
            assert_int_equal(cpu->run(k, (void *[]){y, x}, work), 0);
            for (int64_t i = 0; i < ROWS; i++) {
                int64_t sum = 0;
                for (int64_t j = 0; j < length; j++)
                    sum += element_integer(type, x, i * view[1].stride[0] + j);
                assert_int_equal(y[i], sum);
            }
            cpu->release(device[d], work);
            cpu->forget(k);
        }
    }
}
static void many_columns_are_reduced(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) check_reduction(seed);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_columns_are_reduced), cmocka_unit_test(rows_of_bytes_are_summed),
        FAMILIES_TEST(families), cmocka_unit_test(narrow_programs_equal_wide_ones),
        cmocka_unit_test(products_that_wrap_are_not_narrow)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
