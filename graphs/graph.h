/* graph.h -- graphs are values. A node is (signature, input values), hash-consed: equal nodes are
   the same node. A node owns consecutive value ids, one per output; ids ascend topologically, so
   nothing walks recursively. A Graph is only lists of values: inputs (nodes of the operator
   `input`) and outputs; what is live follows. */
#ifndef ISOMER_GRAPH_H
#define ISOMER_GRAPH_H
#include "ops/signature.h"

typedef uint32_t Value;  /* one tensor; 0: input left out */
typedef uint32_t NodeId; /* the number of the node's first value */
typedef struct Node {
    Sig sig;
    const Op *op;
    int nin, nout;
    const Value *in;
    Value out; /* outputs are out .. out + nout - 1 */
} Node;
typedef struct Graph { /* arrays belong to the arena they were made in; value semantics */
    int nin, nout;
    const Value *in, *out;
} Graph;

/* A World (world_new) plus everything ops/ and graphs/ keep beside its tables; world_free frees
   all. */
World *graph_world_new(Escape *, size_t limit);

/* Makes or finds a node. attr: in the order of op->attrs, all of them (node_attrs fills defaults);
   inputs may end early where the rest are optional. nout counts for variadic outputs. Result: its
   first value; 0 and *why (static text) when shape() refuses. */
Value node_make(World *, const Op *, const Attr *attr, int nin, const Value in[], int nout,
                const char **why);
/* The same operator and attributes on other inputs. */
Value node_rebuild(World *, NodeId, const Value in[], const char **why);
/* Fills attr[k] where !given[k]; false: *missing names one without default. */
bool node_attrs(World *, const Op *, Value first, const bool given[], Attr *attr,
                const char **missing);
NodeId value_node(const World *, Value);
int value_port(const World *, Value);
Node node_get(const World *, NodeId);
NodeId node_count(const World *); /* the greatest value number */
const Type *value_type(const World *, Value);
TypeId value_type_id(const World *, Value);
/* Equal names and types are the same value. */
Value graph_input(World *, const char *name, const Type *);
const char *input_name(const World *, Value); /* NULL: not an input */

/* Contents: bytes keyed by their hash; they are not copied, and must outlive the World (mapped
   file, arena). blob 0: none. */
typedef uint32_t Blob;
Blob blob_put(World *, const void *bytes, size_t n);
const void *blob_get(const World *, Blob, size_t *n);
Value constant_make(World *, const Type *, Blob);                    /* sizes must be numbers */
bool constant_get(const World *, Value, Type *, const void **bytes); /* false: not a constant */
Blob constant_blob(const World *, Value);                            /* 0: not a constant */
Value constant_float(World *, float);                                /* rank 0 */

/* A graph's inputs are usually nodes of the operator `input`; other values may be inputs too: then
   what they are made of is not part of the graph. Live nodes of a graph, ascending (a topological
   order). Arrays in the arena. */
typedef struct NodeList {
    int n;
    NodeId *v;
} NodeList;
NodeList graph_live(World *, Arena *, const Graph *);
/* Who uses a value, over the live nodes; outputs of the graph are not nodes and are counted
   apart. */
typedef struct Uses {
    int *first, *count;
    NodeId *user;
    int *outputs;
    uint32_t n;
} Uses; /* users of v: user[first[v]] .. count[v]; outputs[v]: how often a graph output */
Uses graph_uses(World *, Arena *, const Graph *, NodeList);
#endif
