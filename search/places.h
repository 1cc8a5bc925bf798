/* places.h -- where in a model rules apply. Rules are tried as sets: each alone, each with what it
   makes possible, all at once. What one set changes falls apart into places that have no node in
   common: each can be rewritten or left, whatever is done elsewhere. */
#ifndef ISOMER_PLACES_H
#define ISOMER_PLACES_H
#include "search/fixpoint.h"
#include "search/run.h"

typedef struct UseSet {
    const uint8_t *use; /* by rule of the library: USE_.. */
    int seed;           /* the rule that it grows from; -1: all do */
    bool *fired;        /* by rule, on the whole model */
    bool whole;         /* it is also tried as it is, wherever it matches */
    char digest[33];    /* of what it makes of the whole model */
} UseSet;
typedef struct Place {
    int set;   /* which UseSet made it */
    int nrule; /* the rules it takes, by name: */
    const char **rule;
    int n;           /* nodes of the file, by their places there, ascending: */
    const int *node; /* those that matches consist of */
} Place;
typedef struct Places {
    int nset, n, room, set_room;
    UseSet *set;
    Place *place;
} Places;

enum { APPLICATIONS = 20000 }; /* the most that one derivation makes */

/* Where values stand in a model's file. */
typedef struct Origins {
    uint32_t n;
    int *node;     /* by value: 1 + the place of its node in the file; 0: it has none */
    bool *neutral; /* by value: it has none, or is made of constants */
} Origins;
Origins origins_find(const Run *, Arena *);
/* The choice of one set at these nodes of the file: at[k] is the uses by rule at node k, or NULL.
   Lives as long as both. */
Choice origins_choice(const Origins *, Arena *, const uint8_t *const at[]);
/* The rules that a choice, or a set of uses, names at all, by rule. */
void uses_add(const Library *, const uint8_t use[], bool on[]);

/* The places of all rules at once and of each alone, in the arena; false: the run's error is set.
 */
bool places_find(Run *, const Origins *, Arena *, Places *);
/* Those of one more set, unless another does the same to the whole model. *at: the set that does;
   -1: nothing fires. */
bool places_add(Run *, const Origins *, Arena *, Places *, const UseSet *, int *at);
/* The set and what it makes possible: all rules, or one of them. */
UseSet set_followed(const Run *, Arena *, const UseSet *, int rule);
#endif
