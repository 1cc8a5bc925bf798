/* rank.h -- keeps a list of the numbers with the greatest keys. */
#ifndef ISOMER_RANK_H
#define ISOMER_RANK_H

/* Inserts x into a list of n numbers sorted by descending key, after the numbers with the same key.
   The list keeps at most `most` numbers: the last one, or x itself, is dropped. Returns the new
   length; list[] and key[] have room for `most`. */
int rank_insert(int n, int most, int list[], double key[], int x, double x_key);
#endif
