/* models.c -- the questions of models: those of a model's graph, with functions and known branches
   inlined, and those of the bodies of its control flow at any depth. A body is asked about as a
   model of its own (graphs/onnx/bodies.c). What it reads from the graph around it is an input, with
   the sizes that it has there. */
#include "generator/discover/ask.h"
#include "generator/discover/discover.h"
#include "generator/discover/lost.h"
#include "graphs/fold.h"
#include "graphs/onnx/onnx.h"
#include "graphs/world.h"
#include "ops/base/file.h"
#include <stdio.h>
#include <string.h>

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* Which of the options about sizes apply to some model. */
typedef struct SizesUsed {
    bool *shape, *dim;
    char names[200]; /* names of the sizes that models leave open */
} SizesUsed;

static bool note_sizes(const DiscoverOptions *o, World *w, const Model *m, SizesUsed *used,
                       Error *e) {
    const Graph *g = model_graph(m);
    const char *names = model_size_names(m, w->arena);
    if (*names) name_list_add(used->names, sizeof used->names, names);
    for (int k = 0; k < o->sizes.dims.n; k++) {
        const char *name = dim_option_name(w->arena, o->sizes.dims.v[k], e);
        if (!name) return false;
        used->dim[k] |= model_size_name(m, name) != NULL;
    }
    for (int k = 0; k < o->sizes.shapes.n; k++)
        for (int j = 0; j < g->nin; j++) {
            const Type *t = value_type(w, g->in[j]);
            const int n =
                shape_option_axes(o->sizes.shapes.v[k], model_input_name(m, j), g->nin == 1, e);
            if (n == -2) return false;
            used->shape[k] |= n >= 0 && (!t->known || n == t->dim.n);
        }
    return true;
}
static bool sizes_used(const DiscoverOptions *o, const SizesUsed *used, Error *e) {
    for (int k = 0; k < o->sizes.dims.n; k++)
        if (!used->dim[k]) return size_unknown(o->sizes.dims.v[k], used->names, e);
    for (int k = 0; k < o->sizes.shapes.n; k++)
        if (!used->shape[k])
            return error_set(e, E_USAGE, "--input-shape",
                             "%s: no model has an input with this name and as many axes",
                             o->sizes.shapes.v[k]);
    return true;
}

typedef struct Asked { /* a model, and in turn each of its bodies */
    const DiscoverOptions *o;
    Questions *q;
    const char *path, *from;
    NodeTimes profile; /* of the whole model; its speeds are 0 if there is none */
} Asked;
typedef struct AskedBody {
    const char *name;
    Pieces file;
    SizeOptions sizes;
    double seconds; /* seconds of the node that has the body, by the profile; 0: not known */
    double scale;   /* measured seconds per estimated second; set by the outermost body that has an
                       estimate; 0: not yet */
} AskedBody;
/* An open model in which function calls, and Ifs whose branch is known, are replaced by what they
   compute. */
typedef struct OpenModel {
    World *w;
    Arena *bytes; /* the bytes of the file where they were changed */
    Model *m;
    Sizes sizes;
} OpenModel;

static void close_model(OpenModel *x) {
    if (x->m) model_close(x->m);
    if (x->w) world_free(x->w);
    arena_free(x->bytes);
}

static bool open_once(const Asked *x, const SizeOptions *sizes, const Pieces *file, OpenModel *out,
                      Error *e) {
    OpenOptions open = {
        .size = size_given, .size_user = sizes, .first_is_one = true, .base_path = x->path};
    if (file) open.bytes = pieces_join(file, out->bytes), open.nbytes = file->size;
    World *old = out->w;
    if (out->m) model_close(out->m);
    out->m = NULL, out->w = NULL;
    if (old) world_free(old);
    out->w = graph_world_new(arena_escape(x->q->arena), 0);
    return (out->m = model_open_with(out->w, x->path, &open, e)) != NULL;
}

/* Checks that the caller does not write over weights of the model, which must not be inlined: a
   branch that is never taken has weights, too. */
static bool weights_spared(const Asked *x, const Model *m, Error *e) {
    Arena *a = x->q->arena;
    const StringList weights = model_external_files(m, a);
    for (int k = 0; k < weights.n; k++)
        if (!file_spared(x->o->uses, path_beside(a, x->path, weights.v[k]),
                         arena_format(a, "has weights of %s", x->path), e))
            return false;
    return true;
}

/* Opens a body (file) or the model at the path (file NULL). With as_it_is nothing is inlined, since
   the nodes of a profile are those of the file. */
static bool open_model(const Asked *x, const SizeOptions *sizes, const Pieces *file, bool as_it_is,
                       OpenModel *out, Error *e) {
    enum { FOLD_BYTES = 64 }; /* enough for the conditions of Ifs */
    *out = (OpenModel){.bytes = arena_new(arena_escape(x->q->arena), 0)};
    if (!open_once(x, sizes, file, out, e)) return false;
    if (!file && !weights_spared(x, out->m, e)) return false;
    while (!as_it_is) {
        Graph start;
        ValueMap folded;
        Pieces inlined;
        if (!graph_fold(out->w, out->w->arena, model_graph(out->m), FOLD_BYTES, NULL, &start,
                        &folded, e))
            return false;
        if (!model_inline(out->m, &folded, out->bytes, &inlined)) break;
        if (!open_once(x, sizes, &inlined, out, e)) return false;
    }
    sizes_guess(out->w, out->w->arena, model_graph(out->m), &out->sizes);
    return true;
}

static bool has_profile(const Asked *x) { return x->profile.flops > 0; }

static bool ask_body(const Asked *x, AskedBody *b, Error *e);

static void leave(const Asked *x, const char *body, const char *why) {
    if (x->o->left) x->o->left(x->o->user, x->path, body, why);
}

/* Asks about all bodies of a model. A body that cannot be a model of its own, because some type
   around it is not known, is skipped. */
static bool ask_bodies(const Asked *x, const OpenModel *outer, const AskedBody *from, Error *e) {
    Arena *a = outer->bytes;
    World *w = outer->w;
    ModelBody *body;
    if (x->o->no_bodies) return true;
    const int n = model_bodies(outer->m, a, &body);
    for (int k = 0; k < n; k++) {
        AskedBody own = {.name = body[k].name,
                         .scale = from ? from->scale : 0,
                         .seconds = from ? from->seconds : 0};
        const char *why, *shape;
        if (!from && has_profile(x)) own.seconds = x->profile.seconds[body[k].node];
        if (!model_body(outer->m, &body[k], a, &own.file, &why)) {
            leave(x, own.name, why);
            continue;
        }
        const char **given = ARENA_NEW(a, const char *, body[k].ninput);
        for (int j = 0; j < body[k].ninput; j++)
            if ((shape = body_input_shape(w, a, &body[k].input[j], outer->sizes)))
                given[own.sizes.shapes.n++] = shape;
        own.sizes.shapes.v = given;
        if (!ask_body(x, &own, e)) return false;
    }
    return true;
}

/* Asks about one body. The measured time of its node is distributed over the body's nodes in
   proportion to their estimates, as if this branch was always taken; the nodes of a loop stand for
   all iterations. */
static bool ask_body(const Asked *x, AskedBody *b, Error *e) {
    OpenModel in;
    double *lost = NULL;
    Error unreadable = {0};
    if (!open_model(x, &b->sizes, &b->file, false, &in, &unreadable)) {
        leave(x, b->name, unreadable.reason);
        return close_model(&in), true;
    }
    const Graph *g = model_graph(in.m);
    if (has_profile(x)) {
        const double estimate = graph_seconds(in.w, in.w->arena, g, in.sizes);
        if (b->scale <= 0 && estimate > 0) b->scale = b->seconds > 0 ? b->seconds / estimate : 1;
        lost = body_lost(in.w, in.w->arena, g, in.sizes, &x->profile, b->scale);
    }
    questions_ask(x->q, in.w, g, in.sizes, x->o->operators, x->from, lost);
    const bool good = ask_bodies(x, &in, b, e);
    close_model(&in);
    return good;
}

static const char *shown_name(Arena *a, const char *path) {
    const char *name = path_name(path);
    char *from = arena_string(a, name, strlen(name) - (ends_with(name, ".onnx") ? 5 : 0));
    for (char *c = from; *c; c++)
        if (*c == ',' || *c == ' ') *c = '_';
    return from;
}

static bool ask_model(const DiscoverOptions *o, const char *path, Questions *q, SizesUsed *used,
                      Error *e) {
    Asked x = {.o = o, .q = q, .path = path, .from = shown_name(q->arena, path)};
    OpenModel in;
    double *lost = NULL;
    bool good = open_model(&x, &o->sizes, NULL, o->profile != NULL, &in, e) &&
                note_sizes(o, in.w, in.m, used, e) &&
                (!o->profile || profile_read(q->arena, in.m, o->profile, &x.profile, e));
    if (good) {
        if (o->profile) lost = nodes_lost(in.w, in.w->arena, in.m, in.sizes, &x.profile);
        questions_ask(q, in.w, model_graph(in.m), in.sizes, o->operators, x.from, lost);
        good = ask_bodies(&x, &in, NULL, e);
    }
    close_model(&in);
    return good;
}

/* Whether a file holds questions, by its name or its first word: --list writes to files of any
   name. */
static bool holds_questions(const char *path) {
    char start[] = "question ", found[sizeof start] = "";
    if (ends_with(path, ".questions")) return true;
    FILE *file = fopen(path, "re");
    if (!file) return false;
    const size_t n = fread(found, 1, sizeof start - 1, file);
    fclose(file);
    return n == sizeof start - 1 && !strcmp(found, start);
}

bool discover_questions(const DiscoverOptions *o, Questions *q, Error *e) {
    if (o->profile && (o->files.n != 1 || holds_questions(o->files.v[0])))
        return error_set(e, E_USAGE, "--profile", "belongs to one model: give only that one");
    if (!size_options_valid(q->arena, &o->sizes, e)) return false;
    SizesUsed used = {.shape = ARENA_NEW(q->arena, bool, o->sizes.shapes.n),
                      .dim = ARENA_NEW(q->arena, bool, o->sizes.dims.n)};
    for (int k = 0; k < o->files.n; k++) {
        const char *path = o->files.v[k];
        Questions own = questions_new(q->arena);
        if (holds_questions(path) ? !questions_read(&own, path, e)
                                  : !ask_model(o, path, &own, &used, e))
            return false;
        questions_join(q, &own);
    }
    questions_sort(q);
    return sizes_used(o, &used, e);
}
