/* write.c -- writes a model by walking over its file: all fields of ModelProto and GraphProto are
   copied in order, and only nodes, initializers and entries about names that no longer exist
   change. If the graph is unchanged, so are the bytes. */
#include "graphs/onnx/export/export.h"
#include "ops/base/file.h"
#include "ops/core/element.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file for weights (external data) while it is being filled: tensors one after another, each at
   a multiple of the page size. */
typedef struct Store {
    const char *name, *path; /* of that file, which stands next to the model */
    bool fresh;              /* the file does not exist yet */
    size_t least;            /* bytes; smaller tensors stay in the model */
    Pieces pieces;
} Store;

/* Adds the bytes to the store and writes the fields of TensorProto that say where they are. */
static void put_external(Arena *a, Text *out, Store *s, const void *bytes, size_t n) {
    enum { PAGE = 4096 };
    pieces_add(&s->pieces, NULL, (PAGE - s->pieces.size % PAGE) % PAGE);
    tensor_put_external(a, out, s->name, s->pieces.size, n);
    pieces_add(&s->pieces, bytes, n);
}

/* Whether the bytes of a tensor go into the store. Short lists of integers do not: ONNX Runtime
   reads sizes and axes when it loads a model, and not from other files. */
static bool is_stored(const Store *s, const Type *t, size_t n) {
    enum { LIST_MAX = 64 };
    return s && n && n >= s->least &&
           !(t->dtype == DT_INT64 && n <= element_bytes(t->dtype, LIST_MAX));
}

static bool is_unchanged(const Model *m, const ModelWrite *x) {
    if (x->regenerate || x->known_sizes || x->graph->nout != m->graph.nout) return false;
    return memcmp(x->graph->out, m->graph.out, sizeof(Value) * (size_t)m->graph.nout) == 0;
}

/* The name of an entry of one of the graph's lists; 0 if the model does not know the name. */
static NameId entry_name(Model *m, const Field *f) {
    const Slice text = index_entry_name(model_wire(m, f->bytes, NULL), f->number);
    return text.n ? intern_find(m->name_numbers, text.at, text.n) : 0;
}

static bool entry_stays(Model *m, const FilePlan *plan, const Field *f) {
    NameId id = entry_name(m, f);
    bool initializer = m->name[id].source == FROM_INITIALIZER;
    if (f->number == GRAPH_INITIALIZER || f->number == GRAPH_SPARSE_INITIALIZER)
        return id && (plan->keep[id] || m->name[id].source == FROM_INPUT);
    if (f->number == GRAPH_INPUT) return !id || !initializer || plan->keep[id];
    return id && id < plan->nname && plan->carried[id];
}

static const int64_t *constant_sizes(World *w, Arena *a, const Type *t) {
    int64_t *v = ARENA_NEW(a, int64_t, t->dim.n);
    for (int k = 0; k < t->dim.n; k++) poly_constant(w, t->dim.v[k], &v[k]);
    return v;
}

/* Gets the type and the elements of a constant. Returns false if the value is none. */
static bool constant_contents(World *w, Value v, Type *type, Slice *bytes) {
    const void *at;
    int64_t count = 0;
    if (!constant_get(w, v, type, &at)) return false;
    poly_constant(w, type_count(w, type), &count);
    *bytes = (Slice){at, element_bytes(type->dtype, count)};
    return true;
}

static void put_constant(Model *m, Arena *a, Store *store, Pieces *out, NameId name, Value v) {
    Type type = {0};
    Slice bytes = {0};
    Text t = text_new(a);
    Pieces message = pieces_new(a);
    constant_contents(m->w, v, &type, &bytes);
    tensor_put(&t, m->name[name].text, &type, constant_sizes(m->w, a, &type), NULL, bytes.n);
    const bool stored = is_stored(store, &type, bytes.n);
    if (stored) put_external(a, &t, store, bytes.at, bytes.n);
    else tensor_put_length(&t, bytes.n);
    pieces_add(&message, t.data, t.size);
    if (!stored) pieces_add(&message, bytes.at, bytes.n);
    wire_put_pieces(out, GRAPH_INITIALIZER, &message);
}

/* Whether a field of TensorProto holds elements or says where they are. */
static bool holds_numbers(uint32_t number) {
    return number == TENSOR_FLOAT_DATA || number == TENSOR_INT32_DATA ||
           number == TENSOR_INT64_DATA || number == TENSOR_RAW_DATA ||
           number == TENSOR_DOUBLE_DATA || number == TENSOR_UINT64_DATA ||
           number == TENSOR_EXTERNAL_DATA || number == TENSOR_DATA_LOCATION;
}

/* Writes an initializer of the file with its elements moved to the store. Returns false if it stays
   in the model, because it is too small or its elements are not kept as bytes. */
static bool put_moved(Model *m, Arena *a, Store *store, Pieces *out, const Field *f) {
    NameId id = entry_name(m, f);
    Type type;
    Slice bytes;
    Text t = text_new(a);
    if (f->number != GRAPH_INITIALIZER || m->name[id].source != FROM_INITIALIZER ||
        !constant_contents(m->w, m->name[id].value, &type, &bytes) ||
        !is_stored(store, &type, bytes.n))
        return false;
    Wire w = model_wire(m, f->bytes, NULL);
    for (Field g; wire_next(&w, &g);)
        if (!holds_numbers(g.number)) text_bytes(&t, (const char *)g.whole.at, g.whole.n);
    put_external(a, &t, store, bytes.at, bytes.n);
    wire_put_slice(out, GRAPH_INITIALIZER, t.data, t.size);
    return true;
}

/* Old IR versions want every initializer to be an input, too (IR_FREE_INITIALIZERS). */
static void put_input(Model *m, Arena *a, Pieces *out, NameId name, const Type *type) {
    Text info = text_new(a);
    value_info_put(a, &info, m->name[name].text, type->dtype, type->dim.n,
                   constant_sizes(m->w, a, type), NULL);
    wire_put_slice(out, GRAPH_INPUT, info.data, info.size);
}

static void write_graph(Model *m, Arena *a, Store *store, const FilePlan *plan, Pieces *out) {
    bool nodes = false;
    Wire w = model_wire(m, m->x.graph, NULL);
    for (Field f; wire_next(&w, &f);) {
        bool listed = f.number == GRAPH_INITIALIZER || f.number == GRAPH_SPARSE_INITIALIZER ||
                      f.number == GRAPH_INPUT || f.number == GRAPH_VALUE_INFO ||
                      f.number == GRAPH_QUANTIZATION_ANNOTATION;
        if (f.number == GRAPH_NODE) {
            for (int k = 0; k < plan->nnode && !nodes; k++)
                wire_put_slice(out, GRAPH_NODE, plan->node[k].at, plan->node[k].n);
            nodes = true;
        } else if ((!listed || entry_stays(m, plan, &f)) && !put_moved(m, a, store, out, &f))
            pieces_add(out, f.whole.at, f.whole.n);
    }
    for (int k = 0; k < plan->nconstant; k++)
        put_constant(m, a, store, out, plan->constant[k], plan->content[k]);
    for (int k = 0; k < plan->nconstant && m->x.ir_version < IR_FREE_INITIALIZERS; k++)
        put_input(m, a, out, plan->constant[k], value_type(m->w, plan->content[k]));
}

static bool changed_pieces(Model *m, const ModelWrite *x, Store *store, Arena *a, Pieces *file,
                           Error *e) {
    FilePlan plan;
    if (!file_plan(m, x, a, &plan, e)) return false;
    Pieces graph = pieces_new(a);
    write_graph(m, a, store, &plan, &graph);
    index_put_graph(&m->x, &graph, file);
    for (int k = 0; k < plan.nimport; k++) index_put_opset(a, slice_of(plan.import[k]), 1, file);
    return true;
}

/* Undoes all changes to the model afterwards, so that the same graph gives the same bytes each
   time, and so that the World may be reset to an earlier mark. */
static bool pieces_of(Model *m, const ModelWrite *x, Store *store, Arena *a, Pieces *file,
                      Error *e) {
    *file = pieces_new(a);
    if (is_unchanged(m, x) && !store) return pieces_add(file, m->x.bytes.at, m->x.bytes.n), true;
    Model before = *m;
    uint32_t names = intern_count(m->name_numbers), sizes = intern_count(m->size_numbers);
    bool good = changed_pieces(m, x, store, a, file, e);
    *m = before;
    if (names + 1 < m->name_room)
        memset(&m->name[names + 1], 0, (m->name_room - names - 1) * sizeof *m->name);
    if (sizes + 1 < m->size_room)
        memset(&m->size[sizes + 1], 0, (m->size_room - sizes - 1) * sizeof *m->size);
    intern_reset(m->name_numbers, names);
    intern_reset(m->size_numbers, sizes);
    return good;
}

bool model_pieces(Model *m, const ModelWrite *x, Arena *a, Pieces *file, Error *e) {
    return pieces_of(m, x, NULL, a, file, e);
}

bool model_bytes(Model *m, const ModelWrite *x, Arena *a, char **bytes, size_t *n, Error *e) {
    Pieces file;
    if (!model_pieces(m, x, a, &file, e)) return false;
    *bytes = file.n == 1 ? (char *)(uintptr_t)file.v[0].at : pieces_join(&file, a), *n = file.size;
    return true;
}

/* Copies external files next to the result. The pieces are joined only if there are such files; the
   model's own file is small then. */
static bool copy_external(Model *m, const Pieces *file, const char *path, const Store *into,
                          Arena *a, Error *e) {
    if (!m->external && !into) return true;
    return external_copy(m, (Slice){(const unsigned char *)pieces_join(file, a), file->size}, path,
                         into ? into->name : NULL, a, e);
}

/* Chooses the name of the file for weights, the first of MODEL.onnx.data, .data1, .. that the model
   does not use itself and that either does not exist or has the same contents already. So no file
   that some model may refer to is ever replaced. */
static bool make_store(Model *m, const ModelWrite *x, const char *path, Store *s, Pieces *file,
                       Arena *a, Error *e) {
    const char *base = path_name(path);
    for (int k = 0;; k++) {
        bool own = false, same;
        Error ignored = {0};
        s->name = k ? arena_format(a, "%s.data%d", base, k) : arena_format(a, "%s.data", base);
        s->path = path_beside(a, path, s->name);
        for (MappedFile *f = m->external; f; f = f->next) own |= strcmp(f->path, s->name) == 0;
        if (own) continue;
        s->pieces = pieces_new(a);
        if (!pieces_of(m, x, s, a, file, e)) return false;
        s->fresh = s->pieces.n && access(s->path, F_OK) != 0;
        if (!s->pieces.n || s->fresh) return true;
        if (file_holds(s->path, s->pieces.n, s->pieces.v, &same, &ignored) && same) return true;
    }
}

bool model_weights_name(const char *path, const char *name) {
    const char *base = path_name(path);
    const size_t n = strlen(base);
    return !strncmp(name, base, n) && !strncmp(name + n, ".data", 5) &&
           !name[n + 5 + strspn(name + n + 5, "0123456789")];
}

/* The files that the old model at `path` refers to and that have names as make_store chooses them,
   so they are from an earlier run. */
typedef struct Outdated {
    Arena *arena;
    const char *path;
    int n, room;
    const char **v;
} Outdated;

static bool note_outdated(void *user, const char *location) {
    Outdated *o = user;
    if (!model_weights_name(o->path, location)) return true;
    ARENA_GROW(o->arena, o->v, o->room, o->n + 1);
    o->v[o->n++] = path_beside(o->arena, o->path, location);
    return true;
}

static Outdated find_outdated(const char *path, Arena *a) {
    Outdated o = {a, path, 0, 0, NULL};
    Error ignored = {0};
    Slice old;
    if (!file_map(path, &old, &ignored)) return o;
    external_each(a, old, path, note_outdated, &o, &ignored);
    file_unmap(old);
    return o;
}

/* Writes the data first, under a name that is not in use, then replaces the model atomically, and
   last deletes files that only the old model used. */
static bool write_both(const Model *m, const char *path, const Store *s, const Pieces *file,
                       Arena *a, Error *e) {
    Outdated old = find_outdated(path, a);
    if (s->fresh && !file_write_pieces(s->path, s->pieces.n, s->pieces.v, e)) return false;
    if (!file_write_pieces(path, file->n, file->v, e)) {
        if (s->fresh) unlink(s->path);
        return false;
    }
    for (int k = 0; k < old.n; k++) {
        const char *name = old.v[k];
        bool kept = s->pieces.n && strcmp(name, s->path) == 0;
        for (MappedFile *f = m->external; f; f = f->next)
            kept |= strcmp(f->path, path_name(name)) == 0;
        if (!kept) unlink(name);
    }
    return true;
}

bool model_write(Model *m, const ModelWrite *x, const char *path, Error *e) {
    Pieces file;
    Arena *a = arena_new(arena_escape(m->w->arena), 0);
    Store store = {.least = x->external_threshold > 0 ? (size_t)x->external_threshold : 0},
          *into = x->external ? &store : NULL;
    bool ok = into ? make_store(m, x, path, into, &file, a, e) : pieces_of(m, x, NULL, a, &file, e);
    if (ok && file.size > INT32_MAX)
        ok = error_set(e, E_LIMIT, path,
                       "%zu bytes, but a protobuf message has at most 2 GiB; keep the weights in a "
                       "separate file with --save-as-external-data",
                       file.size);
    ok = ok && copy_external(m, &file, path, into, a, e);
    ok = ok && (into ? write_both(m, path, into, &file, a, e)
                     : file_write_pieces(path, file.n, file.v, e));
    arena_free(a);
    return ok;
}
