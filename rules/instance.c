/* instance.c -- makes instances: rules with the lengths of their axis blocks fixed.

   Blocks are expanded in the text. An entry of a list, or a condition, that contains `h..` is
   repeated for each axis of h, with h_1, h_2, .. in its place; every other `NAME..` in the same
   entry advances with it. The expanded text is the text form of graphs, which its own parser reads
   over the shared placeholders. */
#include "graphs/rewrite.h"
#include "rules/rule.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct Expansion {
    const Rule *rule;
    const int *length;
    Text out;
    size_t find;       /* offset in the result of a byte whose origin is wanted */
    const char *found; /* the place in the text that it comes from; NULL: not written yet */
    const char *wrong; /* the first place in the text that is not allowed; NULL: none */
    const char *why;   /* what is wrong there */
} Expansion;

static bool is_name_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Appends n bytes that are a copy of those at `source`, or were made from the text there. */
static void expansion_add(Expansion *x, const char *bytes, size_t n, const char *source) {
    if (!x->found && x->find < x->out.size + n)
        x->found = bytes == source ? source + (x->find - x->out.size) : source;
    text_bytes(&x->out, bytes, n);
}

/* The next `NAME..` in an entry; n: length of NAME. */
static const char *block_use(const char *p, const char *end, size_t *n) {
    for (; p < end; p++) {
        if (!is_name_byte(*p)) continue;
        const char *q = p;
        while (q < end && is_name_byte(*q)) q++;
        *n = (size_t)(q - p);
        if (q + 1 < end && q[0] == '.' && q[1] == '.') return p;
        p = q - 1;
    }
    return NULL;
}

static const RuleBlock *block_named(const Rule *rule, const char *name, size_t n) {
    for (int k = 0; k < rule->nblock; k++)
        if (strlen(rule->block[k].name) == n && !memcmp(rule->block[k].name, name, n))
            return &rule->block[k];
    return NULL;
}

static void expansion_wrong(Expansion *x, const char *at, const char *why) {
    if (!x->wrong) x->wrong = at, x->why = why;
}

/* How often an entry is repeated; -1: it is written once, since it contains no block. */
static int entry_length(Expansion *x, const char *p, const char *end) {
    const RuleBlock *first = NULL;
    const char *other = NULL;
    size_t n;
    for (const char *q = p; (q = block_use(q, end, &n)); q += n + 2) {
        const RuleBlock *block = block_named(x->rule, q, n);
        if (!block) other = q;
        else if (!first) first = block;
        else if (block->group != first->group)
            expansion_wrong(x, q,
                            arena_format(x->out.arena,
                                         "%s and %s are axis blocks of different groups, so their "
                                         "lengths may differ",
                                         first->name, block->name));
    }
    if (other && !first)
        expansion_wrong(x, other, "this is not an axis block: the line `axes` declares them");
    return first ? x->length[first->group] : -1;
}

/* Copies an entry for one axis of its blocks. `h..=1` gives 1 for each axis of h. */
static void entry_copy(Expansion *x, const char *p, const char *end, int axis) {
    size_t n;
    const char *use = block_use(p, end, &n);
    if (use && use + n + 2 < end && use[n + 2] == '=' && (use + n + 3 == end || use[n + 3] != '='))
        p = use + n + 3;
    for (const char *q; (q = block_use(p, end, &n)); p = q + n + 2) {
        char number[16];
        const int digits = snprintf(number, sizeof number, "_%d", axis);
        expansion_add(x, p, (size_t)(q + n - p), p);
        expansion_add(x, number, (size_t)digits, q);
    }
    expansion_add(x, p, (size_t)(end - p), p);
}

static const char *entry_end(const char *p, const char *end) {
    for (int depth = 0; p < end; p++) {
        if (*p == '(') depth++;
        if (*p == ')') depth--;
        if (depth == 0 && (*p == ',' || *p == ']')) break;
    }
    return p;
}

/* Expands entries separated by commas, up to `end` or ]. */
static const char *entries_expand(Expansion *x, const char *p, const char *end) {
    for (bool first = true;; p++) {
        while (p < end && *p == ' ') p++;
        const char *stop = entry_end(p, end);
        int length = entry_length(x, p, stop);
        for (int axis = 1; axis <= (length < 0 ? 1 : length); axis++, first = false) {
            if (!first) expansion_add(x, ", ", 2, p);
            entry_copy(x, p, stop, axis);
        }
        p = stop;
        if (p >= end || *p == ']') return p;
    }
}

static Expansion expand_text(Arena *a, const Rule *rule, const int *length, const char *text,
                             bool conditions, size_t find) {
    Expansion x = {.rule = rule, .length = length, .out = text_new(a), .find = find};
    const char *end = text + strlen(text);
    if (conditions) entries_expand(&x, text, end);
    for (const char *p = text; p < end && !conditions;) {
        expansion_add(&x, p, 1, p);
        if (*p++ == '[') p = entries_expand(&x, p, end);
    }
    return x;
}
static const char *expand_blocks(Arena *a, const Rule *rule, const int *length, const char *text,
                                 bool conditions) {
    const Expansion x = expand_text(a, rule, length, text, conditions, SIZE_MAX);
    return x.out.data ? x.out.data : "";
}

/* Whether p to q is a name like h_2, for a block h. */
static bool is_axis_name(const Rule *rule, const char *p, const char *q) {
    const char *digits = q;
    while (digits > p && isdigit((unsigned char)digits[-1])) digits--;
    return digits < q && *digits != '0' && digits > p + 1 && digits[-1] == '_' &&
           block_named(rule, p, (size_t)(digits - 1 - p));
}
/* The end of what begins at p: a comment, a text in quotes, the name of a value, another name, or a
   single character. */
static const char *token_end(const char *p) {
    if (*p == '#') return p + strcspn(p, "\n");
    if (*p == '"') {
        p += 1 + strcspn(p + 1, "\"\n");
        return p + (*p == '"');
    }
    const bool value = *p == '%';
    if (!value && !is_name_byte(*p)) return p + 1;
    for (p += value; is_name_byte(*p) || (value && (*p == '.' || *p == '-'));) p++;
    return p;
}
/* Finds a size that has one of the names that blocks give to their axes, or a list of an attribute
   that has the name of a block. It would be the block's own sizes at some lengths and others by
   itself at others. */
static void find_axis_name(Expansion *x, const char *text) {
    for (const char *p = text, *q; *p; p = q) {
        q = token_end(p);
        const bool is_block = q[0] == '.' && q[1] == '.';
        if (p > text && p[-1] == '=' && !is_block && block_named(x->rule, p, (size_t)(q - p)))
            expansion_wrong(x, p, "this is the name of an axis block; choose another name");
        if (is_name_byte(*p) && !is_block && is_axis_name(x->rule, p, q))
            expansion_wrong(x, p,
                            arena_format(x->out.arena,
                                         "%.*s is the name of a size of an axis block; "
                                         "choose another name",
                                         (int)(q - p), p));
    }
}

/* Sets the place of an error to that of a byte of the part. */
static void place_set(const RulePart *part, const char *at, Error *e) {
    const char *p = part->text;
    e->line = 1;
    for (const char *q; (q = memchr(p, '\n', (size_t)(at - p))); p = q + 1) e->line++;
    e->column = (int)(at - p) + 1;
    rule_part_place(part, e);
}
/* Sets *text to the part at the instance's lengths. Fails where blocks are not used as they must
   be. */
static bool part_expand(Arena *a, const Instance *i, const RulePart *part, bool conditions,
                        const char **text, Error *e) {
    Expansion x = expand_text(a, i->rule, i->length, part->text, conditions, SIZE_MAX);
    find_axis_name(&x, part->text);
    *text = x.out.data ? x.out.data : "";
    if (!x.wrong) return true;
    error_at(e, E_INVALID, i->rule->file, 1, 1, "rule %s: %s", i->rule->name, x.why);
    if (e) place_set(part, x.wrong, e);
    return false;
}

/* Converts the place of an error in the expanded text of a part to the place in the file. */
static bool place_error(Arena *a, const Instance *i, const RulePart *part, bool conditions,
                        Error *e) {
    if (!e) return false;
    if (!e->place[0]) strncpy(e->place, i->rule->name, sizeof e->place - 1);
    if (!e->line) return false;
    const char *const start = expand_blocks(a, i->rule, i->length, part->text, conditions);
    const char *line = start;
    for (int k = 1; k < e->line && strchr(line, '\n'); k++) line = strchr(line, '\n') + 1;
    const size_t find = (size_t)(line - start) + (size_t)e->column - 1;
    const Expansion x = expand_text(a, i->rule, i->length, part->text, conditions, find);
    if (x.found) place_set(part, x.found, e);
    else rule_part_place(part, e);
    return false;
}

/* ---- conditions: "a >= b, c == d" */

static bool lit_parse(World *w, Scan *s, Lit *out) {
    Poly a, b;
    scan_blank(s);
    const char *at = s->at;
    if (!poly_parse(w, s, &a)) return false;
    scan_blank(s);
    static const char *const signs[] = {"==", ">=", "<=", ">", "<"};
    size_t k = 0;
    while (k < 5 && ((size_t)(s->end - s->at) < strlen(signs[k]) ||
                     memcmp(s->at, signs[k], strlen(signs[k]))))
        k++;
    if (k == 5)
        return scan_fail(s, at, "expected a condition: A == B, A >= B, A <= B, A > B or A < B");
    s->at += strlen(signs[k]);
    if (!poly_parse(w, s, &b)) return false;
    Poly d = k == 2 || k == 4 ? poly_sub(w, b, a) : poly_sub(w, a, b);
    *out = (Lit){k >= 3 ? poly_sub(w, d, poly_int(w, 1)) : d, k == 0};
    return true;
}

static bool lits_parse(World *w, Arena *a, Instance *i, Scan *s, Lit **list) {
    while (!scan_end(s)) {
        Lit *more = ARENA_NEW(a, Lit, i->nwhere + 1);
        if (i->nwhere) memcpy(more, *list, (size_t)i->nwhere * sizeof *more);
        *list = more;
        if (!lit_parse(w, s, &more[i->nwhere])) return scan_fail(s, s->at, "expected a condition");
        i->nwhere++;
        if (!scan_char(s, ',') && !scan_end(s))
            return scan_fail(s, s->at, "expected , between conditions");
    }
    return true;
}
static bool where_parse(World *w, Arena *a, Instance *i, RulePart part, Lit **list, Error *e) {
    if (!part.text || !*part.text) return true;
    const char *text;
    if (!part_expand(a, i, &part, true, &text, e)) return false;
    Scan s = scan_new(i->rule->file, text, strlen(text), e);
    return lits_parse(w, a, i, &s, list) || place_error(a, i, &part, true, e);
}

/* ---- graphs */

static bool side_parse(World *w, Arena *a, Instance *i, const Names *inputs, const RulePart *part,
                       Graph *out, Error *e) {
    const char *text;
    if (!part_expand(a, i, part, false, &text, e)) return false;
    Scan s = scan_new(i->rule->file, text, strlen(text), e);
    Names names = {.arena = a};
    Value *v;
    int n;
    for (int k = 0; k < inputs->n; k++) names_set(&names, inputs->v[k].name, inputs->v[k].value);
    if (!graph_parse_nodes(w, a, &s, &names, &v, &n, e)) return place_error(a, i, part, false, e);
    *out = (Graph){i->ninput, n, i->input, v};
    return true;
}

static bool graphs_parse(World *w, Arena *a, Instance *i, Error *e) {
    const Rule *rule = i->rule;
    const char *text;
    if (!part_expand(a, i, &rule->inputs, false, &text, e)) return false;
    Scan s = scan_new(rule->file, text, strlen(text), e);
    Names names = {.arena = a};
    Value *in;
    if (!graph_parse_inputs(w, a, &s, &names, &in, &i->ninput) ||
        !(scan_end(&s) || scan_fail(&s, s.at, "expected %%NAME : TYPE")))
        return place_error(a, i, &rule->inputs, false, e);
    i->input = in;
    if (!side_parse(w, a, i, &names, &rule->from, &i->from, e) ||
        !side_parse(w, a, i, &names, &rule->to, &i->to, e))
        return false;
    if (i->from.nout != i->to.nout)
        return error_at(e, E_INVALID, rule->file, rule->to.line, 1,
                        "rule %s: %d result%s on the left, %d on the right", rule->name,
                        i->from.nout, i->from.nout == 1 ? "" : "s", i->to.nout);
    for (int k = 0; k < i->from.nout; k++)
        if (value_type(w, i->from.out[k])->dtype != value_type(w, i->to.out[k])->dtype ||
            value_type(w, i->from.out[k])->dim.n != value_type(w, i->to.out[k])->dim.n)
            return error_at(e, E_INVALID, rule->file, rule->to.line, 1,
                            "rule %s: result %d has another element type or rank on the right",
                            rule->name, k);
    return true;
}

/* ---- symbols and needs */

typedef struct Collection {
    World *w;
    Arena *arena;
    int n, room, nreal, real_room, nneed, need_room;
    Symbol *v;
    const char **real;
    Lit *need;
} Collection;

static void add_poly(Collection *c, Poly p);

static void add_symbol(Collection *c, Symbol s) {
    SymbolDef d = symbol_def(c->w, s);
    for (uint32_t k = 0; k < d.narg; k++) add_poly(c, d.arg[k]);
    if (d.kind != SYM_NAMED) return;
    for (int k = 0; k < c->n; k++)
        if (c->v[k] == s) return;
    ARENA_GROW(c->arena, c->v, c->room, c->n + 1);
    int at = c->n++;
    for (; at && c->v[at - 1] > s; at--) c->v[at] = c->v[at - 1];
    c->v[at] = s;
}

static void add_poly(Collection *c, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(c->w, p); poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) add_symbol(c, m.symbol[k]);
}

static void add_real(Collection *c, Ex x) {
    ExNode n;
    if (!x) return;
    ex_get(c->w, x, &n);
    if (n.kind == EX_SIZE) add_poly(c, n.size);
    if (n.kind != EX_PARAM) {
        for (int k = 0; k < ex_children(n.kind); k++) add_real(c, n.child[k]);
        return;
    }
    const char *name = world_text(c->w, n.word);
    for (int k = 0; k < c->nreal; k++)
        if (!strcmp(c->real[k], name)) return;
    ARENA_GROW(c->arena, c->real, c->real_room, c->nreal + 1);
    c->real[c->nreal++] = name;
}

static void add_attrs(Collection *c, Sig sig, const Op *op) {
    Attr attr[ATTRS_MAX];
    sig_attr(c->w, sig, attr);
    for (int k = 0; k < attrs_count(op->attrs); k++) {
        if (op->attrs[k].kind == A_INT || op->attrs[k].kind == A_INTS)
            for (int j = 0; j < attr[k].ints.n; j++) add_poly(c, attr[k].ints.v[j]);
        if (op->attrs[k].kind == A_REAL) add_real(c, attr[k].real);
    }
}

static void add_need(Collection *c, Lit need) {
    for (int k = 0; k < c->nneed; k++)
        if (c->need[k].p == need.p && c->need[k].eq == need.eq) return;
    ARENA_GROW(c->arena, c->need, c->need_room, c->nneed + 1);
    c->need[c->nneed++] = need;
    add_poly(c, need.p);
}

static void add_nodes(Collection *c, const Graph *g) {
    NodeList live = graph_live(c->w, c->arena, g);
    for (int k = 0; k < live.n; k++) {
        Node node = node_get(c->w, live.v[k]);
        const SigInfo *s = sig_info(c->w, node.sig);
        if (!input_name(c->w, node.out)) add_attrs(c, node.sig, node.op);
        for (int j = 0; j < s->nneed; j++) add_need(c, s->need[j]);
    }
}

/* Collects the needs of a graph. A composite has those of its expansion as well. */
static bool add_graph(Collection *c, const Graph *g, int *nneed, const Lit **need, Error *e) {
    Graph expanded;
    c->nneed = c->need_room = 0;
    c->need = NULL;
    add_nodes(c, g);
    if (!graph_expand(c->w, c->arena, g, &expanded, NULL, e)) return false;
    add_nodes(c, &expanded);
    *nneed = c->nneed;
    *need = c->need;
    return true;
}

/* A name in a polynomial that has not been collected; NULL if there is none. */
static const char *foreign_name(const Collection *c, Poly p) {
    Monomial m;
    for (PolyScan s = poly_scan(c->w, p); poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            const SymbolDef d = symbol_def(c->w, m.symbol[k]);
            const char *inside = NULL;
            for (uint32_t j = 0; j < d.narg && !inside; j++) inside = foreign_name(c, d.arg[j]);
            bool found = d.kind != SYM_NAMED;
            for (int j = 0; j < c->n && !found; j++) found = c->v[j] == m.symbol[k];
            if (inside || !found) return inside ? inside : world_text(c->w, d.word);
        }
    return NULL;
}
/* Whether every name in the conditions has a value: a name that neither side has must occur in an
   equation. Otherwise its condition would say nothing about the rule. */
static bool conditions_known(Collection c, const Instance *i, Error *e) {
    const Rule *rule = i->rule;
    const int line = rule->where.text ? rule->where.line : rule->line;
    for (int k = 0; k < i->nwhere; k++)
        if (i->where[k].eq) add_poly(&c, i->where[k].p);
    for (int k = 0; k < i->nwhere; k++) {
        const char *name = foreign_name(&c, i->where[k].p);
        if (name)
            return error_at(e, E_INVALID, rule->file, line, 1,
                            "rule %s: a condition names %s, which neither side has", rule->name,
                            name);
    }
    return true;
}

static bool collect_symbols(World *w, Arena *a, Instance *i, Error *e) {
    Collection c = {.w = w, .arena = a};
    i->from_stated = i->from_whole = i->from;
    i->to_stated = i->to_whole = i->to;
    for (int k = 0; k < i->ninput; k++)
        for (int d = 0; d < value_type(w, i->input[k])->dim.n; d++)
            add_poly(&c, value_type(w, i->input[k])->dim.v[d]);
    if (!add_graph(&c, &i->from, &i->nneed_from, &i->need_from, e) ||
        !add_graph(&c, &i->to, &i->nneed_to, &i->need_to, e) || !conditions_known(c, i, e))
        return false;
    for (int k = 0; k < i->nwhere; k++) add_poly(&c, i->where[k].p);
    bool *is_size = ARENA_NEW(a, bool, c.n);
    for (int s = 0; s < c.n; s++)
        for (int k = 0; k < i->ninput; k++)
            for (int d = 0; d < value_type(w, i->input[k])->dim.n; d++)
                is_size[s] |= poly_is_symbol(w, value_type(w, i->input[k])->dim.v[d]) == c.v[s];
    i->nsymbol = c.n;
    i->symbol = c.v;
    i->is_size = is_size;
    i->nreal = c.nreal;
    i->real = c.real;
    return true;
}

static bool expand_side(World *w, Arena *a, Graph *side, Graph *whole, Error *e) {
    const int nout = side->nout;
    if (!graph_expand_whole(w, a, side, whole, e)) return false;
    *side = *whole;
    side->nout = nout;
    return true;
}

bool rule_instance_expand(World *w, Arena *a, Instance *i, Error *e) {
    return expand_side(w, a, &i->from, &i->from_whole, e) &&
           expand_side(w, a, &i->to, &i->to_whole, e);
}

bool rule_instance(World *w, Arena *a, const Rule *rule, const int length[], Instance *i,
                   Error *e) {
    Lit *where = NULL;
    *i = (Instance){.rule = rule, .floats = DT_FLOAT, .classes = rule->classes};
    memcpy(i->length, length, sizeof *length * (size_t)rule->ngroup);
    if (!graphs_parse(w, a, i, e)) return false;
    /* The line number of the verdict, which has the second condition, is not kept. */
    const RulePart verdict = {rule->condition, rule->line, NULL};
    if (!where_parse(w, a, i, rule->where, &where, e) || !where_parse(w, a, i, verdict, &where, e))
        return false;
    i->where = where;
    return collect_symbols(w, a, i, e);
}

/* Renames the symbols of the instance to names that no text can have, so that a model's "n" never
   is a rule's "n". */
bool rule_instance_apart(World *w, Arena *a, const Rule *rule, const int length[], Instance *i,
                         Error *e) {
    if (!rule_instance(w, a, rule, length, i, e)) return false;
    Poly *to = ARENA_NEW(a, Poly, i->nsymbol);
    for (int k = 0; k < i->nsymbol; k++)
        to[k] =
            poly_named(w, arena_format(a, "%s'", world_text(w, symbol_def(w, i->symbol[k]).word)));
    Graph from = i->from, right = i->to;
    const NewSizes size = {i->nsymbol, i->symbol, to};
    if (!graph_resize(w, a, &from, size, &i->from, e) ||
        !graph_resize(w, a, &right, size, &i->to, e))
        return false;
    Lit *where = ARENA_NEW(a, Lit, i->nwhere);
    for (int k = 0; k < i->nwhere; k++)
        where[k] = (Lit){poly_subst(w, i->where[k].p, i->nsymbol, i->symbol, to), i->where[k].eq};
    i->where = where;
    i->input = i->from.in;
    return collect_symbols(w, a, i, e);
}

void rule_lengths_first(const Rule *rule, int length[]) {
    for (int g = 0; g < rule->ngroup; g++) length[g] = rule->group[g].least;
}

/* Whether the verdict names the group in `all_ranks`. */
static bool for_all(const Rule *rule, int group) {
    if (!rule->all_ranks) return false;
    for (int k = 0; k < rule->nblock; k++) {
        size_t n = strlen(rule->block[k].name);
        for (const char *p = rule->all_ranks;
             rule->block[k].group == group && (p = strstr(p, rule->block[k].name)); p += n)
            if ((p == rule->all_ranks || p[-1] == ' ') && p[n] == '.') return true;
    }
    return false;
}

static bool next_lengths(const Rule *rule, int length[], bool covered) {
    for (int g = rule->ngroup; g-- > 0; length[g] = rule->group[g].least)
        if (length[g]++ < (covered && for_all(rule, g) ? RANK_MAX : rule->group[g].most))
            return true;
    return false;
}
bool rule_lengths_next(const Rule *rule, int length[]) { return next_lengths(rule, length, false); }
bool rule_covered_next(const Rule *rule, int length[]) { return next_lengths(rule, length, true); }
bool rule_is_stated(const Rule *rule, const int length[]) {
    for (int g = 0; g < rule->ngroup; g++)
        if (length[g] > rule->group[g].most) return false;
    return true;
}
