/* identities.h -- relations between the atoms of one term. */
#ifndef ISOMER_IDENTITIES_H
#define ISOMER_IDENTITIES_H
#include "verifier/simplify.h"

/* true: the term is *out, which is to be simplified again. */
bool reduce_term(Prover *, Dom ctx, const NfTerm *, Nf *out);
#endif
