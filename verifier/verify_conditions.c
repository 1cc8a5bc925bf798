/* verify_conditions.c -- finds conditions under which a rule holds that does not hold as it stands.
   First come those that the right side and the outputs need and that do not follow from the left
   side; then guesses from models (infer.h). Each guess is proved with a small budget, as if the
   author had written it as a condition. Finally, the needed conditions that the others entail are
   dropped. */
#include "verifier/verify_inner.h"
#include "verifier/infer.h"
#include "verifier/useless.h"
#include <string.h>

/* Limits of effort, as in verify.c. */
enum {
    GUESSES = 24,         /* the most guesses made at a time */
    FAILURES_MAX = 3,     /* guesses that are neither proved nor refuted before it gives up */
    EXAMPLES_MAX = 40,    /* the most models that refuted guesses add to those drawn at first */
    GUESS_SHAPES = 100,   /* how many sets of sizes a guess is tested at before it is proved */
    GUESS_BUDGET = 100000 /* Z3 resource units for each proof under a guess */
};
static const char inferred[] = "inferred";

/* Returns whether the condition makes sense at every length of the blocks. The size of a single
   axis of a block (h_2) does not exist at every length. */
static bool for_every_length(const Verify *v, const char *text) {
    for (const char *p = text; v->rule->nblock && *p; p++)
        if (p[0] == '_' && p[1] >= '0' && p[1] <= '9') return false;
    return true;
}
static bool add_condition(Verify *v, Conditions *c, const char *text, const char *side) {
    if (c->n == CONDITIONS_MAX || !for_every_length(v, text)) return false;
    c->text[c->n] = text;
    c->source[c->n++] = side;
    return true;
}
const char *verify_joined(Verify *v, int n, const char *const *part) {
    Text t = text_new(v->arena);
    for (int k = 0; k < n; k++) text_add(&t, "%s%s", k ? ", " : "", part[k]);
    return t.data ? t.data : "";
}
/* Makes these the conditions in force. */
static void put_in_force(Verify *v, const Conditions *c) {
    v->conditions = *c;
    v->condition = verify_joined(v, c->n, c->text);
}
static bool add_missing(Verify *v, Conditions *c, const Missing *m) {
    Text t = text_new(v->arena);
    lit_print(v->w, m->lit, &t);
    return add_condition(v, c, t.data, m->needed_by);
}
/* Searches for a counterexample to a guess before it is proved: at a few small sizes, then at
   many. */
static Refutation differs_guessed(Verify *v, const int length[], const Instance *i) {
    RefuteOptions o = verify_small_sizes();
    Refutation r = verify_refutation(v, length, i, &o);
    o.small = false;
    o.shapes = GUESS_SHAPES;
    return r.found ? r : verify_refutation(v, length, i, &o);
}
/* Drops the questions from..to-1 from the trace: no proof that counts rests on them. */
static void drop_obligations(Verify *v, int from, int to) {
    Trace *t = &v->trace;
    if (from == to) return;
    memmove(t->v + from, t->v + to, sizeof *t->v * (size_t)(t->n - to));
    t->n -= to - from;
}
/* Returns whether the instance is proved under these conditions and they are not useless. If so,
   they stay in force, and earlier proofs no longer count. *found describes sizes at which they do
   not suffice, if there are any. `before` is the instance without them; `guessed` asks for more
   tests before the proof. */
static bool holds_under(Verify *v, const int length[], const Instance *before, const Conditions *c,
                        bool guessed, uint64_t budget, Refutation *found) {
    ProofOptions o = verify_proof_options(v);
    WorldMark mark = world_mark(v->w);
    Conditions old = v->conditions;
    Instance i;
    Proof proof = {0};
    int known = v->trace.n;
    if (budget) o.budget = budget;
    put_in_force(v, c);
    const char *category = v->result.category;
    bool ok = verify_instance(v, length, &i);
    if (!ok) v->result.category = category; /* the conditions are ours: the rule is not invalid */
    *found = (Refutation){0};
    if (ok) *found = guessed ? differs_guessed(v, length, &i) : verify_differs_early(v, length, &i);
    ok = ok && !found->found && verify_prove(v, length, &i, &o, &proof);
    if (ok && prove_useless(v->w, v->work, before, &i)) {
        ok = false;
        v->result.category = "useless";
        v->useless_condition = v->condition;
    }
    if (proof.vacuous && !*v->result.category) v->result.category = "vacuous";
    v->spent = proof.spent;
    if (!ok) put_in_force(v, &old);
    drop_obligations(v, ok ? 0 : known, ok ? known : v->trace.n);
    v->result.verdict = VERDICT_PROVED; /* until something else is found */
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
    const ConditionGuess *costly; /* the first guess that failed for lack of budget only */
    SizeModel model[INFER_MODELS];
    ConditionGuess guess[GUESSES], tried[FAILURES_MAX];
} Guessing;

static bool guess_has(const ConditionGuess *x, const char *lit) {
    return !strcmp(x->lit[0], lit) || (x->n > 1 && !strcmp(x->lit[1], lit));
}
/* Returns whether the guess implies one that could not be proved, so that it is not tried. Pairs
   formed from two guesses are an exception. */
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
/* Tries the costly guess again with the caller's whole budget, if one was given, and without the
   needed conditions, which may follow from the guess. */
static bool try_costly(Guessing *g) {
    Refutation found;
    return g->costly && g->v->options->budget &&
           under_guess(g, g->costly, &(Conditions){0}, 0, &found);
}
/* Tries a guess. If it does not suffice at some sizes, these become one more model. A guess that
   was neither proved nor refuted in this way is not tried again. */
static bool try_guess(Guessing *g, const ConditionGuess *x) {
    Refutation found = {0};
    if (under_guess(g, x, g->base, GUESS_BUDGET, &found)) return true;
    if (g->v->spent && !g->costly) g->costly = arena_copy(g->v->work, x, sizeof *x);
    if (found.found && g->nmodel < INFER_MODELS)
        g->model[g->nmodel++] = (SizeModel){.value = found.value};
    else g->tried[g->ntried++] = *x;
    return false;
}
/* Tries guesses until one is proved, in addition to the conditions `base`. */
static bool infer_conditions(Verify *v, const int length[], const Instance *before,
                             const Conditions *base) {
    Guessing *g = ARENA_NEW(v->work, Guessing, 1);
    RefuteOptions o = {.shapes = INFER_MODELS - EXAMPLES_MAX,
                       .seed = VERIFY_SEED,
                       .elements = EARLY_ELEMENTS,
                       .defined_only = true};
    Instance i;
    g->v = v;
    g->length = length;
    g->before = before;
    g->base = base;
    put_in_force(v, base);
    bool made = verify_instance(v, length, &i);
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
/* Drops those needed conditions that the others entail. A guess is kept: a weaker one would have
   covered more models, and was tried before. */
static void weaken(Verify *v, const int length[], const Instance *before) {
    Refutation found;
    for (int k = v->conditions.n; k-- > 0;) {
        Conditions c = v->conditions;
        if (c.source[k] == inferred) continue;
        memmove(c.text + k, c.text + k + 1, sizeof *c.text * (size_t)(c.n - k - 1));
        memmove(c.source + k, c.source + k + 1, sizeof *c.source * (size_t)(c.n - k - 1));
        c.n--;
        holds_under(v, length, before, &c, true, GUESS_BUDGET, &found);
    }
}
bool verify_conditions(Verify *v, const int length[], const Instance *i, const Proof *proof) {
    Conditions base = {0};
    Refutation found;
    for (int k = 0; k < proof->nmissing; k++)
        if (!add_missing(v, &base, &proof->missing[k])) return false;
    const char *category = v->result.category;
    if (!(base.n && holds_under(v, length, i, &base, false, 0, &found)) &&
        !infer_conditions(v, length, i, &base))
        return false;
    if (v->conditions.n > 1) weaken(v, length, i);
    v->result.category = category;
    return true;
}
