/* ranges.c -- the bound variables of a term and the ranges of variables (ranges.h). */
#include "verifier/ranges.h"
#include <string.h>

void term_drop(Prover *p, NfTerm *t, Symbol x) {
    Symbol *v = ARENA_NEW(p->arena, Symbol, t->nvar + 1);
    int n = 0;
    for (int k = 0; k < t->nvar; k++)
        if (t->var[k] != x) v[n++] = t->var[k];
    t->var = v;
    t->nvar = n;
}
void term_add(Prover *p, NfTerm *t, Symbol x) {
    Symbol *v = ARENA_NEW(p->arena, Symbol, t->nvar + 1);
    if (t->nvar) memcpy(v, t->var, sizeof *v * (size_t)t->nvar);
    v[t->nvar] = x;
    t->var = v;
    t->nvar++;
}
void term_eliminate(Prover *p, NfTerm *t, Symbol x, Poly value) {
    *t = term_subst(p, *t, (Map){1, &x, &value});
    term_drop(p, t, x);
}

bool range_from_zero(Prover *p, Dom d, Symbol x, Poly *n, Lit lit[2]) {
    Lits l = dom_lits(p, d);
    const Symbol *v;
    Poly b;
    int found = 0;
    for (int k = 0; k < l.n; k++) {
        int side = bound_of(p, l.v[k], x, &b);
        if (side == 1 && !b) {
            lit[0] = l.v[k];
            found |= 1;
        } else if (side == -1 && !poly_variables(p, b, &v)) {
            lit[1] = l.v[k];
            *n = poly_add(p->w, b, poly_int(p->w, 1));
            found |= 2;
        }
    }
    return found == 3;
}
Lit at_least_zero(Prover *p, Symbol x) { return (Lit){poly_symbol(p->w, x), false}; }
Lit less_than(Prover *p, Symbol x, Poly n) {
    return (Lit){poly_sub(p->w, poly_sub(p->w, n, poly_int(p->w, 1)), poly_symbol(p->w, x)), false};
}
bool never_negative(Prover *p, Dom ctx, Poly n) {
    return prover_entails(p, ctx, dom_make(p, 1, &(Lit){n, false}));
}
