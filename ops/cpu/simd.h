/* simd.h -- the table of inner loops over runs of elements (Simd), of which there is one for each
   instruction set. simd_base.c is for any machine; simd_avx2.c, simd_avx512.c and simd_neon.c are
   the same code (simd_body.h) compiled for other instruction sets. The device takes one table when
   it is opened (processor.h).

   Elements are computed in one of four classes: float (float32 and the 16-bit floats), double,
   int64 (bool and all integers except uint64), and uint64. Four narrow classes, int32, int16, int8
   and uint8, are used where they give the same results as int64 (narrow.c). Loads and stores
   convert between a class and an element type as ONNX's Cast does: integers wrap, floats truncate
   toward zero and saturate (NaN gives 0), bool is "is not zero", 16-bit floats round to nearest
   even.

   All lengths, strides and distances are in elements unless stated otherwise. An output may be
   identical to an operand (in place); any other overlap is not allowed. */
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

/* Further instructions of programs, for operators that have none in ScalarOp: hyperbolic and
   inverse functions; bit operations and shifts (beyond the width: zeros, and for right shifts the
   sign); F_REST, the remainder with the sign of the dividend. */
typedef enum FurtherOp {
    F_ASIN = SCALAR_OP_COUNT,
    F_ACOS,
    F_ATAN,
    F_SINH,
    F_COSH,
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
/* The number of values that an instruction reads. */
static inline int op_values(int op) {
    return op < SCALAR_OP_COUNT ? scalar_values(op) : op < F_BITS_AND ? 1 : 2;
}
/* Whether an instruction costs as much as several sums or products. */
static inline int op_is_function(int op) {
    return op == C_POW || op == C_MOD || op == C_EXP || op == C_LOG ||
           (op >= C_SIGMOID && op <= C_COS) || op >= SCALAR_OP_COUNT;
}

enum {
    SIMD_TYPES = DT_BFLOAT16 + 1,         /* entries of tables by element type */
    REDUCE_KINDS = REDUCE_MAGNITUDES + 1, /* kinds of reductions */
    PANEL = 64,                           /* columns of a panel */
    SIMD_WEAVES = 9,        /* runs of a Weave, and repetitions of a Repeat, are fewer */
    SIMD_SIZES = 4,         /* sizes of an element: 1, 2, 4, 8 bytes */
    SIMD_SMALL_ROW = 16,    /* bytes of a row that transpose_small handles, at least */
    SIMD_MOVED = 4096,      /* bytes of a row up to which move_rows is not slower than
                               memcpy */
    SIMD_SHORT = 24,        /* elements of a short row, at most, for softmax_short */
    SIMD_SHORT_FLOATS = 11, /* for floats, softmax is faster from there on */
    SIMD_SHORT_ROWS = 16,   /* short rows that are computed together */
    SIMD_BESIDE = 32        /* columns that softmax_columns computes together */
};
/* Interleaves runs or separates them (Simd.weave). */
typedef void Weave(void *y, const void *x, int64_t stride, int64_t n);
typedef void TransposeSmall(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows,
                            int64_t columns);
/* Rows that are moved in their order, `bytes` bytes each: row r from x + r*xs + xo[r*os]*size to y
   + r*ys + yo[r*os]*size. */
typedef struct ChosenRows {
    char *y;
    const char *x;
    int64_t ys, xs;         /* in bytes */
    const int64_t *yo, *xo; /* NULL: 0 for all rows */
    int64_t os, size, rows, bytes;
} ChosenRows;
/* Repeats elements (Simd.repeat). */
typedef void Repeat(void *y, int64_t ys, int64_t rows, const void *x, int64_t n);
/* Multiplies a row by a matrix: y[j], for j < columns, is the sum over t < terms of a[t] times an
   element of b (see Simd). bs: from one row of b, or one column, to the next. */
typedef void RowByMatrix(float *y, const float *a, const float *b, int64_t bs, int64_t terms,
                         int64_t columns);
typedef void Pass(float *y, const float *x, const float k[6], int64_t n); /* k: its numbers */
/* Rows that become bytes or were bytes, with a scale and a zero point each. */
typedef struct ByteRows {
    int64_t n, rows, ys, xs; /* ys, xs: from one row to the next */
    const float *scale, *zero;
    float low, high; /* limits of bytes that are written */
} ByteRows;
/* What a kernel of products does to each result x. If `gate`, x is multiplied by slope * x + shift
   clipped to 0..1; then it is clipped to low..high. A NaN stays a NaN. */
typedef struct Squash {
    bool gate;
    float slope, shift, low, high;
} Squash;
/* Rows of a times a panel of weights, whose columns are adjacent: y[r, c] = squash(start[c] + sum
   of a[r, run[i] + k] * panel[i * n + k, c] over i < runs, k < n, + add[r, c]). The panel has
   `vectors` times Simd.width columns. Its last vector is written at y + last, and added from add +
   last. Meanwhile memory from `ahead` to ahead_end is prefetched, one cache line per term. */
typedef struct Sweep {
    const float *a, *add, *start, *panel, *ahead, *ahead_end; /* add: may be NULL */
    float *y;
    int64_t as, adds, ys, last; /* as, adds, ys: from one row to the next */
    int64_t n;                  /* terms of a run */
    int runs;
    const int64_t *run;
    Squash squash;
} Sweep;
/* Windows over single channels: y[p * ys + c] = squash((sum over t of w[cell[t] + c] * x[p * xs +
   tap[t] + c]) * scale[c] + shift[c] + add[p * adds + c]) for p < places, c < channels. y must not
   overlap any of the others. */
typedef struct ChannelWindows {
    const float *x, *w, *scale, *shift, *add; /* add: may be NULL */
    float *y;
    int64_t xs, ys, adds, taps, channels, places;
    const int64_t *tap, *cell;
    Squash squash;
} ChannelWindows;
/* Windows of height * width places over several planes: y[r * ys + c] = sum over p < planes, i <
   height, j < width of w[(p * height + i) * width + j] * x[plane[p] + (r + i) * xs + column[j] +
   c], for r < rows, c < columns. There must be at least TAP_ROWS rows. If a row has fewer columns
   than a vector, a whole vector is read and written. */
enum { TAP_ROWS = 4 };
typedef struct TapRows {
    const float *x, *w;
    float *y;
    int64_t xs, ys, rows, columns, planes, height, width;
    const int64_t *plane, *column;
} TapRows;
/* Windows of several output channels over the same places: y[k * yc + r * ys + c] = squash((sum
   over t < taps of w[k * ws + t] * x[offset[t] + r * xs + c]) * scale[k] + shift[k]) for k <
   channels, r < rows, c < columns. If a row has fewer columns than a vector, a whole vector is read
   and written. y must not overlap any of the others. */
typedef struct TapChannels {
    const float *x, *w, *scale, *shift;
    float *y;
    int64_t taps, ws, xs, yc, ys, rows, columns, channels;
    const int64_t *offset;
    Squash squash;
} TapChannels;
/* The points of Winograd's convolution (winograd.c) are 0, 3/4, -3/4, 3/2, -3/2 and infinity. With
   them all coefficients are exact floats, and sums over hundreds of channels have less than half
   the error that they have with 1 and 2. */
#define WINOGRAD_A 0.75
#define WINOGRAD_B 1.5
enum { WINOGRAD_TILE = 4, WINOGRAD_WINDOW = 6, WINOGRAD_POINTS = 36 };
/* A tile of Winograd's convolution (winograd.c) that is transformed from values at points, x[point
   * xs + c] for c < channels, into places of the output: y[i * ys[0] + j * ys[1] + c] = squash(.. +
   shift[c] + add[i * adds[0] + j * adds[1] + c]) for i < size[0], j < size[1]. There must be at
   least a vector of channels. */
typedef struct WinogradTile {
    const float *x, *shift, *add; /* add: may be NULL */
    float *y;
    int64_t xs, ys[2], adds[2], channels;
    int size[2]; /* at most WINOGRAD_TILE */
    Squash squash;
} WinogradTile;
/* Sums of parts of rows: y[p*ys + i] is the sum of x[p*xs + offset[t] + i] over those t < terms for
   which low[t] <= i < high[t], in order, for p < planes and i < n. No other elements of x are
   read. */
enum { SHIFTED_TERMS = 256 }; /* at most */
typedef struct ShiftedSum {
    float *y;
    const float *x;
    int64_t ys, xs, planes, n, terms, offset[SHIFTED_TERMS], low[SHIFTED_TERMS],
        high[SHIFTED_TERMS];
} ShiftedSum;
/* Rows times a panel of PANEL columns of weights that take few values (levels.c): y[r, c] += sum
   over the blocks b of scale[b, c] * (sum over the block's terms k of (level[k, c] - middle) * a[r,
   k]) + offset[b, c] * sums[r, b]. */
typedef struct LevelPanel {
    const uint32_t *word;        /* [words, PANEL]: each word holds the levels of successive terms,
                                    the first in the lowest bits */
    const float *scale, *offset; /* [blocks, PANEL]; offset may be NULL, and then sums, too */
    int64_t words, block;        /* the words of a column, and those of a block; the last block may
                                    have fewer */
    const float *a, *sums;
    float *y;
    int64_t as, ss, ys; /* from one row of a, sums and y to the next */
} LevelPanel;
enum { TILE_WORDS = 16, TILE_ROWS_MOST = 16 }; /* what processor_multiply_tiles multiplies */
enum { LEVEL_KINDS = 2 /* levels of 4 bits and of 8 */, LEVEL_ROW_EXTRA = 5 };
/* A pass of a Fourier transform over radix * m complex numbers (simd_fft.h). The imaginary part of
   a number lies `im` after its real part, and each number stands for s adjacent ones. root: cosine
   and sine of roots of unity, of which the pass uses every step-th pair. */
typedef struct FftPass {
    int64_t radix, m, s, im, step;
    const double *root;
} FftPass;
typedef void FftRun(const FftPass *, double *y, const double *x);
/* For each of n columns c of each block b < blocks, the sum or product of the elements up to each
   place (or, exclusive, before it): y[b*yb + j*ys + c*yn] is that of x[b*xb + i*xs + c*xn] for i <=
   j < length. Floats are accumulated in doubles. y may be x. */
typedef struct Cumulation {
    void *y;
    const void *x;
    int64_t length, n, ys, xs, yn, xn, blocks, yb, xb;
    bool exclusive;
} Cumulation;
typedef void CumulationLoop(const Cumulation *);
/* Finds the best element of each of n columns: for each row j < rows in turn, where x[j*xs + i] is
   greater than best[i] (least: less; last: or equal), best[i] becomes x[j*xs + i] and where[i]
   becomes at + j. */
typedef struct BetterRows {
    void *best;
    int32_t *where;
    const void *x;
    int64_t xs, rows, n;
    int32_t at;
    bool last, least;
} BetterRows;
/* Finds the k greatest keys of each of n columns; among equal keys, the first comes first: key[j*ks
   + i] for at <= j < at + rows are added to those that were found before, first[s*fs + i] for s <
   k, s < at, whose places are where[s*fs + i]. Keys and places are int32 or int64. Whole vectors
   are read and written. */
typedef struct FirstRows {
    void *first, *where;
    const void *key;
    int64_t fs, ks, at, rows, n, k;
} FirstRows;
/* What gridsample (ops/gridsample.c) reads of a channel for n places, n <= GRID_PLACES: the sum of
   weight[t*n + i] * x[place[t*n + i]] over t < taps * taps, without those of weight 0, is the
   result for place i. The first of two axes is that of the rows. */
enum { GRID_PLACES = 256, GRID_TAPS = 4 };
typedef struct GridReads {
    int32_t *place;
    float *weight;
    const float *grid[2]; /* the coordinates */
    int64_t size[2], stride[2], n;
    int64_t outside; /* GRID_ZEROS .. */
    int taps;        /* along each axis: 1 nearest, 2 linear, 4 cubic */
    bool align;
} GridReads;
/* Of PLANE_LANES planes side by side, y[i*PLANE_LANES + c] = the sum of x[(i*step + t*apart) *
   PLANE_LANES + c] over t < terms, divided by divisor[i] unless that is NULL, for i < n and
   c < PLANE_LANES. */
enum { PLANE_LANES = 16 };
typedef void LaneMeans(float *y, const float *x, int64_t step, int64_t apart, int64_t terms,
                       const float *divisor, int64_t n);
/* The numbers of a row, for the row_* loops. */
typedef struct RowNumbers {
    float k[4];
} RowNumbers;
/* Sets number j of each row r to of[r * step], with its sign changed if `negative` (that of NaN
   stays). of NULL: to the number with which row_scaled leaves x unchanged. */
static inline void row_numbers_set(RowNumbers k[], int j, const float *of, int64_t step,
                                   bool negative, int64_t rows) {
    static const float none[] = {0, 1, 1, -0.0f};
    if (!of)
        for (int64_t r = 0; r < rows; r++) k[r].k[j] = none[j];
    else if (!negative)
        for (int64_t r = 0; r < rows; r++) k[r].k[j] = of[r * step];
    else
        for (int64_t r = 0; r < rows; r++)
            k[r].k[j] = of[r * step] == of[r * step] ? -of[r * step] : of[r * step];
}
typedef struct Simd {
    const char *name;
    int width; /* floats of a vector register */
    /* y[i] = op(a[i], b[i]); b is not read by unary operations. NULL for C_ACC, C_VIEW, C_CONST,
       C_WHERE, C_AS, and for operations that the class does not have. */
    void (*op[CLASS_COUNT][FURTHER_OP_COUNT])(void *y, const void *a, const void *b, int64_t n);
    /* y[i] = a[i]^3, for CLASS_FLOAT; b is not read. */
    void (*cube)(void *y, const void *a, const void *b, int64_t n);
    /* y[i] = c[i] != 0 ? a[i] : b[i] */
    void (*where[CLASS_COUNT])(void *y, const void *c, const void *a, const void *b, int64_t n);
    /* Load n elements of a type, `stride` apart, into y[0..n-1] of the class, and store them. NULL:
       the type is not numeric, or the class does not have it. */
    void (*load[CLASS_COUNT][SIMD_TYPES])(void *y, const void *x, int64_t stride, int64_t n);
    void (*store[CLASS_COUNT][SIMD_TYPES])(void *y, int64_t stride, const void *x, int64_t n);
    /* y[i] = a[i] after it was stored in an element of the type and loaded again; b is not read. */
    void (*as[CLASS_COUNT][SIMD_TYPES])(void *y, const void *a, const void *b, int64_t n);
    /* acc[i] = acc[i] op x[i*stride], where acc is of the class class_wide: sums and products of
       floats are kept in doubles. REDUCE_MEAN only sums. Squares and magnitudes are of floats
       and doubles only. The classes of bytes have maxima and minima only. */
    void (*merge[CLASS_COUNT][REDUCE_KINDS])(void *acc, const void *x, int64_t stride, int64_t n);
    /* The same for rows that are xs apart: acc[i] = acc[i] op x[i] op x[xs + i] op .., in this
       order. */
    void (*merge_rows[CLASS_COUNT][REDUCE_KINDS])(void *acc, const void *x, int64_t xs,
                                                  int64_t rows, int64_t n);
    /* acc[i] += x[i*stride], in floats. */
    void (*add_floats)(void *acc, const void *x, int64_t stride, int64_t n);
    /* Reduces all of x[0..n-1] into the single acc[0], as merge does. */
    void (*total[CLASS_COUNT][REDUCE_KINDS])(void *acc, const void *x, int64_t n);
    void (*better[CLASS_COUNT])(const BetterRows *);
    /* The first place (last: the last place) of *value in x[0..n-1]; -1: there is none. */
    int64_t (*place[CLASS_COUNT])(const void *x, const void *value, int64_t n, bool last);
    /* Loops for ordering. `order` computes keys: integers of the elements' size that are greater
       the earlier an element comes, if the greatest elements are wanted (`largest`) or else the
       least; key may be x. The others take keys of int32 or int64. count_from counts the keys that
       are at least `least`. places_from lists their places in ascending order and returns how many
       there are; at must have room for n. rank computes how many keys come before each key; among
       equal keys, the first comes first. */
    void (*order[CLASS_INT32])(void *key, const void *x, bool largest, int64_t n);
    int64_t (*count_from[2])(const void *key, int64_t least, int64_t n);
    int64_t (*places_from[2])(int32_t *at, const void *key, int64_t least, int64_t n);
    void (*rank[2])(int32_t *rank, const void *key, int64_t n);
    void (*first_of_rows[2])(const FirstRows *);
    /* y[i] += w[0] * x[i*stride]. scale_add_32: of 32-bit integers, which wrap. */
    void (*scale_add[CLASS_COUNT])(void *y, const void *x, int64_t stride, const void *w,
                                   int64_t n);
    void (*scale_add_32)(void *y, const void *x, int64_t stride, const void *w, int64_t n);
    /* y[i] = (clamp(round(x[i] / k[0]) + k[1], k[2], k[3]) - k[4]) * k[5]; NaN is clamped to
       k[2]. */
    Pass *requantize;
    /* y[r*ys + i] = clamp(round(x[r*xs + i] / scale[r]) + zero[r], low, high), modulo 256; NaN is
       clamped to low. y must not overlap x. */
    void (*to_bytes)(uint8_t *y, const float *x, const ByteRows *);
    /* y[r*ys + i] = (x[r*xs + i] - zero[r]) * scale[r], of unsigned and of signed bytes. y must not
       overlap x. */
    void (*from_bytes[2])(float *y, const void *x, const ByteRows *);
    Pass *line, *limited;        /* y[i] = ((x[i] - k[0]) * k[1]) * k[2] + k[3], each rounded;
                                    limited: then no less than k[4] and no more than k[5] */
    Pass *quantize, *dequantize; /* y[i] = round(x[i] / k[0]) + k[1]; y[i] = (x[i] - k[0]) * k[1] */
    /* With x = x[i]: gate_sigmoid: y[i] = k[0] * x * sigmoid(k[1] * x + k[2] * x^3); gate_erf:
       y[i] = k[0] * x * (1 + erf(k[1] * x)). */
    Pass *gate_sigmoid, *gate_erf;
    void (*taps)(float *y, const float *x, const int64_t offset[], const float w[], int64_t taps,
                 int64_t n);                   /* y[i] = sum of w[t]*x[offset[t]+i] */
    RowByMatrix *row_by_rows, *row_by_columns; /* b[t * bs + j]; b[j * bs + t] */
    /* y[i] = the maximum of start, w[t]*x[offset[t]+i] and least[t]*x[offset[t]+i] over all t. */
    void (*tap_peaks)(float *y, const float *x, const int64_t offset[], const float w[],
                      const float least[], int64_t taps, float start, int64_t n);
    void (*tap_rows)(const TapRows *);
    void (*tap_channels)(const TapChannels *);
    /* y[i] = sum over t of w[t * n + i] * x[place[t * n + i]]; where a weight is 0, the element is
       ignored. For CLASS_FLOAT and CLASS_DOUBLE. */
    void (*blend[2])(void *y, const void *x, const int32_t *place, const void *w, int64_t taps,
                     int64_t n);
    void (*grid_reads)(const GridReads *);
    /* y[p * ys + c] = sum over t < taps of w[p * taps + t] * x[offset[p * taps + t] + c] for c < n;
       where a weight is 0, the element is ignored. n must be at least a vector. */
    void (*blend_pixels)(float *y, int64_t ys, const float *x, const int64_t offset[],
                         const float w[], int64_t taps, int64_t places, int64_t n);
    /* The softmax of `rows` rows of n elements, one after the other, for CLASS_FLOAT and
       CLASS_DOUBLE. softmax_short: the same for rows of at most SIMD_SHORT elements. */
    void (*softmax[2])(void *y, const void *x, int64_t n, int64_t rows);
    void (*softmax_short[2])(void *y, const void *x, int64_t columns, int64_t rows);
    /* The same for SIMD_BESIDE columns: y[r*ys + c] from x[r*xs + c], r < rows. */
    void (*softmax_columns[2])(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows);
    /* Loops over rows of n floats, which follow each other, each with its numbers k (simd_rows.h).
       row_sums, row_squares and row_exps add to acc[r] the sum of x[i], of (x[i] - k[0])^2, and of
       y[i] = e^(x[i] - k[0]); if y is NULL, these are not stored. bounded: no x[i] is greater than
       k[0] + 89. row_exps also fetches what lies `ahead` floats after x. row_peaks makes acc[r] the
       maximum of acc[r] and the row. Only the rows of row_sums may have gaps: they are xs apart.
       row_scaled computes y[i] = (x[i] - k[0]) * k[1] * k[2] * scale[i] + shift[i], where scale and
       shift may be NULL; if both are, k[3] is added. */
    int few_summed; /* rows of so few elements are summed faster by merge than by row_sums */
    void (*row_sums)(double *acc, const float *x, int64_t xs, int64_t n, int64_t rows);
    void (*row_peaks)(float *acc, const float *x, int64_t n, int64_t rows);
    void (*row_squares)(double *acc, const float *x, const RowNumbers *k, int64_t n, int64_t rows);
    void (*row_exps)(float *y, double *acc, const float *x, const RowNumbers *k, int64_t n,
                     int64_t rows, bool bounded, int64_t ahead);
    void (*row_scaled)(float *y, const float *x, const RowNumbers *k, const float *scale,
                       const float *shift, int64_t n, int64_t rows);
    void (*sum_shifted)(const ShiftedSum *);
    /* For each of `rows` rows of n elements, f = p*c - q*d and s = q*c + p*d; v: f, s, p, q, c, d,
       step: from one row to the next. rotate_pairs: the elements of f and s, and of p and q, take
       turns (v[0], v[2]). */
    void (*rotate)(float *const v[6], const int64_t step[6], int64_t n, int64_t rows);
    void (*rotate_pairs)(float *const v[6], const int64_t step[6], int64_t n, int64_t rows);
    /* y[r, 0..PANEL-1] = start + a[r, 0..n-1] times p[n, PANEL]. ys, as: from one row to the
       next. */
    void (*panel)(float *y, int64_t ys, const float *start, const float *a, int64_t as,
                  int64_t rows, const float *p, int64_t n);
    /* Prepares n terms of a row, which fill whole words, as LevelPanel.a: multiplies each of them,
       in place, by a power of two that depends on its place in half a word. */
    void (*level_terms)(float *x, int bits, int64_t n);
    void (*levels[LEVEL_KINDS])(const LevelPanel *, int64_t rows);
    /* Converts a[k] * each, which are rounded to whole numbers below 2^23, into a sum of three
       signed bytes times 1, 2^8 and 2^16. The bytes of weight 2^(8 * i) begin at to + i * plane,
       and sum[i] is their sum. */
    void (*level_bytes)(int8_t *to, int64_t plane, int32_t sum[3], const float *a, float each,
                        int64_t n);
    /* The same as `levels`, for levels of 8 bits in one block and such rows: a points to the three
       planes, which fill whole words, and sums to LEVEL_ROW_EXTRA numbers: the factor of the row,
       the sum of the row, and the starts of the sums of the three planes (integers). NULL: the
       instruction set has no instruction for it. Only processors for which processor_adds_four is
       true can run it. */
    void (*levels_by_bytes)(const LevelPanel *, int64_t rows);
    /* Ends what levels_by_bytes begins, for sums that processor_multiply_tiles made, the starts not
       yet added: rows <= TILE_ROWS_MOST. */
    void (*add_planes)(const LevelPanel *, const int32_t *sum, int64_t rows);
    /* The determinant of a matrix of n columns, which are `stride` numbers apart: n numbers, then
       zeros. stride must be a multiple of 8, and factor have room for as many numbers. matrix and
       factor are overwritten. */
    double (*determinant)(double *matrix, double *factor, int64_t n, int64_t stride);
    CumulationLoop *cumulate[2][SIMD_TYPES]; /* sums, products; NULL: the type is bool or not
                                                numeric */
    int vectors;                             /* vectors in a row of a Sweep's panel, at most */
    /* Returns where prefetching ended. */
    const float *(*sweep)(const Sweep *, int vectors, int64_t rows);
    void (*windows)(const ChannelWindows *);
    /* y[r*ys + c] = the maximum of x[offset[t] + r*xs + c] over t < cells, for r < rows, c < n; a
       NaN stays a NaN. */
    void (*peak_rows)(float *y, int64_t ys, const float *x, int64_t xs, const int64_t offset[],
                      int64_t cells, int64_t rows, int64_t n);
    /* y[point * ys + c] for c < channels: the values at the points of a tile, whose place i, j of
       the image is cell[6 * i + j]. There must be at least a vector of channels. */
    void (*winograd_enter)(float *y, int64_t ys, const float *const cell[WINOGRAD_POINTS],
                           int64_t channels);
    void (*winograd_leave)(const WinogradTile *);
    /* Compute one step of n states, given the sums of their gates (simd_recurrent.h). */
    void (*lstm)(float *h, float *cell, const float *x, const float *g, const float *peephole,
                 bool coupled, int64_t n);
    void (*gru_reset)(float *y, const float *h, const float *x, const float *g, int64_t n);
    void (*gru)(float *h, const float *x, const float *g, bool linear_first, int64_t n);
    void (*rnn)(float *h, const float *x, const float *g, bool relu, int64_t n);
    /* at[i] = the offset of index from[i] along an axis with `places` places, `stride` apart; a
       negative index counts from the end. at may be from. *bad: whether an index is out of
       range. */
    void (*fold)(int64_t *at, const int64_t *from, int64_t places, int64_t stride, int64_t n,
                 bool *bad);
    FftRun *fft_pass, *fft_split, *fft_join, *fft_scale;
    /* weave: y[i*k + j] = x[j*stride + i], for i < n, j < k; unweave: y[j*stride + i] = x[i*k + j].
       Indexed by log2 of an element's bytes (1, 2 or 4) and by k; NULL for most k. */
    Weave *weave[SIMD_SIZES][SIMD_WEAVES], *unweave[SIMD_SIZES][SIMD_WEAVES];
    /* y[r*ys + i*k + j] = x[i], for r < rows, i < n, j < k. Indexed by log2 of an element's bytes
       and by k; NULL for most k. */
    Repeat *repeat[SIMD_SIZES][SIMD_WEAVES];
    /* Copies rows of `bytes` bytes from x + r*xs to y + r*ys; these distances are in bytes, too. */
    void (*move_rows)(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows, int64_t bytes);
    void (*move_chosen)(const ChosenRows *);
    /* y[c*ys + r] = x[r*xs + c] for elements of 4 bytes, r < rows, c < columns. */
    void (*transpose)(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs, int64_t rows,
                      int64_t columns);
    /* The same for elements of 1 and of 2 bytes, of at least 8 rows of at least SIMD_SMALL_ROW
       bytes. */
    TransposeSmall *transpose_small[2];
    LaneMeans *lane_means;
    /* y[i] = the sum of x[i + t*apart] over t < terms (1 at least), for i < n, plus y[i] if `more`.
       y may be x or lie before it. */
    void (*add_neighbours)(float *y, const float *x, int64_t apart, int64_t terms, int64_t n,
                           bool more);
} Simd;
extern const Simd simd_base;                         /* runs on any machine */
extern const Simd simd_avx2, simd_avx512, simd_neon; /* run only where the processor has these
                                                        instructions */

/* Some columns of a product for which a Sweep runs: `vectors` vectors of them, from column `first`
   on. The last vector begins at column first + last. If the columns that are left do not fill it,
   it overlaps the vector before it or, if it is the only one, begins further left. */
typedef struct SweepColumns {
    int64_t first, last;
    int vectors;
} SweepColumns;
/* The columns of the panel that begins at column `from` of n columns in all. */
static inline SweepColumns sweep_columns(const Simd *simd, int64_t n, int64_t from) {
    const int64_t width = simd->width, whole = width * simd->vectors, left = n - from;
    SweepColumns c = {.first = from, .vectors = simd->vectors};
    if (left < whole) c.vectors = (int)((left + width - 1) / width);
    c.last = (left < whole ? left : whole) - width;
    if (c.last < 0) c.first += c.last, c.last = 0;
    return c;
}
/* The column at which vector k begins. */
static inline int64_t sweep_vector(const SweepColumns *c, int k, int width) {
    return c->first + (k < c->vectors - 1 ? k * width : c->last);
}

/* The class in which a reduction of class c by `kind` is accumulated: doubles for sums and products
   of floats, int64 for those of the narrow classes. */
static inline ComputeClass class_wide(ComputeClass c, ReduceKind kind) {
    if (kind == REDUCE_MAX || kind == REDUCE_MIN) return c;
    return c == CLASS_FLOAT ? CLASS_DOUBLE : c > CLASS_UINT ? CLASS_INT : c;
}
#endif
