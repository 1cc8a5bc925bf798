/* option_conflicts.c -- refuses options that do not go together. An option to which another one
   leaves no effect is refused, so that nobody waits for what it promises; only what --dry-run,
   --rules none or --cost leaves unused is not, nor are --cost and --cost-db beside --replay. A file
   name is refused that would overwrite another file that is named. */
#include "graphs/onnx/onnx.h"
#include "ops/backend/backend.h"
#include "ops/base/file.h"
#include "ops/base/file_use.h"
#include "search/helper.h"
#include "search/option_table.h"
#include "search/run.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool refuse(Error *e, const char *option, const char *why) {
    return error_set(e, E_USAGE, option, "%s", why);
}

/* Checks --rules-out. Without --discover its rules are used, but no file is written. */
static bool rules_out_used(const IsomerOptions *o, Error *e) {
    if (!o->rules_out || o->discover > 0) return true;
    if (o->rules)
        return refuse(
            e, "--rules-out",
            "without --discover it names rules to use in addition to the library, and --rules "
            "excludes these: leave out one of the two");
    return !access(o->rules_out, F_OK) ||
           error_set(e, E_USAGE, "--rules-out",
                     "%s does not exist, and only --discover SECONDS finds rules to write there",
                     o->rules_out);
}

/* Checks --discover: what is found depends on timing, so such a run cannot be repeated. */
static bool discovery_repeats(const IsomerOptions *o, Error *e) {
    if (o->discover <= 0 || (!o->frozen && !o->replay)) return true;
    return error_set(e, E_USAGE, "--discover",
                     "what is found depends on timing and cannot be reproduced with %s: leave out "
                     "one of the two",
                     o->frozen ? "--frozen" : "--replay");
}

/* Returns whether --measure-with is a command of the user's own, which is not told how many threads
   to use. A NAME for which there is a helper measure-NAME is told. */
static bool is_own_command(Arena *a, const IsomerOptions *o) {
    return !run_targets_onnxruntime(o) && !helper_of_target(a, o->measure_with);
}
static bool targets_agree(Arena *a, const IsomerOptions *o, Error *e) {
    if (o->measure_with && o->search && strcmp(o->search, "backtrack") != 0)
        return error_set(e, E_USAGE, "--search",
                         "%s searches by the costs of the built-in runtime, which --measure-with "
                         "replaces: leave out one of the two",
                         o->search);
    if (o->measure_with && o->cost && strcmp(o->cost, "measured") != 0)
        return error_set(e, E_USAGE, "--cost",
                         "%s is a cost of the built-in runtime, which --measure-with replaces: "
                         "leave out one of the two",
                         o->cost);
    if (o->also_threads > 0 && !o->measure_with)
        return refuse(e, "--also-threads",
                      "the built-in runtime is timed on --threads only: leave out --also-threads, "
                      "or give --measure-with onnxruntime");
    if (o->also_threads > 0 && is_own_command(a, o))
        return refuse(
            e, "--also-threads",
            "your own command decides how many threads it uses: leave --also-threads out, "
            "or give --measure-with onnxruntime");
    return true;
}

/* Checks the limits of a search, which differ with the target. */
static bool limits_used(const IsomerOptions *o, Error *e) {
    if (o->effort && strcmp(o->effort, "default") != 0 && !o->measure_with)
        return refuse(e, "--effort",
                      "it limits a search with --measure-with; for the built-in runtime give "
                      "--steps or --time-limit");
    if (o->measure_with && o->steps != optimize_defaults().steps)
        return refuse(e, "--steps",
                      "it limits a search for the built-in runtime; with --measure-with give "
                      "--effort or --time-limit");
    return true;
}

static bool tolerances_used(const IsomerOptions *o, Error *e) {
    if (o->check > 0 || o->check_with || (o->rtol < 0 && o->atol < 0)) return true;
    return refuse(e, o->rtol >= 0 ? "--rtol" : "--atol",
                  "nothing is compared with --check=0: leave one of the two out");
}

static bool differs(const char *text, const char *usual) {
    return text && strcmp(text, usual) != 0;
}

/* Checks that no option is given that another one excludes: --replay, which searches and measures
   nothing, or --headroom, which neither searches nor writes. */
static bool nothing_excluded(const IsomerOptions *o, Error *e) {
    static const char searched[] = "--replay searches and times nothing: leave out one of the two",
                      made[] = "--headroom searches and writes nothing: leave out one of the two";
    const IsomerOptions usual = optimize_defaults();
    const struct {
        const char *option;
        bool given;
        const char *replay, *headroom; /* why these exclude the option; NULL: they do not */
    } all[] = {
        {"--headroom", o->headroom,
         "nothing is searched, so no proof log can be followed: leave out --replay", NULL},
        {"--search", differs(o->search, usual.search), searched, NULL},
        {"--steps", o->steps != usual.steps, searched, NULL},
        {"--frozen", o->frozen, searched, NULL},
        {"--discover", o->discover > 0, NULL, made},
        {"--time-limit", o->time_limit > 0, searched, made},
        {"--effort", differs(o->effort, usual.effort), searched, made},
        {"--keep-best", o->keep_best, searched, made},
        {"--also-threads", o->also_threads > 0, searched, made},
        {"--max-growth", o->max_growth >= 0, "a replay takes it from the proof log: leave it out",
         made},
        {"--check", o->check != usual.check, NULL, made},
        {"--check-with", o->check_with != NULL, NULL, made},
        {"--rtol", o->rtol >= 0, NULL, made},
        {"--atol", o->atol >= 0, NULL, made},
        {"--report", o->report != NULL, NULL, made},
        {"--html", o->html != NULL, NULL, made},
        {"--dot", o->dot != NULL, NULL, made},
        {"--diff", o->diff, NULL, made},
        {"--explain", o->explain.n > 0, NULL, made},
        {"--proof-log", o->proof_log != NULL, NULL, made},
        {"--save-as-external-data", o->external, NULL, made},
        {"--dry-run", o->dry_run, NULL, made},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const char *why = o->replay ? all[k].replay : o->headroom ? all[k].headroom : NULL;
        if (all[k].given && why) return refuse(e, all[k].option, why);
    }
    return true;
}

static bool weights_agree(const IsomerOptions *o, Error *e) {
    return o->external || o->external_threshold == optimize_defaults().external_threshold ||
           refuse(e, "--external-threshold",
                  "all weights stay where they are: leave out --external-threshold, or give "
                  "--save-as-external-data");
}

/* Lists the files that the options name. The file of --rules-out is added to; without --discover it
   is only read. */
static FileUses files_given(Arena *a, const char *in, const char *out, const IsomerOptions *o) {
    FileUses u = {.arena = a};
    file_use_add(&u, "IN.onnx", in, FILE_OPERAND);
    file_use_add(&u, "--rules", o->rules && strcmp(o->rules, "none") != 0 ? o->rules : NULL,
                 FILE_READ);
    file_use_add(&u, "--replay", o->replay, FILE_READ);
    file_use_add(&u, "--cost-db", o->cost_db, FILE_ADDED_TO);
    file_use_add(&u, "--rules-out", o->rules_out, FILE_ADDED_TO);
    file_use_add(&u, "OUT.onnx", o->dry_run ? NULL : out, FILE_RESULT);
    file_use_add(&u, "--report", o->report, FILE_WRITTEN);
    file_use_add(&u, "--html", o->html, FILE_WRITTEN);
    file_use_add(&u, "--dot", o->dot, FILE_WRITTEN);
    file_use_add(&u, "--proof-log", o->proof_log, FILE_WRITTEN);
    return u;
}

/* Whether --save-as-external-data may choose this path for the weights of OUT.onnx. */
static bool is_for_weights(Arena *a, const char *out, const char *path) {
    char real[PATH_MAX];
    const char *name = path_name(realpath(path, real) ? real : path);
    return model_weights_name(out, name) && file_same(path_beside(a, out, name), path);
}

/* Checks that there is a path for the result. The program's own reading of its operands ensures
   this; a caller of the library may have passed NULL. */
static bool result_named(const char *out, const IsomerOptions *o, Error *e) {
    return out || o->dry_run || o->headroom ||
           error_set(e, E_USAGE, "OUT.onnx", "no path is given for the result");
}

/* Checks that no file named by the options would be lost, and that results can be written. */
static bool files_given_usable(Arena *a, const char *in, const char *out, const IsomerOptions *o,
                               Error *e) {
    const FileUses u = files_given(a, in, out, o);
    for (int k = 0; out && o->external && !o->dry_run && k < u.n; k++)
        if (u.v[k].kind == FILE_WRITTEN && is_for_weights(a, out, u.v[k].path))
            return error_set(e, E_USAGE, u.v[k].name,
                             "%s may become the file of OUT.onnx's weights "
                             "(--save-as-external-data): each needs a file of its own",
                             u.v[k].path);
    return files_usable(&u, e) &&
           (o->discover <= 0 || !o->rules_out || file_writable(o->rules_out, e));
}

bool optimize_files_spared(Arena *a, const char *in, const char *out, const IsomerOptions *o,
                           StringList weights, const FeedOptions *given, Error *e) {
    const FileUses u = files_given(a, in, out, o);
    bool good = true;
    for (int k = 0; k < weights.n && good; k++)
        good = file_spared(&u, path_beside(a, in, weights.v[k]), "has weights of IN.onnx", e) &&
               (!out || o->dry_run ||
                file_spared(&u, path_beside(a, out, weights.v[k]),
                            "is where weights of IN.onnx are copied to, beside OUT.onnx", e));
    for (int k = 0; k < given->n && good; k++)
        if (given->v[k].kind == FEED_TENSOR)
            good = file_spared(&u, given->v[k].text, "is also given as --input", e);
    return good;
}

bool optimize_options_agree(Arena *a, const char *in, const char *out, const IsomerOptions *o,
                            Error *e) {
    return result_named(out, o, e) && rules_out_used(o, e) && targets_agree(a, o, e) &&
           limits_used(o, e) && backend_threads_agree(o->threads, o->backend_options, e) &&
           tolerances_used(o, e) && discovery_repeats(o, e) && nothing_excluded(o, e) &&
           weights_agree(o, e) && files_given_usable(a, in, out, o, e);
}
