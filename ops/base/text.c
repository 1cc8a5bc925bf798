/* text.c -- growing strings in an arena, and the scanner for every text format of the project.

   Invariant of Scan: start <= at <= end, and `at` moves only past tokens that were taken. The text
   need not be terminated and may contain any bytes. Columns count bytes from 1, but the caret below
   the source line is placed by characters, so that it is right after UTF-8 text, too. */
#include "ops/base/text.h"
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_LENGTH = 120, SHOWN = 80 };

/* ---- Text */

static void reserve(Text *t, size_t more) {
    if (t->data && t->size + more < t->room) return;
    size_t room = t->room ? 2 * t->room : 64;
    if (room < t->size + more + 1) room = t->size + more + 1;
    char *data = arena_alloc_raw(t->arena, room);
    if (t->size) memcpy(data, t->data, t->size);
    data[t->size] = 0;
    t->data = data;
    t->room = room;
}

Text text_new(Arena *arena) {
    Text t = {.arena = arena};
    reserve(&t, 0);
    return t;
}

void text_bytes(Text *t, const char *bytes, size_t n) {
    reserve(t, n);
    if (n) memcpy(t->data + t->size, bytes, n);
    t->size += n;
    t->data[t->size] = 0;
}

void text_string(Text *t, const char *s) {
    text_add(t, "\"");
    for (; *s; s++)
        if (*s == '"' || *s == '\\') text_add(t, "\\%c", *s);
        else if ((unsigned char)*s < 32) text_add(t, "\\x%02X", (unsigned)*s);
        else text_bytes(t, s, 1);
    text_add(t, "\"");
}

static void add_integer(Text *t, int64_t n) {
    char digit[21];
    size_t k = sizeof digit;
    uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;
    do digit[--k] = (char)('0' + left % 10);
    while (left /= 10);
    if (n < 0) digit[--k] = '-';
    text_bytes(t, digit + k, sizeof digit - k);
}

/* Whether the only conversions in the format are %s, %d and %ld. */
static bool is_plain(const char *format) {
    for (; (format = strchr(format, '%')); format++) {
        format += 1 + (format[1] == 'l' && format[2] == 'd');
        if (*format != 's' && *format != 'd') return false;
    }
    return true;
}

static void add_plain(Text *t, const char *format, va_list rest) {
    for (const char *at; (at = strchr(format, '%')); format = at + 1) {
        text_bytes(t, format, (size_t)(at++ - format));
        if (*at == 's') {
            const char *s = va_arg(rest, const char *);
            if (!s) s = "(null)";
            text_bytes(t, s, strlen(s));
        } else if (*at == 'd') add_integer(t, va_arg(rest, int));
        else add_integer(t, va_arg(rest, long)), at++;
    }
    text_bytes(t, format, strlen(format));
}

/* Appends formatted text. Formats with only names and integers, which are most, are handled here:
   vsnprintf takes several times as long, even more if a library has registered conversions
   (libquadmath, which OpenBLAS loads). Other texts are formatted directly into the remaining room,
   where they usually fit. */
void text_add(Text *t, const char *format, ...) {
    va_list rest, again;
    va_start(rest, format);
    if (is_plain(format)) {
        add_plain(t, format, rest);
        va_end(rest);
        return;
    }
    va_copy(again, rest);
    const size_t room = t->data ? t->room - t->size : 0;
    int n = vsnprintf(room ? t->data + t->size : NULL, room, format, rest);
    va_end(rest);
    size_t length = n > 0 ? (size_t)n : 0;
    if (length >= room) {
        reserve(t, length);
        vsnprintf(t->data + t->size, length + 1, format, again);
    }
    va_end(again);
    t->size += length;
}

/* ---- places and messages */

Scan scan_new(const char *name, const char *text, size_t n, Error *error) {
    return (Scan){.name = name, .start = text, .at = text, .end = text + n, .error = error};
}

static void scan_place(const Scan *s, const char *at, int *line, int *column) {
    const char *from = s->start, *newline;
    int lines = 1;
    while (from < at && (newline = memchr(from, '\n', (size_t)(at - from)))) {
        if (lines < INT_MAX) lines++;
        from = newline + 1;
    }
    *line = lines;
    *column = at - from < INT_MAX ? (int)(at - from) + 1 : INT_MAX;
}

/* Writes at most SHOWN bytes of the line around `at`, and a caret below it. */
static void show_line(const Scan *s, const char *at, char *out) {
    const char *from = at, *to = at;
    while (from > s->start && from[-1] != '\n' && at - from < SHOWN * 3 / 4) from--;
    while (to < s->end && *to != '\n' && *to != '\r' && to - from < SHOWN) to++;
    char *o = out;
    *o++ = '\n';
    for (const char *p = from; p < to; p++)
        *o++ = *p == '\t' || ((unsigned char)*p >= 32 && *p != 127) ? *p : '?';
    *o++ = '\n';
    for (const char *p = from; p < at; p++)
        if (((unsigned char)*p & 0xc0) != 0x80) *o++ = *p == '\t' ? '\t' : ' ';
    *o++ = '^';
    *o = 0;
}

bool scan_fail(Scan *s, const char *at, const char *format, ...) {
    char reason[200], shown[2 * SHOWN + 8];
    int line, column;
    va_list rest;
    va_start(rest, format);
    vsnprintf(reason, sizeof reason, format, rest);
    va_end(rest);
    scan_place(s, at, &line, &column);
    show_line(s, at, shown);
    return error_at(s->error, E_INVALID, s->name, line, column, "%s%s", reason, shown);
}

/* ---- between tokens */

static const char *after_blank(const Scan *s, bool newlines) {
    const char *p = s->at;
    while (p < s->end) {
        if (*p == ' ' || *p == '\t' || *p == '\r' || (newlines && *p == '\n')) p++;
        else if (*p == '#')
            while (p < s->end && *p != '\n') p++;
        else break;
    }
    return p;
}

/* Where the next token begins. */
static const char *token(const Scan *s) { return after_blank(s, !s->lines); }

void scan_blank(Scan *s) { s->at = token(s); }

void scan_blank_line(Scan *s) { s->at = after_blank(s, false); }

static bool scan_advance(Scan *s, const char *to) {
    s->at = to;
    return true;
}

bool scan_end(Scan *s) {
    const char *p = token(s);
    return p == s->end && scan_advance(s, p);
}

/* ---- tokens */

static bool is_letter(const Scan *s, const char *p) {
    return p < s->end && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_');
}

static bool is_digit(const Scan *s, const char *p) { return p < s->end && *p >= '0' && *p <= '9'; }

static const char *after_digits(const Scan *s, const char *p) {
    while (is_digit(s, p)) p++;
    return p;
}

/* The end of the name at p; p if there is none. */
static const char *after_name(const Scan *s, const char *p) {
    if (!is_letter(s, p)) return p;
    for (;; p++) {
        if (is_letter(s, p) || is_digit(s, p)) continue;
        bool joint =
            p < s->end && (*p == '.' || *p == '-') && (is_letter(s, p + 1) || is_digit(s, p + 1));
        if (!joint) return p;
    }
}

bool scan_char(Scan *s, char c) {
    const char *p = after_blank(s, !s->lines && c != '\n');
    return p < s->end && *p == c && scan_advance(s, p + 1);
}

bool scan_word(Scan *s, const char *word) {
    const char *p = token(s), *end = after_name(s, p);
    size_t n = strlen(word);
    if (n == 0 || (size_t)(s->end - p) < n || memcmp(p, word, n) != 0) return false;
    return (end == p || end == p + n) && scan_advance(s, p + n);
}

bool scan_name(Scan *s, char *out, size_t n) {
    const char *p = token(s), *end = after_name(s, p);
    if (end == p) return false;
    size_t length = (size_t)(end - p);
    if (length >= n) return scan_fail(s, p, "a name of more than %zu characters", n - 1);
    memcpy(out, p, length);
    out[length] = 0;
    return scan_advance(s, end);
}

static const char *after_sign(const Scan *s, const char *p) {
    return p < s->end && (*p == '-' || *p == '+') ? p + 1 : p;
}

bool scan_int(Scan *s, int64_t *value) {
    const char *begin = token(s), *digits = after_sign(s, begin), *end = after_digits(s, digits);
    if (end == digits) return false;
    bool negative = *begin == '-';
    int64_t sum = 0; /* the negated value, since the negative range is larger by one */
    for (const char *p = digits; p < end; p++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, *p - '0', &sum))
            return scan_fail(s, begin, "an integer that does not fit in 64 bits");
    if (!negative && __builtin_sub_overflow(0, sum, &sum))
        return scan_fail(s, begin, "an integer that does not fit in 64 bits");
    *value = sum;
    return scan_advance(s, end);
}

/* The end of the exponent at p, or p if there is none. */
static const char *after_exponent(const Scan *s, const char *p, char mark) {
    if (p == s->end || (*p | 32) != mark) return p;
    const char *digits = after_sign(s, p + 1), *end = after_digits(s, digits);
    return end == digits ? p : end;
}

static const char *after_hex(const Scan *s, const char *p) {
    while (p < s->end && isxdigit((unsigned char)*p)) p++;
    return p;
}

/* The end of the unsigned number at p, or p if there is none. Numbers are decimal, hexadecimal (as
   %a writes them), inf or nan. */
static const char *after_real(const Scan *s, const char *p) {
    const char *name = after_name(s, p);
    if (name == p + 3 && (memcmp(p, "inf", 3) == 0 || memcmp(p, "nan", 3) == 0)) return name;
    bool hex = s->end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x' && isxdigit((unsigned char)p[2]);
    const char *(*after)(const Scan *, const char *) = hex ? after_hex : after_digits;
    const char *first = hex ? p + 2 : p, *end = after(s, first);
    bool digits = end > first;
    if (end < s->end && *end == '.') {
        const char *fraction = after(s, end + 1);
        digits = digits || fraction > end + 1;
        if (digits) end = fraction;
    }
    return digits ? after_exponent(s, end, hex ? 'p' : 'e') : p;
}

bool scan_real(Scan *s, double *value) {
    const char *begin = token(s), *number = after_sign(s, begin), *end = after_real(s, number);
    if (end == number) return false;
    size_t n = (size_t)(end - begin);
    if (n >= NUMBER_LENGTH)
        return scan_fail(s, begin, "a number of more than %d characters", NUMBER_LENGTH - 1);
    char text[NUMBER_LENGTH];
    memcpy(text, begin, n);
    text[n] = 0;
    double x = strtod(text, NULL);
    if (isinf(x) && *number != 'i') return scan_fail(s, begin, "a number that is too large");
    *value = x;
    return scan_advance(s, end);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Adds the character for the escape sequence at p, which follows the backslash. Returns the
   sequence's length, or 0 if there is no such escape. */
static size_t add_escape(const Scan *s, const char *p, Text *out) {
    if (p == s->end) return 0;
    if (*p == 'x' && s->end - p > 2) {
        int high = hex_digit(p[1]), low = hex_digit(p[2]);
        char c = (char)(high * 16 + low);
        if (high < 0 || low < 0) return 0;
        text_bytes(out, &c, 1);
        return 3;
    }
    const char *known = *p ? strchr("\"\"\\\\n\nt\t", *p) : NULL;
    if (!known || *p == '\n' || *p == '\t') return 0;
    text_bytes(out, known + 1, 1);
    return 1;
}

bool scan_string(Scan *s, Text *out) {
    const char *begin = token(s), *p = begin;
    if (p == s->end || *p++ != '"') return false;
    while (p < s->end && *p != '"' && *p != '\n') {
        if (*p != '\\') {
            text_bytes(out, p++, 1);
            continue;
        }
        size_t n = add_escape(s, p + 1, out);
        if (!n)
            return scan_fail(s, p, "an unknown escape; the known ones are \\\" \\\\ \\n \\t \\xHH");
        p += 1 + n;
    }
    if (p == s->end || *p != '"') return scan_fail(s, begin, "a string without its closing quote");
    return scan_advance(s, p + 1);
}
