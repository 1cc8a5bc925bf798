/* egraph.h -- equality saturation over the World's tables (Willsey et al., egg, POPL 2021).

   A class is a set of equal values. The nodes are the World's own: since the World hash-conses them
   over the values that represent the classes of their inputs, it serves as the e-graph's memo.
   Unions are cheap and break congruence; egraph_rebuild repairs it once for all of them (deferred
   rebuilding). Every union keeps its reason, so an equality can be explained by the rules that it
   came from (Nieuwenhuis and Oliveras, RTA 2005). Nothing depends on addresses or time: the same
   calls give the same classes.

   An e-graph lives in its arena. The values made for it belong to the World and vanish when the
   World is reset. */
#ifndef ISOMER_EGRAPH_H
#define ISOMER_EGRAPH_H
#include "rules/match.h"

/* A rule's instance as an equation used in one direction: `from` of the instance is matched;
   `mirror` is the reverse. */
typedef struct EquationUse {
    Instance instance, mirror;
    bool reversed;         /* used against the rule's own direction */
    bool usable;           /* every output of its left side is a node, not an arbitrary value */
    uint64_t operators[4]; /* the operators of its left side, as bits */
} EquationUse;
/* Sets the uses of an instance forward and reversed. */
void equation_uses(World *, const Instance *, EquationUse out[2]);

typedef struct EGraphLimits {
    int rounds;  /* most rounds; in each, all matches are found first, then applied */
    int nodes;   /* no application is started at this many nodes */
    int matches; /* most matches of one equation in one round */
} EGraphLimits;
typedef struct EGraphStep {
    const EquationUse *use;
    int application; /* number of the application if they are kept; otherwise -1 */
    bool backward;   /* the explanation uses it from right to left */
} EGraphStep;
typedef struct EGraphSteps {
    int n;
    EGraphStep *v;
} EGraphSteps;

/* One use of an equation. The match lives in the e-graph's arena. */
typedef struct EGraphApplication {
    const EquationUse *use;
    Match match; /* over the values that represented the classes at that time */
} EGraphApplication;

typedef struct EGraph EGraph;
/* facts: used to entail the conditions and needs of rules. */
EGraph *egraph_new(World *, Arena *, Facts *);
/* Adds a value and everything it is computed from. Returns the representative of its class. */
Value egraph_add(EGraph *, Value);
Value egraph_find(EGraph *, Value); /* The representative of the class of a value that was added. */
/* Unites the classes of a and b because of `use` (NULL: it is given). Does nothing and returns
   false if their types are not shown to be equal. */
bool egraph_unite(EGraph *, Value a, Value b, const EquationUse *use);
void egraph_rebuild(EGraph *);    /* restores congruence: equal inputs give equal results */
int egraph_nodes(const EGraph *); /* For tests: the number of nodes that are not outdated. */
/* Keeps all applications from now on. */
void egraph_record(EGraph *);
/* The applications that were kept. */
const EGraphApplication *egraph_applications(const EGraph *, int *n);
/* Whether the node, or one equal to it, was there without any application. */
bool egraph_given(const EGraph *, NodeId);
NodeList egraph_live(EGraph *, Arena *); /* nodes that are not outdated, ascending */
/* Applies the equations with on[k] (NULL: all) wherever they match and their conditions hold, until
   nothing changes (returns true), the limits are reached, or `done` returns true. */
typedef bool (*EGraphDone)(void *user, EGraph *);
bool egraph_saturate(EGraph *, int n, const EquationUse use[], const bool on[], EGraphLimits,
                     EGraphDone done, void *user);
/* The uses of equations that make a and b, two values of one class, equal. Each is listed once, in
   the order in which it is met from a to b. */
EGraphSteps egraph_explain(EGraph *, Arena *, Value a, Value b);
#endif
