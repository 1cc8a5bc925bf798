/* search_saturate.c -- tests the search by an e-graph, with prices that the tests define. It finds
   a result whose derivation first costs more, its derivation can be repeated from its log, results
   that belong together are chosen together, limits and switched-off rules are respected, and two
   runs give the same result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "search/derive.h"
#include "search/runtime/extract.h"
#include "search/runtime/saturate.h"
#include "test/shared/search_fixture.h"
#include <string.h>

static const char rules[] =
    "rule exp-sum\n  axes b = 0..2\n  %x : F [b..]   %y : F [b..]\nfrom\n  %s = add %x %y\n"
    "  %e = exp %s\n  out %e\nto\n  %e = exp %x\n  %f = exp %y\n  %p = mul %e %f\n  out %p\n"
    "rule mul-right\n  axes b = 0..2\n  %x : F [b..]   %y : F [b..]   %z : F [b..]\nfrom\n"
    "  %p = mul %x %y\n  %q = mul %p %z\n  out %q\nto\n  %p = mul %y %z\n  %q = mul %x %p\n"
    "  out %q\n"
    "rule exp-neg\n  axes b = 0..2\n  %x : F [b..]\nfrom\n  %e = exp %x\n  %n = neg %x\n"
    "  %f = exp %n\n  %p = mul %e %f\n  out %p\nto\n  %k = fill value=1 shape=[b..]\n  out %k\n"
    "rule mul-ones\n  axes b = 0..2\n  %x : F [b..]\nfrom\n  %k = fill value=1 shape=[b..]\n"
    "  %p = mul %x %k\n  out %p\nto\n  out %x\n"
    "rule sqrt-join\n  %x : F [a]   %y : F [c]\nfrom\n  %p = sqrt %x\n  %q = sqrt %y\n  out %p %q\n"
    "to\n  %w = concat %x %y axis=0\n  %r = sqrt %w\n  %p %q = split %r axis=0 sizes=[a, c]\n"
    "  out %p %q\n";

/* exp(x + y) exp(-y) costs 16; the first rule makes it 20, the last one leaves exp x, which costs
   5. */
static const char detour[] = "graph g %x : F [3]   %y : F [3]\nbody\n"
                             "  %s = add %x %y\n  %e = exp %s\n  %n = neg %y\n  %f = exp %n\n"
                             "  %p = mul %e %f\n  out %p\n";
static const char two[] = "graph g %x : F [3]   %y : F [5]\nbody\n  %p = sqrt %x\n"
                          "  %q = sqrt %y\n  out %p %q\n";
static const EGraphLimits wide = {.rounds = 8, .nodes = 1000, .matches = 100};

static double node_price(void *user, const Node *n) {
    static const struct {
        const char *name;
        double price;
    } prices[] = {{"exp", 5}, {"sqrt", 5}, {"add", 3}, {"mul", 2}};
    (void)user;
    for (size_t k = 0; k < sizeof prices / sizeof *prices; k++)
        if (!strcmp(n->op->name, prices[k].name)) return prices[k].price;
    return n->nin ? 1 : 0;
}

static Price price(void *user, const Graph *g) {
    Fixture *f = user;
    Arena *a = arena_new(NULL, 0);
    NodeList live = graph_live(f->w, a, g);
    Price p = {0};
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(f->w, live.v[k]);
        p.seconds += node_price(f, &n);
        p.nodes += n.nin > 0;
    }
    arena_free(a);
    return p;
}

static Backtrack settings(Fixture *f, int64_t steps) {
    return (Backtrack){
        f->w, f->arena, facts_new(f->w, f->arena), &f->library, price, NULL, f, 1.05, steps, 8};
}

static RegionSolution search(Fixture *f, const Graph *g, EGraphLimits limits, int64_t steps) {
    RegionSolution s;
    Backtrack b = settings(f, steps);
    saturate(&b, &(Saturate){limits, node_price}, g, &s);
    return s;
}

/* Makes a derivation of the rounds and replays its log from the start, which must give the same
   graph. Returns the number of applications. */
static int replayed(Fixture *f, const Graph *start, const RegionSolution *s) {
    Facts *facts = facts_new(f->w, f->arena);
    Derivation d = derivation_new(f->w, f->arena, facts, &f->library, start), again = d;
    for (int k = 0; k < s->n; k++)
        assert_true(derive_round(&d, s->round[k].n, s->round[k].match, true, NULL, &f->error));
    again.fired = ARENA_NEW(f->arena, int, f->library.n);
    assert_true(derive_replay(&again, &d.log, &f->error));
    assert_string_equal(graph_body(f->w, &again.graph), graph_body(f->w, &s->graph));
    return again.applied;
}

static void a_detour_is_found(void **state) {
    (void)state;
    Fixture f;
    RegionSolution back;
    open_fixture(&f, rules);
    Graph g = graph_of(f.w, detour);
    Backtrack b = settings(&f, 2000);
    backtrack(&b, &g, &back);
    assert_true(back.after.seconds == 16);
    RegionSolution s = search(&f, &g, wide, 2000);
    assert_true(s.before.seconds == 16 && s.after.seconds == 5 && s.n == 4);
    assert_non_null(strstr(graph_body(f.w, &s.graph), "exp %x"));
    assert_int_equal(replayed(&f, &g, &s), 4);
    close_fixture(&f);
}

/* Neither result of the split pays alone. */
static void results_are_chosen_together(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f, rules);
    Graph g = graph_of(f.w, two);
    RegionSolution s = search(&f, &g, wide, 2000);
    assert_true(s.before.seconds == 10 && s.after.seconds == 7);
    assert_int_equal(replayed(&f, &g, &s), 1);
    close_fixture(&f);
}

static void extraction_counts_what_is_shared_once(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f, rules);
    Graph g = graph_of(f.w, "graph g %x : F [3]\nbody\n  %e = exp %x\n  %p = mul %e %e\n"
                            "  %q = add %e %p\n  out %p %q\n");
    EGraph *e = egraph_new(f.w, f.arena, facts_new(f.w, f.arena));
    for (int k = 0; k < g.nout; k++) egraph_add(e, g.out[k]);
    Extract x = {f.w, f.arena, e, node_price, &f};
    Extracted y = extract(&x, g.nout, g.out);
    assert_true(y.price == 10 && y.given == 10);
    assert_memory_equal(y.out, g.out, sizeof *g.out * (size_t)g.nout);
    close_fixture(&f);
}

static void limits_hold(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f, rules);
    Graph g = graph_of(f.w, detour);
    RegionSolution s = search(&f, &g, wide, 2);
    assert_true(s.steps == 2 && s.n == 0 && s.after.seconds == 16);
    assert_int_equal(s.graph.out[0], g.out[0]);
    s = search(&f, &g, (EGraphLimits){1, 1000, 100}, 2000);
    assert_true(s.after.seconds == 16);
    s = search(&f, &g, (EGraphLimits){8, 7, 100}, 2000);
    assert_true(s.after.seconds == 16);
    close_fixture(&f);
}

static void a_rule_that_is_off_is_not_used(void **state) {
    (void)state;
    for (int off = 0; off < 4; off++) {
        Fixture f;
        open_fixture(&f, rules);
        f.library.rule[off].on = false;
        Graph g = graph_of(f.w, detour);
        RegionSolution s = search(&f, &g, wide, 2000);
        assert_true(s.after.seconds > 5);
        for (int k = 0; k < s.n; k++)
            assert_string_not_equal(s.round[k].match[0].instance->rule->name,
                                    f.library.set.v[off].name);
        close_fixture(&f);
    }
}

static void two_runs_give_the_same(void **state) {
    (void)state;
    char text[2][1000];
    for (int k = 0; k < 2; k++) {
        Fixture f;
        open_fixture(&f, rules);
        Graph g = graph_of(f.w, detour);
        RegionSolution s = search(&f, &g, wide, 2000);
        Text t = text_new(f.arena);
        for (int r = 0; r < s.n; r++)
            text_add(&t, "%s %u\n", s.round[r].match[0].instance->rule->name,
                     s.round[r].match[0].root[0]);
        text_add(&t, "%s", graph_body(f.w, &s.graph));
        assert_true(t.size < sizeof text[k]);
        memcpy(text[k], t.data, t.size + 1);
        close_fixture(&f);
    }
    assert_string_equal(text[0], text[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_detour_is_found),
        cmocka_unit_test(results_are_chosen_together),
        cmocka_unit_test(extraction_counts_what_is_shared_once),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(a_rule_that_is_off_is_not_used),
        cmocka_unit_test(two_runs_give_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
