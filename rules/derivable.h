/* derivable.h -- which rules follow from which: a rule's two sides are put into an e-graph,
   saturated with other rules as equations, and follow when they meet. What the rule itself needs of
   sizes, and its conditions, is known meanwhile; an equation is used only where its own conditions
   are shown by that. "No" means: not found within the limits. */
#ifndef ISOMER_FOLLOW_H
#define ISOMER_FOLLOW_H
#include "rules/egraph.h"

typedef struct Follow Follow;
Follow *follow_new(World *, Arena *); /* equations live in both; questions leave nothing there */
/* Adds a rule as equations at all its lengths; returns its number. A length at which it does not
   type gives none. */
int follow_add(Follow *, const Rule *);
void follow_use(Follow *, int rule, bool forward, bool backward); /* at first both */

typedef struct FollowStep {
    int rule;
    bool backward; /* used from right to left */
} FollowStep;
typedef struct FollowAnswer {
    bool follows;     /* at every length of the rule */
    int nlength, yes; /* lengths at which it was asked, and followed */
    int n;            /* rules used, each once, at the first length */
    FollowStep *v;    /* in the caller's arena */
} FollowAnswer;
/* E_INVALID: the rule does not type at a length. */
bool follow_ask(Follow *, Arena *, const Rule *, EGraphLimits, FollowAnswer *, Error *);
#endif
