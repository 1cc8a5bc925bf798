/* places.h -- finds the places of a model where rules apply. Rules are tried as sets: each rule
   alone, each with the rules that it enables (its followers), and all at once. The changes that a
   set makes fall into places that share no node, so each place can be rewritten or left alone
   independently of the others. */
#ifndef ISOMER_PLACES_H
#define ISOMER_PLACES_H
#include "search/fixpoint.h"
#include "search/stop.h"

typedef struct RoleSet { /* a set of rules that are tried together */
    const uint8_t *role; /* by rule of the library: ROLE_NONE, ROLE_FOLLOWER or ROLE_SEED */
    /* Like role, but without rules that were applied nowhere in the model: in a part, whose sizes
       are numbers, they might match. */
    const uint8_t *applied;
    int seed;        /* the rule from which the set was grown; -1: it has several */
    bool whole;      /* it is also tried on the whole model, wherever it matches */
    char digest[33]; /* digest of the log of its applications to the whole model */
} RoleSet;
typedef struct Place {
    int set;   /* index of the RoleSet that made it */
    int nrule; /* number of rules that it uses, whose names are in rule[] */
    const char **rule;
    int n; /* the nodes of its matches, as ascending positions in the file */
    const int *node;
} Place;
typedef struct Places {
    int nset, n, room, set_room;
    RoleSet *set;
    Place *place;
    /* Where time ended applying rules at all; where it ended trying each rule alone. */
    Stop rounds_end, alone_end;
    int rounds;         /* how often rounds_end was asked so far */
    const uint8_t *all; /* the roles of the set of all rules except those that split nodes */
    bool any_applies;   /* some rule applies, even if all applications of its set were undone */
} Places;

/* Returns the limits of one derivation: APPLICATIONS rules are applied at most, and none once the
   run is cancelled. */
enum { APPLICATIONS = 20000 };
FixpointLimits places_limits(Run *);
/* Reports progress if a limit ended the derivation before rules were applied wherever they
   match. */
void places_say_limited(const Run *, const Derivation *);

/* Which nodes of a model's file compute its values. */
typedef struct Origins {
    uint32_t n;
    int *node;     /* by value: 1 + the position of its node in the file; 0: no node */
    bool *neutral; /* by value: it has no node, or depends on constants alone */
} Origins;
Origins origins_find(const RunSource *, World *, Arena *);
/* Returns the scope in which rules have the roles at[k] at node k of the file; at[k] is NULL where
   no rule may be applied. The scope refers to the origins and to at[]. */
RuleScope origins_scope(const Origins *, Arena *, const uint8_t *const at[]);
/* Sets on[rule] for each rule that has a role (role NULL: none has); the other entries keep their
   values. */
void roles_mark(const Library *, const uint8_t role[], bool on[]);

/* Finds the places of three kinds of sets, in the arena: all rules except those that split nodes,
   all except those that merge nodes, and each rule alone, as far as TIME_FINDING allows. `device`
   is the target's name in the cost file. Returns false with the run's error set on failure. */
bool places_find(Run *, const Origins *, Arena *, const char *device, Places *);
/* Stores, for frozen runs, where time ended places_find. Returns false with the run's error set on
   failure. */
bool places_keep(const Places *);
/* Adds the places of one more set, unless another set does the same to the whole model. *at
   receives the number of that set; -1: no rule applies. Once the time of the search is over, no
   further rules are applied. Returns false with the run's error set on failure. */
bool places_add(Run *, const Origins *, Arena *, Places *, const RoleSet *, int *at);
/* Returns, in the arena, what a set enables. For each rule that is not in the set, the array has
   the operations (sig_work) of the nodes that the rule could rewrite next, of which the set made
   at least one; it is negative where the rule matches nowhere. NULL: the run's error is set. */
double *places_enabled(Run *, Arena *, Places *, const RoleSet *);
/* Returns the set extended by followers: by this rule or, if `rule` is negative, by all rules that
   may follow. */
RoleSet set_with_followers(const Library *, Arena *, const RoleSet *, int rule);
#endif
