/* attr.h -- attributes: AttrDef is how an operator declares one, Attr its value on a node. A node
   carries values for all attributes of its operator, with defaults filled in; they are interned as
   one record. */
#ifndef ISOMER_ATTR_H
#define ISOMER_ATTR_H
#include "ops/core/type.h"

enum { ATTRS_MAX = 16 }; /* the most attributes of any operator; a test checks this */
typedef enum AttrKind { A_INT, A_INTS, A_ENUM, A_REAL, A_DTYPE, A_BLOB } AttrKind;
/* How the default `init` fills an omitted list: as it stands, or repeated, once for each spatial
   axis (there are rank of input 0 minus 2), for both sides of each spatial axis, or for each
   axis. */
typedef enum AttrFill { AS_IS, PER_SPATIAL, PER_SIDE, PER_AXIS } AttrFill;
typedef struct AttrDef {
    const char *name;
    AttrKind kind;
    const char *init;  /* the default in text form; NULL: the attribute must be given */
    const char *words; /* A_ENUM: the allowed words, separated by blanks; the first is 0 */
    AttrFill fill;
    bool axes; /* the entries are axes of input 0; signatures count negative ones from the front and
                  sort lists in ascending order */
    bool element; /* A_REAL: the number is an element of the result's type; others are floats */
    /* The values from which random tests draw each list entry, such as "1 2 3"; NULL: the
       operator's own test draws them. */
    const char *draw;
} AttrDef;

typedef struct PolyList {
    int n;
    const Poly *v;
} PolyList;
typedef struct Attr { /* AttrDef.kind says which member is used */
    PolyList ints;    /* A_INT: one entry */
    int enum_value;   /* A_ENUM: the position in the list of words; A_DTYPE: a DType */
    Ex real;          /* A_REAL: a number or a rule's variable */
    uint32_t blob;    /* A_BLOB: a blob stored by graphs/ (a constant or an opaque node) */
} Attr;
typedef uint32_t AttrsId;

/* Returns the position of the first attribute whose number is lost in the type that holds it: a
   float, or the type of the node's result for an element. A number is lost if it becomes 0 or
   infinite, or is not an integer in a type of integers; but not a default at the greatest float,
   which stands for no bound. -1: none is. */
int attrs_lost(World *, const AttrDef *, const Attr *, DType result);

/* Interns the values, given in the order of the definitions; these may be NULL (no attributes). */
AttrsId attrs_intern(World *, const AttrDef *, const Attr *);
/* Stores the values in out[]; lists point into the table. */
void attrs_get(const World *, const AttrDef *, AttrsId, Attr *out);
int attrs_count(const AttrDef *);
int attrs_find(const AttrDef *, const char *name); /* the index of this attribute; -1: none */
/* Stores the default of an attribute, where `rank` is that of input 0. False: it has no default and
   must be given. */
bool attr_default(World *, const AttrDef *, int rank, Attr *out);
bool attr_equal(const AttrDef *, const Attr *, const Attr *);
void attr_print(const World *, const AttrDef *, const Attr *, Text *);
/* Parses a value without its name: 3, [1, h], valid, 0.5, 1/6, F. Lists live in the World. */
bool attr_parse(World *, Scan *, const AttrDef *, Attr *out);
#endif
