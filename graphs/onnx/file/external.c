/* external.c -- weights in files of their own (external data). Any tensor of a model, whether in a
   graph, subgraph, attribute, function or training information, may refer to such a file. One walk
   over all messages that can contain tensors finds these references. So a missing file is noticed
   when the model is opened, and every file that a written model refers to gets copied next to it.
   Paths must not leave the model's folder. */
#include "graphs/onnx/export/export.h"
#include "ops/base/file.h"
#include "ops/core/element.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding the references */

typedef enum Message {
    M_MODEL,
    M_GRAPH,
    M_NODE,
    M_ATTRIBUTE,
    M_TENSOR,
    M_SPARSE,
    M_TRAINING,
    M_FUNCTION
} Message;
/* Which field of which message contains which message, as far as tensors may be inside. */
static const struct {
    Message in;
    uint32_t number;
    Message is;
} holds[] = {
    {M_MODEL, MODEL_GRAPH, M_GRAPH},
    {M_MODEL, MODEL_TRAINING_INFO, M_TRAINING},
    {M_MODEL, MODEL_FUNCTIONS, M_FUNCTION},
    {M_GRAPH, GRAPH_NODE, M_NODE},
    {M_GRAPH, GRAPH_INITIALIZER, M_TENSOR},
    {M_GRAPH, GRAPH_SPARSE_INITIALIZER, M_SPARSE},
    {M_NODE, NODE_ATTRIBUTE, M_ATTRIBUTE},
    {M_ATTRIBUTE, ATTRIBUTE_T, M_TENSOR},
    {M_ATTRIBUTE, ATTRIBUTE_G, M_GRAPH},
    {M_ATTRIBUTE, ATTRIBUTE_TENSORS, M_TENSOR},
    {M_ATTRIBUTE, ATTRIBUTE_GRAPHS, M_GRAPH},
    {M_ATTRIBUTE, ATTRIBUTE_SPARSE_TENSOR, M_SPARSE},
    {M_ATTRIBUTE, ATTRIBUTE_SPARSE_TENSORS, M_SPARSE},
    {M_SPARSE, SPARSE_TENSOR_VALUES, M_TENSOR},
    {M_SPARSE, SPARSE_TENSOR_INDICES, M_TENSOR},
    {M_TRAINING, TRAINING_INFO_INITIALIZATION, M_GRAPH},
    {M_TRAINING, TRAINING_INFO_ALGORITHM, M_GRAPH},
    {M_FUNCTION, FUNCTION_NODE, M_NODE},
};

typedef struct ExternalWalk {
    Arena *arena;
    Intern *seen; /* the locations that were visited */
    ExternalFile *each;
    void *user;
} ExternalWalk;

static bool visit_location(const ExternalWalk *c, Slice location) {
    const uint32_t known = intern_count(c->seen);
    if (intern_put(c->seen, location.at, location.n) <= known) return true;
    return c->each(c->user, slice_text(c->arena, location));
}

/* Of a tensor, looks only at the fields that say where its data is. */
static bool walk_tensor(const ExternalWalk *c, Wire w) {
    FileTensor t = {.rank = 0};
    bool external = false;
    for (Field f; wire_next(&w, &f);) {
        if (f.number == TENSOR_DATA_LOCATION && f.kind == WIRE_VARINT)
            external = f.value == TENSOR_EXTERNAL;
        if (f.number == TENSOR_EXTERNAL_DATA && f.kind == WIRE_BYTES &&
            !tensor_read_external(wire_inner(&w, f.bytes), &t))
            return false;
    }
    return !w.failed && (!external || !t.location.at || visit_location(c, t.location));
}

static bool walk_message(const ExternalWalk *c, Wire w, Message in, int depth) {
    Wire start = w;
    if (in == M_TENSOR) return walk_tensor(c, w);
    if (depth > 4 * WIRE_DEPTH) return wire_fail(&w, w.rest.at, "messages are nested too deeply");
    for (Field f; wire_next(&w, &f);)
        for (size_t k = 0; k < sizeof holds / sizeof *holds && f.kind == WIRE_BYTES; k++)
            if (holds[k].in == in && holds[k].number == f.number &&
                !walk_message(c, wire_inner(&start, f.bytes), holds[k].is, depth + 1))
                return false;
    return !w.failed;
}

bool external_each(Arena *a, Slice file, const char *place, ExternalFile *each, void *user,
                   Error *e) {
    ExternalWalk c = {a, intern_new(a), each, user};
    const bool good = walk_message(&c, wire_new(file, file.at, place, e), M_MODEL, 0);
    intern_free(c.seen);
    return good;
}

/* ---- reading */

static bool decimal(Slice s, size_t *out) {
    *out = 0;
    for (size_t i = 0; i < s.n; i++)
        if (!isdigit(s.at[i]) || __builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (size_t)(s.at[i] - '0'), out))
            return false;
    return true;
}

/* Returns a relative path without parts "." and "..", as ONNX Runtime reads it, or NULL if it
   leaves the model's folder. */
static const char *within_folder(Arena *a, const char *path) {
    char *out = ARENA_NEW(a, char, strlen(path) + 1);
    size_t used = 0;
    if (path[0] == '/') return NULL;
    for (const char *at = path; *at;) {
        const size_t n = strcspn(at, "/");
        if (n == 2 && memcmp(at, "..", 2) == 0) {
            if (!used) return NULL;
            while (used && out[used - 1] != '/') used--;
            used -= used > 0;
        } else if (n && !(n == 1 && *at == '.')) {
            if (used) out[used++] = '/';
            memcpy(out + used, at, n);
            used += n;
        }
        at += n + (at[n] == '/');
    }
    out[used] = 0;
    return used ? out : NULL;
}

/* Whether symbolic links lead from this path out of the model's folder. For a file that does not
   exist the answer is false: the error is reported when it is opened. */
static bool linked_outside(Model *m, const char *path) {
    char folder[PATH_MAX], real[PATH_MAX];
    if (!realpath(m->folder[0] ? m->folder : ".", folder) || !realpath(path, real)) return false;
    size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(real, folder, n) != 0 || real[n] != '/';
}

/* Maps an external file, unless it is mapped already. Returns NULL with the error set if it
   cannot. */
static MappedFile *map_file(Model *m, const char *location, const char *place, Error *e) {
    const char *within = within_folder(m->w->arena, location);
    for (MappedFile *f = m->external; f && within; f = f->next)
        if (strcmp(f->path, within) == 0) return f;
    if (!location[0]) {
        error_set(e, E_INVALID, place, "external data without the name of a file");
        return NULL;
    }
    const char *path = arena_format(m->w->arena, "%s%s", m->folder, within ? within : "");
    if (!within || linked_outside(m, path)) {
        error_set(e, E_INVALID, place, "external data outside the model's folder: %s", location);
        return NULL;
    }
    Slice bytes;
    Error why = {0};
    if (!file_map(path, &bytes, &why)) {
        error_set(e, why.kind, place, "external data %s: %s", path, why.reason);
        return NULL;
    }
    MappedFile *f = ARENA_NEW(m->w->arena, MappedFile, 1);
    *f = (MappedFile){.path = within, .bytes = bytes, .next = m->external};
    return m->external = f;
}

bool external_bytes(Model *m, const FileTensor *t, Slice *out, const char *place, Error *e) {
    size_t offset, length, want = element_bytes(t->dtype, t->count);
    const MappedFile *f = map_file(m, slice_text(m->w->arena, t->location), place, e);
    if (!f) return false;
    const Slice file = f->bytes;
    if (!decimal(t->offset, &offset) || !decimal(t->length, &length))
        return error_set(e, E_INVALID, place, "offset or length of external data is not a number");
    if (!t->length.n) length = want;
    if (length != want)
        return error_set(e, E_INVALID, place,
                         "external data has %zu bytes, but the tensor's sizes require %zu", length,
                         want);
    if (offset > file.n || length > file.n - offset)
        return error_set(e, E_INVALID, place, "external data extends beyond the end of its file");
    *out = (Slice){length ? file.at + offset : m->x.bytes.at, length};
    return true;
}

static bool is_blob_place(const Model *m, const char *location) {
    return m->open.nblob && strcmp(location, EXTERNAL_BLOB) == 0;
}
bool external_blob(const Model *m, const FileTensor *t, Blob *out, const char *place, Error *e) {
    size_t index, have;
    *out = 0;
    if (!t->location.at || !is_blob_place(m, slice_text(m->w->arena, t->location))) return false;
    if (!decimal(t->offset, &index) || index >= (size_t)m->open.nblob ||
        !blob_get(m->w, m->open.blob[index], &have) || have != element_bytes(t->dtype, t->count))
        return error_set(e, E_INVALID, place, "refers to no blob of its size"), true;
    return *out = m->open.blob[index], true;
}

typedef struct Finder {
    Model *m;
    Error *e;
} Finder;
static bool map_one(void *user, const char *location) {
    Finder *f = user;
    if (is_blob_place(f->m, location)) return true;
    return map_file(f->m, location, f->m->path, f->e);
}
bool external_open(Model *m, Error *e) {
    Finder f = {m, e};
    return external_each(m->w->arena, m->x.bytes, m->path, map_one, &f, e);
}

/* ---- writing */

typedef struct Copier {
    Model *m;
    Arena *arena;
    const char *folder, *but; /* the folder of the result, ending in '/' or empty; a location that
                                 is not copied, or NULL */
    Error *e;
    bool only_check; /* copy nothing */
} Copier;

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
/* Whether both describe the same file, and it was not written to in between. */
static bool is_same_state(const struct stat *x, const struct stat *y) {
    return x->st_dev == y->st_dev && x->st_ino == y->st_ino && x->st_size == y->st_size &&
           x->st_mtim.tv_sec == y->st_mtim.tv_sec && x->st_mtim.tv_nsec == y->st_mtim.tv_nsec;
}

/* Copies a file; its holes stay holes. */
static bool copy_data(const Copier *c, const char *from, const char *to, Slice bytes) {
    Cleanup *file = ARENA_NEW(c->arena, Cleanup, 1);
    int n = 0, room = 0, fd = open(from, O_RDONLY | O_CLOEXEC);
    Piece *piece = NULL;
    file_cleanup(c->arena, file, fd);
    for (size_t at = 0, end; at < bytes.n; at = end, n++) {
        errno = 0;
        off_t data = fd < 0 ? -1 : lseek(fd, (off_t)at, SEEK_DATA);
        bool hole = data > (off_t)at || (data < 0 && errno == ENXIO);
        off_t next = hole ? data : data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        end = next > (off_t)at && (size_t)next < bytes.n ? (size_t)next : bytes.n;
        ARENA_GROW(c->arena, piece, room, n + 1);
        piece[n] = (Piece){hole ? NULL : bytes.at + at, end - at};
    }
    cleanup_run(file);
    return file_write_pieces(to, n, piece, c->e);
}

/* Copies one file next to the result and makes the folders on the way. If another file of this name
   exists, it is left alone, which is an error unless the contents are the same. MappedFile.copy
   remembers the last copy that was made or compared, so that many results in one folder cost one
   copy. */
static bool copy_one(void *user, const char *location) {
    Copier *c = user;
    struct stat copy;
    if (c->but && strcmp(location, c->but) == 0) return true;
    MappedFile *f = map_file(c->m, location, c->m->path, c->e);
    if (!f) return false;
    const char *from = arena_format(c->arena, "%s%s", c->m->folder, location),
               *to = arena_format(c->arena, "%s%s", c->folder, location);
    const bool there = stat(to, &copy) == 0;
    if (is_same_file(from, to) || (there && is_same_state(&f->copy, &copy))) return true;
    for (const char *slash = strchr(location, '/'); slash && !there && !c->only_check;
         slash = strchr(slash + 1, '/'))
        mkdir(arena_format(c->arena, "%s%.*s", c->folder, (int)(slash - location), location), 0777);
    bool same = true;
    const Piece whole = {f->bytes.at, f->bytes.n};
    if (!there && c->only_check) return true;
    if (there ? !file_holds(to, 1, &whole, &same, c->e) : !copy_data(c, from, to, f->bytes))
        return false;
    if (same && stat(to, &f->copy) != 0) f->copy = (struct stat){0};
    if (same) return true;
    return error_set(c->e, E_ENVIRONMENT, to,
                     "this file exists already and differs from %s, which the model uses; move it "
                     "away or write the result to another folder",
                     from);
}

/* The copier for a result at this path. */
static Copier copier_to(Model *m, const char *path, Arena *a, Error *e) {
    const size_t folder = (size_t)(path_name(path) - path);
    return (Copier){.m = m, .arena = a, .folder = arena_string(a, path, folder), .e = e};
}

bool external_copy(Model *m, Slice result, const char *path, const char *but, Arena *a, Error *e) {
    Copier c = copier_to(m, path, a, e);
    c.but = but;
    return external_each(a, result, path, copy_one, &c, e);
}

StringList model_external_files(const Model *m, Arena *a) {
    StringList list = {0};
    int room = 0;
    for (const MappedFile *f = m->external; f; f = f->next) {
        ARENA_GROW(a, list.v, room, list.n + 1);
        list.v[list.n++] = f->path;
    }
    return list;
}

bool model_can_copy_external(Model *m, const char *path, Arena *a, Error *e) {
    Copier c = copier_to(m, path, a, e);
    c.only_check = true;
    return external_each(a, m->x.bytes, m->path, copy_one, &c, e);
}
