/* unify.h -- changes of variables under which two terms have the same body. */
#ifndef ISOMER_UNIFY_H
#define ISOMER_UNIFY_H
#include "verifier/simplify.h"

/* Changes of variables that take the body of one term to that of another. `value` is one polynomial
   in r's variables for each variable of t. The callback returns true to stop. */
typedef bool (*Unified)(void *user, const Poly *value);
void unify_terms(Prover *, Dom ctx, const NfTerm *t, const NfTerm *r, Unified, void *user);
#endif
