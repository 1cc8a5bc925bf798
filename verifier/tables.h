/* tables.h -- the tables in which a prover interns conditions, atoms, bodies and forms. Only the
   files that make these look inside: tables.c, conditions.c, atoms.c and normal.c. */
#ifndef ISOMER_TABLES_H
#define ISOMER_TABLES_H
#include "verifier/normal.h"
#include "ops/base/intern.h"

/* HEIGHT_MAX: how deeply bound variables are nested. NEST_MAX: how many are bound at one height. */
enum { HEIGHT_MAX = 96, NEST_MAX = 40 };
/* What poly_variables finds, and a hash key that does not depend on the names of variables. */
typedef struct PolyInfo {
    int n;
    const Symbol *variable;
    Poly masked; /* the polynomial with all its variables replaced by one symbol */
} PolyInfo;
typedef struct NfRecord { /* a term of an interned form */
    Body body;
    uint32_t pad;
    Ratio c;
} NfRecord;
typedef struct Slots { /* an array of pointers, indexed by number */
    uint32_t room;
    void **v;
} Slots;
/* The interned sets, bodies, .., the information on each by number, and the names of variables:
   `mask` replaces variables in PolyInfo.masked, `nest` are the canonical names, `open` are those of
   nf_term_at. `nested` has an entry for each symbol in `nest`. */
struct Normal {
    Intern *dom, *atom, *body, *nf;
    Slots doms, atoms, bodies, polys, nested;
    Symbol mask, nest[HEIGHT_MAX][NEST_MAX], open[HEIGHT_MAX][NEST_MAX];
};
typedef struct RecordWords { /* a record to be interned, as it is written */
    int n, room;
    uint32_t *v;
} RecordWords;
void words_put(Prover *, RecordWords *, uint32_t);
void words_ratio(Prover *, RecordWords *, Ratio);
void *slot_get(const Slots *, uint32_t id); /* NULL if nothing was stored under this number */
void slot_set(Prover *, Slots *, uint32_t id, void *);
/* The canonical name of variable k at this height. */
Symbol nest_symbol(Prover *, int height, int k);
/* Appends to v the variables in `add` that are not there yet, except those that are, or depend on,
   one of `except`. */
void free_add(Prover *, int *n, Symbol **v, int nadd, const Symbol *add, int nexcept,
              const Symbol *except);
const PolyInfo *poly_info(Prover *, Poly);
Poly prover_subst(Prover *, Poly, Map); /* gives up if a size exceeds 64 bits */
/* A hash of two numbers. */
uint64_t mix(uint64_t, uint64_t);
#endif
