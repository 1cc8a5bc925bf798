/* rank.h -- a list of numbers, those of the greatest keys first. */
#ifndef ISOMER_RANK_H
#define ISOMER_RANK_H

/* Puts x into a list of n, sorted by descending key, after those of the same key. At most `most`
   stay in it: the last one, or x itself, is dropped. Returns how many there are now; list and key
   have room for `most`. */
int rank_insert(int n, int most, int list[], double key[], int x, double x_key);
#endif
