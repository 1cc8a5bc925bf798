/* eval.h -- evaluates an expression at given sizes and inputs by walking its tree. This is slow and
   obviously right: it is the oracle for everything faster (loop.h, kernels). */
#ifndef ISOMER_EVAL_H
#define ISOMER_EVAL_H
#include "ops/core/number.h"

typedef struct Tensor { /* row-major, without gaps */
    int rank;
    int64_t dim[RANK_MAX];
    Number *v;
} Tensor;
typedef struct Eval { /* everything that an expression is evaluated with */
    World *w;
    const Numbers *num;
    Sizes sizes;
    int nin;
    const Tensor *in; /* in[k] is input k; rank < 0: the input is omitted */
    int nparam;
    const uint32_t *param; /* the names (`word` of EX_PARAM) .. */
    const Number *value;   /* .. and the values of the parameters */
    bool *outside; /* if not NULL, set to true if an index in the data is outside its axis */
} Eval;

int64_t tensor_count(const Tensor *);
/* Evaluates one element, at the output index i0, i1, .. = index[0..rank-1]. False: a size or
   parameter has no value, or an input is read outside its bounds; the error names it. A value that
   the number system cannot express is not an error: ask num->known. */
bool eval_element(const Eval *, Ex, int rank, const int64_t index[], Number *out, Error *);
/* Evaluates all elements of out; the caller has allocated out->v. */
bool eval_tensor(const Eval *, Ex, Tensor *out, Error *);
#endif
