/* fixture.c -- implements fixture.h: graphs from text, and back to text. */
#include "test/shared/fixture.h"
#include "graphs/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

Poly poly_of(World *w, const char *text, size_t n) {
    Error e = {0};
    Scan s = scan_new("poly", text, n, &e);
    Poly p = 0;
    if (!poly_parse(w, &s, &p) || !scan_end(&s)) fail_msg("%.*s: %s", (int)n, text, e.reason);
    return p;
}

Graph graph_named(World *w, const char *text, Names *names) {
    Error e = {0};
    Graph g = {0};
    Scan s = scan_new("test", text, strlen(text), &e);
    if (names) names->arena = w->arena;
    if (!graph_parse(w, w->arena, &s, NULL, &g, names, &e)) fail_msg("%s", e.reason);
    return g;
}

Graph graph_of(World *w, const char *text) { return graph_named(w, text, NULL); }

Value constant_of(World *w, float f) {
    return constant_make(w, &(Type){.dtype = DT_FLOAT, .known = true},
                         blob_put(w, arena_copy(w->arena, &f, sizeof f), sizeof f));
}

const char *graph_body(World *w, const Graph *g) {
    Text t = text_new(w->arena);
    graph_print(w, "g", g, &t);
    return strstr(t.data, "body\n") + 5;
}

int fixture_world(void **state) {
    *state = graph_world_new(NULL, 0);
    return 0;
}

int fixture_world_free(void **state) {
    world_free(*state);
    return 0;
}
