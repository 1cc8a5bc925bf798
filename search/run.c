/* run.c -- what every part of a run may call: time, progress, cancellation, sizes, the derivation
   to start from. */
#include "search/run.h"
#include "graphs/sizes.h"
#include "ops/base/process.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

double place_total(const PlaceGain *g) { return g->count * (g->before - g->after); }

double run_seconds(const Run *r) { return process_clock() - r->stats.start; }

bool run_signalled(const Run *r) { return r->o->cancel && *r->o->cancel; }

bool run_time_over(const Run *r, double limit) {
    return run_signalled(r) || run_seconds(r) >= limit;
}

bool run_cancelled(Run *r) {
    if (r->o->keep_best || !run_signalled(r)) return false;
    error_set(r->error, E_INTERRUPTED, r->in, "interrupted");
    return true;
}

void run_say(const Run *r, const char *format, ...) {
    char line[200];
    va_list list;
    if (!r->o->progress) return;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    r->o->progress(r->o->user, line);
}

char *run_text(Escape *escape, const Text *t) {
    char *copy = mem_realloc(NULL, t->size + 1);
    if (!copy) escape_raise(escape, E_MEMORY, "no memory for a text of %zu bytes", t->size);
    return memcpy(copy, t->data, t->size + 1);
}

bool run_measures(const IsomerOptions *o) { return !o->cost || !strcmp(o->cost, "measured"); }

/* --dim with the internal names of the sizes. */
static StringList given_dims(Run *r) {
    const char **all = ARENA_NEW(r->arena, const char *, r->o->dim.n);
    for (int k = 0; k < r->o->dim.n; k++) {
        const char *option = r->o->dim.v[k], *equals = strrchr(option, '='), *name = NULL;
        bool number = equals && equals[1] && !equals[1 + strspn(equals + 1, "0123456789")];
        if (number)
            name = model_size_name(r->source.model,
                                   arena_string(r->arena, option, (size_t)(equals - option)));
        all[k] = name && *name ? arena_format(r->arena, "%s%s", name, equals) : option;
    }
    return (StringList){r->o->dim.n, all};
}

/* A size that is not given is guessed: it affects costs and what is checked, never what the result
   computes. */
bool run_sizes(Run *r) {
    Error missing = {0};
    const char **name = ARENA_NEW(r->arena, const char *, r->source.original.nin);
    for (int k = 0; k < r->source.original.nin; k++) name[k] = model_input_name(r->source.model, k);
    StringList shapes = {r->o->input_shape.n, (const char **)(uintptr_t)r->o->input_shape.v};
    if (!sizes_bind(r->w, r->arena, &r->source.original, name, shapes, given_dims(r),
                    &r->source.sizes, NULL, &missing) &&
        !r->source.sizes.n) {
        *r->error = missing;
        return false;
    }
    sizes_guess(r->w, r->arena, &r->source.original, &r->source.sizes);
    return true;
}

Derivation run_derivation(const RunSource *s, const Library *l, World *w, Arena *a) {
    Derivation d = derivation_new(w, a, s->facts, l, &s->original);
    d.model_nodes = s->model_nodes;
    derive_mapped(&d, &s->start, &s->prefold);
    return d;
}

void run_keep_original(Run *r, Derivation *d) {
    *d = run_derivation(&r->source, &r->library, r->w, r->arena);
    r->stats.predicted_after = r->stats.predicted_before;
    r->stats.measured_after = r->stats.measured_before;
}

bool run_writable(Run *r, const Derivation *d) {
    const char *why;
    ModelWrite x = {
        .graph = &d->graph, .map = &d->map, .tag = derivation_tag, .user = (void *)(uintptr_t)d};
    if (model_writable(r->source.model, &x, &why)) return true;
    r->stats.check_note = arena_format(
        r->arena, "the original is kept, because the result of the rules cannot be written: %s",
        why);
    return false;
}
