/* rules_export.c -- tests which rules are exported, and how the text of a rule is split into its
   parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "rules/export.h"
#include "rules/outline.h"
#include "test/shared/forge.h"
#include "graphs/world.h"
#include <string.h>

static const char merge[] =
    "rule merge\n  axes h k = 1..2, b = 0..1\n"
    "  %x : F [b.., n, min(c, d), h..]   %\"a b\" : I64 []\n"
    "from\n"
    "  %a = conv %x _ %\"a b\" strides=S n=2*c + 1   pads=[h.. + k.., (p, q)]\n"
    "  %u %v = split %a axis=1   # the halves\n"
    "  out %u %v\n"
    "to\n  %y = fill shape=[] value=1/6\n  out %y %y\n"
    "where floor(n/2) >= 1, min(p, q) == c\n"
    "proved class=exact all=[b.., h..] where=[k.. >= 1] "
    "defs=00000000000000000000000000000000 "
    "digest=00000000000000000000000000000000\n";

static void expect(const OutlineList *list, int n, ...) {
    va_list v;
    va_start(v, n);
    assert_int_equal(list->n, n);
    for (int k = 0; k < n; k++) assert_string_equal(list->v[k], va_arg(v, const char *));
    va_end(v);
}

static void test_outline(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Outline o;
    Error e = {0};
    assert_true(rules_parse(a, "test", merge, strlen(merge), &set, &e));
    if (!outline_read(a, &set.v[0], &o, &e)) fail_msg("%s", e.reason);
    assert_int_equal(o.ninput, 2);
    expect(&o.input[0].size, 4, "b..", "n", "min(c, d)", "h..");
    assert_string_equal(o.input[1].name, "a b");
    assert_string_equal(o.input[1].element, "I64");
    expect(&o.input[1].size, 0);
    assert_int_equal(o.from.n, 2);
    const OutlineNode *conv = &o.from.v[0], *split = &o.from.v[1];
    expect(&conv->in, 3, "x", "_", "a b");
    assert_int_equal(conv->nattr, 3);
    assert_string_equal(conv->attr[0].value.v[0], "S");
    assert_false(conv->attr[0].is_list);
    expect(&conv->attr[1].value, 1, "2*c + 1");
    expect(&conv->attr[2].value, 2, "h.. + k..", "(p, q)");
    expect(&split->out, 2, "u", "v");
    expect(&split->attr[0].value, 1, "1");
    expect(&o.from.out, 2, "u", "v");
    assert_true(o.to.v[0].attr[0].is_list);
    expect(&o.to.v[0].attr[0].value, 0);
    expect(&o.where, 2, "floor(n/2) >= 1", "min(p, q) == c");
    expect(&o.condition, 1, "k.. >= 1");
    expect(&o.all, 2, "b", "h");
    arena_free(a);
}

static void test_outline_places(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int line, column; /* 0: the end of this line, or the next line */
    } cases[] = {
        {"rule a\n  %x : F [n\nfrom\n  out %x\nto\n  out %x\n", 2, 0},
        {"rule a\n  %x : F [n]\nfrom\n  %y = relu %x\nto\n  out %x\n", 4, 0},
        {"rule a\n  %x : F [n]\nfrom\n     %y relu %x\n  out %y\nto\n  out %x\n", 4, 9},
        {"rule a\n  %x : F [n]\nfrom\n  %y = relu %x\n  out %y\nto\n\t%c = constant F [] {1}\n"
         "  out %x\n",
         7, 15},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Arena *a = arena_new(NULL, 0);
        RuleSet set = {.arena = a};
        Outline o;
        Error e = {0};
        assert_true(rules_parse(a, "test", cases[k].text, strlen(cases[k].text), &set, &e));
        assert_false(outline_read(a, &set.v[0], &o, &e));
        assert_int_equal(e.kind, E_INVALID);
        assert_true(e.line >= cases[k].line && e.line <= cases[k].line + !cases[k].column);
        if (cases[k].column) assert_int_equal(e.column, cases[k].column);
        arena_free(a);
    }
}

static const char rules[] =
    "rule good\n  %x : F [n]\nfrom\n  %y = relu %x\n  %z = relu %y\n  out %z\nto\n  %y = relu %x\n"
    "  out %y\n"
    "rule edited\n  %x : F [n]\nfrom\n  %y = neg %x\n  %z = neg %y\n  out %z\nto\n  out %x\n"
    "rule old\n  %x : F [n]\nfrom\n  %y = abs %x\n  %z = abs %y\n  out %z\nto\n  %y = abs %x\n  "
    "out %y\n"
    "rule open\n  %x : F [n]\nfrom\n  %y = exp %x\n  out %y\nto\n  out %x\n"
    "rule false\n  %x : F [n]\nfrom\n  %y = log %x\n  out %y\nto\n  out %x\n"
    "rule loose\n  %x : F [n]\nfrom\n  %y = add %x %x\n  out %y\nto\n  %y = mul %x %x\n  out %y\n"
    "where n == 0\n"
    "rule foreign\n  %x : F [n]\nfrom\n  %y = pixelnorm %x\n  out %y\nto\n  out %x\n";

typedef struct Fixture {
    World *w;
    Arena *arena;
    RuleSet set;
    Export x;
    Error error;
} Fixture;

/* The rules good and loose have a valid verdict; each of the others fails one check. */
static void open_fixture(Fixture *f) {
    *f = (Fixture){.w = graph_world_new(NULL, 0), .arena = arena_new(NULL, 0)};
    assert_true(rules_parse(f->arena, "test", rules, strlen(rules), &f->set, &f->error));
    for (int k = 0; k < f->set.n; k++) {
        Rule *r = &f->set.v[k];
        if (!strcmp(r->name, "open")) continue;
        r->verdict = VERDICT_PROVED;
        r->condition = r->all_ranks = "";
        r->classes = !strcmp(r->name, "loose") ? CLASS_REASSOCIATES : 0;
        rule_seal(f->w, f->arena, r);
        if (!strcmp(r->name, "edited")) r->classes = CLASS_DROPS;
        if (!strcmp(r->name, "foreign")) memset(r->digest, '0', 32); /* of another build */
        if (!strcmp(r->name, "old")) rule_forge(f->arena, r, "0123456789abcdef0123456789abcdef");
        if (!strcmp(r->name, "false")) r->verdict = VERDICT_REFUTED;
    }
}
static void close_fixture(Fixture *f) {
    world_free(f->w);
    arena_free(f->arena);
}

static void test_only_what_is_proved(void **state) {
    (void)state;
    Fixture f;
    open_fixture(&f);
    ExportOptions all = {.any_class = true, .conditional = true};
    assert_true(export_choose(f.w, f.arena, &f.set, &all, &f.x, &f.error));
    assert_int_equal(f.x.n, 2);
    assert_string_equal(f.x.rule[0]->name, "good");
    assert_string_equal(f.x.rule[1]->name, "loose");
    assert_int_equal(f.x.passed_over, 0);
    static const char *const left[][2] = {{"edited", "was not written by verify-rules"},
                                          {"old", "definition of one of its operators has changed"},
                                          {"open", "no verdict"},
                                          {"false", "refuted"},
                                          {"foreign", "unknown operator \"pixelnorm\""}};
    assert_int_equal(f.x.unproved.n, 5);
    for (int k = 0; k < 5; k++) {
        assert_string_equal(f.x.unproved.v[k].first, left[k][0]);
        assert_non_null(strstr(f.x.unproved.v[k].text, left[k][1]));
        assert_null(strchr(f.x.unproved.v[k].text, '\n'));
        assert_int_equal(f.x.unproved.v[k].count, 1);
    }
    close_fixture(&f);
}

static void test_choice(void **state) {
    (void)state;
    const Op *relu = op_find("relu");
    const struct {
        ExportOptions o;
        const char *name;
    } cases[] = {
        {{.conditional = true}, "good"},
        {{.any_class = true}, "good"},
        {{.classes = CLASS_ROUNDS, .conditional = true}, "good"},
        {{.any_class = true, .conditional = true, .nop = 1, .op = &relu}, "good"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        Fixture f;
        open_fixture(&f);
        assert_true(export_choose(f.w, f.arena, &f.set, &cases[k].o, &f.x, &f.error));
        assert_int_equal(f.x.n, 1);
        assert_string_equal(f.x.rule[0]->name, cases[k].name);
        assert_int_equal(f.x.passed_over, 1);
        close_fixture(&f);
    }
}

static void test_reasons_are_counted(void **state) {
    (void)state;
    Export x = {.arena = arena_new(NULL, 0)};
    Rule a = {.name = "a"}, b = {.name = "b"};
    for (int k = 0; k < 9; k++) {
        char reason[] = {(char)('A' + k), 0};
        export_leave(&x, &x.lost, &a, reason);
        export_leave(&x, &x.lost, &b, "A");
    }
    assert_int_equal(x.lost.n, 9);
    assert_int_equal(x.lost.v[0].count, 10);
    assert_string_equal(x.lost.v[0].first, "a");
    assert_int_equal(x.lost.v[8].count, 1);
    arena_free(x.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outline),
        cmocka_unit_test(test_outline_places),
        cmocka_unit_test(test_only_what_is_proved),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_reasons_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
