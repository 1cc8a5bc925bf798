/* random.h -- random numbers as a function of (seed, counter). Each draw is independent of the
   others, so results do not depend on the order in which numbers are drawn. */
#ifndef ISOMER_RANDOM_H
#define ISOMER_RANDOM_H
#include <stdint.h>

typedef struct Random {
    uint64_t seed, counter;
} Random;
/* The number at this place of the seed's sequence, by SplitMix64's finalizer (Steele, Lea, Flood,
   OOPSLA 2014). */
uint64_t random_at(uint64_t seed, uint64_t counter);
uint64_t random_next(Random *);
uint64_t random_below(Random *, uint64_t n); /* uniform in 0..n-1, n > 0, without bias */
double random_unit(Random *);                /* [0, 1), 53 bits */
double random_normal(Random *); /* mean 0, variance 1; one of the two numbers of Box-Muller */
#endif
