/* rewrite.c -- substitutes values in graphs and expands composites.

   Substitution is one pass over the live nodes in the order of their numbers, which is topological:
   a node with a replaced input is rebuilt, every other node stays the same. What a replacement
   consists of is never replaced itself. A composite is replaced by the node lines of Op.expand.
   They are built with the node's inputs under their declared names and with these variables: each
   attribute by its name, x.0 x.1 .. for the sizes of input x, and x for its element type. */
#include "graphs/rewrite.h"
#include "graphs/tables.h"
#include <stdio.h>
#include <assert.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 64, EXPANSION_DEPTH = 16 };

/* ---- substitution */

static void refused(World *w, NodeId id, const char *why, Error *e) {
    char place[80];
    snprintf(place, sizeof place, "%s (value %u)", node_get(w, id).op->name, id);
    error_set(e, E_INVALID, place, "does not accept its new inputs: %s", why);
}

Value node_mapped(World *w, Arena *a, NodeId id, const ValueMap *map, Error *e) {
    Node n = node_get(w, id);
    const char *why = "";
    ArenaMark mark = arena_mark(a);
    Value *in = ARENA_NEW(a, Value, n.nin);
    bool changed = false;
    for (int k = 0; k < n.nin; k++) changed |= (in[k] = map_value(map, n.in[k])) != n.in[k];
    Value y = changed ? node_rebuild(w, id, in, &why) : id;
    if (a != w->arena) arena_reset(a, mark);
    if (!y) refused(w, id, why, e);
    return y;
}

static bool rebuild_node(World *w, Arena *a, NodeId id, ValueMap *map, Error *e) {
    Value y = node_mapped(w, a, id, map, e);
    for (int port = 0; y && y != id && port < node_get(w, id).nout; port++)
        if (!map->to[id + (Value)port]) map->to[id + (Value)port] = y + (Value)port;
    return y != 0;
}

static Graph mapped_graph(Arena *a, const Graph *g, const ValueMap *map) {
    Value *out = ARENA_NEW(a, Value, g->nout);
    for (int k = 0; k < g->nout; k++) out[k] = map_value(map, g->out[k]);
    return (Graph){g->nin, g->nout, g->in, out};
}

ValueMap value_map_new(World *w, Arena *a) {
    uint32_t n = value_last(w) + 1;
    return (ValueMap){n, ARENA_NEW(a, Value, n)};
}

bool nodes_substitute(World *w, Arena *a, NodeList nodes, ValueMap *map, Error *e) {
    for (int k = 0; k < nodes.n; k++)
        if (!rebuild_node(w, a, nodes.v[k], map, e)) return false;
    return true;
}

bool graph_substitute(World *w, Arena *a, const Graph *g, const Substitution *s, Graph *out,
                      ValueMap *map, Error *e) {
    NodeList live = graph_live(w, a, g);
    ValueMap own = value_map_new(w, a);
    for (int k = 0; k < s->n; k++)
        if (s->from[k] < own.n) own.to[s->from[k]] = s->to[k];
    if (!nodes_substitute(w, a, live, &own, e)) return false;
    *out = mapped_graph(a, g, &own);
    if (map) *map = own;
    return true;
}

/* ---- expansion */

/* The parsed text of Op.expand. It is parsed again if the World was reset since. A text that does
   not parse is a bug. */
static const LineList *expansion_of(World *w, int op) {
    Expansion *known = &graph_tables(w)->expansion[op];
    if (known->resets == 1 + w->resets) return known->lines;
    Error e = {0};
    const char *text = op_at(op)->expand;
    Scan s = scan_new(op_at(op)->name, text, strlen(text), &e);
    LineList *lines = ARENA_NEW(w->arena, LineList, 1);
    bool good = lines_parse(w, w->arena, &s, lines);
    assert(good);
    (void)good;
    *known = (Expansion){lines, 1 + w->resets};
    return lines;
}

/* Takes the next name from a declaration of inputs: "x w b?" gives x, w, b. Returns false at the
   end of the list. */
static bool declared_name(const char **list, char name[NAME_MAX_LENGTH]) {
    const char *p = *list + strspn(*list, " ");
    size_t n = strcspn(p, " ?."), all = strcspn(p, " ");
    if (!n || n >= NAME_MAX_LENGTH) return false;
    memcpy(name, p, n);
    name[n] = 0;
    *list = p + all;
    return true;
}

typedef struct Bound {
    int n, room;
    Binding *v;
} Bound;

static void bind_attr(Arena *a, Bound *b, const char *name, AttrKind kind, Attr value) {
    ARENA_GROW(a, b->v, b->room, b->n + 1);
    b->v[b->n++] = (Binding){arena_string(a, name, strlen(name)), kind, value};
}

static void bind_input(World *w, Arena *a, Bound *b, const char *name, Value v) {
    const Type *t = value_type(w, v);
    bind_attr(a, b, name, A_DTYPE, (Attr){.enum_value = (int)t->dtype});
    for (int k = 0; k < t->dim.n; k++) {
        char size[NAME_MAX_LENGTH + 12];
        snprintf(size, sizeof size, "%s.%d", name, k);
        bind_attr(a, b, size, A_INT, (Attr){.ints = {1, &t->dim.v[k]}});
    }
}

static Bindings node_bindings(World *w, Arena *a, const Node *n, Names *names) {
    Bound b = {0};
    Attr attr[ATTRS_MAX];
    char name[NAME_MAX_LENGTH];
    const char *list = n->op->in;
    sig_attr(w, n->sig, attr);
    for (int k = 0; k < attrs_count(n->op->attrs); k++)
        bind_attr(a, &b, n->op->attrs[k].name, n->op->attrs[k].kind, attr[k]);
    for (int k = 0; k < n->nin && declared_name(&list, name); k++) {
        names_set(names, name, n->in[k]);
        if (n->in[k]) bind_input(w, a, &b, name, n->in[k]);
    }
    return (Bindings){b.n, b.v};
}

/* ---- conditions: "bias", "!bias", "mask:2" (rank 2), "mask:B" (element type B), "causal=yes",
   "heads!=0", joined by commas */

static int input_position(const Op *op, const char *wanted) {
    char name[NAME_MAX_LENGTH];
    const char *list = op->in;
    for (int k = 0; declared_name(&list, name); k++)
        if (!strcmp(name, wanted)) return k;
    return -1;
}
static bool attr_is(World *w, const AttrDef *d, const Attr *have, Scan *s, bool *is) {
    Attr want = {0};
    if (!attr_parse(w, s, d, &want)) return false;
    *is = d->kind == A_REAL ? have->real == want.real
          : d->kind == A_INT || d->kind == A_INTS
              ? have->ints.n == want.ints.n && have->ints.v[0] == want.ints.v[0]
              : have->enum_value == want.enum_value;
    return true;
}
/* Evaluates one condition. Returns false if the text is not a condition, which is a bug of the
   operator. */
static bool condition_holds(World *w, const Node *n, Scan *s, bool *holds) {
    char name[NAME_MAX_LENGTH];
    const bool lacks = scan_char(s, '!');
    if (!scan_name(s, name, sizeof name)) return false;
    const int input = input_position(n->op, name), attr = attrs_find(n->op->attrs, name);
    if (input >= 0) {
        int64_t rank;
        const Value v = input < n->nin ? n->in[input] : 0;
        *holds = v != 0;
        if (scan_char(s, ':')) {
            const bool axes = scan_int(s, &rank);
            if (!axes && !scan_name(s, name, sizeof name)) return false;
            const Type *t = v ? value_type(w, v) : NULL;
            *holds = t && (axes ? t->dim.n == rank : t->dtype == dtype_parse(name));
        }
        *holds ^= lacks;
        return true;
    }
    if (attr < 0) return false;
    Attr have[ATTRS_MAX];
    sig_attr(w, n->sig, have);
    const bool differs = scan_char(s, '!');
    if (!scan_char(s, '=') || !attr_is(w, &n->op->attrs[attr], &have[attr], s, holds)) return false;
    *holds ^= differs;
    return true;
}
static bool line_holds(World *w, const Node *n, const char *when, bool *holds) {
    Scan s = scan_new(n->op->name, when, strlen(when), NULL);
    bool one = true;
    *holds = true;
    do {
        if (!condition_holds(w, n, &s, &one)) return false;
        *holds &= one;
    } while (scan_char(&s, ','));
    return scan_end(&s);
}
/* The lines without a condition or with one that holds for this node. */
static bool lines_of(World *w, Arena *a, const Node *n, const LineList *all, LineList *out) {
    *out = *all;
    out->v = ARENA_NEW(a, NodeLine, all->n);
    out->n = 0;
    for (int k = 0; k < all->n; k++) {
        bool holds = true;
        if (all->v[k].when && !line_holds(w, n, all->v[k].when, &holds)) return false;
        if (!holds) continue;
        out->v[out->n] = all->v[k];
        out->v[out->n++].when = NULL;
    }
    return true;
}

bool node_expand(World *w, Arena *a, NodeId id, Value out[], Error *e) {
    Node n = node_get(w, id);
    if (!n.op->expand)
        return error_set(e, E_INVALID, n.op->name, "this operator is not a composite");
    LineList lines;
    Names names = {.arena = a};
    Value *v;
    if (!lines_of(w, a, &n, expansion_of(w, n.op_index), &lines))
        return error_set(e, E_INVALID, n.op->name, "its expansion has an invalid condition");
    Bindings bound = node_bindings(w, a, &n, &names);
    if (!lines_build(w, a, &lines, &bound, &names, &v, e)) return false;
    if (lines.nout != n.nout)
        return error_set(e, E_INVALID, n.op->name,
                         "its expansion has %d results, but the node has %d", lines.nout, n.nout);
    for (int k = 0; k < n.nout; k++) out[k] = v[k];
    return true;
}

static bool is_composite(const Op *op) { return op->expand && !op->define; }

static bool expand_node(World *w, Arena *a, NodeId id, ValueMap *map, Error *e) {
    Node old = node_get(w, id);
    if (!rebuild_node(w, a, id, map, e)) return false;
    if (!is_composite(old.op)) return true;
    return node_expand(w, a, map_value(map, id), &map->to[id], e);
}

static bool any_composite(World *w, NodeList live) {
    for (int k = 0; k < live.n; k++)
        if (is_composite(node_get(w, live.v[k]).op)) return true;
    return false;
}

static bool expand_once(World *w, Arena *a, NodeList live, Graph *g, ValueMap *map, Error *e) {
    *map = value_map_new(w, a);
    for (int k = 0; k < live.n; k++)
        if (!expand_node(w, a, live.v[k], map, e)) return false;
    *g = mapped_graph(a, g, map);
    return true;
}

/* Makes *first the composition: the first map, then the second. */
static void follow(ValueMap *first, const ValueMap *second) {
    for (uint32_t v = 1; v < first->n; v++) {
        Value next = map_value(second, map_value(first, v));
        if (next != v) first->to[v] = next;
    }
}

static bool is_output(const Graph *g, Value v) {
    for (int k = 0; k < g->nout; k++)
        if (g->out[k] == v) return true;
    return false;
}

/* Makes all results of composites outputs, after those that the graph has. */
static void add_results(World *w, Arena *a, NodeList live, Graph *g) {
    int room = 0, n = g->nout;
    Value *out = NULL;
    ARENA_GROW(a, out, room, n + 1);
    if (n) memcpy(out, g->out, sizeof *out * (size_t)n);
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(w, live.v[k]);
        for (int j = 0; is_composite(node.op) && j < node.nout; j++) {
            if (is_output(g, node.out + (Value)j)) continue;
            ARENA_GROW(a, out, room, n + 1);
            out[n++] = node.out + (Value)j;
        }
    }
    g->out = out, g->nout = n;
}

/* Expands the graph; if `whole`, with all results of each composite. */
static bool expand(World *w, Arena *a, const Graph *g, bool whole, Graph *out, ValueMap *map,
                   Error *e) {
    ValueMap all = {0}, step;
    *out = *g;
    for (int depth = 0;; depth++) {
        const NodeList live = graph_live(w, a, out);
        if (!any_composite(w, live)) break;
        if (whole) add_results(w, a, live, out);
        if (depth == EXPANSION_DEPTH)
            return error_set(e, E_INVALID, "expand",
                             "the expansion of composite operators does not end: they are defined "
                             "by each other");
        if (!expand_once(w, a, live, out, &step, e)) return false;
        if (depth) follow(&all, &step);
        else all = step;
    }
    if (map) *map = all;
    return true;
}

bool graph_expand(World *w, Arena *a, const Graph *g, Graph *out, ValueMap *map, Error *e) {
    return expand(w, a, g, false, out, map, e);
}

bool graph_expand_whole(World *w, Arena *a, const Graph *g, Graph *out, Error *e) {
    return expand(w, a, g, true, out, NULL, e);
}
