/* tabulate.h -- a definition as a graph: the values of an expression for all values of its indices,
   as a tensor that basic operators make. What an expression's nodes stand for decides: a sum over
   a few places is slices that are added, a longer one a reduction or a product of matrices, a
   condition on an index is padding, arithmetic and functions are operators of their own. Nothing
   here knows what is defined. */
#ifndef ISOMER_TABULATE_H
#define ISOMER_TABULATE_H
#include "graphs/graph.h"

/* What is computed once where the definition reads it at several offsets of an axis (a recurrent
   layer's gates). */
typedef enum TabulateShare { SHARE_NOTHING, SHARE_SUMS, SHARE_FUNCTIONS } TabulateShare;
/* Outputs 0..nout-1 of a node of the graph by other operators over its inputs, of at most `most`
   nodes. false: an output has no definition, or one that nothing here writes. */
bool node_tabulate(World *, Arena *, const Graph *, NodeId, TabulateShare, int most, Value out[]);
#endif
