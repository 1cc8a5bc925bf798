/* model_feed.c -- makes the feed of a model's inputs. */
#include "graphs/model_feed.h"
#include "graphs/oracle.h"

/* Whether the file has a default for input k at these sizes. */
static bool has_default(World *w, const Model *m, int k, Sizes sizes) {
    const Type *t = value_type(w, model_graph(m)->in[k]);
    int64_t dim[RANK_MAX], n;
    return oracle_dims(w, t, sizes, dim, &n) && model_input_default(m, k, t->dtype, n) != NULL;
}

bool model_feed(Arena *a, World *w, const Model *m, Sizes sizes, const FeedOptions *given,
                Feed *feed, Error *e) {
    const Graph *g = model_graph(m);
    FeedInput *input = ARENA_NEW(a, FeedInput, g->nin);
    const char **name = ARENA_NEW(a, const char *, g->nin);
    const Domain *domain = graph_domains(w, a, g, sizes);
    const Compared *compared = graph_compared(w, a, g);
    for (int k = 0; k < g->nin; k++) {
        name[k] = arena_format(a, "%s", model_input_name(m, k));
        input[k] = (FeedInput){.name = name[k],
                               .dtype = value_type(w, g->in[k])->dtype,
                               .domain = domain[k],
                               .has_default = has_default(w, m, k, sizes),
                               .compared = compared[k]};
    }
    return feed_fits(given, w, g, name, e) && feed_new(given, g->nin, input, feed, e);
}
