/* candidates.h -- candidate rules: members of a class against its least member (R), terms that
   equal themselves under a renaming (S), two outputs that are the parts of one result (M); without
   those that follow from smaller ones. */
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
    uint32_t source; /* the member or symmetry */
    Side from, to;   /* over the same variables */
} Candidate;
typedef struct Candidates {
    int n, room;
    Candidate *v;
    Arena *arena;
    uint64_t raw, reduced; /* of them, those that follow from smaller rules */
} Candidates;

Candidates *candidates_new(Arena *);
/* What is found in a view of the classes, before it is taken over. */
typedef struct Finding {
    int n, room;
    uint64_t raw, reduced;
    Candidate *v;
} Finding;
/* The rule that a member or symmetry of this number gives, allocated from the arena. */
void candidates_of_member(TermClasses *view, uint32_t member, Arena *, Finding *);
void candidates_of_symmetry(TermClasses *view, uint32_t symmetry, Arena *, Finding *);
/* Both outputs of an operator with two on this representative, of fewer than `size` operators. */
void candidates_of_pairs(TermClasses *view, uint32_t rep, int size, Arena *, Finding *);
void candidates_take(Candidates *, const Finding *);
/* Regions of a term: connected instructions with one result `root`, what hangs below them made
   variables that stand for env[]. Calls back with each of fewer than `below` operators until it
   says true, and returns that. */
typedef struct Region {
    Term t;
    Ref root, env[TERM_VARS];
} Region;
typedef bool (*RegionFound)(void *user, const Term *, const Region *);
bool term_regions(Space *, const Term *, int below, RegionFound, void *user);
/* The term with the region's value replaced by y, whose variables are the values vars[] of the
   term; it has the term's variables. false: too large. */
bool region_replace(const Space *, const Term *, const Region *, const Term *y, const Ref vars[],
                    Term *out);
/* One-step rewritings of a term by classes of fewer than `below` operators, likewise. */
typedef bool (*Rewritten)(void *user, const Term *);
bool term_rewrites(TermClasses *, const Term *, int below, Rewritten, void *user);
#endif
