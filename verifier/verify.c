/* verify.c -- one rule: for each combination of block lengths the instance is proved; where that fails, a counterexample is looked for. A rule is proved when all are, refuted
   when one is, unknown otherwise. Each rule gets a World of its own, so that verdicts do not depend on what was verified before. */
#include "verifier/verify.h"
#include "graphs/rewrite.h"
#include "verifier/refute.h"
#include <string.h>
#include <time.h>

enum { SHAPES_DEFAULT = 60 };
typedef struct Verify { /* in memory, so that it survives a jump */
    Arena *arena;       /* the caller's */
    const Rule *rule;
    const VerifyOptions *options;
    Escape escape;
    World *w;
    Arena *work;
    Text explain;
    VerifyResult result;
    const char *condition; /* in force, beside the rule's own */
} Verify;

VerifyOptions verify_defaults(void) { return (VerifyOptions){.check = switches_all, .shapes = SHAPES_DEFAULT}; }

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static const char *kept(Verify *v, const char *text) { return arena_string(v->arena, text, strlen(text)); }
static void unknown(Verify *v, const char *why) {
    v->result.verdict = VERDICT_UNKNOWN;
    v->result.why = kept(v, why);
}

/* ---- one combination of block lengths */

static bool make_instance(Verify *v, const int length[], Instance *i) {
    Error e = {0};
    char why[700];
    Rule rule = *v->rule;
    rule.condition = v->condition;
    ValueMap map;
    Rule *copy = arena_copy(v->work, &rule, sizeof rule);
    bool ok = rule_instance(v->w, v->work, copy, length, i, &e) && graph_expand(v->w, v->work, &i->from, &i->from, &map, &e) &&
              graph_expand(v->w, v->work, &i->to, &i->to, &map, &e);
    if (ok) return true;
    error_print(&e, why, sizeof why);
    unknown(v, why);
    return false;
}
static const char *lengths_text(Verify *v, const int length[]) {
    Text t = text_new(v->work);
    for (int k = 0; k < v->rule->nblock; k++)
        text_add(&t, "%s#%s=%d", k ? ", " : "", v->rule->block[k].name, length[v->rule->block[k].group]);
    return t.data ? t.data : "";
}
static bool try_refute(Verify *v, const int length[], const Instance *i) {
    RefuteOptions o = {.shapes = v->options->shapes ? v->options->shapes : SHAPES_DEFAULT, .seed = 20261121};
    Refutation r = refute_instance(v->w, v->work, i, &o);
    if (!r.found) return false;
    v->result.verdict = VERDICT_REFUTED;
    const char *where = lengths_text(v, length);
    v->result.counterexample =
        arena_format(v->arena, "%s%s%s\ncomputed in %s", where, *where ? "\n" : "", r.text, r.exact ? "rationals" : "doubles");
    return true;
}
static bool try_prove(Verify *v, const int length[], const Instance *i, Proof *proof) {
    ProofOptions o = {v->options->budget, v->options->check, v->options->explain ? &v->explain : NULL};
    const char *where = lengths_text(v, length);
    if (v->options->explain) text_add(&v->explain, "%s%s", where, *where ? "\n" : "");
    *proof = prove_instance(v->w, v->work, i, &o);
    v->result.queries += proof->stats.queries;
    v->result.classes |= proof->classes;
    if (v->options->explain) text_add(&v->explain, "  %s, %d queries\n", proof->proved ? "proved" : proof->why, proof->stats.queries);
    return proof->proved;
}

/* ---- conditions that the right side needs */

/* As text, joined to what is in force; NULL: not for rules with axis blocks, whose conditions must be written for every length. */
static const char *with_missing(Verify *v, const Proof *proof) {
    Text t = text_new(v->arena);
    if (v->rule->nblock || !proof->nmissing) return NULL;
    text_add(&t, "%s", v->condition);
    for (int k = 0; k < proof->nmissing; k++) {
        text_add(&t, "%s", t.size ? ", " : "");
        poly_print(v->w, proof->missing[k].p, &t);
        text_add(&t, proof->missing[k].eq ? " == 0" : " >= 0");
    }
    return t.data;
}

/* The added conditions leave a size no value but 0 or 1: such a rule is of no use. */
static bool useless(Verify *v, const Instance *i) {
    SizeFacts f;
    int64_t x;
    if (!size_facts(v->w, v->work, i, &f)) return true;
    for (int k = 0; k < i->nsymbol; k++)
        if (i->is_size[k] && poly_constant(v->w, size_solved(&f, poly_symbol(v->w, i->symbol[k])), &x) && x <= 1) return true;
    return false;
}
/* Once more with what the right side needs as a condition of the verdict. */
static bool try_conditions(Verify *v, const int length[], const Proof *first) {
    const char *before = v->condition, *more = v->options->no_preconditions ? NULL : with_missing(v, first);
    Instance i;
    Proof proof;
    if (!more || *before) return false;
    v->condition = more;
    if (make_instance(v, length, &i) && !useless(v, &i) && try_prove(v, length, &i, &proof)) return true;
    v->condition = before;
    v->result.verdict = VERDICT_PROVED; /* so far */
    v->result.why = "";
    return false;
}
/* True: go on with the next lengths. */
static bool verify_lengths(Verify *v, const int length[]) {
    Instance i;
    Proof proof;
    if (!make_instance(v, length, &i)) return false;
    if (try_prove(v, length, &i, &proof) || try_conditions(v, length, &proof)) return true;
    if (try_refute(v, length, &i)) return false;
    const char *where = lengths_text(v, length);
    unknown(v, arena_format(v->work, "%s%s%s", where, *where ? ": " : "", proof.why ? proof.why : "not shown"));
    return false;
}
static void run(Verify *v) {
    int length[RULE_BLOCKS];
    v->result.verdict = VERDICT_PROVED;
    rule_lengths_first(v->rule, length);
    do {
        WorldMark mark = world_mark(v->w);
        ArenaMark work = arena_mark(v->work);
        bool more = verify_lengths(v, length);
        arena_reset(v->work, work);
        world_reset(v->w, mark);
        if (!more) return;
    } while (rule_lengths_next(v->rule, length));
}
VerifyResult verify_rule(Arena *arena, const Rule *rule, const VerifyOptions *o) {
    Verify *v = ARENA_NEW(arena, Verify, 1);
    double start = milliseconds();
    v->arena = arena;
    v->rule = rule;
    v->options = o;
    v->condition = "";
    v->result = (VerifyResult){.condition = "", .why = ""};
    v->explain = text_new(arena);
    if (setjmp(v->escape.here)) unknown(v, v->escape.error.reason);
    else {
        v->w = graph_world_new(&v->escape, o->memory);
        v->work = arena_new(&v->escape, o->memory);
        run(v);
    }
    if (v->w) world_free(v->w);
    arena_free(v->work);
    v->result.condition = v->result.verdict == VERDICT_PROVED ? v->condition : "";
    v->result.explanation = v->explain.data;
    v->result.ms = milliseconds() - start;
    return v->result;
}
