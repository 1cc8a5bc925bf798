/* heap.c -- a binary heap. Invariant: v[k] does not come before its parent, v[(k - 1) / 2]. */
#include "ops/base/heap.h"

void heap_push(Heap *h, int x) {
    ARENA_GROW(h->arena, h->v, h->room, h->n + 1);
    int k = h->n++;
    for (; k && h->before(h->user, x, h->v[(k - 1) / 2]); k = (k - 1) / 2)
        h->v[k] = h->v[(k - 1) / 2];
    h->v[k] = x;
}

int heap_pop(Heap *h) {
    int top = h->v[0], last = h->v[--h->n], k = 0;
    for (int c; (c = 2 * k + 1) < h->n; k = c) {
        if (c + 1 < h->n && h->before(h->user, h->v[c + 1], h->v[c])) c++;
        if (!h->before(h->user, h->v[c], last)) break;
        h->v[k] = h->v[c];
    }
    h->v[k] = last;
    return top;
}
