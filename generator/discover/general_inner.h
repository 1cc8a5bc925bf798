/* general_inner.h -- what the files that generalize a part share: the part in hand, its
   placeholders and the symbols of its sizes. */
#ifndef ISOMER_GENERAL_INNER_H
#define ISOMER_GENERAL_INNER_H
#include "generator/discover/general.h"
#include "generator/lift_inner.h"

/* A part that exceeds one of these is not generalized, or less of it is. */
enum {
    LISTS = 32, /* of attributes that are symbols */
    INPUTS = 24,
    ONES = 24, /* sizes of 1 that may be symbols */
    SYMBOLS = LIFT_SYMBOLS,
    NUMERATOR = 1024, /* of a constant that becomes a number of the rule */
    DENOMINATOR = 64
};
typedef struct General {
    World *w;
    Arena *a;
    Lift *l;
    const Part *p;
    Sizes real;
    Keep keep;
    int multiple; /* of what the result's sizes are; 0: of nothing */
    Value *to;    /* by value of the model: what it is here */
    int nin, nones, nsymbol;
    Value old[INPUTS], in[INPUTS];
    int rank[INPUTS]; /* the place of each input among the names, from 1; 0: not known yet */
    bool one[ONES];   /* whether the sizes of 1, as they are met, are symbols */
    Symbol symbol[SYMBOLS];
    int64_t value[SYMBOLS]; /* of the symbols, at the place */
    int nlist;
    struct FreeList { /* of attributes that are symbols: equal ones are the same */
        const Op *op;
        int attr;
        PolyList number, entry;
    } list[LISTS];
} General;

/* The number that a size is in the model; false: it is none. */
bool general_real(const General *, Poly, int64_t *);
/* A new symbol of this value; 0: there are too many. */
Poly general_fresh(General *, int64_t value, bool attribute);
/* By symbol the value at the place. */
Sizes general_values(General *);
/* Gives values to the symbols that solving made, x = s * new; false: one has none. */
bool general_solved(General *);
/* Whether the part's needs hold at the place, and its inputs have there the sizes that they
   should. */
bool general_holds(General *, const Graph *);
/* The sizes of the result from the third axis on, those that are such multiples and follow simply
   from those of the data, as a multiple of a symbol. false: there is none. */
bool general_multiple(General *, Graph *);
#endif
