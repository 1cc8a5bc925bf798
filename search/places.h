/* places.h -- where in a model rules apply. Rules are tried as sets: each alone, each with the
   rules that it enables (its followers), and all at once. The changes made by a set fall into
   places that share no node: each can be rewritten or left, whatever is done elsewhere. */
#ifndef ISOMER_PLACES_H
#define ISOMER_PLACES_H
#include "search/fixpoint.h"
#include "search/stop.h"

typedef struct RoleSet { /* a set of rules that is tried */
    const uint8_t *role; /* by rule of the library: ROLE_NONE, ROLE_FOLLOWER or ROLE_SEED */
    /* role, without rules that were applied nowhere: where sizes are numbers, as in a part, they
       might be. */
    const uint8_t *applied;
    int seed;        /* the rule that it started from; -1: several */
    bool whole;      /* it is also tried as a whole, wherever it matches */
    char digest[33]; /* of the log of its applications to the whole model */
} RoleSet;
typedef struct Place {
    int set;   /* the RoleSet that made it */
    int nrule; /* the rules it uses, by name, in rule[] */
    const char **rule;
    int n; /* the nodes of its matches: positions in the file, ascending */
    const int *node;
} Place;
typedef struct Places {
    int nset, n, room, set_room;
    RoleSet *set;
    Place *place;
    Stop rounds_end, alone_end; /* of applying rules at all; of trying each alone */
    int rounds;                 /* of applications so far */
} Places;

/* Of one derivation: APPLICATIONS of rules, and until the run is cancelled. */
enum { APPLICATIONS = 20000 };
FixpointLimits places_limits(const Run *);
/* Reports as progress if a limit ended the derivation before rules were applied wherever they
   match. */
void places_say_limited(const Run *, const Derivation *);

/* Where values are in a model's file. */
typedef struct Origins {
    uint32_t n;
    int *node;     /* by value: 1 + the position of its node in the file; 0: it has none */
    bool *neutral; /* by value: it has no node, or depends only on constants */
} Origins;
Origins origins_find(const RunSource *, World *, Arena *);
/* The scope with these roles at nodes of the file: at[k] holds the roles by rule at node k, or is
   NULL. It refers to the origins and to at[]. */
RuleScope origins_scope(const Origins *, Arena *, const uint8_t *const at[]);
/* Sets on[rule] for each rule that has a role (NULL: none has); the others stay as they are. */
void roles_mark(const Library *, const uint8_t role[], bool on[]);

/* Finds the places of all rules at once, of all that do not merge nodes, and of each alone, of the
   latter as many as it can in TIME_FINDING, in the arena. device: the target's name in the cost
   file. False: the run's error is set. */
bool places_find(Run *, const Origins *, Arena *, const char *device, Places *);
/* Keeps for frozen runs where time ended it. False: the run's error is set. */
bool places_keep(const Places *);
/* Adds the places of one more set, unless another set does the same to the whole model. *at: that
   set; -1: no rule applies. When the time of the search is over, rules are not applied any
   further. */
bool places_add(Run *, const Origins *, Arena *, Places *, const RoleSet *, int *at);
/* What a set enables, in the arena: by rule that is not in it the operations (sig_flops) of the
   nodes that the rule could rewrite next, of which an application of the set made at least one;
   < 0: it matches nowhere. NULL: the run's error is set. */
double *places_enabled(Run *, Arena *, Places *, const RoleSet *);
/* The set extended by its followers: all of them, or one rule. */
RoleSet set_with_followers(const Library *, Arena *, const RoleSet *, int rule);
#endif
