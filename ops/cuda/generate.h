/* generate.h -- what the files of the generator share: text, element types, places and programs. In
   the text, v0, v1, .. are the views, i0, i1, .. the index of an element of the output. */
#ifndef ISOMER_CUDA_GENERATE_H
#define ISOMER_CUDA_GENERATE_H
#include "ops/cuda/source.h"

enum { THREADS = 256, WARP = 32, PACK = 4, VIEWS_MOST = 64 };
/* Element types that kernels compute with, by ONNX's numbers. */
enum { F32 = 1, U8, I8, U16, I16, I32, I64, B8 = 9, F16, F64, U32, U64, BF16 = 16, TYPES };

typedef struct Saying Saying;
typedef struct Gen {
    const Step *step;
    KernelSource *out;
    Saying *said; /* texts that live until the source is written */
    int indent;
    char class;  /* of the step's program */
    bool packed; /* elements are read from l0, l1, .. [e] and written to l0 */
    int next;    /* number of the next temporary of a loop program */
} Gen;

/* One line, indented by the braces before it. */
void line(Gen *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text that lives as long as the Gen; "" if out of memory, which the source remembers. */
const char *say(Gen *, const char *format, ...) __attribute__((format(printf, 2, 3)));

void said_free(Gen *); /* what `say` gave */

/* ---- elements.c */
const char *type_name(int dtype);
/* Classes: 'i' int64, 'u' uint64, 'f' float, 'd' double; the wider one of a class and a type's. */
char class_with(char class, int dtype);
const char *class_name(char class);
bool class_real(char class);
int64_t dims_product(const View *, int from, int to);
/* Element `at` of a view as a number of this class; the line that stores x, of this class. */
const char *element(Gen *, int view, const char *at, char class);
void element_store(Gen *, const char *at, const char *x, char class);
const char *class_constant(Gen *, double, char class);
/* The offset in a view of the element i0, i1, .. of its first `rank` axes, plus `more`. */
const char *place_of(Gen *, int view, int rank, const char *more);
/* Declares the index i0, .. of the output's first `rank` axes for the number `from`. */
void index_lines(Gen *, const char *from, int rank);
/* The program on an accumulator of this class, and the store of its result. */
void finish(Gen *, const char *acc, char class);
/* The class in which products and sums of the first `views` inputs are computed. */
char sum_class(const Step *, int views);

/* Loops over the elements of the output, one thread an element: opens a brace that the caller
   closes. */
void each_element(Gen *, int64_t count);

/* One instruction of the program, which is neither C_ROW_SUM nor C_ROW_MAX:
   values are t0, t1, .. */
const char *program_value(Gen *, const Scalar *, const char *acc);

/* ---- rows.c: a row by a thread, a warp or a block. `row` counts rows, `me` the members of the
   team. Every thread of a block makes the same iterations, so that all meet at the barriers. */
typedef enum Team { BY_THREAD, BY_WARP, BY_BLOCK, TEAMS } Team;
int team_members(Team);
/* team_rows opens two braces; team_shared comes before it. */
void team_shared(Gen *, Team, char class);
void team_rows(Gen *, Team, int64_t rows);
/* Combines the `value` of all members; each gets the result. */
void team_combine(Gen *, Team, ReduceKind, char class, const char *value);
const char *team_start(ReduceKind, char class);
const char *team_fold(Gen *, ReduceKind, char class, const char *a, const char *b);

/* ---- one file for each family of steps; `variant` from 0 */
int flat_variants(const Step *);
int sample_variants(const Step *);
void flat_write(Gen *, int variant); /* ewise, copy, fill */
void sample_write(Gen *);
int product_variants(const Step *);
void product_write(Gen *, int variant); /* gemm, conv */
void window_conv(Gen *);
void window_pool(Gen *);
int rows_variants(const Step *);
void rows_write(Gen *, int variant); /* reduce, softmax */
int chain_variants(const Step *);
void chain_write(Gen *, int variant); /* rows */
int attention_variants(const Step *);
void attention_write(Gen *, int variant); /* the operator attention */
void loop_write(Gen *);
#endif
