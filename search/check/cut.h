/* cut.h -- compares two models that should compute the same although the built-in runtime cannot
   run some of their nodes. Rules leave these nodes alone, so each has the same name in both models
   and is cut out of both: its results become inputs that hold the same random data on both sides,
   and its inputs become outputs that must agree. */
#ifndef ISOMER_CUT_H
#define ISOMER_CUT_H
#include "graphs/onnx/onnx.h"
#include "graphs/rewrite.h"

typedef struct Side {
    Model *model;
    Graph graph;
    int ncut;        /* number of results of cut nodes */
    Value *cut, *in; /* such a result, and the input that replaced it */
    int ntaken;
    Value *taken; /* the inputs of cut nodes, which become outputs */
} Side;
typedef struct Cut {
    World *w;
    Arena *arena;
    Side side[2];
    int ncompared, *output; /* by compared output: its index before cut_prune */
} Cut;
/* Cuts every node that cannot be run, or whose values cannot be compared. Returns false with *why
   set if such a node has no counterpart on the other side. */
bool cut_opaque(Cut *, const char **why);
/* Cuts the node `at`, which cannot be planned, in what remains of a side; `map` leads from the
   side's values to the remaining ones. If `at` is an input, all nodes that read it are cut. Returns
   false if nothing more can be cut. */
bool cut_obstacle(Cut *, int side, Value at, const ValueMap *map);
/* Cuts every node whose number of results depends on data: its size here is a guess, with which its
   kernel may fail. Returns false if there is none that can be cut. */
bool cut_counted(Cut *);
/* Sets *out, in the arena, to what remains of a side. */
bool cut_remaining(Cut *, int side, Graph *out, ValueMap *map, Error *);
/* Removes outputs that need no comparison, because they are the same input on both sides or the
   same value of a type that cannot be compared; then removes inputs that nothing reads. Returns
   false if another output cannot be compared. */
bool cut_prune(Cut *, Graph g[2]);
#endif
