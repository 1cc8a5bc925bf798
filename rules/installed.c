/* installed.c -- folders in which rules may lie, relative to the folder of the program or shared
   library: built here, then installed. The first that has any is taken. */
#include "rules/installed.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-_" /* of the names of targets */
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
    Dl_info info;
    ssize_t n = readlink("/proc/self/exe", out, INSTALLED_PATH - 1);
    if (dladdr((const void *)(uintptr_t)&installed_folder, &info) && info.dli_fname &&
        strstr(info.dli_fname, ".so")) {
        if (strlen(info.dli_fname) >= INSTALLED_PATH || !realpath(info.dli_fname, out))
            return false;
    } else if (n <= 0) {
        return false;
    } else {
        out[n] = 0;
    }
    char *slash = strrchr(out, '/');
    if (slash) *slash = 0;
    return slash != NULL;
}

static void free_paths(void *found) { globfree(found); }

static bool read_files(Arena *a, const char *pattern, RuleSet *set, int *files, Error *e) {
    glob_t *found = ARENA_NEW(a, glob_t, 1);
    Cleanup *cleanup = ARENA_NEW(a, Cleanup, 1);
    bool good = true;
    *files = 0;
    cleanup_add(arena_escape(a), cleanup, free_paths, found);
    if (glob(pattern, 0, NULL, found)) found->gl_pathc = 0;
    for (size_t k = 0; k < found->gl_pathc && good; k++, ++*files)
        good = rules_read(a, found->gl_pathv[k], set, e);
    cleanup_run(cleanup);
    return good;
}

bool installed_rules(Arena *a, const char *target, RuleSet *set, Error *e) {
    char folder[INSTALLED_PATH];
    int files = 0, more;
    if (installed_folder(folder))
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            if (!read_files(a, arena_format(a, "%s%s/*.rules", folder, places[k].library), set,
                            &files, e))
                return false;
            if (!files) continue;
            const char *generated = arena_format(a, "%s%s/*.rules", folder, places[k].generated);
            if (!read_files(a, generated, set, &more, e)) return false;
            return !target || target[strspn(target, LETTERS)] ||
                   read_files(
                       a, arena_format(a, "%s%s/%s.rules", folder, places[k].discovered, target),
                       set, &more, e);
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
