/* derivable.h -- decides which rules follow from which. The two sides of a rule are put into an
   e-graph, which is saturated with other rules as equations; the rule follows if its sides meet.
   The rule's own needs and conditions are facts meanwhile, and an equation is used only where these
   entail its conditions. "No" means: not found within the limits. */
#ifndef ISOMER_DERIVABLE_H
#define ISOMER_DERIVABLE_H
#include "rules/egraph.h"

/* Equations live in the World and the arena. Questions leave nothing there. */
typedef struct Derivable Derivable;
Derivable *derivable_new(World *, Arena *);
/* Adds a rule as equations at all its lengths and returns its number. A length at which it does not
   type gives none. */
int derivable_add(Derivable *, const Rule *);
/* Says in which directions a rule may be used; at first in both. */
void derivable_use(Derivable *, int rule, bool forward, bool backward);

typedef struct DerivableStep {
    int rule;
    bool backward; /* used from right to left */
} DerivableStep;
typedef struct DerivableAnswer {
    bool follows;     /* whether it follows at every length of the rule */
    int nlength, yes; /* lengths at which it was asked; those at which it follows */
    int n; /* number of rules used at the first length at which it follows, each counted once */
    DerivableStep *v; /* these rules, in the caller's arena */
} DerivableAnswer;
/* Asks whether a rule follows. Fails with E_INVALID if the rule does not type-check at some
   length. */
bool derivable_ask(Derivable *, Arena *, const Rule *, EGraphLimits, DerivableAnswer *, Error *);
#endif
