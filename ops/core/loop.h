/* loop.h -- loop programs: a definition once sizes are bound, as plain integers (the parameters of
   an S_LOOP step) that run without a World.

   A program has loop variables 0..nvar-1 (the output's axes first, then the variables of sums and
   maxima), registers LOOP_VARS.. (integers computed from those that the index polynomials need
   beyond sums of multiples: quotients, remainders, minima, products) and nodes in order of
   computation. Along one variable, the lane of a node, up to LOOP_LANES values are computed at a
   time. All words are int64:

     program    LOOP_MAGIC nin nparam rank nvar nreg nnode root lane, extent x nvar, register x
                nreg, node x nnode root: a node; lane: variable or -1
     affine     c n (coefficient, variable or register) x n
     register   LOOP_FLOOR affine m | LOOP_MOD affine m | LOOP_MIN affine affine | LOOP_MUL affine
                affine
                                                                     m > 0; MOD is >= 0
     literal    eq affine                                            affine == 0 or >= 0
     cond       n literal x n
     node       kind lane .. lane: the variable along which it has LOOP_LANES values, or -1: one
                value
       EX_NUM p q | EX_REAL bits of the double | EX_PARAM k | EX_SIZE affine | EX_AT input rank
       affine x rank EX_ADD a b | EX_MUL a b | EX_MAX2 a b | EX_MIN2 a b | EX_POW a b | EX_FN
       function a | EX_IF a b cond EX_WHERE a b c | EX_TAKE index body variable
       EX_SUM, EX_MOST inner n variable x n a cond
                                        inner: the variable that becomes the lane of a, the last of
                                        those listed; or -1: a has the lane of this node

   Conditions decide before anything under them is read. */
#ifndef ISOMER_LOOP_H
#define ISOMER_LOOP_H
#include "ops/core/number.h"
#include "ops/isomer_backend.h"

enum { LOOP_MAGIC = 0x4c4f4f50, LOOP_LANES = 128, LOOP_VARS = 64, LOOP_HEAD = 9 };
typedef enum LoopRegister { LOOP_FLOOR, LOOP_MOD, LOOP_MIN, LOOP_MUL } LoopRegister;
typedef struct LoopProgram {
    int n;
    const int64_t *words;
} LoopProgram;

/* The program for one output of these sizes; the words live in the arena. param: words of EX_PARAM
   that loop_run is given values for. False: a size without value, .. */
bool loop_compile(World *, Ex, Sizes, int rank, const int64_t dim[], int nparam,
                  const uint32_t param[], Arena *, LoopProgram *out, Error *);
/* The same for a step that has not all inputs: input[k] is the number that input k gets in the
   program. */
bool loop_compile_some(World *, Ex, Sizes, int rank, const int64_t dim[], const int input[],
                       Arena *, LoopProgram *out, Error *);

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
