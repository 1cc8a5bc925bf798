/* export_graph.c -- writes a graph as an ONNX model of its own, with the writer of optimized
   models: a model with one unknown node between inputs and outputs is made, and that node is
   replaced by the graph. */
#include "graphs/onnx/onnx.h"
#include "graphs/onnx/file/tensor.h"
#include "rules/export.h"
#include <string.h>

enum { IR_VERSION = 12 };
typedef struct RuleSide {
    World *w;
    Arena *arena;
    int opset;
} RuleSide;

static void put_message(Text *t, uint32_t number, const Text *inner) {
    wire_put_bytes(t, number, inner->data ? inner->data : "", inner->size);
}
static void put_text(Text *t, uint32_t number, const char *s) {
    wire_put_bytes(t, number, s, strlen(s));
}

/* Writes the declaration of a value, whose sizes must be numbers. */
static void put_value(const RuleSide *o, Text *graph, uint32_t number, const char *name,
                      const Type *t) {
    Text info = text_new(o->arena);
    int64_t dim[RANK_MAX] = {0};
    for (int k = 0; k < t->dim.n; k++) poly_constant(o->w, t->dim.v[k], &dim[k]);
    value_info_put(o->arena, &info, name, t->dtype, t->dim.n, dim, NULL);
    put_message(graph, number, &info);
}

/* A name that no input has. */
static const char *result_name(const RuleSide *o, const Graph *g, int k) {
    const char *name = arena_format(o->arena, "result_%d", k);
    for (int j = 0; j < g->nin; j++)
        if (!strcmp(input_name(o->w, g->in[j]), name))
            name = arena_format(o->arena, "%s_", name), j = -1;
    return name;
}

static Text frame(const RuleSide *o, const Graph *g, const char *name) {
    Text node = text_new(o->arena), graph = text_new(o->arena), opset = text_new(o->arena),
         model = text_new(o->arena);
    for (int k = 0; k < g->nin; k++) put_text(&node, NODE_INPUT, input_name(o->w, g->in[k]));
    for (int k = 0; k < g->nout; k++) put_text(&node, NODE_OUTPUT, result_name(o, g, k));
    put_text(&node, NODE_OP_TYPE, "SideOfARule");
    put_message(&graph, GRAPH_NODE, &node);
    put_text(&graph, GRAPH_NAME, name);
    for (int k = 0; k < g->nin; k++)
        put_value(o, &graph, GRAPH_INPUT, input_name(o->w, g->in[k]), value_type(o->w, g->in[k]));
    for (int k = 0; k < g->nout; k++)
        put_value(o, &graph, GRAPH_OUTPUT, result_name(o, g, k), value_type(o->w, g->out[k]));
    wire_put_int(&model, MODEL_IR_VERSION, IR_VERSION);
    put_text(&model, MODEL_PRODUCER_NAME, "isomer");
    put_message(&model, MODEL_GRAPH, &graph);
    wire_put_int(&opset, OPERATOR_SET_ID_VERSION, (uint64_t)o->opset);
    put_message(&model, MODEL_OPSET_IMPORT, &opset);
    return model;
}

bool export_graph(World *w, Arena *a, const Graph *g, GraphFile file, const char **why, Error *e) {
    Text bytes = frame(&(RuleSide){w, a, file.opset}, g, file.name);
    OpenOptions open = {.bytes = bytes.data, .nbytes = bytes.size};
    Model *m = model_open_with(w, file.name, &open, e);
    if (!m) return false;
    Graph side = {g->nin, g->nout, model_graph(m)->in, g->out};
    ValueMap map = value_map_new(w, a);
    for (int k = 0; k < g->nout; k++) map.to[model_graph(m)->out[k]] = g->out[k];
    ModelWrite x = {.graph = &side, .map = &map};
    bool good = model_writable(m, &x, why) && model_write(m, &x, file.path, e);
    model_close(m);
    return good;
}
