/* world.c -- creates a World with the tables of operators and of nodes. */
#include "graphs/world.h"
#include "graphs/tables.h"

World *graph_world_new(Escape *escape, size_t limit) {
    World *w = world_new(escape, limit);
    world_init_ops(w);
    graph_tables_init(w);
    return w;
}
