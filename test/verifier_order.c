/* A form depends on what it says alone, not on the numbers that its parts were given: random forms
   are built twice, by a prover of their own and by one that interned sizes in another order and
   other forms of the same parts before. Both say the same, literal by literal and factor by factor,
   and so do sums and maxima of the same terms in another order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/world.h"
#include "ops/base/random.h"
#include "verifier/tables.h"

enum { FORMS = 100, OTHERS = 6, SIZES = 5, TERMS = 4, NAMES = 4 };
typedef struct Build {
    Arena *arena;
    World *w;
    Escape escape;
    Prover p;
    Random random;
    bool backwards; /* terms are put together from the last to the first */
} Build;

static int below(Build *b, int n) { return (int)random_below(&b->random, (uint64_t)n); }
static Poly size(Build *b, int k) {
    return poly_named(b->w, arena_format(b->arena, "%c", 'm' + k));
}
/* Of sizes and these variables. */
static Poly draw_index(Build *b, int n, const Symbol *var) {
    Poly x = poly_int(b->w, below(b, 3) - 1);
    for (int k = 0; k < n; k++)
        x = poly_add(b->w, x, poly_scale(b->w, poly_symbol(b->w, var[k]), below(b, 3)));
    for (int k = below(b, 3); k--;)
        x = poly_add(b->w, x, poly_scale(b->w, size(b, below(b, SIZES)), 1 + below(b, 2)));
    if (!below(b, 4)) x = poly_floor(b->w, x, poly_int(b->w, 3));
    return below(b, 4) ? x : poly_add(b->w, x, poly_mul(b->w, size(b, 0), size(b, 1)));
}
static Dom draw_domain(Build *b, int n, const Symbol *var) {
    Lit l[3];
    const int count = below(b, 4);
    for (int k = 0; k < count; k++) l[k] = (Lit){draw_index(b, n, var), !below(b, 4)};
    return dom_make(&b->p, count, l);
}
static Nf draw_form(Build *b, int depth, int n, const Symbol *var);
static Atom draw_parts(Build *b, int depth, int n, const Symbol *var) {
    Part part[3];
    Symbol more[8];
    const int count = 1 + below(b, 3);
    for (int k = 0; k < n; k++) more[k] = var[k];
    for (int k = 0; k < count; k++) {
        Symbol *own = ARENA_NEW(b->arena, Symbol, 1);
        *own = more[n] = variable_new(&b->p);
        part[k] = (Part){1, own, draw_domain(b, n + 1, more), draw_form(b, depth, n + 1, more)};
    }
    for (int k = 0; b->backwards && k < count / 2; k++) {
        const Part last = part[count - 1 - k];
        part[count - 1 - k] = part[k];
        part[k] = last;
    }
    return atom_parts(&b->p, AT_MAX, count, part);
}
static Atom draw_atom(Build *b, int depth, int n, const Symbol *var) {
    Prover *p = &b->p;
    const int kind = below(b, depth ? 7 : 4);
    if (kind == 0) return atom_simple(p, AT_SIZE, poly_is_symbol(b->w, size(b, below(b, SIZES))));
    if (kind == 1)
        return atom_simple(p, AT_PARAM,
                           world_word(b->w, arena_format(b->arena, "%c", 'a' + below(b, SIZES))));
    if (kind < 4) {
        const Poly index[2] = {draw_index(b, n, var), draw_index(b, n, var)};
        return atom_input(p, (uint32_t)below(b, 3), 2, index);
    }
    if (kind < 6)
        return atom_nested(p, AT_FN, kind == 4 ? FN_EXP : FN_ERF, draw_form(b, depth - 1, n, var),
                           0);
    return draw_parts(b, depth - 1, n, var);
}
static NfTerm draw_term(Build *b, int depth, int n, const Symbol *var) {
    NfTerm t = {.c = ratio(1 + below(b, 3), 1 + below(b, 2))};
    for (int k = 1 + below(b, 3); k--;) {
        const Atom a = draw_atom(b, depth, n, var);
        t = term_factor(&b->p, t, a, ratio(1 + below(b, 2), 1));
    }
    t.dom = draw_domain(b, n, var);
    return t;
}
/* A sum of terms, some of them over a variable of their own. */
static Nf draw_form(Build *b, int depth, int n, const Symbol *var) {
    Nf term[TERMS], sum = 0;
    Symbol more[8];
    const int count = 1 + below(b, TERMS);
    for (int k = 0; k < n; k++) more[k] = var[k];
    for (int k = 0; k < count; k++) {
        const bool bound = below(b, 2);
        more[n] = variable_new(&b->p);
        term[k] = nf_of(&b->p, draw_term(b, depth, n + bound, more));
        if (bound) term[k] = nf_bind(&b->p, term[k], 1, &more[n], DOM_TRUE);
    }
    for (int k = 0; k < count; k++)
        sum = nf_add(&b->p, sum, term[b->backwards ? count - 1 - k : k]);
    return sum;
}
static Nf form(Build *b, uint64_t seed, bool backwards) {
    b->random = (Random){seed, 0};
    b->backwards = backwards;
    return draw_form(b, 2, 0, NULL);
}
/* The names inside closed forms are made first, so that they are the same in all texts. */
static Build *build_new(void) {
    Arena *a = arena_new(NULL, 0);
    Build *b = ARENA_NEW(a, Build, 1);
    b->arena = a;
    b->w = graph_world_new(&b->escape, 0);
    b->p = (Prover){.w = b->w,
                    .arena = a,
                    .check = switches_all,
                    .escape = &b->escape,
                    .solver = solver_new(b->w, a, 0),
                    .most_steps = UINT64_MAX};
    normal_init(&b->p);
    for (int height = 0; height < 12; height++)
        for (int k = 0; k < NAMES; k++) nest_symbol(&b->p, height, k);
    return b;
}
static void build_free(Build *b) {
    Arena *a = b->arena;
    normal_done(&b->p);
    solver_free(b->p.solver);
    world_free(b->w);
    arena_free(a);
}
static void crowd(Build *b, uint64_t seed) {
    for (int k = SIZES; k--;) size(b, k);
    for (uint64_t k = 0; k < OTHERS; k++) form(b, seed + 1000 + k, true);
}
/* In the arena: what the form says, built among others or not. */
static const char *form_text(Arena *a, uint64_t seed, bool crowded) {
    Build *b = build_new();
    Text t = text_new(a);
    if (setjmp(b->escape.here)) fail_msg("form %d: %s", (int)seed, b->escape.error.reason);
    if (crowded) crowd(b, seed);
    nf_print(&b->p, form(b, seed, false), &t);
    build_free(b);
    return t.data;
}
static void test_numbers(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    for (uint64_t seed = 0; seed < FORMS; seed++)
        assert_string_equal(form_text(a, seed, false), form_text(a, seed, true));
    arena_free(a);
}
static void check_order_of_terms(uint64_t seed) {
    Build *b = build_new();
    if (setjmp(b->escape.here)) fail_msg("form %d: %s", (int)seed, b->escape.error.reason);
    assert_int_equal(form(b, seed, false), form(b, seed, true));
    build_free(b);
}
static void test_order_of_terms(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < FORMS; seed++) check_order_of_terms(seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_order_of_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
