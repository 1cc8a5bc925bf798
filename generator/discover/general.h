/* general.h -- a part of a model with its sizes turned into symbols. */
#ifndef ISOMER_GENERAL_H
#define ISOMER_GENERAL_H
#include "generator/lift_inner.h"

typedef struct Part {
    int n, nout;
    const NodeId *node; /* ascending */
    const Value *out;
} Part;
/* What stays a number. */
typedef enum Keep {
    KEEP_NOTHING,
    KEEP_TIES,       /* equal sizes of constants of one rank, on an axis after the first */
    KEEP_CONSTANTS,  /* and small numbers among constants */
    KEEP_ATTRIBUTES, /* and sizes of 1, and what is in attributes and no size */
    KEEP_EVEN,   /* of one operator with a constant: lists of 1 alone; the sizes of its result from
                    the third axis on are even, where they are */
    KEEP_THIRDS, /* the same with multiples of 3 */
    KEEP_QUARTERS, /* and of 4 */
    KEEPS
} Keep;
/* Appends the part's graph, over inputs x1, x2, .. and constants k.., and the values of its sizes
   as "a=1 b=64". Names follow from the structure alone. false: its sizes are not related in a way
   that is understood. The World is as it was. */
bool part_generalize(World *, const Part *, Sizes, Keep, Text *graph, Text *at);
#endif
