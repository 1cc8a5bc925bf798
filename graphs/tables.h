/* tables.h -- declares the tables that graphs/ adds to those of a World. Only the files of graphs/
   include it. */
#ifndef ISOMER_GRAPH_TABLES_H
#define ISOMER_GRAPH_TABLES_H
#include "graphs/graph.h"
#include "graphs/graph_text.h"

typedef struct BlobInfo {
    const void *bytes;
    size_t size;
    uint64_t seed;   /* if `seeded` is set: the contents are what seed(..) of the text form makes of
                        this seed for that element type */
    uint32_t seeded; /* a DType; 0: the contents were not made from a seed */
} BlobInfo;
typedef struct Elements { /* what shapevalue.c knows about the elements of a value */
    PolyList list;        /* v is NULL if the elements are not known */
    int64_t divisor;      /* each element is its polynomial in the list divided by this
                             number; 1 for integers */
    const void *numbers;  /* the elements as numbers of the value's type, where a node was run on
                             known numbers; else NULL */
    uint32_t resets;      /* 1 + w->resets at the time of computation; 0: never computed */
} Elements;
typedef struct Expansion { /* the parsed expansion of a composite operator */
    LineList *lines;
    uint32_t resets; /* 1 + w->resets at the time of parsing; 0: never parsed */
} Expansion;
typedef struct GraphTables {
    Column blob;     /* BlobInfo of each Blob */
    Column seen;     /* the stamp of the last walk that reached the node */
    Column border;   /* the stamp of the last walk that stopped at this value because it is a graph
                        input */
    Column elements; /* shapevalue.c: Elements of each value */
    Column infinity; /* infinities.c: the InfinityReach of each value */
    uint32_t stamp;  /* the number of the latest walk */
    Expansion *expansion; /* rewrite.c: indexed by operator number */
} GraphTables;
static inline GraphTables *graph_tables(const World *w) { return w->graphs; }
/* All values of the graph, given its live nodes, are in *least .. *past - 1. */
void graph_span(const World *, const Graph *, NodeList live, Value *least, Value *past);
void graph_tables_init(World *); /* the World must have no nodes yet */
BlobInfo *blob_info(World *, Blob);
#endif
