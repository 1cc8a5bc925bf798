/* rule_kinds.c -- recognizes rules that only ever take work away, and rules that change the type of
   bytes. */
#include "search/rule_kinds.h"
#include <math.h>
#include <string.h>

enum { NOMINAL_SIZE = 64 }; /* the value assumed for every size */
#define LIGHT_FLOPS 32.0    /* operations for each element: a node with more is a contraction */

/* Returns how many nodes move elements; -1: some node computes. */
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

/* Whether every operator of the second list occurs in the first one at least as often. Nodes
   without inputs do not count. */
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

/* Returns the number of elements that the nodes write; INFINITY: one of the nodes is a
   contraction. */
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

bool rule_lightens(World *w, const Instance *i) {
    Arena *a = w->scratch;
    const ArenaMark mark = arena_mark(a);
    const NodeList from = graph_live(w, a, &i->from), to = graph_live(w, a, &i->to);
    bool lightens = has_operators(w, a, &from, &to);
    if (lightens) {
        const double work = light_work(w, a, &from);
        lightens = isfinite(work) && light_work(w, a, &to) < work;
    }
    arena_reset(a, mark);
    return lightens;
}

static bool is_result(const Graph *g, Value v) {
    bool any = false;
    for (int k = 0; k < g->nout; k++) any |= g->out[k] == v;
    return any;
}

/* Which values of a graph are considered in addition to those that its nodes compute for other
   nodes. */
typedef struct ValuesToo {
    bool inputs, results;
} ValuesToo;

static bool has_type(World *w, const Graph *g, const NodeList *live, DType t, ValuesToo also) {
    for (int k = 0; k < live->n; k++) {
        const Node node = node_get(w, live->v[k]);
        for (Value v = node.out; v < node.out + (Value)node.nout; v++)
            if (value_type(w, v)->dtype == t && (node.nin || also.inputs) &&
                (also.results || !is_result(g, v)))
                return true;
    }
    return false;
}

/* Whether `with` has bytes of one kind and `without` has none of that kind. */
static bool gains_bytes(World *w, const Graph *with, ValuesToo with_too, const Graph *without,
                        ValuesToo without_too) {
    static const DType bytes[] = {DT_INT8, DT_UINT8};
    const ArenaMark mark = arena_mark(w->scratch);
    const NodeList a = graph_live(w, w->scratch, with), b = graph_live(w, w->scratch, without);
    bool any = false;
    for (int k = 0; k < 2; k++)
        any |= has_type(w, with, &a, bytes[k], with_too) &&
               !has_type(w, without, &b, bytes[k], without_too);
    arena_reset(w->scratch, mark);
    return any;
}

bool rule_retypes(World *w, const Instance *i) {
    const ValuesToo between = {0};
    return gains_bytes(w, &i->from, between, &i->to, between);
}

bool rule_changes_bytes(World *w, const Instance *i) {
    return gains_bytes(w, &i->to, (ValuesToo){.results = true}, &i->from, (ValuesToo){true, true});
}
