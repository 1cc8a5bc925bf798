/* verifier_spectator.c -- tests axis blocks: a rule is proved for all ranks if the axes of its
   block are spectators, and only then. Each false rule here is true where its block is empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/world.h"
#include "ops/base/file.h"
#include "search/library.h"
#include "verifier/verify.h"
#include <string.h>

static VerifyResult verdict(Arena *a, const char *text, Switches check) {
    RuleSet set = {.arena = a};
    Error e = {0};
    VerifyOptions o = verify_defaults();
    o.check = check;
    o.prove_first = true;
    if (!rules_parse(a, "test", text, strlen(text), &set, &e)) fail_msg("%s", e.reason);
    return verify_rule(a, &set.v[0], &o);
}
static void for_all(const char *text, const char *all) {
    Arena *a = arena_new(NULL, 0);
    VerifyResult r = verdict(a, text, switches_all);
    if (r.verdict != VERDICT_PROVED) fail_msg("%s: %s", text, r.why);
    if (strcmp(r.all_ranks, all)) fail_msg("%s: all ranks of [%s]", text, r.all_ranks);
    arena_free(a);
}
static void test_all_ranks(void **state) {
    (void)state;
    for_all("rule each\n  axes b = 0..1\n  %x : F [b..]\nfrom\n  %u = relu %x\n  %v = relu %u\n  "
            "out %v\nto\n  %v = relu %x\n  out %v\n",
            "b..");
    for_all("rule rows\n  axes b = 0..2\n  %x : F [b.., n]   %y : F [n]\nfrom\n  %u = add %x %y\n  "
            "%v = softmax %u axis=-1\n  out %v\n"
            "to\n  %u = add %y %x\n  %v = softmax %u axis=-1\n  out %v\n",
            "b..");
    for_all("rule behind\n  axes h = 0..1\n  %x : F [n, h..]   %y : F [m, h..]\nfrom\n  %u = "
            "concat %x %y axis=0\n  %v = relu %u\n  out %v\n"
            "to\n  %p = relu %x\n  %q = relu %y\n  %v = concat %p %q axis=0\n  out %v\n",
            "h..");
    for_all("rule shared\n  axes b = 0..1\n  %x : F [b.., m, k]   %u : F [k, p]   %v : F [p, "
            "q]\nfrom\n  %a = matmul %x %u\n  %y = matmul "
            "%a %v\n"
            "  out %y\nto\n  %w = matmul %u %v\n  %y = matmul %x %w\n  out %y\n",
            "b..");
    for_all("rule stretched\n  axes b = 0..1\n  %x : F [b.., n]   %y : F [b..=1, n]\nfrom\n  %w = "
            "broadcast %y shape=[b.., n]\n  %z = mul "
            "%x %w\n"
            "  %v = relu %z\n  out %v %z\nto\n  %w = broadcast %y shape=[b.., n]\n  %z = mul %w "
            "%x\n  %v = relu %z\n  out %v %z\n",
            "b..");
    for_all("rule groups\n  axes a = 0..1, b = 0..1\n  %x : F [a.., n, b..]\nfrom\n  %u = neg %x\n "
            " %v = neg %u\n  out %v\nto\n  out %x\n",
            "a.., b..");
}
/* These rules are true at each stated length, but not proved for all ranks: a window covers the
   block, or a reshape merges it with another axis. */
static void test_no_spectators(void **state) {
    (void)state;
    for_all("rule windows\n  axes h k = 1..2\n  %x : F [n, c, h..]   %u : F [p, c, k..]   %s : F "
            "[]\nfrom\n  %a = conv %x %u strides=S pads=P\n"
            "  %y = mul %a %s\n  out %y\nto\n  %v = mul %u %s\n  %y = conv %x %v strides=S "
            "pads=P\n  out %y\n",
            "");
    for_all("rule merged\n  axes b = 1..2\n  %x : F [b.., n]\nfrom\n  %u = reshape %x "
            "shape=[b..=1, m]\n  %v = relu %u\n  out %v\n"
            "to\n  %u = relu %x\n  %v = reshape %u shape=[b..=1, m]\n  out %v\n",
            "");
}
/* Rules whose blocks look like spectators, but are not. */
static const char *const planted[] = {
    "rule reduced\n  axes b = 0..1\n  %x : F [b.., n]\nfrom\n  %y = reduce_sum %x axes=[0]\n  out "
    "%y\nto\n  %y = reduce_sum %x axes=[-1]\n "
    " out %y\n",
    "rule other-axis\n  axes b = 0..1\n  %x : F [b.., n]\nfrom\n  %y = softmax %x axis=0\n  out "
    "%y\nto\n  %y = softmax %x axis=-1\n  out "
    "%y\n",
    "rule swapped\n  axes b = 0..1\n  %x : F [b.., b..]\nfrom\n  %y = transpose %x perm=[b..=1, "
    "b..=0]\n  out %y\nto\n  out %x\n",
    "rule swapped-with-another\n  axes b = 0..1\n  %x : F [b.., n, b..=n]\nfrom\n  %t = transpose "
    "%x perm=[b..=0, -1, b..=1]\n  %y = relu "
    "%t\n"
    "  out %y\nto\n  %y = relu %x\n  out %y\n",
    "rule and-swapped\n  axes b = 0..1\n  %x : F [b.., b..]\nfrom\n  %t = transpose %x "
    "perm=[b..=1, b..=0]\n  %y = add %x %t\n  out %y\n"
    "to\n  %y = add %x %x\n  out %y\n",
    "rule swapped-inside\n  axes b = 0..1\n  %x : F [b.., b..]   %y : F [b.., b..]\nfrom\n  %u = "
    "mul %x %y\n"
    "  %t = transpose %u perm=[b..=1, b..=0]\n  %v = add %u %t\n  out %v\nto\n  %u = mul %x %y\n  "
    "%v = add %u %u\n  out %v\n",
    "rule merged\n  axes b = 0..1\n  %x : F [b.., b.., n]\nfrom\n  %t = reshape %x shape=[b.. * "
    "b.., n]\n  %y = softmax %t axis=0\n  out "
    "%y\n"
    "to\n  %t = softmax %x axis=0\n  %y = reshape %t shape=[b.. * b.., n]\n  out %y\n",
    "rule needs-one\n  axes b = 0..1\n  %x : F [b..]\nfrom\n  %y = relu %x\n  out %y\n"
    "to\n  %t = reshape %x shape=[b..=1]\n  %u = broadcast %t shape=[b..]\n  %y = relu %u\n  out "
    "%y\n",
    "rule shifted\n  axes b = 0..1\n  %x : F [b..]\nfrom\n  %y = slice %x starts=[b..=0] "
    "sizes=[b.. - 1]\n  out %y\n"
    "to\n  %y = slice %x starts=[b..=1] sizes=[b.. - 1]\n  out %y\n",
    "rule padded\n  axes b = 0..1\n  %x : F [b..]\nfrom\n  %y = pad %x pads=[b..=1, b..=0]\n  out "
    "%y\nto\n  %y = pad %x pads=[b..=0, "
    "b..=1]\n  out %y\n",
    "rule backwards\n  axes b = 0..1\n  %x : F [b..]\nfrom\n  %y = slice %x starts=[b.. - 1] "
    "sizes=[b..] steps=[b..=-1]\n  out %y\nto\n  "
    "out %x\n",
    "rule first-only\n  axes b = 0..1\n  %x : F [b..]\nfrom\n  %t = slice %x starts=[b..=0] "
    "sizes=[b..=1]\n  %y = broadcast %t "
    "shape=[b..]\n  out %y\n"
    "to\n  out %x\n",
    "rule needs-more\n  axes b = 0..1\n  %x : F [m, b..]   %s : F []\nfrom\n  %u = relu %x\n  %v = "
    "broadcast %s shape=[b..]\n  out %u %v\n"
    "to\n  %u = relu %x\n  %t = broadcast %s shape=[b..]\n  %v = slice %t starts=[b..=m] "
    "sizes=[b..]\n  out %u %v\n",
    "rule other-sizes\n  axes b c = 0..1\n  %x : F [b..]   %y : F [c..]   %s : F []\nfrom\n  %u = "
    "add %x %x\n  %p = neg %y\n"
    "  %v = broadcast %s shape=[b..]\n  out %u %p %v\nto\n  %u = add %x %x\n  %p = neg %y\n  %v = "
    "broadcast %s shape=[c..]\n  out %u %p "
    "%v\n",
    "rule two-results\n  axes b = 0..1\n  %x : F [b.., b..]\nfrom\n  %u = relu %x\n  %v = neg %x\n "
    " out %u %v\n"
    "to\n  %u = relu %x\n  %t = transpose %x perm=[b..=1, b..=0]\n  %v = neg %t\n  out %u %v\n",
    "rule other-index\n  axes h = 0..1\n  %w : F [n]   %y : F [h.., n]   %i : I64 [1]   %r : F []  "
    " "
    "%t : I64 []   %x : F [q]   %g : F [q]   %v : F [q]\nfrom\n  %a = gather %w %i axis=0\n  %b = "
    "relu %y\n  %x1 %v1 = momentum %r %t %x %g %v alpha=1/2 beta=1 norm=0 mode=standard\n  out %a "
    "%b %v1\nto\n  %a = gather %w %i axis=0\n  %b = relu %y\n  %c = gather %y %i axis=0\n  %s = "
    "reduce_sum %c axes=[-1]\n  %x1 %v1 = momentum %s %t %x %g %v alpha=1/2 beta=1 norm=0 "
    "mode=standard\n  out %a %b %v1\n",
    "rule other-slices\n  axes b = 0..1\n  %x : F [b.., b..]\nfrom\n  %u = reduce_max %x "
    "axes=[b..=1]\n  out %u\n"
    "to\n  %u = reduce_max %x axes=[b..=0]\n  out %u\n",
};
static void test_planted(void **state) {
    (void)state;
    Switches off = switches_all;
    off.spectator = false;
    for (size_t k = 0; k < sizeof planted / sizeof *planted; k++) {
        Arena *a = arena_new(NULL, 0);
        VerifyResult r = verdict(a, planted[k], switches_all);
        if (r.verdict == VERDICT_PROVED)
            fail_msg("proved%s%s: %s", *r.all_ranks ? " for all ranks of " : "", r.all_ranks,
                     planted[k]);
        /* The rule is true where the block is empty, so only this check keeps it from being
           proved. */
        r = verdict(a, planted[k], off);
        if (r.verdict != VERDICT_PROVED)
            fail_msg("not even without the check: %s: %s", planted[k], r.why);
        arena_free(a);
    }
}

/* A verdict for all ranks is stored in the file and sealed by the digest, and it is used at ranks
   beyond those that the rule lists. */
static void test_loaded(void **state) {
    (void)state;
    static const char path[] = "build/verifier_spectator.rules";
    static const char text[] = "rule each\n  axes b = 0..1\n  %x : F [b..]\nfrom\n  %u = relu %x\n "
                               " %v = relu %u\n  out %v\nto\n  %v = relu %x\n  out %v\n";
    Arena *a = arena_new(NULL, 0);
    World *w = graph_world_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    Text out = text_new(a);
    assert_true(rules_parse(a, "test", text, strlen(text), &set, &e));
    Rule rule = set.v[0];
    VerifyResult r = verdict(a, text, switches_all);
    rule.verdict = r.verdict;
    rule.classes = r.classes;
    rule.all_ranks = r.all_ranks;
    rule_seal(w, a, &rule);
    rule_print(&rule, &out);
    assert_non_null(strstr(out.data, " all=[b..] where=[]"));
    assert_true(file_write(path, out.data, out.size, &e));
    Library l;
    assert_true(library_open(w, a, &(LibraryOptions){.rules = path}, &l, &e));
    for (int n = 0; n <= RANK_MAX; n++) assert_non_null(library_instance(&l, 0, 1, &n));
    VerifyOptions o =
        verify_defaults(); /* verified anew: what the file says about ranks is not trusted */
    assert_string_equal(verify_rule(a, &rule, &o).all_ranks, "b..");
    rule.all_ranks = ""; /* the digest covers these words, too */
    assert_false(rule_check(w, &rule, &e));
    rule_seal(w, a, &rule);
    rule.all_ranks = "b..";
    assert_false(rule_check(w, &rule, &e));
    world_free(w);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_ranks),
        cmocka_unit_test(test_no_spectators),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
