/* plan.h -- what is costed and run: a list of steps over slots, built from a graph whose sizes are
   all bound. cost(graph) = cost(plan(graph)). Views (transpose, slice, reshape that stays affine,
   broadcast) and in-place concat are free where the consumer can take them; else a copy is
   charged. */
#ifndef ISOMER_PLAN_H
#define ISOMER_PLAN_H
#include "graphs/graph.h"
#include "ops/backend/backend.h"

typedef struct Slot {
    int64_t bytes;
    Value value;          /* whose buffer it is (for dumps) */
    const void *data;     /* a constant's bytes; NULL: not a constant */
    int input, output;    /* index of the graph input or output it holds, -1: none */
    int64_t arena_offset; /* where in the plan's work memory; -1: not there */
} Slot;
typedef struct PlanStep {
    Step step;
    NodeId node; /* what it computes (the last node, where several are fused) */
    int choice;  /* of the back end, 0 by default */
    double flops, bytes;
    bool once; /* it reads constants only: done when the runner is made, and free from then on */
} PlanStep;
typedef struct Plan {
    Arena *arena;
    int nslot, nstep, nin, nout;
    Slot *slot;
    PlanStep *step;
    const View *in, *out; /* of the graph's inputs and outputs, dense */
    int64_t work_bytes;
} Plan;
/* E_LIMIT or E_INVALID with the node and reason when a node cannot be run (opaque, unbound size, no
   kernel). The plan lives in the arena. */
Plan *plan_build(World *, Arena *, const Graph *, Sizes, Error *);
/* The same with what the device has algorithms for: 8-bit integers, channels last. */
Plan *plan_build_for(const OpenDevice *, World *, Arena *, const Graph *, Sizes, const bool loose[],
                     Error *);
/* Lays what convolutions read and write channels last where that is possible: for back ends that
   say so (device_channels_last), as plan_build_for does, and the device (NULL: any) refuses no step
   for it. loose (NULL: none): the inputs that may lie so too, and then outputs may as well, which
   is for pricing a part of a larger plan. */
void plan_channels_last(const OpenDevice *, World *, Plan *, const bool loose[]);
/* The first node that keeps it from being built, with the reason; 0: none. */
NodeId plan_obstacle(World *, Arena *, const Graph *, Sizes, Error *);
void plan_print(World *, const Plan *, Text *);
const char *step_kind_name(StepKind); /* "loop" */
/* Canonical text of a step without slots: the key of its measured cost. */
void step_print(const Step *, Text *);
#endif
