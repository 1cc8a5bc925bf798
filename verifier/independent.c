/* independent.c -- writes a sum over several variables as a product of sums that share no variable.
   Factors and conditions that mention the same variable belong to the same sum; those that mention
   none stand outside. If a sum is multiplied by itself, its two copies have variables of their own,
   so they come out as equal forms. */
#include "verifier/normal.h"

typedef struct Groups {
    Prover *p;
    const NfTerm *t;
    int *of; /* by variable: the number of its group, which is the number of one of its variables */
} Groups;

/* Merges the groups of all variables in the set. */
static void unite(Groups *g, const bool *in) {
    int first = -1;
    for (int k = 0; k < g->t->nvar; k++) {
        if (!in[k]) continue;
        if (first < 0) first = g->of[k];
        for (int j = 0, old = g->of[k]; j < g->t->nvar; j++)
            if (g->of[j] == old) g->of[j] = first;
    }
}
/* The group of a factor or condition, all of whose variables are in one group; -1 if it mentions
   none. */
static int group_of_factor(const Groups *g, const Factor *f) {
    for (int k = 0; k < g->t->nvar; k++)
        if (atom_mentions_any(g->p, f->atom, 1, &g->t->var[k])) return g->of[k];
    return -1;
}
static int group_of_condition(const Groups *g, Lit l) {
    for (int k = 0; k < g->t->nvar; k++)
        if (lit_mentions(g->p, l, 1, &g->t->var[k])) return g->of[k];
    return -1;
}
static void find_groups(Groups *g) {
    const NfTerm *t = g->t;
    bool *in = ARENA_NEW(g->p->arena, bool, t->nvar + 1);
    Lits l = dom_lits(g->p, t->dom);
    for (int k = 0; k < t->nvar; k++) g->of[k] = k;
    for (int f = 0; f < t->nfactor; f++) {
        for (int k = 0; k < t->nvar; k++)
            in[k] = atom_mentions_any(g->p, t->factor[f].atom, 1, &t->var[k]);
        unite(g, in);
    }
    for (int j = 0; j < l.n; j++) {
        for (int k = 0; k < t->nvar; k++) in[k] = lit_mentions(g->p, l.v[j], 1, &t->var[k]);
        unite(g, in);
    }
}
/* The factors and conditions of a group as a term; group -1 is what mentions no variable, with the
   coefficient. */
static NfTerm group(const Groups *g, int number) {
    const NfTerm *t = g->t;
    Lits l = dom_lits(g->p, t->dom);
    Symbol *var = ARENA_NEW(g->p->arena, Symbol, t->nvar + 1);
    NfTerm r = {.c = number < 0 ? t->c : ratio(1, 1), .var = var};
    for (int k = 0; k < t->nvar; k++)
        if (g->of[k] == number) var[r.nvar++] = t->var[k];
    for (int k = 0; k < l.n; k++)
        if (group_of_condition(g, l.v[k]) == number) r.dom = dom_with(g->p, r.dom, l.v[k]);
    for (int k = 0; k < t->nfactor; k++)
        if (group_of_factor(g, &t->factor[k]) == number)
            r = term_factor(g->p, r, t->factor[k].atom, t->factor[k].power);
    return r;
}
int term_independent(Prover *p, NfTerm t, NfTerm *out) {
    Groups g = {p, &t, ARENA_NEW(p->arena, int, t.nvar + 1)};
    int n = 0;
    find_groups(&g);
    out[n++] = group(&g, -1);
    for (int k = 0; k < t.nvar; k++)
        if (g.of[k] == k) out[n++] = group(&g, k);
    return n;
}
