/* emit_draft.h -- a draft of an ONNX node (emit.c), and functions that add attributes and inputs to
   it (emit_draft.c). Everything lives in the World's arena. */
#ifndef ISOMER_ONNX_EMIT_DRAFT_H
#define ISOMER_ONNX_EMIT_DRAFT_H
#include "graphs/onnx/export/export.h"

/* Which of its inputs the ONNX operator broadcasts by itself. */
typedef enum Broadcasts {
    BROADCASTS_NONE,
    BROADCASTS_ALL,
    BROADCASTS_BATCH, /* all, except in their last two axes */
    BROADCASTS_PAIR,  /* the first one and b */
    BROADCASTS_C      /* the third one */
} Broadcasts;
enum { DRAFT_CONSTANTS = 64 }; /* the number of bits of Draft.constants */
typedef struct Draft {
    Model *m;
    World *w;
    Node node;        /* the Isomer node that is written */
    const Attr *attr; /* its attributes */
    const EmitContext *context;
    OnnxNodeDraft *e;       /* the ONNX node so far */
    Value slot[EMIT_SLOTS]; /* inputs that come from attributes of the Isomer node, by position in
                               ONNX */
    uint32_t filled;        /* a bit for each position that is set in `slot` */
    uint64_t constants;     /* a bit for each input of the Isomer node that became an attribute */
    /* The draft expresses a reduction together with the reshape that keeps its axes as 1s. */
    bool kept;
    Broadcasts broadcasts;
    const char *why;
} Draft;
/* Records why the draft fails, unless a reason is recorded already; returns false. */
bool draft_fail(Draft *, const char *why);

/* About the Isomer node: the type of input k (NULL if there is none), the index of an attribute (-1
   if there is none), and an attribute that is a list (empty if there is none). */
const Type *draft_type(const Draft *, int k);
int draft_attr(const Draft *, const char *name);
PolyList draft_list(const Draft *, const char *name);

/* Add an attribute to the ONNX node: an empty one of this kind; an integer; a list of integers; an
   attribute of the Isomer node under this name. */
OnnxAttr *draft_new(Draft *, const char *name, OnnxAttrKind);
bool draft_int(Draft *, const char *name, int64_t);
/* Fails if one of the numbers depends on sizes. */
bool draft_ints(Draft *, const char *name, PolyList);
bool draft_put(Draft *, const char *name, int attr);
/* Writes a constant input of the Isomer node, if there is one, as an attribute: a list or, without
   `list`, a single number. */
bool draft_constant(Draft *, const char *ours, const char *theirs, bool list);

/* Set the input of the ONNX node at this position, from 0: to a value (0: left out); to a list of
   sizes; to an attribute of the Isomer node as a tensor. With `list`, a single number becomes a
   list of one. */
bool draft_slot(Draft *, int place, Value);
bool draft_list_slot(Draft *, int place, PolyList);
bool draft_real_slot(Draft *, int place, int attr);
bool draft_input(Draft *, int attr, int place, bool list);
/* Returns a value that is this size as a list of one number, computed from sizes in the model.
   Returns 0 if the size contains a symbol that no value in the model has as a size. */
Value draft_size(Draft *, Poly);

/* graphs/onnx/items.c: a special item X:SPECIAL of the operator's table, on export. */
bool item_export(Draft *, const char *ours, const char *name);
#endif
