/* check_inner.h -- two graphs while they are compared (check.c) on one sample after another. */
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
    const void **in;
    void **out_a, **out_b, **wide_a,
        **wide_b;   /* by the built-in runtime; by the definitions in double */
    void **spare;   /* for results that are only looked at */
    double **moved; /* by output: how far roundings move each element; NOISE_MARGIN times that is
                       no difference */
    bool small;     /* the definitions are computed too */
    bool rounded;   /* constants were made that the other graph does not have */
    int64_t *in_count, *count; /* elements of each input, each output */
    Domain *domain;            /* of each input of a, once it was asked for */
    bool asked;
    Error *error;
} Sampled;

static inline DType sampled_type(const Sampled *s, int k) {
    return value_type(s->w, s->a->out[k])->dtype;
}
static inline DType sampled_wide_type(DType t) { return dtype_class(t) == 'F' ? DT_DOUBLE : t; }

/* check_moves.c: how far roundings move each element of g's outputs, added to s->moved; computed
   only if two results differ by more than usual. undisturbed[]: the outputs without them. */
void moves_forget(Sampled *);
void moves_by_definitions(Sampled *, const Graph *, OracleNoise, void *const undisturbed[]);
/* One of DISTURBANCES draws. */
void moves_by_run(Sampled *, const Graph *, int draw, void *const undisturbed[]);

/* check_compare.c: the results of one sample; what differs is added to *sum. */
/* By the built-in runtime; kept[], by output: NULL or added to likewise. */
void sampled_compare_runs(Sampled *, Difference *sum, Difference *kept);
void sampled_compare_definitions(Sampled *, Difference *sum);
/* What the built-in runtime gave for one of the graphs against its definitions. */
void sampled_compare_kernels(Sampled *, const Graph *, void *const run[], void *const wide[],
                             Difference *sum);
void sampled_compare_ranges(Sampled *, Difference *);
#endif
