/* rules_blocks.c -- tests which uses of axis blocks are refused, with the reason and the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/world.h"
#include "rules/rule.h"
#include <string.h>

/* Axis blocks are used so that a rule says the same thing at each length. */
static void test_misused_blocks(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason; /* reason NULL: allowed */
        int line, column;
    } cases[] = {
        /* At lengths 1 and 2, h_2 would be two different sizes. */
        {"rule r\n  axes h = 1..2\n  %x : F [h..]\nfrom\n  %f = fill value=1 shape=[h_1, h_2]\n"
         "  out %x %f\nto\n  %f = fill value=1 shape=[h..]\n  out %x %f\n",
         "h_1 is the name of a size", 5, 28},
        {"rule r\n  axes h = 2\n  %x : F [h..]\nfrom\n  %y = relu %x\n  out %y\nto\n  out %x\n"
         "where h.. >= 1, n*h_12 == 3\n",
         "h_12 is the name of a size", 9, 19},
        {"rule r\n  axes h a = 2\n  %x : F [h..]\nfrom\n  %y = concat %x axis=a_1\n  out %y\nto\n"
         "  out %x\n",
         "a_1 is the name of a size", 5, 23},
        {"rule r\n  axes h h_1 = 2\n  %h_1 : F [h.., h_1.., H_1, h_x] # h_2\nfrom\n"
         "  %a-h_2.h_1 = relu %h_1\n  out %a-h_2.h_1\nto\n  %\"a h_2\" = relu %h_1\n"
         "  out %\"a h_2\"\n",
         NULL, 0, 0},
        /* h and b may have different lengths. */
        {"rule r\n  axes h = 2, b = 2\n  %x : F [h..]\nfrom\n"
         "  %f = fill value=1 shape=[3, h.. + 2*b..]\n  out %f\nto\n  out %x\n",
         "h and b are axis blocks of different groups", 5, 39},
        {"rule r\n  axes h k = 2, b = 2\n  %x : F [h..]\nfrom\n  %y = relu %x\n  out %y\nto\n"
         "  out %x\nwhere h.. >= k.., k.. >= b..\n",
         "k and b are axis blocks of different groups", 9, 26},
        {"rule r\n  axes h = 2\n  %x : F [hh..]\nfrom\n  %y = relu %x\n  out %y\nto\n  out %x\n",
         "this is not an axis block", 3, 11},
        /* As a list of strides h would be h_1, h_2, which are sizes of x. */
        {"rule r\n  axes h = 2\n  %x : F [n, c, h..]   %w : F [m, c, h..]\nfrom\n"
         "  %y = conv %x %w strides=h\n  out %y\nto\n  %y = conv %x %w strides=h\n  out %y\n",
         "this is the name of an axis block", 5, 27},
        {"rule r\n  axes h = 2\n  %x : F [h.., h_02]\nfrom\n  %y = relu %x\n  %z = relu %y\n"
         "  out %z\nto\n  %y = relu %x\n  out %y\n",
         NULL, 0, 0},
        {"rule r\n  axes h k = 2, b = 2\n  %x : F [h.. + k.., min(b.., 2)]\nfrom\n"
         "  %y = relu %x\n  %z = relu %y\n  out %z\nto\n  %y = relu %x\n  out %y\n",
         NULL, 0, 0},
        /* Beside a block, too: at length 1, S_2 would not be the size that it is at length 2. */
        {"rule r\n  axes h = 1..2\n  %x : F [h.. + S..]\nfrom\n"
         "  %f = fill value=1 shape=[S_2]\n  out %x %f\nto\n"
         "  %f = fill value=1 shape=[S_2]\n  out %x %f\n",
         "this is not an axis block", 3, 17},
        {"rule r\n  axes h = 2\n  %x : F [h..]\nfrom\n  %y = relu %x\n  out %y\nto\n"
         "  out %x\nwhere n >= 1, h.. == hh..\n",
         "this is not an axis block", 9, 22},
        /* What stands before h..=1 would have no effect. */
        {"rule r\n  axes h = 2\n  %x : F [k + h..=1]\nfrom\n  %y = relu %x\n  out %y\nto\n"
         "  out %x\n",
         "NAME..=VALUE must be a whole entry", 3, 15},
        {"rule r\n  axes h = 2\n  %x : F [k, # one each\n  h..=1]\nfrom\n  %y = relu %x\n"
         "  %z = relu %y\n  out %z\nto\n  %y = relu %x\n  out %y\n",
         NULL, 0, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        World *w = graph_world_new(NULL, 0);
        Arena *a = arena_new(NULL, 0);
        RuleSet set = {.arena = a};
        Error e = {0};
        Instance i;
        const int length[RULE_BLOCKS] = {2, 2};
        assert_true(rules_parse(a, "test", cases[k].text, strlen(cases[k].text), &set, &e));
        const bool good = rule_instance(w, a, &set.v[0], length, &i, &e);
        if (good != !cases[k].reason) fail_msg("case %zu: %s", k, e.reason);
        if (!good) {
            assert_int_equal(e.kind, E_INVALID);
            if (!strstr(e.reason, cases[k].reason)) fail_msg("case %zu: %s", k, e.reason);
            assert_int_equal(e.line, cases[k].line);
            assert_int_equal(e.column, cases[k].column);
        }
        world_free(w);
        arena_free(a);
    }
}

/* A comment is not part of an entry: it does not repeat one, and hides none. */
static void test_comments_in_entries(void **state) {
    (void)state;
    static const char *const conditions[] = {"h.. >= 1, n >= 2", "h.. >= 1, n >= 2 # of h.., [k..",
                                             "n >= 2, h.. >= 1 # n >= h.."};
    for (int length = 0; length <= 2; length++)
        for (size_t k = 0; k < sizeof conditions / sizeof *conditions; k++) {
            World *w = graph_world_new(NULL, 0);
            Arena *a = arena_new(NULL, 0);
            RuleSet set = {.arena = a};
            Error e = {0};
            Instance i;
            const char *text = arena_format(a,
                                            "rule r\n  axes h = 0..2\n"
                                            "  %%x : F [n, # [a.., b)\n    h..]\nfrom\n"
                                            "  %%y = relu %%x # [k..\n  %%z = relu %%y\n  out %%z\n"
                                            "to\n  %%y = relu %%x\n  out %%y\n"
                                            "where %s\n",
                                            conditions[k]);
            assert_true(rules_parse(a, "test", text, strlen(text), &set, &e));
            if (!rule_instance(w, a, &set.v[0], &length, &i, &e))
                fail_msg("case %zu: %s", k, e.reason);
            assert_int_equal(value_type(w, i.input[0])->dim.n, 1 + length);
            assert_int_equal(i.nwhere, 1 + length);
            world_free(w);
            arena_free(a);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_misused_blocks),
                                       cmocka_unit_test(test_comments_in_entries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
