/* part_text.c -- prints a generalized part as text that does not depend on where it was found.
   Inputs have the order in which a walk from the outputs meets them, and sizes are named by letters
   in order of occurrence. */
#include "generator/discover/part_text.h"
#include "generator/lift_inner.h"
#include "graphs/graph_text.h"
#include "graphs/resize.h"

/* The nodes of a part in post-order. A part has at most 16 nodes and few inputs (ask.c, general.c),
   so it fits. */
typedef struct PostOrder {
    World *w;
    int n;
    NodeId met[64];
} PostOrder;
enum { NODES_MOST = sizeof((PostOrder *)NULL)->met / sizeof(NodeId) };
static void post_order(PostOrder *x, Value v) {
    NodeId id = value_node(x->w, v);
    Node n = node_get(x->w, id);
    for (int k = 0; k < x->n; k++)
        if (x->met[k] == id) return;
    for (int k = 0; k < n.nin && !input_name(x->w, n.out); k++)
        if (n.in[k]) post_order(x, n.in[k]);
    if (x->n < NODES_MOST) x->met[x->n++] = id;
}

typedef struct LetterNaming {
    World *w;
    Arena *a;
    int n;
    Symbol from[LIFT_SYMBOLS]; /* the sizes of the part */
    Poly to[LIFT_SYMBOLS];     /* the letters for them */
    Text *at;                  /* receives their values as "a=3 b=4" */
    Sizes values;
} LetterNaming;
static void name_sizes(LetterNaming *x, Poly p) {
    World *w = x->w;
    Monomial m;
    for (PolyScan s = poly_scan(w, p); poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolDef d = symbol_def(w, m.symbol[k]);
            for (uint32_t j = 0; j < d.narg; j++) name_sizes(x, d.arg[j]);
            int j = 0;
            while (j < x->n && x->from[j] != m.symbol[k]) j++;
            if (j < x->n || d.kind != SYM_NAMED || x->n == LIFT_SYMBOLS) continue;
            const char *name = x->n < 26 ? arena_format(x->a, "%c", 'a' + x->n)
                                         : arena_format(x->a, "%c%d", 'a' + x->n % 26, x->n / 26);
            text_add(x->at, "%s%s=%lld", x->n ? " " : "", name,
                     (long long)x->values.value[m.symbol[k]]);
            x->from[x->n] = m.symbol[k];
            x->to[x->n++] = poly_named(w, name);
        }
}

bool part_print(World *w, Arena *a, const Graph *y, Sizes values, Text *graph, Text *at) {
    PostOrder x = {.w = w};
    LetterNaming names = {.w = w, .a = a, .at = at, .values = values};
    Attr attr[ATTRS_MAX];
    Value *in = ARENA_NEW(a, Value, y->nin);
    Graph named, ordered = {y->nin, y->nout, in, y->out};
    int n = 0;
    Error ignored = {0};
    for (int k = 0; k < y->nout; k++) post_order(&x, y->out[k]);
    for (int k = 0; k < x.n; k++)
        for (int j = 0; j < y->nin; j++)
            if (y->in[j] == x.met[k]) in[n++] = y->in[j];
    if (n != y->nin) return false;
    for (int k = 0; k < n; k++)
        for (int d = 0; d < value_type(w, in[k])->dim.n; d++)
            name_sizes(&names, value_type(w, in[k])->dim.v[d]);
    for (int k = 0; k < x.n; k++) {
        Node node = node_get(w, x.met[k]);
        if (input_name(w, node.out)) continue;
        sig_attr(w, node.sig, attr);
        for (int j = 0; j < attrs_count(node.op->attrs); j++)
            for (int i = 0; i < attr[j].ints.n; i++) name_sizes(&names, attr[j].ints.v[i]);
    }
    if (!graph_resize(w, a, &ordered, (NewSizes){names.n, names.from, names.to}, &named, &ignored))
        return false;
    graph_print(w, "q", &named, graph);
    return true;
}

bool part_order(World *w, const Graph *y, int rank[]) {
    PostOrder x = {.w = w};
    int n = 0;
    for (int k = 0; k < y->nout; k++) post_order(&x, y->out[k]);
    for (int k = 0; k < x.n; k++)
        for (int j = 0; j < y->nin; j++)
            if (y->in[j] == x.met[k]) rank[j] = ++n;
    return n == y->nin;
}
