/* relate.c -- given rules one by one against known ones, in an e-graph. */
#include "generator/relate.h"
#include <string.h>

static const EGraphLimits derive_limits = {.rounds = 6, .nodes = 600, .matches = 200};

static void print_steps(Text *out, const RuleSet *known, const FollowAnswer *f) {
    for (int k = 0; k < f->n; k++)
        text_add(out, "%s%s%s", k ? ", " : ": ", known->v[f->v[k].rule].name, f->v[k].backward ? " backward" : "");
}

bool relate_derive(Arena *a, const RuleSet *given, const RuleSet *known, Text *out, int *missing, Error *e) {
    World *w = graph_world_new(arena_escape(a), 0);
    Follow *f = follow_new(w, a);
    bool good = true;
    for (int k = 0; k < known->n; k++) follow_add(f, &known->v[k]);
    *missing = 0;
    for (int k = 0; good && k < given->n; k++) {
        FollowAnswer x;
        good = follow_ask(f, a, &given->v[k], derive_limits, &x, e);
        *missing += !x.follows;
        text_add(out, "%-11s %s", x.follows ? "derived" : "not derived", given->v[k].name);
        if (x.yes && !x.follows) text_add(out, " but for %d of %d lengths", x.nlength - x.yes, x.nlength);
        if (x.follows) print_steps(out, known, &x);
        text_add(out, "\n");
    }
    text_add(out, "%d derived, %d not derived\n", given->n - *missing, *missing);
    world_free(w);
    return good;
}
