/* check-classes FILE...: does machine arithmetic keep what the classes of proved rules promise? One
   line for each rule that breaks its promise, and the sum of it. Exit status 1: some do. */
#include "test/shared/class_check.h"
#include <stdio.h>

enum { SIZES = 6 };
int main(int argc, char **argv) {
    long rules = 0, broken = 0, draws = 0, elements = 0;
    for (int f = 1; f < argc; f++) {
        Arena *a = arena_new(NULL, 0);
        RuleSet set = {.arena = a};
        Error e = {0};
        if (!rules_read(a, argv[f], &set, &e))
            return fprintf(stderr, "%s: %s\n", argv[f], e.reason), 2;
        for (int k = 0; k < set.n; k++) {
            ClassCheck c = {0};
            if (set.v[k].verdict != VERDICT_PROVED) continue;
            bool kept = class_check(&set.v[k], SIZES, 7, &c);
            rules++;
            draws += c.draws;
            elements += c.elements;
            broken += !kept;
            if (!kept) printf("%s (%s): %s\n", argv[f], classes_text(a, set.v[k].classes), c.why);
        }
        arena_free(a);
    }
    printf("%ld rules, %ld comparisons, %ld elements: %ld break a promise\n", rules, draws,
           elements, broken);
    return broken != 0;
}
