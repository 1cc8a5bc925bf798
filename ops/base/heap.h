/* heap.h -- a priority queue of numbers: a binary heap (Williams, CACM 7, 1964). */
#ifndef ISOMER_HEAP_H
#define ISOMER_HEAP_H
#include "arena.h"

typedef struct Heap {
    Arena *arena;                                   /* in which v is allocated */
    bool (*before)(const void *user, int a, int b); /* a comes out before b; a strict total order */
    const void *user;
    int n, room;
    int *v;
} Heap;
void heap_push(Heap *, int);
int heap_pop(Heap *); /* removes and returns the first in the order; n must be > 0 */
#endif
