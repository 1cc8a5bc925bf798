/* bodies.h -- bodies of control flow are optimized like models. */
#ifndef ISOMER_BODIES_H
#define ISOMER_BODIES_H
#include "search/run.h"

/* For a target that times files: each body of an If, Loop or Scan of the model is optimized as a
   model of its own, and the model with what gained is timed against the original. *file: that
   model, as pieces in the run's arena and of the source; without bytes: nothing gains. What came of
   it is in the run's stats. False: the run's error is set. */
bool run_optimize_bodies(Run *, Pieces *file);
#endif
