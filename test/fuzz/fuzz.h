/* fuzz.h -- what the fuzzing targets share. A target takes arbitrary bytes and either uses what
   they say or gets an Error with a documented kind and a reason. Anything else (a crash, a
   sanitizer's report, a property that does not hold) ends the process. Every target is a function,
   so that `make test` can run it on the committed seeds without a fuzzer. */
#ifndef ISOMER_TEST_FUZZ_H
#define ISOMER_TEST_FUZZ_H
#include "ops/base/arena.h"
#include <stdint.h>

enum {
    FUZZ_MEMORY = 256 << 20, /* bytes: the limit of an arena */
    FUZZ_BYTES = 1 << 20     /* longer inputs are not tried */
};
typedef int FuzzTarget(const uint8_t *, size_t); /* returns 0, as libFuzzer demands */
FuzzTarget fuzz_onnx, fuzz_rules, fuzz_graph, fuzz_costdb, fuzz_taso;

void fuzz_need(bool holds, const char *what); /* aborts if the property does not hold */
/* Aborts unless the error is of a documented kind and has a reason. */
void fuzz_refused(const Error *);
#endif
