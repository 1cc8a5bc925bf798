/* defined.c -- where is an element defined? Where every partial function that its definition
   evaluates is: 1/a wants a != 0, log(a) wants a > 0, sqrt(a) wants a >= 0, a power wants what its
   exponent requires, and data that say where to read want to be a place on the axis. A division by
   a size of 0 (a mean over nothing) violates a want, too.

   Wants are read off the definitions (import_wants) and brought to lowest terms: a product is not 0
   if none of its factors is, and positive factors do not count. Those of two graphs are compared as
   sets of points, like the elements that are read. What that does not show is asked as a question
   about real numbers. */
#include "verifier/defined.h"
#include "verifier/reals.h"
#include "verifier/signs.h"
#include "verifier/simplify.h"
#include <string.h>

enum { GIVEN_MAX = 16, CONDITIONS_MAX = 16 };

/* ---- wants in lowest terms */

/* The wants of one function, as they are found. */
typedef struct Wants {
    Prover *p;
    Dom ctx;
    int n;
    Nf *out;
} Wants;

/* Writes an atom that is a size or an index as a polynomial. */
static bool place_polynomial(Prover *p, const AtomInfo *a, Poly *out) {
    *out = a->kind == AT_VALUE ? a->index[0] : a->kind == AT_SIZE ? poly_symbol(p->w, a->word) : 0;
    return a->kind == AT_VALUE || a->kind == AT_SIZE;
}
bool want_polynomial(Prover *p, Nf nf, Poly *out) {
    return nf_as_polynomial(p, nf, place_polynomial, out);
}
static bool at_least(Prover *p, Dom ctx, Poly x, int64_t least) {
    Lit l = lit_ge(p, x, poly_int(p->w, least));
    return prover_entails(p, ctx, dom_make(p, 1, &l));
}
/* Returns whether the want on a surely holds where ctx does. */
static bool want_entailed(Prover *p, Dom ctx, Want want, Nf a) {
    Poly x;
    if (want == WANT_NONNEGATIVE)
        return nf_nonnegative(p, a) || (want_polynomial(p, a, &x) && at_least(p, ctx, x, 0));
    return positive_on(p, ctx, a) || positive_on(p, ctx, nf_negated(p, a)) ||
           (want_polynomial(p, a, &x) &&
            (at_least(p, ctx, x, 1) || at_least(p, ctx, poly_scale(p->w, x, -1), 1)));
}
static void push_want(Wants *s, Want want, Nf a, Nf b) {
    if (s->n == WANTS_MAX) prover_fail(s->p, "too many factors in a division");
    s->out[s->n++] = nf_atom(s->p, atom_nested(s->p, AT_PAIR, want, a, b));
}
/* Divides a sum by the factor that its terms share and by its content, with the sign that makes its
   leading coefficient positive. */
static Nf without_common(Prover *p, Nf a, NfTerm common) {
    Ratio c = ratio(1, 1);
    common.c = coefficient_content(p, 1, &a);
    if (lead_term(p, a, &c) >= 0 && c.p < 0) common.c.p = -common.c.p;
    return divide_out(p, a, common);
}
/* Adds wants that together make a != 0: for its factors and for what is left of it without them. */
static void nonzero(Wants *s, Nf a);
static void factors_nonzero(Wants *s, const NfTerm *t) {
    Prover *p = s->p;
    for (int k = 0; k < t->nfactor; k++) {
        const AtomInfo *a = atom_info(p, t->factor[k].atom);
        if (atom_positive(p, t->factor[k].atom)) continue;
        if (a->kind == AT_BASE) nonzero(s, a->a);
        else if (!want_entailed(p, s->ctx, WANT_NONZERO, nf_atom(p, t->factor[k].atom)))
            push_want(s, WANT_NONZERO, nf_atom(p, t->factor[k].atom), 0);
    }
}
static void nonzero(Wants *s, Nf a) {
    Prover *p = s->p;
    if (a && want_entailed(p, s->ctx, WANT_NONZERO, a)) return;
    NfTerm t = a ? nf_term(p, a, 0) : (NfTerm){0};
    if (nf_size(p, a) == 1 && !t.nvar && !t.dom) {
        factors_nonzero(s, &t);
        return;
    }
    if (a) {
        NfTerm common = common_factor(p, 1, &a, true, 0, NULL);
        factors_nonzero(s, &common);
        a = without_common(p, a, common);
    }
    if (!a || !want_entailed(p, s->ctx, WANT_NONZERO, a)) push_want(s, WANT_NONZERO, a, 0);
}
/* Adds the want that a is not negative, after dividing it by positive factors. */
static void nonnegative(Wants *s, Nf a) {
    Prover *p = s->p;
    if (want_entailed(p, s->ctx, WANT_NONNEGATIVE, a)) return;
    NfTerm common = common_factor(p, 1, &a, false, 0, NULL);
    NfTerm positive = {.c = coefficient_content(p, 1, &a)};
    for (int k = 0; k < common.nfactor; k++)
        if (atom_positive(p, common.factor[k].atom))
            positive = term_factor(p, positive, common.factor[k].atom, common.factor[k].power);
    push_want(s, WANT_NONNEGATIVE, divide_out(p, a, positive), 0);
}
static void add_want(Wants *s, Want want, Nf a, Nf b) {
    Prover *p = s->p;
    if (want == WANT_NONZERO) nonzero(s, a);
    else if (want == WANT_NONNEGATIVE) nonnegative(s, a);
    else if (want == WANT_BOUNDED) {
        if (!want_entailed(p, s->ctx, WANT_NONNEGATIVE, nf_negated(p, a))) push_want(s, want, a, 0);
    } else if (want == WANT_PLACE || !positive_on(p, s->ctx, a)) push_want(s, want, a, b);
}
/* For a divisor that is a product: adds wants that none of its factors underflows. 1/exp(t) is
   exp(-t), and 1/sigmoid(t) is 1 + exp(-t); both divide by something that may underflow. In forms
   exp(-t) is a power of exp(t). */
static void factors_below(Wants *s, const NfTerm *t) {
    Prover *p = s->p;
    for (int k = 0; k < t->nfactor; k++) {
        const AtomInfo *f = atom_info(p, t->factor[k].atom);
        const Ratio power = t->factor[k].power;
        if (f->kind != AT_FN) continue;
        if (f->word == FN_EXP || (f->word == FN_SIGMOID && power.p > 0))
            add_want(s, WANT_BOUNDED, nf_scale(p, f->a, ratio(power.p > 0 ? -1 : 1, 1)), 0);
    }
}
/* Returns whether the term is a positive number times exp(*e), or nearly so: sigmoid(t) underflows
   like exp(min(t, 0)). */
static bool underflows_like_exp(Prover *p, Dom ctx, const NfTerm *t, Nf *e) {
    *e = 0;
    for (int k = 0; k < t->nfactor; k++) {
        const AtomInfo *f = atom_info(p, t->factor[k].atom);
        const Ratio power = t->factor[k].power;
        const bool sigmoid = f->kind == AT_FN && f->word == FN_SIGMOID && power.p > 0;
        if (!sigmoid && (f->kind != AT_FN || f->word != FN_EXP)) return false;
        const Nf of = sigmoid ? nf_negated(p, apply_max2(p, ctx, nf_negated(p, f->a), 0)) : f->a;
        *e = nf_add(p, *e, nf_scale(p, of, power));
    }
    return t->c.p > 0 && t->nfactor;
}
/* Returns whether the term takes exp, log or a root, or a function that approaches a bound without
   reaching it. As a float such a function may reach the bound, or cancel against another term. */
static bool takes_function(Prover *p, const NfTerm *t) {
    for (int k = 0; k < t->nfactor; k++) {
        const AtomInfo *f = atom_info(p, t->factor[k].atom);
        if (f->kind == AT_FN && (f->word == FN_EXP || f->word == FN_LOG || f->word == FN_SIGMOID ||
                                 f->word == FN_TANH || f->word == FN_ERF))
            return true;
        if (t->factor[k].power.q != 1) return true;
    }
    return false;
}
/* Adds wants that a divisor, or the argument of log, does not underflow to 0. A sum of exponentials
   underflows where the greatest of them does, whatever other terms it has that may be 0. Where
   functions keep a sum from being 0 in another way, as in x + sqrt(x^2 + 1), rounding may make it
   0; then its reciprocal must not overflow. */
static void exponents_below(Wants *s, Nf a) {
    enum { FEW = 8 };
    Prover *p = s->p;
    Part part[FEW];
    const int n = nf_size(p, a);
    int nexponent = 0;
    bool function = false, other = false;
    for (int k = 0; k < n; k++) {
        NfTerm t = nf_term(p, a, k);
        Nf e;
        if (n == 1 && !t.nvar) {
            factors_below(s, &t);
            return;
        }
        function |= takes_function(p, &t);
        if (underflows_like_exp(p, s->ctx, &t, &e)) {
            if (nexponent++ < FEW) part[nexponent - 1] = (Part){t.nvar, t.var, t.dom, e};
        } else if (!nf_nonnegative(p, nf_of(p, t))) other = true;
        else if (!takes_function(p, &t) && positive_on(p, s->ctx, nf_of(p, t))) return;
    }
    if (!function || (other && positive_on(p, s->ctx, a))) return;
    const bool few = !other && nexponent && nexponent <= FEW;
    const Nf least =
        few ? apply_max(p, s->ctx, nexponent, part) : apply_function(p, s->ctx, FN_LOG, a);
    add_want(s, WANT_BOUNDED, nf_negated(p, least), 0);
}
int wants_of_function(Prover *p, Dom ctx, Function f, Nf a, Nf out[WANTS_MAX]) {
    Wants s = {p, ctx, 0, out};
    if (f == FN_RECIP || f == FN_LOG) exponents_below(&s, a);
    if (f == FN_RECIP || f == FN_LOG) add_want(&s, WANT_NONZERO, a, 0);
    if (f == FN_EXP) add_want(&s, WANT_BOUNDED, a, 0);
    if (f == FN_LOG || f == FN_SQRT) add_want(&s, WANT_NONNEGATIVE, a, 0);
    return s.n;
}
int wants_of_power(Prover *p, Dom ctx, Nf a, Nf b, Nf out[WANTS_MAX]) {
    Wants s = {p, ctx, 0, out};
    Ratio c;
    const bool constant = nf_constant(p, b, &c);
    if (!constant) add_want(&s, WANT_POWER, a, b);
    if (constant && c.p < 0) exponents_below(&s, a);
    if (constant && c.p < 0) add_want(&s, WANT_NONZERO, a, 0);
    if (constant && c.q != 1) add_want(&s, WANT_NONNEGATIVE, a, 0);
    return s.n;
}
/* Adds a want about the sums in a, or about a if it is not a sum, without the factors that all
   terms of a sum share. */
static void add_rounding(Wants *s, Want want, Nf a) {
    Prover *p = s->p;
    const NfTerm t = a ? nf_term(p, a, 0) : (NfTerm){0};
    if (nf_size(p, a) == 1 && !t.nvar && !t.dom) {
        for (int k = 0; k < t.nfactor; k++) {
            const AtomInfo *f = atom_info(p, t.factor[k].atom);
            if (f->kind == AT_BASE) add_rounding(s, want, f->a);
            else push_want(s, want, nf_atom(p, t.factor[k].atom), 0);
        }
        if (t.nfactor) return;
    } else if (a) a = without_common(p, a, common_factor(p, 1, &a, true, 0, NULL));
    push_want(s, want, a, 0);
}
int wants_of_rounding(Prover *p, Dom ctx, bool sign, bool sigmoid, Nf a, Nf out[WANTS_MAX]) {
    Wants s = {p, ctx, 0, out};
    if (sign) add_rounding(&s, WANT_SIGN_KEPT, a);
    if (sigmoid) add_rounding(&s, WANT_ACCURATE, a);
    return s.n;
}
bool wants_something(const ExNode *x) {
    return x->kind == EX_POW || (x->kind == EX_FN && (x->word == FN_RECIP || x->word == FN_LOG ||
                                                      x->word == FN_SQRT || x->word == FN_EXP));
}
/* An infinite argument may give a finite number: relu(-inf) is 0. */
bool hides_infinity(const ExNode *x) {
    return x->kind == EX_MAX2 || x->kind == EX_MIN2 || x->kind == EX_MAXIMUM ||
           (x->kind == EX_FN && (x->word == FN_SIGMOID || x->word == FN_TANH || x->word == FN_ERF ||
                                 x->word == FN_SIGN));
}

/* ---- what follows */

const AtomInfo *want_atom(Prover *p, Nf want) {
    Ratio c;
    return atom_info(p, nf_body(p, want, 0, &c)->term.factor[0].atom);
}
/* The part with its want replaced by another one on the same arguments. */
static Part part_with(Prover *p, const Part *part, Want want) {
    Part x = *part;
    const AtomInfo *a = want_atom(p, x.nf);
    x.nf = nf_atom(p, atom_nested(p, AT_PAIR, want, a->a, a->b));
    return x;
}
void wants_hide(Prover *p, Parts *s, int from) {
    for (int k = from; k < s->n; k++)
        if (want_atom(p, s->v[k].nf)->word == WANT_BOUNDED)
            s->v[k] = part_with(p, &s->v[k], WANT_BOUNDED_HIDDEN);
}
/* Returns whether the want is about floats, not about where an element is defined. */
static bool is_about_floats(const AtomInfo *want) { return want->word >= WANT_BOUNDED; }
bool wants_covered(Prover *p, Dom ctx, const Parts *given, const Part *x) {
    Part *all = ARENA_NEW(p->arena, Part, given->n + 1);
    if (given->n) memcpy(all, given->v, sizeof *all * (size_t)given->n);
    all[given->n] = *x;
    return given->n && atoms_equal(p, ctx, atom_parts(p, AT_MAX, given->n, given->v),
                                   atom_parts(p, AT_MAX, given->n + 1, all));
}
/* Sets *out to the argument of a given want at the point of x, with variables named like those of
   x. False if the given want need not hold there. */
static bool at_point(Prover *p, Dom here, const Part *given, const Part *x, Nf *out) {
    Poly to[RANK_MAX * 2];
    if (given->nvar && (given->nvar != x->nvar || given->nvar > RANK_MAX * 2)) return false;
    for (int k = 0; k < given->nvar; k++) to[k] = poly_symbol(p->w, x->var[k]);
    Map m = {given->nvar, given->var, to};
    *out = nf_subst(p, want_atom(p, given->nf)->a, m);
    return prover_entails(p, here, dom_subst(p, given->dom, m));
}
/* Returns whether some point of the part, found by trying values for its variables from number k
   on, has this form and lies in the part's domain. */
static bool takes_value(Prover *p, Dom ctx, Part x, int k, Nf value) {
    Ratio c;
    if (k == x.nvar) return x.nf == value && prover_entails(p, ctx, x.dom);
    const BodyInfo *b = nf_size(p, value) ? nf_body(p, value, 0, &c) : NULL;
    for (int j = 0; b && j < b->nfree; j++) {
        Poly to = poly_symbol(p->w, b->free[j]);
        Map m = {1, &x.var[k], &to};
        Part y = {x.nvar, x.var, dom_subst(p, x.dom, m), nf_subst(p, x.nf, m)};
        if (takes_value(p, ctx, y, k + 1, value)) return true;
    }
    return false;
}
/* Returns whether a is b - max{..} where b is one of the parts of the maximum at some point, so
   that a <= 0. */
static bool below_maximum(Prover *p, Dom ctx, Nf a) {
    int n = nf_size(p, a);
    for (int k = 0; k < n; k++) {
        NfTerm t = nf_term(p, a, k);
        const AtomInfo *m = t.nfactor == 1 ? atom_info(p, t.factor[0].atom) : NULL;
        if (!m || m->kind != AT_MAX || t.nvar || t.dom || !ratio_is(t.c, -1) ||
            !ratio_is(t.factor[0].power, 1))
            continue;
        Nf value = nf_add(p, a, nf_atom(p, t.factor[0].atom));
        for (int j = 0; j < m->npart; j++)
            if (takes_value(p, ctx, part_open(p, &m->part[j]), 0, value)) return true;
    }
    return false;
}
/* A WantRange sets the Dom to conditions that hold if the want does. False if the want says nothing
   of this kind. */
typedef bool WantRange(Prover *, const AtomInfo *want, Dom *);

/* What holds under `at`, together with what the given wants say there. */
static Dom with_given(Prover *p, Dom at, const Parts *given, WantRange *range) {
    Dom here = at, other;
    for (int k = 0; k < given->n; k++) {
        const Part *g = &given->v[k];
        if (!g->nvar && range(p, want_atom(p, g->nf), &other) && prover_entails(p, at, g->dom))
            here = dom_and(p, here, other);
    }
    return here;
}
/* Sets *range to the range that a WANT_POINT wants to have a point. False if it was simplified to
   something else. */
static bool range_of(Prover *p, const AtomInfo *want, Part *range) {
    if (want->word != WANT_POINT) return false;
    const AtomInfo *most = nf_size(p, want->a) == 1 ? want_atom(p, want->a) : NULL;
    if (!most || most->kind != AT_MAX || most->npart != 1) return false;
    *range = part_open(p, &most->part[0]);
    return true;
}
static bool point_range(Prover *p, const AtomInfo *want, Dom *d) {
    Part range;
    if (!range_of(p, want, &range)) return false;
    return *d = range.dom, true;
}
/* Returns whether the range of a WANT_POINT is shown to have a point if the ranges of the given
   ones have. */
static bool has_point(Prover *p, Dom ctx, const Parts *given, const Part *part) {
    const Part x = part_open(p, part);
    Part range;
    if (!range_of(p, want_atom(p, x.nf), &range)) return false;
    const Dom here = with_given(p, dom_and(p, ctx, x.dom), given, point_range);
    for (int k = 0; k < range.nvar; k++)
        if (!project(p, &range.dom, range.var[k], 0, NULL)) return false;
    return prover_entails(p, here, range.dom);
}
/* Asks whether a want follows as a statement about the signs of real numbers: what is given is not
   0, or not negative. For WANT_BOUNDED the statement is that the argument of exp is at most 0, or
   at most one that is given. */
static bool by_reals(Prover *p, Dom ctx, const Parts *given, const Part *part) {
    Part x = part_open(p, part);
    const AtomInfo *a = want_atom(p, x.nf);
    Dom here = dom_and(p, ctx, x.dom);
    RealSign sign[2 * GIVEN_MAX], goal = {a->a, a->word == WANT_NONZERO};
    int n = 0;
    bool bounded = a->word == WANT_BOUNDED;
    if (bounded) goal.nf = nf_negated(p, a->a);
    if (bounded && below_maximum(p, here, a->a)) return true;
    if (!bounded && a->word != WANT_NONZERO && a->word != WANT_NONNEGATIVE) return false;
    for (int k = 0; k < given->n && n < 2 * GIVEN_MAX - 1; k++) {
        Part g = part_open(p, &given->v[k]);
        const uint32_t word = want_atom(p, g.nf)->word;
        Nf of;
        bool useful =
            bounded ? word == WANT_BOUNDED : word == WANT_NONZERO || word == WANT_NONNEGATIVE;
        if (!useful || !at_point(p, here, &g, &x, &of)) continue;
        if (bounded) of = nf_add(p, a->a, nf_negated(p, of));
        if (bounded || word == WANT_NONNEGATIVE) sign[n++] = (RealSign){of, false};
        if (bounded || word == WANT_NONZERO) sign[n++] = (RealSign){of, true};
    }
    return reals_follow(p, here, n, sign, goal);
}

/* ---- conditions on sizes with which it would follow */

static void add_condition(Prover *p, Dom ctx, Lack *lack, Lit l) {
    const Symbol *v;
    if (poly_variables(p, l.p, &v) || prover_entails(p, ctx, dom_make(p, 1, &l))) return;
    for (int k = 0; k < lack->ncondition; k++)
        if (lack->condition[k].p == l.p) return;
    if (lack->ncondition < CONDITIONS_MAX) lack->condition[lack->ncondition++] = l;
}
Lack wants_lack(Prover *p, Dom ctx, const Parts *given, const Part *x) {
    Poly size;
    Lack found = {.want = x->nf}, *lack = &found;
    const AtomInfo *a = want_atom(p, x->nf);
    lack->condition = ARENA_NEW(p->arena, Lit, CONDITIONS_MAX);
    if (a->word == WANT_NONZERO && want_polynomial(p, a->a, &size))
        add_condition(p, ctx, lack, lit_ge(p, size, poly_int(p->w, 1)));
    for (int k = 0; k < given->n; k++) {
        Part g = part_open(p, &given->v[k]);
        for (int j = 0; j < g.nvar; j++)
            if (!project(p, &g.dom, g.var[j], 0, NULL)) break;
        Lits l = dom_lits(p, g.dom);
        for (int j = 0; j < l.n; j++) add_condition(p, ctx, lack, l.v[j]);
    }
    return found;
}

/* Returns whether the want holds by itself, at the indices at which the output uses it. */
static bool holds_anyway(Prover *p, Dom ctx, const Part *part) {
    Part x = part_open(p, part);
    const AtomInfo *a = want_atom(p, x.nf);
    return (a->word == WANT_NONZERO || a->word == WANT_NONNEGATIVE) &&
           want_entailed(p, dom_and(p, ctx, x.dom), (Want)a->word, a->a);
}
/* Adds to ctx that the sizes by which the left side divides are at least 1. */
static Dom with_sizes(Prover *p, Dom ctx, const Parts *given) {
    for (int k = 0; k < given->n; k++) {
        Poly size;
        const AtomInfo *a = want_atom(p, given->v[k].nf);
        if (a->word == WANT_NONZERO && !given->v[k].nvar && !given->v[k].dom &&
            want_polynomial(p, a->a, &size) && at_least(p, ctx, size, 0))
            ctx = dom_with(p, ctx, lit_ge(p, size, poly_int(p->w, 1)));
    }
    return ctx;
}
bool wants_follow(Prover *p, Dom ctx, const Parts *given, const Parts *wanted, bool floats,
                  Lack *lack) {
    if (given->too_many || wanted->too_many) return false;
    ctx = with_sizes(p, ctx, given);
    for (int k = 0; k < wanted->n; k++) {
        const AtomInfo *want = want_atom(p, wanted->v[k].nf);
        if (is_about_floats(want) != floats) continue;
        const bool hidden = want->word == WANT_BOUNDED_HIDDEN;
        Part seen = hidden ? part_with(p, &wanted->v[k], WANT_BOUNDED) : wanted->v[k];
        const Part *x = &seen;
        if (holds_anyway(p, ctx, x) || wants_covered(p, ctx, given, x) ||
            has_point(p, ctx, given, x) || by_reals(p, ctx, given, x))
            continue;
        /* A number whose sign rounding may change is no more accurate. */
        seen = part_with(p, &seen, WANT_SIGN_KEPT);
        if (want->word == WANT_ACCURATE && wants_covered(p, ctx, given, &seen)) continue;
        *lack = wants_lack(p, ctx, given, &wanted->v[k]);
        return false;
    }
    return true;
}
