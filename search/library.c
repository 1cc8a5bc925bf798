/* library.c -- reads and checks the rules of a run. A rule without a valid verdict ends the run,
   except in the user's own file, where it is skipped. Nothing unproved is ever applied. */
#include "search/library.h"
#include "rules/installed.h"
#include "search/rule_kinds.h"
#include <string.h>
#include <unistd.h>

int library_index(const Library *l, const Rule *rule) {
    for (int k = 0; k < l->n; k++)
        if (l->rule[k].rule == rule) return k;
    return -1;
}

int library_find(const Library *l, const char *name) {
    for (int k = 0; k < l->n; k++)
        if (!strcmp(l->rule[k].rule->name, name) || !strcmp(l->rule[k].rule->id, name)) return k;
    return -1;
}

bool library_choose(Library *l, const LibraryOptions *o, Error *e) {
    for (int k = 0; k < l->n; k++)
        l->rule[k].on = o->nenable == 0 && !(l->rule[k].rule->classes & CLASSES_OFF & ~o->allow);
    for (int k = 0; k < o->nenable + o->ndisable; k++) {
        bool on = k < o->nenable;
        const char *name = on ? o->enable[k] : o->disable[k - o->nenable];
        int rule = library_find(l, name);
        if (rule < 0)
            return error_set(e, E_USAGE, on ? "--enable" : "--disable",
                             "there is no rule %s; --list-rules lists all rules", name);
        if (on && l->rule[rule].rule->classes & CLASSES_OFF & ~o->allow)
            return error_set(
                e, E_USAGE, "--enable",
                "rule %s may make NaN or infinity vanish or appear; allow it with --allow %s", name,
                classes_text(l->set.arena, l->rule[rule].rule->classes & CLASSES_OFF));
        l->rule[rule].on = on;
    }
    return true;
}

static int count_lengths(const Rule *rule) {
    int length[RULE_BLOCKS], n = 0;
    rule_lengths_first(rule, length);
    do n++;
    while (rule_covered_next(rule, length));
    return n;
}

/* Whether the roots are the parts of one Split. */
static bool has_split_roots(World *w, const Graph *from) {
    const NodeId first = value_node(w, from->out[0]);
    bool one = node_get(w, first).op == &op_split;
    for (int k = 1; k < from->nout; k++) one &= value_node(w, from->out[k]) == first;
    return one;
}

static void add_instance(World *w, Arena *a, Library *l, const Instance *i) {
    l->instance[l->ninstance] = *i;
    l->needs[l->ninstance++] = instance_needs(w, a, i);
}

/* Adds the instances for one choice of lengths: for float32, then for each other element type to
   which the proof carries over. */
static bool add_instances(World *w, Arena *a, unsigned floats, const Rule *rule, const int length[],
                          Library *l, Error *e) {
    const bool stated = rule_is_stated(rule, length);
    Instance i, other;
    Error longer = {0}; /* the error if these lengths exceed the rank of a tensor */
    if (!rule_instance_apart(w, a, rule, length, &i, stated ? e : &longer)) return !stated;
    add_instance(w, a, l, &i);
    for (int t = 0; t < DT_COUNT; t++) {
        Error unproved = {0};
        if (t != DT_FLOAT && floats >> t & 1 &&
            rule_instance_retyped(w, a, &i, (DType)t, &other, &unproved))
            add_instance(w, a, l, &other);
    }
    return true;
}

static bool make_instances(World *w, Arena *a, unsigned floats, Library *l, Error *e) {
    int room = 0, length[RULE_BLOCKS];
    for (int k = 0; k < l->n; k++) room += count_lengths(l->rule[k].rule);
    room *= 1 + __builtin_popcount(floats);
    l->instance = ARENA_NEW(a, Instance, room);
    l->needs = ARENA_NEW(a, OpList, room);
    for (int k = 0; k < l->n; k++) {
        LibraryRule *r = &l->rule[k];
        r->first = l->ninstance;
        rule_lengths_first(r->rule, length);
        do
            if (!add_instances(w, a, floats, r->rule, length, l, e)) return false;
        while (rule_covered_next(r->rule, length));
        r->count = l->ninstance - r->first;
        const Graph *from = r->count ? &l->instance[r->first].from : NULL;
        r->splits = from && from->nout > 1 && has_split_roots(w, from);
        r->merges = from && from->nout > 1 && !r->splits;
        r->changes_bytes = from && rule_changes_bytes(w, &l->instance[r->first]);
        const Instance *last = from ? &l->instance[r->first + r->count - 1] : NULL;
        r->retypes = last && rule_retypes(w, last);
        r->shortens_moves = last && rule_shortens_moves(w, last);
        r->tidies = last && (r->shortens_moves || rule_lightens(w, last));
    }
    return true;
}

static const Instance *instance_from(const Library *l, const LibraryRule *r, int from,
                                     const int length[]) {
    for (int k = from; k < r->first + r->count; k++)
        if (!memcmp(l->instance[k].length, length, sizeof *length * (size_t)r->rule->ngroup))
            return &l->instance[k];
    return NULL;
}
const Instance *library_instance(const Library *l, int rule, int nlength, const int length[]) {
    const LibraryRule *r = &l->rule[rule];
    return nlength == r->rule->ngroup ? instance_from(l, r, r->first, length) : NULL;
}
const Instance *library_instance_next(const Library *l, const Instance *i) {
    const LibraryRule *r = &l->rule[library_index(l, i->rule)];
    return instance_from(l, r, (int)(i - l->instance) + 1, i->length);
}

/* Adds the user's own rules. A rule is skipped if its verdict is no longer valid: a definition may
   have changed since it was proved. */
static bool add_own(World *w, Arena *a, const char *path, Library *l, Error *e) {
    RuleSet own = {.arena = a};
    if (!path || access(path, F_OK)) return true;
    if (!rules_read(a, path, &own, e)) return false;
    for (int k = 0; k < own.n; k++) {
        Error why = {0};
        if (rules_find(&l->set, own.v[k].name) || rules_find(&l->set, own.v[k].id)) continue;
        if (rule_check(w, &own.v[k], &why)) rules_add(&l->set, a, &own.v[k]);
        else l->nstale++;
    }
    return true;
}

bool library_open(World *w, Arena *a, const LibraryOptions *o, Library *l, Error *e) {
    *l = (Library){.set.arena = a};
    if (!o->rules && !installed_rules(a, o->target, &l->set, e)) return false;
    if (o->rules && strcmp(o->rules, "none") && !rules_read(a, o->rules, &l->set, e)) return false;
    if (!add_own(w, a, o->own, l, e)) return false;
    l->n = l->set.n;
    l->rule = ARENA_NEW(a, LibraryRule, l->n);
    for (int k = 0; k < l->n; k++) {
        l->rule[k].rule = &l->set.v[k];
        if (!rule_check(w, l->rule[k].rule, e)) return false;
    }
    return library_choose(l, o, e) && make_instances(w, a, o->floats, l, e);
}
