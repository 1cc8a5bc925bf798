/* step_cases.h -- steps drawn at random, for every back end: sizes (0 and 1 included), strides,
   types and parameters, contents; how one is run through a back end's own memory, and compared with
   the reference of steps_reference.h. All bytes of the output's buffer that the step does not own
   must stay as they were. */
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

/* Draws case `seed` of a kind (of any but loop and op) and its contents; case_end frees these. */
void case_start(Case *, uint64_t seed, StepKind);
void case_end(Case *);
/* Memory and contents for view i, with guards around; case_end frees it. */
void case_buffer(Case *, int i);
void case_describe(const Case *, char *text, size_t n);
/* A number from low to high, both included. */
int64_t case_draw(Case *, int64_t low, int64_t high);
/* Runs one choice twice, with every slot in the back end's memory. known: which inputs are weights,
   as bits. False: compile refused it. */
bool case_run(Case *, const Backend *, Device *, int choice, int known);
/* 0: the output is right and nothing else was touched; else `text` says what is wrong. want: what
   ref_run gave. */
int case_compare(const Case *, const Num *want, int64_t count, char *text, size_t n);
#endif
