/* expr.h -- scalar expressions: what one element of an operator's output is, as a tree over
   symbolic indices, hash-consed. The oracle of kernels, the generator's keys of terms, the prover,
   shape values, FLOPs, views and default kernels all read this tree. Sums and products are kept as
   written; only the prover normalizes. */
#ifndef ISOMER_EXPR_H
#define ISOMER_EXPR_H
#include "ops/core/type.h"

typedef struct Lit {
    Poly p;
    bool eq;
} Lit; /* p == 0 (eq) or p >= 0 */
enum { COND_MAX = 2 * RANK_MAX };
typedef struct Cond {
    int n;
    Lit v[COND_MAX];
} Cond; /* all of them; {0} is true */

/* X(id, text): functions of one real argument; delta(0) = 1, delta(x) = 0 elsewhere. What is known
   of each stands in core/number.c, once. */
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
    EX_NUM,   /* the rational p/q, q > 0, in lowest terms */
    EX_REAL,  /* the double `real`: an attribute of a model that is not a small rational */
    EX_PARAM, /* a real variable of a rule: word */
    EX_SIZE,  /* the integer polynomial `size` as a number */
    EX_AT,    /* element of input `word` at index dims[0..n-1] */
    EX_ADD,
    EX_MUL, /* a, b */
    EX_MAX2,
    EX_MIN2,  /* the greater, the smaller of a, b */
    EX_POW,   /* a to the power b */
    EX_FN,    /* word: Function; of a */
    EX_IF,    /* cond ? a : b */
    EX_WHERE, /* c != 0 ? a : b, a choice by data */
    EX_SUM,
    EX_MAXIMUM, /* over the bound variables dims[0..n-1] (each one symbol), where cond holds, of a;
                MAXIMUM of nothing: -infinity */
    EX_TAKE /* b where the bound variable dims[0] is the place that the integer a means on its axis
               of n places (see ex_place) */
} ExKind;
enum { EX_CHILDREN = 3 };
typedef struct ExNode {
    ExKind kind;
    uint32_t word;
    union {
        struct {
            Ex a, b, c;
        };
        Ex child[EX_CHILDREN]; /* the same; the first ex_children(kind) of them are used */
    };
    int64_t p, q;
    double real;
    Poly size;
    int n;
    Poly dims[RANK_MAX];
    Cond cond;
} ExNode;

/* How many expressions a node of this kind is made of: child[0], child[1], .. Whatever walks all of
   a tree asks this. */
int ex_children(ExKind);
Ex ex_rational(World *, int64_t p, int64_t q);
/* EX_NUM when it is a dyadic or small rational exactly, else EX_REAL. */
Ex ex_real(World *, double);
Ex ex_param(World *, const char *name);
Ex ex_make(World *, const ExNode *); /* members the kind does not use are ignored */
void ex_get(const World *, Ex, ExNode *out);
bool ex_number(const World *, Ex, double *); /* true: EX_NUM or EX_REAL */
bool ex_is(const World *, Ex, int64_t);      /* that number; no expression is 0 */
/* The place that index means on an axis of n places: negative ones count from the end. -1: it lies
   outside, and what is there is not defined. */
int64_t ex_place(double index, int64_t n);
/* Substitutes symbols in every index, size and condition. inputs (may be NULL): inputs[k], if not
   0, replaces every EX_AT of input k, its index symbols i0.. bound to that element's index. Every
   SUM and MAXIMUM in the result gets fresh bound variables, one copy per occurrence. */
Ex ex_subst(World *, Ex, int n, const Symbol from[], const Poly to[], const Ex *inputs,
            int ninputs);
/* canonical: bound variables are numbered as they appear. */
void ex_print(const World *, Ex, Text *);
int ex_reads(const World *, Ex, int input); /* how many EX_AT of that input the tree has */
#endif
