/* rules_egraph.c -- tests the e-graph: union and congruence, deferred rebuilding against a closure
   by brute force, patterns over classes, several results, attribute variables, conditions and
   explanations. It also tests which rules follow from others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "ops/base/random.h"
#include "rules/derivable.h"
#include "graphs/world.h"
#include <stdio.h>
#include <string.h>

typedef struct Fixture {
    Arena *arena;
    World *w;
    Facts *facts;
    EGraph *g;
} Fixture;

static Fixture open_fixture(void) {
    Arena *a = arena_new(NULL, 0);
    World *w = graph_world_new(NULL, 0);
    Facts *facts = facts_new(w, a);
    return (Fixture){a, w, facts, egraph_new(w, a, facts)};
}
static void close_fixture(Fixture *f) {
    world_free(f->w);
    arena_free(f->arena);
}

static Value input(Fixture *f, const char *name) {
    Type t = {.known = true, .dtype = DT_FLOAT, .dim.n = 2};
    t.dim.v[0] = poly_named(f->w, "n");
    t.dim.v[1] = poly_named(f->w, "m");
    return graph_input(f->w, name, &t);
}
static Value make(Fixture *f, const char *op, Value a, Value b) {
    Attr attr[ATTRS_MAX];
    bool given[ATTRS_MAX] = {false};
    const char *missing, *why = "";
    Value in[2] = {a, b};
    assert_true(node_attrs(f->w, op_find(op), a, given, attr, &missing));
    Value y = node_make(f->w, op_find(op), attr, b ? 2 : 1, in, 1, &why);
    if (!y) fail_msg("%s: %s", op, why);
    return y;
}
static bool equal(Fixture *f, Value a, Value b) {
    return egraph_find(f->g, a) == egraph_find(f->g, b);
}

/* ---- congruence */

static void test_congruence(void **state) {
    (void)state;
    Fixture f = open_fixture();
    Value x = input(&f, "x"), y = input(&f, "y"), fx = make(&f, "relu", x, 0),
          fy = make(&f, "relu", y, 0), ffx = make(&f, "exp", fx, 0), ffy = make(&f, "exp", fy, 0);
    egraph_add(f.g, ffx);
    egraph_add(f.g, ffy);
    assert_false(equal(&f, ffx, ffy));
    assert_true(egraph_unite(f.g, x, y, NULL));
    egraph_rebuild(f.g);
    assert_true(equal(&f, fx, fy));
    assert_true(equal(&f, ffx, ffy));
    assert_false(equal(&f, x, fx));
    assert_int_equal(egraph_nodes(f.g), 4); /* x, y, and one node for each operator */
    close_fixture(&f);
}

/* relu^3 x = x and relu^5 x = x imply relu x = x (the classic example of congruence closure). */
static void test_powers(void **state) {
    (void)state;
    Fixture f = open_fixture();
    Value v[6] = {input(&f, "x")};
    for (int k = 1; k < 6; k++) v[k] = make(&f, "relu", v[k - 1], 0);
    egraph_add(f.g, v[5]);
    egraph_unite(f.g, v[3], v[0], NULL);
    egraph_rebuild(f.g);
    assert_false(equal(&f, v[1], v[0]));
    egraph_unite(f.g, v[5], v[0], NULL);
    egraph_rebuild(f.g);
    for (int k = 1; k < 6; k++) assert_true(equal(&f, v[k], v[0]));
    Value late = make(&f, "relu", make(&f, "relu", v[5], 0), 0);
    assert_int_equal(egraph_add(f.g, late), egraph_find(f.g, v[0])); /* made after the unions */
    close_fixture(&f);
}

static void test_commutative_operators(void **state) {
    (void)state;
    Fixture f = open_fixture();
    Value x = input(&f, "x"), y = input(&f, "y"), a = make(&f, "add", x, y),
          b = make(&f, "add", y, x), c = make(&f, "sub", x, y), d = make(&f, "sub", y, x);
    egraph_add(f.g, b);
    egraph_add(f.g, a);
    egraph_add(f.g, c);
    egraph_add(f.g, d);
    egraph_rebuild(f.g);
    assert_true(equal(&f, a, b));
    assert_false(equal(&f, c, d));
    close_fixture(&f);
}

static void test_types_are_kept_apart(void **state) {
    (void)state;
    Fixture f = open_fixture();
    Type t = {.known = true, .dtype = DT_FLOAT, .dim.n = 1};
    t.dim.v[0] = poly_named(f.w, "n");
    Value x = input(&f, "x"), y = graph_input(f.w, "y", &t);
    egraph_add(f.g, x);
    egraph_add(f.g, y);
    assert_false(egraph_unite(f.g, x, y, NULL));
    assert_false(equal(&f, x, y));
    close_fixture(&f);
}

/* Compares random terms and unions with a closure that goes over all pairs until nothing
   changes. */
enum { TERMS = 60, UNIONS = 12, ROUNDS = 40 };
typedef struct Slow {
    Value v[TERMS];
    int class[TERMS], in[TERMS][2], op[TERMS]; /* op: 0 an input, 1 add, 2 sub */
} Slow;
static void slow_unite(Slow *s, int a, int b) {
    int from = s->class[a], to = s->class[b];
    for (int k = 0; k < TERMS; k++)
        if (s->class[k] == from) s->class[k] = to;
}
static bool slow_congruent(const Slow *s, int a, int b) {
    if (!s->op[a] || s->op[a] != s->op[b]) return false;
    const int *p = s->in[a], *q = s->in[b];
    bool straight = s->class[p[0]] == s->class[q[0]] && s->class[p[1]] == s->class[q[1]];
    return straight ||
           (s->op[a] == 1 && s->class[p[0]] == s->class[q[1]] && s->class[p[1]] == s->class[q[0]]);
}
static void slow_close(Slow *s) {
    for (bool again = true; again;) {
        again = false;
        for (int a = 0; a < TERMS; a++)
            for (int b = 0; b < a; b++)
                if (s->class[a] != s->class[b] && slow_congruent(s, a, b))
                    slow_unite(s, a, b), again = true;
    }
}
static void test_against_brute_force(void **state) {
    (void)state;
    static const char *const ops[] = {"", "add", "sub"};
    for (int round = 0; round < ROUNDS; round++) {
        Fixture f = open_fixture();
        Random r = {(uint64_t)round + 1, 0};
        Slow s = {0};
        for (int k = 0; k < TERMS; k++) {
            char name[8];
            snprintf(name, sizeof name, "x%d", k);
            s.class[k] = k;
            s.op[k] = k < 6 ? 0 : 1 + (int)random_below(&r, 2);
            for (int j = 0; j < 2; j++) s.in[k][j] = k < 6 ? 0 : (int)random_below(&r, (uint64_t)k);
            s.v[k] =
                k < 6 ? input(&f, name) : make(&f, ops[s.op[k]], s.v[s.in[k][0]], s.v[s.in[k][1]]);
            egraph_add(f.g, s.v[k]);
        }
        for (int k = 0; k < UNIONS; k++) {
            int a = (int)random_below(&r, TERMS), b = (int)random_below(&r, TERMS);
            egraph_unite(f.g, s.v[a], s.v[b], NULL);
            slow_unite(&s, a, b);
            if (k % 3 == 0) egraph_rebuild(f.g); /* rebuilding is sometimes deferred */
        }
        egraph_rebuild(f.g);
        slow_close(&s);
        for (int a = 0; a < TERMS; a++)
            for (int b = 0; b < a; b++)
                assert_int_equal(equal(&f, s.v[a], s.v[b]), s.class[a] == s.class[b]);
        close_fixture(&f);
    }
}

/* ---- rules that follow from others */

static const char known_rules[] =
    "rule relu-twice\n  axes b = 0..4\n  %x : F [b..]\nfrom\n  %1 = relu %x\n  %2 = relu %1\n  out "
    "%2\nto\n  %1 = relu %x\n  out %1\n\n"
    "rule associates\n  axes b = 0..4\n  %x : F [b..]   %y : F [b..]   %z : F [b..]\nfrom\n  %1 = "
    "add %x %y\n  %2 = add %1 %z\n  out %2\n"
    "to\n  %1 = add %x %z\n  %2 = add %1 %y\n  out %2\n\n"
    "rule conv-add\n  %x : F [n, g*c, h, w]   %u : F [g*p, c, k, l]   %v : F [g*p, c, k, "
    "l]\nfrom\n  %1 = add %u %v\n"
    "  %2 = conv %x %1 group=g strides=S pads=P dilations=D\n  out %2\nto\n  %1 = conv %x %u "
    "group=g strides=S pads=P dilations=D\n"
    "  %2 = conv %x %v group=g strides=S pads=P dilations=D\n  %3 = add %1 %2\n  out %3\n\n"
    "rule columns\n  %x : F [n, k]   %y : F [k, m]   %z : F [k, l]\nfrom\n  %1 = matmul %x %y\n  "
    "%2 = matmul %x %z\n  out %1 %2\nto\n"
    "  %w = concat %y %z axis=1\n  %p = matmul %x %w\n  %1 %2 = split %p axis=1 sizes=[m, l]\n  "
    "out %1 %2\n\n"
    "rule split-concat\n  %x : F [n, m]\nfrom\n  %u %v = split %x axis=1 sizes=[p, q]\n  %1 = "
    "concat %u %v axis=1\n  out %1\nto\n  out "
    "%x\n\n"
    "rule only-when-positive\n  %x : F [n, m]\nfrom\n  %1 = tanh %x\n  out %1\nto\n  %1 = sigmoid "
    "%x\n  out %1\nwhere n >= 2\n";

typedef struct Asked {
    const char *text;
    bool follows;
    const char *by; /* names of the rules used, with - if used backward */
} Asked;
static const Asked asked[] = {
    {"rule a\n  %x : F [a, b]\nfrom\n  %1 = relu %x\n  %2 = relu %1\n  %3 = relu %2\n  out "
     "%3\nto\n  %1 = relu %x\n  out %1\n",
     true, "relu-twice"},
    {"rule b\n  %x : F [a]   %y : F [a]   %z : F [a]\nfrom\n  %1 = add %x %y\n  %2 = add %z %1\n  "
     "out %2\nto\n  %1 = add %z %y\n"
     "  %2 = add %x %1\n  out %2\n",
     true, "associates"},
    {"rule c\n  %x : F [n, c, h, w]   %u : F [p, c, 3, 3]   %v : F [p, c, 3, 3]\nfrom\n  %1 = conv "
     "%x %u strides=[2, 2] pads=[1, 1, 1, 1]\n"
     "  %2 = conv %x %v strides=[2, 2] pads=[1, 1, 1, 1]\n  %3 = add %2 %1\n  out %3\nto\n  %1 = "
     "add %u %v\n"
     "  %2 = conv %x %1 strides=[2, 2] pads=[1, 1, 1, 1]\n  out %2\n",
     true, "-conv-add"},
    {"rule d\n  %x : F [n, c, h, w]   %u : F [p, c, 3, 3]   %v : F [p, c, 3, 3]\nfrom\n  %1 = conv "
     "%x %u strides=[2, 2]\n"
     "  %2 = conv %x %v strides=[2, 1]\n  out %1 %2\nto\n  %1 = conv %x %v strides=[2, 2]\n  %2 = "
     "conv %x %u strides=[2, 1]\n  out %1 %2\n",
     false, ""},
    {"rule e\n  %x : F [n, k]   %y : F [k, m]   %z : F [k, l]\nfrom\n  %1 = matmul %x %y\n  %2 = "
     "matmul %x %z\n"
     "  %3 = concat %1 %2 axis=1\n  out %3\nto\n  %w = concat %y %z axis=1\n  %p = matmul %x %w\n  "
     "out %p\n",
     true, "split-concat columns"},
    {"rule f\n  %x : F [n, m]\nfrom\n  %1 = tanh %x\n  out %1\nto\n  %1 = sigmoid %x\n  out %1\n",
     false, ""},
    {"rule g\n  %x : F [n, m]\nfrom\n  %1 = tanh %x\n  out %1\nto\n  %1 = sigmoid %x\n  out "
     "%1\nwhere n >= 3\n",
     true, "only-when-positive"},
    {"rule i\n  %x : F [n]   %z : F [n]\nfrom\n  %1 = relu %x\n  %2 = relu %1\n  %3 = add %z %2\n  "
     "out %3\nto\n  %1 = relu %x\n"
     "  %2 = add %1 %z\n  out %2\n",
     true, "relu-twice"},
    {"rule j\n  %x : F [n]   %z : F [n]\nfrom\n  %1 = relu %z\n  %2 = add %1 %x\n  %3 = relu %1\n  "
     "%4 = add %3 %x\n  out %4\nto\n"
     "  %1 = relu %z\n  %2 = add %x %1\n  out %2\n",
     true, "relu-twice"},
    {"rule h\n  %x : F [n, m]\nfrom\n  %1 = relu %x\n  out %1\nto\n  %1 = sigmoid %x\n  out %1\n",
     false, ""},
};

static RuleSet parse(Arena *a, const char *text) {
    RuleSet set = {.arena = a};
    Error e = {0};
    if (!rules_parse(a, "test", text, strlen(text), &set, &e)) fail_msg("%s", e.reason);
    return set;
}

static void check_steps(Arena *a, const DerivableAnswer *x, const RuleSet *known, const char *by) {
    Text t = text_new(a);
    for (int k = 0; k < x->n; k++)
        text_add(&t, "%s%s%s", k ? " " : "", x->v[k].backward ? "-" : "",
                 known->v[x->v[k].rule].name);
    assert_string_equal(t.data ? t.data : "", by);
}

static void test_following(void **state) {
    (void)state;
    Fixture f = open_fixture();
    RuleSet known = parse(f.arena, known_rules);
    Derivable *follow = derivable_new(f.w, f.arena);
    EGraphLimits limits = {.rounds = 6, .nodes = 300, .matches = 100};
    for (int k = 0; k < known.n; k++) assert_int_equal(derivable_add(follow, &known.v[k]), k);
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
        RuleSet set = parse(f.arena, asked[k].text);
        DerivableAnswer x, again;
        Error e = {0};
        assert_true(derivable_ask(follow, f.arena, &set.v[0], limits, &x, &e));
        if (x.follows != asked[k].follows) fail_msg("%s", asked[k].text);
        check_steps(f.arena, &x, &known, asked[k].by);
        /* A question leaves no trace: asked again, it gets the same answer. */
        assert_true(derivable_ask(follow, f.arena, &set.v[0], limits, &again, &e));
        assert_int_equal(again.follows, x.follows);
        check_steps(f.arena, &again, &known, asked[k].by);
    }
    close_fixture(&f);
}

/* Each known rule follows from itself, but no longer after it is switched off. */
static void test_switching_off(void **state) {
    (void)state;
    Fixture f = open_fixture();
    RuleSet known = parse(f.arena, known_rules);
    Derivable *follow = derivable_new(f.w, f.arena);
    EGraphLimits limits = {.rounds = 4, .nodes = 200, .matches = 100};
    for (int k = 0; k < known.n; k++) derivable_add(follow, &known.v[k]);
    for (int k = 0; k < known.n; k++) {
        DerivableAnswer with, without;
        Error e = {0};
        assert_true(derivable_ask(follow, f.arena, &known.v[k], limits, &with, &e));
        derivable_use(follow, k, false, false);
        assert_true(derivable_ask(follow, f.arena, &known.v[k], limits, &without, &e));
        derivable_use(follow, k, true, true);
        assert_true(with.follows);
        assert_false(without.follows);
        assert_true(with.nlength >= 1);
    }
    close_fixture(&f);
}

/* A rule that always creates something new is stopped by the limit. */
static void test_limits(void **state) {
    (void)state;
    Fixture f = open_fixture();
    RuleSet known = parse(f.arena, "rule grows\n  %x : F [n, m]\nfrom\n  %1 = exp %x\n  out "
                                   "%1\nto\n  %1 = neg %x\n  %2 = exp %1\n"
                                   "  %3 = relu %2\n  out %3\n");
    Derivable *follow = derivable_new(f.w, f.arena);
    derivable_add(follow, &known.v[0]);
    RuleSet asks = parse(f.arena, "rule never\n  %x : F [n, m]\nfrom\n  %1 = exp %x\n  out "
                                  "%1\nto\n  %1 = tanh %x\n  out %1\n");
    DerivableAnswer x;
    Error e = {0};
    NodeId before = value_last(f.w);
    assert_true(derivable_ask(follow, f.arena, &asks.v[0],
                              (EGraphLimits){.rounds = 1 << 30, .nodes = 50, .matches = 10}, &x,
                              &e));
    assert_false(x.follows);
    assert_int_equal(value_last(f.w), before);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_congruence),
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_commutative_operators),
        cmocka_unit_test(test_types_are_kept_apart),
        cmocka_unit_test(test_against_brute_force),
        cmocka_unit_test(test_following),
        cmocka_unit_test(test_switching_off),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
