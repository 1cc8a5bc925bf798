/* export.h -- nodes of ours as ONNX nodes: the tables of the importer read backwards (emit.c), and
   the replay of the file that decides what is copied and what is written anew. */
#ifndef ISOMER_ONNX_EXPORT_H
#define ISOMER_ONNX_EXPORT_H
#include "graphs/onnx/model.h"

enum { EMIT_ATTRS = 24, EMIT_SLOTS = 8 };
typedef struct EmitAttr { /* an attribute to be written */
    const char *name, *text;
    int kind; /* AttributeProto.AttributeType: 1 float, 2 int, 3 string, 4 tensor, 7 ints, 8
                 strings */
    int64_t i;
    float f;
    int n;
    const int64_t *ints;
    const char *const *texts;
    Slice tensor;
} EmitAttr;
typedef struct Emit { /* one ONNX node that computes a node of ours */
    const char *type, *domain;
    int nattr, nin, nout;
    EmitAttr attr[EMIT_ATTRS];
    Value *in; /* values its inputs carry, 0: left out */
    Value out; /* its first output */
} Emit;

/* What a node that is written finds around it. */
typedef struct Around {
    bool (*named)(void *user, Value); /* it has a name already, and is not looked through */
    /* It is written anyway: sizes are read off it before all that is not. */
    bool (*live)(void *user, Value);
    void *user;
} Around;
/* Finds the first entry of the operator's table, valid at the model's opset, that says this node;
   new values that it needs as inputs (sizes, scalars) are made in the World. False: none does, *why
   says what the first one lacked. */
bool emit_node(Model *, NodeId, const Around *, Emit *, const char **why);
/* emit_thin.c: a value before it was broadcast, of at most that rank; NumPy's sizes of two (false:
   not decided); whether they are the wanted ones. */
Value emit_thin(World *, Value, int rank, const Around *);
bool emit_joined(World *, Dims a, Dims b, Dims *out);
bool emit_same_sizes(World *, int n, const Value v[], Dims want, int tail);
bool emit_possible(Model *, const Op *); /* an entry exists at the model's opset */
Slice emit_bytes(Arena *, const Emit *, const char *const in[], const char *const out[],
                 const char *name, const char *doc); /* contents of a NodeProto */

typedef struct NodeOut {
    Slice bytes;
} NodeOut;
typedef struct Replay { /* what the new file holds; names by NameId of the model */
    int nnode;
    NodeOut *node; /* in topological order */
    bool *keep;    /* by NameId: initializers that stay */
    bool *carried; /* by NameId: this name exists in the new file */
    uint32_t nname;
    int nconstant; /* new initializers */
    NameId *constant;
    Value *content;
} Replay;
bool replay_model(Model *, const ModelWrite *, Arena *, Replay *, Error *);
#endif
