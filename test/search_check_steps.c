/* search_check_steps.c -- tests the comparison of computed constants with their expressions: a
   relative error of 1e-5 in any element is noticed, and the effect of rounding is not mistaken for
   an error, even where much cancels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "graphs/fold.h"
#include "search/check_steps.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "search/run.h"
#include "test/shared/fixture.h"
#include "graphs/world.h"
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
        int large;
        open_case(&c, expressions[k]);
        const bool passes = derivation_check_constants(&c.d, 1, &large, &c.error);
        assert_int_equal(large, 0);
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
            int large;
            const bool passed = derivation_check_constants(&c.d, 1, &large, &c.error);
            if (passed) print_message("expression %d, draw %d\n", k, (int)draw);
            assert_false(passed);
            assert_int_equal(c.error.kind, E_CHECK);
            assert_non_null(strstr(c.error.reason, "was computed wrongly"));
            world_free(c.w);
        }
    }
}

/* A constant that is too large to be compared does not pass silently: it is counted. */
static void what_is_too_large_is_counted(void **state) {
    (void)state;
    Case c;
    int large;
    open_case(&c, " %x = constant F [2] seed(1)\n %y = neg %x\n out %y\n");
    const int64_t n = CHECKED_ELEMENTS + 1;
    const Type t = {.dtype = DT_FLOAT, .known = true, .dim = {1, {poly_int(c.w, n)}}};
    const size_t bytes = element_bytes(t.dtype, n);
    const Value x = constant_make(c.w, &t, blob_put(c.w, arena_alloc(c.w->arena, bytes), bytes));
    const char *why;
    c.expression = node_make(c.w, op_find("neg"), NULL, 1, &x, 1, &why);
    c.constant = x;
    assert_true(derivation_check_constants(&c.d, 1, &large, &c.error));
    assert_int_equal(large, 1);
    world_free(c.w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_rounded_passes),
        cmocka_unit_test(a_planted_error_is_seen),
        cmocka_unit_test(what_is_too_large_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
