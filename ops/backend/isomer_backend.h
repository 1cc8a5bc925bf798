/* isomer_backend.h -- the whole boundary of a back end: what a plug-in is built from, outside of
   this tree too, and what the built-in one implements. First steps: plain data without symbolic
   sizes, which are priced, run and recorded. Then the struct of functions that a back end is.

   A plan is a list of steps over numbered slots (buffers). A step reads and writes views: a slot,
   an element offset, sizes and element strides. A stride of 0 repeats an element (broadcast); the
   output view never has one on an axis longer than 1. view[0] is always the output. Sizes may be 0;
   then nothing is written.

   kind       views                               params and meaning
   S_GEMM     y[..,m,n] a[..,m,k] b[..,k,n]       -; all of one rank >= 2; batch axes broadcast by
                                                  stride 0. Of 8-bit integers: the zero point of a
   S_CONV     y[n,o,i..] x[n,c,h..] w[o,c/g,k..]  group, then per spatial axis strides, pads
                                                  (begin.. end..), dilations. Of 8-bit integers:
                                                  then the zero point of x. step_window reads them
   S_POOL     y[n,c,i..] x[n,c,h..]               PoolKind, then per spatial axis kernel, strides,
                                                  pads (begin.. end..), dilations; then 1 if the
                                                  average divides by the cells of the padded input
                                                  (pads counted), else 0. step_window reads them
   S_EWISE    y x1 x2 ..                          -; all of y's rank and sizes; `code` computes one
                                                  element
   S_REDUCE   y[i..] x[i.., j..]                  ReduceKind; reduces x's last axes, as many as x
                                                  has more than y
   S_COPY     y x                                 -; same sizes; converts the element type if they
                                                  differ
   S_FILL     y                                   -; every element becomes code[0].k
   S_SOFTMAX  y x                                 -; along the last axis
   S_SAMPLE   y x                                 for each axis a number of taps, then for each
                                                  place of y on it so many pairs of a place of x and
                                                  the bits of a weight (double): y is the sum over
                                                  the taps of all axes of the product of weights
                                                  times x there. No taps: the same place. Weights
                                                  other than 1, and more taps, of floats; of
                                                  integers only where the back end says so.
                                                  step_sample reads them
   S_LOOP     y x1 x2 ..                          a loop program (below), which can compute
                                                  any definition
   S_OP       y.. x..                             number of outputs, then those of the operator `op`
                                                  (isomer_op_steps.h); computes that operator

   S_ROWS     y x1 x2 ..                          how many of y's last axes are a row; all views of
                                                  y's rank and sizes; `code` computes one element,
                                                  as S_EWISE's, and may have C_ROW_SUM a, the sum,
                                                  and C_ROW_MAX a, the greatest, of value a over
                                                  the elements of the row. Computed in float32;
                                                  y is float32 or a 16-bit float.
                                                  Planned only for a back end that has an algorithm
                                                  for it: plan_rows.c joins the steps of a softmax
                                                  or a normalization

   Epilogue: GEMM, CONV, POOL, REDUCE may carry `code`: instruction 0 is C_ACC (the element just
   computed), the last instruction is what is stored; C_VIEW k reads view[k], one of the views after
   those named above, which have y's rank and sizes (stride 0 where broadcast). GEMM, CONV, POOL and
   REDUCE of float32 accumulate in float. A program runs in the widest class among y, the
   accumulator and the views it reads: double, float (16-bit floats too), uint64, int64 (all other
   integers and bool); it is converted to y's type when it is stored, as S_COPY does: integers wrap;
   floats that become integers are truncated toward zero and saturate (NaN gives 0); bool is "is not
   zero". Integer division truncates, C_MOD has the divisor's sign, both give 0 for a divisor 0.
   min, max and relu of programs and reductions propagate NaN; the maximum of a pool, and an
   activation that a kernel fuses into its convolution or product, need not. An epilogue that begins
   by rounding its accumulator says that the sums are whole numbers that floats hold exactly:
   algorithms that do not add them exactly, like Winograd's, must not compute them. GEMM and CONV
   with a zero point are of uint8 or int8 (view 1) and int8 (view 2): sums of (x - zero) * w, exact
   in int32, the type of their accumulator; padding adds nothing. They are planned only for a back
   end that has an algorithm for them. S_EWISE and S_ROWS may work in place: y may be the same view
   as an input. */
#ifndef ISOMER_BACKEND_API_H
#define ISOMER_BACKEND_API_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    STEP_RANK = 8,       /* axes of a view, at most */
    STEP_SPATIAL = 3,    /* axes of a window, at most */
    BACKEND_ABI = 6,     /* the version of this interface */
    BACKEND_THREADS = 64 /* at most */
};

/* Element types carry ONNX's numbers (TensorProto.DataType): DT_FLOAT is 1. See core/type.h for the
   whole table. */
typedef struct View {
    int32_t slot, dtype, rank, format; /* slot and rank -1: an input left out; format 0: strided;
                                          others belong to the back end */
    int64_t offset;                    /* in elements from the slot's start */
    int64_t dim[STEP_RANK], stride[STEP_RANK];
} View;

#define STEP_KINDS(X)       \
    X(S_GEMM, "gemm")       \
    X(S_CONV, "conv")       \
    X(S_POOL, "pool")       \
    X(S_EWISE, "ewise")     \
    X(S_REDUCE, "reduce")   \
    X(S_COPY, "copy")       \
    X(S_FILL, "fill")       \
    X(S_SOFTMAX, "softmax") \
    X(S_SAMPLE, "sample")   \
    X(S_LOOP, "loop")       \
    X(S_OP, "op")           \
    X(S_ROWS, "rows")
typedef enum StepKind {
#define X(id, name) id,
    STEP_KINDS(X) STEP_KIND_COUNT
#undef X
} StepKind;

typedef enum PoolKind { POOL_MAX, POOL_MEAN } PoolKind;
typedef enum ReduceKind { REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD } ReduceKind;

/* One instruction of an element-wise program: instruction i computes value i from values a, b and c
   (all < i), the constant k or a view. Booleans are 0 and 1. `where` is b if a is not 0, else c;
   `as` is value a converted to element type b and back.
   X(id, text, operands); operands are '-': none; 'v': the view numbered a; 'k': the constant k;
   '1', '2', '3': values a; a and b; a, b and c; 't': value a and the element type b. */
#define SCALAR_OPS(X)            \
    X(C_ACC, "acc", '-')         \
    X(C_VIEW, "view", 'v')       \
    X(C_CONST, "const", 'k')     \
    X(C_ADD, "add", '2')         \
    X(C_SUB, "sub", '2')         \
    X(C_MUL, "mul", '2')         \
    X(C_DIV, "div", '2')         \
    X(C_MIN, "min", '2')         \
    X(C_MAX, "max", '2')         \
    X(C_POW, "pow", '2')         \
    X(C_MOD, "mod", '2')         \
    X(C_EQ, "eq", '2')           \
    X(C_LT, "lt", '2')           \
    X(C_LE, "le", '2')           \
    X(C_AND, "and", '2')         \
    X(C_OR, "or", '2')           \
    X(C_XOR, "xor", '2')         \
    X(C_NEG, "neg", '1')         \
    X(C_ABS, "abs", '1')         \
    X(C_EXP, "exp", '1')         \
    X(C_LOG, "log", '1')         \
    X(C_SQRT, "sqrt", '1')       \
    X(C_RECIP, "recip", '1')     \
    X(C_RELU, "relu", '1')       \
    X(C_SIGMOID, "sigmoid", '1') \
    X(C_TANH, "tanh", '1')       \
    X(C_ERF, "erf", '1')         \
    X(C_SIN, "sin", '1')         \
    X(C_COS, "cos", '1')         \
    X(C_FLOOR, "floor", '1')     \
    X(C_CEIL, "ceil", '1')       \
    X(C_ROUND, "round", '1')     \
    X(C_SIGN, "sign", '1')       \
    X(C_NOT, "not", '1')         \
    X(C_ISNAN, "isnan", '1')     \
    X(C_ISINF, "isinf", '1')     \
    X(C_WHERE, "where", '3')     \
    X(C_AS, "as", 't')           \
    X(C_ROW_SUM, "rowsum", '1')  \
    X(C_ROW_MAX, "rowmax", '1')
typedef enum ScalarOp {
#define X(id, text, operands) id,
    SCALAR_OPS(X) SCALAR_OP_COUNT
#undef X
} ScalarOp;
typedef struct Scalar {
    uint8_t op, a, b, c;
    double k;
} Scalar;
/* How many values an instruction reads: a, then b, then c. */
static inline int scalar_values(int op) {
    static const char operands[] = {
#define X(id, text, operands) [id] = operands,
        SCALAR_OPS(X)
#undef X
    };
    const char o = operands[op];
    return o == 't' ? 1 : o >= '1' && o <= '3' ? o - '0' : 0;
}
/* Whether an instruction gives a truth value, 0 or 1, whatever it reads. */
static inline int scalar_gives_truth(int op) {
    switch (op) {
    case C_EQ:
    case C_LT:
    case C_LE:
    case C_AND:
    case C_OR:
    case C_XOR:
    case C_NOT:
    case C_ISNAN:
    case C_ISINF: return 1;
    default: return 0;
    }
}
/* Renumbers the values that it reads: k becomes number[k]; operands that it does not read become
   0. */
static inline void scalar_renumber(Scalar *s, const int number[]) {
    const int n = scalar_values(s->op);
    if (n > 0) s->a = (uint8_t)number[s->a];
    if (s->op != C_AS) s->b = n > 1 ? (uint8_t)number[s->b] : 0;
    s->c = n > 2 ? (uint8_t)number[s->c] : 0;
}

typedef struct Step {
    StepKind kind;
    int nview, nparam, ncode;
    const View *view;
    const int64_t *param;
    const Scalar *code;
    const char *op; /* S_OP only: the operator's name */
} Step;

/* The parameter of S_REDUCE and S_ROWS. */
enum { REDUCE_KIND = 0, ROWS_AXES = 0 };
/* Parameters of S_CONV and S_POOL: the first one, then, of S_POOL, the kernel's sizes, then lists
   of one number per spatial axis in the order of WindowList. */
enum { CONV_GROUP = 0, POOL_KIND = 0, POOL_KERNEL = 1 };
typedef enum WindowList {
    WINDOW_STRIDES,
    WINDOW_BEGINS, /* pads before the first place and after the last one */
    WINDOW_ENDS,
    WINDOW_DILATIONS,
    WINDOW_LISTS
} WindowList;
static inline int step_spatial_axes(const Step *s) { return s->view[1].rank - 2; }
/* The index in s->param of a list's number for a spatial axis, which is counted from 0. */
static inline int window_param(const Step *s, int list, int axis) {
    const int n = step_spatial_axes(s);
    return (s->kind == S_POOL ? POOL_KERNEL + n : CONV_GROUP + 1) + list * n + axis;
}
/* The number of parameters of an S_CONV without a zero point, or of an S_POOL. */
static inline int window_params(const Step *s) {
    return window_param(s, WINDOW_LISTS, 0) + (s->kind == S_POOL);
}
/* S_POOL: not 0 if the average divides by the cells of the padded input. */
static inline int pool_counts_pads(const Step *s) {
    return s->param[window_param(s, WINDOW_LISTS, 0)] != 0;
}
/* The windows of an S_CONV or S_POOL along n spatial axes, as lists of n numbers that belong to the
   step: tap k of output o along axis i is place o * stride[i] - begin[i] + k * dilation[i] of x. */
typedef struct StepWindow {
    int n;
    const int64_t *kernel, *stride, *begin, *end, *dilation;
} StepWindow;
static inline StepWindow step_window(const Step *s) {
    const int n = step_spatial_axes(s);
    const int64_t *stride = s->param + window_param(s, WINDOW_STRIDES, 0);
    const StepWindow w = {n,
                          s->kind == S_POOL ? s->param + POOL_KERNEL : s->view[2].dim + 2,
                          stride,
                          stride + WINDOW_BEGINS * n,
                          stride + WINDOW_ENDS * n,
                          stride + WINDOW_DILATIONS * n};
    return w;
}

/* The list of an S_SAMPLE for one axis of y: its place i takes the places of x that begin the pairs
   i * taps, i * taps + 1, ..; taps 0: place i of x. The pairs are words first, first + 1, .. of
   `param`. */
typedef struct StepTaps {
    int64_t taps, first;
    const int64_t *pair;
} StepTaps;
/* By axis of y. 0: the parameters are not such lists. *moves: not 0 if every place of y takes one
   place of x, with weight 1. */
static inline int step_sample(const Step *s, StepTaps axis[], int *moves) {
    const View *y = &s->view[0], *x = &s->view[1];
    const double one = 1;
    int64_t at = 0;
    *moves = 1;
    for (int a = 0; a < y->rank; a++) {
        if (at >= s->nparam || s->param[at] < 0) return 0;
        const StepTaps t = {s->param[at], at + 1, s->param + at + 1};
        if (t.taps == 0 && x->dim[a] != y->dim[a]) return 0;
        if (y->dim[a] > 0 && t.taps > (s->nparam - t.first) / 2 / y->dim[a]) return 0;
        for (int64_t k = 0; k < t.taps * y->dim[a]; k++) {
            if (t.pair[2 * k] < 0 || t.pair[2 * k] >= x->dim[a]) return 0;
            *moves &= t.taps == 1 && !memcmp(&t.pair[2 * k + 1], &one, sizeof one);
        }
        at = t.first + 2 * t.taps * y->dim[a];
        axis[a] = t;
    }
    return at == s->nparam;
}

/* Not 0: it multiplies 8-bit integers, and its last parameter is the zero point of view 1. A back
   end that has no algorithm for that must not take it for a step of other numbers. */
static inline int step_has_zero(const Step *s) {
    return s->kind == S_GEMM ? s->nparam == 1
                             : s->kind == S_CONV && s->nparam == window_params(s) + 1;
}

/* Loop programs. A program has loop variables 0..nvar-1 (the output's axes first, then the
   variables of sums and maxima), registers LOOP_VARS.. (integers computed from those that the index
   polynomials need beyond sums of multiples: quotients, remainders, minima, products) and nodes in
   order of computation. Along one variable, the lane of a node, up to LOOP_LANES values are
   computed at a time. All words are int64:

     program    LOOP_MAGIC nin nparam rank nvar nreg nnode root lane (LoopHead), extent x nvar,
                register x nreg, node x nnode; root: a node; lane: variable or -1
     affine     c n (coefficient, variable or register) x n
     register   LOOP_FLOOR affine m; LOOP_MOD affine m; LOOP_MIN affine affine;
                LOOP_MUL affine affine               m > 0; MOD is >= 0
     literal    eq affine                                            affine == 0 or >= 0
     cond       n literal x n
     node       kind (LOOP_NODE_..) lane ..
                lane: the variable along which it has LOOP_LANES values, or -1: one value
       NUM p q
       REAL bits of the double
       PARAM k
       SIZE affine
       AT input rank affine x rank
       ADD a b; MUL a b; MAX2 a b; MIN2 a b; POW a b
       FN function (LOOP_FN_..) a
       IF a b cond
       WHERE a b c                      a where c is not 0, else b
       TAKE index body variable
       SUM, MAXIMUM inner n variable x n a cond
                                        inner: the variable that becomes the lane of a, the last
                                        of those listed; or -1: a has the lane of this node

   Conditions decide before anything under them is read. */
#define LOOP_NODES(X) \
    X(NUM)            \
    X(REAL)           \
    X(PARAM)          \
    X(SIZE)           \
    X(AT)             \
    X(ADD)            \
    X(MUL)            \
    X(MAX2)           \
    X(MIN2)           \
    X(POW)            \
    X(FN)             \
    X(IF)             \
    X(WHERE)          \
    X(SUM)            \
    X(MAXIMUM)        \
    X(TAKE)
#define LOOP_FUNCTIONS(X) \
    X(RECIP)              \
    X(EXP)                \
    X(LOG)                \
    X(SQRT)               \
    X(ERF)                \
    X(TANH)               \
    X(SIGMOID)            \
    X(ABS)                \
    X(DELTA)              \
    X(FLOOR)              \
    X(CEIL)               \
    X(ROUND)              \
    X(SIGN)               \
    X(SIN)                \
    X(COS)
enum { LOOP_MAGIC = 0x4c4f4f50, LOOP_LANES = 128, LOOP_VARS = 64 };
typedef enum LoopHead {
    LOOP_HEAD_MAGIC,
    LOOP_HEAD_INPUTS,
    LOOP_HEAD_PARAMS,
    LOOP_HEAD_RANK,
    LOOP_HEAD_VARS,
    LOOP_HEAD_REGISTERS,
    LOOP_HEAD_NODES,
    LOOP_HEAD_ROOT,
    LOOP_HEAD_LANE,
    LOOP_HEAD /* how many words these are */
} LoopHead;
/* Whether the step has a loop program that reads no parameters: a step has no values for them. */
static inline int step_has_loop(const Step *s) {
    return s->nparam > LOOP_HEAD && s->param[LOOP_HEAD_MAGIC] == LOOP_MAGIC &&
           s->param[LOOP_HEAD_PARAMS] == 0;
}
typedef enum LoopRegister { LOOP_FLOOR, LOOP_MOD, LOOP_MIN, LOOP_MUL } LoopRegister;
/* MAX2, MIN2, MAXIMUM: a maximum, a minimum, the maximum over all values of variables (SUM: the
   sum); TAKE: the body where the variable is the place that the index means. */
typedef enum LoopNode {
#define X(name) LOOP_NODE_##name,
    LOOP_NODES(X) LOOP_NODE_COUNT
#undef X
} LoopNode;
/* DELTA: 1 at 0, else 0; ROUND: to the nearest, halves to even. */
typedef enum LoopFunction {
#define X(name) LOOP_FN_##name,
    LOOP_FUNCTIONS(X) LOOP_FN_COUNT
#undef X
} LoopFunction;

typedef struct Device Device;
typedef struct Kernel Kernel;
typedef enum CopyDirection { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE } CopyDirection;

/* What a back end can do. Functions that return int give 0 for done and a negative number for
   failure, unless stated otherwise; `why`, of n bytes, receives the reason as a sentence. A Device
   is used by one thread at a time. A kernel may be run any number of times, and does not refer to
   the Step it was compiled from. */
typedef struct Backend {
    uint32_t abi, size; /* BACKEND_ABI and sizeof(Backend), checked when a plug-in is opened */
    const char *name;
    /* options: text that only the back end understands (--backend-options). NULL: failed. */
    Device *(*open)(const char *options, char *why, size_t n);
    void (*close)(Device *);
    /* A text that tells devices of different speed apart (processor, kernels, library versions);
       stored costs are valid for this identity only. */
    int (*identity)(Device *, char *text, size_t n);
    /* Memory on the device, at least 64-byte aligned; NULL: there is none. release frees it. */
    void *(*alloc)(Device *, size_t bytes);
    void (*release)(Device *, void *);
    /* Between memory of the host and of the device, or on it: after all that was started before,
       and done when it returns. */
    int (*copy)(Device *, void *to, const void *from, size_t bytes, CopyDirection);
    /* How many algorithms there are for the step, numbered from 0, the default; 0: it cannot run
       here. */
    int (*choices)(Device *, const Step *);
    /* A kernel for the step, to be freed by `forget`; NULL: failed. weights[j] holds the contents
       of view[j]'s slot if they are known and never change (the kernel may keep them in a form of
       its own), else NULL. *workspace receives the bytes of scratch memory that each run needs. */
    Kernel *(*compile)(Device *, const Step *, int choice, const void *const weights[],
                       size_t *workspace, char *why, size_t n);
    /* Starts the kernel; it may still be running when this returns. slot[k] is the memory of slot
       k. Allocates nothing. */
    int (*run)(Kernel *, void *const slot[], void *workspace);
    /* Returns when all kernels have ended; *ns (may be NULL): how long the device took for what was
       started since the last wait, in nanoseconds of its own clock. */
    int (*wait)(Device *, double *ns);
    void (*forget)(Kernel *);
    /* The following may be NULL. channels_last: not 0 if convolutions are faster on this device
       over views whose channels have stride 1. */
    int (*channels_last)(Device *);
    /* hold: memory on the device with these n bytes, which must not be written; equal contents
       share it. Every hold is undone by one drop. */
    void *(*hold)(Device *, const void *bytes, size_t n);
    void (*drop)(Device *, void *);
    /* Not 0: the kernel does not read this view when it runs, because it keeps the contents in a
       form of its own. */
    int (*packed)(const Kernel *, int view);
    /* How many threads of this machine run a kernel, the calling one among them. 1: that one alone,
       whose CPU time then is what a run takes. NULL: it is run elsewhere. */
    int (*threads)(const Device *);
    /* record: until `recorded`, runs and marks start nothing: they are only noted. recorded makes
       one kernel of all that was noted since, which does it again in this order with the memory
       that it was noted with, whatever slots it is run with. Only kernels that have run before may
       be noted, they must live as long as that kernel, and between the two nothing else is asked
       of the device. NULL: `why`; what was noted is forgotten, and may be run one by one. Either
       both or neither are NULL, like the next two. */
    int (*record)(Device *);
    Kernel *(*recorded)(Device *, char *why, size_t n);
    /* mark: remembers as time k (from 0; an earlier time k is forgotten) when all that was started
       so far ended. between: after a wait, the nanoseconds that passed between two of them. */
    int (*mark)(Device *, int k);
    int (*between)(Device *, int from, int to, double *ns);
    /* What the last call that failed without a `why` was and said; "": none did. */
    const char *(*failure)(const Device *);
} Backend;
/* The one symbol that a plug-in exports; it returns NULL for an ABI that it does not have. */
__attribute__((visibility("default"))) const Backend *isomer_backend(uint32_t abi);
#endif
