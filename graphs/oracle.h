/* oracle.h -- runs a graph by the definitions of its operators, as loop programs computed in
   double; operators without a definition run by their reference kernels. The oracle is slow and
   gives the same results on every machine. Folding computes with it, and kernels are checked
   against it. */
#ifndef ISOMER_ORACLE_H
#define ISOMER_ORACLE_H
#include "graphs/graph.h"

/* Runs a graph. in and out are dense buffers in the order of the graph's inputs, which may be
   results of nodes, and outputs. Each result is rounded to its element type; if `wide`, floats stay
   doubles between nodes, and the buffers of float outputs hold doubles. If a node cannot be run,
   returns false with E_INVALID and the node. */
bool oracle_run(World *, const Graph *, Sizes, bool wide, const void *const in[], void *const out[],
                Error *);
/* Describes how a computation in double is disturbed. Each computed float is moved up or down by
   between half a roundoff and a whole one, of its own type or of double. A constant is moved, too,
   where `rounded` is set, by a roundoff of its own type. The seed determines the moves. */
typedef struct OracleNoise {
    uint64_t seed;
    bool own_type;       /* a roundoff of the value's own type, not of double */
    uint32_t nrounded;   /* length of `rounded` */
    const bool *rounded; /* indexed by value: moved by a roundoff of its own type; NULL: no value */
} OracleNoise;
/* Runs as oracle_run does with `wide`, disturbed by the noise. */
bool oracle_run_disturbed(World *, const Graph *, Sizes, const OracleNoise *,
                          const void *const in[], void *const out[], Error *);
/* Computes the sizes of a type and its number of elements. Returns false if a size has no value or
   is negative, or if there are too many elements. */
bool oracle_dims(World *, const Type *, Sizes, int64_t dim[], int64_t *count);
#endif
