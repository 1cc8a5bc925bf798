/* target_rules.c -- arbitrary bytes as a file of rules. For each rule that is read, an instance is
   built at its first lengths and its verdict is checked; then all rules are printed, and reading
   this text gives rules with the same identifiers and the same text. */
#include "rules/rule.h"
#include "test/fuzz/fuzz.h"
#include "graphs/world.h"
#include <string.h>

static bool read_text(Arena *a, const char *text, size_t n, RuleSet *set, Error *e) {
    bool ok = rules_parse(a, "text", text, n, set, e);
    fuzz_need(ok == (e->kind == E_NONE), "rules or an error");
    if (!ok) fuzz_refused(e);
    return ok;
}

static void print_again(Arena *a, const RuleSet *set) {
    Text first = text_new(a), second = text_new(a);
    RuleSet again = {.arena = a};
    Error e = {0};
    for (int k = 0; k < set->n; k++) rule_print(&set->v[k], &first);
    if (!first.size) return;
    fuzz_need(read_text(a, first.data, first.size, &again, &e) && again.n == set->n,
              "what was printed is read");
    for (int k = 0; k < set->n; k++) {
        rule_print(&again.v[k], &second);
        fuzz_need(strcmp(set->v[k].id, again.v[k].id) == 0,
                  "a printed rule has the same identifier");
    }
    fuzz_need(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
              "printing is canonical");
}

static void use_rule(World *w, const Rule *r) {
    WorldMark mark = world_mark(w);
    int length[RULE_BLOCKS];
    Instance x;
    Error e = {0}, unproved = {0};
    rule_lengths_first(r, length);
    if (!rule_instance(w, w->arena, r, length, &x, &e)) fuzz_refused(&e);
    if (!rule_check(w, r, &unproved)) fuzz_need(unproved.reason[0], "a refused rule has a reason");
    world_reset(w, mark);
}

static void read_and_use(Escape *escape, World *volatile *w, const char *text, size_t n) {
    *w = graph_world_new(escape, FUZZ_MEMORY);
    RuleSet set = {.arena = (*w)->arena};
    Error e = {0};
    if (!read_text((*w)->arena, text, n, &set, &e)) return;
    for (int k = 0; k < set.n; k++) use_rule(*w, &set.v[k]);
    print_again((*w)->arena, &set);
}

int fuzz_rules(const uint8_t *data, size_t size) {
    Escape escape = {0};
    World *volatile w = NULL;
    if (size > FUZZ_BYTES) return 0;
    if (setjmp(escape.here)) fuzz_refused(&escape.error);
    else read_and_use(&escape, &w, (const char *)data, size);
    world_free(w);
    return 0;
}
