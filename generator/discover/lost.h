/* lost.h -- the time that the nodes of a model lose on a target: the time that a profile measured,
   less the time that the speed of the machine allows (the roofline). */
#ifndef ISOMER_DISCOVER_LOST_H
#define ISOMER_DISCOVER_LOST_H
#include "graphs/node_times.h"
#include "graphs/onnx/onnx.h"

/* Reads what scripts/profile-onnxruntime printed about this model: lines "machine FLOPS BYTES" and
   "node K SECONDS"; other lines are skipped. Fails with E_ENVIRONMENT if the file cannot be read,
   and with E_INVALID if it is not a profile or one of another model. */
bool profile_read(Arena *, const Model *, const char *path, NodeTimes *, Error *);
/* The seconds that each node loses, by NodeId, in the arena. Nodes that were imported from one node
   of the file share its time in proportion to their estimates. A node of the file that the profile
   does not name was fused with a neighbour by the target; it counts as estimated. */
double *nodes_lost(World *, Arena *, const Model *, Sizes, const NodeTimes *);
/* The same for a body of control flow. Its nodes have no names in the profile, so each takes
   `scale` times its estimate. */
double *body_lost(World *, Arena *, const Graph *, Sizes, const NodeTimes *, double scale);
/* The estimated seconds of all nodes of a graph together. */
double graph_seconds(World *, Arena *, const Graph *, Sizes);
#endif
