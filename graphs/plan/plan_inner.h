/* plan_inner.h -- what the files of the planner share. */
#ifndef ISOMER_PLAN_INNER_H
#define ISOMER_PLAN_INNER_H
#include "graphs/plan/plan.h"

typedef struct PlanBuild {
    World *w;
    Arena *arena;
    Sizes sizes;
    Error *error;
    NodeId at; /* the graph's node being planned: what an error names */
    int room_slots, room_steps;
    Plan *plan;
    const OpenDevice *device; /* what it is planned for; NULL: any */
} PlanBuild;

/* plan_lower.c: the steps of the graph, each node's after those of its operands; false: the build's
   error and node are set. Works in the world's scratch arena. */
bool plan_lower(PlanBuild *, const Graph *);

/* ---- Passes over the steps, in the order in which they run. */

/* plan_int8.c: products of dequantized numbers become products of 8-bit integers where the device
   has an algorithm for them. */
void plan_int8(PlanBuild *);
/* plan_repeat.c: element-wise steps compute one place of the axes along which all their
   operands repeat. */
void plan_collapse(PlanBuild *);
/* plan_fuse.c: element-wise steps go into the step that makes their operand, or into the next
   element-wise step. Steps that became part of another are removed. */
void plan_fuse(PlanBuild *);
/* plan_rows.c: reductions and the element-wise steps around them become steps over rows, where the
   device has an algorithm for these. */
void plan_rows(PlanBuild *);
/* plan_attention.c: a product, a softmax and a product become one step of attention, where the
   device has an algorithm for it. */
void plan_attention(PlanBuild *);
/* plan_memory.c: marks the steps that read constants only. */
void plan_once(PlanBuild *);
/* plan_repeat.c: parts of element-wise programs that read constants alone and are the same along
   some axis become steps of their own, which are done once. */
void plan_split_constants(PlanBuild *);
/* plan_memory.c: gives every slot that is not an input, output or constant its place in the work
   memory; slots that are never in use at the same time may share it. */
void plan_place(PlanBuild *);

/* ---- What the passes share. */

/* Whether all elements of the view are one known number that a double holds; *k: that number. */
bool plan_number(const Plan *, const View *, double *k);
/* Drops the steps without views: what they did, others do now. */
void plan_drop_gone(Plan *);
/* A new slot; returns its number. */
int plan_slot(PlanBuild *, Slot);
/* By slot: how many steps write it, how many read it (an output of the plan is not counted as
   read), and the last step that wrote it. */
typedef struct SlotUses {
    int *writers, *readers, *writer;
} SlotUses;
/* Of all steps, in the arena, with room for `more` slots that are yet to be made. */
SlotUses slot_uses_new(const Plan *, Arena *, int more);
/* Adds `by` (1 or -1) to what step k writes and reads: before and after a change of the step. */
void slot_uses_add(SlotUses *, const Plan *, int k, int by);

/* The same elements in the same order; strides of axes of size 1 do not matter. */
bool view_same(const View *, const View *);
bool view_gapless(const View *); /* row-major without gaps from where it starts */
int step_writes(const Step *);   /* how many views it writes, the first ones */
/* Read off its kind and sizes; < 0: S_LOOP and, "sdpa" aside, S_OP do not tell. */
double step_flops(const Step *);
double step_bytes(const Step *); /* read and written, each element once */
#endif
