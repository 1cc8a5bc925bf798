/* invariants.c -- loop-invariant code motion, before bodies are optimized as models of their own:
   for these, what was moved is an input, and a node of the graph around them, which rules rewrite
   there. */
#include "search/invariants.h"
#include "search/search_command.h"

bool run_move_invariants(Run *r, Pieces *file) {
    RunStats *s = &r->stats;
    *file = (Pieces){0};
    if (!run_bodies_wanted(r)) return true;
    s->nmoved = model_move_invariants(r->source.model, r->source.facts, r->source.sizes, r->arena,
                                      &s->moved, file);
    for (int k = 0; k < s->nmoved; k++)
        run_say(r, "%d nodes of the %s do not change between iterations", s->moved[k].n,
                s->moved[k].body);
    return !s->nmoved || search_command_keep(r, file, &s->moved_note);
}
