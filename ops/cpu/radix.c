/* radix.c -- sorts unsigned numbers by their digits, the last digit first (radix sort: Knuth, The
   Art of Computer Programming 3, 5.2.5). Digits in which all numbers agree are skipped. */
#include "ops/cpu/cpu.h"

enum { DIGITS = 256 };
static void sort_digit(const uint64_t *key, int shift, const int64_t *order, int64_t *sorted,
                       int64_t n) {
    int64_t from[DIGITS] = {0};
    for (int64_t k = 0; k < n; k++) from[key[k] >> shift & (DIGITS - 1)]++;
    for (int64_t digit = 0, sum = 0; digit < DIGITS; digit++) {
        const int64_t here = from[digit];
        from[digit] = sum, sum += here;
    }
    for (int64_t k = 0; k < n; k++)
        sorted[from[key[order[k]] >> shift & (DIGITS - 1)]++] = order[k];
}
void radix_sort(const uint64_t *key, int64_t n, int64_t **order, int64_t **spare) {
    uint64_t differ = 0;
    for (int64_t k = 1; k < n; k++) differ |= key[k] ^ key[0];
    for (int shift = 0; shift < 64; shift += 8) {
        if (!(differ >> shift & (DIGITS - 1))) continue;
        sort_digit(key, shift, *order, *spare, n);
        int64_t *const sorted = *spare;
        *spare = *order, *order = sorted;
    }
}
