/* general_inner.h -- what the files that generalize a part share: the part in hand, its
   placeholders, and the symbols of its sizes. */
#ifndef ISOMER_GENERAL_INNER_H
#define ISOMER_GENERAL_INNER_H
#include "generator/discover/general.h"
#include "generator/lift_inner.h"

/* Limits. A part that exceeds one of them is not generalized, or not completely. */
enum {
    LISTS = 32, /* most attribute lists that are symbols */
    INPUTS = 24,
    ONES = 24, /* sizes of 1 that may become symbols */
    SYMBOLS = LIFT_SYMBOLS,
    NUMERATOR = 1024, /* of a constant that becomes a number in the rule */
    DENOMINATOR = 64
};
typedef struct General {
    World *w;
    Arena *a;
    Lift *l;
    const Part *p;
    Sizes real;
    Keep keep;
    int multiple; /* sizes of the result are multiples of this number; 0: of none */
    Value *to;    /* for each value of the model, its value in the part built here */
    int nin, nones, nsymbol;
    Value old[INPUTS], in[INPUTS];
    int rank[INPUTS]; /* the position of each input in the names, from 1; 0: not known yet */
    bool one[ONES];   /* for the sizes of 1, in the order in which they are met: whether they become
                         symbols */
    Symbol symbol[SYMBOLS];
    int64_t value[SYMBOLS]; /* the value of each symbol at the place */
    int nlist;
    struct FreeList { /* an attribute list that is symbols: equal lists share them */
        const Op *op;
        int attr;
        PolyList number, entry;
    } list[LISTS];
} General;

/* Sets *v to the value of a size in the model. Returns false if it has none. */
bool general_real(const General *, Poly, int64_t *);
/* A new symbol with this value at the place. Returns 0 if there are too many. */
Poly general_fresh(General *, int64_t value, bool attribute);
/* The values at the place, by symbol. */
Sizes general_values(General *);
/* Gives values to the symbols that solving created, as in x = s * new. Returns false if one has no
   value. */
bool general_solved(General *);
/* Whether, at the place, the part's needs hold and its inputs have the sizes that they have in the
   model. */
bool general_holds(General *, const Graph *);
/* Makes sizes of the result from the third axis on multiples of a symbol: those that are such
   multiples at the place and are a size of the data plus terms without that size. Returns false if
   there is none. */
bool general_multiple(General *, Graph *);
#endif
