/* tabulate.h -- writes a definition as a graph of basic operators: the values of an expression at
   all values of its indices become a tensor.

   The kind of each node of the expression decides what it becomes. A sum over a few positions
   becomes slices that are added; a longer sum becomes a reduction or a product of matrices; a
   condition on an index becomes padding; arithmetic and functions become operators of their own.
   Nothing here depends on which operator is defined. */
#ifndef ISOMER_TABULATE_H
#define ISOMER_TABULATE_H
#include "graphs/graph.h"

/* The expressions that are computed once for a whole axis if the definition reads them at several
   offsets of it, such as the gates of a recurrent layer. */
typedef enum TabulateShare { SHARE_NOTHING, SHARE_SUMS, SHARE_FUNCTIONS } TabulateShare;
/* Computes the outputs 0..nout-1 of a node of the graph by other operators over its inputs, with at
   most `most` nodes. Returns false if an output has no definition, or one that cannot be written in
   this way. */
bool node_tabulate(World *, Arena *, const Graph *, NodeId, TabulateShare, int most, Value out[]);
#endif
