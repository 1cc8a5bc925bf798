/* loop_block.h -- the operations of loop programs on blocks of up to LOOP_LANES values: a struct of
   functions for doubles, one for integers, and one for any number system. */
#ifndef ISOMER_LOOP_BLOCK_H
#define ISOMER_LOOP_BLOCK_H
#include "ops/core/loop.h"

/* An operand: values in a buffer of doubles (block_real), of int64 (block_whole) or of Number
   (block_number). The step is 1, or 0 for one value that is repeated. */
typedef struct BlockOperand {
    const void *v;
    int step;
} BlockOperand;
/* Operations on n values. y is a buffer that receives the results, unless it is said to be read;
   `data` is the memory of a view's slot. Places, strides and offsets count elements, of which
   several may share a byte. `set` writes y[0] only; `load` reads data[at + j * stride] into y[j],
   `load_at` reads data[offset[j]], and `store` writes x[j] to data[at + j * stride]. */
typedef struct BlockOps {
    size_t size;           /* the bytes of a value in a buffer */
    bool (*can_load)(int); /* whether elements of this type can be loaded and stored */
    void (*set)(const Numbers *, void *y, Number);
    void (*load)(int dtype, const void *data, int64_t at, int64_t stride, void *y, int n);
    void (*load_at)(int dtype, const void *data, const int64_t *offset, void *y, int n);
    void (*store)(int dtype, void *data, int64_t at, int64_t stride, const void *x, int n);
    void (*integers)(const Numbers *, const int64_t *, void *y, int n);
    void (*copy)(void *y, BlockOperand, int n);
    void (*call)(const Numbers *, Function, void *y, BlockOperand, int n);
    /* EX_ADD, EX_MUL, EX_MAX2, EX_MIN2 or EX_POW; y may be one of the operands if its step is 1. */
    void (*binary)(const Numbers *, ExKind, void *y, BlockOperand, BlockOperand, int n);
    /* reads y[0] as a double */
    double (*approx)(const Numbers *, const void *y);
    /* Folds n values into y[0] by EX_ADD or EX_MAX2. */
    void (*fold)(const Numbers *, ExKind, void *y, BlockOperand, int n);
} BlockOps;
/* block_real and block_whole have values of the same size; block_whole supports neither EX_POW nor
   EX_MAXIMUM and, of the functions, abs, sign, delta and those that round (loop_whole.c). */
extern const BlockOps block_real, block_whole, block_number;
#endif
