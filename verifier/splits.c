/* splits.c -- replaces an index by its digits (splits.h). */
#include "verifier/splits.h"
#include <string.h>

Dom split_index(Prover *p, Split s, Map *m) {
    Symbol *index = ARENA_NEW(p->arena, Symbol, p->nindex + 2);
    Symbol *from = ARENA_NEW(p->arena, Symbol, 1);
    Poly *value = ARENA_NEW(p->arena, Poly, 1);
    Symbol high = variable_new(p), low = variable_new(p);
    Poly h = poly_symbol(p->w, high), l = poly_symbol(p->w, low), one = poly_int(p->w, 1);
    *from = s.variable;
    *value = poly_add(p->w, poly_mul(p->w, h, s.radix), l);
    *m = (Map){1, from, value};
    memcpy(index, p->index, sizeof *index * (size_t)p->nindex);
    index[p->nindex++] = high;
    index[p->nindex++] = low;
    p->index = index;
    return dom_make(p, 4,
                    (Lit[]){{h, false},
                            lit_ge(p, s.count, poly_add(p->w, h, one)),
                            {l, false},
                            lit_ge(p, s.radix, poly_add(p->w, l, one))});
}

void splits_note(Prover *p, IndexSplits *noted, Split s) {
    const Symbol *v;
    int at = 0;
    if (p->nindex != RANK_MAX + 2 * noted->n || poly_variables(p, s.radix, &v) ||
        poly_variables(p, s.count, &v))
        return;
    while (p->index[at] != s.variable) at++;
    noted->split[noted->n].at = at;
    noted->split[noted->n].radix = s.radix;
    noted->split[noted->n++].count = s.count;
}
