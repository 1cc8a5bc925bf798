/* export.h -- writes a changed graph as an ONNX file. write.c walks over the old file and replaces
   what changed; assemble.c plans which nodes the new file has, copied or newly written; emit.c
   writes one Isomer node as one ONNX node, by using the tables of the importer in reverse. */
#ifndef ISOMER_ONNX_EXPORT_H
#define ISOMER_ONNX_EXPORT_H
#include "graphs/onnx/model.h"

enum { EMIT_SLOTS = 8 };
typedef struct OnnxNodeDraft { /* An ONNX node that computes an Isomer node. */
    const char *type, *domain;
    int nattr, nin, nout;
    OnnxAttr *attr;
    Value *in; /* the values of its inputs; 0: left out */
    Value out; /* the value of its first output; the others follow it */
} OnnxNodeDraft;

/* What emit_node asks the caller about the rest of the new file. */
typedef struct EmitContext {
    /* The value has a name already, so the node that makes it is neither skipped as a broadcast nor
       merged into the node that reads it. */
    bool (*named)(void *user, Value);
    /* The value is written in any case, so its sizes may be read off it without extra cost. */
    bool (*live)(void *user, Value);
    void *user;
} EmitContext;
/* Expresses a node by the first entry of its operator's table that is valid at the model's opset
   and fits the node. New values that the ONNX node needs as inputs (sizes, scalars) are made in the
   World. Returns false if no entry can; *why then says what the first one lacked. */
bool emit_node(Model *, NodeId, const EmitContext *, OnnxNodeDraft *, const char **why);
/* Whether the operator's table has an entry that is valid at the model's opset. */
bool emit_possible(Model *, const Op *);
/* emit_thin.c: emit_thin returns a value before it was broadcast, as far as its rank is at most
   `rank`. emit_joined finds the sizes to which NumPy broadcasts two lists of sizes (false: not
   decided). emit_same_sizes says whether NumPy broadcasts n inputs to the wanted sizes, apart from
   the last `tail` axes. */
Value emit_thin(World *, Value, int rank, const EmitContext *);
bool emit_joined(World *, Dims a, Dims b, Dims *out);
bool emit_same_sizes(World *, int n, const Value v[], Dims want, int tail);
/* emit_bytes.c: returns the contents of a NodeProto; `doc` may be NULL. */
Slice emit_bytes(Arena *, const OnnxNodeDraft *, const char *const in[], const char *const out[],
                 const char *name, const char *doc);

typedef struct FilePlan { /* what the new file contains; NameIds are those of the model */
    int nnode;
    Slice *node;   /* contents of NodeProto, in topological order */
    bool *keep;    /* by NameId: the initializer of this name stays in the file */
    bool *carried; /* by NameId: a value in the new file has this name */
    uint32_t nname;
    int nimport; /* domains of new nodes that the old file does not import */
    const char **import;
    int nconstant; /* new initializers: their names and values */
    NameId *constant;
    Value *content;
} FilePlan;
/* assemble.c: plans the new file. Everything is in the arena; new names are added to the model.
   Fails with E_CHECK if a new node cannot be written in the model's operator set, or if nodes
   depend on each other in a cycle. */
bool file_plan(Model *, const ModelWrite *, Arena *, FilePlan *, Error *);
#endif
