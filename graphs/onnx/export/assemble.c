/* assemble.c -- plans the contents of the new file.

   Every node of the old file is normalized again (translated into Isomer nodes), given the values
   that its inputs have now. If the result is the values that its outputs should have, the node can
   be copied. Then, starting from the outputs of the graph, every value that is needed is taken from
   such a copy, or a new node is written for it under the old name of the value. A copied node
   changes at most its names. A value needs only one name: two names of the same value become one.
   The nodes keep the order of the file as far as dependencies allow.

   Invariant: a value is computed from values with smaller numbers. This holds for copied nodes,
   too, except that they may read the sizes of any value. A cycle through sizes is found when the
   nodes are ordered; the copies in it are then given up, and everything is planned again. */
#include "graphs/onnx/export/assembly.h"
#include <string.h>

/* Forbids the copies that are part of a cycle. Returns false if there are none. */
static bool ban_copies(Assembly *p, const bool *done) {
    bool any = false;
    for (int k = 0; k < p->nnode; k++)
        if (!done[k] && p->node[k].onnx >= 0 && !p->m->node[p->node[k].onnx].reason)
            p->banned[p->node[k].onnx] = any = true;
    return any;
}

/* Fills the caller's plan with the nodes that were written, in this order. */
static void fill_plan(Assembly *p, const int *sorted) {
    FilePlan *plan = p->plan;
    plan->nname = intern_count(p->m->name_numbers) + 1;
    plan->keep = ARENA_NEW(p->a, bool, plan->nname),
    plan->carried = ARENA_NEW(p->a, bool, plan->nname);
    for (uint32_t id = 1; id < plan->nname; id++) {
        const NameInfo *n = &p->m->name[id];
        plan->keep[id] = table_get(&p->keep, id);
        plan->carried[id] = plan->keep[id] || n->source == FROM_INPUT;
    }
    plan->nnode = p->nnode, plan->node = ARENA_NEW(p->a, Slice, p->nnode);
    for (int k = 0; k < p->nnode; k++) {
        const FileNode *node = &p->node[sorted[k]];
        plan->node[k] = node->bytes;
        for (int j = 0; j < node->nout; j++) plan->carried[node->out[j]] = true;
    }
    for (int k = 0; k < plan->nconstant; k++) plan->carried[plan->constant[k]] = true;
}

/* Requires the names of outputs, and those that training or annotations refer to. */
static void need_outputs(Assembly *p) {
    Model *m = p->m;
    for (int k = 0; k < m->graph.nout; k++)
        assembly_need_exact(p, m->output[k], p->write->graph->out[k], m->nnode);
    for (NameId id = 1, n = intern_count(m->name_numbers) + 1; id < n; id++)
        if (m->name[id].pinned && m->name[id].source != FROM_NOTHING)
            assembly_need_exact(p, id, p->new_value[id], m->nnode);
}

/* Sets *again if there was a cycle: its copies are forbidden now, and everything has to be planned
   again. */
static bool assemble_once(Assembly *p, bool *again) {
    Model *m = p->m;
    *again = false;
    assembly_decide(p);
    need_outputs(p);
    if (!assembly_write(p)) return false;
    int *sorted = ARENA_NEW(p->a, int, p->nnode);
    bool *done = ARENA_NEW(p->a, bool, p->nnode);
    if (file_order(p->a, p->nnode, p->node, sorted, done) == p->nnode)
        return fill_plan(p, sorted), true;
    *again = ban_copies(p, done);
    return *again || error_set(p->e, E_CHECK, m->path,
                               "the new graph has a cycle: its nodes cannot be put in order");
}

bool file_plan(Model *m, const ModelWrite *x, Arena *a, FilePlan *plan, Error *e) {
    bool *banned = ARENA_NEW(a, bool, m->nnode), again = true, ok = true;
    while (again && ok) {
        *plan = (FilePlan){0};
        Assembly p = {
            .m = m, .w = m->w, .a = a, .write = x, .e = e, .plan = plan, .banned = banned};
        p.can_copy = ARENA_NEW(a, bool, m->nnode), p.alias = ARENA_NEW(a, bool, m->nnode),
        p.queued = ARENA_NEW(a, bool, m->nnode), p.copied_before = ARENA_NEW(a, bool, m->nnode);
        p.node_name = intern_new(a);
        for (int i = 0; i < m->nnode; i++)
            intern_put(p.node_name, m->node[i].name, strlen(m->node[i].name));
        m->assembling = true;
        ok = assemble_once(&p, &again);
        m->assembling = false;
        intern_free(p.node_name);
    }
    return ok;
}
