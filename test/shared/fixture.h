/* fixture.h -- what tests of graphs begin with. What cannot be made fails the test and says why. */
#ifndef ISOMER_TEST_FIXTURE_H
#define ISOMER_TEST_FIXTURE_H
#include "graphs/graph_text.h"

/* The graph of a text, in the World's arena. names (may be NULL): its values by name. */
Graph graph_named(World *, const char *text, Names *names);
Graph graph_of(World *, const char *text);
/* A constant of rank 0. */
Value constant_of(World *, float);
/* A polynomial of n characters. */
Poly poly_of(World *, const char *text, size_t n);
/* What is printed after the line `body`: nodes and outputs. */
const char *graph_body(World *, const Graph *);
/* Setup and teardown of a test whose state is a World of its own. */
int fixture_world(void **state);
int fixture_world_free(void **state);
#endif
