/* tables.h -- the tables in which a prover interns conditions, atoms, terms and forms. Only what
   makes these looks inside: tables.c, conditions.c, atoms.c, normal.c.
   Numbers say what was met first, which depends on what else the World holds and on the order in
   which a compiler evaluates arguments. So nothing is sorted by numbers, but by what they stand
   for: each record has a digest of its content. */
#ifndef ISOMER_TABLES_H
#define ISOMER_TABLES_H
#include "verifier/normal.h"
#include "ops/base/intern.h"

enum { HEIGHT_MAX = 96, NEST_MAX = 40 };
typedef struct PolyInfo {
    int n;
    const Symbol *variable; /* by key */
    uint32_t nmonomial, degree;
    uint64_t digest;
    uint64_t mask; /* the digest with one symbol in place of all variables */
} PolyInfo;
typedef struct DomInfo {
    Lits lits; /* sorted: what has few monomials of a low degree first */
    uint64_t digest, mask;
} DomInfo;
typedef struct NfRecord { /* one of the bodies of a form */
    Body body;
    uint32_t pad;
    Ratio c;
} NfRecord;
typedef struct Slots { /* pointers by number */
    uint32_t room;
    void **v;
} Slots;
struct Normal {
    Intern *dom, *atom, *body, *nf;
    Slots doms, atoms, bodies, polys, nested, keys;
    uint64_t nvariable; /* given out by variable_new */
    Symbol mask, nest[HEIGHT_MAX][NEST_MAX], open[HEIGHT_MAX][NEST_MAX];
};
typedef struct RecordWords { /* a record being written */
    int n, room;
    uint32_t *v;
} RecordWords;
void words_put(Prover *, RecordWords *, uint32_t);
void words_ratio(Prover *, RecordWords *, Ratio);
void *slot_get(const Slots *, uint32_t id); /* NULL: nothing there yet */
void slot_set(Prover *, Slots *, uint32_t id, void *);
/* The k-th name of variables that are bound at this height inside closed forms, and of those that
   nf_term_at opens at p->depth. */
Symbol nest_symbol(Prover *, int height, int k);
Symbol depth_symbol(Prover *, int k);
/* What a symbol stands for. Variables of the prover come before all others: the names inside closed
   forms, then the others in the order in which they were made. */
uint64_t symbol_key(Prover *, Symbol);
void free_add(Prover *, int *n, Symbol **v, int nadd, const Symbol *add, int nexcept,
              const Symbol *except);
const PolyInfo *poly_info(Prover *, Poly);
const DomInfo *dom_info(Prover *, Dom);
uint64_t nf_digest(Prover *, Nf);
/* < 0: a stands before b. 0 only of the same polynomial, or the same atom. */
int poly_order(Prover *, Poly a, Poly b);
int atom_order(Prover *, Atom a, Atom b);
/* Of lists of variables, as they were made. */
int variables_order(Prover *, int na, const Symbol *a, int nb, const Symbol *b);
/* -1, 0 or 1. */
static inline int order_of(uint64_t a, uint64_t b) { return (a > b) - (a < b); }
Poly prover_subst(Prover *, Poly, Map); /* fails where a size exceeds 64 bits */
uint64_t mix(uint64_t, uint64_t);
#endif
