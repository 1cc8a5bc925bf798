/* match.h -- where a rule's left side occurs in a graph, and what its right side is there. One root is matched downward from a node of its operator; further roots are found over an index
   of operators and joined on the shared bindings. Every match is checked: needs and conditions must be entailed by the facts of the model's sizes. */
#ifndef ISOMER_MATCH_H
#define ISOMER_MATCH_H
#include "graphs/rewrite.h"
#include "ops/core/facts.h"
#include "rules/rule.h"

typedef struct Match {
    const Instance *instance;
    const Value *input; /* the model's value for each rule input */
    const Value *root;  /* the model's value for each output of the left side */
    const Poly *symbol; /* for each symbol of the instance */
    const Ex *real;     /* for each real variable */
    int overlap;        /* nodes of the match that are used from outside it too (they stay) */
} Match;
typedef struct Matcher Matcher; /* a graph indexed by operator, with uses */
Matcher *matcher_new(World *, Arena *, const Graph *, Facts *);
/* Calls back for each match of the instance, in a fixed order (roots ascending); the callback returns false to stop. Matches are valid during the callback only. */
typedef bool (*MatchFound)(void *user, const Match *);
void matcher_run(Matcher *, const Instance *, MatchFound, void *user);
/* Builds the right side in the world: to[i] replaces match->root[i]. False (with reason): it does not type, or a condition is not entailed. */
bool match_apply(World *, Arena *, Facts *, const Match *, Value to[], Error *);
#endif
