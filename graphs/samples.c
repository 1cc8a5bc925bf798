/* samples.c -- draws the data on which graphs are compared. */
#include "graphs/samples.h"
#include "ops/core/element.h"

/* Draws 0, a tiny number, one of magnitude up to 1 or a large one, each with probability 1/4. Large
   numbers are smaller in half precision, which has little room for squares. */
static double extreme_number(Random *r, DType t) {
    const double large = t == DT_FLOAT16 ? 100 : 1e4, x = 2 * random_unit(r) - 1;
    switch (random_below(r, 4)) {
    case 0: return 0;
    case 1: return x / large;
    case 2: return x;
    default: return x * large;
    }
}

static double sample_real(Random *r, int sample, DType t) {
    if (sample == SAMPLE_EXTREME) return extreme_number(r, t);
    return sample % 3 == 0   ? random_unit(r)
           : sample % 3 == 1 ? random_normal(r)
                             : 2 * random_unit(r) - 1;
}

Random sample_random(uint64_t seed, int input, int sample) {
    return (Random){random_at(random_at(seed, (uint64_t)input), (uint64_t)sample), 0};
}

void tensor_draw(uint64_t seed, int input, int sample, DType t, Domain domain, int64_t n,
                 void *out) {
    Random r = sample_random(seed, input, sample);
    Domain drawn;
    if (domain_drawn(domain, t, &drawn)) domain_fill(drawn, r, t, n, out);
    else
        for (int64_t i = 0; i < n; i++) element_set_real(t, out, i, sample_real(&r, sample, t));
}

void tensor_sample(uint64_t seed, int input, int sample, DType t, int64_t n, void *out) {
    tensor_draw(seed, input, sample, t, domain_any(), n, out);
}
