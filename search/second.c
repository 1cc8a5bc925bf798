/* second.c -- a second opinion: the result is written beside nothing, into a folder of its own, and another runtime compares it with the original on inputs of its own. The helper is
   scripts/compare-onnx, found as the library of rules is. */
#include "search/child.h"
#include "search/run.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AGREES = 0, DISAGREES = 1, ABSENT = 5 }; /* the helper's exit codes */

static const char *const places[] = {"/../scripts", "/../../scripts", "/../../../scripts", "/../share/isomer/scripts"};

static char *find_helper(Run *r) {
    char folder[LIBRARY_PATH];
    for (size_t k = 0; library_folder(folder) && k < sizeof places / sizeof *places; k++) {
        char *path = arena_format(r->arena, "%s%s/compare-onnx", folder, places[k]);
        if (!access(path, X_OK)) return path;
    }
    return NULL;
}

static bool absent(Run *r, const char *why) {
    return error_set(r->error, E_ENVIRONMENT, "--check-with", "%s gives no opinion: %s", r->o->check_with, why);
}

/* The first line that has a word, else the last that has any. */
static const char *line_of(Arena *a, const char *text, const char *word) {
    const char *found = "";
    for (size_t n; *text; text += n, text += *text == '\n') {
        n = strcspn(text, "\n");
        if (n) found = arena_string(a, text, n);
        if (n && word && strstr(found, word)) break;
    }
    return found;
}

bool run_can_ask(Run *r) {
    char available[] = "--available", *out;
    char *argv[] = {NULL, available, NULL};
    size_t n;
    if (!r->o->check_with) return true;
    if (strcmp(r->o->check_with, "onnxruntime"))
        return error_set(r->error, E_USAGE, "--check-with", "expected onnxruntime, not \"%s\"", r->o->check_with);
    r->helper = argv[0] = find_helper(r);
    if (!argv[0]) return absent(r, "its helper compare-onnx is not beside this program");
    int status = child_run(r->arena, argv, NULL, &out, &n);
    return status == 0 || absent(r, *out ? line_of(r->arena, out, NULL) : status > 0 ? "its helper failed" : strerror(errno));
}

/* ---- the helper's command line */

typedef struct Words {
    Arena *arena;
    int n, room;
    char **v;
} Words;

static void add(Words *w, const char *text) {
    if (w->n + 1 >= w->room) {
        char **more = ARENA_NEW(w->arena, char *, w->room = 2 * w->room + 16);
        if (w->n) memcpy(more, w->v, sizeof *more * (size_t)w->n);
        w->v = more;
    }
    w->v[w->n++] = arena_string(w->arena, text, strlen(text));
}

/* The sizes of an input as the check has them; what nothing gives is left to the helper. */
static void add_shape(Run *r, Words *w, int k) {
    const Type *t = value_type(r->w, r->original.in[k]);
    Text sizes = text_new(r->arena);
    text_add(&sizes, "%s:", model_input_name(r->model, k));
    for (int axis = 0; t->known && axis < t->dim.n; axis++) {
        int64_t n;
        Symbol s = poly_is_symbol(r->w, t->dim.v[axis]);
        bool batch = axis == 0 && s && !r->bound;
        if (!poly_eval(r->w, t->dim.v[axis], r->sizes, &n)) return;
        text_add(&sizes, axis ? ",%" PRId64 : "%" PRId64, batch && n == RUN_GUESS ? 1 : n);
    }
    if (!t->known || !t->dim.n) return;
    add(w, "--input-shape");
    add(w, sizes.data);
}

static const char *given_file(Run *r, const char *folder, int k) { return arena_format(r->arena, "%s/given-%d.npy", folder, k); }

static bool write_given(Run *r, const char *folder) {
    for (int k = 0; k < r->ngiven; k++)
        if (!npy_write(r->arena, given_file(r, folder, k), &r->given[k].tensor, r->error)) return false;
    return true;
}

static char **command(Run *r, const char *folder, const char *result) {
    Words w = {.arena = r->arena};
    add(&w, r->helper);
    add(&w, r->in);
    add(&w, result);
    add(&w, "--draws");
    add(&w, arena_format(r->arena, "%d", r->o->check > 0 ? r->o->check : 1));
    add(&w, "--seed");
    add(&w, arena_format(r->arena, "%" PRIu64, r->o->seed));
    if (r->o->rtol >= 0) add(&w, "--rtol"), add(&w, arena_format(r->arena, "%g", r->o->rtol));
    for (int k = 0; k < r->original.nin; k++) add_shape(r, &w, k);
    for (int k = 0; k < r->ngiven; k++)
        add(&w, "--input"), add(&w, arena_format(r->arena, "%s=%s", r->given[k].name, given_file(r, folder, k)));
    return w.v;
}

/* ---- asking */

static bool verdict(Run *r, int status, char *said) {
    if (run_cancelled(r)) return false;
    if (status == AGREES) {
        r->stats.second = line_of(r->arena, said, "agrees");
        return true;
    }
    if (status == DISAGREES)
        return error_set(r->error, E_CHECK, r->in, "%s disagrees: %s", r->o->check_with, line_of(r->arena, said, "FAIL"));
    if (status == ABSENT) return absent(r, line_of(r->arena, said, NULL));
    return absent(r, status < 0 ? strerror(errno) : "its helper failed");
}

bool run_second(Run *r, const Derivation *d) {
    const char *tmp = getenv("TMPDIR");
    char *folder = arena_format(r->arena, "%s/isomer-XXXXXX", tmp && *tmp ? tmp : "/tmp"), *path, *said;
    size_t n;
    ModelWrite x = {.graph = &d->graph, .map = &d->map, .tag = derivation_tag, .user = (void *)(uintptr_t)d};
    if (!r->o->check_with || !d->applied) return true;
    if (!mkdtemp(folder)) return error_set(r->error, E_ENVIRONMENT, folder, "cannot make a folder: %s", strerror(errno));
    path = arena_format(r->arena, "%s/result.onnx", folder);
    bool good = model_write(r->model, &x, path, r->error) && write_given(r, folder);
    if (good) {
        run_say(r, "asking %s", r->o->check_with);
        int status = child_run(r->arena, command(r, folder, path), NULL, &said, &n);
        good = verdict(r, status, said);
    }
    unlink(path);
    for (int k = 0; k < r->ngiven; k++) unlink(given_file(r, folder, k));
    model_remove_external(r->model, folder);
    rmdir(folder);
    return good;
}
