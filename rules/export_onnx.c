/* export_onnx.c -- exports rules as pairs of small ONNX models, so that any runtime can try them.

   For each choice of stated lengths of its blocks, the variables of a rule get numbers (sample.h),
   and both sides become models with the same inputs and outputs (export_graph.c). The folder is
   created beside its final name and renamed when it is complete. */
#include "ops/base/file.h"
#include "rules/export.h"
#include "rules/sample.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPSET = 24 };
typedef struct OnnxWriter {
    Export *x;
    World *w;
    Arena *arena;       /* for one pair */
    const char *folder; /* the temporary folder */
    Text index;
    int n, room;
    char **made; /* files written so far, which are removed on failure */
} OnnxWriter;

static void keep_path(OnnxWriter *o, const char *path) {
    ARENA_GROW(o->x->arena, o->made, o->room, o->n + 1);
    o->made[o->n++] = arena_string(o->x->arena, path, strlen(path));
}

static bool onnx_write_side(OnnxWriter *o, const Graph *g, const char *name, const char *path,
                            const char **why, Error *e) {
    int before = o->n;
    keep_path(o, path);
    bool good = export_graph(o->w, o->arena, g, (GraphFile){path, name, OPSET}, why, e);
    if (!good && *why) o->n = before;
    return good;
}

/* ---- the index */

/* An input of both models. Its sizes are numbers; all of it lives in `to`. */
static bool onnx_put_input(OnnxWriter *o, cJSON *to, Value v) {
    const Type *t = value_type(o->w, v);
    cJSON *input = cJSON_CreateObject(), *shape;
    if (!cJSON_AddItemToArray(to, input)) return false;
    bool good = cJSON_AddStringToObject(input, "name", input_name(o->w, v)) &&
                cJSON_AddStringToObject(input, "element", dtype_name(t->dtype)) &&
                (shape = cJSON_AddArrayToObject(input, "shape"));
    for (int d = 0; d < t->dim.n && good; d++) {
        int64_t size = 0;
        poly_constant(o->w, t->dim.v[d], &size);
        good = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)size));
    }
    return good;
}

static bool onnx_fill_entry(OnnxWriter *o, cJSON *to, const Instance *i, const RuleSample *s,
                            const char *stem) {
    const char *classes = classes_text(o->arena, i->rule->classes),
               *from = arena_format(o->arena, "%s.from.onnx", stem),
               *into = arena_format(o->arena, "%s.to.onnx", stem);
    cJSON *variables, *inputs;
    bool good = cJSON_AddStringToObject(to, "rule", i->rule->name) &&
                cJSON_AddStringToObject(to, "id", i->rule->id) &&
                cJSON_AddStringToObject(to, "class", classes) &&
                (variables = cJSON_AddObjectToObject(to, "variables"));
    for (int k = 0; k < i->nsymbol && good; k++) {
        const char *name = world_text(o->w, symbol_def(o->w, i->symbol[k]).word);
        good = cJSON_AddNumberToObject(variables, name, (double)s->value[k]);
    }
    good = good && (inputs = cJSON_AddArrayToObject(to, "inputs"));
    for (int k = 0; k < s->from.nin && good; k++) good = onnx_put_input(o, inputs, s->from.in[k]);
    return good && cJSON_AddStringToObject(to, "from", from) &&
           cJSON_AddStringToObject(to, "to", into);
}

/* Adds a line to the index. */
static bool onnx_put_entry(OnnxWriter *o, const Instance *i, const RuleSample *s, const char *stem,
                           Error *e) {
    cJSON *entry = cJSON_CreateObject();
    char *line =
        entry && onnx_fill_entry(o, entry, i, s, stem) ? cJSON_PrintUnformatted(entry) : NULL;
    cJSON_Delete(entry);
    if (!line) return error_set(e, E_MEMORY, "index.json", "out of memory for an entry");
    text_add(&o->index, o->index.size ? ",\n%s" : "\n%s", line);
    cJSON_free(line);
    return true;
}

/* ---- */

static const char *stem_of(OnnxWriter *o, const Instance *i) {
    Text t = text_new(o->arena);
    text_add(&t, "%s", i->rule->name);
    export_lengths(i, &t);
    return t.data;
}

static bool write_pair(OnnxWriter *o, const Instance *i, const char **why, Error *e) {
    RuleSample s;
    Error none = {0};
    const char *stem = stem_of(o, i);
    if (!sample_make(o->w, o->arena, i, &s, &none)) {
        *why = arena_string(o->arena, none.reason, strlen(none.reason));
        return true;
    }
    const char *from = arena_format(o->arena, "%s/%s.from.onnx", o->folder, stem),
               *to = arena_format(o->arena, "%s/%s.to.onnx", o->folder, stem);
    int before = o->n;
    bool good = onnx_write_side(o, &s.from, stem, from, why, e) &&
                onnx_write_side(o, &s.to, stem, to, why, e);
    for (; *why && o->n > before; o->n--) unlink(o->made[o->n - 1]);
    if (!good || *why) return *why != NULL;
    o->x->written++;
    return onnx_put_entry(o, i, &s, stem, e);
}

static bool onnx_write_rule(OnnxWriter *o, const Rule *rule, Error *e) {
    const int before = o->x->written;
    int length[RULE_BLOCKS];
    rule_lengths_first(rule, length);
    do {
        Instance i;
        const char *why = NULL;
        WorldMark mark = world_mark(o->w);
        ArenaMark own = arena_mark(o->arena);
        bool good =
            rule_instance(o->w, o->arena, rule, length, &i, e) && write_pair(o, &i, &why, e);
        if (why) export_leave(o->x, &o->x->lost, rule, why);
        arena_reset(o->arena, own);
        world_reset(o->w, mark);
        if (!good) return false;
    } while (rule_lengths_next(rule, length));
    o->x->expressed += o->x->written > before;
    return true;
}

static bool write_index(OnnxWriter *o, Error *e) {
    const char *path = arena_format(o->x->arena, "%s/index.json", o->folder);
    Text all = text_new(o->x->arena);
    text_add(&all, "{\"format\":\"isomer-rule-models\",\"version\":1,\"opset\":%d,\"models\":[",
             OPSET);
    if (o->index.size) text_bytes(&all, o->index.data, o->index.size);
    text_add(&all, "\n]}\n");
    keep_path(o, path);
    return file_write(path, all.data, all.size, e);
}

static bool export_fail(const char *path, Error *e) {
    const bool there = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR || errno == EBUSY;
    return error_set(e, E_ENVIRONMENT, path, "cannot create the folder: %s",
                     there ? "it already exists and is not an empty folder; name a new one"
                           : strerror(errno));
}

static bool onnx_write_all(OnnxWriter *o, const char *path, Error *e) {
    for (int k = 0; k < o->x->n; k++)
        if (!onnx_write_rule(o, o->x->rule[k], e)) return false;
    return write_index(o, e) && (!chmod(o->folder, 0755) || export_fail(path, e)) &&
           (!rename(o->folder, path) || export_fail(path, e));
}

static bool write_folder(Export *x, const char *path, Error *e) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    path = arena_string(x->arena, path, n);
    char *folder = arena_format(x->arena, "%s.XXXXXX", path);
    if (!mkdtemp(folder)) return export_fail(path, e);
    OnnxWriter o = {.x = x,
                    .w = x->w,
                    .arena = arena_new(arena_escape(x->arena), 0),
                    .folder = folder,
                    .index = text_new(x->arena)};
    bool good = onnx_write_all(&o, path, e);
    for (; !good && o.n; o.n--) unlink(o.made[o.n - 1]);
    if (!good) rmdir(folder);
    arena_free(o.arena);
    return good;
}

const ExportFormat export_onnx = {"onnx", "a new folder with pairs of ONNX models", write_folder,
                                  .folder = true};
