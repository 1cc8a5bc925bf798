/* onnx_roundtrip.c -- reads models and writes them again.

   onnx_roundtrip [-r|-n] < PAIRS  For each line "IN OUT", copies a model and prints a line
                                   "CODE IN MESSAGE". With -r every node that is understood is
                                   written anew instead of being copied; with -n a third of all
                                   float values, chosen at random, are negated twice.
   onnx_roundtrip -s|-v FILE..     Prints how many nodes of each model are understood; with -v
                                   also why the others are not. */
#include "graphs/onnx/onnx.h"
#include "ops/base/random.h"
#include "graphs/world.h"
#include <stdio.h>
#include <string.h>

typedef enum Mode { COPY, REGENERATE, NEGATE, STATS, VERBOSE } Mode;

static void print_stats(World *w, Model *m, const char *path, bool why) {
    ModelStats s = model_stats(m);
    printf("%s: %d nodes, %d understood, %d opaque\n", path, s.nodes, s.understood, s.opaque);
    for (NodeId k = 1; why && k <= value_last(w); k++) {
        const char *type, *name = value_node(w, k) == k ? model_node_name(m, k, &type) : NULL,
                          *reason = name ? model_opaque_reason(m, k) : NULL;
        if (reason) printf("  %s %s: %s\n", type, name, reason);
    }
}

static Value negated(World *w, Value v) {
    const char *why;
    return node_make(w, op_find("neg"), NULL, 1, &v, 1, &why);
}

/* Negates some values twice, which does not change them. Inputs, outputs, constants, results of
   opaque nodes and the values between them are affected. */
static bool negate_twice(World *w, Model *m, Graph *out, ValueMap *map, Error *e) {
    Random random = {1, 0};
    const Graph *g = model_graph(m);
    NodeList live = graph_live(w, w->arena, g);
    int n = 0, room = 0;
    for (int k = 0; k < live.n; k++) room += node_get(w, live.v[k]).nout;
    Value *from = ARENA_NEW(w->arena, Value, room), *to = ARENA_NEW(w->arena, Value, room);
    for (int k = 0; k < live.n; k++)
        for (int j = 0; j < node_get(w, live.v[k]).nout; j++) {
            Value v = live.v[k] + (Value)j;
            const Type *t = value_type(w, v);
            if (!t->known || t->dtype != DT_FLOAT || random_below(&random, 3)) continue;
            from[n] = v, to[n] = negated(w, negated(w, v));
            n += to[n] != 0;
        }
    return graph_substitute(w, w->arena, g, &(Substitution){n, from, to}, out, map, e);
}

static int work(const char *in, const char *out, Mode mode, char *text, size_t n) {
    Escape escape = {0};
    Error e = {0};
    if (setjmp(escape.here))
        return error_print(&escape.error, text, n), error_exit_code(&escape.error);
    World *w = graph_world_new(&escape, 0);
    Model *m = model_open(w, in, &e);
    ModelWrite x = {.graph = m ? model_graph(m) : NULL,
                    .map = &(ValueMap){0},
                    .regenerate = mode == REGENERATE};
    Graph graph;
    ValueMap map;
    const char *why;
    if (m && mode == NEGATE && model_exportable(m, op_find("neg"), &why) &&
        negate_twice(w, m, &graph, &map, &e))
        x.graph = &graph, x.map = &map;
    if (m && out && e.kind == E_NONE) model_write(m, &x, out, &e);
    else if (m) print_stats(w, m, in, mode == VERBOSE);
    model_close(m);
    world_free(w);
    text[0] = 0;
    if (e.kind != E_NONE) error_print(&e, text, n);
    return error_exit_code(&e);
}

int main(int argc, char **argv) {
    char line[4096], text[700];
    const char *option = argc > 1 ? argv[1] : "";
    Mode mode = strcmp(option, "-r") == 0   ? REGENERATE
                : strcmp(option, "-n") == 0 ? NEGATE
                : strcmp(option, "-s") == 0 ? STATS
                : strcmp(option, "-v") == 0 ? VERBOSE
                                            : COPY;
    for (int k = 2; k < argc && mode >= STATS; k++)
        if (work(argv[k], NULL, mode, text, sizeof text)) printf("%s\n", text);
    while (mode < STATS && fgets(line, sizeof line, stdin)) {
        char *out = strchr(line, ' ');
        if (!out) return 2;
        *out++ = 0;
        out[strcspn(out, "\n")] = 0;
        int code = work(line, out, mode, text, sizeof text);
        printf("%d %s %s\n", code, line, text);
        fflush(stdout);
    }
    return 0;
}
