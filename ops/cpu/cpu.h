/* cpu.h -- what the files of the CPU back end share: the device, the building of kernels, operands
   and tails.

   A Build makes everything that a kernel needs once, in the kernel's arena; runs only read it. The
   kernel's scratch memory is slot -1, so that an intermediate result is a View like any other:
   "pack this operand" and "compute there, then finish into y" are copies and element-wise programs
   over views. */
#ifndef ISOMER_CPU_H
#define ISOMER_CPU_H
#include "ops/base/arena.h"
#include "ops/cpu/simd.h"
#include "ops/backend/view.h"

/* The slot of a kernel's own scratch memory (`work`, which each run gets). */
enum { SLOT_SCRATCH = -1 };
typedef struct Blas Blas;     /* blas.c */
typedef struct Dnn Dnn;       /* dnn.c */
typedef struct Shared Shared; /* shared.c */
typedef struct Team Team;     /* team.c */
typedef struct Chunk Chunk;   /* pages.c */
enum { SHARED_LISTS = 256, TEAM_MOST = BACKEND_THREADS };
struct Device {
    const Simd *simd;
    Team *team; /* NULL: one thread */
    int threads;
    bool turns;    /* the parts of a step take turns on one thread */
    int64_t grain; /* estimated nanoseconds: parts of a step that take less are not worth a
                      thread */
    Blas *blas;    /* NULL: no OpenBLAS */
    Dnn *dnn;      /* NULL: no oneDNN */
    bool timing;   /* a run has been started since the last wait */
    double start;  /* of the first run since the last wait, in nanoseconds of the device's clock */
    Shared *shared[SHARED_LISTS];
    Chunk *chunks; /* the device's memory */
};
typedef struct Share { /* shared contents (shared.c) that a kernel uses */
    struct Share *next;
    void *bytes;
} Share;
struct Kernel {
    Device *device;
    Arena *arena; /* holds the kernel itself */
    /* 0: done; negative: failed */
    int (*run)(const Kernel *, void *const slot[], void *work);
    void (*forget)(Kernel *); /* frees what is not in the arena; may be NULL */
    void *self;               /* what `run` and `forget` work with */
    uint64_t packed; /* bit i: the kernel has a packed copy of view i and does not read the view */
    Share *shares;
};

typedef struct Build {
    Device *device;
    Arena *arena, *scratch; /* scratch: freed when the kernel has been built */
    Kernel *kernel;
    bool repacked;    /* known operands are packed for another library, which packs them again, so
                        the copy is not kept */
    const Step *step; /* the caller's; the kernel must not refer to it later */
    const void *const *weights; /* by view: contents that are known and never change, or NULL */
    size_t workspace;           /* bytes of scratch memory so far */
    int part;                   /* the number of the part if the step is cut (split.c) */
    CompileFailure *failure;    /* receives the kind of a failure */
    char *why;                  /* receives the reason of a failure, at most nwhy bytes */
    size_t nwhy;
} Build;
bool build_fail(Build *, const char *why); /* returns false */
bool build_no_memory(Build *);             /* likewise, where there was no memory */
/* A dense view in the scratch memory. */
View build_scratch(Build *, int dtype, int rank, const int64_t dim[]);
/* Reserves this many bytes of scratch memory; returns their offset, a multiple of 64 bytes. */
size_t build_bytes(Build *, size_t bytes);

/* ---- pages.c: memory of the device, 64-byte aligned and not zeroed; NULL: there is none. All of
   it must be freed before the device is closed. pages_drop allows NULL. */
void *pages_new(Device *, size_t bytes);
void pages_drop(Device *, void *bytes);

/* ---- shared.c: contents that never change, stored once per device and 64-byte aligned. They are
   found by a key, a digest of what they were made from. NULL: shared_find has no such contents,
   shared_new no memory. Each shared_find or shared_new is undone by one shared_drop. */
void *shared_find(Device *, const char key[33]);
void *shared_new(Device *, const char key[33], size_t bytes); /* must be filled before others look
                                                                 for it */
void shared_drop(Device *, void *);
/* Sets `key` to a digest of the floats in memory between the lowest and the highest that the view
   reads. known: the view's first element. Returns how many of these floats precede it. */
int64_t shared_digest(const View *, const float *known, char key[33]);
void *cpu_hold(Device *, const void *bytes, size_t n); /* Backend.hold */
/* Adds an entry to Kernel.shares. The block that the caller stores in its `bytes` is dropped with
   the kernel. */
Share *build_share(Build *);
void kernel_drop(Kernel *);   /* drops all shares of a kernel */
void kernel_forget(Kernel *); /* frees a kernel that is a part of another one, except for the arena
                                 that they share */

/* ---- operand.c */
/* Whether there are loads and stores for the type. */
bool dtype_numeric(int dtype);
/* Bytes of an element; 0: elements are not whole bytes. */
int dtype_size(int dtype);
ComputeClass view_class(const View *view, int n); /* the widest class of n views: double, else
                                                     float, uint64, int64 */
int class_dtype(ComputeClass);
bool view_is_packed(const View *); /* dense if its axes are put into some order */
/* Whether axis 1 has stride 1 and neighbouring places are further apart. */
bool view_is_channels_last(const View *);
static inline void *view_at(const View *v, void *const slot[], void *work) {
    return (char *)(v->slot < 0 ? work : slot[v->slot]) + v->offset * dtype_size(v->dtype);
}
/* A loop nest over all elements of view[0] and of n-1 other views of the same sizes. Axes of length
   1 are dropped; the others are in the order of view[0]'s strides, the greatest first, and are
   joined where all views allow it. stride[v*STEP_RANK + axis] is in elements. count, the number of
   elements, may be 0. */
typedef struct Nest {
    int rank, n; /* n: views */
    int64_t count, dim[STEP_RANK], *stride;
} Nest;
Nest nest_new(Arena *, const View *const view[], int n);
/* Gives a nest without axes one axis of size 1. */
void nest_with_axis(Nest *);
/* Whether a nest with an axis, over two views of elements of `size` bytes, is a row of at most
   SIMD_MOVED bytes that is contiguous in both. */
bool nest_is_short_row(const Nest *, int size);
/* Steps to the next index of all axes except the last `inner` ones, and adapts the offsets of all
   views. False: that was the last one. */
bool nest_next(const Nest *, int inner, int64_t index[], int64_t offset[]);
/* Sets index and offset to the state after `number` calls of nest_next. */
void nest_goto(const Nest *, int inner, int64_t number, int64_t index[], int64_t offset[]);

/* ---- lanes.c: lines of a view along an axis, side by side
   LANES_BESIDE: lines that begin at adjacent places lie side by side already.
   LANES_TURNED: tiles of lines are transposed. Where the axis is followed by others of fewer than
   LANES_LEAST places (`inner` of them), so many lines follow each other in memory.
   LANES_APART: neither is possible. */
typedef enum LanesKind { LANES_APART, LANES_BESIDE, LANES_TURNED } LanesKind;
enum { LANES_LEAST = 16, LANES_TURNED_MOST = 64 /* lines of a tile */, LANES_COLUMNS = 64 };
typedef struct Lanes {
    LanesKind kind;
    int64_t inner, rows; /* rows: elements of each line that a tile has; a tile has at most
                            LANES_COLUMNS * LANES_TURNED_MOST elements */
    int64_t step[3];     /* in the nest's views: from one of the `inner` lines to the next */
} Lanes;
/* nest: over views without the axis, of which one has lines of n elements, `along` apart. Its last
   axis then has the lines that lie side by side, and the `inner` ones are taken out of it. */
Lanes lanes_of(Nest *, int view, int64_t n, int64_t along);
/* y[c * LANES_TURNED_MOST + r] = x[r * xs + c], for elements of 4 or 8 bytes. */
void lanes_turn(const Simd *, int size, char *y, const char *x, int64_t xs, int64_t rows,
                int64_t columns);

/* ---- vector.c: element-wise programs */
typedef struct Vector Vector;
/* Builds a program that writes view[0]. `acc` is what C_ACC reads, or NULL if the program has none.
   NULL: it cannot be built, and build_fail was called. */
Vector *vector_new(Build *, const View *view, int nview, const View *acc, const Scalar *code,
                   int ncode);
void vector_run(const Vector *, void *const slot[], void *work);
/* Copies the program to `own` with numbers that are known as constants, and with each view read
   only once. */
void program_read_once(const Build *, const View *view, const Scalar *code, int ncode,
                       Scalar own[]);

/* ---- narrow.c: the class in which a well-formed program of CLASS_INT is computed. It may contain
   FurtherOps; view[0] is its output. */
ComputeClass narrow_class(const Simd *, const View *view, const View *acc, const Scalar *code,
                          int ncode);

/* ---- quantize.c: builds a kernel for a program, as program_read_once leaves it, that quantizes to
   8 bits (QuantizeLinear) or dequantizes from 8 bits (DequantizeLinear), in at most `parts` parts.
   False: it is another program. */
bool quantize_build(Build *, const Scalar *code, int ncode, int parts, Kernel *);

/* The loop that repeats elements of `size` bytes k times each; NULL: there is none. */
static inline Repeat *repeat_of(const Simd *simd, int size, int64_t k) {
    int log = 0;
    while (1 << log < size) log++;
    return k < SIMD_WEAVES && log < SIMD_SIZES ? simd->repeat[log][k] : NULL;
}

/* ---- copy.c */
typedef struct Copy Copy;
/* Builds a copy from x to y, of equal sizes; it converts elements if the types differ. NULL: it
   cannot be built, and build_fail was called. */
Copy *copy_new(Build *, const View *y, const View *x);
void copy_run(const Copy *, void *const slot[], void *work);

/* What a kernel reads: a view in place, or a copy with another type or layout. The copy is made in
   each run, or once if the contents are known (`constant`). */
typedef struct Operand {
    View view;            /* where to read it, unless `constant` is set */
    Copy *copy;           /* makes the copy in each run; NULL: there is nothing to copy */
    const void *constant; /* contents that were copied when the kernel was built, or NULL */
} Operand;
Operand operand_as_is(Build *, int index);
/* A dense copy of this type. */
bool operand_pack(Build *, int index, int dtype, Operand *);
/* The same for another view of the slot of view[index]. */
bool operand_pack_as(Build *, int index, const View *, int dtype, Operand *);
/* A view of the type that is packed: as it is if it is packed, else a copy whose axes are in the
   order of its strides, or a dense one if the contents are known. */
bool operand_packed(Build *, int index, const View *, int dtype, Operand *);
/* As it is if it has the type, else a dense copy. */
bool operand_typed(Build *, int index, int dtype, Operand *);
/* Returns the operand's first element, after making the copy. To be called once per run. */
static inline const void *operand_at(const Operand *o, void *const slot[], void *work) {
    if (o->constant) return o->constant;
    if (o->copy) copy_run(o->copy, slot, work);
    return view_at(&o->view, slot, work);
}
/* The view with its last two axes exchanged. */
View matrix_transposed(const View *);
/* Views a gemm step with fewer axes. Batch axes along which b does not change are joined to the
   rows; if that covers all of them, the views have rank 2. Otherwise the remaining batch axes are
   joined to one, and the views have rank 3; a factor that all batches share has size 1 along it.
   False: the axes cannot be joined, or each matrix a of a batch is a single row, for which OpenBLAS
   is faster. */
bool gemm_flatten(const Step *, View out[3]);

/* The output of a kernel that computes in some type: where the kernel writes, and the program that
   then brings the result into view[0] with its epilogue. */
typedef struct Tail {
    View into;      /* view[0], or a view of the scratch memory */
    Vector *finish; /* NULL: nothing is left to do */
} Tail;
bool epilogue_reads_output(const Step *); /* whether it may; then these views must be read before
                                             the kernel writes to the output */
/* Which views a kernel can write to: any, packed ones, or dense ones. */
typedef enum TailShape { TAIL_ANY, TAIL_PACKED, TAIL_DENSE } TailShape;
/* Makes the tail, with the step's epilogue, of a kernel that computes in `dtype` and writes to
   views of this kind. */
bool tail_new(Build *, int dtype, TailShape, Tail *);
/* The same without the epilogue, which the kernel computes itself. */
bool tail_plain(Build *, int dtype, TailShape, Tail *);
/* For a kernel that writes a packed view of the output's sizes whose axes are in the order of the
   strides of `like`. */
bool tail_like(Build *, int dtype, const View *like, Tail *);
static inline void tail_run(const Tail *t, void *const slot[], void *work) {
    if (t->finish) vector_run(t->finish, slot, work);
}

/* ---- affine.c: splits the epilogue into scale[c]*acc + shift[c], where c is the index along
   `axis` and the numbers are known now (Build.weights), and the remaining program, whose
   accumulator is the result. scale NULL: 1. False: the epilogue does not begin with such a part. */
enum { AFFINE_CODE = 64 };
typedef struct AffinePart {
    const float *scale, *shift;
    int ncode;
    Scalar code[AFFINE_CODE]; /* the remaining program */
} AffinePart;
bool affine_split(Build *, int axis, AffinePart *);

/* ---- fused.c: matches an epilogue that consists of an optional bias along an axis, an optional
   activation, and an optional line alpha*x + beta. */
typedef enum ActKind {
    ACT_RELU,
    ACT_SIGMOID,
    ACT_TANH,
    ACT_CLIP,
    ACT_SWISH,
    ACT_HARDSWISH,
    ACT_LINE
} ActKind;
typedef struct Act {
    ActKind kind;
    float alpha, beta; /* clip: the bounds; hardswish: x * clip(alpha*x + beta, 0, 1) */
} Act;
typedef struct Fused {
    bool whole; /* the epilogue has this form; otherwise the other fields do not describe it */
    int bias;   /* its view; 0: there is none */
    int nact;
    Act act[2];
} Fused;
Fused fused_match(const Build *, const Step *, int axis);
/* Matches value i as activations of value *x, and sets act and nact. False: it is none. */
bool fused_activation(const Build *, const Step *, int i, int *x, Fused *);

/* ---- joined.c: groups of instructions of a float program that one kernel (a Pass of Simd)
   computes from a value x. */
enum { JOINED_MOST = 16 };
typedef struct Joined {
    int x, nabsorbed, absorbed[JOINED_MOST]; /* the values that only the group uses */
    float k[6];                              /* the numbers of the kernel */
} Joined;
bool joined_enter(Joined *, int i); /* adds value i to `absorbed`; false: there is no room */
/* Whether the absorbed values are read only by value i and by each other. */
bool joined_alone(const Scalar code[], int ncode, int i, const Joined *);
/* Whether such groups contain instructions of this kind. */
bool activation_gate(int op);
/* Matches value i as Simd.gate_sigmoid or, by_erf, Simd.gate_erf of value x. False: it is neither,
   or an inner value is read elsewhere, too. */
bool activation_match(const Scalar code[], int ncode, int i, bool *by_erf, Joined *);

/* ---- ending.c: the part of an epilogue that our own kernels compute. */
typedef struct Ending {
    const float *scale, *shift; /* by channel: factors of the weights, and starts of the sums; NULL:
                                   1, 0 */
    int add;                    /* the view that is added next; 0: there is none */
    Squash squash;
    Pass *pass; /* an activation that runs over what has been written, with the numbers k; NULL:
                   there is none */
    float k[6];
    Tail tail; /* where the kernel writes, and what remains to be done then */
} Ending;
/* Splits the step's epilogue. Known scales and shifts are along `axis` of y. A view to be added
   must have stride 1 along axis `beside`; if that is negative, none is taken. */
bool ending_new(Build *, int axis, int beside, Ending *);
/* A copy of the list, or n times the number `otherwise` if the list is NULL. */
const float *ending_list(Build *, const float *list, float otherwise, int64_t n);

/* ---- requantize.c: matches value i as Simd.requantize of value x, which is quantized to 8 or 16
   bits and dequantized again. False: it is not, or an inner value is read elsewhere, too. */
bool requantize_match(const Scalar code[], int ncode, int i, Joined *);
/* The same for Simd.quantize and for Simd.dequantize. */
bool quantize_match(const Scalar code[], int ncode, int i, Joined *);
bool dequantize_match(const Scalar code[], int ncode, int i, Joined *);
/* Matches value i as round(x / k[0]) + k[1] of value x. k[0] is 1 if there is no division. Does not
   check who reads the inner values. */
bool rounding_match(const Scalar code[], int i, Joined *);

/* ---- reduce.c: n accumulators of class `wide`. reduce_start sets them to the neutral element of
   `kind`; a mean is a sum that reduce_divide then divides by `count`. */
void reduce_start(void *acc, ComputeClass wide, ReduceKind, int64_t n);
void reduce_divide(void *acc, ComputeClass wide, int64_t count, int64_t n);

/* ---- one maker for each kind of step */
typedef bool Make(Build *, int choice, Kernel *); /* sets run, self and, if needed, forget */
typedef struct Maker {
    /* the number of algorithms for the step */
    int (*choices)(const Device *, const Step *);
    Make *build;
    bool rows; /* split_rows cuts its steps; otherwise `build` does so itself */
} Maker;
/* Builds a kernel that runs an element-wise program, which may contain FurtherOps; view[0] is the
   output. */
bool program_build(Build *, const View *view, int nview, const Scalar *code, int ncode, Kernel *);
extern const Maker gemm_maker, conv_maker, pool_maker, vector_maker, fill_maker, reduce_maker,
    copy_maker, softmax_maker, rows_maker, sample_maker, loop_maker, op_maker,
    int8_maker; /* for the steps that have a zero point */
/* Whether input and output have the same number of spatial axes, 1 to STEP_SPATIAL. */
static inline bool step_spatial(const Step *s) {
    return s->view[1].rank >= 3 && s->view[1].rank <= 2 + STEP_SPATIAL &&
           s->view[0].rank == s->view[1].rank;
}
/* The first spatial axis that is longer than 1, or the last one. If channels are last, ranges along
   it are contiguous. */
static inline int view_spatial_axis(const View *y) {
    int axis = 2;
    while (axis < y->rank - 1 && y->dim[axis] == 1) axis++;
    return axis;
}
/* Whether the sizes and parameters of the step are consistent. */
bool conv_fits(const Step *);
/* The terms of each sum of a convolution: the weights of an output channel. */
static inline int64_t conv_terms(const Step *s) {
    const View *w = &s->view[2];
    return w->dim[0] ? view_count(w) / w->dim[0] : 0;
}
bool gemm_fits(const Step *);

/* ---- window.c: the windows of a convolution or pool along three spatial axes. Axes that the step
   lacks come first and have length 1. */
typedef struct Window {
    int64_t in[STEP_SPATIAL], out[STEP_SPATIAL], kernel[STEP_SPATIAL], stride[STEP_SPATIAL],
        begin[STEP_SPATIAL], end[STEP_SPATIAL], dilation[STEP_SPATIAL];
    int64_t xs[STEP_SPATIAL], ys[STEP_SPATIAL]; /* the strides of x and y */
} Window;
/* y and x: the views of the step, or copies of them with other strides. */
Window window_new(const Step *, const View *y, const View *x);
/* Writes a stride of 1 into param, the parameters of the step or a copy of them, for each axis that
   has a single window, which does not move. Its stride may be arbitrarily large. */
void still_windows(const Step *, int64_t param[]);
/* The strides of w, a view with the axes of the step, along these three axes. */
void window_strides(const View *w, int64_t stride[STEP_SPATIAL]);
/* Computes the input index for output o and cell k of the window along axis a. False: it lies
   outside. */
static inline bool window_at(const Window *g, int a, int64_t o, int64_t k, int64_t *i) {
    *i = o * g->stride[a] - g->begin[a] + k * g->dilation[a];
    return *i >= 0 && *i < g->in[a];
}
/* For S_POOL: by how many cells the mean divides each output along an axis. Padding counts if the
   step says so. The list is in the arena. */
int64_t *window_cells(Build *, const Window *, int axis);
/* Load and store bytes without conversion, with the parameters of Simd.load and Simd.store. */
void load_bytes(void *y, const void *x, int64_t stride, int64_t n);
void store_bytes(void *y, int64_t stride, const void *x, int64_t n);

/* ---- team.c */
/* A team of this many threads, including the caller, at most TEAM_MOST. turns: the caller runs all
   parts, one after the other. NULL: the threads cannot be created, and `why` (n bytes) says so. */
Team *team_new(int threads, bool turns, char *why, size_t n);
void team_free(Team *);
typedef void TeamPart(void *user, int part);
/* Calls part(user, k) once for each k below n, on any thread, and returns when all are done. Only
   one thread may call it at a time. If n is 1, the caller runs the part, and the team may be
   NULL. */
void team_run(Team *, int n, TeamPart *, void *user);
double thread_nanoseconds(void); /* the processor time of the calling thread */
/* By how much less processor time the caller would have needed so far if its parts had not taken
   turns, in nanoseconds. */
double team_saved(const Team *);

/* ---- split.c */
typedef struct Cut {
    int axis;     /* of the output */
    int64_t unit; /* parts begin at multiples of this */
    bool compare; /* compare at compile time whether the parts give the same bytes as the whole */
} Cut;
/* Into how many parts to cut this step, so that each is worth a thread; 1: it is not cut. */
int split_parts(const Build *);
/* The same for work that can be cut into `most` parts: it visits `count` elements, or computes so
   many sums, each of which takes about `each` nanoseconds on one thread. At least 1. */
int count_parts(const Build *, int64_t most, int64_t count, double each);
/* Builds kernels with `make` for parts of the step, if that pays and one of the cuts allows it (the
   better cuts come first), else one for the whole step. */
bool split_build(Build *, Make *make, int choice, const Cut[], int n, Kernel *);
/* The same for steps whose output axes are axes of their inputs. */
bool split_rows(Build *, Make *make, int choice, Kernel *);

/* ---- panels.c: weights must be known when the kernel is built */
bool panels_conv_possible(const Device *, const Step *);
bool panels_conv_build(Build *, Kernel *);
bool panels_gemm_possible(const Device *, const Step *);
bool panels_gemm_build(Build *, int choice, Kernel *);

/* ---- levels.c: known weights [terms, columns] that take few values, stored in 4 or 8 bits each */
enum { LEVEL_ROWS = 16 }; /* rows of a product, at most */
typedef struct Levels {
    int bits;     /* of a level: 4 or 8 */
    bool shifted; /* there are offsets */
    bool tiles;   /* rows of bytes may be multiplied by tiles */
    int64_t terms, columns, panels, words, block, blocks; /* panels: of PANEL columns; words: of 32
                                                             bits for each column; block: terms of a
                                                             block */
    const float *packed;                                  /* the panels */
} Levels;
/* Whether levels pay for this many rows and weights. */
bool levels_worth(int64_t rows, int64_t weights);
/* Packs a view of slot `index`. False: the contents are unknown, or take too many values; or
   there is no memory, and only then build_fail was called. */
bool levels_pack(Build *, int index, const View *, Levels *);
/* The floats that a row takes in the form in which panels read it. levels_enter brings a row into
   this form; its elements are `stride` apart. */
int64_t levels_row(const Levels *);
void levels_enter(const Simd *, const Levels *, float *to, const float *a, int64_t stride);
/* The same as whole numbers of three bytes, for a row of adjacent elements; none of them may be far
   greater than most others. False, and nothing is done: it is not possible for these levels, this
   row or this processor. */
bool levels_enter_bytes(const Simd *, const Levels *, float *to, const float *a);
/* y[r, 0..PANEL-1] += n rows times panel k. All rows must be as bytes, or none. */
void levels_add(const Simd *, const Levels *, int64_t k, float *y, int64_t ys, const float *rows,
                int64_t n, bool bytes);
bool levels_gemm_build(Build *, Kernel *);

/* ---- batches.c: products of factors that are not known */
bool batches_possible(const Device *, const Step *);
bool batches_build(Build *, int choice, Kernel *);

/* ---- onerow.c: single rows times matrices that are not known */
bool onerow_possible(const Step *);
bool onerow_build(Build *, int choice, Kernel *);

/* ---- winograd.c: weights must be known. winograd_like: whether the windows are 3x3, at every
   place of an image with two spatial axes, in one group, and sums need not be exact. */
bool winograd_like(const Step *);
bool winograd_possible(const Device *, const Step *);
bool winograd_build(Build *, Kernel *);

/* ---- depthwise.c */
bool depthwise_possible(const Step *);
bool depthwise_build(Build *, Kernel *);

/* ---- direct.c */
bool direct_conv_build(Build *, Kernel *);

/* ---- planes.c: pooling of any layout */
enum { PLANES_FEW = 64 }; /* cells of a window whose floats are added as floats */
bool planes_build(Build *, Kernel *);
bool means_build(Build *, Kernel *); /* false: planes_build must do it */
bool planes_peaks(const Step *);     /* whether it takes maxima over rows in place */

/* ---- neighbours.c: means over windows of floats by rows, planes or channels last */
enum { NEIGHBOURS_ROW = 96 };             /* the shortest row for which windows of few cells fit */
bool neighbours_fit(const Step *);        /* whether it is possible and probably the fastest */
bool neighbours_build(Build *, Kernel *); /* only if it fits */

/* ---- taps.c: convolutions in the plain layout, one output channel after the other or several
   together. taps_together_likely: whether the latter, if it is possible, is probably the fastest
   algorithm, because there are few terms. */
bool taps_possible(const Step *);
bool taps_together_possible(const Step *);
bool taps_together_likely(const Step *);
bool taps_build(Build *, bool together, Kernel *);

/* Whether move_elements takes elements of this type. */
static inline bool elements_move(int dtype) {
    const int size = dtype_size(dtype);
    return size == 1 || size == 2 || size == 4 || size == 8;
}
/* ---- moves.c: moves elements of 1, 2, 4 or 8 bytes for k = 0 .. n-1 in turn */
/* y[k * ys] = x[k * xs + o[k * os]]. */
void move_elements(int size, char *y, int64_t ys, const char *x, int64_t xs, const int64_t *o,
                   int64_t os, int64_t n);
/* y[k * ys + o[k * os]] = x[k * xs]. */
void put_elements(int size, char *y, int64_t ys, const int64_t *o, int64_t os, const char *x,
                  int64_t xs, int64_t n);

/* y[k * ys] = y[k * ys] combined with u[k * us], by the reduction of a scatter operator
   (scatter.c); `at`: the same for y[k * ys + o[k]], one after the other. NULL: there is none for
   this type. */
typedef void Join(char *y, int64_t ys, const char *u, int64_t us, int64_t n);
typedef void JoinAt(char *y, int64_t ys, const int64_t *o, const char *u, int64_t us, int64_t n);
typedef struct Joins {
    Join *side_by_side;
    JoinAt *at;
} Joins;
Joins scatter_joins(int dtype, int64_t how);

/* ---- radix.c: sorts *order, a permutation of 0 .. n-1, by ascending key[(*order)[i]]. The sort is
   stable. *spare has room for n indices; the two pointers may be exchanged. */
void radix_sort(const uint64_t *key, int64_t n, int64_t **order, int64_t **spare);

/* ---- chosen.c: the elements that a tensor of indices selects: `count` tuples of q indices, one
   for each of q axes of x. Negative indices count from the end. */
typedef struct Chosen {
    int q;                                            /* indices of a tuple */
    int64_t count, dim[STEP_RANK], stride[STEP_RANK]; /* of the axes of x */
    Operand index;                                    /* int64 [count, q], dense */
    void (*fold)(int64_t *at, const int64_t *from, int64_t places, int64_t stride, int64_t n,
                 bool *bad); /* Simd.fold */
    size_t at;               /* an offset into the scratch memory: the offsets into x */
} Chosen;
/* Prepares the selection along q axes of x, from `axis` on, by view `index` of the step. */
bool chosen_new(Build *, const View *x, int axis, int q, int index, int64_t count, Chosen *);
/* Returns the offset into x of each tuple; NULL: an index is out of range. */
const int64_t *chosen_offsets(const Chosen *, void *const slot[], void *work);

/* ---- ranges.c: loop programs that only move elements. False: the program does more. */
Make ranges_build;

/* ---- kernels of operators that replace the reference kernel (loops.c). False, without build_fail:
   the step is not supported, and the reference kernel runs it. */
Make recurrent_build, attention_build, gather_build, gathernd_build, gatherelements_build,
    reverse_build, scatternd_build, scatterelements_build, cachewrite_build, topk_build,
    cumsum_build, cumprod_build, argmax_build, gridsample_build, fft_build, stft_build,
    roialign_build, onehot_build, nms_build, pointwise_build, compress_build, nonzero_build,
    hardmax_build, maxplace_build, unpool_build, unique_build, trees_build, det_build;
/* Those of steps that have no reference kernel, and whether the step is such a one. */
Make rotate_build, col2im_build;
bool rotate_possible(const Step *), col2im_possible(const Device *, const Step *);

/* ---- other libraries */
typedef struct BlasOptions {
    const char *path, *coretype; /* path: NULL for the usual places; coretype: as OPENBLAS_CORETYPE,
                                    NULL for the default of OpenBLAS */
} BlasOptions;
Blas *blas_open(const BlasOptions *, char *why, size_t n);
void blas_close(Blas *);
void blas_identity(const Blas *, char *text, size_t n);
extern const bool dnn_built; /* whether this is built with oneDNN */
Dnn *dnn_open(int threads, char *why, size_t n);
void dnn_close(Dnn *);
void dnn_identity(const Dnn *, char *text, size_t n);
/* Views in their own layout; any layout, with reorders; Winograd, with reorders. */
typedef enum DnnAlgorithm { DNN_PLAIN, DNN_ANY, DNN_WINOGRAD } DnnAlgorithm;
bool dnn_conv_possible(const Device *, const Step *, DnnAlgorithm);
bool dnn_conv_build(Build *, DnnAlgorithm, Kernel *);
int dnn_pool_choices(const Device *, const Step *);
bool dnn_pool_build(Build *, int choice, Kernel *);
int dnn_gemm_choices(const Device *, const Step *);
/* Whether oneDNN has an exact and fast algorithm for a step that has a zero point. */
bool dnn_int8_possible(const Device *, const Step *);
bool dnn_int8_build(Build *, Kernel *);
bool dnn_gemm_build(Build *, int choice, Kernel *);
/* oneDNN's micro-kernel; false where this is built without it. */
bool dnn_ukernel_possible(const Device *, const Step *);
bool dnn_ukernel_build(Build *, int choice, Kernel *);
#endif
