/* reads.h -- whether two graphs look at the same elements of their inputs (import_reads). */
#ifndef ISOMER_READS_H
#define ISOMER_READS_H
#include "verifier/import.h"

/* Under ctx both are shown to be the same elements; each sum and maximum is taken to have one. */
bool reads_equal(Prover *, Dom ctx, const Parts *, const Parts *);
#endif
