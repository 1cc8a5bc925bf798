/* identities.h -- identities that relate several atoms of one term. */
#ifndef ISOMER_IDENTITIES_H
#define ISOMER_IDENTITIES_H
#include "verifier/simplify.h"

/* If an identity applies, sets *out to a form that equals the term where ctx holds, and returns
   true. The caller simplifies *out again. */
bool reduce_term(Prover *, Dom ctx, const NfTerm *, Nf *out);
#endif
