/* target_graph.c -- arbitrary bytes as the text form of a graph. A graph that is read is printed;
   reading and printing this text gives the same text again. */
#include "graphs/graph_text.h"
#include "test/fuzz/fuzz.h"
#include "graphs/world.h"
#include <string.h>

static bool read_text(World *w, const char *text, size_t n, const char **name, Graph *g, Error *e) {
    Names names = {.arena = w->arena};
    Scan s = scan_new("text", text, n, e);
    bool ok = graph_parse(w, w->arena, &s, name, g, &names, e);
    fuzz_need(ok == (e->kind == E_NONE), "a graph or an error");
    if (!ok)
        fuzz_refused(e),
            fuzz_need(e->line > 0 && e->column > 0, "an error has its line and column");
    return ok;
}

static void read_and_print(Escape *escape, World *volatile *w, const char *text, size_t n) {
    const char *name, *again;
    Graph g, h;
    Error e = {0};
    *w = graph_world_new(escape, FUZZ_MEMORY);
    if (!read_text(*w, text, n, &name, &g, &e)) return;
    Text first = text_new((*w)->arena), second = text_new((*w)->arena);
    graph_print(*w, name, &g, &first);
    fuzz_need(read_text(*w, first.data, first.size, &again, &h, &e), "what was printed is read");
    graph_print(*w, again, &h, &second);
    fuzz_need(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
              "printing is canonical");
}

int fuzz_graph(const uint8_t *data, size_t size) {
    Escape escape = {0};
    World *volatile w = NULL;
    if (size > FUZZ_BYTES) return 0;
    if (setjmp(escape.here)) fuzz_refused(&escape.error);
    else read_and_print(&escape, &w, (const char *)data, size);
    world_free(w);
    return 0;
}
