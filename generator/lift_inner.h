/* lift_inner.h -- what the files of lifting share: the candidate in hand, its sizes and its
   programs. */
#ifndef ISOMER_LIFT_INNER_H
#define ISOMER_LIFT_INNER_H
#include "generator/lift.h"
#include "generator/program.h"
#include "graphs/rewrite.h"

enum { LIFT_SYMBOLS = 96, LIFT_EQUATIONS = 256, LIFT_WHOLE = 8, LIFT_POSITIVE = 4 };
typedef struct WholeList {
    const char *name, *base; /* base: in the set file */
    int n;
    const Poly *value, *v; /* there; in the rule */
} WholeList;
struct Lift {
    World *w;
    WorldMark mark;
    Space *s;
    Arena *arena;    /* of the candidate in hand */
    Arena *programs; /* by operator, attributes and sizes as numbers; kept */
    Intern *seen;
    Program **program;
    int program_room;
    ProgramRunner run;
    uint64_t seed, draw; /* draw: of the candidate in hand */
    LiftMode mode;
    bool one_way; /* the right side may be known where the left is not */
    int nfresh, nattribute, nsolved, nwhole, ndim, tie;
    Poly dim[LIFT_SYMBOLS],
        uniform[LIFT_SYMBOLS]; /* of the inputs: the fresh size, and what it is in the set file */
    Symbol attribute[LIFT_SYMBOLS], from[LIFT_SYMBOLS];
    Poly to[LIFT_SYMBOLS];
    WholeList whole[LIFT_WHOLE];
    int npositive;
    Poly positive[LIFT_POSITIVE]; /* sums of sizes: it is false where one of them is 0 */
};
/* Without a set of operators, over a World that stays its owner's: for graphs whose sizes are
   symbols already. lift_free frees it. */
Lift *lift_over(World *, uint64_t seed);
/* A size, or an unknown of attributes, that nothing else mentions. */
Poly lift_fresh(Lift *, bool attribute);
/* Solves eq[k] = 0, n of them, for symbols, as from[] and to[]: unknowns of attributes first, sizes
   where several are unknown. false: some equation is left, or contradicts the others. */
bool lift_solve(Lift *, int n, const Poly eq[]);
enum { SAMPLES = 24, SAMPLES_BLOCK = 8 };
/* Outputs k and k + nout/2 agree at random sizes and points. */
LiftResult lift_try(Lift *, const Graph *, int samples);
void lift_print(Lift *, const Graph *, Text *);
/* The same with axis blocks, and which; 0: nothing is printed, it depends on its rank. */
unsigned lift_print_blocks(Lift *, const Graph *, Text *);
/* Those that it could have; nothing is tried. */
unsigned lift_fits_blocks(Lift *, const Graph *);

typedef struct Renaming { /* of sizes to letters, but for those in `letters` */
    int n, next;
    const char *letters;
    Symbol from[LIFT_SYMBOLS];
    Poly to[LIFT_SYMBOLS];
} Renaming;
typedef const char *(*LiftAttrText)(void *user, const AttrDef *, const Attr *); /* NULL: as usual */
Poly lift_renamed(Lift *, Renaming *, Poly);
const char *lift_free_list(const Lift *, const PolyList *); /* its name; NULL: it is not free */
/* One side of a rule whose sides are the two halves of a graph's outputs. */
Graph rule_side(const Graph *, int side);
void lift_print_side(Lift *, const Graph *side, Renaming *, LiftAttrText, void *user, Text *);
#endif
