/* ask.c -- grows connected parts from each node, by nodes that come later. Parts that are equal
   except for where they stand are generalized only once. */
#include "generator/discover/ask.h"
#include "generator/discover/general.h"
#include "generator/discover/weigh.h"
#include "graphs/constants.h"
#include <stdio.h>
#include <string.h>

/* Limits of the parts that become questions. Larger parts, and parts beyond these numbers, are not
   asked about. */
enum {
    PART_MOST = 8,      /* operators on data */
    PART_CONSTANTS = 8, /* further operators, on constants alone */
    PART_OUTPUTS = 4,
    PARTS_FROM = 400, /* parts that have the same first node */
    OPEN_MOST = 96    /* candidates for the next node of a part */
};
/* The share of their estimated time that is added to the time that several nodes lose by a profile.
   The profile compares them with the roofline of their own arithmetic; the share stands for a form
   that needs less arithmetic. */
#define FORM_SHARE 0.1
typedef struct Met { /* parts that are equal */
    int64_t count;
    double seconds, most; /* of all of them; of the most expensive one */
    Part part;
} Met;
typedef struct Asking {
    World *w;
    Arena *a;
    const Graph *g;
    Sizes sizes;
    int most;
    NodeList live;
    Uses uses;
    Constants constants;
    int *place;   /* for each value, the index of its node in `live` */
    bool *may;    /* by index in `live`: whether the node may belong to a part */
    double *cost; /* by index in `live`: seconds that the node takes or, by a profile, loses */
    double *form; /* by index in `live`: seconds that another form of the node and its neighbours
                     may save */
    /* Size and first node of the part in hand; parts met since that first node. */
    int n, from, parts;
    int in[PART_MOST]; /* the part in hand: indices in `live` */
    Intern *keys;
    int nmet, met_room;
    Met *met;
} Asking;

static bool has(const Asking *x, int place) {
    for (int k = 0; k < x->n; k++)
        if (x->in[k] == place) return true;
    return false;
}

/* ---- a part */

/* The nodes of the part and the operators on constants that they use, in ascending order. */
static int collect_nodes(Asking *x, NodeId node[]) {
    int n = 0;
    for (int k = 0; k < x->n; k++) node[n++] = x->live.v[x->in[k]];
    for (int k = 0; k < n; k++) {
        Node y = node_get(x->w, node[k]);
        for (int j = 0; j < y.nin; j++) {
            if (!y.in[j] || !constants_hold(&x->constants, y.in[j])) continue;
            NodeId id = value_node(x->w, y.in[j]);
            Node c = node_get(x->w, id);
            bool known = constant_get(x->w, c.out, NULL, NULL) || input_name(x->w, c.out) ||
                         !op_algebraic(c.op) || n == x->n + PART_CONSTANTS;
            for (int i = 0; i < n; i++) known |= node[i] == id;
            if (!known) node[n++] = id;
        }
    }
    for (int k = 1; k < n; k++)
        for (int j = k; j > 0 && node[j - 1] > node[j]; j--) {
            NodeId t = node[j];
            node[j] = node[j - 1];
            node[j - 1] = t;
        }
    return n;
}

/* The values of the part that are used outside it. Returns 0 if there are too many. */
static int collect_outputs(Asking *x, Value out[]) {
    int n = 0;
    for (int k = 0; k < x->n; k++) {
        Node y = node_get(x->w, x->live.v[x->in[k]]);
        for (Value v = y.out; v < y.out + (Value)y.nout; v++) {
            bool outside = x->uses.outputs[v] > 0;
            for (int j = 0; j < x->uses.count[v]; j++)
                outside |= !has(x, x->place[x->uses.user[x->uses.first[v] + j]]);
            if (outside && n == PART_OUTPUTS) return 0;
            if (outside) out[n++] = v;
        }
    }
    return n;
}

/* Whether no path leaves the part and re-enters it. */
static bool convex(Asking *x) {
    int last = 0;
    for (int k = 0; k < x->n; k++) last = x->in[k] > last ? x->in[k] : last;
    bool good = true, *follows = ARENA_NEW(x->w->scratch, bool, last + 1);
    for (int k = x->from; k <= last && good; k++) {
        Node y = node_get(x->w, x->live.v[k]);
        bool inside = has(x, k);
        for (int j = 0; j < y.nin; j++) {
            if (!y.in[j]) continue;
            int p = x->place[y.in[j]];
            if (p < x->from) continue;
            if (inside) good &= !follows[p];
            else follows[k] |= follows[p] || has(x, p);
        }
    }
    return good;
}

/* The number of a part's class: parts are equal if their nodes have the same signatures, are
   connected in the same way, and have the same constants where these are plain numbers. */
static uint32_t key_of(Asking *x, int n, const NodeId node[], int nout, const Value out[]) {
    enum { OUTER_MOST = 64 }; /* values from outside that are distinguished */
    Text t = text_new(x->w->scratch);
    Value outer[OUTER_MOST];
    int nouter = 0;
    for (int k = 0; k < n; k++) {
        Node y = node_get(x->w, node[k]);
        text_add(&t, "%u", y.sig);
        for (int j = 0; j < y.nin; j++) {
            int at = -1, port = 0;
            for (int i = 0; i < k && y.in[j]; i++)
                if (value_node(x->w, y.in[j]) == node[i]) at = i, port = value_port(x->w, y.in[j]);
            if (at >= 0) {
                text_add(&t, " n%d.%d", at, port);
                continue;
            }
            for (at = 0; at < nouter && outer[at] != y.in[j];) at++;
            if (at == nouter && nouter < OUTER_MOST) outer[nouter++] = y.in[j];
            Blob blob = y.in[j] && constant_plain(x->w, y.in[j]) ? constant_blob(x->w, y.in[j]) : 0;
            text_add(&t, " %c%d:%u", y.in[j] && constant_get(x->w, y.in[j], NULL, NULL) ? 'k' : 'x',
                     at, blob);
        }
        text_add(&t, ";");
    }
    for (int k = 0; k < nout; k++)
        for (int i = 0; i < n; i++)
            if (value_node(x->w, out[k]) == node[i])
                text_add(&t, " %d.%d", i, value_port(x->w, out[k]));
    return intern_put(x->keys, t.data, t.size);
}

static void meet_part(Asking *x) {
    ArenaMark mark = arena_mark(x->w->scratch);
    NodeId node[PART_MOST + PART_CONSTANTS];
    Value out[PART_OUTPUTS];
    double seconds = 0;
    for (int k = 0; k < x->n; k++)
        seconds += x->cost[x->in[k]] + (x->n > 1 ? x->form[x->in[k]] : 0);
    int nout = convex(x) ? collect_outputs(x, out) : 0;
    if (nout) {
        int n = collect_nodes(x, node);
        uint32_t id = key_of(x, n, node, nout, out);
        x->parts++;
        if ((int)id > x->nmet) {
            ARENA_GROW(x->a, x->met, x->met_room, (int)id);
            x->nmet = (int)id;
            x->met[id - 1].part = (Part){n, nout, arena_copy(x->a, node, (size_t)n * sizeof *node),
                                         arena_copy(x->a, out, (size_t)nout * sizeof *out)};
        }
        Met *m = &x->met[id - 1];
        m->count++;
        m->seconds += seconds;
        if (seconds > m->most) m->most = seconds;
    }
    arena_reset(x->w->scratch, mark);
}

/* ---- growing */

/* The nodes adjacent to this one, as indices in `live`, at most `room` of them. */
static int neighbours(Asking *x, int place, int out[], int room) {
    int n = 0;
    Node y = node_get(x->w, x->live.v[place]);
    for (int j = 0; j < y.nin; j++)
        if (y.in[j] && n < room) out[n++] = x->place[y.in[j]];
    for (Value v = y.out; v < y.out + (Value)y.nout; v++)
        for (int j = 0; j < x->uses.count[v] && n < room; j++)
            out[n++] = x->place[x->uses.user[x->uses.first[v] + j]];
    return n;
}

/* Grows the part in hand by each node of `open` in turn. A node that was tried is banned for the
   parts after it, so each connected set is met once. */
static void grow(Asking *x, const int open[], int nopen, const int banned[], int nbanned) {
    meet_part(x);
    if (x->n == x->most) return;
    int ban[2 * OPEN_MOST], nban = nbanned < OPEN_MOST ? nbanned : OPEN_MOST;
    if (nban) memcpy(ban, banned, (size_t)nban * sizeof *ban);
    for (int k = 0; k < nopen && x->parts < PARTS_FROM; k++) {
        int next[OPEN_MOST], fresh[OPEN_MOST], n = 0;
        for (int j = k + 1; j < nopen && n < OPEN_MOST; j++) next[n++] = open[j];
        int m = neighbours(x, open[k], fresh, OPEN_MOST);
        x->in[x->n++] = open[k];
        for (int j = 0; j < m && n < OPEN_MOST; j++) {
            bool old = fresh[j] <= x->from || !x->may[fresh[j]] || has(x, fresh[j]);
            for (int i = 0; i < n; i++) old |= next[i] == fresh[j];
            for (int i = 0; i < nban; i++) old |= ban[i] == fresh[j];
            if (!old) next[n++] = fresh[j];
        }
        grow(x, next, n, ban, nban);
        x->n--;
        if (nban < 2 * OPEN_MOST) ban[nban++] = open[k];
    }
}

static void grow_from(Asking *x, int place) {
    int open[OPEN_MOST], all[OPEN_MOST], n = 0;
    x->from = place;
    x->parts = 0;
    x->in[0] = place;
    x->n = 1;
    int m = neighbours(x, place, all, OPEN_MOST);
    for (int k = 0; k < m; k++) {
        bool old = all[k] <= place || !x->may[all[k]];
        for (int j = 0; j < n; j++) old |= open[j] == all[k];
        if (!old) open[n++] = all[k];
    }
    grow(x, open, n, NULL, 0);
}

/* ---- all */

static bool askable(Asking *x, const Node *y) {
    if (!op_algebraic(y->op) || y->op->flags & (OP_RANDOM | OP_NO_COST)) return false;
    if (constants_hold(&x->constants, y->out) || y->nout > PART_OUTPUTS) return false;
    if (!y->op->expand && !sig_define(x->w, y->sig, 0)) return false;
    for (int k = 0; k < y->nin; k++)
        if (y->in[k] && !value_type(x->w, y->in[k])->known) return false;
    return true;
}

static void ask_parts(Asking *x, Questions *to, const char *from) {
    for (int k = 0; k < x->nmet; k++) {
        const Met *m = &x->met[k];
        const char *last = "";
        for (int keep = 0; keep < KEEPS; keep++) {
            Text graph = text_new(x->a), at = text_new(x->a);
            if (!part_generalize(x->w, &m->part, x->sizes, (Keep)keep, &graph, &at)) continue;
            if (!strcmp(graph.data, last)) continue;
            last = graph.data;
            questions_add(to, &(Question){.count = m->count,
                                          .seconds = m->seconds,
                                          .most = m->most,
                                          .from = from,
                                          .at = at.size ? at.data : "",
                                          .graph = graph.data});
        }
    }
}

void questions_ask(Questions *to, World *w, const Graph *g, Sizes sizes, int most, const char *from,
                   const double *lost) {
    Arena *a = arena_new(arena_escape(w->arena), 0);
    Asking x = {.w = w, .a = a, .g = g, .sizes = sizes, .live = graph_live(w, a, g)};
    x.most = most < PART_MOST ? most : PART_MOST;
    x.uses = graph_uses(w, a, g, x.live);
    x.constants = constants_find(w, a, g, NULL, NULL);
    x.place = ARENA_NEW(a, int, x.uses.n);
    x.may = ARENA_NEW(a, bool, x.live.n);
    x.cost = ARENA_NEW(a, double, x.live.n);
    x.form = ARENA_NEW(a, double, x.live.n);
    x.keys = intern_new(a);
    for (int k = 0; k < x.live.n; k++) {
        Node y = node_get(w, x.live.v[k]);
        for (int p = 0; p < y.nout; p++) x.place[y.out + (Value)p] = k;
        x.cost[k] = askable(&x, &y) ? node_seconds(w, y.out, sizes) : -1;
        x.may[k] = x.cost[k] >= 0;
        if (!lost) continue;
        x.form[k] = x.may[k] ? x.cost[k] * FORM_SHARE : 0;
        x.cost[k] = lost[x.live.v[k]];
    }
    for (int k = 0; k < x.live.n; k++)
        if (x.may[k]) grow_from(&x, k);
    ask_parts(&x, to, from);
    intern_free(x.keys);
    arena_free(a);
}
