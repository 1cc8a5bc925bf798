/* export.h -- a changed graph as an ONNX file. write.c goes through the old file and replaces what
   changed; assemble.c plans which nodes the new file has, copied or newly written; emit.c writes
   one node of ours as one ONNX node, by the importer's tables read backwards. */
#ifndef ISOMER_ONNX_EXPORT_H
#define ISOMER_ONNX_EXPORT_H
#include "graphs/onnx/model.h"

enum { EMIT_SLOTS = 8 };
typedef struct Emit { /* one ONNX node that computes a node of ours */
    const char *type, *domain;
    int nattr, nin, nout;
    OnnxAttr *attr;
    Value *in; /* values its inputs carry, 0: left out */
    Value out; /* its first output */
} Emit;

/* What emit_node asks the caller about the rest of the new file. */
typedef struct EmitContext {
    bool (*named)(void *user, Value); /* it has a name already, and is not looked through */
    /* It is written in any case: sizes are read off such values first. */
    bool (*live)(void *user, Value);
    void *user;
} EmitContext;
/* Finds the first entry of the operator's table, valid at the model's opset, that expresses this
   node; new values that it needs as inputs (sizes, scalars) are made in the World. False: none
   does, *why says what the first one lacked. */
bool emit_node(Model *, NodeId, const EmitContext *, Emit *, const char **why);
bool emit_possible(Model *, const Op *); /* an entry exists at the model's opset */
/* emit_thin.c: a value before it was broadcast, of at most that rank; the sizes to which NumPy
   broadcasts two (false: not decided); whether n inputs broadcast to the wanted sizes, apart from
   the last `tail` axes. */
Value emit_thin(World *, Value, int rank, const EmitContext *);
bool emit_joined(World *, Dims a, Dims b, Dims *out);
bool emit_same_sizes(World *, int n, const Value v[], Dims want, int tail);
/* emit_bytes.c: the contents of a NodeProto. */
Slice emit_bytes(Arena *, const Emit *, const char *const in[], const char *const out[],
                 const char *name, const char *doc);

typedef struct FilePlan { /* what the new file holds; names by NameId of the model */
    int nnode;
    Slice *node;   /* contents of NodeProto, in topological order */
    bool *keep;    /* by NameId: initializers that stay */
    bool *carried; /* by NameId: this name exists in the new file */
    uint32_t nname;
    int nimport; /* domains that new nodes are of and the old file does not import */
    const char **import;
    int nconstant; /* new initializers */
    NameId *constant;
    Value *content;
} FilePlan;
/* assemble.c. Everything lives in the arena, new names in the model. E_CHECK: a new node cannot be
   written in the model's operator set, or nodes depend on each other in a cycle. */
bool file_plan(Model *, const ModelWrite *, Arena *, FilePlan *, Error *);
#endif
