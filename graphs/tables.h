/* tables.h -- what graphs/ keeps in addition to the tables of a World; for the files of graphs/
   only. */
#ifndef ISOMER_GRAPH_TABLES_H
#define ISOMER_GRAPH_TABLES_H
#include "graphs/graph.h"
#include "graphs/graph_text.h"

typedef struct BlobInfo {
    const void *bytes;
    size_t size;
    uint64_t seed;   /* if `seeded`: it is what seed(..) of the text form makes for elements of this
                        type */
    uint32_t seeded; /* a DType, 0: not seeded */
} BlobInfo;
typedef struct Elements { /* what shapevalue.c knows of a value */
    PolyList list;        /* v == NULL: not known */
    int64_t by;           /* the elements are those of the list divided by this; 1 of integers */
    const void *numbers;  /* what floats compute from numbers, in v's type; NULL: nothing */
    uint32_t resets;      /* 1 + w->resets when it was computed; 0: never */
} Elements;
typedef struct Expansion { /* of a composite operator */
    LineList *lines;
    uint32_t resets; /* 1 + w->resets when they were parsed; 0: never */
} Expansion;
typedef struct GraphTables {
    Column blob;     /* BlobInfo of each content */
    Column seen;     /* stamp of the last walk that met a node */
    Column border;   /* stamp of the last walk that this value ends */
    Column elements; /* shapevalue.c: Elements of each value */
    Column infinity; /* infinities.c: a Reach of each value */
    uint32_t stamp;
    Expansion *expansion; /* rewrite.c: by operator number */
} GraphTables;
static inline GraphTables *graph_tables(const World *w) { return w->graphs; }
/* All its values are in least .. past - 1. */
void graph_span(const World *, const Graph *, NodeList live, Value *least, Value *past);
void graph_tables_init(World *); /* of an empty World */
BlobInfo *blob_info(World *, Blob);
#endif
