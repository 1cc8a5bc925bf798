/* lower.h -- lowers a definition with known sizes to steps: to a view if each output element is one
   element of an input at an affine index; else to an element-wise step or a reduction; else to a
   loop program, which is always possible. Operators with better steps provide them in Op.steps. */
#ifndef ISOMER_LOWER_H
#define ISOMER_LOWER_H
#include "ops/core/expr.h"
#include "ops/backend/view.h"

enum { STEP_BUFFERS = 16 };
/* The back end that steps are made for. runs: whether it has an algorithm for a step; known: the
   contents of a slot that never change (constants), from its first element on, or NULL. */
typedef struct StepTarget {
    bool (*runs)(void *user, const Step *);
    const void *(*known)(void *user, int slot);
    void *user;
} StepTarget;
typedef struct StepBuf { /* a list of steps; everything is allocated in the arena */
    World *w;
    Sizes sizes; /* values of the symbols in types and attributes */
    Arena *arena;
    const StepTarget *target; /* NULL: any back end */
    uint64_t unread; /* as bits by number: the outputs that nothing reads and that need not be
                        computed */
    int n, room;
    Step *v;
    const char *failure; /* the reason of a failure, after which the steps must not be used */
    /* Buffers for intermediate results, each a dense view of a slot from first_buffer on.
       first_buffer 0: there are none, and steps must do without. */
    int first_buffer, nbuffers;
    View buffers[STEP_BUFFERS];
} StepBuf;
StepBuf stepbuf_new(World *, Sizes, Arena *);
/* Appends a step with a copy of the views. The returned pointer is valid until the next step is
   added. */
Step *step_add(StepBuf *, StepKind, int nview, const View view[]);
void step_param(StepBuf *, Step *, int n, const int64_t param[]); /* appends parameters */
/* appends the values of p as parameters */
void step_sizes(StepBuf *, Step *, int n, const Poly p[]);
void step_code(StepBuf *, Step *, int n, const Scalar code[]);
/* Allocates a buffer of these sizes as a dense view; false: none is left. */
bool step_buffer(StepBuf *, int32_t dtype, int rank, const int64_t dim[], View *out);
int64_t step_size(StepBuf *, Poly); /* the value of a size; sets `failure` and returns 0 if it has
                                       none */
void step_copy(StepBuf *, const View *y, const View *x);
void step_fill(StepBuf *, const View *y, double k);

/* Sets *out to a view of an input's slot if the expression is one; false: it is not. in[k] is input
   k; `like` has the output's rank, sizes and dtype. */
bool lower_view(World *, Ex, Sizes, const View in[], const View *like, View *out);
/* Appends steps that compute the expression. Succeeds if all sizes have values; otherwise returns
   false and sets `failure`. */
bool lower_step(StepBuf *, Ex, int nin, const View in[], const View *out);
#endif
