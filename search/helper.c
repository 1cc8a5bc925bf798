/* helper.c -- finds the Python programs of scripts/ and builds their command lines. They are
   searched for relative to the folder of this code, since all are installed together. */
#include "search/helper.h"
#include "graphs/npy.h"
#include "graphs/oracle.h"
#include "ops/core/element.h"
#include "rules/installed.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static bool is_plain_name(const char *name) {
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '-' && *name != '_') return false;
    return true;
}

/* Returns the path of an executable in the first of these folders that has it; NULL: none has. The
   folders are relative to that of this code. */
static char *find_executable(Arena *a, const char *const place[], const char *name) {
    char folder[INSTALLED_PATH];
    if (!installed_folder(folder)) return NULL;
    for (; *place; place++) {
        char *path = arena_format(a, "%s%s/%s", folder, *place, name);
        if (!access(path, X_OK)) return path;
    }
    return NULL;
}

char *helper_find(Arena *a, const char *name) {
    static const char *const scripts[] = {
        "/../scripts",          "/../../scripts",           "/../../../scripts",
        "/../../../../scripts", "/../share/isomer/scripts", NULL};
    return is_plain_name(name) ? find_executable(a, scripts, name) : NULL;
}

int helper_run(Run *r, char *const argv[], ChildSaid *said) {
    return child_run_until(r->arena, argv, NULL, said, run_must_end, r);
}

char *helper_of_target(Arena *a, const char *name) {
    return helper_find(a, arena_format(a, "measure-%s", name));
}

char *program_find(Arena *a, const char *name) {
    static const char *const folder[] = {"", "/../bin", "/../../bin", NULL};
    return find_executable(a, folder, name);
}

void words_add(CommandLine *w, const char *text) {
    ARENA_GROW(w->arena, w->v, w->room, w->n + 2);
    w->v[w->n++] = arena_string(w->arena, text, strlen(text));
}

static void add_shape(CommandLine *w, const RunInputs *in, int k) {
    const RunSource *s = in->source;
    const Type *t = value_type(in->w, s->original.in[k]);
    Text sizes = text_new(w->arena);
    text_add(&sizes, "--input-shape=%s:", model_input_name(s->model, k));
    for (int axis = 0; t->known && axis < t->dim.n; axis++) {
        int64_t n;
        if (!poly_eval(in->w, t->dim.v[axis], s->sizes, &n)) return;
        text_add(&sizes, axis ? ",%" PRId64 : "%" PRId64, n);
    }
    if (!t->known || !t->dim.n) return;
    words_add(w, sizes.data);
}

void words_add_shapes(CommandLine *w, const RunInputs *in) {
    for (int k = 0; k < in->source->original.nin; k++) add_shape(w, in, k);
}

/* Whether the other runtime draws this input itself: floats that no option gives, and elements that
   no .npy file can hold. */
static bool drawn_there(const FeedInput *x) {
    return (dtype_class(x->dtype) == 'F' || !npy_holds(x->dtype)) && !x->option;
}

/* Sets *out to the input as a tensor, in the arena of the inputs. Returns false if the other
   runtime draws it, its sizes are not known, or the error is set. */
static bool input_tensor(const RunInputs *in, int k, int sample, Npy *out, Error *e) {
    const RunSource *s = in->source;
    const Type *t = value_type(in->w, s->original.in[k]);
    int64_t n;
    *out = (Npy){.dtype = t->dtype, .rank = t->dim.n};
    if (drawn_there(&in->feed.input[k]) || !element_readable(t->dtype) ||
        !oracle_dims(in->w, t, s->sizes, out->dim, &n))
        return false;
    void *data = arena_alloc(in->arena, element_bytes(t->dtype, n) + 8);
    out->data = data, out->bytes = element_bytes(t->dtype, n);
    return feed_data(&in->feed, k, sample, model_input_default(s->model, k, t->dtype, n), n, data,
                     e);
}

bool words_add_inputs(CommandLine *w, const RunInputs *in, const char *folder, int samples,
                      Error *e) {
    Npy x;
    for (int k = 0; k < in->feed.n; k++)
        for (int sample = 0; sample < samples && input_tensor(in, k, sample, &x, e); sample++) {
            const char *path = arena_format(w->arena, "%s/input-%d-%d.npy", folder, k, sample);
            if (!npy_write(in->arena, path, &x, e)) return false;
            words_add(w, arena_format(w->arena, "--input=%s=%s", in->feed.input[k].name, path));
        }
    return e->kind == E_NONE;
}

const char *inputs_digest(const RunInputs *in, Error *e) {
    Text t = text_new(in->arena);
    char hash[33];
    Npy x;
    for (int k = 0; k < in->feed.n; k++) {
        if (!input_tensor(in, k, 0, &x, e)) continue;
        hash_hex(x.data, x.bytes, hash);
        text_add(&t, "%s ", hash);
    }
    hash_hex(t.data ? t.data : "", t.size, hash);
    return t.size ? arena_format(in->arena, " with inputs %.12s", hash) : "";
}

/* Puts each word in single quotes; a quote within a word becomes '\''. */
char *words_command(const CommandLine *w) {
    Text t = text_new(w->arena);
    for (int k = 0; k < w->n; k++) {
        text_add(&t, k ? " '" : "'");
        for (const char *p = w->v[k]; *p; p++) text_add(&t, *p == '\'' ? "'\\''" : "%c", *p);
        text_add(&t, "'");
    }
    return t.data;
}
