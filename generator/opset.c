/* opset.c -- reads a set file, which declares the inputs and operators that terms are made of.

   generator/README.md specifies the notation. Each line is one statement. The order is fixed: sizes
   and their values come first, then inputs, then operators. */
#include "generator/space.h"
#include "generator/values.h"
#include "ops/base/file.h"
#include "ops/base/text.h"
#include <string.h>

enum { CHOICES_MAX = 16 }; /* for one unknown */
typedef struct OpsetReader {
    Space *s;
    World *w;
    Scan scan;               /* the rest of the current line */
    int number;              /* of the current line */
    Variant v;               /* the operator of the current line */
    int nchoice[SPACE_FREE]; /* by unknown of the line */
    Poly choice[SPACE_FREE][CHOICES_MAX];
} OpsetReader;

static bool fail(OpsetReader *r, const char *why) {
    return scan_fail(&r->scan, r->scan.at, "%s", why);
}

static int sort_number(OpsetReader *r, const char *name, bool add) {
    Space *s = r->s;
    for (int k = 0; k < s->nsort; k++)
        if (!strcmp(s->sort[k], name)) return k;
    if (!add || s->nsort == SPACE_SORTS) return -1;
    s->sort[s->nsort] = arena_string(s->arena, name, strlen(name));
    return s->nsort++;
}

static bool sizes_line(OpsetReader *r) {
    char name[64];
    while (scan_name(&r->scan, name, sizeof name)) {
        if (r->s->nsize == SPACE_SIZES) return fail(r, "too many sizes");
        r->s->size[r->s->nsize++] = symbol_named(r->w, name);
    }
    return r->s->nsize || fail(r, "expected the names of the sizes");
}

static bool at_line(OpsetReader *r) {
    Space *s = r->s;
    if (s->nstage == SPACE_STAGES) return fail(r, "too many `at` lines");
    if (s->nkind || s->nop)
        return fail(r, "an `at` line must come before the inputs and operators");
    for (int k = 0; k < s->nsize; k++) {
        int64_t v;
        if (!scan_int(&r->scan, &v) || v < 1 || v > 64)
            return fail(r, "expected a value from 1 to 64 for each size");
        s->value[s->nstage][k] = v;
    }
    s->nstage++;
    return true;
}

static bool input_line(OpsetReader *r) {
    char name[64];
    Type t;
    Space *s = r->s;
    if (s->nstage < 2)
        return fail(r, "an input must come after two `at` lines, which give the sizes at which "
                       "values are compared");
    if (!scan_name(&r->scan, name, sizeof name)) return fail(r, "expected the name of a sort");
    int sort = sort_number(r, name, true);
    if (sort < 0) return fail(r, "too many sorts");
    if (!scan_char(&r->scan, ':') || !type_parse(r->w, &r->scan, &t))
        return fail(r, "expected : and a type");
    if (s->nkind == SPACE_KINDS) return fail(r, "too many inputs");
    if (dtype_class(t.dtype) != 'F' || !t.known)
        return fail(r, "an input must be a float tensor of known rank");
    ShapeId shape = space_shape_put(s, sort, type_intern(r->w, &t));
    if (!shape)
        return fail(r, "a size of the input has no value, or the input has more than 512 elements");
    if (space_kind_of(s, shape) >= 0)
        return fail(r, "an input of this sort and type is already defined");
    s->kind[s->nkind++] = (Kind){sort, shape};
    return true;
}

/* ---- operators */

static bool is_size(const Space *s, Symbol x) {
    for (int k = 0; k < s->nsize; k++)
        if (s->size[k] == x) return true;
    return false;
}

static bool find_free(OpsetReader *r, Poly p) {
    Monomial m;
    Variant *v = &r->v;
    for (PolyScan s = poly_scan(r->w, p); poly_next(&s, &m);)
        for (uint32_t j = 0; j < m.degree; j++) {
            int k = 0;
            while (k < v->nfree && v->free[k] != m.symbol[j]) k++;
            if (k < v->nfree || is_size(r->s, m.symbol[j])) continue;
            if (v->nfree == SPACE_FREE) return fail(r, "too many unknowns");
            v->free[v->nfree++] = m.symbol[j];
        }
    return true;
}

/* Reads NAME=VALUE or NAME=VARIABLE:VALUE. Returns false without an error if there is no further
   attribute. */
static bool read_attribute(OpsetReader *r) {
    char name[64];
    Variant *v = &r->v;
    const char *start = r->scan.at;
    if (!scan_name(&r->scan, name, sizeof name)) return false;
    int k = attrs_find(v->op->attrs, name);
    if (k < 0 || !scan_char(&r->scan, '=')) {
        r->scan.at = start;
        return fail(r, "this operator has no such attribute");
    }
    const char *value = r->scan.at;
    if (scan_name(&r->scan, name, sizeof name) && *r->scan.at == ':' && scan_char(&r->scan, ':'))
        v->whole[k] = arena_string(r->s->arena, name, strlen(name));
    else r->scan.at = value;
    if (!attr_parse(r->w, &r->scan, &v->op->attrs[k], &v->general[k]))
        return fail(r, "expected the attribute's value");
    v->given[k] = true;
    for (int j = 0; j < v->general[k].ints.n; j++)
        if (!find_free(r, v->general[k].ints.v[j])) return false;
    return true;
}

static bool sorts(OpsetReader *r, int most, bool results, int *n, int out[]) {
    char name[64];
    for (*n = 0;; ++*n) {
        const char *start = r->scan.at;
        if (!scan_name(&r->scan, name, sizeof name)) return true;
        if (!strcmp(name, "where") || !strcmp(name, "most")) return r->scan.at = start, true;
        if (*n == most) return fail(r, "too many sorts");
        bool any = name[0] >= 'A' && name[0] <= 'Z' && !name[1];
        out[*n] = any ? -name[0] : sort_number(r, name, results);
        if (!any && out[*n] < 0) return fail(r, "no input is declared with this sort");
    }
}

static bool read_signature(OpsetReader *r, OpForm *f) {
    Variant *v = &r->v;
    bool variadic, many;
    int narg, nout = 0, least = op_arity(v->op, &variadic), outputs = op_output_count(v->op, &many);
    if (!scan_char(&r->scan, ':')) return fail(r, "expected : and the sorts of its arguments");
    if (!sorts(r, TERM_ARGS, false, &narg, v->sort)) return false;
    if (narg < least || (!variadic && narg > op_input_count(v->op)))
        return fail(r, "wrong number of arguments for this operator");
    if (scan_word(&r->scan, "->")) {
        if (!sorts(r, TERM_PORTS, true, &nout, v->result)) return false;
        if (many ? nout < 1 : nout != outputs)
            return fail(r, "wrong number of results for this operator");
    } else if (narg && outputs == 1 && !many) {
        v->result[0] = v->sort[0];
        nout = 1;
    } else return fail(r, "expected -> and the sorts of its results");
    *f = (OpForm){(uint8_t)narg, (uint8_t)nout,
                  narg == 2 && (v->op->flags & OP_COMMUTATIVE) && v->sort[0] == v->sort[1]};
    return true;
}

static bool choices(OpsetReader *r) {
    char name[64];
    do {
        int k = 0;
        if (!scan_name(&r->scan, name, sizeof name))
            return fail(r, "expected an unknown of this line");
        while (k < r->v.nfree && r->v.free[k] != symbol_named(r->w, name)) k++;
        if (k == r->v.nfree || !scan_char(&r->scan, '='))
            return fail(r, "expected = after an unknown of this line");
        do {
            if (r->nchoice[k] == CHOICES_MAX) return fail(r, "too many choices");
            if (!poly_parse(r->w, &r->scan, &r->choice[k][r->nchoice[k]++]))
                return fail(r, "expected a size");
        } while (scan_char(&r->scan, '|'));
        r->v.chosen[k] = true;
    } while (scan_char(&r->scan, ','));
    return true;
}

/* Computes v->attr: v->general with the chosen unknowns replaced by their choices. */
static void substitute_unknowns(Space *s, Variant *v) {
    Symbol from[SPACE_FREE];
    Poly to[SPACE_FREE];
    int n = 0;
    for (int k = 0; k < v->nfree; k++)
        if (v->chosen[k]) from[n] = v->free[k], to[n++] = v->choice[k];
    memcpy(v->attr, v->general, sizeof v->attr);
    for (int k = 0; k < attrs_count(v->op->attrs); k++) {
        Poly *list = ARENA_NEW(s->arena, Poly, v->general[k].ints.n);
        for (int j = 0; j < v->general[k].ints.n; j++)
            list[j] = poly_subst(s->w, v->general[k].ints.v[j], n, from, to);
        v->attr[k].ints.v = list;
    }
}

/* Adds a variant for every combination of the choices of unknowns k, k + 1, ... */
static bool add_choices(OpsetReader *r, const OpForm *f, int k) {
    Space *s = r->s;
    if (k < r->v.nfree && r->v.chosen[k]) {
        for (int j = 0; j < r->nchoice[k]; j++) {
            r->v.choice[k] = r->choice[k][j];
            if (!add_choices(r, f, k + 1)) return false;
        }
        return true;
    }
    if (k < r->v.nfree) return add_choices(r, f, k + 1);
    if (s->nop == TERM_FORMS) return fail(r, "too many operators");
    s->form[s->nop] = *f;
    s->op[s->nop] = r->v;
    substitute_unknowns(s, &s->op[s->nop++]);
    return true;
}

static bool op_line(OpsetReader *r) {
    char name[64];
    OpForm f;
    int64_t most = TERM_OPS;
    const char *start = r->scan.at;
    memset(&r->v, 0, sizeof r->v);
    memset(r->nchoice, 0, sizeof r->nchoice);
    if (!r->s->nkind) return fail(r, "an operator must come after the inputs");
    if (!scan_name(&r->scan, name, sizeof name)) return fail(r, "expected the name of an operator");
    r->v.op = op_find(name);
    r->scan.at = r->v.op ? r->scan.at : start;
    if (!r->v.op) return scan_fail(&r->scan, start, "unknown operator \"%s\"", name);
    if (!r->v.op->define)
        return scan_fail(&r->scan, start,
                         "%s has no definition (`define`), so it cannot be used in a set", name);
    while (read_attribute(r)) continue;
    if (r->scan.error->kind || !read_signature(r, &f)) return false;
    if (scan_word(&r->scan, "where") && !choices(r)) return false;
    if (scan_word(&r->scan, "most") && (!scan_int(&r->scan, &most) || most < 1))
        return fail(r, "expected the maximum number of uses in a term, 1 or more");
    r->v.line = r->number;
    r->v.most = (int)most;
    if (f.narg > r->s->most_arguments) r->s->most_arguments = f.narg;
    return add_choices(r, &f, 0);
}

static bool set_line(OpsetReader *r) {
    static const struct {
        const char *word;
        bool (*read)(OpsetReader *);
    } lines[] = {{"sizes", sizes_line}, {"at", at_line}, {"input", input_line}, {"op", op_line}};
    if (scan_end(&r->scan)) return true;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        if (scan_word(&r->scan, lines[k].word))
            return lines[k].read(r) &&
                   (scan_end(&r->scan) || fail(r, "unexpected text at the end of the line"));
    return fail(r, "expected sizes, at, input or op");
}

static const char *base_name(Arena *a, const char *path) {
    const char *name = path_name(path);
    return arena_string(a, name, strcspn(name, "."));
}

Space *space_parse(World *w, const char *path, const char *text, size_t n, Error *e) {
    Error mine = {0};
    Space *s = ARENA_NEW(w->arena, Space, 1);
    s->reach = LANES_REACH;
    *s = (Space){.w = w,
                 .arena = w->arena,
                 .path = path,
                 .name = base_name(w->arena, path),
                 .digest = hash_bytes(text, n)};
    s->text = text;
    s->text_size = n;
    s->op = ARENA_NEW(w->arena, Variant, TERM_FORMS);
    OpsetReader r = {.s = s, .w = w};
    e = e ? e : &mine;
    for (const char *p = text, *end = text + n; p < end; p++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop) stop = end;
        r.number++;
        r.scan = scan_new(path, text, n, e);
        r.scan.at = p;
        r.scan.end = stop;
        if (!set_line(&r)) return NULL;
        p = stop;
    }
    if (!s->nop)
        return error_at(e, E_INVALID, path, r.number, 1, "the set contains no operator"), NULL;
    return s;
}

Space *space_read(World *w, const char *path, Error *e) {
    char *text;
    size_t n;
    return file_read(w->arena, path, &text, &n, e) ? space_parse(w, path, text, n, e) : NULL;
}
