/* facts_inner.h -- shared by facts.c (assumptions) and facts_prove.c (the proof search). */
#ifndef ISOMER_FACTS_INNER_H
#define ISOMER_FACTS_INNER_H
#include "ops/core/facts.h"

typedef struct Known { /* what is known about one symbol */
    Symbol symbol;
    bool bounded; /* symbol >= least */
    bool defined; /* the inequalities of its definition have been added to the facts */
    int64_t least;
} Known;
typedef struct Fact {
    Poly p;       /* p >= 0 */
    Poly shifted; /* p with every bounded symbol s replaced by s + least(s), so that these symbols
                     are >= 0 */
} Fact;
/* A lower bound set by facts_at_least; INT64_MIN: the symbol has none. */
typedef struct Given {
    Symbol symbol;
    int64_t least;
} Given;
struct Facts {
    World *w;
    Arena *arena;
    int nsolved;
    Symbol *from; /* from[i] is solved as to[i], which mentions no solved symbol */
    Poly *to;
    int nfact, room_fact, nknown, room_known, ngiven, room_given, nunsolved, room_unsolved;
    Fact *fact;
    Known *known;
    Given *given;
    /* Equations that could not be solved; each is also among the facts, as two inequalities. */
    Poly *unsolved;
};

/* Whether p >= 0 follows; every symbol of p must be in `known`. Also false on overflow. */
bool facts_prove(Facts *, Poly);
void facts_add(Facts *, Poly); /* adds the fact p >= 0, unless it is constant or overflowed */
/* Enters the symbols of p, and those in their definitions, into `known`, inner ones first. */
void facts_learn(Facts *, Poly);
/* If known[known] is a floor, derives bounds on it from the facts from `fact` on. True: facts were
   added. */
bool facts_round(Facts *, int known, int fact);
/* Derives bounds and adds definitions for the symbols from known[known] on, up to a fixpoint or a
   limit of rounds, and updates `shifted` of the facts from `fact` on. What overflows is left
   out. */
void facts_settle(Facts *, int known, int fact);
#endif
