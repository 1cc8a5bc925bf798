/* taso_text.c -- writes one of TASO's rules as text.

   Both sides are built as graphs over symbolic inputs. If an equality that they or the outputs need
   contains a size as a term by itself, that size is replaced and everything is built again, until
   nothing is left to solve. TASO applies a rule only where both sides have shapes, so the types of
   the inputs express the demands of both sides. Equalities that cannot be solved become conditions
   of the rule. */
#include "graphs/world.h"
#include "rules/taso_text_inner.h"
#include <string.h>

enum { ROUNDS = 200 }; /* most rounds of solving */

static bool write_side(TasoWriter *x, int side) {
    x->side = side;
    if (!side) x->nratio = 0;
    for (int k = 0; k < x->rule->side[side].n; k++) {
        int before = x->neq;
        if (!taso_write_op(x, k)) return false;
        for (int j = before; j < x->neq; j++)
            taso_solve(x, taso_divided(x, solution_apply(x, &x->all, x->eq[j])), &x->all);
    }
    if (x->text) text_add(x->text, "  out");
    for (int k = 0; k < x->rule->nout && x->text; k++) taso_print_value(x, x->rule->out[k][side]);
    if (x->text) text_add(x->text, "\n");
    return true;
}

/* Makes the inputs: F [n7, c7, h7, w7] for variable -7, for example, by the sizes solved so far. */
static void make_inputs(TasoWriter *x) {
    static const char letters[] = "nchwdefg";
    for (int k = 1; k < TASO_VARIABLES; k++) {
        if (x->rank[k] < 0) continue;
        Type t = {.dtype = DT_FLOAT, .known = true, .dim.n = x->any_rank ? 1 : x->rank[k]};
        for (int a = 0; a < t.dim.n; a++) {
            const char *name = x->any_rank ? "b_1" : arena_format(x->arena, "%c%d", letters[a], k);
            t.dim.v[a] = solution_apply(x, &x->sizes, poly_named(x->w, name));
        }
        x->input[k] = graph_input(x->w, arena_format(x->arena, "x%d", k), &t);
    }
}

static void demand_outputs(TasoWriter *x) {
    for (int k = 0; k < x->rule->nout; k++) {
        TasoTensor *t = (TasoTensor *)(uintptr_t)x->rule->out[k];
        Value y[2];
        for (x->side = 0; x->side < 2; x->side++) y[x->side] = taso_value(x, t[x->side]);
        Dims a = taso_dims(x, y[0]), b = taso_dims(x, y[1]);
        if (a.n != b.n) taso_refuse(x, "an output has a different rank on the right side");
        for (int d = 0; d < a.n && !x->why; d++) taso_demand(x, a.v[d], b.v[d], false);
    }
}

/* Builds everything again with the solutions so far. Returns true if something more was solved or
   the rule is refused. */
static bool again(TasoWriter *x) {
    x->neq = 0;
    x->all = x->sizes;
    make_inputs(x);
    if (!write_side(x, 0)) return true;
    if (!write_side(x, 1)) return true;
    demand_outputs(x);
    int64_t number;
    for (int k = 0; k < x->neq; k++) {
        Poly p = taso_divided(x, x->eq[k]);
        if (poly_constant(x->w, p, &number))
            return taso_refuse(x, "the sizes of its two sides never agree"), true;
        if (taso_solve(x, p, &x->sizes)) return true;
    }
    return x->why != NULL;
}

static bool all_helpers_solved(TasoWriter *x) {
    for (int k = 0; k < x->nhelper; k++)
        if (!taso_among(x->helper[k], x->sizes.n, x->sizes.from))
            return taso_refuse(
                x, "the left side does not determine what the right side needs (where it "
                   "splits, the size of a constant)");
    return true;
}

static bool left_reads(const TasoWriter *x, int variable) {
    for (int j = 0; j < x->rule->side[0].n; j++)
        for (int k = 0; k < x->rule->side[0].op[j].nin; k++)
            if (x->rule->side[0].op[j].in[k].op == -variable) return true;
    return false;
}

static void print_inputs(TasoWriter *x) {
    for (int k = 1; k < TASO_VARIABLES; k++) {
        if (x->rank[k] < 0) continue;
        if (!left_reads(x, k))
            taso_refuse(x, "the right side reads a variable that the left side does not have");
        text_add(x->text, "  %%x%d : ", k);
        if (x->any_rank) text_add(x->text, "F [b..]");
        else type_print(x->w, value_type(x->w, x->input[k]), x->text);
        text_add(x->text, "\n");
    }
}

/* Whether equality k must be written as a condition: it was not written before, and it comes from
   the right side or the outputs, or TASO demands it but no node here does. */
static bool is_condition(const TasoWriter *x, int k, int left) {
    for (int j = 0; j < k; j++)
        if (x->eq[j] == x->eq[k] || x->eq[j] == poly_scale(x->w, x->eq[k], -1)) return false;
    return k >= left || x->only_text[k];
}

static void print_condition(TasoWriter *x, bool *first, Poly a, const char *sign, Poly b) {
    text_add(x->text, *first ? "where " : ", ");
    poly_print(x->w, a, x->text);
    text_add(x->text, " %s ", sign);
    poly_print(x->w, b, x->text);
    *first = false;
}

static void print_conditions(TasoWriter *x, int left) {
    bool first = true;
    for (int k = 0; k < x->neq; k++) {
        Poly plus = 0;
        Monomial m;
        if (!is_condition(x, k, left)) continue;
        for (PolyScan s = poly_scan(x->w, x->eq[k]); poly_next(&s, &m);)
            if (m.coefficient > 0) plus = poly_add(x->w, plus, poly_from(x->w, 1, &m));
        print_condition(x, &first, plus, "==", poly_sub(x->w, plus, x->eq[k]));
    }
    for (int k = 0; k < x->npositive; k++)
        if (!taso_among(x->positive[k], x->naux, x->auxiliary) &&
            !taso_among(x->positive[k], x->sizes.n, x->sizes.from))
            print_condition(x, &first, poly_symbol(x->w, x->positive[k]), ">=", poly_int(x->w, 1));
    if (!first) text_add(x->text, "\n");
}

static bool write_rule(TasoWriter *x, int number) {
    if (!taso_ranks(x->rule, x->rank, &x->any_rank, &x->why)) return false;
    for (int rounds = 0;; rounds++) {
        bool more = again(x);
        if (x->why || rounds == ROUNDS) return taso_refuse(x, "its sizes cannot be solved");
        if (!more && x->settled) break;
        x->settled |= !more;
    }
    if (!all_helpers_solved(x)) return false;
    x->text = ARENA_NEW(x->arena, Text, 1);
    *x->text = text_new(x->arena);
    x->neq = 0;
    text_add(x->text, "rule taso-%d\n%s", number, x->any_rank ? "  axes b = 0..4\n" : "");
    print_inputs(x);
    text_add(x->text, "from\n");
    write_side(x, 0);
    int left = x->neq;
    text_add(x->text, "to\n");
    write_side(x, 1);
    demand_outputs(x);
    print_conditions(x, left);
    return !x->why;
}

const char *taso_text(Arena *a, const TasoRule *rule, int number, const char **why) {
    TasoWriter *x = ARENA_NEW(a, TasoWriter, 1);
    *x = (TasoWriter){.w = graph_world_new(arena_escape(a), 0), .arena = a, .rule = rule};
    bool done = write_rule(x, number);
    *why = done ? "" : arena_string(a, x->why, strlen(x->why));
    world_free(x->w);
    return done ? x->text->data : NULL;
}
