/* outline.h -- a rule's text split into names, operators, attributes and the entries of its lists,
   as written: axis blocks are kept and nothing is typed. This is for programs that export rules as
   text; an Instance has their meaning (rule.h). Comments are dropped. */
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
    OutlineList value; /* one entry if it is not a list */
} OutlineAttr;
typedef struct OutlineNode {
    const char *op;
    OutlineList out, in; /* names without %; "_" for one that is left out */
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
    OutlineList where;     /* the author's conditions */
    OutlineList condition; /* the conditions of the verdict */
    OutlineList all;       /* blocks for which it is proved at all ranks: "b", "h" */
} Outline;
/* Splits a rule into parts that live in the arena. Fails with E_INVALID and the line if the text is
   not that of a rule, or contains a constant with contents. */
bool outline_read(Arena *, const Rule *, Outline *, Error *);
#endif
