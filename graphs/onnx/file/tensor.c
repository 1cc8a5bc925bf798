/* tensor.c -- reads and writes TensorProto. raw_data stays where it is. The typed arrays
   (float_data, int32_data, ..), packed or not, hold each element as a number of the array's own
   width; they are converted into the bytes that raw_data would have. */
#include "graphs/onnx/file/tensor.h"
#include "ops/core/element.h"
#include <string.h>

/* The numbers in one occurrence of a repeated field: a packed list, or a single number. */
typedef struct Numbers {
    Wire packed;
    /* The occurrence is a single number, which was not returned yet. */
    bool one;
    uint64_t value;
    WireKind kind;
} Numbers;
/* Starts the iteration. Fails if the field holds a single number of another wire kind. */
static bool numbers_of(Wire *w, const Field *f, WireKind kind, Numbers *out) {
    if (f->kind != WIRE_BYTES && !wire_want(w, f, kind)) return false;
    *out = f->kind == WIRE_BYTES ? (Numbers){.packed = wire_inner(w, f->bytes), .kind = kind}
                                 : (Numbers){.one = true, .value = f->value, .kind = kind};
    return true;
}

/* Returns the next number of the occurrence. */
static bool number_next(Wire *w, Numbers *s, uint64_t *out) {
    if (s->one) return *out = s->value, s->one = false, true;
    if (!s->packed.rest.n) return false;
    const bool whole = s->kind == WIRE_VARINT
                           ? wire_varint(&s->packed, out)
                           : wire_fixed(&s->packed, s->kind == WIRE_FIXED32 ? 4 : 8, out);
    w->failed |= !whole;
    return whole;
}

static bool add_dims(Arena *a, Wire *w, const Field *f, FileTensor *t) {
    Numbers s;
    if (!numbers_of(w, f, WIRE_VARINT, &s)) return false;
    int64_t *dims = (int64_t *)(uintptr_t)t->dims;
    for (uint64_t v; number_next(w, &s, &v);) {
        ARENA_APPEND(a, dims, t->rank, (int64_t)v);
        t->dims = dims;
        if ((int64_t)v < 0) return wire_fail(w, f->whole.at, "a tensor with a negative size");
        if (!elements_multiply(&t->count, (int64_t)v))
            return wire_fail(w, f->whole.at, "a tensor that is too large");
    }
    return !w->failed;
}

bool tensor_read_external(Wire w, FileTensor *t) {
    Slice key, value;
    if (!wire_read_bytes(w, STRING_STRING_ENTRY_KEY, &key) ||
        !wire_read_bytes(w, STRING_STRING_ENTRY_VALUE, &value))
        return false;
    if (slice_is(key, "location")) t->location = value;
    if (slice_is(key, "offset")) t->offset = value;
    if (slice_is(key, "length")) t->length = value;
    return true;
}

bool tensor_read(Arena *a, Wire w, FileTensor *t) {
    *t = (FileTensor){.count = 1, .message = w.rest};
    bool external = false;
    Wire start = w;
    for (Field f; wire_next(&w, &f);) {
        if (f.number == TENSOR_DIMS && !add_dims(a, &w, &f, t)) return false;
        if (f.number == TENSOR_DATA_TYPE && wire_want(&w, &f, WIRE_VARINT))
            t->dtype = f.value < DT_COUNT ? (DType)f.value : DT_NONE;
        if (f.number == TENSOR_NAME && wire_want(&w, &f, WIRE_BYTES)) t->name = f.bytes;
        if (f.number == TENSOR_RAW_DATA && wire_want(&w, &f, WIRE_BYTES)) t->raw = f.bytes;
        if (f.number == TENSOR_EXTERNAL_DATA && wire_want(&w, &f, WIRE_BYTES) &&
            !tensor_read_external(wire_inner(&w, f.bytes), t))
            return false;
        if (f.number == TENSOR_DATA_LOCATION && wire_want(&w, &f, WIRE_VARINT))
            external = f.value == TENSOR_EXTERNAL;
        if (f.number == TENSOR_SEGMENT)
            return wire_fail(&w, f.whole.at, "a tensor in segments, which ONNX no longer supports");
    }
    t->bad_type = t->dtype == DT_NONE;
    if (external && !t->location.at)
        return wire_fail(&start, start.rest.at, "a tensor with external data but no location");
    if (!external) t->location = (Slice){0};
    return !w.failed;
}

bool tensor_type(World *w, const FileTensor *t, Type *out) {
    *out = (Type){.dtype = t->dtype};
    if (t->rank > RANK_MAX || t->bad_type) return false;
    out->known = true;
    out->dim.n = t->rank;
    for (int i = 0; i < t->rank; i++) out->dim.v[i] = poly_int(w, t->dims[i]);
    return true;
}

/* The typed array that holds the elements of a type, and the number of bytes that each of its
   numbers stands for: a complex number is two numbers of the array, and types below 8 bits are
   packed into bytes. */
typedef struct TypedArray {
    uint32_t number;
    WireKind kind;
    size_t width;
} TypedArray;
static bool array_of(DType d, TypedArray *x) {
    const int bits = dtype_bits(d);
    *x = (TypedArray){TENSOR_INT32_DATA, WIRE_VARINT, bits < 8 ? 1 : (size_t)bits / 8};
    if (d == DT_FLOAT || d == DT_COMPLEX64) *x = (TypedArray){TENSOR_FLOAT_DATA, WIRE_FIXED32, 4};
    if (d == DT_DOUBLE || d == DT_COMPLEX128)
        *x = (TypedArray){TENSOR_DOUBLE_DATA, WIRE_FIXED64, 8};
    if (d == DT_INT64) x->number = TENSOR_INT64_DATA;
    if (d == DT_UINT32 || d == DT_UINT64) x->number = TENSOR_UINT64_DATA;
    return bits > 0;
}

/* Converts the numbers of a typed array into bytes; they must fill exactly `want` bytes. */
static bool array_bytes(Wire w, TypedArray x, size_t want, unsigned char *bytes) {
    const unsigned char *start = w.rest.at;
    size_t have = 0;
    for (Field f; wire_next(&w, &f);) {
        if (f.number != x.number) continue;
        Numbers s;
        if (!numbers_of(&w, &f, x.kind, &s)) return false;
        for (uint64_t v; number_next(&w, &s, &v); have += x.width) {
            if (have + x.width > want)
                return wire_fail(&w, f.whole.at, "a tensor with more data than its sizes require");
            for (size_t i = 0; i < x.width; i++) bytes[have + i] = (unsigned char)(v >> (8 * i));
        }
    }
    if (!w.failed && have != want)
        return wire_fail(&w, start, "a tensor with less data than its sizes require");
    return !w.failed;
}

bool tensor_bytes(Arena *a, const FileTensor *t, const Wire *at, Slice *out) {
    const size_t want = element_bytes(t->dtype, t->count);
    TypedArray array;
    Wire w = wire_inner(at, t->message);
    if (t->raw.at || !want) {
        *out = (Slice){t->raw.at ? t->raw.at : t->message.at, t->raw.n};
        return t->raw.n == want ||
               wire_fail(&w, t->message.at,
                         "a tensor whose raw_data does not have the length that its sizes require");
    }
    if (!array_of(t->dtype, &array)) return wire_fail(&w, t->message.at, "a tensor without data");
    if (want / array.width > t->message.n) /* each number takes at least one byte */
        return wire_fail(&w, t->message.at, "a tensor with less data than its sizes require");
    unsigned char *bytes = arena_alloc_raw(a, want);
    *out = (Slice){bytes, want};
    return array_bytes(w, array, want, bytes);
}

void tensor_put(Text *out, const char *name, const Type *type, const int64_t *dims,
                const void *bytes, size_t n) {
    for (int i = 0; i < type->dim.n; i++) wire_put_int(out, TENSOR_DIMS, (uint64_t)dims[i]);
    wire_put_int(out, TENSOR_DATA_TYPE, (uint64_t)type->dtype);
    if (name) wire_put_bytes(out, TENSOR_NAME, name, strlen(name));
    if (bytes) wire_put_bytes(out, TENSOR_RAW_DATA, bytes, n);
}

void tensor_put_length(Text *out, size_t n) { wire_put_length(out, TENSOR_RAW_DATA, n); }

/* Writes an entry of TensorProto.external_data. */
static void put_external_entry(Arena *a, Text *out, const char *key, const char *value) {
    Text t = text_new(a);
    wire_put_bytes(&t, STRING_STRING_ENTRY_KEY, key, strlen(key));
    wire_put_bytes(&t, STRING_STRING_ENTRY_VALUE, value, strlen(value));
    wire_put_bytes(out, TENSOR_EXTERNAL_DATA, t.data, t.size);
}
void tensor_put_external(Arena *a, Text *out, const char *location, size_t offset, size_t n) {
    put_external_entry(a, out, "location", location);
    put_external_entry(a, out, "offset", arena_format(a, "%zu", offset));
    put_external_entry(a, out, "length", arena_format(a, "%zu", n));
    wire_put_int(out, TENSOR_DATA_LOCATION, TENSOR_EXTERNAL);
}

void value_info_put(Arena *a, Text *out, const char *name, DType dtype, int rank,
                    const int64_t *dims, const char *const *names) {
    Text shape = text_new(a), tensor = text_new(a), kind = text_new(a);
    for (int k = 0; k < rank; k++) {
        Text dim = text_new(a);
        if (names && names[k])
            wire_put_bytes(&dim, DIMENSION_DIM_PARAM, names[k], strlen(names[k]));
        else wire_put_int(&dim, DIMENSION_DIM_VALUE, (uint64_t)dims[k]);
        wire_put_bytes(&shape, TENSOR_SHAPE_DIM, dim.data, dim.size);
    }
    wire_put_int(&tensor, TENSOR_ELEM_TYPE, (uint64_t)dtype);
    wire_put_bytes(&tensor, TENSOR_SHAPE, shape.data ? shape.data : "", shape.size);
    wire_put_bytes(&kind, TYPE_TENSOR_TYPE, tensor.data, tensor.size);
    wire_put_bytes(out, VALUE_INFO_NAME, name, strlen(name));
    wire_put_bytes(out, VALUE_INFO_TYPE, kind.data, kind.size);
}
