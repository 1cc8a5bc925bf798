/* report.c -- reports what a run did: collects numbers by operator, and prints a table for people.
   report_json.c prints the same numbers as JSON. */
#include "search/cost.h"
#include "search/cost_model.h"
#include "search/effect.h"
#include "search/show/report.h"
#include <stdlib.h>
#include <string.h>

enum { PLACES = 10, MOVED = 10 }; /* how many of each the table lists */

/* ---- by operator */

static int by_name(const void *a, const void *b) {
    return strcmp(((const OpCost *)a)->name, ((const OpCost *)b)->name);
}

static OpCost *operator_entry(RunStats *s, const Op *op) {
    int at = 0;
    while (at < s->noperator && strcmp(s->operators[at].name, op->name)) at++;
    if (at == s->noperator) s->operators[s->noperator++] = (OpCost){.name = op->name};
    return &s->operators[at];
}

static void count_operators(Run *r, const Graph *g, int side) {
    NodeList live = graph_live(r->w, r->arena, g);
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(r->w, live.v[k]);
        if (node.op->flags & OP_NO_COST) continue;
        double flops = node.op->flags & OP_RANDOM ? 0 : sig_work(r->w, node.sig, r->source.sizes);
        OpCost *x = operator_entry(&r->stats, node.op);
        x->nodes[side]++;
        x->flops[side] += flops > 0 ? flops : 0;
    }
}

typedef struct SidePrices {
    KindCost *kinds;
    int side;
} SidePrices;

static void add_price(void *user, StepKind kind, double seconds) {
    const SidePrices *p = user;
    KindCost *k = &p->kinds[kind];
    if (!k->steps[p->side]++) k->seconds[p->side] = 0;
    k->seconds[p->side] += seconds;
}

/* Prices the steps from the cost file or by the model of the machine: nothing is timed for a
   report. */
static void price_steps(Run *r, const Graph *const graphs[]) {
    Error ignored = {0};
    CostOptions o = run_cost_options(r);
    o.measured = r->db != NULL, o.frozen = true;
    Cost *cost = cost_new(r->w, r->arena, r->source.sizes, r->db, &o, &ignored);
    for (int side = 0; cost && side < 2; side++)
        cost_kinds(cost, graphs[side], add_price, &(SidePrices){r->stats.kinds, side});
    cost_free(cost);
}

void run_operators(Run *r, const Graph *result) {
    const Graph *const graphs[] = {&r->source.original, result};
    r->stats.operators = ARENA_NEW(r->arena, OpCost, op_count());
    for (int side = 0; side < 2; side++) count_operators(r, graphs[side], side);
    r->stats.flops_before = cost_flops(r->w, graphs[0], r->source.sizes, NULL);
    r->stats.flops_after = cost_flops(r->w, graphs[1], r->source.sizes, NULL);
    for (int kind = 0; kind < STEP_KIND_COUNT; kind++)
        r->stats.kinds[kind] = (KindCost){.seconds = {-1, -1}};
    if (r->o->html || r->o->report) price_steps(r, graphs);
    qsort(r->stats.operators, (size_t)r->stats.noperator, sizeof *r->stats.operators, by_name);
}

/* ---- the table */

const char *run_time_word(const RunStats *s) {
    return s->frozen_missing ? "time, partly estimated" : "measured time";
}

static void line_times(const char *what, double before, double after, Text *t) {
    if (before <= 0 || after <= 0) return;
    text_add(t, "  %-22s %11.3f ms %11.3f ms   %.2f times as fast\n", what, before * 1e3,
             after * 1e3, before / after);
}

/* Lists the rewritten places, the largest gain first, with the times of one of several equal places
   by itself on the target. */
static void table_places(const RunStats *s, Text *t) {
    if (s->nplace)
        text_add(t, "  %-30s %7s %9s %9s   by the rules\n", "place, by first node", "count",
                 "ms before", "ms after");
    for (int k = 0; k < s->nplace && k < PLACES; k++) {
        const PlaceGain *p = &s->place[k];
        text_add(t, "  %-30.30s %7d ", p->node, p->count);
        if (p->before < 0) text_add(t, "%9s %9s   %s (not timed)\n", "-", "-", p->rules);
        else
            text_add(t, "%9.4f %9.4f   %s%s\n", p->before * 1e3, p->after * 1e3, p->rules,
                     p->expected ? " (not timed, expected)" : "");
    }
    if (s->nplace > PLACES) text_add(t, "  and %d more\n", s->nplace - PLACES);
}

static void table_discovered(const RunDiscovered *d, Text *t) {
    text_add(
        t,
        "  discovered in %.1f s: %d of %d questions asked, %d answered by %d candidate rule%s, "
        "%d proved, %d of them new",
        d->seconds, d->asked, d->questions, d->answered, d->candidates,
        d->candidates == 1 ? "" : "s", d->proved, d->fresh);
    text_add(t, d->proved ? ": in %s\n" : "\n", d->path);
    if (d->note) text_add(t, "  %s\n", d->note);
}

/* Adds the lines of a table, indented. */
static void add_indented(const char *lines, Text *t) {
    for (const char *end; *lines; lines = end) {
        end = lines + strcspn(lines, "\n");
        end += *end == '\n';
        text_add(t, "  %.*s", (int)(end - lines), lines);
    }
}

/* For example "MatMul 'a', Tanh 'b' and 3 more". */
static void list_moved(const MovedNodes *m, Text *t) {
    for (int k = 0; k < m->n && k < MOVED; k++) text_add(t, "%s%s", k ? ", " : "", m->node[k]);
    if (m->n > MOVED) text_add(t, " and %d more", m->n - MOVED);
}

static void table_moved(const RunStats *s, Text *t) {
    for (int k = 0; k < s->nmoved; k++) {
        text_add(t, "  %s the %s, as they are the same in every iteration:\n    ",
                 s->moved_note ? "these may leave" : "moved out of", s->moved[k].body);
        list_moved(&s->moved[k], t);
        text_add(t, "\n");
    }
    if (s->moved_note) text_add(t, "  they stay where they were: %s\n", s->moved_note);
}

static void table_bodies(const RunStats *s, Text *t) {
    for (int k = 0; k < s->nbody; k++) {
        text_add(t, "  %s, as a model of its own:\n", s->body[k].name);
        add_indented(s->body[k].table, t);
    }
    if (s->bodies_note) text_add(t, "  these bodies are not used: %s\n", s->bodies_note);
}

void run_table_guessed(const RunStats *s, Text *t) {
    if (s->nguessed)
        text_add(t, "  sizes used where none were given: %s (--input-shape, --dim)\n",
                 run_guessed_text(s, t->arena));
}

/* Prints the operators whose number changed, and bytes, operations and times. */
static void table_numbers(const RunStats *s, Text *t) {
    text_add(t, "  %-22s %14s %14s\n", "operator", "before", "after");
    for (int k = 0; k < s->noperator; k++) {
        const OpCost *v = &s->operators[k];
        if (v->nodes[0] != v->nodes[1])
            text_add(t, "  %-22s %14d %14d\n", v->name, v->nodes[0], v->nodes[1]);
    }
    text_add(t, "  %-22s %11.3f MB %11.3f MB\n", "file", (double)s->bytes_before / 1e6,
             (double)s->bytes_after / 1e6);
    text_add(t, "  %-22s %10.4f GFLOP %8.4f GFLOP\n", "arithmetic", s->flops_before / 1e9,
             s->flops_after / 1e9);
    line_times("predicted time", s->predicted_before, s->predicted_after, t);
    if (s->sizes) text_add(t, "  of the given sizes, the gain is smallest at %s:\n", s->sizes);
    line_times(run_time_word(s), s->measured_before, s->measured_after, t);
    if (s->also_threads)
        line_times(arena_format(t->arena, "on %d threads", s->also_threads), s->also_before,
                   s->also_after, t);
    if (s->cost_fault) text_add(t, "  the cost file was wrong: %s\n", s->cost_fault);
    run_table_guessed(s, t);
}

/* Says what was compared by definitions, and how much was not. */
static void table_definitions(const RunStats *s, Text *t) {
    const bool all =
        s->applications_compared == s->applications && s->constants_compared == s->constants;
    if (!s->applications && !s->constants) return;
    text_add(t,
             "  compared in double, by definition: %d of %d applications of rules, %d of %d "
             "computed constants%s\n",
             s->applications_compared, s->applications, s->constants_compared, s->constants,
             all ? "" : "; the others are too large, or have no definition");
}

static void table_check(const Run *r, Text *t) {
    const RunStats *s = &r->stats;
    if (s->checked)
        text_add(t, "  compared numerically: greatest difference %.3g, relative %.3g%s%s%s\n",
                 s->check_absolute, s->check_relative,
                 s->check_unstable ? "; roundings alone move the original's outputs as far" : "",
                 *s->check_note ? "; " : "", s->check_note);
    else if (*s->check_note) text_add(t, "  %s\n", s->check_note);
    if (s->checked) table_definitions(s, t);
    if (s->checked && s->check_zero)
        text_add(t, "  all outputs were 0, so the comparison says little; give other inputs by "
                    "--input\n");
    if (s->opinion) text_add(t, "  %s: %s\n", r->o->check_with, s->opinion);
}

/* Prints why nothing gains, and what else was done to the file. */
static void table_notes(const Run *r, bool changed, Text *t) {
    const RunStats *s = &r->stats;
    if (s->frozen_missing) {
        const bool one = s->frozen_missing == 1;
        text_add(t, "  %d %s not in the cost file and %s estimated\n", s->frozen_missing,
                 one ? "time was" : "times were", one ? "was" : "were");
    }
    if (s->discovered.seconds > 0) table_discovered(&s->discovered, t);
    if (r->left_out)
        text_add(t,
                 "  left out, since on data from -1e4 to 1e4 they overflow or hide an overflow: "
                 "%s\n",
                 r->left_out);
    if (!changed && s->reason) text_add(t, "  %s\n", s->reason);
    if (!changed && s->headroom) text_add(t, "%s", s->headroom);
    if (r->sizes_fixed)
        text_add(t, "  sizes that were given are numbers in the model now (--fix-dims)\n");
    if (r->inlined && !r->input_returned)
        text_add(t, "  calls of functions, or Ifs that can take only one branch, were replaced by "
                    "the nodes in them\n");
}

static void table_rules(const Run *r, const Derivation *d, Text *t) {
    const int *count = derivation_counts(d, t->arena);
    bool changes_bytes = false;
    for (int k = 0; k < r->library.n; k++) {
        if (!count[k]) continue;
        const LibraryRule *rule = &r->library.rule[k];
        text_add(t, "  rule %-30s %4d time%s\n", rule->rule->name, count[k],
                 count[k] == 1 ? "" : "s");
        changes_bytes |= rule->changes_bytes;
    }
    if (changes_bytes && r->o->measure_with)
        text_add(
            t, "  this result changes the signedness of bytes: on x86 processors without VNNI,\n  "
               "ONNX Runtime's sums of unsigned times signed bytes saturate, so results would "
               "differ there\n");
}

const char *run_no_gain(const Run *r) {
    if (!opset_known(r->source.model)) return "its operator set is not known";
    if (r->o->replay) return "the proof log applies no rule";
    if (!r->library.n) return "no rules are used";
    if (r->o->cost && !strcmp(r->o->cost, "nodes")) return "no rule saves a node";
    return run_changes_file(r) ? "nothing else gains 3 %" : "nothing gains 3 %";
}

/* Says why no rule is applied, and whether the file is the user's. */
static void table_unchanged(const Run *r, Text *t) {
    if (!r->stats.unconfirmed) text_add(t, "; %s", run_no_gain(r));
    if (!run_changes_file(r))
        text_add(t, "%s the file is unchanged", r->stats.unconfirmed ? ";" : ":");
}

static bool alike(const OpaqueNode *a, const OpaqueNode *b) {
    return !strcmp(a->op_type, b->op_type) && !strcmp(a->reason, b->reason);
}

/* Says for each operator, and each reason why nodes of it are opaque, how many there are. */
static void table_opaque(const Run *r, Text *t) {
    enum { GROUPS_MOST = 5 };
    OpaqueNode *v;
    const int n = model_opaque_nodes(r->source.model, t->arena, &v);
    for (int k = 0, groups = 0; k < n; k++) {
        int first = 0, count = 0;
        while (!alike(&v[first], &v[k])) first++;
        if (first < k) continue;
        for (int j = k; j < n; j++) count += alike(&v[j], &v[k]);
        if (groups++ == GROUPS_MOST) {
            text_add(t, "  others are opaque, too; --report lists all of them\n");
            return;
        }
        text_add(t, "  opaque: %s '%.40s'%s: %s\n", v[k].op_type, v[k].name,
                 count > 1 ? arena_format(t->arena, " and %d like it", count - 1) : "",
                 v[k].reason);
    }
}

void run_table(const Run *r, const Derivation *d, bool changed, Text *t) {
    ModelStats m = model_stats(r->source.model);
    table_moved(&r->stats, t);
    table_bodies(&r->stats, t);
    if (changed) table_places(&r->stats, t);
    table_numbers(&r->stats, t);
    table_rules(r, d, t);
    table_check(r, t);
    table_notes(r, changed, t);
    table_opaque(r, t);
    text_add(t, "  %d of %d nodes understood, %d opaque; %.1f s", m.understood, m.nodes, m.opaque,
             run_seconds_whole(r));
    if (!changed) table_unchanged(r, t);
    text_add(t, "\n");
}
