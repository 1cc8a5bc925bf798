/* item_text.h -- parses the items of an operator's ONNX spelling (OnnxMap.attrs). Their meaning is
   described in ops/operator/operator.h. */
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
    /* The operator's attribute or input, or the word a special item is about; NULL: none. */
    const char *ours;
    const char *theirs; /* the attribute of the ONNX node; NULL: none is named */
    const char *value;  /* VALUE or SPECIAL; NULL: none */
    int input;          /* K; -1: none */
    /* ITEM_INPUT: with [], a single number is written as a list of one. ITEM_CONSTANT: list:, not
       number:. */
    bool list;
    bool capitals; /* with ^: an enum value is written in capitals */
    bool written;  /* with +: the attribute is written on export, too */
} ItemText;
/* Parses the next item of a list and advances the list past it; a list of NULL is empty. The
   strings of the item live in the arena. Returns false at the end of the list. */
bool item_next(Arena *, const char **list, ItemText *);
/* Whether a list has a special item about `ours` that has this name or, if name is NULL, any
   name. */
bool items_have_special(Arena *, const char *list, const char *ours, const char *name);
#endif
