/* graphs_fold.c -- tests shape values and constant folding: what is computed, and what stays as it
   is so that files do not grow. */
#include "graphs/fold.h"
#include "graphs/oracle.h"
#include "graphs/shapevalue.h"
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void check_fold(const char *before, int64_t growth, const char *after) {
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, before), out;
    ValueMap map;
    Error e = {0};
    assert_true(graph_fold(w, w->arena, &g, growth, NULL, &out, &map, &e));
    assert_string_equal(graph_body(w, &out), after);
    for (int k = 0; k < g.nout; k++) assert_int_equal(map_value(&map, g.out[k]), out.out[k]);
    world_free(w);
}

static void constants_are_computed(void **state) {
    (void)state;
    check_fold("graph g %x : F [2, 3]\nbody\n %k = constant F [3] {1, 2, 4}\n %s = sqrt %k\n %m = "
               "mul %s %s\n %n = neg %k\n %b = broadcast "
               "%n shape=[2, 3]\n"
               " %y = add %x %b\n out %y %n\n",
               24,
               "  %1 = constant F [2, 3] {-1, -2, -4, -1, -2, -4}\n  %2 = add %x %1\n  %3 = "
               "constant F [3] {-1, -2, -4}\n  out %2 %3\n");
}

/* A conversion to double and back would turn the signaling NaN into a quiet one. */
static void moved_elements_keep_their_bits(void **state) {
    (void)state;
    check_fold("graph g\nbody\n %k = constant F [2, 2] hex\"0100a07f00000080010000000000803f\"\n"
               " %y = transpose %k perm=[1, 0]\n out %y\n",
               0, "  %1 = constant F [2, 2] hex\"0100a07f01000000000000800000803f\"\n  out %1\n");
}

static void nothing_grows_beyond_the_limit(void **state) {
    (void)state;
    static const char text[] = "graph g %x : F [64, 3]\nbody\n %k = constant F [3] {1, 2, 4}\n %b "
                               "= broadcast %k shape=[64, 3]\n %y = add %x %b\n out %y\n";
    check_fold(text, 64,
               "  %1 = constant F [3] {1, 2, 4}\n  %2 = broadcast %1 shape=[64, 3]\n  %3 = add %x "
               "%2\n  out %3\n");
}

static void splats_stay_small(void **state) {
    (void)state;
    static const char text[] = "graph g %x : F [1000]\nbody\n %f = fill value=2 dtype=F "
                               "shape=[1000]\n %k = constant F [1000] splat(3)\n "
                               "%m = mul %f %k\n %y = add %x %m\n out %y\n";
    check_fold(text, 64,
               "  %1 = fill value=2 shape=[1000]\n  %2 = constant F [1000] splat(3)\n  %3 = mul %1 "
               "%2\n  %4 = add %x %3\n  out %4\n");
    check_fold(text, 4000, "  %1 = constant F [1000] splat(6)\n  %2 = add %x %1\n  out %2\n");
}

/* The bits that fill the last byte of packed elements do not count as elements. */
static void packed_splats_stay_small(void **state) {
    (void)state;
    static const char text[] =
        "graph g\nbody\n %k = constant F4E2M1 [3] {1, 1, 1}\n %y = neg %k\n out %y\n";
    check_fold(text, 0, "  %1 = constant F4E2M1 [3] splat(1)\n  %2 = neg %1\n  out %2\n");
}

/* Two elements of 4 bits share a byte. */
static void packed_elements_are_moved(void **state) {
    (void)state;
    check_fold(
        "graph g\nbody\n %k = constant F4E2M1 [2, 3] {1, 2, 3, 4, 6, 1}\n %t = transpose %k "
        "perm=[1, 0]\n %y = cast %t to=F\n out %y %t\n",
        24,
        "  %1 = constant F [3, 2] {1, 4, 2, 6, 3, 1}\n  %2 = constant F4E2M1 [3, 2] {1, 4, 2, "
        "6, 3, 1}\n  out %1 %2\n");
    check_fold("graph g\nbody\n %k = constant F4E2M1 [5] {1, 2, 3, 4, 6}\n %s = slice %k "
               "starts=[1] sizes=[3]\n %y = cast %s to=F\n out %y %s\n",
               12,
               "  %1 = constant F [3] {2, 3, 4}\n  %2 = constant F4E2M1 [3] {2, 3, 4}\n  out %1 "
               "%2\n");
}

/* The least integer has no negative, so a minimum cannot be a negated maximum of integers. */
static void extremes_of_nothing_are_the_limits_of_the_type(void **state) {
    (void)state;
    check_fold("graph g\nbody\n %x = constant I32 [2, 3] {7, 8, 9, 1, 2, 3}\n %i = constant I64 "
               "[1, 3] {0, 1, 0}\n %u = constant I32 [1, 3] splat(5)\n %y = scattermin %x %i %u "
               "axis=1\n out %y\n",
               24, "  %1 = constant I32 [2, 3] {5, 5, 9, 1, 2, 3}\n  out %1\n");
    check_fold("graph g\nbody\n %k = constant I32 [2, 0] {}\n %a = reduce_max %k axes=[1]\n %b = "
               "reduce_min %k axes=[1]\n %y = concat %a %b axis=0\n out %y\n",
               16,
               "  %1 = constant I32 [4] {-2147483648, -2147483648, 2147483647, 2147483647}\n  out "
               "%1\n");
}

static void what_depends_on_inputs_or_unknown_sizes_stays(void **state) {
    (void)state;
    static const char body[] = "  %1 = exp %x\n  %2 = constant F [1] {2}\n  %3 = broadcast %2 "
                               "shape=[n]\n  %4 = add %1 %3\n  out %4\n";
    check_fold("graph g %x : F [n]\nbody\n %k = constant F [1] {2}\n %e = exp %x\n %b = broadcast "
               "%k shape=[n]\n %y = add %e %b\n out %y\n",
               1 << 20, body);
}

static void composites_fold(void **state) {
    (void)state;
    check_fold("graph g\nbody\n %k = constant F [2] {3, -3}\n %y = hardswish %k\n out %y\n", 0,
               "  %1 = constant F [2] {3, -0}\n  out %1\n");
}

static void oracle_computes_wide(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F [1]\nbody\n %a = sqrt %x\n %b = mul %a %a\n out %b\n");
    float x = 2, narrow;
    double wide;
    const void *in[] = {&x};
    void *out[] = {&narrow}, *out_wide[] = {&wide};
    Error e = {0};
    assert_true(oracle_run(w, &g, (Sizes){0}, false, in, out, &e));
    assert_true(oracle_run(w, &g, (Sizes){0}, true, in, out_wide, &e));
    assert_true(narrow != 2 && narrow > 1.9999f && narrow < 2.0001f);
    assert_true(wide > 2 - 1e-14 && wide < 2 + 1e-14);
    world_free(w);
}

static void elements_of(World *w, Value v, const char *expected) {
    PolyList l;
    Text t = text_new(w->arena);
    assert_true(value_elements(w, v, &l));
    for (int k = 0; k < l.n; k++) {
        if (k) text_add(&t, ", ");
        poly_print(w, l.v[k], &t);
    }
    assert_string_equal(t.data, expected);
}

static void integers_are_followed(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %i : I64 [2]\nbody\n %k = constant I64 [3] {1, 2, 4}\n %n = neg "
                          "%k\n %s = mul %k %n\n %c = concat %s %n "
                          "axis=0\n %p = add %i %i\n"
                          " %d = slice %c starts=[2] sizes=[2]\n out %c %p %d\n");
    PolyList l;
    elements_of(w, g.out[2], "-16, -1");
    elements_of(w, g.out[0], "-1, -4, -16, -1, -2, -4");
    assert_false(value_elements(w, g.out[1], &l));
    const void *bytes;
    assert_true(constant_get(w, value_constant(w, g.out[2]), NULL, &bytes));
    assert_int_equal(((const int64_t *)bytes)[0], -16);
    assert_int_equal(value_constant(w, g.out[1]), 0);
    /* A reset discards the elements kept for a value; later polynomials take their place. */
    Graph h =
        graph_of(w, "graph h\nbody\n %k = constant I64 [3] {1, 20, 300}\n %a = neg %k\n out %a\n");
    WorldMark m = world_mark(w);
    elements_of(w, h.out[0], "-1, -20, -300");
    world_reset(w, m);
    for (int k = 0; k < 100; k++) poly_int(w, 1000 + k); /* other numbers reuse the place */
    elements_of(w, h.out[0], "-1, -20, -300");
    world_free(w);
}

/* TorchScript computes padding as ceil(size / stride) in floats. Values are not followed where
   float arithmetic might round them to a whole number or across one. */
static void sizes_pass_through_floats(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(
        w,
        "graph g %x : F [n]\nbody\n %s = shape %x\n %f = cast %s to=F\n"
        " %three = constant F [1] {3}\n %one = constant F [1] {1}\n %half = constant F [1] {0.5}\n"
        " %q = div %f %three\n %r = add %q %one\n %up = ceil %r\n %y0 = cast %up to=I64\n"
        " %h = mul %f %half\n %k = add %h %half\n %down = floor %k\n %y1 = cast %down to=I64\n"
        " %y2 = cast %q to=I64\n"
        " %t = mul %q %three\n %y3 = cast %t to=I64\n"
        " %d = add %q %q\n %u = ceil %d\n %y4 = cast %u to=I64\n"
        " %large = constant F [1] {2049}\n %l = div %f %large\n %c = ceil %l\n"
        " %y5 = cast %c to=I64\n"
        " %v = div %one %f\n %e = ceil %v\n %y6 = cast %e to=I64\n"
        " out %y0 %y1 %y2 %y3 %y4 %y5 %y6\n");
    PolyList l;
    elements_of(w, g.out[0], "floor((n + 2)/3) + 1");
    elements_of(w, g.out[1], "floor((n + 1)/2)");
    elements_of(w, g.out[2], "floor(n/3)");
    for (int k = 3; k < g.nout; k++) assert_false(value_elements(w, g.out[k], &l));
    Graph h = graph_of(
        w, "graph h\nbody\n %k = constant F [2] {7, 8}\n %two = constant F [2] {2, 2}\n"
           " %both = constant F [2] {2, 3}\n %a = div %k %two\n %b = ceil %a\n %c = sub %b %two\n"
           " %d = div %k %both\n %e = floor %d\n %y0 = cast %c to=I64\n %y1 = cast %e to=I64\n"
           " out %y0 %y1\n");
    elements_of(w, h.out[0], "2, 2");
    elements_of(w, h.out[1], "3, 2");
    world_free(w);
}

/* A detector resizes its picture by a ratio that is not a whole number, computed from sizes that
   are. Known numbers can be combined with open sizes. Not followed are sums of many numbers, whose
   order no runtime promises, and functions that runtimes round differently. */
static void numbers_pass_through_floats(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(
        w, "graph g %x : F [n, 200]\nbody\n %k = constant I64 [2] {192, 250}\n"
           " %least = reduce_min %k axes=[0]\n %f = cast %least to=F\n %r = reciprocal %f\n"
           " %to = constant F [] {300}\n %by = mul %r %to\n %size = constant F [] {200}\n"
           " %z = mul %size %by\n %down = floor %z\n %i = cast %down to=I64\n"
           " %j = reshape %i shape=[1]\n %s = shape %x\n %y0 = concat %s %j axis=0\n"
           " %last = slice %s starts=[1] sizes=[1]\n %c = cast %last to=F\n"
           " %three = constant F [1] {3}\n %third = div %c %three\n %more = mul %third %three\n"
           " %y1 = cast %more to=I64\n %y2 = greater %third %more\n"
           " %both = concat %third %more axis=0\n %sum = reduce_sum %both axes=[0]\n"
           " %y3 = cast %sum to=I64\n %e = exp %three\n %y4 = cast %e to=I64\n"
           " out %y0 %y1 %y2 %y3 %y4 %by\n");
    PolyList l;
    const void *bytes;
    elements_of(w, g.out[0], "n, 200, 312");
    elements_of(w, g.out[1], "200");
    elements_of(w, g.out[2], "0");
    for (int k = 3; k < 5; k++) assert_false(value_elements(w, g.out[k], &l));
    assert_true(constant_get(w, value_constant(w, g.out[5]), NULL, &bytes));
    assert_float_equal(*(const float *)bytes, 300 * (1 / 192.0F), 0);
    world_free(w);
}

/* Integers wrap in their type, and each runtime may round a float of so many digits in its own
   way. */
static void what_a_type_does_not_hold_is_unknown(void **state) {
    (void)state;
    static const char *const body[] = {
        "%a = constant I32 [1] {2147483647}\n %b = constant I32 [1] {1}\n %y = add %a %b\n",
        "%a = constant I32 [1] {1048576}\n %b = constant I32 [1] {2048}\n %y = mul %a %b\n",
        "%a = constant U8 [1] {200}\n %b = constant U8 [1] {100}\n %y = add %a %b\n",
        "%a = constant U8 [1] {200}\n %b = constant U8 [1] {100}\n %c = add %a %b\n"
        " %d = constant U8 [1] {2}\n %y = div %c %d\n",
        "%a = constant U32 [1] {1}\n %b = constant U32 [1] {2}\n %y = sub %a %b\n",
        "%a = constant I32 [2] {2147483647, 5}\n %y = reduce_sum %a axes=[0]\n",
        "%a = constant I32 [2] {2147483647, 5}\n %y = cumsum %a axis=0\n",
        "%a = constant I64 [1] {2147483648}\n %y = cast %a to=I32\n",
        "%a = constant I64 [1] {-1}\n %y = cast %a to=U32\n",
        "%a = constant U64 [1] hex\"0500000000000080\"\n %y = reshape %a shape=[1, 1]\n",
        "%a = constant U64 [1] hex\"0500000000000080\"\n %b = constant U64 [1] {1}\n"
        " %y = greater %a %b\n",
        "%a = constant U64 [1] hex\"0500000000000080\"\n %b = constant U64 [1] {1}\n"
        " %y = max %a %b\n",
        "%s = shape %x\n %a = cast %s to=U32\n %b = constant U32 [1] {3}\n %y = sub %a %b\n",
        "%s = shape %x\n %a = cast %s to=I32\n %b = constant I32 [1] {65536}\n"
        " %c = mul %a %b\n %y = mul %c %b\n",
        "%s = shape %x\n %b = constant I64 [1] {16777217}\n %c = concat %s %b axis=0\n"
        " %y = cast %c to=F\n",
        "%a = constant I64 [1] {1152921573326323713}\n %y = cast %a to=F\n",
        "%a = constant F [1] {-5}\n %y = cast %a to=U32\n",
        "%a = constant I8 [1] {-128}\n %y = abs %a\n",
    };
    World *w = graph_world_new(NULL, 0);
    PolyList l;
    for (size_t k = 0; k < sizeof body / sizeof *body; k++) {
        Graph g = graph_of(
            w, arena_format(w->arena, "graph g %%x : F [n]\nbody\n %s out %%y\n", body[k]));
        if (value_elements(w, g.out[0], &l) || value_constant(w, g.out[0]))
            fail_msg("it counts as known: %s", body[k]);
    }
    world_free(w);
}

static const char large[] = "graph g %x : F [64, 64]\nbody\n %a = constant F [64, 64] splat(3)\n "
                            "%b = exp %a\n %c = neg %a\n %i = constant I64 [1] {2}\n %j = add "
                            "%i %i\n %y = add %x %b\n %z = add %y %c\n out %z %j\n";

/* The drawn elements are not those that computing would give, and two values get different ones;
   integers are computed. */
static void what_is_only_timed_is_drawn(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, large), out;
    ValueMap map;
    Error e = {0};
    float first[2] = {0};
    int n = 0;
    assert_true(graph_fold_drawn(w, w->arena, &g, 4096, &out, &map, &e));
    const NodeList live = graph_live(w, w->arena, &out);
    for (int k = 0; k < live.n; k++) {
        Type t;
        const void *bytes;
        if (!constant_get(w, live.v[k], &t, &bytes)) continue;
        if (t.dtype == DT_INT64) {
            assert_int_equal(*(const int64_t *)bytes, 4);
            continue;
        }
        assert_true(n < 2);
        for (int j = 0; j < 64 * 64; j++) {
            const float x = ((const float *)bytes)[j];
            assert_true(x >= 0.5F && x <= 1.5F);
        }
        first[n++] = *(const float *)bytes;
    }
    assert_int_equal(n, 2);
    assert_true(first[0] != first[1]);
    assert_true(graph_fold_drawn(w, w->arena, &g, 64 * 64 * 4 + 1, &out, &map, &e));
    assert_null(strstr(graph_body(w, &out), "0.5"));
    world_free(w);
}

/* A constant known from an earlier folding is used even if computing would give another. */
static void what_is_known_is_not_computed_again(void **state) {
    (void)state;
    World *w = graph_world_new(NULL, 0);
    Graph g = graph_of(w, "graph g %x : F []\nbody\n %a = constant F [] {3}\n %b = neg %a\n %y = "
                          "mul %x %b\n out %y\n"),
          out;
    const Value product = g.out[0], b = node_get(w, value_node(w, product)).in[1];
    Value *to = ARENA_NEW(w->arena, Value, b + 1);
    ValueMap map, known = {b + 1, to};
    Error e = {0};
    to[b] = constant_of(w, 7);
    assert_true(graph_fold(w, w->arena, &g, 64, &known, &out, &map, &e));
    assert_string_equal(graph_body(w, &out),
                        "  %1 = constant F [] {7}\n  %2 = mul %x %1\n  out %2\n");
    assert_true(graph_fold(w, w->arena, &g, 64, NULL, &out, &map, &e));
    assert_string_equal(graph_body(w, &out),
                        "  %1 = constant F [] {-3}\n  %2 = mul %x %1\n  out %2\n");
    world_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_computed),
        cmocka_unit_test(moved_elements_keep_their_bits),
        cmocka_unit_test(nothing_grows_beyond_the_limit),
        cmocka_unit_test(splats_stay_small),
        cmocka_unit_test(packed_splats_stay_small),
        cmocka_unit_test(packed_elements_are_moved),
        cmocka_unit_test(extremes_of_nothing_are_the_limits_of_the_type),
        cmocka_unit_test(what_depends_on_inputs_or_unknown_sizes_stays),
        cmocka_unit_test(composites_fold),
        cmocka_unit_test(oracle_computes_wide),
        cmocka_unit_test(integers_are_followed),
        cmocka_unit_test(sizes_pass_through_floats),
        cmocka_unit_test(numbers_pass_through_floats),
        cmocka_unit_test(what_a_type_does_not_hold_is_unknown),
        cmocka_unit_test(what_is_only_timed_is_drawn),
        cmocka_unit_test(what_is_known_is_not_computed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
