/* inline_if.c -- replaces an If whose condition is the same for all inputs by the nodes of the
   branch that it takes, in the bytes of the file. All other bytes stay as they are, and so do the
   nodes of the branch; an Identity gives each result the name it had outside. An If inside that
   branch is dealt with when the new file is read. Invariant: names stay unique. If the branch
   defines a name that anything else defines, too, the If stays. */
#include "graphs/onnx/model.h"
#include "graphs/shapevalue.h"
#include "ops/base/file.h"
#include "ops/core/element.h"
#include <string.h>

typedef struct Inliner {
    Model *m;
    Arena *a;
    const ValueMap *folded;
    Error *error;
    Slice *branch;   /* by node: the subgraph that replaces it; absent: the node stays */
    uint32_t *times; /* by NameId: how many graphs of the model define the name */
    uint32_t room;
    Intern *node_name; /* names of the nodes written so far, and of those that stay */
} Inliner;

static Wire inliner_wire(const Inliner *x, Slice s) { return model_wire(x->m, s, x->error); }

/* The condition, 1 or 0, if it is known, else -1. */
static int condition_value(const Inliner *x, const OnnxNode *n) {
    World *w = x->m->w;
    Type t;
    const void *bytes;
    PolyList list;
    int64_t value;
    if (strcmp(n->type, "If") || n->x.domain.n || n->x.nin != 1 || !n->in[0]) return -1;
    Value v = x->m->name[n->in[0]].value;
    if (!v) return -1;
    if (constant_get(w, map_value(x->folded, v), &t, &bytes) &&
        poly_constant(w, type_count(w, &t), &value) && value == 1)
        return element_integer(t.dtype, bytes, 0) != 0;
    if (value_elements(w, v, &list) && list.n == 1 && poly_constant(w, list.v[0], &value))
        return value != 0;
    return -1;
}

/* ---- names */

static void count_name(void *inliner, Slice text, bool defined) {
    Inliner *x = inliner;
    if (!defined) return;
    NameId id = text.n ? name_id(x->m, text, x->error) : 0;
    ARENA_GROW(x->a, x->times, x->room, id + 1);
    x->times[id]++;
}

static bool is_unique(Inliner *x, Slice name) {
    return x->times[name_id(x->m, name, x->error)] < 2;
}
static bool unique_entries(Inliner *x, const SliceList *list, uint32_t number) {
    bool unique = true;
    for (int k = 0; unique && k < list->n; k++)
        unique = is_unique(x, index_entry_name(inliner_wire(x, list->v[k]), number));
    return unique;
}

/* Whether a branch can replace its If: it defines only names that nothing else defines, and
   contains nothing that the main graph may not. */
static bool unique_names(Inliner *x, Slice graph) {
    GraphIndex g;
    Wire w = inliner_wire(x, graph);
    bool unique = index_graph(x->a, &w, 1, &g) && g.input.n == 0 &&
                  !(x->m->x.ir_version < IR_FREE_INITIALIZERS && g.initializer.n) &&
                  unique_entries(x, &g.initializer, GRAPH_INITIALIZER) &&
                  unique_entries(x, &g.sparse, GRAPH_SPARSE_INITIALIZER);
    for (int k = 0; unique && k < g.node.n; k++) {
        NodeIndex n;
        Wire node = inliner_wire(x, g.node.v[k]);
        unique = index_node(x->a, &node, &n);
        for (int j = 0; unique && j < n.nout; j++) unique = !n.out[j].n || is_unique(x, n.out[j]);
    }
    return unique;
}

/* ---- choosing */

/* Counts in how many graphs each name will be defined: branches that are not taken do not count. */
static bool count_names(Inliner *x) {
    Model *m = x->m;
    if (x->room) memset(x->times, 0, sizeof *x->times * x->room);
    if (!index_names(x->a, inliner_wire(x, m->x.graph), 0, false, count_name, x)) return false;
    for (int i = 0; i < m->nnode; i++)
        for (int k = 0; k < m->node[i].x.nattr; k++)
            for (int j = 0; j < m->node[i].x.attr[k].graph.n; j++) {
                Slice graph = m->node[i].x.attr[k].graph.v[j];
                if (x->branch[i].at && x->branch[i].at != graph.at) continue;
                if (!index_names(x->a, inliner_wire(x, graph), 1, true, count_name, x))
                    return false;
            }
    return true;
}

static void choose_branch(Inliner *x, int i, bool then) {
    GraphIndex g;
    Slice graph = index_subgraph(&x->m->node[i].x, then ? "then_branch" : "else_branch");
    Wire w = inliner_wire(x, graph);
    if (graph.at && index_graph(x->a, &w, 1, &g) && g.output.n == x->m->node[i].x.nout)
        x->branch[i] = graph;
}
static void choose_decided(Inliner *x) {
    for (int i = 0; i < x->m->nnode; i++) {
        int taken = condition_value(x, &x->m->node[i]);
        if (taken >= 0) choose_branch(x, i, taken);
    }
}
/* Returns how many of the chosen branches can replace their If; the others are dropped. An If whose
   branch is dropped keeps both, whose names count from then on. */
static int count_chosen(Inliner *x) {
    int n, dropped;
    do {
        n = dropped = 0;
        if (!count_names(x)) return 0;
        for (int i = 0; i < x->m->nnode; i++) {
            if (!x->branch[i].at) continue;
            if (unique_names(x, x->branch[i])) n++;
            else x->branch[i] = (Slice){0}, dropped++;
        }
    } while (dropped);
    return n;
}

/* ---- writing */

static void put_identity(Inliner *x, const OnnxNode *n, int output, Slice from, Pieces *out) {
    const char *name =
        output && n->name[0]
            ? index_free_name(x->a, x->node_name, arena_format(x->a, "%s/%d", n->name, output))
            : n->name;
    if (n->x.out[output].n) index_put_identity(x->a, from, n->x.out[output], name, out);
}

/* Writes a node of a branch. Names of nodes have no meaning, but ONNX Runtime wants them to be
   unique within a graph, so a name that is taken is dropped. */
static bool put_node(Inliner *x, const Field *f, Pieces *out) {
    Wire w = inliner_wire(x, f->bytes);
    Pieces node = pieces_new(x->a);
    for (Field g; wire_next(&w, &g);) {
        const bool named = g.number == NODE_NAME && g.bytes.n;
        if (named && intern_find(x->node_name, g.bytes.at, g.bytes.n)) continue;
        if (named) intern_put(x->node_name, g.bytes.at, g.bytes.n);
        pieces_add(&node, g.whole.at, g.whole.n);
    }
    wire_put_pieces(out, GRAPH_NODE, &node);
    return !w.failed;
}

static bool put_branch(Inliner *x, int i, Pieces *nodes, Pieces *rest) {
    int output = 0;
    Wire w = inliner_wire(x, x->branch[i]);
    for (Field f; wire_next(&w, &f);) {
        bool listed = f.number == GRAPH_INITIALIZER || f.number == GRAPH_VALUE_INFO ||
                      f.number == GRAPH_QUANTIZATION_ANNOTATION ||
                      f.number == GRAPH_SPARSE_INITIALIZER;
        if (f.number == GRAPH_NODE && !put_node(x, &f, nodes)) return false;
        if (listed) pieces_add(rest, f.whole.at, f.whole.n);
    }
    for (w = inliner_wire(x, x->branch[i]);;) {
        Field f;
        if (!wire_next(&w, &f)) return !w.failed;
        if (f.number == GRAPH_OUTPUT)
            put_identity(x, &x->m->node[i], output++,
                         index_entry_name(inliner_wire(x, f.bytes), GRAPH_OUTPUT), nodes);
    }
}

static bool put_nodes(Inliner *x, Pieces *out, Pieces *rest) {
    for (int i = 0; i < x->m->nnode; i++) {
        const Slice node = x->m->x.g.node.v[i];
        if (!x->branch[i].at) wire_put_slice(out, GRAPH_NODE, node.at, node.n);
        else if (!put_branch(x, i, out, rest)) return false;
    }
    return true;
}

static bool put_inlined_graph(Inliner *x, Pieces *out) {
    bool nodes = false;
    Pieces rest = pieces_new(x->a);
    for (int k = 0; k < x->m->nnode; k++) {
        const char *name = x->m->node[k].name;
        if (*name) intern_put(x->node_name, name, strlen(name));
    }
    Wire w = inliner_wire(x, x->m->x.graph);
    for (Field f; wire_next(&w, &f);) {
        if (f.number != GRAPH_NODE) pieces_add(out, f.whole.at, f.whole.n);
        else if (!nodes && !put_nodes(x, out, &rest)) return false;
        nodes |= f.number == GRAPH_NODE;
    }
    pieces_append(out, &rest);
    return !w.failed;
}

bool inline_branch(Model *m, const ValueMap *folded, Arena *a, int node, bool then, Pieces *file) {
    Error e = {0};
    Inliner x = {.m = m,
                 .a = a,
                 .folded = folded,
                 .error = &e,
                 .branch = ARENA_NEW(a, Slice, m->nnode),
                 .node_name = intern_new(a)};
    Pieces graph = pieces_new(a);
    *file = pieces_new(a);
    if (node < 0) choose_decided(&x);
    else choose_branch(&x, node, then);
    const bool put = count_chosen(&x) && !e.kind && put_inlined_graph(&x, &graph);
    intern_free(x.node_name);
    if (!put) return false;
    index_put_graph(&m->x, &graph, file);
    return true;
}
