/* lost.c -- converts a profile, which is by nodes of the file, into seconds that the nodes of the
   graph lose. */
#include "generator/discover/lost.h"
#include "generator/discover/weigh.h"
#include "ops/base/file.h"

bool profile_read(Arena *a, const Model *m, const char *path, NodeTimes *t, Error *e) {
    char *text;
    size_t size;
    *t = (NodeTimes){.n = model_stats(m).nodes};
    t->seconds = ARENA_NEW(a, double, t->n);
    if (!file_read(a, path, &text, &size, e)) return false;
    node_times_read(t, text);
    if (t->nunknown)
        return error_set(e, E_INVALID, path,
                         "the model has no node %d: is this the profile of another model?",
                         t->unknown);
    return (t->flops > 0 && t->bytes > 0) ||
           error_set(e, E_INVALID, path,
                     "not a profile: it has no line 'machine FLOPS BYTES'; "
                     "scripts/profile-onnxruntime writes one");
}

static double *lost_new(Arena *a, NodeList live) {
    return ARENA_NEW(a, double, live.n ? live.v[live.n - 1] + 1 : 1);
}

static double lost_of(World *w, NodeId node, Sizes sizes, const NodeTimes *p, double took) {
    const double least = node_least(w, node, sizes, p->flops, p->bytes);
    return took > least ? took - least : 0;
}

double *nodes_lost(World *w, Arena *a, const Model *m, Sizes sizes, const NodeTimes *p) {
    const NodeList live = graph_live(w, a, model_graph(m));
    double *lost = lost_new(a, live);
    double *estimate = ARENA_NEW(a, double, p->n); /* estimated seconds of each node of the file */
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < live.n; k++) {
            const int at = model_node_index(m, live.v[k]);
            const double own = at < 0 || at >= p->n ? 0 : node_seconds(w, live.v[k], sizes);
            if (own <= 0) continue;
            if (!pass) {
                estimate[at] += own;
                continue;
            }
            /* a node without a time in the profile was fused with a neighbour */
            const double took = p->seconds[at] > 0 ? p->seconds[at] * own / estimate[at] : own;
            lost[live.v[k]] = lost_of(w, live.v[k], sizes, p, took);
        }
    return lost;
}

double *body_lost(World *w, Arena *a, const Graph *g, Sizes sizes, const NodeTimes *p,
                  double scale) {
    const NodeList live = graph_live(w, a, g);
    double *lost = lost_new(a, live);
    for (int k = 0; k < live.n; k++) {
        const double own = node_seconds(w, live.v[k], sizes);
        if (own > 0) lost[live.v[k]] = lost_of(w, live.v[k], sizes, p, own * scale);
    }
    return lost;
}

double graph_seconds(World *w, Arena *a, const Graph *g, Sizes sizes) {
    const NodeList live = graph_live(w, a, g);
    double all = 0;
    for (int k = 0; k < live.n; k++) {
        const double own = node_seconds(w, live.v[k], sizes);
        all += own > 0 ? own : 0;
    }
    return all;
}
