/* forge.c -- makes the digest of a verdict in the same way as rules/canonical.c. If the two ever
   differ, the loader rejects a forged verdict by another check than the one that a test expects. */
#include "test/shared/forge.h"
#include <stdio.h>

void rule_forge(Arena *a, Rule *rule, const char *defs) {
    Text t = text_new(a);
    snprintf(rule->defs, sizeof rule->defs, "%s", defs);
    rule->verdict = VERDICT_PROVED;
    text_add(&t, "%s\n%d\n%d %s\n%s\n%s\n", rule->id, (int)rule->verdict, CLASSES_VERSION,
             classes_text(a, rule->classes), rule->condition, rule->defs);
    if (*rule->all_ranks) text_add(&t, "all %s\n", rule->all_ranks);
    hash_hex(t.data, t.size, rule->digest);
}
