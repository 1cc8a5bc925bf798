/* own.c -- search on the costs of our own plans. */
#include "search/cost.h"
#include "search/run.h"
bool run_own(Run *r, Derivation *d) {
    bool *on = ARENA_NEW(r->arena, bool, r->library.n);
    for (int k = 0; k < r->library.n; k++) on[k] = r->library.rule[k].on;
    return derive_fixpoint(d, on, 10000, r->error);
}
