/* graph.h -- graphs as immutable values. A node is a signature with input values; nodes are
   hash-consed, so that equal nodes are the same node. A node owns consecutive value numbers, one
   for each output. A node's number is greater than those of its inputs, so that ascending order is
   a topological order and nothing walks recursively. A Graph is two lists of values, its inputs and
   its outputs; its nodes are those that the outputs need. */
#ifndef ISOMER_GRAPH_H
#define ISOMER_GRAPH_H
#include "ops/operator/signature.h"

typedef uint32_t Value;  /* one tensor; 0: none, or an optional input that is left out */
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

/* Makes a node, or finds the equal one, and returns its first value; 0 and *why (static text) if
   shape() refuses. attr holds all attributes in the order of op->attrs (node_attrs fills in the
   defaults). The inputs may end early if the rest are optional. nout matters for operators with a
   variable number of outputs only. */
Value node_make(World *, const Op *, const Attr *attr, int nin, const Value in[], int nout,
                const char **why);
/* The same operator and attributes on other inputs. */
Value node_rebuild(World *, NodeId, const Value in[], const char **why);
/* Fills in the defaults of the attributes k with !given[k]; `first` is input 0, whose rank some
   defaults depend on. false: *missing is the name of an attribute without a default. */
bool node_attrs(World *, const Op *, Value first, const bool given[], Attr *attr,
                const char **missing);
NodeId value_node(const World *, Value); /* the node that computes it */
int value_port(const World *, Value);    /* which of the node's outputs it is, from 0 */
Node node_get(const World *, NodeId);
NodeId node_count(const World *); /* the greatest value number */
const Type *value_type(const World *, Value);
TypeId value_type_id(const World *, Value);
/* Equal names and types are the same value. */
Value graph_input(World *, const char *name, const Type *);
const char *input_name(const World *, Value); /* NULL: not an input */

/* The bytes of constants, stored once for equal contents. They are not copied and must outlive the
   World (a mapped file, an arena). 0: none. */
typedef uint32_t Blob;
Blob blob_put(World *, const void *bytes, size_t n);
const void *blob_get(const World *, Blob, size_t *n);
Value constant_make(World *, const Type *, Blob);                    /* sizes must be numbers */
bool constant_get(const World *, Value, Type *, const void **bytes); /* false: not a constant */
Blob constant_blob(const World *, Value);                            /* 0: not a constant */

/* The nodes that a graph's outputs need, ascending; the array lives in the arena. A graph's inputs
   are usually nodes of the operator `input`. Any other value may be an input, too; the nodes that
   compute it are then not part of the graph. */
typedef struct NodeList {
    int n;
    NodeId *v;
} NodeList;
NodeList graph_live(World *, Arena *, const Graph *);
int nodes_find(NodeList ascending, NodeId); /* its place in the list; -1: none */
void ids_sort(int n, uint32_t id[n]);       /* of nodes or values: ascending */
/* Who uses a value: the nodes user[first[v]] .. user[first[v] + count[v] - 1] of the list, and
   outputs[v] outputs of the graph. v < n. */
typedef struct Uses {
    int *first, *count;
    NodeId *user;
    int *outputs;
    uint32_t n;
} Uses;
Uses graph_uses(World *, Arena *, const Graph *, NodeList);
#endif
