/* installed.c -- the folders that may hold rules, relative to the folder of the program or shared
   library: first those of a build, then those of an installation. The first one that has rules is
   used. */
#include "rules/installed.h"
#include "ops/base/file.h"
#include "ops/base/options.h"
#include "ops/base/process.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-_" /* allowed in the names of targets */
static const struct Place {
    const char *library, *generated, *discovered;
} places[] = {
    {"/../rules/library", "/../rules/generated/search", "/../rules/discovered"},
    {"/../../rules/library", "/../../rules/generated/search", "/../../rules/discovered"},
    {"/../../../rules/library", "/../../../rules/generated/search", "/../../../rules/discovered"},
    {"/../../../../rules/library", "/../../../../rules/generated/search",
     "/../../../../rules/discovered"},
    {"/../share/isomer/rules", "/../share/isomer/rules/generated",
     "/../share/isomer/rules/discovered"}};

bool installed_folder(char *out) {
    if (!process_file(out, INSTALLED_PATH)) return false;
    *strrchr(out, '/') = 0;
    return true;
}

static void close_folder(void *folder) { closedir(folder); }

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the files NAME.rules in a folder, in order; none if it cannot be read. */
static StringList rule_files(Arena *a, const char *folder) {
    static const char end[] = ".rules";
    StringList list = {0};
    Cleanup *cleanup = ARENA_NEW(a, Cleanup, 1);
    DIR *d = opendir(folder);
    if (!d) return list;
    cleanup_add(arena_escape(a), cleanup, close_folder, d);
    for (const struct dirent *x; (x = readdir(d));) {
        const size_t n = strlen(x->d_name), m = strlen(end);
        if (*x->d_name == '.' || n <= m || strcmp(x->d_name + n - m, end) != 0) continue;
        ARENA_APPEND(a, list.v, list.n, arena_string(a, x->d_name, n));
    }
    cleanup_run(cleanup);
    if (list.n) qsort(list.v, (size_t)list.n, sizeof *list.v, by_name);
    return list;
}

static bool read_folder(Arena *a, const char *folder, RuleSet *set, int *files, Error *e) {
    const StringList name = rule_files(a, folder);
    *files = name.n;
    for (int k = 0; k < name.n; k++)
        if (!rules_read(a, arena_format(a, "%s/%s", folder, name.v[k]), set, e)) return false;
    return true;
}

/* Reads the discovered rules of this target, if there are any. */
static bool read_discovered(Arena *a, const char *folder, const char *target, RuleSet *set,
                            Error *e) {
    if (!target || target[strspn(target, LETTERS)]) return true;
    const char *path = arena_format(a, "%s/%s.rules", folder, target);
    return access(path, F_OK) != 0 || rules_read(a, path, set, e);
}

bool installed_rules(Arena *a, const char *target, RuleSet *set, Error *e) {
    char folder[INSTALLED_PATH];
    int files = 0, more;
    const bool known = installed_folder(folder);
    for (size_t k = 0; known && k < sizeof places / sizeof *places; k++) {
        const struct Place *p = &places[k];
        if (!read_folder(a, arena_format(a, "%s%s", folder, p->library), set, &files, e))
            return false;
        if (files)
            return read_folder(a, arena_format(a, "%s%s", folder, p->generated), set, &more, e) &&
                   read_discovered(a, arena_format(a, "%s%s", folder, p->discovered), target, set,
                                   e);
    }
    return error_set(e, E_ENVIRONMENT, "rules",
                     "no rule library found next to this program; name a file of rules");
}

bool own_rules_path(Arena *a, const char *target, char **path, Error *e) {
    const bool named = *target && !target[strspn(target, LETTERS)];
    *path = user_file(a, "XDG_DATA_HOME", ".local/share",
                      arena_format(a, "rules/%s.rules", named ? target : "command"));
    return *path || error_set(e, E_ENVIRONMENT, "--rules-out",
                              "neither HOME nor XDG_DATA_HOME is set; give --rules-out FILE");
}
