/* digest.c -- computes the digest of what an operator means: the hash of its definition, printed
   for a fixed family of signatures. The family has every combination of element type, ranks, kinds
   of sizes and forms of attributes that shape() accepts. Real attributes are variables, or numbers
   if the operator has no definition for variables. If it has none for inputs of one type, they are
   bytes, and scales floats. The family is made in a World of its own, so that the digest depends on
   nothing else. The digest of a composite is computed from the text of its
   expansion and the digests of the operators in it. */
#include "ops/operator/digest.h"
#include "ops/operator/signature.h"
#include <ctype.h>
#include <string.h>

/* INPUTS: the most inputs; ALIKE: the most if all have one type. */
enum { INPUTS = 9, ALIKE = 6, LISTS = 2 * RANK_MAX, NAME = 64 };
typedef enum SizesForm { SYMBOLS, SOME_ONES, NUMBERS, SIZES_FORMS } SizesForm;
/* How list attributes are filled: one symbol per axis; two per axis; two per axis, zero for every
   other axis; two in all; one per spatial axis; the axes backwards; the sizes of input 0 unchanged;
   doubled; with the last two merged. DEFAULTS: every attribute but enums has its default. */
typedef enum ListForm {
    AN_AXIS,
    TWO_AN_AXIS,
    SOME_ZEROS,
    TWO,
    A_SPATIAL,
    BACKWARDS,
    AS_SIZES,
    DOUBLED,
    MERGED,
    DEFAULTS,
    LIST_FORMS
} ListForm;
/* The family covers every rank and axis; beyond the common ranks and axes, sizes are symbols only.
   If there are more than WORDS_ALL combinations of enum values, at most two at a time differ from
   their first value. */
enum { RANKS = RANK_MAX + 1, PATTERNS = 4, COMMON_RANK = 5, COMMON_AXIS = 2, WORDS_ALL = 64 };
typedef enum TypesForm { ONE_TYPE, BYTES, BYTES_OF_FLOAT, TYPES_FORMS } TypesForm;
typedef struct Variant {
    DType dtype;
    TypesForm types;   /* BYTES_OF_FLOAT: input 0 is of floats */
    bool numbers;      /* real attributes are numbers */
    int rank, pattern; /* rank: of input 0; pattern: how the ranks of the other inputs follow from
                          it */
    SizesForm sizes;
    ListForm list;
    int axis, words; /* axis: of attributes that are axes; words: the values of all enum attributes
                        as one number */
} Variant;
typedef struct Family {
    World *w;
    const Op *op;
    Text *text;
    bool defined; /* a signature that was printed has a definition */
    Sig last;     /* the last signature printed: newer ones have greater numbers */
    Poly list[ATTRS_MAX][LISTS];
    /* size, entry: the symbols made so far; 0: not made yet */
    Poly size[INPUTS][RANKS], entry[ATTRS_MAX][LISTS];
} Family;

static Poly family_symbol(Family *f, Poly *known, const char *stem, int k, int a) {
    if (!*known) *known = poly_named(f->w, arena_format(f->w->arena, "%s.%d.%d", stem, k, a));
    return *known;
}
static int rank_of(const Variant *v, int input) {
    if (input == 0 || v->pattern == 0) return v->rank;
    if (v->pattern == 1) return 1;
    if (v->pattern == 2) return input == 1 ? v->rank : 1;
    return v->rank > 0 ? v->rank - 1 : 0;
}
static Poly size_of(Family *f, const Variant *v, int input, int a) {
    if (v->sizes == SOME_ONES && a % 2 == 0) return poly_int(f->w, 1);
    if (v->sizes == NUMBERS) return poly_int(f->w, a + 2);
    return family_symbol(f, &f->size[input][a], "n", input, a);
}

static int list_length(const AttrDef *d, const Variant *v) {
    int spatial = v->rank > 2 ? v->rank - 2 : 0;
    if (d->axes) return 1 + (v->list & 1);
    if (d->fill == PER_SPATIAL) return spatial;
    if (d->fill == PER_SIDE) return 2 * spatial;
    if (d->fill == PER_AXIS) return v->rank;
    switch (v->list) {
    case TWO_AN_AXIS:
    case SOME_ZEROS: return 2 * v->rank;
    case TWO: return 2;
    case A_SPATIAL: return spatial;
    case MERGED: return v->rank > 1 ? v->rank - 1 : v->rank;
    default: return v->rank;
    }
}
static Poly list_entry(Family *f, const AttrDef *d, const Variant *v, int k, int entry, int n) {
    if (d->axes) return poly_int(f->w, (v->axis + entry) % (v->rank > 0 ? v->rank : 1));
    bool free = d->kind == A_INTS && d->fill == AS_IS;
    if (free && v->list == BACKWARDS) return poly_int(f->w, n - 1 - entry);
    if (free && v->list == SOME_ZEROS && v->rank > 0 && entry % v->rank % 2 == 0) return 0;
    if (!free || v->list < AS_SIZES)
        return family_symbol(f, &f->entry[k][entry], d->name, k, entry);
    Poly size = size_of(f, v, 0, entry);
    if (v->list == DOUBLED) return poly_scale(f->w, size, 2);
    bool merges = v->list == MERGED && entry == n - 1 && v->rank > 1;
    return merges ? poly_mul(f->w, size, size_of(f, v, 0, entry + 1)) : size;
}
static int word_count(const AttrDef *d) {
    int n = 1;
    for (const char *s = d->words; *s; s++) n += *s == ' ';
    return n;
}
static void family_attribute(Family *f, const AttrDef *d, Variant *v, int k, Attr *out) {
    *out = (Attr){0};
    if (v->list == DEFAULTS && d->init && d->kind != A_ENUM && attr_default(f->w, d, v->rank, out))
        return;
    int n = d->kind == A_INT ? 1 : d->kind == A_INTS ? list_length(d, v) : 0;
    for (int entry = 0; entry < n; entry++) f->list[k][entry] = list_entry(f, d, v, k, entry, n);
    out->ints = (PolyList){n, f->list[k]};
    if (d->kind == A_REAL)
        out->real = v->numbers ? ex_rational(f->w, 2 * k - 1, 3) : ex_param(f->w, d->name);
    if (d->kind == A_DTYPE) out->enum_value = (int)v->dtype;
    if (d->kind != A_ENUM) return;
    out->enum_value = v->words % word_count(d);
    v->words /= word_count(d);
}

static void print_signature(Family *f, Sig sig) {
    const SigInfo *info = sig_info(f->w, sig);
    for (int k = 0; k < info->nneed; k++) {
        text_add(f->text, "need ");
        poly_print(f->w, info->need[k].p, f->text);
        text_add(f->text, info->need[k].eq ? " = 0\n" : " >= 0\n");
    }
    for (int j = 0; j < info->nout; j++) {
        Ex define = sig_define(f->w, sig, j);
        type_print(f->w, type_get(f->w, info->out[j]), f->text);
        text_add(f->text, " : ");
        if (define) ex_print(f->w, define, f->text);
        f->defined |= define != 0;
        text_add(f->text, "\n");
    }
}
/* Returns whether the name of input k ends in "scale". */
static bool is_scale(const Op *op, int k) {
    const char *name = op->in;
    while (k--) name += strcspn(name, " "), name += strspn(name, " ");
    const size_t n = strcspn(name, " ?"), end = strlen("scale");
    return n >= end && !strncmp(name + n - end, "scale", end);
}
static DType type_of(const Family *f, const Variant *v, int input) {
    if (v->types == ONE_TYPE) return v->dtype;
    const bool real = is_scale(f->op, input) || (input == 0 && v->types == BYTES_OF_FLOAT);
    return real ? DT_FLOAT : DT_UINT8;
}
/* Returns whether an attribute is a number of the element type. */
static bool has_elements(const Op *op) {
    bool any = false;
    for (const AttrDef *d = op->attrs; d && d->name; d++) any |= d->element;
    return any;
}
static bool lacks_definition(Family *f, Sig sig) {
    return f->op->define && !sig_info(f->w, sig)->why && !sig_define(f->w, sig, 0);
}
static void print_variant(Family *f, Variant v, int nin) {
    Attr attr[ATTRS_MAX];
    TypeId in[INPUTS];
    const int words = v.words;
    for (int k = 0; k < nin; k++) {
        Type t = {.dtype = type_of(f, &v, k), .known = true, .dim.n = rank_of(&v, k)};
        for (int a = 0; a < t.dim.n; a++) t.dim.v[a] = size_of(f, &v, k, a);
        in[k] = type_intern(f->w, &t);
    }
    for (int k = 0; k < attrs_count(f->op->attrs); k++)
        family_attribute(f, &f->op->attrs[k], &v, k, &attr[k]);
    Sig sig = sig_intern(f->w, f->op, attr, nin, in, 2);
    if (sig > f->last && !sig_info(f->w, sig)->why) print_signature(f, sig);
    if (sig > f->last) f->last = sig;
    v.words = words;
    if (!v.numbers && v.dtype == DT_FLOAT && has_elements(f->op) && lacks_definition(f, sig)) {
        v.numbers = true;
        print_variant(f, v, nin);
    }
}

/* Removes and returns the least significant digit of *n. */
static int next_digit(int *n, int radix) {
    int digit = *n % radix;
    *n /= radix;
    return digit;
}
static bool is_common(const Variant *v) { return v->rank <= COMMON_RANK && v->axis <= COMMON_AXIS; }
/* The number of enum attributes that do not have their first value. */
static int words_changed(const Family *f, int words) {
    int n = 0;
    for (const AttrDef *d = f->op->attrs; d && d->name; d++)
        if (d->kind == A_ENUM) n += next_digit(&words, word_count(d)) > 0;
    return n;
}
static void print_inputs(Family *f, int nin, TypesForm types) {
    static const DType dtypes[] = {DT_FLOAT, DT_INT64};
    int patterns = nin > 1 ? PATTERNS : 1, axes = 1, words = 1,
        lists = attrs_count(f->op->attrs) ? LIST_FORMS : 1;
    for (const AttrDef *d = f->op->attrs; d && d->name; d++) {
        if (d->axes) axes = RANK_MAX;
        if (d->kind == A_ENUM) words *= word_count(d);
    }
    for (int n = 2 * RANKS * patterns * SIZES_FORMS * lists * axes * words - 1; n >= 0; n--) {
        int k = n;
        Variant v = {.types = types,
                     .dtype = dtypes[next_digit(&k, 2)],
                     .rank = next_digit(&k, RANKS),
                     .pattern = next_digit(&k, patterns)};
        v.sizes = (SizesForm)next_digit(&k, SIZES_FORMS);
        v.list = (ListForm)next_digit(&k, lists);
        v.axis = next_digit(&k, axes);
        v.words = k;
        if (v.axis > 0 && v.axis >= v.rank) continue;
        if (types != ONE_TYPE && (v.dtype != DT_FLOAT || v.rank > COMMON_RANK)) continue;
        if (v.sizes != SYMBOLS && !is_common(&v)) continue;
        if (words <= WORDS_ALL || words_changed(f, v.words) <= 2) print_variant(f, v, nin);
    }
}
static void print_family(World *w, const Op *op, Text *text) {
    Family f = {.w = w, .op = op, .text = text};
    bool variadic;
    int least = op_arity(op, &variadic), most = variadic ? least + 1 : op_input_count(op);
    for (int nin = least; nin <= most && nin <= INPUTS; nin++) {
        f.defined = false;
        if (nin <= ALIKE) print_inputs(&f, nin, ONE_TYPE);
        for (int types = BYTES; op->define && types < TYPES_FORMS && !f.defined; types++)
            print_inputs(&f, nin, (TypesForm)types);
    }
}

/* Prints the text of an expansion, then the digest of each operator in it, which are the names that
   follow an equals sign. */
static void print_expansion(World *w, const char *expand, Text *text) {
    char digest[33], name[NAME];
    text_add(text, "%s", expand);
    for (const char *s = strstr(expand, " = "); s; s = strstr(s + 1, " = ")) {
        size_t n = 0;
        for (const char *c = s + 3; n + 1 < NAME && (isalnum((unsigned char)*c) || *c == '_'); c++)
            name[n++] = *c;
        name[n] = 0;
        const Op *op = op_find(name);
        if (op) digest_compute(w, op, digest);
        text_add(text, "%s %s\n", name, op ? digest : "?");
    }
}

void digest_compute(World *w, const Op *op, char out[33]) {
    World *own = world_new(arena_escape(w->arena), 0);
    world_init_ops(own);
    Text text = text_new(own->arena);
    text_add(&text, "%s\n", op->name);
    if (op->expand) print_expansion(own, op->expand, &text);
    else print_family(own, op, &text);
    hash_hex(text.data, text.size, out);
    world_free(own);
}
