/* order.h -- puts the nodes of a file in topological order, changing their present order as little
   as possible. */
#ifndef ISOMER_ONNX_ORDER_H
#define ISOMER_ONNX_ORDER_H
#include "graphs/onnx/model.h"

typedef struct FileNode { /* a node of the file that was read, or of the new one */
    Slice bytes;          /* the contents of its NodeProto */
    /* place: position in the file that was read, of the node itself or of the one it stands
       near. */
    int nin, nout, place;
    const NameId *in, *out;
    int onnx; /* index of the old node that it copies, or -1 */
} FileNode;

/* Sorts topologically: of the nodes whose inputs are available, the one with the lowest place comes
   first. out[] gets the indices of the nodes that could be ordered, whose number is returned;
   done[k] says whether node k is among them. The other nodes are part of a cycle or depend on
   one. */
int file_order(Arena *, int n, const FileNode node[], int *out, bool *done);
/* The same for nodes of a model, including the names that their subgraphs use. Returns false if the
   nodes form a cycle. */
bool nodes_order(Arena *, int n, const OnnxNode node[], int *out);
#endif
