/* eval.h -- the value of an expression at given sizes and inputs, by walking the tree: slow and
   obviously right, the oracle of everything faster (loop.h, kernels). */
#ifndef ISOMER_EVAL_H
#define ISOMER_EVAL_H
#include "ops/core/number.h"

typedef struct Tensor { /* row-major, without gaps */
    int rank;
    int64_t dim[RANK_MAX];
    Number *v;
} Tensor;
typedef struct Eval { /* what an expression is evaluated under */
    World *w;
    const Numbers *num;
    Sizes sizes;
    int nin;
    const Tensor *in; /* in[k] is input k; rank < 0: left out */
    int nparam;
    const uint32_t *param; /* words of EX_PARAM .. */
    const Number *value;   /* .. and their values */
} Eval;

int64_t tensor_count(const Tensor *);
/* One element, at the index i0.. = index[0..rank-1]. False: a size without value, a read outside an
   input, a parameter without value, all named in the error. A value that the number system cannot
   express is not an error: ask num->known. */
bool eval_element(const Eval *, Ex, int rank, const int64_t index[], Number *out, Error *);
/* Every element of out, whose v the caller gave. */
bool eval_tensor(const Eval *, Ex, Tensor *out, Error *);
#endif
