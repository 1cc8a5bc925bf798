/* text_build.c -- builds nodes from parsed node lines. Names are looked up, missing attributes get
   their defaults, variables are replaced by their values, and shape() may refuse the node. */
#include "graphs/text_constant.h"
#include <string.h>

enum { BOUND_MAX = 128 };

/* ---- names */

static const struct NamedValue *find_named(const Names *names, const char *name) {
    for (int k = names->n; k-- > 0;)
        if (!strcmp(names->v[k].name, name)) return &names->v[k];
    return NULL;
}

Value names_find(const Names *names, const char *name) {
    const struct NamedValue *e = find_named(names, name);
    return e ? e->value : 0;
}

bool names_has(const Names *names, const char *name) { return find_named(names, name) != NULL; }

void names_set(Names *names, const char *name, Value value) {
    ARENA_GROW(names->arena, names->v, names->room, names->n + 1);
    names->v[names->n++] =
        (struct NamedValue){arena_string(names->arena, name, strlen(name)), value};
}

/* ---- variables */

typedef struct Build {
    World *w;
    Arena *arena;
    Scan scan;
    const Bindings *bound;
    Names *names;
    int nsymbol;
    Symbol *symbol; /* the integer variables */
    Poly *poly;     /* their values */
} Build;

static void bind_symbols(Build *b) {
    if (!b->bound) return;
    b->symbol = ARENA_NEW(b->arena, Symbol, b->bound->n);
    b->poly = ARENA_NEW(b->arena, Poly, b->bound->n);
    for (int k = 0; k < b->bound->n; k++) {
        const Binding *v = &b->bound->v[k];
        if (v->kind != A_INT) continue;
        b->symbol[b->nsymbol] = symbol_named(b->w, v->name);
        b->poly[b->nsymbol++] = v->value.ints.v[0];
    }
}

static const Binding *binding(const Build *b, const char *name, AttrKind kind) {
    for (int k = 0; b->bound && k < b->bound->n; k++)
        if (b->bound->v[k].kind == kind && !strcmp(b->bound->v[k].name, name))
            return &b->bound->v[k];
    return NULL;
}

static Poly bound_poly(const Build *b, Poly p) {
    return b->nsymbol ? poly_subst(b->w, p, b->nsymbol, b->symbol, b->poly) : p;
}

static PolyList bound_list(const Build *b, PolyList list) {
    if (!b->nsymbol || !list.n) return list;
    Poly *v = ARENA_NEW(b->arena, Poly, list.n);
    for (int k = 0; k < list.n; k++) v[k] = bound_poly(b, list.v[k]);
    return (PolyList){list.n, v};
}

static Ex bound_real(const Build *b, Ex x) {
    ExNode n;
    if (!b->bound || !x) return x;
    ex_get(b->w, x, &n);
    if (n.kind == EX_SIZE && b->nsymbol)
        return ex_subst(b->w, x, b->nsymbol, b->symbol, b->poly, NULL, 0);
    const Binding *v = n.kind == EX_PARAM ? binding(b, world_text(b->w, n.word), A_REAL) : NULL;
    return v ? v->value.real : x;
}

/* Expands a list variable S of a rule (strides=S) to S_1, S_2, .., as many as the operator has
   entries for an input of this rank. Returns false if it is not such a variable. */
static bool list_variable(Build *b, const AttrDef *def, const char *name, Value first, Attr *out) {
    int rank = first ? value_type(b->w, first)->dim.n : 0;
    int n = def->fill == PER_AXIS ? rank : (def->fill == PER_SIDE ? 2 : 1) * (rank - 2);
    if (b->bound || def->kind != A_INTS || def->fill == AS_IS || n < 0) return false;
    Poly *v = ARENA_NEW(b->arena, Poly, n);
    for (int k = 0; k < n; k++)
        v[k] = poly_named(b->w, arena_format(b->arena, "%s_%d%.1s", name, k + 1, &b->scan.mark));
    *out = (Attr){.ints = {n, v}};
    return true;
}

static bool attr_build(Build *b, const NodeLine *l, const LineAttr *a, Value first, Attr *out) {
    const AttrDef *def = &l->op->attrs[a->def];
    const Binding *v = a->variable ? binding(b, a->variable, def->kind) : NULL;
    if (a->variable && list_variable(b, def, a->variable, first, out)) return true;
    if (a->variable && !v && def->words)
        return scan_fail(&b->scan, l->at, "%s=%s: expected one of: %s", def->name, a->variable,
                         def->words);
    if (a->variable && !v)
        return scan_fail(&b->scan, l->at, "%s=%s: the variable %s is not defined", def->name,
                         a->variable, a->variable);
    *out = v ? v->value : a->value;
    out->ints = v ? out->ints : bound_list(b, out->ints);
    out->real = bound_real(b, out->real);
    return true;
}

/* ---- lines */

static bool inputs_build(Build *b, const NodeLine *l, Value *in) {
    for (int k = 0; k < l->nin; k++) {
        if (l->in[k] && !names_has(b->names, l->in[k]))
            return scan_fail(&b->scan, l->at, "unknown value %%%s", l->in[k]);
        in[k] = l->in[k] ? names_find(b->names, l->in[k]) : 0;
    }
    return true;
}

static bool attrs_build(Build *b, const NodeLine *l, Value first, Attr *attr) {
    bool given[ATTRS_MAX] = {false};
    const char *missing;
    for (int k = 0; k < l->nattr; k++) {
        if (!attr_build(b, l, &l->attr[k], first, &attr[l->attr[k].def])) return false;
        given[l->attr[k].def] = true;
    }
    return node_attrs(b->w, l->op, first, given, attr, &missing) ||
           scan_fail(&b->scan, l->at, "%s needs %s", l->op->name, missing);
}

static Value constant_line(Build *b, const LineConstant *c) {
    Type t = c->type;
    for (int k = 0; k < t.dim.n; k++) t.dim.v[k] = bound_poly(b, t.dim.v[k]);
    return constant_build(b->w, c, &t, &b->scan);
}

static Value line_build(Build *b, const NodeLine *l) {
    if (l->when)
        return scan_fail(&b->scan, l->at, "a condition stands outside an operator's expansion"), 0;
    if (l->constant) return constant_line(b, l->constant);
    Value *in = ARENA_NEW(b->arena, Value, l->nin);
    Attr attr[ATTRS_MAX];
    const char *why = "";
    memset(attr, 0, sizeof attr);
    if (!inputs_build(b, l, in) || !attrs_build(b, l, l->nin ? in[0] : 0, attr)) return 0;
    Value y = node_make(b->w, l->op, attr, l->nin, in, l->nout, &why);
    if (!y) scan_fail(&b->scan, l->at, "%s: %s", l->op->name, why);
    return y;
}

static bool name_results(Build *b, const NodeLine *l, Value y) {
    if (l->nout > node_get(b->w, y).nout)
        return scan_fail(&b->scan, l->at, "%s has %d results", l->op->name, node_get(b->w, y).nout);
    for (int k = 0; k < l->nout; k++) {
        if (names_has(b->names, l->out[k]))
            return scan_fail(&b->scan, l->at, "%%%s is already defined", l->out[k]);
        names_set(b->names, l->out[k], y + (Value)k);
    }
    return true;
}

static bool name_again(Build *b, const NodeLine *l) {
    Value v;
    if (l->nin != 1 || l->nout != 1)
        return scan_fail(&b->scan, l->at,
                         "a line that only renames takes one value and gives one name");
    if (!inputs_build(b, l, &v)) return false;
    if (names_has(b->names, l->out[0]))
        return scan_fail(&b->scan, l->at, "%%%s is already defined", l->out[0]);
    names_set(b->names, l->out[0], v);
    return true;
}

static bool outputs_build(Build *b, const LineList *l, Value **out) {
    Value *v = ARENA_NEW(b->arena, Value, l->nout);
    for (int k = 0; k < l->nout; k++)
        if (!(v[k] = names_find(b->names, l->out[k])))
            return scan_fail(&b->scan, b->scan.at, "out: unknown value %%%s", l->out[k]);
    if (out) *out = v;
    return true;
}

bool lines_build(World *w, Arena *a, const LineList *l, const Bindings *bound, Names *names,
                 Value **out, Error *e) {
    Build b = {w, a, l->text, bound, names, 0, NULL, NULL};
    if (e) b.scan.error = e;
    bind_symbols(&b);
    for (int k = 0; k < l->n; k++) {
        if (!l->v[k].op && !l->v[k].when) {
            if (!name_again(&b, &l->v[k])) return false;
            continue;
        }
        Value y = line_build(&b, &l->v[k]);
        if (!y || !name_results(&b, &l->v[k], y)) return false;
    }
    return outputs_build(&b, l, out);
}
