/* random.h -- numbers from (seed, counter): the n-th draw does not depend on the others, so that
   results do not depend on order. */
#ifndef ISOMER_RANDOM_H
#define ISOMER_RANDOM_H
#include <stdint.h>

typedef struct Random {
    uint64_t seed, counter;
} Random;
/* SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA 2014) over both. */
uint64_t random_at(uint64_t seed, uint64_t counter);
uint64_t random_next(Random *);
uint64_t random_below(Random *, uint64_t n); /* uniform in 0..n-1, n > 0, without bias */
double random_unit(Random *);                /* [0, 1), 53 bits */
double random_normal(Random *);              /* mean 0, variance 1; Box-Muller, one of the pair */
#endif
