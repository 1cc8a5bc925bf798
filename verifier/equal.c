/* equal.c -- shows that a difference of forms is zero. Its terms are grouped into classes, each
   with one body; then in each class the coefficients times the indicators of the domains must add
   up to zero at every point. This one question takes care of all splitting and merging of ranges.
   Maxima are compared similarly, by the points that either side covers. */
#include "verifier/equal.h"
#include "verifier/explain.h"
#include "verifier/unify.h"
#include <string.h>

enum { MATCHES_MAX = 40 };

typedef struct Class { /* terms with the same body */
    NfTerm r;          /* the first term; the domains of the others are in its variables */
    int n, room;
    struct Weighted {
        Ratio c; /* the coefficient of a term .. */
        Dom dom; /* .. and its domain */
    } * v;
} Class;
typedef struct Classes {
    int n, room;
    Class *v;
} Classes;

static void add_member(Prover *p, Class *c, Ratio weight, Dom dom) {
    ARENA_GROW(p->arena, c->v, c->room, c->n + 1);
    c->v[c->n].c = weight;
    c->v[c->n++].dom = dom;
}
static Class *new_class(Prover *p, Classes *s, NfTerm r) {
    ARENA_GROW(p->arena, s->v, s->room, s->n + 1);
    s->v[s->n] = (Class){.r = r};
    return &s->v[s->n++];
}

/* ---- the sum of weighted indicators */

static int64_t common_denominator(Prover *p, const Class *c) {
    int64_t d = 1;
    for (int k = 0; k < c->n; k++) {
        /* In lowest terms q/d = q'/d'; the least common multiple of q and d is d*q'. */
        Ratio r = ratio(c->v[k].c.q, d);
        if (__builtin_mul_overflow(d, r.p, &d)) prover_fail(p, "a coefficient exceeds 64 bits");
    }
    return d;
}
/* Returns whether the weights of the members that hold add up to 0 at every point of ctx. */
static bool balanced(Prover *p, Dom ctx, const Class *c) {
    WitnessMember *m = ARENA_NEW(p->arena, WitnessMember, c->n);
    int64_t d = common_denominator(p, c), sum = 0;
    int n = 0;
    for (int k = 0; k < c->n; k++) {
        int j = 0;
        Lits dom = dom_lits(p, c->v[k].dom);
        int64_t count = ratio_times(p, c->v[k].c, ratio(d, 1)).p;
        /* Equal sets of literals are one array. */
        while (j < n && !(m[j].dom.v == dom.v && m[j].dom.n == dom.n)) j++;
        if (j == n) m[n++] = (WitnessMember){0, dom};
        if (__builtin_add_overflow(m[j].count, count, &m[j].count) ||
            __builtin_add_overflow(sum, count, &sum))
            prover_fail(p, "a coefficient exceeds 64 bits");
    }
    if (!p->check.indicator) return sum == 0;
    int kept = 0;
    for (int k = 0; k < n; k++)
        if (m[k].count) m[kept++] = m[k];
    if (solver_spent(p->solver)) prover_fail(p, "the solver's budget is used up");
    return !kept || solver_balanced(p->solver, dom_lits(p, ctx), kept, m);
}

/* ---- the best change of variables: one that cancels against a member of the opposite sign */

typedef struct Best {
    Prover *p;
    Dom ctx;
    const NfTerm *t; /* the term that is to join class c */
    const Class *c;
    int seen;    /* changes of variables seen so far that cancel nothing */
    bool any;    /* a change of variables was found */
    Dom dom;     /* the domain of t after the change */
    Poly *value; /* what the variables of t become */
} Best;
/* Returns whether the term, with this domain, cancels against a member with the opposite
   coefficient, or there is no such member. */
static bool cancels(Best *b, Dom dom) {
    bool opposite = false;
    for (int k = 0; k < b->c->n; k++) {
        Ratio c = b->c->v[k].c;
        if (c.q != b->t->c.q || c.p != -b->t->c.p) continue;
        opposite = true;
        Class two = {.n = 2,
                     .v = (struct Weighted[]){{ratio(1, 1), dom}, {ratio(-1, 1), b->c->v[k].dom}}};
        if (dom == b->c->v[k].dom || balanced(b->p, b->ctx, &two)) return true;
    }
    return !opposite;
}
static bool unified(void *user, const Poly *value) {
    Best *b = user;
    Dom dom = dom_subst(b->p, b->t->dom, (Map){b->t->nvar, b->t->var, value});
    bool good = cancels(b, dom);
    if (good || !b->any) {
        b->dom = dom;
        if (b->t->nvar) memcpy(b->value, value, sizeof *value * (size_t)b->t->nvar);
    }
    b->any = true;
    return good || ++b->seen >= MATCHES_MAX;
}
static bool join_class(Prover *p, Dom ctx, Class *c, const NfTerm *t) {
    Best b = {p, ctx, t, c, 0, false, 0, ARENA_NEW(p->arena, Poly, t->nvar + 1)};
    unify_terms(p, ctx, t, &c->r, unified, &b);
    if (b.any) explain_change(p, t->nvar, t->var, b.value);
    if (b.any) add_member(p, c, t->c, b.dom);
    return b.any;
}
static void classify_term(Prover *p, Dom ctx, Classes *s, NfTerm t) {
    for (int k = 0; k < s->n; k++)
        if (join_class(p, ctx, &s->v[k], &t)) return;
    add_member(p, new_class(p, s, t), t.c, t.dom);
}

/* ---- forms */

static int simpler(const NfTerm *a, const NfTerm *b) {
    return a->nvar != b->nvar ? a->nvar - b->nvar : a->nfactor - b->nfactor;
}

/* For --explain: the members of a class that does not add up to zero. */
static void explain_unbalanced(Prover *p, const Class *c) {
    if (!trace_reads(p->trace) || p->depth) return;
    Text *t = p->trace->words;
    text_add(t, "  not balanced, members %d: ", c->n);
    nf_print(p, nf_of(p, c->r), t);
    text_add(t, "\n");
    for (int k = 0; k < c->n; k++) {
        const Ratio weight = c->v[k].c;
        text_add(t, "    %lld/%lld%s", (long long)weight.p, (long long)weight.q,
                 c->v[k].dom == DOM_TRUE ? " everywhere" : " where ");
        dom_print(p, c->v[k].dom, t);
        text_add(t, "\n");
    }
}
static bool is_zero(Prover *p, Dom ctx, Nf nf) {
    nf = simplify(p, ctx, nf);
    int n = nf_size(p, nf);
    if (!n) return true;
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, n);
    for (int k = 0; k < n; k++) {
        NfTerm x = nf_term(p, nf, k);
        int j = k;
        for (; j && simpler(&x, &t[j - 1]) < 0; j--) t[j] = t[j - 1];
        t[j] = x;
    }
    Classes s = {0};
    for (int k = 0; k < n; k++) classify_term(p, ctx, &s, t[k]);
    bool zero = true;
    for (int k = 0; k < s.n && zero; k++) {
        zero = balanced(p, ctx, &s.v[k]);
        if (!zero) explain_unbalanced(p, &s.v[k]);
    }
    return zero;
}
bool forms_equal(Prover *p, Dom ctx, Nf a, Nf b) {
    return a == b || is_zero(p, ctx, nf_add(p, a, nf_scale(p, b, ratio(-1, 1))));
}

/* ---- maxima */

/* If two variables a and b occur in the form as a - s*b only, for s = 1 or -1, replaces this by
   a. */
static bool merge_pair(Prover *p, Part *x) {
    for (int i = 0; i < x->nvar; i++)
        for (int j = 0; j < x->nvar; j++)
            for (int s = -1; s <= 1 && i != j; s += 2) {
                Symbol a = x->var[i], b = x->var[j];
                if (!nf_mentions_any(p, x->nf, 1, &a) || !nf_mentions_any(p, x->nf, 1, &b))
                    continue;
                Poly value =
                    poly_add(p->w, poly_symbol(p->w, a), poly_scale(p->w, poly_symbol(p->w, b), s));
                Map m = {1, &a, &value};
                Nf nf = nf_subst(p, x->nf, m);
                if (nf_mentions_any(p, nf, 1, &b)) continue;
                x->nf = nf;
                x->dom = dom_subst(p, x->dom, m);
                return true;
            }
    return false;
}
/* Writes the part as a term with one atom that holds its form. If `cover`, only which values the
   form takes matters, so variables that the form does not mention are eliminated. False if one
   cannot be eliminated. */
static bool part_term(Prover *p, Dom ctx, const Part *part, bool left, bool cover, NfTerm *t) {
    Part x = part_simplify(p, ctx, part_open(p, part));
    Symbol *var = ARENA_NEW(p->arena, Symbol, x.nvar + 1);
    int n = 0;
    while (cover && merge_pair(p, &x)) continue;
    for (int k = 0; k < x.nvar; k++)
        if (!cover || nf_mentions_any(p, x.nf, 1, &x.var[k])) var[n++] = x.var[k];
    for (int k = 0; k < x.nvar; k++)
        if (!among(x.var[k], n, var) && !project(p, &x.dom, x.var[k], n, var)) return false;
    *t = (NfTerm){.c = ratio(left ? 1 : -1, 1), .dom = x.dom, .nvar = n, .var = var};
    *t = term_factor(p, *t, atom_holding(p, x.nf), ratio(1, 1));
    return true;
}
static bool same_cover(Prover *p, Dom ctx, const Class *c) {
    WitnessMember *m = ARENA_NEW(p->arena, WitnessMember, c->n);
    for (int k = 0; k < c->n; k++) m[k] = (WitnessMember){c->v[k].c.p, dom_lits(p, c->v[k].dom)};
    return solver_same_cover(p->solver, dom_lits(p, ctx), c->n, m);
}
/* Compares maxima by the points that their parts cover, and kept sums by the weights of their
   points. */
static bool parts_equal(Prover *p, Dom ctx, const AtomInfo *a, const AtomInfo *b) {
    Classes s = {0};
    bool cover = a->kind == AT_MAX, equal = true;
    for (int side = 0; side < 2; side++) {
        const AtomInfo *x = side ? b : a;
        for (int k = 0; k < x->npart; k++) {
            NfTerm t;
            if (!part_term(p, ctx, &x->part[k], side == 0, cover, &t)) return false;
            classify_term(p, ctx, &s, t);
        }
    }
    for (int k = 0; k < s.n && equal; k++)
        equal = cover ? same_cover(p, ctx, &s.v[k]) : balanced(p, ctx, &s.v[k]);
    return equal;
}

static bool pair_equal(Prover *p, Dom ctx, const AtomInfo *x, const AtomInfo *y) {
    if (x->word != y->word) return false;
    if (forms_equal(p, ctx, x->a, y->a) && forms_equal(p, ctx, x->b, y->b)) return true;
    bool commutes = x->word == EX_ADD || x->word == EX_MUL;
    return commutes && forms_equal(p, ctx, x->a, y->b) && forms_equal(p, ctx, x->b, y->a);
}
bool atoms_equal(Prover *p, Dom ctx, Atom a, Atom b) {
    const AtomInfo *x = atom_info(p, a), *y = atom_info(p, b);
    bool equal = a == b;
    if (equal || x->kind != y->kind) return equal;
    p->depth++;
    if (x->kind == AT_FN) equal = x->word == y->word && forms_equal(p, ctx, x->a, y->a);
    else if (x->kind == AT_BASE) equal = forms_equal(p, ctx, x->a, y->a);
    else if (x->kind == AT_PAIR) equal = pair_equal(p, ctx, x, y);
    else if (x->kind == AT_MAX || x->kind == AT_SUM) equal = parts_equal(p, ctx, x, y);
    p->depth--;
    return equal;
}
