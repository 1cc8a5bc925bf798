/* graph_text.c -- parses and prints whole graphs. Printing is canonical: nodes are in post-order
   from the outputs, with inputs from left to right, so that the text does not depend on what else
   the World holds or on the order in which the graph was made. Results are numbered %1 %2 .. in
   that order, starting after the greatest number that is the name of an input. */
#include "graphs/text_constant.h"
#include <stdlib.h>
#include <string.h>

bool graph_parse(World *w, Arena *a, Scan *s, const char **name, Graph *g, Names *names, Error *e) {
    char text[128] = "";
    Value *in, *out;
    Names own = {.arena = a};
    if (!names) names = &own;
    if (!s->error) s->error = e;
    if (!scan_word(s, "graph")) return scan_fail(s, s->at, "expected graph NAME");
    if (!scan_name(s, text, sizeof text))
        return scan_fail(s, s->at, "expected the name of the graph");
    if (name) *name = arena_string(a, text, strlen(text));
    if (!graph_parse_inputs(w, a, s, names, &in, &g->nin)) return false;
    if (!scan_word(s, "body")) return scan_fail(s, s->at, "expected an input %%x : TYPE, or body");
    if (!graph_parse_nodes(w, a, s, names, &out, &g->nout, e)) return false;
    g->in = in;
    g->out = out;
    return true;
}

/* ---- order of printing */

typedef struct Order {
    World *w;
    NodeList list;
    /* Indexed by value - least: the number under which the value is printed. */
    uint32_t *number;
    uint32_t least;
    uint32_t next; /* the last number given to a value */
} Order;

typedef struct Frame {
    NodeId node;
    int next; /* the input to be visited next */
} Frame;

/* A depth-first walk with an explicit stack, because models are deep. */
static void post_order(World *w, Arena *a, const Graph *g, NodeList live, NodeList *out) {
    Frame *stack = ARENA_NEW(a, Frame, live.n + 1);
    /* graph_live has just marked the graph's nodes with live_stamp. */
    uint32_t live_stamp = graph_tables(w)->stamp, stamp = ++graph_tables(w)->stamp;
    out->v = ARENA_NEW(a, NodeId, live.n);
    out->n = 0;
    for (int k = 0; k < g->nout; k++) {
        int depth = 0;
        NodeId root = value_node(w, g->out[k]);
        uint32_t *seen = column_at(w, &graph_tables(w)->seen, root);
        if (*seen == live_stamp) stack[depth++] = (Frame){root, 0}, *seen = stamp;
        while (depth) {
            Frame *f = &stack[depth - 1];
            Node n = node_get(w, f->node);
            if (f->next == n.nin) {
                out->v[out->n++] = f->node;
                depth--;
                continue;
            }
            Value v = n.in[f->next++];
            NodeId id = v ? value_node(w, v) : 0;
            if (!id || *(seen = column_at(w, &graph_tables(w)->seen, id)) != live_stamp) continue;
            *seen = stamp;
            stack[depth++] = (Frame){id, 0};
        }
    }
}

static uint32_t greatest_number(World *w, NodeList live) {
    unsigned long most = 0;
    for (int k = 0; k < live.n; k++) {
        const char *name = input_name(w, live.v[k]);
        char *end;
        unsigned long n = name ? strtoul(name, &end, 10) : 0;
        if (name && *name && !*end && n > most && n < 1000000000) most = n;
    }
    return (uint32_t)most;
}

static Order order_new(World *w, Arena *a, const Graph *g) {
    NodeList live = graph_live(w, a, g);
    Order o = {.w = w, .next = greatest_number(w, live)};
    Value past;
    graph_span(w, g, live, &o.least, &past);
    post_order(w, a, g, live, &o.list);
    o.number = ARENA_NEW(a, uint32_t, past - o.least);
    for (int k = 0; k < g->nin; k++)
        if (!input_name(w, g->in[k])) o.number[g->in[k] - o.least] = ++o.next;
    for (int k = 0; k < o.list.n; k++) {
        Node n = node_get(w, o.list.v[k]);
        if (input_name(w, n.out)) continue;
        for (int port = 0; port < n.nout; port++)
            o.number[n.out + (Value)port - o.least] = ++o.next;
    }
    return o;
}

static void print_value(const Order *o, Value v, Text *t) {
    const char *name = v ? input_name(o->w, v) : NULL;
    if (!v) text_add(t, "_");
    else if (name) value_print(name, t);
    else text_add(t, "%%%u", o->number[v - o->least]);
}

/* ---- lines */

static void print_attrs(World *w, const Node *n, Text *t) {
    Attr attr[ATTRS_MAX], init;
    sig_attr(w, n->sig, attr);
    int rank = n->nin && n->in[0] ? value_type(w, n->in[0])->dim.n : 0;
    for (int k = 0; k < attrs_count(n->op->attrs); k++) {
        const AttrDef *def = &n->op->attrs[k];
        if (attr_default(w, def, rank, &init) && attr_equal(def, &init, &attr[k])) continue;
        text_add(t, " %s=", def->name);
        size_t size;
        const void *bytes = def->kind == A_BLOB ? blob_get(w, attr[k].blob, &size) : NULL;
        if (bytes) hex_print(bytes, size, t);
        else if (def->kind == A_BLOB) text_add(t, "hex\"\"");
        else attr_print(w, def, &attr[k], t);
    }
}

static void print_node(const Order *o, NodeId id, Text *t) {
    Node n = node_get(o->w, id);
    int nin = n.nin;
    text_add(t, " ");
    for (int port = 0; port < n.nout; port++)
        text_add(t, " "), print_value(o, n.out + (Value)port, t);
    text_add(t, " = %s", n.op->name);
    if (constant_get(o->w, n.out, NULL, NULL)) text_add(t, " "), constant_print(o->w, n.out, t);
    else {
        while (nin && !n.in[nin - 1]) nin--;
        for (int k = 0; k < nin; k++) text_add(t, " "), print_value(o, n.in[k], t);
        print_attrs(o->w, &n, t);
    }
    text_add(t, "\n");
}

void graph_print(World *w, const char *name, const Graph *g, Text *t) {
    Order o = order_new(w, t->arena, g);
    text_add(t, "graph %s\n", name);
    for (int k = 0; k < g->nin; k++) {
        text_add(t, "  ");
        print_value(&o, g->in[k], t);
        text_add(t, " : ");
        type_print(w, value_type(w, g->in[k]), t);
        text_add(t, "\n");
    }
    text_add(t, "body\n");
    for (int k = 0; k < o.list.n; k++)
        if (!input_name(w, o.list.v[k])) print_node(&o, o.list.v[k], t);
    text_add(t, "  out");
    for (int k = 0; k < g->nout; k++) text_add(t, " "), print_value(&o, g->out[k], t);
    text_add(t, "\n");
}

/* ---- Graphviz */

static void dot_text(const char *s, Text *t) {
    for (; *s; s++) text_add(t, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void dot_node(const Order *o, NodeId id, Text *t) {
    World *w = o->w;
    Node n = node_get(w, id);
    Text label = text_new(t->arena);
    const char *name = input_name(w, n.out);
    bool constant = constant_get(w, n.out, NULL, NULL);
    text_add(&label, "%s", name ? name : n.op->name);
    if (name || constant) text_add(&label, " "), type_print(w, value_type(w, n.out), &label);
    else print_attrs(w, &n, &label);
    text_add(t, "  n%u [shape=%s, label=\"", n.out, name || constant ? "plaintext" : "box");
    dot_text(label.data, t);
    text_add(t, "\"];\n");
    for (int k = 0; k < n.nin; k++) {
        if (!n.in[k]) continue;
        Text type = text_new(t->arena);
        type_print(w, value_type(w, n.in[k]), &type);
        text_add(t, "  n%u -> n%u [label=\"", value_node(w, n.in[k]), n.out);
        dot_text(type.data, t);
        text_add(t, "\"];\n");
    }
}

void graph_dot(World *w, const char *name, const Graph *g, Text *t) {
    Order o = order_new(w, t->arena, g);
    text_add(t, "digraph \"");
    dot_text(name, t);
    text_add(t, "\" {\n");
    for (int k = 0; k < o.list.n; k++) dot_node(&o, o.list.v[k], t);
    for (int k = 0; k < g->nout; k++)
        text_add(t, "  out%d [shape=plaintext];\n  n%u -> out%d;\n", k, value_node(w, g->out[k]),
                 k);
    text_add(t, "}\n");
}
