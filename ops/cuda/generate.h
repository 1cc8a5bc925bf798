/* generate.h -- the functions that the files of the generator share: for text, element types,
   offsets and programs. In the generated text, v0, v1, .. are the views, and i0, i1, .. is the
   index of an element of the output. */
#ifndef ISOMER_CUDA_GENERATE_H
#define ISOMER_CUDA_GENERATE_H
#include "ops/cuda/source.h"

enum { THREADS = 256, WARP = 32, PACK = 4, VIEWS_MOST = 64 };
/* The element types that kernels compute with, by ONNX's numbers. */
enum { F32 = 1, U8, I8, U16, I16, I32, I64, B8 = 9, F16, F64, U32, U64, BF16 = 16, TYPES };

typedef struct Saying Saying;
typedef struct Gen {
    const Step *step;
    KernelSource *out;
    Saying *said; /* the texts made by say() */
    int indent;
    char class;  /* the class of the step's program */
    bool packed; /* elements are read from l0[e], l1[e], .. and written to l0[e] */
    int next;    /* the number of the next temporary of a loop program */
} Gen;

/* Appends one line to the text of the kernel, indented by the braces that are open. */
void line(Gen *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns a text that lives as long as the Gen. If memory runs out, it returns "" and marks the
   source as failed. */
const char *say(Gen *, const char *format, ...) __attribute__((format(printf, 2, 3)));

void said_free(Gen *); /* frees the texts made by say() */

/* ---- elements.c */
const char *type_name(int dtype);
/* A class is the type in which kernels compute: 'i' int64, 'u' uint64, 'f' float, 'd' double.
   class_with() returns the wider one of a class and that of an element type. */
char class_with(char class, int dtype);
const char *class_name(char class);
bool class_real(char class);
/* The product of the sizes of axes from .. to - 1. */
int64_t dims_product(const View *, int from, int to);
/* element() returns the text of element `at` of a view as a number of the class; element_store()
   adds the line that stores x, of this class, as element `at` of the output. */
const char *element(Gen *, int view, const char *at, char class);
void element_store(Gen *, const char *at, const char *x, char class);
/* The text of a number as a constant of the class. */
const char *class_constant(Gen *, double, char class);
/* The text of the offset, in a view, of the element with the index i0, i1, .. on its first `rank`
   axes, plus `more`. */
const char *place_of(Gen *, int view, int rank, const char *more);
/* Adds lines that split the number `from` into the index i0, .. of the output's first `rank`
   axes. */
void index_lines(Gen *, const char *from, int rank);
/* Adds the lines of the step's program, applied to an accumulator of this class, and the store of
   its result. */
void program_lines(Gen *, const char *acc, char class);
/* The class in which products and sums of the first `views` inputs are computed. */
char sum_class(const Step *, int views);

/* Opens a loop over `count` elements, one per thread; the caller closes its brace. */
void each_element(Gen *, int64_t count);

/* The text of one instruction of the program, which is neither C_ROW_SUM nor C_ROW_MAX. The values
   of the instructions are t0, t1, .. */
const char *program_value(Gen *, const Scalar *, const char *acc);

/* ---- rows.c: a team of threads that computes a row: one thread, a warp or a thread block. In the
   text, `row` is the number of the row and `me` the number of the thread in the team. All threads
   of a block make the same iterations, so that all of them meet at barriers. */
typedef enum Team { BY_THREAD, BY_WARP, BY_BLOCK, TEAMS } Team;
int team_members(Team);
/* team_rows opens a loop over rows with two braces that the caller closes. team_shared declares the
   shared memory and must come before it. */
void team_shared(Gen *, Team, char class);
void team_rows(Gen *, Team, int64_t rows);
/* Adds lines that combine the `value` of all threads of a team; each gets the result. */
void team_combine(Gen *, Team, ReduceKind, char class, const char *value);
/* The value with which a reduction of this kind starts, and the text that reduces a and b to
   one. */
const char *team_start(ReduceKind, char class);
const char *team_fold(Gen *, ReduceKind, char class, const char *a, const char *b);

/* ---- One file for each family of steps. The functions ..._variants return how many kernels there
   are for a step; `variant` counts from 0. */
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
int loop_variants(const Step *);
void loop_write(Gen *);
#endif
