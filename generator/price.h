/* price.h -- which side of a rule is cheaper: by operations and elements read and written, at sizes
   drawn at random, with all inputs given by the model and with all but one constant. */
#ifndef ISOMER_GENERATOR_PRICE_H
#define ISOMER_GENERATOR_PRICE_H
#include "rules/rule.h"

/* As bits: at some sizes the right side is cheaper, at some the left one. */
typedef enum Cheaper { PRICE_SAME = 0, PRICE_RIGHT = 1, PRICE_LEFT = 2, PRICE_EITHER = 3 } Cheaper;
/* At the first length at which the rule types and sizes are found; those are the World's, which is
   reset. */
Cheaper price_rule(World *, Arena *, const Rule *);
int price_nodes(World *, Arena *, const Graph *); /* live operators */
#endif
