/* groups.h -- disjoint sets of the numbers 0, 1, .. (union-find with path halving: Tarjan and van
   Leeuwen, 1984). up[k] is k itself or a smaller number of the same set; the caller sets up[k] = k
   initially. */
#ifndef ISOMER_GROUPS_H
#define ISOMER_GROUPS_H

/* The least number of k's set, which represents it. */
static inline int group_least(int up[], int k) {
    while (up[k] != k) k = up[k] = up[up[k]];
    return k;
}
static inline void groups_unite(int up[], int a, int b) {
    a = group_least(up, a), b = group_least(up, b);
    up[a > b ? a : b] = a > b ? b : a;
}
#endif
