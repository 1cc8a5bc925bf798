/* block.c -- finds out where a rule does not depend on its rank. All axes of the inputs, the axes
   in front, or the spatial axes become a block `h..` of any length if they are mere spectators.
   Each of these forms is tried, as a rule of its own, at every length of the block. */
#include "generator/lift_inner.h"
#include "rules/rule.h"
#include <string.h>

typedef enum BlockForm { BLOCK_ALL, BLOCK_SPATIAL, BLOCK_FRONT, BLOCK_FORMS } BlockForm;
enum { FRONT_MOST = 2 };
static const RuleGroup lengths[BLOCK_FORMS] = {{0, 4}, {1, 3}, {0, FRONT_MOST}};
static const unsigned ranks[BLOCK_FORMS] = {RANKS_ALL, RANKS_SPATIAL, RANKS_FRONT};
static const char letter[] = "hkuvwz"; /* names of blocks; lifted sizes get other letters */

typedef struct Blocks {
    Lift *l;
    const Graph *g;
    BlockForm form;
    int n;
    Dims dims[RULE_BLOCKS]; /* the sizes that each block replaces */
} Blocks;

static Dims tail(const Type *t, int skip) {
    Dims d = {0};
    for (int k = skip; k < t->dim.n; k++) d.v[d.n++] = t->dim.v[k];
    return d;
}

/* Whether the sizes are distinct names that occur nowhere else in the types. */
static bool distinct_names(const Blocks *b, const Dims *d) {
    World *w = b->l->w;
    for (int k = 0; k < d->n; k++) {
        Symbol s = poly_is_symbol(w, d->v[k]);
        for (int j = 0; j < k; j++)
            if (d->v[j] == d->v[k]) return false;
        if (!s) return false;
        for (int i = 0; i < b->g->nin; i++) {
            const Type *t = value_type(w, b->g->in[i]);
            for (int j = 0; j < t->dim.n; j++)
                if (t->dim.v[j] != d->v[k] && poly_mentions(w, t->dim.v[j], s)) return false;
        }
    }
    return d->n > 0;
}

static int block_of(const Blocks *b, const Dims *d) {
    for (int k = 0; k < b->n; k++)
        if (dims_equal(&b->dims[k], d)) return k;
    return -1;
}

static int kept_axes(const Blocks *b, const Type *t) {
    return b->form == BLOCK_SPATIAL ? 2 : b->form == BLOCK_ALL ? 0 : t->dim.n;
}

/* Gives each input that is not a scalar a block; equal sizes share one. All inputs with a block
   must have the same rank. */
static bool find_blocks(Blocks *b) {
    int rank = 0;
    for (int i = 0; i < b->g->nin; i++) {
        const Type *t = value_type(b->l->w, b->g->in[i]);
        if (!t->dim.n) continue;
        if (rank && rank != t->dim.n) return false;
        rank = t->dim.n;
        if (b->form == BLOCK_FRONT) continue;
        if (b->form == BLOCK_SPATIAL && rank < 3) return false;
        Dims d = tail(t, kept_axes(b, t));
        if (block_of(b, &d) >= 0) continue;
        if (b->n == (b->form == BLOCK_ALL ? 1 : RULE_BLOCKS - 1) || !distinct_names(b, &d))
            return false;
        b->dims[b->n++] = d;
    }
    if (b->form == BLOCK_FRONT) b->n = 1;
    return rank > 0;
}

/* Prints a list that consists of exactly the block's sizes as the block. Otherwise the attribute
   must be its default, a free list, a number or a word; *ok becomes false if it is none of
   these. */
static const char *block_attr(const Blocks *b, const AttrDef *def, const Attr *a, bool *ok) {
    Dims d = {0};
    if (def->kind == A_INT && def->axes) return *ok = false, NULL;
    if (def->kind != A_INTS || lift_free_list(b->l, &a->ints)) return NULL;
    for (int k = 0; k < a->ints.n && k < RANK_MAX; k++) d.v[d.n++] = a->ints.v[k];
    if (b->form == BLOCK_ALL && a->ints.n == d.n && block_of(b, &d) == 0) return "[h..]";
    return *ok = a->ints.n == 0, NULL;
}

static void print_input(const Blocks *b, Value v, bool first, Text *out, Renaming *names) {
    Type t = *value_type(b->l->w, v);
    int keep = t.dim.n ? kept_axes(b, &t) : 0;
    Dims d = tail(&t, keep);
    const char *comma = "";
    text_add(out, "%s%%%s : %s [", first ? "  " : "   ", input_name(b->l->w, v),
             dtype_name(t.dtype));
    if (t.dim.n && b->form == BLOCK_FRONT) text_add(out, "%c..", letter[0]), comma = ", ";
    for (int k = 0; k < keep; k++, comma = ", ") {
        text_add(out, "%s", comma);
        poly_print(b->l->w, lift_renamed(b->l, names, t.dim.v[k]), out);
    }
    if (t.dim.n && b->form != BLOCK_FRONT) text_add(out, "%s%c..", comma, letter[block_of(b, &d)]);
    text_add(out, "]");
}

typedef struct AttrHook {
    const Blocks *b;
    bool ok;
} AttrHook;
static const char *attr_hook(void *user, const AttrDef *def, const Attr *a) {
    AttrHook *h = user;
    return block_attr(h->b, def, a, &h->ok);
}

/* Prints the parts of the rule in this form. Returns false if an attribute does not allow it. */
static bool print_form(const Blocks *b, Text part[3]) {
    Renaming names = {.letters = letter};
    AttrHook hook = {b, true};
    for (int i = 0; i < b->g->nin; i++) print_input(b, b->g->in[i], !i, &part[0], &names);
    text_add(&part[0], "\n");
    for (int k = 0; k < 2; k++) {
        const Graph side = rule_side(b->g, k);
        lift_print_side(b->l, &side, &names, attr_hook, &hook, &part[1 + k]);
    }
    return hook.ok;
}

static bool holds_at(Lift *l, const Rule *rule, int length) {
    Instance i;
    Error e = {0};
    if (!rule_instance(l->w, l->arena, rule, (int[RULE_BLOCKS]){length}, &i, &e)) return false;
    Value *out = ARENA_NEW(l->arena, Value, 2 * i.from.nout);
    memcpy(out, i.from.out, (size_t)i.from.nout * sizeof *out);
    memcpy(out + i.from.nout, i.to.out, (size_t)i.to.nout * sizeof *out);
    Graph g = {i.ninput, 2 * i.from.nout, i.input, out}, expanded;
    ValueMap map;
    if (!graph_expand(l->w, l->arena, &g, &expanded, &map, &e)) return false;
    return lift_try(l, &expanded, SAMPLES_BLOCK) == LIFT_TRUE && !l->npositive;
}

static bool try_form(Lift *l, const Graph *g, BlockForm form, Text *out) {
    Blocks b = {.l = l, .g = g, .form = form};
    Text part[3] = {text_new(l->arena), text_new(l->arena), text_new(l->arena)};
    if (!find_blocks(&b) || !print_form(&b, part)) return false;
    Rule rule = {.name = "block",
                 .file = "",
                 .nblock = b.n,
                 .ngroup = 1,
                 .group = {lengths[form]},
                 .condition = "",
                 .all_ranks = ""};
    rule.inputs.text = part[0].data;
    rule.from.text = part[1].data;
    rule.to.text = part[2].data;
    for (int k = 0; k < b.n; k++) rule.block[k].name = arena_format(l->arena, "%c", letter[k]);
    for (int n = rule.group[0].least; n <= rule.group[0].most; n++)
        if (!holds_at(l, &rule, n)) return false;
    text_add(out, "  axes");
    for (int k = 0; k < b.n; k++) text_add(out, " %c", letter[k]);
    text_add(out, " = %d..%d\n%sfrom\n%sto\n%s", rule.group[0].least, rule.group[0].most,
             part[0].data, part[1].data, part[2].data);
    return true;
}

/* Whether a rule with free lists may have this form: such a list has one entry for each spatial
   axis. */
static bool may_have(const Lift *l, int form) { return !l->nfree_list || form == BLOCK_SPATIAL; }

unsigned lift_fits_blocks(Lift *l, const Graph *g) {
    unsigned fits = 0;
    for (int f = 0; f < BLOCK_FORMS; f++) {
        Blocks b = {.l = l, .g = g, .form = (BlockForm)f};
        Text part[3] = {text_new(l->arena), text_new(l->arena), text_new(l->arena)};
        if (may_have(l, f) && find_blocks(&b) && print_form(&b, part)) fits |= ranks[f];
    }
    return fits;
}

unsigned lift_print_blocks(Lift *l, const Graph *g, Text *out) {
    for (int f = 0; f < BLOCK_FORMS; f++) {
        l->npositive = 0;
        if (may_have(l, f) && try_form(l, g, (BlockForm)f, out))
            return f == BLOCK_ALL ? RANKS_ALL | RANKS_SPATIAL | RANKS_FRONT : ranks[f];
    }
    l->npositive = 0;
    return 0;
}
