/* price.h -- says which side of a rule is cheaper by a rough model: operations, and elements read
   and written, at sizes drawn at random. All inputs vary, or all but one are constants. */
#ifndef ISOMER_GENERATOR_PRICE_H
#define ISOMER_GENERATOR_PRICE_H
#include "rules/rule.h"

/* The sides that are cheaper at some sizes, as bits. */
typedef enum Cheaper { PRICE_SAME = 0, PRICE_RIGHT = 1, PRICE_LEFT = 2, PRICE_EITHER = 3 } Cheaper;
/* Compares the sides at the first lengths of the axis blocks at which the rule types, sizes are
   found and a side is cheaper. The World is used for this and reset. */
Cheaper price_rule(World *, Arena *, const Rule *);
int price_nodes(World *, Arena *, const Graph *); /* the number of live operators */
#endif
