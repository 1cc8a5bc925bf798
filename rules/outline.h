/* outline.h -- a rule's text taken apart into names, operators, attributes and the entries of its
   lists, as they are written: axis blocks stay what they are, nothing is typed. For what hands
   rules on as they stand; what they mean is an Instance (rule.h). Comments are dropped. */
#ifndef ISOMER_RULES_OUTLINE_H
#define ISOMER_RULES_OUTLINE_H
#include "rules/rule.h"

typedef struct OutlineList { /* entries, or conditions */
    int n, room;
    const char **v;
} OutlineList;
typedef struct OutlineInput {
    const char *name, *element; /* "x", "F" */
    OutlineList size;           /* "n", "c", "h.." */
} OutlineInput;
typedef struct OutlineAttr {
    const char *name;
    bool is_list;
    OutlineList value; /* not a list: one entry */
} OutlineAttr;
typedef struct OutlineNode {
    const char *op;
    OutlineList out, in; /* names without %; "_": left out */
    int nattr, room;
    OutlineAttr *attr;
} OutlineNode;
typedef struct OutlineSide {
    int n, room;
    OutlineNode *v;
    OutlineList out;
} OutlineSide;
typedef struct Outline {
    int ninput, room;
    OutlineInput *input;
    OutlineSide from, to;
    OutlineList where;     /* of the author */
    OutlineList condition; /* of the verdict */
    OutlineList all;       /* blocks for which it is proved at all ranks: "b", "h" */
} Outline;
/* In the arena. E_INVALID with the line: this is not a rule's text, or a constant stands in it. */
bool outline_read(Arena *, const Rule *, Outline *, Error *);
#endif
