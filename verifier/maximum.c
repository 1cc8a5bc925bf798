/* maximum.c -- the greatest of several parts, each over its own variables. A maximum that is a part
   of another is merged into it. What all parts have in common is added or multiplied from outside.
   Two parts a and b without variables and conditions become a + relu(b - a). The form of relu is
   made unique by relu(c*e) = c*relu(e) and relu(-e) = relu(e) - e. Hence relu(e) - relu(-e) is e,
   and clip(e, a, b) is a + relu(e - a) - relu(e - b) for numbers a <= b. */
#include "verifier/apply.h"
#include "verifier/signs.h"
#include <string.h>

/* FLAT_MAX: nested maxima are merged as long as there are at most so many parts. MERGE_ROUNDS: how
   deep maxima in each other are merged. RAISE_ROUNDS: how many terms are taken out in turn. What is
   beyond stays a maximum of its own, which may miss an equality. */
enum { PARTS_MAX = 24, FLAT_MAX = 12, MERGE_ROUNDS = 4, RAISE_ROUNDS = 4 };
typedef struct PartArray {
    int n;
    Part v[PARTS_MAX];
} PartArray;

static void push_part(Prover *p, PartArray *s, Part x) {
    if (s->n == PARTS_MAX) prover_fail(p, "a maximum has too many parts");
    if (!dom_false(p, x.dom)) s->v[s->n++] = x;
}
/* The variables of all parts. */
static const Symbol *variables_of(Prover *p, int n, const Part *v, int *count) {
    int most = 0;
    for (int k = 0; k < n; k++) most += v[k].nvar;
    Symbol *all = ARENA_NEW(p->arena, Symbol, most + 1);
    *count = 0;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < v[k].nvar; j++) all[(*count)++] = v[k].var[j];
    return all;
}
static Nf minus(Prover *p, Nf a, Nf b) { return nf_add(p, a, nf_scale(p, b, ratio(-1, 1))); }
/* A maximum, or the part that it equals in the current case, if that is decided (cases.c). */
static Nf maximum_of(Prover *p, int n, const Part *v) {
    Atom atom = atom_parts(p, AT_MAX, n, v);
    for (int k = 0; k < p->ndecided; k++)
        if (p->decided[k] == atom) return p->decision[k];
    return nf_atom(p, atom);
}
static Nf zero_or(Prover *p, Nf e) { /* max{e, 0} */
    return maximum_of(p, 2, (Part[]){{.nf = e}, {.nf = 0}});
}

/* max{e, 0} in its unique form. */
static Nf relu(Prover *p, Nf e) {
    Ratio c = ratio(1, 1);
    if (nf_nonnegative(p, e)) return e;
    if (nf_nonnegative(p, nf_scale(p, e, ratio(-1, 1)))) return 0;
    NfTerm common = common_factor(p, 1, &e, false, 0, NULL);
    lead_term(p, e, &c);
    common.c = coefficient_content(p, 1, &e);
    Nf rest = divide_out(p, e, common), out = nf_of(p, common);
    if (c.p > 0) return nf_mul(p, out, zero_or(p, rest));
    return nf_add(p, e, nf_mul(p, out, zero_or(p, nf_scale(p, rest, ratio(-1, 1)))));
}

/* ---- nested maxima */

/* If term k of the form is c * max{..} with c > 0, and nothing else, sets *c and *a. */
static bool is_max_term(Prover *p, Nf nf, int k, Ratio *c, Atom *a) {
    const NfTerm *t = &nf_body(p, nf, k, c)->term;
    if (c->p <= 0 || t->nvar || t->dom || t->nfactor != 1 || !ratio_is(t->factor[0].power, 1))
        return false;
    *a = t->factor[0].atom;
    return atom_info(p, *a)->kind == AT_MAX;
}
static Nf without_term(Prover *p, Nf nf, int k) {
    int n = nf_size(p, nf), m = 0;
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, n);
    for (int j = 0; j < n; j++)
        if (j != k) t[m++] = nf_term(p, nf, j);
    return nf_from(p, m, t);
}
static Part joined_part(Prover *p, const Part *outer, Part inner, Nf nf) {
    Symbol *v = ARENA_NEW(p->arena, Symbol, outer->nvar + inner.nvar + 1);
    if (outer->nvar) memcpy(v, outer->var, sizeof *v * (size_t)outer->nvar);
    if (inner.nvar) memcpy(v + outer->nvar, inner.var, sizeof *v * (size_t)inner.nvar);
    return (Part){outer->nvar + inner.nvar, v, dom_and(p, outer->dom, inner.dom), nf};
}
/* Appends the parts that replace x if a term of x is a maximum, times a positive number. False if
   there is none, or there would be too many parts. */
static bool flatten_part(Prover *p, const Part *x, PartArray *out) {
    int n = nf_size(p, x->nf);
    for (int k = 0; k < n; k++) {
        Ratio c;
        Atom a;
        if (!is_max_term(p, x->nf, k, &c, &a) || out->n + atom_info(p, a)->npart > FLAT_MAX)
            continue;
        Nf rest = without_term(p, x->nf, k);
        const AtomInfo *m = atom_info(p, a);
        for (int j = 0; j < m->npart; j++) {
            Part inner = part_open(p, &m->part[j]);
            push_part(p, out, joined_part(p, x, inner, nf_add(p, nf_scale(p, inner.nf, c), rest)));
        }
        return true;
    }
    return false;
}
/* Uses max{.., b - c*M, ..} = max{.. + c*M, b, ..} - c*M for a maximum M that mentions no variable
   of a part. Adds -c*M to *subtract. */
static bool raise_negative(Prover *p, PartArray *s, Nf *subtract) {
    for (int j = 0; j < s->n; j++) {
        int n = nf_size(p, s->v[j].nf);
        for (int k = 0; k < n; k++) {
            Ratio c;
            const BodyInfo *b = nf_body(p, s->v[j].nf, k, &c);
            if (c.p >= 0 || b->term.nvar || b->term.dom || b->term.nfactor != 1 ||
                !ratio_is(b->term.factor[0].power, 1))
                continue;
            const AtomInfo *m = atom_info(p, b->term.factor[0].atom);
            bool own = false;
            for (int i = 0; i < s->n; i++)
                own |= atom_mentions_any(p, b->term.factor[0].atom, s->v[i].nvar, s->v[i].var);
            if (m->kind != AT_MAX || own || s->n * m->npart > FLAT_MAX) continue;
            NfTerm t = b->term;
            t.c = ratio(-c.p, c.q);
            Nf add = nf_of(p, t);
            for (int i = 0; i < s->n; i++) s->v[i].nf = nf_add(p, s->v[i].nf, add);
            *subtract = nf_add(p, *subtract, nf_scale(p, add, ratio(-1, 1)));
            return true;
        }
    }
    return false;
}
static void flatten_all(Prover *p, PartArray *s) {
    for (int round = 0; round < MERGE_ROUNDS; round++) {
        PartArray next = {0};
        bool any = false;
        for (int k = 0; k < s->n; k++)
            if (flatten_part(p, &s->v[k], &next)) any = true;
            else push_part(p, &next, s->v[k]);
        *s = next;
        if (!any) return;
    }
}

/* ---- fewer parts */

/* Splits a part by the guards of its form, which may mention the part's own variables: each cell
   becomes a part with the guards as conditions. */
static void split_part(Prover *p, Dom ctx, const Part *x, PartArray *out) {
    Cell cell[CELLS_MAX];
    int n = cells_make(p, dom_and(p, ctx, x->dom), 1, &x->nf, 0, NULL, cell);
    for (int k = 0; k < n; k++) {
        Part y = *x;
        y.nf = cell_restrict(p, x->nf, cell[k].known);
        y.dom = dom_and(p, x->dom, cell[k].guard);
        push_part(p, out, y);
    }
}
static bool dominated(Prover *p, const Part *x, const Part *y) { /* x <= y at every point of x */
    bool over = !y->nvar && !y->dom;
    bool same = x->nvar == y->nvar && x->dom == y->dom &&
                (!x->nvar || !memcmp(x->var, y->var, sizeof *x->var * (size_t)x->nvar));
    return (over || same) && nf_nonnegative(p, minus(p, y->nf, x->nf));
}
static void drop_dominated(Prover *p, PartArray *s) {
    for (int k = 0; k < s->n; k++)
        for (int j = 0; j < s->n; j++)
            if (j != k && dominated(p, &s->v[k], &s->v[j])) {
                memmove(s->v + k, s->v + k + 1, sizeof *s->v * (size_t)(s->n - k - 1));
                s->n--;
                k--;
                break;
            }
}

/* ---- what the parts share */

static bool has_term(Prover *p, Nf nf, const BodyInfo *b, Ratio c) {
    int n = nf_size(p, nf);
    for (int k = 0; k < n; k++) {
        Ratio x;
        if (nf_body(p, nf, k, &x) == b && x.p == c.p && x.q == c.q) return true;
    }
    return false;
}
static Nf shared_terms(Prover *p, const PartArray *s) {
    int n = nf_size(p, s->v[0].nf), m = 0;
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, n);
    for (int k = 0; k < n; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(p, s->v[0].nf, k, &c);
        bool all = true;
        for (int j = 0; j < s->n && all; j++) {
            all = has_term(p, s->v[j].nf, b, c);
            for (int f = 0; f < b->nfree; f++) all &= !among(b->free[f], s->v[j].nvar, s->v[j].var);
        }
        if (all) t[m++] = nf_term(p, s->v[0].nf, k);
    }
    return nf_from(p, m, t);
}
static NfTerm shared_factor(Prover *p, const PartArray *s) {
    Nf nf[PARTS_MAX];
    int n = 0, nvar;
    const Symbol *var = variables_of(p, s->n, s->v, &nvar);
    for (int j = 0; j < s->n; j++)
        if (s->v[j].nf) nf[n++] = s->v[j].nf;
    NfTerm r = n ? common_factor(p, n, nf, false, nvar, var) : (NfTerm){.c = ratio(1, 1)};
    r.c = coefficient_content(p, n, nf);
    return r;
}

/* The maximum of the parts, after raise_negative. */
static Nf raised_parts(Prover *p, PartArray *s) {
    flatten_all(p, s);
    drop_dominated(p, s);
    if (s->n == 1 && part_is_bare(&s->v[0])) return s->v[0].nf;
    if (s->n == 2 && part_is_bare(&s->v[0]) && part_is_bare(&s->v[1]))
        return nf_add(p, s->v[0].nf, relu(p, minus(p, s->v[1].nf, s->v[0].nf)));
    if (!s->n) return nf_atom(p, atom_parts(p, AT_MAX, 0, NULL));
    Nf shared = shared_terms(p, s);
    for (int k = 0; k < s->n; k++) s->v[k].nf = minus(p, s->v[k].nf, shared);
    NfTerm factor = shared_factor(p, s);
    for (int k = 0; k < s->n; k++) s->v[k].nf = divide_out(p, s->v[k].nf, factor);
    Nf most = maximum_of(p, s->n, s->v);
    return nf_add(p, shared, nf_mul(p, nf_of(p, factor), most));
}

static Nf of_parts(Prover *p, PartArray *s) {
    Nf subtract = 0;
    for (int round = 0; round < RAISE_ROUNDS && raise_negative(p, s, &subtract); round++) continue;
    return nf_add(p, raised_parts(p, s), subtract);
}

Nf apply_max(Prover *p, Dom ctx, int n, const Part *part) {
    Cell cell[CELLS_MAX];
    Nf nf[PARTS_MAX], sum = 0;
    int nvar;
    if (n > PARTS_MAX) prover_fail(p, "a maximum has too many parts");
    const Symbol *var = variables_of(p, n, part, &nvar);
    for (int k = 0; k < n; k++) nf[k] = part[k].nf;
    int cells = cells_make(p, ctx, n, nf, nvar, var, cell);
    for (int c = 0; c < cells; c++) {
        PartArray s = {0};
        Dom here = dom_and(p, ctx, cell[c].guard);
        for (int k = 0; k < n; k++) {
            Part x = part[k];
            x.nf = cell_restrict(p, x.nf, cell[c].known);
            split_part(p, here, &x, &s);
        }
        sum = nf_add(p, sum, nf_guard(p, of_parts(p, &s), cell[c].guard));
    }
    return sum;
}
Nf apply_max2(Prover *p, Dom ctx, Nf a, Nf b) {
    return apply_max(p, ctx, 2, (Part[]){{.nf = a}, {.nf = b}});
}
