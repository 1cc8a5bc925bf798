/* check_compare.c -- decides which differences between two results count: between results of the
   built-in runtime, between results of the definitions in double, and between the two kinds. */
#include "graphs/check_inner.h"
#include "ops/core/element.h"
#include <math.h>

static bool has_real_attribute(const Op *op) {
    for (int k = 0; k < attrs_count(op->attrs); k++)
        if (op->attrs[k].kind == A_REAL) return true;
    return false;
}

/* Finds the nodes of g whose numbers rules or folding may have rounded: constants and nodes with
   real attributes that `other` does not have (`all`: also those that it has). Sets *any if there
   are some. */
static const bool *rounded_nodes(Sampled *s, const Graph *g, const Graph *other, bool all,
                                 uint32_t *n, bool *any) {
    *n = value_last(s->w) + 1;
    bool *is = ARENA_NEW(s->arena, bool, *n);
    const NodeList live = graph_live(s->w, s->arena, g), known = graph_live(s->w, s->arena, other);
    for (int k = 0; k < live.n; k++) {
        const Node node = node_get(s->w, live.v[k]);
        is[live.v[k]] = !node.nin || has_real_attribute(node.op);
    }
    for (int k = 0; k < known.n && !all; k++) is[known.v[k]] = false;
    for (int k = 0; k < live.n; k++) *any |= is[live.v[k]];
    return is;
}

typedef Tolerance ToleranceOf(const Sampled *, DType);

/* Compares the outputs, whose floats have their own type or, if `wide`, are doubles. `moved`:
   s->moved widens the tolerance. */
static void compare_outputs(Sampled *s, void *const a[], void *const b[], bool wide,
                            ToleranceOf *tolerance, bool moved, Difference each[]) {
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = sampled_type(s, k);
        each[k] = difference_none();
        const TensorPair pair = {wide ? sampled_wide_type(t) : t, a[k], b[k], s->count[k]};
        tensors_compare(pair, tolerance(s, t), moved ? s->moved[k] : NULL, k, &each[k]);
    }
}

static bool any_differs(const Sampled *s, const Difference each[]) {
    for (int k = 0; k < s->a->nout; k++)
        if (each[k].first >= 0) return true;
    return false;
}

/* Adds the difference of each output to *sum and, if kept is not NULL, to kept[]. */
static void take_up(const Sampled *s, const Difference each[], Difference *sum, Difference *kept) {
    for (int k = 0; k < s->a->nout; k++) {
        difference_add(sum, &each[k]);
        if (kept) difference_add(&kept[k], &each[k]);
    }
}

static Tolerance run_tolerance(const Sampled *s, DType t) {
    return classes_tolerance(s->o->classes, t);
}

/* If the results of the built-in runtime differ, disturbs roundings to see how well the result is
   determined at all: first by disturbed graphs (disturb.h), then, if the graphs are small, by
   disturbed computations in double. */
void sampled_compare_runs(Sampled *s, Difference *sum, Difference *kept) {
    Difference *each = ARENA_NEW(s->arena, Difference, s->a->nout);
    compare_outputs(s, s->out_a, s->out_b, false, run_tolerance, false, each);
    if (any_differs(s, each)) {
        const OracleNoise noise = {.own_type = true};
        moves_forget(s);
        for (int draw = 0; draw < DISTURBANCES && any_differs(s, each); draw++) {
            moves_by_run(s, s->a, draw, s->out_a);
            moves_by_run(s, s->b, draw, s->out_b);
            compare_outputs(s, s->out_a, s->out_b, false, run_tolerance, true, each);
        }
        if (any_differs(s, each)) {
            moves_by_definitions(s, s->a, noise, s->wide_a);
            moves_by_definitions(s, s->b, noise, s->wide_b);
            compare_outputs(s, s->out_a, s->out_b, false, run_tolerance, true, each);
        }
    }
    take_up(s, each, sum, kept);
}

/* In double, only constants may differ by a rounding. */
static Tolerance double_tolerance(const Sampled *s, DType t) {
    if (dtype_class(t) != 'F') return (Tolerance){0, 0};
    return (Tolerance){s->rounded ? 8 * dtype_roundoff(t) : 1e-10, 1e-300};
}

void sampled_compare_definitions(Sampled *s, Difference *sum) {
    Difference *each = ARENA_NEW(s->arena, Difference, s->a->nout);
    OracleNoise a = {0}, b = {0};
    const bool all = s->o->classes & CLASS_ROUNDS;
    s->rounded = false;
    a.rounded = rounded_nodes(s, s->a, s->b, all, &a.nrounded, &s->rounded);
    b.rounded = rounded_nodes(s, s->b, s->a, all, &b.nrounded, &s->rounded);
    compare_outputs(s, s->wide_a, s->wide_b, true, double_tolerance, false, each);
    if (any_differs(s, each)) {
        moves_forget(s);
        moves_by_definitions(s, s->a, a, s->wide_a);
        moves_by_definitions(s, s->b, b, s->wide_b);
        compare_outputs(s, s->wide_a, s->wide_b, true, double_tolerance, true, each);
    }
    take_up(s, each, sum, NULL);
}

/* The tolerance is loose, because this comparison tests kernels, not rules. */
static Tolerance kernel_tolerance(const Sampled *s, DType t) {
    (void)s;
    return dtype_class(t) == 'F'
               ? (Tolerance){fmax(classes_tolerance(CLASS_ROUNDS, t).rtol, 1e-2), 1e-6}
               : (Tolerance){INFINITY, INFINITY};
}

/* Whether all operators have definitions and none decides by comparing. Other operators (a sort,
   Unique, ..) run by the same kernel in both cases, and may turn what rounding makes equal or
   unequal into anything. */
static bool all_defined(const Sampled *s, const Graph *g) {
    const NodeList live = graph_live(s->w, s->arena, g);
    for (int k = 0; k < live.n; k++) {
        const Node n = node_get(s->w, live.v[k]);
        if (n.nin && (!op_algebraic(n.op) || n.op->flags & OP_DECIDES)) return false;
    }
    return true;
}

/* Whether g has an operator whose kernel chooses by data (thresholdedrelu). Such a kernel makes
   numbers of NaN and infinity where the definition, a sum of products, spreads them. */
static bool may_choose(const Sampled *s, const Graph *g) {
    const NodeList live = graph_live(s->w, s->arena, g);
    for (int k = 0; k < live.n; k++) {
        const Op *op = node_get(s->w, live.v[k]).op;
        if (op->flags & OP_BY_DATA && op->define && !(op->flags & OP_DECIDES)) return true;
    }
    return false;
}

/* Compares the results of the built-in runtime, converted to double, with those of the definitions.
   Elements are not compared where floats overflow, or where only the definition gives no number. */
void sampled_compare_kernels(Sampled *s, const Graph *g, void *const run[], void *const wide[],
                             Difference *sum) {
    Difference *each = ARENA_NEW(s->arena, Difference, s->a->nout);
    void **as_double = ARENA_NEW(s->arena, void *, s->a->nout);
    const bool chooses = may_choose(s, g);
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = sampled_type(s, k);
        double *x = arena_alloc_raw(s->arena, (size_t)s->count[k] * 8 + 8);
        as_double[k] = dtype_class(t) == 'F' ? x : wide[k];
        for (int64_t i = 0; i < s->count[k] && as_double[k] == x; i++) {
            x[i] = element_real(t, run[k], i);
            const double defined = ((const double *)wide[k])[i];
            if (!isfinite(x[i]) || (chooses && !isfinite(defined))) x[i] = defined;
        }
    }
    compare_outputs(s, wide, as_double, true, kernel_tolerance, false, each);
    if (any_differs(s, each)) {
        moves_forget(s);
        moves_by_definitions(s, g, (OracleNoise){.own_type = true}, wide);
        const int draws = all_defined(s, g) ? 0 : DISTURBANCES;
        for (int draw = 0; draw < draws; draw++) moves_by_run(s, g, draw, run);
        compare_outputs(s, wide, as_double, true, kernel_tolerance, true, each);
    }
    take_up(s, each, sum, NULL);
}

/* Records in *d the first element that is finite in one graph only. Where an element is not finite
   in either result, b's becomes a's, so that sampled_compare_runs finds no difference there. */
void sampled_compare_ranges(Sampled *s, Difference *d) {
    for (int k = 0; k < s->a->nout; k++) {
        const DType t = sampled_type(s, k);
        for (int64_t i = 0; i < s->count[k] && dtype_class(t) == 'F'; i++) {
            const double x = element_real(t, s->out_a[k], i), y = element_real(t, s->out_b[k], i);
            if (isfinite(x) && isfinite(y)) continue;
            element_set_real(t, s->out_b[k], i, x);
            if (isfinite(x) == isfinite(y) || d->first >= 0) continue;
            *d = (Difference){.output = k, .first = i, .a = x, .b = y};
        }
    }
}
