/* sample.h -- lets a test run only every n-th of its many cases or rules if ISOMER_SAMPLE=n is set,
   for machines on which programs are slow, such as emulators. */
#ifndef ISOMER_TEST_SAMPLE_H
#define ISOMER_TEST_SAMPLE_H
#include <stdlib.h>

/* The step from one case to the next; 1 if the variable is not set. */
static inline int sample_step(void) {
    const char *n = getenv("ISOMER_SAMPLE");
    return n && atoi(n) > 1 ? atoi(n) : 1;
}
#endif
