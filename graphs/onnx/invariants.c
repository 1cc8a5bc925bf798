/* invariants.c -- finds the nodes of the body of a Loop or Scan that compute the same value in
   every iteration and may be computed once, before the loop (loop-invariant code motion: Aho, Lam,
   Sethi, Ullman, Compilers, 2007, section 9.5).

   A value is invariant if it is a constant, a value of the surrounding graph, a state that the body
   returns unchanged, or computed from such values alone. Since a loop may have no iteration at all,
   a moved node may run where it did not run before, so only nodes that cannot fail are moved. To
   decide this, the node is built on the values outside. It must have a definition; what it requires
   of sizes must follow from what is known about the surrounding graph; no element of its inputs may
   be an index or a divisor; and where runtimes refuse empty tensors, no tensor may be empty. */
#include "graphs/needs.h"
#include "graphs/onnx/motion.h"
#include "graphs/rewrite.h"
#include "graphs/shapevalue.h"
#include <string.h>

enum { HEAVY = 256 }; /* elements read and written: a node with fewer takes no measurable time */

typedef struct InvariantSearch {
    Model *m;
    World *w;
    Arena *a;
    const MotionLimits *limits;
    Motion *x;
} InvariantSearch;

/* ---- states */

/* The states of a body: their number, and the indices of the first input and the first output that
   are states. */
typedef struct States {
    int n, in, out;
} States;

static bool find_states(Import *s, States *out) {
    OnnxAttr t;
    const OnnxNode *n = s->n;
    if (n->x.domain.n) return false;
    if (!strcmp(n->type, "Loop")) {
        *out = (States){n->x.nin > 2 ? n->x.nin - 2 : 0, 2, 1};
        return true;
    }
    if (strcmp(n->type, "Scan") || n->version < 9 || !onnx_attr(s, "num_scan_inputs", &t) ||
        t.i < 1 || t.i > n->x.nin)
        return false;
    *out = (States){n->x.nin - (int)t.i, 0, 0};
    return true;
}

/* Whether the node returns this value unchanged if it is its input. */
static bool passes(const InvariantSearch *s, const OnnxNode *read, Value v) {
    OnnxNode n = *read;
    Value out;
    const char *opaque;
    if (n.x.nin != 1 || n.x.nout != 1 || index_has_subgraph(&n.x)) return false;
    normalize_node(s->m, &n, &v, &out, &opaque);
    return !opaque && out == v;
}

/* Follows nodes that pass the value v on unchanged, from the name `id` in the body up to the first
   name that it has. */
static NameId passed_on(const InvariantSearch *s, NameId id, Value v) {
    const Body *b = &s->x->body;
    for (int k = b->g.node.n; k-- > 0;)
        if (b->node[k].x.nout == 1 && b->node[k].out[0] == id && passes(s, &b->node[k], v))
            id = b->node[k].in[0];
    return id;
}

static void bind_states(InvariantSearch *s, const States *states) {
    const OnnxNode *n = s->x->n;
    const Body *b = &s->x->body;
    for (int k = 0; k < states->n; k++) {
        const NameId start = n->in[states->in + k], id = b->in[states->in + k];
        const Value v = s->m->name[start].value;
        if (!start || !v || passed_on(s, b->out[states->out + k], v) != id) continue;
        MotionName *name = &s->x->name[id];
        name->value = v, name->outside = s->m->name[start].text;
        name->constant =
            !s->m->external && body_known_state(s->m, s->a, n, &b->g, states->in + k).at;
    }
}

/* ---- nodes that cannot fail */

static bool holds(const InvariantSearch *s, Poly p, bool zero) {
    return facts_entail(s->limits->facts, (Lit){p, zero});
}
static bool is_positive(const InvariantSearch *s, Poly p) {
    return holds(s, poly_sub(s->w, p, poly_int(s->w, 1)), false);
}

static bool needs_hold(const InvariantSearch *s, const Graph *g) {
    const LitList needs = graph_needs(s->w, s->a, g);
    for (int k = 0; k < needs.n; k++)
        if (!holds(s, needs.v[k].p, needs.v[k].eq)) return false;
    return true;
}

/* Whether an integer input contains a negative number, such as the -1 of a size that Reshape is to
   infer. */
static bool leaves_a_size(const InvariantSearch *s, int n, const Value in[]) {
    PolyList list;
    int64_t number;
    for (int k = 0; k < n; k++) {
        if (!in[k] || dtype_class(value_type(s->w, in[k])->dtype) != 'I' ||
            !value_elements(s->w, in[k], &list))
            continue;
        for (int j = 0; j < list.n; j++)
            if (poly_constant(s->w, list.v[j], &number) && number < 0) return true;
    }
    return false;
}

/* Reshape infers a size by division, so if it does (`open`), at most one size may possibly be 0. */
static bool reshape_fits(const InvariantSearch *s, const Type *to, bool open) {
    int unsure = 0;
    for (int k = 0; k < to->dim.n; k++) unsure += !is_positive(s, to->dim.v[k]);
    return !open || unsure < 2;
}

/* Whether no size of an input that is missing from the output can be 0. Over such axes the node
   sums or slides a window, and a runtime may refuse to do that with an empty tensor. */
static bool never_empty(const InvariantSearch *s, const Node *n) {
    const Type *to = value_type(s->w, n->out);
    for (int k = 0; k < n->nin; k++) {
        if (!n->in[k]) continue;
        const Type *from = value_type(s->w, n->in[k]);
        for (int i = 0; i < from->dim.n; i++) {
            bool passed = false;
            for (int j = 0; j < to->dim.n; j++) passed |= to->dim.v[j] == from->dim.v[i];
            if (!passed && !is_positive(s, from->dim.v[i])) return false;
        }
    }
    return true;
}

/* Whether the node passes the elements of input 0 on in the order in which they lie in memory. */
static bool reshapes(const InvariantSearch *s, const Node *n) {
    return n->op == &op_reshape || sig_kind(s->w, n->sig, 0) == SIG_RESHAPE;
}

/* Whether this one node cannot fail. */
static bool node_safe(const InvariantSearch *s, const Node *n, bool open) {
    Poly low, high;
    if (n->op->flags & OP_RANDOM) return false;
    if (!n->nin) return true;
    const SigKind kind = sig_kind(s->w, n->sig, 0);
    if (!sig_define(s->w, n->sig, 0)) return false;
    if (n->op->flags & OP_BY_DATA && kind != SIG_ELEMENTWISE) return false;
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] && sig_domain(s->w, n->sig, k, &low, &high)) return false;
    if (reshapes(s, n)) return reshape_fits(s, value_type(s->w, n->out), open);
    return kind == SIG_VIEW || kind == SIG_ELEMENTWISE || never_empty(s, n);
}

/* ---- one node */

/* What a node of the body becomes, given the values of its inputs outside, with composites
   expanded. */
typedef struct Made {
    int nin;
    const Value *in; /* by input of the ONNX node; 0 if it is left out */
    Graph g;
    NodeList live;
} Made;

static bool expand_made(const InvariantSearch *s, const OnnxNode *n, const Value in[],
                        const Value out[], Made *x) {
    Value *from = ARENA_NEW(s->a, Value, n->x.nin), *to = ARENA_NEW(s->a, Value, n->x.nout);
    Graph g = {.in = from, .out = to};
    Error e = {0};
    for (int k = 0; k < n->x.nin; k++)
        if (in[k]) from[g.nin++] = in[k];
    for (int k = 0; k < n->x.nout; k++)
        if (out[k]) to[g.nout++] = out[k];
    if (!g.nout || !needs_hold(s, &g) || !graph_expand(s->w, s->a, &g, &x->g, NULL, &e))
        return false;
    x->nin = n->x.nin, x->in = in;
    x->live = graph_live(s->w, s->a, &x->g);
    return needs_hold(s, &x->g);
}

static bool is_given(const Made *x, Value v) {
    for (int k = 0; k < x->nin; k++)
        if (x->in[k] == v) return true;
    return false;
}

static bool made_safe(const InvariantSearch *s, const Made *x) {
    const bool open = leaves_a_size(s, x->nin, x->in);
    for (int k = 0; k < x->live.n; k++) {
        const Node n = node_get(s->w, x->live.v[k]);
        if (!is_given(x, n.out) && !node_safe(s, &n, open)) return false;
    }
    return true;
}

/* Whether the inputs and outputs have at least HEAVY elements together; a size that depends on data
   counts as large. */
static bool is_large(const InvariantSearch *s, const Made *x) {
    int64_t sum = 0, n;
    for (int k = 0; k < x->nin + x->g.nout; k++) {
        const Value v = k < x->nin ? x->in[k] : x->g.out[k - x->nin];
        if (!v) continue;
        if (!poly_eval(s->w, type_count(s->w, value_type(s->w, v)), s->limits->sizes, &n))
            return true;
        sum += n < HEAVY ? n : HEAVY;
    }
    return sum >= HEAVY;
}

/* Whether the node is worth moving: it is large, and does more than pass its elements on in memory
   order. */
static bool made_heavy(const InvariantSearch *s, const Made *x) {
    bool computes = false;
    for (int k = 0; k < x->live.n; k++) {
        const Node n = node_get(s->w, x->live.v[k]);
        computes |= n.nin && !is_given(x, n.out) && !reshapes(s, &n);
    }
    return computes && is_large(s, x);
}

/* Finds the values of the node's inputs, and whether all of them are constant. Returns false if one
   may change between iterations. */
static bool node_inputs(const InvariantSearch *s, const OnnxNode *n, Value in[], bool *constant) {
    *constant = true;
    for (int k = 0; k < n->x.nin; k++) {
        const NameId id = n->in[k];
        if (!id) continue;
        const MotionName *local = id < s->x->nname && s->x->name[id].local ? &s->x->name[id] : NULL;
        in[k] = local ? local->value : s->m->name[id].value;
        if (!in[k] || !value_type(s->w, in[k])->known) return false;
        *constant &=
            local ? local->constant
                  : constants_hold(&s->limits->constants, in[k]) || constant_blob(s->w, in[k]);
    }
    return true;
}

static void classify_node(InvariantSearch *s, int i) {
    OnnxNode n = s->x->body.node[i];
    MotionNode *node = &s->x->node[i];
    Value *in = ARENA_NEW(s->a, Value, n.x.nin), *out = ARENA_NEW(s->a, Value, n.x.nout);
    const char *opaque;
    Made made;
    if (index_has_subgraph(&n.x) || !node_inputs(s, &n, in, &node->constant)) return;
    for (int k = 0; k < n.x.nout; k++)
        if (n.out[k] && s->m->name[n.out[k]].pinned) return;
    normalize_node(s->m, &n, in, out, &opaque);
    for (int k = 0; k < n.x.nout; k++)
        if (n.out[k] && !out[k]) return;
    if (opaque || !expand_made(s, &n, in, out, &made) || !made_safe(s, &made)) return;
    node->heavy = !node->constant && made_heavy(s, &made);
    s->x->nheavy += node->heavy;
    for (int k = 0; k < n.x.nout; k++)
        if (n.out[k])
            s->x->name[n.out[k]].value = out[k], s->x->name[n.out[k]].constant = node->constant;
}

/* ---- choosing what to move */

/* Takes the heavy nodes, and the nodes that these need. */
static void take_nodes(Motion *x) {
    for (int i = x->body.g.node.n; i-- > 0;) {
        const OnnxNode *n = &x->body.node[i];
        MotionNode *node = &x->node[i];
        node->taken = node->heavy;
        for (int k = 0; k < n->x.nout; k++) node->taken |= n->out[k] && x->name[n->out[k]].taken;
        for (int k = 0; node->taken && k < n->x.nin; k++) x->name[n->in[k]].taken |= n->in[k] != 0;
    }
}

/* Decides which nodes stay in the body. A light node whose result the body reads stays, even if it
   is taken too, since reading a value from outside is not faster than computing it; what it reads
   is then also read in the body. */
static void leave_nodes(Motion *x) {
    for (int k = 0; k < x->body.g.output.n; k++)
        x->name[x->body.out[k]].output = x->name[x->body.out[k]].read = true;
    for (int i = x->body.g.node.n; i-- > 0;) {
        const OnnxNode *n = &x->body.node[i];
        MotionNode *node = &x->node[i];
        node->stays = !node->taken;
        for (int k = 0; k < n->x.nout; k++)
            node->stays |= !node->heavy && n->out[k] && x->name[n->out[k]].read;
        for (int k = 0; node->stays && k < node_input_count(n); k++)
            x->name[node_input(n, k)].read = true;
    }
}

static void define(Motion *x, int n, const NameId id[]) {
    for (int k = 0; k < n; k++) x->name[id[k]].local = id[k] != 0;
}

static bool read_body(InvariantSearch *s, Import *import) {
    Motion *x = s->x;
    Body *b = &x->body;
    States states;
    if (!find_states(import, &states) || !body_read(import, "body", b) ||
        b->g.input.n < states.in + states.n || b->g.output.n < states.out + states.n)
        return false;
    x->nname = intern_count(s->m->name_numbers) + 1;
    x->name = ARENA_NEW(s->a, MotionName, x->nname);
    x->node = ARENA_NEW(s->a, MotionNode, b->g.node.n);
    define(x, b->g.input.n, b->in), define(x, b->g.initializer.n, b->weight);
    for (int k = 0; k < b->g.node.n; k++) define(x, b->node[k].x.nout, b->node[k].out);
    bind_states(s, &states);
    for (int k = 0; k < b->g.initializer.n; k++)
        x->name[b->weight[k]].value = b->content[k], x->name[b->weight[k]].constant = true;
    return true;
}

bool motion_find(Model *m, const MotionLimits *limits, int node, Motion *x) {
    InvariantSearch s = {.m = m, .w = m->w, .a = m->w->arena, .limits = limits, .x = x};
    *x = (Motion){.m = m, .n = &m->node[node]};
    Import import = {.m = m, .w = m->w, .n = &m->node[node]};
    if (!read_body(&s, &import)) return false;
    for (int i = 0; i < x->body.g.node.n; i++) classify_node(&s, i);
    if (!x->nheavy) return false;
    take_nodes(x);
    leave_nodes(x);
    return true;
}
