/* assembly_write.c -- writes the nodes that the new file still needs. Each is either a copy of an
   old node, in which the names that have changed are replaced, or a new node, spelled according to
   the ONNX table of its operator. */
#include "graphs/onnx/export/assembly.h"
#include "graphs/constants.h"
#include <string.h>

static Slice with_names(Assembly *p, const OnnxNode *n, const NameId in[], const NameId out[],
                        const char *name) {
    Text t = text_new(p->a);
    Wire w = model_wire(p->m, n->x.whole, p->e);
    int nin = 0, nout = 0; /* inputs and outputs seen so far */
    for (Field f; wire_next(&w, &f);) {
        /* What replaces the field; NULL: it is copied. */
        const char *text = f.number == NODE_NAME ? name : NULL;
        if (f.number == NODE_INPUT && in[nin] != n->in[nin]) text = p->m->name[in[nin]].text;
        if (f.number == NODE_OUTPUT && out[nout] != n->out[nout]) text = p->m->name[out[nout]].text;
        if (text) wire_put_bytes(&t, f.number, text, strlen(text));
        else text_bytes(&t, (const char *)f.whole.at, f.whole.n);
        nin += f.number == NODE_INPUT, nout += f.number == NODE_OUTPUT;
    }
    return text_slice(&t);
}

/* Copies a node of the old file, replacing the names that have changed. If it was copied before,
   the copy gets another name, since names of nodes are unique too. */
static void put_copy(Assembly *p, int i, NameId in[], const NameId out[], int place) {
    OnnxNode *n = &p->m->node[i];
    bool renamed = p->copied_before[i];
    const char *name = NULL; /* NULL: as in the old file */
    if (p->copied_before[i] && n->x.name.n)
        name = index_free_name(p->a, p->node_name,
                               arena_format(p->a, "%s/isomer_%d", n->name, ++p->serial));
    p->copied_before[i] = true;
    for (int k = 0; k < n->x.nin; k++) renamed |= in[k] != n->in[k];
    for (int k = 0; k < n->x.nout; k++)
        renamed |= out[k] != n->out[k], table_set(p->a, &p->made, out[k], 1);
    for (int k = 0; k < n->ncapture; k++) {
        in[n->x.nin + k] = n->capture[k];
        assembly_need_exact(p, n->capture[k], p->new_value[n->capture[k]], i);
    }
    assembly_node(p, (FileNode){renamed ? with_names(p, n, in, out, name) : n->x.whole,
                                node_input_count(n), n->x.nout, place, in, out, i});
}

static void copy_node(Assembly *p, int i) {
    OnnxNode *n = &p->m->node[i];
    NameId *in = ARENA_NEW(p->a, NameId, node_input_count(n) + 1);
    for (int k = 0; k < n->x.nin; k++) in[k] = assembly_name_for_copy(p, n->in[k], i);
    put_copy(p, i, in, n->out, i);
}

/* Copies an old node that computes a needed value under another name. */
static void copy_as(Assembly *p, int i, const Value from[], const Value made[], NodeId node,
                    int place) {
    OnnxNode *n = &p->m->node[i];
    NameId *in = ARENA_NEW(p->a, NameId, node_input_count(n) + 1),
           *out = ARENA_NEW(p->a, NameId, n->x.nout + 1);
    for (int k = 0; k < n->x.nin; k++) in[k] = assembly_name(p, from[k], place);
    for (int k = 0; k < n->x.nout; k++) {
        int at = place;
        bool mine = made[k] && value_node(p->w, made[k]) == node;
        out[k] = !n->out[k]                     ? 0
                 : !mine                        ? assembly_fresh_name(p)
                 : table_get(&p->name, made[k]) ? table_get(&p->name, made[k])
                                                : assembly_new_name(p, made[k], &at);
        table_set(p->a, &p->made, out[k], 1);
    }
    put_copy(p, i, in, out, place);
}

/* The node of the old file that computes this value, or -1. */
static int maker_of(const Assembly *p, Value v) {
    const uint32_t now = table_get(&p->maker, v);
    return (int)(now ? now : table_get(&p->old_maker, v)) - 1;
}

static void copy_maker(Assembly *p, Value v, int place) {
    const int i = maker_of(p, v);
    const OnnxNode *n = &p->m->node[i];
    Value *in = p->in[i], *out = p->out[i];
    if (!table_get(&p->maker, v)) {
        in = ARENA_NEW(p->a, Value, n->x.nin + 1), out = ARENA_NEW(p->a, Value, n->x.nout + 1);
        for (int k = 0; k < n->x.nin; k++) in[k] = assembly_old_value(p, n->in[k]);
        for (int k = 0; k < n->x.nout; k++) out[k] = assembly_old_value(p, n->out[k]);
    }
    copy_as(p, i, in, out, value_node(p->w, v), place);
}

/* Copies an opaque node of the old file for a node whose inputs do not all have the names in the
   file. This happens because a captured name cannot be replaced; the captured value means the
   same. */
static bool copy_opaque(Assembly *p, Node node, int place) {
    Attr a[ATTRS_MAX], b[ATTRS_MAX];
    int blob = node.op->attrs ? attrs_find(node.op->attrs, "blob") : -1;
    if (blob < 0 || node.op != &op_opaque) return false;
    sig_attr(p->w, node.sig, a);
    for (int i = 0; i < p->m->nnode; i++) {
        OnnxNode *n = &p->m->node[i];
        if (!n->reason || !n->serial_node || node_get(p->w, n->serial_node).op != node.op) continue;
        sig_attr(p->w, node_get(p->w, n->serial_node).sig, b);
        if (a[blob].blob != b[blob].blob) continue;
        Value *out = ARENA_NEW(p->a, Value, n->x.nout + 1);
        for (int k = 0; k < n->x.nout; k++) out[k] = node.out + (Value)k;
        return copy_as(p, i, node.in, out, node.out, place), true;
    }
    return false;
}

static void add_constant(Assembly *p, Value v, NameId name) {
    FilePlan *plan = p->plan;
    int room = p->constant_room;
    ARENA_GROW(p->a, plan->constant, room, plan->nconstant + 1);
    ARENA_GROW(p->a, plan->content, p->constant_room, plan->nconstant + 1);
    plan->constant[plan->nconstant] = name, plan->content[plan->nconstant++] = v;
}

static bool named_already(void *assembly, Value v) {
    Assembly *p = assembly;
    NameId id = table_get(&p->name, v);
    return id != 0;
}

static bool live_now(void *assembly, Value v) {
    const Assembly *p = assembly;
    return assembly_live(p->live, p->nlive, v);
}

static const char *tag_of(Assembly *p, Value v) {
    const char *tag = p->write->tag ? p->write->tag(p->write->user, v) : NULL;
    uint32_t owner = table_get(&p->owner, v);
    return tag || !owner ? tag : tag_of(p, owner);
}

/* Marks the nodes of a composite's expansion as the work of the rule that made the composite. */
static void mark_owned(Assembly *p, Value v, const Node *composite) {
    bool done =
        !v || v == composite->out || table_get(&p->owner, v) || constant_get(p->w, v, NULL, NULL);
    for (int k = 0; k < composite->nin; k++) done |= composite->in[k] == v;
    if (done) return;
    table_set(p->a, &p->owner, v, composite->out);
    Node n = node_get(p->w, value_node(p->w, v));
    for (int k = 0; k < n.nin; k++) mark_owned(p, n.in[k], composite);
}

static void note_domain(Assembly *p, const char *domain) {
    if (model_opset(p->m, slice_of(domain))) return;
    for (int k = 0; k < p->plan->nimport; k++)
        if (!strcmp(p->plan->import[k], domain)) return;
    ARENA_GROW(p->a, p->plan->import, p->import_room, p->plan->nimport + 1);
    p->plan->import[p->plan->nimport++] = domain;
}

static void write_emit(Assembly *p, const OnnxNodeDraft *e, int place) {
    note_domain(p, e->domain);
    NameId *in = ARENA_NEW(p->a, NameId, e->nin + 1), *out = ARENA_NEW(p->a, NameId, e->nout + 1);
    const char **in_text = ARENA_NEW(p->a, const char *, e->nin + 1),
               **out_text = ARENA_NEW(p->a, const char *, e->nout + 1);
    for (int k = 0; k < e->nin; k++)
        in[k] = assembly_name(p, e->in[k], place), in_text[k] = in[k] ? p->m->name[in[k]].text : "";
    for (int k = 0; k < e->nout; k++) {
        Value v = e->out + (Value)k;
        int at = place;
        out[k] = table_get(&p->name, v);
        if (!out[k]) out[k] = assembly_new_name(p, v, &at);
        out_text[k] = p->m->name[out[k]].text;
    }
    const char *tag = tag_of(p, e->out),
               *name =
                   index_free_name(p->a, p->node_name,
                                   arena_format(p->a, "%s/%s", tag ? tag : "isomer", out_text[0]));
    const char *doc = tag ? arena_format(p->a, "isomer: %s", tag) : NULL;
    assembly_node(p, (FileNode){emit_bytes(p->a, e, in_text, out_text, name, doc), e->nin, e->nout,
                                place, in, out, -1});
}

/* Writes the expansion of a composite that the model's opset lacks; its results get the names of
   the composite's results. */
static bool write_expanded(Assembly *p, Node n, int place, const char *why) {
    Value *out = ARENA_NEW(p->a, Value, n.nout);
    if (!n.op->expand || !node_expand(p->w, p->a, n.out, out, p->e))
        return error_set(p->e, E_CHECK, p->m->path, "a new node %s cannot be written: %s",
                         n.op->name, why);
    for (int k = 0; k < n.nout; k++) mark_owned(p, out[k], &n);
    for (int k = 0; k < n.nout; k++) {
        int at = place;
        NameId mine = table_get(&p->name, n.out + (Value)k), have = table_get(&p->name, out[k]);
        if (!mine) mine = assembly_new_name(p, n.out + (Value)k, &at);
        if (have) {
            assembly_identity(p, assembly_name(p, out[k], place), mine, place);
            continue;
        }
        table_set(p->a, &p->name, out[k], mine);
        assembly_job(p, (AssemblyJob){.value = out[k], .onnx = -1, .place = place});
    }
    return true;
}

static bool write_value(Assembly *p, Value v, int place) {
    Node n = node_get(p->w, value_node(p->w, v));
    Type type;
    const void *bytes;
    const char *why;
    OnnxNodeDraft e;
    if (constant_get(p->w, v, &type, &bytes))
        return add_constant(p, v, table_get(&p->name, v)), true;
    const int maker = maker_of(p, v);
    const bool anew =
        maker >= 0 && (p->write->regenerate || p->costly[maker]) && !p->m->node[maker].reason;
    if (maker >= 0 && !anew) return copy_maker(p, v, place), true;
    if (copy_opaque(p, n, place)) return true;
    if (emit_node(p->m, n.out, &(EmitContext){named_already, live_now, p}, &e, &why))
        return write_emit(p, &e, place), true;
    if (maker < 0 || n.op->expand) return write_expanded(p, n, place, why);
    copy_maker(p, v, place);
    return true;
}

/* Marks the node of this value as written. Returns whether it was before: a node with several
   outputs is needed several times, but written once. */
static bool mark_done(Assembly *p, Table32 *done, Value v) {
    const NodeId node = value_node(p->w, v);
    const bool was = table_get(done, node);
    table_set(p->a, done, node, 1);
    return was;
}

bool assembly_write(Assembly *p) {
    Table32 done = {0};
    while (p->njob) {
        AssemblyJob job = p->job[--p->njob];
        if (job.onnx >= 0) copy_node(p, job.onnx);
        else if (!mark_done(p, &done, job.value) && !write_value(p, job.value, job.place))
            return false;
    }
    return true;
}
