/* entry.c -- the entry point of one fuzzing program. The build defines FUZZ as the function of its
   target. */
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return FUZZ(data, size); }
