/* loop_form.h -- a loop program made ready to run: decoded, strides folded into the offsets,
   buffers given. Made by loop_new, read by loop_run. */
#ifndef ISOMER_LOOP_FORM_H
#define ISOMER_LOOP_FORM_H
#include "ops/core/loop_block.h"

typedef struct LoopTerm {
    int64_t k;
    int r;
} LoopTerm; /* r: variable, or LOOP_VARS + register */
typedef struct LoopAffine {
    int64_t c;
    int n;
    LoopTerm *t;
    uint64_t uses;
} LoopAffine; /* uses: the variables it depends on, as bits */
/* An affine form seen along one variable: c + lane * (that variable) + terms; the last nlane terms
   are registers that depend on it too. */
typedef struct LoopForm {
    int64_t c, lane;
    int n, nlane;
    LoopTerm *t;
} LoopForm;
typedef struct Register {
    LoopRegister kind;
    LoopAffine a, b;
    int64_t m;
    uint64_t uses;
} Register;
/* CHECK: decided once the variables up to `level` (-1: none) of its sum have values; CLIP: bounds
   that variable; LANES: differs between lanes. */
typedef enum LiteralUse { LIT_CHECK, LIT_CLIP, LIT_LANES } LiteralUse;
typedef struct DecodedLiteral {
    bool eq;
    LiteralUse use;
    int level;
    LoopForm form;
} DecodedLiteral;
/* What a buffer holds: values low..high, computed at the time `done` (Loop.time). */
typedef struct Held {
    int low, high;
    uint64_t done;
} Held;
typedef struct DecodedNode {
    ExKind kind;
    int lane;      /* the variable along which it has LOOP_LANES values, or -1 */
    int a, b;      /* the nodes that it computes from */
    int word;      /* function, input, parameter, condition (EX_WHERE) or variable (EX_TAKE) */
    LoopForm form; /* EX_SIZE: the number; EX_AT: the offset in elements */
    Number number;
    int nlit, nvar, inner, *var;
    DecodedLiteral *lit;
    uint64_t uses;
    int nkey, *key; /* the variables that it depends on, but for a lane whose blocks are kept */
    Held *held;     /* of the buffer; of each block of its lane, if they are kept */
    char *buffer;   /* of the block that was visited last .. */
    char *kept;     /* .. in those of all blocks of the output's lane; NULL: there is only one */
} DecodedNode;
struct Loop {
    Arena *arena;
    const Numbers *num;
    const BlockOps *block;
    double modulus; /* of results, which wrap as integers do; 0: they are stored as they are */
    int nview, rank, nvar, nreg, nnode, root, lane;
    int64_t from[LOOP_VARS], extent[LOOP_VARS], value[LOOP_VARS]; /* from: of the output's axes */
    uint64_t time, changed[LOOP_VARS]; /* counts changes of values; the time of each one's last */
    View *view;
    char **data; /* of each view, while running */
    Register *reg;
    DecodedNode *node;
    char *row; /* a block of the output, where the root has one value */
};
#endif
