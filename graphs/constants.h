/* constants.h -- finds the values of a graph that depend on constants only, and on nothing
   random. */
#ifndef ISOMER_CONSTANTS_H
#define ISOMER_CONSTANTS_H
#include "graphs/graph.h"

typedef struct Constants {
    NodeList live;
    Value least, past; /* all values of the graph are in least .. past - 1 */
    bool *is;          /* indexed by value - least: the value depends on constants only */
} Constants;
/* Finds the values that depend on constants only. given[k] says that input k counts as a constant,
   too (given NULL: no input does). If can() is given and returns false for a node, its results do
   not count, and neither does what depends on them. The arrays live in the arena. */
Constants constants_find(World *, Arena *, const Graph *, const bool given[],
                         bool (*can)(World *, const Node *));
/* Whether v is a value of the graph that depends on constants only. False for 0 and for values
   outside the graph. */
bool constants_hold(const Constants *, Value v);
/* Whether the node makes floats from integers of at most 8 bits and a scale. Such a node is not
   folded even if its inputs are constants: the integers take less room in the file than the floats,
   and targets compute with the integers. */
bool constant_unpacks(World *, const Node *);
/* Whether v is a constant with equal elements. Such a constant is part of what a graph computes
   (the 2 in 2 * x), whereas any other constant could be replaced by any tensor of its type. */
bool constant_plain(World *, Value);
#endif
