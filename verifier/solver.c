/* solver.c -- the only file that knows Z3. A question is first put to a linear abstraction: every
   nonlinear monomial is an integer of its own, and lemmas say what follows from multiplying a
   literal by a size (p >= 0 and B >= 0 give p*B >= 0). Every point of the original is a point of
   the abstraction, so "unsatisfiable" carries over. Only if that does not settle it, and there were
   nonlinear monomials, is the question put to nonlinear arithmetic. Symbols that have a definition
   (floor, min, digits, places) bring it along. */
#include "verifier/solver.h"
#include "ops/base/intern.h"
#include "verifier/witness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <z3.h>

enum { LINEAR, NATIVE, MODES };
/* What exceeds one of these limits is left out of what Z3 is told, or the question is not asked: a
   proof may be missed, none is wrong. */
enum {
    SYMBOLS_MAX = 4096,
    SIZES_MAX = 64,      /* with which lemmas multiply */
    MONOMIALS_MAX = 160, /* nonlinear ones about which there are lemmas */
    FACTORS_MAX = 20,    /* of a monomial; larger ones are opaque in nonlinear arithmetic, too */
    LEMMAS_MAX = 220,
    LEMMAS_FEW = 60,   /* after a first round; then there is a second */
    LITS_MAX = 600,    /* of a question, and of each of its domains */
    SUMMANDS_MAX = 128 /* that are added at once */
};
/* In Z3's resource units, for one question. */
enum { LIMIT_LINEAR = 2000000, LIMIT_NATIVE = 300000, LIMIT_FEASIBLE = 60000 };
enum { NATIVE_FAILURES = 8 };
static const uint64_t budget_default = 60000000;

struct Solver {
    World *w;
    Arena *arena;
    Z3_context z;
    Z3_solver s[MODES];
    unsigned limit[MODES]; /* as last set */
    Z3_sort integer;
    int nfact, roomfact, nsize;
    Lit *fact;
    Symbol size[SIZES_MAX]; /* known not to be negative */
    int64_t low[SIZES_MAX];
    bool nonlinear_facts;
    uint8_t *defined; /* by symbol: its definition is asserted */
    uint32_t roomdefined;
    Z3_ast *ast[MODES];
    uint32_t roomast[MODES];
    Intern *cache;
    int8_t *answer;
    uint32_t roomanswer;
    uint64_t budget;
    SolverStats stats;
    Witness *witness;
    Trace *trace;
    /* What holds, as stated, where a reader wants it: Z3 keeps its own simplification. */
    Z3_ast *said[MODES];
    int nsaid[MODES], roomsaid[MODES];
    struct Lemmas *lemmas; /* of the question at hand */
    uint8_t (*multiplied)[SIZES_MAX];
    int native_failures; /* questions that nonlinear arithmetic did not settle: after some it is not
                            asked any more */
};

static void ignore_error(Z3_context z, Z3_error_code code) {
    (void)z;
    (void)code;
}
static void set_limit(Solver *s, int mode, unsigned limit) {
    if (s->limit[mode] == limit) return;
    s->limit[mode] = limit;
    Z3_params p = Z3_mk_params(s->z);
    Z3_params_inc_ref(s->z, p);
    Z3_params_set_uint(s->z, p, Z3_mk_string_symbol(s->z, "rlimit"), limit);
    Z3_params_set_uint(s->z, p, Z3_mk_string_symbol(s->z, "timeout"), LAST_RESORT_MS);
    Z3_params_set_uint(s->z, p, Z3_mk_string_symbol(s->z, "arith.solver"), 2);
    Z3_solver_set_params(s->z, s->s[mode], p);
    Z3_params_dec_ref(s->z, p);
}
static Z3_solver solver_of(Solver *s, int mode) {
    if (!s->s[mode]) {
        s->s[mode] = Z3_mk_simple_solver(s->z);
        Z3_solver_inc_ref(s->z, s->s[mode]);
    }
    return s->s[mode];
}
Solver *solver_new(World *w, Arena *arena, uint64_t budget) {
    Solver *s = ARENA_NEW(arena, Solver, 1);
    Z3_config c = Z3_mk_config();
    *s = (Solver){.w = w, .arena = arena, .budget = budget ? budget : budget_default};
    s->z = Z3_mk_context(c);
    Z3_del_config(c);
    Z3_set_error_handler(s->z, ignore_error);
    s->integer = Z3_mk_int_sort(s->z);
    s->cache = intern_new(arena);
    s->witness = witness_new(w, arena);
    return s;
}
void solver_free(Solver *s) {
    if (!s) return;
    for (int m = 0; m < MODES; m++)
        if (s->s[m]) Z3_solver_dec_ref(s->z, s->s[m]);
    Z3_del_context(s->z);
    intern_free(s->cache);
}
void solver_trace(Solver *s, Trace *t) { s->trace = t; }
bool solver_spent(const Solver *s) { return s->stats.spent >= s->budget; }
SolverStats solver_stats(const Solver *s) { return s->stats; }

/* ---- polynomials as terms of Z3 */

static Z3_ast integer_constant(Solver *s, int64_t v) { return Z3_mk_int64(s->z, v, s->integer); }
static void *grown_array(Solver *s, void *v, uint32_t *room, uint32_t need, size_t size) {
    if (need < *room) return v;
    uint32_t to = 2 * need + 256;
    void *more = arena_alloc(s->arena, size * to);
    if (*room) memcpy(more, v, size * *room);
    *room = to;
    return more;
}
static Z3_ast integer_variable(Solver *s, Symbol x) {
    return Z3_mk_const(s->z, Z3_mk_int_symbol(s->z, (int)x), s->integer);
}
static Poly monic_poly(World *w, const Monomial *m) {
    return poly_from(w, 1, &(Monomial){1, m->degree, m->symbol});
}
static Z3_ast opaque_monomial(Solver *s, const Monomial *m) {
    char name[16];
    snprintf(name, sizeof name, "*%u", monic_poly(s->w, m));
    return Z3_mk_const(s->z, Z3_mk_string_symbol(s->z, name), s->integer);
}
static Z3_ast monomial(Solver *s, const Monomial *m, int mode) {
    if (!m->degree) return integer_constant(s, m->coefficient);
    Z3_ast f[FACTORS_MAX], x;
    if (m->degree > FACTORS_MAX) return opaque_monomial(s, m);
    if (m->degree > 1 && mode == LINEAR) x = opaque_monomial(s, m);
    else {
        for (uint32_t k = 0; k < m->degree; k++) f[k] = integer_variable(s, m->symbol[k]);
        x = m->degree == 1 ? f[0] : Z3_mk_mul(s->z, m->degree, f);
    }
    if (m->coefficient == 1) return x;
    f[0] = integer_constant(s, m->coefficient);
    f[1] = x;
    return Z3_mk_mul(s->z, 2, f);
}
static Z3_ast translate_poly(Solver *s, Poly p, int mode) {
    s->ast[mode] = grown_array(s, s->ast[mode], &s->roomast[mode], p, sizeof(Z3_ast));
    if (s->ast[mode][p]) return s->ast[mode][p];
    Z3_ast sum[SUMMANDS_MAX];
    unsigned n = 0;
    PolyScan scan = poly_scan(s->w, p);
    for (Monomial m; poly_next(&scan, &m);) {
        if (n == SUMMANDS_MAX) {
            sum[0] = Z3_mk_add(s->z, n, sum);
            n = 1;
        }
        sum[n++] = monomial(s, &m, mode);
    }
    Z3_ast r = !n ? integer_constant(s, 0) : n == 1 ? sum[0] : Z3_mk_add(s->z, n, sum);
    return s->ast[mode][p] = r;
}
static Z3_ast literal(Solver *s, Lit l, int mode) {
    Z3_ast p = translate_poly(s, l.p, mode), zero = integer_constant(s, 0);
    return l.eq ? Z3_mk_eq(s->z, p, zero) : Z3_mk_ge(s->z, p, zero);
}
static Z3_ast all_of(Solver *s, Lits l, int mode) {
    Z3_ast v[LITS_MAX];
    unsigned n = 0;
    for (int k = 0; k < l.n && n < LITS_MAX; k++) v[n++] = literal(s, l.v[k], mode);
    return n == 1 ? v[0] : n ? Z3_mk_and(s->z, n, v) : Z3_mk_true(s->z);
}
static void solver_assert(Solver *s, int mode, Z3_ast x) {
    Z3_solver_assert(s->z, solver_of(s, mode), x);
    if (!trace_collects(s->trace)) return;
    ARENA_GROW(s->arena, s->said[mode], s->roomsaid[mode], s->nsaid[mode] + 1);
    s->said[mode][s->nsaid[mode]++] = x;
}
static void put_both(Solver *s, const Lits *when, Lit l) {
    for (int mode = 0; mode < MODES; mode++) {
        Z3_ast x = literal(s, l, mode);
        solver_assert(s, mode,
                      when && when->n ? Z3_mk_implies(s->z, all_of(s, *when, mode), x) : x);
    }
}

/* ---- definitions of symbols */

static Lit at_least(Solver *s, Poly a, Poly b) { return (Lit){poly_sub(s->w, a, b), false}; }
static void define_poly(Solver *, Poly);

static void define_floor(Solver *s, Poly f, const SymbolDef *d) {
    World *w = s->w;
    Poly one = poly_int(w, 1), rest = poly_sub(w, d->arg[0], poly_mul(w, f, d->arg[1]));
    Lit positive = at_least(s, d->arg[1], one);
    put_both(s, &(Lits){1, &positive}, at_least(s, rest, 0));
    put_both(s, &(Lits){1, &positive}, at_least(s, d->arg[1], poly_add(w, rest, one)));
}
static void define_min(Solver *s, Poly m, const SymbolDef *d) {
    Lit below = at_least(s, d->arg[0], poly_add(s->w, d->arg[1], poly_int(s->w, 1)));
    put_both(s, NULL, at_least(s, d->arg[0], m));
    put_both(s, NULL, at_least(s, d->arg[1], m));
    put_both(s, &(Lits){1, &below}, at_least(s, m, d->arg[1]));
    Lit above = at_least(s, d->arg[1], d->arg[0]);
    put_both(s, &(Lits){1, &above}, at_least(s, m, d->arg[0]));
}
/* Where all radices are positive each digit lies below its radix; where e lies below their product,
   it is the number that the digits write. */
static void define_digit(Solver *s, const SymbolDef *d) {
    World *w = s->w;
    Lit when[2 * RANK_MAX + 4];
    int n = (int)d->narg - 1, k = 0;
    if (n > RANK_MAX) return;
    Poly one = poly_int(w, 1), place = one, value = 0;
    for (int j = 0; j < n; j++) when[k++] = at_least(s, d->arg[1 + j], one);
    for (int j = n - 1; j >= 0; j--) {
        Poly digit = poly_digit(w, d->arg[0], d->arg + 1, n, j);
        put_both(s, &(Lits){k, when}, at_least(s, digit, 0));
        put_both(s, &(Lits){k, when}, at_least(s, d->arg[1 + j], poly_add(w, digit, one)));
        value = poly_add(w, value, poly_mul(w, digit, place));
        place = poly_mul(w, place, d->arg[1 + j]);
    }
    when[k++] = at_least(s, d->arg[0], 0);
    when[k++] = at_least(s, place, poly_add(w, d->arg[0], one));
    put_both(s, &(Lits){k, when}, (Lit){poly_sub(w, value, d->arg[0]), true});
}
static void define_place(Solver *s, Poly x, const SymbolDef *d) {
    World *w = s->w;
    Poly i = d->arg[0], n = d->arg[1], one = poly_int(w, 1), last = poly_sub(w, n, one),
         past = poly_add(w, i, n);
    Lit some = at_least(s, n, one), from[2] = {at_least(s, i, 0), at_least(s, last, i)};
    Lit back[2] = {at_least(s, 0, poly_add(w, i, one)), at_least(s, past, 0)};
    put_both(s, &(Lits){1, &some}, at_least(s, x, 0));
    put_both(s, &(Lits){1, &some}, at_least(s, last, x));
    put_both(s, &(Lits){2, from}, (Lit){poly_sub(w, x, i), true});
    put_both(s, &(Lits){2, back}, (Lit){poly_sub(w, x, past), true});
}
static void define_symbol(Solver *s, Symbol x) {
    s->defined = grown_array(s, s->defined, &s->roomdefined, x, 1);
    if (s->defined[x]) return;
    s->defined[x] = 1;
    SymbolDef d = symbol_def(s->w, x);
    if (d.kind != SYM_FLOOR && d.kind != SYM_MIN && d.kind != SYM_DIGIT && d.kind != SYM_PLACE)
        return;
    for (uint32_t k = 0; k < d.narg; k++) define_poly(s, d.arg[k]);
    s->nonlinear_facts = true;
    if (d.kind == SYM_FLOOR) define_floor(s, poly_symbol(s->w, x), &d);
    if (d.kind == SYM_MIN) define_min(s, poly_symbol(s->w, x), &d);
    if (d.kind == SYM_DIGIT) define_digit(s, &d);
    if (d.kind == SYM_PLACE) define_place(s, poly_symbol(s->w, x), &d);
}
static void define_poly(Solver *s, Poly p) {
    PolyScan scan = poly_scan(s->w, p);
    for (Monomial m; poly_next(&scan, &m);)
        for (uint32_t k = 0; k < m.degree; k++) define_symbol(s, m.symbol[k]);
}
static void define_lits(Solver *s, Lits l) {
    for (int k = 0; k < l.n; k++) define_poly(s, l.v[k].p);
}

/* ---- base facts */

/* l says that one symbol is at least a number. */
static bool is_bound(const World *w, Lit l, Symbol *x, int64_t *low) {
    Monomial m;
    PolyScan s = poly_scan(w, l.p);
    if (l.eq || !poly_next(&s, &m) || m.degree != 1 || m.coefficient != 1) return false;
    *x = m.symbol[0];
    *low = 0;
    if (!poly_next(&s, &m)) return true;
    *low = -m.coefficient;
    return !m.degree && !poly_next(&s, &m);
}
static void note_size(Solver *s, Lit l) {
    Symbol x;
    int64_t low;
    if (!is_bound(s->w, l, &x, &low) || low < 0) return;
    for (int k = 0; k < s->nsize; k++)
        if (s->size[k] == x) {
            if (low > s->low[k]) s->low[k] = low;
            return;
        }
    if (s->nsize == SIZES_MAX) return;
    s->size[s->nsize] = x;
    s->low[s->nsize++] = low;
}
void solver_assume(Solver *s, Lit l) {
    ARENA_GROW(s->arena, s->fact, s->roomfact, s->nfact + 1);
    s->fact[s->nfact++] = l;
    note_size(s, l);
    witness_fact(s->witness, l);
    define_poly(s, l.p);
    put_both(s, NULL, l);
    intern_free(s->cache); /* answers under fewer facts */
    s->cache = intern_new(s->arena);
    if (s->roomanswer) memset(s->answer, 0, s->roomanswer);
}

/* ---- lemmas of the linear abstraction */

typedef struct Lemmas {
    Solver *s;
    int nmono, nasserted, nlit, count;
    Poly mono[MONOMIALS_MAX]; /* nonlinear monomials in play, coefficient 1 */
    const Lit *lit[LITS_MAX]; /* the first nasserted hold, the others may or may not */
} Lemmas;

static bool in_play(const Lemmas *l, Poly m) {
    for (int k = 0; k < l->nmono; k++)
        if (l->mono[k] == m) return true;
    return false;
}
static void track_monomial(Lemmas *l, Poly m) {
    if (l->nmono < MONOMIALS_MAX && !in_play(l, m)) l->mono[l->nmono++] = m;
}
static void add_lits(Lemmas *l, Lits lits) {
    for (int k = 0; k < lits.n && l->nlit < LITS_MAX; k++) {
        l->lit[l->nlit++] = &lits.v[k];
        PolyScan s = poly_scan(l->s->w, lits.v[k].p);
        for (Monomial m; poly_next(&s, &m);)
            if (m.degree > 1) track_monomial(l, monic_poly(l->s->w, &m));
    }
}
/* Is it worth multiplying? Its nonlinear monomials are small, and one of them is in play. */
static bool useful(const Lemmas *l, Poly product) {
    World *w = l->s->w;
    bool any = false;
    PolyScan s = poly_scan(w, product);
    for (Monomial m; poly_next(&s, &m);) {
        if (m.degree > 3) return false;
        if (m.degree > 1 && !any) any = in_play(l, monic_poly(w, &m));
    }
    return any;
}
static void assert_product(Lemmas *l, const Lit *lit, Poly product, Poly size, bool holds) {
    Solver *s = l->s;
    Z3_ast q = literal(s, (Lit){product, lit->eq}, LINEAR), p;
    if (!holds && lit->eq) q = Z3_mk_implies(s->z, literal(s, *lit, LINEAR), q);
    if (!holds && !lit->eq) {
        p = literal(s, *lit, LINEAR);
        Poly other = poly_scale(s->w, poly_add(s->w, product, size), -1); /* (-p - 1) * size */
        q = Z3_mk_ite(s->z, p, q, literal(s, (Lit){other, false}, LINEAR));
    }
    solver_assert(s, LINEAR, q);
    l->count++;
}
static int monomial_count(const World *w, Poly p) {
    int n = 0;
    PolyScan s = poly_scan(w, p);
    for (Monomial m; poly_next(&s, &m);) n++;
    return n;
}
static void multiply_round(Lemmas *l, uint8_t done[LITS_MAX][SIZES_MAX], Lemmas *fresh) {
    Solver *s = l->s;
    for (int k = 0; k < l->nlit; k++) {
        if (monomial_count(s->w, l->lit[k]->p) > 8) continue;
        for (int b = 0; b < s->nsize && l->count < LEMMAS_MAX; b++) {
            Poly size = poly_symbol(s->w, s->size[b]), product = poly_mul(s->w, l->lit[k]->p, size);
            if (done[k][b] || !useful(l, product)) continue;
            done[k][b] = 1;
            assert_product(l, l->lit[k], product, size, k < l->nasserted);
            PolyScan scan = poly_scan(s->w, product);
            for (Monomial m; poly_next(&scan, &m);)
                if (m.degree == 2) track_monomial(fresh, monic_poly(s->w, &m));
        }
    }
}
static int size_number(const Solver *s, Symbol x) {
    for (int k = 0; k < s->nsize; k++)
        if (s->size[k] == x) return k;
    return -1;
}
/* A product of sizes is not negative, and where a factor is at least 1 it is at least the rest. */
static int64_t least_value(const Solver *s, Lits holds, Symbol x) {
    int k = size_number(s, x);
    int64_t best = k >= 0 ? s->low[k] : -1, low;
    Symbol y;
    for (k = 0; k < holds.n; k++)
        if (is_bound(s->w, holds.v[k], &y, &low) && y == x && low > best) best = low;
    return best;
}
static void assert_monomial(Solver *s, Lits holds, Poly mono) {
    Monomial m;
    PolyScan scan = poly_scan(s->w, mono);
    poly_next(&scan, &m);
    for (uint32_t k = 0; k < m.degree; k++)
        if (least_value(s, holds, m.symbol[k]) < 0) return;
    solver_assert(s, LINEAR, literal(s, (Lit){mono, false}, LINEAR));
    for (uint32_t k = 0; k < m.degree; k++) {
        Poly rest = 0, x = poly_symbol(s->w, m.symbol[k]);
        poly_divide(s->w, mono, x, &rest);
        Z3_ast more = literal(s, at_least(s, mono, rest), LINEAR);
        Lit positive = at_least(s, x, poly_int(s->w, 1));
        if (least_value(s, holds, m.symbol[k]) < 1) {
            Z3_ast none = literal(s, (Lit){mono, true}, LINEAR);
            more = Z3_mk_ite(s->z, literal(s, positive, LINEAR), more, none);
        }
        solver_assert(s, LINEAR, more);
    }
}
/* True: there were nonlinear monomials, so that "satisfiable" says nothing. */
static bool assert_lemmas(Solver *s, Lits holds, Lits maybe) {
    if (!s->lemmas) s->lemmas = ARENA_NEW(s->arena, Lemmas, 2);
    if (!s->multiplied) s->multiplied = arena_alloc(s->arena, LITS_MAX * SIZES_MAX);
    Lemmas *l = s->lemmas, *fresh = l + 1;
    uint8_t(*done)[SIZES_MAX] = memset(s->multiplied, 0, LITS_MAX * SIZES_MAX);
    memset(l, 0, 2 * sizeof *l);
    l->s = fresh->s = s;
    add_lits(l, holds);
    add_lits(l, (Lits){s->nfact, s->fact});
    l->nasserted = l->nlit;
    add_lits(l, maybe);
    if (!l->nmono) return s->nonlinear_facts;
    multiply_round(l, done, fresh);
    if (l->count < LEMMAS_FEW && fresh->nmono) {
        for (int k = 0; k < fresh->nmono; k++) track_monomial(l, fresh->mono[k]);
        multiply_round(l, done, fresh);
    }
    for (int k = 0; k < l->nmono; k++) assert_monomial(s, holds, l->mono[k]);
    for (int k = 0; k < fresh->nmono; k++)
        if (!in_play(l, fresh->mono[k])) assert_monomial(s, holds, fresh->mono[k]);
    return true;
}

/* ---- questions */

typedef enum Asked {
    ASK_EMPTY,    /* no point satisfies `holds` */
    ASK_ENTAILED, /* `maybe` follows */
    ASK_BALANCED, /* the counts of the members that hold add up to 0 at each point */
    ASK_COVERED   /* members of positive count cover the points that the others cover */
} Asked;
typedef struct Question { /* unsatisfiable: `holds` and not what is asked? */
    Asked asked;
    Lits holds, maybe; /* maybe: all literals of the goal */
    int n;
    const WitnessMember *member;
    unsigned native_limit;
} Question;

static Z3_ast disjunction(Solver *s, const Question *q, bool positive, int mode) {
    Z3_ast v[LITS_MAX];
    unsigned n = 0;
    for (int k = 0; k < q->n && n < LITS_MAX; k++)
        if ((q->member[k].count > 0) == positive) v[n++] = all_of(s, q->member[k].dom, mode);
    return n ? Z3_mk_or(s->z, n, v) : Z3_mk_false(s->z);
}
static Z3_ast goal(Solver *s, const Question *q, int mode) {
    Z3_ast v[LITS_MAX], zero = integer_constant(s, 0);
    unsigned n = 0;
    if (q->asked == ASK_EMPTY) return Z3_mk_true(s->z);
    if (q->asked == ASK_ENTAILED) return Z3_mk_not(s->z, all_of(s, q->maybe, mode));
    if (q->asked == ASK_COVERED)
        return Z3_mk_xor(s->z, disjunction(s, q, true, mode), disjunction(s, q, false, mode));
    for (int k = 0; k < q->n && n < LITS_MAX; k++)
        v[n++] = Z3_mk_ite(s->z, all_of(s, q->member[k].dom, mode),
                           integer_constant(s, q->member[k].count), zero);
    return Z3_mk_not(s->z, Z3_mk_eq(s->z, Z3_mk_add(s->z, n, v), zero));
}
static uint64_t spent_units(Solver *s, int mode) {
    Z3_stats st = Z3_solver_get_statistics(s->z, s->s[mode]);
    uint64_t r = 0;
    Z3_stats_inc_ref(s->z, st);
    for (unsigned k = 0; k < Z3_stats_size(s->z, st); k++)
        if (!strcmp(Z3_stats_get_key(s->z, st, k), "rlimit count"))
            r = Z3_stats_get_uint_value(s->z, st, k);
    Z3_stats_dec_ref(s->z, st);
    return r;
}
static Z3_lbool check_solver(Solver *s, int mode, unsigned limit) {
    uint64_t left = solver_spent(s) ? 1 : s->budget - s->stats.spent;
    set_limit(s, mode, left < limit ? (unsigned)left : limit);
    Z3_lbool r = Z3_solver_check(s->z, s->s[mode]);
    s->stats.spent = spent_units(s, mode);
    s->stats.queries++;
    return r;
}

/* ---- what was asked, in words */

static const char *question_text(Solver *s, const Question *q) {
    Text t = text_new(s->arena);
    text_add(&t, q->asked == ASK_EMPTY ? "nothing has " : "where ");
    lits_print(s->w, q->holds, &t);
    text_add(&t, q->asked == ASK_ENTAILED   ? " there is "
                 : q->asked == ASK_BALANCED ? " these add up to 0:"
                 : q->asked == ASK_COVERED  ? " the + and the - cover the same points:"
                                            : "");
    if (q->asked == ASK_ENTAILED) lits_print(s->w, q->maybe, &t);
    for (int k = 0; k < q->n; k++) {
        text_add(&t, " %+lld where {", (long long)q->member[k].count);
        lits_print(s->w, q->member[k].dom, &t);
        text_add(&t, "}");
    }
    return t.data;
}
static const char *constant_text(void *user, const char *name) {
    Solver *s = user;
    Text t = text_new(s->arena);
    bool product = *name == '*';
    uint32_t number = (uint32_t)strtoul(name + (product ? 1 : 2), NULL, 10);
    poly_print(s->w, product ? number : poly_symbol(s->w, number), &t);
    return product ? arena_format(s->arena, "%s, as one number", t.data) : t.data;
}
static void note_question(Solver *s, const Question *q, int mode) {
    if (!trace_collects(s->trace)) return;
    Text t = text_new(s->arena);
    Z3_set_ast_print_mode(s->z, Z3_PRINT_SMTLIB2_COMPLIANT);
    for (int k = 0; k < s->nsaid[mode]; k++)
        text_add(&t, "(assert %s)\n", Z3_ast_to_string(s->z, s->said[mode][k]));
    trace_obligation(s->trace, mode == LINEAR ? "QF_LIA" : "QF_NIA", t.data, question_text(s, q),
                     constant_text, s);
}
/* What does not fit the arrays below is not asked. */
static bool question_fits(const Question *q) {
    bool fit = q->maybe.n <= LITS_MAX || q->asked != ASK_ENTAILED;
    for (int k = 0; k < q->n; k++) fit &= q->member[k].dom.n <= LITS_MAX;
    return fit && q->n <= LITS_MAX;
}
static bool ask_solver(Solver *s, const Question *q) {
    if (!question_fits(q)) return false;
    define_lits(s, q->holds);
    define_lits(s, q->maybe);
    const int said[MODES] = {s->nsaid[LINEAR], s->nsaid[NATIVE]};
    Z3_solver linear = solver_of(s, LINEAR);
    Z3_solver_push(s->z, linear);
    bool nonlinear = assert_lemmas(s, q->holds, q->maybe);
    for (int k = 0; k < q->holds.n; k++)
        solver_assert(s, LINEAR, literal(s, q->holds.v[k], LINEAR));
    solver_assert(s, LINEAR, goal(s, q, LINEAR));
    Z3_lbool r = check_solver(s, LINEAR, LIMIT_LINEAR);
    if (r == Z3_L_FALSE) note_question(s, q, LINEAR);
    Z3_solver_pop(s->z, linear, 1);
    s->nsaid[LINEAR] = said[LINEAR];
    if (r == Z3_L_FALSE || !nonlinear || s->native_failures >= NATIVE_FAILURES || solver_spent(s))
        return r == Z3_L_FALSE;
    Z3_solver native = solver_of(s, NATIVE);
    Z3_solver_push(s->z, native);
    for (int k = 0; k < q->holds.n; k++)
        solver_assert(s, NATIVE, literal(s, q->holds.v[k], NATIVE));
    solver_assert(s, NATIVE, goal(s, q, NATIVE));
    r = check_solver(s, NATIVE, q->native_limit);
    s->stats.nonlinear++;
    s->native_failures += r == Z3_L_UNDEF;
    if (r == Z3_L_FALSE) note_question(s, q, NATIVE);
    Z3_solver_pop(s->z, native, 1);
    s->nsaid[NATIVE] = said[NATIVE];
    return r == Z3_L_FALSE;
}

/* A point that answers "no". */
static bool has_witness(Solver *s, const Question *q) {
    World *w = s->w;
    if (q->asked == ASK_EMPTY) return witness_find(s->witness, q->holds.n, q->holds.v, NULL);
    if (q->asked == ASK_BALANCED)
        return witness_unbalanced(s->witness, q->holds.n, q->holds.v, q->n, q->member);
    for (int k = 0; q->asked == ASK_ENTAILED && k < q->maybe.n; k++) {
        Poly one = poly_int(w, 1), p = q->maybe.v[k].p;
        Lit below = {poly_sub(w, poly_scale(w, p, -1), one), false},
            above = {poly_sub(w, p, one), false};
        if (witness_find(s->witness, q->holds.n, q->holds.v, &below)) return true;
        if (q->maybe.v[k].eq && witness_find(s->witness, q->holds.n, q->holds.v, &above))
            return true;
    }
    return false;
}
static void key_lits(uint32_t *key, int *n, Lits l) {
    key[(*n)++] = (uint32_t)l.n;
    for (int k = 0; k < l.n; k++) key[(*n)++] = l.v[k].p << 1 | l.v[k].eq;
}
static bool answer_of(Solver *s, const Question *q) {
    int room = 4 + q->holds.n + q->maybe.n, n = 0;
    for (int k = 0; k < q->n; k++) room += 3 + q->member[k].dom.n;
    uint32_t *key = ARENA_NEW(s->arena, uint32_t, room);
    key[n++] = (uint32_t)q->asked;
    key_lits(key, &n, q->holds);
    if (q->asked == ASK_ENTAILED) key_lits(key, &n, q->maybe);
    for (int k = 0; k < q->n; k++) {
        key[n++] = (uint32_t)q->member[k].count;
        key[n++] = (uint32_t)(q->member[k].count >> 32);
        key_lits(key, &n, q->member[k].dom);
    }
    uint32_t id = intern_put(s->cache, key, sizeof *key * (size_t)n);
    s->answer = grown_array(s, s->answer, &s->roomanswer, id, 1);
    if (s->answer[id]) s->stats.cached++;
    else s->answer[id] = solver_spent(s) || has_witness(s, q) ? -1 : ask_solver(s, q) ? 1 : -1;
    return s->answer[id] > 0;
}

bool solver_empty(Solver *s, Lits l) {
    return answer_of(s,
                     &(Question){.asked = ASK_EMPTY, .holds = l, .native_limit = LIMIT_FEASIBLE});
}
bool solver_entails(Solver *s, Lits l, Lits g) {
    return answer_of(
        s,
        &(Question){.asked = ASK_ENTAILED, .holds = l, .maybe = g, .native_limit = LIMIT_NATIVE});
}
static Lits member_lits(Solver *s, int n, const WitnessMember *m) {
    int total = 0;
    for (int k = 0; k < n; k++) total += m[k].dom.n;
    Lit *v = ARENA_NEW(s->arena, Lit, total);
    total = 0;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < m[k].dom.n; j++) v[total++] = m[k].dom.v[j];
    return (Lits){total, v};
}
bool solver_balanced(Solver *s, Lits l, int n, const WitnessMember *m) {
    return answer_of(s, &(Question){ASK_BALANCED, l, member_lits(s, n, m), n, m, LIMIT_NATIVE});
}
bool solver_same_cover(Solver *s, Lits l, int n, const WitnessMember *m) {
    return answer_of(s, &(Question){ASK_COVERED, l, member_lits(s, n, m), n, m, LIMIT_NATIVE});
}

const char *solver_version(void) { return Z3_get_full_version(); }
void solver_finish(void) { Z3_finalize_memory(); }
