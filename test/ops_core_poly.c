/* ops_core_poly.c -- tests polynomials: the canonical form, text, exact division, floor, min and
   digits against evaluation, overflow, and backtracking. */
#include "ops/base/random.h"
#include "ops/core/poly.h"
#include "test/shared/fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static World *w;

static int setup(void **state) {
    (void)state;
    w = world_new(NULL, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    assert_false(overflow_noted(w));
    world_free(w);
    return 0;
}

static Poly P(const char *text) { return poly_of(w, text, strlen(text)); }

static void prints(Poly p, const char *expected) {
    Text t = text_new(w->arena);
    poly_print(w, p, &t);
    assert_string_equal(t.data, expected);
    assert_int_equal(P(t.data), p);
}

static void test_canonical(void **state) {
    (void)state;
    assert_int_equal(P("(n + m)*(n - m)"), P("n^2 - m*m"));
    assert_int_equal(P("n - n"), 0);
    assert_int_equal(P("2*a*b + c"), P("c + b*2*a"));
    assert_int_equal(P("-(a - b)"), P("b-a"));
    assert_int_equal(poly_sub(w, P("a"), P("a + 1")), poly_int(w, -1));
    assert_int_equal(poly_content(w, P("6*a - 9*b + 3")), 3);
    assert_int_equal(poly_content(w, 0), 0);
    Symbol a = symbol_named(w, "a"), b = symbol_named(w, "b");
    Monomial m[] = {
        {2, 2, (uint32_t[]){b, a}}, {3, 0, NULL}, {-2, 2, (uint32_t[]){a, b}}, {1, 1, &b}};
    assert_int_equal(poly_from(w, 4, m), P("b + 3"));
    assert_int_equal(poly_is_symbol(w, P("b")), b);
    assert_int_equal(poly_is_symbol(w, P("2*b")), 0);
    assert_true(poly_has(w, P("a*b + 1"), b));
    assert_false(poly_has(w, P("floor(b/2)"), b));
    assert_true(poly_mentions(w, P("floor(b/2)"), b));
}

static void test_text(void **state) {
    (void)state;
    prints(P("z*y*2 + floor((h+1)/2) -1 + a^3"), "a^3 + 2*y*z + floor((h + 1)/2) - 1");
    prints(P("0"), "0");
    prints(P("-n"), "-n");
    prints(P("min(n, m) - min(m, n) + 7"), "7");
    prints(P("min(b, a+1)"), "min(a + 1, b)");
    prints(P("floor(h/(2*s))"), "floor(h/(2*s))");
    prints(P("floor(-h/3)"), "floor(2*h/3) - h");
    prints(P("digit(a*b, [c, d + 1], 1)"), "digit(a*b, [c, d + 1], 1)");
    prints(P("h.1*h.2"), "h.1*h.2");
    static const char *wrong[] = {"",
                                  "n +",
                                  "floor(a)",
                                  "floor(a/0)",
                                  "(a",
                                  "9223372036854775808",
                                  "9223372036854775807 + 1",
                                  "a^-1",
                                  "min(a)",
                                  "a^99",
                                  "*"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Error e = {0};
        Poly p;
        Scan s = scan_new("poly", wrong[i], strlen(wrong[i]), &e);
        if (poly_parse(w, &s, &p)) fail_msg("parsed: %s", wrong[i]);
        assert_int_equal(e.kind, E_INVALID);
    }
}

static void test_order_of_interning(void **state) {
    (void)state;
    const char *text = "floor((y + 3*x)/(x + y)) + min(q, p)*b + a*c",
               *again = "digit(x*(y + 1) + y, [y, x + y], 1)";
    Text first = text_new(w->arena), second = text_new(w->arena), third = text_new(w->arena),
         fourth = text_new(w->arena);
    poly_print(w, P(text), &first);
    poly_print(w, P(again), &third);
    World *mine = w;
    w = world_new(NULL, 0);
    P("c + q + z + x + y + p + b + a");
    poly_print(w, P(text), &second);
    poly_print(w, P(again), &fourth);
    world_free(w);
    w = mine;
    assert_string_equal(first.data, second.data);
    assert_string_equal(third.data, fourth.data);
}

/* Nor does the order of names that read like an index. */
static void test_names_of_indices(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        World *other = world_new(NULL, 0);
        const Symbol early = first ? symbol_named(other, "i0") : symbol_index(other, 0),
                     late = first ? symbol_index(other, 0) : symbol_named(other, "i0"),
                     name = first ? early : late, index = first ? late : early;
        const Poly n = poly_symbol(other, name), i = poly_symbol(other, index);
        assert_true(early < late);
        assert_true(symbol_compare(other, name, index) < 0);
        assert_true(symbol_compare(other, index, name) > 0);
        assert_true(poly_compare(other, poly_mul(other, i, n), poly_mul(other, i, i)) < 0);
        assert_true(poly_compare(other, poly_mul(other, i, i), poly_mul(other, i, n)) > 0);
        world_free(other);
    }
}

static void test_divide(void **state) {
    (void)state;
    Poly q = 0;
    assert_true(poly_divide(w, P("(a + b)*(c - d + 2)*3"), P("c - d + 2"), &q));
    assert_int_equal(q, P("3*a + 3*b"));
    assert_false(poly_divide(w, P("a + b"), P("2"), &q));
    assert_false(poly_divide(w, P("a*b + 1"), P("a"), &q));
    assert_false(poly_divide(w, P("a"), 0, &q));
    assert_true(poly_divide(w, 0, P("a"), &q));
    assert_int_equal(q, 0);
}

static void test_floor(void **state) {
    (void)state;
    assert_int_equal(P("floor(7/2)"), P("3"));
    assert_int_equal(P("floor(-7/2)"), P("-4"));
    assert_int_equal(P("floor(7/-2)"), P("-4"));
    assert_int_equal(P("floor((2*h)/2)"), P("h"));
    assert_int_equal(P("floor((2*h + 1)/2)"), P("h"));
    assert_int_equal(P("floor((b*q + r)/b)"), P("q + floor(r/b)"));
    assert_int_equal(P("floor((g*h + g)/(g*n))"), P("floor((h + 1)/n)"));
    assert_int_equal(P("floor((h - 1)/2) + 1"), P("floor((h + 1)/2)"));
    assert_int_equal(P("floor(floor(h/2)/2)"), P("floor(h/4)"));
    assert_int_equal(P("floor((a*(g + 1) + r)/(g + 1))"), P("a + floor(r/(g + 1))"));
    Overflow overflow = overflow_begin(w);
    assert_int_equal(poly_floor(w, P("a"), 0), 0);
    assert_true(overflow_end(w, overflow));
    assert_false(overflow_noted(w));
}

static void test_digits(void **state) {
    (void)state;
    Poly r[3] = {P("A"), P("B"), P("C")};
    Poly x = poly_symbol(w, symbol_bound(w, r[0])), y = poly_symbol(w, symbol_bound(w, r[1])),
         z = poly_symbol(w, symbol_bound(w, r[2]));
    Poly e = poly_add(w, poly_mul(w, poly_add(w, poly_mul(w, x, r[1]), y), r[2]), z);
    assert_int_equal(poly_digit(w, e, r, 3, 0), x);
    assert_int_equal(poly_digit(w, e, r, 3, 1), y);
    assert_int_equal(poly_digit(w, e, r, 3, 2), z);
    Poly i = poly_symbol(w, symbol_index(w, 0));
    Symbol d = poly_is_symbol(w, poly_digit(w, i, r, 3, 1));
    assert_int_equal(symbol_def(w, d).kind, SYM_DIGIT);
    assert_int_equal(poly_digit(w, i, (Poly[]){r[0], poly_int(w, 1), r[1], r[2]}, 4, 2),
                     poly_symbol(w, d));
    assert_int_equal(poly_digit(w, i, (Poly[]){r[0], poly_int(w, 1)}, 2, 1), 0);
    assert_int_equal(poly_digit(w, P("23"), (Poly[]){P("9"), P("4"), P("3")}, 3, 1), P("3"));
    assert_int_equal(poly_digit(w, P("23"), (Poly[]){r[0], P("4"), P("3")}, 3, 1), P("3"));
    assert_int_not_equal(poly_digit(w, i, r, 1, 0), i);
    assert_int_not_equal(poly_digit(w, y, r, 1, 0), y);
    assert_int_not_equal(poly_digit(w, poly_symbol(w, d), r, 1, 0), poly_symbol(w, d));
    assert_int_equal(poly_digit(w, poly_symbol(w, d), r + 1, 1, 0), poly_symbol(w, d));
}

static void test_overflow(void **state) {
    (void)state;
    Poly big = poly_int(w, INT64_MAX);
    Overflow outer = overflow_begin(w);
    assert_int_equal(poly_add(w, big, poly_int(w, 1)), 0);
    assert_true(overflow_noted(w));
    Overflow inner = overflow_begin(w);
    assert_false(overflow_noted(w));
    assert_int_equal(poly_mul(w, poly_scale(w, P("a"), INT64_MAX / 2), P("3*b")), 0);
    assert_true(overflow_end(w, inner));
    inner = overflow_begin(w);
    assert_false(overflow_end(w, inner));
    assert_true(overflow_noted(w));
    assert_true(overflow_end(w, outer));
    assert_false(overflow_noted(w));
    outer = overflow_begin(w);
    assert_int_equal(poly_scale(w, poly_int(w, INT64_MIN), -1), 0);
    assert_true(overflow_end(w, outer));
}

static void test_gcd(void **state) {
    (void)state;
    assert_int_equal(integer_gcd(-12, 18), 6);
    assert_int_equal(integer_gcd(0, -5), 5);
    assert_int_equal(integer_gcd(0, 0), 0);
    assert_int_equal(integer_gcd(INT64_MIN, -1), 1);
    assert_int_equal(integer_gcd(-1, INT64_MIN), 1);
    assert_int_equal(integer_gcd(INT64_MIN, 6), 2);
    assert_int_equal(integer_gcd(INT64_MIN, INT64_MIN), 1);
}

/* A missing overflow_end is noticed at the end of the enclosing stretch. */
static void test_forgotten_end(void **state) {
    (void)state;
#ifndef NDEBUG
    int status;
    pid_t child = fork();
    if (!child) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        Overflow outer = overflow_begin(w), inner = overflow_begin(w);
        (void)inner;
        fclose(stderr);
        overflow_end(w, outer);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

static void test_reset(void **state) {
    (void)state;
    static Column c; /* static, since the World refers to it until it is freed */
    column_init(w, &c, TABLE_POLY, sizeof(int));
    Poly a = P("a + 1");
    *(int *)column_at(w, &c, a) = 5;
    WorldMark mark = world_mark(w);
    Poly b = P("b*c + 2");
    *(int *)column_at(w, &c, b) = 7;
    world_reset(w, mark);
    Poly d = P("d*e + 3");
    assert_int_equal(d <= b, 1);
    assert_int_equal(*(int *)column_at(w, &c, b), 0);
    assert_int_equal(*(int *)column_at(w, &c, a), 5);
    prints(d, "d*e + 3");
}

/* Draws an expression over x, y, z and t as a polynomial and evaluates it separately, since
   rewriting must not change its value. */
static Random dice;
static int64_t value[4];
static const char *const names[] = {"x", "y", "z", "t"};

static int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static Poly positive(int64_t *v) {
    int k = (int)random_below(&dice, 4);
    int64_t c = 1 + (int64_t)random_below(&dice, 4);
    if (k == 3) {
        *v = c;
        return poly_int(w, c);
    }
    *v = value[k] * c + (k == 2);
    return poly_add(w, poly_scale(w, poly_named(w, names[k]), c), poly_int(w, k == 2));
}

static Poly random_poly(int depth, int64_t *v) {
    int64_t a, b;
    int op = depth ? (int)random_below(&dice, 7) : 0;
    if (op == 0) {
        int k = (int)random_below(&dice, 5);
        *v = k < 4 ? value[k] : (int64_t)random_below(&dice, 9) - 4;
        return k < 4 ? poly_named(w, names[k]) : poly_int(w, *v);
    }
    Poly p = random_poly(depth - 1, &a);
    if (op == 4) {
        Poly q = positive(&b);
        *v = floor_of(a, b);
        return poly_floor(w, p, q);
    }
    if (op == 5) {
        int64_t c;
        Poly r[3] = {positive(&b), positive(&b), positive(&c)};
        *v = floor_of(a, c) - floor_of(floor_of(a, c), b) * b;
        return poly_digit(w, p, r, 3, 1);
    }
    Poly q = random_poly(depth - 1, &b);
    if (op == 1) *v = a + b;
    if (op == 2) *v = a * b;
    if (op == 3) *v = a - b;
    if (op == 6) *v = a < b ? a : b;
    return op == 1   ? poly_add(w, p, q)
           : op == 2 ? poly_mul(w, p, q)
           : op == 3 ? poly_sub(w, p, q)
                     : poly_min(w, p, q);
}

static void test_random(void **state) {
    (void)state;
    dice = (Random){7, 0};
    Symbol s[4];
    int64_t table[64];
    for (int i = 0; i < 4; i++) s[i] = symbol_named(w, names[i]);
    for (int trial = 0; trial < 4000; trial++) {
        WorldMark mark = world_mark(w);
        Overflow overflow = overflow_begin(w);
        for (int i = 0; i < 64; i++) table[i] = SIZE_UNKNOWN;
        for (int i = 0; i < 4; i++) table[s[i]] = value[i] = 1 + (int64_t)random_below(&dice, 6);
        int64_t expected, v = 0;
        Poly p = random_poly(4, &expected), to[2], q;
        if (!overflow_noted(w)) {
            assert_true(poly_eval(w, p, (Sizes){64, table}, &v));
            assert_int_equal(v, expected);
            Text t = text_new(w->arena);
            poly_print(w, p, &t);
            assert_int_equal(P(t.data), p);
            to[0] = poly_add(w, poly_symbol(w, s[1]), poly_int(w, value[0] - value[1]));
            to[1] = poly_add(w, poly_symbol(w, s[0]), poly_int(w, value[1] - value[0]));
            q = poly_subst(w, p, 2, s, to);
            if (!overflow_noted(w)) {
                assert_true(poly_eval(w, q, (Sizes){64, table}, &v));
                assert_int_equal(v, expected);
            }
        }
        overflow_end(w, overflow);
        world_reset(w, mark);
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_canonical),        TEST(test_text),     TEST(test_order_of_interning),
        TEST(test_names_of_indices), TEST(test_divide),   TEST(test_floor),
        TEST(test_digits),           TEST(test_overflow), TEST(test_gcd),
        TEST(test_forgotten_end),    TEST(test_reset),    TEST(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
