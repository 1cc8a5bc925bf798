/* rules_rule.c -- tests reading, expanding, printing and identifying rules, and matching and
   applying them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/needs.h"
#include "rules/match_apply.h"
#include "test/shared/forge.h"
#include "graphs/world.h"
#include <stdio.h>
#include <string.h>

static const char merge[] = "# a file\n# of rules\n\n# and a section\n\n# parallel convolutions\n"
                            "rule conv-merge-outputs\n"
                            "  axes h k = 1..3\n"
                            "  %x : F [n, c, h..]   %u : F [p, c, k..]   %v : F [q, c, k..]\n"
                            "from\n"
                            "  %a = conv %x %u strides=S pads=P dilations=D\n"
                            "  %b = conv %x %v strides=S pads=P dilations=D\n"
                            "  out %a %b\n"
                            "to\n"
                            "  %w = concat %u %v axis=0\n"
                            "  %y = conv %x %w strides=S pads=P dilations=D\n"
                            "  %a %b = split %y axis=1 sizes=[p, q]\n"
                            "  out %a %b\n";
static const char square[] = "rule square\n  axes b = 0..4\n  %x : F [b..]\nfrom\n  %t = fill "
                             "value=2 shape=[]\n  %y = pow %x %t\n  out "
                             "%y\nto\n  %y = mul %x %x\n  out %y\n";
static const char swish[] = "rule hard-swish\n  axes b = 0..4\n  %x : F [b..]\nfrom\n  %t = fill "
                            "value=3 shape=[]\n  %s = fill value=1/6 shape=[]\n  %a = add %x "
                            "%t\n  %c = clip %a min=0 max=6\n"
                            "  %m = mul %x %c\n  %y = mul %m %s\n  out %y\nto\n  %h = hardsigmoid "
                            "%x alpha=1/6 beta=1/2\n  %y = mul %x %h\n  out %y\n";

typedef struct Fixture {
    Arena *arena;
    World *world;
    Error error;
    RuleSet set;
} Fixture;

static void open_fixture(Fixture *f) {
    memset(f, 0, sizeof *f);
    f->arena = arena_new(NULL, 0);
    f->world = graph_world_new(NULL, 0);
}
static void close_fixture(Fixture *f) {
    world_free(f->world);
    arena_free(f->arena);
}
static const Rule *read_rule(Fixture *f, const char *text) {
    if (!rules_parse(f->arena, "test", text, strlen(text), &f->set, &f->error)) {
        char why[700];
        error_print(&f->error, why, sizeof why);
        print_message("%s\n", why);
        return NULL;
    }
    return &f->set.v[f->set.n - 1];
}
static Graph read_graph(Fixture *f, const char *text) {
    Graph g = {0};
    const char *name;
    Names names = {.arena = f->arena};
    Scan s = scan_new("test", text, strlen(text), &f->error);
    if (!graph_parse(f->world, f->arena, &s, &name, &g, &names, &f->error))
        print_message("%s\n", f->error.reason);
    assert_int_equal(f->error.kind, E_NONE);
    return g;
}

static void test_reads_and_prints(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    const Rule *r = read_rule(&f, merge);
    assert_non_null(r);
    assert_string_equal(r->name, "conv-merge-outputs");
    assert_string_equal(r->comment, "parallel convolutions\n");
    assert_int_equal(r->nblock, 2);
    assert_int_equal(r->ngroup, 1);
    Text t = text_new(f.arena);
    rule_print(r, &t);
    RuleSet again = {0};
    assert_true(rules_parse(f.arena, "again", t.data, t.size, &again, &f.error));
    assert_string_equal(again.v[0].id, r->id);
    assert_string_equal(again.v[0].section, "a file\nof rules\n\nand a section\n");
    close_fixture(&f);
}

static void test_instances(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    const Rule *r = read_rule(&f, merge);
    int length[RULE_BLOCKS], count = 0;
    rule_lengths_first(r, length);
    do {
        Instance i;
        if (!rule_instance(f.world, f.arena, r, length, &i, &f.error))
            fail_msg("%s", f.error.reason);
        assert_int_equal(i.ninput, 3);
        assert_int_equal(i.from.nout, 2);
        assert_int_equal(value_type(f.world, i.from.out[0])->dim.n, 2 + length[0]);
        count++;
    } while (rule_lengths_next(r, length));
    assert_int_equal(count, 3);
    close_fixture(&f);
}

static void test_identifier_ignores_names(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    const Rule *a = read_rule(&f, square);
    char id[RULE_ID];
    memcpy(id, a->id, sizeof id);
    const Rule *b = read_rule(&f, "rule other\n  axes q = 0..4\n  %z : F [q..]\nfrom\n  %e = fill "
                                  "value=2 shape=[]\n  %r = pow %z %e\n  "
                                  "out %r\nto\n  %r = mul %z %z\n  out %r\n");
    assert_string_equal(id, b->id);
    const Rule *c = read_rule(&f, "rule third\n  axes q = 0..4\n  %z : F [q..]\nfrom\n  %e = fill "
                                  "value=3 shape=[]\n  %r = pow %z %e\n  "
                                  "out %r\nto\n  %r = mul %z %z\n  out %r\n");
    assert_string_not_equal(id, c->id);
    close_fixture(&f);
}

/* Returns whether two rules have the same identifier. Rules with different meanings must not: a
   verdict copied from one to the other would be valid. */
static bool same_identifier(const char *a, const char *b) {
    Fixture f;
    open_fixture(&f);
    const Rule *x = read_rule(&f, a);
    assert_non_null(x);
    const char *id = arena_string(f.arena, x->id, strlen(x->id));
    f.set.n = 0; /* both rules may have the same name */
    const Rule *y = read_rule(&f, b);
    assert_non_null(y);
    const bool same = !strcmp(id, y->id);
    close_fixture(&f);
    return same;
}
/* A rule about half of the rows of x: `half` is the size that is halved, `other` the size of
   another input. */
static const char *halved(char text[400], const char *name, const char *other, const char *half) {
    snprintf(text, 400,
             "rule %s\n  %%x : F [n, m]   %%z : F [%s]\nfrom\n  %%y = slice %%x starts=[0, 0] "
             "sizes=[floor(%s/2), m]\n  %%v = relu %%y\n  out %%v %%z\nto\n  %%r = relu %%x\n"
             "  %%v = slice %%r starts=[0, 0] sizes=[floor(%s/2), m]\n  out %%v %%z\n",
             name, other, half, half);
    return text;
}
static void test_identifier_of_names_in_quotients(void **state) {
    (void)state;
    char a[400], b[400];
    assert_true(same_identifier(halved(a, "a", "k", "k"), halved(b, "b", "s1", "s1")));
    assert_false(same_identifier(halved(a, "a", "k", "n"), halved(b, "b", "s1", "s1")));
}
/* An input that neither side reads implies that its sizes are not negative. */
static void test_identifier_of_unread_inputs(void **state) {
    (void)state;
    static const char padded[] = "from\n  %p = pad %x pads=[k, 0]\n  %y = reduce_sum %p axes=[0]\n"
                                 "  out %y\nto\n  %y = reduce_sum %x axes=[0]\n  out %y\n";
    char a[400], b[400];
    snprintf(a, sizeof a, "rule a\n  %%x : F [n]   %%z : F [k]\n%s", padded);
    snprintf(b, sizeof b, "rule b\n  %%x : F [n]\n%s", padded);
    assert_false(same_identifier(a, b));
}
/* If h has one axis, both conditions say that the first axis of %x is not empty; if h has none,
   only the first one does. */
static void test_identifier_of_conditions_on_blocks(void **state) {
    (void)state;
    static const char rest[] = "from\n  %y = reduce_sum %x axes=[0]\n  out %y\nto\n  %s = "
                               "reduce_sum %x axes=[0]\n  %y = relu %s\n  out %y\n";
    char a[400], b[400];
    snprintf(a, sizeof a, "rule a\n  axes h = 0..1\n  %%x : F [a, h.., n]\n%swhere a >= 1\n", rest);
    snprintf(b, sizeof b, "rule b\n  axes h = 0..1\n  %%x : F [h.., a, n]\n%swhere h.. >= 1\n",
             rest);
    assert_false(same_identifier(a, b));
}
/* Returns whether the verdict of rule a, sealed by this build and extended to all longer blocks, is
   valid for rule b. */
static bool verdict_holds_for(const char *a, const char *b, const char *condition) {
    Fixture f;
    open_fixture(&f);
    Rule x = *read_rule(&f, a);
    f.set.n = 0; /* both rules have the same name */
    Rule y = *read_rule(&f, b);
    x.verdict = VERDICT_PROVED;
    x.all_ranks = x.nblock ? arena_format(f.arena, "%s..", x.block[0].name) : "";
    x.condition = condition;
    rule_seal(f.world, f.arena, &x);
    assert_true(rule_check(f.world, &x, &f.error));
    y.verdict = x.verdict;
    y.condition = x.condition;
    y.all_ranks = x.all_ranks;
    memcpy(y.defs, x.defs, sizeof y.defs);
    memcpy(y.digest, x.digest, sizeof y.digest);
    const bool holds = rule_check(f.world, &y, &f.error);
    close_fixture(&f);
    return holds;
}
/* softmax(x + z) is softmax(x) if z does not vary along the last axis. In the second rule it does
   vary if h has no axis; if h has one, the canonical forms of the two rules are the same. */
static void test_verdicts_of_shorter_blocks(void **state) {
    (void)state;
    static const char form[] = "rule r\n  axes %s\n  %%x : F [a, n]   %%z : F [a, %s]\nfrom\n"
                               "  %%s = add %%x %%z\n  %%y = softmax %%s axis=-1\n  out %%y\nto\n"
                               "  %%y = softmax %%x axis=-1\n  out %%y\n";
    char a[400], b[400];
    snprintf(a, sizeof a, form, "h = 0..1", "1");
    snprintf(b, sizeof b, form, "h = 0..1", "h..=1");
    assert_true(same_identifier(a, b));
    assert_true(verdict_holds_for(a, a, ""));
    assert_false(verdict_holds_for(a, b, ""));
    /* The rules list the length 1 only; the verdict extends them to longer blocks. */
    snprintf(a, sizeof a, form, "h = 1", "1");
    snprintf(b, sizeof b, form, "h = 1", "h..=1");
    assert_false(verdict_holds_for(a, b, ""));
}
/* The blocks have the same greatest lengths, but in one rule h and j have equal lengths, in the
   other j and k. */
static void test_verdicts_of_groups(void **state) {
    (void)state;
    static const char form[] = "rule r\n  axes %s\n  %%x : F [h.., j..]   %%z : F [k..]\nfrom\n"
                               "  %%y = relu %%x\n  %%v = relu %%z\n  out %%y %%v\nto\n"
                               "  %%v = relu %%z\n  %%y = relu %%x\n  out %%y %%v\n";
    char a[400], b[400];
    snprintf(a, sizeof a, form, "h j = 1..2, k = 1..2");
    snprintf(b, sizeof b, form, "h = 1..2, j k = 1..2");
    assert_true(verdict_holds_for(a, a, ""));
    assert_false(verdict_holds_for(a, b, ""));
}
/* A condition of a verdict uses the names of the rule for which it was proved. */
static void test_verdicts_with_conditions(void **state) {
    (void)state;
    static const char form[] =
        "rule r\n  %%x : F [%s]\nfrom\n  %%y = relu %%x\n  %%z = relu %%y\n  out %%z\nto\n"
        "  %%z = relu %%x\n  out %%z\n";
    char a[400], b[400];
    snprintf(a, sizeof a, form, "n, m");
    snprintf(b, sizeof b, form, "m, n");
    assert_true(same_identifier(a, b));
    assert_true(verdict_holds_for(a, b, ""));
    assert_true(verdict_holds_for(a, a, "n >= 1"));
    assert_false(verdict_holds_for(a, b, "n >= 1"));
}
static void test_identifier_of_constants(void **state) {
    (void)state;
    static const char form[] = "rule r\n  %%x : F [2]\nfrom\n  %%c = constant F [2] {%s}\n"
                               "  %%y = mul %%x %%c\n  out %%y\nto\n  %%c = constant F [2] {%s}\n"
                               "  %%y = mul %%c %%x\n  out %%y\n";
    char a[400], b[400];
    snprintf(a, sizeof a, form, "1, 2", "3, 4");
    snprintf(b, sizeof b, form, "5, 6", "7, 8");
    assert_true(same_identifier(a, a));
    assert_false(same_identifier(a, b));
}
static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason;
        int line;
    } cases[] = {
        {"rul x\n", "expected rule NAME", 1},
        {"rule a\nfrom\n  out\n", "needs both `from` and `to`", 3},
        {"rule a\n  axes h = 3..1\nfrom\nto\n", "maximum length", 2},
        {"rule a\n  axes h = 1, h = 2\nfrom\nto\n", "twice", 2},
        {"rule a\n  %x : F []\nfrom\n  out %x\nto\n  out %x\nproved class=nonsense where=[] defs=0 "
         "digest=0\n",
         "class=", 7},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Fixture f;
        open_fixture(&f);
        assert_false(
            rules_parse(f.arena, "test", cases[k].text, strlen(cases[k].text), &f.set, &f.error));
        assert_int_equal(f.error.kind, E_INVALID);
        assert_int_equal(f.error.line, cases[k].line);
        assert_non_null(strstr(f.error.reason, cases[k].reason));
        close_fixture(&f);
    }
}

/* An error in a part of a rule is reported at its place in the file, also behind an indentation and
   where axis blocks were expanded. */
static void test_places_of_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int line, column;
    } cases[] = {
        {"rule r\n    %x : F [n]\n  from\n      %y = relu %q\n  out %y\n to\n out %x\n", 4, 7},
        {"rule r\n\t%x : F [n, $]\nfrom\n%y = relu %x\nout %y\nto\nout %x\n", 2, 13},
        {"rule r\n  %x : F [n]\nfrom\n  %y = relu %x\n  out %y\nto\n  out %x\n"
         "   where  n >= 1,  n ?? 2\n",
         8, 20},
        {"rule r\n  axes h = 2\n  %x : F [n,c,  h..]\nfrom\n"
         "     %y = transpose %x perm=[0,1,h.. +  $]\n  out %y\nto\n  out %x\n",
         5, 41},
        {"rule r\n  axes h = 2\n  %x : F [n, h..]\nfrom\n\n  %y = relu %x\n  out %y\nto\n  out %x\n"
         "  where h.. >= 1,   h.. ?? 3\n",
         10, 21},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Fixture f;
        Instance i;
        int length[RULE_BLOCKS] = {2};
        open_fixture(&f);
        const Rule *rule = read_rule(&f, cases[k].text);
        assert_non_null(rule);
        assert_false(rule_instance(f.world, f.arena, rule, length, &i, &f.error));
        assert_int_equal(f.error.line, cases[k].line);
        assert_int_equal(f.error.column, cases[k].column);
        close_fixture(&f);
    }
}

static void test_unproved_and_tampered_are_refused(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    Rule r = *read_rule(&f, square);
    assert_false(rule_check(f.world, &r, &f.error));
    assert_int_equal(f.error.kind, E_CHECK);
    r.verdict = VERDICT_PROVED;
    rule_seal(f.world, f.arena, &r);
    f.error = (Error){0};
    assert_true(rule_check(f.world, &r, &f.error));
    r.classes = CLASS_DROPS; /* the class was tampered with */
    assert_false(rule_check(f.world, &r, &f.error));
    assert_non_null(strstr(f.error.reason, "verdict"));
    r.classes = 0;
    /* The verdict of another build, in which an operator had another definition, sealed there. */
    Rule other = r;
    rule_forge(f.arena, &other, r.defs);
    f.error = (Error){0};
    assert_true(rule_check(f.world, &other, &f.error));
    rule_forge(f.arena, &other, "0123456789abcdef0123456789abcdef");
    assert_false(rule_check(f.world, &other, &f.error));
    assert_non_null(strstr(f.error.reason, "definition"));
    r.condition = "n >= 7";
    f.error = (Error){0};
    assert_false(rule_check(f.world, &r, &f.error));
    assert_non_null(strstr(f.error.reason, "verdict"));
    close_fixture(&f);
}

typedef struct Applied {
    Fixture *f;
    Graph *graph;
    Facts *facts;
    int found;
    Text text;
    bool rounds;
} Applied;

static bool apply_first(void *user, const Match *m) {
    Applied *a = user;
    Value to[8];
    a->found++;
    a->rounds = m->rounds;
    if (a->found > 1) return true;
    if (!match_apply(a->f->world, a->f->arena, a->facts, m, to, &a->f->error))
        fail_msg("%s", a->f->error.reason);
    Graph out;
    ValueMap map;
    assert_true(graph_substitute(a->f->world, a->f->arena, a->graph,
                                 &(Substitution){m->instance->from.nout, m->root, to}, &out, &map,
                                 &a->f->error));
    graph_print(a->f->world, "result", &out, &a->text);
    return true;
}

static Applied run(Fixture *f, const char *rule_text, int length, const char *graph_text) {
    const Rule *r = read_rule(f, rule_text);
    Instance i;
    Graph g = read_graph(f, graph_text);
    Facts *facts = graph_facts(f->world, f->arena, &g);
    if (!rule_instance_apart(f->world, f->arena, r, &length, &i, &f->error))
        fail_msg("%s", f->error.reason);
    Applied a = {f, &g, facts, 0, text_new(f->arena), false};
    matcher_run(matcher_new(f->world, f->arena, &g, facts), &i, apply_first, &a);
    return a;
}

static bool apply_refused(void *user, const Match *m) {
    Applied *a = user;
    Value to[8];
    a->found++;
    assert_false(match_holds(a->f->world, a->f->arena, a->facts, m));
    assert_false(match_apply(a->f->world, a->f->arena, a->facts, m, to, &a->f->error));
    assert_non_null(strstr(a->f->error.reason, "64 bits"));
    return true;
}
/* A number of a model beyond 64 bits reads as 0. A condition on such a number must not be taken to
   hold, and an attribute of that size must not match 0. */
static void test_sizes_beyond_64_bits(void **state) {
    (void)state;
    Fixture f;
    Instance i;
    open_fixture(&f);
    const Rule *r = read_rule(&f, "rule r\n  %x : F [n, m]\nfrom\n  %a = relu %x\n  %y = relu %a\n"
                                  "  out %y\nto\n  %y = relu %x\n  out %y\nwhere 100 >= n*m\n");
    Graph g = read_graph(&f, "graph g\n  %x : F [4294967296, 4294967296]\nbody\n  %a = relu %x\n"
                             "  %y = relu %a\n  out %y\n");
    Facts *facts = graph_facts(f.world, f.arena, &g);
    assert_true(rule_instance_apart(f.world, f.arena, r, NULL, &i, &f.error));
    Applied a = {&f, &g, facts, 0, text_new(f.arena), false};
    matcher_run(matcher_new(f.world, f.arena, &g, facts), &i, apply_refused, &a);
    assert_int_equal(a.found, 1);
    close_fixture(&f);
}
static void test_attributes_beyond_64_bits(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    static const char form[] = "  %%u = slice %%x starts=[%s] sizes=[1]\n"
                               "  %%v = slice %%x starts=[%s] sizes=[1]\n"
                               "  %%w = slice %%x starts=[%s] sizes=[1]\n";
    const char *nodes = arena_format(f.arena, form, "a", "b", "a*b");
    const char *rule = arena_format(f.arena,
                                    "rule r\n  %%x : F [n]\nfrom\n%s  out %%u %%v %%w\nto\n%s"
                                    "  out %%u %%v %%w\n",
                                    nodes, nodes);
    for (int k = 0; k < 2; k++) {
        const char *start = k ? "4294967296" : "3";
        nodes = arena_format(f.arena, form, start, k ? "4294967297" : "4", k ? "0" : "12");
        const char *graph = arena_format(
            f.arena, "graph g\n  %%x : F [9000000000]\nbody\n%s  out %%u %%v %%w\n", nodes);
        assert_int_equal(run(&f, rule, 0, graph).found > 0, !k);
        f.set.n = 0;
    }
    close_fixture(&f);
}
static void test_matches_two_roots(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    Applied a =
        run(&f, merge, 2,
            "graph g\n  %x : F [1, 8, 10, 10]  %u : F [4, 8, 3, 3]  %v : F [6, 8, 3, 3]  %z : F "
            "[6, 8, 1, 1]\nbody\n  %a = conv %x "
            "%u strides=[2, 2]\n"
            "  %b = conv %x %v strides=[2, 2]\n  %c = conv %x %z strides=[2, 2]\n  out %a %b %c\n");
    /* The two convolutions match in both orders; the one with the 1x1 kernel fits neither. */
    assert_int_equal(a.found, 2);
    assert_non_null(strstr(a.text.data, "split"));
    assert_non_null(strstr(a.text.data, "sizes=[4, 6]"));
    close_fixture(&f);
}

/* Appends a head, a chain of n relus from %v0 to %vN, and a tail to the text. */
static void add_chain(Text *t, const char *head, int n, const char *tail) {
    text_add(t, "%s", head);
    for (int k = 0; k < n; k++) text_add(t, "  %%v%d = relu %%v%d\n", k + 1, k);
    text_add(t, "%s", tail);
}

/* A left side may have any number of nodes and inputs. */
static void test_matches_long_left_sides(void **state) {
    enum { LONG = 700 };
    (void)state;
    Fixture f;
    open_fixture(&f);
    Text rule = text_new(f.arena), graph = text_new(f.arena);
    char end[60];
    snprintf(end, sizeof end, "  out %%v%d\n", LONG);
    add_chain(&rule, "rule long\n  axes b = 0..4\n  %v0 : F [b..]\nfrom\n", LONG, end);
    text_add(&rule, "to\n  %%y = relu %%v0\n  out %%y\n");
    add_chain(&graph, "graph g\n  %v0 : F [5]\nbody\n", LONG, end);
    Applied a = run(&f, rule.data, 1, graph.data);
    assert_int_equal(a.found, 1);
    Text wide = text_new(f.arena), inputs = text_new(f.arena);
    for (int k = 0; k < LONG; k++) text_add(&inputs, "  %%x%d : F [3]\n", k);
    text_add(&wide, "%s", "  %y = concat");
    for (int k = 0; k < LONG; k++) text_add(&wide, " %%x%d", k);
    text_add(&wide, " axis=0\n  %%z = relu %%y\n  out %%z\n");
    rule = text_new(f.arena), graph = text_new(f.arena);
    text_add(&rule, "rule wide\n%sfrom\n%sto\n%s", inputs.data, wide.data, wide.data);
    text_add(&graph, "graph g\n%sbody\n%s", inputs.data, wide.data);
    Applied b = run(&f, rule.data, 0, graph.data);
    assert_int_equal(b.found, 1);
    close_fixture(&f);
}

static void test_numbers_are_nearest_floats(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    Applied a = run(&f, swish, 1,
                    "graph g\n  %x : F [5]\nbody\n  %t = constant F [] {3}\n  %s = constant F [] "
                    "{0.16666667}\n  %a = add %t %x\n  %c = "
                    "clip %a min=0 max=6\n  %m = mul %c %x\n  %y = mul %s %m\n  out %y\n");
    assert_int_equal(a.found, 1);
    assert_true(a.rounds);
    assert_non_null(strstr(a.text.data, "hardsigmoid"));
    Applied b = run(
        &f,
        "rule s2\n  axes b = 0..4\n  %x : F [b..]\nfrom\n  %t = fill value=2 shape=[]\n  %y = pow "
        "%x %t\n  out %y\nto\n  %y = "
        "mul %x %x\n  out %y\n",
        1, "graph g\n  %x : F [5]\nbody\n  %t = constant F [] {2.5}\n  %y = pow %x %t\n  out %y\n");
    assert_int_equal(b.found, 0);
    close_fixture(&f);
}

/* x - 0 is x for every x, but x - (-0) is not x for x = -0. */
static void test_a_zero_with_a_sign_is_rounded(void **state) {
    (void)state;
    static const char *const zero[] = {"fill value=0 shape=[5]", "fill value=-0 shape=[5]",
                                       "constant F [5] splat(-0)"};
    for (int k = 0; k < 3; k++) {
        Fixture f;
        open_fixture(&f);
        Applied a = run(&f,
                        "rule z\n  %x : F [n]\nfrom\n  %z = fill value=0 shape=[n]\n  %y = sub "
                        "%x %z\n  out %y\nto\n  out %x\n",
                        0,
                        arena_format(f.arena,
                                     "graph g\n  %%x : F [5]\nbody\n  %%z = %s\n  %%y = sub "
                                     "%%x %%z\n  out %%y\n",
                                     zero[k]));
        assert_int_equal(a.found, 1);
        assert_int_equal(a.rounds, k > 0);
        close_fixture(&f);
    }
}

/* The text of an attribute that was read as a float is its shortest decimal; as a double that is
   another number. */
static void test_attributes_are_nearest_floats(void **state) {
    (void)state;
    const char *rule = "rule a\n  axes b = 0..4\n  %x : F [b..]\nfrom\n  %y = hardsigmoid %x "
                       "alpha=1/6 beta=1/2\n  out %y\nto\n  %y = relu %x\n  out %y\n";
    static const struct {
        const char *alpha;
        int found;
        bool rounds;
    } row[] = {
        {"1/6", 1, false}, {"0.16666667", 1, true}, {"0.1666666", 0, false}, {"0.17", 0, false}};
    for (int k = 0; k < 4; k++) {
        Fixture f;
        open_fixture(&f);
        Applied a = run(&f, rule, 1,
                        arena_format(f.arena,
                                     "graph g\n  %%x : F [5]\nbody\n  %%y = hardsigmoid %%x "
                                     "alpha=%s\n  out %%y\n",
                                     row[k].alpha));
        assert_int_equal(a.found, row[k].found);
        assert_int_equal(a.rounds, row[k].rounds);
        close_fixture(&f);
    }
}

/* The sizes of a model may have the names of a rule's variables, but mean something else. */
static void test_variables_are_the_rules_own(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    Applied a = run(&f, merge, 1,
                    "graph g\n  %x : F [p, q, h]  %u : F [n, q, 3]  %v : F [2*n, q, 3]\nbody\n  %a "
                    "= conv %x %u\n  %b = conv %x %v\n  out %a %b\n");
    assert_int_equal(a.found, 2);
    assert_non_null(strstr(a.text.data, "sizes=[n, 2*n]"));
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_and_prints),
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_identifier_ignores_names),
        cmocka_unit_test(test_identifier_of_names_in_quotients),
        cmocka_unit_test(test_identifier_of_unread_inputs),
        cmocka_unit_test(test_identifier_of_conditions_on_blocks),
        cmocka_unit_test(test_verdicts_of_shorter_blocks),
        cmocka_unit_test(test_verdicts_of_groups),
        cmocka_unit_test(test_verdicts_with_conditions),
        cmocka_unit_test(test_identifier_of_constants),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_places_of_errors),
        cmocka_unit_test(test_unproved_and_tampered_are_refused),
        cmocka_unit_test(test_sizes_beyond_64_bits),
        cmocka_unit_test(test_attributes_beyond_64_bits),
        cmocka_unit_test(test_matches_two_roots),
        cmocka_unit_test(test_matches_long_left_sides),
        cmocka_unit_test(test_numbers_are_nearest_floats),
        cmocka_unit_test(test_a_zero_with_a_sign_is_rounded),
        cmocka_unit_test(test_attributes_are_nearest_floats),
        cmocka_unit_test(test_variables_are_the_rules_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
