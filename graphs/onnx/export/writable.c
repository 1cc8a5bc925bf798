/* writable.c -- says whether a graph, a node or an operator can be written in the model's operator
   set, so that the search knows this before it chooses a graph. It finds out by writing to memory,
   as write.c does. */
#include "graphs/onnx/export/export.h"

bool model_writable(Model *m, const ModelWrite *x, const char **why) {
    Pieces file;
    Error e = {0};
    Arena *a = arena_new(arena_escape(m->w->arena), 0);
    bool ok = model_pieces(m, x, a, &file, &e);
    *why = ok ? NULL : arena_format(m->w->arena, "%s", e.reason);
    arena_free(a);
    return ok;
}

static bool any_value(void *user, Value v) { return (void)user, (void)v, true; }
static bool no_value(void *user, Value v) { return (void)user, (void)v, false; }

static bool expansion_writable(Model *m, const Node *n, const char **why) {
    World *w = m->w;
    ArenaMark mark = arena_mark(w->scratch);
    Error ignored = {0};
    Value *out = ARENA_NEW(w->scratch, Value, n->nout);
    bool good = node_expand(w, w->scratch, n->out, out, &ignored);
    if (good) {
        const Graph g = {n->nin, n->nout, n->in, out};
        const NodeList live = graph_live(w, w->scratch, &g);
        for (int k = 0; k < live.n && good; k++) good = model_node_writable(m, live.v[k], why);
    }
    arena_reset(w->scratch, mark);
    return good;
}

bool model_node_writable(Model *m, NodeId id, const char **why) {
    const Node n = node_get(m->w, id);
    OnnxNodeDraft e;
    *why = NULL;
    if (constant_get(m->w, n.out, NULL, NULL) || input_name(m->w, n.out)) return true;
    return emit_node(m, id, &(EmitContext){no_value, any_value, NULL}, &e, why) ||
           (n.op->expand && expansion_writable(m, &n, why));
}

/* Whether the operator exists only in domains other than ONNX's own. If these must not be written,
   no rule should make the operator, not even to be expanded. */
static bool only_in_domains(const Op *op) {
    bool all = op->onnx && op->onnx->type;
    for (const OnnxMap *e = op->onnx; e && e->type; e++) all &= *e->domain != 0;
    return all;
}

bool model_exportable(Model *m, const Op *op, const char **why) {
    bool ok = emit_possible(m, op) || (op->expand && !only_in_domains(op)) || op == &op_constant ||
              op == &op_input || op == &op_opaque;
    *why = ok ? NULL
              : "the model's operator set lacks both this operator and the operators of its "
                "definition";
    return ok;
}
