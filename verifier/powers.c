/* powers.c -- rational powers of forms without free guards. What can be taken out of the base is
   taken out: the coefficient, and atoms whose sign is known or does not matter. The rest becomes a
   base (AT_BASE) that is made unique by the sign of its leading coefficient. All steps are
   identities of total powers: 0^a = 0, and x^a = 0 for x < 0 if a is not an integer. */
#include "verifier/apply.h"
#include "verifier/signs.h"

/* EXPAND_MAX: integer powers up to this are multiplied out. The others say which powers of numbers
   become numbers: rules have small ones, such as sqrt(64) and 2^8, and beyond these the numerators
   and denominators soon overflow. What is beyond stays a power. */
enum { EXPAND_MAX = 4, ROOT_MAX = 4096, DEGREE_MAX = 8, EXPONENT_MAX = 16 };

/* Sets *r to the integer root of x of this degree. False if there is none up to ROOT_MAX. */
static bool integer_root(int64_t x, int64_t degree, int64_t *r) {
    for (int64_t k = 0; k <= ROOT_MAX; k++) {
        __int128 y = 1;
        for (int64_t j = 0; j < degree && y <= x; j++) y *= k;
        if (y == x) *r = k;
        if (y >= x) return y == x;
    }
    return false;
}
/* Sets *out to c^a for c > 0. False if that is not rational, or was not found. */
static bool rational_power(Prover *p, Ratio c, Ratio a, Ratio *out) {
    int64_t x = c.p, y = c.q;
    if (a.q > 1 && (a.q > DEGREE_MAX || !integer_root(c.p, a.q, &x) || !integer_root(c.q, a.q, &y)))
        return false;
    *out = ratio(1, 1);
    if (a.p > EXPONENT_MAX || a.p < -EXPONENT_MAX || !x) return false;
    Ratio base = a.p < 0 ? ratio(y, x) : ratio(x, y);
    for (int64_t k = a.p < 0 ? -a.p : a.p; k > 0; k--) *out = ratio_times(p, *out, base);
    return true;
}
static Ratio magnitude(Ratio c) { return ratio(c.p < 0 ? -c.p : c.p, c.q); }
static NfTerm base_factor(Prover *p, NfTerm t, Nf base, Ratio a) {
    return term_factor(p, t, atom_nested(p, AT_BASE, 0, base, 0), a);
}

/* Multiplies the term by c^a for c > 0, as a number where possible. */
static NfTerm coefficient_power(Prover *p, NfTerm t, Ratio c, Ratio a) {
    Ratio r;
    if (rational_power(p, c, a, &r)) t.c = ratio_times(p, t.c, r);
    else t = base_factor(p, t, nf_number(p, c), a);
    return t;
}
/* Returns whether the factor is surely not negative. */
static bool sign_known(Prover *p, const Factor *f) {
    return atom_nonnegative(p, f->atom) || f->power.q != 1 || f->power.p % 2 == 0;
}
/* Returns whether (b^e)^a = b^(e*a) holds everywhere, for the factor f = b^e. */
static bool powers_multiply(Prover *p, const Factor *f, Ratio a) {
    Ratio product = ratio_times(p, f->power, a);
    if (atom_nonnegative(p, f->atom)) return true;
    if (f->power.q == 1 && a.q == 1) return true;
    if (f->power.q != 1) return product.q != 1;
    return f->power.p % 2 != 0 && product.q != 1;
}
/* A power of a product of a coefficient and factors. If the exponent is not an integer, factors of
   unknown sign stay together in one base when there are several of them or the coefficient is
   negative. */
static Nf monomial_power(Prover *p, NfTerm t, Ratio a) {
    NfTerm r = {.c = ratio(1, 1)}, rest = {.c = ratio(t.c.p < 0 ? -1 : 1, 1)};
    int unknown = t.c.p < 0;
    for (int k = 0; k < t.nfactor; k++) unknown += !sign_known(p, &t.factor[k]);
    for (int k = 0; k < t.nfactor; k++) {
        const Factor *f = &t.factor[k];
        bool out = powers_multiply(p, f, a) && (a.q == 1 || sign_known(p, f) || unknown == 1);
        /* Factor by factor: term_factor knows which powers may be merged. */
        if (!out && a.q == 1 && a.p >= -EXPAND_MAX && a.p <= EXPAND_MAX) {
            for (int64_t j = a.p < 0 ? -a.p : a.p; j > 0; j--)
                r = term_factor(p, r, f->atom,
                                ratio_times(p, f->power, ratio(a.p < 0 ? -1 : 1, 1)));
        } else if (out) r = term_factor(p, r, f->atom, ratio_times(p, f->power, a));
        else rest = term_factor(p, rest, f->atom, f->power);
    }
    if (a.q == 1) {
        if (t.c.p < 0 && a.p % 2 != 0) r.c = ratio(-1, 1);
        rest.c = ratio(1, 1);
    }
    r = coefficient_power(p, r, magnitude(t.c), a);
    if (rest.nfactor || rest.c.p < 0) r = base_factor(p, r, nf_of(p, rest), a);
    return nf_of(p, r);
}
/* If the term is exp(t1) * exp(t2) * .., sets *exponent to the sum of the exponents. */
static bool is_exponential(Prover *p, const NfTerm *t, Nf *exponent) {
    *exponent = 0;
    for (int k = 0; k < t->nfactor; k++) {
        const AtomInfo *a = atom_info(p, t->factor[k].atom);
        if (a->kind != AT_FN || a->word != FN_EXP) return false;
        *exponent = nf_add(p, *exponent, nf_scale(p, a->a, t->factor[k].power));
    }
    return !t->nvar && !t->dom && ratio_is(t->c, 1);
}
/* Uses 1/(exp(s) + exp(t)) = exp(-s) * sigmoid(s - t). */
static bool reciprocal_of_exponentials(Prover *p, Nf base, Ratio a, Nf *out) {
    Nf s, t, inverse;
    if (a.q != 1 || a.p >= 0 || a.p < -EXPAND_MAX || nf_size(p, base) != 2) return false;
    NfTerm x = nf_term(p, base, 0), y = nf_term(p, base, 1);
    if (!is_exponential(p, &x, &s) || !is_exponential(p, &y, &t)) return false;
    inverse = nf_mul(p, apply_exp(p, DOM_TRUE, nf_scale(p, s, ratio(-1, 1))),
                     apply_plain(p, FN_SIGMOID, nf_add(p, s, nf_scale(p, t, ratio(-1, 1)))));
    *out = power_plain(p, inverse, ratio(-a.p, 1));
    return true;
}
/* Returns whether the negation of the form is used as the base of its integer powers. Of the two,
   it is the one that is positive, if that is known, otherwise the one with a positive leading
   coefficient. */
static bool is_turned(Prover *p, Nf nf) {
    Ratio c = ratio(1, 1);
    if (nf_positive(p, nf)) return false;
    if (nf_positive(p, nf_scale(p, nf, ratio(-1, 1)))) return true;
    return lead_term(p, nf, &c) >= 0 && c.p < 0;
}
static Nf general_power(Prover *p, Nf nf, Ratio a) {
    NfTerm common = common_factor(p, 1, &nf, a.q == 1, 0, NULL);
    common.c = coefficient_content(p, 1, &nf);
    if (a.q == 1 && is_turned(p, nf)) common.c.p = -common.c.p;
    Nf rest = divide_out(p, nf, common);
    Nf out = monomial_power(p, common, a), inverse;
    if (reciprocal_of_exponentials(p, rest, a, &inverse)) return nf_mul(p, out, inverse);
    return nf_mul(p, out, nf_of(p, base_factor(p, (NfTerm){.c = ratio(1, 1)}, rest, a)));
}
/* Uses c - c*sigmoid(t) = c*exp(-t)*sigmoid(t), which is a product. */
static bool complement_of_sigmoid(Prover *p, Nf nf, NfTerm *out) {
    Ratio c, d;
    if (nf_size(p, nf) != 2) return false;
    const NfTerm *x = &nf_body(p, nf, 0, &c)->term, *y = &nf_body(p, nf, 1, &d)->term;
    const NfTerm *s = x->nfactor ? x : y, *one = x->nfactor ? y : x;
    if (one->nfactor || s->nfactor != 1 || x->nvar || y->nvar || x->dom || y->dom || c.p != -d.p ||
        c.q != d.q)
        return false;
    const AtomInfo *a = atom_info(p, s->factor[0].atom);
    if (a->kind != AT_FN || a->word != FN_SIGMOID || !ratio_is(s->factor[0].power, 1)) return false;
    Nf e = apply_exp(p, DOM_TRUE, nf_scale(p, a->a, ratio(-1, 1)));
    if (nf_size(p, e) != 1) return false;
    *out = term_factor(p, nf_term(p, e, 0), s->factor[0].atom, ratio(1, 1));
    out->c = ratio_times(p, out->c, x->nfactor ? d : c);
    return !out->nvar && !out->dom;
}
Nf power_plain(Prover *p, Nf nf, Ratio a) {
    if (!a.p) return nf_number(p, ratio(1, 1));
    if (ratio_is(a, 1)) return nf;
    if (!nf) return 0;
    int n = nf_size(p, nf);
    NfTerm t = nf_term(p, nf, 0);
    if (n == 1 && !t.nvar && !t.dom) return monomial_power(p, t, a);
    if ((a.p < 0 || a.q != 1) && complement_of_sigmoid(p, nf, &t)) return monomial_power(p, t, a);
    if (a.q == 1 && a.p > 1 && a.p <= EXPAND_MAX)
        return nf_mul(p, nf, power_plain(p, nf, ratio(a.p - 1, 1)));
    return general_power(p, nf, a);
}
