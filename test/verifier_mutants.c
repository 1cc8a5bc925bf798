/* verifier_mutants.c -- tests the prover with mutants of true rules. A line of the right side is
   changed at random: operands are swapped or rewired, numbers of attributes changed, an operator is
   replaced, dropped or added, or outputs are swapped. A mutant that is proved must not differ from
   the left side at any of many sizes drawn afterwards.

   Usage: verifier_mutants [COUNT [SEED]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/rewrite.h"
#include "ops/base/random.h"
#include "test/shared/sample.h"
#include "verifier/refute.h"
#include "verifier/verify.h"
#include "graphs/world.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 64, LINE = 512, SHAPES = 60, COUNT = 150 };
typedef struct Lines {
    int n;
    char v[LINES][LINE];
} Lines;
typedef struct Tally {
    int proved, refuted, unknown, untyped, wrong;
} Tally;
static int count;
static uint64_t seed = 5;

static void split_lines(const char *text, Lines *out) {
    out->n = 0;
    for (const char *end; *text && out->n < LINES; text = *end ? end + 1 : end) {
        end = strchr(text, '\n');
        if (!end) end = text + strlen(text);
        size_t n = (size_t)(end - text) < LINE - 80 ? (size_t)(end - text) : LINE - 80;
        memcpy(out->v[out->n], text, n);
        out->v[out->n++][n] = 0;
    }
}
/* Finds the tokens of the line that begin with c; returns their number, at most 16. */
static int tokens(char *line, char c, char *out[16]) {
    int n = 0;
    for (char *p = line; *p && n < 16; p++)
        if (*p == c) out[n++] = p;
    return n;
}
static size_t name_length(const char *p) {
    size_t n = 1;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    return n;
}
static void replace(char *line, char *at, size_t n, const char *by) {
    char rest[LINE];
    snprintf(rest, sizeof rest, "%s", at + n);
    snprintf(at, LINE - (size_t)(at - line), "%s%s", by, rest);
}
static char *pick(Random *r, int n, char *v[]) {
    return n ? v[random_below(r, (uint64_t)n)] : NULL;
}

static bool swap_operands(char *line) {
    char *eq = strchr(line, '='), *t[16], a[64], b[64];
    int n = eq ? tokens(eq, '%', t) : tokens(line, '%', t);
    if (n < 2) return false;
    snprintf(a, sizeof a, "%.*s", (int)name_length(t[0]), t[0]);
    snprintf(b, sizeof b, "%.*s", (int)name_length(t[1]), t[1]);
    replace(line, t[1], strlen(b), a);
    replace(line, t[0], strlen(a), b);
    return strcmp(a, b) != 0;
}
static bool change_number(Random *r, char *line) {
    char *digit[16], *eq = strchr(line, '=');
    int n = 0;
    for (char *p = eq ? eq : line; *p && n < 16; p++)
        if (isdigit((unsigned char)*p) && !isalnum((unsigned char)p[-1]) && p[-1] != '_')
            digit[n++] = p;
    char *p = pick(r, n, digit);
    if (!p) return false;
    *p = *p == '0' || random_below(r, 2) ? (char)(*p == '9' ? '8' : *p + 1) : (char)(*p - 1);
    return true;
}
static bool swap_entries(Random *r, char *line) {
    char *comma[16];
    int n = tokens(line, ',', comma);
    char *p = pick(r, n, comma);
    if (!p) return false;
    char *a = p, *b = p + 1, first[64], second[64];
    while (a > line && a[-1] != '[' && a[-1] != ' ') a--;
    while (*b == ' ') b++;
    size_t na = (size_t)(p - a), nb = strcspn(b, ",]");
    if (na >= sizeof first || nb >= sizeof second) return false;
    snprintf(first, sizeof first, "%.*s", (int)na, a);
    snprintf(second, sizeof second, "%.*s", (int)nb, b);
    replace(line, b, nb, first);
    replace(line, a, na, second);
    return strcmp(first, second) != 0;
}
static bool other_operator(Random *r, char *line) {
    static const char *const pairs[][2] = {{" = add ", " = sub "},
                                           {" = sub ", " = add "},
                                           {" = mul ", " = add "},
                                           {" = add ", " = mul "},
                                           {" = div ", " = mul "},
                                           {" = relu ", " = sigmoid "},
                                           {" = max ", " = add "},
                                           {" = max ", " = min "},
                                           {" = reduce_sum ", " = reduce_max "},
                                           {" = reduce_sum ", " = reduce_mean "},
                                           {" = reduce_max ", " = reduce_sum "},
                                           {" = reduce_mean ", " = reduce_sum "},
                                           {" = exp ", " = tanh "},
                                           {" = maxpool ", " = averagepool "},
                                           {" = averagepool ", " = maxpool "},
                                           {" = tanh ", " = erf "},
                                           {" = neg ", " = abs "}};
    size_t n = sizeof pairs / sizeof *pairs, from = random_below(r, n);
    for (size_t k = 0; k < n; k++) {
        const char *const *x = pairs[(from + k) % n];
        char *at = strstr(line, x[0]);
        if (!at) continue;
        replace(line, at, strlen(x[0]), x[1]);
        return true;
    }
    return false;
}
/* Replaces one operand by an input of the rule. Returns whether that changed the line. */
static bool rewire(Random *r, char *line, const Rule *rule) {
    char *t[16], *in[16], inputs[2048], name[64];
    char *eq = strchr(line, '=');
    snprintf(inputs, sizeof inputs, "%s", rule->inputs.text);
    char *from = pick(r, tokens(eq ? eq : line, '%', t), t),
         *to = pick(r, tokens(inputs, '%', in), in);
    if (!from || !to) return false;
    snprintf(name, sizeof name, "%.*s", (int)name_length(to), to);
    bool other = strncmp(from, name, name_length(from)) != 0 || name_length(from) != strlen(name);
    replace(line, from, name_length(from), name);
    return other;
}
/* Removes the node of a line and uses its first operand in place of its result. */
static bool drop_node(Lines *l, int k) {
    char *eq = strchr(l->v[k], '='), *t[16], result[64], operand[64];
    if (!eq || !tokens(eq, '%', t)) return false;
    snprintf(operand, sizeof operand, "%.*s", (int)name_length(t[0]), t[0]);
    if (tokens(l->v[k], '%', t) < 2) return false;
    snprintf(result, sizeof result, "%.*s", (int)name_length(t[0]), t[0]);
    l->v[k][0] = 0;
    for (int j = k + 1; j < l->n; j++)
        for (char *p = l->v[j]; (p = strchr(p, '%')); p++)
            if (name_length(p) == strlen(result) && !strncmp(p, result, strlen(result)))
                replace(l->v[j], p, strlen(result), operand);
    return true;
}
static bool add_relu(Random *r, Lines *l, int k) {
    char *t[16];
    char *at = strstr(l->v[k], "out ") ? pick(r, tokens(l->v[k], '%', t), t) : NULL;
    if (!at || l->n == LINES) return false;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)name_length(at), at);
    replace(l->v[k], at, strlen(name), "%mutant");
    memmove(l->v[k + 1], l->v[k], (size_t)(l->n - k) * LINE);
    l->n++;
    snprintf(l->v[k], LINE, "%%mutant = %s %s", random_below(r, 2) ? "relu" : "neg", name);
    return true;
}
static bool mutate(Random *r, const Rule *rule, Lines *l) {
    int k = (int)random_below(r, (uint64_t)l->n);
    switch (random_below(r, 8)) {
    case 0: return swap_operands(l->v[k]);
    case 1:
    case 2: return change_number(r, l->v[k]);
    case 3: return swap_entries(r, l->v[k]);
    case 4: return other_operator(r, l->v[k]);
    case 5: return rewire(r, l->v[k], rule);
    case 6: return drop_node(l, k);
    default: return add_relu(r, l, k);
    }
}

/* ---- the verdict on a mutant */

static bool differs(const Rule *rule, const VerifyResult *verdict, Arena *a, const char **text) {
    int length[RULE_BLOCKS];
    Rule given = *rule;
    given.condition = verdict->condition;
    bool found = false;
    rule_lengths_first(rule, length);
    do {
        World *w = graph_world_new(NULL, 0);
        Instance i;
        Error e = {0};
        if (rule_instance(w, a, &given, length, &i, &e) && rule_instance_expand(w, a, &i, &e)) {
            Refutation r = refute_instance(
                w, a, &i,
                &(RefuteOptions){.shapes = SHAPES, .seed = seed + 99, .defined_only = true});
            found = r.found;
            *text = r.text;
        }
        world_free(w);
    } while (!found && rule_lengths_next(rule, length));
    return found;
}
static void try_mutant(const Rule *rule, Random *r, Tally *tally) {
    Arena *a = arena_new(NULL, 0);
    Lines l;
    Rule mutant = *rule;
    Text t = text_new(a);
    const char *difference = NULL;
    split_lines(rule->to.text, &l);
    if (!mutate(r, rule, &l)) {
        arena_free(a);
        return;
    }
    for (int k = 0; k < l.n; k++) text_add(&t, "%s\n", l.v[k]);
    mutant.to.text = t.data;
    VerifyOptions o = verify_defaults();
    o.prove_first = true; /* the prover is tested */
    VerifyResult v = verify_rule(a, &mutant, &o);
    tally->proved += v.verdict == VERDICT_PROVED;
    tally->refuted += v.verdict == VERDICT_REFUTED;
    bool untyped = v.verdict == VERDICT_UNKNOWN && strstr(v.why, "(invalid input)");
    tally->untyped += untyped;
    tally->unknown += v.verdict == VERDICT_UNKNOWN && !untyped;
    if (getenv("MUTANTS_SHOW") && ((v.verdict == VERDICT_UNKNOWN && !untyped) || v.ms > 2000))
        print_message("unknown %s (%.0f ms): %s\n%s", rule->name, v.ms, v.why, t.data);
    if (v.verdict == VERDICT_PROVED && differs(&mutant, &v, a, &difference)) {
        print_message("%s, where [%s], is proved and wrong:\n%s%s\n", rule->name, v.condition,
                      t.data, difference);
        tally->wrong++;
    }
    arena_free(a);
}
static void test_mutants(void **state) {
    (void)state;
    static const char *const files[] = {
        "test/cases/verifier/corpus_b.rules", "test/cases/verifier/further.rules",
        "test/cases/verifier/axioms.rules",   "test/cases/verifier/axioms_groups.rules",
        "test/cases/verifier/reals.rules",    "rules/library/merge.rules",
        "rules/library/activation.rules"};
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Tally tally = {0};
    Random r = {seed, 0};
    Error e = {0};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        RuleSet more = {.arena = a};
        if (!rules_read(a, files[k], &more, &e)) fail_msg("%s", e.reason);
        for (int j = 0; j < more.n; j++) {
            Rule *v = ARENA_NEW(a, Rule, set.n + 1);
            if (set.n) memcpy(v, set.v, sizeof *v * (size_t)set.n);
            set.v = v;
            set.v[set.n++] = more.v[j];
        }
    }
    while (tally.proved + tally.refuted + tally.unknown < count) {
        const Rule *rule = &set.v[random_below(&r, (uint64_t)set.n)];
        if (!strstr(rule->comment, "expect: refuted")) try_mutant(rule, &r, &tally);
    }
    print_message("%d mutants: %d proved, %d refuted, %d unknown; %d more do not type-check\n",
                  count, tally.proved, tally.refuted, tally.unknown, tally.untyped);
    assert_int_equal(tally.wrong, 0);
    assert_true(tally.refuted > count / 2);
    arena_free(a);
}

int main(int argc, char **argv) {
    count = argc > 1 ? atoi(argv[1]) : COUNT / sample_step();
    if (argc > 2) seed = (uint64_t)atoll(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
