/* graph.h -- represents graphs as immutable values. A node is a signature with input values; nodes
   are hash-consed, so that equal nodes are the same node. A node owns consecutive value numbers,
   one for each output. The number of a node is greater than those of its inputs, so that ascending
   order is a topological order and no walk over a graph needs recursion. A Graph is two lists of
   values, its inputs and its outputs; its nodes are those that the outputs need. */
#ifndef ISOMER_GRAPH_H
#define ISOMER_GRAPH_H
#include "ops/operator/signature.h"

typedef uint32_t Value;  /* one tensor; 0: no value, or an optional input that is left out */
typedef uint32_t NodeId; /* a node, by the number of its first value */
typedef struct Node {
    Sig sig;
    const Op *op;
    int op_index, nin, nout;
    const Value *in;
    Value out; /* outputs are out .. out + nout - 1 */
} Node;
typedef struct Graph { /* copied by value; the arrays belong to the arena they were made in */
    int nin, nout;
    const Value *in, *out;
} Graph;

/* Makes a node, or finds the equal one, and returns its first value. If the operator's shape()
   refuses the inputs or attributes, returns 0 and sets *why to static text. attr holds all
   attributes in the order of op->attrs (node_attrs fills in the defaults). The inputs may end early
   if the rest are optional. nout matters only for operators with a variable number of outputs. */
Value node_make(World *, const Op *, const Attr *attr, int nin, const Value in[], int nout,
                const char **why);
/* Makes a node with the operator and attributes of an existing one and other inputs; returns as
   node_make does. */
Value node_rebuild(World *, NodeId, const Value in[], const char **why);
/* Fills in the default of each attribute k for which given[k] is false (given NULL: of all).
   `first` is the value of input 0, because some defaults depend on its rank. Returns false if an
   attribute has no default; *missing is then its name. */
bool node_attrs(World *, const Op *, Value first, const bool given[], Attr *attr,
                const char **missing);
NodeId value_node(const World *, Value); /* the node that computes the value */
int value_port(const World *, Value); /* the index of the node's output that the value is, from 0 */
Node node_get(const World *, NodeId);
NodeId value_last(const World *); /* the greatest value number */
const Type *value_type(const World *, Value);
TypeId value_type_id(const World *, Value);
/* The graph input with this name and type; equal names and types give the same value. */
Value graph_input(World *, const char *name, const Type *);
const char *input_name(const World *, Value); /* its name; NULL: not a graph input */

/* The contents of constants; equal contents are stored once. The bytes are not copied and must
   outlive the World (they lie in a mapped file or in an arena). Blob 0 means none. */
typedef uint32_t Blob;
Blob blob_put(World *, const void *bytes, size_t n);
const void *blob_get(const World *, Blob, size_t *n);
Value constant_make(World *, const Type *, Blob);                    /* sizes must be numbers */
bool constant_get(const World *, Value, Type *, const void **bytes); /* false: not a constant */
Blob constant_blob(const World *, Value);                            /* 0: not a constant */

/* The nodes that the outputs of a graph need, ascending; the array lives in the arena. The inputs
   of a graph are usually nodes of the operator `input`, but any other value may be an input, too;
   the nodes that compute it are then not part of the graph. */
typedef struct NodeList {
    int n;
    NodeId *v;
} NodeList;
NodeList graph_live(World *, Arena *, const Graph *);
int nodes_find(NodeList ascending, NodeId); /* the node's index in the list, or -1 */
void ids_sort(int n, uint32_t id[n]);       /* sorts nodes or values in ascending order */
/* The uses of a value v < n: the nodes user[first[v]] .. user[first[v] + count[v] - 1] of the list
   read v (a node occurs once for each input that is v), and outputs[v] of the graph's outputs are
   v. */
typedef struct Uses {
    int *first, *count;
    NodeId *user;
    int *outputs;
    uint32_t n;
} Uses;
Uses graph_uses(World *, Arena *, const Graph *, NodeList);
#endif
