/* text_constant.c -- parses, builds and prints constants of the text form: {0.5, 1}, splat(0.5),
   seed(7), hex"3f80..". Contents made from a seed remember it, so that they are printed as they
   were written. Otherwise equal elements are printed as splat, up to LIST_MAX elements as a list,
   and all else as hex in memory order (little endian). */
#include "graphs/text_constant.h"
#include "ops/core/element.h"
#include "ops/base/random.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_MAX = 16, ELEMENTS_MAX = 1 << 28 };

/* ---- hexadecimal */

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool hex_parse(Scan *s, Arena *a, const void **bytes, size_t *n) {
    scan_blank(s);
    const char *start = s->at, *p = start + 4;
    if (s->end - start < 5 || memcmp(start, "hex\"", 4)) return false;
    const char *quote = memchr(p, '"', (size_t)(s->end - p));
    if (!quote || (quote - p) % 2)
        return scan_fail(s, start, "hex\"..\" holds pairs of digits up to a closing quote");
    unsigned char *out = arena_alloc_raw(a, (size_t)(quote - p) / 2 + 1);
    for (*n = 0; p < quote; p += 2) {
        if (hex_digit(p[0]) < 0 || hex_digit(p[1]) < 0)
            return scan_fail(s, p, "not a hexadecimal digit");
        out[(*n)++] = (unsigned char)(hex_digit(p[0]) * 16 + hex_digit(p[1]));
    }
    *bytes = out;
    s->at = quote + 1;
    return true;
}

void hex_print(const void *bytes, size_t n, Text *t) {
    text_add(t, "hex\"");
    for (size_t k = 0; k < n; k++) {
        char pair[2] = {"0123456789abcdef"[((const unsigned char *)bytes)[k] >> 4],
                        "0123456789abcdef"[((const unsigned char *)bytes)[k] & 15]};
        text_bytes(t, pair, 2);
    }
    text_add(t, "\"");
}

/* ---- parsing */

static bool integral(DType t) { return dtype_class(t) != 'F'; }

static bool elements_parse(Arena *a, Scan *s, LineConstant *c, char close) {
    int room = 0;
    double *real = NULL;
    int64_t *integer = NULL;
    while (!scan_char(s, close)) {
        int before = room;
        ARENA_GROW(a, real, before, c->n + 1);
        ARENA_GROW(a, integer, room, c->n + 1);
        c->real = real;
        c->integer = integer;
        if (integral(c->type.dtype) ? !scan_int(s, &integer[c->n]) : !scan_real(s, &real[c->n]))
            return s->error && s->error->kind ? false : scan_fail(s, s->at, "expected a number");
        c->n++;
        if (!scan_char(s, ',') && (scan_blank(s), s->at >= s->end || *s->at != close))
            return scan_fail(s, s->at, "expected , or %c", close);
    }
    return true;
}

static bool payload_parse(World *w, Arena *a, Scan *s, LineConstant *c) {
    int64_t seed;
    if (scan_char(s, '{')) return elements_parse(a, s, c, '}');
    if (hex_parse(s, w->arena, &c->bytes, &c->size)) {
        c->form = CONSTANT_HEX;
        return true;
    }
    if (s->error && s->error->kind) return false;
    c->form = scan_word(s, "splat") ? CONSTANT_SPLAT : CONSTANT_SEED;
    if (c->form == CONSTANT_SPLAT && scan_char(s, '('))
        return elements_parse(a, s, c, ')') &&
               (c->n == 1 || scan_fail(s, c->at, "splat takes exactly one number"));
    if (scan_word(s, "seed") && scan_char(s, '(') && scan_int(s, &seed) && scan_char(s, ')')) {
        c->seed = (uint64_t)seed;
        return true;
    }
    return scan_fail(s, s->at, "expected {..}, splat(number), seed(number) or hex\"..\"");
}

bool constant_parse(World *w, Arena *a, Scan *s, LineConstant **out) {
    LineConstant *c = *out = ARENA_NEW(a, LineConstant, 1);
    scan_blank(s);
    c->at = s->at;
    if (!type_parse(w, s, &c->type))
        return s->error && s->error->kind ? false : scan_fail(s, s->at, "expected a type");
    return payload_parse(w, a, s, c);
}

/* ---- building */

static double seeded(DType t, uint64_t seed, int64_t i) {
    int bits = t == DT_FLOAT16    ? 11
               : t == DT_BFLOAT16 ? 8
                                  : 24; /* as many as the type holds without rounding */
    return ldexp((double)(random_at(seed, (uint64_t)i) >> (64 - bits)), 1 - bits) - 1;
}

static Blob constant_bytes(World *w, const LineConstant *c, DType t, int64_t count) {
    size_t size = element_bytes(t, count);
    void *bytes = arena_alloc(w->arena, size);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = c->form == CONSTANT_SPLAT ? 0 : i;
        if (c->form == CONSTANT_SEED) element_set_real(t, bytes, i, seeded(t, c->seed, i));
        else if (integral(t)) element_set_integer(t, bytes, i, c->integer[k]);
        else element_set_real(t, bytes, i, c->real[k]);
    }
    Blob b = blob_put(w, bytes, size);
    if (c->form == CONSTANT_SEED)
        blob_info(w, b)->seed = c->seed, blob_info(w, b)->seeded = (uint32_t)t;
    return b;
}

Value constant_build(World *w, const LineConstant *c, const Type *t, Scan *s) {
    int64_t count;
    if (!t->known || !poly_constant(w, type_count(w, t), &count))
        return scan_fail(s, c->at, "the sizes of a constant must be numbers"), 0;
    if (count < 0 || count > ELEMENTS_MAX)
        return scan_fail(s, c->at, "a constant of %" PRId64 " elements", count), 0;
    if (c->form == CONSTANT_HEX && c->size != element_bytes(t->dtype, count) &&
        dtype_bits(t->dtype))
        return scan_fail(s, c->at, "%zu bytes are given, the type has %zu", c->size,
                         element_bytes(t->dtype, count)),
               0;
    if (c->form == CONSTANT_HEX) return constant_make(w, t, blob_put(w, c->bytes, c->size));
    if (!element_readable(t->dtype))
        return scan_fail(s, c->at, "elements of type %s can only be given as hex\"..\"",
                         dtype_name(t->dtype)),
               0;
    if (c->form == CONSTANT_SEED && integral(t->dtype))
        return scan_fail(s, c->at, "seed(..) is for float types only"), 0;
    if (c->form == CONSTANT_LIST && c->n != count)
        return scan_fail(s, c->at, "%d elements are given, the type has %" PRId64, c->n, count), 0;
    return constant_make(w, t, constant_bytes(w, c, t->dtype, count));
}

/* ---- printing */

/* Prints the shortest decimal that reads back as the same element. */
static void real_print(DType t, double x, Text *text) {
    char s[40];
    unsigned char a[8] = {0}, b[8] = {0};
    element_set_real(t, a, 0, x);
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(s, sizeof s, "%.*g", precision, x);
        element_set_real(t, b, 0, strtod(s, NULL));
        if (!memcmp(a, b, sizeof a)) break;
    }
    text_add(text, "%s", s);
}

static void element_print(DType t, const void *bytes, int64_t i, Text *text) {
    if (integral(t)) text_add(text, "%" PRId64, element_integer(t, bytes, i));
    else real_print(t, element_real(t, bytes, i), text);
}

static bool printable(DType t, const void *bytes, int64_t n) {
    if (!element_readable(t)) return false;
    for (int64_t i = 0; i < n; i++) {
        if (!integral(t) && !isfinite(element_real(t, bytes, i))) return false;
        if (t == DT_UINT64 && element_integer(t, bytes, i) < 0) return false;
    }
    return true;
}

void constant_print(World *w, Value v, Text *text) {
    Type t;
    const void *bytes;
    int64_t n = 0;
    constant_get(w, v, &t, &bytes);
    poly_constant(w, type_count(w, &t), &n);
    BlobInfo info = *blob_info(w, constant_blob(w, v));
    type_print(w, &t, text);
    text_add(text, " ");
    const bool equal = element_readable(t.dtype) && n > 1 && elements_same(t.dtype, bytes, n);
    if (info.seeded == (uint32_t)t.dtype) text_add(text, "seed(%" PRId64 ")", (int64_t)info.seed);
    else if (!printable(t.dtype, bytes, equal ? 1 : n) || (!equal && n > LIST_MAX))
        hex_print(bytes, info.size, text);
    else if (equal)
        text_add(text, "splat("), element_print(t.dtype, bytes, 0, text), text_add(text, ")");
    else {
        text_add(text, "{");
        for (int64_t i = 0; i < n; i++)
            text_add(text, i ? ", " : ""), element_print(t.dtype, bytes, i, text);
        text_add(text, "}");
    }
}
