/* reads.c -- compares which elements of their inputs two graphs read. An element that another part
   of the same side reads, too, counts once: a convolution reads in the middle of its window what a
   parallel 1x1 convolution reads. */
#include "verifier/reads.h"
#include "verifier/explain.h"
#include "verifier/ranges.h"
#include "verifier/simplify.h"
#include "verifier/tables.h"
#include "verifier/equal.h"
#include "verifier/unify.h"

/* SET_MAX: the most parts that are compared pair by pair. */
enum { VARIABLES_MAX = 24, SET_MAX = 64 };

/* The element of an input that the form is, or NULL if it is something else. */
static const AtomInfo *element(Prover *p, Nf nf) {
    if (nf_size(p, nf) != 1) return NULL;
    const NfTerm t = nf_term(p, nf, 0);
    if (t.nvar || t.dom || t.nfactor != 1 || !ratio_is(t.c, 1) || !ratio_is(t.factor[0].power, 1))
        return NULL;
    const AtomInfo *a = atom_info(p, t.factor[0].atom);
    return a->kind == AT_INPUT ? a : NULL;
}

/* Solves e = 0 for x, if need be after dividing e by the symbols that all its terms share. */
static bool solve_index(Prover *p, Poly e, Symbol x, Poly *value) {
    return poly_solve(p->w, e, x, value) ||
           poly_solve(p->w, poly_without_shared(p->w, e, NULL, NULL), x, value);
}
Map reads_solve(Prover *p, const Part *of, int n, const Poly one[], const Poly all[]) {
    Symbol *from = ARENA_NEW(p->arena, Symbol, VARIABLES_MAX);
    Poly *to = ARENA_NEW(p->arena, Poly, VARIABLES_MAX);
    Map m = {0, from, to};
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n && m.n < VARIABLES_MAX; i++) {
            const Poly e = poly_subst(p->w, poly_sub(p->w, all[i], one[i]), m.n, m.from, m.to);
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

/* Returns whether each element that x reads is shown to be one that y reads. */
static bool among_those(Prover *p, Dom ctx, const Part *x, const Part *y) {
    const Part one = part_open(p, x), all = part_open(p, y);
    const AtomInfo *a = element(p, one.nf), *b = element(p, all.nf);
    if (!a || !b || a->word != b->word || a->nindex != b->nindex) return false;
    prover_spend(p, 1 + a->nindex);
    const Map m = reads_solve(p, &all, a->nindex, a->index, b->index);
    const Dom rest = dom_subst(p, all.dom, m);
    for (int k = 0; k < all.nvar; k++)
        if (!among(all.var[k], m.n, m.from)) return false;
    return nf_subst(p, all.nf, m) == one.nf && prover_entails(p, dom_and(p, ctx, one.dom), rest);
}

/* The parts, without those whose elements another part reads, as one atom. */
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

static bool reads_equal(Prover *p, Dom ctx, const Parts *x, const Parts *y) {
    if (x->n > SET_MAX || y->n > SET_MAX) return false;
    return atoms_equal(p, ctx, atom_parts(p, AT_MAX, x->n, x->v),
                       atom_parts(p, AT_MAX, y->n, y->v)) ||
           atoms_equal(p, ctx, set_of(p, ctx, x), set_of(p, ctx, y));
}

/* The condition that b, with the map applied, is the element a. A difference of indices is 0 where
   its quotient by the symbols that all its terms share is 0. */
static Dom same_index(Prover *p, const AtomInfo *a, const AtomInfo *b, Map m) {
    Lit l[RANK_MAX];
    for (int k = 0; k < a->nindex; k++) {
        const Poly to = prover_subst(p, b->index[k], m);
        const Poly difference = poly_sub(p->w, to, a->index[k]);
        l[k] = (Lit){poly_without_shared(p->w, difference, NULL, NULL), true};
    }
    return dom_make(p, a->nindex, l);
}

/* Sets *d to a condition under which the part reads the element a. Variables that the element does
   not determine are set to 0, which is one choice of many. False: the part reads another input. */
static bool reads_where(Prover *p, const AtomInfo *a, const Part *part, Dom *d) {
    const Part all = part_open(p, part);
    const AtomInfo *b = element(p, all.nf);
    if (!b || a->word != b->word || a->nindex != b->nindex) return false;
    prover_spend(p, 1 + a->nindex);
    const Map solved = reads_solve(p, &all, a->nindex, a->index, b->index);
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

/* Returns whether each element that x reads is shown to be read by some part of y; which part, may
   depend on the indices. */
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

static bool reads_covered(Prover *p, Dom ctx, const Parts *x, const Parts *y) {
    for (int k = 0; k < x->n; k++)
        if (!among_parts(p, ctx, &x->v[k], y)) return false;
    return true;
}

static Nf reads_form(Prover *p, const Parts *s) {
    return nf_atom(p, atom_parts(p, AT_MAX, s->n, s->v));
}
static Reading reading_under(Prover *p, Dom ctx, const Parts *x, const Parts *y) {
    if (reads_equal(p, ctx, x, y)) return READS_SAME;
    explain_form(p, "left reads", reads_form(p, x));
    explain_form(p, "right reads", reads_form(p, y));
    return reads_covered(p, ctx, x, y) ? READS_MORE : READS_OTHER;
}
/* Compares at each value of the indices that take few values. Products of such an index with sizes
   become linear. */
static Reading reading_by_values(Prover *p, Dom ctx, int nindex, const Symbol *index,
                                 const Parts *x, const Parts *y) {
    enum { FEW = 8 };
    Reading reading = READS_SAME;
    Lit lit[2];
    Poly n;
    int64_t count = 0;
    while (nindex > 0 && !(range_from_zero(p, ctx, *index, &n, lit) &&
                           poly_constant(p->w, n, &count) && count <= FEW))
        index++, nindex--;
    if (!nindex) return reading_under(p, ctx, x, y);
    for (int k = 0; k < count && reading != READS_OTHER; k++) {
        const Poly value = poly_int(p->w, k);
        const Map m = {1, index, &value};
        const Dom at = dom_subst(p, ctx, m);
        const Parts u = reads_subst(p, at, x, m), v = reads_subst(p, at, y, m);
        const Reading here = reading_by_values(p, at, nindex - 1, index + 1, &u, &v);
        if (here > reading) reading = here;
    }
    return reading;
}
/* Repeats the splits of indices that were made for the values, then compares. */
static Reading reading_by_digits(Prover *p, Dom ctx, const Symbol *index, const IndexSplits *splits,
                                 Parts x, Parts y) {
    p->index = index;
    p->nindex = RANK_MAX;
    for (int k = 0; k < splits->n; k++) {
        Map m;
        const Split s = {p->index[splits->split[k].at], splits->split[k].radix,
                         splits->split[k].count};
        const Dom range = split_index(p, s, &m);
        ctx = dom_and(p, dom_subst(p, ctx, m), range);
        x = reads_subst(p, ctx, &x, m);
        y = reads_subst(p, ctx, &y, m);
    }
    const int nindex = p->nindex;
    p->nindex = 0;
    return reading_by_values(p, ctx, nindex, p->index, &x, &y);
}
Reading reads_compare(Prover *p, Dom ctx, const Symbol *index, const IndexSplits *splits,
                      const Parts *x, const Parts *y) {
    const Reading reading = reading_under(p, ctx, x, y);
    if (reading != READS_OTHER || !splits->n) return reading;
    return reading_by_digits(p, ctx, index, splits, *x, *y);
}
