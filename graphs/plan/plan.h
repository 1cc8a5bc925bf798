/* plan.h -- defines plans, which are costed and run: lists of steps over slots, built from a graph
   whose sizes are all bound. The cost of a graph is the cost of its plan. Views (transpose, slice,
   broadcast, a reshape that stays affine) and concatenation in place cost nothing if the consumer
   can take them; else a copy is charged. */
#ifndef ISOMER_PLAN_H
#define ISOMER_PLAN_H
#include "graphs/graph.h"
#include "ops/backend/backend.h"

typedef struct Slot {
    int64_t bytes;
    Value value;          /* the value that it holds (for dumps) */
    const void *data;     /* a constant's bytes; NULL: not a constant */
    int input, output;    /* index of the graph input or output that it holds; -1: none */
    int64_t arena_offset; /* offset in the plan's work memory, in bytes; -1: not in it */
} Slot;
typedef struct PlanStep {
    Step step;
    NodeId node;         /* the node that it computes (the last one if several are fused) */
    int choice;          /* number of the back end's algorithm; 0 by default */
    double flops, bytes; /* operations; bytes read and written */
    bool once; /* it reads constants only: it runs once, when the runner is made, and costs nothing
                  later */
} PlanStep;
typedef struct Plan {
    Arena *arena;
    int nslot, nstep, nin, nout;
    Slot *slot;
    PlanStep *step;
    const View *in, *out; /* the graph's inputs and outputs, dense */
    int64_t work_bytes;   /* size of the work memory */
} Plan;
/* Makes a plan, which lives in the arena. Returns NULL with E_LIMIT or E_INVALID, the node and the
   reason if a node cannot be run (it is opaque, has an unbound size, or has no kernel). */
Plan *plan_build(World *, Arena *, const Graph *, Sizes, Error *);
/* Makes a plan that also uses what the device has algorithms for: products of 8-bit integers, rows,
   attention, rotations of pairs of numbers, channels last. loose: see plan_channels_last. */
Plan *plan_build_for(const OpenDevice *, World *, Arena *, const Graph *, Sizes, const bool loose[],
                     Error *);
/* Moves the channels of what convolutions read and write to the last axis in memory, where that is
   possible. plan_build_for does so for back ends that ask for it (device_channels_last). A slot is
   not moved if the device (NULL: any) would then refuse a step. loose (NULL: none) marks the inputs
   whose layout is free; outputs are then free, too. It serves to price a part of a larger plan. */
void plan_channels_last(const OpenDevice *, World *, Plan *, const bool loose[]);
/* The first node that keeps a plan from being built, with the reason in *e; 0 if there is none. */
NodeId plan_obstacle(World *, Arena *, const Graph *, Sizes, Error *);
void plan_print(World *, const Plan *, Text *);
const char *step_kind_name(StepKind); /* such as "loop" */
/* Prints a step in canonical form without slots: the key of its measured cost. */
void step_print(const Step *, Text *);
#endif
