/* changes.c -- pairs the nodes of both files. The result's bytes are made again with the index of
   an application in place of the rule's name, so that each new node says which application made it.
   What an application replaced follows from its match: nodes of the original, and whatever the
   earlier applications in the match replaced. A node is kept if the other file has the same bytes,
   and changed if a node of its type replaced it; all others are gone or new. */
#include "search/show/changes.h"
#include "ops/base/groups.h"
#include <stdlib.h>
#include <string.h>

enum { MARK = 1 }; /* first byte of a node name that starts with the index of an application */

/* ---- reading a file's nodes */

static const char *text_of(Arena *a, Slice s) {
    return arena_string(a, s.at ? (const char *)s.at : "", s.n);
}

static const char **texts_of(Arena *a, int n, const Slice v[]) {
    const char **list = ARENA_NEW(a, const char *, n);
    for (int k = 0; k < n; k++) list[k] = text_of(a, v[k]);
    return list;
}

/* Sets the application that made a node. The result's new nodes are called "\1INDEX/output". */
static void take_step(Changes *c, FileNode *f) {
    const char *slash = strchr(f->name, '/');
    int step = f->name[0] == MARK && slash ? atoi(f->name + 1) : -1;
    if (step < 0 || step >= c->d->nstep) return;
    f->step = step;
    f->name = arena_format(c->arena, "%s%s", c->d->step[f->step].match.instance->rule->name, slash);
}

static bool read_node(Changes *c, Slice message, Slice file, FileNode *f) {
    NodeIndex x;
    Wire wire = wire_new(message, file.at, c->r->in, c->r->error);
    if (!index_node(c->arena, &wire, &x)) return false;
    *f = (FileNode){.name = text_of(c->arena, x.name),
                    .type = text_of(c->arena, x.type),
                    .nin = x.nin,
                    .nout = x.nout};
    f->whole = message, f->step = f->other = f->place = -1;
    f->in = texts_of(c->arena, x.nin, x.in), f->out = texts_of(c->arena, x.nout, x.out);
    return true;
}

static void find_makers(FileSide *s, Arena *a) {
    s->names = intern_new(a);
    for (int k = 0; k < s->n; k++)
        for (int j = 0; j < s->v[k].nout + s->v[k].nin; j++) {
            const char *text = j < s->v[k].nout ? s->v[k].out[j] : s->v[k].in[j - s->v[k].nout];
            intern_put(s->names, text, strlen(text));
        }
    int n = (int)intern_count(s->names) + 1, *name = ARENA_NEW(a, int, n);
    for (int k = 0; k < n; k++) name[k] = -1;
    for (int k = 0; k < s->n; k++)
        for (int j = 0; j < s->v[k].nout; j++)
            if (*s->v[k].out[j])
                name[intern_put(s->names, s->v[k].out[j], strlen(s->v[k].out[j]))] = k;
    s->maker = name;
}

static bool read_side(Changes *c, Slice file, FileSide *s) {
    FileIndex x;
    if (!index_file(c->arena, file, c->r->in, &x, c->r->error)) return false;
    s->n = x.g.node.n, s->v = ARENA_NEW(c->arena, FileNode, s->n);
    for (int k = 0; k < s->n; k++)
        if (!read_node(c, x.g.node.v[k], file, &s->v[k])) return false;
    s->nin = c->r->source.original.nin, s->nout = c->r->source.original.nout;
    s->in = ARENA_NEW(c->arena, const char *, s->nin),
    s->out = ARENA_NEW(c->arena, const char *, s->nout);
    for (int k = 0; k < s->nin; k++) s->in[k] = model_input_name(c->r->source.model, k);
    for (int k = 0; k < s->nout; k++) s->out[k] = model_output_name(c->r->source.model, k);
    find_makers(s, c->arena);
    return true;
}

int changes_maker(const FileSide *s, const char *name) {
    uint32_t id = *name ? intern_find(s->names, name, strlen(name)) : 0;
    return id ? s->maker[id] : -1;
}

static const char *number_tag(void *changes, Value v) {
    const Changes *c = changes;
    int step = derivation_step(c->d, v);
    return step < 0 ? NULL : arena_format(c->arena, "%c%d", MARK, step);
}

static bool read_both(Changes *c) {
    Run *r = c->r;
    const ModelWrite same = {.graph = &r->source.original, .map = &(ValueMap){0}};
    ModelWrite made = run_model_write(r, c->d);
    made.tag = number_tag, made.user = c;
    Slice file[2];
    char *bytes;
    if (!model_bytes(r->source.model, &same, c->arena, &bytes, &file[0].n, r->error)) return false;
    file[0].at = file[1].at = (unsigned char *)bytes, file[1].n = file[0].n;
    if (derivation_changes(c->d)) {
        if (!model_bytes(r->source.model, &made, c->arena, &bytes, &file[1].n, r->error))
            return false;
        file[1].at = (unsigned char *)bytes;
    }
    if (!read_side(c, file[0], &c->side[0]) || !read_side(c, file[1], &c->side[1])) return false;
    for (int k = 0; k < c->side[1].n; k++) take_step(c, &c->side[1].v[k]);
    return true;
}

/* ---- what applications replaced */

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static NodeSet set_of(Arena *a, int n, int v[]) {
    NodeSet s = {0, ARENA_NEW(a, int, n)};
    qsort(v, (size_t)n, sizeof *v, by_number);
    for (int k = 0; k < n; k++)
        if (!k || v[k] != v[k - 1]) s.v[s.n++] = v[k];
    return s;
}

/* Finds values that do not depend on constants alone. Those that do are shared by many places and
   belong to none. */
static void find_varying(Changes *c) {
    World *w = c->r->w;
    NodeId n = value_last(w), v = 1;
    c->varies = ARENA_NEW(c->arena, bool, n + 1);
    while (v <= n) {
        Node node = node_get(w, v);
        bool some = input_name(w, v) || (node.op->flags & OP_RANDOM);
        for (int k = 0; k < node.nin && !some; k++) some = node.in[k] && c->varies[node.in[k]];
        for (int port = 0; port < node.nout; port++) c->varies[v + (Value)port] = some;
        v += (NodeId)node.nout;
    }
}

/* Sets *from to where a value of the graph before an application comes from: a node of the file
   (returns true) or an earlier application (false); -1: neither. */
static bool source_of(const Changes *c, Value v, int *from) {
    for (; v; v = derivation_before(c->d, v)) {
        *from = model_node_index(c->r->source.model, value_node(c->r->w, v));
        if (*from >= 0) return true;
        *from = derivation_step(c->d, v);
        if (*from >= 0) return false;
    }
    *from = -1;
    return false;
}

static void find_origin(Changes *c, int step) {
    Run *r = c->r;
    const NodeList inner = match_inner(r->w, c->arena, &c->d->step[step].match);
    int from, nfile = 0, nstep = 0, room = inner.n;
    int *steps = ARENA_NEW(c->arena, int, inner.n), *files = ARENA_NEW(c->arena, int, inner.n),
        *all;
    for (int k = 0; k < inner.n; k++)
        if (!c->varies[inner.v[k]]) continue;
        else if (source_of(c, inner.v[k], &from)) files[nfile++] = from;
        else if (from >= 0 && from < step) steps[nstep++] = from;
    c->earlier[step] = set_of(c->arena, nstep, steps);
    for (int k = 0; k < c->earlier[step].n; k++) room += c->origin[c->earlier[step].v[k]].n;
    all = ARENA_NEW(c->arena, int, room);
    memcpy(all, files, sizeof *all * (size_t)nfile);
    for (int k = 0; k < c->earlier[step].n; k++) {
        const NodeSet *s = &c->origin[c->earlier[step].v[k]];
        memcpy(all + nfile, s->v, sizeof *all * (size_t)s->n);
        nfile += s->n;
    }
    c->origin[step] = set_of(c->arena, nfile, all);
}

/* ---- pairs */

static bool same_bytes(const FileNode *a, const FileNode *b) {
    return a->whole.n == b->whole.n && !memcmp(a->whole.at, b->whole.at, a->whole.n);
}

static int counterpart(const Changes *c, const FileNode *f) {
    for (int k = 0; k < f->nout; k++)
        if (*f->out[k]) return changes_maker(&c->side[0], f->out[k]);
    return -1;
}

static void pair_nodes(Changes *c, int original, int result, Change change) {
    FileNode *a = &c->side[0].v[original], *b = &c->side[1].v[result];
    a->other = result, b->other = original;
    a->change = b->change = change;
}

static void pair_kept(Changes *c) {
    for (int k = 0; k < c->side[0].n; k++) c->side[0].v[k].change = GONE;
    for (int k = 0; k < c->side[1].n; k++) {
        FileNode *f = &c->side[1].v[k];
        int at = counterpart(c, f);
        f->change = NEW;
        if (at >= 0 && c->side[0].v[at].other < 0 && same_bytes(&c->side[0].v[at], f))
            pair_nodes(c, at, k, KEPT);
    }
}

static bool can_pair(const Changes *c, int original, const FileNode *f) {
    const FileNode *a = &c->side[0].v[original];
    return a->other < 0 && !strcmp(a->type, f->type);
}

static void pair_changed(Changes *c) {
    for (int k = 0; k < c->side[1].n; k++) {
        const FileNode *f = &c->side[1].v[k];
        int at = f->other < 0 ? counterpart(c, f) : -1;
        if (at >= 0 && can_pair(c, at, f)) pair_nodes(c, at, k, CHANGED);
    }
    for (int k = 0; k < c->side[1].n; k++) {
        const FileNode *f = &c->side[1].v[k];
        for (int j = 0; f->other < 0 && f->step >= 0 && j < c->origin[f->step].n; j++)
            if (can_pair(c, c->origin[f->step].v[j], f))
                pair_nodes(c, c->origin[f->step].v[j], k, CHANGED);
    }
}

static void find_steps(Changes *c) {
    for (int step = 0; step < c->d->nstep; step++)
        for (int k = 0; k < c->origin[step].n; k++) {
            FileNode *f = &c->side[0].v[c->origin[step].v[k]];
            if (f->change != KEPT && f->step < 0) f->step = step;
        }
    for (int k = 0; k < c->side[0].n; k++) {
        FileNode *f = &c->side[0].v[k];
        if (f->change == CHANGED && c->side[1].v[f->other].step >= 0)
            f->step = c->side[1].v[f->other].step;
    }
}

/* ---- places: groups of what belongs together. Numbers stand for the original's nodes, then the
   result's, then applications */

/* Joins a node that no rule made or replaced with a changed node that reads it, or that it
   reads. */
static void join_neighbour(const Changes *c, int *up, int side, int k) {
    const FileSide *s = &c->side[side];
    int base = side ? c->side[0].n : 0;
    for (int j = 0; j < s->v[k].nin; j++) {
        int p = changes_maker(s, s->v[k].in[j]);
        if (p < 0 || s->v[p].change == KEPT) continue;
        if (s->v[k].step < 0 && group_least(up, base + k) == base + k)
            groups_unite(up, base + k, base + p);
        if (s->v[p].step < 0 && group_least(up, base + p) == base + p)
            groups_unite(up, base + p, base + k);
    }
}

static void join_all(const Changes *c, int *up) {
    int n0 = c->side[0].n, n1 = c->side[1].n;
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < c->side[side].n; k++) {
            const FileNode *f = &c->side[side].v[k];
            if (f->change == KEPT) continue;
            if (f->step >= 0) groups_unite(up, side * n0 + k, n0 + n1 + f->step);
            if (f->other >= 0 && !side) groups_unite(up, k, n0 + f->other);
        }
    for (int step = 0; step < c->d->nstep; step++) {
        for (int k = 0; k < c->origin[step].n; k++)
            if (c->side[0].v[c->origin[step].v[k]].change != KEPT)
                groups_unite(up, c->origin[step].v[k], n0 + n1 + step);
        for (int k = 0; k < c->earlier[step].n; k++)
            groups_unite(up, n0 + n1 + c->earlier[step].v[k], n0 + n1 + step);
    }
    for (int side = 0; side < 2; side++)
        for (int k = c->side[side].n; k-- > 0;)
            if (c->side[side].v[k].change != KEPT) join_neighbour(c, up, side, k);
}

static void find_places(Changes *c) {
    int n = c->side[0].n + c->side[1].n + c->d->nstep, *up = ARENA_NEW(c->arena, int, n),
        *number = ARENA_NEW(c->arena, int, n);
    for (int k = 0; k < n; k++) up[k] = k, number[k] = -1;
    join_all(c, up);
    for (int k = 0; k < c->side[0].n + c->side[1].n; k++) {
        FileNode *f = k < c->side[0].n ? &c->side[0].v[k] : &c->side[1].v[k - c->side[0].n];
        int root = group_least(up, k);
        if (f->change == KEPT) continue;
        if (number[root] < 0) number[root] = c->nplace++;
        f->place = number[root];
    }
}

/* ---- all together */

Changes *changes_find(Run *r, const Derivation *d) {
    Changes *c = ARENA_NEW(r->arena, Changes, 1);
    *c = (Changes){.r = r, .arena = r->arena, .d = d};
    c->origin = ARENA_NEW(c->arena, NodeSet, d->nstep),
    c->earlier = ARENA_NEW(c->arena, NodeSet, d->nstep);
    if (!read_both(c)) return NULL;
    find_varying(c);
    for (int step = 0; step < d->nstep; step++) find_origin(c, step);
    pair_kept(c);
    pair_changed(c);
    find_steps(c);
    find_places(c);
    return c;
}

const char *change_label(const FileNode *f) {
    for (int k = 0; !*f->name && k < f->nout; k++)
        if (*f->out[k]) return f->out[k];
    return f->name;
}

const Rule *change_rule(const Changes *c, const FileNode *f) {
    return f->step < 0 ? NULL : c->d->step[f->step].match.instance->rule;
}

int changes_count(const Changes *c, int side, Change change) {
    int n = 0;
    for (int k = 0; k < c->side[side].n; k++) n += c->side[side].v[k].change == change;
    return n;
}
