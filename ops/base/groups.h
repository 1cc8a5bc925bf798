/* groups.h -- numbers 0, 1, .. in groups that are united (union-find with path halving: Tarjan and
   van Leeuwen, 1984). up[k] is k itself or a smaller number of its group; at first up[k] is k. */
#ifndef ISOMER_GROUPS_H
#define ISOMER_GROUPS_H

/* The least number of its group. */
static inline int group_least(int up[], int k) {
    while (up[k] != k) k = up[k] = up[up[k]];
    return k;
}
static inline void groups_unite(int up[], int a, int b) {
    a = group_least(up, a), b = group_least(up, b);
    up[a > b ? a : b] = a > b ? b : a;
}
#endif
