/* plan_memory.c -- allocates memory statically, and marks the steps that run once. A slot lives
   from the first step that names it to the last; slots whose lives overlap get disjoint bytes of
   one work buffer. The allocation is greedy by size (Pisarchyk and Lee, "Efficient memory
   management for deep neural net inference", 2020): the largest slot first, each at the lowest
   offset where it fits between the placed slots that live at the same time. */
#include "graphs/plan/plan_inner.h"
#include <stdlib.h>

enum { ALIGNMENT = 64 };
typedef struct Life {
    int slot, first, last; /* first and last: the steps between which it lives */
    int64_t offset, size;
} Life;

static int by_size(const void *a, const void *b) {
    const Life *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->slot - y->slot;
}

int plan_slot(PlanBuild *b, Slot slot) {
    Plan *p = b->plan;
    ARENA_GROW(b->arena, p->slot, b->room_slots, p->nslot + 1);
    p->slot[p->nslot] = slot;
    return p->nslot++;
}

void plan_drop_gone(Plan *p) {
    int n = 0;
    for (int k = 0; k < p->nstep; k++)
        if (p->step[k].step.nview) p->step[n++] = p->step[k];
    p->nstep = n;
}

/* Finds the constant slots: those that are not inputs, and that no step writes or only steps that
   run once. Corrects which steps run once: those that read and write constant slots alone, so that
   all steps that write a slot run once or none does (execute.c relies on this). Returns whether any
   changed. A slot that turns out not to be constant affects the later steps of the same pass, so
   that few passes are needed. */
static bool find_once(Plan *p, bool *constant) {
    bool changed = false;
    for (int k = 0; k < p->nslot; k++) constant[k] = p->slot[k].input < 0;
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < step_writes(&p->step[k].step); j++)
            constant[p->step[k].step.view[j].slot] &= p->step[k].once;
    for (int k = 0; k < p->nstep; k++) {
        const Step *s = &p->step[k].step;
        bool once = true;
        for (int j = 0; j < s->nview; j++) once &= s->view[j].slot < 0 || constant[s->view[j].slot];
        changed |= once != p->step[k].once;
        p->step[k].once = once;
        for (int j = 0; j < step_writes(s) && !once; j++) constant[s->view[j].slot] = false;
    }
    return changed;
}

/* Assumes that all steps run once, and corrects this until nothing changes. */
void plan_once(PlanBuild *b) {
    ArenaMark mark = arena_mark(b->w->scratch);
    bool *constant = ARENA_NEW(b->w->scratch, bool, b->plan->nslot);
    for (int k = 0; k < b->plan->nstep; k++) b->plan->step[k].once = true;
    while (find_once(b->plan, constant)) {}
    arena_reset(b->w->scratch, mark);
}

/* Finds the lives of the slots in work memory; returns their number. */
static int find_lives(const Plan *p, Life *life) {
    int n = 0;
    for (int k = 0; k < p->nslot; k++)
        life[k] = (Life){.slot = k,
                         .first = -1,
                         .last = -1,
                         .size = (p->slot[k].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < p->step[k].step.nview; j++) {
            if (p->step[k].step.view[j].slot < 0) continue;
            Life *l = &life[p->step[k].step.view[j].slot];
            if (l->first < 0) l->first = k;
            if (l->last < k) l->last = k;
            if (!p->step[k].once) continue;
            l->first = 0; /* what is made once is kept for good */
            l->last = p->nstep;
        }
    for (int k = 0; k < p->nslot; k++) {
        const Slot *s = &p->slot[k];
        if (life[k].first >= 0 && !s->data && s->input < 0 && s->output < 0) life[n++] = life[k];
    }
    return n;
}

/* The lowest offset where *l fits between those of the n placed slots, which are sorted by offset,
   that live at the same time. */
static int64_t lowest_gap(const Life *l, Life *const placed[], int n) {
    int64_t at = 0;
    for (int k = 0; k < n && at + l->size > placed[k]->offset; k++) {
        bool together = placed[k]->first <= l->last && l->first <= placed[k]->last;
        if (together && placed[k]->offset + placed[k]->size > at)
            at = placed[k]->offset + placed[k]->size;
    }
    return at;
}

static void insert_life(Life *l, Life *placed[], int n) {
    while (n > 0 && placed[n - 1]->offset > l->offset) placed[n] = placed[n - 1], n--;
    placed[n] = l;
}

void plan_place(PlanBuild *b) {
    Plan *p = b->plan;
    Arena *scratch = b->w->scratch;
    ArenaMark mark = arena_mark(scratch);
    Life *life = ARENA_NEW(scratch, Life, p->nslot),
         **placed = ARENA_NEW(scratch, Life *, p->nslot);
    int n = find_lives(p, life);
    if (n) qsort(life, (size_t)n, sizeof *life, by_size);
    for (int k = 0; k < n; k++) {
        life[k].offset = lowest_gap(&life[k], placed, k);
        insert_life(&life[k], placed, k);
        p->slot[life[k].slot].arena_offset = life[k].offset;
        if (life[k].offset + life[k].size > p->work_bytes)
            p->work_bytes = life[k].offset + life[k].size;
    }
    arena_reset(scratch, mark);
}
