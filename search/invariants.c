/* invariants.c -- loop-invariant code motion. It runs before bodies are optimized as models of
   their own: nodes that were moved are then inputs of the body's model, and nodes of the graph
   around it, where rules can rewrite them. */
#include "search/invariants.h"
#include "search/command/search_command.h"

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
