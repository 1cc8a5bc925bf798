/* loop.h -- loop programs: a definition for sizes that are known, as plain integers that run
   without a World. They are the parameters of an S_LOOP step, specified in isomer_backend.h.
   loop_compile.c makes them (with loop_index.c for the indices), loop_form.c decodes them,
   loop_run.c runs them. */
#ifndef ISOMER_LOOP_H
#define ISOMER_LOOP_H
#include "ops/core/number.h"
#include "ops/backend/isomer_backend.h"

typedef struct LoopProgram {
    int n;
    const int64_t *words;
} LoopProgram;

/* What to compile: the definition of one output, its sizes, and how its inputs and parameters are
   numbered. */
typedef struct LoopSource {
    World *w;
    Ex define;
    Sizes sizes;
    int rank;
    const int64_t *dim; /* rank entries */
    const int *input; /* input[k]: the number of input k in the program; NULL: every input keeps its
                         number */
    int nparam;       /* the parameters (`word` of EX_PARAM) for which loop_run is given values */
    const uint32_t *param;
} LoopSource;
/* Compiles a loop program, whose words live in the arena. False: a size has no value, or a limit of
   loop programs is exceeded; the error says which. */
bool loop_compile(const LoopSource *, Arena *, LoopProgram *out, Error *);

/* A program bound to views: view[0] is the output, view[1 + k] input k. With numbers_real, elements
   have the view's dtype and are computed as doubles or, where a program only adds, multiplies,
   moves, chooses and compares integers, as integers of 64 bits; otherwise they are arrays of
   Number, whatever the dtype. loop_new returns NULL if the program does not fit the views, or
   without memory. A Loop must not be run by several threads at once. */
typedef struct Loop Loop;
Loop *loop_new(LoopProgram, int nview, const View view[], const Numbers *, Error *);
/* Restricts all later runs to from <= index < to on an axis of the output. */
void loop_limit(Loop *, int axis, int64_t from, int64_t to);
/* Computes the output. slot[] has the memory of the slots that the views name; param[] the values
   of the parameters. */
void loop_run(Loop *, void *const slot[], const Number param[]);
void loop_free(Loop *);
#endif
