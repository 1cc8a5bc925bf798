/* common_factor.c -- finds what the terms of forms have in common: coefficients and powers of
   atoms. A form is divided by its common factor before a function is applied, so that the function
   sees the same form whatever the scale (apply.h). */
#include "verifier/apply.h"
#include "verifier/signs.h"
#include <string.h>

int lead_term(Prover *p, Nf nf, Ratio *c) {
    int best = -1, n = nf_size(p, nf);
    uint64_t heads = 0, mask = 0;
    for (int k = 0; k < n; k++) {
        Ratio x;
        const BodyInfo *b = nf_body(p, nf, k, &x);
        bool later = best >= 0 && (b->heads > heads || (b->heads == heads && b->mask >= mask));
        if ((!b->term.nfactor && !b->term.nvar) || later) continue;
        best = k;
        heads = b->heads;
        mask = b->mask;
        *c = x;
    }
    return best;
}
Ratio coefficient_content(Prover *p, int n, const Nf *nf) {
    Ratio g = {0, 1};
    for (int j = 0; j < n; j++) {
        int size = nf_size(p, nf[j]);
        for (int k = 0; k < size; k++) {
            Ratio c;
            nf_body(p, nf[j], k, &c);
            int64_t den = c.q / integer_gcd(c.q, g.q), a, b;
            if (__builtin_mul_overflow(den, g.q, &den) ||
                __builtin_mul_overflow(c.p, den / c.q, &a) ||
                __builtin_mul_overflow(g.p, den / g.q, &b))
                prover_fail(p, "a coefficient exceeds 64 bits");
            g = ratio(integer_gcd(a, b), den);
        }
    }
    return g.p ? g : ratio(1, 1);
}
/* The power of the atom that every term has; 0 if there is none. For a positive atom this is the
   least power, counting 0 where a term lacks the atom; any other atom must have the same power in
   all terms. */
static Ratio shared_power(Prover *p, int n, const Nf *nf, Atom a) {
    bool positive = atom_positive(p, a), first = true;
    Ratio least = ratio(0, 1);
    for (int j = 0; j < n; j++) {
        int size = nf_size(p, nf[j]);
        for (int k = 0; k < size; k++) {
            Ratio c, here = ratio(0, 1);
            const NfTerm *t = &nf_body(p, nf[j], k, &c)->term;
            for (int f = 0; f < t->nfactor; f++)
                if (t->factor[f].atom == a) here = t->factor[f].power;
            if (!positive && (!here.p || (!first && (here.p != least.p || here.q != least.q))))
                return ratio(0, 1);
            if (first || ratio_plus(p, here, ratio_times(p, least, ratio(-1, 1))).p < 0)
                least = here;
            first = false;
        }
    }
    return least;
}
/* Returns whether the atom mentions a variable that one of the terms binds. */
static bool owned(Prover *p, int n, const Nf *nf, Atom a) {
    for (int j = 0; j < n; j++) {
        int size = nf_size(p, nf[j]);
        for (int k = 0; k < size; k++) {
            Ratio c;
            const NfTerm *t = &nf_body(p, nf[j], k, &c)->term;
            if (atom_mentions_any(p, a, t->nvar, t->var)) return true;
        }
    }
    return false;
}
NfTerm common_factor(Prover *p, int n, const Nf *nf, bool any, int nexcept, const Symbol *except) {
    NfTerm r = {.c = ratio(1, 1)};
    for (int j = 0; j < n; j++) {
        int size = nf_size(p, nf[j]);
        for (int k = 0; k < size; k++) {
            Ratio c;
            const NfTerm *t = &nf_body(p, nf[j], k, &c)->term;
            for (int f = 0; f < t->nfactor; f++) {
                Atom a = t->factor[f].atom;
                bool done = false;
                for (int i = 0; i < r.nfactor; i++) done |= r.factor[i].atom == a;
                if (done || (!any && !atom_nonnegative(p, a)) || owned(p, n, nf, a) ||
                    atom_mentions_any(p, a, nexcept, except))
                    continue;
                Ratio power = shared_power(p, n, nf, a);
                if (power.p) r = term_factor(p, r, a, power);
            }
        }
    }
    return r;
}
/* The term divided by a^power. If a is not positive, one factor with exactly this power is left
   out. */
static NfTerm term_over_power(Prover *p, NfTerm t, Atom a, Ratio power) {
    Factor *v = ARENA_NEW(p->arena, Factor, t.nfactor + 1);
    int n = 0;
    bool found = false;
    for (int k = 0; k < t.nfactor; k++)
        if (!found && t.factor[k].atom == a &&
            (atom_positive(p, a) ||
             (t.factor[k].power.p == power.p && t.factor[k].power.q == power.q)))
            found = true;
        else v[n++] = t.factor[k];
    NfTerm r = t;
    r.factor = v;
    r.nfactor = n;
    if (!atom_positive(p, a)) return r;
    return term_factor(p, t, a, ratio_times(p, power, ratio(-1, 1)));
}
Nf divide_out(Prover *p, Nf nf, NfTerm common) {
    int n = nf_size(p, nf);
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, n);
    for (int k = 0; k < n; k++) {
        t[k] = nf_term(p, nf, k);
        for (int f = 0; f < common.nfactor; f++)
            t[k] = term_over_power(p, t[k], common.factor[f].atom, common.factor[f].power);
        t[k].c = ratio_times(p, t[k].c,
                             ratio(common.c.p < 0 ? -common.c.q : common.c.q,
                                   common.c.p < 0 ? -common.c.p : common.c.p));
    }
    return nf_from(p, n, t);
}
