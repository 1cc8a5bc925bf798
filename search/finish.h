/* finish.h -- turns the graph that rules made into the graph and the bytes that are written. */
#ifndef ISOMER_FINISH_H
#define ISOMER_FINISH_H
#include "ops/base/file.h"
#include "search/run.h"

typedef struct FinishLimits {
    const char *file; /* named as the place of an error */
    int64_t constant; /* a larger constant, in bytes, is not computed; < 0: all are */
    double all;       /* bytes of all computed constants together: more is E_LIMIT */
    /* A float32 constant of at least this many bytes is drawn at random instead of computed, which
       is enough where the graph is only timed; 0: all are computed. */
    int64_t drawn;
    /* A larger constant, in bytes, that is computed from dequantized bytes is left to the target
       instead of being computed now; 0: all are computed. */
    double unpacked;
} FinishLimits;
/* Returns the limits of a run: --fold-limit for one constant; for all together, 256 MiB more than
   the file may have. */
FinishLimits run_finish_limits(const Run *);
/* Turns the derivation's graph into the graph that is written. Values that rules left to be
   computed from constants are computed; constants that were computed before the search, only so
   that rules could see them, become again what the file has. */
bool derivation_finish(Derivation *, const RunSource *, const FinishLimits *, Error *);
/* Calls derivation_finish with the run's source and limits. If the file would grow too much, a
   measuring command is left to compute the larger constants. */
bool run_finish(const Run *, Derivation *, Error *);
/* Sets *file to the bytes to be written. Returns false with E_LIMIT if the file would grow by more
   than --max-growth. stats.growth receives its growth. */
bool run_pieces(Run *, const Derivation *, Arena *, Pieces *, Error *);
/* Makes the same check without keeping the bytes; stats.bytes_after receives their number. */
bool run_fits(Run *, const Derivation *, Error *);
int64_t graph_constant_bytes(World *, const Graph *); /* bytes of its live constants in memory */
/* Returns the bytes of the constants that a graph would have after derivation_finish, including
   those of the file. `given` says of each input whether it counts as a constant; NULL: none
   does. */
double graph_finished_bytes(World *, const Graph *, const bool given[], const FinishLimits *);
#endif
