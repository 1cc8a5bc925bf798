/* cut.h -- two models that should compute the same, without the nodes that the built-in runtime
   cannot run. Such nodes keep their names, so each is cut on both sides: its results become inputs,
   which hold the same random data on both sides, and its inputs become outputs, which must
   agree. */
#ifndef ISOMER_CUT_H
#define ISOMER_CUT_H
#include "graphs/onnx/onnx.h"
#include "graphs/rewrite.h"

typedef struct Side {
    Model *model;
    Graph graph;
    int ncut;        /* results of cut nodes: */
    Value *cut, *in; /* .. the value, and the input that replaced it */
    int ntaken;
    Value *taken; /* what cut nodes read */
} Side;
typedef struct Cut {
    World *w;
    Arena *arena;
    Side side[2];
    int ncompared, *output; /* by compared output: its number in the graph (cut_prune) */
} Cut;
/* Cuts every node that cannot be run, or whose values cannot be compared. False with *why: it has
   no counterpart on the other side. */
bool cut_opaque(Cut *, const char **why);
/* Cuts the node that stopped the plan of what remains of a side (map: from the side's values to
   those); if that is an input, all nodes that read it. False: nothing more can be cut. */
bool cut_obstacle(Cut *, int side, Value at, const ValueMap *map);
/* What remains of a side, in the arena. */
bool cut_remaining(Cut *, int side, Graph *out, ValueMap *map, Error *);
/* Leaves out the outputs that are the same input on both sides, or the same value of a type that
   cannot be compared; then inputs that nothing reads. False: another output cannot be compared. */
bool cut_prune(Cut *, Graph g[2]);
#endif
