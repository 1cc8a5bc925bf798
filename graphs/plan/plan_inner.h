/* plan_inner.h -- declares what the files of the planner share. */
#ifndef ISOMER_PLAN_INNER_H
#define ISOMER_PLAN_INNER_H
#include "graphs/plan/plan.h"

typedef struct PlanBuild {
    World *w;
    Arena *arena;
    Sizes sizes;
    Error *error;
    NodeId at;                  /* the node of the graph that is being planned; errors name it */
    int room_slots, room_steps; /* capacity of the plan's arrays */
    Plan *plan;
    const OpenDevice *device; /* the device to plan for; NULL: any */
} PlanBuild;

/* plan_lower.c: makes the steps of the graph, those of a node after those of its operands. Returns
   false with the build's error and node set. Works in the World's scratch arena. */
bool plan_lower(PlanBuild *, const Graph *);

/* ---- Passes over the steps, in the order in which they run. */

/* plan_int8.c: turns products of dequantized numbers into products of 8-bit integers where the
   device has an algorithm for these; also keeps bytes through maxima and moves. */
void plan_int8(PlanBuild *);
/* plan_repeat.c: makes element-wise steps compute only one element along each axis on which all
   their operands repeat. */
void plan_collapse(PlanBuild *);
/* plan_fuse.c: fuses element-wise steps into the step that makes their operand, or into the next
   element-wise step, and removes the steps that became part of another. */
void plan_fuse(PlanBuild *);
/* plan_rows.c: joins reductions and the element-wise steps around them into steps over rows, where
   the device has an algorithm for these. */
void plan_rows(PlanBuild *);
/* plan_attention.c: joins a product, a softmax and a product into one step of attention, where the
   device has an algorithm for it. */
void plan_attention(PlanBuild *);
/* plan_rotate.c: joins two element-wise steps that rotate the same pairs of numbers into one step,
   where the device has an algorithm for it. */
void plan_rotate(PlanBuild *);
/* plan_norms.c: joins sums with the squares or absolute values that are summed, where the device
   has an algorithm for it. */
void plan_norms(PlanBuild *);
/* plan_memory.c: marks the steps that read constants only. */
void plan_once(PlanBuild *);
/* plan_repeat.c: splits from element-wise programs those parts that read constants alone and are
   the same along some axis; they become steps that run once. */
void plan_split_constants(PlanBuild *);
/* plan_memory.c: gives every slot that is not an input, output or constant its place in the work
   memory. Slots that are never in use at the same time may share memory. */
void plan_place(PlanBuild *);

/* ---- What the passes share. */

/* Whether all elements of the view are one known number that a double holds exactly; *k is that
   number. */
bool plan_number(const Plan *, const View *, double *k);
/* Removes the steps without views, whose work other steps have taken over. */
void plan_drop_gone(Plan *);
/* Adds a slot and returns its number. */
int plan_slot(PlanBuild *, Slot);
/* By slot: how many steps write it, how many steps read it (an output of the plan does not count as
   read), and the last step that writes it. */
typedef struct SlotUses {
    int *writers, *readers, *writer;
} SlotUses;
/* Counts the uses of all steps, in the arena, with room for `more` slots that are yet to be
   made. */
SlotUses slot_uses_new(const Plan *, Arena *, int more);
/* Adds `by` (1 or -1) to the counts of what step k writes and reads: -1 before a change of the
   step, 1 after it. */
void slot_uses_add(SlotUses *, const Plan *, int k, int by);
/* The only step that writes the slot, if only one step reads it and it is neither constant nor an
   input or output; -1 otherwise, and for slot -1. */
int slot_maker(const Plan *, const SlotUses *, int slot);
/* Likewise for the slot of view j of step k, if all views by which step k reads it are the same. */
int view_maker(const Plan *, const SlotUses *, int k, int j);

int step_writes(const Step *); /* number of views that it writes; they are the first ones */
/* Operations, from the kind and sizes of the step; < 0 for S_LOOP and for S_OP other than "sdpa"
   and "rotate", which do not tell. */
double step_flops(const Step *);
double step_bytes(const Step *); /* bytes read and written, each element once */
#endif
