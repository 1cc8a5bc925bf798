/* fuzz.h -- what the fuzzing targets share. A target takes any bytes and either uses what they say
   or gets an Error with a documented kind and a reason; anything else (a crash, a sanitizer's
   report, a property that does not hold) ends the process. Every target is a function, so that
   `make test` can run it on the committed seeds without a fuzzer. */
#ifndef ISOMER_TEST_FUZZ_H
#define ISOMER_TEST_FUZZ_H
#include "ops/base/arena.h"
#include <stdint.h>

enum {
    FUZZ_MEMORY = 256 << 20,
    FUZZ_BYTES = 1 << 20
}; /* limit of an arena; longer inputs are not tried */
typedef int FuzzTarget(const uint8_t *, size_t); /* libFuzzer's contract: 0 */
FuzzTarget fuzz_onnx, fuzz_rules, fuzz_graph, fuzz_costdb, fuzz_taso;

void fuzz_need(bool holds, const char *what); /* aborts if it does not */
/* A failure of input: of a documented kind, with a reason. */
void fuzz_refused(const Error *);
#endif
