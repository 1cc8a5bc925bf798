/* disturb.h -- a graph whose roundings are disturbed: how far its results then are from the usual
   ones says how well they are determined at all. */
#ifndef ISOMER_DISTURB_H
#define ISOMER_DISTURB_H
#include "graphs/graph.h"

enum { DISTURBANCES = 8 }; /* this many disturbed graphs show how far roundings move a result */

/* Every constant and every computed value that is a float is moved, each element up or down by two
   roundoffs of its type as the seed draws it: constants by their contents, computed values by a
   multiplication after them. Values of more than a million elements, or of sizes that are not
   known, stay. Inputs are the caller's (data_nearby). Everything made lives in the World. */
bool graph_disturbed(World *, Arena *, const Graph *, Sizes, uint64_t seed, Graph *out, Error *);
/* Floats of `data` moved likewise; out may be data. Other types are left alone. */
void data_nearby(uint64_t seed, int input, DType, int64_t n, const void *data, void *out);
#endif
