/* verify_instance.c -- one rule at one combination of block lengths: makes the instance, searches
   for a counterexample, proves it. */
#include "verifier/verify_inner.h"
#include <string.h>

enum {
    SHAPES_DEFAULT = 60, /* how many sets of sizes are tried for a counterexample */
    EARLY_SHAPES = 16    /* the same, before anything is proved */
};

VerifyOptions verify_defaults(void) {
    return (VerifyOptions){.check = switches_all, .shapes = SHAPES_DEFAULT};
}

static const char *kept_text(Verify *v, const char *text) {
    return arena_string(v->arena, text, strlen(text));
}
void verify_unknown(Verify *v, const char *why) {
    v->result.verdict = VERDICT_UNKNOWN;
    v->result.why = kept_text(v, why);
}

bool verify_build(Verify *v, const int length[], Instance *i, Error *e) {
    Rule rule = *v->rule;
    rule.condition = v->condition;
    return rule_instance(v->w, v->work, arena_copy(v->work, &rule, sizeof rule), length, i, e);
}
bool verify_expand(Verify *v, Instance *i, Error *e) {
    return rule_instance_expand(v->w, v->work, i, e);
}
bool verify_instance(Verify *v, const int length[], Instance *i) {
    Error e = {0};
    char why[700];
    if (verify_build(v, length, i, &e) && verify_expand(v, i, &e)) return true;
    error_print(&e, why, sizeof why);
    verify_unknown(v, why);
    if (e.kind == E_INVALID) v->result.category = "invalid";
    return false;
}
const char *verify_lengths_text(Verify *v, const int length[]) {
    Text t = text_new(v->work);
    for (int k = 0; k < v->rule->nblock; k++)
        text_add(&t, "%s#%s=%d", k ? ", " : "", v->rule->block[k].name,
                 length[v->rule->block[k].group]);
    return t.data ? t.data : "";
}
Refutation verify_refutation(Verify *v, const int length[], const Instance *i,
                             const RefuteOptions *o) {
    Refutation r = refute_instance(v->w, v->work, i, o);
    const char *where = verify_lengths_text(v, length);
    if (r.found && !v->counterexample)
        v->counterexample =
            arena_format(v->arena, "%s%s%s\ncomputed in %s", where, *where ? "\n" : "", r.text,
                         r.exact ? "rationals" : "doubles");
    return r;
}
RefuteOptions verify_small_sizes(void) {
    return (RefuteOptions){.shapes = EARLY_SHAPES,
                           .seed = VERIFY_SEED,
                           .elements = EARLY_ELEMENTS,
                           .defined_only = true,
                           .values_only = true,
                           .quick = true,
                           .small = true};
}
bool verify_refuted(Verify *v, const int length[], const Instance *i) {
    int shapes = v->options->shapes ? v->options->shapes : SHAPES_DEFAULT;
    if (!v->counterexample)
        verify_refutation(v, length, i, &(RefuteOptions){.shapes = shapes, .seed = VERIFY_SEED});
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
Refutation verify_differs_early(Verify *v, const int length[], const Instance *i) {
    const RefuteOptions o = verify_small_sizes();
    return v->options->explain || v->options->prove_first ? (Refutation){0}
                                                          : verify_refutation(v, length, i, &o);
}
ProofOptions verify_proof_options(Verify *v) {
    return (ProofOptions){
        .budget = v->options->budget, .check = v->options->check, .trace = &v->trace};
}
bool verify_prove(Verify *v, const int length[], const Instance *i, const ProofOptions *o,
                  Proof *proof) {
    const char *where = verify_lengths_text(v, length);
    if (v->options->explain) text_add(&v->explain, "%s%s", where, *where ? "\n" : "");
    if (v->options->explain && v->conditions.n) text_add(&v->explain, "under %s\n", v->condition);
    int before = v->trace.since = v->trace.n;
    v->trace.of = kept_text(v, where);
    *proof = prove_instance(v->w, v->work, i, o);
    if (!proof->proved) v->trace.n = before;
    v->result.queries += proof->stats.queries;
    if (proof->proved) v->result.classes |= proof->classes;
    if (v->options->explain)
        text_add(&v->explain, "  %s, %d quer%s\n", proof->proved ? "proved" : proof->why,
                 proof->stats.queries, proof->stats.queries == 1 ? "y" : "ies");
    return proof->proved;
}
