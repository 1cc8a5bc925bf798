/* tables.h -- the tables in which a prover interns conditions, atoms, terms and forms. Only what
   makes these looks inside: tables.c, conditions.c, atoms.c, normal.c. */
#ifndef ISOMER_TABLES_H
#define ISOMER_TABLES_H
#include "verifier/normal.h"
#include "ops/base/intern.h"

enum { HEIGHT_MAX = 96, NEST_MAX = 40 };
typedef struct PolyInfo {
    int n;
    const Symbol *variable;
    Poly masked; /* all of them replaced by one symbol */
} PolyInfo;
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
    Slots doms, atoms, bodies, polys, nested;
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
Symbol nest_symbol(Prover *, int height, int k);
void free_add(Prover *, int *n, Symbol **v, int nadd, const Symbol *add, int nexcept,
              const Symbol *except);
const PolyInfo *poly_info(Prover *, Poly);
Poly prover_subst(Prover *, Poly, Map); /* fails where a size exceeds 64 bits */
uint64_t mix(uint64_t, uint64_t);
#endif
