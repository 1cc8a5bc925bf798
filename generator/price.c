/* price.c -- a cost model that only chooses among rules; what pays in the search is measured. Views
   cost nothing, nor do operations on constants alone. Any other node costs its operations and the
   elements of its inputs and results, each of which counts as FLOPS operations. */
#include "generator/price.h"
#include "ops/base/random.h"
#include "ops/core/facts.h"
#include <math.h>
#include <string.h>

/* Sides whose costs differ by less than this factor cost the same. */
#define TIE 1.02
#define FLOPS 8.
enum { DRAWS = 6, TRIES = 200, SYMBOLS = 4096 };
static const int64_t sizes_of[] = {1, 2, 3, 8, 24, 64, 200};

typedef struct Price {
    World *w;
    Arena *arena;
    Instance i;
    Facts *facts;
    int64_t value[SYMBOLS];
    Random random;
} Price;

int price_nodes(World *w, Arena *a, const Graph *g) {
    NodeList live = graph_live(w, a, g);
    int n = 0;
    for (int k = 0; k < live.n; k++) n += !input_name(w, live.v[k]);
    return n;
}

static Sizes sizes_now(const Price *p) { return (Sizes){SYMBOLS, p->value}; }

static bool all_hold(const Price *p, int n, const Lit lit[]) {
    return lits_hold(p->w, n, lit, sizes_now(p));
}

/* Draws the sizes that the equations leave open; the others follow. Returns false if some need or
   condition does not hold then. */
static bool draw_price_sizes(Price *p) {
    const Instance *i = &p->i;
    for (int k = 0; k < SYMBOLS; k++) p->value[k] = SIZE_UNKNOWN;
    for (int k = 0; k < i->nsymbol; k++) {
        if (i->symbol[k] >= SYMBOLS) return false;
        Symbol s = poly_is_symbol(p->w, facts_reduce(p->facts, poly_symbol(p->w, i->symbol[k])));
        if (s == i->symbol[k])
            p->value[s] =
                i->is_size[k]
                    ? sizes_of[random_below(&p->random, sizeof sizes_of / sizeof *sizes_of)]
                    : 1;
    }
    for (int k = 0; k < i->nsymbol; k++) {
        Poly q = facts_reduce(p->facts, poly_symbol(p->w, i->symbol[k]));
        if (p->value[i->symbol[k]] == SIZE_UNKNOWN &&
            !poly_eval(p->w, q, sizes_now(p), &p->value[i->symbol[k]]))
            return false;
    }
    return all_hold(p, i->nneed_from, i->need_from) && all_hold(p, i->nneed_to, i->need_to) &&
           all_hold(p, i->nwhere, i->where);
}

static double value_elements(const Price *p, Value v) {
    const Type *t = value_type(p->w, v);
    double n = 1;
    int64_t d;
    for (int k = 0; k < t->dim.n; k++)
        n *= poly_eval(p->w, t->dim.v[k], sizes_now(p), &d) ? (double)d : NAN;
    return n;
}

static double node_cost(const Price *p, const Node *n) {
    double flops = sig_flops(p->w, n->sig, sizes_now(p)), moved = 0;
    SigKind kind = sig_kind(p->w, n->sig, 0);
    if (kind == SIG_VIEW || kind == SIG_RESHAPE) return 0;
    for (int k = 0; k < n->nin; k++) moved += n->in[k] ? value_elements(p, n->in[k]) : 0;
    for (int k = 0; k < n->nout; k++) moved += value_elements(p, n->out + (Value)k);
    return flops < 0 ? NAN : flops + FLOPS * moved;
}

/* The cost of one side. variable: the only input that is not a constant; 0: all inputs vary. */
static double side_cost(const Price *p, const Graph *g, Value variable) {
    NodeList live = graph_live(p->w, p->arena, g);
    uint32_t room = value_last(p->w) + 1;
    bool *varies = ARENA_NEW(p->arena, bool, room);
    double sum = 0;
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(p->w, live.v[k]);
        bool v = input_name(p->w, n.out) && (!variable || n.out == variable);
        for (int j = 0; j < n.nin; j++) v |= n.in[j] && varies[n.in[j]];
        for (int j = 0; j < n.nout; j++) varies[n.out + (Value)j] = v;
        if (v && !input_name(p->w, n.out)) sum += node_cost(p, &n);
    }
    return sum;
}

static unsigned compare_prices(const Price *p, Value variable) {
    double from = side_cost(p, &p->i.from, variable), to = side_cost(p, &p->i.to, variable);
    if (isnan(from) || isnan(to)) return 0;
    return (to * TIE < from ? PRICE_RIGHT : 0) | (from * TIE < to ? PRICE_LEFT : 0);
}

static bool at_length(Price *p, const Rule *rule, const int length[], unsigned *found) {
    Error ignored = {0};
    int drawn = 0;
    if (!rule_instance(p->w, p->arena, rule, length, &p->i, &ignored)) return false;
    p->facts = rule_instance_facts(p->w, p->arena, &p->i);
    for (int k = 0; k < p->i.nneed_from; k++) facts_assume(p->facts, p->i.need_from[k]);
    for (int k = 0; k < p->i.nneed_to; k++) facts_assume(p->facts, p->i.need_to[k]);
    for (int t = 0; t < TRIES && drawn < DRAWS; t++) {
        if (!draw_price_sizes(p)) continue;
        drawn++;
        *found |= compare_prices(p, 0);
        for (int k = 0; k < p->i.ninput && p->i.ninput > 1; k++)
            *found |= compare_prices(p, p->i.input[k]);
    }
    return drawn > 0;
}

Cheaper price_rule(World *w, Arena *a, const Rule *rule) {
    int length[RULE_BLOCKS];
    unsigned found = 0;
    bool done = false;
    ArenaMark mark = arena_mark(a);
    Price *p = ARENA_NEW(a, Price, 1);
    *p = (Price){.w = w, .arena = a, .random = {hash_bytes(rule->id, RULE_ID), 0}};
    rule_lengths_first(rule, length);
    do {
        WorldMark before = world_mark(w);
        done = at_length(p, rule, length, &found);
        world_reset(w, before);
    } while ((!done || !found) && rule_lengths_next(rule, length));
    arena_reset(a, mark);
    return (Cheaper)found;
}
