/* cost.h -- what a graph costs on the built-in runtime: the sum over the steps of its plan. A
   step's price is measured once and stored in the cost file under its text; without measuring, it
   comes from a simple model of arithmetic and memory traffic. Values that depend only on constants
   are free: they are computed once, before the result is written. */
#ifndef ISOMER_COST_H
#define ISOMER_COST_H
#include "graphs/plan/plan.h"
#include "ops/backend/backend.h"
#include "graphs/plan/costdb.h"

typedef struct CostOptions {
    bool measured,
        frozen; /* measured: prices come from the file, and from the clock unless frozen */
    const char *backend, *backend_options; /* options: NULL: none */
    int threads;                           /* that run a kernel */
    uint64_t seed;
    double weights; /* bytes of those of the whole model (cost_weights), which may not stay in the
                       cache; 0: they do */
} CostOptions;
typedef struct Cost Cost;
/* NULL: no back end. */
Cost *cost_new(World *, Arena *, Sizes, CostDb *, const CostOptions *, Error *);
void cost_free(Cost *);
/* What is known about the inputs of a graph that is part of a larger one. */
typedef struct CostPart {
    const bool *constant; /* by input: it is a constant */
    const bool *loose; /* by input: its layout is the choice of the surrounding graph, as is that of
                          outputs */
} CostPart;
/* Seconds of one run. part NULL: the graph is a whole model. *nodes (may be NULL): how many nodes
   do not depend on constants only. Never fails: a graph that cannot be planned is priced node by
   node by the model. */
double cost_graph(Cost *, const Graph *, const CostPart *, int *nodes);
/* The price of each step with its kind. False: the graph cannot be planned, and nothing was
   reported. */
typedef void CostEach(void *user, StepKind, double seconds);
bool cost_kinds(Cost *, const Graph *, CostEach *, void *user);
/* The last cost_whole failed because a kernel refused the random data: sizes depend on it, or an
   index is out of range. */
bool cost_refused(const Cost *);
int cost_missing(const Cost *); /* prices that were not in the file of a frozen run */
typedef struct WholeGraph {
    World *w;
    Sizes sizes;
    const Graph *graph;
    const void *const *in; /* data of its inputs; NULL: random */
} WholeGraph;
/* Seconds of one run of each whole graph, the best of interleaved rounds. Stored in the cost file
   under the texts of all their plans, since only times taken together are compared. predicted: the
   sums of the prices of their plans' steps. If stored prices are more than a quarter off for the
   first graph, they and the whole graphs are measured again, once. */
bool cost_whole(Cost *, int n, const WholeGraph[], double seconds[], double predicted[], Error *);
/* What was found to be wrong with the cost file; NULL: nothing. */
const char *cost_fault(const Cost *);
#endif
