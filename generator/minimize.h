/* minimize.h -- two choices among proved rules. The proof basis: what an e-graph cannot derive from
   the rest. The search set: what makes a graph cheaper, in the direction in which it does, without
   what a chain of others of the set does too. */
#ifndef ISOMER_MINIMIZE_H
#define ISOMER_MINIMIZE_H
#include "generator/price.h"
#include "rules/derivable.h"

typedef void (*MinimizeTold)(void *user, int done, int total);
typedef struct Minimize {
    Arena *arena;
    EGraphLimits limits;
    const RuleSet *known; /* rules that are known anyway, each in its own direction; NULL: none */
    MinimizeTold told;    /* NULL: none is */
    void *user;
} Minimize;
/* kept[k]: rule k is in the basis. Small rules are taken first, then those that what was taken
   later gives are dropped. */
bool minimize_basis(const Minimize *, const RuleSet *, bool kept[], Error *);
/* wanted[k]: the directions in which search wants rule k; PRICE_SAME: in none. */
bool minimize_search(const Minimize *, const RuleSet *, Cheaper wanted[], Error *);
/* Left and right exchanged, without a verdict; its name ends with -back. */
Rule rule_reversed(Arena *, const Rule *);
#endif
