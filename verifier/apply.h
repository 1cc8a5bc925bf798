/* apply.h -- functions of normal forms. A form whose terms carry guards that are free (they do not
   mention the term's own variables) is first split into the cells of those guards, so that f(sum of
   guarded terms) becomes a sum of guarded f(..): functions see forms without free guards. `ctx`
   holds where the result is used. powers.c, maximum.c and context.c have parts of it. */
#ifndef ISOMER_APPLY_H
#define ISOMER_APPLY_H
#include "verifier/normal.h"

bool prover_empty(Prover *, Dom ctx, Dom d); /* no point of ctx satisfies d */
bool prover_entails(Prover *, Dom ctx, Dom goal);
/* No term of the form is negative, and one that is positive has a point, wherever ctx holds. */
bool positive_on(Prover *, Dom ctx, Nf);
Nf apply_function(Prover *, Dom ctx, Function, Nf);
Nf apply_power(Prover *, Dom ctx, Nf, Ratio power);
Nf apply_pair(Prover *, Dom ctx, uint32_t word, Nf a, Nf b); /* uninterpreted */
Nf apply_max(Prover *, Dom ctx, int n, const Part *);        /* open parts */
Nf apply_max2(Prover *, Dom ctx, Nf a, Nf b);
Nf apply_sum(Prover *, Dom ctx, Part); /* a sum kept as written */

/* For apply.c, powers.c and maximum.c. */
enum { CELLS_MAX = 512 };
typedef struct Cell {
    Dom known; /* how each of the guards is decided */
    Dom guard; /* what of it does not follow from ctx */
} Cell;
int cells_make(Prover *, Dom ctx, int n, const Nf *, int nexcept, const Symbol *except,
               Cell out[CELLS_MAX]); /* guards that mention an exception are left */
Nf cell_restrict(Prover *, Nf, Dom known);
/* The number of a term that is not constant, and its coefficient; chosen without regard to names
   and, if possible, to indices and domains. -1: there is none. */
int lead_term(Prover *, Nf, Ratio *c);
/* The greatest rational that divides all coefficients into integers; > 0. */
Ratio coefficient_content(Prover *, int n, const Nf *);
/* A positive coefficient and nonnegative atoms (any atoms, if `any`) that all terms of the forms
   have in common, none of them mentioning the exceptions. */
NfTerm common_factor(Prover *, int n, const Nf *, bool any, int nexcept, const Symbol *except);
Nf divide_out(Prover *, Nf, NfTerm common);
Nf power_plain(Prover *, Nf, Ratio power);
Nf apply_plain(Prover *, Function, Nf); /* of a form without free guards */
Nf apply_exp(Prover *, Dom ctx, Nf);    /* likewise: a product */
#endif
