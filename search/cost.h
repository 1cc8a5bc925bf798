/* cost.h -- the price of a graph: how long the built-in runtime takes to run it, as the sum over
   the steps of its plan. The price of a step is measured once and stored in the cost file under the
   step's text; where nothing is measured, it comes from a simple model of arithmetic and memory
   traffic. Values that depend only on constants are free, since they are computed once, before the
   result is written. */
#ifndef ISOMER_COST_H
#define ISOMER_COST_H
#include "graphs/plan/plan.h"
#include "ops/backend/backend.h"
#include "graphs/plan/costdb.h"

typedef struct CostOptions {
    /* measured: prices are times, which come from the cost file or, unless frozen, are measured
       now. */
    bool measured, frozen;
    const char *backend, *backend_options; /* backend_options may be NULL */
    int threads;                           /* threads that run a kernel */
    uint64_t seed;
    /* Bytes of the whole model's weights (cost_weights), which may not all stay in the cache; 0:
       they do. */
    double weights;
} CostOptions;
typedef struct Cost Cost;
/* Returns NULL with the error set on failure, above all if there is no such back end. */
Cost *cost_new(World *, Arena *, Sizes, CostDb *, const CostOptions *, Error *);
void cost_free(Cost *);
/* What is known about the inputs of a graph that is part of a larger graph. */
typedef struct CostPart {
    const bool *constant; /* by input: whether it is a constant */
    /* By input: whether the surrounding graph may choose its layout, as it may for outputs. */
    const bool *loose;
} CostPart;
/* Returns the seconds of one run. `part` is NULL for a whole model. *nodes (may be NULL) receives
   the number of nodes that do not depend on constants alone. Never fails: a graph that cannot be
   planned is priced node by node (cost_model). */
double cost_graph(Cost *, const Graph *, const CostPart *, int *nodes);
/* Reports the kind and the price of each step. Returns false if the graph cannot be planned;
   nothing is reported then. */
typedef void CostEach(void *user, StepKind, double seconds);
bool cost_kinds(Cost *, const Graph *, CostEach *, void *user);
/* Returns whether the last cost_whole failed because a kernel refused the random data: a size
   depends on the data, or an index is out of range. */
bool cost_refused(const Cost *);
int cost_missing(const Cost *); /* prices that a frozen run did not find in the cost file */
typedef struct WholeGraph {
    World *w;
    Sizes sizes;
    const Graph *graph;
    const void *const *in; /* the contents of its inputs; NULL: random */
} WholeGraph;
/* Sets seconds[] to the seconds of one run of each graph: the best of interleaved rounds. They are
   stored in the cost file under the texts of all n plans, since only times taken together can be
   compared. predicted[] receives the sums of the prices of the plans' steps. If the prediction for
   the first graph is more than a quarter off although it uses stored prices, these prices and the
   whole graphs are measured again, once. */
bool cost_whole(Cost *, int n, const WholeGraph[], double seconds[], double predicted[], Error *);
/* Returns what was wrong in the cost file and was measured again; NULL: nothing. */
const char *cost_fault(const Cost *);
#endif
