/* export_notes.c -- what every format says about a rule: where it comes from, or why it is left
   out. */
#include "ops/base/file.h"
#include "rules/export.h"
#include <string.h>

const char *export_source(const Rule *rule) { return path_name(rule->file); }

void export_lengths(const Instance *i, Text *t) {
    for (int g = 0; g < i->rule->ngroup; g++)
        text_add(t, g ? ".%d" : "@%d", i->length[g]); /* no name has an @ */
}

void export_leave(Export *x, ExportReasons *list, const Rule *rule, const char *reason) {
    int k = 0;
    while (k < list->n && strcmp(list->v[k].text, reason)) k++;
    ARENA_GROW(x->arena, list->v, list->room, k + 1);
    if (k == list->n)
        list->v[list->n++] =
            (ExportReason){arena_string(x->arena, reason, strlen(reason)), rule->name, 0};
    list->v[k].count++;
}
