/* rewrite.h -- rewrites graphs by simultaneous substitution: every value from[i] is replaced by
   to[i] once, and the nodes that depend on it are rebuilt. The old graph is unchanged. Composites
   are expanded and symbols and element types are replaced in the same way. */
#ifndef ISOMER_REWRITE_H
#define ISOMER_REWRITE_H
#include "graphs/graph.h"

typedef struct ValueMap {
    uint32_t n;
    /* to[v], v < n: the new value that stands for v; 0: v is not live, or is unchanged. */
    Value *to;
} ValueMap;
static inline Value map_value(const ValueMap *m, Value v) {
    return v < m->n && m->to[v] ? m->to[v] : v;
}
typedef struct Substitution { /* from[k] becomes to[k], all at once */
    int n;
    const Value *from, *to;
} Substitution;
/* Substitutes in a graph; the lists of *out live in the arena. *map (map may be NULL) takes the
   graph's values to those of the result. Returns false if the operator of a rebuilt node does not
   accept its new inputs, that is, if the rewriting would be wrong; *e then names the node. */
bool graph_substitute(World *, Arena *, const Graph *, const Substitution *, Graph *out,
                      ValueMap *map, Error *e);
ValueMap value_map_new(World *, Arena *); /* an empty map for all values that the World has now */
/* Rebuilds a node on its mapped inputs and returns the first value of the result, which is the node
   itself if the map changes none of its inputs. Returns 0 if the operator does not accept them; *e
   says why. The arena is used for the list of inputs. */
Value node_mapped(World *, Arena *, NodeId, const ValueMap *, Error *);
/* Rebuilds these nodes in order, each on its mapped inputs, and adds the results to the map. */
bool nodes_substitute(World *, Arena *, NodeList ascending, ValueMap *, Error *);
/* Replaces composites by their expansions until none is left. *map (map may be NULL) takes the
   graph's values to those of the result. */
bool graph_expand(World *, Arena *, const Graph *, Graph *out, ValueMap *, Error *);
/* The same, but all results of each composite are computed, as whatever runs the composite does:
   those that nobody reads become further outputs, after those of the graph. */
bool graph_expand_whole(World *, Arena *, const Graph *, Graph *out, Error *);
/* Builds the expansion of one composite node in the World; out receives the values that stand for
   the node's outputs. */
bool node_expand(World *, Arena *, NodeId, Value out[], Error *);
#endif
