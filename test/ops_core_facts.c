/* ops_core_facts.c -- tests facts about sizes: which literals they must entail, and that they
   entail or reduce nothing that small values contradict. */
#include "ops/base/random.h"
#include "ops/core/facts.h"
#include "test/shared/fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static World *w;

static int setup(void **state) {
    *state = w = world_new(NULL, 0);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    assert_false(overflow_noted(w));
    world_free(w);
    return 0;
}

static Poly P(const char *text, size_t n) { return poly_of(w, text, n); }

/* Reads a literal: "a >= b" or "a == b". */
static Lit literal(const char *text) {
    const char *sign = strstr(text, ">="), *equal = strstr(text, "==");
    const char *at = sign ? sign : equal;
    return (Lit){poly_sub(w, P(text, (size_t)(at - text)), P(at + 2, strlen(at + 2))),
                 equal != NULL};
}

typedef struct Case {
    const char *facts, *goal; /* the facts are separated by ; */
} Case;

static Facts *assume(const char *text) {
    Facts *f = facts_new(w, w->arena);
    char one[200];
    while (*text) {
        size_t n = strcspn(text, ";");
        memcpy(one, text, n);
        one[n] = 0;
        facts_assume(f, literal(one));
        text += n + (text[n] == ';');
    }
    return f;
}

static const Case entailed[] = {
    {"", "n >= 0"},
    {"", "n*m >= 0"},
    {"n >= 1", "n*m >= m"},
    {"n >= 1; m >= 1", "n*m >= 1"},
    {"n*m >= 1", "n >= 1"},
    {"n*m*k >= 5", "m >= 1"},
    {"h + 2*p >= k", "floor((h + 2*p - k)/2) >= 0"},
    {"h + 2*p >= k; s >= 1", "floor((h + 2*p - k)/s) + 1 >= 1"},
    {"h >= k; k >= 1", "h >= 1"},
    {"h >= 2*k; k >= 3", "h >= 6"},
    {"n - 1 >= k", "n >= 1"},
    {"n - 1 >= k", "n*m >= k*m + m"},
    {"n == 2*m", "floor(n/2) == m"},
    {"n == m + 1; m == k", "n - k == 1"},
    {"X == C*G; G >= 1", "floor(X/G) == C"},
    {"O == G*floor(O/G); G >= 1", "floor(2*O/G) == 2*floor(O/G)"},
    {"O == G*floor(O/G); G >= 1; X == C*G; O == X", "floor(O/G) == C"},
    {"n*g == m*g; g >= 1", "n == m"},
    {"", "2*floor(h/2) + 1 >= h"},
    {"", "h >= 2*floor(h/2)"},
    {"", "h >= floor(h/3)"},
    {"s >= 1", "h >= s*floor(h/s)"},
    {"s >= 1", "s*floor(h/s) + s >= h + 1"},
    {"", "n >= min(n, m)"},
    {"n >= 3; m >= 2", "min(n, m) >= 2"},
    {"n >= m", "min(n, m) == m"},
    {"", "n + m - min(n, m) >= n"},
    {"n >= p; n >= q", "n >= p + q - min(p, q)"},
    {"G >= 1", "digit(i, [A, G], 1) >= 0"},
    {"G >= 1", "G >= digit(i, [A, G], 1) + 1"},
    {"2*n >= 3", "n >= 2"},
    {"2*n >= m; m >= 3", "n >= 2"},
    {"h == floor((q - 1)/2) + 1; q >= 5", "h >= 3"},
    {"a >= b; b >= c; c >= d", "a >= d"},
    {"a >= b; b >= c; c >= a", "a == c"},
    {"n >= 4", "floor(n/2) >= 2"},
    {"a == b*c; b >= 2; c >= 3", "a >= 6"},
};

static const Case open_goals[] = {
    {"", "n >= 1"},
    {"", "n*m >= m"},
    {"n*m == k*m", "n == k"},
    {"", "floor(h/s) >= 0"},
    {"n >= m", "m >= n"},
    {"", "floor((h - 3)/2) >= 0"},
    {"", "min(n, m) == n"},
    {"O == G*floor(O/G)", "floor(O/G) == 0"},
    {"", "G >= digit(i, [A, G], 1) + 1"},
    {"h == 2*k", "k == 0"},
};

static void test_entailed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof entailed / sizeof *entailed; i++) {
        Facts *f = assume(entailed[i].facts);
        if (!facts_entail(f, literal(entailed[i].goal)))
            fail_msg("not shown: %s |- %s", entailed[i].facts, entailed[i].goal);
    }
}

static void test_open(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof open_goals / sizeof *open_goals; i++) {
        Facts *f = assume(open_goals[i].facts);
        if (facts_entail(f, literal(open_goals[i].goal)))
            fail_msg("entailed: %s |- %s", open_goals[i].facts, open_goals[i].goal);
    }
}

static void test_bounds(void **state) {
    (void)state;
    Facts *f = facts_new(w, w->arena);
    facts_at_least(f, symbol_named(w, "pad"), INT64_MIN);
    facts_at_least(f, symbol_named(w, "n"), 2);
    assert_false(facts_entail(f, literal("pad >= 0")));
    assert_true(facts_entail(f, literal("n >= 2")));
    assert_true(facts_entail(f, literal("pad*pad >= 0")));
    facts_assume(f, literal("n + pad >= 0"));
    assert_true(facts_entail(f, literal("2*n + 2*pad + 1 >= 0")));
    assert_false(facts_entail(f, literal("n*pad + n >= 0")));
    Poly k = poly_symbol(w, symbol_bound(w, poly_named(w, "n")));
    assert_true(facts_entail(f, (Lit){k, false}));
    assert_true(facts_entail(f, (Lit){poly_sub(w, P("n - 1", 5), k), false}));
    assert_false(facts_entail(f, (Lit){poly_sub(w, P("n - 2", 5), k), false}));
    facts_assume(f, literal("n == 3*m"));
    assert_int_equal(facts_reduce(f, P("n*n", 3)), P("9*m^2", 5));
    assert_true(facts_entail(f, literal("m >= 1")));
}

/* A query leaves nothing behind: the World has as many entries afterwards, and an answer does not
   depend on earlier queries. */
static void test_no_trace(void **state) {
    (void)state;
    Arena *own = arena_new(NULL, 0);
    Facts *f = facts_new(w, own);
    facts_assume(f, literal("h + 2*p >= k"));
    Lit goal = literal("floor((h + 2*p - k)/7)*m + min(a, b*floor(c/3)) >= 0");
    uint32_t polys = intern_count(w->table[TABLE_POLY]),
             symbols = intern_count(w->table[TABLE_SYMBOL]);
    size_t bytes = arena_bytes(own);
    for (int i = 0; i < 50; i++) assert_true(facts_entail(f, goal));
    assert_int_equal(intern_count(w->table[TABLE_POLY]), polys);
    assert_int_equal(intern_count(w->table[TABLE_SYMBOL]), symbols);
    assert_int_equal(arena_bytes(own), bytes);
    arena_free(own);
}

static void test_overflow(void **state) {
    (void)state;
    Facts *f = facts_new(w, w->arena);
    facts_assume(f, (Lit){poly_sub(w, P("x", 1), poly_scale(w, P("y", 1), INT64_MAX / 2)), true});
    facts_assume(f, (Lit){poly_scale(w, P("x*x", 3), -3), false});
    assert_false(facts_entail(f, (Lit){poly_scale(w, P("x*x", 3), -1), false}));
    assert_false(facts_entail(f, (Lit){poly_int(w, INT64_MIN), true}));
    assert_false(overflow_noted(w));
}

/* ---- random facts and goals against all small values */

enum { VARIABLES = 4, MOST = 4, ROOM = 4096 };
static Random dice;
static Symbol variable[VARIABLES]; /* x, y, an index, and a bound variable below x */
static int64_t value[ROOM];

static int64_t draw(int64_t from, int64_t to) {
    return from + (int64_t)random_below(&dice, (uint64_t)(to - from + 1));
}

static Poly random_sum(int terms);

static Poly atom(void) {
    int kind = (int)draw(0, 11);
    if (kind == 8)
        return poly_floor(w, random_sum(2),
                          draw(0, 1) ? poly_int(w, draw(1, 3))
                                     : poly_symbol(w, variable[draw(0, 3)]));
    if (kind == 9) return poly_min(w, random_sum(2), random_sum(1));
    if (kind == 10)
        return poly_digit(w, random_sum(2),
                          (Poly[]){poly_int(w, draw(1, 3)), poly_symbol(w, variable[draw(0, 3)]),
                                   poly_int(w, draw(1, 3))},
                          3, (int)draw(0, 2));
    return poly_symbol(w, variable[kind % VARIABLES]);
}

static Poly random_sum(int terms) {
    Poly p = poly_int(w, draw(-3, 3));
    for (int i = 0; i < terms; i++) {
        Poly t = atom();
        if (draw(0, 3) == 0) t = poly_mul(w, t, atom());
        p = poly_add(w, p, poly_scale(w, t, draw(0, 2) ? draw(1, 2) : -draw(1, 3)));
    }
    return p;
}

static bool assign(int number) {
    for (int i = 0; i < VARIABLES; i++, number /= MOST + 1)
        value[variable[i]] = number % (MOST + 1);
    return value[variable[3]] < value[variable[0]];
}

static int assignments(void) {
    int n = 1;
    for (int i = 0; i < VARIABLES; i++) n *= MOST + 1;
    return n;
}

static bool holds(Lit l, bool *holds_it) {
    int64_t v;
    if (!poly_eval(w, l.p, (Sizes){ROOM, value}, &v)) return false;
    *holds_it = l.eq ? v == 0 : v >= 0;
    return true;
}

/* Draws a literal that holds at the current values. */
static Lit random_fact(void) {
    for (;;) {
        Lit l = {random_sum((int)draw(1, 3)), draw(0, 2) == 0};
        int64_t v;
        if (!poly_eval(w, l.p, (Sizes){ROOM, value}, &v)) continue;
        if (l.eq || v < 0) l.p = poly_sub(w, l.p, poly_int(w, v));
        return l;
    }
}

static Lit random_goal(int n, const Lit *fact) {
    Lit g = {random_sum((int)draw(0, 2)), false};
    if (n && draw(0, 2)) {
        g.p = poly_add(w, poly_int(w, draw(-2, 2)),
                       poly_scale(w, fact[draw(0, n - 1)].p, draw(1, 2)));
        if (draw(0, 1)) g.p = poly_add(w, g.p, fact[draw(0, n - 1)].p);
        if (draw(0, 1)) g.p = poly_add(w, g.p, atom());
    }
    g.eq = draw(0, 5) == 0;
    return g;
}

static void describe(int n, const Lit *fact, Lit goal, const char *what) {
    Text t = text_new(w->arena);
    for (int i = 0; i <= n; i++) {
        Lit l = i < n ? fact[i] : goal;
        if (i == n) text_add(&t, "%s ", what);
        poly_print(w, l.p, &t);
        text_add(&t, l.eq ? " == 0; " : " >= 0; ");
    }
    fail_msg("%s at x=%d y=%d i0=%d k=%d", t.data, (int)value[variable[0]], (int)value[variable[1]],
             (int)value[variable[2]], (int)value[variable[3]]);
}

/* Checks at all small values where the facts hold: an entailed goal holds, and a reduced goal has
   the value of the original. */
static void check_values(int n, const Lit *fact, Lit goal, bool yes, Poly reduced) {
    for (int a = 0, count = assignments(); a < count; a++) {
        bool all = assign(a), ok = false;
        int64_t v, r;
        for (int i = 0; all && i < n; i++) all = holds(fact[i], &ok) && ok;
        if (!all || !holds(goal, &ok)) continue;
        if (yes && !ok) describe(n, fact, goal, "entailed, but not:");
        if (poly_eval(w, reduced, (Sizes){ROOM, value}, &r) &&
            poly_eval(w, goal.p, (Sizes){ROOM, value}, &v) && r != v)
            describe(n, fact, goal, "changed by reducing:");
    }
}

static void test_random(void **state) {
    (void)state;
    dice = (Random){11, 0};
    int shown = 0;
    for (int i = 0; i < ROOM; i++) value[i] = SIZE_UNKNOWN;
    variable[0] = symbol_named(w, "x");
    variable[1] = symbol_named(w, "y");
    variable[2] = symbol_index(w, 0);
    variable[3] = symbol_bound(w, poly_symbol(w, variable[0]));
    for (int trial = 0; trial < 2500; trial++) {
        WorldMark mark = world_mark(w);
        Facts *f = facts_new(w, w->arena);
        Lit fact[3];
        int n = (int)draw(0, 3);
        while (!assign((int)draw(0, assignments() - 1))) {}
        for (int i = 0; i < n; i++) fact[i] = random_fact();
        for (int i = 0; i < n; i++) facts_assume(f, fact[i]);
        for (int k = 0; k < 8; k++) {
            Lit goal = random_goal(n, fact);
            bool yes = facts_entail(f, goal);
            shown += yes;
            Poly reduced = facts_reduce(f, goal.p);
            if (yes || reduced != goal.p) check_values(n, fact, goal, yes, reduced);
        }
        world_reset(w, mark);
    }
    print_message("%d of 20000 entailed\n", shown);
    assert_true(shown > 3000);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {TEST(test_entailed), TEST(test_open),     TEST(test_bounds),
                                       TEST(test_no_trace), TEST(test_overflow), TEST(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
