/* sample.h -- of a test's many cases or rules every n-th only, with ISOMER_SAMPLE=n: where programs
   are slow, as under an emulator. */
#ifndef ISOMER_TEST_SAMPLE_H
#define ISOMER_TEST_SAMPLE_H
#include <stdlib.h>

/* From one case to the next; 1 without the variable. */
static inline int sample_step(void) {
    const char *n = getenv("ISOMER_SAMPLE");
    return n && atoi(n) > 1 ? atoi(n) : 1;
}
#endif
