/* attention_parts.h -- attention as three steps, the alternative to one kernel (attention.c). */
#ifndef ISOMER_CUDA_ATTENTION_PARTS_H
#define ISOMER_CUDA_ATTENTION_PARTS_H
#include "ops/backend/isomer_backend.h"
#include <stdbool.h>
#include <stddef.h>

enum { ATTENTION_PARTS = 3 };
/* Slot k of their views is view k of the attention, without its offset; one more, numbered as many
   as the attention has views, is for the scores. The steps point into the struct. */
typedef struct AttentionParts {
    Step step[ATTENTION_PARTS]; /* the scores; their softmax in place; what that weighs */
    View view[9];
    Scalar code[13];
    int64_t rows;
    size_t scores; /* bytes */
} AttentionParts;
/* False: the step is not made of two products and a softmax alone. */
bool attention_parts(const Step *, AttentionParts *);
#endif
