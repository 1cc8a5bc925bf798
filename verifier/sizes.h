/* sizes.h -- what a rule says about sizes: the equations are solved, and what remains are facts. */
#ifndef ISOMER_VERIFIER_SIZES_H
#define ISOMER_VERIFIER_SIZES_H
#include "rules/rule.h"
#include "verifier/apply.h"

typedef struct SizeFacts {
    World *w;
    Arena *arena;
    int nsolved, nfact, room;
    /* The symbol from[k], which the left side and `where` determine, equals to[k]. */
    Symbol *from;
    Poly *to;
    Lit *fact; /* what holds of the symbols that were not solved for */
    int nsize; /* symbols size[k] that are known to be >= low[k], which is >= 0 */
    Symbol *size;
    int64_t *low;
    int nquotient; /* the symbol quotient[k] stands for the quotient meaning[k] */
    Symbol *quotient;
    Poly *meaning;
} SizeFacts;

/* Collects what the instance assumes: need_from, where, and that sizes are not negative. Returns
   false if these contradict each other or a size exceeds 64 bits. */
bool size_facts(World *, Arena *, const Instance *, SizeFacts *);
/* The literal with the solved symbols replaced by their values. */
Lit lit_solved(const SizeFacts *, Lit);
/* The literal in the rule's own symbols: with the quotients for which symbols stand. */
Lit lit_restated(const SizeFacts *, Lit);
#endif
