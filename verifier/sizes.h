/* sizes.h -- what a rule says about sizes: equations solved, facts, and what remains to be
   shown. */
#ifndef ISOMER_VERIFIER_SIZES_H
#define ISOMER_VERIFIER_SIZES_H
#include "rules/rule.h"
#include "verifier/apply.h"

typedef struct SizeFacts {
    World *w;
    Arena *arena;
    int nsolved, nfact, room;
    /* Symbols in terms of others: the sizes that the left side and `where` tie together. */
    Symbol *from;
    Poly *to;
    Lit *fact; /* what holds of the rest */
    int nsize; /* symbols known to be >= low >= 0 */
    Symbol *size;
    int64_t *low;
} SizeFacts;

/* Takes need_from, where, and that sizes are not negative. False: they contradict each other. */
bool size_facts(World *, Arena *, const Instance *, SizeFacts *);
/* The literal without the symbols that were solved. */
Lit lit_solved(const SizeFacts *, Lit);
#endif
