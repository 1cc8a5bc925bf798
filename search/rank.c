/* rank.c -- inserts into a sorted list, from its end. */
#include "search/rank.h"

int rank_insert(int n, int most, int list[], double key[], int x, double x_key) {
    if (n == most && (!n || key[n - 1] >= x_key)) return n;
    int to = n < most ? n++ : n - 1;
    for (; to > 0 && key[to - 1] < x_key; to--) list[to] = list[to - 1], key[to] = key[to - 1];
    list[to] = x, key[to] = x_key;
    return n;
}
