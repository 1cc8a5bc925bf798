/* unify.h -- equality of normal forms under a context. */
#ifndef ISOMER_UNIFY_H
#define ISOMER_UNIFY_H
#include "verifier/simplify.h"

bool forms_equal(Prover *, Dom ctx, Nf, Nf); /* at every point of ctx */
bool atoms_equal(Prover *, Dom ctx, Atom, Atom);

/* Changes of variables that take the body of one term to that of another. `value` is one polynomial
   in r's variables for each variable of t. The callback returns true to stop. */
typedef bool (*Unified)(void *user, const Poly *value);
void unify_terms(Prover *, Dom ctx, const NfTerm *t, const NfTerm *r, Unified, void *user);
#endif
