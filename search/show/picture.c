/* picture.c -- draws the nodes of a side as boxes, coloured by what became of them and connected by
   values. A node that is not shown leaves a stub with the value's name, so that a part of a graph
   shows where it belongs. */
#include "search/show/picture.h"
#include <string.h>

static const char *const fill[] = {
    [KEPT] = "#f4f4f4", [CHANGED] = "#ffe08a", [GONE] = "#ffb3a7", [NEW] = "#b5e7b0"};

/* Adds text within a quoted string of dot. A long name keeps its end, which distinguishes it. */
static void add_text(Text *t, const char *s) {
    enum { LONG = 46 };
    size_t n = strlen(s);
    if (n > LONG) {
        text_add(t, "..");
        for (s += n - LONG + 2; (*s & 0xC0) == 0x80;) s++;
    }
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') text_bytes(t, "\\", 1);
        if ((unsigned char)*s >= ' ') text_bytes(t, s, 1);
    }
}

/* Constants are not drawn, whether they are nodes or initializers. */
static bool is_constant(const FileNode *f) { return !strcmp(f->type, "Constant"); }

/* Returns the drawn node that makes a value; -1: none does. */
static int maker(const FileSide *s, const char *name) {
    const int k = changes_maker(s, name);
    return k >= 0 && is_constant(&s->v[k]) ? -1 : k;
}

static bool is_input(const FileSide *s, const char *name) {
    for (int k = 0; k < s->nin; k++)
        if (!strcmp(s->in[k], name)) return true;
    return false;
}

static void add_node(const Changes *c, int side, int k, bool pale, Text *t) {
    const FileNode *f = &c->side[side].v[k];
    const Rule *rule = change_rule(c, f);
    int weights = 0;
    for (int j = 0; j < f->nin; j++)
        weights +=
            *f->in[j] && maker(&c->side[side], f->in[j]) < 0 && !is_input(&c->side[side], f->in[j]);
    text_add(t, "  s%dn%d [fillcolor=\"%s\" label=\"", side, k, pale ? "#ffffff" : fill[f->change]);
    add_text(t, f->type);
    text_add(t, "\\n");
    add_text(t, change_label(f));
    if (weights) text_add(t, "\\n%d constant%s", weights, weights > 1 ? "s" : "");
    if (rule) text_add(t, "\\n%s", rule->name);
    text_add(t, "\" tooltip=\"");
    add_text(t, change_label(f));
    if (pale)
        text_add(t, "\" fontcolor=\"#777777\" color=\"%s\"];\n",
                 f->change == KEPT ? "#aaaaaa" : fill[f->change]);
    else text_add(t, "\"%s];\n", f->change == KEPT ? "" : " penwidth=1.6");
}

/* Adds an edge to a node from the source of one of its inputs: the node that makes the value, an
   input of the graph, or a stub if the node is not shown. A constant has no edge. */
static void add_edge(const Changes *c, int side, int to, const char *name, const bool *shown,
                     Text *t) {
    const FileSide *s = &c->side[side];
    int from = maker(s, name);
    if (from < 0 && !is_input(s, name)) return;
    if (from >= 0 && (!shown || shown[from])) {
        text_add(t, "  s%dn%d -> s%dn%d;\n", side, from, side, to);
        return;
    }
    uint32_t id = intern_put(s->names, name, strlen(name));
    text_add(t, "  s%dv%u [shape=%s fillcolor=\"#ffffff\" label=\"", side, id,
             from < 0 ? "ellipse" : "plaintext");
    add_text(t, name);
    text_add(t, "\"];\n  s%dv%u -> s%dn%d%s;\n", side, id, side, to,
             from < 0 ? "" : " [style=dashed]");
}

static bool is_output(const FileSide *s, const char *name) {
    for (int k = 0; k < s->nout; k++)
        if (!strcmp(s->out[k], name)) return true;
    return false;
}

static void add_outputs(const Changes *c, int side, int k, Text *t) {
    const FileNode *f = &c->side[side].v[k];
    for (int j = 0; j < f->nout; j++) {
        if (!is_output(&c->side[side], f->out[j])) continue;
        text_add(t, "  s%do%d_%d [shape=ellipse fillcolor=\"#ffffff\" label=\"", side, k, j);
        add_text(t, f->out[j]);
        text_add(t, "\"];\n  s%dn%d -> s%do%d_%d;\n", side, k, side, k, j);
    }
}

/* Adds a stub below each shown node whose results are read by nodes that are not shown. */
static void add_readers(const Changes *c, int side, const bool *shown, Text *t) {
    const FileSide *s = &c->side[side];
    bool *has = ARENA_NEW(c->arena, bool, s->n);
    for (int k = 0; k < s->n && shown; k++)
        for (int j = 0; j < s->v[k].nin && !shown[k]; j++) {
            int from = maker(s, s->v[k].in[j]);
            if (from < 0 || !shown[from] || has[from]) continue;
            has[from] = true;
            text_add(t,
                     "  s%dr%d [shape=plaintext label=\"..\" fillcolor=\"#ffffff\"];\n  s%dn%d -> "
                     "s%dr%d [style=dashed];\n",
                     side, from, side, from, side, from);
        }
}

static void add_side(const Changes *c, int side, int place, const bool *shown, Text *t) {
    for (int k = 0; k < c->side[side].n; k++) {
        const FileNode *f = &c->side[side].v[k];
        if (is_constant(f) || (shown && !shown[k])) continue;
        add_node(c, side, k, place >= 0 && f->place != place, t);
        for (int j = 0; j < f->nin; j++) add_edge(c, side, k, f->in[j], shown, t);
        add_outputs(c, side, k, t);
    }
    add_readers(c, side, shown, t);
}

static const char style[] =
    "  rankdir=TB; nodesep=0.2; ranksep=0.25; bgcolor=\"transparent\";\n"
    "  node [shape=box style=\"filled,rounded\" fontname=\"Helvetica,Arial,sans-serif\" "
    "fontsize=10 margin=\"0.08,0.04\" height=0.2];\n"
    "  edge [arrowsize=0.5];\n";

void picture_side(const Changes *c, int side, int place, const bool *shown, Text *t) {
    text_add(t, "digraph %s {\n%s", side ? "result" : "original", style);
    add_side(c, side, place, shown, t);
    text_add(t, "}\n");
}

/* If a node has more readers than this, they are not drawn just because they are near it. */
enum { MANY = 8 };

void picture_near(const Changes *c, int side, int place, int steps, bool *shown) {
    const FileSide *s = &c->side[side];
    int *readers = ARENA_NEW(c->arena, int, s->n);
    for (int k = 0; k < s->n; k++)
        for (int j = 0; j < s->v[k].nin; j++)
            if (maker(s, s->v[k].in[j]) >= 0) readers[maker(s, s->v[k].in[j])]++;
    for (int k = 0; k < s->n; k++)
        shown[k] |= s->v[k].change != KEPT && (place < 0 || s->v[k].place == place);
    for (int round = 0; round < steps; round++) {
        bool *more = arena_copy(c->arena, shown, sizeof *more * (size_t)s->n);
        for (int k = 0; k < s->n; k++)
            for (int j = 0; j < s->v[k].nin; j++) {
                int from = maker(s, s->v[k].in[j]);
                if (from < 0) continue;
                more[k] |= shown[from] && readers[from] <= MANY, more[from] |= shown[k];
            }
        memcpy(shown, more, sizeof *more * (size_t)s->n);
    }
}

void picture_both(const Changes *c, Text *t) {
    bool large = c->side[0].n > PICTURE_WHOLE;
    text_add(t, "digraph changes {\n%s", style);
    for (int side = 0; side < 2; side++) {
        bool *shown = large ? ARENA_NEW(c->arena, bool, c->side[side].n) : NULL;
        if (large) picture_near(c, side, -1, PICTURE_AROUND, shown);
        text_add(t, "  subgraph cluster_%d {\n  label=\"%s, %d node%s%s\"; color=\"#888888\";\n",
                 side, side ? "result" : "original", c->side[side].n,
                 c->side[side].n == 1 ? "" : "s",
                 large ? ", of these what changed and what is around it" : "");
        add_side(c, side, -1, shown, t);
        text_add(t, "  }\n");
    }
    text_add(t, "}\n");
}
