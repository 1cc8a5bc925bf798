/* reals_terms.c -- terms and statements of Z3 about real numbers, and the table of atoms that have
   a term. */
#include "verifier/reals_inner.h"

Z3_ast real_fresh(Reals *r) {
    return Z3_mk_const(r->z, Z3_mk_int_symbol(r->z, r->nfresh++), r->real);
}
Z3_ast real_number(Reals *r, int64_t v) { return Z3_mk_int64(r->z, v, r->real); }
Z3_ast real_plus(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_add(r->z, 2, (Z3_ast[]){a, b}); }
Z3_ast real_minus(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_sub(r->z, 2, (Z3_ast[]){a, b}); }
Z3_ast real_times(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_mul(r->z, 2, (Z3_ast[]){a, b}); }
Z3_ast real_product(Reals *r, unsigned n, const Z3_ast *v) {
    return n == 1 ? v[0] : Z3_mk_mul(r->z, n, v);
}
Z3_ast real_le(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_le(r->z, a, b); }
Z3_ast real_equal(Reals *r, Z3_ast a, Z3_ast b) { return Z3_mk_eq(r->z, a, b); }
void real_assert(Reals *r, Z3_ast x) {
    Z3_solver_assert(r->z, r->s, x);
    if (!trace_collects(r->p->trace)) return;
    ARENA_GROW(r->p->arena, r->said, r->roomsaid, r->nsaid + 1);
    r->said[r->nsaid++] = x;
}
void real_assert_if(Reals *r, Z3_ast when, Z3_ast x) {
    real_assert(r, when == r->yes ? x : Z3_mk_implies(r->z, when, x));
}
Z3_ast real_rational(Reals *r, Ratio c) {
    return c.q == 1 ? real_number(r, c.p)
                    : Z3_mk_div(r->z, real_number(r, c.p), real_number(r, c.q));
}
Z3_ast real_known(const Reals *r, const void *key) {
    for (int k = 0; k < r->nknown; k++)
        if (r->key[k] == key) return r->value[k];
    return NULL;
}
Z3_ast real_remember(Reals *r, const void *key, Nf of, Z3_ast value) {
    if (r->nknown == KNOWN_MAX) {
        r->too_large = true;
        return value;
    }
    r->key[r->nknown] = key;
    r->stands[r->nknown] = of;
    return r->value[r->nknown++] = value;
}
