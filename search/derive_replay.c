/* derive_replay.c -- follows a proof log. Each step of the log names a rule, the lengths of its
   axis blocks, and the values of its roots and inputs, by their numbers in the graph before the
   round. The rule must match there, and its conditions must hold. */
#include "search/derive.h"
#include <string.h>

typedef struct LoggedMatch { /* the match that a step of the log names */
    Arena *arena;
    const LogStep *step;
    const Value *root, *input;
    bool found;
    Match match;
} LoggedMatch;

static bool is_logged_match(void *user, const Match *m) {
    LoggedMatch *x = user;
    if (memcmp(m->root, x->root, sizeof *x->root * (size_t)x->step->nroot)) return true;
    if (memcmp(m->input, x->input, sizeof *x->input * (size_t)x->step->ninput)) return true;
    x->found = true;
    x->match = match_keep(x->arena, m);
    return false;
}

/* *v receives the values with these numbers. Returns false if the graph lacks one. */
static bool find_values(Arena *a, const Numbering *n, int count, const uint32_t number[],
                        const Value **v) {
    Value *found = ARENA_NEW(a, Value, count);
    bool all = true;
    for (int k = 0; k < count; k++) all &= (found[k] = numbering_value(n, number[k])) != 0;
    *v = found;
    return all;
}

static bool find_step(Derivation *d, Matcher *matcher, const Numbering *n, const LogStep *s,
                      Arena *a, Match *out, Error *e) {
    int rule = library_find(d->library, s->name);
    const Instance *i = rule < 0 ? NULL : library_instance(d->library, rule, s->nlength, s->length);
    if (i && d->library->rule[rule].saturates)
        return error_set(e, E_CHECK, s->name,
                         "the proof log uses a rule that is left out here, since sums of products "
                         "of its bytes may saturate on this processor");
    if (!i || strcmp(i->rule->id, s->id) || !d->library->rule[rule].on)
        return error_set(
            e, E_CHECK, s->name,
            "the proof log uses a rule that is unknown or disabled: give the --rules and "
            "--enable of the run that wrote it");
    LoggedMatch x = {.arena = a, .step = s};
    if (!find_values(a, n, s->nroot, s->root, &x.root) ||
        !find_values(a, n, s->ninput, s->input, &x.input))
        return error_set(e, E_CHECK, s->name,
                         "the proof log applies it to a value that the graph does not have");
    for (; i && !x.found; i = library_instance_next(d->library, i))
        if (s->nroot == i->from.nout && s->ninput == i->ninput)
            matcher_run_at(matcher, i, x.root, is_logged_match, &x);
    *out = x.match;
    return x.found ||
           error_set(e, E_CHECK, s->name, "does not match where the proof log applies it");
}

static bool replay_round(Derivation *d, const LogRound *round, Arena *a, Error *e) {
    Match *match = ARENA_NEW(a, Match, round->n);
    Matcher *matcher = matcher_new(d->w, a, &d->graph, d->facts);
    Numbering n = numbering_new(d->w, a, &d->graph);
    for (int k = 0; k < round->n; k++)
        if (!find_step(d, matcher, &n, &round->v[k], a, &match[k], e)) return false;
    return derive_round(d, round->n, match, true, NULL, e);
}

bool derive_replay(Derivation *d, const ProofLog *log, Error *e) {
    bool good = true;
    for (int r = 0; r < log->n && good; r++) {
        Arena *a = arena_new(arena_escape(d->arena), 0);
        good = replay_round(d, &log->v[r], a, e);
        arena_free(a);
    }
    return good;
}
