/* verify.c -- verifies one rule. For each combination of block lengths, the instance is proved; if
   that fails, conditions are sought under which it holds, and finally a counterexample. A rule is
   proved if all its instances are, refuted if one is, and unknown otherwise.

   An instance needs no proof of its own if the axes that it has in addition to those of a proved
   one are spectators (spectator.h). If that is so at every rank that a tensor can have, the verdict
   is for all ranks. A few sizes are tried before anything is proved, since most false rules differ
   there. Each rule gets a World of its own, so that its verdict does not depend on which rules were
   verified before. */
#include "verifier/verify_inner.h"
#include "verifier/spectator.h"
#include <string.h>
#include <time.h>

/* Limits of effort. If one is reached, a true rule may get a weaker verdict or a longer proof, but
   no false rule is proved. */
/* COMBINATIONS_MAX: the most combinations of lengths that are compared for all_ranks. A group that
   needs more is left out of it. */
enum { COMBINATIONS_MAX = 200 };
typedef enum Outcome {
    OUTCOME_STOP, /* the verdict is known */
    OUTCOME_NEXT, /* these lengths are proved; go on with the next */
    OUTCOME_AGAIN /* proved under new conditions; all lengths are verified again under these */
} Outcome;

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- spectators */

/* Returns whether the instance is covered by one that was proved; the last one proved is tried
   first. An instance that is longer than the rule states may have too many axes for a tensor; then
   there is nothing to prove. */
static bool is_covered(Verify *v, const int length[]) {
    WorldMark mark = world_mark(v->w);
    ArenaMark work = arena_mark(v->work);
    Error e = {0};
    Instance wide, base;
    bool typed = verify_build(v, length, &wide, &e),
         covered = !typed && !rule_is_stated(v->rule, length);
    typed = typed && verify_expand(v, &wide, &e);
    for (int k = v->nproved; k-- > 0 && typed && !covered;) {
        bool longer = true;
        for (int g = 0; g < v->rule->ngroup; g++) longer &= v->proved[k][g] <= length[g];
        covered = longer && verify_build(v, v->proved[k], &base, &e) &&
                  verify_expand(v, &base, &e) &&
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
/* Adds groups to result.all_ranks, one after the other. A group is added if every combination is
   covered in which it and the groups added before have any length, and the others have the lengths
   that the rule states. */
static void find_all_ranks(Verify *v) {
    Rule rule = *v->rule;
    rule.all_ranks = ""; /* an earlier verdict does not count */
    for (int g = 0; g < rule.ngroup; g++) {
        int length[RULE_BLOCKS], k = 0, tried = 0;
        bool covered = true;
        while (rule.block[k].group != g) k++;
        const char *before = rule.all_ranks;
        rule.all_ranks =
            arena_format(v->arena, "%s%s%s..", before, *before ? ", " : "", rule.block[k].name);
        rule_lengths_first(&rule, length);
        while (rule_covered_next(&rule, length) && covered)
            if (!rule_is_stated(v->rule, length))
                covered = tried++ < COMBINATIONS_MAX && is_covered(v, length);
        if (!covered) rule.all_ranks = before;
    }
    v->result.all_ranks = rule.all_ranks;
}

/* ---- all lengths */

/* Verifies the rule at one combination of block lengths. */
static Outcome verify_lengths(Verify *v, const int length[]) {
    Instance i;
    Proof proof;
    if (!verify_instance(v, length, &i)) return OUTCOME_STOP;
    ProofOptions o = verify_proof_options(v);
    /* If values differ at small sizes, the proof can only find out which conditions on sizes are
       missing. */
    o.needs_only = verify_differs_early(v, length, &i).found;
    if (verify_prove(v, length, &i, &o, &proof)) return OUTCOME_NEXT;
    if (proof.vacuous) v->result.category = "vacuous";
    else if (!v->options->no_preconditions && !v->conditions.n &&
             verify_conditions(v, length, &i, &proof))
        return OUTCOME_AGAIN;
    if (verify_refuted(v, length, &i)) return OUTCOME_STOP;
    const char *where = verify_lengths_text(v, length);
    verify_unknown(v, arena_format(v->work, "%s%s%s", where, *where ? ": " : "",
                                   proof.why ? proof.why : "not shown"));
    return OUTCOME_STOP;
}
/* Begins again with the first lengths. Those proved so far hold under the new conditions, too, but
   have to be proved under these. */
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
            const char *where = verify_lengths_text(v, length);
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
    v->result = (VerifyResult){
        .condition = "", .all_ranks = "", .condition_sources = "", .category = "", .why = ""};
    v->explain = text_new(arena);
    v->trace = (Trace){.arena = arena,
                       .words = o->explain ? &v->explain : NULL,
                       .of = "",
                       .stage = "",
                       .collect = o->explain || o->obligations};
    escape_within(&v->escape, arena_escape(arena));
    if (setjmp(v->escape.here)) {
        escape_free(&v->escape); /* first, since the reason takes memory, too */
        verify_unknown(v, v->escape.error.reason);
    } else {
        v->w = graph_world_new(&v->escape, o->memory);
        v->work = arena_new(&v->escape, o->memory);
        verify_run(v);
    }
    trace_end(&v->trace);
    escape_free(&v->escape);
    bool proved = v->result.verdict == VERDICT_PROVED;
    v->result.condition = proved ? v->condition : "";
    if (!proved) v->result.all_ranks = "";
    v->result.condition_sources =
        proved ? verify_joined(v, v->conditions.n, v->conditions.source) : "";
    if (proved) v->result.category = "";
    v->result.explanation = v->explain.data;
    if (proved) note_obligations(v);
    v->result.ms = milliseconds() - start;
    return v->result;
}
