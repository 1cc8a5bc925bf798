/* world.h -- a World for graphs. */
#ifndef ISOMER_GRAPHS_WORLD_H
#define ISOMER_GRAPHS_WORLD_H
#include "graphs/graph.h"

/* A World (world_new) with what ops/ and graphs/ keep in addition to its tables; world_free
   frees all. */
World *graph_world_new(Escape *, size_t limit);
#endif
