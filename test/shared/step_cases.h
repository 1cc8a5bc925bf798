/* step_cases.h -- draws random steps for tests of back ends: sizes (including 0 and 1), strides,
   types, parameters and contents. Also runs a step in a back end's own memory and compares the
   result with the reference of steps_reference.h. All bytes of the output's buffer that the step
   does not own must keep their values. */
#ifndef ISOMER_TEST_STEP_CASES_H
#define ISOMER_TEST_STEP_CASES_H
#include "ops/backend/backend.h"
#include "ops/base/random.h"
#include "test/shared/steps_reference.h"

enum { SLOTS = 8, GUARD = 256, PATTERN = 0xA5 };
typedef struct Case {
    Random random;
    Step step;
    View view[SLOTS];
    int64_t param[24];
    Scalar code[64];
    char *buffer[SLOTS];
    void *slot[SLOTS];
    size_t bytes[SLOTS];
    double tolerance;
} Case;

/* Draws case number `seed` of a kind (any but loop and op) with its contents, which case_end
   frees. */
void case_start(Case *, uint64_t seed, StepKind);
void case_end(Case *);
/* Allocates and fills the memory of view i, with guards around it; case_end frees it. */
void case_buffer(Case *, int i);
/* Describes the case in one line. */
void case_describe(const Case *, char *text, size_t n);
/* Draws a number from low to high, both included. */
int64_t case_draw(Case *, int64_t low, int64_t high);
/* Runs one choice twice, with every slot in the back end's memory. `known` has a bit for each view
   whose contents are passed to compile as weights. Returns false if compile refuses the choice. */
bool case_run(Case *, const Backend *, Device *, int choice, int known);
/* Compares the output with `want`, the result of ref_run. Returns 0 if it is right and nothing else
   was written; otherwise `text` says what is wrong. */
int case_compare(const Case *, const Num *want, int64_t count, char *text, size_t n);
#endif
