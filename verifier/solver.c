/* solver.c -- puts questions about integers to Z3.

   A question is first put in a linear abstraction, in which every nonlinear monomial is an integer
   of its own, with lemmas that say what follows from multiplying a literal by a size: p >= 0 and
   B >= 0 give p*B >= 0. Every point of the original question is a point of the abstraction, so
   "unsatisfiable" carries over. If Z3 answers anything else, and there were nonlinear monomials,
   the question is put again in nonlinear arithmetic. The definitions of symbols (floor, min,
   digits, places) are asserted in both. Before Z3 is asked at all, witness.c looks for a point that
   answers "no". */
#include "verifier/solver_inner.h"
#include <stdlib.h>
#include <string.h>

/* Limits for one question, in Z3's resource units. LIMIT_FEASIBLE is for the nonlinear questions of
   solver_empty. */
enum { LIMIT_LINEAR = 2000000, LIMIT_NATIVE = 300000, LIMIT_FEASIBLE = 60000 };
/* After so many undecided questions, nonlinear arithmetic is not asked any more. */
enum { NATIVE_FAILURES = 8 };

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
static void close_context(void *solver) {
    Solver *s = solver;
    for (int m = 0; m < MODES; m++)
        if (s->s[m]) Z3_solver_dec_ref(s->z, s->s[m]);
    Z3_del_context(s->z);
}
Solver *solver_new(World *w, Arena *arena, uint64_t budget) {
    Solver *s = ARENA_NEW(arena, Solver, 1);
    Z3_config c = Z3_mk_config();
    *s = (Solver){.w = w, .arena = arena, .budget = budget ? budget : SOLVER_BUDGET};
    s->z = Z3_mk_context(c);
    Z3_del_config(c);
    cleanup_add(arena_escape(arena), &s->cleanup, close_context, s);
    Z3_set_error_handler(s->z, ignore_error);
    s->integer = Z3_mk_int_sort(s->z);
    s->cache = intern_new(arena);
    s->witness = witness_new(w, arena);
    return s;
}
void solver_free(Solver *s) {
    if (!s) return;
    cleanup_run(&s->cleanup);
    intern_free(s->cache);
}
void solver_trace(Solver *s, Trace *t) { s->trace = t; }
uint64_t solver_limit(Solver *s, uint64_t more) {
    const uint64_t before = s->budget;
    if (s->stats.spent + more < before) s->budget = s->stats.spent + more;
    return before;
}
void solver_unlimit(Solver *s, uint64_t before) { s->budget = before; }
void solver_retry(Solver *s) { s->native_failures = 0; }
bool solver_spent(const Solver *s) { return s->stats.spent >= s->budget; }
SolverStats solver_stats(const Solver *s) { return s->stats; }

/* ---- base facts */

static void note_size(Solver *s, Lit l) {
    Symbol x;
    int64_t low;
    if (!lit_is_bound(s->w, l, &x, &low) || low < 0) return;
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
    solver_define(s, l.p);
    solver_assert_both(s, NULL, l);
    intern_free(s->cache); /* its answers were given under fewer facts */
    s->cache = intern_new(s->arena);
    if (s->roomanswer) memset(s->answer, 0, s->roomanswer);
}

/* ---- questions */

typedef enum Asked {
    ASK_EMPTY,    /* no point satisfies `holds` */
    ASK_ENTAILED, /* `maybe` follows from `holds` */
    ASK_BALANCED, /* the counts of the members that hold add up to 0 at each point of `holds` */
    ASK_COVERED   /* members with a positive count cover the same points as the others */
} Asked;
typedef struct Question { /* shown if "`holds`, but not what is asked" is unsatisfiable */
    Asked asked;
    Lits holds, maybe; /* maybe: all literals of the goal or of the members */
    int n;
    const WitnessMember *member;
    unsigned native_limit;
} Question;

static Z3_ast disjunction(Solver *s, const Question *q, bool positive, int mode) {
    Z3_ast v[LITS_MAX];
    unsigned n = 0;
    for (int k = 0; k < q->n && n < LITS_MAX; k++)
        if ((q->member[k].count > 0) == positive)
            v[n++] = solver_conjunction(s, q->member[k].dom, mode);
    return n ? Z3_mk_or(s->z, n, v) : Z3_mk_false(s->z);
}
/* The negation of what is asked. */
static Z3_ast goal(Solver *s, const Question *q, int mode) {
    Z3_ast v[LITS_MAX], zero = solver_integer(s, 0);
    unsigned n = 0;
    if (q->asked == ASK_EMPTY) return Z3_mk_true(s->z);
    if (q->asked == ASK_ENTAILED) return Z3_mk_not(s->z, solver_conjunction(s, q->maybe, mode));
    if (q->asked == ASK_COVERED)
        return Z3_mk_xor(s->z, disjunction(s, q, true, mode), disjunction(s, q, false, mode));
    for (int k = 0; k < q->n && n < LITS_MAX; k++)
        v[n++] = Z3_mk_ite(s->z, solver_conjunction(s, q->member[k].dom, mode),
                           solver_integer(s, q->member[k].count), zero);
    return Z3_mk_not(s->z, Z3_mk_eq(s->z, Z3_mk_add(s->z, n, v), zero));
}
/* Z3 reports a count of more than 32 bits as a double. */
static uint64_t spent_units(Solver *s, int mode) {
    Z3_stats st = Z3_solver_get_statistics(s->z, s->s[mode]);
    uint64_t r = 0;
    Z3_stats_inc_ref(s->z, st);
    for (unsigned k = 0; k < Z3_stats_size(s->z, st); k++)
        if (!strcmp(Z3_stats_get_key(s->z, st, k), "rlimit count"))
            r = Z3_stats_is_double(s->z, st, k) ? (uint64_t)Z3_stats_get_double_value(s->z, st, k)
                                                : Z3_stats_get_uint_value(s->z, st, k);
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
    text_add(&t, q->asked == ASK_EMPTY ? "no point satisfies "
                 : q->holds.n          ? "where "
                                       : "everywhere");
    if (q->asked == ASK_EMPTY || q->holds.n) lits_print(s->w, q->holds, &t);
    text_add(&t, q->asked == ASK_ENTAILED   ? q->holds.n ? " it follows that " : " "
                 : q->asked == ASK_BALANCED ? " these add up to 0:"
                 : q->asked == ASK_COVERED  ? " + and - cover the same points:"
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
/* Returns whether the question fits the arrays; otherwise it is not asked. */
static bool question_fits(const Question *q) {
    bool fit = q->maybe.n <= LITS_MAX || q->asked != ASK_ENTAILED;
    for (int k = 0; k < q->n; k++) fit &= q->member[k].dom.n <= LITS_MAX;
    return fit && q->n <= LITS_MAX;
}
static void define_lits(Solver *s, Lits l) {
    for (int k = 0; k < l.n; k++) solver_define(s, l.v[k].p);
}
static bool ask_solver(Solver *s, const Question *q) {
    if (!question_fits(q)) return false;
    define_lits(s, q->holds);
    define_lits(s, q->maybe);
    const int said[MODES] = {s->nsaid[LINEAR], s->nsaid[NATIVE]};
    Z3_solver linear = solver_z3(s, LINEAR);
    Z3_solver_push(s->z, linear);
    bool nonlinear = solver_lemmas(s, q->holds, q->maybe);
    for (int k = 0; k < q->holds.n; k++)
        solver_assert(s, LINEAR, solver_literal(s, q->holds.v[k], LINEAR));
    solver_assert(s, LINEAR, goal(s, q, LINEAR));
    Z3_lbool r = check_solver(s, LINEAR, LIMIT_LINEAR);
    if (r == Z3_L_FALSE) note_question(s, q, LINEAR);
    Z3_solver_pop(s->z, linear, 1);
    s->nsaid[LINEAR] = said[LINEAR];
    if (r == Z3_L_FALSE || !nonlinear || s->native_failures >= NATIVE_FAILURES || solver_spent(s))
        return r == Z3_L_FALSE;
    Z3_solver native = solver_z3(s, NATIVE);
    Z3_solver_push(s->z, native);
    for (int k = 0; k < q->holds.n; k++)
        solver_assert(s, NATIVE, solver_literal(s, q->holds.v[k], NATIVE));
    solver_assert(s, NATIVE, goal(s, q, NATIVE));
    r = check_solver(s, NATIVE, q->native_limit);
    s->stats.nonlinear++;
    s->native_failures += r == Z3_L_UNDEF;
    if (r == Z3_L_FALSE) note_question(s, q, NATIVE);
    Z3_solver_pop(s->z, native, 1);
    s->nsaid[NATIVE] = said[NATIVE];
    return r == Z3_L_FALSE;
}

/* Returns whether a point was found that answers the question with "no". */
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
    s->answer = solver_grown(s, s->answer, &s->roomanswer, id, 1);
    if (s->answer[id]) {
        s->stats.cached++;
    } else if (!solver_spent(s)) {
        const bool shown = !has_witness(s, q) && ask_solver(s, q);
        if (shown || !solver_spent(s)) s->answer[id] = shown ? 1 : -1;
    }
    return s->answer[id] > 0;
}

bool solver_empty(Solver *s, Lits l) {
    return answer_of(s,
                     &(Question){.asked = ASK_EMPTY, .holds = l, .native_limit = LIMIT_FEASIBLE});
}
static bool entails_as_asked(Solver *s, Lits l, Lits g) {
    return answer_of(
        s,
        &(Question){.asked = ASK_ENTAILED, .holds = l, .maybe = g, .native_limit = LIMIT_NATIVE});
}
typedef struct Goals { /* a growing list of literals */
    Solver *s;
    Lit *v;
    int n, room;
} Goals;
static void goals_add(Goals *g, Lit l) {
    ARENA_GROW(g->s->arena, g->v, g->room, g->n + 1);
    g->v[g->n++] = l;
}
static bool take_factor(void *goals, Symbol x) {
    goals_add(goals, (Lit){poly_symbol(((Goals *)goals)->s->w, x), false});
    return true;
}
/* Replaces goals x*y*q >= 0 by x >= 0, y >= 0 and q >= 0; such goals arise from the numbers of
   elements that a reshape joins. Lemmas multiply by one size only, so this is for two or more
   shared factors. Returns g itself if no goal has these. */
static Lits by_factors(Solver *s, Lits g) {
    Goals split = {.s = s};
    bool any = false;
    for (int k = 0; k < g.n; k++) {
        const int before = split.n;
        Lit rest = g.v[k];
        if (!rest.eq) rest.p = poly_without_shared(s->w, rest.p, take_factor, &split);
        any |= split.n - before >= 2;
        goals_add(&split, rest);
    }
    return any ? (Lits){split.n, split.v} : g;
}
bool solver_entails(Solver *s, Lits l, Lits g) {
    const Lits factors = by_factors(s, g);
    return (factors.v != g.v && entails_as_asked(s, l, factors)) || entails_as_asked(s, l, g);
}
/* All literals of the members. */
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
