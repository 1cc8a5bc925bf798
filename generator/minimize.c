/* minimize.c -- chooses rules greedily, in order of size. Among rules of one size those with more
   inputs come first, so that a general rule comes before its instances. */
#include "generator/minimize.h"
#include "graphs/world.h"
#include <stdlib.h>
#include <string.h>

typedef struct Ranked {
    int rule, most, sum, inputs; /* most, sum: operators on the larger side, and on both sides */
} Ranked;

static int by_size(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    if (x->most != y->most) return x->most - y->most;
    if (x->inputs != y->inputs) return y->inputs - x->inputs;
    return x->sum != y->sum ? x->sum - y->sum : x->rule - y->rule;
}

static bool rank_rule(World *w, Arena *a, const Rule *rule, Ranked *out, Error *e) {
    int length[RULE_BLOCKS];
    Instance i;
    WorldMark mark = world_mark(w);
    rule_lengths_first(rule, length);
    bool good = rule_instance(w, a, rule, length, &i, e);
    if (good) {
        int from = price_nodes(w, a, &i.from), to = price_nodes(w, a, &i.to);
        out->most = from > to ? from : to;
        out->sum = from + to;
        out->inputs = i.ninput;
    }
    world_reset(w, mark);
    return good;
}

static Ranked *ranked(World *w, Arena *arena, const RuleSet *set, Error *e) {
    Ranked *v = ARENA_NEW(arena, Ranked, set->n);
    Arena *a = arena_new(arena_escape(arena), 0);
    bool good = true;
    for (int k = 0; k < set->n && good; k++) {
        v[k].rule = k;
        good = rank_rule(w, a, &set->v[k], &v[k], e);
    }
    arena_free(a);
    if (good) qsort(v, (size_t)set->n, sizeof *v, by_size);
    return good ? v : NULL;
}

static void tell(const Minimize *m, int done, int total) {
    if (m->told && done % 16 == 0) m->told(m->user, done, total);
}

static Derivable *open_equations(const Minimize *m, World *w, const RuleSet *set, int *first) {
    Derivable *f = derivable_new(w, m->arena);
    *first = m->known ? m->known->n : 0;
    for (int k = 0; k < *first; k++)
        derivable_use(f, derivable_add(f, &m->known->v[k]), true, false);
    for (int k = 0; k < set->n; k++) derivable_use(f, derivable_add(f, &set->v[k]), false, false);
    return f;
}

bool minimize_basis(const Minimize *m, const RuleSet *set, bool kept[], Error *e) {
    World *w = graph_world_new(arena_escape(m->arena), 0);
    Ranked *order = ranked(w, m->arena, set, e);
    int first;
    Derivable *f = open_equations(m, w, set, &first);
    bool good = order != NULL;
    DerivableAnswer x;
    for (int k = 0; k < set->n && good; k++) {
        int rule = order[k].rule;
        tell(m, k, 2 * set->n);
        good = derivable_ask(f, m->arena, &set->v[rule], m->limits, &x, e);
        kept[rule] = !x.follows;
        if (kept[rule]) derivable_use(f, first + rule, true, true);
    }
    for (int k = set->n - 1; k >= 0 && good; k--) {
        int rule = order[k].rule;
        tell(m, 2 * set->n - k, 2 * set->n);
        if (!kept[rule]) continue;
        derivable_use(f, first + rule, false, false);
        good = derivable_ask(f, m->arena, &set->v[rule], m->limits, &x, e);
        kept[rule] = !x.follows;
        derivable_use(f, first + rule, kept[rule], kept[rule]);
    }
    world_free(w);
    return good;
}

/* ---- search */

Rule rule_reversed(Arena *a, const Rule *rule) {
    Rule r = *rule;
    r.name = arena_format(a, "%s-back", rule->name);
    r.from = rule->to;
    r.to = rule->from;
    r.verdict = VERDICT_NONE;
    r.condition = r.all_ranks = "";
    rule_identify(a, &r);
    return r;
}

/* Whether the rule can be matched: its left side uses every input, and no output of it is an
   input. */
static bool binds_inputs(World *w, Arena *a, const Rule *rule) {
    int length[RULE_BLOCKS];
    Instance i;
    Error ignored = {0};
    WorldMark mark = world_mark(w);
    rule_lengths_first(rule, length);
    bool good = rule_instance(w, a, rule, length, &i, &ignored);
    NodeList live = good ? graph_live(w, a, &i.from) : (NodeList){0};
    int bound = 0;
    for (int k = 0; k < live.n; k++) bound += input_name(w, live.v[k]) != NULL;
    good = good && bound == i.ninput;
    for (int k = 0; good && k < i.from.nout; k++)
        good = !input_name(w, value_node(w, i.from.out[k]));
    world_reset(w, mark);
    return good;
}

static Cheaper direction(World *w, Arena *a, const Rule *rule) {
    unsigned found = price_rule(w, a, rule);
    if (found & PRICE_RIGHT && !binds_inputs(w, a, rule)) found &= ~(unsigned)PRICE_RIGHT;
    if (found & PRICE_LEFT) {
        Rule back = rule_reversed(a, rule);
        if (!binds_inputs(w, a, &back)) found &= ~(unsigned)PRICE_LEFT;
    }
    return (Cheaper)found;
}

bool minimize_search(const Minimize *m, const RuleSet *set, Cheaper wanted[], Error *e) {
    World *w = graph_world_new(arena_escape(m->arena), 0);
    Ranked *order = ranked(w, m->arena, set, e);
    int first;
    bool good = order != NULL;
    DerivableAnswer x;
    for (int k = 0; k < set->n && good; k++) {
        Arena *a = arena_new(arena_escape(m->arena), 0);
        wanted[k] = direction(w, a, &set->v[k]);
        arena_free(a);
    }
    Derivable *f = open_equations(m, w, set, &first);
    for (int k = 0; k < set->n && good; k++) {
        int rule = order[k].rule;
        tell(m, k, set->n);
        if (!wanted[rule]) continue;
        good = derivable_ask(f, m->arena, &set->v[rule], m->limits, &x, e);
        if (x.follows) wanted[rule] = PRICE_SAME;
        else derivable_use(f, first + rule, wanted[rule] & PRICE_RIGHT, wanted[rule] & PRICE_LEFT);
    }
    world_free(w);
    return good;
}
