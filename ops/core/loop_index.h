/* loop_index.h -- the indices of a loop program while it is compiled: each polynomial of sizes and
   indices as an affine form over loop variables and registers. Quotients, remainders and minima
   disappear where ranges decide them, and are registers elsewhere; equal registers are one. */
#ifndef ISOMER_LOOP_INDEX_H
#define ISOMER_LOOP_INDEX_H
#include "ops/core/loop.h"

enum { VARS = LOOP_VARS, TERMS = 24, REGISTERS = 256 };
typedef struct AffineSum {
    int64_t c;
    int n;
    struct {
        int64_t k;
        int r;
    } t[TERMS]; /* ascending r, no zero k */
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
    ProgramWords reg; /* the registers' part of the program */
    int reg_at[REGISTERS + 1];
    uint64_t reg_depends[REGISTERS]; /* by number - VARS: variables as bits */
    Range reg_range[REGISTERS];
    Error *error;
    bool failed; /* *error says why; whatever is made from then on is of no use */
} Indices;

void index_fail(Indices *, const char *why);
void loop_put_word(ProgramWords *, int64_t);
AffineSum index_affine(Indices *, Poly);
int64_t index_number(Indices *, Poly); /* it must not depend on an index */
Range index_range(Indices *, const AffineSum *);
uint64_t index_depends(const Indices *, const AffineSum *); /* on which variables, as bits */
void index_put(ProgramWords *, const AffineSum *);
int index_declare(Indices *, Symbol); /* the number of a bound variable */
/* The literals whose truth does not follow from the ranges of the variables; returns how many. */
int index_undecided(Indices *, const Cond *, AffineSum out[], bool eq[]);
#endif
