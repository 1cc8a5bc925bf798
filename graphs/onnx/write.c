/* write.c -- writes a model by replaying its file: every field of ModelProto and GraphProto in its order, copied as it is; only nodes, initializers and what speaks of names that are gone
   change. With an unchanged graph nothing is replayed: the bytes are those of the file. */
#include "graphs/onnx/export.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MODEL_GRAPH = 7,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_VALUE_INFO = 13,
    GRAPH_ANNOTATION = 14,
    GRAPH_SPARSE = 15
};

static bool unchanged(const Model *m, const ModelWrite *x) {
    if (x->regenerate || x->graph->nout != m->graph.nout) return false;
    return memcmp(x->graph->out, m->graph.out, sizeof(Value) * (size_t)m->graph.nout) == 0;
}

static Slice field(Wire w, uint32_t number) {
    Slice out = {0};
    for (Field f; wire_next(&w, &f);)
        if (f.number == number && f.kind == WIRE_BYTES) out = f.bytes;
    return out;
}

/* The name that an entry of the graph's lists speaks of; 0: none that is known. */
static NameId entry_name(Model *m, const Field *f) {
    Wire w = wire_new(f->bytes, m->x.bytes.at, m->path, NULL);
    Slice text = f->number == GRAPH_INITIALIZER ? field(w, 8)
                 : f->number == GRAPH_SPARSE    ? field(wire_inner(&w, field(w, 1)), 8)
                                                : field(w, 1);
    return text.n ? intern_find(m->names, text.at, text.n) : 0;
}

static bool stays(Model *m, const Replay *r, const Field *f) {
    NameId id = entry_name(m, f);
    bool initializer = m->name[id].source == FROM_INITIALIZER;
    if (f->number == GRAPH_INITIALIZER || f->number == GRAPH_SPARSE) return id && (r->keep[id] || m->name[id].source == FROM_INPUT);
    if (f->number == GRAPH_INPUT) return !id || !initializer || r->keep[id];
    return id && id < r->nname && r->carried[id];
}

static const int64_t *sizes(World *w, Arena *a, const Type *t) {
    int64_t *v = ARENA_NEW(a, int64_t, t->dim.n);
    for (int k = 0; k < t->dim.n; k++) poly_constant(w, t->dim.v[k], &v[k]);
    return v;
}

static void put_constant(Model *m, Arena *a, Text *out, NameId name, Value v) {
    Type type;
    const void *bytes;
    int64_t count = 0;
    Text t = text_new(a);
    constant_get(m->w, v, &type, &bytes);
    poly_constant(m->w, type_count(m->w, &type), &count);
    tensor_put(&t, m->name[name].text, &type, sizes(m->w, a, &type), bytes, tensor_size(type.dtype, count));
    wire_put_bytes(out, GRAPH_INITIALIZER, t.data, t.size);
}

/* IR versions below 4 want every initializer among the inputs too. */
static void put_input(Model *m, Arena *a, Text *out, NameId name, const Type *type) {
    Text shape = text_new(a), tensor = text_new(a), kind = text_new(a), info = text_new(a);
    const int64_t *v = sizes(m->w, a, type);
    for (int k = 0; k < type->dim.n; k++) {
        Text dim = text_new(a);
        wire_put_int(&dim, 1, (uint64_t)v[k]);
        wire_put_bytes(&shape, 1, dim.data, dim.size);
    }
    wire_put_int(&tensor, 1, (uint64_t)type->dtype);
    wire_put_bytes(&tensor, 2, shape.data, shape.size);
    wire_put_bytes(&kind, 1, tensor.data, tensor.size);
    wire_put_bytes(&info, 1, m->name[name].text, strlen(m->name[name].text));
    wire_put_bytes(&info, 2, kind.data, kind.size);
    wire_put_bytes(out, GRAPH_INPUT, info.data, info.size);
}

static void put_graph(Model *m, Arena *a, const Replay *r, Text *out) {
    bool nodes = false;
    Wire w = wire_new(m->x.graph, m->x.bytes.at, m->path, NULL);
    for (Field f; wire_next(&w, &f);) {
        bool listed = f.number == GRAPH_INITIALIZER || f.number == GRAPH_SPARSE || f.number == GRAPH_INPUT ||
                      f.number == GRAPH_VALUE_INFO || f.number == GRAPH_ANNOTATION;
        if (f.number == GRAPH_NODE) {
            for (int k = 0; k < r->nnode && !nodes; k++) wire_put_bytes(out, GRAPH_NODE, r->node[k].bytes.at, r->node[k].bytes.n);
            nodes = true;
        } else if (!listed || stays(m, r, &f)) text_bytes(out, (const char *)f.whole.at, f.whole.n);
    }
    for (int k = 0; k < r->nconstant; k++) put_constant(m, a, out, r->constant[k], r->content[k]);
    for (int k = 0; k < r->nconstant && m->x.ir_version < 4; k++) put_input(m, a, out, r->constant[k], value_type(m->w, r->content[k]));
}

static bool changed_bytes(Model *m, const ModelWrite *x, Arena *a, char **bytes, size_t *n, Error *e) {
    Replay r;
    if (!replay_model(m, x, a, &r, e)) return false;
    Text graph = text_new(a), file = text_new(a);
    put_graph(m, a, &r, &graph);
    Wire w = wire_new(m->x.bytes, m->x.bytes.at, m->path, NULL);
    for (Field f; wire_next(&w, &f);) {
        if (f.number == MODEL_GRAPH) wire_put_bytes(&file, MODEL_GRAPH, graph.data ? graph.data : "", graph.size);
        else text_bytes(&file, (const char *)f.whole.at, f.whole.n);
    }
    *bytes = file.data, *n = file.size;
    return true;
}

/* New names are forgotten afterwards: the same graph gives the same bytes each time, and the World may be reset to before. */
bool model_bytes(Model *m, const ModelWrite *x, Arena *a, char **bytes, size_t *n, Error *e) {
    *bytes = (char *)(uintptr_t)m->x.bytes.at, *n = m->x.bytes.n;
    if (unchanged(m, x)) return true;
    Model before = *m;
    uint32_t names = intern_count(m->names), sizes = intern_count(m->sizes);
    bool good = changed_bytes(m, x, a, bytes, n, e);
    *m = before;
    if (names + 1 < m->room) memset(&m->name[names + 1], 0, (m->room - names - 1) * sizeof *m->name);
    if (sizes + 1 < m->size_room) memset(&m->size[sizes + 1], 0, (m->size_room - sizes - 1) * sizeof *m->size);
    intern_reset(m->names, names);
    intern_reset(m->sizes, sizes);
    return good;
}

/* External data stays where it is, relative to the model; a model that moves to another folder takes its files along. */
static bool copy_external(Model *m, const char *path, Arena *a, Error *e) {
    const char *slash = strrchr(path, '/');
    const char *folder = arena_string(a, path, slash ? (size_t)(slash - path) + 1 : 0);
    for (MappedFile *f = m->external; f; f = f->next) {
        const char *from = arena_format(a, "%s%s", m->folder, f->path), *to = arena_format(a, "%s%s", folder, f->path);
        struct stat x, y;
        if (stat(from, &x) == 0 && stat(to, &y) == 0) {
            if (x.st_dev == y.st_dev && x.st_ino == y.st_ino) continue;
            char *old;
            size_t n;
            if (!file_read(a, to, &old, &n, e)) return false;
            if (n == f->bytes.n && memcmp(old, f->bytes.at, n) == 0) continue;
            return error_set(e, E_ENVIRONMENT, to, "is there already, and is not the external data of %s", m->path);
        }
        if (!file_write(to, f->bytes.at, f->bytes.n, e)) return false;
    }
    return true;
}

bool model_write(Model *m, const ModelWrite *x, const char *path, Error *e) {
    char *bytes = NULL;
    size_t n = 0;
    Arena *a = arena_new(arena_escape(m->w->arena), 0);
    bool ok = model_bytes(m, x, a, &bytes, &n, e) && copy_external(m, path, a, e) && file_write(path, bytes, n, e);
    arena_free(a);
    return ok;
}

bool model_exportable(Model *m, const Op *op, const char **why) {
    bool ok = emit_possible(m, op) || op->expand || strcmp(op->name, "constant") == 0 || strcmp(op->name, "input") == 0 ||
              strcmp(op->name, "opaque") == 0;
    *why = ok ? NULL : "the model's operator set has neither the operator nor its definition";
    return ok;
}
