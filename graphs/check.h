/* check.h -- compares two graphs that should compute the same on sampled inputs. */
#ifndef ISOMER_CHECK_H
#define ISOMER_CHECK_H
#include "graphs/compare.h"
#include "graphs/disturb.h"
#include "graphs/samples.h"
#include "ops/backend/isomer_backend.h"

/* Writes the n elements of an input on a sample. Returns false if the input is not given; it is
   then drawn from the numbers that the graph allows. */
typedef bool CheckGiven(const void *user, const char *input, int sample, DType, int64_t n,
                        void *out);
typedef struct CheckOptions {
    const Backend *backend;
    Device *device; /* both graphs are run on it */
    int samples;    /* number of samples; 0 means 2 */
    bool extreme;   /* also compare on SAMPLE_EXTREME */
    uint64_t seed;
    unsigned classes; /* NumericClass bits of the rules applied. With CLASS_ROUNDS, numbers in graph
                         a may have been replaced by the real values of which they are the nearest
                         floats */
    /* NULL, or one entry for each output, to which the differences between the built-in runtime's
       results are added. */
    Difference *each;
    /* graphs_check_definitions: b may be anything where an element of a is NaN, since a rule need
       not keep what its left side leaves undefined. */
    bool refines;
    CheckGiven *given; /* NULL: no input is given */
    const void *given_user;
} CheckOptions;
/* Writes the data of input number `index` on a sample: as given, else drawn without bounds. */
void check_input(const CheckOptions *, const char *input, DType, int index, int sample, int64_t n,
                 void *out);
typedef struct CheckResult {
    bool agrees;       /* none of run, oracle and kernel is out of tolerance */
    Difference run;    /* between the graphs, run by the built-in runtime */
    Difference oracle; /* between the graphs, computed by their definitions in double (count 0: they
                          need more than CHECK_WORK operations, or not all of their operators have
                          a definition) */
    Difference extreme; /* like `run`, on SAMPLE_EXTREME, for elements that are finite in both */
    Difference range;   /* on SAMPLE_EXTREME: the first element that is finite in one graph only */
    Difference kernel;  /* between the built-in runtime and the definitions, over both graphs; only
                           floats, with a tolerance of at least 1e-2 of the greatest element */
} CheckResult;
/* Compares graphs with the same inputs and with outputs of equal types and sizes. Returns false if
   one of them cannot be run or the outputs do not match, as *e says; there is no verdict then
   (E_CHECK: the outputs differ in element type, rank or a constant size). */
bool graphs_check(World *, const Graph *a, const Graph *b, Sizes, const CheckOptions *,
                  CheckResult *, Error *);
/* Graphs that need at most this much work together are compared by their definitions. */
#define CHECK_WORK 2e6
/* Returns the work that both graphs need together: their operations, where an element that is only
   moved or drawn counts as one; < 0: it is not known. */
double graphs_check_work(World *, const Graph *a, const Graph *b, Sizes);
/* Compares the graphs only by their definitions in double, without a back end, however many
   operations they need; the result is in r->oracle. They are compared on the samples that the
   options ask for, and always on SAMPLE_SIGNED. Their inputs may be results of nodes, which are
   drawn like other inputs; an input that one of the graphs has twice gets the same data both times.
   Returns false if a part of them has no definition or no size. */
bool graphs_check_definitions(World *, const Graph *a, const Graph *b, Sizes, const CheckOptions *,
                              CheckResult *r);
#endif
