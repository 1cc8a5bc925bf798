/* saturate.c -- adds a graph to an e-graph, applies rules until nothing changes or a limit is
   reached, and extracts a cheap graph. The e-graph explains by applications of rules why the
   extracted graph equals the first one. These applications are looked up in the first graph itself,
   in the order in which they were made, by the classes of their results and inputs, and applied
   there. An application that is not found, because its left side was replaced in the meantime, is
   skipped: the derivation then leads to another graph, which is equal all the same. */
#include "search/runtime/saturate.h"
#include "search/derive.h"
#include "search/runtime/extract.h"
#include <string.h>

enum { PASSES = 2 }; /* over the applications that explain the equality */
typedef struct Saturation {
    const Backtrack *b;
    Arena *arena; /* for the e-graph and what belongs to it */
    EGraph *g;
    int nuse; /* equations that the e-graph uses: one for each instance */
    EquationUse *use;
    const Instance **instance; /* by use: the instance of the library */
} Saturation;

/* Collects the equations. Rules are used in their own direction only, so that they can be applied
   to a graph. */
static void collect_uses(Saturation *s) {
    const Library *l = s->b->library;
    s->use = ARENA_NEW(s->arena, EquationUse, l->ninstance);
    s->instance = ARENA_NEW(s->arena, const Instance *, l->ninstance);
    for (int r = 0; r < l->n; r++)
        for (int k = l->rule[r].first; l->rule[r].on && k < l->rule[r].first + l->rule[r].count;
             k++) {
            EquationUse both[2];
            equation_uses(s->b->w, &l->instance[k], both);
            s->instance[s->nuse] = &l->instance[k];
            s->use[s->nuse++] = both[0];
        }
}

static bool stopped(void *user, EGraph *g) {
    const Backtrack *b = user;
    (void)g;
    return b->stop && b->stop(b->user);
}

/* Returns, by application, whether it is needed to explain why the graph equals the extracted
   one. */
static bool *needed_uses(const Saturation *s, const Graph *start, const Value out[], int *n) {
    egraph_applications(s->g, n);
    bool *needed = ARENA_NEW(s->arena, bool, *n);
    for (int k = 0; k < start->nout; k++) egraph_add(s->g, out[k]);
    egraph_rebuild(s->g);
    for (int k = 0; k < start->nout; k++) {
        EGraphSteps why = egraph_explain(s->g, s->arena, start->out[k], out[k]);
        for (int j = 0; j < why.n; j++)
            if (why.v[j].application >= 0) needed[why.v[j].application] = true;
    }
    return needed;
}

/* ---- from the graph to the extracted one */

typedef struct ExplainedMatch { /* an application of the e-graph, looked for in a graph */
    const Saturation *s;
    const EGraphApplication *a;
    bool found;
    Match match;
} ExplainedMatch;

static bool same_classes(EGraph *g, int n, const Value a[], const Value b[]) {
    for (int k = 0; k < n; k++)
        if (egraph_find(g, a[k]) != egraph_find(g, b[k])) return false;
    return true;
}

static bool is_explained_match(void *user, const Match *m) {
    ExplainedMatch *x = user;
    EGraph *g = x->s->g;
    const Match *of = &x->a->match;
    if (match_empty(x->s->b->w, m)) return true;
    if (!same_classes(g, m->instance->from.nout, m->root, of->root) ||
        !same_classes(g, m->instance->ninput, m->input, of->input))
        return true;
    x->found = true;
    x->match = match_keep(x->s->b->arena, m);
    return false;
}

static bool find_in(Saturation *s, const Graph *g, const EGraphApplication *a, Match *out) {
    const Backtrack *b = s->b;
    Arena *arena = arena_new(arena_escape(b->arena), 0);
    ExplainedMatch x = {.s = s, .a = a};
    for (int k = 0; k < g->nout; k++) egraph_add(s->g, g->out[k]);
    egraph_rebuild(s->g);
    matcher_run(matcher_new(b->w, arena, g, b->facts), s->instance[a->use - s->use],
                is_explained_match, &x);
    arena_free(arena);
    *out = x.match;
    return x.found;
}

static bool price_cheaper(Price a, Price b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.nodes < b.nodes;
}

/* Applies one more application, as a round of its own. Only the rounds up to the cheapest graph
   belong to the solution. Returns false if it cannot be applied. */
static bool follow_application(Saturation *s, const EGraphApplication *a, Graph *g, int *nround,
                               RegionSolution *out) {
    const Backtrack *b = s->b;
    Match match;
    int applied;
    Error ignored = {0};
    if (!find_in(s, g, a, &match)) return false;
    Match *kept = arena_copy(b->arena, &match, sizeof match);
    Derivation d = derivation_bare(b->w, b->arena, b->facts, b->library, g);
    if (!derive_round(&d, 1, kept, false, &applied, &ignored) || !applied) return false;
    out->round[(*nround)++] = (RegionRound){1, kept, *g};
    *g = d.graph;
    Price price = b->price(b->user, g);
    out->graphs++;
    if (!price_cheaper(price, out->after)) return true;
    out->after = price;
    out->graph = *g;
    out->n = *nround;
    return true;
}

/* Applies to the graph the applications that explain why it equals the extracted one. */
static void derive_towards(Saturation *s, const Value to[], const Graph *start,
                           RegionSolution *out) {
    int n, nround = 0;
    const bool *wanted = needed_uses(s, start, to, &n);
    const EGraphApplication *a = egraph_applications(s->g, &n);
    bool *done = ARENA_NEW(s->arena, bool, n);
    Graph g = *start;
    out->round = ARENA_NEW(s->b->arena, RegionRound, n);
    for (int pass = 0; pass < PASSES; pass++)
        for (int k = 0; k < n && nround < s->b->steps && !stopped((void *)s->b, s->g); k++)
            if (wanted[k] && !done[k]) done[k] = follow_application(s, &a[k], &g, &nround, out);
    out->steps = nround;
}

void saturate(const Backtrack *b, const Saturate *how, const Graph *start, RegionSolution *out) {
    Saturation s = {.b = b, .arena = arena_new(arena_escape(b->arena), 0)};
    Price price = b->price(b->user, start);
    *out = (RegionSolution){.graph = *start, .before = price, .after = price, .graphs = 1};
    s.g = egraph_new(b->w, s.arena, b->facts);
    for (int k = 0; k < start->nout; k++) egraph_add(s.g, start->out[k]);
    egraph_record(s.g);
    collect_uses(&s);
    egraph_saturate(s.g, s.nuse, s.use, NULL, how->limits, stopped, (void *)b);
    Extract x = {b->w, s.arena, s.g, how->node, b->user};
    Extracted best = extract(&x, start->nout, start->out);
    if (best.price < best.given) derive_towards(&s, best.out, start, out);
    arena_free(s.arena);
}
