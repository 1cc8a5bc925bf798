/* instance_symbols.c -- what an instance names, and what it needs: the sizes and integer attributes
   of its graphs and conditions, the real variables, and the needs of the operators of both
   sides. */
#include "graphs/rewrite.h"
#include "rules/instance_inner.h"
#include <string.h>

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
    c.v = arena_copy(c.arena, c.v, sizeof *c.v * (size_t)c.n); /* the caller keeps its own list */
    c.room = c.n;
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

bool instance_collect(World *w, Arena *a, Instance *i, Error *e) {
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
