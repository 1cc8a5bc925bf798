/* rule_text.c -- prints a lifted rule in the notation of rules. Sizes get letters in order of
   appearance, results get numbers, and attributes that have their default are left out. */
#include "generator/lift_inner.h"
#include <string.h>

/* The next letter that no block has; after z, letters with a number. */
static const char *next_name(Lift *l, Renaming *r) {
    for (;;) {
        int j = r->next++;
        char c = (char)('a' + j % 26);
        if (j < 26 && r->letters && strchr(r->letters, c)) continue;
        return arena_format(l->arena, j < 26 ? "%c" : "%c%d", c, j / 26);
    }
}

static void name_symbols(Lift *l, Renaming *r, Poly x) {
    World *w = l->w;
    Monomial m;
    for (PolyScan s = poly_scan(w, x); poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            int j = 0;
            SymbolDef d = symbol_def(w, m.symbol[k]);
            for (uint32_t a = 0; a < d.narg; a++) name_symbols(l, r, d.arg[a]);
            while (j < r->n && r->from[j] != m.symbol[k]) j++;
            if (j < r->n || d.kind != SYM_NAMED || r->n == LIFT_SYMBOLS) continue;
            r->from[r->n] = m.symbol[k];
            r->to[r->n++] = poly_named(w, next_name(l, r));
        }
}

Poly lift_renamed(Lift *l, Renaming *r, Poly x) {
    name_symbols(l, r, x);
    return poly_subst(l->w, x, r->n, r->from, r->to);
}

const char *lift_free_list(const Lift *l, const PolyList *v) {
    for (int k = 0; k < l->nfree_list; k++)
        if (v->n && v->n == l->free_list[k].n &&
            !memcmp(v->v, l->free_list[k].v, (size_t)v->n * sizeof *v->v))
            return l->free_list[k].name;
    return NULL;
}

typedef struct Print {
    Lift *l;
    Text *out;
    Renaming *names;
    LiftAttrText text;
    void *user;
    NodeList live;
} Print;

static void print_attrs(Print *p, const Node *node) {
    World *w = p->l->w;
    Attr attr[ATTRS_MAX], init;
    sig_attr(w, node->sig, attr);
    int rank = node->nin ? value_type(w, node->in[0])->dim.n : 0;
    for (int k = 0; k < attrs_count(node->op->attrs); k++) {
        const AttrDef *def = &node->op->attrs[k];
        if (attr_default(w, def, rank, &init) && attr_equal(def, &init, &attr[k])) continue;
        const char *text = p->text ? p->text(p->user, def, &attr[k]) : NULL;
        if (!text && def->kind == A_INTS) text = lift_free_list(p->l, &attr[k].ints);
        text_add(p->out, " %s=", def->name);
        if (text) {
            text_add(p->out, "%s", text);
            continue;
        }
        Poly *v = ARENA_NEW(p->l->arena, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++)
            v[j] = lift_renamed(p->l, p->names, attr[k].ints.v[j]);
        attr[k].ints.v = v;
        attr_print(w, def, &attr[k], p->out);
    }
}

static void print_value(Print *p, Value v) {
    const char *name = v ? input_name(p->l->w, v) : NULL;
    int number = 1;
    if (!v) {
        text_add(p->out, " _");
        return;
    }
    if (name) {
        text_add(p->out, " %%%s", name);
        return;
    }
    for (int k = 0; k < p->live.n; k++) {
        Node node = node_get(p->l->w, p->live.v[k]);
        if (input_name(p->l->w, node.out)) continue;
        if (v >= node.out && v < node.out + (Value)node.nout) break;
        number += node.nout;
    }
    text_add(p->out, " %%%d", number + value_port(p->l->w, v));
}

Graph rule_side(const Graph *g, int side) {
    const int n = g->nout / 2;
    return (Graph){g->nin, n, g->in, g->out + side * n};
}

void lift_print_side(Lift *l, const Graph *side, Renaming *names, LiftAttrText text, void *user,
                     Text *out) {
    World *w = l->w;
    Print p = {l, out, names, text, user, graph_live(w, l->arena, side)};
    for (int k = 0; k < p.live.n; k++) {
        Node node = node_get(w, p.live.v[k]);
        if (input_name(w, node.out)) continue;
        text_add(out, " ");
        for (int j = 0; j < node.nout; j++) print_value(&p, node.out + (Value)j);
        text_add(out, " = %s", node.op->name);
        int nin = node.nin;
        while (nin > 0 && !node.in[nin - 1]) nin--;
        for (int j = 0; j < nin; j++) print_value(&p, node.in[j]);
        print_attrs(&p, &node);
        text_add(out, "\n");
    }
    text_add(out, "  out");
    for (int k = 0; k < side->nout; k++) print_value(&p, side->out[k]);
    text_add(out, "\n");
}

void lift_print(Lift *l, const Graph *g, Text *out) {
    Renaming names = {0};
    const Graph from = rule_side(g, 0), to = rule_side(g, 1);
    for (int k = 0; k < g->nin; k++) {
        Type t = *value_type(l->w, g->in[k]);
        for (int d = 0; d < t.dim.n; d++) t.dim.v[d] = lift_renamed(l, &names, t.dim.v[d]);
        text_add(out, "%s%%%s : ", k ? "   " : "  ", input_name(l->w, g->in[k]));
        type_print(l->w, &t, out);
    }
    text_add(out, g->nin ? "\nfrom\n" : "from\n");
    lift_print_side(l, &from, &names, NULL, NULL, out);
    text_add(out, "to\n");
    lift_print_side(l, &to, &names, NULL, NULL, out);
    for (int k = 0; k < l->npositive; k++) {
        text_add(out, k ? ", " : "where ");
        poly_print(l->w, lift_renamed(l, &names, l->positive[k]), out);
        text_add(out, " >= 1%s", k + 1 == l->npositive ? "\n" : "");
    }
}
