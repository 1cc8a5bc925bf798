/* graph.c -- implements the node table: nodes, values, constants, inputs, live nodes and uses.

   A node is the record (signature, serial, inputs) in TABLE_NODE; its number is that of its first
   value. Every further output takes one more record (0, node, port) directly after it. Thus values
   are numbers of the same table, resetting to a mark truncates both, and columns over TABLE_NODE
   are columns over values. The serial is 0 except for random operators, whose nodes are never
   merged. Omitted optional inputs are padded with 0, so that equal nodes have equal records. */
#include "graphs/tables.h"
#include <stdlib.h>
#include <string.h>

enum { INPUTS_ON_STACK = 64 };
typedef struct NodeRecord {
    uint32_t sig, serial;
    Value in[];
} NodeRecord;
typedef struct PortRecord {
    uint32_t none, node, port;
} PortRecord;
typedef struct BlobKey {
    char hash[33];
    uint32_t other; /* counts contents with the same hash and size */
    size_t size;
} BlobKey;

void graph_tables_init(World *w) {
    GraphTables *t = ARENA_NEW(w->arena, GraphTables, 1);
    w->graphs = t;
    t->expansion = ARENA_NEW(w->arena, Expansion, op_count());
    column_init(w, &t->blob, TABLE_BLOB, sizeof(BlobInfo));
    column_init(w, &t->seen, TABLE_NODE, sizeof(uint32_t));
    column_init(w, &t->border, TABLE_NODE, sizeof(uint32_t));
    column_init(w, &t->elements, TABLE_NODE, sizeof(Elements));
    column_init(w, &t->infinity, TABLE_NODE, sizeof(uint8_t));
}

/* ---- nodes and values */

static const NodeRecord *node_record(const World *w, uint32_t id, size_t *size) {
    return intern_get(w->table[TABLE_NODE], id, size);
}

NodeId value_node(const World *w, Value v) {
    const NodeRecord *r = node_record(w, v, NULL);
    return r->sig ? v : ((const PortRecord *)(const void *)r)->node;
}

int value_port(const World *w, Value v) { return (int)(v - value_node(w, v)); }

NodeId value_last(const World *w) { return intern_count(w->table[TABLE_NODE]); }

Node node_get(const World *w, NodeId id) {
    size_t size;
    const NodeRecord *r = node_record(w, id, &size);
    if (!r->sig) {
        id = ((const PortRecord *)(const void *)r)->node;
        r = node_record(w, id, &size);
    }
    const SigInfo *s = sig_info((World *)w, r->sig);
    int nin = (int)((size - sizeof *r) / sizeof(Value));
    return (Node){r->sig, s->op, s->op_index, nin, s->nout, r->in, id};
}

TypeId value_type_id(const World *w, Value v) {
    NodeId id = value_node(w, v);
    return sig_info((World *)w, node_record(w, id, NULL)->sig)->out[v - id];
}

const Type *value_type(const World *w, Value v) { return type_get(w, value_type_id(w, v)); }

static Value node_put(World *w, Sig sig, uint32_t serial, int nin, const Value in[]) {
    size_t size = sizeof(NodeRecord) + (size_t)nin * sizeof(Value);
    uint32_t space[2 + INPUTS_ON_STACK];
    ArenaMark mark = arena_mark(w->arena);
    bool large = nin > INPUTS_ON_STACK;
    NodeRecord *r = large ? arena_alloc(w->arena, size) : (NodeRecord *)(void *)space;
    r->sig = sig;
    r->serial = serial;
    if (nin) memcpy(r->in, in, (size_t)nin * sizeof(Value));
    uint32_t id = intern_find(w->table[TABLE_NODE], r, size);
    if (id && large) arena_reset(w->arena, mark);
    if (id) return id;
    id = intern_put(w->table[TABLE_NODE], r, size);
    for (int port = 1; port < sig_info(w, sig)->nout; port++)
        intern_put(w->table[TABLE_NODE], &(PortRecord){0, id, (uint32_t)port}, sizeof(PortRecord));
    return id;
}

static Value node_refused(const char **why, const char *reason) {
    if (why) *why = reason;
    return 0;
}

/* Makes the node of which `n` gives operator, inputs and number of outputs. */
static Value node_new(World *w, const Node *n, const Attr *attr, uint32_t serial,
                      const char **why) {
    TypeId space[INPUTS_ON_STACK] = {0},
           *type = n->nin > INPUTS_ON_STACK ? ARENA_NEW(w->arena, TypeId, n->nin) : space;
    for (int k = 0; k < n->nin; k++) type[k] = n->in[k] ? value_type_id(w, n->in[k]) : 0;
    Sig sig = sig_intern(w, n->op, attr, n->nin, type, n->nout);
    const SigInfo *s = sig_info(w, sig);
    if (s->why) return node_refused(why, s->why);
    return node_put(w, sig, serial, n->nin, n->in);
}

Value node_make(World *w, const Op *op, const Attr *attr, int nin, const Value in[], int nout,
                const char **why) {
    bool variadic;
    int least = op_arity(op, &variadic), declared = op_input_count(op);
    if (variadic && op->flags & OP_RANDOM) least--; /* an opaque node may have no inputs */
    Value padded[INPUTS_ON_STACK] = {0};
    if (nin < least) return node_refused(why, "too few inputs");
    if (!variadic && nin > declared) return node_refused(why, "too many inputs");
    for (int k = 0; k < nin; k++)
        if (!in[k] && op_input_needed(op, k))
            return node_refused(why, "a required input is missing");
    if (!variadic && nin < declared && declared <= INPUTS_ON_STACK) {
        if (nin) memcpy(padded, in, (size_t)nin * sizeof(Value));
        in = padded;
        nin = declared;
    }
    const Node n = {.op = op, .nin = nin, .in = in, .nout = nout};
    return node_new(w, &n, attr, op->flags & OP_RANDOM ? ++w->fresh : 0, why);
}

bool node_attrs(World *w, const Op *op, Value first, const bool given[], Attr *attr,
                const char **missing) {
    int rank = first ? value_type(w, first)->dim.n : 0;
    for (int k = 0; k < attrs_count(op->attrs); k++)
        if (!(given && given[k]) && !attr_default(w, &op->attrs[k], rank, &attr[k])) {
            if (missing) *missing = op->attrs[k].name;
            return false;
        }
    return true;
}

Value node_rebuild(World *w, NodeId id, const Value in[], const char **why) {
    Node n = node_get(w, id);
    Attr attr[ATTRS_MAX];
    sig_attr(w, n.sig, attr);
    n.in = in;
    return node_new(w, &n, attr, node_record(w, n.out, NULL)->serial, why);
}

/* ---- contents */

Blob blob_put(World *w, const void *bytes, size_t n) {
    BlobKey key;
    memset(&key, 0, sizeof key);
    hash_hex(bytes, n, key.hash);
    key.size = n;
    for (;; key.other++) {
        const Blob b = intern_put(w->table[TABLE_BLOB], &key, sizeof key);
        BlobInfo *info = column_at(w, &graph_tables(w)->blob, b);
        if (!info->bytes) *info = (BlobInfo){.bytes = n ? bytes : "", .size = n};
        if (!n || info->bytes == bytes || !memcmp(info->bytes, bytes, n)) return b;
    }
}

BlobInfo *blob_info(World *w, Blob b) { return column_at(w, &graph_tables(w)->blob, b); }

const void *blob_get(const World *w, Blob b, size_t *n) {
    BlobInfo *info = b ? blob_info((World *)w, b) : NULL;
    if (n) *n = info ? info->size : 0;
    return info ? info->bytes : NULL;
}

/* ---- inputs and constants; their attributes are those of ops/special.c, in its order */

static bool is_special(const World *w, Value v, const Op *op, Attr *attr) {
    if (!v) return false;
    Node n = node_get(w, value_node(w, v));
    if (n.op == op) sig_attr(w, n.sig, attr);
    return n.op == op;
}

/* The serial of an input is the number of its name in the World's table of words. */
Value graph_input(World *w, const char *name, const Type *t) {
    Poly serial = poly_int(w, world_word(w, name)), types[2 + RANK_MAX];
    int n = t->known ? t->dim.n : 0;
    types[0] = poly_int(w, t->dtype);
    types[1] = poly_int(w, t->known ? n : -1);
    for (int k = 0; k < n; k++) types[2 + k] = t->dim.v[k];
    return node_make(w, &op_input, (Attr[]){{.ints = {1, &serial}}, {.ints = {2 + n, types}}}, 0,
                     NULL, 1, NULL);
}

const char *input_name(const World *w, Value v) {
    Attr attr[ATTRS_MAX];
    int64_t serial;
    if (!is_special(w, v, &op_input, attr) || !poly_constant(w, attr[0].ints.v[0], &serial))
        return NULL;
    return world_text(w, (uint32_t)serial);
}

Value constant_make(World *w, const Type *t, Blob b) {
    Attr attr[] = {{.blob = b}, {.enum_value = (int)t->dtype}, {.ints = {t->dim.n, t->dim.v}}};
    return node_make(w, &op_constant, attr, 0, NULL, 1, NULL);
}

bool constant_get(const World *w, Value v, Type *t, const void **bytes) {
    Attr attr[ATTRS_MAX];
    if (!is_special(w, v, &op_constant, attr)) return false;
    if (t) *t = *value_type(w, v);
    if (bytes) *bytes = blob_get(w, attr[0].blob, NULL);
    return true;
}

Blob constant_blob(const World *w, Value v) {
    Attr attr[ATTRS_MAX];
    return is_special(w, v, &op_constant, attr) ? attr[0].blob : 0;
}

/* ---- live nodes and uses */

static int by_id(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void ids_sort(int n, uint32_t id[n]) {
    if (n) qsort(id, (size_t)n, sizeof *id, by_id);
}

typedef struct Walk {
    World *w;
    Arena *arena;
    uint32_t stamp;
    int n, room;
    NodeId *v;
} Walk;

static void walk_to(Walk *r, Value v) {
    if (!v || *(uint32_t *)column_at(r->w, &graph_tables(r->w)->border, v) == r->stamp) return;
    NodeId id = value_node(r->w, v);
    uint32_t *seen = column_at(r->w, &graph_tables(r->w)->seen, id);
    if (*seen == r->stamp) return;
    *seen = r->stamp;
    ARENA_GROW(r->arena, r->v, r->room, r->n + 1);
    r->v[r->n++] = id;
}

/* Sorts the reached nodes. If their numbers lie close together, walking over the numbers is faster
   than sorting. */
static void sort_reached(Walk *r) {
    enum { SPARSE = 32 };
    NodeId least = r->v[0], most = r->v[0];
    for (int k = 1; k < r->n; k++) {
        if (r->v[k] < least) least = r->v[k];
        if (r->v[k] > most) most = r->v[k];
    }
    if ((most - least) / SPARSE > (uint32_t)r->n) {
        ids_sort(r->n, r->v);
        return;
    }
    column_at(r->w, &graph_tables(r->w)->seen, most); /* grows the column */
    const uint32_t *seen = column_at(r->w, &graph_tables(r->w)->seen, 0);
    for (NodeId id = least, n = 0; id <= most; id++)
        if (seen[id] == r->stamp) r->v[n++] = id;
}

NodeList graph_live(World *w, Arena *a, const Graph *g) {
    Walk r = {w, a, ++graph_tables(w)->stamp, 0, 0, NULL};
    for (int k = 0; k < g->nin; k++)
        if (g->in[k] && node_get(w, g->in[k]).op != &op_input)
            *(uint32_t *)column_at(w, &graph_tables(w)->border, g->in[k]) = r.stamp;
    for (int k = 0; k < g->nout; k++) walk_to(&r, g->out[k]);
    for (int done = 0; done < r.n; done++) {
        Node n = node_get(w, r.v[done]);
        for (int k = 0; k < n.nin; k++) walk_to(&r, n.in[k]);
    }
    if (r.n) sort_reached(&r);
    return (NodeList){r.n, r.v};
}

int nodes_find(NodeList list, NodeId node) {
    int low = 0, high = list.n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (list.v[middle] < node) low = middle + 1;
        else high = middle;
    }
    return low < list.n && list.v[low] == node ? low : -1;
}

void graph_span(const World *w, const Graph *g, NodeList live, Value *least, Value *past) {
    *least = live.n ? live.v[0] : 1;
    *past = live.n ? live.v[live.n - 1] + (Value)node_get(w, live.v[live.n - 1]).nout : 1;
    for (int k = 0; k < g->nin; k++) {
        if (g->in[k] < *least) *least = g->in[k];
        if (g->in[k] >= *past) *past = g->in[k] + 1;
    }
}

static void count_uses(World *w, Uses *u, NodeList live) {
    for (int j = 0; j < live.n; j++) {
        Node n = node_get(w, live.v[j]);
        for (int k = 0; k < n.nin; k++) u->count[n.in[k]]++;
    }
    u->count[0] = 0;
}

Uses graph_uses(World *w, Arena *a, const Graph *g, NodeList live) {
    uint32_t n = value_last(w) + 1;
    Uses u = {ARENA_NEW(a, int, n), ARENA_NEW(a, int, n), NULL, ARENA_NEW(a, int, n), n};
    for (int k = 0; k < g->nout; k++) u.outputs[g->out[k]]++;
    count_uses(w, &u, live);
    int total = 0;
    for (uint32_t v = 0; v < n; v++) u.first[v] = total, total += u.count[v], u.count[v] = 0;
    u.user = ARENA_NEW(a, NodeId, total);
    for (int j = 0; j < live.n; j++) {
        Node node = node_get(w, live.v[j]);
        for (int k = 0; k < node.nin; k++)
            if (node.in[k]) u.user[u.first[node.in[k]] + u.count[node.in[k]]++] = live.v[j];
    }
    return u;
}
