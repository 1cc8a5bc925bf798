/* reads.h -- whether two graphs look at the same elements of their inputs (import_reads), or the
   second at all of the first's. */
#ifndef ISOMER_READS_H
#define ISOMER_READS_H
#include "verifier/import.h"

/* Under ctx both are shown to be the same elements; each sum and maximum is taken to have one. */
bool reads_equal(Prover *, Dom ctx, const Parts *, const Parts *);
/* Under ctx each element of the first is shown to be one of the second's. */
bool reads_covered(Prover *, Dom ctx, const Parts *, const Parts *);
#endif
