/* library.c -- finds the files, reads and checks their rules. A rule without a valid verdict ends
   the run: nothing unproved is ever applied. */
#include "search/library.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LENGTH = 4096 };

/* Folders in which a library may lie, and the generated rules beside it, relative to the folder of
   the program or shared library: built here, installed. */
static const struct Place {
    const char *library, *generated;
} places[] = {{"/../rules/library", "/../rules/generated/search"},
              {"/../../rules/library", "/../../rules/generated/search"},
              {"/../../../rules/library", "/../../../rules/generated/search"},
              {"/../share/isomer/rules", "/../share/isomer/rules/generated"}};

/* The folder of the file that this code was loaded from. */
static bool own_folder(char *out) {
    Dl_info info;
    ssize_t n = readlink("/proc/self/exe", out, PATH_LENGTH - 1);
    if (dladdr((const void *)(uintptr_t)&own_folder, &info) && info.dli_fname &&
        strstr(info.dli_fname, ".so")) {
        if (strlen(info.dli_fname) >= PATH_LENGTH || !realpath(info.dli_fname, out)) return false;
    } else if (n <= 0) {
        return false;
    } else {
        out[n] = 0;
    }
    char *slash = strrchr(out, '/');
    if (slash) *slash = 0;
    return slash != NULL;
}

bool library_folder(char *out) { return own_folder(out); }

static bool read_all(Arena *a, const char *pattern, RuleSet *set, int *files, Error *e) {
    glob_t found;
    bool good = true;
    *files = 0;
    if (glob(pattern, 0, NULL, &found)) return true;
    for (size_t k = 0; k < found.gl_pathc && good; k++, ++*files)
        good = rules_read(a, found.gl_pathv[k], set, e);
    globfree(&found);
    return good;
}

static bool read_library(Arena *a, RuleSet *set, Error *e) {
    char folder[PATH_LENGTH];
    int files = 0;
    if (own_folder(folder))
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            int generated;
            if (!read_all(a, arena_format(a, "%s%s/*.rules", folder, places[k].library), set,
                          &files, e))
                return false;
            if (files)
                return read_all(a, arena_format(a, "%s%s/*.rules", folder, places[k].generated),
                                set, &generated, e);
        }
    return error_set(e, E_ENVIRONMENT, "rules",
                     "no library of rules beside this program; give --rules FILE or --rules none");
}

int library_find(const Library *l, const char *name) {
    for (int k = 0; k < l->n; k++)
        if (!strcmp(l->rule[k].rule->name, name) || !strcmp(l->rule[k].rule->id, name)) return k;
    return -1;
}

static bool choose(Library *l, const LibraryOptions *o, Error *e) {
    for (int k = 0; k < l->n; k++)
        l->rule[k].on = o->nenable == 0 && !(l->rule[k].rule->classes & CLASS_DROPS & ~o->allow);
    for (int k = 0; k < o->nenable + o->ndisable; k++) {
        bool on = k < o->nenable;
        const char *name = on ? o->enable[k] : o->disable[k - o->nenable];
        int rule = library_find(l, name);
        if (rule < 0)
            return error_set(e, E_USAGE, on ? "--enable" : "--disable", "there is no rule %s",
                             name);
        if (on && l->rule[rule].rule->classes & CLASS_DROPS & ~o->allow)
            return error_set(e, E_USAGE, "--enable",
                             "rule %s may drop NaN and Inf; it needs --allow drops", name);
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

static bool make_instances(World *w, Arena *a, Library *l, Error *e) {
    int room = 0, length[RULE_BLOCKS];
    Error longer = {0}; /* with more axes than a tensor has */
    for (int k = 0; k < l->n; k++) room += count_lengths(l->rule[k].rule);
    l->instance = ARENA_NEW(a, Instance, room);
    for (int k = 0; k < l->n; k++) {
        LibraryRule *r = &l->rule[k];
        r->first = l->ninstance;
        rule_lengths_first(r->rule, length);
        do {
            bool stated = rule_is_stated(r->rule, length);
            bool typed = rule_instance_apart(w, a, r->rule, length, &l->instance[l->ninstance],
                                             stated ? e : &longer);
            if (stated && !typed) return false;
            l->ninstance += typed;
        } while (rule_covered_next(r->rule, length));
        r->count = l->ninstance - r->first;
    }
    return true;
}

const Instance *library_instance(const Library *l, int rule, int nlength, const int length[]) {
    const LibraryRule *r = &l->rule[rule];
    if (nlength != r->rule->ngroup) return NULL;
    for (int k = r->first; k < r->first + r->count; k++)
        if (!memcmp(l->instance[k].length, length, sizeof *length * (size_t)nlength))
            return &l->instance[k];
    return NULL;
}

bool library_open(World *w, Arena *a, const LibraryOptions *o, Library *l, Error *e) {
    *l = (Library){.set.arena = a};
    if (!o->rules && !read_library(a, &l->set, e)) return false;
    if (o->rules && strcmp(o->rules, "none") && !rules_read(a, o->rules, &l->set, e)) return false;
    l->n = l->set.n;
    l->rule = ARENA_NEW(a, LibraryRule, l->n);
    for (int k = 0; k < l->n; k++) {
        l->rule[k].rule = &l->set.v[k];
        if (!rule_check(w, l->rule[k].rule, e)) return false;
    }
    return choose(l, o, e) && make_instances(w, a, l, e);
}
