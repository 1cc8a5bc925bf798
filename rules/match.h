/* match.h -- where a rule's left side occurs in a graph (instances come from rule_instance_apart,
   facts from graph_facts). A root is an output of the left side. The first root is matched from
   each node of its operator toward the inputs; further roots are searched for among the users of
   values bound so far, else among all nodes of their operator, and must agree with the bindings so
   far. A match binds every input, size and real variable of the rule; whether the conditions hold
   is checked when it is applied (match_apply.h), against the facts about the model's sizes. */
#ifndef ISOMER_MATCH_H
#define ISOMER_MATCH_H
#include "graphs/rewrite.h"
#include "ops/core/facts.h"
#include "rules/rule.h"

typedef struct Match {
    const Instance *instance;
    const Value *input; /* the graph's value for each rule input */
    const Value *root;  /* the graph's value for each output of the left side */
    const Poly *symbol; /* for each symbol of the instance */
    const Ex *real;     /* for each real variable: a number */
    bool rounds;        /* a float of the graph matched a rational that it only rounds, or -0 a 0 */
} Match;
typedef struct Matcher Matcher; /* a graph indexed by operator, with uses; lives in the arena */
Matcher *matcher_new(World *, Arena *, const Graph *, Facts *);
Uses matcher_uses(const Matcher *); /* of the graph */
/* The same over classes of equal values (rules/egraph.h): classes are bound, each by the value that
   represents it. */
typedef struct MatchClasses {
    NodeList nodes; /* the nodes to match, ascending; their inputs represent classes */
    const Value *root,
        *next; /* by value: the representative of its class; the next member, cyclic */
} MatchClasses;
Matcher *matcher_new_classes(World *, Arena *, const MatchClasses *, Facts *);
/* Calls back for each match of the instance in a fixed order (first roots ascending). The callback
   returns false to stop; a match is valid during the callback only. */
typedef bool (*MatchFound)(void *user, const Match *);
void matcher_run(Matcher *, const Instance *, MatchFound, void *user);
/* The operators, by number, that any graph has in which the left side occurs: a quick look says of
   most instances that they do not. In the arena. */
typedef struct OpList {
    int n;
    const int *v;
} OpList;
OpList instance_needs(World *, Arena *, const Instance *);
bool matcher_has(const Matcher *, OpList);
/* Only matches with these roots; root NULL: all matches. */
void matcher_run_at(Matcher *, const Instance *, const Value root[], MatchFound, void *user);

Match match_keep(Arena *, const Match *); /* a copy that outlives the callback */
#endif
