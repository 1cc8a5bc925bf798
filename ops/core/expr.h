/* expr.h -- scalar expressions: one element of an operator's output as a tree over symbolic
   indices. Equal trees have the same number (hash-consing).

   Everything that must know what an operator means reads this tree: the oracle, the prover, the
   generator's term keys, shape computations, counts of operations, views and default kernels. Sums
   and products are kept as written; only the prover normalizes them. */
#ifndef ISOMER_EXPR_H
#define ISOMER_EXPR_H
#include "ops/core/type.h"

typedef struct Lit {
    Poly p;
    bool eq;
} Lit; /* a literal: p == 0 if eq, else p >= 0 */
/* Whether a literal holds at these sizes: 1 or 0, or -1 if one of them has no number. */
int lit_at(const World *, Lit, Sizes);
/* Whether all n literals hold, and all their sizes have numbers. */
bool lits_hold(const World *, int n, const Lit[], Sizes);
void lit_print(const World *, Lit, Text *); /* "n - 2 >= 0" */
enum { COND_MAX = 2 * RANK_MAX };
typedef struct Cond {
    int n;
    Lit v[COND_MAX];
} Cond; /* the conjunction of its literals; {0} is true */

/* X(id, text): functions of one real argument. delta(0) = 1, and delta(x) = 0 elsewhere. Their
   other properties are stated in core/number.c. */
#define FUNCTIONS(X)         \
    X(FN_RECIP, "recip")     \
    X(FN_EXP, "exp")         \
    X(FN_LOG, "log")         \
    X(FN_SQRT, "sqrt")       \
    X(FN_ERF, "erf")         \
    X(FN_TANH, "tanh")       \
    X(FN_SIGMOID, "sigmoid") \
    X(FN_ABS, "abs")         \
    X(FN_DELTA, "delta")     \
    X(FN_FLOOR, "floor")     \
    X(FN_CEIL, "ceil")       \
    X(FN_ROUND, "round")     \
    X(FN_SIGN, "sign")       \
    X(FN_SIN, "sin")         \
    X(FN_COS, "cos")
typedef enum Function {
#define X(id, text) id,
    FUNCTIONS(X) FN_COUNT
#undef X
} Function;

typedef enum ExKind {
    EX_NUM,   /* the rational number p/q in lowest terms, q > 0 */
    EX_REAL,  /* the double `real`: a number of a model that is not a small dyadic rational */
    EX_PARAM, /* a real variable of a rule, named `word` */
    EX_SIZE,  /* the integer polynomial `size`, converted to a number */
    EX_AT,    /* the element of input `word` at the index dims[0..n-1] */
    EX_ADD,   /* a + b */
    EX_MUL,   /* a * b */
    EX_MAX2,  /* the greater of a and b */
    EX_MIN2,  /* the smaller of a and b */
    EX_POW,   /* a to the power of b */
    EX_FN,    /* the Function `word` of a */
    EX_IF,    /* cond ? a : b */
    EX_WHERE, /* c != 0 ? a : b, where c depends on data */
    EX_SUM, /* the sum of a over the values of the bound variables dims[0..n-1], each a symbol, for
               which cond holds */
    EX_MAXIMUM, /* likewise, the maximum; that of no values is -infinity */
    EX_TAKE /* b with the bound variable dims[0] set to the place that the integer a means on this
               variable's axis (see ex_place) */
} ExKind;
enum { EX_CHILDREN = 3 };
typedef struct ExNode {
    ExKind kind;
    uint32_t word;
    union {
        struct {
            Ex a, b, c;
        };
        Ex child[EX_CHILDREN]; /* a, b, c as an array; the first ex_children(kind) are used */
    };
    int64_t p, q;
    double real;
    Poly size;
    int n;
    Poly dims[RANK_MAX];
    Cond cond;
} ExNode;

/* The number of children of a node of this kind, child[0], child[1], .. Every complete walk over
   trees uses it. */
int ex_children(ExKind);
Ex ex_rational(World *, int64_t p, int64_t q);
/* Makes an EX_NUM if the double is an integer below 2^53 or a multiple of 2^-20 that fits, else an
   EX_REAL. */
Ex ex_real(World *, double);
Ex ex_param(World *, const char *name);
Ex ex_make(World *, const ExNode *); /* simplifies; members that the kind does not use are
                                        ignored */
void ex_get(const World *, Ex, ExNode *out);
bool ex_number(const World *, Ex, double *); /* true: it is an EX_NUM or EX_REAL */
bool ex_is(const World *, Ex, int64_t); /* whether it is this number; "no expression" (0) counts as
                                           0 */
/* If the expression is -x, which is written as a product with -1, sets *of to x. */
bool ex_negation(const World *, Ex, Ex *of);
/* The place 0..n-1 that an index given by data means on an axis of n places; negative ones count
   from the end. -1: the index is outside the axis, and the element is not defined. */
int64_t ex_place(double index, int64_t n);
/* Substitutes symbols in all indices, sizes and conditions, and inputs by expressions: if inputs[k]
   (inputs may be NULL) is not 0, it replaces every EX_AT of input k, with its index symbols i0, i1,
   .. replaced by that element's index. Each SUM, MAXIMUM and TAKE of the result gets fresh bound
   variables, one copy per occurrence. */
Ex ex_subst(World *, Ex, int n, const Symbol from[], const Poly to[], const Ex *inputs,
            int ninputs);
/* Prints the expression; equal expressions give equal texts, since bound variables are numbered in
   order of appearance. */
void ex_print(const World *, Ex, Text *);
int ex_reads(const World *, Ex, int input); /* how many EX_AT of this input the tree has */
#endif
