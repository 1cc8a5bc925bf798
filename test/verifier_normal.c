/* verifier_normal.c -- tests that normal forms mean what the definitions of the operators mean. The
   left sides of the rules of the corpora, and of one rule for each operator, are computed at random
   sizes in two ways: from the normal form, by trying all values of its variables, and from the
   definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/rewrite.h"
#include "ops/core/eval.h"
#include "test/shared/rule_trial.h"
#include "verifier/import.h"
#include "verifier/scope.h"
#include "verifier/sizes.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Variables of a form take the values LOW to HIGH; about CHECKED_MAX elements of an output are
   compared. */
enum { LOW = -4, HIGH = 14, DRAWS = 4, SYMBOLS_MAX = 60000, CHECKED_MAX = 12 };
typedef struct Check {
    Trial t;
    Escape escape;
    Prover p;
    NfImport import;
    SizeFacts facts;
    Graph from;                 /* the left side with its composites expanded */
    int64_t value[SYMBOLS_MAX]; /* by symbol */
    Tensor *tensor;             /* by value of the graph */
    uint32_t param[8];
    Number param_value[8];
    Random random;
    long compared; /* elements */
} Check;

static Sizes sizes(Check *c) { return (Sizes){SYMBOLS_MAX, c->value}; }

/* ---- the value of a form */

/* Gives symbols that read an element of an input the value of that element. An element outside its
   tensor has no value. */
static void note_reads(Check *c, Poly x);
static void note_read(Check *c, Symbol s, const SymbolDef *d) {
    const Tensor *t = &c->tensor[c->from.in[d->word]];
    int64_t at = 0, i;
    c->value[s] = SIZE_UNKNOWN;
    for (uint32_t k = 0; k < d->narg; k++) {
        if (!poly_eval(c->p.w, d->arg[k], sizes(c), &i) || i < 0 || i >= t->dim[k]) return;
        at = at * t->dim[k] + i;
    }
    c->value[s] = (int64_t)t->v[at].real;
}
static void note_reads(Check *c, Poly x) {
    PolyScan scan = poly_scan(c->p.w, x);
    for (Monomial m; poly_next(&scan, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            SymbolDef d = symbol_def(c->p.w, m.symbol[k]);
            for (uint32_t j = 0; d.kind != SYM_BOUND && j < d.narg; j++) note_reads(c, d.arg[j]);
            if (d.kind == SYM_READ) note_read(c, m.symbol[k], &d);
        }
}
static bool evaluated(Check *c, Poly x, int64_t *v) {
    note_reads(c, x);
    return poly_eval(c->p.w, x, sizes(c), v);
}

static double nf_value(Check *c, Nf nf);

static int holds(Check *c, Dom d) { /* 1 or 0; -1: some variable has no value yet */
    Lits l = dom_lits(&c->p, d);
    int all = 1;
    for (int k = 0; k < l.n; k++) {
        int64_t v;
        if (!evaluated(c, l.v[k].p, &v)) all = -1;
        else if (l.v[k].eq ? v != 0 : v < 0) return 0;
    }
    return all;
}
/* The sum, or the maximum, of a term or a form over all points of a domain. */
typedef struct Range {
    int n;
    const Symbol *var;
    Dom dom;
    Nf part; /* used if term is NULL */
    const NfTerm *term;
    bool most; /* the maximum instead of the sum */
    double total;
} Range;
static double element_of(Check *c, Atom a);
static double product(Check *c, const NfTerm *t) {
    double x = (double)t->c.p / (double)t->c.q;
    for (int k = 0; k < t->nfactor; k++) {
        double base = element_of(c, t->factor[k].atom),
               e = (double)t->factor[k].power.p / (double)t->factor[k].power.q;
        x *= t->factor[k].power.q != 1 && base < 0 ? 0 : base == 0 && e < 0 ? NAN : pow(base, e);
    }
    return x;
}
static void enumerate(Check *c, Range *r, int k) {
    int known = holds(c, r->dom);
    if (!known) return;
    if (k == r->n) {
        assert_int_equal(known, 1);
        double x = r->term ? product(c, r->term) : nf_value(c, r->part);
        r->total = r->most ? fmax(r->total, x) : r->total + x;
        return;
    }
    for (c->value[r->var[k]] = LOW; c->value[r->var[k]] <= HIGH; c->value[r->var[k]]++)
        enumerate(c, r, k + 1);
    c->value[r->var[k]] = SIZE_UNKNOWN;
}
static double parts_value(Check *c, const AtomInfo *a) {
    double best = -INFINITY;
    for (int k = 0; k < a->npart; k++) {
        Part x = part_open(&c->p, &a->part[k]);
        Range r = {
            x.nvar, x.var, x.dom, x.nf, NULL, a->kind == AT_MAX, a->kind == AT_MAX ? -INFINITY : 0};
        enumerate(c, &r, 0);
        if (a->kind == AT_SUM) return r.total;
        best = fmax(best, r.total);
    }
    return best;
}
static double input_value(Check *c, const AtomInfo *a) {
    const Tensor *t = &c->tensor[c->from.in[a->word]];
    int64_t at = 0, i;
    for (int k = 0; k < t->rank; k++) {
        assert_true(evaluated(c, a->index[k], &i));
        if (i < 0 || i >= t->dim[k]) fail_msg("%s: a form reads outside an input", c->t.rule->name);
        at = at * t->dim[k] + i;
    }
    return t->v[at].real;
}
static double element_of(Check *c, Atom atom) {
    const AtomInfo *a = atom_info(&c->p, atom);
    int64_t v = 0;
    switch (a->kind) {
    case AT_INPUT: return input_value(c, a);
    case AT_PARAM:
        for (int k = 0; k < c->t.instance.nreal; k++)
            if (c->param[k] == a->word) return c->param_value[k].real;
        return NAN;
    case AT_SIZE: assert_true(evaluated(c, poly_symbol(c->p.w, a->word), &v)); return (double)v;
    case AT_VALUE: assert_true(evaluated(c, a->index[0], &v)); return (double)v;
    case AT_REAL: return a->real;
    case AT_FN: return function_facts((Function)a->word)->real(nf_value(c, a->a));
    case AT_BASE: return nf_value(c, a->a);
    case AT_PAIR: return a->word == EX_POW ? pow(nf_value(c, a->a), nf_value(c, a->b)) : NAN;
    case AT_MAX:
    case AT_SUM: return parts_value(c, a);
    }
    return NAN;
}
static double nf_value(Check *c, Nf nf) {
    double sum = 0;
    int n = nf_size(&c->p, nf);
    for (int k = 0; k < n; k++) {
        NfTerm t = nf_term(&c->p, nf, k);
        Range r = {t.nvar, t.var, t.dom, 0, &t, false, 0};
        enumerate(c, &r, 0);
        sum += r.total;
    }
    return sum;
}

/* ---- the value by definition */

static bool shape_of(Check *c, Value v, Tensor *t) {
    const Type *type = value_type(c->p.w, v);
    *t = (Tensor){.rank = type->dim.n};
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++) {
        if (!poly_eval(c->p.w, type->dim.v[k], sizes(c), &t->dim[k]) || t->dim[k] < 0 ||
            t->dim[k] > HIGH - 2)
            return false;
        n *= t->dim[k];
    }
    t->v = ARENA_NEW(c->t.arena, Number, n + 1);
    return n <= 4000;
}
static bool run(Check *c) {
    NodeList live = graph_live(c->p.w, c->t.arena, &c->from);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(c->p.w, live.v[k]);
        Tensor *in = ARENA_NEW(c->t.arena, Tensor, n.nin + 1);
        bool is_input = input_name(c->p.w, n.out) != NULL;
        for (int j = 0; j < n.nin; j++) {
            if (n.in[j]) in[j] = c->tensor[n.in[j]];
            else in[j].rank = -1;
        }
        for (int j = 0; j < n.nout; j++) {
            Tensor *t = &c->tensor[n.out + (Value)j];
            Ex e = is_input ? 0 : sig_define(c->p.w, n.sig, j);
            Eval eval = {c->p.w,   &numbers_real,  sizes(c), n.nin, in, c->t.instance.nreal,
                         c->param, c->param_value, NULL};
            if (!shape_of(c, n.out + (Value)j, t)) return false;
            bool whole = dtype_class(value_type(c->p.w, n.out)->dtype) != 'F';
            for (int64_t i = 0; is_input && i < tensor_count(t); i++)
                t->v[i].real = whole ? (double)random_below(&c->random, 2)
                                     : (double)random_below(&c->random, 9) / 2 - 1.25;
            if (!is_input && (!e || !eval_tensor(&eval, e, t, NULL))) return false;
        }
    }
    return true;
}

/* ---- comparison */

static void compare_output(Check *c, int k, Nf form) {
    const Tensor *t = &c->tensor[c->from.out[k]];
    int64_t n = tensor_count(t), step = n / CHECKED_MAX + 1;
    for (int64_t at = 0; at < n; at += step) {
        int64_t rest = at;
        for (int a = t->rank; a--; rest /= t->dim[a])
            c->value[c->import.index[a]] = rest % t->dim[a];
        double want = t->v[at].real, got = nf_value(c, form);
        if (!isfinite(want) || isnan(got)) continue; /* powers in forms are total */
        if (fabs(want - got) > 1e-9 * (1 + fabs(want))) {
            Text text = text_new(c->t.arena);
            nf_print(&c->p, form, &text);
            fail_msg("%s: output %d, element %lld: %.17g by definition, %.17g by %s",
                     c->t.rule->name, k, (long long)at, want, got, text.data);
        }
        c->compared++;
    }
    for (int a = 0; a < RANK_MAX; a++) c->value[c->import.index[a]] = SIZE_UNKNOWN;
}
static void quotients(Check *c) { /* gives symbols that stand for a floor its value */
    for (int k = 0; k < c->facts.nsolved; k++) {
        Symbol x = c->facts.from[k], y = poly_is_symbol(c->p.w, c->facts.to[k]);
        if (y && symbol_def(c->p.w, x).kind == SYM_FLOOR)
            poly_eval(c->p.w, poly_symbol(c->p.w, x), sizes(c), &c->value[y]);
    }
}
static void compare_draws(Check *c, const Nf *form) {
    const Instance *i = &c->t.instance;
    for (int d = 0; d < DRAWS; d++) {
        if (!trial_draw(&c->t, d % 2)) continue;
        for (int k = 0; k < i->nsymbol; k++) c->value[i->symbol[k]] = c->t.value[k];
        for (int k = 0; k < i->nreal; k++) c->param_value[k].real = 0.5 + k;
        quotients(c);
        if (run(c))
            for (int k = 0; k < c->from.nout; k++) compare_output(c, k, form[k]);
    }
}
static void note_operators(Check *c, const Graph *g, bool *covered) {
    NodeList live = graph_live(c->p.w, c->t.arena, g);
    for (int k = 0; k < live.n; k++) covered[node_get(c->p.w, live.v[k]).op_index] = true;
}
/* Opens a check of the left side. Allocates *c; the caller frees it with close_check(). */
static Check *open_check(const Rule *rule, const int length[], bool exact) {
    Check *c = mem_realloc(NULL, sizeof *c);
    memset(c, 0, sizeof *c);
    for (int k = 0; k < SYMBOLS_MAX; k++) c->value[k] = SIZE_UNKNOWN;
    if (!trial_open(&c->t, rule, length, TRIAL_LEFT, 7)) fail_msg("%s", c->t.why);
    ValueMap map;
    Error e = {0};
    World *w = c->t.w;
    assert_true(graph_expand(w, c->t.arena, &c->t.instance.from, &c->from, &map, &e));
    DType *type = ARENA_NEW(c->t.arena, DType, c->from.nin);
    for (int k = 0; k < c->from.nin; k++) type[k] = value_type(w, c->from.in[k])->dtype;
    c->p = (Prover){.w = w,
                    .arena = c->t.arena,
                    .check = switches_all,
                    .escape = &c->escape,
                    .solver = solver_new(w, c->t.arena, 0),
                    .exact = exact,
                    .type = type,
                    .ninput = c->from.nin,
                    .most_steps = 1000000};
    normal_init(&c->p);
    assert_true(size_facts(w, c->t.arena, &c->t.instance, &c->facts));
    for (int k = 0; k < c->facts.nfact; k++) solver_assume(c->p.solver, c->facts.fact[k]);
    c->p.nsize = c->facts.nsize;
    c->p.size = c->facts.size;
    c->p.size_low = c->facts.low;
    c->import = (NfImport){.p = &c->p,
                           .ninput = c->from.nin,
                           .input = c->from.in,
                           .nsolved = c->facts.nsolved,
                           .from = c->facts.from,
                           .to = c->facts.to};
    import_init(&c->import);
    c->tensor = ARENA_NEW(c->t.arena, Tensor, value_last(w) + 2);
    c->random = (Random){11, 0};
    for (int k = 0; k < c->t.instance.nreal; k++)
        c->param[k] = world_word(w, c->t.instance.real[k]);
    return c;
}
static void close_check(Check *c) {
    normal_done(&c->p);
    solver_free(c->p.solver);
    trial_close(&c->t);
    mem_free(c);
}
static void check_rule(const Rule *rule, const int length[], bool exact, bool *covered) {
    Check *c = open_check(rule, length, exact);
    if (!setjmp(c->escape.here)) {
        Nf *form = ARENA_NEW(c->t.arena, Nf, c->from.nout);
        for (int k = 0; k < c->from.nout; k++) form[k] = import_value(&c->import, c->from.out[k]);
        compare_draws(c, form);
        if (c->compared) { /* the composite and its parts */
            note_operators(c, &c->t.instance.from, covered);
            note_operators(c, &c->from, covered);
        }
    } else fail_msg("%s: %s", rule->name, c->escape.error.reason);
    close_check(c);
}
static void check_file(const char *path, bool *covered) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    if (!rules_read(a, path, &set, &e)) fail_msg("%s:%d: %s", path, e.line, e.reason);
    for (int k = 0; k < set.n; k++) {
        int length[RULE_BLOCKS];
        rule_lengths_first(&set.v[k], length);
        check_rule(&set.v[k], length, false, covered);
    }
    arena_free(a);
}
static void test_corpora(void **state) {
    (void)state;
    bool covered[256] = {false};
    check_file("test/cases/verifier/corpus_b.rules", covered);
    check_file("test/cases/verifier/further.rules", covered);
}
/* A choice by input `by`: 2 where its element plus 1 is 0, else the element of input 0. */
static Ex choice_by(World *w, uint32_t by) {
    ExNode at = {.kind = EX_AT, .n = 1, .dims = {poly_symbol(w, symbol_index(w, 0))}};
    const Ex x = ex_make(w, &at);
    at.word = by;
    const Ex sum =
        ex_make(w, &(ExNode){.kind = EX_ADD, .a = ex_make(w, &at), .b = ex_rational(w, 1, 1)});
    return ex_make(w, &(ExNode){.kind = EX_WHERE, .a = x, .b = ex_rational(w, 2, 1), .c = sum});
}
/* The operator `where` takes truth values only, but a definition may choose by any integers. In a
   choice by floats a condition would have to be solved in real numbers: it is refused. */
static void test_choice_by_integers(void **state) {
    (void)state;
    static const char text[] = "rule r\n  %x : F [4]   %i : I64 [4]\nfrom\n  %y = gatherelements "
                               "%x %i axis=0\n  out %y\nto\n  out %x\n";
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    Number value[2][4] = {{{.real = 5}, {.real = 6}, {.real = 7}, {.real = 8}},
                          {{.real = -1}, {.real = 0}, {.real = 1}, {.real = -7}}};
    assert_true(rules_parse(a, "test", text, strlen(text), &set, &e));
    Check *c = open_check(&set.v[0], (int[RULE_BLOCKS]){0}, false);
    const Value y = c->from.out[0];
    const Node node = node_get(c->p.w, value_node(c->p.w, y));
    volatile bool refused = false;
    for (int k = 0; k < 2; k++)
        c->tensor[c->from.in[k]] = (Tensor){.rank = 1, .dim = {4}, .v = value[k]};
    if (!setjmp(c->escape.here)) {
        Scope s = scope_new(&c->import, &node, y);
        const Nf form = import_tree(&s, import_range(&c->import, y), choice_by(c->p.w, 1));
        for (int k = 0; k < 4; k++) {
            c->value[c->import.index[0]] = k;
            assert_true(nf_value(c, form) == (k ? value[0][k].real : 2));
        }
        refused = true;
        s = scope_new(&c->import, &node, y);
        import_tree(&s, import_range(&c->import, y), choice_by(c->p.w, 0));
        refused = false;
    }
    assert_true(refused);
    close_check(c);
    arena_free(a);
}
/* Whether the operator has a definition, or an expansion in which all operators have a meaning. */
static bool has_meaning(const Op *op) {
    if (op->define) return true;
    for (const char *s = op->expand ? strstr(op->expand, " = ") : NULL; s;
         s = strstr(s + 3, " = ")) {
        char name[64];
        const Op *part;
        if (sscanf(s + 3, "%63[a-z0-9_]", name) != 1 || !(part = op_find(name))) return false;
        if (!has_meaning(part)) return false;
    }
    return op->expand != NULL;
}
/* Its `where` has a condition that is not a polynomial in inputs; such a condition has no normal
   form. */
static bool chooses_by_computed(const Op *op) { return op == op_find("normalizer"); }
static void test_operators(void **state) {
    (void)state;
    bool covered[256] = {false};
    check_file("test/cases/verifier/operators.rules", covered);
    int missing = 0;
    for (int k = 0; k < op_count(); k++)
        if (has_meaning(op_at(k)) && !covered[k] && !chooses_by_computed(op_at(k))) {
            print_message(
                "operator %s has a meaning for the prover, but no rule in operators.rules\n",
                op_at(k)->name);
            missing++;
        }
    assert_int_equal(missing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators),
                                       cmocka_unit_test(test_corpora),
                                       cmocka_unit_test(test_choice_by_integers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
