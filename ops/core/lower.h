/* lower.h -- from a definition with bound sizes to steps: a view where each output element is one
   element of an input at affine positions, else an element-wise step, a reduction, or the loop
   program, which is always possible. Operators with a step of their own say so in Op.steps. */
#ifndef ISOMER_LOWER_H
#define ISOMER_LOWER_H
#include "ops/core/expr.h"
#include "ops/backend/view.h"

enum { STEP_BUFFERS = 16 };
/* What steps are made for. runs: it has an algorithm for the step; known: the contents of a slot
   that never change, from its first element on, or NULL. */
typedef struct StepTarget {
    bool (*runs)(void *user, const Step *);
    const void *(*known)(void *user, int slot);
    void *user;
} StepTarget;
typedef struct StepBuf { /* collects steps; all of it lives in the arena */
    World *w;
    Sizes sizes; /* values of the symbols in types and attributes */
    Arena *arena;
    const StepTarget *target; /* NULL: any back end */
    uint64_t unread;          /* outputs that nothing reads, by number: they need not be computed */
    int n, room;
    Step *v;
    const char *why; /* set by what could not be done; the steps must not be used then */
    /* Buffers that steps need between them: slots from first_buffer on, each for one dense view. 0:
       there are none, and what needs them is computed in another way. */
    int first_buffer, nbuffers;
    View buffers[STEP_BUFFERS];
} StepBuf;
StepBuf stepbuf_new(World *, Sizes, Arena *);
/* A copy of the views; the Step moves when the next is added. */
Step *step_add(StepBuf *, StepKind, int nview, const View view[]);
void step_param(StepBuf *, Step *, int n, const int64_t param[]); /* appends */
void step_sizes(StepBuf *, Step *, int n, const Poly p[]);        /* appends their values */
void step_code(StepBuf *, Step *, int n, const Scalar code[]);
/* A buffer between steps as a dense view of these sizes; false: there are none, or no more. */
bool step_buffer(StepBuf *, int32_t dtype, int rank, const int64_t dim[], View *out);
int64_t step_size(StepBuf *, Poly); /* its value; sets why (and gives 0) when it has none */
void step_copy(StepBuf *, const View *y, const View *x);
void step_fill(StepBuf *, const View *y, double k);

/* in[k] is input k; like: the output, of which rank, sizes and dtype are read. True: the output is
 *out, a view of an input's slot; false: it is not a view. */
bool lower_view(World *, Ex, Sizes, const View in[], const View *like, View *out);
/* Always possible when sizes have values; else why is set. */
bool lower_step(StepBuf *, Ex, int nin, const View in[], const View *out);
#endif
