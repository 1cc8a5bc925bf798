/* order.h -- the topological order of nodes that is nearest to the order that they have. */
#ifndef ISOMER_ONNX_ORDER_H
#define ISOMER_ONNX_ORDER_H
#include "graphs/onnx/model.h"

typedef struct FileNode { /* a node of a file that is read, or of the new one */
    Slice bytes;
    int nin, nout, place; /* in the file that was read: of the node that it is or serves */
    const NameId *in, *out;
    int onnx; /* the node it copies, or -1 */
} FileNode;

/* Topological order: nodes whose inputs are there, lowest place first. out[]: their numbers, as
   many as could be ordered, which is returned; done[] by node: it was. What is left stands in a
   cycle or after one. */
int file_order(Arena *, int n, const FileNode node[], int *out, bool *done);
/* The same for nodes that are read, with what their subgraphs use; false: they form a cycle. */
bool nodes_order(Arena *, int n, const OnnxNode node[], int *out);
#endif
