/* constants.h -- which values of a graph depend only on constants, and on nothing random. */
#ifndef ISOMER_CONSTANTS_H
#define ISOMER_CONSTANTS_H
#include "graphs/graph.h"

typedef struct Constants {
    NodeList live;
    Value least, past; /* all values of the graph are in least .. past - 1 */
    bool *is;          /* by value - least */
} Constants;
/* given: by input of the graph, whether it counts as a constant; NULL: none does. can: false: what
   this node makes does not count, nor what is made of it; NULL: all can. In the arena. */
Constants constants_find(World *, Arena *, const Graph *, const bool given[],
                         bool (*can)(World *, const Node *));
/* v is a value of the graph that is made of constants, or is one; false for other values and 0. */
bool constants_hold(const Constants *, Value v);
/* The node makes floats of bytes and a scale: of constants it is left in the file, which takes less
   room than its result, and targets compute with the bytes. */
bool constant_unpacks(World *, const Node *);
/* A constant all of whose elements are equal is part of what is computed; any other one could be
   any tensor of its type. */
bool constant_plain(World *, Value);
#endif
