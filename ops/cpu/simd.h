/* simd.h -- the inner loops over runs of elements, once for each instruction set: simd_base.c is
   for any machine, simd_avx2.c, simd_avx512.c and simd_neon.c are the same text (simd_body.h)
   compiled for theirs. The device takes one table when it is opened (processor.h).

   Elements are computed in one of four classes: float (float32 and the 16-bit floats), double,
   int64 (all integers but uint64, and bool), uint64; or in int32, int16, int8 or uint8, where that
   gives the same as int64 (narrow.c). Loads and stores convert between a class and
   an element type as ONNX's Cast does: integers wrap, floats truncate toward zero and saturate (NaN
   gives 0), bool is "is not zero", 16-bit floats round to nearest even. Outputs may be the very
   operand (in place); any other overlap is not allowed. */
#ifndef ISOMER_CPU_SIMD_H
#define ISOMER_CPU_SIMD_H
#include "ops/core/type.h"
#include "ops/backend/isomer_backend.h"

/* X(id, C type, its element type) */
#define COMPUTE_CLASSES(X)             \
    X(CLASS_FLOAT, float, DT_FLOAT)    \
    X(CLASS_DOUBLE, double, DT_DOUBLE) \
    X(CLASS_INT, int64_t, DT_INT64)    \
    X(CLASS_UINT, uint64_t, DT_UINT64) \
    X(CLASS_INT32, int32_t, DT_INT32)  \
    X(CLASS_INT16, int16_t, DT_INT16)  \
    X(CLASS_INT8, int8_t, DT_INT8)     \
    X(CLASS_UINT8, uint8_t, DT_UINT8)
typedef enum ComputeClass {
#define X(id, type, dtype) id,
    COMPUTE_CLASSES(X) CLASS_COUNT
#undef X
} ComputeClass;

/* What else a program can compute, of operators that have no instruction: inverse functions; bits,
   shifts (beyond the width: zeros, to the right the sign) and remainders of the dividend's sign. */
typedef enum FurtherOp {
    F_ASIN = SCALAR_OP_COUNT,
    F_ACOS,
    F_ATAN,
    F_SINH,
    F_ASINH,
    F_ACOSH,
    F_ATANH,
    F_BITS_NOT,
    F_BITS_AND,
    F_BITS_OR,
    F_BITS_XOR,
    F_SHIFT_LEFT,
    F_SHIFT_RIGHT,
    F_REST,
    FURTHER_OP_COUNT
} FurtherOp;
/* Values that an instruction reads. */
static inline int op_values(int op) {
    return op < SCALAR_OP_COUNT ? scalar_values(op) : op < F_BITS_AND ? 1 : 2;
}

enum {
    SIMD_TYPES = DT_BFLOAT16 + 1,
    REDUCE_KINDS = REDUCE_PROD + 1,
    PANEL = 64,
    SIMD_WEAVES = 9,
    SIMD_SIZES = 4, /* of elements: 1, 2, 4, 8 bytes */
    SIMD_SMALL_ROW = 16,
    SIMD_SHORT = 64,
    SIMD_SHORT_ROWS = 16,
    SIMD_BESIDE = 32
};
typedef void Weave(void *y, const void *x, int64_t stride, int64_t n);
typedef void TransposeSmall(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows,
                            int64_t columns);
typedef void Repeat(void *y, int64_t ys, int64_t rows, const void *x, int64_t n);
/* y[j] = the sum of a[t] and b's, t < terms, j < columns; bs: from one row of b, or column, to the
   next. */
typedef void RowByMatrix(float *y, const float *a, const float *b, int64_t bs, int64_t terms,
                         int64_t columns);
typedef void Pass(float *y, const float *x, const float k[6], int64_t n); /* k: its numbers */
/* What a product's kernel does to each result: gate: x *= clip(slope * x + shift, 0, 1); then it is
   clipped. A NaN stays a NaN. */
typedef struct Squash {
    bool gate;
    float slope, shift, low, high;
} Squash;
/* Rows of a by a panel of weights, whose columns are adjacent: y[r, c] = squash(start[c]
   + sum of a[r, run[i] + k] * panel[i * n + k, c] over i < runs, k < n, + add[r, c]). The columns
   are `vectors` times Simd.width; the last vector is written to y + last, and add is read there.
   Meanwhile what begins at `ahead` is fetched into the cache, one line for each term; from
   ahead_end on nothing is. */
typedef struct Sweep {
    const float *a, *add, *start, *panel, *ahead, *ahead_end; /* add: may be NULL */
    float *y;
    int64_t as, adds, ys, last; /* between rows */
    int64_t n;
    int runs;
    const int64_t *run;
    Squash squash;
} Sweep;
/* Windows over single channels: y[p * ys + c] = squash((sum over t of w[cell[t] + c] * x[p * xs +
   tap[t] + c]) * scale[c] + shift[c] + add[p * adds + c]) for p < places, c < channels. y overlaps
   none of the others. */
typedef struct ChannelWindows {
    const float *x, *w, *scale, *shift, *add; /* add: may be NULL */
    float *y;
    int64_t xs, ys, adds, taps, channels, places;
    const int64_t *tap, *cell;
    Squash squash;
} ChannelWindows;
/* Windows of height * width places over some planes: y[r * ys + c] = sum over p < planes, i <
   height, j < width of w[(p * height + i) * width + j] * x[plane[p] + (r + i) * xs + column[j] +
   c], r < rows, c < columns. There are at least TAP_ROWS rows; columns that fill no vector are
   read and written as if they did. */
enum { TAP_ROWS = 4 };
typedef struct TapRows {
    const float *x, *w;
    float *y;
    int64_t xs, ys, rows, columns, planes, height, width;
    const int64_t *plane, *column;
} TapRows;
/* Windows of several channels of the output over the same places: y[k * yc + r * ys + c] =
   squash((sum over t < taps of w[k * ws + t] * x[offset[t] + r * xs + c]) * scale[k] + shift[k])
   for k < channels, r < rows, c < columns. Columns that fill no vector are read and written as if
   they did. y overlaps none of the others. */
typedef struct TapChannels {
    const float *x, *w, *scale, *shift;
    float *y;
    int64_t taps, ws, xs, yc, ys, rows, columns, channels;
    const int64_t *offset;
    Squash squash;
} TapChannels;
/* What Winograd's convolution (winograd.c) makes of a tile: of its values x[point * xs + c] for c <
   channels the places of the output, y[i * ys[0] + j * ys[1] + c] = squash(.. + shift[c] + add[i *
   adds[0] + j * adds[1] + c]) for i < size[0], j < size[1]; there is at least a vector of
   channels. */
/* The points are 0, 3/4, -3/4, 3/2, -3/2 and infinity: all coefficients are numbers that floats
   hold, and sums over hundreds of channels have less than half the error that they have with 1
   and 2. */
#define WINOGRAD_A 0.75
#define WINOGRAD_B 1.5
enum { WINOGRAD_TILE = 4, WINOGRAD_WINDOW = 6, WINOGRAD_POINTS = 36 };
typedef struct WinogradTile {
    const float *x, *shift, *add; /* add: may be NULL */
    float *y;
    int64_t xs, ys[2], adds[2], channels;
    int size[2]; /* at most WINOGRAD_TILE */
    Squash squash;
} WinogradTile;
/* Rows by a panel of PANEL columns of weights that take few values (levels.c): y[r, c] += sum over
   the blocks b of scale[b, c] * (sum over the block's terms k of (level[k, c] - middle) * a[r, k])
   + offset[b, c] * sums[r, b]. */
typedef struct LevelPanel {
    const uint32_t *word;        /* [words, PANEL]: of so many bits each, the first term lowest */
    const float *scale, *offset; /* [blocks, PANEL]; offset: may be NULL, and sums then */
    int64_t words, block;        /* all, and of a block: the last one may have fewer */
    const float *a, *sums;
    float *y;
    int64_t as, ss, ys; /* between rows */
} LevelPanel;
enum { LEVEL_KINDS = 2 /* of 4 bits and of 8 */, LEVEL_BESIDE = 5 };
/* One pass over radix * m complex numbers (simd_fft.h), real parts and, `im` further, imaginary
   ones; s numbers each lie side by side. root: cosine and sine of roots of unity, every step-th. */
typedef struct FftPass {
    int64_t radix, m, s, im, step;
    const double *root;
} FftPass;
typedef void FftRun(const FftPass *, double *y, const double *x);
/* Of n columns, the sum or product of all elements down to each place, or, exclusive, before it:
   y[j*ys + c*yn] of x[i*xs + c*xn], i <= j < length; of floats in doubles. y may be the very x. */
typedef struct Cumulation {
    void *y;
    const void *x;
    int64_t length, n, ys, xs, yn, xn;
    bool exclusive;
} Cumulation;
typedef void CumulationLoop(const Cumulation *);
typedef struct RowNumbers {
    float k[4];
} RowNumbers;
typedef struct Simd {
    const char *name;
    int width; /* floats of a register */
    /* y[i] = op(a[i], b[i]); b is not read by unary operations. NULL for C_ACC, C_VIEW, C_CONST,
       C_WHERE, C_AS, and what a class does not have. */
    void (*op[CLASS_COUNT][FURTHER_OP_COUNT])(void *y, const void *a, const void *b, int64_t n);
    /* y[i] = a[i]^3, of CLASS_FLOAT; b is not read. */
    void (*cube)(void *y, const void *a, const void *b, int64_t n);
    /* y[i] = c[i] != 0 ? a[i] : b[i] */
    void (*where[CLASS_COUNT])(void *y, const void *c, const void *a, const void *b, int64_t n);
    /* NULL: no numeric type. */
    void (*load[CLASS_COUNT][SIMD_TYPES])(void *y, const void *x, int64_t stride, int64_t n);
    void (*store[CLASS_COUNT][SIMD_TYPES])(void *y, int64_t stride, const void *x, int64_t n);
    /* y[i] = a[i] stored in an element of the type and loaded again; b is not read. */
    void (*as[CLASS_COUNT][SIMD_TYPES])(void *y, const void *a, const void *b, int64_t n);
    /* acc[i] = acc[i] op x[i*stride]; sums and products of floats are kept in doubles (see
       class_wide). Mean sums. Bytes have maxima and minima only. */
    void (*merge[CLASS_COUNT][REDUCE_KINDS])(void *acc, const void *x, int64_t stride, int64_t n);
    /* Of rows, xs apart: acc[i] = acc[i] op x[i] op x[xs + i] op .., in this order. */
    void (*merge_rows[CLASS_COUNT][REDUCE_KINDS])(void *acc, const void *x, int64_t xs,
                                                  int64_t rows, int64_t n);
    /* Sums of floats that stay floats. */
    void (*add_floats)(void *acc, const void *x, int64_t stride, int64_t n);
    /* Likewise all of x[0..n-1] into the one acc[0]. */
    void (*total[CLASS_COUNT][REDUCE_KINDS])(void *acc, const void *x, int64_t n);
    /* Where x[i] is greater (least: less; last: or equal), it becomes best[i],
       and `at` where[i]. */
    void (*better[CLASS_COUNT])(void *best, int32_t *where, const void *x, int32_t at, int64_t n,
                                bool last, bool least);
    /* The first place of *value in x[0..n-1], or the last one; -1: none. */
    int64_t (*place[CLASS_COUNT])(const void *x, const void *value, int64_t n, bool last);
    /* Keys: integers of the elements' size, greater where an element comes earlier among the
       greatest ones, or else the least; the key may be the very x. int32 keys, int64 ones: how many
       of them are at least so great; their places, ascending, at[n-1] the last that is written; how
       many come before each, the first of equal ones first. */
    void (*order[CLASS_INT32])(void *key, const void *x, bool largest, int64_t n);
    int64_t (*count_from[2])(const void *key, int64_t least, int64_t n);
    int64_t (*places_from[2])(int32_t *at, const void *key, int64_t least, int64_t n);
    void (*rank[2])(int32_t *rank, const void *key, int64_t n);
    /* y[i] += w[0] * x[i*stride]. */
    void (*scale_add[CLASS_COUNT])(void *y, const void *x, int64_t stride, const void *w,
                                   int64_t n);
    /* y[i] = (clamp(round(x[i] / k[0]) + k[1], k[2], k[3]) - k[4]) * k[5]; NaN
       is clamped to k[2]. */
    Pass *requantize;
    /* y[i] = clamp(round(x[i] / scale) + zero, low, high), modulo 256; NaN is clamped to low. */
    void (*to_bytes)(uint8_t *y, const float *x, float scale, float zero, float low, float high,
                     int64_t n);
    Pass *line;                  /* y[i] = ((x[i] - k[0]) * k[1]) * k[2] + k[3], each rounded */
    Pass *quantize, *dequantize; /* y[i] = round(x[i] / k[0]) + k[1]; y[i] = (x[i] - k[0]) * k[1] */
    /* Of x = x[i]: y[i] = k[0] * x * sigmoid(k[1] * x + k[2] * x^3), and
       y[i] = k[0] * x * (1 + erf(k[1] * x)). */
    Pass *gate_sigmoid, *gate_erf;
    void (*taps)(float *y, const float *x, const int64_t offset[], const float w[], int64_t taps,
                 int64_t n);                   /* y[i] = sum of w[t]*x[offset[t]+i] */
    RowByMatrix *row_by_rows, *row_by_columns; /* b[t * bs + j]; b[j * bs + t] */
    /* y[i] = the greatest of start, w[t]*x[offset[t]+i] and least[t]*x[offset[t]+i]. */
    void (*tap_peaks)(float *y, const float *x, const int64_t offset[], const float w[],
                      const float least[], int64_t taps, float start, int64_t n);
    void (*tap_rows)(const TapRows *);
    void (*tap_channels)(const TapChannels *);
    /* y[i] = sum over t of w[t * n + i] * x[place[t * n + i]], weights of 0 left out; CLASS_FLOAT,
       CLASS_DOUBLE */
    void (*blend[2])(void *y, const void *x, const int32_t *place, const void *w, int64_t taps,
                     int64_t n);
    /* y[p * ys + c] = sum over t < taps of w[p * taps + t] * x[offset[p * taps + t] + c], likewise;
       there is at least a vector of c < n. */
    void (*blend_pixels)(float *y, int64_t ys, const float *x, const int64_t offset[],
                         const float w[], int64_t taps, int64_t places, int64_t n);
    void (*softmax[2])(void *y, const void *x, int64_t n); /* CLASS_FLOAT, CLASS_DOUBLE */
    /* Of so many rows of at most SIMD_SHORT elements, one after the other. */
    void (*softmax_short[2])(void *y, const void *x, int64_t columns, int64_t rows);
    /* Of SIMD_BESIDE columns: y[r*ys + c] of x[r*xs + c], r < rows. */
    void (*softmax_columns[2])(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows);
    /* Rows of n floats, one after the other, with the numbers k of each (simd_rows.h). To acc[r] is
       added: the sum of x[i], of (x[i] - k[0])^2, of y[i] = e^(x[i] - k[0]), y NULL: they are not
       kept; row_peaks: what is greater is put there. y[i] = (x[i] - k[0]) * k[1] * k[2] * scale[i]
       + shift[i], where either may be NULL; k[3] is added if both are. */
    void (*row_sums)(double *acc, const float *x, int64_t n, int64_t rows);
    void (*row_peaks)(float *acc, const float *x, int64_t n, int64_t rows);
    void (*row_squares)(double *acc, const float *x, const RowNumbers *k, int64_t n, int64_t rows);
    void (*row_exps)(float *y, double *acc, const float *x, const RowNumbers *k, int64_t n,
                     int64_t rows);
    void (*row_scaled)(float *y, const float *x, const RowNumbers *k, const float *scale,
                       const float *shift, int64_t n, int64_t rows);
    /* y[r, 0..PANEL-1] = start + a[r, 0..n-1] by p[n, PANEL]; ys, as: between rows. */
    void (*panel)(float *y, int64_t ys, const float *start, const float *a, int64_t as,
                  int64_t rows, const float *p, int64_t n);
    /* What LevelPanel.a holds, of n terms, whole words, where they are: each is multiplied by a
       power of two that depends on its place in half a word. */
    void (*level_terms)(float *x, int bits, int64_t n);
    void (*levels[LEVEL_KINDS])(const LevelPanel *, int64_t rows);
    /* Rows of whole numbers below 2^23, each as a sum of three signed bytes times 1, 2^8 and 2^16:
       level_bytes makes them of a[k] * each; those times 2^(8 * i) begin at to + i * plane, and
       sum[i] is their sum. */
    void (*level_bytes)(int8_t *to, int64_t plane, int32_t sum[3], const float *a, float each,
                        int64_t n);
    /* The same as levels, of 8 bits and one block, by such rows: a points to planes of whole words,
       sums to LEVEL_BESIDE numbers: what a row is multiplied by, its sum, and where the sums of the
       planes begin (integers). NULL: there is no instruction for that; processor_adds_four says
       whether the processor has it. */
    void (*levels_by_bytes)(const LevelPanel *, int64_t rows);
    /* Of a matrix of n columns, each of `stride` places, of which n hold numbers and the others 0;
       stride is a multiple of 8, and factor has as many places. Both are written. */
    double (*determinant)(double *matrix, double *factor, int64_t n, int64_t stride);
    CumulationLoop *cumulate[2][SIMD_TYPES]; /* sums, products; NULL: no numeric type, or bool */
    int vectors;                             /* registers in a row of a Sweep's panel, at most */
    const float *(*sweep)(const Sweep *, int vectors, int64_t rows); /* how far it got ahead */
    void (*windows)(const ChannelWindows *);
    /* y[point * ys + c]: the values of a tile of which cell[6 * i + j] is place i, j of the image;
       there is at least a vector of channels. */
    void (*winograd_enter)(float *y, int64_t ys, const float *const cell[WINOGRAD_POINTS],
                           int64_t channels);
    void (*winograd_leave)(const WinogradTile *);
    /* One step of n states from the sums of their gates (simd_recurrent.h). */
    void (*lstm)(float *h, float *cell, const float *x, const float *g, const float *peephole,
                 bool coupled, int64_t n);
    void (*gru_reset)(float *y, const float *h, const float *x, const float *g, int64_t n);
    void (*gru)(float *h, const float *x, const float *g, bool linear_first, int64_t n);
    void (*rnn)(float *h, const float *x, const float *g, bool relu, int64_t n);
    /* Indices that count from the end if they are negative become offsets, perhaps where they are;
     *bad: one of them is no place of so many. */
    void (*fold)(int64_t *at, const int64_t *from, int64_t places, int64_t stride, int64_t n,
                 bool *bad);
    FftRun *fft_pass, *fft_split, *fft_join, *fft_scale;
    /* y[i*k + j] = x[j*stride + i], i < n, j < k, and y[j*stride + i] = x[i*k + j], by the
       logarithm of an element's bytes (1, 2 or 4) and k; NULL for most k. */
    Weave *weave[SIMD_SIZES][SIMD_WEAVES], *unweave[SIMD_SIZES][SIMD_WEAVES];
    /* y[r*ys + i*k + j] = x[i], r < rows, i < n, j < k, by the logarithm of an element's bytes and
       k; NULL for most k. */
    Repeat *repeat[SIMD_SIZES][SIMD_WEAVES];
    /* Rows of so many bytes, at y + r*ys and x + r*xs, in bytes too. */
    void (*move_rows)(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows, int64_t bytes);
    /* y[c*ys + r] = x[r*xs + c] of 4 bytes, r < rows, c < columns. */
    void (*transpose)(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs, int64_t rows,
                      int64_t columns);
    /* The same of 1 and of 2 bytes: at least 8 rows of SIMD_SMALL_ROW bytes. */
    TransposeSmall *transpose_small[2];
} Simd;
extern const Simd simd_base;                         /* for any machine */
extern const Simd simd_avx2, simd_avx512, simd_neon; /* where the processor has them */

/* The columns of a Sweep's panel: from `first` on, so many vectors of them. The last vector begins
   at first + last: where columns are left that are no whole vector, it reaches back over the one
   before it, or, if it is the only one, begins before them. */
typedef struct SweepColumns {
    int64_t first, last;
    int vectors;
} SweepColumns;
/* Of n columns in all those of the panel that begins at `from`. */
static inline SweepColumns sweep_columns(const Simd *simd, int64_t n, int64_t from) {
    const int64_t width = simd->width, whole = width * simd->vectors, left = n - from;
    SweepColumns c = {.first = from, .vectors = simd->vectors};
    if (left < whole) c.vectors = (int)((left + width - 1) / width);
    c.last = (left < whole ? left : whole) - width;
    if (c.last < 0) c.first += c.last, c.last = 0;
    return c;
}
/* The first column of vector k. */
static inline int64_t sweep_vector(const SweepColumns *c, int k, int width) {
    return c->first + (k < c->vectors - 1 ? k * width : c->last);
}

/* The class that computes a reduction of `c` by `kind`: doubles for sums and products of floats,
   int64 for those of the narrow classes. */
static inline ComputeClass class_wide(ComputeClass c, ReduceKind kind) {
    if (kind == REDUCE_MAX || kind == REDUCE_MIN) return c;
    return c == CLASS_FLOAT ? CLASS_DOUBLE : c > CLASS_UINT ? CLASS_INT : c;
}
#endif
