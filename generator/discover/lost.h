/* lost.h -- the time that the nodes of a model lose on a target: what a profile says that they
   take, less what they would take at the speed of the machine (the roofline). */
#ifndef ISOMER_DISCOVER_LOST_H
#define ISOMER_DISCOVER_LOST_H
#include "graphs/node_times.h"
#include "graphs/onnx/onnx.h"

/* Reads what scripts/profile-onnxruntime printed of this model: lines "machine FLOPS BYTES",
   "node K SECONDS" and others, which are passed over. E_ENVIRONMENT; E_INVALID: no profile, or one
   of another model. */
bool profile_read(Arena *, const Model *, const char *path, NodeTimes *, Error *);
/* By NodeId, in the arena: seconds that the nodes of the profile's model lose. Nodes that were
   imported from one node of the file share its time as their estimates do; what the profile does
   not name, as the target made it one with a neighbour, counts as estimated. */
double *nodes_lost(World *, Arena *, const Model *, Sizes, const NodeTimes *);
/* The same of a body of control flow, whose nodes have no names in the profile: all of them take
   `scale` times as long as estimated. */
double *body_lost(World *, Arena *, const Graph *, Sizes, const NodeTimes *, double scale);
/* Seconds that the nodes of a graph are estimated to take together. */
double graph_seconds(World *, Arena *, const Graph *, Sizes);
#endif
