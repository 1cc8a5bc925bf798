/* region.c -- divides a graph into regions.

   The level of a node is the greatest number of barriers on a path to it. Connected nodes of one
   level form a group, so that no path leaves a group and comes back through a barrier. A group
   above the limit is cut into pieces, in the order of its nodes' numbers: each cut lies between
   half the limit and the limit, where the fewest values cross. Equal regions get equal hashes,
   because a region is hashed by its text over placeholders. */
#include "graphs/region.h"
#include "graphs/constants.h"
#include "graphs/graph_text.h"
#include "ops/base/groups.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

typedef struct Divide {
    World *w;
    Arena *arena;
    NodeList live;
    Uses uses;
    int *place; /* by value: the index of its node in `live` */
    int *level; /* by index in `live`; -1: in no region */
    int *group; /* by index: a smaller or equal index of the same group */
    int *piece; /* by index: the number of its region */
    int npiece;
} Divide;

static bool barrier(const Op *op) { return !op_algebraic(op); }

/* ---- groups */

static void find_levels(Divide *d) {
    int *depth = ARENA_NEW(d->w->scratch, int, d->live.n);
    for (int k = 0; k < d->live.n; k++) {
        Node n = node_get(d->w, d->live.v[k]);
        for (int j = 0; j < n.nin; j++) {
            int from = n.in[j] ? d->place[n.in[j]] : k;
            int through = from == k ? 0
                                    : depth[from] + (d->level[from] < 0 &&
                                                     node_get(d->w, d->live.v[from]).nin > 0);
            if (through > depth[k]) depth[k] = through;
        }
        d->level[k] = barrier(n.op) ? -1 : depth[k];
    }
}

static bool inside(World *w, const Node *n) {
    return !barrier(n->op) || constant_get(w, n->out, NULL, NULL);
}

/* Raises the level of what is computed from constants alone to that of its first user: a broadcast
   of a bias belongs to the addition of the bias. */
static void lift_constants(Divide *d, const Graph *g) {
    const Constants c = constants_find(d->w, d->w->scratch, g, NULL, inside);
    for (int k = d->live.n - 1; k >= 0; k--) {
        Node n = node_get(d->w, d->live.v[k]);
        int least = INT_MAX;
        for (int port = 0; port < n.nout && constants_hold(&c, n.out); port++)
            for (int j = 0; j < d->uses.count[n.out + (Value)port]; j++) {
                const int user = d->place[d->uses.user[d->uses.first[n.out + (Value)port] + j]];
                least = d->level[user] < least ? d->level[user] : least;
            }
        if (d->level[k] >= 0 && least != INT_MAX && least > d->level[k]) d->level[k] = least;
    }
}

static void find_groups(Divide *d) {
    for (int k = 0; k < d->live.n; k++) {
        Node n = node_get(d->w, d->live.v[k]);
        d->group[k] = k;
        for (int j = 0; j < n.nin && d->level[k] >= 0; j++)
            if (n.in[j] && d->level[d->place[n.in[j]]] == d->level[k])
                groups_unite(d->group, k, d->place[n.in[j]]);
    }
}

/* ---- cuts */

/* The number of values made by member[from..to-1] that later members of the group read. */
static int crossing(Divide *d, const int *member, int from, int to) {
    int n = 0;
    for (int k = from; k < to; k++) {
        Node node = node_get(d->w, d->live.v[member[k]]);
        for (int port = 0; port < node.nout; port++) {
            Value v = node.out + (Value)port;
            bool later = false;
            for (int j = 0; j < d->uses.count[v] && !later; j++) {
                int user = d->place[d->uses.user[d->uses.first[v] + j]];
                later = user >= member[to] &&
                        group_least(d->group, user) == group_least(d->group, member[k]);
            }
            n += later;
        }
    }
    return n;
}

static void cut_group(Divide *d, const int *member, int n, int limit) {
    int from = 0;
    while (n - from > limit) {
        int best = from + limit, least = crossing(d, member, from, best);
        for (int to = from + limit - 1; to > from + limit / 2; to--) {
            int width = crossing(d, member, from, to);
            if (width < least) least = width, best = to;
        }
        for (int k = from; k < best; k++) d->piece[member[k]] = d->npiece;
        d->npiece++;
        from = best;
    }
    for (int k = from; k < n; k++) d->piece[member[k]] = d->npiece;
    d->npiece++;
}

static void cut_groups(Divide *d, int limit) {
    int *count = ARENA_NEW(d->w->scratch, int, d->live.n + 1),
        *member = ARENA_NEW(d->w->scratch, int, d->live.n), *next;
    for (int k = 0; k < d->live.n; k++)
        if (d->level[k] >= 0) count[group_least(d->group, k)]++;
    next = ARENA_NEW(d->w->scratch, int, d->live.n + 1);
    for (int k = 0, at = 0; k < d->live.n; k++) next[k] = at, at += count[k];
    for (int k = 0; k < d->live.n; k++)
        if (d->level[k] >= 0) member[next[group_least(d->group, k)]++] = k;
    for (int k = 0; k < d->live.n; k++)
        if (count[k]) cut_group(d, member + next[k] - count[k], count[k], limit);
}

/* ---- regions */

typedef struct RegionFill { /* a region being filled */
    Value *in, *out;
    bool *constant;
    NodeId *node;
    int nin, nout, nnode;
} RegionFill;

static bool used_outside(Divide *d, Value v, int piece) {
    if (d->uses.outputs[v]) return true;
    for (int j = 0; j < d->uses.count[v]; j++)
        if (d->piece[d->place[d->uses.user[d->uses.first[v] + j]]] != piece) return true;
    return false;
}

static bool list_has(const Value *v, int n, Value x) {
    for (int k = 0; k < n; k++)
        if (v[k] == x) return true;
    return false;
}

static void meet_input(Divide *d, RegionFill *r, int piece, Value v) {
    if (!v || d->piece[d->place[v]] == piece) return;
    if (constant_plain(d->w, v)) {
        if (!list_has(r->node, r->nnode, v)) r->node[r->nnode++] = v;
    } else if (!list_has(r->in, r->nin, v)) {
        r->constant[r->nin] = constant_get(d->w, v, NULL, NULL);
        r->in[r->nin++] = v;
    }
}

static int edges(World *w, const int *member, int n, NodeList live) {
    int total = 0;
    for (int k = 0; k < n; k++) total += node_get(w, live.v[member[k]]).nin;
    return total;
}

static int ports(World *w, const int *member, int n, NodeList live) {
    int total = 0;
    for (int k = 0; k < n; k++) total += node_get(w, live.v[member[k]]).nout;
    return total;
}

static void sort_nodes(NodeId *v, int n) {
    for (int k = 1; k < n; k++)
        for (int j = k; j > 0 && v[j - 1] > v[j]; j--) {
            NodeId x = v[j];
            v[j] = v[j - 1];
            v[j - 1] = x;
        }
}

typedef struct Frame {
    NodeId node;
    int next; /* the input to be visited next */
} Frame;

/* Collects the region's inputs in the order in which a post-order walk over its nodes from output v
   meets them. */
static void order_inputs(Divide *d, RegionFill *r, int piece, Value v, bool *met) {
    Node n;
    Frame *stack = ARENA_NEW(d->w->scratch, Frame, r->nnode + 1);
    int depth = 0;
    if (!met[d->place[v]]) met[d->place[v]] = true, stack[depth++].node = value_node(d->w, v);
    while (depth) {
        n = node_get(d->w, stack[depth - 1].node);
        if (stack[depth - 1].next == n.nin) {
            depth--;
            continue;
        }
        Value x = n.in[stack[depth - 1].next++];
        meet_input(d, r, piece, x);
        if (!x || d->piece[d->place[x]] != piece || met[d->place[x]]) continue;
        met[d->place[x]] = true;
        stack[depth].node = value_node(d->w, x);
        stack[depth++].next = 0;
    }
}

static void fill_region(Divide *d, Region *region, int piece, const int *member, int n, bool *met) {
    int nedge = edges(d->w, member, n, d->live), nport = ports(d->w, member, n, d->live);
    RegionFill r = {ARENA_NEW(d->arena, Value, nedge),
                    ARENA_NEW(d->arena, Value, nport),
                    ARENA_NEW(d->arena, bool, nedge),
                    ARENA_NEW(d->arena, NodeId, n + nedge),
                    0,
                    0,
                    0};
    for (int k = 0; k < n; k++) {
        Node node = node_get(d->w, d->live.v[member[k]]);
        r.node[r.nnode++] = node.out;
        for (int port = 0; port < node.nout; port++)
            if (used_outside(d, node.out + (Value)port, piece))
                r.out[r.nout++] = node.out + (Value)port;
    }
    for (int k = 0; k < r.nout; k++) order_inputs(d, &r, piece, r.out[k], met);
    sort_nodes(r.node, r.nnode);
    *region = (Region){.nin = r.nin,
                       .nout = r.nout,
                       .nnode = r.nnode,
                       .in = r.in,
                       .constant = r.constant,
                       .out = r.out,
                       .node = r.node};
}

static void hash_region(World *w, Region *r) {
    ArenaMark mark = arena_mark(w->scratch);
    Graph g;
    Error ignored = {0};
    Text t = text_new(w->scratch);
    if (region_graph(w, w->scratch, r, &g, NULL, &ignored)) graph_print(w, "region", &g, &t);
    hash_hex(t.data ? t.data : "", t.size, r->hash);
    arena_reset(w->scratch, mark);
}

static void fill_regions(Divide *d, Region *region) {
    int *member = ARENA_NEW(d->w->scratch, int, d->live.n),
        *count = ARENA_NEW(d->w->scratch, int, d->npiece + 1);
    bool *met = ARENA_NEW(d->w->scratch, bool, d->live.n);
    int *next = ARENA_NEW(d->w->scratch, int, d->npiece + 1);
    for (int k = 0; k < d->live.n; k++)
        if (d->piece[k] >= 0) count[d->piece[k]]++;
    for (int p = 0, at = 0; p < d->npiece; p++) next[p] = at, at += count[p];
    for (int k = 0; k < d->live.n; k++)
        if (d->piece[k] >= 0) member[next[d->piece[k]]++] = k;
    for (int p = 0; p < d->npiece; p++)
        fill_region(d, &region[p], p, member + next[p] - count[p], count[p], met);
    for (int p = 0; p < d->npiece; p++) hash_region(d->w, &region[p]);
}

static void index_values(Divide *d) {
    for (int k = 0; k < d->live.n; k++) {
        Node n = node_get(d->w, d->live.v[k]);
        for (int port = 0; port < n.nout; port++) d->place[n.out + (Value)port] = k;
        d->piece[k] = -1;
    }
}

int regions_find(World *w, Arena *a, const Graph *g, int limit, Region **out) {
    ArenaMark mark = arena_mark(w->scratch);
    Divide d = {.w = w, .arena = a, .live = graph_live(w, w->scratch, g)};
    d.uses = graph_uses(w, w->scratch, g, d.live);
    d.place = ARENA_NEW(w->scratch, int, value_last(w) + 1);
    d.level = ARENA_NEW(w->scratch, int, d.live.n);
    d.group = ARENA_NEW(w->scratch, int, d.live.n);
    d.piece = ARENA_NEW(w->scratch, int, d.live.n);
    index_values(&d);
    find_levels(&d);
    lift_constants(&d, g);
    find_groups(&d);
    cut_groups(&d, limit);
    *out = ARENA_NEW(a, Region, d.npiece);
    fill_regions(&d, *out);
    arena_reset(w->scratch, mark);
    return d.npiece;
}

/* ---- over placeholders */

static Value placeholder(World *w, const Region *r, int k) {
    char name[24];
    snprintf(name, sizeof name, "%c%d", r->constant[k] ? 'k' : 'r', k);
    return graph_input(w, name, value_type(w, r->in[k]));
}

bool region_graph(World *w, Arena *a, const Region *r, Graph *out, ValueMap *map, Error *e) {
    ValueMap own = value_map_new(w, a);
    Value *in = ARENA_NEW(a, Value, r->nin), *result = ARENA_NEW(a, Value, r->nout);
    for (int k = 0; k < r->nin; k++) own.to[r->in[k]] = in[k] = placeholder(w, r, k);
    if (!nodes_substitute(w, a, (NodeList){r->nnode, r->node}, &own, e)) return false;
    for (int k = 0; k < r->nout; k++) result[k] = map_value(&own, r->out[k]);
    *out = (Graph){r->nin, r->nout, in, result};
    if (map) *map = own;
    return true;
}
