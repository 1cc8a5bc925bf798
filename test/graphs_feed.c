/* graphs_feed.c -- tests the data of inputs: the options, the order in which other integers are
   tried, and that a sample does not depend on who asks for it. */
#include "graphs/feed.h"
#include "test/shared/fixture.h"
#include "ops/core/element.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { INPUTS = 4, N = 40 };
static const char *const name[INPUTS] = {"ids", "x", "mask", "k=1"};
static const DType dtype[INPUTS] = {DT_INT64, DT_FLOAT, DT_INT32, DT_INT64};
static const bool known[INPUTS] = {false, false, false, true};

static bool make(World *w, int n, const char **option, Feed *f, Error *e) {
    static FeedOptions o;
    Arena *a = w->arena;
    Value in[INPUTS];
    const Domain any = domain_any(), domain[INPUTS] = {{0, 29}, any, any, any};
    FeedInput *input = ARENA_NEW(a, FeedInput, INPUTS);
    for (int k = 0; k < INPUTS; k++) {
        in[k] = graph_input(w, name[k], &(Type){.dtype = dtype[k]});
        input[k] = (FeedInput){
            .name = name[k], .dtype = dtype[k], .domain = domain[k], .has_default = known[k]};
    }
    *e = (Error){0};
    if (!feed_options(a, (StringList){n, option}, &o, e)) return false;
    o.seed = 7;
    return feed_fits(&o, w, &(Graph){.nin = INPUTS, .in = in}, name, e) &&
           feed_new(&o, INPUTS, input, f, e);
}

/* The number that all elements of the input hold, or -1 if they differ. */
static int64_t all_are(const Feed *f, int input) {
    int64_t v[N];
    Error e = {0};
    assert_true(feed_data(f, input, 0, NULL, N, v, &e));
    for (int k = 1; k < N; k++)
        if (element_integer(dtype[input], v, k) != element_integer(dtype[input], v, 0)) return -1;
    return element_integer(dtype[input], v, 0);
}

static void integers_are_tried_one_by_one_then_all(void **state) {
    static const int64_t want[][2] = {{0, -1}, {1, -1}, {-1, 0}, {-1, 1}, {0, 0}, {1, 1}};
    World *w = *state;
    Feed f;
    Error e;
    assert_true(make(w, 0, NULL, &f, &e));
    assert_string_equal(feed_print(w->arena, &f), "ids: 0..29, mask: 0..1");
    for (int k = 0; k < 6; k++) {
        assert_true(feed_next(&f));
        assert_int_equal(all_are(&f, 0), want[k][0]);
        assert_int_equal(all_are(&f, 2), want[k][1]);
    }
    assert_string_equal(feed_print(w->arena, &f), "ids: ones, mask: ones");
    assert_false(feed_next(&f));
    assert_true(f.attempt == 0 && all_are(&f, 0) == -1);
}

/* Numbers with which the graph compares an input are tried first, for one input at a time. */
static void numbers_asked_for_are_tried_first(void **state) {
    static const int64_t want[][2] = {{16000, -1}, {8000, -1}, {-1, 3}, {0, -1}, {1, -1},
                                      {-1, 0},     {-1, 1},    {0, 0},  {1, 1}};
    World *w = *state;
    Feed f;
    Error e;
    assert_true(make(w, 0, NULL, &f, &e));
    f.input[0].compared = (Compared){2, {16000, 8000}};
    f.input[1].compared = (Compared){1, {5}}; /* floats are not tried */
    f.input[2].compared = (Compared){1, {3}};
    for (int k = 0; k < 9; k++) {
        assert_true(feed_next(&f));
        assert_int_equal(all_are(&f, 0), want[k][0]);
        assert_int_equal(all_are(&f, 2), want[k][1]);
        if (!k) assert_string_equal(feed_print(w->arena, &f), "ids: 16000, mask: 0..1");
    }
    assert_false(feed_next(&f));
    const int64_t wide = ((int64_t)1 << 53) + 1; /* no double holds it */
    f.input[0].compared = (Compared){1, {wide}};
    assert_true(feed_next(&f) && all_are(&f, 0) == wide);
}

static void what_is_given_stays(void **state) {
    World *w = *state;
    const char *options[] = {"ids=random", "ids=5", "mask=3..9", "k=1=2", "x=-2..-1"};
    Feed f;
    Error e;
    float x[N];
    assert_true(make(w, 5, options, &f, &e));
    assert_true(all_are(&f, 0) == 5 && all_are(&f, 3) == 2 && !feed_next(&f));
    assert_true(feed_data(&f, 1, 3, NULL, N, x, &e));
    for (int k = 0; k < N; k++) assert_true(x[k] >= -2 && x[k] <= -1);
    error_set(&e, E_ENVIRONMENT, "a node", "failed");
    feed_explain(w->arena, &f, &e);
    assert_non_null(strstr(e.reason, "ids: given; random numbers would be drawn from 0..29"));
    assert_null(strstr(e.reason, "zeros"));
}

static void numbers_that_are_no_range_are_given(void **state) {
    static const char *const options[] = {"x=inf", "x=-inf", "x=nan", "x=-0"};
    World *w = *state;
    for (int k = 0; k < 4; k++) {
        Feed f;
        Error e;
        float x[N];
        assert_true(make(w, 1, (const char *[]){options[k]}, &f, &e));
        assert_true(feed_data(&f, 1, 0, NULL, N, x, &e));
        for (int j = 0; j < N; j++) {
            const float want = (const float[]){INFINITY, -INFINITY, NAN, -0.0f}[k];
            assert_true(isnan(want) ? isnan(x[j]) : !memcmp(&x[j], &want, sizeof want));
        }
    }
}

static void a_sample_is_the_same_whoever_asks(void **state) {
    World *w = *state;
    int64_t one[N], two[N], other[N];
    Feed f, g;
    Error e;
    assert_true(make(w, 0, NULL, &f, &e) && make(w, 0, NULL, &g, &e));
    assert_true(feed_data(&f, 0, 1, NULL, N, one, &e) && feed_data(&g, 0, 1, NULL, N, two, &e));
    assert_true(feed_data(&f, 0, 2, NULL, N, other, &e));
    assert_memory_equal(one, two, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
    assert_true(feed_data(&f, 3, 0, other, N, two, &e)); /* the model's default */
    assert_memory_equal(two, other, sizeof two);
}

static void wrong_options_are_refused(void **state) {
    static const struct {
        const char *option, *said;
        ErrorKind kind;
    } rows[] = {
        {"ids", "NAME=WHAT or FILE.npz", E_USAGE},
        {"=3", "NAME=WHAT", E_USAGE},
        {"ids=", "LOW..HIGH", E_USAGE},
        {"ids=4..", "LOW..HIGH", E_USAGE},
        {"ids=4..3", "LOW..HIGH", E_USAGE},
        {"y=3", "the model has no input", E_USAGE},
        {"ids=0.5", "ids has type I64, whose numbers cannot be drawn", E_USAGE},
        {"ids=nan", "ids has type I64", E_USAGE},
        {"ids=0..inf", "ids has type I64", E_USAGE},
        {"ids=9007199254740993", "below 2^53 here, others can be given in a file", E_USAGE},
        {"ids=-9007199254740993..0", "ids has type I64", E_USAGE},
        {"ids=9223372036854775808", "ids has type I64", E_USAGE},
        {"ids=-9e18..9e18", "ids has type I64", E_USAGE},
        {"x=0..inf", "x has type F", E_USAGE},
        {"x=-1e308..1e308", "x has type F", E_USAGE},
    };
    World *w = *state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const char *option = rows[k].option;
        Feed f;
        Error e;
        assert_false(make(w, 1, &option, &f, &e));
        assert_int_equal(e.kind, rows[k].kind);
        assert_non_null(strstr(e.reason, rows[k].said));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers_are_tried_one_by_one_then_all, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(numbers_asked_for_are_tried_first, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(what_is_given_stays, fixture_world, fixture_world_free),
        cmocka_unit_test_setup_teardown(numbers_that_are_no_range_are_given, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(a_sample_is_the_same_whoever_asks, fixture_world,
                                        fixture_world_free),
        cmocka_unit_test_setup_teardown(wrong_options_are_refused, fixture_world,
                                        fixture_world_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
