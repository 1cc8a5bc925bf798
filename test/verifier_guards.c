/* verifier_guards.c -- tests the prover with refinement mutants: chains of operators of which one
   guard (relu, abs, a maximum, a clip, an epsilon, a square) is left out on the right side. Most of
   these rules are false only because a root, a logarithm or a quotient is no longer defined. A rule
   that is proved must keep the promise of its class in machine arithmetic (class_check.h).

   Without arguments a few hundred mutants are tested. With a number of mutants (and a seed) the
   program prints the counts: make check-mutants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "test/shared/class_check.h"
#include "test/shared/sample.h"
#include "verifier/verify.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 200, FEW_SEED = 1, LONGEST = 6, SIZES = 6 };
/* %p: the value of the line before; %k: 1; %h: 1/2; %x, %y: the inputs. */
static const char *const guards[] = {"relu %p",   "abs %p",    "max %p %k",
                                     "add %p %k", "mul %p %p", "clip %p min=0 max=4",
                                     "exp %p",    "sigmoid %p"};
static const char *const partial[] = {"sqrt %p",   "log %p",    "reciprocal %p",
                                      "div %x %p", "div %p %y", "pow %p %h"};
static const char *const plain[] = {"add %p %y", "mul %p %x", "neg %p", "tanh %p", "sub %p %y"};
#define PICK(list, r) ((list)[random_below(r, sizeof(list) / sizeof *(list))])

typedef struct Chain {
    int n, guard; /* guard: the line that is left out */
    const char *line[LONGEST];
} Chain;
static Chain chain_draw(Random *r) {
    Chain c = {.n = 2 + (int)random_below(r, LONGEST - 1)};
    for (int k = 0; k < c.n; k++) {
        uint64_t kind = random_below(r, 4);
        c.line[k] = kind == 0 ? PICK(plain, r) : kind == 1 ? PICK(guards, r) : PICK(partial, r);
    }
    c.guard = (int)random_below(r, (uint64_t)c.n - 1);
    c.line[c.guard] = PICK(guards, r);
    c.line[c.guard + 1 + (int)random_below(r, (uint64_t)(c.n - c.guard - 1))] = PICK(partial, r);
    return c;
}
/* Appends a line. `from` is the number of the value before it; 0 stands for x. */
static void add_line(Text *t, const char *line, int to, int from) {
    text_add(t, "  %%v%d = ", to);
    for (const char *p = line; *p; p++) {
        if (*p != '%' || p[1] != 'p') text_bytes(t, p, 1);
        else if (p++, from) text_add(t, "%%v%d", from);
        else text_add(t, "%%x");
    }
    text_add(t, "\n");
}
static void add_side(Text *t, const Chain *c, int without) {
    int before = 0;
    text_add(t, "  %%k = fill value=1 shape=[n]\n  %%h = fill value=1/2 shape=[n]\n");
    for (int k = 0; k < c->n; k++) {
        if (k == without) continue;
        add_line(t, c->line[k], k + 1, before);
        before = k + 1;
    }
    text_add(t, "  out %%v%d\n", before);
}

typedef struct Counts {
    int made, proved, refuted, unknown, defines;
} Counts;
static void check_one(int k, Random *r, Counts *n) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    Chain c = chain_draw(r);
    Text t = text_new(a);
    text_add(&t, "rule guard-%d\n  %%x : F [n]   %%y : F [n]\nfrom\n", k);
    add_side(&t, &c, -1);
    text_add(&t, "to\n");
    add_side(&t, &c, c.guard);
    if (!rules_parse(a, "guards", t.data, t.size, &set, &e)) fail_msg("%s\n%s", e.reason, t.data);
    VerifyOptions o = verify_defaults();
    o.prove_first = true;
    VerifyResult v = verify_rule(a, &set.v[0], &o);
    set.v[0].verdict = v.verdict;
    set.v[0].classes = v.classes;
    set.v[0].condition = v.condition;
    ClassCheck found = {0};
    if (v.verdict == VERDICT_PROVED && !class_check(&set.v[0], SIZES, 3, &found))
        fail_msg("%s\n%s", found.why, t.data);
    n->made++;
    n->proved += v.verdict == VERDICT_PROVED;
    n->refuted += v.verdict == VERDICT_REFUTED;
    n->unknown += v.verdict == VERDICT_UNKNOWN;
    n->defines += v.verdict == VERDICT_PROVED && v.classes & CLASS_DEFINES;
    arena_free(a);
}
static Counts check_many(int n, uint64_t seed) {
    Counts c = {0};
    Random r = {seed, 0};
    for (int k = 0; k < n; k++) check_one(k, &r, &c);
    return c;
}
static void test_guards(void **state) {
    (void)state;
    const int few = FEW / sample_step();
    Counts c = check_many(few, FEW_SEED);
    assert_true(c.refuted > few / 2 && c.proved > 0);
}

static int wanted; /* from the command line */
static uint64_t wanted_seed;
static void print_many(void **state) {
    (void)state;
    Counts c = check_many(wanted, wanted_seed);
    printf("%d refinement mutants, seed %llu: %d proved (%d of class defines), all of which keep "
           "their promise; %d refuted, %d unknown\n",
           c.made, (unsigned long long)wanted_seed, c.proved, c.defines, c.refuted, c.unknown);
}
int main(int argc, char **argv) {
    wanted = argc > 1 ? atoi(argv[1]) : 0;
    wanted_seed = argc > 2 ? (uint64_t)atoll(argv[2]) : FEW_SEED;
    const struct CMUnitTest tests[] = {wanted ? (struct CMUnitTest)cmocka_unit_test(print_many)
                                              : (struct CMUnitTest)cmocka_unit_test(test_guards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
