/* candidates.h -- candidate rules: members of a class against its least member (R), terms that equal themselves under a
   renaming (S), two outputs that are the parts of one result (M); without those that follow from smaller ones. */
#ifndef ISOMER_CANDIDATES_H
#define ISOMER_CANDIDATES_H
#include "generator/classes.h"

typedef struct Side {
    TermBuild b;
    int nout;
    Ref out[TERM_PORTS];
} Side;
typedef struct Candidate {
    char type; /* 'R', 'S' or 'M' */
    uint8_t nvar, kind[TERM_VARS];
    Side from, to; /* over the same variables */
} Candidate;
typedef struct Candidates {
    int n, room;
    Candidate *v;
    Arena *arena;
    uint64_t raw, reduced; /* of them, those that follow from smaller rules */
} Candidates;

Candidates *candidates_new(Arena *);
/* The rules that the entries from these numbers on give, all of one size: members, symmetries. */
void candidates_add_level(Candidates *, Classes *, uint32_t member, uint32_t symmetry, int size);
/* Both outputs of an operator with two, on representatives below `size` operators. */
void candidates_add_pairs(Candidates *, Classes *, int size);
/* One-step rewritings of a term by classes of fewer than `below` operators: calls back with each result until it says
   true, and returns that. */
typedef bool (*Rewritten)(void *user, const Term *);
bool term_rewrites(Classes *, const Term *, int below, Rewritten, void *user);
#endif
