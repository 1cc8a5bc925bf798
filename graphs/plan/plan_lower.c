/* plan_lower.c -- turns a graph into steps over slots. Scheduling replaces composites by their
   expansions; lowering then gives each node, in order, views or steps.

   Every value has a view of some slot. A node that only looks at its input differently (transpose,
   slice, broadcast, reshape of a dense value) gives a view and no step. Any other node writes each
   result into a slot of its own, or directly into a part of a later result. For this, lowering may
   run twice: if the first run shows that a result consists only of copies of whole values (a
   concat), the second run lets the producers of these values write there. The copy of a part onto
   itself that remains is dropped. A graph output is written to its own slot, unless it is an input,
   a view or a constant, which is copied there at the end. */
#include "graphs/plan/plan_inner.h"
#include "ops/core/element.h"
#include "graphs/rewrite.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct Task {
    /* origin: the node of the graph that it is, or of whose expansion it is a part. */
    NodeId node, origin;
} Task;
typedef struct Home { /* the place where a value is written */
    Value owner; /* the value of which it is a part; 0: none, the value has a slot of its own */
    int64_t start[STEP_RANK], size[STEP_RANK]; /* its first index in the owner, and its sizes there,
                                                  which may have other axes of size 1 */
} Home;
typedef struct Lowering {
    PlanBuild *b;
    const Graph *graph;
    int ntask, room;
    Task *task;
    Arena *scratch;
    uint32_t nvalue;    /* length of the next two arrays, which are indexed by value */
    Value *expanded_to; /* for a composite's result: the value that its expansion gives; else 0 */
    int *row_of;        /* the value's row; 0: not scheduled */
    int nrow;           /* the following arrays are indexed by row */
    View *view;         /* slot < 0: not lowered yet */
    Home *home;
    int *output; /* 1 + index of the graph output that it is; 0: none */
    bool *read;  /* it is read by a node, or is an output */
} Lowering;

static bool plan_fail(PlanBuild *b, ErrorKind kind, const char *reason) {
    char place[96];
    snprintf(place, sizeof place, "%s (value %u)", node_get(b->w, b->at).op->name, b->at);
    return error_set(b->error, kind, place, "%s", reason);
}

/* ---- schedule */

/* Whether a composite must be expanded. One that has steps of its own keeps them for 16-bit floats,
   which its expansion would round between its nodes. */
static bool must_expand(World *w, const Node *n) {
    const Type *x = n->nin && n->in[0] ? value_type(w, n->in[0]) : NULL;
    const bool half = x && dtype_class(x->dtype) == 'F' && dtype_bits(x->dtype) == 16;
    return n->op->expand && !n->op->define && !(n->op->steps && half);
}

/* Extends the arrays indexed by value, since an expansion makes new nodes. */
static void reach_values(Lowering *l) {
    uint32_t n = value_last(l->b->w) + 1;
    if (n <= l->nvalue) return;
    n += n / 2;
    Value *same = ARENA_NEW(l->scratch, Value, n);
    int *index = ARENA_NEW(l->scratch, int, n);
    if (l->nvalue)
        memcpy(same, l->expanded_to, l->nvalue * sizeof *same),
            memcpy(index, l->row_of, l->nvalue * sizeof *index);
    l->expanded_to = same;
    l->row_of = index;
    l->nvalue = n;
}

static void add_task(Lowering *l, NodeId node, NodeId origin) {
    for (int port = 0; port < node_get(l->b->w, node).nout; port++)
        l->row_of[node + (Value)port] = ++l->nrow;
    ARENA_GROW(l->scratch, l->task, l->room, l->ntask + 1);
    l->task[l->ntask++] = (Task){node, origin};
}

static Value resolve_value(const Lowering *l, Value v) {
    while (v < l->nvalue && l->expanded_to[v]) v = l->expanded_to[v];
    return v;
}

static View *view_of(const Lowering *l, Value v) { return &l->view[l->row_of[v]]; }
static Home *home_of(const Lowering *l, Value v) { return &l->home[l->row_of[v]]; }

static bool schedule(Lowering *l, const Graph *g, NodeId origin) {
    NodeList live = graph_live(l->b->w, l->scratch, g);
    for (int k = 0; k < live.n; k++) {
        Node n = node_get(l->b->w, live.v[k]);
        l->b->at = origin ? origin : n.out;
        if (l->row_of[n.out] || l->expanded_to[n.out]) continue;
        if (!must_expand(l->b->w, &n)) {
            add_task(l, n.out, l->b->at);
            continue;
        }
        Value *out = ARENA_NEW(l->scratch, Value, n.nout);
        if (!node_expand(l->b->w, l->scratch, n.out, out, l->b->error)) return false;
        reach_values(l);
        if (!schedule(l, &(Graph){n.nin, n.nout, n.in, out}, l->b->at)) return false;
        for (int port = 0; port < n.nout; port++) l->expanded_to[n.out + (Value)port] = out[port];
    }
    return true;
}

/* ---- slots */

/* Sets *out to the view of a value as a dense tensor in slot 0. */
static bool dense_view(PlanBuild *b, Value v, View *out) {
    const Type *t = value_type(b->w, v);
    int64_t dim[STEP_RANK], count = 1;
    if (!t->known) return plan_fail(b, E_INVALID, "the rank of its result is not known");
    for (int k = 0; k < t->dim.n; k++) {
        if (!poly_eval(b->w, t->dim.v[k], b->sizes, &dim[k]))
            return plan_fail(b, E_INVALID, "a size of its result has no value");
        if (dim[k] < 0) return plan_fail(b, E_INVALID, "a size of its result is negative");
        if (!elements_multiply(&count, dim[k] ? dim[k] : 1))
            return plan_fail(b, E_LIMIT, "its result is too large");
    }
    if (!dtype_bits(t->dtype))
        return plan_fail(b, E_INVALID, "elements of this type cannot be computed with");
    *out = view_dense(0, (int32_t)t->dtype, t->dim.n, dim);
    return true;
}

static int64_t view_bytes(const View *v) {
    return (int64_t)element_bytes((DType)v->dtype, view_count(v));
}

/* Turns the dense view of a value into the part of the owner's view that it takes, with the value's
   own axes. False: a value of other axes would have to fit into a view with gaps. */
static bool home_part(const Home *h, View part, View *own) {
    for (int k = 0; k < part.rank; k++) part = view_part(&part, k, h->start[k], h->size[k]);
    const View narrow = view_narrow(&part), dense = view_narrow(own);
    const bool same = narrow.rank == dense.rank &&
                      !memcmp(narrow.dim, dense.dim, (size_t)dense.rank * sizeof *dense.dim);
    if (!same && !view_gapless(&part)) return false;
    for (int k = 0, at = 0; same && k < own->rank; k++)
        own->stride[k] = own->dim[k] == 1 ? 0 : narrow.stride[at++];
    own->slot = part.slot, own->offset = part.offset;
    return true;
}

/* Sets *out to the place where a value is written: its own slot, or its part of the value that owns
   it, which gets a slot now if it has none. */
static bool place_value(Lowering *l, Value v, View *out) {
    const Home *h = home_of(l, v);
    if (view_of(l, v)->slot >= 0) {
        *out = *view_of(l, v);
        return true;
    }
    if (!dense_view(l->b, v, out)) return false;
    View owner;
    if (h->owner && !place_value(l, h->owner, &owner)) return false;
    if (!h->owner || !home_part(h, owner, out)) {
        out->slot =
            plan_slot(l->b, (Slot){view_bytes(out), v, NULL, -1, l->output[l->row_of[v]] - 1, -1});
    }
    *view_of(l, v) = *out;
    return true;
}

static bool place_inputs(Lowering *l) {
    Plan *p = l->b->plan;
    View *in = ARENA_NEW(l->b->arena, View, l->graph->nin);
    for (int k = 0; k < l->graph->nin; k++) {
        Value v = l->graph->in[k];
        l->b->at = value_node(l->b->w, v);
        if (!dense_view(l->b, v, &in[k])) return false;
        in[k].slot = plan_slot(l->b, (Slot){view_bytes(&in[k]), v, NULL, k, -1, -1});
        *view_of(l, v) = in[k];
    }
    p->nin = l->graph->nin;
    p->in = in;
    return true;
}

static bool place_constant(Lowering *l, Value v, const void *bytes) {
    View view;
    if (!dense_view(l->b, v, &view)) return false;
    view.slot = plan_slot(l->b, (Slot){view_bytes(&view), v, bytes, -1, -1, -1});
    *view_of(l, v) = view;
    return true;
}

/* ---- steps */

static void add_step(PlanBuild *b, const Step *s, NodeId node) {
    Plan *p = b->plan;
    if (s->kind == S_COPY && view_same(&s->view[0], &s->view[1])) return;
    ARENA_GROW(b->arena, p->step, b->room_steps, p->nstep + 1);
    p->step[p->nstep++] = (PlanStep){.step = *s, .node = node};
}

static bool lower_to_views(Lowering *l, const Node *n, const View in[], const View out[]) {
    View *seen = ARENA_NEW(l->scratch, View, n->nout);
    for (int port = 0; port < n->nout; port++)
        if (!sig_lower_view(l->b->w, n->sig, port, l->b->sizes, in, &out[port], &seen[port]))
            return false;
    memcpy(view_of(l, n->out), seen, (size_t)n->nout * sizeof *seen);
    return true;
}

static bool target_runs(void *build, const Step *s) {
    const OpenDevice *d = ((PlanBuild *)build)->device;
    return d->backend->choices(d->device, s) > 0;
}
static const void *target_known(void *build, int slot) {
    return slot < 0 ? NULL : ((PlanBuild *)build)->plan->slot[slot].data;
}

static bool lower_to_steps(Lowering *l, const Node *n, const View in[], View out[]) {
    StepBuf steps = stepbuf_new(l->b->w, l->b->sizes, l->b->arena);
    const StepTarget target = {target_runs, target_known, l->b};
    if (l->b->device) steps.target = &target;
    for (int port = 0; port < n->nout && port < 64; port++)
        if (!l->read[l->row_of[n->out + (Value)port]]) steps.unread |= (uint64_t)1 << port;
    for (int port = 0; port < n->nout; port++)
        if (!place_value(l, n->out + (Value)port, &out[port])) return false;
    steps.first_buffer = l->b->plan->nslot;
    if (!sig_lower(&steps, n->sig, in, out))
        return plan_fail(l->b, E_INVALID, steps.failure ? steps.failure : "it cannot be computed");
    for (int k = 0; k < steps.nbuffers; k++)
        plan_slot(l->b, (Slot){view_bytes(&steps.buffers[k]), n->out, NULL, -1, -1, -1});
    for (int k = 0; k < steps.n; k++) add_step(l->b, &steps.v[k], n->out);
    return true;
}

/* Whether the sizes are what the node requires of them. Kernels rely on that. */
static bool sizes_fit(Lowering *l, const Node *n) {
    World *w = l->b->w;
    const SigInfo *s = sig_info(w, n->sig);
    for (int k = 0; k < s->nneed; k++) {
        if (lit_at(w, s->need[k], l->b->sizes)) continue;
        Text t = text_new(l->b->arena);
        text_add(&t, "it requires ");
        lit_print(w, s->need[k], &t);
        return plan_fail(l->b, E_INVALID, t.data);
    }
    return true;
}

static bool lower_node(Lowering *l, NodeId id) {
    Node n = node_get(l->b->w, id);
    const void *bytes;
    if (constant_get(l->b->w, id, NULL, &bytes)) return place_constant(l, id, bytes);
    if (input_name(l->b->w, id))
        return view_of(l, id)->slot >= 0 ||
               plan_fail(l->b, E_INVALID, "it is not among the graph's inputs");
    View *in = ARENA_NEW(l->scratch, View, n.nin), *out = ARENA_NEW(l->scratch, View, n.nout);
    for (int k = 0; k < n.nin; k++)
        if (n.in[k] && !l->row_of[resolve_value(l, n.in[k])])
            return plan_fail(
                l->b, E_INVALID,
                "another result of the node that computes its operand is an input of the graph");
    for (int k = 0; k < n.nin; k++)
        in[k] = n.in[k] ? *view_of(l, resolve_value(l, n.in[k])) : (View){.slot = -1, .rank = -1};
    for (int port = 0; port < n.nout; port++)
        if (!dense_view(l->b, n.out + (Value)port, &out[port])) return false;
    return sizes_fit(l, &n) && (lower_to_views(l, &n, in, out) || lower_to_steps(l, &n, in, out));
}

/* ---- outputs */

static bool finish_outputs(Lowering *l) {
    const Graph *g = l->graph;
    View *out = ARENA_NEW(l->b->arena, View, g->nout);
    for (int k = 0; k < g->nout; k++) {
        Value v = resolve_value(l, g->out[k]);
        View from = *view_of(l, v), to = from;
        l->b->at = value_node(l->b->w, g->out[k]);
        if (l->b->plan->slot[from.slot].output != k || l->b->plan->slot[from.slot].value != v) {
            if (!dense_view(l->b, v, &to)) return false;
            to.slot = plan_slot(l->b, (Slot){view_bytes(&to), v, NULL, -1, k, -1});
            add_step(l->b,
                     &(Step){.kind = S_COPY,
                             .nview = 2,
                             .view = arena_copy(l->b->arena, (View[]){to, from}, 2 * sizeof from)},
                     value_node(l->b->w, v));
        }
        out[k] = to;
    }
    l->b->plan->nout = g->nout;
    l->b->plan->out = out;
    return true;
}

static bool lower_all(Lowering *l) {
    *l->b->plan = (Plan){.arena = l->b->arena};
    l->b->room_slots = l->b->room_steps = 0;
    for (int row = 0; row <= l->nrow; row++) l->view[row].slot = -1;
    if (!place_inputs(l)) return false;
    for (int k = 0; k < l->ntask; k++) {
        l->b->at = l->task[k].origin;
        if (!lower_node(l, l->task[k].node)) return false;
    }
    return finish_outputs(l);
}

/* ---- results made of copies alone */

/* Finds the first index in the dense tensor y of the part that a view covers. Returns false if the
   view is not a block along y's axes. */
static bool part_start(const View *part, const View *y, int64_t start[]) {
    int64_t rest = part->offset - y->offset;
    if (part->rank != y->rank) return false;
    for (int k = 0; k < y->rank; k++) {
        if (part->dim[k] != 1 && part->stride[k] != y->stride[k]) return false;
        start[k] = y->stride[k] ? rest / y->stride[k] : 0;
        rest -= start[k] * y->stride[k];
        if (start[k] < 0 || start[k] + part->dim[k] > y->dim[k]) return false;
    }
    return rest == 0;
}

/* Whether the steps from..to-1 of one node only copy parts into its result y and cover all of
   it. */
static bool only_copies(const Plan *p, int from, int to, const View *y) {
    int64_t count = 0;
    for (int k = from; k < to; k++) {
        const Step *s = &p->step[k].step;
        if (s->kind != S_COPY || s->view[0].slot != y->slot) return false;
        count += view_count(&s->view[0]);
    }
    return count == view_count(y);
}

/* Whether two views have the same elements in the same order, but for axes of size 1. */
static bool same_but_for_ones(const View *a, const View *b) {
    const View x = view_narrow(a), y = view_narrow(b);
    return view_same(&x, &y);
}
/* whole: the copy makes all of the result. */
static bool movable(const Lowering *l, Value x, const View *from, const View *to, bool whole) {
    const Slot *slot = &l->b->plan->slot[from->slot];
    return !slot->data && slot->input < 0 && slot->output < 0 && !home_of(l, x)->owner &&
           from->dtype == to->dtype && view_gapless(from) && slot->bytes == view_bytes(from) &&
           (same_but_for_ones(from, view_of(l, x)) || (whole && view_gapless(view_of(l, x))));
}

static bool find_homes(Lowering *l) {
    const Plan *p = l->b->plan;
    bool any = false;
    for (int k = 0, end; k < p->nstep; k = end) {
        const View y = *view_of(l, p->step[k].node);
        for (end = k + 1; end < p->nstep && p->step[end].node == p->step[k].node; end++) {}
        if (p->slot[y.slot].value != p->step[k].node || !only_copies(p, k, end, &y)) continue;
        for (int j = k; j < end; j++) {
            const View *v = p->step[j].step.view;
            Value x = p->slot[v[1].slot].value;
            Home h = {.owner = p->step[k].node};
            if (!movable(l, x, &v[1], &v[0], view_count(&v[0]) == view_count(&y)) ||
                !part_start(&v[0], &y, h.start))
                continue;
            memcpy(h.size, v[0].dim, sizeof h.size);
            *home_of(l, x) = h;
            any = true;
        }
    }
    return any;
}

/* ---- the whole graph */

static bool prepare_values(Lowering *l) {
    reach_values(l);
    for (int k = 0; k < l->graph->nin; k++) l->row_of[l->graph->in[k]] = ++l->nrow;
    if (!schedule(l, l->graph, 0)) return false;
    l->view = ARENA_NEW(l->scratch, View, l->nrow + 1);
    l->home = ARENA_NEW(l->scratch, Home, l->nrow + 1);
    l->output = ARENA_NEW(l->scratch, int, l->nrow + 1);
    l->read = ARENA_NEW(l->scratch, bool, l->nrow + 1);
    for (int k = l->graph->nout; k-- > 0;) {
        const int row = l->row_of[resolve_value(l, l->graph->out[k])];
        l->output[row] = k + 1, l->read[row] = true;
    }
    for (int k = 0; k < l->ntask; k++) {
        const Node n = node_get(l->b->w, l->task[k].node);
        for (int j = 0; j < n.nin; j++)
            if (n.in[j]) l->read[l->row_of[resolve_value(l, n.in[j])]] = true;
    }
    return true;
}

bool plan_lower(PlanBuild *b, const Graph *g) {
    Lowering l = {.b = b, .graph = g, .scratch = b->w->scratch};
    return prepare_values(&l) && lower_all(&l) && (!find_homes(&l) || lower_all(&l));
}
