/* helper.c -- the Python programs of scripts/: found from the folder of the rule library, as both
   are installed together. */
#include "search/helper.h"
#include "graphs/npy.h"
#include "graphs/oracle.h"
#include "ops/core/element.h"
#include "rules/installed.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {"/../scripts", "/../../scripts", "/../../../scripts",
                                     "/../../../../scripts", "/../share/isomer/scripts"};

char *helper_find(Arena *a, const char *name) {
    char folder[INSTALLED_PATH];
    for (size_t k = 0; installed_folder(folder) && k < sizeof places / sizeof *places; k++) {
        char *path = arena_format(a, "%s%s/%s", folder, places[k], name);
        if (!access(path, X_OK)) return path;
    }
    return NULL;
}

void words_add(Words *w, const char *text) {
    ARENA_GROW(w->arena, w->v, w->room, w->n + 2);
    w->v[w->n++] = arena_string(w->arena, text, strlen(text));
}

static void add_shape(Words *w, Run *r, int k) {
    const Type *t = value_type(r->w, r->original.in[k]);
    Text sizes = text_new(w->arena);
    text_add(&sizes, "%s:", model_input_name(r->model, k));
    for (int axis = 0; t->known && axis < t->dim.n; axis++) {
        int64_t n;
        if (!poly_eval(r->w, t->dim.v[axis], r->sizes, &n)) return;
        text_add(&sizes, axis ? ",%" PRId64 : "%" PRId64, n);
    }
    if (!t->known || !t->dim.n) return;
    words_add(w, "--input-shape");
    words_add(w, sizes.data);
}

void words_add_shapes(Words *w, Run *r) {
    for (int k = 0; k < r->original.nin; k++) add_shape(w, r, k);
}

/* Whether the other runtime draws this input itself: floats that no option gives. */
static bool drawn_there(const FeedInput *x) { return dtype_class(x->dtype) == 'F' && !x->option; }

/* As a tensor, in the run's arena; false: its sizes are not known, or the error is set. */
static bool input_tensor(Run *r, int k, int sample, Npy *out) {
    const Type *t = value_type(r->w, r->original.in[k]);
    int64_t n;
    *out = (Npy){.dtype = t->dtype, .rank = t->dim.n};
    if (drawn_there(&r->inputs.feed.input[k]) || !element_readable(t->dtype) ||
        !oracle_dims(r->w, t, r->sizes, out->dim, &n))
        return false;
    void *data = arena_alloc(r->arena, element_bytes(t->dtype, n) + 8);
    out->data = data, out->bytes = element_bytes(t->dtype, n);
    return feed_data(&r->inputs.feed, k, sample, model_input_default(r->model, k, t->dtype, n), n,
                     data, r->error);
}

bool words_add_inputs(Words *w, Run *r, const char *folder, int samples) {
    Npy x;
    for (int k = 0; k < r->inputs.feed.n; k++)
        for (int sample = 0; sample < samples && input_tensor(r, k, sample, &x); sample++) {
            const char *path = arena_format(w->arena, "%s/input-%d-%d.npy", folder, k, sample);
            if (!npy_write(r->arena, path, &x, r->error)) return false;
            words_add(w, "--input");
            words_add(w, arena_format(w->arena, "%s=%s", r->inputs.feed.input[k].name, path));
        }
    return r->error->kind == E_NONE;
}

const char *inputs_digest(Run *r) {
    Text t = text_new(r->arena);
    char hash[33];
    Npy x;
    for (int k = 0; k < r->inputs.feed.n; k++) {
        if (!input_tensor(r, k, 0, &x)) continue;
        hash_hex(x.data, x.bytes, hash);
        text_add(&t, "%s ", hash);
    }
    hash_hex(t.data ? t.data : "", t.size, hash);
    return t.size ? arena_format(r->arena, " with inputs %.12s", hash) : "";
}

/* Each word in single quotes; a quote within a word becomes '\''. */
char *words_command(const Words *w) {
    Text t = text_new(w->arena);
    for (int k = 0; k < w->n; k++) {
        text_add(&t, k ? " '" : "'");
        for (const char *p = w->v[k]; *p; p++) text_add(&t, *p == '\'' ? "'\\''" : "%c", *p);
        text_add(&t, "'");
    }
    return t.data;
}
