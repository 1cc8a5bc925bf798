/* minimize.h -- two choices among proved rules. The proof basis: rules that an e-graph cannot
   derive from the rest. The search set: rules that make a graph cheaper, each in the direction in
   which it does, without those whose effect a chain of other rules of the set has, too. */
#ifndef ISOMER_MINIMIZE_H
#define ISOMER_MINIMIZE_H
#include "generator/price.h"
#include "rules/derivable.h"

typedef void (*MinimizeTold)(void *user, int done, int total);
typedef struct Minimize {
    Arena *arena;
    EGraphLimits limits;
    /* Rules that may be used anyway, each in its own direction only; NULL: none. */
    const RuleSet *known;
    MinimizeTold told; /* called with the progress; may be NULL */
    void *user;
} Minimize;
/* Sets kept[k] for the rules of the basis. Small rules are added first; then, from the largest
   down, those that the rest of the basis implies are removed again. */
bool minimize_basis(const Minimize *, const RuleSet *, bool kept[], Error *);
/* Sets wanted[k] to the directions in which the search should use rule k, PRICE_SAME if in none. */
bool minimize_search(const Minimize *, const RuleSet *, Cheaper wanted[], Error *);
/* The rule with its sides exchanged and without a verdict; its name ends with -back. */
Rule rule_reversed(Arena *, const Rule *);
#endif
