/* general.h -- a part of a model with its sizes turned into symbols. */
#ifndef ISOMER_GENERAL_H
#define ISOMER_GENERAL_H
#include "generator/lift_inner.h"

typedef struct Part {
    int n, nout;
    const NodeId *node; /* in ascending order */
    const Value *out;
} Part;
/* What a generalized part keeps of the sizes and numbers at its place. Up to KEEP_ATTRIBUTES, each
   value also keeps what the ones before it keep. */
typedef enum Keep {
    KEEP_NOTHING,
    KEEP_TIES, /* constants of one rank that have equal sizes on an axis after the first have equal
                  symbols there */
    KEEP_CONSTANTS,  /* small numbers among constants */
    KEEP_ATTRIBUTES, /* sizes of 1, and attributes that are not sizes */
    KEEP_EVEN, /* for one operator with a constant: keeps lists of 1; even sizes of its result, from
                  the third axis on, are even in the rule */
    KEEP_THIRDS,   /* the same with multiples of 3 */
    KEEP_QUARTERS, /* the same with multiples of 4 */
    KEEPS
} Keep;
/* Appends the part's graph, over inputs x1, x2, .. and constants k.., and the values of its sizes
   as "a=1 b=64". The names follow from the structure alone. Returns false if the sizes are related
   in a way that is not understood. The World is reset to what it was. */
bool part_generalize(World *, const Part *, Sizes, Keep, Text *graph, Text *at);
#endif
