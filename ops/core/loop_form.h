/* loop_form.h -- a loop program ready to run: decoded, with strides multiplied into the offsets and
   with buffers allocated. loop_new makes it, loop_run reads it. */
#ifndef ISOMER_LOOP_FORM_H
#define ISOMER_LOOP_FORM_H
#include "ops/core/loop_block.h"

typedef struct LoopTerm {
    int64_t factor;
    int r;
} LoopTerm; /* a term factor * r; r: a variable, or LOOP_VARS + a register */
typedef struct LoopAffine {
    int64_t c;
    int n;
    LoopTerm *t;
    uint64_t uses;
} LoopAffine; /* c + the sum of n terms; uses: the variables that it depends on, as bits */
/* An affine form as a function of one variable: c + lane * (that variable) + terms. The first n
   terms do not depend on the variable; the nlane terms after them are registers that do. */
typedef struct LoopForm {
    int64_t c, lane;
    int n, nlane;
    LoopTerm *t;
} LoopForm;
/* A register: the operation `kind` on a and b, or on a and the number m. */
typedef struct Register {
    LoopRegister kind;
    LoopAffine a, b;
    int64_t m;
    uint64_t uses;
} Register;
/* How a literal of a condition is used. CHECK: it is decided once the variables up to `level` of
   its sum have values (level -1: before the sum begins). CLIP: it limits the range of the variable
   at `level`. LANES: it differs between the lanes of a block. */
typedef enum LiteralUse { LIT_CHECK, LIT_CLIP, LIT_LANES } LiteralUse;
typedef struct DecodedLiteral {
    bool eq;
    LiteralUse use;
    int level;
    LoopForm form;
} DecodedLiteral;
/* What a buffer holds: the values low..high-1, computed at the time `done` (see Loop.time). */
typedef struct HeldRange {
    int low, high;
    uint64_t done;
} HeldRange;
typedef struct DecodedNode {
    ExKind kind;
    int lane; /* the variable along which the node has LOOP_LANES values, or -1 */
    int a, b; /* the operands */
    int word; /* the number of the function, input, parameter, condition node (EX_WHERE) or variable
                 (EX_TAKE) */
    LoopForm form; /* EX_SIZE: the number; EX_AT: the offset in elements */
    Number number;
    /* nlit: literals of its condition; var: a sum's variables in the order of its loops; inner: the
       last of them if it is the lane of the operand, else -1 */
    int nlit, nvar, inner, *var;
    DecodedLiteral *lit;
    uint64_t uses;
    int nkey, *key;  /* the variables on which a buffer depends; not the lane if all blocks are
                        kept */
    HeldRange *held; /* what the buffer holds or, if blocks are kept, what each of them holds */
    char *buffer;    /* the values of the block visited last .. */
    char *kept; /* .. which lies in the kept blocks along the output's lane; NULL: none are kept */
} DecodedNode;
struct Loop {
    Arena *arena;
    const Numbers *num;
    const BlockOps *block;
    double modulus; /* results wrap modulo this number, as integers do; 0: they are stored as they
                       are */
    /* root: the node that is the result; lane: that of the output, or -1 */
    int nview, rank, nvar, nreg, nnode, root, lane;
    /* from..end-1: the indices of each axis of the output that are computed, and the values of a
       bound variable; value: the current one */
    int64_t from[LOOP_VARS], end[LOOP_VARS], value[LOOP_VARS];
    uint64_t time, changed[LOOP_VARS]; /* time counts changes of values; changed: when each variable
                                          last changed */
    View *view;
    void **data; /* the memory of each view's slot, during a run */
    Register *reg;
    DecodedNode *node;
    char *row; /* a block of results that must be repeated or wrapped before it is stored */
};
#endif
