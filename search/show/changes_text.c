/* changes_text.c -- prints changes for people: all of them, by rule and name (--diff), and the
   history of one node (--explain). */
#include "search/effect.h"
#include "search/show/changes.h"
#include <string.h>

static const char *quoted(const char *name) { return *name ? name : "-"; }

static void add_list(Text *t, int n, const char *const v[]) {
    for (int k = 0; k < n; k++) text_add(t, " %s", quoted(v[k]));
}

/* ---- --diff */

static void print_node(const Changes *c, const FileNode *f, int side, Text *t) {
    const FileNode *other = f->other < 0 ? NULL : &c->side[1].v[f->other];
    text_add(t, "  %c %s %s",
             f->change == CHANGED ? '~'
             : side               ? '+'
                                  : '-',
             f->type, change_label(f));
    if (f->change == CHANGED && strcmp(change_label(f), change_label(other)))
        text_add(t, " is %s", change_label(other));
    text_add(t, ":");
    add_list(t, f->nin, f->in);
    text_add(t, " ->");
    add_list(t, f->nout, f->out);
    if (f->change == CHANGED) {
        text_add(t, "  now");
        add_list(t, other->nin, other->in);
        text_add(t, " ->");
        add_list(t, other->nout, other->out);
    }
    text_add(t, "\n");
}

/* Whether a node is listed under this rule. A changed node is listed once, with the original's. */
static bool is_listed(const Changes *c, const FileNode *f, int side, const Rule *rule) {
    return f->change != KEPT && !(side && f->change == CHANGED) && change_rule(c, f) == rule;
}

static void print_group(const Changes *c, const Rule *rule, const char *title, Text *t) {
    bool any = false;
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < c->side[side].n; k++) {
            const FileNode *f = &c->side[side].v[k];
            if (!is_listed(c, f, side, rule)) continue;
            if (!any) text_add(t, "%s\n", title);
            any = true;
            print_node(c, f, side, t);
        }
}

void changes_print(const Changes *c, Text *t) {
    const Library *l = &c->r->library;
    const int gone = changes_count(c, 0, GONE);
    text_add(t, "%d node%s removed (-), %d added (+), %d changed (~), %d unchanged\n", gone,
             gone == 1 ? "" : "s", changes_count(c, 1, NEW), changes_count(c, 0, CHANGED),
             changes_count(c, 0, KEPT));
    const int *count = derivation_counts(c->d, c->arena);
    for (int k = 0; k < l->n; k++)
        if (count[k])
            print_group(c, l->rule[k].rule,
                        arena_format(c->arena, "rule %s %s, %s, %d time%s", l->rule[k].rule->name,
                                     l->rule[k].rule->id,
                                     classes_text(c->arena, l->rule[k].rule->classes), count[k],
                                     count[k] == 1 ? "" : "s"),
                        t);
    print_group(
        c, NULL,
        "by no rule: no longer needed, computed in advance, or written again with other inputs", t);
}

/* ---- --explain */

static const FileNode *find_node(const Changes *c, const char *name, int *side) {
    for (*side = 1; *side >= 0; --*side) {
        const FileSide *s = &c->side[*side];
        for (int k = 0; k < s->n; k++)
            if (!strcmp(s->v[k].name, name)) return &s->v[k];
        for (int k = 0; k < s->n; k++)
            for (int j = 0; j < s->v[k].nout; j++)
                if (!strcmp(s->v[k].out[j], name)) return &s->v[k];
    }
    return NULL;
}

/* Marks an application and all applications that it depends on. */
static void need_step(const Changes *c, int step, bool *needed) {
    needed[step] = true;
    for (int k = step; k >= 0; k--)
        for (int j = 0; needed[k] && j < c->earlier[k].n; j++) needed[c->earlier[k].v[j]] = true;
}

/* Whether an earlier application, on which this one depends, already replaced the node of the
   file. */
static bool is_earlier(const Changes *c, int step, int node) {
    for (int k = 0; k < c->earlier[step].n; k++) {
        const NodeSet *s = &c->origin[c->earlier[step].v[k]];
        for (int j = 0; j < s->n; j++)
            if (s->v[j] == node) return true;
    }
    return false;
}

static void print_step(const Changes *c, int step, const int *number, Text *t) {
    const Rule *rule = c->d->step[step].match.instance->rule;
    text_add(t, "  %d. rule %s %s (%s), proved for all sizes, from", number[step], rule->name,
             rule->id, classes_text(c->arena, rule->classes));
    for (int k = 0; k < c->origin[step].n; k++) {
        const FileNode *f = &c->side[0].v[c->origin[step].v[k]];
        if (!is_earlier(c, step, c->origin[step].v[k]))
            text_add(t, " %s %s;", f->type, change_label(f));
    }
    for (int k = 0; k < c->earlier[step].n; k++)
        text_add(t, " the result of %d;", number[c->earlier[step].v[k]]);
    t->data[t->size - 1] = '\n';
}

static void print_history(const Changes *c, int step, Text *t) {
    bool *needed = ARENA_NEW(c->arena, bool, c->d->nstep),
         *said = ARENA_NEW(c->arena, bool, c->d->nstep);
    int *number = ARENA_NEW(c->arena, int, c->d->nstep), n = 0;
    need_step(c, step, needed);
    for (int k = 0; k <= step; k++) {
        if (!needed[k]) continue;
        number[k] = ++n;
        print_step(c, k, number, t);
    }
    for (int k = 0; k <= step; k++) {
        const Rule *rule = c->d->step[k].match.instance->rule;
        bool before = !needed[k];
        for (int j = 0; j < k; j++) before |= said[j] && c->d->step[j].match.instance->rule == rule;
        if (before) continue;
        said[k] = true;
        text_add(t, "\n");
        rule_print(rule, t);
    }
}

static void print_successors(const Changes *c, const FileNode *f, Text *t) {
    bool any = false;
    for (int k = 0; k < c->side[1].n; k++) {
        const FileNode *x = &c->side[1].v[k];
        if (x->step < 0 || x->place != f->place) continue;
        text_add(t, any ? ", %s %s" : "In its place: %s %s", x->type, change_label(x));
        any = true;
    }
    text_add(t, any ? "\n" : "");
}

/* Returns the body of the original from which this node was moved; NULL: from none. */
static const char *moved_from(const Changes *c, const FileNode *f) {
    const RunStats *s = &c->r->stats;
    const char *name = *f->name  ? f->name
                       : f->nout ? f->out[0]
                                 : "",
               *shown = arena_format(c->arena, "%s '%s'", f->type, name);
    for (int k = 0; k < s->nmoved && !s->moved_note; k++)
        for (int j = 0; j < s->moved[k].n; j++)
            if (!strcmp(s->moved[k].node[j], shown)) return s->moved[k].body;
    return NULL;
}

static void explain_result(const Changes *c, const FileNode *f, Text *t) {
    const char *body = moved_from(c, f);
    text_add(t, "%s %s of the result", f->type, change_label(f));
    if (f->change == KEPT && body)
        text_add(t, " stood in the %s of the original, where it is the same in every iteration.\n",
                 body);
    else if (f->change == KEPT) text_add(t, " is the original's node, byte for byte.\n");
    else if (f->step >= 0) {
        text_add(t, " was made by rule %s:\n", change_rule(c, f)->name);
        print_history(c, f->step, t);
    } else if (f->change == CHANGED)
        text_add(t,
                 " is the original's node %s, written again because its inputs or results have "
                 "other names or forms.\n",
                 change_label(&c->side[0].v[f->other]));
    else
        text_add(t, " was not made by a rule: it gives a result the name, form or operator that "
                    "the file requires.\n");
}

static void explain_gone(const Changes *c, const FileNode *f, Text *t) {
    const Rule *rule = change_rule(c, f);
    text_add(t, "%s %s of the original is gone: %s%s.\n", f->type, change_label(f),
             rule ? "replaced by rule "
                  : "it is no longer needed, or its result was computed in advance",
             rule ? rule->name : "");
    print_successors(c, f, t);
    if (f->step >= 0) print_history(c, f->step, t);
}

void changes_explain(const Changes *c, const char *node, Text *t) {
    int side;
    const FileNode *f = find_node(c, node, &side);
    if (!f) text_add(t, "Neither file has a node or a result of a node named %s.\n", node);
    else if (side || f->other >= 0) explain_result(c, side ? f : &c->side[1].v[f->other], t);
    else explain_gone(c, f, t);
}
