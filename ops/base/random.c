/* random.c -- random numbers as a pure function. SplitMix64's finalizer (Steele, Lea, Flood, "Fast
   splittable pseudorandom number generators", OOPSLA 2014) is applied to the seed; the result
   starts a sequence, and the finalizer is applied again to its element number `counter`. */
#include "ops/base/random.h"
#include <math.h>

static const uint64_t golden = 0x9e3779b97f4a7c15u;

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t random_at(uint64_t seed, uint64_t counter) {
    return mix(mix(seed + golden) + (counter + 1) * golden);
}

uint64_t random_next(Random *r) { return random_at(r->seed, r->counter++); }

/* Rejects draws below 2^64 mod n, so that the number of the remaining ones is a multiple of n. */
uint64_t random_below(Random *r, uint64_t n) {
    uint64_t least = (0 - n) % n, draw;
    do draw = random_next(r);
    while (draw < least);
    return draw % n;
}

double random_unit(Random *r) { return (double)(random_next(r) >> 11) * 0x1p-53; }

double random_normal(Random *r) {
    double radius = sqrt(-2 * log(1 - random_unit(r))); /* 1 - random_unit is never 0 */
    return radius * cos(6.283185307179586476925 * random_unit(r));
}
