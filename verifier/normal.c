/* normal.c -- makes terms and normal forms: sums, products, substitution.

   A body is closed by giving its variables canonical names. They are numbered in the order in which
   the atoms mention them; the atoms are sorted by a hash that ignores the names of variables. With
   few exceptions, forms that differ in names only thus become the same number. */
#include "verifier/signs.h"
#include "verifier/tables.h"
#include <stdlib.h>
#include <string.h>

/* POWER_MAX: the greatest power that is multiplied out as a polynomial. */
enum { TERMS_MAX = 1500, FACTORS_MAX = 60, POWER_MAX = 60 };

/* ---- terms */

DType prover_type(Prover *p, Atom atom) {
    const AtomInfo *a = atom_info(p, atom);
    return a->kind == AT_INPUT && a->word < (uint32_t)p->ninput ? p->type[a->word] : DT_NONE;
}
/* Returns whether the atom is an input that is not 0 because the left side divides by it
   everywhere. */
static bool is_divided_by(Prover *p, Atom atom) {
    const AtomInfo *a = p->nonzero && !p->exact ? atom_info(p, atom) : NULL;
    return a && a->kind == AT_INPUT && a->word < 64 && p->nonzero >> a->word & 1;
}
/* Returns whether atom^a * atom^b = atom^(a + b) holds everywhere, with total powers; `sum` is a +
   b. */
static bool powers_merge(Prover *p, Atom atom, Ratio a, Ratio b, Ratio sum) {
    if (atom_positive(p, atom)) return true;
    if (a.q == 1 && b.q == 1 && is_divided_by(p, atom)) return true;
    if ((a.p < 0) != (b.p < 0)) return false;
    return (a.q == 1 && b.q == 1) || sum.q != 1 || atom_nonnegative(p, atom);
}
static int factor_order(const Factor *a, const Factor *b) {
    if (a->atom != b->atom) return a->atom < b->atom ? -1 : 1;
    if (a->power.q != b->power.q) return a->power.q < b->power.q ? -1 : 1;
    return (a->power.p > b->power.p) - (a->power.p < b->power.p);
}
static void factor_insert(Prover *p, Factor *v, int *n, Factor f) {
    if (f.power.p > 1 && f.power.q == 1 && prover_type(p, f.atom) == DT_BOOL) f.power = ratio(1, 1);
    for (int k = 0; k < *n; k++) {
        if (v[k].atom != f.atom) continue;
        Ratio sum = ratio_plus(p, v[k].power, f.power);
        if (!powers_merge(p, f.atom, v[k].power, f.power, sum)) continue;
        memmove(v + k, v + k + 1, sizeof *v * (size_t)(*n - k - 1));
        --*n;
        if (sum.p) factor_insert(p, v, n, (Factor){f.atom, sum});
        return;
    }
    int k = *n;
    for (; k && factor_order(&v[k - 1], &f) > 0; k--) v[k] = v[k - 1];
    v[k] = f;
    ++*n;
}
static NfTerm with_factors(Prover *p, NfTerm t, int n, const Factor *f) {
    if (t.nfactor + n > FACTORS_MAX) prover_fail(p, "a product has too many factors");
    Factor *v = ARENA_NEW(p->arena, Factor, t.nfactor + n + 1);
    int count = t.nfactor;
    if (count) memcpy(v, t.factor, sizeof *v * (size_t)count);
    for (int k = 0; k < n; k++) factor_insert(p, v, &count, f[k]);
    t.factor = v;
    t.nfactor = count;
    return t;
}
NfTerm term_factor(Prover *p, NfTerm t, Atom a, Ratio power) {
    return with_factors(p, t, 1, &(Factor){a, power});
}
/* The union of two sets of variables. */
static const Symbol *join_variables(Prover *p, int n, const Symbol *a, int m, const Symbol *b,
                                    int *count) {
    Symbol *v = ARENA_NEW(p->arena, Symbol, n + m + 1);
    if (n) memcpy(v, a, sizeof *v * (size_t)n);
    *count = n;
    for (int k = 0; k < m; k++)
        if (!among(b[k], n, a)) v[(*count)++] = b[k];
    return v;
}
NfTerm term_times(Prover *p, NfTerm a, NfTerm b) {
    NfTerm t = with_factors(p, a, b.nfactor, b.factor);
    t.c = ratio_times(p, a.c, b.c);
    t.var = join_variables(p, a.nvar, a.var, b.nvar, b.var, &t.nvar);
    t.dom = dom_and(p, a.dom, b.dom);
    return t;
}
static NfTerm subst_factors(Prover *p, NfTerm t, Map m) {
    const Factor *f = t.factor;
    int n = t.nfactor;
    bool any = false;
    for (int k = 0; k < n && !any; k++) any = atom_mentions_any(p, f[k].atom, m.n, m.from);
    if (!any) return t;
    Factor *v = ARENA_NEW(p->arena, Factor, n);
    for (int k = 0; k < n; k++) v[k] = (Factor){atom_subst(p, f[k].atom, m), f[k].power};
    t.nfactor = 0;
    return with_factors(p, t, n, v);
}
NfTerm term_subst(Prover *p, NfTerm t, Map m) {
    t = subst_factors(p, t, m);
    t.dom = dom_subst(p, t.dom, m);
    return t;
}
bool term_mentions_any(Prover *p, NfTerm t, int n, const Symbol *v) {
    for (int k = 0; k < t.nfactor; k++)
        if (atom_mentions_any(p, t.factor[k].atom, n, v)) return true;
    return false;
}

/* ---- bodies */

static const BodyInfo *body_info(Prover *p, Body b) { return slot_get(&p->tables->bodies, b); }

static uint64_t factor_mask(Prover *p, const Factor *f) {
    return mix(atom_info(p, f->atom)->mask, mix((uint64_t)f->power.p, (uint64_t)f->power.q));
}
/* Writes the term's variables in their canonical order; returns how many. *height is the greatest
   height of an atom; *mask is a hash of all factors that ignores names of variables. */
static int variable_order(Prover *p, const NfTerm *t, Symbol *out, int *height, uint64_t *mask) {
    int n = 0;
    uint64_t *key = ARENA_NEW(p->arena, uint64_t, t->nfactor + 1);
    bool *done = ARENA_NEW(p->arena, bool, t->nfactor + 1);
    *height = 0;
    *mask = 0;
    for (int k = 0; k < t->nfactor; k++) *mask += key[k] = factor_mask(p, &t->factor[k]);
    for (int k = 0; k < t->nfactor; k++) {
        int best = -1;
        for (int j = 0; j < t->nfactor; j++)
            if (!done[j] && (best < 0 || key[j] < key[best])) best = j;
        done[best] = true;
        const AtomInfo *a = atom_info(p, t->factor[best].atom);
        if (a->height > *height) *height = a->height;
        for (int j = 0; j < a->nfree; j++)
            if (among(a->free[j], t->nvar, t->var) && !among(a->free[j], n, out))
                out[n++] = a->free[j];
    }
    for (int j = 0; j < t->nvar; j++)
        if (!among(t->var[j], n, out)) out[n++] = t->var[j];
    return n;
}
static uint64_t dom_mask(Prover *p, Dom d) {
    Lits x = dom_lits(p, d);
    uint64_t sum = 0;
    for (int k = 0; k < x.n; k++) sum += mix(poly_info(p, x.v[k].p)->masked, x.v[k].eq);
    return sum;
}
/* Computes what follows from a body that is interned for the first time. */
static void body_note(Prover *p, BodyInfo *b, uint64_t mask) {
    Symbol *v = NULL;
    const NfTerm *t = &b->term;
    for (int k = 0; k < t->nfactor; k++) {
        const AtomInfo *a = atom_info(p, t->factor[k].atom);
        free_add(p, &b->nfree, &v, a->nfree, a->free, t->nvar, t->var);
        b->heads +=
            mix(a->heads, mix((uint64_t)t->factor[k].power.p, (uint64_t)t->factor[k].power.q));
    }
    Lits x = dom_lits(p, t->dom);
    for (int k = 0; k < x.n; k++) {
        const PolyInfo *i = poly_info(p, x.v[k].p);
        free_add(p, &b->nfree, &v, i->n, i->variable, t->nvar, t->var);
    }
    b->free = v;
    b->mask = mix(mask, mix(dom_mask(p, t->dom), (uint64_t)t->nvar));
}
static Body body_close(Prover *p, NfTerm t) {
    int height;
    uint64_t mask;
    prover_spend(p, 1 + t.nfactor);
    Symbol *order = ARENA_NEW(p->arena, Symbol, t.nvar + 1),
           *var = ARENA_NEW(p->arena, Symbol, t.nvar + 1);
    Poly *to = ARENA_NEW(p->arena, Poly, t.nvar + 1);
    int n = variable_order(p, &t, order, &height, &mask);
    height += n > 0;
    for (int k = 0; k < n; k++) {
        var[k] = nest_symbol(p, height, k);
        to[k] = poly_symbol(p->w, var[k]);
    }
    if (n) t = term_subst(p, t, (Map){n, order, to});
    t.var = var;
    t.c = ratio(1, 1);
    RecordWords w = {0};
    words_put(p, &w, t.dom);
    words_put(p, &w, (uint32_t)t.nvar);
    for (int k = 0; k < t.nfactor; k++) {
        words_put(p, &w, t.factor[k].atom);
        words_ratio(p, &w, t.factor[k].power);
    }
    Body b = intern_put(p->tables->body, w.v, sizeof *w.v * (size_t)w.n);
    if (body_info(p, b)) return b;
    BodyInfo *i = ARENA_NEW(p->arena, BodyInfo, 1);
    i->term = t;
    i->height = height;
    body_note(p, i, mask);
    slot_set(p, &p->tables->bodies, b, i);
    return b;
}
/* Variable k of those reserved for the current depth (nf_term_at). */
static Symbol depth_symbol(Prover *p, int k) {
    if (p->depth >= HEIGHT_MAX || k >= NEST_MAX) prover_fail(p, "nested too deeply");
    Symbol *s = &p->tables->open[p->depth][k];
    if (!*s) *s = variable_new(p);
    return *s;
}
/* The term c * body. Its variables are renamed if `rename`: to those reserved for the current depth
   if `at_depth`, otherwise to fresh ones. */
static NfTerm body_open(Prover *p, Body b, Ratio c, bool rename, bool at_depth) {
    NfTerm t = body_info(p, b)->term;
    t.c = c;
    if (!t.nvar || !rename) return t;
    Symbol *var = ARENA_NEW(p->arena, Symbol, t.nvar);
    Poly *to = ARENA_NEW(p->arena, Poly, t.nvar);
    for (int k = 0; k < t.nvar; k++) {
        var[k] = at_depth ? depth_symbol(p, k) : variable_new(p);
        to[k] = poly_symbol(p->w, var[k]);
    }
    t = term_subst(p, t, (Map){t.nvar, t.var, to});
    t.var = var;
    return t;
}

/* ---- forms */

static const NfRecord *records(Prover *p, Nf a, int *n) {
    size_t bytes = 0;
    const NfRecord *r = a ? intern_get(p->tables->nf, a, &bytes) : NULL;
    *n = (int)(bytes / sizeof *r);
    return r;
}
static int by_body(const void *a, const void *b) {
    const NfRecord *x = a, *y = b;
    return (x->body > y->body) - (x->body < y->body);
}
/* Interns the sum of n terms, which it sorts and adds up in place. */
static Nf nf_put(Prover *p, int n, NfRecord *r) {
    int m = 0;
    if (n > TERMS_MAX) prover_fail(p, "a normal form has too many terms");
    if (n) qsort(r, (size_t)n, sizeof *r, by_body);
    for (int k = 0; k < n; k++) {
        if (m && r[m - 1].body == r[k].body) r[m - 1].c = ratio_plus(p, r[m - 1].c, r[k].c);
        else r[m++] = r[k];
        if (!r[m - 1].c.p) m--;
    }
    return m ? intern_put(p->tables->nf, r, sizeof *r * (size_t)m) : 0;
}
int nf_size(Prover *p, Nf a) {
    int n;
    records(p, a, &n);
    return n;
}
const BodyInfo *nf_body(Prover *p, Nf a, int i, Ratio *c) {
    int n;
    const NfRecord *r = records(p, a, &n);
    *c = r[i].c;
    return body_info(p, r[i].body);
}
NfTerm nf_term(Prover *p, Nf a, int i) {
    int n;
    const NfRecord *r = records(p, a, &n);
    return body_open(p, r[i].body, r[i].c, p->check.rename_apart, false);
}
NfTerm nf_term_at(Prover *p, Nf a, int i) {
    int n;
    const NfRecord *r = records(p, a, &n);
    return body_open(p, r[i].body, r[i].c, true, true);
}
Nf nf_from(Prover *p, int n, const NfTerm *t) {
    NfRecord *r = ARENA_NEW(p->arena, NfRecord, n);
    int m = 0;
    for (int k = 0; k < n; k++)
        if (t[k].c.p && !dom_false(p, t[k].dom))
            r[m++] = (NfRecord){.body = body_close(p, t[k]), .c = t[k].c};
    return nf_put(p, m, r);
}
Nf nf_of(Prover *p, NfTerm t) { return nf_from(p, 1, &t); }
Nf nf_number(Prover *p, Ratio c) {
    if (c.p == INT64_MIN) prover_fail(p, "a number has no negative in 64 bits");
    return nf_of(p, (NfTerm){.c = c});
}
Nf nf_atom(Prover *p, Atom a) {
    return nf_of(p, term_factor(p, (NfTerm){.c = ratio(1, 1)}, a, ratio(1, 1)));
}
Nf nf_polynomial(Prover *p, Poly x) {
    Nf sum = 0;
    PolyScan s = poly_scan(p->w, x);
    for (Monomial m; poly_next(&s, &m);) {
        NfTerm t = {.c = ratio(m.coefficient, 1)};
        for (uint32_t k = 0; k < m.degree; k++) {
            Poly one = poly_symbol(p->w, m.symbol[k]);
            t = term_factor(p, t,
                            poly_info(p, one)->n ? atom_value(p, one)
                                                 : atom_simple(p, AT_SIZE, m.symbol[k]),
                            ratio(1, 1));
        }
        sum = nf_add(p, sum, nf_of(p, t));
    }
    return sum;
}
static bool term_as_polynomial(Prover *p, const NfTerm *t, AtomPolynomial of, Poly *product) {
    if (t->nvar || t->dom) return false;
    for (int k = 0; k < t->nfactor; k++) {
        const Ratio power = t->factor[k].power;
        Poly x;
        if (power.q != 1 || power.p < 1 || power.p > POWER_MAX ||
            !of(p, atom_info(p, t->factor[k].atom), &x))
            return false;
        for (int64_t j = 0; j < power.p; j++) *product = poly_mul(p->w, *product, x);
    }
    return true;
}
bool nf_as_polynomial(Prover *p, Nf a, AtomPolynomial of, Poly *sum) {
    const int n = nf_size(p, a);
    *sum = 0;
    for (int k = 0; k < n; k++) {
        Ratio c;
        const NfTerm *t = &nf_body(p, a, k, &c)->term;
        Poly product = poly_int(p->w, c.p);
        if (c.q != 1 || !term_as_polynomial(p, t, of, &product)) return false;
        *sum = poly_add(p->w, *sum, product);
    }
    return true;
}
Nf nf_add(Prover *p, Nf a, Nf b) {
    int n, m;
    const NfRecord *x = records(p, a, &n), *y = records(p, b, &m);
    NfRecord *r = ARENA_NEW(p->arena, NfRecord, n + m);
    if (n) memcpy(r, x, sizeof *r * (size_t)n);
    if (m) memcpy(r + n, y, sizeof *r * (size_t)m);
    return nf_put(p, n + m, r);
}
Nf nf_scale(Prover *p, Nf a, Ratio c) {
    int n;
    const NfRecord *x = records(p, a, &n);
    if (!c.p || !n) return 0;
    NfRecord *r = arena_copy(p->arena, x, sizeof *r * (size_t)n);
    for (int k = 0; k < n; k++) r[k].c = ratio_times(p, r[k].c, c);
    return nf_put(p, n, r);
}
Nf nf_mul(Prover *p, Nf a, Nf b) {
    int n = nf_size(p, a), m = nf_size(p, b), count = 0;
    if (n * m > TERMS_MAX) prover_fail(p, "a product has too many terms");
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, n * m);
    for (int k = 0; k < n; k++)
        for (int j = 0; j < m; j++) t[count++] = term_times(p, nf_term(p, a, k), nf_term(p, b, j));
    return nf_from(p, count, t);
}
static NfTerm *open_all(Prover *p, Nf a, int *n) {
    *n = nf_size(p, a);
    NfTerm *t = ARENA_NEW(p->arena, NfTerm, *n);
    for (int k = 0; k < *n; k++) t[k] = nf_term(p, a, k);
    return t;
}
Nf nf_bind(Prover *p, Nf a, int n, const Symbol *v, Dom d) {
    int count;
    NfTerm *t = open_all(p, a, &count);
    for (int k = 0; k < count; k++) {
        t[k].var = join_variables(p, t[k].nvar, t[k].var, n, v, &t[k].nvar);
        t[k].dom = dom_and(p, t[k].dom, d);
    }
    return nf_from(p, count, t);
}
Nf nf_guard(Prover *p, Nf a, Dom d) { return d ? nf_bind(p, a, 0, NULL, d) : a; }
Nf nf_subst(Prover *p, Nf a, Map m) {
    int count;
    if (!m.n || !nf_mentions_any(p, a, m.n, m.from)) return a;
    NfTerm *t = open_all(p, a, &count);
    for (int k = 0; k < count; k++) t[k] = term_subst(p, t[k], m);
    return nf_from(p, count, t);
}
bool nf_mentions_any(Prover *p, Nf a, int n, const Symbol *v) {
    int count;
    const NfRecord *r = records(p, a, &count);
    for (int k = 0; k < count; k++) {
        const BodyInfo *b = body_info(p, r[k].body);
        for (int j = 0; j < b->nfree; j++)
            if (among(b->free[j], n, v)) return true;
    }
    return false;
}
bool nf_constant(Prover *p, Nf a, Ratio *c) {
    int n = nf_size(p, a);
    *c = ratio(0, 1);
    if (!n) return true;
    const NfTerm *t = &nf_body(p, a, 0, c)->term;
    return n == 1 && !t->nfactor && !t->nvar && !t->dom;
}
