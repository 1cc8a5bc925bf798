/* verify_rules.c -- proves rules or refutes them:  verify-rules FILE... [-o OUT] [--json F] .. */
#include "verifier/verify.h"
#include <stdio.h>
int main(int argc, char **argv) {
    Arena *a = arena_new(NULL, 0);
    RuleSet set = {.arena = a};
    Error e = {0};
    for (int k = 1; k < argc; k++)
        if (argv[k][0] != '-' && !rules_read(a, argv[k], &set, &e)) {
            char why[700];
            error_print(&e, why, sizeof why);
            fprintf(stderr, "%s\n", why);
            return 3;
        }
    VerifyOptions o = verify_defaults();
    o.explain = argc > 1 && argv[1][0] == '-';
    for (int k = 0; k < set.n; k++) {
        VerifyResult r = verify_rule(a, &set.v[k], &o);
        static const char *const word[] = {"none", "proved", "REFUTED", "UNKNOWN"};
        printf("%-8s %s %-30s %8.1f ms %5d queries %s %s %s\n", word[r.verdict], set.v[k].id, set.v[k].name, r.ms, r.queries, classes_text(a, r.classes), r.why, r.condition);
        if (r.counterexample) printf("%s\n", r.counterexample);
        if (o.explain) printf("%s\n", r.explanation);
        fflush(stdout);
    }
}
