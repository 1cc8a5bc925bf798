/* loop_index.h -- the indices of a loop program during compilation. Each polynomial of sizes and
   indices becomes an affine form over loop variables and registers. Quotients, remainders and
   minima are eliminated where ranges decide them, and become registers elsewhere; equal registers
   are shared. */
#ifndef ISOMER_LOOP_INDEX_H
#define ISOMER_LOOP_INDEX_H
#include "ops/core/loop.h"

enum { VARS = LOOP_VARS, TERMS = 24, REGISTERS = 256 };
typedef struct AffineSum {
    int64_t c;
    int n;
    struct {
        int64_t factor;
        int r;
    } t[TERMS]; /* terms factor * r with ascending r and no factor = 0; r: a variable, or VARS + a
                   register */
} AffineSum;
typedef struct ProgramWords {
    Arena *arena;
    int64_t *v;
    int n, room;
} ProgramWords;
typedef struct Range {
    int64_t low, high;
} Range;

typedef struct Indices {
    World *w;
    Sizes sizes;
    Arena *arena;
    int nvar, nreg;
    Symbol var[VARS];
    int64_t extent[VARS];
    ProgramWords reg; /* the words of all registers */
    /* where each register begins in `reg`; reg_at[nreg]: the end of the last one */
    int reg_at[REGISTERS + 1];
    uint64_t reg_depends[REGISTERS]; /* of each register: the variables that it depends on, as
                                        bits */
    Range reg_range[REGISTERS];
    Error *error;
    bool failed; /* *error says why; everything made since then is meaningless */
} Indices;

void index_fail(Indices *, const char *why);
void loop_put_word(ProgramWords *, int64_t);
AffineSum index_affine(Indices *, Poly);
int64_t index_number(Indices *, Poly); /* the value of a polynomial; fails if it depends on an
                                          index */
/* the range of its values over all values of the variables, inclusive */
Range index_range(Indices *, const AffineSum *);
/* the variables that it depends on, as bits */
uint64_t index_depends(const Indices *, const AffineSum *);
void index_put(ProgramWords *, const AffineSum *);
int index_declare(Indices *, Symbol); /* the number of a bound variable, new or known */
/* Stores the literals of a condition that the ranges of the variables do not imply; returns their
   number. */
int index_undecided(Indices *, const Cond *, AffineSum out[], bool eq[]);
#endif
