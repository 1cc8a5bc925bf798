/* identities.c -- identities that relate the atoms of one term, used to rewrite it. Each is an
   identity of real functions wherever both sides are defined. With e = exp(t) and s = sigmoid(t),
   s*(1 + e) = e; hence e*s = e - s, s/e = 1 - s and 1/s = 1 + 1/e, which give every product of
   powers of e and s one form. Each step lowers a power, so this ends. A sum of positive terms
   divided by itself is 1 where it has an element, otherwise 0. And b/(b + c) = 1 - c/(b + c) where
   b + c is positive and no other term of it is a multiple of b. */
#include "verifier/identities.h"
#include "verifier/signs.h"
#include <string.h>

enum { POWER_MOST = 4 };

static Ratio times(Prover *p, Ratio a, int64_t n) { return ratio_times(p, a, ratio(n, 1)); }
static Ratio minus(Prover *p, Ratio a, Ratio b) { return ratio_plus(p, a, times(p, b, -1)); }
static Ratio power_of(const NfTerm *t, Atom a) {
    for (int k = 0; k < t->nfactor; k++)
        if (t->factor[k].atom == a) return t->factor[k].power;
    return ratio(0, 1);
}
/* t * f^n. The factors of f must be positive, or have at least their power in t. */
static NfTerm times_factors(Prover *p, NfTerm t, const NfTerm *f, int64_t n) {
    for (int k = 0; k < f->nfactor; k++)
        t = term_factor(p, t, f->factor[k].atom, times(p, f->factor[k].power, n));
    return t;
}
static Nf two_terms(Prover *p, NfTerm a, NfTerm b, int64_t sign) {
    b.c = times(p, b.c, sign);
    return nf_from(p, 2, (NfTerm[]){a, b});
}

/* ---- sigmoid and exp */

/* Compares the power in t of the first factor of e with its power in e. Returns 1 if it is at least
   as great in magnitude, with the same sign; -1 if it has the opposite sign; 0 otherwise. The
   reductions thus leave powers from 0 up to, but not including, that of e. */
static int exponential_power(Prover *p, const NfTerm *t, const NfTerm *e) {
    Ratio c = e->factor[0].power, have = power_of(t, e->factor[0].atom), rest = minus(p, have, c);
    if (have.p && (have.p < 0) != (c.p < 0)) return -1;
    return have.p && (!rest.p || (rest.p < 0) == (c.p < 0)) ? 1 : 0;
}
static bool reduce_sigmoid(Prover *p, const NfTerm *t, int k, Nf *out) {
    const AtomInfo *a = atom_info(p, t->factor[k].atom);
    Ratio power = t->factor[k].power;
    if (a->kind != AT_FN || a->word != FN_SIGMOID || power.q != 1) return false;
    Nf exponential = apply_exp(p, DOM_TRUE, a->a);
    if (nf_size(p, exponential) != 1) return false;
    NfTerm e = nf_term(p, exponential, 0);
    if (e.nvar || e.dom || !ratio_is(e.c, 1) || !e.nfactor) return false;
    /* t with a sigmoid less; sigmoids are positive. */
    NfTerm less = term_factor(p, *t, t->factor[k].atom, ratio(-1, 1));
    if (power.p < 0 && power.p >= -POWER_MOST) {
        NfTerm more = term_factor(p, *t, t->factor[k].atom, ratio(1, 1));
        *out = two_terms(p, more, times_factors(p, more, &e, -1), 1);
        return true;
    }
    int way = exponential_power(p, t, &e);
    if (power.p > 0 && way > 0) *out = two_terms(p, less, times_factors(p, *t, &e, -1), -1);
    else if (power.p > 0 && way < 0)
        *out = two_terms(p, times_factors(p, less, &e, 1), times_factors(p, *t, &e, 1), -1);
    else return false;
    return true;
}

/* ---- what is divided by itself */

static bool all_positive(Prover *p, const NfTerm *t) {
    for (int k = 0; k < t->nfactor; k++)
        if (!atom_positive(p, t->factor[k].atom)) return false;
    return t->c.p > 0;
}
/* Replaces *d by conditions, without the variables, under which some point satisfies it; DOM_TRUE
   if they follow from ctx. False if these cannot be found. */
static bool domain_inhabited(Prover *p, Dom ctx, Dom *d, int n, const Symbol *var) {
    for (int k = 0; k < n; k++)
        if (!project(p, d, var[k], 0, NULL)) return false;
    if (prover_entails(p, ctx, *d)) *d = DOM_TRUE;
    return !*d || (p->check.nonempty && !p->lenient);
}
/* Returns the factors and conditions that mention the term's variables, as a term of their own;
   leaves the rest in *t. */
static NfTerm bound_part(Prover *p, NfTerm *t) {
    NfTerm s = {.c = ratio(1, 1), .nvar = t->nvar, .var = t->var}, rest = {.c = t->c};
    Lits l = dom_lits(p, t->dom);
    for (int k = 0; k < l.n; k++) {
        NfTerm *to = lit_mentions(p, l.v[k], t->nvar, t->var) ? &s : &rest;
        to->dom = dom_with(p, to->dom, l.v[k]);
    }
    for (int k = 0; k < t->nfactor; k++) {
        NfTerm *to = atom_mentions_any(p, t->factor[k].atom, t->nvar, t->var) ? &s : &rest;
        *to = term_factor(p, *to, t->factor[k].atom, t->factor[k].power);
    }
    *t = rest;
    return s;
}
/* Uses sum_j b_j / sum_k b_k = 1 where the sums have an element, and 0 elsewhere. */
static bool reduce_sum(Prover *p, Dom ctx, const NfTerm *t, int k, Nf *out) {
    const AtomInfo *a = atom_info(p, t->factor[k].atom);
    Ratio power = t->factor[k].power, c;
    if (a->kind != AT_BASE || power.q != 1 || power.p >= 0 || !t->nvar || nf_size(p, a->a) != 1)
        return false;
    const NfTerm *b = &nf_body(p, a->a, 0, &c)->term;
    if (b->nvar != t->nvar || !all_positive(p, b) || !ratio_is(c, 1)) return false;
    NfTerm rest = *t, s = bound_part(p, &rest);
    Dom some = s.dom;
    if (nf_of(p, s) != a->a ||
        !domain_inhabited(p, dom_and(p, ctx, rest.dom), &some, s.nvar, s.var))
        return false;
    NfTerm without = {.c = rest.c, .dom = dom_and(p, rest.dom, some)};
    const Factor *sum = &t->factor[k];
    bool found = false; /* other powers of the sum are kept */
    for (int j = 0; j < rest.nfactor; j++) {
        const Factor *f = &rest.factor[j];
        const bool it = !found && f->atom == sum->atom && ratio_is(f->power, power.p);
        if (!it) without = term_factor(p, without, f->atom, f->power);
        found |= it;
    }
    if (!found) return false;
    if (power.p < -1) without = term_factor(p, without, t->factor[k].atom, ratio(power.p + 1, 1));
    *out = nf_of(p, without);
    return true;
}
/* Divides t by b, if b is a product of positive powers, each of which is part of a factor of t of
   its own: an atom of unknown sign may be the base of several factors, as in sqrt(x)*sqrt(x). */
static bool divide_term(Prover *p, const NfTerm *t, const NfTerm *b, NfTerm *u) {
    const bool plain = b->nfactor > 0 && b->nfactor <= t->nfactor && !b->nvar && !b->dom;
    if (!plain) return false;
    Factor *f = ARENA_NEW(p->arena, Factor, t->nfactor);
    bool *used = ARENA_NEW(p->arena, bool, t->nfactor);
    memcpy(f, t->factor, sizeof *f * (size_t)t->nfactor);
    for (int k = 0; k < b->nfactor; k++) {
        const Factor *d = &b->factor[k];
        int j = 0;
        while (j < t->nfactor &&
               (used[j] || f[j].atom != d->atom || minus(p, f[j].power, d->power).p < 0))
            j++;
        if (j == t->nfactor || d->power.p <= 0) return false;
        used[j] = true;
        f[j].power = minus(p, f[j].power, d->power);
    }
    *u = *t;
    u->nfactor = 0;
    for (int j = 0; j < t->nfactor; j++)
        if (f[j].power.p) *u = term_factor(p, *u, f[j].atom, f[j].power);
    return true;
}
/* Multiplies an open term by a form, which may mention the term's variables. */
static Nf term_times_form(Prover *p, NfTerm t, Nf form) {
    const int n = nf_size(p, form);
    NfTerm *product = ARENA_NEW(p->arena, NfTerm, n);
    for (int k = 0; k < n; k++) product[k] = term_times(p, t, nf_term(p, form, k));
    return nf_from(p, n, product);
}
/* Uses b/(b + c) = 1 - c/(b + c), with b the leading term of the divisor. */
static bool reduce_quotient(Prover *p, const NfTerm *t, int k, Nf *out) {
    const AtomInfo *a = atom_info(p, t->factor[k].atom);
    Ratio power = t->factor[k].power, c = ratio(1, 1);
    if (a->kind != AT_BASE || power.q != 1 || power.p >= 0 || !nf_positive(p, a->a)) return false;
    int lead = lead_term(p, a->a, &c), n = nf_size(p, a->a);
    if (lead < 0) return false;
    NfTerm b = nf_term(p, a->a, lead);
    NfTerm u, other;
    if (!divide_term(p, t, &b, &u)) return false;
    for (int j = 0; j < n; j++) {
        Ratio x;
        if (j != lead && divide_term(p, &nf_body(p, a->a, j, &x)->term, &b, &other)) return false;
    }
    Ratio inverse = c.p < 0 ? ratio(-c.q, -c.p) : ratio(c.q, c.p);
    u.c = ratio_times(p, u.c, inverse);
    Nf others = nf_add(p, a->a, nf_scale(p, nf_of(p, b), ratio(-1, 1)));
    *out = nf_add(p, nf_of(p, term_factor(p, u, t->factor[k].atom, ratio(1, 1))),
                  nf_negated(p, term_times_form(p, u, others)));
    return true;
}

bool reduce_term(Prover *p, Dom ctx, const NfTerm *t, Nf *out) {
    if (p->exact) return false;
    for (int k = 0; k < t->nfactor; k++)
        if (reduce_sigmoid(p, t, k, out) || reduce_sum(p, ctx, t, k, out) ||
            reduce_quotient(p, t, k, out))
            return true;
    return false;
}
