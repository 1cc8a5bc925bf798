/* wire.c -- implements the walker over protobuf's wire format, and the writing of fields.
   Invariant: `rest` always lies inside the message that the walker was made for. A length is
   compared with the number of bytes left before it is used, so the walker never reads beyond the
   slice, whatever the bytes are. */
#include "graphs/onnx/file/wire.h"
#include "ops/base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_map(const char *path, Slice *out, Error *e) {
    *out = (Slice){0};
    /* So that a pipe is refused instead of waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return error_set(e, E_ENVIRONMENT, path, "cannot read: %s", strerror(errno));
    struct stat st;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    void *at = regular && st.st_size > 0
                   ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                   : NULL;
    int why = errno;
    close(fd);
    if (!regular) return error_set(e, E_ENVIRONMENT, path, "is not a regular file");
    if (at == MAP_FAILED)
        return error_set(e, E_ENVIRONMENT, path, "cannot be mapped: %s", strerror(why));
    *out = (Slice){at, (size_t)st.st_size};
    return true;
}

void file_unmap(Slice s) {
    if (s.n) munmap((void *)(uintptr_t)s.at, s.n);
}

static bool holds_piece(const unsigned char *at, Piece p) {
    if (p.at) return !p.n || memcmp(at, p.at, p.n) == 0;
    for (size_t i = 0; i < p.n; i++)
        if (at[i]) return false;
    return true;
}
bool file_holds(const char *path, int n, const Piece *v, bool *same, Error *e) {
    Slice file;
    size_t at = 0, size = 0;
    if (!file_map(path, &file, e)) return false;
    for (int k = 0; k < n; k++) size += v[k].n;
    *same = file.n == size;
    for (int k = 0; k < n && *same; at += v[k++].n) *same = holds_piece(file.at + at, v[k]);
    file_unmap(file);
    return true;
}

/* Dropping pages loses nothing, since the file is mapped for reading only. */
void file_release_pages(Slice s) {
    if (s.n) madvise((void *)(uintptr_t)s.at, s.n, MADV_DONTNEED);
}

Wire wire_new(Slice message, const unsigned char *file, const char *place, Error *e) {
    return (Wire){
        .rest = message, .file = file, .place = place, .format = "an ONNX model", .error = e};
}

Wire wire_inner(const Wire *w, Slice message) {
    Wire inner = wire_new(message, w->file, w->place, w->error);
    inner.format = w->format;
    return inner;
}

bool wire_fail(Wire *w, const unsigned char *at, const char *what) {
    w->failed = true;
    return error_set(w->error, E_INVALID, w->place, "byte %zu: %s",
                     at ? (size_t)(at - w->file) : (size_t)0, what);
}

bool wire_fail_format(Wire *w, const unsigned char *at, const char *what) {
    char text[200];
    snprintf(text, sizeof text, "%s: not %s, or damaged", what, w->format);
    return wire_fail(w, at, text);
}

bool wire_varint(Wire *w, uint64_t *out) {
    *out = 0;
    const unsigned char *start = w->rest.at;
    for (int shift = 0; shift < 70; shift += 7) {
        if (!w->rest.n) return wire_fail(w, start, "the data end in the middle of a number");
        unsigned char byte = *w->rest.at++;
        w->rest.n--;
        if (shift == 63 && byte > 1) break;
        *out |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return true;
    }
    return wire_fail(w, start, "a number of more than 64 bits");
}

bool wire_fixed(Wire *w, unsigned bytes, uint64_t *out) {
    *out = 0;
    if (w->rest.n < bytes)
        return wire_fail(w, w->rest.at, "the data end in the middle of a fixed-size number");
    for (unsigned i = 0; i < bytes; i++) *out |= (uint64_t)w->rest.at[i] << (8 * i);
    w->rest.at += bytes, w->rest.n -= bytes;
    return true;
}

static bool take_bytes(Wire *w, Slice *out) {
    const unsigned char *start = w->rest.at;
    uint64_t n;
    if (!wire_varint(w, &n)) return false;
    if (n > w->rest.n)
        return wire_fail(w, start, "a length beyond the end of the data (truncated file?)");
    *out = (Slice){w->rest.at, (size_t)n};
    w->rest.at += n, w->rest.n -= (size_t)n;
    return true;
}

bool wire_next(Wire *w, Field *f) {
    if (w->failed || !w->rest.n) return false;
    const unsigned char *start = w->rest.at;
    uint64_t tag;
    if (!wire_varint(w, &tag)) return false;
    *f = (Field){.number = (uint32_t)(tag >> 3), .kind = (WireKind)(tag & 7)};
    if (tag >> 3 == 0 || tag >> 3 > 536870911)
        return wire_fail(w, start, "not a field of a protobuf message");
    bool ok = false;
    if (f->kind == WIRE_VARINT) ok = wire_varint(w, &f->value);
    else if (f->kind == WIRE_FIXED64) ok = wire_fixed(w, 8, &f->value);
    else if (f->kind == WIRE_FIXED32) ok = wire_fixed(w, 4, &f->value);
    else if (f->kind == WIRE_BYTES) ok = take_bytes(w, &f->bytes);
    else ok = wire_fail_format(w, start, "an unknown wire type");
    f->whole = (Slice){start, (size_t)(w->rest.at - start)};
    return ok;
}

bool wire_want(Wire *w, const Field *f, WireKind kind) {
    return f->kind == kind || wire_fail_format(w, f->whole.at, "a field with the wrong wire type");
}

bool wire_once(Wire *w, const Field *f, bool *seen) {
    if (*seen) return wire_fail(w, f->whole.at, "a second message where there can be only one");
    return *seen = true;
}

Slice wire_bytes(Wire w, uint32_t number) {
    Slice out = {0};
    for (Field f; wire_next(&w, &f);)
        if (f.number == number && f.kind == WIRE_BYTES) out = f.bytes;
    return out;
}

bool wire_read_bytes(Wire w, uint32_t number, Slice *out) {
    *out = (Slice){0};
    for (Field f; wire_next(&w, &f);)
        if (f.number == number && wire_want(&w, &f, WIRE_BYTES)) *out = f.bytes;
    return !w.failed;
}

Slice slice_of(const char *text) { return (Slice){(const unsigned char *)text, strlen(text)}; }
Slice text_slice(const Text *t) { return (Slice){(const unsigned char *)t->data, t->size}; }
bool slice_is(Slice s, const char *text) {
    return s.n == strlen(text) && (!s.n || memcmp(s.at, text, s.n) == 0);
}
bool slice_equal(Slice a, Slice b) { return a.n == b.n && (!a.n || memcmp(a.at, b.at, a.n) == 0); }

static void put_varint(Text *t, uint64_t v) {
    char byte[10];
    size_t n = 0;
    for (; v > 127; v >>= 7) byte[n++] = (char)(unsigned char)(v | 128);
    byte[n++] = (char)v;
    text_bytes(t, byte, n);
}

void wire_put_int(Text *t, uint32_t number, uint64_t value) {
    put_varint(t, (uint64_t)number << 3 | WIRE_VARINT);
    put_varint(t, value);
}

void wire_put_length(Text *t, uint32_t number, size_t bytes) {
    put_varint(t, (uint64_t)number << 3 | WIRE_BYTES);
    put_varint(t, bytes);
}

void wire_put_bytes(Text *t, uint32_t number, const void *bytes, size_t n) {
    wire_put_length(t, number, n);
    text_bytes(t, bytes, n);
}

static void put_head(Pieces *out, uint32_t number, size_t n) {
    Text t = text_new(out->arena);
    wire_put_length(&t, number, n);
    pieces_add(out, t.data, t.size);
}

void wire_put_slice(Pieces *out, uint32_t number, const void *at, size_t n) {
    put_head(out, number, n);
    pieces_add(out, at, n);
}

void wire_put_pieces(Pieces *out, uint32_t number, const Pieces *inner) {
    put_head(out, number, inner->size);
    pieces_append(out, inner);
}

void wire_put_renamed(Pieces *out, uint32_t number, Wire w, uint32_t name, const char *text) {
    Text t = text_new(out->arena);
    Pieces copy = pieces_new(out->arena);
    for (Field f; wire_next(&w, &f);)
        if (f.number != name) pieces_add(&copy, f.whole.at, f.whole.n);
    wire_put_bytes(&t, name, text, strlen(text));
    pieces_add(&copy, t.data, t.size);
    wire_put_pieces(out, number, &copy);
}
