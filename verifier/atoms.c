/* atoms.c -- atoms: elements of inputs, sizes, and functions, maxima and sums of forms. They are
   interned, together with the variables on which they depend. */
#include "verifier/tables.h"
#include <string.h>

const AtomInfo *atom_info(Prover *p, Atom a) { return slot_get(&p->tables->atoms, a); }

/* The note_ functions add to an atom's record what follows from one of its components: free
   variables (except those in `except`), height and hashes. */
static void note_nf(Prover *p, AtomInfo *i, Symbol **v, Nf nf, int nexcept, const Symbol *except) {
    int n = nf_size(p, nf);
    uint64_t sum = 0;
    for (int k = 0; k < n; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(p, nf, k, &c);
        i->heads += mix(b->heads, 1);
        free_add(p, &i->nfree, v, b->nfree, b->free, nexcept, except);
        if (b->height > i->height) i->height = b->height;
        sum += mix(b->mask, mix((uint64_t)c.p, (uint64_t)c.q)); /* a sum: in any order */
    }
    i->mask = mix(i->mask, sum);
}
static void note_poly(Prover *p, AtomInfo *i, Symbol **v, Poly x, int nexcept,
                      const Symbol *except) {
    const PolyInfo *info = poly_info(p, x);
    free_add(p, &i->nfree, v, info->n, info->variable, nexcept, except);
    i->mask = mix(i->mask, info->masked);
}
static void note_dom(Prover *p, AtomInfo *i, Symbol **v, Dom d, int nexcept, const Symbol *except) {
    Lits x = dom_lits(p, d);
    uint64_t sum = 0, before = i->mask;
    for (int k = 0; k < x.n; k++) {
        i->mask = x.v[k].eq;
        note_poly(p, i, v, x.v[k].p, nexcept, except);
        sum += i->mask;
    }
    i->mask = mix(before, sum);
}
static void note_parts(Prover *p, AtomInfo *i, Symbol **v) {
    uint64_t sum = 0, before = i->mask;
    int height = 0;
    for (int k = 0; k < i->npart; k++) {
        const Part *x = &i->part[k];
        i->mask = 0;
        i->height = 0;
        note_nf(p, i, v, x->nf, x->nvar, x->var);
        note_dom(p, i, v, x->dom, x->nvar, x->var);
        sum += i->mask; /* a sum: in any order */
        if (i->height + (x->nvar > 0) > height) height = i->height + (x->nvar > 0);
    }
    if (i->npart) i->height = height;
    i->mask = mix(before, sum);
}
/* Interns an atom. What follows from its components is computed only if it is new. */
static Atom atom_put(Prover *p, AtomInfo info) {
    RecordWords w = {0};
    uint64_t bits;
    memcpy(&bits, &info.real, sizeof bits);
    words_put(p, &w, info.kind);
    words_put(p, &w, info.word);
    words_put(p, &w, (uint32_t)bits);
    words_put(p, &w, (uint32_t)(bits >> 32));
    words_put(p, &w, info.a);
    words_put(p, &w, info.b);
    words_put(p, &w, (uint32_t)info.nindex);
    for (int k = 0; k < info.nindex; k++) words_put(p, &w, info.index[k]);
    for (int k = 0; k < info.npart; k++) {
        words_put(p, &w, (uint32_t)info.part[k].nvar);
        words_put(p, &w, info.part[k].dom);
        words_put(p, &w, info.part[k].nf);
        for (int j = 0; j < info.part[k].nvar; j++) words_put(p, &w, info.part[k].var[j]);
    }
    Atom a = intern_put(p->tables->atom, w.v, sizeof *w.v * (size_t)w.n);
    if (atom_info(p, a)) return a;
    AtomInfo *i = ARENA_NEW(p->arena, AtomInfo, 1);
    Symbol *v = NULL;
    *i = info;
    i->heads = i->mask = mix(mix(info.kind, info.word), bits);
    i->index = arena_copy(p->arena, info.index, sizeof *info.index * (size_t)info.nindex);
    for (int k = 0; k < info.nindex; k++) note_poly(p, i, &v, info.index[k], 0, NULL);
    note_nf(p, i, &v, info.a, 0, NULL);
    note_nf(p, i, &v, info.b, 0, NULL);
    note_parts(p, i, &v);
    i->free = v;
    slot_set(p, &p->tables->atoms, a, i);
    return a;
}
Atom atom_input(Prover *p, uint32_t input, int n, const Poly *index) {
    return atom_put(p, (AtomInfo){.kind = AT_INPUT, .word = input, .nindex = n, .index = index});
}
Atom atom_simple(Prover *p, AtomKind kind, uint32_t word) {
    return atom_put(p, (AtomInfo){.kind = kind, .word = word});
}
Atom atom_value(Prover *p, Poly x) {
    return atom_put(p, (AtomInfo){.kind = AT_VALUE, .nindex = 1, .index = &x});
}
Atom atom_real(Prover *p, double x) { return atom_put(p, (AtomInfo){.kind = AT_REAL, .real = x}); }
Atom atom_nested(Prover *p, AtomKind kind, uint32_t word, Nf a, Nf b) {
    return atom_put(p, (AtomInfo){.kind = kind, .word = word, .a = a, .b = b});
}
Atom atom_holding(Prover *p, Nf nf) { return atom_nested(p, AT_PAIR, PAIR_HOLDS, nf, 0); }

/* Writes the part's variables in canonical order: as its form mentions them, then those that only
   the domain has. Returns how many. */
static int part_order(Prover *p, const Part *part, Symbol *out, int *height) {
    int n = 0, size = nf_size(p, part->nf);
    *height = 0;
    for (int k = 0; k < size; k++) {
        Ratio c;
        const BodyInfo *b = nf_body(p, part->nf, k, &c);
        if (b->height > *height) *height = b->height;
        for (int j = 0; j < b->nfree; j++)
            if (among(b->free[j], part->nvar, part->var) && !among(b->free[j], n, out))
                out[n++] = b->free[j];
    }
    for (int j = 0; j < part->nvar; j++)
        if (!among(part->var[j], n, out)) out[n++] = part->var[j];
    return n;
}
static Part part_close(Prover *p, const Part *part) {
    int height;
    Symbol *order = ARENA_NEW(p->arena, Symbol, part->nvar + 1),
           *var = ARENA_NEW(p->arena, Symbol, part->nvar + 1);
    Poly *to = ARENA_NEW(p->arena, Poly, part->nvar + 1);
    int n = part_order(p, part, order, &height);
    for (int k = 0; k < n; k++) {
        var[k] = nest_symbol(p, height + 1, k);
        to[k] = poly_symbol(p->w, var[k]);
    }
    Map m = {n, order, to};
    return (Part){n, var, dom_subst(p, part->dom, m), nf_subst(p, part->nf, m)};
}
static bool part_after(const Part *a, const Part *b) {
    if (a->nf != b->nf) return a->nf > b->nf;
    return a->dom != b->dom ? a->dom > b->dom : a->nvar > b->nvar;
}
Atom atom_parts(Prover *p, AtomKind kind, int n, const Part *part) {
    Part *v = ARENA_NEW(p->arena, Part, n);
    for (int k = 0; k < n; k++) {
        Part x = part_close(p, &part[k]);
        int j = k;
        for (; j && part_after(&v[j - 1], &x); j--) v[j] = v[j - 1];
        v[j] = x;
    }
    return atom_put(p, (AtomInfo){.kind = kind, .npart = n, .part = v});
}
bool part_equal(const Part *a, const Part *b) {
    return a->nvar == b->nvar && a->dom == b->dom && a->nf == b->nf;
}
Part part_open(Prover *p, const Part *part) {
    Symbol *var = ARENA_NEW(p->arena, Symbol, part->nvar + 1);
    Poly *to = ARENA_NEW(p->arena, Poly, part->nvar + 1);
    for (int k = 0; k < part->nvar; k++) {
        var[k] = variable_new(p);
        to[k] = poly_symbol(p->w, var[k]);
    }
    Map m = {part->nvar, part->var, to};
    return (Part){part->nvar, var, dom_subst(p, part->dom, m), nf_subst(p, part->nf, m)};
}
bool atom_mentions_any(Prover *p, Atom a, int n, const Symbol *v) {
    const AtomInfo *i = atom_info(p, a);
    for (int k = 0; k < i->nfree; k++)
        if (among(i->free[k], n, v)) return true;
    return false;
}
Atom atom_subst(Prover *p, Atom a, Map m) {
    const AtomInfo *i = atom_info(p, a);
    if (!atom_mentions_any(p, a, m.n, m.from)) return a;
    if (i->npart) {
        Part *v = ARENA_NEW(p->arena, Part, i->npart);
        for (int k = 0; k < i->npart; k++) {
            v[k] = part_open(p, &i->part[k]);
            v[k].dom = dom_subst(p, v[k].dom, m);
            v[k].nf = nf_subst(p, v[k].nf, m);
        }
        return atom_parts(p, i->kind, i->npart, v);
    }
    Poly *index = ARENA_NEW(p->arena, Poly, i->nindex + 1);
    for (int k = 0; k < i->nindex; k++) index[k] = prover_subst(p, i->index[k], m);
    return atom_put(p, (AtomInfo){.kind = i->kind,
                                  .word = i->word,
                                  .nindex = i->nindex,
                                  .index = index,
                                  .a = nf_subst(p, i->a, m),
                                  .b = nf_subst(p, i->b, m)});
}
