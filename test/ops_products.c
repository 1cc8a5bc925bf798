/* ops_products.c -- compares products and convolutions with the loop program of their definition:
   steps of random types, sizes, layouts and attributes run on the CPU back end with and without
   special instruction sets and with three threads. */
#include "test/shared/kernel_check.h"

/* ---- sums of products of bytes: extreme numbers, and more terms than floats can add exactly */
static double extreme(Drawn *t, double low, double high) {
    const int64_t how = draw(t, 0, 3);
    return how == 0 ? low : how == 1 ? high : whole(t, low, high);
}
static void bytes(Drawn *t, DType dtype, int rank, const int64_t dim[]) {
    const bool sign = dtype == DT_INT8;
    fill(t, input(t, dtype, rank, dim), extreme, sign ? -128 : 0, sign ? 127 : 255);
}
static DType some_byte(Drawn *t) { return draw(t, 0, 1) ? DT_INT8 : DT_UINT8; }
static void maybe_zero(Drawn *t, DType dtype, int64_t places) {
    const int64_t n = draw(t, 0, 1) ? places : 1;
    if (draw(t, 0, 2)) bytes(t, dtype, (int)draw(t, n > 1, 1), &n);
    else left_out(t);
}
static void draw_integer_product(Drawn *t) {
    const DType a = some_byte(t), b = some_byte(t);
    const int64_t n = draw(t, 0, 2) ? draw(t, 1, 20) : draw(t, 250, 1200), rows = draw(t, 1, 9),
                  columns = draw(t, 1, 20);
    bytes(t, a, 2, (int64_t[]){rows, n});
    bytes(t, b, 2, (int64_t[]){n, columns});
    maybe_zero(t, a, rows);
    maybe_zero(t, b, columns);
}
static void draw_integer_conv(Drawn *t) {
    const DType x = some_byte(t), w = some_byte(t);
    const int64_t group = draw(t, 1, 2),
                  in = group == 1 ? draw(t, 0, 3) ? draw(t, 1, 70) : 32 : draw(t, 1, 40),
                  out = group * (draw(t, 0, 2) ? draw(t, 1, 6) : 16), kernel = draw(t, 1, 3),
                  size = draw(t, 3, 20);
    attribute(t, "group", "%d", (int)group);
    attribute(t, "strides", "[%d, 1]", (int)draw(t, 0, 3) / 3 + 1);
    attribute(t, "pads", draw(t, 0, 1) ? "[1, 1, 1, 1]" : "[0, 1, 1, 0]");
    attribute(t, "dilations", "[1, 1]");
    bytes(t, x, 4, (int64_t[]){draw(t, 1, 2), group * in, size, size});
    bytes(t, w, 4, (int64_t[]){out, in, kernel, kernel});
    maybe_zero(t, x, 1);
    maybe_zero(t, w, out);
}

/* Draws convolutions of one to three axes, with groups of one or several channels, whose weights
   are known, so that the device computes with integers if it can. Zero points may be known or
   not. */
static void draw_known_conv(Drawn *t) {
    enum { X, W, X_ZERO, W_ZERO };
    const DType x = some_byte(t), w = some_byte(t);
    const int n = (int)draw(t, 1, 3);
    const int64_t group = draw(t, 0, 1) ? 1 : draw(t, 2, 9), in = draw(t, 0, 2) ? draw(t, 1, 9) : 1,
                  out = group * (draw(t, 0, 1) ? draw(t, 1, 9) : 1);
    int64_t size[5] = {draw(t, 1, 2), group * in}, kernel[5] = {out, in}, pad[6], stride[3],
            dilation[3];
    for (int a = 0; a < n; a++) {
        kernel[a + 2] = draw(t, 1, 3), dilation[a] = draw(t, 1, 2), stride[a] = draw(t, 1, 2);
        pad[a] = draw(t, 0, 2), pad[a + n] = draw(t, 0, 2);
        size[a + 2] = (kernel[a + 2] - 1) * dilation[a] + draw(t, 1, 6);
    }
    attribute(t, "group", "%d", (int)group);
    numbers(t, "strides", n, stride);
    numbers(t, "pads", 2 * n, pad);
    numbers(t, "dilations", n, dilation);
    t->targeted = true, t->known = 1 << W | (uint64_t)draw(t, 0, 3) << X_ZERO;
    bytes(t, x, n + 2, size);
    bytes(t, w, n + 2, kernel);
    maybe_zero(t, x, 1);
    maybe_zero(t, w, out);
    if (t->view[W_ZERO].rank >= 0 && draw(t, 0, 1)) /* weights that fit without a correction */
        fill(t, W, whole, w == DT_INT8 ? -20 : 110, w == DT_INT8 ? 20 : 140),
            fill(t, W_ZERO, whole, w == DT_INT8 ? -20 : 110, w == DT_INT8 ? 20 : 140);
}

/* Draws products of integers, which wrap as their type does, with batches that one factor may
   lack. */
static void draw_product(Drawn *t) {
    static const DType types[] = {DT_INT32, DT_INT64, DT_INT16, DT_UINT8, DT_UINT32, DT_DOUBLE};
    const DType type = types[draw(t, 0, 5)];
    const int batch = (int)draw(t, 0, 2), lacking = (int)draw(t, 0, batch);
    const double high = draw(t, 0, 1)            ? 9
                        : dtype_bits(type) == 32 ? 1e5
                                                 : 120,
                 low = dtype_class(type) == 'U' ? 0 : -high;
    int64_t a[4] = {draw(t, 1, 3), draw(t, 1, 3)}, b[4];
    memcpy(b, a, sizeof b);
    a[batch] = draw(t, 1, draw(t, 0, 1) ? 9 : 50), a[batch + 1] = b[batch] = draw(t, 0, 40);
    b[batch + 1] = draw(t, 1, draw(t, 0, 1) ? 40 : 4);
    wholes(t, type, 2 + batch, a, low, high);
    wholes(t, type, 2 + batch - lacking, b + lacking, low, high);
}

/* Draws windows that may be wider than the image, some of whose taps lie in the padding only. */
static void draw_conv(Drawn *t) {
    const int64_t group = draw(t, 1, 3), in = group * draw(t, 1, 5), out = group * draw(t, 1, 9);
    int64_t size[2], kernel[2], begin[2], end[2], dilation[2];
    for (int a = 0; a < 2; a++) {
        kernel[a] = draw(t, 1, 4), dilation[a] = draw(t, 1, 7), size[a] = draw(t, 1, 12);
        begin[a] = draw(t, 0, 2) ? draw(t, 0, 14) : 0, end[a] = draw(t, 0, 14);
        const int64_t window = (kernel[a] - 1) * dilation[a] + 1,
                      lacking = window - size[a] - begin[a] - end[a];
        if (lacking > 0) end[a] += lacking;
    }
    attribute(t, "group", "%d", (int)group);
    attribute(t, "strides", "[%d, %d]", (int)draw(t, 1, 3), (int)draw(t, 1, 2));
    attribute(t, "pads", "[%d, %d, %d, %d]", (int)begin[0], (int)begin[1], (int)end[0],
              (int)end[1]);
    attribute(t, "dilations", "[%d, %d]", (int)dilation[0], (int)dilation[1]);
    t->tolerance = 1e-5;
    reals(t, DT_FLOAT, 4, (int64_t[]){draw(t, 1, 2), in, size[0], size[1]}, -1, 1);
    reals(t, DT_FLOAT, 4, (int64_t[]){out, in / group, kernel[0], kernel[1]}, -1, 1);
}

/* Draws convolutions with three spatial axes and few channels in each group. */
static void draw_volumes(Drawn *t) {
    const int64_t group = draw(t, 1, 5), in = group * draw(t, 1, 2), out = group * draw(t, 1, 2);
    int64_t size[3], kernel[3], pad[6], stride[3], dilation[3];
    for (int a = 0; a < 3; a++) {
        kernel[a] = draw(t, 1, 3), dilation[a] = draw(t, 1, 2), stride[a] = draw(t, 1, 3);
        pad[a] = draw(t, 0, 2), pad[a + 3] = draw(t, 0, 2);
        size[a] = (kernel[a] - 1) * dilation[a] + draw(t, 1, 5);
    }
    attribute(t, "group", "%d", (int)group);
    numbers(t, "strides", 3, stride);
    numbers(t, "pads", 6, pad);
    numbers(t, "dilations", 3, dilation);
    t->tolerance = 1e-5;
    reals(t, DT_FLOAT, 5, (int64_t[]){draw(t, 1, 2), in, size[0], size[1], size[2]}, -1, 1);
    reals(t, DT_FLOAT, 5, (int64_t[]){out, in / group, kernel[0], kernel[1], kernel[2]}, -1, 1);
}

/* Draws transposed convolutions: kernels as long as several strides or shorter than one, strides
   and dilations with and without a common divisor, groups, with and without a bias, with few
   channels, whose phases are joined, or with more. The pads cut the result anywhere within a
   stride. */
static void draw_transposed(Drawn *t) {
    const int64_t group = draw(t, 0, 2) ? 1 : draw(t, 1, 4),
                  in = group * (group > 1 && draw(t, 0, 1) ? 1 : draw(t, 1, 5)),
                  out = draw(t, 0, 1) ? draw(t, 1, draw(t, 0, 3) ? 3 : 10) : 1, all = group * out;
    int64_t stride[2], kernel[2], size[2], pad[4], dilation[2];
    for (int a = 0; a < 2; a++) {
        stride[a] = draw(t, 1, draw(t, 0, 4) ? 3 : 9), size[a] = draw(t, 1, 6);
        dilation[a] = draw(t, 0, 2) ? 1 : draw(t, 1, 6);
        kernel[a] = draw(t, 0, 3) ? stride[a] * draw(t, 1, 3) + (draw(t, 0, 4) ? 0 : draw(t, 0, 1))
                                  : draw(t, 1, 3);
        for (int end = 0; end < 2; end++)
            pad[a + 2 * end] = draw(t, 0, kernel[a] - 1) / (draw(t, 0, 1) ? 2 : 4);
    }
    attribute(t, "group", "%d", (int)group);
    attribute(t, "strides", "[%d, %d]", (int)stride[0], (int)stride[1]);
    attribute(t, "pads", "[%d, %d, %d, %d]", (int)pad[0], (int)pad[1], (int)pad[2], (int)pad[3]);
    attribute(t, "dilations", "[%d, %d]", (int)dilation[0], (int)dilation[1]);
    attribute(t, "extra", "[%d, %d]", (int)draw(t, 0, stride[0] - 1),
              (int)draw(t, 0, stride[1] - 1));
    t->tolerance = 1e-5, t->targeted = draw(t, 0, 1);
    reals(t, DT_FLOAT, 4, (int64_t[]){draw(t, 1, 2), in, size[0], size[1]}, -1, 1);
    reals(t, DT_FLOAT, 4, (int64_t[]){in, out, kernel[0], kernel[1]}, -1, 1);
    if (draw(t, 0, 1)) reals(t, DT_FLOAT, 1, &all, -1, 1);
}

/* ---- products of letters: each letter has a size and occurs in some of a, b and y, in any order;
   in a factor, sometimes twice */
enum { LETTERS = 5, FACTORS = 4 };
static void letters_of(Drawn *t, int n, const int has[], int which, bool factor, char *text,
                       size_t room, int64_t dim[], const int64_t size[], int *count) {
    int order[LETTERS + 1], kept = 0;
    for (int l = 0; l < n; l++)
        if (has[l] & which) order[kept++] = l;
    if (factor && kept && !draw(t, 0, 9)) order[kept] = order[draw(t, 0, kept - 1)], kept++;
    for (int k = kept - 1; k > 0; k--) {
        const int j = (int)draw(t, 0, k), keep = order[k];
        order[k] = order[j], order[j] = keep;
    }
    snprintf(text + strlen(text), room - strlen(text), "%s%d", which == 1 ? "[" : ", ", kept);
    for (int k = 0; k < kept; k++) {
        snprintf(text + strlen(text), room - strlen(text), ", %d", order[k]);
        dim[k] = size[order[k]];
    }
    *count = kept;
}
static void draw_einsum(Drawn *t) {
    enum { A = 1, B = 2, Y = 4 };
    char text[200] = "";
    int has[LETTERS], count[FACTORS + 1];
    const int inputs = draw(t, 0, 1) ? 2 : (int)draw(t, 3, FACTORS),
              n = (int)draw(t, 1, inputs == 2 ? LETTERS : 4);
    int64_t size[LETTERS], dim[FACTORS + 1][LETTERS + 1];
    static const int most[] = {A | B, A | Y, B | Y, A | B | Y, A, B};
    for (int l = 0; l < n; l++) {
        has[l] = inputs == 2 ? most[draw(t, 0, draw(t, 0, 2) ? 3 : 5)]
                             : (int)draw(t, 1, (1 << inputs) - 1) | (int)draw(t, 0, 1) << inputs;
        size[l] = inputs > 2 ? draw(t, 1, 6) : draw(t, 0, 3) ? draw(t, 1, 7) : draw(t, 16, 20);
    }
    for (int k = 0; k <= inputs; k++)
        letters_of(t, n, has, 1 << k, k < inputs, text, sizeof text, dim[k], size, &count[k]);
    attribute(t, "letters", "%s]", text);
    t->tolerance = 1e-5;
    for (int k = 0; k < inputs; k++) reals(t, DT_FLOAT, count[k], dim[k], -1, 1);
}

static const Family families[] = {
    {"einsum", draw_einsum, true},
    {"matmul", draw_product, true},
    {"matmulinteger", draw_integer_product, true},
    {"convinteger", draw_integer_conv, true},
    {"convinteger", draw_known_conv, true},
    {"conv", draw_conv, true},
    {"conv", draw_volumes, true},
    {"convtranspose", draw_transposed, false},
    {0},
};

/* ---- a loop with a fault */
static void one_short(void *y, const void *x, int64_t stride, const void *w, int64_t n) {
    table[0]->scale_add_32(y, x, stride, w, n - 1);
}
static void wrong_loops_are_caught(void **state) {
    static const Family products = {"matmul", draw_product, true};
    (void)state;
    Simd wrong = *table[0];
    assert_int_equal(differences(&products, &wrong), 0);
    wrong.scale_add_32 = one_short;
    assert_true(differences(&products, &wrong) > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {FAMILIES_TEST(families),
                                       cmocka_unit_test(wrong_loops_are_caught)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
