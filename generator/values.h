/* values.h -- values of terms at random points, and the keys under which equal ones meet.

   Every kind of input has a pool of random tensors; a naming gives each variable one of them. The
   key of a term is the least hash over the namings that give its variables of one kind different
   tensors out of the first ones, so that terms equal up to renaming have one key. Variables on
   which the value does not depend take no part. What inner instructions give under a naming is kept
   while further instructions are added to the term. */
#ifndef ISOMER_VALUES_H
#define ISOMER_VALUES_H
#include "generator/program.h"
#include "generator/space.h"

enum { POOL = 8, NAMINGS_MAX = 24 };
typedef struct Naming {
    uint8_t of[TERM_VARS]; /* POOL - 1: the value does not depend on it */
} Naming;
typedef struct Key {
    uint64_t hash; /* even; + 1: some other naming gives the same value */
    int n;         /* namings that give the least hash, at most NAMINGS_MAX of them */
    Naming name[NAMINGS_MAX];
} Key;
typedef struct Memo { /* what an instruction gives under namings of the variables below it */
    uint64_t key;
    uint32_t stamp;
    const Lanes *value;
} Memo;
typedef struct ValueCone {
    Typing *typing;
    unsigned vars;
    uint32_t stamp;
    Arena *arena;
    ArenaMark empty;
    Memo *memo[TERM_PORTS];
} ValueCone;
typedef struct Values {
    Space *s;
    int stage;
    uint64_t seed;
    ProgramRunner run;
    Lanes *pool[SPACE_KINDS][POOL];
    const uint32_t *coefficient;
    Term t; /* the term in hand; shape: of its values */
    ShapeId shape[REF_OUT + 2 * TERM_OPS];
    ValueCone cone[TERM_OPS];
    Lanes *temp, *root;
    int temp_room;
    Naming name;
    uint64_t evaluations;
} Values;

void lanes_draw(Lanes *, int n, uint64_t seed); /* random elements */
/* Elements of a type: floats as above or, if halves, multiples of 1/2 from -5/2 to 5/2; truth
   values; integers that the type holds, of 8 bits any, else small ones. */
void lanes_draw_type(Lanes *, int n, uint64_t seed, DType, bool halves);
bool lanes_known(const Lanes *, int n); /* at least one point of eight */
Values *values_new(Space *, int stage, uint64_t seed);
void values_free(Values *);
/* Takes over the term up to instruction i (i = -1: its variables), which must type; those before
   are as they were. */
bool values_push(Values *, int i);
bool values_load(Values *, const Term *); /* a whole term; false: it does not type-check */
/* All of these are of the term in hand. false: a value is not known at these points. */
bool values_key(Values *, Ref root, Key *);
bool values_hash(Values *, Ref root, const Naming *, uint64_t *); /* under one naming */
/* Variables of a kind take its tensors in order. */
void values_plain_naming(const Values *, Naming *);
#endif
