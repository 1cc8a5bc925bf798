/* control_body.h -- a subgraph of a node: the branch of an If, the body of a Loop or Scan. */
#ifndef ISOMER_CONTROL_BODY_H
#define ISOMER_CONTROL_BODY_H
#include "graphs/onnx/import/import.h"

typedef struct Body { /* a subgraph, read once */
    Import *s;
    GraphIndex g;
    OnnxNode *node;
    NameId *in, *out;
    NameId *weight;
    Value *content;
    Error error;
} Body;

/* The subgraph in this attribute. False, here and below: import_fail has said why. */
bool body_read(Import *, const char *attribute, Body *);
/* Its nodes over these inputs become nodes of the graph; out[k]: its results. */
bool body_run(Body *, int nin, const Value in[], Value out[]);
#endif
