/* plan_memory.c -- static memory: a slot lives from the first step that names it to the last; slots whose lives overlap get disjoint bytes of one work buffer. Greedy:
   the largest slot first, each at the lowest place where it fits between those already placed that live at the same time (Pisarchyk and Lee, "Efficient memory
   management for deep neural net inference", 2020: greedy by size). */
#include "graphs/plan_inner.h"
#include <stdlib.h>

enum { ALIGNMENT = 64 };
typedef struct Life {
    int slot, first, last;
    int64_t at, size;
} Life;

static int by_size(const void *a, const void *b) {
    const Life *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->slot - y->slot;
}

static int by_place(const void *a, const void *b) {
    const Life *x = *(const Life *const *)a, *y = *(const Life *const *)b;
    return (x->at > y->at) - (x->at < y->at);
}

static int lives(const Plan *p, Life *life) {
    int n = 0;
    for (int k = 0; k < p->nslot; k++)
        life[k] = (Life){.slot = k, .first = -1, .size = (p->slot[k].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};
    for (int k = 0; k < p->nstep; k++)
        for (int j = 0; j < p->step[k].step.nview; j++) {
            Life *l = &life[p->step[k].step.view[j].slot];
            if (l->first < 0) l->first = k;
            l->last = k;
        }
    for (int k = 0; k < p->nslot; k++) {
        const Slot *s = &p->slot[k];
        if (life[k].first >= 0 && !s->data && s->input < 0 && s->output < 0) life[n++] = life[k];
    }
    return n;
}

/* The lowest place for *l below or between `near`, the n placed slots that live at its time, by place. */
static int64_t lowest_gap(const Life *l, const Life *const near[], int n) {
    int64_t at = 0;
    for (int k = 0; k < n && at + l->size > near[k]->at; k++)
        if (near[k]->at + near[k]->size > at) at = near[k]->at + near[k]->size;
    return at;
}

void plan_place(PlanBuild *b) {
    Plan *p = b->plan;
    Arena *scratch = b->w->scratch;
    ArenaMark mark = arena_mark(scratch);
    Life *life = ARENA_NEW(scratch, Life, p->nslot);
    const Life **near = ARENA_NEW(scratch, const Life *, p->nslot);
    int n = lives(p, life);
    if (n) qsort(life, (size_t)n, sizeof *life, by_size);
    for (int k = 0; k < n; k++) {
        int m = 0;
        for (int j = 0; j < k; j++)
            if (life[j].first <= life[k].last && life[k].first <= life[j].last) near[m++] = &life[j];
        if (m) qsort(near, (size_t)m, sizeof *near, by_place);
        life[k].at = lowest_gap(&life[k], near, m);
        p->slot[life[k].slot].arena_offset = life[k].at;
        if (life[k].at + life[k].size > p->work_bytes) p->work_bytes = life[k].at + life[k].size;
    }
    arena_reset(scratch, mark);
}
