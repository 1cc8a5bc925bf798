/* invariants.h -- what loops compute anew in every iteration although it does not change. */
#ifndef ISOMER_INVARIANTS_H
#define ISOMER_INVARIANTS_H
#include "search/run.h"

/* For a target that times files: what the bodies of Loop and Scan compute from values that do not
   change between iterations is moved out of them, and kept if the whole model gains. *file: the
   model without it, as pieces in the run's arena and of the source; without bytes: nothing is
   moved. What came of it is in the run's stats. False: the run's error is set. */
bool run_move_invariants(Run *, Pieces *file);
#endif
