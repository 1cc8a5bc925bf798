/* reads.c -- whether two graphs look at the same elements of their inputs. Elements that another
   part of the same side has among its own count once: a convolution reads in the middle of its
   window what a parallel 1x1 convolution reads. */
#include "verifier/reads.h"
#include "verifier/simplify.h"
#include "verifier/tables.h"
#include "verifier/unify.h"

enum { VARIABLES_MAX = 24, SET_MAX = 64 }; /* SET_MAX: parts that are compared pair by pair */

/* The one element that a part's form is. */
static const AtomInfo *element(Prover *p, Nf nf) {
    if (nf_size(p, nf) != 1) return NULL;
    const NfTerm t = nf_term(p, nf, 0);
    if (t.nvar || t.dom || t.nfactor != 1 || !ratio_is(t.c, 1) || !ratio_is(t.factor[0].power, 1))
        return NULL;
    const AtomInfo *a = atom_info(p, t.factor[0].atom);
    return a->kind == AT_INPUT ? a : NULL;
}

/* Solves e = 0 for x, or what is left of e without the symbols that its terms share. */
static bool solve_index(Prover *p, Poly e, Symbol x, Poly *value) {
    return solve_for(p, e, x, value) ||
           solve_for(p, poly_without_shared(p->w, e, NULL, NULL), x, value);
}
/* What the variables of `of` must be for its element to be `one`: a guess, to be checked. */
static Map solve(Prover *p, const Part *of, const AtomInfo *one, const AtomInfo *all) {
    Symbol *from = ARENA_NEW(p->arena, Symbol, VARIABLES_MAX);
    Poly *to = ARENA_NEW(p->arena, Poly, VARIABLES_MAX);
    Map m = {0, from, to};
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < all->nindex && m.n < VARIABLES_MAX; i++) {
            const Poly e =
                poly_subst(p->w, poly_sub(p->w, all->index[i], one->index[i]), m.n, m.from, m.to);
            Poly value;
            for (int k = 0; k < of->nvar; k++) {
                if (among(of->var[k], m.n, from) || !solve_index(p, e, of->var[k], &value))
                    continue;
                for (int j = 0; j < m.n; j++)
                    to[j] = poly_subst(p->w, to[j], 1, &of->var[k], &value);
                from[m.n] = of->var[k], to[m.n++] = value;
                more = true;
                break;
            }
        }
    }
    return m;
}

/* Each element of x is one of y's. */
static bool among_those(Prover *p, Dom ctx, const Part *x, const Part *y) {
    const Part one = part_open(p, x), all = part_open(p, y);
    const AtomInfo *a = element(p, one.nf), *b = element(p, all.nf);
    if (!a || !b || a->word != b->word || a->nindex != b->nindex) return false;
    prover_spend(p, 1 + a->nindex);
    const Map m = solve(p, &all, a, b);
    const Dom rest = dom_subst(p, all.dom, m);
    for (int k = 0; k < all.nvar; k++)
        if (!among(all.var[k], m.n, m.from)) return false;
    return nf_subst(p, all.nf, m) == one.nf && prover_entails(p, dom_and(p, ctx, one.dom), rest);
}

static Atom set_of(Prover *p, Dom ctx, const Parts *s) {
    Part *kept = ARENA_NEW(p->arena, Part, s->n + 1);
    bool *gone = ARENA_NEW(p->arena, bool, s->n + 1);
    int n = 0;
    for (int k = 0; k < s->n; k++)
        for (int j = 0; j < s->n && !gone[k]; j++)
            gone[k] = j != k && !gone[j] && among_those(p, ctx, &s->v[k], &s->v[j]);
    for (int k = 0; k < s->n; k++)
        if (!gone[k]) kept[n++] = s->v[k];
    return atom_parts(p, AT_MAX, n, kept);
}

bool reads_equal(Prover *p, Dom ctx, const Parts *x, const Parts *y) {
    if (x->n > SET_MAX || y->n > SET_MAX) return false;
    return atoms_equal(p, ctx, atom_parts(p, AT_MAX, x->n, x->v),
                       atom_parts(p, AT_MAX, y->n, y->v)) ||
           atoms_equal(p, ctx, set_of(p, ctx, x), set_of(p, ctx, y));
}

/* Points where b, under the map, is the element a; where what is left of a difference without the
   symbols that its terms share is 0, so is the difference. */
static Dom same_index(Prover *p, const AtomInfo *a, const AtomInfo *b, Map m) {
    Lit l[RANK_MAX];
    for (int k = 0; k < a->nindex; k++) {
        const Poly to = prover_subst(p, b->index[k], m);
        const Poly difference = poly_sub(p->w, to, a->index[k]);
        l[k] = (Lit){poly_without_shared(p->w, difference, NULL, NULL), true};
    }
    return dom_make(p, a->nindex, l);
}

/* Where the part reads the element a, in *d: the variables that the element does not determine are
   0, one choice of many. false: it is another input's. */
static bool reads_where(Prover *p, const AtomInfo *a, const Part *part, Dom *d) {
    const Part all = part_open(p, part);
    const AtomInfo *b = element(p, all.nf);
    if (!b || a->word != b->word || a->nindex != b->nindex) return false;
    prover_spend(p, 1 + a->nindex);
    const Map solved = solve(p, &all, a, b);
    Symbol *from = ARENA_NEW(p->arena, Symbol, solved.n + all.nvar);
    Poly *to = ARENA_NEW(p->arena, Poly, solved.n + all.nvar);
    Symbol free[VARIABLES_MAX];
    Poly zero[VARIABLES_MAX];
    int nfree = 0, n = 0;
    for (int k = 0; k < all.nvar; k++) {
        if (among(all.var[k], solved.n, solved.from)) continue;
        if (nfree == VARIABLES_MAX) return false;
        free[nfree] = all.var[k], zero[nfree++] = poly_int(p->w, 0);
    }
    for (int k = 0; k < solved.n; k++, n++)
        from[n] = solved.from[k], to[n] = poly_subst(p->w, solved.to[k], nfree, free, zero);
    for (int k = 0; k < nfree; k++, n++) from[n] = free[k], to[n] = zero[k];
    const Map m = {n, from, to};
    *d = dom_and(p, dom_subst(p, all.dom, m), same_index(p, a, b, m));
    return true;
}

/* Each element of x is one of some part's: of which, may depend on the indices. */
static bool among_parts(Prover *p, Dom ctx, const Part *x, const Parts *y) {
    const Part one = part_open(p, x);
    const AtomInfo *a = element(p, one.nf);
    if (!a) return false;
    WitnessMember *member = ARENA_NEW(p->arena, WitnessMember, y->n + 1);
    Dom *where = ARENA_NEW(p->arena, Dom, y->n + 1);
    int n = 0, nwhere = 0;
    member[n++] = (WitnessMember){1, dom_lits(p, DOM_TRUE)};
    for (int k = 0, j; k < y->n; k++) {
        if (!reads_where(p, a, &y->v[k], &where[nwhere])) continue;
        for (j = 0; where[j] != where[nwhere]; j++) {}
        if (j < nwhere) continue;
        member[n++] = (WitnessMember){-1, dom_lits(p, where[nwhere++])};
    }
    return n > 1 && solver_same_cover(p->solver, dom_lits(p, dom_and(p, ctx, one.dom)), n, member);
}

bool reads_covered(Prover *p, Dom ctx, const Parts *x, const Parts *y) {
    for (int k = 0; k < x->n; k++)
        if (!among_parts(p, ctx, &x->v[k], y)) return false;
    return true;
}
