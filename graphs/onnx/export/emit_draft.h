/* emit_draft.h -- an ONNX node while it is being written (emit.c): what it is made of, and the
   attributes and inputs that it gets (emit_draft.c). Everything lives in the World's arena. */
#ifndef ISOMER_ONNX_EMIT_DRAFT_H
#define ISOMER_ONNX_EMIT_DRAFT_H
#include "graphs/onnx/export/export.h"

/* Which inputs of the node in ONNX broadcast: none, all, all but in their last two axes, the first
   and b, the third alone. */
typedef enum Broadcasts {
    BROADCASTS_NONE,
    BROADCASTS_ALL,
    BROADCASTS_BATCH,
    BROADCASTS_PAIR,
    BROADCASTS_C
} Broadcasts;
enum { DRAFT_CONSTANTS = 64 }; /* as many bits has Draft.constants */
typedef struct Draft {
    Model *m;
    World *w;
    Node node;
    const Attr *attr;
    const EmitContext *context;
    Emit *e;
    Value slot[EMIT_SLOTS]; /* inputs that come from attributes, by their place in ONNX */
    uint32_t filled;        /* which places these are */
    uint64_t constants;     /* inputs of ours that became attributes */
    bool kept;              /* keepdims: the reduced axes are to be kept as 1s */
    Broadcasts broadcasts;
    const char *why;
} Draft;
bool draft_fail(Draft *, const char *why); /* false; the first reason is kept */

/* Of our node: the type of input k (NULL: there is none), the index of an attribute (-1: it has
   none), its list (empty: it has none). */
const Type *draft_type(const Draft *, int k);
int draft_attr(const Draft *, const char *name);
PolyList draft_list(const Draft *, const char *name);

/* Add an attribute to the ONNX node: an empty one of a kind, an integer, a list of integers, an
   attribute of our node under that name. */
OnnxAttr *draft_new(Draft *, const char *name, OnnxAttrKind);
bool draft_int(Draft *, const char *name, int64_t);
bool draft_ints(Draft *, const char *name, PolyList); /* false: one depends on sizes */
bool draft_put(Draft *, const char *name, int attr);
/* A constant input of our node, if it is given, as an attribute: a list, or else one number. */
bool draft_constant(Draft *, const char *ours, const char *theirs, bool list);

/* Set an input of the ONNX node, by its place from 0: to a value (0: left out), a list of sizes, or
   an attribute of our node as a tensor; `list`: a single number becomes a list of one. */
bool draft_slot(Draft *, int place, Value);
bool draft_list_slot(Draft *, int place, PolyList);
bool draft_real_slot(Draft *, int place, int attr);
bool draft_input(Draft *, int attr, int place, bool list);
/* A size as a list of one number, computed in the model; 0: a symbol that nothing in the model
   shows. */
Value draft_size(Draft *, Poly);

/* onnx/items.c: an item X:SPECIAL of the operator's table, inverted. */
bool item_export(Draft *, const char *ours, const char *name);
#endif
