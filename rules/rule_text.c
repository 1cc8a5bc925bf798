/* rule_text.c -- prints rules in the form that rule.c reads, and converts places in a rule's parts
   to places in its file. */
#include "rules/rule.h"
#include <string.h>

/* Prints the comments that precede a rule; empty lines between them are kept. */
static void sections_print(const char *text, Text *t) {
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
        size_t n = strcspn(p, "\n");
        text_add(t, n ? "# %.*s\n" : "\n", (int)n, p);
    }
    if (*text) text_add(t, "\n");
}

void rules_end_print(const RuleSet *set, Text *t) {
    if (!set->end || !*set->end) return;
    text_add(t, set->n ? "\n" : "");
    sections_print(set->end, t);
    t->size--; /* no empty line at the end of a file */
}

static void lines_print(const char *text, const char *indent, Text *t) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        if (n) text_add(t, "%s%.*s\n", indent, (int)n, p);
        p += n + (p[n] != 0);
    }
}

static void axes_print(const Rule *rule, Text *t) {
    if (rule->ngroup) text_add(t, "  axes");
    for (int g = 0; g < rule->ngroup; g++) {
        for (int k = 0; k < rule->nblock; k++)
            if (rule->block[k].group == g) text_add(t, " %s", rule->block[k].name);
        text_add(t, rule->group[g].least == rule->group[g].most ? " = %d" : " = %d..%d",
                 rule->group[g].least, rule->group[g].most);
        text_add(t, g + 1 < rule->ngroup ? "," : "\n");
    }
}

void rule_print(const Rule *rule, Text *t) {
    sections_print(rule->section, t);
    lines_print(rule->comment, "# ", t);
    text_add(t, "rule %s\n", rule->name);
    axes_print(rule, t);
    lines_print(rule->inputs.text, "  ", t);
    text_add(t, "from\n");
    lines_print(rule->from.text, "  ", t);
    text_add(t, "to\n");
    lines_print(rule->to.text, "  ", t);
    if (rule->where.text) lines_print(rule->where.text, "where ", t);
    if (rule->verdict == VERDICT_REFUTED) text_add(t, "refuted\n");
    if (rule->verdict == VERDICT_UNKNOWN) text_add(t, "unknown\n");
    if (rule->verdict == VERDICT_PROVED)
        text_add(t, "proved class=%s %s%s%swhere=[%s] defs=%s digest=%s\n",
                 classes_text(t->arena, rule->classes), *rule->all_ranks ? "all=[" : "",
                 rule->all_ranks, *rule->all_ranks ? "] " : "", rule->condition, rule->defs,
                 rule->digest);
}

void rule_part_place(const RulePart *part, Error *e) {
    if (!e || !e->line) return;
    int lines = 0; /* an error at the end of the text is after its last line */
    for (const char *p = part->text; (p = strchr(p, '\n')); p++) lines++;
    if (part->indent && e->line <= lines) e->column += part->indent[e->line - 1];
    e->line += part->line - 1;
}
