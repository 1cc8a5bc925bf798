/* npy.c -- reads and writes .npy files, which consist of a magic number, a version, the length of a
   header, the header, and the elements. The header is a Python dictionary with the keys descr,
   fortran_order and shape. */
#include "graphs/npy.h"
#include "ops/base/file.h"
#include "ops/core/element.h"
#include <inttypes.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
static const struct {
    DType dtype;
    const char *descr;
} known[] = {
    {DT_FLOAT, "<f4"},    {DT_DOUBLE, "<f8"}, {DT_FLOAT16, "<f2"}, {DT_INT8, "|i1"},
    {DT_INT16, "<i2"},    {DT_INT32, "<i4"},  {DT_INT64, "<i8"},   {DT_UINT8, "|u1"},
    {DT_UINT16, "<u2"},   {DT_UINT32, "<u4"}, {DT_UINT64, "<u8"},  {DT_BOOL, "|b1"},
    {DT_BFLOAT16, "<u2"},
};

/* ---- reading */

static bool wrong(const char *path, Error *e, const char *reason) {
    return error_set(e, E_INVALID, path, "not a readable .npy file: %s", reason);
}

/* Moves the scan behind 'key': in the header; returns false if the key is missing. */
static bool at_key(Scan *s, const char *key) {
    for (const char *p = s->start; p + strlen(key) + 2 < s->end; p++)
        if ((*p == '\'' || *p == '"') && !memcmp(p + 1, key, strlen(key)) &&
            p[1 + strlen(key)] == *p) {
            s->at = p + strlen(key) + 2;
            return scan_char(s, ':');
        }
    return false;
}

static bool read_descr(Scan *s, Npy *out) {
    scan_blank(s);
    if (s->end - s->at < 5) return false;
    const char *d = s->at + 1;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        bool byte = known[k].descr[0] == '|';
        if (!memcmp(d + 1, known[k].descr + 1, 2) && (d[3] == '\'' || d[3] == '"') &&
            (*d == '<' || *d == '|' || *d == '=' || (byte && *d == '>'))) {
            out->dtype = known[k].dtype;
            return true;
        }
    }
    return false;
}

static bool read_shape(Scan *s, Npy *out) {
    if (!scan_char(s, '(')) return false;
    while (!scan_char(s, ')')) {
        if (out->rank == RANK_MAX || !scan_int(s, &out->dim[out->rank]) || out->dim[out->rank] < 0)
            return false;
        out->rank++;
        scan_char(s, ',');
    }
    return true;
}

/* Parses a header. Returns NULL, or what is wrong with it. */
static const char *read_header(const char *text, size_t n, Npy *out) {
    Error ignored = {0};
    Scan s = scan_new("header", text, n, &ignored);
    if (!at_key(&s, "descr")) return "its header does not say the type of its elements";
    if (!read_descr(&s, out))
        return "the type of its elements is not supported; expected little-endian floats, integers "
               "or truth values";
    if (!at_key(&s, "fortran_order")) return "its header does not say the order of its elements";
    if (!scan_word(&s, "False"))
        return "its elements are in Fortran order; save numpy.ascontiguousarray(..) of them";
    if (!at_key(&s, "shape") || !read_shape(&s, out))
        return "its shape cannot be read, or has " RANK_TOO_HIGH;
    return NULL;
}

static bool count_bytes(Npy *n) {
    int64_t count = 1;
    for (int k = 0; k < n->rank; k++)
        if (!elements_multiply(&count, n->dim[k])) return false;
    n->bytes = element_bytes(n->dtype, count);
    return true;
}

bool npy_read(Arena *a, const char *path, Npy *out, Error *e) {
    char *data;
    size_t n;
    return file_read(a, path, &data, &n, e) && npy_parse(a, path, data, n, out, e);
}

bool npy_parse(Arena *a, const char *path, const char *data, size_t n, Npy *out, Error *e) {
    size_t start, length = 0;
    *out = (Npy){.rank = 0};
    if (n < 12 || memcmp(data, magic, 6)) return wrong(path, e, "wrong magic number at its start");
    const unsigned char *u = (const unsigned char *)data;
    start = u[6] == 1 ? 10 : 12;
    for (size_t k = start; k-- > 8;) length = length << 8 | u[k];
    if (u[6] < 1 || u[6] > 3 || length > n - start)
        return wrong(path, e, "unsupported version or wrong header length");
    const char *why = read_header(data + start, length, out);
    if (why) return wrong(path, e, why);
    if (!count_bytes(out) || n - start - length != out->bytes)
        return wrong(path, e, "its length does not match its shape");
    out->data = arena_copy(a, data + start + length, out->bytes); /* aligned */
    return true;
}

/* ---- writing */

static const char *descr_of(DType dtype) {
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].dtype == dtype) return known[k].descr;
    return NULL;
}
bool npy_holds(DType dtype) { return descr_of(dtype) != NULL; }

bool npy_write(Arena *a, const char *path, const Npy *n, Error *e) {
    Text t = text_new(a), header = text_new(a);
    const char *descr = descr_of(n->dtype);
    if (!descr)
        return error_set(e, E_INVALID, path, "elements of type %s cannot be written as .npy",
                         dtype_name(n->dtype));
    text_add(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int k = 0; k < n->rank; k++)
        text_add(&header, k || n->rank > 1 ? (k ? ", %" PRId64 : "%" PRId64) : "%" PRId64 ",",
                 n->dim[k]);
    text_add(&header, "), }");
    while ((10 + header.size + 1) % 64) text_bytes(&header, " ", 1);
    text_bytes(&header, "\n", 1);
    const char start[] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(header.size & 255), (char)(header.size >> 8)};
    text_bytes(&t, start, sizeof start);
    text_bytes(&t, header.data, header.size);
    text_bytes(&t, n->data, n->bytes);
    return file_write(path, t.data, t.size, e);
}
