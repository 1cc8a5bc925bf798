/* part_text.h -- a generalized part as a question's text. */
#ifndef ISOMER_PART_TEXT_H
#define ISOMER_PART_TEXT_H
#include "graphs/graph.h"

/* rank[k]: the place of input k in the order of the text, from 1. False: one is not used. */
bool part_order(World *, const Graph *, int rank[]);
/* Adds the graph, and to `at` the values of its sizes, "a=1 b=64". False: an input is not used. */
bool part_print(World *, Arena *, const Graph *, Sizes values, Text *graph, Text *at);
#endif
