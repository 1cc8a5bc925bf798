/* type.c -- the table of element types, and tensor types as records of TABLE_TYPE: the struct Type
   with unused members zeroed. */
#include "ops/core/type.h"
#include <math.h>
#include <string.h>

typedef struct DTypeRow {
    const char *name;
    int bits;
    char class;
} DTypeRow;
static const DTypeRow rows[DT_COUNT] = {
#define X(id, onnx, name, bits, class) [id] = {name, bits, class},
    DTYPES(X)
#undef X
};

static bool valid(DType d) { return (unsigned)d < DT_COUNT; }

const char *dtype_name(DType d) { return valid(d) ? rows[d].name : "?"; }
int dtype_bits(DType d) { return valid(d) ? rows[d].bits : 0; }
char dtype_class(DType d) { return valid(d) ? rows[d].class : '-'; }
bool dtype_is_integer(DType d) { return dtype_class(d) == 'I' || dtype_class(d) == 'U'; }
bool dtype_is_byte(int dtype) { return dtype == DT_INT8 || dtype == DT_UINT8; }

IntegerRange dtype_range(DType d) {
    const int bits = dtype_bits(d);
    switch (dtype_class(d)) {
    case 'I': return (IntegerRange){INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits)};
    case 'U': return (IntegerRange){0, bits == 64 ? INT64_MAX : (INT64_C(1) << bits) - 1};
    case 'B': return (IntegerRange){0, 1};
    default: return (IntegerRange){0, -1};
    }
}

int dtype_digits(DType d) {
    static const int8_t digits[DT_COUNT] = {
        [DT_FLOAT] = 24,     [DT_DOUBLE] = 53,        [DT_FLOAT16] = 11,
        [DT_BFLOAT16] = 8,   [DT_FLOAT8E4M3FN] = 4,   [DT_FLOAT8E4M3FNUZ] = 4,
        [DT_FLOAT8E5M2] = 3, [DT_FLOAT8E5M2FNUZ] = 3, [DT_FLOAT4E2M1] = 2,
        [DT_FLOAT8E8M0] = 1,
    };
    return valid(d) ? digits[d] : 0;
}
double dtype_roundoff(DType d) { return valid(d) ? ldexp(1, -dtype_digits(d)) : 0; }

DType dtype_parse(const char *name) {
    for (int d = DT_NONE + 1; d < DT_COUNT; d++)
        if (!strcmp(rows[d].name, name)) return (DType)d;
    return DT_NONE;
}

TypeId type_intern(World *w, const Type *t) {
    Type r;
    memset(&r, 0, sizeof r);
    r.dtype = t->dtype;
    r.known = t->known;
    if (t->known) {
        r.dim.n = t->dim.n;
        memcpy(r.dim.v, t->dim.v, (size_t)t->dim.n * sizeof *r.dim.v);
    }
    return intern_put(w->table[TABLE_TYPE], &r, sizeof r);
}

const Type *type_get(const World *w, TypeId id) {
    return intern_get(w->table[TABLE_TYPE], id, NULL);
}

Poly type_count(World *w, const Type *t) {
    Poly n = poly_int(w, 1);
    for (int i = 0; i < t->dim.n; i++) n = poly_mul(w, n, t->dim.v[i]);
    return n;
}

bool dims_equal(const Dims *a, const Dims *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->v[i] != b->v[i]) return false;
    return true;
}

void type_print(const World *w, const Type *t, Text *out) {
    text_add(out, t->known ? "%s [" : "%s ?", dtype_name(t->dtype));
    for (int i = 0; t->known && i < t->dim.n; i++) {
        if (i) text_add(out, ", ");
        poly_print(w, t->dim.v[i], out);
    }
    if (t->known) text_add(out, "]");
}

static bool parse_dtype(Scan *s, DType *out) {
    char name[16];
    *out = DT_NONE;
    if (scan_char(s, '?')) return true;
    const char *at = s->at;
    if (!scan_name(s, name, sizeof name)) return scan_fail(s, at, "expected an element type");
    *out = dtype_parse(name);
    return *out != DT_NONE || scan_fail(s, at, "unknown element type %s", name);
}

bool type_parse(World *w, Scan *s, Type *out) {
    memset(out, 0, sizeof *out);
    if (!parse_dtype(s, &out->dtype)) return false;
    if (scan_char(s, '?')) return true;
    if (!scan_char(s, '[')) return scan_fail(s, s->at, "expected [ and the sizes, or ?");
    out->known = true;
    if (scan_char(s, ']')) return true;
    do {
        if (out->dim.n == RANK_MAX) return scan_fail(s, s->at, "more than %d axes", RANK_MAX);
        if (!poly_parse(w, s, &out->dim.v[out->dim.n])) return false;
        out->dim.n++;
    } while (scan_char(s, ','));
    return scan_char(s, ']') || scan_fail(s, s->at, "expected ]");
}
