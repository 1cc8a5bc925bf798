/* run_model_count.c -- corrects sizes that depend on data. They are counted while the model is
   read, from values that a plan of their own computes. In the whole plan, other steps are fused, so
   rounding may decide otherwise there: for example, one more box is kept. Therefore the plan is run
   up to each step whose result was counted, and the model is read again with the values found
   there, until the sizes no longer change. */
#include "graphs/run_model.h"
#include "graphs/oracle.h"
#include "ops/backend/view.h"
#include "ops/core/element.h"
#include <stdlib.h>
#include <string.h>

static bool same_inputs(const Node *a, const Node *b) {
    return a->nin == b->nin && !memcmp(a->in, b->in, sizeof *a->in * (size_t)a->nin);
}

/* Whether the size of the node's result was counted: either by the same operator on the same inputs
   with another number of rows, or from one of its inputs. */
static bool was_counted(const ModelRun *r, NodeId node) {
    const Node n = node_get(r->w, node);
    for (int k = 0; k < stage_count(r->stage); k++) {
        const Value known = stage_known(r->stage, k);
        const NodeId other = value_node(r->w, known);
        const Node m = node_get(r->w, other);
        if (other != node && n.nin && m.op == n.op && same_inputs(&m, &n)) return true;
        for (int j = 0; j < n.nin; j++)
            if (n.in[j] == known && !input_name(r->w, known)) return true;
    }
    return false;
}

/* The step of a node: among the steps of its operator, the one with as many before it as the node
   has among the nodes of this operator; -1 if there is none. */
static int step_of(const ModelRun *r, NodeList live, NodeId node) {
    const Op *op = node_get(r->w, node).op;
    int before = 0;
    for (int k = 0; k < live.n && live.v[k] != node; k++)
        before += node_get(r->w, live.v[k]).op == op;
    for (int k = 0; k < r->plan->nstep; k++) {
        const PlanStep *s = &r->plan->step[k];
        if (s->step.kind != S_OP || strcmp(s->step.op, op->name) != 0 || before-- > 0) continue;
        return s->once ? -1 : k;
    }
    return -1;
}

static bool is_view_of(const ModelRun *r, const View *v, const Type *t) {
    int64_t dim[RANK_MAX], n;
    return v->dtype == (int32_t)t->dtype && oracle_dims(r->w, t, r->sizes, dim, &n) &&
           n == view_count(v);
}

typedef struct Counted { /* a node whose size was counted, and its step */
    NodeId node;
    int step;
} Counted;

static int by_step(const void *a, const void *b) {
    const int x = ((const Counted *)a)->step, y = ((const Counted *)b)->step;
    return (x > y) - (x < y);
}

static Counted *list_counted(const ModelRun *r, int *n) {
    const NodeList live = graph_live(r->w, r->arena, r->graph);
    Counted *list = ARENA_NEW(r->arena, Counted, live.n);
    *n = 0;
    for (int k = 0; k < live.n; k++) {
        const int step = was_counted(r, live.v[k]) ? step_of(r, live, live.v[k]) : -1;
        const bool reads =
            step >= 0 && r->plan->step[step].step.nview >= node_get(r->w, live.v[k]).nin;
        if (reads) list[(*n)++] = (Counted){live.v[k], step};
    }
    qsort(list, (size_t)*n, sizeof *list, by_step);
    return list;
}

/* Keeps the values that a step reads for the next reading of the model; all steps before it have
   run. Returns false if there are none that can be kept, or if the device fails. */
static bool keep_inputs(ModelRun *r, const Counted *c) {
    const Node n = node_get(r->w, c->node);
    const Step *s = &r->plan->step[c->step].step;
    bool any = false;
    for (int k = 0; k < n.nin; k++) {
        const View *v = &s->view[s->nview - n.nin + k];
        if (!n.in[k] || v->slot < 0 || !is_view_of(r, v, value_type(r->w, n.in[k]))) continue;
        const void *bytes = runner_read(r->runner, v, r->arena);
        if (!bytes) return false;
        ARENA_GROW(r->arena, r->found, r->found_room, r->nfound + 1);
        r->found[r->nfound++] = (FoundValue){n.in[k], bytes};
        any = true;
    }
    return any;
}

bool run_recount(ModelRun *r, bool *changed) {
    *changed = false;
    if (!r->staged) return true;
    const Graph *before = r->graph;
    /* Ignored, because a step that fails will fail again in the run itself. */
    Error none = {.kind = E_NONE};
    bool any = false;
    int n, reached = 0;
    const Counted *list = list_counted(r, &n);
    for (int k = 0; k < n; reached = list[k++].step) {
        if (!runner_advance(r->runner, r->in, reached, list[k].step, &none)) break;
        if (keep_inputs(r, &list[k])) any = true;
    }
    if (!any) return true;
    if (!run_open(r)) return false;
    *changed = r->graph->nout != before->nout ||
               memcmp(r->graph->out, before->out, sizeof(Value) * (size_t)before->nout) != 0;
    return true;
}
