/* part.c -- extracts a part of a model as a model of its own, so that a target can time it.

   The nodes are copied byte for byte, since what a runtime makes of them depends on how they are
   spelled. The nodes that are asked for are surrounded by a border, because layouts and fusions
   depend on the neighbours: a few cheap nodes, up to and including the first expensive one. Nodes
   that compute sizes and indices, or that depend on constants only, are included as far up as they
   go; every other value from outside becomes an input.

   A runtime computes a node in 8 bits if all that it reads is dequantized and what it makes is
   quantized. So these conversions are included together with their node, and do not count as a step
   away from it. */
#include "graphs/constants.h"
#include "graphs/onnx/model.h"
#include "ops/base/file.h"
#include "ops/core/element.h"
#include <string.h>

/* The border has at most HOPS cheap nodes in a row, and a part at most NODES_MAX nodes; weights of
   at least REFERRED bytes may be referred to. */
enum { HOPS = 2, NODES_MAX = 600, REFERRED = 1024 };
/* The role of a node in the part. CORE: it was asked for. OPERAND: it computes sizes, indices or
   constants that other nodes of the part need. */
typedef enum Role { OUTSIDE, CORE, BORDER, OPERAND } Role;

typedef struct FilePart {
    Model *m;
    Arena *a;
    Sizes sizes;
    const char **why;
    const double *seconds;     /* by node; NULL: times are not known */
    double border_seconds_max; /* seconds that a node of the border may take */
    Constants constants;
    /* The nodes that read a name are user[first[id]] .. user[first[id + 1] - 1]. */
    int *first, *user;
    uint32_t nname;
    int n; /* nodes of the part */
    /* By node: its role, and 1 + the number of hops that were left when it was included. */
    uint8_t *role, *hops_left_plus_1;
    uint8_t *taken; /* by NameId: it is an input or initializer of the part already */
    bool refer;     /* write references to weights of at least REFERRED bytes */
    int nblob;
    Blob *blob;
    Pieces graph;
} FilePart;

static bool part_refused(FilePart *p, const char *why) { return *p->why = why, false; }

static void find_users(FilePart *p) {
    Model *m = p->m;
    p->nname = intern_count(m->name_numbers) + 1;
    p->first = ARENA_NEW(p->a, int, p->nname + 1);
    int total = 0;
    for (int i = 0; i < m->nnode; i++)
        for (int k = 0; k < node_input_count(&m->node[i]); k++, total++)
            p->first[node_input(&m->node[i], k) + 1]++;
    for (uint32_t id = 0; id < p->nname; id++) p->first[id + 1] += p->first[id];
    p->user = ARENA_NEW(p->a, int, total);
    int *next = arena_copy(p->a, p->first, sizeof *next * p->nname);
    for (int i = 0; i < m->nnode; i++)
        for (int k = 0; k < node_input_count(&m->node[i]); k++)
            p->user[next[node_input(&m->node[i], k)]++] = i;
}

/* ---- the border */

static const Type *name_type(const FilePart *p, NameId id) {
    const Value v = p->m->name[id].value;
    return v ? value_type(p->m->w, v) : NULL;
}

/* Whether a value depends on constants only. It may also be a constant that is not in the graph,
   because the importer made an attribute of it. */
static bool is_part_constant(const FilePart *p, Value v) {
    return constant_blob(p->m->w, v) || constants_hold(&p->constants, v);
}

/* Whether a name is quantized data, that is, integers of few bits. Constants do not count as
   data. */
static bool is_quantized(const FilePart *p, NameId id) {
    enum { WIDEST = 16 };
    const Type *t = name_type(p, id);
    return t && dtype_is_integer(t->dtype) && dtype_bits(t->dtype) <= WIDEST &&
           !is_part_constant(p, p->m->name[id].value);
}

/* Whether a name is not data that flows through the graph: sizes, indices, masks, and what depends
   on constants only. */
static bool is_operand(const FilePart *p, NameId id) {
    const Type *t = name_type(p, id);
    return !t || (dtype_class(t->dtype) != 'F' && !is_quantized(p, id)) ||
           is_part_constant(p, p->m->name[id].value);
}

/* Whether a node makes data of quantized data, or the reverse. */
static bool dequantizes(const FilePart *p, int i) {
    const OnnxNode *n = &p->m->node[i];
    return n->x.nin && is_quantized(p, n->in[0]) && n->x.nout && !is_quantized(p, n->out[0]);
}
static bool quantizes(const FilePart *p, int i) {
    const OnnxNode *n = &p->m->node[i];
    return n->x.nin && !is_quantized(p, n->in[0]) && n->x.nout && is_quantized(p, n->out[0]);
}

static bool is_costly(const FilePart *p, int i) {
    World *w = p->m->w;
    const OnnxNode *n = &p->m->node[i];
    const Value v = n->x.nout ? p->m->name[n->out[0]].value : 0;
    if (!v) return true;
    const Node node = node_get(w, value_node(w, v));
    if (!op_algebraic(node.op) || !node.nin) return true;
    const SigKind s = sig_kind(w, node.sig, value_port(w, v));
    return s != SIG_VIEW && s != SIG_RESHAPE && s != SIG_ELEMENTWISE;
}

static bool include_makers(FilePart *p, int i, int hops);
static bool include_readers(FilePart *p, int i, int hops);

/* Includes a node and what it needs. Returns false if the part gets too many nodes, or needs one
   that cannot stand by itself. */
static bool include(FilePart *p, int i, Role role, int hops) {
    if (p->role[i] == OUTSIDE && ++p->n > NODES_MAX)
        return part_refused(p, "it needs too many nodes");
    if (index_has_subgraph(&p->m->node[i].x))
        return part_refused(p, "it needs a node with subgraphs");
    if (p->role[i] == OUTSIDE) p->role[i] = (uint8_t)role;
    else if (p->hops_left_plus_1[i] > hops) return true;
    p->hops_left_plus_1[i] = (uint8_t)(hops + 1);
    return include_makers(p, i, hops);
}

/* Whether a neighbour takes so much time that it would hide what it surrounds. */
static bool too_expensive(const FilePart *p, int i) {
    return p->seconds && p->seconds[i] > p->border_seconds_max;
}

/* Includes the nodes that a node reads from. With no hops left, these are only operands and, for a
   node of the part, the dequantization of its data. */
static bool include_makers(FilePart *p, int i, int hops) {
    const OnnxNode *n = &p->m->node[i];
    for (int k = 0; k < n->x.nin; k++) {
        const NameInfo *from = &p->m->name[n->in[k]];
        if (!n->in[k] || from->source != FROM_NODE || from->index < 0) continue;
        const int j = from->index;
        const bool converts = dequantizes(p, j) || (hops && quantizes(p, j));
        if (is_operand(p, n->in[k])) {
            if (!include(p, j, OPERAND, 0)) return false;
        } else if (p->role[i] != OPERAND && converts) {
            if (!include(p, j, BORDER, hops)) return false;
        } else if (hops && !too_expensive(p, j) && !index_has_subgraph(&p->m->node[j].x) &&
                   !include(p, j, BORDER, is_costly(p, j) ? 0 : hops - 1))
            return false;
    }
    return true;
}

/* Includes the nodes that read a node's results. With no hops left, these are only
   quantizations. */
static bool include_readers(FilePart *p, int i, int hops) {
    const OnnxNode *n = &p->m->node[i];
    for (int k = 0; k < n->x.nout; k++)
        for (int j = p->first[n->out[k]]; n->out[k] && j < p->first[n->out[k] + 1]; j++) {
            const int to = p->user[j];
            const bool converts = quantizes(p, to) || (hops && dequantizes(p, to));
            if (is_operand(p, n->out[k]) || index_has_subgraph(&p->m->node[to].x) ||
                p->role[to] == CORE || (!converts && (!hops || too_expensive(p, to))))
                continue;
            const int left = converts ? hops : is_costly(p, to) ? 0 : hops - 1;
            if (!include(p, to, BORDER, 0) || !include_readers(p, to, left)) return false;
        }
    return true;
}

static bool surround(FilePart *p, const bool core[]) {
    for (int i = 0; i < p->m->nnode; i++)
        if (core[i]) p->role[i] = CORE, p->n++;
    for (int i = 0; i < p->m->nnode; i++)
        if (core[i] && (!include(p, i, CORE, HOPS) || !include_readers(p, i, HOPS))) return false;
    return true;
}

/* ---- writing */

static bool put_value(FilePart *p, uint32_t number, NameId id) {
    const Type *t = name_type(p, id);
    int64_t dim[RANK_MAX];
    Text info = text_new(p->a);
    bool known = t && t->known && dtype_bits(t->dtype) > 0;
    for (int k = 0; known && k < t->dim.n; k++)
        known = poly_eval(p->m->w, t->dim.v[k], p->sizes, &dim[k]) && dim[k] > 0;
    if (!known) return part_refused(p, "sizes at its border are not known");
    value_info_put(p->a, &info, p->m->name[id].text, t->dtype, t->dim.n, dim, NULL);
    wire_put_slice(&p->graph, number, info.data, info.size);
    return true;
}

/* Writes an initializer as it stands in the file; if its elements are in another file, with these
   elements; for a large weight of a part with references, as a reference. */
static bool put_initializer(FilePart *p, NameId id) {
    Model *m = p->m;
    const NameInfo *name = &m->name[id];
    const Blob blob = constant_blob(m->w, name->value);
    Type t;
    size_t n;
    int64_t dim[RANK_MAX], count = 0;
    const void *bytes = blob_get(m->w, blob, &n);
    const bool refers = p->refer && n >= REFERRED;
    if (!refers && name->index >= 0 && !m->external) {
        const Slice s = m->x.g.initializer.v[name->index];
        return wire_put_slice(&p->graph, GRAPH_INITIALIZER, s.at, s.n), true;
    }
    if (!constant_get(m->w, name->value, &t, NULL) ||
        !poly_constant(m->w, type_count(m->w, &t), &count))
        return part_refused(p, "it needs an initializer that is not a constant");
    for (int k = 0; k < t.dim.n; k++) poly_constant(m->w, t.dim.v[k], &dim[k]);
    Text head = text_new(p->a);
    Pieces message = pieces_new(p->a);
    tensor_put(&head, name->text, &t, dim, NULL, n);
    if (refers) tensor_put_external(p->a, &head, EXTERNAL_BLOB, (size_t)p->nblob, n);
    else tensor_put_length(&head, n);
    pieces_add(&message, head.data, head.size);
    if (refers) ARENA_APPEND(p->a, p->blob, p->nblob, blob);
    else pieces_add(&message, bytes, n);
    wire_put_pieces(&p->graph, GRAPH_INITIALIZER, &message);
    return true;
}

static bool put_source(FilePart *p, NameId id) {
    const NameInfo *from = &p->m->name[id];
    const bool inside =
        from->source == FROM_NODE && from->index >= 0 && p->role[from->index] != OUTSIDE;
    if (!id || inside || p->taken[id]) return true;
    p->taken[id] = true;
    if (from->source == FROM_INITIALIZER) return put_initializer(p, id);
    return from->source == FROM_SPARSE ? part_refused(p, "it needs a sparse initializer")
                                       : put_value(p, GRAPH_INPUT, id);
}

static bool read_outside(const FilePart *p, NameId id) {
    const Model *m = p->m;
    bool any = false;
    for (int k = 0; k < m->graph.nout; k++) any |= m->output[k] == id;
    for (int j = p->first[id]; j < p->first[id + 1]; j++) any |= p->role[p->user[j]] == OUTSIDE;
    return any;
}

/* Writes the results that become outputs; those of nodes that are only operands do not. */
static bool put_results(FilePart *p, int i, int *nout) {
    const OnnxNode *n = &p->m->node[i];
    for (int k = 0; k < n->x.nout && p->role[i] != OPERAND; k++) {
        if (!n->out[k] || !read_outside(p, n->out[k])) continue;
        if (!put_value(p, GRAPH_OUTPUT, n->out[k])) return false;
        ++*nout;
    }
    return true;
}

static bool part_graph(FilePart *p) {
    const Model *m = p->m;
    int nout = 0;
    for (int i = 0; i < m->nnode; i++)
        if (p->role[i] != OUTSIDE)
            wire_put_slice(&p->graph, GRAPH_NODE, m->node[i].x.whole.at, m->node[i].x.whole.n);
    wire_put_slice(&p->graph, GRAPH_NAME, "part", 4);
    for (int i = 0; i < m->nnode; i++) {
        if (p->role[i] == OUTSIDE) continue;
        for (int k = 0; k < m->node[i].x.nin; k++)
            if (!put_source(p, m->node[i].in[k])) return false;
        if (!put_results(p, i, &nout)) return false;
    }
    return nout || part_refused(p, "nothing reads its results");
}

void model_around(const Model *m, Arena *a, const Pieces *graph, Pieces *file) {
    const FileIndex *x = &m->x;
    Text head = text_new(a);
    wire_put_int(
        &head, MODEL_IR_VERSION,
        (uint64_t)(x->ir_version < IR_FREE_INITIALIZERS ? IR_FREE_INITIALIZERS : x->ir_version));
    *file = pieces_new(a);
    pieces_add(file, head.data, head.size);
    for (int k = 0; k < x->nopset; k++)
        index_put_opset(a, x->opset[k].domain, x->opset[k].version, file);
    wire_put_pieces(file, MODEL_GRAPH, graph);
    for (int k = 0; k < x->function.n; k++)
        wire_put_slice(file, MODEL_FUNCTIONS, x->function.v[k].at, x->function.v[k].n);
}

bool model_part(Model *m, Arena *a, Sizes sizes, const bool core[], PartBorder border, bool refer,
                ModelPart *out, const char **why) {
    FilePart p = {.m = m, .a = a, .sizes = sizes, .why = why, .refer = refer};
    p.seconds = border.seconds, p.border_seconds_max = border.most;
    *why = NULL;
    p.constants = constants_find(m->w, a, &m->graph, NULL, NULL);
    p.role = ARENA_NEW(a, uint8_t, m->nnode);
    p.hops_left_plus_1 = ARENA_NEW(a, uint8_t, m->nnode);
    p.graph = pieces_new(a);
    find_users(&p);
    p.taken = ARENA_NEW(a, uint8_t, p.nname);
    if (!surround(&p, core) || !part_graph(&p)) return false;
    *out = (ModelPart){.node = ARENA_NEW(a, int, p.n), .nblob = p.nblob, .blob = p.blob};
    model_around(m, a, &p.graph, &out->file);
    for (int i = 0; i < m->nnode; i++)
        if (p.role[i] != OUTSIDE) out->node[out->n++] = i;
    return out->n > 0;
}
