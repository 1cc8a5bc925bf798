/* reals_functions.c -- what is stated about functions of one element (exp, floor, ..) as they occur
   in a question about real numbers:
     - Equal arguments give equal values. If f does not decrease, a <= b gives f(a) <= f(b), and 0
       is one more point. If f is odd, the same holds for a and -b. Values lie within [low, high].
     - floor (ceil(x) is -floor(-x)), round, sign and delta are integers, next to their argument or
       given by its sign.
     - exp, log, erf and sigmoid increase strictly: the order of values gives that of arguments.
     - exp(t) >= 1 + t; 4*sigmoid has a slope of at most 1; s*(1 + e) = e for e = exp(t) and
       s = sigmoid(t).
   In an exact prover only equal arguments are used. */
#include "verifier/reals_inner.h"
#include <math.h>

/* States that a function does not decrease: at1 <= at2 gives value1 <= value2. If it increases
   strictly, the converse holds, too. */
static void say_increasing(Reals *r, Z3_ast when, bool strictly, Z3_ast at1, Z3_ast value1,
                           Z3_ast at2, Z3_ast value2) {
    Z3_ast up = real_le(r, at1, at2), down = real_le(r, at2, at1),
           more = real_le(r, value1, value2), less = real_le(r, value2, value1);
    real_assert_if(r, when, strictly ? Z3_mk_iff(r->z, up, more) : Z3_mk_implies(r->z, up, more));
    real_assert_if(r, when,
                   strictly ? Z3_mk_iff(r->z, down, less) : Z3_mk_implies(r->z, down, less));
}
/* Uses sigmoid' = s*(1 - s) <= 1/4 and 1 - sigmoid(t) = sigmoid(-t). */
static void say_sigmoids(Reals *r, const Point *a, const Point *b) {
    Z3_ast rise = real_times(r, real_number(r, 4), real_minus(r, b->value, a->value)),
           run = real_minus(r, b->at, a->at);
    real_assert(r, Z3_mk_implies(r->z, real_le(r, r->zero, run), real_le(r, rise, run)));
    real_assert(r, Z3_mk_implies(r->z, real_le(r, run, r->zero), real_le(r, run, rise)));
    say_increasing(r, r->yes, true, a->at, a->value, real_minus(r, r->zero, b->at),
                   real_minus(r, r->one, b->value));
}
/* Returns whether the function increases strictly and never reaches its bounds. */
static bool increases(Function f) { return f == FN_EXP || f == FN_SIGMOID || f == FN_ERF; }
/* States how two values of the same function relate. */
static void say_pair(Reals *r, const Point *a, const Point *b) {
    const FunctionFacts *f = function_facts(a->f);
    bool strictly = increases(a->f);
    Z3_ast when = Z3_mk_and(r->z, 2, (Z3_ast[]){a->when, b->when}),
           turned = real_minus(r, r->zero, b->at);
    if (a->when == r->yes && b->when == r->yes) when = r->yes;
    if (r->p->exact || !f->monotone)
        real_assert(
            r, Z3_mk_implies(r->z, real_equal(r, a->at, b->at), real_equal(r, a->value, b->value)));
    else say_increasing(r, when, strictly, a->at, a->value, b->at, b->value);
    if (r->p->exact) return;
    Z3_ast other = f->parity < 0 ? real_minus(r, r->zero, b->value) : b->value;
    if (f->monotone && f->parity < 0)
        say_increasing(r, when, strictly, a->at, a->value, turned, other);
    else if (f->parity)
        real_assert(
            r, Z3_mk_implies(r->z, real_equal(r, a->at, turned), real_equal(r, a->value, other)));
    if (a->f == FN_SIGMOID) say_sigmoids(r, a, b);
}
static void add_point(Reals *r, Function f, Z3_ast at, Z3_ast value, Z3_ast when) {
    Point x = {f, at, value, when};
    if (r->npoint == POINTS_MAX) {
        r->too_large = true;
        return;
    }
    for (int k = 0; k < r->npoint; k++)
        if (r->point[k].f == f) say_pair(r, &r->point[k], &x);
    r->point[r->npoint++] = x;
}
static bool has_point(const Reals *r, Function f) {
    for (int k = 0; k < r->npoint; k++)
        if (r->point[k].f == f) return true;
    return false;
}
/* Notes an integer. Of two integers the greater one is greater by at least 1. */
static void add_whole(Reals *r, Z3_ast v) {
    for (int k = 0; k < r->nwhole; k++) {
        Z3_ast u = r->whole[k];
        real_assert(
            r, Z3_mk_implies(r->z, Z3_mk_lt(r->z, u, v), real_le(r, real_plus(r, u, r->one), v)));
        real_assert(
            r, Z3_mk_implies(r->z, Z3_mk_lt(r->z, v, u), real_le(r, real_plus(r, v, r->one), u)));
    }
    if (r->nwhole < WHOLE_MAX) r->whole[r->nwhole++] = v;
}
/* States what the functions with integer values are. Of round it says only that it is no further
   than 1/2 from its argument, not what it does with ties. */
static void say_whole(Reals *r, Function f, Z3_ast at, Z3_ast value) {
    Z3_ast next = real_plus(r, value, r->one), minus_one = real_number(r, -1);
    Z3_ast above = Z3_mk_lt(r->z, r->zero, at), below = Z3_mk_lt(r->z, at, r->zero),
           twice = real_times(r, real_number(r, 2), real_minus(r, at, value));
    if (f != FN_FLOOR && f != FN_ROUND && f != FN_SIGN && f != FN_DELTA) return;
    while (r->nwhole < 3) { /* -1, 0 and 1 are integers, too */
        r->whole[r->nwhole] = real_number(r, r->nwhole - 1);
        r->nwhole++;
    }
    add_whole(r, value);
    if (f == FN_FLOOR)
        real_assert(
            r, Z3_mk_and(r->z, 2, (Z3_ast[]){real_le(r, value, at), Z3_mk_lt(r->z, at, next)}));
    if (f == FN_ROUND)
        real_assert(r,
                    Z3_mk_and(r->z, 2,
                              (Z3_ast[]){real_le(r, minus_one, twice), real_le(r, twice, r->one)}));
    if (f == FN_SIGN)
        real_assert(r, real_equal(r, value,
                                  Z3_mk_ite(r->z, above, r->one,
                                            Z3_mk_ite(r->z, below, minus_one, r->zero))));
    if (f == FN_DELTA)
        real_assert(
            r, real_equal(r, value, Z3_mk_ite(r->z, real_equal(r, at, r->zero), r->one, r->zero)));
}
void real_add_value(Reals *r, Function f, Z3_ast at, Z3_ast value, Z3_ast when) {
    const FunctionFacts *facts = function_facts(f);
    r->worth_asking = true;
    if (!r->p->exact && isfinite(facts->at_zero) && !has_point(r, f))
        add_point(r, f, r->zero, real_rational(r, ratio((int64_t)(2 * facts->at_zero), 2)), r->yes);
    add_point(r, f, at, value, when);
    if (r->p->exact) return;
    bool strictly = increases(f);
    say_whole(r, f, at, value);
    if (isfinite(facts->low))
        real_assert_if(
            r, when,
            (strictly ? Z3_mk_lt : Z3_mk_le)(r->z, real_number(r, (int64_t)facts->low), value));
    if (isfinite(facts->high))
        real_assert_if(
            r, when,
            (strictly ? Z3_mk_lt : Z3_mk_le)(r->z, value, real_number(r, (int64_t)facts->high)));
    if (f == FN_EXP) real_assert_if(r, when, real_le(r, real_plus(r, r->one, at), value));
}
/* A logarithm log(a) = t is stated as exp(t) = a where a is positive. */
void real_add_function(Reals *r, Function f, Z3_ast at, Z3_ast value) {
    if (f == FN_LOG && !r->p->exact)
        real_add_value(r, FN_EXP, value, at, Z3_mk_lt(r->z, r->zero, at));
    else real_add_value(r, f, at, value, r->yes);
}
void real_relate_sigmoids(Reals *r) {
    int n = r->npoint;
    if (r->p->exact || !has_point(r, FN_EXP)) return;
    for (int k = 0; k < n; k++) {
        const Point x = r->point[k];
        if (x.f != FN_SIGMOID || x.at == r->zero) continue;
        Z3_ast e = real_fresh(r);
        real_assert(r, real_equal(r, real_times(r, x.value, real_plus(r, r->one, e)), e));
        real_add_value(r, FN_EXP, x.at, e, r->yes);
    }
}
