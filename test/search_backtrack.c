/* search_backtrack.c -- tests the search with prices that the tests define. The search finds the
   cheapest graph, even by a step that costs more, and gives the same result each time. Derivations
   can be repeated, round by round and from their logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "search/runtime/backtrack.h"
#include "search/effect.h"
#include "search/fixpoint.h"
#include "test/shared/search_fixture.h"
#include <string.h>

static const char rules[] = "rule double-neg\n  axes b = 0..2\n  %x : F [b..]\nfrom\n  %t = neg "
                            "%x\n  %y = neg %t\n  out %y\nto\n  out %x\n"
                            "rule abs-neg\n  axes b = 0..2\n  %x : F [b..]\nfrom\n  %y = abs %x\n  "
                            "out %y\nto\n  %t = neg %x\n  %y = abs %t\n  out %y\n"
                            "rule mul-one\n  axes b = 0..2\n  %x : F [b..]\nfrom\n  %k = fill "
                            "value=1 shape=[]\n  %y = mul %x %k\n  out %y\nto\n  out %x\n"
                            "rule add-merge\n  axes b = 0..2\n  %x : F [b..]   %s : F [b..]   %t : "
                            "F [b..]\nfrom\n  %p = add %x %s\n  %q = add %x %t\n  out %p %q\n"
                            "to\n  %q = add %t %x\n  %p = add %s %x\n  out %p %q\n"
                            "rule third\n  axes b = 0..2\n  %x : F [b..]\nfrom\n  %k = fill "
                            "value=1/3 shape=[]\n  %y = mul %x %k\n  out %y\n"
                            "to\n  %k = fill value=3 shape=[]\n  %y = div %x %k\n  out %y\n";

static void open_priced(Fixture *f) {
    open_fixture(f, rules);
    f->neg = 1;
}

/* The price of a graph: neg costs 1, mul 2, add 3, and abs 10, but only 4 after neg. */
static Price price(void *user, const Graph *g) {
    Fixture *f = user;
    Arena *a = arena_new(NULL, 0);
    NodeList live = graph_live(f->w, a, g);
    Price p = {0};
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(f->w, live.v[k]);
        if (!n.nin) continue;
        const char *below = node_get(f->w, value_node(f->w, n.in[0])).op->name;
        p.nodes++;
        p.seconds += !strcmp(n.op->name, "neg")   ? f->neg
                     : !strcmp(n.op->name, "mul") ? 2
                     : !strcmp(n.op->name, "add") ? 3
                     : strcmp(below, "neg")       ? 10
                                                  : 4;
    }
    arena_free(a);
    return p;
}

static RegionSolution search(Fixture *f, const Graph *g, double alpha, int64_t steps) {
    RegionSolution s;
    Backtrack b = {f->w,  f->arena, facts_new(f->w, f->arena), &f->library, price, NULL, f, alpha,
                   steps, 8};
    backtrack(&b, g, &s);
    return s;
}

static void gains_are_taken_together(void **state) {
    (void)state;
    Fixture f;
    open_priced(&f);
    Text t = text_new(f.arena);
    text_add(&t, "graph g %%x : F [3]\nbody\n %%k = fill value=1 shape=[]\n %%a0 = sqrt %%x\n");
    for (int k = 0; k < 20; k++)
        text_add(&t, " %%m%d = mul %%a%d %%k\n %%a%d = sqrt %%m%d\n", k, k, k + 1, k);
    text_add(&t, " out %%a20\n");
    Graph g = graph_of(f.w, t.data);
    RegionSolution s = search(&f, &g, 1.05, 100);
    assert_null(strstr(graph_body(f.w, &s.graph), "mul"));
    assert_int_equal(s.n, 1);
    assert_int_equal(s.round[0].n, 20);
    assert_true(s.after.seconds == s.before.seconds - 40);
    close_fixture(&f);
}

/* If there are more matches than are tried together, the solution says so, and the next round finds
   the rest. */
static void too_many_matches_are_told(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        Fixture f;
        open_priced(&f);
        Text t = text_new(f.arena);
        text_add(&t, "graph g %%x : F [3]\nbody\n %%k = fill value=1 shape=[]\n %%a0 = sqrt %%x\n");
        for (int k = 0; k < BACKTRACK_MATCHES + more; k++)
            text_add(&t, " %%m%d = mul %%a%d %%k\n %%a%d = sqrt %%m%d\n", k, k, k + 1, k);
        text_add(&t, " out %%a%d\n", BACKTRACK_MATCHES + more);
        Graph g = graph_of(f.w, t.data);
        RegionSolution s = search(&f, &g, 1.05, 0);
        assert_int_equal(s.cut, more);
        assert_null(strstr(graph_body(f.w, &s.graph), "mul"));
        assert_int_equal(s.n, 1 + more);
        close_fixture(&f);
    }
}

/* abs(x) = abs(neg(x)) pays, since abs is cheaper after neg. */
static void a_step_up_is_taken_within_alpha(void **state) {
    (void)state;
    static const char text[] = "graph g %x : F [3]\nbody\n %a = abs %x\n %y = sqrt %a\n out %y\n";
    Fixture f;
    open_priced(&f);
    Graph g = graph_of(f.w, text);
    RegionSolution s = search(&f, &g, 1.05, 100);
    assert_string_equal(graph_body(f.w, &s.graph),
                        "  %1 = neg %x\n  %2 = abs %1\n  %3 = sqrt %2\n  out %3\n");
    assert_true(s.after.seconds < s.before.seconds);
    close_fixture(&f);
}

static void budget_and_repetition(void **state) {
    (void)state;
    static const char text[] = "graph g %x : F [3]   %u : F [3]   %v : F [3]\nbody\n %p = add %x "
                               "%u\n %q = add %x %v\n %a = abs %p\n %b = abs %q\n out %a %b\n";
    const char *first = NULL;
    Arena *kept = arena_new(NULL, 0);
    for (int round = 0; round < 2; round++) {
        Fixture f;
        open_priced(&f);
        if (round) graph_of(f.w, "graph h %z : F [9]\nbody\n %a = abs %z\n %b = neg %a\n out %b\n");
        Graph g = graph_of(f.w, text);
        RegionSolution none = search(&f, &g, 1.05, 0), s = search(&f, &g, 1.05, 50);
        assert_int_equal(none.steps, 0);
        assert_true(s.steps <= 50 && s.after.seconds <= none.after.seconds);
        const char *now = graph_body(f.w, &s.graph);
        if (round) assert_string_equal(now, first);
        first = arena_string(kept, now, strlen(now));
        close_fixture(&f);
    }
    arena_free(kept);
}

/* If applying everything at once costs too much, the gainful applications are still made in one
   step. */
static void gains_are_told_from_losses(void **state) {
    (void)state;
    Fixture f;
    open_priced(&f);
    f.neg = 1000;
    Text t = text_new(f.arena);
    text_add(&t, "graph g %%x : F [3]\nbody\n %%k = fill value=1 shape=[]\n %%a0 = abs %%x\n");
    for (int k = 0; k < 20; k++)
        text_add(&t, " %%m%d = mul %%a%d %%k\n %%a%d = sqrt %%m%d\n", k, k, k + 1, k);
    text_add(&t, " out %%a20\n");
    Graph g = graph_of(f.w, t.data);
    RegionSolution s = search(&f, &g, 1.0, 3);
    assert_null(strstr(graph_body(f.w, &s.graph), "mul"));
    assert_null(strstr(graph_body(f.w, &s.graph), "neg"));
    assert_int_equal(s.n, 1);
    close_fixture(&f);
}

/* abs costs 10, or 4 after a neg of 5.9: one more node gains less than 3 %. Such a tie is decided
   for fewer nodes, and the cheapest graph is reported as well. */
static void in_a_tie_fewest_nodes_and_the_cheapest(void **state) {
    (void)state;
    Fixture f;
    open_priced(&f);
    Graph g = graph_of(f.w, "graph g %x : F [3]\nbody\n %a = abs %x\n %y = sqrt %a\n out %y\n");
    f.neg = 5.9;
    RegionSolution s = search(&f, &g, 1.05, 100);
    assert_int_equal(s.n, 0);
    assert_true(s.after.seconds == s.before.seconds);
    assert_non_null(s.cheapest);
    assert_int_equal(s.cheapest->n, 1);
    assert_true(s.cheapest->after.seconds < s.after.seconds &&
                s.cheapest->after.nodes > s.after.nodes);
    assert_non_null(strstr(graph_body(f.w, &s.cheapest->graph), "neg"));
    f.neg = 1;
    s = search(&f, &g, 1.05, 100);
    assert_int_equal(s.n, 1);
    assert_null(s.cheapest);
    close_fixture(&f);
}

static void what_costs_too_much_is_freed(void **state) {
    (void)state;
    Fixture f;
    open_priced(&f);
    f.neg = 1000;
    Graph g = graph_of(f.w, "graph g %x : F [3]\nbody\n %a = abs %x\n %y = sqrt %a\n out %y\n");
    NodeId before = value_last(f.w);
    RegionSolution s = search(&f, &g, 1.0, 50);
    assert_true(s.graphs > 0);
    assert_int_equal(value_last(f.w), before);
    close_fixture(&f);
}

/* Rejected graphs leave nothing in the World. */
static void rejected_graphs_are_freed(void **state) {
    (void)state;
    Fixture f;
    open_priced(&f);
    Graph g =
        graph_of(f.w, "graph g %x : F [3]   %u : F [3]   %v : F [3]\nbody\n %p = add %x %u\n %q "
                      "= add %x %v\n out %p %q\n");
    f.library.rule[3].on = false;
    NodeId before = value_last(f.w);
    RegionSolution s = search(&f, &g, 1.0, 50);
    assert_int_equal(s.n, 0);
    assert_int_equal(value_last(f.w), before);
    close_fixture(&f);
}

static bool take(void *user, const Match *m) {
    struct {
        Arena *arena;
        int n;
        Match v[64];
    } *all = user;
    all->v[all->n++] = match_keep(all->arena, m);
    return all->n < 64;
}

static bool after_rounds(void *left) {
    int *n = left;
    return --*n < 0;
}

/* The log of a derivation, replayed in another World, gives the same graph. A changed log is
   refused. */
static void logs_are_replayed_and_doubted(void **state) {
    (void)state;
    static const char text[] = "graph g %x : F [3]\nbody\n %k = fill value=1 shape=[]\n %a = mul "
                               "%x %k\n %b = neg %a\n %c = neg %b\n %d = "
                               "abs %c\n %e = mul %d %k\n out %e\n";
    Fixture f, again;
    open_priced(&f);
    open_priced(&again);
    graph_of(again.w, "graph h %z : F [9]\nbody\n %a = abs %z\n %b = neg %a\n out %b\n");
    Graph g = graph_of(f.w, text), h = graph_of(again.w, text);
    bool on[] = {true, false, true, false, false};
    Derivation d = derivation_new(f.w, f.arena, facts_new(f.w, f.arena), &f.library, &g);
    assert_true(derive_fixpoint(&d, on, NULL, (FixpointLimits){.applications = 100}, &f.error));
    assert_false(d.limited);
    assert_int_equal(d.applied, 3);
    assert_int_equal(d.fired[0], 1);
    assert_int_equal(d.fired[2], 2);
    assert_string_equal(graph_body(f.w, &d.graph), "  %1 = abs %x\n  out %1\n");
    assert_int_equal(map_value(&d.map, g.out[0]), d.graph.out[0]);
    Derivation r =
        derivation_new(again.w, again.arena, facts_new(again.w, again.arena), &again.library, &h);
    assert_true(derive_replay(&r, &d.log, &again.error));
    assert_string_equal(graph_body(again.w, &r.graph), graph_body(f.w, &d.graph));
    LogStep *step = &d.log.v[0].v[0];
    uint32_t wrong = step->root[0] + 1;
    step->root = &wrong;
    r = derivation_new(again.w, again.arena, facts_new(again.w, again.arena), &again.library, &h);
    assert_false(derive_replay(&r, &d.log, &again.error));
    assert_int_equal(again.error.kind, E_CHECK);
    d = derivation_new(f.w, f.arena, facts_new(f.w, f.arena), &f.library, &g);
    assert_true(derive_fixpoint(&d, on, NULL, (FixpointLimits){.applications = 1}, &f.error));
    assert_true(d.limited && d.applied < 3);
    int rounds = 2;
    d = derivation_new(f.w, f.arena, facts_new(f.w, f.arena), &f.library, &g);
    const FixpointLimits two = {.applications = 100, .over = after_rounds, .user = &rounds};
    assert_true(derive_fixpoint(&d, on, NULL, two, &f.error));
    assert_true(d.limited && d.applied == 1);
    close_fixture(&f);
    close_fixture(&again);
}

/* Matches of one round may depend on each other; each has the same effect as alone. */
static void a_round_may_nest(void **state) {
    (void)state;
    Fixture f;
    open_priced(&f);
    Graph g =
        graph_of(f.w, "graph g %x : F [3]\nbody\n %k = fill value=1 shape=[]\n %a = mul %x %k\n "
                      "%b = mul %a %k\n %c = mul %b %k\n out %c\n");
    struct {
        Arena *arena;
        int n;
        Match v[64];
    } all = {.arena = f.arena};
    Facts *facts = facts_new(f.w, f.arena);
    Matcher *m = matcher_new(f.w, f.arena, &g, facts);
    int applied;
    for (int k = f.library.rule[2].first; k < f.library.rule[2].first + f.library.rule[2].count;
         k++)
        matcher_run(m, &f.library.instance[k], take, &all);
    assert_int_equal(all.n, 3);
    Derivation d = derivation_bare(f.w, f.arena, facts, &f.library, &g);
    assert_true(derive_round(&d, all.n, all.v, false, &applied, &f.error));
    assert_int_equal(applied, 3);
    assert_int_equal(d.graph.out[0], g.in[0]);
    close_fixture(&f);
}

/* The conditions of a rule may hold only for the second of the two orders in which the operands of
   a sum match. */
static void a_round_tries_both_orders(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f, "rule later-first\n  %x : F [n]\nfrom\n  %a = slice %x starts=[p] sizes=[m]\n"
                     "  %b = slice %x starts=[q] sizes=[m]\n  %y = add %a %b\n  out %y\nto\n"
                     "  %a = slice %x starts=[p] sizes=[m]\n  %b = slice %x starts=[q] sizes=[m]\n"
                     "  %c = neg %a\n  %y = sub %b %c\n  out %y\nwhere p >= q + 1\n");
    for (int swapped = 0; swapped < 2; swapped++) {
        const char *text = swapped
                               ? "graph g %x : F [3]\nbody\n %a = slice %x starts=[1] sizes=[2]\n"
                                 " %b = slice %x sizes=[2]\n %y = add %a %b\n out %y\n"
                               : "graph g %x : F [3]\nbody\n %a = slice %x sizes=[2]\n"
                                 " %b = slice %x starts=[1] sizes=[2]\n %y = add %a %b\n out %y\n";
        Graph g = graph_of(f.w, text);
        struct {
            Arena *arena;
            int n;
            Match v[64];
        } all = {.arena = f.arena};
        Facts *facts = facts_new(f.w, f.arena);
        int applied;
        matcher_run(matcher_new(f.w, f.arena, &g, facts), &f.library.instance[0], take, &all);
        assert_int_equal(all.n, 2);
        Derivation d = derivation_bare(f.w, f.arena, facts, &f.library, &g);
        assert_true(derive_round(&d, all.n, all.v, false, &applied, &f.error));
        assert_int_equal(applied, 1);
    }
    close_fixture(&f);
}

/* The neg of x is rewritten; the neg of the constant %c, which an application created, is not. */
static void made_constants_are_left_alone(void **state) {
    (void)state;
    static const char two[] = "rule sub-add\n  %x : F [n]   %c : F [n]\nfrom\n  %y = sub %x %c\n"
                              "  out %y\nto\n  %m = neg %c\n  %y = add %x %m\n  out %y\n"
                              "rule neg-mul\n  %x : F [n]\nfrom\n  %y = neg %x\n  out %y\nto\n"
                              "  %k = fill value=-1 shape=[n]\n  %y = mul %k %x\n  out %y\n";
    static const char text[] = "graph g %x : F [3]\nbody\n %c = constant F [3] {1, 2, 3}\n"
                               " %a = neg %x\n %y = sub %a %c\n out %y\n";
    const bool on[] = {true, true};
    Fixture f;
    open_fixture(&f, two);
    Graph g = graph_of(f.w, text);
    Derivation d = derivation_new(f.w, f.arena, facts_new(f.w, f.arena), &f.library, &g);
    assert_true(derive_fixpoint(&d, on, NULL, (FixpointLimits){.applications = 100}, &f.error));
    assert_int_equal(d.fired[0], 1);
    assert_int_equal(d.fired[1], 1);
    assert_non_null(strstr(graph_body(f.w, &d.graph), "neg %3"));
    close_fixture(&f);
}

/* A rule that is exact for 1/3 is not exact for the nearest float in the model. The application and
   its replay both record this. */
static void the_nearest_float_rounds(void **state) {
    (void)state;
    static const char text[] =
        "graph g %x : F [3]\nbody\n %k = constant F [] {0.33333334}\n %a = mul %x %k\n out %a\n";
    const bool on[] = {false, false, false, false, true};
    Fixture f, again;
    open_priced(&f);
    open_priced(&again);
    Graph g = graph_of(f.w, text), h = graph_of(again.w, text);
    Derivation d = derivation_new(f.w, f.arena, facts_new(f.w, f.arena), &f.library, &g);
    assert_true(derive_fixpoint(&d, on, NULL, (FixpointLimits){.applications = 100}, &f.error));
    assert_int_equal(d.fired[4], 1);
    assert_int_equal(f.library.rule[4].rule->classes, CLASS_EXACT);
    assert_int_equal(d.classes, CLASS_ROUNDS);
    Derivation r =
        derivation_new(again.w, again.arena, facts_new(again.w, again.arena), &again.library, &h);
    assert_true(derive_replay(&r, &d.log, &again.error));
    assert_int_equal(r.classes, CLASS_ROUNDS);
    close_fixture(&f);
    close_fixture(&again);
}

/* The inner nodes of a match are all nodes of the left side, however many, and none before its
   inputs. */
static void a_match_has_all_its_nodes(void **state) {
    enum { CHAIN = 300 };
    (void)state;
    Fixture f;
    open_priced(&f);
    Arena *a = f.w->arena;
    Text t = text_new(a);
    text_add(&t, "graph g %%v0 : F [3]\nbody\n");
    for (int k = 0; k < CHAIN; k++) text_add(&t, " %%v%d = tanh %%v%d\n", k + 1, k);
    text_add(&t, " out %%v%d\n", CHAIN);
    const Graph g = graph_of(f.w, t.data);
    Value below = g.in[0];
    const NodeList live = graph_live(f.w, a, &g);
    for (int k = 0; k < live.n; k++)
        if (node_get(f.w, live.v[k]).nin && node_get(f.w, live.v[k]).in[0] == g.in[0])
            below = live.v[k];
    const Instance i = {.ninput = 1, .from = {0, 1, NULL, NULL}};
    assert_int_equal(match_inner(f.w, a, &(Match){.instance = &i, .input = g.in, .root = g.out}).n,
                     CHAIN);
    assert_int_equal(
        match_inner(f.w, a, &(Match){.instance = &i, .input = &below, .root = g.out}).n, CHAIN - 1);
    close_fixture(&f);
}

/* Applies the library's rules with these names until nothing changes. */
static Derivation derive_by(Fixture *f, int n, const char *const name[], const Graph *g) {
    assert_true(library_open(f->w, f->arena, &(LibraryOptions){.nenable = n, .enable = name},
                             &f->library, &f->error));
    bool *on = ARENA_NEW(f->arena, bool, f->library.n);
    for (int k = 0; k < f->library.n; k++) on[k] = f->library.rule[k].on;
    Derivation d = derivation_new(f->w, f->arena, facts_new(f->w, f->arena), &f->library, g);
    d.model_nodes = value_last(f->w);
    assert_true(derive_fixpoint(&d, on, NULL, (FixpointLimits){.applications = 100}, &f->error));
    return d;
}

/* Rules of the library that undo each other, applied to images: no chain of reshapes remains, and
   no application is counted. */
static void rules_that_undo_each_other_leave_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"conv-1x1-matmul", "matmul-conv-1x1", "reshape-same",
                                        "reshape-reshape"};
    static const char text[] = "graph g %x : F [2, 3, 5, 7]   %u : F [4, 3, 1, 1]\nbody\n"
                               " %a = conv %x %u\n %b = relu %a\n out %b\n";
    Fixture f;
    open_fixture(&f, rules);
    const Graph g = graph_of(f.w, text);
    const Derivation d = derive_by(&f, 4, names, &g);
    assert_true(!d.limited && !d.applied && !d.nstep && !d.log.n);
    for (int k = 0; k < f.library.n; k++) assert_int_equal(d.fired[k], 0);
    assert_string_equal(graph_body(f.w, &d.graph), graph_body(f.w, &g));
    close_fixture(&f);
}

/* If another rule changes the graph in between, the applications that undo each other remain in the
   derivation, but do not count: the final graph does not show them, although the convolution has
   another input by then. */
static void what_was_undone_is_not_counted(void **state) {
    (void)state;
    static const char *const names[] = {"conv-1x1-matmul", "relu-relu", "matmul-conv-1x1",
                                        "reshape-same", "reshape-reshape"};
    static const char text[] = "graph g %x : F [2, 3, 5, 7]\nbody\n %u = constant F [4, 3, 1, 1] "
                               "seed(1)\n %r = relu %x\n %s = relu %r\n %a = conv %s %u\n"
                               " %b = tanh %a\n out %b\n";
    for (int back = 0; back < 2; back++) {
        Fixture f;
        open_fixture(&f, rules);
        const Graph g = graph_of(f.w, text);
        const Derivation d = derive_by(&f, back ? 5 : 2, names, &g);
        const int *count = derivation_counts(&d, f.arena);
        int sum = 0;
        for (int k = 0; k < f.library.n; k++) sum += count[k];
        assert_true(d.fired[library_find(&f.library, "conv-1x1-matmul")] > 0);
        assert_int_equal(count[library_find(&f.library, "conv-1x1-matmul")], !back);
        assert_int_equal(count[library_find(&f.library, "relu-relu")], 1);
        assert_int_equal(sum, back ? 1 : 2);
        close_fixture(&f);
    }
}

/* A node between two applications computes the same function of a changed input: both applications
   count. */
static void what_stays_on_new_inputs_hides_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"pow-square"};
    static const char text[] = "graph g %x : F [2, 8]\nbody\n %k = constant F [] {2}\n"
                               " %a = relu %x\n %b = pow %a %k\n %c = relu %b\n"
                               " %d = pow %c %k\n"
                               " %e = relu %d\n out %e\n";
    Fixture f;
    open_fixture(&f, rules);
    const Graph g = graph_of(f.w, text);
    const Derivation d = derive_by(&f, 1, names, &g);
    const int rule = library_find(&f.library, "pow-square");
    assert_int_equal(d.fired[rule], 2);
    assert_int_equal(derivation_counts(&d, f.arena)[rule], 2);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_are_taken_together),
        cmocka_unit_test(too_many_matches_are_told),
        cmocka_unit_test(a_step_up_is_taken_within_alpha),
        cmocka_unit_test(budget_and_repetition),
        cmocka_unit_test(gains_are_told_from_losses),
        cmocka_unit_test(what_costs_too_much_is_freed),
        cmocka_unit_test(in_a_tie_fewest_nodes_and_the_cheapest),
        cmocka_unit_test(rejected_graphs_are_freed),
        cmocka_unit_test(logs_are_replayed_and_doubted),
        cmocka_unit_test(a_round_may_nest),
        cmocka_unit_test(a_round_tries_both_orders),
        cmocka_unit_test(made_constants_are_left_alone),
        cmocka_unit_test(the_nearest_float_rounds),
        cmocka_unit_test(a_match_has_all_its_nodes),
        cmocka_unit_test(rules_that_undo_each_other_leave_nothing),
        cmocka_unit_test(what_was_undone_is_not_counted),
        cmocka_unit_test(what_stays_on_new_inputs_hides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
