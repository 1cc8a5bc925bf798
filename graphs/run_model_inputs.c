/* run_model_inputs.c -- provides the contents of run-model's inputs, both for the run and while the
   model is read. */
#include "graphs/run_model.h"
#include "graphs/model_feed.h"
#include "graphs/oracle.h"
#include "graphs/world.h"
#include "ops/core/element.h"

static bool sizes_known(const ModelRun *r, const Type *t) {
    int64_t size;
    bool known = t->known;
    for (int k = 0; k < t->dim.n && known; k++)
        known = poly_eval(r->w, t->dim.v[k], r->sizes, &size);
    return known;
}

bool run_tensor_size(ModelRun *r, Value v, const char *name, int64_t dim[], int64_t *n) {
    const Type *t = value_type(r->w, v);
    if (t->dtype == DT_NONE)
        return error_set(r->error, E_INVALID, name, "cannot be run: it is not a tensor");
    if (!oracle_dims(r->w, t, r->sizes, dim, n))
        return error_set(r->error, E_INVALID, name, "%s with --input-shape or --dim",
                         sizes_known(r, t) ? "it would have too many elements; give smaller sizes"
                                           : "its sizes are not known; give them");
    return element_readable(t->dtype) ||
           error_set(r->error, E_INVALID, name, "elements of type %s are not supported",
                     dtype_name(t->dtype));
}

static bool make_feed(ModelRun *r, World *w, const Model *m, Sizes sizes) {
    Feed *f = ARENA_NEW(r->arena, Feed, 1);
    const bool good = model_feed(r->arena, w, m, sizes, &r->given, f, r->error);
    r->feed = good ? f : NULL;
    return good;
}

bool run_feed(ModelRun *r) { return r->feed || make_feed(r, r->w, r->model, r->sizes); }

/* Makes the feed while the model is read. The ranges that its graph allows come from a second copy,
   which is read without computing values. */
static void early_feed(ModelRun *r, const OpenOptions *open) {
    const OpenOptions plain = {
        .size = open->size, .size_user = open->size_user, .first_is_one = open->first_is_one};
    World *w = graph_world_new(arena_escape(r->arena), 0);
    Model *m = model_open_with(w, r->o.files.v[0], &plain, r->error);
    if (m) make_feed(r, w, m, (Sizes){0});
    model_close(m);
    world_free(w);
}

static void *input_new(ModelRun *r, int k, DType t, int64_t n, const void *default_bytes) {
    void *data = arena_alloc(r->arena, element_bytes(t, n));
    return feed_data(r->feed, k, 0, default_bytes, n, data, r->error) ? data : NULL;
}

bool run_fill_inputs(ModelRun *r) {
    r->in = ARENA_NEW(r->arena, const void *, r->graph->nin);
    for (int k = 0; k < r->graph->nin; k++) {
        const char *name = model_input_name(r->model, k);
        int64_t dim[RANK_MAX], n;
        if (!run_tensor_size(r, r->graph->in[k], name, dim, &n)) return false;
        const DType t = value_type(r->w, r->graph->in[k])->dtype;
        r->in[k] = input_new(r, k, t, n, model_input_default(r->model, k, t, n));
        if (!r->in[k]) return false;
    }
    return true;
}

/* Gives the same numbers as the run itself will get. */
const void *run_stage_input(void *user, int k, const char *name, const Type *t,
                            const void *default_bytes) {
    ModelRun *r = user;
    int64_t dim[RANK_MAX], n;
    Error before = *r->error;
    (void)name;
    r->staged = true;
    if (!r->feed) early_feed(r, r->opening);
    bool sized = r->feed && element_readable(t->dtype) && oracle_dims(r->w, t, (Sizes){0}, dim, &n);
    const void *data = sized ? input_new(r, k, t->dtype, n, default_bytes) : NULL;
    *r->error = before;
    return data;
}
