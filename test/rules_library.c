/* Every rule of rules/library fires on its own left side at sizes drawn at random, and what it puts there computes the same numbers: an independent check of rule, matcher and application by the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "graphs/oracle.h"
#include "ops/base/random.h"
#include "rules/match.h"
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 20000, SYMBOLS = 64, ELEMENTS = 4096 };
typedef struct Trial {
    World *w;
    Arena *arena;
    Random random;
    const Rule *rule;
    Instance instance; /* of the rule, symbolic */
    int64_t value[SYMBOLS];
} Trial;

/* ---- sizes that satisfy what the left side and the conditions need */

static bool holds(Trial *t, const Lit *lit, int n) {
    uint32_t top = 0;
    for (int k = 0; k < t->instance.nsymbol; k++) top = t->instance.symbol[k] > top ? t->instance.symbol[k] : top;
    int64_t *by_symbol = ARENA_NEW(t->arena, int64_t, top + 1);
    for (uint32_t k = 0; k <= top; k++) by_symbol[k] = SIZE_UNKNOWN;
    for (int k = 0; k < t->instance.nsymbol; k++) by_symbol[t->instance.symbol[k]] = t->value[k];
    for (int k = 0; k < n; k++) {
        int64_t v;
        if (!poly_eval(t->w, lit[k].p, (Sizes){top + 1, by_symbol}, &v) || (lit[k].eq ? v != 0 : v < 0)) return false;
    }
    return true;
}

/* Draws values, then repairs equalities `s = polynomial of others` by solving for a bare symbol. */
static void repair(Trial *t, const Lit *lit, int n) {
    const Instance *i = &t->instance;
    for (int k = 0; k < n; k++) {
        if (!lit[k].eq) continue;
        for (int s = i->nsymbol - 1; s >= 0; s--) {
            Poly zero = 0, one = poly_int(t->w, 1), from[SYMBOLS];
            Symbol symbol[SYMBOLS];
            int m = 0;
            for (int j = 0; j < i->nsymbol; j++) {
                symbol[m] = i->symbol[j];
                from[m++] = j == s ? poly_symbol(t->w, i->symbol[j]) : poly_int(t->w, t->value[j]);
            }
            Poly p = poly_subst(t->w, lit[k].p, m, symbol, from);
            int64_t b, ab;
            if (!poly_constant(t->w, poly_subst(t->w, p, 1, &i->symbol[s], &zero), &b) ||
                !poly_constant(t->w, poly_subst(t->w, p, 1, &i->symbol[s], &one), &ab))
                continue;
            if (ab == b || b % (ab - b)) continue;
            int64_t v = -b / (ab - b);
            if (v < 0 || v > 40) continue;
            t->value[s] = v;
            break;
        }
    }
}

static bool draw_sizes(Trial *t) {
    const Instance *i = &t->instance;
    for (int tries = 0; tries < TRIES; tries++) {
        for (int k = 0; k < i->nsymbol; k++)
            t->value[k] = random_below(&t->random, 3) ? 1 + (int64_t)random_below(&t->random, i->is_size[k] ? 5 : 2) : 1;
        for (int round = 0; round < 3; round++) {
            repair(t, i->need_from, i->nneed_from);
            repair(t, i->where, i->nwhere);
        }
        if (holds(t, i->need_from, i->nneed_from) && holds(t, i->where, i->nwhere)) return true;
    }
    return false;
}

/* ---- the left side at these sizes, as a graph of its own */

static Poly sized(Trial *t, Poly p) {
    Poly to[SYMBOLS];
    for (int k = 0; k < t->instance.nsymbol; k++) to[k] = poly_int(t->w, t->value[k]);
    return poly_subst(t->w, p, t->instance.nsymbol, t->instance.symbol, to);
}

/* Real variables become 1/2, 1/4, ..; numbers the nearest float, as a model would have them. */
static Ex sized_real(Trial *t, Ex x) {
    ExNode n;
    double v;
    if (!x) return x;
    if (ex_number(t->w, x, &v)) return ex_real(t->w, (double)(float)v);
    ex_get(t->w, x, &n);
    for (int k = 0; n.kind == EX_PARAM && k < t->instance.nreal; k++)
        if (!strcmp(t->instance.real[k], world_text(t->w, n.word))) return ex_rational(t->w, 1, 2 << k);
    return x;
}

static Value rebuilt(Trial *t, Value *to, Value v) {
    if (!v || to[v]) return v ? to[v] : 0;
    Node node = node_get(t->w, value_node(t->w, v));
    Attr attr[32];
    Value in[16], y;
    const char *why = "";
    if (input_name(t->w, v)) {
        Type type = *value_type(t->w, v);
        for (int k = 0; k < type.dim.n; k++) type.dim.v[k] = sized(t, type.dim.v[k]);
        return to[v] = graph_input(t->w, arena_format(t->arena, "in-%s", input_name(t->w, v)), &type);
    }
    for (int k = 0; k < node.nin; k++) in[k] = rebuilt(t, to, node.in[k]);
    sig_attr(t->w, node.sig, attr);
    for (int k = 0; k < attrs_count(node.op->attrs); k++) {
        Poly *list = ARENA_NEW(t->arena, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++) list[j] = sized(t, attr[k].ints.v[j]);
        attr[k].ints.v = list;
        attr[k].real = sized_real(t, attr[k].real);
    }
    y = node_make(t->w, node.op, attr, node.nin, in, node.nout, &why);
    if (!y) fail_msg("%s: %s: %s", t->rule->name, node.op->name, why);
    for (int k = 0; k < node.nout; k++) to[node.out + (Value)k] = y + (Value)k;
    return to[v];
}

static Graph left_side(Trial *t) {
    const Instance *i = &t->instance;
    Value *to = ARENA_NEW(t->arena, Value, 100000), *in = ARENA_NEW(t->arena, Value, i->ninput),
          *out = ARENA_NEW(t->arena, Value, i->from.nout);
    for (int k = 0; k < i->ninput; k++) in[k] = rebuilt(t, to, i->input[k]);
    for (int k = 0; k < i->from.nout; k++) out[k] = rebuilt(t, to, i->from.out[k]);
    return (Graph){i->ninput, i->from.nout, in, out};
}

/* ---- matching, applying, comparing */

typedef struct Found {
    Trial *t;
    Graph graph, result;
    Facts *facts;
    int count;
    char why[300];
} Found;

static bool apply(void *user, const Match *m) {
    Found *f = user;
    Value to[8];
    ValueMap map;
    Error e = {0};
    for (int k = 0; k < f->graph.nout; k++)
        if (m->root[k] != f->graph.out[k]) return true;
    if (!match_apply(f->t->w, f->t->arena, f->facts, m, to, &e) ||
        !graph_substitute(f->t->w, f->t->arena, &f->graph, f->graph.nout, m->root, to, &f->result, &map, &e)) {
        snprintf(f->why, sizeof f->why, "%.250s", e.reason);
        return true;
    }
    f->count++;
    return false;
}

static int64_t elements(Trial *t, Value v) {
    int64_t n = -1;
    assert_true(poly_constant(t->w, type_count(t->w, value_type(t->w, v)), &n));
    return n;
}

static void run_oracle(Trial *t, const Graph *g, void **in, double **out) {
    Error e = {0};
    for (int k = 0; k < g->nout; k++) out[k] = ARENA_NEW(t->arena, double, elements(t, g->out[k]) + 1);
    if (!oracle_run(t->w, g, (Sizes){0, NULL}, true, (const void *const *)in, (void *const *)out, &e))
        fail_msg("%s: %s", t->rule->name, e.reason);
}

static void compare(Trial *t, const Graph *a, const Graph *b) {
    void *in[32];
    double *x[8], *y[8];
    for (int k = 0; k < a->nin; k++) {
        int64_t n = elements(t, a->in[k]);
        float *v = ARENA_NEW(t->arena, float, n + 1);
        for (int64_t j = 0; j < n; j++)
            v[j] = (float)(0.1 + random_unit(&t->random)) * (random_below(&t->random, 4) || !strcmp(input_name(t->w, a->in[k]), "in-v") ||
                                                                     !strcmp(input_name(t->w, a->in[k]), "in-var")
                                                                 ? 1
                                                                 : -1);
        in[k] = v;
    }
    run_oracle(t, a, in, x);
    run_oracle(t, b, in, y);
    for (int k = 0; k < a->nout; k++)
        for (int64_t j = 0; j < elements(t, a->out[k]); j++) {
            bool same = x[k][j] == y[k][j] || (isnan(x[k][j]) && isnan(y[k][j])) || fabs(x[k][j] - y[k][j]) <= 1e-6 * (1 + fabs(x[k][j]));
            if (!same) fail_msg("%s: output %d element %ld: %.17g became %.17g", t->rule->name, k, (long)j, x[k][j], y[k][j]);
        }
}

static void try_rule(const Rule *rule, const int length[], uint64_t seed) {
    Trial t = {.w = graph_world_new(NULL, 0), .arena = arena_new(NULL, 0), .random = {seed, 0}, .rule = rule};
    Error e = {0};
    if (!rule_instance(t.w, t.arena, rule, length, &t.instance, &e)) fail_msg("%s: %s", rule->name, e.reason);
    if (!draw_sizes(&t)) fail_msg("%s: no sizes satisfy the left side", rule->name);
    Found f = {.t = &t, .graph = left_side(&t), .facts = facts_new(t.w, t.arena)};
    Instance pattern;
    if (!rule_instance_apart(t.w, t.arena, rule, length, &pattern, &e)) fail_msg("%s: %s", rule->name, e.reason);
    matcher_run(matcher_new(t.w, t.arena, &f.graph, f.facts), &pattern, apply, &f);
    if (!f.count) fail_msg("%s does not fire on its own left side: %s", rule->name, f.why);
    f.result.in = f.graph.in;
    f.result.nin = f.graph.nin;
    compare(&t, &f.graph, &f.result);
    arena_free(t.arena);
    world_free(t.w);
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static RuleSet read_library(Arena *a) {
    RuleSet set = {.arena = a};
    const char *name[64];
    int n = 0;
    DIR *d = opendir("rules/library");
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d)) && n < 64;)
        if (strstr(x->d_name, ".rules")) name[n++] = arena_format(a, "rules/library/%s", x->d_name);
    closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_name);
    for (int k = 0; k < n; k++) {
        Error e = {0};
        if (!rules_read(a, name[k], &set, &e)) fail_msg("%s", e.reason);
    }
    return set;
}

static void test_every_rule_fires(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, 0);
    RuleSet set = read_library(a);
    assert_true(set.n >= 25);
    for (int k = 0; k < set.n; k++) {
        int length[RULE_BLOCKS];
        assert_true(strlen(set.v[k].comment) > 0); /* names the model or case it is for */
        rule_lengths_first(&set.v[k], length);
        do
            for (uint64_t seed = 1; seed <= 3; seed++) try_rule(&set.v[k], length, seed);
        while (rule_lengths_next(&set.v[k], length));
    }
    print_message("%d rules\n", set.n);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_rule_fires)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
