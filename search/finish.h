/* finish.h -- from the graph that rules made to what is written. */
#ifndef ISOMER_FINISH_H
#define ISOMER_FINISH_H
#include "search/run.h"

typedef struct FinishLimits {
    const char *file; /* the place of an error */
    int64_t constant; /* bytes of one constant that is computed; < 0: any */
    double all;       /* bytes of all such constants together: E_LIMIT beyond that */
    /* Bytes of a float32 constant that is drawn and not computed, for what is only timed; 0: all
       are computed. */
    int64_t drawn;
    /* Bytes of a constant made of dequantized bytes that is left to the target, which does not
       compute it beforehand; 0: all are computed. */
    double unpacked;
} FinishLimits;
/* --fold-limit, and for all together 256 MiB more than the file may have. */
FinishLimits run_finish_limits(const Run *);
/* Turns the derivation's graph into the one that is written: values that rules left to be computed
   from constants are computed; constants that were computed only for rules to see become what the
   file has again. */
bool derivation_finish(Derivation *, const RunSource *, const FinishLimits *, Error *);
bool run_finish(const Run *, Derivation *, Error *); /* with the run's source and limits */
/* The bytes to be written. E_LIMIT: the file would grow by more than --max-growth; stats.growth
   receives its growth. */
bool run_pieces(Run *, const Derivation *, Arena *, Pieces *, Error *);
/* The same check; the bytes are not kept, but their number is, in stats.bytes_after. */
bool run_fits(Run *, const Derivation *, Error *);
int64_t graph_constant_bytes(World *, const Graph *); /* of its live constants, in memory */
/* Bytes of the constants that a graph would have after derivation_finish, those of the file among
   them. given: by input, whether it counts as a constant; NULL: none does. */
double graph_finished_bytes(World *, const Graph *, const bool given[], const FinishLimits *);
#endif
