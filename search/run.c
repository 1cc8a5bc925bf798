/* run.c -- what every part of a run uses: time, progress, cancellation, sizes, and the derivation
   to start from. */
#include "search/run.h"
#include "ops/base/process.h"
#include "search/cost_model.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

double place_total(const PlaceGain *g) { return g->count * (g->before - g->after); }

bool opset_known(const Model *m) {
    const int64_t version = model_version(m);
    return !version || (version >= OPSET_OLDEST && version <= OPSET_NEWEST);
}

double run_seconds(const Run *r) {
    return run_seconds_whole(r) - r->stats.discovered.seconds - r->stats.before;
}

double run_seconds_whole(const Run *r) { return process_clock() - r->stats.start; }

bool run_signalled(const Run *r) { return r->o->cancel && *r->o->cancel; }

bool run_time_over(const Run *r, double limit) {
    return run_signalled(r) || (!r->o->frozen && run_seconds(r) >= limit);
}

bool run_ends(const Run *r) { return run_signalled(r) && (!r->o->keep_best || *r->o->cancel > 1); }

bool run_must_end(void *run) { return run_ends(run); }

bool run_cancelled(Run *r) {
    if (!run_ends(r)) return false;
    error_set(r->error, E_INTERRUPTED, r->in, "stopped; no model was written");
    return true;
}

double run_command_seconds(const IsomerOptions *o) {
    const char *effort = o->effort ? o->effort : "default";
    return o->time_limit > 0             ? o->time_limit
           : !strcmp(effort, "quick")    ? 30
           : !strcmp(effort, "thorough") ? 600
                                         : 120;
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

void run_warn(char *text, size_t n, const char *format, ...) {
    va_list list;
    const size_t had = strlen(text);
    if (had) snprintf(text + had, n - had, "; ");
    const size_t used = strlen(text);
    va_start(list, format);
    vsnprintf(text + used, n - used, format, list);
    va_end(list);
}

char *run_copy_text(Escape *escape, const Text *t) {
    char *copy = mem_realloc(NULL, t->size + 1);
    if (!copy) escape_raise(escape, E_MEMORY, "out of memory for a text of %zu bytes", t->size);
    return memcpy(copy, t->data, t->size + 1);
}

bool run_measures(const IsomerOptions *o) { return !o->cost || !strcmp(o->cost, "measured"); }

CostOptions run_cost_options(const Run *r) {
    return (CostOptions){.measured = run_measures(r->o),
                         .frozen = r->o->frozen,
                         .backend = r->o->backend,
                         .backend_options = r->o->backend_options,
                         .threads = r->o->threads,
                         .seed = r->seed,
                         .weights = cost_weights(r->w, &r->source.original, r->source.sizes)};
}

bool run_targets_onnxruntime(const IsomerOptions *o) {
    return o->measure_with && !strcmp(o->measure_with, "onnxruntime");
}

/* Returns the number that a list of --dim gives for one set of sizes; the last one, if the list is
   shorter. */
static const char *number_in_set(Arena *a, const char *list, int size_set) {
    for (const char *next; size_set > 0 && (next = strchr(list, ',')); size_set--) list = next + 1;
    return arena_string(a, list, strcspn(list, ","));
}

static bool is_numbers(const char *s) {
    for (;; s++) {
        const size_t digits = strspn(s, "0123456789");
        if (!digits) return false;
        s += digits;
        if (*s != ',') return !*s;
    }
}

StringList string_list(IsomerTexts t) { return (StringList){t.n, (const char **)(uintptr_t)t.v}; }

/* Returns --dim with number `size_set` in place of each list. `internal`: with the internal names
   of the sizes, not those of the file. */
static StringList given_dims(const Run *r, int size_set, bool internal) {
    if (r->sizes_fixed) return (StringList){0}; /* the sizes are in the file */
    const char **all = ARENA_NEW(r->arena, const char *, r->o->dim.n);
    for (int k = 0; k < r->o->dim.n; k++) {
        const char *option = r->o->dim.v[k], *equals = strrchr(option, '='), *name = NULL;
        all[k] = option;
        if (!equals || !is_numbers(equals + 1)) continue;
        const char *given = arena_string(r->arena, option, (size_t)(equals - option));
        if (internal) name = model_size_name(r->source.model, given);
        all[k] = arena_format(r->arena, "%s=%s", name && *name ? name : given,
                              number_in_set(r->arena, equals + 1, size_set));
    }
    return (StringList){r->o->dim.n, all};
}

SizeOptions run_given_sizes(const Run *r) {
    return (SizeOptions){.shapes = string_list(r->o->input_shape),
                         .dims = given_dims(r, r->size_set, false)};
}

int run_size_set_count(const Run *r) {
    int most = 1;
    for (int k = 0; k < r->o->dim.n; k++) {
        int n = 1;
        for (const char *p = strrchr(r->o->dim.v[k], '='); p && *p; p++) n += *p == ',';
        if (n > most) most = n;
    }
    return most;
}

const char *run_size_set_name(const Run *r, int size_set) {
    Text t = text_new(r->arena);
    for (int k = 0; k < r->o->dim.n; k++) {
        const char *option = r->o->dim.v[k], *equals = strrchr(option, '=');
        if (!equals || !strchr(equals, ',')) continue;
        text_add(&t, "%s%.*s=%s", t.size ? ", " : "", (int)(equals - option), option,
                 number_in_set(r->arena, equals + 1, size_set));
    }
    return t.size ? t.data : "";
}

/* Remembers a condition of the model that the given sizes do not meet. Such a run keeps the
   original, which is not run at these sizes. */
static void note_conflict(Run *r, Sizes given) {
    const char *option = r->o->dim.n ? "--dim" : r->o->input_shape.n ? "--input-shape" : "--input";
    Error why = {0};
    if (r->stats.size_conflict ||
        sizes_allowed(r->w, r->arena, &r->source.original, given, option, &why))
        return;
    r->stats.size_conflict = arena_format(r->arena, "%s: %s", why.place, why.reason);
}

/* Binds the sizes that options give, and no others. */
static bool bind_given(Run *r, int size_set, Sizes *out) {
    const char **name = ARENA_NEW(r->arena, const char *, r->source.original.nin);
    for (int k = 0; k < r->source.original.nin; k++) name[k] = model_input_name(r->source.model, k);
    const SizeOptions given = {.shapes = string_list(r->o->input_shape),
                               .dims = given_dims(r, size_set, true),
                               .nfile = r->inputs.nfile};
    if (!feed_fits(&r->inputs.given, r->w, &r->source.original, name, r->error) ||
        !sizes_given(r->w, r->arena, &r->source.original, name, &given, out, r->error))
        return false;
    note_conflict(r, *out);
    return true;
}

bool run_size_sets_valid(Run *r) {
    Sizes ignored;
    bool good = true;
    for (int k = run_size_set_count(r); good && k-- > 0;) good = bind_given(r, k, &ignored);
    return good;
}

static bool is_input_size(const Run *r, Symbol s) {
    bool found = false;
    for (int k = 0; k < r->source.original.nin; k++) {
        const Type *t = value_type(r->w, r->source.original.in[k]);
        for (int axis = 0; t->known && axis < t->dim.n; axis++)
            found |= poly_is_symbol(r->w, t->dim.v[axis]) == s;
    }
    return found;
}

/* Lists the sizes of inputs that are not given. */
static void note_guessed(Run *r, Sizes given) {
    ModelSize *size;
    const int n = model_open_sizes(r->source.model, r->arena, &size);
    GuessedSize *guessed = ARENA_NEW(r->arena, GuessedSize, n);
    r->stats.nguessed = 0;
    for (int k = 0; k < n; k++) {
        const Symbol s = size[k].symbol;
        if (s < given.n && given.value[s] == SIZE_UNKNOWN && is_input_size(r, s))
            guessed[r->stats.nguessed++] = (GuessedSize){size[k].name, r->source.sizes.value[s]};
    }
    r->stats.guessed = guessed;
}

const char *run_guessed_text(const RunStats *s, Arena *a) {
    Text t = text_new(a);
    for (int k = 0; k < s->nguessed; k++)
        text_add(&t, "%s%s=%" PRId64, k ? ", " : "", s->guessed[k].name, s->guessed[k].value);
    return t.size ? t.data : "";
}

/* A size that is not given is guessed: it affects costs and what is checked, never what the result
   computes. */
bool run_bind_sizes(Run *r, int size_set) {
    Sizes given;
    if (!bind_given(r, size_set, &given)) return false;
    r->size_set = size_set;
    r->source.sizes = given;
    sizes_guess(r->w, r->arena, &r->source.original, &r->source.sizes);
    note_guessed(r, given);
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
    r->stats.also_threads = 0;
    r->stats.growth = 0;
}

ModelWrite run_model_write(const Run *r, const Derivation *d) {
    return (ModelWrite){.graph = &d->graph,
                        .map = &d->map,
                        .tag = derivation_tag,
                        .user = (void *)(uintptr_t)d,
                        .known_sizes = r->sizes_fixed};
}

bool run_writable(Run *r, const Derivation *d) {
    const char *why;
    const ModelWrite x = run_model_write(r, d);
    if (model_writable(r->source.model, &x, &why)) return true;
    r->stats.check_note = arena_format(
        r->arena, "the original is kept, because the result of the rules cannot be written: %s",
        why);
    return false;
}

bool run_bodies_wanted(const Run *r) {
    const IsomerOptions *o = r->o;
    const bool rules = !o->rules || strcmp(o->rules, "none") != 0 || o->discover > 0;
    return o->measure_with && rules && !o->replay && !o->proof_log && !o->headroom;
}
