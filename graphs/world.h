/* world.h -- creates Worlds that hold graphs. */
#ifndef ISOMER_GRAPHS_WORLD_H
#define ISOMER_GRAPHS_WORLD_H
#include "graphs/graph.h"

/* Creates a World (world_new) with the tables that ops/ and graphs/ add to it; world_free frees
   them all. */
World *graph_world_new(Escape *, size_t limit);
#endif
