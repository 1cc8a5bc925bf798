/* rows.h -- the built form of a step over rows: rows.c and rows_forms.c build it, rows_run.c runs
   it. */
#ifndef ISOMER_CPU_ROWS_H
#define ISOMER_CPU_ROWS_H
#include "ops/cpu/cpu.h"

/* Limits. TILE: elements of a tile of several rows. TILE_ROWS: its rows. CROSSED_ROWS: rows of a
   transposed tile, at least. WHOLE_ROW: elements of a row that is not cut into blocks. ROWS_CODE,
   ROWS_VIEWS: instructions and views of a step. */
enum {
    TILE = 4096,
    TILE_ROWS = 64,
    CROSSED_ROWS = 16,
    WHOLE_ROW = 8192,
    ROWS_CODE = 160,
    ROWS_VIEWS = 32
};

/* How a value varies: not at all, from row to row, from column to column, or from element to
   element. */
typedef enum Kind { KIND_NUMBER, KIND_ROW, KIND_COLUMN, KIND_FULL } Kind;
/* How a value is computed; n0 .. n3 are numbers of the row. LINE: ((x - n0) * n1) * n2 + n3.
   SCALED: (x - n0) * n1 * n2, times a column, plus a column. Both may divide by n1 instead of
   multiplying by it. EXPS: exp(x - n0), together with its sum. SQUARES: the sum of (x - n0)^2.
   MEAN: the sum n0, before it is rounded, divided by a known number; the mean of a constant row is
   then that constant. */
typedef enum Form {
    FORM_LOAD,
    FORM_CONSTANT,
    FORM_OP,
    FORM_LINE,
    FORM_SCALED,
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
    int level;                 /* the greatest number of reductions on a path to it */
    bool needed, spread;       /* needed: it must be computed; spread: it is read as if it varied
                                  from element to element */
    bool only_summed;          /* of an EXPS: only its sum is read, so the elements need not be
                              stored */
    bool bounded;              /* of an EXPS: n0 is the maximum of the row */
    int x, scale, shift, sum;  /* values, or -1 for none; sum: of an EXPS, the sum that is computed
                                  together with it */
    int number[NUMBERS];       /* values n0 .. n3, or -1 for none */
    bool negative[NUMBERS];    /* the number's sign is changed first */
    bool divides;              /* a LINE or SCALED divides by n1 */
    size_t at, spread_at, acc; /* offsets into the scratch memory of a part. at: of a value that is
                                  not a tile; spread_at: of the spread value; acc: of the partial
                                  results of a reduction */
    void (*op)(void *y, const void *a, const void *b, int64_t n);
} Value;
/* A value that is computed for a tile, or for a block of a long row, and stored at offset `at` of a
   part's scratch memory. */
typedef struct Entry {
    int value;
    size_t at;
} Entry;
/* What is computed between two reductions: first numbers of the rows, then elements, block by
   block. */
typedef struct Phase {
    int nrow, nentry, nsum, *row, *sum; /* row: values that are numbers of rows; sum: reductions
                                           that are complete at the end of the phase */
    Entry *entry;
} Phase;
typedef struct RowView {
    View view;
    Kind kind;
    bool whole;            /* the axes of the row are joined to one */
    bool floats;           /* of 32 or 16 bits */
    int64_t stride;        /* from one column to the next, or along the last of the row's axes */
    int64_t run, run_step; /* run: elements of the short runs that the row of floats consists of,
                              or 0; run_step: the distance from one run to the next */
    int size;              /* bytes of an element */
    void (*load)(void *y, const void *x, int64_t stride, int64_t n);
} RowView;
typedef struct Rows {
    int ncode, nview, nphase, parts;
    Value *value;
    Phase *phase;
    RowView *view;
    Nest inner;                   /* the axes of the row, with y's greatest stride first */
    Nest outer;                   /* the axes of the views without those of the row */
    int64_t columns, block, rows; /* columns: of a row; block, rows: the columns and rows of a
                                     tile */
    int64_t tiles;                /* along the last of the outer axes */
    bool crossed;                 /* y's rows lie side by side in memory */
    bool has_halves;              /* there are views of 16-bit floats */
    size_t begin, each, turned;   /* scratch memory: where part 0 begins; bytes of a part; where a
                                     tile of 16-bit floats, converted but not transposed, lies */
    const Simd *simd;
} Rows;

/* Finds the kinds, levels and forms of the instructions, whose `code` is given. False: an
   instruction does not exist for floats. */
bool rows_analyze(const Simd *, const Kind view[], Value value[], int ncode);
/* Runs part k of the tiles. */
void rows_run_part(const Rows *, void *const slot[], void *work, int k);
#endif
