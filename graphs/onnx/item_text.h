/* item_text.h -- an item of an operator's ONNX spelling (OnnxMap.attrs), read from its text. What
   items mean: ops/operator/operator.h. */
#ifndef ISOMER_ONNX_ITEM_TEXT_H
#define ISOMER_ONNX_ITEM_TEXT_H
#include "ops/base/arena.h"

typedef enum ItemKind {
    ITEM_ATTR,     /* OURS, OURS=THEIRS, OURS=THEIRS^, OURS=THEIRS|input:K */
    ITEM_INPUT,    /* OURS=input:K, OURS=input:K[] */
    ITEM_CONSTANT, /* OURS=list:THEIRS, OURS=number:THEIRS */
    ITEM_FIXED,    /* OURS=VALUE! */
    ITEM_EQUALS,   /* THEIRS==VALUE, +THEIRS==VALUE */
    ITEM_IGNORED,  /* THEIRS:ignore */
    ITEM_SPECIAL   /* OURS:SPECIAL */
} ItemKind;
typedef struct ItemText {
    ItemKind kind;
    const char *ours;   /* our attribute, or input, or what a special is about; NULL: none */
    const char *theirs; /* the attribute in ONNX; NULL: none is named */
    const char *value;  /* VALUE or SPECIAL; NULL: none */
    int input;          /* K; -1: none */
    bool list;          /* []: a single number is written as a list of one; list: */
    bool capitals;      /* ^: a word is written in capitals */
    bool written;       /* +: exported too */
} ItemText;
/* Takes the next item off a list (NULL is an empty one); its texts live in the arena. False: the
   list is at its end. */
bool item_next(Arena *, const char **list, ItemText *);
/* Whether a list has a special item about `ours`, of this name or (NULL) of any. */
bool items_have_special(Arena *, const char *list, const char *ours, const char *name);
#endif
