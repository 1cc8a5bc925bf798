/* vector.h -- an element-wise program that vector.c built and vector_run.c runs. */
#ifndef ISOMER_VECTOR_H
#define ISOMER_VECTOR_H
#include "ops/cpu/cpu.h"

/* Bytes of a tile at most; elements of one of floats at most; instructions of a program at most. */
enum { BLOCK = 4096, FLOATS = 512, MAX_CODE = 256 };

typedef struct Source {
    View view;
    int size;      /* bytes of an element in memory */
    bool native;   /* of the class's type */
    bool once;     /* the same for all tiles */
    bool literal;  /* a constant of the program */
    bool repeated; /* all tiles along the axis are the same: each row, or each element */
    size_t at;     /* its register: offset in the scratch */
    double k;
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
} Source;
/* Whether a value is the same for all tiles, or for all along the rows: then only the first
   computes it. */
typedef enum Invariance { VARIES, INVARIANT, INVARIANT_ALONG } Invariance;
/* ((x - k[0]) * k[1]) * k[2] + k[3]: which values are k, negative or not; -1: there is none. */
enum { LINE = 4 };
typedef struct Line {
    int number[LINE];
    bool negative[LINE];
} Line;
typedef struct Instruction {
    void (*op)(void *y, const void *a, const void *b, int64_t n); /* NULL: a source, or C_WHERE */
    bool source, inside; /* inside: a later instruction computes it on the way */
    bool spread;         /* the same along the rows, and read by one that is not */
    Invariance invariance;
    int a, b, c; /* earlier values, in place of absent ones a again; or the source */
    size_t at;
    Pass *joined; /* of value a: several instructions in one; else NULL */
    float *k;     /* its numbers, or else */
    Line *line;   /* where they are when it runs */
} Instruction;
struct Vector {
    ComputeClass class;
    int nsource, ncode, rows_axis; /* rows_axis: 1 if a tile spans rows of the last axis but one; 0:
                                      what is the same along the rows is one number */
    size_t size;                   /* bytes of an element of the class */
    int64_t block;                 /* elements of a tile, at most */
    Source y, *source;
    Instruction *code;
    void (*store)(void *y, int64_t stride, const void *x, int64_t n);
    void (*fill)(void *y, const void *x, int64_t stride, int64_t n); /* stride 0: with one number */
    void (*where)(void *y, const void *c, const void *a, const void *b, int64_t n);
    Repeat *repeat; /* of each element for a row of the tile; NULL: there is no such loop */
    void (*move_rows)(void *y, int64_t ys, const void *x, int64_t xs, int64_t rows, int64_t bytes);
    void (*transpose)(uint32_t *y, int64_t ys, const uint32_t *x, int64_t xs, int64_t rows,
                      int64_t columns);
    int64_t tile_rows, tile_columns, outer, tiles; /* tiles for each of the outer axes' indices */
    size_t registers;                              /* bytes, from the first source's on */
    Nest nest; /* view 0: y, view i+1: source i (literals: strides 0) */
};

/* line.c: joins instructions of a program, whose invariances are known. */
void line_join(Build *, Vector *, const Scalar code[]);

/* vector_run.c: part k of n of the tiles: whole tiles, so that the results are the same for any n.
   `work` has v->registers bytes for each part. */
void vector_run_part(const Vector *v, void *const slot[], void *work, int k, int n);

#endif
