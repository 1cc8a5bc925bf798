/* input_data.c -- the feed of a run: what --input gives, and otherwise what the graph of the
   original allows. The built-in runtime, ONNX Runtime as the target, and the second opinion get the
   same integers. If one of them does not run on random integers, all get other integers that it
   accepts. */
#include "search/input_data.h"
#include "graphs/model_feed.h"
#include <stdio.h>

/* Returns --input in all its forms; the file of the older option comes first. */
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
    const StringList all = feed_shapes(r->arena, &r->inputs.given, string_list(shape));
    r->inputs.options = *r->o;
    r->inputs.options.input_shape = (IsomerTexts){all.n, all.v};
    r->inputs.nfile = all.n - shape.n;
    r->o = &r->inputs.options;
    return true;
}

bool inputs_feed(RunInputs *in, uint64_t seed, Error *e) {
    in->given.seed = seed;
    return model_feed(in->arena, in->w, in->source->model, in->source->sizes, &in->given, &in->feed,
                      e);
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
    if (!r->inputs.feed.attempt) return;
    run_warn(text, n,
             "%s: the model does not run on random integers; give others with --input "
             "NAME=LOW..HIGH or NAME=FILE.npy (it failed with: %.40s; used instead: %.40s)",
             r->in, r->inputs.refused, feed_print(r->arena, &r->inputs.feed));
}

bool run_select_sizes(Run *r, int size_set) {
    return run_bind_sizes(r, size_set) && inputs_feed(&r->inputs, r->seed, r->error);
}
