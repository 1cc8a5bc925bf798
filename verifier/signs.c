/* signs.c -- finds out which atoms and forms are positive, or not negative, for all values of the
   inputs. */
#include "verifier/signs.h"
#include <string.h>

/* Returns whether the part has no variables and no conditions. */

/* ---- atoms */

static bool size_at_least(Prover *p, Symbol s, int64_t low) {
    for (int k = 0; k < p->nsize; k++)
        if (p->size[k] == s) return p->size_low[k] >= low;
    return false;
}
bool atom_positive(Prover *p, Atom a) {
    const AtomInfo *i = atom_info(p, a);
    if (i->kind == AT_FN) return i->word == FN_EXP || i->word == FN_SIGMOID;
    if (i->kind == AT_BASE) return nf_positive(p, i->a);
    if (i->kind == AT_REAL) return i->real > 0;
    if (i->kind == AT_SIZE) return size_at_least(p, i->word, 1);
    for (int k = 0; i->kind == AT_MAX && k < i->npart; k++)
        if (part_is_bare(&i->part[k]) && nf_positive(p, i->part[k].nf)) return true;
    return false;
}
bool atom_nonnegative(Prover *p, Atom a) {
    const AtomInfo *i = atom_info(p, a);
    if (atom_positive(p, a)) return true;
    if (i->kind == AT_FN) return function_facts((Function)i->word)->low >= 0;
    if (i->kind == AT_BASE) return nf_nonnegative(p, i->a);
    if (i->kind == AT_INPUT) return i->word < NATURAL_BITS && p->natural >> i->word & 1;
    if (i->kind == AT_SIZE) return size_at_least(p, i->word, 0);
    for (int k = 0; i->kind == AT_MAX && k < i->npart; k++)
        if (part_is_bare(&i->part[k]) && nf_nonnegative(p, i->part[k].nf)) return true;
    return false;
}

/* ---- forms */

static bool factor_nonnegative(Prover *p, const Factor *f) {
    return (f->power.q == 1 && f->power.p % 2 == 0) || f->power.q != 1 ||
           atom_nonnegative(p, f->atom);
}
static bool size_itself(Prover *p, const AtomInfo *a, Poly *out) {
    *out = a->kind == AT_SIZE ? poly_symbol(p->w, a->word) : 0;
    return a->kind == AT_SIZE;
}
/* Returns whether the form is a rational multiple of a polynomial in sizes that the facts on sizes
   show to be at least `low`. */
static bool sizes_at_least(Prover *p, Nf a, int64_t low) {
    int n = nf_size(p, a);
    int64_t denominator = 1;
    Poly sum;
    for (int k = 0; k < n; k++) {
        Ratio c;
        nf_body(p, a, k, &c);
        if (denominator % c.q && __builtin_mul_overflow(denominator, c.q, &denominator))
            return false;
    }
    if (denominator > 1) a = nf_scale(p, a, ratio(denominator, 1));
    if (!nf_as_polynomial(p, a, size_itself, &sum)) return false;
    Lit l = {poly_sub(p->w, sum, poly_int(p->w, low)), false};
    int truth = lit_truth(p, &l);
    if (truth >= 0) return truth;
    return !solver_spent(p->solver) && solver_entails(p->solver, (Lits){0}, (Lits){1, &l});
}
static bool terms_nonnegative(Prover *p, Nf a) {
    int n = nf_size(p, a);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, a, k, &c)->term;
        if (c.p < 0) return false;
        for (int j = 0; j < t->nfactor; j++)
            if (!factor_nonnegative(p, &t->factor[j])) return false;
    }
    return true;
}
/* Uses c*max{a | b | ..} + d >= c*(a + b)/2 + d for c > 0. This shows, for instance, that |x| =
   2*max{0 | x} - x >= 0. */
static bool above_middle(Prover *p, Nf nf) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, nf, k, &c)->term;
        const AtomInfo *m = t->nfactor == 1 ? atom_info(p, t->factor[0].atom) : NULL;
        if (!m || m->kind != AT_MAX || t->nvar || t->dom || c.p <= 0 ||
            !ratio_is(t->factor[0].power, 1))
            continue;
        Nf rest = nf_add(p, nf, nf_scale(p, nf_atom(p, t->factor[0].atom), ratio(-c.p, c.q)));
        for (int i = 0; i < m->npart; i++)
            for (int j = 0; j <= i; j++) {
                if (!part_is_bare(&m->part[i]) || !part_is_bare(&m->part[j])) continue;
                Nf middle = nf_scale(p, nf_add(p, m->part[i].nf, m->part[j].nf), ratio(1, 2));
                if (terms_nonnegative(p, nf_add(p, rest, nf_scale(p, middle, c)))) return true;
            }
    }
    return false;
}
Nf nf_terms_alike(Prover *p, Nf nf, const NfTerm *like, Nf *rest) {
    const int n = nf_size(p, nf);
    int m = 0, k = 0;
    NfTerm *in = ARENA_NEW(p->arena, NfTerm, n), *out = ARENA_NEW(p->arena, NfTerm, n);
    for (int j = 0; j < n; j++) {
        Ratio c;
        NfTerm t = nf_body(p, nf, j, &c)->term; /* with the variables that `like` has */
        t.c = c;
        const bool same = t.nvar == like->nvar && t.dom == like->dom &&
                          (!t.nvar || !memcmp(t.var, like->var, sizeof *t.var * (size_t)t.nvar));
        if (same) in[m++] = (NfTerm){c, DOM_TRUE, 0, t.nfactor, NULL, t.factor};
        else out[k++] = t;
    }
    *rest = nf_from(p, k, out);
    return nf_from(p, m, in);
}
/* Whether every term is a product of factors that are not negative. */
static bool factors_nonnegative(Prover *p, Nf nf) {
    bool good = true;
    for (int k = nf_size(p, nf); good && k-- > 0;) {
        Ratio c;
        const NfTerm *t = &nf_body(p, nf, k, &c)->term;
        good = c.p >= 0;
        for (int j = 0; good && j < t->nfactor; j++) good = factor_nonnegative(p, &t->factor[j]);
    }
    return good;
}
static bool bodies_nonnegative(Prover *p, Nf a) {
    int n = nf_size(p, a);
    for (int k = 0; k < n; k++) {
        Ratio c;
        Nf rest;
        const NfTerm *t = &nf_body(p, a, k, &c)->term;
        if (c.p >= 0) continue;
        const Nf inner = nf_terms_alike(p, a, t, &rest);
        if (factors_nonnegative(p, rest)) return above_middle(p, inner);
    }
    return n > 1 && above_middle(p, a);
}
bool nf_nonnegative(Prover *p, Nf a) {
    return terms_nonnegative(p, a) || sizes_at_least(p, a, 0) || bodies_nonnegative(p, a);
}
bool nf_positive(Prover *p, Nf a) {
    int n = nf_size(p, a);
    if (!terms_nonnegative(p, a)) return sizes_at_least(p, a, 1);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, a, k, &c)->term;
        bool positive = !t->nvar && !t->dom;
        for (int j = 0; positive && j < t->nfactor; j++)
            positive = atom_positive(p, t->factor[j].atom);
        if (positive) return true;
    }
    return false;
}
