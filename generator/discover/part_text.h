/* part_text.h -- prints a generalized part of a model as the text of a question. */
#ifndef ISOMER_PART_TEXT_H
#define ISOMER_PART_TEXT_H
#include "graphs/graph.h"

/* Sets rank[k] to the position of input k in the order of the text, from 1. Returns false if an
   input is not used. */
bool part_order(World *, const Graph *, int rank[]);
/* Appends the graph to `graph`, and the values of its sizes to `at` as "a=1 b=64". Returns false if
   an input is not used. */
bool part_print(World *, Arena *, const Graph *, Sizes values, Text *graph, Text *at);
#endif
