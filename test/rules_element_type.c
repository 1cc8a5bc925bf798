/* rules_element_type.c -- tests instances of rules for other element types of floats: where the
   proof carries over, where it does not, and which numbers match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "rules/match_apply.h"
#include "test/shared/search_fixture.h"
#include <stdio.h>

/* Whether the only rule of the text has an instance for this type; if so, *classes are its
   classes. */
static bool carries(const char *rule, DType t, unsigned *classes) {
    Fixture f;
    Instance i;
    Error e = {0};
    open_fixture(&f, rule);
    assert_int_equal(f.library.n, 1);
    const Instance *own = &f.library.instance[f.library.rule[0].first];
    assert_int_equal(own->floats, DT_FLOAT);
    const bool good = rule_instance_retyped(f.w, f.arena, own, t, &i, &e);
    if (good) {
        assert_int_equal(i.floats, t);
        assert_int_equal(value_type(f.w, i.input[0])->dtype, t);
        assert_int_equal(value_type(f.w, i.to.out[0])->dtype, t);
        *classes = i.classes;
    } else assert_true(strlen(e.reason) > 0);
    close_fixture(&f);
    return good;
}

static void test_where_proofs_carry_over(void **state) {
    (void)state;
    unsigned classes;
    const char
        *const products = "rule a\n  %x : F [m, k]  %u : F [k, n]\nfrom\n  %y = matmul %x %u\n"
                          "  %z = neg %y\n  out %z\nto\n  %t = neg %u\n"
                          "  %z = matmul %x %t\n  out %z\n",
               *const gathered = "rule a\n  %x : F [n]  %i : I64 [m]\nfrom\n  %g = gather %x %i "
                                 "axis=0\n  %y = neg %g\n  out %y\nto\n  %t = neg %x\n"
                                 "  %y = gather %t %i axis=0\n  out %y\n",
               *const cast = "rule a\n  %x : F [n]  %i : I32 [n]\nfrom\n  %f = cast %i to=F\n"
                             "  %y = add %x %f\n  out %y\nto\n  %f = cast %i to=F\n"
                             "  %y = add %f %x\n  out %y\n",
               *const mixed = "rule a\n  %x : F [n]\nfrom\n  %h = cast %x to=F16\n"
                              "  %y = cast %h to=F\n  out %y\nto\n  %y = neg %x\n  out %y\n",
               *const quantized =
                   "rule a\n  %s : F []  %x : I8 [n]\nfrom\n  %d = dequantize %x %s _ axis=0\n"
                   "  %y = neg %d\n  out %y\nto\n  %t = neg %s\n"
                   "  %y = dequantize %x %t _ axis=0\n  out %y\n";
    for (int k = 0; k < 2; k++) {
        const DType t = k ? DT_DOUBLE : DT_FLOAT16;
        assert_true(carries(products, t, &classes));
        assert_true(carries(gathered, t, &classes));
        assert_false(carries(cast, t, &classes));
        assert_false(carries(mixed, t, &classes));
        assert_false(carries(quantized, t, &classes));
    }
}

/* A number that fills a tensor is rounded to the tensor's type; if that changes it, the instance
   has the class rounds. */
static void test_numbers_add_a_class(void **state) {
    (void)state;
    static const struct {
        const char *number;
        bool half;
    } cases[] = {{"1/4", false}, {"2049", true}, {"1/4096", false}, {"4097/4096", true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char rule[400];
        unsigned classes = 0;
        snprintf(rule, sizeof rule,
                 "rule a\n  %%x : F [n]\nfrom\n  %%c = fill shape=[n] value=%s\n  %%y = mul %%x "
                 "%%c\n  out %%y\nto\n  %%c = fill shape=[n] value=%s\n  %%y = mul %%c %%x\n"
                 "  out %%y\n",
                 cases[k].number, cases[k].number);
        assert_true(carries(rule, DT_FLOAT16, &classes));
        assert_int_equal((classes & CLASS_ROUNDS) != 0, cases[k].half);
        assert_true(carries(rule, DT_DOUBLE, &classes));
        assert_int_equal(classes & CLASS_ROUNDS, 0);
    }
}

/* A number that would be 0 or infinite as an element must not become one: there is no instance. The
   absence of a bound is none of these numbers. */
static void test_numbers_are_kept(void **state) {
    (void)state;
    static const struct {
        const char *side;
        bool half;
    } cases[] = {{"%c = fill shape=[n] value=1/16777216\n  %y = mul %x %c", true},
                 {"%c = fill shape=[n] value=1/33554432\n  %y = mul %x %c", false},
                 {"%c = fill shape=[n] value=65504\n  %y = mul %x %c", true},
                 {"%c = fill shape=[n] value=65536\n  %y = mul %x %c", false},
                 {"%y = clip %x min=0", true},
                 {"%y = clip %x min=0 max=100000", false},
                 {"%y = pad %x pads=[0, 0] value=100000", false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char rule[400];
        unsigned classes = 0;
        snprintf(rule, sizeof rule,
                 "rule a\n  %%x : F [n]\nfrom\n  %s\n  %%z = neg %%y\n  out %%z\nto\n  %s\n"
                 "  %%t = neg %%y\n  %%u = neg %%t\n  %%z = neg %%u\n  out %%z\n",
                 cases[k].side, cases[k].side);
        assert_int_equal(carries(rule, DT_FLOAT16, &classes), cases[k].half);
        assert_true(carries(rule, DT_DOUBLE, &classes));
    }
}

static bool count(void *user, const Match *m) {
    int *n = user;
    *n += 1 + 100 * m->rounds;
    return true;
}

/* The number of matches of the rule's left side in the graph, by its instances for three types,
   plus 100 for each match in which a number was rounded. */
static int matches(const char *rule, const char *inputs, const char *nodes) {
    Fixture f;
    Names names;
    Value *in = NULL, *out = NULL;
    int nin = 0, nout = 0, n = 0;
    open_fixture(&f, rule);
    names = (Names){.arena = f.arena};
    Scan s = scan_new("inputs", inputs, strlen(inputs), &f.error),
         t = scan_new("nodes", nodes, strlen(nodes), &f.error);
    if (!graph_parse_inputs(f.w, f.arena, &s, &names, &in, &nin) ||
        !graph_parse_nodes(f.w, f.arena, &t, &names, &out, &nout, &f.error))
        fail_msg("%s", f.error.reason);
    const Graph g = {nin, nout, in, out};
    Matcher *m = matcher_new(f.w, f.arena, &g, facts_new(f.w, f.arena));
    for (int k = 0; k < 3; k++) {
        Instance i = f.library.instance[0];
        const DType types[] = {DT_FLOAT, DT_FLOAT16, DT_DOUBLE};
        if (!k ||
            rule_instance_retyped(f.w, f.arena, &f.library.instance[0], types[k], &i, &f.error))
            matcher_run(m, &i, count, &n);
    }
    close_fixture(&f);
    return n;
}

static void test_what_matches(void **state) {
    (void)state;
    const char *const leaky = "rule a\n  %x : F [n]\nfrom\n  %y = leakyrelu %x alpha=1/10\n"
                              "  %z = neg %y\n  out %z\nto\n  %z = neg %x\n  out %z\n",
                      *const halves = "rule a\n  %x : F [n]\nfrom\n  %y = leakyrelu %x alpha=1/8\n"
                                      "  %z = neg %y\n  out %z\nto\n  %z = neg %x\n  out %z\n";
    static const struct {
        const char *type, *alpha;
        int leaky, halves;
    } cases[] = {{"F", "1/10", 1, 0},    {"F16", "1/10", 1, 0}, {"F64", "1/10", 0, 0},
                 {"BF16", "1/10", 0, 0}, {"F", "1/8", 0, 1},    {"F16", "1/8", 0, 1},
                 {"F64", "1/8", 0, 1},   {"F16", "1/9", 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char input[40], graph[100];
        snprintf(input, sizeof input, "%%x : %s [5]", cases[k].type);
        snprintf(graph, sizeof graph, "%%y = leakyrelu %%x alpha=%s\n%%z = neg %%y\nout %%z\n",
                 cases[k].alpha);
        assert_int_equal(matches(leaky, input, graph), cases[k].leaky);
        assert_int_equal(matches(halves, input, graph), cases[k].halves);
    }
    /* -0 and 0 differ in their bits. */
    const char *const minus = "rule a\n  %x : F [2]\nfrom\n  %c = fill shape=[2] value=0\n"
                              "  %y = sub %x %c\n  out %y\nto\n  out %x\n";
    assert_int_equal(
        matches(minus, "%x : F [2]", "%c = constant F [2] {0, 0}\n%y = sub %x %c\nout %y\n"), 1);
    assert_int_equal(
        matches(minus, "%x : F [2]", "%c = constant F [2] {-0, -0}\n%y = sub %x %c\nout %y\n"),
        101);
    /* A constant matches if it is the number of its type that is nearest to the rule's number. */
    const char *const scaled = "rule a\n  %x : F [5]\nfrom\n  %c = fill shape=[5] value=1/10\n"
                               "  %y = mul %x %c\n  out %y\nto\n  %y = neg %x\n  out %y\n";
    assert_int_equal(matches(scaled, "%x : F16 [5]",
                             "%c = constant F16 [5] {0.1, 0.1, 0.1, 0.1, 0.1}\n"
                             "%y = mul %x %c\nout %y\n"),
                     101);
    assert_int_equal(matches(scaled, "%x : F16 [5]",
                             "%c = constant F16 [5] {0.1, 0.1, 0.1, 0.1, 0.11}\n"
                             "%y = mul %x %c\nout %y\n"),
                     0);
    /* An integer matches only itself, although the nearest floats of these two are equal. */
    const char *const whole = "rule a\n  %x : I32 [1]\nfrom\n  %c = fill shape=[1] dtype=I32 "
                              "value=16777217\n  %y = add %x %c\n  out %y\nto\n  %y = neg %x\n"
                              "  out %y\n";
    assert_true(matches(whole, "%x : I32 [1]",
                        "%c = constant I32 [1] {16777217}\n%y = add %x %c\nout %y\n") > 0);
    assert_int_equal(matches(whole, "%x : I32 [1]",
                             "%c = constant I32 [1] {16777216}\n%y = add %x %c\nout %y\n"),
                     0);
    assert_int_equal(matches(whole, "%x : I32 [1]",
                             "%c = fill shape=[1] dtype=I32 value=16777216\n%y = add %x %c\nout "
                             "%y\n"),
                     0);
    /* The bounds of a clip and the value of a padding are elements, like the value of a fill. */
    const char *const clipped = "rule a\n  %x : F [n]\nfrom\n  %y = clip %x min=0 max=1/10\n"
                                "  %z = neg %y\n  out %z\nto\n  %z = neg %x\n  out %z\n",
                      *const padded = "rule a\n  %x : F [n]\nfrom\n  %y = pad %x pads=[0, 1] "
                                      "value=1/10\n  %z = neg %y\n  out %z\nto\n  %y = pad %x "
                                      "pads=[0, 1]\n  %z = neg %y\n  out %z\n";
    static const char *const types[] = {"F", "F16", "F64"};
    for (int k = 0; k < 3; k++) {
        char input[40];
        snprintf(input, sizeof input, "%%x : %s [5]", types[k]);
        assert_int_equal(
            matches(clipped, input, "%y = clip %x min=0 max=1/10\n%z = neg %y\nout %z\n"), 1);
        assert_int_equal(
            matches(padded, input, "%y = pad %x pads=[0, 1] value=1/10\n%z = neg %y\nout %z\n"), 1);
    }
    assert_int_equal(matches(clipped, "%x : F64 [5]",
                             "%y = clip %x min=0 max=0.10000000149011612\n%z = neg %y\nout %z\n"),
                     0);
}

static bool apply_lost(void *user, const Match *m) {
    Fixture *f = user;
    Value to[8];
    assert_false(match_apply(f->w, f->arena, facts_new(f->w, f->arena), m, to, &f->error));
    assert_non_null(strstr(f->error.reason, "is lost in the type that holds it"));
    f->error = (Error){0};
    return true;
}
/* An attribute is a float, but the right side makes it an element of a type that does not hold it:
   in float16, 1e9 is infinite and 1e-9 is 0. */
static void test_numbers_are_not_lost(void **state) {
    (void)state;
    static const char *const nodes[] = {"%y = leakyrelu %x alpha=1e9\nout %y\n",
                                        "%y = leakyrelu %x alpha=1e-9\nout %y\n"};
    for (int k = 0; k < 2; k++) {
        Fixture f;
        Value *in = NULL, *out = NULL;
        int nin = 0, nout = 0;
        Instance i;
        open_fixture(&f, "rule a\n  %x : F [5]\nfrom\n  %y = leakyrelu %x alpha=A\n  out %y\nto\n"
                         "  %c = fill value=A shape=[5]\n  %y = mul %x %c\n  out %y\n");
        Names names = {.arena = f.arena};
        const char *const input = "%x : F16 [5]";
        Scan s = scan_new("inputs", input, strlen(input), &f.error),
             t = scan_new("nodes", nodes[k], strlen(nodes[k]), &f.error);
        assert_true(graph_parse_inputs(f.w, f.arena, &s, &names, &in, &nin) &&
                    graph_parse_nodes(f.w, f.arena, &t, &names, &out, &nout, &f.error));
        const Graph g = {nin, nout, in, out};
        assert_true(
            rule_instance_retyped(f.w, f.arena, &f.library.instance[0], DT_FLOAT16, &i, &f.error));
        matcher_run(matcher_new(f.w, f.arena, &g, facts_new(f.w, f.arena)), &i, apply_lost, &f);
        close_fixture(&f);
    }
}

/* Thousands of instances are made in a World that holds the whole library: none may take room for
   every value that there is. */
static void test_the_size_of_the_world_does_not_matter(void **state) {
    (void)state;
    enum { VALUES = 200000, ROOM = 100000 };
    Fixture f;
    Instance i;
    open_fixture(&f, "rule a\n  %x : F [n]\nfrom\n  %y = neg %x\n  %z = neg %y\n  out %z\nto\n"
                     "  out %x\n");
    const Type type = {.dtype = DT_FLOAT, .known = true};
    for (int k = 0; k < VALUES; k++) graph_input(f.w, arena_format(f.arena, "x%d", k), &type);
    Arena *own = arena_new(arena_escape(f.arena), 0);
    assert_true(rule_instance_retyped(f.w, own, &f.library.instance[0], DT_DOUBLE, &i, &f.error));
    assert_true(arena_bytes(own) < ROOM);
    arena_free(own);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_proofs_carry_over),
        cmocka_unit_test(test_numbers_add_a_class),
        cmocka_unit_test(test_numbers_are_kept),
        cmocka_unit_test(test_numbers_are_not_lost),
        cmocka_unit_test(test_what_matches),
        cmocka_unit_test(test_the_size_of_the_world_does_not_matter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
