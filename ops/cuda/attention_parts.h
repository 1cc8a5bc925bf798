/* attention_parts.h -- attention as three steps, the alternative to the single kernel of
   attention.c. */
#ifndef ISOMER_CUDA_ATTENTION_PARTS_H
#define ISOMER_CUDA_ATTENTION_PARTS_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>
#include <stddef.h>

enum { ATTENTION_PARTS = 3 };
/* The three steps, which point into this struct. In their views, slot k is view k of the attention
   (from its first element on), and the slot after the last view holds the scores. */
typedef struct AttentionParts {
    Step step[ATTENTION_PARTS]; /* the scores; their softmax, in place; the values weighted by it */
    View view[9];
    Scalar code[13];
    int64_t rows;
    size_t scores; /* bytes of memory for the scores */
} AttentionParts;
/* Returns false if the step is not made of just two products and a softmax. */
bool attention_parts(const Step *, AttentionParts *);
#endif
