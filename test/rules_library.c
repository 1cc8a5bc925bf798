/* rules_library.c -- checks every rule of rules/library by the oracle, independently of the prover:
   the rule matches its own left side at random sizes, and its application computes the same
   numbers. The same holds for the rule's instances for other element types of floats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "rules/match_apply.h"
#include "test/shared/rule_trial.h"
#include "graphs/world.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Found {
    Trial *t;
    Graph graph, result;
    Facts *facts;
    int count;
    char why[300];
} Found;

static bool apply(void *user, const Match *m) {
    Found *f = user;
    Value to[8];
    ValueMap map;
    Error e = {0};
    for (int k = 0; k < f->graph.nout; k++)
        if (m->root[k] != f->graph.out[k]) return true;
    if (!match_apply(f->t->w, f->t->arena, f->facts, m, to, &e) ||
        !graph_substitute(f->t->w, f->t->arena, &f->graph,
                          &(Substitution){f->graph.nout, m->root, to}, &f->result, &map, &e)) {
        snprintf(f->why, sizeof f->why, "%.250s", e.reason);
        return true;
    }
    f->count++;
    return false;
}

/* Builds the instance to be matched and the left side at the drawn sizes. Returns false if the
   proof does not carry over to this type. */
static bool open_type(Trial *t, const int length[], DType type, Instance *pattern, Graph *left) {
    Instance own;
    Error e = {0};
    if (!rule_instance_apart(t->w, t->arena, t->rule, length, pattern, &e))
        fail_msg("%s: %s", t->rule->name, e.reason);
    if (type == DT_FLOAT) {
        if (!trial_graph(t, &t->instance.from, left)) fail_msg("%s", t->why);
        return true;
    }
    const Instance wide = *pattern;
    if (!rule_instance_retyped(t->w, t->arena, &wide, type, pattern, &e)) return false;
    assert_true(rule_instance_retyped(t->w, t->arena, &t->instance, type, &own, &e));
    if (!trial_graph(t, &own.from, left)) fail_msg("%s", t->why);
    return true;
}

/* Whether an attribute cannot match in doubles: 1/6 as an attribute is written as its nearest
   float, which is another number in double. */
static bool rounds_attribute(const Trial *t, const Graph *g) {
    const NodeList live = graph_live(t->w, t->arena, g);
    bool rounds = false;
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(t->w, live.v[k]);
        Attr attr[ATTRS_MAX];
        double x;
        sig_attr(t->w, n.sig, attr);
        for (int j = 0; j < attrs_count(n.op->attrs); j++)
            rounds |= n.op->attrs[j].kind == A_REAL && !n.op->attrs[j].element &&
                      ex_number(t->w, attr[j].real, &x) && (double)(float)x != x;
    }
    return rounds;
}

/* Returns false if the proof does not carry over to this type, or if the rule's numbers do not
   exist in it. */
static bool try_rule(const Rule *rule, const int length[], DType type, uint64_t seed) {
    Trial t;
    Found f = {.t = &t};
    Instance pattern;
    if (!trial_open(&t, rule, length, TRIAL_LEFT, seed) || !trial_draw(&t, 1))
        fail_msg("%s", t.why);
    if (!open_type(&t, length, type, &pattern, &f.graph)) return trial_close(&t), false;
    f.facts = facts_new(t.w, t.arena);
    Matcher *m = matcher_new(t.w, t.arena, &f.graph, f.facts);
    if (!matcher_has(m, instance_needs(t.w, t.arena, &pattern)))
        fail_msg("%s needs operators that its own left side lacks", rule->name);
    matcher_run(m, &pattern, apply, &f);
    if (type == DT_DOUBLE && rounds_attribute(&t, &pattern.from)) {
        assert_int_equal(f.count, 0);
        return trial_close(&t), false;
    }
    if (!f.count)
        fail_msg("%s does not fire on its own left side of %s: %s", rule->name, dtype_name(type),
                 f.why);
    f.result.in = f.graph.in;
    f.result.nin = f.graph.nin;
    if (trial_compare(&t, &f.graph, &f.result) != TRIAL_SAME)
        fail_msg("%s: %s", dtype_name(type), t.why);
    trial_close(&t);
    return true;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static RuleSet read_library(Arena *a) {
    RuleSet set = {.arena = a};
    const char *name[64];
    int n = 0;
    DIR *d = opendir("rules/library");
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d)) && n < 64;)
        if (strstr(x->d_name, ".rules")) name[n++] = arena_format(a, "rules/library/%s", x->d_name);
    closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_name);
    for (int k = 0; k < n; k++) {
        Error e = {0};
        if (!rules_read(a, name[k], &set, &e)) fail_msg("%s:%d: %s", e.place, e.line, e.reason);
    }
    return set;
}

static void test_every_rule_fires(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_library(a);
    assert_true(set.n >= 25);
    for (int k = 0; k < set.n; k++) {
        int length[RULE_BLOCKS];
        assert_true(strlen(set.v[k].comment) > 0); /* the model or case that the rule is for */
        rule_lengths_first(&set.v[k], length);
        do
            for (uint64_t seed = 1; seed <= 3; seed++)
                assert_true(try_rule(&set.v[k], length, DT_FLOAT, seed));
        while (rule_lengths_next(&set.v[k], length));
    }
    print_message("%d rules\n", set.n);
    arena_free(a);
}

/* The proofs of nearly all rules carry over. */
static void test_every_rule_fires_on_other_floats(void **state) {
    (void)state;
    static const DType types[] = {DT_FLOAT16, DT_DOUBLE};
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_library(a);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        int carried = 0;
        for (int k = 0; k < set.n; k++) {
            int length[RULE_BLOCKS];
            rule_lengths_first(&set.v[k], length);
            carried += try_rule(&set.v[k], length, types[t], 1);
        }
        print_message("%s: %d of %d rules\n", dtype_name(types[t]), carried, set.n);
        assert_true(carried >= set.n * 9 / 10);
        assert_true(carried < set.n);
    }
    arena_free(a);
}

/* The files contain verdicts, and these belong to the present definitions. `make prove` writes
   them. */
static void test_every_rule_is_proved(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_library(a);
    World *w = graph_world_new(NULL, 0);
    for (int k = 0; k < set.n; k++) {
        Error e = {0};
        if (!rule_check(w, &set.v[k], &e)) fail_msg("%s", e.reason);
    }
    world_free(w);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_rule_fires),
                                       cmocka_unit_test(test_every_rule_fires_on_other_floats),
                                       cmocka_unit_test(test_every_rule_is_proved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
