/* check.h -- compares two graphs that should compute the same, on sampled inputs. */
#ifndef ISOMER_CHECK_H
#define ISOMER_CHECK_H
#include "graphs/compare.h"
#include "graphs/disturb.h"
#include "graphs/samples.h"
#include "ops/backend/isomer_backend.h"

/* Writes what an input is on a sample, of so many elements; false: it is drawn, from what the graph
   allows. */
typedef bool CheckGiven(const void *user, const char *input, int sample, DType, int64_t n,
                        void *out);
typedef struct CheckOptions {
    const Backend *backend;
    Device *device;
    int samples;  /* 0: 2 */
    bool extreme; /* SAMPLE_EXTREME too */
    uint64_t seed;
    unsigned classes;    /* NumericClass: of what was rewritten. CLASS_ROUNDS: numbers of a may have
                            been taken for those of which they are the nearest floats */
    double oracle_flops; /* graphs up to so many operations are also compared by their definitions
                            in double; 0: 2e6, < 0: never */
    /* NULL, or one for each output, to be added to: what the built-in runtime's results differ
       by. */
    Difference *each;
    CheckGiven *given; /* NULL: none is */
    const void *given_user;
} CheckOptions;
/* The data of input number `index` on a sample, drawn from any domain if it is not given. */
void check_input(const CheckOptions *, const char *input, DType, int index, int sample, int64_t n,
                 void *out);
typedef struct CheckResult {
    bool agrees;
    Difference run;     /* of b from a, by the built-in runtime */
    Difference oracle;  /* of b from a, by their definitions in double (count 0: too large, or not
                           all operators have one) */
    Difference extreme; /* as run, on SAMPLE_EXTREME, where both are finite */
    Difference range;   /* the first element there that is finite in one of them only */
    Difference kernel;  /* of that runtime from the definitions, over both; floats only, 1e-2 of the
                           greatest element at least */
} CheckResult;
/* Both have the same inputs (values) and outputs of equal sizes. False: one of them cannot be run,
   as *e says, and there is no verdict. */
bool graphs_check(World *, const Graph *a, const Graph *b, Sizes, const CheckOptions *,
                  CheckResult *, Error *);
/* Only by their definitions in double, without a back end; r->oracle says what was found. False:
   they are too large, or not all of either has a definition and sizes. */
bool graphs_check_definitions(World *, const Graph *a, const Graph *b, Sizes, const CheckOptions *,
                              CheckResult *r);
#endif
