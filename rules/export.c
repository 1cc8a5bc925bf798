/* export.c -- chooses the rules to export: those that are proved by a verdict that still holds
   (rule_check), with the classes, conditions and operators that are asked for. */
#include "rules/export.h"
#include "rules/outline.h"
#include <string.h>

static const ExportFormat *const formats[] = {
#define COMMA ,
#define X(name) &export_##name
    EXPORT_FORMATS(X, COMMA)
#undef X
#undef COMMA
};

const ExportFormat *export_format(const char *name) {
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (!strcmp(formats[k]->name, name)) return formats[k];
    return NULL;
}

/* Why the rule's verdict does not count; NULL if it does. */
static const char *objection(Export *x, const Rule *rule) {
    Error e = {0};
    if (rule->verdict == VERDICT_REFUTED) return "refuted";
    if (rule->verdict == VERDICT_UNKNOWN) return "neither proved nor refuted";
    if (rule->verdict == VERDICT_NONE) return "no verdict";
    if (rule_check(x->w, rule, &e)) return NULL;
    const char *own = arena_format(x->arena, "rule %s: ", rule->name);
    bool named = !strncmp(e.reason, own, strlen(own));
    const char *reason = e.reason + (named ? strlen(own) : 0);
    return arena_string(x->arena, reason, strcspn(reason, "\n")); /* the line of the rule follows */
}

static bool has_operator(const ExportOptions *o, const char *name) {
    for (int k = 0; k < o->nop; k++)
        if (!strcmp(o->op[k]->name, name)) return true;
    return o->nop == 0;
}

static bool only_these(const ExportOptions *o, const OutlineSide *side) {
    for (int k = 0; k < side->n; k++)
        if (!has_operator(o, side->v[k].op)) return false;
    return true;
}

static bool wanted(const ExportOptions *o, const Rule *rule, const Outline *line) {
    return (o->any_class || !(rule->classes & ~o->classes)) &&
           (o->conditional || !(line->where.n + line->condition.n)) && only_these(o, &line->from) &&
           only_these(o, &line->to);
}

bool export_choose(World *w, Arena *a, const RuleSet *set, const ExportOptions *o, Export *x,
                   Error *e) {
    *x = (Export){.w = w, .arena = a, .rule = ARENA_NEW(a, const Rule *, set->n)};
    for (int k = 0; k < set->n; k++) {
        Outline line;
        const char *why = objection(x, &set->v[k]);
        if (why) {
            export_leave(x, &x->unproved, &set->v[k], why);
            continue;
        }
        if (!outline_read(a, &set->v[k], &line, e)) return false;
        if (wanted(o, &set->v[k], &line)) x->rule[x->n++] = &set->v[k];
        else x->passed_over++;
    }
    return true;
}
