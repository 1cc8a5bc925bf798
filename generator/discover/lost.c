/* lost.c -- a profile by nodes of the file, as seconds that the graph's nodes lose. */
#include "generator/discover/lost.h"
#include "generator/discover/weigh.h"
#include "graphs/node_times.h"

static bool read_profile(NodeTimes *t, Arena *a, const char *path, Error *e) {
    char *text;
    size_t size;
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

bool lost_read(World *w, Arena *a, const Model *m, Sizes sizes, const char *path, double **lost,
               Error *e) {
    NodeTimes p = {.n = model_stats(m).nodes};
    double *estimate = ARENA_NEW(a, double, p.n); /* by node of the file, as seconds */
    const NodeList live = graph_live(w, a, model_graph(m));
    p.seconds = ARENA_NEW(a, double, p.n);
    if (!read_profile(&p, a, path, e)) return false;
    *lost = ARENA_NEW(a, double, live.n ? live.v[live.n - 1] + 1 : 1);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < live.n; k++) {
            const int at = model_node_index(m, live.v[k]);
            const double own = at < 0 || at >= p.n ? 0 : node_seconds(w, live.v[k], sizes);
            if (own <= 0) continue;
            if (!pass) {
                estimate[at] += own;
                continue;
            }
            /* what the profile does not name was made one with a neighbour */
            const double took = p.seconds[at] > 0 ? p.seconds[at] * own / estimate[at] : own,
                         least = node_least(w, live.v[k], sizes, p.flops, p.bytes);
            (*lost)[live.v[k]] = took > least ? took - least : 0;
        }
    return true;
}
