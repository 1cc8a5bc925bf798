/* verify.c -- one rule: for each combination of block lengths the instance is proved; where that
   fails, conditions are looked for under which it holds, and last a counterexample. A rule is
   proved when all are, refuted when one is, unknown otherwise; where what it has more than one that
   was proved are spectators, it needs no proof of its own (spectator.h), and if that is so at every
   rank that a tensor can have the verdict is for all ranks. A few sizes are tried before anything
   is proved: most false rules differ there. Each rule gets a World of its own, so that verdicts do
   not depend on what was verified before.
   Conditions: what the right side and the outputs need and the left side does not give; then
   guesses from models (infer.h), each proved as if the author had written it, with a small budget;
   at last those of the former that the guess entails are left out. */
#include "verifier/verify.h"
#include "graphs/rewrite.h"
#include "verifier/infer.h"
#include "verifier/spectator.h"
#include "graphs/world.h"
#include <string.h>
#include <time.h>

/* Limits of effort. Reaching one never makes a false rule proved: a true rule gets a weaker
   verdict, or a longer proof. */
enum {
    SHAPES_DEFAULT = 60,   /* sets of sizes tried for a counterexample */
    EARLY_SHAPES = 16,     /* the same before anything is proved, */
    EARLY_ELEMENTS = 200,  /* with tensors of at most so many elements */
    CONDITIONS_MAX = 16,   /* added to a rule; one that needs more is not proved */
    GUESSES = 24,          /* conditions guessed at a time, the most promising first */
    FAILURES_MAX = 3,      /* guesses neither proved nor refuted before no more are tried */
    EXAMPLES_MAX = 40,     /* models that guesses may add to those drawn at first */
    GUESS_SHAPES = 100,    /* sets of sizes at which a guess is tested before it is proved */
    GUESS_BUDGET = 100000, /* Z3 resource units for each proof under a guess */
    PROVED_MAX = 16,       /* combinations of lengths that others are compared with (spectators) */
    COMBINATIONS_MAX = 200 /* lengths compared for `all`; a group that has more is left out */
};
static const uint64_t seed = 20261121;
static const char inferred[] = "inferred";
typedef struct Conditions {
    int n;
    const char *text[CONDITIONS_MAX], *side[CONDITIONS_MAX];
} Conditions;
typedef enum Outcome {
    OUTCOME_STOP, /* the verdict is known */
    OUTCOME_NEXT, /* these lengths are proved: the next ones */
    OUTCOME_AGAIN /* proved under new conditions: all lengths again, under these */
} Outcome;
typedef struct Verify { /* in an arena: after a longjmp local variables would be lost */
    Arena *arena;       /* the caller's */
    const Rule *rule;
    const VerifyOptions *options;
    Escape escape;
    World *w;
    Arena *work;
    Text explain;
    Trace trace;
    VerifyResult result;
    bool spent;            /* the last proof under guessed conditions lacked budget */
    Conditions conditions; /* in force, in addition to the rule's own */
    const char *condition; /* the same as text */
    /* A condition under which it holds, but with a size of at most 1. */
    const char *useless_condition;
    const char *counterexample; /* to the rule as it stands; NULL: none was found */
    /* Block lengths that were proved under these conditions by a proof of their own. */
    int nproved, proved[PROVED_MAX][RULE_BLOCKS];
} Verify;

VerifyOptions verify_defaults(void) {
    return (VerifyOptions){.check = switches_all, .shapes = SHAPES_DEFAULT};
}

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static const char *kept_text(Verify *v, const char *text) {
    return arena_string(v->arena, text, strlen(text));
}
static void note_unknown(Verify *v, const char *why) {
    v->result.verdict = VERDICT_UNKNOWN;
    v->result.why = kept_text(v, why);
}

/* ---- one combination of block lengths */

static bool state_instance(Verify *v, const int length[], Instance *i, Error *e) {
    Rule rule = *v->rule;
    rule.condition = v->condition;
    return rule_instance(v->w, v->work, arena_copy(v->work, &rule, sizeof rule), length, i, e);
}
static bool expand_instance(Verify *v, Instance *i, Error *e) {
    ValueMap map;
    return graph_expand(v->w, v->work, &i->from, &i->from, &map, e) &&
           graph_expand(v->w, v->work, &i->to, &i->to, &map, e);
}
static bool make_instance(Verify *v, const int length[], Instance *i) {
    Error e = {0};
    char why[700];
    if (state_instance(v, length, i, &e) && expand_instance(v, i, &e)) return true;
    error_print(&e, why, sizeof why);
    note_unknown(v, why);
    return false;
}
static const char *lengths_text(Verify *v, const int length[]) {
    Text t = text_new(v->work);
    for (int k = 0; k < v->rule->nblock; k++)
        text_add(&t, "%s#%s=%d", k ? ", " : "", v->rule->block[k].name,
                 length[v->rule->block[k].group]);
    return t.data ? t.data : "";
}
static Refutation refutation(Verify *v, const int length[], const Instance *i,
                             const RefuteOptions *o) {
    Refutation r = refute_instance(v->w, v->work, i, o);
    const char *where = lengths_text(v, length);
    if (r.found && !v->counterexample)
        v->counterexample =
            arena_format(v->arena, "%s%s%s\ncomputed in %s", where, *where ? "\n" : "", r.text,
                         r.exact ? "rationals" : "doubles");
    return r;
}
/* At a few small sizes: what differs in sizes only may still hold under the conditions that make
   them equal. */
static RefuteOptions small_sizes(void) {
    return (RefuteOptions){.shapes = EARLY_SHAPES,
                           .seed = seed,
                           .elements = EARLY_ELEMENTS,
                           .defined_only = true,
                           .values_only = true,
                           .quick = true,
                           .small = true};
}
static bool try_refute(Verify *v, const int length[], const Instance *i) {
    int shapes = v->options->shapes ? v->options->shapes : SHAPES_DEFAULT;
    if (!v->counterexample)
        refutation(v, length, i, &(RefuteOptions){.shapes = shapes, .seed = seed});
    if (!v->counterexample) return false;
    v->result.verdict = VERDICT_REFUTED;
    v->result.why =
        v->useless_condition
            ? arena_format(v->arena, "it holds only where a size is at most 1: where %s",
                           v->useless_condition)
            : "";
    v->result.counterexample = v->counterexample;
    return true;
}
/* Before anything is proved. */
static Refutation differs_early(Verify *v, const int length[], const Instance *i) {
    const RefuteOptions o = small_sizes();
    return v->options->explain || v->options->prove_first ? (Refutation){0}
                                                          : refutation(v, length, i, &o);
}
static ProofOptions proof_options(Verify *v) {
    return (ProofOptions){
        .budget = v->options->budget, .check = v->options->check, .trace = &v->trace};
}
static bool try_prove(Verify *v, const int length[], const Instance *i, const ProofOptions *o,
                      Proof *proof) {
    const char *where = lengths_text(v, length);
    if (v->options->explain) text_add(&v->explain, "%s%s", where, *where ? "\n" : "");
    if (v->options->explain && v->conditions.n) text_add(&v->explain, "under %s\n", v->condition);
    int before = v->trace.since = v->trace.n;
    v->trace.of = kept_text(v, where);
    *proof = prove_instance(v->w, v->work, i, o);
    if (!proof->proved) v->trace.n = before;
    v->result.queries += proof->stats.queries;
    if (proof->proved) v->result.classes |= proof->classes;
    if (v->options->explain)
        text_add(&v->explain, "  %s, %d queries\n", proof->proved ? "proved" : proof->why,
                 proof->stats.queries);
    return proof->proved;
}

/* ---- conditions */

/* Sizes of single axes of a block (h_2) are not there at every length. */
static bool for_every_length(const Verify *v, const char *text) {
    for (const char *p = text; v->rule->nblock && *p; p++)
        if (p[0] == '_' && p[1] >= '0' && p[1] <= '9') return false;
    return true;
}
static bool add_condition(Verify *v, Conditions *c, const char *text, const char *side) {
    if (c->n == CONDITIONS_MAX || !for_every_length(v, text)) return false;
    c->text[c->n] = text;
    c->side[c->n++] = side;
    return true;
}
static const char *joined_parts(Verify *v, int n, const char *const *part) {
    Text t = text_new(v->arena);
    for (int k = 0; k < n; k++) text_add(&t, "%s%s", k ? ", " : "", part[k]);
    return t.data ? t.data : "";
}
static void put_in_force(Verify *v, const Conditions *c) {
    v->conditions = *c;
    v->condition = joined_parts(v, c->n, c->text);
}
static bool add_missing(Verify *v, Conditions *c, const Missing *m) {
    Text t = text_new(v->arena);
    poly_print(v->w, m->lit.p, &t);
    text_add(&t, m->lit.eq ? " == 0" : " >= 0");
    return add_condition(v, c, t.data, m->side);
}
/* Before a guess is proved: at few small sizes, then at many. */
static Refutation differs_guessed(Verify *v, const int length[], const Instance *i) {
    RefuteOptions o = small_sizes();
    Refutation r = refutation(v, length, i, &o);
    o.small = false;
    o.shapes = GUESS_SHAPES;
    return r.found ? r : refutation(v, length, i, &o);
}
/* Forgets the questions from..to-1 of the trace: no proof that counts rests on them. */
static void drop_obligations(Verify *v, int from, int to) {
    Trace *t = &v->trace;
    if (from == to) return;
    memmove(t->v + from, t->v + to, sizeof *t->v * (size_t)(t->n - to));
    t->n -= to - from;
}
/* Whether the instance is proved with these conditions in force; if so they stay, and earlier
   proofs no longer count. *found: sizes at which they do not suffice. */
static bool holds_under(Verify *v, const int length[], const Instance *before, const Conditions *c,
                        bool guessed, uint64_t budget, Refutation *found) {
    ProofOptions o = proof_options(v);
    WorldMark mark = world_mark(v->w);
    Conditions old = v->conditions;
    Instance i;
    Proof proof = {0};
    int known = v->trace.n;
    if (budget) o.budget = budget;
    put_in_force(v, c);
    bool ok = make_instance(v, length, &i);
    *found = (Refutation){0};
    if (ok) *found = guessed ? differs_guessed(v, length, &i) : differs_early(v, length, &i);
    ok = ok && !found->found && try_prove(v, length, &i, &o, &proof);
    if (ok && prove_useless(v->w, v->work, before, &i)) {
        ok = false;
        v->result.category = "useless";
        v->useless_condition = v->condition;
    }
    if (proof.vacuous && !*v->result.category) v->result.category = "vacuous";
    v->spent = proof.spent;
    if (!ok) put_in_force(v, &old);
    drop_obligations(v, ok ? 0 : known, ok ? known : v->trace.n);
    v->result.verdict = VERDICT_PROVED; /* so far */
    v->result.why = "";
    world_reset(v->w, mark);
    return ok;
}

/* ---- guesses */

typedef struct Guessing {
    Verify *v;
    const int *length;
    const Instance *before;
    const Conditions *base;
    int nmodel, ntried;
    const ConditionGuess *costly; /* the first that failed for want of budget alone */
    Model model[INFER_MODELS];
    ConditionGuess guess[GUESSES], tried[FAILURES_MAX];
} Guessing;

static bool guess_has(const ConditionGuess *x, const char *lit) {
    return !strcmp(x->lit[0], lit) || (x->n > 1 && !strcmp(x->lit[1], lit));
}
/* What implies a guess that could not be proved is not tried either, but for two guesses at
   once. */
static bool was_tried(const Guessing *g, const ConditionGuess *x) {
    for (int k = 0; k < g->ntried; k++) {
        const ConditionGuess *y = &g->tried[k];
        if (guess_has(x, y->lit[0]) && (y->n > 1 ? guess_has(x, y->lit[1]) : x->n < 2 || x->cover))
            return true;
    }
    return false;
}
static bool under_guess(Guessing *g, const ConditionGuess *x, const Conditions *base,
                        uint64_t budget, Refutation *found) {
    Conditions c = *base;
    bool fits = true;
    for (int j = 0; j < x->n; j++) fits &= add_condition(g->v, &c, x->lit[j], inferred);
    return fits && holds_under(g->v, g->length, g->before, &c, true, budget, found);
}
/* With all of a budget that was asked for, and without what may follow from the guess. */
static bool try_costly(Guessing *g) {
    Refutation found;
    return g->costly && g->v->options->budget &&
           under_guess(g, g->costly, &(Conditions){0}, 0, &found);
}
/* Sizes at which the guess does not suffice are one more model; what was neither proved nor so
   refuted is not tried again. */
static bool try_guess(Guessing *g, const ConditionGuess *x) {
    Refutation found = {0};
    if (under_guess(g, x, g->base, GUESS_BUDGET, &found)) return true;
    if (g->v->spent && !g->costly) g->costly = arena_copy(g->v->work, x, sizeof *x);
    if (found.found && g->nmodel < INFER_MODELS)
        g->model[g->nmodel++] = (Model){found.value, false};
    else g->tried[g->ntried++] = *x;
    return false;
}
static bool infer_conditions(Verify *v, const int length[], const Instance *before,
                             const Conditions *base) {
    Guessing *g = ARENA_NEW(v->work, Guessing, 1);
    RefuteOptions o = {.shapes = INFER_MODELS - EXAMPLES_MAX,
                       .seed = seed,
                       .elements = EARLY_ELEMENTS,
                       .defined_only = true};
    Instance i;
    g->v = v;
    g->length = length;
    g->before = before;
    g->base = base;
    put_in_force(v, base);
    bool made = make_instance(v, length, &i);
    put_in_force(v, &(Conditions){0});
    if (made) g->nmodel = refute_models(v->w, v->work, &i, &o, g->model);
    while (made && g->ntried < FAILURES_MAX) {
        int n = infer_guesses(v->w, v->arena, &i, g->nmodel, g->model, GUESSES, g->guess), k = 0;
        while (k < n && was_tried(g, &g->guess[k])) k++;
        if (k == n) break;
        if (try_guess(g, &g->guess[k])) return true;
    }
    return try_costly(g);
}
/* What the right side and the outputs need is left out where the rest entails it. A weaker guess
   would have covered more models, and was tried before. */
static void weaken(Verify *v, const int length[], const Instance *before) {
    Refutation found;
    for (int k = v->conditions.n; k-- > 0;) {
        Conditions c = v->conditions;
        if (c.side[k] == inferred) continue;
        memmove(c.text + k, c.text + k + 1, sizeof *c.text * (size_t)(c.n - k - 1));
        memmove(c.side + k, c.side + k + 1, sizeof *c.side * (size_t)(c.n - k - 1));
        c.n--;
        holds_under(v, length, before, &c, true, GUESS_BUDGET, &found);
    }
}
static bool find_conditions(Verify *v, const int length[], const Instance *i, const Proof *proof) {
    Conditions base = {0};
    Refutation found;
    for (int k = 0; k < proof->nmissing; k++)
        if (!add_missing(v, &base, &proof->missing[k])) return false;
    const char *category = v->result.category;
    if (!(base.n && holds_under(v, length, i, &base, false, 0, &found)) &&
        !infer_conditions(v, length, i, &base))
        return false;
    if (v->conditions.side[v->conditions.n - 1] == inferred) weaken(v, length, i);
    v->result.category = category;
    return true;
}

/* ---- spectators */

/* The instance is compared with those that were proved, from the last on. A longer one than the
   rule states may have too many axes: then there is nothing to cover. */
static bool is_covered(Verify *v, const int length[]) {
    WorldMark mark = world_mark(v->w);
    ArenaMark work = arena_mark(v->work);
    Error e = {0};
    Instance wide, base;
    bool typed = state_instance(v, length, &wide, &e),
         covered = !typed && !rule_is_stated(v->rule, length);
    typed = typed && expand_instance(v, &wide, &e);
    for (int k = v->nproved; k-- > 0 && typed && !covered;) {
        bool longer = true;
        for (int g = 0; g < v->rule->ngroup; g++) longer &= v->proved[k][g] <= length[g];
        covered = longer && state_instance(v, v->proved[k], &base, &e) &&
                  expand_instance(v, &base, &e) &&
                  (!v->options->check.spectator || spectators(v->w, v->work, &base, &wide));
    }
    arena_reset(v->work, work);
    world_reset(v->w, mark);
    return covered;
}
static void note_proved(Verify *v, const int length[]) {
    if (v->nproved == PROVED_MAX) return;
    memcpy(v->proved[v->nproved++], length, sizeof *length * (size_t)v->rule->ngroup);
}
/* Group by group: is each combination covered that has any length of the groups so far, and of the
   others what the rule states? */
static void find_all_ranks(Verify *v) {
    Rule rule = *v->rule;
    rule.all = ""; /* an earlier verdict is not believed */
    for (int g = 0; g < rule.ngroup; g++) {
        int length[RULE_BLOCKS], k = 0, tried = 0;
        bool covered = true;
        while (rule.block[k].group != g) k++;
        const char *before = rule.all;
        rule.all =
            arena_format(v->arena, "%s%s%s..", before, *before ? ", " : "", rule.block[k].name);
        rule_lengths_first(&rule, length);
        while (rule_covered_next(&rule, length) && covered)
            if (!rule_is_stated(v->rule, length))
                covered = tried++ < COMBINATIONS_MAX && is_covered(v, length);
        if (!covered) rule.all = before;
    }
    v->result.all = rule.all;
}

/* ---- all lengths */

static Outcome verify_lengths(Verify *v, const int length[]) {
    Instance i;
    Proof proof;
    if (!make_instance(v, length, &i)) return OUTCOME_STOP;
    ProofOptions o = proof_options(v);
    o.needs_only = differs_early(v, length, &i).found;
    if (try_prove(v, length, &i, &o, &proof)) return OUTCOME_NEXT;
    if (proof.vacuous) v->result.category = "vacuous";
    else if (!v->options->no_preconditions && !v->conditions.n &&
             find_conditions(v, length, &i, &proof))
        return OUTCOME_AGAIN;
    if (try_refute(v, length, &i)) return OUTCOME_STOP;
    const char *where = lengths_text(v, length);
    note_unknown(v, arena_format(v->work, "%s%s%s", where, *where ? ": " : "",
                                 proof.why ? proof.why : "not shown"));
    return OUTCOME_STOP;
}
/* The lengths proved so far hold under the new conditions too, but must be proved so. */
static void start_again(Verify *v, int length[]) {
    v->result.classes = 0;
    v->nproved = 0;
    v->trace.n = 0;
    rule_lengths_first(v->rule, length);
}
static void verify_run(Verify *v) {
    int length[RULE_BLOCKS];
    v->result.verdict = VERDICT_PROVED;
    rule_lengths_first(v->rule, length);
    for (bool more = true; more;) {
        if (v->nproved && is_covered(v, length)) {
            const char *where = lengths_text(v, length);
            if (v->options->explain)
                text_add(&v->explain, "%s\n  proved: its further axes are spectators\n", where);
            more = rule_lengths_next(v->rule, length);
            continue;
        }
        WorldMark mark = world_mark(v->w);
        ArenaMark work = arena_mark(v->work);
        Outcome o = verify_lengths(v, length);
        arena_reset(v->work, work);
        world_reset(v->w, mark);
        if (o == OUTCOME_STOP) return;
        if (o == OUTCOME_AGAIN && v->rule->nblock) {
            start_again(v, length);
            continue;
        }
        note_proved(v, length);
        more = rule_lengths_next(v->rule, length);
    }
    find_all_ranks(v);
}
static void note_obligations(Verify *v) {
    Text t = text_new(v->arena);
    if (!v->trace.collect) return;
    for (int k = 0; k < v->trace.n; k++)
        text_add(&t, "%s\t%s\n", v->trace.v[k].digest, v->trace.v[k].purpose);
    v->result.nobligation = v->trace.n;
    v->result.obligation = v->trace.v;
    v->result.obligations = t.data ? t.data : "";
}
VerifyResult verify_rule(Arena *arena, const Rule *rule, const VerifyOptions *o) {
    Verify *v = ARENA_NEW(arena, Verify, 1);
    double start = milliseconds();
    v->arena = arena;
    v->rule = rule;
    v->options = o;
    v->condition = "";
    v->result = (VerifyResult){.condition = "", .all = "", .sides = "", .category = "", .why = ""};
    v->explain = text_new(arena);
    v->trace = (Trace){.arena = arena,
                       .words = o->explain ? &v->explain : NULL,
                       .of = "",
                       .stage = "",
                       .collect = o->explain || o->obligations};
    if (setjmp(v->escape.here)) note_unknown(v, v->escape.error.reason);
    else {
        v->w = graph_world_new(&v->escape, o->memory);
        v->work = arena_new(&v->escape, o->memory);
        verify_run(v);
    }
    if (v->w) world_free(v->w);
    arena_free(v->work);
    bool proved = v->result.verdict == VERDICT_PROVED;
    v->result.condition = proved ? v->condition : "";
    if (!proved) v->result.all = "";
    v->result.sides = proved ? joined_parts(v, v->conditions.n, v->conditions.side) : "";
    if (proved) v->result.category = "";
    v->result.explanation = v->explain.data;
    if (proved) note_obligations(v);
    v->result.ms = milliseconds() - start;
    return v->result;
}
