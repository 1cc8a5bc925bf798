/* cases.c -- shows that a difference of forms is zero. The difference is split into the cells of
   its guards. Sums over the same variables that add up to 0 at each point are dropped. What is left
   is a question about real numbers, asked as it stands and then in cases.

   A case says which part of a maximum is the greatest (Prover.decided, which maximum.c looks up);
   that this part is at least each of the others is then given. Maxima are decided one after the
   other. Z3 splits maxima into cases, too, but it does not put a part into the argument of exp and
   simplify there. */
#include "verifier/cases.h"
#include "verifier/equal.h"
#include "verifier/explain.h"
#include "verifier/signs.h"
#include <string.h>

static bool maximum_in_nf(Prover *p, Nf nf, Atom *out);
/* Finds, in the atom, a maximum of two or three parts without variables and conditions that is not
   decided yet and stands under no bound variable. */
static bool maximum_in(Prover *p, Atom x, Atom *out) {
    const AtomInfo *a = atom_info(p, x);
    bool bare = a->kind == AT_MAX && a->npart > 1 && a->npart < 4;
    for (int k = 0; k < a->npart; k++) bare = bare && !a->part[k].nvar && !a->part[k].dom;
    for (int k = 0; k < p->ndecided; k++) bare = bare && p->decided[k] != x;
    *out = x;
    return bare || maximum_in_nf(p, a->a, out) || maximum_in_nf(p, a->b, out);
}
static bool maximum_in_nf(Prover *p, Nf nf, Atom *out) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, nf, k, &c)->term;
        for (int j = 0; !t->nvar && j < t->nfactor; j++)
            if (maximum_in(p, t->factor[j].atom, out)) return true;
    }
    return false;
}
/* Goes through the cases of one maximum. In each, one part is the greatest, and the maximum is
   replaced by it wherever it occurs, also in arguments of functions:
   log(1 + exp(-|x|)) + max{0 | x} is log(1 + exp(x)) for x <= 0 and for x >= 0. */
static bool zero_by_cases(Prover *p, Dom ctx, Nf nf, int n, const RealSign *before) {
    Atom most;
    if (p->exact || p->ndecided == DECIDED_MAX || !maximum_in_nf(p, nf, &most)) return false;
    const AtomInfo *a = atom_info(p, most);
    RealSign *given = ARENA_NEW(p->arena, RealSign, n + a->npart);
    bool zero = true;
    if (n) memcpy(given, before, sizeof *given * (size_t)n);
    p->decided[p->ndecided++] = most;
    for (int k = 0; k < a->npart && zero; k++) {
        int m = n;
        for (int j = 0; j < a->npart; j++)
            if (j != k)
                given[m++] = (RealSign){
                    nf_add(p, a->part[k].nf, nf_scale(p, a->part[j].nf, ratio(-1, 1))), false};
        p->decision[p->ndecided - 1] = a->part[k].nf;
        Nf x = simplify(p, ctx, nf);
        explain_form(p, "in the case that the greatest is", a->part[k].nf);
        explain_form(p, "the difference is", x);
        zero = !x || reals_zero_given(p, ctx, x, m, given) || zero_by_cases(p, ctx, x, m, given);
    }
    p->ndecided--;
    return zero;
}

/* ---- differences */

static bool zero_plain(Prover *p, Dom ctx, Nf nf) { return reals_zero_given(p, ctx, nf, 0, NULL); }
/* Drops sums over the same variables whose terms add up to 0 at each point. */
static Nf without_sums(Prover *p, Dom ctx, Nf nf) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(p, nf, k, &c);
        Nf rest, point;
        if (!b->term.nvar) continue;
        point = nf_terms_alike(p, nf, &b->term, &rest);
        Poly *to = ARENA_NEW(p->arena, Poly, b->term.nvar);
        for (int j = 0; j < b->term.nvar; j++) to[j] = poly_symbol(p->w, variable_new(p));
        Map m = {b->term.nvar, b->term.var, to};
        if (nf_size(p, point) < 2 ||
            !zero_plain(p, dom_and(p, ctx, dom_subst(p, b->term.dom, m)), nf_subst(p, point, m)))
            continue;
        return without_sums(p, ctx, rest);
    }
    return nf;
}
bool reals_zero(Prover *p, Dom ctx, Nf nf) {
    Cell cell[CELLS_MAX];
    int n = cells_make(p, ctx, 1, &nf, 0, NULL, cell);
    for (int k = 0; k < n; k++) {
        Nf x = cell_restrict(p, nf, cell[k].known);
        Dom here = dom_and(p, ctx, cell[k].known);
        if (cell[k].known) x = simplify(p, here, x);
        /* A term may fit two classes (equal.c), and may have joined the wrong one before. */
        if (x && n > 1 && forms_equal(p, here, x, 0)) continue;
        x = without_sums(p, here, x);
        if (x && !zero_plain(p, here, x) && !zero_by_cases(p, here, x, 0, NULL)) return false;
    }
    return true;
}
