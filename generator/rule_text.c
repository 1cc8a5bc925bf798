/* rule_text.c -- a lifted rule in the notation of rules: sizes get letters in the order in which they appear, results
   numbers, attributes that are their defaults are left out. */
#include "generator/lift_inner.h"
#include <string.h>

typedef struct Print {
    Lift *l;
    Text *out;
    const Graph *g;
    NodeList live;
    int n;
    Symbol from[LIFT_SYMBOLS];
    Poly to[LIFT_SYMBOLS];
} Print;

static void name_symbols(Print *p, Poly x) {
    World *w = p->l->w;
    Monomial m;
    for (PolyScan s = poly_scan(w, x); poly_next(&s, &m);)
        for (uint32_t k = 0; k < m.degree; k++) {
            int j = 0;
            SymbolDef d = symbol_def(w, m.symbol[k]);
            for (uint32_t a = 0; a < d.narg; a++) name_symbols(p, d.arg[a]);
            while (j < p->n && p->from[j] != m.symbol[k]) j++;
            if (j < p->n || d.kind != SYM_NAMED || p->n == LIFT_SYMBOLS) continue;
            p->from[p->n] = m.symbol[k];
            p->to[p->n] = poly_named(w, arena_format(p->l->arena, j < 26 ? "%c" : "%c%d", 'a' + j % 26, j / 26));
            p->n++;
        }
}

static Poly renamed(Print *p, Poly x) {
    name_symbols(p, x);
    return poly_subst(p->l->w, x, p->n, p->from, p->to);
}

static const char *free_list(const Lift *l, const PolyList *v) {
    for (int k = 0; k < l->nwhole; k++)
        if (v->n && v->n == l->whole[k].n && !memcmp(v->v, l->whole[k].v, (size_t)v->n * sizeof *v->v)) return l->whole[k].name;
    return NULL;
}

static void print_attrs(Print *p, const Node *node) {
    World *w = p->l->w;
    Attr attr[SPACE_ATTRS], init;
    sig_attr(w, node->sig, attr);
    int rank = node->nin ? value_type(w, node->in[0])->dim.n : 0;
    for (int k = 0; k < attrs_count(node->op->attrs); k++) {
        const AttrDef *def = &node->op->attrs[k];
        const char *whole = def->kind == A_INTS ? free_list(p->l, &attr[k].ints) : NULL;
        if (attr_default(w, def, rank, &init) && attr_equal(def, &init, &attr[k])) continue;
        text_add(p->out, " %s=", def->name);
        if (whole) {
            text_add(p->out, "%s", whole);
            continue;
        }
        Poly *v = ARENA_NEW(p->l->arena, Poly, attr[k].ints.n);
        for (int j = 0; j < attr[k].ints.n; j++) v[j] = renamed(p, attr[k].ints.v[j]);
        attr[k].ints.v = v;
        attr_print(w, def, &attr[k], p->out);
    }
}

static void print_value(Print *p, Value v) {
    const char *name = input_name(p->l->w, v);
    int number = 1;
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

static void print_side(Print *p, const char *word, const Value out[], int nout) {
    World *w = p->l->w;
    Graph side = {p->g->nin, nout, p->g->in, out};
    p->live = graph_live(w, p->l->arena, &side);
    text_add(p->out, "%s\n", word);
    for (int k = 0; k < p->live.n; k++) {
        Node node = node_get(w, p->live.v[k]);
        if (input_name(w, node.out)) continue;
        text_add(p->out, " ");
        for (int j = 0; j < node.nout; j++) print_value(p, node.out + (Value)j);
        text_add(p->out, " = %s", node.op->name);
        for (int j = 0; j < node.nin && node.in[j]; j++) print_value(p, node.in[j]);
        print_attrs(p, &node);
        text_add(p->out, "\n");
    }
    text_add(p->out, "  out");
    for (int k = 0; k < nout; k++) print_value(p, out[k]);
    text_add(p->out, "\n");
}

void lift_print(Lift *l, const Graph *g, Text *out) {
    Print p = {.l = l, .out = out, .g = g};
    for (int k = 0; k < g->nin; k++) {
        Type t = *value_type(l->w, g->in[k]);
        for (int d = 0; d < t.dim.n; d++) t.dim.v[d] = renamed(&p, t.dim.v[d]);
        text_add(out, "%s%%%s : ", k ? "   " : "  ", input_name(l->w, g->in[k]));
        type_print(l->w, &t, out);
    }
    text_add(out, g->nin ? "\n" : "");
    print_side(&p, "from", g->out, g->nout / 2);
    print_side(&p, "to", g->out + g->nout / 2, g->nout / 2);
}
