/* signs.h -- what is known of the sign of an atom or a form, for all values of the inputs. True is
   sure; false means "not known". The solver is asked about sizes only. */
#ifndef ISOMER_SIGNS_H
#define ISOMER_SIGNS_H
#include "verifier/normal.h"

bool atom_nonnegative(Prover *, Atom);
bool atom_positive(Prover *, Atom);
bool nf_nonnegative(Prover *, Nf);
bool nf_positive(Prover *, Nf);
/* Returns the terms that have the variables and domain of `like`, without these, and sets *rest to
   the other terms. */
Nf nf_terms_alike(Prover *, Nf, const NfTerm *like, Nf *rest);
#endif
