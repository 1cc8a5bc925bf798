/* vector.h -- the built form of an element-wise program: vector.c builds it, vector_run.c runs
   it. */
#ifndef ISOMER_VECTOR_H
#define ISOMER_VECTOR_H
#include "ops/cpu/cpu.h"

/* BLOCK: the most bytes of a tile. FLOATS: the most elements of a tile of floats. LONG: the same
   for programs that need no registers. LINE_ROW: the fewest elements of a row that a line runs
   over. MAX_CODE: the most instructions of a program, of which
   the back end adds up to six. */
enum { BLOCK = 4096, FLOATS = 512, LONG = 4096, LINE_ROW = 8, MAX_CODE = STEP_CODE + 6 };

/* An operand of the program: a view or a constant. */
typedef struct Source {
    View view;
    int size;      /* bytes of an element in memory */
    bool native;   /* the view has the type of the class, so no conversion is needed */
    bool once;     /* one element, loaded once per run for all tiles */
    bool literal;  /* a constant of the program */
    bool repeated; /* equal for all tiles along the axis of the tiles: one row for all rows or one
                      element per row */
    bool by_row;   /* a tile spans several rows, and each has one element */
    bool number;   /* only the first element of its register is read or, if by_row, one for each
                      row */
    size_t at;     /* its register: an offset into the scratch memory */
    double k;      /* the constant, if `literal` */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
} Source;
/* Whether a value differs between tiles, is the same for all tiles, or is the same for all tiles
   along their axis. In the last two cases only the first tile computes it. */
typedef enum Invariance { VARIES, INVARIANT, INVARIANT_ALONG } Invariance;
/* The pass ((x - k[0]) * k[1]) * k[2] + k[3], limited to low..high. number[j] is the value that
   holds k[j], or -1 if that operation is absent; negative[j] says whether its sign is changed
   first. */
enum { LINE = 4 };
typedef struct Line {
    int number[LINE];
    bool negative[LINE];
    float low, high;
} Line;
typedef struct Instruction {
    void (*op)(void *y, const void *a, const void *b, int64_t n); /* NULL: a source, or C_WHERE */
    bool source, absorbed; /* absorbed: a joined instruction computes this one as well */
    bool spread;           /* it is the same along the row, but an instruction reads it that varies
                              along the row */
    Invariance invariance;
    int a, b, c;  /* earlier values, with a in place of those that are absent; of a source: a is its
                     index */
    size_t at;    /* its register: an offset into the scratch memory */
    Pass *joined; /* a pass over value a that replaces several instructions, or NULL */
    float *k;     /* the numbers of `joined` if they are constants */
    Line *line;   /* the numbers of `joined`, or of the rows of the tile, if they are values, read
                     at run time */
} Instruction;
struct Vector {
    ComputeClass class;
    int nsource, ncode, rows_axis; /* rows_axis: 1 if a tile spans several rows of the last axis but
                                      one. 0: a tile is a part of one row, and what is the same
                                      along the row is a single number. */
    size_t size;                   /* bytes of an element of the class */
    int64_t block;                 /* elements of a tile, at most */
    Source y, *source;             /* the output; the operands */
    Instruction *code;
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
    void (*fill)(void *y, const void *x, int64_t stride, int64_t n); /* y[i] = x[i * stride] in the
                                                                        class's own type */
    void (*where)(void *y, const void *c, const void *a, const void *b, int64_t n);
    Repeat *repeat; /* repeats each element once per column of the tile; NULL: there is no such
                       loop */
    void (*move_rows)(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows, int64_t bytes);
    void (*row_scaled)(float *y, const float *x, const RowNumbers *k, const float *scale,
                       const float *shift, int64_t n, int64_t rows);
    void (*transpose)(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs, int64_t rows,
                      int64_t columns);
    int64_t tile_rows, tile_columns, outer, tiles; /* tiles: along their axis, for each of the
                                                      `outer` combinations of the axes before it */
    size_t registers;                              /* bytes of all registers of one part, starting
                                                      with that of the first source */
    Nest nest; /* view 0 is y, view i + 1 is source i (constants have strides of 0) */
};

/* line.c: replaces chains of instructions by lines. Invariances must be known. */
void line_join(Build *, Vector *, const Scalar code[]);

/* vector_run.c: runs part k of n. A part consists of whole tiles, so that results do not depend on
   n. `work` has room for v->registers bytes for each part. */
void vector_run_part(const Vector *v, void *const slot[], void *work, int k, int n);

#endif
