/* lost.c -- a profile by nodes of the file, as seconds that the graph's nodes lose. */
#include "generator/discover/lost.h"
#include "generator/discover/weigh.h"
#include <stdio.h>
#include <string.h>

typedef struct ByFile { /* by node of the file */
    int n;
    double flops, bytes; /* a second, of the machine */
    double *seconds, *estimate;
} ByFile;

static bool read_profile(ByFile *p, Arena *a, const char *path, Error *e) {
    char *text;
    size_t size;
    if (!file_read(a, path, &text, &size, e)) return false;
    for (const char *line = text; *line; line += *line == '\n') {
        int node;
        double x, y;
        if (sscanf(line, "machine %lf %lf", &x, &y) == 2) p->flops = x, p->bytes = y;
        if (sscanf(line, "node %d %lf", &node, &x) == 2) {
            if (node < 0 || node >= p->n)
                return error_set(e, E_INVALID, path, "the model has no node %d", node);
            p->seconds[node] += x;
        }
        line += strcspn(line, "\n");
    }
    return (p->flops > 0 && p->bytes > 0) ||
           error_set(e, E_INVALID, path, "no profile: it has no line 'machine FLOPS BYTES'");
}

bool lost_read(World *w, Arena *a, const Model *m, Sizes sizes, const char *path, double **lost,
               Error *e) {
    ByFile p = {.n = model_stats(m).nodes};
    const NodeList live = graph_live(w, a, model_graph(m));
    p.seconds = ARENA_NEW(a, double, p.n);
    p.estimate = ARENA_NEW(a, double, p.n);
    if (!read_profile(&p, a, path, e)) return false;
    *lost = ARENA_NEW(a, double, live.n ? live.v[live.n - 1] + 1 : 1);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < live.n; k++) {
            const int at = model_node_index(m, live.v[k]);
            const double own = at < 0 || at >= p.n ? 0 : node_seconds(w, live.v[k], sizes);
            if (own <= 0) continue;
            if (!pass) {
                p.estimate[at] += own;
                continue;
            }
            const double took = p.seconds[at] * own / p.estimate[at],
                         least = node_least(w, live.v[k], sizes, p.flops, p.bytes);
            (*lost)[live.v[k]] = took > least ? took - least : 0;
        }
    return true;
}
