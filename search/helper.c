/* helper.c -- the Python programs of scripts/: found from the folder of the rule library, as both
   are installed together. */
#include "search/helper.h"
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

/* In single quotes; one within is put in between: '\''. */
char *words_command(const Words *w) {
    Text t = text_new(w->arena);
    for (int k = 0; k < w->n; k++) {
        text_add(&t, k ? " '" : "'");
        for (const char *p = w->v[k]; *p; p++) text_add(&t, *p == '\'' ? "'\\''" : "%c", *p);
        text_add(&t, "'");
    }
    return t.data;
}
