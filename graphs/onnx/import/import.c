/* import.c -- the functions with which the items of the operators' tables read the ONNX node that
   is being imported and set up the node that is made of it. */
#include "graphs/onnx/import/import.h"
#include "ops/core/element.h"
#include "graphs/shapevalue.h"
#include "onnx.pb-c.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool import_fail(Import *s, const char *format, ...) {
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (!s->why) s->why = arena_string(s->w->arena, text, strlen(text));
    return false;
}

/* Make protobuf-c decode into the arena. */
static void *pb_alloc(void *arena, size_t n) { return arena_alloc(arena, n); }
static void pb_free(void *arena, void *p) { (void)arena, (void)p; }

static const char *const *decode_texts(Arena *a, const Onnx__AttributeProto *p) {
    const char **texts = ARENA_NEW(a, const char *, p->n_strings);
    for (size_t k = 0; k < p->n_strings; k++)
        texts[k] = arena_string(a, (const char *)p->strings[k].data, p->strings[k].len);
    return texts;
}

/* The kind that the attribute states or, in old files that state none, the kind of its contents. */
static OnnxAttrKind kind_of(const AttrSlice *x, const Onnx__AttributeProto *p) {
    static const OnnxAttrKind known[] = {ONNX_ATTR_FLOAT,  ONNX_ATTR_INT,   ONNX_ATTR_TEXT,
                                         ONNX_ATTR_FLOATS, ONNX_ATTR_TEXTS, ONNX_ATTR_INTS};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (x->type == known[k]) return known[k];
    return x->type        ? ONNX_ATTR_OTHER
           : p->has_f     ? ONNX_ATTR_FLOAT
           : p->has_i     ? ONNX_ATTR_INT
           : p->has_s     ? ONNX_ATTR_TEXT
           : p->n_floats  ? ONNX_ATTR_FLOATS
           : p->n_strings ? ONNX_ATTR_TEXTS
           : p->n_ints    ? ONNX_ATTR_INTS
                          : ONNX_ATTR_OTHER;
}

static bool decode_attr(Arena *a, const AttrSlice *x, OnnxAttr *t) {
    *t = (OnnxAttr){.kind = ONNX_ATTR_OTHER, .tensor = x->tensor};
    if (x->tensor.at) t->kind = ONNX_ATTR_TENSOR;
    if (!x->small) return true;
    ProtobufCAllocator arena = {pb_alloc, pb_free, a};
    Onnx__AttributeProto *p = onnx__attribute_proto__unpack(&arena, x->whole.n, x->whole.at);
    if (!p) return false;
    t->i = p->i, t->f = p->f, t->ints = p->ints, t->floats = p->floats;
    t->text = arena_string(a, p->s.data ? (const char *)p->s.data : "", p->s.len);
    t->kind = kind_of(x, p);
    if (t->kind == ONNX_ATTR_FLOATS) t->n = (int)p->n_floats;
    if (t->kind == ONNX_ATTR_INTS) t->n = (int)p->n_ints;
    if (t->kind == ONNX_ATTR_TEXTS) t->n = (int)p->n_strings, t->texts = decode_texts(a, p);
    return true;
}

bool onnx_attr(Import *s, const char *name, OnnxAttr *out) {
    for (int k = 0; k < s->n->x.nattr && k < ATTRS_NAMED; k++)
        if (slice_is(s->n->x.attr[k].name, name)) {
            s->known_attrs |= 1ull << k;
            return decode_attr(s->w->arena, &s->n->x.attr[k], out) ||
                   import_fail(s, "attribute %s is damaged", name);
        }
    *out = (OnnxAttr){.kind = ONNX_ATTR_NONE};
    return false;
}

int64_t onnx_attr_int(Import *s, const char *name, int64_t otherwise) {
    OnnxAttr t;
    if (!onnx_attr(s, name, &t)) return otherwise;
    if (t.kind != ONNX_ATTR_INT) import_fail(s, "attribute %s is not an integer", name);
    return t.i;
}

const char *onnx_attr_text(Import *s, const char *name, const char *otherwise) {
    OnnxAttr t;
    if (!onnx_attr(s, name, &t)) return otherwise;
    if (t.kind == ONNX_ATTR_TEXT) return t.text;
    import_fail(s, "attribute %s is not a string", name);
    return otherwise;
}

bool onnx_attr_list(const OnnxAttr *t, PolyList *out, Import *s) {
    int n = t->kind == ONNX_ATTR_INT ? 1 : t->n;
    if (t->kind != ONNX_ATTR_INT && t->kind != ONNX_ATTR_INTS)
        return import_fail(s, "an attribute that is not a list of integers");
    Poly *v = ARENA_NEW(s->w->arena, Poly, n);
    for (int i = 0; i < n; i++) v[i] = poly_int(s->w, t->kind == ONNX_ATTR_INT ? t->i : t->ints[i]);
    *out = (PolyList){n, v};
    return true;
}

int op_attr_index(const Op *op, const char *name) {
    return op->attrs ? attrs_find(op->attrs, name) : -1;
}

const Type *import_type(Import *s, Value v) {
    const Type *t = v ? value_type(s->w, v) : NULL;
    if (t && t->known) return t;
    return import_fail(s, "the sizes of an input are not known"), NULL;
}

const Dims *import_dims(Import *s, int input) {
    const Type *t = input < s->nin ? import_type(s, s->in[input]) : NULL;
    return t ? &t->dim : (import_fail(s, "input %d is missing", input), NULL);
}

bool import_data(Import *s, Value v, Type *t, const void **bytes) {
    const OpenOptions *open = &s->m->open;
    if (!v) return false;
    if (constant_get(s->w, v, t, bytes)) return true;
    const Value known = value_constant(s->w, v); /* known from sizes alone, whatever the data is */
    return known ? constant_get(s->w, known, t, bytes)
                 : open->value && open->value(open->value_user, s->m, v, t, bytes);
}

bool first_integer(World *w, const Type *t, const void *bytes, int64_t *out) {
    int64_t n;
    if (!poly_constant(w, type_count(w, t), &n) || n < 1 || !element_readable(t->dtype))
        return false;
    return *out = element_integer(t->dtype, bytes, 0), true;
}
bool import_number(Import *s, Value v, int64_t *out) {
    Type t;
    const void *bytes;
    return import_data(s, v, &t, &bytes) && first_integer(s->w, &t, bytes, out);
}

static bool elements_at_hand(Import *s, Value v, PolyList *out) {
    enum { MANY = 1 << 16 };
    Type t;
    const void *bytes;
    int64_t n;
    if (!import_data(s, v, &t, &bytes) || !poly_constant(s->w, type_count(s->w, &t), &n) ||
        n > MANY)
        return false;
    Poly *list = ARENA_NEW(s->w->arena, Poly, n);
    for (int64_t j = 0; j < n; j++) {
        const int64_t number = element_integer(t.dtype, bytes, j);
        list[j] = poly_int(s->w, number);
        if (dtype_class(t.dtype) == 'F' ? element_real(t.dtype, bytes, j) != (double)number
                                        : !element_holds(t.dtype, number))
            return false;
    }
    return *out = (PolyList){(int)n, list}, true;
}

void import_take(Import *s, int k) {
    if (k < INPUTS_TAKEN) s->consumed_inputs |= 1ull << k;
    else import_fail(s, "more than %d inputs", INPUTS_TAKEN);
}
bool input_list(Import *s, int k, PolyList *out) {
    if (k >= s->nin || !s->in[k]) return false;
    import_take(s, k);
    if (!import_type(s, s->in[k])) return false;
    const DType type = value_type(s->w, s->in[k])->dtype;
    const bool numbers = dtype_is_integer(type) || dtype_class(type) == 'F';
    if (numbers && (value_elements(s->w, s->in[k], out) || elements_at_hand(s, s->in[k], out)))
        return true;
    return import_fail(s, "input %d is not a list of known whole numbers", k);
}

bool list_from(Import *s, const char *name, int input, PolyList *out) {
    OnnxAttr t;
    if (name && onnx_attr(s, name, &t)) return onnx_attr_list(&t, out, s);
    return input >= 0 && input_list(s, input, out);
}

void give_ints(Import *s, int attr, int n, const Poly *v) {
    s->attr[attr].ints = (PolyList){n, arena_copy(s->w->arena, v, sizeof *v * (size_t)n)};
    s->given[attr] = true;
}

bool number_at(Import *s, PolyList list, int k, int64_t *out) {
    return poly_constant(s->w, list.v[k], out) ||
           import_fail(s, "a number that depends on sizes where ONNX needs a constant");
}

void import_halves(World *w, int64_t all, bool upper, Poly *begin, Poly *end) {
    *begin = poly_int(w, upper ? all / 2 : all - all / 2);
    *end = poly_int(w, upper ? all - all / 2 : all / 2);
}

bool import_axis(Import *s, int64_t axis, int rank, int *out) {
    *out = (int)(axis < 0 ? axis + rank : axis);
    return (axis >= -rank && axis < rank) ||
           import_fail(s, "axis %" PRId64 " is out of range for a rank of %d", axis, rank);
}
bool import_axis_of(Import *s, PolyList axes, int k, int rank, int *out) {
    int64_t axis;
    return number_at(s, axes, k, &axis) && import_axis(s, axis, rank, out);
}

bool import_distinct_axes(Import *s, PolyList axes, int rank, bool seen[]) {
    for (int k = 0, a; k < axes.n; k++) {
        if (!import_axis_of(s, axes, k, rank, &a)) return false;
        if (seen[a]) return import_fail(s, "an axis is given twice");
        seen[a] = true;
    }
    return true;
}

bool import_matrix(Import *s, const Dims *x, int64_t at, Dims *matrix) {
    int first = x->n; /* the first column */
    if (at != x->n && !import_axis(s, at, x->n, &first)) return false;
    *matrix = (Dims){2, {poly_int(s->w, 1), poly_int(s->w, 1)}};
    for (int k = 0; k < x->n; k++)
        matrix->v[k >= first] = poly_mul(s->w, matrix->v[k >= first], x->v[k]);
    return true;
}

/* Returns the shortest decimal p / 10^k that rounds to the same number of the type as the value, or
   the exact value if the rational would be too large. */
static Ex real_shortest(World *w, double value, DType type) {
    const double nearest = element_nearest(type, value);
    char text[40];
    int digits = 1;
    if (value == 0) return ex_real(w, value);
    do snprintf(text, sizeof text, "%.*e", digits - 1, value);
    while (digits++ < 17 && element_nearest(type, strtod(text, NULL)) != nearest);
    int64_t p = 0, q = 1;
    int decimals = 0, exponent = atoi(strchr(text, 'e') + 1);
    bool fraction = false; /* the digits after the point */
    for (const char *c = text; *c != 'e'; c++) {
        if (isdigit((unsigned char)*c)) p = 10 * p + (*c - '0'), decimals += fraction;
        else if (*c != '-') fraction = true;
    }
    for (; p && p % 10 == 0 && decimals > 0; decimals--) p /= 10;
    int shift = exponent - decimals;
    if (digits > 17 || shift > 6 || shift < -15) return ex_real(w, value);
    for (; shift > 0; shift--)
        if (__builtin_mul_overflow(p, 10, &p)) return ex_real(w, value);
    for (; shift < 0; shift++) q *= 10;
    return ex_rational(w, value < 0 ? -p : p, q);
}

Ex element_number(World *w, DType type, double value) {
    if (dtype_class(type) != 'F') return ex_rational(w, (int64_t)value, 1);
    return real_shortest(w, value, type);
}

/* The greatest float32, as the default of an attribute that means no bound, is written with eight
   digits or so: it lies between these. */
static const double NO_BOUND_FROM = 3.4028234e38, NO_BOUND_TO = 3.4028235e38;

/* Whether no bound in the direction of v can be stated as this attribute: its default is the
   greatest float32 of the same sign. */
static bool has_no_bound(const AttrDef *d, double v) {
    const double none = d->init ? strtod(d->init, NULL) : 0;
    return fabs(none) >= NO_BOUND_FROM && signbit(none) == signbit(v);
}
/* Whether an infinite bound means no bound. */
static bool means_none(const AttrDef *d, double v) { return isinf(v) && has_no_bound(d, v); }
/* Whether a bound of doubles would be taken for none, though doubles lie beyond it. */
static bool taken_for_none(const AttrDef *d, DType type, double v) {
    return type == DT_DOUBLE && fabs(v) >= NO_BOUND_FROM && fabs(v) <= NO_BOUND_TO &&
           has_no_bound(d, v);
}
static bool give_real(Import *s, int attr, double v, DType type) {
    if (means_none(&s->op->attrs[attr], v)) return true;
    if (!isfinite(v))
        return import_fail(s, "an infinite or undefined number as %s", s->op->attrs[attr].name);
    s->attr[attr].real = element_number(s->w, type, v);
    return s->given[attr] = true;
}

static bool give_word(Import *s, int attr, const OnnxAttr *t) {
    const char *words = s->op->attrs[attr].words;
    size_t n = t->kind == ONNX_ATTR_TEXT ? strlen(t->text) : 0;
    int number = 0;
    for (const char *at = words; *(at += strspn(at, " ")); number++) {
        size_t length = strcspn(at, " ");
        bool same = t->kind == ONNX_ATTR_INT ? t->i == number
                                             : n == length && strncasecmp(at, t->text, n) == 0;
        if (same) return s->attr[attr].enum_value = number, s->given[attr] = true;
        at += length;
    }
    return import_fail(s, "attribute %s has an unknown value", s->op->attrs[attr].name);
}

/* Whether an input has doubles, with which a float attribute counts as the float that it is, not as
   the shortest decimal number that rounds to it. */
static bool has_doubles(const Import *s) {
    for (int k = 0; k < s->nin; k++) {
        const Type *t = s->in[k] ? value_type(s->w, s->in[k]) : NULL;
        if (t && t->known && t->dtype == DT_DOUBLE) return true;
    }
    return false;
}
void default_as_float(Import *s, int attr) {
    const AttrDef *d = &s->op->attrs[attr];
    Attr none;
    double x;
    if (d->kind != A_REAL || !has_doubles(s) || !attr_default(s->w, d, 0, &none) ||
        !ex_number(s->w, none.real, &x) || element_nearest(DT_FLOAT, x) == x)
        return;
    s->attr[attr].real = ex_real(s->w, element_nearest(DT_FLOAT, x));
    s->given[attr] = true;
}
bool give_attr(Import *s, int attr, const OnnxAttr *t) {
    const AttrDef *d = &s->op->attrs[attr];
    PolyList list;
    if (d->kind == A_ENUM) return give_word(s, attr, t);
    if (d->kind == A_REAL && (t->kind == ONNX_ATTR_FLOAT || t->kind == ONNX_ATTR_INT))
        return give_real(s, attr, t->kind == ONNX_ATTR_INT ? (double)t->i : (double)t->f,
                         has_doubles(s) ? DT_DOUBLE : DT_FLOAT);
    if (d->kind == A_DTYPE && t->kind == ONNX_ATTR_INT && t->i > 0 && t->i < DT_COUNT)
        return s->attr[attr].enum_value = (int)t->i, s->given[attr] = true;
    if (d->kind != A_INT && d->kind != A_INTS)
        return import_fail(s, "attribute %s has the wrong type", d->name);
    if (!onnx_attr_list(t, &list, s)) return false;
    give_ints(s, attr, list.n, list.v);
    return d->kind == A_INTS || list.n == 1 || import_fail(s, "attribute %s is a list", d->name);
}

/* The infinity for which a limit of int64 or uint64 stands; 0 for other integers. */
static double limitless(DType type, const void *bytes) {
    const int64_t n = element_integer(type, bytes, 0);
    if (type == DT_UINT64) return n == -1 ? INFINITY : 0;
    return type != DT_INT64 ? 0 : n == INT64_MAX ? INFINITY : n == INT64_MIN ? -INFINITY : 0;
}
/* Gives a number that is an element of a tensor. */
static bool give_element(Import *s, int attr, int k, DType type, const void *bytes) {
    double x;
    if (dtype_class(type) != 'F' && means_none(&s->op->attrs[attr], limitless(type, bytes)))
        return true;
    if (!element_exact(type, bytes, 0, &x))
        return import_fail(s, "input %d is an integer that no double holds", k);
    if (taken_for_none(&s->op->attrs[attr], type, x))
        return import_fail(s, "input %d is the greatest float32, which stands for no bound", k);
    return give_real(s, attr, x, type);
}
bool give_input(Import *s, int attr, int k) {
    const AttrDef *d = &s->op->attrs[attr];
    if (k >= s->nin || !s->in[k]) return true;
    PolyList list;
    if (d->kind == A_INT || d->kind == A_INTS) {
        if (!input_list(s, k, &list)) return false;
        give_ints(s, attr, list.n, list.v);
        return d->kind == A_INTS || list.n == 1 ||
               import_fail(s, "input %d is not a single number", k);
    }
    Type type;
    const void *bytes;
    int64_t count = 0;
    import_take(s, k);
    if (!import_data(s, s->in[k], &type, &bytes))
        return import_fail(s, "input %d is not a constant", k);
    if (!poly_constant(s->w, type_count(s->w, &type), &count) || count != 1 ||
        !element_readable(type.dtype))
        return import_fail(s, "input %d is not a single number", k);
    if (d->kind == A_REAL) return give_element(s, attr, k, type.dtype, bytes);
    OnnxAttr t = {.kind = ONNX_ATTR_INT, .i = element_integer(type.dtype, bytes, 0)};
    return give_attr(s, attr, &t);
}
