/* samples.h -- draws the data on which graphs are compared. The data depends only on the arguments
   of these functions. */
#ifndef ISOMER_SAMPLES_H
#define ISOMER_SAMPLES_H
#include "graphs/domain.h"
#include "ops/base/random.h"

/* Draws n elements of a sample. If the domain is bounded at both ends, they are uniform in it. Else
   floats depend on the sample: 0: uniform in [0, 1); 1: normal; 2, SAMPLE_SIGNED: uniform in
   [-1, 1); 3: as 0; and so on; SAMPLE_EXTREME, which is far beyond any number of samples that
   options allow: zeros and tiny, usual and large numbers of either sign. Integers are drawn from
   the range that domain_drawn gives. */
enum { SAMPLE_SIGNED = 2, SAMPLE_EXTREME = 1 << 20 };
void tensor_draw(uint64_t seed, int input, int sample, DType, Domain, int64_t n, void *out);
Random sample_random(uint64_t seed, int input, int sample); /* the generator of a sample */
/* Draws as tensor_draw does, from an unbounded domain. */
void tensor_sample(uint64_t seed, int input, int sample, DType, int64_t n, void *out);
#endif
