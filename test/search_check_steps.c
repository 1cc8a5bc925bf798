/* search_check_steps.c -- tests the comparisons in double. Computed constants are compared with
   their expressions: a relative error of 1e-5 in any element is noticed, and the effect of rounding
   is not mistaken for an error, even where much cancels. Applications of rules are compared one by
   one: a wrong rule is noticed however large the graph is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graphs/fold.h"
#include "search/check/check_steps.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "search/fixpoint.h"
#include "search/run.h"
#include "test/shared/search_fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Expressions that occur in folding: a scale multiplied into a kernel, the factor of a batch
   normalization, a product of weights, a shift multiplied by a matrix, a sum that cancels, half
   precision. */
static const char *const expressions[] = {
    " %w = constant F [6, 4, 3, 3] seed(1)\n %s = constant F [6] seed(2)\n"
    " %t = reshape %s shape=[6, 1, 1, 1]\n %u = broadcast %t shape=[6, 4, 3, 3]\n"
    " %y = mul %w %u\n out %y\n",
    " %v = constant F [16] seed(3)\n %q = abs %v\n %e = fill value=1/1000 shape=[16]\n %a = add %q "
    "%e\n"
    " %b = sqrt %a\n %g = constant F [16] seed(4)\n %y = div %g %b\n out %y\n",
    " %w = constant F [24, 24] seed(5)\n %v = constant F [24, 24] seed(6)\n"
    " %y = matmul %w %v\n out %y\n",
    " %b = constant F [1, 12] seed(7)\n %w = constant F [12, 9] seed(8)\n"
    " %a = constant F [1, 9] seed(9)\n %p = matmul %b %w\n %y = add %p %a\n out %y\n",
    " %x = constant F [32] seed(10)\n %k = fill value=1000 shape=[32]\n %a = add %x %k\n"
    " %y = sub %a %k\n out %y\n",
    " %x = constant F16 [32] seed(11)\n %k = constant F16 [32] seed(12)\n %y = mul %x %k\n"
    " out %y\n",
};
enum { EXPRESSIONS = sizeof expressions / sizeof *expressions, DRAWS = 20 };

typedef struct Case {
    World *w;
    Error error;
    Value expression, constant;
    Derivation d;
} Case;

static const void *elements(const Case *c, Type *t, int64_t *n) {
    const void *bytes;
    assert_true(constant_get(c->w, c->constant, t, &bytes));
    assert_true(poly_constant(c->w, type_count(c->w, t), n));
    return bytes;
}

static void open_case(Case *c, const char *text) {
    Graph out;
    ValueMap map;
    char whole[600];
    memset(c, 0, sizeof *c);
    c->w = graph_world_new(NULL, 0);
    snprintf(whole, sizeof whole, "graph g\nbody\n%s", text);
    const Graph g = graph_of(c->w, whole);
    c->expression = g.out[0];
    assert_true(graph_fold(c->w, c->w->arena, &g, 1 << 20, NULL, &out, &map, &c->error));
    c->constant = out.out[0];
    c->d = (Derivation){.w = c->w,
                        .arena = c->w->arena,
                        .nfolded = 1,
                        .folded = &c->expression,
                        .constant = &c->constant};
}

static void what_was_rounded_passes(void **state) {
    (void)state;
    for (int k = 0; k < EXPRESSIONS; k++) {
        Case c;
        int compared;
        open_case(&c, expressions[k]);
        const bool passes = derivation_check_constants(&c.d, 1, &compared, &c.error);
        assert_int_equal(compared, 1);
        if (!passes) print_message("expression %d: %s\n", k, c.error.reason);
        assert_true(passes);
        world_free(c.w);
    }
}

/* Multiplies one element, whose absolute value is at least 1/8, by 1 + by. */
static void plant(Case *c, uint64_t draw, double by) {
    Type t;
    int64_t n, at;
    const void *bytes = elements(c, &t, &n);
    void *copy = arena_copy(c->w->arena, bytes, element_bytes(t.dtype, n));
    for (at = (int64_t)(random_at(17, draw) % (uint64_t)n);
         fabs(element_real(t.dtype, copy, at)) < 0.125;)
        at = (at + 1) % n;
    element_set_real(t.dtype, copy, at, element_real(t.dtype, copy, at) * (1 + by));
    c->constant = constant_make(c->w, &t, blob_put(c->w, copy, element_bytes(t.dtype, n)));
}

/* The error is 1e-5, but 1e-2 for the sum that cancels, whose elements are uncertain by 1000
   roundings, and for half precision, which has no number so near. */
static void a_planted_error_is_seen(void **state) {
    (void)state;
    for (int k = 0; k < EXPRESSIONS; k++) {
        const double by = k == 4 ? 1e-2 : k == 5 ? 1e-2 : 1e-5;
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            Case c;
            open_case(&c, expressions[k]);
            plant(&c, draw, by);
            int compared;
            const bool passed = derivation_check_constants(&c.d, 1, &compared, &c.error);
            if (passed) print_message("expression %d, draw %d\n", k, (int)draw);
            assert_false(passed);
            assert_int_equal(c.error.kind, E_CHECK);
            assert_non_null(strstr(c.error.reason, "was computed wrongly"));
            world_free(c.w);
        }
    }
}

/* A constant that is too large to be compared does not count as compared. */
static void what_is_too_large_is_counted(void **state) {
    (void)state;
    Case c;
    int compared;
    open_case(&c, " %x = constant F [2] seed(1)\n %y = neg %x\n out %y\n");
    const int64_t n = CHECKED_ELEMENTS + 1;
    const Type t = {.dtype = DT_FLOAT, .known = true, .dim = {1, {poly_int(c.w, n)}}};
    const size_t bytes = element_bytes(t.dtype, n);
    const Value x = constant_make(c.w, &t, blob_put(c.w, arena_alloc(c.w->arena, bytes), bytes));
    const char *why;
    c.expression = node_make(c.w, op_find("neg"), NULL, 1, &x, 1, &why);
    c.constant = x;
    assert_true(derivation_check_constants(&c.d, 1, &compared, &c.error));
    assert_int_equal(compared, 0);
    world_free(c.w);
}

/* Sets element `at` of an integer constant to another number. */
static void plant_integer(Case *c, int64_t at, int64_t by) {
    Type t;
    int64_t n;
    const void *bytes = elements(c, &t, &n);
    void *copy = arena_copy(c->w->arena, bytes, element_bytes(t.dtype, n));
    element_set_integer(t.dtype, copy, at, element_integer(t.dtype, copy, at) + by);
    c->constant = constant_make(c->w, &t, blob_put(c->w, copy, element_bytes(t.dtype, n)));
}

/* Integers must be equal, as far as doubles can tell them apart. Rounded from floats, they may
   differ by 1, since roundoffs may decide to which side a number is rounded. */
static void integers_are_compared_exactly(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t by;
        bool passes;
    } cases[] = {
        {" %x = constant I64 [3] {5, 9007199254740993, -3}\n %y = neg %x\n out %y\n", 0, true},
        {" %x = constant I64 [3] {5, 1048577, -3}\n %y = neg %x\n out %y\n", 1, false},
        {" %x = constant F [3] {0.7, 2, 90}\n %y = cast %x to=I32\n out %y\n", 1, true},
        {" %x = constant F [3] {0.7, 2, 90}\n %y = cast %x to=I32\n out %y\n", 2, false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Case c;
        int compared;
        open_case(&c, cases[k].text);
        plant_integer(&c, 1, cases[k].by);
        const bool passes = derivation_check_constants(&c.d, 1, &compared, &c.error);
        if (passes != cases[k].passes) print_message("case %d: %s\n", (int)k, c.error.reason);
        assert_true(passes == cases[k].passes);
        assert_int_equal(compared, 1);
        world_free(c.w);
    }
}

/* ---- applications of rules */

#define ONE_FROM "\n  axes b = 0..2\n  %x : F [b..]\nfrom\n"
static const char rules[] =
    "rule double-neg" ONE_FROM "  %t = neg %x\n  %y = neg %t\n  out %y\nto\n  out %x\n"
    "rule sqrt-square" ONE_FROM "  %t = sqrt %x\n  %y = mul %t %t\n  out %y\nto\n  out %x\n"
    "rule abs-twice" ONE_FROM "  %t = abs %x\n  %y = abs %t\n  out %y\nto\n  %y = abs %x\n"
    "  out %y\n"
    "rule wrong-for-negative" ONE_FROM "  %y = abs %x\n  out %y\nto\n  %y = mul %x %x\n"
    "  %z = sqrt %y\n  %e = fill value=1/1000000 shape=[]\n  %d = mul %z %e\n  %s = add %x %d\n"
    "  out %s\n"
    "rule sum-of-neg\n  axes b = 0..2\n  %x : F [b..]   %z : F [b..]\nfrom\n  %t = neg %x\n"
    "  %y = add %t %z\n  out %y\nto\n  %y = sub %z %x\n  out %y\n"
    "rule product-of-neg\n  %x : F [m, k]   %z : F [k, n]\nfrom\n  %t = neg %x\n"
    "  %y = matmul %t %z\n  out %y\nto\n  %p = matmul %x %z\n  %y = neg %p\n  out %y\n";
enum { DOUBLE_NEG, SQRT_SQUARE, ABS_TWICE, WRONG, SUM_OF_NEG, PRODUCT_OF_NEG };

/* Applies one rule wherever it matches and compares the applications. */
static bool applications_agree(Fixture *f, int rule, const char *text, int *made, int *compared) {
    bool on[6] = {false};
    const CheckOptions o = {.samples = 1, .seed = 1};
    open_fixture(f, rules);
    const Graph g = graph_of(f->w, text);
    Derivation d = derivation_new(f->w, f->arena, facts_new(f->w, f->arena), &f->library, &g);
    on[rule] = true;
    assert_true(derive_fixpoint(&d, on, NULL, (FixpointLimits){.applications = 100}, &f->error));
    *made = d.nstep;
    return derivation_check_applications(&d, (Sizes){0}, &o, compared, &f->error);
}

#define LARGE "graph g %x : F [300, 300]\nbody\n"
static void applications_are_compared_in_a_large_graph(void **state) {
    (void)state;
    static const struct {
        int rule;
        const char *text;
    } cases[] = {
        {DOUBLE_NEG,
         LARGE " %p = matmul %x %x\n %a = neg %p\n %b = neg %a\n %y = matmul %b %x\n out %y\n"},
        /* The left side is NaN for negative numbers, where the rule need not keep anything. */
        {SQRT_SQUARE, LARGE " %p = matmul %x %x\n %a = sqrt %p\n %y = mul %a %a\n out %y\n"},
        /* A value is an input of the match and matched as well. */
        {SUM_OF_NEG, LARGE " %p = matmul %x %x\n %a = neg %p\n %y = add %a %a\n out %y\n"},
        {ABS_TWICE, LARGE " %a = abs %x\n %b = abs %a\n %y = abs %b\n out %y\n"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Fixture f;
        int made, compared;
        const bool agree = applications_agree(&f, cases[k].rule, cases[k].text, &made, &compared);
        if (!agree) print_message("case %d: %s\n", (int)k, f.error.reason);
        assert_true(agree);
        assert_true(made > 0);
        assert_int_equal(compared, made);
        close_fixture(&f);
    }
}

/* The rule is wrong for negative numbers, and by a millionth for others. */
static void a_wrong_application_is_seen_in_a_large_graph(void **state) {
    (void)state;
    Fixture f;
    int made, compared;
    assert_false(applications_agree(
        &f, WRONG, LARGE " %p = matmul %x %x\n %a = abs %p\n %y = matmul %a %x\n out %y\n", &made,
        &compared));
    assert_int_equal(f.error.kind, E_CHECK);
    assert_string_equal(f.error.place, "wrong-for-negative");
    assert_non_null(strstr(f.error.reason, "the rule changed a value"));
    close_fixture(&f);
}

/* An application that needs too many operations does not count as compared. */
static void an_application_that_is_too_large_is_counted(void **state) {
    (void)state;
    Fixture f;
    int made, compared;
    assert_true(applications_agree(
        &f, PRODUCT_OF_NEG, LARGE " %p = neg %x\n %y = matmul %p %x\n out %y\n", &made, &compared));
    assert_int_equal(made, 1);
    assert_int_equal(compared, 0);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_rounded_passes),
        cmocka_unit_test(a_planted_error_is_seen),
        cmocka_unit_test(what_is_too_large_is_counted),
        cmocka_unit_test(integers_are_compared_exactly),
        cmocka_unit_test(applications_are_compared_in_a_large_graph),
        cmocka_unit_test(a_wrong_application_is_seen_in_a_large_graph),
        cmocka_unit_test(an_application_that_is_too_large_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
