/* needs.c -- collects the needs that shape() recorded in the signatures of nodes. Each literal is
   kept once. A literal without symbols is dropped if it holds; if it does not hold it is kept, so
   that the facts contradict themselves visibly. */
#include "graphs/needs.h"
#include <string.h>

typedef struct Collection {
    World *w;
    Arena *arena;
    Intern *seen;
    LitList list;
    int room;
} Collection;

static bool always_holds(const World *w, Lit l) {
    int64_t c;
    return poly_constant(w, l.p, &c) && (l.eq ? c == 0 : c >= 0);
}

static void add_need(Collection *c, Lit l) {
    uint32_t key[2] = {l.p, l.eq};
    if (always_holds(c->w, l) || intern_find(c->seen, key, sizeof key)) return;
    intern_put(c->seen, key, sizeof key);
    ARENA_GROW(c->arena, c->list.v, c->room, c->list.n + 1);
    c->list.v[c->list.n++] = l;
}

LitList graph_needs(World *w, Arena *a, const Graph *g) {
    Collection c = {.w = w, .arena = a, .seen = intern_new(a)};
    NodeList live = graph_live(w, a, g);
    for (int k = 0; k < live.n; k++) {
        const SigInfo *s = sig_info(w, node_get(w, live.v[k]).sig);
        for (int j = 0; j < s->nneed; j++) add_need(&c, s->need[j]);
    }
    intern_free(c.seen);
    return c.list;
}

Facts *graph_facts(World *w, Arena *a, const Graph *g) {
    Facts *f = facts_new(w, a);
    LitList needs = graph_needs(w, a, g);
    for (int k = 0; k < needs.n; k++)
        if (!facts_entail(f, needs.v[k])) facts_assume(f, needs.v[k]);
    return f;
}
