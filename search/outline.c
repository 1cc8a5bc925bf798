/* outline.c -- numbers graphs by what they compute, apart from their constants. */
#include "search/outline.h"

static void sort_numbers(int n, uint32_t v[]) {
    for (int k = 1; k < n; k++)
        for (int j = k; j > 0 && v[j] < v[j - 1]; j--) {
            const uint32_t larger = v[j - 1];
            v[j - 1] = v[j], v[j] = larger;
        }
}

/* Returns a number for what node n computes: the same for the same operator on the same inputs. Of
   a constant only the type counts, since rules that undo each other may leave it computed anew;
   exceptions are constants whose elements are all equal, and floats made of bytes, whose inputs
   count. */
static uint32_t node_outline(World *w, Intern *outlines, const Constants *c, const Node *n,
                             const uint32_t of[]) {
    enum { LEAF, CONSTANT, COMPUTED };
    uint32_t *key = ARENA_NEW(w->scratch, uint32_t, 2 + n->nin);
    if (constants_hold(c, n->out) && !constant_plain(w, n->out) && n->op != &op_fill &&
        !constant_unpacks(w, n))
        key[0] = CONSTANT, key[1] = value_type_id(w, n->out);
    else if (!n->nin) key[0] = LEAF, key[1] = n->out;
    else key[0] = COMPUTED, key[1] = n->sig;
    for (int k = 0; k < n->nin && key[0] == COMPUTED; k++)
        key[2 + k] = n->in[k] ? of[n->in[k] - c->least] : 0;
    if (key[0] == COMPUTED && n->op->flags & OP_COMMUTATIVE) sort_numbers(n->nin, key + 2);
    return intern_put(outlines, key, sizeof *key * (size_t)(2 + (key[0] == COMPUTED ? n->nin : 0)));
}

uint32_t graph_outline(World *w, Intern *outlines, const Constants *c, const Graph *g) {
    enum { PORT = 3, GRAPH };
    const ArenaMark mark = arena_mark(w->scratch);
    uint32_t *of = ARENA_NEW(w->scratch, uint32_t, c->past - c->least),
             *key = ARENA_NEW(w->scratch, uint32_t, 1 + g->nout);
    for (int k = 0; k < c->live.n; k++) {
        const Node n = node_get(w, c->live.v[k]);
        const uint32_t outline = node_outline(w, outlines, c, &n, of);
        for (uint32_t port = 0; port < (uint32_t)n.nout; port++)
            of[n.out + port - c->least] =
                port ? intern_put(outlines, (uint32_t[]){PORT, outline, port}, 3 * sizeof outline)
                     : outline;
    }
    key[0] = GRAPH;
    for (int k = 0; k < g->nout; k++) key[1 + k] = of[g->out[k] - c->least];
    const uint32_t outline = intern_put(outlines, key, sizeof *key * (size_t)(1 + g->nout));
    arena_reset(w->scratch, mark);
    return outline;
}
