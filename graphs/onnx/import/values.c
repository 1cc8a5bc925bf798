/* values.c -- types, sizes and constants of a model: converts ValueInfoProto to Type, names of
   sizes to symbols, and TensorProto to constants. */
#include "graphs/onnx/model.h"
#include "ops/core/element.h"
#include <ctype.h>
#include <string.h>

/* Derives from a size's name in the file a name for its symbol that can be read in the text form
   and is not that of another symbol. */
static const char *symbol_text(Model *m, const char *text) {
    Text t = text_new(m->w->arena);
    for (const char *c = text; *c; c++)
        text_add(&t, "%c", isalnum((unsigned char)*c) || *c == '_' ? *c : '_');
    const char *plain = t.size ? t.data : "";
    const bool word = isalpha((unsigned char)*plain) || *plain == '_';
    const bool kept = !strcmp(plain, "floor") || !strcmp(plain, "min") ||
                      (*plain == 'i' && t.size < 4); /* words and index names of the text form */
    const char *name = arena_format(m->w->arena, "%s%s", word && !kept ? "" : "s_", plain);
    while (true) {
        bool taken = false;
        for (uint32_t i = 1; i <= intern_count(m->size_numbers) && i < m->size_room; i++)
            taken |= m->size[i].text && strcmp(m->size[i].text, name) == 0;
        if (!taken) return name;
        name = arena_format(m->w->arena, "%s_", name);
    }
}

static SizeName *size_entry(Model *m, const char *text) {
    uint32_t id = intern_put(m->size_numbers, text, strlen(text));
    ARENA_GROW(m->w->arena, m->size, m->size_room, id + 1);
    return &m->size[id];
}

/* The value of a size that has this name in the file: a symbol with a name if an input has it, else
   a symbol that depends on data. */
static Poly size_named(Model *m, const char *text, bool input) {
    SizeName *s = size_entry(m, text);
    if (s->poly) return s->poly;
    s->text = input ? symbol_text(m, text) : NULL;
    return s->poly = input ? poly_named(m->w, s->text) : poly_symbol(m->w, symbol_data(m->w));
}

const char *model_size_name(const Model *m, const char *text) {
    uint32_t id = intern_find(m->size_numbers, text, strlen(text));
    const SizeName *s = id && id < m->size_room ? &m->size[id] : NULL;
    return s && s->text ? s->text : s && s->number ? "" : NULL;
}

const char *model_size_names(const Model *m, Arena *a) {
    Text t = text_new(a);
    for (uint32_t id = 1; id <= intern_count(m->size_numbers); id++) {
        size_t n;
        const char *text = intern_get(m->size_numbers, id, &n);
        if (id < m->size_room && (m->size[id].text || m->size[id].number))
            text_add(&t, "%s%.*s", t.size ? ", " : "", (int)n, text);
    }
    return t.size ? t.data : "";
}

int model_open_sizes(const Model *m, Arena *a, ModelSize **list) {
    const uint32_t all = intern_count(m->size_numbers);
    int n = 0;
    *list = ARENA_NEW(a, ModelSize, all);
    for (uint32_t id = 1; id <= all && id < m->size_room; id++) {
        size_t length;
        const char *text = intern_get(m->size_numbers, id, &length);
        if (m->size[id].text)
            (*list)[n++] =
                (ModelSize){arena_string(a, text, length), poly_is_symbol(m->w, m->size[id].poly)};
    }
    return n;
}

/* Asks the caller for the size of this axis; if it gives none, uses the number given for another
   axis of the same name. */
static int64_t size_from_caller(Model *m, const char *input, int axis, const char *param) {
    int64_t n = m->open.size(m->open.size_user, input, axis, param);
    SizeName *s = *param ? size_entry(m, param) : NULL;
    if (n < 0 && s) n = s->number - 1;
    if (n < 0 && axis == 0 && m->first_is_one) n = 1;
    if (n >= 0 && s && !s->number) s->number = n + 1;
    return n;
}

bool size_is_unnamed(Slice name) {
    for (size_t k = 0; k < name.n; k++)
        if (isalpha((unsigned char)name.at[k])) return slice_is(name, "None");
    return true;
}

static bool read_dim(Model *m, Wire w, const char *name, bool input, Type *t) {
    int64_t value = -1;
    Slice param = {0};
    for (Field f; wire_next(&w, &f);) {
        if (f.number == DIMENSION_DIM_VALUE && wire_want(&w, &f, WIRE_VARINT))
            value = (int64_t)f.value;
        if (f.number == DIMENSION_DIM_PARAM && wire_want(&w, &f, WIRE_BYTES)) param = f.bytes;
    }
    if (w.failed) return false;
    if (size_is_unnamed(param)) param.n = 0;
    const char *text = param.n ? slice_text(m->w->arena, param)
                               : arena_format(m->w->arena, "%s.%d", name, t->dim.n);
    if (value < 0 && input && m->open.size)
        value = size_from_caller(m, name, t->dim.n, param.n ? text : "");
    if (value > ELEMENT_COUNT_MAX) return wire_fail(&w, w.rest.at, "a tensor that is too large");
    Poly p = value >= 0 ? poly_int(m->w, value) : size_named(m, text, input);
    if (t->dim.n < RANK_MAX) t->dim.v[t->dim.n] = p;
    t->dim.n++;
    return true;
}

static bool read_tensor_type(Model *m, Wire w, const char *name, bool input, Type *t) {
    bool has_shape = false;
    for (Field f; wire_next(&w, &f);) {
        if (f.number == TENSOR_ELEM_TYPE && wire_want(&w, &f, WIRE_VARINT))
            t->dtype = f.value < DT_COUNT ? (DType)f.value : DT_NONE;
        if (f.number != TENSOR_SHAPE || !wire_want(&w, &f, WIRE_BYTES) ||
            !wire_once(&w, &f, &has_shape))
            continue;
        t->known = true, t->dim.n = 0;
        Wire shape = wire_inner(&w, f.bytes);
        for (Field d; wire_next(&shape, &d);)
            if (d.number == TENSOR_SHAPE_DIM &&
                (!wire_want(&shape, &d, WIRE_BYTES) ||
                 !read_dim(m, wire_inner(&w, d.bytes), name, input, t)))
                return false;
        if (shape.failed) return false;
    }
    return !w.failed;
}

/* Gives an input for which the file declares no shape the axes for which the caller has sizes. */
static void rank_from_caller(Model *m, const char *name, Type *t) {
    for (int64_t n; t->dim.n < RANK_MAX; t->dim.v[t->dim.n++] = poly_int(m->w, n), t->known = true)
        if ((n = m->open.size(m->open.size_user, name, t->dim.n, "")) < 0) return;
}

bool value_info_type(Model *m, Slice info, const char *name, bool input, Type *t, Error *e) {
    *t = (Type){0};
    Wire w = model_wire(m, info, e);
    bool has_type = false, has_tensor = false;
    for (Field f; wire_next(&w, &f);) {
        if (f.number != VALUE_INFO_TYPE || !wire_want(&w, &f, WIRE_BYTES) ||
            !wire_once(&w, &f, &has_type))
            continue;
        Wire type = wire_inner(&w, f.bytes);
        for (Field k; wire_next(&type, &k);)
            if (k.number == TYPE_TENSOR_TYPE &&
                (!wire_want(&type, &k, WIRE_BYTES) || !wire_once(&type, &k, &has_tensor) ||
                 !read_tensor_type(m, wire_inner(&w, k.bytes), name, input, t)))
                return false;
        if (type.failed) return false;
    }
    if (input && m->open.size && t->dtype != DT_NONE && !t->known) rank_from_caller(m, name, t);
    if (t->dtype == DT_NONE || t->dim.n > RANK_MAX) t->known = false, t->dim.n = 0;
    return !w.failed;
}

Value constant_copied(World *w, DType dtype, Dims dim, const void *bytes) {
    const Type type = {.dtype = dtype, .known = true, .dim = dim};
    int64_t count = 0;
    poly_constant(w, type_count(w, &type), &count);
    const size_t n = element_bytes(dtype, count);
    return constant_make(w, &type, blob_put(w, arena_copy(w->arena, bytes, n), n));
}
enum { ELEMENT_BYTES = 16 }; /* enough for one element of any type */
Value constant_integer(World *w, DType dtype, int64_t number) {
    char bytes[ELEMENT_BYTES] = {0};
    element_set_integer(dtype, bytes, 0, number);
    return constant_copied(w, dtype, (Dims){0}, bytes);
}
Value constant_real(World *w, DType dtype, double number) {
    char bytes[ELEMENT_BYTES] = {0};
    element_set_real(dtype, bytes, 0, number);
    return constant_copied(w, dtype, (Dims){0}, bytes);
}

/* Returns elements aligned for their type: small tensors are copied if the file does not align
   them; large ones stay in the mapped file in any case. */
static const unsigned char *aligned(Model *m, Slice s, DType d) {
    enum { SMALL = 1 << 16 };
    size_t width = (size_t)dtype_bits(d) / 8;
    return s.n > SMALL || width < 2 || (uintptr_t)s.at % (width < 8 ? width : 8) == 0
               ? s.at
               : arena_copy(m->w->arena, s.at, s.n);
}

bool tensor_constant(Model *m, const FileTensor *t, Value *out, Error *e) {
    Type type;
    Slice bytes;
    *out = 0;
    if (t->dtype == DT_STRING || !tensor_type(m->w, t, &type)) return true;
    const char *place =
        arena_format(m->w->arena, "%s: tensor '%s'", m->path, slice_text(m->w->arena, t->name));
    Blob blob;
    if (external_blob(m, t, &blob, place, e)) {
        if (blob) *out = constant_make(m->w, &type, blob);
        return blob != 0;
    }
    Wire w = wire_new(t->message, m->x.bytes.at, place, e);
    bool ok = t->location.at ? external_bytes(m, t, &bytes, place, e)
                             : tensor_bytes(m->w->arena, t, &w, &bytes);
    if (ok) bytes.at = aligned(m, bytes, type.dtype);
    if (ok) *out = constant_make(m->w, &type, blob_put(m->w, bytes.at, bytes.n));
    return ok;
}
