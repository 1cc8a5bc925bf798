/* egraph.h -- equality saturation over the World's tables (Willsey et al., egg, POPL 2021). A class
   is a set of values that are equal; nodes are the World's own, so that hash-consing them over the
   values that stand for their inputs' classes is the e-graph's memo. Unions are cheap and leave
   congruence broken; egraph_rebuild repairs it once for all of them (deferred rebuilding). Every
   union keeps its reason, so that an equality can be explained by the rules it came from
   (Nieuwenhuis and Oliveras, RTA 2005). Nothing depends on addresses or time: the same calls give
   the same classes.
   It lives in its arena; values made for it are the World's and go when that is reset. */
#ifndef ISOMER_EGRAPH_H
#define ISOMER_EGRAPH_H
#include "rules/match.h"

/* A rule's instance as an equation, to be used in one direction: `from` is looked for, `mirror` is
   its reverse. */
typedef struct EquationUse {
    Instance instance, mirror;
    bool reversed;         /* against the rule's own direction */
    bool usable;           /* its left side is a node, not any value */
    uint64_t operators[4]; /* that its left side has, as bits */
} EquationUse;
void equation_uses(World *, const Instance *, EquationUse out[2]); /* forward, reversed */

typedef struct EGraphLimits {
    int rounds;  /* in each, all matches are found first, then applied */
    int nodes;   /* no application is begun at so many */
    int matches; /* of one equation in one round */
} EGraphLimits;
typedef struct EGraphStep {
    const EquationUse *use;
    int application; /* its number, where they are kept; else -1 */
    bool backward;   /* the explanation reads it from right to left */
} EGraphStep;
typedef struct EGraphSteps {
    int n;
    EGraphStep *v;
} EGraphSteps;

/* One use of an equation, as it was made; the match lies in the e-graph's arena. */
typedef struct EGraphApplication {
    const EquationUse *use;
    Match match; /* over what stood for the classes then */
} EGraphApplication;

typedef struct EGraph EGraph;
/* facts: from which conditions and needs of rules are shown. */
EGraph *egraph_new(World *, Arena *, Facts *);
/* Adds a value and all that it is made of. Returns the representative of its class. */
Value egraph_add(EGraph *, Value);
Value egraph_find(EGraph *, Value); /* of a value that was added */
/* a and b are equal because of `use` (NULL: given). False, and nothing is done: their types are not
   shown to be equal. */
bool egraph_unite(EGraph *, Value a, Value b, const EquationUse *use);
void egraph_rebuild(EGraph *);    /* until equal inputs give equal results again */
int egraph_nodes(const EGraph *); /* that are not outdated */
/* From here on applications are kept. */
void egraph_record(EGraph *);
const EGraphApplication *egraph_applications(const EGraph *, int *n);
bool egraph_given(const EGraph *, NodeId); /* no application made it, or one like it */
NodeList egraph_live(EGraph *, Arena *);   /* nodes that are not outdated, ascending */
/* Uses the equations on[k] (NULL: all), whose conditions hold, wherever they match, until nothing
   changes (true), the limits are reached, or `done` says so. */
typedef bool (*EGraphDone)(void *user, EGraph *);
bool egraph_saturate(EGraph *, int n, const EquationUse use[], const bool on[], EGraphLimits,
                     EGraphDone done, void *user);
/* Which uses of equations make a and b, of one class, equal; each once, in the order in which they
   are met from a to b. */
EGraphSteps egraph_explain(EGraph *, Arena *, Value a, Value b);
#endif
