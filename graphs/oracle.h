/* oracle.h -- runs a graph by its operators' definitions: as loop programs computed in double;
   operators without one by their reference kernels. Slow, and the same on every machine: what
   folding computes with and what kernels are checked against. */
#ifndef ISOMER_ORACLE_H
#define ISOMER_ORACLE_H
#include "graphs/graph.h"

/* in, out: dense buffers in the order of the graph's inputs, which may be results of nodes, and
   outputs. Each result is rounded to its element type; wide: floats stay doubles between nodes, and
   the buffers of float outputs hold doubles. E_INVALID with the node for what cannot be run. */
bool oracle_run(World *, const Graph *, Sizes, bool wide, const void *const in[], void *const out[],
                Error *);
/* What a computation in double is disturbed by: each computed float is moved, up or down, by half a
   roundoff to a whole one, of its own type or of double; where `rounded` is set, also of a
   constant, of its own type. Drawn from the seed. */
typedef struct OracleNoise {
    uint64_t seed;
    bool own_type;
    uint32_t nrounded;   /* length of rounded */
    const bool *rounded; /* by value; NULL: none is */
} OracleNoise;
/* oracle_run in double (wide), disturbed. */
bool oracle_run_disturbed(World *, const Graph *, Sizes, const OracleNoise *,
                          const void *const in[], void *const out[], Error *);
/* The sizes of a type and the number of elements; false: a size has no value or is negative, or
   there are too many elements. */
bool oracle_dims(World *, const Type *, Sizes, int64_t dim[], int64_t *count);
#endif
