/* assemble.c -- plans what the new file holds. Every node of the old file is normalized again (made
   into nodes of ours) on the values that its inputs have now; where that gives the values that its
   outputs are to have, the node is copied as it is. From the outputs down, what is needed is then
   taken from such a node, or written as a new node under the old name of the value; at most the
   inputs of a copied node are renamed. Names carry values: two names of one value become one. The
   order is that of the file as far as dependencies allow. Invariant: a value is made from smaller
   ones, and a copied node is smaller than what it uses unless that only gives sizes; a cycle
   through sizes is found when ordering, and the copies in it are then given up. */
#include "graphs/onnx/export/order.h"
#include "graphs/constants.h"
#include "graphs/shapevalue.h"
#include <string.h>

typedef struct Table32 { /* by a Value or a NameId, 0 where nothing was set; grows */
    uint32_t *v, room;
} Table32;
typedef struct Job { /* something that the new file needs and that is not written yet */
    int onnx;        /* this node of the old file, copied; -1: */
    Value value;     /* .. the node that makes this value */
    int place;       /* of a node in the old file, near which it is to stand */
} Job;
typedef struct Assembly {
    Model *m;
    World *w;
    Arena *a;
    const ModelWrite *x;
    Error *e;
    Value *now;       /* by NameId of the old file */
    const bool *live; /* by value below nlive: it is live in the new graph */
    uint32_t nlive;
    bool *copy;            /* by old node: it stands as it is */
    bool *alias;           /* likewise, but it only passes an input on */
    bool *queued, *copied; /* by old node: it is among the jobs, or was; it was copied once */
    bool *banned;          /* by old node: it may not be copied */
    /* By old node: copied, it would keep alive what a rule dissolved, only for its sizes. */
    bool *costly;
    Table32 name;  /* by Value: the name that carries it */
    Table32 old;   /* by Value: a name of the old file that is free for it */
    Table32 place; /* by Value: place of that name */
    Table32 maker; /* by Value: 1 + 2 * the old node that makes it, + 1: from the values that its
                      inputs had, else from those they have now */
    Value **in, **out;  /* by old node: values of its inputs now, and what it makes of them */
    Table32 owner;      /* by Value: the composite in whose place it is written */
    Table32 keep, made; /* by NameId: the initializer stays; a new file's node gives this name */
    int njob, job_room, nitem, item_room, serial;
    Job *job;
    Item *item;
    FilePlan *r;
    int constant_room, import_room;
} Assembly;

static uint32_t *at32(Assembly *p, Table32 *t, uint32_t key) {
    ARENA_GROW(p->a, t->v, t->room, key + 1);
    return &t->v[key];
}

static void push_job(Assembly *p, Job job) {
    ARENA_GROW(p->a, p->job, p->job_room, p->njob + 1);
    p->job[p->njob++] = job;
}
static void push_item(Assembly *p, Item item) {
    ARENA_GROW(p->a, p->item, p->item_room, p->nitem + 1);
    p->item[p->nitem++] = item;
}

/* ---- what stands */

static bool is_live(const bool *live, uint32_t n, Value v) { return v < n && live[v]; }

/* By value below n: it is live in the graph. */
static const bool *live_values(Assembly *p, const Graph *g, uint32_t n) {
    NodeList list = graph_live(p->w, p->a, g);
    bool *live = ARENA_NEW(p->a, bool, n);
    for (int k = 0; k < list.n; k++) {
        Node node = node_get(p->w, list.v[k]);
        for (int j = 0; j < node.nout; j++) live[node.out + (Value)j] = true;
    }
    return live;
}

/* What a value of the old graph is now; `again`: what its node makes of what its inputs are now,
   which is the same. What a rule dissolved, so that only sizes are read off it, is mapped to what
   it was when that happened, and would keep all of that graph alive; made again, it stands on what
   is there anyway. */
static Value value_now(const Assembly *p, const bool *before, Value was, Value again) {
    if (!is_live(before, p->nlive, was)) return again;
    Value now = map_value(p->x->map, was);
    return is_live(p->live, p->nlive, now) || !again ? now : again;
}

/* Sizes that old names carry (keeps) are read off values that no longer exist; what takes them
   and is live can be written with sizes read elsewhere. */
static bool takes_costly(const OnnxNode *n, const bool *keeps) {
    bool takes = false;
    for (int k = 0; k < n->x.nin; k++) takes |= n->in[k] && keeps[n->in[k]];
    return takes;
}
/* Nodes of the file compute it, and it is known all the same. */
static bool known_size(const Assembly *p, NameId id, Value v) {
    PolyList elements;
    int64_t n;
    if (p->m->name[id].source != FROM_NODE || constant_get(p->w, v, NULL, NULL) ||
        !value_elements(p->w, v, &elements))
        return false;
    for (int k = 0; k < elements.n; k++)
        if (!poly_constant(p->w, elements.v[k], &n)) return false;
    return true;
}
static void mark_costly(Assembly *p, int i, const bool *before, bool *keeps, bool *gone) {
    OnnxNode *n = &p->m->node[i];
    const bool takes = takes_costly(n, keeps);
    for (int k = 0; k < n->x.nout; k++) {
        const NameId id = n->out[k];
        const Value now = id ? p->now[id] : 0;
        if (!now) continue;
        const bool live = is_live(p->live, p->nlive, now);
        const bool shape = node_get(p->w, value_node(p->w, now)).op == &op_shape;
        gone[id] = !live && is_live(before, p->nlive, p->m->name[id].value);
        keeps[id] = !live && (takes || (shape && n->x.nin && n->in[0] && gone[n->in[0]]) ||
                              (p->x->known_sizes && known_size(p, id, now)));
        p->costly[i] |= takes && live;
    }
}

/* The node on what its inputs are now: what it makes, and whether it can be copied as it is. */
static void decide_node(Assembly *p, int i, const bool *before, bool *keeps, bool *gone) {
    Model *m = p->m;
    OnnxNode *node = &m->node[i];
    int nin = node->x.nin + node->ncapture, nout = node->x.nout;
    Value *in = ARENA_NEW(p->a, Value, nin + 1), *out = ARENA_NEW(p->a, Value, nout + 1);
    const char *reason;
    bool same = true, passes = false;
    for (int k = 0; k < nin; k++)
        in[k] = p->now[k < node->x.nin ? node->in[k] : node->capture[k - node->x.nin]];
    const NodeId made = node->random; /* what is made here lasts as long as this writing */
    normalize_node(m, node, in, out, &reason);
    node->random = made;
    p->in[i] = in, p->out[i] = out;
    for (int k = 0; k < nout; k++) {
        Value was = node->out[k] ? m->name[node->out[k]].value : 0;
        Value is = value_now(p, before, was, out[k]);
        if (node->out[k]) p->now[node->out[k]] = is;
        same &= is == out[k] && (is || !node->out[k] || !m->name[node->out[k]].used);
        for (int j = 0; j < nin; j++) passes |= is && in[j] == is;
    }
    mark_costly(p, i, before, keeps, gone);
    if ((p->x->regenerate || p->costly[i]) && !node->reason) same = false;
    p->copy[i] = same && !passes && !p->banned[i], p->alias[i] = same && passes;
}

static void decide_nodes(Assembly *p) {
    Model *m = p->m;
    uint32_t n = node_count(p->w) + 1, names = intern_count(m->names) + 1;
    const bool *before = live_values(p, model_graph(m), n);
    p->live = live_values(p, p->x->graph, n), p->nlive = n;
    p->now = ARENA_NEW(p->a, Value, names);
    p->in = ARENA_NEW(p->a, Value *, m->nnode), p->out = ARENA_NEW(p->a, Value *, m->nnode);
    p->costly = ARENA_NEW(p->a, bool, m->nnode);
    bool *keeps = ARENA_NEW(p->a, bool, names), *gone = ARENA_NEW(p->a, bool, names);
    for (uint32_t id = 1; id < names; id++)
        if (m->name[id].source != FROM_NODE) p->now[id] = m->name[id].value;
    for (int i = 0; i < m->nnode; i++) decide_node(p, i, before, keeps, gone);
}

static Value was_value(const Assembly *p, NameId id) { return id ? p->m->name[id].value : 0; }

/* Which old node makes a value, from new inputs or from the old ones; what only passes an input on
   makes nothing. */
static void find_makers(Assembly *p) {
    Model *m = p->m;
    for (int old = 0; old < 2; old++)
        for (int i = 0; i < m->nnode; i++) {
            OnnxNode *n = &m->node[i];
            bool passes = false;
            for (int k = 0; k < n->x.nout; k++)
                for (int j = 0; j < n->x.nin; j++) {
                    Value y = old ? was_value(p, n->out[k]) : p->out[i][k];
                    passes |= y && y == (old ? was_value(p, n->in[j]) : p->in[i][j]);
                }
            if (passes || p->banned[i]) continue;
            for (int k = 0; k < n->x.nout; k++) {
                Value v = old ? was_value(p, n->out[k]) : p->out[i][k];
                if (v && !*at32(p, &p->maker, v))
                    *at32(p, &p->maker, v) = 1 + 2 * (uint32_t)i + (uint32_t)old;
            }
        }
}

/* Names for values: of inputs, initializers and copied nodes first; then names that are free to be
   taken over. */
static void name_values(Assembly *p) {
    Model *m = p->m;
    uint32_t names = intern_count(m->names) + 1;
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t id = 1; id < names; id++) {
            const NameInfo *n = &m->name[id];
            bool file = n->source == FROM_INPUT || n->source == FROM_INITIALIZER ||
                        n->source == FROM_SPARSE,
                 copied = n->source == FROM_NODE && p->copy[n->index];
            if (!p->now[id] || n->source == FROM_NOTHING || *at32(p, &p->name, p->now[id]))
                continue;
            if ((pass == 0 && file) || (pass == 1 && copied)) *at32(p, &p->name, p->now[id]) = id;
            if (pass < 2 || file || p->alias[n->index] || *at32(p, &p->old, p->now[id])) continue;
            *at32(p, &p->old, p->now[id]) = id,
                              *at32(p, &p->place, p->now[id]) = (uint32_t)n->index;
        }
}

/* ---- what is needed */

static NameId fresh_name(Assembly *p) {
    for (;;) {
        const char *text = arena_format(p->a, "isomer_%d", ++p->serial);
        NameId id = name_id(p->m, (Slice){(const unsigned char *)text, strlen(text)}, p->e);
        const NameInfo *n = &p->m->name[id];
        if (n->source == FROM_NOTHING && !n->inner && !*at32(p, &p->made, id)) return id;
    }
}

/* A name for a value that has none: that of the old file, if nothing else took it. */
static NameId new_name(Assembly *p, Value v, int *place) {
    NameId id = *at32(p, &p->old, v);
    bool old = id && !*at32(p, &p->made, id);
    if (old) *place = (int)*at32(p, &p->place, v);
    else id = fresh_name(p);
    *at32(p, &p->name, v) = id;
    *at32(p, &p->made, id) = 1;
    return id;
}

static void need_node(Assembly *p, int i) {
    if (p->queued[i]) return;
    p->queued[i] = true;
    push_job(p, (Job){.onnx = i, .place = i});
}

static void need_name(Assembly *p, NameId id) {
    const NameInfo *n = &p->m->name[id];
    if (n->source == FROM_INITIALIZER || n->source == FROM_SPARSE) *at32(p, &p->keep, id) = 1;
    if (n->source == FROM_NODE && p->copy[n->index]) need_node(p, n->index);
}

static NameId name_of(Assembly *p, Value v, int place) {
    if (!v) return 0;
    NameId id = *at32(p, &p->name, v);
    if (id) return need_name(p, id), id;
    id = new_name(p, v, &place);
    push_job(p, (Job){.value = v, .onnx = -1, .place = place});
    return id;
}

/* The name under which a node of the old file now finds what it used by this name. */
static NameId name_for_copy(Assembly *p, NameId id, int place) {
    Source from = p->m->name[id].source;
    if (!id || from == FROM_INPUT || from == FROM_INITIALIZER || from == FROM_SPARSE)
        return need_name(p, id), id;
    return name_of(p, p->now[id], place);
}

static void add_identity(Assembly *p, NameId from, NameId to, int place) {
    NameId *names = ARENA_NEW(p->a, NameId, 2);
    names[0] = from, names[1] = to;
    Emit e = {.type = "Identity", .domain = "", .nin = 1, .nout = 1};
    Slice bytes = emit_bytes(p->a, &e, &p->m->name[from].text, &p->m->name[to].text,
                             arena_format(p->a, "isomer/%s", p->m->name[to].text), NULL);
    *at32(p, &p->made, to) = 1;
    push_item(p, (Item){bytes, 1, 1, place, &names[0], &names[1], -1});
}

/* A name that must exist as it is: of an output, or used in a subgraph. */
static void need_exact(Assembly *p, NameId id, Value v, int place) {
    const NameInfo *n = &p->m->name[id];
    if (n->source != FROM_NODE || *at32(p, &p->made, id)) {
        need_name(p, id);
        return;
    }
    if (p->now[id] == v && p->copy[n->index]) {
        need_node(p, n->index);
        return;
    }
    if (p->now[id] == v && p->alias[n->index] && !p->banned[n->index]) {
        *at32(p, &p->made, id) = 1;
        need_node(p, n->index);
        return;
    }
    if (!*at32(p, &p->name, v))
        *at32(p, &p->old, v) = id, *at32(p, &p->place, v) = (uint32_t)n->index;
    NameId have = name_of(p, v, place);
    if (have != id) add_identity(p, have, id, place);
}

/* ---- writing one */

static Slice with_names(Assembly *p, const OnnxNode *n, const NameId in[], const NameId out[],
                        const char *name) {
    Text t = text_new(p->a);
    Wire w = wire_new(n->x.whole, p->m->x.bytes.at, p->m->path, p->e);
    int k[NODE_OUTPUT + 1] = {0}; /* inputs and outputs met so far, by field */
    for (Field f; wire_next(&w, &f);) {
        bool named = f.number == NODE_INPUT || f.number == NODE_OUTPUT;
        NameId was = !named                   ? 0
                     : f.number == NODE_INPUT ? n->in[k[NODE_INPUT]]
                                              : n->out[k[NODE_OUTPUT]],
               is = !named                   ? 0
                    : f.number == NODE_INPUT ? in[k[NODE_INPUT]]
                                             : out[k[NODE_OUTPUT]];
        if (f.number == NODE_NAME && name) wire_put_bytes(&t, NODE_NAME, name, strlen(name));
        else if (was == is) text_bytes(&t, (const char *)f.whole.at, f.whole.n);
        else wire_put_bytes(&t, f.number, p->m->name[is].text, strlen(p->m->name[is].text));
        if (named) k[f.number]++;
    }
    return (Slice){(const unsigned char *)t.data, t.size};
}

/* A node of the old file, its names replaced where they are others now. */
static void put_copy(Assembly *p, int i, NameId in[], const NameId out[], int place) {
    OnnxNode *n = &p->m->node[i];
    bool renamed = p->copied[i];
    const char *name =
        /* Names of nodes are unique too. */
        p->copied[i] && n->x.name.n ? arena_format(p->a, "%s/isomer_%d", n->name, ++p->serial)
                                    : NULL;
    p->copied[i] = true;
    for (int k = 0; k < n->x.nin; k++) renamed |= in[k] != n->in[k];
    for (int k = 0; k < n->x.nout; k++)
        renamed |= out[k] != n->out[k], *at32(p, &p->made, out[k]) = 1;
    for (int k = 0; k < n->ncapture; k++) {
        in[n->x.nin + k] = n->capture[k];
        need_exact(p, n->capture[k], p->now[n->capture[k]], i);
    }
    push_item(p, (Item){renamed ? with_names(p, n, in, out, name) : n->x.whole,
                        n->x.nin + n->ncapture, n->x.nout, place, in, out, i});
}

static void copy_node(Assembly *p, int i) {
    OnnxNode *n = &p->m->node[i];
    NameId *in = ARENA_NEW(p->a, NameId, n->x.nin + n->ncapture + 1);
    for (int k = 0; k < n->x.nin; k++) in[k] = name_for_copy(p, n->in[k], i);
    put_copy(p, i, in, n->out, i);
}

/* A value that an old node makes under another name. */
static void copy_as(Assembly *p, int i, const Value from[], const Value made[], NodeId node,
                    int place) {
    OnnxNode *n = &p->m->node[i];
    NameId *in = ARENA_NEW(p->a, NameId, n->x.nin + n->ncapture + 1),
           *out = ARENA_NEW(p->a, NameId, n->x.nout + 1);
    for (int k = 0; k < n->x.nin; k++) in[k] = name_of(p, from[k], place);
    for (int k = 0; k < n->x.nout; k++) {
        int at = place;
        bool mine = made[k] && value_node(p->w, made[k]) == node;
        out[k] = !n->out[k]                    ? 0
                 : !mine                       ? fresh_name(p)
                 : *at32(p, &p->name, made[k]) ? *at32(p, &p->name, made[k])
                                               : new_name(p, made[k], &at);
        *at32(p, &p->made, out[k]) = 1;
    }
    put_copy(p, i, in, out, place);
}

static void copy_maker(Assembly *p, Value v, int place) {
    uint32_t maker = *at32(p, &p->maker, v) - 1;
    int i = (int)(maker / 2);
    OnnxNode *n = &p->m->node[i];
    Value *in = p->in[i], *out = p->out[i];
    if (maker & 1)
        in = ARENA_NEW(p->a, Value, n->x.nin + 1), out = ARENA_NEW(p->a, Value, n->x.nout + 1);
    for (int k = 0; maker & 1 && k < n->x.nin; k++) in[k] = was_value(p, n->in[k]);
    for (int k = 0; maker & 1 && k < n->x.nout; k++) out[k] = was_value(p, n->out[k]);
    copy_as(p, i, in, out, value_node(p->w, v), place);
}

/* An opaque node on inputs that none of its names carry, because a captured name cannot be
   replaced: the captured one means the same. */
static bool copy_opaque(Assembly *p, Node node, int place) {
    Attr a[ATTRS_MAX], b[ATTRS_MAX];
    int blob = node.op->attrs ? attrs_find(node.op->attrs, "blob") : -1;
    if (blob < 0 || node.op != &op_opaque) return false;
    sig_attr(p->w, node.sig, a);
    for (int i = 0; i < p->m->nnode; i++) {
        OnnxNode *n = &p->m->node[i];
        if (!n->reason || !n->random || node_get(p->w, n->random).op != node.op) continue;
        sig_attr(p->w, node_get(p->w, n->random).sig, b);
        if (a[blob].blob != b[blob].blob) continue;
        Value *out = ARENA_NEW(p->a, Value, n->x.nout + 1);
        for (int k = 0; k < n->x.nout; k++) out[k] = node.out + (Value)k;
        return copy_as(p, i, node.in, out, node.out, place), true;
    }
    return false;
}

static void add_constant(Assembly *p, Value v, NameId name) {
    FilePlan *r = p->r;
    int room = p->constant_room;
    ARENA_GROW(p->a, r->constant, room, r->nconstant + 1);
    ARENA_GROW(p->a, r->content, p->constant_room, r->nconstant + 1);
    r->constant[r->nconstant] = name, r->content[r->nconstant++] = v;
}

static bool named_already(void *assembly, Value v) {
    Assembly *p = assembly;
    NameId id = *at32(p, &p->name, v);
    return id != 0;
}

static bool live_now(void *assembly, Value v) {
    const Assembly *p = assembly;
    return is_live(p->live, p->nlive, v);
}

static const char *tag_of(Assembly *p, Value v) {
    const char *tag = p->x->tag ? p->x->tag(p->x->user, v) : NULL;
    uint32_t owner = *at32(p, &p->owner, v);
    return tag || !owner ? tag : tag_of(p, owner);
}

/* What is written in a composite's place is its rule's work too. */
static void mark_owned(Assembly *p, Value v, const Node *composite) {
    bool done =
        !v || v == composite->out || *at32(p, &p->owner, v) || constant_get(p->w, v, NULL, NULL);
    for (int k = 0; k < composite->nin; k++) done |= composite->in[k] == v;
    if (done) return;
    *at32(p, &p->owner, v) = composite->out;
    Node n = node_get(p->w, value_node(p->w, v));
    for (int k = 0; k < n.nin; k++) mark_owned(p, n.in[k], composite);
}

static void note_domain(Assembly *p, const char *domain) {
    if (model_opset(p->m, (Slice){(const unsigned char *)domain, strlen(domain)})) return;
    for (int k = 0; k < p->r->nimport; k++)
        if (!strcmp(p->r->import[k], domain)) return;
    ARENA_GROW(p->a, p->r->import, p->import_room, p->r->nimport + 1);
    p->r->import[p->r->nimport++] = domain;
}

static bool write_emit(Assembly *p, const Emit *e, int place) {
    note_domain(p, e->domain);
    NameId *in = ARENA_NEW(p->a, NameId, e->nin + 1), *out = ARENA_NEW(p->a, NameId, e->nout + 1);
    const char **in_text = ARENA_NEW(p->a, const char *, e->nin + 1),
               **out_text = ARENA_NEW(p->a, const char *, e->nout + 1);
    for (int k = 0; k < e->nin; k++)
        in[k] = name_of(p, e->in[k], place), in_text[k] = in[k] ? p->m->name[in[k]].text : "";
    for (int k = 0; k < e->nout; k++) {
        Value v = e->out + (Value)k;
        int at = place;
        out[k] = *at32(p, &p->name, v);
        if (!out[k]) out[k] = new_name(p, v, &at);
        out_text[k] = p->m->name[out[k]].text;
    }
    const char *tag = tag_of(p, e->out),
               *name = arena_format(p->a, "%s/%s", tag ? tag : "isomer", out_text[0]);
    const char *doc = tag ? arena_format(p->a, "isomer: %s", tag) : NULL;
    push_item(p, (Item){emit_bytes(p->a, e, in_text, out_text, name, doc), e->nin, e->nout, place,
                        in, out, -1});
    return true;
}

/* A composite that the model's opset lacks: its definition takes over the names. */
static bool write_expanded(Assembly *p, Node n, int place, const char *why) {
    Value *out = ARENA_NEW(p->a, Value, n.nout);
    if (!n.op->expand || !node_expand(p->w, p->a, n.out, out, p->e))
        return error_set(p->e, E_CHECK, p->m->path, "a new node %s cannot be written: %s",
                         n.op->name, why);
    for (int k = 0; k < n.nout; k++) mark_owned(p, out[k], &n);
    for (int k = 0; k < n.nout; k++) {
        int at = place;
        NameId mine = *at32(p, &p->name, n.out + (Value)k), have = *at32(p, &p->name, out[k]);
        if (!mine) mine = new_name(p, n.out + (Value)k, &at);
        if (have) {
            add_identity(p, name_of(p, out[k], place), mine, place);
            continue;
        }
        *at32(p, &p->name, out[k]) = mine;
        push_job(p, (Job){.value = out[k], .onnx = -1, .place = place});
    }
    return true;
}

static bool write_value(Assembly *p, Value v, int place) {
    Node n = node_get(p->w, value_node(p->w, v));
    Type type;
    const void *bytes;
    const char *why;
    Emit e;
    if (constant_get(p->w, v, &type, &bytes))
        return add_constant(p, v, *at32(p, &p->name, v)), true;
    uint32_t maker = *at32(p, &p->maker, v);
    const bool anew = maker && (p->x->regenerate || p->costly[(maker - 1) / 2]) &&
                      !p->m->node[(maker - 1) / 2].reason;
    if (maker && !anew) return copy_maker(p, v, place), true;
    if (copy_opaque(p, n, place)) return true;
    if (emit_node(p->m, n.out, &(EmitContext){named_already, live_now, p}, &e, &why))
        return write_emit(p, &e, place);
    return maker && !n.op->expand ? copy_maker(p, v, place),
           true                   : write_expanded(p, n, place, why);
}

/* A node with several outputs is one job. */
static bool done_already(Assembly *p, Table32 *done, Value v) {
    uint32_t *mark = at32(p, done, value_node(p->w, v));
    bool was = *mark;
    *mark = 1;
    return was;
}

static bool run_jobs(Assembly *p) {
    Table32 done = {0};
    while (p->njob) {
        Job job = p->job[--p->njob];
        if (job.onnx >= 0) copy_node(p, job.onnx);
        else if (!done_already(p, &done, job.value) && !write_value(p, job.value, job.place))
            return false;
    }
    return true;
}

/* ---- order */

/* Copies in a cycle through sizes are given up. */
static bool ban_copies(Assembly *p, const bool *done) {
    bool any = false;
    for (int k = 0; k < p->nitem; k++)
        if (!done[k] && p->item[k].onnx >= 0 && !p->m->node[p->item[k].onnx].reason)
            p->banned[p->item[k].onnx] = any = true;
    return any;
}

/* What was written, in this order, as the caller's plan. */
static void fill_plan(Assembly *p, const int *sorted) {
    FilePlan *r = p->r;
    r->nname = intern_count(p->m->names) + 1;
    r->keep = ARENA_NEW(p->a, bool, r->nname), r->carried = ARENA_NEW(p->a, bool, r->nname);
    for (uint32_t id = 1; id < r->nname; id++) {
        const NameInfo *n = &p->m->name[id];
        r->keep[id] = *at32(p, &p->keep, id);
        r->carried[id] = r->keep[id] || n->source == FROM_INPUT;
    }
    r->nnode = p->nitem, r->node = ARENA_NEW(p->a, Slice, p->nitem);
    for (int k = 0; k < p->nitem; k++) {
        const Item *item = &p->item[sorted[k]];
        r->node[k] = item->bytes;
        for (int j = 0; j < item->nout; j++) r->carried[item->out[j]] = true;
    }
    for (int k = 0; k < r->nconstant; k++) r->carried[r->constant[k]] = true;
}

/* Outputs that a rule replaced are not what their old nodes make. */
static void set_outputs(Assembly *p) {
    Model *m = p->m;
    for (int k = 0; k < m->graph.nout; k++) {
        const NameInfo *n = &m->name[m->output[k]];
        if (n->source != FROM_NODE || p->now[m->output[k]] == p->x->graph->out[k]) continue;
        p->now[m->output[k]] = p->x->graph->out[k];
        p->copy[n->index] = p->alias[n->index] = false;
    }
}

/* Names that outputs, training and annotations refer to. */
static void need_outputs(Assembly *p) {
    Model *m = p->m;
    for (int k = 0; k < m->graph.nout; k++)
        need_exact(p, m->output[k], p->x->graph->out[k], m->nnode);
    for (NameId id = 1, n = intern_count(m->names) + 1; id < n; id++)
        if (m->name[id].pinned && m->name[id].source != FROM_NOTHING)
            need_exact(p, id, p->now[id], m->nnode);
}

/* *again: copies form a cycle and are banned; everything has to be done once more. */
static bool assemble_once(Assembly *p, bool *again) {
    Model *m = p->m;
    *again = false;
    decide_nodes(p);
    set_outputs(p);
    find_makers(p);
    name_values(p);
    need_outputs(p);
    if (!run_jobs(p)) return false;
    int *sorted = ARENA_NEW(p->a, int, p->nitem);
    bool *done = ARENA_NEW(p->a, bool, p->nitem);
    if (file_order(p->a, p->nitem, p->item, sorted, done) == p->nitem)
        return fill_plan(p, sorted), true;
    *again = ban_copies(p, done);
    return *again || error_set(p->e, E_CHECK, m->path,
                               "the new graph has a cycle: its nodes cannot be put in order");
}

bool file_plan(Model *m, const ModelWrite *x, Arena *a, FilePlan *r, Error *e) {
    bool *banned = ARENA_NEW(a, bool, m->nnode), again = true, ok = true;
    while (again && ok) {
        *r = (FilePlan){0};
        Assembly p = {.m = m, .w = m->w, .a = a, .x = x, .e = e, .r = r, .banned = banned};
        p.copy = ARENA_NEW(a, bool, m->nnode), p.alias = ARENA_NEW(a, bool, m->nnode),
        p.queued = ARENA_NEW(a, bool, m->nnode), p.copied = ARENA_NEW(a, bool, m->nnode);
        m->assembling = true;
        ok = assemble_once(&p, &again);
        m->assembling = false;
    }
    return ok;
}
