/* isomer_backend.h -- the complete interface of a back end. Plug-ins are built from it, also
   outside of this tree, and the built-in back end implements it. It first defines steps: plain data
   without symbolic sizes, which are priced, run and recorded. Then follows struct Backend, the
   functions of a back end.

   A plan is a list of steps over numbered slots (buffers). A step reads and writes views; a view is
   a slot, an element offset, sizes, and strides in elements. A stride of 0 repeats an element
   (broadcast); the output view has none on an axis longer than 1. view[0] is always the output.
   Sizes may be 0; then nothing is written.

   kind       views                               parameters and meaning
   S_GEMM     y[..,m,n] a[..,m,k] b[..,k,n]       none; all views have one rank >= 2; batch axes
                                                  broadcast by stride 0. For 8-bit integers: the
                                                  zero point of a
   S_CONV     y[n,o,i..] x[n,c,h..] w[o,c/g,k..]  group; then, each per spatial axis: strides, pads
                                                  (begin.. end..), dilations. For 8-bit integers:
                                                  then the zero point of x. step_window reads them
   S_POOL     y[n,c,i..] x[n,c,h..]               PoolKind; then, each per spatial axis: kernel,
                                                  strides, pads (begin.. end..), dilations; then 1
                                                  if the average divides by the cells of the padded
                                                  input (pads counted), else 0. step_window reads
                                                  them
   S_EWISE    y x1 x2 ..                          none; all views have y's rank and sizes; `code`
                                                  computes one element
   S_REDUCE   y[i..] x[i.., j..]                  ReduceKind; reduces the last axes of x, those that
                                                  y lacks. REDUCE_SQUARES and REDUCE_MAGNITUDES sum
                                                  the squares and the absolute values of floats;
                                                  they are planned only if the back end has an
                                                  algorithm for them (plan_norms.c)
   S_COPY     y x                                 none; both have the same sizes; converts the
                                                  element type if the types differ
   S_FILL     y                                   none; every element becomes code[0].k
   S_SOFTMAX  y x                                 none; along the last axis
   S_SAMPLE   y x                                 for each axis: the number of taps, then, for each
                                                  place of y on it, a pair for each tap: a place of
                                                  x and the bits of a weight (double). An element
                                                  of y is the sum, over all combinations of taps of
                                                  the axes, of the product of their weights times
                                                  the element of x there. No taps: the same place.
                                                  Several taps, or weights other than 1, are for
                                                  floats; for integers only if the back end allows
                                                  it. step_sample reads the parameters
   S_LOOP     y x1 x2 ..                          a loop program (below), which can compute
                                                  any definition
   S_OP       y.. x..                             the number of outputs, then the parameters of the
                                                  operator `op` (isomer_op_steps.h), which the step
                                                  computes
   S_ROWS     y x1 x2 ..                          the number of y's last axes that are a row. All
                                                  views have y's rank and sizes. `code` computes one
                                                  element, as in S_EWISE, and may also use
                                                  C_ROW_SUM a and C_ROW_MAX a: the sum and the
                                                  maximum of value a over the elements of the row.
                                                  Computed in float32; y is float32 or a 16-bit
                                                  float. Planned only if the back end has an
                                                  algorithm for the step (plan_rows.c, which joins
                                                  the steps of a softmax or a normalization)

   Epilogue: GEMM, CONV, POOL and REDUCE may have `code`. Its instruction 0 is C_ACC, the element
   just computed; the value of the last instruction is stored. C_VIEW k reads view[k], one of the
   views after those named above; these have y's rank and sizes (stride 0 where broadcast). An
   epilogue that begins by rounding its accumulator declares that the sums are whole numbers which
   floats hold exactly: they must not be computed by algorithms that do not add exactly, such as
   Winograd's.

   Types: GEMM, CONV, POOL and REDUCE of float32 accumulate in float. A program computes in the
   widest class among y, the accumulator and the views it reads: double, float (also for 16-bit
   floats), uint64, int64 (for all other integers and bool). Results are converted to y's type when
   they are stored, as by S_COPY: integers wrap; floats are truncated toward zero to integers and
   saturate (NaN gives 0); bool is "is not zero". Integer division truncates, C_MOD has the sign of
   the divisor, and both give 0 for a divisor of 0. min, max and relu in programs and reductions
   propagate NaN; the maximum of a pool, and an activation that a kernel fuses into its convolution
   or product, need not.

   GEMM and CONV with a zero point multiply uint8 or int8 (view 1) by int8 (view 2): sums of
   (x - zero) * w, exact in int32, the type of their accumulator; padding adds nothing. They are
   planned only if the back end has an algorithm for them. S_EWISE and S_ROWS may work in place: y
   may be the same view as an input. */
#ifndef ISOMER_BACKEND_API_H
#define ISOMER_BACKEND_API_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    STEP_RANK = 8,       /* the most axes of a view */
    STEP_SPATIAL = 3,    /* the most spatial axes of a convolution or pool */
    STEP_CODE = 250,     /* the most instructions of a program (Scalar): bytes number its values,
                            and a back end may add some */
    BACKEND_ABI = 8,     /* the version of this interface */
    BACKEND_THREADS = 64 /* the most threads of a device */
};

/* Some memory of a slot as a tensor. `dtype` is a number of ONNX's TensorProto.DataType (DT_FLOAT
   is 1; core/type.h lists all). */
typedef struct View {
    int32_t slot, dtype, rank, format; /* slot and rank are -1 for an omitted input; format 0:
                                          strided, others belong to the back end */
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
typedef enum ReduceKind {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_SQUARES,
    REDUCE_MAGNITUDES
} ReduceKind;

/* One instruction of an element-wise program. Instruction i computes value i from the values a, b
   and c (all < i), the constant k or a view. Booleans are 0 and 1. `where` is b if a is not 0, else
   c; `as` is value a converted to element type b and back.

   X(id, text, operands), where operands are '-': none; 'v': the view numbered a; 'k': the constant
   k; '1', '2', '3': the value a; a and b; a, b and c; 't': the value a and the element type b. */
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
/* The number of values that an instruction reads: a, then b, then c. */
static inline int scalar_values(int op) {
    static const char operands[] = {
#define X(id, text, operands) [id] = operands,
        SCALAR_OPS(X)
#undef X
    };
    const char o = operands[op];
    return o == 't' ? 1 : o >= '1' && o <= '3' ? o - '0' : 0;
}
/* Whether the result of an instruction is always a truth value, 0 or 1. */
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
/* Renumbers the operands of an instruction: value k becomes number[k]. Operands that it does not
   read become 0. */
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

/* The only parameter of S_REDUCE and of S_ROWS. */
enum { REDUCE_KIND = 0, ROWS_AXES = 0 };
/* Parameters of S_CONV and S_POOL: the group or PoolKind; for S_POOL the sizes of the kernel; then,
   in the order of WindowList, lists with one number per spatial axis. */
enum { CONV_GROUP = 0, POOL_KIND = 0, POOL_KERNEL = 1 };
typedef enum WindowList {
    WINDOW_STRIDES,
    WINDOW_BEGINS, /* BEGINS and ENDS: the pads before the first place and after the last one */
    WINDOW_ENDS,
    WINDOW_DILATIONS,
    WINDOW_LISTS
} WindowList;
static inline int step_spatial_axes(const Step *s) { return s->view[1].rank - 2; }
/* The index in s->param of the number that a WindowList has for a spatial axis, counted from 0. */
static inline int window_param(const Step *s, int list, int axis) {
    const int n = step_spatial_axes(s);
    return (s->kind == S_POOL ? POOL_KERNEL + n : CONV_GROUP + 1) + list * n + axis;
}
/* The number of parameters of an S_CONV without a zero point, or of an S_POOL. */
static inline int window_params(const Step *s) {
    return window_param(s, WINDOW_LISTS, 0) + (s->kind == S_POOL);
}
/* For S_POOL: not 0 if the average divides by the cells of the padded input. */
static inline int pool_counts_pads(const Step *s) {
    return s->param[window_param(s, WINDOW_LISTS, 0)] != 0;
}
/* The windows of an S_CONV or S_POOL along n spatial axes, as lists of n numbers that belong to the
   step. Along axis i, tap k of output o reads place o * stride[i] - begin[i] + k * dilation[i] of
   x. */
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

/* The list of an S_SAMPLE for one axis of y. Place i of y reads the places of x that are in the
   pairs i * taps, i * taps + 1, .. (the first word of each); with taps 0 it reads place i. The
   pairs begin at word `first` of `param`. */
typedef struct StepTaps {
    int64_t taps, first;
    const int64_t *pair;
} StepTaps;
/* Reads the parameters of an S_SAMPLE into axis[], one entry for each axis of y. Returns 0 if they
   are not valid. *moves: not 0 if every place of y reads one place of x, with weight 1. */
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

/* Not 0 if the step multiplies 8-bit integers and its last parameter is the zero point of view 1. A
   back end without an algorithm for this must not take it for an ordinary step. */
static inline int step_has_zero(const Step *s) {
    return s->kind == S_GEMM ? s->nparam == 1
                             : s->kind == S_CONV && s->nparam == window_params(s) + 1;
}

/* Loop programs. A program has loop variables 0..nvar-1 (the output's axes first, then the bound
   variables of its nodes), registers, and nodes in order of computation. A register, numbered from
   LOOP_VARS on, is an integer that an index needs and that is not an affine form of the variables:
   a quotient, remainder, minimum or product of such forms. A node computes up to LOOP_LANES values
   at a time along one variable, its lane. All words are int64:

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

   Conditions decide before anything under them is read. Numbers are doubles, and a result that an
   integer output cannot hold saturates. But if all views hold integers or truth values, the results
   are exact: integers of 64 bits, stored modulo 2^bits of the output's type. */
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
    LOOP_HEAD /* the number of these words */
} LoopHead;
/* Whether the step has a loop program without parameters; a step has no values for parameters. */
static inline int step_has_loop(const Step *s) {
    return s->nparam > LOOP_HEAD && s->param[LOOP_HEAD_MAGIC] == LOOP_MAGIC &&
           s->param[LOOP_HEAD_PARAMS] == 0;
}
typedef enum LoopRegister { LOOP_FLOOR, LOOP_MOD, LOOP_MIN, LOOP_MUL } LoopRegister;
/* MAX2 and MIN2 are the maximum and minimum of two values; SUM and MAXIMUM run over all values of
   their variables; TAKE is the body with the variable set to the place that the index means. */
typedef enum LoopNode {
#define X(name) LOOP_NODE_##name,
    LOOP_NODES(X) LOOP_NODE_COUNT
#undef X
} LoopNode;
/* DELTA is 1 at 0, else 0; ROUND is to the nearest, halves to even. */
typedef enum LoopFunction {
#define X(name) LOOP_FN_##name,
    LOOP_FUNCTIONS(X) LOOP_FN_COUNT
#undef X
} LoopFunction;

typedef struct Device Device;
typedef struct Kernel Kernel;
typedef enum CopyDirection { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE } CopyDirection;
typedef enum CompileFailure {
    COMPILE_REFUSED,  /* for good: this algorithm cannot run this step on this device */
    COMPILE_NO_MEMORY /* there was no memory, on the host or on the device; later there may be */
} CompileFailure;

/* The functions of a back end. Those that return int return 0 for success and a negative number for
   failure, unless stated otherwise; `why`, of n bytes, receives the reason as a sentence. A Device
   is used by one thread at a time. A kernel may be run any number of times, and does not refer to
   the Step from which it was compiled. */
typedef struct Backend {
    uint32_t abi, size; /* BACKEND_ABI and sizeof(Backend), checked when a plug-in is opened */
    const char *name;
    /* Opens a device. options: a text that only the back end understands (--backend-options). NULL:
       failed. */
    Device *(*open)(const char *options, char *why, size_t n);
    void (*close)(Device *);
    /* Writes a text that distinguishes devices of different speed (processor, kernels, library
       versions). Stored costs are valid for the same text only. */
    int (*identity)(Device *, char *text, size_t n);
    /* Allocates memory on the device, aligned to at least 64 bytes; NULL: there is none left.
       release frees it. */
    void *(*alloc)(Device *, size_t bytes);
    void (*release)(Device *, void *);
    /* Copies between the memory of the host and of the device, or within that of the device. It
       begins after everything that was started before, and is complete when the function
       returns. */
    int (*copy)(Device *, void *to, const void *from, size_t bytes, CopyDirection);
    /* The number of algorithms for the step. They are numbered from 0, the default. Returns 0 if
       the step cannot run on this device. */
    int (*choices)(Device *, const Step *);
    /* Compiles a kernel for the step, to be freed by `forget`. weights[j] is the contents of
       view[j]'s slot if they are known and never change (the kernel may keep them in a form of its
       own), else NULL. *workspace receives the bytes of scratch memory that each run needs. NULL:
       failed; *failure, unless `failure` is NULL, receives the kind. */
    Kernel *(*compile)(Device *, const Step *, int choice, const void *const weights[],
                       size_t *workspace, CompileFailure *failure, char *why, size_t n);
    /* Starts the kernel, which may still be running when this returns. slot[k] is the memory of
       slot k. Allocates nothing. */
    int (*run)(Kernel *, void *const slot[], void *workspace);
    /* Waits for all kernels to end. *ns (ns may be NULL) receives the time, by the device's own
       clock in nanoseconds, that everything took that was started since the last wait. */
    int (*wait)(Device *, double *ns);
    void (*forget)(Kernel *);
    /* All functions from here on may be NULL.

       Not 0 if convolutions on this device are faster over views whose channels have stride 1. */
    int (*channels_last)(Device *);
    /* Returns memory on the device with a copy of these n bytes, which must not be written; equal
       contents share it. Every hold must be undone by one drop. */
    void *(*hold)(Device *, const void *bytes, size_t n);
    void (*drop)(Device *, void *);
    /* Not 0 if the kernel does not read this view when it runs, because it keeps the contents in a
       form of its own. */
    int (*keeps_view)(const Kernel *, int view);
    /* The number of threads of this machine that run a kernel, including the calling one. With 1,
       the CPU time of the calling thread is the time of a run. NULL: kernels run elsewhere. */
    int (*threads)(const Device *);
    /* From `record` to `recorded`, runs and marks start nothing, but are recorded. `recorded`
       returns one kernel that repeats them in this order, with the memory that they were recorded
       with, whatever slots it is run with. Only kernels that have run before may be recorded; they
       must live as long as this kernel; and between the two calls nothing else may be asked of the
       device. NULL: failed, with the reason in `why`; the recording is discarded, and the kernels
       may be run one by one. Either both functions are NULL or neither is; so are the next two. */
    int (*record)(Device *);
    Kernel *(*recorded)(Device *, char *why, size_t n);
    /* `mark` remembers, as mark k (from 0; an earlier mark k is replaced), when everything started
       so far has ended. `elapsed`: the nanoseconds that passed between two marks, to be asked after
       a wait. */
    int (*mark)(Device *, int k);
    int (*elapsed)(Device *, int from, int to, double *ns);
    /* Which call without a `why` failed last, and the reason; "" if none did. */
    const char *(*failure)(const Device *);
} Backend;
/* The only symbol that a plug-in exports. It returns NULL if it does not support this version of
   the interface. */
__attribute__((visibility("default"))) const Backend *isomer_backend(uint32_t abi);
#endif
