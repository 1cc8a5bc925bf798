/* lift_inner.h -- what the files of lifting share: the candidate in hand, its sizes, and the
   programs that run it. */
#ifndef ISOMER_LIFT_INNER_H
#define ISOMER_LIFT_INNER_H
#include "generator/lift.h"
#include "generator/program.h"
#include "generator/values.h"
#include "graphs/rewrite.h"

enum { LIFT_SYMBOLS = 96, LIFT_EQUATIONS = 256, LIFT_FREE_LISTS = 8, LIFT_POSITIVE = 4 };
/* An attribute list that a rule generalizes to a variable. */
typedef struct FreeAttrList {
    const char *name, *base; /* name: the variable in the rule; base: its name in the set file */
    int n;
    const Poly *value, *v; /* value: the list in the set file; v: in the rule */
} FreeAttrList;
struct Lift {
    World *w;
    WorldMark mark;
    Space *s;
    Arena *arena;    /* for the candidate in hand */
    Arena *programs; /* for programs, which are kept across candidates */
    Intern *seen;    /* number of a program, by operator, attributes and sizes as numbers */
    Program **program;
    int program_room;
    ProgramRunner run;
    int reach;           /* for lanes_draw */
    uint64_t seed, draw; /* draw: the seed for the candidate in hand */
    LiftMode mode;
    bool one_way; /* the right side may be defined where the left is not */
    int nfresh, nattribute, nsolved, nfree_list, ndim, tie;
    /* For each size of an input: its fresh name, and what it is in the set file. */
    Poly fresh_dim[LIFT_SYMBOLS], set_dim[LIFT_SYMBOLS];
    Symbol attribute[LIFT_SYMBOLS], from[LIFT_SYMBOLS];
    Poly to[LIFT_SYMBOLS];
    FreeAttrList free_list[LIFT_FREE_LISTS];
    int npositive;
    Poly positive[LIFT_POSITIVE]; /* sums of sizes: the rule is false where one of them is 0 */
};
/* Creates the state for trying graphs whose sizes are symbols already, without a set of operators.
   The World still belongs to the caller. Freed by lift_free. */
Lift *lift_over(World *, uint64_t seed);
/* A new size, or a new unknown of an attribute. */
Poly lift_fresh(Lift *, bool attribute);
/* Solves the n equations eq[k] = 0 for single symbols; the solutions are from[] and to[]. Unknowns
   of attributes are solved for first, but sizes where an equation has several such unknowns.
   Returns false if an equation is left over or contradicts the others. */
bool lift_solve(Lift *, int n, const Poly eq[]);
enum { SAMPLES = 24, SAMPLES_BLOCK = 8 };
/* Tries at random sizes and points whether outputs k and k + nout/2 agree. */
LiftResult lift_try(Lift *, const Graph *, int samples);
/* Prints the rule whose sides are the two halves of the graph's outputs. */
void lift_print(Lift *, const Graph *, Text *);
/* Prints the rule with axis blocks and returns which ones. Returns 0 and prints nothing if the rule
   depends on its rank. */
unsigned lift_print_blocks(Lift *, const Graph *, Text *);
/* The axis blocks that the rule could have by its form; nothing is run. */
unsigned lift_fits_blocks(Lift *, const Graph *);

typedef struct Renaming { /* new names of sizes; `letters` are taken already */
    int n, next;
    const char *letters;
    Symbol from[LIFT_SYMBOLS];
    Poly to[LIFT_SYMBOLS];
} Renaming;
/* The text of an attribute, or NULL to print it in the usual way. */
typedef const char *(*LiftAttrText)(void *user, const AttrDef *, const Attr *);
/* The polynomial with new names, which are chosen for sizes that have none yet. */
Poly lift_renamed(Lift *, Renaming *, Poly);
/* The name of the list's variable, or NULL if the list is not free. */
const char *lift_free_list(const Lift *, const PolyList *);
/* One side of a rule, given as a graph whose outputs are first those of the left side, then those
   of the right. */
Graph rule_side(const Graph *, int side);
/* Prints the nodes and the `out` line of one side. Attributes are printed by the callback (may be
   NULL). */
void lift_print_side(Lift *, const Graph *side, Renaming *, LiftAttrText, void *user, Text *);
#endif
