/* digest.c -- a number for what an operator means: the hash of its definition printed at a fixed family of symbolic
   signatures, in a World of its own so that nothing else has a say. The family: every combination of rank, ranks of
   further inputs, element type and form of the attributes that shape() accepts. Sizes and integer attributes are
   symbols. */
#include "ops/signature.h"
#include <string.h>

enum { INPUTS = 6, ATTRS = 16, LISTS = 2 * RANK_MAX, RANKS = 6, PATTERNS = 4, FORMS = 6, WORDS = 4, AXES = 3 };
typedef struct Variant {
    int rank, pattern; /* of input 0; how the other inputs' ranks follow */
    int form;          /* of lists: see list_entries; FORMS - 1: all defaults */
    int words, axis;   /* bit k: word attribute k is 1; which axis */
    DType dtype;
} Variant;
typedef struct Family {
    World *w;
    const Op *op;
    Text *text;
    Sig last;
    Poly list[ATTRS][LISTS];
} Family;

static Poly symbol(Family *f, const char *stem, int k, int a) {
    return poly_named(f->w, arena_format(f->w->arena, "%s.%d.%d", stem, k, a));
}
static int rank_of(const Variant *v, int input) {
    if (input == 0) return v->rank;
    if (v->pattern == 0) return v->rank;
    if (v->pattern == 1) return 1;
    if (v->pattern == 2) return input == 1 ? v->rank : 1;
    return v->rank > 0 ? v->rank - 1 : 0;
}
/* Lists without a declared fill: one symbol for each axis, two for each, two in all, or the axes backwards. */
static int list_length(const AttrDef *d, const Variant *v) {
    int spatial = v->rank > 2 ? v->rank - 2 : 0;
    if (d->axes) return 1 + (v->form & 1);
    if (d->fill == PER_SPATIAL) return spatial;
    if (d->fill == PER_SIDE) return 2 * spatial;
    if (d->fill == PER_AXIS) return v->rank;
    return v->form == 0 || v->form == 3 ? v->rank : v->form == 1 ? 2 * v->rank : v->form == 2 ? 2 : spatial;
}
static Poly list_entry(Family *f, const AttrDef *d, const Variant *v, int k, int entry, int n) {
    if (d->axes) return poly_int(f->w, (v->axis + entry) % (v->rank > 0 ? v->rank : 1));
    if (d->fill == AS_IS && d->kind == A_INTS && v->form == 3) return poly_int(f->w, n - 1 - entry);
    return symbol(f, d->name, k, entry);
}
static bool attribute(Family *f, const AttrDef *d, const Variant *v, int k, Attr *out) {
    *out = (Attr){0};
    if (v->form == FORMS - 1 && d->init) return attr_default(f->w, d, v->rank, out);
    int n = d->kind == A_INT ? 1 : d->kind == A_INTS ? list_length(d, v) : 0;
    for (int entry = 0; entry < n; entry++) f->list[k][entry] = list_entry(f, d, v, k, entry, n);
    out->ints = (PolyList){n, f->list[k]};
    if (d->kind == A_REAL) out->real = ex_param(f->w, d->name);
    if (d->kind == A_WORD) out->word = v->words >> (k & 1) & 1 && strchr(d->words, ' ');
    if (d->kind == A_DTYPE) out->word = (int)v->dtype;
    return true;
}

static void print_need(Family *f, Lit l) {
    text_add(f->text, "need ");
    poly_print(f->w, l.p, f->text);
    text_add(f->text, l.eq ? " = 0\n" : " >= 0\n");
}
static void print_signature(Family *f, Sig sig) {
    const SigInfo *info = sig_info(f->w, sig);
    for (int k = 0; k < info->nneed; k++) print_need(f, info->need[k]);
    for (int j = 0; j < info->nout; j++) {
        Ex define = sig_define(f->w, sig, j);
        type_print(f->w, type_get(f->w, info->out[j]), f->text);
        text_add(f->text, " : ");
        if (define) ex_print(f->w, define, f->text);
        text_add(f->text, "\n");
    }
}
static void print_variant(Family *f, const Variant *v, int nin) {
    Attr attr[ATTRS];
    TypeId in[INPUTS];
    for (int k = 0; k < nin; k++) {
        Type t = {.dtype = v->dtype, .known = true, .dim.n = rank_of(v, k)};
        for (int a = 0; a < t.dim.n; a++) t.dim.v[a] = symbol(f, "n", k, a);
        in[k] = type_intern(f->w, &t);
    }
    for (int k = 0; k < attrs_count(f->op->attrs); k++)
        if (!attribute(f, &f->op->attrs[k], v, k, &attr[k])) return;
    Sig sig = sig_intern(f->w, f->op, attr, nin, in, 2);
    if (sig > f->last && !sig_info(f->w, sig)->why) print_signature(f, sig);
    if (sig > f->last) f->last = sig;
}
static void print_inputs(Family *f, int nin) {
    static const DType dtypes[] = {DT_FLOAT, DT_INT64};
    for (int n = 0; n < RANKS * PATTERNS * FORMS * WORDS * AXES * 2; n++) {
        int k = n;
        Variant v = {.dtype = dtypes[k % 2]};
        k /= 2, v.rank = k % RANKS;
        k /= RANKS, v.pattern = k % PATTERNS;
        k /= PATTERNS, v.form = k % FORMS;
        k /= FORMS, v.words = k % WORDS;
        k /= WORDS, v.axis = k;
        if (v.axis < v.rank || v.axis == 0) print_variant(f, &v, nin);
    }
}

void sig_digest(World *w, const Op *op, char out[33]) {
    if (op->expand) {
        hash_hex(op->expand, strlen(op->expand), out);
        return;
    }
    World *own = world_new(arena_escape(w->arena), 0);
    world_init_ops(own);
    Text text = text_new(own->arena);
    Family f = {.w = own, .op = op, .text = &text};
    bool variadic;
    int least = op_arity(op, &variadic), most = variadic ? least + 1 : op_input_count(op);
    text_add(&text, "%s\n", op->name);
    for (int nin = least; nin <= most && nin <= INPUTS; nin++) print_inputs(&f, nin);
    hash_hex(text.data, text.size, out);
    world_free(own);
}
