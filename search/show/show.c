/* show.c -- makes what the user asked to see: changes as text, as a graph or as a page, and the
   list of rules. */
#include "ops/base/file.h"
#include "search/show/page.h"
#include "search/show/show.h"
#include "search/show/picture.h"
#include <string.h>

bool run_can_show(const IsomerOptions *o, Arena *a, Error *e) {
    return !o->html || picture_program(a, e);
}

static void copy_texts(const Run *r, const Changes *changes, IsomerResult *out) {
    Text t = text_new(r->arena);
    if (r->o->diff) changes_print(changes, &t);
    for (int k = 0; k < r->o->explain.n; k++) changes_explain(changes, r->o->explain.v[k], &t);
    out->changes = run_copy_text(r->escape, &t);
}

bool run_make_views(Run *r, const Derivation *d, IsomerResult *out, Views *v) {
    *v = (Views){0};
    if (!r->o->html && !r->o->dot && !r->o->diff && !r->o->explain.n) return true;
    v->changes = changes_find(r, d);
    if (!v->changes) return false;
    copy_texts(r, v->changes, out);
    if (r->o->html) v->pictures = page_draw(v->changes, r->error);
    return !r->o->html || v->pictures;
}

bool run_write_views(const Run *r, const Views *v, bool changed) {
    if (!r->o->dot && !r->o->html) return true;
    Text dot = text_new(r->arena), page = text_new(r->arena);
    if (r->o->dot) picture_both(v->changes, &dot);
    if (r->o->dot && !file_write(r->o->dot, dot.data, dot.size, r->error)) return false;
    if (r->o->html) page_print(v->changes, v->pictures, changed, &page);
    return !r->o->html || file_write(r->o->html, page.data, page.size, r->error);
}

static const char *first_line(Arena *a, const char *text) {
    text += strspn(text, " ");
    return arena_string(a, text, strcspn(text, "\n"));
}

void run_list_rules(const Library *l, Arena *a, IsomerResult *out) {
    Text t = text_new(a);
    for (int k = 0; k < l->n; k++) {
        const Rule *rule = l->rule[k].rule;
        text_add(&t, "%-3s %-34s %s %-20s %s\n", l->rule[k].on ? "on" : "off", rule->name, rule->id,
                 classes_text(a, rule->classes), first_line(a, rule->comment));
    }
    out->table = run_copy_text(arena_escape(a), &t);
}
