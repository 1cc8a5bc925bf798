/* context.c -- asks the solver what holds at every point of a context (apply.h). */
#include "verifier/apply.h"

bool prover_empty(Prover *p, Dom ctx, Dom d) {
    Dom both = dom_and(p, ctx, d);
    if (dom_false(p, both)) return true;
    if (!p->check.feasibility) return d != DOM_TRUE;
    if (solver_spent(p->solver)) prover_fail(p, "the solver's budget is used up");
    return d && solver_empty(p->solver, dom_lits(p, both));
}
bool prover_entails(Prover *p, Dom ctx, Dom goal) {
    Lits g = dom_lits(p, goal);
    Lit *rest = ARENA_NEW(p->arena, Lit, g.n);
    int n = 0;
    for (int k = 0; k < g.n; k++)
        if (!dom_has(p, ctx, g.v[k])) rest[n++] = g.v[k];
    if (solver_spent(p->solver)) prover_fail(p, "the solver's budget is used up");
    return !n || solver_entails(p->solver, dom_lits(p, ctx), (Lits){n, rest});
}
