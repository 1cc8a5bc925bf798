/* assembly_names.c -- the names of values in the new file. Asking for the name of a value makes
   sure that something in the new file defines it. */
#include "graphs/onnx/export/assembly.h"
#include <string.h>

uint32_t table_get(const Table32 *t, uint32_t key) { return key < t->room ? t->v[key] : 0; }

void table_set(Arena *a, Table32 *t, uint32_t key, uint32_t value) {
    ARENA_GROW(a, t->v, t->room, key + 1);
    t->v[key] = value;
}

void assembly_job(Assembly *p, AssemblyJob job) {
    ARENA_GROW(p->a, p->job, p->job_room, p->njob + 1);
    p->job[p->njob++] = job;
}
void assembly_node(Assembly *p, FileNode node) {
    ARENA_GROW(p->a, p->node, p->node_room, p->nnode + 1);
    p->node[p->nnode++] = node;
}

bool assembly_live(const bool *live, uint32_t n, Value v) { return v < n && live[v]; }

Value assembly_old_value(const Assembly *p, NameId id) { return id ? p->m->name[id].value : 0; }

NameId assembly_fresh_name(Assembly *p) {
    for (;;) {
        const char *text = arena_format(p->a, "isomer_%d", ++p->serial);
        NameId id = name_id(p->m, slice_of(text), p->e);
        const NameInfo *n = &p->m->name[id];
        /* A name that nothing defines may still have a type or an annotation in the file. */
        const bool free =
            n->source == FROM_NOTHING && !n->defined_in_subgraph && !n->type.at && !n->pinned;
        if (free && !table_get(&p->made, id)) return id;
    }
}

NameId assembly_new_name(Assembly *p, Value v, int *place) {
    NameId id = table_get(&p->free_old_name, v);
    bool old = id && !table_get(&p->made, id);
    if (old) *place = (int)table_get(&p->place, v);
    else id = assembly_fresh_name(p);
    table_set(p->a, &p->name, v, id);
    table_set(p->a, &p->made, id, 1);
    return id;
}

static void need_node(Assembly *p, int i) {
    if (p->queued[i]) return;
    p->queued[i] = true;
    assembly_job(p, (AssemblyJob){.onnx = i, .place = i});
}

static void need_name(Assembly *p, NameId id) {
    const NameInfo *n = &p->m->name[id];
    if (n->source == FROM_INITIALIZER || n->source == FROM_SPARSE) table_set(p->a, &p->keep, id, 1);
    if (n->source == FROM_NODE && p->can_copy[n->index]) need_node(p, n->index);
}

NameId assembly_name(Assembly *p, Value v, int place) {
    if (!v) return 0;
    NameId id = table_get(&p->name, v);
    if (id) return need_name(p, id), id;
    id = assembly_new_name(p, v, &place);
    assembly_job(p, (AssemblyJob){.value = v, .onnx = -1, .place = place});
    return id;
}

NameId assembly_name_for_copy(Assembly *p, NameId id, int place) {
    if (!id || source_is_given(p->m->name[id].source)) return need_name(p, id), id;
    return assembly_name(p, p->new_value[id], place);
}

void assembly_identity(Assembly *p, NameId from, NameId to, int place) {
    NameId *names = ARENA_NEW(p->a, NameId, 2);
    names[0] = from, names[1] = to;
    OnnxNodeDraft e = {.type = "Identity", .domain = "", .nin = 1, .nout = 1};
    const char *name =
        index_free_name(p->a, p->node_name, arena_format(p->a, "isomer/%s", p->m->name[to].text));
    Slice bytes = emit_bytes(p->a, &e, &p->m->name[from].text, &p->m->name[to].text, name, NULL);
    table_set(p->a, &p->made, to, 1);
    assembly_node(p, (FileNode){bytes, 1, 1, place, &names[0], &names[1], -1});
}

void assembly_need_exact(Assembly *p, NameId id, Value v, int place) {
    const NameInfo *n = &p->m->name[id];
    if (n->source != FROM_NODE || table_get(&p->made, id)) {
        need_name(p, id);
        return;
    }
    if (p->new_value[id] == v && p->can_copy[n->index]) {
        need_node(p, n->index);
        return;
    }
    if (p->new_value[id] == v && p->alias[n->index] && !p->banned[n->index]) {
        table_set(p->a, &p->made, id, 1);
        need_node(p, n->index);
        return;
    }
    if (!table_get(&p->name, v))
        table_set(p->a, &p->free_old_name, v, id),
            table_set(p->a, &p->place, v, (uint32_t)n->index);
    NameId have = assembly_name(p, v, place);
    if (have != id) assembly_identity(p, have, id, place);
}
