/* input_data.c -- the feed of a run: --input, and what the graph of the original allows. The
   built-in runtime, ONNX Runtime as the target, and the second opinion get the same data; if one of
   them does not run on the random integers, all get integers that it accepts. */
#include "graphs/feed.h"
#include "search/input_data.h"
#include "graphs/oracle.h"
#include "ops/core/element.h"
#include <stdio.h>

/* --input in all its forms; the file of the older option comes first. */
static StringList given_texts(const Run *r) {
    const IsomerTexts more = r->o->inputs;
    StringList all = {0, ARENA_NEW(r->arena, const char *, more.n + 1)};
    if (r->o->input) all.v[all.n++] = r->o->input;
    for (int k = 0; k < more.n; k++) all.v[all.n++] = more.v[k];
    return all;
}

bool run_read_inputs(Run *r) {
    const IsomerTexts shape = r->o->input_shape;
    if (!feed_options(r->arena, given_texts(r), &r->inputs.given, r->error)) return false;
    const StringList all = feed_shapes(r->arena, &r->inputs.given, run_list(shape));
    r->inputs.options = *r->o;
    r->inputs.options.input_shape = (IsomerTexts){all.n, all.v};
    r->o = &r->inputs.options;
    return true;
}

static const void *usual_data(const RunInputs *in, int k) {
    const RunSource *s = in->source;
    const Type *t = value_type(in->w, s->original.in[k]);
    int64_t dim[RANK_MAX], n;
    return oracle_dims(in->w, t, s->sizes, dim, &n) ? model_input_default(s->model, k, t->dtype, n)
                                                    : NULL;
}

bool inputs_feed(RunInputs *in, uint64_t seed, Error *e) {
    const RunSource *s = in->source;
    const Graph *g = &s->original;
    FeedInput *input = ARENA_NEW(in->arena, FeedInput, g->nin);
    const Domain *domain = graph_domains(in->w, in->arena, g, s->sizes);
    for (int k = 0; k < g->nin; k++)
        input[k] = (FeedInput){.name = model_input_name(s->model, k),
                               .dtype = value_type(in->w, g->in[k])->dtype,
                               .domain = domain[k],
                               .known = usual_data(in, k) != NULL};
    return feed_new(&in->given, g->nin, input, seed, &in->feed, e);
}

bool inputs_data(const void *inputs, const char *name, int sample, DType t, int64_t n, void *out) {
    const RunInputs *in = inputs;
    const int k = feed_find(&in->feed, name);
    Error ignored = {0};
    return k >= 0 && in->feed.input[k].dtype == t &&
           feed_data(&in->feed, k, sample, model_input_default(in->source->model, k, t, n), n, out,
                     &ignored);
}

bool run_other_inputs(Run *r, Error *why) {
    if (!r->inputs.feed.attempt) r->inputs.refused = arena_format(r->arena, "%s", why->reason);
    if (feed_next(&r->inputs.feed)) {
        run_say(r, "the model does not run on these inputs; trying %s",
                feed_print(r->arena, &r->inputs.feed));
        return true;
    }
    feed_explain(r->arena, &r->inputs.feed, why);
    return false;
}

void run_warn_inputs(const Run *r, char *text, size_t n) {
    if (!r->inputs.feed.attempt || *text) return;
    snprintf(text, n,
             "%s: the model does not run on random integers (%.80s), so these were used: %.80s; "
             "give others with --input NAME=LOW..HIGH or NAME=FILE.npy",
             r->in, r->inputs.refused, feed_print(r->arena, &r->inputs.feed));
}

bool run_use_sizes(Run *r, int set) {
    return run_sizes(r, set) && inputs_feed(&r->inputs, r->seed, r->error);
}
