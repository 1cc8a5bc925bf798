/* fixture.h -- makes the values and graphs with which tests of graphs begin. If something cannot be
   made, the test fails with the reason. */
#ifndef ISOMER_TEST_FIXTURE_H
#define ISOMER_TEST_FIXTURE_H
#include "graphs/graph_text.h"

/* Parses a graph, in the World's arena. graph_named also returns its values by name (`names` may be
   NULL). */
Graph graph_named(World *, const char *text, Names *names);
Graph graph_of(World *, const char *text);
/* Makes a constant of rank 0. */
Value constant_of(World *, float);
/* Parses a polynomial, which is the first n characters of the text. */
Poly poly_of(World *, const char *text, size_t n);
/* Prints the graph's nodes and outputs, that is, everything after the line `body`. */
const char *graph_body(World *, const Graph *);
/* Setup and teardown for a test whose state is a World of its own. */
int fixture_world(void **state);
int fixture_world_free(void **state);
#endif
