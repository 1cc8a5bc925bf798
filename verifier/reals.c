/* reals.c -- the last resort for a difference that did not cancel: is it 0 for all real values of
   its atoms?

   Every atom becomes a real constant of Z3 about which only true facts are stated. So if "the
   difference is not 0" is unsatisfiable, the difference is 0 for what the atoms stand for. About
   what is not understood, such as a sum over variables, nothing is stated. The facts:
     - Maximum m: m is the value of one of its parts and at least each of them (Z3 splits cases).
       If a part has variables, m is its value at some point of its domain, of which nothing else
       is known; any other maximum over the same domain is at least its own value at that point.
     - Powers, total as in normal.h. v = x^-1: x*v = 1 where x != 0, else v = 0. v = x^(1/q):
       v >= 0 and v^q = x where x >= 0, else v = 0.
     - exp(s)*exp(t) = exp(s + t).
     - Functions: see reals_functions.c.
   In an exact prover only maxima and equal arguments are used. */
#include "verifier/reals_inner.h"
#include "verifier/signs.h"
#include <string.h>

/* What is beyond these is not stated, so that a question stays small; a proof may be missed then.
   RESOURCES_MAX: units that Z3 counts, which unlike seconds are the same on every machine. */
enum { PARTS_MAX = 24, VARIABLES_MAX = 8, ROOT_MAX = 8, POWER_MAX = 16, RESOURCES_MAX = 400000 };

/* ---- forms */

static Z3_ast translate_form(Reals *r, Nf);

/* The part's form with its variables named var[]; *dom is its domain. */
static Nf part_at(Reals *r, const Part *x, const Symbol *var, Dom *dom) {
    Poly to[VARIABLES_MAX];
    for (int k = 0; k < x->nvar; k++) to[k] = poly_symbol(r->p->w, var[k]);
    Map m = {x->nvar, x->var, to};
    *dom = dom_subst(r->p, x->dom, m);
    return nf_subst(r->p, x->nf, m);
}
/* Translates a form at the point of a choice. If the point is not in its domain, a maximum in the
   form may be over an empty set; so what is stated about it holds under `here` only. */
static Z3_ast at_point(Reals *r, Z3_ast here, Nf nf) {
    Z3_ast before = r->point_exists;
    r->point_exists = here;
    Z3_ast v = translate_form(r, nf);
    r->point_exists = before;
    return v;
}
/* For a part over variables: states that `greatest` is the value of the part at a point of its
   domain, of which nothing else is known. */
static Z3_ast choose_part(Reals *r, const AtomInfo *a, int k, Z3_ast greatest) {
    const Part *x = &a->part[k];
    if (r->p->exact || x->nvar > VARIABLES_MAX || r->nchoice == CHOICES_MAX) return r->yes;
    Choice *c = &r->choice[r->nchoice++];
    *c = (Choice){a,        k,        ARENA_NEW(r->p->arena, Symbol, x->nvar + 1),
                  DOM_TRUE, greatest, Z3_mk_fresh_const(r->z, "here", Z3_mk_bool_sort(r->z))};
    for (int j = 0; j < x->nvar; j++) c->var[j] = variable_new(r->p);
    Z3_ast here = c->here, value = at_point(r, here, part_at(r, x, c->var, &c->dom));
    return Z3_mk_and(r->z, 2, (Z3_ast[]){here, real_equal(r, greatest, value)});
}
/* States that a maximum is the value of one of its parts. A maximum over an empty set does not come
   here: it was imported under the condition that it is not empty or, in an exact prover, only parts
   without variables and conditions are looked at. */
static Z3_ast maximum(Reals *r, const AtomInfo *a, Nf of) {
    Z3_ast m = real_fresh(r), is[PARTS_MAX];
    if (!a->npart || a->npart > PARTS_MAX) return m;
    real_remember(r, a, of, m);
    for (int k = 0; k < a->npart; k++) {
        if (a->part[k].nvar || a->part[k].dom) {
            is[k] = choose_part(r, a, k, m);
            continue;
        }
        Z3_ast part = translate_form(r, a->part[k].nf);
        real_assert(r, real_le(r, part, m));
        is[k] = real_equal(r, m, part);
    }
    real_assert_if(r, r->point_exists, Z3_mk_or(r->z, (unsigned)a->npart, is));
    r->worth_asking = true;
    return m;
}
/* If the conditions of the other maximum's part follow at the point of the choice c, the point is
   in that part's domain, too. Then the other maximum is at least the value of its part there. */
static void compare_parts(Reals *r, const Choice *c, const Choice *other) {
    const Part *x = &other->most->part[other->number], *mine = &c->most->part[c->number];
    Dom dom;
    if (other == c || x->nvar != mine->nvar) return;
    Nf nf = part_at(r, x, c->var, &dom);
    if (dom != c->dom && !prover_entails(r->p, dom_and(r->p, r->ctx, c->dom), dom)) return;
    real_assert(
        r, Z3_mk_implies(r->z, c->here, real_le(r, at_point(r, c->here, nf), other->greatest)));
}
static void compare_all(Reals *r) {
    for (int k = 0; k < r->nchoice; k++)
        for (int j = 0; j < r->nchoice; j++) compare_parts(r, &r->choice[k], &r->choice[j]);
}
/* States that an integer of 8 bits lies in the range of its type. */
static void say_range(Reals *r, Atom x, Z3_ast v) {
    const DType type = prover_type(r->p, x);
    if (type != DT_UINT8 && type != DT_INT8) return;
    const int64_t low = type == DT_INT8 ? -128 : 0;
    real_assert(r, real_le(r, real_number(r, low), v));
    real_assert(r, real_le(r, v, real_number(r, low + 255)));
}
static Z3_ast atom(Reals *r, Atom x) {
    const AtomInfo *a = atom_info(r->p, x);
    Z3_ast v = real_known(r, a);
    if (v) return v;
    if (a->kind == AT_BASE) {
        v = translate_form(r, a->a);
        r->worth_asking = true;
    } else v = a->kind == AT_MAX ? maximum(r, a, nf_atom(r->p, x)) : real_fresh(r);
    if (!real_known(r, a)) real_remember(r, a, nf_atom(r->p, x), v);
    if (a->kind == AT_FN) real_add_function(r, (Function)a->word, translate_form(r, a->a), v);
    if (r->p->exact) return v;
    say_range(r, x, v);
    if (atom_positive(r->p, x)) real_assert(r, Z3_mk_lt(r->z, r->zero, v));
    else if (atom_nonnegative(r->p, x)) real_assert(r, real_le(r, r->zero, v));
    return v;
}
/* The total power v = x^-1, which is 0 where x is. */
static Z3_ast inverse(Reals *r, Z3_ast x, bool positive) {
    Z3_ast v = real_fresh(r), is_zero = real_equal(r, x, r->zero),
           product = real_equal(r, real_times(r, x, v), r->one);
    real_assert(r,
                positive ? product : Z3_mk_ite(r->z, is_zero, real_equal(r, v, r->zero), product));
    r->worth_asking = true;
    return v;
}
static Z3_ast real_power(Reals *r, Z3_ast x, int64_t n) {
    Z3_ast f[POWER_MAX];
    for (int64_t k = 0; k < n; k++) f[k] = x;
    return real_product(r, (unsigned)n, f);
}
/* The total power v = x^(1/q), which is 0 where x is negative. */
static Z3_ast real_root(Reals *r, Z3_ast x, int64_t q, bool positive) {
    Z3_ast v = real_fresh(r), is_root = real_equal(r, real_power(r, v, q), x);
    real_assert(r, real_le(r, r->zero, v));
    real_assert(
        r, positive ? is_root
                    : Z3_mk_ite(r->z, real_le(r, r->zero, x), is_root, real_equal(r, v, r->zero)));
    r->worth_asking = true;
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
/* A term over variables or with a guard, as a number of which at most the sign is known. */
static Z3_ast opaque_real(Reals *r, const BodyInfo *b) {
    Z3_ast v = real_fresh(r);
    if (!r->p->exact && nf_nonnegative(r->p, nf_of(r->p, b->term)))
        real_assert(r, real_le(r, r->zero, v));
    return v;
}
/* States that the product of the factors exp(t)^c of the term is the value of exp at the sum of the
   c*t. */
static void relate_exponents(Reals *r, const NfTerm *t, const Z3_ast *value) {
    Z3_ast power[POWER_MAX];
    unsigned n = 0;
    Nf sum = 0;
    bool known = false; /* the last factor is exp itself, whose value was stated before */
    for (int k = 0; k < t->nfactor && n < POWER_MAX; k++) {
        const AtomInfo *a = atom_info(r->p, t->factor[k].atom);
        if (a->kind != AT_FN || a->word != FN_EXP) continue;
        known = ratio_is(t->factor[k].power, 1);
        sum = nf_add(r->p, sum, nf_scale(r->p, a->a, t->factor[k].power));
        power[n++] = value[k];
    }
    if (n == POWER_MAX || r->p->exact) return;
    if (n > 1 || (n && !known))
        real_add_value(r, FN_EXP, translate_form(r, sum), real_product(r, n, power), r->yes);
}
static bool inhabited_nf(Prover *, Nf);
/* Returns whether no maximum in the atom has a part with variables or conditions, which might be
   empty. */
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
/* A product of sums that share no variable is the product of their values. Factors outside the sums
   are used only if they are defined even where the sums are empty. */
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
    Z3_ast v = real_product(r, m, value);
    if (nf_nonnegative(p, nf_of(p, b->term))) real_assert(r, real_le(r, r->zero, v));
    return v;
}
static Z3_ast monic_real(Reals *r, const BodyInfo *b) {
    const NfTerm *t = &b->term;
    Z3_ast v = real_known(r, b), *value = ARENA_NEW(r->p->arena, Z3_ast, t->nfactor + 1);
    if (v) return v;
    if (t->nvar || t->dom) return real_remember(r, b, nf_of(r->p, *t), product_of_sums(r, b));
    for (int k = 0; k < t->nfactor; k++) value[k] = factor(r, &t->factor[k]);
    relate_exponents(r, t, value);
    return real_remember(r, b, nf_of(r->p, *t),
                         t->nfactor ? real_product(r, (unsigned)t->nfactor, value) : r->one);
}
static Z3_ast translate_form(Reals *r, Nf nf) {
    Z3_ast sum = r->zero;
    int n = nf_size(r->p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(r->p, nf, k, &c);
        sum = real_plus(r, sum, real_times(r, real_rational(r, c), monic_real(r, b)));
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
/* Returns whether Z3 finds that the statements contradict each other, so that what is to be shown
   follows. */
static bool contradicts(Reals *r, const char *shown, Nf nf) {
    compare_all(r);
    real_relate_sigmoids(r);
    if (!r->worth_asking || r->too_large) return false;
    Z3_params q = Z3_mk_params(r->z);
    Z3_params_inc_ref(r->z, q);
    Z3_params_set_uint(r->z, q, Z3_mk_string_symbol(r->z, "rlimit"), RESOURCES_MAX);
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
static void ignore_error(Z3_context z, Z3_error_code code) {
    (void)z;
    (void)code;
}
static void close_context(void *reals) {
    Reals *r = reals;
    Z3_solver_dec_ref(r->z, r->s);
    Z3_del_context(r->z);
}
/* The prover may give up before reals_close; its Escape then closes the context. */
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
    r->point_exists = r->yes = Z3_mk_true(r->z);
    r->s = Z3_mk_solver_for_logic(r->z, Z3_mk_string_symbol(r->z, "QF_NRA"));
    Z3_solver_inc_ref(r->z, r->s);
    cleanup_add(p->escape, &r->cleanup, close_context, r);
    return r;
}
static void reals_close(Reals *r) { cleanup_run(&r->cleanup); }
static Z3_ast sign_of(Reals *r, RealSign x) {
    Z3_ast v = translate_form(r, x.nf);
    return x.nonzero ? Z3_mk_not(r->z, real_equal(r, v, r->zero)) : real_le(r, r->zero, v);
}
bool reals_zero_given(Prover *p, Dom ctx, Nf nf, int n, const RealSign *given) {
    Reals *r = reals_open(p, ctx);
    for (int k = 0; k < n; k++) real_assert(r, sign_of(r, given[k]));
    r->worth_asking = n > 0;
    real_assert(r, Z3_mk_not(r->z, real_equal(r, translate_form(r, nf), r->zero)));
    bool zero = contradicts(r, "= 0", nf);
    reals_close(r);
    return zero;
}
bool reals_follow(Prover *p, Dom ctx, int n, const RealSign *given, RealSign goal) {
    Reals *r = reals_open(p, ctx);
    for (int k = 0; k < n; k++) real_assert(r, sign_of(r, given[k]));
    real_assert(r, Z3_mk_not(r->z, sign_of(r, goal)));
    r->worth_asking = true;
    bool follows = contradicts(r, goal.nonzero ? "is not 0" : ">= 0", goal.nf);
    reals_close(r);
    return follows;
}
