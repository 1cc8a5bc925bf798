/* order.h -- the nodes of the new file, and their order: that of the old file as far as
   dependencies allow. */
#ifndef ISOMER_ONNX_ORDER_H
#define ISOMER_ONNX_ORDER_H
#include "graphs/onnx/export/export.h"

typedef struct Item { /* a node of the new file */
    Slice bytes;
    int nin, nout, place; /* place: of the node in the old file that it stands for or serves */
    const NameId *in, *out;
    int onnx; /* the node it copies, or -1 */
} Item;

/* Topological order: nodes whose inputs are there, lowest place first. out[]: n item numbers, as
   many as could be ordered, which is returned; done[] by item: it was. What is left stands in a
   cycle or after one. */
int file_order(Arena *, int n, const Item item[], int *out, bool *done);
#endif
