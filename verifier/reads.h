/* reads.h -- compares the elements that two graphs read of their inputs (import_reads). */
#ifndef ISOMER_READS_H
#define ISOMER_READS_H
#include "verifier/import.h"
#include "verifier/splits.h"

/* What the second graph reads, compared with the first: the same elements, those and more, or
   neither was shown. */
typedef enum Reading { READS_SAME, READS_MORE, READS_OTHER } Reading;

/* Compares what two graphs read for an output with the indices index[0..RANK_MAX-1] under ctx, and
   returns what was shown. `splits` are the splits of these indices that were made when the output's
   values were compared. Each sum and maximum is assumed to have an element. */
Reading reads_compare(Prover *, Dom ctx, const Symbol *index, const IndexSplits *, const Parts *,
                      const Parts *);
/* Solves for the values of the variables of the part `of` at which its n indices `all` are `one`.
   The result is a guess, for some of the variables, that the caller checks. */
Map reads_solve(Prover *, const Part *of, int n, const Poly one[], const Poly all[]);
#endif
