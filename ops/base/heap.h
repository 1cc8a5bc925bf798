/* heap.h -- numbers, the first of an order ahead: a binary heap (Williams, CACM 7, 1964). */
#ifndef ISOMER_HEAP_H
#define ISOMER_HEAP_H
#include "arena.h"

typedef struct Heap {
    Arena *arena;                                   /* of the list */
    bool (*before)(const void *user, int a, int b); /* a comes before b: a strict total order */
    const void *user;
    int n, room;
    int *v;
} Heap;
void heap_push(Heap *, int);
int heap_pop(Heap *); /* the first of all; n > 0 */
#endif
