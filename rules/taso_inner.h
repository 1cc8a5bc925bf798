/* taso_inner.h -- one of TASO's rules in memory, between reading its file (taso.c) and writing the
   rule as text (taso_text.c). */
#ifndef ISOMER_RULES_TASO_INNER_H
#define ISOMER_RULES_TASO_INNER_H
#include "ops/operator/signature.h"

/* TASO's numbers for OpType and PMParameter are the positions in these lists. */
#define TASO_OPS(X)   \
    X(INPUT)          \
    X(WEIGHT)         \
    X(ANY)            \
    X(CONV2D)         \
    X(DROPOUT)        \
    X(LINEAR)         \
    X(POOL2D_MAX)     \
    X(POOL2D_AVG)     \
    X(RELU)           \
    X(SIGMOID)        \
    X(TANH)           \
    X(BATCHNORM)      \
    X(CONCAT)         \
    X(SPLIT)          \
    X(RESHAPE)        \
    X(TRANSPOSE)      \
    X(EW_ADD)         \
    X(EW_MUL)         \
    X(MATMUL)         \
    X(MUL)            \
    X(ENLARGE)        \
    X(MERGE_GCONV)    \
    X(CONSTANT_IMM)   \
    X(CONSTANT_ICONV) \
    X(CONSTANT_ONE)   \
    X(CONSTANT_POOL)
#define TASO_PARAMETERS(X) \
    X(OP_TYPE)             \
    X(NUM_INPUTS)          \
    X(NUM_OUTPUTS)         \
    X(GROUP)               \
    X(KERNEL_H)            \
    X(KERNEL_W)            \
    X(STRIDE_H)            \
    X(STRIDE_W)            \
    X(PAD)                 \
    X(ACTI)                \
    X(NUMDIM)              \
    X(AXIS)                \
    X(PERM)                \
    X(OUTSHUFFLE)          \
    X(MERGE_GCONV_COUNT)
/* The kinds that are one operator without attributes here. X(kind, operator) */
#define TASO_PLAIN(X)   \
    X(RELU, relu)       \
    X(SIGMOID, sigmoid) \
    X(TANH, tanh)       \
    X(EW_ADD, add)      \
    X(EW_MUL, mul)      \
    X(MATMUL, matmul)   \
    X(MUL, mul)
typedef enum TasoKind {
#define X(name) TASO_##name,
    TASO_OPS(X)
#undef X
        TASO_KINDS
} TasoKind;
/* For the kinds of TASO_PLAIN: the operator of a kind, NULL if none; the kind of an operator,
   TASO_NONE if none. */
const Op *taso_plain_operator(int kind);
int taso_plain_kind(const Op *);
typedef enum TasoParameter {
#define X(name) TASO_PM_##name,
    TASO_PARAMETERS(X) TASO_PARAMETER_COUNT
#undef X
} TasoParameter;

enum { TASO_VARIABLES = 64, TASO_INPUTS = 8, TASO_NODES = 32, TASO_OUTPUTS = 8, TASO_NONE = -1 };
typedef struct TasoTensor {
    /* op < 0: variable -op of the rule; otherwise an earlier operator on the same side. */
    int op, port;
} TasoTensor;
typedef struct TasoOp {
    int kind, nin;
    TasoTensor in[TASO_INPUTS];
    int parameter[TASO_PARAMETER_COUNT]; /* TASO_NONE: not given */
} TasoOp;
typedef struct TasoSide {
    int n;
    TasoOp op[TASO_NODES];
} TasoSide;
typedef struct TasoRule {
    TasoSide side[2]; /* the source side and the destination side */
    int nout;
    TasoTensor out[TASO_OUTPUTS][2];
} TasoRule;

/* Sets rank[k] to the rank of variable -k, or to -1 if it does not occur, and *any_rank if no
   operator fixes a rank. Returns false with the reason in *why if the rule cannot be expressed. */
bool taso_ranks(const TasoRule *, int rank[], bool *any_rank, const char **why);
/* The rule as text. Returns NULL with the reason in *why (in the arena) if the rule has no
   counterpart here. */
const char *taso_text(Arena *, const TasoRule *, int number, const char **why);
#endif
