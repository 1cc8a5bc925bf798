/* loop_block.h -- what a loop program does to blocks of up to LOOP_LANES values: one struct of
   functions for doubles, one for any number system. */
#ifndef ISOMER_LOOP_BLOCK_H
#define ISOMER_LOOP_BLOCK_H
#include "ops/core/loop.h"

/* Values stand in buffers of Number (any system) or of double (reals). An operand's step is 1, or 0
   for one value repeated. `from` elements into a view's data. */
typedef struct BlockOperand {
    const void *v;
    int step;
} BlockOperand;
typedef struct BlockOps {
    size_t size;                  /* of a value in a buffer */
    bool (*dtype)(int);           /* can be loaded and stored */
    size_t (*element)(int dtype); /* bytes */
    void (*set)(const Numbers *, void *y, Number);
    void (*load)(int dtype, const void *data, int64_t stride, void *y, int n);
    void (*load_at)(int dtype, const void *data, const int64_t *offset, void *y, int n);
    void (*store)(int dtype, void *data, int64_t stride, const void *x, int n);
    void (*integers)(const Numbers *, const int64_t *, void *y, int n);
    void (*copy)(void *y, BlockOperand, int n);
    void (*call)(const Numbers *, Function, void *y, BlockOperand, int n);
    /* Y may be an operand of step 1. */
    void (*binary)(const Numbers *, ExKind, void *y, BlockOperand, BlockOperand, int n);
    double (*approx)(const Numbers *, const void *y);
    /* EX_ADD or EX_MAX2 of n values into y[0]. */
    void (*fold)(const Numbers *, ExKind, void *y, BlockOperand, int n);
} BlockOps;
extern const BlockOps block_real, block_number;
#endif
