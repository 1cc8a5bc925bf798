/* reals.c -- the last resort for a difference that did not cancel: is it 0 for all real values of
   its atoms? Every atom becomes a real constant of Z3 about which only true facts are stated, so
   that "unsatisfiable" (the difference is not 0) carries over to what the atoms stand for. About
   what is not understood, a sum over variables for instance, nothing is stated. The facts:
   - Maximum m: it is the value of one of its parts and at least each of them (Z3 splits cases).
     Over variables, m is the value at some point, of which only is known that it is in the part's
     domain; any other maximum over these parts is at least its value at that point.
   - Powers, total as in normal.h. v = x^-1: x*v = 1 where x != 0, else v = 0. v = x^(1/q): v >= 0
     and v^q = x where x >= 0, else v = 0.
   - Functions: equal arguments give equal values. Of a function that does not decrease: a <= b
   gives f(a) <= f(b), with 0 as one more point. Of an odd one: the same for a and -b. Values lie
   within [low, high].
   - floor (ceil(x) is -floor(-x)), round, sign and delta are integers, next to their argument or
   given by its sign.
   - exp, log, erf and sigmoid increase strictly: the order of values gives that of the arguments.
   - exp(s)*exp(t) = exp(s + t) >= 1 + s + t; 4*sigmoid has a slope of at most 1; with e = exp(t)
   and s = sigmoid(t), s*(1 + e) = e. In exact mode (import.h) only maxima and equal arguments are
   used. */
#include "verifier/reals.h"
#include <math.h>
#include <string.h>
#include <z3.h>

enum {
    KNOWN_MAX = 120,
    PARTS_MAX = 24,
    CHOICES_MAX = 24,
    VARIABLES_MAX = 8,
    WHOLE_MAX = 16,
    POINTS_MAX = 24,
    ROOT_MAX = 8,
    POWER_MAX = 16,
    LIMIT = 400000
};
typedef struct Point { /* value = f(at), where `when` holds */
    Function f;
    Z3_ast at, value, when;
} Point;
/* Part `number` of a maximum, at a point of its own where the greatest is if it is in this part. */
typedef struct Choice {
    const AtomInfo *most;
    int number;
    Symbol *var;
    Dom dom;
    Z3_ast greatest, here;
} Choice;
typedef struct Reals {
    Prover *p;
    Dom ctx;
    Z3_context z;
    Z3_solver s;
    Z3_sort real;
    Z3_ast zero, one, yes;
    Z3_ast under; /* what is looked at is at a point of its domain if this holds */
    int nknown, npoint, nfresh;
    const void *key[KNOWN_MAX]; /* of an atom or of the body of a term */
    Z3_ast value[KNOWN_MAX];
    Nf stands[KNOWN_MAX]; /* what the value is of */
    Point point[POINTS_MAX];
    int nwhole;
    Z3_ast whole[WHOLE_MAX]; /* integers */
    int nchoice;
    Choice choice[CHOICES_MAX];
    int nsaid, roomsaid;
    Z3_ast *said;            /* what holds, as it was said, where it is collected */
    bool related, too_large; /* more than the sign is stated about some atom */
} Reals;

/* ---- terms of Z3 */

static void ignore_error(Z3_context z, Z3_error_code code) {
    (void)z;
    (void)code;
}
static Z3_ast fresh_real(Reals *r) {
    return Z3_mk_const(r->z, Z3_mk_int_symbol(r->z, r->nfresh++), r->real);
}
static Z3_ast real_number(Reals *r, int64_t v) { return Z3_mk_int64(r->z, v, r->real); }
static Z3_ast plus(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_add(r->z, 2, (Z3_ast[]){a, b}); }
static Z3_ast minus(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_sub(r->z, 2, (Z3_ast[]){a, b}); }
static Z3_ast times(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_mul(r->z, 2, (Z3_ast[]){a, b}); }
static Z3_ast product(Reals *r, unsigned n, const Z3_ast *v) {
    return n == 1 ? v[0] : Z3_mk_mul(r->z, n, v);
}
static Z3_ast le(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_le(r->z, a, b); }
static Z3_ast equal(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_eq(r->z, a, b); }
static void assert_real(Reals *r, Z3_ast x) {
    Z3_solver_assert(r->z, r->s, x);
    if (!trace_collects(r->p->trace)) return;
    ARENA_GROW(r->p->arena, r->said, r->roomsaid, r->nsaid + 1);
    r->said[r->nsaid++] = x;
}
static void say_if(Reals *r, Z3_ast when, Z3_ast x) {
    assert_real(r, when == r->yes ? x : Z3_mk_implies(r->z, when, x));
}
static Z3_ast rational(Reals *r, Ratio c) {
    return c.q == 1 ? real_number(r, c.p)
                    : Z3_mk_div(r->z, real_number(r, c.p), real_number(r, c.q));
}
static Z3_ast known_real(const Reals *r, const void *key) {
    for (int k = 0; k < r->nknown; k++)
        if (r->key[k] == key) return r->value[k];
    return NULL;
}
static Z3_ast remember_real(Reals *r, const void *key, Nf of, Z3_ast value) {
    if (r->nknown == KNOWN_MAX) {
        r->too_large = true;
        return value;
    }
    r->key[r->nknown] = key;
    r->stands[r->nknown] = of;
    return r->value[r->nknown++] = value;
}

/* ---- what is known of functions */

/* Not decreasing: at1 <= at2 gives value1 <= value2; strictly increasing: and the other way
   round. */
static void say_increasing(Reals *r, Z3_ast when, bool strictly, Z3_ast at1, Z3_ast value1,
                           Z3_ast at2, Z3_ast value2) {
    Z3_ast up = le(r, at1, at2), down = le(r, at2, at1), more = le(r, value1, value2),
           less = le(r, value2, value1);
    say_if(r, when, strictly ? Z3_mk_iff(r->z, up, more) : Z3_mk_implies(r->z, up, more));
    say_if(r, when, strictly ? Z3_mk_iff(r->z, down, less) : Z3_mk_implies(r->z, down, less));
}
/* sigmoid' = s*(1 - s) <= 1/4, and 1 - sigmoid(t) is sigmoid(-t). */
static void say_sigmoids(Reals *r, const Point *a, const Point *b) {
    Z3_ast rise = times(r, real_number(r, 4), minus(r, b->value, a->value)),
           run = minus(r, b->at, a->at);
    assert_real(r, Z3_mk_implies(r->z, le(r, r->zero, run), le(r, rise, run)));
    assert_real(r, Z3_mk_implies(r->z, le(r, run, r->zero), le(r, run, rise)));
    say_increasing(r, r->yes, true, a->at, a->value, minus(r, r->zero, b->at),
                   minus(r, r->one, b->value));
}
/* Strictly, and never reaching its bounds. */
static bool increases(Function f) { return f == FN_EXP || f == FN_SIGMOID || f == FN_ERF; }
static void say_pair(Reals *r, const Point *a, const Point *b) {
    const FunctionFacts *f = function_facts(a->f);
    bool strictly = increases(a->f);
    Z3_ast when = Z3_mk_and(r->z, 2, (Z3_ast[]){a->when, b->when}),
           turned = minus(r, r->zero, b->at);
    if (a->when == r->yes && b->when == r->yes) when = r->yes;
    if (r->p->exact || !f->monotone)
        assert_real(r, Z3_mk_implies(r->z, equal(r, a->at, b->at), equal(r, a->value, b->value)));
    else say_increasing(r, when, strictly, a->at, a->value, b->at, b->value);
    if (r->p->exact) return;
    Z3_ast other = f->parity < 0 ? minus(r, r->zero, b->value) : b->value;
    if (f->monotone && f->parity < 0)
        say_increasing(r, when, strictly, a->at, a->value, turned, other);
    else if (f->parity)
        assert_real(r, Z3_mk_implies(r->z, equal(r, a->at, turned), equal(r, a->value, other)));
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
/* Of two integers the greater one is greater by at least 1. */
static void add_whole(Reals *r, Z3_ast v) {
    for (int k = 0; k < r->nwhole; k++) {
        Z3_ast u = r->whole[k];
        assert_real(r, Z3_mk_implies(r->z, Z3_mk_lt(r->z, u, v), le(r, plus(r, u, r->one), v)));
        assert_real(r, Z3_mk_implies(r->z, Z3_mk_lt(r->z, v, u), le(r, plus(r, v, r->one), u)));
    }
    if (r->nwhole < WHOLE_MAX) r->whole[r->nwhole++] = v;
}
/* What the functions with values in the integers are: of ties round is only known to be no further
   than 1/2. */
static void say_whole(Reals *r, Function f, Z3_ast at, Z3_ast value) {
    Z3_ast next = plus(r, value, r->one), minus_one = real_number(r, -1);
    Z3_ast above = Z3_mk_lt(r->z, r->zero, at), below = Z3_mk_lt(r->z, at, r->zero),
           twice = times(r, real_number(r, 2), minus(r, at, value));
    if (f != FN_FLOOR && f != FN_ROUND && f != FN_SIGN && f != FN_DELTA) return;
    while (r->nwhole < 3) { /* -1, 0 and 1 are integers, too */
        r->whole[r->nwhole] = real_number(r, r->nwhole - 1);
        r->nwhole++;
    }
    add_whole(r, value);
    if (f == FN_FLOOR)
        assert_real(r, Z3_mk_and(r->z, 2, (Z3_ast[]){le(r, value, at), Z3_mk_lt(r->z, at, next)}));
    if (f == FN_ROUND)
        assert_real(r,
                    Z3_mk_and(r->z, 2, (Z3_ast[]){le(r, minus_one, twice), le(r, twice, r->one)}));
    if (f == FN_SIGN)
        assert_real(
            r, equal(r, value,
                     Z3_mk_ite(r->z, above, r->one, Z3_mk_ite(r->z, below, minus_one, r->zero))));
    if (f == FN_DELTA)
        assert_real(r, equal(r, value, Z3_mk_ite(r->z, equal(r, at, r->zero), r->one, r->zero)));
}
static void add_value(Reals *r, Function f, Z3_ast at, Z3_ast value, Z3_ast when) {
    const FunctionFacts *facts = function_facts(f);
    r->related = true;
    if (!r->p->exact && isfinite(facts->at_zero) && !has_point(r, f))
        add_point(r, f, r->zero, rational(r, ratio((int64_t)(2 * facts->at_zero), 2)), r->yes);
    add_point(r, f, at, value, when);
    if (r->p->exact) return;
    bool strictly = increases(f);
    say_whole(r, f, at, value);
    if (isfinite(facts->low))
        say_if(r, when,
               (strictly ? Z3_mk_lt : Z3_mk_le)(r->z, real_number(r, (int64_t)facts->low), value));
    if (isfinite(facts->high))
        say_if(r, when,
               (strictly ? Z3_mk_lt : Z3_mk_le)(r->z, value, real_number(r, (int64_t)facts->high)));
    if (f == FN_EXP) say_if(r, when, le(r, plus(r, r->one, at), value));
}
/* log(a) is the t with exp(t) = a, where a is positive. */
static void add_function(Reals *r, Function f, Z3_ast at, Z3_ast value) {
    if (f == FN_LOG && !r->p->exact) add_value(r, FN_EXP, value, at, Z3_mk_lt(r->z, r->zero, at));
    else add_value(r, f, at, value, r->yes);
}
/* Where exponentials or logarithms occur together with sigmoids: e = exp(t) for sigmoid(t). */
static void relate_sigmoids(Reals *r) {
    int n = r->npoint;
    if (r->p->exact || !has_point(r, FN_EXP)) return;
    for (int k = 0; k < n; k++) {
        const Point x = r->point[k];
        if (x.f != FN_SIGMOID || x.at == r->zero) continue;
        Z3_ast e = fresh_real(r);
        assert_real(r, equal(r, times(r, x.value, plus(r, r->one, e)), e));
        add_value(r, FN_EXP, x.at, e, r->yes);
    }
}

/* ---- forms */

static Z3_ast translate_form(Reals *r, Nf);

/* The part with its variables named so. */
static Nf part_at(Reals *r, const Part *x, const Symbol *var, Dom *dom) {
    Poly to[VARIABLES_MAX];
    for (int k = 0; k < x->nvar; k++) to[k] = poly_symbol(r->p->w, var[k]);
    Map m = {x->nvar, x->var, to};
    *dom = dom_subst(r->p, x->dom, m);
    return nf_subst(r->p, x->nf, m);
}
/* A form at the point of a choice: a maximum in it may be of nothing if the point is not in its
   domain. */
static Z3_ast at_point(Reals *r, Z3_ast here, Nf nf) {
    Z3_ast before = r->under;
    r->under = here;
    Z3_ast v = translate_form(r, nf);
    r->under = before;
    return v;
}
/* A part over variables: "the greatest is this part at a point of its domain" for a point of which
   nothing else is known. */
static Z3_ast choose_part(Reals *r, const AtomInfo *a, int k, Z3_ast greatest) {
    const Part *x = &a->part[k];
    if (r->p->exact || x->nvar > VARIABLES_MAX || r->nchoice == CHOICES_MAX) return r->yes;
    Choice *c = &r->choice[r->nchoice++];
    *c = (Choice){a,        k,        ARENA_NEW(r->p->arena, Symbol, x->nvar + 1),
                  DOM_TRUE, greatest, Z3_mk_fresh_const(r->z, "here", Z3_mk_bool_sort(r->z))};
    for (int j = 0; j < x->nvar; j++) c->var[j] = variable_new(r->p);
    Z3_ast here = c->here, value = at_point(r, here, part_at(r, x, c->var, &c->dom));
    return Z3_mk_and(r->z, 2, (Z3_ast[]){here, equal(r, greatest, value)});
}
/* It is the value of one of its parts. A maximum of nothing does not come here: it was imported
   under the condition that it is not empty, or, in exact mode, only parts without variables and
   conditions are looked at. */
static Z3_ast maximum(Reals *r, const AtomInfo *a, Nf of) {
    Z3_ast m = fresh_real(r), is[PARTS_MAX];
    if (!a->npart || a->npart > PARTS_MAX) return m;
    remember_real(r, a, of, m);
    for (int k = 0; k < a->npart; k++) {
        if (a->part[k].nvar || a->part[k].dom) {
            is[k] = choose_part(r, a, k, m);
            continue;
        }
        Z3_ast part = translate_form(r, a->part[k].nf);
        assert_real(r, le(r, part, m));
        is[k] = equal(r, m, part);
    }
    say_if(r, r->under, Z3_mk_or(r->z, (unsigned)a->npart, is));
    r->related = true;
    return m;
}
/* The point of the choice is one of the part, too, if its conditions follow there: then the other
   maximum is at least what the part is there. */
static void compare_parts(Reals *r, const Choice *c, const Choice *other) {
    const Part *x = &other->most->part[other->number], *mine = &c->most->part[c->number];
    Dom dom;
    if (other == c || x->nvar != mine->nvar) return;
    Nf nf = part_at(r, x, c->var, &dom);
    if (dom != c->dom && !prover_entails(r->p, dom_and(r->p, r->ctx, c->dom), dom)) return;
    assert_real(r, Z3_mk_implies(r->z, c->here, le(r, at_point(r, c->here, nf), other->greatest)));
}
static void compare_all(Reals *r) {
    for (int k = 0; k < r->nchoice; k++)
        for (int j = 0; j < r->nchoice; j++) compare_parts(r, &r->choice[k], &r->choice[j]);
}
static Z3_ast atom(Reals *r, Atom x) {
    const AtomInfo *a = atom_info(r->p, x);
    Z3_ast v = known_real(r, a);
    if (v) return v;
    if (a->kind == AT_BASE) {
        v = translate_form(r, a->a);
        r->related = true;
    } else v = a->kind == AT_MAX ? maximum(r, a, nf_atom(r->p, x)) : fresh_real(r);
    if (!known_real(r, a)) remember_real(r, a, nf_atom(r->p, x), v);
    if (a->kind == AT_FN) add_function(r, (Function)a->word, translate_form(r, a->a), v);
    if (r->p->exact) return v;
    if (atom_positive(r->p, x)) assert_real(r, Z3_mk_lt(r->z, r->zero, v));
    else if (atom_nonnegative(r->p, x)) assert_real(r, le(r, r->zero, v));
    return v;
}
/* Total: v = x^-1 is 0 where x is. */
static Z3_ast inverse(Reals *r, Z3_ast x, bool positive) {
    Z3_ast v = fresh_real(r), is_zero = equal(r, x, r->zero),
           product = equal(r, times(r, x, v), r->one);
    assert_real(r, positive ? product : Z3_mk_ite(r->z, is_zero, equal(r, v, r->zero), product));
    r->related = true;
    return v;
}
static Z3_ast real_power(Reals *r, Z3_ast x, int64_t n) {
    Z3_ast f[POWER_MAX];
    for (int64_t k = 0; k < n; k++) f[k] = x;
    return product(r, (unsigned)n, f);
}
/* Total: v = x^(1/q) is 0 where x is negative. */
static Z3_ast real_root(Reals *r, Z3_ast x, int64_t q, bool positive) {
    Z3_ast v = fresh_real(r), is_root = equal(r, real_power(r, v, q), x);
    assert_real(r, le(r, r->zero, v));
    assert_real(r, positive ? is_root
                            : Z3_mk_ite(r->z, le(r, r->zero, x), is_root, equal(r, v, r->zero)));
    r->related = true;
    return v;
}
static Z3_ast factor(Reals *r, const Factor *f) {
    Z3_ast x = atom(r, f->atom);
    int64_t n = f->power.p < 0 ? -f->power.p : f->power.p;
    bool positive = atom_positive(r->p, f->atom);
    if (n > POWER_MAX || f->power.q > ROOT_MAX) {
        r->too_large = true;
        return x;
    }
    if (f->power.q > 1) x = real_root(r, x, f->power.q, positive);
    if (f->power.p < 0) x = inverse(r, x, positive);
    return real_power(r, x, n);
}
/* A term over variables or with a guard is a number of which its sign may be known. */
static Z3_ast opaque_real(Reals *r, const BodyInfo *b) {
    Z3_ast v = fresh_real(r);
    if (!r->p->exact && nf_nonnegative(r->p, nf_of(r->p, b->term)))
        assert_real(r, le(r, r->zero, v));
    return v;
}
/* The product of exp(t)^c over the term's factors is exp at the sum of c*t: one more point. */
static void relate_exponents(Reals *r, const NfTerm *t, const Z3_ast *value) {
    Z3_ast power[POWER_MAX];
    unsigned n = 0;
    Nf sum = 0;
    bool known = false; /* a point already */
    for (int k = 0; k < t->nfactor && n < POWER_MAX; k++) {
        const AtomInfo *a = atom_info(r->p, t->factor[k].atom);
        if (a->kind != AT_FN || a->word != FN_EXP) continue;
        known = ratio_is(t->factor[k].power, 1);
        sum = nf_add(r->p, sum, nf_scale(r->p, a->a, t->factor[k].power));
        power[n++] = value[k];
    }
    if (n == POWER_MAX || r->p->exact) return;
    if (n > 1 || (n && !known))
        add_value(r, FN_EXP, translate_form(r, sum), product(r, n, power), r->yes);
}
static bool inhabited_nf(Prover *, Nf);
/* No maximum in it is over a domain, which might be empty. */
static bool maximum_inhabited(Prover *p, Atom x) {
    const AtomInfo *a = atom_info(p, x);
    bool all = inhabited_nf(p, a->a) && inhabited_nf(p, a->b) && (a->kind != AT_MAX || a->npart);
    for (int k = 0; k < a->npart && all; k++)
        all = !a->part[k].nvar && !a->part[k].dom && inhabited_nf(p, a->part[k].nf);
    return all;
}
static bool inhabited_nf(Prover *p, Nf nf) {
    int n = nf_size(p, nf);
    bool all = true;
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, nf, k, &c)->term;
        for (int j = 0; j < t->nfactor && all; j++) all = maximum_inhabited(p, t->factor[j].atom);
    }
    return all;
}
/* A product of sums that share no variable is the product of their values. What stands before a sum
   is looked at only if it exists where the sum is empty, too. */
static Z3_ast product_of_sums(Reals *r, const BodyInfo *b) {
    Prover *p = r->p;
    NfTerm *part = ARENA_NEW(p->arena, NfTerm, b->term.nvar + 1);
    int n = b->term.nvar ? term_independent(p, nf_term(p, nf_of(p, b->term), 0), part) : 0;
    bool good = n > 0 && !part->dom && (n > 2 || part->nfactor) && part->nfactor + n <= POWER_MAX;
    for (int k = 0; good && k < part->nfactor; k++)
        good = maximum_inhabited(p, part->factor[k].atom);
    if (!good || p->exact) return opaque_real(r, b);
    Z3_ast value[POWER_MAX];
    unsigned m = 0;
    for (int k = 0; k < part->nfactor; k++) value[m++] = factor(r, &part->factor[k]);
    for (int k = 1; k < n; k++) value[m++] = translate_form(r, nf_of(p, part[k]));
    Z3_ast v = product(r, m, value);
    if (nf_nonnegative(p, nf_of(p, b->term))) assert_real(r, le(r, r->zero, v));
    return v;
}
static Z3_ast monic_real(Reals *r, const BodyInfo *b) {
    const NfTerm *t = &b->term;
    Z3_ast v = known_real(r, b), *value = ARENA_NEW(r->p->arena, Z3_ast, t->nfactor + 1);
    if (v) return v;
    if (t->nvar || t->dom) return remember_real(r, b, nf_of(r->p, *t), product_of_sums(r, b));
    for (int k = 0; k < t->nfactor; k++) value[k] = factor(r, &t->factor[k]);
    relate_exponents(r, t, value);
    return remember_real(r, b, nf_of(r->p, *t),
                         t->nfactor ? product(r, (unsigned)t->nfactor, value) : r->one);
}
static Z3_ast translate_form(Reals *r, Nf nf) {
    Z3_ast sum = r->zero;
    int n = nf_size(r->p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(r->p, nf, k, &c);
        sum = plus(r, sum, times(r, rational(r, c), monic_real(r, b)));
    }
    return sum;
}

/* ---- the question */

static const char *real_text(void *user, const char *name) {
    Reals *r = user;
    Text t = text_new(r->p->arena);
    for (int k = 0; k < r->nknown; k++)
        if (!strcmp(Z3_ast_to_string(r->z, r->value[k]), name)) {
            nf_print(r->p, r->stands[k], &t);
            return t.data;
        }
    return NULL;
}
/* What was stated contradicts itself, so the goal follows. */
static bool contradicts(Reals *r, const char *shown, Nf nf) {
    compare_all(r);
    relate_sigmoids(r);
    if (!r->related || r->too_large) return false;
    Z3_params q = Z3_mk_params(r->z);
    Z3_params_inc_ref(r->z, q);
    Z3_params_set_uint(r->z, q, Z3_mk_string_symbol(r->z, "rlimit"), LIMIT);
    Z3_params_set_uint(r->z, q, Z3_mk_string_symbol(r->z, "timeout"), LAST_RESORT_MS);
    Z3_solver_set_params(r->z, r->s, q);
    Z3_params_dec_ref(r->z, q);
    if (Z3_solver_check(r->z, r->s) != Z3_L_FALSE) return false;
    if (trace_collects(r->p->trace)) {
        Text t = text_new(r->p->arena), said = text_new(r->p->arena);
        nf_print(r->p, nf, &t);
        text_add(&t, " %s", shown);
        Z3_set_ast_print_mode(r->z, Z3_PRINT_SMTLIB2_COMPLIANT);
        for (int k = 0; k < r->nsaid; k++)
            text_add(&said, "(assert %s)\n", Z3_ast_to_string(r->z, r->said[k]));
        trace_obligation(r->p->trace, "QF_NRA", said.data, t.data, real_text, r);
    }
    return true;
}
static Reals *reals_open(Prover *p, Dom ctx) {
    Z3_config c = Z3_mk_config();
    Reals *r = ARENA_NEW(p->arena, Reals, 1);
    r->p = p;
    r->ctx = ctx;
    r->z = Z3_mk_context(c);
    Z3_del_config(c);
    Z3_set_error_handler(r->z, ignore_error);
    r->real = Z3_mk_real_sort(r->z);
    r->zero = real_number(r, 0);
    r->one = real_number(r, 1);
    r->under = r->yes = Z3_mk_true(r->z);
    r->s = Z3_mk_solver_for_logic(r->z, Z3_mk_string_symbol(r->z, "QF_NRA"));
    Z3_solver_inc_ref(r->z, r->s);
    return r;
}
static void reals_close(Reals *r) {
    Z3_solver_dec_ref(r->z, r->s);
    Z3_del_context(r->z);
}
static Z3_ast sign_of(Reals *r, RealSign x) {
    Z3_ast v = translate_form(r, x.nf);
    return x.nonzero ? Z3_mk_not(r->z, equal(r, v, r->zero)) : le(r, r->zero, v);
}
/* The form has no free guard; the signs are given. */
bool reals_zero_given(Prover *p, Dom ctx, Nf nf, int n, const RealSign *given) {
    Reals *r = reals_open(p, ctx);
    for (int k = 0; k < n; k++) assert_real(r, sign_of(r, given[k]));
    r->related = n > 0;
    assert_real(r, Z3_mk_not(r->z, equal(r, translate_form(r, nf), r->zero)));
    bool zero = contradicts(r, "= 0", nf);
    reals_close(r);
    return zero;
}
bool reals_follow(Prover *p, Dom ctx, int n, const RealSign *given, RealSign goal) {
    Reals *r = reals_open(p, ctx);
    for (int k = 0; k < n; k++) assert_real(r, sign_of(r, given[k]));
    assert_real(r, Z3_mk_not(r->z, sign_of(r, goal)));
    r->related = true;
    bool follows = contradicts(r, goal.nonzero ? "is not 0" : ">= 0", goal.nf);
    reals_close(r);
    return follows;
}
