/* derivable.c -- asks about a rule with one e-graph for each of its lengths. Sizes that its needs
   determine are substituted at the start, so that equal sizes are equal polynomials. */
#include "rules/derivable.h"
#include "graphs/resize.h"
#include <string.h>

typedef struct Equation { /* a rule that was added as equations */
    const Rule *rule;
    int first, count; /* its uses in Derivable.use */
} Equation;
struct Derivable {
    World *w;
    Arena *arena;
    int n, room;
    Equation *v; /* by the number that derivable_add returned */
    int nuse, use_room;
    EquationUse *use; /* for each rule and length: forward, then reversed */
    bool *on;         /* for each use: whether it may be used (derivable_use) */
};

Derivable *derivable_new(World *w, Arena *a) {
    Derivable *f = ARENA_NEW(a, Derivable, 1);
    f->w = w;
    f->arena = a;
    return f;
}

static void add_use(Derivable *f, const Instance *i) {
    int room = f->use_room;
    ARENA_GROW(f->arena, f->use, room, f->nuse + 2);
    ARENA_GROW(f->arena, f->on, f->use_room, f->nuse + 2);
    equation_uses(f->w, i, f->use + f->nuse);
    f->on[f->nuse] = f->on[f->nuse + 1] = true;
    f->nuse += 2;
}

int derivable_add(Derivable *f, const Rule *rule) {
    int length[RULE_BLOCKS];
    ARENA_GROW(f->arena, f->v, f->room, f->n + 1);
    f->v[f->n] = (Equation){rule, f->nuse, 0};
    rule_lengths_first(rule, length);
    do {
        Instance i;
        Error ignored = {0};
        if (rule_instance_apart(f->w, f->arena, rule, length, &i, &ignored)) add_use(f, &i);
    } while (rule_lengths_next(rule, length));
    f->v[f->n].count = f->nuse - f->v[f->n].first;
    return f->n++;
}

void derivable_use(Derivable *f, int rule, bool forward, bool backward) {
    for (int k = 0; k < f->v[rule].count; k++)
        f->on[f->v[rule].first + k] = k % 2 ? backward : forward;
}

/* ---- asking */

typedef struct Ask {
    Derivable *f;
    Arena *arena; /* holds what is made for one length */
    Graph from, to;
    EGraph *g;
} Ask;

static Facts *known_of(World *w, Arena *a, const Instance *i) {
    Facts *facts = rule_instance_facts(w, a, i);
    for (int k = 0; k < i->nneed_from; k++) facts_assume(facts, i->need_from[k]);
    for (int k = 0; k < i->nneed_to; k++) facts_assume(facts, i->need_to[k]);
    for (int k = 0; k < i->nwhere; k++) facts_assume(facts, i->where[k]);
    for (int k = 0; k < i->from.nout; k++) {
        const Type *s = value_type(w, i->from.out[k]), *t = value_type(w, i->to.out[k]);
        for (int d = 0; d < s->dim.n && d < t->dim.n; d++)
            facts_assume(facts, (Lit){poly_sub(w, s->dim.v[d], t->dim.v[d]), true});
    }
    return facts;
}

static bool prepare_question(Ask *x, const Rule *rule, const int length[], Facts **facts,
                             Error *e) {
    World *w = x->f->w;
    Instance i;
    if (!rule_instance(w, x->arena, rule, length, &i, e)) return false;
    *facts = known_of(w, x->arena, &i);
    Poly *to = ARENA_NEW(x->arena, Poly, i.nsymbol);
    for (int k = 0; k < i.nsymbol; k++) to[k] = facts_reduce(*facts, poly_symbol(w, i.symbol[k]));
    const NewSizes size = {i.nsymbol, i.symbol, to};
    return graph_resize(w, x->arena, &i.from, size, &x->from, e) &&
           graph_resize(w, x->arena, &i.to, size, &x->to, e);
}

static bool goals_met(void *user, EGraph *g) {
    const Ask *x = user;
    for (int k = 0; k < x->from.nout; k++)
        if (egraph_find(g, x->from.out[k]) != egraph_find(g, x->to.out[k])) return false;
    return true;
}

static int equation_of(const Derivable *f, const EquationUse *use) {
    int at = (int)(use - f->use), k = 0;
    while (at >= f->v[k].first + f->v[k].count) k++;
    return k;
}

static void keep_steps(const Ask *x, Arena *a, DerivableAnswer *answer) {
    for (int k = 0; k < x->from.nout; k++) {
        EGraphSteps s = egraph_explain(x->g, x->arena, x->from.out[k], x->to.out[k]);
        answer->v = arena_widen(a, answer->v, (size_t)answer->n * sizeof *answer->v,
                                (size_t)(answer->n + s.n) * sizeof *answer->v);
        for (int j = 0; j < s.n; j++) {
            DerivableStep step = {equation_of(x->f, s.v[j].use),
                                  s.v[j].backward != s.v[j].use->reversed};
            int same = 0;
            while (same < answer->n && answer->v[same].rule != step.rule) same++;
            answer->v[same] = step;
            answer->n += same == answer->n;
        }
    }
}

static bool one_length(Ask *x, const int length[], const Rule *rule, EGraphLimits limits, Arena *a,
                       DerivableAnswer *answer, Error *e) {
    Facts *facts;
    if (!prepare_question(x, rule, length, &facts, e)) return false;
    x->g = egraph_new(x->f->w, x->arena, facts);
    for (int k = 0; k < x->from.nout; k++) egraph_add(x->g, x->from.out[k]);
    for (int k = 0; k < x->to.nout; k++) egraph_add(x->g, x->to.out[k]);
    egraph_saturate(x->g, x->f->nuse, x->f->use, x->f->on, limits, goals_met, x);
    bool follows = goals_met(x, x->g);
    if (follows && !answer->yes) keep_steps(x, a, answer);
    answer->yes += follows;
    answer->nlength++;
    return true;
}

bool derivable_ask(Derivable *f, Arena *a, const Rule *rule, EGraphLimits limits,
                   DerivableAnswer *answer, Error *e) {
    int length[RULE_BLOCKS];
    bool good = true;
    *answer = (DerivableAnswer){0};
    rule_lengths_first(rule, length);
    do {
        WorldMark mark = world_mark(f->w);
        Ask x = {.f = f, .arena = arena_new(arena_escape(f->arena), 0)};
        good = one_length(&x, length, rule, limits, a, answer, e);
        arena_free(x.arena);
        world_reset(f->w, mark);
    } while (good && rule_lengths_next(rule, length));
    answer->follows = good && answer->yes == answer->nlength;
    return good;
}
