/* unify.h -- finds changes of variables under which two terms have the same body. */
#ifndef ISOMER_UNIFY_H
#define ISOMER_UNIFY_H
#include "verifier/simplify.h"

/* Finds changes of variables that turn the body of t into that of r, and calls `found` with each.
   value[k] is what t's variable k becomes, a polynomial in r's variables. `found` returns true to
   stop. */
typedef bool (*Unified)(void *user, const Poly *value);
void unify_terms(Prover *, Dom ctx, const NfTerm *t, const NfTerm *r, Unified, void *user);
#endif
