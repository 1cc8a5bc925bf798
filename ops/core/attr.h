/* attr.h -- attributes as an operator declares them, and as a node carries them: all of them,
   defaults filled in, interned together. */
#ifndef ISOMER_ATTR_H
#define ISOMER_ATTR_H
#include "ops/core/type.h"

enum { ATTRS_MAX = 16 }; /* the most attributes that an operator has: a test counts them */
typedef enum AttrKind { A_INT, A_INTS, A_ENUM, A_REAL, A_DTYPE, A_BLOB } AttrKind;
/* How an omitted list is filled from `init`: as it stands, or once for each spatial axis (rank of
   input 0 minus 2), for both sides of each, for each axis. */
typedef enum AttrFill { AS_IS, PER_SPATIAL, PER_SIDE, PER_AXIS } AttrFill;
typedef struct AttrDef {
    const char *name;
    AttrKind kind;
    const char *init;  /* default in text form; NULL: must be given */
    const char *words; /* A_ENUM: the allowed words, separated by blanks; the first is 0 */
    AttrFill fill;
    bool axes; /* entries are axes of input 0: signatures write negative ones from the front, and
                  lists ascending */
    /* Values that random tests draw from, one for each list entry: "1 2 3"; NULL: the operator's
       own test draws them. */
    const char *draw;
} AttrDef;

typedef struct PolyList {
    int n;
    const Poly *v;
} PolyList;
typedef struct Attr { /* which member counts follows from AttrDef.kind */
    PolyList ints;    /* A_INT: one entry */
    int word;         /* A_ENUM: its number; A_DTYPE: a DType */
    Ex real;          /* A_REAL: a number or a rule's variable */
    uint32_t blob;    /* A_BLOB: a content of graphs/ (constants, opaque nodes) */
} Attr;
typedef uint32_t AttrsId;

/* Values in the order of the defs; defs may be NULL (none) */
AttrsId attrs_intern(World *, const AttrDef *, const Attr *);
void attrs_get(const World *, const AttrDef *, AttrsId, Attr *out); /* lists point into the table */
int attrs_count(const AttrDef *);
int attrs_find(const AttrDef *, const char *name); /* -1: none */
/* Rank of input 0; false: it has no default and must be given. */
bool attr_default(World *, const AttrDef *, int rank, Attr *out);
bool attr_equal(const AttrDef *, const Attr *, const Attr *);
void attr_print(const World *, const AttrDef *, const Attr *, Text *);
/* The value alone: 3, [1, h], valid, 0.5, 1/6, F; lists live in the World. */
bool attr_parse(World *, Scan *, const AttrDef *, Attr *out);
#endif
