/* bodies.h -- optimizes the bodies of control flow as if they were models. */
#ifndef ISOMER_BODIES_H
#define ISOMER_BODIES_H
#include "ops/base/file.h"
#include "search/run.h"

/* Optimizes each body of an If, Loop or Scan of the model as a model of its own and times the model
   with the improved bodies against the original. Does nothing unless the target is a measuring
   command.

   *file receives the model with the improved bodies, as pieces that lie in the run's arena and in
   the source; it is empty if nothing gains. The run's stats say what was done. Returns false with
   the run's error set on failure. */
bool run_optimize_bodies(Run *, Pieces *file);
#endif
