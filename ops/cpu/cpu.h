/* cpu.h -- what the files of the CPU back end share: the device, the making of a kernel, operands,
   tails.

   Everything a kernel needs is made once, in its arena, by a Build; running only reads it. Slot -1
   stands for the kernel's own scratch, so that every intermediate result is a View like any other:
   "pack this operand", "compute there, then finish into y" are copies and element-wise programs
   over views. */
#ifndef ISOMER_CPU_H
#define ISOMER_CPU_H
#include "ops/base/arena.h"
#include "ops/cpu/simd.h"
#include "ops/backend/view.h"

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
    bool turns;    /* parts take turns on one thread */
    int64_t grain; /* nanoseconds, guessed, below which no part of a step is worth a thread */
    Blas *blas;    /* NULL: no OpenBLAS */
    Dnn *dnn;      /* NULL: no oneDNN */
    bool timing;
    double start; /* of the first run since the last wait, nanoseconds of the device's clock */
    Shared *shared[SHARED_LISTS];
    Chunk *chunks; /* of memory */
};
typedef struct Share { /* of what a kernel holds */
    struct Share *next;
    void *bytes;
} Share;
struct Kernel {
    Device *device;
    Arena *arena; /* holds the kernel itself */
    int (*run)(const Kernel *, void *const slot[], void *work);
    void (*forget)(Kernel *); /* what is not in the arena; may be NULL */
    void *self;
    uint64_t packed; /* by view: it has a packed copy and does not read the view */
    Share *shares;
};

typedef struct Build {
    Device *device;
    Arena *arena, *scratch; /* scratch: freed when it is made */
    Kernel *kernel;
    bool passing;     /* known operands are packed here for another library, which packs them anew:
                         the copy is not kept */
    const Step *step; /* the caller's, gone afterwards */
    const void *const *weights;
    size_t workspace;
    int part; /* of the step, where it is cut (split.c) */
    char *why;
    size_t nwhy;
} Build;
bool build_fail(Build *, const char *why); /* false */
/* A dense view in the scratch. */
View build_scratch(Build *, int dtype, int rank, const int64_t dim[]);
/* Offset of so many bytes in the scratch, 64-byte aligned. */
size_t build_bytes(Build *, size_t bytes);

/* ---- pages.c: memory, 64-byte aligned, not zeroed; NULL: there is none. It is freed before the
   device is closed; NULL is allowed. */
void *pages_new(Device *, size_t bytes);
void pages_drop(Device *, void *bytes);

/* ---- shared.c: bytes that never change, once per device, by a digest of what they were made of;
   NULL: not there, no memory. 64-byte aligned. */
void *shared_find(Device *, const char key[33]);
void *shared_new(Device *, const char key[33], size_t bytes); /* to be filled at once */
void shared_drop(Device *, void *);
/* The digest of all floats in memory from the lowest to the highest that the view reads; known: the
   view's first element. Returns how many of these floats precede it. */
int64_t shared_digest(const View *, const float *known, char key[33]);
void *cpu_hold(Device *, const void *bytes, size_t n); /* Backend.hold */
/* A new entry of Kernel.shares; the block put into its `bytes` is dropped with the kernel. */
Share *build_share(Build *);
void kernel_drop(Kernel *);   /* drops all its shares */
void kernel_forget(Kernel *); /* frees a kernel within another, but not the arena that they share */

/* ---- operand.c */
bool dtype_numeric(int dtype);
/* Bytes of an element; 0: a type whose elements are not whole bytes. */
int dtype_size(int dtype);
static inline bool dtype_is_byte(int dtype) { return dtype == DT_INT8 || dtype == DT_UINT8; }
ComputeClass view_class(const View *view, int n); /* the widest: double, float, uint64, int64 */
int class_dtype(ComputeClass);
bool view_is_dense(const View *);
bool view_is_packed(const View *); /* dense when its axes are put into some order */
/* Axis 1 has stride 1, and neighbouring places are further apart. */
bool view_is_channels_last(const View *);
static inline void *view_at(const View *v, void *const slot[], void *work) {
    return (char *)(v->slot < 0 ? work : slot[v->slot]) + v->offset * dtype_size(v->dtype);
}
/* Loops over all elements of view[0] and of n-1 others of its sizes: axes of length 1 dropped, the
   rest in the order of view[0]'s strides, greatest first, and joined where every view allows it.
   stride[v*STEP_RANK + axis], in elements. count is 0 if there is nothing to do. */
typedef struct Nest {
    int rank, n;
    int64_t count, dim[STEP_RANK], *stride;
} Nest;
Nest nest_new(Arena *, const View *const view[], int n);
/* Gives a nest without axes one axis of size 1. */
void nest_with_axis(Nest *);
/* Steps the axes before the last `inner`; false: all done. */
bool nest_next(const Nest *, int inner, int64_t index[], int64_t offset[]);
/* Sets index and offset to iteration `number`, from 0, of those that nest_next goes through. */
void nest_goto(const Nest *, int inner, int64_t number, int64_t index[], int64_t offset[]);

/* ---- vector.c: element-wise programs */
typedef struct Vector Vector;
/* view[0] is written; `acc` is what C_ACC reads, NULL where it does not occur. Returns NULL if it
   cannot be built; the build's error says why. */
Vector *vector_new(Build *, const View *view, int nview, const View *acc, const Scalar *code,
                   int ncode);
void vector_run(const Vector *, void *const slot[], void *work);
/* The program with known numbers as constants and each view read once. */
void program_read_once(const Build *, const View *view, const Scalar *code, int ncode,
                       Scalar own[]);

/* ---- narrow.c: the class for a well-formed program of CLASS_INT, whose instructions may be
   FurtherOps; view[0] is its output. */
ComputeClass narrow_class(const Simd *, const View *view, const View *acc, const Scalar *code,
                          int ncode);

/* ---- quantize.c: QuantizeLinear to 8 bits, where the step's program, as program_read_once leaves
   it, is one; at most so many parts at a time. false: it is another. */
bool quantize_build(Build *, const Scalar *code, int ncode, int parts, Kernel *);

/* Repeats elements of so many bytes k times each; NULL: there is no such loop. */
static inline Repeat *repeat_of(const Simd *simd, int size, int64_t k) {
    int log = 0;
    while (1 << log < size) log++;
    return k < SIMD_WEAVES && log < SIMD_SIZES ? simd->repeat[log][k] : NULL;
}

/* ---- copy.c */
typedef struct Copy Copy;
/* Converts where the types differ. NULL: it cannot be built. */
Copy *copy_new(Build *, const View *y, const View *x);
void copy_run(const Copy *, void *const slot[], void *work);

/* What a kernel reads: a view as it is, or a dense copy of another type made at each run, or once
   if the contents are known. */
typedef struct Operand {
    View view;
    Copy *copy;
    const void *constant;
} Operand;
Operand operand_as_is(Build *, int index);
/* Copied to a dense view of this type. */
bool operand_pack(Build *, int index, int dtype, Operand *);
/* The same of another view of view[index]'s slot. */
bool operand_pack_as(Build *, int index, const View *, int dtype, Operand *);
/* Packed, with the axes in the order in which they lie. */
bool operand_packed(Build *, int index, const View *, int dtype, Operand *);
/* As it is if it has the type, else packed. */
bool operand_typed(Build *, int index, int dtype, Operand *);
static inline const void *operand_at(const Operand *o, void *const slot[], void *work) {
    if (o->constant) return o->constant;
    if (o->copy) copy_run(o->copy, slot, work);
    return view_at(&o->view, slot, work);
}
/* The views of a gemm step with fewer axes. Batch axes along which b does not change become rows;
   if all do, the views have rank 2. Else those that remain become one axis, and the views have rank
   3, with size 1 there for a factor that all batches share. False: the axes cannot be joined, or
   each matrix a is a single row, where OpenBLAS is faster. */
bool gemm_flatten(const Step *, View out[3]);

/* Where a kernel that computes in `dtype` writes, and the epilogue that then brings it into
   view[0]. */
typedef struct Tail {
    View into;
    Vector *finish;
} Tail;
bool epilogue_reads_output(const Step *); /* then it must be read before the kernel writes there */
/* What the kernel can write: any strides, a packed view, a dense one. */
typedef enum TailShape { TAIL_ANY, TAIL_PACKED, TAIL_DENSE } TailShape;
bool tail_new(Build *, int dtype, TailShape, Tail *);
/* The same without the epilogue, which the kernel does itself. */
bool tail_plain(Build *, int dtype, TailShape, Tail *);
/* Of a kernel that writes a packed view of the output's sizes whose axes lie as those of `like`. */
bool tail_like(Build *, int dtype, const View *like, Tail *);
static inline void tail_run(const Tail *t, void *const slot[], void *work) {
    if (t->finish) vector_run(t->finish, slot, work);
}

/* ---- affine.c: the epilogue's first part as scale[c]*acc + shift[c], c the index along `axis`,
   where that is known now (Build.weights); the rest is a program again. scale NULL: 1. False: there
   is no such part. */
enum { AFFINE_CODE = 64 };
typedef struct AffinePart {
    const float *scale, *shift;
    int ncode;
    Scalar code[AFFINE_CODE];
} AffinePart;
bool affine_split(Build *, int axis, AffinePart *);

/* ---- fused.c: an epilogue as [bias along an axis,] [activation,] [line alpha*x + beta] */
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
    float alpha, beta; /* clip: its bounds; hardswish: x * clip(alpha*x + beta, 0, 1) */
} Act;
typedef struct Fused {
    bool whole; /* the epilogue is this and nothing else */
    int bias;   /* its view; 0: none */
    int nact;
    Act act[2];
} Fused;
Fused fused_match(const Build *, const Step *, int axis);
/* Value i as activations (Fused.act) of value *x. */
bool fused_activation(const Build *, const Step *, int i, int *x, Fused *);

/* ---- joined.c: values of a program of floats that one kernel (Simd.requantize and its likes)
   computes from value x */
enum { JOINED_MOST = 16 };
typedef struct Joined {
    int x, ninside, inside[JOINED_MOST]; /* the values between */
    float k[6];                          /* the kernel's numbers */
} Joined;
bool joined_enter(Joined *, int i); /* i lies inside; false: there is no room */
/* Nothing but value i and what lies inside reads what lies inside. */
bool joined_alone(const Scalar code[], int ncode, int i, const Joined *);
/* Value i as Simd.gate_sigmoid, or, by_erf, Simd.gate_erf, of value x. False: it is neither, or
   what lies between is read elsewhere too. */
bool activation_match(const Scalar code[], int ncode, int i, bool *by_erf, Joined *);

/* ---- ending.c: an epilogue as our own kernels compute it */
typedef struct Ending {
    const float *scale, *shift; /* of the weights and of each sum, by channel; NULL: 1, 0 */
    int add;                    /* a view that is added then; 0: none */
    Squash squash;
    Pass *pass; /* over what has been written, with these numbers; NULL: none */
    float k[6];
    Tail tail; /* where the kernel writes, and what is left to do then */
} Ending;
/* What is known lies along `axis` of y; views to be added have stride 1 along axis `beside`; < 0:
   none is. */
bool ending_new(Build *, int axis, int beside, Ending *);
/* The list, or as many of this number where it is NULL. */
const float *ending_list(Build *, const float *list, float otherwise, int64_t n);

/* ---- requantize.c: value i as Simd.requantize of value x: a number that is quantized to 8 or 16
   bits and dequantized again. False as above. */
bool requantize_match(const Scalar code[], int ncode, int i, Joined *);
/* Value i as Simd.quantize, or Simd.dequantize, of value x. */
bool quotient_match(const Scalar code[], int ncode, int i, Joined *);
bool difference_match(const Scalar code[], int ncode, int i, Joined *);
/* Its first half: value i as round(x / k[0]) + k[1] of value x; k[0] is 1 without a division. */
bool quantize_match(const Scalar code[], int i, Joined *);

/* ---- reduce.c: accumulators of a class; mean is a sum, then divided */
void reduce_start(void *acc, ComputeClass wide, ReduceKind, int64_t n);
void reduce_divide(void *acc, ComputeClass wide, int64_t count, int64_t n);

/* ---- one maker for each kind of step */
typedef bool Make(Build *, int choice, Kernel *); /* sets run, forget, self */
typedef struct Maker {
    int (*choices)(const Device *, const Step *);
    Make *build;
    bool rows; /* split_rows cuts its steps; else it does so itself */
} Maker;
/* An element-wise program that may have FurtherOps; view[0] is the output. */
bool program_build(Build *, const View *view, int nview, const Scalar *code, int ncode, Kernel *);
extern const Maker gemm_maker, conv_maker, pool_maker, vector_maker, fill_maker, reduce_maker,
    copy_maker, softmax_maker, rows_maker, sample_maker, loop_maker, op_maker,
    int8_maker; /* of the steps that have a zero point */
/* Whether input and output have one to STEP_SPATIAL spatial axes each, equally many. */
static inline bool step_spatial(const Step *s) {
    return s->view[1].rank >= 3 && s->view[1].rank <= 2 + STEP_SPATIAL &&
           s->view[0].rank == s->view[1].rank;
}
/* The first spatial axis longer than 1: parts of it lie together where channels are last. */
static inline int view_spatial_axis(const View *y) {
    int axis = 2;
    while (axis < y->rank - 1 && y->dim[axis] == 1) axis++;
    return axis;
}
/* Whether the sizes and parameters of the step go together. */
bool conv_fits(const Step *);
bool gemm_fits(const Step *);

/* ---- window.c: the windows of a convolution or pool along three spatial axes. Those that the step
   lacks come first and have length 1. */
typedef struct Window {
    int64_t in[STEP_SPATIAL], out[STEP_SPATIAL], kernel[STEP_SPATIAL], stride[STEP_SPATIAL],
        begin[STEP_SPATIAL], end[STEP_SPATIAL], dilation[STEP_SPATIAL];
    int64_t xs[STEP_SPATIAL], ys[STEP_SPATIAL]; /* strides in memory */
} Window;
/* y and x: those of the step, or where they lie otherwise. */
Window window_new(const Step *, const View *y, const View *x);
/* The strides of w, which has the axes of the step, along these three axes. */
void window_strides(const View *w, int64_t stride[STEP_SPATIAL]);
/* The input index under output o and kernel cell k; false: outside. */
static inline bool window_at(const Window *g, int a, int64_t o, int64_t k, int64_t *i) {
    *i = o * g->stride[a] - g->begin[a] + k * g->dilation[a];
    return *i >= 0 && *i < g->in[a];
}
/* S_POOL: by how many cells the mean divides each output of an axis, in the arena of the build:
   those of the input or, where pads count, of the padded input. */
int64_t *window_cells(Build *, const Window *, int axis);
/* Stores bytes as they are, as Simd.store does other types. */
void store_bytes(void *y, int64_t stride, const void *x, int64_t n);

/* ---- team.c */
/* This many threads, the caller among them, at most TEAM_MOST; NULL: they cannot be had. turns: the
   caller runs all parts, one after the other. */
Team *team_new(int threads, bool turns, char *why, size_t n);
void team_free(Team *);
typedef void TeamPart(void *user, int part);
/* part(user, k) once for each k below n, by any thread; back when all is done. By one thread at a
   time. One part is the caller's; then there need be no team. */
void team_run(Team *, int n, TeamPart *, void *user);
double thread_nanoseconds(void); /* of the calling thread's processor time */
/* How much less processor time the caller would have needed, had its parts not taken turns, so far,
   in nanoseconds. */
double team_saved(const Team *);

/* ---- split.c */
typedef struct Cut {
    int axis;     /* of the output */
    int64_t unit; /* parts begin at multiples of it */
    bool compare; /* test at compile time whether the parts give the same bytes as the whole */
} Cut;
/* How many parts to cut this step into, so that each is worth a thread; 1: it is not cut. */
int split_parts(const Build *);
/* The same for work of so many nanoseconds that can be cut into `most` parts; at least 1. */
int count_parts(const Build *, int64_t most, int64_t nanoseconds);
/* Makes kernels by `make` for parts of the step, where that pays and one of the cuts (the better
   ones first) allows it; else one for the whole. */
bool split_build(Build *, Make *make, int choice, const Cut[], int n, Kernel *);
bool split_rows(Build *, Make *make, int choice, Kernel *);

/* ---- panels.c: weights must be known when it is made */
bool panels_conv_possible(const Device *, const Step *);
bool panels_conv_build(Build *, Kernel *);
bool panels_gemm_possible(const Device *, const Step *);
bool panels_gemm_build(Build *, int choice, Kernel *);

/* ---- levels.c: known weights [terms, columns] that take few values, in 4 or 8 bits each */
enum { LEVEL_ROWS = 16 }; /* of a product, at most */
typedef struct Levels {
    int bits;
    bool shifted;                                         /* there are offsets */
    int64_t terms, columns, panels, words, block, blocks; /* block: terms of it */
    const float *packed;
} Levels;
/* Whether it pays for so many rows and weights. */
bool levels_worth(int64_t rows, int64_t weights);
/* The view is of slot `index`; false, and no reason told: they are not known, or others. */
bool levels_pack(Build *, int index, const View *, Levels *);
/* A row as the panels read it takes so many floats; levels_enter makes it of one whose elements are
   `stride` apart. */
int64_t levels_row(const Levels *);
void levels_enter(const Simd *, const Levels *, float *to, const float *a, int64_t stride);
/* As bytes, of a row that has no numbers far greater than most, its elements adjacent; false, and
   nothing is done: not for these levels, this row or this processor. */
bool levels_enter_bytes(const Simd *, const Levels *, float *to, const float *a);
/* y[r, 0..PANEL-1] += n rows, all as bytes or none, by panel k. */
void levels_add(const Simd *, const Levels *, int64_t k, float *y, int64_t ys, const float *rows,
                int64_t n, bool bytes);
bool levels_gemm_build(Build *, Kernel *);

/* ---- batches.c: products of factors that are not known */
bool batches_possible(const Device *, const Step *);
bool batches_build(Build *, int choice, Kernel *);

/* ---- onerow.c: single rows by matrices that are not known */
bool onerow_possible(const Step *);
bool onerow_build(Build *, int choice, Kernel *);

/* ---- winograd.c: known weights. winograd_like: 3x3 windows at every place of an image, one group,
   and sums that need not be exact. */
bool winograd_like(const Step *);
bool winograd_possible(const Device *, const Step *);
bool winograd_build(Build *, Kernel *);

/* ---- depthwise.c */
bool depthwise_possible(const Step *);
bool depthwise_build(Build *, Kernel *);

/* ---- direct.c */
bool direct_conv_build(Build *, Kernel *);

/* ---- planes.c: pooling, of any layout */
enum { PLANES_FEW = 64 }; /* cells of a window: their floats are added as such, not as doubles */
bool planes_build(Build *, Kernel *);

/* ---- taps.c: one channel of the output after the other, or several together; whether the latter,
   where it is possible, is probably the fastest, because there are few terms. */
bool taps_possible(const Step *);
bool taps_together_possible(const Step *);
bool taps_together_likely(const Step *);
bool taps_build(Build *, bool together, Kernel *);

/* move_elements takes elements of this type. */
static inline bool elements_move(int dtype) {
    const int size = dtype_size(dtype);
    return size == 1 || size == 2 || size == 4 || size == 8;
}
/* ---- moves.c: elements of 1, 2, 4 or 8 bytes, for k below n, one after another */
/* y[k * ys] = x[k * xs + o[k * os]]. */
void move_elements(int size, char *y, int64_t ys, const char *x, int64_t xs, const int64_t *o,
                   int64_t os, int64_t n);
/* y[k * ys + o[k * os]] = x[k * xs]. */
void put_elements(int size, char *y, int64_t ys, const int64_t *o, int64_t os, const char *x,
                  int64_t xs, int64_t n);

/* y[k * ys] = y[k * ys] combined with u[k * us] by a reduction of scatter operators (scatter.c);
   NULL: not for this type. */
typedef void Join(char *y, int64_t ys, const char *u, int64_t us, int64_t n);
Join *scatter_join(int dtype, int64_t how);

/* ---- radix.c: order lists places in key, n of them, and is sorted by the keys there, the least
   first; it and spare, which has as many, may change places. Stable; the keys lie below n. */
void radix_sort(const uint64_t *key, int64_t n, int64_t **order, int64_t **spare);

/* ---- chosen.c: the elements that a tensor of indices selects: `count` tuples of q indices, each
   along an axis of x; negative ones count from the end. */
typedef struct Chosen {
    int q;
    int64_t count, dim[STEP_RANK], stride[STEP_RANK]; /* of the axes of x */
    Operand index;                                    /* int64 [count, q], dense */
    void (*fold)(int64_t *at, const int64_t *from, int64_t places, int64_t stride, int64_t n,
                 bool *bad); /* of Simd */
    size_t at;               /* offset in the scratch, of the offsets into x */
} Chosen;
/* Selects along q axes of x, from `axis` on, by the indices in view `index` of the step. */
bool chosen_new(Build *, const View *x, int axis, int q, int index, int64_t count, Chosen *);
/* The offset into x that each tuple gives; NULL: an index is out of range. */
const int64_t *chosen_offsets(const Chosen *, void *const slot[], void *work);

/* ---- ranges.c: loop programs that only move elements; false: this one does more */
Make ranges_build;

/* ---- operators with a kernel of their own here; false, and no reason told: not for this step,
   which the reference kernel runs (loops.c) */
Make recurrent_build, attention_build, gather_build, gathernd_build, gatherelements_build,
    reverse_build, scatternd_build, scatterelements_build, cachewrite_build, topk_build,
    cumsum_build, cumprod_build, argmax_build, gridsample_build, fft_build, stft_build,
    roialign_build, onehot_build, nms_build, pointwise_build, compress_build, nonzero_build,
    hardmax_build, maxplace_build, unpool_build, unique_build, trees_build, det_build;

/* ---- third parties */
typedef struct BlasOptions {
    const char *path, *coretype; /* path: NULL for the usual places; coretype: NULL for what fits
                                    the machine, else as OPENBLAS_CORETYPE */
} BlasOptions;
Blas *blas_open(const BlasOptions *, char *why, size_t n);
void blas_close(Blas *);
void blas_identity(const Blas *, char *text, size_t n);
extern const bool dnn_built; /* this is built with oneDNN */
Dnn *dnn_open(int threads, char *why, size_t n);
void dnn_close(Dnn *);
void dnn_identity(const Dnn *, char *text, size_t n);
/* Views as they lie; any layout, with reorders; Winograd, likewise. */
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
/* By oneDNN's micro-kernel; false where this is built without it. */
bool dnn_ukernel_possible(const Device *, const Step *);
bool dnn_ukernel_build(Build *, int choice, Kernel *);
#endif
