/* lost.h -- the time that the nodes of a model lose on a target: what a profile says that they
   take, less what they would take at the speed of the machine (the roofline). */
#ifndef ISOMER_DISCOVER_LOST_H
#define ISOMER_DISCOVER_LOST_H
#include "graphs/onnx/onnx.h"

/* Reads what scripts/profile-onnxruntime printed of this model: lines "machine FLOPS BYTES",
   "node K SECONDS" and others, which are passed over. Nodes that were imported from one node of the
   file share its time as their estimates do. *lost: by NodeId, in the arena: seconds; what
   the profile does not name, as the target made it one with a neighbour, counts as estimated.
   E_ENVIRONMENT; E_INVALID: no profile, or one of another model. */
bool lost_read(World *, Arena *, const Model *, Sizes, const char *path, double **lost, Error *);
#endif
