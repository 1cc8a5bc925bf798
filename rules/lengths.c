/* lengths.c -- goes through the lengths of a rule's axis blocks. */
#include "rules/rule.h"
#include <string.h>

void rule_lengths_first(const Rule *rule, int length[]) {
    for (int g = 0; g < rule->ngroup; g++) length[g] = rule->group[g].least;
}

/* Whether the verdict names the group in `all_ranks`. */
static bool for_all(const Rule *rule, int group) {
    if (!rule->all_ranks) return false;
    for (int k = 0; k < rule->nblock; k++) {
        size_t n = strlen(rule->block[k].name);
        for (const char *p = rule->all_ranks;
             rule->block[k].group == group && (p = strstr(p, rule->block[k].name)); p += n)
            if ((p == rule->all_ranks || p[-1] == ' ') && p[n] == '.') return true;
    }
    return false;
}

static bool next_lengths(const Rule *rule, int length[], bool covered) {
    for (int g = rule->ngroup; g-- > 0; length[g] = rule->group[g].least)
        if (length[g]++ < (covered && for_all(rule, g) ? RANK_MAX : rule->group[g].most))
            return true;
    return false;
}
bool rule_lengths_next(const Rule *rule, int length[]) { return next_lengths(rule, length, false); }
bool rule_covered_next(const Rule *rule, int length[]) { return next_lengths(rule, length, true); }
bool rule_is_stated(const Rule *rule, const int length[]) {
    for (int g = 0; g < rule->ngroup; g++)
        if (length[g] > rule->group[g].most) return false;
    return true;
}
