/* rule_kinds.c -- rules that only ever take work away, and those that change the type of bytes. */
#include "search/rule_kinds.h"
#include <math.h>
#include <string.h>

enum {
    NOMINAL_SIZE = 64, /* what every size is taken to be */
    LIGHT_FLOPS = 32   /* for each element: more is a contraction */
};

static const DType bytes[] = {DT_INT8, DT_UINT8};

/* How many nodes move elements and compute nothing; -1: others compute. */
static int count_moves(World *w, const NodeList *live) {
    int n = 0;
    for (int k = 0; k < live->n; k++) {
        const Node node = node_get(w, live->v[k]);
        if (!node.nin) continue;
        const SigKind kind = sig_kind(w, node.sig, 0);
        if (kind != SIG_VIEW && kind != SIG_RESHAPE) return -1;
        n++;
    }
    return n;
}

/* Every operator of the second occurs in the first, as often. Nodes without inputs do not count. */
static bool has_operators(World *w, Arena *a, const NodeList *first, const NodeList *second) {
    const Op **left = ARENA_NEW(a, const Op *, first->n);
    for (int k = 0; k < first->n; k++) left[k] = node_get(w, first->v[k]).op;
    for (int k = 0; k < second->n; k++) {
        const Node node = node_get(w, second->v[k]);
        int j = 0;
        while (j < first->n && left[j] != node.op) j++;
        if (node.nin && j == first->n) return false;
        if (j < first->n) left[j] = NULL;
    }
    return true;
}

/* Elements that the nodes write; INFINITY: one of them does more than a little with each. */
static double light_work(World *w, Arena *a, const NodeList *live) {
    const uint32_t n = intern_count(w->table[TABLE_SYMBOL]) + 1;
    int64_t *size = ARENA_NEW(a, int64_t, n);
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) size[k] = NOMINAL_SIZE;
    for (int k = 0; k < live->n; k++) {
        const Node node = node_get(w, live->v[k]);
        int64_t count;
        if (!node.nin) continue;
        if (node.nout != 1 ||
            !poly_eval(w, type_count(w, value_type(w, node.out)), (Sizes){n, size}, &count) ||
            count < 0)
            return INFINITY;
        const double flops = sig_flops(w, node.sig, (Sizes){n, size});
        if (flops < 0 || flops > LIGHT_FLOPS * (double)count) return INFINITY;
        sum += (double)count;
    }
    return sum;
}

bool rule_shortens_moves(World *w, const Instance *i) {
    Arena *a = w->scratch;
    const ArenaMark mark = arena_mark(a);
    const NodeList from = graph_live(w, a, &i->from), to = graph_live(w, a, &i->to);
    const int before = count_moves(w, &from), after = count_moves(w, &to);
    arena_reset(a, mark);
    return before > 0 && after >= 0 && after < before;
}

bool rule_tidies(World *w, const Instance *i) {
    Arena *a = w->scratch;
    const ArenaMark mark = arena_mark(a);
    const NodeList from = graph_live(w, a, &i->from), to = graph_live(w, a, &i->to);
    bool tidies = rule_shortens_moves(w, i);
    if (!tidies && has_operators(w, a, &from, &to)) {
        const double work = light_work(w, a, &from);
        tidies = isfinite(work) && light_work(w, a, &to) < work;
    }
    arena_reset(a, mark);
    return tidies;
}

/* Whether a node computes bytes of this type that are no result. */
static bool computes_between(World *w, const Graph *g, const NodeList *live, DType t) {
    for (int k = 0; k < live->n; k++) {
        const Node node = node_get(w, live->v[k]);
        for (int j = 0; node.nin && j < node.nout; j++) {
            bool between = value_type(w, node.out + (Value)j)->dtype == t;
            for (int r = 0; r < g->nout; r++) between &= g->out[r] != node.out + (Value)j;
            if (between) return true;
        }
    }
    return false;
}

bool rule_retypes(World *w, const Instance *i) {
    const ArenaMark mark = arena_mark(w->scratch);
    const NodeList from = graph_live(w, w->scratch, &i->from),
                   to = graph_live(w, w->scratch, &i->to);
    bool any = false;
    for (int k = 0; k < 2; k++)
        any |= computes_between(w, &i->from, &from, bytes[k]) &&
               !computes_between(w, &i->to, &to, bytes[k]);
    arena_reset(w->scratch, mark);
    return any;
}

static bool has_bytes(World *w, const Graph *g, DType t, bool inputs) {
    const NodeList live = graph_live(w, w->scratch, g);
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(w, live.v[k]);
        for (int j = 0; (inputs || node.nin) && j < node.nout; j++)
            if (value_type(w, node.out + (Value)j)->dtype == t) return true;
    }
    return false;
}

bool rule_changes_bytes(World *w, const Instance *i) {
    const ArenaMark mark = arena_mark(w->scratch);
    bool changes = false;
    for (int k = 0; k < 2; k++)
        changes |= has_bytes(w, &i->to, bytes[k], false) && !has_bytes(w, &i->from, bytes[k], true);
    arena_reset(w->scratch, mark);
    return changes;
}
