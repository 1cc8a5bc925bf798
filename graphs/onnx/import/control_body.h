/* control_body.h -- reads a subgraph of a node (the branch of an If, the body of a Loop or Scan)
   and makes nodes of it, once for each time that it runs. */
#ifndef ISOMER_CONTROL_BODY_H
#define ISOMER_CONTROL_BODY_H
#include "graphs/onnx/import/import.h"

typedef struct Body { /* a subgraph that was read, to be run any number of times */
    Import *s;
    GraphIndex g;
    OnnxNode *node;   /* of the subgraph */
    NameId *in, *out; /* the names of its inputs and outputs */
    NameId *weight;   /* the names and values of its initializers */
    Value *content;
    Error error;
} Body;

/* Reads the subgraph that is this attribute. Like body_run, it returns false after import_fail. */
bool body_read(Import *, const char *attribute, Body *);
/* Makes the nodes of the subgraph, given the values of its inputs, and returns its results in
   out[]. */
bool body_run(Body *, int nin, const Value in[], Value out[]);
#endif
