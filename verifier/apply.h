/* apply.h -- functions of normal forms. A guard of a term is free if it mentions none of the term's
   own variables. Before a function is applied, the form is split into cells, in each of which every
   free guard is decided. So f(sum of guarded terms) becomes a sum of guarded values f(..), and the
   functions below the split see forms without free guards. `ctx` holds where the result is used.
   The definitions are in apply.c, powers.c, maximum.c, common_factor.c and context.c. */
#ifndef ISOMER_APPLY_H
#define ISOMER_APPLY_H
#include "verifier/normal.h"

bool prover_empty(Prover *, Dom ctx, Dom d); /* is it shown that no point of ctx satisfies d? */
/* Is it shown that the goal holds wherever ctx does? */
bool prover_entails(Prover *, Dom ctx, Dom goal);
/* Is the form shown to be positive wherever ctx holds? One of its terms is positive and has a point
   in its domain, and the others together are not negative. */
bool positive_on(Prover *, Dom ctx, Nf);
Nf apply_function(Prover *, Dom ctx, Function, Nf);
Nf apply_power(Prover *, Dom ctx, Nf, Ratio power);
Nf apply_pair(Prover *, Dom ctx, uint32_t word, Nf a, Nf b); /* an uninterpreted AT_PAIR */
Nf apply_max(Prover *, Dom ctx, int n, const Part *);        /* the greatest of open parts */
Nf apply_max2(Prover *, Dom ctx, Nf a, Nf b);
Nf apply_sum(Prover *, Dom ctx, Part); /* a sum kept whole, as an AT_SUM */

/* The rest is for the files that implement these functions. */
enum { CELLS_MAX = 512 };
typedef struct Cell {
    Dom known; /* for each guard, either the guard or its negation */
    Dom guard; /* the literals of `known` that do not follow from ctx */
} Cell;
/* Splits ctx by the free guards of n forms into disjoint cells and returns how many there are.
   Guards that mention one of the exceptions are not split by. */
int cells_make(Prover *, Dom ctx, int n, const Nf *, int nexcept, const Symbol *except,
               Cell out[CELLS_MAX]);
/* The form in a cell: guards that `known` decides are left out, and with them the terms that they
   exclude. */
Nf cell_restrict(Prover *, Nf, Dom known);
/* Returns the number of a term that is not constant, and sets *c to its coefficient. The choice
   does not depend on names of variables, nor, if possible, on indices and domains. Returns -1 if
   all terms are constant. */
int lead_term(Prover *, Nf, Ratio *c);
/* Returns the greatest rational of which all coefficients are integer multiples; > 0. */
Ratio coefficient_content(Prover *, int n, const Nf *);
/* The product of all atoms, to powers, that every term of the forms contains. Only nonnegative
   atoms count, unless `any`, and none that mentions an exception or a variable that a term binds.
   Its coefficient is 1. */
NfTerm common_factor(Prover *, int n, const Nf *, bool any, int nexcept, const Symbol *except);
/* The form with each term divided by `common`, including its coefficient. */
Nf divide_out(Prover *, Nf, NfTerm common);
Nf power_plain(Prover *, Nf, Ratio power); /* of a form without free guards */
Nf apply_plain(Prover *, Function, Nf);    /* of a form without free guards */
Nf apply_exp(Prover *, Dom ctx, Nf);       /* likewise; the result is a product */
#endif
