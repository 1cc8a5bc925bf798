/* seal_rules.c -- writes rules with a forged verdict, as a broken prover would. The result passes
   the loader's checks, so that tests can see whether the numerical check catches a wrong rule.

   Usage: seal_rules IN OUT [DEFS]. With DEFS, the verdict is for operators whose definitions have
   that digest. */
#include "ops/base/file.h"
#include "test/shared/forge.h"
#include "graphs/world.h"
#include <stdio.h>

int main(int argc, char **argv) {
    Arena *a = arena_new(NULL, 0);
    World *w = graph_world_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    Text t = text_new(a);
    bool good = (argc == 3 || argc == 4) && rules_read(a, argv[1], &set, &e);
    for (int k = 0; good && k < set.n; k++) {
        Rule *r = &set.v[k];
        r->verdict = VERDICT_PROVED;
        r->classes = CLASS_REASSOCIATES | CLASS_ROUNDS;
        r->condition = "";
        if (argc == 4) rule_forge(a, r, argv[3]);
        else rule_seal(w, a, r);
        rule_print(r, &t);
        text_add(&t, "\n");
    }
    good = good && file_write(argv[2], t.data ? t.data : "", t.size, &e);
    if (!good) fprintf(stderr, "seal_rules: %s %s\n", e.place, e.reason);
    world_free(w);
    arena_free(a);
    return !good;
}
