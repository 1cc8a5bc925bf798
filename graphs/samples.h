/* samples.h -- the data on which graphs are compared; it depends on nothing but the arguments
   here. */
#ifndef ISOMER_SAMPLES_H
#define ISOMER_SAMPLES_H
#include "graphs/domain.h"
#include "ops/base/random.h"

/* Data of a sample, from a domain with both ends; else sample 0: floats uniform in [0, 1); 1:
   normal; 2: uniform in [-1, 1); and so on; SAMPLE_EXTREME: zeros, tiny, usual and large numbers of
   either sign; of integers what domain_drawn says. */
enum { SAMPLE_EXTREME = 63 };
void tensor_draw(uint64_t seed, int input, int sample, DType, Domain, int64_t n, void *out);
Random sample_random(uint64_t seed, int input, int sample); /* from which it is drawn */
/* From any domain. */
void tensor_sample(uint64_t seed, int input, int sample, DType, int64_t n, void *out);
#endif
