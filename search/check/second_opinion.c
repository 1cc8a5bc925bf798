/* second_opinion.c -- gets a second opinion: the result is written to a temporary folder, and the
   helper scripts/compare-onnx compares it with the original there by another runtime. */
#include "search/input_data.h"
#include "search/check/second_opinion.h"
#include "ops/base/folder.h"
#include "search/helper.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { AGREES = 0, DISAGREES = 1, ABSENT = 5 }; /* the exit status of the helper */
#define FAIL "FAIL " /* the helper begins a line with this if something is wrong */

static bool not_installed(Run *r, const char *why) {
    return error_set(r->error, E_ENVIRONMENT, "--check-with", "%s could not compare the models: %s",
                     r->o->check_with, why);
}

/* Returns the first line that contains the word, or else the last line that is not empty. */
static const char *line_with(Arena *a, const char *text, const char *word) {
    const char *at = strstr(text, word);
    if (!at) return child_last_line(a, text);
    while (at > text && at[-1] != '\n') at--;
    return arena_string(a, at, strcspn(at, "\n"));
}

/* Says why the helper gave no answer. */
static const char *failure(Arena *a, int status, const ChildSaid *said) {
    if (status < 0) return strerror(errno);
    return *said->reason ? arena_format(a, "its helper failed: %s", said->reason)
                         : "its helper failed";
}

bool run_can_check_with(Run *r) {
    char available[] = "--available";
    char *argv[] = {NULL, available, NULL};
    ChildSaid said;
    if (!r->o->check_with) return true;
    argv[0] = helper_find(r->arena, "compare-onnx");
    r->helper = argv[0];
    if (!argv[0])
        return not_installed(r, "its helper compare-onnx is not installed next to this program");
    const int status = helper_run(r, argv, &said);
    if (!status || run_cancelled(r)) return !status;
    return not_installed(r, *said.out ? child_last_line(r->arena, said.out)
                                      : failure(r->arena, status, &said));
}

/* ---- the helper's command line */

/* Returns the helper's command line; NULL: the error is set. */
static char **make_command(Run *r, const char *folder, const char *result) {
    const int draws = r->o->check > 0 ? r->o->check : 1;
    CommandLine w = {.arena = r->arena};
    words_add(&w, r->helper);
    words_add(&w, r->in);
    words_add(&w, result);
    words_add(&w, "--draws");
    words_add(&w, arena_format(r->arena, "%d", draws));
    words_add(&w, "--seed");
    words_add(&w, arena_format(r->arena, "%" PRIu64, r->seed));
    if (r->o->rtol >= 0)
        words_add(&w, "--rtol"), words_add(&w, arena_format(r->arena, "%.17g", r->o->rtol));
    if (r->o->atol >= 0)
        words_add(&w, "--atol"), words_add(&w, arena_format(r->arena, "%.17g", r->o->atol));
    if (r->sizes_fixed) words_add(&w, "--fixed-sizes");
    words_add_shapes(&w, &r->inputs);
    return words_add_inputs(&w, &r->inputs, folder, draws, r->error) ? w.v : NULL;
}

/* ---- asking */

static bool read_verdict(Run *r, int status, const ChildSaid *x) {
    const char *said = x->out;
    if (run_cancelled(r)) return false;
    if (status == AGREES) {
        r->stats.opinion = line_with(r->arena, said, "agrees");
        return true;
    }
    if (status == DISAGREES) {
        const char *line = line_with(r->arena, said, FAIL);
        if (!strncmp(line, FAIL, strlen(FAIL))) line += strlen(FAIL);
        const char *sizes = run_size_set_name(r, r->size_set);
        return error_set(r->error, E_CHECK, r->in, "%s disagrees%s%s: %s", r->o->check_with,
                         *sizes ? " at " : "", sizes, line);
    }
    if (status == ABSENT) return not_installed(r, child_last_line(r->arena, said));
    return not_installed(r, failure(r->arena, status, x));
}

/* Asks the runtime, and asks again with other integers if the model does not run on these. */
static bool ask_runtime(Run *r, const char *folder, const char *result) {
    char **words;
    ChildSaid said;
    for (;;) {
        if (!(words = make_command(r, folder, result))) return false;
        const char *sizes = run_size_set_name(r, r->size_set);
        run_say(r, "asking %s%s%s", r->o->check_with, *sizes ? " at " : "", sizes);
        const int status = helper_run(r, words, &said);
        const char *not_run = status == ABSENT ? strstr(said.out, "does not run") : NULL;
        Error why = {0};
        if (!not_run || run_cancelled(r)) return read_verdict(r, status, &said);
        error_set(&why, E_ENVIRONMENT, "--check-with", "%s could not compare the models: it %.300s",
                  r->o->check_with, child_last_line(r->arena, not_run));
        if (!run_other_inputs(r, &why)) return *r->error = why, false;
    }
}

/* Asks at each set of sizes; the first set comes last, so that it is in use afterwards. */
static bool ask_at_sizes(Run *r, const char *folder, const char *result) {
    const int n = run_size_set_count(r);
    for (int size_set = n - 1; size_set >= 0; size_set--)
        if ((n > 1 && !run_select_sizes(r, size_set)) || !ask_runtime(r, folder, result))
            return false;
    return true;
}

bool run_check_with(Run *r, const Derivation *d) {
    char *path;
    const bool derived = derivation_changes(d);
    ModelWrite x = run_model_write(r, d);
    if (!r->o->check_with || (!derived && !run_new_source(r))) return true;
    if (!derived) x.graph = &r->source.original, x.known_sizes = false;
    RunFolder *folder = run_folder(r->arena, r->error);
    if (!folder) return false;
    path = arena_format(r->arena, "%s/result.onnx", folder->path);
    bool good =
        model_write(r->source.model, &x, path, r->error) && ask_at_sizes(r, folder->path, path);
    cleanup_run(&folder->cleanup);
    return good;
}
