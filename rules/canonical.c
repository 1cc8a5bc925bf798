/* canonical.c -- what identifies a rule, and what binds a verdict to it.

   The canonical form numbers values and symbols in the order in which a walk from the outputs meets
   them, at the greatest lengths of the blocks. Names and the order of lines therefore do not
   matter, except for symbols that first occur within a sum, which come in the order of the lines. A
   condition on each axis of a block says less at shorter lengths, so with such conditions these
   lengths are walked, too.

   The digest of a verdict covers the identifier, the class, the version of the classes, the
   conditions, and the operators' definitions with the flags that classes depend on. For a rule with
   blocks, or with conditions found by the proof, it also covers what the rule says at each length:
   [h.., n] and [a, n] are the same while h has one axis, and the text of a condition does not say
   which axes its names are the sizes of. */
#include "rules/rule.h"
#include "graphs/world.h"
#include "ops/operator/digest.h"
#include <string.h>

typedef struct Walk {
    World *w;
    Arena *arena;
    Text out;
    int nvalue, nsymbol;
    int *number;  /* for each value; 0: not met yet */
    Symbol *from; /* for each symbol: its name in the rule, and its canonical name */
    Poly *to;
    int from_room, to_room;
} Walk;

static void number_symbols(Walk *k, Poly p);
/* Numbers a symbol. Those inside a quotient, minimum, .. come first. */
static void number_symbol(Walk *k, Symbol s) {
    const SymbolDef d = symbol_def(k->w, s);
    int n = 0;
    for (uint32_t j = 0; j < d.narg; j++) number_symbols(k, d.arg[j]);
    while (n < k->nsymbol && k->from[n] != s) n++;
    if (n < k->nsymbol || d.kind != SYM_NAMED) return;
    ARENA_GROW(k->arena, k->from, k->from_room, n + 1);
    ARENA_GROW(k->arena, k->to, k->to_room, n + 1);
    k->from[k->nsymbol++] = s;
    k->to[n] = poly_named(k->w, arena_format(k->arena, "s%d", n + 1));
}
static void number_symbols(Walk *k, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(k->w, p); poly_next(&s, &m);)
        for (uint32_t j = 0; j < m.degree; j++) number_symbol(k, m.symbol[j]);
}
static Poly renamed(Walk *k, Poly p) {
    number_symbols(k, p);
    return poly_subst(k->w, p, k->nsymbol, k->from, k->to);
}

static void print_type(Walk *k, const Type *type) {
    Type t = *type;
    for (int d = 0; d < t.dim.n; d++) t.dim.v[d] = renamed(k, t.dim.v[d]);
    type_print(k->w, &t, &k->out);
}

/* Prints a blob by its content, because its number depends on what else the World holds. */
static void print_blob(Walk *k, Blob blob) {
    char hex[33];
    size_t n = 0;
    const void *bytes = blob ? blob_get(k->w, blob, &n) : "";
    hash_hex(bytes, n, hex);
    text_add(&k->out, "%zu bytes %s", n, hex);
}
static void print_attrs(Walk *k, const Node *node) {
    Attr attr[ATTRS_MAX];
    sig_attr(k->w, node->sig, attr);
    for (int j = 0; j < attrs_count(node->op->attrs); j++) {
        const AttrDef *def = &node->op->attrs[j];
        if (def->kind == A_INT || def->kind == A_INTS) {
            Poly *v = ARENA_NEW(k->arena, Poly, attr[j].ints.n);
            for (int d = 0; d < attr[j].ints.n; d++) v[d] = renamed(k, attr[j].ints.v[d]);
            attr[j].ints.v = v;
        }
        text_add(&k->out, " %s=", def->name);
        if (def->kind == A_BLOB) print_blob(k, attr[j].blob);
        else attr_print(k->w, def, &attr[j], &k->out);
    }
}

static int number_value(Walk *k, Value v) {
    if (!v) return 0;
    if (k->number[v]) return k->number[v];
    Node node = node_get(k->w, value_node(k->w, v));
    int *in = ARENA_NEW(k->arena, int, node.nin);
    for (int j = 0; j < node.nin; j++) in[j] = number_value(k, node.in[j]);
    for (int j = 0; j < node.nout; j++) k->number[node.out + (Value)j] = ++k->nvalue;
    text_add(&k->out, "%d", k->number[node.out]);
    if (input_name(k->w, node.out)) {
        text_add(&k->out, " : ");
        print_type(k, value_type(k->w, v));
    } else {
        text_add(&k->out, " = %s", node.op->name);
        for (int j = 0; j < node.nin; j++) text_add(&k->out, " %d", in[j]);
        print_attrs(k, &node);
    }
    text_add(&k->out, "\n");
    return k->number[v];
}

static void walk_graph(Walk *k, const Graph *g) {
    Text out = text_new(k->arena);
    for (int j = 0; j < g->nout; j++) text_add(&out, " %d", number_value(k, g->out[j]));
    text_add(&k->out, "out%s\n", out.data ? out.data : "");
}

static void walk_instance(World *w, Arena *a, const Instance *i, Text *out) {
    Walk k = {.w = w, .arena = a, .out = *out};
    k.number = ARENA_NEW(a, int, value_last(w) + 1);
    walk_graph(&k, &i->from);
    walk_graph(&k, &i->to);
    /* Inputs that neither side reads still have sizes, which are not negative. */
    for (int j = 0; j < i->ninput; j++) number_value(&k, i->input[j]);
    for (int j = 0; j < i->nwhere; j++) {
        text_add(&k.out, i->where[j].eq ? "0 == " : "0 <= ");
        poly_print(w, renamed(&k, i->where[j].p), &k.out);
        text_add(&k.out, "\n");
    }
    *out = k.out;
}

static bool canonical_text(World *w, Arena *a, const Rule *rule, Text *out) {
    Instance i;
    int length[RULE_BLOCKS];
    for (int g = 0; g < rule->ngroup; g++) length[g] = rule->group[g].most;
    Error e = {0};
    if (!rule_instance(w, a, rule, length, &i, &e)) return false;
    for (int g = 0; g < rule->ngroup; g++)
        text_add(out, "%d..%d ", rule->group[g].least, rule->group[g].most);
    walk_instance(w, a, &i, out);
    const int most = i.nwhere;
    const bool by_axis = rule->where.text && strstr(rule->where.text, "..");
    if (!by_axis) return true;
    rule_lengths_first(rule, length);
    do {
        if (!rule_instance(w, a, rule, length, &i, &e)) return false;
        if (i.nwhere < most) walk_instance(w, a, &i, out);
    } while (rule_lengths_next(rule, length));
    return true;
}

void rule_identify(Arena *a, Rule *rule) {
    Rule bare = *rule; /* the identifier does not depend on the verdict */
    bare.name = bare.comment = bare.condition = "";
    bare.verdict = VERDICT_NONE;
    Text t = text_new(a);
    World *w = graph_world_new(arena_escape(a), 0);
    if (!canonical_text(w, a, &bare, &t)) {
        t.size = 0;
        rule_print(&bare, &t);
    }
    world_free(w);
    char hex[33];
    hash_hex(t.data, t.size, hex);
    memcpy(rule->id, hex, RULE_ID - 1);
    rule->id[RULE_ID - 1] = 0;
}

/* ---- digests */

static void mark_ops(World *w, Arena *a, const Graph *g, bool *used) {
    NodeList live = graph_live(w, a, g);
    for (int k = 0; k < live.n; k++) used[node_get(w, live.v[k]).op_index] = true;
}

/* Walks the rule at every length that its verdict covers. Marks the operators in `used`, and
   appends what the rule says under the verdict's conditions to `said` (NULL: not wanted). The
   conditions use the rule's own names, which the identifier does not cover. Returns false if a
   stated length does not type. */
static bool walk_lengths(World *w, Arena *a, const Rule *rule, bool *used, Text *said, Error *e) {
    int length[RULE_BLOCKS];
    rule_lengths_first(rule, length);
    do {
        Error longer = {0};
        Instance i;
        const WorldMark mark = world_mark(w);
        const bool stated = rule_is_stated(rule, length),
                   typed = rule_instance(w, a, rule, length, &i, stated ? e : &longer);
        for (int g = 0; said && g < rule->ngroup; g++) text_add(said, "%d ", length[g]);
        if (typed) mark_ops(w, a, &i.from, used), mark_ops(w, a, &i.to, used);
        if (typed && said) walk_instance(w, a, &i, said);
        world_reset(w, mark);
        if (stated && !typed) return false;
    } while (rule_covered_next(rule, length));
    return true;
}

/* The flags of an operator by which the verifier decides on the class of a rule. */
enum { CLASS_FLAGS = OP_SELECTS | OP_DECIDES | OP_ACCURATE };

/* The digest of the definitions of all operators in the rule, at every length that it covers, in a
   fixed order; for a rule with blocks or conditions, also of what it says at these lengths. For the
   latter the rule is read in a World of its own, since symbols are numbered in the order in which a
   World meets them. */
static bool defs_digest(World *w, Arena *a, const Rule *rule, char out[33], Error *e) {
    bool *used = ARENA_NEW(a, bool, op_count());
    const bool apart = rule->nblock || *rule->condition;
    World *own = apart ? graph_world_new(arena_escape(a), 0) : w;
    Text t = text_new(a), said = text_new(a);
    const bool good = walk_lengths(own, a, rule, used, apart ? &said : NULL, e);
    if (apart) world_free(own);
    for (int k = 0; good && k < op_count(); k++) {
        char digest[33];
        if (!used[k] || !op_algebraic(op_at(k))) continue;
        op_digest(w, op_at(k), digest);
        text_add(&t, "%s %s", op_at(k)->name, digest);
        const unsigned flags = (unsigned)op_at(k)->flags & CLASS_FLAGS;
        if (flags) text_add(&t, " flags %u", flags);
        text_add(&t, "\n");
    }
    if (said.size) text_add(&t, "%s", said.data);
    hash_hex(t.data ? t.data : "", t.size, out);
    return good;
}

static void verdict_digest(Arena *a, const Rule *rule, char out[33]) {
    Text t = text_new(a);
    text_add(&t, "%s\n%d\n%d %s\n%s\n%s\n", rule->id, (int)rule->verdict, CLASSES_VERSION,
             classes_text(a, rule->classes), rule->condition, rule->defs);
    if (*rule->all_ranks) text_add(&t, "all %s\n", rule->all_ranks);
    hash_hex(t.data, t.size, out);
}

void rule_seal(World *w, Arena *a, Rule *rule) {
    Error e = {0};
    if (!defs_digest(w, a, rule, rule->defs, &e)) memset(rule->defs, '0', 32);
    verdict_digest(a, rule, rule->digest);
}

/* Whether the sides of the rule are graphs. If they are not (an operator is unknown), its
   identifier is another one than where they are. */
static bool has_sides(World *w, Arena *a, const Rule *rule, Error *e) {
    int length[RULE_BLOCKS];
    Instance i;
    Rule bare = *rule;
    bare.condition = "";
    const WorldMark mark = world_mark(w);
    rule_lengths_first(rule, length);
    const bool good = rule_instance(w, a, &bare, length, &i, e);
    world_reset(w, mark);
    return good;
}
bool rule_check(World *w, const Rule *rule, Error *e) {
    char defs[33], digest[33];
    Arena *a = arena_new(arena_escape(w->arena), 0);
    const char *why = NULL;
    if (rule->verdict != VERDICT_PROVED)
        why = "it is not proved; verify-rules -o adds verdicts to the rules of a file";
    verdict_digest(a, rule, digest);
    const bool sealed = why || !strcmp(digest, rule->digest);
    if (!sealed && has_sides(w, a, rule, e))
        why = "its verdict was not written by verify-rules for this rule; prove it again";
    const bool typed = why || (sealed && defs_digest(w, a, rule, defs, e));
    if (!why && typed && strcmp(defs, rule->defs))
        why =
            "it was proved of another rule, or the definition of one of its operators has changed "
            "since; prove it again";
    arena_free(a);
    return typed && (!why || error_at(e, E_CHECK, rule->file, rule->line, 1, "rule %s: %s",
                                      rule->name, why));
}
