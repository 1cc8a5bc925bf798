/* effect.c -- finds the applications that the final graph of a derivation still shows. From each
   value that the model's own operators do not compute, the search goes back to the application that
   made it and on to the nodes that this application matched.

   An application that made nothing took something away. It is shown unless what it replaced
   originates from a value that, in the end, is computed as it was. A reshaped value counts as the
   same value. */
#include "search/effect.h"

typedef struct Effect {
    const Derivation *d;
    bool *plain; /* by value: the model's own operators compute it */
    bool *shown; /* by application: the final graph shows it */
    int nwaiting;
    int *waiting; /* shown applications whose matches were not looked at yet */
} Effect;

static Value unshaped(const World *w, Value v) {
    for (Node n; v && (n = node_get(w, value_node(w, v))).op == &op_reshape;) v = n.in[0];
    return v;
}

/* Whether the same operator computes both values, on inputs that correspond in the current
   graph. */
static bool stayed(const Derivation *d, Value v, Value now) {
    const World *w = d->w;
    const Value was = unshaped(w, v), is = unshaped(w, now);
    const Node a = node_get(w, value_node(w, was)), b = node_get(w, value_node(w, is));
    bool same = a.sig == b.sig && was - a.out == is - b.out && (a.nin || was == is);
    for (int k = 0; k < a.nin && same; k++)
        same = unshaped(w, map_value(&d->map, a.in[k])) == unshaped(w, b.in[k]);
    return same;
}

/* Marks the value as plain, and all values of which it is a reshape, down to but without `end`. */
static void mark_plain(Effect *x, Value v, Value end) {
    for (; v != end; v = node_get(x->d->w, value_node(x->d->w, v)).in[0]) x->plain[v] = true;
}

/* Marks the reshapes before an input of a node that stayed, since they may be new. */
static void mark_input(Effect *x, Value v, Value now) {
    if (v && v != now) mark_plain(x, now, unshaped(x->d->w, now));
}

static void find_plain(Effect *x) {
    const Derivation *d = x->d;
    for (Value v = 1; v < d->map.n && v <= d->model_nodes; v++) {
        const Value now = map_value(&d->map, v), is = unshaped(d->w, now);
        if (!stayed(d, v, now)) continue;
        const Node a = node_get(d->w, value_node(d->w, unshaped(d->w, v))),
                   b = node_get(d->w, value_node(d->w, is));
        mark_plain(x, now, is);
        x->plain[is] = true;
        for (int k = 0; k < b.nin; k++) mark_input(x, map_value(&d->map, a.in[k]), b.in[k]);
    }
}

static void show_step(Effect *x, int step) {
    if (x->shown[step]) return;
    x->shown[step] = true;
    x->waiting[x->nwaiting++] = step;
}

static void show_value(Effect *x, Value v) {
    const int step = derivation_step(x->d, v);
    if (step >= 0 && !x->plain[v]) show_step(x, step);
}

static void show_nodes(Effect *x, NodeList nodes) {
    for (int k = 0; k < nodes.n; k++)
        for (int port = 0; port < node_get(x->d->w, nodes.v[k]).nout; port++)
            show_value(x, nodes.v[k] + (Value)port);
}

/* Whether the application made no value, and what it replaced is not computed as it was. */
static bool takes_away(const Effect *x, int step) {
    const Application *a = &x->d->step[step];
    bool made = false, gone = false;
    for (int k = 0; k < a->match.instance->from.nout; k++) {
        const Value from = derivation_origin(x->d, a->match.root[k]);
        made |= derivation_step(x->d, a->to[k]) == step;
        gone |= !from || !stayed(x->d, from, map_value(&x->d->map, from));
    }
    return !made && gone;
}

const bool *derivation_shown(const Derivation *d, Arena *a) {
    Effect x = {.d = d,
                .plain = ARENA_NEW(a, bool, value_last(d->w) + 1),
                .shown = ARENA_NEW(a, bool, d->nstep),
                .waiting = ARENA_NEW(a, int, d->nstep)};
    find_plain(&x);
    show_nodes(&x, graph_live(d->w, a, &d->graph));
    for (int s = 0; s < d->nstep; s++)
        if (takes_away(&x, s)) show_step(&x, s);
    while (x.nwaiting)
        show_nodes(&x, match_inner(d->w, a, &d->step[x.waiting[--x.nwaiting]].match));
    return x.shown;
}

const int *derivation_counts(const Derivation *d, Arena *a) {
    const bool *shown = derivation_shown(d, a);
    int *count = ARENA_NEW(a, int, d->library->n);
    for (int s = 0; s < d->nstep; s++) {
        const int rule = library_index(d->library, d->step[s].match.instance->rule);
        if (shown[s] && rule >= 0) count[rule]++;
    }
    return count;
}
