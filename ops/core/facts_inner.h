/* facts_inner.h -- what facts.c (assumptions) and facts_prove.c (the proof search) share. */
#ifndef ISOMER_FACTS_INNER_H
#define ISOMER_FACTS_INNER_H
#include "ops/core/facts.h"

typedef struct Known { /* what is known of one symbol */
    Symbol symbol;
    bool bounded; /* symbol >= least */
    bool defined; /* the inequalities of its definition are among the facts */
    int64_t least;
} Known;
typedef struct Fact {
    Poly p;       /* p >= 0 */
    Poly shifted; /* p with every bounded symbol s replaced by s + least(s): its symbols are then >=
                     0 */
} Fact;
typedef struct Given {
    Symbol symbol;
    int64_t least;
} Given;
struct Facts {
    World *w;
    Arena *arena;
    int nsolved;
    Symbol *from; /* solved symbols, and what they are: mentions none of them */
    Poly *to;
    int nfact, room_fact, nknown, room_known, ngiven, room_given, nopen, room_open;
    Fact *fact;
    Known *known;
    Given *given;
    /* Equations that could not be solved; they are among the facts as two inequalities too. */
    Poly *open;
};

/* P >= 0 follows, where every symbol of p is in `known`; also false on overflow. */
bool facts_prove(Facts *, Poly);
void facts_add(Facts *, Poly); /* p >= 0 */
/* Enters its symbols and those of their definitions, inner ones first. */
void facts_learn(Facts *, Poly);
/* That floor, if it is one, against the facts from `fact` on; true: facts were added. */
bool facts_round(Facts *, int known, int fact);
/* Bounds and definitions of the symbols from `known` on, to a fixpoint; shifts the facts from
   `fact` on. What overflows is left out. */
void facts_settle(Facts *, int known, int fact);
#endif
