/* rewrite.h -- rewriting as simultaneous substitution: every from[i] becomes to[i], once; the
   nodes that depend on it are rebuilt. The old graph stays as it is. */
#ifndef ISOMER_REWRITE_H
#define ISOMER_REWRITE_H
#include "graphs/graph.h"

typedef struct ValueMap {
    uint32_t n;
    Value *to; /* to[v] for v < n: the new value with the meaning of v; 0: not live, or still v */
} ValueMap;
static inline Value map_value(const ValueMap *m, Value v) {
    return v < m->n && m->to[v] ? m->to[v] : v;
}
typedef struct Substitution { /* from[k] becomes to[k], all at once */
    int n;
    const Value *from, *to;
} Substitution;
/* The result is in the arena; map (may be NULL): from the graph's values to those of the result.
   False: the inputs of a rebuilt node do not fit its operator, so the rewriting would be wrong: *e
   says which. */
bool graph_substitute(World *, Arena *, const Graph *, const Substitution *, Graph *out,
                      ValueMap *map, Error *e);
ValueMap value_map_new(World *, Arena *); /* nothing mapped, for all values there are now */
/* The node over what the map makes of its inputs: itself where it changes none of them. 0: they do
   not fit its operator, *e says why. The arena is for the list of inputs. */
Value node_mapped(World *, Arena *, NodeId, const ValueMap *, Error *);
/* Rebuilds only these nodes under the map, and maps their results. */
bool nodes_substitute(World *, Arena *, NodeList ascending, ValueMap *, Error *);
/* Composites replaced by their definitions, until none is left. */
bool graph_expand(World *, Arena *, const Graph *, Graph *out, ValueMap *, Error *);
/* The definition of one composite node, built in the world; out: its outputs. */
bool node_expand(World *, Arena *, NodeId, Value out[], Error *);
typedef struct NewSizes { /* symbol from[k] becomes to[k] */
    int n;
    const Symbol *from;
    const Poly *to;
} NewSizes;
/* Replaces symbols in the types of inputs and in attributes: sizes are bound, or variables renamed.
   Inputs keep their names. */
bool graph_resize(World *, Arena *, const Graph *, NewSizes, Graph *out, Error *e);
/* The graph with element type `to` in place of `from`, in the types of inputs and in attributes;
   map (may be NULL): from its values to those of the result. False: an operator refuses the type,
   or the graph has a constant of type `from`. */
bool graph_retype(World *, Arena *, const Graph *, DType from, DType to, Graph *out, ValueMap *map,
                  Error *e);
#endif
