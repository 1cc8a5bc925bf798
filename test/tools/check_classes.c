/* check_classes.c -- checks by machine arithmetic whether proved rules keep what their classes
   promise.

   Usage: check-classes FILE... Prints one line for each rule that breaks a promise, then a summary.
   Exits with 1 if some rule does. */
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
