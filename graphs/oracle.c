/* oracle.c -- is the reference executor. It expands composites and then computes every live node in
   order, each result into a buffer of its own in the World's scratch arena. */
#include "graphs/oracle.h"
#include "graphs/rewrite.h"
#include "ops/base/random.h"
#include "ops/core/element.h"
#include "ops/core/loop.h"
#include <stdio.h>
#include <string.h>

typedef struct Buffer {
    View view; /* dense, in slot 0 */
    void *data;
} Buffer;
typedef struct Oracle {
    World *w;
    Arena *arena;
    Sizes sizes;
    bool wide;
    const OracleNoise *noise; /* NULL: none */
    NodeList live;            /* live nodes, and those whose results are inputs of the graph */
    int *first;     /* by live node: index of its first result's buffer; other results follow */
    Buffer *buffer; /* one for each result of a live node; a World may hold many more values */
    Error *error;
} Oracle;

/* The buffer of a result of a live node; NULL for any other value. */
static Buffer *buffer_of(const Oracle *o, Value v) {
    const NodeId node = value_node(o->w, v);
    const int at = nodes_find(o->live, node);
    return at < 0 ? NULL : &o->buffer[o->first[at] + (int)(v - node)];
}

static void buffers_new(Oracle *o) {
    int n = 0;
    o->first = ARENA_NEW(o->arena, int, o->live.n);
    for (int k = 0; k < o->live.n; k++) {
        o->first[k] = n;
        n += node_get(o->w, o->live.v[k]).nout;
    }
    o->buffer = ARENA_NEW(o->arena, Buffer, n);
}

bool oracle_dims(World *w, const Type *t, Sizes sizes, int64_t dim[], int64_t *count) {
    *count = 1;
    for (int k = 0; k < t->dim.n; k++) {
        if (!poly_eval(w, t->dim.v[k], sizes, &dim[k]) || dim[k] < 0) return false;
        if (__builtin_mul_overflow(*count, dim[k], count) || *count > (int64_t)1 << 40)
            return false;
    }
    return t->known;
}

static bool oracle_fail(const Oracle *o, NodeId id, const char *reason) {
    char place[96];
    snprintf(place, sizeof place, "%s (value %u)", node_get(o->w, id).op->name, id);
    return error_set(o->error, E_INVALID, place, "%s", reason);
}

static DType kept_as(const Oracle *o, DType t) {
    return o->wide && dtype_class(t) == 'F' ? DT_DOUBLE : t;
}

static bool buffer_new(Oracle *o, Value v, Buffer *b) {
    const Type *t = value_type(o->w, v);
    int64_t dim[RANK_MAX], count;
    if (!oracle_dims(o->w, t, o->sizes, dim, &count))
        return oracle_fail(o, value_node(o->w, v),
                           "a size of its result has no value, or is too large");
    if (!element_readable(t->dtype))
        return oracle_fail(o, value_node(o->w, v), "elements of this type cannot be computed with");
    DType kept = kept_as(o, t->dtype);
    *b = (Buffer){view_dense(0, (int32_t)kept, t->dim.n, dim), NULL};
    return true;
}

static bool take_bytes(Oracle *o, Value v, const void *bytes) {
    Buffer *b = buffer_of(o, v);
    DType given = value_type(o->w, v)->dtype, kept = kept_as(o, given);
    if (!buffer_new(o, v, b)) return false;
    int64_t n = view_count(&b->view);
    if (given == kept) {
        b->data = (void *)(uintptr_t)bytes; /* only read */
        return true;
    }
    b->data = arena_alloc_raw(o->arena, element_bytes(kept, n));
    for (int64_t k = 0; k < n; k++)
        element_set_real(kept, b->data, k, element_real(given, bytes, k));
    return true;
}

/* Fills in view[k] and slot[k] for a value; the rank is -1 for an omitted input. */
static void take_view(Oracle *o, Value v, int k, View *view, void **slot) {
    const Buffer *b = v ? buffer_of(o, v) : NULL;
    if (b) view[k] = b->view, slot[k] = b->data;
    else view[k].rank = -1;
    view[k].slot = k;
}

static bool run_loop(Oracle *o, const Node *n, int port, Ex define) {
    View *view = ARENA_NEW(o->arena, View, n->nin + 1);
    void **slot = ARENA_NEW(o->arena, void *, n->nin + 1);
    LoopProgram p;
    for (int k = 0; k <= n->nin; k++)
        take_view(o, k ? n->in[k - 1] : n->out + (Value)port, k, view, slot);
    if (!loop_compile(&(LoopSource){.w = o->w,
                                    .define = define,
                                    .sizes = o->sizes,
                                    .rank = view[0].rank,
                                    .dim = view[0].dim},
                      o->arena, &p, o->error))
        return false;
    Loop *l = loop_new(p, n->nin + 1, view, &numbers_real, o->error);
    if (!l) return false;
    loop_run(l, slot, NULL);
    loop_free(l);
    return true;
}

static bool run_kernel(Oracle *o, const Node *n) {
    int total = n->nin + n->nout;
    View *view = ARENA_NEW(o->arena, View, total); /* results, then inputs */
    void **slot = ARENA_NEW(o->arena, void *, total);
    StepBuf steps = stepbuf_new(o->w, o->sizes, o->arena);
    for (int k = 0; k < total; k++)
        take_view(o, k < n->nout ? n->out + (Value)k : n->in[k - n->nout], k, view, slot);
    if (!(n->op->kernel ? sig_lower_kernel : sig_lower)(&steps, n->sig, view + n->nout, view))
        return oracle_fail(o, n->out, steps.failure ? steps.failure : "it cannot be computed");
    for (int k = 0; k < steps.n; k++) {
        OpKernel kernel = steps.v[k].kind == S_OP ? op_kernel(steps.v[k].op) : NULL;
        if (!kernel)
            return oracle_fail(o, n->out, "it has neither a definition nor a reference kernel");
        if (kernel(&steps.v[k], slot)) return oracle_fail(o, n->out, "its reference kernel failed");
    }
    return true;
}

/* Moves each element of a value up or down by between half a roundoff and a whole one. */
static void disturb(Oracle *o, Value v, double roundoff) {
    Buffer *b = buffer_of(o, v);
    Random r = {random_at(o->noise->seed, v), 0};
    const int64_t n = view_count(&b->view);
    /* b->data may be read-only. */
    double *moved = arena_alloc_raw(o->arena, element_bytes(DT_DOUBLE, n));
    for (int64_t k = 0; k < n; k++) {
        const double by = (0.5 + 0.5 * random_unit(&r)) * roundoff;
        moved[k] = ((const double *)b->data)[k] * (1 + (random_next(&r) & 1 ? by : -by));
    }
    b->data = moved;
}

static void disturb_node(Oracle *o, const Node *n) {
    const OracleNoise *x = o->noise;
    for (int port = 0; x && port < n->nout; port++) {
        const Value v = n->out + (Value)port;
        const DType t = value_type(o->w, v)->dtype;
        if (dtype_class(t) != 'F' || input_name(o->w, v)) continue;
        if (v < x->nrounded && x->rounded[v]) disturb(o, v, dtype_roundoff(t));
        else if (!constant_get(o->w, v, NULL, NULL))
            disturb(o, v, dtype_roundoff(x->own_type ? t : DT_DOUBLE));
    }
}

static bool oracle_node(Oracle *o, NodeId id) {
    Node n = node_get(o->w, id);
    const void *bytes;
    if (constant_get(o->w, id, NULL, &bytes)) return take_bytes(o, id, bytes);
    if (input_name(o->w, id))
        return buffer_of(o, id)->data || oracle_fail(o, id, "it is not among the graph's inputs");
    for (int port = 0; port < n.nout; port++) {
        Buffer *b = buffer_of(o, n.out + (Value)port);
        if (!buffer_new(o, n.out + (Value)port, b)) return false;
        b->data = arena_alloc(o->arena, element_bytes((DType)b->view.dtype, view_count(&b->view)));
    }
    for (int port = 0; port < n.nout; port++) {
        Ex define = sig_define_numbers(o->w, n.sig, port);
        if (!define) return run_kernel(o, &n);
        if (!run_loop(o, &n, port, define)) return false;
    }
    return true;
}

/* The computed nodes and those whose results are inputs of the graph, ascending. */
static NodeList with_inputs(const Oracle *o, const Graph *g, NodeList computed) {
    NodeList all = {computed.n, ARENA_NEW(o->arena, NodeId, computed.n + g->nin)};
    for (int k = 0; k < computed.n; k++) all.v[k] = computed.v[k];
    for (int k = 0; k < g->nin; k++) {
        const NodeId id = value_node(o->w, g->in[k]);
        bool there = nodes_find(computed, id) >= 0 || input_name(o->w, g->in[k]);
        for (int j = computed.n; j < all.n; j++) there |= all.v[j] == id;
        if (!there) all.v[all.n++] = id;
    }
    ids_sort(all.n, all.v);
    return all;
}

static bool run_all(Oracle *o, const Graph *given, const void *const in[], void *const out[]) {
    Graph g;
    if (!graph_expand(o->w, o->arena, given, &g, NULL, o->error)) return false;
    const NodeList computed = graph_live(o->w, o->arena, &g);
    o->live = with_inputs(o, &g, computed);
    buffers_new(o);
    for (int k = 0; k < g.nin; k++) /* an input that nothing reads is not live */
        if (buffer_of(o, g.in[k]) && !take_bytes(o, g.in[k], in[k])) return false;
    for (int k = 0; k < computed.n; k++) {
        const Node n = node_get(o->w, computed.v[k]);
        if (!oracle_node(o, computed.v[k])) return false;
        disturb_node(o, &n);
    }
    for (int k = 0; k < g.nout; k++) {
        const Buffer *b = buffer_of(o, g.out[k]);
        memcpy(out[k], b->data, element_bytes((DType)b->view.dtype, view_count(&b->view)));
    }
    return true;
}

static bool run_graph(Oracle o, const Graph *g, const void *const in[], void *const out[]) {
    ArenaMark mark = arena_mark(o.w->scratch);
    o.arena = o.w->scratch;
    bool done = run_all(&o, g, in, out);
    arena_reset(o.w->scratch, mark);
    return done;
}

bool oracle_run(World *w, const Graph *g, Sizes sizes, bool wide, const void *const in[],
                void *const out[], Error *e) {
    return run_graph((Oracle){.w = w, .sizes = sizes, .wide = wide, .error = e}, g, in, out);
}

bool oracle_run_disturbed(World *w, const Graph *g, Sizes sizes, const OracleNoise *noise,
                          const void *const in[], void *const out[], Error *e) {
    return run_graph((Oracle){.w = w, .sizes = sizes, .wide = true, .noise = noise, .error = e}, g,
                     in, out);
}
