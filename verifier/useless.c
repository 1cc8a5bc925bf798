/* useless.c -- recognizes conditions that make a rule useless: those that leave some axis at most
   one index. */
#include "verifier/useless.h"

/* Returns whether the size can be 2 or more under these facts. Only "no" is sure. */
static bool can_be_two(World *w, Solver *s, const SizeFacts *f, Poly size) {
    Lit two = lit_solved(f, (Lit){poly_sub(w, size, poly_int(w, 2)), false});
    int64_t c;
    return poly_constant(w, two.p, &c) ? c >= 0 : !solver_empty(s, (Lits){1, &two});
}
/* Returns whether some size can be 2 or more under the facts f[0], but not under f[1]. */
static bool newly_small(World *w, Solver *s[2], const SizeFacts f[2], Dims d) {
    for (int k = 0; k < d.n; k++)
        if (!can_be_two(w, s[1], &f[1], d.v[k]) && can_be_two(w, s[0], &f[0], d.v[k])) return true;
    return false;
}
bool prove_useless(World *w, Arena *arena, const Instance *before, const Instance *after) {
    const Instance *i[2] = {before, after};
    SizeFacts f[2];
    Solver *s[2];
    bool small = false;
    Overflow overflow = overflow_begin(w);
    bool possible = size_facts(w, arena, i[0], &f[0]) && size_facts(w, arena, i[1], &f[1]);
    if (overflow_end(w, overflow) || !possible) return false;
    for (int k = 0; k < 2; k++) {
        s[k] = solver_new(w, arena, 0);
        for (int j = 0; j < f[k].nfact; j++) solver_assume(s[k], f[k].fact[j]);
    }
    for (int k = 0; k < before->ninput && !small; k++)
        small = newly_small(w, s, f, value_type(w, before->input[k])->dim);
    for (int k = 0; k < before->from.nout && !small; k++)
        small = newly_small(w, s, f, value_type(w, before->from.out[k])->dim);
    for (int k = 0; k < 2; k++) solver_free(s[k]);
    return small;
}
