/* loop.h -- loop programs: a definition once sizes are bound, as plain integers (the parameters of
   an S_LOOP step, specified in isomer_backend.h) that run without a World. loop_compile.c makes
   them (loop_index.c their indices), loop_form.c reads them, loop_run.c runs them. */
#ifndef ISOMER_LOOP_H
#define ISOMER_LOOP_H
#include "ops/core/number.h"
#include "ops/backend/isomer_backend.h"

typedef struct LoopProgram {
    int n;
    const int64_t *words;
} LoopProgram;

/* One output of these sizes: which expression it is, and what its inputs and parameters are. */
typedef struct LoopSource {
    World *w;
    Ex define;
    Sizes sizes;
    int rank;
    const int64_t *dim; /* rank of them */
    const int *input;   /* the number that input k gets in the program; NULL: its own */
    int nparam;         /* words of EX_PARAM that loop_run is given values for */
    const uint32_t *param;
} LoopSource;
/* The words of the program live in the arena. False: a size without a value, .. */
bool loop_compile(const LoopSource *, Arena *, LoopProgram *out, Error *);

/* A program bound to views: view[0] is the output, view[1 + k] input k. numbers_real: elements of
   the view's dtype, computed as doubles; else arrays of Number whatever the dtype says. NULL: it
   does not fit them, or memory. Not shared by threads while it runs. */
typedef struct Loop Loop;
Loop *loop_new(LoopProgram, int nview, const View view[], const Numbers *, Error *);
/* From now on it computes from <= index < to of the output's axis only. */
void loop_limit(Loop *, int axis, int64_t from, int64_t to);
void loop_run(Loop *, void *const slot[], const Number param[]);
void loop_free(Loop *);
#endif
