/* attr.c -- stores the attributes of a node as one record of TABLE_ATTRS: the number of attributes,
   then one word for each (a polynomial, number, expression or blob), where a list is its length and
   its entries. The record does not say what its words mean; this follows from the definitions,
   which the operator of the signature has. */
#include "ops/core/attr.h"
#include "ops/core/element.h"
#include "ops/core/expr.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 128 };

int attrs_count(const AttrDef *d) {
    int n = 0;
    while (d && d[n].name) n++;
    return n;
}

int attrs_find(const AttrDef *d, const char *name) {
    for (int i = 0; d && d[i].name; i++)
        if (!strcmp(d[i].name, name)) return i;
    return -1;
}

AttrsId attrs_intern(World *w, const AttrDef *d, const Attr *a) {
    int n = attrs_count(d), room = 1;
    for (int i = 0; i < n; i++) room += d[i].kind == A_INTS ? 1 + a[i].ints.n : 1;
    ArenaMark mark = arena_mark(w->scratch);
    uint32_t *v = ARENA_NEW(w->scratch, uint32_t, room), *at = v;
    *at++ = (uint32_t)n;
    for (int i = 0; i < n; i++) switch (d[i].kind) {
        case A_INT: *at++ = a[i].ints.v[0]; break;
        case A_INTS:
            *at++ = (uint32_t)a[i].ints.n;
            for (int k = 0; k < a[i].ints.n; k++) *at++ = a[i].ints.v[k];
            break;
        case A_ENUM:
        case A_DTYPE: *at++ = (uint32_t)a[i].enum_value; break;
        case A_REAL: *at++ = a[i].real; break;
        case A_BLOB: *at++ = a[i].blob; break;
        }
    AttrsId id = intern_put(w->table[TABLE_ATTRS], v, (size_t)(at - v) * sizeof *v);
    arena_reset(w->scratch, mark);
    return id;
}

void attrs_get(const World *w, const AttrDef *d, AttrsId id, Attr *out) {
    const uint32_t *at = intern_get(w->table[TABLE_ATTRS], id, NULL);
    int n = (int)*at++;
    for (int i = 0; i < n; i++) {
        out[i] = (Attr){0};
        switch (d[i].kind) {
        case A_INT: out[i].ints = (PolyList){1, at++}; break;
        case A_INTS:
            out[i].ints = (PolyList){(int)*at, at + 1};
            at += 1 + *at;
            break;
        case A_ENUM:
        case A_DTYPE: out[i].enum_value = (int)*at++; break;
        case A_REAL: out[i].real = *at++; break;
        case A_BLOB: out[i].blob = *at++; break;
        }
    }
}

bool attr_equal(const AttrDef *d, const Attr *a, const Attr *b) {
    switch (d->kind) {
    case A_INT:
    case A_INTS:
        return a->ints.n == b->ints.n &&
               (!a->ints.n || !memcmp(a->ints.v, b->ints.v, (size_t)a->ints.n * sizeof *a->ints.v));
    case A_ENUM:
    case A_DTYPE: return a->enum_value == b->enum_value;
    case A_REAL: return a->real == b->real;
    case A_BLOB: return a->blob == b->blob;
    }
    return false;
}

/* Returns the length of word number n in a list separated by blanks, and its start in *start; 0:
   the list has no such word. */
static size_t nth_word(const char *words, int n, const char **start) {
    for (const char *p = words;; n--) {
        p += strspn(p, " ");
        size_t length = strcspn(p, " ");
        *start = p;
        if (!length || !n) return length;
        p += length;
    }
}

void attr_print(const World *w, const AttrDef *d, const Attr *a, Text *t) {
    const char *word;
    size_t length;
    switch (d->kind) {
    case A_INT: poly_print(w, a->ints.v[0], t); break;
    case A_INTS:
        text_add(t, "[");
        for (int i = 0; i < a->ints.n; i++) {
            if (i) text_add(t, ", ");
            poly_print(w, a->ints.v[i], t);
        }
        text_add(t, "]");
        break;
    case A_ENUM:
        length = nth_word(d->words, a->enum_value, &word);
        text_bytes(t, word, length);
        break;
    case A_DTYPE: text_add(t, "%s", dtype_name((DType)a->enum_value)); break;
    case A_REAL: ex_print(w, a->real, t); break;
    case A_BLOB: text_add(t, "blob:%u", a->blob); break;
    }
}

static bool parse_list(World *w, Scan *s, PolyList *out) {
    int room = 0, n = 0;
    Poly *v = NULL;
    if (!scan_char(s, '[')) return scan_fail(s, s->at, "expected [");
    if (!scan_char(s, ']')) {
        do {
            ARENA_GROW(w->arena, v, room, n + 1);
            if (!poly_parse(w, s, &v[n++])) return false;
        } while (scan_char(s, ','));
        if (!scan_char(s, ']')) return scan_fail(s, s->at, "expected , or ]");
    }
    *out = (PolyList){n, v};
    return true;
}

static bool parse_word(Scan *s, const AttrDef *d, int *out) {
    char name[NAME_ROOM];
    const char *at = s->at, *word;
    if (!scan_name(s, name, sizeof name)) return scan_fail(s, at, "expected one of: %s", d->words);
    size_t n;
    for (*out = 0; (n = nth_word(d->words, *out, &word)); ++*out)
        if (n == strlen(name) && !memcmp(name, word, n)) return true;
    return scan_fail(s, at, "%s is not one of: %s", name, d->words);
}

static bool parse_real(World *w, Scan *s, Ex *out) {
    char name[NAME_ROOM];
    int64_t p, q;
    double x;
    Scan ahead = *s;
    ahead.error = NULL;
    if (scan_int(&ahead, &p) && scan_char(&ahead, '/')) {
        if (!scan_int(&ahead, &q) || q <= 0)
            return scan_fail(s, s->at, "expected a positive integer after /");
        *out = ex_rational(w, p, q);
        s->at = ahead.at;
        return true;
    }
    ahead.at = s->at;
    if (scan_name(&ahead, name, sizeof name) && strcmp(name, "inf") && strcmp(name, "nan")) {
        *out = ex_param(w, name);
        s->at = ahead.at;
        return true;
    }
    if (!scan_real(s, &x)) return scan_fail(s, s->at, "expected a number, p/q or a name");
    *out = ex_real(w, x);
    return true;
}

static bool parse_dtype(Scan *s, int *out) {
    char name[NAME_ROOM];
    const char *at = s->at;
    if (!scan_name(s, name, sizeof name)) return scan_fail(s, at, "expected an element type");
    *out = (int)dtype_parse(name);
    return *out != DT_NONE || scan_fail(s, at, "unknown element type %s", name);
}

static bool parse_int(World *w, Scan *s, PolyList *out) {
    Poly p;
    if (!poly_parse(w, s, &p)) return false;
    *out = (PolyList){1, arena_copy(w->arena, &p, sizeof p)};
    return true;
}

bool attr_parse(World *w, Scan *s, const AttrDef *d, Attr *out) {
    *out = (Attr){0};
    switch (d->kind) {
    case A_INT: return parse_int(w, s, &out->ints);
    case A_INTS: return parse_list(w, s, &out->ints);
    case A_ENUM: return parse_word(s, d, &out->enum_value);
    case A_DTYPE: return parse_dtype(s, &out->enum_value);
    case A_REAL: return parse_real(w, s, &out->real);
    case A_BLOB: return scan_fail(s, s->at, "%s cannot be written as text", d->name);
    }
    return false;
}

static int fill_length(AttrFill fill, int rank, int given) {
    int spatial = rank > 2 ? rank - 2 : 0;
    return fill == PER_SPATIAL ? spatial
           : fill == PER_SIDE  ? 2 * spatial
           : fill == PER_AXIS  ? rank
                               : given;
}

bool attr_default(World *w, const AttrDef *d, int rank, Attr *out) {
    *out = (Attr){0};
    if (!d->init) return false;
    Scan s = scan_new(d->name, d->init, strlen(d->init), NULL);
    if (d->kind != A_INTS) return attr_parse(w, &s, d, out);
    PolyList given = {0};
    scan_blank(&s);
    bool ok = scan_end(&s) || (*s.at == '[' ? parse_list(w, &s, &given) : parse_int(w, &s, &given));
    int n = given.n || d->fill == AS_IS ? fill_length(d->fill, rank, given.n) : 0;
    Poly *v = ARENA_NEW(w->arena, Poly, n);
    for (int i = 0; i < n; i++) v[i] = given.v[i % given.n];
    out->ints = (PolyList){n, v};
    return ok;
}

static bool attr_keeps(World *w, const AttrDef *def, const Attr *attr, DType result) {
    double x;
    if (def->kind != A_REAL || !ex_number(w, attr->real, &x)) return true;
    if (fabs(x) >= 3.4028234e38 && def->init && strtod(def->init, NULL) == x) return true;
    return element_keeps(def->element ? result : DT_FLOAT, x);
}
int attrs_lost(World *w, const AttrDef *defs, const Attr *attr, DType result) {
    for (int k = 0; k < attrs_count(defs); k++)
        if (!attr_keeps(w, &defs[k], &attr[k], result)) return k;
    return -1;
}
