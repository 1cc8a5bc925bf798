/* unify.c -- finds out when two terms have the same body. Their atoms are paired by backtracking.
   Accesses of the same input that are paired give equations between indices, which are solved for
   one term's variables. What remains to be shown must follow from the context and the term's
   domain, otherwise the pairing is given up. The change of variables must be one to one over the
   integers, so that the sums on both sides run over the same points: it is linear, with determinant
   1 or -1. */
#include "verifier/determinant.h"
#include "verifier/equal.h"
#include "verifier/unify.h"
#include <string.h>

enum { EQUATIONS_MAX = 160, UNKNOWNS_MAX = 24, OPTIONS_MAX = 24, TRIES_MAX = 400 };

typedef struct Unify {
    Prover *p;
    Dom ctx;
    const NfTerm *t, *r; /* the variables of t become polynomials in those of r */
    Unified found;
    void *user;
    bool stop; /* `found` returned true, or there were too many tries */
    int tries;
    int order[UNKNOWNS_MAX * 3]; /* the order in which factors of r are paired: accesses first */
    bool used[UNKNOWNS_MAX * 3]; /* by factor of t: is it paired? */
    int neq, npair;
    Poly eq[EQUATIONS_MAX]; /* equations eq[k] = 0 between indices of paired accesses */
    /* The other paired atoms, which must be equal once the variables are known. */
    struct {
        Atom r, t;
    } pair[UNKNOWNS_MAX * 3];
} Unify;
typedef struct Solution { /* of the equations, for the variables of t */
    bool too_many;        /* some obligations are not listed, so nothing is shown */
    int n, nleft, nobligation;
    Symbol from[UNKNOWNS_MAX], left[UNKNOWNS_MAX];
    Poly to[UNKNOWNS_MAX];
    Lit obligation[EQUATIONS_MAX];
} Solution;

static Map map_of(const Solution *s) { return (Map){s->n, s->from, s->to}; }
static Poly subst(Prover *p, Poly x, Map m) {
    return m.n ? poly_subst(p->w, x, m.n, m.from, m.to) : x;
}

/* ---- equations */

static void record_solution(Prover *p, Solution *s, Symbol x, Poly value) {
    for (int k = 0; k < s->n; k++) s->to[k] = poly_subst(p->w, s->to[k], 1, &x, &value);
    s->from[s->n] = x;
    s->to[s->n++] = value;
}
/* Divides by the sizes that all monomials share. It suffices that the quotient is 0. */
static Poly without_sizes(Prover *p, Poly e) {
    for (int k = 0; k < p->nsize; k++)
        for (Poly q; e && poly_divide(p->w, e, poly_symbol(p->w, p->size[k]), &q);) e = q;
    return e;
}
static void oblige(Solution *s, Poly e) {
    if (s->nobligation == EQUATIONS_MAX) s->too_many = true;
    else s->obligation[s->nobligation++] = (Lit){e, true};
}
static bool solve_unknown(Unify *u, Solution *s, Poly e) {
    Poly value;
    for (int k = 0; k < u->t->nvar; k++) {
        Symbol x = u->t->var[k];
        if (!among(x, s->n, s->from) && poly_solve(u->p->w, e, x, &value)) {
            record_solution(u->p, s, x, value);
            return true;
        }
    }
    return false;
}
/* If e is the difference of two places, or of two elements of an input, writes equations between
   their arguments that together imply e = 0; returns how many. 0: e is something else. */
static int argument_parts(Prover *p, Poly e, Poly out[RANK_MAX]) {
    Monomial m[3];
    int n = 0;
    PolyScan s = poly_scan(p->w, e);
    while (n < 3 && poly_next(&s, &m[n])) n++;
    if (n != 2 || m[0].degree != 1 || m[1].degree != 1 || m[0].coefficient + m[1].coefficient ||
        m[0].coefficient * m[0].coefficient != 1)
        return 0;
    SymbolDef a = symbol_def(p->w, m[0].symbol[0]), b = symbol_def(p->w, m[1].symbol[0]);
    if (a.kind != b.kind || a.word != b.word || a.narg != b.narg ||
        (a.kind != SYM_READ && a.kind != SYM_PLACE))
        return 0;
    for (uint32_t k = 0; k < a.narg; k++) out[k] = poly_sub(p->w, a.arg[k], b.arg[k]);
    return (int)a.narg;
}
static Dom both_domains(Unify *u, const Solution *s) {
    return dom_and(u->p, dom_and(u->p, u->ctx, u->r->dom), dom_subst(u->p, u->t->dom, map_of(s)));
}
/* Does one step on the equations: solves one, or replaces one by others. False if there is nothing
   left to do. */
static bool solve_pass(Unify *u, Solution *s, Poly *eq, int *n) {
    Prover *p = u->p;
    prover_spend(p, 1 + *n);
    for (int k = 0; k < *n; k++) {
        Poly e = without_sizes(p, subst(p, eq[k], map_of(s)));
        bool open = poly_mentions_any(p, e, u->t->nvar, u->t->var);
        eq[k] = e;
        if (open && !solve_unknown(u, s, e)) continue;
        if (e && !open) oblige(s, e);
        eq[k] = eq[--*n];
        return true;
    }
    for (int k = 0; k < *n && *n < EQUATIONS_MAX - 1; k++) {
        Poly part[RANK_MAX];
        int m = argument_parts(p, eq[k], part);
        if (!m || *n + m >= EQUATIONS_MAX) m = equation_parts(p, both_domains(u, s), eq[k], part);
        if (!m) continue;
        eq[k] = part[0];
        for (int j = 1; j < m; j++) eq[(*n)++] = part[j];
        return true;
    }
    return false;
}
/* Solves the equations of the pairing and `extra`. What is not solved becomes an obligation;
   variables that are not determined are listed in s->left. */
static void solve_all(Unify *u, int nextra, const Poly *extra, Solution *s) {
    Poly eq[EQUATIONS_MAX];
    int n = 0;
    memset(s, 0, sizeof *s);
    for (int k = 0; k < u->neq; k++) eq[n++] = u->eq[k];
    for (int k = 0; k < nextra && n < EQUATIONS_MAX; k++) eq[n++] = extra[k];
    while (solve_pass(u, s, eq, &n)) continue;
    for (int k = 0; k < n; k++) oblige(s, eq[k]);
    for (int k = 0; k < u->t->nvar; k++)
        if (!among(u->t->var[k], s->n, s->from)) s->left[s->nleft++] = u->t->var[k];
}

/* ---- one to one */

enum { DEGREE_MAX = 64 };

/* Sets *c to the coefficient of x in a polynomial that is linear in the variables. False if the
   polynomial is not linear, or has a monomial of too high a degree. */
static bool coefficient(Prover *p, Poly value, Symbol x, int n, const Symbol *var, Poly *c) {
    PolyScan s = poly_scan(p->w, value);
    *c = 0;
    for (Monomial m; poly_next(&s, &m);) {
        uint32_t rest[DEGREE_MAX], k = 0, seen = 0, others = 0;
        if (m.degree > DEGREE_MAX) return false;
        for (uint32_t j = 0; j < m.degree; j++)
            if (m.symbol[j] == x) seen++;
            else {
                others += among(m.symbol[j], n, var);
                rest[k++] = m.symbol[j];
            }
        if (seen > 1 || (seen && others)) return false;
        if (seen) *c = poly_add(p->w, *c, poly_from(p->w, 1, &(Monomial){m.coefficient, k, rest}));
    }
    return true;
}
/* Returns whether the change of variables is linear with determinant 1 or -1. */
static bool one_to_one(Unify *u, const Poly *value) {
    Prover *p = u->p;
    Poly m[UNKNOWNS_MAX * UNKNOWNS_MAX], det;
    int n = u->t->nvar;
    if (!p->check.determinant) return true;
    for (int k = 0; k < n; k++) {
        const Symbol *v;
        int nv = poly_variables(p, value[k], &v);
        if (poly_mentions_any(p, value[k], n, u->t->var)) return false;
        for (int j = 0; j < nv; j++) /* digits and the like of variables are not linear */
            if (symbol_def(p->w, v[j]).kind != SYM_BOUND &&
                poly_mentions_any(p, poly_symbol(p->w, v[j]), n, u->r->var))
                return false;
        for (int j = 0; j < n; j++)
            if (!coefficient(p, value[k], u->r->var[j], n, u->r->var, &m[k * n + j])) return false;
    }
    return determinant(p->w, n, m, &det) && (poly_is(p->w, det, 1) || poly_is(p->w, det, -1));
}

/* ---- a pairing of all atoms */

/* Completes the solution by sending the variables that are left to `pick`, and reports it if all
   that has to be shown is. */
static void offer(Unify *u, const Solution *s, const Symbol *pick) {
    Prover *p = u->p;
    Poly value[UNKNOWNS_MAX], to[UNKNOWNS_MAX];
    int n = u->t->nvar;
    for (int k = 0; k < s->nleft; k++) to[k] = poly_symbol(p->w, pick[k]);
    Map rest = {s->nleft, s->left, to};
    for (int k = 0; k < n; k++) {
        value[k] = poly_symbol(p->w, u->t->var[k]);
        value[k] = subst(p, subst(p, value[k], map_of(s)), rest);
    }
    if (++u->tries > TRIES_MAX) u->stop = true;
    if (u->stop || s->too_many || !one_to_one(u, value)) return;
    Map m = {n, u->t->var, value};
    Dom given = dom_and(p, u->ctx, dom_subst(p, u->t->dom, m)), want = 0;
    for (int k = 0; k < s->nobligation; k++)
        want = dom_with(p, want, (Lit){subst(p, subst(p, s->obligation[k].p, rest), m), true});
    if (dom_false(p, want) ? !prover_empty(p, u->ctx, dom_subst(p, u->t->dom, m))
                           : !prover_entails(p, given, want))
        return;
    for (int k = 0; k < u->npair; k++)
        if (!atoms_equal(p, given, u->pair[k].r, atom_subst(p, u->pair[k].t, m))) return;
    u->stop = u->found(u->user, value);
}
/* Sends the variables that no equation determines to variables of r, in every order. */
static void permute(Unify *u, const Solution *s, int k, Symbol *pick, int npool,
                    const Symbol *pool) {
    if (k == s->nleft) {
        offer(u, s, pick);
        return;
    }
    for (int j = 0; j < npool && !u->stop; j++) {
        if (among(pool[j], k, pick)) continue;
        pick[k] = pool[j];
        permute(u, s, k + 1, pick, npool, pool);
    }
}
static void complete_solution(Unify *u, const Solution *s) {
    Symbol pick[UNKNOWNS_MAX], spare[UNKNOWNS_MAX];
    int n = 0;
    if (s->nleft > 4) return;
    for (int k = 0; k < u->r->nvar; k++) {
        bool taken = false;
        for (int j = 0; j < s->n; j++) taken |= poly_mentions_any(u->p, s->to[j], 1, &u->r->var[k]);
        if (!taken) spare[n++] = u->r->var[k];
    }
    if (n == s->nleft) permute(u, s, 0, pick, n, spare);
    else permute(u, s, 0, pick, u->r->nvar, u->r->var);
}

/* ---- guesses from accesses inside paired atoms; offer() checks them like everything else */

typedef struct Access {
    uint32_t input;
    int n;
    const Poly *index;
} Access;
typedef struct Accesses {
    int n;
    Access v[OPTIONS_MAX];
} Accesses;

static void accesses_of_nf(Prover *p, Nf nf, Accesses *out);
static void accesses_of(Prover *p, Atom a, Accesses *out) {
    const AtomInfo *i = atom_info(p, a);
    if (i->kind == AT_INPUT && out->n < OPTIONS_MAX)
        out->v[out->n++] = (Access){i->word, i->nindex, i->index};
    accesses_of_nf(p, i->a, out);
    accesses_of_nf(p, i->b, out);
    for (int k = 0; k < i->npart; k++) accesses_of_nf(p, i->part[k].nf, out);
}
static void accesses_of_nf(Prover *p, Nf nf, Accesses *out) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, nf, k, &c)->term;
        for (int j = 0; j < t->nfactor; j++) accesses_of(p, t->factor[j].atom, out);
    }
}
static bool mentions_nested(Prover *p, Poly x) {
    const Symbol *v;
    int n = poly_variables(p, x, &v);
    for (int k = 0; k < n; k++)
        if (variable_nested(p, v[k])) return true;
    return false;
}
typedef struct Guess {
    int n;
    Poly eq[RANK_MAX];
} Guess;
/* Equates the indices of two accesses of one input, one in each of the paired atoms, as far as
   these mention variables that are left. Returns how many guesses there are. */
static int guesses(Unify *u, int pair, const Solution *s, Guess *out) {
    Accesses *a = ARENA_NEW(u->p->arena, Accesses, 2);
    int n = 0;
    accesses_of(u->p, u->pair[pair].r, &a[0]);
    accesses_of(u->p, u->pair[pair].t, &a[1]);
    for (int i = 0; i < a[1].n; i++)
        for (int j = 0; j < a[0].n && n < OPTIONS_MAX; j++) {
            const Access *t = &a[1].v[i], *r = &a[0].v[j];
            Guess g = {0};
            if (t->input != r->input || t->n != r->n) continue;
            for (int k = 0; k < t->n; k++)
                if (poly_mentions_any(u->p, t->index[k], s->nleft, s->left) &&
                    !mentions_nested(u->p, t->index[k]) && !mentions_nested(u->p, r->index[k]))
                    g.eq[g.n++] = poly_sub(u->p->w, r->index[k], t->index[k]);
            bool old = !g.n;
            for (int k = 0; k < n; k++)
                old |= out[k].n == g.n && !memcmp(out[k].eq, g.eq, sizeof *g.eq * (size_t)g.n);
            if (!old) out[n++] = g;
        }
    return n;
}
static void try_guesses(Unify *u, const Solution *s, int pair, int nextra, Poly *extra) {
    if (u->stop) return;
    if (pair == u->npair) {
        Solution *more = ARENA_NEW(u->p->arena, Solution, 1);
        if (!nextra) return;
        if (++u->tries > TRIES_MAX) u->stop = true;
        solve_all(u, nextra, extra, more);
        if (!more->nleft) offer(u, more, NULL);
        return;
    }
    Guess *g = ARENA_NEW(u->p->arena, Guess, OPTIONS_MAX);
    int n = guesses(u, pair, s, g);
    for (int k = 0; k < n; k++) {
        memcpy(extra + nextra, g[k].eq, sizeof *extra * (size_t)g[k].n);
        if (nextra + g[k].n < EQUATIONS_MAX - RANK_MAX)
            try_guesses(u, s, pair + 1, nextra + g[k].n, extra);
    }
    try_guesses(u, s, pair + 1, nextra, extra);
}
static void finish_unifiers(Unify *u) {
    Solution *s = ARENA_NEW(u->p->arena, Solution, 1);
    solve_all(u, 0, NULL, s);
    if (s->nleft && u->npair) {
        Poly extra[EQUATIONS_MAX];
        try_guesses(u, s, 0, 0, extra);
    }
    if (!u->stop) complete_solution(u, s);
}

/* ---- pairing */

/* Returns whether the two factors may be paired, as far as can be seen without their arguments. */
static bool same_head(Prover *p, const Factor *a, const Factor *b) {
    const AtomInfo *x = atom_info(p, a->atom), *y = atom_info(p, b->atom);
    if (a->power.p != b->power.p || a->power.q != b->power.q || x->kind != y->kind ||
        x->word != y->word || x->nindex != y->nindex)
        return false;
    return x->kind == AT_REAL || x->kind == AT_PARAM || x->kind == AT_SIZE ? a->atom == b->atom
                                                                           : true;
}
static bool leaf(AtomKind k) { return k == AT_INPUT || k == AT_VALUE; }
static bool closed_leaf(AtomKind k) { return k == AT_REAL || k == AT_PARAM || k == AT_SIZE; }

static void pair_from(Unify *u, int k) {
    Prover *p = u->p;
    if (u->stop) return;
    if (k == u->r->nfactor) {
        finish_unifiers(u);
        return;
    }
    const Factor *r = &u->r->factor[u->order[k]];
    const AtomInfo *a = atom_info(p, r->atom);
    for (int j = 0; j < u->t->nfactor && !u->stop; j++) {
        const Factor *t = &u->t->factor[j];
        if (u->used[j] || !same_head(p, r, t)) continue;
        /* Too many equations: gives up this pairing. */
        if (leaf(a->kind) && u->neq + a->nindex > EQUATIONS_MAX) return;
        const AtomInfo *b = atom_info(p, t->atom);
        int neq = u->neq, npair = u->npair;
        u->used[j] = true;
        for (int i = 0; leaf(a->kind) && i < a->nindex; i++)
            u->eq[u->neq++] = poly_sub(p->w, a->index[i], b->index[i]);
        if (!leaf(a->kind) && !closed_leaf(a->kind)) {
            u->pair[u->npair].r = r->atom;
            u->pair[u->npair++].t = t->atom;
        }
        pair_from(u, k + 1);
        u->neq = neq;
        u->npair = npair;
        u->used[j] = false;
        if (closed_leaf(a->kind)) return;
    }
}
/* Returns whether each factor of r has a factor of t with the same head; a quick test. */
static bool heads_agree(Prover *p, const NfTerm *t, const NfTerm *r) {
    bool used[UNKNOWNS_MAX * 3] = {false};
    for (int k = 0; k < r->nfactor; k++) {
        int j = 0;
        while (j < t->nfactor && (used[j] || !same_head(p, &r->factor[k], &t->factor[j]))) j++;
        if (j == t->nfactor) return false;
        used[j] = true;
    }
    return true;
}
void unify_terms(Prover *p, Dom ctx, const NfTerm *t, const NfTerm *r, Unified found, void *user) {
    if (t->nvar != r->nvar || t->nfactor != r->nfactor || t->nfactor >= UNKNOWNS_MAX * 3 ||
        t->nvar >= UNKNOWNS_MAX)
        return;
    if (!heads_agree(p, t, r)) return;
    Unify *u = ARENA_NEW(p->arena, Unify, 1);
    u->p = p;
    u->ctx = ctx;
    u->t = t;
    u->r = r;
    u->found = found;
    u->user = user;
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < r->nfactor; k++)
            if (leaf(atom_info(p, r->factor[k].atom)->kind) == (pass == 0)) u->order[n++] = k;
    pair_from(u, 0);
}
