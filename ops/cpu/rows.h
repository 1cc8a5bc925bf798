/* rows.h -- a step over rows that rows.c built and rows_run.c runs. */
#ifndef ISOMER_CPU_ROWS_H
#define ISOMER_CPU_ROWS_H
#include "ops/cpu/cpu.h"

/* At most: the elements of a tile of several rows and its rows; the elements of a row that is not
   cut into blocks; the instructions and views of a step. CROSSED_ROWS: of a tile that is turned. */
enum {
    TILE = 4096,
    TILE_ROWS = 64,
    CROSSED_ROWS = 16,
    WHOLE_ROW = 8192,
    ROWS_CODE = 160,
    ROWS_VIEWS = 32
};

/* How a value varies: not, from row to row, from column to column, or from element to element. */
typedef enum Kind { KIND_NUMBER, KIND_ROW, KIND_COLUMN, KIND_FULL } Kind;
/* How it is computed. LINE: ((x - n0) * n1) * n2 + n3; SCALED: (x - n0) * n1 * n2 by a column and
   plus a column; QUOTIENT: x / n0, n0 of a row; EXPS: exp(x - n0), with its sum; SQUARES: the sum
   of (x - n0)^2; MEAN: the sum n0 by a known number, before it is rounded: what is the same along a
   row is its mean. */
typedef enum Form {
    FORM_LOAD,
    FORM_CONSTANT,
    FORM_OP,
    FORM_LINE,
    FORM_SCALED,
    FORM_QUOTIENT,
    FORM_EXPS,
    FORM_SQUARES,
    FORM_SUM,
    FORM_MAX,
    FORM_MEAN
} Form;
enum { NUMBERS = 4 };
typedef struct Value {
    Scalar code;
    Kind kind;
    Form form;
    int level;                /* how many reductions there are on the way to it */
    bool needed, spread;      /* spread: it is read as if it varied from element to element */
    bool passing;             /* of an EXPS: nothing but its sum reads it */
    int x, scale, shift, sum; /* values, -1: none; sum: of an EXPS, the sum that it computes too */
    int number[NUMBERS];      /* values, -1: none */
    bool negative[NUMBERS];
    size_t at, spread_at, acc; /* in a part's scratch: of what is no tile, of what is spread, of a
                                  reduction's partial results */
    void (*op)(void *y, const void *a, const void *b, int64_t n);
} Value;
/* A tile, or a block of a long row: value `value` is computed, to `at` of a part's scratch. */
typedef struct Entry {
    int value;
    size_t at;
} Entry;
/* What is computed between two reductions: rows' numbers, then elements, block by block. */
typedef struct Phase {
    int nrow, nentry, nsum, *row, *sum; /* sum: reductions that end with it */
    Entry *entry;
} Phase;
typedef struct RowView {
    View view;
    Kind kind;
    bool whole;     /* the row's axes are one */
    bool floats;    /* of 32 or 16 bits */
    int64_t stride; /* between the columns, or along the last of the row's axes */
    int size;
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
} RowView;
typedef struct Rows {
    int ncode, nview, nphase, parts;
    Value *value;
    Phase *phase;
    RowView *view;
    Nest inner;                   /* the axes of the row, y's greatest stride first */
    Nest outer;                   /* of the views, without the axes of the row */
    int64_t columns, block, rows; /* block: columns of a tile; rows: of a tile */
    int64_t tiles;                /* along the last of the outer axes */
    bool crossed;                 /* y's rows lie side by side */
    bool turns;                   /* there are views of 16-bit floats */
    size_t begin, each, turned; /* scratch: of part 0; bytes of a part; of a tile of 16-bit floats,
                                   as it lies */
    const Simd *simd;
} Rows;

/* Kinds, levels and forms of the instructions, of which `code` is given. False: one that floats do
   not have. */
bool rows_analyze(const Simd *, const Kind view[], Value value[], int ncode);
/* Runs part k. */
void rows_run_part(const Rows *, void *const slot[], void *work, int k);
#endif
