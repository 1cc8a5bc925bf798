/* candidates.h -- candidate rules of three types. R: a member of a class and its representative. S:
   a term and itself under a renaming. M: two terms and the operator whose two outputs they equal.
   Candidates of types R and S that follow from smaller ones are left out. */
#ifndef ISOMER_CANDIDATES_H
#define ISOMER_CANDIDATES_H
#include "generator/term_classes.h"

typedef struct Side {
    TermBuild b;
    int nout;
    Ref out[TERM_PORTS];
} Side;
typedef struct Candidate {
    char type; /* 'R', 'S' or 'M' */
    uint8_t nvar, kind[TERM_VARS];
    uint32_t source; /* number of the member or symmetry */
    Side from, to;   /* both over the same variables */
} Candidate;
typedef struct Candidates {
    int n, room;
    Candidate *v;
    Arena *arena;
    /* Equations found, and of these the ones that follow from smaller rules. */
    uint64_t raw, reduced;
} Candidates;

Candidates *candidates_new(Arena *);
/* What a thread finds in its view of the classes. candidates_take then adds it to the
   candidates. */
typedef struct Finding {
    int n, room;
    uint64_t raw, reduced;
    Candidate *v;
} Finding;
/* Adds the rule of a member or symmetry unless it follows from smaller ones. Allocates from the
   arena. */
void candidates_of_member(TermClasses *view, uint32_t member, Arena *, Finding *);
void candidates_of_symmetry(TermClasses *view, uint32_t symmetry, Arena *, Finding *);
/* Adds a rule for each operator with one argument and two outputs, applied to this representative,
   which must have fewer than `size` operators. */
void candidates_of_pairs(TermClasses *view, uint32_t rep, int size, Arena *, Finding *);
void candidates_take(Candidates *, const Finding *);
/* A region of a term: connected instructions of which one result, `root`, is used. The values below
   the region are its variables; env[] says which values of the term they stand for. term_regions
   calls back with each region of fewer than `below` operators until the callback returns true, and
   returns whether it did. */
typedef struct Region {
    Term t;
    Ref root, env[TERM_VARS];
} Region;
typedef bool (*RegionFound)(void *user, const Term *, const Region *);
bool term_regions(Space *, const Term *, int below, RegionFound, void *user);
/* Replaces the region's value in the term by y, whose variables stand for the values vars[] of the
   term. The result has the variables of the term. Returns false if it is too large. */
bool region_replace(const Space *, const Term *, const Region *, const Term *y, const Ref vars[],
                    Term *out);
/* Calls back with each result of rewriting one region by classes of fewer than `below` operators,
   in the same way as term_regions. */
typedef bool (*Rewritten)(void *user, const Term *);
bool term_rewrites(TermClasses *, const Term *, int below, Rewritten, void *user);
#endif
