/* values.h -- the values of terms at random points, and the keys under which equal terms meet.

   Every kind of input has a pool of random tensors; a naming assigns one of them to each variable.
   The key of a term is the least hash of its value over all namings that give different tensors to
   variables of one kind, taken from the first tensors of the pool. Terms that are equal up to
   renaming therefore have the same key. A variable on which the value does not depend takes no
   part. The values of inner instructions are kept by naming while further instructions are added to
   the term. */
#ifndef ISOMER_VALUES_H
#define ISOMER_VALUES_H
#include "generator/program.h"
#include "generator/space.h"

enum { POOL = 8, NAMINGS_MAX = 24 };
typedef struct Naming {
    uint8_t of[TERM_VARS]; /* the tensor of each variable; POOL - 1: the value does not depend on
                              the variable */
} Naming;
typedef struct Key {
    uint64_t hash; /* even; plus 1 if several namings give this value (the term has a symmetry) */
    int n;         /* namings with the least hash, at most NAMINGS_MAX of them */
    Naming name[NAMINGS_MAX];
} Key;
/* The value of an instruction's output under one naming of the variables below it. */
typedef struct Memo {
    uint64_t key;   /* the naming */
    uint32_t stamp; /* valid if equal to the stamp of the InstructionValues */
    const Lanes *value;
} Memo;
/* An instruction of the term in hand, and what is known of its values. */
typedef struct InstructionValues {
    Typing *typing;
    unsigned vars; /* the variables below it, as bits */
    uint32_t stamp;
    Arena *arena; /* holds the values of the memo */
    ArenaMark empty;
    Memo *memo[TERM_PORTS];
} InstructionValues;
typedef struct Values {
    Space *s;
    int stage;
    uint64_t seed;
    ProgramRunner run;
    Lanes *pool[SPACE_KINDS][POOL];
    const uint32_t *coefficient;
    Term t;                                /* the term in hand */
    ShapeId shape[REF_OUT + 2 * TERM_OPS]; /* the shapes of its values, by Ref */
    InstructionValues instruction[TERM_OPS];
    Lanes *temp, *root; /* room for intermediate results; for the value of the root */
    int temp_room;
    Naming name; /* the naming that is being evaluated */
} Values;

/* Draws random floats: at seven of the eight points below 2 or multiples of 1/2 up to 5/2 in
   magnitude; at one point below 2 * reach. LANES_REACH is the least reach. */
enum { LANES_REACH = 4 };
void lanes_draw(Lanes *, int n, uint64_t seed, int reach);
/* Draws elements of an element type: floats as lanes_draw does or, with `halves`, multiples of 1/2
   from -5/2 to 5/2; truth values; integers that the type holds, all of them for 8 bits and small
   ones for more. */
void lanes_draw_type(Lanes *, int n, uint64_t seed, DType, bool halves, int reach);
bool lanes_known(const Lanes *, int n); /* whether at least one in eight of the values is known */
/* Draws the pools of random tensors at the sizes of a stage. Freed by values_free. */
Values *values_new(Space *, int stage, uint64_t seed);
void values_free(Values *);
/* Types instruction i of v->t and forgets its old values; i = -1 takes over the variables. The
   instructions before i must be unchanged since they were pushed. Returns false if the instruction
   does not type-check. */
bool values_push(Values *, int i);
bool values_load(Values *, const Term *); /* pushes a whole term; false: it does not type-check */
/* The following functions concern the term in hand. They return false if a value is not known at
   these points. */
bool values_key(Values *, Ref root, Key *);
/* The hash of a value under one naming. */
bool values_hash(Values *, Ref root, const Naming *, uint64_t *);
/* The naming that gives the variables of each kind the tensors of its pool in order. */
void values_plain_naming(const Values *, Naming *);
#endif
