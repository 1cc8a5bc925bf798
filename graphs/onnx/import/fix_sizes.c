/* fix_sizes.c -- writes the file with numbers in place of open sizes, in the types of the graph's
   inputs, outputs and values. A size gets the number that the caller gives for an axis of an input,
   and so does every other size of the same name. Types in bodies of control flow keep their names:
   they say nothing that the surrounding graph does not say. */
#include "graphs/onnx/model.h"
#include "ops/base/file.h"

typedef struct SizeFixer {
    const Model *m;
    Arena *a;
    InputSize size;
    const void *user;
    Intern *name; /* names of sizes that have a number */
    int64_t *number;
    int room;
    bool fixed; /* at least one number was written */
} SizeFixer;

static Wire walk(const SizeFixer *x, Slice message) { return model_wire(x->m, message, NULL); }

/* The number for an axis, which belongs to an input unless `input` is NULL. Negative if the axis
   has a number already, or gets none. */
static int64_t number_of(SizeFixer *x, Slice dim, const char *input, int axis) {
    Wire w = walk(x, dim);
    Slice name = wire_bytes(w, DIMENSION_DIM_PARAM);
    for (Field f; wire_next(&w, &f);)
        if (f.number == DIMENSION_DIM_VALUE && (int64_t)f.value >= 0) return -1;
    if (size_is_unnamed(name)) name.n = 0;
    uint32_t id = name.n ? intern_find(x->name, name.at, name.n) : 0;
    if (id) return x->number[id];
    const int64_t n = input ? x->size(x->user, input, axis, slice_text(x->a, name)) : -1;
    if (n < 0 || !name.n) return n;
    id = intern_put(x->name, name.at, name.n);
    ARENA_GROW(x->a, x->number, x->room, (int)id + 1);
    return x->number[id] = n;
}

static void put_dim(SizeFixer *x, const Field *dim, int64_t number, Pieces *out) {
    Pieces inner = pieces_new(x->a);
    Text value = text_new(x->a);
    wire_put_int(&value, DIMENSION_DIM_VALUE, (uint64_t)number);
    pieces_add(&inner, value.data, value.size);
    Wire w = walk(x, dim->bytes);
    for (Field f; wire_next(&w, &f);)
        if (f.number != DIMENSION_DIM_VALUE && f.number != DIMENSION_DIM_PARAM)
            pieces_add(&inner, f.whole.at, f.whole.n);
    wire_put_pieces(out, dim->number, &inner);
}

/* The fields that lead from a ValueInfoProto to the axes of its tensor; put_along follows them and
   copies all others. */
static const uint32_t path[] = {VALUE_INFO_TYPE, TYPE_TENSOR_TYPE, TENSOR_SHAPE, TENSOR_SHAPE_DIM};
enum { AXES = sizeof path / sizeof *path - 1 };
static void put_along(SizeFixer *x, Slice message, int depth, const char *input, Pieces *out) {
    int axis = 0;
    Wire w = walk(x, message);
    for (Field f; wire_next(&w, &f);) {
        const bool inside = f.number == path[depth] && f.kind == WIRE_BYTES;
        const int64_t n = inside && depth == AXES ? number_of(x, f.bytes, input, axis++) : -1;
        if (n >= 0) {
            put_dim(x, &f, n, out);
            x->fixed = true;
        } else if (inside && depth < AXES) {
            Pieces inner = pieces_new(x->a);
            put_along(x, f.bytes, depth + 1, input, &inner);
            wire_put_pieces(out, f.number, &inner);
        } else pieces_add(out, f.whole.at, f.whole.n);
    }
}
static void put_value_info(SizeFixer *x, Slice info, bool input, Pieces *out) {
    const char *name = slice_text(x->a, wire_bytes(walk(x, info), VALUE_INFO_NAME));
    put_along(x, info, 0, input ? name : NULL, out);
}

static void put_fixed_graph(SizeFixer *x, Slice graph, Pieces *out) {
    Wire w = walk(x, graph);
    for (Field f; wire_next(&w, &f);) {
        if (f.number != GRAPH_INPUT && f.number != GRAPH_OUTPUT && f.number != GRAPH_VALUE_INFO) {
            pieces_add(out, f.whole.at, f.whole.n);
            continue;
        }
        Pieces info = pieces_new(x->a);
        put_value_info(x, f.bytes, f.number == GRAPH_INPUT, &info);
        wire_put_pieces(out, f.number, &info);
    }
}

bool model_fix_sizes(const Model *m, InputSize size, const void *user, Arena *a, Pieces *file) {
    SizeFixer x = {.m = m, .a = a, .size = size, .user = user, .name = intern_new(a)};
    Pieces unused = pieces_new(a), graph = pieces_new(a);
    /* A first pass, since a later input may give a number to a size of an earlier one. */
    for (int k = 0; k < m->x.g.input.n; k++) put_value_info(&x, m->x.g.input.v[k], true, &unused);
    put_fixed_graph(&x, m->x.graph, &graph);
    intern_free(x.name);
    *file = pieces_new(a);
    index_put_graph(&m->x, &graph, file);
    return x.fixed;
}
