/* relate.c -- decides which of the given rules follow from known ones. Each is asked on its own in
   an e-graph that uses the known rules as equations (rules/derivable.h). */
#include "generator/relate.h"
#include "graphs/world.h"
#include <string.h>

const EGraphLimits minimize_limits = {.rounds = 4, .nodes = 250, .matches = 60};
static const EGraphLimits derive_limits = {.rounds = 6, .nodes = 1000, .matches = 300};

static void print_steps(Text *out, const RuleSet *known, const DerivableAnswer *f) {
    if (!f->n) text_add(out, ": arguments exchanged");
    for (int k = 0; k < f->n; k++)
        text_add(out, "%s%s%s", k ? ", " : ": ", known->v[f->v[k].rule].name,
                 f->v[k].backward ? " backward" : "");
}

bool relate_derive(Arena *a, const RuleSet *given, const RuleSet *known, Text *out, int *missing,
                   Error *e) {
    World *w = graph_world_new(arena_escape(a), 0);
    Derivable *f = derivable_new(w, a);
    bool good = true;
    for (int k = 0; k < known->n; k++) derivable_add(f, &known->v[k]);
    *missing = 0;
    for (int k = 0; good && k < given->n; k++) {
        DerivableAnswer x = {0};
        const Rule *same = rules_find(known, given->v[k].id);
        if (same && !same->condition[0]) {
            text_add(out, "%-11s %s: %s\n", "derived", given->v[k].name, same->name);
            continue;
        }
        good = derivable_ask(f, a, &given->v[k], derive_limits, &x, e);
        *missing += !x.follows;
        text_add(out, "%-11s %s", x.follows ? "derived" : "not derived", given->v[k].name);
        if (x.yes && !x.follows)
            text_add(out, " but for %d of %d lengths", x.nlength - x.yes, x.nlength);
        if (x.follows) print_steps(out, known, &x);
        text_add(out, "\n");
    }
    text_add(out, "%d derived, %d not derived\n", given->n - *missing, *missing);
    world_free(w);
    return good;
}

/* ---- what was proved */

static void print_rule(Text *out, const Rule *rule) {
    text_add(out, out->size ? "\n" : "");
    rule_print(rule, out);
}

static RuleSet those_proved(Arena *a, const RuleSet *set) {
    RuleSet proved = {.v = ARENA_NEW(a, Rule, set->n), .arena = a};
    for (int k = 0; k < set->n; k++)
        if (set->v[k].verdict == VERDICT_PROVED) proved.v[proved.n++] = set->v[k];
    return proved;
}

bool relate_part(const Minimize *m, const RuleSet *set, Text *proved, Text *basis, Text *rest,
                 RelateCounts *c, Error *e) {
    RuleSet good = those_proved(m->arena, set);
    bool *kept = ARENA_NEW(m->arena, bool, good.n);
    *c = (RelateCounts){.rules = set->n, .proved = good.n};
    if (basis && !minimize_basis(m, &good, kept, e)) return false;
    for (int k = 0; k < good.n; k++) {
        Rule r = good.v[k];
        c->conditional += r.condition[0] || (r.where.text && r.where.text[0]);
        c->basis += kept[k];
        r.comment = "";
        if (kept[k]) print_rule(basis, &r), r.comment = "basis";
        print_rule(proved, &r);
    }
    for (int k = 0; k < set->n; k++) {
        if (set->v[k].verdict == VERDICT_PROVED) continue;
        c->refuted += set->v[k].verdict == VERDICT_REFUTED;
        c->unknown += set->v[k].verdict == VERDICT_UNKNOWN;
        print_rule(rest, &set->v[k]);
    }
    return true;
}

bool relate_search(const Minimize *m, const RuleSet *set, Text *gains, Text *trades, Error *e) {
    Cheaper *wanted = ARENA_NEW(m->arena, Cheaper, set->n);
    if (!minimize_search(m, set, wanted, e)) return false;
    for (int k = 0; k < set->n; k++) {
        Rule forward = set->v[k];
        forward.comment = "";
        Rule back = rule_reversed(m->arena, &forward);
        Text *out = wanted[k] == PRICE_EITHER ? trades : gains;
        if (wanted[k] & PRICE_RIGHT) print_rule(out, &forward);
        if (wanted[k] & PRICE_LEFT) print_rule(out, &back);
    }
    return true;
}
