/* reads.h -- whether two graphs look at the same elements of their inputs (import_reads), or the
   second at all of the first's. */
#ifndef ISOMER_READS_H
#define ISOMER_READS_H
#include "verifier/import.h"
#include "verifier/splits.h"

typedef enum Reading { READS_SAME, READS_MORE, READS_OTHER } Reading; /* by the second */

/* What was shown of an output with these indices (RANK_MAX) under ctx, which were split as noted
   when its values were compared; each sum and maximum is taken to have an element. */
Reading reads_compare(Prover *, Dom ctx, const Symbol *index, const IndexSplits *, const Parts *,
                      const Parts *);
#endif
