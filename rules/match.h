/* match.h -- finds where a rule's left side occurs in a graph (instances come from
   rule_instance_apart, facts from graph_facts).

   A root is an output of the left side. The first root is matched with each node of its operator,
   going toward the inputs. Further roots are searched for among the users of values bound so far or
   among all nodes of their operator, and must agree with the bindings so far. A match binds every
   input, size and real variable of the rule. Whether the conditions hold is checked when the match
   is applied (match_apply.h), against the facts about the model's sizes. */
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
    const Ex *real;     /* for each real variable, a number */
    bool rounds; /* a float of the graph matched a rational that it only approximates, or -0 matched
                    0 */
} Match;
typedef struct Matcher Matcher; /* a graph indexed by operator, with uses; lives in the arena */
Matcher *matcher_new(World *, Arena *, const Graph *, Facts *);
Uses matcher_uses(const Matcher *); /* the uses of the graph's values */
/* A matcher over classes of equal values (rules/egraph.h). Each class is bound by the value that
   represents it. */
typedef struct MatchClasses {
    NodeList nodes; /* the nodes to match, ascending; their inputs represent classes */
    const Value *root,
        *next; /* for each value: the representative of its class; the next member, cyclic */
} MatchClasses;
Matcher *matcher_new_classes(World *, Arena *, const MatchClasses *, Facts *);
/* Calls back for each match of the instance, in a fixed order (first roots ascending). The callback
   returns false to stop. A match is valid only during the callback. */
typedef bool (*MatchFound)(void *user, const Match *);
void matcher_run(Matcher *, const Instance *, MatchFound, void *user);
/* The operators, by number, that any graph with an occurrence of the left side has; in the arena.
   With matcher_has this rules out most instances quickly. */
typedef struct OpList {
    int n;
    const int *v;
} OpList;
OpList instance_needs(World *, Arena *, const Instance *);
bool matcher_has(const Matcher *, OpList);
/* Like matcher_run, but finds only matches with these roots. NULL: all matches. */
void matcher_run_at(Matcher *, const Instance *, const Value root[], MatchFound, void *user);

Match match_keep(Arena *, const Match *); /* a copy that outlives the callback */
#endif
