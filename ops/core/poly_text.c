/* poly_text.c -- prints and parses polynomials. Factors of a monomial are sorted by name, monomials
   by falling degree and then by text, so that the text depends on names and not on the order of
   interning.

   Grammar:
     sum    = term (("+" | "-") term)*
     term   = factor ("*" factor)*
     factor = "-" factor | atom ("^" integer)?
     atom   = integer | name | "(" sum ")" | "floor(" term "/" factor ")" | "min(" sum "," sum ")"
            | "digit(" sum ", [" sum, .. "], " integer ")" */
#include "ops/core/poly.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 256, DEPTH_MAX = 200, POWER_MAX = 64 };

typedef struct Printer {
    const World *w;
    int n;
    const Symbol *bound;
    int width; /* the digits of serial numbers; with COMPARED, texts are ordered like the numbers */
    bool quoted; /* names are quoted, to tell them from indices and the like */
} Printer;
enum { COMPARED = 10 };
typedef struct PolyPart { /* one monomial, printed without its sign */
    bool negative;
    uint32_t degree;
    const char *text;  /* including its coefficient */
    const char *names; /* its factors only */
} PolyPart;

static void print_sum(const Printer *, Poly, Text *);

static bool is_atom(const World *w, Poly p) {
    int64_t c;
    return poly_is_symbol(w, p) || (poly_constant(w, p, &c) && c >= 0);
}

static void print_wrapped(const Printer *p, Poly x, bool wrap, Text *t) {
    if (wrap) text_add(t, "(");
    print_sum(p, x, t);
    if (wrap) text_add(t, ")");
}

static const char *print_string(const Printer *p, Poly x) {
    Text t = text_new(p->w->scratch);
    print_sum(p, x, &t);
    return t.data ? t.data : "";
}

static bool is_term(const World *w, Poly p) {
    PolyScan s = poly_scan(w, p);
    Monomial m;
    return !p || (poly_next(&s, &m) && s.at == s.end);
}

static void print_bound(const Printer *p, Symbol s, uint32_t serial, Text *t) {
    for (int j = 0; j < p->n; j++)
        if (p->bound[j] == s) {
            text_add(t, "k%d", j);
            return;
        }
    text_add(t, "_k%0*u", p->width, serial);
}

static void print_min(const Printer *p, const Poly *arg, Text *t) {
    const char *a = print_string(p, arg[0]), *b = print_string(p, arg[1]);
    bool swap = strcmp(a, b) > 0;
    text_add(t, "min(%s, %s)", swap ? b : a, swap ? a : b);
}

static void print_digit(const Printer *p, const SymbolDef *d, Text *t) {
    text_add(t, "digit(");
    print_sum(p, d->arg[0], t);
    for (uint32_t i = 1; i < d->narg; i++) {
        text_add(t, i == 1 ? ", [" : ", ");
        print_sum(p, d->arg[i], t);
    }
    text_add(t, "], %u)", d->word);
}

static void print_read(const Printer *p, const SymbolDef *d, Text *t) {
    text_add(t, "x%u[", d->word);
    for (uint32_t i = 0; i < d->narg; i++) {
        text_add(t, i ? ", " : "");
        print_sum(p, d->arg[i], t);
    }
    text_add(t, "]");
}

static void print_symbol(const Printer *p, Symbol s, Text *t) {
    SymbolDef d = symbol_def(p->w, s);
    switch (d.kind) {
    case SYM_NAMED: text_add(t, p->quoted ? "'%s'" : "%s", world_text(p->w, d.word)); break;
    case SYM_INDEX: text_add(t, "i%u", d.word); break;
    case SYM_DATA: text_add(t, "_d%0*u", p->width, d.word); break;
    case SYM_BOUND: print_bound(p, s, d.word, t); break;
    case SYM_MIN: print_min(p, d.arg, t); break;
    case SYM_DIGIT: print_digit(p, &d, t); break;
    case SYM_READ: print_read(p, &d, t); break;
    case SYM_PLACE:
        text_add(t, "place(");
        print_sum(p, d.arg[0], t);
        text_add(t, ", ");
        print_sum(p, d.arg[1], t);
        text_add(t, ")");
        break;
    case SYM_FLOOR:
        text_add(t, "floor(");
        print_wrapped(p, d.arg[0], !is_term(p->w, d.arg[0]), t);
        text_add(t, "/");
        print_wrapped(p, d.arg[1], !is_atom(p->w, d.arg[1]), t);
        text_add(t, ")");
        break;
    }
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_part(const void *pa, const void *pb) {
    const PolyPart *a = pa, *b = pb;
    return a->degree != b->degree ? (a->degree > b->degree ? -1 : 1) : strcmp(a->names, b->names);
}

static const char *print_factors(const Printer *p, const Monomial *m) {
    Text t = text_new(p->w->scratch);
    const char **name = ARENA_NEW(p->w->scratch, const char *, m->degree);
    for (uint32_t i = 0; i < m->degree; i++) {
        Text s = text_new(p->w->scratch);
        print_symbol(p, m->symbol[i], &s);
        name[i] = s.data;
    }
    qsort(name, m->degree, sizeof *name, by_text);
    for (uint32_t i = 0, j; i < m->degree; i = j) {
        for (j = i + 1; j < m->degree && !strcmp(name[i], name[j]);) j++;
        text_add(&t, "%s%s", i ? "*" : "", name[i]);
        if (j > i + 1) text_add(&t, "^%u", j - i);
    }
    return t.data ? t.data : "";
}

static PolyPart print_part(const Printer *p, const Monomial *m) {
    PolyPart part = {
        .negative = m->coefficient < 0, .degree = m->degree, .names = print_factors(p, m)};
    uint64_t c = part.negative ? 0 - (uint64_t)m->coefficient : (uint64_t)m->coefficient;
    if (!m->degree) part.text = arena_format(p->w->scratch, "%llu", (unsigned long long)c);
    else if (c == 1) part.text = part.names;
    else part.text = arena_format(p->w->scratch, "%llu*%s", (unsigned long long)c, part.names);
    return part;
}

static void print_sum(const Printer *p, Poly x, Text *t) {
    int n = 0, i = 0;
    PolyScan s = poly_scan(p->w, x);
    for (Monomial m; poly_next(&s, &m);) n++;
    PolyPart *part = ARENA_NEW(p->w->scratch, PolyPart, n);
    s = poly_scan(p->w, x);
    for (Monomial m; poly_next(&s, &m);) part[i++] = print_part(p, &m);
    qsort(part, (size_t)n, sizeof *part, by_part);
    if (!n) text_add(t, "0");
    for (i = 0; i < n; i++) {
        const char *sign = part[i].negative ? (i ? " - " : "-") : (i ? " + " : "");
        text_add(t, "%s%s", sign, part[i].text);
    }
}

/* If the text itself lies in the scratch arena, nothing there is freed. */
void poly_print_as(const World *w, Poly p, int n, const Symbol bound[], Text *t) {
    ArenaMark mark = arena_mark(w->scratch);
    print_sum(&(Printer){w, n, bound, 1, false}, p, t);
    if (t->arena != w->scratch) arena_reset(w->scratch, mark);
}

void poly_print(const World *w, Poly p, Text *t) { poly_print_as(w, p, 0, NULL, t); }

/* Compares two sums or, if not `sums`, two symbols. A name may read like an index (i0): then the
   texts with quoted names decide. */
static int compare(const World *w, bool sums, uint32_t a, uint32_t b) {
    const ArenaMark mark = arena_mark(w->scratch);
    int c = 0;
    for (int quoted = 0; quoted < 2 && !c && a != b; quoted++) {
        const Printer p = {w, 0, NULL, COMPARED, quoted != 0};
        Text text[2] = {text_new(w->scratch), text_new(w->scratch)};
        for (int k = 0; k < 2; k++)
            if (sums) print_sum(&p, k ? b : a, &text[k]);
            else print_symbol(&p, k ? b : a, &text[k]);
        c = strcmp(text[0].data, text[1].data);
    }
    arena_reset(w->scratch, mark);
    return c || a == b ? c : a < b ? -1 : 1;
}
int poly_compare(const World *w, Poly a, Poly b) { return compare(w, true, a, b); }
int symbol_compare(const World *w, Symbol a, Symbol b) { return compare(w, false, a, b); }

typedef struct Parser {
    World *w;
    Scan *s;
    int depth;
} Parser;

static bool parse_sum(Parser *, Poly *);
static bool parse_factor(Parser *, Poly *);

static bool expect(Parser *p, char c) {
    return scan_char(p->s, c) || scan_fail(p->s, p->s->at, "expected '%c'", c);
}

static bool parse_char(Parser *p, char c) { return scan_char(p->s, c); }

static void blank(Scan *s) {
    if (s->lines) scan_blank_line(s);
    else scan_blank(s);
}

static bool parse_term(Parser *p, Poly *out) {
    if (!parse_factor(p, out)) return false;
    while (parse_char(p, '*')) {
        Poly f;
        if (!parse_factor(p, &f)) return false;
        *out = poly_mul(p->w, *out, f);
    }
    return true;
}

static bool parse_floor(Parser *p, Poly *out) {
    Poly a, b;
    if (!expect(p, '(') || !parse_term(p, &a) || !expect(p, '/')) return false;
    const char *at = p->s->at;
    if (!parse_factor(p, &b) || !expect(p, ')')) return false;
    if (!b) return scan_fail(p->s, at, "division by zero");
    *out = poly_floor(p->w, a, b);
    return true;
}

static bool parse_min(Parser *p, Poly *out) {
    Poly a, b;
    if (!expect(p, '(') || !parse_sum(p, &a) || !expect(p, ',') || !parse_sum(p, &b) ||
        !expect(p, ')'))
        return false;
    *out = poly_min(p->w, a, b);
    return true;
}

static bool parse_digit(Parser *p, Poly *out) {
    enum { ROOM = 32 };
    Poly e, radix[ROOM];
    int n = 0;
    int64_t position;
    if (!expect(p, '(') || !parse_sum(p, &e) || !expect(p, ',') || !expect(p, '[')) return false;
    do {
        if (n == ROOM) return scan_fail(p->s, p->s->at, "more than %d radices", ROOM);
        if (!parse_sum(p, &radix[n++])) return false;
    } while (parse_char(p, ','));
    if (!expect(p, ']') || !expect(p, ',')) return false;
    blank(p->s);
    const char *at = p->s->at;
    if (!scan_int(p->s, &position) || !expect(p, ')')) return false;
    if (position < 0 || position >= n)
        return scan_fail(p->s, at, "a digit's position must be below the number of its radices");
    *out = poly_digit(p->w, e, radix, n, (int)position);
    return true;
}

/* Parses a name, which consists of letters, digits and _, and dots that are followed by a letter or
   digit, or a function call. */
static bool parse_name(Parser *p, Poly *out) {
    const char *start = p->s->at, *at = start;
    char name[NAME_MAX_LENGTH + 1];
    while (at < p->s->end) {
        bool inner_dot = *at == '.' && at + 1 < p->s->end && isalnum((unsigned char)at[1]);
        if (!isalnum((unsigned char)*at) && *at != '_' && !inner_dot) break;
        at++;
    }
    size_t n = (size_t)(at - start);
    if (n >= NAME_MAX_LENGTH)
        return scan_fail(p->s, start, "name longer than %d characters", NAME_MAX_LENGTH - 1);
    memcpy(name, start, n);
    name[n] = 0;
    p->s->at = at;
    if (at < p->s->end && *at == '(') {
        if (!strcmp(name, "floor")) return parse_floor(p, out);
        if (!strcmp(name, "min")) return parse_min(p, out);
        if (!strcmp(name, "digit")) return parse_digit(p, out);
    }
    if (p->s->mark) memcpy(name + n, (char[]){p->s->mark, 0}, 2);
    *out = poly_named(p->w, name);
    return true;
}

static bool parse_atom(Parser *p, Poly *out) {
    int64_t v;
    blank(p->s);
    int c = p->s->at < p->s->end ? (unsigned char)*p->s->at : 0;
    if (isdigit(c)) {
        if (!scan_int(p->s, &v)) return false;
        *out = poly_int(p->w, v);
        return true;
    }
    if (isalpha(c) || c == '_') return parse_name(p, out);
    if (scan_char(p->s, '(')) return parse_sum(p, out) && expect(p, ')');
    return scan_fail(p->s, p->s->at,
                     "expected a size: a number, a name, floor(a/b), min(a, b) or (");
}

static bool parse_factor(Parser *p, Poly *out) {
    int64_t power;
    if (++p->depth > DEPTH_MAX) return scan_fail(p->s, p->s->at, "nested too deeply");
    if (parse_char(p, '-')) {
        if (!parse_factor(p, out)) return false;
        *out = poly_scale(p->w, *out, -1);
        p->depth--;
        return true;
    }
    if (!parse_atom(p, out)) return false;
    if (parse_char(p, '^')) {
        Poly base = *out;
        blank(p->s);
        const char *at = p->s->at;
        if (!scan_int(p->s, &power)) return scan_fail(p->s, at, "expected an exponent");
        if (power < 0 || power > POWER_MAX)
            return scan_fail(p->s, at, "the exponent is not in 0..%d", POWER_MAX);
        for (*out = poly_int(p->w, 1); power > 0; power--) *out = poly_mul(p->w, *out, base);
    }
    p->depth--;
    return true;
}

static bool parse_sum(Parser *p, Poly *out) {
    if (!parse_term(p, out)) return false;
    for (;;) {
        Poly t;
        bool minus = parse_char(p, '-');
        if (!minus && !parse_char(p, '+')) return true;
        if (!parse_term(p, &t)) return false;
        *out = minus ? poly_sub(p->w, *out, t) : poly_add(p->w, *out, t);
    }
}

bool poly_parse(World *w, Scan *s, Poly *out) {
    Parser p = {w, s, 0};
    blank(s);
    const char *at = s->at;
    Overflow overflow = overflow_begin(w);
    bool ok = parse_sum(&p, out);
    if (overflow_end(w, overflow) && ok) ok = scan_fail(s, at, "a coefficient exceeds 64 bits");
    return ok;
}
