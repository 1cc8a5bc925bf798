/* derivable.h -- which rules follow from which: a rule's two sides are put into an e-graph,
   saturated with other rules as equations, and follow when they meet. What the rule itself needs of
   sizes, and its conditions, is known meanwhile; an equation is used only where its own conditions
   are shown by that. "No" means: not found within the limits. */
#ifndef ISOMER_DERIVABLE_H
#define ISOMER_DERIVABLE_H
#include "rules/egraph.h"

typedef struct Derivable Derivable;
Derivable *derivable_new(World *,
                         Arena *); /* equations live in both; questions leave nothing there */
/* Adds a rule as equations at all its lengths; returns its number. A length at which it does not
   type gives none. */
int derivable_add(Derivable *, const Rule *);
void derivable_use(Derivable *, int rule, bool forward, bool backward); /* at first both */

typedef struct DerivableStep {
    int rule;
    bool backward; /* used from right to left */
} DerivableStep;
typedef struct DerivableAnswer {
    bool follows;     /* at every length of the rule */
    int nlength, yes; /* lengths at which it was asked, and followed */
    int n;            /* rules used, each once, at the first length */
    DerivableStep *v; /* in the caller's arena */
} DerivableAnswer;
/* E_INVALID: the rule does not type-check at a length. */
bool derivable_ask(Derivable *, Arena *, const Rule *, EGraphLimits, DerivableAnswer *, Error *);
#endif
