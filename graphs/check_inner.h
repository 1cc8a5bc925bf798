/* check_inner.h -- declares the state of a comparison (check.c), which takes one sample after
   another, and the functions that its files share. */
#ifndef ISOMER_CHECK_INNER_H
#define ISOMER_CHECK_INNER_H
#include "graphs/check.h"
#include "graphs/oracle.h"

typedef struct Sampled {
    World *w;
    Arena *arena;
    Sizes sizes;
    const CheckOptions *o;
    const Graph *a, *b;
    const void **in;                           /* the inputs of the current sample */
    void **out_a, **out_b, **wide_a, **wide_b; /* results by the built-in runtime (out_) and by the
                                                  definitions in double (wide_) */
    void **spare;                              /* results of disturbed runs */
    double **moved; /* by output: how far roundings alone move each element; a difference of up to
                       NOISE_MARGIN times as much is accepted */
    bool by_definitions; /* the graphs are also computed by their definitions: they are small and
                   have definitions throughout */
    bool rounded; /* a graph has constants or real attributes that the other one lacks and that may
                     have been rounded */
    int64_t *in_count, *count; /* number of elements of each input and of each output */
    Domain *domain;            /* of each input of a; valid once `asked` is set */
    bool asked;
    Error *error;
} Sampled;

static inline DType sampled_type(const Sampled *s, int k) {
    return value_type(s->w, s->a->out[k])->dtype;
}
static inline DType sampled_wide_type(DType t) { return dtype_class(t) == 'F' ? DT_DOUBLE : t; }

/* check_moves.c measures how far roundings move each element of the outputs of g and raises
   s->moved accordingly. It is used only if two results differ by more than usual. undisturbed[]
   holds the outputs without disturbance. */
void moves_forget(Sampled *);
void moves_by_definitions(Sampled *, const Graph *, OracleNoise, void *const undisturbed[]);
/* draw: number of the draw, below DISTURBANCES */
void moves_by_run(Sampled *, const Graph *, int draw, void *const undisturbed[]);

/* check_compare.c compares the results of one sample and adds the differences to *sum. */
/* Compares the results of the built-in runtime; adds the differences of each output to kept[], too
   (kept may be NULL). */
void sampled_compare_runs(Sampled *, Difference *sum, Difference *kept);
/* Compares the results in double. */
void sampled_compare_definitions(Sampled *, Difference *sum);
/* Compares what the built-in runtime and the definitions gave for one of the graphs. */
void sampled_compare_kernels(Sampled *, const Graph *, void *const run[], void *const wide[],
                             Difference *sum);
/* Finds the first element that is finite in one graph only. Where an element is infinite or NaN in
   either graph, overwrites b's with a's, so that sampled_compare_runs finds no difference there. */
void sampled_compare_ranges(Sampled *, Difference *);
#endif
